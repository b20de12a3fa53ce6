//! One tick of the operator's side: frame and handle in, force on the hand and frame out.
//!
//! Pure and total: no clock, no socket, no allocation, and any input gives a finite, limited force. Stages: account for
//! the work of the force that was held, take the newest frame, step the twin by the steady motion of the handle, form the
//! demand of the coupling method, limit it by the energy tank and the guard, form the frame. The methods themselves are
//! in `palpate_transport::coupling`, behind its `MasterEnd`.

use palpate_port::TickInputs;
use palpate_port::encoder::MeasuredMotion;
use palpate_port::inbox::{Inbox, PeerRun, RunIds};
use palpate_port::tick_report::{PortAxis, TickReport};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::energy_tank::ForceHold;
use palpate_transport::coupling::{
    CommandedForce, CouplingInputs, CouplingParams, EnergyTank, HandleAxis, MasterEnd, Mode,
    TwinInputs,
};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::{EventFlags, Side, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Span, Time};
use palpate_twin::Instrument;
use palpate_twin::edits::{EditBatchLog, EditPhase, TopologyChange};
use serde::{Deserialize, Serialize};

use crate::coupling_schedule::CouplingSchedule;
use crate::device::{HandleCaps, HandleReading};
use crate::guard::MasterGuardParams;
use crate::limit_cycle::{HandSample, LimitCycleDetector};
use crate::paid_force::ForcePayment;
use crate::predict::{PredictParams, RemoteReport, TwinPrediction, TwinPredictor};
use crate::steady_motion::{HandMotion, steady_mps};

/// Parameters of the operator's side.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MasterParams {
    /// Twin, correction and learning.
    pub predict: PredictParams,
    /// Limits.
    pub guard: MasterGuardParams,
}

/// Outputs of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MasterOutputs {
    /// Force on the operator's hand, for the motors \[N\].
    pub force_on_hand_n: Axes,
    /// Frame for the slave.
    pub frame: HapticFrame,
    /// Record of this tick; the shell (the caller with clocks and threads) adds lateness and CPU time.
    pub record: TickRecord,
}

/// State of the master between ticks.
#[derive(Default)]
pub struct MasterState {
    predictor: Option<TwinPredictor>,
    /// Capabilities of the handle, for the energy tank.
    caps: HandleCaps,
    /// Longest time for which the device holds a force \[s\].
    force_hold_s_max: f64,
    /// Time of the last usable reading.
    last_read: Option<Time>,
    /// Conditions under which the next force is held, by axis.
    force_holds: [ForceHold; AXES],
    tank: EnergyTank,
    method: MasterEnd,
    schedule: CouplingSchedule,
    position_m: Axes,
    hand: HandMotion,
    written_n: Axes,
    /// Position up to which the last force was held \[m\].
    force_end_m: Axes,
    /// Last force, which fades during a fault \[N\].
    fading_n: Axes,
    has_position: bool,
    inbox: Inbox,
    sequence: u64,
    fault: bool,
    /// True if the cause of the latched fault is a collapse of the twin.
    collapsed: bool,
    limit_cycle: LimitCycleDetector,
}

/// Quantities of one tick that all axes share.
struct TickContext<'a> {
    params: &'a MasterParams,
    coupling: &'a CouplingParams,
    inputs: &'a TickInputs,
    /// The reading after the plausibility check.
    reading: HandleReading,
    /// True if the newest frame of the other side is too old to act on.
    stale: bool,
    /// True if a limit cycle was detected.
    cycling: bool,
}

impl TickContext<'_> {
    /// Inputs of the coupling method.
    fn coupling_inputs<'a>(
        &'a self,
        schedule: &CouplingSchedule,
        inbox: &'a Inbox,
    ) -> CouplingInputs<'a> {
        inbox.coupling_inputs(self.coupling, schedule.impedance_nspm, self.inputs)
    }

    /// True if the force on the hand fades: after a long gap of ticks, in a limit cycle, or without a hand. It also
    /// fades if frames are stale and the mode relays a force.
    fn force_fades(&self) -> bool {
        let relayed = self.stale && self.coupling.mode.relays_force();
        self.inputs.long_gap || self.cycling || !self.reading.present || relayed
    }
}

impl MasterState {
    /// Creates the state of a side at rest, for a handle with capabilities `caps`. Model mediation and instruments
    /// need a `predictor`.
    #[must_use]
    pub fn new(predictor: Option<TwinPredictor>, caps: &HandleCaps, run_ids: RunIds) -> Self {
        Self {
            predictor,
            caps: *caps,
            force_hold_s_max: caps
                .force_timeout_s
                .unwrap_or(ENDLESS_HOLD_S)
                .max(PERIOD.s()),
            inbox: Inbox::new(run_ids),
            ..Self::default()
        }
    }

