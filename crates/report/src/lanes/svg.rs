//! Draws lanes as SVG. A lane is as wide as its content, and a row is as high as its content, so
//! nothing overlaps. A lock that a process holds is a bar to the left of the boxes of its lane.
//! Locks that are held at the same time have separate columns, the *tracks*.

use super::{Arrow, Cell, LaneRow, Lanes, LockBar, Panel, Style, Tone};
use crate::clip;
use crate::svg::{INK, LETTER, LINE, MARGIN, PAPER, sheet, text_element, text_width, with_tooltip};

/// Sizes, in pixels.
const GAP: f64 = 22.0;
/// The gap between lanes with named arrows between them.
const ARROW_GAP: f64 = 84.0;
/// The length of the head of an arrow.
const HEAD: f64 = 6.0;
/// The distance between the ends of arrows at one box.
const ARROWS: f64 = 5.0;
const PAD: f64 = 8.0;
const TRACK: f64 = 19.0;
const BAR: f64 = 7.0;
const BETWEEN_ROWS: f64 = 16.0;
/// The space for the line that leads back from the last repeated step to the first.
const RETURN: f64 = 24.0;
/// Limit on the letters of the name of a lane.
const NAME_WIDTH: usize = 40;
/// The least width of a line of text, in letters.
const TEXT_WIDTH: f64 = 72.0;

const QUIET: &str = "#7f8c8d";
const BAD: &str = "#c0392b";
const LOCK: &str = "#7d3c98";
const RACE: &str = "#b9770e";

/// The positions of the parts of a panel.
struct PanelLayout {
    /// The right end of the numbers of steps.
    numbers: f64,
    /// For each lane, its left end, the left end of its boxes, and their width.
    columns: Vec<LaneColumn>,
    /// The top and the height of each row.
    rows: Vec<(f64, f64)>,
    /// The track of each held lock.
    tracks: Vec<usize>,
    /// The top of the names of the lanes.
    top: f64,
    bottom: f64,
    right: f64,
}

/// The left end of a lane, the left end of its boxes, which come after the bars of its locks, and
/// the width of the boxes.
#[derive(Clone, Copy)]
struct LaneColumn {
    left: f64,
    boxes: f64,
    width: f64,
}

impl LaneColumn {
    fn middle(&self) -> f64 {
        self.boxes + self.width / 2.0
    }
}

/// Returns the whole picture.
pub(super) fn draw(lanes: &Lanes) -> String {
    let mut y = MARGIN;
    let mut body = String::new();
    let layouts: Vec<PanelLayout> = lanes
        .panels
        .iter()
        .map(|panel| PanelLayout::new(panel, 0.0))
        .collect();
    let right = layouts.iter().map(|layout| layout.right);
    let right = right.fold(2.0 * MARGIN + TEXT_WIDTH * LETTER, f64::max);
    let letters = ((right - 2.0 * MARGIN) / LETTER) as usize;
    let mut text = TextWriter { letters, y: &mut y };
    for (at, line) in lanes.heading.iter().enumerate() {
        let bold = if at == 0 { "font-weight=\"bold\"" } else { "" };
        body += &text.add(line, bold);
    }
    for panel in &lanes.panels {
        y += LINE;
        let mut text = TextWriter { letters, y: &mut y };
        body += &text.add(&panel.name, "font-weight=\"bold\"");
        for note in &panel.notes {
            body += &text.add(note, "");
        }
        body += &text.add(&panel.left_out().unwrap_or_default(), &ink(RACE));
        let layout = PanelLayout::new(panel, y);
        body += &layout.draw(panel);
        y = layout.bottom + LINE;
        let mut text = TextWriter { letters, y: &mut y };
        for (bad, line) in &panel.ending {
            let paint = if *bad { ink(BAD) } else { String::new() };
            body += &text.add(line, &paint);
        }
    }
    y += LINE / 2.0;
    let mut text = TextWriter { letters, y: &mut y };
    for line in &lanes.foot {
        body += &text.add(line, "");
    }
    for line in legend(lanes) {
        body += &text.add(line, &ink(QUIET));
    }
    sheet(right, y + MARGIN / 2.0) + &body + "</svg>\n"
}

