//! Parameters of an IDMS tissue, and the errors of invalid ones.
//!
//! Source: seed-004 3.3 to 3.8; defaults that the source does not print are marked "ours".

use crate::idms::law::SpringLaw;
use palpate_twin::Vec3;
use serde::Deserialize;

/// Integration scheme of one step (seed-004 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TimeIntegration {
    /// Velocity first, then position with the new velocity; exact length rates.
    #[default]
    SemiImplicit,
    /// Explicit Euler with dashpots on a filtered backward difference, as printed.
    FilteredEuler {
        /// Weight `lambda` of the newest difference, in (0, 1].
        lambda: f64,
        /// True if home dashpots act on the length alone, as printed, rather than as vectors.
        radial_homes: bool,
    },
}

/// Contact method of a tool and the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatticeContact {
    /// Continuous contact with the triangles.
    Face {
        /// Radius over which the surface distributes a load \[m\]; zero keeps it on one triangle.
        patch_m: f64,
    },
    /// Pushes out every surface node inside the sphere: the source's "seed" mode.
    Node,
}

/// Spring between a grasped node and the tool (seed-004 3.6), by its name in a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraspLaw {
    /// A damped spring to a point fixed in the tool (W22).
    #[default]
    Fixed,
    /// An undamped spring on the distance alone, as printed: the node may swing on a spherical shell.
    Shell,
}

/// Force law of tissue between the jaws (ours): it resists closing below its width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinchLaw {
    /// Slope of the grip force against the opening \[N/m\].
    pub stiffness_npm: f64,
    /// Opening at which the tissue begins to resist \[m\].
    pub width_m: f64,
}

/// Haptic window of a scene: only atoms near a tool take part (seed-004 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HapticWindow {
    /// Radius around each tool's centre \[m\].
    pub radius_m: f64,
    /// Freezes an atom as soon as it is outside, as printed, which leaves dents and traps their
    /// energy (W14). Otherwise it first relaxes.
    #[serde(default)]
    pub at_once: bool,
}

/// Parameters of [`crate::idms::Idms::new`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdmsParams {
    /// Step that the stability gate must allow \[s\]: the longest `dt_s` of the caller.
    pub dt_s: f64,
    /// Sub-steps in a step, at least 1.
    pub substeps: u32,
    /// Integration.
    pub scheme: TimeIntegration,
    /// Force law of every spring.
    pub law: SpringLaw,
    /// Contact law.
    pub contact: LatticeContact,
    /// Damping of contact over its critical value against the touched mass; 0 is off (W21).
    pub contact_damping_ratio: f64,
    /// Largest accepted stiffness of a tool's boundary \[N/m\]; the stability gate uses it.
    pub tool_stiffness_npm: f64,
    /// Force law of a grasp.
    pub grasp: GraspLaw,
    /// Force law of a pinch.
    pub pinch: PinchLaw,
    /// The haptic window, if any.
    pub window: Option<HapticWindow>,
    /// True if atoms at rest leave the active set (ours).
    pub sleeps: bool,
    /// Gravity \[m/s^2\] (row S4-12). All atoms are active while it is not zero.
    pub gravity_mps2: Vec3,
    /// Drag `c_d` per mass in `f = -c_d m v` \[1/s\].
    pub drag_per_s: f64,
    /// Distance from rest beyond which an atom is reset \[m\]: the escape that keeps every
    /// state finite. Speeds are bounded by this distance in one millisecond.
    pub displacement_max_m: f64,
    /// Skips the stability gate: for experiments on instability only.
    pub unchecked: bool,
}

impl Default for IdmsParams {
    /// SI values for a sheet of centimetre edges.
    fn default() -> Self {
        Self {
            dt_s: 1e-3,
            substeps: 1,
            scheme: TimeIntegration::SemiImplicit,
            law: SpringLaw::Linear,
            contact: LatticeContact::Face { patch_m: 0.0 },
            contact_damping_ratio: 0.0,
            tool_stiffness_npm: 2000.0,
            grasp: GraspLaw::Fixed,
            pinch: PinchLaw {
                stiffness_npm: 400.0,
                width_m: 0.01,
            },
            window: None,
            sleeps: true,
            gravity_mps2: Vec3::zeros(),
            drag_per_s: 0.0,
            displacement_max_m: 1.0,
            unchecked: false,
        }
    }
}

