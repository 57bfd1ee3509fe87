//! Describes an execution for records: the labels of its steps, places in the source, values, and
//! the conditions that threads wait for.

use mazurka_core::record::{Binding, Change, LockChange, Place, Step, Waiting};
use mazurka_core::{
    Access, AccessKind, Execution, HeldLock, Mishap, Narrator, ProcessId, ProcessPath, StepError,
};

use crate::access::value_at;
use crate::machine::Machine;
use crate::world::{Life, Pending, WaitCondition, short, world};

/// Formats a number; pointers and large numbers in hexadecimal.
fn shown(value: i64) -> String {
    if value.unsigned_abs() > 1 << 32 {
        format!("{value:#x}")
    } else {
        value.to_string()
    }
}

/// Formats the content of a variable: a number, or its bytes.
fn content(bytes: &[u8]) -> String {
    match bytes.len() {
        1 | 2 | 4 | 8 => shown(value_at(bytes.as_ptr() as usize, bytes.len())),
        _ => {
            let bytes = bytes.iter();
            let bytes: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
            bytes.join(" ")
        }
    }
}

/// Describes the object of an operation.
fn object_of(pending: &Pending) -> String {
    let world = world();
    match (pending.until, pending.object) {
        (WaitCondition::Ended(other), _) => world.table.path(other).to_string(),
        (_, 0) => String::new(),
        (_, object) => world.name_of(object),
    }
}

/// Returns the file and the line of a return address. The path is relative to the folder of the
/// main file.
fn line_of(pc: usize) -> (String, usize) {
    let world = world();
    let found = world.image.symbols.line(world.address_of(pc));
    found.map_or((String::new(), 0), |(file, line)| {
        let main_file = &world.settings.main_file;
        let folder = main_file.rsplit_once('/').map_or("", |(folder, _)| folder);
        (seen_from(folder, file), line as usize)
    })
}

/// Returns the file of a place if it is not the main file.
fn other_file(file: String) -> Option<String> {
    let is_main = file.is_empty() || file == short(&world().settings.main_file);
    (!is_main).then_some(file)
}

/// Returns the path of a file as seen from a folder: for the folder `src` and the file `inc/a.h`,
/// it is `../inc/a.h`. Both paths must be relative to the same folder, or both absolute; otherwise
/// the folder is only removed where the file's path begins with it.
fn seen_from(folder: &str, file: &str) -> String {
    let file = file.strip_prefix("./").unwrap_or(file);
    let folder = folder.strip_prefix("./").unwrap_or(folder);
    let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    // If a path contains `..`, the names of the folders above are unknown.
    if file.starts_with('/') != folder.starts_with('/') || parts.contains(&"..") {
        return file
            .strip_prefix(&format!("{folder}/"))
            .unwrap_or(file)
            .to_owned();
    }
    let mut rest: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
    let pairs = parts.iter().zip(&rest[..rest.len().saturating_sub(1)]);
    let common = pairs.take_while(|(a, b)| a == b).count();
    rest.drain(..common);
    let up = "../".repeat(parts.len() - common);
    // Headers of the system keep their paths.
    if common == 0 && file.starts_with('/') {
        return file.to_owned();
    }
    up + &rest.join("/")
}

/// Describes an operation for a step: `f: store(x)`.
fn label(pending: &Pending) -> String {
    let function = without_arguments(&function_of(pending.pc));
    let object = object_of(pending);
    let function = if function.is_empty() {
        function
    } else {
        format!("{function}: ")
    };
    if object.is_empty() {
        format!("{function}{}", pending.verb)
    } else {
        format!("{function}{}({object})", pending.verb)
    }
}

/// Names of at least this many bytes are written without the arguments of templates.
const LONG_NAME: usize = 32;

