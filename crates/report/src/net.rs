//! The net of a small program as a picture, in the unfolding thesis's style: events are boxes,
//! conditions circles, arcs of shared variables and locks dashed, read arcs plain lines without an
//! arrow, terminals crossed.
//!
//! The SVG is drawn in layers: a node stands below everything it needs. Within a layer nodes stand
//! near those they are connected with: each in turn is moved to the middle of its neighbours above,
//! then below, a few times.

use mazurka_core::record::{Net, Record};

use crate::dot::quoted;
use crate::svg::{INK, LETTER, LINE, MARGIN, PAPER, TITLE, titled, words};
use crate::{clip, counted};

const ROW: f64 = 62.0;
const GAP: f64 = 14.0;
const RADIUS: f64 = 7.0;
const BOX: f64 = 20.0;
/// How often nodes are moved towards their neighbours.
const SWEEPS: usize = 12;
const LABEL_WIDTH: usize = 28;

/// What the pictures are called.
fn title(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    format!(
        "{}: {kind} net: {}, {}, {}",
        record.program.file,
        counted(tests, "test", "tests"),
        counted(net.events.len() as u64, "event", "events"),
        counted(net.conditions.len() as u64, "condition", "conditions"),
    )
}

/// The net for Graphviz.
pub fn net_dot(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    let mut text = String::from("digraph unfolding {\n");
    text += &format!("  label={};\n", quoted(&title(record, kind, tests, net)));
    text += "  labelloc=t;\n  node [fontname=monospace, fontsize=10];\n";
    text += "  edge [arrowsize=0.6];\n";
    for (at, condition) in net.conditions.iter().enumerate() {
        let shade = if condition.thread { "white" } else { "gray90" };
        text += &format!(
            "  c{at} [shape=circle, width=0.18, label=\"\", xlabel={}, style=filled, fillcolor={shade}];\n",
            quoted(&condition.label)
        );
    }
    for (at, event) in net.events.iter().enumerate() {
        let label = format!("{}: {}", event.process, clip(&event.label, LABEL_WIDTH));
        let wrong = match &event.mishap {
            Some(mishap) => format!(
                ", style=filled, fillcolor=\"#fadbd8\", tooltip={}",
                quoted(mishap)
            ),
            None if event.terminal => ", style=diagonals".to_owned(),
            None => String::new(),
        };
        text += &format!(
            "  e{at} [shape=box, height=0.25, label={}{wrong}];\n",
            quoted(&label)
        );
    }
    let style = |at: usize| match net.conditions[at].thread {
        true => "",
        false => " [style=dashed]",
    };
    for (at, event) in net.events.iter().enumerate() {
        for &condition in &event.takes {
            text += &format!("  c{condition} -> e{at}{};\n", style(condition));
        }
        for &condition in &event.reads {
            text += &format!("  c{condition} -> e{at} [dir=none];\n");
        }
        for &condition in &event.makes {
            text += &format!("  e{at} -> c{condition}{};\n", style(condition));
        }
    }
    text += "}\n";
    text
}

/// A node of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NetNode {
    Condition(usize),
    Event(usize),
}

/// Where everything stands.
struct Layout {
    /// Conditions, then events: the layer and the middle.
    places: Vec<(usize, f64)>,
    layers: Vec<Vec<usize>>,
    /// For each node those above and those below it.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    widths: Vec<f64>,
    conditions: usize,
}

