//! Tests of faulty devices: NaN in a reading must not reach the operator, the tissue or the bus.

use palpate_master::device::{self, Handle, HandleCaps};
use palpate_session::audit::{PortTraces, audit};
use palpate_session::config::Config;
use palpate_session::lab::{VirtualSession, build_robot};
use palpate_slave::robot::{self, Robot};
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{EventFlags, TickRecord};
use palpate_transport::{Axes, Span, Time};

/// Time from which a device is faulty, in the middle of a press.
const FROM: Time = Time(3_500_000_000);

struct FaultyHandle(Box<dyn Handle>);

impl Handle for FaultyHandle {
    fn caps(&self) -> HandleCaps {
        self.0.caps()
    }

    fn read(&mut self, now: Time) -> device::HandleReading {
        let mut reading = self.0.read(now);
        if now >= FROM {
            reading.position_m[2] = f64::NAN;
        }
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.0.write(force_on_hand_n);
    }
}

struct FaultyRobot(Box<dyn Robot>);

impl Robot for FaultyRobot {
    fn read(&mut self, now: Time) -> robot::RobotReading {
        let mut reading = self.0.read(now);
        if now >= FROM {
            reading.velocity_mps[0] = f64::NAN;
            reading.contact_force_n[2] = f64::INFINITY;
        }
        reading
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.0.write(force_n, closed);
    }
}

/// Coupling, twin and tissue: springs with each coupling, and the default of a session.
const SESSIONS: [(Mode, &str, &str); 7] = [
    (Mode::Wave, "sheet", "sheet-lump"),
    (Mode::Tdpa, "sheet", "sheet-lump"),
    (Mode::WaveTdpa, "sheet", "sheet-lump"),
    (Mode::Tank, "sheet", "sheet-lump"),
    (Mode::Pspm, "sheet", "sheet-lump"),
    (Mode::Mmt, "sheet", "sheet-lump"),
    (Mode::Mmt, "layered", "layered-lump"),
];

/// Returns both traces of a session with a faulty device from [`FROM`] on.
fn session(
    (mode, twin, tissue): (Mode, &str, &str),
    handle_is_faulty: bool,
) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let mut config = Config {
        duration_s: 5.0,
        twin: twin.into(),
        tissue: tissue.into(),
        ..Config::default()
    };
    config.coupling.mode = mode;
    let handle = device::build(&config.operator, config.duration_s, config.seed);
    let robot = build_robot(&config).expect("built in");
    let mut session = if handle_is_faulty {
        VirtualSession::with_devices(&config, Box::new(FaultyHandle(handle)), robot)
    } else {
        VirtualSession::with_devices(&config, handle, Box::new(FaultyRobot(robot)))
    }
    .expect("valid");
    let steps = (0..session.ticks()).map(|_| session.step());
    steps.map(|step| (step.master, step.slave)).unzip()
}

fn check_passive(master: &[TickRecord], slave: &[TickRecord]) {
    let slave_clock_ahead = Span(0);
    let ports = PortTraces {
        master,
        slave,
        slave_clock_ahead,
    };
    let verdict = audit(&ports, 1);
    assert_eq!((verdict.violations, verdict.unpaired_records), (0, 0));
    for record in master.iter().chain(slave) {
        let numbers = record.port_force_n.iter().chain(&record.port_position_m);
        assert!(numbers.copied().all(f64::is_finite), "tick {}", record.tick);
    }
}

fn faulty(record: &TickRecord) -> bool {
    record.events & EventFlags::INVALID_READING != 0
}

#[test]
fn a_handle_with_nan_latches_a_fading_force() {
    for kind in SESSIONS {
        let (master, slave) = session(kind, true);
        check_passive(&master, &slave);
        let (before, after): (Vec<_>, Vec<_>) =
            master.iter().partition(|record| record.now_ns < FROM.0);
        assert!(!before.into_iter().any(faulty) && after.iter().all(|record| faulty(record)));
        let last_n = after.last().expect("records").port_force_n;
        assert!(last_n.iter().all(|n| n.abs() < 1e-3), "{last_n:?}");
        // the fault is transmitted: the robot is released
        assert_ne!(slave.last().expect("records").state, 1, "not enabled");
    }
}

#[test]
fn a_robot_with_nan_stops_in_fault() {
    for kind in SESSIONS {
        let (master, slave) = session(kind, false);
        check_passive(&master, &slave);
        let after = slave.iter().filter(|record| record.now_ns >= FROM.0);
        let mut after = after.peekable();
        assert!(after.peek().is_some());
        for record in after {
            assert!(faulty(record) && record.state == 3, "tick {}", record.tick);
        }
        let limit_n = Config::default().master.guard.force_n_max;
        for record in &master {
            let within = (0..4).all(|a| record.port_force_n[a].abs() <= limit_n[a]);
            assert!(within, "tick {}", record.tick);
        }
    }
}
