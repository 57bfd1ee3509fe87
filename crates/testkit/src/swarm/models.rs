//! Programs with named types, dimensions, ranges, functions, quantifiers and `match`, from
//! docs/language.md alone.
//!
//! They are made as texts, because the oracle's tree has no sugar. Each program has all
//! declarations, and its statements use a random part of them. So rare features occur together.

use crate::Rng;

/// Returns the program of this seed.
///
/// ```
/// use mazurka_testkit::{oracle, swarm};
/// let text = swarm::models(3);
/// assert_eq!(text, swarm::models(3));
/// assert!(oracle::parse(&text).is_ok(), "{text}");
/// ```
pub fn models(seed: u64) -> String {
    let mut writer = ProgramWriter {
        rng: Rng::new(seed.wrapping_add(0x0DE1)),
        names: 0,
        locals: Vec::new(),
        records: Vec::new(),
        access: false,
        step: false,
    };
    writer.program()
}

/// Writes the text of a program.
struct ProgramWriter {
    rng: Rng,
    names: usize,
    /// Locals that are numbers.
    locals: Vec<String>,
    /// Locals of the `struct`.
    records: Vec<String>,
    /// Whether each read is a step.
    access: bool,
    /// Whether the code that is generated now belongs to one step.
    step: bool,
}

