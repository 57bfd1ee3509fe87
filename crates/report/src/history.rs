//! A chart of the history of an object's operations: one line for each call, from its call to its
//! return. Also the line of a report about the clients with which the object was checked.

use std::fmt;

use mazurka_core::record::{HistoryOperation, Record, Run};
use mazurka_core::{Kind, Verdict};
use mazurka_history::History;

use crate::{View, counted};

/// A text whose `Debug` output is the text itself.
struct RawText(String);

impl fmt::Debug for RawText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a line for each call of a run, from its call to its return.
pub(crate) fn chart(run: Option<&Run>, calls: &[HistoryOperation]) -> String {
    let mut processes: Vec<&str> = calls.iter().map(|call| call.process.as_str()).collect();
    processes.sort_unstable();
    processes.dedup();
    let number = |call: &HistoryOperation| processes.iter().position(|p| *p == call.process);
    let mut calls_and_returns: Vec<(usize, bool, &HistoryOperation)> = Vec::new();
    for call in calls {
        calls_and_returns.push((call.called, false, call));
        calls_and_returns.extend(call.returned.map(|step| (step, true, call)));
    }
    calls_and_returns.sort_by_key(|(step, returned, _)| (*step, *returned));
    let mut history = History::new();
    let mut open: Vec<(&HistoryOperation, _)> = Vec::new();
    for (_, returned, call) in calls_and_returns {
        if !returned {
            let name = RawText(call.call.clone());
            let called = history.call(number(call).unwrap_or(0), name);
            open.extend(called.ok().map(|id| (call, id)));
        } else if let Some((_, id)) = open.iter().find(|(known, _)| *known == call) {
            let result = match call.result.as_str() {
                "" => "has ended",
                result => result,
            };
            history.end(*id, RawText(result.to_owned()));
        }
    }
    let chart = history.chart(|process| {
        let process = processes.get(process).copied().unwrap_or_default();
        run.map_or(process, |run| run.name_of(process)).to_owned()
    });
    chart.lines().map(|line| format!("  {line}\n")).collect()
}

/// Returns a line about the clients, if the file specifies an object.
pub(crate) fn clients(record: &Record, view: &View) -> String {
    let Some(object) = &record.object else {
        return String::new();
    };
    let operations = counted(object.operations, "operation", "operations");
    let chosen = format!("{operations} each, chosen from {}", object.heads.join(", "));
    let property = record.options.as_ref().and_then(|o| o.property.as_ref());
    let named = property.is_some_and(|all| all.split(',').any(|one| one == "linearizable"));
    let counts = named || record.kinds.counted.contains(&Kind::Failure);
    if record.verdict == Verdict::Verified && counts {
        let clients = counted(object.clients, "client", "clients");
        let intro = view.paint.good("linearizable:");
        return format!("{intro} all histories of {clients} of {chosen}\n");
    }
    format!("clients: {} of {chosen}\n", object.clients)
}
