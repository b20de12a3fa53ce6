//! A DICOM series: slices in any order, as one volume.
//!
//! Source: DICOM PS3.3 C.7.6.2. Slices are sorted along their common normal by where they are, never by the names
//! of their files; a slice that is missing, twice or turned is refused by its name.

use super::dicom::{self, Slice};
use super::{Grid, VOXELS_MAX, VolumeFileError, Voxels, missing, wrong};
use palpate_twin::Vec3;

/// Most that distances of slices may differ, as a share.
const UNEVEN: f64 = 0.01;
/// Most that directions of slices may differ, as a share of a step.
const TURNED: f64 = 1e-3;

/// Read a series from its files, each with its name. Files that are no DICOM or hold no image are passed over.
///
/// # Errors
/// [`VolumeFileError`] naming the file, field, value and what would be right.
pub fn read(files: &[(String, Vec<u8>)]) -> Result<Voxels<f32>, VolumeFileError> {
    let mut slices: Vec<(&str, Slice)> = Vec::new();
    let mut held = 0;
    for (name, bytes) in files.iter().filter(|(_, bytes)| dicom::is_dicom(bytes)) {
        let slice = dicom::read(bytes).map_err(|error| of_file(name, error))?;
        if let Some(slice) = slice {
            held += slice.values.len();
            if held > VOXELS_MAX {
                let expected = format!("{VOXELS_MAX} voxels together at most");
                return Err(of_file(
                    name,
                    wrong("series", format!("{held} voxels"), &expected),
                ));
            }
            slices.push((name, slice));
        }
    }
    let Some((_, first)) = slices.first() else {
        let expected = "DICOM files with an image, DICM at byte 128";
        return Err(missing("slices", expected));
    };
    let normal = first.steps_mm[0].cross(&first.steps_mm[1]);
    if normal.norm().is_nan() || normal.norm() <= 0.0 {
        let found = format!("{:?}", first.steps_mm.map(<[f64; 3]>::from));
        let expected = "two directions at an angle, and distances greater than 0";
        return Err(wrong(
            "ImageOrientationPatient x PixelSpacing",
            found,
            expected,
        ));
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
    let grid = Grid {
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
    Ok(Voxels::new(grid, values.copied().collect())?)
}

fn of_file(name: &str, source: VolumeFileError) -> VolumeFileError {
    VolumeFileError::File {
        file: name.to_owned(),
        source: Box::new(source),
    }
}

/// All slices are of one series, of one size and turned alike.
fn same_plane(slices: &[(&str, Slice)]) -> Result<(), VolumeFileError> {
    let (first_name, first) = &slices[0];
    for (name, slice) in slices {
        let differ = |field: &str, own: String, other: String| {
            let expected = format!("{other}, as in {first_name}");
            Err(of_file(name, wrong(field, own, &expected)))
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
            return differ(
                "ImageOrientationPatient x PixelSpacing",
                text(slice),
                text(first),
            );
        }
    }
    Ok(())
}

/// From a slice to the next, of sorted slices.
fn step_mm(slices: &[(&str, Slice)], normal: &Vec3) -> Result<Vec3, VolumeFileError> {
    let place = |slice: &Slice| normal.dot(&slice.origin_mm);
    let [(_, first), .., (_, last)] = slices else {
        let (name, only) = &slices[0];
        let expected = "a number greater than 0, as there is one slice only";
        let thickness_mm = only.thickness_mm.filter(|&thickness| thickness > 0.0);
        return thickness_mm
            .map(|thickness_mm| normal * thickness_mm)
            .ok_or_else(|| of_file(name, missing("SliceThickness", expected)));
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
            return Err(of_file(
                name,
                wrong("ImagePositionPatient", found, &expected),
            ));
        }
    }
    Ok(step_mm)
}
