//! One tick of the operator's side: frame and handle in, force on the hand and frame out.
//!
//! Pure and total: no clock, no socket, no allocation, and any input gives a finite, limited force.
//! Stages (DESIGN "One tick"): account for the force that was really held, take the newest frame,
//! touch the twin, form the demand of the coupling method, let the energy account pay, guard,
//! encode. The methods themselves are in `palpate_transport::coupling`, behind its `MasterEnd`.

use palpate_port::encoder::Measured;
use palpate_port::inbox::{Arrival, Inbox, Parties};
use palpate_port::outbox::{Outbox, PortAxis};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::reservoir::Holding;
use palpate_transport::coupling::{
    AtHandle, AtTwin, CouplingParams, MasterEnd, Mode, Moment, Reservoir, Written,
};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::{Events, Side, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Span, Time};
use palpate_twin::Instrument;
use palpate_twin::edits::{Change, Part};
use serde::{Deserialize, Serialize};

use crate::device::{HandleCaps, Reading};
use crate::guard::GuardParams;
use crate::predict::{PredictParams, Prediction, Predictor, Remote};
use crate::tuning::Tuning;

/// Parameters of the operator's side.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MasterParams {
    /// Twin, correction and learning.
    pub predict: PredictParams,
    /// Limits.
    pub guard: GuardParams,
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
    /// Whether so many ticks were missed that motion must begin anew: forces fade meanwhile.
    pub paused: bool,
    /// The handle.
    pub reading: Reading,
    /// The newest frame from the slave and when it was received; the same one may come again.
    pub frame: Option<(HapticFrame, Time)>,
    /// Whether it is too late for a step of the twin: it is asked instead what is felt now,
    /// though never twice in a row.
    pub masked: bool,
    /// Whether the operator asks for a latched fault to be cleared.
    pub rearm: bool,
}

/// What a tick gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outputs {
    /// Force on the operator's hand, for the motors \[N\].
    pub force_on_hand_n: Axes,
    /// Frame for the slave.
    pub frame: HapticFrame,
    /// Record of this tick; the shell adds lateness and CPU time.
    pub record: TickRecord,
}

/// What the operator's side remembers between ticks.
pub struct State {
    predictor: Option<Predictor>,
    device: Device,
    /// When the handle was read last.
    last: Option<Time>,
    held: [Holding; AXES],
    /// Velocity of the handle, smoothed for the charging friction \[m/s\].
    drift_mps: Axes,
    reservoir: Reservoir,
    method: MasterEnd,
    tuning: Tuning,
    position_m: Axes,
    written_n: Axes,
    /// How far the last force was held \[m\].
    held_to_m: Axes,
    fading_n: Axes,
    placed: bool,
    inbox: Inbox,
    sequence: u64,
    /// Number of the frame that the twin was told of last.
    heard: u64,
    fault: bool,
}

/// What the energy account must know of the handle.
#[derive(Debug, Clone, Copy)]
struct Device {
    mass_kg: Axes,
    resolution_m: Axes,
    /// Longest time that it holds a force \[s\].
    hold_s: f64,
}

/// What holds for all axes in one tick.
struct Now<'a> {
    params: &'a MasterParams,
    coupling: &'a CouplingParams,
    inputs: &'a Inputs,
    /// The handle as it is believed.
    reading: Reading,
    /// Whether what the other side said last is too old to act on.
    stale: bool,
}

impl Now<'_> {
    /// What the coupling method is given.
    fn moment<'a>(&'a self, tuning: &Tuning, inbox: &'a Inbox) -> Moment<'a> {
        moment(self.coupling, tuning, inbox, self.inputs)
    }

    /// Whether the force on the hand fades: after a pause, without a hand, or where it is the other side's, which has
    /// fallen silent.
    fn faded(&self) -> bool {
        let relayed = self.stale && self.coupling.mode.relays_force();
        self.inputs.paused || !self.reading.present || relayed
    }
}

