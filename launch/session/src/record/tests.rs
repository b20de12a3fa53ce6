//! Tests of recordings: round trips, truncation and garbage.

use std::io::Cursor;
use std::path::Path;

use palpate_transport::Span;
use palpate_transport::msg::WrenchStamped;
use proptest::prelude::*;

use super::read::read_bytes;
use super::*;

fn tick(side: Side, k: u64) -> TickRecord {
    let x = k as f64 * 1e-6;
    TickRecord {
        side,
        tick: k,
        now_ns: k as i64 * 1_000_000,
        position_m: [x, -x, 2.0 * x, 0.01],
        port_force_n: [0.0, 0.1, -x * 300.0, 0.0],
        received_sequence: k / 2,
        phase: 3,
        ..TickRecord::default()
    }
}

/// ROS time of the first tick: 2001-09-09.
const EPOCH_NS: i64 = 1_000_000_000_000_000_000;

fn session() -> RecordingHeader {
    RecordingHeader {
        sides: vec![Side::Master, Side::Slave],
        config: "seed = 7\n".to_owned(),
        epoch_ns: EPOCH_NS,
        begun_ns: 5,
        facts: [("mode".to_owned(), "mmt".to_owned())].into(),
    }
}

fn bytes_of(ticks: u64, session: &RecordingHeader, finish: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut recorder = Recorder::create(Cursor::new(&mut bytes), session).unwrap();
    for k in 0..ticks {
        for &side in &session.sides {
            recorder.push(&tick(side, k)).unwrap();
        }
    }
    if finish {
        recorder.finish(Some("{\"seed\": 7}")).unwrap();
    } else {
        // as a kill leaves it: no drop, no end
        recorder.flush().unwrap();
        std::mem::forget(recorder);
    }
    bytes
}

fn read_all(bytes: &[u8]) -> Result<Recording, RecordError> {
    read_bytes(Path::new("some.mcap"), bytes)
}

#[test]
fn recording_round_trips() {
    let recording = read_all(&bytes_of(1200, &session(), true)).unwrap();
    assert_eq!(recording.damage, None);
    assert_eq!(recording.config.as_deref(), Some("seed = 7\n"));
    assert_eq!(recording.summary.as_deref(), Some("{\"seed\": 7}"));
    assert_eq!(recording.facts["mode"], "mmt");
    assert_eq!(
        recording.master,
        (0..1200).map(|k| tick(Side::Master, k)).collect::<Vec<_>>()
    );
    assert_eq!(
        recording.slave,
        (0..1200).map(|k| tick(Side::Slave, k)).collect::<Vec<_>>()
    );
}

/// Second route: the crate's own strict reader, as a ROS 2 tool would read the file.
#[test]
fn other_readers_find_ros2_channels() {
    let bytes = bytes_of(10, &session(), true);
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let mut topics: Vec<_> = summary
        .channels
        .values()
        .map(|c| (c.topic.as_str(), c.schema.as_ref().unwrap().name.as_str()))
        .collect();
    topics.sort_unstable();
    assert_eq!(
        topics,
        [
            (
                "/palpate/master/measured_cf",
                "geometry_msgs/msg/WrenchStamped"
            ),
            (
                "/palpate/master/measured_cp",
                "geometry_msgs/msg/PoseStamped"
            ),
            ("/palpate/master/tick", "palpate_msgs/msg/TickRecord"),
            (
                "/palpate/slave/measured_cf",
                "geometry_msgs/msg/WrenchStamped"
            ),
            (
                "/palpate/slave/measured_cp",
                "geometry_msgs/msg/PoseStamped"
            ),
            ("/palpate/slave/tick", "palpate_msgs/msg/TickRecord"),
        ]
    );
    assert!(
        summary
            .channels
            .values()
            .all(|c| c.message_encoding == "cdr")
    );
    for message in mcap::MessageStream::new(&bytes).unwrap() {
        let message = message.unwrap();
        if message.channel.topic == "/palpate/master/measured_cf" {
            let wrench: WrenchStamped = cdr::decode(&message.data).unwrap();
            assert_eq!(wrench.wrench.force.y, -0.1);
            let stamp = wrench.header.stamp;
            let stamp_ns = i64::from(stamp.sec) * 1_000_000_000 + i64::from(stamp.nanosec);
            assert_eq!(stamp_ns.unsigned_abs(), message.log_time);
            assert!((EPOCH_NS..EPOCH_NS + 10_000_000).contains(&stamp_ns));
        }
    }
}

