//! Proofs: the answer of `prove`, and a proof as a tree, an HTML page and a picture.

use mazurka_core::proof::{GoalOutcome, GoalRecord, GoalStatus, Proof, RuleRecord};
use mazurka_core::record::{PathEvent, ProgramRecord, Record};
use mazurka_core::{Bound, Verdict, conjunction};

use crate::symbolic::path_events;
use crate::verdict::hit_bounds;
use crate::{View, bounds, clip, counted, witness};

/// Returns how much of a proof was checked before a limit ended the check.
pub fn unchecked(bound: &Bound, how_far: &str, view: &View) -> String {
    let unsure = view.paint.unsure("inconclusive:");
    let name = view.paint.unsure(&bounds::name(bound));
    let todo = match bound {
        Bound::TimeLimit(_) => "raise --time-limit",
        Bound::MemoryLimit(_) => "raise --memory-limit",
        _ => bounds::advice(bound),
    };
    format!("{unsure} {how_far}\n  {name}: {todo}\n")
}

/// Returns the answer: each goal with its status, and the open questions or counterexamples.
pub fn proved(record: &Record, goals: &[GoalOutcome], view: &View) -> String {
    let paint = view.paint;
    let mut text = String::new();
    for goal in goals {
        let status = match goal.status {
            GoalStatus::Proved => paint.good("proved:"),
            GoalStatus::Refuted => paint.bad("refuted:"),
            GoalStatus::Open => paint.unsure("open:"),
        };
        text += &format!("{status} {} ({})\n", clip(&goal.goal, 120), size(goal));
        match goal.deadlock_free {
            Some(true) if goal.status == GoalStatus::Proved && goal.schedules > 0 => {
                text += "  and no state deadlocks\n";
            }
            _ => {}
        }
        if goal.by_execution {
            text += "  decided by executing its boxes, for which there are no rules: no proof to check\n";
        }
        if !goal.values.is_empty() {
            let values = goal
                .values
                .iter()
                .map(|(name, value)| format!("{name} = {value}"));
            let values: Vec<String> = values.collect();
            let lead = if goal.at_once {
                "false at"
            } else {
                "starting with"
            };
            text += &format!("  {lead} {}\n", values.join(", "));
        }
        if goal.status == GoalStatus::Open {
            for open in &goal.open {
                let id = open
                    .id
                    .map_or("the goal".to_owned(), |id| format!("goal {id}"));
                text += &format!("  {id}: {}\n", clip(&open.why, 200));
                if !open.path.is_empty() {
                    text += &paint.dim(&format!("    after {}\n", clip(&open.path.join(" "), 100)));
                }
                if !open.condition.is_empty() {
                    let condition = clip(&conjunction(&open.condition), 160);
                    text += &paint.dim(&format!("    where {condition}\n"));
                }
            }
        }
    }
    text += &hit_bounds(record, view);
    for evidence in &record.witnesses {
        text.push('\n');
        text += &witness::witness(record, evidence, view);
    }
    if record.verdict == Verdict::Inconclusive && record.scope.bounds.is_empty() {
        text += "missing: an invariant, or a solver that can decide the question\n";
    }
    text
}

fn size(goal: &GoalOutcome) -> String {
    format!(
        "{}, {}, {}",
        counted(goal.schedules, "step", "steps"),
        counted(goal.leaves, "leaf sequent", "leaf sequents"),
        counted(goal.merged, "goal merged", "goals merged"),
    )
}

/// Reads the goals of a proof in depth-first order, each once.
struct GoalReader<'a> {
    proof: &'a Proof,
    seen: Vec<bool>,
    /// For each goal, how many goals are not closed, among the goal itself and those below it.
    open: Vec<usize>,
    /// For each goal, how many goals there are below it, including itself.
    size: Vec<usize>,
}

