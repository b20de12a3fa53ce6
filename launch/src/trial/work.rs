//! Rows on all cores: each is independent of the others, so that results do not depend on how many.
//!
//! Source: ours.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::plan::Cell;
use super::row::Row;

/// Fills every cell on `jobs` threads and gives each row to `keep` as it is finished, on this thread.
/// `fill` gives nothing for a row that it left when `stop` was set; none is begun after that.
///
/// # Errors
/// The first of `fill` or `keep`; what was finished before has been kept.
pub fn fill_all<E: Send>(
    cells: &[Cell],
    jobs: usize,
    stop: &AtomicBool,
    fill: &(dyn Fn(&Cell) -> Result<Option<Row>, E> + Sync),
    mut keep: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, finished) = mpsc::channel();
        for _ in 0..jobs.clamp(1, cells.len().max(1)) {
            let (sender, next, failed) = (sender.clone(), &next, &failed);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                    let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    // nobody listens any more once the other end has failed
                    if sender.send(fill(cell)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for row in finished {
            let kept = row.and_then(|row| row.map_or(Ok(()), &mut keep));
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
    use crate::trial::Trial;

    fn row(cell: &Cell) -> Row {
        Row {
            index: cell.index,
            held: Some(true),
            trace_hash: None,
            values: vec![Some(cell.seed as f64)],
            asked: Vec::new(),
        }
    }

    #[test]
    fn every_cell_is_filled_once_whatever_the_number_of_threads() {
        let trial = Trial::parse("seeds = 57\n", "t.toml").expect("good");
        let cells = trial.cells(crate::trial::Shard::default());
        for jobs in [0, 1, 3, 100] {
            let mut seen = Vec::new();
            let stop = AtomicBool::new(false);
            let fill = |cell: &Cell| Ok::<_, ()>(Some(row(cell)));
            let kept = fill_all(&cells, jobs, &stop, &fill, |row| {
                seen.push(row.index);
                Ok(())
            });
            assert_eq!(kept, Ok(()));
            seen.sort_unstable();
            assert_eq!(seen, (0..57).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_failure_ends_the_work_and_a_stop_keeps_what_is_done() {
        let trial = Trial::parse("seeds = 1000\n", "t.toml").expect("good");
        let cells = trial.cells(crate::trial::Shard::default());
        let stop = AtomicBool::new(false);
        let fill = |cell: &Cell| match cell.index {
            20 => Err("no"),
            _ => Ok(Some(row(cell))),
        };
        let mut count = 0;
        let keep = |_| {
            count += 1;
            Ok(())
        };
        assert_eq!(fill_all(&cells, 2, &stop, &fill, keep), Err("no"));
        assert!((19..1000).contains(&count), "{count}");
        let stopped = |cell: &Cell| {
            if cell.index == 20 {
                stop.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Ok::<_, ()>(Some(row(cell)))
        };
        let mut count = 0;
        let keep = |_| {
            count += 1;
            Ok(())
        };
        assert_eq!(fill_all(&cells, 2, &stop, &stopped, keep), Ok(()));
        assert!((19..1000).contains(&count), "{count}");
    }
}