/// Returns the meanings of the signs that occur.
fn legend(lanes: &Lanes) -> Vec<&'static str> {
    let mut lines = Vec::new();
    if !lanes.panels.is_empty() {
        lines.push("time goes down; point at a box for its full text");
    }
    if lanes.panels.iter().any(|panel| !panel.locks.is_empty()) {
        lines.push("a bar beside a lane: the process holds the lock");
    }
    lines.extend(lanes.relations());
    lines
}

fn ink(colour: &str) -> String {
    format!("fill=\"{colour}\"")
}

/// A writer of lines, one below the other, which wraps lines that are too long.
struct TextWriter<'a> {
    letters: usize,
    y: &'a mut f64,
}

impl TextWriter<'_> {
    fn add(&mut self, line: &str, options: &str) -> String {
        let mut text = String::new();
        for part in broken(line, self.letters) {
            text += &text_element(MARGIN, *self.y, &part, options);
            *self.y += LINE;
        }
        text
    }
}

/// Wraps text into lines of at most this many letters, at blanks, and within longer words.
fn broken(text: &str, letters: usize) -> Vec<String> {
    let most = letters as f64 * LETTER;
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        while !word.is_empty() {
            let blank = if line.is_empty() { "" } else { " " };
            if text_width(&line) + text_width(blank) + text_width(&word) <= most {
                line = format!("{line}{blank}{word}");
                break;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            let fits = |end: &usize| text_width(&word[..*end]) <= most;
            let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
            let end = ends.take_while(fits).last();
            let end = end.or(word.chars().next().map(char::len_utf8)).unwrap_or(0);
            let rest = word.split_off(end);
            lines.push(std::mem::replace(&mut word, rest));
        }
    }
    lines.extend(Some(line).filter(|line| !line.is_empty()));
    lines
}

impl PanelLayout {
    /// Lays out a panel below this height.
    fn new(panel: &Panel, top: f64) -> Self {
        let tracks = tracks(&panel.locks);
        let numbers = panel.rows.iter().filter_map(|row| row.number).max();
        let numbers = text_width(&numbers.map_or(String::new(), |number| number.to_string()));
        let bend = if panel.repeats.is_some() { RETURN } else { 0.0 };
        let numbers = MARGIN + bend + numbers;
        let gap = if panel.arrows.is_empty() {
            GAP
        } else {
            ARROW_GAP
        };
        let mut left = numbers + GAP;
        let mut columns = Vec::with_capacity(panel.lanes.len());
        for (lane, known) in panel.lanes.iter().enumerate() {
            let own = panel.locks.iter().zip(&tracks);
            let own = own.filter(|(held, _)| held.lane == lane);
            let count = own.map(|(_, track)| track + 1).max().unwrap_or(0);
            let boxes = left + count as f64 * TRACK;
            let name = text_width(&clip(&known.name, NAME_WIDTH));
            columns.push(LaneColumn {
                left,
                boxes,
                width: name + 2.0 * PAD,
            });
            left = boxes;
            let cells = panel.rows.iter().flat_map(|row| &row.cells);
            for cell in cells.filter(|cell| cell.lane == lane) {
                let lines = cell.lines.iter().map(|(_, line)| text_width(line));
                let width = lines.fold(0.0, f64::max);
                columns[lane].width = columns[lane].width.max(width + 2.0 * PAD);
            }
            left += columns[lane].width + gap;
        }
        let notes = panel
            .rows
            .iter()
            .map(|row| MARGIN + bend + text_width(&row.note));
        // Arrows within the last lane are to the right of it.
        let last = if panel.arrows.is_empty() {
            gap
        } else {
            gap / 2.0
        };
        let right = notes.fold(left - last, f64::max) + MARGIN;
        let mut y = top + 2.0 * LINE;
        let mut rows = Vec::with_capacity(panel.rows.len());
        for row in &panel.rows {
            let height = height(row);
            rows.push((y, height));
            y += height + BETWEEN_ROWS;
        }
        Self {
            numbers,
            columns,
            rows,
            tracks,
            top,
            bottom: y,
            right,
        }
    }

