//! Computes from the code the lines at which a process can rest. An `at` with any other line is
//! reported as a mistake, because the answer "unreachable" would hide this mistake.
//!
//! The result may contain too many lines, because all paths through the code count, also paths that
//! no run takes. The name of a spawned process is known only at run time, so `0.1` may be any
//! process that process 0 may spawn.

use mazurka_core::ProcessPath;
use mazurka_diagnostics::Span;
use rustc_hash::FxHashSet;

use crate::code::reach::followers;
use crate::code::{Code, Op};

/// Limit on the nesting of atomic blocks that is followed. With a deeper nesting, every line counts
/// as possible.
const MOST_ATOMIC: u8 = 8;
/// Limit on the number of lines that a message lists.
const MOST_LISTED: usize = 12;

/// A position in the code, with the state that decides whether the step *swallows* a mark there, so
/// that no step begins there. The head of code/mod.rs lists the instructions that decide this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CodePosition {
    pc: usize,
    /// How many `atomic` blocks enclose the position.
    atomic: u8,
    /// Whether the position is between `BeginSimple` and `EndSimple`, in a step that a guard has
    /// opened.
    merged: bool,
    /// Whether a guard has opened the step, so that the step swallows the next mark.
    open: bool,
}

/// The results of a walk through the code of some processes, from their first instructions.
#[derive(Debug, Default)]
struct RestWalk {
    /// The instructions at which a step can begin.
    rests: FxHashSet<usize>,
    /// The first instructions of the processes that these processes spawn.
    spawns: FxHashSet<usize>,
    /// Whether a spawn can happen more often than it occurs in the code.
    spawns_again: bool,
    /// Whether some code was not followed.
    unknown: bool,
}

/// Returns an error for a point that no process can reach.
pub(super) fn check(code: &Code, process: &ProcessPath, line: usize) -> Result<(), String> {
    let name = process.to_string();
    let mut numbers = name.split('.').map(|k| k.parse().unwrap_or(usize::MAX));
    let (first, all) = (numbers.next().unwrap_or(usize::MAX), code.processes.len());
    let Some(entry) = code.processes.get(first) else {
        return Err(format!(
            "there is no process {first}: those of the program are {}, and what they spawn",
            listed((0..all).map(|at| at.to_string()).collect())
        ));
    };
    let mut parent = first.to_string();
    let mut walk = RestWalk::starting_at(code, [entry.pc as usize].into_iter().collect());
    for number in numbers {
        if walk.unknown {
            return Ok(());
        }
        let most = walk.spawns.len();
        if most == 0 || number >= most && !walk.spawns_again {
            return Err(match most {
                0 => format!("there is no process {name}: process {parent} spawns none"),
                _ => format!(
                    "there is no process {name}: process {parent} spawns at most {most}, from {parent}.0"
                ),
            });
        }
        parent = format!("{parent}.{number}");
        walk = RestWalk::starting_at(code, walk.spawns);
    }
    let lines = walk.lines(code);
    if walk.unknown || lines.iter().any(|(known, _)| *known == line) {
        return Ok(());
    }
    let s = if lines.len() == 1 { "" } else { "s" };
    // A line beyond the end of the main file has no number among the lines of all files.
    let place = match line {
        usize::MAX => "there".to_owned(),
        line => format!("in line {}", shown_line(code, line)),
    };
    let lines = shown(code, &lines);
    Err(if lines.is_empty() {
        format!("process {name} makes no step, {place} or elsewhere")
    } else {
        format!(
            "process {name} has no step that begins {place}; its steps begin in line{s} {}",
            listed(lines)
        )
    })
}

/// Returns lines as text: the number, and for an included file also its name.
fn shown(code: &Code, lines: &[(usize, Span)]) -> Vec<String> {
    let shown = |&(_, span): &(usize, Span)| {
        let (line, _) = span.line_column(&code.source);
        match span.file(&code.source) {
            Some(file) => format!("{file}:{line}"),
            None => line.to_string(),
        }
    };
    lines.iter().map(shown).collect()
}

/// Returns a line, counted through all files, as text.
fn shown_line(code: &Code, line: usize) -> String {
    let mut starts = code.source.match_indices('\n').map(|(at, _)| at as u32 + 1);
    let start = match line {
        0 | 1 => Some(0),
        _ => starts.nth(line - 2),
    };
    let Some(start) = start else {
        return line.to_string();
    };
    shown(code, &[(line, Span { start, end: start })]).remove(0)
}

