//! Tests hostile and very large input: the result is a diagnostic or a program, in a short time and
//! without stack overflow.

use std::time::{Duration, Instant};

use mazurka_lang::load;

/// Returns the codes of the mistakes, without repetitions.
fn codes(source: &str) -> Vec<&'static str> {
    let start = Instant::now();
    let mut codes: Vec<&str> = match load(source, &[]) {
        Ok(program) => {
            drop(program.clone());
            Vec::new()
        }
        Err(mistakes) => {
            for d in &mistakes {
                let (start, end) = (d.span.start as usize, d.span.end as usize);
                assert!(source.get(start..end).is_some(), "{d:?}");
            }
            mistakes.iter().map(|d| d.code).collect()
        }
    };
    codes.sort_unstable();
    codes.dedup();
    // The limit is generous, for debug builds on a busy machine; quadratic code takes minutes.
    let time = start.elapsed();
    assert!(time < Duration::from_secs(20), "{time:?}");
    codes
}

fn statement(text: &str) -> String {
    format!("var x: int = 0 var b: bool = false process {{ {text} }}")
}

const MANY: usize = 100_000;

#[test]
fn deep_expressions() {
    for (open, close) in [
        ("(", ")"),
        ("!", ""),
        ("-", ""),
        ("x + (", ")"),
        ("1 + ", ""),
    ] {
        let text = format!("x := {}1{}", open.repeat(MANY), close.repeat(MANY));
        assert_eq!(codes(&statement(&text)), ["M0407"], "{open}");
    }
    let text = format!(
        "x := {}1{}",
        "if b then ".repeat(MANY),
        " else 2".repeat(MANY)
    );
    assert_eq!(codes(&statement(&text)), ["M0407"]);
    let text = format!("x := {}1", "if b then 1 else ".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0407"]);
    let text = format!("await {}b", "b && ".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0407"]);
    let text = format!("x := {}1", "p(".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0103", "M0407"]);
    let text = format!("x := {}1", "x[".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0103", "M0407"]);
    let text = format!("x := {}", "(".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0103", "M0407"]);
    let text = format!("x := {}0{}", "choose(0..".repeat(MANY), ")".repeat(MANY));
    assert_eq!(codes(&statement(&text)), ["M0407"]);
}

#[test]
fn deep_statements() {
    for (open, close) in [
        ("{ ", " }"),
        ("(", ")"),
        ("if b { ", " }"),
        ("while b { ", " }"),
        ("spawn { ", " }"),
        ("atomic { ", " }"),
        ("b |> ", ""),
        ("b |>* ", ""),
        ("b |> (", ")"),
        ("skip <| b |> (", ")"),
        ("if b { } else ", ""),
    ] {
        let text = format!("{}{{ skip }}{}", open.repeat(MANY), close.repeat(MANY));
        assert_eq!(codes(&statement(&text)), ["M0407"], "{open}");
        let text = format!("{}{{ skip }}", open.repeat(MANY));
        // Guards need no closing bracket; all other forms are unclosed here.
        let found = codes(&statement(&text));
        assert!(!found.is_empty(), "{open}");
    }
    let text = format!("{}{{ skip }}", "if b { skip } else ".repeat(100));
    assert_eq!(codes(&statement(&text)), [""; 0]);
}

#[test]
fn deepest_allowed_programs_can_be_walked_and_dropped() {
    let text = format!("x := {}1{}", "(1 - ".repeat(120), ")".repeat(120));
    let text = format!("{}{text}{}", "b |> { ".repeat(60), " }".repeat(60));
    assert_eq!(codes(&statement(&text)), [""; 0]);
    let text = format!("x := {}1{}", "(".repeat(250), ")".repeat(250));
    let text = format!("{}{text}{}", "{ ".repeat(125), " }".repeat(125));
    assert_eq!(codes(&statement(&text)), [""; 0]);
    let text = format!("x := x{}", " + 1".repeat(250));
    assert_eq!(codes(&statement(&text)), [""; 0]);
}

/// Returns how often the text `open … close` may be nested around `inner`.
fn deepest(before: &str, (open, inner, close): (&str, &str, &str)) -> usize {
    let fits = |times: usize| {
        let (open, close) = (open.repeat(times), close.repeat(times));
        let text = format!("{before}{open}{inner}{close}");
        !codes(&statement(&text)).contains(&"M0407")
    };
    let (mut low, mut high) = (0, 1000);
    while low + 1 < high {
        let middle = (low + high) / 2;
        *(if fits(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

#[test]
fn every_nesting_goes_as_deep_as_the_message_says() {
    // The limit is 128 statements: 127 around the innermost one.
    for (open, close) in [
        ("{ ", " }"),
        ("(", ")"),
        ("if b { ", " }"),
        ("if b { skip } else { ", " }"),
        ("if b { skip } else ", ""),
        ("while b { ", " }"),
        ("while (b)[2] { ", " }"),
        ("for i in 0..2 { ", " }"),
        ("spawn { ", " }"),
        ("let h = spawn { ", " }"),
        ("atomic { ", " }"),
        ("b |> ", ""),
        ("b |>* ", ""),
        ("b |> { ", " }"),
        ("b |>* { ", " }"),
        ("b |> (", ")"),
        ("skip <| b |> (", ")"),
        ("skip <| b |> { ", " }"),
        ("(", " <| b |> skip)"),
    ] {
        let inner = if close.is_empty() {
            "{ skip }"
        } else {
            "x := 1"
        };
        let inner = if open.ends_with("else ") {
            "if b { }"
        } else {
            inner
        };
        assert_eq!(deepest("", (open, inner, close)), 127, "{open}");
    }
    // The limit is 256: 255 operators and brackets, and their operand.
    for (open, close, each) in [
        ("(", ")", 1),
        ("-", "", 1),
        ("1 - (", ")", 2),
        ("-(", ")", 2),
        ("if b then ", " else 2", 1),
        ("if b then 1 else ", "", 1),
        ("if b then (", ") else 2", 2),
    ] {
        let times = deepest("x := ", (open, "1", close));
        assert_eq!(times, 255 / each, "{open}");
    }
}

#[test]
fn brackets_that_do_not_match() {
    const FEWER: usize = MANY / 5;
    for text in [
        "(", "[", "{", ")", "]", "}", "(]", "[)", "{)", "(}", "([{", "}])", "[{(",
    ] {
        let found = codes(&text.repeat(FEWER));
        assert!(!found.is_empty(), "{text}");
        let found = codes(&statement(&text.repeat(FEWER)));
        assert!(!found.is_empty(), "{text}");
    }
    let text = format!("{}{}", "(".repeat(FEWER), "]".repeat(FEWER));
    assert!(!codes(&statement(&text)).is_empty());
    let text = format!("[ {{ {}{}", "(".repeat(FEWER), "]".repeat(FEWER));
    assert!(!codes(&statement(&text)).is_empty());
}

#[test]
fn long_lists() {
    let text = "x := x + 1;\n".repeat(MANY);
    assert_eq!(codes(&statement(&text)), [""; 0]);
    let names: Vec<String> = (0..MANY).map(|i| format!("v{i}")).collect();
    let source = format!("var {}: int = 0 process {{ skip }}", names.join(", "));
    assert_eq!(codes(&source), [""; 0]);
    let lets: Vec<String> = (0..MANY).map(|i| format!("let v{i} = {i}")).collect();
    assert_eq!(codes(&statement(&lets.join("; "))), [""; 0]);
    let consts: Vec<String> = (1..MANY)
        .map(|i| format!("const c{i} = c{} + 1", i - 1))
        .collect();
    let source = format!("const c0 = 0 {} process {{ skip }}", consts.join(" "));
    assert_eq!(codes(&source), [""; 0]);
}

#[test]
fn a_thousand_mistakes_are_enough() {
    let text: String = (0..5000).map(|i| format!("unknown{i} := 1;\n")).collect();
    let found = load(&statement(&text), &[]).expect_err("mistakes");
    assert_eq!(found.len(), 1001);
    assert_eq!(found.last().map(|d| d.code), Some("M0411"));
    let names: Vec<String> = (0..MANY).map(|i| format!("variable{i}")).collect();
    let source = format!("var {}: int = 0 {}", names.join(", "), statement(&text));
    assert!(codes(&source).contains(&"M0411"));
    for text in [
        "x = 1\n",
        "x + ;",
        "@ ",
        "if ",
        "let ",
        "x == 1;",
        "\"",
        "else ",
        "process { x ",
    ] {
        assert!(!codes(&statement(&text.repeat(MANY))).is_empty());
        assert!(!codes(&text.repeat(MANY)).is_empty());
    }
}

#[test]
fn simultaneous_assignment_to_many() {
    let names: Vec<String> = (0..MANY).map(|i| format!("v{i}")).collect();
    let (names, values) = (names.join(", "), vec!["1"; MANY].join(", "));
    let source = format!("var {names}: int = 0 observe {names} process {{ {names} := {values} }}");
    assert_eq!(codes(&source), [""; 0]);
}

#[test]
fn many_parameters() {
    let names: Vec<String> = (0..MANY).map(|i| format!("v{i}")).collect();
    let (names, calls) = (names.join(", "), "p();".repeat(MANY));
    let source = format!(
        "proc p({names}: int[{}1]) {{ }} process {{ {calls} }}",
        "1 + ".repeat(200)
    );
    assert_eq!(codes(&source), ["M0306", "M0308", "M0411"]);
}

#[test]
fn programs_that_expand_too_far() {
    assert_eq!(
        codes("process p (i in 0..9223372036854775807) { skip }"),
        ["M0409"]
    );
    assert_eq!(
        codes("process p (i in -9223372036854775807..9223372036854775807) { skip }"),
        ["M0409"]
    );
    assert_eq!(codes(&"process { skip }".repeat(5000)), ["M0409"]);
    let body = "x := x + 1;".repeat(1000);
    let source = format!("var x: int = 0 process p (i in 0..4096) {{ {body} }}");
    assert_eq!(codes(&source), ["M0410"]);
    assert_eq!(
        codes("var a: int[9223372036854775807] = 0 process { skip }"),
        ["M0408"]
    );
    assert_eq!(codes("lock a[1048577] process { skip }"), ["M0408"]);
    assert_eq!(
        codes("var a: int[600000] = 0 var b: int[600000] = 0 process { skip }"),
        ["M0408"]
    );
    assert_eq!(codes(&statement("let a: int[1048577] = 0")), ["M0408"]);
    let text: String = (0..10)
        .map(|i| format!("let a{i}: int[1000000] = 0;"))
        .collect();
    assert_eq!(codes(&statement(&text)), ["M0410"]);
}

/// The size and depth of expanded code may grow with each declaration.
#[test]
fn expanded_code_is_limited() {
    let codes = |source: &str| -> Vec<&str> {
        let mistakes = load(source, &[]).err().unwrap_or_default();
        mistakes.iter().map(|mistake| mistake.code).collect()
    };
    let mut structs = "struct S0 { a: int, b: int }\n".to_owned();
    let mut functions = "fn f0(a: int): int { a + a }\n".to_owned();
    let mut deep = functions.clone();
    for k in 1..60 {
        let before = k - 1;
        structs += &format!("struct S{k} {{ a: S{before}, b: S{before} }}\n");
        functions += &format!("fn f{k}(a: int): int {{ f{before}(a) + f{before}(a) }}\n");
        deep += &format!("fn f{k}(a: int): int {{ f{before}(a) }}\n");
    }
    let end = "var x: int = 0 process { x := 1 }";
    assert!(codes(&(structs + end)).contains(&"M0410"));
    assert!(codes(&(functions + end)).contains(&"M0410"));
    assert_eq!(codes(&(deep + end))[0], "M0407");
    // The body names its argument twice, so each call doubles the size.
    let calls = format!("{}x{}", "f(".repeat(60), ")".repeat(60));
    let doubled = "fn f(a: int): int { a + a } var x: int = 0 process { x := ";
    assert!(codes(&format!("{doubled}{calls} }}")).contains(&"M0410"));
    let chain = format!("{}x{}", "g(".repeat(250), ")".repeat(250));
    let long = "fn g(a: int): int { 1 + (1 + (1 + a)) } var x: int = 0 process { x := ";
    assert_eq!(codes(&format!("{long}{chain} }}")), ["M0407"]);
    let ranges = "forall i in 0..300: forall j in 0..300: forall k in 0..300: x < i + j + k";
    let many = format!("var x: int = 0 invariant {ranges} process {{ x := 1 }}");
    assert!(codes(&many).contains(&"M0410"));
    let huge = "var x: int = 0 process { x := sum i in 0..1000000000000: i }";
    assert_eq!(codes(huge), ["M0410"]);
    assert_eq!(
        codes("const A = [i for i in 0..99999999999] process { skip }"),
        ["M0406"]
    );
}
