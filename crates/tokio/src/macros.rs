//! `select!`, `join!`, `try_join!`, `pin!` and `task_local!`.
//!
//! A `select!` collects its branches one by one and gives each a name and an index. Then it polls
//! the futures of the branches, beginning with a chosen branch, until one is ready with a value
//! that matches the pattern of its branch.

/// Waits for the first of several futures, and drops the others.
///
/// ```
/// use mazurka_tokio::sync::oneshot;
///
/// mazurka_rt::model(|| {
///     let runtime = mazurka_tokio::runtime::Runtime::new().unwrap();
///     let first = runtime.block_on(async {
///         let (a, from_a) = oneshot::channel();
///         let (b, from_b) = oneshot::channel();
///         mazurka_tokio::spawn(async { a.send(1) });
///         mazurka_tokio::spawn(async { b.send(2) });
///         mazurka_tokio::select! {
///             Ok(one) = from_a => one,
///             Ok(two) = from_b => two,
///             else => unreachable!("a message is sent before its sender is dropped"),
///         }
///     });
///     assert!(first == 1 || first == 2);
/// });
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($branches:tt)*) => {
        $crate::__names!(__select (@next (false) () ()) ($($branches)*))
    };
    ($($branches:tt)*) => {
        $crate::__names!(__select (@next (true) () ()) ($($branches)*))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // Everything is collected.
    (@next $any:tt $branches:tt $else:tt $names:tt) => {
        $crate::__select!(@emit $any $branches $else)
    };
    (@next $any:tt $branches:tt () $names:tt else => $body:expr $(,)?) => {
        $crate::__select!(@emit $any $branches ($body))
    };
    // A branch with a block needs no comma; one with an expression does, unless it is the last.
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr, if $cond:expr => $body:block, $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) ($cond) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr, if $cond:expr => $body:block $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) ($cond) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr, if $cond:expr => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) ($cond) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr, if $cond:expr => $body:expr) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) ($cond) ($body))) () ($($names)*))
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr => $body:block, $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) (true) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr => $body:block $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) (true) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) (true) ($body))) () ($($names)*) $($rest)*)
    };
    (@next $any:tt ($($done:tt)*) () (($name:ident $number:tt) $($names:tt)*) $pat:pat = $fut:expr => $body:expr) => {
        $crate::__select!(@next $any ($($done)* ($name $number ($pat) ($fut) (true) ($body))) () ($($names)*))
    };
    (@emit ($any:expr) ($(($name:ident $number:tt ($pat:pat) ($fut:expr) ($cond:expr) ($body:expr)))*) $else:tt) => {{
        #[allow(non_camel_case_types, clippy::enum_variant_names)]
        enum __Output<$($name),*> {
            $($name($name),)*
            Disabled,
        }
        let __enabled: ::std::vec::Vec<usize> = {
            let mut enabled = ::std::vec::Vec::new();
            $(
                #[allow(clippy::nonminimal_bool)]
                if $cond {
                    enabled.push($number);
                }
            )*
            enabled
        };
        // The futures are dropped before the body of a branch runs.
        #[allow(unused_mut)]
        let mut __output = {
            $(let mut $name = ::std::pin::pin!(::std::future::IntoFuture::into_future($fut));)*
            let mut enabled = __enabled;
            ::std::future::poll_fn(|cx| {
                let order = $crate::__order($any, &enabled);
                for branch in order {
                    match branch {
                        $(
                            $number => {
                                let out = match ::std::future::Future::poll($name.as_mut(), cx) {
                                    ::std::task::Poll::Ready(out) => out,
                                    ::std::task::Poll::Pending => continue,
                                };
                                // The future is not polled again, even if its pattern does not
                                // match.
                                enabled.retain(|&one| one != branch);
                                #[allow(unused_variables, unreachable_patterns, clippy::all)]
                                match &out {
                                    $crate::__clean_pattern!($pat) => {}
                                    _ => continue,
                                }
                                return ::std::task::Poll::Ready(__Output::$name(out));
                            }
                        )*
                        _ => unreachable!("there is no such branch"),
                    }
                }
                if enabled.is_empty() { ::std::task::Poll::Ready(__Output::Disabled) } else { ::std::task::Poll::Pending }
            })
            .await
        };
        #[allow(unreachable_patterns, clippy::all)]
        match __output {
            $(__Output::$name($pat) => $body,)*
            __Output::Disabled => $crate::__select!(@else $else),
            _ => unreachable!("the pattern took it before"),
        }
    }};
    (@else ()) => {
        panic!("all branches are disabled and there is no else branch")
    };
    (@else ($body:expr)) => {
        $body
    };
}

/// Calls a macro with names and numbers for up to 64 futures, as many as tokio takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __names {
    ($name:ident ($($before:tt)*) ($($after:tt)*)) => {
        $crate::$name!($($before)* (
            (b0 0) (b1 1) (b2 2) (b3 3) (b4 4) (b5 5) (b6 6) (b7 7) (b8 8) (b9 9) (b10 10)
            (b11 11) (b12 12) (b13 13) (b14 14) (b15 15) (b16 16) (b17 17) (b18 18) (b19 19)
            (b20 20) (b21 21) (b22 22) (b23 23) (b24 24) (b25 25) (b26 26) (b27 27) (b28 28)
            (b29 29) (b30 30) (b31 31) (b32 32) (b33 33) (b34 34) (b35 35) (b36 36) (b37 37)
            (b38 38) (b39 39) (b40 40) (b41 41) (b42 42) (b43 43) (b44 44) (b45 45) (b46 46)
            (b47 47) (b48 48) (b49 49) (b50 50) (b51 51) (b52 52) (b53 53) (b54 54) (b55 55)
            (b56 56) (b57 57) (b58 58) (b59 59) (b60 60) (b61 61) (b62 62) (b63 63)
        ) $($after)*)
    };
}

