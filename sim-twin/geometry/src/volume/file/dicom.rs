//! One DICOM file: a slice of a series.
//!
//! Source: DICOM PS3.5 (elements) and PS3.3 C.7.6 (image plane and pixels), transfer syntaxes explicit and
//! implicit little endian; packed ones are refused by name. `dicom-encoding` reads the headers of elements. The
//! walk over them is ours, because the readers above it take memory by the lengths that a file states.

use std::io::Cursor;

use dicom_core::Tag;
use dicom_core::header::{DataElementHeader, Header as _};
use dicom_dictionary_std::tags;
use dicom_encoding::decode::Decode;
use dicom_encoding::decode::explicit_le::ExplicitVRLittleEndianDecoder;
use dicom_encoding::decode::implicit_le::ImplicitVRLittleEndianDecoder;

use super::sampled::Sampled;
use super::{VolumeFileError, missing, wrong, wrong_text};
use palpate_twin::Vec3;

/// Length that says: until a delimiter.
const UNDEFINED: u32 = u32::MAX;
/// Group of items and delimiters.
const ITEMS: u16 = 0xfffe;
/// Group of the file's own description.
const META: u16 = 0x0002;
/// Deepest nesting of sequences.
const DEPTH_MAX: usize = 64;

/// A slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// The series that it belongs to.
    pub series: String,
    /// Columns and rows.
    pub counts: [usize; 2],
    /// From a column to the next, and from a row to the next \[mm\].
    pub steps_mm: [Vec3; 2],
    /// Place of the first value \[mm\].
    pub origin_mm: Vec3,
    /// Thickness \[mm\], where given.
    pub thickness_mm: Option<f64>,
    /// Intensities, row by row.
    pub values: Vec<f32>,
}

/// Whether bytes are those of a DICOM file.
#[must_use]
pub(super) fn is_dicom(bytes: &[u8]) -> bool {
    bytes.get(128..132) == Some(b"DICM")
}

/// Read a slice; none if the file holds no image, as a directory of a disc.
///
/// # Errors
/// [`VolumeFileError`] naming field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Option<Slice>, VolumeFileError> {
    if !is_dicom(bytes) {
        let expected = "a DICOM file: DICM at byte 128";
        return Err(wrong_text(
            "magic",
            bytes.get(128..132).unwrap_or_default(),
            expected,
        ));
    }
    let body = &bytes[132..];
    let mut file = Elements::default();
    let explicit = ExplicitVRLittleEndianDecoder::default();
    let used = file.walk(body, &explicit, true)?;
    let syntax = file.text(tags::TRANSFER_SYNTAX_UID, "TransferSyntaxUID")?;
    let body = &body[used..];
    match syntax {
        "1.2.840.10008.1.2.1" => file.walk(body, &explicit, false)?,
        "1.2.840.10008.1.2" => {
            file.walk(body, &ImplicitVRLittleEndianDecoder::with_std_dict(), false)?
        }
        _ => {
            let expected = "1.2.840.10008.1.2 or 1.2.840.10008.1.2.1, values that are not packed \
                            (`dcmdjpeg`, `gdcmconv --raw`)";
            return Err(wrong_text("TransferSyntaxUID", syntax.as_bytes(), expected));
        }
    };
    let has_image = file.find(tags::PIXEL_DATA).is_some() || file.find(tags::ROWS).is_some();
    has_image.then(|| file.slice()).transpose()
}

/// What of a file is wanted: numbers of elements and their bytes.
#[derive(Debug, Default)]
struct Elements<'a> {
    found: Vec<(Tag, &'a [u8])>,
}

const WANTED: [Tag; 16] = [
    tags::TRANSFER_SYNTAX_UID,
    tags::SERIES_INSTANCE_UID,
    tags::SLICE_THICKNESS,
    tags::IMAGE_POSITION_PATIENT,
    tags::IMAGE_ORIENTATION_PATIENT,
    tags::SAMPLES_PER_PIXEL,
    tags::NUMBER_OF_FRAMES,
    tags::ROWS,
    tags::COLUMNS,
    tags::PIXEL_SPACING,
    tags::BITS_ALLOCATED,
    tags::BITS_STORED,
    tags::PIXEL_REPRESENTATION,
    tags::RESCALE_INTERCEPT,
    tags::RESCALE_SLOPE,
    tags::PIXEL_DATA,
];

