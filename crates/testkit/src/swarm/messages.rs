//! Programs that mostly send and receive, from several processes, with every form of send and
//! receive. Channels have room for one or two messages, or are elements of an array. The programs
//! use every construct that depends on both ends of a channel.

use crate::Rng;

/// Returns a random program with channels. All sent values differ, so that orders are visible.
pub fn messages(seed: u64) -> String {
    let rng = Rng::new(seed ^ 0x006d_6573_7361_6765);
    ProgramWriter { rng, value: 0 }.program()
}

/// Returns a random program in which each channel has one sender and one receiver. In some programs
/// one statement breaks this rule: it touches both ends of a channel, or an end that belongs to
/// another process.
pub fn network(seed: u64) -> String {
    let rng = Rng::new(seed ^ 0x006e_6574_776f_726b);
    ProgramWriter { rng, value: 0 }.network()
}

/// A channel of a network, with its only sender and its only receiver.
#[derive(Clone)]
struct Link {
    name: String,
    sender: usize,
    receiver: usize,
}

/// Writes the text of a program; `value` is the last value sent.
struct ProgramWriter {
    rng: Rng,
    value: usize,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        all[self.rng.below(all.len())].to_owned()
    }

    fn channel(&mut self) -> String {
        let known = ["c", "c", "d", "r[0]", "r[1]", "r[me]", "r[x]"];
        self.any_of(&known)
    }

    fn send(&mut self) -> String {
        self.value += 1;
        let value = match self.rng.below(8) {
            0 => "l".to_owned(),
            1 => "x".to_owned(),
            2 => self.any_of(&["len(c)", "6 / l"]),
            _ => self.value.to_string(),
        };
        format!("{} ! {value}", self.channel())
    }

    fn receive(&mut self) -> String {
        let channel = self.channel();
        // The oracle evaluates the index of the channel again after it has stored the message.
        let into = match &*channel {
            "r[x]" => "l".to_owned(),
            _ => self.any_of(&["l", "l", "l", "x", "y[0]", "y[l]"]),
        };
        format!("{channel} ? {into}")
    }

    fn operation(&mut self) -> String {
        match self.rng.below(2) {
            0 => self.send(),
            _ => self.receive(),
        }
    }

    fn condition(&mut self) -> String {
        self.any_of(&[
            "len(c) == 0",
            "len(c) > 0",
            "len(d) < 1",
            "len(r[0]) == 1",
            "x == 0",
            "x > 0",
            "l < 2",
        ])
    }

    fn simple(&mut self) -> String {
        self.any_of(&["x := x + 1", "y[0] := l", "x := 0", "skip", "l := x"])
    }

    fn statement(&mut self) -> String {
        match self.rng.below(24) {
            0 => format!("ok := try {}", self.operation()),
            1 => format!("{} |> {}", self.condition(), self.operation()),
            2 => format!("atomic {{ {}; {} }}", self.operation(), self.operation()),
            3 => {
                let (gate, other) = (self.operation(), self.condition());
                let (one, two) = (self.simple(), self.simple());
                let otherwise = self.any_of(&["", "[] else |> { skip }"]);
                format!("select {{ {gate} |> {{ {one} }} [] {other} |> {{ {two} }} {otherwise} }}")
            }
            4 => format!("assert {}", self.condition()),
            5 => format!("assume {}", self.condition()),
            6 => format!("for i in 0..2 {{ {} }}", self.operation()),
            7 => format!("if {} {{ {} }}", self.condition(), self.operation()),
            8 => "relay()".to_owned(),
            9 => {
                let (one, two) = (self.operation(), self.operation());
                format!("{one} <| {} |> {two}", self.condition())
            }
            10 | 11 => self.simple(),
            12..=17 => self.send(),
            _ => self.receive(),
        }
    }

    fn program(&mut self) -> String {
        let mut text = self.any_of(&["", "", "", "atomicity access\n"]);
        text += &format!("chan c[{}]: int\n", 1 + self.rng.below(2));
        text += &format!("chan d[{}]: int\n", self.any_of(&["1", "2", "3", ".."]));
        text += &format!("chan r[2][{}]: int\n", self.any_of(&["1", "1", "2", "..4"]));
        text += "var x: int = 0\nvar y: int[2] = 0\n";
        text += "proc relay() { let t = 0; c ? t; d ! t + 1 }\n";
        match self.rng.below(6) {
            // The oracle supports invariants over variables only.
            0 => text += "invariant x < 3\n",
            1 => text += "ensures x < 3\n",
            2 => text += "ensures len(d) == 0\n",
            _ => {}
        }
        let processes = 2 + self.rng.below(2);
        for me in 0..processes {
            text += &format!(
                "process {{\n  let me = {}; let l = 0; let ok = true;\n",
                me % 2
            );
            for _ in 0..1 + self.rng.below(3) {
                text += &format!("  {};\n", self.statement());
            }
            text += &self.any_of(&["", "  y[1] := l;\n", "  assert ok;\n"]);
            text += "}\n";
        }
        text
    }

    /// Returns a statement of a process of a network.
    fn transfer(&mut self, links: &[Link], me: usize) -> String {
        let link = &links[self.rng.below(links.len())];
        let name = &link.name;
        let (sends, receives) = (link.sender == me, link.receiver == me);
        if !sends && !receives {
            return self.any_of(&["x := x + 1", "l := l + 1", "skip", "y[0] := l", "l := x"]);
        }
        self.value += 1;
        let value = self.value.to_string();
        let message = self.any_of(&[&value, &value, &value, "l", "x"]);
        let into = self.any_of(&["l", "l", "l", "x", "y[1]", "y[l]"]);
        let operation = match sends {
            true => format!("{name} ! {message}"),
            false => format!("{name} ? {into}"),
        };
        match self.rng.below(12) {
            0 => format!("x < 2 |> {operation}"),
            1 => format!("for i in 0..2 {{ {operation} }}"),
            2 => format!("if l < 2 {{ {operation} }}"),
            3 => format!("{operation} <| x == 0 |> skip"),
            _ => operation,
        }
    }

    /// Returns a statement that touches both ends of a channel, or an end of another process.
    fn intrusion(&mut self, name: &str) -> String {
        self.value += 1;
        let value = self.value;
        let all = [
            format!("x := len({name})"),
            format!("ok := try {name} ! {value}"),
            format!("ok := try {name} ? l"),
            format!("atomic {{ {name} ! {value}; x := x + 1 }}"),
            format!("atomic {{ {name} ! {value}; {name} ? l }}"),
            format!("{name} ! {value}"),
            format!("{name} ? l"),
            format!("{name} ! len({name})"),
            format!("len({name}) > 0 |> x := 1"),
            format!("select {{ {name} ? l |> {{ skip }} [] else |> {{ x := 2 }} }}"),
            format!("select {{ {name} ! {value} |> {{ skip }} [] x > 0 |> {{ l := 1 }} }}"),
            "relay()".to_owned(),
            "atomic { relay() }".to_owned(),
        ];
        all[self.rng.below(all.len())].clone()
    }

    fn network(mut self) -> String {
        let processes = 2 + self.rng.below(3);
        let mut text = self.any_of(&["", "", "", "", "atomicity access\n"]);
        let mut links = Vec::new();
        for at in 0..2 + self.rng.below(2) {
            let sender = self.rng.below(processes);
            // A process may send to itself.
            let receiver = self.rng.below(processes);
            let name = format!("c{at}");
            text += &format!("chan {name}[{}]: int\n", 1 + self.rng.below(2));
            links.push(Link {
                name,
                sender,
                receiver,
            });
        }
        let array = self.rng.percent(40);
        if array {
            text += &format!("chan r[{processes}][{}]: int\n", 1 + self.rng.below(2));
            for at in 0..processes {
                links.push(Link {
                    name: format!("r[{at}]"),
                    sender: at,
                    receiver: (at + 1) % processes,
                });
            }
        }
        text += "var x: int = 0\nvar y: int[2] = 0\n";
        text += "proc relay() { let t = 0; c0 ? t; c1 ! t + 1 }\n";
        let watched = self.any_of(&["c0", "c1"]);
        match self.rng.below(10) {
            0 => text += &format!("invariant len({watched}) < 2\n"),
            1 => text += &format!("ensures len({watched}) == 0\n"),
            2 => text += "ensures x < 2\n",
            _ => {}
        }
        let intruder = self.rng.percent(40).then(|| self.rng.below(processes));
        for me in 0..processes {
            text += "process {\n  let l = 0; let ok = true;\n";
            let own = |link: &&Link| link.sender == me || link.receiver == me;
            let own: Vec<Link> = links.iter().filter(own).cloned().collect();
            for at in 0..1 + self.rng.below(4) {
                let all = if own.is_empty() || self.rng.percent(15) {
                    &links
                } else {
                    &own
                };
                text += &format!("  {};\n", self.transfer(all, me));
                if intruder == Some(me) && at == 0 {
                    let name = links[self.rng.below(links.len())].name.clone();
                    text += &format!("  {};\n", self.intrusion(&name));
                }
            }
            text += &self.any_of(&["", "  y[1] := l;\n", "  assert l < 3;\n"]);
            text += "}\n";
        }
        text
    }
}
