//! Tests of closed-loop sessions in which the operator opens the tissue: promises for any network.
//!
//! The instrument works on the twin; the remote tissue applies the same edit batches when they arrive. The
//! independent auditor finds no passivity violation. No force on the operator grows by more than the guard's
//! slew limit, 1 N per tick, nor falls by more than the limit of its mode ([`fall_n_max`]). Both tissues end
//! with the same nodes, links and attachments. All sessions repeat bit for bit.

use palpate_analysis::metrics::{SessionFacts, Tally, Traces, topology};
use palpate_analysis::summary::TopologySummary;
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::{Config, LinkChange};
use palpate_session::lab::{self, VirtualSession};
use palpate_session::record::Recording;
use palpate_session::replay::bitwise::{self, ReplayOutcome};
use palpate_slave::robot::{Environment, Probe, Robot, RobotReading, TissueEdits};
use palpate_tests::audited;
use palpate_transport::coupling::Mode;
use palpate_transport::link::{LinkParams, Outage};
use palpate_transport::trace::{EventFlags, Side, TickRecord};
use palpate_transport::{AXES, Axes, EditBatch, Time};

#[path = "cutting/restarts_and_blades.rs"]
mod restarts_and_blades;

/// Modes of the tests: the force of the twin, the relayed force, and both.
const MODES: [Mode; 4] = [Mode::Mmt, Mode::Auto, Mode::Wave, Mode::Tdpa];

/// Largest step of the force on one axis of the operator in a tick \[N\]: 1000 N/s by the guard.
const STEP_N_MAX: f64 = 1.0;

/// Returns the largest fall in a tick including unpaid ones \[N\]: a force without energy for it is released at once.
fn fall_n_max(mode: Mode) -> f64 {
    match mode {
        Mode::Mmt | Mode::Auto | Mode::Pspm => 1.0,
        // that of a late wave
        Mode::Wave | Mode::WaveTdpa => 1.25,
        Mode::Tank => 2.0,
        // its controller releases all that it cannot dissipate
        _ => 2.2,
    }
}

