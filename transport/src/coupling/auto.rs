//! `auto`: the twin's force or the relayed one, by measured delay and by how well the twin is known.
//!
//! Source: ours (teleop goal 5; compare Xu, Liu and Steinbach 2017, who switch by what people would rate).
//! Over a round trip of a few ticks the robot's own force is as good as local, and right where the twin
//! was never taught; over a longer one only the twin is stable and stiff. Both ends run as model mediation
//! does; only the force that the hand feels is blended, so a switch moves no account and can inject nothing
//! that the account does not pay.

use super::AtTwin;
use crate::Axes;

/// Round trip below which the relayed force is wanted, and above which it is given up \[s\]: measured contact
/// force is stable to some ms one way with a light hand on soft tissue (teleop section 8).
const RTT_S: (f64, f64) = (0.004, 0.008);

/// Confidence above which the twin is wanted at any delay, and below which it is given up.
const CONFIDENCE: (f64, f64) = (0.5, 0.25);

/// Shortest time between two switches \[s\] (teleop goal 5).
const DWELL_S: f64 = 2.0;

/// Fastest change of the felt force by a switch, as a share of it \[1/s\]: 7 % in 100 ms.
const SLEW_HZ: f64 = 0.7;

/// Time in which the relayed force is given up when nothing comes any more \[s\]: as fast as a guard fades.
const LOST_S: f64 = 0.05;

/// Force below which nothing is felt and a switch is done at once \[N\].
const UNFELT_N: f64 = 0.01;

/// Difference of the two forces that is no touch but the bias of a sensor \[N\], and how fast it is taken \[N/s\]: a
/// fifth of a second for a force that a hand hardly feels.
const BIAS_N: f64 = 0.05;
const BIAS_NPS: f64 = 0.25;

/// What is felt of the twin, and what is wanted of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blend {
    /// Share of the twin's force, 0 to 1; the rest is relayed.
    pub(super) twin: f64,
    /// Whether the twin is wanted.
    mediated: bool,
    /// Time since the last switch \[s\].
    since_s: f64,
}

impl Default for Blend {
    /// The twin alone, free to switch at once.
    fn default() -> Self {
        Self {
            twin: 1.0,
            mediated: true,
            since_s: DWELL_S,
        }
    }
}

impl Blend {
    /// Whether the twin is wanted, after a tick of `dt_s` \[s\] with what may be relayed by axis \[N\].
    pub(super) fn step(&mut self, twin: &AtTwin<'_>, relayed_n: &Axes, dt_s: f64) -> bool {
        self.since_s += dt_s;
        let wanted = self.wanted(twin.rtt_s, twin.confidence);
        // a force that nobody renews waits for nothing
        let lost = twin.rtt_s.is_none();
        if wanted != self.mediated && (lost || self.since_s >= DWELL_S) {
            self.mediated = wanted;
            self.since_s = 0.0;
        }
        let target = if self.mediated { 1.0 } else { 0.0 };
        // what is only better waits until nobody touches; what became too far away does not
        let far = twin.rtt_s.is_some_and(|rtt_s| rtt_s > RTT_S.1);
        let slewed = self.share_max(twin.force_n, relayed_n, far, dt_s);
        let most = if lost { dt_s / LOST_S } else { slewed };
        self.twin += (target - self.twin).clamp(-most, most);
        self.mediated
    }

    /// Hysteresis: between the two bounds the choice stays.
    fn wanted(&self, rtt_s: Option<f64>, confidence: f64) -> bool {
        // an unknown delay is a long one
        let rtt_s = rtt_s.unwrap_or(f64::INFINITY);
        let (near_s, sure) = if self.mediated {
            (RTT_S.0, CONFIDENCE.1)
        } else {
            (RTT_S.1, CONFIDENCE.0)
        };
        !(rtt_s < near_s && confidence < sure)
    }

    /// How far the share may move in a tick: if what is relayed comes from too far away, as fast as the felt
    /// force may change; else only what nobody feels.
    fn share_max(&self, twin_n: &Axes, relayed_n: &Axes, far: bool, dt_s: f64) -> f64 {
        let (mut felt, mut apart) = (0.0, 0.0);
        for (twin, relayed) in twin_n.iter().zip(relayed_n) {
            let now = self.force_n(*twin, *relayed);
            felt += now * now;
            apart += (twin - relayed) * (twin - relayed);
        }
        let apart = apart.sqrt();
        // nothing apart, or no number: nothing to be felt of a switch, or nothing to be done
        if apart < UNFELT_N {
            return 1.0;
        }
        let slew = if far {
            SLEW_HZ * felt.sqrt().max(UNFELT_N)
        } else {
            0.0
        };
        let bias = if apart < BIAS_N { BIAS_NPS } else { 0.0 };
        let most = dt_s * slew.max(bias) / apart;
        if most.is_finite() { most.min(1.0) } else { 0.0 }
    }

