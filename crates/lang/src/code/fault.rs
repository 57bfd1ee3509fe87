//! The ways in which a step can fail ([`Fault`]). In the core, a failure is a `Mishap` with a
//! number for its site. This file encodes the fault and the instruction in this number, and decodes
//! them for messages.

use mazurka_core::MishapKind;

use crate::code::numbers::Undefined;

/// The way in which an instruction failed. The site of a mishap encodes the fault and the
/// instruction.
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
    /// A `choose` whose bounds are unknown and perhaps far apart.
    SymbolicChoose,
    /// The solver cannot decide whether a condition can hold and whether it can fail.
    Undecided,
    /// The search stopped waiting for the end of the step.
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
            // 0 is a placeholder: the caller replaces it by the limit in the instruction.
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

/// The place of a mishap.
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
