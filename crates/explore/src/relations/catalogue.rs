//! Claims of steps, each represented by a number that identifies it.
//!
//! A program makes few different claims, and a sleeping process carries its claims from state to
//! state: a number is cheaper to carry than a list of accesses. Most steps touch one cell; for
//! these the number itself encodes the claim, so that most queries need no list at all.

use mazurka_core::{Access, Claims, Event, ProcessId};
use rustc_hash::FxHashMap;

/// The bit that is set in the number of claims on no cell or on several cells. The other bits are
/// an index into the catalogue.
const LISTED: u32 = 1 << 31;

/// Returns a claim on one cell as a number: twice the cell, plus one unless the step only reads the
/// cell. For claims on zero or several cells, returns a number that [`is_single`] rejects.
#[inline]
pub(crate) fn single(claims: &[Access]) -> u32 {
    match claims {
        [access] if access.len == 1 => number_of(*access),
        _ => LISTED,
    }
}

/// Returns the number that represents a claim on one cell.
#[inline]
pub(crate) fn number_of(access: Access) -> u32 {
    2 * access.first + u32::from(access.writes())
}

/// Whether a number encodes a claim on one cell.
#[inline]
pub(crate) fn is_single(number: u32) -> bool {
    number & LISTED == 0
}

/// All claims met so far, except those on one cell.
#[derive(Debug)]
pub(crate) struct Catalogue {
    claims: Vec<Claims>,
    known: FxHashMap<Claims, u32>,
    /// For each process, the number that represents its last claims. A look-up compares these
    /// claims first.
    last: Vec<u32>,
    /// For each `claims_key` of an event, the number that represents the claims, if the key has
    /// been met.
    keyed: Vec<Option<u32>>,
}

impl Catalogue {
    pub fn new() -> Self {
        Self {
            claims: vec![Claims::new()],
            known: std::iter::once((Claims::new(), 0)).collect(),
            last: Vec::new(),
            keyed: Vec::new(),
        }
    }

    /// Returns the number that represents an event's claims. `single` is the result of [`single`]
    /// for these claims.
    #[inline]
    pub fn number_of_event(&mut self, event: &Event, single: u32) -> u32 {
        if is_single(single) {
            single
        } else {
            match self.keyed.get(event.claims_key as usize) {
                Some(Some(number)) => *number,
                _ => self.look_up_or_add(event),
            }
        }
    }

    #[cold]
    fn look_up_or_add(&mut self, event: &Event) -> u32 {
        let number = self.number(event.process, &event.claims);
        let key = event.claims_key as usize;
        if key != 0 {
            if self.keyed.len() <= key {
                self.keyed.resize(key + 1, None);
            }
            self.keyed[key] = Some(number);
        }
        number
    }

    /// Returns the claims that a number represents, or `None` if the number encodes a claim on one
    /// cell.
    #[inline]
    pub fn listed(&self, number: u32) -> Option<&[Access]> {
        (!is_single(number)).then(|| &self.claims[(number & !LISTED) as usize][..])
    }

    /// Returns the number that represents the claims of a process's step.
    pub fn number(&mut self, process: ProcessId, claims: &Claims) -> u32 {
        let number = single(claims);
        if is_single(number) {
            return number;
        }
        if self.last.len() <= process.index() {
            self.last.resize(process.index() + 1, 0);
        }
        let guess = &mut self.last[process.index()];
        if self.claims[*guess as usize] != *claims {
            *guess = *self.known.entry(claims.clone()).or_insert_with(|| {
                self.claims.push(claims.clone());
                self.claims.len() as u32 - 1
            });
        }
        LISTED | *guess
    }

    /// Whether the claims that a number represents conflict with the claims `with`. `single` is the
    /// result of [`single`] for `with`.
    #[inline]
    pub fn conflict(&self, number: u32, single: u32, with: &[Access]) -> bool {
        if is_single(number | single) {
            return number / 2 == single / 2 && (number | single) & 1 == 1;
        }
        match self.listed(number) {
            None => {
                let access = match number & 1 {
                    0 => Access::read(number / 2),
                    _ => Access::write(number / 2),
                };
                conflict(&[access], with)
            }
            Some(claims) => conflict(claims, with),
        }
    }
}

/// Whether two steps touch a common cell that at least one of them changes.
#[inline(never)]
pub(crate) fn conflict(one: &[Access], other: &[Access]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.conflicts(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::AccessKind;

    #[test]
    fn equal_claims_have_equal_numbers() {
        let mut catalogue = Catalogue::new();
        let claims = |cell| -> Claims { vec![Access::write(cell), Access::read(cell + 1)] };
        let one = catalogue.number(ProcessId(3), &claims(1));
        let other = catalogue.number(ProcessId(3), &claims(2));
        assert_ne!(one, other);
        assert_eq!(catalogue.number(ProcessId(0), &claims(1)), one);
        assert_eq!(catalogue.listed(one), Some(&claims(1)[..]));
        let none = catalogue.number(ProcessId(0), &Claims::new());
        assert_eq!(catalogue.listed(none), Some(&[][..]));
    }

    #[test]
    fn numbers_conflict_as_the_claims_do() {
        let mut all: Vec<Claims> = vec![Claims::new()];
        for kind in [
            AccessKind::Read,
            AccessKind::Write,
            AccessKind::Acquire,
            AccessKind::Release,
        ] {
            for cell in 0..3 {
                all.push(vec![Access::new(kind, cell)]);
                all.push(vec![Access::new(kind, cell).over(2)]);
                all.push(vec![Access::new(kind, cell), Access::read(3)]);
            }
        }
        let mut catalogue = Catalogue::new();
        for one in &all {
            let number = catalogue.number(ProcessId(0), one);
            for other in &all {
                let expected = conflict(one, other);
                assert_eq!(
                    catalogue.conflict(number, single(other), other),
                    expected,
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
