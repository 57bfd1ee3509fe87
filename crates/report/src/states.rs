//! The graph of the states of a program: for Graphviz, and as an SVG picture. In the picture, a
//! state is below all states that are nearer to the initial state. The label of a step is between
//! its two states, in a separate layer, so that texts do not overlap. A step to a state that is not
//! further from the initial state leads up again, to the right of its label.

use mazurka_core::record::{GraphEdge, GraphState, Leaf, Record, StateGraph};

use crate::dot::{quoted, shape as dot_shape};
use crate::events::bindings;
use crate::layers::Layers;
use crate::svg::{
    INK, LINE, Legend, MARGIN, PAPER, TITLE, shape, sheet, text_element, text_width, with_tooltip,
};
use crate::tree::{fill, name};
use crate::{clip, counted};

/// Limits on the letters beside a state, and of the label of a step.
const STATE_WIDTH: usize = 40;
const LABEL_WIDTH: usize = 40;
/// Sizes, in pixels.
const ROW: f64 = 46.0;
const RADIUS: f64 = 6.0;
/// How far the line of a step that leads up bulges out to the right.
const SWING: f64 = 26.0;
const BAD: &str = "#c0392b";

/// Returns a sentence on how many states are drawn; `None` if all are drawn.
pub fn states_left_out(record: &Record, graph: &StateGraph) -> Option<String> {
    if !graph.states.iter().any(|state| state.cut) {
        return None;
    }
    let drawn = graph.states.len() as u64;
    let visited = record.counts.states.unwrap_or(drawn).max(drawn);
    let all = if record.scope.bounds.is_empty() {
        visited.to_string()
    } else {
        format!("at least {visited}")
    };
    Some(format!(
        "{drawn} of {all} states are drawn, those nearest to the initial one"
    ))
}

fn title(record: &Record, graph: &StateGraph) -> String {
    // If states in which an `assume` is false were left out of the graph, the title uses the count
    // of the search.
    let drawn = graph.states.len() as u64;
    let states = if graph.states.iter().any(|state| state.cut) {
        record.counts.states.unwrap_or(drawn).max(drawn)
    } else {
        drawn
    };
    format!(
        "{}: {}: {}",
        record.program.file,
        record.algorithm,
        counted(states, "state", "states")
    )
}

/// Returns the lines of text beside a state.
fn lines_beside(state: &GraphState, at: usize) -> Vec<String> {
    let mut first = Vec::new();
    first.extend((at == 0).then_some("initial"));
    first.extend(state.mark.map(name));
    first.extend(state.cut.then_some("continues"));
    let mut lines = vec![first.join(", ")];
    lines.push(bindings(&state.state));
    lines.extend(state.mishap.as_ref().map(|text| format!("✗ {text}")));
    lines.retain(|line| !line.is_empty());
    lines.iter().map(|line| clip(line, STATE_WIDTH)).collect()
}

/// Returns the state in full.
fn details(state: &GraphState, at: usize) -> String {
    let mut parts = vec![format!(
        "state {at}, {} from the initial one",
        counted(state.depth as u64, "step", "steps")
    )];
    parts.push(if state.state.is_empty() {
        "no shared variables".to_owned()
    } else {
        bindings(&state.state)
    });
    parts.extend(state.mark.map(|mark| name(mark).to_owned()));
    parts.extend(state.mishap.clone());
    parts.extend(
        state
            .cut
            .then(|| "what follows is not all drawn".to_owned()),
    );
    parts.join("\n")
}

/// Returns the label of a step: its process, its label, and its mishap.
fn label(edge: &GraphEdge) -> Vec<String> {
    let mut lines = vec![clip(
        &format!("{}: {}", edge.process, edge.label),
        LABEL_WIDTH,
    )];
    let mishap = edge.mishap.as_ref();
    lines.extend(mishap.map(|text| clip(&format!("✗ {text}"), LABEL_WIDTH)));
    lines
}

