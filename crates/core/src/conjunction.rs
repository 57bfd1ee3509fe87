//! Joins conditions, which are given as text, with `&&`.

/// Returns the conjunction of conditions in the syntax of the language: parts that bind more weakly
/// than `&&` are in parentheses; `true` and repetitions are left out.
///
/// ```
/// use mazurka_core::conjunction;
/// let parts = ["x == 0 || y == 0", "x < 5", "x < 5", "!(x == 1 || y == 2)"];
/// assert_eq!(
///     conjunction(&parts),
///     "(x == 0 || y == 0) && x < 5 && !(x == 1 || y == 2)"
/// );
/// assert_eq!(conjunction(&["x == 0 || y == 0"]), "x == 0 || y == 0");
/// assert_eq!(conjunction::<&str>(&[]), "true");
/// ```
pub fn conjunction<S: AsRef<str>>(conditions: &[S]) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for condition in conditions.iter().map(AsRef::as_ref) {
        if condition != "true" && !parts.contains(&condition) {
            parts.push(condition);
        }
    }
    match parts[..] {
        [] => "true".to_owned(),
        [one] => one.to_owned(),
        _ => {
            let parts: Vec<String> = parts.into_iter().map(conjunct).collect();
            parts.join(" && ")
        }
    }
}

/// Returns a condition as a side of `&&`: in parentheses if it binds more weakly.
///
/// ```
/// use mazurka_core::conjunct;
/// assert_eq!(conjunct("a || b"), "(a || b)");
/// assert_eq!(conjunct("a[i || j] && !(c || d)"), "a[i || j] && !(c || d)");
/// assert_eq!(conjunct("if a then b else c"), "(if a then b else c)");
/// ```
pub fn conjunct(condition: &str) -> String {
    if is_weaker_than_and(condition) {
        format!("({condition})")
    } else {
        condition.to_owned()
    }
}

/// Whether the outermost operator of a condition binds more weakly than `&&`: a disjunction, an
/// implication, an `if` expression or a quantifier.
fn is_weaker_than_and(condition: &str) -> bool {
    const FIRST: [&str; 5] = ["if ", "forall ", "exists ", "∀", "∃"];
    const BETWEEN: [&str; 5] = ["||", "==>", "∨", "→", "↔"];
    let mut depth = 0_usize;
    FIRST.iter().any(|word| condition.starts_with(word))
        || condition.char_indices().any(|(at, letter)| {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && BETWEEN.iter().any(|word| condition[at..].starts_with(word))
        })
}
