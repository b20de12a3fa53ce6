//! Bitwise replay: runs the recorded ticks again with the same inputs and compares the port traces bit by bit.
//!
//! Source: ours. The ticks of both sides run again in an order in which every frame is made before it is used.
//! Devices do not run: their readings are in the record. So recordings of live sessions and of virtual time are
//! replayed alike. A codec runs again with the ticks: the frames that it sent, and the signals that it
//! reconstructed between them, follow from the outputs and inputs of the ticks.

use palpate_master::predict::TwinPredictor;
use palpate_port::inbox::RunIds;
use palpate_transport::clock::PERIODS_PER_TICK_MAX;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Time};

use super::{ReplayError, check_inputs_recorded};
use crate::config::Config;
use crate::lab::{self, Reconstruction, ReconstructionMeter};
use crate::pipeline::tick_inputs::RecordedDevice;
use crate::pipeline::{self, SideState, tick_inputs};
use crate::record::{RecordedChange, Recording};
use crate::table_cache;

/// Fact of a recording: command that wrote it.
pub const COMMAND: &str = "command";

/// Fact of a recording: `yes` if the twin had a compliance table for late ticks.
pub(crate) const TWIN_TABLE: &str = "twin_table";

/// Run numbers of two sides without prior contact.
const STRANGERS: [u64; 2] = [1, 2];

/// First difference of a port signal from the recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortDifference {
    /// The side.
    pub side: Side,
    /// Number of the tick.
    pub tick: u64,
    /// `port_position_m` or `port_force_n`.
    pub quantity: &'static str,
    /// The axis, from 0.
    pub axis: usize,
    /// Recorded value, in the unit of the quantity.
    pub recorded: f64,
    /// Replayed value.
    pub replayed: f64,
}

/// Outcome of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOutcome {
    /// Replayed records of the operator's side.
    pub master: Vec<TickRecord>,
    /// Replayed records of the remote side.
    pub slave: Vec<TickRecord>,
    /// Recorded ticks of both sides that were not run: a truncated recording lacks their frames.
    pub skipped_ticks: u64,
    /// Ticks of both sides whose port is not bit-identical.
    pub different_ticks: u64,
    /// The first of them.
    pub first_difference: Option<PortDifference>,
    /// Tick of every frame sent by the master and by the slave, if a codec is on.
    pub sent_ticks: [Vec<u64>; 2],
    /// Reconstruction error of each stream, if a codec is on and no tick was missed.
    pub reconstruction: [Option<Reconstruction>; 2],
}

/// Runs the ticks of a recording again.
///
/// # Errors
/// [`ReplayError`] names the missing part of the recording.
pub fn replay(recording: &Recording, config: &Config) -> Result<ReplayOutcome, ReplayError> {
    if config.liar.is_on() {
        return Err(ReplayError::Forged);
    }
    let alone = is_alone(recording);
    check_complete(Side::Master, &recording.master)?;
    if !alone {
        check_complete(Side::Slave, &recording.slave)?;
    }
    let ids_known = alone || recording.fact(COMMAND) == Some("lab");
    let run_ids = |side: Side| match ids_known {
        true => lab::run_ids(config.seed, side),
        false => RunIds {
            own: STRANGERS[side as usize],
            peer: 0,
        },
    };
    let mut twin = twin(recording, config)?;
    if alone {
        twin = twin.map(TwinPredictor::without_remote_tissue);
    }
    let caps = handle_caps(config);
    let master = palpate_master::MasterState::new(twin, &caps, run_ids(Side::Master));
    let slave = palpate_slave::SlaveState::new(config.robot.mass_kg(), run_ids(Side::Slave));
    let run = Run {
        master: SideReplay::new(config, master, recording),
        slave: SideReplay::new(config, slave, recording),
        differences: Differences::default(),
    };
    run.all(recording)
}

/// Capabilities of the handle of a configuration.
pub(super) fn handle_caps(config: &Config) -> palpate_master::device::HandleCaps {
    palpate_master::device::build(&config.operator, config.duration_s, config.seed).caps()
}

