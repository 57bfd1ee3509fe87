//! The tree of an exploration as an SVG picture, drawn without another program.
//!
//! The file also has the basic functions for SVG that other pictures use.
//!
//! Every leaf has a column. A state is right above its first child, the state that was explored
//! first from it. So every state is in the column of the first run through it. Its other children
//! start new columns to the right, and the lines to them begin at the height of the state. A column
//! is as wide as its text, and no two branches share a column, so nothing overlaps.

use mazurka_core::record::{Leaf, Record, Tree, TreeNode};

use crate::tree::{
    children, details, ending, fill, name, schedule, scheduling, step, stroke, title,
};

/// Sizes, in pixels. Monospaced letters of 12 pixels are 7.2 wide; glyphs from another font may be
/// wider.
pub(crate) const LETTER: f64 = 7.6;
pub(crate) const LINE: f64 = 15.0;
const ROW: f64 = 52.0;
const GAP: f64 = 28.0;
pub(crate) const MARGIN: f64 = 24.0;
pub(crate) const TITLE: f64 = 36.0;
const RADIUS: f64 = 6.0;

pub(crate) const INK: &str = "#2c3e50";
pub(crate) const PAPER: &str = "#ffffff";

/// Returns the tree as SVG, with a legend at the bottom.
pub fn svg(record: &Record, tree: &Tree) -> String {
    let layout = TreeLayout::new(tree);
    let heading = title(record, tree);
    let legend = Legend::new(tree);
    let deepest = layout.places.iter().map(|place| place.depth).max();
    let last = TITLE + deepest.unwrap_or(0) as f64 * ROW + 2.0 * MARGIN;
    let height = last + 4.0 * LINE + MARGIN + legend.height();
    let width = layout
        .width
        .max(MARGIN * 2.0 + text_width(&heading))
        .max(legend.width());
    let mut text = sheet(width, height);
    text += &text_element(MARGIN, MARGIN, &heading, "font-weight=\"bold\"");
    // Draw backwards, so that short branches come over longer ones of the same row.
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            text += &edge(node, layout.point(parent), layout.point(at));
        }
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        let (x, y) = layout.point(at);
        let drawn = state(tree, node, x, y);
        // The script of a page uses this schedule when the reader selects a state.
        text += &format!(
            "<g data-node=\"{at}\" data-schedule=\"{}\">{}</g>\n",
            escaped(&schedule(tree, at)),
            drawn.trim_end()
        );
        for (k, line) in ending(node).iter().enumerate() {
            let below = y + RADIUS + 14.0 + k as f64 * LINE;
            text += &text_element(x - RADIUS, below, line, "");
        }
    }
    text += &legend.draw(last + 4.0 * LINE);
    text += "</svg>\n";
    text
}

/// The position of a state.
struct StatePosition {
    column: usize,
    depth: usize,
}

/// The positions of all states, and the width of the picture.
struct TreeLayout {
    places: Vec<StatePosition>,
    /// The left end of each column.
    columns: Vec<f64>,
    width: f64,
}

impl TreeLayout {
    fn new(tree: &Tree) -> Self {
        let children = children(tree);
        let mut places: Vec<StatePosition> = Vec::with_capacity(tree.nodes.len());
        // Nodes are in the order of the search. A first child stays in the column of its parent,
        // and every other child opens a new column.
        let mut columns = 1;
        for (at, node) in tree.nodes.iter().enumerate() {
            let Some(parent) = node.parent else {
                places.push(StatePosition {
                    column: 0,
                    depth: 0,
                });
                continue;
            };
            let column = if children[parent].first() == Some(&at) {
                places[parent].column
            } else {
                columns += 1;
                columns - 1
            };
            let depth = places[parent].depth + 1;
            places.push(StatePosition { column, depth });
        }
        let mut widths = vec![0.0_f64; columns];
        for (node, place) in tree.nodes.iter().zip(&places) {
            let below = ending(node)
                .iter()
                .map(|line| text_width(line))
                .fold(0.0, f64::max);
            let beside = 2.0 * RADIUS + text_width(&step(node));
            let width = &mut widths[place.column];
            *width = width.max(below).max(beside);
        }
        let mut left = MARGIN + RADIUS;
        let mut lefts = Vec::with_capacity(columns);
        for width in widths {
            lefts.push(left);
            left += width + GAP;
        }
        Self {
            places,
            columns: lefts,
            width: left + MARGIN - GAP,
        }
    }

