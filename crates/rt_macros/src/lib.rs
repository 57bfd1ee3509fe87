//! The attribute `#[mazurka_rt::test]`: a test whose body is explored. See `mazurka_rt::test`.
//! `tokio.rs` has the attributes of `mazurka-tokio`.

mod tokio;

use std::fmt::Write as _;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// A test whose body is explored: `#[test]` and `Builder { … }.check(|| …)` in one.
///
/// ```ignore
/// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use mazurka_rt::sync::Arc;
/// use mazurka_rt::thread;
///
/// #[mazurka_rt::test(max_executions = 10_000, memory = sc, require_complete)]
/// fn increments_are_not_lost() {
///     let x = Arc::new(AtomicU32::new(0));
///     let other = x.clone();
///     let other = thread::spawn(move || other.fetch_add(1, SeqCst));
///     x.fetch_add(1, SeqCst);
///     other.join().unwrap();
///     assert_eq!(x.load(SeqCst), 2);
/// }
/// ```
///
/// The arguments are fields of `Builder`: `time_limit` and `step_limit` are numbers of seconds,
/// `memory` is a name as in `MAZURKA_MEMORY`, and the value `true` of a flag may be left out. The
/// function may return a `Result`. If it is `async`, `future::block_on` runs it.
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expanded(attribute, item).unwrap_or_else(|message| mistake(&message))
}

/// Returns code that fails to compile with this message.
fn mistake(message: &str) -> TokenStream {
    format!("::core::compile_error!({message:?});")
        .parse()
        .expect("a literal is a token")
}

/// `#[tokio::test]`: a test whose body is explored, in a runtime. See `mazurka_tokio`.
#[proc_macro_attribute]
pub fn tokio_test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tokio::entry(attribute, item, true)
}

/// `#[tokio::main]`: a function whose body runs in a runtime. See `mazurka_tokio`.
#[proc_macro_attribute]
pub fn tokio_main(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tokio::entry(attribute, item, false)
}

/// Turns a pattern into one that binds by reference, for `select!` of `mazurka_tokio`.
#[doc(hidden)]
#[proc_macro]
pub fn clean_pattern(pattern: TokenStream) -> TokenStream {
    tokio::clean(pattern)
}

/// The syntax of the value of an argument.
enum Kind {
    /// Any expression.
    Plain,
    /// Any expression, which is put into `Some`: the field of `Builder` is an `Option`.
    Optional,
    /// A number of seconds, which becomes `Some` of a `Duration`.
    Seconds,
    /// A memory model.
    Memory,
    /// `true`, which may be left out, or `false`.
    Flag,
}

const FIELDS: [(&str, Kind); 17] = [
    ("memory", Kind::Memory),
    ("max_depth", Kind::Optional),
    ("max_steps", Kind::Optional),
    ("max_executions", Kind::Optional),
    ("time_limit", Kind::Seconds),
    ("step_limit", Kind::Seconds),
    ("max_preemptions", Kind::Optional),
    ("max_decisions", Kind::Optional),
    ("spins", Kind::Plain),
    ("spurious_wakes", Kind::Plain),
    ("spurious_polls", Kind::Plain),
    ("spurious_failures", Kind::Plain),
    ("stack_size", Kind::Plain),
    ("seed", Kind::Plain),
    ("require_complete", Kind::Flag),
    ("leaks", Kind::Flag),
    ("quiet", Kind::Flag),
];

