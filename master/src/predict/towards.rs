//! A twin that goes over to another scene while a session runs, such as to what was identified from touch.
//!
//! Source: ours, by the steps of [`palpate_twin::scene::Steps`] (teleop E16). Twin and shadow go the same
//! way, each in its own time: a tissue that is touched takes small steps, as far as what it has dissipated
//! pays for them, and one that nobody touches changes at once.

use palpate_twin::Tissue;
use palpate_twin::scene::Steps;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// A little, under a hand or not.
    Small,
    /// As much as there was, off the tissue: what was learnt about the former one says nothing now.
    Whole,
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

    /// Advance by one tick; `touched` says it of twin and shadow.
    pub(super) fn step(
        &mut self,
        twin: &mut dyn Tissue,
        shadow: &mut dyn Tissue,
        touched: [bool; 2],
    ) -> Change {
        self.ticks = (self.ticks + 1) % EVERY;
        if self.ticks != 0 {
            return Change::None;
        }
        take(&mut self.shadow, shadow, touched[1]);
        match (take(&mut self.twin, twin, touched[0]), touched[0]) {
            (false, _) => Change::None,
            (true, true) => Change::Small,
            (true, false) => Change::Whole,
        }
    }
}

/// One edit; whether there was one. A tissue that refuses it stays as it is.
fn take(steps: &mut Steps, tissue: &mut dyn Tissue, touched: bool) -> bool {
    let Some(edit) = steps.edit(touched) else {
        return false;
    };
    match tissue.edit(&edit) {
        Ok(report) => steps.took(&report),
        Err(_) => return false,
    }
    true
}
