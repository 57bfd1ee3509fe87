//! The message sequence chart of a run of actors, as text and as a picture: a lane for each object,
//! a bar for each step of a task, an arrow for each message and each new object, and a mark where a
//! task waits, fails or ends. Text that does not fit into its lane is wrapped, so nothing is cut
//! off.

use mazurka_core::Kind;
use mazurka_core::record::{Actor, Ending, Message, Record, Run, Step};

use crate::svg::{INK, LETTER, LINE, sheet, text_element, text_width};
use crate::verdict::title;

/// Sizes of the picture, in pixels.
const MARGIN: f64 = 40.0;
const BAR: f64 = 10.0;
const GAP: f64 = 6.0;

/// The least and the greatest width of a lane, in letters.
const LANE_LETTERS: std::ops::RangeInclusive<usize> = 16..=40;

const RUNS: &str = "#2980b9";
const WAITS: &str = "#b9770e";
const FAILS: &str = "#c0392b";
const FAINT: &str = "#7f8c8d";

/// A row of the chart.
struct ChartRow {
    /// The number, from 1, of the step that starts in this row; `None` if no step starts here.
    number: Option<usize>,
    lane: usize,
    /// For an arrow: the lane that it leads to, and whether the object there is new.
    arrow: Option<(usize, bool)>,
    text: String,
    color: &'static str,
}

/// A chart with its layout: lanes in the order in which their objects appear, and rows.
struct Chart<'a> {
    lanes: Vec<&'a str>,
    rows: Vec<ChartRow>,
    /// Width of a lane, in letters.
    width: usize,
}

/// Returns a message as text: `store(3) [0.1]`.
fn written(sent: &Message) -> String {
    let arguments = sent.arguments.join(", ");
    format!("{}({arguments}) [{}]", sent.method, sent.process)
}

impl<'a> Chart<'a> {
    /// Makes the chart of a run; `None` if the run has no actors.
    fn from_run(record: &'a Record, run: &'a Run) -> Option<Self> {
        let mut chart = Self {
            lanes: Vec::new(),
            rows: Vec::new(),
            width: *LANE_LETTERS.start(),
        };
        for (at, step) in run.steps.iter().enumerate() {
            let actor = step.actor.as_deref()?;
            chart.add_step(at + 1, run, step, actor);
        }
        let deadlocked = run.ending == Ending::Deadlock;
        let stuck = record.witnesses.iter();
        let mut stuck = stuck.filter(|shown| deadlocked && shown.kind == Kind::Deadlock);
        for waiting in stuck.next().into_iter().flat_map(|shown| &shown.waiting) {
            let object = object_of(run, &waiting.process)?;
            let holder = waiting.held_by.iter();
            let holder: String = holder.map(|task| format!(", held by {task}")).collect();
            let text = format!("✗ [{}] waits for {}{holder}", waiting.process, waiting.what);
            chart.words(object, text, FAILS);
        }
        // The text of a mishap may be wrapped, so it does not widen the lanes.
        let rows = chart.rows.iter().filter(|row| row.color != FAILS);
        let needed = rows.map(|row| chart.needs(row)).max()?;
        let names = chart.lanes.iter().map(|name| name.chars().count() + 2);
        let needed = needed.max(names.max().unwrap_or(0));
        chart.width = needed.clamp(*LANE_LETTERS.start(), *LANE_LETTERS.end());
        Some(chart)
    }

    fn add_step(&mut self, number: usize, run: &'a Run, step: &'a Step, actor: &'a Actor) {
        let (text, color) = step_text(run, step, actor);
        self.words(&actor.object, text, color);
        if let Some(row) = self.rows.last_mut() {
            row.number = Some(number);
        }
        let lane = self.lane(&actor.object);
        let mut new: Vec<&String> = actor.creates.iter().collect();
        for sent in &actor.sends {
            // An object is created before it receives a message.
            if let Some(at) = new.iter().position(|name| **name == sent.object) {
                new.drain(..=at).for_each(|name| self.created(lane, name));
            }
            let to = self.lane(&sent.object);
            self.rows.push(ChartRow {
                number: None,
                lane,
                arrow: Some((to, false)),
                text: written(sent),
                color: INK,
            });
        }
        new.into_iter().for_each(|name| self.created(lane, name));
    }

    fn created(&mut self, lane: usize, object: &'a str) {
        let to = self.lane(object);
        self.rows.push(ChartRow {
            number: None,
            lane,
            arrow: Some((to, true)),
            text: "new".to_owned(),
            color: INK,
        });
    }

