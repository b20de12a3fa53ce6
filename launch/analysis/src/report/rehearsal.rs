//! Sections of a report on a rehearsed script: steps, force over time, amounts removed, drawings of the tissue.
//!
//! Source: ours.

use palpate_transport::trace::TickRecord;

use super::charts::trace;
use super::plot::{Chart, Ink, Series};
use super::words::{number, with_unit};
use super::{escape, named, section, table};
use crate::conclusion::Evidence;
use crate::metrics::press::push_n;
use crate::rehearsal::TissueDrawings;
use crate::rehearsal::specimen::LabelAmount;
use crate::rehearsal::{RehearsalResult, ScriptOutcome, StepOutcome};

/// All sections; empty without a script of steps.
pub(super) fn sections(evidence: &Evidence<'_>) -> String {
    let Some(result) = &evidence.facts.rehearsal else {
        return String::new();
    };
    let steps = force(evidence, result) + &steps(&result.outcome);
    section("steps", "Steps", &steps) + &section("tissue", "The tissue at the end", &tissue(result))
}

/// First paragraph: script, scene and amount removed.
pub(super) fn opening(outcome: &ScriptOutcome, duration_s: Option<f64>) -> String {
    let length_s = duration_s.map(|s| (s * 10.0).round() / 10.0);
    let mut text = format!(
        "The script <b>{}</b> of {} steps on the scene <b>{}</b>, in {}. ",
        escape(&outcome.script),
        outcome.steps.len(),
        escape(&outcome.scene),
        with_unit(length_s, "s")
    );
    if let Some(m3) = outcome.removed_m3 {
        text += &format!("{} mm\u{b3} of tissue were removed", number(m3 * 1e9));
        if let Some(pieces) = outcome.pieces_count {
            let s = if pieces == 1 { "" } else { "s" };
            text += &format!(", and the rest has {pieces} piece{s}");
        }
        text += ". ";
    }
    text
}

fn force(evidence: &Evidence<'_>, result: &RehearsalResult) -> String {
    let trace = |value: fn(&TickRecord) -> f64| trace(evidence, evidence.traces.master, value);
    let sideways = |record: &TickRecord| record.port_force_n[0].hypot(record.port_force_n[1]);
    let steps = (1..).zip(&result.outcome.steps);
    let shades = steps.filter(|(number, _)| number % 2 == 1);
    let shades = shades.map(|(number, step)| (step.start_s, step.end_s, number.to_string()));
    let shades: Vec<_> = shades.collect();
    let forces = vec![
        Series::line("sideways", Ink::Third, trace(sideways)),
        Series::line("upward", Ink::Master, trace(push_n)),
    ];
    let force = Chart {
        shades: shades.clone(),
        ..Chart::new("time [s]", "force on the hand [N]", 560, forces)
    };
    let heights = vec![
        Series::line("intended", Ink::Truth, trace(|r| r.intended_m[2] * 1e3)),
        Series::line("handle", Ink::Master, trace(|r| r.position_m[2] * 1e3)),
    ];
    let height = Chart {
        shades,
        ..Chart::new("time [s]", "height of the tool [mm]", 420, heights)
    };
    force.figure("Every other step is shaded, with its number.")
        + &height.figure(
            "Zero is the surface of the tissue at rest. The handle differs from the intended height by the \
             force over the stiffness of the hand.",
        )
}

fn steps(outcome: &ScriptOutcome) -> String {
    let count = |n: i64| match n {
        0 => String::new(),
        n => number(n as f64),
    };
    let row = |(index, step): (usize, &StepOutcome)| {
        vec![
            index.to_string(),
            escape(&step.name),
            escape(&step.kind),
            format!("{:.1} to {:.1}", step.start_s, step.end_s),
            number((step.peak_force_n * 1e3).round() * 1e-3),
            count(step.links_cut as i64),
            count(step.links_joined as i64),
            count(step.elements_removed),
            step.pieces.map_or("\u{2014}".to_owned(), |n| n.to_string()),
        ]
    };
    let head = [
        "#",
        "step",
        "kind",
        "#time [s]",
        "#peak force [N]",
        "#links cut",
        "#links joined",
        "#nodes removed",
        "#pieces",
    ];
    table(&head, (1..).zip(&outcome.steps).map(row))
}

fn tissue(result: &RehearsalResult) -> String {
    let outcome = &result.outcome;
    if outcome.amounts.is_empty() {
        return "<p class=\"none\">This tissue cannot be edited: nothing was cut.</p>\n".to_owned();
    }
    let row = |amount: &LabelAmount| {
        vec![
            escape(&amount.label),
            amount.elements_before.to_string(),
            amount.elements.to_string(),
            with_unit(Some(amount.removed_m3 * 1e9), "mm\u{b3}"),
        ]
    };
    let head = ["label", "#nodes before", "#after", "#removed"];
    let pieces: Vec<String> = outcome.pieces.iter().map(u64::to_string).collect();
    format!(
        "{}{}<p class=\"caption\">Nodes of the largest pieces: {}.</p>\n",
        pictures(&result.drawings),
        table(&head, outcome.amounts.iter().map(row)),
        pieces.join(", ")
    )
}

fn pictures(pictures: &TissueDrawings) -> String {
    let mut html = String::from("<div class=\"stills\">");
    for (name, drawing) in &pictures.sections {
        html += &named(name, drawing);
    }
    html += "</div>\n<p class=\"caption\">Sections of the tissue at rest, through the middle of the edits: \
        hollow squares are removed nodes, and a dark line is a cut between present nodes.</p>\n";
    if pictures.surface.is_empty() {
        html += "<p class=\"none\">The surface has too many triangles to be drawn here.</p>\n";
    } else {
        html += &format!(
            "<figure class=\"still\">{}<figcaption>The surface at rest, seen from above and in front; faces opened by \
             tools show the inside.</figcaption></figure>\n",
            pictures.surface
        );
    }
    html
}
