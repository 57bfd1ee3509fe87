//! `std::sync::atomic`, explored.
//!
//! In interleavings, orderings weaker than `SeqCst` are accepted, but loads return the last value
//! stored, and the summary says so. Under a memory model (weak/mod.rs), `mazurka-memory` decides
//! which write an access reads. Then the real atomic inside keeps its initial value.
//!
//! Loads commute. Every operation that may write conflicts with every access to the same atomic,
//! even if the result does not depend on the order (two `fetch_add`s whose results are not used).

use std::fmt;
use std::panic::Location;
use std::sync::atomic as real;

pub use std::sync::atomic::{Ordering, compiler_fence};

use mazurka_core::{AccessOrder, MemoryOrder, Ordered};

use crate::freed::OwnedMeta;
use crate::spurious::Spurious;
use crate::weak::order_of;
use crate::world::{Inner, Pending, Place, World, wakes, world};

impl Inner {
    /// Records a load.
    #[inline]
    fn read_value(&mut self, cell: u32, order: Ordering) {
        let current = self.current;
        self.weak |= order != Ordering::SeqCst;
        self.saw(cell, wakes::CONTENT);
        self.clocks.load(current, cell, order);
    }

    /// Records a store. `changed` tells whether the new value differs from the old one, `keeps`
    /// whether the store continues a release sequence.
    #[inline]
    fn wrote_value(&mut self, cell: u32, order: Ordering, changed: bool, keeps: bool) {
        let current = self.current;
        self.weak |= order != Ordering::SeqCst;
        self.clocks.store(current, cell, order, keeps);
        if changed {
            self.changed(cell, wakes::CONTENT);
        }
    }
}

/// Returns the part of an ordering that applies to a load.
fn of_load(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Acquire,
        Ordering::Release => Ordering::Relaxed,
        other => other,
    }
}

/// A fence: [`std::sync::atomic::fence`]. Under sequential consistency it adds no order.
#[track_caller]
pub fn fence(order: Ordering) {
    match world() {
        None => real::fence(order),
        Some(world) => {
            assert!(
                order != Ordering::Relaxed,
                "there is no such thing as a relaxed fence"
            );
            if world.memory.is_some() {
                let (what, place) = (("", "fence"), Location::caller());
                let chosen = world.chosen(Ordered::Fence, order_of(order).into(), what, place);
                if chosen.order != MemoryOrder::Relaxed {
                    world.fence(chosen.order, Pending::new(None, what, place));
                    world.note(|| format!("{:?}", chosen.order));
                }
                return;
            }
            let mut inner = world.inner.borrow_mut();
            let current = inner.current;
            inner.weak |= order != Ordering::SeqCst;
            inner.clocks.fence(current, order);
        }
    }
}

/// A value of an atomic, converted to bits.
trait Bits: Copy {
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => {
        $(
            impl Bits for $t {
                fn to_bits(self) -> u64 {
                    self as u64
                }
                fn from_bits(bits: u64) -> Self {
                    bits as Self
                }
            }
        )*
    };
}

bits!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl Bits for bool {
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
}

impl<T> Bits for *mut T {
    fn to_bits(self) -> u64 {
        self.expose_provenance() as u64
    }
    fn from_bits(bits: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }
}

/// Panics like std if an ordering is not valid for a store.
#[track_caller]
fn check_store(order: Ordering) {
    real::AtomicBool::new(false).store(false, order);
}

/// Panics like std if the orderings are not valid for an exchange.
#[track_caller]
fn check_exchange(success: Ordering, failure: Ordering) {
    let _failed = real::AtomicBool::new(true).compare_exchange(false, false, success, failure);
}

/// The common parts of atomics.
struct Shared<A> {
    meta: OwnedMeta,
    value: A,
    /// The value with which a static starts every execution. It is an atomic, too, because models
    /// that run on several real threads at the same time (parallel tests) may share the static.
    initial: A,
}

impl<A> std::panic::RefUnwindSafe for Shared<A> {}

/// A `compare_exchange`: writes `new` if the value is `current`.
struct Exchange<T> {
    /// The name of the operation in reports.
    verb: &'static str,
    current: T,
    new: T,
    /// `success` is the ordering if it writes, `failure` the one if it does not.
    success: Ordering,
    failure: Ordering,
}

