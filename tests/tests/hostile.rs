//! Hostile input: thousands of mutations of every file format that a user can pass. Each is read or refused; none
//! panics or takes more memory than the limit.
//!
//! The cases follow from their numbers. `.ci/run` bounds the time of all. Source: ours.

use std::ffi::OsStr;
use std::io::{Cursor, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::sys::resource::{Resource, setrlimit};
use palpate_console::rehearsal::script::{self, RehearsalScript};
use palpate_geometry::mesh::file::{self as mesh_file, MeshFormat};
use palpate_geometry::mesh::{Units, fem_file, plg_file};
use palpate_geometry::volume::file::{self as volume_file, VolumeFormat, nrrd_write};
use palpate_geometry::volume::phantom::LimbPhantom;
use palpate_session::config::Config;
use palpate_session::keys::{self, KeyFolderError};
use palpate_session::record::{self, Recorder, RecordingHeader};
use palpate_study::trial::{self, Trial};
use palpate_transport::link::{LinkParams, trace};
use palpate_transport::trace::{Side, TickRecord};
use palpate_twin::lattice::fixture;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Mutations of each format.
const CASES: u64 = 1000;

/// Memory of the process, its program included \[bytes\].
const MEMORY_MAX: u64 = 2 << 30;

/// Numbers that a field does not expect.
const NUMBERS: [&str; 14] = [
    "1e300",
    "-1e300",
    "1e-300",
    "nan",
    "-inf",
    "0",
    "-1",
    "-0.0",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "99999999999999999999999",
    "0x7fffffff",
    "\"text\"",
];

/// Format with valid files, and its reader.
#[derive(Clone)]
struct Format {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    /// True if the bytes are valid.
    read: fn(&[u8]) -> bool,
}

fn texts(built_in: &[(&str, &str)]) -> Vec<Vec<u8>> {
    built_in
        .iter()
        .map(|(_, text)| text.as_bytes().to_vec())
        .collect()
}

/// Bytes as text, as a file of text is read.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn recording() -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = RecordingHeader {
        sides: vec![Side::Master, Side::Slave],
        config: Config::default().to_toml(),
        ..RecordingHeader::default()
    };
    let mut recorder = Recorder::create(Cursor::new(&mut bytes), &header).expect("memory");
    for tick in 0..40 {
        for side in header.sides.clone() {
            let now_ns = 1_000_000 * tick as i64;
            let record = TickRecord {
                side,
                tick,
                now_ns,
                ..TickRecord::default()
            };
            recorder.push(&record).expect("memory");
        }
    }
    recorder.finish(Some("{}")).expect("memory");
    bytes
}

fn mesh(format: MeshFormat) -> Vec<u8> {
    let bytes = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim-twin/scene/scenes/mound.msh"),
    );
    let bytes = bytes.expect("a mesh");
    if format == MeshFormat::Msh {
        return bytes;
    }
    let mesh = mesh_file::read(MeshFormat::Msh, &bytes, &Units::SI).expect("a mesh");
    let written = mesh_file::write(format, &mesh.into(), &Units::SI).expect("writable");
    written.unwrap_or_else(|| b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n".to_vec())
}

/// One NIfTI-1 volume of 2 x 2 x 2 voxels.
fn nifti() -> Vec<u8> {
    let mut bytes = vec![0; 352];
    bytes[..4].copy_from_slice(&348_i32.to_le_bytes());
    for (number, size) in [3_i16, 2, 2, 2, 1, 1, 1, 1].into_iter().enumerate() {
        bytes[40 + 2 * number..42 + 2 * number].copy_from_slice(&size.to_le_bytes());
    }
    bytes[70..72].copy_from_slice(&16_i16.to_le_bytes());
    bytes[72..74].copy_from_slice(&32_i16.to_le_bytes());
    for number in 0..8 {
        bytes[76 + 4 * number..80 + 4 * number].copy_from_slice(&1_f32.to_le_bytes());
    }
    bytes[108..112].copy_from_slice(&352_f32.to_le_bytes());
    bytes[344..348].copy_from_slice(b"n+1\0");
    bytes.extend([0; 32]);
    bytes
}

/// Explicit little-endian DICOM slice with a few elements.
fn dicom() -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes.extend(b"DICM");
    let mut short = |group: u16, element: u16, vr: &[u8; 2], value: &[u8]| {
        bytes.extend(group.to_le_bytes());
        bytes.extend(element.to_le_bytes());
        bytes.extend(vr);
        if matches!(vr, b"OW" | b"OB") {
            bytes.extend([0, 0]);
            bytes.extend((value.len() as u32).to_le_bytes());
        } else {
            bytes.extend((value.len() as u16).to_le_bytes());
        }
        bytes.extend(value);
    };
    short(0x0002, 0x0010, b"UI", b"1.2.840.10008.1.2.1\0");
    short(0x0018, 0x0050, b"DS", b"1 ");
    short(0x0020, 0x000e, b"UI", b"1.2\0");
    short(0x0020, 0x0032, b"DS", b"0\\0\\0 ");
    short(0x0020, 0x0037, b"DS", b"1\\0\\0\\0\\1\\0 ");
    short(0x0028, 0x0010, b"US", &2_u16.to_le_bytes());
    short(0x0028, 0x0011, b"US", &2_u16.to_le_bytes());
    short(0x0028, 0x0030, b"DS", b"1\\1 ");
    short(0x0028, 0x0100, b"US", &16_u16.to_le_bytes());
    short(0x0028, 0x0101, b"US", &16_u16.to_le_bytes());
    short(0x0028, 0x0103, b"US", &0_u16.to_le_bytes());
    short(0x7fe0, 0x0010, b"OW", &[0; 8]);
    bytes
}

