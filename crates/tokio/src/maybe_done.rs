//! A future that keeps its value until it is taken, for `join!` and `try_join!`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future, or its value.
#[doc(hidden)]
pub enum MaybeDone<F: Future> {
    /// It is not ready.
    Waiting(Pin<Box<F>>),
    /// The value of the future, which was ready.
    Done(F::Output),
    /// The value has been taken.
    Gone,
}

impl<F: Future> Unpin for MaybeDone<F> {}

impl<F: Future> MaybeDone<F> {
    /// Starts with the future.
    pub fn new(future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self::Waiting(Box::pin(future.into_future()))
    }

    /// Polls the future, unless it was ready before. Returns whether it is ready.
    pub fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let Self::Waiting(future) = &mut *self else {
            return true;
        };
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => {
                *self = Self::Done(value);
                true
            }
            Poll::Pending => false,
        }
    }

    /// Takes the value.
    pub fn take(mut self: Pin<&mut Self>) -> F::Output {
        match std::mem::replace(&mut *self, Self::Gone) {
            Self::Done(value) => value,
            _ => unreachable!("it is ready"),
        }
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> MaybeDone<F> {
    /// Takes the value if it is an error.
    pub fn error(self: Pin<&mut Self>) -> Option<E> {
        match &*self {
            Self::Done(Err(_)) => self.take().err(),
            _ => None,
        }
    }

    /// Takes the value, which must not be an error.
    pub fn value(self: Pin<&mut Self>) -> T {
        match self.take() {
            Ok(value) => value,
            Err(_) => unreachable!("an error was returned at once"),
        }
    }
}
