//! A twin that goes over to another scene while a session runs, such as to what was identified from touch.
//!
//! Source: ours, by the steps of [`palpate_scene::Steps`] (teleop E16). Twin and shadow go the same
//! way, each in its own time: a tissue that is touched takes small steps, as far as what it has dissipated
//! pays for them, and one that nobody touches changes at once.

use palpate_scene::{STEP_LOG, Steps};
use palpate_twin::Tissue;

/// Ticks from one edit to the next: less than one percent of the force in 20 ms.
const EVERY: u32 = 20;

/// What is left of the way, for both tissues.
#[derive(Debug, Clone)]
pub(super) struct Towards {
    twin: Steps,
    shadow: Steps,
    ticks: u32,
}

/// What a tick changed in the twin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Change {
    /// Whether it changed at all.
    pub(super) changed: bool,
    /// Energy that this put into it \[J\].
    pub(super) energy_j: f64,
    /// Bound of the change of a felt force, over the force; 0 off the tissue.
    pub(super) felt: f64,
}

impl Towards {
    pub(super) fn new(steps: Steps) -> Self {
        Self {
            twin: steps.clone(),
            shadow: steps,
            ticks: 0,
        }
    }

    /// Whether both have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.twin.is_done() && self.shadow.is_done()
    }

    /// Advance by one tick; `touched` says it of twin and shadow, which never change in one tick.
    pub(super) fn step(
        &mut self,
        twin: &mut dyn Tissue,
        shadow: &mut dyn Tissue,
        touched: [bool; 2],
    ) -> Change {
        self.ticks = (self.ticks + 1) % EVERY;
        if self.ticks == EVERY / 2 {
            take(&mut self.shadow, shadow, touched[1]);
        }
        if self.ticks != 0 {
            return Change::default();
        }
        take(&mut self.twin, twin, touched[0])
    }
}

/// One edit, if there is one left. A tissue that refuses it stays as it is.
fn take(steps: &mut Steps, tissue: &mut dyn Tissue, touched: bool) -> Change {
    let report = steps.edit(touched).and_then(|edit| tissue.edit(&edit).ok());
    let Some(report) = report else {
        return Change::default();
    };
    steps.took(&report);
    let changed = report.share > 0.0;
    let felt = if changed && touched {
        libm::expm1(STEP_LOG)
    } else {
        0.0
    };
    Change {
        changed,
        energy_j: report.energy_j,
        felt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_scene as scene;
    use palpate_scene::{Body, Scene};

    fn pad(young_pa: f64) -> Scene {
        let text = format!(
            "name = \"pad\"\n[block]\nsize_m = [0.04, 0.04, 0.02]\ncell_m = 0.005\nlevels = 1\n\
             fine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = {young_pa}\n\
             [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n"
        );
        scene::load(&text).expect("a scene")
    }

    #[test]
    fn off_the_tissue_both_arrive_at_once_and_under_a_hand_by_small_steps() {
        let (from, to) = (pad(5000.0), pad(4000.0));
        assert!(matches!(from.body, Body::Block(_)));
        let arrive = |touched: [bool; 2]| {
            let mut both = [
                from.build().expect("a block"),
                from.build().expect("a block"),
            ];
            let mut towards = Towards::new(Steps::between(&from, &to).expect("alike"));
            let (mut edits, mut felt) = (0, 0.0_f64);
            for _ in 0..100 * EVERY {
                let [twin, shadow] = &mut both;
                let change = towards.step(twin.as_mut(), shadow.as_mut(), touched);
                edits += u32::from(change.changed);
                felt = felt.max(change.felt);
            }
            (towards.is_done(), edits, felt)
        };
        assert_eq!(arrive([false; 2]), (true, 1, 0.0));
        let (done, edits, felt) = arrive([true; 2]);
        // ln(0.8) in steps of 0.4 %
        assert!(done && (50..60).contains(&edits), "{edits}");
        assert!(felt > 0.0 && felt < 0.01, "{felt}");
    }
}
