//! One tick of the remote side: frame and robot in, actuator force and frame out.
//!
//! Pure and total: no clock, no socket, no allocation, and any input gives finite, limited output. Stages: take the
//! newest frame, compute the demand of the coupling method, limit it (guard), limit it to the energy in the tank,
//! move the port, form the frame. The methods themselves are in `palpate_transport::coupling`, behind its `SlaveEnd`.

use palpate_port::TickInputs;
use palpate_port::encoder::MeasuredMotion;
use palpate_port::inbox::{Inbox, PeerRun, RunIds};
use palpate_port::tick_report::{PortAxis, TickReport};
use palpate_transport::coupling::{
    CouplingInputs, CouplingParams, EnergyTank, PdController, RobotAxis, SlaveEnd, SlavePortMotion,
};
use palpate_transport::frame::{FrameFlags, is_plausible};
use palpate_transport::trace::{EventFlags, Side, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use crate::approach::{Approach, ServoState, TOUCH_COUPLING_N_MIN, TOUCH_N};
use crate::guard::{PortMotion, SlaveGuardParams};
use crate::robot::RobotReading;
use crate::robot_port::RobotPort;

/// Parameters of the remote side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlaveParams {
    /// Stiffness K_s of the coupling to the robot, by axis \[N/m\].
    pub stiffness_npm: Axes,
    /// Damping B_s, by axis \[N s/m\], near the critical `2 sqrt(m K_s)` of the moving mass m. It applies while the
    /// robot holds its position, and in motion unless impedance matching replaces it.
    pub damping_nspm: Axes,
    /// Least damping by impedance matching, by axis \[N s/m\]; the most is `damping_nspm`.
    pub matched_nspm_min: Axes,
    /// Stiffest wall \[N/m\]: the servo must be stable against it at twice its gains (teleop E20), and the speed of
    /// approach keeps the force of a first touch of it within the limit (teleop E21).
    pub wall_npm_max: f64,
    /// Limits.
    pub guard: SlaveGuardParams,
}

impl Default for SlaveParams {
    fn default() -> Self {
        Self {
            stiffness_npm: [2000.0, 2000.0, 2000.0, 1000.0],
            damping_nspm: [50.0, 50.0, 50.0, 20.0],
            matched_nspm_min: [5.0, 5.0, 5.0, 3.0],
            wall_npm_max: 20_000.0,
            guard: SlaveGuardParams::default(),
        }
    }
}

/// Outputs of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlaveOutputs {
    /// Actuator force for the robot \[N\].
    pub force_n: Axes,
    /// True if the gripper is commanded closed.
    pub closed: bool,
    /// Frame for the master.
    pub frame: HapticFrame,
    /// Record of this tick; the shell (the caller with clocks and threads) adds lateness and CPU time.
    pub record: TickRecord,
}

/// State of the remote side between ticks.
#[derive(Debug, Clone, Default)]
pub struct SlaveState {
    port_position_m: Axes,
    /// Distance from the port to the set point of the servo \[m\]: a hold moves the set point, but not the port.
    set_point_offset_m: Axes,
    /// True while the robot holds its position.
    holds: bool,
    has_position: bool,
    method: SlaveEnd,
    tank: EnergyTank,
    robot_port: RobotPort,
    approach: Approach,
    inbox: Inbox,
    /// Force of the servo in the last tick, which fades during a fault \[N\].
    servo_n: Axes,
    /// Velocity of the port in the last tick \[m/s\].
    port_mps: Axes,
    closed: bool,
    /// Time since which the robot has been allowed to move.
    engaged_since: Option<Time>,
    sequence: u64,
    fault: bool,
    /// True if the cause of the latched fault is a collapse of the simulated tissue.
    collapsed: bool,
    /// Edit batches applied to or refused by the tissue.
    finished_batches: u64,
}

impl SlaveState {
    /// Creates the state of a side at rest, for a robot with a moving mass, by axis \[kg\].
    #[must_use]
    pub fn new(mass_kg: Axes, run_ids: RunIds) -> Self {
        Self {
            approach: Approach::new(mass_kg),
            inbox: Inbox::new(run_ids),
            ..Self::default()
        }
    }

    /// Received state of the other side, and its clock.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

/// Values common to all axes in one tick.
struct TickContext<'a> {
    params: &'a SlaveParams,
    coupling: &'a CouplingParams,
    inputs: &'a TickInputs,
    /// Reading of the robot after validation.
    reading: RobotReading,
    /// Time for which the robot has been allowed to move; none if it is not.
    engaged_for: Option<Span>,
}

