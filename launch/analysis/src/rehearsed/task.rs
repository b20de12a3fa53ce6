//! Tasks to practise, each scored by a pure function of recorded ticks and of what is true of the scene.
//!
//! Source: ours, for rehearsal (seed-004 rows S4-22, S4-26 and S4-31): find the lump, rank stiffness, trace with a
//! constant force, grasp without slipping. Ticks are those of the operator's side. Nothing here reads a clock or a
//! file; [`Attempts`] is a record that a shell keeps.

use palpate_scene::Lump;
use palpate_transport::trace::TickRecord;
use serde::{Deserialize, Serialize};

use crate::metrics::press::push_n;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Task {
    /// Say where the lump is.
    FindLump {
        /// The answer, on the surface \[m\].
        place_m: [f64; 2],
    },
    /// Say which site is softest, which next, and so on.
    RankStiffness {
        /// Stiffness of each site \[N/m\].
        true_npm: Vec<f64>,
        /// The answer: numbers of the sites from 0, the softest first.
        order: Vec<usize>,
    },
    /// Go along a line and press as hard all the way.
    Trace {
        /// Where it begins, on the surface \[m\].
        from_m: [f64; 2],
        /// Where it ends \[m\].
        to_m: [f64; 2],
        /// Force to be kept \[N\].
        force_n: f64,
    },
    /// Hold with the jaws, without letting the force fall below what holds.
    Grasp {
        /// Least force between the jaws \[N\].
        force_n: f64,
        /// How long \[s\].
        hold_s: f64,
    },
}

/// How well it was done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// 0 to 1, higher is better.
    pub score: f64,
    /// Whether the task counts as done.
    pub done: bool,
    /// How long it took \[s\].
    pub time_s: f64,
    /// Largest force on the hand \[N\].
    pub peak_force_n: f64,
    /// What the score is made of, by name with its unit.
    pub parts: Vec<(String, f64)>,
}

/// Share of the wanted force by which a trace may be off and still counts.
const BAND: f64 = 0.25;

/// Parts of a line that must all have been touched.
const STRETCHES: usize = 20;

/// How far from a line a tool may be and still traces it \[m\].
const ASIDE_M: f64 = 0.004;

/// Force from which the tool touches \[N\].
const TOUCH_N: f64 = 0.05;

