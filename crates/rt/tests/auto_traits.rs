//! Every type has the traits `Send`, `Sync`, `Unpin`, `UnwindSafe` and `RefUnwindSafe` for exactly
//! the contents for which std's counterpart has them.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type has a trait. This works because an inherent constant, which exists only for types
/// with the trait, takes precedence over a constant of a trait.
macro_rules! has {
    ($t:ty: $bound:path) => {{
        #[allow(dead_code)]
        trait Not {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Not for T {}
        #[allow(dead_code)]
        struct Type<T: ?Sized>(PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $bound> Type<T> {
            const HAS: bool = true;
        }
        <Type<$t>>::HAS
    }};
}

/// The traits that a type has.
macro_rules! traits {
    ($t:ty) => {
        [
            has!($t: Send),
            has!($t: Sync),
            has!($t: Unpin),
            has!($t: UnwindSafe),
            has!($t: RefUnwindSafe),
        ]
    };
}

/// Contents for the types: one with all these traits, one without `Sync`, one without `Send`, one
/// without both, and one without `UnwindSafe`.
type All = u32;
type NotSync = Cell<u32>;
type NotSend = std::sync::MutexGuard<'static, u32>;
type Neither = Rc<Cell<u32>>;
type NotUnwindSafe = &'static mut Cell<u32>;

macro_rules! compare {
    ($wrong:ident, $($path:tt)*) => {
        {
            let (ours, std) = (traits!(mazurka_rt::$($path)*), traits!(std::$($path)*));
            if ours != std {
                $wrong.push(format!("{}: {ours:?}, std has {std:?}", stringify!($($path)*)));
            }
        }
    };
}

/// Compares types with a parameter, for all contents.
macro_rules! generic {
    ($wrong:ident: $($($path:ident)::+ $(<$lifetime:lifetime>)?;)*) => {
        $(
            compare!($wrong, $($path)::+<$($lifetime,)? All>);
            compare!($wrong, $($path)::+<$($lifetime,)? NotSync>);
            compare!($wrong, $($path)::+<$($lifetime,)? NotSend>);
            compare!($wrong, $($path)::+<$($lifetime,)? Neither>);
            compare!($wrong, $($path)::+<$($lifetime,)? NotUnwindSafe>);
        )*
    };
}

macro_rules! plain {
    ($wrong:ident: $($($path:ident)::+ $(<$lifetime:lifetime>)*;)*) => {
        $(compare!($wrong, $($path)::+ $(<$lifetime>)*);)*
    };
}

#[test]
fn traits_are_those_of_std() {
    let mut wrong: Vec<String> = Vec::new();
    generic! { wrong:
        cell::UnsafeCell;
        sync::Arc;
        sync::Weak;
        sync::Mutex;
        sync::MutexGuard<'static>;
        sync::RwLock;
        sync::RwLockReadGuard<'static>;
        sync::RwLockWriteGuard<'static>;
        sync::OnceLock;
        sync::LazyLock;
        sync::PoisonError;
        sync::TryLockError;
        sync::atomic::AtomicPtr;
        sync::mpsc::Sender;
        sync::mpsc::SyncSender;
        sync::mpsc::Receiver;
        sync::mpsc::Iter<'static>;
        sync::mpsc::TryIter<'static>;
        sync::mpsc::IntoIter;
        sync::mpsc::SendError;
        sync::mpsc::TrySendError;
        thread::JoinHandle;
        thread::ScopedJoinHandle<'static>;
        thread::LocalKey;
    }
    plain! { wrong:
        sync::Barrier;
        sync::BarrierWaitResult;
        sync::Condvar;
        sync::WaitTimeoutResult;
        sync::Once;
        sync::OnceState;
        sync::atomic::AtomicBool;
        sync::atomic::AtomicI8;
        sync::atomic::AtomicI16;
        sync::atomic::AtomicI32;
        sync::atomic::AtomicI64;
        sync::atomic::AtomicIsize;
        sync::atomic::AtomicU8;
        sync::atomic::AtomicU16;
        sync::atomic::AtomicU32;
        sync::atomic::AtomicU64;
        sync::atomic::AtomicUsize;
        sync::atomic::Ordering;
        sync::mpsc::RecvError;
        sync::mpsc::TryRecvError;
        sync::mpsc::RecvTimeoutError;
        thread::Thread;
        thread::ThreadId;
        thread::Builder;
        thread::AccessError;
    }
    compare!(wrong, thread::Scope<'static, 'static>);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that the comparison is meaningful: different contents give different traits.
#[test]
fn the_contents_differ() {
    let found = [
        traits!(All),
        traits!(NotSync),
        traits!(NotSend),
        traits!(Neither),
        traits!(NotUnwindSafe),
    ];
    let expected = [
        [true; 5],
        [true, false, true, true, false],
        [false, true, true, true, true],
        [false, false, true, false, false],
        [true, false, true, false, false],
    ];
    assert_eq!(found, expected);
}