impl TickContext<'_> {
    /// Inputs of the coupling method.
    fn coupling_inputs<'a>(&'a self, inbox: &'a Inbox) -> CouplingInputs<'a> {
        coupling_inputs(self.coupling, inbox, self.inputs)
    }
}

/// Advances the remote side by one tick.
#[must_use]
pub fn tick(
    params: &SlaveParams,
    coupling: &CouplingParams,
    state: &mut SlaveState,
    inputs: &TickInputs,
    reading: &RobotReading,
) -> SlaveOutputs {
    let needs_placement = state.fault || !state.has_position;
    let reading = state.accept_reading(inputs, reading);
    state.robot_port.observe(&reading);
    // true if the port was just placed at the robot
    let was_placed = needs_placement && !state.fault;
    state.take_frame(coupling, inputs);
    state.finished_batches = reading.edits.finished_batches;
    // the stiffness comes from the agreed parameters and not from the current mode, so that it does not change while
    // the spring is stretched
    let params = &SlaveParams {
        stiffness_npm: params
            .stiffness_npm
            .map(|own| coupling.robot_stiffness_npm(own)),
        ..*params
    };
    // the method of the newest frame
    let code = FrameFlags::mode_code(state.inbox.newest().flags);
    let coupling = &coupling.with_mode(coupling.mode_from_code(code));
    state
        .method
        .begin_tick(&coupling_inputs(coupling, &state.inbox, inputs));
    let servo = ServoState {
        port_m: state.port_position_m,
        port_mps: state.port_mps,
        force_n: state.servo_n,
    };
    state
        .approach
        .observe(params, &reading, &servo, inputs.dt_s);
    state.port_mps = [0.0; AXES];
    let guard = &params.guard;
    let stale = state
        .inbox
        .is_stale(inputs.now, guard.watchdog_s, guard.age_s);
    let context = TickContext {
        params,
        coupling,
        inputs,
        reading,
        engaged_for: state.engage(inputs, stale),
    };
    let held = std::mem::replace(&mut state.holds, context.engaged_for.is_none());
    if state.holds && !held {
        state.balance_spring(&context);
    }
    let mut port_axes = [PortAxis::default(); AXES];
    let mut events = state.input_events(stale);
    for (axis, port) in port_axes.iter_mut().enumerate() {
        *port = if state.fault {
            state.faded_axis(&context, axis)
        } else if was_placed {
            state.stopped_axis(&context, axis, 0.0)
        } else {
            state.tick_axis(&context, axis)
        };
        events |= port.events;
    }
    state.outputs(&context, &port_axes, events)
}

/// Inputs of the coupling method in this tick.
fn coupling_inputs<'a>(
    coupling: &'a CouplingParams,
    inbox: &'a Inbox,
    inputs: &TickInputs,
) -> CouplingInputs<'a> {
    // the impedance of the newest frame, from that frame on
    let received_nspm = inbox.newest().wave_impedance_nspm();
    inbox.coupling_inputs(
        coupling,
        received_nspm.unwrap_or(coupling.impedance_nspm),
        inputs,
    )
}

impl SlaveState {
    /// Validated reading. A collapse of the tissue latches a fault. So does a reading that is not plausible; the last
    /// position of the port then replaces it.
    fn accept_reading(&mut self, inputs: &TickInputs, reading: &RobotReading) -> RobotReading {
        if !is_plausible(&reading.position_m, &reading.velocity_mps) {
            (self.fault, self.collapsed) = (true, false);
            return RobotReading {
                position_m: self.port_position_m,
                edits: reading.edits,
                ..RobotReading::default()
            };
        }
        // During a fault the port stays in place, and the robot is only damped. After a re-arm, and at the start of a
        // run, the port is placed at the robot with no force in this tick, so this needs no energy.
        let rearmed = self.fault && inputs.rearm;
        self.fault = (self.fault && !rearmed) || reading.tissue_collapsed;
        self.collapsed = (self.collapsed && !rearmed) || reading.tissue_collapsed;
        if !self.has_position || rearmed {
            self.port_position_m = reading.position_m;
            self.set_point_offset_m = [0.0; AXES];
            self.has_position = true;
        }
        let known = reading.force_valid && reading.contact_force_n.iter().all(|n| n.is_finite());
        let contact_force_n = if known {
            reading.contact_force_n
        } else {
            [0.0; AXES]
        };
        RobotReading {
            contact_force_n,
            force_valid: known,
            ..*reading
        }
    }

