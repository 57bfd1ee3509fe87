//! Semaphores, reader–writer locks, condition variables, barriers, channels and `try`, as
//! docs/language.md describes them. All kinds share one representation, [`Object`].

use std::collections::{BTreeSet, VecDeque};

use super::FailureKind;
use super::ast::{Expr, ItemKind, Kind, Place, ResultTarget, Stmt, Ty};
use super::code::Instr;
use super::compile::{CompileResult, Compiler, Meaning};
use super::parse::{Parsed, Parser};

/// The state of an object; each kind uses some of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// The permits of a semaphore, or the number of processes that a barrier waits for.
    pub count: i128,
    /// The readers of a lock, or the waiting processes.
    pub members: BTreeSet<usize>,
    /// The process that holds the lock for writing.
    pub writer: Option<usize>,
    /// The messages, oldest first.
    pub queue: VecDeque<Vec<i128>>,
}

/// An operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectAction {
    Acquire,
    Release,
    ReadLock,
    ReadUnlock,
    WriteLock,
    WriteUnlock,
    Enlist,
    /// Waits until another process has removed this process from `members`.
    Woken,
    /// Removes this process from `members`.
    Leave,
    /// Pushes one of the `members`, which is a choice, or -1 if there is none.
    Pick,
    /// Removes the process whose number is on the stack from `members`.
    Wake,
    WakeAll,
    Arrive,
    /// Sends a message of this many numbers from the stack, the last one on top.
    Send(usize),
    /// Pushes the numbers of the oldest message, the last one on top.
    Receive,
    /// Removes the oldest message.
    RemoveOldest,
    Len,
}

/// The effect of an operation.
pub(super) enum ActionResult {
    Done,
    Blocked,
    NotHeld,
    /// One of these values is pushed; which one is a choice.
    OneOf(Vec<i128>),
}

/// Returns the action of a statement, and its object.
pub(super) fn action_of(operation: &Stmt) -> CompileResult<(ObjectAction, &Place)> {
    match &operation.kind {
        Kind::Send(channel, values) => Ok((ObjectAction::Send(values.len()), channel)),
        Kind::Receive(channel, _) => Ok((ObjectAction::Receive, channel)),
        Kind::Operate(verb, places) => match (verb.as_str(), &places[..]) {
            ("acquire", [place]) => Ok((ObjectAction::Acquire, place)),
            ("read_lock", [place]) => Ok((ObjectAction::ReadLock, place)),
            ("write_lock", [place]) => Ok((ObjectAction::WriteLock, place)),
            _ => Err(format!("{verb} in a select")),
        },
        _ => Err("a select that cannot wait for this".into()),
    }
}

impl Object {
    /// Whether a process can perform an operation without waiting.
    pub(super) fn is_possible(&self, action: ObjectAction, me: usize) -> bool {
        match action {
            ObjectAction::Acquire => self.count > 0,
            ObjectAction::ReadLock => self.writer.is_none() && !self.members.contains(&me),
            ObjectAction::WriteLock => self.writer.is_none() && self.members.is_empty(),
            ObjectAction::Woken => !self.members.contains(&me),
            ObjectAction::Send(_) => (self.queue.len() as i128) < self.count,
            ObjectAction::Receive => !self.queue.is_empty(),
            _ => true,
        }
    }

