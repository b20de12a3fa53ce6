//! Tests of whole live sessions: processes, network, Ctrl-C, and a side that dies.

mod load_monitor;
mod ports;
mod sides;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_bus::{BusConfig, BusSession, ConnectionRole};
use palpate_session::config::Config;
use palpate_session::record::Recording;
use palpate_transport::msg::{OperatingStateReport, PoseStamped, StringStamped, WrenchStamped};
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};

use load_monitor::{PATIENCE, wait_for};
use ports::Ports;
use sides::{
    LoadMonitors, assert_complete, assert_passed, end_sides, palpate, records, session, side, slave,
};

fn is_alive(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}

#[test]
fn live_session_is_passive_and_leaves_nothing_behind() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let machine = LoadMonitors::start();
    let ended = session(folder.path(), &ports, &["--duration", "3"]).end();
    ended.assert_passed(&machine.finish());
    ended.assert_complete();
    let summary = ended.summary();
    assert_eq!(summary["passivity"]["violations"], 0, "{summary}");
    assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    assert_eq!(summary["servo"]["records_lost"], 0, "{summary}");
    assert_eq!(summary["link"]["secured"], true, "{summary}");
    // missed ticks do not count, so a slow machine takes longer
    assert!(summary["ticks"].as_u64() > Some(2500), "{summary}");
}

#[test]
fn both_sides_end_with_the_same_topology() {
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenes");
    let [config, tissue] = ["opening", "opened"].map(|name| format!("{scenes}/{name}.toml"));
    for mode in ["mmt", "wave"] {
        let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
        let network = ["--set", &ports.set(), "--rtt-ms", "100", "--loss", "0.1"];
        let scene = ["--config", &config, "--tissue", &tissue, "--twin", &tissue];
        let coupling = ["--mode", mode, "--duration", "10", "--console-port", "0"];
        let words = [&["run", "-q"][..], &scene, &network, &coupling].concat();
        let machine = LoadMonitors::start();
        let ended = palpate(&words, folder.path()).end();
        ended.assert_passed(&machine.finish());
        let summary = ended.summary();
        let topology = &summary["topology"];
        assert_eq!(topology["equal"], true, "{topology}");
        assert!(topology["edit_batches"].as_u64() > Some(20), "{topology}");
        assert!(topology["links_cut"].as_i64() > Some(20), "{topology}");
        assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
    }
}

#[test]
fn live_trial_runs_its_rows_as_live_sessions() {
    let (root, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let (file, out) = (root.path().join("live.toml"), root.path().join("out"));
    let trial = format!(
        "clock = \"live\"\n[base]\nduration_s = 3.0\ntissue = \"sheet-lump\"\ntwin = \"sheet\"\n\
         network.port = {}\n[grid]\nmode = [\"wave\"]\n",
        ports.datagrams()
    );
    std::fs::write(&file, trial).expect("writable");
    let palpate = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
        command.arg("trial").arg(&file).arg("-q").args(more);
        command.arg("--out").arg(&out).output().expect("it starts")
    };
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = palpate(&["--jobs", "2"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--jobs 2") && !out.exists());
    let machine = LoadMonitors::start();
    let output = palpate(&[]);
    let row = out.join("live/row-000000");
    assert_passed(
        output.status.code(),
        &row,
        &machine.finish(),
        &stderr(&output),
    );
    assert_complete(&row);
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
    let before = sides::summary(&row);
    let output = palpate(&[]);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(sides::summary(&row), before);
}

#[test]
fn ctrl_c_ends_a_session_with_complete_files() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let machine = LoadMonitors::start();
    let mut run = session(folder.path(), &ports, &["--duration", "600"]);
    run.wait_until_running();
    let sides = run.children();
    assert_eq!(sides.len(), 2, "{sides:?}");
    run.interrupt();
    let ended = run.end();
    ended.assert_passed(&machine.finish());
    assert_eq!(ended.summary()["ending"], "interrupted");
    ended.assert_complete();
    assert!(sides.iter().all(|(pid, _)| !is_alive(*pid)));
}

#[test]
fn ctrl_c_ends_a_side_without_a_peer() {
    for name in ["master", "slave"] {
        let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
        let child = side(name, folder.path(), &ports, &[]);
        wait_for("side that catches Ctrl-C", || {
            child.catches(Signal::SIGINT).then_some(())
        });
        std::thread::sleep(Duration::from_millis(500));
        child.interrupt();
        let ended = child.end();
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains("the other side"), "{}", ended.stderr);
    }
}

