//! Reader of NRRD files: a text header followed by values.
//!
//! Source: Kindlmann, "Definition of NRRD File Format" (teem.sourceforge.net/nrrd/format.html), versions 1 to 5:
//! three dimensions of scalars, encodings `raw`, `gzip` and `ascii`, header and values in one file. Written here
//! since the crates of that name are not maintained. Lengths without a unit are millimetres, as in imaging programs.

use std::collections::BTreeMap;

use flate2::bufread::MultiGzDecoder;

use super::gzip;
use super::{VOXELS_MAX, VoxelGrid, VoxelVolume, finite, text_error, values_of};
use crate::Defect;
use crate::number::{NumberFormat, parse, words};
use palpate_twin::Vec3;

/// Longest header.
const HEADER_MAX: usize = 1 << 20;

/// Reads a volume.
///
/// # Errors
/// [`Defect`] naming field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<VoxelVolume<f32>, Defect> {
    let (rows, rest) = split(bytes)?;
    let header = Header::of(&rows)?;
    let grid = header.grid()?;
    grid.check()?;
    VoxelVolume::new(grid, header.values(grid.len(), rest)?)
}

/// Splits a file into the lines of the header and the bytes after its empty line.
fn split(bytes: &[u8]) -> Result<(Vec<&[u8]>, &[u8]), Defect> {
    let magic = bytes.get(..8).unwrap_or(bytes);
    let known = magic.starts_with(b"NRRD000")
        && magic
            .get(7)
            .is_some_and(|digit| (b'1'..=b'5').contains(digit));
    if !known {
        return Err(text_error("magic", magic, "NRRD0001 to NRRD0005"));
    }
    let mut rows = Vec::new();
    let mut rest = bytes;
    while bytes.len() - rest.len() < HEADER_MAX {
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            let expected = "an empty line, and values behind it";
            return Err(Defect::missing("end of header", expected));
        };
        let row = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        if row.is_empty() {
            return Ok((rows, rest));
        }
        rows.push(row);
    }
    let expected = format!("an empty line within {HEADER_MAX} bytes");
    Err(Defect::missing("end of header", expected))
}

/// Header fields that describe the values; `units` is another spelling of `space units`.
const FIELDS: [&str; 10] = [
    "type",
    "dimension",
    "sizes",
    "encoding",
    "endian",
    "space",
    "space directions",
    "space origin",
    "spacings",
    "space units",
];

/// Header fields of a file, as texts.
#[derive(Debug, Default)]
struct Header<'a> {
    values: BTreeMap<&'static str, &'a str>,
}

impl<'a> Header<'a> {
    fn of(rows: &[&'a [u8]]) -> Result<Self, Defect> {
        let mut header = Self::default();
        for row in rows.iter().skip(1) {
            if row.starts_with(b"#") {
                continue;
            }
            let expected = "a line `field: value` or `key:=value` in UTF-8";
            let text = std::str::from_utf8(row).map_err(|_| text_error("header", row, expected))?;
            let Some((field, value)) = text.split_once(':') else {
                return Err(text_error("header", row, expected));
            };
            if value.starts_with('=') {
                continue;
            }
            let value = value.trim();
            let refuse = |expected: &str| Err(text_error(field, value.as_bytes(), expected));
            // a few fields have two spellings
            let name = match field.trim() {
                "data file" | "datafile" => {
                    return refuse("values in the same file, behind the header");
                }
                "line skip" | "lineskip" | "byte skip" | "byteskip" if value != "0" => {
                    return refuse("0");
                }
                "units" => "space units",
                name => name,
            };
            let known = FIELDS.into_iter().find(|known| *known == name);
            if let Some(known) = known
                && header.values.insert(known, value).is_some()
            {
                return refuse("to be given once");
            }
        }
        Ok(header)
    }

    fn get(&self, field: &str) -> Option<&'a str> {
        self.values.get(field).copied()
    }