/// True for a recording of an operator's side alone: of a rehearsal.
#[must_use]
pub fn is_alone(recording: &Recording) -> bool {
    recording.fact(COMMAND) == Some("rehearse")
}

/// Twin of a recording at rest, with its compliance table; none for a session without a twin.
///
/// # Errors
/// [`ReplayError::Config`] if its scene cannot be built, [`ReplayError::Table`] if the cache lacks its table.
pub(super) fn twin(
    recording: &Recording,
    config: &Config,
) -> Result<Option<TwinPredictor>, ReplayError> {
    if matches!(recording.fact(COMMAND), Some("lab" | "rehearse")) {
        return Ok(lab::virtual_time_predictor(config)?);
    }
    if recording.fact(TWIN_TABLE) != Some("yes") || !config.coupling.needs_twin() {
        return Ok(lab::predictor(config, None)?);
    }
    let scene = lab::scene_with_tool(config, &config.twin, "twin")?;
    let table = table_cache::cached(&scene).unwrap_or_default();
    let table = table.ok_or_else(|| ReplayError::Table {
        scene: config.twin.clone(),
    })?;
    Ok(lab::predictor(config, Some(&table))?)
}

/// Checks that the records of a side are complete, with the inputs of their ticks.
fn check_complete(side: Side, records: &[TickRecord]) -> Result<(), ReplayError> {
    let side = side.name();
    check_inputs_recorded(side, records)?;
    for pair in records.windows(2) {
        let (before, after) = (pair[0].tick, pair[1].tick);
        let passed = after.saturating_sub(before);
        // a tick after a long pause accounts for no more than the maximum
        if passed.min(PERIODS_PER_TICK_MAX) != u64::from(pair[1].periods) {
            return Err(ReplayError::Gap {
                side,
                before,
                after,
            });
        }
    }
    Ok(())
}

/// Replay of one side.
struct SideReplay<E: SideState> {
    side: pipeline::SidePipeline<E>,
    /// Coupling as the ticks use it.
    coupling: CouplingParams,
    /// Remaining changes of the coupling, the last first.
    changes: Vec<RecordedChange>,
    /// Time of its first tick on its own clock \[ns\].
    first_ns: i64,
    /// Meter of the frames that it sends.
    reconstruction_meter: ReconstructionMeter,
    /// Frames sent, number 1 first.
    frames: Vec<HapticFrame>,
    /// Tick of each of them, if a codec is on.
    sent_ticks: Vec<u64>,
    is_coded: bool,
    /// Replayed records.
    replayed: Vec<TickRecord>,
}

impl<E: SideState> SideReplay<E> {
    fn new(config: &Config, state: E, recording: &Recording) -> Self {
        let coupling = config.coupling_in_use();
        let (own, other) = match E::SIDE {
            Side::Master => (&recording.master, &recording.slave),
            Side::Slave => (&recording.slave, &recording.master),
        };
        let room = own.len().max(other.len());
        let changes = recording.changes.iter();
        let changes = changes.filter(|change| change.side == E::SIDE);
        Self {
            side: pipeline::SidePipeline::new(config, state),
            reconstruction_meter: ReconstructionMeter::new(&config.codec, E::SIDE, &coupling, room),
            coupling,
            changes: changes.rev().copied().collect(),
            first_ns: own.first().map_or(0, |record| record.given_ns),
            frames: Vec::new(),
            sent_ticks: Vec::new(),
            is_coded: config.codec.is_on(),
            replayed: Vec::with_capacity(own.len()),
        }
    }

    /// True if it has sent the frame used by a tick of the other side.
    fn has_sent(&self, record: &TickRecord) -> bool {
        record.frame_sequence <= self.frames.len() as u64
    }

    /// Frame used by a tick of the other side.
    fn frame(&self, record: &TickRecord) -> Option<HapticFrame> {
        let index = usize::try_from(record.frame_sequence.checked_sub(1)?).ok()?;
        self.frames.get(index).copied()
    }

