//! Tests of sessions that drive a tissue fast and far: it goes on, or its side reports a fault and goes on after it.

use palpate_analysis::metrics::{self, SessionFacts, Tally, Traces};
use palpate_analysis::summary::SafetySummary;
use palpate_master::device::{Handle, HandleCaps, HandleReading};
use palpate_session::audit::{PortTraces, audit};
use palpate_session::config::Config;
use palpate_session::lab::{VirtualSession, build_robot};
use palpate_session::run::clocked::{ClockedSession as _, TickCommands};
use palpate_slave::robot::{Environment, Robot, RobotReading};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{EventFlags, TickRecord};
use palpate_transport::{Axes, Span, Time};

/// Corners of a path: time \[s\] and place \[mm\], at rest before the first and after the last.
type Path = &'static [(f64, [f64; 3])];

/// Waits for the robot in the corner of issue 19, plunges diagonally, leaves, and presses slowly at the middle.
const PLUNGE: Path = &[
    (0.5, [-20.0, -20.0, 8.0]),
    (0.52, [20.0, 10.0, -8.0]),
    (0.9, [20.0, 10.0, -8.0]),
    (1.3, [20.0, 10.0, 25.0]),
    (1.6, [0.0, 0.0, 25.0]),
    (1.9, [0.0, 0.0, 8.0]),
    (2.1, [0.0, 0.0, 4.0]),
];

/// The same without the plunge.
const SLOW: Path = &[
    (0.5, [-20.0, -20.0, 8.0]),
    (1.3, [20.0, 10.0, 25.0]),
    (1.6, [0.0, 0.0, 25.0]),
    (1.9, [0.0, 0.0, 8.0]),
    (2.1, [0.0, 0.0, 4.0]),
];

/// Handle that a motor moves along a path.
struct DrivenHandle(Path);

impl Handle for DrivenHandle {
    fn caps(&self) -> HandleCaps {
        HandleCaps {
            mass_kg_min: [0.1; 4],
            force_timeout_s: Some(2e-3),
            ..HandleCaps::default()
        }
    }

    fn read(&mut self, now: Time) -> HandleReading {
        let at_s = (now - Time(0)).s();
        let mut place_mm = self.0[0].1;
        for pair in self.0.windows(2) {
            let [(from_s, from_mm), (to_s, to_mm)] = [pair[0], pair[1]];
            let share = ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0);
            if share > 0.0 {
                place_mm =
                    [0, 1, 2].map(|axis| from_mm[axis] + share * (to_mm[axis] - from_mm[axis]));
            }
        }
        let [x, y, z] = place_mm.map(|mm| 1e-3 * mm);
        HandleReading {
            position_m: [x, y, z, 0.02],
            present: true,
            ..HandleReading::default()
        }
    }

    fn write(&mut self, _: &Axes) {}
}

/// Robot whose tissue collapses at a reading.
struct CollapsingRobot(Box<dyn Robot>, u64);

impl Robot for CollapsingRobot {
    fn read(&mut self, now: Time) -> RobotReading {
        self.1 = self.1.wrapping_sub(1);
        let reading = self.0.read(now);
        RobotReading {
            tissue_collapsed: reading.tissue_collapsed || self.1 == 0,
            ..reading
        }
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.0.write(force_n, closed);
    }

    fn environment(&mut self) -> Option<&mut dyn Environment> {
        self.0.environment()
    }
}

type Both = (Vec<TickRecord>, Vec<TickRecord>);

/// Runs a session along a path; faults are cleared in the air, at 1.4 s.
fn run(config: &Config, path: Path) -> Both {
    run_with(config, path, build_robot(config).expect("built in"))
}

fn run_with(config: &Config, path: Path, robot: Box<dyn Robot>) -> Both {
    let handle = Box::new(DrivenHandle(path));
    let mut session = VirtualSession::with_devices(config, handle, robot).expect("valid");
    let ticks = (2.3 / PERIOD.s()).round() as u64;
    let steps = (0..ticks).map(|tick| {
        let commands = TickCommands {
            rearm: [tick == 1400; 2],
            ..TickCommands::default()
        };
        let (master, slave) = session.tick(&commands);
        let slave = slave.expect("a session of both");
        (master.snapshot.record, slave.snapshot.record)
    });
    steps.unzip()
}

