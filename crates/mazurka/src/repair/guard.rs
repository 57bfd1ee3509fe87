//! Proposes guards: a step waits until a shared variable has one of some values.
//!
//! The values of a variable are divided into *classes*: each number in the text, and the ranges
//! between them; each member of an `enum`; `true` and `false`. A guard admits some of the classes.
//! Simple conditions are tried first (`x == 3`, `x > 3`). A condition with which the program is
//! verified is then widened: it admits one more class at a time, as long as the program is still
//! verified. So the process waits no longer than necessary: no further class can be admitted.

use std::rc::Rc;

use mazurka_lang::hir::Type;
use mazurka_lang::outline::{Role, Statement};

use super::edit::{Edit, words};
use super::{Candidate, ChangeKind, Repair, Subject};

/// Limit on the numbers of the text with which a variable is compared.
const MOST_NUMBERS: usize = 6;

/// Limit on the members of an `enum` with which a variable is compared.
const MOST_MEMBERS: usize = 12;

/// Values of a variable that the guards of this file do not distinguish.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueClass {
    /// One value with a name: the condition that the variable has this value, and its negation.
    Named { is: String, is_not: String },
    /// The numbers from the first to the second; `None` means unbounded.
    Numbers(Option<i64>, Option<i64>),
}

/// A variable and the classes of its values, in order.
#[derive(Debug)]
struct Domain {
    variable: String,
    classes: Vec<ValueClass>,
}

/// A guard before a statement, with the classes that it admits.
#[derive(Clone, Debug)]
struct Guard {
    /// The start of the statement.
    start: usize,
    domain: Rc<Domain>,
    admits: Vec<bool>,
}

/// Returns the widest guards that work. `attempt` checks a change.
pub(super) fn repairs(
    subject: &Subject<'_>,
    attempt: &mut dyn FnMut(&Candidate) -> Option<Repair>,
) -> Vec<Repair> {
    let domains = domains(subject);
    let mut all = Vec::new();
    let blocks = subject.blocks().into_iter();
    for statement in blocks.flatten().filter(|one| can_wait(subject, one)) {
        for domain in &domains {
            let mut known: Vec<Guard> = Vec::new();
            for guard in first_guards(statement.span.start as usize, domain) {
                if known.iter().any(|wider| guard.is_within(wider)) {
                    continue;
                }
                if let Some(repair) = attempt(&guard.candidate(subject)) {
                    let (guard, repair) = widened(subject, guard, repair, attempt);
                    known.push(guard);
                    all.push(repair);
                }
            }
        }
    }
    all
}

fn can_wait(subject: &Subject<'_>, statement: &Statement) -> bool {
    matches!(statement.role, Role::Step | Role::Lock(..))
        && subject.is_involved(statement)
        && subject.touches_shared(statement)
}

/// Returns the variables for which guards are tried.
fn domains(subject: &Subject<'_>) -> Vec<Rc<Domain>> {
    let program = subject.code.program();
    let numbers = numbers(subject.source);
    let scalars = program.vars.iter().filter(|var| var.len.is_none());
    let known = scalars.filter(|var| subject.outline.variables.contains(&var.name));
    let domain = |var: &mazurka_lang::hir::Var| {
        let name = &var.name;
        let classes = match var.ty {
            Type::Bool => [(name.clone(), format!("!{name}"))]
                .into_iter()
                .flat_map(|(yes, no)| [(no.clone(), yes.clone()), (yes, no)])
                .map(|(is, is_not)| ValueClass::Named { is, is_not })
                .collect(),
            Type::Enum(at) => {
                let members = &program.enums.get(usize::from(at))?.members;
                let named = |member: &String| ValueClass::Named {
                    is: format!("{name} == {member}"),
                    is_not: format!("{name} != {member}"),
                };
                members.iter().take(MOST_MEMBERS).map(named).collect()
            }
            Type::Int | Type::Signed(_) => between(&numbers, None),
            Type::Unsigned(_) => between(&numbers, Some(0)),
            Type::Process => return None,
        };
        let variable = name.clone();
        Some(Rc::new(Domain { variable, classes }))
    };
    known.filter_map(domain).collect()
}