impl Task {
    /// Scores recorded ticks; `lumps` is what is hidden in the scene.
    #[must_use]
    pub fn score(&self, ticks: &[TickRecord], lumps: &[Lump]) -> Score {
        let (score, done, parts) = match self {
            Self::FindLump { place_m } => found(*place_m, lumps),
            Self::RankStiffness { true_npm, order } => ranked(true_npm, order),
            Self::Trace {
                from_m,
                to_m,
                force_n,
            } => traced(ticks, *from_m, *to_m, *force_n),
            Self::Grasp { force_n, hold_s } => grasped(ticks, *force_n, *hold_s),
        };
        let ns = |tick: Option<&TickRecord>| tick.map_or(0, |tick| tick.now_ns);
        let force_n = |tick: &TickRecord| {
            let [x, y, z, _] = tick.port_force_n;
            (x * x + y * y + z * z).sqrt()
        };
        Score {
            score,
            done,
            time_s: (ns(ticks.last()) - ns(ticks.first())) as f64 * 1e-9,
            peak_force_n: ticks.iter().map(force_n).fold(0.0, f64::max),
            parts: parts
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }
}

type Parts = Vec<(&'static str, f64)>;

/// 1 over the middle of a lump, 0.5 at its border, 0 from two radii on.
fn found(place_m: [f64; 2], lumps: &[Lump]) -> (f64, bool, Parts) {
    let off = |lump: &Lump| {
        let [x, y] = [0, 1].map(|axis| place_m[axis] - lump.center_m[axis]);
        (x.hypot(y), lump.radius_m)
    };
    let nearest = lumps
        .iter()
        .map(off)
        .min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let Some((off_m, radius_m)) = nearest else {
        return (0.0, false, Vec::new());
    };
    let score = (1.0 - 0.5 * off_m / radius_m).clamp(0.0, 1.0);
    (score, off_m <= radius_m, vec![("off_m", off_m)])
}

/// Share of the pairs that are in their order; sites that are as stiff have none.
fn ranked(true_npm: &[f64], order: &[usize]) -> (f64, bool, Parts) {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted != (0..true_npm.len()).collect::<Vec<_>>() {
        return (0.0, false, Vec::new());
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
    (
        share,
        pairs > 0.0 && right == pairs,
        vec![("pairs_right", right), ("pairs", pairs)],
    )
}

/// Share of the line that was touched, times the share of that time with a force in its band.
fn traced(
    ticks: &[TickRecord],
    from_m: [f64; 2],
    to_m: [f64; 2],
    force_n: f64,
) -> (f64, bool, Parts) {
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
        return (0.0, false, Vec::new());
    }
    let whole = touched.iter().filter(|&&one| one).count() as f64 / STRETCHES as f64;
    let steady = inside / count;
    let rms_n = f64::sqrt(squares / count);
    (
        whole * steady,
        whole == 1.0 && steady >= 0.5,
        vec![
            ("force_rms_error_n", rms_n),
            ("in_band", steady),
            ("of_the_line", whole),
        ],
    )
}

/// Share of the wanted time that the longest hold lasted; every fall below the force ends one and is a slip.
fn grasped(ticks: &[TickRecord], force_n: f64, hold_s: f64) -> (f64, bool, Parts) {
    let (mut longest_s, mut slips) = (0.0_f64, 0.0_f64);
    let mut since: Option<i64> = None;
    for tick in ticks {
        let holds = tick.port_force_n[3].abs() >= force_n;
        match (holds, since) {
            (true, None) => since = Some(tick.now_ns),
            (true, Some(began)) => {
                longest_s = longest_s.max((tick.now_ns - began) as f64 * 1e-9);
            }
            (false, Some(_)) => {
                slips += 1.0;
                since = None;
            }
            (false, None) => {}
        }
    }
    let share = (longest_s / hold_s).clamp(0.0, 1.0);
    (
        share / (1.0 + (slips - 1.0).max(0.0)),
        longest_s >= hold_s,
        vec![("held_s", longest_s), ("let_go", slips)],
    )
}

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Name of the task, the same for every attempt at it.
    pub task: String,
    /// Scene on which it was done.
    pub scene: String,
    /// Who held the handle: a person or a machine, and by what.
    pub operator: String,
    /// How well.
    pub score: Score,
}

/// All attempts, in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    /// The attempts.
    #[serde(default)]
    pub attempt: Vec<Attempt>,
}

/// How attempts at one task went on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progressed {
    /// How many there were.
    pub attempts: usize,
    /// The best score.
    pub best: f64,
    /// The last score.
    pub last: f64,
    /// Slope of the score over attempts, by least squares; none of less than two.
    pub gain: Option<f64>,
}

impl Attempts {
    /// Every task with a scene on which it was tried, in the order of their first attempts.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> = Vec::new();
        for one in &self.attempt {
            let row = (one.task.clone(), one.scene.clone());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Scores of one task on one scene, in the order of its attempts.
    #[must_use]
    pub fn scores(&self, task: &str, scene: &str) -> Vec<f64> {
        let of_row = self.attempt.iter();
        let of_row = of_row.filter(|one| one.task == task && one.scene == scene);
        of_row.map(|one| one.score.score).collect()
    }

    /// How attempts at one task on one scene went on.
    #[must_use]
    pub fn progress(&self, task: &str, scene: &str) -> Progressed {
        let scores = self.scores(task, scene);
        let count = scores.len() as f64;
        let (mean_x, mean_y) = (0.5 * (count - 1.0), scores.iter().sum::<f64>() / count);
        let off = |index: usize| index as f64 - mean_x;
        let rise: f64 = (0..)
            .zip(&scores)
            .map(|(index, score)| off(index) * (score - mean_y))
            .sum();
        let run: f64 = (0..scores.len()).map(|index| off(index) * off(index)).sum();
        Progressed {
            attempts: scores.len(),
            best: scores.iter().copied().fold(0.0, f64::max),
            last: scores.last().copied().unwrap_or(0.0),
            gain: (run > 0.0).then(|| rise / run),
        }
    }
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
        let at = |x_m| {
            Task::FindLump {
                place_m: [x_m, 0.0],
            }
            .score(&[], &[lump])
        };
        assert_eq!(at(0.01).score, 1.0);
        assert!(at(0.0139).done && !at(0.0141).done);
        assert_eq!(at(-0.01).score, 0.0);
        assert_eq!(
            Task::FindLump { place_m: [0.0; 2] }.score(&[], &[]),
            Score::default()
        );
    }

