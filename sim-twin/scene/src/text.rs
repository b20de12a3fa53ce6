//! TOML text of a scene: its tables and their validation.
//!
//! Source: ours.

use std::ops::RangeInclusive;

use serde::Deserialize;

use super::block::BlockText;
use super::flat;
use super::keys::{self, MovedKey};
use super::lattice::{self, FixtureText, ModelText};
use super::layered::{self, InclusionText, LayerText};
use super::mesh_body::{MeshText, RegionText};
use super::voxel_block::VoxelModelText;
use super::voxel_body::{LabelText, VolumeText};
use super::{Lump, Scene, SceneBody, SceneError, SceneFileReader};
use palpate_geometry::mesh::lattice_check;
use palpate_springs::flat::FlatSheet;
use palpate_springs::idms::{Idms, LatticeContact};
use palpate_twin::lattice::fixture::SheetParams;

impl Scene {
    pub(super) fn parse(text: &str, read: SceneFileReader<'_>) -> Result<Self, SceneError> {
        let (text, _) = SceneText::read(text)?;
        require_positive("tool.radius_m", text.tool.radius_m)?;
        require_positive("tool.stiffness_npm", text.tool.stiffness_npm)?;
        let given = [
            text.sheet.is_some(),
            text.flat.is_some(),
            text.fixture.is_some(),
            text.block.is_some(),
            text.linked.is_some(),
            text.mesh.is_some(),
        ];
        let expected = "one of the tables [sheet], [flat], [fixture], [block], [linked] and [mesh]";
        match given.iter().filter(|&&given| given).count() {
            0 => Err(field_error("sheet", "missing", expected)),
            1 => text.scene(read),
            _ => Err(field_error("sheet", "given twice", expected)),
        }
    }
}

/// Removed and renamed keys of scenes; rates in 1/s had names in Hz.
const MOVED: [MovedKey; 4] = [
    MovedKey {
        path: "model.relax_s",
        now: None,
    },
    MovedKey::renamed("model.drag_hz", "drag_per_s"),
    MovedKey::renamed("block.damping_hz", "damping_per_s"),
    MovedKey::renamed("mesh.damping_hz", "damping_per_s"),
];

impl SceneText {
    pub(super) fn read(text: &str) -> Result<(Self, Vec<String>), toml::de::Error> {
        keys::read(text, &MOVED, &[""])
    }

    fn scene(self, read: SceneFileReader<'_>) -> Result<Scene, SceneError> {
        let block = self.block.is_some() || self.linked.is_some();
        let continuum = block || self.mesh.is_some();
        let layered = !(self.layer.is_empty() && self.inclusion.is_empty());
        if continuum && !self.lump.is_empty() {
            let expected = "[[inclusion]] in a block, `lump = true` in a [[region]]";
            return Err(field_error("lump", "given", expected));
        }
        if !block && layered {
            let expected = "[[lump]] in a lattice, [[region]] with a [mesh]";
            return Err(field_error("layer", "given", expected));
        }
        if self.mesh.is_none() && !self.region.is_empty() {
            return Err(field_error("region", "given", "a table [mesh] beside it"));
        }
        if self.linked.is_none() && (self.volume.is_some() || !self.material.is_empty()) {
            return Err(field_error("volume", "given", "a table [linked] beside it"));
        }
        let (body, lumps) = match (&self.block, &self.linked, &self.mesh) {
            (Some(block), _, _) => {
                let block = block.block(&self.layer, &self.inclusion)?;
                let lumps = block.lumps();
                (SceneBody::Block(block), lumps)
            }
            (None, Some(linked), _) if self.volume.is_some() || !self.material.is_empty() => {
                self.voxels(linked, read)?
            }
            (None, Some(linked), _) => {
                let block = linked.block(&self.layer, &self.inclusion)?;
                let lumps = layered::lumps(&block.layers, &block.inclusions);
                (SceneBody::VoxelBlock(block), lumps)
            }
            (None, None, Some(mesh)) => {
                let volume = mesh.body(&self.region, read)?;
                let lumps = volume.lumps();
                (SceneBody::Mesh(volume), lumps)
            }
            (None, None, None) => match &self.flat {
                Some(_) if !self.lump.is_empty() => {
                    return Err(field_error("lump", "given", "no lump in a flat sheet"));
                }
                Some(flat) => (SceneBody::Flat(flat::validated(flat)?), Vec::new()),
                None => (self.lattice()?, self.lump.clone()),
            },
        };
        Ok(Scene {
            name: self.name,
            body,
            tool_radius_m: self.tool.radius_m,
            tool_stiffness_npm: self.tool.stiffness_npm,
            lumps,
        })
    }

