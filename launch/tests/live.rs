//! Whole live sessions as a user starts them: processes, network, Ctrl-C, and a side that dies.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_bus::{Role, Session, SessionConfig};
use palpate_session::config::Config;
use palpate_transport::msg::{OperatingStateReport, PoseStamped, StringStamped, WrenchStamped};
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};

fn start(out: &Path, port: u16, duration_s: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["run", "-q", "--tissue", "sheet-lump", "--twin", "sheet"])
        .args(["--duration", duration_s, "--out"])
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

/// Checks that a machine breaks which gives no ticks: a robot whose controller sleeps holds its place only
/// after the time that its drive waits, and swings back from there.
const CLOCK: [&str; 2] = ["share of the ticks missed", "motion while not enabled"];

/// A session that was done and whose checks held, but for ticks that a busy machine did not give.
fn assert_held(output: &Output, stderr: &str, folder: &Path) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{code:?} {stderr}");
    let summary = self::summary(folder);
    let missed = summary["servo"]["missed_ticks"].as_u64();
    let excused = |check: &serde_json::Value| {
        missed > Some(0) && CLOCK.iter().any(|name| check["name"] == *name)
    };
    let checks = summary["checks"].as_array().expect("checks");
    let broken = checks.iter().filter(|check| check["held"] == false);
    let ours: Vec<_> = broken.filter(|check| !excused(check)).collect();
    assert!(!checks.is_empty() && ours.is_empty(), "{ours:?} {stderr}");
}

#[test]
fn a_session_over_the_link_is_passive_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, stderr) = end(start(folder.path(), 7511, "3"));
    assert_held(&output, &stderr, folder.path());
    holds_nothing_but_results(folder.path());
    let summary = summary(folder.path());
    assert_eq!(summary["passivity"]["violations"], 0, "{summary}");
    assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    assert_eq!(summary["servo"]["records_lost"], 0, "{summary}");
    assert!(summary["ticks"].as_u64() > Some(2500), "{summary}");
}

