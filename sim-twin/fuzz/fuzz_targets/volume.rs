//! Any bytes as each format of volumes: one that is written as NRRD and read back as it was, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::volume::file::{Format, nrrd_write, read};

fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Nrrd, Format::Nifti, Format::Dicom] {
        if let Ok(volume) = read(format, bytes) {
            assert_eq!(volume.values.len(), volume.grid.len());
            let written = nrrd_write::write(&volume, "fuzz");
            let again = read(Format::Nrrd, &written).expect("what was written");
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&again.values), bits(&volume.values));
        }
    }
});
