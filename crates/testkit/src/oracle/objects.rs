//! Semaphores, reader–writer locks, condition variables, barriers and `try`, as docs/language.md
//! describes them. An object is a number, a set of processes and one process.

use std::collections::BTreeSet;

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
}

/// What comes of it.
pub(super) enum Came {
    Done,
    Blocked,
    NotHeld,
    /// One of these goes on the stack.
    OneOf(Vec<i128>),
}

impl Object {
    /// Lets a process do something; `top` is taken from the stack where it is needed.
    pub(super) fn does(&mut self, deed: Deed, me: usize, top: &mut Vec<i128>) -> Came {
        let possible = match deed {
            Deed::Acquire => self.count > 0,
            Deed::ReadLock => self.writer.is_none() && !self.members.contains(&me),
            Deed::WriteLock => self.writer.is_none() && self.members.is_empty(),
            Deed::Woken => !self.members.contains(&me),
            _ => true,
        };
        if !possible {
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
    /// The declaration of an object, if one stands here.
    pub(super) fn object_item(&mut self) -> Parsed<Option<Vec<ItemKind>>> {
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
            let value = match parser.has("=") {
                true => Some(parser.expr()?),
                false => None,
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
        match name.is_empty() {
            true => Err("an object without name".into()),
            false => Ok(Meaning::Object { base, len }),
        }
    }

    /// Pushes the index of an object, and gives where its array begins and how long it is.
    fn object_at(&mut self, place: &Place) -> Done<(usize, usize)> {
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
        self.does(deed, object)
    }

    fn wait(&mut self, object: &Place, lock: &[Place]) -> Done {
        let lock_step = |lock: &Place, locks| match locks {
            true => Stmt::new(Kind::Lock(lock.clone())),
            false => Stmt::new(Kind::Unlock(lock.clone())),
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
        self.emit(Instr::Trying(true));
        match &tried.kind {
            Kind::Lock(_) => self.block(std::slice::from_ref(tried))?,
            Kind::Operate(verb, places) => self.operate(verb, places)?,
            _ => return Err("this cannot be tried".into()),
        }
        // Leaves whether it was done on the stack.
        self.emit(Instr::Trying(false));
        self.emit(Instr::SetLocal(slot));
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

/// The failure of giving back what is not held.
pub(super) const NOT_HELD: FailureKind = FailureKind::UnlockNotHeld;