    /// Reads an optional field with `value`.
    fn optional<T>(
        &self,
        field: &str,
        expected: &str,
        value: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Defect> {
        let wrong = |text: &str| text_error(field, text.as_bytes(), expected);
        let text = self.get(field);
        text.map(|text| value(text).ok_or_else(|| wrong(text)))
            .transpose()
    }

    /// Reads a required field with `value`.
    fn field<T>(
        &self,
        field: &str,
        expected: &str,
        value: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Defect> {
        let value = self.optional(field, expected, value)?;
        value.ok_or_else(|| Defect::missing(field, expected))
    }

    fn grid(&self) -> Result<VoxelGrid, Defect> {
        if self.get("dimension").is_none() {
            return Err(Defect::missing("dimension", "`dimension: 3`"));
        }
        let three_d = |text: &str| (text == "3").then_some(());
        self.field("dimension", "3: scalars in a volume", three_d)?;
        if self.get("sizes").is_none() {
            return Err(Defect::missing("sizes", "three whole numbers"));
        }
        let count = |word: &str| word.parse().ok().filter(|&n| n <= VOXELS_MAX);
        let expected = "three whole numbers, as the dimension says";
        let counts = self.field("sizes", expected, |text| three(text, count))?;
        let unit_m = self.unit_m()?;
        let expected = "three vectors (x,y,z) of numbers";
        let steps_m = match self.optional("space directions", expected, vectors)? {
            Some(steps_m) => steps_m,
            None => self.spacings()?,
        };
        let expected = "a vector (x,y,z) of numbers";
        let origin_m = self.optional("space origin", expected, vector)?;
        let signs = self.signs()?;
        let world = |at: Vec3| at.component_mul(&signs) * unit_m;
        Ok(VoxelGrid {
            counts,
            origin_m: world(origin_m.unwrap_or_default()),
            steps_m: steps_m.map(world),
        })
    }

    fn spacings(&self) -> Result<[Vec3; 3], Defect> {
        let expected = "three numbers greater than 0, or `space directions`";
        let positive = |word: &str| word.parse().ok().filter(|x: &f64| *x > 0.0);
        let spacing = self.field("spacings", expected, |text| three(text, positive))?;
        Ok(VoxelGrid::axis_aligned([1; 3], Vec3::zeros(), spacing).steps_m)
    }

    /// Signs of the axes from the space of the file to left, posterior, superior.
    fn signs(&self) -> Result<Vec3, Defect> {
        let expected = "a space of three axes, such as left-posterior-superior";
        let same = Vec3::new(1.0, 1.0, 1.0);
        let signs = self.optional("space", expected, |space| {
            match space.to_ascii_lowercase().as_str() {
                "right-anterior-superior" | "ras" => Some(Vec3::new(-1.0, -1.0, 1.0)),
                "left-anterior-superior" | "las" => Some(Vec3::new(1.0, -1.0, 1.0)),
                "left-posterior-superior"
                | "lps"
                | "scanner-xyz"
                | "3d-right-handed"
                | "3d-left-handed" => Some(same),
                _ => None,
            }
        })?;
        Ok(signs.unwrap_or(same))
    }

    /// Length of the file's unit \[m\].
    fn unit_m(&self) -> Result<f64, Defect> {
        let expected = "one of m, cm, mm and um, the same for all axes";
        let unit_m = self.optional("space units", expected, |text| {
            let mut words = text.split(['"', ' ']).filter(|word| !word.is_empty());
            let first = words.next().unwrap_or_default();
            let length_m = match first {
                "m" => Some(1.0),
                "cm" => Some(1e-2),
                "mm" => Some(1e-3),
                "um" => Some(1e-6),
                _ => None,
            };
            length_m.filter(|_| words.all(|word| word == first))
        })?;
        Ok(unit_m.unwrap_or(1e-3))
    }

    fn is_big_endian(&self, stored: NumberFormat) -> Result<bool, Defect> {
        if self.get("endian").is_none() && stored.width == 1 {
            return Ok(false);
        }
        self.field("endian", "`little` or `big`", |text| match text {
            "little" => Some(false),
            "big" => Some(true),
            _ => None,
        })
    }

    fn values(&self, count: usize, rest: &[u8]) -> Result<Vec<f32>, Defect> {
        let expected = "a type of scalars, such as uint8, int16 or float";
        let stored = self.field("type", expected, stored)?;
        let bytes = count * stored.width;
        let encoding = self.get("encoding").unwrap_or("raw");
        match encoding {
            "raw" => {
                let values = values_of(rest, bytes)?;
                Ok(stored.singles(values, self.is_big_endian(stored)?))
            }
            "gzip" | "gz" => {
                let big_endian = self.is_big_endian(stored)?;
                let values = gzip::take(&mut MultiGzDecoder::new(rest), bytes, "data")?;
                Ok(stored.singles(&values, big_endian))
            }
            "ascii" | "text" | "txt" => text_values(rest, count),
            _ => {
                let expected = "raw, gzip or ascii";
                Err(text_error("encoding", encoding.as_bytes(), expected))
            }
        }
    }
}

/// Number format of a type name.
fn stored(name: &str) -> Option<NumberFormat> {
    Some(match name {
        "uchar" | "unsigned char" | "uint8" | "uint8_t" => NumberFormat::U8,
        "signed char" | "int8" | "int8_t" => NumberFormat::I8,
        "ushort" | "unsigned short" | "unsigned short int" | "uint16" | "uint16_t" => {
            NumberFormat::U16
        }
        "short" | "short int" | "signed short" | "signed short int" | "int16" | "int16_t" => {
            NumberFormat::I16
        }
        "uint" | "unsigned int" | "uint32" | "uint32_t" => NumberFormat::U32,
        "int" | "signed int" | "int32" | "int32_t" => NumberFormat::I32,
        "ulonglong" | "unsigned long long" | "unsigned long long int" | "uint64" | "uint64_t" => {
            NumberFormat::U64
        }
        "longlong"
        | "long long"
        | "long long int"
        | "signed long long"
        | "signed long long int"
        | "int64"
        | "int64_t" => NumberFormat::I64,
        "float" => NumberFormat::F32,
        "double" => NumberFormat::F64,
        _ => return None,
    })
}

/// Reads three words, each as a value.
fn three<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<[T; 3]> {
    let values: Option<Vec<T>> = text.split_whitespace().take(4).map(value).collect();
    <[T; 3]>::try_from(values?).ok()
}

/// Three vectors.
fn vectors(text: &str) -> Option<[Vec3; 3]> {
    let parts = text.split_inclusive(')').map(str::trim);
    let vectors = parts.filter(|part| !part.is_empty()).map(vector);
    vectors.collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// A vector `(x,y,z)` of finite numbers.
fn vector(text: &str) -> Option<Vec3> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    finite(inner.split(',')).map(|at: [f64; 3]| at.into())
}

/// Reads values from text.
fn text_values(rest: &[u8], count: usize) -> Result<Vec<f32>, Defect> {
    let mut values = Vec::new();
    for word in words(rest).take(count) {
        values.push(parse(word).ok_or_else(|| text_error("data", word, "a number"))?);
    }
    if values.len() < count {
        let found = format!("{} numbers", values.len());
        return Err(Defect::field(
            "data",
            found,
            format_args!("{count} numbers"),
        ));
    }
    Ok(values)
}
