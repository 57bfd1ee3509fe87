//! The programs of the benchmark, their known counts, and the figures of other tools.
//!
//! The figures of GenMC, Nidhugg and SPIN were measured on a 2-core machine, with sequential
//! consistency and one core. GenMC and Nidhugg ran the same programs written in C, with threads
//! that are joined at the end; SPIN ran them in Promela. GenMC and Nidhugg interpret LLVM code, so
//! the figures compare how long a user waits, and not the algorithms alone.

use crate::Algorithm;

/// The source of the figures of the [`Figures::peers`], in a sentence.
pub const SOURCE: &str = "GenMC, Nidhugg and SPIN on the same programs in C and Promela, sequential consistency, one core of a 2-core machine";

/// A program of the corpus at several sizes.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The sizes to measure.
    pub sizes: &'static [Size],
    /// A tiny size, to test that everything works.
    pub quick: Size,
}

/// A size of a program.
pub struct Size {
    /// Its name: `9` as in `writers(9)`.
    pub name: &'static str,
    /// The constants to set.
    pub set: &'static [(&'static str, u64)],
    /// Number of traces.
    pub traces: u64,
    /// The engines that are measured by default.
    pub engines: &'static [Algorithm],
    /// Figures in traces per second.
    pub per_second: Figures,
    /// Figures in seconds until all states were visited.
    pub seconds: Figures,
    /// The target for the steps per second of the naive engine.
    pub naive_steps: Option<f64>,
}

/// The figures of other tools, and the target.
pub struct Figures {
    /// The name of each other tool, and its figure.
    pub peers: &'static [(&'static str, f64)],
    /// The figure that Mazurka is to reach, if there is a target.
    pub target: Option<f64>,
}

const NONE: Figures = Figures {
    peers: &[],
    target: None,
};

const fn size(name: &'static str, set: &'static [(&'static str, u64)], traces: u64) -> Size {
    Size {
        name,
        set,
        traces,
        engines: &[Algorithm::Optimal],
        per_second: NONE,
        seconds: NONE,
        naive_steps: None,
    }
}

impl Size {
    const fn target(self, target: f64, peers: &'static [(&'static str, f64)]) -> Self {
        let per_second = Figures {
            peers,
            target: Some(target),
        };
        Self { per_second, ..self }
    }

    const fn engines(self, engines: &'static [Algorithm]) -> Self {
        Self { engines, ..self }
    }

    const fn within(self, target: f64, peers: &'static [(&'static str, f64)]) -> Self {
        let seconds = Figures {
            peers,
            target: Some(target),
        };
        Self { seconds, ..self }
    }
}

macro_rules! corpus {
    ($name:literal) => {
        include_str!(concat!("../../programs/", $name, ".maz"))
    };
}

/// The families with figures of other tools come first.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "writers",
        text: corpus!("writers"),
        sizes: &[
            size("9", &[("N", 9)], 362_880).target(5e6, &[("GenMC", 50_000.0)]),
            size("8", &[("N", 8)], 40_320),
        ],
        quick: size("5", &[("N", 5)], 120),
    },
    Family {
        name: "readers",
        text: corpus!("readers"),
        sizes: &[
            size("16", &[("N", 16)], 65_536).target(8e5, &[("GenMC", 21_000.0)]),
            size("14", &[("N", 14)], 16_384),
        ],
        quick: size("6", &[("N", 6)], 64),
    },
    Family {
        name: "fib",
        text: corpus!("fib"),
        sizes: &[
            size("6", &[("N", 6)], 73_789)
                .target(2.5e6, &[("GenMC", 8_800.0), ("Nidhugg", 8_700.0)])
                .within(0.06, &[("SPIN", 0.48)])
                .engines(&[Algorithm::Optimal, Algorithm::Stateful]),
            size("7", &[("N", 7)], 616_227)
                .within(0.6, &[("SPIN", 2.84)])
                .engines(&[Algorithm::Optimal, Algorithm::Stateful]),
            Size {
                naive_steps: Some(3e6),
                ..size("3", &[("N", 3)], 141).engines(&[Algorithm::Naive])
            },
        ],
        quick: size("2", &[("N", 2)], 19).engines(&[
            Algorithm::Optimal,
            Algorithm::Stateful,
            Algorithm::Naive,
        ]),
    },
    Family {
        name: "lastzero",
        text: corpus!("lastzero"),
        sizes: &[size("11", &[("N", 11)], 7_168).target(8e5, &[("GenMC", 5_900.0)])],
        quick: size("4", &[("N", 4)], 28),
    },
    Family {
        name: "philosophers",
        text: corpus!("philosophers"),
        sizes: &[
            size("5", &[("N", 5)], 5_851).target(1e6, &[]),
            size("4", &[("N", 4)], 831),
            size("6", &[("N", 6)], 38_786),
        ],
        quick: size("3", &[("N", 3)], 106),
    },
    Family {
        name: "indexer",
        text: corpus!("indexer"),
        sizes: &[
            size("15", &[("N", 15)], 4_096).target(60_000.0, &[("GenMC", 1_110.0)]),
            size("14", &[("N", 14)], 512),
        ],
        quick: size("12", &[("N", 12)], 8),
    },
    Family {
        name: "filesystem",
        text: corpus!("filesystem"),
        sizes: &[
            size("24", &[("N", 24)], 2_048).target(50_000.0, &[("Nidhugg", 500.0)]),
            size("18", &[("N", 18)], 32),
        ],
        quick: size("14", &[("N", 14)], 2),
    },
    Family {
        name: "fib-with-main",
        text: corpus!("thesis-fib"),
        sizes: &[size("4", &[("N", 4)], 19_605)],
        quick: size("2", &[("N", 2)], 140),
    },
    Family {
        name: "locking",
        text: corpus!("locking"),
        sizes: &[
            size("4×2", &[("T", 4), ("B", 2)], 2_520),
            size("4×2+1", &[("T", 4), ("B", 2), ("EXTRA", 1)], 22_680),
        ],
        quick: size("3×2", &[("T", 3), ("B", 2)], 90),
    },
    Family {
        name: "producer-consumer",
        text: corpus!("producer-consumer"),
        sizes: &[size("9", &[("N", 9)], 48_620)],
        quick: size("3", &[("N", 3)], 20),
    },
];
