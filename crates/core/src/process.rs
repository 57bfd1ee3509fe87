//! Names of processes, which are the same in all equivalent executions.
//!
//! The name of a process ([`ProcessPath`]) is the name of its parent and its index among the
//! parent's children: `0.1` is the second child of process 0. Within one exploration, a process is
//! represented by a number ([`ProcessId`]), and a [`ProcessTable`] has the name for each number.

use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::Fingerprint;

/// A process as a small number, the same throughout one exploration. Numbers are assigned in the
/// order of discovery, so only a [`ProcessPath`] may be shown or compared across explorations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// Returns the number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name of a process: `0.1` is the second child of process `0`. Names are ordered component by
/// component, as numbers: `0 < 0.2 < 0.10 < 1`.
///
/// ```
/// use mazurka_core::ProcessPath;
/// let p: ProcessPath = "0.10".parse().unwrap();
/// assert!("0.2".parse::<ProcessPath>().unwrap() < p);
/// assert!(p < "1".parse().unwrap());
/// assert_eq!(p.to_string(), "0.10");
/// assert!("0..1".parse::<ProcessPath>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessPath(SmallVec<[u32; 4]>);

impl ProcessPath {
    /// Creates the path of the `k`-th initial process.
    pub fn root(k: u32) -> Self {
        Self(SmallVec::from_slice(&[k]))
    }

    /// Returns its numbers: the number of the initial process, then the index of each child.
    pub fn parts(&self) -> &[u32] {
        &self.0
    }

    /// Returns the path of its `k`-th child.
    pub fn child(&self, k: u32) -> Self {
        let mut path = self.0.clone();
        path.push(k);
        Self(path)
    }
}

impl fmt::Display for ProcessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, k) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            write!(f, "{k}")?;
        }
        Ok(())
    }
}

/// The error for a text that is not the name of a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseProcessError {
    /// The text is not a path.
    #[error("`{0}` is not a process name; write numbers separated by dots, such as `0` or `0.1`")]
    Path(String),
    /// The text is not one of the names in the source.
    #[error("{0}")]
    Name(String),
}

impl FromStr for ProcessPath {
    type Err = ParseProcessError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split('.')
            .map(|part| {
                let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
                let number = if digits { part.parse().ok() } else { None };
                number.ok_or_else(|| ParseProcessError::Path(text.to_owned()))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// The processes that an exploration has discovered so far, numbered in the order of discovery.
///
/// ```
/// use mazurka_core::{ProcessId, ProcessTable};
/// let mut table = ProcessTable::new(2);
/// let child = table.child(ProcessId(0), 1);
/// assert_eq!(child, ProcessId(2));
/// assert_eq!(table.child(ProcessId(0), 1), child);
/// assert_eq!(table.parent(child), Some(ProcessId(0)));
/// assert_eq!(table.parent(ProcessId(1)), None);
/// let names: Vec<_> = table.in_order().iter().map(|&p| table.path(p).to_string()).collect();
/// assert_eq!(names, ["0", "0.1", "1"]);
/// ```
#[derive(Clone, Debug)]
pub struct ProcessTable {
    paths: Vec<ProcessPath>,
    names: Vec<Fingerprint>,
    children: Vec<SmallVec<[Option<ProcessId>; 4]>>,
    in_order: Vec<ProcessId>,
}

impl ProcessTable {
    /// Creates a table with the processes `0 … roots-1`.
    pub fn new(roots: u32) -> Self {
        let mut table = Self {
            paths: Vec::new(),
            names: Vec::new(),
            children: Vec::new(),
            in_order: Vec::new(),
        };
        for k in 0..roots {
            table.add(ProcessPath::root(k));
        }
        table
    }

    /// Adds a process with a new number.
    fn add(&mut self, path: ProcessPath) -> ProcessId {
        let id = ProcessId(self.paths.len() as u32);
        let place = self
            .in_order
            .partition_point(|&p| self.paths[p.index()] < path);
        self.in_order.insert(place, id);
        let words = path.0.iter().map(|&k| u64::from(k) + 1);
        // The last word ends the name: no process has this number. Without it, a word that follows
        // the name in a fingerprint could be taken for a part of the name.
        let words = words.chain([u64::MAX]);
        self.names
            .push(words.fold(Fingerprint::EMPTY, Fingerprint::then));
        self.paths.push(path);
        self.children.push(SmallVec::new());
        id
    }

    /// Returns the `k`-th child of a process; assigns a number if it is new.
    pub fn child(&mut self, parent: ProcessId, k: u32) -> ProcessId {
        if let Some(child) = self.known_child(parent, k) {
            return child;
        }
        let id = self.add(self.paths[parent.index()].child(k));
        let children = &mut self.children[parent.index()];
        if children.len() <= k as usize {
            children.resize(k as usize + 1, None);
        }
        children[k as usize] = Some(id);
        id
    }

    /// Returns the `k`-th child of a process, if it has been discovered.
    pub fn known_child(&self, parent: ProcessId, k: u32) -> Option<ProcessId> {
        *self.children[parent.index()].get(k as usize)?
    }

    /// Returns the process that started a process; `None` for an initial process.
    pub fn parent(&self, process: ProcessId) -> Option<ProcessId> {
        let (_, before) = self.paths[process.index()].0.split_last()?;
        if before.is_empty() {
            None
        } else {
            self.find(&ProcessPath(SmallVec::from_slice(before)))
        }
    }

    /// Returns the number of discovered processes.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether no process has been discovered.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the name of a process.
    pub fn path(&self, process: ProcessId) -> &ProcessPath {
        &self.paths[process.index()]
    }

    /// Returns the name as a fingerprint, the same in every exploration.
    pub fn name(&self, process: ProcessId) -> Fingerprint {
        self.names[process.index()]
    }

    /// Returns the process of that name, if it has been discovered.
    pub fn find(&self, path: &ProcessPath) -> Option<ProcessId> {
        self.in_order
            .binary_search_by(|p| self.paths[p.index()].cmp(path))
            .ok()
            .map(|place| self.in_order[place])
    }

    /// Returns all processes, in the order of their names.
    pub fn in_order(&self) -> &[ProcessId] {
        &self.in_order
    }
}
