//! Practice tasks, each scored by a pure function of recorded ticks and of the truth of the scene.
//!
//! Source: ours, for rehearsal (seed-004 rows S4-22, S4-26 and S4-31): find the lump, rank stiffness, trace with a
//! constant force, grasp without slipping. Ticks are those of the operator's side. Nothing here reads a clock or a
//! file; the caller stores attempts.

use palpate_scene::Lump;
use palpate_transport::trace::TickRecord;
use serde::{Deserialize, Serialize};

use crate::metrics::norm_xyz;
use crate::metrics::press::push_n;

/// Score of an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// 0 to 1, higher is better.
    pub score: f64,
    /// True if the task counts as done.
    pub done: bool,
    /// Duration of the attempt \[s\].
    pub time_s: f64,
    /// Largest force on the hand \[N\].
    pub peak_force_n: f64,
    /// Parts of the score, by name with its unit.
    pub parts: Vec<(String, f64)>,
}

/// Largest relative error of the force that counts in a trace.
const BAND: f64 = 0.25;

/// Number of parts of a line, all of which must be touched.
const STRETCHES: usize = 20;

/// Largest distance of the tool from a line that it traces \[m\].
const ASIDE_M: f64 = 0.004;

/// Least force of contact \[N\].
const TOUCH_N: f64 = 0.05;

impl Score {
    /// Score of recorded ticks, with its parts.
    fn of(ticks: &[TickRecord], score: f64, done: bool, parts: &[(&str, f64)]) -> Self {
        let ns = |tick: Option<&TickRecord>| tick.map_or(0, |tick| tick.now_ns);
        let force_n = |tick: &TickRecord| norm_xyz(&tick.port_force_n);
        let named = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
        Self {
            score,
            done,
            time_s: (ns(ticks.last()) - ns(ticks.first())) as f64 * 1e-9,
            peak_force_n: ticks.iter().map(force_n).fold(0.0, f64::max),
            parts: parts.iter().map(named).collect(),
        }
    }
}

/// Scores the search for a lump by an indicated place on the surface \[m\]: 1 over the middle of a lump, 0.5 at its
/// border, 0 from two radii on.
#[must_use]
pub fn score_lump_search(ticks: &[TickRecord], place_m: [f64; 2], lumps: &[Lump]) -> Score {
    let off = |lump: &Lump| {
        let [x, y] = [0, 1].map(|axis| place_m[axis] - lump.center_m[axis]);
        (x.hypot(y), lump.radius_m)
    };
    let offs = lumps.iter().map(off);
    let nearest = offs.min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let Some((off_m, radius_m)) = nearest else {
        return Score::of(ticks, 0.0, false, &[]);
    };
    let score = (1.0 - 0.5 * off_m / radius_m).clamp(0.0, 1.0);
    Score::of(ticks, score, off_m <= radius_m, &[("off_m", off_m)])
}

/// Scores an order of sites from softest to stiffest, by their numbers from 0: share of the pairs in the right order;
/// pairs of equal stiffness do not count. `true_npm` is the stiffness of each site \[N/m\].
#[must_use]
pub fn score_ranking(ticks: &[TickRecord], true_npm: &[f64], order: &[usize]) -> Score {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..true_npm.len()) {
        return Score::of(ticks, 0.0, false, &[]);
    }
    let (mut right, mut pairs) = (0.0, 0.0);
    for (index, &softer) in order.iter().enumerate() {
        for &harder in &order[index + 1..] {
            if true_npm[softer] != true_npm[harder] {
                pairs += 1.0;
                right += f64::from(u8::from(true_npm[softer] < true_npm[harder]));
            }
        }
    }
    let share = if pairs > 0.0 { right / pairs } else { 0.0 };
    let parts = [("pairs_right", right), ("pairs", pairs)];
    Score::of(ticks, share, pairs > 0.0 && right == pairs, &parts)
}

