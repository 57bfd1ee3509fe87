//! A history as a chart: a line an operation, from its call to its end.

use std::fmt::{Debug, Display, Formatter, Result};

use crate::history::{Happening, History};

/// The chart.
///
/// ```
/// let mut history = mazurka_history::History::new();
/// let push = history.call(0, "push 1").unwrap();
/// let pop = history.call(1, "pop").unwrap();
/// history.end(push, None);
/// history.end(pop, Some(1));
/// history.call(0, "pop").unwrap();
/// let expected = "\
/// 0  \"push 1\"  ├───┤       None
/// 1  \"pop\"       ├───┤     Some(1)
/// 0  \"pop\"             ├─  has not ended
/// ";
/// assert_eq!(history.to_string(), expected);
/// ```
impl<O: Debug, R: Debug> Display for History<O, R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let names: Vec<String> = self
            .operations
            .iter()
            .map(|o| format!("{:?}", o.name))
            .collect();
        let wide = names
            .iter()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0);
        let lanes = self.operations.iter().map(|o| o.process.to_string().len());
        let lanes = lanes.max().unwrap_or(0);
        let columns = 2 * self.happenings.len();
        for ((id, operation), name) in self.operations().zip(&names) {
            let place = |wanted: Happening| self.happenings.iter().position(|&h| h == wanted);
            let start = place(Happening::Called(id)).map_or(0, |at| 2 * at);
            let end = place(Happening::Ended(id)).map(|at| 2 * at);
            let length = end.unwrap_or(columns) - start - 1;
            let (bar, tail) = ("─".repeat(length), if end.is_some() { "┤" } else { "" });
            let bar = format!("{}├{bar}{tail}", " ".repeat(start));
            let process = operation.process;
            write!(f, "{process:<lanes$}  {name:<wide$}  {bar:<columns$}  ")?;
            match &operation.result {
                Some(result) => writeln!(f, "{result:?}")?,
                None => writeln!(f, "has not ended")?,
            }
        }
        Ok(())
    }
}