    fn draw(&self, panel: &Panel) -> String {
        let mut text = String::new();
        for lane in 0..panel.lanes.len() {
            text += &self.lane(panel, lane);
        }
        text += &self.races(panel);
        text += &self.repeats(panel);
        // Arrows are drawn before the boxes, so that a box between the lanes of an arrow hides it.
        for at in 0..panel.arrows.len() {
            text += &self.arrow(panel, at);
        }
        for (held, track) in panel.locks.iter().zip(&self.tracks) {
            text += &self.bar(held, *track);
        }
        for (row, &(top, height)) in panel.rows.iter().zip(&self.rows) {
            if let Some(number) = row.number {
                let number = number.to_string();
                let x = self.numbers - text_width(&number);
                text += &text_element(x, top + height / 2.0 + 4.0, &number, &ink(QUIET));
            }
            if !row.note.is_empty() {
                let bend = if panel.repeats.is_some() { RETURN } else { 0.0 };
                // A white outline keeps the letters legible where they cross lanes.
                let halo = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"4\"";
                let options = format!("{} {halo}", ink(RACE));
                text += &text_element(MARGIN + bend, top + LINE - 3.0, &row.note, &options);
            }
            let cells = row.cells.iter();
            let cells: String = cells.map(|cell| self.cell(cell, top, height)).collect();
            // The script of a page finds the boxes of a step by this number.
            text += &match row.number {
                Some(number) => format!("<g data-step=\"{number}\">{}</g>\n", cells.trim_end()),
                None => cells,
            };
        }
        text
    }

    /// Returns a relation: from the side of one box to the side of another, with the short name of
    /// the relation near its start, where there is no box.
    fn arrow(&self, panel: &Panel, at: usize) -> String {
        let arrow = &panel.arrows[at];
        let (curve, inward) = self.curve(panel, at);
        let [(x, y), (bend, _), (to_bend, _), (to_x, to_y)] = curve;
        let style = arrow.style();
        let colour = style.colour();
        let dashed = if style.is_dashed() {
            " stroke-dasharray=\"4 3\""
        } else {
            ""
        };
        let mut text = format!(
            "<path d=\"M{x:.1} {y:.1} C{bend:.1} {y:.1} {to_bend:.1} {to_y:.1} {to_x:.1} {to_y:.1}\" \
             fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"{dashed}/>\
             <path d=\"M{:.1} {to_y:.1} l{:.1} -3.5 v7 Z\" fill=\"{colour}\"/>",
            to_x + HEAD * inward,
            -7.0 * inward
        );
        let label = arrow.label();
        let (middle, height) = if arrow.from.1 == arrow.to.1 {
            let (right, height) = along(&curve, 0.5);
            (right + text_width(&label) / 2.0, height)
        } else {
            let apart = |part: &u32| (along(&curve, f64::from(*part) / 20.0).0 - x).abs();
            let near = (1..10).find(|part| apart(part) >= ARROW_GAP * 0.3);
            along(&curve, f64::from(near.unwrap_or(10)) / 20.0)
        };
        let halo = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
        let options = format!("{} font-size=\"10\" {halo}", ink(colour));
        let left = middle - text_width(&label) / 2.0;
        text += text_element(left, height + 3.0, &label, &options).trim_end();
        with_tooltip(&format!("{label}: {}", arrow.title), &text)
    }

    /// Returns the curve of an arrow, and the direction in which its head points: 1 is to the
    /// right, -1 to the left. An arrow within a lane starts and ends on the right side.
    fn curve(&self, panel: &Panel, at: usize) -> (Curve, f64) {
        let arrow = &panel.arrows[at];
        let ((_, from), (_, to)) = (arrow.from, arrow.to);
        let right = from <= to;
        let out = if right { 1.0 } else { -1.0 };
        let inward = if from == to { -out } else { out };
        let side = |lane: usize, right: bool| {
            let column = self.columns[lane];
            column.boxes + if right { column.width } else { 0.0 }
        };
        let x = side(from, right);
        let to_x = side(to, inward < 0.0) - HEAD * inward;
        let y = self.height_at(panel, at, arrow.from);
        let to_y = self.height_at(panel, at, arrow.to);
        let reach = if from == to {
            ARROW_GAP / 3.0
        } else {
            ARROW_GAP / 2.0
        };
        let curve = [
            (x, y),
            (x + reach * out, y),
            (to_x - reach * inward, to_y),
            (to_x, to_y),
        ];
        (curve, inward)
    }

