//! Tools that leap, plunge diagonally and stroke fast: no drive kills a tissue.

use super::{STRIDE, Subject, constructors, is_finite};
use palpate_twin::{Reaction, Snapshot, Tissue, Vec3};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Drive of a tool.
struct Drive {
    /// Corners of its path, from the place where it just touches \[mm\].
    corners_mm: &'static [[f64; 3]],
    /// Speed between them \[m/s\]; an infinite one leaps from corner to corner in a step.
    speed_mps: f64,
}

/// Plunge of issue 19: from (-20, -20, 8) to (20, 10, -8) mm for a tool of 8 mm.
const PLUNGE_MM: &[[f64; 3]] = &[[-20.0, -20.0, 0.0], [20.0, 10.0, -16.0]];

const DRIVES: [Drive; 8] = [
    Drive {
        corners_mm: PLUNGE_MM,
        speed_mps: 0.5,
    },
    Drive {
        corners_mm: PLUNGE_MM,
        speed_mps: 0.2,
    },
    Drive {
        corners_mm: PLUNGE_MM,
        speed_mps: f64::INFINITY,
    },
    Drive {
        corners_mm: &[[-15.0, 0.0, -5.0], [15.0, 5.0, -5.0]],
        speed_mps: 0.5,
    },
    Drive {
        corners_mm: &[[-15.0, 0.0, -5.0], [15.0, 5.0, -8.0], [-15.0, -5.0, -3.0]],
        speed_mps: 0.35,
    },
    Drive {
        corners_mm: &[[0.0, 0.0, 10.0], [0.0, 0.0, -16.0]],
        speed_mps: 0.5,
    },
    Drive {
        corners_mm: &[[0.0, 0.0, 10.0], [0.0, 0.0, -12.0]],
        speed_mps: f64::INFINITY,
    },
    Drive {
        corners_mm: &[[10.0, 0.0, -8.0], [-10.0, 0.0, -8.0]],
        speed_mps: f64::INFINITY,
    },
];

/// Ticks of each tissue under drives: on demand, in the suite, and in the suite if its ticks are long.
const TICKS: u64 = 20_000;
const TICKS_SHORT: u64 = 4_000;
const TICKS_LONG: u64 = 1_000;
/// Tissues with long ticks: many sub-steps, or many nodes.
const LONG: [&str; 6] = [
    "block",
    "block-nodule",
    "layers-nodule",
    "limb",
    "linked-nodule",
    "mound",
];
/// Side of the square within which the drives are moved \[mm\].
const SPREAD_MM: f64 = 8.0;

/// Height of the tool between drives \[mm\].
const ABOVE_MM: f64 = 12.0;
/// Time at the end of a path, and between drives \[s\].
const STAY_S: f64 = 0.02;
/// Depth \[mm\] and time \[s\] of the press that shows that a tissue still reacts, and time before it.
const PRESS: (f64, f64) = (3.0, 0.2);
const REST_S: f64 = 1.0;
/// The same of the implicit solver, which damps all motion within few of its long steps.
const IMPLICIT_REST_S: f64 = 0.1;

/// Greatest change of the force by what came before; a tissue that relaxes remembers as much as its share.
const FORCE_TOLERANCE: f64 = 0.03;
const RELAXING_SHARE: f64 = 0.3;

impl Drive {
    /// Returns the offsets of the tool, step by step \[mm\]: from above to the first corner, along the path, at its end,
    /// and above in one leap.
    fn offsets_mm(&self, dt_s: f64) -> Vec<Vec3> {
        let above_mm = Vec3::new(0.0, 0.0, ABOVE_MM);
        let corners_mm = self.corners_mm.iter().map(|&corner| Vec3::from(corner));
        let first_mm = Vec3::from(self.corners_mm[0]);
        let stay = (STAY_S / dt_s).ceil() as usize;
        let mut path_mm = vec![first_mm + above_mm];
        for (corner, to_mm) in corners_mm.enumerate() {
            let speed_mps = if corner == 0 { 0.5 } else { self.speed_mps };
            let from_mm = path_mm[path_mm.len() - 1];
            let steps = 1e-3 * (to_mm - from_mm).norm() / (speed_mps * dt_s);
            let steps = steps.ceil().max(1.0);
            let along = |step: u32| from_mm + (to_mm - from_mm) * (f64::from(step) / steps);
            path_mm.extend((1..=steps as u32).map(along));
        }
        let end_mm = path_mm[path_mm.len() - 1];
        path_mm.extend(std::iter::repeat_n(end_mm, stay));
        path_mm.extend(std::iter::repeat_n(end_mm + 2.0 * above_mm, stay));
        path_mm
    }
}

/// Collapses and largest force \[N\] of a drive.
#[derive(Debug, Default)]
struct Outcome {
    collapses: u32,
    peak_n: f64,
    last: Reaction,
}