    /// Performs an operation of a process; its operands are on top of the stack `top`.
    pub(super) fn perform(
        &mut self,
        action: ObjectAction,
        me: usize,
        top: &mut Vec<i128>,
    ) -> ActionResult {
        if !self.is_possible(action, me) {
            // A skipped send drops its message.
            if let ObjectAction::Send(count) = action {
                top.truncate(top.len() - count);
            }
            return ActionResult::Blocked;
        }
        match action {
            ObjectAction::Acquire => self.count -= 1,
            ObjectAction::Release => self.count += 1,
            ObjectAction::ReadLock | ObjectAction::Enlist => _ = self.members.insert(me),
            ObjectAction::ReadUnlock if !self.members.remove(&me) => return ActionResult::NotHeld,
            ObjectAction::WriteLock => self.writer = Some(me),
            ObjectAction::WriteUnlock if self.writer != Some(me) => return ActionResult::NotHeld,
            ObjectAction::WriteUnlock => self.writer = None,
            ObjectAction::Pick if self.members.is_empty() => top.push(-1),
            ObjectAction::Pick => {
                return ActionResult::OneOf(self.members.iter().map(|&p| p as i128).collect());
            }
            ObjectAction::Wake => {
                let woken = top.pop().unwrap_or(-1);
                self.members.retain(|&p| p as i128 != woken);
            }
            ObjectAction::WakeAll => self.members.clear(),
            ObjectAction::Arrive if self.members.len() as i128 + 1 >= self.count => {
                self.members.clear()
            }
            ObjectAction::Arrive => _ = self.members.insert(me),
            ObjectAction::Leave => _ = self.members.remove(&me),
            ObjectAction::Send(count) => {
                let message = top.split_off(top.len() - count);
                self.queue.push_back(message);
            }
            ObjectAction::Receive => top.extend(self.queue.front().cloned().unwrap_or_default()),
            ObjectAction::RemoveOldest => _ = self.queue.pop_front(),
            ObjectAction::Len => top.push(self.queue.len() as i128),
            ObjectAction::ReadUnlock | ObjectAction::Woken => {}
        }
        ActionResult::Done
    }
}

const OBJECT_KEYWORDS: [&str; 4] = ["semaphore", "rwlock", "cond", "barrier"];

const VERBS: [&str; 9] = [
    "acquire",
    "release",
    "read_lock",
    "read_unlock",
    "write_lock",
    "write_unlock",
    "wait",
    "signal",
    "broadcast",
];

impl Parser {
    /// Parses a size in brackets, or `[..]` and `[..k]`. Both are unbounded for the oracle. Runs
    /// that exceed the limit of an engine are not compared.
    fn capacity(&mut self) -> Parsed<Option<(Expr, bool)>> {
        let start = self.at;
        if !self.has("[") || !self.has("..") {
            self.at = start;
            return Ok(self.size()?.map(|size| (size, false)));
        }
        if !self.has("]") {
            self.expr()?;
            self.need("]")?;
        }
        Ok(Some((Expr::Num(UNBOUNDED), true)))
    }

    /// Parses `chan c[n][k]: T`.
    fn channel_item(&mut self) -> Parsed<Vec<ItemKind>> {
        self.at += 1;
        let name = self.name()?;
        let (first, unbounded) = self.capacity()?.ok_or("a channel without capacity")?;
        let second = if unbounded { None } else { self.capacity()? };
        let (size, capacity) = match second {
            None => (None, first),
            Some((second, _)) => (Some(first), second),
        };
        self.need(":")?;
        let (fields, kind) = self.message_type()?;
        self.known.objects.insert(name.clone(), "chan".into());
        if let Some(kind) = kind {
            self.known.messages.insert(name.clone(), kind);
        }
        Ok(vec![ItemKind::Channel(name, size, capacity, fields)])
    }

    /// Parses `c ! e` or `c ? x`.
    fn channel_statement(&mut self) -> Parsed<Option<Kind>> {
        let start = self.at;
        let channel = self.path()?;
        let whole = self.known.messages.contains_key(&channel.name);
        if self.has("!") {
            let values = if whole {
                match self.whole()? {
                    Some((_, values)) => values,
                    None => return self.wrong("a value of a struct"),
                }
            } else {
                vec![self.expr()?]
            };
            return Ok(Some(Kind::Send(channel, values)));
        }
        if self.has("?") {
            let place = self.path()?;
            let places = match self.known.messages.get(&channel.name).cloned() {
                None => vec![place],
                Some(kind) => self.whole_place(&kind, &place)?,
            };
            return Ok(Some(Kind::Receive(channel, places)));
        }
        self.at = start;
        Ok(None)
    }

