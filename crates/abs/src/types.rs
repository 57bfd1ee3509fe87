//! The types of ABS, the relation "fits where another type is wanted", and the inference of unknown
//! types by unification.

use std::cell::Cell;

use rustc_hash::FxHashSet;

/// The head of a type, without its arguments: `Fut` in `Fut<Int>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Head {
    Int,
    Rat,
    Float,
    Bool,
    Text,
    Unit,
    Exception,
    Future,
    /// The type of any future.
    Destiny,
    Data(u32),
    Interface(u32),
    /// The type of `this`.
    Class(u32),
    /// The type of `null`.
    Null,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// A head applied to arguments.
    Made(Head, Vec<Ty>),
    /// A type parameter of the declaration that is being checked.
    Parameter(u32),
    /// A type that is not known yet.
    Unknown(u32),
    /// The type after a mistake that has been reported: it fits every type.
    Wrong,
}

impl Ty {
    pub const INT: Ty = Ty::Made(Head::Int, Vec::new());
    pub const RAT: Ty = Ty::Made(Head::Rat, Vec::new());
    pub const FLOAT: Ty = Ty::Made(Head::Float, Vec::new());
    pub const BOOL: Ty = Ty::Made(Head::Bool, Vec::new());
    pub const TEXT: Ty = Ty::Made(Head::Text, Vec::new());
    pub const UNIT: Ty = Ty::Made(Head::Unit, Vec::new());
    pub const EXCEPTION: Ty = Ty::Made(Head::Exception, Vec::new());
    pub const DESTINY: Ty = Ty::Made(Head::Destiny, Vec::new());
    pub const NULL: Ty = Ty::Made(Head::Null, Vec::new());

    pub fn future(of: Ty) -> Ty {
        Ty::Made(Head::Future, vec![of])
    }

    pub fn interface(number: u32) -> Ty {
        Ty::Made(Head::Interface(number), Vec::new())
    }

    /// Substitutes types for its parameters.
    pub fn with(&self, parameters: &[Ty]) -> Ty {
        match self {
            Ty::Made(head, args) => {
                Ty::Made(*head, args.iter().map(|arg| arg.with(parameters)).collect())
            }
            Ty::Parameter(at) => parameters.get(*at as usize).cloned().unwrap_or(Ty::Wrong),
            other => other.clone(),
        }
    }
}

/// The interfaces that each interface extends, and those that each class implements.
#[derive(Debug, Default)]
pub(crate) struct Inheritance {
    /// All interfaces that an interface extends, including itself.
    pub interfaces: Vec<Vec<u32>>,
    /// All interfaces that a class implements, including the interfaces that these extend.
    pub classes: Vec<Vec<u32>>,
}

/// The types found for the unknown types.
#[derive(Debug, Default)]
pub(crate) struct Unknowns {
    /// For each unknown type, the type that was found for it.
    known: Vec<Option<Ty>>,
    /// The types for which `null` was used as a value.
    pub nulls: FxHashSet<Head>,
    /// How many parts of types were examined for the current question.
    work: Cell<u32>,
    too_large: Cell<bool>,
}

/// Limit on the parts of a type. If `a = Pair(x, x)`, `b = Pair(a, a)` and so on, each type has
/// twice as many parts as the one before.
const MOST_PARTS: u32 = 100_000;

impl Unknowns {
    pub fn fresh(&mut self) -> Ty {
        self.known.push(None);
        Ty::Unknown(self.known.len() as u32 - 1)
    }