impl Layout {
    fn new(net: &Net) -> Self {
        let conditions = net.conditions.len();
        let count = conditions + net.events.len();
        let mut above = vec![Vec::new(); count];
        let mut below = vec![Vec::new(); count];
        let mut layer = vec![0; count];
        for (at, event) in net.events.iter().enumerate() {
            let this = conditions + at;
            for &condition in event.takes.iter().chain(&event.reads) {
                above[this].push(condition);
                below[condition].push(this);
                layer[this] = layer[this].max(layer[condition] + 1);
            }
            for &condition in &event.makes {
                above[condition].push(this);
                below[this].push(condition);
                layer[condition] = layer[this] + 1;
            }
        }
        let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
        for (at, &layer) in layer.iter().enumerate() {
            layers[layer].push(at);
        }
        let text = |length: usize| length as f64 * LETTER;
        let widths = (0..count).map(|at| match at.checked_sub(conditions) {
            None => 2.0 * RADIUS + text(net.conditions[at].label.chars().count()),
            Some(event) => text(label(net, event).chars().count()) + 8.0,
        });
        let mut layout = Self {
            places: layer.iter().map(|&layer| (layer, 0.0)).collect(),
            layers,
            above,
            below,
            widths: widths.collect(),
            conditions,
        };
        for at in 0..layout.layers.len() {
            layout.spread(at);
        }
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..layout.layers.len() {
                let at = if down {
                    step
                } else {
                    layout.layers.len() - 1 - step
                };
                layout.pull(at, down);
            }
        }
        let left = (0..count).map(|at| layout.places[at].1 - layout.widths[at] / 2.0);
        let shift = MARGIN - left.fold(f64::INFINITY, f64::min);
        for place in &mut layout.places {
            place.1 += shift;
        }
        layout
    }

    /// Puts the nodes of a layer side by side, in their order.
    fn spread(&mut self, layer: usize) {
        let mut x = 0.0;
        for &node in &self.layers[layer] {
            self.places[node].1 = x + self.widths[node] / 2.0;
            x += self.widths[node] + GAP;
        }
    }

    /// Moves the nodes of a layer towards their neighbours, and apart again.
    fn pull(&mut self, layer: usize, down: bool) {
        let mut wanted: Vec<(f64, usize)> = Vec::new();
        for &node in &self.layers[layer] {
            let near = if down {
                &self.above[node]
            } else {
                &self.below[node]
            };
            let sum: f64 = near.iter().map(|&other| self.places[other].1).sum();
            let here = self.places[node].1;
            let middle = if near.is_empty() {
                here
            } else {
                sum / near.len() as f64
            };
            wanted.push((middle, node));
        }
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut end = f64::NEG_INFINITY;
        for &(middle, node) in &wanted {
            let half = self.widths[node] / 2.0;
            let x = middle.max(end + half);
            self.places[node].1 = x;
            end = x + half + GAP;
        }
        // A node that was pushed right pushes no other: the layer as a whole is moved back.
        let moved: f64 = wanted
            .iter()
            .map(|&(middle, node)| self.places[node].1 - middle)
            .sum();
        let back = moved / wanted.len().max(1) as f64;
        for &(_, node) in &wanted {
            self.places[node].1 -= back;
        }
        self.layers[layer] = wanted.into_iter().map(|(_, node)| node).collect();
    }

    fn node(&self, at: usize) -> NetNode {
        match at.checked_sub(self.conditions) {
            None => NetNode::Condition(at),
            Some(event) => NetNode::Event(event),
        }
    }

    fn point(&self, at: usize) -> (f64, f64) {
        let (layer, x) = self.places[at];
        // Words stand to the right of a circle, which is at the left end of its room.
        let x = match self.node(at) {
            NetNode::Condition(_) => x - self.widths[at] / 2.0 + RADIUS,
            NetNode::Event(_) => x,
        };
        (x, TITLE + MARGIN + layer as f64 * ROW)
    }
}

fn label(net: &Net, event: usize) -> String {
    let event = &net.events[event];
    clip(&format!("{}: {}", event.process, event.label), LABEL_WIDTH)
}

/// The net for a browser. The signs are explained at its foot.
pub fn net_svg(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    let layout = Layout::new(net);
    let heading = title(record, kind, tests, net);
    let right = layout
        .places
        .iter()
        .zip(&layout.widths)
        .map(|(place, width)| place.1 + width / 2.0);
    let legend = "box: event; circle: condition (grey: shared); dashed: arcs of variables and locks; no arrow: reads and leaves it; crossed: its state was met before";
    let wide = |text: &str| text.chars().count() as f64 * LETTER + 2.0 * MARGIN;
    let width = right.fold(wide(&heading).max(wide(legend)), |a, b| a.max(b + MARGIN));
    let foot = TITLE + MARGIN + layout.layers.len() as f64 * ROW;
    let height = foot + 2.0 * LINE + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n"
    );
    text += &format!("<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n");
    text += "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">";
    text += &format!("<path d=\"M0 0 L7 3 L0 6 Z\" fill=\"{INK}\"/></marker></defs>\n");
    text += &words(MARGIN, MARGIN, &heading, "font-weight=\"bold\"");
    for (at, event) in net.events.iter().enumerate() {
        let this = layout.conditions + at;
        for &condition in &event.takes {
            text += &arc(&layout, net, condition, this, true);
        }
        for &condition in &event.reads {
            text += &arc(&layout, net, condition, this, false);
        }
        for &condition in &event.makes {
            text += &arc(&layout, net, this, condition, true);
        }
    }
    for at in 0..layout.places.len() {
        let (x, y) = layout.point(at);
        text += &match layout.node(at) {
            NetNode::Condition(condition) => {
                let condition = &net.conditions[condition];
                let fill = if condition.thread { PAPER } else { "#e5e7e9" };
                let circle = format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"{fill}\" stroke=\"{INK}\"/>\n"
                );
                // White around the letters keeps them legible where arcs cross.
                let small =
                    "font-size=\"9\" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
                circle + &words(x + RADIUS + 2.0, y + 3.0, &condition.label, small)
            }
            NetNode::Event(event) => {
                let half = layout.widths[at] / 2.0;
                let told = &net.events[event];
                let (fill, more) = match &told.mishap {
                    Some(mishap) => ("#fadbd8", format!("\n{mishap}")),
                    None => (PAPER, String::new()),
                };
                let rect = format!(
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BOX}\" fill=\"{fill}\" stroke=\"{INK}\"/>",
                    x - half,
                    y - BOX / 2.0,
                    2.0 * half
                );
                let inside = words(x - half + 4.0, y + 4.0, &label(net, event), "");
                let cross = match told.terminal {
                    true => cross(x, y, half),
                    false => String::new(),
                };
                titled(
                    &format!("{}: {}{more}", told.process, told.label),
                    &(rect + &cross + &inside),
                )
            }
        };
    }
    text += &words(MARGIN, foot + LINE, legend, "");
    text += "</svg>\n";
    text
}

