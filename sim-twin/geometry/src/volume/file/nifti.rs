//! NIfTI-1: a header of 348 bytes and values behind it, packed or not.
//!
//! Source: Cox et al. 2004, nifti1.h. The crate `nifti` reads the header; values are read here, since it takes
//! memory by what a header says. Places come from `sform`, else `qform`, else `pixdim`; the file's axes point
//! right, forward and up, ours left, back and up.

use ::nifti::{Endianness, NiftiHeader, NiftiType};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion};

use super::sampled::Sampled;
use super::unpack::{MAGIC, Unpack};
use super::{Grid, VolumeFileError, Voxels, missing, wrong};
use palpate_twin::Vec3;

/// Bytes of the header and of the mark of extensions behind it.
const HEADER: usize = 352;
/// Farthest start of values that is taken for one.
const OFFSET_MAX: f32 = 16e6;

/// Read a volume.
///
/// # Errors
/// [`VolumeFileError`] naming field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Voxels<f32>, VolumeFileError> {
    if bytes.starts_with(&MAGIC) {
        let mut stream = Unpack::new(bytes);
        let start = stream.take(HEADER, "header")?;
        let plan = Plan::of(&start)?;
        stream.take(plan.offset - HEADER, "header")?;
        let values = stream.take(plan.bytes(), "data")?;
        return plan.volume(&values);
    }
    let Some(start) = bytes.get(..HEADER) else {
        let found = format!("{} bytes", bytes.len());
        return Err(wrong("header", found, "352 bytes"));
    };
    let plan = Plan::of(start)?;
    let rest = bytes.get(plan.offset..).unwrap_or_default();
    let Some(values) = rest.get(..plan.bytes()) else {
        let found = format!("{} bytes", rest.len());
        let expected = format!("{} bytes", plan.bytes());
        return Err(wrong("data", found, &expected));
    };
    plan.volume(values)
}

/// What a header says of the values behind it.
struct Plan {
    grid: Grid,
    sampled: Sampled,
    big_endian: bool,
    offset: usize,
    /// Slope and intercept from stored values to intensities.
    scale: Option<(f32, f32)>,
}

impl Plan {
    fn of(start: &[u8]) -> Result<Self, VolumeFileError> {
        let size = start.first_chunk::<4>().copied().unwrap_or_default();
        let found = [i32::from_le_bytes(size), i32::from_be_bytes(size)];
        if found.contains(&540) {
            return Err(wrong("sizeof_hdr", "540, NIfTI-2", "348, NIfTI-1"));
        }
        if !found.contains(&348) {
            return Err(wrong("sizeof_hdr", found[0], "348, NIfTI-1"));
        }
        let header = NiftiHeader::from_reader(start)
            .map_err(|_| wrong("magic", "unknown", "`n+1`: a NIfTI-1 file"))?;
        if &header.magic != b"n+1\0" {
            return Err(wrong(
                "magic",
                "`ni1`",
                "`n+1`: header and values in one file",
            ));
        }
        let grid = grid(&header)?;
        grid.check()?;
        let offset = header.vox_offset;
        if !(HEADER as f32..=OFFSET_MAX).contains(&offset) {
            return Err(wrong("vox_offset", offset, "352 to 16000000"));
        }
        let slope = (header.scl_slope, header.scl_inter);
        let scaled = slope.0 != 0.0 && slope.0.is_finite() && slope.1.is_finite();
        Ok(Self {
            grid,
            sampled: sampled(&header)?,
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
        self.grid.len() * self.sampled.width()
    }

    fn volume(&self, bytes: &[u8]) -> Result<Voxels<f32>, VolumeFileError> {
        let mut values = self.sampled.values(bytes, self.big_endian);
        if let Some((slope, intercept)) = self.scale {
            values
                .iter_mut()
                .for_each(|value| *value = slope * *value + intercept);
        }
        Ok(Voxels::new(self.grid, values)?)
    }
}

fn sampled(header: &NiftiHeader) -> Result<Sampled, VolumeFileError> {
    let kind = header.data_type().ok();
    Ok(match kind {
        Some(NiftiType::Uint8) => Sampled::U8,
        Some(NiftiType::Int8) => Sampled::I8,
        Some(NiftiType::Uint16) => Sampled::U16,
        Some(NiftiType::Int16) => Sampled::I16,
        Some(NiftiType::Uint32) => Sampled::U32,
        Some(NiftiType::Int32) => Sampled::I32,
        Some(NiftiType::Uint64) => Sampled::U64,
        Some(NiftiType::Int64) => Sampled::I64,
        Some(NiftiType::Float32) => Sampled::F32,
        Some(NiftiType::Float64) => Sampled::F64,
        _ => {
            let expected = "a type of scalars: 2, 4, 8, 16, 64, 256, 512, 768, 1024 or 1280";
            return Err(wrong("datatype", header.datatype, expected));
        }
    })
}

fn grid(header: &NiftiHeader) -> Result<Grid, VolumeFileError> {
    let [dimension, x, y, z, further @ ..] = header.dim;
    let used = usize::from(dimension).saturating_sub(3).min(further.len());
    let one_volume = further[..used].iter().all(|&count| count <= 1);
    if !(3..=7).contains(&dimension) || !one_volume {
        let expected = "3 dimensions, any further ones of 1";
        return Err(wrong("dim", format!("{:?}", header.dim), expected));
    }
    let unit_m = match header.xyzt_units & 7 {
        1 => 1.0,
        // unknown is millimetres, as the programs that leave it out have it
        0 | 2 => 1e-3,
        3 => 1e-6,
        code => return Err(wrong("xyzt_units", code, "0 to 3")),
    };
    let (steps, origin) = axes(header)?;
    let ours = |at: Vec3| at.component_mul(&Vec3::new(-1.0, -1.0, 1.0)) * unit_m;
    Ok(Grid {
        counts: [x, y, z].map(usize::from),
        origin_m: ours(origin),
        steps_m: steps.map(ours),
    })
}

/// Steps and origin in the units and axes of the file.
fn axes(header: &NiftiHeader) -> Result<([Vec3; 3], Vec3), VolumeFileError> {
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
            return Err(wrong(
                "quatern_b, _c, _d",
                found,
                "squares of at most 1 together",
            ));
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
        let straight = Grid::straight([1; 3], Vec3::zeros(), [x, y, z]);
        return Ok((straight.steps_m, Vec3::zeros()));
    }
    let expected = "numbers greater than 0, or an sform or qform";
    Err(missing("pixdim", expected))
}
