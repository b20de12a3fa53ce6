//! Verdict on the scenes that a person rehearsed, each judged as a session.
//!
//! Source: ours.

use std::path::Path;

use palpate_analysis::conclusion::{self, Conclusion, Evidence};
use palpate_analysis::metrics::SessionFacts;
use palpate_analysis::rehearsal::specimen::Specimen;
use palpate_analysis::render::Render;
use palpate_analysis::render::instrument::TissuePalette;
use palpate_analysis::summary::{ServoSummary, TopologySummary};
use palpate_analysis::{Failure, truth};
use palpate_session::input::InputReport;
use palpate_session::lab;
use palpate_session::record;
use palpate_session::record::RECORDING;
use palpate_transport::trace::Side;

use super::live::{LiveRehearsalResult, RehearsedScene};
use super::run::{SURFACE, write_surface};

/// Judges one scene from its recording; None for one that ended before its first tick.
///
/// # Errors
/// [`Failure::Refused`] if the recording cannot be read or a file not written.
pub fn judge(
    part: &RehearsedScene,
    index: usize,
    rehearsals: &LiveRehearsalResult,
    input: Option<&InputReport>,
    bare_us_p99: Option<f64>,
) -> Result<Option<Conclusion>, Failure> {
    let path = part.folder.join(RECORDING);
    let recording = match record::read(&path) {
        Ok(recording) => recording,
        Err(record::RecordError::NoTicks { .. }) => return Ok(None),
        Err(error) => return Err(Failure::Refused(error.to_string())),
    };
    let config = &part.config;
    let servo = &part.servo;
    if let Some(surface) = &part.final_tissue.surface {
        write_surface(surface, &part.folder)?;
    }
    let mut facts = SessionFacts {
        only_side: Some(Side::Master),
        without_peer: true,
        renders: final_render(part).into_iter().collect(),
        attempts: match index {
            0 => rehearsals.history.attempts.clone(),
            _ => Vec::new(),
        },
        live_parts: Some(vec![("master", true)]),
        ..SessionFacts::of(config, "rehearse")
    };
    let prefilled = &mut facts.prefilled;
    prefilled
        .trace_hash
        .clone_from(&part.final_tissue.trace_hash);
    prefilled.servo = ServoSummary {
        missed_ticks: Some(servo.missed),
        records_lost: Some(servo.records_lost),
        late_causes: servo.late_causes.clone(),
        allocations: Some(servo.allocations),
        bare_timer_us_p99: bare_us_p99,
        ..ServoSummary::default()
    };
    prefilled.twin = truth::twin_summary(config, &[])?;
    prefilled.topology = TopologySummary::of(&recording);
    let mut remarks = remarks(part, index, rehearsals);
    remarks.extend(input.map(InputReport::words));
    let evidence = Evidence {
        remarks: &remarks,
        ..Evidence::new(config, &facts, &recording.master, &[])
    };
    conclusion::conclude(&evidence, &part.folder).map(Some)
}

/// Renders the final tissue with the last instrument; None if none worked.
fn final_render(part: &RehearsedScene) -> Option<Render> {
    let operated = part.final_tissue.operated.as_ref()?;
    let scene = lab::load_scene(&part.config.twin, "twin").ok()?;
    let specimen = Specimen::of(&scene).ok()??;
    let caption = format!(
        "The tissue at the end, with the {} at its last place of work, at {:.1} s. Tissue has the colours of the \
         scene; the cutting or joining part is amber, and visible through it.",
        operated.instrument.name(),
        operated.at_s,
    );
    operated.render(&TissuePalette::of(specimen.colours()), caption)
}

/// Remarks on a scene; those of the first also list the other scenes and the attempts.
fn remarks(part: &RehearsedScene, index: usize, rehearsals: &LiveRehearsalResult) -> Vec<String> {
    let servo = &part.servo;
    let passed = servo.ticks + servo.missed;
    let mut remarks = vec![format!(
        "No slave and no network: the hand felt the twin without delay, at {:.1} % of the clock rate.",
        100.0 * servo.ticks as f64 / passed.max(1) as f64
    )];
    remarks.push(SURFACE.into());
    remarks.extend(servo.granted.refusals.iter().cloned());
    if index > 0 {
        return remarks;
    }
    let others = rehearsals.scenes.iter().skip(1);
    let others: Vec<String> = others.map(|part| shown(&part.folder)).collect();
    if !others.is_empty() {
        remarks.push(format!(
            "Other scenes of this rehearsal: {}.",
            others.join(", ")
        ));
    }
    let history = &rehearsals.history;
    remarks.push(format!("Attempts made now: {}.", rehearsals.new_attempts));
    remarks.extend(history.problem.clone());
    remarks
}

fn shown(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