    /// Parses `len(c)`, if it is next.
    pub(super) fn length(&mut self) -> Parsed<Option<Expr>> {
        let kind = self
            .word_after(2)
            .and_then(|name| self.known.objects.get(name));
        if self.word_after(0) != Some("len") || kind.is_none_or(|word| word != "chan") {
            return Ok(None);
        }
        self.at += 2;
        let channel = self.path()?;
        self.need(")")?;
        Ok(Some(Expr::Len(Box::new(channel))))
    }

    /// Parses the declaration of an object, if one is next.
    pub(super) fn object_item(&mut self) -> Parsed<Option<Vec<ItemKind>>> {
        if self.word_after(0) == Some("chan") && self.word_after(1).is_some() {
            return self.channel_item().map(Some);
        }
        let spurious = self.word_after(0) == Some("spurious");
        let first = usize::from(spurious);
        let word = self.word_after(first).map(str::to_owned);
        let Some(word) = word.filter(|word| OBJECT_KEYWORDS.contains(&word.as_str())) else {
            return Ok(None);
        };
        if self.word_after(first + 1).is_none() {
            return Ok(None);
        }
        self.at += first + 1;
        let word = if spurious {
            "spurious cond".into()
        } else {
            word
        };
        let all = self.list(|parser| {
            let name = parser.name()?;
            let size = parser.size()?;
            let value = if parser.has("=") {
                Some(parser.expr()?)
            } else {
                None
            };
            parser.known.objects.insert(name.clone(), word.clone());
            Ok(ItemKind::Object(word.clone(), name, size, value))
        })?;
        Ok(Some(all))
    }

    /// Parses an operation on an object, or a `try`, if one is next.
    pub(super) fn object_statement(&mut self) -> Parsed<Option<Kind>> {
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        if self
            .known
            .objects
            .get(&word)
            .is_some_and(|kind| kind == "chan")
            && let Some(kind) = self.channel_statement()?
        {
            return Ok(Some(kind));
        }
        let object = self
            .word_after(2)
            .filter(|_| self.sign_after(1) == Some("("));
        let object = object.is_some_and(|name| self.known.objects.contains_key(name));
        if object && VERBS.contains(&word.as_str()) {
            self.at += 2;
            let places = self.list(Self::path)?;
            self.need(")")?;
            return Ok(Some(Kind::Operate(word, places)));
        }
        if let Some(update) = self.update(None)? {
            return Ok(Some(update));
        }
        let start = self.at;
        let target = if word == "let" && self.sign_after(2) == Some("=") {
            self.at += 1;
            ResultTarget::Let(self.name()?)
        } else {
            match self.path() {
                Ok(place) if self.sees(":=") => ResultTarget::Place(place),
                _ => {
                    self.at = start;
                    return Ok(None);
                }
            }
        };
        self.at += 1;
        if self.word_after(0) == Some("try") && self.word_after(1).is_some() {
            self.at += 1;
            let tried = self.unguarded()?;
            return Ok(Some(Kind::Try(target, Box::new(tried))));
        }
        if let Some(update) = self.update(Some(target))? {
            return Ok(Some(update));
        }
        self.at = start;
        Ok(None)
    }
}

impl Compiler {
    /// Declares an object.
    pub(super) fn object(
        &mut self,
        name: &str,
        size: Option<&Expr>,
        value: Option<&Expr>,
    ) -> CompileResult<Meaning> {
        let len = self.size(size)?;
        let base = self.code.objects.len();
        let count = match value {
            Some(value) => self.constant_number(value).ok_or("no number")?,
            None => 0,
        };
        let object = Object {
            count,
            ..Object::default()
        };
        self.code.objects.extend(vec![object; len.unwrap_or(1)]);
        if name.is_empty() {
            Err("an object without name".into())
        } else {
            Ok(Meaning::Object { base, len })
        }
    }

    /// Declares a channel.
    pub(super) fn channel(
        &mut self,
        size: Option<&Expr>,
        capacity: &Expr,
    ) -> CompileResult<Meaning> {
        let Meaning::Object { base, len } = self.object("a channel", size, Some(capacity))? else {
            return Err("no channel".into());
        };
        Ok(Meaning::Object { base, len })
    }

