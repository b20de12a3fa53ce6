//! Tests of recordings on the console: listed, opened and sought; and refused if invalid.

mod load_monitor;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_console::playback::PlaybackController;
use palpate_console::playback::recording_library::RecordingLibrary;
use palpate_console::playback::timeline::RecordingTimeline;
use palpate_session::monitor::request::PlaybackRequest;
use palpate_session::monitor::{MonitorController, OperatorOrder, wire};

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Records a session in virtual time.
fn record(folder: &Path, mode: &str) {
    let out = folder.to_str().expect("UTF-8");
    let flags = ["lab", "--duration", "4", "--mode", mode, "--twin", "sheet"];
    let scene = ["--tissue", "sheet-lump", "-q", "--out", out];
    let output = palpate(&[&flags[..], &scene].concat());
    assert!(folder.join("recording.mcap").exists(), "{output:?}");
}

fn wait_until(what: &str, check: impl Fn() -> bool) {
    load_monitor::wait_for(what, || check().then_some(()));
}

fn controller(
    timelines: [Option<Arc<RecordingTimeline>>; 2],
    library: RecordingLibrary,
) -> Arc<PlaybackController> {
    let stop = Arc::new(AtomicBool::new(false));
    let [first, second] = timelines;
    PlaybackController::open([first, second], library, &stop).expect("threads")
}

fn request(controller: &PlaybackController, what: PlaybackRequest) -> Result<String, String> {
    controller.execute(&OperatorOrder::Replay { what })
}

fn wait_for_surface(timeline: &RecordingTimeline) {
    wait_until("the surface is made", || timeline.surface_end().1);
}

/// Positions of the surface's nodes, without the header of the frame.
fn surface(controller: &PlaybackController, place: usize) -> Vec<u8> {
    let sent = controller.latest_state().session(place).subscribe().surface;
    let bytes = sent.borrow().clone();
    bytes.get(wire::HEADER..).unwrap_or_default().to_vec()
}

#[test]
fn seeking_shows_the_same_surface_again() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "mmt");
    let file = folder.path().join("recording.mcap");
    let timeline = RecordingTimeline::open(&file, "one").expect("whole");
    assert!(
        (timeline.length_s() - 3.999).abs() < 0.05,
        "{}",
        timeline.length_s()
    );
    wait_for_surface(&timeline);
    let facts = timeline.page_facts();
    assert_eq!(facts["film"]["different"], 0, "{facts}");
    assert_eq!(facts["film"]["without"], serde_json::Value::Null);
    assert!(
        facts["summary"]["contact"]["peak_force_n"].is_number(),
        "{facts}"
    );

    let controller = controller(
        [Some(Arc::clone(&timeline)), None],
        RecordingLibrary::default(),
    );
    let surface_at = |at_s: f64| {
        let before = surface(&controller, 0);
        request(&controller, PlaybackRequest::Seek(at_s)).expect("open");
        wait_until("another surface", || surface(&controller, 0) != before);
        surface(&controller, 0)
    };
    wait_until("the first surface", || !surface(&controller, 0).is_empty());
    let rest = surface(&controller, 0);
    let deep = surface_at(3.2);
    let other = surface_at(2.5);
    assert!(deep != rest && other != deep);
    assert_eq!(
        surface_at(3.2),
        deep,
        "the same moment, come to from before"
    );
    assert!(surface_at(1e9) != deep, "clamped");
    assert_eq!(surface_at(3.2), deep, "and from behind");

    for bad in [
        PlaybackRequest::Seek(f64::NAN),
        PlaybackRequest::Speed(0.0),
        PlaybackRequest::Speed(9.0),
        PlaybackRequest::Offset(1e9),
        PlaybackRequest::Open {
            number: 0,
            beside: false,
        },
    ] {
        assert!(request(&controller, bad).is_err(), "{bad:?}");
    }
    let refused = controller.execute(&OperatorOrder::Impedance { nspm: 3.0 });
    assert!(refused.expect_err("refused").contains("recording"));
    assert_eq!(
        controller.resource("trace/1").map(|one| one.1),
        Some(timeline.table())
    );
    for none in ["trace/2", "trace/", "trace/../1", "trace/-1", "x"] {
        assert!(controller.resource(none).is_none(), "{none}");
    }
}

