//! Reader of NIfTI-1 files: a header of 348 bytes followed by values, compressed or not.
//!
//! Source: Cox et al. 2004, nifti1.h. The crate `nifti` reads the header; values are read here, since the crate
//! allocates memory by the header. Positions come from `sform`, else `qform`, else `pixdim`; the file's axes point
//! right, forward and up, ours left, back and up.

use ::nifti::{Endianness, NiftiHeader, NiftiType};
use flate2::bufread::MultiGzDecoder;
use nalgebra::{Matrix3, Quaternion, UnitQuaternion};

use super::gzip;
use super::{VoxelGrid, VoxelVolume, values_of};
use crate::Defect;
use crate::number::NumberFormat;
use palpate_twin::Vec3;

/// Bytes of the header and of the extension flag after it.
const HEADER: usize = 352;
/// Largest valid offset of the values.
const OFFSET_MAX: f32 = 16e6;

/// Reads a volume.
///
/// # Errors
/// [`Defect`] naming field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<VoxelVolume<f32>, Defect> {
    if bytes.starts_with(&gzip::MAGIC) {
        let mut stream = MultiGzDecoder::new(bytes);
        let start = gzip::take(&mut stream, HEADER, "header")?;
        let plan = DataLayout::of(&start)?;
        gzip::take(&mut stream, plan.offset - HEADER, "header")?;
        let values = gzip::take(&mut stream, plan.bytes(), "data")?;
        return plan.volume(&values);
    }
    let Some(start) = bytes.get(..HEADER) else {
        let found = format!("{} bytes", bytes.len());
        return Err(Defect::field("header", found, "352 bytes"));
    };
    let plan = DataLayout::of(start)?;
    let rest = bytes.get(plan.offset..).unwrap_or_default();
    plan.volume(values_of(rest, plan.bytes())?)
}

/// Layout of the values, from the header.
struct DataLayout {
    grid: VoxelGrid,
    stored: NumberFormat,
    big_endian: bool,
    offset: usize,
    /// Slope and intercept from stored values to intensities.
    scale: Option<(f32, f32)>,
}

impl DataLayout {
    fn of(start: &[u8]) -> Result<Self, Defect> {
        let size = start.first_chunk::<4>().copied().unwrap_or_default();
        let found = [i32::from_le_bytes(size), i32::from_be_bytes(size)];
        if found.contains(&540) {
            return Err(Defect::field("sizeof_hdr", "540, NIfTI-2", "348, NIfTI-1"));
        }
        if !found.contains(&348) {
            return Err(Defect::field("sizeof_hdr", found[0], "348, NIfTI-1"));
        }
        let header = NiftiHeader::from_reader(start)
            .map_err(|_| Defect::field("magic", "unknown", "`n+1`: a NIfTI-1 file"))?;
        if &header.magic != b"n+1\0" {
            let expected = "`n+1`: header and values in one file";
            return Err(Defect::field("magic", "`ni1`", expected));
        }
        let grid = grid(&header)?;
        grid.check()?;
        let offset = header.vox_offset;
        if !(HEADER as f32..=OFFSET_MAX).contains(&offset) {
            return Err(Defect::field("vox_offset", offset, "352 to 16000000"));
        }
        let slope = (header.scl_slope, header.scl_inter);
        let scaled = slope.0 != 0.0 && slope.0.is_finite() && slope.1.is_finite();
        Ok(Self {
            grid,
            stored: stored(&header)?,
            big_endian: header.endianness == Endianness::Big,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "in range, see above"
            )]
            offset: offset as usize,
            scale: (scaled && slope != (1.0, 0.0)).then_some(slope),
        })
    }

    fn bytes(&self) -> usize {
        self.grid.len() * self.stored.width
    }

    fn volume(&self, bytes: &[u8]) -> Result<VoxelVolume<f32>, Defect> {
        let mut values = self.stored.singles(bytes, self.big_endian);
        if let Some((slope, intercept)) = self.scale {
            values
                .iter_mut()
                .for_each(|value| *value = slope * *value + intercept);
        }
        VoxelVolume::new(self.grid, values)
    }
}

