//! `palpate model detect`: finds which lumps of a block scene can be felt.
//!
//! Source: ours. Files and text are here; [`palpate_study::detect`] runs the presses.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_session::lab;
use palpate_study::detect::{DetectOptions, DetectPlan, DetectStudy, LumpDetection};
use palpate_study::{messages, report};

use crate::cli::DetectArgs;
use crate::command::{CommandOutcome, interrupt, json_or_text};
use crate::progress::{Progress as _, TerminalProgress};

/// Runs the study, and writes `detect.csv`, `mixing.csv` and `report.html`.
///
/// # Errors
/// [`Failure::Usage`] names the flag or the missing part of the scene, [`Failure::Refused`] if results cannot be
/// written.
pub(super) fn detect(arguments: &DetectArgs) -> Result<CommandOutcome, Failure> {
    let scene = lab::load_scene(&arguments.scene, "SCENE")?;
    let metres = |mm: &[f64]| mm.iter().map(|mm| mm * 1e-3).collect();
    let options = DetectOptions {
        depths_m: metres(&arguments.depths_mm),
        radii_m: metres(&arguments.radii_mm),
        contrasts: arguments.contrasts.clone(),
        press_m: arguments.press_mm * 1e-3,
        noise: arguments.noise,
    };
    let plan = DetectPlan::new(scene, options)?;
    let chosen = arguments.earlier.chosen(arguments.out.as_deref());
    let results = &["detect.csv", "mixing.csv", "report.html"];
    let folder = output::folder(chosen, "detect", results)?;
    let stop = interrupt::on_ctrl_c()?;
    let hidden = arguments.quiet || arguments.json;
    let progress = TerminalProgress::bar("presses", plan.presses() as u64, hidden);
    let study = plan.run(&stop, &|done| progress.set_done(done))?;
    drop(progress);
    output::write(&folder.join("detect.csv"), csv(&study))?;
    output::write(&folder.join("mixing.csv"), mixing_csv(&study))?;
    output::write(&folder.join("report.html"), report::detect(&study))?;
    let json = || messages::json(&study, "detect");
    let stdout = json_or_text(arguments.json, arguments.quiet, json, || {
        format!("{}results  {}\n", table(&study), folder.display())
    })?;
    let stopped = stop.load(Ordering::Relaxed);
    Ok(CommandOutcome {
        stdout,
        warning: if stopped {
            Some("interrupted: the remaining presses are unknown".to_owned())
        } else {
            let doubt = study.spread.filter(|spread| spread.doubtful);
            doubt.map(|spread| spread.to_string())
        },
        checks_passed: true,
    })
}

/// A number for a file; empty if unknown.
fn known(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn csv(study: &DetectStudy) -> String {
    let mut text = String::from(
        "depth_mm,radius_mm,contrast,plain_n,over_n,force_change_percent,plain_npm,over_npm,\
         stiffness_contrast,d_prime,right,unknown\n",
    );
    for case in &study.cases {
        let of = |value: fn(&LumpDetection) -> f64| known(case.found.as_ref().map(value));
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            millimetres(case.depth_m),
            millimetres(case.radius_m),
            case.contrast,
            known(study.plain_n),
            of(|f| f.over_n),
            of(|f| 100.0 * f.force_change),
            known(study.plain_npm),
            of(|f| f.over_npm),
            of(|f| f.stiffness_contrast),
            of(|f| f.d_prime),
            of(|f| f.right),
            case.unknown.map_or(String::new(), |why| why.to_string()),
        );
    }
    text
}

fn mixing_csv(study: &DetectStudy) -> String {
    let mut text = String::from("mixing,shift_cells,force_change_percent\n");
    for mesh in &study.meshes {
        let change = known(mesh.force_change.map(|change| 100.0 * change));
        let _ = writeln!(text, "{},{},{change}", mesh.mixing, mesh.shift_cells);
    }
    text
}

/// Metres in millimetres, without the rounding error of a product with 0.001.
fn millimetres(m: f64) -> f64 {
    (m * 1e9).round() * 1e-6
}

fn table(study: &DetectStudy) -> String {
    let mut text = format!(
        "{:>9}{:>10}{:>10}{:>10}{:>9}{:>12}{:>8}{:>8}\n",
        "depth mm", "radius mm", "contrast", "over N", "force %", "stiffness %", "d'", "right"
    );
    for case in &study.cases {
        let lump = format!(
            "{:>9.1}{:>10.1}{:>10.1}",
            1e3 * case.depth_m,
            1e3 * case.radius_m,
            case.contrast
        );
        let _ = match &case.found {
            None => {
                let why = case.unknown.map_or(String::new(), |why| why.to_string());
                writeln!(text, "{lump}   unknown: {why}")
            }
            Some(found) => writeln!(
                text,
                "{lump}{:>10.4}{:>+9.1}{:>+12.1}{:>8.1}{:>8.3}",
                found.over_n,
                100.0 * found.force_change,
                100.0 * found.stiffness_contrast,
                found.d_prime,
                found.right
            ),
        };
    }
    let plain = study
        .plain_n
        .map_or("unknown".to_owned(), |n| format!("{n:.4} N"));
    let _ = writeln!(text, "without the lump: {plain}");
    text += "the scene's own lump, force % by mixing rule and shift against the cells:\n";
    for mesh in &study.meshes {
        let change = mesh
            .force_change
            .map_or("unknown".to_owned(), |c| format!("{:+.1}", 100.0 * c));
        let _ = writeln!(
            text,
            "  {:<10}{:>6.2}{change:>9}",
            mesh.mixing, mesh.shift_cells
        );
    }
    // doubts go to stderr, also if no table is shown
    if let Some(spread) = study.spread.as_ref().filter(|spread| !spread.doubtful) {
        let _ = writeln!(text, "{spread}");
    }
    text
}

#[cfg(test)]
mod tests {
    use palpate_study::detect::{LumpCase, MeshCase, UnknownReason};

    use super::*;

    #[test]
    fn unknown_is_empty_in_files_and_written_in_tables() {
        let found = LumpDetection {
            over_n: 0.24,
            force_change: 0.2,
            over_npm: 60.0,
            stiffness_contrast: 0.2,
            d_prime: 9.0,
            right: 1.0,
        };
        let case = |found| LumpCase {
            depth_m: 0.0081,
            radius_m: 0.005,
            contrast: 10.0,
            found,
            unknown: found.is_none().then_some(UnknownReason::NoRoom),
        };
        let study = DetectStudy {
            scene: "s".to_owned(),
            press_m: 0.005,
            tool_radius_m: 0.005,
            noise: 0.02,
            plain_n: Some(0.2),
            plain_npm: Some(50.0),
            cases: vec![case(Some(found)), case(None)],
            meshes: vec![MeshCase {
                mixing: "reuss".to_owned(),
                shift_cells: 0.5,
                force_change: None,
            }],
            spread: None,
        };
        let text = csv(&study);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "8.1,5,10,0.2,0.24,20,50,60,0.2,9,1,");
        assert_eq!(
            lines[2],
            "8.1,5,10,0.2,,,50,,,,,does not fit into the block"
        );
        let columns = |line: &str| line.matches(',').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
        assert_eq!(mixing_csv(&study).lines().nth(1), Some("reuss,0.5,"));
        let text = table(&study);
        assert!(
            text.contains("+20.0") && text.matches("unknown").count() == 2,
            "{text}"
        );
    }
}
