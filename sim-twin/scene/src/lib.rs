//! Scenes: which tissue there is to touch, as a typed TOML text, and the tissue made from it.
//!
//! Source: ours. The only crate that knows all models. The built-in scenes lie in `scenes/`. In reading order:
//! `text` reads a scene. Its body is made by `block` for layers of a continuum, `volume` for a mesh file with the laws of
//! `law`, `lattice` for springs, `flat` for a sheet without mass, `linked` for layers of elements and links, `voxels` for
//! labelled voxels. `press` measures what a press feels, `table` condenses a block, `change` goes over to another scene while
//! a hand feels it. `paint` colours the surface of a linked volume; `parts` gives cells to other programs.
//! SI units; the patch is centred on the z axis with its surface at z = 0. A block is fine where
//! `fine_centre_m`, `fine_half_m` and `fine_depth_m` say; a press beside that is wrong by a factor.

mod block;
mod change;
mod flat;
mod lattice;
mod law;
mod linked;
mod paint;
mod parts;
mod press;
mod table;
mod text;
mod volume;
mod voxels;

use serde::Deserialize;

use palpate_geometry::mesh::UnitError;
use palpate_geometry::mesh::check::{Finding, RadiusError};
use palpate_springs::flat::{Flat, FlatSheet};
use palpate_springs::idms::{Idms, IdmsError, IdmsParams};
use palpate_twin::lattice::Lattice;
use palpate_twin::{Instrument, Tissue, Tool, Vec3};

pub use block::{Block, BlockError, BlockSolver, Inclusion, Layer};
pub use change::{ChangeError, STEP_LOG, Steps};
pub use linked::{LinkedBlock, LinkedBlockError, cells};
pub use paint::{clip, painted};
pub use press::Press;
pub use table::TableError;
pub use volume::{Part, Volume, VolumeError};
pub use voxels::{LabelMatter, LinkedVoxels, LinkedVoxelsError};

/// Names with the texts of `FOLDER/NAME.toml`, as a slice that is part of the program; the folder is relative to the
/// file that calls this.
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

/// Gives the bytes of a file that a scene names, or why it cannot. A name that ends in `/` is that of a folder: its
/// bytes are the sorted names of its files, one a line.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// A tissue that can be built as often as wanted, and the tool meant for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Name of the scene.
    pub name: String,
    /// What the tissue is made of.
    pub body: Body,
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Stiffness of the tool's boundary \[N/m\].
    pub tool_stiffness_npm: f64,
    /// What is hidden in the tissue: the truth that a palpation should find.
    pub lumps: Vec<Lump>,
}

/// What the tissue of a scene is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
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
    Mesh(Volume),
    /// Elements and links in layers, that can be cut.
    Linked(LinkedBlock),
    /// Elements and links where voxels are, that can be cut.
    Voxels(LinkedVoxels),
}

/// Stiffer tissue, as seen from above: a column of a sheet as deep as it, or a ball in a block.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lump {
    /// Centre in the plane of the surface \[m\].
    pub center_m: [f64; 2],
    /// Radius \[m\]; a link belongs to the lump if its midpoint does.
    pub radius_m: f64,
    /// Factor on the stiffness of its links, home links included.
    pub factor: f64,
}

