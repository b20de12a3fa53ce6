//! The same ticks with the same inputs: are the port traces bit-identical?
//!
//! Source: ours. Both sides' ticks are run again in an order in which every frame is made before it is
//! taken. Devices are not: their readings are in the record. So a recording of a live session is judged
//! like one of virtual time. A codec is run again with the ticks: which frames it sent, and what it showed
//! between them, follows from what they made and were given.

use palpate_port::inbox::Parties;
use palpate_transport::clock::PERIODS_MAX;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::{Given, Side, TickRecord};
use palpate_transport::{HapticFrame, Time};

use super::{ReplayError, named};
use crate::config::Config;
use crate::lab::{self, Reconstruction, Watch};
use crate::pipeline::given::Recorded;
use crate::pipeline::{self, End, given};
use crate::record::{Changed, Recording};
use crate::tables;

/// Fact of a recording: what wrote it.
pub const COMMAND: &str = "command";

/// Fact of a recording: whether the twin had a table for late ticks.
pub const TWIN_TABLE: &str = "twin_table";

/// Runs of two sides that meet for the first time.
const STRANGERS: [u64; 2] = [1, 2];

/// The first moment at which a port was not as recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The side.
    pub side: Side,
    /// Number of the tick.
    pub tick: u64,
    /// `port_position_m` or `port_force_n`.
    pub quantity: &'static str,
    /// The axis, from 0.
    pub axis: usize,
    /// What was recorded, in the unit of the quantity.
    pub recorded: f64,
    /// What came of it now.
    pub replayed: f64,
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Records of the operator's side, as they are now.
    pub master: Vec<TickRecord>,
    /// Records of the remote side.
    pub slave: Vec<TickRecord>,
    /// Recorded ticks of both sides that were not run: a recording that was cut lacks their frames.
    pub unrun: u64,
    /// Ticks of both sides whose port is not bit-identical.
    pub different: u64,
    /// The first of them.
    pub first: Option<Difference>,
    /// Tick of every frame sent from the master and from the slave, if a codec is on.
    pub sent_ticks: [Vec<u64>; 2],
    /// How well each stream was reconstructed, if a codec is on and no tick was missed.
    pub reconstruction: [Option<Reconstruction>; 2],
}

/// Runs the ticks of a recording again.
///
/// # Errors
/// [`ReplayError`] says what the recording lacks.
pub fn replay(recording: &Recording, config: &Config) -> Result<Replayed, ReplayError> {
    let alone = is_alone(recording);
    whole(Side::Master, &recording.master)?;
    if !alone {
        whole(Side::Slave, &recording.slave)?;
    }
    let fact = |name: &str| recording.facts.get(name).map(String::as_str);
    let known = alone || fact(COMMAND) == Some("lab");
    let parties = |side: Side| match known {
        true => lab::parties(config.seed, side),
        false => Parties {
            own: STRANGERS[side as usize],
            peer: 0,
        },
    };
    let twin = twin(recording, config)?;
    let twin = twin.map(|twin| if alone { twin.alone() } else { twin });
    let handle = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let caps = handle.caps();
    let master = palpate_master::State::new(twin, &caps, parties(Side::Master));
    let slave = palpate_slave::State::new(parties(Side::Slave));
    let run = Run {
        master: Again::new(config, master, recording),
        slave: Again::new(config, slave, recording),
        differences: Differences::default(),
    };
    run.all(recording)
}

/// Whether it is of an operator's side that had no other: of a rehearsal.
#[must_use]
pub fn is_alone(recording: &Recording) -> bool {
    recording.facts.get(COMMAND).map(String::as_str) == Some("rehearse")
}

/// The twin of a recording at rest, with the table that it had; none of a session without one.
///
/// # Errors
/// [`ReplayError::Config`] if its scene cannot be built, [`ReplayError::Table`] if its table is gone.
pub(super) fn twin(
    recording: &Recording,
    config: &Config,
) -> Result<Option<palpate_master::predict::Predictor>, ReplayError> {
    let fact = |name: &str| recording.facts.get(name).map(String::as_str);
    match fact(COMMAND) {
        Some("lab" | "rehearse") => Ok(lab::predictor_of(config)?),
        _ => live_twin(config, fact(TWIN_TABLE) == Some("yes")),
    }
}

