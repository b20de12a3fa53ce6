//! Round trips, garbage, and wrong lengths.

use proptest::prelude::*;

use super::*;
use crate::edit_batch::{BATCH_PARTS, BatchChange, CHANGE_KINDS, NEIGHBOUR_DIRECTIONS};
use crate::msg::diagnostic::*;
use crate::msg::*;
use crate::trace::TickRecord;

fn bytes_of<T: Message>(message: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_into(message, &mut bytes).expect("encodes");
    bytes
}

fn wrench() -> WrenchStamped {
    WrenchStamped {
        header: Header {
            stamp: Stamp { sec: 7, nanosec: 9 },
            frame_id: "tool".to_owned(),
        },
        wrench: Wrench {
            force: Vector3 {
                x: 1.0,
                y: -2.0,
                z: 0.5,
            },
            torque: Vector3::default(),
        },
    }
}

fn diagnostics(text: &str) -> DiagnosticArray {
    let value = KeyValue {
        key: text.to_owned(),
        value: text.to_owned(),
    };
    let status = DiagnosticStatus {
        level: Octet(2),
        name: text.to_owned(),
        values: vec![value; 3],
        ..DiagnosticStatus::default()
    };
    DiagnosticArray {
        header: Header::default(),
        status: vec![status; 2],
    }
}

