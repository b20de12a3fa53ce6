//! Recordings on the console: listed, opened, gone to and fro in; and what is none, refused.

mod witness;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_console::playback::PlaybackDesk;
use palpate_console::playback::reel::Reel;
use palpate_console::playback::shelf::Shelf;
use palpate_session::monitor::request::Transport;
use palpate_session::monitor::{Desk, Order, wire};

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// A session in virtual time, recorded.
fn record(folder: &Path, mode: &str) {
    let out = folder.to_str().expect("UTF-8");
    let flags = ["lab", "--duration", "4", "--mode", mode, "--twin", "sheet"];
    let scene = ["--tissue", "sheet-lump", "-q", "--out", out];
    let output = palpate(&[&flags[..], &scene].concat());
    assert!(folder.join("recording.mcap").exists(), "{output:?}");
}

fn holds(what: &str, check: impl Fn() -> bool) {
    witness::wait_for(what, || check().then_some(()));
}

fn desk(reels: [Option<Arc<Reel>>; 2], shelf: Shelf) -> Arc<PlaybackDesk> {
    let stop = Arc::new(AtomicBool::new(false));
    let [first, second] = reels;
    PlaybackDesk::open([first, second], shelf, &stop).expect("threads")
}

fn ask(desk: &PlaybackDesk, what: Transport) -> Result<String, String> {
    desk.take(&Order::Replay { what })
}

fn developed(reel: &Reel) {
    holds("the surface is made", || reel.front().1);
}

/// Where the nodes of the surface are, without the head of the frame.
fn surface(desk: &PlaybackDesk, place: usize) -> Vec<u8> {
    let sent = desk.board().place(place).surface_sent();
    let bytes = sent.borrow().clone();
    bytes.get(wire::HEADER..).unwrap_or_default().to_vec()
}

#[test]
fn a_recording_is_gone_to_and_fro_in_and_shows_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "mmt");
    let file = folder.path().join("recording.mcap");
    let reel = Reel::open(&file, "one").expect("whole");
    assert!(
        (reel.length_s() - 3.999).abs() < 0.05,
        "{}",
        reel.length_s()
    );
    developed(&reel);
    let told = reel.told();
    assert_eq!(told["film"]["different"], 0, "{told}");
    assert_eq!(told["film"]["without"], serde_json::Value::Null);
    assert!(
        told["summary"]["contact"]["peak_force_n"].is_number(),
        "{told}"
    );

    let desk = desk([Some(Arc::clone(&reel)), None], Shelf::default());
    let seen = |at_s: f64| {
        let before = surface(&desk, 0);
        ask(&desk, Transport::Seek(at_s)).expect("open");
        holds("another picture", || surface(&desk, 0) != before);
        surface(&desk, 0)
    };
    holds("the first picture", || !surface(&desk, 0).is_empty());
    let rest = surface(&desk, 0);
    let deep = seen(3.2);
    let other = seen(2.5);
    assert!(deep != rest && other != deep);
    assert_eq!(seen(3.2), deep, "the same moment, come to from before");
    assert!(seen(1e9) != deep, "clamped");
    assert_eq!(seen(3.2), deep, "and from behind");

    for bad in [
        Transport::Seek(f64::NAN),
        Transport::Speed(0.0),
        Transport::Speed(9.0),
        Transport::Offset(1e9),
        Transport::Open {
            number: 0,
            beside: false,
        },
    ] {
        assert!(ask(&desk, bad).is_err(), "{bad:?}");
    }
    let refused = desk.take(&Order::Impedance { nspm: 3.0 });
    assert!(refused.expect_err("refused").contains("recording"));
    assert_eq!(
        desk.resource("trace/1").map(|one| one.1),
        Some(reel.table())
    );
    for none in ["trace/2", "trace/", "trace/../1", "trace/-1", "x"] {
        assert!(desk.resource(none).is_none(), "{none}");
    }
}

#[test]
fn two_are_played_beside_each_other_with_an_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = ["one", "two"].map(|name| folder.path().join(name));
    record(&runs[0], "mmt");
    record(&runs[1], "wave");
    fs::write(folder.path().join("cut.mcap"), b"\x89MCAP0\r\n").expect("written");
    let shelf = Shelf::of(Some(folder.path().to_owned()));
    let number = |name: &str| {
        let one = shelf.listed().iter().find(|one| one.name.starts_with(name));
        one.expect("listed").number
    };
    let (cut, one, two) = (number("cut"), number("one"), number("two"));
    let desk = desk([None, None], shelf.clone());
    assert!(ask(&desk, Transport::Play).is_err(), "nothing is open");
    let open = |number, beside| ask(&desk, Transport::Open { number, beside });
    assert!(open(two, true).is_err(), "beside nothing");
    let why = open(cut, false).expect_err("no ticks");
    let path = folder.path().display().to_string();
    assert!(why.contains("cut.mcap") && !why.contains(&path), "{why}");
    assert!(open(77, false).is_err());
    open(one, false).expect("whole");
    open(two, true).expect("whole");
    ask(&desk, Transport::Offset(-0.5)).expect("in range");
    let newest = |place: usize| {
        let now = *desk.board().place(place).records().borrow();
        now[0].map(|record| record.tick)
    };
    ask(&desk, Transport::Speed(4.0)).expect("in range");
    ask(&desk, Transport::Play).expect("open");
    holds("both go on", || {
        newest(0) > Some(200) && newest(1) > Some(700)
    });
    ask(&desk, Transport::Pause).expect("open");
    ask(&desk, Transport::Seek(2.0)).expect("open");
    holds("it is there", || {
        newest(0).is_some_and(|tick| tick.abs_diff(2000) <= 1)
    });
    let ticks = [0, 1].map(newest);
    let apart = ticks[1].expect("shown") as i64 - ticks[0].expect("shown") as i64;
    assert!((499..=501).contains(&apart), "{ticks:?}");
    ask(&desk, Transport::Close).expect("closed");
    assert!(
        surface(&desk, 1).is_empty(),
        "a session of waves has no twin"
    );
}

#[test]
fn a_session_without_a_twin_says_so_and_shows_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "wave");
    let reel = Reel::open(&folder.path().join("recording.mcap"), "waves").expect("whole");
    developed(&reel);
    let told = reel.told();
    let why = told["film"]["without"].as_str().expect("a reason");
    assert!(why.contains("no twin"), "{why}");
    assert!(reel.table().len() > 1000);
    assert!(reel.picture(1.0, None).is_none());
}

#[test]
fn what_is_no_recording_is_refused_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("text.mcap"), "not a recording").expect("written");
    fs::write(path("cut.mcap"), b"\x89MCAP0\r\n\x01\x20").expect("written");
    fs::create_dir(path("empty")).expect("made");
    for (arguments, said) in [
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
        assert!(text.contains(said), "{arguments:?}: {text}");
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
fn it_is_served_writes_nothing_and_ends_well() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("runs/one"), "mmt");
    let mut served = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["replay", "runs", "--console", "--console-port", "0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(served.stderr.take().expect("piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
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
    .expect("told");
    assert_eq!(served.wait().expect("ended").code(), Some(0));
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("there")
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_page_ends_it() {
    let stop = Arc::new(AtomicBool::new(false));
    let desk = PlaybackDesk::open([None, None], Shelf::default(), &stop).expect("threads");
    assert!(desk.take(&Order::End).is_ok());
    assert!(stop.load(Ordering::Relaxed));
}