/// Steps a tissue along the offsets of its tool \[mm\].
fn follow(subject: &mut Subject, offsets_mm: impl IntoIterator<Item = Vec3>) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut reaction, mut last_mm) = ([Reaction::default()], None);
    for offset_mm in offsets_mm {
        let way_m = 1e-3 * (offset_mm - last_mm.replace(offset_mm).unwrap_or(offset_mm));
        let mut tool = subject.tool;
        tool.position_m += 1e-3 * offset_mm;
        tool.velocity_mps = way_m / subject.dt_s;
        subject.tissue.step(&[tool], subject.dt_s, &mut reaction);
        assert!(is_finite(&reaction[0]), "{}: {reaction:?}", subject.name);
        outcome.peak_n = outcome.peak_n.max(reaction[0].force_n.norm());
        outcome.collapses += u32::from(reaction[0].collapsed);
    }
    outcome.last = reaction[0];
    outcome
}

/// Returns the force \[N\] at the end of a slow press in the middle.
fn pressed_n(subject: &mut Subject) -> f64 {
    let (depth_mm, time_s) = PRESS;
    let steps = (time_s / subject.dt_s).ceil() as u32;
    let depth = |step: u32| depth_mm * (2.0 * f64::from(step) / f64::from(steps)).min(1.0);
    let path_mm = (0..=steps).map(|step| Vec3::new(0.0, 0.0, -depth(step)));
    follow(subject, path_mm).last.force_n.z
}

/// Returns the place of a drive in its square \[mm\], by a low-discrepancy sequence.
fn moved_mm(number: usize) -> Vec3 {
    let share = |ratio: f64| (ratio * number as f64).fract() - 0.5;
    Vec3::new(share(0.754_877_67), share(0.569_840_29), 0.0) * SPREAD_MM
}

fn check_is_finite(tissue: &dyn Tissue, place: &str) {
    let view = tissue.view();
    let mut places = view.positions_m.iter().flatten();
    assert!(places.all(|x| x.is_finite()), "{place}");
    assert!(view.energy.sum_j().is_finite(), "{place}");
    // voxels without a limit have an infinite margin
    let numbers = Snapshot::of(tissue).numbers;
    assert!(!numbers.iter().any(|x| x.is_nan()), "{place}");
}

/// Drives a tissue. Drives follow each other without a new start, and only the last press shows whether the tissue
/// still reacts: one that did not never did again.
fn check_survives(mut subject: Subject, ticks: u64) {
    let name = subject.name;
    let fresh = Snapshot::of(subject.tissue.as_ref());
    let expected_n = pressed_n(&mut subject);
    subject.tissue.restore(&fresh).expect("its own");
    let mut driven = 0;
    for (number, drive) in DRIVES.iter().cycle().enumerate() {
        let offsets_mm = drive.offsets_mm(subject.dt_s);
        driven += offsets_mm.len() as u64 * subject.stride;
        let moved_mm = moved_mm(number);
        let offsets_mm = offsets_mm.iter().map(|offset_mm| offset_mm + moved_mm);
        let Outcome {
            collapses, peak_n, ..
        } = follow(&mut subject, offsets_mm);
        assert_eq!(collapses, 0, "{name} {number}");
        assert!(peak_n < 1e3, "{name} {number}: {peak_n} N");
        check_is_finite(subject.tissue.as_ref(), &format!("{name} {number}"));
        if driven >= ticks {
            break;
        }
    }
    let above_mm = Vec3::new(0.0, 0.0, ABOVE_MM);
    let is_implicit = subject.stride == STRIDE;
    let rest_s = if is_implicit { IMPLICIT_REST_S } else { REST_S };
    let rest = (rest_s / subject.dt_s).ceil() as usize;
    follow(&mut subject, std::iter::repeat_n(above_mm, rest));
    let force_n = pressed_n(&mut subject);
    println!("{name}: {driven} ticks, {force_n} N, {expected_n} N when fresh");
    let tolerance = match name {
        "viscous" => RELAXING_SHARE,
        _ => FORCE_TOLERANCE,
    };
    assert!(
        (force_n / expected_n - 1.0).abs() < tolerance,
        "{name}: {force_n} N, {expected_n} N when fresh"
    );
}

/// Drives all tissues, on all processors, for ticks by their names.
fn check_all(ticks: impl Fn(&str) -> u64 + Sync) {
    let (all, next) = (constructors(), AtomicUsize::new(0));
    let take = || all.get(next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(construct) = take() {
                    let subject = construct();
                    let count = ticks(subject.name);
                    check_survives(subject, count);
                }
            });
        }
    });
}

#[test]
fn issue_19_fast_and_leaping_tools_leave_the_tissue_alive() {
    check_all(|name| {
        if LONG.contains(&name) {
            TICKS_LONG
        } else {
            TICKS_SHORT
        }
    });
}

#[test]
#[ignore = "takes minutes: tissues with long ticks too for 20 000 of them"]
fn fast_and_leaping_tools_leave_every_tissue_alive_for_20_000_ticks() {
    check_all(|_| TICKS);
}
