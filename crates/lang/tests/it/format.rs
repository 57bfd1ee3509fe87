//! Tests the layout of the formatter, and that the formatter changes nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mazurka_lang::{Unformatted, expand, format, load};
use proptest::prelude::*;

#[track_caller]
fn formatted(source: &str) -> String {
    let text = format(source).unwrap_or_else(|why| panic!("{why:?} in\n{source}"));
    assert_eq!(format(&text).as_ref(), Ok(&text), "laid out twice");
    text
}

macro_rules! lines {
    ($($name:ident { $($source:literal => $expected:literal)* })*) => {
        $(#[test]
        fn $name() {
            $(assert_eq!(formatted($source), concat!($expected, "\n"), "{}", $source);)*
        })*
    };
}

lines! {
    declarations {
        "var  x ,y:int=0" => "var x, y: int = 0"
        "var a : i32 [4] = [1,2 ,3, -4]" => "var a: i32[4] = [1, 2, 3, -4]"
        "var a: 0 .. 4 [ N ][2]=0" => "var a: 0..4[N][2] = 0"
        "var a: int[3] = [ i*2 for i in 0 .. 3 ]" => "var a: int[3] = [i * 2 for i in 0..3]"
        "lock a ,b [3]" => "lock a, b[3]"
        "chan c [ .. ] :Msg" => "chan c[..]: Msg"
        "enum E{A,B}struct M{e:E,n:int}" => "enum E { A, B } struct M { e: E, n: int }"
        "fn f ( a:int ):bool{a<0}" => "fn f(a: int): bool { a < 0 }"
        "invariant safe :x>=0&&!b" => "invariant safe: x >= 0 && !b"
        "process p(i in 0..N){skip}" => "process p (i in 0..N) { skip }"
        "process(i in 0..N) {skip}" => "process (i in 0..N) { skip }"
        "refines \"a.maz\" via {x->y,m.a->b}" => "refines \"a.maz\" via { x -> y, m.a -> b }"
        "include   \"a.maz\" // its locks" => "include \"a.maz\" // its locks"
        "var x↦0 process{x≤1▷x:=2}" => "var x ↦ 0 process { x ≤ 1 ▷ x := 2 }"
    }
    statements {
        "process{x:=-1;y:=x- -1;z:=- - x}" => "process { x := -1; y := x - -1; z := --x }"
        "process { if(x) {skip}else{skip} }" => "process { if (x) { skip } else { skip } }"
        "process { lock (m);unlock( m ) }" => "process { lock(m); unlock(m) }"
        "process { x:=f (1)+a [2] }" => "process { x := f(1) + a[2] }"
        "process { while(x==0) [3]{x:=1} }" => "process { while (x == 0)[3] { x := 1 } }"
        "process { c!1;c?x;c! !b }" => "process { c ! 1; c ? x; c ! !b }"
        "process { not(b)|>skip; b and not c |>* skip }"
            => "process { not (b) |> skip; b and not c |>* skip }"
        "process { select{b|>skip[]c?x|>skip[]else|>skip} }"
            => "process { select { b |> skip [] c ? x |> skip [] else |> skip } }"
        "op f(): int { return (1) }" => "op f(): int { return (1) }"
        "process { x := match s{A:1,else :~2} }" => "process { x := match s { A: 1, else: ~2 } }"
        "process { x.store(1,release);y:=m.a }"
            => "process { x.store(1, release); y := m.a }"
        "process { here :x := choose (0..3) }" => "process { here: x := choose(0..3) }"
        "process {\n}" => "process {\n}"
        "process {}" => "process { }"
    }
    lines_and_levels {
        "\n\nvar x: int = 0   \n\n\n\nprocess {\n\n  x := 1\n\n}\n\n"
            => "var x: int = 0\n\nprocess {\n  x := 1\n}"
        "process\n{\nif b\n{\nskip\n}\nelse\n{\nskip\n}\n}"
            => "process\n{\n  if b\n  {\n    skip\n  }\n  else\n  {\n    skip\n  }\n}"
        "process { if b { if c {\nskip\n} }\n}" => "process { if b { if c {\n  skip\n} }\n}"
        "invariant a\n|| b\nvar x: int = 0" => "invariant a\n    || b\nvar x: int = 0"
        "process {\nawait a &&\nb;\nx :=\n1\n}"
            => "process {\n  await a &&\n      b;\n  x :=\n      1\n}"
        "const A = [\n1,\n2\n]\nconst B = [1,\n2]" => "const A = [\n  1,\n  2\n]\nconst B = [1,\n    2]"
        "enum E {\nA,\nB\n}" => "enum E {\n  A,\n  B\n}"
        "process {\nx := match s {\nA: 1,\nB: 2\n};\nskip\n}"
            => "process {\n  x := match s {\n    A: 1,\n    B: 2\n  };\n  skip\n}"
        "process {\nselect {\nb |> skip\n[] c |> skip\n}\n}"
            => "process {\n  select {\n    b |> skip\n    [] c |> skip\n  }\n}"
        "spec object for 2 clients of 1 operation {\nvar n: int = 0\nop f() { n := 1 }\n}"
            => "spec object for 2 clients of 1 operation {\n  var n: int = 0\n  op f() { n := 1 }\n}"
    }
    comments_stay {
        "// one  \nprocess{//two\nskip// three\n// four\n}// five\n\n// six"
            => "// one\nprocess { //two\n  skip // three\n  // four\n} // five\n\n// six"
        "process { /* a */x/* b */:=/* c */1 }" => "process { /* a */ x /* b */ := /* c */ 1 }"
        "process {\n/* a\n   b */\nskip }" => "process {\n  /* a\n   b */\n  skip }"
        "process {\n\n// a\n\n\n// b\n\nskip }" => "process {\n  // a\n\n  // b\n\n  skip }"
        "// a\r\nvar x: int = 0\r\n" => "// a\nvar x: int = 0"
    }
}