/// Returns the step in full.
fn step_details(edge: &GraphEdge) -> String {
    let mut text = format!("{}: {}", edge.process, edge.label);
    if let Some(mishap) = &edge.mishap {
        text += &format!("\n{mishap}");
    }
    text
}

/// Returns the graph as a `digraph`: each state is a node, each step an edge. Final states are
/// double boxes, deadlocks octagons, failing states double octagons; an arrow without a source
/// leads to the initial state.
pub fn states_dot(record: &Record, graph: &StateGraph) -> String {
    let mut heading = vec![title(record, graph)];
    heading.extend(states_left_out(record, graph));
    let mut text = String::from("digraph states {\n");
    text += &format!("  label={};\n", quoted(&heading.join("\n")));
    text += "  labelloc=t;\n";
    text += "  node [shape=ellipse, fontname=monospace, fontsize=10];\n";
    text += "  edge [fontname=monospace, fontsize=10, arrowsize=0.6];\n";
    text += "  start [shape=point, tooltip=\"the initial state\"];\n";
    for (at, state) in graph.states.iter().enumerate() {
        let label = quoted(&lines_beside(state, at).join("\n"));
        let mut options = vec![
            format!("label={label}"),
            format!("tooltip={}", quoted(&details(state, at))),
        ];
        if let Some(mark) = state.mark {
            options.push(format!("shape={}, style=filled", dot_shape(mark)));
            options.push(format!("fillcolor=\"{}\"", fill(mark)));
            options.extend((mark == Leaf::Final).then(|| "peripheries=2".to_owned()));
        } else if state.cut {
            options.push("style=dashed".to_owned());
        }
        text += &format!("  s{at} [{}];\n", options.join(", "));
    }
    text += "  start -> s0;\n";
    for edge in &graph.edges {
        let wrong = match &edge.mishap {
            Some(_) => format!(", color=\"{BAD}\", fontcolor=\"{BAD}\""),
            None => String::new(),
        };
        text += &format!(
            "  s{} -> s{} [label={}, tooltip={}{wrong}];\n",
            edge.from,
            edge.to,
            quoted(&label(edge).join("\n")),
            quoted(&step_details(edge))
        );
    }
    text += "}\n";
    text
}

/// The positions of all nodes: states, then the labels of steps.
struct GraphLayout<'a> {
    graph: &'a StateGraph,
    layers: Layers,
    top: f64,
}

impl<'a> GraphLayout<'a> {
    fn new(graph: &'a StateGraph, top: f64) -> Self {
        let states = graph.states.len();
        let mut layer: Vec<usize> = graph.states.iter().map(|state| 2 * state.depth).collect();
        let widest = |lines: &[String]| {
            lines
                .iter()
                .map(|line| text_width(line))
                .fold(0.0, f64::max)
        };
        let all = graph.states.iter().enumerate();
        let beside = all.map(|(at, state)| 2.0 * RADIUS + 6.0 + widest(&lines_beside(state, at)));
        let mut widths: Vec<f64> = beside.collect();
        let mut connections = Vec::new();
        for (at, edge) in graph.edges.iter().enumerate() {
            layer.push(2 * graph.states[edge.from].depth + 1);
            let back = !goes_down(graph, edge);
            // The line of a step that leads up needs space to bulge out.
            widths.push(widest(&label(edge)) + 8.0 + if back { SWING } else { 0.0 });
            connections.push((edge.from, states + at));
            if !back {
                connections.push((states + at, edge.to));
            }
        }
        Self {
            layers: Layers::new(&layer, widths, &connections),
            graph,
            top,
        }
    }

    fn row(&self, at: usize) -> f64 {
        self.top + self.layers.places[at].0 as f64 * ROW
    }

    /// Returns the middle of the shape of a state, which is at the left end of its space.
    fn state(&self, at: usize) -> (f64, f64) {
        (self.layers.left(at) + RADIUS + 2.0, self.row(at))
    }

