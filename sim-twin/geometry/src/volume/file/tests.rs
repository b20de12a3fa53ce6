//! Volume files: round trips, known layouts, and damaged files without a panic.

use super::nrrd_write;
use super::*;
use palpate_twin::Vec3;
use proptest::prelude::*;

mod slices;

fn labels() -> VoxelVolume<u16> {
    let grid = VoxelGrid {
        counts: [3, 4, 2],
        origin_m: Vec3::new(0.0125, -0.03, 0.4),
        steps_m: [
            Vec3::new(0.0, 1e-3, 0.0),
            Vec3::new(-2e-3, 0.0, 0.0),
            Vec3::new(0.0, 0.0, 2.5e-3),
        ],
    };
    VoxelVolume::new(grid, (0..24).map(|n| n * 2711).collect()).expect("fits")
}

/// Checks that values are equal, and positions up to rounding.
fn assert_same(a: &VoxelVolume<f32>, b: &VoxelVolume<f32>) {
    assert_eq!(a.values, b.values);
    assert_eq!(a.grid.counts, b.grid.counts);
    assert!((a.grid.origin_m - b.grid.origin_m).amax() < 1e-9);
    let steps = a.grid.steps_m.iter().zip(&b.grid.steps_m);
    assert!(steps.map(|(a, b)| (a - b).amax()).all(|apart| apart < 1e-9));
}

fn error_text(error: &Defect) -> String {
    error.to_string()
}

#[test]
fn nrrd_round_trips() {
    let labels = labels();
    let bytes = nrrd_write::write(&labels, "a test\nof two lines");
    let again = read(VolumeFormat::Nrrd, &bytes).expect("readable");
    assert_same(&again, &labels.map(f32::from));
    let intensities = labels.map(|label| f32::from(label) * 0.1);
    let bytes = nrrd_write::write(&intensities, "floats");
    assert_same(
        &read(VolumeFormat::Nrrd, &bytes).expect("readable"),
        &intensities,
    );
}

#[test]
fn nrrd_headers_are_read_as_specified() {
    let text = "NRRD0005\r\n# a comment\r\ntype: short\r\ndimension: 3\r\nsizes: 2 1 2\r\n\
                space: RAS\r\nspace directions: (1,0,0) (0,2,0)  (0,0,3)\r\nspace origin: (10,20,30)\r\n\
                key:=value\r\nencoding: raw\r\nendian: big\r\n\r\n";
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0xff, 0xff, 0, 2, 1, 0, 0, 4]);
    let volume = nrrd::read(&bytes).expect("readable");
    assert_eq!(volume.values, [-1.0, 2.0, 256.0, 4.0]);
    assert!((volume.grid.origin_m - Vec3::new(-0.01, -0.02, 0.03)).amax() < 1e-12);
    assert!((volume.grid.steps_m[1] - Vec3::new(0.0, -2e-3, 0.0)).amax() < 1e-12);
    let plain = b"NRRD0001\ntype: float\ndimension: 3\nsizes: 2 1 1\nspacings: 1 1 4\n\
                  space units: \"cm\" \"cm\" \"cm\"\nencoding: ascii\n\n1.5 -2e3\n";
    let volume = nrrd::read(plain).expect("readable");
    assert_eq!(volume.values, [1.5, -2000.0]);
    assert_eq!(volume.grid.spacing_m(), [0.01, 0.01, 0.04]);
}

#[test]
fn nrrd_refusals_name_the_field() {
    let text =
        "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 1\nspacings: 1 1 1\nencoding: raw\n\nabcd";
    assert!(nrrd::read(text.as_bytes()).is_ok());
    for (from, to, expected) in [
        ("NRRD0004", "NRRD0009", "magic is `NRRD0009`"),
        ("uint8", "block", "type is `block`"),
        ("dimension: 3", "dimension: 4", "dimension is `4`"),
        ("2 2 1", "2 -2 1", "sizes is `2 -2 1`"),
        ("2 2 1", "2 2", "sizes is `2 2`"),
        ("2 2 1", "9999999 9999999 9", "sizes"),
        ("2 2 1", "2 3 1", "data is 4 bytes; expected 6"),
        ("1 1 1", "1 0 1", "spacings is `1 0 1`"),
        ("1 1 1", "1 1 1e9", "is the unit right?"),
        ("raw", "bzip2", "encoding is `bzip2`"),
        ("raw", "gzip", "data is"),
        ("raw\n\n", "raw\n", "end of header is missing"),
        ("encoding", "space: moon\nencoding", "space is `moon`"),
        (
            "encoding",
            "data file: x.raw\nencoding",
            "data file is `x.raw`",
        ),
        ("encoding", "type: uint8\nencoding", "to be given once"),
        ("type: uint8\n", "", "type is missing"),
        ("uint8", "uint16", "data is 4 bytes; expected 8"),
    ] {
        let damaged = text.replacen(from, to, 1);
        let error = nrrd::read(damaged.as_bytes()).expect_err(expected);
        assert!(error_text(&error).contains(expected), "{expected}: {error}");
    }
    let wide = "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\n\nab";
    let error = nrrd::read(wide.as_bytes()).expect_err("no endian");
    assert!(error_text(&error).contains("endian is missing"), "{error}");
}

