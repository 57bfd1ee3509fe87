//! The processes of a state. A step copies only the processes that it changes; the states before
//! and after it share the others.

use std::ops::Index;
use std::rc::Rc;

use super::machine::Process;

/// Processes by number, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Table(Vec<(usize, Rc<Process>)>);

impl Table {
    fn find(&self, number: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, number: &usize) -> Option<&Process> {
        self.find(*number).ok().map(|at| &*self.0[at].1)
    }

    /// Returns the process, to change it in this state only; a shared process is copied first.
    pub(super) fn get_mut(&mut self, number: &usize) -> Option<&mut Process> {
        let at = self.find(*number).ok()?;
        Some(Rc::make_mut(&mut self.0[at].1))
    }

    pub(super) fn insert(&mut self, number: usize, process: Process) {
        let process = (number, Rc::new(process));
        match self.find(number) {
            Ok(at) => self.0[at] = process,
            Err(at) => self.0.insert(at, process),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Process)> {
        self.0.iter().map(|(number, process)| (*number, &**process))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(number, _)| *number)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Process> {
        self.0.iter().map(|(_, process)| &**process)
    }
}

impl Index<&usize> for Table {
    type Output = Process;

    fn index(&self, number: &usize) -> &Process {
        self.get(number).expect("a process of the state")
    }
}
