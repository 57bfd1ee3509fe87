//! Draws lanes for Graphviz: a cluster for each process, with its steps one below the other.

use super::{Arrow, Cell, Lanes, Panel, Style};
use crate::dot::quoted;

/// Returns the whole picture as a `digraph`.
pub(super) fn draw(lanes: &Lanes) -> String {
    let mut heading = lanes.heading.clone();
    heading.extend(lanes.left_out());
    heading.extend(lanes.foot.iter().cloned());
    heading.extend(lanes.relations().into_iter().map(str::to_owned));
    let mut text = String::from("digraph run {\n");
    text += &format!("  label={};\n", quoted(&heading.join("\n")));
    text += "  labelloc=t;\n  fontname=monospace;\n";
    text += "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eaf2f8\", fontname=monospace, fontsize=10];\n";
    text += "  edge [fontname=monospace, fontsize=10, arrowsize=0.6];\n";
    for (at, panel) in lanes.panels.iter().enumerate() {
        text += &Pen { panel, at }.draw();
    }
    text += "}\n";
    text
}

/// Draws one panel.
struct Pen<'a> {
    panel: &'a Panel,
    /// The index of the panel.
    at: usize,
}

impl Pen<'_> {
    fn draw(&self) -> String {
        let (panel, at) = (self.panel, self.at);
        let mut about = vec![panel.name.clone()];
        about.extend(panel.notes.iter().cloned());
        about.extend(panel.ending.iter().map(|(_, line)| line.clone()));
        about.retain(|line| !line.is_empty());
        let mut text = format!("  subgraph cluster_run{at} {{\n");
        text += &format!("    label={};\n", quoted(&about.join("\n")));
        for lane in 0..panel.lanes.len() {
            text += &self.lane(lane);
        }
        text += "  }\n";
        text += &self.time();
        text += &self.races();
        text += &self.relations();
        text += &self.repeats();
        text
    }

    fn node(&self, row: usize, lane: usize) -> String {
        format!("r{}_{row}_{lane}", self.at)
    }

    fn head(&self, lane: usize) -> String {
        format!("r{}_head_{lane}", self.at)
    }

    /// Returns the boxes of a lane, with their rows.
    fn cells(&self, lane: usize) -> impl Iterator<Item = (usize, &Cell)> {
        let rows = self.panel.rows.iter().enumerate();
        rows.flat_map(move |(row, known)| {
            let own = known.cells.iter().filter(move |cell| cell.lane == lane);
            own.map(move |cell| (row, cell))
        })
    }

    fn lane(&self, lane: usize) -> String {
        let name = quoted(&self.panel.lanes[lane].name);
        let mut text = format!("    subgraph cluster_run{}_{lane} {{\n", self.at);
        text += "      label=\"\"; color=\"#bdc3c7\";\n";
        let head = self.head(lane);
        text += &format!("      {head} [shape=plaintext, style=\"\", label={name}];\n");
        let mut before = head;
        let mut edges = String::new();
        for (row, cell) in self.cells(lane) {
            let node = self.node(row, lane);
            text += &format!("      {node} [{}];\n", self.options(row, cell));
            edges += &format!("      {before} -> {node};\n");
            before = node;
        }
        text += &edges;
        text += "    }\n";
        text
    }

    fn options(&self, row: usize, cell: &Cell) -> String {
        let lines = cell.lines.iter().map(|(_, line)| line.clone());
        let mut lines: Vec<String> = lines.collect();
        if let (Some(number), Some(first)) = (self.panel.rows[row].number, lines.first_mut()) {
            *first = format!("{number}: {first}");
        }
        let held = self.panel.locks.iter();
        let held =
            held.filter(|held| held.lane == cell.lane && (held.from..held.to).contains(&row));
        let held: Vec<&str> = held.map(|held| held.name.as_str()).collect();
        if !held.is_empty() {
            lines.push(format!("holds {}", held.join(", ")));
        }
        let (label, tip) = (quoted(&lines.join("\n")), quoted(&cell.title));
        let style = match cell.style {
            Style::Plain => "",
            Style::Racing => ", fillcolor=\"#fef5e7\", color=\"#b9770e\", penwidth=2",
            Style::Failure => {
                ", shape=doubleoctagon, style=filled, fillcolor=\"#fadbd8\", color=\"#c0392b\""
            }
            Style::Halted => ", shape=diamond, style=filled, fillcolor=\"#f2f3f4\"",
            Style::Waiting => {
                ", shape=octagon, style=\"filled,dashed\", fillcolor=\"#fdebd0\", color=\"#c0392b\""
            }
            Style::Ready => ", style=dashed, color=\"#7f8c8d\"",
        };
        format!("label={label}, tooltip={tip}{style}")
    }

    /// Returns invisible edges that keep the rows in order.
    fn time(&self) -> String {
        let rows = self.panel.rows.iter().enumerate();
        let nodes: Vec<Vec<String>> = rows
            .map(|(row, known)| {
                let cells = known.cells.iter();
                cells.map(|cell| self.node(row, cell.lane)).collect()
            })
            .filter(|nodes: &Vec<String>| !nodes.is_empty())
            .collect();
        let pair = |pair: &[Vec<String>]| {
            let below = pair[1].iter();
            let edge = |node: &String| format!("  {} -> {node} [style=invis];\n", pair[0][0]);
            below.map(edge).collect::<String>()
        };
        nodes.windows(2).map(pair).collect()
    }

    fn races(&self) -> String {
        let rows = self.panel.rows.iter().enumerate();
        let nodes: Vec<String> = rows
            .filter_map(|(row, known)| {
                let cell = known.cells.iter().find(|cell| cell.racing)?;
                Some(self.node(row, cell.lane))
            })
            .collect();
        let edge = |pair: &[String]| {
            format!(
                "  {} -> {} [dir=none, style=dashed, color=\"#b9770e\", constraint=false];\n",
                pair[0], pair[1]
            )
        };
        nodes.windows(2).map(edge).collect()
    }

    fn relations(&self) -> String {
        let edge = |arrow: &Arrow| {
            let [from, to] = [arrow.from, arrow.to].map(|(row, lane)| self.node(row, lane));
            let style = arrow.style();
            let (label, colour) = (quoted(&arrow.label()), style.colour());
            let dashed = if style.is_dashed() {
                ", style=dashed"
            } else {
                ""
            };
            format!(
                "  {from} -> {to} [label={label}, color=\"{colour}\", fontcolor=\"{colour}\"{dashed}, \
                 constraint=false];\n"
            )
        };
        self.panel.arrows.iter().map(edge).collect()
    }

    fn repeats(&self) -> String {
        let Some((first, last)) = self.panel.repeats else {
            return String::new();
        };
        let node = |row: usize| {
            let cell = self.panel.rows[row].cells.first()?;
            Some(self.node(row, cell.lane))
        };
        let Some((from, to)) = node(last).zip(node(first)) else {
            return String::new();
        };
        format!(
            "  {from} -> {to} [label=\"repeats for ever\", color=\"#b9770e\", constraint=false];\n"
        )
    }
}