/// What marks an event after which the net stops.
fn cross(x: f64, y: f64, half: f64) -> String {
    let (top, bottom) = (y - BOX / 2.0, y + BOX / 2.0);
    let (left, right) = (x - half, x + half);
    format!(
        "<path d=\"M{left:.1} {top:.1} L{right:.1} {bottom:.1} M{left:.1} {bottom:.1} L{right:.1} {top:.1}\" \
         stroke=\"#b3b6b7\"/>"
    )
}

/// An arc from one node down to another, of which one is a condition.
fn arc(layout: &Layout, net: &Net, from: usize, to: usize, arrow: bool) -> String {
    let condition = match layout.node(from) {
        NetNode::Condition(condition) => condition,
        NetNode::Event(_) => to,
    };
    let reach = |at: usize| match layout.node(at) {
        NetNode::Condition(_) => RADIUS,
        NetNode::Event(_) => BOX / 2.0,
    };
    let (x1, y1) = layout.point(from);
    let (x2, y2) = layout.point(to);
    let (y1, y2) = (y1 + reach(from), y2 - reach(to));
    let middle = (y2 - y1) / 2.0;
    let dashes = match net.conditions[condition].thread || !arrow {
        true => "",
        false => " stroke-dasharray=\"4 3\"",
    };
    let tip = if arrow {
        " marker-end=\"url(#tip)\""
    } else {
        ""
    };
    format!(
        "<path d=\"M{x1:.1} {y1:.1} C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\" fill=\"none\" \
         stroke=\"{INK}\" stroke-width=\"0.9\"{dashes}{tip}/>\n",
        y1 + middle,
        y2 - middle
    )
}

/// What was unfolded, the counts, what was found, and how to see it.
pub fn net_table(
    record: &Record,
    kind: &str,
    tests: u64,
    conditions: u64,
    view: &crate::View,
) -> String {
    let deadlocked = match kind {
        "stateful" => "deadlocked states, from the net",
        _ => "deadlocked traces, from the net",
    };
    let size = [
        ("events", record.counts.events.to_string(), "of the net"),
        ("conditions", conditions.to_string(), "of the net"),
    ];
    let what = format!("{kind} net");
    let rows = rows(
        record,
        tests,
        size,
        [deadlocked, "failing events, each with its past"],
    );
    crate::table::listed(record, &what, "the net is complete", &rows, view)
}

/// The same where the states of a model were gone through one by one.
pub fn states_table(record: &Record, tests: u64, states: u64, view: &crate::View) -> String {
    let size = [
        ("states", states.to_string(), "of the model"),
        (
            "events",
            record.counts.events.to_string(),
            "steps between them",
        ),
    ];
    let rows = rows(
        record,
        tests,
        size,
        ["deadlocked states", "failing steps that were run"],
    );
    crate::table::listed(
        record,
        "naive stateful search",
        "all states were visited",
        &rows,
        view,
    )
}

/// A name, a number and its meaning.
type Row<'a> = (&'a str, String, &'a str);

fn rows<'a>(
    record: &Record,
    tests: u64,
    [one, other]: [Row<'a>; 2],
    [deadlocked, failing]: [&'a str; 2],
) -> Vec<Row<'a>> {
    let counts = &record.counts;
    let row = |name, count: u64, meaning| (name, count.to_string(), meaning);
    vec![
        row("tests", tests, "executions that were run"),
        one,
        other,
        row("deadlocks", counts.deadlocks, deadlocked),
        row("failures", counts.failures, failing),
        row("discarded", counts.discarded, "tests with a false `assume`"),
        row("blocked", counts.blocked, "runs to a guard that was closed"),
        row("steps", counts.steps, "transitions executed"),
        ("seconds", format!("{:.3}", record.seconds), ""),
    ]
}
