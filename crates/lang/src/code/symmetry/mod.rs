//! Finds interchangeable processes of one `process p (i in a..b)` in a checked program.
//!
//! Ip, Dill, *Better verification through symmetry*, Formal Methods in System Design 9, 1996: a
//! *scalarset* is a type whose values are only compared with `==` and `!=`, assigned, and used as
//! subscripts. Then each permutation of its values is an automorphism of the graph of states.
//!
//! | paper | here |
//! |---|---|
//! | scalarset | [`PlaceKind::Value`], values of `i`; [`PlaceKind::Process`], process numbers |
//! | the restrictions on scalarsets | [`rename`] refuses any other use of a member |
//! | permutation π, π(s) | a labelling, an image (`run/machine/images.rs`) |
//!
//! In the paper the user declares the types. Here they are guessed and then checked:
//!
//! 1. [`typing`] guesses the kind of each variable, dimension and local: the place holds, or is
//!    subscripted by, plain numbers or members. Places between which values flow form a class. A
//!    class holds members if its constants, which the checker has substituted for `i`, distinguish
//!    the processes.
//! 2. [`rename`] walks through the whole program with two members exchanged, which also exchanges
//!    the constants that stand for them. It rejects uses that a scalarset forbids, so a wrong guess
//!    does no harm. The result must be the same program with the two processes exchanged: then the
//!    exchange is an automorphism. The operands of `&&`, `||`, `+`, `*`, `==` and `!=` may be
//!    exchanged if they cannot fail and are evaluated in one step. So `forall j in 0..N: …` over
//!    the whole range is unchanged, but a `forall` over a part of it is not.
//! 3. The initial values must be the same, and the code of the two processes must have its marks,
//!    calls and live locals at the same places.
//!
//! The exchanges that pass generate a group of permutations. The code calls a set of members that
//! can be exchanged with each other a *group* too. For example, a leader is not in the group of the
//! other members. All exchanges use one typing, so they act on states in one way, and their
//! products are automorphisms.
//!
//! Deviations from the paper:
//!
//! - Other constants may appear beside members, such as −1 for "none"; no permutation moves them.
//! - A comparison of a member with a constant is allowed if its result is the same for all members,
//!   such as the bounds of a range `0..N`.
//! - The free places of a channel hold 0, whatever its messages are. These zeros are never read,
//!   and no permutation moves them.
//! - Families of the same range whose numbers flow together, such as `client (i in 0..N)` and
//!   `server (i in 0..N)`, are permuted together.
//!
//! No symmetry is found in programs with inputs, unknown initial values or a `spec object`, in
//! families of more than 64 members, and for processes that start other processes. Operands of `<`,
//! `min` and `max` are not symmetric. `for` counts upwards, so its counter is not symmetric, unless
//! the loop goes over all members in one step and its iterations can run in any order ([`loops`]).
//! Under `atomicity access`, temporaries keep parts of a statement between its steps. So in this
//! mode, outside of guards and `atomic` blocks, only constants and locals that are not part of a
//! larger expression may be members.

mod loops;
mod rename;
mod typing;

use mazurka_core::Fingerprint;
use smallvec::SmallVec;

use crate::check::hir::{Process, Program, Stmt, StmtKind};
use crate::code::{Code, Counting, Op};
use rename::{Renamed, Swap};
use typing::Typing;

/// The kind of a place: the numbers that it holds, or that subscript it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// Numbers that no permutation changes.
    Plain,
    /// Members of a family, or of several linked families, as values of `i`.
    Value(u32),
    /// The number of a process, plus this offset.
    Process(i64),
}

/// The instances of one `process p (i in a..b)`.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The number of its first process. The other processes have the next numbers.
    pub first: u32,
    /// The number of its processes.
    pub count: u32,
    /// The value of `i` in the first process.
    pub least: i64,
}

impl Family {
    /// Returns the least value of `i`, and the number of its values.
    fn range(&self) -> (i64, u32) {
        (self.least, self.count)
    }