    fn words(&mut self, object: &'a str, text: String, color: &'static str) {
        let lane = self.lane(object);
        self.rows.push(ChartRow {
            number: None,
            lane,
            arrow: None,
            text,
            color,
        });
    }

    /// Returns the lane of an object, and creates it if there is none.
    fn lane(&mut self, object: &'a str) -> usize {
        let known = self.lanes.iter().position(|lane| *lane == object);
        known.unwrap_or_else(|| {
            self.lanes.push(object);
            self.lanes.len() - 1
        })
    }

    /// Returns how wide a lane must be, in letters, for the text of a row to fit into one line.
    fn needs(&self, row: &ChartRow) -> usize {
        let letters = row.text.chars().count();
        match row.arrow {
            Some((to, _)) if to != row.lane => (letters + 6).div_ceil(to.abs_diff(row.lane)),
            _ => letters + 3,
        }
    }

    /// Returns how many letters of the text of a row fit into one line.
    fn room(&self, row: &ChartRow) -> usize {
        match row.arrow {
            Some((to, _)) if to != row.lane => self.width * to.abs_diff(row.lane) - 6,
            _ => self.width - 3,
        }
    }
}

/// Returns the object that a task runs on.
fn object_of<'a>(run: &'a Run, process: &str) -> Option<&'a str> {
    let actors = || run.steps.iter().filter_map(|step| step.actor.as_deref());
    let mut sent = actors().flat_map(|actor| &actor.sends);
    let to = sent.find(|sent| sent.process == process);
    let own = run.steps.iter().find(|step| step.process == process);
    let own = own.and_then(|step| step.actor.as_deref());
    to.map(|sent| sent.object.as_str())
        .or_else(|| own.map(|actor| actor.object.as_str()))
}

/// Returns the text beside the bar of a step, and its colour.
fn step_text(run: &Run, step: &Step, actor: &Actor) -> (String, &'static str) {
    let process = &step.process;
    let sign = if actor.starts { "▶" } else { "▷" };
    let mut sent = run.steps.iter().filter_map(|step| step.actor.as_deref());
    let message = if actor.starts {
        sent.find_map(|from| from.sends.iter().find(|sent| sent.process == *process))
    } else {
        None
    };
    let named = message.map_or_else(|| format!("{} [{process}]", actor.task), written);
    let wrong = step.mishap.as_ref().or(actor.throws.as_ref());
    let waits = actor.waits_for.as_ref().map(|task| format!("for [{task}]"));
    let until = actor.until.as_ref().map(|time| format!("until {time}"));
    let (end, color) = match (wrong, &actor.result, waits.or(until)) {
        (Some(wrong), ..) => (format!("✗ {wrong}"), FAILS),
        (_, Some(value), _) => (format!("■ {value}"), RUNS),
        _ if actor.ends => ("■".to_owned(), RUNS),
        (.., Some(waits)) => (format!("waits {waits}"), WAITS),
        _ if actor.keeps => ("┆".to_owned(), RUNS),
        _ => ("…".to_owned(), RUNS),
    };
    (format!("{sign} {named} {end}"), color)
}

/// Wraps text into lines of at most `most` letters, at blanks if there are any.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > most {
        let blank = rest[..=most].iter().rposition(|&letter| letter == ' ');
        let at = blank.filter(|&at| at > most / 3).unwrap_or(most);
        lines.push(rest[..at].iter().collect());
        rest.drain(..at);
        if rest.first() == Some(&' ') {
            rest.remove(0);
        }
    }
    lines.push(rest.into_iter().collect());
    lines
}

const LEGEND: [&str; 2] = [
    "▶ starts  ▷ continues  ■ ends, with its result  … releases the object",
    "┆ keeps the object  ✗ fails, or waits for ever  [0.1] a task  ┄ new object",
];