    /// Returns a step: its line from one state to its label and on to the other state, and its
    /// label.
    fn edge(&self, at: usize) -> (String, String) {
        let edge = &self.graph.edges[at];
        let node = self.graph.states.len() + at;
        let lines = label(edge);
        let (left, y) = (self.layers.left(node) + 4.0, self.row(node));
        let width = lines
            .iter()
            .map(|line| text_width(line))
            .fold(0.0, f64::max);
        let middle = left + width.min(80.0) / 2.0;
        let ink = if edge.mishap.is_some() { BAD } else { INK };
        let (top, bottom) = (y - 12.0, y + lines.len() as f64 * LINE - 8.0);
        let ((from_x, from_y), (x, to_y)) = (self.state(edge.from), self.state(edge.to));
        let start = from_y + RADIUS;
        let bend = f64::midpoint(start, top);
        let mut path = format!(
            "M{from_x:.1} {start:.1} C{from_x:.1} {bend:.1} {middle:.1} {bend:.1} {middle:.1} {top:.1} "
        );
        path += &if goes_down(self.graph, edge) {
            let end = to_y - RADIUS - 2.0;
            let bend = f64::midpoint(bottom, end);
            format!(
                "M{middle:.1} {bottom:.1} C{middle:.1} {bend:.1} {x:.1} {bend:.1} {x:.1} {end:.1}"
            )
        } else {
            let right = left + width + 2.0;
            let (end, below) = (x + RADIUS + 2.0, to_y + 10.0);
            format!(
                "M{right:.1} {y:.1} C{:.1} {y:.1} {:.1} {below:.1} {end:.1} {to_y:.1}",
                right + SWING,
                end + SWING
            )
        };
        let line = format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\" marker-end=\"url(#tip)\"/>\n"
        );
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let halo = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
            let options = format!("fill=\"{ink}\" {halo}");
            text += &text_element(left, y + at as f64 * LINE, line, &options);
        }
        (line, with_tooltip(&step_details(edge), &text))
    }

    fn state_svg(&self, at: usize) -> String {
        let state = &self.graph.states[at];
        let (x, y) = self.state(at);
        let mut text = match state.mark {
            Some(mark) => shape(mark, x, y),
            None => {
                let dashes = if state.cut {
                    " stroke-dasharray=\"3 2\""
                } else {
                    ""
                };
                format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{PAPER}\" stroke=\"{INK}\"{dashes}/>",
                    RADIUS - 1.0
                )
            }
        };
        for (line, words_of) in lines_beside(state, at).iter().enumerate() {
            let below = y - 2.0 + line as f64 * LINE;
            let halo = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
            text += text_element(x + RADIUS + 6.0, below, words_of, halo).trim_end();
        }
        with_tooltip(&details(state, at), &text)
    }
}

/// Whether a step leads further away from the initial state.
fn goes_down(graph: &StateGraph, edge: &GraphEdge) -> bool {
    graph.states[edge.to].depth > graph.states[edge.from].depth
}

