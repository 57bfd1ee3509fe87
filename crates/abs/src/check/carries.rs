//! Determines which types have values that may refer to objects or futures. Only such values pass
//! references between tasks, which `future.rs` must know.

use super::Checker;
use crate::types::{Head, Ty};

impl Checker<'_> {
    /// Whether a value of this type may refer to an object or a future. For an unknown type this is
    /// true.
    pub(super) fn carries(&self, ty: &Ty) -> bool {
        self.carries_beside(&self.unknowns.deep(ty), &mut Vec::new())
    }

    /// Does the work of [`carries`](Self::carries). `open` contains the data types that are being
    /// examined, so that a recursive type is examined once.
    fn carries_beside(&self, ty: &Ty, open: &mut Vec<u32>) -> bool {
        let (head, args) = match ty {
            Ty::Made(head, args) => (head, args),
            // A parameter occurs only within the declaration of a data type. Its argument is
            // examined where the type is used.
            Ty::Parameter(_) => return false,
            Ty::Unknown(_) | Ty::Wrong => return true,
        };
        match *head {
            Head::Int | Head::Rat | Head::Float | Head::Bool | Head::Text | Head::Unit => false,
            Head::Data(number) => {
                if args.iter().any(|arg| self.carries_beside(arg, open)) {
                    return true;
                }
                if open.contains(&number) {
                    return false;
                }
                open.push(number);
                self.parts_carry(*head, open)
            }
            Head::Exception => self.parts_carry(*head, open),
            Head::Future | Head::Destiny | Head::Interface(_) | Head::Class(_) | Head::Null => true,
        }
    }

    /// Whether a part of a value with some constructor may refer to an object or a future.
    fn parts_carry(&self, head: Head, open: &mut Vec<u32>) -> bool {
        let made = self.constructors.iter();
        let mut parts = made
            .filter(|constructor| matches!(&constructor.result, Ty::Made(h, _) if *h == head))
            .flat_map(|constructor| &constructor.parts);
        parts.any(|part| self.carries_beside(part, open))
    }
}