    fn message(&self, channel: &Place) -> CompileResult<Vec<Ty>> {
        let fields = self.messages.get(&channel.name).cloned();
        fields.ok_or_else(|| format!("{} is not a channel", channel.name))
    }

    /// Pushes the number of messages in the channel.
    pub(super) fn len(&mut self, channel: &Place) -> CompileResult {
        let (base, len) = self.object_at(channel)?;
        self.access_point();
        self.emit(Instr::Object(ObjectAction::Len, base, len));
        Ok(())
    }

    /// Pushes whether there is room for a message. The value of the message is computed only after
    /// that.
    fn possible(&mut self, channel: &Place, values: &[Expr]) -> CompileResult {
        let (base, len) = self.object_at(channel)?;
        self.emit(Instr::Possible(ObjectAction::Send(values.len()), base, len));
        Ok(())
    }

    /// Whether a channel always has room.
    pub(super) fn is_unbounded(&self, channel: &Place) -> bool {
        match self.lookup(&channel.name) {
            Some(Meaning::Object { base, .. }) => self.code.objects[base].count >= UNBOUNDED,
            _ => false,
        }
    }

    /// Compiles `c ! e`, without the beginning of its step.
    fn send(&mut self, channel: &Place, values: &[Expr]) -> CompileResult {
        for (value, ty) in values.iter().zip(self.message(channel)?) {
            self.expr(value, ty)?;
        }
        self.perform(ObjectAction::Send(values.len()), channel)
    }

    /// Stores the message on the stack into variables.
    fn received(&mut self, channel: &Place, places: &[Place]) -> CompileResult {
        let mut names = Vec::new();
        let fields = self.message(channel)?;
        let slots: Vec<usize> = fields.iter().map(|_| self.slot(1)).collect();
        for (at, (&slot, &ty)) in slots.iter().zip(&fields).enumerate().rev() {
            self.emit(Instr::SetLocal(slot));
            let name = format!("part {at} of a message");
            self.name(
                &name,
                Meaning::Local {
                    slot,
                    len: None,
                    ty,
                },
            );
            names.push(Expr::Name(name));
        }
        names.reverse();
        self.assign(places, &names)?;
        // The message is removed last, so that after a failure in the stores it is still in the
        // channel.
        self.perform(ObjectAction::RemoveOldest, channel)
    }

