//! One tick of the remote side: frame and robot in, actuator force and frame out.
//!
//! Pure and total: no clock, no socket, no allocation, and any input gives finite, limited output.
//! Stages: take the newest frame, form the demand of the coupling method, limit it (guard), let the
//! energy account pay for it, move the port, encode. The methods themselves are in
//! `palpate_transport::coupling`, behind its `SlaveEnd`.

use palpate_port::encoder::Measured;
use palpate_port::inbox::{Arrival, Inbox, Parties};
use palpate_port::outbox::{Outbox, PortAxis};
use palpate_transport::coupling::{
    AtRobot, CouplingParams, Moment, Moved, Pd, Reservoir, SlaveEnd,
};
use palpate_transport::frame::{FrameFlags, is_plausible};
use palpate_transport::trace::{Events, Side, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use crate::guard::{GuardParams, Motion};
use crate::robot::Reading;

/// Parameters of the remote side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlaveParams {
    /// Stiffness K_s of the coupling to the robot, by axis \[N/m\].
    pub stiffness_npm: Axes,
    /// Damping B_s, by axis \[N s/m\]; impedance matching replaces it.
    pub damping_nspm: Axes,
    /// Limits.
    pub guard: GuardParams,
}

impl Default for SlaveParams {
    fn default() -> Self {
        Self {
            stiffness_npm: [2000.0, 2000.0, 2000.0, 1000.0],
            damping_nspm: [50.0, 50.0, 50.0, 20.0],
            guard: GuardParams::default(),
        }
    }
}

/// What a tick is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inputs {
    /// Number of the tick.
    pub tick: u64,
    /// Now, on this side's clock.
    pub now: Time,
    /// Time since the tick before, a whole number of periods \[s\].
    pub dt_s: f64,
    /// The robot.
    pub reading: Reading,
    /// The newest frame from the master and when it was received; the same one may come again.
    pub frame: Option<(HapticFrame, Time)>,
    /// Whether the session asks the robot to stand still (a stop, a pause, or the end).
    pub halt: bool,
    /// Whether the operator asks for a latched fault to be cleared.
    pub rearm: bool,
}

/// What a tick gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outputs {
    /// Actuator force for the robot \[N\].
    pub force_n: Axes,
    /// Whether the gripper is commanded closed.
    pub closed: bool,
    /// Frame for the master.
    pub frame: HapticFrame,
    /// Record of this tick; the shell adds lateness and CPU time.
    pub record: TickRecord,
}

/// What the remote side remembers between ticks.
#[derive(Debug, Clone)]
pub struct State {
    port_position_m: Axes,
    placed: bool,
    method: SlaveEnd,
    reservoir: Reservoir,
    inbox: Inbox,
    fading_n: Axes,
    closed: bool,
    engaged_since: Option<Time>,
    sequence: u64,
    fault: bool,
    /// Strokes that are over at the tissue.
    strokes: u64,
}

impl State {
    /// At rest.
    #[must_use]
    pub fn new(parties: Parties) -> Self {
        Self {
            port_position_m: [0.0; AXES],
            placed: false,
            method: SlaveEnd::default(),
            reservoir: Reservoir::default(),
            inbox: Inbox::new(parties),
            fading_n: [0.0; AXES],
            closed: false,
            engaged_since: None,
            sequence: 0,
            fault: false,
            strokes: 0,
        }
    }

    /// What came from the other side, and its clock.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

/// What holds for all axes in one tick.
struct Now<'a> {
    params: &'a SlaveParams,
    coupling: &'a CouplingParams,
    inputs: &'a Inputs,
    /// The robot as it is believed.
    reading: Reading,
    /// For how long the robot has been allowed to move; none if it is not.
    moving: Option<Span>,
}

impl Now<'_> {
    /// What the coupling method is given.
    fn moment<'a>(&'a self, inbox: &'a Inbox) -> Moment<'a> {
        moment(self.coupling, inbox, self.inputs)
    }
}

/// Advance the remote side by one tick.
#[must_use]
pub fn tick(
    params: &SlaveParams,
    coupling: &CouplingParams,
    state: &mut State,
    inputs: &Inputs,
) -> Outputs {
    let loose = state.fault || !state.placed;
    let reading = state.trusted(inputs);
    // the port was just put to where the robot is
    let begins = loose && !state.fault;
    state.take_frame(inputs);
    state.strokes = reading.opened.strokes;
    // of what was agreed on and not of the mode of now: a spring that is stretched keeps its stiffness
    let params = &SlaveParams {
        stiffness_npm: params.stiffness_npm.map(|own| coupling.robot_npm(own)),
        ..*params
    };
    // the method that the newest frame was made in
    let code = FrameFlags::mode_code(state.inbox.newest().flags);
    let coupling = &coupling.in_mode(coupling.mode_of(code));
    state.method.begin(&moment(coupling, &state.inbox, inputs));
    let guard = &params.guard;
    let stale = state.inbox.stale(inputs.now, guard.watchdog_s, guard.age_s);
    let now = Now {
        params,
        coupling,
        inputs,
        reading,
        moving: state.engage(inputs, stale),
    };
    let mut ports = [PortAxis::default(); AXES];
    let mut events = if stale { Events::STALE } else { 0 };
    events |= if state.fault { Events::INVALID } else { 0 };
    for (axis, port) in ports.iter_mut().enumerate() {
        *port = if state.fault {
            state.faded_axis(&now, axis)
        } else if begins {
            state.still_axis(&now, axis, 0.0)
        } else {
            state.axis(&now, axis)
        };
        events |= port.events;
    }
    state.outputs(&now, &ports, events)
}

