//! The tokens of a text.

/// A word, number, string or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    Sign(&'static str),
    End,
}

/// The signs with their usual spelling. A sign comes before the signs that are prefixes of it.
const SIGNS: [(&str, &str); 47] = [
    ("|>*", "|>*"),
    ("▷*", "|>*"),
    ("|>", "|>"),
    ("▷", "|>"),
    ("<|", "<|"),
    ("◁", "<|"),
    ("∧", "&&"),
    ("∨", "||"),
    ("¬", "!"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("↦", "="),
    (":=", ":="),
    ("..", ".."),
    (".", "."),
    ("&&", "&&"),
    ("||", "||"),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("<<", "<<"),
    (">>", ">>"),
    ("&", "&"),
    ("|", "|"),
    ("^", "^"),
    ("~", "~"),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("!", "!"),
    ("?", "?"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    (";", ";"),
    (":", ":"),
];

/// Returns all tokens with their lines; the last is [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(Token, u32)>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    loop {
        rest = skip_blanks(rest, &mut line)?;
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, line));
            return Ok(tokens);
        };
        let (token, left) = if first.is_ascii_digit() {
            number(rest)?
        } else if first.is_alphabetic() || first == '_' {
            word(rest)
        } else if first == '"' {
            string(rest)?
        } else {
            sign(rest).ok_or_else(|| format!("line {line}: unknown character {first:?}"))?
        };
        tokens.push((token, line));
        rest = left;
    }
}

fn skip_blanks<'a>(mut rest: &'a str, line: &mut u32) -> Result<&'a str, String> {
    loop {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/").ok_or("a comment is not closed")?;
            *line += inside[..end].matches('\n').count() as u32;
            rest = &inside[end + 2..];
        } else if let Some(first) = rest.chars().next().filter(|c| c.is_whitespace()) {
            *line += u32::from(first == '\n');
            rest = &rest[first.len_utf8()..];
        } else {
            return Ok(rest);
        }
    }
}

fn number(rest: &str) -> Result<(Token, &str), String> {
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let value = rest[..end]
        .parse()
        .map_err(|_| "a number beyond every type".to_string())?;
    Ok((Token::Number(value), &rest[end..]))
}

fn word(rest: &str) -> (Token, &str) {
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    let token = match &rest[..end] {
        "and" => Token::Sign("&&"),
        "or" => Token::Sign("||"),
        "not" => Token::Sign("!"),
        "True" => Token::Word("true".into()),
        "False" => Token::Word("false".into()),
        word => Token::Word(word.into()),
    };
    (token, &rest[end..])
}

fn string(rest: &str) -> Result<(Token, &str), String> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => break,
            '"' if !escaped => return Ok((Token::Text(rest[1..at].into()), &rest[at + 1..])),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    Err("a string is not closed".into())
}

fn sign(rest: &str) -> Option<(Token, &str)> {
    let &(written, meant) = SIGNS
        .iter()
        .find(|(written, _)| rest.starts_with(written))?;
    Some((Token::Sign(meant), &rest[written.len()..]))
}
