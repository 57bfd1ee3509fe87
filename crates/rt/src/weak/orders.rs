//! Finds orderings of a test that are too weak, or stronger than needed.
//!
//! A *place* is a call in the source that names orderings, together with the orderings written
//! there. To try other orderings, the runtime replaces the written ones while the test runs. A
//! place is known once a search has reached it. If a search with other orderings reaches new
//! places, the whole procedure starts again with these places included. `mazurka_memory::orders`
//! determines which orderings are tried.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Termination;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mazurka_core::record::Advice;
use mazurka_core::{AccessOrder, Bound, MemoryOrder, Ordered};
use mazurka_memory::Memory;
use mazurka_memory::orders::{OrderedPlace, strengthened, weakened};
use rustc_hash::FxHashMap;

use super::check::{Refused, report_fault};
use super::inputs;
use super::program::WeakProgram;
use super::search::{Explored, SearchPlan};
use crate::builder::{Builder, explain};
use crate::check::test_body;
use crate::verdict::at_caller;
use crate::world::{Place, World};

/// Tells which orderings of a failing test are too weak, or which orderings of a passing test are
/// stronger than needed. The model is C++20's orderings, whatever model the test sets.
///
/// ```
/// use mazurka_rt::cell::UnsafeCell;
/// use mazurka_rt::sync::Arc;
/// use mazurka_rt::sync::atomic::{AtomicBool, Ordering::{Acquire, Relaxed, SeqCst}};
/// use mazurka_rt::{Advice, orderings, thread};
///
/// let found = orderings(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let other = ready.clone();
///     let writer = thread::spawn(move || other.store(true, SeqCst));
///     ready.load(Acquire);
///     writer.join().unwrap();
/// });
/// // Nothing relies on the flag.
/// assert_eq!(found.advice, Advice::Weaken);
/// assert!(found.places.iter().all(|place| place.advised == Some(Relaxed)));
/// ```
///
/// # Panics
///
/// If the test cannot be explored under the model.
#[track_caller]
pub fn orderings<F, R>(f: F) -> Orderings
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().orderings(f)
}

/// The advice about the orderings of a test.
#[derive(Clone, Debug)]
pub struct Orderings {
    /// Whether orderings must be stronger, may be weaker, or are right.
    pub advice: Advice,
    /// The failure of the test with the orderings as written; `None` if it passes.
    pub failure: Option<String>,
    /// The calls that name orderings, in the order of the source.
    pub places: Vec<OrderingPlace>,
    /// Number of searches.
    pub searches: u64,
    /// The bounds that ended a search; if there are any, the advice is not complete.
    pub bounds: Vec<Bound>,
}

/// A call that names orderings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderingPlace {
    /// Its file, line and column.
    pub place: String,
    /// The call, such as `AtomicBool.store`.
    pub call: String,
    /// The ordering in the source.
    pub written: Ordering,
    /// The failure ordering in the source, if the call has one.
    pub written_failure: Option<Ordering>,
    /// The advised ordering; `None` if a limit ended the search before it was found. A fence with
    /// the advice `Relaxed` is not needed.
    pub advised: Option<Ordering>,
    /// The advised failure ordering, if the call has one.
    pub advised_failure: Option<Ordering>,
}

impl OrderingPlace {
    /// Whether another ordering is advised.
    pub fn changes(&self) -> bool {
        let other = self.advised.is_some_and(|advised| advised != self.written);
        other || (self.advised_failure.is_some() && self.advised_failure != self.written_failure)
    }
}

impl fmt::Display for OrderingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both = |order: Ordering, failure: Option<Ordering>| match failure {
            Some(failure) => format!("{order:?}, {failure:?}"),
            None => format!("{order:?}"),
        };
        let written = both(self.written, self.written_failure);
        write!(f, "{}: {}({written}) ", self.place, self.call)?;
        match self.advised {
            None => f.write_str("was not decided"),
            Some(_) if !self.changes() => f.write_str("as it is"),
            Some(Ordering::Relaxed) if self.call == "fence" => f.write_str("is not needed"),
            Some(order) => write!(f, "as {}", both(order, self.advised_failure)),
        }
    }
}