    /// Returns the height at which an arrow meets a box. The ends of several arrows at one box are
    /// spread over its height.
    fn height_at(&self, panel: &Panel, at: usize, place: (usize, usize)) -> f64 {
        let meets = |arrow: &Arrow| arrow.from == place || arrow.to == place;
        let own = panel.arrows.iter().enumerate();
        let own: Vec<usize> = own
            .filter(|(_, arrow)| meets(arrow))
            .map(|(at, _)| at)
            .collect();
        let index = own.iter().position(|&one| one == at).unwrap_or(0);
        let (top, height) = self.rows[place.0];
        let spread = ARROWS.min((height - PAD) / own.len() as f64);
        let middle = (own.len() - 1) as f64 / 2.0;
        top + height / 2.0 + (index as f64 - middle) * spread
    }

    /// Returns the name of a lane, and its line: down to the last box if the process has ended,
    /// else to the end of the panel.
    fn lane(&self, panel: &Panel, lane: usize) -> String {
        let (known, column) = (&panel.lanes[lane], self.columns[lane]);
        let name = clip(&known.name, NAME_WIDTH);
        let x = column.middle();
        let head = text_element(
            column.middle() - text_width(&name) / 2.0,
            self.top + LINE - 4.0,
            &name,
            "font-weight=\"bold\"",
        );
        let mut text = with_tooltip(&known.name, &head);
        let own = |row: &LaneRow| row.cells.iter().any(|cell| cell.lane == lane);
        let last = panel.rows.iter().rposition(own).map(|row| {
            let (top, height) = self.rows[row];
            top + height + BETWEEN_ROWS / 2.0
        });
        let start = self.top + LINE + 2.0;
        let end = if known.ended {
            last.unwrap_or(start + PAD)
        } else {
            self.bottom - BETWEEN_ROWS / 2.0
        };
        text += &format!(
            "<path d=\"M{x:.1} {start:.1} V{end:.1}\" fill=\"none\" stroke=\"#bdc3c7\"/>\n"
        );
        if known.ended {
            let tick = format!(
                "<path d=\"M{:.1} {end:.1} H{:.1}\" fill=\"none\" stroke=\"{QUIET}\" \
                 stroke-width=\"2\"/>",
                x - PAD,
                x + PAD
            );
            text += &with_tooltip(&format!("{} ends", known.name), &tick);
        }
        text
    }

    /// Returns a line from each racing step to the next.
    fn races(&self, panel: &Panel) -> String {
        let racing = |row: &LaneRow| {
            let mut cells = row.cells.iter();
            cells.find(|cell| cell.racing).map(|cell| cell.lane)
        };
        let rows = panel.rows.iter().enumerate();
        let places: Vec<(f64, f64)> = rows
            .filter_map(|(at, row)| {
                let (top, height) = self.rows[at];
                Some((self.columns[racing(row)?].middle(), top + height / 2.0))
            })
            .collect();
        let line = |pair: &[(f64, f64)]| {
            let [(from_x, from_y), (x, y)] = [pair[0], pair[1]];
            format!(
                "<path d=\"M{from_x:.1} {from_y:.1} L{x:.1} {y:.1}\" fill=\"none\" stroke=\"{RACE}\" \
                 stroke-width=\"1.6\" stroke-dasharray=\"5 3\"/>\n"
            )
        };
        places.windows(2).map(line).collect()
    }

    /// Returns the line from the last row that repeats back to the first.
    fn repeats(&self, panel: &Panel) -> String {
        let Some((first, last)) = panel.repeats else {
            return String::new();
        };
        let middle = |row: usize| self.rows[row].0 + self.rows[row].1 / 2.0;
        let (left, right) = (MARGIN, MARGIN + RETURN - 10.0);
        // If a single step repeats, the line still needs some height to be seen as a loop.
        let bottom = if first == last {
            middle(last) + 10.0
        } else {
            middle(last)
        };
        let top = middle(first);
        let line = format!(
            "<path d=\"M{right:.1} {bottom:.1} H{left:.1} V{top:.1} H{right:.1}\" fill=\"none\" \
             stroke=\"{RACE}\" stroke-width=\"1.6\"/>\
             <path d=\"M{right:.1} {top:.1} l-6 -4 v8 Z\" fill=\"{RACE}\"/>"
        );
        with_tooltip("the run returns here and repeats for ever", &line)
    }