/// Returns the chart as text; `None` if the run has no actors.
pub fn chart(record: &Record, run: &Run) -> Option<String> {
    let chart = Chart::from_run(record, run)?;
    let (width, lanes) = (chart.width, chart.lanes.len());
    let mut text = String::new();
    let mut line = |number: Option<usize>, draw: &dyn Fn(&mut Vec<char>)| {
        let mut letters = vec![' '; width * lanes];
        draw(&mut letters);
        let number = number.map_or_else(String::new, |number| number.to_string());
        let letters: String = letters.into_iter().collect();
        text += format!("{number:>4}  {letters}").trim_end();
        text.push('\n');
    };
    let names = chart.lanes.iter().map(|name| wrapped(name, width - 2));
    let names: Vec<Vec<String>> = names.collect();
    for at in 0..names.iter().map(Vec::len).max()? {
        line(None, &|letters| {
            for (lane, name) in names.iter().enumerate() {
                put(
                    letters,
                    lane * width,
                    name.get(at).map_or("", String::as_str),
                );
            }
        });
    }
    let lifelines = |letters: &mut Vec<char>| {
        for lane in 0..lanes {
            letters[lane * width] = '│';
        }
    };
    for row in &chart.rows {
        let mut lines = wrapped(&row.text, chart.room(row));
        let from = row.lane * width;
        let arrow = row.arrow.filter(|&(to, _)| to != row.lane);
        // The last line is written on the arrow.
        let last = arrow.and_then(|_| lines.pop());
        for (at, words) in lines.iter().enumerate() {
            line(row.number.filter(|_| at == 0), &|letters| {
                lifelines(letters);
                let (sign, start) = match (row.arrow, arrow) {
                    (Some((to, _)), Some(_)) => (None, from.min(to * width) + 3),
                    (Some(_), None) => (Some('↻'), from + 2),
                    _ => (Some('┃'), from + 2),
                };
                if let Some(sign) = sign.filter(|&sign| sign == '┃' || at == 0) {
                    letters[from] = sign;
                }
                put(letters, start, words);
            });
        }
        if let (Some((to, new)), Some(label)) = (arrow, last) {
            line(None, &|letters| {
                lifelines(letters);
                draw_arrow(letters, (from, to * width), new, &label);
            });
        }
    }
    for line in LEGEND {
        text += &format!("      {line}\n");
    }
    Some(text)
}

/// Writes words into a line of characters, from the column `start` on.
fn put(letters: &mut [char], start: usize, words: &str) {
    for (at, letter) in words.chars().enumerate() {
        if let Some(place) = letters.get_mut(start + at) {
            *place = letter;
        }
    }
}

/// Draws a message from one column to another.
fn draw_arrow(letters: &mut [char], (from, to): (usize, usize), new: bool, words: &str) {
    let (left, right) = (from.min(to), from.max(to));
    let stroke = if new { '┄' } else { '─' };
    letters[left + 1..right].fill(stroke);
    let (head, tip) = if to > from {
        (right - 1, '▶')
    } else {
        (left + 1, '◀')
    };
    letters[head] = tip;
    let words = format!(" {words} ");
    let room = right - left - 3;
    put(
        letters,
        left + 2 + room.saturating_sub(words.chars().count()) / 2,
        &words,
    );
}

