//! Loads a compiled program into this process.

use std::sync::OnceLock;

use mazurka_core::ProcessId;

use crate::calls::{BASE, ENTRIES, STACK_ENTRY};
use crate::ends::DESTRUCTOR;
use crate::image::Image;
use crate::machine::{Machine, table};
use crate::trail::Trail;
use crate::world::{World, install, is_there, world};
use crate::{LoadError, RUNS_HERE, Settings, heap, known, trap};

/// Loads a program that was compiled with the shim, and runs its constructors. `path` is a shared
/// object, `file` its content.
pub fn load(path: &str, file: &[u8], settings: Settings) -> Result<(), LoadError> {
    if !RUNS_HERE {
        return Err(LoadError::NotHere);
    }
    if is_there() {
        return Err(LoadError::Second);
    }
    let symbols = crate::elf::Symbols::read(file).ok_or(LoadError::NoObject)?;
    let unknown = known::unknown(&symbols.needs);
    if !unknown.is_empty() {
        return Err(LoadError::Uncontrolled(unknown));
    }
    let begin = "__VERIFIER_atomic_begin";
    let by_name = symbols.names().find(|name| {
        name.starts_with("__VERIFIER_atomic_") && *name != begin && *name != "__VERIFIER_atomic_end"
    });
    if let Some(name) = by_name {
        return Err(LoadError::AtomicByName(name.to_owned()));
    }
    let sections = symbols.address(begin).is_some();
    let registering = ["atexit", "__cxa_atexit"];
    let has_ends = registering
        .iter()
        .any(|name| symbols.address(name).is_some());
    // The linker removes the functions of the shim that the program does not use, so the symbols
    // show which functions it uses.
    let leaves_main = ["pthread_exit", "thrd_exit"]
        .iter()
        .any(|name| symbols.address(name).is_some());
    let deletes_keys = ["pthread_key_delete", "tss_delete"]
        .iter()
        .any(|name| symbols.address(name).is_some());
    if !heap::map(BASE, 4096, false) {
        return Err(LoadError::NoMemory);
    }
    // SAFETY: the page was mapped above, and is larger than the table.
    unsafe { *(BASE as *mut [usize; ENTRIES.len()]) = table() };
    // Constructors allocate, so a world must exist before the program is loaded.
    let mut new = World::new(Image::none(), settings);
    if !new.make_room(ProcessId(0)) {
        return Err(LoadError::NoMemory);
    }
    if sections {
        new.sections = Some(new.object(usize::MAX - (1 << 20)));
    }
    // SAFETY: as above.
    unsafe { *(STACK_ENTRY as *mut usize) = new.threads[0].region.runtime_stack() };
    new.outside = std::mem::take(&mut new.settings.outside);
    // The mangled names of functions in `std`.
    let in_std = |name: &str| {
        ["_ZNSt", "_ZNKSt", "_ZSt"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    let cxx = symbols.names().any(in_std);
    new.outside.extend(known::reported(&symbols.needs, cxx));
    install(new);
    let image = Image::open(path, symbols)?;
    let world = world();
    world.image = image;
    if world.image.code_on_stacks && !world.threads[0].region.run_code_on_stack() {
        return Err(LoadError::CodeOnStacks);
    }
    for name in &world.settings.observed {
        let known = world.observed.len();
        if name == "code" || name == "output" {
            continue;
        }
        for (at, size) in world.image.symbols.variables(name) {
            let address = world.image.base + at as usize;
            world.observed.push((name.clone(), address, size as usize));
        }
        if world.observed.len() == known {
            return Err(LoadError::NoVariable(name.clone()));
        }
    }
    if !world.observed.is_empty() {
        world.end_cell = Some(world.object(usize::MAX - (1 << 20) - 1));
    }
    let region = &world.threads[0].region;
    world.initial_heap = (region.mark(), region.content().to_vec());
    world.initial_keys = world.keys.len();
    let destructors = world.image.destructors.iter();
    let destructors = destructors.map(|&function| (function, DESTRUCTOR));
    world.initial_at_exit = destructors.collect();
    world.initial_at_exit.append(&mut world.at_exit);
    let has_ends = has_ends || !world.initial_at_exit.is_empty();
    (world.has_ends, world.deletes_keys) = (has_ends, deletes_keys);
    world.last_thread_ends = has_ends && leaves_main;
    let code = |name: &str| {
        let (at, base) = (world.image.symbols.function(name), world.image.base);
        base + at.start as usize..base + at.end as usize
    };
    world.exceptions = code("__cxa_allocate_exception");
    world.unwinder = code("uw_init_context_1");
    world.in_model = true;
    // `qsort` calls the program back and may own memory, which it frees at its end. So it cannot be
    // resumed twice from the same state.
    world.checkpoints.forbidden = world.image.symbols.needs.iter().any(|name| name == "qsort");
    trap::install();
    Ok(())
}

/// Sets the function that is called if a constructor of the program fails or requests something
/// that only the exploration can do, such as starting a thread. After the call, the process ends
/// with exit code 3.
pub fn on_refusal_before_main(tell: fn(&str)) {
    _ = BEFORE_MAIN.set(tell);
}

static BEFORE_MAIN: OnceLock<fn(&str)> = OnceLock::new();

/// Ends this process, because a constructor of the program has done something that it must not do.
pub(crate) fn refuse_before_main(what: &str) -> ! {
    if let Some(tell) = BEFORE_MAIN.get() {
        tell(&format!(
            "before `main`, in a constructor, the program {what}"
        ));
    }
    // SAFETY: ends the process; `exit` would wait for the loader, which waits for the constructor.
    unsafe { libc::_exit(3) }
}

/// Stores the schedule of each execution in an open file of at least
/// [`TRAIL_SIZE`](crate::TRAIL_SIZE) bytes.
pub fn keep_trail(file: i32) {
    if let (true, Some(trail)) = (is_there(), Trail::of_file(file)) {
        world().trail = trail;
    }
}

/// Returns the library functions of the loaded program that are passed through, so that they run
/// outside of the exploration.
pub fn outside() -> Vec<String> {
    if is_there() {
        world().outside.clone()
    } else {
        Vec::new()
    }
}

/// Whether executions of the loaded program must agree in the observed values.
pub fn must_agree() -> bool {
    is_there() && world().settings.must_agree
}

/// Sets the time limit of the search that starts now. After this time, a step that does not end is
/// stopped. `None` means no limit.
pub fn set_deadline(time: Option<std::time::Duration>) {
    trap::set_deadline(time);
}

/// Stops the current step and the search, at the request of the user.
pub fn interrupt() {
    trap::interrupt();
}

impl Machine {
    /// Returns a machine for single runs; `None` if no program is loaded. No search precedes such
    /// runs, so this assumes that steps have guards and that threads share their stacks, as a
    /// search might have learned.
    pub fn for_runs() -> Option<Self> {
        if is_there() {
            world().learned.guarded = true;
            world().learned.stacks = true;
        }
        Self::of_loaded()
    }

    /// Whether the search itself finds out which accesses are steps.
    pub fn learns_steps(&self) -> bool {
        world().settings.allow_races || !world().observed.is_empty()
    }

    /// Returns a machine for the loaded program; `None` if no program is loaded.
    pub fn of_loaded() -> Option<Self> {
        is_there().then(Self::new)
    }
}