    /// The twin and its corrections, if this side has one.
    #[must_use]
    pub fn predictor(&self) -> Option<&TwinPredictor> {
        self.predictor.as_ref()
    }

    /// Applies to the twin, before a tick, the next edit batch that the remote tissue had received before this run;
    /// true if it was applied.
    pub fn apply_remote_edits(&mut self, phase: EditPhase, changes: &[TopologyChange]) -> bool {
        let predictor = self.predictor.as_mut();
        predictor.is_some_and(|predictor| predictor.apply_remote_edits(phase, changes))
    }

    /// Log of the edits that instruments made to the twin; none if they cannot edit it.
    #[must_use]
    pub fn edits(&self) -> Option<&EditBatchLog> {
        self.predictor().and_then(TwinPredictor::edits)
    }

    /// Number of edit batches that instruments have made in the twin.
    fn edit_batches(&self) -> u64 {
        self.edits().map_or(0, EditBatchLog::batch_count)
    }

    /// Hash of the twin's topology: its nodes, links and pins.
    fn topology(&self) -> u64 {
        self.predictor().map_or(0, TwinPredictor::topology)
    }

    /// Received frames of the other side, and the clock offset.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

/// Advances the master side by one tick.
#[must_use]
pub fn tick(
    params: &MasterParams,
    coupling: &CouplingParams,
    state: &mut MasterState,
    inputs: &TickInputs,
    reading: &HandleReading,
) -> MasterOutputs {
    state.schedule.advance(coupling, inputs.now);
    let coupling = &coupling.with_mode(state.schedule.mode.unwrap_or(coupling.mode));
    let reading = state.accept_reading(coupling.mode, inputs, reading);
    let credit_refused = state.take_frame(coupling, inputs);
    let guard = &params.guard;
    let context = TickContext {
        params,
        coupling,
        inputs,
        reading,
        stale: state.inbox.is_stale(inputs.now, guard.stale_s, guard.age_s),
        cycling: state.limit_cycle.is_active(),
    };
    let prediction = state.predict(&context);
    state.fault |= prediction.collapsed;
    state.collapsed |= prediction.collapsed;
    // a stale frame is no evidence of the delay, which then counts as unknown
    let rtt_s = state.inbox.sync().rtt_latest().filter(|_| !context.stale);
    let twin = TwinInputs {
        rtt_s: rtt_s.map(Span::s),
        confidence: prediction.confidence,
        force_n: &prediction.force_n,
        force_jumps: prediction.instrument_changed,
    };
    let coupling_inputs = context.coupling_inputs(&state.schedule, &state.inbox);
    state.method.begin_tick(&coupling_inputs, &twin);
    let conditions = [
        (context.stale, EventFlags::STALE),
        (prediction.updated, EventFlags::TWIN_UPDATED),
        (prediction.extrapolated, EventFlags::DEADLINE_FALLBACK),
        (prediction.blunted, EventFlags::CUTTING_BLOCKED),
        (credit_refused, EventFlags::CREDIT_REFUSED),
        (state.inbox.refused(), EventFlags::FRAME_REFUSED),
        (context.cycling, EventFlags::LIMIT_CYCLE),
    ];
    let mut events = conditions.into_iter().fold(0, |events, (active, event)| {
        events | (event * u32::from(active))
    });
    events |= state.retuning(coupling.mode);
    let mut port_axes = [PortAxis::default(); AXES];
    for (axis, port) in port_axes.iter_mut().enumerate() {
        *port = state.tick_axis(&context, &prediction, axis);
        events |= port.events;
    }
    state.written_n = port_axes.map(|port| port.force_n);
    state.watch_limit_cycles(&context);
    events |= match (state.fault, state.collapsed) {
        (true, true) => EventFlags::TISSUE_COLLAPSED,
        (true, false) => EventFlags::INVALID_READING,
        (false, _) => 0,
    };
    state.outputs(&context, &port_axes, &prediction, events)
}

impl MasterState {
    /// Accounts for the work of the force that was held since the last tick; latches a fault if the reading
    /// is not usable. A usable reading with the command to clear the fault ends it.
    fn accept_reading(
        &mut self,
        mode: Mode,
        inputs: &TickInputs,
        reading: &HandleReading,
    ) -> HandleReading {
        let original = *reading;
        let mut reading = original;
        let usable = reading.is_plausible();
        if usable {
            self.fault &= !inputs.rearm;
            self.collapsed &= self.fault;
        } else {
            (self.fault, self.collapsed) = (true, false);
            reading = HandleReading {
                position_m: self.position_m,
                ..HandleReading::default()
            };
        }
        self.force_end_m = reading.force_released_m.unwrap_or(reading.position_m);
        let passed_s = self.passed_s(inputs);
        self.hand
            .read(&original, &self.caps.resolution_m, inputs.now);
        for axis in 0..AXES {
            let from_m = if self.has_position {
                self.position_m[axis]
            } else {
                reading.position_m[axis]
            };
            let moved_m = reading.position_m[axis] - from_m;
            let held_m = if self.has_position {
                self.force_end_m[axis] - from_m
            } else {
                0.0
            };
            let work_j = self.written_n[axis] * held_m;
            self.tank.deposit(axis, work_j);
            self.method.record_work(axis, work_j, held_m);
            self.force_holds[axis] = self.force_hold(mode, axis, moved_m, passed_s);
            self.hand.smooth(axis, moved_m / passed_s, passed_s);
        }
        if reading.force_released_m.is_some() {
            // the next force starts from 0, and the hand must not feel it return at once
            (self.written_n, self.fading_n) = ([0.0; AXES], [0.0; AXES]);
        }
        self.has_position |= usable;
        self.position_m = reading.position_m;
        if usable {
            self.last_read = Some(inputs.now);
        }
        reading
    }

