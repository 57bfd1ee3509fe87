//! The claims that steps make, each kept once and known by a number.
//!
//! A program makes few different claims, and a process that sleeps takes its own along from state to
//! state: a number is cheaper to take along than a list of accesses.

use mazurka_core::{Access, Claims, Event, ProcessId};
use rustc_hash::FxHashMap;

/// All claims met so far; number 0 claims nothing.
#[derive(Debug)]
pub(crate) struct Catalogue {
    claims: Vec<Claims>,
    known: FxHashMap<Claims, u32>,
    /// For each process the claims that it made last: the first guess.
    last: Vec<u32>,
    /// For each key of an event's claims their number, if it has been met.
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

    /// The number of what an event claims.
    #[inline]
    pub fn of(&mut self, event: &Event) -> u32 {
        match self.keyed.get(event.claims_key as usize) {
            Some(Some(number)) => *number,
            _ => self.meet(event),
        }
    }

    #[cold]
    fn meet(&mut self, event: &Event) -> u32 {
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

    /// The claims of a number.
    #[inline]
    pub fn claims(&self, number: u32) -> &[Access] {
        &self.claims[number as usize]
    }

    /// The number of what a step of a process claims.
    pub fn number(&mut self, process: ProcessId, claims: &Claims) -> u32 {
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
        *guess
    }

    /// Whether the claims of that number conflict with these.
    pub fn conflict(&self, number: u32, with: &[Access]) -> bool {
        conflict(&self.claims[number as usize], with)
    }
}

/// Whether two steps touch a cell that at least one of them changes.
pub(crate) fn conflict(one: &[Access], other: &[Access]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.conflicts(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_claims_have_equal_numbers() {
        let mut catalogue = Catalogue::new();
        let claims = |cell| -> Claims { [Access::write(cell)].into_iter().collect() };
        let one = catalogue.number(ProcessId(3), &claims(1));
        let other = catalogue.number(ProcessId(3), &claims(2));
        assert_ne!(one, other);
        assert_eq!(catalogue.number(ProcessId(0), &claims(1)), one);
        assert_eq!(catalogue.number(ProcessId(0), &Claims::new()), 0);
        assert!(catalogue.conflict(one, &[Access::read(1)]));
        assert!(!catalogue.conflict(one, &[Access::write(2)]));
        assert!(!catalogue.conflict(0, &[Access::write(1)]));
    }
}
