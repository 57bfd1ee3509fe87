//! Random walks: in every state each ready process is as likely as any other.
//!
//! No paper: the yardstick for `pct`, which says how likely it finds a bug. Here a schedule of k
//! steps among n ready processes is found with a probability of about 1/n^k, and many schedules
//! that are not really different are drawn again and again.
//!
//! | here | meaning |
//! |---|---|
//! | [`RandomWalks::seed`] | names the walks: equal seeds, equal walks |
//! | `Limits::executions` | the number of walks |

use mazurka_core::{Execution, ProcessId, Random};

use super::sample::{Picker, sample};
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session};

/// Runs a program under random schedules.
///
/// ```
/// use mazurka_core::{Bound, Execution, Limits};
/// use mazurka_explore::{Goal, RandomWalks, Search, Watch};
///
/// fn try_some<E: Execution>(program: &mut E, watch: &mut Watch<'_>) {
///     let search = Search {
///         algorithm: RandomWalks { seed: 7 },
///         limits: Limits { executions: Some(100), ..Limits::default() },
///         goal: Goal::Everything,
///     };
///     let found = search.run(program, watch, &mut ());
///     assert!(found.bounds.contains(&Bound::Sampled(100)));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomWalks {
    /// Names the walks.
    pub seed: u64,
}

impl RandomWalks {
    /// Those of the first seed.
    pub const FIRST: Self = Self { seed: 0 };
}

impl<E: Execution> Engine<E> for RandomWalks {
    type Found = Findings;

    fn search(&self, session: Session<'_, '_, E>) -> Findings {
        sample(session, Uniform, self.seed)
    }
}

/// Every ready process is as likely as any other.
#[derive(Clone, Copy, Debug)]
pub struct Uniform;

impl Picker for Uniform {
    fn pick(&mut self, ready: &[ProcessId], _step: u64, random: &mut Random) -> ProcessId {
        ready[random.below(ready.len() as u64) as usize]
    }
}
