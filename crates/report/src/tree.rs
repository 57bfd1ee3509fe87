//! The parts that the pictures of an exploration tree have in common (`svg.rs` and `dot.rs`):
//! children, labels and colours.

use mazurka_core::record::{Leaf, Record, Tree, TreeNode};

use crate::events::bindings;
use crate::{clip, counted};

/// Limit on the length of labels, so that one long label does not widen the picture.
const LABEL_WIDTH: usize = 40;

/// Colours of races; consecutive ones differ.
const COLOURS: [&str; 6] = [
    "#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65",
];

/// Returns the children of each node, in the order in which they were explored.
pub(crate) fn children(tree: &Tree) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children[parent].push(at);
        }
    }
    children
}

/// Returns the title: the program and the counts.
pub(crate) fn title(record: &Record, tree: &Tree) -> String {
    let counts = &record.counts;
    let mut parts = vec![counted(counts.executions, "execution", "executions")];
    parts.extend(counts.traces.map(|n| counted(n, "trace", "traces")));
    parts.extend((counts.blocked > 0).then(|| format!("{} blocked", counts.blocked)));
    parts.push(counted(tree.nodes.len() as u64, "state", "states"));
    let file = &record.program.file;
    format!("{file}: {}: {}", record.algorithm, parts.join(", "))
}

/// Returns `process: label`, and the numbers of the races that the step is part of.
pub(crate) fn step(node: &TreeNode) -> String {
    let mut text = clip(&format!("{}: {}", node.process, node.label), LABEL_WIDTH);
    for race in &node.races {
        text += &format!(" ⇄{}", race.number);
    }
    text
}

/// Returns the schedule that leads to a state.
pub(crate) fn schedule(tree: &Tree, mut at: usize) -> String {
    let mut steps = Vec::new();
    while let Some(node) = tree.nodes.get(at)
        && let Some(parent) = node.parent
    {
        steps.push(node.process.as_str());
        at = parent;
    }
    steps.reverse();
    steps.join(" ")
}

/// Returns the step in full, with its result.
pub(crate) fn details(node: &TreeNode) -> String {
    let mut parts = Vec::new();
    if node.parent.is_some() {
        parts.push(format!("{}: {}", node.process, node.label));
    }
    parts.extend(node.mishap.clone());
    parts.push(if node.state.is_empty() {
        "no shared variables".to_owned()
    } else {
        bindings(&node.state)
    });
    parts.join("\n")
}

/// Returns the text at a leaf: how the run ends, and with which values.
pub(crate) fn ending(node: &TreeNode) -> Vec<String> {
    let Some(leaf) = node.leaf else {
        return Vec::new();
    };
    let mut lines = vec![name(leaf).to_owned()];
    lines.extend(node.mishap.as_ref().map(|text| clip(text, LABEL_WIDTH)));
    if matches!(leaf, Leaf::Final | Leaf::Deadlock | Leaf::Failure) && !node.state.is_empty() {
        lines.push(clip(&bindings(&node.state), LABEL_WIDTH));
    }
    lines
}

/// Returns an ending in a word.
pub(crate) fn name(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Final => "final",
        Leaf::Deadlock => "deadlock",
        Leaf::Failure => "failure",
        Leaf::Discarded => "discarded",
        Leaf::Blocked => "blocked",
        Leaf::Cut => "cut",
    }
}

/// Returns the colour of an ending.
pub(crate) fn fill(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Final => "#d5f5e3",
        Leaf::Deadlock => "#fdebd0",
        Leaf::Failure => "#fadbd8",
        Leaf::Discarded | Leaf::Blocked | Leaf::Cut => "#f2f3f4",
    }
}

/// Returns a darker colour for a state at which the schedule decides how the run continues, if the
/// tree also has states at which an input decides, as in the pictures of the unfolding thesis. All
/// other states have the usual colour: `None`.
pub(crate) fn scheduling(tree: &Tree, node: &TreeNode) -> Option<&'static str> {
    let some_branch = tree.nodes.iter().any(|node| node.branches);
    (some_branch && !node.branches).then_some("#aeb6bf")
}

/// Returns how a step is drawn: its colour, if it is part of a race, and whether the search has
/// moved it before the other step of that race.
pub(crate) fn stroke(node: &TreeNode) -> (Option<&'static str>, bool) {
    let moved = node.races.iter().find(|race| race.reversed);
    let race = moved.or(node.races.first());
    let colour = race.map(|race| COLOURS[(race.number - 1) % COLOURS.len()]);
    (colour, moved.is_some())
}
