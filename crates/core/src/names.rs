//! The names of processes in the source, for people: `philosopher(2)`, `server.0`.
//!
//! Schedules and records number processes ([`ProcessPath`]). Text shows these names instead, and
//! users may write them.

use smallvec::SmallVec;

use crate::{ParseProcessError, ParseScheduleError, ProcessPath, Schedule, ScheduledStep};

/// The name of an initial process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootName {
    /// The name in the source.
    pub name: String,
    /// For an instance of `process p (i in a..b)`: the value of `i`.
    pub instance: Option<i64>,
}

impl std::fmt::Display for RootName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.instance {
            Some(instance) => write!(f, "{}({instance})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The names of the processes of one program, in the order of their numbers.
///
/// ```
/// use mazurka_core::{ProcessNames, RootName};
/// let root = |name: &str, instance| Some(RootName { name: name.to_owned(), instance });
/// let roots = [root("p", Some(4)), root("p", Some(5)), root("q", None), None];
/// let names = ProcessNames::new(roots.to_vec());
/// let path = |text: &str| text.parse().unwrap();
/// assert_eq!(names.show(&path("1.0")), "p(5).0");
/// assert_eq!(names.show(&path("3.1")), "3.1");
/// let schedule = names.schedule("p(4) p.5 q.0=7 3 2.1 p(5).2").unwrap();
/// assert_eq!(schedule.to_string(), "0 1 2.0=7 3 2.1 1.2");
/// let error = names.schedule("p").unwrap_err().to_string();
/// assert!(error.ends_with("`p` is one of `p(4)`, `p(5)`: say which"), "{error}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessNames {
    roots: Vec<Option<RootName>>,
    /// For each root, whether no other process has its name; only then is the name shown.
    unique: Vec<bool>,
}

/// Limit on the number of names that a message lists.
const MOST_LISTED: usize = 6;

impl ProcessNames {
    /// Creates the names of processes 0, 1, 2 and so on; `None` for a process without a name.
    pub fn new(roots: Vec<Option<RootName>>) -> Self {
        let mut count = std::collections::BTreeMap::new();
        for root in roots.iter().flatten() {
            *count
                .entry((root.name.as_str(), root.instance))
                .or_insert(0) += 1;
        }
        let unique = |root: &Option<RootName>| {
            let root = root.as_ref();
            root.is_some_and(|root| count[&(root.name.as_str(), root.instance)] == 1)
        };
        let unique = roots.iter().map(unique).collect();
        Self { roots, unique }
    }

    /// Returns the initial processes that have a name to show.
    pub fn roots(&self) -> impl Iterator<Item = (ProcessPath, String)> {
        let all = (0..self.roots.len() as u32).map(ProcessPath::root);
        all.filter_map(|path| self.name(&path).map(|name| (path, name)))
    }

    /// Returns the name to show, if the source gives the process a name that no other process has.
    pub fn name(&self, path: &ProcessPath) -> Option<String> {
        let (first, rest) = path.parts().split_first()?;
        let at = *first as usize;
        let root = self.roots.get(at)?.as_ref().filter(|_| self.unique[at])?;
        let children = rest.iter().map(|k| format!(".{k}"));
        Some(std::iter::once(root.to_string()).chain(children).collect())
    }

    /// Returns the name to show, or the numbers if there is no name.
    pub fn show(&self, path: &ProcessPath) -> String {
        self.name(path).unwrap_or_else(|| path.to_string())
    }

    /// Reads a schedule that may contain names instead of numbers.
    pub fn schedule(&self, text: &str) -> Result<Schedule, ParseScheduleError> {
        let step = |(at, word): (usize, &str)| {
            let (name, values) = match word.find('=') {
                Some(equals) => word.split_at(equals),
                None => (word, ""),
            };
            let failed = |error| ParseScheduleError::Process {
                step: at + 1,
                error,
            };
            let process = self.read(name).map_err(failed)?;
            let numbered: Result<Schedule, _> = format!("{process}{values}").parse();
            match numbered {
                Ok(Schedule(steps)) => Ok(steps),
                Err(ParseScheduleError::Outcome { text, .. }) => {
                    Err(ParseScheduleError::Outcome { step: at + 1, text })
                }
                Err(other) => Err(other),
            }
        };
        let steps = text.split_whitespace().enumerate().map(step);
        let steps: Vec<Vec<ScheduledStep>> = steps.collect::<Result<_, _>>()?;
        Ok(Schedule(steps.concat()))
    }