/// Returns a name for a label: if it is long, `State<Invoker<int> >::run` is `State<…>::run`.
fn without_arguments(name: &str) -> String {
    if name.len() < LONG_NAME || name.contains("operator") {
        return name.to_owned();
    }
    let (mut short, mut depth) = (String::new(), 0u32);
    for letter in name.chars() {
        match letter {
            '<' if depth == 0 => (short, depth) = (short + "<…>", 1),
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            letter if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    short
}

fn function_of(pc: usize) -> String {
    let world = world();
    let symbol = world.image.symbols.symbol(world.address_of(pc));
    // These functions belong to the shim.
    let ours = |name: &str| matches!(name, "mazurka_program_ends" | "mazurka_thread_ends");
    let symbol = symbol.filter(|symbol| !ours(&symbol.name));
    symbol.map_or(String::new(), |symbol| symbol.shown())
}

/// Returns the effect of an access on a lock of the program.
pub(crate) fn lock_change(access: &Access) -> Option<LockChange> {
    let held = match access.kind {
        AccessKind::Acquire => true,
        AccessKind::Release => false,
        AccessKind::Read | AccessKind::Write => return None,
    };
    // Cells at greater addresses, such as tokens, are not locks of the program.
    let address = world().cells[access.first as usize].address;
    (address < usize::MAX / 2).then(|| LockChange {
        name: world().name_of(address),
        held,
    })
}

/// Describes the step that a thread has just made, without its failures.
pub(crate) fn step(process: ProcessId, pending: Pending, locks: Vec<LockChange>) -> Step {
    let world = world();
    let values = world.effects.values;
    let notes = std::mem::take(&mut world.effects.notes);
    let object = object_of(&pending);
    let mut text = label(&pending);
    for note in notes {
        text += &format!(", {note}");
    }
    let (file, line) = line_of(pending.pc);
    let (read, written) = values.unwrap_or((None, None));
    let binding = |value: i64| Binding {
        name: object.clone(),
        value: shown(value),
    };
    let change = |value: i64| Change {
        name: object.clone(),
        from: read.map_or(String::new(), shown),
        to: shown(value),
    };
    let file = other_file(file);
    if let Some(file) = &file {
        // The paths of headers of the system are long.
        let shown = match file.rsplit_once('/') {
            Some((_, name)) if file.starts_with('/') => name,
            _ => file,
        };
        text = format!("({shown}) {text}");
    }
    Step {
        process: world.table.path(process).to_string(),
        outcomes: Default::default(),
        label: text,
        line,
        file,
        enabled: Vec::new(),
        reads: read.map(binding).into_iter().collect(),
        changes: written.map(change).into_iter().collect(),
        locks,
        mishap: None,
        racing: false,
        actor: None,
        memory: None,
        printed: Vec::new(),
    }
}

impl Narrator for Machine {
    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError> {
        // This call brings the threads to the state before the step, so that only the step is
        // recorded.
        self.status(process);
        Machine::record(true);
        let made = self.step(process, outcomes).cloned();
        Machine::record(false);
        let event = made?;
        let world = world();
        let pending = world.effects.made.unwrap_or(Pending::new("nothing", 0, 0));
        let locks = event.touched.iter().filter_map(lock_change).collect();
        let mishap = event.mishaps.first().map(|mishap| self.explain(mishap).0);
        Ok(Step {
            outcomes: event.outcomes.iter().map(|outcome| outcome.value).collect(),
            mishap,
            ..step(process, pending, locks)
        })
    }

    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        let world = world();
        let Some(failure) = world.failures.get(mishap.site as usize) else {
            return ("the search is broken off".to_owned(), None);
        };
        let (message, pc) = (format!("{}{}", failure.message, failure.more), failure.pc);
        let (file, line) = line_of(pc);
        let place = (line > 0).then(|| Place {
            line,
            column: 1,
            text: function_of(pc),
            file: Some(file),
        });
        let function = function_of(pc);
        let message = if function.is_empty() || message.starts_with("data race") {
            message
        } else {
            format!("{function}: {message}")
        };
        (message, place)
    }

    fn waiting(&self) -> Vec<Waiting> {
        let mut all = Vec::new();
        let processes = self.processes().in_order().to_vec();
        for process in processes {
            if self.status(process) != mazurka_core::Status::Waiting {
                continue;
            }
            let pending = world().threads[process.index()].pending;
            let object = object_of(&pending);
            let what = match pending.until {
                WaitCondition::Lock(_) => format!("mutex `{object}`"),
                WaitCondition::Token => format!("a notification of `{object}`"),
                WaitCondition::Ended(_) => format!("the end of {object}"),
                WaitCondition::Read(_) | WaitCondition::Write(_) => {
                    format!("read-write lock `{object}`")
                }
                WaitCondition::Count(_) => format!("semaphore `{object}`"),
                WaitCondition::Barrier(..) => format!("barrier `{object}`"),
                WaitCondition::Once(_) => format!("`{object}` to be done"),
                WaitCondition::Change => format!("a change of `{object}`, in a loop"),
                WaitCondition::Now => "nothing".to_owned(),
            };
            let held_by = match pending.until {
                WaitCondition::Lock(cell)
                | WaitCondition::Read(cell)
                | WaitCondition::Write(cell)
                | WaitCondition::Once(cell) => world().cell(cell).holder,
                _ => None,
            };
            let held_by = held_by.map(|(holder, pc)| {
                let holder = world().table.path(holder).to_string();
                let place = world().image_place(pc);
                format!("{holder}, which took it {place}")
            });
            let (file, line) = line_of(pending.pc);
            let function = function_of(pending.pc);
            all.push(Waiting {
                process: self.processes().path(process).to_string(),
                what: format!("{what}, in {function} ({file}:{line})"),
                held_by,
                line,
                file: other_file(file),
            });
        }
        all
    }

    fn bindings(&self, observed_only: bool) -> Vec<Binding> {
        self.status(ProcessId(0));
        let world = world();
        if !world.exited {
            return Vec::new();
        }
        let mut all = Vec::new();
        let mut bind = |name: &str, value: String| {
            let name = name.to_owned();
            all.push(Binding { name, value });
        };
        let settings = &world.settings;
        if settings.observes_code() || !observed_only {
            bind("exit code", world.exit_code.to_string());
        }
        let printed = !world.printed.is_empty() || observed_only && settings.observes_code();
        if printed && (settings.observed.is_empty() || settings.observes_output()) {
            let text = String::from_utf8_lossy(&world.printed);
            bind("output", format!("{text:?}"));
        }
        for (name, bytes) in world.observed_content() {
            bind(name, content(bytes));
        }
        all
    }

    fn cell_name(&self, cell: u32) -> String {
        let address = world()
            .cells
            .get(cell as usize)
            .map_or(0, |cell| cell.address);
        world().name_of(address)
    }

    fn name_of(&self, process: &ProcessPath) -> String {
        process.to_string()
    }

    fn line_of(&self, process: ProcessId) -> Option<usize> {
        self.status(process);
        let thread = world().threads.get(process.index())?;
        (thread.life == Life::Alive).then(|| line_of(thread.pending.pc).1)
    }

    fn held(&self) -> Vec<HeldLock> {
        self.status(ProcessId(0));
        let cells = 0..world().cells.len() as u32;
        let held = cells.filter_map(|cell| {
            let (holder, _) = world().cell(cell).holder?;
            let address = world().cells[cell as usize].address;
            Some(HeldLock {
                lock: world().name_of(address),
                process: world().table.path(holder).to_string(),
            })
        });
        held.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_have_no_template_arguments() {
        for (name, short) in [
            ("push", "push"),
            ("Queue<int>::push", "Queue<int>::push"),
            (
                "std::thread::_State_impl<std::tuple<main::{lambda()#1}> >::_M_run",
                "std::thread::_State_impl<…>::_M_run",
            ),
        ] {
            assert_eq!(without_arguments(name), short);
        }
    }

    #[test]
    fn files_are_seen_from_a_folder() {
        assert_eq!(seen_from("", "m.c"), "m.c");
        assert_eq!(seen_from("src", "src/m.c"), "m.c");
        assert_eq!(seen_from("./src", "src/sub/h.h"), "sub/h.h");
        assert_eq!(seen_from("src", "inc/h.h"), "../inc/h.h");
        assert_eq!(seen_from("/w/src", "/w/inc/h.h"), "../inc/h.h");
        assert_eq!(seen_from("/w/src", "/usr/include/h.h"), "/usr/include/h.h");
        assert_eq!(seen_from("src", "/usr/include/h.h"), "/usr/include/h.h");
        assert_eq!(seen_from("../src", "../src/h.h"), "h.h");
        assert_eq!(seen_from("../src", "../inc/h.h"), "../inc/h.h");
        assert_eq!(seen_from("../src", "h.h"), "h.h");
    }
}
