//! The net of a small program as a picture, in the style of the unfolding thesis (*the thesis* in
//! GLOSSARY.md). Events are boxes and conditions circles. Arcs of shared variables and locks are
//! dashed, and read arcs have no arrow. Terminals, the events after which the net is not continued,
//! are crossed out. The SVG is drawn in layers: a node is below all its predecessors. A condition
//! at which a process waits for ever has the colour of deadlocks, and its label has the numbers of
//! these deadlocks.

use mazurka_core::record::{Leaf, Net, Record};

use crate::dot::quoted;
use crate::layers::Layers;
use crate::svg::{INK, LINE, MARGIN, PAPER, TITLE, sheet, text_element, text_width, with_tooltip};
use crate::tree::fill;
use crate::{clip, counted};

const ROW: f64 = 62.0;
const RADIUS: f64 = 7.0;
const BOX: f64 = 20.0;
const LABEL_WIDTH: usize = 36;

/// Returns the title of a picture.
fn title(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    let mut title = format!(
        "{}: {kind} net: {}, {}, {}",
        record.program.file,
        counted(tests, "test", "tests"),
        counted(net.events.len() as u64, "event", "events"),
        counted(net.conditions.len() as u64, "condition", "conditions"),
    );
    let deadlocks = record.counts.deadlocks;
    if deadlocks > 0 {
        title += &format!(", {}", counted(deadlocks, "deadlock", "deadlocks"));
    }
    let marked = net.deadlocks.len() as u64;
    if marked < deadlocks {
        title += &format!(" ({marked} of them marked)");
    }
    title
}

