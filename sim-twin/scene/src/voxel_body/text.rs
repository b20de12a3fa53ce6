//! Tables `[volume]` and `[[material]]` of a scene, and their validation.
//!
//! Source: ours.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::layered::{LayerMaterial, MaterialEntry};
use super::super::text::field_error;
use super::super::voxel_block::NODES_MAX;
use super::super::{SceneError, SceneFileReader};
use super::orientation::{NAMES, Orientation};
use super::{LabelMaterial, VoxelBody};
use palpate_geometry::volume::file;
use palpate_geometry::volume::file::series;
use palpate_geometry::volume::label;
use palpate_geometry::volume::label::IntensityBand;
use palpate_geometry::volume::phantom;
use palpate_geometry::volume::phantom::LimbPhantom;
use palpate_geometry::volume::{VolumeFormat, VoxelGrid, VoxelVolume, sample};
use palpate_twin::Vec3;
use palpate_voxel::VoxelParams;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::LatticeFrame;

/// Largest cosine between two axes of a volume.
const SKEW_MAX: f64 = 0.02;

/// Table `[volume]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VolumeText {
    file: Option<String>,
    phantom: Option<PhantomText>,
    up: Option<String>,
    #[serde(default)]
    separate: bool,
    /// Labels of air, beside 0.
    #[serde(default)]
    empty: Vec<u16>,
}

/// Parameters of a phantom; missing ones have their defaults.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhantomText {
    seed: u64,
    radius_m: Option<f64>,
    length_m: Option<f64>,
    spacing_m: Option<f64>,
    skin_m: Option<f64>,
    fat_m: Option<f64>,
    bone_radius_m: Option<f64>,
    vessel_radius_m: Option<f64>,
    tumour_m: Option<[f64; 3]>,
    tumour_radius_m: Option<f64>,
    noise: Option<f64>,
}

impl PhantomText {
    fn phantom(&self) -> LimbPhantom {
        let ours = LimbPhantom::default();
        LimbPhantom {
            seed: self.seed,
            radius_m: self.radius_m.unwrap_or(ours.radius_m),
            length_m: self.length_m.unwrap_or(ours.length_m),
            spacing_m: self.spacing_m.unwrap_or(ours.spacing_m),
            layers_m: [
                self.skin_m.unwrap_or(ours.layers_m[0]),
                self.fat_m.unwrap_or(ours.layers_m[1]),
            ],
            bone_radius_m: self.bone_radius_m.unwrap_or(ours.bone_radius_m),
            vessel_radius_m: self.vessel_radius_m.unwrap_or(ours.vessel_radius_m),
            tumour_m: self.tumour_m.unwrap_or(ours.tumour_m),
            tumour_radius_m: self.tumour_radius_m.unwrap_or(ours.tumour_radius_m),
            noise: self.noise.unwrap_or(ours.noise),
        }
    }
}

/// Entry of `[[material]]`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LabelText {
    name: Option<String>,
    label: Option<u16>,
    low: Option<f32>,
    high: Option<f32>,
    #[serde(default)]
    held: bool,
    #[serde(default)]
    lump: bool,
    /// Other keys: those of the material.
    #[serde(flatten)]
    material: toml::Table,
}

impl LabelText {
    fn label_material(&self, index: usize, label: u16) -> Result<LabelMaterial, SceneError> {
        let entry = MaterialEntry {
            field: format!("material[{index}]"),
            keys: &self.material,
            own_keys: "`name`, `label` (or `low` and `high`), `held` and `lump`",
        };
        let (_, material) = VoxelMaterial::read(&entry, self.name.as_ref())?;
        Ok(LabelMaterial {
            label,
            material,
            fixed: self.held,
            is_lump: self.lump,
        })
    }
}

