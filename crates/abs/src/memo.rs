//! Values of functions that are costly and asked for again: explorers make the same step in many
//! runs, and a step that computes a sum computes the same one each time.
//!
//! A function of ABS depends on its arguments alone, unless it asks what time it is; programs that
//! ask for times keep nothing here. What a call has cost is kept with its value and spent again, so
//! that a step comes to its limit whether a value was known or not.

use crate::value::Value;

/// Calls that cost less are made again.
const COSTLY: u64 = 16;

/// What costs more is not kept, so that no call is saved that comes near the limits of a step.
const TOO_COSTLY: u64 = 10_000;

/// Calls with more arguments are made again.
const MOST_ARGUMENTS: usize = 4;

/// How many values are kept: a power of two.
const PLACES: usize = 64;

/// A function and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    function: u32,
    arguments: [i64; MOST_ARGUMENTS],
}

impl Call {
    /// A call that may be kept: all its arguments are small integers.
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

/// The values that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    /// Whether a call of the function has been costly.
    costly: Vec<bool>,
    /// Calls with their value and what it has cost. The last call of a place stays.
    places: Vec<Option<(Call, Value, u64)>>,
    /// The call that is being made, and what was left when it began.
    open: Option<(Call, u64)>,
}

impl Memo {
    /// The value of a call, and what it costs, if it is known. Else the call is noted as begun with
    /// so much work left, and [`Memo::made`] ends it.
    #[inline]
    pub fn known(&mut self, function: u32, given: &[Value], left: u64) -> Option<(Value, u64)> {
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

    /// Forgets the call that was noted.
    #[inline]
    pub fn forget(&mut self) {
        self.open = None;
    }

    /// The call that was noted has this value.
    #[inline]
    pub fn made(&mut self, value: &Value, left: u64) {
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