    /// The force that is felt on one axis \[N\].
    pub(super) fn force_n(&self, twin_n: f64, relayed_n: f64) -> f64 {
        if self.twin >= 1.0 {
            // bit for bit the twin's, whatever was relayed
            twin_n
        } else {
            relayed_n + self.twin * (twin_n - relayed_n)
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
        let twin = AtTwin {
            rtt_s,
            confidence,
            force_n,
            leaps: false,
        };
        blend.step(&twin, &axes(relayed_n), DT_S)
    }

    #[test]
    fn near_and_unknown_is_relayed_far_or_known_is_the_twin() {
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
    fn in_contact_only_a_long_delay_switches_and_no_faster_than_its_slew() {
        let mut blend = Blend::default();
        step(&mut blend, Some(0.001), 0.0, 0.0, 0.0);
        for _ in 0..3000 {
            step(&mut blend, Some(0.001), 1.0, 2.0, 1.0);
            assert_eq!(blend.force_n(2.0, 1.0), 1.0);
        }
        let mut last = 1.0;
        for _ in 0..100 {
            step(&mut blend, Some(0.1), 1.0, 2.0, 1.0);
            let felt = blend.force_n(2.0, 1.0);
            assert!(felt >= last);
            last = felt;
        }
        assert!(last > 1.06 && last < 1.0725, "{last}");
    }

    #[test]
    fn issue_a_biased_sensor_kept_the_choice_from_being_felt() {
        let mut blend = Blend::default();
        let mut last = 0.0;
        for _ in 0..300 {
            step(&mut blend, Some(0.001), 0.0, 0.0, 0.03);
            let felt = blend.force_n(0.0, 0.03);
            assert!(
                felt - last <= 1.001 * BIAS_NPS * DT_S,
                "{felt} after {last}"
            );
            last = felt;
        }
        assert_eq!(blend.force_n(0.0, 0.03), 0.03);
        // in contact a difference as large as that of a wrong twin still waits
        for _ in 0..3000 {
            step(&mut blend, Some(0.001), 1.0, 2.0, 1.0);
            assert_eq!(blend.force_n(2.0, 1.0), 1.0);
        }
    }

    /// 1 000 walks of the round trip between 1 and 800 ms over 60 s, with touches and a twin that becomes
    /// known: never two switches within 2 s, and no force that leaps.
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
            let (mut mediated, mut since, mut felt_before) = (true, 2000_u32, 0.0);
            // a tick of 5 ms is as good for a choice, and a fifth of the work
            for tick in 0..12_000 {
                if tick % 20 == 0 {
                    let turn = libm::exp(0.8 * (unit() - 0.5));
                    rtt_s = (rtt_s * turn).clamp(0.001, 0.8);
                    known = f64::clamp(known + 0.2 * (unit() - 0.5), 0.0, 1.0);
                }
                let touch = (f64::from(tick % 400) - 200.0).max(0.0) / 100.0;
                let twin = AtTwin {
                    rtt_s: Some(rtt_s),
                    confidence: known,
                    force_n: &axes(touch),
                    leaps: false,
                };
                let now = blend.step(&twin, &axes(1.5 * touch), 0.005);
                since += 5;
                if now != mediated {
                    assert!(since >= 2000, "seed {seed}: {since} ms");
                    (mediated, since) = (now, 0);
                }
                let felt = blend.force_n(touch, 1.5 * touch);
                let most = 0.025 + SLEW_HZ * 0.005 * felt_before + 2.0 * BIAS_NPS * 0.005;
                assert!(
                    touch == 0.0 || felt - felt_before < most,
                    "seed {seed}: {felt_before} {felt}"
                );
                felt_before = felt;
            }
        }
    }

    #[test]
    fn issue_a_relayed_force_stayed_whole_in_an_outage() {
        let mut blend = Blend::default();
        step(&mut blend, Some(0.002), 0.0, 0.0, 0.0);
        assert_eq!(blend.force_n(0.0, 2.0), 2.0);
        for _ in 0..60 {
            step(&mut blend, None, 0.0, 0.0, 2.0);
        }
        assert_eq!(blend.force_n(0.0, 2.0), 0.0);
    }

    proptest! {
        /// Whatever delay and confidence do, there is at most one switch in 2 s, and the force stays
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
                    let felt = blend.force_n(1.0, 3.0);
                    prop_assert!((1.0..=3.0).contains(&felt));
                }
            }
        }
    }
}