impl VolumeText {
    pub(crate) fn body(
        &self,
        materials: &[LabelText],
        spacing_m: Option<f64>,
        params: VoxelParams,
        read: SceneFileReader<'_>,
    ) -> Result<VoxelBody, SceneError> {
        let (bands, tissues) = bands_and_tissues(materials)?;
        let (source, volume) = self.labels(bands.as_deref(), spacing_m, read)?;
        let up = self.up.as_deref().unwrap_or("z");
        let Some(turn) = Orientation::with_up(up, &volume.grid) else {
            let expected = format!("one of {}", NAMES.join(", "));
            return Err(field_error("volume.up", up, expected));
        };
        let own = |label: &&u16| tissues.iter().any(|tissue| tissue.label == **label);
        if let Some(label) = self.empty.iter().find(own) {
            let expected = "labels that no [[material]] has";
            return Err(field_error("volume.empty", label, expected));
        }
        let skew = volume.grid.skew();
        if skew > SKEW_MAX {
            let field = format!("axes of {source}, cosine between them");
            return Err(field_error(field, skew, "axes at right angles"));
        }
        let (counts, spacing_m) = turn.box_of(&volume.grid);
        let numbers = self.numbers(&tissues);
        let mut sites = Vec::with_capacity(volume.values.len());
        for value in turn.values(&volume) {
            let Some(&number) = numbers.get(&value) else {
                let expected = "a [[material]] for each label, or to stand in `volume.empty`";
                let field = format!("label in {source}");
                return Err(field_error(field, value, expected));
            };
            sites.push(number);
        }
        let body = VoxelBody {
            source,
            frame: frame(&sites, counts, spacing_m)?,
            counts,
            sites,
            tissues,
            separate: self.separate,
            params,
        };
        // built once here, so that a scene that loads can also be built
        body.solver()?;
        Ok(body)
    }

    /// Number of the tissue from 1, by label; 0 for air.
    fn numbers(&self, tissues: &[LabelMaterial]) -> BTreeMap<u16, u8> {
        let air = self.empty.iter().chain(&[0]).map(|&label| (label, 0));
        let own = tissues.iter().map(|tissue| tissue.label).zip(1..=u8::MAX);
        air.chain(own).collect()
    }

    /// Source of the voxels, and their labels at the required distance; without `bands`, its values are labels.
    fn labels(
        &self,
        bands: Option<&[IntensityBand]>,
        spacing_m: Option<f64>,
        read: SceneFileReader<'_>,
    ) -> Result<(String, VoxelVolume<u16>), SceneError> {
        match (&self.file, &self.phantom) {
            (Some(file), None) => {
                let values = load(file, read)?;
                if let Some(bands) = bands {
                    return Ok((file.clone(), banded(&values, bands, spacing_m)?));
                }
                let labels = label::from_values(&values).map_err(|source| {
                    let bands = "`low` and `high` of each [[material]]";
                    SceneError::in_part(file, format!("{source} ({bands})"))
                })?;
                Ok((file.clone(), resampled(&labels, spacing_m)?))
            }
            (None, Some(text)) => {
                let phantom = text.phantom();
                let unmade = |error| SceneError::in_part("scene table `volume.phantom`", error);
                let labels = if let Some(bands) = bands {
                    banded(&phantom.intensities().map_err(unmade)?, bands, spacing_m)?
                } else {
                    resampled(&phantom.labels().map_err(unmade)?, spacing_m)?
                };
                Ok((format!("{}, seed {}", phantom::NAME, text.seed), labels))
            }
            (file, _) => {
                let found = if file.is_some() {
                    "given twice"
                } else {
                    "missing"
                };
                let expected = "one of `file` and `phantom`";
                Err(field_error("volume.file", found, expected))
            }
        }
    }
}

fn resampled(
    labels: &VoxelVolume<u16>,
    spacing_m: Option<f64>,
) -> Result<VoxelVolume<u16>, SceneError> {
    sample::resample(labels, spacing_m, sample::nearest).map_err(no_lattice)
}

fn no_lattice(source: palpate_geometry::Defect) -> SceneError {
    SceneError::in_field("linked.spacing_m", source)
}

/// Interpolates intensities before bands are applied, so that borders of bands lie between voxels.
fn banded(
    volume: &VoxelVolume<f32>,
    bands: &[IntensityBand],
    spacing_m: Option<f64>,
) -> Result<VoxelVolume<u16>, SceneError> {
    let volume = sample::resample(volume, spacing_m, sample::linear).map_err(no_lattice)?;
    Ok(label::from_bands(&volume, bands))
}