impl State {
    /// At rest, for a handle that can do `caps`; `predictor` is needed by model mediation and unused
    /// otherwise.
    #[must_use]
    pub fn new(predictor: Option<Predictor>, caps: &HandleCaps, parties: Parties) -> Self {
        Self {
            predictor,
            device: Device {
                mass_kg: caps.mass_kg_min,
                resolution_m: caps.resolution_m,
                hold_s: caps.let_go_s.unwrap_or(UNGUARDED_S).max(PERIOD.s()),
            },
            last: None,
            held: [Holding::default(); AXES],
            drift_mps: [0.0; AXES],
            reservoir: Reservoir::default(),
            method: MasterEnd::default(),
            tuning: Tuning::default(),
            position_m: [0.0; AXES],
            written_n: [0.0; AXES],
            held_to_m: [0.0; AXES],
            fading_n: [0.0; AXES],
            placed: false,
            inbox: Inbox::new(parties),
            sequence: 0,
            heard: 0,
            fault: false,
        }
    }

    /// The twin and what it has learnt, if this side has one.
    #[must_use]
    pub fn predictor(&self) -> Option<&Predictor> {
        self.predictor.as_ref()
    }

    /// Before a tick: the next stroke of what was done to the remote tissue before this run; whether it was done.
    pub fn adopt(&mut self, stroke: (Part, &[Change])) -> bool {
        let predictor = self.predictor.as_mut();
        predictor.is_some_and(|predictor| predictor.adopt(stroke))
    }

    /// Strokes that instruments have made of the twin.
    fn strokes(&self) -> u64 {
        let strokes = self.predictor().and_then(Predictor::strokes);
        strokes.map_or(0, crate::predict::strokes::Strokes::made)
    }

    /// Which elements of the twin are there, linked and held.
    fn topology(&self) -> u64 {
        self.predictor().map_or(0, Predictor::topology)
    }

    /// What came from the other side, and its clock.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

/// Advance the operator's side by one tick.
#[must_use]
pub fn tick(
    params: &MasterParams,
    coupling: &CouplingParams,
    state: &mut State,
    inputs: &Inputs,
) -> Outputs {
    state.tuning.follow(coupling, inputs.now);
    let coupling = &coupling.in_mode(state.tuning.mode.unwrap_or(coupling.mode));
    let reading = state.account(coupling.mode, inputs);
    state.take_frame(inputs);
    let guard = &params.guard;
    let now = Now {
        params,
        coupling,
        inputs,
        reading,
        stale: state.inbox.stale(inputs.now, guard.stale_s, guard.age_s),
    };
    let prediction = state.predict(&now);
    // an old force is no touch: then the delay counts as unknown
    let rtt_s = state.inbox.sync().rtt_latest().filter(|_| !now.stale);
    let twin = AtTwin {
        rtt_s: rtt_s.map(Span::s),
        confidence: prediction.confidence,
        force_n: &prediction.force_n,
        leaps: prediction.relaid,
    };
    let moment = now.moment(&state.tuning, &state.inbox);
    state.method.begin(&moment, &twin);
    let happened = [
        (now.stale, Events::STALE),
        (prediction.updated, Events::UPDATED),
        (prediction.masked, Events::MASKED),
        (prediction.blunted, Events::BLUNTED),
    ];
    let mut events = happened
        .into_iter()
        .fold(0, |events, (did, event)| events | (event * u32::from(did)));
    events |= state.retuning(coupling.mode);
    let mut ports = [PortAxis::default(); AXES];
    for (axis, port) in ports.iter_mut().enumerate() {
        *port = state.axis(&now, &prediction, axis);
        events |= port.events;
    }
    state.written_n = ports.map(|port| port.force_n);
    events |= if state.fault { Events::INVALID } else { 0 };
    state.outputs(&now, &ports, &prediction, events)
}

/// What the coupling method is given in this tick.
fn moment<'a>(
    coupling: &'a CouplingParams,
    tuning: &Tuning,
    inbox: &'a Inbox,
    inputs: &Inputs,
) -> Moment<'a> {
    Moment {
        params: coupling,
        impedance_nspm: tuning.impedance_nspm,
        newest: inbox.newest(),
        held: inbox.silence(inputs.now).s() <= coupling.hold_s,
        dt_s: inputs.dt_s,
    }
}