/// Returns the statements that set the fields of `builder`.
fn settings(attribute: TokenStream) -> Result<String, String> {
    let mut code = String::new();
    let mut arguments: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for token in attribute {
        match token {
            TokenTree::Punct(ref punct) if punct.as_char() == ',' => arguments.push(Vec::new()),
            token => arguments.last_mut().expect("there is one").push(token),
        }
    }
    for argument in arguments
        .into_iter()
        .filter(|argument| !argument.is_empty())
    {
        let name = argument[0].to_string();
        let Some((_, kind)) = FIELDS.iter().find(|(field, _)| *field == name) else {
            let known: Vec<&str> = FIELDS.iter().map(|(field, _)| *field).collect();
            let known = known.join(", ");
            return Err(format!(
                "`{name}` is not a setting of a model; there are {known}"
            ));
        };
        let value = match argument.get(1) {
            None => None,
            Some(TokenTree::Punct(punct)) if punct.as_char() == '=' && argument.len() > 2 => Some(
                argument[2..]
                    .iter()
                    .cloned()
                    .collect::<TokenStream>()
                    .to_string(),
            ),
            Some(_) => return Err(format!("write `{name} = …`")),
        };
        let value = match (kind, value) {
            (Kind::Flag, None) => "true".to_owned(),
            (_, None) => return Err(format!("write `{name} = …`")),
            (Kind::Flag | Kind::Plain, Some(value)) => value,
            (Kind::Optional, Some(value)) => format!("::core::option::Option::Some({value})"),
            (Kind::Seconds, Some(value)) => format!(
                "::core::option::Option::Some(::core::time::Duration::from_secs_f64(({value}) as f64))"
            ),
            (Kind::Memory, Some(value)) => {
                let model = match value.as_str() {
                    "rc11" => "Rc11",
                    "ra" => "Ra",
                    "tso" => "Tso",
                    "sc" => "Sc",
                    _ => return Err("write `memory = rc11`, `ra`, `tso` or `sc`".to_owned()),
                };
                format!("::core::option::Option::Some(::mazurka_rt::Memory::{model})")
            }
        };
        _ = write!(code, "builder.{name} = {value};");
    }
    Ok(code)
}

fn expanded(attribute: TokenStream, item: TokenStream) -> Result<TokenStream, String> {
    let settings = settings(attribute)?;
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let body = match tokens.pop() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group,
        _ => return Err("`#[mazurka_rt::test]` is for functions".to_owned()),
    };
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i.to_string() == word);
    let Some(start) = tokens.iter().position(|token| is(token, "fn")) else {
        return Err("`#[mazurka_rt::test]` is for functions".to_owned());
    };
    match tokens.get(start + 2) {
        Some(TokenTree::Group(arguments)) if arguments.stream().is_empty() => {}
        _ => return Err("a test has no arguments, and no type parameters".to_owned()),
    }
    // The tokens between the arguments and the body are the arrow and the result.
    let result: TokenStream = tokens.drain(start + 3..).collect();
    let asynchronous = start > 0 && is(&tokens[start - 1], "async");
    if asynchronous {
        tokens.remove(start - 1);
    }
    let body = TokenStream::from(TokenTree::Group(body));
    let body: TokenStream = if asynchronous {
        let async_body: TokenStream = "async move".parse().expect("two words");
        let call: TokenStream = "::mazurka_rt::future::block_on".parse().expect("a path");
        let future = async_body.into_iter().chain(body).collect();
        let argument = TokenTree::Group(Group::new(Delimiter::Parenthesis, future));
        let call = call.into_iter().chain([argument]).collect();
        TokenTree::Group(Group::new(Delimiter::Brace, call)).into()
    } else {
        body
    };
    let closure: TokenStream = "||".parse().expect("an operator");
    // A closure with a result type needs a block as its body, and the body of a function is one.
    let closure: TokenStream = closure.into_iter().chain(result).chain(body).collect();
    let check: TokenStream = format!(
        "#[allow(unused_mut)] let mut builder = ::mazurka_rt::Builder::new(); {settings} builder.check"
    )
    .parse()
    .map_err(|_| "an argument is not an expression".to_owned())?;
    let call = TokenTree::Group(Group::new(Delimiter::Parenthesis, closure));
    let end: TokenStream = ";".parse().expect("a semicolon");
    let new_body = check.into_iter().chain([call]).chain(end).collect();
    let attribute: TokenStream = "#[::core::prelude::v1::test]"
        .parse()
        .expect("an attribute");
    let new_body = TokenTree::Group(Group::new(Delimiter::Brace, new_body));
    Ok(attribute
        .into_iter()
        .chain(tokens)
        .chain([new_body])
        .collect())
}
