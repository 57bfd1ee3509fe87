//! Random walks: in every state all ready processes are equally likely.
//!
//! This method follows no paper. It is the baseline for the other methods, which have bounds on the
//! probability of finding a bug. Here, a schedule of k steps among n ready processes is drawn with
//! a probability of about 1/n^k, and many equivalent schedules are drawn again and again.
//!
//! | here | meaning |
//! |---|---|
//! | `Sample::seed` | determines the walks: equal seeds give equal walks |
//! | `Limits::executions` | the number of walks |

use mazurka_core::{Execution, ProcessId, Random};

use super::sample::Picker;

/// All ready processes are equally likely.
#[derive(Clone, Copy, Debug)]
pub struct Uniform;

impl<E: Execution> Picker<E> for Uniform {
    fn pick(&mut self, ready: &[ProcessId], _program: &E, random: &mut Random) -> ProcessId {
        ready[random.below(ready.len() as u64) as usize]
    }
}
