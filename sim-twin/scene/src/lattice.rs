//! Scenes of springs: sheets and the data sets of the sources, with the parameters of the model IDMS.
//!
//! Source: seed-004 3.9 and 4C (rows S4-07, S4-56), lumps after S4-07; laws, schemes and active regions after 3.3 to 3.8 (rows
//! S4-08, S4-12 to S4-14, S4-21).

use serde::Deserialize;

use super::lattice_file::centre;
use super::text::{field_error, require_finite, require_positive};
use super::{Lump, SceneError};
use palpate_geometry::mesh::Units;
use palpate_springs::idms::{
    GraspLaw, HapticWindow, IdmsParams, LatticeContact, PinchLaw, SpringLaw, TimeIntegration,
};
use palpate_twin::Vec3;
use palpate_twin::lattice::Lattice;
use palpate_twin::lattice::fixture;
use palpate_twin::lattice::fixture::SheetParams;

/// Largest number of columns or rows of a sheet.
const SIDE_MAX: u32 = 400;

/// Lattice of a sheet of a scene.
pub(super) fn sheet(params: &SheetParams) -> Result<Lattice, SceneError> {
    for (name, count) in [
        ("sheet.columns", params.columns),
        ("sheet.rows", params.rows),
    ] {
        if !(2..=SIDE_MAX).contains(&count) {
            return Err(field_error(name, count, "a whole number from 2 to 400"));
        }
    }
    require_positive("sheet.edge_m", params.edge_m)?;
    require_positive("sheet.depth_ratio", params.depth_ratio)?;
    Ok(fixture::sheet(params))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FixtureText {
    kind: FixtureKind,
    length_m: f64,
    force_n: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FixtureKind {
    Regular,
    Printed,
}

impl FixtureText {
    pub(super) fn lattice(&self) -> Result<Lattice, SceneError> {
        let units = Units {
            length_m: self.length_m,
            force_n: self.force_n,
        };
        units.check()?;
        let mut lattice = units.import(&match self.kind {
            FixtureKind::Regular => fixture::regular(),
            FixtureKind::Printed => fixture::printed(),
        });
        centre(&mut lattice);
        Ok(lattice)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ContactText {
    Face,
    Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LawName {
    Linear,
    Fung,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SchemeName {
    SemiImplicit,
    Printed,
}

/// Keys of [`IdmsParams`] in a scene; a missing key has its default.
///
/// | key | effect |
/// |---|---|
/// | `law` | `linear`, or `fung` with `fung_growth` and `fung_steepest` (row S4-08) |
/// | `scheme` | `semi-implicit`, or `printed` with `filter_lambda` and optionally `radial_homes` (S4-13, S4-14) |
/// | `gravity_mps2`, `drag_per_s` | forces on every atom (S4-12) |
/// | `window` | `{ radius_m, at_once }`: only atoms near a tool are stepped, or, without `at_once`, woken (S4-21) |
/// | `grasp` | `fixed`, or `shell` as printed (S4-24) |
/// | `sleeps` | `false` steps every atom in every step |
/// | `unchecked` | `true` skips the stability gate, for experiments on instability |
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelText {
    dt_s: Option<f64>,
    substeps: Option<u32>,
    law: Option<LawName>,
    fung_growth: Option<f64>,
    fung_steepest: Option<f64>,
    scheme: Option<SchemeName>,
    filter_lambda: Option<f64>,
    radial_homes: Option<bool>,
    gravity_mps2: Option<[f64; 3]>,
    drag_per_s: Option<f64>,
    window: Option<HapticWindow>,
    grasp: Option<GraspLaw>,
    sleeps: Option<bool>,
    unchecked: Option<bool>,
    contact: Option<ContactText>,
    patch_m: Option<f64>,
    contact_damping_ratio: Option<f64>,
    pinch_stiffness_npm: Option<f64>,
    pinch_width_m: Option<f64>,
}

impl ModelText {
    /// True if the scene states a number of sub-steps.
    pub(super) const fn has_substeps(&self) -> bool {
        self.substeps.is_some()
    }

    /// Parameters of the model for a tool of a stiffness \[N/m\]; [`palpate_springs::idms::Idms::new`] checks their
    /// values.
    pub(super) fn params(&self, stiffness_npm: f64) -> Result<IdmsParams, SceneError> {
        let ours = IdmsParams::default();
        let damping = self.contact_damping_ratio;
        Ok(IdmsParams {
            dt_s: self.dt_s.unwrap_or(ours.dt_s),
            substeps: self.substeps.unwrap_or(ours.substeps),
            law: self.law()?,
            scheme: self.scheme()?,
            gravity_mps2: self.gravity_mps2.map_or(ours.gravity_mps2, Vec3::from),
            drag_per_s: self.drag_per_s.unwrap_or(ours.drag_per_s),
            window: self.window,
            grasp: self.grasp.unwrap_or(ours.grasp),
            sleeps: self.sleeps.unwrap_or(ours.sleeps),
            unchecked: self.unchecked.unwrap_or(ours.unchecked),
            contact: match self.contact.unwrap_or(ContactText::Face) {
                ContactText::Face => LatticeContact::Face {
                    patch_m: self.patch_m.unwrap_or(0.0),
                },
                ContactText::Node => LatticeContact::Node,
            },
            contact_damping_ratio: damping.unwrap_or(ours.contact_damping_ratio),
            tool_stiffness_npm: stiffness_npm,
            pinch: PinchLaw {
                stiffness_npm: self.pinch_stiffness_npm.unwrap_or(ours.pinch.stiffness_npm),
                width_m: self.pinch_width_m.unwrap_or(ours.pinch.width_m),
            },
            ..ours
        })
    }

    fn law(&self) -> Result<SpringLaw, SceneError> {
        let fung = self.law == Some(LawName::Fung);
        let growth = of_choice("model.fung_growth", self.fung_growth, fung, FUNG)?;
        let steepest = of_choice("model.fung_steepest", self.fung_steepest, fung, FUNG)?;
        Ok(match growth.zip(steepest) {
            Some((growth, steepest)) => SpringLaw::Fung { growth, steepest },
            None => SpringLaw::Linear,
        })
    }

    fn scheme(&self) -> Result<TimeIntegration, SceneError> {
        let printed = self.scheme == Some(SchemeName::Printed);
        let lambda = of_choice("model.filter_lambda", self.filter_lambda, printed, PRINTED)?;
        if self.radial_homes.is_some() && !printed {
            return Err(field_error("model.radial_homes", "given", PRINTED));
        }
        Ok(lambda.map_or(TimeIntegration::SemiImplicit, |lambda| {
            TimeIntegration::FilteredEuler {
                lambda,
                radial_homes: self.radial_homes.unwrap_or(false),
            }
        }))
    }
}

/// Expected values of the parameters of a law and of a scheme, for messages.
const FUNG: &str = "a number with `law = \"fung\"`, and none with another law";
const PRINTED: &str = "a value with `scheme = \"printed\"`, and none with another scheme";

/// Returns a parameter that one choice requires and every other choice forbids.
fn of_choice(
    name: &'static str,
    value: Option<f64>,
    chosen: bool,
    expected: &'static str,
) -> Result<Option<f64>, SceneError> {
    match value {
        None if chosen => Err(field_error(name, "missing", expected)),
        Some(value) if !chosen => Err(field_error(name, value, expected)),
        value => Ok(value),
    }
}

impl Lump {
    /// Multiplies the stiffness of every link whose midpoint is inside.
    pub(super) fn harden(&self, lattice: &mut Lattice) -> Result<(), SceneError> {
        require_positive("lump.radius_m", self.radius_m)?;
        require_positive("lump.factor", self.factor)?;
        require_finite("lump.center_m", self.center_m[0] + self.center_m[1])?;
        for link in &mut lattice.links {
            let [a, b] = link
                .atoms
                .map(|atom| lattice.atoms[atom as usize].position_m);
            let [x_m, y_m] = self.center_m;
            let away_m = (0.5 * (a + b)).xy() - nalgebra::Vector2::new(x_m, y_m);
            if away_m.norm() < self.radius_m {
                link.stiffness_npm *= self.factor;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

    use crate::{Scene, load, scene_text};
    use palpate_twin::{Reaction, Vec3};

    /// Scene `sheet` with further lines in its table `[model]`.
    fn with(lines: &str) -> Result<Scene, String> {
        let plain = scene_text("sheet").expect("built in");
        let own = plain.replacen("[model]", &format!("[model]\n{lines}"), 1);
        load(&own).map_err(|error| error.to_string())
    }

    /// Force of a press to a depth in half a second, and held as long \[N\].
    fn press(lines: &str, depth_m: f64) -> f64 {
        let scene = with(lines).expect("a scene");
        let mut tissue = scene.build().expect("a tissue");
        let mut reactions = [Reaction::default()];
        for step in 1..=1000 {
            let down_m = depth_m * (f64::from(step) / 500.0).min(1.0);
            let tool = scene.tool_at(Vec3::z() * (scene.tool_radius_m - down_m));
            tissue.step(&[tool], 1e-3, &mut reactions);
        }
        reactions[0].force_n.z
    }

    #[test]
    fn s4_08_a_scene_chooses_the_law_of_its_springs() {
        let fung = "law = \"fung\"\nfung_growth = 4.0\nfung_steepest = 2.0\nsubsteps = 2";
        let linear_n = press("substeps = 2", 8e-3);
        let fung_n = press(fung, 8e-3);
        assert!(fung_n > 1.05 * linear_n, "{fung_n} {linear_n}");
        assert_eq!(press("law = \"linear\"\nsubsteps = 2", 8e-3), linear_n);
    }

    /// Ten minutes of a tool that wanders through springs of Fung's law.
    #[test]
    fn s4_08_energy_stays_bounded_in_ten_minutes_of_random_presses() {
        let lines = "law = \"fung\"\nfung_growth = 4.0\nfung_steepest = 2.0\nsubsteps = 2";
        let scene = with(lines).expect("a scene");
        let mut tissue = scene.build().expect("a tissue");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let mut draw = |range_m: f64| range_m * (random.next_u64() as f64 / u64::MAX as f64 - 0.5);
        let mut reactions = [Reaction::default()];
        let (mut at_m, mut to_m) = (Vec3::zeros(), Vec3::zeros());
        let mut largest_j = [0.0_f64; 10];
        for tick in 0..600_000_usize {
            if tick % 500 == 0 {
                to_m = Vec3::new(draw(0.06), draw(0.06), draw(0.012));
            }
            at_m += 0.01 * (to_m - at_m);
            let tool = scene.tool_at(at_m + Vec3::z() * scene.tool_radius_m);
            tissue.step(&[tool], 1e-3, &mut reactions);
            let largest_j = &mut largest_j[tick / 60_000];
            *largest_j = largest_j.max(tissue.view().energy.stored_j());
        }
        // no minute stores more than the deepest press of the first ones
        let [first_j, rest_j] = [&largest_j[..3], &largest_j[3..]]
            .map(|minutes| minutes.iter().copied().fold(0.0, f64::max));
        assert!(first_j > 1e-4 && rest_j < 1.5 * first_j, "{largest_j:?}");
        let balance = tissue.view().energy;
        let unexplained_j = balance.residual_j.abs();
        assert!(unexplained_j < 0.05 * balance.tool_work_j, "{balance:?}");
    }

    #[test]
    fn s4_12_a_scene_has_gravity_and_drag() {
        let sagged_m = |lines: &str, ticks: u32| {
            let mut tissue = with(lines).expect("a scene").build().expect("a tissue");
            (0..ticks).for_each(|_| tissue.step(&[], 1e-3, &mut []));
            let heights_m = tissue.view().positions_m.iter().map(|at_m| at_m.z);
            heights_m.fold(f64::MAX, f64::min)
        };
        assert_eq!(sagged_m("", 20), 0.0);
        let down = "gravity_mps2 = [0.0, 0.0, -9.81]";
        let low_m = sagged_m(down, 20);
        assert!((-2e-3..-2e-4).contains(&low_m), "{low_m}");
        let held_m = sagged_m(&format!("{down}\ndrag_hz = 500.0"), 20);
        assert!((0.6 * low_m..0.0).contains(&held_m), "{held_m} {low_m}");
        // with drag the final sag is the same
        let [low_m, held_m] =
            ["", "drag_per_s = 500.0"].map(|drag| sagged_m(&format!("{down}\n{drag}"), 3000));
        assert!((held_m / low_m - 1.0).abs() < 0.02, "{held_m} {low_m}");
    }

    #[test]
    fn s4_14_printed_scheme_is_available_and_refused_where_unstable() {
        let printed = "scheme = \"printed\"\nfilter_lambda = 0.5\nsubsteps = 20";
        let plain_n = press("substeps = 20", 4e-3);
        let found_n = press(printed, 4e-3);
        assert!(
            found_n != plain_n && (found_n / plain_n - 1.0).abs() < 0.02,
            "{found_n} {plain_n}"
        );
        let radial_n = press(&format!("{printed}\nradial_homes = true"), 4e-3);
        assert!(
            radial_n != found_n && (radial_n / plain_n - 1.0).abs() < 0.05,
            "{radial_n}"
        );
        let grows = with("scheme = \"printed\"\nfilter_lambda = 0.001");
        assert!(grows.is_err_and(|error| error.contains("the printed scheme grows by")));
        assert!(with("scheme = \"printed\"\nfilter_lambda = 0.001\nunchecked = true").is_ok());
    }

    #[test]
    fn s4_21_active_region_steps_only_atoms_near_the_tool() {
        let whole_n = press("sleeps = false", 6e-3);
        let error = |radius_m: f64| {
            let lines = format!("window = {{ radius_m = {radius_m}, at_once = true }}");
            (press(&lines, 6e-3) / whole_n - 1.0).abs()
        };
        let [near, far] = [0.025, 0.2].map(error);
        assert!(near > 1e-3 && far < 1e-6, "{near} {far}");
        let relaxed_n = press("window = { radius_m = 0.05 }", 6e-3);
        assert!(
            (relaxed_n / whole_n - 1.0).abs() < 0.05,
            "{relaxed_n} {whole_n}"
        );
    }

    #[test]
    fn invalid_model_keys_are_named_with_valid_values() {
        for (lines, parts) in [
            ("law = \"ogden\"", ["ogden", "fung"]),
            ("law = \"fung\"", ["model.fung_growth", "missing"]),
            ("fung_growth = 2.0", ["model.fung_growth", "law = \"fung\""]),
            (
                "law = \"fung\"\nfung_growth = -1.0\nfung_steepest = 2.0",
                ["fung_growth", "greater than 0"],
            ),
            ("scheme = \"printed\"", ["model.filter_lambda", "missing"]),
            (
                "radial_homes = true",
                ["model.radial_homes", "scheme = \"printed\""],
            ),
            (
                "scheme = \"printed\"\nfilter_lambda = 1.5",
                ["filter_lambda", "(0, 1]"],
            ),
            (
                "gravity_mps2 = [0.0, 0.0, nan]",
                ["gravity_mps2", "finite numbers"],
            ),
            ("drag_per_s = -1.0", ["drag_per_s", "0 or more"]),
            (
                "window = { radius_m = 0.0 }",
                ["window.radius_m", "greater than 0"],
            ),
            ("window = { at_once = true }", ["radius_m", "missing field"]),
            ("grasp = \"loose\"", ["loose", "shell"]),
        ] {
            let error = with(lines).expect_err(lines);
            assert!(
                parts.iter().all(|part| error.contains(part)),
                "{lines}: {error}"
            );
        }
    }
}
