//! The tree of an exploration as a graph in the language of Graphviz.

use mazurka_core::record::{Leaf, Record, Tree};

use crate::tree::{details, ending, fill, scheduling, step, stroke, title};

/// Returns the tree as a `digraph`: states are nodes, steps are edges. Final states are double
/// boxes, deadlocks octagons, failures double octagons, and blocked runs, which another run covers,
/// dashed circles. If the search has reversed a race, its two steps have the same colour and the
/// number of the race, and the step that was moved before the other is dashed.
pub fn dot(record: &Record, tree: &Tree) -> String {
    let mut text = String::from("digraph exploration {\n");
    text += &format!("  label={};\n", quoted(&title(record, tree)));
    text += "  labelloc=t;\n";
    text += "  node [shape=circle, width=0.15, label=\"\", fontname=monospace, fontsize=10];\n";
    text += "  edge [fontname=monospace, fontsize=10, arrowsize=0.6];\n";
    for (at, node) in tree.nodes.iter().enumerate() {
        let mut options = vec![format!("tooltip={}", quoted(&details(node)))];
        if let Some(leaf) = node.leaf {
            options.push(format!("shape={}", shape(leaf)));
            options.push(format!("label={}", quoted(&ending(node).join("\n"))));
            let style = match leaf {
                Leaf::Blocked | Leaf::Cut => "\"filled,dashed\"",
                _ => "filled",
            };
            options.push(format!("style={style}, fillcolor=\"{}\"", fill(leaf)));
            options.extend((leaf == Leaf::Final).then(|| "peripheries=2".to_owned()));
        } else if node.mishap.is_some() {
            let colour = fill(Leaf::Failure);
            options.push(format!("style=filled, fillcolor=\"{colour}\""));
        } else if let Some(colour) = scheduling(tree, node) {
            options.push(format!("style=filled, fillcolor=\"{colour}\""));
        }
        text += &format!("  n{at} [{}];\n", options.join(", "));
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        let Some(parent) = node.parent else { continue };
        let mut options = vec![format!("label={}", quoted(&step(node)))];
        let (colour, moved) = stroke(node);
        if let Some(colour) = colour {
            options.push(format!("color=\"{colour}\", fontcolor=\"{colour}\""));
        }
        options.extend(moved.then(|| "style=dashed".to_owned()));
        text += &format!("  n{parent} -> n{at} [{}];\n", options.join(", "));
    }
    text += "}\n";
    text
}

pub(crate) fn shape(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Final => "box",
        Leaf::Deadlock => "octagon",
        Leaf::Failure => "doubleoctagon",
        Leaf::Discarded => "diamond",
        Leaf::Blocked => "circle",
        Leaf::Cut => "triangle",
    }
}

/// Returns a string quoted for DOT.
pub(crate) fn quoted(text: &str) -> String {
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = escaped.replace(harmful, "\u{fffd}");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ c\nd"), r#""a \"b\" \\ c\nd""#);
        assert_eq!(quoted("a\x1b[2Jb\r"), "\"a\u{fffd}[2Jb\u{fffd}\"");
    }
}
