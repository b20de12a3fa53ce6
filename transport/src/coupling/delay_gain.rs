//! The classic remedy for a variable delay, kept as a baseline: scale the wave by the rate of delay.
//!
//! Source: teleop E6a (Lozano, Chopra and Spong 2002): `u_s(t) = f u_m(t - T1(t))` is passive for
//! `f^2 <= 1 - dT1/dt`. A packet whose wave was sent for `s` seconds and is held for `h` carries
//! `u^2 s / 2` and gives `f^2 u^2 h / 2`, so `f = sqrt(s / h)` balances it; the sheet has this form as
//! own knowledge, and the tests below derive it a second way, by the energies of a held packet and by
//! `1 - dT1/dt = ds/dt`.
//!
//! How long a packet *will* be held is not known when it comes. So `h` is what has passed so far, at
//! least the time between the last two arrivals: an estimate, which is why the energy account
//! ([`super::Reservoir`]) stays behind it. Against the account's own decoder it loses motion that a
//! lost packet carried, and scales down after every late one.

/// Gain for a wave sent for `sent_s` and held for `held_s`: `min(1, sqrt(sent / held))`.
fn gain(sent_s: f64, held_s: f64) -> f64 {
    if held_s > 0.0 && sent_s > 0.0 {
        (sent_s / held_s).sqrt().min(1.0)
    } else {
        0.0
    }
}

/// Spacing of the newest frame: how long it stands for, and how long it is used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spacing {
    sequence: u64,
    sent_ns: i64,
    sent_s: f64,
    arrival_s: f64,
    held_s: f64,
}

impl Spacing {
    /// Note the newest frame of this tick.
    pub(super) fn note(&mut self, sequence: u64, sent_ns: i64, dt_s: f64) {
        if sequence == self.sequence {
            self.held_s += dt_s;
            return;
        }
        let known = self.sequence > 0;
        let apart_s = sent_ns.saturating_sub(self.sent_ns) as f64 * 1e-9;
        self.sent_s = if known { apart_s } else { dt_s };
        self.arrival_s = if known { self.held_s } else { dt_s };
        self.held_s = dt_s;
        self.sequence = sequence;
        self.sent_ns = sent_ns;
    }

    /// The newest wave as it may be used in this tick; nothing of one that is too old to be held.
    pub(super) fn used(&self, wave: f64, held: bool) -> f64 {
        if held { self.gain() * wave } else { 0.0 }
    }

    /// Gain of the newest wave in this tick.
    fn gain(&self) -> f64 {
        gain(self.sent_s, self.arrival_s.max(self.held_s))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_held_packet_gives_what_it_carried(u in -5.0f64..5.0, s in 1e-4f64..0.1, h in 1e-4f64..0.1) {
            let f = gain(s, h);
            prop_assert!(f * f * u * u * h <= u * u * s * (1.0 + 1e-12));
            // no more is lost than must be
            prop_assert!(h < s || (f * f * h - s).abs() < 1e-12);
        }

        #[test]
        fn gain_is_the_root_of_one_less_the_rate_of_delay(rate in -2.0f64..0.99) {
            // dt of arrivals for ds of sendings: T1 = t - s, so dT1/dt = 1 - ds/dt
            let (arrival_s, sent_s) = (1e-3, 1e-3 * (1.0 - rate));
            let f = gain(sent_s, arrival_s);
            prop_assert!(f * f <= 1.0 - rate + 1e-12);
            prop_assert!(rate < 0.0 || (f * f - (1.0 - rate)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_steady_stream_passes_whole_and_a_held_frame_fades() {
        let mut spacing = Spacing::default();
        for k in 1..10 {
            spacing.note(k, k as i64 * 1_000_000, 1e-3);
            assert!((spacing.gain() - 1.0).abs() < 1e-9);
        }
        for held in 2..5 {
            spacing.note(9, 9_000_000, 1e-3);
            assert!((spacing.gain() - (1.0 / f64::from(held)).sqrt()).abs() < 1e-9);
        }
        assert_eq!(Spacing::default().gain(), 0.0);
        // a frame that its sender stamped before the last one is worth nothing
        spacing.note(10, 0, 1e-3);
        assert_eq!(spacing.gain(), 0.0);
    }
}