impl State {
    /// Book the work of the force that was held since the last tick; latch a fault if the reading
    /// is not usable.
    fn account(&mut self, mode: Mode, inputs: &Inputs) -> Reading {
        let mut reading = inputs.reading;
        let usable = reading.is_plausible();
        if usable {
            self.fault &= !inputs.rearm;
        } else {
            self.fault = true;
            reading = Reading {
                position_m: self.position_m,
                ..Reading::default()
            };
        }
        self.held_to_m = reading.let_go_m.unwrap_or(reading.position_m);
        let passed_s = self.passed_s(inputs);
        for axis in 0..AXES {
            let from_m = if self.placed {
                self.position_m[axis]
            } else {
                reading.position_m[axis]
            };
            let moved_m = reading.position_m[axis] - from_m;
            let held_m = if self.placed {
                self.held_to_m[axis] - from_m
            } else {
                0.0
            };
            let work_j = self.written_n[axis] * held_m;
            self.reservoir.deposit(axis, work_j);
            self.method.book(axis, work_j, held_m);
            self.held[axis] = self.holding(mode, axis, moved_m, passed_s);
            let share = (passed_s / CHARGE_SMOOTH_S).min(1.0);
            self.drift_mps[axis] += share * (moved_m / passed_s - self.drift_mps[axis]);
        }
        if reading.let_go_m.is_some() {
            // what follows begins from no force, and the hand must not feel it come back at once
            (self.written_n, self.fading_n) = ([0.0; AXES], [0.0; AXES]);
        }
        self.placed |= usable;
        self.position_m = reading.position_m;
        if usable {
            self.last = Some(inputs.now);
        }
        reading
    }

    /// Time since the handle was read last \[s\], by the clock: a tick that came late, or early after one,
    /// saw another motion than a period's.
    fn passed_s(&self, inputs: &Inputs) -> f64 {
        let passed = self.last.map(|last| (inputs.now - last).s());
        passed.map_or(inputs.dt_s, |passed_s| passed_s.max(PASSED_S_MIN))
    }

    /// How the next force of one axis will be held, from the last reading's motion \[m\], and for how long it
    /// is paid: as long as the device may hold it. Only where the force is relayed, and the device lets go
    /// within two periods, is one of them left to the reserve: paid as well, a line would show 8 % less
    /// stiffness than E3, and a brisk press over a short one would ring.
    fn holding(&self, mode: Mode, axis: usize, moved_m: f64, passed_s: f64) -> Holding {
        let device = &self.device;
        let short = device.hold_s <= TWO_PERIODS_S && mode.resolved() != Mode::Mmt;
        Holding {
            hold_s: if short { PERIOD.s() } else { device.hold_s },
            pushed_s: passed_s.min(device.hold_s),
            passed_s,
            velocity_mps: moved_m / passed_s,
            last_n: self.written_n[axis],
            mass_kg: device.mass_kg[axis],
            resolution_m: device.resolution_m[axis],
            hand_mps2: HAND_MPS2,
        }
    }

    /// Take the newest frame; with a peer that began anew, everything is counted from 0 again.
    fn take_frame(&mut self, inputs: &Inputs) {
        if self.inbox.take(inputs.frame) == Arrival::Restarted {
            self.reservoir.rebase();
            self.method.restart();
        }
        self.reservoir.receive(&self.inbox.newest().energy_sent_j);
    }

    /// The event of a retune whose waves still come back in an epoch before.
    fn retuning(&self, mode: Mode) -> u32 {
        let newest = self.inbox.newest();
        let behind = newest.sequence > 0 && newest.impedance_epoch != self.tuning.epoch;
        if behind && mode.sends_waves() {
            Events::RETUNING
        } else {
            0
        }
    }