/// Returns the chart as SVG; `None` if the run has no actors.
pub fn chart_svg(record: &Record, run: &Run) -> Option<String> {
    let chart = Chart::from_run(record, run)?;
    let lane = chart.width as f64 * LETTER + 2.0 * BAR;
    let x = |at: usize| MARGIN + BAR + lane * at as f64;
    let legend = LEGEND
        .iter()
        .map(|line| text_width(line))
        .fold(0.0, f64::max);
    let inner = (lane * chart.lanes.len() as f64 + BAR).max(legend);
    let width = inner + 2.0 * MARGIN;
    let letters = (inner / LETTER) as usize;
    let heading = format!("{}: {}", record.program.file, run.schedule);
    let mut y = MARGIN / 2.0;
    let mut body = String::new();
    for line in wrapped(&heading, letters) {
        body += &text_element(MARGIN, y, &line, "font-weight=\"bold\"");
        y += LINE;
    }
    y += LINE;
    let top = y;
    let names = chart
        .lanes
        .iter()
        .map(|name| wrapped(name, chart.width - 2));
    for (at, name) in names.enumerate() {
        for (below, line) in name.iter().enumerate() {
            let options = "font-weight=\"bold\"";
            body += &text_element(x(at) - BAR / 2.0, top + below as f64 * LINE, line, options);
            y = y.max(top + (below + 1) as f64 * LINE);
        }
    }
    let first = y - LINE / 2.0;
    let mut bars = String::new();
    // The start of the bar of the last step, its lane and its colour.
    let mut open: Option<(f64, usize, &str)> = None;
    let close = |open: Option<(f64, usize, &str)>, end: f64| {
        open.map_or_else(String::new, |(start, lane, color)| {
            bar(x(lane), start, end, color)
        })
    };
    for row in &chart.rows {
        if row.number.is_some() {
            bars += &close(open.take(), y - GAP);
            y += GAP;
            open = Some((y, row.lane, row.color));
        } else if row.color == FAILS {
            bars += &close(open.take(), y);
            open = Some((y, row.lane, row.color));
        }
        let lines = wrapped(&row.text, chart.room(row));
        let options = format!("fill=\"{}\"", row.color);
        if let Some(number) = row.number {
            let options = format!("fill=\"{FAINT}\" text-anchor=\"end\"");
            body += &text_element(MARGIN - BAR, y + LINE - 4.0, &number.to_string(), &options);
        }
        let to = row.arrow.map_or(row.lane, |(to, _)| to);
        let start = x(row.lane.min(to)) + if row.arrow.is_some() { 3.0 } else { 1.5 } * BAR;
        for line in &lines {
            y += LINE;
            body += &text_element(start, y - 4.0, line, &options);
        }
        if let Some((to, new)) = row.arrow {
            body += &arrow(x(row.lane), x(to), y, new);
            y += GAP;
        }
    }
    bars += &close(open, y);
    let lines = |at: usize| {
        let x = x(at);
        format!(
            "<line x1=\"{x:.1}\" y1=\"{first:.1}\" x2=\"{x:.1}\" y2=\"{y:.1}\" stroke=\"#bdc3c7\"/>\n"
        )
    };
    let lifelines: String = (0..chart.lanes.len()).map(lines).collect();
    y += LINE;
    for wrong in record.witnesses.iter().map(title) {
        for line in wrapped(&format!("✗ {wrong}"), letters) {
            y += LINE;
            body += &text_element(MARGIN, y, &line, &format!("fill=\"{FAILS}\""));
        }
    }
    y += LINE;
    for line in LEGEND {
        y += LINE;
        body += &text_element(MARGIN, y, line, &format!("fill=\"{FAINT}\""));
    }
    let head = format!(
        "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L7,3 L0,6 z\" fill=\"{INK}\"/></marker></defs>\n"
    );
    let height = y + MARGIN / 2.0;
    Some(sheet(width, height) + &head + &lifelines + &bars + &body + "</svg>\n")
}

/// Returns the bar of a step.
fn bar(x: f64, start: f64, end: f64, fill: &str) -> String {
    format!(
        "<rect x=\"{:.1}\" y=\"{start:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{fill}\" fill-opacity=\"0.75\"/>\n",
        x - BAR / 2.0,
        (end - start).max(LINE)
    )
}

