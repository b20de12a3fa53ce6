//! Presses on all cores. Each is independent of the others, so that the numbers do not depend on how
//! many cores there are.
//!
//! Source: ours.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use palpate_twin::scene::{Press, SceneError};

use super::plan::Job;

/// A press for every job, nothing for those that `stop` came before; `done` hears how many are made.
pub(super) fn press_all(
    jobs: &[Job],
    depth_m: f64,
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Option<Press>>, SceneError> {
    let (next, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut own = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                break;
            };
            let pressed = job.scene.presses(&[job.place_m], depth_m);
            own.push((index, pressed));
            done(made.fetch_add(1, Ordering::Relaxed) as u64 + 1);
        }
        own
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut presses = vec![None; jobs.len()];
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for (index, pressed) in workers.into_iter().flat_map(|worker| {
            // a panic in a worker is a bug of this program, and is passed on as one
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }) {
            presses[index] = pressed?.first().copied();
        }
        Ok(presses)
    })
}