impl<'a> GoalReader<'a> {
    fn new(proof: &'a Proof) -> Self {
        let mut reading = Self {
            proof,
            seen: vec![false; proof.goals.len()],
            open: vec![0; proof.goals.len()],
            size: vec![1; proof.goals.len()],
        };
        // The index of a goal is greater than that of the goal from which it comes. So, backwards,
        // children are visited before their parents.
        for goal in proof.goals.iter().rev() {
            let bad = matches!(goal.rule, RuleRecord::Open { .. })
                || goal.rule.leaves().iter().any(|leaf| !leaf.is_proved());
            reading.open[goal.id] += usize::from(bad);
            for (_, child) in children(&proof.program, goal) {
                // A goal that the file of the proof does not contain may be open.
                reading.open[goal.id] += usize::from(child >= proof.goals.len());
                if child > goal.id && child < proof.goals.len() {
                    let (open, size) = (reading.open[child], reading.size[child]);
                    reading.open[goal.id] += open;
                    reading.size[goal.id] += size;
                }
            }
        }
        reading
    }

    fn roots(&self) -> Vec<usize> {
        let roots = self.proof.roots.iter().copied();
        roots.filter(|&at| at < self.proof.goals.len()).collect()
    }
}

/// Returns the goals that a goal was reduced to, with the steps that lead to them.
fn children(program: &ProgramRecord, goal: &GoalRecord) -> Vec<(String, usize)> {
    match &goal.rule {
        RuleRecord::Schedule { steps, .. } => steps
            .iter()
            .flat_map(|step| {
                let mut pool = goal.pool.iter();
                let thread = pool.find(|thread| thread.process == step.process);
                let next = thread.and_then(|thread| thread.work.last());
                // Of "assign 3:5" only the place is used, because the name of the rule already says
                // what the statement is.
                let place = next.and_then(|next| next.rsplit(' ').next()).unwrap_or("");
                let process = program.name_of(&step.process);
                let name = format!("{process} {} {place}", step.rule);
                step.ways.iter().map(move |way| (name.clone(), way.to))
            })
            .collect(),
        RuleRecord::Reduce { goals, .. } => {
            goals.iter().map(|&at| ("box".to_owned(), at)).collect()
        }
        RuleRecord::Generalise { to, .. } => vec![("more general".to_owned(), *to)],
        _ => Vec::new(),
    }
}

/// Returns a proof as a tree. Parts without open goals are folded below `depth`.
pub fn proof_tree(proof: &Proof, depth: usize, view: &View) -> String {
    let mut reading = GoalReader::new(proof);
    let mut text = String::new();
    for leaf in &proof.leaves {
        let mark = if leaf.is_proved() { "✓" } else { "✗" };
        text += &format!("{mark} {}: {}\n", leaf.what, clip(&leaf.must, 100));
    }
    // Proofs are deep, so an explicit stack replaces recursion.
    let mut next: Vec<Branch> = Vec::new();
    let roots = reading.roots().into_iter().rev();
    next.extend(roots.map(|root| Branch {
        at: root,
        step: String::new(),
        from: None,
        level: 0,
    }));
    while let Some(branch) = next.pop() {
        let Branch { at, level, .. } = branch;
        if std::mem::replace(&mut reading.seen[at], true) {
            continue;
        }
        let unfold = level < depth || reading.open[at] > 0 || reading.size[at] == 1;
        text += &branch.rendered(&reading, unfold, view);
        let below = children(&proof.program, &proof.goals[at]).into_iter().rev();
        let below = below.filter(|(_, child)| unfold && *child < proof.goals.len());
        next.extend(below.map(|(step, child)| Branch {
            at: child,
            step,
            from: Some(at),
            level: level + 1,
        }));
    }
    text
}