#[test]
fn killed_side_ends_the_session_and_is_named() {
    for side in ["slave", "master"] {
        let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
        let mut run = session(folder.path(), &ports, &["--duration", "600"]);
        run.wait_until_running();
        let sides = run.children();
        let of_side = |(_, line): &&(i32, String)| line.contains(&format!(" {side} "));
        let (pid, _) = sides.iter().find(of_side).expect("both run");
        kill(Pid::from_raw(*pid), Signal::SIGKILL).expect("it runs");
        let ended = run.end();
        let stderr = &ended.stderr;
        assert_eq!(ended.code, Some(1), "{stderr}");
        assert!(stderr.contains(&format!("the {side} ended")), "{stderr}");
        ended.assert_complete();
        let summary = ended.summary();
        assert_eq!(summary["ending"], "side_lost");
        let checks = summary["checks"].as_array().expect("checks").iter();
        let of = |check: &&serde_json::Value| check["name"] == format!("the {side} ran to the end");
        let found: Vec<_> = checks.filter(of).map(|check| &check["held"]).collect();
        assert_eq!(found, [false]);
        // the recorded part is judged
        let passivity = &summary["passivity"];
        assert!(passivity["instants"].as_u64() > Some(0), "{passivity}");
        assert_eq!(passivity["violations"], 0, "{passivity}");
        let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
        assert!(page.contains(&format!("the {side} ended before")), "{side}");
        assert!(sides.iter().all(|(pid, _)| !is_alive(*pid)), "{side}");
    }
}

#[test]
fn full_disk_ends_the_recording_and_not_the_session() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let slave = sides::slave(&slave_out, &ports, &[]);
    // files of this size are what the side may write: a write beyond it fails
    let limited = format!(
        "trap '' XFSZ; ulimit -f 2000; exec {} master -q --no-console --duration 6 \
         --tissue sheet-lump --twin sheet --set {} --out {}",
        env!("CARGO_BIN_EXE_palpate"),
        ports.set(),
        master_out.display()
    );
    let output = Command::new("sh").args(["-c", &limited]).output();
    let output = output.expect("a shell");
    slave.interrupt();
    let other = slave.end();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let (summary, recording) = (sides::summary(&master_out), records(&master_out));
    let faults = summary["safety"]["faults"].to_string();
    let cause = "recording ended early: writing the recording: File too large";
    assert!(faults.contains(cause), "{faults}");
    let text = std::fs::read_to_string(master_out.join("side.json"));
    let report: serde_json::Value = serde_json::from_str(&text.expect("a report")).expect("JSON");
    let (ticks, kept) = (
        report["servo"]["ticks"].as_u64(),
        recording.master.len() as u64,
    );
    assert!(ticks > Some(5000) && kept > 1000, "{ticks:?} {kept}");
    // what is lost is counted, and the check fails
    let lost = summary["servo"]["records_lost"].as_u64();
    assert_eq!(lost.map(|lost| lost + kept), ticks, "{summary}");
    assert_eq!(failed_checks(&summary), ["records lost"], "{summary}");
    // the other side received all frames
    assert!(other.summary()["link"]["frames_used_fwd"].as_u64() > Some(4000));
}

/// Names of the checks of a summary that did not hold, but those that only a loaded machine breaks.
fn failed_checks(summary: &serde_json::Value) -> Vec<&str> {
    let checks = summary["checks"].as_array().expect("checks").iter();
    let failed = checks.filter(|check| check["held"] == false);
    let names = failed.map(|check| check["name"].as_str().expect("a name"));
    names
        .filter(|name| !["share of the ticks missed", "limit cycles"].contains(name))
        .collect()
}