/// What was changed of a side, the last first.
fn of_side(recording: &Recording, side: Side) -> Vec<Changed> {
    let own = recording
        .changes
        .iter()
        .filter(|changed| changed.side == side);
    own.rev().copied().collect()
}

/// The twin of a live session.
fn live_twin(
    config: &Config,
    had_table: bool,
) -> Result<Option<palpate_master::predict::Predictor>, ReplayError> {
    if !had_table || !config.coupling.needs_twin() {
        return Ok(lab::predictor(config)?);
    }
    let scene = lab::load_scene(&config.twin, "twin")?;
    let table = tables::of_session(&scene).table;
    let table = table.ok_or_else(|| ReplayError::Table {
        scene: config.twin.clone(),
    })?;
    Ok(lab::predictor_with(config, Some(&table))?)
}

/// Whether the records of a side are all there, with what their ticks were given.
fn whole(side: Side, records: &[TickRecord]) -> Result<(), ReplayError> {
    let side = named(side);
    if records.is_empty() {
        return Err(ReplayError::OneSide { missing: side });
    }
    let bare = records.iter().find(|r| r.given & Given::NOTED == 0);
    if let Some(bare) = bare {
        let tick = bare.tick;
        return Err(ReplayError::Inputs { side, tick });
    }
    for pair in records.windows(2) {
        let (before, after) = (pair[0].tick, pair[1].tick);
        let passed = after.saturating_sub(before);
        // a tick after a long pause accounts for no more than the most
        if passed.min(PERIODS_MAX) != u64::from(pair[1].periods) {
            return Err(ReplayError::Gap {
                side,
                before,
                after,
            });
        }
    }
    Ok(())
}

/// One side that does again what it did.
struct Again<E: End> {
    side: pipeline::Side<E>,
    /// As its ticks ran it.
    coupling: CouplingParams,
    /// What is still to be changed of it, the last first.
    changes: Vec<Changed>,
    /// When its first tick was, on its own clock \[ns\].
    first_ns: i64,
    /// The stream from it.
    watch: Watch,
    /// Frames that it has sent, number 1 first.
    frames: Vec<HapticFrame>,
    /// Tick of every one of them, if a codec is on.
    sent_ticks: Vec<u64>,
    is_coded: bool,
    /// Its records, as they are now.
    replayed: Vec<TickRecord>,
}

impl<E: End> Again<E> {
    fn new(config: &Config, state: E, recording: &Recording) -> Self {
        let coupling = config.coupling_in_use();
        let (own, other) = match E::SIDE {
            Side::Master => (&recording.master, &recording.slave),
            Side::Slave => (&recording.slave, &recording.master),
        };
        let room = own.len().max(other.len());
        Self {
            side: pipeline::Side::new(config, state),
            watch: Watch::new(&config.codec, E::SIDE, &coupling, room),
            coupling,
            changes: of_side(recording, E::SIDE),
            first_ns: own.first().map_or(0, |record| record.given_ns),
            frames: Vec::new(),
            sent_ticks: Vec::new(),
            is_coded: config.codec.is_on(),
            replayed: Vec::with_capacity(own.len()),
        }
    }

    /// Whether it has sent the frame that a tick of the other side took.
    fn has_sent(&self, record: &TickRecord) -> bool {
        record.frame_sequence <= self.frames.len() as u64
    }

    /// The frame that a tick of the other side took.
    fn frame(&self, record: &TickRecord) -> Option<HapticFrame> {
        let index = usize::try_from(record.frame_sequence.checked_sub(1)?).ok()?;
        self.frames.get(index).copied()
    }

