//! Reader of one DICOM file: a slice of a series.
//!
//! Source: DICOM PS3.5 (elements) and PS3.3 C.7.6 (image plane and pixels), transfer syntaxes explicit and
//! implicit little endian; compressed ones are refused by name. `dicom-encoding` reads the headers of elements. The
//! traversal is ours, because higher-level readers allocate memory by the lengths that a file states.

use std::io::Cursor;

use dicom_core::Tag;
use dicom_core::header::{DataElementHeader, Header as _};
use dicom_dictionary_std::tags;
use dicom_encoding::decode::Decode;
use dicom_encoding::decode::explicit_le::ExplicitVRLittleEndianDecoder;
use dicom_encoding::decode::implicit_le::ImplicitVRLittleEndianDecoder;

use super::{finite, text_error};
use crate::Defect;
use crate::number::NumberFormat;
use palpate_twin::Vec3;

/// Length code of an element that ends at a delimiter.
const UNDEFINED: u32 = u32::MAX;
/// Group of items and delimiters.
const ITEMS: u16 = 0xfffe;
/// Group of the file meta information.
const META: u16 = 0x0002;
/// Deepest nesting of sequences.
const DEPTH_MAX: usize = 64;

/// A slice.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slice {
    /// Identifier of its series.
    pub(super) series: String,
    /// Columns and rows.
    pub(super) counts: [usize; 2],
    /// Vectors from a column to the next, and from a row to the next \[mm\].
    pub(super) steps_mm: [Vec3; 2],
    /// Position of the first value \[mm\].
    pub(super) origin_mm: Vec3,
    /// Thickness \[mm\], if stated.
    pub(super) thickness_mm: Option<f64>,
    /// Intensities, row by row.
    pub(super) values: Vec<f32>,
}

/// True if the bytes are those of a DICOM file.
#[must_use]
pub(super) fn is_dicom(bytes: &[u8]) -> bool {
    bytes.get(128..132) == Some(b"DICM")
}

/// Reads a slice; none if the file holds no image, as a directory of a disc.
///
/// # Errors
/// [`Defect`] naming field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Slice>, Defect> {
    if !is_dicom(bytes) {
        let expected = "a DICOM file: DICM at byte 128";
        let magic = bytes.get(128..132).unwrap_or_default();
        return Err(text_error("magic", magic, expected));
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
            return Err(text_error("TransferSyntaxUID", syntax.as_bytes(), expected));
        }
    };
    let has_image = file.find(tags::PIXEL_DATA).is_some() || file.find(tags::ROWS).is_some();
    has_image.then(|| file.slice()).transpose()
}

/// Elements outside of sequences: their tags and bytes.
#[derive(Debug, Default)]
struct Elements<'a> {
    found: Vec<(Tag, &'a [u8])>,
}

impl<'a> Elements<'a> {
    /// Traverses elements, only those of the file meta information if `meta`; returns their length in bytes.
    fn walk(
        &mut self,
        bytes: &'a [u8],
        decoder: &impl Decode,
        meta: bool,
    ) -> Result<usize, Defect> {
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
                    Defect::field("element", left, "a whole header of one")
                })?;
            at += used;
            let (tag, length) = (header.tag(), header.len.0);
            depth = match (tag.group(), tag.element()) {
                (ITEMS, 0xe00d | 0xe0dd) => depth.saturating_sub(1),
                _ if length == UNDEFINED && tag == tags::PIXEL_DATA => {
                    return Err(Defect::field(
                        "PixelData",
                        "packed",
                        "values that are not packed",
                    ));
                }
                _ if length == UNDEFINED => depth + 1,
                _ => depth,
            };
            if depth > DEPTH_MAX {
                return Err(Defect::field(
                    "sequences",
                    "nested deeper",
                    "64 deep at most",
                ));
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
                return Err(Defect::field(name, length, expected));
            };
            if depth == 0 {
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

    fn required(&self, tag: Tag, name: &str, expected: &str) -> Result<&'a [u8], Defect> {
        let value = self.find(tag);
        value.ok_or_else(|| Defect::missing(name, expected))
    }

    fn text(&self, tag: Tag, name: &str) -> Result<&'a str, Defect> {
        let value = self.required(tag, name, "a text")?;
        let text = std::str::from_utf8(value).map_err(|_| text_error(name, value, "a text"))?;
        Ok(text.trim_matches([' ', '\0']))
    }

    fn whole(&self, tag: Tag, name: &str) -> Result<u16, Defect> {
        let value = self.required(tag, name, "a number")?;
        let number = value.first_chunk::<2>().map(|&two| u16::from_le_bytes(two));
        number.ok_or_else(|| text_error(name, value, "two bytes"))
    }

    fn numbers<const N: usize>(&self, tag: Tag, name: &str) -> Result<[f64; N], Defect> {
        let text = self.text(tag, name)?;
        let expected = format_args!("{N} finite numbers");
        finite(text.split('\\')).ok_or_else(|| text_error(name, text.as_bytes(), expected))
    }

    fn slice(&self) -> Result<Slice, Defect> {
        let samples = self.whole(tags::SAMPLES_PER_PIXEL, "SamplesPerPixel");
        if let Some(samples) = samples.ok().filter(|&samples| samples != 1) {
            return Err(Defect::field("SamplesPerPixel", samples, "1"));
        }
        if self.find(tags::NUMBER_OF_FRAMES).is_some() {
            let frames = self.text(tags::NUMBER_OF_FRAMES, "NumberOfFrames")?;
            if frames != "1" {
                let expected = "1: a file for each slice";
                return Err(text_error("NumberOfFrames", frames.as_bytes(), expected));
            }
        }
        let counts = [
            self.whole(tags::COLUMNS, "Columns")?,
            self.whole(tags::ROWS, "Rows")?,
        ]
        .map(usize::from);
        if counts.contains(&0) {
            let found = format!("{} x {}", counts[0], counts[1]);
            return Err(Defect::field("Columns x Rows", found, "1 x 1 or more"));
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

    fn values(&self, count: usize) -> Result<Vec<f32>, Defect> {
        let bits = self.whole(tags::BITS_ALLOCATED, "BitsAllocated")?;
        let signed = self.whole(tags::PIXEL_REPRESENTATION, "PixelRepresentation")? == 1;
        let stored = match (bits, signed) {
            (8, false) => NumberFormat::U8,
            (8, true) => NumberFormat::I8,
            (16, false) => NumberFormat::U16,
            (16, true) => NumberFormat::I16,
            (32, false) => NumberFormat::U32,
            (32, true) => NumberFormat::I32,
            _ => return Err(Defect::field("BitsAllocated", bits, "8, 16 or 32")),
        };
        let own = self.whole(tags::BITS_STORED, "BitsStored").unwrap_or(bits);
        if !(1..=bits).contains(&own) {
            let expected = format_args!("1 to {bits}");
            return Err(Defect::field("BitsStored", own, expected));
        }
        let data = self.required(tags::PIXEL_DATA, "PixelData", "values of the slice")?;
        let length = count * stored.width;
        let Some(data) = data.get(..length) else {
            let (found, expected) = (data.len(), format_args!("{length} bytes"));
            return Err(Defect::field(
                "PixelData",
                format_args!("{found} bytes"),
                expected,
            ));
        };
        // bits beyond may be overlays
        let mut values = stored.with_bits(own.into()).singles(data, false);
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