fn volume() -> Vec<u8> {
    let phantom = LimbPhantom {
        spacing_m: 8e-3,
        ..LimbPhantom::default()
    };
    let labels = phantom.labels().expect("a phantom");
    nrrd_write::write(&labels, "hostile")
}

fn text_formats() -> Vec<Format> {
    vec![
        Format {
            name: "configuration",
            seeds: vec![Config::default().to_toml().into_bytes()],
            read: |bytes| {
                let config = text(bytes).map(|text| Config::parse(text, "hostile"));
                config.is_some_and(|config| config.is_ok_and(|config| config.validate().is_ok()))
            },
        },
        Format {
            name: "scene",
            seeds: texts(palpate_scene::BUILT_IN),
            read: |bytes| text(bytes).is_some_and(|text| palpate_scene::load(text).is_ok()),
        },
        Format {
            name: "trial",
            seeds: texts(trial::BUILT_IN.texts),
            read: |bytes| text(bytes).is_some_and(|text| Trial::parse(text, "hostile").is_ok()),
        },
        Format {
            name: "script",
            seeds: texts(script::BUILT_IN.texts),
            read: |bytes| {
                let parse = |text, name| RehearsalScript::parse(text, name).is_ok();
                let all = text(bytes).map(|text| [parse(text, "a.toml"), parse(text, "a.json")]);
                all.is_some_and(|all| all.contains(&true))
            },
        },
        Format {
            name: "network trace",
            seeds: vec![b"at_s,oneway_ms,loss\n0,20,0\n0.5,80,0.1\n".to_vec()],
            read: |bytes| {
                let link = LinkParams::default();
                text(bytes).is_some_and(|text| trace::parse(text, link, link).is_ok())
            },
        },
    ]
}

fn binary_formats() -> Vec<Format> {
    let lattice = fixture::regular();
    let atoms = fem_file::write(&lattice, &Units::SI).expect("a lattice");
    vec![
        Format {
            name: "lattice",
            seeds: vec![atoms.into()],
            read: |bytes| fem_file::read(bytes, &Units::SI).is_ok(),
        },
        Format {
            name: "lattice faces",
            seeds: vec![plg_file::write(&lattice, &Units::SI).expect("faces").into()],
            read: |bytes| {
                let atoms = fem_file::write(&fixture::regular(), &Units::SI).expect("a lattice");
                plg_file::read_pair(atoms.as_ref(), bytes, &Units::SI).is_ok()
            },
        },
        Format {
            name: "volume",
            seeds: vec![volume(), nifti(), dicom()],
            read: |bytes| {
                let formats = [VolumeFormat::Nrrd, VolumeFormat::Nifti, VolumeFormat::Dicom];
                let read = formats.map(|format| volume_file::read(format, bytes).is_ok());
                read.contains(&true)
            },
        },
        Format {
            name: "recording",
            seeds: vec![recording()],
            read: |bytes| {
                let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
                file.write_all(bytes).expect("writable");
                record::read(file.path()).is_ok()
            },
        },
    ]
}

fn mesh_formats() -> Vec<Format> {
    macro_rules! meshes {
        ($($name:literal $format:ident),+) => {
            vec![$(Format {
                name: $name,
                seeds: vec![mesh(MeshFormat::$format)],
                read: |bytes| mesh_file::read(MeshFormat::$format, bytes, &Units::SI).is_ok(),
            }),+]
        };
    }
    meshes!("msh" Msh, "vtu" Vtu, "obj" Obj, "stl" Stl, "ply" Ply)
}

/// Folders of keys of two hosts; the first trusts the second, may trust it as one side only, and has a guest.
fn key_folders() -> &'static [PathBuf; 2] {
    static FOLDERS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let root = tempfile::tempdir().expect("a temporary folder").keep();
        let folders = ["operator", "robot"].map(|name| root.join(name));
        keys::make_pair(&root, ["operator", "robot"]).expect("made");
        keys::invite(&folders[0], "viewer").expect("invited");
        folders
    })
}

/// Reads the keys of the first host, with other bytes in one file.
fn read_with(name: &str, bytes: &[u8]) -> bool {
    let [near, _] = key_folders();
    let path = near.join(name);
    let kept = std::fs::read(&path).ok();
    std::fs::write(&path, bytes).expect("writable");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, mode).expect("own file");
    let is_read = keys::read(near).is_ok();
    match kept {
        Some(kept) => std::fs::write(&path, kept).expect("writable"),
        None => std::fs::remove_file(&path).expect("own file"),
    }
    is_read
}