/// Scores the trace of a line from its start to its end on the surface \[m\], pressed with `force_n`: share of the
/// line that was touched, times the share of that time with a force in its band.
#[must_use]
pub fn score_trace(ticks: &[TickRecord], line_m: [[f64; 2]; 2], force_n: f64) -> Score {
    let [from_m, to_m] = line_m;
    let along = [0, 1].map(|axis| to_m[axis] - from_m[axis]);
    let length_m = along[0].hypot(along[1]);
    let (mut touched, mut inside) = ([false; STRETCHES], 0.0);
    let (mut count, mut squares) = (0.0, 0.0);
    for tick in ticks {
        let off = [0, 1].map(|axis| tick.position_m[axis] - from_m[axis]);
        let share = (off[0] * along[0] + off[1] * along[1]) / (length_m * length_m);
        let aside_m = (off[0] * along[1] - off[1] * along[0]).abs() / length_m;
        let pressed_n = push_n(tick);
        let on_line = (0.0..1.0).contains(&share) && aside_m <= ASIDE_M && pressed_n > TOUCH_N;
        if on_line {
            touched[(share * STRETCHES as f64) as usize] = true;
            count += 1.0;
            let off_n = pressed_n - force_n;
            squares += off_n * off_n;
            inside += f64::from(u8::from(off_n.abs() <= BAND * force_n));
        }
    }
    if count == 0.0 {
        return Score::of(ticks, 0.0, false, &[]);
    }
    let whole = touched.iter().filter(|&&one| one).count() as f64 / STRETCHES as f64;
    let steady = inside / count;
    let rms_n = f64::sqrt(squares / count);
    let parts = [
        ("force_rms_error_n", rms_n),
        ("in_band", steady),
        ("of_the_line", whole),
    ];
    Score::of(ticks, whole * steady, whole == 1.0 && steady >= 0.5, &parts)
}

/// Scores a grasp with the jaws for a time: share of that time that the longest hold lasted. Every drop below
/// `force_n` ends a hold and is a slip.
#[must_use]
pub fn score_grasp(ticks: &[TickRecord], force_n: f64, hold_s: f64) -> Score {
    let (mut longest_s, mut holds_count) = (0.0_f64, 0.0);
    let holds = |tick: &TickRecord| tick.port_force_n[3].abs() >= force_n;
    let stretches = ticks.chunk_by(|a, b| holds(a) == holds(b));
    for stretch in stretches.filter(|stretch| holds(&stretch[0])) {
        let held_ns = stretch[stretch.len() - 1].now_ns - stretch[0].now_ns;
        longest_s = longest_s.max(held_ns as f64 * 1e-9);
        holds_count += 1.0;
    }
    // a hold at the end did not slip
    let slips = holds_count - f64::from(u8::from(ticks.last().is_some_and(holds)));
    let share = (longest_s / hold_s).clamp(0.0, 1.0);
    let score = share / (1.0 + (slips - 1.0).max(0.0));
    let parts = [("held_s", longest_s), ("let_go", slips)];
    Score::of(ticks, score, longest_s >= hold_s, &parts)
}

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Name of the task, the same for every attempt at it.
    pub task: String,
    /// Scene on which it was done.
    pub scene: String,
    /// Operator: a person or a machine, and the device.
    pub operator: String,
    /// Score of the attempt.
    pub score: Score,
}

/// Returns the scores of every task on each scene, by the names of both, in the order of their attempts.
#[must_use]
pub fn scores_by_task(attempts: &[Attempt]) -> Vec<(String, Vec<f64>)> {
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for one in attempts {
        let name = format!("{} on {}", one.task, one.scene);
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, scores)) => scores.push(one.score.score),
            None => rows.push((name, vec![one.score.score])),
        }
    }
    rows
}

