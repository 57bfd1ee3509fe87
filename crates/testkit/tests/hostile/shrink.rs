//! Shrinks a program that shows a mistake, as long as the smaller program shows it, too.
//!
//! This works on words, not on a tree, and knows only the brackets of the language. So it applies
//! to any text that a generator makes. A cut that leaves no valid program is dropped.

use std::time::{Duration, Instant};

use crate::generators::layout;

/// Returns the words of a program, without comments.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let mark = |c: char| !word(c) && !c.is_whitespace() && !"(){}[],;\"".contains(c);
            let end = match first {
                '"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
                // An operation on an atomic variable: `.swap`.
                '.' if rest[1..].starts_with(word) => {
                    rest[1..].find(|c| !word(c)).map_or(rest.len(), |at| at + 1)
                }
                c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                c if mark(c) => rest.find(|c| !mark(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            words.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
        }
    }
    words
}

/// Joins words to a text, with a line for each declaration and statement.
fn text(words: &[String]) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    let breaks = [
        "var",
        "lock",
        "const",
        "proc",
        "requires",
        "invariant",
        "ensures",
        "observe",
        "atomicity",
        "process",
    ];
    for (at, word) in words.iter().enumerate() {
        let statement = word != "lock" || words.get(at + 1).is_some_and(|next| next != "(");
        let starts = depth == 0 && breaks.contains(&word.as_str()) && statement;
        if starts && at > 0 {
            text.push('\n');
        }
        if word.starts_with('.') && word != ".." {
            text.truncate(text.trim_end_matches(' ').len());
        }
        text += word;
        text.push(' ');
        match word.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if word == ";" || word == "{" {
            text.push('\n');
        }
    }
    layout(text)
}

/// Makes every name longer.
pub fn rename(program: &str) -> String {
    const KEPT: &str = " var lock const proc requires invariant ensures observe atomicity statement access process skip \
        end await if then else while for in spawn join atomic unlock let assert assume error choose input and or not \
        true false True False int bool i8 i16 i32 i64 u8 u16 u32 u64 prove allows expects failure deadlock livelock \
        nondeterminism deterministic ";
    let renamed = words(program).into_iter().map(|word| {
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_name && !KEPT.contains(&format!(" {word} ")) {
            format!("z_{word}")
        } else {
            word
        }
    });
    text(&renamed.collect::<Vec<_>>())
}

/// Whether the brackets match.
fn balanced(words: &[String]) -> bool {
    let mut open = Vec::new();
    for word in words {
        match word.as_str() {
            "{" => open.push("}"),
            "(" => open.push(")"),
            "[" => open.push("]"),
            "}" | ")" | "]" if open.pop() != Some(word) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// Returns the closing bracket that matches the opening one here.
fn closing(words: &[String], open: usize) -> Option<usize> {
    (open + 1..words.len()).find(|&end| balanced(&words[open..=end]))
}

/// After this time, shrinking ends with the text that it has.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a smaller text with the same mistake.
pub fn shrink(program: &str, wrong: impl Fn(&str) -> bool) -> String {
    let start = Instant::now();
    let wrong = |text: &str| start.elapsed() < PATIENCE && wrong(text);
    let mut now = words(program);
    if !wrong(&text(&now)) {
        return program.to_owned();
    }
    loop {
        let before = now.len();
        now = cut_ranges(now, &wrong);
        now = unwrap(now, &wrong);
        now = simplify(now, &wrong);
        if now.len() == before {
            return text(&now);
        }
    }
}

/// Removes ranges of words, long ones first.
fn cut_ranges(mut now: Vec<String>, wrong: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut length = now.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at + length <= now.len() {
            if balanced(&now[at..at + length]) {
                let smaller = [&now[..at], &now[at + length..]].concat();
                if wrong(&text(&smaller)) {
                    now = smaller;
                    continue;
                }
            }
            at += 1;
        }
        length = match length {
            13.. => length * 3 / 4,
            _ => length - 1,
        };
    }
    now
}

/// Replaces a block by its contents.
fn unwrap(mut now: Vec<String>, wrong: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut open = 0;
    while open < now.len() {
        let end = ["{", "("].contains(&now[open].as_str());
        let end = end.then(|| closing(&now, open)).flatten();
        let Some(end) = end else {
            open += 1;
            continue;
        };
        let smaller = (0..=open).rev().take(10).find_map(|from| {
            let smaller = [&now[..from], &now[open + 1..end], &now[end + 1..]].concat();
            wrong(&text(&smaller)).then_some(smaller)
        });
        match smaller {
            Some(smaller) => now = smaller,
            None => open += 1,
        }
    }
    now
}

/// Replaces words by simpler ones.
fn simplify(mut now: Vec<String>, wrong: &impl Fn(&str) -> bool) -> Vec<String> {
    for at in 0..now.len() {
        let simpler: &[&str] = match now[at].as_str() {
            "0" | "true" | "false" => continue,
            word if word.parse::<i64>().is_ok() => &["0", "1"],
            "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => &["int", "i8"],
            _ => continue,
        };
        let was = now[at].clone();
        for word in simpler.iter().take_while(|word| **word != was) {
            now[at] = (*word).to_owned();
            if wrong(&text(&now)) {
                break;
            }
            now[at].clone_from(&was);
        }
    }
    now
}

#[test]
fn the_mistake_stays_and_the_rest_is_removed() {
    let program = "var x: int = 7 // a comment\nprocess { if x > 3 { x := 5; error } }";
    let small = shrink(program, |text| {
        text.contains("error") && text.contains("process")
    });
    assert_eq!(words(&small), ["process", "error"]);
    let small = shrink(program, |text| {
        balanced(&words(text)) && text.contains("if")
    });
    assert_eq!(words(&small), ["if"]);
}

#[test]
fn words_are_kept_as_they_are() {
    let text_of = "process { e |> s <| a[1] |> t; assert x, \"m n\" }";
    let all = words(text_of);
    assert!(all.contains(&"<|".to_owned()) && all.contains(&"\"m n\"".to_owned()));
    assert_eq!(words(&text(&all)), all);
}