/// Reads materials by label, or by band of intensity; without bands, they are by label.
fn bands_and_tissues(
    materials: &[LabelText],
) -> Result<(Option<Vec<IntensityBand>>, Vec<LabelMaterial>), SceneError> {
    if materials.is_empty() || materials.len() > label::LABELS_MAX {
        let expected = "one to 255 [[material]], one for each label or band";
        return Err(field_error("material", materials.len(), expected));
    }
    let banded = materials
        .iter()
        .any(|text| text.low.is_some() || text.high.is_some());
    let mut bands = Vec::new();
    let mut tissues: Vec<LabelMaterial> = Vec::with_capacity(materials.len());
    for (index, text) in materials.iter().enumerate() {
        let field = |name: &str| format!("material[{index}].{name}");
        let label = if banded {
            if let Some(label) = text.label {
                let expected = "no label where materials have bands (`low`, `high`)";
                return Err(field_error(field("label"), label, expected));
            }
            let band = IntensityBand {
                low: text.low.unwrap_or(f32::NEG_INFINITY),
                high: text.high.unwrap_or(f32::INFINITY),
                label: u16::try_from(index + 1).unwrap_or(u16::MAX),
            };
            if band.low.is_nan() || band.high.is_nan() || band.low >= band.high {
                let value = format!("{} to {}", band.low, band.high);
                return Err(field_error(field("low"), value, "`low` less than `high`"));
            }
            bands.push(band);
            band.label
        } else {
            let expected = "the label of its voxels, or `low` and `high` of their intensities";
            text.label
                .ok_or_else(|| field_error(field("label"), "missing", expected))?
        };
        if label == 0 || tissues.iter().any(|other| other.label == label) {
            let expected = "from 1 to 65535, each once; 0 is air";
            return Err(field_error(field("label"), label, expected));
        }
        tissues.push(text.label_material(index, label)?);
    }
    Ok((banded.then_some(bands), tissues))
}

/// Reads the volume of a file, or of a folder with a DICOM series.
fn load(file: &str, read: SceneFileReader<'_>) -> Result<VoxelVolume<f32>, SceneError> {
    let get = |name: &str| {
        read(name).map_err(|message| {
            let found = format!("{name}: {message}");
            field_error("volume.file", found, "a volume beside the scene")
        })
    };
    let named = |source| SceneError::in_part(file, source);
    if let Some(format) = VolumeFormat::from_name(file) {
        return file::read(format, &get(file)?).map_err(named);
    }
    let folder = format!("{}/", file.trim_end_matches('/'));
    let list = String::from_utf8_lossy(&get(&folder)?).into_owned();
    let files: Result<Vec<_>, SceneError> = list
        .lines()
        .map(|name| Ok((name.to_owned(), get(&format!("{folder}{name}"))?)))
        .collect();
    series::read(&files?).map_err(named)
}

/// Positions of sites for which the body is centred with its top at z = 0.
fn frame(
    sites: &[u8],
    counts: [usize; 3],
    spacing_m: [f64; 3],
) -> Result<LatticeFrame, SceneError> {
    let grid = VoxelGrid::axis_aligned(counts, Vec3::zeros(), spacing_m);
    let full = || grid.indices().zip(sites).filter(|(_, number)| **number > 0);
    let count = full().count();
    if count == 0 || count as f64 > NODES_MAX {
        let expected = "1 to 4 million voxels that are no air; `linked.spacing_m` makes them fewer";
        return Err(field_error("volume", count, expected));
    }
    let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
    for (site, _) in full() {
        for axis in 0..3 {
            low[axis] = low[axis].min(site[axis]);
            high[axis] = high[axis].max(site[axis]);
        }
    }
    let middle_m = |axis: usize| 0.5 * (low[axis] + high[axis]) as f64 * spacing_m[axis];
    let top_m = high[2] as f64 * spacing_m[2];
    Ok(LatticeFrame {
        origin_m: -Vec3::new(middle_m(0), middle_m(1), top_m),
        spacing_m,
    })
}