#[test]
fn killed_session_loses_only_the_last_chunk() {
    let bytes = bytes_of(1200, &session(), false);
    let whole = read_all(&bytes).unwrap();
    assert_eq!(whole.master.len(), 1200);
    assert!(whole.damage.is_some() && whole.summary.is_none());
    let cut = bytes.len() * 2 / 3;
    let part = read_all(&bytes[..cut]).unwrap();
    let damage = part.damage.unwrap();
    assert!(
        part.master.len() >= 500 && part.master.len() < 1200,
        "{}",
        part.master.len()
    );
    assert!(damage.offset < cut as u64 && damage.to_string().starts_with("some.mcap: damaged at"));
}

#[test]
fn garbage_gives_specific_errors() {
    let message = read_all(b"PNG").unwrap_err().to_string();
    assert!(
        message.contains("some.mcap") && message.contains("89 4d"),
        "{message}"
    );
    assert!(matches!(
        read_all(mcap::MAGIC),
        Err(RecordError::NoTicks { .. })
    ));
    let missing = read(Path::new("no/such.mcap")).unwrap_err();
    assert!(matches!(missing, RecordError::File { .. }));
    let mut bytes = bytes_of(1200, &session(), true);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xa5);
    let damaged = read_all(&bytes).unwrap();
    assert!(damaged.damage.is_some() && damaged.master.len() < 1200);
}

#[test]
fn record_of_missing_side_is_refused() {
    let session = RecordingHeader {
        sides: vec![Side::Master],
        ..session()
    };
    let mut recorder = Recorder::create(Cursor::new(Vec::new()), &session).unwrap();
    let error = recorder.push(&tick(Side::Slave, 0)).unwrap_err();
    assert!(matches!(
        error,
        RecordError::Side {
            found: Side::Slave,
            ..
        }
    ));
}

#[test]
fn parts_merge_by_time() {
    let part = |side| {
        let session = RecordingHeader {
            sides: vec![side],
            ..session()
        };
        read_all(&{
            let mut bytes = Vec::new();
            let mut recorder = Recorder::create(Cursor::new(&mut bytes), &session).unwrap();
            for k in 0..50 {
                recorder.push(&tick(side, k)).unwrap();
            }
            recorder.finish(None).unwrap();
            bytes
        })
        .unwrap()
    };
    let (master, slave) = (part(Side::Master), part(Side::Slave));
    let mut bytes = Vec::new();
    let ahead = Span(7_500_000);
    merge(&master, &slave, ahead, Cursor::new(&mut bytes)).unwrap();
    let merged = read_all(&bytes).unwrap();
    assert_eq!((merged.master.len(), merged.slave.len()), (50, 50));
    assert_eq!(merged.slave[10].now_ns, 2_500_000);
    let times: Vec<_> = mcap::MessageStream::new(&bytes)
        .unwrap()
        .map(|m| m.unwrap().log_time)
        .collect();
    assert!(times.is_sorted());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn corrupt_bytes_do_not_panic(
        cut in 0usize..9000,
        at in 0usize..9000,
        noise in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = bytes_of(60, &session(), true);
        let at = at % bytes.len();
        for (byte, &new) in bytes[at..].iter_mut().zip(&noise) {
            *byte = new;
        }
        bytes.truncate(cut.max(1));
        if let Ok(recording) = read_all(&bytes) {
            prop_assert!(recording.master.len() <= 60);
        }
    }
}

