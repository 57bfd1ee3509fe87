//! Reports show the panic of the failed thread, not that of a join.

use mazurka_rt::{Builder, thread};

/// Returns the message of a model that fails.
fn told(body: fn()) -> String {
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    let panic = std::panic::catch_unwind(|| builder.check(body)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

/// The panic of a thread is reported, not the failed join.
#[test]
fn the_first_panic_is_reported() {
    let joined = told(|| thread::spawn(|| panic!("the worker broke")).join().unwrap());
    assert!(joined.starts_with("the worker broke\n"), "{joined}");
    assert!(joined.contains("noticed at "), "{joined}");
    let scoped = told(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("the scoped worker broke"));
        });
    });
    assert!(scoped.starts_with("the scoped worker broke\n"), "{scoped}");
    // If the main thread panics later for another reason, that panic is reported.
    let other = told(|| {
        let ended = thread::spawn(|| panic!("the worker broke")).join();
        assert!(ended.is_ok(), "the result is missing");
    });
    assert!(other.starts_with("the result is missing\n"), "{other}");
}

/// The whole message appears once; the row of the step that panics has only its first line.
#[test]
fn a_long_message_is_printed_once() {
    let text = told(|| {
        let x = mazurka_rt::sync::atomic::AtomicU32::new(0);
        x.store(1, mazurka_rt::sync::atomic::Ordering::SeqCst);
        panic!("what is wrong\nand why");
    });
    assert_eq!(text.matches("and why").count(), 1, "{text}");
    assert!(text.contains("panics: what is wrong  "), "{text}");
}

/// A resumed panic is a failure, although the hook does not see it.
#[test]
fn a_resumed_panic_is_a_failure() {
    use std::panic::resume_unwind;
    let alone = told(|| resume_unwind(Box::new("alone")));
    assert!(alone.starts_with("alone\n"), "{alone}");
    let handed_on = told(|| {
        let Err(panic) = thread::spawn(|| panic!("the worker broke")).join();
        resume_unwind(panic);
    });
    assert!(handed_on.starts_with("the worker broke\n"), "{handed_on}");
    let unjoined = told(|| {
        thread::spawn(|| resume_unwind(Box::new(String::from("not joined"))));
    });
    assert!(unjoined.starts_with("not joined\n"), "{unjoined}");
    let unwrapped = told(|| {
        let broken = thread::spawn(|| resume_unwind(Box::new("within")));
        let () = broken.join().unwrap();
    });
    assert!(unwrapped.starts_with("within\n"), "{unwrapped}");
}
