//! Presses on all cores. Each is independent of the others, so that the numbers do not depend on how
//! many cores there are.
//!
//! Source: ours.

use std::sync::atomic::AtomicBool;

use palpate_scene::{Press, SceneError};
use palpate_session::pool;

use super::plan::Job;

/// A press for every job, nothing for those that `stop` came before; `done` hears how many are made.
pub(super) fn press_all(
    jobs: &[Job],
    depth_m: f64,
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Option<Press>>, SceneError> {
    let mut presses = vec![None; jobs.len()];
    let mut made = 0;
    let press = |index: usize| {
        let job = &jobs[index];
        job.scene.presses(&[job.place_m], depth_m)
    };
    pool::each(
        (jobs.len(), pool::cores()),
        stop,
        &press,
        |index, pressed| {
            presses[index] = pressed.first().copied();
            made += 1;
            done(made);
            Ok(())
        },
    )?;
    Ok(presses)
}
