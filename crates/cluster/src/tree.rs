//! The tree of parts that a coordinator knows so far: which parts have a result, and which are
//! open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::Progress;
use crate::ledger::checksum;
use crate::names::PartPath;

/// A part with a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DonePart {
    pub children: usize,
    pub executions: u64,
}

/// The known parts.
#[derive(Default)]
pub(crate) struct Tree {
    /// The checksums of the orders of all known parts.
    orders: HashMap<PartPath, String>,
    /// The parts without a result.
    open: BTreeSet<PartPath>,
    /// The parts with a result, in the order of the tree.
    done: BTreeMap<PartPath, DonePart>,
    /// The parts whose result arrived before that of their parents.
    early: HashSet<PartPath>,
    executions: u64,
}

impl Tree {
    pub fn new(root: &[u8]) -> Self {
        let mut tree = Self::default();
        tree.add(PartPath::root(), root);
        tree
    }

    /// Adds a part, if it is not known. Returns whether its result has arrived before.
    fn add(&mut self, path: PartPath, order: &[u8]) -> bool {
        if self.orders.contains_key(&path) {
            return false;
        }
        self.orders.insert(path.clone(), checksum(order));
        let early = self.early.remove(&path);
        self.open.insert(path);
        early
    }

    /// Called with the path of a result that has arrived. Returns the checksum of the order of the
    /// part, if the part is known. Otherwise records that the result has arrived early.
    pub fn order_of(&mut self, path: &PartPath) -> Option<&String> {
        if !self.orders.contains_key(path) {
            self.early.insert(path.clone());
        }
        self.orders.get(path)
    }

    pub fn is_done(&self, path: &PartPath) -> bool {
        self.done.contains_key(path)
    }

    /// Records the result of a part, and adds its children. Returns the children whose results
    /// arrived early.
    pub fn complete(
        &mut self,
        path: &PartPath,
        orders: &[Vec<u8>],
        executions: u64,
    ) -> Vec<PartPath> {
        self.open.remove(path);
        let node = DonePart {
            children: orders.len(),
            executions,
        };
        if let Some(before) = self.done.insert(path.clone(), node) {
            self.executions -= before.executions;
        }
        self.executions = self.executions.saturating_add(executions);
        let mut early = Vec::new();
        for (k, order) in orders.iter().enumerate() {
            let child = path.child(k);
            if self.add(child.clone(), order) {
                early.push(child);
            }
        }
        early
    }

    /// Drops the invalid result of a part.
    pub fn reopen(&mut self, path: &PartPath) {
        if let Some(node) = self.done.remove(path) {
            self.executions -= node.executions;
        }
        self.open.insert(path.clone());
    }

    /// Returns the parts without a result.
    pub fn open(&self) -> &BTreeSet<PartPath> {
        &self.open
    }

    /// Returns the parts with a result, in the order of the tree.
    pub fn done(&self) -> &BTreeMap<PartPath, DonePart> {
        &self.done
    }

    pub fn progress(&self, connected: bool) -> Progress {
        Progress {
            done: self.done.len() as u64,
            open: self.open.len() as u64,
            executions: self.executions,
            connected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_grows_in_any_order() {
        let orders = [b"a".to_vec(), b"b".to_vec()];
        let (root, mut tree) = (PartPath::root(), Tree::new(b"all"));
        let (a, b) = (root.child(0), root.child(1));
        // The second child is done before its parent is known to be cut.
        assert_eq!(tree.order_of(&b), None);
        assert_eq!(tree.order_of(&root), Some(&checksum(b"all")));
        assert_eq!(tree.complete(&root, &orders, 0), [b.clone()]);
        assert_eq!(tree.open().iter().collect::<Vec<_>>(), [&a, &b]);
        assert_eq!(tree.order_of(&b), Some(&checksum(b"b")));
        assert_eq!(tree.complete(&b, &[], 5), []);
        tree.complete(&a, &[], 3);
        assert_eq!(tree.progress(true).executions, 8);
        assert!(tree.open().is_empty());
        assert_eq!(tree.done().keys().collect::<Vec<_>>(), [&root, &a, &b]);
        tree.reopen(&a);
        assert_eq!(tree.progress(true).executions, 5);
        assert_eq!((tree.open().len(), tree.is_done(&a)), (1, false));
    }
}