/// Returns the net for Graphviz.
pub fn net_dot(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    let mut text = String::from("digraph unfolding {\n");
    text += &format!("  label={};\n", quoted(&title(record, kind, tests, net)));
    text += "  labelloc=t;\n  node [fontname=monospace, fontsize=10];\n";
    text += "  edge [arrowsize=0.6];\n";
    for (at, condition) in net.conditions.iter().enumerate() {
        let (shape, fill) = if !condition.thread {
            ("circle", "gray90")
        } else if waits(net, at).is_empty() {
            ("circle", "white")
        } else {
            ("octagon", fill(Leaf::Deadlock))
        };
        text += &format!(
            "  c{at} [shape={shape}, width=0.18, label=\"\", xlabel={}, style=filled, fillcolor=\"{fill}\"];\n",
            quoted(&condition_label(net, at))
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
    let style = |at: usize| {
        if net.conditions[at].thread {
            ""
        } else {
            " [style=dashed]"
        }
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

/// Returns the places and transitions of a model, as text.
pub fn model_table(record: &Record, tests: u64, model: &Net) -> String {
    let mut text = format!(
        "{}: model of the stateful net: {}, {}, {}\n\n",
        record.program.file,
        counted(tests, "test", "tests"),
        counted(model.conditions.len() as u64, "place", "places"),
        counted(model.events.len() as u64, "transition", "transitions"),
    );
    let width = model.conditions.len().to_string().len() + 1;
    let number = |at: usize| format!("p{}", at + 1);
    for (at, place) in model.conditions.iter().enumerate() {
        text += &format!("  {:<width$}  {}\n", number(at), place.label);
    }
    text.push('\n');
    let width = model.events.len().to_string().len() + 1;
    let list = |word: &str, places: &[usize]| match places {
        [] => String::new(),
        some => {
            let numbers: Vec<String> = some.iter().map(|&at| number(at)).collect();
            format!("  {word} {}", numbers.join(" "))
        }
    };
    let labels = model.events.iter();
    let labels: Vec<String> = labels
        .map(|e| format!("{}: {}", e.process, e.label))
        .collect();
    let wide = labels.iter().map(|label| label.chars().count()).max();
    let wide = wide.unwrap_or(0);
    for (at, (event, label)) in model.events.iter().zip(&labels).enumerate() {
        let name = format!("t{}", at + 1);
        let arcs = list("takes", &event.takes) + &list("reads", &event.reads);
        let arcs = arcs + &list("makes", &event.makes);
        text += &format!("  {name:<width$}  {label:<wide$}{arcs}\n");
    }
    text
}

/// A node of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NetNode {
    Condition(usize),
    Event(usize),
}

/// The positions of all nodes: conditions, then events.
struct NetLayout {
    layers: Layers,
    conditions: usize,
}

impl NetLayout {
    fn new(net: &Net) -> Self {
        let conditions = net.conditions.len();
        let count = conditions + net.events.len();
        let mut connections = Vec::new();
        let mut layer = vec![0; count];
        let mut placed = vec![false; conditions];
        for (at, event) in net.events.iter().enumerate() {
            let this = conditions + at;
            for &condition in event.takes.iter().chain(&event.reads) {
                connections.push((condition, this));
                layer[this] = layer[this].max(layer[condition] + 1);
                placed[condition] = true;
            }
            for &condition in &event.makes {
                // In a model a place may be marked again; the arc to it then leads up.
                if std::mem::replace(&mut placed[condition], true) {
                    connections.push((condition, this));
                } else {
                    connections.push((this, condition));
                    layer[condition] = layer[this] + 1;
                }
            }
        }
        let widths = (0..count).map(|at| match at.checked_sub(conditions) {
            None => 2.0 * RADIUS + text_width(&condition_label(net, at)),
            Some(event) => text_width(&label(net, event)) + 8.0,
        });
        Self {
            layers: Layers::new(&layer, widths.collect(), &connections),
            conditions,
        }
    }

    fn node(&self, at: usize) -> NetNode {
        match at.checked_sub(self.conditions) {
            None => NetNode::Condition(at),
            Some(event) => NetNode::Event(event),
        }
    }

    fn point(&self, at: usize) -> (f64, f64) {
        let (layer, x) = self.layers.places[at];
        // The text is to the right of a circle, which is at the left end of its space.
        let x = match self.node(at) {
            NetNode::Condition(_) => self.layers.left(at) + RADIUS,
            NetNode::Event(_) => x,
        };
        (x, TITLE + MARGIN + layer as f64 * ROW)
    }
}

/// Returns the label of a condition, with the deadlocks in which a process waits there for ever.
fn condition_label(net: &Net, at: usize) -> String {
    let label = &net.conditions[at].label;
    let waits = waits(net, at);
    match &waits[..] {
        [] => label.clone(),
        [one] => format!("{label} waits: deadlock {one}"),
        some => {
            let numbers: Vec<String> = some.iter().map(usize::to_string).collect();
            let numbers = clip(&numbers.join(", "), LABEL_WIDTH);
            format!("{label} waits: deadlocks {numbers}")
        }
    }
}

/// Returns the deadlocks in which a process waits at a condition, as numbers from 1.
fn waits(net: &Net, at: usize) -> Vec<usize> {
    let all = net.deadlocks.iter().enumerate();
    let own = all.filter(|(_, conditions)| conditions.contains(&at));
    own.map(|(number, _)| number + 1).collect()
}

fn label(net: &Net, event: usize) -> String {
    let event = &net.events[event];
    clip(&format!("{}: {}", event.process, event.label), LABEL_WIDTH)
}

/// Returns the net as SVG, with a legend at the bottom.
pub fn net_svg(record: &Record, kind: &str, tests: u64, net: &Net) -> String {
    let layout = NetLayout::new(net);
    let heading = title(record, kind, tests, net);
    let legend = legend(net);
    let lines = legend.iter().chain([&heading]).map(|line| text_width(line));
    let right = lines.fold(layout.layers.right(), |a, b| a.max(b + MARGIN));
    let foot = TITLE + MARGIN + layout.layers.len() as f64 * ROW;
    let height = foot + (legend.len() + 1) as f64 * LINE + MARGIN;
    let mut text = sheet(right + MARGIN, height);
    text += "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">";
    text += &format!("<path d=\"M0 0 L7 3 L0 6 Z\" fill=\"{INK}\"/></marker></defs>\n");
    text += &text_element(MARGIN, MARGIN, &heading, "font-weight=\"bold\"");
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
    for at in 0..layout.layers.places.len() {
        let (x, y) = layout.point(at);
        text += &match layout.node(at) {
            NetNode::Condition(condition) => condition_svg(net, condition, x, y),
            NetNode::Event(event) => {
                let half = layout.layers.widths[at] / 2.0;
                let shown = &net.events[event];
                let (fill, more) = match &shown.mishap {
                    Some(mishap) => ("#fadbd8", format!("\n{mishap}")),
                    None => (PAPER, String::new()),
                };
                let rect = format!(
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BOX}\" fill=\"{fill}\" stroke=\"{INK}\"/>",
                    x - half,
                    y - BOX / 2.0,
                    2.0 * half
                );
                let inside = text_element(x - half + 4.0, y + 4.0, &label(net, event), "");
                let cross = if shown.terminal {
                    cross(x, y, half)
                } else {
                    String::new()
                };
                with_tooltip(
                    &format!("{}: {}{more}", shown.process, shown.label),
                    &(rect + &cross + &inside),
                )
            }
        };
    }
    for (at, line) in legend.iter().enumerate() {
        text += &text_element(MARGIN, foot + (at + 1) as f64 * LINE, line, "");
    }
    text += "</svg>\n";
    text
}

/// Returns the meaning of the signs that occur.
fn legend(net: &Net) -> Vec<String> {
    let mut lines = vec![
        "box: event; circle: condition (grey: shared); dashed: arcs of variables and locks; no arrow: only reads; crossed: leads to a state that was visited before".to_owned(),
    ];
    if !net.deadlocks.is_empty() {
        let square =
            "square: where a process waits for ever; squares with the same number are one deadlock";
        lines.push(square.to_owned());
    }
    lines
}

/// Returns a condition: a circle, or a square if a process waits there for ever.
fn condition_svg(net: &Net, at: usize, x: f64, y: f64) -> String {
    let thread = net.conditions[at].thread;
    let waits = !waits(net, at).is_empty();
    let shape = if waits {
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" \
             stroke=\"#c0392b\" stroke-width=\"2\"/>\n",
            x - RADIUS,
            y - RADIUS,
            2.0 * RADIUS,
            2.0 * RADIUS,
            fill(Leaf::Deadlock)
        )
    } else {
        let fill = if thread { PAPER } else { "#e5e7e9" };
        format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"{fill}\" stroke=\"{INK}\"/>\n"
        )
    };
    // A white outline keeps the letters legible where arcs cross them.
    let small = "font-size=\"9\" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
    let small = if waits {
        format!("{small} fill=\"#c0392b\"")
    } else {
        small.to_owned()
    };
    shape + &text_element(x + RADIUS + 2.0, y + 3.0, &condition_label(net, at), &small)
}

