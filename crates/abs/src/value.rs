//! The values of ABS. Values of data types are shared and immutable, and store their fingerprints.
//! So states are compared and hashed without traversing these values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mazurka_core::{Fingerprint, ProcessId};
use num_bigint::BigInt;
use num_rational::BigRational;
use rustc_hash::FxHashSet;

use crate::heap::Names;

/// A value of a variable, a field or an operand.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Unit,
    Bool(bool),
    Int(i64),
    /// An integer that needs more than 64 bits.
    Big(Arc<BigInt>),
    /// A rational that is not an integer.
    Rat(Arc<BigRational>),
    Float(f64),
    /// A string. The double indirection keeps a value at 16 bytes.
    Text(Arc<String>),
    Null,
    /// An object, by its index in [`Names`].
    Object(u32),
    /// The future of a task, by the index of its process.
    Future(u32),
    Data(Arc<Data>),
    /// A function, by its index, and the values that it has captured. Functions exist only during
    /// the evaluation of an expression.
    Function(Arc<(u32, Vec<Value>)>),
}

/// A value of a data type: a constructor with its parts.
#[derive(Debug)]
pub(crate) struct Data {
    pub constructor: u32,
    pub parts: Vec<Value>,
    /// The fingerprint of the whole value.
    pub print: Fingerprint,
    /// Whether it contains an object or a future.
    pub refers: bool,
}

impl Drop for Data {
    /// Drops iteratively, because long lists would overflow the stack.
    fn drop(&mut self) {
        let deep = |value: &Value| matches!(value, Value::Data(_));
        if !self.parts.iter().any(deep) {
            return;
        }
        let mut pending = std::mem::take(&mut self.parts);
        while let Some(value) = pending.pop() {
            if let Value::Data(data) = value
                && let Some(mut data) = Arc::into_inner(data)
            {
                pending.append(&mut data.parts);
            }
        }
    }
}

impl Value {
    /// Creates a value of a constructor without parts.
    pub fn constant(constructor: u32) -> Value {
        Value::Data(Arc::new(Data {
            constructor,
            parts: Vec::new(),
            print: Fingerprint::EMPTY.then(u64::from(constructor)),
            refers: false,
        }))
    }

    /// Creates a value of a constructor.
    pub fn data(constructor: u32, parts: Vec<Value>, names: &Names) -> Value {
        let start = Fingerprint::EMPTY.then(u64::from(constructor));
        let print = parts
            .iter()
            .fold(start, |print, part| part.fingerprint(print, names));
        let refers = parts.iter().any(|part| match part {
            Value::Object(_) | Value::Future(_) => true,
            Value::Data(data) => data.refers,
            _ => false,
        });
        Value::Data(Arc::new(Data {
            constructor,
            parts,
            print,
            refers,
        }))
    }

    /// Adds the objects to which the value refers; an object may be added more than once.
    #[inline]
    pub fn objects(&self, into: &mut Vec<u32>) {
        match self {
            Value::Object(object) => into.push(*object),
            Value::Data(data) if data.refers => self.objects_within(into),
            Value::Function(_) => self.objects_within(into),
            _ => {}
        }
    }

    fn objects_within(&self, into: &mut Vec<u32>) {
        let mut pending = vec![self];
        // A part may occur several times, but is examined only once.
        let mut examined: FxHashSet<Fingerprint> = FxHashSet::default();
        while let Some(value) = pending.pop() {
            match value {
                Value::Object(object) => into.push(*object),
                Value::Data(data) if data.refers && examined.insert(data.print) => {
                    pending.extend(&data.parts);
                }
                Value::Function(function) => pending.extend(&function.1),
                _ => {}
            }
        }
    }

    pub fn integer(value: BigInt) -> Value {
        match i64::try_from(&value) {
            Ok(small) => Value::Int(small),
            Err(_) => Value::Big(Arc::new(value)),
        }
    }

    pub fn rational(value: BigRational) -> Value {
        if value.is_integer() {
            Value::integer(value.to_integer())
        } else {
            Value::Rat(Arc::new(value))
        }
    }

    pub fn text(text: &str) -> Value {
        Value::Text(Arc::new(text.to_owned()))
    }

