//! Tests of secured sessions: keys by command, both sides, refusals, and a revocation while a session runs.

mod load_monitor;
mod ports;
mod sides;

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;

use ports::Ports;
use sides::{LoadMonitors, palpate, side, slave};

/// Runs `palpate keys`; returns its exit status with both outputs.
fn keys(words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    let output = command.arg("keys").args(words).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

fn made(words: &[&str]) -> String {
    let (code, text) = keys(words);
    assert_eq!(code, Some(0), "{text}");
    text
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Folders of keys of two hosts that trust each other, made by command.
fn hosts(root: &Path) -> [String; 2] {
    let folders = ["operator", "robot"].map(|name| text(&root.join(name)).to_owned());
    for (folder, name) in folders.iter().zip(["operator", "robot"]) {
        made(&["new", folder, "--name", name]);
    }
    let [operator, robot] = &folders;
    let near = made(&["trust", operator, &format!("{robot}/host.pem")]);
    let far = made(&["trust", robot, &format!("{operator}/host.pem")]);
    // both show the same two fingerprints
    let prints = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("trusted") || line.starts_with("this host"));
        let mut prints: Vec<String> = lines.map(|line| line[28..].to_owned()).collect();
        prints.sort();
        prints
    };
    assert_eq!(prints(&near).len(), 2, "{near}");
    assert_eq!(prints(&near), prints(&far));
    folders
}

/// Attacker in the path of the datagrams to the slave: it passes each on, and after every tenth sends the last ten
/// again, one of them changed. Returns its port.
fn replaying_relay(slave: u16) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = socket.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let (mut master, mut kept, mut buffer) = (None, Vec::new(), [0; 2048]);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let bytes = &mut buffer[..length];
            if from.port() == slave {
                let _ = master.map(|master| socket.send_to(bytes, master));
                continue;
            }
            master = Some(from);
            let to_slave = |bytes: &[u8]| {
                let _ = socket.send_to(bytes, ("127.0.0.1", slave));
            };
            to_slave(bytes);
            kept.push(bytes.to_vec());
            if kept.len() == 10 {
                kept.drain(..).for_each(|copy: Vec<u8>| to_slave(&copy));
                bytes[length / 2] ^= 1;
                to_slave(bytes);
            }
        }
    });
    port
}

#[test]
fn sides_with_keys_run_sealed_while_an_attacker_replays() {
    let (root, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [operator, robot] = hosts(root.path());
    let [near, far, wrong] = ["near", "far", "wrong"].map(|name| root.path().join(name));
    let machine = LoadMonitors::start();
    let slave = slave(&far, &ports, &["--secure", &robot]);
    // a master without keys
    let stranger = side("master", &wrong, &ports, &["--duration", "1"]);
    let (relay, streams) = (replaying_relay(ports.datagrams()), ports.streams());
    let endpoints = format!("udp/127.0.0.1:{relay},tls/127.0.0.1:{streams}");
    let through_it = [
        "--secure",
        &operator,
        "--connect",
        &endpoints,
        "--duration",
        "3",
    ];
    let master = side("master", &near, &ports, &through_it);
    let ended = master.end();
    slave.interrupt();
    let also = slave.end();
    let machine = machine.finish();
    ended.assert_passed(&machine);
    also.assert_passed(&machine);
    for summary in [ended.summary(), also.summary()] {
        assert_eq!(summary["link"]["secured"], true, "{summary}");
        assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    }
    let report = std::fs::read_to_string(far.join("side.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let received = &report["bus"]["received"];
    assert!(received["duplicate"].as_u64() > Some(500), "{received}");
    assert!(received["unopened"].as_u64() > Some(50), "{received}");
    let stranger = stranger.end();
    assert_eq!(stranger.code, Some(3), "{}", stranger.stderr);
}

#[test]
fn revocation_cuts_a_running_session() {
    let (root, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [operator, robot] = hosts(root.path());
    let [near, far] = ["near", "far"].map(|name| root.path().join(name));
    let slave = slave(&far, &ports, &["--secure", &robot]);
    let until_stopped = ["--secure", &operator, "--until-stopped"];
    let mut master = side("master", &near, &ports, &until_stopped);
    master.records_until("a second", |recording| recording.master.len() >= 1000);
    let said = made(&["revoke", &robot, "operator"]);
    assert!(said.contains("operator is no longer trusted"), "{said}");
    let ended = slave.end();
    assert!(
        ended.stderr.contains("the key of operator was revoked"),
        "{}",
        ended.stderr
    );
    let faults = ended.summary()["safety"]["faults"].to_string();
    assert!(faults.contains("operator was revoked"), "{faults}");
    master.interrupt();
    master.end();
    // and it does not start again
    let again = side(
        "slave",
        &far.with_extension("again"),
        &ports,
        &["--secure", &robot],
    )
    .end();
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(
        again.stderr.contains("no peer is trusted"),
        "{}",
        again.stderr
    );
}

#[test]
fn endpoints_beyond_the_host_need_keys() {
    let root = tempfile::tempdir().expect("a folder");
    let words = [
        "slave",
        "-q",
        "--listen",
        "udp/0.0.0.0:7447,tcp/0.0.0.0:7448",
    ];
    let refused = palpate(&words, &root.path().join("out")).end();
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for part in [
        "--listen",
        "palpate keys new",
        "palpate keys trust",
        "--insecure",
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert!(!root.path().join("out").exists());
}