/// A NIfTI-1 file as nifti1.h lays it out, low byte first.
fn nifti(kind: i16, dim: [i16; 4], sform: bool, values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 352];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0, &348_i32.to_le_bytes());
    for (nth, count) in dim.iter().enumerate() {
        put(40 + 2 * nth, &count.to_le_bytes());
    }
    put(70, &kind.to_le_bytes());
    for (nth, length) in [1.0_f32, 2.0, 3.0, 4.0].iter().enumerate() {
        put(76 + 4 * nth, &length.to_le_bytes());
    }
    put(108, &352.0_f32.to_le_bytes());
    put(112, &2.0_f32.to_le_bytes());
    put(116, &0.5_f32.to_le_bytes());
    put(123, &[2]);
    let code: i16 = 1;
    if sform {
        put(254, &code.to_le_bytes());
        let rows = [
            [2.0_f32, 0.0, 0.0, -5.0],
            [0.0, 3.0, 0.0, 6.0],
            [0.0, 0.0, 4.0, 7.0],
        ];
        for (nth, value) in rows.iter().flatten().enumerate() {
            put(280 + 4 * nth, &value.to_le_bytes());
        }
    } else {
        put(252, &code.to_le_bytes());
        // half a turn about the file's x axis
        put(256, &1.0_f32.to_le_bytes());
        put(268, &8.0_f32.to_le_bytes());
    }
    put(344, b"n+1\0");
    bytes.extend(values);
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

#[test]
fn nifti_positions_and_values_are_read_as_specified() {
    let bytes = nifti(512, [3, 2, 1, 2], true, &[1, 0, 2, 0, 0, 1, 4, 0]);
    for bytes in [packed(&bytes), bytes] {
        let volume = read(VolumeFormat::Nifti, &bytes).expect("readable");
        assert_eq!(volume.values, [2.5, 4.5, 512.5, 8.5]);
        assert_eq!(volume.grid.counts, [2, 1, 2]);
        // right and forward there are left and back here, with the sign turned
        assert!((volume.grid.origin_m - Vec3::new(5e-3, -6e-3, 7e-3)).amax() < 1e-9);
        assert!((volume.grid.steps_m[0] - Vec3::new(-2e-3, 0.0, 0.0)).amax() < 1e-9);
    }
    let turned = nifti(2, [3, 2, 1, 1], false, &[7, 9]);
    let volume = nifti::read(&turned).expect("readable");
    let steps_mm = volume.grid.steps_m.map(|step_m| step_m * 1e3);
    assert!((steps_mm[0] - Vec3::new(-2.0, 0.0, 0.0)).amax() < 1e-6);
    assert!((steps_mm[1] - Vec3::new(0.0, 3.0, 0.0)).amax() < 1e-6);
    assert!((steps_mm[2] - Vec3::new(0.0, 0.0, -4.0)).amax() < 1e-6);
    assert!((volume.grid.origin_m.x + 8e-3).abs() < 1e-9);
}

#[test]
fn nifti_refusals_name_the_field() {
    let good = nifti(2, [3, 2, 1, 1], true, &[7, 9]);
    let with = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        error_text(&nifti::read(&bytes).expect_err("damaged"))
    };
    assert!(with(0, &540_i32.to_le_bytes()).contains("NIfTI-2"));
    assert!(with(0, &7_i32.to_le_bytes()).contains("sizeof_hdr is 7"));
    assert!(with(344, b"ni1\0").contains("one file"));
    assert!(with(344, b"none").contains("magic"));
    assert!(with(70, &128_i16.to_le_bytes()).contains("datatype is 128"));
    assert!(with(40, &2_i16.to_le_bytes()).contains("dim is"));
    assert!(with(42, &30000_i16.to_le_bytes()).contains("data is 2 bytes; expected 30000 bytes"));
    assert!(with(108, &f32::NAN.to_le_bytes()).contains("vox_offset is NaN"));
    assert!(with(280, &f32::NAN.to_le_bytes()).contains("spacing"));
    assert!(with(123, &[5]).contains("xyzt_units is 5"));
    let short = nifti::read(&good[..351]).expect_err("short");
    assert!(error_text(&short).contains("header is 351 bytes"));
    // a compressed file with a huge stated size is an error and uses no memory
    let bomb = nifti(2, [3, 30000, 4000, 1], true, &[7, 9]);
    assert!(error_text(&nifti::read(&packed(&bomb)).expect_err("short")).contains("out of gzip"));
}

#[test]
fn extensions_select_the_format() {
    assert_eq!(
        VolumeFormat::from_name("a.b/limb.NRRD"),
        Some(VolumeFormat::Nrrd)
    );
    assert_eq!(
        VolumeFormat::from_name("x.nii.gz"),
        Some(VolumeFormat::Nifti)
    );
    assert_eq!(VolumeFormat::from_name("x.gz"), None);
    assert_eq!(VolumeFormat::from_name("nrrd"), None);
}

fn garbled(bytes: &[u8], cuts: &[(usize, u8)], end: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(at, byte) in cuts {
        let at = at % bytes.len();
        bytes[at] = byte;
    }
    bytes.truncate(bytes.len() - end % bytes.len());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A damaged file is read as a volume no larger than its bytes allow, or refused.
    #[test]
    fn damaged_files_are_refused_or_read(
        cuts in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        end in prop_oneof![Just(0_usize), any::<usize>()],
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let values: Vec<u8> = (0..8).collect();
        let plain = nifti(512, [3, 2, 1, 2], true, &values);
        let slice = slices::slice(&slices::SliceFields::default());
        for (format, bytes) in [
            (VolumeFormat::Nrrd, nrrd_write::write(&labels(), "x")),
            (VolumeFormat::Nifti, packed(&plain)),
            (VolumeFormat::Nifti, plain),
            (VolumeFormat::Dicom, slice),
            (VolumeFormat::Dicom, [&[0; 128][..], b"DICM", &noise].concat()),
            (VolumeFormat::Nrrd, noise.clone()),
            (VolumeFormat::Nifti, noise.clone()),
        ] {
            if bytes.is_empty() {
                continue;
            }
            if let Ok(volume) = read(format, &garbled(&bytes, &cuts, end)) {
                prop_assert_eq!(volume.values.len(), volume.grid.len());
            }
        }
    }
}
