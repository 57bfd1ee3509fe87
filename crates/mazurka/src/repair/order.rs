//! Proposes another order: of two consecutive statements, which may acquire locks, or of the
//! elements of a lock array.

use mazurka_lang::outline::{Role, Statement};

use super::edit::{Edit, before, words};
use super::{Candidate, ChangeKind, Subject};

/// Returns changes of an order.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let mut all = Vec::new();
    for pair in subject
        .blocks()
        .into_iter()
        .flat_map(|block| block.windows(2))
    {
        let [one, two] = pair else { continue };
        if !subject.is_involved(one) && !subject.is_involved(two) {
            continue;
        }
        all.extend(by_index(subject, one, two));
        // The statements can change places only if neither affects the other within the process.
        if subject.commute(one, two) {
            all.push(swapped(subject, one, two));
        }
    }
    all
}

fn swapped(subject: &Subject<'_>, one: &Statement, two: &Statement) -> Candidate {
    let text = |statement: &Statement| statement.span.text(subject.source);
    let put = |place: &Statement, with: &Statement| Edit {
        start: place.span.start as usize,
        end: place.span.end as usize,
        with: text(with).to_owned(),
    };
    let locks = matches!((&one.role, &two.role), (Role::Lock(..), Role::Lock(..)));
    let line = subject.line(one.span.start as usize);
    Candidate {
        kind: ChangeKind::Order,
        summary: if locks {
            format!("the other order of the locks in line {line}")
        } else {
            format!("`{}` before `{}` in line {line}", text(two), text(one))
        },
        edits: vec![put(one, two), put(two, one)],
        regions: Vec::new(),
    }
}

/// Acquires two elements of one array of locks in the order of their indices.
fn by_index(subject: &Subject<'_>, one: &Statement, two: &Statement) -> Option<Candidate> {
    let (Role::Lock(name, Some(a)), Role::Lock(other, Some(b))) = (&one.role, &two.role) else {
        return None;
    };
    if name != other {
        return None;
    }
    let source = subject.source;
    let pairs = [("first", "second"), ("low", "high"), ("lower", "upper")];
    let used: Vec<&str> = words(source).collect();
    let free = |(a, b): &&(&str, &str)| !used.contains(a) && !used.contains(b);
    let (first, second) = *pairs.iter().find(free)?;
    let (a_text, b_text) = (a.text(source), b.text(source));
    let least = format!("let {first} = if {a_text} < {b_text} then {a_text} else {b_text}");
    let most = format!("let {second} = if {a_text} < {b_text} then {b_text} else {a_text}");
    let put = |at: &mazurka_diagnostics::Span, with: &str| Edit {
        start: at.start as usize,
        end: at.end as usize,
        with: with.to_owned(),
    };
    let start = one.span.start as usize;
    Some(Candidate {
        kind: ChangeKind::Order,
        summary: format!(
            "`{name}` is taken in the order of the numbers in line {}",
            subject.line(start)
        ),
        edits: vec![
            before(source, start, &least),
            before(source, start, &most),
            put(a, first),
            put(b, second),
        ],
        regions: Vec::new(),
    })
}
