//! Relations over at most 64 events, as bit matrices.

/// A relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix(Vec<u64>);

impl Matrix {
    pub fn empty(size: usize) -> Self {
        assert!(size <= 64, "too many events for the oracle");
        Self(vec![0; size])
    }

    /// \[S\]: each event of the set with itself.
    pub fn on(size: usize, set: impl Fn(usize) -> bool) -> Self {
        Self::from_fn(size, |a, b| a == b && set(a))
    }

    pub fn from_fn(size: usize, related: impl Fn(usize, usize) -> bool) -> Self {
        let mut matrix = Self::empty(size);
        for a in 0..size {
            for b in 0..size {
                if related(a, b) {
                    matrix.relate(a, b);
                }
            }
        }
        matrix
    }

    pub fn relate(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }

    pub fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    pub fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// `self;other`
    pub fn then(&self, other: &Self) -> Self {
        let row = |&row: &u64| {
            let mut reached = 0;
            let mut rest = row;
            while rest != 0 {
                reached |= other.0[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            reached
        };
        Self(self.0.iter().map(row).collect())
    }

    /// `self⁻¹`
    pub fn inverse(&self) -> Self {
        Self::from_fn(self.0.len(), |a, b| self.has(b, a))
    }

    /// `self?`
    pub fn maybe(&self) -> Self {
        self.or(&Self::on(self.0.len(), |_| true))
    }

    /// `self+`
    pub fn plus(&self) -> Self {
        let mut closure = self.clone();
        for middle in 0..self.0.len() {
            let through = closure.0[middle];
            for row in &mut closure.0 {
                if *row >> middle & 1 == 1 {
                    *row |= through;
                }
            }
        }
        closure
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&row| row == 0)
    }

    pub fn is_irreflexive(&self) -> bool {
        self.0.iter().enumerate().all(|(a, row)| row >> a & 1 == 0)
    }

    pub fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }
}
