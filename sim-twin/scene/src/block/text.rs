//! How a block is written: its tables, read and checked.
//!
//! Source: ours.

use serde::Deserialize;

use super::super::law::LawText;
use super::{Block, BlockError, BlockSolver, Inclusion, Layer, positive, wrong};
use palpate_fem::explicit::{Params, Stiff};
use palpate_geometry::mesh::nested::Zone;
use palpate_twin::Vec3;
use palpate_twin::law::{Material, Mixing, Viscosity, tissue};

/// The table `[block]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockText {
    size_m: [f64; 3],
    cell_m: f64,
    levels: usize,
    fine_half_m: [f64; 2],
    fine_depth_m: f64,
    #[serde(default)]
    fine_centre_m: [f64; 2],
    #[serde(default)]
    mixing: MixingText,
    law: Option<String>,
    mooney_second: Option<f64>,
    fung_growth: Option<f64>,
    damping_hz: Option<f64>,
    hourglass: Option<f64>,
    contact_stiffness: Option<f64>,
    friction: Option<f64>,
    jaw_friction: Option<f64>,
    substeps_max: Option<u32>,
    stiff: Option<StiffText>,
    classes: Option<usize>,
    #[serde(default)]
    method: BlockSolver,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MixingText {
    Voigt,
    Reuss,
    Hill,
    #[default]
    Geometric,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StiffText {
    Coupled,
    Mass,
}

/// A material: a published one by name, or numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaterialText {
    pub(crate) tissue: Option<String>,
    young_pa: Option<f64>,
    poisson: Option<f64>,
    density_kgpm3: Option<f64>,
    shear_viscosity_pas: Option<f64>,
    bulk_viscosity_pas: Option<f64>,
    relaxing_share: Option<f64>,
    relaxing_time_s: Option<f64>,
    law: Option<String>,
}

/// An entry of `[[layer]]`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LayerText {
    pub(crate) name: Option<String>,
    /// The last layer may leave it out: it goes down to the ground.
    pub(crate) thickness_m: Option<f64>,
    /// All other keys, for a [`MaterialText`]: flattened itself, it would let unknown ones pass.
    #[serde(flatten)]
    pub(crate) material: toml::Table,
}

/// An entry of `[[inclusion]]`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct InclusionText {
    pub(crate) name: Option<String>,
    center_m: [f64; 3],
    pub(crate) radius_m: f64,
    /// All other keys, as those of a layer.
    #[serde(flatten)]
    pub(crate) material: toml::Table,
}

impl InclusionText {
    /// Its centre \[m\], inside a block of this size; its radius is checked along.
    pub(crate) fn centre_m(&self, field: &str, size_m: [f64; 3]) -> Result<Vec3, BlockError> {
        positive(format!("{field}.radius_m"), self.radius_m)?;
        let centre_m = Vec3::from(self.center_m);
        let inside = centre_m.x.abs() <= 0.5 * size_m[0]
            && centre_m.y.abs() <= 0.5 * size_m[1]
            && (-size_m[2]..=0.0).contains(&centre_m.z);
        if !inside {
            let expected = "a place inside the block, whose top is at z = 0";
            let value = format!("{:?}", self.center_m);
            return Err(wrong(format!("{field}.center_m"), value, expected));
        }
        Ok(centre_m)
    }
}

impl MaterialText {
    /// From the keys of an entry that are not its `own`.
    pub(crate) fn read(
        keys: &toml::Table,
        field: &str,
        own: &'static str,
    ) -> Result<Self, BlockError> {
        let read: Result<Self, toml::de::Error> = keys.clone().try_into();
        read.map_err(|error| BlockError::Keys {
            field: field.to_owned(),
            message: error.message().to_owned(),
            own,
        })
    }

    pub(crate) fn material(&self, field: &str) -> Result<Material, BlockError> {
        if let Some(law) = &self.law {
            let expected = "no law here: a scene has one, `law` in [block] or [mesh]";
            return Err(wrong(format!("{field}.law"), law, expected));
        }
        let base = match &self.tissue {
            Some(name) => {
                let found = tissue::find(name).ok_or_else(|| {
                    let known: Vec<&str> = tissue::LIBRARY.iter().map(|t| t.name).collect();
                    let expected = format!("one of: {}", known.join(", "));
                    wrong(format!("{field}.tissue"), name, &expected)
                })?;
                Some(found)
            }
            None => None,
        };
        let Some(young_pa) = self.young_pa.or(base.map(|tissue| tissue.young_pa)) else {
            let expected = "a stiffness, or `tissue` with the name of a published one";
            return Err(wrong(format!("{field}.young_pa"), "missing", expected));
        };
        let poisson = self.poisson.unwrap_or(tissue::POISSON);
        let density = self
            .density_kgpm3
            .or(base.map(|tissue| tissue.density_kgpm3));
        let material = Material::new(young_pa, poisson, density.unwrap_or(1000.0));
        let material = material.map_err(|source| BlockError::Material {
            field: field.to_owned(),
            source,
        })?;
        material
            .with_viscosity(self.viscosity(field)?)
            .map_err(|source| BlockError::Viscosity {
                field: field.to_owned(),
                source,
            })
    }

