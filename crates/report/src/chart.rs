//! The message sequence chart of a run of actors: a lane for each object, a bar for each step of a
//! task, an arrow for each message, a mark where a task waits.

use mazurka_core::record::{Actor, Record, Run};

use crate::svg::{INK, LETTER, LINE, sheet, titled, wide};
use crate::verdict::title;

/// Sizes of the picture, in pixels.
const LANE: f64 = 190.0;
const ROW: f64 = 30.0;
const TOP: f64 = 64.0;
const MARGIN: f64 = 40.0;
const BAR: f64 = 10.0;

/// Width of a lane of the text, in letters, at least and at most.
const LANE_LETTERS: std::ops::RangeInclusive<usize> = 16..=32;

const WAITS: &str = "#c0392b";
const RUNS: &str = "#2980b9";

/// The chart laid out: lanes in the order in which their objects appear, and the actors' steps.
struct Chart<'a> {
    lanes: Vec<&'a str>,
    steps: Vec<(usize, &'a Actor, &'a str)>,
}

impl<'a> Chart<'a> {
    /// None if the run has no actors.
    fn from_run(run: &'a Run) -> Option<Self> {
        let mut lanes: Vec<&str> = Vec::new();
        let mut steps = Vec::new();
        for (at, step) in run.steps.iter().enumerate() {
            let actor = step.actor.as_deref()?;
            let objects =
                std::iter::once(&actor.object).chain(actor.sends.iter().map(|sent| &sent.object));
            for object in objects {
                if !lanes.contains(&object.as_str()) {
                    lanes.push(object);
                }
            }
            steps.push((at + 1, actor, step.process.as_str()));
        }
        (!steps.is_empty()).then_some(Self { lanes, steps })
    }

    /// How wide a lane of the picture is: as what stands in it.
    fn lane_width(&self) -> f64 {
        let beside = |(_, actor, process): &(usize, &Actor, &str)| {
            wide(&clipped(&words(actor, process).0, BESIDE)) + 2.0 * BAR
        };
        let steps = self.steps.iter().map(beside);
        steps.fold(LANE, f64::max)
    }

    fn lane(&self, object: &str) -> usize {
        self.lanes
            .iter()
            .position(|lane| *lane == object)
            .unwrap_or(0)
    }
}

/// What stands beside a bar, and whether the task waits after it.
fn words(actor: &Actor, process: &str) -> (String, bool) {
    let sign = if actor.starts { "▶" } else { "▷" };
    let end = match (&actor.waits_for, actor.ends) {
        (Some(task), _) => format!(" waits {task}"),
        (None, true) => " ■".to_owned(),
        (None, false) => " …".to_owned(),
    };
    (
        format!("{sign} {} {process}{end}", actor.task),
        actor.waits_for.is_some(),
    )
}

/// The chart as text; none if the run is not one of actors.
pub fn chart(run: &Run) -> Option<String> {
    let chart = Chart::from_run(run)?;
    let named = chart.lanes.iter().map(|lane| lane.chars().count());
    let told = chart
        .steps
        .iter()
        .map(|(_, actor, process)| words(actor, process).0.chars().count());
    let widest = named.chain(told).max().unwrap_or(0) + 3;
    let width = widest.clamp(*LANE_LETTERS.start(), *LANE_LETTERS.end());
    let total = width * chart.lanes.len();
    let mut text = String::from("      ");
    for lane in &chart.lanes {
        text += &format!("{:width$}", clipped(lane, width - 1));
    }
    text = text.trim_end().to_owned() + "\n";
    let mut row = |number: Option<usize>, draw: &dyn Fn(&mut Vec<char>)| {
        let mut letters = vec![' '; total];
        for lane in 0..chart.lanes.len() {
            letters[lane * width] = '│';
        }
        draw(&mut letters);
        let number = number.map_or_else(String::new, |number| number.to_string());
        let line: String = letters.into_iter().collect();
        text += &format!("{number:>4}  {}\n", line.trim_end());
    };
    for (number, actor, process) in &chart.steps {
        let lane = chart.lane(&actor.object);
        let (said, _) = words(actor, process);
        row(Some(*number), &|letters| {
            letters[lane * width] = '┃';
            for (at, letter) in clipped(&said, width - 3).chars().enumerate() {
                letters[lane * width + 2 + at] = letter;
            }
        });
        for sent in &actor.sends {
            let to = chart.lane(&sent.object);
            let said = format!(" {} {} ", sent.method, sent.process);
            row(None, &|letters| {
                arrow(letters, lane * width, to * width, &said)
            });
        }
    }
    text += "      ▶ starts  ▷ goes on  ■ ends  … releases the object\n";
    Some(text)
}

