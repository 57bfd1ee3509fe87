//! The errors of crossbeam-channel.

use std::error::Error;
use std::fmt;

/// A message that was not sent, because all receivers are gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// A message that was not sent at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room, or no receiver waits.
    Full(T),
    /// All receivers are gone.
    Disconnected(T),
}

/// A message that was not sent in time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time is over.
    Timeout(T),
    /// All receivers are gone.
    Disconnected(T),
}

/// There is no message, and all senders are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecvError;

/// Why no message was received at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TryRecvError {
    /// There is no message.
    Empty,
    /// There is no message, and all senders are gone.
    Disconnected,
}

/// Why no message was received in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecvTimeoutError {
    /// The time is over.
    Timeout,
    /// There is no message, and all senders are gone.
    Disconnected,
}

/// No operation could be selected at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrySelectError;

/// No operation could be selected in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectTimeoutError;

/// No operation was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TryReadyError;

/// No operation was ready in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadyTimeoutError;

impl<T> SendError<T> {
    /// Returns the message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

macro_rules! of_sending {
    ($name:ident, $other:ident, $is_other:ident, $words:literal) => {
        impl<T> $name<T> {
            /// Returns the message.
            pub fn into_inner(self) -> T {
                match self {
                    Self::$other(message) | Self::Disconnected(message) => message,
                }
            }

            #[doc = concat!("Whether the error is `", stringify!($other), "`.")]
            pub fn $is_other(&self) -> bool {
                matches!(self, Self::$other(_))
            }

            /// Whether all receivers are gone.
            pub fn is_disconnected(&self) -> bool {
                matches!(self, Self::Disconnected(_))
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    Self::$other(_) => concat!(stringify!($other), "(..)"),
                    Self::Disconnected(_) => "Disconnected(..)",
                })
            }
        }

        impl<T> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    Self::$other(_) => $words,
                    Self::Disconnected(_) => "sending on a disconnected channel",
                })
            }
        }

        impl<T> Error for $name<T> {}

        impl<T> From<SendError<T>> for $name<T> {
            fn from(error: SendError<T>) -> Self {
                Self::Disconnected(error.0)
            }
        }
    };
}

of_sending!(TrySendError, Full, is_full, "sending on a full channel");
of_sending!(
    SendTimeoutError,
    Timeout,
    is_timeout,
    "timed out waiting on send operation"
);

macro_rules! of_receiving {
    ($name:ident, $other:ident, $is_other:ident, $words:literal) => {
        impl $name {
            #[doc = concat!("Whether the error is `", stringify!($other), "`.")]
            pub fn $is_other(&self) -> bool {
                matches!(self, Self::$other)
            }

            /// Whether all senders are gone.
            pub fn is_disconnected(&self) -> bool {
                matches!(self, Self::Disconnected)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    Self::$other => $words,
                    Self::Disconnected => "receiving on an empty and disconnected channel",
                })
            }
        }

        impl Error for $name {}

        impl From<RecvError> for $name {
            fn from(_: RecvError) -> Self {
                Self::Disconnected
            }
        }
    };
}

of_receiving!(
    TryRecvError,
    Empty,
    is_empty,
    "receiving on an empty channel"
);
of_receiving!(
    RecvTimeoutError,
    Timeout,
    is_timeout,
    "timed out waiting on receive operation"
);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("sending on a disconnected channel")
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("receiving on an empty and disconnected channel")
    }
}

impl fmt::Display for TrySelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("all operations in select would block")
    }
}

impl fmt::Display for SelectTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("timed out waiting on select")
    }
}

impl fmt::Display for TryReadyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("all operations in select would block")
    }
}

impl fmt::Display for ReadyTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("timed out waiting on select")
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TrySelectError {}
impl Error for SelectTimeoutError {}
impl Error for TryReadyError {}
impl Error for ReadyTimeoutError {}
