//! DICOM slices written element by element, and series of them.

use super::*;
use crate::volume::file::{dicom, series};

/// Fields of a slice in the tests.
#[derive(Clone)]
pub(super) struct SliceFields {
    pub(super) syntax: &'static str,
    pub(super) series: &'static str,
    pub(super) place: [f64; 3],
    pub(super) values: Vec<u16>,
    pub(super) signed: bool,
    pub(super) thickness: &'static str,
}

impl Default for SliceFields {
    fn default() -> Self {
        Self {
            syntax: "1.2.840.10008.1.2.1",
            series: "1.2.3",
            place: [-10.0, 5.0, 2.0],
            values: vec![1, 2, 3, 4, 5, 6],
            signed: false,
            thickness: "4",
        }
    }
}

const LONG: [&[u8; 2]; 3] = [b"OW", b"OB", b"SQ"];

/// An element with its kind of value, or without.
fn element(explicit: bool, tag: [u16; 2], vr: &[u8; 2], value: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = tag.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut value = value.to_vec();
    if value.len() % 2 == 1 {
        value.push(b' ');
    }
    let length = u32::try_from(value.len()).expect("short");
    match (explicit, LONG.contains(&vr)) {
        (true, true) => {
            bytes.extend(vr);
            bytes.extend([0, 0]);
            bytes.extend(length.to_le_bytes());
        }
        (true, false) => {
            bytes.extend(vr);
            bytes.extend(u16::try_from(length).expect("short").to_le_bytes());
        }
        (false, _) => bytes.extend(length.to_le_bytes()),
    }
    bytes.extend(value);
    bytes
}

pub(super) fn slice(given: &SliceFields) -> Vec<u8> {
    let explicit = given.syntax != "1.2.840.10008.1.2";
    let whole = |tag, value: u16| element(explicit, tag, b"US", &value.to_le_bytes());
    let text = |tag, vr, value: &str| element(explicit, tag, vr, value.as_bytes());
    let [x, y, z] = given.place;
    let pixels: Vec<u8> = given.values.iter().flat_map(|v| v.to_le_bytes()).collect();
    // a sequence of no stated length, with rows of its own that are not ours
    let mut nested: Vec<u8> = [0x08_u16, 0x1140]
        .iter()
        .flat_map(|h| h.to_le_bytes())
        .collect();
    if explicit {
        nested.extend(b"SQ\0\0");
    }
    nested.extend(u32::MAX.to_le_bytes());
    nested.extend([0xfe, 0xff, 0x00, 0xe0, 0xff, 0xff, 0xff, 0xff]);
    nested.extend(whole([0x28, 0x10], 99));
    nested.extend([0xfe, 0xff, 0x0d, 0xe0, 0, 0, 0, 0]);
    nested.extend([0xfe, 0xff, 0xdd, 0xe0, 0, 0, 0, 0]);
    [
        vec![0; 128],
        b"DICM".to_vec(),
        element(true, [0x02, 0x10], b"UI", given.syntax.as_bytes()),
        nested,
        text([0x18, 0x50], b"DS", given.thickness),
        text([0x20, 0x0e], b"UI", given.series),
        text([0x20, 0x32], b"DS", &format!("{x}\\{y}\\{z}")),
        text([0x20, 0x37], b"DS", "1\\0\\0\\0\\1\\0"),
        whole([0x28, 0x02], 1),
        whole([0x28, 0x10], 2),
        whole([0x28, 0x11], 3),
        text([0x28, 0x30], b"DS", "0.5\\0.25"),
        whole([0x28, 0x100], 16),
        whole([0x28, 0x101], 12),
        whole([0x28, 0x103], u16::from(given.signed)),
        text([0x28, 0x1052], b"DS", "-100"),
        text([0x28, 0x1053], b"DS", "2"),
        element(explicit, [0x7fe0, 0x10], b"OW", &pixels),
    ]
    .concat()
}

fn named(given: &[SliceFields]) -> Vec<(String, Vec<u8>)> {
    let one = |(nth, given): (usize, &SliceFields)| (format!("{nth}.dcm"), slice(given));
    given.iter().enumerate().map(one).collect()
}

