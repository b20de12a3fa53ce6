//! The TOML text of a scene, and what in it is refused.
//!
//! Source: ours.

use serde::Deserialize;

use super::block::{BlockText, InclusionText, LayerText};
use super::flat::FlatText;
use super::lattice::{FixtureText, ModelText, SheetText};
use super::linked::{LinkedBlockError, LinkedText};
use super::volume::{MeshText, RegionText};
use super::voxels::{LabelText, VolumeText};
use super::{Body, Lump, Read, Scene, SceneError};
use palpate_geometry::mesh::check;
use palpate_springs::idms::{Contact, Idms};

impl Scene {
    pub(super) fn parse(text: &str, read: Read<'_>) -> Result<Self, SceneError> {
        let text: Text = toml::from_str(text)?;
        positive("tool.radius_m", text.tool.radius_m)?;
        positive("tool.stiffness_npm", text.tool.stiffness_npm)?;
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
            0 => Err(field("sheet", "missing", expected)),
            1 => text.scene(read),
            _ => Err(field("sheet", "given twice", expected)),
        }
    }
}

impl Text {
    fn scene(self, read: Read<'_>) -> Result<Scene, SceneError> {
        let block = self.block.is_some() || self.linked.is_some();
        let continuum = block || self.mesh.is_some();
        let layered = !(self.layer.is_empty() && self.inclusion.is_empty());
        if continuum && !self.lump.is_empty() {
            let expected = "[[inclusion]] in a block, `lump = true` in a [[region]]";
            return Err(field("lump", "given", expected));
        }
        if !block && layered {
            let expected = "[[lump]] in a lattice, [[region]] with a [mesh]";
            return Err(field("layer", "given", expected));
        }
        if self.mesh.is_none() && !self.region.is_empty() {
            return Err(field("region", "given", "a table [mesh] beside it"));
        }
        if self.linked.is_none() && (self.volume.is_some() || !self.material.is_empty()) {
            return Err(field("volume", "given", "a table [linked] beside it"));
        }
        let (body, lumps) = match (&self.block, &self.linked, &self.mesh) {
            (Some(block), _, _) => {
                let block = block.block(&self.layer, &self.inclusion)?;
                let lumps = block.lumps();
                (Body::Block(block), lumps)
            }
            (None, Some(linked), _) if self.volume.is_some() || !self.material.is_empty() => {
                self.voxels(linked, read)?
            }
            (None, Some(linked), _) => {
                let block = linked.block(&self.layer, &self.inclusion)?;
                let lumps = block.lumps();
                (Body::Linked(block), lumps)
            }
            (None, None, Some(mesh)) => {
                let volume = mesh.volume(&self.region, read)?;
                let lumps = volume.lumps();
                (Body::Mesh(volume), lumps)
            }
            (None, None, None) => match &self.flat {
                Some(_) if !self.lump.is_empty() => {
                    return Err(field("lump", "given", "no lump in a flat sheet"));
                }
                Some(flat) => (Body::Flat(flat.sheet()?), Vec::new()),
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

    fn voxels(&self, linked: &LinkedText, read: Read<'_>) -> Result<(Body, Vec<Lump>), SceneError> {
        let Some(volume) = &self.volume else {
            let expected =
                "a table [volume] beside [[material]]; layers have their materials themselves";
            return Err(field("volume", "missing", expected));
        };
        if !(self.layer.is_empty() && self.inclusion.is_empty()) {
            return Err(field("layer", "given", "[[material]] with a [volume]"));
        }
        let (spacing_m, params) = linked.of_voxels()?;
        let body = volume.body(&self.material, spacing_m, params, read)?;
        let lumps = body.lumps().map_err(LinkedBlockError::from)?;
        Ok((Body::Voxels(body), lumps))
    }

    fn lattice(&self) -> Result<Body, SceneError> {
        let mut lattice = match (&self.sheet, &self.fixture) {
            (Some(sheet), _) => sheet.lattice()?,
            (_, Some(fixture)) => fixture.lattice()?,
            // the caller has seen one of them
            _ => return Err(field("sheet", "missing", "a table")),
        };
        lattice.name.clone_from(&self.name);
        for lump in &self.lump {
            lump.harden(&mut lattice)?;
        }
        if let Some(&finding) = check::findings(&lattice).first() {
            return Err(finding.into());
        }
        let params = self.model.params(&self.tool)?;
        if params.contact == Contact::Node {
            check::contact_radius(&lattice, self.tool.radius_m)?;
        }
        // Built once here, so that a scene that loads can also be built.
        Idms::new(&lattice, &params)?;
        Ok(Body::Lattice { lattice, params })
    }
}

/// The TOML text of a scene.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    sheet: Option<SheetText>,
    flat: Option<FlatText>,
    fixture: Option<FixtureText>,
    block: Option<BlockText>,
    linked: Option<LinkedText>,
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

pub(super) fn field(
    field: &'static str,
    value: impl ToString,
    expected: &'static str,
) -> SceneError {
    SceneError::Field {
        field,
        value: value.to_string(),
        expected,
    }
}

pub(super) fn positive(name: &'static str, value: f64) -> Result<(), SceneError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(field(name, value, "a finite number greater than 0"))
}

pub(super) fn finite(name: &'static str, value: f64) -> Result<(), SceneError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(field(name, value, "finite numbers"))
    }
}
