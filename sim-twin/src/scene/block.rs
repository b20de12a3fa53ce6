//! Scenes of a continuum: a block in layers over a rigid ground, with inclusions, for finite elements.
//!
//! Source: ours; materials from [`crate::law::tissue`] by name or from numbers. The block is centred
//! under the origin: its top is at z = 0 and its ground at minus its height.

use serde::Deserialize;

use super::Lump;
use super::law::LawText;
use crate::Vec3;
use crate::law::viscous::ViscousError;
use crate::law::{Material, MaterialError, Mixing, Viscosity, tissue};
use crate::mesh::grade::Grading;
use crate::mesh::hex::{HexError, HexMesh, Side};
use crate::mesh::nested::{Nested, NestedError, Zone};
use crate::mesh::region::{Region, RegionError, Shape, Shares};
use crate::model::fem::Support;
use crate::model::fem::explicit::{Explicit, ExplicitError, Params, Stiff, Stuff};
use crate::model::fem::implicit::{self, Implicit, ImplicitError};
use crate::twin::Tissue;

/// Samples along each edge of a cell, for shares of layers and inclusions.
pub(super) const SAMPLES: u32 = 8;

/// Largest ratio of neighbouring cells of the implicit solver beside the fine zone.
const IMPLICIT_GROWTH: f64 = 1.6;

/// A layer, from its upper side to the next one's.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Its thickness \[m\].
    pub thickness_m: f64,
    /// What it is made of.
    pub material: Material,
}

/// A ball of another material.
#[derive(Debug, Clone, PartialEq)]
pub struct Inclusion {
    /// Its name.
    pub name: String,
    /// Its centre \[m\], below z = 0.
    pub centre_m: Vec3,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// What it is made of.
    pub material: Material,
}

/// A block of layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its edges \[m\].
    pub size_m: [f64; 3],
    /// Layers from the top down; together as high as the block.
    pub layers: Vec<Layer>,
    /// Inclusions; a later one replaces an earlier one.
    pub inclusions: Vec<Inclusion>,
    /// Where it is fine.
    pub zone: Zone,
    /// How moduli mix in a cell that several materials share.
    pub mixing: Mixing,
    /// Choices of the solver.
    pub params: Params,
    /// Which solver it is.
    pub solver: BlockSolver,
}

/// A solver of a block, by its name in `method` of `[block]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum BlockSolver {
    /// `fem`: nested grids, made for the tick of a servo.
    #[default]
    #[serde(rename = "fem")]
    Explicit,
    /// `implicit`: one mesh that is graded to every side of the fine zone, for virtual time. Of the
    /// choices of [`Params`] it has the law and the damping.
    #[serde(rename = "implicit")]
    Implicit,
}

