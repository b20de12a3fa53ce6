//! TOML text of a scene: its tables and their validation.
//!
//! Source: ours.

use std::ops::RangeInclusive;

use serde::Deserialize;

use super::block::BlockText;
use super::flat;
use super::keys::{self, MovedKey};
use super::lattice::{self, FixtureText, ModelText};
use super::lattice_file::{self, LatticeFileText};
use super::layered::{self, InclusionText, LayerText};
use super::mesh_body::{MeshText, RegionText};
use super::voxel_block::VoxelModelText;
use super::voxel_body::{LabelText, VolumeText};
use super::{Lump, Scene, SceneBody, SceneError, SceneFileReader};
use palpate_geometry::mesh::lattice_check;
use palpate_springs::flat::FlatSheet;
use palpate_springs::idms::{Idms, IdmsError, IdmsParams};
use palpate_twin::ToolShape;
use palpate_twin::lattice::Lattice;
use palpate_twin::lattice::fixture::SheetParams;

impl Scene {
    pub(super) fn parse(text: &str, read: SceneFileReader<'_>) -> Result<Self, SceneError> {
        let (text, _) = SceneText::read(text)?;
        text.tool.as_ref().map_or(Ok(()), ToolText::check)?;
        let given = [
            text.sheet.is_some(),
            text.flat.is_some(),
            text.fixture.is_some(),
            text.lattice.is_some(),
            text.block.is_some(),
            text.linked.is_some(),
            text.mesh.is_some(),
        ];
        let expected =
            "one of the tables [sheet], [flat], [fixture], [lattice], [block], [linked] and [mesh]";
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
                None => return self.springs(read),
            },
        };
        self.with_body(body, lumps, self.tool()?)
    }

    /// Scene of a body and a tool. Springs are built once, so that a scene that loads can also be built.
    fn with_body(
        &self,
        body: SceneBody,
        lumps: Vec<Lump>,
        tool: ToolText,
    ) -> Result<Scene, SceneError> {
        let scene = Scene {
            name: self.name.clone(),
            body,
            tool_radius_m: tool.radius_m,
            tool_stiffness_npm: tool.stiffness_npm,
            tool_shape: tool.shape,
            session_stiffness_npm: tool.session_stiffness_npm.unwrap_or(tool.stiffness_npm),
            lumps,
        };
        if let SceneBody::Lattice { .. } = scene.body {
            scene.build()?;
        }
        Ok(scene)
    }

    /// The tool, which every scene but one of lattice files must state.
    fn tool(&self) -> Result<ToolText, SceneError> {
        let expected = "a table [tool] with radius_m and stiffness_npm";
        let missing = || field_error("tool", "missing", expected);
        self.tool.ok_or_else(missing)
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

    fn springs(&self, read: SceneFileReader<'_>) -> Result<Scene, SceneError> {
        let mut lattice = match (&self.sheet, &self.fixture, &self.lattice) {
            (Some(sheet), ..) => lattice::sheet(sheet)?,
            (_, Some(fixture), _) => fixture.lattice()?,
            (_, _, Some(file)) => file.lattice(read)?,
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
        let tool = match (self.tool, &self.lattice) {
            (None, Some(_)) => lattice_file::source_tool(&lattice),
            _ => self.tool()?,
        };
        let mut params = self.model.params(tool.stiffness_npm)?;
        if self.lattice.is_some() && !self.model.has_substeps() {
            params.substeps = stable_substeps(&lattice, &params);
        }
        let body = SceneBody::Lattice { lattice, params };
        self.with_body(body, self.lump.clone(), tool)
    }
}

/// Number of sub-steps with which a lattice is stable; that of the parameters if no number up to [`SUBSTEPS_MAX`] is.
fn stable_substeps(lattice: &Lattice, params: &IdmsParams) -> u32 {
    match Idms::new(lattice, params) {
        Err(IdmsError::Unstable { dt_s_max, .. }) => {
            let needed = (params.dt_s / dt_s_max).ceil();
            let possible = (1.0..=SUBSTEPS_MAX).contains(&needed);
            if possible {
                needed as u32
            } else {
                params.substeps
            }
        }
        _ => params.substeps,
    }
}

/// Most sub-steps that are chosen for a lattice file: more would not fit into a tick.
const SUBSTEPS_MAX: f64 = 32.0;

/// TOML text of a scene.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SceneText {
    name: String,
    sheet: Option<SheetParams>,
    flat: Option<FlatSheet>,
    fixture: Option<FixtureText>,
    lattice: Option<LatticeFileText>,
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
    tool: Option<ToolText>,
    #[serde(default)]
    lump: Vec<Lump>,
}

/// Table `[tool]`: the tool of presses and of sessions.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolText {
    radius_m: f64,
    stiffness_npm: f64,
    /// Stiffness in a session \[N/m\], if it is not that of a press.
    session_stiffness_npm: Option<f64>,
    /// Shape in a session; a press has a ball.
    #[serde(default)]
    shape: ToolShape,
}

impl ToolText {
    /// A ball.
    pub(super) const fn ball(radius_m: f64, stiffness_npm: f64) -> Self {
        Self {
            radius_m,
            stiffness_npm,
            session_stiffness_npm: None,
            shape: ToolShape::Ball,
        }
    }

    fn check(&self) -> Result<(), SceneError> {
        require_positive("tool.radius_m", self.radius_m)?;
        require_positive("tool.stiffness_npm", self.stiffness_npm)?;
        let session_npm = self.session_stiffness_npm.unwrap_or(self.stiffness_npm);
        require_positive("tool.session_stiffness_npm", session_npm)?;
        require_within("tool.shape", self.shape.longest_m(), SHAPE_M)
    }
}

/// Range of the edges of a tool's shape \[m\].
const SHAPE_M: RangeInclusive<f64> = 0.0..=0.1;

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