fn scene(name: &str) -> String {
    format!("{}/scenes/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the session of `opening.toml` over a link, with the scene `opened` at both ends.
fn opening(mode: Mode, link: LinkParams) -> Config {
    let text = include_str!("../scenes/opening.toml");
    let mut config = Config::parse(text, "opening.toml").expect("a configuration");
    (config.twin, config.tissue) = (scene("opened"), scene("opened"));
    config.coupling.mode = mode;
    (config.link.forward, config.link.back) = (link, link);
    // the last cut has a second and a half, and some round trips, to arrive
    config.duration_s += 8e-3 * link.oneway_ms;
    config
}

fn link(rtt_ms: f64, loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms: 0.5 * rtt_ms,
        loss,
        ..LinkParams::default()
    }
}

/// Records of a session for the checks.
struct SessionTraces {
    master: Vec<TickRecord>,
    slave: Vec<TickRecord>,
    hash: String,
}

/// Runs a session to its end; `at` may act on it before each tick.
fn run_session(
    mut session: VirtualSession,
    mut at: impl FnMut(u64, &mut VirtualSession),
) -> SessionTraces {
    let (mut master, mut slave) = (Vec::new(), Vec::new());
    for tick in 0..session.ticks() {
        at(tick, &mut session);
        let mut both = session.step();
        both.slave.now_ns = both.master.now_ns;
        master.push(both.master);
        slave.push(both.slave);
    }
    SessionTraces {
        hash: session.trace_hash(),
        master,
        slave,
    }
}

fn run(config: &Config) -> SessionTraces {
    run_session(VirtualSession::new(config).expect("valid"), |_, _| ())
}

impl SessionTraces {
    fn topology(&self) -> TopologySummary {
        let traces = Traces {
            master: &self.master,
            slave: &self.slave,
        };
        topology::measure(&Tally::of(&traces), &SessionFacts::default())
    }

    /// Replays the session, which must repeat bit for bit; returns its recording and the replay.
    fn check_replay(self, config: &Config, mode: Mode) -> (Recording, ReplayOutcome) {
        let recording = Recording {
            master: self.master,
            slave: self.slave,
            facts: [(bitwise::COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        let replayed = bitwise::replay(&recording, config).expect("whole");
        let found = (
            replayed.different_ticks,
            replayed.skipped_ticks,
            replayed.first_difference,
        );
        assert_eq!(found, (0, 0, None), "{mode:?}");
        (recording, replayed)
    }

    /// Checks the promises; returns the largest growth and fall of a force in a tick \[N\].
    fn check_promises(&self, label: &str) -> (f64, f64) {
        let verdict = audited(&self.master, &self.slave);
        assert_eq!(verdict.violations, 0, "{label}");
        let least_j = verdict.min_channel_energy_j;
        assert!(least_j >= -TOLERANCE_J, "{label}: {least_j} J");
        let (mut growth_n, mut fall_n, mut free_n) = (0.0_f64, 0.0_f64, 0.0_f64);
        for pair in self.master.windows(2) {
            // a force without energy is released at once, and a restarted run has no force
            let anew = pair[1].received_count < pair[0].received_count;
            let free = pair[1].events & EventFlags::UNPAID_FALL == 0 && !anew;
            for axis in 0..AXES {
                let [was, is] = [0, 1].map(|k: usize| pair[k].port_force_n[axis]);
                let turned = was * is < 0.0;
                let more_n = if turned {
                    is.abs()
                } else {
                    is.abs() - was.abs()
                };
                growth_n = growth_n.max(more_n);
                let less_n = if turned { was.abs() } else { -more_n };
                fall_n = fall_n.max(less_n);
                free_n = free_n.max(if free { less_n } else { 0.0 });
            }
        }
        assert!(
            growth_n <= STEP_N_MAX * (1.0 + 1e-9),
            "{label}: grew by {growth_n} N"
        );
        assert!(
            free_n <= STEP_N_MAX * (1.0 + 1e-9),
            "{label}: fell by {free_n} N without an event"
        );
        (growth_n, fall_n)
    }

    /// Checks that both tissues were opened and are equal at the end.
    fn check_equal_tissues(&self, label: &str) -> TopologySummary {
        let topology = self.topology();
        assert!(topology.edit_batches > Some(20), "{label}: {topology:?}");
        assert_eq!(topology.edit_batches_done, topology.edit_batches, "{label}");
        assert_eq!(topology.equal, Some(true), "{label}: {topology:?}");
        assert_eq!(topology.edit_batches_refused, Some(0), "{label}");
        topology
    }
}

/// Runs and checks one session; returns its largest growth and fall of force in a tick \[N\].
fn stepped(mode: Mode, (rtt_ms, loss): (f64, f64)) -> (f64, f64) {
    let label = format!("{mode:?}, {rtt_ms} ms, loss {loss}");
    let traces = run(&opening(mode, link(rtt_ms, loss)));
    let (grew_n, fell_n) = traces.check_promises(&label);
    let topology = traces.check_equal_tissues(&label);
    println!(
        "{label}: {:?} edit batches, growth {grew_n:.3} N, fall {fell_n:.3} N a tick",
        topology.edit_batches
    );
    let limit_n = fall_n_max(mode);
    assert!(
        fell_n <= limit_n,
        "{label}: fell by {fell_n} N, more than {limit_n} N"
    );
    (grew_n, fell_n)
}

#[test]
fn both_tissues_end_equal_at_any_delay_and_loss() {
    for mode in MODES {
        for rtt_ms in [0.0, 200.0, 1000.0] {
            for loss in [0.0, 0.05, 0.2] {
                stepped(mode, (rtt_ms, loss));
            }
        }
    }
}

#[test]
fn both_tissues_end_equal_in_every_other_passive_mode() {
    for mode in [Mode::WaveTdpa, Mode::Tank, Mode::Pspm] {
        stepped(mode, (200.0, 0.05));
    }
}

/// Returns the worst network: all faults, and an outage of half a second in every two.
fn worst() -> LinkParams {
    LinkParams {
        oneway_ms: 100.0,
        jitter_ms: 40.0,
        jitter_reorders: true,
        loss: 0.1,
        duplicate: 0.2,
        reorder: 0.2,
        outage: Some(Outage {
            on_s: 1.5,
            off_s: 0.5,
        }),
        ..LinkParams::default()
    }
}

#[test]
fn both_tissues_end_equal_with_jitter_duplicates_reordering_and_outages() {
    for mode in MODES {
        let mut config = opening(mode, worst());
        config.duration_s += 3.0;
        let once = run(&config);
        let label = format!("{mode:?}");
        once.check_promises(&label);
        once.check_equal_tissues(&label);
        assert_eq!(
            run(&config).hash,
            once.hash,
            "{label}: it repeats bit for bit"
        );
        config.seed += 1;
        assert_ne!(run(&config).hash, once.hash, "{label}: another network");
    }
}

#[test]
fn cuts_during_a_long_outage_arrive_after_it() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.0));
    let away = LinkParams {
        loss: 1.0,
        ..link(200.0, 0.0)
    };
    let change = |at_s, link| LinkChange {
        at_s,
        forward: Some(link),
        back: Some(link),
    };
    config.link.change = vec![change(1.0, away), change(6.0, link(200.0, 0.0))];
    let traces = run(&config);
    traces.check_promises("outage");
    traces.check_equal_tissues("outage");
    let at_6_s = (&traces.master[5999], &traces.slave[5999]);
    assert!(
        at_6_s.0.edit_batches > 20 && at_6_s.1.edit_batches == 0,
        "{at_6_s:?}"
    );
}

#[test]
fn a_restarted_slave_continues_with_its_tissue() {
    for mode in MODES {
        let config = opening(mode, link(200.0, 0.05));
        let session = VirtualSession::new(&config).expect("valid");
        let traces = run_session(session, |tick, session| {
            if tick == 3000 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        assert!(
            traces.slave[2999].edit_batches > 0,
            "the restart is during the work"
        );
        traces.check_promises("slave");
        traces.check_equal_tissues("slave");
    }
}

/// Robot whose simulated tissue is lost with its process and intact in the next.
struct ResettingRobot {
    robot: Box<dyn Robot>,
    next: Option<Box<dyn Robot>>,
    at: Time,
}

impl Robot for ResettingRobot {
    fn read(&mut self, now: Time) -> RobotReading {
        if now >= self.at
            && let Some(next) = self.next.take()
        {
            self.robot = next;
        }
        self.robot.read(now)
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.robot.write(force_n, closed);
    }

    fn environment(&mut self) -> Option<&mut dyn Environment> {
        self.robot.environment()
    }
}

#[test]
fn a_reset_tissue_receives_the_whole_history() {
    for mode in MODES {
        let config = opening(mode, link(200.0, 0.05));
        let robot = || lab::build_robot(&config).expect("a robot");
        let robot = ResettingRobot {
            robot: robot(),
            next: Some(robot()),
            at: Time(3_000_000_000),
        };
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let session = VirtualSession::with_devices(&config, hand, Box::new(robot)).expect("valid");
        let traces = run_session(session, |tick, session| {
            if tick == 3000 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        let before = traces.slave[2999].edit_batches;
        let after = traces.slave[3000..]
            .iter()
            .map(|record| record.edit_batches)
            .min();
        assert!(before > 0 && after == Some(0), "{before} {after:?}");
        traces.check_promises("tissue");
        traces.check_equal_tissues("tissue");
    }
}

/// Runs a session whose master restarts at a tick. Returns its traces, and the number of ticks until the twin
/// has all edit batches of the tissue.
fn master_anew(mode: Mode, link: LinkParams, at: u64) -> (SessionTraces, usize) {
    let session = VirtualSession::new(&opening(mode, link)).expect("valid");
    let traces = run_session(session, |tick, session| {
        if tick == at {
            session.restart(Side::Master).expect("a master");
        }
    });
    let history = traces.slave[at as usize - 1].edit_batches;
    assert!(history > 0, "{mode:?}: the restart is during the work");
    let mut both = traces.master.iter().zip(&traces.slave).skip(at as usize);
    // it may continue cutting in the tick in which it has the history, as with a pending undo
    let received =
        both.position(|(master, slave)| master.edit_batches >= slave.edit_batches.max(history));
    let ticks = received.unwrap_or_else(|| panic!("{mode:?}: it never receives the whole history"));
    (traces, ticks)
}

#[test]
fn a_restarted_master_receives_the_history_and_continues_cutting() {
    let at = 4000;
    for mode in MODES {
        let plain = [(200.0, 0.0), (1000.0, 0.05)].into_iter();
        let more = [(0.0, 0.0), (200.0, 0.2)]
            .into_iter()
            .filter(|_| mode == Mode::Mmt);
        for (rtt_ms, loss) in plain.chain(more) {
            let label = format!("{mode:?} anew, {rtt_ms} ms, loss {loss}");
            let (traces, ticks) = master_anew(mode, link(rtt_ms, loss), at);
            let (growth_n, fall_n) = traces.check_promises(&label);
            let topology = traces.check_equal_tissues(&label);
            let history = traces.slave[at as usize - 1].edit_batches;
            println!(
                "{label}: {history} batches received in {ticks} ms, {:?} in the end, growth {growth_n:.3} N, fall {fall_n:.3} N",
                topology.edit_batches
            );
            assert!(
                topology.edit_batches > Some(history),
                "{label}: {topology:?}"
            );
            // the sides synchronise in two round trips; a lost batch arrives a round trip later
            let limit_ms = 500.0 + (3.0 + 20.0 * loss) * rtt_ms;
            assert!((ticks as f64) < limit_ms, "{label}: {ticks} ms");
        }
    }
}

#[test]
fn repeated_restarts_over_the_worst_network_end_with_equal_tissues() {
    let mut config = opening(Mode::Mmt, worst());
    config.duration_s += 3.0;
    let session = VirtualSession::new(&config).expect("valid");
    let traces = run_session(session, |tick, session| {
        if [3000, 3100, 4500, 6000].contains(&tick) {
            session.restart(Side::Master).expect("a master");
        }
        if tick == 6050 {
            session.restart(Side::Slave).expect("a slave");
        }
    });
    traces.check_promises("again");
    traces.check_equal_tissues("again");
}

#[test]
fn both_sides_restarted_with_intact_tissues_continue_from_there() {
    let config = opening(Mode::Mmt, link(200.0, 0.05));
    let robot = || lab::build_robot(&config).expect("a robot");
    // while the master receives the history of the former tissue, and before
    for at in [4000, 4330] {
        let robot = ResettingRobot {
            robot: robot(),
            next: Some(robot()),
            at: Time(1_000_000 * at),
        };
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let session = VirtualSession::with_devices(&config, hand, Box::new(robot)).expect("valid");
        let traces = run_session(session, |tick, session| {
            if tick == 4000 {
                session.restart(Side::Master).expect("a master");
            }
            if tick == at as u64 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        traces.check_promises("both");
        assert!(traces.slave[3999].edit_batches > 0);
        let topology = traces.topology();
        assert_eq!(topology.equal, Some(true), "{topology:?}");
        assert!(topology.edit_batches > Some(0), "{topology:?}");
    }
}

/// Environment whose tissue refuses one of the edit batches.
struct RefusingTissue {
    world: Box<dyn Environment>,
    number: u64,
}

impl Environment for RefusingTissue {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        self.world.step(probe, dt_s)
    }

    fn energy_j(&self) -> f64 {
        self.world.energy_j()
    }

    fn apply_batch(&mut self, batch: &EditBatch) -> bool {
        let mut batch = *batch;
        if batch.number == self.number {
            batch.changes[0].kind = u8::MAX;
        }
        self.world.apply_batch(&batch)
    }

    fn edits(&self) -> TissueEdits {
        self.world.edits()
    }
}

#[test]
fn issue_a_refused_edit_batch_was_retried_for_ever_and_blocked_later_ones() {
    let config = opening(Mode::Mmt, link(1000.0, 0.05));
    let world = RefusingTissue {
        world: lab::build_environment(&config).expect("a world"),
        number: 2,
    };
    let robot = palpate_slave::robot::build(&config.robot, Box::new(world), config.seed);
    let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let session = VirtualSession::with_devices(&config, hand, robot).expect("valid");
    let traces = run_session(session, |_, _| ());
    traces.check_promises("refused");
    let topology = traces.topology();
    let refused = (topology.edit_batches_refused, topology.first_refused);
    assert_eq!(refused, (Some(1), Some(2)), "reported once, by its number");
    assert!(topology.edit_batches_done > Some(2), "{topology:?}");
    assert_eq!(topology.edit_batches_done, topology.edit_batches);
    // the tissues differ, which is detected: instruments only press from then on
    assert_eq!(topology.equal, Some(false));
    assert!(topology.blunted_ticks > Some(500), "{topology:?}");
    let note = palpate_analysis::conclusion::topology_note(&topology).expect("instruments worked");
    let applied = topology.edit_batches_done.map_or(0, |done| done - 1);
    let counts =
        format!("{applied} applied to the remote tissue, 1 REFUSED, the first was batch 2;");
    assert!(note.contains(&counts), "{note}");
}

#[test]
fn different_and_uncuttable_tissues_are_only_pressed() {
    for (tissue, equal) in [
        (scene("opened-other"), Some(false)),
        ("wall:500".to_owned(), None),
    ] {
        let mut config = opening(Mode::Mmt, link(100.0, 0.0));
        config.tissue = tissue;
        let traces = run(&config);
        traces.check_promises(&config.tissue);
        let topology = traces.topology();
        assert_eq!((topology.edit_batches, topology.equal), (Some(0), equal));
        assert_eq!(topology.blunted_ticks, topology.instrument_ticks);
        assert!(topology.blunted_ticks > Some(500), "{topology:?}");
    }
}

#[test]
fn a_lump_that_the_twin_lacks_is_cut_too() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.05));
    config.tissue = scene("opened-lump");
    config.master.predict.update = true;
    let traces = run(&config);
    traces.check_promises("lump");
    traces.check_equal_tissues("lump");
}

#[test]
fn late_ticks_lose_no_edit_batch() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.05));
    config.realtime.fallback_share = 0.3;
    let traces = run(&config);
    traces.check_promises("late");
    let topology = traces.check_equal_tissues("late");
    assert!(topology.edit_batches > Some(20));
    let late_ticks = traces
        .master
        .iter()
        .filter(|r| r.events & EventFlags::DEADLINE_FALLBACK != 0);
    assert!(late_ticks.count() > 1000);
}