impl<'a> Elements<'a> {
    /// Goes over elements, only those of the file's description if `meta`; how many bytes they are.
    fn walk(
        &mut self,
        bytes: &'a [u8],
        decoder: &impl Decode,
        meta: bool,
    ) -> Result<usize, VolumeFileError> {
        let mut at = 0;
        let mut depth = 0_usize;
        while at < bytes.len() {
            if meta && bytes.get(at..at + 2) != Some(&META.to_le_bytes()) {
                return Ok(at);
            }
            let mut rest = Cursor::new(&bytes[at..]);
            let (header, used): (DataElementHeader, usize) =
                decoder.decode_header(&mut rest).map_err(|_| {
                    let left = format!("{} bytes at {at} of the elements", bytes.len() - at);
                    wrong("element", left, "a whole header of one")
                })?;
            at += used;
            let (tag, length) = (header.tag(), header.len.0);
            depth = match (tag.group(), tag.element()) {
                (ITEMS, 0xe00d | 0xe0dd) => depth.saturating_sub(1),
                _ if length == UNDEFINED && tag == tags::PIXEL_DATA => {
                    return Err(wrong("PixelData", "packed", "values that are not packed"));
                }
                _ if length == UNDEFINED => depth + 1,
                _ => depth,
            };
            if depth > DEPTH_MAX {
                return Err(wrong("sequences", "nested deeper", "64 deep at most"));
            }
            if length == UNDEFINED {
                continue;
            }
            let value = usize::try_from(length)
                .ok()
                .and_then(|length| bytes[at..].get(..length));
            let Some(value) = value else {
                let name = format!("length of ({:04x},{:04x})", tag.group(), tag.element());
                let expected = format!("at most the {} bytes that are left", bytes.len() - at);
                return Err(wrong(name, length, &expected));
            };
            if depth == 0 && WANTED.contains(&tag) {
                self.found.push((tag, value));
            }
            at += value.len();
        }
        Ok(at)
    }

