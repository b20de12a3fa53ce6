//! Writing volumes as NRRD, packed, which 3D Slicer, ITK and ParaView read.
//!
//! Source: Kindlmann, as the reader. Lengths are millimetres in the space left-posterior-superior.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Grid, Voxels};

/// A type of values that can be written.
pub trait Stored: Copy {
    /// Its name in a header.
    const NAME: &'static str;
    /// Appends it, low byte first.
    fn put(self, bytes: &mut Vec<u8>);
}

impl Stored for u16 {
    const NAME: &'static str = "uint16";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Stored for f32 {
    const NAME: &'static str = "float";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// A volume as a file; `content` says in one line what it is.
#[must_use]
pub fn write<T: Stored>(volume: &Voxels<T>, content: &str) -> Vec<u8> {
    let mut bytes = header(&volume.grid, T::NAME, content).into_bytes();
    let mut raw = Vec::with_capacity(volume.values.len() * size_of::<T>());
    volume.values.iter().for_each(|value| value.put(&mut raw));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // writing to memory cannot fail
    let _ = packed.write_all(&raw);
    bytes.extend(packed.finish().unwrap_or_default());
    bytes
}

fn header(grid: &Grid, kind: &str, content: &str) -> String {
    let vector = |at_m: &palpate_twin::Vec3| {
        // the fewest digits that read back as the same number of millimetres
        let [x, y, z] = <[f64; 3]>::from(at_m * 1e3);
        format!("({x:?},{y:?},{z:?})")
    };
    let line = |text: &str| text.replace(['\n', '\r'], " ");
    let [x, y, z] = grid.counts;
    let mut text = String::from("NRRD0004\n# written by palpate\n");
    // writing to a string cannot fail
    let _ = write!(
        text,
        "content: {}\ntype: {kind}\ndimension: 3\nspace: left-posterior-superior\nsizes: {x} {y} {z}\n\
         space directions: {}\nkinds: domain domain domain\nendian: little\nencoding: gzip\n\
         space units: \"mm\" \"mm\" \"mm\"\nspace origin: {}\n\n",
        line(content),
        grid.steps_m.each_ref().map(vector).join(" "),
        vector(&grid.origin_m),
    );
    text
}