    /// Returns the bar of a lock that is held.
    fn bar(&self, held: &LockBar, track: usize) -> String {
        let x = self.columns[held.lane].left + track as f64 * TRACK;
        let top = self.rows[held.from].0;
        let bottom = self.rows[held.to].0 + self.rows[held.to].1;
        let tall = (bottom - top).max(BAR);
        let mut text = format!(
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{tall:.1}\" rx=\"3\" \
             fill=\"{LOCK}\" fill-opacity=\"0.7\"/>"
        );
        // The name is along the bar, if there is space.
        if text_width(&held.name) + 4.0 <= tall {
            let (x, y) = (x + BAR + 7.0, top + text_width(&held.name) + 2.0);
            let options =
                format!("fill=\"{LOCK}\" font-size=\"9\" transform=\"rotate(-90 {x:.1} {y:.1})\"");
            text += text_element(x, y, &held.name, &options).trim_end();
        }
        with_tooltip(&held.title, &text)
    }

    fn cell(&self, cell: &Cell, top: f64, row: f64) -> String {
        let column = self.columns[cell.lane];
        let tall = box_height(cell);
        let y = top + (row - tall) / 2.0;
        let (fill, stroke, more) = match cell.style {
            Style::Plain => ("#eaf2f8", INK, ""),
            Style::Racing => ("#fef5e7", RACE, " stroke-width=\"2\""),
            Style::Failure => ("#fadbd8", BAD, " stroke-width=\"2\""),
            Style::Halted => ("#f2f3f4", INK, ""),
            Style::Waiting => ("#fdebd0", BAD, " stroke-dasharray=\"5 3\""),
            Style::Ready => (PAPER, QUIET, " stroke-dasharray=\"2 3\""),
        };
        let mut text = format!(
            "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" rx=\"5\" \
             fill=\"{fill}\" stroke=\"{stroke}\"{more}/>",
            column.boxes, column.width
        );
        for (at, (tone, line)) in cell.lines.iter().enumerate() {
            let colour = match tone {
                Tone::Bad => BAD,
                Tone::Race => RACE,
                Tone::Plain if cell.style == Style::Ready => QUIET,
                Tone::Plain => INK,
            };
            let below = y + PAD / 2.0 + (at as f64 + 0.75) * LINE;
            text += text_element(column.boxes + PAD, below, line, &ink(colour)).trim_end();
        }
        with_tooltip(&cell.title, &text)
    }
}

/// A Bézier curve: its start, two control points, and its end.
type Curve = [(f64, f64); 4];

/// Returns a point of a curve, between its start (0) and its end (1).
fn along(curve: &Curve, t: f64) -> (f64, f64) {
    let weights = [
        (1.0 - t).powi(3),
        3.0 * t * (1.0 - t).powi(2),
        3.0 * t.powi(2) * (1.0 - t),
        t.powi(3),
    ];
    let sum = |value: fn(&(f64, f64)) -> f64| -> f64 {
        let pairs = curve.iter().zip(weights);
        pairs.map(|(point, weight)| value(point) * weight).sum()
    };
    (sum(|point| point.0), sum(|point| point.1))
}

fn box_height(cell: &Cell) -> f64 {
    cell.lines.len() as f64 * LINE + PAD
}

fn height(row: &LaneRow) -> f64 {
    row.cells.iter().map(box_height).fold(LINE, f64::max)
}

/// Returns the track of each lock: locks that a process holds at the same time have different
/// tracks.
fn tracks(locks: &[LockBar]) -> Vec<usize> {
    let mut tracks: Vec<usize> = Vec::with_capacity(locks.len());
    for (at, held) in locks.iter().enumerate() {
        let meets = |other: &LockBar| {
            other.lane == held.lane && other.from <= held.to && held.from <= other.to
        };
        let before = locks[..at].iter().zip(&tracks);
        let taken: Vec<usize> = before
            .filter(|(other, _)| meets(other))
            .map(|(_, &t)| t)
            .collect();
        let free = (0..).find(|track| !taken.contains(track));
        tracks.push(free.unwrap_or(0));
    }
    tracks
}