#[test]
fn an_empty_text_stays_empty() {
    assert_eq!(formatted(" \n\t\n"), "");
    assert_eq!(formatted("\u{feff}// a"), "// a\n");
}

#[test]
fn mistakes_have_their_places() {
    let source = "include \"a.maz\"\nprocess { x := }";
    let Err(Unformatted::Mistakes(mistakes)) = format(source) else {
        panic!("it has a mistake");
    };
    let place = mistakes[0].span.line_column(source);
    assert_eq!(
        (mistakes.len(), mistakes[0].code, place),
        (1, "M0101", (2, 16))
    );
    // The user's text must not contain the mark of included files.
    assert!(format("\u{1e}1 a.maz\nprocess { skip }").is_err());
}

/// Returns every `.maz` file of the corpus and the examples.
fn programs() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("corpus"), root.join("examples")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "maz") {
                let text = fs::read_to_string(&path).expect("a program");
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 300, "{}", found.len());
    found
}

#[test]
fn all_programs_of_the_repository_are_laid_out() {
    let mut differences = Vec::new();
    for (path, text) in programs() {
        let formatted = formatted(&text);
        let lines = text.split('\n').zip(formatted.split('\n')).enumerate();
        let differ = lines.filter(|(_, (is, should))| is != should);
        let describe = |(at, (is, should))| {
            format!("{}:{}: `{is}` should be `{should}`", path.display(), at + 1)
        };
        differences.extend(differ.map(describe));
        assert_eq!(
            text.lines().count(),
            formatted.lines().count(),
            "{}",
            path.display()
        );
    }
    assert!(
        differences.is_empty(),
        "run `mazurka fmt corpus examples`:\n{}",
        differences.join("\n")
    );
}

/// Returns the checked program as text, without places.
fn meaning(source: &str) -> String {
    let read = &mut |_: &str| Ok(String::new());
    let shown = format!("{:?}", load(&expand(source, read), &[]));
    // The rest contains maps by place, in no fixed order.
    let shown = shown.split(", orders: {").next().unwrap_or_default();
    let mut parts = shown.split("Span { start: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + part.split_once(" }").map_or("", |(_, rest)| rest)
    })
}

/// Returns the comments of a text without strings, in order, without trailing blanks.
fn comments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        rest = &rest[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        };
        found.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
    found
}

/// Returns the text with other blanks. `choices` determines the replacement of each run of blanks.
fn respaced(text: &str, choices: &[u8], commented: bool) -> String {
    let mut choices = choices.iter().cycle();
    let mut out = String::new();
    for line in text.lines() {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        for (at, part) in code.split(' ').enumerate() {
            let choice = *choices.next().expect("endless");
            match (at, commented, choice) {
                (0, ..) => {}
                (_, true, 0..20) => out += " /* note */ ",
                (_, _, 0..128) => out.push(' '),
                (_, _, 128..192) => out += "  ",
                _ => out += "\t ",
            }
            out += part;
        }
        out += comment;
        if commented && choices.next().is_some_and(|choice| *choice < 30) {
            out += " // note";
        }
        out.push('\n');
    }
    out
}

/// Returns programs in which blanks can be changed anywhere outside of comments.
fn plain() -> &'static [String] {
    static PLAIN: OnceLock<Vec<String>> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let all = programs().into_iter().map(|(_, text)| text);
        all.filter(|text| !text.contains(['"', '?'])).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn blanks_do_not_matter(pick in any::<prop::sample::Index>(), choices in prop::collection::vec(any::<u8>(), 1..40)) {
        let texts = plain();
        let text = &texts[pick.index(texts.len())];
        prop_assert_eq!(&formatted(&respaced(text, &choices, false)), text);
    }

    #[test]
    fn comments_are_kept_and_nothing_changes(pick in any::<prop::sample::Index>(), choices in prop::collection::vec(any::<u8>(), 1..40)) {
        let texts = plain();
        let text = respaced(&texts[pick.index(texts.len())], &choices, true);
        let new = formatted(&text);
        prop_assert_eq!(comments(&new), comments(&text));
        prop_assert_eq!(meaning(&new), meaning(&text));
    }
}
