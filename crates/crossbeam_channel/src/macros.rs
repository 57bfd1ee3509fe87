//! `select!` and `select_biased!`.
//!
//! The macro `__select!` first collects the cases, one by one, and gives each a name for its end of
//! the channel. Then it adds the operations to a [`Select`](crate::Select), selects one, and runs
//! the body of its case.

/// Waits for one of several operations on channels.
///
/// ```
/// use mazurka_crossbeam_channel::{bounded, select};
///
/// let (s, r) = bounded(1);
/// let sent = select! {
///     send(s, 7) -> result => result.is_ok(),
///     recv(r) -> message => message == Ok(7),
///     default => false,
/// };
/// assert!(sent);
/// ```
#[macro_export]
macro_rules! select {
    ($($cases:tt)*) => {
        $crate::__select!(@next ($crate::Select::new()) () () $($cases)*)
    };
}

/// Waits for one of several operations on channels, and prefers an earlier one to a later one.
#[macro_export]
macro_rules! select_biased {
    ($($cases:tt)*) => {
        $crate::__select!(@next ($crate::Select::new_biased()) () () $($cases)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // A case with a block needs no comma; one with an expression does, unless it is the last.
    (@next $new:tt $ops:tt $default:tt) => {
        $crate::__select!(@run $new $ops $default)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt recv($r:expr) -> $name:pat => $body:block, $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (recv ($r) () $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt recv($r:expr) -> $name:pat => $body:block $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (recv ($r) () $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt recv($r:expr) -> $name:pat => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (recv ($r) () $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt recv($r:expr) -> $name:pat => $body:expr) => {
        $crate::__select!(@next $new ($($ops)* (recv ($r) () $name, $body)) $default)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt send($s:expr, $m:expr) -> $name:pat => $body:block, $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (send ($s) ($m) $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt send($s:expr, $m:expr) -> $name:pat => $body:block $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (send ($s) ($m) $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt send($s:expr, $m:expr) -> $name:pat => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@next $new ($($ops)* (send ($s) ($m) $name, $body)) $default $($rest)*)
    };
    (@next $new:tt ($($ops:tt)*) $default:tt send($s:expr, $m:expr) -> $name:pat => $body:expr) => {
        $crate::__select!(@next $new ($($ops)* (send ($s) ($m) $name, $body)) $default)
    };
    (@next $new:tt $ops:tt () default($time:expr) => $body:block $($rest:tt)*) => {
        $crate::__select!(@default_then $new $ops (($time) $body) $($rest)*)
    };
    (@next $new:tt $ops:tt () default => $body:block $($rest:tt)*) => {
        $crate::__select!(@default_then $new $ops (() $body) $($rest)*)
    };
    (@default_then $new:tt $ops:tt $default:tt , $($rest:tt)*) => {
        $crate::__select!(@next $new $ops $default $($rest)*)
    };
    (@default_then $new:tt $ops:tt $default:tt $($rest:tt)*) => {
        $crate::__select!(@next $new $ops $default $($rest)*)
    };
    (@next $new:tt $ops:tt () default($time:expr) => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@next $new $ops (($time) $body) $($($rest)*)?)
    };
    (@next $new:tt $ops:tt () default => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@next $new $ops (() $body) $($($rest)*)?)
    };
    // Bodies run after the `Select` and its borrows are gone.
    (@run ($new:expr) ($(($kind:ident ($end:expr) ($($message:expr)?) $name:pat, $body:expr))*) $default:tt) => {
        $crate::__select!(@number ($new) () ($(($kind ($end) ($($message)?) $name, $body))*) $default
            a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 a23 a24 a25
            a26 a27 a28 a29 a30 a31)
    };
    (@number $new:tt ($($done:tt)*) () $default:tt $($unused:ident)*) => {
        $crate::__select!(@emit $new ($($done)*) $default)
    };
    (@number $new:tt ($($done:tt)*) (($($case:tt)*) $($rest:tt)*) $default:tt $id:ident $($ids:ident)*) => {
        $crate::__select!(@number $new ($($done)* ($id $($case)*)) ($($rest)*) $default $($ids)*)
    };
    (@emit ($new:expr) ($(($id:ident $kind:ident ($end:expr) ($($message:expr)?) $name:pat, $body:expr))*) $default:tt) => {{
        $(let $id = &$end;)*
        let selected = {
            #[allow(unused_mut)]
            let mut select = $new;
            $(select.$kind($id);)*
            $crate::__select!(@wait select $default)
        };
        match selected {
            ::std::option::Option::None => $crate::__select!(@default $default),
            ::std::option::Option::Some(selected) => {
                $crate::__select!(@chain selected (0) $(($id $kind ($($message)?) $name, $body))*)
            }
        }
    }};
    (@chain $selected:ident ($n:expr)) => {{
        _ = $selected;
        unreachable!("one of the operations was selected")
    }};
    (@chain $selected:ident ($n:expr) ($id:ident $kind:ident ($($message:expr)?) $name:pat, $body:expr) $($rest:tt)*) => {
        if $selected.index() == $n {
            let $name = $selected.$kind($id $(, $message)?);
            $body
        } else {
            $crate::__select!(@chain $selected ($n + 1) $($rest)*)
        }
    };
    (@wait $select:ident ()) => {
        ::std::option::Option::Some($select.select())
    };
    (@wait $select:ident (() $body:expr)) => {
        $select.try_select().ok()
    };
    (@wait $select:ident (($time:expr) $body:expr)) => {
        $select.select_timeout($time).ok()
    };
    (@default ()) => {
        unreachable!("select waits")
    };
    (@default ($time:tt $body:expr)) => {
        $body
    };
}