    /// Events of the newest frame and of the reading.
    fn input_events(&self, stale: bool) -> u32 {
        let fault = match (self.fault, self.collapsed) {
            (true, true) => EventFlags::TISSUE_COLLAPSED,
            (true, false) => EventFlags::INVALID_READING,
            (false, _) => 0,
        };
        fault
            | (EventFlags::STALE * u32::from(stale))
            | (EventFlags::FRAME_REFUSED * u32::from(self.inbox.refused()))
    }

    /// Takes the newest frame. For a peer that restarted, or its successor, all sums count from 0 again, the tank keeps
    /// nothing of the former run, and the robot starts to move as after any stop.
    fn take_frame(&mut self, coupling: &CouplingParams, inputs: &TickInputs) {
        if self.inbox.accept(inputs.frame, coupling) == PeerRun::New {
            self.tank.reset_sums();
            self.tank.drop_surplus();
            self.method.restart();
            self.engaged_since = None;
        }
        let newest = self.inbox.newest();
        self.tank.receive(&newest.energy_sent_j);
        if newest.sequence > 0 {
            self.closed = newest.flags & FrameFlags::GRIPPER_CLOSED != 0;
        }
    }

    /// Time for which the robot has been allowed to move; none if it must not.
    fn engage(&mut self, inputs: &TickInputs, stale: bool) -> Option<Span> {
        let operator_engaged = self.inbox.newest().flags & FrameFlags::ENGAGED != 0;
        if stale || self.fault || inputs.halt || !operator_engaged {
            self.engaged_since = None;
            return None;
        }
        let since = *self.engaged_since.get_or_insert(inputs.now);
        Some(inputs.now - since)
    }

    /// Sets the servo's spring, where a hold begins, to the force that balances the measured contact; the port does
    /// not move. If the spring gets weaker, its energy is lost. If it gets stronger, the tank pays in the passive
    /// modes, and the level bounds its strength. In motion, damping balances part of the contact force. Without a new
    /// balance the tissue would push the robot back as the port stops.
    fn balance_spring(&mut self, context: &TickContext<'_>) {
        let (reading, params) = (&context.reading, context.params);
        for axis in 0..AXES {
            let (npm, most_n) = (params.stiffness_npm[axis], params.guard.contact_n_max[axis]);
            let contact_n = reading.contact_force_n[axis].clamp(-most_n, most_n);
            let balance_m = if contact_n.abs() > TOUCH_N {
                -contact_n / npm
            } else {
                0.0
            };
            let stretch_m = self.port_position_m[axis] + self.set_point_offset_m[axis]
                - reading.position_m[axis];
            let stored_j = if stretch_m * balance_m > 0.0 {
                0.5 * npm * stretch_m * stretch_m
            } else {
                0.0
            };
            let most_j = if context.coupling.mode.is_passive() {
                stored_j + self.tank.level_j()[axis].max(0.0)
            } else {
                f64::INFINITY
            };
            let most_m = (2.0 * most_j / npm).sqrt();
            let set_m = balance_m.clamp(-most_m, most_m);
            let cost_j = 0.5 * npm * set_m * set_m - stored_j;
            self.tank.deposit(axis, -cost_j.max(0.0));
            self.set_point_offset_m[axis] += set_m - stretch_m;
        }
    }

    /// Moves the port of an enabled robot towards the servo's set point, by at most `left_m` and as far as the tank
    /// pays; the set point stays.
    fn close_set_point_offset(
        &mut self,
        context: &TickContext<'_>,
        axis: usize,
        left_m: f64,
        force_n: f64,
    ) {
        let mut moved_m = self.set_point_offset_m[axis].clamp(-left_m, left_m);
        let (cost_j, level_j) = (force_n * moved_m, self.tank.level_j()[axis].max(0.0));
        if context.coupling.mode.is_passive() && cost_j > level_j {
            moved_m *= level_j / cost_j;
        }
        // work that comes back is not used
        self.tank.deposit(axis, -(force_n * moved_m).max(0.0));
        self.set_point_offset_m[axis] -= moved_m;
        self.port_position_m[axis] += moved_m;
    }

    /// Releases the servo's spring in a contact, as far as it presses with more than the limit allows; true if the
    /// force is about to pass that limit.
    fn yield_spring(&mut self, context: &TickContext<'_>, axis: usize) -> bool {
        let (params, reading) = (context.params, &context.reading);
        let limit_n = params.guard.contact_n_max[axis];
        let holds = context.engaged_for.is_none();
        let Some(most_n) = self.approach.spring_n_max(axis, limit_n, holds) else {
            return false;
        };
        let set_point_m = self.port_position_m[axis] + self.set_point_offset_m[axis];
        let stretch_m = set_point_m - reading.position_m[axis];
        let most_m = most_n / params.stiffness_npm[axis];
        if stretch_m * reading.contact_force_n[axis] < 0.0 && stretch_m.abs() > most_m {
            self.set_point_offset_m[axis] += most_m.copysign(stretch_m) - stretch_m;
        }
        most_n < limit_n
    }