fn at(z: f64) -> SliceFields {
    SliceFields {
        place: [-10.0, 5.0, z],
        values: vec![z as u16; 6],
        ..SliceFields::default()
    }
}

#[test]
fn a_slice_is_read_in_both_syntaxes() {
    let mut given = SliceFields::default();
    for syntax in ["1.2.840.10008.1.2.1", "1.2.840.10008.1.2"] {
        given.syntax = syntax;
        let volume = read(VolumeFormat::Dicom, &slice(&given)).expect("readable");
        assert_eq!(volume.values, [-98.0, -96.0, -94.0, -92.0, -90.0, -88.0]);
        assert_eq!(volume.grid.counts, [3, 2, 1]);
        // distance of rows is stated first
        let spacing_mm = volume.grid.spacing_m().map(|x| x * 1e3);
        assert!(
            spacing_mm
                .iter()
                .zip([0.25, 0.5, 4.0])
                .all(|(a, b)| (a - b).abs() < 1e-9)
        );
        assert!((volume.grid.origin_m - Vec3::new(-0.01, 5e-3, 2e-3)).amax() < 1e-12);
    }
    // twelve bits are stored: those above are not the image's, and the highest of them is a sign
    given.values = vec![0xf001, 0x0fff, 0, 0, 0, 0];
    given.signed = true;
    let volume = read(VolumeFormat::Dicom, &slice(&given)).expect("readable");
    assert_eq!(volume.values[..2], [-98.0, -102.0]);
}

#[test]
fn series_is_sorted_by_slice_position() {
    let mut files = named(&[at(6.0), at(0.0), at(3.0)]);
    files.push(("notes.txt".into(), b"no image".to_vec()));
    let volume = series::read(&files).expect("readable");
    assert_eq!(volume.grid.counts, [3, 2, 3]);
    let firsts: Vec<f32> = volume.values.iter().step_by(6).copied().collect();
    assert_eq!(firsts, [-100.0, -94.0, -88.0]);
    assert!((volume.grid.steps_m[2] - Vec3::new(0.0, 0.0, 3e-3)).amax() < 1e-12);
    assert!(volume.grid.is_right_handed());
}

#[test]
fn series_that_do_not_fit_name_the_slice() {
    let message =
        |given: &[SliceFields]| series::read(&named(given)).expect_err("unfit").to_string();
    let gap = message(&[at(0.0), at(1.0), at(3.0), at(4.0)]);
    assert!(
        gap.contains("dcm: ImagePositionPatient") && gap.contains("missing"),
        "{gap}"
    );
    assert!(message(&[at(0.0), at(1.0), at(1.0), at(2.0)]).contains("there twice"));
    let other = SliceFields {
        series: "9.9",
        ..at(1.0)
    };
    let other = message(&[at(0.0), other]);
    assert!(
        other.contains("1.dcm: SeriesInstanceUID is 9.9; expected 1.2.3"),
        "{other}"
    );
    let flat = SliceFields {
        thickness: "0",
        ..at(1.0)
    };
    assert!(message(&[flat]).contains("0.dcm: SliceThickness"));
    let packed = SliceFields {
        syntax: "1.2.840.10008.1.2.4.70",
        ..at(1.0)
    };
    assert!(message(&[packed]).contains("values that are not packed"));
    let short = SliceFields {
        values: vec![0; 3],
        ..at(1.0)
    };
    assert!(message(&[short]).contains("PixelData is 6 bytes; expected 12"));
    let none = series::read(&[("a.txt".into(), vec![1; 500])]).expect_err("none");
    assert!(none.to_string().contains("slices is missing"), "{none}");
}

/// A length beyond the file is an error, not memory.
#[test]
fn excessive_length_is_refused() {
    let mut bytes = slice(&SliceFields::default());
    let at = bytes.len() - 12 - 4;
    bytes[at..at + 4].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    let error = dicom::read(&bytes).expect_err("too long").to_string();
    assert!(
        error.contains("length of (7fe0,0010) is 4294967280"),
        "{error}"
    );
}
