//! The reductions by name.

/// Which symbolic states are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// None are.
    None,
    /// Those whose paths have the same form as it is printed.
    Paper,
    /// Those whose paths are equivalent.
    #[default]
    Canonical,
}

impl Reduction {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::None, Self::Paper, Self::Canonical];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::None => "none",
            Reduction::Paper => "paper",
            Reduction::Canonical => "canonical",
        }
    }

    /// In a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Reduction::None => "every symbolic state",
            Reduction::Paper => "merged by the normal form as the SymPaths paper prints it",
            Reduction::Canonical => "merged by a true normal form: one state of each trace",
        }
    }
}

impl std::fmt::Display for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no reduction has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no reduction `{0}`; try none, paper or canonical")]
pub struct UnknownReduction(String);

impl std::str::FromStr for Reduction {
    type Err = UnknownReduction;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|reduction| reduction.name() == name);
        found
            .copied()
            .ok_or_else(|| UnknownReduction(name.to_owned()))
    }
}