#[test]
fn disagreeing_sides_refuse_and_name_the_field() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [master, slave] = ["master", "slave"].map(|name| folder.path().join(name));
    let slave = sides::slave(&slave, &ports, &[]);
    let master = side("master", &master, &ports, &["--impedance", "20"]);
    for (child, values) in [
        (master, "20.0 here and 10.0"),
        (slave, "10.0 here and 20.0"),
    ] {
        let ended = child.end();
        let stderr = &ended.stderr;
        assert_eq!(ended.code, Some(2), "{stderr}");
        assert!(stderr.contains("coupling.impedance_nspm"), "{stderr}");
        assert!(stderr.contains(values), "{stderr}");
    }
}

#[test]
fn codec_of_one_side_is_adopted_and_conflicting_demands_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let ports = Ports::free();
    let slave = sides::slave(&slave_out, &ports, &[]);
    let codec_flags = ["--duration", "3", "--codec", "deadband"];
    let ended = side("master", &master_out, &ports, &codec_flags).end();
    let stderr = &ended.stderr;
    assert!(!stderr.contains("codec"), "it has what it wanted: {stderr}");
    slave.interrupt();
    let stderr = slave.end().stderr;
    assert!(stderr.contains("the other side wants one"), "{stderr}");
    for out in [&master_out, &slave_out] {
        let records = records(out);
        let ran = Config::parse(&records.config.expect("a configuration"), "recorded");
        assert!(ran.expect("good").codec.is_on());
        let shown = std::fs::read_to_string(out.join("config.toml")).expect("written");
        assert!(shown.contains("kind = \"deadband\""), "{shown}");
    }
    let ports = Ports::free();
    let [master_out, slave_out] = ["m", "s"].map(|name| folder.path().join(name));
    let demand = [
        "--set",
        "codec.kind=deadband",
        "--set",
        "codec.demanded=true",
        "--set",
    ];
    let slave = sides::slave(
        &slave_out,
        &ports,
        &[&demand, &["codec.weber=0.2"][..]].concat(),
    );
    let weber = [&demand, &["codec.weber=0.1"][..]].concat();
    let master = side("master", &master_out, &ports, &weber);
    for child in [slave, master] {
        let ended = child.end();
        let stderr = &ended.stderr;
        assert_eq!(ended.code, Some(2), "{stderr}");
        assert!(stderr.contains("codec.weber differs"), "{stderr}");
    }
}

/// Number of the newest frame that a master has received.
fn newest_received(recording: &Recording) -> u64 {
    let last = recording.master.last();
    last.map_or(0, |record| record.received_sequence)
}

/// Ticks of a slave in which it followed.
fn engaged(recording: &Recording) -> usize {
    let records = recording.slave.iter();
    records.filter(|record| record.state == 1).count()
}

/// Time since a master received its last frame, by its own clock.
fn silence(recording: &Recording) -> Span {
    let newest = newest_received(recording);
    let last = recording.master.last().map_or(0, |record| record.now_ns);
    let mut before = recording.master.iter().rev();
    let last_received = before.find(|record| record.received_sequence != newest);
    Span(last - last_received.map_or(last, |record| record.now_ns))
}

/// Longer than the bus takes to detect a missing peer: its lease there is 2 s.
const MISSED: Span = Span(4_000_000_000);

