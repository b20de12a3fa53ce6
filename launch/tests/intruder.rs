//! Attacks on a session without keys: an intruder at the ports of the slave, and a second master.

mod load_monitor;
mod ports;
mod sides;

use std::sync::{Arc, Mutex};

use palpate_bus::gate::RunEvidence;
use palpate_bus::{BusConfig, BusSession, ConnectionRole};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span, Time};

use load_monitor::{PATIENCE, wait_for};
use ports::Ports;
use sides::{LoadMonitors, end_sides, side, slave};

/// Longest wait for a reply on the bus.
const ANSWER: Span = Span(PATIENCE.as_nanos() as i64);

/// A session at the ports of a running one, as any program can open it.
fn intruder(ports: &Ports) -> BusSession {
    let (datagrams, streams) = (ports.datagrams(), ports.streams());
    BusSession::open(&BusConfig {
        connect_timeout: ANSWER,
        ..BusConfig::new(
            Side::Master,
            ConnectionRole::Dial,
            "127.0.0.1",
            datagrams,
            streams,
        )
    })
    .expect("the slave listens")
}

/// An intruder without keys forged frames of the master's run, sent one of a new run, and set a paused robot in motion.
/// Its first two attacks moved the robot or retired the master, with exit 0.
#[test]
fn issue_20_an_intruder_without_keys_took_the_robot() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let machine = LoadMonitors::start();
    let mut slave = slave(&slave_out, &ports, &[]);
    let master = side("master", &master_out, &ports, &["--until-stopped"]);
    let intruder = intruder(&ports);
    let newest: Arc<Mutex<Option<HapticFrame>>> = Arc::default();
    let seen = Arc::clone(&newest);
    let _frames = intruder
        .subscribe_frames(
            Side::Slave,
            Span(i64::MAX),
            || Time(0),
            || RunEvidence::Proven,
            move |frame, _| *seen.lock().expect("whole") = Some(*frame),
        )
        .expect("subscribes");
    let publisher = intruder.frame_publisher(Side::Master).expect("publishes");
    assert!(publisher.wait_ready(ANSWER));
    slave.records_until("a running session", |it| it.slave.len() > 1000);
    let from_slave = wait_for("a frame of the slave", || *newest.lock().expect("whole"));
    let forged = |run, sequence| HapticFrame {
        run,
        peer_run: from_slave.run,
        sequence,
        flags: FrameFlags::ENGAGED,
        impedance_nspm: 10.0,
        position_m: [0.05; 4],
        energy_sent_j: [1e5; 4],
        ..HapticFrame::default()
    };
    for k in 0..240 {
        for frame in [
            // the run of the true master is in every frame of the slave
            forged(from_slave.peer_run, u64::MAX - 240 + k),
            forged(from_slave.peer_run, from_slave.sequence + k),
            forged(0xBAD, k + 1),
        ] {
            publisher.send_frame(&frame).expect("sends");
        }
    }
    let mut own = intruder.command_client("slave").expect("a name");
    let refused = own.command("enable", Time(1), ANSWER).expect_err("enabled");
    assert!(refused.to_string().contains("enable"), "{refused}");
    // the session goes on with the true master
    let ticks = slave
        .records_until("ticks", |it| !it.slave.is_empty())
        .slave
        .len();
    let later = slave.records_until("a later session", |it| it.slave.len() > ticks + 1500);
    let enabled = later
        .slave
        .iter()
        .rev()
        .take(500)
        .filter(|record| record.state == 1)
        .count();
    assert!(enabled > 400, "enabled in {enabled} of the last 500 ticks");
    let _ended = end_sides(master, slave, machine);
}

#[test]
fn issue_20_a_second_master_took_the_robot() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [first, second, slave_out] =
        ["first", "second", "slave"].map(|name| folder.path().join(name));
    let machine = LoadMonitors::start();
    let mut slave = slave(&slave_out, &ports, &[]);
    let master = side("master", &first, &ports, &["--until-stopped"]);
    slave.records_until("a running session", |it| it.slave.len() > 500);
    let refused = side("master", &second, &ports, &["--until-stopped"]).end();
    let words = &refused.stderr;
    assert_eq!(refused.code, Some(3), "{words}");
    assert!(
        words.contains("belongs to") && words.contains("process"),
        "{words}"
    );
    let _ended = end_sides(master, slave, machine);
}
