//! NRRD: a text header and values behind it.
//!
//! Source: Kindlmann, "Definition of NRRD File Format" (teem.sourceforge.net/nrrd/format.html), versions 1 to 5:
//! three dimensions of scalars, encodings `raw`, `gzip` and `ascii`, header and values in one file. Written here
//! since the crates of that name are not kept up. Lengths without a unit are millimetres, as imaging programs have them.

use super::sampled::Sampled;
use super::unpack::Unpack;
use super::{Grid, VOXELS_MAX, VolumeFileError, Voxels, missing, wrong, wrong_text};
use palpate_twin::Vec3;

/// Longest header.
const HEADER_MAX: usize = 1 << 20;

/// Read a volume.
///
/// # Errors
/// [`VolumeFileError`] naming field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Voxels<f32>, VolumeFileError> {
    let (rows, rest) = split(bytes)?;
    let header = Header::of(&rows)?;
    let grid = header.grid()?;
    grid.check()?;
    Ok(Voxels::new(grid, header.values(grid.len(), rest)?)?)
}

/// The lines of the header, and what is behind its empty line.
fn split(bytes: &[u8]) -> Result<(Vec<&[u8]>, &[u8]), VolumeFileError> {
    let magic = bytes.get(..8).unwrap_or(bytes);
    let known = magic.starts_with(b"NRRD000")
        && magic
            .get(7)
            .is_some_and(|digit| (b'1'..=b'5').contains(digit));
    if !known {
        return Err(wrong_text("magic", magic, "NRRD0001 to NRRD0005"));
    }
    let mut rows = Vec::new();
    let mut rest = bytes;
    while bytes.len() - rest.len() < HEADER_MAX {
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(missing(
                "end of header",
                "an empty line, and values behind it",
            ));
        };
        let row = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        if row.is_empty() {
            return Ok((rows, rest));
        }
        rows.push(row);
    }
    let expected = format!("an empty line within {HEADER_MAX} bytes");
    Err(missing("end of header", &expected))
}

/// The fields of a header that say where values are, as texts.
#[derive(Debug, Default)]
struct Header<'a> {
    kind: Option<&'a str>,
    dimension: Option<&'a str>,
    sizes: Option<&'a str>,
    encoding: Option<&'a str>,
    endian: Option<&'a str>,
    space: Option<&'a str>,
    directions: Option<&'a str>,
    origin: Option<&'a str>,
    spacings: Option<&'a str>,
    units: Option<&'a str>,
}