    /// Touch the twin; nothing to predict in the modes without one.
    fn predict(&mut self, now: &Now<'_>) -> Prediction {
        let (params, inputs, reading) = (&now.params.predict, now.inputs, &now.reading);
        let unfelt = Prediction {
            blunted: reading.instrument != Instrument::Blunt,
            ..Prediction::default()
        };
        let Some(predictor) = &mut self.predictor else {
            return unfelt;
        };
        // a twin that is not felt in between must not be where the tool was before, and instruments work on
        // the twin in every mode
        let opened = predictor.strokes().is_some();
        // what the hand is not let feel does nothing; which tool it holds, it holds in every mode
        let faded = self.fault || now.faded();
        let handle = predictor.held(reading, faded);
        if !now.coupling.needs_twin() && now.coupling.switch.is_empty() && !opened {
            return unfelt;
        }
        let withheld = handle.instrument != reading.instrument;
        let prediction = if inputs.masked && predictor.may_ask() {
            predictor.ask(params, &handle)
        } else {
            let frame = self.inbox.newest();
            let heard = core::mem::replace(&mut self.heard, frame.sequence);
            // an old frame says nothing new: the twin must not learn from it again and again
            let known = frame.sequence > 0 && !now.stale;
            let remote = known.then(|| Remote::of(frame, frame.sequence != heard));
            let said = predictor.step(params, &handle, remote.as_ref(), inputs.dt_s);
            predictor.revise(reading.revisions);
            said
        };
        Prediction {
            blunted: prediction.blunted || withheld,
            ..prediction
        }
    }

    /// Force and outgoing wave of one axis.
    fn axis(&mut self, now: &Now<'_>, prediction: &Prediction, axis: usize) -> PortAxis {
        let (guard, reading) = (&now.params.guard, &now.reading);
        let (last, dt_s) = (self.written_n[axis], now.inputs.dt_s);
        let handle = self.at_handle(axis, reading, prediction);
        let velocity = handle.velocity_mps;
        let moment = now.moment(&self.tuning, &self.inbox);
        let wanted = self.method.demand(&moment, &handle, &self.reservoir);
        let mut demand = wanted.force_n;
        if now.faded() {
            demand = guard.faded(last, dt_s);
        } else if !demand.is_finite() {
            self.fault = true;
            demand = 0.0;
        }
        let (paid, mut events) = if now.coupling.mode.is_passive() {
            self.pay(axis, demand, velocity, dt_s)
        } else {
            (demand, 0)
        };
        events |= wanted.events;
        let force_n = if self.fault {
            self.fading_n[axis] = guard.faded(self.fading_n[axis], dt_s);
            let fading = self.fading_n[axis];
            let damped = guard.fault_force(axis, fading, velocity);
            // a late velocity may have the wrong sign, and then a damper costs as well
            let paid = self.pay(axis, damped, velocity, dt_s).0;
            guard.fault_force(axis, paid, 0.0)
        } else {
            // a force that was let go comes back no faster for having been away
            let rises_s = if reading.let_go_m.is_some() {
                PERIOD.s()
            } else {
                dt_s
            };
            let (limited, hits) = guard.limit(axis, paid, last, rises_s);
            events |= hits;
            self.fault |= hits & Events::INVALID != 0;
            self.fading_n[axis] = limited;
            limited
        };
        let written = Written {
            force_n,
            reserve_j: self.reserve_j(now.coupling, axis, force_n),
        };
        let account = &mut self.reservoir;
        let wave_out = self.method.send(&moment, &handle, &written, account);
        PortAxis {
            force_n,
            wave_in: wanted.wave_in,
            wave_out,
            events,
        }
    }

    /// What must stay here for the force that is held \[J\]: `reserve_ticks` of what it may cost from rest, and
    /// no less than what it may cost until the device lets go.
    fn reserve_j(&self, coupling: &CouplingParams, axis: usize, force_n: f64) -> f64 {
        let held = &self.held[axis];
        let again_j = coupling.reserve_ticks * held.margin_j(force_n, held.hold_s);
        held.cost_over_j(force_n, self.device.hold_s).max(again_j)
    }

    /// One axis of the handle, as the coupling methods see it.
    fn at_handle(&self, axis: usize, reading: &Reading, prediction: &Prediction) -> AtHandle {
        AtHandle {
            axis,
            position_m: reading.position_m[axis],
            velocity_mps: reading.velocity_mps[axis],
            smooth_mps: self.drift_mps[axis],
            last_n: self.written_n[axis],
            twin_n: prediction.force_n[axis],
            twin_j: prediction.stored_j(axis),
            edge_n: prediction.edge_n[axis],
        }
    }

