//! Semaphores, reader–writer locks, condition variables, barriers and `try`, as docs/language.md
//! describes them. An object is a number, a set of processes and one process.

use std::collections::{BTreeSet, VecDeque};

use super::FailureKind;
use super::ast::{Expr, ItemKind, Kept, Kind, Place, Stmt, Ty};
use super::code::Instr;
use super::compile::{Compiler, Done, Meaning};
use super::parse::{Parsed, Parser};

/// What an object is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// The permits of a semaphore, or how many a barrier waits for.
    pub count: i128,
    /// The processes that read or wait.
    pub members: BTreeSet<usize>,
    /// The process that writes.
    pub writer: Option<usize>,
    /// The messages, the oldest first.
    pub queue: VecDeque<Vec<i128>>,
}

/// What can be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Acquire,
    Release,
    ReadLock,
    ReadUnlock,
    WriteLock,
    WriteUnlock,
    Enlist,
    /// Waits until another process has taken this one from the set.
    Woken,
    /// Leaves the set by itself.
    Leave,
    /// Leaves one of the set on the stack, -1 if there is none.
    Pick,
    /// Takes the process on the stack from the set.
    Wake,
    WakeAll,
    Arrive,
    /// A message of so many numbers, which are on the stack, the last one on top.
    Send(usize),
    /// Leaves the numbers of the oldest message on the stack, the last one on top.
    Receive,
    /// Takes that message away.
    Taken,
    Len,
}

/// What comes of it.
pub(super) enum Came {
    Done,
    Blocked,
    NotHeld,
    /// One of these goes on the stack.
    OneOf(Vec<i128>),
}

/// What an operation does, and to which object.
pub(super) fn deed_of(operation: &Stmt) -> Done<(Deed, &Place)> {
    match &operation.kind {
        Kind::Send(channel, values) => Ok((Deed::Send(values.len()), channel)),
        Kind::Receive(channel, _) => Ok((Deed::Receive, channel)),
        Kind::Operate(verb, places) => match (verb.as_str(), &places[..]) {
            ("acquire", [place]) => Ok((Deed::Acquire, place)),
            ("read_lock", [place]) => Ok((Deed::ReadLock, place)),
            ("write_lock", [place]) => Ok((Deed::WriteLock, place)),
            _ => Err(format!("{verb} in a select")),
        },
        _ => Err("a select that cannot wait for this".into()),
    }
}

impl Object {
    /// Whether a process need not wait to do something.
    pub(super) fn may(&self, deed: Deed, me: usize) -> bool {
        match deed {
            Deed::Acquire => self.count > 0,
            Deed::ReadLock => self.writer.is_none() && !self.members.contains(&me),
            Deed::WriteLock => self.writer.is_none() && self.members.is_empty(),
            Deed::Woken => !self.members.contains(&me),
            Deed::Send(_) => (self.queue.len() as i128) < self.count,
            Deed::Receive => !self.queue.is_empty(),
            _ => true,
        }
    }

    /// Lets a process do something; `top` is taken from the stack where it is needed.
    pub(super) fn does(&mut self, deed: Deed, me: usize, top: &mut Vec<i128>) -> Came {
        if !self.may(deed, me) {
            // What was to be sent is dropped.
            if let Deed::Send(count) = deed {
                top.truncate(top.len() - count);
            }
            return Came::Blocked;
        }
        match deed {
            Deed::Acquire => self.count -= 1,
            Deed::Release => self.count += 1,
            Deed::ReadLock | Deed::Enlist => _ = self.members.insert(me),
            Deed::ReadUnlock if !self.members.remove(&me) => return Came::NotHeld,
            Deed::WriteLock => self.writer = Some(me),
            Deed::WriteUnlock if self.writer != Some(me) => return Came::NotHeld,
            Deed::WriteUnlock => self.writer = None,
            Deed::Pick if self.members.is_empty() => top.push(-1),
            Deed::Pick => {
                return Came::OneOf(self.members.iter().map(|&p| p as i128).collect());
            }
            Deed::Wake => {
                let woken = top.pop().unwrap_or(-1);
                self.members.retain(|&p| p as i128 != woken);
            }
            Deed::WakeAll => self.members.clear(),
            Deed::Arrive if self.members.len() as i128 + 1 >= self.count => self.members.clear(),
            Deed::Arrive => _ = self.members.insert(me),
            Deed::Leave => _ = self.members.remove(&me),
            Deed::Send(count) => {
                let message = top.split_off(top.len() - count);
                self.queue.push_back(message);
            }
            Deed::Receive => top.extend(self.queue.front().cloned().unwrap_or_default()),
            Deed::Taken => _ = self.queue.pop_front(),
            Deed::Len => top.push(self.queue.len() as i128),
            Deed::ReadUnlock | Deed::Woken => {}
        }
        Came::Done
    }
}

