//! The master's end of the coupling: the one place that chooses among the methods there.
//!
//! A tick calls [`MasterEnd::begin`] once, then for each axis [`MasterEnd::demand`] for the force that
//! the method wants, and, when account and guard have spoken, [`MasterEnd::send`] for what goes to the
//! other side. [`MasterEnd::book`] tells it beforehand what the force of the last tick did.

use super::auto::Blend;
use super::delay_gain::Spacing;
use super::model_mediated::{STOCK_J, charge_n, offer_j};
use super::wave::{self, Decoder, LowPass, Units};
use super::{Matching, Mode, Moment, Relayed, Reservoir, iss, pspm, tank, tdpa};
use crate::frame::FrameFlags;
use crate::trace::Events;
use crate::{AXES, Axes, HapticFrame};

/// Energy of the robot's account below which it cannot follow at all \[J\].
const STARVED_J: f64 = 1e-5;

/// One axis of the handle, as the methods see it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AtHandle {
    /// Which axis.
    pub axis: usize,
    /// Position \[m\].
    pub position_m: f64,
    /// Velocity \[m/s\].
    pub velocity_mps: f64,
    /// Velocity smoothed for a friction, which must not rattle in a hand that rests \[m/s\].
    pub smooth_mps: f64,
    /// Force of the twin on the tool, corrected \[N\]; 0 without one.
    pub twin_n: f64,
    /// Energy that the twin may give back along this axis \[J\].
    pub twin_j: f64,
    /// Of the twin's force, what holds the edge of a blade \[N\]: the robot has no blade, so nobody relays it.
    pub edge_n: f64,
}

/// What a method wants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Port force \[N\].
    pub force_n: f64,
    /// The wave that was used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`Events`].
    pub events: u32,
}

impl Demand {
    fn of(force_n: f64) -> Self {
        Self {
            force_n,
            ..Self::default()
        }
    }
}

/// What the methods remember at the master.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MasterEnd {
    decoder: [Decoder; AXES],
    spacing: Spacing,
    filter: [LowPass; AXES],
    wave_integral: Axes,
    units: Units,
    observer: tdpa::Observer,
    output: [tdpa::OutputFilter; AXES],
    /// Force that the passivity controller added, by axis \[N\].
    controlled_n: Axes,
    /// Force that was demanded last, by axis \[N\].
    demanded_n: Axes,
    /// Of the port's force, what was written of a blade's beside the method's, by axis \[N\].
    blade_n: Axes,
    /// What the hand put into that and did not get back, by axis \[J\]: parting took it or will give it back, and
    /// it is nobody else's.
    blade_j: Axes,
    rate: [iss::Rate; AXES],
    /// Energy of the spring of set-position modulation, by axis \[J\].
    spring_j: Axes,
    /// What `auto` feels of the twin.
    blend: Blend,
}

impl MasterEnd {
    /// With a peer that began anew, sums count from 0 again.
    pub fn restart(&mut self) {
        // what the hand feels is not the peer's
        *self = Self {
            blend: self.blend,
            blade_n: self.blade_n,
            blade_j: self.blade_j,
            ..Self::default()
        };
    }

    /// Another method begins: it shares the account, and none of what the one before remembered of the
    /// other side.
    pub fn switch(&mut self, newest: &HapticFrame) {
        for (decoder, sum) in self.decoder.iter_mut().zip(newest.wave_integral) {
            decoder.integral_out = sum;
        }
        self.observer = tdpa::Observer::default();
        self.output = [tdpa::OutputFilter::default(); AXES];
        self.spring_j = [0.0; AXES];
        self.blend = Blend::default();
    }

