//! Classic gain for a variable delay, kept as a baseline: scales the wave by the rate of delay.
//!
//! Source: teleop E6a (Lozano, Chopra and Spong 2002): `u_s(t) = f u_m(t - T1(t))` is passive for
//! `f^2 <= 1 - dT1/dt`. A packet whose wave was sent for `s` seconds and is held for `h` carries
//! `u^2 s / 2` and gives `f^2 u^2 h / 2`, so `f = sqrt(s / h)` balances it. The specification `teleop`
//! (docs/sources.md) has this form as own knowledge, and the tests below derive it a second way, by the energies of a
//! held packet and by `1 - dT1/dt = ds/dt`.
//!
//! The time for which a packet *will* be held is unknown on its arrival. So `h` is the time since then, at
//! least the time between the last two arrivals: an estimate, which is why the energy tank
//! ([`super::EnergyTank`]) stays behind it. Compared with the decoder of integrals it loses the motion of
//! lost packets, and scales down after every late one.

use super::age_jitter::AgeJitter;

/// Gain for a wave sent for `sent_s` and held for `held_s`: `min(1, sqrt(sent / held))`.
fn gain(sent_s: f64, held_s: f64) -> f64 {
    if held_s > 0.0 && sent_s > 0.0 {
        (sent_s / held_s).sqrt().min(1.0)
    } else {
        0.0
    }
}

/// Spacing of the newest frame: the interval that it stands for, and the time for which it is used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct FrameSpacing {
    sequence: u64,
    sent_ns: i64,
    send_interval_s: f64,
    arrival_interval_s: f64,
    held_s: f64,
    pub(super) jitter: AgeJitter,
}

impl FrameSpacing {
    /// Records the newest frame of this tick.
    pub(super) fn update(&mut self, sequence: u64, sent_ns: i64, dt_s: f64) {
        let known = self.sequence > 0;
        let apart_s = sent_ns.saturating_sub(self.sent_ns) as f64 * 1e-9;
        if sequence == self.sequence {
            if known {
                self.jitter.record(0.0, self.held_s, dt_s);
            }
            self.held_s += dt_s;
            return;
        }
        let transit_change_s = if known { self.held_s - apart_s } else { 0.0 };
        self.jitter.record(transit_change_s, 0.0, dt_s);
        self.send_interval_s = if known { apart_s } else { dt_s };
        self.arrival_interval_s = if known { self.held_s } else { dt_s };
        self.held_s = dt_s;
        self.sequence = sequence;
        self.sent_ns = sent_ns;
    }

    /// Newest wave scaled for use in this tick; 0 if it is too old to be held.
    pub(super) fn scaled_wave(&self, wave: f64, fresh: bool) -> f64 {
        if fresh { self.gain() * wave } else { 0.0 }
    }

    /// Gain of the newest wave in this tick.
    fn gain(&self) -> f64 {
        gain(
            self.send_interval_s,
            self.arrival_interval_s.max(self.held_s),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn held_packet_gives_the_energy_it_carried(u in -5.0f64..5.0, s in 1e-4f64..0.1, h in 1e-4f64..0.1) {
            let f = gain(s, h);
            prop_assert!(f * f * u * u * h <= u * u * s * (1.0 + 1e-12));
            // no more is lost than must be
            prop_assert!(h < s || (f * f * h - s).abs() < 1e-12);
        }

        #[test]
        fn gain_is_the_root_of_one_minus_the_delay_rate(rate in -2.0f64..0.99) {
            // interval dt of arrivals for ds of sendings: T1 = t - s, so dT1/dt = 1 - ds/dt
            let (arrival_s, sent_s) = (1e-3, 1e-3 * (1.0 - rate));
            let f = gain(sent_s, arrival_s);
            prop_assert!(f * f <= 1.0 - rate + 1e-12);
            prop_assert!(rate < 0.0 || (f * f - (1.0 - rate)).abs() < 1e-9);
        }
    }

    #[test]
    fn steady_stream_passes_and_held_frame_fades() {
        let mut spacing = FrameSpacing::default();
        for k in 1..10 {
            spacing.update(k, k as i64 * 1_000_000, 1e-3);
            assert!((spacing.gain() - 1.0).abs() < 1e-9);
        }
        for fresh in 2..5 {
            spacing.update(9, 9_000_000, 1e-3);
            assert!((spacing.gain() - (1.0 / f64::from(fresh)).sqrt()).abs() < 1e-9);
        }
        assert_eq!(FrameSpacing::default().gain(), 0.0);
        // a frame stamped earlier than the last one gives zero
        spacing.update(10, 0, 1e-3);
        assert_eq!(spacing.gain(), 0.0);
    }
}