    fn point(&self, at: usize) -> (f64, f64) {
        let place = &self.places[at];
        let y = TITLE + MARGIN + place.depth as f64 * ROW;
        (self.columns[place.column], y)
    }
}

/// Returns the step to a state: along the row of the state before it, then down.
fn edge(node: &TreeNode, (from_x, from_y): (f64, f64), (x, y): (f64, f64)) -> String {
    let (colour, moved) = stroke(node);
    let ink = colour.unwrap_or(INK);
    let dashes = if moved {
        " stroke-dasharray=\"5 3\""
    } else {
        ""
    };
    let wide = if colour.is_some() { 2.0 } else { 1.2 };
    let end = y - RADIUS - 2.0;
    let mut text = format!(
        "<path d=\"M{from_x:.1} {from_y:.1} H{x:.1} V{end:.1}\" fill=\"none\" stroke=\"{ink}\" \
         stroke-width=\"{wide}\"{dashes}/>\n"
    );
    text += &format!(
        "<path d=\"M{:.1} {:.1} L{:.1} {:.1} L{:.1} {:.1} Z\" fill=\"{ink}\"/>\n",
        x - 3.5,
        end - 4.0,
        x + 3.5,
        end - 4.0,
        x,
        end + 2.0
    );
    let middle = f64::midpoint(from_y, y) + 4.0;
    text += &with_tooltip(
        &details(node),
        &text_element(
            x + 2.0 * RADIUS,
            middle,
            &step(node),
            &format!("fill=\"{ink}\""),
        ),
    );
    text
}

/// Returns the shape of a state.
fn state(tree: &Tree, node: &TreeNode, x: f64, y: f64) -> String {
    let shape = match node.leaf {
        Some(leaf) => shape(leaf, x, y),
        None => {
            let fill = match node.mishap {
                Some(_) => fill(Leaf::Failure),
                None => scheduling(tree, node).unwrap_or(PAPER),
            };
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{fill}\" stroke=\"{INK}\"/>",
                RADIUS - 2.0
            )
        }
    };
    with_tooltip(&details(node), &shape)
}

pub(crate) fn shape(leaf: Leaf, x: f64, y: f64) -> String {
    let colour = fill(leaf);
    let paint = format!("fill=\"{colour}\" stroke=\"{INK}\" stroke-width=\"1.4\"");
    let polygon = |points: &[(f64, f64)]| {
        let all = points
            .iter()
            .map(|(dx, dy)| format!("{:.1},{:.1}", x + dx * RADIUS, y + dy * RADIUS));
        let all: Vec<String> = all.collect();
        format!("<polygon points=\"{}\" {paint}/>", all.join(" "))
    };
    match leaf {
        Leaf::Final => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" {paint}/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" {paint}/>",
            RADIUS - 2.5
        ),
        Leaf::Deadlock => polygon(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        Leaf::Failure => {
            let (a, b) = (0.45, 1.1);
            let eight = [
                (-a, -b),
                (a, -b),
                (b, -a),
                (b, a),
                (a, b),
                (-a, b),
                (-b, a),
                (-b, -a),
            ];
            let cross = RADIUS * 0.5;
            format!(
                "{}<path d=\"M{:.1} {:.1} l{:.1} {:.1} m0 {:.1} l{:.1} {:.1}\" stroke=\"#c0392b\" \
                 stroke-width=\"1.6\" fill=\"none\"/>",
                polygon(&eight),
                x - cross,
                y - cross,
                2.0 * cross,
                2.0 * cross,
                -2.0 * cross,
                -2.0 * cross,
                2.0 * cross
            )
        }
        Leaf::Discarded => polygon(&[(0.0, -1.1), (1.1, 0.0), (0.0, 1.1), (-1.1, 0.0)]),
        Leaf::Blocked => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" {paint} stroke-dasharray=\"3 2\"/>"
        ),
        Leaf::Cut => polygon(&[(0.0, -1.1), (1.1, 1.0), (-1.1, 1.0)]),
    }
}

