//! Who shares the work of a step: the seam between pure steps and the threads that a driver owns.
//!
//! Source: ours. A step cuts its work into parts that do not depend on who is there, sums what they
//! find in the order of the parts, and hands them to a crew; so it has the same bits whoever does
//! them. Nothing in this crate makes a thread: [`Alone`] is the crew of every step that is not given
//! another one.

/// Somebody who does parts of a step.
pub trait Crew {
    /// Whether it pays to share a step whose largest pass takes about `pass_ns` \[ns\] on one thread.
    /// Who says no is not asked to.
    fn pays(&self, pass_ns: f64) -> bool;

    /// Calls `work` once with every item, in any order and on any thread, and returns when all are
    /// done. A crew of a servo neither allocates nor waits without bound here.
    fn each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync);
}

/// The thread that steps, alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Alone;

impl Crew for Alone {
    fn pays(&self, _pass_ns: f64) -> bool {
        false
    }

    fn each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        items.iter_mut().for_each(work);
    }
}
