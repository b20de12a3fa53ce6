//! What a caller may choose about an IDMS tissue, and why a choice is refused.
//!
//! Source: seed-004 3.3 to 3.8; defaults that the source does not print are marked "ours".

use crate::idms::law::Law;
use palpate_twin::Vec3;

/// How one step is integrated (seed-004 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Scheme {
    /// Velocity first, then position with the new velocity; exact length rates.
    #[default]
    SemiImplicit,
    /// Explicit Euler with dashpots on a filtered backward difference, as printed.
    Printed {
        /// Weight `lambda` of the newest difference, in (0, 1].
        lambda: f64,
        /// Whether home dashpots act on the length alone, as printed, rather than as vectors.
        radial_homes: bool,
    },
}

/// How a tool and the surface meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Contact {
    /// Continuous contact with the triangles.
    Face {
        /// Radius over which the surface shares a load \[m\]; zero keeps it on one triangle.
        patch_m: f64,
    },
    /// Every surface node inside the sphere is pushed out: the source's "seed" mode.
    Node,
}

/// What ties a grasped node to the tool (seed-004 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GraspLaw {
    /// A damped spring to a point fixed in the tool (W22).
    #[default]
    Fixed,
    /// An undamped spring on the distance alone, as printed: the node may swing on a shell.
    Shell,
}

/// The law of tissue between the jaws (ours): it resists closing below its width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pinch {
    /// Slope of the grip force against the opening \[N/m\].
    pub stiffness_npm: f64,
    /// Opening at which tissue begins to be squeezed \[m\].
    pub width_m: f64,
}

/// The haptic window: only atoms near a tool take part (seed-004 3.8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Radius around each tool's centre \[m\].
    pub radius_m: f64,
    /// Freeze an atom as soon as it is outside, as printed, which leaves dents and traps their
    /// energy (W14). Otherwise it first relaxes.
    pub at_once: bool,
}

/// When an atom counts as relaxed, so that it need not be stepped (ours).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    /// Displacement from rest above which an atom wakes its neighbours \[m\]; it sleeps below
    /// half of it.
    pub displacement_m: f64,
    /// The same for the speed \[m/s\].
    pub speed_mps: f64,
}

/// Choices for [`crate::idms::Idms::new`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdmsParams {
    /// Step that the stability gate must allow \[s\]: the longest `dt_s` the caller will use.
    pub dt_s: f64,
    /// Sub-steps in a step, at least 1.
    pub substeps: u32,
    /// Integration.
    pub scheme: Scheme,
    /// Force law of every spring.
    pub law: Law,
    /// Contact law.
    pub contact: Contact,
    /// Damping of contact over its critical value against the touched mass; 0 is off (W21).
    pub contact_damping_ratio: f64,
    /// Stiffest tool boundary that is honoured \[N/m\]; the gate is run with it.
    pub tool_stiffness_npm: f64,
    /// What a grasp is.
    pub grasp: GraspLaw,
    /// What the jaws feel.
    pub pinch: Pinch,
    /// The haptic window, if any.
    pub window: Option<Window>,
    /// When atoms sleep; `None` steps every atom always.
    pub rest: Option<Rest>,
    /// Gravity \[m/s^2\] (row S4-12). Nothing sleeps while it is not zero.
    pub gravity_mps2: Vec3,
    /// Drag `c_d` per mass in `f = -c_d m v` \[1/s\].
    pub drag_hz: f64,
    /// Time constant with which springs that an edit has shifted find back \[s\].
    pub relax_s: f64,
    /// Distance from rest beyond which an atom is put back \[m\]: the escape that keeps every
    /// state finite. Speeds are bounded by this distance in one millisecond.
    pub displacement_max_m: f64,
    /// Skip the stability gate: for experiments on instability only.
    pub unchecked: bool,
}

impl Default for IdmsParams {
    /// SI values for a sheet of centimetre edges.
    fn default() -> Self {
        Self {
            dt_s: 1e-3,
            substeps: 1,
            scheme: Scheme::SemiImplicit,
            law: Law::Linear,
            contact: Contact::Face { patch_m: 0.0 },
            contact_damping_ratio: 0.0,
            tool_stiffness_npm: 2000.0,
            grasp: GraspLaw::Fixed,
            pinch: Pinch {
                stiffness_npm: 400.0,
                width_m: 0.01,
            },
            window: None,
            rest: Some(Rest {
                displacement_m: 5e-6,
                speed_mps: 1e-4,
            }),
            gravity_mps2: Vec3::zeros(),
            drag_hz: 0.0,
            relax_s: 2.0,
            displacement_max_m: 1.0,
            unchecked: false,
        }
    }
}