    /// Time since the last usable reading \[s\], by the clock: after a late or an early tick the motion is not that of
    /// one period.
    fn passed_s(&self, inputs: &TickInputs) -> f64 {
        let passed = self.last_read.map(|last| (inputs.now - last).s());
        passed.map_or(inputs.dt_s, |passed_s| passed_s.max(PASSED_S_MIN))
    }

    /// Hold of the next force of one axis, from the last motion \[m\]: its cost is paid for the longest time for which
    /// the device may hold it. Exception: if no twin is rendered and the device releases within two periods, one
    /// period is paid for any motion of the hand, and the time until the release for a quieter one (`ForcePayment`);
    /// the reserve covers the rest. If all were paid, the hand would feel 8 % less stiffness than E3 predicts, and the
    /// force would oscillate in a quick press over a short link.
    fn force_hold(&self, mode: Mode, axis: usize, moved_m: f64, passed_s: f64) -> ForceHold {
        let (caps, hold_s) = (&self.caps, self.force_hold_s_max);
        let short = hold_s <= TWO_PERIODS_S && !mode.renders_twin();
        ForceHold {
            hold_s: if short { PERIOD.s() } else { hold_s },
            last_held_s: passed_s.min(hold_s),
            elapsed_s: passed_s,
            velocity_mps: moved_m / passed_s,
            last_n: self.written_n[axis],
            mass_kg: caps.mass_kg_min[axis],
            resolution_m: caps.resolution_m[axis],
            hand_mps2: HAND_MPS2,
        }
    }

    /// Takes the newest frame; resets all sums if the peer has restarted. Returns true if energy was refused.
    fn take_frame(&mut self, coupling: &CouplingParams, inputs: &TickInputs) -> bool {
        if self.inbox.accept(inputs.frame, coupling) == PeerRun::New {
            self.tank.reset_sums();
            self.method.restart();
        }
        let active_j_max = if coupling.mode.is_passive() {
            coupling.active_j_max
        } else {
            f64::INFINITY
        };
        let peer_sent_j = &self.inbox.newest().energy_sent_j;
        self.tank.receive_within(peer_sent_j, active_j_max)
    }

    /// Flag [`EventFlags::RETUNING`] while received waves still have the former wave impedance, otherwise 0.
    fn retuning(&self, mode: Mode) -> u32 {
        let newest = self.inbox.newest();
        let epoch_is_old = newest.sequence > 0 && newest.impedance_epoch != self.schedule.epoch;
        if epoch_is_old && mode.sends_waves() {
            EventFlags::RETUNING
        } else {
            0
        }
    }

