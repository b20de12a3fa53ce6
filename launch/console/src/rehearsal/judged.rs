//! Scenes that a person rehearsed by the clock, each judged as a session.
//!
//! Source: ours.

use std::path::Path;

use palpate_analysis::conclude::{self, Concluded, Evidence};
use palpate_analysis::metrics::{LiveFacts, SessionFacts, StrokeFacts, TickLosses};
use palpate_analysis::rehearsed::specimen::Specimen;
use palpate_analysis::rehearsed::task::Attempts;
use palpate_analysis::still::Still;
use palpate_analysis::still::operated::Palette;
use palpate_analysis::summary::Ending;
use palpate_analysis::{Failure, truth};
use palpate_session::input::InputReport;
use palpate_session::lab;
use palpate_session::record;
use palpate_session::run::side::RECORDING;
use palpate_transport::trace::Side;

use super::live::{Part, Rehearsals};
use super::run::{SURFACE, write_surface};

/// Judge one scene from its recording; nothing of one that was left before its first tick.
///
/// # Errors
/// [`Failure::Refused`] if the recording cannot be read or a file not written.
pub fn judge(
    part: &Part,
    index: usize,
    rehearsals: &Rehearsals,
    input: Option<&InputReport>,
    bare_us_p99: Option<f64>,
) -> Result<Option<Concluded>, Failure> {
    let path = part.folder.join(RECORDING);
    let recording = match record::read(&path) {
        Ok(recording) => recording,
        Err(record::RecordError::NoTicks { .. }) => return Ok(None),
        Err(error) => return Err(Failure::Refused(error.to_string())),
    };
    let config = &part.config;
    let servo = &part.servo;
    if let Some(surface) = &part.lying.surface {
        write_surface(surface, &part.folder)?;
    }
    let facts = SessionFacts {
        command: "rehearse".into(),
        seed: Some(config.seed),
        trace_hash: part.lying.trace_hash.clone(),
        mode: config.modes(),
        sides: vec![Side::Master],
        networked: false,
        ending: Ending::Complete,
        losses: TickLosses {
            missed_ticks: Some(servo.missed),
            records_lost: Some(servo.records_lost),
        },
        twin: truth::twin(config, &[])?,
        stills: operated(part).into_iter().collect(),
        attempts: match index {
            0 => rehearsals.known.attempts.clone(),
            _ => Attempts::default(),
        },
        strokes: StrokeFacts::of(&recording),
        live: Some(LiveFacts {
            late_causes: servo.late_causes.clone(),
            allocations: Some(servo.allocations),
            bare_timer_us_p99: bare_us_p99,
            ran_to_end: vec![("master", true)],
        }),
        ..SessionFacts::default()
    };
    let mut remarks = remarks(part, index, rehearsals);
    remarks.extend(input.map(InputReport::words));
    let evidence = Evidence {
        config,
        master: &recording.master,
        slave: &[],
        judged: None,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    conclude::conclude(&evidence, &part.folder).map(Some)
}

/// The tissue as instruments left it; none if none worked.
fn operated(part: &Part) -> Option<Still> {
    let operated = part.lying.operated.as_ref()?;
    let scene = lab::load_scene(&part.config.twin, "twin").ok()?;
    let specimen = Specimen::of(&scene).ok()??;
    let caption = format!(
        "The tissue as it lay at the end, with the {} where it worked last, at {:.1} s. Tissue has the colours of the \
         scene; what cuts or joins is amber, and seen through it.",
        operated.held.name(),
        operated.at_s,
    );
    operated.still(&Palette::of(specimen.colours()), caption)
}

/// What a reader should know of a scene, with how attempts went on in the first.
fn remarks(part: &Part, index: usize, rehearsals: &Rehearsals) -> Vec<String> {
    let servo = &part.servo;
    let passed = servo.ticks + servo.missed;
    let mut remarks = vec![format!(
        "No slave and no network: the hand felt the twin at once, at {:.1} % of the clock's pace.",
        100.0 * servo.ticks as f64 / passed.max(1) as f64
    )];
    remarks.push(SURFACE.into());
    remarks.extend(servo.granted.refusals.iter().cloned());
    if index > 0 {
        return remarks;
    }
    let others = rehearsals.parts.iter().skip(1);
    let others: Vec<String> = others.map(|part| shown(&part.folder)).collect();
    if !others.is_empty() {
        remarks.push(format!(
            "Other scenes of this rehearsal: {}.",
            others.join(", ")
        ));
    }
    let known = &rehearsals.known;
    remarks.push(format!("Attempts made now: {}.", rehearsals.made));
    remarks.extend(known.problem.clone());
    remarks
}

fn shown(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
