//! The attributes of `mazurka-tokio`, with tokio's arguments.

use proc_macro::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The runtime that an attribute requests.
struct RuntimeOptions {
    several_threads: bool,
    /// The path of the crate that replaces tokio, as the attribute's argument `crate` gives it.
    krate: String,
}

fn runtime_options(attribute: TokenStream, test: bool) -> Result<RuntimeOptions, String> {
    let mut found = RuntimeOptions {
        several_threads: !test,
        krate: "::tokio".to_owned(),
    };
    let mut arguments: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for token in attribute {
        match token {
            TokenTree::Punct(ref punct) if punct.as_char() == ',' => arguments.push(Vec::new()),
            token => arguments.last_mut().expect("there is one").push(token),
        }
    }
    for argument in arguments.iter().filter(|argument| !argument.is_empty()) {
        let name = argument[0].to_string();
        let value = match &argument[1..] {
            [TokenTree::Punct(punct), value] if punct.as_char() == '=' => value.to_string(),
            _ => return Err(format!("write `{name} = …`")),
        };
        match (name.as_str(), value.trim_matches('"')) {
            ("flavor", "current_thread") => found.several_threads = false,
            ("flavor", "multi_thread") => found.several_threads = true,
            ("flavor", other) => {
                return Err(format!(
                    "No such runtime flavor `{other}`. The runtime flavors are `current_thread` and `multi_thread`."
                ));
            }
            ("crate", path) => found.krate = path.to_owned(),
            // In a model every task has a thread, no time passes, and a panic is reported.
            ("worker_threads" | "start_paused" | "unhandled_panic", _) => {}
            _ => {
                return Err(format!(
                    "Unknown attribute {name} is specified; expected one of: `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`"
                ));
            }
        }
    }
    Ok(found)
}

/// Expands `#[tokio::test]` or `#[tokio::main]`.
pub fn entry(attribute: TokenStream, item: TokenStream, test: bool) -> TokenStream {
    expanded(attribute, item, test).unwrap_or_else(|message| super::mistake(&message))
}

fn parsed(code: &str) -> Result<TokenStream, String> {
    code.parse()
        .map_err(|_| format!("this is not valid code: `{code}`"))
}

fn group(delimiter: Delimiter, inner: TokenStream) -> TokenStream {
    TokenTree::Group(Group::new(delimiter, inner)).into()
}

fn expanded(attribute: TokenStream, item: TokenStream, test: bool) -> Result<TokenStream, String> {
    let RuntimeOptions {
        several_threads,
        krate,
    } = runtime_options(attribute, test)?;
    let for_functions = "the `async` keyword is missing from the function declaration";
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let body = match tokens.pop() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group,
        _ => return Err(for_functions.to_owned()),
    };
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i.to_string() == word);
    let start = tokens.iter().position(|token| is(token, "fn"));
    let start = start
        .filter(|&start| start > 0 && is(&tokens[start - 1], "async"))
        .ok_or(for_functions)?;
    match tokens.get(start + 2) {
        Some(TokenTree::Group(arguments)) if !test || arguments.stream().is_empty() => {}
        _ => return Err("the test function cannot accept arguments".to_owned()),
    }
    let result: TokenStream = if test {
        tokens.drain(start + 3..).collect()
    } else {
        TokenStream::new()
    };
    tokens.remove(start - 1);
    let make = if several_threads {
        "new_multi_thread"
    } else {
        "new_current_thread"
    };
    let runtime = parsed(&format!(
        "{krate}::runtime::Builder::{make}().enable_all().build()\
         .expect(\"Failed building the Runtime\").block_on"
    ))?;
    let future = parsed("async move")?
        .into_iter()
        .chain(TokenStream::from(TokenTree::Group(body)))
        .collect();
    let run: TokenStream = runtime
        .into_iter()
        .chain(group(Delimiter::Parenthesis, future))
        .collect();
    let run = group(Delimiter::Brace, run);
    if !test {
        return Ok(tokens.into_iter().chain(run).collect());
    }
    let closure = parsed("||")?.into_iter().chain(result).chain(run).collect();
    let call = parsed(&format!("{krate}::mazurka_rt::model"))?
        .into_iter()
        .chain(group(Delimiter::Parenthesis, closure))
        .chain(parsed(";")?)
        .collect();
    let attribute = parsed("#[::core::prelude::v1::test]")?;
    Ok(attribute
        .into_iter()
        .chain(tokens)
        .chain(group(Delimiter::Brace, call))
        .collect())
}

/// Makes a pattern that matches a reference to whatever the given one matches, and moves nothing:
/// `ref` and `mut` of bindings are left out.
pub fn clean(pattern: TokenStream) -> TokenStream {
    let mut clean: Vec<TokenTree> = Vec::new();
    for token in pattern {
        let behind_reference = matches!(
            clean.last(),
            Some(TokenTree::Punct(punct)) if punct.as_char() == '&' && punct.spacing() == Spacing::Alone
        );
        match token {
            TokenTree::Ident(ident) if ident.to_string() == "ref" => {}
            TokenTree::Ident(ident) if ident.to_string() == "mut" && !behind_reference => {}
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self::clean(group.stream()));
                inner.set_span(group.span());
                clean.push(TokenTree::Group(inner));
            }
            token => clean.push(token),
        }
    }
    clean.into_iter().collect()
}