const WORDS: [&str; 4] = ["semaphore", "rwlock", "cond", "barrier"];

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
    /// A size in brackets, or `[..]` and `[..k]`, which are no limit here: what is behind the limit
    /// of an engine is not compared.
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

    /// `chan c[n][k]: T`
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
        let (fields, of) = self.message_type()?;
        self.known.objects.insert(name.clone(), "chan".into());
        if let Some(of) = of {
            self.known.messages.insert(name.clone(), of);
        }
        Ok(vec![ItemKind::Channel(name, size, capacity, fields)])
    }

    /// `c ! e` and `c ? x`
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
                Some(of) => self.whole_place(&of, &place)?,
            };
            return Ok(Some(Kind::Receive(channel, places)));
        }
        self.at = start;
        Ok(None)
    }

    /// `len(c)`, if it stands here.
    pub(super) fn length(&mut self) -> Parsed<Option<Expr>> {
        let of = self
            .word_after(2)
            .and_then(|name| self.known.objects.get(name));
        if self.word_after(0) != Some("len") || of.is_none_or(|word| word != "chan") {
            return Ok(None);
        }
        self.at += 2;
        let channel = self.path()?;
        self.need(")")?;
        Ok(Some(Expr::Len(Box::new(channel))))
    }

    /// The declaration of an object, if one stands here.
    pub(super) fn object_item(&mut self) -> Parsed<Option<Vec<ItemKind>>> {
        if self.word_after(0) == Some("chan") && self.word_after(1).is_some() {
            return self.channel_item().map(Some);
        }
        let spurious = self.word_after(0) == Some("spurious");
        let first = usize::from(spurious);
        let word = self.word_after(first).map(str::to_owned);
        let Some(word) = word.filter(|word| WORDS.contains(&word.as_str())) else {
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

    /// An operation on an object, or `try`, if one stands here.
    pub(super) fn object_statement(&mut self) -> Parsed<Option<Kind>> {
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        if self.known.objects.get(&word).is_some_and(|of| of == "chan")
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
        let kept = if word == "let" && self.sign_after(2) == Some("=") {
            self.at += 1;
            Kept::Let(self.name()?)
        } else {
            match self.path() {
                Ok(place) if self.sees(":=") => Kept::Place(place),
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
            return Ok(Some(Kind::Try(kept, Box::new(tried))));
        }
        if let Some(update) = self.update(Some(kept))? {
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
    ) -> Done<Meaning> {
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
    pub(super) fn channel(&mut self, size: Option<&Expr>, capacity: &Expr) -> Done<Meaning> {
        let Meaning::Object { base, len } = self.object("a channel", size, Some(capacity))? else {
            return Err("no channel".into());
        };
        Ok(Meaning::Object { base, len })
    }

    fn message(&self, channel: &Place) -> Done<Vec<Ty>> {
        let fields = self.messages.get(&channel.name).cloned();
        fields.ok_or_else(|| format!("{} is no channel", channel.name))
    }

    /// Pushes how many messages wait.
    pub(super) fn len(&mut self, channel: &Place) -> Done {
        let (base, len) = self.object_at(channel)?;
        self.access_point();
        self.emit(Instr::Object(Deed::Len, base, len));
        Ok(())
    }

    /// Pushes whether there is room for a message. Its value is computed after that.
    fn possible(&mut self, channel: &Place, values: &[Expr]) -> Done {
        let (base, len) = self.object_at(channel)?;
        self.emit(Instr::Possible(Deed::Send(values.len()), base, len));
        Ok(())
    }

    /// Whether there is room in a channel in any case.
    pub(super) fn is_unbounded(&self, channel: &Place) -> bool {
        match self.lookup(&channel.name) {
            Some(Meaning::Object { base, .. }) => self.code.objects[base].count >= UNBOUNDED,
            _ => false,
        }
    }

    /// `c ! e`, without the beginning of its step.
    fn send(&mut self, channel: &Place, values: &[Expr]) -> Done {
        for (value, ty) in values.iter().zip(self.message(channel)?) {
            self.expr(value, ty)?;
        }
        self.does(Deed::Send(values.len()), channel)
    }

    /// Puts the message on the stack into variables.
    fn received(&mut self, channel: &Place, places: &[Place]) -> Done {
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
        // A failure before this leaves the message where it is.
        self.does(Deed::Taken, channel)
    }

    /// `c ! e` or `c ? x`, in one step.
    pub(super) fn communicate(&mut self, kind: &Kind) -> Done {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        match kind {
            Kind::Send(channel, values) => {
                self.possible(channel, values)?;
                self.emit(Instr::Wait);
                self.send(channel, values)?;
            }
            Kind::Receive(channel, places) => {
                self.does(Deed::Receive, channel)?;
                self.received(channel, places)?;
            }
            _ => return Err("no channel".into()),
        }
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    /// Pushes the index of an object, and gives where its array begins and how long it is.
    pub(super) fn object_at(&mut self, place: &Place) -> Done<(usize, usize)> {
        let Some(Meaning::Object { base, len }) = self.lookup(&place.name) else {
            return Err(format!("{} is no object", place.name));
        };
        match &place.index {
            Some(index) => self.expr(index, Ty::Int)?,
            None => _ = self.emit(Instr::Push(0)),
        }
        Ok((base, len.unwrap_or(1)))
    }

    fn does(&mut self, deed: Deed, place: &Place) -> Done {
        let (base, len) = self.object_at(place)?;
        self.emit(Instr::Object(deed, base, len));
        Ok(())
    }

    /// An operation that is one step or two.
    pub(super) fn operate(&mut self, verb: &str, places: &[Place]) -> Done {
        let [object, rest @ ..] = places else {
            return Err("an operation on nothing".into());
        };
        let deed = match verb {
            "acquire" => Deed::Acquire,
            "release" => Deed::Release,
            "read_lock" => Deed::ReadLock,
            "read_unlock" => Deed::ReadUnlock,
            "write_lock" => Deed::WriteLock,
            "write_unlock" => Deed::WriteUnlock,
            "broadcast" => Deed::WakeAll,
            "signal" => {
                self.emit(Instr::Yield);
                self.emit(Instr::AtomicBegin);
                self.does(Deed::Pick, object)?;
                self.does(Deed::Wake, object)?;
                self.emit(Instr::AtomicEnd);
                return Ok(());
            }
            "wait" => return self.wait(object, rest),
            _ => return Err(format!("{verb} is no operation")),
        };
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        self.does(deed, object)?;
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    fn wait(&mut self, object: &Place, lock: &[Place]) -> Done {
        let lock_step = |lock: &Place, locks| {
            if locks {
                Stmt::new(Kind::Lock(lock.clone()))
            } else {
                Stmt::new(Kind::Unlock(lock.clone()))
            }
        };
        self.emit(Instr::Yield);
        match lock {
            [] => self.does(Deed::Arrive, object)?,
            [lock, ..] => {
                self.emit(Instr::AtomicBegin);
                self.block(&[lock_step(lock, false)])?;
                self.does(Deed::Enlist, object)?;
                self.emit(Instr::AtomicEnd);
            }
        }
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        let leaves = self.spurious.contains(&object.name);
        self.does(if leaves { Deed::Leave } else { Deed::Woken }, object)?;
        if let [lock, ..] = lock {
            self.block(&[lock_step(lock, true)])?;
        }
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    /// `let ok = try s`
    pub(super) fn try_(&mut self, kept: &Kept, tried: &Stmt) -> Done {
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
            return self.keep(kept, slot);
        }
        self.emit(Instr::Trying(true));
        match &tried.kind {
            Kind::Lock(_) => self.block(std::slice::from_ref(tried))?,
            Kind::Operate(verb, places) => self.operate(verb, places)?,
            Kind::Receive(channel, _) => self.does(Deed::Receive, channel)?,
            _ => return Err("this cannot be tried".into()),
        }
        // Leaves whether it was done on the stack.
        self.emit(Instr::Trying(false));
        self.emit(Instr::SetLocal(slot));
        if let Kind::Receive(channel, places) = &tried.kind {
            self.emit(Instr::Local(slot));
            let out = self.emit(Instr::JumpIfNot(0));
            self.received(channel, places)?;
            self.land(out);
        }
        self.keep(kept, slot)
    }

    /// Puts the result of a `try` where it goes, which ends the step.
    fn keep(&mut self, kept: &Kept, slot: usize) -> Done {
        let place = match kept {
            Kept::Place(place) => place.clone(),
            Kept::Let(name) => {
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

/// The capacity of a channel without one.
pub(super) const UNBOUNDED: i128 = 1 << 30;

/// The failure of giving back what is not held.
pub(super) const NOT_HELD: FailureKind = FailureKind::UnlockNotHeld;