    /// Returns the fingerprint `start` extended by this value. Objects and futures are identified
    /// by their names.
    pub fn fingerprint(&self, start: Fingerprint, names: &Names) -> Fingerprint {
        let bytes = |tag: u64, bytes: &[u8]| {
            let word = |chunk: &[u8]| {
                let mut all = [0; 8];
                all[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(all)
            };
            let words = bytes.chunks(8).map(word);
            words.fold(start.then(tag).then(bytes.len() as u64), Fingerprint::then)
        };
        match self {
            Value::Unit => start.then(1),
            Value::Bool(value) => start.then(2 + u64::from(*value)),
            Value::Int(value) => start.then(4).then(*value as u64),
            Value::Big(value) => bytes(5, &value.to_signed_bytes_le()),
            Value::Rat(value) => {
                let numerator = value.numer().to_signed_bytes_le();
                let denominator = value.denom().to_signed_bytes_le();
                let first = bytes(6, &numerator);
                first.then_all(bytes(6, &denominator))
            }
            Value::Float(value) => start.then(7).then(value.to_bits()),
            Value::Text(text) => bytes(8, text.as_bytes()),
            Value::Null => start.then(9),
            Value::Object(object) => start.then(10).then_all(names.object(*object).name),
            Value::Future(future) => start
                .then(11)
                .then_all(names.tasks.name(ProcessId(*future))),
            Value::Data(data) => start.then(12).then_all(data.print),
            Value::Function(function) => start.then(13).then(u64::from(function.0)),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Unit => 0,
            Value::Bool(_) => 1,
            Value::Int(_) | Value::Big(_) | Value::Rat(_) | Value::Float(_) => 2,
            Value::Text(_) => 3,
            Value::Null => 4,
            Value::Object(_) => 5,
            Value::Future(_) => 6,
            Value::Data(_) => 7,
            Value::Function(_) => 8,
        }
    }

    /// Compares any two values: numbers and texts by their usual order, data by the name of its
    /// constructor and then by its parts, objects and futures by their names.
    pub fn order(&self, other: &Value, names: &Names) -> Ordering {
        // An explicit stack, so that long lists do not overflow the call stack.
        let mut pending = vec![(self.clone(), other.clone())];
        while let Some((one, other)) = pending.pop() {
            let here = match (&one, &other) {
                (Value::Data(a), Value::Data(b)) => {
                    if Arc::ptr_eq(a, b) || a.print == b.print {
                        continue;
                    }
                    let rank = |data: &Data| names.ranks[data.constructor as usize];
                    let first = rank(a).cmp(&rank(b));
                    if first == Ordering::Equal {
                        let pairs = a.parts.iter().cloned().zip(b.parts.iter().cloned());
                        pending.extend(pairs.rev());
                    }
                    first
                }
                _ => one.order_flat(&other, names),
            };
            if here != Ordering::Equal {
                return here;
            }
        }
        Ordering::Equal
    }

    /// Compares two values; data only by its rank among all kinds of values.
    fn order_flat(&self, other: &Value, names: &Names) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Object(a), Value::Object(b)) => {
                let key = |object: &u32| {
                    let known = names.object(*object);
                    (names.tasks.path(known.creator), known.number, known.class)
                };
                key(a).cmp(&key(b))
            }
            (Value::Future(a), Value::Future(b)) => {
                let path = |task: &u32| names.tasks.path(ProcessId(*task));
                path(a).cmp(path(b))
            }
            (a, b) if a.rank() == 2 && b.rank() == 2 => crate::arithmetic::compare(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// Whether two values are equal. Numbers of different types may be equal.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Data(a), Value::Data(b)) => a.print == b.print,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Object(a), Value::Object(b)) | (Value::Future(a), Value::Future(b)) => a == b,
            (a, b) if a.rank() == 2 && b.rank() == 2 => {
                crate::arithmetic::compare(a, b) == Ordering::Equal
            }
            (a, b) => a.rank() == b.rank(),
        }
    }
}

impl PartialEq for Value {
    /// Whether two values are indistinguishable, for the comparison of states.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Float(_), _) | (_, Value::Float(_)) => false,
            _ => self.same(other),
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Value::Data(data) => data.print.hash(hasher),
            Value::Bool(value) => value.hash(hasher),
            Value::Int(value) => value.hash(hasher),
            Value::Float(value) => value.to_bits().hash(hasher),
            Value::Text(text) => text.hash(hasher),
            Value::Object(number) | Value::Future(number) => number.hash(hasher),
            other => other.rank().hash(hasher),
        }
    }
}
