//! Page of presses: force over depth, ticks of every press, all numbers.
//!
//! Source: ours.

use palpate_analysis::report::plot::{COLUMNS, Chart, Ink, Series, SeriesShape};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use super::{INKS, table};
use crate::press::{PressStudy, ScenePress};

/// Largest error of the force that is shown as good.
const GOOD: f64 = 0.03;

/// Renders the page as HTML.
#[must_use]
pub fn render(study: &PressStudy) -> String {
    let worst = study.presses.iter().filter_map(ScenePress::true_error);
    let worst = worst.map(f64::abs).reduce(f64::max);
    let class = if worst.is_some_and(|worst| worst > GOOD) {
        "bad"
    } else {
        "good"
    };
    let against = worst.map_or(
        "Nothing was computed to compare with.".to_owned(),
        |worst| {
            format!(
                "The largest error against the same press on converged meshes is {} %.",
                number(100.0 * worst)
            )
        },
    );
    let lead = format!(
        "A rigid ball of {} mm pressed the tissue; motion: {}. {against}",
        number(1e3 * study.radius_m),
        study.motion
    );
    let title = format!("Presses of {}", study.scene);
    let mut body = head(&title, "model press", "offline study", class, &lead) + "</header>\n";
    body += &section("depth", "Force over depth", &over_depth(study));
    body += &section("ticks", "Every press", &ticks(study));
    body += &section("numbers", "All numbers", &numbers(study));
    body + "</main></body></html>\n"
}

/// Places in order of first appearance.
fn places(study: &PressStudy) -> Vec<[f64; 2]> {
    let mut places: Vec<[f64; 2]> = Vec::new();
    for press in &study.presses {
        if !places.contains(&press.at_m) {
            places.push(press.at_m);
        }
    }
    places
}

fn place_name([x_m, y_m]: [f64; 2]) -> String {
    format!("at {}, {} mm", number(1e3 * x_m), number(1e3 * y_m))
}

fn over_depth(study: &PressStudy) -> String {
    let mut series = Vec::new();
    for (index, place) in places(study).into_iter().enumerate() {
        let there: Vec<&ScenePress> = study.presses.iter().filter(|p| p.at_m == place).collect();
        let points = |of: &dyn Fn(&ScenePress) -> Option<f64>| {
            let mut points: Vec<(f64, f64)> = there
                .iter()
                .filter_map(|press| Some((1e3 * press.depth_m, of(press)?)))
                .collect();
            points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let inks = [Ink::Master, Ink::Slave, Ink::Third, Ink::Fourth];
        let name = place_name(place);
        let found = Series::numbered(&name, &inks, index, points(&|press| Some(press.force_n)));
        series.push(found.shaped(SeriesShape::Marked));
        let truth = points(&|press| press.truth_n);
        if !truth.is_empty() {
            let truth = Series::line(&format!("truth {name}"), Ink::Truth, truth);
            series.push(truth.shaped(SeriesShape::Marked));
        }
    }
    let chart = Chart {
        from_zero: true,
        ..Chart::new("depth [mm]", "force [N]", 620, series)
    };
    chart.figure("Force of the tissue, and its truth where that was computed.")
}

fn ticks(study: &PressStudy) -> String {
    let line = |(index, press): (usize, &ScenePress)| {
        let every = press.samples.len().div_ceil(COLUMNS).max(1);
        let samples = press.samples.iter().step_by(every);
        let points = samples
            .map(|sample| (sample.time_s, sample.force_n.z))
            .collect();
        let name = format!(
            "{} mm {}",
            number(1e3 * press.depth_m),
            place_name(press.at_m)
        );
        Series::numbered(&name, &INKS, index, points)
    };
    let series = study.presses.iter().enumerate().map(line).collect();
    Chart::new("time [s]", "force [N]", 620, series).figure("Force of every tick.")
}

fn numbers(study: &PressStudy) -> String {
    let head = [
        "place",
        "depth [mm]",
        "force [N]",
        "estimated error [N]",
        "truth [N]",
        "true error [%]",
        "stiffness [N/m]",
        "phase [degrees]",
        "ripple [N]",
    ];
    let known = |value: Option<f64>| value.map_or(String::new(), number);
    let rows = study.presses.iter().map(|press| {
        let error = press
            .true_error()
            .map(|error| format!("{:+.1}", 100.0 * error));
        vec![
            escape(&place_name(press.at_m)),
            number(1e3 * press.depth_m),
            number(press.force_n),
            known(press.error_n),
            known(press.truth_n),
            error.unwrap_or_default().replace('-', "\u{2212}"),
            known(press.stiffness_npm),
            known(press.phase_deg),
            known(press.ripple_n),
        ]
    });
    table(&head, 1.., rows)
}
