//! A plot of measured numbers as SVG: a line for each series, over a logarithmic vertical axis.

use crate::svg::{INK, LINE, MARGIN, TITLE, sheet, text_element};

/// The size of the plot without its labels, in pixels.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 300.0;
/// Room for the numbers on the left.
const LEFT: f64 = 96.0;
/// The colours of the lines, which are distinguishable in grey and with most forms of colour
/// blindness.
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
];

/// A plot: the meaning of the axes, and the points of each line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The name of the horizontal axis: the parameter that varies.
    pub across: String,
    /// The name of the vertical axis: the quantity that is counted.
    pub up: String,
    /// The lines, by name. Points that are not positive are left out, because they have no
    /// logarithm.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
}

impl Plot {
    /// Returns the plot as SVG.
    ///
    /// ```
    /// let plot = mazurka_report::Plot {
    ///     across: "N".to_owned(),
    ///     up: "executions".to_owned(),
    ///     series: vec![("optimal".to_owned(), vec![(2.0, 2.0), (3.0, 6.0), (4.0, 24.0)])],
    /// };
    /// assert_eq!(plot.svg().matches("<circle").count(), 3);
    /// ```
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let shown = || points().filter(|(_, y)| *y > 0.0);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let (left, right) = match shown().next() {
            None => (0.0, 1.0),
            Some(_) => (
                least(&mut shown().map(|p| p.0)),
                most(&mut shown().map(|p| p.0)),
            ),
        };
        let (bottom, top) = match shown().next() {
            None => (0.0, 1.0),
            Some(_) => (
                least(&mut shown().map(|p| p.1.log10().floor())),
                most(&mut shown().map(|p| p.1.log10().ceil())),
            ),
        };
        let top = top.max(bottom + 1.0);
        let span = (right - left).max(1e-9);
        let x = |value: f64| LEFT + MARGIN / 2.0 + (value - left) / span * (WIDTH - MARGIN);
        let y = |value: f64| TITLE + (top - value.log10()) / (top - bottom) * HEIGHT;
        let legend = self.series.len() as f64 * LINE;
        let foot = TITLE + HEIGHT;
        let mut text = sheet(LEFT + WIDTH + MARGIN, foot + 4.0 * LINE + legend + MARGIN);
        let heading = format!("{} by {}", self.up, self.across);
        text += &text_element(MARGIN, MARGIN, &heading, "font-weight=\"bold\"");
        for power in bottom as i32..=top as i32 {
            let height = y(10_f64.powi(power));
            text += &line((LEFT, height), (LEFT + WIDTH, height), "#d0d4d8");
            text += &text_element(MARGIN, height + 4.0, &number(10_f64.powi(power)), "");
        }
        text += &line((LEFT, TITLE), (LEFT, foot), INK);
        text += &line((LEFT, foot), (LEFT + WIDTH, foot), INK);
        let mut marks: Vec<f64> = shown().map(|point| point.0).collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let every = marks.len().div_ceil(12).max(1);
        for mark in marks.iter().step_by(every) {
            text += &text_element(x(*mark) - 4.0, foot + LINE, &number(*mark), "");
        }
        text += &text_element(LEFT, foot + 2.0 * LINE + 4.0, &self.across, "");
        for (at, (name, points)) in self.series.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let places: Vec<(f64, f64)> = points
                .iter()
                .filter(|point| point.1 > 0.0)
                .map(|point| (x(point.0), y(point.1)))
                .collect();
            for pair in places.windows(2) {
                text += &line(pair[0], pair[1], colour);
            }
            for (x, y) in places {
                text +=
                    &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n");
            }
            let below = foot + 4.0 * LINE + at as f64 * LINE;
            text += &line((LEFT, below - 4.0), (LEFT + 20.0, below - 4.0), colour);
            text += &text_element(LEFT + 28.0, below, name, "");
        }
        text + "</svg>\n"
    }
}

/// Returns a number in few characters.
fn number(value: f64) -> String {
    if (1e-3..1e6).contains(&value) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    )
}