    /// Whether a process belongs to the family.
    fn has(&self, process: u32) -> bool {
        (self.first..self.first + self.count).contains(&process)
    }
}

/// Maximum number of processes in a family for which symmetry is searched.
const MOST_MEMBERS: u32 = 64;
/// A member gets a label, and labels may be greater than all members. This is the offset of the
/// values that stand for such labels. It is far from the values of programs.
const FAR: i64 = 1 << 48;

/// The interchangeable members of a program.
#[derive(Clone, Debug)]
pub(crate) struct Symmetry {
    /// The number of members of each group.
    pub groups: Vec<u32>,
    /// For each initial process that is a member, its family and its member.
    processes: Vec<Option<(u32, u32)>>,
    /// For each family, the process of each member; `u32::MAX` for members without a process.
    of_family: Vec<Vec<u32>>,
    /// For each family: the least value of `i`, and the members by their value of `i`.
    values: Vec<(i64, Vec<Option<u32>>)>,
    /// For each member, its index in the range of its family.
    indices: Vec<u32>,
    /// The cells that permutations move or change.
    pub moved: Vec<CellImage>,
    /// The other cells.
    pub unmoved: Vec<u32>,
    /// For each body, the kinds of its slots; empty if all are plain.
    pub slots: Vec<Vec<SlotImage>>,
    /// Whether processes that are not members may hold members in their locals.
    pub all_processes: bool,
    /// For each instruction, the corresponding instruction of the first member of its group.
    pub places: Vec<u32>,
}

/// The effect of a permutation on a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellImage {
    pub cell: u32,
    /// The first cell of its variable.
    pub first: u32,
    /// The indices of the cell, with their kinds and strides.
    pub coordinates: SmallVec<[(i64, PlaceKind, u32); 2]>,
    pub holds: CellContent,
}

impl CellImage {
    /// Returns the image of an array element, given by its index in the flat array.
    fn new(first: u32, offset: u32, dims: &[u32], kinds: &[PlaceKind], holds: CellContent) -> Self {
        let coordinates = typing::coordinates(dims, offset.into());
        let strides = (0..dims.len()).map(|dim| dims[dim + 1..].iter().product());
        let coordinates = coordinates.into_iter().zip(kinds).zip(strides);
        Self {
            cell: first + offset,
            first,
            coordinates: coordinates
                .map(|((at, &kind), stride)| (at, kind, stride))
                .collect(),
            holds,
        }
    }
}

/// The effect of a permutation on a slot.
#[derive(Clone, Debug)]
pub(crate) enum SlotImage {
    /// A permutation changes the value of the slot.
    Held(PlaceKind),
    /// The slot is an element of an array that is subscripted by members.
    Element(CellImage),
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellContent {
    Of(PlaceKind),
    /// The owner of a lock.
    Owner,
    /// A place of a channel: the kind of the message, the cell with the number of messages, and the
    /// index of this place. It holds a message if there are more messages than this index.
    Message(PlaceKind, u32, i64),
}

impl Symmetry {
    /// Returns the family and the member of an initial process.
    pub fn member(&self, process: u32) -> Option<(u32, u32)> {
        *self.processes.get(process as usize)?
    }

    /// Returns the process of a family that has this label.
    pub fn process(&self, family: u32, label: u32) -> Option<u32> {
        let process = self.of_family[family as usize].get(label as usize);
        process.copied().filter(|&process| process != u32::MAX)
    }

