//! Parts that the integration tests in `tests/tests` share.

use palpate_session::audit::{Audit, PortTraces, audit};
use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

/// Modes that claim passivity.
pub const PASSIVE: [Mode; 7] = [
    Mode::Wave,
    Mode::Tdpa,
    Mode::WaveTdpa,
    Mode::Tank,
    Mode::Pspm,
    Mode::Mmt,
    Mode::Auto,
];

/// Records of both sides of a whole session in virtual time, the master's first.
///
/// # Panics
/// If the session cannot be built.
#[must_use]
pub fn both_records(config: &Config) -> [Vec<TickRecord>; 2] {
    let mut session = VirtualSession::new(config).expect("a valid session");
    let mut both = [Vec::new(), Vec::new()];
    for _ in 0..session.ticks() {
        let step = session.step();
        both[0].push(step.master);
        both[1].push(step.slave);
    }
    both
}

/// Audits the records of both sides of a session, on one clock.
#[must_use]
pub fn audited(master: &[TickRecord], slave: &[TickRecord]) -> Audit {
    let ports = PortTraces {
        master,
        slave,
        slave_clock_ahead: Span(0),
    };
    audit(&ports, 1)
}

/// Least energy of any axis or of all together \[J\]; NaN if one is NaN.
#[must_use]
pub fn least_energy_j(verdict: &Audit) -> f64 {
    let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
    // NaN is kept: no comparison with it is true
    let least = |a: f64, b: f64| if a < b || a.is_nan() { a } else { b };
    axes.fold(verdict.min_channel_energy_j, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_energy_keeps_nan() {
        let mut verdict = Audit {
            min_channel_energy_per_axis_j: [0.0, -2.0, 1.0, 0.0],
            min_channel_energy_j: -1.0,
            ..Audit::default()
        };
        assert_eq!(least_energy_j(&verdict), -2.0);
        for axis in 0..4 {
            let mut poisoned = verdict.clone();
            poisoned.min_channel_energy_per_axis_j[axis] = f64::NAN;
            assert!(least_energy_j(&poisoned).is_nan());
        }
        verdict.min_channel_energy_j = f64::NAN;
        assert!(least_energy_j(&verdict).is_nan());
    }
}