/// Returns the smallest numbers in the text, at most `MOST_NUMBERS`.
fn numbers(source: &str) -> Vec<i64> {
    let mut all: Vec<i64> = words(source).filter_map(|word| word.parse().ok()).collect();
    all.sort_unstable();
    all.dedup();
    all.truncate(MOST_NUMBERS);
    all
}

/// Returns the numbers and the ranges between them, starting with the least value.
fn between(numbers: &[i64], least: Option<i64>) -> Vec<ValueClass> {
    let mut classes = Vec::new();
    let mut from = least;
    for &number in numbers {
        let before = number.checked_sub(1);
        if before.is_some() && from.is_none_or(|from| Some(from) <= before) {
            classes.push(ValueClass::Numbers(from, before));
        }
        classes.push(ValueClass::Numbers(Some(number), Some(number)));
        from = number.checked_add(1);
    }
    if from.is_some() {
        classes.push(ValueClass::Numbers(from, None));
    }
    classes
}

/// Returns the simple guards, the widest first. A simple guard admits one class, all classes except
/// one, or for numbers all classes below or above one.
fn first_guards(start: usize, domain: &Rc<Domain>) -> Vec<Guard> {
    let count = domain.classes.len();
    let mut all: Vec<Vec<bool>> = Vec::new();
    for (at, class) in domain.classes.iter().enumerate() {
        let point = match class {
            ValueClass::Named { .. } => true,
            ValueClass::Numbers(from, to) => from == to && from.is_some(),
        };
        let below_and_above = !matches!(class, ValueClass::Named { .. });
        if point {
            all.push((0..count).map(|one| one == at).collect());
            all.push((0..count).map(|one| one != at).collect());
        }
        if point && below_and_above {
            all.push((0..count).map(|one| one < at).collect());
            all.push((0..count).map(|one| one > at).collect());
        }
    }
    all.retain(|admits| admits.contains(&true) && admits.contains(&false));
    all.sort_by_key(|admits| admits.iter().filter(|&&admitted| !admitted).count());
    all.dedup();
    let guard = |admits| Guard {
        start,
        domain: domain.clone(),
        admits,
    };
    all.into_iter().map(guard).collect()
}

/// Admits more classes as long as the result works.
fn widened(
    subject: &Subject<'_>,
    mut guard: Guard,
    mut repair: Repair,
    attempt: &mut dyn FnMut(&Candidate) -> Option<Repair>,
) -> (Guard, Repair) {
    // Admitting one class may make a process wait for ever, and admitting it together with another
    // may not. So after each change all classes are tried again.
    loop {
        let before = guard.admits.clone();
        for at in 0..before.len() {
            let mut wider = guard.clone();
            wider.admits[at] = true;
            if guard.admits[at] || !wider.admits.contains(&false) {
                continue;
            }
            if let Some(better) = attempt(&wider.candidate(subject)) {
                (guard, repair) = (wider, better);
            }
        }
        if guard.admits == before {
            return (guard, repair);
        }
    }
}

impl Guard {
    /// Whether a guard on the same variable admits all classes that this guard admits.
    fn is_within(&self, wider: &Guard) -> bool {
        let mut both = self.admits.iter().zip(&wider.admits);
        both.all(|(&this, &other)| other || !this)
    }

    fn candidate(&self, subject: &Subject<'_>) -> Candidate {
        let condition = self.domain.condition(&self.admits);
        let line = subject.line(self.start);
        Candidate {
            kind: ChangeKind::Guard,
            summary: format!("line {line} waits until `{condition}`"),
            edits: vec![Edit::insert(self.start, format!("{condition} |> "))],
            regions: Vec::new(),
        }
    }
}