    /// Integral of the waves sent since the peer began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.wave_integral
    }

    /// Note the work that the force of the last tick did \[J\] over `moved_m`.
    pub fn book(&mut self, axis: usize, work_j: f64, moved_m: f64) {
        // the robot has no blade: what holds the operator's is no work on the line
        let blade_j = self.blade_n[axis] * moved_m;
        if blade_j.is_finite() {
            self.blade_j[axis] = (self.blade_j[axis] + blade_j).max(0.0);
        }
        // what the controller dissipated repays the gap; it is nobody else's
        let repaid_j = (self.controlled_n[axis] * moved_m).max(0.0);
        self.output[axis].book(moved_m);
        self.observer.book(axis, work_j - blade_j - repaid_j);
    }

    /// What of this end's account is the line's \[J\]: all but what a blade may give back.
    fn of_line_j(&self, axis: usize, account: &Reservoir) -> f64 {
        account.level_j()[axis] - self.blade_j[axis]
    }

    /// Begin a tick.
    pub fn begin(&mut self, moment: &Moment<'_>) {
        let newest = moment.newest;
        self.spacing
            .note(newest.sequence, newest.sent_ns, moment.dt_s);
        let (sent, came) = self.units.follow(moment.impedance_nspm, moment.came_nspm());
        for axis in 0..AXES {
            self.wave_integral[axis] *= sent;
            self.filter[axis].retell(sent);
            self.decoder[axis].integral_out *= came;
        }
        self.controlled_n = [0.0; AXES];
    }

    /// Let `auto` choose: by the measured round trip \[s\], if it is known, and how well the twin, whose
    /// force is `twin_n` by axis \[N\], is known here, 0 to 1.
    pub fn choose(
        &mut self,
        moment: &Moment<'_>,
        rtt_s: Option<f64>,
        (confidence, twin_n): (f64, &Axes),
    ) {
        if moment.params.mode == Mode::Auto {
            let relayed_n = core::array::from_fn(|axis| felt_of_robot_n(moment, axis));
            // a force that nobody measures cannot be relayed
            let measured = moment.newest.flags & FrameFlags::FORCE_VALID != 0;
            let rtt_s = rtt_s.filter(|_| measured);
            self.blend
                .step(rtt_s, confidence, (twin_n, &relayed_n), moment.dt_s);
        }
    }

    /// Share of the twin's force in what is felt, 0 to 1; the rest is relayed.
    #[must_use]
    pub fn twin_share(&self, mode: Mode) -> f64 {
        match mode {
            Mode::Auto => self.blend.twin_share(),
            Mode::Mmt => 1.0,
            _ => 0.0,
        }
    }

    /// What the method wants on one axis, and what holds the operator's blade, which every method lets the hand feel.
    pub fn demand(
        &mut self,
        moment: &Moment<'_>,
        handle: &AtHandle,
        account: &Reservoir,
    ) -> Demand {
        let wanted = self.of_method(moment, handle, account);
        let force_n = wanted.force_n - self.edge_n(moment, handle);
        self.demanded_n[handle.axis] = force_n;
        Demand { force_n, ..wanted }
    }

    /// What of the force on a blade the method does not have in the twin's force \[N\].
    fn edge_n(&self, moment: &Moment<'_>, handle: &AtHandle) -> f64 {
        (1.0 - self.twin_share(moment.params.mode)) * handle.edge_n
    }

    fn of_method(&mut self, moment: &Moment<'_>, handle: &AtHandle, account: &Reservoir) -> Demand {
        let axis = handle.axis;
        let (params, relayed_n) = (moment.params, relayed_n(moment, axis));
        match params.mode.resolved() {
            Mode::Direct => Demand::of(moment.newest.port_force_n[axis]),
            Mode::Wave => self.wave(moment, handle),
            Mode::WaveTdpa => {
                let wanted = self.wave(moment, handle);
                self.controlled(wanted, moment, handle, account)
            }
            Mode::Tdpa => {
                let charge_n = charge(moment, handle, params.tdpa_charge_n_max);
                self.controlled(Demand::of(relayed_n + charge_n), moment, handle, account)
            }
            Mode::Tank => {
                let level_j = self.of_line_j(axis, account);
                let (target_j, most) = (params.tank_target_j, params.tank_nspm_max);
                let damping = tank::level_damping_nspm(level_j, target_j, most);
                Demand::of(relayed_n + damping * handle.velocity_mps)
            }
            Mode::Pspm => self.set_position(moment, handle, account),
            Mode::Iss => {
                let newest = moment.newest;
                let rate = self.rate[axis].note(newest.sequence, newest.sent_ns, relayed_n);
                let (v, tau_s, mu_npm) = (handle.velocity_mps, params.iss_tau_s, params.iss_mu_npm);
                Demand::of(iss::force_n(relayed_n, rate, v, tau_s, mu_npm))
            }
            Mode::Mmt | Mode::Auto => {
                let tissue_n = if params.mode == Mode::Auto {
                    let relayed_n = felt_of_robot_n(moment, axis);
                    self.blend.force_n(handle.twin_n, relayed_n)
                } else {
                    handle.twin_n
                };
                let most_n = params.charge_n_max;
                let own_n = charge_n(account.level_j()[axis], STOCK_J, most_n, handle.smooth_mps);
                let charge_n = wider(charge(moment, handle, most_n), own_n);
                Demand::of(charge_n - tissue_n)
            }
        }
    }

    /// Send the wave of this tick and the energy that goes with it, keeping `reserve_j` for the force
    /// that is held; returns the wave \[sqrt(W)\].
    pub fn send(
        &mut self,
        moment: &Moment<'_>,
        handle: &AtHandle,
        (force_n, reserve_j): (f64, f64),
        account: &mut Reservoir,
    ) -> f64 {
        let (axis, dt_s, params) = (handle.axis, moment.dt_s, moment.params);
        let (b, mode) = (moment.own_nspm(axis), params.mode.resolved());
        let matched = mode.sends_waves() && params.matching == Matching::Both;
        // a blade is held at this end, as far as what was demanded was written
        let demanded_n = self.demanded_n[axis];
        let written = match demanded_n == 0.0 {
            true => 1.0,
            false => (force_n / demanded_n).clamp(0.0, 1.0),
        };
        self.blade_n[axis] = -self.edge_n(moment, handle) * written;
        let made = if matched {
            (b / 2.0).sqrt() * handle.velocity_mps
        } else {
            // the line carries what it brought
            wave::forward(b, handle.velocity_mps, force_n - self.blade_n[axis])
        };
        let sent = self.filter[axis].next(made, params.wave_filter_hz, dt_s);
        self.wave_integral[axis] += sent * dt_s;
        let wave_j = 0.5 * sent * sent * dt_s;
        if matches!(mode, Mode::Direct | Mode::Iss | Mode::Mmt | Mode::Auto) {
            // what such a method sent on is nobody's to keep; what a line that keeps it borrows, it gives back first
            let level_j = account.level_j()[axis].max(0.0);
            self.blade_j[axis] = self.blade_j[axis].min(level_j);
        }
        match mode {
            Mode::Direct | Mode::Iss => account.ship_unpaid(axis, wave_j),
            Mode::Wave => {
                // short of energy a line would take what holds a blade, which the robot has not
                account.ship(axis, wave_j, reserve_j + self.blade_j[axis]);
            }
            Mode::Tdpa | Mode::WaveTdpa => {
                let kept_j = reserve_j + self.blade_j[axis];
                self.observer.ship(axis, kept_j, account);
            }
            Mode::Tank => {
                let level_j = self.of_line_j(axis, account);
                let share_j = tank::share_j(level_j, params.share_hz, dt_s);
                account.ship(axis, share_j, reserve_j);
            }
            Mode::Pspm => {
                let kept_j = self.spring_j[axis] + self.blade_j[axis];
                self.offer(moment, axis, (kept_j, reserve_j), account);
            }
            Mode::Mmt | Mode::Auto => {
                // a clamp keeps what is not a number, which stops the offer
                let kept_j = STOCK_J + handle.twin_j.clamp(0.0, f64::INFINITY);
                self.offer(moment, axis, (kept_j, reserve_j), account);
            }
        }
        sent
    }

    /// Force of the wave that came, and the wave.
    fn wave(&mut self, moment: &Moment<'_>, handle: &AtHandle) -> Demand {
        let (axis, params, newest) = (handle.axis, moment.params, moment.newest);
        let decoder = &mut self.decoder[axis];
        let w = if params.delay_gain {
            self.spacing.used(newest.wave[axis], moment.held)
        } else {
            let integral = newest.wave_integral[axis];
            let sample = newest.wave[axis];
            decoder.demand(
                sample,
                integral,
                moment.held,
                params.catch_up_hz,
                moment.dt_s,
            )
        };
        decoder.used(w, moment.dt_s);
        // with the b that it was made with: with one's own, a force in the hand would leap at a retune
        let (b, v) = (moment.came_with_nspm(axis), handle.velocity_mps);
        let force_n = match params.matching {
            Matching::Both => wave::matched_master_force(b, v, w),
            Matching::None | Matching::Slave => wave::master_force(b, v, w),
        };
        Demand {
            force_n,
            wave_in: w,
            events: 0,
        }
    }

    /// The demand behind the impedance controller of E8.
    fn controlled(
        &mut self,
        wanted: Demand,
        moment: &Moment<'_>,
        handle: &AtHandle,
        account: &Reservoir,
    ) -> Demand {
        let axis = handle.axis;
        let v = handle.velocity_mps;
        let gap_j = self.observer.gap_j(axis, account) - self.blade_j[axis];
        let most = tdpa::ALPHA_NSPM_MAX;
        let alpha = tdpa::impedance_pc(gap_j, wanted.force_n, v, moment.dt_s, most);
        let filter_hz = moment.params.control_filter_hz;
        let added_n = self.output[axis].next(alpha * v, v, filter_hz, moment.dt_s);
        self.controlled_n[axis] = added_n;
        Demand {
            force_n: wanted.force_n + added_n,
            events: wanted.events | events_if(alpha > 0.0),
            ..wanted
        }
    }

    /// Force of the spring to the robot's position, as far as the account lets it be set.
    fn set_position(
        &mut self,
        moment: &Moment<'_>,
        handle: &AtHandle,
        account: &Reservoir,
    ) -> Demand {
        let (axis, params, own_m) = (handle.axis, moment.params, handle.position_m);
        let known = moment.newest.sequence > 0;
        let wanted_m = if known {
            moment.newest.position_m[axis]
        } else {
            own_m
        };
        let stiffness = params.pspm_npm;
        // a spring that held all there is would leave the robot standing, and so stay stretched
        let tank_j = moment.newest.reservoir_j[axis];
        let kept = if tank_j > STARVED_J {
            1.0
        } else {
            1.0 - (params.share_hz * moment.dt_s).clamp(0.0, 0.5)
        };
        let energy_j = kept * self.of_line_j(axis, account).max(0.0);
        let set_m = pspm::set_position_m(own_m, wanted_m, energy_j, stiffness);
        self.spring_j[axis] = pspm::stored_j(own_m, set_m, stiffness);
        let spring_n = stiffness * (own_m - set_m);
        let damper_n = params.pspm_nspm * handle.velocity_mps;
        Demand {
            force_n: spring_n + damper_n + charge(moment, handle, params.charge_n_max),
            wave_in: 0.0,
            events: events_if(set_m != wanted_m),
        }
    }

    /// Offer the slave's tank what this end does not need for `stored_j`.
    fn offer(
        &self,
        moment: &Moment<'_>,
        axis: usize,
        (stored_j, reserve_j): (f64, f64),
        account: &mut Reservoir,
    ) {
        let tank_j = moment.newest.reservoir_j[axis];
        let level_j = account.level_j()[axis];
        let offer = offer_j(level_j, stored_j, tank_j, moment.params.tank_target_j);
        account.ship(axis, offer, reserve_j);
    }
}

