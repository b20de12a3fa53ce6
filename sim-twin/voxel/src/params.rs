//! Parameters of a voxel model and their validation.
//!
//! Source: seed-001 sections 3.4.3 (stability of the gain) and 3.4.6 (two stages a tick).

/// Parameters of a [`VoxelModel`](super::VoxelModel).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VoxelParams {
    /// Time that one Gauss-Seidel pass stands for \[s\]; it sets the relaxation time of the material.
    pub pass_s: f64,
    /// Over-relaxation factor of a pass, 0 to 2 exclusive: 1 moves a node to the least energy of its links, more
    /// settles the model sooner.
    pub omega: f32,
    /// Step of a pass, over the spacing, below which a run is settled; 0 to 0.1.
    pub settled_step: f32,
    /// Depth of a node in a tool, over the spacing, above which ChainMail moves it out; greater than 0, at most 10.
    pub chainmail_depth: f32,
    /// Coulomb's friction coefficient of pressing tools, 0 to 10.
    pub friction: f64,
    /// Coulomb's friction coefficient of smooth jaws, 0 to 10 (seed-004 row S4-P12). A grasped node slips if its pull
    /// across the jaws exceeds this times its squeeze force; the squeeze forces sum to twice the grip. None for
    /// toothed jaws, which hold by their shape.
    pub jaw_friction: Option<f64>,
    /// Enables tearing of links that jaws pull beyond their limits.
    pub tears: bool,
    /// Share of the wall's toughness that a curette pays, 0 to 1: 1 for a hand curette, less for a powered one.
    pub curette_share: f64,
    /// Greatest number of instrument changes that can be undone; a longer batch cannot be undone.
    pub undo_changes: usize,
}

impl Default for VoxelParams {
    fn default() -> Self {
        Self {
            pass_s: 1e-3,
            omega: 1.7,
            settled_step: 1e-6,
            chainmail_depth: 0.1,
            friction: 0.0,
            jaw_friction: None,
            tears: false,
            curette_share: 1.0,
            undo_changes: 1 << 16,
        }
    }
}

/// Smallest normal number above 0, the least value of a parameter that must exceed 0.
const ABOVE_0: f64 = f64::MIN_POSITIVE;

/// Error of an invalid parameter.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("parameter `{field}` is {value}; expected {expected}")]
pub struct VoxelParamsError {
    /// Name of the parameter.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// Expected range.
    pub expected: &'static str,
}

impl VoxelParams {
    /// Checks that all parameters are in range.
    ///
    /// # Errors
    /// [`VoxelParamsError`] of the first parameter that is out of range.
    pub fn check(&self) -> Result<(), VoxelParamsError> {
        let (omega, depth) = (self.omega.into(), self.chainmail_depth.into());
        let (step, step_max) = (self.settled_step.into(), f64::from(0.1_f32));
        let jaws = self.jaw_friction.unwrap_or(0.0);
        // a range contains no NaN
        for (field, value, range, expected) in [
            ("sweep_s", self.pass_s, 1e-5..=1.0, "0.00001 to 1 s"),
            (
                "omega",
                omega,
                ABOVE_0..=2.0_f64.next_down(),
                "more than 0 and less than 2",
            ),
            ("settled_step", step, 0.0..=step_max, "0 to 0.1"),
            ("friction", self.friction, 0.0..=10.0, "0 to 10"),
            ("jaw_friction", jaws, 0.0..=10.0, "0 to 10"),
            ("curette_share", self.curette_share, 0.0..=1.0, "0 to 1"),
            (
                "chainmail_depth",
                depth,
                ABOVE_0..=10.0,
                "more than 0, at most 10",
            ),
        ] {
            if !range.contains(&value) {
                return Err(VoxelParamsError {
                    field,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }
}