/// Returns the graph as SVG, with a legend at the bottom.
pub fn states_svg(record: &Record, graph: &StateGraph) -> String {
    let mut heading = vec![title(record, graph)];
    heading.extend(states_left_out(record, graph));
    let top = TITLE + MARGIN + heading.len() as f64 * LINE;
    let layout = GraphLayout::new(graph, top);
    let legend =
        Legend::from_leaves(|leaf| graph.states.iter().any(|state| state.mark == Some(leaf)));
    let lines = heading.iter().map(|line| text_width(line) + 2.0 * MARGIN);
    let nodes = layout.layers.right() + SWING + MARGIN;
    let width = lines.fold(nodes, f64::max).max(legend.width());
    let foot = top + layout.layers.len() as f64 * ROW + LINE;
    let mut text = sheet(width, foot + legend.height() + MARGIN);
    text += "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">";
    text += &format!("<path d=\"M0 0 L7 3 L0 6 Z\" fill=\"{INK}\"/></marker></defs>\n");
    for (at, line) in heading.iter().enumerate() {
        let bold = if at == 0 { "font-weight=\"bold\"" } else { "" };
        text += &text_element(MARGIN, MARGIN + at as f64 * LINE, line, bold);
    }
    // All lines are drawn below all text.
    let edges = (0..graph.edges.len()).map(|at| layout.edge(at));
    let (lines, labels): (Vec<String>, Vec<String>) = edges.unzip();
    text += &lines.concat();
    text += &labels.concat();
    if !graph.states.is_empty() {
        let (x, y) = layout.state(0);
        let (from, end) = (y - RADIUS - 22.0, y - RADIUS - 2.0);
        let arrow = format!(
            "<path d=\"M{x:.1} {from:.1} V{end:.1}\" fill=\"none\" stroke=\"{INK}\" \
             stroke-width=\"2\" marker-end=\"url(#tip)\"/>"
        );
        text += &with_tooltip("the initial state", &arrow);
    }
    for at in 0..graph.states.len() {
        text += &layout.state_svg(at);
    }
    text += &legend.draw(foot + LINE);
    text += "</svg>\n";
    text
}

#[cfg(test)]
mod tests {
    use mazurka_core::record::Binding;
    use mazurka_core::{Bound, Verdict};

    use super::*;
    use crate::wellformed::{assert_sound, texts};

    fn state(depth: usize, mark: Option<Leaf>) -> GraphState {
        GraphState {
            depth,
            state: vec![Binding {
                name: "x".into(),
                value: depth.to_string(),
            }],
            mark,
            cut: false,
            mishap: None,
        }
    }

    fn edge(from: usize, to: usize) -> GraphEdge {
        GraphEdge {
            from,
            to,
            process: "p(0)".into(),
            label: "x < 2 ▷ x := x + 1 && a_very_long_name == another_long_name".into(),
            mishap: None,
        }
    }

    fn graph() -> StateGraph {
        StateGraph {
            states: vec![
                state(0, None),
                state(1, Some(Leaf::Deadlock)),
                state(1, None),
                state(2, Some(Leaf::Final)),
                state(2, Some(Leaf::Failure)),
            ],
            edges: vec![
                edge(0, 1),
                edge(0, 2),
                edge(2, 0),
                edge(2, 2),
                edge(2, 3),
                edge(2, 4),
            ],
        }
    }

    #[test]
    fn every_state_is_there_once_with_its_word() {
        let record = crate::tests::record(Verdict::Violated, Vec::new(), Vec::new());
        let (dot, svg) = (states_dot(&record, &graph()), states_svg(&record, &graph()));
        assert_sound(&svg);
        for word in ["initial", "deadlock", "final", "failure"] {
            let found = texts(&svg);
            let found = found.iter().filter(|(_, _, text)| text == word);
            assert_eq!(found.count(), 1, "{word}: {svg}");
        }
        assert_eq!(
            dot.matches("state 2, 1 step from the initial one").count(),
            1
        );
        assert_eq!(dot.matches(" -> ").count(), 1 + 6, "{dot}");
        assert!(dot.contains("start -> s0"), "{dot}");
        assert_eq!(states_left_out(&record, &graph()), None);
    }

    #[test]
    fn the_text_names_what_is_left_out() {
        let mut record = crate::tests::record(Verdict::Violated, Vec::new(), Vec::new());
        record.counts.states = Some(77);
        let mut graph = graph();
        graph.states[2].cut = true;
        let sentence = "5 of 77 states are drawn, those nearest to the initial one";
        assert_eq!(states_left_out(&record, &graph).as_deref(), Some(sentence));
        assert!(states_svg(&record, &graph).contains(sentence));
        record.scope.bounds.push(Bound::Interrupted);
        let sentence = states_left_out(&record, &graph).expect("it is cut");
        assert!(
            sentence.starts_with("5 of at least 77 states"),
            "{sentence}"
        );
    }
}