    /// Moves one axis of the port.
    fn tick_axis(&mut self, context: &TickContext<'_>, axis: usize) -> PortAxis {
        let (params, reading, moving) = (context.params, &context.reading, context.engaged_for);
        let dt_s = context.inputs.dt_s;
        let yields = self.yield_spring(context, axis);
        let coupling_inputs = context.coupling_inputs(&self.inbox);
        let set_point_m = self.port_position_m[axis] + self.set_point_offset_m[axis];
        let follows = moving.is_some() && !yields;
        let pd = PdController {
            stiffness_npm: params.stiffness_npm[axis],
            damping_nspm: servo_damping_nspm(params, &coupling_inputs, axis, follows),
            error_m: set_point_m - reading.position_m[axis],
            robot_velocity_mps: reading.velocity_mps[axis],
            dt_s,
        };
        let robot = RobotAxis {
            axis,
            port_position_m: set_point_m,
            touching: is_touching(reading, axis, &pd),
            contact_force_n: reading.force_valid.then_some(reading.contact_force_n[axis]),
            pd,
        };
        let demand = self.method.demand(&coupling_inputs, &robot, &self.tank);
        let mut events = demand.events;
        // in a hold the set point may lie outside of the workspace, as the robot may; the guard must not move the
        // port back then
        let (position_m, velocity_mps) = match moving {
            Some(_) => (set_point_m, demand.velocity_mps),
            None => (self.port_position_m[axis], 0.0),
        };
        let fraction = params.guard.speed_fraction(moving.map_or(0.0, Span::s));
        let motion = PortMotion {
            position_m,
            velocity_mps,
            contact_force_n: self.approach.contact_n_for_limit(axis),
            speed_mps_max: self.approach.speed_mps_max(axis) * fraction,
            dt_s,
        };
        let (limited, limit_events) = params.guard.limit_velocity(axis, &motion);
        events |= limit_events;
        let (velocity_mps, force_n, tank_events) =
            self.limit_by_energy(context, axis, limited, &pd);
        let work_j = -force_n * velocity_mps * dt_s;
        let passive = context.coupling.mode.is_passive();
        let returned_j = self.robot_port.returned_j(work_j, passive);
        self.tank.deposit(axis, returned_j);
        events |= tank_events;
        self.port_position_m[axis] += velocity_mps * dt_s;
        self.port_mps[axis] = velocity_mps;
        self.servo_n[axis] = force_n;
        let moved = SlavePortMotion {
            axis,
            velocity_mps,
            force_n,
            work_j: returned_j,
        };
        let tank = &mut self.tank;
        let wave_out = self.method.send(&coupling_inputs, &moved, tank);
        if moving.is_some() {
            let left_m = (motion.speed_mps_max - velocity_mps.abs()).max(0.0) * dt_s;
            self.close_set_point_offset(context, axis, left_m, force_n);
        }
        PortAxis {
            force_n,
            wave_in: demand.wave_in,
            wave_out,
            events,
        }
    }

    /// Limits the velocity of the port so that the force of the servo stays in its range and the energy tank can pay.
    /// Returns velocity \[m/s\], force \[N\], and the bits of [`EventFlags`] of what acted.
    fn limit_by_energy(
        &self,
        context: &TickContext<'_>,
        axis: usize,
        wanted_mps: f64,
        pd: &PdController,
    ) -> (f64, f64, u32) {
        let [low_n, high_n] =
            self.approach
                .force_range_n(axis, context.params, pd.robot_velocity_mps);
        let mut events = 0;
        let mut velocity = wanted_mps;
        let bounded = pd.force(velocity).clamp(low_n, high_n);
        if bounded != pd.force(velocity) {
            let reached = (bounded - pd.force_at_rest()) / pd.slope_nspm();
            // the limit may only slow the port down, never reverse it
            velocity = if velocity > 0.0 {
                reached.clamp(0.0, velocity)
            } else {
                reached.clamp(velocity, 0.0)
            };
            // a force below its own limit was bounded by the limit of the robot's speed
            let most_n = context.params.guard.force_n_max[axis];
            events |= if bounded.abs() >= most_n {
                EventFlags::FORCE_LIMIT
            } else {
                EventFlags::SPEED_LIMIT
            };
        }
        if context.coupling.mode.is_passive() {
            let (rest, slope) = (pd.force_at_rest(), pd.slope_nspm());
            let paid = self
                .tank
                .payable_velocity(axis, velocity, rest, slope, pd.dt_s);
            events |= if paid == velocity {
                0
            } else {
                EventFlags::TANK_LIMITED
            };
            velocity = paid;
        }
        (velocity, pd.force(velocity).clamp(low_n, high_n), events)
    }

