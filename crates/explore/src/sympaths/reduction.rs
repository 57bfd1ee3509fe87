//! The reductions by name.

/// The reductions: which symbolic states are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// No states are merged.
    None,
    /// States are merged if their paths have the same form, as the paper prints it.
    Paper,
    /// States are merged if their paths are equivalent.
    #[default]
    Canonical,
}

impl Reduction {
    /// All reductions.
    pub const ALL: &'static [Self] = &[Self::None, Self::Paper, Self::Canonical];

    /// Returns the name of the reduction.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::None => "none",
            Reduction::Paper => "paper",
            Reduction::Canonical => "canonical",
        }
    }

    /// Returns a description in a few words.
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

/// The error for an unknown name of a reduction.
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