impl fmt::Display for Orderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.advice {
            Advice::Strengthen => "mazurka: it fails, and passes with these orderings",
            Advice::Helpless => "mazurka: it fails, with SeqCst everywhere too",
            Advice::Weaken => "mazurka: it passes, and with these weaker orderings too",
            Advice::Keep => "mazurka: it passes, and no ordering can be weaker alone",
            Advice::Open => "mazurka: not decided",
        })?;
        let why: Vec<String> = self.bounds.iter().map(|&bound| explain(bound)).collect();
        if !why.is_empty() {
            write!(f, "; not complete: {}", why.join(", "))?;
        }
        for place in &self.places {
            write!(f, "\n  {place}")?;
        }
        Ok(())
    }
}

/// Limits on the search for orderings that would forbid a failure: on the executions of each
/// attempt, and on the total time.
const MOST_EXECUTIONS: u64 = 5000;
const MOST_TIME: Duration = Duration::from_secs(2);

/// A call that names orderings and that a search has reached.
struct OrderedCall {
    place: Place,
    what: (&'static str, &'static str),
    does: Ordered,
    written: AccessOrder,
}

impl OrderedCall {
    fn is(&self, other: &Self) -> bool {
        let source = |call: &Self| (call.place.file(), call.place.line(), call.place.column());
        source(self) == source(other) && self.what == other.what && self.written == other.written
    }
}

/// The calls that a search has reached, and their orderings in the current search.
#[derive(Default)]
pub(crate) struct Chosen {
    calls: Vec<OrderedCall>,
    orders: Vec<AccessOrder>,
    /// The index of each call, by the address of its place, its verb and its orderings.
    known: FxHashMap<(usize, &'static str, AccessOrder), usize>,
    /// Whether calls that a search reaches for the first time become `SeqCst`; otherwise they keep
    /// the orderings in the source.
    strongest: bool,
}

impl Chosen {
    fn order(&mut self, call: OrderedCall) -> AccessOrder {
        let key = (
            std::ptr::from_ref(call.place) as usize,
            call.what.1,
            call.written,
        );
        if let Some(&at) = self.known.get(&key) {
            return self.orders[at];
        }
        // The compiler may give one place of the source several addresses.
        let at = match self.calls.iter().position(|known| known.is(&call)) {
            Some(at) => at,
            None => {
                let strongest = AccessOrder::from(MemoryOrder::SeqCst);
                self.orders.push(if self.strongest {
                    strongest
                } else {
                    call.written
                });
                self.calls.push(call);
                self.calls.len() - 1
            }
        };
        self.known.insert(key, at);
        self.orders[at]
    }
}

impl World {
    /// Returns the orderings of an access: those written in the source, or those that the search
    /// tries instead.
    pub(crate) fn chosen(
        &self,
        does: Ordered,
        written: AccessOrder,
        what: (&'static str, &'static str),
        place: Place,
    ) -> AccessOrder {
        match &mut self.inner.borrow_mut().chosen {
            None => written,
            Some(chosen) => chosen.order(OrderedCall {
                place,
                what,
                does,
                written,
            }),
        }
    }
}

/// Why a search could not tell whether the test passes with some orderings.
enum NoAnswer {
    /// A limit was reached.
    Limit,
    /// The search has reached new calls.
    Grown,
    Refused(Refused),
}

/// Checks whether a test passes with other orderings.
struct Advisor<'a> {
    builder: &'a Builder,
    program: WeakProgram,
    plan: SearchPlan,
    start: Instant,
    searches: u64,
    bounds: Vec<Bound>,
}