#[test]
fn restarted_slave_rejoins_the_session() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [master_out, first, second] =
        ["master", "first", "second"].map(|name| folder.path().join(name));
    let machine = LoadMonitors::start();
    let slave = sides::slave(&first, &ports, &[]);
    let mut master = side("master", &master_out, &ports, &["--until-stopped"]);
    master.records_until("frames of the first run", |it| newest_received(it) > 2000);
    drop(slave);
    master.records_until("silence", |it| silence(it) > MISSED);
    let mut slave = sides::slave(&second, &ports, &[]);
    slave.records_until("ticks that follow", |it| engaged(it) > 1500);
    // of the second run, which numbers its frames anew
    master.records_until("frames of the second run", |it| {
        let taken = it.master.iter().map(|record| record.received_sequence);
        taken
            .clone()
            .zip(taken.skip(1))
            .any(|(one, next)| next < one)
            && newest_received(it) > 1500
    });
    let _ended = end_sides(master, slave, machine);
    let (master, slave) = (records(&master_out), records(&second));
    let (sent, taken) = (slave.slave.len() as u64, newest_received(&master));
    // recovered: the last frames are of the second run
    assert!(
        (1000..=sent).contains(&taken),
        "of the {sent} frames of the second run: {taken}"
    );
    let engaged = engaged(&slave);
    assert!(engaged > 1000, "engaged in {engaged} of {sent} ticks");
    let text = std::fs::read_to_string(master_out.join("side.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["bus"]["received"]["restarts"], 1, "{text}");
    assert!(report["bus"]["peer_losses"].as_u64() >= Some(1), "{text}");
}

#[test]
fn restarted_master_receives_earlier_edits() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [slave_out, first, second] =
        ["slave", "first", "second"].map(|name| folder.path().join(name));
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenes");
    let [config, tissue] = ["opening", "opened"].map(|name| format!("{scenes}/{name}.toml"));
    let both = ["--config", &config, "--tissue", &tissue, "--twin", &tissue];
    let with = |more: &[&'static str]| [&both, more].concat();
    let machine = LoadMonitors::start();
    let mut slave = sides::slave(&slave_out, &ports, &both);
    let master = side("master", &first, &ports, &with(&["--until-stopped"]));
    let cut = |it: &Recording| {
        it.slave
            .last()
            .map(|record| (record.edit_batches, record.topology))
    };
    slave.records_until("edit batches", |it| {
        cut(it).is_some_and(|(edit_batches, _)| edit_batches > 20)
    });
    drop(master);
    let had = slave.records_until("a second after the kill", |it| {
        let last = it.slave.len().saturating_sub(1000);
        it.slave[last..].iter().all(|record| record.state != 1)
    });
    // with a hand that never cuts: all its edits were received
    let blunt = with(&[
        "--until-stopped",
        "--set",
        "operator.script={kind=\"sine\"}",
    ]);
    let mut master = side("master", &second, &ports, &blunt);
    let had = cut(&had);
    master.records_until("all edit batches", |it| {
        it.master
            .last()
            .map(|record| (record.edit_batches, record.topology))
            == had
    });
    let [ended, _] = end_sides(master, slave, machine);
    let (recording, tissue) = (records(&second), records(&slave_out).slave);
    let (master, slave) = (recording.master.last(), tissue.last());
    let [master, slave] = [master, slave].map(|record| record.expect("records"));
    assert!(slave.edit_batches > 20, "the first master cut nothing");
    assert_eq!(master.edit_batches, slave.edit_batches);
    assert_eq!(master.topology, slave.topology);
    assert_eq!(
        recording.edit_batches.len() as u64,
        master.edit_batches,
        "and is recorded"
    );
    let summary = ended.summary();
    assert_eq!(summary["servo"]["allocations"], 0, "{summary}");
}

/// Longest wait for a reply on the bus.
const ANSWER: Span = Span(PATIENCE.as_nanos() as i64);

#[test]
fn crtk_client_reads_state_and_sends_commands() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [master_out, slave_out] = ["master", "slave"].map(|name| folder.path().join(name));
    let machine = LoadMonitors::start();
    let slave = slave(&slave_out, &ports, &[]);
    let master = side("master", &master_out, &ports, &["--until-stopped"]);
    let (datagrams, streams) = (ports.datagrams(), ports.streams());
    let role = ConnectionRole::Dial;
    let watcher = BusSession::open(&BusConfig {
        node: "watcher".to_owned(),
        connect_timeout: ANSWER,
        ..BusConfig::new(Side::Master, role, "127.0.0.1", datagrams, streams)
    })
    .expect("the slave listens");
    let received = Arc::new(Mutex::new((String::new(), 0, 0)));
    let (of_state, of_pose, of_force) = (received.clone(), received.clone(), received.clone());
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
    let is = |state: &str| (received.lock().expect("whole").0 == state).then_some(());
    wait_for("ENABLED", || is("ENABLED"));
    let mut commands = watcher.command_client("slave").expect("a name");
    let mut ask = |word: &str| commands.command(word, Time(1), ANSWER);
    assert_eq!(ask("pause").expect("taken"), "PAUSED");
    wait_for("PAUSED", || is("PAUSED"));
    let refused = ask("enable").expect_err("paused").to_string();
    assert!(refused.contains("use resume"), "{refused}");
    let mut topic = watcher
        .publisher::<StringStamped>("palpate/slave/state_command")
        .expect("publishes");
    assert!(topic.wait_ready(ANSWER));
    let word = StringStamped {
        string: "resume".to_owned(),
        ..StringStamped::default()
    };
    // anybody may publish on the topic, so it starts nothing
    topic.publish(&word, Time(2)).expect("open");
    assert_eq!(ask("resume").expect("its own pause"), "ENABLED");
    wait_for("ENABLED again", || is("ENABLED"));
    wait_for("50 Hz of measurements", || {
        let counts = received.lock().expect("whole");
        (counts.1 > 25 && counts.2 > 25).then_some(())
    });
    let _ended = end_sides(master, slave, machine);
    let slave = records(&slave_out).slave;
    let halted = slave.iter().filter(|record| record.state != 1).count();
    assert!(halted > 0 && slave.last().is_some(), "{halted}");
}