    /// Steps the twin; returns no force in the modes without one.
    fn predict(&mut self, context: &TickContext<'_>) -> TwinPrediction {
        let (params, inputs, reading) = (&context.params.predict, context.inputs, &context.reading);
        let no_prediction = TwinPrediction {
            blunted: reading.instrument != Instrument::Blunt,
            ..TwinPrediction::default()
        };
        let Some(predictor) = &mut self.predictor else {
            return no_prediction;
        };
        // a twin that is not rendered now is still stepped if the mode may switch, or it would start later from an old
        // tool position; instruments edit the twin in every mode
        let is_editable = predictor.edits().is_some();
        // while the force fades, the instrument does nothing; tools are swapped in every mode
        let faded = self.fault || context.force_fades();
        let handle = predictor.take_reading(&self.hand.steady.of(reading), faded);
        if !context.coupling.needs_twin() && context.coupling.switch.is_empty() && !is_editable {
            return no_prediction;
        }
        let instrument_blocked = handle.instrument != reading.instrument;
        let prediction = if inputs.deadline_fallback && predictor.may_extrapolate() {
            predictor.extrapolate(params, &handle)
        } else {
            let frame = self.inbox.newest();
            let usable = frame.sequence > 0 && !context.stale;
            let remote = usable.then(|| RemoteReport::from_frame(frame));
            let prediction = predictor.step(params, &handle, remote.as_ref(), inputs.dt_s);
            predictor.revise(reading.revisions);
            prediction
        };
        TwinPrediction {
            blunted: prediction.blunted || instrument_blocked,
            ..prediction
        }
    }

    /// Force and outgoing wave of one axis.
    fn tick_axis(
        &mut self,
        context: &TickContext<'_>,
        prediction: &TwinPrediction,
        axis: usize,
    ) -> PortAxis {
        let (guard, reading) = (&context.params.guard, &context.reading);
        let (last, dt_s) = (self.written_n[axis], context.inputs.dt_s);
        let handle = self.at_handle(axis, context, prediction);
        let velocity = reading.velocity_mps[axis];
        let coupling_inputs = context.coupling_inputs(&self.schedule, &self.inbox);
        let demanded = self.method.demand(&coupling_inputs, &handle, &self.tank);
        let mut demand = demanded.force_n;
        if context.force_fades() {
            demand = guard.faded(last, dt_s);
        } else if !demand.is_finite() {
            self.fault = true;
            demand = 0.0;
        }
        if self.fault {
            self.fading_n[axis] = guard.faded(self.fading_n[axis], dt_s);
            demand = guard.fault_force(axis, self.fading_n[axis], velocity);
        }
        // after a release the force rises by one period's slew only, however long the tick was
        let slew_s = if reading.force_released_m.is_some() {
            PERIOD.s()
        } else {
            dt_s
        };
        // a late velocity may have the wrong sign, and then the damper of a fault costs energy as well
        let limited = context.coupling.mode.is_passive() || self.fault;
        let payment = ForcePayment {
            guard,
            tank: limited.then_some(&self.tank),
            hold: &self.force_holds[axis],
            release_s: self.force_hold_s_max,
            axis,
            steady_mps: steady_mps(velocity, handle.smoothed_mps),
            dt_s,
        };
        let (force_n, events) = payment.pay(demand, last, slew_s);
        if !self.fault {
            self.fault = events & EventFlags::INVALID_READING != 0;
            self.fading_n[axis] = force_n;
        }
        let written = CommandedForce {
            force_n,
            reserve_j: self.reserve_j(context.coupling, axis, force_n),
        };
        let tank = &mut self.tank;
        let wave_out = self.method.send(&coupling_inputs, &handle, &written, tank);
        PortAxis {
            force_n,
            wave_in: demanded.wave_in,
            wave_out,
            events: events | demanded.events,
        }
    }

    /// Energy to be kept in reserve for the held force \[J\]: `reserve_ticks` times its largest cost over one hold from
    /// rest, and at least its largest cost until the device releases it.
    fn reserve_j(&self, coupling: &CouplingParams, axis: usize, force_n: f64) -> f64 {
        let hold = &self.force_holds[axis];
        let reserve_j = coupling.reserve_ticks * hold.cost_from_rest_j(force_n, hold.hold_s);
        hold.cost_over_j(force_n, self.force_hold_s_max)
            .max(reserve_j)
    }

    /// State of the handle on one axis, for the coupling methods.
    fn at_handle(
        &self,
        axis: usize,
        context: &TickContext<'_>,
        prediction: &TwinPrediction,
    ) -> HandleAxis {
        let reading = &context.reading;
        // each step of an encoder would be a wave, whose energy the robot dissipates: in a slow press the tissue then
        // pushed it out
        let velocity_mps = if context.coupling.mode.sends_waves() {
            self.hand.steady.of(reading).velocity_mps[axis]
        } else {
            reading.velocity_mps[axis]
        };
        HandleAxis {
            axis,
            position_m: reading.position_m[axis],
            velocity_mps,
            smoothed_mps: self.hand.smoothed_mps[axis],
            sliding: self.hand.sliding[axis],
            last_force_n: self.written_n[axis],
            twin_force_n: prediction.force_n[axis],
            twin_energy_j: prediction.stored_j(axis),
            blade_force_n: prediction.edge_n[axis],
        }
    }

