//! The observation for determinism: a fingerprint of the fields of objects and of the output, in
//! which the names of objects do not occur. The name of an object includes the task that created
//! it, which a program cannot observe. Instead, objects are identified as follows:
//!
//! - an object that the main block has created, by its index among these objects;
//! - any other object, by the first path to it from the objects of the main block;
//! - an object without such a path, by its contents;
//! - a future, by its result.
//!
//! Sets and maps store objects in the order of their names, which is not observed either. So an
//! object that can be reached only through a set is identified by its contents.

use std::sync::Arc;

use mazurka_core::{Fingerprint, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Machine;
use crate::heap::Object;
use crate::value::{Data, Value};

/// How often the contents of objects without a path are examined. They may refer to each other, so
/// each round distinguishes more of them.
const ROUNDS: usize = 4;

impl Machine {
    /// Returns the fingerprint of the observed fields of all objects and of whether these objects
    /// are alive. Each object is identified as in the head of this file.
    pub(crate) fn observed(&self) -> Fingerprint {
        let names = self.object_names();
        let mut all = Fingerprint::EMPTY;
        for (number, object) in self.existing_objects() {
            let mut fields = self.observed_fields(number).peekable();
            let dead = object.dead && self.observes_life(number);
            if dead || fields.peek().is_some() {
                let start = names[number as usize];
                let start = if dead { start.then(1) } else { start };
                let observed_value = fields.fold(start, |observed_value, at| {
                    self.observed_value(&object.fields[at], observed_value.then(at as u64), &names)
                });
                all = all.and(observed_value);
            }
        }
        all
    }

    fn existing_objects(&self) -> impl Iterator<Item = (u32, &Object)> {
        let all = self.state.objects.iter().enumerate();
        all.filter(|(_, object)| object.exists)
            .map(|(number, object)| (number as u32, object))
    }

    /// Returns, for each object, a name that does not depend on its creator.
    fn object_names(&self) -> Vec<Fingerprint> {
        let class = |object: &Object| Fingerprint::EMPTY.then(u64::from(object.class));
        let mut names = vec![Fingerprint::EMPTY; self.state.objects.len()];
        let mut found = vec![false; self.state.objects.len()];
        let mut queue: Vec<u32> = Vec::new();
        for (number, _) in self.existing_objects() {
            let known = self.names.object(number);
            if known.creator == ProcessId(0) {
                names[number as usize] = known.name;
                found[number as usize] = true;
                queue.push(number);
            }
        }
        // The main block always creates its objects in the same order.
        queue.sort_by_key(|&number| self.names.object(number).number);
        let mut at = 0;
        while at < queue.len() {
            let here = queue[at];
            at += 1;
            let object = &self.state.objects[here as usize];
            for (field, value) in object.fields.iter().enumerate() {
                for (place, next) in self.references(value).into_iter().enumerate() {
                    if !std::mem::replace(&mut found[next as usize], true) {
                        names[next as usize] =
                            names[here as usize].then(field as u64).then(place as u64);
                        queue.push(next);
                    }
                }
            }
        }
        if found
            .iter()
            .zip(&self.state.objects)
            .all(|(found, object)| *found || !object.exists)
        {
            return names;
        }
        for (number, object) in self.existing_objects() {
            if !found[number as usize] {
                names[number as usize] = class(object);
            }
        }
        for _ in 0..ROUNDS {
            let mut next = names.clone();
            for (number, object) in self.existing_objects() {
                if !found[number as usize] {
                    let fields = object.fields.iter();
                    next[number as usize] = fields.fold(class(object), |observed_value, value| {
                        self.observed_value(value, observed_value, &names)
                    });
                }
            }
            names = next;
        }
        names
    }

    /// Returns the fingerprint of a value in which `names` identifies the objects.
    fn observed_value(
        &self,
        value: &Value,
        start: Fingerprint,
        names: &[Fingerprint],
    ) -> Fingerprint {
        let refers = match value {
            Value::Object(_) | Value::Future(_) => true,
            Value::Data(data) => data.refers,
            _ => false,
        };
        if refers {
            start.then_all(self.observed_parts(value, names))
        } else {
            value.fingerprint(start, &self.names)
        }
    }

    /// Returns the fingerprint of a value that refers to something. Each shared part, and each
    /// future, is examined once.
    fn observed_parts(&self, value: &Value, names: &[Fingerprint]) -> Fingerprint {
        enum PendingValue {
            Value(Value),
            /// A value whose parts have been processed.
            Made(Arc<Data>),
            /// The future of a task whose result has been processed.
            Ended(u32),
        }
        let mut parts: FxHashMap<Fingerprint, Fingerprint> = FxHashMap::default();
        let mut futures: FxHashMap<u32, Fingerprint> = FxHashMap::default();
        let mut pending = vec![PendingValue::Value(value.clone())];
        let mut done: Vec<Fingerprint> = Vec::new();
        while let Some(work) = pending.pop() {
            let observed_value = match work {
                PendingValue::Value(Value::Object(object)) => {
                    Fingerprint::EMPTY.then(10).then_all(names[object as usize])
                }
                PendingValue::Value(Value::Future(task)) => {
                    if let Some(&known) = futures.get(&task) {
                        done.push(known);
                        continue;
                    }
                    // A future may occur in its own result, so it gets a provisional fingerprint
                    // first.
                    futures.insert(task, Fingerprint::EMPTY.then(11));
                    let result = self.task(ProcessId(task));
                    let result = result.and_then(|task| task.result.clone());
                    pending.push(PendingValue::Ended(task));
                    pending.push(PendingValue::Value(result.unwrap_or(Value::Null)));
                    continue;
                }
                PendingValue::Value(Value::Data(data)) if data.refers => {
                    if let Some(&known) = parts.get(&data.print) {
                        done.push(known);
                        continue;
                    }
                    pending.push(PendingValue::Made(Arc::clone(&data)));
                    pending.extend(data.parts.iter().rev().cloned().map(PendingValue::Value));
                    continue;
                }
                PendingValue::Value(other) => other.fingerprint(Fingerprint::EMPTY, &self.names),
                PendingValue::Ended(task) => {
                    let result = done.pop().unwrap_or(Fingerprint::EMPTY);
                    let observed_value = Fingerprint::EMPTY.then(11).then_all(result);
                    futures.insert(task, observed_value);
                    observed_value
                }
                PendingValue::Made(data) => {
                    let below = done.split_off(done.len() - data.parts.len());
                    let made = Fingerprint::EMPTY
                        .then(12)
                        .then(u64::from(data.constructor));
                    let observed_value = match (self.is_unordered(&data), &below[..]) {
                        (true, [element, rest]) => rest.and(made.then_all(*element)),
                        _ => below.iter().fold(made, |all, &part| all.then_all(part)),
                    };
                    parts.insert(data.print, observed_value);
                    observed_value
                }
            };
            done.push(observed_value);
        }
        done.pop().unwrap_or(Fingerprint::EMPTY)
    }

    /// Whether a value is a set or a map whose order depends on the names of objects: its first
    /// element, or the key of this element, refers to an object.
    fn is_unordered(&self, data: &Data) -> bool {
        let [_, (_, _, set), (_, _, map)] = self.code.exceptions.lists;
        let refers = |value: Option<&Value>| match value {
            Some(Value::Object(_) | Value::Future(_)) => true,
            Some(Value::Data(data)) => data.refers,
            _ => false,
        };
        let key = match data.parts.first() {
            Some(Value::Data(pair)) if data.constructor == map => pair.parts.first(),
            first => first,
        };
        [set, map].contains(&data.constructor) && refers(key)
    }

    /// Returns the objects in a value, each once, from left to right. Objects in sets and in the
    /// keys of maps are left out, because their order is the order of names.
    fn references(&self, value: &Value) -> Vec<u32> {
        let mut found = Vec::new();
        let mut examined: FxHashSet<Fingerprint> = FxHashSet::default();
        let mut pending = vec![value.clone()];
        while let Some(value) = pending.pop() {
            match &value {
                Value::Object(object) if !found.contains(object) => found.push(*object),
                Value::Data(data) if data.refers && examined.insert(data.print) => {
                    let skipped = usize::from(self.is_unordered(data));
                    pending.extend(data.parts[skipped..].iter().rev().cloned());
                }
                _ => {}
            }
        }
        found
    }
}