    /// One axis during a latched fault: the port stands still, and the force fades to damping.
    fn faded_axis(&mut self, context: &TickContext<'_>, axis: usize) -> PortAxis {
        let (velocity, fading_n) = (context.reading.velocity_mps[axis], self.servo_n[axis]);
        let guard = &context.params.guard;
        let (force_n, remaining_n) =
            guard.fault_force(axis, fading_n, velocity, context.inputs.dt_s);
        self.servo_n[axis] = remaining_n;
        self.stopped_axis(context, axis, force_n)
    }

    /// One axis whose port does not move, so that its force does no work on the channel.
    fn stopped_axis(&mut self, context: &TickContext<'_>, axis: usize, force_n: f64) -> PortAxis {
        let coupling_inputs = context.coupling_inputs(&self.inbox);
        let moved = SlavePortMotion {
            axis,
            force_n,
            ..SlavePortMotion::default()
        };
        let tank = &mut self.tank;
        let wave_out = self.method.send(&coupling_inputs, &moved, tank);
        PortAxis {
            force_n,
            wave_out,
            ..PortAxis::default()
        }
    }

    fn outputs(
        &mut self,
        context: &TickContext<'_>,
        port_axes: &[PortAxis; AXES],
        events: u32,
    ) -> SlaveOutputs {
        let reading = &context.reading;
        self.sequence += 1;
        let mut flags = FrameFlags::ENGAGED * u32::from(self.engaged_since.is_some());
        flags |= FrameFlags::FORCE_VALID * u32::from(reading.force_valid);
        flags |= FrameFlags::GRIPPER_CLOSED * u32::from(self.closed);
        flags |= FrameFlags::FAULT * u32::from(self.fault);
        let report = TickReport {
            side: Side::Slave,
            tick: context.inputs.tick,
            now: context.inputs.now,
            device: MeasuredMotion {
                position_m: reading.position_m,
                velocity_mps: reading.velocity_mps,
            },
            inbox: &self.inbox,
            tank: &self.tank,
            port_axes,
        };
        let frame = HapticFrame {
            impedance_epoch: self.inbox.newest().impedance_epoch,
            flags,
            impedance_nspm: context.coupling_inputs(&self.inbox).impedance_nspm,
            contact_force_n: reading.contact_force_n,
            wave_integral: *self.method.wave_integral(),
            edit_batches: self.finished_batches,
            topology: reading.edits.topology,
            ..report.frame(self.sequence)
        };
        let record = TickRecord {
            port_position_m: self.port_position_m,
            tissue_force_n: reading.contact_force_n,
            peak_contact_n: reading.peak_contact_n.unwrap_or(reading.contact_force_n),
            tissue_energy_j: reading.tissue_energy_j,
            events,
            state: self.operating_state(events),
            edit_batches: self.finished_batches,
            topology: reading.edits.topology,
            ..report.record()
        };
        SlaveOutputs {
            force_n: port_axes.map(|port| port.force_n),
            closed: self.closed,
            frame,
            record,
        }
    }

    /// Operating state with the numbers of [`TickRecord::state`].
    fn operating_state(&self, events: u32) -> u8 {
        if self.fault {
            3
        } else if self.engaged_since.is_some() {
            1
        } else {
            u8::from(events & EventFlags::STALE != 0) * 2
        }
    }
}

/// Damping of the servo on one axis: its own in a hold, otherwise that of the method within its range \[N s/m\].
fn servo_damping_nspm(
    params: &SlaveParams,
    inputs: &CouplingInputs<'_>,
    axis: usize,
    enabled: bool,
) -> f64 {
    let own_nspm = params.damping_nspm[axis];
    if !enabled {
        return own_nspm;
    }
    let coupled_nspm = inputs.robot_damping_nspm(axis, own_nspm);
    let least_nspm = params.matched_nspm_min[axis];
    coupled_nspm.max(least_nspm).min(own_nspm)
}

/// True if the probe is in contact, by its sensor or else by the coupling force.
fn is_touching(reading: &RobotReading, axis: usize, pd: &PdController) -> bool {
    if reading.force_valid {
        reading.contact_force_n[axis].abs() > TOUCH_N
    } else {
        pd.force_at_rest().abs() > TOUCH_COUPLING_N_MIN
    }
}
