//! Limits for the process that runs a program. This is not a sandbox: the program has the rights of
//! the user.

use crate::Child;

/// Maximum size of the address space; the memory that threads use is a part of it.
const MOST_ADDRESSES: u64 = 1 << 40;
/// Maximum number of open files.
const MOST_FILES: u64 = 64;

/// Limits the address space and the open files of this process, and disables core dumps. The
/// process gets `SIGTERM` when its parent process ends.
pub fn confine() {
    // SAFETY: requests a signal, which has a handler or ends this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    let limit = |what, most: u64| {
        let mut limits = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: these calls access only their arguments.
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

/// Makes the processes that this process starts inherit none of its open files except standard
/// input, output and error.
pub fn keep_files() {
    // SAFETY: marks descriptors, which stay open in this process.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Asks a child process to end and to report its results. The caller must not have waited for the
/// end of the child yet: after that, the system may give its process number to another process.
pub fn interrupt_process(child: Child) {
    send(child, libc::SIGINT);
}

/// Kills a child process. The caller must not have waited for its end yet.
pub fn kill_process(child: Child) {
    send(child, libc::SIGKILL);
}

fn send(child: Child, signal: i32) {
    if let Some(id) = i32::try_from(child.id).ok().filter(|&id| id > 1) {
        let to = if child.leads { -id } else { id };
        // SAFETY: sends a signal to a process or a group that this process has started.
        unsafe { libc::kill(to, signal) };
    }
}
