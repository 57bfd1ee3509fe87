//! Traits, deltas, product lines and products: what is left of them is run.

use std::sync::Arc;

use mazurka_abs::{Machine, Settings, load};
use mazurka_core::{Execution, Narrator, Status};

fn settings(product: Option<&str>) -> Settings {
    Settings {
        product: product.map(str::to_owned),
        ..Settings::default()
    }
}

/// What a product prints in its first run.
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
fn what_is_left_out_counts_in_deltas_that_are_applied() {
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

/// As the project wrote them in which ABS began.
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
    // The main block follows deltas in that case only.
    refused("module M; delta D; { skip; }", None, "A0105", 1);
    let open = OLD.replace("  removes class Gone\n}\n", "  removes class Gone\n");
    refused(&open, None, "A0110", 13);
}
