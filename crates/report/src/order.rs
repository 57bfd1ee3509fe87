//! The partial order of the events of one run, with a lane for each process: for Graphviz, and as
//! an SVG picture.
//!
//! In the picture, an event is one row below its lowest predecessor. So the events in one row are
//! not ordered with each other. A lane is as wide as its labels.

use mazurka_core::record::{OrderedEvent, PartialOrder};

use crate::clip;
use crate::dot::quoted;
use crate::svg::{text_element, text_width, with_tooltip};

const LABEL_WIDTH: usize = 40;
const INK: &str = "#2c3e50";
const BOX: &str = "#eaf2f8";
const ROW: f64 = 52.0;
const HEIGHT: f64 = 26.0;
const GAP: f64 = 36.0;
const MARGIN: f64 = 24.0;
const HEAD: f64 = 76.0;

fn label(event: &OrderedEvent) -> String {
    clip(&event.label, LABEL_WIDTH)
}

fn details(order: &PartialOrder, event: &OrderedEvent) -> String {
    let lane = order.lanes.get(event.lane).map_or("", |lane| lane);
    let text = format!("{lane}: {}\n{}", event.label, event.details);
    text.trim_end().to_owned()
}

/// Returns the order as a `digraph`: events are nodes, in a cluster for each process.
pub fn order_dot(title: &str, order: &PartialOrder) -> String {
    let mut text = String::from("digraph class {\n");
    text += &format!("  label={};\n  labelloc=t;\n", quoted(title));
    text += "  node [shape=box, fontname=monospace, fontsize=10];\n";
    text += "  edge [arrowsize=0.6];\n";
    for (lane, name) in order.lanes.iter().enumerate() {
        text += &format!(
            "  subgraph cluster_{lane} {{\n    label={};\n",
            quoted(name)
        );
        for (at, event) in order.events.iter().enumerate() {
            if event.lane == lane {
                let tip = quoted(&details(order, event));
                text += &format!(
                    "    e{at} [label={}, tooltip={tip}];\n",
                    quoted(&label(event))
                );
            }
        }
        text += "  }\n";
    }
    for (at, event) in order.events.iter().enumerate() {
        for before in &event.after {
            text += &format!("  e{before} -> e{at};\n");
        }
    }
    text += "}\n";
    text
}

/// Returns the row of each event.
fn rows(order: &PartialOrder) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::with_capacity(order.events.len());
    for event in &order.events {
        let above = event.after.iter().filter_map(|&at| rows.get(at));
        rows.push(above.max().map_or(0, |row| row + 1));
    }
    rows
}

/// Returns the order as SVG, with a column for each process.
pub fn order_svg(title: &str, order: &PartialOrder) -> String {
    let rows = rows(order);
    let mut columns: Vec<(f64, f64)> = Vec::new();
    let mut x = MARGIN;
    for (lane, name) in order.lanes.iter().enumerate() {
        let own = order.events.iter().filter(|event| event.lane == lane);
        let labels = own.map(|event| text_width(&label(event)));
        let width = labels.fold(text_width(name), f64::max) + 20.0;
        columns.push((x, width));
        x += width + GAP;
    }
    let width = (x - GAP + MARGIN).max(text_width(title) + 2.0 * MARGIN);
    let deepest = rows.iter().max().map_or(0, |row| row + 1);
    let height = HEAD + deepest as f64 * ROW + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    text += &text_element(MARGIN, MARGIN, title, "font-weight=\"bold\"");
    for ((left, width), name) in columns.iter().zip(&order.lanes) {
        let middle = left + width / 2.0;
        text += &text_element(
            middle,
            MARGIN + 28.0,
            name,
            "text-anchor=\"middle\" font-weight=\"bold\"",
        );
        text += &format!(
            "<path d=\"M{middle:.1} {:.1} V{:.1}\" stroke=\"#d5d8dc\" stroke-dasharray=\"2 4\"/>\n",
            HEAD - 14.0,
            height - MARGIN
        );
    }
    let place = |at: usize| {
        let lane = order.events.get(at).map_or(0, |event| event.lane);
        let (left, width) = columns.get(lane).copied().unwrap_or((MARGIN, 0.0));
        (left, width, HEAD + rows[at] as f64 * ROW)
    };
    for (at, event) in order.events.iter().enumerate() {
        let (left, width, top) = place(at);
        let to = left + width / 2.0;
        for &before in event.after.iter().filter(|&&before| before < at) {
            let (left, width, above) = place(before);
            let from = left + width / 2.0;
            let (start, end) = (above + HEIGHT, top - 2.0);
            let bend = f64::midpoint(start, end);
            text += &format!(
                "<path d=\"M{from:.1} {start:.1} C{from:.1} {bend:.1} {to:.1} {bend:.1} {to:.1} {end:.1}\" \
                 fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.2\"/>\n"
            );
        }
        if !event.after.is_empty() {
            text += &format!(
                "<path d=\"M{:.1} {:.1} h7 l-3.5 6 Z\" fill=\"{INK}\"/>\n",
                to - 3.5,
                top - 6.0
            );
        }
    }
    for (at, event) in order.events.iter().enumerate() {
        let (left, width, top) = place(at);
        let shape = format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"5\" \
             fill=\"{BOX}\" stroke=\"{INK}\"/>{}",
            text_element(
                left + width / 2.0,
                top + 17.0,
                &label(event),
                "text-anchor=\"middle\""
            )
        );
        text += &with_tooltip(&details(order, event), &shape);
    }
    text += "</svg>\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(lane: usize, label: &str, after: &[usize]) -> OrderedEvent {
        OrderedEvent {
            lane,
            label: label.into(),
            details: String::new(),
            after: after.to_vec(),
        }
    }

    #[test]
    fn rows_follow_the_order_and_not_the_run() {
        let order = PartialOrder {
            lanes: vec!["0".into(), "1".into()],
            events: vec![
                event(0, "x := 1", &[]),
                event(1, "y := 1", &[]),
                event(1, "x < 2 ▷ skip", &[0, 1]),
            ],
        };
        assert_eq!(rows(&order), [0, 0, 1]);
        let svg = order_svg("a & b", &order);
        assert!(svg.contains("a &amp; b") && svg.contains("x &lt; 2 ▷ skip"));
        insta::assert_snapshot!(order_dot("title", &order), @r#"
        digraph class {
          label="title";
          labelloc=t;
          node [shape=box, fontname=monospace, fontsize=10];
          edge [arrowsize=0.6];
          subgraph cluster_0 {
            label="0";
            e0 [label="x := 1", tooltip="0: x := 1"];
          }
          subgraph cluster_1 {
            label="1";
            e1 [label="y := 1", tooltip="1: y := 1"];
            e2 [label="x < 2 ▷ skip", tooltip="1: x < 2 ▷ skip"];
          }
          e0 -> e2;
          e1 -> e2;
        }
        "#);
    }
}