impl RestWalk {
    /// Follows all paths from some starts, into calls but not into spawned processes.
    fn starting_at(code: &Code, starts: FxHashSet<usize>) -> Self {
        let mut walk = Self::default();
        let start = |&pc: &usize| CodePosition {
            pc,
            atomic: 0,
            merged: false,
            open: false,
        };
        let mut todo: Vec<CodePosition> = starts.iter().map(start).collect();
        let mut seen: FxHashSet<CodePosition> = todo.iter().copied().collect();
        while let Some(place) = todo.pop() {
            for next in walk.after(code, place) {
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        walk.spawns_again = starts.iter().any(|&pc| spawns_again(code, pc));
        walk
    }

    /// Returns the positions that may follow a position.
    fn after(&mut self, code: &Code, place: CodePosition) -> Vec<CodePosition> {
        let mut next = place;
        let swallows = place.atomic > 0 || place.merged;
        match code.ops[place.pc] {
            Op::Mark(_) if swallows => {}
            Op::Mark(_) if place.open => next.open = false,
            Op::Open(_) if swallows || place.open => {}
            op @ (Op::Mark(_) | Op::Open(_)) => {
                self.rests.insert(place.pc);
                next.open = matches!(op, Op::Open(_));
            }
            Op::Close => next.open = false,
            Op::BeginAtomic if place.atomic == MOST_ATOMIC => {
                self.unknown = true;
                return Vec::new();
            }
            Op::BeginAtomic => next.atomic += 1,
            Op::EndAtomic => next.atomic = place.atomic.saturating_sub(1),
            Op::BeginSimple => (next.merged, next.open) = (place.merged || place.open, false),
            Op::EndSimple => next.merged = false,
            Op::SpawnBlock(to) => {
                self.spawns.insert(to as usize);
                next.pc += 1;
                return vec![next];
            }
            Op::SpawnCall(procedure) => {
                let start = code.procedures[procedure as usize].pc as usize;
                self.spawns.insert(start);
                next.pc += 1;
                return vec![next];
            }
            Op::Call(procedure) => return called(code, place, procedure),
            _ => {}
        }
        let to = |pc| CodePosition { pc, ..next };
        followers(code, place.pc).map(to).collect()
    }

    /// Returns the lines in which steps begin, counted through all files, each with the place of a
    /// step.
    fn lines(&self, code: &Code) -> Vec<(usize, Span)> {
        let line = |&pc: &usize| match code.ops[pc] {
            Op::Mark(step) | Op::Open(step) => {
                let span = code.steps[step as usize].span;
                Some((span.line_of_all(&code.source), span))
            }
            _ => None,
        };
        let mut lines: Vec<(usize, Span)> = self.rests.iter().filter_map(line).collect();
        lines.sort_unstable();
        lines.dedup_by_key(|(line, _)| *line);
        lines
    }
}

/// Returns the positions that may follow a call: the start of the procedure, and the position after
/// the call. The procedure may or may not have ended the step of an open guard, so the position
/// after the call occurs with each possible state.
fn called(code: &Code, place: CodePosition, procedure: u32) -> Vec<CodePosition> {
    let pc = code.procedures[procedure as usize].pc as usize;
    let mut places = vec![CodePosition { pc, ..place }];
    for open in [false, place.open] {
        for merged in [false, place.merged] {
            places.push(CodePosition {
                pc: place.pc + 1,
                open,
                merged,
                ..place
            });
        }
    }
    places
}

/// Whether a process that starts at `start` may spawn more processes than [`RestWalk::spawns`] has
/// entries. This is possible if two spawns start the same procedure, or if a spawn is in a loop or
/// in a called procedure.
fn spawns_again(code: &Code, start: usize) -> bool {
    let own = own(code, [start]);
    let mut starts: FxHashSet<u32> = FxHashSet::default();
    own.iter().any(|&pc| match code.ops[pc] {
        // The procedure may spawn a process, and there may be several calls.
        Op::Call(_) => true,
        Op::SpawnBlock(to) => !starts.insert(to) || own_after(code, pc).contains(&pc),
        Op::SpawnCall(procedure) => {
            let to = code.procedures[procedure as usize].pc;
            !starts.insert(to) || own_after(code, pc).contains(&pc)
        }
        _ => false,
    })
}

/// Returns the instructions of the same body that are reached after an instruction.
fn own_after(code: &Code, pc: usize) -> FxHashSet<usize> {
    own(code, following(code, pc))
}

fn own(code: &Code, starts: impl IntoIterator<Item = usize>) -> FxHashSet<usize> {
    let mut todo: Vec<usize> = starts.into_iter().collect();
    let mut seen: FxHashSet<usize> = todo.iter().copied().collect();
    while let Some(pc) = todo.pop() {
        todo.extend(
            following(code, pc)
                .into_iter()
                .filter(|&to| seen.insert(to)),
        );
    }
    seen
}

/// Returns the instructions of the same body that may directly follow an instruction.
fn following(code: &Code, pc: usize) -> Vec<usize> {
    match code.ops[pc] {
        Op::Call(_) | Op::SpawnCall(_) | Op::SpawnBlock(_) => vec![pc + 1],
        _ => followers(code, pc).collect(),
    }
}

/// Returns a list such as `0, 1 and 2`, shortened if it is long.
fn listed(all: Vec<String>) -> String {
    match &all[..] {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [rest @ .., last] if all.len() <= MOST_LISTED => format!("{} and {last}", rest.join(", ")),
        [.., last] => format!("{}, … and {last}", all[..MOST_LISTED - 1].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::Property;

    fn read(program: &str, property: &str) -> Result<(), String> {
        let read = Property::read(program, &[], property);
        read.map(|_| ()).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(program: &str, property: &str, why: &str) {
        assert_eq!(read(program, property), Err(why.to_owned()));
    }

    const TWO: &str = "var x: int = 0
process {
  let k = 1;
  x := k;
  atomic {
    x := 2;
    x := 3
  };
  x == 3 |>
    x := 4;
  p()
}
process {
  spawn {
    x := 5
  };
  join
}
proc p() {
  x := 6
}";

    #[test]
    fn a_process_that_never_exists_is_refused() {
        let first = "those of the program are 0 and 1, and what they spawn";
        refused(
            TWO,
            "at(99, 99)",
            &format!("there is no process 99: {first}"),
        );
        refused(
            TWO,
            "x == 1 && !at(2.0, 4)",
            &format!("there is no process 2: {first}"),
        );
        refused(
            TWO,
            "at(0.0, 4)",
            "there is no process 0.0: process 0 spawns none",
        );
        let most = "there is no process 1.1: process 1 spawns at most 1, from 1.0";
        refused(TWO, "at(1.1, 15)", most);
        let none = "there is no process 1.0.0: process 1.0 spawns none";
        refused(TWO, "at(1.0.0, 15)", none);
    }

    #[test]
    fn a_line_where_a_process_never_rests_is_refused() {
        let steps = "its steps begin in lines 4, 5, 9 and 20";
        for line in [1, 2, 3, 6, 7, 8, 10, 11, 15, 99] {
            let why = format!("process 0 has no step that begins in line {line}; {steps}");
            refused(TWO, &format!("at(0, {line})"), &why);
        }
        let why = "process 1.0 has no step that begins in line 14; its steps begin in line 15";
        refused(TWO, "at(1.0, 14)", why);
        let why = "process 0 makes no step, in line 1 or elsewhere";
        refused("process { skip }", "at(0, 1)", why);
    }

    #[test]
    fn lines_where_a_process_may_rest_are_accepted() {
        for (process, lines) in [("0", &[4, 5, 9, 20][..]), ("1", &[14, 17]), ("1.0", &[15])] {
            for line in lines {
                let property = format!("at({process}, {line})");
                assert_eq!(read(TWO, &property), Ok(()), "{property}");
            }
        }
    }

    #[test]
    fn processes_that_may_be_spawned_are_accepted() {
        for program in [
            "var x: int = 0 process { for i in 0..9 { spawn { x := 1 } } }",
            "var x: int = 0 process { while x < 9 { spawn { x := 1 } } }",
            "var x: int = 0 process { p(); p() } proc p() { spawn { x := 1 } }",
            "var x: int = 0 process { spawn p(); spawn p(); spawn p() } proc p() { x := 1 }",
            "var x: int = 0 process { p() } proc p() { x := 1; spawn p(); spawn p() }",
        ] {
            assert_eq!(read(program, "at(0.2, 1)"), Ok(()), "{program}");
        }
        let two = "var x: int = 0 process { spawn { x := 1 }; if x == 0 { spawn { x := 2 } } }";
        assert_eq!(read(two, "at(0.1, 1)"), Ok(()));
        assert!(read(two, "at(0.2, 1)").is_err());
        let deep = "var x: int = 0 process { p() } proc p() { x := 1; spawn p() }";
        assert_eq!(read(deep, "at(0.0.0.0.0, 1)"), Ok(()));
    }
}
