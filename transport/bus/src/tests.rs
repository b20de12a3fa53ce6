//! Two sessions on loopback, each test on its own ports.

mod secured;

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use super::command::CommandError;
use super::device::DeviceView;
use super::gate::{RunEvidence, SenderClock};
use super::*;
use palpate_transport::Time;
use palpate_transport::frame::HapticFrame;
use palpate_transport::msg::crtk::{CrtkCommand, OperatingState};
use palpate_transport::msg::{OperatingStateReport, StringStamped, WrenchStamped};
use palpate_transport::trace::Side;

/// Longest wait for an event that a running machine delivers.
const WAIT: Span = Span(60_000_000_000);

/// Address on which tests claim ports, used for nothing else.
const CLAIMS: Ipv4Addr = Ipv4Addr::new(127, 66, 66, 66);

/// A port that is free for UDP and TCP and that no other test takes until this process ends; below the ports that
/// Linux assigns by itself.
fn free_ports() -> (u16, u16) {
    static NEXT_PORT: AtomicU16 = AtomicU16::new(0);
    let begin = (std::process::id() * 97 % 5000) as u16;
    for _ in 0..5000 {
        let port = 10_000 + (begin + NEXT_PORT.fetch_add(1, Ordering::Relaxed)) % 5000;
        let Ok(reservation) = UdpSocket::bind((CLAIMS, port)) else {
            continue;
        };
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port));
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if udp.is_ok() && tcp.is_ok() {
            std::mem::forget(reservation);
            return (port, port);
        }
    }
    panic!("no port is free from 10000 to 14999");
}

fn pair() -> (BusSession, BusSession) {
    let (udp, tcp) = free_ports();
    let slave = BusSession::open(&BusConfig::new(
        Side::Slave,
        ConnectionRole::Listen,
        "127.0.0.1",
        udp,
        tcp,
    ));
    let master = BusSession::open(&BusConfig::new(
        Side::Master,
        ConnectionRole::Dial,
        "127.0.0.1",
        udp,
        tcp,
    ));
    (slave.expect("slave opens"), master.expect("master opens"))
}

#[test]
fn frames_arrive_once_in_order_and_garbage_is_counted() {
    let (slave, master) = pair();
    let clock = Arc::new(AtomicI64::new(0));
    let now = Arc::clone(&clock);
    let (sender, frames) = channel();
    let sender = Mutex::new(sender);
    let subscription = slave
        .subscribe_frames(
            Side::Master,
            Span::from_ms(100.0),
            move || Time(now.load(Ordering::Relaxed)),
            || RunEvidence::Proven,
            move |frame, received| {
                let _ = sender.lock().expect("one thread").send((*frame, received));
            },
        )
        .expect("subscribes");
    let publisher = master.frame_publisher(Side::Master).expect("publishes");
    assert!(publisher.wait_ready(WAIT));
    clock.store(7_000_000, Ordering::Relaxed);
    subscription.set_sender_clock(SenderClock {
        run: 0,
        offset: Span(0),
        bound: Span(0),
    });
    let numbers = [
        (1, 0),
        (2, 1),
        (2, 1),
        (1, 0),
        (5, 4),
        (6, -200_000_000),
        (0, 9),
    ];
    for (sequence, sent_ns) in numbers {
        let frame = HapticFrame {
            sequence,
            sent_ns,
            ..HapticFrame::default()
        };
        publisher.send_frame(&frame).expect("sends");
    }
    let key = master.frame_key(Side::Master).expect("good key");
    master
        .zenoh
        .put(key, &b"not a frame"[..])
        .wait()
        .expect("puts");
    let last = HapticFrame {
        sequence: 7,
        sent_ns: 8,
        ..HapticFrame::default()
    };
    publisher.send_frame(&last).expect("sends");
    let settled = wait_until(WAIT, || {
        let counts = subscription.counts();
        counts.admitted == 4 && counts.rejected == 2
    });
    assert!(settled, "{:?}", subscription.counts());
    let received: Vec<_> = frames.try_iter().collect();
    let order: Vec<_> = received.iter().map(|(frame, _)| frame.sequence).collect();
    assert_eq!(order, [1, 2, 5, 7]);
    assert!(
        received
            .iter()
            .all(|(_, received)| *received == Time(7_000_000))
    );
    let counts = subscription.counts();
    assert_eq!(
        (counts.duplicate, counts.late, counts.stale, counts.restarts),
        (1, 1, 1, 0)
    );
}

