//! Mode `auto`: rendered force from the twin or relayed, by measured delay and the twin's confidence.
//!
//! Source: ours (teleop goal 5; compare Xu, Liu and Steinbach 2017, who switch by rated quality).
//! Over a round trip of a few ticks the robot's own force is as good as local, and correct where the twin was
//! never identified. Over a longer one only the twin is stable and stiff. Both ends run as model mediation
//! does; only the rendered force is blended. So a switch changes no tank, and the tank limits all energy that
//! it could inject.

use super::TwinInputs;
use crate::Axes;

/// Round trips below which the relayed force is selected, and above which it is deselected \[s\]: measured contact
/// force is stable to some ms one way with a light hand on soft tissue (teleop section 8).
const RTT_S: (f64, f64) = (0.004, 0.008);

/// Confidences above which the twin is selected at any delay, and below which it is deselected.
const CONFIDENCE: (f64, f64) = (0.5, 0.25);

/// Shortest time between two switches \[s\] (teleop goal 5).
const DWELL_S: f64 = 2.0;

/// Fastest change of the rendered force by a switch, as a fraction of it \[1/s\]: 7 % in 100 ms.
const SLEW_PER_S: f64 = 0.7;

/// Time in which the relayed force fades when no frames arrive \[s\]: as fast as a guard fades.
const OUTAGE_FADE_S: f64 = 0.05;

/// Force below which nothing is perceived and a switch is immediate \[N\].
const NEGLIGIBLE_N: f64 = 0.01;

/// Difference of the two forces that is sensor bias and no contact \[N\], and the rate at which it is crossed \[N/s\]: a
/// fifth of a second for a hardly perceptible force.
const BIAS_N: f64 = 0.05;
const BIAS_NPS: f64 = 0.25;

/// Blend of the twin's force and the relayed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blend {
    /// Fraction of the twin's force, 0 to 1; the rest is relayed.
    pub(super) twin_fraction: f64,
    /// True if the twin is selected.
    twin_selected: bool,
    /// Time since the last switch \[s\].
    since_s: f64,
}

impl Default for Blend {
    /// Twin alone, free to switch at once.
    fn default() -> Self {
        Self {
            twin_fraction: 1.0,
            twin_selected: true,
            since_s: DWELL_S,
        }
    }
}

impl Blend {
    /// Advances by `dt_s` \[s\] with the force that could be relayed by axis \[N\]; returns true if the twin is selected.
    pub(super) fn step(&mut self, twin: &TwinInputs<'_>, relayed_n: &Axes, dt_s: f64) -> bool {
        self.since_s += dt_s;
        let wanted = self.is_twin_preferred(twin.rtt_s, twin.confidence);
        // an outage needs no dwell time
        let lost = twin.rtt_s.is_none();
        if wanted != self.twin_selected && (lost || self.since_s >= DWELL_S) {
            self.twin_selected = wanted;
            self.since_s = 0.0;
        }
        let target = if self.twin_selected { 1.0 } else { 0.0 };
        // a preferred source waits until there is no contact; a source that became too far away does not
        let far = twin.rtt_s.is_some_and(|rtt_s| rtt_s > RTT_S.1);
        let slewed = self.fraction_step_max(twin.force_n, relayed_n, far, dt_s);
        let most = if lost { dt_s / OUTAGE_FADE_S } else { slewed };
        self.twin_fraction += (target - self.twin_fraction).clamp(-most, most);
        self.twin_selected
    }

    /// Preference with hysteresis: between the two bounds the choice stays.
    fn is_twin_preferred(&self, rtt_s: Option<f64>, confidence: f64) -> bool {
        // an unknown delay counts as a long one
        let rtt_s = rtt_s.unwrap_or(f64::INFINITY);
        let (near_s, sure) = if self.twin_selected {
            (RTT_S.0, CONFIDENCE.1)
        } else {
            (RTT_S.1, CONFIDENCE.0)
        };
        !(rtt_s < near_s && confidence < sure)
    }

    /// Largest change of the fraction in a tick: the slew limit of the rendered force if the relayed one comes from
    /// too far away; otherwise only an imperceptible change.
    fn fraction_step_max(&self, twin_n: &Axes, relayed_n: &Axes, far: bool, dt_s: f64) -> f64 {
        let (mut rendered_n, mut apart) = (0.0, 0.0);
        for (twin, relayed) in twin_n.iter().zip(relayed_n) {
            let now = self.force_n(*twin, *relayed);
            rendered_n += now * now;
            apart += (twin - relayed) * (twin - relayed);
        }
        let apart = apart.sqrt();
        // no difference, or not a number: the change is imperceptible
        if apart < NEGLIGIBLE_N {
            return 1.0;
        }
        let slew = if far {
            SLEW_PER_S * rendered_n.sqrt().max(NEGLIGIBLE_N)
        } else {
            0.0
        };
        let bias = if apart < BIAS_N { BIAS_NPS } else { 0.0 };
        let most = dt_s * slew.max(bias) / apart;
        if most.is_finite() { most.min(1.0) } else { 0.0 }
    }