/// What the coupling method is given in this tick.
fn moment<'a>(coupling: &'a CouplingParams, inbox: &'a Inbox, inputs: &Inputs) -> Moment<'a> {
    let newest = inbox.newest();
    Moment {
        params: coupling,
        // the one that the newest frame was made with, from that frame on
        impedance_nspm: newest.made_with_nspm().unwrap_or(coupling.impedance_nspm),
        newest,
        held: inbox.silence(inputs.now).s() <= coupling.hold_s,
        dt_s: inputs.dt_s,
    }
}

impl State {
    /// The reading, or a latched fault and the last good port if it is not usable.
    fn trusted(&mut self, inputs: &Inputs) -> Reading {
        let reading = inputs.reading;
        if !is_plausible(&reading.position_m, &reading.velocity_mps) {
            self.fault = true;
            return Reading {
                position_m: self.port_position_m,
                opened: reading.opened,
                ..Reading::default()
            };
        }
        // A fault leaves the port where it was and the robot loose. Re-armed, and in a new run, the
        // port begins at the robot, under no force in this tick: so it takes no energy from anywhere.
        let rearmed = self.fault && inputs.rearm;
        self.fault &= !rearmed;
        if !self.placed || rearmed {
            self.port_position_m = reading.position_m;
            self.placed = true;
        }
        let known = reading.force_valid && reading.contact_force_n.iter().all(|n| n.is_finite());
        let contact_force_n = if known {
            reading.contact_force_n
        } else {
            [0.0; AXES]
        };
        Reading {
            contact_force_n,
            force_valid: known,
            ..reading
        }
    }

    /// Take the newest frame; with a peer that began anew, everything is counted from 0 again, and
    /// the robot begins to move as after any hold.
    fn take_frame(&mut self, inputs: &Inputs) {
        if self.inbox.take(inputs.frame) == Arrival::Restarted {
            self.reservoir.rebase();
            self.method.restart();
            self.engaged_since = None;
        }
        let newest = self.inbox.newest();
        self.reservoir.receive(&newest.energy_sent_j);
        if newest.sequence > 0 {
            self.closed = newest.flags & FrameFlags::CLOSED != 0;
        }
    }

    /// Whether the robot may move, and since when.
    fn engage(&mut self, inputs: &Inputs, stale: bool) -> Option<Span> {
        let wanted = self.inbox.newest().flags & FrameFlags::ENGAGED != 0;
        if stale || self.fault || inputs.halt || !wanted {
            self.engaged_since = None;
            return None;
        }
        let since = *self.engaged_since.get_or_insert(inputs.now);
        Some(inputs.now - since)
    }

    /// Move one axis of the port.
    fn axis(&mut self, now: &Now<'_>, axis: usize) -> PortAxis {
        let (params, reading, moving) = (now.params, &now.reading, now.moving);
        let dt_s = now.inputs.dt_s;
        let moment = now.moment(&self.inbox);
        let pd = Pd {
            stiffness_npm: params.stiffness_npm[axis],
            damping_nspm: moment.robot_nspm(axis, params.damping_nspm[axis]),
            error_m: self.port_position_m[axis] - reading.position_m[axis],
            robot_velocity_mps: reading.velocity_mps[axis],
            dt_s,
        };
        let robot = AtRobot {
            axis,
            port_m: self.port_position_m[axis],
            touching: touches(reading, axis, &pd),
            contact_n: reading.force_valid.then_some(reading.contact_force_n[axis]),
            pd,
        };
        let wanted = self.method.demand(&moment, &robot, &self.reservoir);
        let mut events = wanted.events;
        let motion = Motion {
            position_m: self.port_position_m[axis],
            velocity_mps: if moving.is_some() {
                wanted.velocity_mps
            } else {
                0.0
            },
            contact_force_n: reading.contact_force_n[axis],
            opening: params.guard.opening(moving.map_or(0.0, Span::s)),
            dt_s,
        };
        let (limited, hits) = params.guard.limit_velocity(axis, &motion);
        events |= hits;
        let (velocity_mps, force_n, paid) = pay(now, axis, limited, &pd, &mut self.reservoir);
        events |= paid;
        self.port_position_m[axis] += velocity_mps * dt_s;
        self.fading_n[axis] = force_n;
        let moved = Moved {
            axis,
            velocity_mps,
            force_n,
        };
        let account = &mut self.reservoir;
        let wave_out = self.method.send(&moment, &moved, account);
        PortAxis {
            force_n,
            wave_in: wanted.wave_in,
            wave_out,
            events,
        }
    }