#[test]
fn both_processes_end_with_the_same_tissue_when_the_operator_opens_it() {
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenes");
    for (index, mode) in ["mmt", "wave"].into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let tissue = format!("{scenes}/opened.toml");
        let run = Command::new(env!("CARGO_BIN_EXE_palpate"))
            .args(["run", "-q", "--config", &format!("{scenes}/opening.toml")])
            .args(["--tissue", &tissue, "--twin", &tissue, "--mode", mode])
            .args([
                "--rtt-ms",
                "100",
                "--loss",
                "0.1",
                "--duration",
                "10",
                "--out",
            ])
            .arg(folder.path())
            .args(["--set", &format!("network.port={}", 7631 + 10 * index)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (output, stderr) = end(run);
        assert_held(&output, &stderr, folder.path());
        let summary = summary(folder.path());
        let topology = &summary["topology"];
        assert_eq!(topology["equal"], true, "{topology}");
        assert!(topology["strokes"].as_u64() > Some(20), "{topology}");
        assert!(topology["links_cut"].as_i64() > Some(20), "{topology}");
        assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    }
}

#[test]
fn a_live_trial_runs_its_rows_as_sessions_and_says_so() {
    let root = tempfile::tempdir().expect("a folder");
    let (file, out) = (root.path().join("live.toml"), root.path().join("out"));
    let trial = "clock = \"live\"\n[base]\nduration_s = 3.0\ntissue = \"sheet-lump\"\ntwin = \"sheet\"\n\
                 network.port = 7611\n[grid]\nmode = [\"wave\"]\n";
    std::fs::write(&file, trial).expect("writable");
    let palpate = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
        command.arg("trial").arg(&file).arg("-q").args(more);
        command.arg("--out").arg(&out).output().expect("it starts")
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = palpate(&["--jobs", "2"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--jobs 2") && !out.exists());
    let output = palpate(&[]);
    let row = out.join("live/row-000000");
    assert_held(&output, &said(&output), &row);
    holds_nothing_but_results(&row);
    let table = std::fs::read_to_string(out.join("trials.csv")).expect("a table");
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    let of = |name: &str| {
        let place = lines[0].iter().position(|column| *column == name);
        lines[1][place.expect(name)]
    };
    assert_eq!((lines.len(), of("clock"), of("mode")), (2, "live", "wave"));
    for name in ["late_ticks", "missed_share"] {
        let known = of(name).parse::<f64>();
        assert!(known.is_ok_and(|value| value >= 0.0), "{name}: {table}");
    }
    assert_eq!(of("violations"), "0", "{table}");
    // a finished row is not run again
    let before = summary(&row);
    let output = palpate(&[]);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", said(&output));
    assert_eq!(summary(&row), before);
}

#[test]
fn ctrl_c_ends_a_session_with_its_files_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = start(folder.path(), 7521, "60");
    let sides = both_sides(run.id());
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let (output, stderr) = end(run);
    assert_held(&output, &stderr, folder.path());
    assert_eq!(summary(folder.path())["ending"], "interrupted");
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
        // what was recorded is judged, if a slow machine came to record any of both
        let passivity = &summary["passivity"];
        assert!(
            passivity["instants"] == 0 || passivity["violations"] == 0,
            "{passivity}"
        );
        let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
        assert!(page.contains(&format!("the {side} ended before")), "{side}");
        assert!(sides.iter().all(|(pid, _)| !is_alive(*pid)), "{side}");
    }
}

/// A process that dies with the test, also with one that fails.
struct Leashed(Option<Child>);

impl Leashed {
    fn id(&self) -> u32 {
        self.0.as_ref().expect("not ended yet").id()
    }

    fn interrupt(&self) {
        kill(Pid::from_raw(self.id().cast_signed()), Signal::SIGINT).expect("it runs");
    }

    fn end(mut self) -> (Output, String) {
        end(self.0.take().expect("not ended yet"))
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // it may have ended by itself
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// One side alone on loopback.
fn start_side(side: &str, out: &Path, port: u16, more: &[&str]) -> Leashed {
    let child = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args([side, "-q", "--out"])
        .arg(out)
        .arg("--set")
        .arg(format!("network.port={port}"))
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    Leashed(Some(child))
}

#[test]
fn sides_that_do_not_agree_both_refuse_and_name_the_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let (master, slave) = (folder.path().join("master"), folder.path().join("slave"));
    let slave = start_side("slave", &slave, 7561, &["--until-stopped"]);
    std::thread::sleep(Duration::from_millis(500));
    let master = start_side("master", &master, 7561, &["--impedance", "20"]);
    for (child, values) in [
        (master, "20.0 here and 10.0"),
        (slave, "10.0 here and 20.0"),
    ] {
        let (output, stderr) = child.end();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("coupling.impedance_nspm"), "{stderr}");
        assert!(stderr.contains(values), "{stderr}");
    }
}

#[test]
fn a_codec_that_one_side_wants_is_used_by_both_and_two_demands_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let slave = start_side("slave", &slave_out, 7611, &["--until-stopped"]);
    std::thread::sleep(Duration::from_millis(500));
    let wish = ["--duration", "3", "--codec", "deadband"];
    let master = start_side("master", &master_out, 7611, &wish);
    let (_, stderr) = master.end();
    assert!(!stderr.contains("codec"), "it has what it wanted: {stderr}");
    slave.interrupt();
    let (_, stderr) = slave.end();
    assert!(stderr.contains("the other side wants one"), "{stderr}");
    for out in [&master_out, &slave_out] {
        let records = records(out);
        let ran = Config::parse(&records.config.expect("a configuration"), "recorded");
        assert!(ran.expect("good").codec.is_on());
        let shown = std::fs::read_to_string(out.join("config.toml")).expect("written");
        assert!(shown.contains("kind = \"deadband\""), "{shown}");
    }
    let demand = |k: &str| {
        let set = ["codec.kind=deadband", "codec.demanded=true", k];
        set.map(|set| ["--set".to_owned(), set.to_owned()]).concat()
    };
    let sides = [("slave", "codec.weber=0.2"), ("master", "codec.weber=0.1")];
    let started = sides.map(|(side, k)| {
        let flags = demand(k);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let out = folder.path().join(format!("refused-{side}"));
        let child = start_side(side, &out, 7621, &flags);
        std::thread::sleep(Duration::from_millis(500));
        child
    });
    for child in started {
        let (output, stderr) = child.end();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("codec.weber differs"), "{stderr}");
    }
}

