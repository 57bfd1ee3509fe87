//! The places in the source where steps begin, for editors: they mark these places, and show which
//! fields a step may touch.

use mazurka_diagnostics::Span;

use crate::code::{Code, Op};
use crate::effects::Effects;

/// A place in the source where a step begins, or where a task rests before its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPlace {
    /// The method, or the statement.
    pub span: Span,
    /// Whether the step may have to wait: it begins at an `await`, a `get` or a `duration`.
    pub waits: bool,
    /// The fields that the step may read but not write, with their class.
    pub reads: Vec<String>,
    /// The fields that it may write, with their class.
    pub writes: Vec<String>,
}

impl Code {
    /// Returns the steps of a program, in the order of the text: the start of each method, and each
    /// `await`, `suspend`, `get` and `duration`. The waits of synchronous calls to other cogs are
    /// left out.
    ///
    /// ```
    /// use mazurka_abs::{Settings, load};
    /// let source = "module M; class C { Int x = 0; Unit m() { await x > 0; x = 2; } } { }";
    /// let steps = load(source, &Settings::default()).unwrap().step_places();
    /// let written: Vec<&str> = steps.iter().map(|step| step.span.text(source)).collect();
    /// assert_eq!(written[0], "m");
    /// assert!(written[1].starts_with("await"));
    /// assert!(steps[1].waits && steps[1].writes == ["C.x"] && !steps[0].waits);
    /// ```
    pub fn step_places(&self) -> Vec<StepPlace> {
        let mut found = Vec::new();
        for (class, info) in self.classes.iter().enumerate() {
            for method in &info.methods {
                found.extend(self.place(class, method.span, method.entry, false));
            }
        }
        for (pc, op) in self.ops.iter().enumerate().skip(self.own as usize) {
            let waits = match op {
                Op::Await | Op::Get | Op::Block => true,
                Op::Suspend => false,
                _ => continue,
            };
            let class = self.class_at(pc as u32);
            found.extend(self.place(class, self.spans[pc], pc as u32 + 1, waits));
        }
        found.retain(|place| !place.span.text(&self.source).is_empty());
        found.sort_by_key(|place| (place.span.start, place.span.end));
        found.dedup_by_key(|place| place.span);
        found
    }

    /// Returns the class whose method an instruction belongs to: the class with the last entry
    /// before the instruction.
    fn class_at(&self, pc: u32) -> usize {
        let all = self.classes.iter().enumerate();
        let entries = all.flat_map(|(class, info)| {
            let methods = info.methods.iter().map(|method| method.entry);
            let starts = methods
                .chain([info.init])
                .chain(info.recover.map(|(at, _)| at));
            starts.map(move |entry| (entry, class))
        });
        let before = entries.filter(|(entry, _)| *entry <= pc);
        before.max().map_or(0, |(_, class)| class)
    }

    fn place(&self, class: usize, span: Span, start: u32, waits: bool) -> Option<StepPlace> {
        let effects = self.effects.get(&start)?;
        let (reads, writes) = self.touched(class, effects);
        Some(StepPlace {
            span,
            waits,
            reads,
            writes,
        })
    }

    /// Returns the fields that a step may read but not write, and those that it may write.
    fn touched(&self, class: usize, effects: &Effects) -> (Vec<String>, Vec<String>) {
        let field = |class: usize, field: u32| {
            let info = &self.classes[class];
            let name = info.fields.get(field as usize);
            name.map(|name| format!("{}.{name}", info.name))
        };
        let own = |fields: &[u32]| -> Vec<String> {
            fields.iter().filter_map(|&at| field(class, at)).collect()
        };
        let (mut reads, mut writes) = (own(&effects.reads), own(&effects.writes));
        for &(class, at, written) in &effects.others {
            let into = if written { &mut writes } else { &mut reads };
            into.extend(field(class as usize, at));
        }
        writes.sort();
        writes.dedup();
        reads.sort();
        reads.dedup();
        reads.retain(|name| !writes.contains(name));
        (reads, writes)
    }
}