const DECLARED: &str = "\
const N = 2
const T = [2, 0, 1]
const G = [[1, 0], [0, 2]]
enum State { Idle, Busy, Done }
struct Msg { from: int, kind: State }
fn least(a: int, b: int): int { if a < b then a else b }
fn bump(a: int): int { let b = a + 1; if b > 2 then 0 else b }
fn both(): int { x + m.from }
fn busy(s: State): bool { s == Busy || s == Done }
proc leave(n: int) { if n > 1 { x := n; return }; x == n |> return; m.from := n }
";

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        all[self.rng.below(all.len())].to_owned()
    }

    /// Whether a value that is read more than once may be generated here.
    fn may_read(&self) -> bool {
        !self.access || self.step
    }

    fn program(&mut self) -> String {
        let mut text = String::new();
        self.access = self.rng.percent(30);
        if self.access {
            text += "atomicity access\n";
        }
        text += DECLARED;
        let range = self.any_of(&["0..3", "0..4", "0..N + 2"]);
        let range = range.replace("N + 2", "4");
        text += &format!("var x: int = {}\n", self.rng.below(3));
        text += &format!("var r: {range} = {}\n", self.rng.below(3));
        text += &format!(
            "var s: State[2] = {}\n",
            self.any_of(&["Idle", "[Idle, Busy]", "Done"])
        );
        let m = self.any_of(&["Msg(from: 1, kind: Busy)", "Msg(kind: Idle, from: 0)"]);
        text += &format!("var m: Msg = {m}\n");
        let q = self.any_of(&[
            "Msg(from: 0, kind: Done)",
            "[Msg(from: i, kind: Idle) for i in 0..2]",
        ]);
        text += &format!("var q: Msg[N] = {q}\n");
        let a = self.any_of(&[
            "0",
            "[[1, 2], [0, 1]]",
            "[[i + j for j in 0..N] for i in 0..2]",
        ]);
        text += &format!("var a: int[2][2] = {a}\n");
        text += &format!("var b: u8 = {}\n", self.any_of(&["0", "6", "200"]));
        text += &format!("var c: i8 = {}\n", self.any_of(&["1", "-3", "-128"]));
        self.step = true;
        if self.rng.percent(30) {
            text += &format!("invariant {}\n", self.condition(1));
        }
        if self.rng.percent(30) {
            text += &format!("ensures {}\n", self.condition(1));
        }
        self.step = false;
        if self.rng.percent(40) {
            let observed = self.any_of(&["x", "m", "q", "a", "s, r"]);
            text += &format!("observe {observed}\n");
        }
        for process in 0..2 {
            self.locals.clear();
            self.records.clear();
            let (open, me) = if process == 1 && self.rng.percent(20) {
                ("process (me in 0..2) {\n", Some("me".to_owned()))
            } else {
                ("process {\n", None)
            };
            text += open;
            self.locals.extend(me);
            let count = 1 + self.rng.below(2);
            for _ in 0..count {
                text += &format!("  {};\n", self.statement(2));
            }
            text += "}\n";
        }
        text
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("l{}", self.names)
    }

    fn index(&mut self) -> String {
        if self.rng.percent(25) && !self.locals.is_empty() {
            let locals = self.locals.clone();
            return locals[self.rng.below(locals.len())].clone();
        }
        match self.rng.below(20) {
            0 => "2".into(),
            1 | 2 => "x".into(),
            3 => "m.from".into(),
            n => (n % 2).to_string(),
        }
    }

    /// Returns a number that is read once.
    fn read(&mut self) -> String {
        let (i, j) = (self.index(), self.index());
        match self.rng.below(9) {
            0 => "x".into(),
            1 => "r".into(),
            2 => "m.from".into(),
            3 => format!("q[{i}].from"),
            4 => format!("a[{i}][{j}]"),
            5 => format!("T[{i}]"),
            6 => format!("G[{i}][{j}]"),
            7 if !self.records.is_empty() => format!("{}.from", self.records[0]),
            _ if !self.locals.is_empty() => self.locals[self.rng.below(self.locals.len())].clone(),
            _ => self.rng.below(3).to_string(),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.percent(40) {
            return self.read();
        }
        let inner = |writer: &mut Self| writer.number(depth - 1);
        match self.rng.below(10) {
            0 => format!("({} + {})", inner(self), self.rng.below(3)),
            1 if self.may_read() => format!("least({}, {})", inner(self), inner(self)),
            2 if self.may_read() => format!("bump({})", inner(self)),
            3 => "both()".into(),
            4 => format!("(count i in 0..N: {})", self.part("i")),
            5 => "(sum v in a: v)".into(),
            6 if self.may_read() => self.any_of(&[
                "(max v in a: v)",
                "(min i in 0..2: q[i].from)",
                "(max i in 0..N: a[i][1 - i])",
            ]),
            7 => {
                let state = if self.may_read() {
                    self.state()
                } else {
                    "Busy".into()
                };
                let (i, j) = (inner(self), inner(self));
                let cases = self.any_of(&["Idle: $, Busy, Done: #", "Done: $, else: #"]);
                let cases = cases.replace('$', &i).replace('#', &j);
                format!("(match {state} {{ {cases} }})")
            }
            8 => self.any_of(&[
                "(sum v in T: v)",
                "(sum i in 0..0: x)",
                "(sum i in 0..3: T[i] * i)",
            ]),
            _ => inner(self),
        }
    }

    /// Returns a condition on the variable `name`, which is an index of a range.
    fn part(&mut self, name: &str) -> String {
        let all = [
            "s[$] == Busy",
            "q[$].from > 0",
            "a[$][1 - $] == a[1 - $][$]",
            "q[$].kind != s[$]",
            "T[$] == x",
            "a[0][$] < a[1][$]",
        ];
        self.any_of(&all).replace('$', name)
    }

    fn state(&mut self) -> String {
        let i = self.index();
        match self.rng.below(6) {
            0 => "m.kind".into(),
            1 => format!("s[{i}]"),
            2 => format!("q[{i}].kind"),
            3 if !self.records.is_empty() => format!("{}.kind", self.records[0]),
            _ => "s[0]".into(),
        }
    }

    fn member(&mut self) -> String {
        self.any_of(&["Idle", "Busy", "Done"])
    }

    /// Returns an 8-bit number from the unsigned variable `b` or the signed variable `c`.
    fn bits(&mut self, name: &str, depth: usize) -> String {
        let number = self.any_of(&["1", "3", "7", "9", "100"]);
        if depth == 0 || self.rng.percent(30) {
            return if self.rng.percent(60) {
                name.to_owned()
            } else {
                number
            };
        }
        let op = self.any_of(&["&", "|", "^", "<<", ">>", ">>", "+", "*"]);
        let (one, other) = (self.bits(name, depth - 1), self.bits(name, depth - 1));
        match self.rng.below(4) {
            0 => format!("~({one} {op} {name})"),
            1 => format!("{name} {op} {one}"),
            2 => format!("({name} {op} {one}) ^ {other}"),
            _ => format!("{one} {op} {name} | {other}"),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.rng.below(10) {
            9 => {
                let name = self.any_of(&["b", "c"]);
                let op = self.any_of(&["==", "!=", "<", ">="]);
                let (one, other) = (self.bits(&name, depth), self.bits(&name, 0));
                format!("({one} {op} {name} ^ {other})")
            }
            0 => format!("(forall i in 0..N: {})", self.part("i")),
            1 => format!("(exists i in 0..2: {})", self.part("i")),
            2 => "(forall v in s: v != Done)".into(),
            3 if self.may_read() => format!("busy({})", self.state()),
            4 => {
                let i = self.index();
                self.any_of(&["m == q[$]", "q[0] != q[$]"]).replace('$', &i)
            }
            5 => {
                let op = self.any_of(&["==", "!="]);
                format!("{} {op} {}", self.state(), self.member())
            }
            6 if depth > 0 => {
                let op = self.any_of(&["&&", "||"]);
                format!(
                    "({} {op} {})",
                    self.condition(depth - 1),
                    self.condition(depth - 1)
                )
            }
            _ => {
                let op = self.any_of(&["<", "==", ">", "<="]);
                format!("{} {op} {}", self.number(depth), self.rng.below(3))
            }
        }
    }

    /// Returns the condition of a guard.
    fn guard(&mut self) -> String {
        let outer = std::mem::replace(&mut self.step, true);
        let guard = self.condition(1);
        self.step = outer;
        guard
    }

    fn assignment(&mut self) -> String {
        let (i, j) = (self.index(), self.index());
        match self.rng.below(11) {
            9 => format!("b := {}", self.bits("b", 2)),
            10 => format!("c := {}", self.bits("c", 2)),
            0 => format!("x := {}", self.number(2)),
            1 => format!("r := {}", self.number(2)),
            2 => format!("s[{i}] := {}", self.member()),
            3 => format!("s[{i}] := {}", self.state()),
            4 => format!("a[{i}][{j}] := {}", self.number(2)),
            5 => {
                let value = self.record();
                self.any_of(&["m := ", "q[0] := ", "q[x] := "]) + &value
            }
            6 => format!("m.from, x := {}, {}", self.number(1), self.number(1)),
            7 => format!("q[{i}].kind := {}", self.member()),
            _ => format!("m.from := {}", self.number(1)),
        }
    }

    /// Returns a value of the `struct`.
    fn record(&mut self) -> String {
        match self.rng.below(4) {
            0 => "m".into(),
            1 => format!("q[{}]", self.index()),
            2 if !self.records.is_empty() => self.records[0].clone(),
            _ => format!("Msg(from: {}, kind: {})", self.number(1), self.member()),
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.rng.below(14) {
            0 => {
                let name = self.fresh();
                let text = format!("let {name} = {}", self.number(2));
                self.locals.push(name);
                text
            }
            1 => {
                let name = self.fresh();
                let text = format!("let {name} = {}", self.record());
                self.records.insert(0, name);
                text
            }
            2 | 3 if depth > 0 => {
                let state = self.state();
                let (first, other) = (self.inner(depth), self.inner(depth));
                let cases = self.any_of(&[
                    "Idle { $ } Busy, Done { # }",
                    "Busy { $ } else { # }",
                    "Done { $ } Idle { # } Busy { skip }",
                ]);
                let cases = cases.replace('$', &first).replace('#', &other);
                format!("match {state} {{ {cases} }}")
            }
            4 => format!("{} |> {}", self.guard(), self.assignment()),
            5 if depth > 0 => {
                let test = self.condition(1);
                format!(
                    "if {test} {{ {} }} else {{ {} }}",
                    self.inner(depth),
                    self.inner(depth)
                )
            }
            6 if depth > 0 => {
                let outer = std::mem::replace(&mut self.step, true);
                let body = self.inner(depth);
                self.step = outer;
                format!("atomic {{ {body} }}")
            }
            7 => format!("assert {}", self.condition(1)),
            8 => format!("await {}", self.guard()),
            9 if depth > 0 => self.loop_with_exit(depth),
            10 => format!("leave({})", self.number(1)),
            _ => self.assignment(),
        }
    }

    /// Returns a loop of at most two rounds, with a statement that leaves the loop or a round.
    fn loop_with_exit(&mut self, depth: usize) -> String {
        let leave = self.any_of(&["break", "continue", "break", "end"]);
        let test = self.condition(1);
        let leaves = match self.rng.below(4) {
            0 => format!("if {test} {{ {leave} }}"),
            1 => format!("{} |> {leave}", self.guard()),
            2 => {
                let outer = std::mem::replace(&mut self.step, true);
                let (test, first) = (self.condition(0), self.assignment());
                self.step = outer;
                format!("atomic {{ if {test} {{ {first}; {leave} }} }}")
            }
            _ => format!("({leave} <| {} |> {})", self.guard(), self.assignment()),
        };
        let (first, last) = (self.inner(depth), self.inner(depth));
        let body = match self.rng.below(3) {
            0 => format!("{leaves}; {last}"),
            1 => format!("{first}; {leaves}"),
            _ => format!("{first}; {leaves}; {last}"),
        };
        match self.rng.below(4) {
            0 => format!("while ({})[2] {{ {body} }}", self.condition(0)),
            1 => format!("({} |>* {{ {body}; break }})", self.guard()),
            _ => {
                let name = self.fresh();
                format!("for {name} in 0..2 {{ {body} }}")
            }
        }
    }

    /// Returns a statement in a block of its own.
    fn inner(&mut self, depth: usize) -> String {
        let (locals, records) = (self.locals.clone(), self.records.clone());
        let text = self.statement(depth - 1);
        (self.locals, self.records) = (locals, records);
        text
    }
}