/// Records of one side's recording.
fn records(folder: &Path) -> palpate_session::record::Recording {
    palpate_session::record::read(&folder.join("recording.mcap")).expect("a recording")
}

#[test]
fn a_killed_slave_that_is_started_again_is_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let [master_out, first, second] =
        ["master", "first", "second"].map(|name| folder.path().join(name));
    let slave = start_side("slave", &first, 7571, &["--until-stopped"]);
    std::thread::sleep(Duration::from_millis(500));
    let master = start_side("master", &master_out, 7571, &["--duration", "14"]);
    std::thread::sleep(Duration::from_secs(4));
    drop(slave);
    std::thread::sleep(Duration::from_secs(1));
    let slave = start_side("slave", &second, 7571, &["--until-stopped"]);
    let (output, stderr) = master.end();
    assert_held(&output, &stderr, &master_out);
    slave.interrupt();
    let (output, stderr) = slave.end();
    assert_held(&output, &stderr, &second);
    let (master, slave) = (records(&master_out).master, records(&second).slave);
    let last = master.last().expect("records");
    // taken back: what came last is of the second run, which numbers its frames anew
    let sent = slave.len() as u64;
    assert!(
        (1000..=sent).contains(&last.received_sequence),
        "of the {sent} frames of the second run: {}",
        last.received_sequence
    );
    let engaged = slave.iter().filter(|record| record.state == 1).count();
    assert!(
        engaged > 1000,
        "engaged in {engaged} of {} ticks",
        slave.len()
    );
    let text = std::fs::read_to_string(master_out.join("side.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["bus"]["received"]["restarts"], 1, "{text}");
    assert!(report["bus"]["peer_losses"].as_u64() >= Some(1), "{text}");
}

#[test]
fn a_killed_master_that_is_started_again_is_told_what_the_tissue_has_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let [slave_out, first, second] =
        ["slave", "first", "second"].map(|name| folder.path().join(name));
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenes");
    let [config, tissue] = ["opening", "opened"].map(|name| format!("{scenes}/{name}.toml"));
    let both = ["--config", &config, "--tissue", &tissue, "--twin", &tissue];
    let with = |more: &[&'static str]| [&both, more].concat();
    let slave = start_side("slave", &slave_out, 7581, &with(&["--until-stopped"]));
    std::thread::sleep(Duration::from_millis(500));
    let master = start_side("master", &first, 7581, &with(&["--duration", "30"]));
    std::thread::sleep(Duration::from_secs(7));
    drop(master);
    std::thread::sleep(Duration::from_secs(1));
    // too short to come to the cut itself: what it has in the end it was told
    let master = start_side("master", &second, 7581, &with(&["--duration", "4"]));
    let (output, stderr) = master.end();
    assert_held(&output, &stderr, &second);
    slave.interrupt();
    let (output, stderr) = slave.end();
    assert_held(&output, &stderr, &slave_out);
    let (told, tissue) = (records(&second), records(&slave_out).slave);
    let (master, slave) = (told.master.last(), tissue.last());
    let [master, slave] = [master, slave].map(|record| record.expect("records"));
    let begun = tissue.iter().map(|record| record.strokes).max();
    assert!(begun > Some(0), "the first master cut nothing");
    assert_eq!(
        master.strokes, slave.strokes,
        "{} was to be told",
        slave.strokes
    );
    assert_eq!(master.topology, slave.topology);
    assert_eq!(told.strokes.len() as u64, master.strokes, "and is recorded");
    let summary = summary(&second);
    assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
}

/// Wait until `found` gives something, at most 10 s.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1000 {
        if let Some(value) = found() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no {what} within 10 s");
}

