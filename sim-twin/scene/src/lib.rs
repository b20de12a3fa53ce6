//! Scenes: typed TOML texts of tissues, and the tissues built from them.
//!
//! Source: ours. The only crate that depends on all models. The built-in scenes are in `scenes/`. In reading order:
//! `text` parses a scene; `keys` renames keys of an earlier version. `block` builds layers of a continuum (`layered` has
//! its common parts with `voxel_block`), `mesh_body` a mesh file with the laws of `law`. `lattice` builds springs, `lattice_file` reads those of a file, `flat` builds a
//! sheet without mass, `voxel_block` layers of nodes and links, `voxel_body` labelled voxels. `press` measures the
//! stiffness of a press, `press_motion` presses in other ways, `converged_press` computes the truth. `compliance_table`
//! condenses a block, [`morph`](MorphSteps) changes a scene into another during contact. `colouring` colours the surface of a voxel model; `block_mesh` exports cells to other programs.
//! SI units; the patch is centred on the z axis with its surface at z = 0. A block is fine in the zone of
//! `fine_centre_m`, `fine_half_m` and `fine_depth_m`; the force of a press outside it can be wrong by a large factor.

mod block;
mod block_mesh;
mod calibration;
mod colouring;
mod compliance_table;
mod converged_press;
mod flat;
pub mod keys;
mod lattice;
mod lattice_file;
mod law;
mod layered;
mod mesh_body;
mod morph;
mod press;
mod press_motion;
mod text;
mod voxel_block;
mod voxel_body;

use serde::Deserialize;

use palpate_fem::explicit::ExplicitError;
use palpate_fem::implicit::ImplicitError;
use palpate_fem::{ComplianceError, StaticPressError};
use palpate_geometry::Defect;
use palpate_geometry::mesh::lattice_check;
use palpate_springs::flat::{FlatSheet, FlatTissue};
use palpate_springs::idms::{Idms, IdmsError, IdmsParams, LatticeContact};
use palpate_twin::lattice::Lattice;
use palpate_twin::{Instrument, Tissue, Tool, ToolShape, Vec3};
use palpate_voxel::VoxelParamsError;
use palpate_voxel::nodes::VoxelNodesError;

pub use block::{Block, BlockSolver};
pub use calibration::NearbyMaps;
pub use colouring::{clip, coloured_surface};
pub use converged_press::BallPress;
pub use lattice_file::lattice_file_text;
pub use layered::{Inclusion, Layer};
pub use mesh_body::{MeshBody, MeshMaterial};
pub use morph::{MORPH_STEP_LOG, MorphError, MorphSteps};
pub use press::PressStiffness;
pub use press_motion::{PressMotion, PressRun, PressSample};
pub use voxel_block::{VoxelBlock, hexahedra};
pub use voxel_body::{LabelMaterial, VoxelBody};

/// Slice of the names and texts of `FOLDER/NAME.toml`, embedded in the program; the folder is relative to the
/// calling file.
#[macro_export]
macro_rules! texts {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!($folder, "/", $name, ".toml")))),+]
    };
}

/// Name and text of every built-in scene.
pub const BUILT_IN: &[(&str, &str)] = texts!(
    "../scenes": "layered", "layered-lump", "block", "block-nodule", "layers-nodule", "rough", "tweezers", "flat-sheet",
    "sheet", "sheet-fine", "sheet-lump", "seed-regular", "seed-printed", "mound", "linked-nodule", "limb",
);

/// Name and bytes of the mesh files of built-in scenes.
const MESHES: [(&str, &[u8]); 1] = [("mound.msh", include_bytes!("../scenes/mound.msh"))];

/// Reader of a file that a scene names: returns its bytes, or the reason of a failure. A name that ends in `/` is a
/// folder, whose bytes are the sorted names of its files, one a line.
pub type SceneFileReader<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Tissue that can be built any number of times, and its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Name of the scene.
    pub name: String,
    /// Body of the tissue.
    pub body: SceneBody,
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Stiffness of the tool's boundary \[N/m\].
    pub tool_stiffness_npm: f64,
    /// Shape of the tool in a session; presses have a ball.
    pub tool_shape: ToolShape,
    /// Stiffness of the tool's boundary in a session \[N/m\].
    pub session_stiffness_npm: f64,
    /// Hidden lumps: the ground truth of a palpation.
    pub lumps: Vec<Lump>,
}

