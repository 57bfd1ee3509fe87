//! Tests traits, deltas, product lines and products. The tests run the flattened programs.

use std::sync::Arc;

use mazurka_abs::{Machine, Settings, load};
use mazurka_core::{Execution, Narrator, Status};

fn settings(product: Option<&str>) -> Settings {
    Settings {
        product: product.map(str::to_owned),
        ..Settings::default()
    }
}

/// Asserts the output of a product in its first run.
#[track_caller]
fn prints(source: &str, product: Option<&str>, expected: &str) {
    let code = match load(source, &settings(product)) {
        Ok(code) => code,
        Err(mistakes) => panic!("{mistakes:#?}"),
    };
    let mut machine = Machine::new(Arc::new(code), 100_000);
    loop {
        let tasks = machine.processes().in_order().to_vec();
        let ready = tasks
            .iter()
            .find(|&&task| machine.status(task) == Status::Ready);
        let Some(&ready) = ready else { break };
        machine.step(ready, &[]).expect("it is ready");
    }
    assert!(machine.is_final(), "{:?}", machine.waiting());
    let all = machine.bindings(false);
    let output = all.iter().find(|binding| binding.name == "output");
    let output = output.map_or("\"\"", |binding| binding.value.as_str());
    assert_eq!(output, format!("{expected:?}"));
}

#[track_caller]
fn refused(source: &str, product: Option<&str>, code: &str, line: usize) {
    let mistakes = load(source, &settings(product)).unwrap_err();
    let found: Vec<_> = mistakes
        .iter()
        .map(|m| (m.code, m.span.line_column(source).0))
        .collect();
    assert!(found.contains(&(code, line)), "{found:?}");
}