#[test]
fn a_third_party_sees_the_state_and_commands_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let slave = start_side("slave", &slave_out, 7581, &["--until-stopped"]);
    std::thread::sleep(Duration::from_millis(500));
    let master = start_side("master", &master_out, 7581, &["--until-stopped"]);
    let watcher = Session::open(&SessionConfig {
        node: "watcher".to_owned(),
        ..SessionConfig::new(Side::Master, Role::Dial, "127.0.0.1", 7581, 7582)
    })
    .expect("the slave listens");
    let seen = Arc::new(Mutex::new((String::new(), 0, 0)));
    let (of_state, of_pose, of_force) = (seen.clone(), seen.clone(), seen.clone());
    let _states = watcher
        .subscribe(
            "palpate/slave/operating_state",
            move |report: OperatingStateReport, _| {
                of_state.lock().expect("whole").0 = report.state;
            },
        )
        .expect("subscribes");
    let _poses = watcher
        .subscribe("palpate/slave/measured_cp", move |_: PoseStamped, _| {
            of_pose.lock().expect("whole").1 += 1;
        })
        .expect("subscribes");
    let _forces = watcher
        .subscribe("palpate/slave/measured_cf", move |_: WrenchStamped, _| {
            of_force.lock().expect("whole").2 += 1;
        })
        .expect("subscribes");
    let is = |state: &str| (seen.lock().expect("whole").0 == state).then_some(());
    wait_for("ENABLED", || is("ENABLED"));
    let mut commands = watcher.command_client("slave").expect("a name");
    let mut ask = |word: &str| commands.command(word, Time(1), Span::from_s(5.0));
    assert_eq!(ask("pause").expect("taken"), "PAUSED");
    wait_for("PAUSED", || is("PAUSED"));
    let refused = ask("enable").expect_err("paused").to_string();
    assert!(refused.contains("use resume"), "{refused}");
    let mut topic = watcher
        .publisher::<StringStamped>("palpate/slave/state_command")
        .expect("publishes");
    assert!(topic.wait_ready(Span::from_s(5.0)));
    let word = StringStamped {
        string: "resume".to_owned(),
        ..StringStamped::default()
    };
    topic.publish(&word, Time(2)).expect("open");
    wait_for("ENABLED again", || is("ENABLED"));
    wait_for("50 Hz of measurements", || {
        let seen = seen.lock().expect("whole");
        (seen.1 > 25 && seen.2 > 25).then_some(())
    });
    for (side, out) in [(master, &master_out), (slave, &slave_out)] {
        side.interrupt();
        let (output, stderr) = side.end();
        assert_held(&output, &stderr, out);
    }
    let slave = records(&slave_out).slave;
    let held = slave.iter().filter(|record| record.state != 1).count();
    assert!(held > 0 && slave.last().is_some(), "{held}");
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
    let port = 7591;
    let slave = start_side("slave", far.path(), port, &["--duration", "6"]);
    let master = start_side("master", near.path(), port, &["--duration", "6"]);
    std::thread::sleep(Duration::from_secs(2));
    shout(port);
    for (child, folder) in [(master, near.path()), (slave, far.path())] {
        let (output, stderr) = child.end();
        assert_held(&output, &stderr, folder);
        let summary = summary(folder);
        assert_eq!(
            summary["safety"]["faults"].as_array().map(Vec::len),
            Some(0),
            "{summary}"
        );
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:7602").expect("free");
    let (output, stderr) = start_side("slave", folder.path(), 7601, &["--duration", "6"]).end();
    drop(taken);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("7602"), "{stderr}");
}
