//! Any bytes in each volume format: a volume with an exact round trip through NRRD, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::volume::file::{VolumeFormat, nrrd_write, read};

fuzz_target!(|bytes: &[u8]| {
    for format in [VolumeFormat::Nrrd, VolumeFormat::Nifti, VolumeFormat::Dicom] {
        if let Ok(volume) = read(format, bytes) {
            assert_eq!(volume.values.len(), volume.grid.len());
            let written = nrrd_write::write(&volume, "fuzz");
            let again = read(VolumeFormat::Nrrd, &written).expect("what was written");
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&again.values), bits(&volume.values));
        }
    }
});