fn clipped(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// A message from one column to another.
fn arrow(letters: &mut [char], from: usize, to: usize, said: &str) {
    if from == to {
        letters[from] = '↻';
        for (at, letter) in said.chars().enumerate() {
            if let Some(place) = letters.get_mut(from + 1 + at) {
                *place = letter;
            }
        }
        return;
    }
    let (left, right) = (from.min(to), from.max(to));
    for letter in &mut letters[left + 1..right] {
        *letter = '─';
    }
    letters[if to > from { right - 1 } else { left + 1 }] = if to > from { '▶' } else { '◀' };
    let room = right - left - 4;
    let said = clipped(said, room);
    let start = left + 2 + (room - said.chars().count()) / 2;
    for (at, letter) in said.chars().enumerate() {
        letters[start + at] = letter;
    }
}

/// What stands beside the bars of the picture, cut.
const BESIDE: usize = 32;

/// The chart as SVG; none if the run is not one of actors.
pub fn chart_svg(record: &Record, run: &Run) -> Option<String> {
    let chart = Chart::from_run(run)?;
    let rows: usize = chart
        .steps
        .iter()
        .map(|(_, actor, _)| 1 + actor.sends.len())
        .sum();
    let lane = chart.lane_width();
    // Words stand to the right of a bar, and have the whole lane.
    let x = |at: usize| MARGIN + lane * (at as f64 + 0.5);
    let width = x(chart.lanes.len()) + MARGIN;
    let lines = ((width - 2.0 * MARGIN) / LETTER) as usize;
    let wrong: Vec<String> = record.witnesses.iter().map(title).collect();
    let bottom = TOP + ROW * (rows + 1) as f64;
    let height = bottom + MARGIN + wrong.len() as f64 * LINE;
    let mut text = sheet(width, height);
    text += &format!(
        "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L7,3 L0,6 z\" fill=\"{INK}\"/></marker></defs>\n"
    );
    let heading = format!("{}: {}", record.program.file, run.schedule);
    let shown = label(MARGIN, 18.0, &clipped(&heading, lines), "start", INK);
    text += &titled(&heading, &shown);
    for (at, name) in chart.lanes.iter().enumerate() {
        let (at, letters) = (x(at), (lane / LETTER) as usize);
        let head = label(at, TOP - 20.0, &clipped(name, letters), "middle", INK);
        text += &titled(name, &head);
        text += &format!(
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"#bdc3c7\"/>\n",
            TOP - 12.0
        );
    }
    let mut y = TOP;
    for (number, actor, process) in &chart.steps {
        let lane = chart.lane(&actor.object);
        let (said, waits) = words(actor, process);
        let fill = if waits { WAITS } else { RUNS };
        let tall = ROW * (0.6 + actor.sends.len() as f64);
        text += &format!(
            "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{BAR}\" height=\"{tall:.1}\" fill=\"{fill}\" fill-opacity=\"0.75\"/>\n",
            x(lane) - BAR / 2.0
        );
        text += &label(
            MARGIN / 2.0,
            y + 12.0,
            &number.to_string(),
            "middle",
            "#7f8c8d",
        );
        let beside = label(
            x(lane) + BAR,
            y + 12.0,
            &clipped(&said, BESIDE),
            "start",
            fill,
        );
        text += &titled(&said, &beside);
        for sent in &actor.sends {
            y += ROW;
            text += &message(
                x(lane),
                x(chart.lane(&sent.object)),
                y,
                &format!("{} {}", sent.method, sent.process),
            );
        }
        y += ROW;
    }
    for (at, wrong) in wrong.iter().enumerate() {
        let y = bottom + (at + 1) as f64 * LINE;
        let line = format!("✗ {wrong}");
        let shown = label(MARGIN, y, &clipped(&line, lines), "start", WAITS);
        text += &titled(wrong, &shown);
    }
    text += "</svg>\n";
    Some(text)
}

fn message(from: f64, to: f64, y: f64, said: &str) -> String {
    let line = match from == to {
        true => format!(
            "<path d=\"M{from:.1},{y:.1} h22 v10 h-16\" fill=\"none\" stroke=\"{INK}\" marker-end=\"url(#head)\"/>\n"
        ),
        false => format!(
            "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{INK}\" marker-end=\"url(#head)\"/>\n"
        ),
    };
    let middle = if from == to {
        from + 92.0
    } else {
        (from + to) / 2.0
    };
    line + &label(middle, y - 4.0, &clipped(said, 22), "middle", INK)
}

fn label(x: f64, y: f64, text: &str, anchor: &str, fill: &str) -> String {
    let options = format!("text-anchor=\"{anchor}\" fill=\"{fill}\"");
    crate::svg::words(x, y, text, &options)
}

#[cfg(test)]
mod tests {
    use mazurka_core::record::{Ending, Message, Step};

    use super::*;

    fn run(actors: &[Actor]) -> Run {
        let step = |actor: &Actor| Step {
            process: "0.1".to_owned(),
            outcomes: Vec::new(),
            label: String::new(),
            line: 1,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: Vec::new(),
            locks: Vec::new(),
            mishap: None,
            racing: false,
            actor: Some(Box::new(actor.clone())),
            memory: None,
        };
        Run {
            schedule: "0.1".to_owned(),
            inputs: Vec::new(),
            ending: Ending::Final,
            steps: actors.iter().map(step).collect(),
            state: Vec::new(),
            names: Vec::new(),
            processes: Vec::new(),
        }
    }

    fn message(object: &str, method: &str) -> Message {
        Message {
            process: "0.2".to_owned(),
            object: object.to_owned(),
            method: method.to_owned(),
        }
    }

    #[test]
    fn messages_lead_from_lane_to_lane() {
        let main = Actor {
            object: "main".to_owned(),
            task: "main".to_owned(),
            starts: true,
            ends: true,
            sends: vec![message("Buffer1", "store")],
            waits_for: None,
        };
        let waits = Actor {
            object: "Buffer1".to_owned(),
            task: "store".to_owned(),
            starts: true,
            ends: false,
            sends: vec![message("main", "a"), message("Buffer1", "b")],
            waits_for: Some("0.3".to_owned()),
        };
        let text = chart(&run(&[main, waits])).expect("a chart");
        let expected = "
      main                  Buffer1
   1  ┃ ▶ main 0.1 ■        │
      │──── store 0.2 ─────▶│
   2  │                     ┃ ▶ store 0.1 waits 0.3
      │◀────── a 0.2 ───────│
      │                     ↻ b 0.2
      ▶ starts  ▷ goes on  ■ ends  … releases the object
";
        let blank = |text: &str| text.replace(' ', "");
        assert_eq!(
            blank(text.trim_end()).replace('─', ""),
            blank(expected.trim()).replace('─', "")
        );
    }

    #[test]
    fn what_is_no_run_of_actors_has_no_chart() {
        let mut one = run(&[]);
        assert_eq!(chart(&one), None);
        one.steps.clear();
        assert_eq!(chart(&one), None);
    }

    #[test]
    fn nothing_of_the_picture_is_outside_its_paper() {
        let long = "aVeryLongNameOfAMethodThatDoesNotFitAnywhere";
        let task = |object: &str, to: &str| Actor {
            object: object.to_owned(),
            task: long.to_owned(),
            starts: true,
            ends: false,
            sends: vec![message(to, long), message(object, "<&>")],
            waits_for: Some("0.1.2.3.4.5.6.7.8.9.0.1.2".to_owned()),
        };
        let mut long_run = run(&[task("main", "Buffer1"), task("Buffer1", "main")]);
        long_run.schedule = "0 0.1 ".repeat(100);
        let svg = chart_svg(
            &crate::tests::record(mazurka_core::Verdict::Verified, Vec::new(), Vec::new()),
            &long_run,
        )
        .expect("a chart");
        crate::wellformed::is_sound(&svg);
    }
}
