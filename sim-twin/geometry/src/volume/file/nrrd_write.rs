//! Writer of NRRD files, compressed, which 3D Slicer, ITK and ParaView read.
//!
//! Source: Kindlmann, as in the reader. Lengths are millimetres in the space left-posterior-superior.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{VoxelGrid, VoxelVolume};

/// Type of values that can be written.
pub trait NrrdValue: Copy {
    /// Its name in a header.
    const TYPE_NAME: &'static str;
    /// Appends the value, little endian.
    fn write_le(self, bytes: &mut Vec<u8>);
}

impl NrrdValue for u16 {
    const TYPE_NAME: &'static str = "uint16";
    fn write_le(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl NrrdValue for f32 {
    const TYPE_NAME: &'static str = "float";
    fn write_le(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// Writes a volume as a file; `content` is a description of one line.
#[must_use]
pub fn write<T: NrrdValue>(volume: &VoxelVolume<T>, content: &str) -> Vec<u8> {
    let mut bytes = header(&volume.grid, T::TYPE_NAME, content).into_bytes();
    let mut raw = Vec::with_capacity(volume.values.len() * size_of::<T>());
    volume
        .values
        .iter()
        .for_each(|value| value.write_le(&mut raw));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // writing to memory cannot fail
    let _ = packed.write_all(&raw);
    bytes.extend(packed.finish().unwrap_or_default());
    bytes
}

fn header(grid: &VoxelGrid, kind: &str, content: &str) -> String {
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