    /// Does a tick again, with frames of `other`.
    fn step<O: End>(
        &mut self,
        recorded: &TickRecord,
        other: &mut Again<O>,
        differences: &mut Differences,
    ) {
        let at = given::at(recorded, other.frame(recorded));
        self.change(recorded);
        let device = &mut Recorded(*recorded);
        let made = self.side.tick(&at, &self.coupling, E::recorded(device));
        other.watch.shown(made.shown, at.now);
        self.watch.made(&made);
        self.frames.extend(made.sent);
        if made.sent.is_some() && self.is_coded {
            self.sent_ticks.push(recorded.tick);
        }
        differences.compare(recorded, &made.record);
        // what the shell adds
        self.replayed.push(TickRecord {
            now_ns: recorded.now_ns,
            late_ns: recorded.late_ns,
            compute_ns: recorded.compute_ns,
            ..made.record
        });
    }

    /// Changes the coupling as it was changed before this tick.
    fn change(&mut self, record: &TickRecord) {
        let since = Time(record.given_ns) - Time(self.first_ns);
        let due = |changed: &mut Changed| changed.tick <= record.tick;
        while let Some(changed) = self.changes.pop_if(due) {
            changed.change.apply(&mut self.coupling, since.s());
        }
    }
}

/// Ports that are not bit-identical.
#[derive(Default)]
struct Differences {
    ticks: u64,
    first: Option<Difference>,
}