impl Advisor<'_> {
    fn chosen<R>(&self, look: impl FnOnce(&mut Chosen) -> R) -> R {
        self.program
            .inner(|inner| look(inner.chosen.get_or_insert_default()))
    }

    fn explore(&mut self) -> Result<Explored, NoAnswer> {
        self.searches += 1;
        let builder = self.builder.after(self.start.elapsed());
        let explored = builder.explore_weakly(&mut self.program, &self.plan);
        explored.map_err(|why| NoAnswer::Refused(Refused(why)))
    }

    /// Whether the search found no fault. If a limit ended it without a fault, that is an error.
    fn verdict(&mut self, explored: Explored) -> Result<bool, NoAnswer> {
        let cut = !explored.bounds.is_empty() || inputs::are_incomplete(&self.program);
        if explored.fault.is_none() && cut {
            self.bounds = explored.bounds;
            return Err(NoAnswer::Limit);
        }
        Ok(explored.fault.is_none())
    }

    /// Returns the calls that a search has reached, in the order of the source: their indices in
    /// `Chosen::calls`, and which orderings can be chosen for them.
    fn places(&self) -> (Vec<usize>, Vec<OrderedPlace>) {
        self.chosen(|chosen| {
            let mut order: Vec<usize> = (0..chosen.calls.len()).collect();
            order.sort_by_key(|&at| {
                let OrderedCall { place, what, .. } = &chosen.calls[at];
                (place.file(), place.line(), place.column(), *what, at)
            });
            let place = |&at: &usize| OrderedPlace {
                does: chosen.calls[at].does,
                written: chosen.calls[at].written,
            };
            let places = order.iter().map(place).collect();
            (order, places)
        })
    }

    /// Whether the test passes with these orderings of these calls.
    fn passes(&mut self, order: &[usize], orders: &[AccessOrder]) -> Result<bool, NoAnswer> {
        self.chosen(|chosen| {
            for (&at, &access) in order.iter().zip(orders) {
                chosen.orders[at] = access;
            }
        });
        let explored = self.explore()?;
        if self.chosen(|chosen| chosen.calls.len()) > order.len() {
            Err(NoAnswer::Grown)
        } else {
            self.verdict(explored)
        }
    }

    /// Returns the advice for a test. `passes` tells whether it passes with the orderings as
    /// written.
    fn advise(&mut self, passes: bool) -> Result<(Advice, Vec<AccessOrder>), Refused> {
        if !passes {
            // Calls that the program reaches only after the failure must be known, too.
            self.chosen(|chosen| {
                chosen.strongest = true;
                chosen.orders.fill(MemoryOrder::SeqCst.into());
            });
            let explored = self.explore().and_then(|explored| self.verdict(explored));
            self.chosen(|chosen| chosen.strongest = false);
            match explored {
                Ok(true) => {}
                Ok(false) => return Ok((Advice::Helpless, self.as_written())),
                Err(NoAnswer::Refused(why)) => return Err(why),
                Err(NoAnswer::Limit | NoAnswer::Grown) => return Ok((Advice::Open, Vec::new())),
            }
        }
        loop {
            let (order, places) = self.places();
            let mut ask = |orders: &[AccessOrder]| self.passes(&order, orders);
            let (found, stop) = if passes {
                weakened(&places, &mut ask)
            } else {
                match strengthened(&places, &mut ask) {
                    Ok(Some(orders)) => (orders, None),
                    Ok(None) => return Ok((Advice::Helpless, self.as_written())),
                    Err(stop) => (Vec::new(), Some(stop)),
                }
            };
            let mut pairs = found.iter().zip(&places);
            let differs = pairs.any(|(order, place)| *order != place.written);
            return match stop {
                Some(NoAnswer::Grown) => continue,
                Some(NoAnswer::Refused(why)) => Err(why),
                Some(NoAnswer::Limit) if !differs => Ok((Advice::Open, found)),
                None if !passes => Ok((Advice::Strengthen, found)),
                None if !differs => Ok((Advice::Keep, found)),
                Some(NoAnswer::Limit) | None => Ok((Advice::Weaken, found)),
            };
        }
    }

    fn as_written(&self) -> Vec<AccessOrder> {
        self.places().1.iter().map(|place| place.written).collect()
    }

    /// Returns the calls with their advised orderings, as far as they are known.
    fn advised_places(&self, advised: &[AccessOrder]) -> Vec<OrderingPlace> {
        let (order, _) = self.places();
        let tell = |(rank, &at): (usize, &usize)| {
            self.chosen(|chosen| {
                let call = &chosen.calls[at];
                let advised = advised.get(rank).copied();
                let apart = call.does == Ordered::CompareExchange;
                let failure = |order: AccessOrder| apart.then(|| ordering_of(order.failure));
                let (kind, verb) = call.what;
                OrderingPlace {
                    place: call.place.to_string(),
                    call: match kind {
                        "" => verb.to_owned(),
                        kind => format!("{kind}.{verb}"),
                    },
                    written: ordering_of(call.written.order),
                    written_failure: failure(call.written),
                    advised: advised.map(|order| ordering_of(order.order)),
                    advised_failure: advised.and_then(failure),
                }
            })
        };
        order.iter().enumerate().map(tell).collect()
    }
}

