//! Schedule of the wave impedance and the coupling method over a session, by the master's clock. The frames carry
//! both to the slave (`palpate_transport::coupling::retune` and `mode_switch` show why neither change adds energy).

use palpate_transport::Time;
use palpate_transport::coupling::{CouplingParams, Mode};

/// Wave impedance and coupling method of the present tick.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CouplingSchedule {
    start: Option<Time>,
    /// b \[N s/m\]; 0 before the first tick.
    pub(crate) impedance_nspm: f64,
    /// Changes so far.
    pub(crate) epoch: u32,
    /// Method; none before the first tick.
    pub(crate) mode: Option<Mode>,
}

impl CouplingSchedule {
    /// Sets the impedance and the method that are due at `now`.
    pub(crate) fn advance(&mut self, coupling: &CouplingParams, now: Time) {
        let since_s = (now - *self.start.get_or_insert(now)).s();
        let due = coupling
            .retune
            .impedance_nspm(coupling.impedance_nspm, since_s);
        let changed = self.impedance_nspm > 0.0 && due != self.impedance_nspm;
        self.epoch = self.epoch.wrapping_add(u32::from(changed));
        self.impedance_nspm = due;
        self.mode = Some(coupling.switch.mode_at(coupling.mode, since_s));
    }
}
