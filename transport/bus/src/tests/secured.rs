//! Secured sessions on loopback, and attacks on them.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use super::{WAIT, free_ports};
use crate::command::CommandError;
use crate::gate::RunEvidence;
use crate::keys::{HostKey, Keyring};
use crate::seal_agreement::tests::keyrings;
use crate::stream::FrameSubscription;
use crate::*;
use palpate_transport::clock::wall_now;
use palpate_transport::frame::HapticFrame;
use palpate_transport::msg::StringStamped;
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};

/// Wait for an answer that must not come.
const IN_VAIN: Span = Span(600_000_000);

fn config(side: Side, keyring: &Keyring, ports: (u16, u16)) -> BusConfig {
    let role = match side {
        Side::Master => ConnectionRole::Dial,
        Side::Slave => ConnectionRole::Listen,
    };
    BusConfig {
        keyring: Some(Arc::new(keyring.clone())),
        ..BusConfig::new(side, role, "127.0.0.1", ports.0, ports.1)
    }
}

/// Slave that listens, and master that sends its datagrams to another port if one is given.
fn pair(ports: (u16, u16), datagrams: Option<u16>, guests: &[HostKey]) -> [BusSession; 2] {
    let [master, mut slave] = keyrings(wall_now());
    slave.guests = guests
        .iter()
        .map(|guest| guest.certificate().clone())
        .collect();
    pair_of([&master, &slave], ports, datagrams)
}

fn pair_of(
    [master, slave]: [&Keyring; 2],
    ports: (u16, u16),
    datagrams: Option<u16>,
) -> [BusSession; 2] {
    let slave = BusSession::open(&config(Side::Slave, slave, ports)).expect("slave opens");
    let dialled = (datagrams.unwrap_or(ports.0), ports.1);
    let master = BusSession::open(&config(Side::Master, master, dialled)).expect("master opens");
    [master, slave]
}

/// Frames that arrive, by number.
fn numbers(session: &BusSession, sender: Side) -> (FrameSubscription, Receiver<u64>) {
    let (sender_of_numbers, numbers) = channel();
    let received = move |frame: &HapticFrame, _| {
        let _ = sender_of_numbers.send(frame.sequence);
    };
    let proven = || RunEvidence::Proven;
    let subscription =
        session.subscribe_frames(sender, Span(i64::MAX), || Time(0), proven, received);
    (subscription.expect("subscribes"), numbers)
}

fn frame(sequence: u64) -> HapticFrame {
    HapticFrame {
        run: 7,
        sequence,
        ..HapticFrame::default()
    }
}

/// Serves the terms of the slave, and sends those of the master.
fn agree(master: &BusSession, slave: &BusSession) -> command::CommandServer {
    let server = slave.serve_agreement("slave", |terms, _, _| Ok(format!("{terms} and back")));
    let server = server.expect("serves");
    let mut client = master.agreement_client("slave").expect("a good name");
    let reply = client.command("terms\nof two lines", Time(1), WAIT);
    assert_eq!(reply.expect("answered"), "terms\nof two lines and back");
    server
}

#[test]
fn sealed_frames_pass_both_ways_after_the_agreement() {
    let [master, slave] = pair(free_ports(), None, &[]);
    let [forward, back] = [(&master, Side::Master), (&slave, Side::Slave)]
        .map(|(session, side)| session.frame_publisher(side).expect("publishes"));
    assert!(forward.send_frame(&frame(1)).is_err(), "no key is agreed");
    assert!(!forward.wait_ready(Span(1)) && !back.wait_ready(Span(1)));
    let (_at_slave, to_slave) = numbers(&slave, Side::Master);
    let (_at_master, to_master) = numbers(&master, Side::Slave);
    let _server = agree(&master, &slave);
    assert_eq!(master.sealed_with().as_deref(), Some("robot"));
    assert!(forward.wait_ready(WAIT) && back.wait_ready(WAIT));
    assert_eq!(slave.sealed_with().as_deref(), Some("operator"));
    for number in 1..=3 {
        forward.send_frame(&frame(number)).expect("sends");
        back.send_frame(&frame(10 + number)).expect("sends");
        assert_eq!(to_slave.recv_timeout(duration(WAIT)), Ok(number));
        assert_eq!(to_master.recv_timeout(duration(WAIT)), Ok(10 + number));
    }
}

#[test]
fn restarted_listener_finds_the_other_side_again() {
    let keyrings = keyrings(wall_now());
    let ports = free_ports();
    let [master, slave] = pair_of([&keyrings[0], &keyrings[1]], ports, None);
    let forward = master.frame_publisher(Side::Master).expect("publishes");
    let _terms = master
        .serve_agreement("master", |_, _, _| Ok(String::new()))
        .expect("serves");
    let server = agree(&master, &slave);
    assert!(forward.wait_ready(WAIT));
    drop(server);
    slave.close().expect("closes");
    let slave = BusSession::open(&config(Side::Slave, &keyrings[1], ports)).expect("opens again");
    let back = slave.frame_publisher(Side::Slave).expect("publishes");
    let (_at_slave, to_slave) = numbers(&slave, Side::Master);
    let (_at_master, to_master) = numbers(&master, Side::Slave);
    let mut client = slave.agreement_client("master").expect("a good name");
    client.command("again", Time(1), WAIT).expect("answered");
    let arrived = wait_until(WAIT, || {
        let _ = forward.send_frame(&frame(5));
        let _ = back.send_frame(&frame(6));
        to_slave.try_recv().is_ok()
    });
    assert!(arrived, "master's frames under the new keys");
    assert_eq!(to_master.recv_timeout(duration(WAIT)), Ok(6));
}