/// The layout of CDR, written by hand: time, length 5, "tool" and zero, padding to 8, six numbers.
#[test]
fn bytes_match_ros_2() {
    let mut expected = vec![0, 1, 0, 0];
    expected.extend_from_slice(&7_i32.to_le_bytes());
    expected.extend_from_slice(&9_u32.to_le_bytes());
    expected.extend_from_slice(&5_u32.to_le_bytes());
    expected.extend_from_slice(b"tool\0\0\0\0\0\0\0\0");
    for number in [1.0, -2.0, 0.5, 0.0, 0.0, 0.0_f64] {
        expected.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(bytes_of(&wrench()), expected);
    assert_eq!(decode::<WrenchStamped>(&expected), Ok(wrench()));
}

#[test]
fn fixed_sizes_are_exact() {
    assert_eq!(HAPTIC_FRAME_BYTES, 4 + 6 * 8 + 2 * 4 + 8 + 8 * 32 + 2 * 8);
    let frame = HapticFrame {
        sequence: 3,
        ..HapticFrame::default()
    };
    let mut buffer = [0; HAPTIC_FRAME_BYTES];
    assert_eq!(encode(&frame, &mut buffer), Ok(HAPTIC_FRAME_BYTES));
    assert_eq!(decode_frame(&buffer), Ok(frame));
    let longer = [&buffer[..], &[0]].concat();
    for bytes in [&buffer[..HAPTIC_FRAME_BYTES - 1], &longer] {
        assert!(matches!(decode_frame(bytes), Err(DecodeError::Size { .. })));
    }
    let record = bytes_of(&TickRecord::default());
    assert_eq!(Some(record.len()), encoded_len(TickRecord::DESCRIPTION));
    assert_eq!(decode(&record), Ok(TickRecord::default()));
}

#[test]
fn small_buffers_are_refused() {
    let mut buffer = [0; 20];
    assert_eq!(
        encode(&wrench(), &mut buffer),
        Err(EncodeError::Full {
            needed: bytes_of(&wrench()).len(),
            found: 20
        })
    );
}

/// transport fact 9: this costs `cdr` alone two seconds and a gibibyte.
#[test]
fn length_beyond_the_bytes_is_refused_before_allocation() {
    let joints = JointState {
        position: vec![1.0; 4],
        ..JointState::default()
    };
    let mut bytes = bytes_of(&joints);
    // Header 4, time 8, empty frame 5, padding 3; then the length of `name`.
    bytes[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    let remaining = bytes.len() - 24;
    assert_eq!(
        decode::<JointState>(&bytes),
        Err(DecodeError::Length {
            field: "name",
            declared: u32::MAX,
            remaining
        })
    );
    let mut bytes = bytes_of(&wrench());
    bytes[12..16].copy_from_slice(&(1_u32 << 31).to_le_bytes());
    let error = decode::<WrenchStamped>(&bytes).expect_err("a string of 2 GiB");
    assert!(
        error
            .to_string()
            .starts_with("field frame_id claims 2147483648 "),
        "{error}"
    );
}

#[test]
fn content_is_checked() {
    let report = OperatingStateReport {
        state: "FAULT".to_owned(),
        ..Default::default()
    };
    let good = bytes_of(&report);
    let mut bytes = good.clone();
    *bytes.last_mut().expect("not empty") = 2;
    let error = decode::<OperatingStateReport>(&bytes);
    assert!(
        matches!(error, Err(DecodeError::Content { .. })),
        "{error:?}"
    );
    bytes.clone_from(&good);
    bytes[24] = 0xff;
    let error = decode::<OperatingStateReport>(&bytes);
    assert!(
        matches!(error, Err(DecodeError::Content { .. })),
        "{error:?}"
    );
    bytes.clone_from(&good);
    bytes[29] = b'!';
    assert_eq!(
        decode::<OperatingStateReport>(&bytes),
        Err(DecodeError::Terminator {
            field: "state",
            found: b'!'
        })
    );
    let behind = [&good[..], &[0; 4]].concat();
    assert_eq!(
        decode::<OperatingStateReport>(&behind),
        Err(DecodeError::Trailing { found: 4 })
    );
    bytes.clone_from(&good);
    bytes[1] = 0;
    assert_eq!(
        decode::<OperatingStateReport>(&bytes),
        Err(DecodeError::Header {
            found: vec![0, 0, 0, 0]
        })
    );
    assert_eq!(
        decode::<crate::msg::diagnostic::Float64>(&[0]),
        Err(DecodeError::Header { found: vec![0] })
    );
}

#[test]
fn frames_that_are_not_finite_are_refused() {
    let mut frame = HapticFrame::default();
    frame.wave[3] = f64::NAN;
    assert_eq!(
        decode_frame(&bytes_of(&frame)),
        Err(DecodeError::NotFinite { field: "wave" })
    );
    let frame = HapticFrame {
        impedance_nspm: f64::INFINITY,
        ..HapticFrame::default()
    };
    assert!(decode_frame(&bytes_of(&frame)).is_err());
}

#[test]
fn messages_above_the_limit_are_not_encoded() {
    let word = StringStamped {
        string: "x".repeat(MESSAGE_BYTES_MAX),
        ..Default::default()
    };
    let mut bytes = Vec::new();
    assert!(matches!(
        encode_into(&word, &mut bytes),
        Err(EncodeError::TooLong { .. })
    ));
    let bytes = vec![0; MESSAGE_BYTES_MAX + 1];
    assert!(matches!(
        decode::<StringStamped>(&bytes),
        Err(DecodeError::TooLong { .. })
    ));
}

/// Decodes as every type; returns the number of types that accept the bytes.
fn decode_all(bytes: &[u8]) -> usize {
    usize::from(decode_frame(bytes).is_ok())
        + usize::from(decode::<TickRecord>(bytes).is_ok())
        + usize::from(decode::<WrenchStamped>(bytes).is_ok())
        + usize::from(decode::<StringStamped>(bytes).is_ok())
        + usize::from(decode::<OperatingStateReport>(bytes).is_ok())
        + usize::from(decode::<JointState>(bytes).is_ok())
        + usize::from(decode::<DiagnosticArray>(bytes).is_ok())
        + usize::from(decode::<crate::msg::diagnostic::Float64>(bytes).is_ok())
}

/// Bytes that decode encode to bytes that decode to the same: no reader is laxer than its writer.
fn check_stable<T: Message + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(message) = decode::<T>(bytes) {
        let again = bytes_of(&message);
        assert!(again.len() <= bytes.len() + 4 * bytes.len());
        // Not-a-number is unequal to itself, so the second writing is compared instead.
        let message = decode::<T>(&again).expect("our own bytes");
        assert_eq!(bytes_of(&message), again);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_behind_a_header_are_read_or_refused(
        body in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let bytes = [&HEADER[..], &body].concat();
        prop_assert!(decode_all(&bytes) <= 8);
        check_stable::<StringStamped>(&bytes);
        check_stable::<JointState>(&bytes);
        check_stable::<DiagnosticArray>(&bytes);
    }

    #[test]
    fn one_changed_byte_is_read_or_refused(at in 0_usize..1000, value: u8) {
        let mut bytes = bytes_of(&diagnostics("lid of the pump"));
        let at = at % bytes.len();
        bytes[at] = value;
        check_stable::<DiagnosticArray>(&bytes);
    }

    #[test]
    fn cut_bytes_are_refused(keep in 0_usize..1000) {
        let bytes = bytes_of(&diagnostics("lid"));
        let keep = keep % bytes.len();
        prop_assert!(decode::<DiagnosticArray>(&bytes[..keep]).is_err());
    }

    #[test]
    fn frames_round_trip(
        sequence: u64, sent_ns: i64, flags: u32,
        position_m in prop::array::uniform4(-1e6..1e6_f64),
        wave in prop::array::uniform4(-1e6..1e6_f64),
    ) {
        let frame = HapticFrame {
            sequence, sent_ns, flags, position_m, wave, ..HapticFrame::default()
        };
        prop_assert_eq!(decode_frame(&bytes_of(&frame)), Ok(frame));
    }

    #[test]
    fn texts_and_lists_round_trip(
        name in prop::collection::vec("\\PC{0,20}", 0..6),
        position in prop::collection::vec(-1e9..1e9_f64, 0..6),
        text in "\\PC{0,40}",
    ) {
        let joints = JointState { name, position, ..JointState::default() };
        prop_assert_eq!(decode(&bytes_of(&joints)), Ok(joints));
        let array = diagnostics(&text);
        prop_assert_eq!(decode(&bytes_of(&array)), Ok(array));
    }
}

prop_compose! {
    fn any_change()(element: u32, other: u32, by: [i16; 3], kind in 0..CHANGE_KINDS, toward in 0..NEIGHBOUR_DIRECTIONS) -> BatchChange {
        BatchChange { element, other, by, kind, toward }
    }
}

proptest! {
    #[test]
    fn edit_batches_round_trip(
        run: u64,
        number in 1_u64..,
        part in 0..BATCH_PARTS,
        changes in prop::collection::vec(any_change(), 0..40),
    ) {
        let batch = EditBatch { part, ..EditBatch::from_changes(run, number, changes) };
        let mut bytes = [0; EDIT_BATCH_BYTES];
        prop_assert_eq!(encode(&batch, &mut bytes), Ok(EDIT_BATCH_BYTES));
        prop_assert_eq!(decode_edit_batch(&bytes), Ok(batch));
        prop_assert!(decode_edit_batch(&bytes[..EDIT_BATCH_BYTES - 1]).is_err());
    }
}

#[test]
fn invalid_edit_batches_are_refused_by_field() {
    let good = EditBatch::from_changes(1, 1, [BatchChange::default()]);
    let refused = |batch: &EditBatch| {
        let bytes = bytes_of(batch);
        match decode_edit_batch(&bytes) {
            Err(DecodeError::EditBatch(error)) => error.field.replace(" of the edit batch", ""),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&EditBatch { number: 0, ..good }), "field number");
    assert_eq!(refused(&EditBatch { count: 33, ..good }), "field count");
    assert_eq!(
        refused(&EditBatch {
            part: BATCH_PARTS,
            ..good
        }),
        "field part"
    );
    let mut bad = good;
    bad.changes[0].kind = CHANGE_KINDS;
    assert_eq!(refused(&bad), "field kind");
    bad = good;
    bad.changes[0].toward = NEIGHBOUR_DIRECTIONS;
    assert_eq!(refused(&bad), "field toward");
    // changes beyond the count are not checked
    bad = good;
    bad.changes[1].kind = CHANGE_KINDS;
    assert_eq!(decode_edit_batch(&bytes_of(&bad)), Ok(bad));
}