/// The robot's force as the hand should push against it \[N\]: what the tissue does to the probe, the
/// coupling does against it.
fn relayed_n(moment: &Moment<'_>, axis: usize) -> f64 {
    let newest = moment.newest;
    let known = newest.flags & FrameFlags::FORCE_VALID != 0;
    match moment.params.relayed {
        Relayed::Contact if known => -newest.contact_force_n[axis],
        Relayed::Contact | Relayed::Port => newest.port_force_n[axis],
    }
}

/// Force of the tissue on the probe as it was reported \[N\], which `auto` relays; what is not known is
/// not relayed.
fn felt_of_robot_n(moment: &Moment<'_>, axis: usize) -> f64 {
    let newest = moment.newest;
    if newest.flags & FrameFlags::FORCE_VALID != 0 {
        newest.contact_force_n[axis]
    } else {
        0.0
    }
}

/// Friction that fills the slave's tank while it is low \[N\].
fn charge(moment: &Moment<'_>, handle: &AtHandle, most_n: f64) -> f64 {
    let tank_j = moment.newest.reservoir_j[handle.axis];
    charge_n(
        tank_j,
        moment.params.tank_target_j,
        most_n,
        handle.smooth_mps,
    )
}

/// The one of two forces of one sign that is larger.
fn wider(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}

/// The event of a method's own passivity controller, if it acted.
fn events_if(acted: bool) -> u32 {
    if acted { Events::CONTROLLED } else { 0 }
}