impl Domain {
    /// Returns a short condition that the variable has a value of one of these classes.
    fn condition(&self, admits: &[bool]) -> String {
        let mut excluded = self
            .classes
            .iter()
            .zip(admits)
            .filter(|(_, admits)| !**admits);
        if let (Some((class, _)), None) = (excluded.next(), excluded.next()) {
            match class {
                ValueClass::Named { is_not, .. } => return is_not.clone(),
                ValueClass::Numbers(Some(from), to) if Some(from) == to.as_ref() => {
                    return format!("{} != {from}", self.variable);
                }
                ValueClass::Numbers(..) => {}
            }
        }
        let mut parts: Vec<String> = Vec::new();
        let mut run: Option<(Option<i64>, Option<i64>)> = None;
        for (class, &admitted) in self.classes.iter().zip(admits) {
            match (class, admitted) {
                (ValueClass::Named { is, .. }, true) => parts.push(is.clone()),
                (ValueClass::Numbers(from, to), true) => {
                    run = Some((run.map_or(*from, |(first, _)| first), *to));
                }
                (_, false) => parts.extend(run.take().map(|run| self.within(run))),
            }
        }
        parts.extend(run.map(|run| self.within(run)));
        parts.join(" || ")
    }

    fn within(&self, run: (Option<i64>, Option<i64>)) -> String {
        let name = &self.variable;
        match run {
            (Some(from), Some(to)) if from == to => format!("{name} == {from}"),
            (Some(from), Some(to)) if from == 0 && self.starts_at(from) => {
                format!("{name} <= {to}")
            }
            (Some(from), Some(to)) => format!("{name} >= {from} && {name} <= {to}"),
            (Some(from), None) => format!("{name} >= {from}"),
            (None, Some(to)) => format!("{name} <= {to}"),
            (None, None) => "true".to_owned(),
        }
    }

    /// Whether this number is the least value.
    fn starts_at(&self, number: i64) -> bool {
        matches!(self.classes.first(), Some(ValueClass::Numbers(Some(from), _)) if *from == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(numbers: &[i64], least: Option<i64>) -> Rc<Domain> {
        Rc::new(Domain {
            variable: "x".to_owned(),
            classes: between(numbers, least),
        })
    }

    /// Returns the condition that admits the classes for which a function of their bounds holds.
    fn guard_text(domain: &Domain, admits: impl Fn(Option<i64>, Option<i64>) -> bool) -> String {
        let classes = domain.classes.iter();
        let admits = classes.map(|class| match class {
            ValueClass::Numbers(from, to) => admits(*from, *to),
            ValueClass::Named { .. } => false,
        });
        domain.condition(&admits.collect::<Vec<_>>())
    }

    #[test]
    fn classes_have_short_conditions() {
        let domain = domain(&[0, 1, 5], None);
        assert_eq!(domain.classes.len(), 6, "{domain:?}");
        let at_least = |number: i64| move |from: Option<i64>, _| from.is_some_and(|n| n >= number);
        assert_eq!(guard_text(&domain, at_least(1)), "x >= 1");
        assert_eq!(guard_text(&domain, |from, _| from != Some(5)), "x != 5");
        assert_eq!(
            guard_text(&domain, |from, _| from == Some(2)),
            "x >= 2 && x <= 4"
        );
        assert_eq!(guard_text(&domain, |from, _| from == Some(1)), "x == 1");
        assert_eq!(guard_text(&domain, |from, _| from.is_none()), "x <= -1");
        let ends = |from: Option<i64>, _| from.is_none_or(|n| n >= 5);
        assert_eq!(guard_text(&domain, ends), "x <= -1 || x >= 5");
    }

    #[test]
    fn numbers_without_a_sign_have_a_least_one() {
        let domain = domain(&[2], Some(0));
        assert_eq!(guard_text(&domain, |_, to| to == Some(1)), "x <= 1");
        assert_eq!(guard_text(&domain, |from, _| from == Some(2)), "x == 2");
    }

    #[test]
    fn the_widest_guards_are_first_and_no_guard_is_trivial() {
        let domain = domain(&[0, 1], None);
        let all = first_guards(0, &domain);
        let told: Vec<String> = all
            .iter()
            .map(|guard| domain.condition(&guard.admits))
            .collect();
        assert_eq!(told[..2], ["x != 0".to_owned(), "x != 1".to_owned()]);
        assert!(told.contains(&"x == 1".to_owned()) && !told.contains(&"true".to_owned()));
    }
}