    pub fn fresh_many(&mut self, count: usize) -> Vec<Ty> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// Returns the type that was found for an unknown type, and any other type as it is. The
    /// arguments of the result are not resolved.
    pub fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty.clone();
        while let Ty::Unknown(at) = ty {
            match &self.known[at as usize] {
                Some(known) => ty = known.clone(),
                None => break,
            }
        }
        ty
    }

    /// Whether a type was too large. From then on, no mistakes in types are reported.
    pub fn is_too_large(&self) -> bool {
        self.too_large.get()
    }

    /// Counts a part of a type. Returns whether there are too many.
    fn spend(&self) -> bool {
        self.work.set(self.work.get() + 1);
        let over = self.work.get() > MOST_PARTS;
        self.too_large.set(over || self.too_large.get());
        self.too_large.get()
    }

    /// Returns the type, with all parts resolved.
    pub fn deep(&self, ty: &Ty) -> Ty {
        self.work.set(0);
        self.filled(ty)
    }

    fn filled(&self, ty: &Ty) -> Ty {
        if self.spend() {
            return Ty::Wrong;
        }
        match self.shallow(ty) {
            Ty::Made(head, args) => {
                Ty::Made(head, args.iter().map(|arg| self.filled(arg)).collect())
            }
            other => other,
        }
    }

    fn occurs(&self, unknown: u32, within: &Ty) -> bool {
        if self.spend() {
            return false;
        }
        match self.shallow(within) {
            Ty::Unknown(at) => at == unknown,
            Ty::Made(_, args) => args.iter().any(|arg| self.occurs(unknown, arg)),
            _ => false,
        }
    }

    /// Whether a value of one type can be used where another type is wanted. This may resolve
    /// unknown types.
    pub fn fits(&mut self, actual: &Ty, wanted: &Ty, inheritance: &Inheritance) -> bool {
        self.work.set(0);
        self.fits_within(actual, wanted, inheritance)
    }

    fn fits_within(&mut self, actual: &Ty, wanted: &Ty, inheritance: &Inheritance) -> bool {
        if self.spend() {
            return true;
        }
        let (from, to) = (self.shallow(actual), self.shallow(wanted));
        let fits = match (&from, &to) {
            (Ty::Wrong, _) | (_, Ty::Wrong) => true,
            (Ty::Unknown(a), Ty::Unknown(b)) if a == b => true,
            (_, Ty::Unknown(at)) => self.resolve_unknown(*at, &from),
            (Ty::Unknown(at), _) => self.resolve_unknown(*at, &to),
            (Ty::Parameter(a), Ty::Parameter(b)) => a == b,
            (Ty::Made(a, of_a), Ty::Made(b, of_b)) => {
                let heads = a == b
                    || match (a, b) {
                        (Head::Int, Head::Rat) => true,
                        (Head::Future, Head::Destiny) => return true,
                        (Head::Null, Head::Interface(_) | Head::Future | Head::Destiny) => {
                            self.nulls.insert(*b);
                            return true;
                        }
                        (Head::Interface(a), Head::Interface(b)) => {
                            inheritance.interfaces[*a as usize].contains(b)
                        }
                        (Head::Class(a), Head::Interface(b)) => {
                            inheritance.classes[*a as usize].contains(b)
                        }
                        _ => false,
                    };
                // Values never change, so containers of a subtype fit.
                heads
                    && of_a.len() == of_b.len()
                    && of_a
                        .iter()
                        .zip(of_b)
                        .all(|(a, b)| self.fits_within(a, b, inheritance))
            }
            _ => false,
        };
        fits || self.widen(wanted, &from, &to, inheritance)
    }

    /// Changes an unknown type that one argument has resolved to `Int` into `Rat`, because another
    /// argument is a `Rat`.
    fn widen(&mut self, wanted: &Ty, from: &Ty, to: &Ty, inheritance: &Inheritance) -> bool {
        let Ty::Unknown(mut at) = *wanted else {
            return false;
        };
        while let Some(Ty::Unknown(next)) = self.known[at as usize] {
            at = next;
        }
        let (Ty::Made(_, a), Ty::Made(_, b)) = (from, to) else {
            return false;
        };
        if !a.is_empty() || !b.is_empty() || !self.fits_within(to, from, inheritance) {
            return false;
        }
        self.known[at as usize] = Some(from.clone());
        true
    }

    fn resolve_unknown(&mut self, unknown: u32, ty: &Ty) -> bool {
        if self.occurs(unknown, ty) {
            return false;
        }
        self.known[unknown as usize] = Some(ty.clone());
        true
    }
}
