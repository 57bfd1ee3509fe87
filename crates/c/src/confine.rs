//! What a process may use that runs a program. This is no sandbox: the program can do what the
//! user can.

/// Bytes of addresses: memory that threads touch is a part of it.
const MOST_ADDRESSES: u64 = 1 << 40;
/// Files that are open at a time.
const MOST_FILES: u64 = 64;

/// Sets limits of this process: addresses, open files, and no file of its memory if it crashes. It
/// ends, as if it were asked to, when the process that has started it is gone.
pub fn confine() {
    // SAFETY: asks for a signal, for which there is a handler, or which ends this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    let limit = |what, most: u64| {
        let mut limits = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: these calls read and write what they are given.
        unsafe {
            if libc::getrlimit(what, &mut limits) == 0 {
                limits.rlim_cur = limits.rlim_max.min(most);
                libc::setrlimit(what, &limits);
            }
        }
    };
    limit(libc::RLIMIT_AS, MOST_ADDRESSES);
    limit(libc::RLIMIT_NOFILE, MOST_FILES);
    limit(libc::RLIMIT_CORE, 0);
}

/// Lets no process that this one starts have its files, but for standard input, output and errors.
pub fn keep_files() {
    // SAFETY: marks descriptors, which stay open here.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Lets a process that this one has started, and has not waited for, end with what it knows.
pub fn interrupt_process(id: u32) {
    send(id, libc::SIGINT);
}

/// Ends a process that this one has started and has not waited for.
pub fn kill_process(id: u32) {
    send(id, libc::SIGKILL);
}

fn send(id: u32, signal: i32) {
    // SAFETY: sends a signal to one process.
    if let Some(id) = i32::try_from(id).ok().filter(|&id| id > 0) {
        unsafe { libc::kill(id, signal) };
    }
}
