//! Fingerprints of the current state after a permutation of interchangeable processes. A
//! permutation gives each member of a group the label of a member of this group. States that a
//! permutation makes equal have the same future. `code/symmetry/mod.rs` finds the interchangeable
//! processes and the cells that a permutation moves.

use mazurka_core::{Fingerprint, ProcessId, Symmetric};

use super::Machine;
use crate::code::symmetry::{CellContent, CellImage, SlotImage, Symmetry};
use crate::run::state::{Life, Process};

/// The first word of the fingerprint of a member's name. No other name begins with it.
const MEMBER: u64 = u64::MAX - 1;

/// A machine whose program has interchangeable processes.
impl Symmetric for Machine {
    fn groups(&self) -> &[u32] {
        self.code
            .symmetry()
            .map_or(&[], |symmetry| &symmetry.groups)
    }

    fn unmoved(&self) -> Fingerprint {
        let Some(symmetry) = self.code.symmetry() else {
            return Fingerprint::ZERO;
        };
        let cells = symmetry.unmoved.iter().map(|&cell| {
            let value = self.state.cells[cell as usize];
            Fingerprint::EMPTY.then(u64::from(cell)).then(value as u64)
        });
        let cells = cells.fold(Fingerprint::ZERO, Fingerprint::and);
        let others = self.images(symmetry, &[], |moved| !moved);
        cells.and(others)
    }

    fn image(&self, labels: &[u32]) -> Fingerprint {
        let Some(symmetry) = self.code.symmetry() else {
            return Fingerprint::ZERO;
        };
        let cells = symmetry.moved.iter().map(|image| {
            let at = symmetry.position(image, labels);
            match image.holds {
                CellContent::Owner => self.owner(symmetry, image, at, labels),
                _ => {
                    let value = symmetry.value(image, &self.state.cells, labels);
                    at.then(value as u64)
                }
            }
        });
        let cells = cells.fold(Fingerprint::ZERO, Fingerprint::and);
        cells.and(self.images(symmetry, labels, |moved| moved))
    }

    fn observation_of(&self, labels: &[u32]) -> Fingerprint {
        let mut cells = self.state.cells.clone();
        if let Some(symmetry) = self.code.symmetry() {
            for image in &symmetry.moved {
                if image.holds != CellContent::Owner {
                    cells[symmetry.target(image, labels)] =
                        symmetry.value(image, &self.state.cells, labels);
                }
            }
        }
        self.observed(&cells)
    }

    fn process_of(&self, process: ProcessId, labels: &[u32]) -> ProcessId {
        let renamed = self.code.symmetry().and_then(|symmetry| {
            let (family, member) = symmetry.member(process.0)?;
            symmetry.process(family, labels[member as usize])
        });
        renamed.map_or(process, ProcessId)
    }
}

impl Machine {
    /// Returns the fingerprint of a lock: its place after the permutation, and its owner.
    fn owner(
        &self,
        symmetry: &Symmetry,
        image: &CellImage,
        at: Fingerprint,
        labels: &[u32],
    ) -> Fingerprint {
        match self.state.cells[image.cell as usize] {
            0 => at.then(0),
            owner => at.then_all(self.name(symmetry, owner as u32 - 1, labels)),
        }
    }

    /// Returns the fingerprint of a process's name; for a member, the fingerprint of its family and
    /// its label.
    fn name(&self, symmetry: &Symmetry, process: u32, labels: &[u32]) -> Fingerprint {
        match symmetry.member(process) {
            Some((family, member)) => Fingerprint::EMPTY
                .then(MEMBER)
                .then(family.into())
                .then(labels[member as usize].into()),
            None => self.table.name(ProcessId(process)),
        }
    }

    /// Returns the sum of the fingerprints of some processes: those that permutations change, or
    /// all others. `wanted` selects one of the two.
    fn images(
        &self,
        symmetry: &Symmetry,
        labels: &[u32],
        wanted: impl Fn(bool) -> bool,
    ) -> Fingerprint {
        let mut all = Fingerprint::ZERO;
        for (at, process) in self.state.processes.iter().enumerate() {
            let at = at as u32;
            let moved = symmetry.all_processes || symmetry.member(at).is_some();
            if process.registers.life != Life::Unborn && wanted(moved) {
                all = all.and(self.renamed_process(symmetry, at, process, labels));
            }
        }
        all
    }

    /// Returns the fingerprint of the data of a process that can matter later.
    fn renamed_process(
        &self,
        symmetry: &Symmetry,
        at: u32,
        process: &Process<i64, ()>,
        labels: &[u32],
    ) -> Fingerprint {
        let r = &process.registers;
        let mut all = self.name(symmetry, at, labels);
        if r.life != Life::Alive {
            return all.then(u64::MAX - r.life as u64);
        }
        let place = |pc: u32| u64::from(symmetry.places[pc as usize]);
        let (mut pc, mut frame) = (r.pc, r.frame as usize);
        all = all.then((u64::from(r.children) << 32) | place(pc));
        loop {
            let images = &symmetry.slots[self.code.bodies[pc as usize] as usize];
            let mut elements = Fingerprint::ZERO;
            for slot in self.code.live.at(pc) {
                let value = process.stack[frame + slot.at as usize];
                all = match images.get(slot.at as usize) {
                    _ if slot.handle => all.then_all(self.table.name(ProcessId(value as u32))),
                    None => all.then(value as u64),
                    Some(SlotImage::Held(kind)) => {
                        all.then(symmetry.renamed(*kind, value, labels) as u64)
                    }
                    Some(SlotImage::Element(image)) => {
                        let value = match image.holds {
                            CellContent::Of(kind) => symmetry.renamed(kind, value, labels),
                            CellContent::Owner | CellContent::Message(..) => value,
                        };
                        let at = symmetry.position(image, labels);
                        elements = elements.and(at.then(value as u64));
                        all
                    }
                };
            }
            if elements != Fingerprint::ZERO {
                all = all.then_all(elements);
            }
            if frame == 0 {
                return all;
            }
            pc = process.stack[frame - 2] as u32;
            frame = process.stack[frame - 1] as usize;
            all = all.then(place(pc));
        }
    }
}