impl Differences {
    /// Counts a tick whose port is not.
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
            self.first.get_or_insert(Difference {
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

/// Both sides of a recording.
struct Run {
    master: Again<palpate_master::State>,
    slave: Again<palpate_slave::State>,
    differences: Differences,
}

impl Run {
    fn all(mut self, recording: &Recording) -> Result<Replayed, ReplayError> {
        let (mut masters, mut slaves) = (recording.master.iter(), recording.slave.iter());
        let (mut master, mut slave) = (masters.next(), slaves.next());
        while master.is_some() || slave.is_some() {
            let mut moved = false;
            // in the order of time where frames allow it, as a session in lock step goes
            while let Some(record) = master.filter(|r| self.slave.has_sent(r)) {
                let differences = &mut self.differences;
                self.master.step(record, &mut self.slave, differences);
                master = masters.next();
                moved = true;
                if slave.is_some_and(|slave| slave.now_ns <= record.now_ns) {
                    break;
                }
            }
            if let Some(record) = slave.filter(|r| self.master.has_sent(r)) {
                let differences = &mut self.differences;
                self.slave.step(record, &mut self.master, differences);
                slave = slaves.next();
                moved = true;
            }
            // a recording that was cut short may end with a frame whose maker it lacks
            if !moved && recording.damage.is_some() {
                break;
            }
            if let Some(record) = master.or(slave).filter(|_| !moved) {
                let side = if master.is_some() {
                    Side::Master
                } else {
                    Side::Slave
                };
                return Err(ReplayError::Frame {
                    side: named(side),
                    tick: record.tick,
                    sequence: record.frame_sequence,
                });
            }
        }
        Ok(self.replayed(recording))
    }

    fn replayed(self, recording: &Recording) -> Replayed {
        let (master, slave) = (self.master, self.slave);
        let recorded = recording.master.len() + recording.slave.len();
        let run = master.replayed.len() + slave.replayed.len();
        let whole = |records: &[TickRecord]| records.iter().all(|record| record.periods == 1);
        let judged = whole(&recording.master) && whole(&recording.slave);
        let seen = |watch: &Watch| watch.reconstruction().filter(|_| judged);
        Replayed {
            unrun: (recorded - run) as u64,
            different: self.differences.ticks,
            first: self.differences.first,
            reconstruction: [seen(&master.watch), seen(&slave.watch)],
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
    use crate::lab::Session;
    use crate::monitor::live::Change;
    use crate::replay::trace_hash;
    use crate::run::paced::Paced;

    /// A session as its recorder sees it.
    pub(in crate::replay) fn recorded(config: &Config) -> (Recording, String) {
        let mut session = Session::new(config).expect("built in");
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
        config.realtime.masked_share = 0.05;
        for link in [&mut config.link.forward, &mut config.link.back] {
            (link.oneway_ms, link.jitter_ms, link.loss) = (20.0, 15.0, 0.1);
            (link.duplicate, link.reorder) = (0.05, 0.05);
        }
        config
    }

    #[test]
    fn every_mode_is_the_same_again_bit_by_bit() {
        for mode in [Mode::Direct, Mode::Wave, Mode::Mmt] {
            let config = config(mode);
            let (recording, hash) = recorded(&config);
            assert_eq!(trace_hash(&recording.master, &recording.slave), hash);
            let again = replay(&recording, &config).expect("whole");
            assert_eq!((again.different, again.first), (0, None), "{mode:?}");
            assert_eq!(trace_hash(&again.master, &again.slave), hash);
            assert_eq!(again.master, recording.master);
        }
    }

    #[test]
    fn issue_what_a_console_changed_was_not_the_same_again() {
        let config = config(Mode::Wave);
        let mut session = Session::new(&config).expect("built in");
        let mut recording = Recording {
            facts: [(COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        let changes = [
            (
                3000,
                Change {
                    impedance_nspm: Some(25.0),
                    mode: None,
                },
            ),
            (
                5000,
                Change {
                    impedance_nspm: None,
                    mode: Some(Mode::Tank),
                },
            ),
            (
                6500,
                Change {
                    impedance_nspm: Some(8.0),
                    mode: Some(Mode::Wave),
                },
            ),
        ];
        for tick in 0..session.ticks() {
            for (at, change) in changes.iter().filter(|(at, _)| *at == tick) {
                let coupling = Paced::coupling(&mut session).expect("a coupling");
                change.apply(coupling, PERIOD.s() * *at as f64);
                let of = |side| Changed {
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
        let again = replay(&recording, &config).expect("whole");
        assert_eq!((again.different, again.first), (0, None));
        recording.changes.clear();
        assert!(replay(&recording, &config).is_ok_and(|other| other.different > 0));
    }

    #[test]
    fn issue_a_session_with_a_codec_was_refused() {
        for mode in [Mode::Wave, Mode::Tank, Mode::Mmt] {
            let mut config = config(mode);
            config.codec.kind = CodecKind::Deadband;
            let (recording, hash) = recorded(&config);
            let again = replay(&recording, &config).expect("whole");
            assert_eq!((again.different, again.first), (0, None), "{mode:?}");
            assert_eq!(trace_hash(&again.master, &again.slave), hash);
            assert_eq!(again.master, recording.master);
            let frames = again.sent_ticks.each_ref().map(Vec::len);
            assert!(frames.iter().all(|&n| n > 300 && n < 8000), "{frames:?}");
            assert!(again.reconstruction.iter().all(Option::is_some));
            // another codec shows something else between the frames
            config.codec.floor_n *= 0.5;
            config.codec.floor_mps *= 0.5;
            let other = replay(&recording, &config);
            assert!(other.is_err() || other.is_ok_and(|other| other.different > 0));
        }
    }

    #[test]
    fn another_input_or_parameter_is_told_with_its_place() {
        let config = config(Mode::Mmt);
        let (mut recording, _) = recorded(&config);
        let mut other = config.clone();
        other.coupling.charge_n_max *= 1.5;
        let again = replay(&recording, &other).expect("whole");
        assert!(again.different > 0);
        recording.master[5000].position_m[2] += 1e-9;
        let again = replay(&recording, &config).expect("whole");
        let first = again.first.expect("a difference");
        assert_eq!((first.side, first.tick), (Side::Master, 5000));
        assert_eq!((first.quantity, first.axis), ("port_position_m", 2));
    }

    #[test]
    fn ticks_of_a_cut_recording_that_were_not_run_are_counted() {
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
        assert_eq!((again.different, again.slave.len()), (0, 3000));
        let left = (cut.master.len() - again.master.len()) as u64;
        assert!(left > 0);
        assert_eq!(again.unrun, left);
    }

    #[test]
    fn what_a_recording_lacks_is_named() {
        let config = config(Mode::Wave);
        let (whole, _) = recorded(&config);
        let without = |change: &dyn Fn(&mut Recording)| {
            let mut less = whole.clone();
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
