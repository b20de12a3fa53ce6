//! Whole live sessions as a user starts them: processes, network, Ctrl-C, and a side that dies.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn start(out: &Path, port: u16, duration_s: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["run", "-q", "--duration", duration_s, "--out"])
        .arg(out)
        .arg("--set")
        .arg(format!("network.port={port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// Processes whose parent is `parent`, with their command lines.
fn children(parent: u32) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // a process may end while it is looked at
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if status.contains(&format!("\nPPid:\t{parent}\n")) {
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            found.push((pid, line.replace('\0', " ")));
        }
    }
    found
}

/// Wait until both sides have been started and have run for a moment.
fn both_sides(run: u32) -> Vec<(i32, String)> {
    for _ in 0..300 {
        let sides = children(run);
        if sides.len() == 2 {
            std::thread::sleep(Duration::from_secs(3));
            return sides;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no two sides within 15 s");
}

fn is_alive(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}

fn end(child: Child) -> (Output, String) {
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, stderr)
}

fn holds_nothing_but_results(folder: &Path) {
    for name in [
        "summary.json",
        "recording.mcap",
        "report.html",
        "config.toml",
    ] {
        let length = std::fs::metadata(folder.join(name)).map(|file| file.len());
        assert!(length.is_ok_and(|length| length > 0), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 4);
}

fn summary(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_session_over_the_link_is_passive_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, stderr) = end(start(folder.path(), 7511, "3"));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    holds_nothing_but_results(folder.path());
    let summary = summary(folder.path());
    assert_eq!(summary["passivity"]["violations"], 0, "{summary}");
    assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    assert_eq!(summary["servo"]["records_lost"], 0, "{summary}");
    assert!(summary["ticks"].as_u64() > Some(2500), "{summary}");
}

#[test]
fn ctrl_c_ends_a_session_with_its_files_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = start(folder.path(), 7521, "60");
    let sides = both_sides(run.id());
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let (output, stderr) = end(run);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    holds_nothing_but_results(folder.path());
    assert!(sides.iter().all(|(pid, _)| !is_alive(*pid)));
}

#[test]
fn a_killed_side_ends_the_session_by_name_and_leaves_no_process() {
    for (index, side) in ["slave", "master"].into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = start(folder.path(), 7531 + 10 * index as u16, "60");
        let sides = both_sides(run.id());
        let of_side = |(_, line): &&(i32, String)| line.contains(&format!(" {side} "));
        let (pid, _) = sides.iter().find(of_side).expect("both run");
        kill(Pid::from_raw(*pid), Signal::SIGKILL).expect("it runs");
        let (output, stderr) = end(run);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("the {side} ended")), "{stderr}");
        holds_nothing_but_results(folder.path());
        let summary = summary(folder.path());
        assert_eq!(summary["ending"], "side_lost");
        let checks = summary["checks"].as_array().expect("checks").iter();
        let of = |check: &&serde_json::Value| check["name"] == format!("the {side} ran to the end");
        let found: Vec<_> = checks.filter(of).map(|check| &check["held"]).collect();
        assert_eq!(found, [false]);
        assert_eq!(
            summary["passivity"]["violations"], 0,
            "what was recorded is judged"
        );
        let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
        assert!(page.contains(&format!("the {side} ended before")), "{side}");
        assert!(sides.iter().all(|(pid, _)| !is_alive(*pid)), "{side}");
    }
}

/// One side alone on loopback, as on its own host.
fn start_side(side: &str, reach: &str, port: u16, out: &Path) -> Child {
    let (udp, tcp) = (port, port + 1);
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args([side, "-q", "--duration", "6", "--out"])
        .arg(out)
        .args([reach, &format!("udp/127.0.0.1:{udp}")])
        .args([reach, &format!("tcp/127.0.0.1:{tcp}")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// Noise at both ports for two seconds: datagrams of every length, and streams that say nothing.
fn shout(port: u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut noise = [0_u8; 1400];
    for round in 0..400_usize {
        for (k, byte) in noise.iter_mut().enumerate() {
            *byte = (round * 167 + k * 71 + (k * round) / 7) as u8;
        }
        let length = round * 37 % noise.len();
        // a port that refuses is as good as one that ignores
        let _ = socket.send_to(&noise[..length], ("127.0.0.1", port));
        if round % 40 == 0
            && let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port + 1))
        {
            let _ = stream.write_all(&noise);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn garbage_at_the_ports_of_the_bus_disturbs_no_session() {
    let (near, far) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("one"),
    );
    let port = 7561;
    let slave = start_side("slave", "--listen", port, far.path());
    let master = start_side("master", "--connect", port, near.path());
    std::thread::sleep(Duration::from_secs(2));
    shout(port);
    for (child, folder) in [(master, near.path()), (slave, far.path())] {
        let (output, stderr) = end(child);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let summary = summary(folder);
        assert_eq!(
            summary["safety"]["faults"].as_array().map(Vec::len),
            Some(0),
            "{summary}"
        );
        let checks = summary["checks"].as_array().expect("checks");
        assert!(
            checks.iter().all(|check| check["held"] == true),
            "{summary}"
        );
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:7572").expect("free");
    let (output, stderr) = end(start_side("slave", "--listen", 7571, folder.path()));
    drop(taken);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("7572"), "{stderr}");
}