    /// Runs a tick again, with its recorded device and frames of `other`.
    fn step<O: SideState>(
        &mut self,
        recorded: &TickRecord,
        device: &mut E::Device,
        other: &mut SideReplay<O>,
        differences: &mut Differences,
    ) {
        let inputs = tick_inputs::inputs_of(recorded, other.frame(recorded));
        self.change(recorded);
        let outputs = self.side.tick(&inputs, &self.coupling, device);
        other
            .reconstruction_meter
            .on_receiver_tick(outputs.decoded_frame, inputs.now);
        self.reconstruction_meter.on_sender_tick(&outputs);
        self.frames.extend(outputs.sent_frame);
        if outputs.sent_frame.is_some() && self.is_coded {
            self.sent_ticks.push(recorded.tick);
        }
        differences.compare(recorded, &outputs.record);
        // values that the shell adds
        self.replayed.push(TickRecord {
            now_ns: recorded.now_ns,
            late_ns: recorded.late_ns,
            compute_ns: recorded.compute_ns,
            ..outputs.record
        });
    }

    /// Applies the changes of the coupling that were made before this tick.
    fn change(&mut self, record: &TickRecord) {
        let since = Time(record.given_ns) - Time(self.first_ns);
        let due = |change: &mut RecordedChange| change.tick <= record.tick;
        while let Some(recorded) = self.changes.pop_if(due) {
            recorded.change.apply(&mut self.coupling, since.s());
        }
    }
}

/// Counter of ports that are not bit-identical.
#[derive(Default)]
struct Differences {
    ticks: u64,
    first: Option<PortDifference>,
}

impl Differences {
    /// Counts a tick whose port is not bit-identical.
    fn compare(&mut self, recorded: &TickRecord, replayed: &TickRecord) {
        let pairs = [
            (
                "port_position_m",
                recorded.port_position_m,
                replayed.port_position_m,
            ),
            ("port_force_n", recorded.port_force_n, replayed.port_force_n),
        ];
        let mut same = true;
        for (quantity, before, after) in pairs {
            let axis = (0..before.len()).find(|&a| before[a].to_bits() != after[a].to_bits());
            let Some(axis) = axis else { continue };
            same = false;
            self.first.get_or_insert(PortDifference {
                side: recorded.side,
                tick: recorded.tick,
                quantity,
                axis,
                recorded: before[axis],
                replayed: after[axis],
            });
        }
        self.ticks += u64::from(!same);
    }
}

/// Replay of both sides.
struct Run {
    master: SideReplay<palpate_master::MasterState>,
    slave: SideReplay<palpate_slave::SlaveState>,
    differences: Differences,
}

impl Run {
    fn all(mut self, recording: &Recording) -> Result<ReplayOutcome, ReplayError> {
        let (mut masters, mut slaves) = (recording.master.iter(), recording.slave.iter());
        let (mut master, mut slave) = (masters.next(), slaves.next());
        while master.is_some() || slave.is_some() {
            let mut progressed = false;
            // in order of time if frames permit, as a session in lock step runs
            while let Some(record) = master.filter(|r| self.slave.has_sent(r)) {
                let device = &mut RecordedDevice(*record);
                self.master
                    .step(record, device, &mut self.slave, &mut self.differences);
                master = masters.next();
                progressed = true;
                if slave.is_some_and(|slave| slave.now_ns <= record.now_ns) {
                    break;
                }
            }
            if let Some(record) = slave.filter(|r| self.master.has_sent(r)) {
                let device = &mut RecordedDevice(*record);
                self.slave
                    .step(record, device, &mut self.master, &mut self.differences);
                slave = slaves.next();
                progressed = true;
            }
            // a truncated recording may end with a frame whose sending tick it lacks
            if !progressed && recording.is_cut() {
                break;
            }
            if let Some(record) = master.or(slave).filter(|_| !progressed) {
                // the side of the channel, which a damaged record may not name
                let side = master.map_or(Side::Slave, |_| Side::Master);
                return Err(ReplayError::Frame {
                    side: side.name(),
                    tick: record.tick,
                    sequence: record.frame_sequence,
                });
            }
        }
        Ok(self.replayed(recording))
    }

