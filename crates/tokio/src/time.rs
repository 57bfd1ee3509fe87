//! Time: in a model it does not pass, and a timer may end whenever its task waits.
//!
//! When the loop that polls a task waits (drive.rs), the earliest timer of the task may end this
//! wait. A timer may also have ended before, while the task was woken by something else, such as a
//! message. So when the task then polls the timer again, it is a choice whether the timer has
//! ended. But a timer has not ended if the poll of the task in which the timer was made also polls
//! it for the first time.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pub use std::time::Duration;

use mazurka_rt::facade;

use crate::drive::{self, NO_RUNTIME, Place, Timer};

/// A moment. In a model, the clock of a task moves only to the deadlines of timers that the task
/// has waited for.
#[derive(Clone, Copy, Eq, PartialEq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

/// Returns a moment that is never reached.
fn far_future() -> std::time::Instant {
    drive::now() + Duration::from_secs(86400 * 365 * 30)
}

impl Instant {
    /// Returns the present moment.
    pub fn now() -> Self {
        Self(drive::now())
    }

    /// Converts from std's type.
    pub fn from_std(std: std::time::Instant) -> Self {
        Self(std)
    }

    /// Converts to std's type.
    pub fn into_std(self) -> std::time::Instant {
        self.0
    }

    /// Returns the time since an earlier moment, or zero.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// Returns the time since an earlier moment.
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time since an earlier moment, or zero.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since this moment.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// Returns a later moment, if it can be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// Returns an earlier moment, if it can be represented.
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(time: std::time::Instant) -> Self {
        Self(time)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(time: Instant) -> Self {
        time.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, other: Duration) -> Self {
        Self(self.0 + other)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, other: Self) -> Duration {
        self.saturating_duration_since(other)
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, other: Duration) -> Self {
        Self(self.0 - other)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, other: Duration) {
        self.0 -= other;
    }
}

/// A future that waits until a moment.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Sleep {
    timer: Arc<Timer>,
    /// The number of polls of the task when the timer was made; `None` after the timer was polled.
    made: Option<u64>,
    place: Place,
}

/// Waits for a time.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = drive::now().checked_add(duration);
    Sleep::new(deadline.unwrap_or_else(far_future), Location::caller())
}

/// Waits until a moment.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline.0, Location::caller())
}

impl Sleep {
    #[track_caller]
    fn new(deadline: std::time::Instant, place: Place) -> Self {
        let context = drive::current().expect(NO_RUNTIME);
        Self {
            timer: Timer::new(deadline),
            made: Some(context.poll_count.get()).filter(|_| deadline > drive::now()),
            place,
        }
    }

    /// Returns the moment.
    pub fn deadline(&self) -> Instant {
        Instant(self.timer.deadline)
    }

    /// Whether the moment has passed.
    pub fn is_elapsed(&self) -> bool {
        self.timer.has_fired()
    }

    /// Changes the moment.
    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.timer = Timer::new(deadline.0);
        let context = drive::current();
        let round = context.map_or(0, |context| context.poll_count.get());
        self.made = Some(round).filter(|_| deadline.0 > drive::now());
    }

    /// Waits. With `may_have_ended_before`, it is a choice whether the timer has ended before this
    /// poll.
    fn poll_elapsed(&mut self, cx: &mut Context<'_>, may_have_ended_before: bool) -> Poll<()> {
        if self.timer.has_fired() {
            return Poll::Ready(());
        }
        if !facade::in_model() {
            if self.timer.deadline <= drive::now() {
                self.timer.fire();
                return Poll::Ready(());
            }
            self.timer.arm(cx.waker());
            return Poll::Pending;
        }
        let context = drive::current().expect(NO_RUNTIME);
        let first = self.made.take() == Some(context.poll_count.get());
        if may_have_ended_before
            && !first
            && context.may_have_ended(&self.timer)
            && ended_already(self.place)
        {
            self.timer.fire();
            context.set_clock(drive::since_start(self.timer.deadline));
            return Poll::Ready(());
        }
        self.timer.arm(cx.waker());
        Poll::Pending
    }
}

/// Chooses whether a timer has already ended.
fn ended_already(place: Place) -> bool {
    facade::choose_at(2, place) == 1
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_elapsed(cx, true)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Sleep");
        debug.field("deadline", &self.deadline()).finish()
    }
}