impl IdmsParams {
    /// Checks every field by itself.
    pub(super) fn check(&self) -> Result<(), IdmsError> {
        let natural = |field, value| at_least(field, value, 0.0, "a finite number, 0 or more");
        let positive = |field, value| {
            let expected = "a finite number greater than 0";
            at_least(field, value, f64::MIN_POSITIVE, expected)
        };
        at_least("substeps", f64::from(self.substeps), 1.0, "1 or more")?;
        positive("dt_s", self.dt_s)?;
        positive("tool_stiffness_npm", self.tool_stiffness_npm)?;
        natural("contact_damping_ratio", self.contact_damping_ratio)?;
        natural("pinch.stiffness_npm", self.pinch.stiffness_npm)?;
        natural("pinch.width_m", self.pinch.width_m)?;
        natural("drag_per_s", self.drag_per_s)?;
        positive("displacement_max_m", self.displacement_max_m)?;
        at_least(
            "gravity_mps2",
            self.gravity_mps2.norm(),
            0.0,
            "finite numbers",
        )?;
        if let LatticeContact::Face { patch_m } = self.contact {
            natural("contact.patch_m", patch_m)?;
        }
        if let TimeIntegration::FilteredEuler { lambda, .. } = self.scheme {
            let within = if lambda <= 1.0 { lambda } else { f64::NAN };
            at_least(
                "filter_lambda",
                within,
                f64::MIN_POSITIVE,
                "a number in (0, 1]",
            )?;
        }
        if let SpringLaw::Fung { growth, steepest } = self.law {
            positive("fung_growth", growth)?;
            let expected = "a finite number greater than 1";
            at_least("fung_steepest", steepest, 1.0 + 1e-9, expected)?;
        }
        if let Some(window) = self.window {
            positive("window.radius_m", window.radius_m)?;
        }
        Ok(())
    }

    /// True if home dashpots act along their springs alone.
    pub(super) fn radial_homes(&self) -> bool {
        matches!(
            self.scheme,
            TimeIntegration::FilteredEuler {
                radial_homes: true,
                ..
            }
        )
    }
}

fn at_least(
    field: &'static str,
    value: f64,
    least: f64,
    expected: &'static str,
) -> Result<(), IdmsError> {
    if value >= least && value.is_finite() {
        return Ok(());
    }
    Err(IdmsError::Field {
        field,
        value,
        expected,
    })
}

/// Errors of the construction of a tissue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum IdmsError {
    /// A parameter is out of its range.
    #[error("parameter `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// Expected range.
        expected: &'static str,
    },
    /// The step is too long for the lattice with its contact and grasp springs.
    #[error(
        "kappa + 2 beta = {reached:.4} at {dt_s} s per sub-step; expected {limit} or less: \
         use sub-steps of at most {dt_s_max:.3e} s, or softer or less damped links or tool"
    )]
    Unstable {
        /// Largest `kappa + 2 beta` of any mode shape.
        reached: f64,
        /// Allowed limit.
        limit: f64,
        /// Requested sub-step \[s\].
        dt_s: f64,
        /// Longest sub-step allowed \[s\].
        dt_s_max: f64,
    },
    /// Some mode shape grows under the printed scheme at this step.
    #[error(
        "the printed scheme grows by {radius:.5} a step at {dt_s} s per sub-step; expected less \
         than 1: use the semi-implicit scheme, or set `unchecked` for an experiment"
    )]
    FilteredEulerUnstable {
        /// Spectral radius of the worst mode shape.
        radius: f64,
        /// Requested sub-step \[s\].
        dt_s: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_field() {
        assert_eq!(IdmsParams::default().check(), Ok(()));
        let good = IdmsParams::default();
        let bad = [
            (
                "dt_s",
                IdmsParams {
                    dt_s: f64::NAN,
                    ..good
                },
            ),
            (
                "substeps",
                IdmsParams {
                    substeps: 0,
                    ..good
                },
            ),
            (
                "drag_per_s",
                IdmsParams {
                    drag_per_s: -1.0,
                    ..good
                },
            ),
            (
                "contact.patch_m",
                IdmsParams {
                    contact: LatticeContact::Face { patch_m: -1.0 },
                    ..good
                },
            ),
            (
                "filter_lambda",
                IdmsParams {
                    scheme: TimeIntegration::FilteredEuler {
                        lambda: 1.5,
                        radial_homes: false,
                    },
                    ..good
                },
            ),
            (
                "fung_steepest",
                IdmsParams {
                    law: SpringLaw::Fung {
                        growth: 1.0,
                        steepest: 1.0,
                    },
                    ..good
                },
            ),
        ];
        for (name, params) in bad {
            match params.check() {
                Err(IdmsError::Field { field, .. }) => assert_eq!(field, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