    fn replayed(self, recording: &Recording) -> ReplayOutcome {
        let (master, slave) = (self.master, self.slave);
        let recorded = recording.master.len() + recording.slave.len();
        let run = master.replayed.len() + slave.replayed.len();
        let complete = |records: &[TickRecord]| records.iter().all(|record| record.periods == 1);
        let no_missed_tick = complete(&recording.master) && complete(&recording.slave);
        let reconstruction =
            |meter: &ReconstructionMeter| meter.reconstruction().filter(|_| no_missed_tick);
        ReplayOutcome {
            skipped_ticks: (recorded - run) as u64,
            different_ticks: self.differences.ticks,
            first_difference: self.differences.first,
            reconstruction: [
                reconstruction(&master.reconstruction_meter),
                reconstruction(&slave.reconstruction_meter),
            ],
            sent_ticks: [master.sent_ticks, slave.sent_ticks],
            master: master.replayed,
            slave: slave.replayed,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use palpate_transport::clock::PERIOD;
    use palpate_transport::codec::CodecKind;
    use palpate_transport::coupling::Mode;

    use super::*;
    use crate::lab::VirtualSession;
    use crate::monitor::coupling_change::CouplingChange;
    use crate::replay::trace_hash;
    use crate::run::clocked::ClockedSession;

    /// Records a session like its recorder.
    pub(in crate::replay) fn recorded(config: &Config) -> (Recording, String) {
        let mut session = VirtualSession::new(config).expect("built in");
        let mut recording = Recording {
            facts: [(COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        for tick in 0..session.ticks() {
            let mut both = session.step();
            both.slave.now_ns = PERIOD.0 * tick as i64;
            recording.master.push(both.master);
            recording.slave.push(both.slave);
        }
        let hash = session.trace_hash();
        (recording, hash)
    }

    pub(in crate::replay) fn config(mode: Mode) -> Config {
        let mut config = Config {
            tissue: "sheet-lump".into(),
            twin: "sheet".into(),
            duration_s: 9.0,
            ..Config::default()
        };
        config.coupling.mode = mode;
        config.clock.offset_ms = 3.0;
        config.clock.skew_ppm = 50.0;
        config.realtime.fallback_share = 0.05;
        for link in [&mut config.link.forward, &mut config.link.back] {
            (link.oneway_ms, link.jitter_ms, link.loss) = (20.0, 15.0, 0.1);
            (link.duplicate, link.reorder) = (0.05, 0.05);
        }
        config
    }

    #[test]
    fn every_mode_replays_bit_identically() {
        for mode in [Mode::Direct, Mode::Wave, Mode::Mmt] {
            let config = config(mode);
            let (recording, hash) = recorded(&config);
            assert_eq!(trace_hash(&recording.master, &recording.slave), hash);
            let again = replay(&recording, &config).expect("complete");
            assert_eq!(
                (again.different_ticks, again.first_difference),
                (0, None),
                "{mode:?}"
            );
            assert_eq!(trace_hash(&again.master, &again.slave), hash);
            assert_eq!(again.master, recording.master);
        }
    }

    #[test]
    fn issue_coupling_changes_were_not_replayed() {
        let config = config(Mode::Wave);
        let mut session = VirtualSession::new(&config).expect("built in");
        let mut recording = Recording {
            facts: [(COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        let changes = [
            (
                3000,
                CouplingChange {
                    impedance_nspm: Some(25.0),
                    mode: None,
                },
            ),
            (
                5000,
                CouplingChange {
                    impedance_nspm: None,
                    mode: Some(Mode::Tank),
                },
            ),
            (
                6500,
                CouplingChange {
                    impedance_nspm: Some(8.0),
                    mode: Some(Mode::Wave),
                },
            ),
        ];
        for tick in 0..session.ticks() {
            for (at, change) in changes.iter().filter(|(at, _)| *at == tick) {
                let coupling = ClockedSession::coupling(&mut session).expect("a coupling");
                change.apply(coupling, PERIOD.s() * *at as f64);
                let of = |side| RecordedChange {
                    side,
                    tick: *at,
                    change: *change,
                };
                recording
                    .changes
                    .extend([Side::Master, Side::Slave].map(of));
            }
            let both = session.step();
            recording.master.push(both.master);
            recording.slave.push(both.slave);
        }
        let again = replay(&recording, &config).expect("complete");
        assert_eq!((again.different_ticks, again.first_difference), (0, None));
        recording.changes.clear();
        assert!(replay(&recording, &config).is_ok_and(|other| other.different_ticks > 0));
    }

    #[test]
    fn issue_a_session_with_a_codec_was_refused() {
        for mode in [Mode::Wave, Mode::Tank, Mode::Mmt] {
            let mut config = config(mode);
            config.codec.kind = CodecKind::Deadband;
            let (recording, hash) = recorded(&config);
            let again = replay(&recording, &config).expect("complete");
            assert_eq!(
                (again.different_ticks, again.first_difference),
                (0, None),
                "{mode:?}"
            );
            assert_eq!(trace_hash(&again.master, &again.slave), hash);
            assert_eq!(again.master, recording.master);
            let frames = again.sent_ticks.each_ref().map(Vec::len);
            assert!(frames.iter().all(|&n| n > 300 && n < 8000), "{frames:?}");
            assert!(again.reconstruction.iter().all(Option::is_some));
            // another codec reconstructs other signals between the frames
            config.codec.floor_n *= 0.5;
            config.codec.floor_mps *= 0.5;
            let other = replay(&recording, &config);
            assert!(other.is_err() || other.is_ok_and(|other| other.different_ticks > 0));
        }
    }

    #[test]
    fn changed_input_or_parameter_is_located() {
        let config = config(Mode::Mmt);
        let (mut recording, _) = recorded(&config);
        let mut other = config.clone();
        other.coupling.charging_friction_n_max *= 1.5;
        let again = replay(&recording, &other).expect("complete");
        assert!(again.different_ticks > 0);
        recording.master[5000].position_m[2] += 1e-9;
        let again = replay(&recording, &config).expect("complete");
        let first = again.first_difference.expect("a difference");
        assert_eq!((first.side, first.tick), (Side::Master, 5000));
        assert_eq!((first.quantity, first.axis), ("port_position_m", 2));
    }

    #[test]
    fn truncated_recording_counts_skipped_ticks() {
        let config = config(Mode::Wave);
        let (mut cut, _) = recorded(&config);
        cut.slave.truncate(3000);
        cut.damage = Some(crate::record::Damage {
            path: "cut.mcap".into(),
            offset: 1,
            what: "cut".into(),
            kept: 0,
        });
        let again = replay(&cut, &config).expect("cut, and known to be");
        assert_eq!((again.different_ticks, again.slave.len()), (0, 3000));
        let left = (cut.master.len() - again.master.len()) as u64;
        assert!(left > 0);
        assert_eq!(again.skipped_ticks, left);
    }

    #[test]
    fn missing_parts_of_a_recording_are_named() {
        let config = config(Mode::Wave);
        let (complete, _) = recorded(&config);
        let without = |change: &dyn Fn(&mut Recording)| {
            let mut less = complete.clone();
            change(&mut less);
            replay(&less, &config)
                .expect_err("it lacks something")
                .to_string()
        };
        let text = without(&|r| r.slave.clear());
        assert!(text.contains("no ticks of the slave"), "{text}");
        let text = without(&|r| {
            r.master.remove(700);
        });
        assert!(text.contains("ticks 699 and 701"), "{text}");
        let text = without(&|r| r.slave.truncate(3000));
        assert!(text.contains("frame 300"), "{text}");
        let text = without(&|r| r.master[4].given = 0);
        assert!(text.contains("tick 4 of the master"), "{text}");
    }
}
