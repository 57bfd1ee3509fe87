//! Programs whose processes are interchangeable, and programs in which one statement prevents that.
//!
//! Processes use their number only for comparisons, as subscripts and as values, in every way that
//! the language has. A third of the programs have a *fault*: a statement that orders numbers,
//! calculates with them, or treats one process differently. In other programs, a variable that
//! holds a process has the number of a certain process as its initial value.

use crate::Rng;

/// Returns a random program whose processes are interchangeable, or interchangeable except for one
/// statement.
pub fn symmetric(seed: u64) -> String {
    let rng = Rng::new(seed ^ 0x7379_6d6d_6574_7279);
    ProgramWriter {
        rng,
        n: 0,
        fault: false,
        locals: Vec::new(),
        depth: 0,
        access: false,
        in_procedure: false,
        declared: 0,
    }
    .program()
}

struct ProgramWriter {
    rng: Rng,
    n: usize,
    /// Whether an asymmetric statement must still be inserted.
    fault: bool,
    /// The locals that hold processes.
    locals: Vec<String>,
    depth: usize,
    access: bool,
    /// Whether the procedure is being written. It has no `me`.
    in_procedure: bool,
    /// How many locals have been declared.
    declared: usize,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        all[self.rng.below(all.len())].to_owned()
    }

    fn me(&self) -> String {
        if self.in_procedure { "who" } else { "me" }.to_owned()
    }

    /// Returns an expression for a process, perhaps −1.
    fn index(&mut self) -> String {
        let me = self.me();
        match self.rng.below(10) {
            0 if !self.locals.is_empty() => {
                let at = self.rng.below(self.locals.len());
                self.locals[at].clone()
            }
            1 | 2 if !self.locals.is_empty() => self.locals[0].clone(),
            3 => "turn".to_owned(),
            4 => format!("owner[{me}]"),
            _ => me,
        }
    }

    /// Returns an expression that is certainly a process.
    fn subscript(&mut self) -> String {
        if self.rng.percent(85) {
            self.me()
        } else {
            self.index()
        }
    }

    fn condition(&mut self) -> String {
        let me = self.me();
        if self.fault && self.rng.percent(30) {
            self.fault = false;
            let n = self.n;
            let most = if self.access {
                "num[1] <= num[0]"
            } else {
                "(max v in num: v) == num[0]"
            };
            return self.any_of(&[
                &format!("{me} == 0"),
                &format!("{me} < turn"),
                &format!("{me} != {}", n - 1),
                &format!("flag[({me} + 1) % N]"),
                "forall j in 1..N: !flag[j]",
                most,
                "turn == 0",
                "num[0] == 0",
                "flag[0] || flag[1]",
            ]);
        }
        let (a, b, c) = (self.index(), self.index(), self.subscript());
        match self.rng.below(13) {
            0 => format!("turn == {a}"),
            1 => format!("{a} != {b}"),
            2 => format!("flag[{c}]"),
            3 => format!("!flag[{c}]"),
            4 => "turn == -1".to_owned(),
            5 if !self.access => format!("forall j in 0..N: j == {me} || !flag[j]"),
            6 if !self.access => format!("exists j in 0..N: flag[j] && owner[j] != {me}"),
            7 if !self.access => "(count v in flag: v) <= 1".to_owned(),
            8 if !self.access => {
                format!("(sum j in 0..N: num[j]) {}", self.any_of(&["< 2", "== 1"]))
            }
            9 => format!("mat[{me}][{c}]"),
            10 => "x < 2".to_owned(),
            11 => format!("num[{c}] == x"),
            _ => format!("x == {}", self.rng.below(3)),
        }
    }

    fn value(&mut self) -> String {
        let me = self.me();
        if self.fault && self.rng.percent(30) {
            self.fault = false;
            return self.any_of(&[&me, &format!("{me} + 1"), "num[0]", "turn + 1"]);
        }
        let at = self.subscript();
        match self.rng.below(5) {
            0 => "x".to_owned(),
            1 => format!("num[{at}]"),
            2 => format!("if turn == {me} then 1 else 0"),
            _ => self.rng.below(3).to_string(),
        }
    }

    fn simple(&mut self) -> String {
        if self.fault && self.rng.percent(15) {
            self.fault = false;
            return self.any_of(&[
                "flag[0] := true",
                "turn := 0",
                "num[N - 1] := 1",
                "for j in 0..N { if !flag[j] { x := j } }",
                "turn := choose(0..N - 1)",
            ]);
        }
        let (a, at) = (self.index(), self.subscript());
        match self.rng.below(14) {
            0 => format!("flag[{at}] := {}", self.any_of(&["true", "false"])),
            1 => format!("num[{at}] := {}", self.value()),
            2 => format!("x := {}", self.value()),
            3 | 4 => format!("turn := {a}"),
            5 => "turn := -1".to_owned(),
            6 => format!("owner[{at}] := {a}"),
            7 => format!("mat[{at}][{a}] := {}", self.any_of(&["true", "false"])),
            8 if !self.locals.is_empty() => format!("{} := {a}", self.locals[0]),
            9 if !self.access => format!("turn, owner[{at}] := {a}, turn"),
            10 => "x := (x + 1) % 3".to_owned(),
            11 if !self.in_procedure => "turn := choose(0..N)".to_owned(),
            12 => format!("flag[{at}] := {}", self.condition()),
            _ => format!("num[{at}] := (num[{at}] + 1) % 2"),
        }
    }

    fn block(&mut self, most: usize) -> String {
        let known = self.locals.len();
        self.depth += 1;
        let count = 1 + self.rng.below(most);
        let all: Vec<String> = (0..count).map(|_| self.statement()).collect();
        self.depth -= 1;
        self.locals.truncate(known);
        all.join("; ")
    }

    /// Returns a loop over all processes in one step; if a fault must be inserted, one whose
    /// iterations do not commute, or that leaves processes out.
    fn all(&mut self) -> String {
        let me = self.me();
        let (a, value) = (self.any_of(&["turn", &me]), self.rng.below(3));
        let body = if self.fault && self.rng.percent(30) {
            self.fault = false;
            self.any_of(&[
                "turn := owner[j]",
                "if flag[j] { x := num[j] }",
                "num[j] := num[(j + 1) % N]",
                &format!("num[j] := num[{me}] + 1"),
                "owner[owner[j]] := j",
                "let t = turn; turn := owner[j]; owner[j] := t",
                "if turn < j { flag[j] := true }",
                "num[j] := j",
                "if j == 0 { flag[j] := true }",
                "owner[j] := choose(0..N)",
                "assert num[j] < 2; num[j] := x",
                "mat[j][j] := mat[0][j]",
            ])
        } else {
            self.any_of(&[
                "flag[j] := false",
                &format!("num[j] := {value}"),
                "num[j] := (num[j] + 1) % 2",
                &format!("if owner[j] == {a} {{ owner[j] := -1 }}"),
                &format!("if j != {me} {{ flag[j] := true }}"),
                "if owner[j] == j { mat[j][j] := true }",
                "let t = owner[j]; if t == turn { owner[j] := j } else { flag[j] := t == j }",
                "mat[j][j] := flag[j]; num[j] := if mat[j][j] then 1 else x",
                "flag[j] := owner[j] == j; owner[j] := turn",
                "if flag[j] && num[j] == x { flag[j] := false; num[j] := 0 }",
            ])
        };
        let range = if self.fault && self.rng.percent(10) {
            self.fault = false;
            "1..N"
        } else {
            "0..N"
        };
        let (before, after) = match self.rng.below(4) {
            0 => (self.simple() + "; ", String::new()),
            1 => (String::new(), format!("; {}", self.simple())),
            _ => (String::new(), String::new()),
        };
        format!("atomic {{ {before}for j in {range} {{ {body} }}{after} }}")
    }

    fn statement(&mut self) -> String {
        let me = self.me();
        let kinds = if self.depth > 2 { 8 } else { 27 };
        match self.rng.below(kinds) {
            0..=6 => self.simple(),
            7 => "skip".to_owned(),
            8 => format!("lock(m); {}; unlock(m)", self.block(2)),
            9 => {
                let at = self.subscript();
                format!("lock(own[{at}]); {}; unlock(own[{at}])", self.simple())
            }
            10 | 11 => format!("if {} {{ {} }}", self.condition(), self.block(2)),
            12 => format!("await {}", self.condition()),
            13 => format!("{} |> {}", self.condition(), self.simple()),
            14 => format!("assert {}", self.condition()),
            15 => format!("atomic {{ {}; {} }}", self.simple(), self.simple()),
            16 => format!("assume {}", self.condition()),
            17 => format!("inbox[{}] ! {}", self.subscript(), self.index()),
            18 if !self.locals.is_empty() => format!("inbox[{me}] ? {}", self.locals[0]),
            19 => format!("acquire(s); {}; release(s)", self.simple()),
            20 if !self.in_procedure => format!("act({})", self.index()),
            21 if !self.in_procedure => format!("read_lock(l); {}; read_unlock(l)", self.simple()),
            22 if !self.in_procedure => {
                format!("write_lock(l); {}; write_unlock(l)", self.simple())
            }
            23..=25 => self.all(),
            _ => {
                self.declared += 1;
                let name = format!("l{}", self.declared);
                let value = match self.rng.below(3) {
                    0 if !self.in_procedure => "choose(0..N)".to_owned(),
                    _ => self.index(),
                };
                self.locals.push(name.clone());
                format!("let {name} = {value}")
            }
        }
    }

    fn properties(&mut self) -> String {
        let mut text = String::new();
        if self.rng.percent(50) {
            text += &match self.rng.below(5) {
                0 => "invariant (count v in flag: v) <= 1\n".to_owned(),
                1 => "invariant forall j in 0..N: flag[j] || num[j] < 2\n".to_owned(),
                2 => "invariant forall i in 0..N: forall j in 0..N: i == j || !mat[i][j]\n"
                    .to_owned(),
                3 => "invariant turn == -1 || x < 2\n".to_owned(),
                _ => "invariant exists j in 0..N: turn != j\n".to_owned(),
            };
        }
        if self.fault && self.rng.percent(30) {
            self.fault = false;
            text += &self.any_of(&[
                "invariant !flag[0]\n",
                "invariant turn != 1\n",
                "invariant (sum j in 1..N: num[j]) < 2\n",
                "ensures num[0] == 0\n",
            ]);
        }
        if self.rng.percent(40) {
            text += &self.any_of(&[
                "ensures forall j in 0..N: !flag[j]\n",
                "ensures (sum j in 0..N: num[j]) <= 1\n",
                "ensures turn == -1\n",
                "ensures exists j in 0..N: owner[j] == j\n",
            ]);
        }
        if self.rng.percent(60) {
            text += &self.any_of(&[
                "observe x\n",
                "observe turn\n",
                "observe num\n",
                "observe flag, x\n",
                "observe owner\n",
            ]);
        }
        text
    }

    fn program(mut self) -> String {
        self.n = [2, 2, 3, 3, 3, 4][self.rng.below(6)];
        self.fault = self.rng.percent(33);
        self.access = self.rng.percent(15);
        let mut text = format!("const N = {}\n", self.n);
        if self.access {
            text += "atomicity access\n";
        }
        let first = match self.rng.below(10) {
            0 => "0",
            1 => "N",
            _ => "-1",
        };
        let range = if self.rng.percent(20) { "0..3" } else { "int" };
        text += &format!("var turn: int = {first}\nvar x: int = 0\nvar flag: bool[N] = false\n");
        text += &format!("var num: {range}[N] = 0\nvar owner: int[N] = -1\n");
        text += "var mat: bool[N][N] = false\nlock m\nlock own[N]\nsemaphore s = 1\n";
        text += "rwlock l\nchan inbox[N][1]: int\n";
        text += &self.properties();
        self.in_procedure = true;
        let body = self.block(2);
        text += &format!("proc act(who: int) {{ {body} }}\n");
        self.in_procedure = false;
        let most = if self.n > 3 { 2 } else { 3 };
        let body = self.block(most);
        text += &format!("process p (me in 0..N) {{ {body} }}\n");
        if self.n == 2 && self.rng.percent(40) {
            let body = self.block(2);
            text += &format!("process q (me in 0..N) {{ {body} }}\n");
        }
        if self.rng.percent(25) {
            let body = self.any_of(&[
                "turn := choose(0..N)",
                "let k = choose(0..N); flag[k] := true; owner[k] := turn",
                "await turn != -1; num[turn] := 1",
                "lock(m); x := 1; unlock(m)",
                "let k = 0; inbox[turn] ? k; turn := k",
                "write_lock(l); x := 2; write_unlock(l)",
                "flag[1] := true",
            ]);
            text += &format!("process other {{ {body} }}\n");
        }
        text
    }
}
