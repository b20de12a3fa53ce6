//! The wave impedance and the method over a session, as the master's clock has them: what its frames tell
//! the slave (`palpate_transport::coupling::retune` and `switch` say why either makes no energy).

use palpate_transport::Time;
use palpate_transport::coupling::{CouplingParams, Mode};

/// The wave impedance and the method as they are now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tuning {
    began: Option<Time>,
    /// b \[N s/m\]; 0 before the first tick.
    pub(crate) impedance_nspm: f64,
    /// Changes so far.
    pub(crate) epoch: u32,
    /// Method; none before the first tick.
    pub(crate) mode: Option<Mode>,
}

impl Tuning {
    /// Take the impedance and the method that are due.
    pub(crate) fn follow(&mut self, coupling: &CouplingParams, now: Time) {
        let since_s = (now - *self.began.get_or_insert(now)).s();
        let due = coupling
            .retune
            .impedance_nspm(coupling.impedance_nspm, since_s);
        let changed = self.impedance_nspm > 0.0 && due != self.impedance_nspm;
        self.epoch = self.epoch.wrapping_add(u32::from(changed));
        self.impedance_nspm = due;
        self.mode = Some(coupling.switch.mode(coupling.mode, since_s));
    }
}
