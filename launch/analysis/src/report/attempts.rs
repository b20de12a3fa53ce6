//! Section of a report on attempts at tasks: the score of each task against the attempt. Numbers only, without a claim
//! about learning. Source: ours.

use super::plot::{Chart, Ink, Series, SeriesShape};
use super::words::number;
use super::{escape, optional};
use crate::rehearsal::task::{Attempt, score_slope, scores_by_task};

/// Renders the section; empty without an attempt.
pub(super) fn sections(attempts: &[Attempt]) -> String {
    let rows = scores_by_task(attempts);
    let one = |(name, scores): &(String, Vec<f64>)| one(name, scores);
    let body = (!rows.is_empty()).then(|| rows.iter().map(one).collect());
    optional("attempts", "Attempts", body)
}

fn one(name: &str, scores: &[f64]) -> String {
    let points = (1..).map(f64::from).zip(scores.iter().copied()).collect();
    let series = Series::line("score", Ink::Master, points).shaped(SeriesShape::Marked);
    let chart = Chart {
        from_zero: true,
        ..Chart::new("attempt", "score", 260, vec![series])
    };
    let s = if scores.len() == 1 { "" } else { "s" };
    let mut text = format!(
        "<p><b>{}</b>: {} attempt{s}, the best {}, the last {}",
        escape(name),
        scores.len(),
        number(scores.iter().copied().fold(0.0, f64::max)),
        number(scores.last().copied().unwrap_or(0.0))
    );
    if let Some(gain) = score_slope(scores) {
        text += &format!(", {} more per attempt", number(gain));
    }
    text + ".</p>" + &chart.figure(&format!("Score of each attempt at {name}"))
}
