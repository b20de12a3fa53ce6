//! Search: cases with new features are kept and mutated, cases with violations are shrunk.

use std::sync::atomic::{AtomicUsize, Ordering};

use palpate_master::predict::local_law::LocalModel;
use palpate_transport::HapticFrame;
use palpate_transport::coupling::{ImpedanceMatching, Mode};
use palpate_transport::link::LinkParams;

use super::attack::{Features, Outcome, Violation, attack};
use super::case::{Case, Dice};

/// Number of cases of one generation: drawn in order, run in parallel, evaluated in order, so that the search
/// is the same on every machine.
const GENERATION: usize = 16;

/// Parameters of a search.
pub(crate) struct Search<'a> {
    pub(crate) seed: u64,
    pub(crate) generations: usize,
    pub(crate) duration_s: f64,
    pub(crate) modes: &'a [Mode],
    pub(crate) fault: Option<fn(&mut HapticFrame)>,
    /// True if new cases are mutated from those with new features; otherwise all are drawn.
    pub(crate) guided: bool,
}

/// Result of a search.
pub(crate) struct SearchResult {
    pub(crate) runs: usize,
    pub(crate) kept: usize,
    pub(crate) features: u32,
    pub(crate) violation: Option<(Case, Violation)>,
}

/// Case with new features.
struct FeatureCase {
    case: Case,
    /// Number of new features.
    new: u32,
    /// Number of mutations.
    used: u32,
}

/// Returns the best of four cases to mutate: many new features, few mutations.
fn best_parent<'a>(kept: &'a mut [FeatureCase], dice: &mut Dice) -> &'a Case {
    let few = [0; 4].map(|_| dice.below(kept.len()));
    let worth = |index: &usize| f64::from(kept[*index].new) / f64::from(1 + kept[*index].used);
    let best = few.into_iter().max_by(|a, b| worth(a).total_cmp(&worth(b)));
    let chosen = &mut kept[best.unwrap_or(0)];
    chosen.used += 1;
    &chosen.case
}

/// Returns the cases of the next generation.
fn next(search: &Search<'_>, kept: &mut [FeatureCase], dice: &mut Dice) -> Vec<Case> {
    let one = |_| {
        if kept.is_empty() || !search.guided || dice.chance(0.3) {
            let seed = (dice.unit() * 1e15) as u64;
            return Case::random(seed, search.duration_s, search.modes);
        }
        let other = kept[dice.below(kept.len())].case.clone();
        let case = best_parent(kept, dice).clone();
        case.mutated(&other, dice, search.modes)
    };
    (0..GENERATION).map(one).collect()
}

/// Searches until a violation is found or the generations end.
pub(crate) fn search(search: &Search<'_>) -> SearchResult {
    let dice = &mut Dice::of(search.seed);
    let (mut kept, mut known): (Vec<FeatureCase>, _) = (Vec::new(), Features::default());
    let (mut runs, mut violation) = (0, None);
    for _ in 0..search.generations {
        let cases = next(search, &mut kept, dice);
        let outcomes = run_parallel(&cases, search.fault);
        for (case, outcome) in cases.into_iter().zip(outcomes) {
            runs += 1;
            let new = known.join(&outcome.features);
            if let Some(what) = outcome.violation {
                violation.get_or_insert((case, what));
            } else if new > 0 {
                kept.push(FeatureCase { case, new, used: 0 });
            }
        }
        if violation.is_some() {
            break;
        }
    }
    SearchResult {
        runs,
        kept: kept.len(),
        features: known.count(),
        violation,
    }
}

/// Runs cases on two threads; returns their outcomes in order.
fn run_parallel(cases: &[Case], fault: Option<fn(&mut HapticFrame)>) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else {
                return done;
            };
            done.push((index, attack(case, fault)));
        }
    };
    let mut all: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a session panicked"))
            .collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Returns a simpler case with the same violation: shorter, and without unnecessary parts.
pub(crate) fn shrink(
    case: &Case,
    violation: Violation,
    fault: Option<fn(&mut HapticFrame)>,
) -> Case {
    let same = std::mem::discriminant(&violation);
    let fails = |case: &Case| {
        let found = attack(case, fault).violation;
        found.is_some_and(|violation| std::mem::discriminant(&violation) == same)
    };
    let mut least = case.clone();
    // each pass may enable an earlier simplification
    for _ in 0..3 {
        let before = least.clone();
        for part in [0.25, 0.5, 0.75] {
            let shorter = Case {
                duration_s: least.duration_s * part,
                ..least.clone()
            };
            if shorter.duration_s >= 0.2 && fails(&shorter) {
                least = shorter;
            }
        }
        let mut index = 0;
        while index < least.events.len() {
            let mut without = least.clone();
            without.events.remove(index);
            if fails(&without) {
                least = without;
            } else {
                index += 1;
            }
        }
        for simplify in SIMPLER {
            let mut simpler = least.clone();
            simplify(&mut simpler);
            if simpler != least && fails(&simpler) {
                least = simpler;
            }
        }
        if least == before {
            break;
        }
    }
    least
}

/// Simplifications of a case.
const SIMPLER: [fn(&mut Case); 31] = [
    |case| (case.forward, case.back) = (LinkParams::default(), LinkParams::default()),
    |case| case.codec = None,
    |case| case.opening = None,
    |case| case.tissue = "wall:1000".into(),
    |case| case.sine = Some([0.02, 1.0]),
    |case| (case.offset_ms, case.skew_ppm) = (0.0, 0.0),
    |case| case.grip = palpate_master::device::grip::Grip::Firm,
    |case| case.handle = palpate_master::device::params::HandleKind::Mass,
    |case| case.matching = ImpedanceMatching::None,
    |case| case.impedance_nspm = 10.0,
    |case| case.impedance_ratio = [1.0; 4],
    |case| case.drift_per_s = 3.0,
    |case| (case.wave_filter_hz, case.delay_gain) = (0.0, false),
    |case| case.reflect_per_s = 0.0,
    |case| case.control_filter_hz = 0.0,
    |case| case.recovery_per_s = 0.0,
    |case| case.local = LocalModel::Twin,
    |case| case.release_s = 2e-3,
    |case| case.fallback_share = 0.0,
    |case| (case.forward.outage, case.back.outage) = (None, None),
    |case| (case.forward.rate_kbps, case.back.rate_kbps) = (None, None),
    |case| (case.forward.loss, case.forward.burst) = (0.0, 1.0),
    |case| (case.back.loss, case.back.burst) = (0.0, 1.0),
    |case| (case.forward.duplicate, case.back.duplicate) = (0.0, 0.0),
    |case| (case.forward.reorder, case.back.reorder) = (0.0, 0.0),
    |case| (case.forward.jitter_reorders, case.back.jitter_reorders) = (false, false),
    |case| (case.forward.jitter_ms, case.back.jitter_ms) = (0.0, 0.0),
    |case| case.forward.oneway_ms = 0.0,
    |case| case.back.oneway_ms = 0.0,
    |case| case.forward.oneway_ms = case.forward.oneway_ms.round(),
    |case| case.back.oneway_ms = case.back.oneway_ms.round(),
];