    /// Lower a force that the account cannot pay, and repay a debt by damping.
    fn pay(&self, axis: usize, demand_n: f64, velocity_mps: f64, dt_s: f64) -> (f64, u32) {
        let share = self
            .reservoir
            .payable_share(axis, demand_n, &self.held[axis]);
        let repay = self
            .reservoir
            .repayment_nspm(axis, velocity_mps, dt_s, REPAY_NSPM_MAX);
        let mut events = if share < 1.0 { Events::UNPAID } else { 0 };
        events |= if repay > 0.0 { Events::REPAID } else { 0 };
        (demand_n * share + repay * velocity_mps, events)
    }

    fn outputs(
        &mut self,
        now: &Now<'_>,
        ports: &[PortAxis; AXES],
        prediction: &Prediction,
        events: u32,
    ) -> Outputs {
        let (coupling, reading) = (now.coupling, &now.reading);
        self.sequence += 1;
        let engaged = reading.present && !self.fault && !now.inputs.paused;
        let mut flags = FrameFlags::ENGAGED * u32::from(engaged);
        flags |= FrameFlags::CLOSED * u32::from(reading.closed);
        flags |= FrameFlags::FAULT * u32::from(self.fault);
        if !coupling.switch.is_empty() {
            flags = FrameFlags::with_mode(flags, coupling.mode.code());
        }
        let outbox = Outbox {
            side: Side::Master,
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
            impedance_epoch: self.tuning.epoch,
            flags,
            impedance_nspm: self.tuning.impedance_nspm,
            wave_integral: *self.method.wave_integral(),
            strokes: self.strokes(),
            topology: self.topology(),
            ..outbox.frame(self.sequence)
        };
        Outputs {
            force_on_hand_n: self.written_n.map(|force| -force),
            frame,
            record: self.record(now, outbox.record(), prediction, events),
        }
    }

    /// Completes the record that both sides have.
    fn record(
        &self,
        now: &Now<'_>,
        common: TickRecord,
        prediction: &Prediction,
        events: u32,
    ) -> TickRecord {
        let reading = &now.reading;
        TickRecord {
            port_position_m: reading.position_m,
            tissue_force_n: prediction.twin_force_n,
            tissue_energy_j: prediction.energy_j,
            update_energy_j: prediction.update_energy_j,
            corrected: prediction.corrected,
            confidence: prediction.confidence,
            twin_share: self.method.twin_share(),
            intended_m: reading.intended_m,
            events,
            state: self.operating(reading, events),
            phase: reading.phase,
            held_to_m: self.held_to_m,
            strokes: self.strokes(),
            topology: self.topology(),
            links_cut: prediction.links_cut,
            parked_m: prediction.parked.position_m,
            parked_n: prediction.parked.force_n,
            ..common
        }
    }

    /// Operating state as CRTK numbers it in [`TickRecord::state`].
    fn operating(&self, reading: &Reading, events: u32) -> u8 {
        if self.fault {
            3
        } else if !reading.present {
            0
        } else {
            1 + u8::from(events & Events::STALE != 0)
        }
    }
}

/// Longest time that a device may hold a relayed force and one period of it be paid from the reserve \[s\].
const TWO_PERIODS_S: f64 = 2.0 * PERIOD.s();
/// Shortest time between two readings that is believed \[s\].
const PASSED_S_MIN: f64 = 1e-4;

/// For how long a force is paid for whose device never lets go of it \[s\]: as many missed ticks as one
/// tick accounts for.
const UNGUARDED_S: f64 = 0.02;

/// Acceleration that a hand, and the other axes of an arm, may give the handle against the port's
/// force \[m/s^2\] (ours: 4 g).
const HAND_MPS2: f64 = 40.0;

/// Time over which the handle's velocity is smoothed for the charging friction \[s\]: one step of a
/// 0.03 mm encoder must not rattle in a hand that rests.
const CHARGE_SMOOTH_S: f64 = 0.015;

/// Largest damping that repays a debt \[N s/m\]: stable on a 0.05 kg handle at 1 kHz (E8, m/T).
const REPAY_NSPM_MAX: f64 = 20.0;
