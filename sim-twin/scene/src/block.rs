//! Scenes of a continuum: a block in layers over a rigid ground, with inclusions, for finite elements.
//!
//! Source: ours; materials from [`palpate_twin::law::tissue`] by name or from numbers. The block is centred
//! under the origin: its top is at z = 0 and its ground at minus its height.

mod text;

use serde::Deserialize;

use super::Lump;
use palpate_fem::Support;
use palpate_fem::explicit::{Explicit, ExplicitError, Params, Stuff};
use palpate_fem::implicit;
use palpate_fem::implicit::{Implicit, ImplicitError, Matter};
use palpate_geometry::mesh::grade::Grading;
use palpate_geometry::mesh::hex::{HexError, HexMesh, Side};
use palpate_geometry::mesh::nested::{Nested, NestedError, Zone};
use palpate_geometry::mesh::region::{Region, RegionError, Shares};
use palpate_twin::Vec3;
use palpate_twin::law::viscous::ViscousError;
use palpate_twin::law::{Material, MaterialError, Mixing, Viscosity};
use palpate_twin::shape::Shape;
use palpate_twin::twin::Tissue;
pub(super) use text::{BlockText, InclusionText, LayerText, MaterialText};

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
        cell_m: f64,
        growth: f64,
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
        let mesh = self.graded(self.zone.cell_m, IMPLICIT_GROWTH, self.zone.depth_m)?;
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
        let matter = Matter {
            family: self.params.law,
            moduli: &moduli,
            densities_kgpm3: &densities,
            viscosities: &viscosities,
        };
        let held = [Support::Fixed(Side::ZMin)];
        Ok(Implicit::new(&mesh, &matter, &held, &params)?)
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

pub(super) fn wrong(field: String, value: impl ToString, expected: &str) -> BlockError {
    BlockError::Field {
        field,
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}

pub(super) fn positive(field: impl Into<String>, value: f64) -> Result<(), BlockError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(wrong(field.into(), value, "a finite number greater than 0"))
}