    /// One axis during a latched fault: the port holds, the force fades to damping.
    fn faded_axis(&mut self, now: &Now<'_>, axis: usize) -> PortAxis {
        let (velocity, fading_n) = (now.reading.velocity_mps[axis], self.fading_n[axis]);
        let guard = &now.params.guard;
        let (force_n, left_n) = guard.fault_force(axis, fading_n, velocity, now.inputs.dt_s);
        self.fading_n[axis] = left_n;
        self.still_axis(now, axis, force_n)
    }

    /// One axis whose port does not move, so that its force does no work on the channel.
    fn still_axis(&mut self, now: &Now<'_>, axis: usize, force_n: f64) -> PortAxis {
        let moment = now.moment(&self.inbox);
        let moved = Moved {
            axis,
            velocity_mps: 0.0,
            force_n,
        };
        let account = &mut self.reservoir;
        let wave_out = self.method.send(&moment, &moved, account);
        PortAxis {
            force_n,
            wave_out,
            ..PortAxis::default()
        }
    }

    fn outputs(&mut self, now: &Now<'_>, ports: &[PortAxis; AXES], events: u32) -> Outputs {
        let reading = &now.reading;
        self.sequence += 1;
        let mut flags = FrameFlags::ENGAGED * u32::from(self.engaged_since.is_some());
        flags |= FrameFlags::FORCE_VALID * u32::from(reading.force_valid);
        flags |= FrameFlags::CLOSED * u32::from(self.closed);
        flags |= FrameFlags::FAULT * u32::from(self.fault);
        let outbox = Outbox {
            side: Side::Slave,
            tick: now.inputs.tick,
            now: now.inputs.now,
            device: Measured {
                position_m: reading.position_m,
                velocity_mps: reading.velocity_mps,
            },
            inbox: &self.inbox,
            account: &self.reservoir,
            ports,
        };
        let frame = HapticFrame {
            impedance_epoch: self.inbox.newest().impedance_epoch,
            flags,
            impedance_nspm: now.moment(&self.inbox).impedance_nspm,
            contact_force_n: reading.contact_force_n,
            wave_integral: *self.method.wave_integral(),
            strokes: self.strokes,
            topology: reading.opened.topology,
            ..outbox.frame(self.sequence)
        };
        let record = TickRecord {
            port_position_m: self.port_position_m,
            tissue_force_n: reading.contact_force_n,
            tissue_energy_j: reading.tissue_energy_j,
            events,
            state: self.operating(events),
            strokes: self.strokes,
            topology: reading.opened.topology,
            ..outbox.record()
        };
        Outputs {
            force_n: ports.map(|port| port.force_n),
            closed: self.closed,
            frame,
            record,
        }
    }

    /// Operating state as CRTK numbers it in [`TickRecord::state`].
    fn operating(&self, events: u32) -> u8 {
        if self.fault {
            3
        } else if self.engaged_since.is_some() {
            1
        } else {
            u8::from(events & Events::STALE != 0) * 2
        }
    }
}

/// The velocity and force that the force limit and the account allow; books the work.
fn pay(
    now: &Now<'_>,
    axis: usize,
    wanted_mps: f64,
    pd: &Pd,
    account: &mut Reservoir,
) -> (f64, f64, u32) {
    let force_max = now.params.guard.force_n_max[axis];
    let mut events = 0;
    let mut velocity = wanted_mps;
    if pd.force(velocity).abs() > force_max {
        let bounded = pd.force(velocity).clamp(-force_max, force_max);
        let reached = (bounded - pd.force_at_rest()) / pd.slope_nspm();
        // never faster, never the other way: the limit may only slow the port down
        velocity = if velocity > 0.0 {
            reached.clamp(0.0, velocity)
        } else {
            reached.clamp(velocity, 0.0)
        };
        events |= Events::FORCE;
    }
    if now.coupling.mode.is_passive() {
        let (rest, slope) = (pd.force_at_rest(), pd.slope_nspm());
        let paid = account.payable_velocity(axis, velocity, rest, slope, pd.dt_s);
        events |= if paid == velocity { 0 } else { Events::UNPAID };
        velocity = paid;
    }
    let force = pd.force(velocity).clamp(-force_max, force_max);
    account.deposit(axis, -force * velocity * pd.dt_s);
    (velocity, force, events)
}

/// Whether the probe touches, as far as it can be known.
fn touches(reading: &Reading, axis: usize, pd: &Pd) -> bool {
    if reading.force_valid {
        reading.contact_force_n[axis].abs() > TOUCH_N
    } else {
        pd.force_at_rest().abs() > UNFELT_TOUCH_N
    }
}

/// Measured force above which the probe is taken to touch \[N\]: ten sigma of its sensor.
const TOUCH_N: f64 = 0.1;

/// Coupling force above which a probe without a sensor is taken to touch \[N\]: above the robot's
/// own friction and drag.
const UNFELT_TOUCH_N: f64 = 1.0;
