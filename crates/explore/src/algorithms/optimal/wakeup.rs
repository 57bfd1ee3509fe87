//! Wakeup trees. The tree of a state holds the sequences of steps that must still be run from
//! there; sequences with a common beginning share its nodes.
//!
//! All trees of a search are in one arena. A node takes 20 bytes, and freed nodes are reused.

use mazurka_core::ProcessId;

/// The outcomes of a step, as a number; 0 for a step without choices.
pub(crate) type Key = u32;

/// The next step of a process: its claims and its outcomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextStep {
    pub process: ProcessId,
    /// Its claims, by their number in the catalogue.
    pub claims: u32,
    /// In a wakeup tree: the outcomes that the branch is for.
    pub key: Key,
    /// Whether the process, while it sleeps, covers only sequences that contain its step: see the
    /// head of `optimal`.
    pub inherited: bool,
}

/// The index that means no node.
pub(crate) const NONE: u32 = u32::MAX;

/// A node of a wakeup tree, with its first child and its next sibling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub step: NextStep,
    /// The first branch of the state after the step, or [`NONE`].
    pub child: u32,
    /// The next branch of the same state, or [`NONE`].
    pub sibling: u32,
}

/// All wakeup trees, with a list of free nodes.
#[derive(Debug)]
pub(crate) struct Forest {
    pub nodes: Vec<Branch>,
    /// The first free node, or [`NONE`]; free nodes are linked by `sibling`.
    free: u32,
}

impl Forest {
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Returns the length of the arena and its first free node. The result changes when a node is
    /// added, unless another node is released.
    pub fn mark(&self) -> (usize, u32) {
        (self.nodes.len(), self.free)
    }

    pub fn add(&mut self, step: NextStep) -> u32 {
        let branch = Branch {
            step,
            child: NONE,
            sibling: NONE,
        };
        if self.free == NONE {
            self.nodes.push(branch);
            return self.nodes.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.nodes[at as usize].sibling;
        self.nodes[at as usize] = branch;
        at
    }

    /// Frees a list of siblings and all nodes below them.
    pub fn release_all(&mut self, mut at: u32) {
        while at != NONE {
            let Branch { child, sibling, .. } = self.nodes[at as usize];
            self.release(at);
            at = sibling;
            if child != NONE {
                // Children before siblings, without recursion, because trees may be deep.
                let mut last = child;
                while self.nodes[last as usize].sibling != NONE {
                    last = self.nodes[last as usize].sibling;
                }
                self.nodes[last as usize].sibling = at;
                at = child;
            }
        }
    }

    pub fn release(&mut self, at: u32) {
        self.nodes[at as usize].sibling = self.free;
        self.free = at;
    }
}