#[test]
fn commands_run_once_and_refusals_give_a_reason() {
    let (slave, master) = pair();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let mut state = OperatingState::Disabled;
    let server = slave
        .serve_commands("slave", move |command, _| {
            count.fetch_add(1, Ordering::Relaxed);
            let command = command
                .parse::<CrtkCommand>()
                .map_err(|error| error.to_string())?;
            state = state
                .after_command(command, true)
                .map_err(|error| error.to_string())?;
            Ok(state.name().to_owned())
        })
        .expect("serves");
    let mut client = master.command_client("slave").expect("good name");
    assert_eq!(
        client.command("enable", Time(1), WAIT).expect("answered"),
        "ENABLED"
    );
    assert_eq!(
        client.command("pause", Time(2), WAIT).expect("answered"),
        "PAUSED"
    );
    let refusal = client
        .command("enable", Time(3), WAIT)
        .expect_err("refused");
    assert!(
        refusal
            .to_string()
            .ends_with("enable refused in PAUSED: use resume"),
        "{refusal}"
    );
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    // The same number again: a reply, no execution.
    client.repeat_from(2);
    assert_eq!(
        client.command("pause", Time(2), WAIT).expect("answered"),
        "PAUSED"
    );
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    drop(server);
    let error = client.command("enable", Time(4), Span::from_ms(300.0));
    assert!(
        matches!(error, Err(CommandError::Unanswered { attempts: 2, .. })),
        "{error:?}"
    );
}

#[test]
fn crtk_topics_carry_state_and_force_and_take_commands() {
    let (slave, master) = pair();
    let (sender, states) = channel();
    let sender = Mutex::new(sender);
    let _states = master
        .subscribe(
            "palpate/slave/operating_state",
            move |report: OperatingStateReport, _| {
                let _ = sender.lock().expect("one thread").send(report);
            },
        )
        .expect("subscribes");
    let (sender, forces) = channel();
    let sender = Mutex::new(sender);
    let _forces = master
        .subscribe(
            "palpate/slave/measured_cf",
            move |force: WrenchStamped, attachment| {
                let _ = sender.lock().expect("one thread").send((force, attachment));
            },
        )
        .expect("subscribes");
    let mut device = slave.device_publisher("slave").expect("publishes");
    let view = DeviceView {
        force_n: Some([1.0, 2.0, 3.0, 4.0]),
        state: OperatingState::Enabled,
        stamp: Time(7_000_000_000),
        ..DeviceView::default()
    };
    let mut published = 0;
    let arrived = wait_until(WAIT, || forces_waiting(&slave) >= 2);
    assert!(arrived);
    for tick in 1..=50 {
        published += usize::from(device.publish(&view, Time(tick * 1_000_000)).expect("open"));
    }
    assert_eq!(published, 3, "at 1, 21 and 41 ms");
    let report = states.recv_timeout(duration(WAIT)).expect("a state");
    assert_eq!(report.state, "ENABLED");
    assert_eq!(report.header.stamp, Time(7_000_000_000).into());
    let (force, attachment) = forces.recv_timeout(duration(WAIT)).expect("a force");
    assert_eq!(
        force.wrench.force,
        palpate_transport::msg::Vector3 {
            x: 1.0,
            y: 2.0,
            z: 3.0
        }
    );
    assert_eq!(
        attachment.map(|attachment| attachment.source_ns),
        Some(7_000_000_000)
    );

    let (sender, commands) = channel();
    let _server = slave
        .serve_commands("slave", move |command, _| {
            let _ = sender.send(command.to_owned());
            Ok(String::new())
        })
        .expect("serves");
    let mut topic = master
        .publisher("palpate/slave/state_command")
        .expect("publishes");
    assert!(topic.wait_ready(WAIT));
    let word = StringStamped {
        string: "resume".to_owned(),
        ..StringStamped::default()
    };
    topic.publish(&word, Time(5)).expect("open");
    assert_eq!(
        commands.recv_timeout(duration(WAIT)).as_deref(),
        Ok("resume")
    );
}

/// Number of endpoints of the other side that this session has discovered.
fn forces_waiting(session: &BusSession) -> usize {
    let tokens = session
        .zenoh
        .liveliness()
        .get("@ros2_lv/0/*/*/*/MS/**")
        .wait();
    tokens.map(|replies| replies.iter().count()).unwrap_or(0)
}