fn stored(header: &NiftiHeader) -> Result<NumberFormat, Defect> {
    let kind = header.data_type().ok();
    Ok(match kind {
        Some(NiftiType::Uint8) => NumberFormat::U8,
        Some(NiftiType::Int8) => NumberFormat::I8,
        Some(NiftiType::Uint16) => NumberFormat::U16,
        Some(NiftiType::Int16) => NumberFormat::I16,
        Some(NiftiType::Uint32) => NumberFormat::U32,
        Some(NiftiType::Int32) => NumberFormat::I32,
        Some(NiftiType::Uint64) => NumberFormat::U64,
        Some(NiftiType::Int64) => NumberFormat::I64,
        Some(NiftiType::Float32) => NumberFormat::F32,
        Some(NiftiType::Float64) => NumberFormat::F64,
        _ => {
            let expected = "a type of scalars: 2, 4, 8, 16, 64, 256, 512, 768, 1024 or 1280";
            return Err(Defect::field("datatype", header.datatype, expected));
        }
    })
}

fn grid(header: &NiftiHeader) -> Result<VoxelGrid, Defect> {
    let [dimension, x, y, z, further @ ..] = header.dim;
    let used = usize::from(dimension).saturating_sub(3).min(further.len());
    let one_volume = further[..used].iter().all(|&count| count <= 1);
    if !(3..=7).contains(&dimension) || !one_volume {
        let expected = "3 dimensions, any further ones of 1";
        return Err(Defect::field("dim", format!("{:?}", header.dim), expected));
    }
    let unit_m = match header.xyzt_units & 7 {
        1 => 1.0,
        // an unknown unit is millimetres, as in the programs that omit it
        0 | 2 => 1e-3,
        3 => 1e-6,
        code => return Err(Defect::field("xyzt_units", code, "0 to 3")),
    };
    let (steps, origin) = axes(header)?;
    let ours = |at: Vec3| at.component_mul(&Vec3::new(-1.0, -1.0, 1.0)) * unit_m;
    Ok(VoxelGrid {
        counts: [x, y, z].map(usize::from),
        origin_m: ours(origin),
        steps_m: steps.map(ours),
    })
}

/// Steps and origin in the units and axes of the file.
fn axes(header: &NiftiHeader) -> Result<([Vec3; 3], Vec3), Defect> {
    let spacing: [f64; 3] = std::array::from_fn(|axis| f64::from(header.pixdim[axis + 1]).abs());
    if header.sform_code > 0 {
        let rows = [header.srow_x, header.srow_y, header.srow_z];
        let column = |k: usize| Vec3::from(rows.map(|row| f64::from(row[k])));
        return Ok(([column(0), column(1), column(2)], column(3)));
    }
    if header.qform_code > 0 {
        let [b, c, d] = [header.quatern_b, header.quatern_c, header.quatern_d].map(f64::from);
        let square = b * b + c * c + d * d;
        if square.is_nan() || square > 1.0 + 1e-5 {
            let found = format!("{b}, {c}, {d}");
            let expected = "squares of at most 1 together";
            return Err(Defect::field("quatern_b, _c, _d", found, expected));
        }
        let a = (1.0 - square).max(0.0).sqrt();
        let turn = UnitQuaternion::new_normalize(Quaternion::new(a, b, c, d));
        let turn: Matrix3<f64> = *turn.to_rotation_matrix().matrix();
        // only its sign means something
        let mirror = if header.pixdim[0] < 0.0 { -1.0 } else { 1.0 };
        let [x, y, z] = spacing;
        let origin = [header.quatern_x, header.quatern_y, header.quatern_z].map(f64::from);
        let steps = [
            turn.column(0) * x,
            turn.column(1) * y,
            turn.column(2) * (z * mirror),
        ];
        return Ok((steps, Vec3::from(origin)));
    }
    if spacing.iter().all(|&length| length > 0.0) {
        let [x, y, z] = spacing;
        let straight = VoxelGrid::axis_aligned([1; 3], Vec3::zeros(), [x, y, z]);
        return Ok((straight.steps_m, Vec3::zeros()));
    }
    let expected = "numbers greater than 0, or an sform or qform";
    Err(Defect::missing("pixdim", expected))
}