    /// Rendered force on one axis \[N\].
    pub(super) fn force_n(&self, twin_n: f64, relayed_n: f64) -> f64 {
        if self.twin_fraction >= 1.0 {
            // bit for bit the twin's, whatever is relayed
            twin_n
        } else {
            relayed_n + self.twin_fraction * (twin_n - relayed_n)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DT_S: f64 = 1e-3;

    fn axes(z: f64) -> Axes {
        [0.0, 0.0, z, 0.0]
    }

    /// A step with forces along z.
    fn step(
        blend: &mut Blend,
        rtt_s: Option<f64>,
        confidence: f64,
        twin_n: f64,
        relayed_n: f64,
    ) -> bool {
        let force_n = &axes(twin_n);
        let twin = TwinInputs {
            rtt_s,
            confidence,
            force_n,
            force_jumps: false,
        };
        blend.step(&twin, &axes(relayed_n), DT_S)
    }

    #[test]
    fn short_delay_and_low_confidence_select_the_relayed_force() {
        for (rtt_s, confidence, twin) in [
            (Some(0.001), 0.0, false),
            (Some(0.001), 1.0, true),
            (Some(0.1), 0.0, true),
            (None, 0.0, true),
        ] {
            let mut blend = Blend::default();
            assert_eq!(
                step(&mut blend, rtt_s, confidence, 0.0, 0.0),
                twin,
                "{rtt_s:?}"
            );
            assert_eq!(blend.force_n(2.0, 1.0), if twin { 2.0 } else { 1.0 });
        }
    }

    #[test]
    fn contact_allows_only_slewed_switches_for_long_delay() {
        let mut blend = Blend::default();
        step(&mut blend, Some(0.001), 0.0, 0.0, 0.0);
        for _ in 0..3000 {
            step(&mut blend, Some(0.001), 1.0, 2.0, 1.0);
            assert_eq!(blend.force_n(2.0, 1.0), 1.0);
        }
        let mut last = 1.0;
        for _ in 0..100 {
            step(&mut blend, Some(0.1), 1.0, 2.0, 1.0);
            let rendered_n = blend.force_n(2.0, 1.0);
            assert!(rendered_n >= last);
            last = rendered_n;
        }
        assert!(last > 1.06 && last < 1.0725, "{last}");
    }

    #[test]
    fn issue_sensor_bias_blocked_the_switch() {
        let mut blend = Blend::default();
        let mut last = 0.0;
        for _ in 0..300 {
            step(&mut blend, Some(0.001), 0.0, 0.0, 0.03);
            let rendered_n = blend.force_n(0.0, 0.03);
            assert!(
                rendered_n - last <= 1.001 * BIAS_NPS * DT_S,
                "{rendered_n} after {last}"
            );
            last = rendered_n;
        }
        assert_eq!(blend.force_n(0.0, 0.03), 0.03);
        // in contact a difference as large as that of a wrong twin still waits
        for _ in 0..3000 {
            step(&mut blend, Some(0.001), 1.0, 2.0, 1.0);
            assert_eq!(blend.force_n(2.0, 1.0), 1.0);
        }
    }

    /// 1 000 random walks of the round trip between 1 and 800 ms over 60 s, with touches and a varying confidence:
    /// never two switches within 2 s, and no step of the force.
    #[test]
    fn a_thousand_walks_of_the_round_trip_switch_rarely() {
        for seed in 1..=1000_u64 {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut unit = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1_u64 << 53) as f64
            };
            let (mut blend, mut rtt_s, mut known) = (Blend::default(), 0.001, 0.0);
            let (mut mediated, mut since, mut rendered_before_n) = (true, 2000_u32, 0.0);
            // a tick of 5 ms suffices for a choice, and is a fifth of the work
            for tick in 0..12_000 {
                if tick % 20 == 0 {
                    let turn = libm::exp(0.8 * (unit() - 0.5));
                    rtt_s = (rtt_s * turn).clamp(0.001, 0.8);
                    known = f64::clamp(known + 0.2 * (unit() - 0.5), 0.0, 1.0);
                }
                let touch = (f64::from(tick % 400) - 200.0).max(0.0) / 100.0;
                let twin = TwinInputs {
                    rtt_s: Some(rtt_s),
                    confidence: known,
                    force_n: &axes(touch),
                    force_jumps: false,
                };
                let now = blend.step(&twin, &axes(1.5 * touch), 0.005);
                since += 5;
                if now != mediated {
                    assert!(since >= 2000, "seed {seed}: {since} ms");
                    (mediated, since) = (now, 0);
                }
                let rendered_n = blend.force_n(touch, 1.5 * touch);
                let most = 0.025 + SLEW_PER_S * 0.005 * rendered_before_n + 2.0 * BIAS_NPS * 0.005;
                assert!(
                    touch == 0.0 || rendered_n - rendered_before_n < most,
                    "seed {seed}: {rendered_before_n} {rendered_n}"
                );
                rendered_before_n = rendered_n;
            }
        }
    }

    #[test]
    fn issue_relayed_force_did_not_fade_in_an_outage() {
        let mut blend = Blend::default();
        step(&mut blend, Some(0.002), 0.0, 0.0, 0.0);
        assert_eq!(blend.force_n(0.0, 2.0), 2.0);
        for _ in 0..60 {
            step(&mut blend, None, 0.0, 0.0, 2.0);
        }
        assert_eq!(blend.force_n(0.0, 2.0), 0.0);
    }

    proptest! {
        /// Under any delay and confidence there is at most one switch in 2 s, and the force stays
        /// between the two.
        #[test]
        fn switches_are_rare(walk in proptest::collection::vec((0.0_f64..0.02, 0.0_f64..1.0), 60)) {
            let mut blend = Blend::default();
            let (mut last, mut since, mut first) = (true, 0_u32, true);
            for (rtt_s, confidence) in walk {
                for _ in 0..150 {
                    since += 1;
                    let now = step(&mut blend, Some(rtt_s), confidence, 1.0, 3.0);
                    if now != last {
                        prop_assert!(first || since >= 1999, "{since}");
                        (last, since, first) = (now, 0, false);
                    }
                    let rendered_n = blend.force_n(1.0, 3.0);
                    prop_assert!((1.0..=3.0).contains(&rendered_n));
                }
            }
        }
    }
}
