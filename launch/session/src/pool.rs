//! Thread pool for independent work: results do not depend on the number of threads.
//!
//! Source: ours. Used by trials for their rows, by the atlas for its points and by the study of lumps for its
//! presses.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Number of threads that this machine runs at once; 1 if unknown.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does the work of every number below `count` on `jobs` threads, and passes each finished result to `keep`
/// on this thread. No work starts after `stop` is set.
///
/// # Errors
/// The first error of `work` or `keep`; results finished before have been kept.
pub fn run_jobs<R: Send, E: Send>(
    count: usize,
    jobs: usize,
    stop: &AtomicBool,
    work: &(dyn Fn(usize) -> Result<R, E> + Sync),
    mut keep: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, finished) = mpsc::channel();
        for _ in 0..jobs.clamp(1, count.max(1)) {
            let (sender, next, failed) = (sender.clone(), &next, &failed);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    // the receiver is gone after a failure
                    if number >= count || sender.send((number, work(number))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (number, result) in finished {
            let kept = result.and_then(|result| keep(number, result));
            if kept.is_err() {
                failed.store(true, Ordering::Relaxed);
                return kept;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_once_for_any_number_of_threads() {
        let stop = AtomicBool::new(false);
        for jobs in [0, 1, 3, 100] {
            let mut seen = Vec::new();
            let work = |number: usize| Ok::<_, ()>(3 * number);
            let kept = run_jobs(57, jobs, &stop, &work, |number, tripled| {
                assert_eq!(tripled, 3 * number);
                seen.push(number);
                Ok(())
            });
            assert_eq!(kept, Ok(()));
            seen.sort_unstable();
            assert_eq!(seen, (0..57).collect::<Vec<_>>());
        }
        let none = run_jobs(0, 4, &stop, &|_| Ok::<_, ()>(()), |_, ()| Err(()));
        assert_eq!(none, Ok(()));
    }

    #[test]
    fn failure_ends_the_work_and_stop_keeps_finished_results() {
        let stop = AtomicBool::new(false);
        let failing = |number: usize| if number == 20 { Err("no") } else { Ok(()) };
        let mut count = 0;
        let keep = |_, ()| {
            count += 1;
            Ok(())
        };
        assert_eq!(run_jobs(1000, 2, &stop, &failing, keep), Err("no"));
        assert!((19..1000).contains(&count), "{count}");
        let stopping = |number: usize| {
            if number == 20 {
                stop.store(true, Ordering::Relaxed);
            }
            Ok::<_, ()>(())
        };
        let mut count = 0;
        let keep = |_, ()| {
            count += 1;
            Ok(())
        };
        assert_eq!(run_jobs(1000, 2, &stop, &stopping, keep), Ok(()));
        assert!((20..1000).contains(&count), "{count}");
    }
}