macro_rules! copy {
    ($from:expr => $to:expr) => {
        $to.store($from.load(Ordering::Relaxed), Ordering::Relaxed)
    };
}

macro_rules! atomic {
    ($name:ident, $value:ty $(, $param:ident)?) => {
        #[doc = concat!("[`std::sync::atomic::", stringify!($name), "`], explored within a model.")]
        pub struct $name$(<$param>)?(Shared<real::$name$(<$param>)?>);

        impl$(<$param>)? $name$(<$param>)? {
            /// Makes an atomic with a value.
            #[track_caller]
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(Shared {
                    meta: OwnedMeta::new(),
                    value: real::$name::new(value),
                    initial: real::$name::new(value),
                })
            }

            const KIND: &'static str = stringify!($name);

            #[inline]
            fn cell(&self, world: &World) -> u32 {
                self.start(world);
                world.cell(&self.0.meta, Self::KIND)
            }

            /// Returns the atomic that this model uses: a static has a twin in each model.
            #[inline]
            fn here(&self, world: &World) -> &Self {
                let meta = &self.0.meta;
                if world.owns(meta) {
                    return self;
                }
                world.twin(meta, || {
                    let value = self.0.value.load(Ordering::Relaxed);
                    Self(Shared {
                        meta: OwnedMeta::at(meta.made()),
                        value: real::$name::new(value),
                        initial: real::$name::new(value),
                    })
                })
            }

            /// Resets a static to its first value if this is the first use of it in this execution.
            #[inline]
            fn start(&self, world: &World) {
                let epoch = world.inner.borrow().epoch;
                if self.0.meta.known(epoch).is_some() || world.is_freed(&self.0.meta) {
                    return;
                }
                match self.0.meta.enter(epoch) {
                    0 => copy!(self.0.value => self.0.initial),
                    before if before != epoch => copy!(self.0.initial => self.0.value),
                    _ => {}
                }
            }

            /// Reads the value.
            #[track_caller]
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                let Some(world) = world() else {
                    return self.0.value.load(order);
                };
                let this = self.here(world);
                if world.memory.is_some() {
                    this.start(world);
                    // The real atomic also checks that the ordering is valid for loads.
                    let initial = this.0.value.load(order);
                    let (what, place) = ((Self::KIND, "load"), Location::caller());
                    let chosen = world.chosen(Ordered::Load, order_of(order).into(), what, place);
                    return this.load_weakly(world, initial, chosen.order, place);
                }
                let cell = this.cell(world);
                world.turn(Pending::read(cell, (Self::KIND, "load"), Location::caller()));
                // The real atomic also checks that the ordering is valid for loads.
                let value = this.0.value.load(order);
                world.inner.borrow_mut().read_value(cell, order);
                world.note(|| format!("{value:?}"));
                value
            }

            /// Writes a value.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                let Some(world) = world() else {
                    return self.0.value.store(value, order);
                };
                let this = self.here(world);
                let cell = this.cell(world);
                let pending = Pending::write(cell, (Self::KIND, "store"), Location::caller());
                if world.memory.is_some() {
                    check_store(order);
                    let (order, what, place) = (order_of(order), pending.what, pending.place);
                    let chosen = world.chosen(Ordered::Store, order.into(), what, place);
                    world.store_bits(cell, chosen.order, value.to_bits(), pending);
                    return world.note(|| format!("{value:?}"));
                }
                world.turn(pending);
                let old = this.0.value.load(Ordering::Relaxed);
                this.0.value.store(value, order);
                world.inner.borrow_mut().wrote_value(cell, order, old != value, false);
                world.note(|| format!("{value:?}"));
            }

            /// Reads the value under a memory model.
            fn load_weakly(
                &self,
                world: &World,
                initial: $value,
                order: MemoryOrder,
                place: Place,
            ) -> $value {
                let cell = self.cell(world);
                let pending = Pending::read(cell, (Self::KIND, "load"), place);
                let bits = world.load_bits(cell, order, initial.to_bits(), pending);
                let value = <$value as Bits>::from_bits(bits);
                world.note(|| format!("{value:?}"));
                value
            }

            /// Under a memory model, replaces the value by the result of `change`; if the result is
            /// `None`, nothing is written. Returns the old value, and the new one if it was
            /// written.
            fn update_weakly(
                &self,
                world: &World,
                orders: AccessOrder,
                change: &dyn Fn($value) -> Option<$value>,
                what: (&'static str, Place),
            ) -> ($value, Option<$value>) {
                let cell = self.cell(world);
                let (verb, place) = what;
                let pending = Pending::write(cell, (Self::KIND, verb), place);
                let from = <$value as Bits>::from_bits;
                let change_bits = |bits| change(from(bits)).map(Bits::to_bits);
                let initial = self.0.value.load(Ordering::Relaxed).to_bits();
                let orders = [orders.order, orders.failure];
                let rule: &dyn Fn(u64) -> Option<u64> = &change_bits;
                let (old, wrote) = world.update_bits(cell, orders, (initial, rule), pending);
                let old = from(old);
                (old, if wrote { change(old) } else { None })
            }

            /// Performs a read-modify-write.
            #[inline]
            fn modify(
                &self,
                verb: &'static str,
                order: Ordering,
                place: Place,
                change: impl Fn(&real::$name$(<$param>)?) -> $value,
            ) -> $value {
                let Some(world) = world() else {
                    return change(&self.0.value);
                };
                let this = self.here(world);
                if world.memory.is_some() {
                    let change = |old| {
                        let value = real::$name::new(old);
                        change(&value);
                        Some(value.into_inner())
                    };
                    let (written, what) = (order_of(order).into(), (Self::KIND, verb));
                    let orders = world.chosen(Ordered::Update, written, what, place);
                    let what = (verb, place);
                    let (old, new) = this.update_weakly(world, orders, &change, what);
                    world.note(|| match new {
                        Some(new) => format!("{old:?} → {new:?}"),
                        None => format!("{old:?}"),
                    });
                    return old;
                }
                let cell = this.cell(world);
                world.turn(Pending::write(cell, (Self::KIND, verb), place));
                let old = change(&this.0.value);
                let new = this.0.value.load(Ordering::Relaxed);
                {
                    let mut inner = world.inner.borrow_mut();
                    inner.read_value(cell, of_load(order));
                    inner.wrote_value(cell, order, old != new, true);
                }
                world.note(|| format!("{old:?} → {new:?}"));
                old
            }

            /// Writes a value and returns the old one.
            #[track_caller]
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let place = Location::caller();
                self.modify("swap", order, place, |real| real.swap(value, order))
            }

            /// Writes a value if the old one is `current`.
            #[track_caller]
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let verb = "compare_exchange";
                let wanted = Exchange { verb, current, new, success, failure };
                self.exchange(wanted, Location::caller())
            }

            /// Like `compare_exchange`. It fails spuriously only if
            /// [`Builder::spurious_failures`](crate::Builder::spurious_failures) allows it.
            #[track_caller]
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let verb = "compare_exchange_weak";
                let place = Location::caller();
                if let Some(world) = world().filter(|world| world.memory.is_some())
                    && world.spuriously(Spurious::Failure, place)
                {
                    let this = self.here(world);
                    let old = this.read_failing(world, [success, failure], (verb, place));
                    if old != current {
                        // The value would have made the exchange fail anyway, and another execution
                        // covers that failure.
                        world.discard();
                    }
                    return Err(old);
                }
                let wanted = Exchange { verb, current, new, success, failure };
                self.exchange(wanted, place)
            }

            /// Writes a value if the old one is `current`. Returns the old value in both cases.
            #[track_caller]
            #[inline]
            #[deprecated(note = "use `compare_exchange` instead, as with std")]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let verb = "compare_and_swap";
                let (success, failure) = (order, of_load(order));
                let wanted = Exchange { verb, current, new, success, failure };
                match self.exchange(wanted, Location::caller()) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// Returns the orderings of an exchange under a memory model.
            fn chosen(
                world: &World,
                [success, failure]: [Ordering; 2],
                (verb, place): (&'static str, Place),
            ) -> AccessOrder {
                let written = AccessOrder {
                    order: order_of(success),
                    failure: order_of(failure),
                };
                world.chosen(Ordered::CompareExchange, written, (Self::KIND, verb), place)
            }

            /// Reads the value as a failing exchange does.
            fn read_failing(
                &self,
                world: &World,
                orders: [Ordering; 2],
                what: (&'static str, Place),
            ) -> $value {
                let [success, failure] = orders;
                check_exchange(success, failure);
                let orders = Self::chosen(world, orders, what);
                self.here(world).update_weakly(world, orders, &|_| None, what).0
            }

            fn exchange(&self, wanted: Exchange<$value>, place: Place) -> Result<$value, $value> {
                let Exchange { verb, current, new, success, failure } = wanted;
                let Some(world) = world() else {
                    return self.0.value.compare_exchange(current, new, success, failure);
                };
                let this = self.here(world);
                if world.memory.is_some() {
                    check_exchange(success, failure);
                    let change = |old| (old == current).then_some(new);
                    let orders = Self::chosen(world, [success, failure], (verb, place));
                    let what = (verb, place);
                    let (old, wrote) = this.update_weakly(world, orders, &change, what);
                    world.note(|| match wrote {
                        Some(new) => format!("{old:?} → {new:?}"),
                        None => format!("{old:?}, not {current:?}: failed"),
                    });
                    return if wrote.is_some() { Ok(old) } else { Err(old) };
                }
                let cell = this.cell(world);
                world.turn(Pending::write(cell, (Self::KIND, verb), place));
                let result = this.0.value.compare_exchange(current, new, success, failure);
                if verb == "compare_exchange_weak" && result.is_ok() && world.fails_spuriously() {
                    this.0.value.store(current, Ordering::Relaxed);
                    world.inner.borrow_mut().read_value(cell, failure);
                    return Err(current);
                }
                {
                    let mut inner = world.inner.borrow_mut();
                    match result {
                        Ok(old) => {
                            inner.read_value(cell, of_load(success));
                            inner.wrote_value(cell, success, old != new, true);
                        }
                        Err(_) => inner.read_value(cell, failure),
                    }
                }
                world.note(|| match result {
                    Ok(old) => format!("{old:?} → {new:?}"),
                    Err(old) => format!("{old:?}, not {current:?}: failed"),
                });
                result
            }

            /// Replaces the value by the result of a function, unless that is `None`. Calls the
            /// function again if another thread has written in between. Returns the old value, as
            /// an error if nothing was written.
            #[track_caller]
            #[inline]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let place = Location::caller();
                let mut old = match world().filter(|world| world.memory.is_some()) {
                    None => self.load(fetch_order),
                    Some(world) => {
                        // This read has the ordering of a failing exchange.
                        let this = self.here(world);
                        this.start(world);
                        let initial = this.0.value.load(fetch_order);
                        let what = ("fetch_update", place);
                        let orders = Self::chosen(world, [set_order, fetch_order], what);
                        this.load_weakly(world, initial, orders.failure, place)
                    }
                };
                while let Some(new) = f(old) {
                    let wanted = Exchange {
                        verb: "fetch_update",
                        current: old,
                        new,
                        success: set_order,
                        failure: fetch_order,
                    };
                    match self.exchange(wanted, place) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }

            /// Replaces the value by the result of a function, unless that is `None`. Calls the
            /// function again if another thread has written in between. Returns the old value, as
            /// an error if nothing was written.
            #[track_caller]
            #[inline]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set_order, fetch_order, f)
            }

            /// Replaces the value by the result of a function. Calls the function again if another
            /// thread has written in between. Returns the old value.
            #[track_caller]
            #[inline]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                match self.fetch_update(set_order, fetch_order, |value| Some(f(value))) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// Returns the value. The exclusive borrow excludes all other threads.
            #[inline]
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                self.settle(Location::caller());
                self.0.value.get_mut()
            }

            /// Returns the value.
            #[inline]
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                self.settle(Location::caller());
                self.0.value.into_inner()
            }

            /// Passes the value to a function (loom's name). The exclusive borrow excludes all
            /// other threads.
            #[inline]
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.get_mut())
            }

            /// Reads the value without an ordering (loom's name): a plain read under a memory
            /// model, otherwise a relaxed one.
            ///
            /// # Safety
            ///
            /// No other thread may write at the same time.
            #[inline]
            #[track_caller]
            #[allow(unsafe_code)]
            pub unsafe fn unsync_load(&self) -> $value {
                let modelled = world().filter(|world| world.memory.is_some());
                let Some(world) = modelled else {
                    return self.load(Ordering::Relaxed);
                };
                let this = self.here(world);
                this.start(world);
                let initial = this.0.value.load(Ordering::Relaxed);
                this.load_weakly(world, initial, MemoryOrder::Plain, Location::caller())
            }

            /// Returns a pointer to the value. Accesses through it are not explored.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.value.as_ptr()
            }

            /// Stores the current value in the real atomic, so that the code can access it
            /// directly. Under a memory model it then counts as a new atomic with that initial
            /// value.
            fn settle(&mut self, place: Place) {
                let Some(world) = world() else {
                    return;
                };
                self.start(world);
                let used = self.0.meta.known(world.inner.borrow().epoch);
                if let (Some(_), Some(cell)) = (world.memory, used) {
                    let initial = self.0.value.load(Ordering::Relaxed).to_bits();
                    let pending = Pending::read(cell, (Self::KIND, "get_mut"), place);
                    let order = MemoryOrder::Plain;
                    let bits = world.load_bits(cell, order, initial, pending);
                    *self.0.value.get_mut() = <$value as Bits>::from_bits(bits);
                    self.0.meta.forget(world.inner.borrow().epoch);
                }
            }
        }

        impl$(<$param>)? fmt::Debug for $name$(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Some(world) = world() else {
                    return self.0.value.fmt(f);
                };
                let this = self.here(world);
                match world.memory {
                    None => this.0.value.fmt(f),
                    Some(_) => {
                        this.start(world);
                        let initial = this.0.value.load(Ordering::Relaxed);
                        let place = Location::caller();
                        let value = this.load_weakly(world, initial, MemoryOrder::Relaxed, place);
                        fmt::Debug::fmt(&value, f)
                    }
                }
            }
        }

        impl$(<$param>)? From<$value> for $name$(<$param>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! fetch {
    ($name:ident, $value:ty: $($verb:ident)*) => {
        impl $name {
            $(
                #[doc = concat!("`", stringify!($verb), "`, as with std: the old value.")]
                #[track_caller]
                #[inline]
                pub fn $verb(&self, value: $value, order: Ordering) -> $value {
                    let place = Location::caller();
                    self.modify(stringify!($verb), order, place, |real| real.$verb(value, order))
                }
            )*
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(<$value>::default())
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident $value:ty),* $(,)?) => {
        $(
            atomic!($name, $value);
            fetch!($name, $value: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min);
        )*
    };
}

integers! {
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
}

atomic!(AtomicBool, bool);
fetch!(AtomicBool, bool: fetch_and fetch_nand fetch_or fetch_xor);

impl AtomicBool {
    /// Negates the value and returns the old one.
    #[track_caller]
    #[inline]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        let place = Location::caller();
        self.modify("fetch_not", order, place, |real| real.fetch_not(order))
    }
}

atomic!(AtomicPtr, *mut T, T);

macro_rules! fetch_pointer {
    ($($verb:ident)*) => {
        impl<T> AtomicPtr<T> {
            $(
                #[doc = concat!("`", stringify!($verb), "`, as with std: the old value.")]
                #[track_caller]
                #[inline]
                pub fn $verb(&self, value: usize, order: Ordering) -> *mut T {
                    let place = Location::caller();
                    self.modify(stringify!($verb), order, place, |real| real.$verb(value, order))
                }
            )*
        }
    };
}

fetch_pointer! { fetch_ptr_add fetch_ptr_sub fetch_byte_add fetch_byte_sub fetch_or fetch_and fetch_xor }

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(world) = world() else {
            return fmt::Pointer::fmt(&self.0.value, f);
        };
        match world.memory {
            None => fmt::Pointer::fmt(&self.here(world).0.value, f),
            Some(_) => fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f),
        }
    }
}

/// [`std::hint::spin_loop`] under its old name.
#[track_caller]
#[deprecated(note = "use `hint::spin_loop` instead, as with std")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