    /// Returns a value with labels in place of members.
    #[inline]
    pub fn renamed(&self, kind: PlaceKind, value: i64, labels: &[u32]) -> i64 {
        match kind {
            PlaceKind::Plain => value,
            PlaceKind::Value(family) => {
                let (least, members) = &self.values[family as usize];
                let index = value.checked_sub(*least);
                let index = index.and_then(|index| usize::try_from(index).ok());
                let member = index.and_then(|index| members.get(index).copied().flatten());
                let Some(member) = member else { return value };
                let label = labels[member as usize];
                match self.indices.get(label as usize) {
                    Some(&index) => least + i64::from(index),
                    None => FAR + i64::from(label),
                }
            }
            PlaceKind::Process(plus) => {
                let number = value.checked_sub(plus);
                let number = number.and_then(|number| u32::try_from(number).ok());
                let member = number.and_then(|number| self.member(number));
                let Some((family, member)) = member else {
                    return value;
                };
                let label = labels[member as usize];
                match self.process(family, label) {
                    Some(process) => i64::from(process) + plus,
                    None => FAR + (i64::from(family) << 32) + i64::from(label),
                }
            }
        }
    }

    /// Returns the index of a cell as a fingerprint, with labels in place of members.
    #[inline]
    pub fn position(&self, image: &CellImage, labels: &[u32]) -> Fingerprint {
        let part = Fingerprint::EMPTY.then(u64::from(image.first));
        image.coordinates.iter().fold(part, |part, &(at, kind, _)| {
            part.then(self.renamed(kind, at, labels) as u64)
        })
    }

    /// Returns the image of a cell under a permutation.
    pub fn target(&self, image: &CellImage, labels: &[u32]) -> usize {
        let offset: i64 = image
            .coordinates
            .iter()
            .map(|&(at, kind, stride)| self.renamed(kind, at, labels) * i64::from(stride))
            .sum();
        image.first as usize + offset as usize
    }

    /// Returns the content of a cell other than the owner of a lock, with labels in place of
    /// members.
    #[inline]
    pub fn value(&self, image: &CellImage, cells: &[i64], labels: &[u32]) -> i64 {
        let value = cells[image.cell as usize];
        match image.holds {
            CellContent::Of(kind) => self.renamed(kind, value, labels),
            CellContent::Message(kind, count, at) if cells[count as usize] > at => {
                self.renamed(kind, value, labels)
            }
            CellContent::Message(..) | CellContent::Owner => value,
        }
    }