/// Does nothing: in a model the clock stands still anyway.
///
/// # Panics
///
/// Outside a model.
#[track_caller]
pub fn pause() {
    assert!(facade::in_model(), "time can be stopped in a model only");
}

/// Does nothing: in a model the clock stands still.
///
/// # Panics
///
/// Outside a model.
#[track_caller]
pub fn resume() {
    assert!(facade::in_model(), "time can be stopped in a model only");
}

/// Advances the clock of this task and ends its timers that are due by then. Timers of other tasks
/// may end at any time anyway.
///
/// # Panics
///
/// Outside a model.
#[track_caller]
pub fn advance(duration: Duration) -> impl Future<Output = ()> {
    assert!(facade::in_model(), "time can be moved in a model only");
    async move {
        drive::current().expect(NO_RUNTIME).advance(duration);
        crate::task::yield_now().await;
    }
}

/// Errors about time.
pub mod error {
    use super::{fmt, io};

    /// A future was not ready in time.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Elapsed(pub(super) ());

    impl fmt::Display for Elapsed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("deadline has elapsed")
        }
    }

    impl std::error::Error for Elapsed {}

    impl From<Elapsed> for io::Error {
        fn from(_: Elapsed) -> Self {
            io::ErrorKind::TimedOut.into()
        }
    }
}

/// A future with a time limit.
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[derive(Debug)]
pub struct Timeout<F> {
    value: Pin<Box<F>>,
    delay: Sleep,
}

/// Limits the time of a future. In a model, both outcomes are explored while it is not ready.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        value: Box::pin(future.into_future()),
        delay: sleep(duration),
    }
}

/// Limits the time of a future by a moment.
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        value: Box::pin(future.into_future()),
        delay: sleep_until(deadline),
    }
}

impl<F> Timeout<F> {
    /// Returns the future.
    pub fn get_ref(&self) -> &F {
        &self.value
    }

    /// Returns the future.
    pub fn get_mut(&mut self) -> &mut F
    where
        F: Unpin,
    {
        &mut self.value
    }

    /// Returns the future.
    pub fn into_inner(self) -> F
    where
        F: Unpin,
    {
        *Pin::into_inner(self.value)
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, error::Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(value) = self.value.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        // The future was not ready, so the loop waits next, and the timer may end that wait. So
        // exploring that the timer has ended before would show nothing new.
        self.delay
            .poll_elapsed(cx, false)
            .map(|()| Err(error::Elapsed(())))
    }
}

/// How an [`Interval`] treats missed ticks. In a model no tick is missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Ticks as fast as possible until it has caught up.
    #[default]
    Burst,
    /// Delays the following ticks: the next one is a period after the late one.
    Delay,
    /// Skips the missed ticks.
    Skip,
}

/// Ticks periodically.
#[derive(Debug)]
pub struct Interval {
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
}

/// Makes an interval whose first tick is now.
///
/// # Panics
///
/// If the period is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Makes an interval whose first tick is at a moment.
///
/// # Panics
///
/// If the period is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    let delay = sleep_until(start);
    if start.0 <= drive::now() {
        delay.timer.fire();
    }
    Interval {
        delay: Box::pin(delay),
        period,
        missed: MissedTickBehavior::default(),
    }
}

impl Interval {
    /// Waits for the next tick. Returns when it was due.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Waits for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        if self.delay.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let due = self.delay.deadline();
        let (now, period) = (Instant::now(), self.period);
        let next = match self.missed {
            MissedTickBehavior::Delay if now > due => now + period,
            MissedTickBehavior::Skip if now > due + period => {
                let late = (now - due).as_nanos() % period.as_nanos();
                now + period - Duration::from_nanos(late as u64)
            }
            _ => due + period,
        };
        self.delay.as_mut().reset(next);
        Poll::Ready(due)
    }

    /// Sets the next tick to one period from now.
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Sets the next tick to now.
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// Sets the next tick to a time from now.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + after);
    }

    /// Sets the next tick to a moment.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// Returns how it treats missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets how it treats missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// Returns the period.
    pub fn period(&self) -> Duration {
        self.period
    }
}
