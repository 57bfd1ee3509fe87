//! Accesses of steps to cells, and when two accesses conflict. A *cell* is a numbered unit of
//! shared data, such as a variable, an element of an array, or a lock.
//!
//! A step *claims* all accesses that it may make. Steps of two processes are dependent if their
//! claims conflict (see [`dependent`](crate::dependent)).

/// How a cell is accessed. The cell of a variable is read and written, the cell of a lock is
/// acquired and released, and the cell of an invariant is only written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Commutes with other reads.
    Read,
    /// Conflicts with every other access to the cell.
    Write,
    /// Takes a lock. It conflicts with every access to the lock. Only the race of two acquisitions
    /// of a lock can be reversed.
    Acquire,
    /// Releases a lock. It conflicts with every access to the lock, but a race between a release
    /// and another access cannot be reversed.
    Release,
}

/// An access to the cells `first .. first + len`: one variable or element, or a whole array if the
/// index is not known when the step starts.
///
/// ```
/// use mazurka_core::Access;
/// let array = Access::read(4).over(3);
/// assert!(array.conflicts(Access::write(6)));
/// assert!(!array.conflicts(Access::write(7)));
/// assert!(!array.conflicts(Access::read(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// The first cell.
    pub first: u32,
    /// Number of cells.
    pub len: u32,
    /// How they are accessed.
    pub kind: AccessKind,
}

impl Access {
    /// A write of every cell, which conflicts with every access.
    pub const ANYTHING: Self = Self::write(0).over(u32::MAX);

    /// Creates an access to one cell.
    #[inline]
    pub const fn new(kind: AccessKind, first: u32) -> Self {
        Self {
            first,
            len: 1,
            kind,
        }
    }

    /// Creates a read of one cell.
    #[inline]
    pub const fn read(cell: u32) -> Self {
        Self::new(AccessKind::Read, cell)
    }

    /// Creates a write of one cell.
    #[inline]
    pub const fn write(cell: u32) -> Self {
        Self::new(AccessKind::Write, cell)
    }

    /// Returns the same access over `len` cells.
    pub const fn over(self, len: u32) -> Self {
        Self { len, ..self }
    }

    /// Whether the access is of any other kind than a read.
    #[inline]
    pub fn writes(self) -> bool {
        self.kind != AccessKind::Read
    }

    /// Whether the two accesses share a cell that at least one of them changes.
    #[inline]
    pub fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes())
            && self.first < other.first + other.len
            && other.first < self.first + self.len
    }

    /// Whether a possible step with this claim must not be swapped with a later step of another
    /// process that makes the other access. This is so if the accesses conflict, with one
    /// exception: if one of the two releases a lock and the other takes or releases it, the order
    /// does not matter. A release succeeds if its process holds the lock, and no step of another
    /// process can change that.
    ///
    /// ```
    /// use mazurka_core::{Access, AccessKind};
    /// let [acquire, release] = [AccessKind::Acquire, AccessKind::Release];
    /// let (acquire, release) = (Access::new(acquire, 3), Access::new(release, 3));
    /// assert!(acquire.delays(acquire) && acquire.conflicts(release));
    /// assert!(!acquire.delays(release) && !release.delays(acquire) && !release.delays(release));
    /// assert!(release.delays(Access::read(3)) && Access::write(4).delays(Access::read(4)));
    /// ```
    #[inline]
    pub fn delays(self, other: Self) -> bool {
        use AccessKind::{Acquire, Release};
        let given_back = matches!(
            (self.kind, other.kind),
            (Release, Release | Acquire) | (Acquire, Release)
        );
        !given_back && self.conflicts(other)
    }

    /// Returns the cells that the access touches.
    #[inline]
    pub fn cells(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// The accesses of one step. A plain vector keeps its memory when its event is reused.
pub type Claims = Vec<Access>;

/// Adds an access, unless the list claims it already: a write covers a read of the same cells.
///
/// ```
/// use mazurka_core::{Access, Claims, add_claim};
/// let mut claims = Claims::new();
/// add_claim(&mut claims, Access::read(3));
/// add_claim(&mut claims, Access::write(3));
/// add_claim(&mut claims, Access::read(3));
/// assert_eq!(claims[..], [Access::write(3)]);
/// ```
#[inline]
pub fn add_claim(claims: &mut Claims, access: Access) {
    let covers = |wide: &Access, narrow: &Access| {
        wide.first <= narrow.first
            && narrow.first + narrow.len <= wide.first + wide.len
            && (wide.kind == narrow.kind || narrow.kind == AccessKind::Read)
    };
    if !claims.iter().any(|old| covers(old, &access)) {
        claims.retain(|old| !covers(&access, old));
        claims.push(access);
    }
}