    /// Passes the commanded force to the detector of limit cycles.
    fn watch_limit_cycles(&mut self, context: &TickContext<'_>) {
        let (coupling, reading) = (context.coupling, &context.reading);
        let budget_j = coupling.active_j_max;
        let sample = HandSample {
            force_n: self.written_n,
            position_m: reading.position_m,
            periods: (context.inputs.dt_s / PERIOD.s()).round() as u32,
            may_vibrate: budget_j > 0.0 || reading.instrument != Instrument::Blunt,
            recoverable_j: coupling
                .mode
                .is_passive()
                .then(|| self.tank.recoverable_j(budget_j)),
        };
        let limit_n = context.params.guard.limit_cycle_n;
        self.limit_cycle.step(limit_n, &sample);
    }

    fn outputs(
        &mut self,
        context: &TickContext<'_>,
        port_axes: &[PortAxis; AXES],
        prediction: &TwinPrediction,
        events: u32,
    ) -> MasterOutputs {
        let (coupling, reading) = (context.coupling, &context.reading);
        self.sequence += 1;
        let engaged = reading.present && !self.fault && !context.inputs.long_gap;
        let mut flags = FrameFlags::ENGAGED * u32::from(engaged);
        flags |= FrameFlags::GRIPPER_CLOSED * u32::from(reading.closed);
        flags |= FrameFlags::FAULT * u32::from(self.fault);
        if !coupling.switch.is_empty() {
            flags = FrameFlags::with_mode(flags, coupling.mode.code());
        }
        let report = TickReport {
            side: Side::Master,
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
        // a robot that follows the hand, and not a wave, need not follow the steps of its encoders
        let led = match coupling.mode.renders_twin() {
            true => self.hand.steady.of(reading),
            false => *reading,
        };
        let frame = HapticFrame {
            impedance_epoch: self.schedule.epoch,
            flags,
            impedance_nspm: self.schedule.impedance_nspm,
            wave_integral: *self.method.wave_integral(),
            edit_batches: self.edit_batches(),
            topology: self.topology(),
            position_m: led.position_m,
            velocity_mps: led.velocity_mps,
            ..report.frame(self.sequence)
        };
        MasterOutputs {
            force_on_hand_n: self.written_n.map(|force| -force),
            frame,
            record: self.record(context, report.record(), prediction, events),
        }
    }

    /// Adds the master's own fields to the part of the record that is common to both sides.
    fn record(
        &self,
        context: &TickContext<'_>,
        shared: TickRecord,
        prediction: &TwinPrediction,
        events: u32,
    ) -> TickRecord {
        let reading = &context.reading;
        TickRecord {
            port_position_m: reading.position_m,
            tissue_force_n: prediction.twin_force_n,
            tissue_energy_j: prediction.energy_j,
            update_energy_j: prediction.update_energy_j,
            corrected: prediction.correction_sum,
            confidence: prediction.confidence,
            twin_share: self.method.twin_share(),
            intended_m: reading.intended_m,
            events,
            state: self.operating_state(reading, events),
            phase: reading.phase,
            held_to_m: self.force_end_m,
            edit_batches: self.edit_batches(),
            topology: self.topology(),
            links_cut: prediction.links_cut,
            parked_m: prediction.parked_tool.position_m,
            parked_n: prediction.parked_tool.force_n,
            twin_height_m: prediction.height_m,
            ..shared
        }
    }

    /// Operating state with the CRTK numbers of [`TickRecord::state`].
    fn operating_state(&self, reading: &HandleReading, events: u32) -> u8 {
        if self.fault {
            3
        } else if !reading.present {
            0
        } else {
            1 + u8::from(events & EventFlags::STALE != 0)
        }
    }
}

/// Longest hold of a force for which the reserve may cover all but one period \[s\].
const TWO_PERIODS_S: f64 = 2.0 * PERIOD.s();
/// Shortest time between two readings \[s\]; a shorter one counts as this.
const PASSED_S_MIN: f64 = 1e-4;

/// Time for which a force is paid if the device never releases it \[s\]: the longest for which one tick
/// balances, [`PERIODS_PER_TICK_MAX`](palpate_transport::clock::PERIODS_PER_TICK_MAX).
const ENDLESS_HOLD_S: f64 = 0.02;

/// Acceleration of the handle that a hand, and the other axes of an arm, may cause against the port's
/// force \[m/s^2\] (ours: 4 g).
const HAND_MPS2: f64 = 40.0;
