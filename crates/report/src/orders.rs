//! The view of `orders`: which memory orders must be stronger, and which can be weaker.

use mazurka_core::record::{Advice, AdvisedAccess, Orders, Record};

use crate::events::line_of;
use crate::verdict::{headline, hit_bounds};
use crate::{View, clip, counted, pad};

/// Limit on the length of the text of an access.
const WIDTH: usize = 60;

/// Returns the answer of `orders`: the verdict, and the advice on the orders.
pub fn orders(record: &Record, orders: &Orders, view: &View) -> String {
    let paint = view.paint;
    let changes = orders.accesses.iter().filter(|access| access.changes());
    let changes: Vec<&AdvisedAccess> = changes.collect();
    let searches = counted(orders.searches, "search", "searches");
    let (title, shown) = match orders.advice {
        Advice::Strengthen => (
            "these orders are too weak, and no smaller set of accesses would do:",
            changes,
        ),
        Advice::Helpless => (
            "no orders help: it is violated with all of them seq_cst too",
            Vec::new(),
        ),
        Advice::Weaken | Advice::Keep => {
            let title = match orders.advice {
                Advice::Keep => "no order can be weaker:",
                _ => "the weakest orders with which it passes, from the first access on:",
            };
            (title, orders.accesses.iter().collect())
        }
        Advice::Open => ("the orders are not decided", Vec::new()),
    };
    let mut text = headline(record, view);
    text += &format!("\n{} ({searches})\n", paint.strong(title));
    let lines = shown.iter().map(|one| line(one).chars().count());
    let lines = lines.max().unwrap_or(0);
    let widths = shown.iter().map(|one| shortened(one).chars().count());
    let width = widths.max().unwrap_or(0);
    for access in shown {
        let line = pad(&line(access), lines);
        let what = pad(&shortened(access), width);
        text += &format!("  {line}  {what}  {}\n", change(access));
    }
    text += &hit_bounds(record, view);
    text
}

fn line(access: &AdvisedAccess) -> String {
    line_of(access.place.line, access.place.file.as_deref())
}

fn shortened(access: &AdvisedAccess) -> String {
    clip(&access.place.text, WIDTH)
}

/// Returns the advised change of an order.
fn change(access: &AdvisedAccess) -> String {
    let Some(advised) = &access.advised else {
        return "not decided".to_owned();
    };
    if !access.changes() {
        return written(&access.order, access.failure.as_deref());
    }
    let unused = access.access == "fence" && advised == "relaxed";
    if unused {
        format!("{} -> not needed", access.order)
    } else {
        format!(
            "{} -> {}",
            written(&access.order, access.failure.as_deref()),
            written(advised, access.advised_failure.as_deref())
        )
    }
}

fn written(order: &str, failure: Option<&str>) -> String {
    match failure {
        Some(failure) => format!("{order}, {failure}"),
        None => order.to_owned(),
    }
}

/// Returns the orders that would forbid a violation, for the evidence of `check`.
pub(crate) fn stronger(record: &Record) -> String {
    let change_and_place = |access: &AdvisedAccess| {
        let (what, line) = (shortened(access), line(access));
        let advised = written(
            access.advised.as_deref().unwrap_or_default(),
            access.advised_failure.as_deref(),
        );
        format!("`{what}` ({line}) as {advised}")
    };
    let all: Vec<String> = record.stronger.iter().map(change_and_place).collect();
    match &all[..] {
        [] => String::new(),
        [one] => format!("  orders: {one} would forbid it\n"),
        [first @ .., last] => {
            format!(
                "  orders: {} and {last} would forbid it\n",
                first.join(", ")
            )
        }
    }
}