    /// Whether a permutation preserves the initial values.
    fn keeps(&self, cells: &[i64], labels: &[u32]) -> bool {
        let sum = |labels: &[u32]| {
            let parts = self.moved.iter().map(|image| {
                let value = self.value(image, cells, labels);
                self.position(image, labels).then(value as u64)
            });
            parts.fold(Fingerprint::ZERO, Fingerprint::and)
        };
        let identity: Vec<u32> = (0..labels.len() as u32).collect();
        sum(labels) == sum(&identity)
    }
}

/// Finds the interchangeable members of a program; `None` if there are none.
pub(crate) fn analyse(code: &Code) -> Option<Symmetry> {
    let program = code.program();
    let known = program.vars.iter().all(|var| var.init.is_some());
    if !known || code.linear.is_some() || program.linearizable.is_some() {
        return None;
    }
    let families = families(program);
    if families.is_empty() {
        return None;
    }
    let typing = Typing::guess(program, families);
    let plain = Renamed::new(program, &typing, None)?;
    let mut classes: Vec<Vec<(u32, u32)>> = Vec::new();
    for link in typing.links() {
        let first = classes.len();
        let (_, count) = typing.families[link as usize].range();
        for index in 0..count {
            let exchanged = |other: u32| {
                let swap = Swap::new(&typing, link, [other, index]);
                aligned(code, &swap.processes)
                    && Renamed::new(program, &typing, Some(&swap))
                        .is_some_and(|renamed| same(code, &plain, &renamed, &swap))
                    && {
                        let pair = vec![vec![(link, other), (link, index)]];
                        Symmetry::from_groups(code, &typing, &pair).keeps(&code.initial, &[1, 0])
                    }
            };
            let mut own = classes[first..].iter_mut();
            match own.find(|class| exchanged(class[0].1)) {
                Some(class) => class.push((link, index)),
                None => classes.push(vec![(link, index)]),
            }
        }
    }
    classes.retain(|class| class.len() > 1);
    (!classes.is_empty()).then(|| Symmetry::from_groups(code, &typing, &classes))
}

/// Whether exchanging two members in a program gives the program with their processes exchanged.
fn same(code: &Code, plain: &Renamed, renamed: &Renamed, swap: &Swap) -> bool {
    let mut processes = plain.processes.clone();
    for &[a, b] in &swap.processes {
        processes.swap(a as usize, b as usize);
    }
    let sorted = |mut all: Vec<Fingerprint>| {
        all.sort_unstable();
        all
    };
    let properties = |all: &Renamed| match code.counting {
        Counting::All | Counting::Stated => {
            [sorted(all.invariants.clone()), sorted(all.ensures.clone())]
        }
        Counting::Invariant(_) => [all.invariants.clone(), all.ensures.clone()],
    };
    processes == renamed.processes
        && plain.procedures == renamed.procedures
        && properties(plain) == properties(renamed)
}

/// Returns the families of a program whose processes start no other processes.
fn families(program: &Program) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let processes = &program.processes;
    let mut at = 0;
    while at < processes.len() {
        let first = &processes[at];
        let Some(least) = first.instance else {
            at += 1;
            continue;
        };
        let follows = |(k, one): &(usize, &Process)| {
            one.name == first.name && one.instance == Some(least + *k as i64)
        };
        let members = processes[at..].iter().enumerate().take_while(follows);
        let count = members.count();
        let members = &processes[at..at + count];
        let alike = members.iter().all(|one| {
            let locals = one.frame.locals.iter().map(|local| (local.ty, local.len));
            locals.eq(first.frame.locals.iter().map(|local| (local.ty, local.len)))
        });
        let starts = members.iter().any(|one| spawns(program, &one.body));
        if count > 1 && count as u32 <= MOST_MEMBERS && alike && !starts {
            families.push(Family {
                first: at as u32,
                count: count as u32,
                least,
            });
        }
        at += count;
    }
    families
}

/// Whether statements may start a process, directly or by a call. A call counts if any procedure of
/// the program starts a process.
fn spawns(program: &Program, body: &[Stmt]) -> bool {
    let has = |stmts: &mut dyn Iterator<Item = &Stmt>, wanted: fn(&StmtKind) -> bool| {
        let mut found = false;
        stmts.for_each(|stmt| stmt.walk(&mut |stmt| found |= wanted(&stmt.kind)));
        found
    };
    let spawns = |kind: &StmtKind| matches!(kind, StmtKind::Spawn(..));
    let calls = |kind: &StmtKind| matches!(kind, StmtKind::Call(..));
    let mut procedures = program.procedures.iter().flat_map(|one| &one.body);
    has(&mut body.iter(), spawns) || has(&mut body.iter(), calls) && has(&mut procedures, spawns)
}

/// Returns the instructions of a process that starts no other process.
fn body(code: &Code, process: u32) -> std::ops::Range<u32> {
    let first = code.processes[process as usize].pc;
    let after = code.begins.partition_point(|(begin, _)| *begin <= first);
    let end = code
        .begins
        .get(after)
        .map_or(code.ops.len() as u32, |next| next.0);
    first..end
}

/// Whether the two processes of each pair have their marks, calls and live locals at the same
/// places.
fn aligned(code: &Code, pairs: &[[u32; 2]]) -> bool {
    pairs.iter().all(|&[one, other]| {
        let (one, other) = (body(code, one), body(code, other));
        one.len() == other.len()
            && one.zip(other).all(|(a, b)| {
                let alike = match (code.ops[a as usize], code.ops[b as usize]) {
                    (Op::Mark(_), Op::Mark(_)) | (Op::Open(_), Op::Open(_)) => true,
                    (Op::Call(p), Op::Call(q)) => p == q,
                    (Op::Mark(_) | Op::Open(_) | Op::Call(_), _) => false,
                    (_, Op::Mark(_) | Op::Open(_) | Op::Call(_)) => false,
                    _ => true,
                };
                alike && code.live.at(a) == code.live.at(b)
            })
    })
}