/// Slope of the score over attempts, by least squares; None for fewer than two.
pub(crate) fn score_slope(scores: &[f64]) -> Option<f64> {
    let count = scores.len() as f64;
    let (mean_x, mean_y) = (0.5 * (count - 1.0), scores.iter().sum::<f64>() / count);
    let off = |index: usize| index as f64 - mean_x;
    let terms = scores.iter().enumerate();
    let rise: f64 = terms
        .map(|(index, score)| off(index) * (score - mean_y))
        .sum();
    let run: f64 = (0..scores.len()).map(|index| off(index) * off(index)).sum();
    (run > 0.0).then(|| rise / run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(count: i64, force_n: impl Fn(f64) -> f64) -> Vec<TickRecord> {
        let tick = |index: i64| {
            let share = index as f64 / count as f64;
            TickRecord {
                now_ns: index * 1_000_000,
                position_m: [0.02 * share, 0.0, 0.0, 0.01],
                port_force_n: [0.0, 0.0, -force_n(share), 2.0 * force_n(share)],
                ..TickRecord::default()
            }
        };
        (0..count).map(tick).collect()
    }

    #[test]
    fn a_lump_is_found_over_it_and_not_beside_it() {
        let lump = Lump {
            center_m: [0.01, 0.0],
            radius_m: 0.004,
            factor: 3.0,
        };
        let at = |x_m| score_lump_search(&[], [x_m, 0.0], &[lump]);
        assert_eq!(at(0.01).score, 1.0);
        assert!(at(0.0139).done && !at(0.0141).done);
        assert_eq!(at(-0.01).score, 0.0);
        assert_eq!(score_lump_search(&[], [0.0; 2], &[]), Score::default());
    }

    #[test]
    fn s4_31_a_ranking_is_scored_by_its_pairs_and_an_invalid_order_scores_zero() {
        let score = |order: &[usize]| score_ranking(&[], &[300.0, 100.0, 200.0], order);
        assert!(score(&[1, 2, 0]).done);
        assert!((score(&[2, 1, 0]).score - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(score(&[0, 2, 1]).score, 0.0);
        for order in [&[1, 1, 0][..], &[0, 1], &[0, 1, 5]] {
            assert_eq!(score(order), Score::default());
        }
    }

    #[test]
    fn a_trace_needs_the_whole_line_and_a_steady_force() {
        let line_m = [[0.0, 0.0], [0.02, 0.0]];
        let score = |ticks: &[TickRecord]| score_trace(ticks, line_m, 1.0);
        let even = score(&ticks(2000, |_| 1.1));
        assert!(even.done && even.score == 1.0 && (even.parts[0].1 - 0.1).abs() < 1e-9);
        let half = score(&ticks(2000, |x| if x < 0.5 { 1.0 } else { 0.0 }));
        assert!(!half.done && (half.score - 0.5).abs() < 1e-9, "{half:?}");
        let rough = score(&ticks(2000, |x| 1.0 + (300.0 * x).sin()));
        assert!(!rough.done && rough.score < 0.5, "{rough:?}");
        assert_eq!(score(&[]), Score::default());
    }

    #[test]
    fn s4_26_a_grasp_scores_the_longest_hold_and_a_slip_lowers_it() {
        let score = |ticks: &[TickRecord]| score_grasp(ticks, 1.0, 1.0);
        let firm = score(&ticks(1500, |_| 0.6));
        assert!(firm.done && firm.score == 1.0, "{firm:?}");
        let gap = |x: f64| {
            if (0.3..0.4).contains(&x) || (0.6..0.7).contains(&x) {
                0.1
            } else {
                0.6
            }
        };
        let slipping = score(&ticks(1500, gap));
        assert!(!slipping.done && slipping.score < 0.3, "{slipping:?}");
    }

    #[test]
    fn attempts_are_grouped_by_task_and_progress_is_a_slope() {
        let attempt = |score| Attempt {
            task: "trace".into(),
            scene: "layered".into(),
            operator: "simulated operator".into(),
            score: Score {
                score,
                ..Score::default()
            },
        };
        let attempts = [0.2, 0.4, 0.6].map(attempt);
        let rows = scores_by_task(&attempts);
        assert_eq!(rows, [("trace on layered".into(), vec![0.2, 0.4, 0.6])]);
        assert!((score_slope(&rows[0].1).expect("three") - 0.2).abs() < 1e-12);
        assert_eq!(score_slope(&[]), None);
    }
}