#[test]
fn a_recording_of_cutting_replays_bit_for_bit() {
    for mode in MODES {
        let config = opening(mode, worst());
        let traces = run(&config);
        let (recording, replayed) = traces.check_replay(&config, mode);
        let last = |records: &[TickRecord]| {
            records
                .last()
                .map(|record| (record.edit_batches, record.topology))
        };
        assert_eq!(last(&replayed.master), last(&recording.master));
        assert_eq!(last(&replayed.slave), last(&recording.slave));
    }
}

/// A blade that opens voxels, and a press into the cut.
const INCISION: &str = r#"
duration_s = 4.5
tissue = "linked-nodule"
twin = "linked-nodule"
master.predict.tool_radius_m = 0.004
operator.phantom.encoder_noise_m = 3e-5
robot.palpator.encoder_noise_m = 1e-5
[operator.script]
kind = "procedure"
tool_radius_m = 0.004
clearance_m = 0.002
speed_mps = 0.1
work_mps = 0.04
step = [
    { kind = "incise", path_m = [[-0.005, 0.0, 0.0], [0.012, 0.0, 0.0]], depth_m = 0.004 },
    { kind = "press", site_m = [0.003, 0.0], depth_m = 0.004, speed_mps = 0.04 },
]
"#;

/// A debt of the tank was repaid by a damping on the noise of the encoder, which made more debt.
#[test]
fn issue_repayment_on_encoder_noise_generated_energy() {
    for mode in [Mode::Pspm, Mode::Mmt, Mode::Auto] {
        let mut config = Config::parse(INCISION, "incision").expect("valid");
        config.coupling.mode = mode;
        let traces = run(&config);
        let verdict = audited(&traces.master, &traces.slave);
        let energies_j = verdict.min_channel_energy_per_axis_j;
        assert_eq!(verdict.violations, 0, "{mode:?}: {energies_j:?} J");
    }
}
