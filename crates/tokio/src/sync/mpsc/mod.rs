//! Channels with any number of senders and one receiver.

mod bounded;
mod chan;
pub mod error;
mod unbounded;

pub use bounded::{OwnedPermit, Permit, PermitIterator, Receiver, Sender, WeakSender, channel};
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};

use mazurka_rt::sync::Arc;

use crate::drive::Place;
use chan::Chan;

/// The part that all senders of a channel share. It is dropped with the last sender, and then
/// records in the channel that no sender is left.
struct Sending<T> {
    chan: Arc<Chan<T>>,
    place: Place,
}

impl<T> Drop for Sending<T> {
    fn drop(&mut self) {
        self.chan.drop_senders(self.place);
    }
}

/// The common methods of senders.
macro_rules! senders {
    ($sender:ident, $weak:ident) => {
        impl<T> $sender<T> {
            fn chan(&self) -> &Chan<T> {
                &self.shared.chan
            }

            /// Waits until the receiver is gone.
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> + '_ {
                self.chan().closed(Location::caller())
            }

            /// Whether the receiver is gone.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.chan().is_closed(Location::caller())
            }

            /// Whether both send to the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.shared, &other.shared)
            }

            /// Returns a sender that does not keep the channel open.
            pub fn downgrade(&self) -> $weak<T> {
                $weak {
                    shared: Arc::downgrade(&self.shared),
                }
            }

            /// Returns the number of senders.
            #[track_caller]
            pub fn strong_count(&self) -> usize {
                Arc::strong_count(&self.shared)
            }

            /// Returns the number of senders that do not keep the channel open.
            #[track_caller]
            pub fn weak_count(&self) -> usize {
                Arc::weak_count(&self.shared)
            }
        }

        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                Self {
                    shared: self.shared.clone(),
                }
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).finish_non_exhaustive()
            }
        }

        impl<T> $weak<T> {
            /// Returns a sender, if one still exists.
            #[track_caller]
            pub fn upgrade(&self) -> Option<$sender<T>> {
                let shared = self.shared.upgrade()?;
                Some($sender { shared })
            }

            /// Returns the number of senders.
            #[track_caller]
            pub fn strong_count(&self) -> usize {
                self.shared.strong_count()
            }

            /// Returns the number of senders that do not keep the channel open.
            #[track_caller]
            pub fn weak_count(&self) -> usize {
                self.shared.weak_count()
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                Self {
                    shared: self.shared.clone(),
                }
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($weak)).finish_non_exhaustive()
            }
        }
    };
}
use senders;

/// The common methods of receivers.
macro_rules! receiver {
    ($receiver:ident) => {
        impl<T> $receiver<T> {
            /// Waits for a message; `None` if all senders are gone.
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> + '_ {
                let place = Location::caller();
                poll_fn(move |cx| self.chan.poll_recv(cx.waker(), place))
            }

            /// Waits for messages, and takes up to `limit` of those that have arrived. Returns how
            /// many; 0 if all senders are gone.
            #[track_caller]
            pub fn recv_many<'a>(
                &'a mut self,
                buffer: &'a mut Vec<T>,
                limit: usize,
            ) -> impl Future<Output = usize> + 'a {
                let place = Location::caller();
                poll_fn(move |cx| self.chan.poll_recv_many(buffer, limit, (cx.waker(), place)))
            }

            /// Receives a message if there is one.
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.chan.try_recv(Location::caller())
            }

            /// Waits for a message, in a thread that is not polling a future.
            ///
            /// # Panics
            ///
            /// Within a task.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                drive::block(self.recv())
            }

            /// Rejects new messages. Messages that were already sent can still be received.
            #[track_caller]
            pub fn close(&mut self) {
                self.chan.close(Location::caller());
            }

            /// Whether no new message can come.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.chan.has_ended(Location::caller())
            }

            /// Whether there is no message.
            #[track_caller]
            pub fn is_empty(&self) -> bool {
                self.chan.len(Location::caller()) == 0
            }

            /// Returns the number of messages.
            #[track_caller]
            pub fn len(&self) -> usize {
                self.chan.len(Location::caller())
            }

            /// Waits for a message; `None` if all senders are gone.
            #[track_caller]
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                self.chan.poll_recv(cx.waker(), Location::caller())
            }

            /// Waits for messages, and takes up to `limit` of those that have arrived.
            #[track_caller]
            pub fn poll_recv_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                let who = (cx.waker(), Location::caller());
                self.chan.poll_recv_many(buffer, limit, who)
            }
        }

        impl<T> Drop for $receiver<T> {
            fn drop(&mut self) {
                self.chan.drop_receiver(self.place);
            }
        }

        impl<T> Unpin for $receiver<T> {}

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver))
                    .finish_non_exhaustive()
            }
        }
    };
}
use receiver;