/// Returns the arrow of a message or, dashed, the arrow to a new object.
fn arrow(from: f64, to: f64, y: f64, new: bool) -> String {
    let dashes = if new { " stroke-dasharray=\"4 3\"" } else { "" };
    let end = "marker-end=\"url(#head)\"";
    if from == to {
        format!(
            "<path d=\"M{:.1},{:.1} h14 v-8 h-10\" fill=\"none\" stroke=\"{INK}\" {end}/>\n",
            from + BAR / 2.0,
            y
        )
    } else {
        format!(
            "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{INK}\"{dashes} {end}/>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use mazurka_core::Verdict;
    use mazurka_core::record::Waiting;

    use super::*;

    fn run(actors: &[Actor]) -> Run {
        let step = |(at, actor): (usize, &Actor)| Step {
            process: format!("0.{at}"),
            outcomes: Vec::new(),
            label: String::new(),
            line: 1,
            file: None,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: Vec::new(),
            locks: Vec::new(),
            mishap: None,
            racing: false,
            actor: Some(Box::new(actor.clone())),
            memory: None,
            printed: Vec::new(),
        };
        Run {
            schedule: "0.1".to_owned(),
            inputs: Vec::new(),
            ending: Ending::Final,
            steps: actors.iter().enumerate().map(step).collect(),
            state: Vec::new(),
            names: Vec::new(),
            processes: Vec::new(),
        }
    }

    fn record() -> Record {
        crate::tests::record(Verdict::Verified, Vec::new(), Vec::new())
    }

    fn message(object: &str, method: &str, process: &str) -> Message {
        Message {
            process: process.to_owned(),
            object: object.to_owned(),
            method: method.to_owned(),
            arguments: vec!["3".to_owned()],
        }
    }

    fn actor(object: &str, task: &str, sends: Vec<Message>) -> Actor {
        Actor {
            object: object.to_owned(),
            task: task.to_owned(),
            starts: true,
            ends: true,
            sends,
            creates: Vec::new(),
            waits_for: None,
            until: None,
            result: None,
            throws: None,
            keeps: false,
            file: None,
        }
    }

    #[test]
    fn messages_are_arrows_between_lanes() {
        let mut main = actor("main", "main", vec![message("Buffer1", "store", "0.1")]);
        main.creates = vec!["Buffer1".to_owned()];
        let mut stores = actor("Buffer1", "store", vec![message("main", "a", "0.7")]);
        stores.waits_for = Some("0.3".to_owned());
        stores.ends = false;
        let mut again = actor("Buffer1", "store", vec![message("Buffer1", "b", "0.8")]);
        again.starts = false;
        again.result = Some("list[1]".to_owned());
        let mut late = actor("Buffer1", "late", Vec::new());
        (late.ends, late.until) = (false, Some("5".to_owned()));
        let mut thrown = actor("Buffer1", "bad", Vec::new());
        thrown.throws = Some("NullPointerException".to_owned());
        let mut failing = run(&[main, stores, again, late, thrown.clone(), thrown]);
        failing.steps[5].mishap = Some("an assertion fails".to_owned());
        failing.ending = Ending::Deadlock;
        let mut found = record();
        let mut shown = crate::tests::witness(Kind::Deadlock, "deadlock");
        shown.waiting = vec![Waiting {
            process: "0.1".to_owned(),
            what: "the cog".to_owned(),
            held_by: Some("0.3".to_owned()),
            line: 1,
            file: None,
        }];
        found.witnesses = vec![shown];
        let text = chart(&found, &failing).expect("a chart");
        let expected = "
      main                                    Buffer1
   1  ┃ ▶ main [0.0] ■                        │
      │┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ new ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶│
      │──────────── store(3) [0.1] ──────────▶│
   2  │                                       ┃ ▶ store(3) [0.1] waits for [0.3]
      │◀───────────── a(3) [0.7] ─────────────│
   3  │                                       ┃ ▷ store [0.2] ■ list[1]
      │                                       ↻ b(3) [0.8]
   4  │                                       ┃ ▶ late [0.3] waits until 5
   5  │                                       ┃ ▶ bad [0.4] ✗
      │                                       ┃ NullPointerException
   6  │                                       ┃ ▶ bad [0.5] ✗ an assertion fails
      │                                       ┃ ✗ [0.1] waits for the cog, held
      │                                       ┃ by 0.3
      ▶ starts  ▷ continues  ■ ends, with its result  … releases the object
      ┆ keeps the object  ✗ fails, or waits for ever  [0.1] a task  ┄ new object
";
        let blank = |text: &str| text.replace([' ', '─', '┄'], "");
        assert_eq!(blank(text.trim()), blank(expected.trim()), "{text}");
        let svg = chart_svg(&found, &failing).expect("a chart");
        crate::wellformed::assert_sound(&svg);
        let all = [
            "new",
            "store(3) [0.1]",
            "■ list[1]",
            "NullPointerException",
            "✗ an assertion fails",
            "waits for the cog",
            "▶ starts",
        ];
        for part in all {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn a_run_without_actors_has_no_chart() {
        let mut one = run(&[]);
        assert_eq!(chart(&record(), &one), None);
        one.steps.clear();
        assert_eq!(chart(&record(), &one), None);
    }

    #[test]
    fn long_texts_are_not_cut() {
        let long = "aVeryLongNameOfAMethodThatDoesNotFitAnywhereAndGoesOnBelow";
        let task = |object: &str, to: &str| {
            let sends = vec![message(to, long, "0.1"), message(object, "<&>", "0.9")];
            let mut task = actor(object, long, sends);
            task.waits_for = Some("0.1.2.3.4.5.6.7.8.9.0.1.2".to_owned());
            task.ends = false;
            task
        };
        let mut long_run = run(&[task("main", "Buffer1"), task("Buffer1", "main")]);
        long_run.schedule = "0 0.1 ".repeat(100);
        let svg = chart_svg(&record(), &long_run).expect("a chart");
        crate::wellformed::assert_sound(&svg);
        let shown: String = { crate::wellformed::elements(&svg).into_iter() }
            .filter(|element| element.name == "text")
            .map(|element| element.text)
            .collect();
        let shown = shown.replace(' ', "");
        assert_eq!(shown.matches(long).count(), 4, "{shown}");
        assert!(shown.contains(&"00.1".repeat(100)), "{shown}");
        let text = chart(&record(), &long_run).expect("a chart");
        assert_eq!(text.matches("GoesOnBelow").count(), 4, "{text}");
    }

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("", 3), [""]);
    }
}