/// Relay of datagrams to the slave, which keeps a copy of each.
fn wire_tap(slave: u16) -> (u16, Arc<Mutex<Vec<Vec<u8>>>>, UdpSocket) {
    let tap = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (port, copies) = (tap.local_addr().expect("bound").port(), Arc::default());
    let (socket, kept): (_, Arc<Mutex<Vec<Vec<u8>>>>) =
        (tap.try_clone().expect("a socket"), Arc::clone(&copies));
    std::thread::spawn(move || {
        let (mut master, mut buffer) = (None, [0; 2048]);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let bytes = &buffer[..length];
            if from.port() == slave {
                let _ = master.map(|master| socket.send_to(bytes, master));
                continue;
            }
            master = Some(from);
            kept.lock().expect("one thread").push(bytes.to_vec());
            let _ = socket.send_to(bytes, ("127.0.0.1", slave));
        }
    });
    (port, copies, tap)
}

#[test]
fn replayed_and_forged_datagrams_are_dropped() {
    let ports = free_ports();
    let (tap, copies, attacker) = wire_tap(ports.0);
    let [master, slave] = pair(ports, Some(tap), &[]);
    let forward = master.frame_publisher(Side::Master).expect("publishes");
    let (subscription, to_slave) = numbers(&slave, Side::Master);
    let _server = agree(&master, &slave);
    assert!(forward.wait_ready(WAIT));
    for number in 1..=20 {
        forward.send_frame(&frame(number)).expect("sends");
        assert_eq!(to_slave.recv_timeout(duration(WAIT)), Ok(number));
    }
    let recorded = copies.lock().expect("whole").clone();
    assert!(recorded.len() >= 20, "{}", recorded.len());
    // the same bytes, each with one bit changed, and a plain frame
    let mut plain = [0; palpate_transport::cdr::HAPTIC_FRAME_BYTES];
    palpate_transport::cdr::encode(&frame(99), &mut plain).expect("encoded");
    let mut hostile = recorded.clone();
    for (k, datagram) in recorded.iter().enumerate() {
        let mut changed = datagram.clone();
        let at = (k * 7) % changed.len();
        changed[at] ^= 1;
        hostile.push(changed);
    }
    hostile.extend([plain.to_vec(), Vec::new(), vec![0xff; 1400]]);
    for datagram in &hostile {
        attacker
            .send_to(datagram, ("127.0.0.1", ports.0))
            .expect("sends");
    }
    let frames = recorded
        .iter()
        .filter(|datagram| datagram.len() > 60)
        .count() as u64;
    let settled = wait_until(WAIT, || {
        let counts = subscription.counts();
        counts.duplicate >= frames && counts.unopened >= recorded.len() as u64 + 3
    });
    assert!(settled, "{:?}", subscription.counts());
    assert_eq!(subscription.counts().admitted, 20);
    assert!(to_slave.try_recv().is_err());
    // the session goes on, and its answers go to the master still
    forward.send_frame(&frame(21)).expect("sends");
    assert_eq!(to_slave.recv_timeout(duration(WAIT)), Ok(21));
}

#[test]
fn strangers_that_speak_zenoh_are_refused() {
    let ports = free_ports();
    let [master, slave] = pair(ports, None, &[]);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let _server = slave.serve_commands("slave", move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok("done".to_owned())
    });
    // without keys, over each kind of link
    for endpoint in [
        format!("udp/127.0.0.1:{}", ports.0),
        format!("tcp/127.0.0.1:{}", ports.1),
    ] {
        let text = format!(
            "{{ mode: 'peer', connect: {{ endpoints: ['{endpoint}'], timeout_ms: 500, exit_on_failure: true }},
                listen: {{ endpoints: [] }},
                scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }} }}"
        );
        let plain = zenoh::Config::from_json5(&text).expect("a configuration");
        assert!(
            zenoh::open(plain).wait().is_err(),
            "{endpoint} took a stranger"
        );
    }
    // with keys that the slave does not trust, one of them of a trusted name
    let [impostor, _] = keyrings(wall_now());
    let stranger = Keyring {
        own: HostKey::generate("stranger", wall_now()).expect("made"),
        ..impostor.clone()
    };
    let robot = slave
        .sealed
        .as_ref()
        .map(|link| link.keyring().own.certificate().clone());
    for mut keyring in [impostor, stranger] {
        // it trusts the slave, so that only the slave can refuse
        keyring.peers = robot.iter().cloned().collect();
        let opened = BusSession::open(&BusConfig {
            connect_timeout: IN_VAIN,
            ..config(Side::Master, &keyring, ports)
        });
        // TLS 1.3 lets the dialling side believe for a moment that it was accepted
        if let Ok(session) = opened {
            let mut client = session.command_client("slave").expect("a good name");
            let reply = client.command("enable", Time(1), IN_VAIN);
            assert!(
                matches!(reply, Err(CommandError::Unanswered { .. })),
                "{reply:?}"
            );
        }
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let mut client = master.command_client("slave").expect("a good name");
    assert_eq!(
        client.command("enable", Time(1), WAIT).expect("answered"),
        "done"
    );
}