#[test]
fn two_recordings_play_with_an_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = ["one", "two"].map(|name| folder.path().join(name));
    record(&runs[0], "mmt");
    record(&runs[1], "wave");
    fs::write(folder.path().join("cut.mcap"), b"\x89MCAP0\r\n").expect("written");
    let library = RecordingLibrary::of(Some(folder.path().to_owned()));
    let number = |name: &str| {
        let one = library
            .entries
            .iter()
            .find(|one| one.name.starts_with(name));
        one.expect("listed").number
    };
    let (cut, one, two) = (number("cut"), number("one"), number("two"));
    let controller = controller([None, None], library.clone());
    assert!(
        request(&controller, PlaybackRequest::Play).is_err(),
        "nothing is open"
    );
    let open = |number, beside| request(&controller, PlaybackRequest::Open { number, beside });
    assert!(open(two, true).is_err(), "beside nothing");
    let why = open(cut, false).expect_err("no ticks");
    let path = folder.path().display().to_string();
    assert!(why.contains("cut.mcap") && !why.contains(&path), "{why}");
    assert!(open(77, false).is_err());
    open(one, false).expect("whole");
    open(two, true).expect("whole");
    request(&controller, PlaybackRequest::Offset(-0.5)).expect("in range");
    let newest = |place: usize| {
        let now = *controller.latest_state().session(place).records().borrow();
        now[0].map(|record| record.tick)
    };
    request(&controller, PlaybackRequest::Speed(4.0)).expect("in range");
    request(&controller, PlaybackRequest::Play).expect("open");
    wait_until("both go on", || {
        newest(0) > Some(200) && newest(1) > Some(700)
    });
    request(&controller, PlaybackRequest::Pause).expect("open");
    request(&controller, PlaybackRequest::Seek(2.0)).expect("open");
    wait_until("it is there", || {
        newest(0).is_some_and(|tick| tick.abs_diff(2000) <= 1)
    });
    let ticks = [0, 1].map(newest);
    let apart = ticks[1].expect("shown") as i64 - ticks[0].expect("shown") as i64;
    assert!((499..=501).contains(&apart), "{ticks:?}");
    request(&controller, PlaybackRequest::Close).expect("closed");
    assert!(
        surface(&controller, 1).is_empty(),
        "a session of waves has no twin"
    );
}

#[test]
fn session_without_twin_states_why_and_shows_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "wave");
    let timeline =
        RecordingTimeline::open(&folder.path().join("recording.mcap"), "waves").expect("whole");
    wait_for_surface(&timeline);
    let facts = timeline.page_facts();
    let why = facts["film"]["without"].as_str().expect("a reason");
    assert!(why.contains("no twin"), "{why}");
    assert!(timeline.table().len() > 1000);
    assert!(timeline.surface_at(1.0, None).is_none());
}

#[test]
fn invalid_recording_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("text.mcap"), "not a recording").expect("written");
    fs::write(path("cut.mcap"), b"\x89MCAP0\r\n\x01\x20").expect("written");
    fs::create_dir(path("empty")).expect("made");
    for (arguments, message) in [
        (vec![path("text.mcap")], "starts with bytes"),
        (vec![path("cut.mcap")], "no message on"),
        (vec![path("empty")], "without a recording"),
        (vec![path("gone")], "gone"),
        (
            vec![path("empty"), path("text.mcap")],
            "without a recording",
        ),
    ] {
        let mut all: Vec<&str> = vec!["replay", "--console"];
        all.extend(arguments.iter().map(String::as_str));
        let output = palpate(&all);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
    for flags in [
        &["--foxglove"][..],
        &["--console-port", "0"],
        &["--console", "--json"],
    ] {
        let mut all = vec!["replay", "nowhere"];
        all.extend(flags);
        assert_eq!(palpate(&all).status.code(), Some(2), "{flags:?}");
    }
}

#[test]
fn playback_writes_nothing_and_ends_on_ctrl_c() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("runs/one"), "mmt");
    let mut served = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["replay", "runs", "--console", "--console-port", "0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(served.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let url = line.trim().strip_prefix("console: http://").expect("a url");
    let (host, path) = url.split_once('/').expect("a path");
    let get = |name: &str| {
        let mut stream = TcpStream::connect(host).expect("served");
        let request =
            format!("GET /{path}{name} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert!(get("").starts_with("HTTP/1.1 200"));
    assert!(get("recording.js").starts_with("HTTP/1.1 200"));
    for none in [
        "trace/9",
        "trace/../../runs/one/recording.mcap",
        "runs/one/summary.json",
    ] {
        assert!(get(none).starts_with("HTTP/1.1 404"), "{none}");
    }
    let process = i32::try_from(served.id()).expect("a number");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(process),
        nix::sys::signal::Signal::SIGINT,
    )
    .expect("signalled");
    assert_eq!(served.wait().expect("ended").code(), Some(0));
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("there")
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn end_order_stops_playback() {
    let stop = Arc::new(AtomicBool::new(false));
    let controller = PlaybackController::open([None, None], RecordingLibrary::default(), &stop)
        .expect("threads");
    assert!(controller.execute(&OperatorOrder::End).is_ok());
    assert!(stop.load(Ordering::Relaxed));
}