/// Keys of secured sessions. Lines of the agreement on a seal are mutated in `seal_agreement.rs`.
fn key_formats() -> Vec<Format> {
    let file = |name: &str| std::fs::read(key_folders()[0].join(name)).expect("made");
    vec![
        Format {
            name: "certificate",
            seeds: vec![file("host.pem")],
            read: |bytes| read_with("host.pem", bytes),
        },
        Format {
            name: "certificate of a guest",
            seeds: vec![file("guests/viewer/guest.pem")],
            read: |bytes| read_with("guests/viewer/guest.pem", bytes),
        },
        Format {
            name: "private key",
            seeds: vec![file("host.key")],
            read: |bytes| read_with("host.key", bytes),
        },
        Format {
            name: "trusted host",
            seeds: vec![file("trusted/robot.pem")],
            read: |bytes| read_with("trusted/robot.pem", bytes),
        },
        Format {
            name: "side of a trusted host",
            seeds: vec![b"master".to_vec(), b"slave\n".to_vec()],
            read: |bytes| read_with("trusted/robot.only", bytes),
        },
        Format {
            name: "name of a revoked guest",
            seeds: vec![b"visitor".to_vec(), b"guest-2".to_vec()],
            read: |bytes| {
                let [near, _] = key_folders();
                let name = OsStr::from_bytes(bytes);
                let revoked = near.join("revoked").join(name);
                // a name with a slash could lie elsewhere
                if bytes.contains(&b'/') || std::fs::create_dir_all(&revoked).is_err() {
                    return false;
                }
                let is_spent = name.to_str().is_some_and(|name| {
                    matches!(keys::invite(near, name), Err(KeyFolderError::Spent { .. }))
                });
                let is_read = keys::read(near).is_ok();
                // the folder itself for a name without characters
                let _ = std::fs::remove_dir(&revoked);
                is_spent && is_read
            },
        },
    ]
}

/// All formats.
fn formats() -> Vec<Format> {
    let keys = key_formats();
    [text_formats(), binary_formats(), mesh_formats(), keys].concat()
}

/// Random numbers of one case.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        (self.0.next_u64() % most.max(1) as u64) as usize
    }

    /// A range of bytes, mostly short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = if self.below(4) == 0 { length } else { 40 };
        start..(start + self.below(most)).min(length)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.next_u64() as u8).collect()
    }
}

/// Range of the first number in the bytes at or after a place.
fn number_at(bytes: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
    let start = from + bytes.get(from..)?.iter().position(u8::is_ascii_digit)?;
    let is_part = |byte: &u8| byte.is_ascii_digit() || b".eE-+".contains(byte);
    let length = bytes[start..]
        .iter()
        .take_while(|byte| is_part(byte))
        .count();
    Some(start..start + length)
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    let length = bytes.len();
    let at = draw.below(length);
    match draw.below(9) {
        0 if length > 0 => bytes[at] ^= 1 << draw.below(8),
        1 if length > 0 => bytes[at] = [0, 255, 127, 128, b'\n', b'"', b'-'][draw.below(7)],
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(draw.range(length))),
        4 => {
            let part = bytes[draw.range(length)].to_vec();
            let times = 1 + draw.below(8);
            bytes.splice(at..at, part.repeat(times));
        }
        5 => {
            let count = 1 + draw.below(16);
            let part = draw.bytes(count);
            bytes.splice(at..at, part);
        }
        6 => {
            let part = other[draw.range(other.len())].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            if let Some(number) = number_at(bytes, at) {
                let text = NUMBERS[draw.below(NUMBERS.len())];
                bytes.splice(number, text.bytes());
            }
        }
    }
}

fn case(format: &Format, number: u64) -> Vec<u8> {
    let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(number));
    let seeds = &format.seeds;
    let mut bytes = seeds[draw.below(seeds.len())].clone();
    let other = &seeds[draw.below(seeds.len())];
    for _ in 0..=draw.below(4) {
        mutate(&mut bytes, other, &mut draw);
    }
    bytes
}

#[test]
fn mutations_of_every_format_are_read_or_refused() {
    setrlimit(Resource::RLIMIT_AS, MEMORY_MAX, MEMORY_MAX).expect("a lower limit");
    let formats = formats();
    assert!(formats.len() as u64 * CASES >= 10_000);
    for format in &formats {
        // not captured, so that it is seen after an abort for lack of memory
        let _ = writeln!(std::io::stderr(), "hostile {}", format.name);
        for (number, seed) in format.seeds.iter().enumerate() {
            assert!(
                (format.read)(seed),
                "valid file {number} of {}",
                format.name
            );
        }
        for number in 0..CASES {
            let bytes = case(format, number);
            let read = catch_unwind(AssertUnwindSafe(|| (format.read)(&bytes)));
            assert!(
                read.is_ok(),
                "{} {number}: {:?}",
                format.name,
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}