    #[test]
    fn s4_31_a_rank_is_scored_by_its_pairs_and_no_order_scores_nothing() {
        let score = |order: &[usize]| {
            let true_npm = vec![300.0, 100.0, 200.0];
            Task::RankStiffness {
                true_npm,
                order: order.to_vec(),
            }
            .score(&[], &[])
        };
        assert!(score(&[1, 2, 0]).done);
        assert!((score(&[2, 1, 0]).score - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(score(&[0, 2, 1]).score, 0.0);
        for order in [&[1, 1, 0][..], &[0, 1], &[0, 1, 5]] {
            assert_eq!(score(order), Score::default());
        }
    }

    #[test]
    fn a_trace_needs_the_whole_line_and_a_steady_force() {
        let task = Task::Trace {
            from_m: [0.0, 0.0],
            to_m: [0.02, 0.0],
            force_n: 1.0,
        };
        let even = task.score(&ticks(2000, |_| 1.1), &[]);
        assert!(even.done && even.score == 1.0 && (even.parts[0].1 - 0.1).abs() < 1e-9);
        let half = task.score(&ticks(2000, |x| if x < 0.5 { 1.0 } else { 0.0 }), &[]);
        assert!(!half.done && (half.score - 0.5).abs() < 1e-9, "{half:?}");
        let rough = task.score(&ticks(2000, |x| 1.0 + (300.0 * x).sin()), &[]);
        assert!(!rough.done && rough.score < 0.5, "{rough:?}");
        assert_eq!(task.score(&[], &[]), Score::default());
    }

    #[test]
    fn s4_26_a_grasp_is_as_long_as_the_force_lasts_and_a_slip_costs() {
        let task = Task::Grasp {
            force_n: 1.0,
            hold_s: 1.0,
        };
        let firm = task.score(&ticks(1500, |_| 0.6), &[]);
        assert!(firm.done && firm.score == 1.0, "{firm:?}");
        let gap = |x: f64| {
            if (0.3..0.4).contains(&x) || (0.6..0.7).contains(&x) {
                0.1
            } else {
                0.6
            }
        };
        let slipping = task.score(&ticks(1500, gap), &[]);
        assert!(!slipping.done && slipping.score < 0.3, "{slipping:?}");
    }

    #[test]
    fn attempts_are_kept_and_their_progress_is_a_slope() {
        let attempt = |score| Attempt {
            task: "trace".into(),
            scene: "layered".into(),
            operator: "simulated operator".into(),
            score: Score {
                score,
                ..Score::default()
            },
        };
        let attempts = Attempts {
            attempt: [0.2, 0.4, 0.6].map(attempt).to_vec(),
        };
        let text = toml::to_string(&attempts).expect("plain fields");
        assert_eq!(
            toml::from_str::<Attempts>(&text).ok(),
            Some(attempts.clone())
        );
        let progress = attempts.progress("trace", "layered");
        assert_eq!(
            (progress.attempts, progress.best, progress.last),
            (3, 0.6, 0.6)
        );
        assert!((progress.gain.expect("three") - 0.2).abs() < 1e-12);
        assert_eq!(attempts.progress("grasp", "layered").gain, None);
    }
}