    /// Reads one process, given by its numbers, or by a name and the numbers of its descendants:
    /// `1.0`, `server.0`.
    pub fn read(&self, text: &str) -> Result<ProcessPath, ParseProcessError> {
        let letter = text.chars().next().filter(|c| !c.is_ascii_digit());
        if letter.is_none() || self.roots.iter().all(Option::is_none) {
            return text.parse();
        }
        let end = text.find(['(', '.']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let mut found = self.processes_meant(name, rest);
        found.dedup();
        match &found[..] {
            [one] => Ok(one.clone()),
            [] => Err(self.not_found(text, name)),
            several => {
                let list = self.listed(several.iter().cloned());
                let wrong = format!("`{text}` is one of {list}: say which");
                Err(ParseProcessError::Name(wrong))
            }
        }
    }

    /// Returns the processes that a name, with the text after it, may mean.
    fn processes_meant(&self, name: &str, rest: &str) -> Vec<ProcessPath> {
        let number = |text: &str| text.parse::<i64>().ok();
        let mut found = Vec::new();
        for (at, root) in self.roots.iter().enumerate() {
            let Some(root) = root.as_ref().filter(|root| root.name == name) else {
                continue;
            };
            let path = ProcessPath::root(at as u32);
            // `p(2).1`, or `p.2.1`, or `q.1`.
            let children = match (root.instance, rest.strip_prefix('(')) {
                (_, None) if rest.is_empty() => Some(""),
                (Some(instance), Some(rest)) => rest
                    .split_once(')')
                    .and_then(|(value, rest)| (number(value) == Some(instance)).then_some(rest)),
                (Some(instance), None) => {
                    let after = &rest[1..];
                    let end = after.find('.').unwrap_or(after.len());
                    (number(&after[..end]) == Some(instance)).then_some(&after[end..])
                }
                (None, Some(_)) => None,
                (None, None) => Some(rest),
            };
            found.extend(children.and_then(|children| descend(path, children)));
        }
        found
    }

    fn not_found(&self, text: &str, name: &str) -> ParseProcessError {
        let own = |at: &usize| {
            let root = self.roots[*at].as_ref();
            root.is_some_and(|root| root.name == name)
        };
        let all: Vec<usize> = (0..self.roots.len()).collect();
        let same: Vec<usize> = all.iter().copied().filter(own).collect();
        let near = if same.is_empty() { all } else { same };
        let list = self.listed(near.iter().map(|&at| ProcessPath::root(at as u32)));
        ParseProcessError::Name(format!("no process is called `{text}`; there is {list}"))
    }

    /// Lists some processes by the names that a schedule can use.
    fn listed(&self, all: impl Iterator<Item = ProcessPath>) -> String {
        let mut names: Vec<String> = all.map(|path| format!("`{}`", self.show(&path))).collect();
        if names.len() > MOST_LISTED {
            let more = names.len() - MOST_LISTED;
            names.truncate(MOST_LISTED);
            return format!("{} and {more} more", names.join(", "));
        }
        names.join(", ")
    }
}

/// Returns the descendant that a suffix such as `.1.0` names.
fn descend(path: ProcessPath, children: &str) -> Option<ProcessPath> {
    if children.is_empty() {
        return Some(path);
    }
    let numbers = children.strip_prefix('.')?.split('.');
    let numbers: Option<SmallVec<[u32; 4]>> = numbers.map(|k| k.parse().ok()).collect();
    Some(numbers?.iter().fold(path, |path, &k| path.child(k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(roots: &[(&str, Option<i64>)]) -> ProcessNames {
        let root = |&(name, instance): &(&str, Option<i64>)| {
            let name = name.to_owned();
            (!name.is_empty()).then_some(RootName { name, instance })
        };
        ProcessNames::new(roots.iter().map(root).collect())
    }

    fn read(names: &ProcessNames, text: &str) -> String {
        match names.read(text) {
            Ok(path) => path.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_name_that_two_processes_have_is_refused_and_not_shown() {
        let names = names(&[("w", None), ("w", None), ("", None)]);
        assert_eq!(names.show(&ProcessPath::root(0)), "0");
        assert_eq!(read(&names, "w"), "`w` is one of `0`, `1`: say which");
        assert_eq!(read(&names, "1"), "1");
    }

    #[test]
    fn a_dot_may_mean_an_instance_or_a_child() {
        let names = names(&[("w", Some(-1)), ("w", Some(0)), ("w", None)]);
        assert_eq!(read(&names, "w(-1)"), "0");
        assert_eq!(read(&names, "w.-1.3"), "0.3");
        assert_eq!(read(&names, "w(0).1.2"), "1.1.2");
        let both = "`w.0` is one of `w(0)`, `w.0`: say which";
        assert_eq!(read(&names, "w.0"), both);
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let few = names(&[("a", None), ("b", Some(3)), ("b", Some(4))]);
        let none = "no process is called `c`; there is `a`, `b(3)`, `b(4)`";
        assert_eq!(read(&few, "c"), none);
        let other = "no process is called `b(7)`; there is `b(3)`, `b(4)`";
        assert_eq!(read(&few, "b(7)"), other);
        let many: Vec<_> = (0..9).map(|k| ("p", Some(k))).collect();
        assert!(read(&names(&many), "x").ends_with("`p(5)` and 3 more"));
        let error = few.schedule("0 a=x").unwrap_err().to_string();
        assert!(error.starts_with("step 2 of the schedule: `x`"), "{error}");
    }
}
