//! Tests arbitrary file contents: there is no panic, loading ends, and all places are in the file.

use mazurka_lang::{expand, load};
use proptest::prelude::*;

// Shared with cargo-fuzz.
#[path = "../../../../fuzz/src/maz.rs"]
mod maz;

/// Loads a text, and looks up every place in the results. If the text contains an `include` or the
/// mark of included files, also loads its expansion, and a text that includes this expansion.
fn check(source: &str) {
    maz::read(source);
    if source.contains("include") || source.contains('\u{1e}') {
        let text = expand(source, &mut |_| Ok(source.to_owned()));
        maz::read(&text);
        let main = "include \"b.maz\"\nprocess { skip }";
        maz::read(&expand(main, &mut |_| Ok(text.clone())));
    }
}

const VALID: &[&str] = &[
    "// Peterson
var flag: bool[2] = false
var turn: int = 0
var inside: int = 0
invariant mutex: inside <= 1
process p (i in 0..2) {
  flag[i] := true; turn := 1 - i;
  await flag[1 - i] == false || turn == i;
  inside := inside + 1; inside := inside - 1;
  flag[i] := false
}",
    "atomicity access
const N = 3
lock forks[N], m
var meals: u8 = 0
proc eat(n: u8) { lock(m); meals := meals + n; unlock(m) }
process philosopher (i in 0..N) {
  while (meals < 10)[N] {
    lock(forks[i]); lock(forks[(i + 1) % N]);
    eat(1);
    unlock(forks[i]) ; unlock(forks[(i + 1) % N])
  }
}",
    "var x, y: int ↦ 0
var b: bool
requires x ≥ 0 ∧ ¬b
ensures last: x ≠ 1 ∨ y ≤ 2
observe x
process { (x == 0 or b) ▷ x := 2*x ◁ y == 1 ▷ (x := 3; y := 4) }
process { x < 3 |>* x := x + 1; let h = spawn { y := choose(0..3) }; join h }
process { for i in 0..3 { if x == i { end } else if b { skip } else { assert x > -1, \"é\" } } }
process { let t = input(); atomic { x := if t > 0 then 1 else -1; error \"no\" } }",
    "chan c[2]: u8
semaphore s = 1
var w: u8 = 1
process { while true { select { w & 3 == 1 |> print \"{w}\"; w := ~w << 1 [] c ? w |> break
  [] acquire(s) |> release(s) [] else |> here: w := w >> 1 ^ 7 | 1 } } }
process { c ! w + 1 }",
];

/// Splits a program into words, signs and blanks, so that mutations respect token borders.
fn tokens(source: &str) -> Vec<String> {
    let mut result: Vec<String> = Vec::new();
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut last = None;
    for c in source.chars() {
        let now = class(c);
        match result.last_mut() {
            Some(token) if last == Some(now) && now != 2 => token.push(c),
            _ => result.push(c.to_string()),
        }
        last = Some(now);
    }
    result
}

fn any_token() -> impl Strategy<Value = String> {
    let words = "var lock const proc requires invariant ensures observe atomicity process skip end \
        await if then else while for in let spawn join atomic unlock assert assume error input \
        choose true False at int bool u8 i64 x y a p q 0 1 7 300 18446744073709551615 ( ) [ ] { } \
        ( ) { } , ; : .. := = == != < <= > >= + - * / % ! && || |> |>* <| ▷ ◁ ▷* ∧ ∨ ¬ ≤ ↦ and not \
        & | ^ ~ << >> += ++ \"s\" \" // /* */ @ é statement access select print break include \
        \"a.maz\" [] ? chan \u{1e}1 \u{1e}!";
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    prop::sample::select(words)
}

proptest! {
    // PROPTEST_CASES=100000 for a long run.

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn characters(source in "[\\PC\\s]{0,200}") {
        check(&source);
    }

    #[test]
    fn signs(source in "[a-c0-9(){}\\[\\];:=<>|&!+*/.,\" \n▷◁*¬-]{0,200}") {
        check(&source);
        check(&format!("var a, b, c: int = 0 process {{ {source} }}"));
    }

    #[test]
    fn words(tokens in prop::collection::vec(any_token(), 0..120), glue in "[ \n]") {
        let source = tokens.join(&glue);
        check(&source);
        check(&format!("var x, y: int = 0 var a: int[3] = 0 proc p(q: int) {{ }} process {{ {source} }}"));
    }

    #[test]
    fn mutations(
        which in 0..VALID.len(),
        edits in prop::collection::vec((0..4u8, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any_token()), 1..6),
    ) {
        let mut list = tokens(VALID[which]);
        for (edit, at, other, token) in edits {
            let (at, other) = (at.index(list.len()), other.index(list.len()));
            match edit {
                0 => { list.remove(at); }
                1 => { let copy = list[at].clone(); list.insert(other, copy); }
                2 => list.swap(at, other),
                _ => list.insert(at, token),
            }
        }
        check(&list.concat());
    }
}

#[test]
fn truncation_anywhere() {
    for source in VALID {
        check(source);
        for (at, _) in source.char_indices() {
            check(&source[..at]);
            check(&source[at..]);
        }
        // Cut in the middle of a character, as in a damaged file.
        for at in 0..source.len() {
            check(&String::from_utf8_lossy(&source.as_bytes()[..at]));
        }
    }
}

#[test]
fn each_token_left_out_or_doubled() {
    for source in VALID {
        let list = tokens(source);
        for at in 0..list.len() {
            let mut less = list.clone();
            less.remove(at);
            check(&less.concat());
            let mut more = list.clone();
            more.insert(at, list[at].clone());
            check(&more.concat());
        }
    }
}

#[test]
fn the_valid_programs_are_valid() {
    for source in VALID {
        if let Err(mistakes) = load(source, &[]) {
            panic!("{source}\n{mistakes:#?}");
        }
    }
}
