//! The wave impedance and the method over a session, as the master's clock has them: what its frames tell
//! the slave (`palpate_transport::coupling::retune` and `switch` say why either makes no energy).

use palpate_transport::Time;
use palpate_transport::coupling::switch::EASE_S;
use palpate_transport::coupling::{CouplingParams, Mode};

/// Force of the method before that nobody feels any more \[N\].
const EASED_N: f64 = 1e-6;

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
    /// Take the impedance and the method that are due; whether the method is another than before.
    pub(crate) fn follow(&mut self, coupling: &CouplingParams, now: Time) -> bool {
        let since_s = (now - *self.began.get_or_insert(now)).s();
        let due = coupling
            .retune
            .impedance_nspm(coupling.impedance_nspm, since_s);
        let changed = self.impedance_nspm > 0.0 && due != self.impedance_nspm;
        self.epoch = self.epoch.wrapping_add(u32::from(changed));
        self.impedance_nspm = due;
        let mode = coupling.switch.mode(coupling.mode, since_s);
        self.mode.replace(mode).is_some_and(|before| before != mode)
    }
}

/// The demand of a method near the force of the one before: of the difference at a switch, `rest_n` is left.
pub(crate) fn eased(begins: bool, rest_n: &mut f64, demand_n: f64, last_n: f64, dt_s: f64) -> f64 {
    if begins && demand_n.is_finite() {
        *rest_n = last_n - demand_n;
    }
    if *rest_n == 0.0 {
        return demand_n;
    }
    let felt_n = demand_n + *rest_n;
    *rest_n *= 1.0 - (dt_s / EASE_S).min(1.0);
    if rest_n.abs() < EASED_N {
        *rest_n = 0.0;
    }
    felt_n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_force_goes_over_to_the_next_method_without_a_leap() {
        let mut rest_n = 0.0;
        assert_eq!(eased(true, &mut rest_n, 1.0, 3.0, 1e-3), 3.0);
        let mut last_n = 3.0;
        for _ in 0..2000 {
            let felt_n = eased(false, &mut rest_n, 1.0, last_n, 1e-3);
            assert!(felt_n <= last_n && last_n - felt_n < 0.03);
            last_n = felt_n;
        }
        // and then it is the method's own, bit for bit
        assert_eq!((last_n, rest_n), (1.0, 0.0));
        // what is no number is left to the guard, and does not stay
        assert!(eased(true, &mut rest_n, f64::NAN, 1.0, 1e-3).is_nan());
        assert_eq!(eased(false, &mut rest_n, 1.0, 1.0, 1e-3), 1.0);
    }
}