    fn voxels(
        &self,
        linked: &VoxelModelText,
        read: SceneFileReader<'_>,
    ) -> Result<(SceneBody, Vec<Lump>), SceneError> {
        let Some(volume) = &self.volume else {
            let expected =
                "a table [volume] beside [[material]]; layers have their materials themselves";
            return Err(field_error("volume", "missing", expected));
        };
        if !(self.layer.is_empty() && self.inclusion.is_empty()) {
            return Err(field_error(
                "layer",
                "given",
                "[[material]] with a [volume]",
            ));
        }
        let (spacing_m, params) = linked.voxel_choices()?;
        let body = volume.body(&self.material, spacing_m, params, read)?;
        let lumps = body.lumps()?;
        Ok((SceneBody::VoxelBody(body), lumps))
    }

    fn lattice(&self) -> Result<SceneBody, SceneError> {
        let mut lattice = match (&self.sheet, &self.fixture) {
            (Some(sheet), _) => lattice::sheet(sheet)?,
            (_, Some(fixture)) => fixture.lattice()?,
            // the caller has checked that one exists
            _ => return Err(field_error("sheet", "missing", "a table")),
        };
        lattice.name.clone_from(&self.name);
        for lump in &self.lump {
            lump.harden(&mut lattice)?;
        }
        if let Some(finding) = lattice_check::findings(&lattice).into_iter().next() {
            return Err(finding.into());
        }
        let params = self.model.params(&self.tool)?;
        if params.contact == LatticeContact::Node {
            lattice_check::check_contact_radius(&lattice, self.tool.radius_m)?;
        }
        // Built once here, so that a scene that loads can also be built.
        Idms::new(&lattice, &params)?;
        Ok(SceneBody::Lattice { lattice, params })
    }
}

/// TOML text of a scene.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SceneText {
    name: String,
    sheet: Option<SheetParams>,
    flat: Option<FlatSheet>,
    fixture: Option<FixtureText>,
    block: Option<BlockText>,
    linked: Option<VoxelModelText>,
    volume: Option<VolumeText>,
    #[serde(default)]
    material: Vec<LabelText>,
    mesh: Option<MeshText>,
    #[serde(default)]
    region: Vec<RegionText>,
    #[serde(default)]
    layer: Vec<LayerText>,
    #[serde(default)]
    inclusion: Vec<InclusionText>,
    #[serde(default)]
    model: ModelText,
    tool: ToolText,
    #[serde(default)]
    lump: Vec<Lump>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolText {
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
}

/// Error of one field.
pub(super) fn field_error(
    field: impl Into<String>,
    value: impl ToString,
    expected: impl Into<String>,
) -> SceneError {
    SceneError::Field {
        field: field.into(),
        value: value.to_string(),
        expected: expected.into(),
    }
}

pub(super) fn require_positive(field: impl Into<String>, value: f64) -> Result<(), SceneError> {
    if !(value.is_finite() && value > 0.0) {
        return Err(field_error(field, value, "a finite number greater than 0"));
    }
    require_within(field, value, POSITIVE)
}

/// Range of every positive number in SI units: a number beyond it is a mistake, and would overflow a product.
const POSITIVE: RangeInclusive<f64> = 1e-12..=1e12;

/// Range of Young's modulus \[Pa\]: from far below any gel to diamond.
pub(super) const YOUNG_PA: RangeInclusive<f64> = 1e-2..=1e12;

/// Range of the density of a tissue \[kg/m^3\]: from air to above any metal.
pub(super) const DENSITY_KGPM3: RangeInclusive<f64> = 1.0..=1e5;

pub(super) fn require_within(
    field: impl Into<String>,
    value: f64,
    range: RangeInclusive<f64>,
) -> Result<(), SceneError> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("from {:e} to {:e}", range.start(), range.end());
    Err(field_error(field, format!("{value:e}"), expected))
}

pub(super) fn require_finite(field: &str, value: f64) -> Result<(), SceneError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(field_error(field, value, "finite numbers"))
}