    fn viscosity(&self, field: &str) -> Result<Viscosity, BlockError> {
        let (share, time_s) = (self.relaxing_share, self.relaxing_time_s);
        if share.is_some() != time_s.is_some() {
            let expected = "both `relaxing_share` and `relaxing_time_s`, or neither";
            return Err(wrong(format!("{field}.relaxing_share"), "alone", expected));
        }
        Ok(Viscosity {
            shear_pas: self.shear_viscosity_pas.unwrap_or(0.0),
            bulk_pas: self.bulk_viscosity_pas.unwrap_or(0.0),
            share: share.unwrap_or(0.0),
            time_s: time_s.unwrap_or(Viscosity::NONE.time_s),
        })
    }
}

impl BlockText {
    pub(crate) fn block(
        &self,
        layers: &[LayerText],
        inclusions: &[InclusionText],
    ) -> Result<Block, BlockError> {
        for (axis, &edge_m) in self.size_m.iter().enumerate() {
            positive(format!("block.size_m[{axis}]"), edge_m)?;
        }
        self.choices()?;
        let law = LawText {
            table: "block",
            law: self.law.as_deref(),
            mooney_second: self.mooney_second,
            fung_growth: self.fung_growth,
        };
        let ours = Params {
            law: law.family()?,
            ..Params::default()
        };
        let block = Block {
            size_m: self.size_m,
            layers: self.layers(layers)?,
            inclusions: self.inclusions(inclusions)?,
            zone: Zone {
                cell_m: self.cell_m,
                levels: self.levels,
                centre_m: self.fine_centre_m,
                half_m: self.fine_half_m,
                depth_m: self.fine_depth_m,
            },
            mixing: match self.mixing {
                MixingText::Voigt => Mixing::Voigt,
                MixingText::Reuss => Mixing::Reuss,
                MixingText::Hill => Mixing::Hill,
                MixingText::Geometric => Mixing::Geometric,
            },
            params: Params {
                damping_hz: self.damping_hz.unwrap_or(ours.damping_hz),
                hourglass: self.hourglass.unwrap_or(ours.hourglass),
                contact_stiffness: self.contact_stiffness.unwrap_or(ours.contact_stiffness),
                friction: self.friction.unwrap_or(ours.friction),
                jaw_friction: self.jaw_friction,
                substeps_max: self.substeps_max.unwrap_or(ours.substeps_max),
                stiff: match self.stiff {
                    Some(StiffText::Coupled) => Stiff::Coupled,
                    Some(StiffText::Mass) => Stiff::Mass,
                    None => ours.stiff,
                },
                classes: self.classes.unwrap_or(ours.classes),
                ..ours
            },
            solver: self.method,
        };
        // built once here, so that a scene that loads can also be built
        block.build()?;
        Ok(block)
    }

    /// The implicit solver takes no choices of the other one.
    fn choices(&self) -> Result<(), BlockError> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let known = [
            ("hourglass", number(self.hourglass)),
            ("contact_stiffness", number(self.contact_stiffness)),
            ("friction", number(self.friction)),
            ("jaw_friction", number(self.jaw_friction)),
            ("substeps_max", number(self.substeps_max.map(f64::from))),
            ("classes", self.classes.map(|classes| classes.to_string())),
            (
                "stiff",
                self.stiff.map(|stiff| format!("{stiff:?}").to_lowercase()),
            ),
        ];
        let given = known
            .into_iter()
            .find_map(|(field, value)| Some((field, value?)));
        match given.filter(|_| self.method == BlockSolver::Implicit) {
            Some((field, value)) => {
                let expected = "nothing: only `method = \"fem\"` has this choice";
                Err(wrong(format!("block.{field}"), value, expected))
            }
            None => Ok(()),
        }
    }

    fn layers(&self, texts: &[LayerText]) -> Result<Vec<Layer>, BlockError> {
        if texts.is_empty() {
            return Err(wrong("layer".into(), "missing", "at least one [[layer]]"));
        }
        let mut left_m = self.size_m[2];
        let mut layers = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let field = format!("layer[{index}]");
            let last = index + 1 == texts.len();
            let thickness_m = match text.thickness_m {
                None if last => left_m,
                None => {
                    let expected = "a number; only the last layer goes down to the ground";
                    return Err(wrong(format!("{field}.thickness_m"), "missing", expected));
                }
                Some(thickness_m) => thickness_m,
            };
            positive(format!("{field}.thickness_m"), thickness_m)?;
            left_m -= thickness_m;
            let beyond = left_m < -1e-9 * self.size_m[2];
            let short = last && left_m > 1e-9 * self.size_m[2];
            if beyond || short {
                let expected = format!("layers of {} m together", self.size_m[2]);
                return Err(wrong(
                    format!("{field}.thickness_m"),
                    thickness_m,
                    &expected,
                ));
            }
            let own = "`name` and `thickness_m`";
            let stuff = MaterialText::read(&text.material, &field, own)?;
            let name = text.name.clone().or(stuff.tissue.clone());
            layers.push(Layer {
                name: name.unwrap_or(field.clone()),
                thickness_m,
                material: stuff.material(&field)?,
            });
        }
        Ok(layers)
    }

    fn inclusions(&self, texts: &[InclusionText]) -> Result<Vec<Inclusion>, BlockError> {
        let mut inclusions = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let field = format!("inclusion[{index}]");
            let centre_m = text.centre_m(&field, self.size_m)?;
            let own = "`name`, `center_m` and `radius_m`";
            let stuff = MaterialText::read(&text.material, &field, own)?;
            inclusions.push(Inclusion {
                name: text.name.clone().unwrap_or(field.clone()),
                centre_m,
                radius_m: text.radius_m,
                material: stuff.material(&field)?,
            });
        }
        Ok(inclusions)
    }
}
