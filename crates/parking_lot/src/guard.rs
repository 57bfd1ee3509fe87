//! The common methods of guards. In a guard, the field `lock` is the lock, and `held` is the guard
//! of `mazurka-rt`. `held` is `None` only while `unlocked` has released the lock for a moment.

macro_rules! guard {
    ($guard:ident, $take:ident) => {
        impl<'a, T: ?Sized> $guard<'a, T> {
            /// Releases the lock while a function runs.
            #[track_caller]
            pub fn unlocked<F: FnOnce() -> U, U>(s: &mut Self, f: F) -> U {
                s.held = None;
                let result = f();
                s.held = s.lock.$take().held.take();
                result
            }

            /// Releases the lock while a function runs.
            #[track_caller]
            pub fn unlocked_fair<F: FnOnce() -> U, U>(s: &mut Self, f: F) -> U {
                Self::unlocked(s, f)
            }

            /// Releases the lock.
            pub fn unlock_fair(s: Self) {
                drop(s);
            }

            /// Releases the lock and takes it again, so that a waiting thread can have it in
            /// between.
            #[track_caller]
            pub fn bump(s: &mut Self) {
                Self::unlocked(s, || ());
            }
        }

        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                self.held.as_ref().expect("the guard holds the lock")
            }
        }

        mazurka_rt::shown_as_content!($guard);
    };
    (mut $guard:ident, $take:ident) => {
        guard!($guard, $take);

        impl<T: ?Sized> std::ops::DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                self.held.as_mut().expect("the guard holds the lock")
            }
        }
    };
}

pub(crate) use guard;