impl Symmetry {
    /// Returns the symmetry of the given groups. Each group lists members of linked families by
    /// their indices in the range.
    fn from_groups(code: &Code, typing: &Typing, groups: &[Vec<(u32, u32)>]) -> Self {
        let program = code.program();
        let families = &typing.families;
        let mut symmetry = Self {
            groups: groups.iter().map(|group| group.len() as u32).collect(),
            processes: vec![None; program.processes.len()],
            of_family: vec![Vec::new(); families.len()],
            values: families
                .iter()
                .map(|family| (family.least, vec![None; family.count as usize]))
                .collect(),
            indices: Vec::new(),
            moved: Vec::new(),
            unmoved: Vec::new(),
            slots: typing.slots(code),
            all_processes: typing.has_locals(),
            places: (0..code.ops.len() as u32).collect(),
        };
        let members: u32 = symmetry.groups.iter().sum();
        for family in &mut symmetry.of_family {
            family.resize(members as usize, u32::MAX);
        }
        for group in groups {
            let representative = group[0].1;
            for &(link, index) in group {
                let member = symmetry.indices.len() as u32;
                symmetry.indices.push(index);
                for family in typing.linked(link) {
                    let Family { first, .. } = families[family as usize];
                    let process = first + index;
                    symmetry.processes[process as usize] = Some((family, member));
                    symmetry.of_family[family as usize][member as usize] = process;
                    symmetry.values[family as usize].1[index as usize] = Some(member);
                    let representative_body = body(code, first + representative);
                    for (pc, place) in body(code, process).zip(representative_body) {
                        symmetry.places[pc as usize] = place;
                    }
                }
            }
        }
        symmetry.add_cells(code, typing);
        symmetry
    }

    fn add_cells(&mut self, code: &Code, typing: &Typing) {
        let program = code.program();
        for at in 0..program.vars.len() {
            let dims = typing::dims(&program.vars[at].shape, program.vars[at].len);
            let first = code.first_cells[at];
            self.add_variable(first, &dims, &typing.dims[at], |coordinates| {
                let kind = typing.vars[at];
                let message = typing
                    .message(at as u32)
                    .filter(|_| kind != PlaceKind::Plain);
                let Some((count, depth)) = message else {
                    return CellContent::Of(kind);
                };
                // The indices of the channel come before the index of the message.
                let flat = coordinates[..depth].iter().zip(&dims);
                let flat = flat.fold(0, |flat, (at, dim)| flat * i64::from(*dim) + at);
                let count = code.first_cells[count as usize] + flat as u32;
                CellContent::Message(kind, count, coordinates[depth])
            });
        }
        for (at, lock) in program.locks.iter().enumerate() {
            let dims: SmallVec<[u32; 2]> = lock.len.into_iter().collect();
            let kinds = [typing.locks[at]];
            let first = code.lock_cells[at];
            self.add_variable(first, &dims, &kinds[..dims.len()], |_| CellContent::Owner);
        }
    }

    fn add_variable(
        &mut self,
        first: u32,
        dims: &[u32],
        kinds: &[PlaceKind],
        holds: impl Fn(&[i64]) -> CellContent,
    ) {
        let count: u32 = dims.iter().product();
        for offset in 0..count {
            let held = holds(&typing::coordinates(dims, offset.into()));
            let moves = kinds.iter().any(|&kind| kind != PlaceKind::Plain);
            if moves || held != CellContent::Of(PlaceKind::Plain) {
                let image = CellImage::new(first, offset, dims, kinds, held);
                self.moved.push(image);
            } else {
                self.unmoved.push(first + offset);
            }
        }
    }
}