/// Sends noise to both ports for two seconds: datagrams of every length, and streams without a protocol.
fn send_noise(ports: &Ports) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut noise = [0_u8; 1400];
    for round in 0..400_usize {
        for (k, byte) in noise.iter_mut().enumerate() {
            *byte = (round * 167 + k * 71 + (k * round) / 7) as u8;
        }
        let length = round * 37 % noise.len();
        // a port that refuses is as good as one that ignores
        let _ = socket.send_to(&noise[..length], ("127.0.0.1", ports.datagrams()));
        if round % 40 == 0
            && let Ok(mut stream) = TcpStream::connect(("127.0.0.1", ports.streams()))
        {
            let _ = stream.write_all(&noise);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn garbage_at_bus_ports_does_not_disturb_a_session() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
    let machine = LoadMonitors::start();
    let slave = sides::slave(&far, &ports, &[]);
    let mut master = side("master", &near, &ports, &["--until-stopped"]);
    let before = master.records_until("frames", |it| newest_received(it) > 1000);
    send_noise(&ports);
    // frames continue to arrive
    master.records_until("more frames", |it| {
        newest_received(it) > newest_received(&before) + 3000
    });
    let ended = [master, slave].map(|side| {
        side.interrupt();
        side.end()
    });
    let machine = machine.finish();
    for ended in &ended {
        ended.assert_passed(&machine);
        let summary = ended.summary();
        assert_eq!(
            summary["safety"]["faults"].as_array().map(Vec::len),
            Some(0),
            "{summary}"
        );
    }
}

#[test]
fn port_in_use_is_reported() {
    let (folder, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let taken = TcpListener::bind(("127.0.0.1", ports.streams())).expect("free");
    let ended = side("slave", folder.path(), &ports, &["--duration", "6"]).end();
    drop(taken);
    let stderr = &ended.stderr;
    assert_eq!(ended.code, Some(3), "{stderr}");
    assert!(stderr.contains(&ports.streams().to_string()), "{stderr}");
}

/// The user and group `nobody` of most distributions.
const NOBODY: u32 = 65_534;

#[test]
fn unprivileged_user_gets_a_namespace_link() {
    let folder = tempfile::tempdir().expect("a folder");
    // the build folder may be closed to another user
    let binary = folder.path().join("palpate");
    std::fs::copy(env!("CARGO_BIN_EXE_palpate"), &binary).expect("a copy");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).expect("ours");
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new(&binary);
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.args(words).current_dir(folder.path());
        command.output().expect("the binary starts")
    };
    let found: serde_json::Value =
        serde_json::from_slice(&as_nobody(&["doctor", "--json"]).stdout).expect("JSON");
    let allowed = |subject: &str| {
        let findings = found["findings"].as_array().expect("findings");
        let own = findings.iter().find(|one| one["subject"] == subject);
        own.expect("a finding")["allowed"] == true
    };
    if !allowed("user_namespaces") || !(allowed("tun_device") || allowed("netem")) {
        return eprintln!("not judged: this machine allows no namespaces or no device: {found}");
    }
    let words = "run -q --no-console --duration 1 --tissue sheet --twin sheet --out run";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = as_nobody(&words);
    let report = folder.path().join("run/report.html");
    let report = std::fs::read_to_string(report).unwrap_or_else(|_| panic!("{ended:?}"));
    assert!(report.contains("two network namespaces"), "{ended:?}");
}