/// Returns the branches of a `select!` in the order in which they are polled. With `any`, the first
/// branch is a choice; otherwise it is the first in the source.
#[doc(hidden)]
#[track_caller]
pub fn __order(any: bool, enabled: &[usize]) -> Vec<usize> {
    let mut order = enabled.to_vec();
    if any && order.len() > 1 {
        order.rotate_left(mazurka_rt::choose(0..enabled.len()));
    }
    order
}

/// Waits for several futures together.
///
/// ```
/// mazurka_rt::model(|| {
///     let runtime = mazurka_tokio::runtime::Runtime::new().unwrap();
///     let both = runtime.block_on(async { mazurka_tokio::join!(async { 1 }, async { "two" }) });
///     assert_eq!(both, (1, "two"));
/// });
/// ```
#[macro_export]
macro_rules! join {
    () => {
        ()
    };
    ($($future:expr),* $(,)?) => {
        $crate::__names!(__join (@next (plain) ()) ($(($future))*))
    };
}

/// Waits for several futures with a `Result` together: returns at the first error.
///
/// ```
/// mazurka_rt::model(|| {
///     let runtime = mazurka_tokio::runtime::Runtime::new().unwrap();
///     let both = runtime.block_on(async {
///         mazurka_tokio::try_join!(async { Ok::<u32, &str>(1) }, async { Err::<u32, _>("no") })
///     });
///     assert_eq!(both, Err("no"));
/// });
/// ```
#[macro_export]
macro_rules! try_join {
    () => {
        ::std::result::Result::Ok(())
    };
    ($($future:expr),* $(,)?) => {
        $crate::__names!(__join (@next (fallible) ()) ($(($future))*))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    (@next $kind:tt ($($done:tt)*) $names:tt) => {
        $crate::__join!(@emit $kind $($done)*)
    };
    (@next $kind:tt ($($done:tt)*) (($name:ident $number:tt) $($names:tt)*) $future:tt $($rest:tt)*) => {
        $crate::__join!(@next $kind ($($done)* ($name $number $future)) ($($names)*) $($rest)*)
    };
    (@emit ($kind:ident) $(($name:ident $number:tt ($future:expr)))*) => {{
        $(let mut $name = ::std::pin::pin!($crate::__MaybeDone::new($future));)*
        let mut first = 0_usize;
        ::std::future::poll_fn(move |cx| {
            const COUNT: usize = [$($number as usize),*].len();
            #[allow(unused_mut)]
            let mut pending = false;
            for at in first..first + COUNT {
                #[allow(clippy::modulo_one)]
                match at % COUNT {
                    $($number => $crate::__join!(@poll $kind pending $name cx),)*
                    _ => unreachable!("there is no such future"),
                }
            }
            // As in tokio, each poll starts with the next future.
            #[allow(clippy::modulo_one)]
            {
                first = if COUNT == 0 { 0 } else { (first + 1) % COUNT };
            }
            if pending { ::std::task::Poll::Pending } else { ::std::task::Poll::Ready($crate::__join!(@result $kind $($name)*)) }
        })
        .await
    }};
    (@poll plain $pending:ident $name:ident $cx:ident) => {
        $pending |= !$name.as_mut().poll($cx)
    };
    (@poll fallible $pending:ident $name:ident $cx:ident) => {
        if !$name.as_mut().poll($cx) {
            $pending = true;
        } else if let ::std::option::Option::Some(error) = $name.as_mut().error() {
            return ::std::task::Poll::Ready(::std::result::Result::Err(error));
        }
    };
    (@result plain $($name:ident)*) => {
        ($($name.as_mut().take(),)*)
    };
    (@result fallible $($name:ident)*) => {
        ::std::result::Result::Ok(($($name.as_mut().value(),)*))
    };
}

/// Declares task-local values.
///
/// ```
/// mazurka_tokio::task_local! {
///     static NUMBER: u32;
/// }
///
/// assert_eq!(NUMBER.sync_scope(7, || NUMBER.get()), 7);
/// assert!(NUMBER.try_with(|number| *number).is_err());
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attr])* $vis static $name: $t);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty) => {
        $(#[$attr])*
        $vis static $name: $crate::task::LocalKey<$t> = {
            $crate::mazurka_rt::thread_local! {
                static SLOT: ::std::cell::RefCell<::std::option::Option<$t>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }
            $crate::task::LocalKey { inner: &SLOT }
        };
    };
}

/// Pins futures to the stack.
///
/// ```
/// mazurka_rt::model(|| {
///     mazurka_rt::future::block_on(async {
///         let future = async { 7 };
///         mazurka_tokio::pin!(future);
///         assert_eq!((&mut future).await, 7);
///     });
/// });
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => {
        $(let mut $name = ::std::pin::pin!($name);)*
    };
    ($(let $name:ident = $init:expr;)*) => {
        $(let mut $name = ::std::pin::pin!($init);)*
    };
}