#[test]
fn guest_may_look_and_not_command() {
    let ports = free_ports();
    let [master, mut robot] = keyrings(wall_now());
    let viewer = robot.own.issue("viewer", wall_now()).expect("issued");
    robot.guests = vec![viewer.certificate().clone()];
    let [master, slave] = pair_of([&master, &robot], ports, None);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let _server = slave.serve_commands("slave", move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok("done".to_owned())
    });
    let _terms = slave.serve_agreement("slave", |_, _, _| Ok(String::new()));
    let guest = BusSession::open(&config(
        Side::Master,
        &Keyring {
            own: viewer,
            peers: vec![robot.own.certificate().clone()],
            only: std::collections::BTreeMap::new(),
            guests: Vec::new(),
        },
        ports,
    ))
    .expect("a guest is accepted");
    let (sender, words) = channel();
    let sender = Mutex::new(sender);
    let _words = guest
        .subscribe("palpate/slave/word", move |word: StringStamped, _| {
            let _ = sender.lock().expect("one thread").send(word.string);
        })
        .expect("subscribes");
    let mut publisher = slave.publisher("palpate/slave/word").expect("publishes");
    assert!(publisher.wait_ready(WAIT));
    let word = StringStamped {
        string: "seen".to_owned(),
        ..StringStamped::default()
    };
    publisher.publish(&word, Time(1)).expect("open");
    assert_eq!(words.recv_timeout(duration(WAIT)).as_deref(), Ok("seen"));
    let mut command = guest.command_client("slave").expect("a good name");
    let refused = command.command("enable", Time(1), IN_VAIN);
    assert!(
        matches!(refused, Err(CommandError::Unanswered { .. })),
        "{refused:?}"
    );
    let mut terms = guest.agreement_client("slave").expect("a good name");
    let refused = terms.command("terms", Time(1), IN_VAIN);
    assert!(
        matches!(refused, Err(CommandError::Unanswered { .. })),
        "{refused:?}"
    );
    let mut topic = guest
        .publisher::<StringStamped>("palpate/slave/state_command")
        .expect("publishes");
    topic.publish(&word, Time(2)).expect("open");
    let mut client = master.command_client("slave").expect("a good name");
    assert_eq!(
        client.command("enable", Time(1), WAIT).expect("answered"),
        "done"
    );
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn host_that_is_trusted_as_one_side_is_refused_as_the_other() {
    let ports = free_ports();
    let [master, mut robot] = keyrings(wall_now());
    robot.only.insert("operator".to_owned(), Side::Master);
    let [master, slave] = pair_of([&master, &robot], ports, None);
    let (sender, words) = channel();
    let mut subscriptions = Vec::new();
    for side in ["master", "slave"] {
        let sender = Mutex::new(sender.clone());
        let topic = format!("palpate/{side}/word");
        let subscription = slave.subscribe(&topic, move |word: StringStamped, _| {
            let _ = sender.lock().expect("one thread").send(word.string);
        });
        subscriptions.push(subscription.expect("subscribes"));
    }
    for side in ["slave", "master"] {
        let topic = format!("palpate/{side}/word");
        let mut publisher = master.publisher(&topic).expect("publishes");
        assert!(publisher.wait_ready(WAIT), "{side}");
        let string = side.to_owned();
        let word = StringStamped {
            string,
            ..StringStamped::default()
        };
        publisher.publish(&word, Time(1)).expect("open");
    }
    assert_eq!(words.recv_timeout(duration(WAIT)).as_deref(), Ok("master"));
    assert!(words.recv_timeout(duration(IN_VAIN)).is_err());
    // it agrees as the master
    let _terms = slave.serve_agreement("slave", |_, _, host| Ok(host.unwrap_or("").to_owned()));
    let mut terms = master.agreement_client("slave").expect("a good name");
    let reply = terms.command("terms", Time(1), WAIT);
    assert_eq!(reply.expect("answered"), "operator");
}

#[test]
fn keys_without_a_peer_are_refused() {
    let [mut alone, _] = keyrings(wall_now());
    alone.peers.clear();
    let error = BusSession::open(&config(Side::Slave, &alone, free_ports())).err();
    assert!(matches!(error, Some(BusError::Keyring(_))), "{error:?}");
}
