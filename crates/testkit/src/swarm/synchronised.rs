//! Programs that synchronise: semaphores, reader–writer locks, condition variables, barriers and
//! `try`, from docs/language.md alone. They are made as texts, like those of [`super::models`].

use crate::Rng;

/// Returns the program of this seed.
///
/// ```
/// use mazurka_testkit::{oracle, swarm};
/// let text = swarm::synchronised(3);
/// assert_eq!(text, swarm::synchronised(3));
/// assert!(oracle::parse(&text).is_ok(), "{text}");
/// ```
pub fn synchronised(seed: u64) -> String {
    let rng = Rng::new(seed.wrapping_add(0x5e11a));
    let mut writer = ProgramWriter {
        rng,
        names: 0,
        me: None,
    };
    writer.program()
}

/// Writes the text of a program.
struct ProgramWriter {
    rng: Rng,
    names: usize,
    /// The parameter of the process, if it has one.
    me: Option<&'static str>,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        all[self.rng.below(all.len())].to_owned()
    }

    fn program(&mut self) -> String {
        let mut text = String::new();
        if self.rng.percent(30) {
            text += "atomicity access\n";
        }
        text += &format!("semaphore s = {}\n", self.rng.below(3));
        text += &format!("semaphore t[2] = {}\n", self.rng.below(2));
        text += "rwlock l\nlock m, k\n";
        text += &self.any_of(&["cond c, d[2]\n", "spurious cond c cond d[2]\n"]);
        text += &format!("barrier b = {}\n", 1 + self.rng.below(3));
        text += "var x: int = 0\nvar y: int[2] = [0, 1]\nvar f: bool = false\n";
        text += "var w: atomic int = 0\nvar o: atomic int[2] = [1, 0]\n";
        text += "struct P { a: int, b: bool }\nvar p: P = P(a: 1, b: false)\n";
        text += &format!("chan q[{}]: int\n", 1 + self.rng.below(2));
        text += &format!("chan r[2][{}]: P\nchan g[1]: bool\n", 1 + self.rng.below(2));
        text +=
            "proc pass(n: int) { lock(m); while x < n { wait(c, m) }; signal(d[n]); unlock(m) }\n";
        text += "proc own() { read_lock(l); y[0] := x; read_unlock(l) }\n";
        if self.rng.percent(30) {
            text += &self.any_of(&["invariant x < 3\n", "ensures x == 1 || y[1] < 2\n"]);
        }
        let processes = 2 + usize::from(self.rng.percent(30));
        for number in 0..processes {
            let several = number == 1 && processes == 2 && self.rng.percent(30);
            self.me = several.then_some("me");
            text += if several {
                "process (me in 0..2) {\n"
            } else {
                "process {\n"
            };
            for _ in 0..1 + self.rng.below(2) {
                text += &format!("  {};\n", self.statement(2));
            }
            text += "}\n";
        }
        text
    }

    fn index(&mut self) -> String {
        match self.rng.below(12) {
            0 => "x".into(),
            1 => "2".into(),
            2..=5 if self.me.is_some() => "me".into(),
            n => (n % 2).to_string(),
        }
    }

    /// Returns an index that does not change while a process waits: a constant or the parameter.
    fn fixed(&mut self) -> String {
        match self.me {
            Some(me) if self.rng.percent(50) => me.into(),
            _ => self.rng.below(2).to_string(),
        }
    }

    fn assignment(&mut self) -> String {
        if self.rng.percent(20) {
            return self.update();
        }
        let i = self.fixed();
        self.any_of(&[
            "x := x + 1",
            "x := 1",
            "y[$] := x",
            "y[$], x := x, y[$]",
            "x := y[$]",
            "f := !f",
        ])
        .replace('$', &i)
    }

    /// Returns an update of an atomic variable, whose result may be used.
    fn update(&mut self) -> String {
        let i = self.index();
        let update = self
            .any_of(&[
                "w.fetch_add(1)",
                "w.fetch_add(w, relaxed)",
                "w.fetch_sub(x + 1)",
                "w.swap(o[$], acq_rel)",
                "o[$].fetch_add(w.load(acquire))",
                "o[$].swap(x)",
                "o[w].fetch_add(o[1])",
                "w.compare_exchange(0, o[$], acq_rel, acquire)",
                "o[$].compare_exchange(w, x)",
            ])
            .replace('$', &i);
        self.names += 1;
        let name = format!("u{}", self.names);
        match (self.rng.below(3), update.contains("compare")) {
            (0, _) => update,
            (_, true) => format!("(let {name} = {update}; f := {name})"),
            (_, false) => format!("(let {name} = {update}; x := {name})"),
        }
    }

    fn condition(&mut self) -> String {
        let i = self.fixed();
        let all = [
            "w > 0",
            "x == 0",
            "x > 0",
            "y[$] == 0",
            "f",
            "!f",
            "x < y[$]",
            "len(q) == 1",
            "len(r[$]) < 1",
        ];
        self.any_of(&all).replace('$', &i)
    }

    /// Returns a statement that is one step and may wait.
    fn waits(&mut self) -> String {
        let i = self.index();
        self.any_of(&[
            "acquire(s)",
            "acquire(t[$])",
            "read_lock(l)",
            "write_lock(l)",
            "lock(k)",
            "lock(m)",
        ])
        .replace('$', &i)
    }

    /// Returns a send or a receive.
    fn message(&mut self) -> String {
        let i = self.index();
        self.any_of(&[
            "q ! x",
            "q ! y[$] + 1",
            "q ? x",
            "q ? y[$]",
            "r[$] ! p",
            "r[$] ! P(a: x, b: f)",
            "r[$] ? p",
            "g ! f",
            "g ? f",
            "g ? p.b",
            "q ! len(q)",
        ])
        .replace('$', &i)
    }

    /// Returns statements between two operations that belong together, such as acquire and release.
    fn around(&mut self, depth: usize) -> String {
        let i = self.fixed();
        let (first, last) = [
            ("acquire(s)", "release(s)"),
            ("acquire(t[$])", "release(t[$])"),
            ("read_lock(l)", "read_unlock(l)"),
            ("write_lock(l)", "write_unlock(l)"),
            ("lock(m)", "unlock(m)"),
            ("lock(k)", "unlock(k)"),
        ][self.rng.below(6)];
        let body = self.statement(depth.saturating_sub(1));
        format!("{first}; {body}; {last}").replace('$', &i)
    }

    fn guarded_by_cond(&mut self) -> String {
        let (i, test) = (self.fixed(), self.condition());
        let cond = self.any_of(&["c", "d[$]"]);
        let lock = self.any_of(&["m", "m", "k"]);
        let test = self.any_of(&["while #", "if #"]).replace('#', &test);
        let wakes = self.any_of(&["signal(c)", "broadcast(c)", "signal(d[$])", "skip"]);
        let assignment = self.assignment();
        format!(
            "lock({lock}); {test} {{ wait({cond}, {lock}) }}; {assignment}; {wakes}; unlock({lock})"
        )
        .replace('$', &i)
    }

    fn tries(&mut self, depth: usize) -> String {
        self.names += 1;
        let (name, waits) = (format!("ok{}", self.names), self.waits());
        let back = match &waits[..5] {
            "acqui" => waits.replace("acquire", "release"),
            "read_" => "read_unlock(l)".into(),
            "write" => "write_unlock(l)".into(),
            _ => waits.replace("lock", "unlock"),
        };
        if self.rng.percent(30) {
            let message = self.message();
            let body = self.assignment();
            return format!("let {name} = try {message}; if {name} {{ {body} }}");
        }
        if self.rng.percent(25) {
            return format!("f := try {waits}");
        }
        let body = self.statement(depth.saturating_sub(1));
        format!("let {name} = try {waits}; if {name} {{ {body}; {back} }}")
    }

    fn select(&mut self, depth: usize) -> String {
        let mut all = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let gate = match self.rng.below(3) {
                0 => self.message(),
                1 => self.waits(),
                _ => self.condition(),
            };
            let body = match self.rng.below(8) {
                0..=2 => self.statement(depth.saturating_sub(1)),
                3 | 4 => "skip".into(),
                5 => {
                    let first = self.assignment();
                    format!("print \"{{x}}\"; {first}; {}", self.assignment())
                }
                _ => format!("{}; {}", self.assignment(), self.assignment()),
            };
            all.push(format!("{gate} |> {{ {body} }}"));
        }
        if self.rng.percent(40) {
            all.push(format!("else |> {{ {} }}", self.assignment()));
        }
        format!("select {{ {} }}", all.join(" [] "))
    }

    /// Returns a statement, sometimes with a label or a `print` before it.
    fn statement(&mut self, depth: usize) -> String {
        let stmt = self.bare_statement(depth);
        match self.rng.below(12) {
            0 => {
                self.names += 1;
                format!("here{}: {stmt}", self.names)
            }
            1 => format!("print \"{{x}} {{y[1]}}\"; {stmt}"),
            _ => stmt,
        }
    }

    fn bare_statement(&mut self, depth: usize) -> String {
        let i = self.index();
        match self.rng.below(22) {
            20 | 21 => self.select(depth),
            15 | 16 => self.message(),
            17 => format!("{} |> {}", self.condition(), self.message()),
            18 if depth > 0 => {
                let (first, other) = (self.message(), self.message());
                format!("atomic {{ {first}; {other} }}")
            }
            19 => {
                self.names += 1;
                let name = format!("v{}", self.names);
                format!("let {name} = 0; q ? {name}; assert {name} < 2")
            }
            0 | 1 if depth > 0 => self.around(depth),
            2 | 3 => self.guarded_by_cond(),
            4 | 5 => self.tries(depth),
            6 => "wait(b)".into(),
            7 => self
                .any_of(&[
                    "release(s)",
                    "release(t[$])",
                    "broadcast(d[$])",
                    "signal(c)",
                ])
                .replace('$', &i),
            8 => self.waits(),
            9 => format!("{} |> {}", self.condition(), self.waits()),
            10 => {
                let (test, first, other) = (self.condition(), self.waits(), self.assignment());
                format!("({first} <| {test} |> {other})")
            }
            11 => self.any_of(&["pass(0)", "pass(1)", "own()"]),
            12 if depth > 0 => {
                let (first, other) = (self.waits(), self.assignment());
                format!("atomic {{ {first}; {other} }}")
            }
            13 => {
                let unlocks = [
                    "read_unlock(l)",
                    "write_unlock(l)",
                    "unlock(m)",
                    "unlock(k)",
                ];
                if self.rng.percent(30) {
                    self.any_of(&unlocks)
                } else {
                    self.assignment()
                }
            }
            _ => self.assignment(),
        }
    }
}
