//! The slave's end of the coupling: the one place that chooses among the methods there.
//!
//! A tick calls [`SlaveEnd::begin`] once, then for each axis [`SlaveEnd::damping_nspm`] for the
//! controller of the robot, [`SlaveEnd::demand`] for the velocity that the method wants of the port, and, when guard
//! and account have spoken, [`SlaveEnd::send`] for what goes to the other side.

use super::delay_gain::Spacing;
use super::switch::EASE_S;
use super::wave::{self, Decoder, LowPass, Pd, Units};
use super::{
    CouplingParams, Matching, Mode, Moment, Relayed, Reservoir, drift, iss, model_mediated, tank,
    tdpa,
};
use crate::trace::Events;
use crate::{AXES, Axes, HapticFrame};

/// Fastest drift correction \[m/s\]: below a hand's own speed, so that it is not felt as motion.
const SPEED_OF_DRIFT_MPS: f64 = 0.05;

/// The same while an outage is made up for \[m/s\]: a robot that stood has farther to go, and the hand knows.
const SPEED_OF_RECOVERY_MPS: f64 = 0.25;

/// Silence beyond the hold that is an outage and no jitter \[s\].
const OUTAGE_S: f64 = 0.1;

/// How long an outage is made up for \[s\].
const RECOVERY_S: f64 = 1.0;

/// Share of the tank's target that a slave keeps which reflects energy: with less than the target the
/// hand pays some friction all the time, with all of it nothing is ever left to reflect.
const KEPT_SHARE: f64 = 1.0 / 3.0;

/// Cut-off of the handle's velocity that the robot of a mediated session follows \[Hz\]: above that of a hand, tremor
/// included, and 5 ms behind it. What a coarse encoder adds beyond (4 mm/s for steps of 0.03 mm) moves nothing, but
/// its work on the damping of the robot's controller was 1 mW, all that a hand pays on hard tissue, and the robot
/// stopped; a pole here leaves a twentieth of it.
const AHEAD_HZ: f64 = 30.0;

/// What is left of a distance that no longer matters \[m\].
const EASED_M: f64 = 1e-9;

/// Motion in old waves that is still played out after an outage \[m\].
const FORGIVEN_M: f64 = 0.02;

/// One axis of the robot, as the methods see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtRobot {
    /// Which axis.
    pub axis: usize,
    /// Position of the port x_sd \[m\].
    pub port_m: f64,
    /// Whether the probe touches.
    pub touching: bool,
    /// Measured force of the tissue on the probe, if it is known \[N\].
    pub contact_n: Option<f64>,
    /// The controller from port to robot.
    pub pd: Pd,
}

/// What a method wants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Velocity of the port \[m/s\].
    pub velocity_mps: f64,
    /// The wave that was used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`Events`].
    pub events: u32,
}

impl Demand {
    fn of(velocity_mps: f64) -> Self {
        Self {
            velocity_mps,
            ..Self::default()
        }
    }
}

/// What the methods remember at the slave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlaveEnd {
    decoder: [Decoder; AXES],
    spacing: Spacing,
    filter: [LowPass; AXES],
    /// The handle's velocity without the noise of its encoder.
    ahead: [LowPass; AXES],
    wave_integral: Axes,
    units: Units,
    /// Time since anything new came \[s\].
    silent_s: f64,
    /// Whether the peer was heard before: the wait for its first frame is no outage.
    heard: bool,
    /// Time left in which an outage is made up for \[s\].
    recovery_s: f64,
    observer: tdpa::Observer,
    /// Whether a method has just begun, by axis.
    begins: [bool; AXES],
    /// What is left of how far the robot was behind when its method began \[m\].
    eased_m: Axes,
}