fn is_collapsed(record: &TickRecord) -> bool {
    record.events & EventFlags::TISSUE_COLLAPSED != 0
}

fn safety_of((master, slave): &Both) -> SafetySummary {
    let ports = PortTraces {
        master,
        slave,
        slave_clock_ahead: Span(0),
    };
    let (traces, facts) = (Traces { master, slave }, SessionFacts::default());
    let tally = Tally::of(&traces);
    metrics::measure(&traces, &audit(&ports, 1), &tally, &facts).safety
}

/// Mean force along z of the last tenth of a second \[N\].
fn pressed_n(records: &[TickRecord]) -> f64 {
    let last = &records[records.len() - 100..];
    last.iter()
        .map(|record| record.tissue_force_n[2])
        .sum::<f64>()
        / 100.0
}

/// Compares the last press with that of a session without the plunge.
fn check_lives_on(config: &Config, of: fn(Both) -> Vec<TickRecord>) {
    let traces = run(config, PLUNGE);
    let safety = safety_of(&traces);
    let all = || traces.0.iter().chain(&traces.1);
    for record in all() {
        let mut numbers = record.port_force_n.iter().chain(&record.tissue_force_n);
        assert!(numbers.all(|x| x.is_finite()));
        assert!(record.port_position_m.iter().all(|x| x.is_finite()));
        assert!(record.tissue_energy_j.is_finite());
        assert!(!is_collapsed(record) || record.state == 3);
    }
    let any = all().any(is_collapsed);
    assert_eq!(safety.tissue_rebuilds > Some(0), any, "{safety:?}");
    assert_eq!(safety.faults.is_empty(), !any, "{safety:?}");
    let plunged_n = pressed_n(&of(traces));
    let fresh_n = pressed_n(&of(run(config, SLOW)));
    println!("{plunged_n} N after the plunge, {fresh_n} N without; {safety:?}");
    assert!(fresh_n > 0.2, "{fresh_n} N");
    assert!(
        (plunged_n / fresh_n - 1.0).abs() < 0.1,
        "{plunged_n} {fresh_n}"
    );
}

fn config(mode: Mode, twin: &str, tissue: &str) -> Config {
    let mut config = Config {
        duration_s: 2.3,
        twin: twin.into(),
        tissue: tissue.into(),
        ..Config::default()
    };
    config.coupling.mode = mode;
    config
}

#[test]
fn issue_19_a_fast_diagonal_drive_left_the_remote_tissue_dead() {
    for tissue in ["layered", "sheet-lump"] {
        check_lives_on(&config(Mode::Direct, "flat-sheet", tissue), |both| both.1);
    }
}

#[test]
fn issue_19_a_fast_diagonal_drive_left_the_twin_dead() {
    check_lives_on(&config(Mode::Mmt, "layered", "free"), |both| both.0);
}

/// The whole way of a collapse: event, state, name in the summary, no force, and recovery by command.
#[test]
fn issue_19_a_collapse_was_no_fault_of_its_side() {
    let config = config(Mode::Mmt, "layered", "layered");
    let inner = build_robot(&config).expect("built in");
    let robot = Box::new(CollapsingRobot(inner, 1000));
    let both = run_with(&config, SLOW, robot);
    let slave = &both.1;
    let first = slave.iter().position(is_collapsed).expect("it collapses");
    assert_eq!(first, 999);
    assert!(
        slave[first..1400]
            .iter()
            .all(|r| is_collapsed(r) && r.state == 3)
    );
    assert!(!slave[1402..].iter().any(is_collapsed));
    assert_eq!(slave[slave.len() - 1].state, 1);
    let safety = safety_of(&both);
    let expected = "slave: tissue collapsed and rebuilt at tick 999";
    assert_eq!(safety.faults, [expected], "{safety:?}");
    assert_eq!(safety.tissue_rebuilds, Some(1));
    assert!(pressed_n(slave) > 0.2);
}