/// Returns how a goal differs from the goal before it: the values that have changed, and the new
/// assumptions.
fn additions(goal: &GoalRecord, before: Option<&GoalRecord>) -> (String, String) {
    let (values, condition) = match before {
        Some(before) => (&before.substitution[..], &before.condition[..]),
        None => (&[][..], &[][..]),
    };
    let changed = goal
        .substitution
        .iter()
        .filter(|pair| !values.contains(pair));
    // Leave out hidden locals, which count the rounds of loops.
    let changed = changed.filter(|(name, _)| before.is_some() && !name.contains('$'));
    let changed: Vec<String> = changed.map(|(x, e)| format!("{x} ↦ {e}")).collect();
    let assumed = goal
        .condition
        .iter()
        .filter(|term| !condition.contains(term));
    let assumed: Vec<&str> = assumed.map(String::as_str).collect();
    let assumed = match &assumed[..] {
        [] => String::new(),
        assumed => conjunction(assumed),
    };
    (clip(&changed.join(", "), 60), clip(&assumed, 60))
}

/// A goal in the tree of a proof.
struct Branch {
    at: usize,
    /// The step that leads to this goal; empty for a root. `from` is the goal where this step
    /// starts; `None` for a root.
    step: String,
    from: Option<usize>,
    level: usize,
}

impl Branch {
    /// Returns the line of the goal. If the goal is unfolded, the questions of its rule that were
    /// not proved follow.
    fn rendered(&self, reading: &GoalReader<'_>, unfold: bool, view: &View) -> String {
        let Branch {
            at,
            ref step,
            from,
            level,
        } = *self;
        let goal = &reading.proof.goals[at];
        let indent = "  ".repeat(level.min(40));
        let (changed, assumed) = additions(goal, from.map(|from| &reading.proof.goals[from]));
        let dim = |lead: &str, what: &str| match what {
            "" => String::new(),
            what => view.paint.dim(&format!("{lead}{what}")),
        };
        let arrow = if step.is_empty() { "" } else { " → " };
        let lead = format!("{indent}{step}{}{arrow}goal {at}", dim(" ", &changed));
        if !unfold {
            let goals = counted(reading.size[at] as u64, "goal", "goals");
            let folded = view.paint.dim(&format!("… {goals}, all closed"));
            return format!("{lead} {folded}\n");
        }
        let rule = match &goal.rule {
            RuleRecord::Merge { to } => format!("POR: the same as goal {to}"),
            RuleRecord::Back { to, .. } => format!("BACK to goal {to}"),
            RuleRecord::Generalise { values, .. } => {
                format!("INVARIANT, for any {}", values.join(", "))
            }
            RuleRecord::Open { why } => format!("open: {why}"),
            other => other.name().to_owned(),
        };
        let mut text = format!("{lead} {rule}{}\n", dim(" where ", &assumed));
        for leaf in goal.rule.leaves().iter().filter(|leaf| !leaf.is_proved()) {
            let bad = view
                .paint
                .bad(&format!("✗ {}: {}", leaf.what, clip(&leaf.must, 100)));
            text += &format!("{indent}  {bad}\n");
        }
        text
    }
}

/// Returns a proof as a part of a [page](crate::Page): every goal can be unfolded, and open goals
/// are unfolded.
pub fn proof_html(goals: &[GoalOutcome], proofs: &[Proof]) -> String {
    let mut text = String::new();
    for (goal, proof) in goals.iter().zip(proofs) {
        let status = match goal.status {
            GoalStatus::Proved => "proved",
            GoalStatus::Refuted => "refuted",
            GoalStatus::Open => "open",
        };
        text += &format!(
            "<h2><span class=\"{status}\">{status}</span> <code>{}</code></h2>\n<p>{}</p>\n",
            escape(&goal.goal),
            escape(&size(goal))
        );
        for context in &proof.contexts {
            if !context.known.is_empty() {
                text += &format!(
                    "<p>Γ: <code>{}</code></p>\n",
                    escape(&context.known.join(", "))
                );
            }
        }
        let mut reading = GoalReader::new(proof);
        for root in reading.roots() {
            page(&mut reading, root, "", &mut text);
        }
    }
    text
}