impl SlaveEnd {
    /// With a peer that began anew, sums count from 0 again.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Another method begins, as at the master.
    pub fn switch(&mut self, newest: &HapticFrame) {
        for (decoder, sum) in self.decoder.iter_mut().zip(newest.wave_integral) {
            decoder.integral_out = sum;
        }
        self.observer = tdpa::Observer::default();
        self.ahead = [LowPass::default(); AXES];
        (self.begins, self.eased_m) = ([true; AXES], [0.0; AXES]);
    }

    /// Integral of the waves sent since the peer began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.wave_integral
    }

    /// Begin a tick.
    pub fn begin(&mut self, moment: &Moment<'_>) {
        let newest = moment.newest;
        self.spacing
            .note(newest.sequence, newest.sent_ns, moment.dt_s);
        self.recovery_s = (self.recovery_s - moment.dt_s).max(0.0);
        if !moment.held {
            self.silent_s += moment.dt_s;
        } else if core::mem::take(&mut self.silent_s) > OUTAGE_S && self.heard {
            self.recovery_s = RECOVERY_S;
        }
        self.heard |= newest.sequence > 0;
        let (sent, came) = self.units.follow(moment.impedance_nspm, moment.came_nspm());
        for axis in 0..AXES {
            self.wave_integral[axis] *= sent;
            self.filter[axis].retell(sent);
            self.decoder[axis].integral_out *= came;
        }
    }

    /// Whether an outage is made up for now, faster than drift is.
    fn recovers(&self, params: &CouplingParams) -> bool {
        let rate_hz = params.drift_rate_hz;
        self.recovery_s > 0.0 && rate_hz > 0.0 && params.recover_hz > rate_hz
    }

    /// Rate \[1/s\] and speed \[m/s\] of the drift correction now; no rate is none after an outage either.
    fn drift(&self, params: &CouplingParams) -> (f64, f64) {
        let rate_hz = params.drift_rate_hz;
        if self.recovers(params) {
            (params.recover_hz, SPEED_OF_RECOVERY_MPS)
        } else {
            (rate_hz, SPEED_OF_DRIFT_MPS)
        }
    }

    /// Damping of the robot's controller on one axis, of the one that it has \[N s/m\]; its stiffness is that
    /// of the whole session ([`CouplingParams::robot_npm`]).
    #[must_use]
    pub fn damping_nspm(moment: &Moment<'_>, axis: usize, own_nspm: f64) -> f64 {
        let params = moment.params;
        let matched = params.mode.sends_waves() && params.matching != Matching::None;
        if matched {
            moment.own_nspm(axis)
        } else {
            own_nspm
        }
    }

    /// How far the robot is behind, of which a method that begins takes on what it found over [`EASE_S`] only:
    /// one that follows positions would else go through the whole deflection of a line of waves at once.
    fn eased(&mut self, axis: usize, behind_m: f64, dt_s: f64) -> f64 {
        let left_m = &mut self.eased_m[axis];
        if core::mem::take(&mut self.begins[axis]) && behind_m.is_finite() {
            *left_m = behind_m;
        }
        let taken_on_m = behind_m - *left_m;
        *left_m *= 1.0 - (dt_s / EASE_S).min(1.0);
        if left_m.abs() < EASED_M {
            *left_m = 0.0;
        }
        taken_on_m
    }

    /// What the method wants on one axis.
    pub fn demand(&mut self, moment: &Moment<'_>, robot: &AtRobot, account: &Reservoir) -> Demand {
        let (params, newest) = (moment.params, moment.newest);
        let behind_m = newest.position_m[robot.axis] - robot.port_m;
        let behind_m = self.eased(robot.axis, behind_m, moment.dt_s);
        let ahead_mps = if moment.held {
            newest.velocity_mps[robot.axis]
        } else {
            0.0
        };
        match params.mode.resolved() {
            Mode::Direct | Mode::Pspm => Demand::of(behind_m / moment.dt_s),
            Mode::Wave => self.wave(moment, robot, behind_m, Some(account)),
            Mode::WaveTdpa => {
                let wanted = self.wave(moment, robot, behind_m, None);
                self.controlled(wanted, robot, account)
            }
            Mode::Tdpa => {
                let (gap_j, pd) = (self.observer.gap_j(robot.axis, account), &robot.pd);
                let (rate_hz, most) = self.drift(params);
                let repair_mps = (rate_hz * behind_m).clamp(-most, most);
                let force_n = pd.force(ahead_mps);
                let admitted_mps =
                    tdpa::admitted_drift(gap_j, force_n, ahead_mps, repair_mps, pd.dt_s);
                self.controlled(Demand::of(ahead_mps + admitted_mps), robot, account)
            }
            Mode::Iss => {
                // the force that is relayed is the one behind the series spring
                let contact_n = robot
                    .contact_n
                    .filter(|_| params.relayed == Relayed::Contact);
                let (rest_n, slope) = contact_n.map_or(
                    (robot.pd.force_at_rest(), robot.pd.slope_nspm()),
                    |contact_n| (-contact_n, 0.0),
                );
                let mu_npm = params.iss_mu_npm;
                Demand::of(iss::velocity_mps(
                    behind_m,
                    rest_n,
                    slope,
                    mu_npm,
                    moment.dt_s,
                ))
            }
            Mode::Tank => Demand::of(ahead_mps + params.follow_hz * behind_m),
            Mode::Mmt | Mode::Auto => {
                let calm_mps = self.calm(robot.axis, ahead_mps, moment);
                Demand::of(calm_mps + params.follow_hz * behind_m)
            }
        }
    }

    /// Send the wave of this tick and the energy that goes with it; returns the wave \[sqrt(W)\].
    /// The account has already paid for the motion.
    pub fn send(
        &mut self,
        moment: &Moment<'_>,
        axis: usize,
        (velocity_mps, force_n): (f64, f64),
        account: &mut Reservoir,
    ) -> f64 {
        let (dt_s, params) = (moment.dt_s, moment.params);
        let made = wave::backward(moment.own_nspm(axis), velocity_mps, force_n);
        let sent = self.filter[axis].next(made, params.wave_filter_hz, dt_s);
        self.wave_integral[axis] += sent * dt_s;
        let wave_j = 0.5 * sent * sent * dt_s;
        let level_j = account.level_j()[axis];
        match params.mode.resolved() {
            Mode::Direct | Mode::Iss => account.ship_unpaid(axis, wave_j),
            Mode::Wave => {
                account.ship(axis, wave_j, 0.0);
            }
            Mode::Tdpa | Mode::WaveTdpa => {
                self.observer.book(axis, -force_n * velocity_mps * dt_s);
                self.observer.ship(axis, 0.0, account);
                let gap_j = self.observer.gap_j(axis, account);
                let (kept_j, share_hz) = (params.tank_target_j * KEPT_SHARE, params.reflect_hz);
                let reflected_j = tdpa::reflected_j(gap_j, kept_j, share_hz, dt_s);
                account.ship(axis, reflected_j, 0.0);
            }
            Mode::Tank => {
                account.ship(axis, tank::share_j(level_j, params.share_hz, dt_s), 0.0);
            }
            Mode::Pspm | Mode::Mmt | Mode::Auto => {
                let (target_j, share_hz) = (params.tank_target_j, params.share_hz);
                let surplus_j = model_mediated::surplus_j(level_j, target_j, share_hz, dt_s);
                account.ship(axis, surplus_j, 0.0);
            }
        }
        sent
    }

    /// The handle's velocity without the noise of its encoder \[m/s\]; when nothing comes any more, the robot
    /// stops at once.
    fn calm(&mut self, axis: usize, ahead_mps: f64, moment: &Moment<'_>) -> f64 {
        let ahead = &mut self.ahead[axis];
        if !moment.held {
            *ahead = LowPass::default();
        }
        ahead.next(ahead_mps, AHEAD_HZ, moment.dt_s)
    }

    /// Velocity of the wave that came, with its drift correction; `payer` limits the wave to what it
    /// can pay.
    fn wave(
        &mut self,
        moment: &Moment<'_>,
        robot: &AtRobot,
        behind_m: f64,
        payer: Option<&Reservoir>,
    ) -> Demand {
        let (axis, params, newest) = (robot.axis, moment.params, moment.newest);
        let (b, dt_s) = (moment.came_with_nspm(axis), moment.dt_s);
        let (drift_hz, drift_mps) = self.drift(params);
        let recovers = self.recovers(params);
        let decoder = &mut self.decoder[axis];
        let (sample, integral) = (newest.wave[axis], newest.wave_integral[axis]);
        let carried = if params.delay_gain {
            self.spacing.used(sample, moment.held)
        } else {
            decoder.demand(sample, integral, moment.held, params.catch_up_hz, dt_s)
        };
        // in contact the line's own deflection looks like drift; it must stay. It never has the hand on the
        // way out, where a robot is left that stood in an outage
        let outward = recovers && robot.pd.force_at_rest() * behind_m < 0.0;
        let rate_hz = if robot.touching && !outward {
            0.0
        } else {
            drift_hz
        };
        let corrected = carried + drift::correction_wave(b, behind_m, rate_hz, drift_mps);
        let wave_max = payer.map_or(f64::INFINITY, |payer| payer.wave_max(axis, dt_s));
        let u = corrected.clamp(-wave_max, wave_max);
        let share = if corrected == 0.0 { 1.0 } else { u / corrected };
        decoder.used(carried * share, dt_s);
        decoder.forgive(integral, (b / 2.0).sqrt() * FORGIVEN_M);
        Demand {
            velocity_mps: robot.pd.wave_velocity(b, u),
            wave_in: u,
            events: if share < 1.0 { Events::UNPAID } else { 0 },
        }
    }

    /// The demand behind the admittance controller of E8.
    fn controlled(&self, wanted: Demand, robot: &AtRobot, account: &Reservoir) -> Demand {
        let gap_j = self.observer.gap_j(robot.axis, account);
        let (pd, v) = (&robot.pd, wanted.velocity_mps);
        let slowed = tdpa::admittance_pc(gap_j, pd.force(v), v, pd.dt_s);
        let acted = if slowed == v { 0 } else { Events::CONTROLLED };
        Demand {
            velocity_mps: slowed,
            events: wanted.events | acted,
            ..wanted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HapticFrame;
    use crate::coupling::CouplingParams;

    fn robot(port_m: f64) -> AtRobot {
        AtRobot {
            axis: 2,
            port_m,
            touching: false,
            contact_n: None,
            pd: Pd {
                stiffness_npm: 2000.0,
                damping_nspm: 50.0,
                error_m: 0.0,
                robot_velocity_mps: 0.0,
                dt_s: 1e-3,
            },
        }
    }

    fn frame(sequence: u64, velocity_mps: f64) -> HapticFrame {
        let mut newest = HapticFrame {
            sequence,
            ..HapticFrame::default()
        };
        newest.velocity_mps[2] = velocity_mps;
        newest
    }

    fn moment<'a>(params: &'a CouplingParams, newest: &'a HapticFrame, held: bool) -> Moment<'a> {
        Moment {
            params,
            impedance_nspm: 10.0,
            newest,
            held,
            dt_s: 1e-3,
        }
    }

    fn in_mode(mode: Mode) -> CouplingParams {
        CouplingParams {
            mode,
            follow_hz: 0.0,
            ..CouplingParams::default()
        }
    }

    /// The filter of the handle's velocity kept what it was in the last touch of the twin.
    #[test]
    fn issue_a_switch_kept_the_velocity_of_long_ago() {
        let params = in_mode(Mode::Mmt);
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        let fast = frame(1, 0.1);
        for _ in 0..100 {
            let _ = end.demand(&moment(&params, &fast, true), &robot(0.0), &account);
        }
        let still = frame(2, 0.0);
        end.switch(&still);
        let wanted = end.demand(&moment(&params, &still, true), &robot(0.0), &account);
        assert_eq!(wanted.velocity_mps, 0.0);
    }

    /// After a second of silence, what is the correction of a drift of 1 m?
    fn after_a_silence(params: &CouplingParams, before: u64) -> (f64, f64) {
        let mut end = SlaveEnd::default();
        let (early, late) = (frame(before, 0.0), frame(before + 5, 0.0));
        end.begin(&moment(params, &early, before > 0));
        for _ in 0..1000 {
            end.begin(&moment(params, &early, false));
        }
        end.begin(&moment(params, &late, true));
        end.drift(params)
    }

    /// The first frame that came began a recovery, if it was not the peer's very first.
    #[test]
    fn issue_the_wait_for_a_peer_was_an_outage() {
        let params = CouplingParams::default();
        let usual = (params.drift_rate_hz, SPEED_OF_DRIFT_MPS);
        assert_eq!(after_a_silence(&params, 0), usual);
        let faster = (params.recover_hz, SPEED_OF_RECOVERY_MPS);
        assert_eq!(after_a_silence(&params, 7), faster);
    }

    /// A recovery that was switched off was still five times as fast.
    #[test]
    fn issue_a_recovery_of_no_rate_was_a_recovery() {
        for (recover_hz, drift_rate_hz) in [(0.0, 3.0), (2.0, 3.0), (30.0, 0.0)] {
            let params = CouplingParams {
                recover_hz,
                drift_rate_hz,
                ..CouplingParams::default()
            };
            let usual = (drift_rate_hz, SPEED_OF_DRIFT_MPS);
            assert_eq!(after_a_silence(&params, 7), usual, "{recover_hz}");
        }
    }

    /// A robot 5 mm behind at a switch to a method of positions was sent there in one tick.
    #[test]
    fn issue_a_switch_sent_the_robot_through_the_deflection_of_the_line() {
        let params = in_mode(Mode::Pspm);
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        let mut newest = frame(1, 0.0);
        newest.position_m[2] = 0.005;
        end.switch(&newest);
        let mut port_m = 0.0;
        for tick in 0..3000 {
            let wanted = end.demand(&moment(&params, &newest, true), &robot(port_m), &account);
            assert!(wanted.velocity_mps.abs() <= 0.0501, "{tick} {wanted:?}");
            port_m += wanted.velocity_mps * 1e-3;
        }
        // and then it is the method's own, bit for bit
        assert_eq!(end.eased_m, [0.0; AXES]);
        assert!((port_m - 0.005).abs() < 1e-8, "{port_m}");
    }

    /// Work on a controller's damping of 50 N s/m by the noise of the handle's velocity emptied the tank.
    #[test]
    fn issue_the_noise_of_a_coarse_encoder_was_work() {
        let params = in_mode(Mode::Mmt);
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        let mut ask = |velocity_mps: f64, held: bool| {
            let newest = frame(0, velocity_mps);
            end.demand(&moment(&params, &newest, held), &robot(0.0), &account)
                .velocity_mps
        };
        // a hand at 20 mm/s whose encoder rattles at 125 Hz by 5 mm/s
        let (mut squares, mut last_mps) = (0.0, 0.0);
        for tick in 0..400 {
            let noise_mps = if tick / 4 % 2 == 0 { 0.005 } else { -0.005 };
            last_mps = ask(0.02 + noise_mps, true);
            if tick >= 200 {
                squares += (last_mps - 0.02) * (last_mps - 0.02);
            }
        }
        assert!((last_mps - 0.02).abs() < 2e-3, "{last_mps}");
        let power_w = 50.0 * squares / 200.0;
        assert!(power_w < 0.1 * 50.0 * 0.005 * 0.005, "{power_w}");
        // and an outage still stops it at once
        assert_eq!(ask(0.0, false), 0.0);
    }
}
