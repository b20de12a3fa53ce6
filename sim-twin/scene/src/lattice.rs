//! Scenes of springs: sheets and the data sets of the sources, with what the model IDMS may be told.
//!
//! Source: seed-004 3.9 and 4C (rows S4-07, S4-56), lumps after S4-07.

use serde::Deserialize;

use super::text::{ToolText, field, finite, positive};
use super::{Lump, SceneError};
use palpate_geometry::mesh::Units;
use palpate_springs::idms::{Contact, IdmsParams, Pinch};
use palpate_twin::Vec3;
use palpate_twin::lattice::Lattice;
use palpate_twin::lattice::fixture;
use palpate_twin::lattice::fixture::SheetParams;

/// Largest number of columns or rows of a sheet.
const SIDE_MAX: u32 = 400;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SheetText {
    columns: u32,
    rows: u32,
    edge_m: f64,
    depth_ratio: f64,
    mass_kg: f64,
    stiffness_npm: f64,
    damping_nspm: f64,
    home_stiffness_npm: f64,
    home_damping_nspm: f64,
}

impl SheetText {
    pub(super) fn lattice(&self) -> Result<Lattice, SceneError> {
        for (name, count) in [("sheet.columns", self.columns), ("sheet.rows", self.rows)] {
            if !(2..=SIDE_MAX).contains(&count) {
                return Err(field(name, count, "a whole number from 2 to 400"));
            }
        }
        positive("sheet.edge_m", self.edge_m)?;
        positive("sheet.depth_ratio", self.depth_ratio)?;
        Ok(fixture::sheet(&SheetParams {
            columns: self.columns,
            rows: self.rows,
            edge_m: self.edge_m,
            depth_ratio: self.depth_ratio,
            mass_kg: self.mass_kg,
            stiffness_npm: self.stiffness_npm,
            damping_nspm: self.damping_nspm,
            home_stiffness_npm: self.home_stiffness_npm,
            home_damping_nspm: self.home_damping_nspm,
        }))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FixtureText {
    kind: FixtureKind,
    length_m: f64,
    force_n: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FixtureKind {
    Regular,
    Printed,
}

impl FixtureText {
    pub(super) fn lattice(&self) -> Result<Lattice, SceneError> {
        let units = Units {
            length_m: self.length_m,
            force_n: self.force_n,
        };
        units.check()?;
        let mut lattice = units.import(&match self.kind {
            FixtureKind::Regular => fixture::regular(),
            FixtureKind::Printed => fixture::printed(),
        });
        let surface = lattice.atoms.iter().filter(|atom| atom.surface);
        let bounds = surface
            .map(|atom| atom.position_m)
            .fold(None, |bounds, place| {
                let (low, high) = bounds.unwrap_or((place, place));
                Some((low.inf(&place), high.sup(&place)))
            });
        let middle_m = bounds.map_or(Vec3::zeros(), |(low, high): (Vec3, Vec3)| {
            0.5 * (low + high)
        });
        lattice
            .atoms
            .iter_mut()
            .for_each(|atom| atom.position_m -= middle_m);
        Ok(lattice)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ContactText {
    Face,
    Node,
}

/// The part of [`IdmsParams`] that a scene may set; what is left out has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelText {
    dt_s: Option<f64>,
    substeps: Option<u32>,
    contact: Option<ContactText>,
    patch_m: Option<f64>,
    contact_damping_ratio: Option<f64>,
    pinch_stiffness_npm: Option<f64>,
    pinch_width_m: Option<f64>,
    relax_s: Option<f64>,
}

impl ModelText {
    pub(super) fn params(&self, tool: &ToolText) -> IdmsParams {
        let ours = IdmsParams::default();
        let damping = self.contact_damping_ratio;
        IdmsParams {
            dt_s: self.dt_s.unwrap_or(ours.dt_s),
            substeps: self.substeps.unwrap_or(ours.substeps),
            contact: match self.contact.unwrap_or(ContactText::Face) {
                ContactText::Face => Contact::Face {
                    patch_m: self.patch_m.unwrap_or(0.0),
                },
                ContactText::Node => Contact::Node,
            },
            contact_damping_ratio: damping.unwrap_or(ours.contact_damping_ratio),
            tool_stiffness_npm: tool.stiffness_npm,
            pinch: Pinch {
                stiffness_npm: self.pinch_stiffness_npm.unwrap_or(ours.pinch.stiffness_npm),
                width_m: self.pinch_width_m.unwrap_or(ours.pinch.width_m),
            },
            relax_s: self.relax_s.unwrap_or(ours.relax_s),
            ..ours
        }
    }
}

impl Lump {
    /// Multiply the stiffness of every link whose midpoint is inside.
    pub(super) fn harden(&self, lattice: &mut Lattice) -> Result<(), SceneError> {
        positive("lump.radius_m", self.radius_m)?;
        positive("lump.factor", self.factor)?;
        finite("lump.center_m", self.center_m[0] + self.center_m[1])?;
        for link in &mut lattice.links {
            let [a, b] = link
                .atoms
                .map(|atom| lattice.atoms[atom as usize].position_m);
            let [x_m, y_m] = self.center_m;
            let away_m = (0.5 * (a + b)).xy() - nalgebra::Vector2::new(x_m, y_m);
            if away_m.norm() < self.radius_m {
                link.stiffness_npm *= self.factor;
            }
        }
        Ok(())
    }
}