/// Why there is no such block.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BlockError {
    /// A field is out of its range.
    #[error("scene field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: String,
        /// Value found.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A layer or inclusion has a key that is none, or of another type.
    #[error("scene field `{field}`: {message}; beside {own}")]
    Keys {
        /// The layer or inclusion.
        field: String,
        /// What is wrong, and which keys of a material would be right.
        message: String,
        /// Which others would be.
        own: &'static str,
    },
    /// A material is unfit.
    #[error("scene field `{field}`: {source}")]
    Material {
        /// The layer or inclusion.
        field: String,
        /// What is wrong.
        source: MaterialError,
    },
    /// What is viscous of a material is unfit.
    #[error("scene field `{field}`: {source}")]
    Viscosity {
        /// The layer or inclusion.
        field: String,
        /// What is wrong.
        source: ViscousError,
    },
    /// The grids cannot be made.
    #[error(transparent)]
    Grid(#[from] NestedError),
    /// A level is no mesh.
    #[error(transparent)]
    Mesh(#[from] HexError),
    /// A place has no material.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The solver refuses it.
    #[error(transparent)]
    Solver(#[from] ExplicitError),
    /// The implicit solver refuses it.
    #[error(transparent)]
    Implicit(#[from] ImplicitError),
}

impl Block {
    /// Places and materials, a later one replacing an earlier one, in the frame of the scene.
    #[must_use]
    pub fn regions(&self) -> Vec<Region> {
        let mut regions = Vec::with_capacity(self.layers.len() + self.inclusions.len());
        let mut top_m = f64::MAX;
        let mut next_m = 0.0;
        for (index, layer) in self.layers.iter().enumerate() {
            next_m -= layer.thickness_m;
            let last = index + 1 == self.layers.len();
            let from_m = if last { f64::MIN } else { next_m };
            regions.push(Region {
                shape: Shape::Layer {
                    from_m,
                    to_m: top_m,
                },
                material: layer.material,
            });
            top_m = next_m;
        }
        regions.extend(self.inclusions.iter().map(|inclusion| Region {
            shape: Shape::Ball {
                centre_m: inclusion.centre_m,
                radius_m: inclusion.radius_m,
            },
            material: inclusion.material,
        }));
        regions
    }

    /// Lowest and highest corner \[m\].
    #[must_use]
    pub fn corners_m(&self) -> [Vec3; 2] {
        let [x, y, z] = self.size_m;
        [
            Vec3::new(-0.5 * x, -0.5 * y, -z),
            Vec3::new(0.5 * x, 0.5 * y, 0.0),
        ]
    }

    /// Grids and materials.
    ///
    /// # Errors
    /// If the grids cannot be made.
    pub fn grids(&self) -> Result<(Nested, Vec<Stuff>), BlockError> {
        let [low_m, high_m] = self.corners_m();
        let nested = Nested::new(low_m, high_m, &self.zone)?;
        let regions = self.regions();
        let mut stuff = Vec::with_capacity(nested.levels.len());
        for level in &nested.levels {
            let shares = Shares::take(&level.mesh()?, &regions, SAMPLES)?;
            stuff.push(Stuff {
                moduli: shares.moduli(&regions, self.mixing),
                densities_kgpm3: shares.densities_kgpm3(&regions),
            });
        }
        Ok((nested, stuff))
    }

    /// What is viscous of the cells of the grids; nothing if no material is.
    ///
    /// # Errors
    /// If the grids cannot be made.
    pub fn viscosities(&self, nested: &Nested) -> Result<Vec<Vec<Viscosity>>, BlockError> {
        let regions = self.regions();
        let viscous = |region: &Region| region.material.viscosity() != Viscosity::NONE;
        if !regions.iter().any(viscous) {
            return Ok(Vec::new());
        }
        let mut all = Vec::with_capacity(nested.levels.len());
        for level in &nested.levels {
            let shares = Shares::take(&level.mesh()?, &regions, SAMPLES)?;
            all.push(shares.viscosities(&regions));
        }
        Ok(all)
    }

    /// Its solver, at rest.
    ///
    /// # Errors
    /// If grids cannot be made or the solver refuses them.
    pub fn solver(&self) -> Result<Explicit, BlockError> {
        let (nested, stuff) = self.grids()?;
        let viscosities = self.viscosities(&nested)?;
        let solver = Explicit::with_viscosity(&nested, &stuff, &viscosities, &self.params)?;
        Ok(solver)
    }

    /// A new tissue, at rest.
    ///
    /// # Errors
    /// As [`Block::solver`].
    pub fn build(&self) -> Result<Box<dyn Tissue>, BlockError> {
        Ok(match self.solver {
            BlockSolver::Explicit => Box::new(self.solver()?),
            BlockSolver::Implicit => Box::new(self.implicit()?),
        })
    }

    /// One mesh in the frame of the scene, with cells of `cell_m` \[m\] in the fine zone to a depth of
    /// `deep_m` \[m\], whose neighbours beside it differ by `growth` at most.
    ///
    /// # Errors
    /// If an axis cannot be graded.
    pub(super) fn graded(
        &self,
        (cell_m, growth): (f64, f64),
        deep_m: f64,
    ) -> Result<HexMesh, HexError> {
        let [low_m, high_m] = self.corners_m();
        let grade = |axis: usize, (from_m, to_m): (f64, f64)| {
            let grading = Grading {
                from_m: from_m - low_m[axis],
                to_m: to_m - low_m[axis],
                cell_m,
                growth,
            };
            let mut line_m = grading.axis(high_m[axis] - low_m[axis])?;
            line_m.iter_mut().for_each(|x_m| *x_m += low_m[axis]);
            Ok::<_, HexError>(line_m)
        };
        let across = |axis: usize| grade(axis, self.fine_m(axis));
        let up_m = grade(2, (high_m.z - deep_m.min(self.size_m[2]), high_m.z))?;
        HexMesh::block([&across(0)?, &across(1)?, &up_m])
    }

    /// Ends of the fine zone along x or y \[m\].
    pub(super) fn fine_m(&self, axis: usize) -> (f64, f64) {
        let half_m = 0.5 * self.size_m[axis];
        let end = |sign: f64| {
            let at_m = self.zone.centre_m[axis] + sign * self.zone.half_m[axis];
            at_m.clamp(-half_m, half_m)
        };
        (end(-1.0), end(1.0))
    }

    /// Its implicit solver, at rest.
    ///
    /// # Errors
    /// If the mesh cannot be made or the solver refuses it.
    pub fn implicit(&self) -> Result<Implicit, BlockError> {
        let mesh = self.graded((self.zone.cell_m, IMPLICIT_GROWTH), self.zone.depth_m)?;
        let regions = self.regions();
        let shares = Shares::take(&mesh, &regions, SAMPLES)?;
        let moduli = shares.moduli(&regions, self.mixing);
        let densities = shares.densities_kgpm3(&regions);
        let viscosities = shares.viscosities(&regions);
        let viscosities = implicit::Viscosity::of_cells(&viscosities).map_err(|source| {
            let field = "layer".to_owned();
            BlockError::Viscosity { field, source }
        })?;
        let params = implicit::Params {
            damping_hz: self.params.damping_hz,
            ..implicit::Params::default()
        };
        let matter = (self.params.law, &moduli[..], &densities[..]);
        let held = [Support::Fixed(Side::ZMin)];
        Ok(Implicit::with_viscosity(
            &mesh,
            matter,
            &viscosities,
            &held,
            &params,
        )?)
    }

    /// Index of the layer in which an inclusion's centre lies; none in a block without layers.
    #[must_use]
    pub fn host(&self, inclusion: &Inclusion) -> Option<usize> {
        let mut depth_m = -inclusion.centre_m.z;
        let around = self.layers.iter().position(|layer| {
            depth_m -= layer.thickness_m;
            depth_m <= 0.0
        });
        around.or(self.layers.len().checked_sub(1))
    }

    /// Inclusions as seen from above, with their stiffness over that of the layer around them.
    #[must_use]
    pub fn lumps(&self) -> Vec<Lump> {
        let lump = |inclusion: &Inclusion| {
            let host_pa = self.layers[self.host(inclusion)?].material.young_pa();
            Some(Lump {
                center_m: [inclusion.centre_m.x, inclusion.centre_m.y],
                radius_m: inclusion.radius_m,
                factor: inclusion.material.young_pa() / host_pa,
            })
        };
        self.inclusions.iter().filter_map(lump).collect()
    }
}

/// The table `[block]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockText {
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
pub(super) struct MaterialText {
    pub(super) tissue: Option<String>,
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
pub(super) struct LayerText {
    name: Option<String>,
    /// The last layer may leave it out: it goes down to the ground.
    thickness_m: Option<f64>,
    /// All other keys, for a [`MaterialText`]: flattened itself, it would let unknown ones pass.
    #[serde(flatten)]
    material: toml::Table,
}

/// An entry of `[[inclusion]]`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InclusionText {
    name: Option<String>,
    center_m: [f64; 3],
    radius_m: f64,
    /// All other keys, as those of a layer.
    #[serde(flatten)]
    material: toml::Table,
}

pub(super) fn wrong(field: String, value: impl ToString, expected: &str) -> BlockError {
    BlockError::Field {
        field,
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}

fn positive(field: impl Into<String>, value: f64) -> Result<(), BlockError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(wrong(field.into(), value, "a finite number greater than 0"))
}

impl MaterialText {
    /// From the keys of an entry that are not its `own`.
    pub(super) fn read(
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

    pub(super) fn material(&self, field: &str) -> Result<Material, BlockError> {
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
    pub(super) fn block(
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
        let known = [
            ("hourglass", self.hourglass),
            ("contact_stiffness", self.contact_stiffness),
            ("friction", self.friction),
            ("jaw_friction", self.jaw_friction),
            ("substeps_max", self.substeps_max.map(f64::from)),
            ("classes", self.classes.map(|classes| classes as f64)),
        ];
        let given = known.iter().find(|(_, value)| value.is_some());
        match given.filter(|_| self.method == BlockSolver::Implicit) {
            Some((field, value)) => {
                let value = value.unwrap_or_default();
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
            positive(format!("{field}.radius_m"), text.radius_m)?;
            let centre_m = Vec3::from(text.center_m);
            let inside = centre_m.x.abs() <= 0.5 * self.size_m[0]
                && centre_m.y.abs() <= 0.5 * self.size_m[1]
                && (-self.size_m[2]..=0.0).contains(&centre_m.z);
            if !inside {
                let expected = "a place inside the block, whose top is at z = 0";
                let value = format!("{:?}", text.center_m);
                return Err(wrong(format!("{field}.center_m"), value, expected));
            }
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
