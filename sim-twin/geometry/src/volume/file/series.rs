//! A DICOM series: slices in any order, as one volume.
//!
//! Source: DICOM PS3.3 C.7.6.2. Slices are sorted by their position along the common normal, never by their file
//! names; a missing, duplicate or rotated slice is refused by its name.

use super::dicom::{self, Slice};
use super::{VOXELS_MAX, VoxelGrid, VoxelVolume};
use crate::Defect;
use palpate_twin::Vec3;

/// Largest relative difference of slice distances.
const UNEVEN: f64 = 0.01;
/// Largest relative difference of slice directions, over a step.
const TURNED: f64 = 1e-3;
/// Names of the fields of slice directions and spacing.
const PLANE: &str = "ImageOrientationPatient x PixelSpacing";

/// Reads a series from its files, each with its name. Files that are no DICOM or hold no image are skipped.
///
/// # Errors
/// [`Defect`] naming the file, field, value and what would be right.
pub fn read(files: &[(String, Vec<u8>)]) -> Result<VoxelVolume<f32>, Defect> {
    let mut slices: Vec<(&str, Slice)> = Vec::new();
    let mut held = 0;
    for (name, bytes) in files.iter().filter(|(_, bytes)| dicom::is_dicom(bytes)) {
        let slice = dicom::read(bytes).map_err(|error| error.located(name))?;
        if let Some(slice) = slice {
            held += slice.values.len();
            if held > VOXELS_MAX {
                let expected = format!("{VOXELS_MAX} voxels together at most");
                let found = format!("{held} voxels");
                return Err(Defect::field("series", found, expected).located(name));
            }
            slices.push((name, slice));
        }
    }
    let Some((_, first)) = slices.first() else {
        let expected = "DICOM files with an image, DICM at byte 128";
        return Err(Defect::missing("slices", expected));
    };
    let normal = first.steps_mm[0].cross(&first.steps_mm[1]);
    if normal.norm().is_nan() || normal.norm() <= 0.0 {
        let found = format!("{:?}", first.steps_mm.map(<[f64; 3]>::from));
        let expected = "two directions at an angle, and distances greater than 0";
        return Err(Defect::field(PLANE, found, expected));
    }
    let normal = normal.normalize();
    same_plane(&slices)?;
    slices.sort_by(|(_, a), (_, b)| {
        let along = |slice: &Slice| normal.dot(&slice.origin_mm);
        along(a).total_cmp(&along(b))
    });
    let step_mm = step_mm(&slices, &normal)?;
    let (_, lowest) = &slices[0];
    let [columns, rows] = lowest.counts;
    let grid = VoxelGrid {
        counts: [columns, rows, slices.len()],
        origin_m: lowest.origin_mm * 1e-3,
        steps_m: [
            lowest.steps_mm[0] * 1e-3,
            lowest.steps_mm[1] * 1e-3,
            step_mm * 1e-3,
        ],
    };
    grid.check()?;
    let values = slices.iter().flat_map(|(_, slice)| &slice.values);
    VoxelVolume::new(grid, values.copied().collect())
}

/// Checks that all slices are of one series, one size and one orientation.
fn same_plane(slices: &[(&str, Slice)]) -> Result<(), Defect> {
    let (first_name, first) = &slices[0];
    for (name, slice) in slices {
        let differ = |field: &str, own: String, other: String| {
            let expected = format!("{other}, as in {first_name}");
            Err(Defect::field(field, own, expected).located(name))
        };
        if slice.series != first.series {
            let (own, other) = (slice.series.clone(), first.series.clone());
            return differ("SeriesInstanceUID", own, other);
        }
        if slice.counts != first.counts {
            let text = |slice: &Slice| format!("{} x {}", slice.counts[0], slice.counts[1]);
            return differ("Columns x Rows", text(slice), text(first));
        }
        let mut steps = slice.steps_mm.iter().zip(&first.steps_mm);
        if !steps.all(|(own, other)| (own - other).norm() <= TURNED * other.norm()) {
            let text = |slice: &Slice| format!("{:?}", slice.steps_mm.map(<[f64; 3]>::from));
            return differ(PLANE, text(slice), text(first));
        }
    }
    Ok(())
}

/// Vector from a slice to the next, of sorted slices \[mm\].
fn step_mm(slices: &[(&str, Slice)], normal: &Vec3) -> Result<Vec3, Defect> {
    let place = |slice: &Slice| normal.dot(&slice.origin_mm);
    let [(_, first), .., (_, last)] = slices else {
        let (name, only) = &slices[0];
        let expected = "a number greater than 0, as there is one slice only";
        let thickness_mm = only.thickness_mm.filter(|&thickness| thickness > 0.0);
        return thickness_mm
            .map(|thickness_mm| normal * thickness_mm)
            .ok_or_else(|| Defect::missing("SliceThickness", expected).located(name));
    };
    let count = (slices.len() - 1) as f64;
    let step_mm = (last.origin_mm - first.origin_mm) / count;
    let apart_mm = normal.dot(&step_mm);
    for pair in slices.windows(2) {
        let (name, next) = &pair[1];
        let found_mm = place(next) - place(&pair[0].1);
        let off_mm = (found_mm - apart_mm).abs();
        if off_mm.is_nan() || off_mm > UNEVEN * apart_mm {
            let expected = format!(
                "{apart_mm:.3} mm beyond {}, as slices are apart; is one missing or there twice?",
                pair[0].0
            );
            let found = format!("{found_mm:.3} mm beyond it");
            return Err(Defect::field("ImagePositionPatient", found, expected).located(name));
        }
    }
    Ok(step_mm)
}
