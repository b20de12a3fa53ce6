//! Reference presses of an outside engine judge the offline truth; the bench judges the twin.

use super::*;
use palpate_scene::SceneBody;

/// Reference presses that the default motion makes.
fn slow() -> Vec<ReferenceCase> {
    let all = cases().expect("readable");
    all.into_iter()
        .filter(|case| case.motion == PressMotion::Slow)
        .collect()
}

#[test]
fn sixty_cases_agree_on_two_meshes_of_the_outside_engine() {
    let all = cases().expect("readable");
    assert!(all.len() >= 60, "{}", all.len());
    for case in &all {
        let apart = match case.quantity.as_str() {
            "phase_deg" => 0.02 * (case.truth - case.coarse).abs(),
            _ => (case.coarse / case.truth - 1.0).abs(),
        };
        let (name, press) = (&case.scene.name, &case.press);
        assert!(
            apart < 5e-3,
            "{name} {press:?}: {} {}",
            case.truth,
            case.coarse
        );
    }
}

#[test]
fn cases_cover_the_range_of_radii_depths_and_layers() {
    let all = slow();
    let any = |what: &dyn Fn(&ReferenceCase) -> bool| all.iter().any(what);
    assert!(any(&|case| case.press.radius_m == 0.005) && any(&|case| case.press.radius_m == 0.015));
    assert!(any(&|case| case.press.depth_m == 0.0002) && any(&|case| case.press.depth_m == 0.008));
    let thin = |case: &ReferenceCase| match &case.scene.body {
        SceneBody::Block(block) => block.layers.iter().any(|layer| layer.thickness_m == 0.001),
        _ => false,
    };
    assert!(any(&thin));
}

/// Returns the error of the offline truth.
fn truth_error(case: &ReferenceCase) -> f64 {
    let found = case
        .scene
        .press_truth(&case.press, case.motion)
        .expect("it converges");
    found.expect("a block").force_n / case.truth - 1.0
}

#[test]
fn offline_truth_is_within_a_percent_of_the_outside_engine() {
    // one of each kind
    let chosen = [
        ("layered", 0.0002),
        ("layered", 0.008),
        ("soft-skin", 0.001),
        ("three-layers", 0.001),
        ("nearly-incompressible", 0.008),
        ("soft-on-stiff", 0.002),
        ("mooney", 0.004),
        ("compressible", 0.004),
        ("thin-skin", 0.001),
    ];
    for (name, depth_m) in chosen {
        let all = slow();
        let mut own = all.iter().filter(|case| case.scene.name == name);
        let case = own
            .find(|case| case.press.depth_m == depth_m)
            .expect("a case");
        let error = truth_error(case);
        assert!(error.abs() < 0.01, "{name} {depth_m} m: {error:+.4}");
    }
}

#[test]
#[ignore = "takes minutes: prints the error of the offline truth in every case"]
fn print_errors_of_the_offline_truth() {
    for case in slow() {
        let error = 100.0 * truth_error(&case);
        println!("{:<22} {:?} {error:+.2} %", case.scene.name, case.press);
    }
}

impl ReferenceRow {
    /// Goals that it misses, as lines of `known_misses.csv`.
    fn misses(&self) -> Vec<String> {
        let (radius_mm, depth_mm) = (1e3 * self.radius_m, 1e3 * self.depth_m);
        let line = |goal: &str| {
            let (scene, motion, quantity) = (&self.scene, self.motion, &self.quantity);
            let [x_mm, y_mm] = self.at_m.map(|x_m| 1e3 * x_m);
            format!(
                "{scene},{x_mm:.2},{y_mm:.2},{radius_mm:.0},{depth_mm:.1},{motion},{quantity},{goal}"
            )
        };
        let error = (!self.held).then(|| line("error"));
        let wrong = self.estimate_is_right() == Some(false);
        error
            .into_iter()
            .chain(wrong.then(|| line("estimate")))
            .collect()
    }
}

/// Judges the cases against the list of known misses.
fn judge(is_chosen: impl Fn(&ReferenceCase) -> bool) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/reference/truth/known_misses.csv"
    );
    let known = std::fs::read_to_string(path).expect("a file");
    let (chosen, others): (Vec<_>, Vec<_>) =
        cases().expect("readable").into_iter().partition(is_chosen);
    let rows = measured(&chosen, &AtomicBool::new(false)).expect("presses");
    print!("{}", table(&rows));
    let found: Vec<String> = rows.iter().flat_map(ReferenceRow::misses).collect();
    let is_other = |line: &str| {
        let mut scenes = others.iter().map(|case| case.scene.name.as_str());
        scenes.any(|scene| line.starts_with(&format!("{scene},")))
    };
    let known: Vec<&str> = known
        .lines()
        .skip(1)
        .filter(|line| !is_other(line))
        .collect();
    assert_eq!(found, known);
}

/// Elastic scenes that the suite presses; the others take a minute.
const ELASTIC: [&str; 4] = [
    "layered",
    "coarse-uniform",
    "soft-skin",
    "nearly-incompressible",
];

/// Viscous scenes.
const VISCOUS: [&str; 3] = ["kelvin-voigt", "prony", "prony-series"];

#[test]
fn elastic_reference_presses_miss_no_goal_but_the_known_ones() {
    judge(|case| ELASTIC.contains(&case.scene.name.as_str()));
}

#[test]
fn viscous_reference_presses_miss_no_goal_but_the_known_ones() {
    // the sine of 1 Hz on `kelvin-voigt` takes 50 s
    let is_long = |case: &ReferenceCase| {
        let slow = matches!(case.motion, PressMotion::Sine { frequency_hz } if frequency_hz < 2.0);
        slow && case.scene.name == "kelvin-voigt"
    };
    judge(|case| VISCOUS.contains(&case.scene.name.as_str()) && !is_long(case));
}

#[test]
#[ignore = "takes a minute and a half: presses all scenes"]
fn all_reference_presses_miss_no_goal_but_the_known_ones() {
    judge(|_| true);
}
