//! The section of a report on attempts at tasks: each task's score against the attempt. Numbers only, and no claim of
//! what a person has learnt. Source: ours.

use std::fmt::Write as _;

use super::plot::{Chart, Ink, Series, Shape};
use super::words::number;
use super::{ReportInput, escape, section};
use crate::rehearsed::task::Attempts;

/// The section; nothing without an attempt.
pub(super) fn sections(input: &ReportInput<'_>) -> String {
    let attempts = &input.facts.attempts;
    let body: String = attempts
        .rows()
        .iter()
        .map(|(task, scene)| one(attempts, task, scene))
        .collect();
    if body.is_empty() {
        return body;
    }
    section("attempts", "Attempts", &body)
}

fn one(attempts: &Attempts, task: &str, scene: &str) -> String {
    let progress = attempts.progress(task, scene);
    let scores = attempts.scores(task, scene);
    let name = format!("{task} on {scene}");
    let points = (1..).map(f64::from).zip(scores).collect();
    let chart = Chart {
        x: "attempt".to_owned(),
        y: "score".to_owned(),
        height: 260,
        from_zero: true,
        series: vec![Series::line("score", Ink::Master, points).shaped(Shape::Marked)],
        ..Chart::default()
    };
    let mut text = format!(
        "<p><b>{}</b>: {} {}, the best {}, the last {}",
        escape(&name),
        progress.attempts,
        if progress.attempts == 1 {
            "attempt"
        } else {
            "attempts"
        },
        number(progress.best),
        number(progress.last)
    );
    if let Some(gain) = progress.gain {
        let _ = write!(text, ", {} more from one attempt to the next", number(gain));
    }
    text + ".</p>" + &chart.figure(&format!("Score of each attempt at {name}"))
}