/// Body of a scene's tissue.
#[derive(Debug, Clone, PartialEq)]
pub enum SceneBody {
    /// Springs, for the model IDMS.
    Lattice {
        /// The lattice, lumps included.
        lattice: Lattice,
        /// Choices of the model.
        params: IdmsParams,
    },
    /// A flat sheet without mass.
    Flat(FlatSheet),
    /// A continuum in layers, for finite elements.
    Block(Block),
    /// A continuum of any shape, for the implicit solver.
    Mesh(MeshBody),
    /// Voxel model in layers, which can be cut.
    VoxelBlock(VoxelBlock),
    /// Voxel model from labelled voxels, which can be cut.
    VoxelBody(VoxelBody),
}

/// Stiffer tissue, as seen from above: a column through a sheet, or a ball in a block.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lump {
    /// Centre in the plane of the surface \[m\].
    pub center_m: [f64; 2],
    /// Radius \[m\]; a link belongs to the lump if its midpoint does.
    pub radius_m: f64,
    /// Factor on the stiffness of its links, including the home links (rest length 0) that tie nodes to their rest
    /// positions. In a tissue without a lattice: its stiffness over that of its surroundings.
    pub factor: f64,
}

/// Error of a scene.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SceneError {
    /// No built-in scene has this name.
    #[error("no scene is called `{name}`; expected one of: {}", built_in_names().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The text is not a scene; the message names line and field.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// A field is out of its range, or its table missing.
    #[error("scene field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: String,
        /// Value found.
        value: String,
        /// Valid form.
        expected: String,
    },
    /// A part of the scene, or a file that it names, is unfit.
    #[error("{part}: {message}")]
    Part {
        /// Name of the part.
        part: String,
        /// Defect of the part.
        message: String,
    },
    /// A lattice, a mesh or a grid is unfit, or the tool would fall through.
    #[error(transparent)]
    Geometry(#[from] Defect),
    /// The model refuses the lattice or the parameters.
    #[error(transparent)]
    Model(#[from] IdmsError),
    /// The explicit solver refuses a block.
    #[error(transparent)]
    Explicit(#[from] ExplicitError),
    /// The implicit solver refuses a block or a body.
    #[error(transparent)]
    Implicit(#[from] ImplicitError),
    /// No voxel model can be created.
    #[error("table [linked]: {0}")]
    VoxelNodes(#[from] VoxelNodesError),
    /// The voxel model refuses a parameter.
    #[error("table [linked]: {0}")]
    VoxelModel(#[from] VoxelParamsError),
    /// No converged force of a press is found.
    #[error("the converged force: {0}")]
    Press(#[from] StaticPressError),
    /// The scene has no compliance table.
    #[error("the scene `{0}` has no table: only one with a [block] of method fem can be condensed")]
    NoTable(String),
    /// The scene cannot be condensed.
    #[error(transparent)]
    Compliance(#[from] ComplianceError),
}

impl SceneError {
    /// Error of a part of the scene.
    fn in_part(part: impl Into<String>, message: impl ToString) -> Self {
        Self::Part {
            part: part.into(),
            message: message.to_string(),
        }
    }

    /// Error of a layer, an inclusion or another field.
    #[must_use]
    pub fn in_field(field: &str, message: impl ToString) -> Self {
        Self::in_part(format!("scene field `{field}`"), message)
    }
}

/// Names of the built-in scenes.
#[must_use]
pub fn built_in_names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|&(name, _)| name).collect()
}

/// The TOML text of a built-in scene, or the text itself.
///
/// A text without line breaks and equals signs is taken as a name.
///
/// # Errors
/// [`SceneError::Unknown`] lists the known names.
pub fn scene_text(name_or_text: &str) -> Result<&str, SceneError> {
    let name = name_or_text.trim();
    if let Some(&(_, text)) = BUILT_IN.iter().find(|&&(known, _)| known == name) {
        return Ok(text);
    }
    if name.contains(['\n', '=']) {
        Ok(name_or_text)
    } else {
        Err(SceneError::Unknown {
            name: name.chars().take(40).collect(),
        })
    }
}

/// Loads a built-in scene by its name, or a scene from its TOML text, as [`scene_text`] distinguishes them.
///
/// Only the mesh files of built-in scenes are available.
///
/// # Errors
/// [`SceneError`]; an unknown name lists the known ones.
pub fn load(name_or_text: &str) -> Result<Scene, SceneError> {
    load_with(name_or_text, &|file| {
        let known = MESHES.iter().find(|(name, _)| *name == file);
        let bytes = known.map(|(_, bytes)| bytes.to_vec());
        bytes.ok_or_else(|| "no built-in scene has such a file".to_owned())
    })
}

/// Loads a scene as [`load`] does, with the files that it names from `read`.
///
/// # Errors
/// As [`load`].
pub fn load_with(name_or_text: &str, read: SceneFileReader<'_>) -> Result<Scene, SceneError> {
    Scene::parse(scene_text(name_or_text)?, read)
}

/// Returns notes on removed and renamed keys of a scene's text.
///
/// # Errors
/// As [`load`], for errors of the text alone.
pub fn notes(name_or_text: &str) -> Result<Vec<String>, SceneError> {
    Ok(text::SceneText::read(scene_text(name_or_text)?)?.1)
}

impl Scene {
    /// Name of the tissue model, as in `--method`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match &self.body {
            SceneBody::Lattice { .. } => "idms",
            SceneBody::Flat(_) => "flat",
            SceneBody::Block(block) if block.solver == BlockSolver::Explicit => "fem",
            SceneBody::Block(_) | SceneBody::Mesh(_) => "implicit",
            SceneBody::VoxelBlock(_) | SceneBody::VoxelBody(_) => "linked",
        }
    }

    /// Builds a tissue of this scene, at rest.
    ///
    /// # Errors
    /// If the model refuses the body or its tool, such as a ball that falls between the nodes that it touches.
    pub fn build(&self) -> Result<Box<dyn Tissue>, SceneError> {
        match &self.body {
            SceneBody::Lattice { lattice, params } => {
                if params.contact == LatticeContact::Node {
                    lattice_check::check_contact_radius(lattice, self.tool_radius_m)?;
                }
                let params = IdmsParams {
                    tool_stiffness_npm: self.tool_stiffness_npm,
                    ..*params
                };
                Ok(Box::new(Idms::new(lattice, &params)?))
            }
            SceneBody::Flat(sheet) => Ok(Box::new(FlatTissue::new(sheet))),
            SceneBody::Block(_) => self.build_with_maps(&self.single_map()?),
            SceneBody::Mesh(volume) => Ok(Box::new(volume.solver()?)),
            SceneBody::VoxelBlock(block) => Ok(Box::new(block.solver()?)),
            SceneBody::VoxelBody(body) => Ok(Box::new(body.solver()?)),
        }
    }

    /// Returns this scene with a ball of a radius \[m\] as its tool, whose boundary has a stiffness \[N/m\].
    #[must_use]
    pub fn with_tool(self, radius_m: f64, stiffness_npm: f64) -> Self {
        Self {
            tool_radius_m: radius_m,
            tool_stiffness_npm: stiffness_npm,
            ..self
        }
    }

    /// Returns the tool of this scene, at rest at a position \[m\].
    #[must_use]
    pub fn tool_at(&self, position_m: Vec3) -> Tool {
        Tool {
            position_m,
            velocity_mps: Vec3::zeros(),
            radius_m: self.tool_radius_m,
            stiffness_npm: self.tool_stiffness_npm,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: Instrument::Blunt,
            jaws: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::shape::SolidForm;

    const DEPTH_M: f64 = 0.008;
    const LUMP_M: [f64; 2] = [0.02, 0.0];

    fn press(scene: &Scene, point_m: [f64; 2]) -> f64 {
        scene.press_stiffness(&[point_m], DEPTH_M).unwrap()[0].secant_npm
    }

    #[test]
    fn every_built_in_scene_is_centred_and_can_be_built() {
        for name in built_in_names() {
            let scene = load(name).unwrap();
            assert_eq!(scene.name, name);
            let tissue = scene.build().unwrap();
            if let SceneBody::Lattice { params, .. } = &scene.body {
                assert!(tissue.caps().dt_s_max >= params.dt_s, "{name}");
            }
            let rest_m = tissue.view().rest_m;
            let corner = |pick: fn(f64, f64) -> f64, axis: usize| {
                rest_m
                    .iter()
                    .map(|place| place[axis])
                    .fold(rest_m[0][axis], pick)
            };
            // the surface of these is not only a flat top
            let curved = matches!(
                scene.body,
                SceneBody::Mesh(_) | SceneBody::VoxelBlock(_) | SceneBody::VoxelBody(_)
            );
            for axis in if curved { 0..2 } else { 0..3 } {
                let middle_m = corner(f64::min, axis) + corner(f64::max, axis);
                assert!(middle_m.abs() < 1e-12, "{name}, axis {axis}: {middle_m}");
            }
        }
    }

    #[test]
    fn removed_key_is_noted_and_has_no_effect() {
        let own = scene_text("sheet")
            .unwrap()
            .replacen("[model]", "[model]\nrelax_s = 0.5", 1);
        assert_eq!(load(&own).unwrap(), load("sheet").unwrap());
        assert_eq!(notes(&own).unwrap(), ["`model.relax_s` has no effect"]);
        assert_eq!(notes("sheet"), Ok(Vec::new()));
    }

    #[test]
    fn renamed_rates_keep_their_value_and_are_noted() {
        for (scene, table, now) in [
            ("layered", "block", "damping_per_s"),
            ("mound", "mesh", "damping_per_s"),
            ("seed-regular", "model", "drag_per_s"),
        ] {
            let given = scene_text(scene).unwrap();
            let with = |key: &str, value: &str| -> String {
                let others = given.lines().filter(|line| !line.starts_with(now));
                let text = others.collect::<Vec<_>>().join("\n");
                text.replacen(
                    &format!("[{table}]"),
                    &format!("[{table}]\n{key} = {value}"),
                    1,
                )
            };
            let was = now.replace("_per_s", "_hz");
            assert_eq!(
                load(&with(&was, "41.0")).unwrap(),
                load(&with(now, "41.0")).unwrap()
            );
            assert_ne!(
                load(&with(&was, "41.0")).unwrap(),
                load(&with(now, "42.0")).unwrap()
            );
            let found = notes(&with(&was, "41.0")).unwrap();
            assert_eq!(found, [format!("`{table}.{was}` is now `{now}`")]);
        }
    }

    #[test]
    fn a_viscous_layer_relaxes_and_unknown_laws_are_named() {
        let with = |line: &str| {
            let plain = scene_text("block").unwrap();
            load(&plain.replace("young_pa = 5000.0", &format!("young_pa = 5000.0\n{line}")))
        };
        let viscous =
            with("relaxing_share = 0.5\nrelaxing_time_s = 0.01\nshear_viscosity_pas = 1.0");
        let (viscous, plain) = (viscous.unwrap(), load("block").unwrap());
        let place_m = [([0.0, 0.0], 2e-3)];
        let force_n = |scene: &Scene| scene.press_stiffness_at_depths(&place_m).unwrap()[0].force_n;
        let ratio = force_n(&viscous) / force_n(&plain);
        assert!((0.45..0.75).contains(&ratio), "{ratio}");
        // as before there were lists; and the order of a list says nothing
        let none = with("relaxing_share = 0.0\nrelaxing_time_s = 0.1").unwrap();
        assert_eq!(none, plain);
        let [first, second] = ["[[0.2, 0.01], [0.3, 1.0]]", "[[0.3, 1.0], [0.2, 0.01]]"]
            .map(|list| with(&format!("relaxing = {list}")).unwrap());
        assert_eq!(first, second);
        for (line, field) in [
            ("law = \"fung\"", "layer[0].fung_growth"),
            ("relaxing_share = 0.5", "layer[0].relaxing_share"),
            ("relaxing_share = 1.5\nrelaxing_time_s = 1.0", "layer[0]"),
            ("relaxing = [[0.5, 1.0], [0.5, 0.1]]", "sum to 1"),
            ("relaxing = [[0.5, 0.0]]", "layer[0].relaxing"),
            (
                "relaxing = [[0.5, 1.0]]\nrelaxing_share = 0.2\nrelaxing_time_s = 1.0",
                "layer[0].relaxing",
            ),
            ("shear_viscosity_pas = -1.0", "layer[0]"),
        ] {
            let error = with(line).err().unwrap().to_string();
            assert!(error.contains(field), "{line}: {error}");
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        let plain = scene_text("block").unwrap();
        for (field, usual) in [
            ("young_pa", "5000.0"),
            ("density_kgpm3", "1000.0"),
            ("radius_m", "0.005"),
        ] {
            for absurd in ["1e300", "1e-300"] {
                let was = format!("{field} = {usual}");
                assert!(plain.contains(&was));
                let text = plain.replace(&was, &format!("{field} = {absurd}"));
                let error = load(&text).err().unwrap().to_string();
                let named = [field, absurd, "from 1e"].map(|part| error.contains(part));
                assert_eq!(named, [true; 3], "{error}");
            }
        }
    }

    #[test]
    fn coarse_and_fine_sheet_agree_over_the_palpation_grid() {
        let [twin, fine] = ["sheet", "sheet-fine"].map(|name| load(name).unwrap());
        assert_eq!(twin.build().unwrap().view().positions_m.len(), 22);
        let mut sum_npm = 0.0;
        for point_m in [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02], [0.02, 0.02]] {
            let [coarse_npm, fine_npm] = [&twin, &fine].map(|scene| press(scene, point_m));
            let ratio = coarse_npm / fine_npm;
            assert!(
                (ratio - 1.0).abs() < 0.16,
                "{point_m:?}: {coarse_npm} and {fine_npm} N/m"
            );
            sum_npm += coarse_npm;
        }
        assert!((0.25 * sum_npm - 300.0).abs() < 30.0, "{sum_npm}");
    }

    #[test]
    fn s4_07_lump_doubles_the_local_stiffness() {
        let [plain, lump] = ["sheet-fine", "sheet-lump"].map(|name| load(name).unwrap());
        assert_eq!(lump.lumps[0].center_m, LUMP_M);
        let contrast = |point_m| press(&lump, point_m) / press(&plain, point_m);
        let over = contrast(LUMP_M);
        assert!((1.8..2.4).contains(&over), "{over}");
        // the disc of the row is five times as stiff
        let text = scene_text("sheet-lump").unwrap();
        let five = load(&text.replacen("factor = 4.0", "factor = 5.0", 1)).unwrap();
        let over = press(&five, LUMP_M) / press(&plain, LUMP_M);
        assert!(over >= 2.0, "{over}");
        assert!(contrast([-0.02, 0.0]) < 1.05);
        assert!(contrast([-0.02, 0.02]) < 1.05);
    }

    #[test]
    fn refusals_name_the_field_or_the_known_names() {
        let refusal = |text: &str| load(text).unwrap_err().to_string();
        assert_eq!(
            refusal("liver"),
            "no scene is called `liver`; expected one of: \
             layered, layered-lump, block, block-nodule, layers-nodule, rough, tweezers, \
             flat-sheet, sheet, sheet-fine, sheet-lump, seed-regular, seed-printed, mound, linked-nodule, limb"
        );
        let text = include_str!("../scenes/sheet.toml");
        let swap = |from: &str, to: &str| refusal(&text.replacen(from, to, 1));
        assert!(swap("rows = 5", "rows = 1").contains("`sheet.rows` is 1; expected"));
        assert!(swap("rows = 5", "rows = 5\nlines = 5").contains("unknown field `lines`"));
        assert!(swap("edge_m = 0.02", "edge_m = nan").contains("`sheet.edge_m` is NaN"));
        assert!(swap("mass_kg = 0.02", "mass_kg = 0.0").contains("mass_kg is 0"));
        assert!(swap("mass_kg = 0.02", "mass_kg = 0.0001").contains("kappa + 2 beta"));
        assert!(swap("[sheet]", "[fixture]").contains("unknown field `columns`"));
        assert!(swap("patch_m = 0.028", "contact = \"node\"").contains("can slip between nodes"));
        let lump = format!("{text}[[lump]]\ncenter_m = [0, 0]\nradius_m = 0.01\nfactor = -1.0\n");
        assert!(refusal(&lump).contains("`lump.factor` is -1"));
        assert!(
            refusal("name = \"none\"\n[tool]\nradius_m=1.0\nstiffness_npm=1.0").contains(
                "expected one of the tables [sheet], [flat], [fixture], [lattice], [block], [linked] and [mesh]"
            )
        );
    }
    #[test]
    fn inclusions_of_every_form_are_read_and_bad_keys_are_named() {
        let text = include_str!("../scenes/block-nodule.toml");
        let with = |keys: &str| {
            let from = text.find("radius_m").expect("of the inclusion");
            let to = from + text[from..].find('\n').expect("a line");
            load(&format!("{}{keys}{}", &text[..from], &text[to..]))
        };
        let scene = with("shape = \"box\"\nhalf_m = [0.003, 0.004, 0.002]\nturn_deg = -90");
        let SceneBody::Block(block) = scene.expect("a scene").body else {
            panic!("a block");
        };
        let solid = block.inclusions[0].solid.expect("a box");
        assert_eq!((solid.form, solid.axis), (SolidForm::Box, [0.0, -1.0]));
        assert!((block.lumps()[0].radius_m - 0.005).abs() < 1e-12);
        let box_of = |half_m: &str| format!("shape = \"box\"\nhalf_m = {half_m}");
        for (keys, named) in [
            (String::new(), "inclusion[0].radius_m` is missing"),
            ("shape = \"cone\"".to_owned(), "ball, box, ellipsoid"),
            (
                "shape = \"ellipsoid\"".to_owned(),
                "inclusion[0].half_m` is missing",
            ),
            (box_of("[0.1, 0.0, 0.1]"), "inclusion[0].half_m[1]` is 0"),
            (
                box_of("[0.1, 0.1, 0.1]\nradius_m = 0.1"),
                "inclusion[0].radius_m` is 0.1",
            ),
            (
                box_of("[0.1, 0.1, 0.1]\nturn_deg = inf"),
                "inclusion[0].turn_deg",
            ),
            (
                "radius_m = 0.01\nturn_deg = 3".to_owned(),
                "inclusion[0].turn_deg` is 3",
            ),
        ] {
            let error = with(&keys).expect_err(&keys).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn block_refuses_unknown_keys() {
        let text = include_str!("../scenes/block-nodule.toml");
        let swap = |from: &str, to: &str| {
            let text = text.replacen(from, to, 1);
            load(&text).unwrap_err().to_string()
        };
        for (from, to, key) in [
            ("poisson = 0.45", "poison = 0.45", "poison"),
            ("young_pa = 50000.0", "young_kpa = 50", "young_kpa"),
            ("[block]", "[block]\nfrixion = 1", "frixion"),
        ] {
            let refused = swap(from, to);
            let unknown = format!("unknown field `{key}`, expected one of");
            assert!(refused.contains(&unknown), "{refused}");
        }
    }

    #[test]
    fn a_fine_zone_off_the_block_is_refused() {
        let text = include_str!("../scenes/block-nodule.toml");
        let text = text.replacen("[block]", "[block]\nfine_centre_m = [0.2, 0.0]", 1);
        let refused = load(&text).unwrap_err().to_string();
        assert!(
            refused.contains("fine_centre_m[0]` is 0.2; expected -0.05 to 0.05"),
            "{refused}"
        );
    }
}
