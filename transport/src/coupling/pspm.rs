//! Passive set-position modulation: a local spring to the other side's position, which is moved only
//! as far as the available energy pays.
//!
//! Source: teleop E10 (Lee and Huang 2010). With K the spring, x the own and y the received position,
//! the set position is `ybar = argmin |y - ybar|` under
//! `E(k) = E(k-1) + D - (K/2 |x - ybar|^2 - K/2 |x - ybar_prev|^2) >= 0`.
//!
//! The specification `teleop` (docs/sources.md) has this from memory. The paper could not be read. Checked against a
//! second derivation. Between two changes the spring stores the work of the port, less the dissipation of damping
//! (D). So the tank's level, which contains that work exactly, is `V + E` with `V = K/2 |x - ybar|^2`. The constraint
//! is therefore `V(x, ybar) <= level`, an interval around x (test below, against the recursion). The paper estimates
//! D from below; the tank has it exactly.
//!
//! At the slave the port's position *is* the set position of the robot's spring, and moving it costs
//! `F v T`: there the same rule is [`EnergyTank::payable_velocity`] with the demand to go to y at once.
//! Implicit sampling costs `K/2 (v T)^2` more than in E10 (test below).
//!
//! Both ends use the same K: a wall K_e shows as K and K_e in series, and over the delay a free motion
//! is resisted by `K T_rt` as by a damper.
//!
//! A spring to a delayed position has the damping `K sin(w T_rt) / w` at the frequency w (E10b, ours: the spring
//! force for `x - x(t - T_rt)` in phase with the velocity). Between `1 / 2 T_rt` and `1 / T_rt` it is negative, at most
//! `0.217 K T_rt`. Energy of slow motion then comes back as vibration, without a violation of passivity. So the handle's
//! damping is at least that, up to [`DAMPING_NSPM_MAX`]. Beyond, the master's K is reduced to what that damping covers.
//!
//! [`EnergyTank::payable_velocity`]: super::EnergyTank::payable_velocity

use super::method::{CouplingInputs, EnergyTransfer, MasterPort, Method, SlavePort, TwinInputs};
use super::robot_tank::{charging_friction_n, offer, return_surplus};
use super::{ForceDemand, VelocityDemand};
use crate::Axes;
use crate::trace::EventFlags;

/// Energy of the robot's tank below which it cannot follow at all \[J\].
const STARVED_J: f64 = 1e-5;

/// Largest negative damping of a spring to a delayed position over `K T_rt`: `-min sin(u) / u`, at u = 4.493.
const NEGATIVE_DAMPING: f64 = 0.217_233_628;

/// Largest damping against the delayed spring \[N s/m\]: stable on a light handle at 1 kHz.
const DAMPING_NSPM_MAX: f64 = 10.0;

/// Rate at which the longest recent round trip decays \[1/s\]. It is slow, as jitter and outages recur within
/// seconds.
const FORGET_PER_S: f64 = 0.5;

/// Springs of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Pspm {
    /// Energy of the master's spring, by axis \[J\].
    spring_j: Axes,
    /// Longest recent round trip \[s\].
    rtt_s: f64,
}

impl Method for Pspm {
    fn observe_twin(&mut self, inputs: &CouplingInputs<'_>, twin: &TwinInputs<'_>) {
        let longest_s = self.rtt_s - FORGET_PER_S * inputs.dt_s * self.rtt_s;
        let known_s = twin.rtt_s.filter(|rtt_s| rtt_s.is_finite());
        self.rtt_s = known_s.map_or(self.rtt_s, |rtt_s| rtt_s.max(longest_s));
    }

    /// Force of the spring to the robot's position, as far as the tank lets it be set.
    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let (handle, inputs, newest) = (port.handle, port.inputs, port.inputs.newest);
        let (axis, params, own_m) = (handle.axis, inputs.params, handle.position_m);
        let wanted_m = if newest.sequence > 0 {
            newest.position_m[axis]
        } else {
            own_m
        };
        let (stiffness, damping) = delayed_spring(params.pspm_npm, params.pspm_nspm, self.rtt_s);
        // a spring that held all the energy would leave the robot without any, and so stay stretched
        let fraction = if newest.tank_j[axis] > STARVED_J {
            1.0
        } else {
            1.0 - (params.surplus_per_s * inputs.dt_s).clamp(0.0, 0.5)
        };
        let energy_j = fraction * port.available_j().max(0.0);
        let set_m = set_position_m(own_m, wanted_m, energy_j, stiffness);
        self.spring_j[axis] = stored_j(own_m, set_m, stiffness);
        let spring_n = stiffness * (own_m - set_m);
        let damper_n = damping * handle.velocity_mps;
        ForceDemand {
            force_n: spring_n
                + damper_n
                + charging_friction_n(port, params.charging_friction_n_max),
            wave_in: 0.0,
            events: EventFlags::PASSIVITY_CONTROL * u32::from(set_m != wanted_m),
        }
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        VelocityDemand::from_velocity(port.position_error_m / port.inputs.dt_s)
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        let stored_j = self.spring_j[outgoing.axis] + outgoing.blade_energy_j;
        offer(outgoing, stored_j);
    }

    fn transfer_back(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        return_surplus(outgoing);
    }
}

