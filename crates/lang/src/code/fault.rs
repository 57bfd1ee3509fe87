//! How a step can go wrong, and how a mishap names the place.

use mazurka_core::MishapKind;

use crate::code::numbers::Undefined;

/// What went wrong at an instruction. Its number and the instruction's make the mishap's site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    DivisionByZero,
    OutOfBounds,
    NotHeld,
    NothingToChoose,
    Assertion,
    Error,
    Assumption,
    OutOfRange,
    LocalLimit,
    /// A channel without a capacity is full.
    MessageLimit,
    /// A `choose` between bounds that are not known, and perhaps far apart.
    SymbolicChoose,
    /// A condition of which no solver knows whether it can hold, nor whether it can fail.
    Undecided,
    /// The search no longer waits for the end of the step.
    BrokenOff,
}

impl Fault {
    pub const ALL: [Fault; 13] = [
        Fault::DivisionByZero,
        Fault::OutOfBounds,
        Fault::NotHeld,
        Fault::NothingToChoose,
        Fault::Assertion,
        Fault::Error,
        Fault::Assumption,
        Fault::OutOfRange,
        Fault::LocalLimit,
        Fault::MessageLimit,
        Fault::SymbolicChoose,
        Fault::Undecided,
        Fault::BrokenOff,
    ];

    pub fn kind(self) -> MishapKind {
        match self {
            Fault::Assumption => MishapKind::Discarded,
            Fault::OutOfRange => MishapKind::OutOfRange,
            Fault::SymbolicChoose => MishapKind::Undecided,
            Fault::LocalLimit => MishapKind::LocalLimit,
            // The instruction knows the limit.
            Fault::MessageLimit => MishapKind::MessageLimit(0),
            Fault::Undecided => MishapKind::Undecided,
            Fault::BrokenOff => MishapKind::BrokenOff,
            _ => MishapKind::Failure,
        }
    }
}

impl From<Undefined> for Fault {
    fn from(undefined: Undefined) -> Self {
        match undefined {
            Undefined::DivisionByZero => Fault::DivisionByZero,
            Undefined::OutOfRange => Fault::OutOfRange,
        }
    }
}

/// How a mishap names its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    At { pc: u32, fault: Fault },
    Invariant(u32),
    Ensures(u32),
}

const PROPERTIES: u32 = 1 << 31;

impl Site {
    pub fn encode(self) -> u32 {
        match self {
            Site::At { pc, fault } => pc * 16 + fault as u32,
            Site::Invariant(k) => PROPERTIES + 2 * k,
            Site::Ensures(k) => PROPERTIES + 2 * k + 1,
        }
    }

    pub fn decode(site: u32) -> Option<Site> {
        if site >= PROPERTIES {
            let k = (site - PROPERTIES) / 2;
            return Some(if site.is_multiple_of(2) {
                Site::Invariant(k)
            } else {
                Site::Ensures(k)
            });
        }
        let fault = *Fault::ALL.get(site as usize % 16)?;
        Some(Site::At {
            pc: site / 16,
            fault,
        })
    }
}
