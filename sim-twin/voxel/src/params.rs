//! Choices of the model, and why some cannot be.
//!
//! Source: seed-001 section 3.4.3 (stability of the gain) and 3.4.6 (two stages a tick).

/// Choices of [`super::Linked`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkedParams {
    /// Time that one relaxation sweep stands for \[s\]: the material forgets by sweeps, and by this they
    /// are seconds.
    pub sweep_s: f64,
    /// How far an element goes towards the least energy of its links in a sweep, 0 to 2, both excluded:
    /// 1 goes all the way, more settles the whole sooner (successive over-relaxation).
    pub omega: f32,
    /// Way of a sweep, over the spacing, below which a row is still; 0 or more.
    pub still: f32,
    /// Depth of an element in a tool, over the spacing, from which the chain is asked to move it out
    /// with all that must follow; greater than 0.
    pub deep: f32,
    /// Coulomb's coefficient of what tools press, 0 or more.
    pub friction: f64,
    /// Coulomb's coefficient of smooth jaws, 0 or more (seed-004 row S4-P12): an element that they have slips where it is
    /// pulled across them by more than this times what squeezes it, and the sum of what squeezes all is twice the grip.
    /// None of toothed ones, which hold by their shape.
    pub jaw_friction: Option<f64>,
    /// Whether links break that what jaws pull has stretched as far as they go.
    pub tears: bool,
    /// Share of the toughness of the wall that it leaves which a curette pays, 0 to 1: all of a plain spoon, less of
    /// one that is driven.
    pub curette_share: f64,
    /// Most changes by instruments that can be taken back; a stroke of more cannot.
    pub undo: usize,
}

impl Default for LinkedParams {
    fn default() -> Self {
        Self {
            sweep_s: 1e-3,
            omega: 1.7,
            still: 1e-6,
            deep: 0.1,
            friction: 0.0,
            jaw_friction: None,
            tears: false,
            curette_share: 1.0,
            undo: 1 << 16,
        }
    }
}

/// Why there is no such model.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("parameter `{field}` is {value}; expected {expected}")]
pub struct LinkedError {
    /// Which parameter.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl LinkedParams {
    /// Whether a model can be stepped so.
    ///
    /// # Errors
    /// [`LinkedError`] of the first parameter that is out of range.
    pub fn check(&self) -> Result<(), LinkedError> {
        let refuse = |field, value: f64, expected| {
            Err(LinkedError {
                field,
                value,
                expected,
            })
        };
        if !(1e-5..=1.0).contains(&self.sweep_s) {
            return refuse("sweep_s", self.sweep_s, "0.00001 to 1 s");
        }
        if !(self.omega > 0.0 && self.omega < 2.0) {
            return refuse("omega", self.omega.into(), "more than 0 and less than 2");
        }
        if !(0.0..=0.1).contains(&self.still) {
            return refuse("still", self.still.into(), "0 to 0.1");
        }
        if !(0.0..=10.0).contains(&self.friction) {
            return refuse("friction", self.friction, "0 to 10");
        }
        if let Some(own) = self.jaw_friction.filter(|own| !(0.0..=10.0).contains(own)) {
            return refuse("jaw_friction", own, "0 to 10");
        }
        if !(0.0..=1.0).contains(&self.curette_share) {
            return refuse("curette_share", self.curette_share, "0 to 1");
        }
        if !(self.deep > 0.0 && self.deep <= 10.0) {
            return refuse("deep", self.deep.into(), "more than 0, at most 10");
        }
        Ok(())
    }
}