#[test]
fn nodes_appear_and_leave() {
    let (slave, master) = pair();
    let announcement = slave.announce().expect("announces");
    let (sender, changes) = channel();
    let sender = Mutex::new(sender);
    let _watch = master
        .watch(move |token, alive| {
            let _ = sender
                .lock()
                .expect("one thread")
                .send((token.node.clone(), alive));
        })
        .expect("watches");
    // the listening side is a router
    let slave_found = || slave.zenoh.info().peers_zid().wait().count() > 0;
    let master_found = || master.zenoh.info().routers_zid().wait().count() > 0;
    assert!(wait_until(WAIT, slave_found) && wait_until(WAIT, master_found));
    assert_eq!(
        changes.recv_timeout(duration(WAIT)),
        Ok(("slave".to_owned(), true))
    );
    drop(announcement);
    assert_eq!(
        changes.recv_timeout(duration(WAIT)),
        Ok(("slave".to_owned(), false))
    );
}

#[test]
fn a_taken_port_is_named() {
    for scheme in ["udp", "tcp"] {
        let (udp, tcp) = free_ports();
        let taken_udp = UdpSocket::bind(("127.0.0.1", udp)).expect("still free");
        let taken_tcp = TcpListener::bind(("127.0.0.1", tcp)).expect("still free");
        if scheme == "tcp" {
            drop(taken_udp);
        } else {
            drop(taken_tcp);
        }
        let config = BusConfig::new(Side::Slave, ConnectionRole::Listen, "127.0.0.1", udp, tcp);
        let Err(BusError::PortTaken { endpoint }) = BusSession::open(&config) else {
            panic!("{scheme} port was free");
        };
        assert!(endpoint.starts_with(scheme), "{endpoint}");
    }
}

#[test]
fn unreachable_peer_is_reported_in_time() {
    let (udp, tcp) = free_ports();
    let config = BusConfig {
        connect_timeout: Span::from_ms(400.0),
        ..BusConfig::new(Side::Master, ConnectionRole::Dial, "127.0.0.1", udp, tcp)
    };
    let error = BusSession::open(&config).err().expect("nobody listens");
    assert!(matches!(error, BusError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("within 400 ms"), "{error}");
}

#[test]
fn bad_configurations_name_the_field() {
    let good = BusConfig::new(Side::Master, ConnectionRole::Dial, "127.0.0.1", 7447, 7448);
    assert!(good.validate().is_ok());
    let field = |config: BusConfig| match config.validate() {
        Err(BusError::Config(error)) => error.field.replace("session.", ""),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        field(BusConfig {
            udp: "udp/localhost".to_owned(),
            ..good.clone()
        }),
        "udp"
    );
    assert_eq!(
        field(BusConfig {
            udp: "tcp/a:1".to_owned(),
            ..good.clone()
        }),
        "udp"
    );
    assert_eq!(
        field(BusConfig {
            tcp: "tcp/\"]:1".to_owned(),
            ..good.clone()
        }),
        "tcp"
    );
    let never = BusConfig {
        connect_timeout: Span(-1),
        ..good
    };
    assert_eq!(field(never), "connect_timeout");
}

#[test]
fn third_sessions_of_every_mode_see_the_topics_of_both_sides() {
    let (udp, tcp) = free_ports();
    let open = |side, role| {
        let config = BusConfig::new(side, role, "127.0.0.1", udp, tcp);
        BusSession::open(&config).expect("opens")
    };
    let sides = [
        ("slave", open(Side::Slave, ConnectionRole::Listen)),
        ("master", open(Side::Master, ConnectionRole::Dial)),
    ];
    let mut publishers = sides
        .each_ref()
        .map(|(name, session)| session.device_publisher(name).expect("a name"));
    for mode in ["client", "peer", "router"] {
        // as a foreign program connects: zenoh's defaults, without scouting
        let text = format!(
            "{{ mode: '{mode}', connect: {{ endpoints: ['tcp/127.0.0.1:{tcp}'] }}, listen: {{ endpoints: [] }},
                scouting: {{ multicast: {{ enabled: false }} }} }}"
        );
        let config = zenoh::Config::from_json5(&text).expect("a configuration");
        let third = zenoh::open(config).wait().expect("the slave listens");
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&seen);
        let _subscriber = third
            .declare_subscriber("**/palpate/*/measured_cp/**")
            .callback(move |sample| {
                sink.lock()
                    .expect("whole")
                    .push(sample.key_expr().to_string())
            })
            .wait()
            .expect("subscribes");
        let mut at = Time(0);
        let found = (0..400).any(|_| {
            at = at + Span::from_ms(50.0);
            for publisher in &mut publishers {
                publisher.publish(&DeviceView::default(), at).expect("open");
            }
            std::thread::sleep(duration(Span::from_ms(50.0)));
            let seen = seen.lock().expect("whole");
            let sees = |name: &str| seen.iter().any(|key| key.contains(name));
            sees("slave") && sees("master")
        });
        assert!(found, "{mode}: {:?}", seen.lock().expect("whole"));
    }
}