/// A recording whose ticks have the given `.msg` text and are a few bytes long.
fn foreign(text: &str, facts: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = mcap::Writer::new(Cursor::new(&mut bytes)).unwrap();
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let metadata = mcap::write::Metadata {
        name: SESSION.to_owned(),
        metadata: facts.iter().map(owned).collect(),
    };
    writer.write_metadata(&metadata).unwrap();
    let name = TickRecord::DESCRIPTION.name;
    let schema = writer.add_schema(name, "ros2msg", text.as_bytes()).unwrap();
    let topic = topic::tick(Side::Master);
    let channel_id = writer
        .add_channel(schema, &topic, "cdr", &BTreeMap::new())
        .unwrap();
    let header = MessageHeader {
        channel_id,
        sequence: 0,
        log_time: 0,
        publish_time: 0,
    };
    writer
        .write_to_known_channel(&header, &[0, 1, 0, 0, 7])
        .unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

#[test]
fn issue_a_recording_of_another_version_was_called_damaged() {
    let ours = schema::ros2msg(TickRecord::DESCRIPTION);
    let message = |text: &str, facts: &[(&str, &str)]| {
        let error = read_all(&foreign(text, facts)).expect_err("other ticks");
        assert!(matches!(error, RecordError::OtherVersion { .. }), "{error}");
        error.to_string()
    };
    let line = ours.lines().find(|line| line.contains("held_to_m"));
    let field = line.expect("a field of ticks");
    let older = ours.replace(&format!("{field}\n"), "");
    let text = message(&older, &[(VERSION, "0.0.9"), (SOURCES, "0123")]);
    for word in [
        "some.mcap",
        "palpate 0.0.9 (0123)",
        "lack `",
        field,
        OWN_SOURCES,
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("damage"), "{text}");
    let text = message(&format!("{ours}float64 age_of_the_moon_s\n"), &[]);
    assert!(
        text.contains("have `float64 age_of_the_moon_s` besides"),
        "{text}"
    );
    assert!(text.contains("does not name"), "{text}");
    // with the same fields, a fault is damage
    let error = read_all(&foreign(&ours, &[])).expect_err("cut short");
    assert!(matches!(error, RecordError::NoTicks { .. }), "{error}");
    // every recording names the program that wrote it
    let recording = read_all(&bytes_of(1, &session(), true)).expect("whole");
    assert_eq!(recording.facts[SOURCES], OWN_SOURCES);
    assert_eq!(recording.facts[VERSION], env!("CARGO_PKG_VERSION"));
}

#[test]
fn coupling_changes_round_trip_with_their_ticks() {
    let change = |impedance_nspm, mode| CouplingChange {
        impedance_nspm,
        mode,
    };
    let of = |side, tick, change| RecordedChange { side, tick, change };
    let changes = [
        of(Side::Master, 40, change(Some(0.1 + 0.2), None)),
        of(
            Side::Slave,
            55,
            change(None, Some(palpate_transport::coupling::Mode::WaveTdpa)),
        ),
    ];
    let part = |side: Side| {
        let mut bytes = Vec::new();
        let one = RecordingHeader {
            sides: vec![side],
            ..session()
        };
        let mut recorder = Recorder::create(Cursor::new(&mut bytes), &one).unwrap();
        for k in 0..100 {
            for recorded in changes.iter().filter(|c| c.side == side && c.tick == k) {
                recorder.push_change(recorded).unwrap();
            }
            recorder.push(&tick(side, k)).unwrap();
        }
        recorder.finish(None).unwrap();
        read_all(&bytes).unwrap()
    };
    let (master, slave) = (part(Side::Master), part(Side::Slave));
    assert_eq!(
        (&master.changes[..], &slave.changes[..]),
        (&changes[..1], &changes[1..])
    );
    let mut joined = Vec::new();
    merge(&master, &slave, Span(0), Cursor::new(&mut joined)).unwrap();
    assert_eq!(read_all(&joined).unwrap().changes, changes);
}

#[test]
fn cut_parts_are_joined_with_a_mark_of_the_cut() {
    let one = |side| RecordingHeader {
        sides: vec![side],
        ..session()
    };
    let master = bytes_of(1200, &one(Side::Master), false);
    let slave = bytes_of(900, &one(Side::Slave), true);
    let mut joined = Vec::new();
    let (master, slave) = (read_all(&master).unwrap(), read_all(&slave).unwrap());
    merge(&master, &slave, Span(0), Cursor::new(&mut joined)).unwrap();
    let joined = read_all(&joined).unwrap();
    assert_eq!(
        (joined.damage, joined.master.len(), joined.slave.len()),
        (None, 1200, 900)
    );
    let [cut] = &joined.cuts[..] else {
        panic!("{:?}", joined.cuts);
    };
    assert_eq!((cut.side, cut.last_tick), (Side::Master, Some(1199)));
    assert!(cut.what.contains("at byte"), "{}", cut.what);
    assert_eq!(joined.facts[EPOCH], EPOCH_NS.to_string());
}
