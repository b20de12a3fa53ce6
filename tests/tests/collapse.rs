//! Tests of sessions that drive a tissue fast and far: it lives on, or its side reports a fault and goes on after it.

use palpate_analysis::metrics::{self, SessionFacts, Tally, Traces};
use palpate_master::device::{Handle, HandleCaps, HandleReading};
use palpate_session::audit::{PortTraces, audit};
use palpate_session::config::Config;
use palpate_session::lab::{VirtualSession, build_robot};
use palpate_session::run::clocked::{ClockedSession as _, TickCommands};
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
    (2.1, [0.0, 0.0, 5.0]),
];

/// The same without the plunge.
const SLOW: Path = &[
    (0.5, [-20.0, -20.0, 8.0]),
    (1.3, [20.0, 10.0, 25.0]),
    (1.6, [0.0, 0.0, 25.0]),
    (1.9, [0.0, 0.0, 8.0]),
    (2.1, [0.0, 0.0, 5.0]),
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

/// Runs a session along a path; faults are cleared in the air, at 1.4 s.
fn run(config: &Config, path: Path) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let robot = build_robot(config).expect("built in");
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

/// Mean force along z of the last tenth of a second \[N\].
fn pressed_n(records: &[TickRecord]) -> f64 {
    let last = &records[records.len() - 100..];
    last.iter()
        .map(|record| record.tissue_force_n[2])
        .sum::<f64>()
        / 100.0
}

/// Compares the last press with that of a session without the plunge.
fn check_lives_on(config: &Config, of: fn((Vec<TickRecord>, Vec<TickRecord>)) -> Vec<TickRecord>) {
    let traces = run(config, PLUNGE);
    let (master, slave) = (&traces.0, &traces.1);
    let ports = PortTraces {
        master,
        slave,
        slave_clock_ahead: Span(0),
    };
    let (traces_of_both, facts) = (Traces { master, slave }, SessionFacts::default());
    let tally = Tally::of(&traces_of_both);
    let safety = metrics::measure(&traces_of_both, &audit(&ports, 1), &tally, &facts).safety;
    let collapsed = |r: &TickRecord| r.events & EventFlags::TISSUE_COLLAPSED != 0;
    for record in master.iter().chain(slave) {
        let numbers = record.port_force_n.iter().chain(&record.tissue_force_n);
        assert!(
            numbers
                .chain(&record.port_position_m)
                .all(|x| x.is_finite())
        );
        assert!(record.tissue_energy_j.is_finite());
        assert!(!collapsed(record) || record.state == 3);
    }
    let any = master.iter().chain(slave).any(collapsed);
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
