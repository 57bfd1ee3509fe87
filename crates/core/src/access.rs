//! What a step touches, and when two touches conflict.

/// How a cell is touched. Cells of variables are read and written, cells of
/// locks acquired and released, cells of invariants only written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Reads commute with reads.
    Read,
    /// Conflicts with every other access of the cell.
    Write,
    /// Takes a lock: conflicts with every access of it; two acquisitions are a race that can be
    /// reversed.
    Acquire,
    /// Gives a lock back: conflicts with every access of it, never reversibly.
    Release,
}

/// An access to the cells `first .. first + len`: one variable or element, or a
/// whole array where the index is not known when the step starts.
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
    /// How many cells.
    pub len: u32,
    /// How they are touched.
    pub kind: AccessKind,
}

impl Access {
    /// A write of everything: what conflicts with any other access.
    pub const ANYTHING: Self = Self::write(0).over(u32::MAX);

    /// An access of one cell.
    #[inline]
    pub const fn new(kind: AccessKind, first: u32) -> Self {
        Self {
            first,
            len: 1,
            kind,
        }
    }

    /// A read of one cell.
    #[inline]
    pub const fn read(cell: u32) -> Self {
        Self::new(AccessKind::Read, cell)
    }

    /// A write of one cell.
    #[inline]
    pub const fn write(cell: u32) -> Self {
        Self::new(AccessKind::Write, cell)
    }

    /// The same over `len` cells.
    pub const fn over(self, len: u32) -> Self {
        Self { len, ..self }
    }

    /// Whether it is anything but a read.
    #[inline]
    pub fn writes(self) -> bool {
        self.kind != AccessKind::Read
    }

    /// Whether the two share a cell and not both only read it.
    #[inline]
    pub fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes())
            && self.first < other.first + other.len
            && other.first < self.first + self.len
    }

    /// Whether a step with this claim that is possible, and a later step of another process with
    /// the other access, may not change places. They conflict, but for a lock that one of the two
    /// gives back: while a process holds it, or does not and fails, no step of others changes that.
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

    /// The cells it touches.
    #[inline]
    pub fn cells(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// The accesses of one step. A plain vector: events are used again and again, so it keeps its
/// memory.
pub type Claims = Vec<Access>;

/// Adds an access, leaving out what is claimed already: a write covers a read of the same cells.
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
