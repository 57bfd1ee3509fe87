//! A cache for the values of costly functions. Explorers repeat a step in many runs, and the step
//! computes the same values each time.
//!
//! The value of a function of ABS depends only on its arguments, unless it reads the time; programs
//! that read the time use no cache. The cost of a call is stored with its value and charged again,
//! so that a step reaches its limit whether or not a value was cached.

use crate::value::Value;

/// The least cost of a call that is cached; cheaper calls are repeated.
const COSTLY: u64 = 16;

/// The least cost of a call that is too costly to be cached, so that no cached call comes near the
/// limits of a step.
const TOO_COSTLY: u64 = 10_000;

/// A call with more arguments is not cached.
const MOST_ARGUMENTS: usize = 4;

/// The number of values that the cache can store, a power of two.
const PLACES: usize = 64;

/// A function and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    function: u32,
    arguments: [i64; MOST_ARGUMENTS],
}

impl Call {
    /// Creates a call that may be cached; `None` if there are too many arguments, or not all of
    /// them are small integers.
    pub fn new(function: u32, given: &[Value]) -> Option<Self> {
        let mut arguments = [0; MOST_ARGUMENTS];
        if given.len() > MOST_ARGUMENTS {
            return None;
        }
        for (argument, value) in arguments.iter_mut().zip(given) {
            let Value::Int(value) = value else {
                return None;
            };
            *argument = *value;
        }
        Some(Self {
            function,
            arguments,
        })
    }

    fn place(&self) -> usize {
        let mut mixed = u64::from(self.function);
        for &argument in &self.arguments {
            mixed = (mixed ^ argument as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed ^= mixed >> 32;
        }
        mixed as usize % PLACES
    }
}

/// The cached values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    /// For each function, whether a call has been costly.
    costly: Vec<bool>,
    /// Calls with their values and costs, at the places given by [`Call::place`]. A new call
    /// replaces the call that is stored at its place.
    places: Vec<Option<(Call, Value, u64)>>,
    /// The call whose value is being computed and may be cached, and the work left when it began.
    open: Option<(Call, u64)>,
}

impl Memo {
    /// Returns the value of a call and its cost, if the call is cached. Otherwise records that the
    /// call begins, with this much work left to the step; [`Memo::end_call`] ends it.
    #[inline]
    pub fn recall(&mut self, function: u32, given: &[Value], left: u64) -> Option<(Value, u64)> {
        let call = Call::new(function, given)?;
        if self.costly.get(function as usize) == Some(&true)
            && let Some(Some((known, value, cost))) = self.places.get(call.place())
            && *known == call
        {
            return Some((value.clone(), *cost));
        }
        self.open = Some((call, left));
        None
    }

    /// Forgets the recorded call.
    #[inline]
    pub fn forget(&mut self) {
        self.open = None;
    }

    /// Ends the recorded call with its value.
    #[inline]
    pub fn end_call(&mut self, value: &Value, left: u64) {
        let Some((call, before)) = self.open.take() else {
            return;
        };
        let cost = before.saturating_sub(left);
        if (COSTLY..TOO_COSTLY).contains(&cost) {
            self.keep(call, value, cost);
        }
    }

    #[cold]
    fn keep(&mut self, call: Call, value: &Value, cost: u64) {
        let function = call.function as usize;
        if self.costly.len() <= function {
            self.costly.resize(function + 1, false);
        }
        self.costly[function] = true;
        self.places.resize(PLACES, None);
        self.places[call.place()] = Some((call, value.clone(), cost));
    }
}
