//! Morph of twin and shadow to another scene while a session runs, such as to identified parameters.
//!
//! Source: ours, by [`palpate_scene::MorphSteps`] (teleop E16). Twin and shadow take the same steps,
//! each at its own rate: a tissue in contact takes small steps, as far as the energy that it has dissipated
//! pays for them, and one without contact changes at once.

use palpate_scene::{MORPH_STEP_LOG, MorphSteps};
use palpate_twin::Tissue;

/// Ticks from one edit to the next: less than one percent of the force in 20 ms.
const TICKS_PER_EDIT: u32 = 20;

/// Remaining steps of both tissues.
#[derive(Debug, Clone)]
pub(super) struct SceneMorph {
    twin: MorphSteps,
    shadow: MorphSteps,
    ticks: u32,
}

/// Change of the twin in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct MorphChange {
    /// True if the twin changed.
    pub(super) changed: bool,
    /// Energy that the change put into it \[J\].
    pub(super) energy_j: f64,
    /// Bound of the relative change of the force; 0 without contact.
    pub(super) force_change_max: f64,
}

impl SceneMorph {
    pub(super) fn new(steps: MorphSteps) -> Self {
        Self {
            twin: steps.clone(),
            shadow: steps,
            ticks: 0,
        }
    }

    /// True if both tissues have completed the morph.
    pub(super) fn is_done(&self) -> bool {
        self.twin.is_done() && self.shadow.is_done()
    }

    /// Advances by one tick; `in_contact` is of twin and shadow, which never change in the same tick.
    pub(super) fn step(
        &mut self,
        twin: &mut dyn Tissue,
        shadow: &mut dyn Tissue,
        in_contact: [bool; 2],
    ) -> MorphChange {
        self.ticks = (self.ticks + 1) % TICKS_PER_EDIT;
        if self.ticks == TICKS_PER_EDIT / 2 {
            take_step(&mut self.shadow, shadow, in_contact[1]);
        }
        if self.ticks != 0 {
            return MorphChange::default();
        }
        take_step(&mut self.twin, twin, in_contact[0])
    }
}

/// Applies one edit, if one remains. A tissue that refuses it is unchanged.
fn take_step(steps: &mut MorphSteps, tissue: &mut dyn Tissue, in_contact: bool) -> MorphChange {
    let report = steps
        .next_edit(in_contact)
        .and_then(|edit| tissue.edit(&edit).ok());
    let Some(report) = report else {
        return MorphChange::default();
    };
    steps.record(&report);
    let changed = report.applied_fraction > 0.0;
    let force_change = if changed && in_contact {
        libm::expm1(MORPH_STEP_LOG)
    } else {
        0.0
    };
    MorphChange {
        changed,
        energy_j: report.energy_j,
        force_change_max: force_change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_scene as scene;
    use palpate_scene::{Scene, SceneBody};

    fn pad(young_pa: f64) -> Scene {
        let text = format!(
            "name = \"pad\"\n[block]\nsize_m = [0.04, 0.04, 0.02]\ncell_m = 0.005\nlevels = 1\n\
             fine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = {young_pa}\n\
             [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n"
        );
        scene::load(&text).expect("a scene")
    }

    #[test]
    fn morph_is_immediate_without_contact_and_gradual_in_contact() {
        let (from, to) = (pad(5000.0), pad(4000.0));
        assert!(matches!(from.body, SceneBody::Block(_)));
        let arrive = |in_contact: [bool; 2]| {
            let mut both = [
                from.build().expect("a block"),
                from.build().expect("a block"),
            ];
            let mut morph = SceneMorph::new(MorphSteps::between(&from, &to).expect("alike"));
            let (mut edits, mut force_change) = (0, 0.0_f64);
            for _ in 0..100 * TICKS_PER_EDIT {
                let [twin, shadow] = &mut both;
                let change = morph.step(twin.as_mut(), shadow.as_mut(), in_contact);
                edits += u32::from(change.changed);
                force_change = force_change.max(change.force_change_max);
            }
            (morph.is_done(), edits, force_change)
        };
        assert_eq!(arrive([false; 2]), (true, 1, 0.0));
        let (done, edits, force_change) = arrive([true; 2]);
        // ln(0.8) in steps of 0.4 %
        assert!(done && (50..60).contains(&edits), "{edits}");
        assert!(force_change > 0.0 && force_change < 0.01, "{force_change}");
    }
}