impl<'a> Header<'a> {
    fn of(rows: &[&'a [u8]]) -> Result<Self, VolumeFileError> {
        let mut header = Self::default();
        for row in rows.iter().skip(1) {
            if row.starts_with(b"#") {
                continue;
            }
            let expected = "a line `field: value` or `key:=value` in UTF-8";
            let text = std::str::from_utf8(row).map_err(|_| wrong_text("header", row, expected))?;
            let Some((field, value)) = text.split_once(':') else {
                return Err(wrong_text("header", row, expected));
            };
            if value.starts_with('=') {
                continue;
            }
            let value = value.trim();
            // a few fields have two spellings
            let place = match field.trim() {
                "type" => &mut header.kind,
                "dimension" => &mut header.dimension,
                "sizes" => &mut header.sizes,
                "encoding" => &mut header.encoding,
                "endian" => &mut header.endian,
                "space" => &mut header.space,
                "space directions" => &mut header.directions,
                "space origin" => &mut header.origin,
                "spacings" => &mut header.spacings,
                "space units" | "units" => &mut header.units,
                "data file" | "datafile" => {
                    let expected = "values in the same file, behind the header";
                    return Err(wrong_text(field, value.as_bytes(), expected));
                }
                "line skip" | "lineskip" | "byte skip" | "byteskip" if value != "0" => {
                    return Err(wrong_text(field, value.as_bytes(), "0"));
                }
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(wrong_text(field, value.as_bytes(), "to be given once"));
            }
        }
        Ok(header)
    }

    fn grid(&self) -> Result<Grid, VolumeFileError> {
        let dimension = self
            .dimension
            .ok_or_else(|| missing("dimension", "`dimension: 3`"))?;
        if dimension != "3" {
            return Err(wrong_text(
                "dimension",
                dimension.as_bytes(),
                "3: scalars in a volume",
            ));
        }
        let sizes = self
            .sizes
            .ok_or_else(|| missing("sizes", "three whole numbers"))?;
        let counts = three(sizes, |word| word.parse().ok().filter(|&n| n <= VOXELS_MAX));
        let counts = counts.ok_or_else(|| {
            wrong_text(
                "sizes",
                sizes.as_bytes(),
                "three whole numbers, as the dimension says",
            )
        })?;
        let unit_m = self.unit_m()?;
        let (steps_m, origin_m) = match self.directions {
            Some(directions) => (self.directions(directions)?, self.origin()?),
            None => (self.spacings()?, self.origin()?),
        };
        let signs = self.signs()?;
        let world = |at: Vec3| at.component_mul(&signs) * unit_m;
        Ok(Grid {
            counts,
            origin_m: world(origin_m),
            steps_m: steps_m.map(world),
        })
    }

    /// The three vectors of `space directions`.
    fn directions(&self, text: &str) -> Result<[Vec3; 3], VolumeFileError> {
        let expected = "three vectors (x,y,z) of numbers";
        let vectors: Option<Vec<Vec3>> = text
            .split_inclusive(')')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(vector)
            .collect();
        let three = vectors.and_then(|vectors| <[Vec3; 3]>::try_from(vectors).ok());
        three.ok_or_else(|| wrong_text("space directions", text.as_bytes(), expected))
    }

    fn origin(&self) -> Result<Vec3, VolumeFileError> {
        let Some(text) = self.origin else {
            return Ok(Vec3::zeros());
        };
        let expected = "a vector (x,y,z) of numbers";
        vector(text).ok_or_else(|| wrong_text("space origin", text.as_bytes(), expected))
    }

    fn spacings(&self) -> Result<[Vec3; 3], VolumeFileError> {
        let expected = "three numbers greater than 0, or `space directions`";
        let text = self.spacings.ok_or_else(|| missing("spacings", expected))?;
        let lengths = three(text, |word| word.parse().ok().filter(|x: &f64| *x > 0.0));
        let [x, y, z] = lengths.ok_or_else(|| wrong_text("spacings", text.as_bytes(), expected))?;
        Ok([
            Vec3::new(x, 0.0, 0.0),
            Vec3::new(0.0, y, 0.0),
            Vec3::new(0.0, 0.0, z),
        ])
    }

    /// From the space of the file to left, posterior, superior.
    fn signs(&self) -> Result<Vec3, VolumeFileError> {
        let space = self.space.unwrap_or("left-posterior-superior");
        match space.to_ascii_lowercase().as_str() {
            "right-anterior-superior" | "ras" => Ok(Vec3::new(-1.0, -1.0, 1.0)),
            "left-anterior-superior" | "las" => Ok(Vec3::new(1.0, -1.0, 1.0)),
            "left-posterior-superior"
            | "lps"
            | "scanner-xyz"
            | "3d-right-handed"
            | "3d-left-handed" => Ok(Vec3::new(1.0, 1.0, 1.0)),
            _ => {
                let expected = "a space of three axes, such as left-posterior-superior";
                Err(wrong_text("space", space.as_bytes(), expected))
            }
        }
    }

    /// Length of the file's unit \[m\].
    fn unit_m(&self) -> Result<f64, VolumeFileError> {
        let Some(text) = self.units else {
            return Ok(1e-3);
        };
        let mut words = text.split(['"', ' ']).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let length_m = match first {
            "m" => Some(1.0),
            "cm" => Some(1e-2),
            "mm" => Some(1e-3),
            "um" => Some(1e-6),
            _ => None,
        };
        length_m
            .filter(|_| words.all(|word| word == first))
            .ok_or_else(|| {
                wrong_text(
                    "space units",
                    text.as_bytes(),
                    "one of m, cm, mm and um, the same for all axes",
                )
            })
    }

    fn sampled(&self) -> Result<Sampled, VolumeFileError> {
        let kind = self.kind.ok_or_else(|| missing("type", TYPES))?;
        Ok(match kind {
            "uchar" | "unsigned char" | "uint8" | "uint8_t" => Sampled::U8,
            "signed char" | "int8" | "int8_t" => Sampled::I8,
            "ushort" | "unsigned short" | "unsigned short int" | "uint16" | "uint16_t" => {
                Sampled::U16
            }
            "short" | "short int" | "signed short" | "signed short int" | "int16" | "int16_t" => {
                Sampled::I16
            }
            "uint" | "unsigned int" | "uint32" | "uint32_t" => Sampled::U32,
            "int" | "signed int" | "int32" | "int32_t" => Sampled::I32,
            "ulonglong"
            | "unsigned long long"
            | "unsigned long long int"
            | "uint64"
            | "uint64_t" => Sampled::U64,
            "longlong"
            | "long long"
            | "long long int"
            | "signed long long"
            | "signed long long int"
            | "int64"
            | "int64_t" => Sampled::I64,
            "float" => Sampled::F32,
            "double" => Sampled::F64,
            _ => return Err(wrong_text("type", kind.as_bytes(), TYPES)),
        })
    }

    fn is_big_endian(&self, sampled: Sampled) -> Result<bool, VolumeFileError> {
        let expected = "`little` or `big`";
        match self.endian {
            Some("little") => Ok(false),
            Some("big") => Ok(true),
            Some(text) => Err(wrong_text("endian", text.as_bytes(), expected)),
            None if sampled.width() == 1 => Ok(false),
            None => Err(missing("endian", expected)),
        }
    }

    fn values(&self, count: usize, rest: &[u8]) -> Result<Vec<f32>, VolumeFileError> {
        let sampled = self.sampled()?;
        let bytes = count * sampled.width();
        let encoding = self.encoding.unwrap_or("raw");
        match encoding {
            "raw" => {
                let Some(values) = rest.get(..bytes) else {
                    let found = format!("{} bytes", rest.len());
                    return Err(wrong("data", found, &format!("{bytes} bytes")));
                };
                Ok(sampled.values(values, self.is_big_endian(sampled)?))
            }
            "gzip" | "gz" => {
                let big_endian = self.is_big_endian(sampled)?;
                let values = Unpack::new(rest).take(bytes, "data")?;
                Ok(sampled.values(&values, big_endian))
            }
            "ascii" | "text" | "txt" => text_values(rest, count),
            _ => {
                let expected = "raw, gzip or ascii";
                Err(wrong_text("encoding", encoding.as_bytes(), expected))
            }
        }
    }
}

const TYPES: &str = "a type of scalars, such as uint8, int16 or float";

/// Three words, each as a value.
fn three<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<[T; 3]> {
    let values: Option<Vec<T>> = text.split_whitespace().take(4).map(value).collect();
    <[T; 3]>::try_from(values?).ok()
}

/// A vector `(x,y,z)` of finite numbers.
fn vector(text: &str) -> Option<Vec3> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let numbers: Option<Vec<f64>> = inner
        .split(',')
        .map(|word| word.trim().parse().ok().filter(|x: &f64| x.is_finite()))
        .collect();
    <[f64; 3]>::try_from(numbers?).ok().map(Vec3::from)
}

/// Values as text.
fn text_values(rest: &[u8], count: usize) -> Result<Vec<f32>, VolumeFileError> {
    let mut values = Vec::new();
    let words = rest
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    for word in words.take(count) {
        let value = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
        values.push(value.ok_or_else(|| wrong_text("data", word, "a number"))?);
    }
    if values.len() < count {
        let found = format!("{} numbers", values.len());
        return Err(wrong("data", found, &format!("{count} numbers")));
    }
    Ok(values)
}