#[test]
fn classes_have_the_methods_of_their_traits() {
    let source = "module M; interface I { Unit m(); Unit n(); }
        trait One = { Unit m() { println(\"m\"); } Unit gone() { skip; } }
        trait Two = One removes Unit gone(); modifies Unit m() { original(); println(\"more\"); }
        class C implements I { uses Two adds Unit n() { this.m(); println(\"n\"); }; }
        { I i = new C(); i.n(); }";
    prints(source, None, "m\nmore\nn\n");
    refused(
        &source.replace("removes Unit gone", "removes Unit lost"),
        None,
        "A0250",
        3,
    );
    refused(
        &source.replace("trait Two = One", "trait Two = Three"),
        None,
        "A0253",
        3,
    );
    refused(
        &source.replace("trait One = {", "trait One = Two adds {"),
        None,
        "A0253",
        3,
    );
}

const LINE: &str = "module Greet; export *;
interface G { Unit hello(); }
class C implements G {
  Int n = 1;
  Unit hello() { println(\"hello\"); }
}
{ G g = new C(); g.hello(); }

delta Twice;
uses Greet;
modifies class C { modifies Unit hello() { original(); original(); } }

delta Loud(Int times);
modifies class Greet.C {
  adds Int volume = times;
  modifies Unit hello() { core.original(); Twice.original(); println(toString(volume)); }
}

delta Other;
uses Greet;
adds class D implements G { Unit hello() { println(\"D\"); } }
removes class C;
adds class C implements G { Unit hello() { G g = new D(); g.hello(); } }

productline Greetings;
features Two, Noise, Else;
delta Loud(Noise.times) after Twice when Noise;
delta Twice when Two || Noise;
delta Other when Else && !Two;

product Plain ();
product Double (Two);
product Noisy (Noise{times = 3});
product Both = Double || Noisy;
product New (Else);
root Greetings { group allof { opt Two, opt Noise { Int times in [0 .. 9]; } } }
";

#[test]
fn a_product_is_the_core_with_its_deltas() {
    prints(LINE, None, "hello\n");
    prints(LINE, Some("Plain"), "hello\n");
    prints(LINE, Some("Double"), "hello\nhello\n");
    prints(LINE, Some("Noisy"), "hello\nhello\nhello\n3\n");
    prints(LINE, Some("Both"), "hello\nhello\nhello\n3\n");
    prints(LINE, Some("New"), "D\n");
}

#[test]
fn mistakes_point_into_deltas() {
    refused(LINE, Some("Nothing"), "A0252", 1);
    let cyclic = LINE.replace("delta Twice when", "delta Twice after Loud when");
    refused(&cyclic, Some("Noisy"), "A0251", 27);
    let typed = LINE.replace("adds Int volume", "adds Bool volume");
    refused(&typed, Some("Noisy"), "A0220", 15);
    refused(
        &LINE.replace("class C { modifies", "class X { modifies"),
        Some("Double"),
        "A0250",
        11,
    );
    refused(
        &LINE.replace("Noise{times = 3}", "Noise"),
        Some("Noisy"),
        "A0252",
        27,
    );
    refused(
        &LINE.replace("Twice.original", "Else.original"),
        Some("Noisy"),
        "A0254",
        16,
    );
    refused(
        &LINE.replace("println(\"hello\")", "original()"),
        None,
        "A0254",
        5,
    );
    refused(
        &LINE.replace("features Two,", "features Two, Two,"),
        None,
        "A0252",
        26,
    );
}

#[test]
fn traits_and_products_made_of_themselves_come_to_an_end() {
    let mut source = "module M; { skip; }\n".to_owned();
    for n in 0..60 {
        source = source.replace(
            "{ skip",
            &format!("trait T{n} = T{} adds T{}\n{{ skip", n + 1, n + 1),
        );
        source += &format!("product P{n} = P{} || P{};\n", n + 1, n + 1);
    }
    source = source.replace("{ skip", "class C { uses T0; }\n{ skip");
    assert!(load(&source, &settings(Some("P0"))).is_err());
}

#[test]
fn excluded_parts_count_in_deltas_that_are_applied() {
    let source = LINE.replace(
        "modifies class C { modifies Unit hello() { original(); original(); } }",
        "modifies class C { modifies Unit hello() { original(); [Cost: 2] skip; } }",
    );
    prints(&source, None, "hello\n");
    prints(&source, Some("Plain"), "hello\n");
    refused(&source, Some("Double"), "A0302", 11);
    let taken = LINE
        .replace(
            "delta Twice;",
            "delta Twice(C hasField Int n, C hasMethod Unit hello());",
        )
        .replace("delta Twice when Two", "delta Twice(C, C) when Two");
    prints(&taken, None, "hello\n");
    refused(&taken, Some("Double"), "A0303", 9);
}

/// A program in the syntax of the project in which ABS originated.
const OLD: &str = "module Old;
export *;
interface I { Int m(); }
class C implements I { Int m() { return 1; } }
class Gone { }
delta More(Int k) {
  adds interface J extends I { Int n(); }
  modifies class C implements I, J {
    modifies Int m() { Int before = original(); return before + k; }
    adds Int n() { return 5; }
  }
  removes class Gone
}
productline L {
  features F;
  delta More(F.k) when F;
}
product P (F{k = 2});
{ I i = new C(); Int m = i.m(); println(toString(m)); }
";

#[test]
fn deltas_in_curly_brackets_belong_to_the_module_around_them() {
    prints(OLD, None, "1\n");
    prints(OLD, Some("P"), "3\n");
    let uses = OLD.replace(
        "I i = new C(); Int m = i.m();",
        "J i = new C(); Int m = i.n();",
    );
    prints(&uses, Some("P"), "5\n");
    refused(&uses, None, "A0201", 19);
    // A main block may follow deltas only if they belong to modules.
    refused("module M; delta D; { skip; }", None, "A0105", 1);
    let open = OLD.replace("  removes class Gone\n}\n", "  removes class Gone\n");
    refused(&open, None, "A0110", 13);
}

/// Asserts whether a model allows a product.
#[track_caller]
fn allowed(model: &str, product: &str, yes: bool) {
    let source = format!(
        "module M; {{ skip; }}
         productline L; features A, B, C, D, E, Other;
         product P ({product});
         {model}"
    );
    let refused = match load(&source, &settings(Some("P"))) {
        Ok(_) => false,
        Err(mistakes) => {
            let codes: Vec<_> = mistakes.iter().map(|m| m.code).collect();
            assert!(codes.iter().all(|code| *code == "A0257"), "{mistakes:#?}");
            true
        }
    };
    assert_eq!(refused, !yes, "{product}: {model}");
    // Without a product the model is not checked.
    assert!(load(&source, &settings(None)).is_ok());
}

#[test]
fn a_product_is_one_of_its_feature_model() {
    let groups = "root R { group allof { A { group [1 .. 2] { B, C, D } }, opt E } }";
    for (product, yes) in [
        ("A, B", true),
        ("B", true), // with its parent A
        ("B, C, E", true),
        ("B, C, D", false),
        ("A", false),
        ("E", false),
        ("", false),
        ("Other, D", true), // Other is not in the model
    ] {
        allowed(groups, product, yes);
    }
    let open = groups.replace("1 .. 2", "2 .. *");
    allowed(&open, "B", false);
    allowed(&open, "B, C, D", true);
    let one = "root R { group oneof { A, B { require: C; }, D { exclude: E; } } }
               root S { group [0 .. 2] { C, E } }";
    for (product, yes) in [
        ("A", true),
        ("A, B, C", false),
        ("B", false),
        ("B, C", true),
        ("D", true),
        ("D, E", false),
    ] {
        allowed(one, product, yes);
    }
    // An extension adds features and constraints to the model.
    let extended = "root R { group allof { opt A, opt B } } extension A { require: B; }";
    allowed(extended, "A", false);
    allowed(extended, "A, B", true);
    let below = "root R { group allof { opt A, opt B } } extension A { group oneof { C, D } }";
    allowed(below, "A", false);
    allowed(below, "C", true);
    allowed(below, "C, D", false);
}

#[test]
fn attributes_have_values_of_their_ranges_and_constraints_hold() {
    let ranges = "root R { group allof {
        opt A { Int n in [2 .. 5]; Bool b; String s; },
        opt B { Int [* .. 3] m; Int k in {1, 4, 9}; Int free; } } }";
    for (product, yes) in [
        ("A{n = 2}", true),
        ("A{n = 5, b = True, s = \"x\"}", true),
        ("A{n = 6}", false),
        ("A{n = 1}", false),
        ("A{n = True}", false),
        ("A{b = 1}", false),
        ("B{m = -7, k = 4, free = 1000000000000}", true),
        ("B{m = 4}", false),
        ("B{k = 2}", false),
    ] {
        allowed(ranges, product, yes);
    }
    let constraint = |text: &str| {
        format!(
            "root R {{ group allof {{ opt A {{ Int n in [2 .. 50]; {text} }},
             opt B {{ Int k in {{1, 4}}; }}, opt C }} }}"
        )
    };
    for (text, product, yes) in [
        ("n > 3;", "A{n = 4}", true),
        ("n > 3;", "A{n = 3}", false),
        ("n > 3;", "A", false), // 2, the first value
        ("n > 3;", "B", true),  // without A nothing is required
        ("ifin: B.k + 1 == n;", "A{n = 5}, B{k = 4}", true),
        ("ifin: B.k + 1 == n;", "A{n = 6}, B{k = 4}", false),
        ("ifout: C;", "B", false),
        ("ifout: C;", "A", true),
        ("ifout: C;", "B, C", true),
        ("B -> C;", "A", true),
        ("B -> C;", "A, B", false),
        ("B -> C;", "A, B, C", true),
        ("B <-> C;", "A, C", false),
        ("!(B && C) || n % 7 == 3;", "A{n = 10}, B, C", true),
        ("!(B && C) || n % 7 == 3;", "A{n = 11}, B, C", false),
        ("2 + 3 * 4 - 10 / 3 == 11;", "A", true),
        ("2 - 3 - 4 == 3;", "A", false),
        ("n != 2 && True;", "A", false),
        ("-n <= -2;", "A", true),
        ("False;", "A", false),
        // The only mistake is a value that the attribute cannot have.
        ("n > 3;", "A{n = 51}", false),
        // Whether a condition divides by 0 depends on the product.
        ("10 / (n - 2) > 1;", "A{n = 3}", true),
        ("10 / (n - 2) > 1;", "A{n = 2}", false),
        ("10 / (n - 2) > 1;", "B", true),
        ("n > 2 && 10 % (n - 2) == 0;", "A{n = 2}", false),
        ("n == 2 || 10 % (n - 2) == 0;", "A{n = 2}", true),
        ("n > 2 -> 10 % (n - 2) == 0;", "A{n = 2}", true),
    ] {
        allowed(&constraint(text), product, yes);
    }
}

#[test]
fn feature_models_that_say_nothing_are_mistakes() {
    let source = |constraint: &str| {
        format!(
            "module M; {{ skip; }}
productline L; features A;
product P (A);
root A {{ Int n; {constraint} }}"
        )
    };
    assert!(load(&source("n == 0;"), &settings(Some("P"))).is_ok());
    for constraint in ["n;", "n && A;", "m == 1;", "Z;", "require: Z;", "A == n;"] {
        refused(&source(constraint), Some("P"), "A0252", 4);
    }
    for constraint in [
        "n ==;",
        "group oneof { A };",
        "Int m in [1, 2];",
        "(n == 0;",
        "Int 3;",
    ] {
        refused(&source(constraint), None, "A0110", 4);
    }
    let label = |constraint: &str| {
        let mistakes = load(&source(constraint), &settings(Some("P"))).unwrap_err();
        assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
        mistakes[0].label.clone()
    };
    assert_eq!(label("n < 1 && m == 1;"), "there is no attribute `A.m`");
    assert_eq!(label("!Z;"), "there is no feature `Z`");
    assert_eq!(label("A == n;"), "`==` does not take these types");
    assert_eq!(label("n + 1;"), "this is a value, not a condition");
    let reason = source("n > 0;");
    let mistakes = load(&reason, &settings(Some("P"))).unwrap_err();
    assert_eq!(mistakes[0].span.line_column(&reason).0, 3);
    assert_eq!(mistakes[0].related[0].0.line_column(&reason).0, 4);
    // Neither nesting nor length overflows the stack.
    let deep = source(&format!("{}n == 0;", "!(".repeat(5000)));
    assert!(load(&deep, &settings(Some("P"))).is_err());
    let long = source(&format!("n{} == 0;", " + n".repeat(50_000)));
    assert!(load(&long, &settings(Some("P"))).is_ok());
    let groups = "X { group oneof { ".repeat(3000);
    assert!(
        load(
            &source("").replace("root A", &format!("root {groups}")),
            &settings(None)
        )
        .is_err()
    );
}

#[test]
fn a_delta_without_its_value_is_the_only_mistake() {
    let source = "module M; def Int f() = 1; { println(toString(f())); }
delta D(Int k); uses M;
modifies class M.C { adds Int n = k; }
productline L; features A; delta D(A.n) when A;
product P (A);";
    let source = source.replace("{ println", "class C { } { println");
    let mistakes = load(&source, &settings(Some("P"))).unwrap_err();
    let codes: Vec<_> = mistakes.iter().map(|mistake| mistake.code).collect();
    assert_eq!(codes, ["A0252"], "{mistakes:#?}");
}

/// A product line whose deltas replace one method, each after the previous one. The last is listed
/// first.
fn many_deltas(count: usize, last: &str) -> String {
    let mut source = "module M; interface I { Int m(); }
class C implements I { Int m() { return 0; } }
{ I c = new C(); Int n = await c!m(); println(toString(n)); }\n"
        .to_owned();
    for at in 0..count {
        let body = if at + 1 == count {
            last
        } else {
            "Int n = original(); return n + 1;"
        };
        let method = format!("modifies Int m() {{ {body} }}");
        source += &format!("delta D{at}; uses M; modifies class C {{ {method} }}\n");
    }
    source += "productline L; features F;\n";
    for at in (1..count).rev() {
        source += &format!("delta D{at} after D{} when F;\n", at - 1);
    }
    source + "delta D0 when F; product P (F);"
}

#[test]
fn thousands_of_deltas_are_applied_in_order() {
    let all = many_deltas(100, "Int n = original(); return n * 2;");
    prints(&all, Some("P"), "198\n");
    // A replaced method is dropped. Each clause is examined once, not once for each other clause.
    prints(&many_deltas(4000, "return 7;"), Some("P"), "7\n");
}