/// Converts an ordering to Rust's type.
fn ordering_of(order: MemoryOrder) -> Ordering {
    match order {
        MemoryOrder::Plain | MemoryOrder::Relaxed => Ordering::Relaxed,
        MemoryOrder::Acquire => Ordering::Acquire,
        MemoryOrder::Release => Ordering::Release,
        MemoryOrder::AcqRel => Ordering::AcqRel,
        MemoryOrder::SeqCst => Ordering::SeqCst,
    }
}

impl Builder {
    /// Tells which orderings of a test are too weak or stronger than needed; see
    /// [`orderings()`]. The limits on executions and steps apply to each search, the limit on
    /// time to all of them together.
    #[track_caller]
    pub fn orderings<F, R>(&self, f: F) -> Orderings
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        let memory = self.graph_model().unwrap_or(Memory::Rc11);
        let asked = self.clone().memory(memory);
        at_caller(|| {
            let advised = asked.advise(test_body(f), memory);
            advised.unwrap_or_else(|refused| refused.fail(memory))
        })
    }

    /// Describes which orderings would forbid the failure of a test, if they are found soon.
    pub(super) fn forbidding(&self, body: Rc<dyn Fn()>, memory: Memory) -> Option<String> {
        let asked = Self {
            max_executions: Some(MOST_EXECUTIONS),
            time_limit: Some(MOST_TIME),
            spent: Duration::ZERO,
            ..self.clone().memory(memory)
        };
        let advised = catch_unwind(AssertUnwindSafe(|| asked.advise(body, memory).ok()));
        let advised = advised.ok().flatten()?;
        if advised.advice != Advice::Strengthen {
            return None;
        }
        let places = advised.places.iter().filter(|place| place.changes());
        let places: Vec<String> = places.map(ToString::to_string).collect();
        let places = places.join("\n        and ");
        Some(format!("orderings: {places} would forbid it"))
    }

    fn advise(&self, body: Rc<dyn Fn()>, memory: Memory) -> Result<Orderings, Refused> {
        let program = self.weak_program(body, memory);
        let advisor = Advisor {
            builder: self,
            program,
            plan: SearchPlan::new(memory),
            start: Instant::now(),
            searches: 0,
            bounds: Vec::new(),
        };
        advisor.chosen(|_| ());
        advisor.answer()
    }
}

impl Advisor<'_> {
    fn answer(mut self) -> Result<Orderings, Refused> {
        let (passes, failure) = loop {
            let explored = match self.explore() {
                Ok(explored) => explored,
                Err(NoAnswer::Refused(why)) => return Err(why),
                Err(NoAnswer::Limit | NoAnswer::Grown) => unreachable!("nothing was asked yet"),
            };
            let failure = match &explored.fault {
                None => None,
                Some(fault) => match report_fault(&mut self.program, self.plan.memory, fault) {
                    Some(report) => Some(report.what),
                    None => continue,
                },
            };
            break (self.verdict(explored), failure);
        };
        let (advice, advised) = match passes {
            Ok(passes) => self.advise(passes)?,
            Err(_) => (Advice::Open, Vec::new()),
        };
        Ok(Orderings {
            advice,
            failure,
            places: self.advised_places(&advised),
            searches: self.searches,
            bounds: self.bounds,
        })
    }
}
