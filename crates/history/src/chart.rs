//! Histories as text: as a chart, with a line for each operation from its call to its end, and as
//! sentences.

use std::fmt::{Debug, Display, Formatter, Result};

use crate::history::{History, OperationEvent};

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
        f.write_str(&self.chart(|process| process.to_string()))
    }
}

impl<O: Debug, R: Debug> History<O, R> {
    /// Returns the chart. `name_of` returns the name of a process.
    ///
    /// ```
    /// let mut history = mazurka_history::History::<_, ()>::new();
    /// history.call(1, 7).unwrap();
    /// assert_eq!(history.chart(|p| format!("client {p}")), "client 1  7  ├─  has not ended\n");
    /// ```
    pub fn chart(&self, name_of: impl Fn(usize) -> String) -> String {
        let wide = |texts: &[String]| {
            let lengths = texts.iter().map(|text| text.chars().count());
            lengths.max().unwrap_or(0)
        };
        let operations = || self.operations.iter();
        let names: Vec<String> = operations().map(|o| format!("{:?}", o.name)).collect();
        let lanes: Vec<String> = operations().map(|o| name_of(o.process)).collect();
        let (wide, lane) = (wide(&names), wide(&lanes));
        let columns = 2 * self.events.len();
        let mut text = String::new();
        for (((id, operation), name), process) in self.operations().zip(&names).zip(&lanes) {
            let place = |wanted: OperationEvent| self.events.iter().position(|&h| h == wanted);
            let start = place(OperationEvent::Called(id)).map_or(0, |at| 2 * at);
            let end = place(OperationEvent::Ended(id)).map(|at| 2 * at);
            let length = end.unwrap_or(columns) - start - 1;
            let (bar, tail) = ("─".repeat(length), if end.is_some() { "┤" } else { "" });
            let bar = format!("{}├{bar}{tail}", " ".repeat(start));
            text += &format!("{process:<lane$}  {name:<wide$}  {bar:<columns$}  ");
            text += &match &operation.result {
                Some(result) => format!("{result:?}\n"),
                None => "has not ended\n".to_owned(),
            };
        }
        text
    }

    /// Returns the history as text, with a sentence for each operation. `name_of` returns the name
    /// of a process. The sentence also names the operations of other processes that come before the
    /// operation, except those that come before another named operation.
    ///
    /// ```
    /// let mut history = mazurka_history::History::new();
    /// let push = history.call(0, "push").unwrap();
    /// history.end(push, None);
    /// let pop = history.call(1, "pop").unwrap();
    /// history.end(pop, Some(1));
    /// let expected = "\
    /// 0 calls \"push\", which returns None
    /// 1 calls \"pop\" after the end of \"push\" of 0, which returns Some(1)
    /// ";
    /// assert_eq!(history.tell(|process| process.to_string()), expected);
    /// ```
    pub fn tell(&self, name_of: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (_, operation) in self.operations() {
            let is_before = |set: u64, id: usize| set & (1 << id) != 0;
            let earlier = || {
                let all = self.operations();
                all.filter(|(id, _)| is_before(operation.before, id.index()))
            };
            let implied = earlier().fold(0, |all, (_, other)| all | other.before);
            let last = earlier().filter(|(id, other)| {
                !is_before(implied, id.index()) && other.process != operation.process
            });
            let last: Vec<String> = last
                .map(|(_, other)| format!("{:?} of {}", other.name, name_of(other.process)))
                .collect();
            text += &format!("{} calls {:?}", name_of(operation.process), operation.name);
            if !last.is_empty() {
                text += &format!(" after the end of {}", last.join(" and "));
            }
            text += &match &operation.result {
                Some(result) => format!(", which returns {result:?}\n"),
                None => ", which does not end\n".to_owned(),
            };
        }
        text
    }
}