/// Returns the cross on a terminal: an event after which the net stops.
fn cross(x: f64, y: f64, half: f64) -> String {
    let (top, bottom) = (y - BOX / 2.0, y + BOX / 2.0);
    let (left, right) = (x - half, x + half);
    format!(
        "<path d=\"M{left:.1} {top:.1} L{right:.1} {bottom:.1} M{left:.1} {bottom:.1} L{right:.1} {top:.1}\" \
         stroke=\"#b3b6b7\"/>"
    )
}

/// Returns an arc between a condition and an event, from top to bottom.
fn arc(layout: &NetLayout, net: &Net, from: usize, to: usize, arrow: bool) -> String {
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
    let dashes = if net.conditions[condition].thread || !arrow {
        ""
    } else {
        " stroke-dasharray=\"4 3\""
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

/// Returns a table of the counts of a net, its findings, and the commands that show them.
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

/// Returns the table for a walk through the states of a model.
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

/// A row of a table: a name, a number, and the meaning of the number.
type FigureRow<'a> = (&'a str, String, &'a str);

fn rows<'a>(
    record: &Record,
    tests: u64,
    [one, other]: [FigureRow<'a>; 2],
    [deadlocked, failing]: [&'a str; 2],
) -> Vec<FigureRow<'a>> {
    let counts = &record.counts;
    let row = |name, count: u64, meaning| (name, count.to_string(), meaning);
    vec![
        row("tests", tests, "executions that were run"),
        one,
        other,
        row("deadlocks", counts.deadlocks, deadlocked),
        row("failures", counts.failures, failing),
        row("discarded", counts.discarded, "tests with a false `assume`"),
        row(
            "blocked",
            counts.blocked,
            "runs that ended at a false guard",
        ),
        row("steps", counts.steps, "transitions executed"),
        ("seconds", format!("{:.3}", record.seconds), ""),
    ]
}

#[cfg(test)]
mod tests {
    use mazurka_core::Verdict;
    use mazurka_core::record::{NetCondition, NetEvent};

    use super::*;
    use crate::wellformed::{assert_sound, texts};

    #[test]
    fn deadlocks_are_marked_where_processes_wait() {
        let condition = |label: &str, thread| NetCondition {
            label: label.into(),
            thread,
        };
        let net = Net {
            conditions: vec![
                condition("p(0)", true),
                condition("m", false),
                condition("p(0)", true),
            ],
            events: vec![NetEvent {
                process: "p(0)".into(),
                label: "lock(m)".into(),
                mishap: None,
                takes: vec![0, 1],
                reads: Vec::new(),
                makes: vec![2],
                terminal: false,
            }],
            deadlocks: vec![vec![2], vec![2]],
        };
        let mut record = crate::tests::record(Verdict::Violated, Vec::new(), Vec::new());
        record.counts.deadlocks = 3;
        let svg = net_svg(&record, "contextual", 1, &net);
        assert_sound(&svg);
        let words = texts(&svg);
        let contains = |part: &str| words.iter().any(|(_, _, text)| text.contains(part));
        assert!(contains("p(0) waits: deadlocks 1, 2"), "{svg}");
        assert!(contains("3 deadlocks (2 of them marked)"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        let dot = net_dot(&record, "contextual", 1, &net);
        assert_eq!(dot.matches("shape=octagon").count(), 1, "{dot}");
    }
}
