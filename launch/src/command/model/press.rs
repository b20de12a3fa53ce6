//! `palpate model press`: presses a scene with a rigid ball, beside the truth.
//!
//! Source: ours. Files and text are here; [`palpate_study::press`] presses.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_scene::PressMotion;
use palpate_session::lab;
use palpate_study::press::{PressRequest, PressStudy, ScenePress};
use palpate_study::{messages, report};

use crate::cli::PressArgs;
use crate::command::{CommandOutcome, interrupt, json_or_text};
use crate::progress::{Progress as _, TerminalProgress};

/// Speed of a hold or a drag without `--rate-mmps` \[mm/s\].
const SPEED_MMPS: f64 = 20.0;

/// Presses, and writes `press.json` and `report.html`.
///
/// # Errors
/// [`Failure::Usage`] names the flag or the scene, [`Failure::Refused`] if results cannot be written.
pub(super) fn press(arguments: &PressArgs) -> Result<CommandOutcome, Failure> {
    let name = arguments.units.map(|units| units.of_file(&arguments.scene));
    let scene = lab::load_scene(name.as_deref().unwrap_or(&arguments.scene), "SCENE")?;
    let radius_m = arguments.radius_mm.map(|mm| 1e-3 * mm);
    let request = PressRequest {
        places_m: arguments
            .at_mm
            .iter()
            .map(|at| at.map(|mm| 1e-3 * mm))
            .collect(),
        depths_m: arguments.depths_mm.iter().map(|mm| 1e-3 * mm).collect(),
        radius_m: radius_m.unwrap_or(scene.tool_radius_m),
        motion: motion(arguments),
        with_truth: arguments.against.is_some(),
    };
    let output = &arguments.output;
    let folder = output::folder(output.chosen(), "press", &["press.json", "report.html"])?;
    let stop = interrupt::on_ctrl_c()?;
    let total = (request.places_m.len() * request.depths_m.len()) as u64;
    let progress = TerminalProgress::bar("presses", total, output.is_silent());
    let study = request.run(&scene, &stop, &|done| progress.set_done(done))?;
    drop(progress);
    let json = messages::json(&study, "press.json")?;
    output::write(&folder.join("press.json"), &json)?;
    output::write(&folder.join("report.html"), report::press(&study))?;
    let words = || format!("{}results  {}\n", table(&study), folder.display());
    let stdout = json_or_text(output.json, output.quiet, || Ok(json), words)?;
    let stopped = stop.load(Ordering::Relaxed);
    Ok(CommandOutcome {
        warning: stopped.then(|| "interrupted: the remaining presses are missing".to_owned()),
        ..CommandOutcome::unchecked(stdout)
    })
}

fn motion(arguments: &PressArgs) -> PressMotion {
    let speed_mps = 1e-3 * arguments.rate_mmps.unwrap_or(SPEED_MMPS);
    let PressArgs {
        drag,
        hold,
        sine,
        rate_mmps,
        ..
    } = arguments;
    match (drag, hold, sine, rate_mmps) {
        (Some(length_mm), ..) => PressMotion::Drag {
            speed_mps,
            length_m: 1e-3 * length_mm,
        },
        (_, &Some(hold_s), ..) => PressMotion::Hold { speed_mps, hold_s },
        (_, _, &Some(frequency_hz), _) => PressMotion::Sine { frequency_hz },
        (_, _, _, Some(_)) => PressMotion::Rate { speed_mps },
        _ => PressMotion::Slow,
    }
}

/// Column of the table: its title, and its value in a row.
type Column = (&'static str, fn(&ScenePress) -> Option<f64>);

fn table(study: &PressStudy) -> String {
    let mut text = format!(
        "{:>14}{:>10}{:>11}{:>10}{:>11}{:>9}{:>13}",
        "place mm", "depth mm", "force N", "error N", "truth N", "true %", "stiff N/m"
    );
    let more: &[Column] = match study.motion {
        "sine" => &[
            ("phase deg", |row| row.phase_deg),
            ("truth deg", |row| row.truth_phase_deg),
            ("truth N/m", |row| row.truth_stiffness_npm),
        ],
        "drag" => &[
            ("ripple N", |row| row.ripple_n),
            ("friction N", |row| row.friction_n),
        ],
        _ => &[],
    };
    more.iter()
        .for_each(|(name, _)| text += &format!("{name:>12}"));
    text.push('\n');
    let known = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for row in &study.presses {
        let place = format!("{:.1},{:.1}", 1e3 * row.at_m[0], 1e3 * row.at_m[1]);
        // writing to a string cannot fail
        let _ = write!(
            text,
            "{place:>14}{:>10.2}{:>11.5}{:>10}{:>11}{:>9}{:>13}",
            1e3 * row.depth_m,
            row.force_n,
            known(row.error_n, 5),
            known(row.truth_n, 5),
            row.true_error()
                .map_or("-".to_owned(), |e| format!("{:+.1}", 100.0 * e)),
            known(row.stiffness_npm, 2),
        );
        more.iter()
            .for_each(|(_, of)| text += &format!("{:>12}", known(of(row), 4)));
        text.push('\n');
    }
    text
}
