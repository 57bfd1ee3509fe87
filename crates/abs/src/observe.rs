//! What determinism is about: the fields of objects and the output, up to the names of objects.
//!
//! Which task happens to create an object is in its name, but cannot be observed. So objects
//! that the main block did not create stand by where they are found: by the first way that leads to
//! them from the main block's objects. What nothing leads to stands by what is in it. A future
//! stands by its result.

use mazurka_core::{Fingerprint, ProcessId};

use crate::Machine;
use crate::heap::Object;
use crate::value::Value;

/// Objects that nothing leads to may refer to each other; so many times what is in them is looked
/// at.
const ROUNDS: usize = 4;

impl Machine {
    /// The observed fields of all objects, by where they are found, and whether these objects live.
    pub(crate) fn observed(&self) -> Fingerprint {
        let names = self.places();
        let mut all = Fingerprint::EMPTY;
        for (number, object) in self.there() {
            let mut fields = self.observed_fields(number).peekable();
            if fields.peek().is_some() {
                let start = names[number as usize];
                let start = if object.dead { start.then(1) } else { start };
                let seen = fields.fold(start, |seen, at| {
                    self.seen(&object.fields[at], seen.then(at as u64), &names)
                });
                all = all.and(seen);
            }
        }
        all
    }

    fn there(&self) -> impl Iterator<Item = (u32, &Object)> {
        let all = self.state.objects.iter().enumerate();
        all.filter(|(_, object)| object.there)
            .map(|(number, object)| (number as u32, object))
    }

    /// A name for each object that does not tell who created it.
    fn places(&self) -> Vec<Fingerprint> {
        let class = |object: &Object| Fingerprint::EMPTY.then(u64::from(object.class));
        let mut names = vec![Fingerprint::EMPTY; self.state.objects.len()];
        let mut found = vec![false; self.state.objects.len()];
        let mut queue: Vec<u32> = Vec::new();
        for (number, _) in self.there() {
            let known = self.names.object(number);
            if known.creator == ProcessId(0) {
                names[number as usize] = known.name;
                found[number as usize] = true;
                queue.push(number);
            }
        }
        // The main block creates its objects in the same order always.
        queue.sort_by_key(|&number| self.names.object(number).number);
        let mut at = 0;
        while at < queue.len() {
            let here = queue[at];
            at += 1;
            let object = &self.state.objects[here as usize];
            for (field, value) in object.fields.iter().enumerate() {
                for (place, next) in references(value).into_iter().enumerate() {
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
            .all(|(found, object)| *found || !object.there)
        {
            return names;
        }
        for (number, object) in self.there() {
            if !found[number as usize] {
                names[number as usize] = class(object);
            }
        }
        for _ in 0..ROUNDS {
            let mut next = names.clone();
            for (number, object) in self.there() {
                if !found[number as usize] {
                    let fields = object.fields.iter();
                    next[number as usize] =
                        fields.fold(class(object), |seen, value| self.seen(value, seen, &names));
                }
            }
            names = next;
        }
        names
    }

    /// A value, with other names for objects.
    fn seen(&self, value: &Value, start: Fingerprint, names: &[Fingerprint]) -> Fingerprint {
        let mut all = start;
        let mut pending = vec![value.clone()];
        while let Some(value) = pending.pop() {
            all = match &value {
                Value::Object(object) => all.then(10).then_all(names[*object as usize]),
                Value::Future(task) => {
                    let result = self
                        .task(ProcessId(*task))
                        .and_then(|task| task.result.clone());
                    pending.extend(result);
                    all.then(11)
                }
                Value::Data(data) if data.refers => {
                    pending.extend(data.parts.iter().rev().cloned());
                    all.then(12).then(u64::from(data.constructor))
                }
                other => other.fingerprint(all, &self.names),
            };
        }
        all
    }
}

/// The objects in a value, from left to right.
fn references(value: &Value) -> Vec<u32> {
    let mut found = Vec::new();
    let mut pending = vec![value.clone()];
    while let Some(value) = pending.pop() {
        match &value {
            Value::Object(object) => found.push(*object),
            Value::Data(data) if data.refers => pending.extend(data.parts.iter().rev().cloned()),
            _ => {}
        }
    }
    found
}