    fn find(&self, tag: Tag) -> Option<&'a [u8]> {
        let found = self.found.iter().find(|(own, _)| *own == tag);
        found.map(|&(_, value)| value)
    }

    fn text(&self, tag: Tag, name: &str) -> Result<&'a str, VolumeFileError> {
        let value = self.find(tag).ok_or_else(|| missing(name, "a text"))?;
        let text = std::str::from_utf8(value).map_err(|_| wrong_text(name, value, "a text"))?;
        Ok(text.trim_matches([' ', '\0']))
    }

    fn whole(&self, tag: Tag, name: &str) -> Result<u16, VolumeFileError> {
        let value = self.find(tag).ok_or_else(|| missing(name, "a number"))?;
        let number = value.first_chunk::<2>().map(|&two| u16::from_le_bytes(two));
        number.ok_or_else(|| wrong_text(name, value, "two bytes"))
    }

    fn numbers<const N: usize>(&self, tag: Tag, name: &str) -> Result<[f64; N], VolumeFileError> {
        let text = self.text(tag, name)?;
        let numbers: Option<Vec<f64>> = text
            .split('\\')
            .map(|word| word.trim().parse().ok().filter(|x: &f64| x.is_finite()))
            .collect();
        let numbers = numbers.and_then(|numbers| <[f64; N]>::try_from(numbers).ok());
        let expected = format!("{N} finite numbers");
        numbers.ok_or_else(|| wrong_text(name, text.as_bytes(), &expected))
    }

    fn slice(&self) -> Result<Slice, VolumeFileError> {
        let samples = self.whole(tags::SAMPLES_PER_PIXEL, "SamplesPerPixel");
        if let Some(samples) = samples.ok().filter(|&samples| samples != 1) {
            return Err(wrong("SamplesPerPixel", samples, "1"));
        }
        if self.find(tags::NUMBER_OF_FRAMES).is_some() {
            let frames = self.text(tags::NUMBER_OF_FRAMES, "NumberOfFrames")?;
            if frames != "1" {
                let expected = "1: a file for each slice";
                return Err(wrong_text("NumberOfFrames", frames.as_bytes(), expected));
            }
        }
        let counts = [
            self.whole(tags::COLUMNS, "Columns")?,
            self.whole(tags::ROWS, "Rows")?,
        ]
        .map(usize::from);
        if counts.contains(&0) {
            let found = format!("{} x {}", counts[0], counts[1]);
            return Err(wrong("Columns x Rows", found, "1 x 1 or more"));
        }
        let along: [f64; 6] =
            self.numbers(tags::IMAGE_ORIENTATION_PATIENT, "ImageOrientationPatient")?;
        let [row, column] = [0, 3].map(|k| Vec3::new(along[k], along[k + 1], along[k + 2]));
        // PS3.3: distance of rows first, then of columns
        let [down_mm, across_mm] = self.numbers(tags::PIXEL_SPACING, "PixelSpacing")?;
        let origin: [f64; 3] =
            self.numbers(tags::IMAGE_POSITION_PATIENT, "ImagePositionPatient")?;
        let thickness = self
            .find(tags::SLICE_THICKNESS)
            .filter(|text| !text.is_empty());
        let thickness = thickness.map(|_| self.numbers(tags::SLICE_THICKNESS, "SliceThickness"));
        Ok(Slice {
            series: self
                .text(tags::SERIES_INSTANCE_UID, "SeriesInstanceUID")?
                .to_owned(),
            counts,
            steps_mm: [row * across_mm, column * down_mm],
            origin_mm: Vec3::from(origin),
            thickness_mm: thickness.transpose()?.map(|[thickness]| thickness),
            values: self.values(counts[0] * counts[1])?,
        })
    }

    fn values(&self, count: usize) -> Result<Vec<f32>, VolumeFileError> {
        let bits = self.whole(tags::BITS_ALLOCATED, "BitsAllocated")?;
        let signed = self.whole(tags::PIXEL_REPRESENTATION, "PixelRepresentation")? == 1;
        let sampled = match (bits, signed) {
            (8, false) => Sampled::U8,
            (8, true) => Sampled::I8,
            (16, false) => Sampled::U16,
            (16, true) => Sampled::I16,
            (32, false) => Sampled::U32,
            (32, true) => Sampled::I32,
            _ => return Err(wrong("BitsAllocated", bits, "8, 16 or 32")),
        };
        let stored = self.whole(tags::BITS_STORED, "BitsStored").unwrap_or(bits);
        if !(1..=bits).contains(&stored) {
            return Err(wrong("BitsStored", stored, &format!("1 to {bits}")));
        }
        let data = self
            .find(tags::PIXEL_DATA)
            .ok_or_else(|| missing("PixelData", "values of the slice"))?;
        let length = count * sampled.width();
        let Some(data) = data.get(..length) else {
            let found = format!("{} bytes", data.len());
            return Err(wrong("PixelData", found, &format!("{length} bytes")));
        };
        let mut values = if stored < bits {
            narrow(data, sampled, stored, signed)
        } else {
            sampled.values(data, false)
        };
        let scale = |tag, name, none| match self.find(tag) {
            Some(_) => self.numbers::<1>(tag, name).map(|[value]| value),
            None => Ok(none),
        };
        let slope = scale(tags::RESCALE_SLOPE, "RescaleSlope", 1.0)?;
        let intercept = scale(tags::RESCALE_INTERCEPT, "RescaleIntercept", 0.0)?;
        #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
        values
            .iter_mut()
            .for_each(|value| *value = (slope * f64::from(*value) + intercept) as f32);
        Ok(values)
    }
}

/// Values of which only the low bits count; others may be overlays.
#[expect(clippy::cast_precision_loss, reason = "single precision is kept")]
fn narrow(data: &[u8], sampled: Sampled, stored: u16, signed: bool) -> Vec<f32> {
    let one = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let unused = 64 - u32::from(stored);
        let high = u64::from_le_bytes(word) << unused;
        if signed {
            (high.cast_signed() >> unused) as f32
        } else {
            (high >> unused) as f32
        }
    };
    data.chunks_exact(sampled.width()).map(one).collect()
}
