//! Names, signatures, traits and constants are those of std: the same code compiles and
//! runs with both.

macro_rules! with {
    ($name:ident, $($root:tt)*) => {
        // Items that std has since 1.95 are compared, too, although the library itself needs an
        // older version.
        #[allow(clippy::incompatible_msrv)]
        #[allow(dead_code, deprecated, unsafe_code, clippy::declare_interior_mutable_const, clippy::borrow_interior_mutable_const)]
        mod $name {
            use $($root)*::hint;
            use $($root)*::sync::atomic::{self, Ordering};
            use $($root)*::sync::mpsc;
            use $($root)*::sync::{
                Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, OnceState,
                PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
            };
            use $($root)*::cell::UnsafeCell;
            use $($root)*::thread::{self, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId};
            use std::cell::{Cell, RefCell};
            use std::fmt::Debug;
            use std::panic::{RefUnwindSafe, UnwindSafe};
            use std::time::Duration;

            // All of these can be made in constants.
            static ATOMIC: atomic::AtomicUsize = atomic::AtomicUsize::new(1);
            static POINTER: atomic::AtomicPtr<u8> = atomic::AtomicPtr::new(std::ptr::null_mut());
            static MUTEX: Mutex<Vec<u32>> = Mutex::new(Vec::new());
            static RWLOCK: RwLock<u32> = RwLock::new(0);
            static CONDVAR: Condvar = Condvar::new();
            static BARRIER: Barrier = Barrier::new(1);
            static ONCE: Once = Once::new();
            static ONCE_LOCK: OnceLock<String> = OnceLock::new();
            static LAZY: LazyLock<String> = LazyLock::new(|| "lazy".to_owned());

            $($root)*::thread_local! {
                /// A doc comment is accepted.
                pub static LOCAL: Cell<u32> = const { Cell::new(1) };
                static TEXT: RefCell<String> = RefCell::new("text".into())
            }

            type Lock<'a> = LockResult<MutexGuard<'a, u32>>;

            /// The common methods of atomics.
            macro_rules! any {
                ($atomic:ty, $t:ty) => {{
                    type A = $atomic;
                    const _: A = A::new(unsafe { std::mem::zeroed::<$t>() });
                    let _: fn($t) -> A = A::new;
                    let _: fn(&A, Ordering) -> $t = A::load;
                    let _: fn(&A, $t, Ordering) = A::store;
                    let _: fn(&A, $t, Ordering) -> $t = A::swap;
                    for _f in [A::compare_exchange, A::compare_exchange_weak]
                        as [fn(&A, $t, $t, Ordering, Ordering) -> Result<$t, $t>; 2] {}
                    let _: fn(&A, $t, $t, Ordering) -> $t = A::compare_and_swap;
                    let _: fn(&A, Ordering, Ordering, fn($t) -> Option<$t>) -> Result<$t, $t> = A::fetch_update;
                    let atomic = A::default();
                    let old = atomic.load(Ordering::SeqCst);
                    let (both, none) = (Ordering::SeqCst, |_: $t| None);
                    let updated: ($t, Result<$t, $t>) = (atomic.update(both, both, |x| x), atomic.try_update(both, both, none));
                    assert_eq!(updated, (old, Err(old)));
                    let _: fn(&mut A) -> &mut $t = A::get_mut;
                    let _: fn(A) -> $t = A::into_inner;
                    let _: fn(&A) -> *mut $t = A::as_ptr;
                    let _: fn($t) -> A = <A as From<$t>>::from;
                    let _: fn() -> A = <A as Default>::default;
                    shared::<A>();
                }};
            }

            macro_rules! integer {
                ($atomic:ident $t:ty) => {{
                    use atomic::$atomic as A;
                    any!(atomic::$atomic, $t);
                    for _f in [
                        A::fetch_add, A::fetch_sub, A::fetch_and, A::fetch_nand, A::fetch_or, A::fetch_xor, A::fetch_max,
                        A::fetch_min,
                    ] as [fn(&A, $t, Ordering) -> $t; 8] {}
                }};
            }

            fn atomics() {
                integer!(AtomicI8 i8);
                integer!(AtomicI16 i16);
                integer!(AtomicI32 i32);
                integer!(AtomicI64 i64);
                integer!(AtomicIsize isize);
                integer!(AtomicU8 u8);
                integer!(AtomicU16 u16);
                integer!(AtomicU32 u32);
                integer!(AtomicU64 u64);
                integer!(AtomicUsize usize);
                use atomic::{AtomicBool, AtomicPtr};
                let _: fn(&AtomicBool, Ordering) -> bool = AtomicBool::fetch_not;
                for _f in [AtomicBool::fetch_and, AtomicBool::fetch_or, AtomicBool::fetch_xor, AtomicBool::fetch_nand]
                    as [fn(&AtomicBool, bool, Ordering) -> bool; 4] {}
                any!(AtomicBool, bool);
                any!(AtomicPtr<u8>, *mut u8);
                for _f in [
                    AtomicPtr::fetch_ptr_add, AtomicPtr::fetch_ptr_sub, AtomicPtr::fetch_byte_add, AtomicPtr::fetch_byte_sub,
                    AtomicPtr::fetch_and, AtomicPtr::fetch_or, AtomicPtr::fetch_xor,
                ] as [fn(&AtomicPtr<u8>, usize, Ordering) -> *mut u8; 7] {}
                fn pointer<T: std::fmt::Pointer>() {}
                pointer::<AtomicPtr<u8>>();
                shared::<AtomicPtr<std::rc::Rc<u8>>>();
                for _f in [atomic::fence, atomic::compiler_fence] as [fn(Ordering); 2] {}
                let _: fn() = atomic::spin_loop_hint;
            }

            /// The common traits of the types in `sync`.
            fn shared<T: Send + Sync + UnwindSafe + RefUnwindSafe + Debug>() {}

            fn traits() {
                shared::<Mutex<u32>>();
                shared::<RwLock<u32>>();
                shared::<Condvar>();
                shared::<Barrier>();
                shared::<Once>();
                shared::<OnceLock<u32>>();
                shared::<LazyLock<u32>>();
                fn sync<T: Sync>() {}
                fn send<T: Send + Debug>() {}
                sync::<MutexGuard<'_, u32>>();
                sync::<mpsc::Sender<Cell<u32>>>();
                send::<mpsc::Receiver<Cell<u32>>>();
                send::<mpsc::SyncSender<Cell<u32>>>();
                send::<JoinHandle<std::rc::Rc<u32>>>();
                send::<Thread>();
                send::<UnsafeCell<u32>>();
                fn id<T: Copy + Eq + std::hash::Hash + Debug>() {}
                id::<ThreadId>();
            }

            fn locks() {
                let _: fn(&Mutex<u32>) -> Lock<'_> = Mutex::lock;
                let _: fn(&Mutex<u32>) -> TryLockResult<MutexGuard<'_, u32>> = Mutex::try_lock;
                let _: fn(&Mutex<u32>) -> bool = Mutex::is_poisoned;
                let _: fn(&Mutex<u32>) = Mutex::clear_poison;
                let _: fn(Mutex<u32>) -> LockResult<u32> = Mutex::into_inner;
                let _: fn(&mut Mutex<u32>) -> LockResult<&mut u32> = Mutex::get_mut;
                let _: fn(&RwLock<u32>) -> LockResult<RwLockReadGuard<'_, u32>> = RwLock::read;
                let _: fn(&RwLock<u32>) -> LockResult<RwLockWriteGuard<'_, u32>> = RwLock::write;
                let _: fn(&RwLock<u32>) -> TryLockResult<RwLockReadGuard<'_, u32>> = RwLock::try_read;
                let _: fn(&RwLock<u32>) -> TryLockResult<RwLockWriteGuard<'_, u32>> = RwLock::try_write;
                let _: fn(RwLockWriteGuard<'static, u32>) -> RwLockReadGuard<'static, u32> = RwLockWriteGuard::downgrade;
                let _: fn(&RwLock<u32>) -> bool = RwLock::is_poisoned;
                let _: fn(&RwLock<u32>) = RwLock::clear_poison;
                let _: fn(RwLock<u32>) -> LockResult<u32> = RwLock::into_inner;
                let _: fn(&mut RwLock<u32>) -> LockResult<&mut u32> = RwLock::get_mut;
                let unsized_mutex: &Mutex<[u32]> = &Mutex::new([1, 2]);
                assert_eq!(unsized_mutex.lock().unwrap().len(), 2);
                let unsized_lock: &RwLock<[u32]> = &RwLock::new([1, 2]);
                assert_eq!(unsized_lock.read().unwrap().len(), 2);
                let _: Mutex<u32> = Mutex::default();
                let _: Mutex<u32> = Mutex::from(3);
                let _: RwLock<u32> = 3.into();
                let _: fn(PoisonError<u32>) -> u32 = PoisonError::into_inner;
                let _: TryLockError<u32> = TryLockError::WouldBlock;
            }

            fn condvars() {
                let _: for<'a> fn(&Condvar, MutexGuard<'a, u32>) -> Lock<'a> = Condvar::wait;
                let _: for<'a> fn(&Condvar, MutexGuard<'a, u32>, fn(&mut u32) -> bool) -> Lock<'a> = Condvar::wait_while;
                type Timed<'a> = LockResult<(MutexGuard<'a, u32>, WaitTimeoutResult)>;
                let _: for<'a> fn(&Condvar, MutexGuard<'a, u32>, Duration) -> Timed<'a> = Condvar::wait_timeout;
                let _: for<'a> fn(&Condvar, MutexGuard<'a, u32>, Duration, fn(&mut u32) -> bool) -> Timed<'a> =
                    Condvar::wait_timeout_while;
                let _: for<'a> fn(&Condvar, MutexGuard<'a, u32>, u32) -> LockResult<(MutexGuard<'a, u32>, bool)> =
                    Condvar::wait_timeout_ms;
                let _: fn(&WaitTimeoutResult) -> bool = WaitTimeoutResult::timed_out;
                for _f in [Condvar::notify_one, Condvar::notify_all] as [fn(&Condvar); 2] {}
                let _: fn(&Barrier) -> BarrierWaitResult = Barrier::wait;
                let _: fn(&BarrierWaitResult) -> bool = BarrierWaitResult::is_leader;
            }

            fn onces() {
                let _: fn(&Once, fn()) = Once::call_once;
                let _: fn(&Once, fn(&OnceState)) = Once::call_once_force;
                let _: fn(&OnceState) -> bool = OnceState::is_poisoned;
                let _: fn(&Once) -> bool = Once::is_completed;
                for _f in [Once::wait, Once::wait_force] as [fn(&Once); 2] {}
                let _: fn(&OnceLock<u32>) -> Option<&u32> = OnceLock::get;
                let _: fn(&mut OnceLock<u32>) -> Option<&mut u32> = OnceLock::get_mut;
                let _: fn(&OnceLock<u32>, u32) -> Result<(), u32> = OnceLock::set;
                let _: fn(&OnceLock<u32>, fn() -> u32) -> &u32 = OnceLock::get_or_init;
                let _: fn(&OnceLock<u32>) -> &u32 = OnceLock::wait;
                let _: fn(&mut OnceLock<u32>) -> Option<u32> = OnceLock::take;
                let _: fn(OnceLock<u32>) -> Option<u32> = OnceLock::into_inner;
                let _: fn(&LazyLock<u32>) -> &u32 = LazyLock::force;
                let _: fn(&mut LazyLock<u32>) -> &mut u32 = LazyLock::force_mut;
                let _: fn(&LazyLock<u32>) -> Option<&u32> = LazyLock::get;
                let _: fn(&mut LazyLock<u32>) -> Option<&mut u32> = LazyLock::get_mut;
                let mut lazy: LazyLock<u32> = LazyLock::new(|| 4);
                assert_eq!(LazyLock::get(&lazy), None);
                *LazyLock::force_mut(&mut lazy) += 1;
                assert_eq!((*lazy, LazyLock::get_mut(&mut lazy)), (5, Some(&mut 5)));
                let _: OnceLock<u32> = OnceLock::from(1).clone();
                let _: LazyLock<u32> = LazyLock::default();
                assert!(OnceLock::from(1) == OnceLock::from(1));
            }

            fn channels() {
                let _: fn() -> (mpsc::Sender<u32>, mpsc::Receiver<u32>) = mpsc::channel;
                let _: fn(usize) -> (mpsc::SyncSender<u32>, mpsc::Receiver<u32>) = mpsc::sync_channel;
                let _: fn(&mpsc::Sender<u32>, u32) -> Result<(), mpsc::SendError<u32>> = mpsc::Sender::send;
                let _: fn(&mpsc::SyncSender<u32>, u32) -> Result<(), mpsc::SendError<u32>> = mpsc::SyncSender::send;
                let _: fn(&mpsc::SyncSender<u32>, u32) -> Result<(), mpsc::TrySendError<u32>> = mpsc::SyncSender::try_send;
                let _: fn(&mpsc::Receiver<u32>) -> Result<u32, mpsc::RecvError> = mpsc::Receiver::recv;
                let _: fn(&mpsc::Receiver<u32>) -> Result<u32, mpsc::TryRecvError> = mpsc::Receiver::try_recv;
                let _: fn(&mpsc::Receiver<u32>, Duration) -> Result<u32, mpsc::RecvTimeoutError> = mpsc::Receiver::recv_timeout;
                let _: fn(&mpsc::Receiver<u32>) -> mpsc::Iter<'_, u32> = mpsc::Receiver::iter;
                let _: fn(&mpsc::Receiver<u32>) -> mpsc::TryIter<'_, u32> = mpsc::Receiver::try_iter;
                let _: fn(mpsc::Receiver<u32>) -> mpsc::IntoIter<u32> = mpsc::Receiver::into_iter;
                let _: fn(&mpsc::Sender<u32>) -> mpsc::Sender<u32> = mpsc::Sender::clone;
                let _: fn(&mpsc::SyncSender<u32>) -> mpsc::SyncSender<u32> = mpsc::SyncSender::clone;
                fn error<T: std::error::Error + Clone + Copy + PartialEq + Eq>() {}
                error::<mpsc::SendError<u32>>();
                error::<mpsc::TrySendError<u32>>();
                error::<mpsc::RecvError>();
                error::<mpsc::TryRecvError>();
                error::<mpsc::RecvTimeoutError>();
            }

            fn threads() {
                let _: fn(fn() -> u32) -> JoinHandle<u32> = thread::spawn;
                let _: fn(JoinHandle<u32>) -> thread::Result<u32> = JoinHandle::join;
                let _: fn(&JoinHandle<u32>) -> &Thread = JoinHandle::thread;
                let _: fn(&JoinHandle<u32>) -> bool = JoinHandle::is_finished;
                let _: fn(ScopedJoinHandle<'static, u32>) -> thread::Result<u32> = ScopedJoinHandle::join;
                let _: for<'a> fn(&'a ScopedJoinHandle<'static, u32>) -> &'a Thread = ScopedJoinHandle::thread;
                let _: fn(&ScopedJoinHandle<'static, u32>) -> bool = ScopedJoinHandle::is_finished;
                let _: fn() -> Thread = thread::current;
                let _: fn(&Thread) -> ThreadId = Thread::id;
                let _: fn(&Thread) -> Option<&str> = Thread::name;
                let _: fn(&Thread) = Thread::unpark;
                for _f in [thread::park, thread::yield_now, hint::spin_loop, hint::cold_path] as [fn(); 4] {}
                let _: fn(bool, u8, u8) -> u8 = hint::select_unpredictable;
                let _: fn(u8) -> u8 = hint::black_box;
                for _f in [thread::park_timeout, thread::sleep] as [fn(Duration); 2] {}
                for _f in [thread::park_timeout_ms, thread::sleep_ms] as [fn(u32); 2] {}
                let _: fn() -> bool = thread::panicking;
                let _: fn() -> std::io::Result<std::num::NonZero<usize>> = thread::available_parallelism;
                let _: fn() -> thread::Builder = thread::Builder::new;
                let _: fn(thread::Builder, String) -> thread::Builder = thread::Builder::name;
                let _: fn(thread::Builder, usize) -> thread::Builder = thread::Builder::stack_size;
                let _: fn(thread::Builder, fn() -> u32) -> std::io::Result<JoinHandle<u32>> = thread::Builder::spawn;
                fn scoped<'scope, 'env>(scope: &'scope Scope<'scope, 'env>) -> ScopedJoinHandle<'scope, u32> {
                    let builder = thread::Builder::new();
                    let other: std::io::Result<ScopedJoinHandle<'scope, u32>> = builder.spawn_scoped(scope, || 1);
                    drop(other.unwrap().join());
                    scope.spawn(|| 1)
                }
                assert_eq!(thread::scope(|scope| scoped(scope).join().unwrap()), 1);
                let _: fn(&'static LocalKey<Cell<u32>>, fn(&Cell<u32>) -> u32) -> u32 = LocalKey::with;
                let _: fn(&'static LocalKey<Cell<u32>>, fn(&Cell<u32>)) -> Result<(), thread::AccessError> = LocalKey::try_with;
                let _: fn(&'static LocalKey<Cell<u32>>) -> u32 = LocalKey::<Cell<u32>>::take;
                LOCAL.set(LOCAL.get() + LOCAL.replace(2));
                TEXT.with_borrow_mut(|text| text.push('s'));
                assert_eq!(TEXT.with_borrow(|text| text.len()), 5);
                TEXT.set("new".into());
                assert_eq!((TEXT.replace("newer".into()).len(), TEXT.take().len()), (3, 5));
            }

            fn cells() {
                let _: fn(&UnsafeCell<u32>) -> *mut u32 = UnsafeCell::get;
                let _: fn(*const UnsafeCell<u32>) -> *mut u32 = UnsafeCell::raw_get;
                let _: fn(&mut UnsafeCell<u32>) -> &mut u32 = UnsafeCell::get_mut;
                let _: fn(UnsafeCell<u32>) -> u32 = UnsafeCell::into_inner;
                let _: Weak<u32> = Arc::downgrade(&Arc::new(1));
            }

            /// The behaviour, which must be the same.
            pub fn run() -> Vec<u32> {
                let mut seen = Vec::new();
                atomics();
                traits();
                locks();
                condvars();
                onces();
                channels();
                threads();
                cells();
                MUTEX.lock().unwrap().push(1);
                seen.push(MUTEX.lock().unwrap().len() as u32);
                *RWLOCK.write().unwrap() += 3;
                seen.push(*RWLOCK.read().unwrap());
                seen.push(u32::from(BARRIER.wait().is_leader()));
                ONCE.call_once(|| seen.push(7));
                ONCE.call_once(|| seen.push(8));
                seen.push(ONCE_LOCK.get_or_init(|| "four".into()).len() as u32);
                seen.push(LAZY.len() as u32);
                seen.push(ATOMIC.fetch_add(1, Ordering::SeqCst) as u32);
                assert!(POINTER.load(Ordering::SeqCst).is_null());
                CONDVAR.notify_all();
                seen.push(UnsafeCell::new(1).into_inner());
                let (sender, receiver) = mpsc::channel();
                let handle = thread::spawn(move || sender.send(9).map_err(|_| ()));
                seen.extend(receiver.iter());
                handle.join().unwrap().unwrap();
                seen
            }
        }
    };
}

with!(with_std, std);
with!(with_us, mazurka_rt);
// The code within a model has statics of its own.
with!(within_a_model, mazurka_rt);

#[test]
fn both_do_the_same() {
    let expected = with_std::run();
    assert_eq!(with_us::run(), expected);
    let again = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = again.clone();
    mazurka_rt::model(move || *seen.lock().unwrap() = within_a_model::run());
    // The first two values, the contents of a static mutex and of a static reader-writer lock, are
    // not compared.
    assert_eq!(again.lock().unwrap()[2..], expected[2..]);
}

#[test]
fn a_raw_pointer_to_a_cell_leads_to_its_value() {
    let cell = mazurka_rt::cell::UnsafeCell::new(7u64);
    let inside = mazurka_rt::cell::UnsafeCell::raw_get(&raw const cell);
    assert_eq!(inside, cell.get());
}