/// The meaning of the shapes that occur.
pub(crate) struct Legend {
    leaves: Vec<Leaf>,
    races: bool,
}

const RACE: &str = "⇄n: two steps that race; dashed: the step that was moved before the other";

impl Legend {
    fn new(tree: &Tree) -> Self {
        Self {
            races: tree.nodes.iter().any(|node| !node.races.is_empty()),
            ..Self::from_leaves(|leaf| tree.nodes.iter().any(|node| node.leaf == Some(leaf)))
        }
    }

    /// Makes the legend of the shapes that occur.
    pub(crate) fn from_leaves(occurs: impl Fn(Leaf) -> bool) -> Self {
        let all = [
            Leaf::Final,
            Leaf::Deadlock,
            Leaf::Failure,
            Leaf::Discarded,
            Leaf::Blocked,
            Leaf::Cut,
        ];
        Self {
            leaves: all.into_iter().filter(|&leaf| occurs(leaf)).collect(),
            races: false,
        }
    }

    fn meaning(leaf: Leaf) -> String {
        let meaning = match leaf {
            Leaf::Final => "every process has ended",
            Leaf::Deadlock => "no process can continue",
            Leaf::Failure => "something went wrong",
            Leaf::Discarded => "a false `assume`",
            Leaf::Blocked => "another run covers what follows",
            Leaf::Cut => "not explored further",
        };
        format!("{}: {meaning}", name(leaf))
    }

    pub(crate) fn height(&self) -> f64 {
        (self.leaves.len() + usize::from(self.races)) as f64 * LINE * 1.3
    }

    pub(crate) fn width(&self) -> f64 {
        let lines = self
            .leaves
            .iter()
            .map(|&leaf| text_width(&Self::meaning(leaf)));
        let races = self.races.then(|| text_width(RACE));
        2.0 * MARGIN + 24.0 + lines.chain(races).fold(0.0, f64::max)
    }

    pub(crate) fn draw(&self, top: f64) -> String {
        let mut text = String::new();
        let mut y = top;
        for &leaf in &self.leaves {
            text += &format!("{}\n", shape(leaf, MARGIN + RADIUS, y - 4.0));
            text += &text_element(MARGIN + 24.0, y, &Self::meaning(leaf), "");
            y += LINE * 1.3;
        }
        if self.races {
            text += &text_element(MARGIN + 24.0, y, RACE, "");
        }
        text
    }
}

/// Returns an upper bound on the width of a text. Letters of East Asian scripts and pictograms
/// count as twice as wide.
pub(crate) fn text_width(text: &str) -> f64 {
    let columns = |c: char| {
        if c >= '\u{1100}' && !is_sign(c) {
            2.0
        } else {
            1.0
        }
    };
    text.chars().map(columns).sum::<f64>() * LETTER
}

/// Whether a character is one of the signs in pictures and labels: arrows, operators, shapes.
fn is_sign(c: char) -> bool {
    ('\u{2000}'..='\u{2bff}').contains(&c)
}

/// Returns the head of a picture of this size, with its background.
pub(crate) fn sheet(width: f64, height: f64) -> String {
    let (width, height) = (width.ceil(), height.ceil());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n"
    )
}

/// Adds a tooltip to an element.
pub(crate) fn with_tooltip(explanation: &str, what: &str) -> String {
    let what = what.trim_end();
    format!("<g><title>{}</title>{what}</g>\n", escaped(explanation))
}

pub(crate) fn text_element(x: f64, y: f64, text: &str, options: &str) -> String {
    let fill = if options.contains("fill=") {
        String::new()
    } else {
        format!(" fill=\"{INK}\"")
    };
    let options = match options {
        "" => String::new(),
        some => format!(" {some}"),
    };
    // Blanks must be preserved, or columns would not align.
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\"{fill}{options} xml:space=\"preserve\">{}</text>\n",
        escaped(text)
    )
}

/// Returns text escaped for XML. Control characters are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => result += "&amp;",
            '<' => result += "&lt;",
            '>' => result += "&gt;",
            '"' => result += "&quot;",
            '\n' => result.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                result.push('\u{fffd}');
            }
            c => result.push(c),
        }
    }
    result
}

/// Returns text as the value of an attribute, in which XML readers would turn line breaks into
/// blanks.
pub(crate) fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;")
}