    /// Compiles `c ! e` or `c ? x` as one step.
    pub(super) fn communicate(&mut self, kind: &Kind) -> CompileResult {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        match kind {
            Kind::Send(channel, values) => {
                self.possible(channel, values)?;
                self.emit(Instr::Wait);
                self.send(channel, values)?;
            }
            Kind::Receive(channel, places) => {
                self.perform(ObjectAction::Receive, channel)?;
                self.received(channel, places)?;
            }
            _ => return Err("no channel".into()),
        }
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    /// Pushes the index of an object; returns the start and the length of its array.
    pub(super) fn object_at(&mut self, place: &Place) -> CompileResult<(usize, usize)> {
        let Some(Meaning::Object { base, len }) = self.lookup(&place.name) else {
            return Err(format!("{} is not an object", place.name));
        };
        match &place.index {
            Some(index) => self.expr(index, Ty::Int)?,
            None => _ = self.emit(Instr::Push(0)),
        }
        Ok((base, len.unwrap_or(1)))
    }

    fn perform(&mut self, action: ObjectAction, place: &Place) -> CompileResult {
        let (base, len) = self.object_at(place)?;
        self.emit(Instr::Object(action, base, len));
        Ok(())
    }

    /// Compiles an operation of one or two steps.
    pub(super) fn operate(&mut self, verb: &str, places: &[Place]) -> CompileResult {
        let [object, rest @ ..] = places else {
            return Err("an operation on nothing".into());
        };
        let action = match verb {
            "acquire" => ObjectAction::Acquire,
            "release" => ObjectAction::Release,
            "read_lock" => ObjectAction::ReadLock,
            "read_unlock" => ObjectAction::ReadUnlock,
            "write_lock" => ObjectAction::WriteLock,
            "write_unlock" => ObjectAction::WriteUnlock,
            "broadcast" => ObjectAction::WakeAll,
            "signal" => {
                self.emit(Instr::Yield);
                self.emit(Instr::AtomicBegin);
                self.perform(ObjectAction::Pick, object)?;
                self.perform(ObjectAction::Wake, object)?;
                self.emit(Instr::AtomicEnd);
                return Ok(());
            }
            "wait" => return self.wait(object, rest),
            _ => return Err(format!("{verb} is not an operation")),
        };
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        self.perform(action, object)?;
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    fn wait(&mut self, object: &Place, lock: &[Place]) -> CompileResult {
        let lock_step = |lock: &Place, locks| {
            if locks {
                Stmt::new(Kind::Lock(lock.clone()))
            } else {
                Stmt::new(Kind::Unlock(lock.clone()))
            }
        };
        self.emit(Instr::Yield);
        match lock {
            [] => self.perform(ObjectAction::Arrive, object)?,
            [lock, ..] => {
                self.emit(Instr::AtomicBegin);
                self.block(&[lock_step(lock, false)])?;
                self.perform(ObjectAction::Enlist, object)?;
                self.emit(Instr::AtomicEnd);
            }
        }
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        let leaves = self.spurious.contains(&object.name);
        self.perform(
            if leaves {
                ObjectAction::Leave
            } else {
                ObjectAction::Woken
            },
            object,
        )?;
        if let [lock, ..] = lock {
            self.block(&[lock_step(lock, true)])?;
        }
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    /// Compiles `let ok = try s`.
    pub(super) fn try_(&mut self, target: &ResultTarget, tried: &Stmt) -> CompileResult {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        let slot = self.slot(1);
        if let Kind::Send(channel, values) = &tried.kind {
            self.possible(channel, values)?;
            self.emit(Instr::SetLocal(slot));
            self.emit(Instr::Local(slot));
            let out = self.emit(Instr::JumpIfNot(0));
            self.send(channel, values)?;
            self.land(out);
            return self.store_result(target, slot);
        }
        self.emit(Instr::Trying(true));
        match &tried.kind {
            Kind::Lock(_) => self.block(std::slice::from_ref(tried))?,
            Kind::Operate(verb, places) => self.operate(verb, places)?,
            Kind::Receive(channel, _) => self.perform(ObjectAction::Receive, channel)?,
            _ => return Err("this cannot be tried".into()),
        }
        // Pushes whether the operation was done.
        self.emit(Instr::Trying(false));
        self.emit(Instr::SetLocal(slot));
        if let Kind::Receive(channel, places) = &tried.kind {
            self.emit(Instr::Local(slot));
            let out = self.emit(Instr::JumpIfNot(0));
            self.received(channel, places)?;
            self.land(out);
        }
        self.store_result(target, slot)
    }

    /// Stores the result of a `try`, which ends the step.
    fn store_result(&mut self, target: &ResultTarget, slot: usize) -> CompileResult {
        let place = match target {
            ResultTarget::Place(place) => place.clone(),
            ResultTarget::Let(name) => {
                self.local(name, None, Ty::Bool)?;
                Place {
                    name: name.clone(),
                    index: None,
                }
            }
        };
        self.name(
            "the result of try",
            Meaning::Local {
                slot,
                len: None,
                ty: Ty::Bool,
            },
        );
        self.assign(&[place], &[Expr::Name("the result of try".into())])?;
        self.emit(Instr::AtomicEnd);
        Ok(())
    }
}

/// The capacity of an unbounded channel.
pub(super) const UNBOUNDED: i128 = 1 << 30;

/// The failure of releasing an object that the process does not hold.
pub(super) const NOT_HELD: FailureKind = FailureKind::UnlockNotHeld;
