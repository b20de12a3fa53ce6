//! The tables `[volume]` and `[[material]]` of a scene, and what in them is refused.
//!
//! Source: ours.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::Read;
use super::super::block::wrong;
use super::super::linked::{COUNT_MAX, LinkedBlockError, MatterText};
use super::turn::{NAMES, Turn};
use super::{LabelMatter, LinkedVoxels, LinkedVoxelsError};
use palpate_geometry::volume::file;
use palpate_geometry::volume::file::series;
use palpate_geometry::volume::label;
use palpate_geometry::volume::label::Band;
use palpate_geometry::volume::phantom;
use palpate_geometry::volume::phantom::Phantom;
use palpate_geometry::volume::{Format, Grid, Voxels, sample};
use palpate_twin::Vec3;
use palpate_voxel::LinkedParams;
use palpate_voxel::elements::Frame;

/// Most that axes of a volume may lean on each other, as a cosine.
const SKEW_MAX: f64 = 0.02;

/// The table `[volume]`.
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

/// Parameters of a phantom; those that are missing are its own.
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
    fn phantom(&self) -> Phantom {
        let ours = Phantom::default();
        Phantom {
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

/// An entry of `[[material]]`.
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
    /// All other keys, those of a material.
    #[serde(flatten)]
    material: toml::Table,
}

const OWN: &str = "`name`, `label` (or `low` and `high`), `held` and `lump`";

impl LabelText {
    fn matter(&self, index: usize, label: u16) -> Result<LabelMatter, LinkedBlockError> {
        let field = format!("material[{index}]");
        let name = self.name.clone().unwrap_or_else(|| field.clone());
        Ok(LabelMatter {
            label,
            matter: MatterText::matter(&self.material, &field, &name, OWN)?,
            held: self.held,
            is_lump: self.lump,
        })
    }
}

fn refuse(field: String, value: impl ToString, expected: &str) -> LinkedVoxelsError {
    LinkedBlockError::from(wrong(field, value, expected)).into()
}

/// What materials are chosen by.
enum Choice {
    Labels,
    Bands(Vec<Band>),
}

impl VolumeText {
    pub(crate) fn body(
        &self,
        materials: &[LabelText],
        spacing_m: Option<f64>,
        params: LinkedParams,
        read: Read<'_>,
    ) -> Result<LinkedVoxels, LinkedVoxelsError> {
        let (choice, tissues) = choice(materials)?;
        let (source, volume) = self.labels(&choice, spacing_m, read)?;
        let up = self.up.as_deref().unwrap_or("z");
        let Some(turn) = Turn::with_up(up, &volume.grid) else {
            let expected = format!("one of {}", NAMES.join(", "));
            return Err(refuse("volume.up".into(), up, &expected));
        };
        let own = |label: &&u16| tissues.iter().any(|tissue| tissue.label == **label);
        if let Some(label) = self.empty.iter().find(own) {
            let expected = "labels that no [[material]] has";
            return Err(refuse("volume.empty".into(), label, expected));
        }
        let skew = volume.grid.skew();
        if skew > SKEW_MAX {
            let field = format!("axes of {source}, cosine between them");
            return Err(refuse(field, skew, "axes at right angles"));
        }
        let (counts, spacing_m) = turn.box_of(&volume.grid);
        let numbers = self.numbers(&tissues);
        let mut sites = Vec::with_capacity(volume.values.len());
        for value in turn.values(&volume) {
            let Some(&number) = numbers.get(&value) else {
                let expected = "a [[material]] for each label, or to stand in `volume.empty`";
                let field = format!("label in {source}");
                return Err(refuse(field, value, expected));
            };
            sites.push(number);
        }
        let body = LinkedVoxels {
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

    /// The number of the tissue from 1, by label; 0 for air.
    fn numbers(&self, tissues: &[LabelMatter]) -> BTreeMap<u16, u8> {
        let air = self.empty.iter().chain(&[0]).map(|&label| (label, 0));
        let own = tissues.iter().map(|tissue| tissue.label).zip(1..=u8::MAX);
        air.chain(own).collect()
    }

    /// Where the voxels come from, and their labels at the distance that is wanted.
    fn labels(
        &self,
        choice: &Choice,
        spacing_m: Option<f64>,
        read: Read<'_>,
    ) -> Result<(String, Voxels<u16>), LinkedVoxelsError> {
        match (&self.file, &self.phantom) {
            (Some(file), None) => {
                let values = load(file, read)?;
                let labels = match choice {
                    Choice::Bands(bands) => banded(&values, bands, spacing_m)?,
                    Choice::Labels => {
                        let labels = label::from_values(&values);
                        let labels = labels.map_err(|source| LinkedVoxelsError::Labels {
                            file: file.clone(),
                            source,
                        })?;
                        at(&labels, spacing_m)?
                    }
                };
                Ok((file.clone(), labels))
            }
            (None, Some(text)) => {
                let phantom = text.phantom();
                let labels = match choice {
                    Choice::Bands(bands) => banded(&phantom.intensities()?, bands, spacing_m)?,
                    Choice::Labels => at(&phantom.labels()?, spacing_m)?,
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
                Err(refuse("volume.file".into(), found, expected))
            }
        }
    }
}

/// The distance of voxels along all axes, or their own.
fn wanted(grid: &Grid, spacing_m: Option<f64>) -> [f64; 3] {
    spacing_m.map_or_else(|| grid.spacing_m(), |spacing_m| [spacing_m; 3])
}

fn at(labels: &Voxels<u16>, spacing_m: Option<f64>) -> Result<Voxels<u16>, LinkedVoxelsError> {
    Ok(sample::labels_at(labels, wanted(&labels.grid, spacing_m))?)
}

/// Intensities are weighed first and told apart then, so that bands meet between voxels.
fn banded(
    volume: &Voxels<f32>,
    bands: &[Band],
    spacing_m: Option<f64>,
) -> Result<Voxels<u16>, LinkedVoxelsError> {
    let volume = sample::intensities_at(volume, wanted(&volume.grid, spacing_m))?;
    Ok(label::from_bands(&volume, bands))
}

/// Materials by label, or by band of intensity.
fn choice(materials: &[LabelText]) -> Result<(Choice, Vec<LabelMatter>), LinkedVoxelsError> {
    if materials.is_empty() || materials.len() > label::KINDS_MAX {
        let expected = "one to 255 [[material]], one for each label or band";
        return Err(refuse("material".into(), materials.len(), expected));
    }
    let banded = materials
        .iter()
        .any(|text| text.low.is_some() || text.high.is_some());
    let mut bands = Vec::new();
    let mut tissues: Vec<LabelMatter> = Vec::with_capacity(materials.len());
    for (index, text) in materials.iter().enumerate() {
        let field = |name: &str| format!("material[{index}].{name}");
        let label = if banded {
            if let Some(label) = text.label {
                let expected = "no label where materials have bands (`low`, `high`)";
                return Err(refuse(field("label"), label, expected));
            }
            let band = Band {
                low: text.low.unwrap_or(f32::NEG_INFINITY),
                high: text.high.unwrap_or(f32::INFINITY),
                label: u16::try_from(index + 1).unwrap_or(u16::MAX),
            };
            if band.low.is_nan() || band.high.is_nan() || band.low >= band.high {
                let value = format!("{} to {}", band.low, band.high);
                return Err(refuse(field("low"), value, "`low` less than `high`"));
            }
            bands.push(band);
            band.label
        } else {
            let expected = "the label of its voxels, or `low` and `high` of their intensities";
            text.label
                .ok_or_else(|| refuse(field("label"), "missing", expected))?
        };
        if label == 0 || tissues.iter().any(|other| other.label == label) {
            let expected = "from 1 to 65535, each once; 0 is air";
            return Err(refuse(field("label"), label, expected));
        }
        tissues.push(text.matter(index, label)?);
    }
    let choice = if banded {
        Choice::Bands(bands)
    } else {
        Choice::Labels
    };
    Ok((choice, tissues))
}

/// The volume of a file, or of a folder with a DICOM series.
fn load(file: &str, read: Read<'_>) -> Result<Voxels<f32>, LinkedVoxelsError> {
    let get = |name: &str| {
        read(name).map_err(|message| LinkedVoxelsError::File {
            file: name.to_owned(),
            message,
        })
    };
    let named = |source| LinkedVoxelsError::Volume {
        file: file.to_owned(),
        source,
    };
    if let Some(format) = Format::of_name(file) {
        return file::read(format, &get(file)?).map_err(named);
    }
    let folder = format!("{}/", file.trim_end_matches('/'));
    let list = String::from_utf8_lossy(&get(&folder)?).into_owned();
    let files: Result<Vec<_>, LinkedVoxelsError> = list
        .lines()
        .map(|name| Ok((name.to_owned(), get(&format!("{folder}{name}"))?)))
        .collect();
    series::read(&files?).map_err(named)
}

/// Where sites are so that the body is centred and its top at z = 0.
fn frame(
    sites: &[u8],
    counts: [usize; 3],
    spacing_m: [f64; 3],
) -> Result<Frame, LinkedVoxelsError> {
    let grid = Grid::straight(counts, Vec3::zeros(), spacing_m);
    let full = || grid.indices().zip(sites).filter(|(_, number)| **number > 0);
    let count = full().count();
    if count == 0 || count as f64 > COUNT_MAX {
        let expected = "1 to 4 million voxels that are no air; `linked.spacing_m` makes them fewer";
        return Err(refuse("volume".into(), count, expected));
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
    Ok(Frame {
        origin_m: -Vec3::new(middle_m(0), middle_m(1), top_m),
        spacing_m,
    })
}