/// Stiffness \[N/m\] and damping \[N s/m\] of the master from those of the configuration, for a round trip.
fn delayed_spring(stiffness_npm: f64, damping_nspm: f64, rtt_s: f64) -> (f64, f64) {
    let needed_nspm = NEGATIVE_DAMPING * stiffness_npm * rtt_s;
    let most_nspm = damping_nspm.max(DAMPING_NSPM_MAX);
    if needed_nspm <= most_nspm {
        (stiffness_npm, damping_nspm.max(needed_nspm))
    } else {
        (stiffness_npm * most_nspm / needed_nspm, most_nspm)
    }
}

/// Set position nearest to `wanted_m` whose spring holds at most `energy_j` \[m\].
///
/// Without energy it is the own position, where the spring is slack.
fn set_position_m(own_m: f64, wanted_m: f64, energy_j: f64, stiffness_npm: f64) -> f64 {
    let reach_m = (2.0 * energy_j.max(0.0) / stiffness_npm).sqrt();
    own_m + (wanted_m - own_m).clamp(-reach_m, reach_m)
}

/// Energy of the spring between own and set position, `K/2 |x - ybar|^2` \[J\].
fn stored_j(own_m: f64, set_m: f64, stiffness_npm: f64) -> f64 {
    0.5 * stiffness_npm * (own_m - set_m) * (own_m - set_m)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{EnergyTank, PdController};
    use super::*;

    const K: f64 = 500.0;
    const B: f64 = 2.0;

    proptest! {
        /// Recursion of the paper, with the damping's energy known, step by step beside the tank.
        #[test]
        fn tank_level_minus_spring_energy_is_the_energy_of_the_paper(
            motion in prop::collection::vec((-1e-3f64..1e-3, -0.03f64..0.03), 1..200),
        ) {
            let (mut level, mut energy, mut x, mut set) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
            for (step_m, y) in motion {
                // the port moves, the set position stays: spring and damper take its work
                let spring_j = stored_j(x + step_m, set, K) - stored_j(x, set, K);
                let damped_j = B * step_m * step_m / 1e-3;
                x += step_m;
                level += spring_j + damped_j;
                // E10: the nearest set position that its E allows, searched without the closed form
                let cost = |to: f64| stored_j(x, to, K) - stored_j(x, set, K);
                let (mut low, mut high) = (0.0, 1.0);
                if cost(y) > energy + damped_j {
                    for _ in 0..200 {
                        let half = 0.5 * (low + high);
                        if cost(x + half * (y - x)) <= energy + damped_j { low = half } else { high = half }
                    }
                } else {
                    low = 1.0;
                }
                let searched = x + low * (y - x);
                let found = set_position_m(x, y, level, K);
                prop_assert!((found - searched).abs() < 1e-7, "{found} {searched}");
                energy += damped_j - cost(found);
                set = found;
                prop_assert!((level - stored_j(x, set, K) - energy).abs() < 1e-12);
                prop_assert!(energy >= -1e-12);
            }
        }

        #[test]
        fn slave_tank_pays_for_the_set_position(
            level in 0.0f64..0.01, error in -0.01f64..0.01, y in -0.01f64..0.01,
        ) {
            let mut tank = EnergyTank::default();
            tank.deposit(0, level);
            let pd = PdController { stiffness_npm: K, damping_nspm: 0.0, error_m: error, robot_velocity_mps: 0.0, dt_s: 1e-3 };
            let v = tank.payable_velocity(0, y / 1e-3, pd.force_at_rest(), pd.slope_nspm(), 1e-3);
            let paid = pd.force(v) * v * 1e-3;
            let spring = stored_j(0.0, error + v * 1e-3, K) - stored_j(0.0, error, K);
            prop_assert!((paid - spring - 0.5 * K * (v * 1e-3) * (v * 1e-3)).abs() < 1e-12);
            prop_assert!(spring <= level + 1e-12);
        }
    }

    /// Integrates the work on `x - x(t - T)` over whole periods, for tones around the worst one.
    #[test]
    fn damping_covers_the_delayed_spring_at_every_frequency() {
        for rtt_s in [0.001, 0.03, 0.08, 0.15, 0.5] {
            let (npm, nspm) = delayed_spring(K, 1.0, rtt_s);
            assert!(npm <= K && (1.0..=DAMPING_NSPM_MAX).contains(&nspm));
            assert!(rtt_s > 0.08 || npm == K, "{rtt_s}: {npm}");
            for tone in 1..60 {
                let w = 0.25 * f64::from(tone) / rtt_s;
                let steps = 2000;
                let work_j: f64 = (0..steps)
                    .map(|step| {
                        let phase = core::f64::consts::TAU * f64::from(step) / f64::from(steps);
                        let velocity_mps = w * phase.cos();
                        let force_n =
                            npm * (phase.sin() - (phase - w * rtt_s).sin()) + nspm * velocity_mps;
                        force_n * velocity_mps / w
                    })
                    .sum();
                assert!(
                    work_j >= -1e-6 * K * f64::from(steps),
                    "{rtt_s} {w}: {work_j}"
                );
            }
        }
    }

    #[test]
    fn empty_tank_leaves_the_spring_slack() {
        assert_eq!(set_position_m(0.01, 0.05, 0.0, K), 0.01);
        assert_eq!(set_position_m(0.01, 0.05, -1.0, K), 0.01);
        assert_eq!(set_position_m(0.01, 0.05, 1.0, K), 0.05);
        assert_eq!(set_position_m(0.01, 0.05, f64::NAN, K), 0.01);
    }
}