impl IdmsParams {
    /// Check every field by itself.
    pub(super) fn check(&self) -> Result<(), IdmsError> {
        let natural = |field, value| at_least(field, value, 0.0, "a finite number, 0 or more");
        at_least("substeps", f64::from(self.substeps), 1.0, "1 or more")?;
        positive("dt_s", self.dt_s)?;
        positive("tool_stiffness_npm", self.tool_stiffness_npm)?;
        natural("contact_damping_ratio", self.contact_damping_ratio)?;
        natural("pinch.stiffness_npm", self.pinch.stiffness_npm)?;
        natural("pinch.width_m", self.pinch.width_m)?;
        natural("drag_hz", self.drag_hz)?;
        positive("relax_s", self.relax_s)?;
        positive("displacement_max_m", self.displacement_max_m)?;
        at_least(
            "gravity_mps2",
            self.gravity_mps2.norm(),
            0.0,
            "finite numbers",
        )?;
        if let Contact::Face { patch_m } = self.contact {
            natural("contact.patch_m", patch_m)?;
        }
        self.check_choices()
    }

    /// Check what only some choices have.
    fn check_choices(&self) -> Result<(), IdmsError> {
        if let Scheme::Printed { lambda, .. } = self.scheme {
            let within = if lambda <= 1.0 { lambda } else { f64::NAN };
            at_least(
                "filter_lambda",
                within,
                f64::MIN_POSITIVE,
                "a number in (0, 1]",
            )?;
        }
        if let Law::Fung { growth, steepest } = self.law {
            positive("fung_growth", growth)?;
            let expected = "a finite number greater than 1";
            at_least("fung_steepest", steepest, 1.0 + 1e-9, expected)?;
        }
        if let Some(window) = self.window {
            positive("window.radius_m", window.radius_m)?;
        }
        if let Some(rest) = self.rest {
            positive("rest.displacement_m", rest.displacement_m)?;
            positive("rest.speed_mps", rest.speed_mps)?;
        }
        Ok(())
    }
}

fn positive(field: &'static str, value: f64) -> Result<(), IdmsError> {
    at_least(
        field,
        value,
        f64::MIN_POSITIVE,
        "a finite number greater than 0",
    )
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

/// Why a tissue could not be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum IdmsError {
    /// A parameter is out of its range.
    #[error("parameter `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// An atom has a number that no tissue can have.
    #[error("atom {atom}: `{field}` is {value}; expected {expected}")]
    Atom {
        /// Index of the atom.
        atom: usize,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A link has a number that no tissue can have.
    #[error("link {link}: `{field}` is {value}; expected {expected}")]
    Link {
        /// Index of the link.
        link: usize,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A face names an atom that is not on the surface.
    #[error("face {face} names atom {atom}; expected one of the {surface} leading surface atoms")]
    Face {
        /// Index of the face.
        face: usize,
        /// Atom it names.
        atom: u32,
        /// Number of surface atoms.
        surface: usize,
    },
    /// Nothing of the lattice can move.
    #[error("lattice has {atoms} atoms and none of them is free; expected at least 1 free atom")]
    Rigid {
        /// Number of atoms.
        atoms: usize,
    },
    /// The step is too long for the lattice with its contact and grasp springs.
    #[error(
        "kappa + 2 beta = {reached:.4} at {dt_s} s per sub-step; expected {limit} or less: \
         use sub-steps of at most {dt_s_max:.3e} s, or softer or less damped links or tool"
    )]
    Unstable {
        /// Largest `kappa + 2 beta` of any shape.
        reached: f64,
        /// What is allowed.
        limit: f64,
        /// Sub-step asked for \[s\].
        dt_s: f64,
        /// Longest sub-step allowed \[s\].
        dt_s_max: f64,
    },
    /// The printed scheme lets some shape grow at this step.
    #[error(
        "the printed scheme grows by {radius:.5} a step at {dt_s} s per sub-step; expected less \
         than 1: use the semi-implicit scheme, or set `unchecked` for an experiment"
    )]
    Printed {
        /// Spectral radius of the worst shape.
        radius: f64,
        /// Sub-step asked for \[s\].
        dt_s: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_pass_and_every_bad_field_is_named() {
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
                "relax_s",
                IdmsParams {
                    relax_s: 0.0,
                    ..good
                },
            ),
            (
                "drag_hz",
                IdmsParams {
                    drag_hz: -1.0,
                    ..good
                },
            ),
            (
                "contact.patch_m",
                IdmsParams {
                    contact: Contact::Face { patch_m: -1.0 },
                    ..good
                },
            ),
            (
                "filter_lambda",
                IdmsParams {
                    scheme: Scheme::Printed {
                        lambda: 1.5,
                        radial_homes: false,
                    },
                    ..good
                },
            ),
            (
                "fung_steepest",
                IdmsParams {
                    law: Law::Fung {
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
