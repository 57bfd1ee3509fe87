//! The tree of an exploration as a folding list in HTML, for trees that are too large for a
//! picture.
//!
//! The element contains the tree as data. The script of the page (html/view.js) makes rows only for
//! the unfolded parts, so a tree of a hundred thousand states opens at once.

use std::collections::HashMap;

use mazurka_core::record::{Leaf, Tree};
use serde::Serialize;

use crate::html::inert;
use crate::tree::name;

/// The tree in a compact form.
#[derive(Serialize)]
struct Outline<'a> {
    /// The different steps: process, label, and mishap.
    steps: Vec<(&'a str, &'a str, &'a str)>,
    /// The names of endings.
    endings: Vec<&'static str>,
    /// For each state except the first: the index of the state before it, the index of the step
    /// that leads to it, and its ending. The ending is 0 if the run does not end in this state;
    /// otherwise it is an index into `endings`, counted from 1.
    states: Vec<(usize, usize, usize)>,
}

const ENDINGS: [Leaf; 6] = [
    Leaf::Final,
    Leaf::Deadlock,
    Leaf::Failure,
    Leaf::Discarded,
    Leaf::Blocked,
    Leaf::Cut,
];

/// Returns the tree as HTML.
///
/// ```
/// use mazurka_core::record::Tree;
/// assert!(mazurka_report::outline_html(&Tree::default()).contains("class=\"tree\""));
/// ```
pub fn outline_html(tree: &Tree) -> String {
    let mut steps = Vec::new();
    let mut known = HashMap::new();
    let mut states = Vec::with_capacity(tree.nodes.len());
    for node in tree.nodes.iter().skip(1) {
        let mishap = node.mishap.as_deref().unwrap_or_default();
        let step = (node.process.as_str(), node.label.as_str(), mishap);
        let number = *known.entry(step).or_insert_with(|| {
            steps.push(step);
            steps.len() - 1
        });
        let ending = ENDINGS.iter().position(|&leaf| node.leaf == Some(leaf));
        let ending = ending.map_or(0, |at| at + 1);
        states.push((node.parent.unwrap_or(0), number, ending));
    }
    let outline = Outline {
        steps,
        endings: ENDINGS.map(name).to_vec(),
        states,
    };
    // Serialising texts and numbers cannot fail.
    let json = serde_json::to_string(&outline).unwrap_or_default();
    format!(
        "<h2>The tree that the search has explored</h2>\n\
         <div class=\"tree\"><script type=\"application/json\">{}</script></div>\n",
        inert(&json)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::record::TreeNode;

    #[test]
    fn equal_steps_are_written_once_and_stay_text() {
        let node = |parent: Option<usize>, label: &str, leaf| TreeNode {
            parent,
            process: "p".to_owned(),
            label: label.to_owned(),
            state: Vec::new(),
            mishap: None,
            races: Vec::new(),
            leaf,
            branches: false,
        };
        let tree = Tree {
            nodes: vec![
                node(None, "", None),
                node(Some(0), "</script>", None),
                node(Some(1), "x", Some(Leaf::Final)),
                node(Some(0), "x", Some(Leaf::Failure)),
            ],
        };
        let text = outline_html(&tree);
        assert_eq!(text.matches("</script>").count(), 1, "its own end");
        let (_, json) = text.split_once("json\">").expect("data");
        let (json, _) = json.split_once("</script>").expect("an end");
        let data: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(data["steps"][0][1], "</script>");
        assert_eq!(
            data["states"],
            serde_json::json!([[0, 0, 0], [1, 1, 1], [0, 1, 3]])
        );
    }
}