/// Why there is no such scene.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SceneError {
    /// No built-in scene has this name.
    #[error("no scene is called `{name}`; expected one of: {}", names().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The text is no scene; the message names line and field.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// A field is out of its range, or its table missing.
    #[error("scene field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A unit is unusable.
    #[error(transparent)]
    Units(#[from] UnitError),
    /// The lattice is unfit.
    #[error(transparent)]
    Lattice(#[from] Finding),
    /// The tool would fall through.
    #[error(transparent)]
    Radius(#[from] RadiusError),
    /// The model refuses the lattice or the parameters.
    #[error(transparent)]
    Model(#[from] IdmsError),
    /// A block of continuum is unfit.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A mesh file, or what is said of it, is unfit.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A block of elements and links is unfit.
    #[error(transparent)]
    Linked(#[from] LinkedBlockError),
    /// A body of elements and links from voxels is unfit.
    #[error(transparent)]
    Voxels(#[from] LinkedVoxelsError),
}

/// Names of the built-in scenes.
#[must_use]
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|&(name, _)| name).collect()
}

/// The TOML text of a built-in scene, or the text itself.
///
/// A text without line breaks and equals signs is taken as a name.
///
/// # Errors
/// [`SceneError::Unknown`] lists the known names.
pub fn text(name_or_text: &str) -> Result<&str, SceneError> {
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

/// A scene by the name of a built-in one, or from its TOML text, as [`text()`] tells them apart.
///
/// A text that names a mesh file finds those of the built-in scenes only.
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

/// As [`load`], with the files that a text names from `read`.
///
/// # Errors
/// As [`load`].
pub fn load_with(name_or_text: &str, read: Read<'_>) -> Result<Scene, SceneError> {
    Scene::parse(text(name_or_text)?, read)
}

impl Scene {
    /// The tissue model of this scene, as in `--method`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match &self.body {
            Body::Lattice { .. } => "idms",
            Body::Flat(_) => "flat",
            Body::Block(block) if block.solver == BlockSolver::Explicit => "fem",
            Body::Block(_) | Body::Mesh(_) => "implicit",
            Body::Linked(_) | Body::Voxels(_) => "linked",
        }
    }

    /// A new tissue of this scene, at rest.
    ///
    /// # Errors
    /// If the model refuses the body.
    pub fn build(&self) -> Result<Box<dyn Tissue>, SceneError> {
        match &self.body {
            Body::Lattice { lattice, params } => Ok(Box::new(Idms::new(lattice, params)?)),
            Body::Flat(sheet) => Ok(Box::new(Flat::new(sheet))),
            Body::Block(block) => Ok(block.build()?),
            Body::Mesh(volume) => Ok(Box::new(volume.solver()?)),
            Body::Linked(block) => Ok(Box::new(block.solver()?)),
            Body::Voxels(body) => Ok(Box::new(body.solver()?)),
        }
    }

    /// A tool of this scene, at rest at a place \[m\].
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

    const DEPTH_M: f64 = 0.008;
    const LUMP_M: [f64; 2] = [0.02, 0.0];

    fn press(scene: &Scene, point_m: [f64; 2]) -> f64 {
        scene.presses(&[point_m], DEPTH_M).unwrap()[0].secant_npm
    }

    #[test]
    fn every_built_in_scene_is_centred_and_can_be_built() {
        for name in names() {
            let scene = load(name).unwrap();
            assert_eq!(scene.name, name);
            let tissue = scene.build().unwrap();
            if let Body::Lattice { params, .. } = &scene.body {
                assert!(tissue.caps().dt_s_max >= params.dt_s, "{name}");
            }
            let rest_m = tissue.view().rest_m;
            let corner = |pick: fn(f64, f64) -> f64, axis: usize| {
                rest_m
                    .iter()
                    .map(|place| place[axis])
                    .fold(rest_m[0][axis], pick)
            };
            // the view of these is more than a flat top
            let curved = matches!(
                scene.body,
                Body::Mesh(_) | Body::Linked(_) | Body::Voxels(_)
            );
            for axis in if curved { 0..2 } else { 0..3 } {
                let middle_m = corner(f64::min, axis) + corner(f64::max, axis);
                assert!(middle_m.abs() < 1e-12, "{name}, axis {axis}: {middle_m}");
            }
        }
    }

    #[test]
    fn a_viscous_layer_relaxes_and_unknown_laws_are_named() {
        let with = |line: &str| {
            let plain = text("block").unwrap();
            load(&plain.replace("young_pa = 5000.0", &format!("young_pa = 5000.0\n{line}")))
        };
        let viscous =
            with("relaxing_share = 0.5\nrelaxing_time_s = 0.01\nshear_viscosity_pas = 1.0");
        let (viscous, plain) = (viscous.unwrap(), load("block").unwrap());
        let place_m = [([0.0, 0.0], 2e-3)];
        let force_n = |scene: &Scene| scene.presses_to(&place_m).unwrap()[0].force_n;
        let ratio = force_n(&viscous) / force_n(&plain);
        assert!((0.45..0.75).contains(&ratio), "{ratio}");
        for (line, field) in [
            ("law = \"fung\"", "layer[0].law"),
            ("relaxing_share = 0.5", "layer[0].relaxing_share"),
            ("relaxing_share = 1.5\nrelaxing_time_s = 1.0", "layer[0]"),
            ("shear_viscosity_pas = -1.0", "layer[0]"),
        ] {
            let error = with(line).err().unwrap().to_string();
            assert!(error.contains(field), "{line}: {error}");
        }
    }

    #[test]
    fn the_twin_and_the_finer_sheet_agree_over_the_palpation_grid() {
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
    fn s4_07_the_lump_doubles_the_stiffness_where_it_is() {
        let [plain, lump] = ["sheet-fine", "sheet-lump"].map(|name| load(name).unwrap());
        assert_eq!(lump.lumps[0].center_m, LUMP_M);
        let contrast = |point_m| press(&lump, point_m) / press(&plain, point_m);
        let over = contrast(LUMP_M);
        assert!((1.8..2.4).contains(&over), "{over}");
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
                "expected one of the tables [sheet], [flat], [fixture], [block], [linked] and [mesh]"
            )
        );
    }
    #[test]
    fn a_block_refuses_keys_that_it_does_not_know() {
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