fn page(reading: &mut GoalReader<'_>, root: usize, step: &str, text: &mut String) {
    // Proofs are deep, so an explicit stack replaces recursion.
    enum Task {
        Open(usize, String),
        Close,
    }
    let mut tasks = vec![Task::Open(root, step.to_owned())];
    while let Some(task) = tasks.pop() {
        let (at, step) = match task {
            Task::Close => {
                *text += "</details>\n";
                continue;
            }
            Task::Open(at, step) => (at, step),
        };
        if at >= reading.seen.len() || std::mem::replace(&mut reading.seen[at], true) {
            continue;
        }
        let goal = &reading.proof.goals[at];
        let open = if reading.open[at] > 0 { " open" } else { "" };
        let link = match &goal.rule {
            RuleRecord::Merge { to } | RuleRecord::Back { to, .. } => {
                format!(" <a href=\"#g{to}\">goal {to}</a>")
            }
            _ => String::new(),
        };
        *text += &format!(
            "<details id=\"g{at}\"{open}><summary>{}goal {at} <b>{}</b>{link}</summary>\n",
            if step.is_empty() {
                step
            } else {
                escape(&step) + " → "
            },
            goal.rule.name()
        );
        let substitution = goal.substitution.iter().map(|(x, e)| format!("{x} ↦ {e}"));
        let program = &reading.proof.program;
        let pool = goal.pool.iter().map(|thread| {
            let next = thread.work.last().map_or("", String::as_str);
            // "test of while 3:5" refers to the statement at that place.
            let point = next.rsplit(" of ").next().unwrap_or(next);
            let statement = reading.proof.statements.get(point);
            let next = statement.map_or(next, String::as_str);
            let more = if thread.work.len() > 1 { "; …" } else { "" };
            format!("{}({next}{more})", program.name_of(&thread.process))
        });
        let path = goal.path.iter().map(|event| PathEvent {
            process: event.process.clone(),
            condition: None,
            writes: event.writes.clone(),
            reads: event.reads.clone(),
        });
        let path: Vec<PathEvent> = path.collect();
        let condition = match &goal.condition[..] {
            [] => String::new(),
            condition => conjunction(condition),
        };
        for (name, value) in [
            ("φ", path_events(program, &path)),
            ("⌈φ⌉", condition),
            ("σ", substitution.collect::<Vec<_>>().join(", ")),
            ("Σ", pool.collect::<Vec<_>>().join(", ")),
        ] {
            if !value.is_empty() {
                *text += &format!(
                    "<div><span class=\"dim\">{name}</span> <code>{}</code></div>\n",
                    escape(&value)
                );
            }
        }
        for leaf in goal.rule.leaves() {
            let (class, mark) = if leaf.is_proved() {
                ("proved", "✓")
            } else {
                ("no", "✗")
            };
            *text += &format!(
                "<div class=\"{class}\">{mark} {}: <code>{}</code></div>\n",
                escape(&leaf.what),
                escape(&leaf.must)
            );
        }
        tasks.push(Task::Close);
        for (step, child) in children(&reading.proof.program, goal).into_iter().rev() {
            tasks.push(Task::Open(child, step));
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Limit on the goals of a picture.
pub const MOST_GOALS: usize = 400;

/// A line in the picture of a proof.
#[derive(Clone, Copy)]
enum ProofEdge<'a> {
    /// From a goal to a goal that it was reduced to, with the name of the process if the rule was a
    /// step.
    Reduced(Option<&'a str>),
    /// To an earlier goal that closes this one.
    ClosedBy,
}

/// Returns a proof as a picture: the row of a goal is the number of steps that lead to it; lines to
/// existing goals are dashed. `None` if there are too many goals.
pub fn proof_svg(proof: &Proof) -> Option<String> {
    if proof.goals.len() > MOST_GOALS {
        return None;
    }
    let reading = GoalReader::new(proof);
    let mut depth = vec![0usize; proof.goals.len()];
    for goal in &proof.goals {
        for (_, child) in children(&proof.program, goal) {
            if child > goal.id && child < depth.len() {
                depth[child] = depth[goal.id] + 1;
            }
        }
    }
    let rows = depth.iter().max().map_or(0, |most| most + 1);
    let mut used = vec![0usize; rows];
    let place: Vec<(f64, f64)> = depth
        .iter()
        .map(|&row| {
            used[row] += 1;
            (
                30.0 + (used[row] - 1) as f64 * 46.0,
                30.0 + row as f64 * 56.0,
            )
        })
        .collect();
    let legend =
        "green: ended or impossible · grey, dashed: merged or back · blue: invariant · red: open";
    // A letter is 7 pixels wide.
    let least = 32.0 + legend.chars().count() as f64 * 7.0;
    let width = 60.0 + used.iter().max().copied().unwrap_or(0) as f64 * 46.0;
    let width = width.max(least);
    let height = 90.0 + rows as f64 * 56.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut line = |(from, to): (usize, usize), title: &str, kind: ProofEdge<'_>| {
        let (Some((x, y)), Some((u, v))) = (place.get(from), place.get(to)) else {
            return;
        };
        let style = match kind {
            ProofEdge::ClosedBy => "stroke=\"#95a5a6\" stroke-dasharray=\"4 3\"",
            ProofEdge::Reduced(_) => "stroke=\"#2c3e50\"",
        };
        text += &format!(
            "<line x1=\"{x:.0}\" y1=\"{y:.0}\" x2=\"{u:.0}\" y2=\"{v:.0}\" {style}><title>{}</title></line>\n",
            escape(title)
        );
        // The process of the step.
        if let ProofEdge::Reduced(Some(process)) = kind {
            let (x, y) = ((x + u) / 2.0 + 3.0, (y + v) / 2.0 + 3.0);
            text += &format!(
                "<text x=\"{x:.0}\" y=\"{y:.0}\" font-size=\"9\" fill=\"#7f8c8d\">{}</text>\n",
                escape(process)
            );
        }
    };
    for goal in &proof.goals {
        let scheduled = matches!(goal.rule, RuleRecord::Schedule { .. });
        for (step, child) in children(&proof.program, goal) {
            let process = step.split(' ').next().filter(|_| scheduled);
            line((goal.id, child), &step, ProofEdge::Reduced(process));
        }
        if let RuleRecord::Merge { to } | RuleRecord::Back { to, .. } = goal.rule {
            line((goal.id, to), goal.rule.name(), ProofEdge::ClosedBy);
        }
    }
    for (goal, (x, y)) in proof.goals.iter().zip(&place) {
        let own = matches!(goal.rule, RuleRecord::Open { .. })
            || goal.rule.leaves().iter().any(|leaf| !leaf.is_proved());
        let fill = match (&goal.rule, own, reading.open[goal.id] > 0) {
            (_, true, _) => "#f5b7b1",
            (_, _, true) => "#fdebd0",
            (RuleRecord::Reduce { .. } | RuleRecord::Close { .. }, ..) => "#d5f5e3",
            (RuleRecord::Merge { .. } | RuleRecord::Back { .. }, ..) => "#eaeded",
            (RuleRecord::Generalise { .. }, ..) => "#d6eaf8",
            _ => "#ffffff",
        };
        let title = format!(
            "goal {} {}\n{}",
            goal.id,
            goal.rule.name(),
            conjunction(&goal.condition)
        );
        text += &format!(
            "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"14\" fill=\"{fill}\" stroke=\"#2c3e50\"><title>{}</title></circle>\n\
             <text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n",
            escape(&title),
            y + 4.0,
            goal.id
        );
    }
    text += &format!(
        "<text x=\"16\" y=\"{:.0}\">{legend}</text>\n</svg>\n",
        height - 20.0
    );
    Some(text)
}
