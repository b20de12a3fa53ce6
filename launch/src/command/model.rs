//! `palpate model`: inspect, validate, convert and drape tissue models, and study lumps in scenes.
//!
//! Source: seed-004 3.9, 3.10 (rows S4-54 to S4-57). Files and text are here; reading,
//! validation and draping are those of `palpate_geometry::mesh`. A model is a lattice, a mesh of another
//! program, a volume, or a scene, by the name of its file.

mod build;
mod condense;
mod detect;
mod lattice_scene;
mod mesh;
mod press;
mod scene;
mod volume;

use std::path::Path;

use palpate_analysis::Failure;
use palpate_geometry::Defect;
use palpate_geometry::mesh::drape;
use palpate_geometry::mesh::drape::DrapeSphere;
use palpate_geometry::mesh::file;
use palpate_geometry::mesh::file::MeshFormat;
use palpate_geometry::mesh::{
    ColouredMesh, MixedMesh, Units, bounds_m, fem_file, lattice_check, mesh_check, plg_file,
};
use palpate_geometry::volume::VoxelVolume;
use palpate_scene::{Scene, SceneBody};
use palpate_session::files;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Lattice, fixture};

use super::{CommandOutcome, bad_input};
use crate::cli::{ConvertArgs, ModelAction, ModelArgs, UnitName};

/// Most findings of a mesh that are printed; it may have one per cell.
const PRINTED_FINDINGS_MAX: usize = 20;

/// Runs one action on a model.
///
/// # Errors
/// [`Failure::Usage`] names the file, its line or field, the value, and the valid values.
pub(super) fn model(action: &ModelAction) -> Result<CommandOutcome, Failure> {
    match action {
        ModelAction::Inspect(arguments) => {
            let model = Model::load(arguments)?;
            Ok(CommandOutcome::unchecked(model.words()? + &model.remarks()))
        }
        ModelAction::Validate(arguments) => {
            Ok(Model::load(arguments)?.validation(&arguments.model))
        }
        ModelAction::Convert(arguments) => convert(arguments),
        ModelAction::Build(arguments) => build::build(arguments),
        ModelAction::Condense { scene, anew } => condense::condense(scene, *anew),
        ModelAction::Detect(arguments) => detect::detect(arguments),
        ModelAction::Press(arguments) => press::press(arguments),
        ModelAction::Drape {
            model,
            target,
            radius,
            units,
        } => drape_over(model, target, *radius, *units),
    }
}

/// A model, by the name of its file.
enum Model {
    /// Voxels of an imaging program.
    Volume(VoxelVolume<f32>),
    /// Mesh of another program.
    Mesh(MixedMesh),
    /// Scene of Palpate.
    Scene(Box<Scene>),
    /// Springs, from the source's own files.
    Lattice(Lattice),
}

impl Model {
    fn load(arguments: &ModelArgs) -> Result<Self, Failure> {
        let model = &arguments.model;
        if volume::is_volume(model) {
            return volume::load(model).map(Self::Volume);
        }
        let (path, units) = (Path::new(model), si_of(arguments.units));
        if let Some(format) = mesh::format_of(path) {
            return mesh::load(path, format, &units).map(Self::Mesh);
        }
        match scene::load(model)? {
            Some(scene) => Ok(Self::Scene(Box::new(scene))),
            None => load(model, units).map(Self::Lattice),
        }
    }

    /// Describes counts and sizes.
    fn words(&self) -> Result<String, Failure> {
        match self {
            Self::Volume(volume) => Ok(volume::words(volume)),
            Self::Mesh(parts) => Ok(mesh::words(parts)),
            Self::Scene(scene) => scene::words(scene),
            Self::Lattice(lattice) => Ok(lattice_text(lattice)),
        }
    }

    /// Faults that make it unusable.
    fn findings(&self) -> Vec<String> {
        match self {
            Self::Volume(volume) => volume::findings(volume),
            Self::Mesh(parts) => to_strings(&mesh_check::findings(parts)),
            Self::Scene(_) => Vec::new(),
            Self::Lattice(lattice) => to_strings(&lattice_check::findings(lattice)),
        }
    }

    /// Warnings, which leave it usable.
    fn warnings(&self) -> Vec<String> {
        match self {
            Self::Volume(volume) => volume::warnings(volume),
            Self::Mesh(parts) => mesh_check::warnings(parts),
            Self::Scene(_) => Vec::new(),
            Self::Lattice(lattice) => lattice_check::warnings(lattice),
        }
    }

    /// Findings and warnings, one per line.
    fn remarks(&self) -> String {
        let mut findings = self.findings();
        if let (Self::Mesh(_), more @ 1..) =
            (self, findings.len().saturating_sub(PRINTED_FINDINGS_MAX))
        {
            findings.truncate(PRINTED_FINDINGS_MAX);
            findings.push(format!("and {more} more"));
        }
        let findings = findings.iter().map(|one| format!("finding  {one}\n"));
        let warnings = self.warnings();
        let warnings = warnings.iter().map(|one| format!("warning  {one}\n"));
        findings.chain(warnings).collect()
    }

    /// Outcome of the validation: passed if it can be simulated, touched, or become a voxel model.
    fn validation(&self, name: &str) -> CommandOutcome {
        let purpose = match self {
            Self::Volume(_) => "for a voxel model",
            _ => "to simulate",
        };
        let verdict = match self {
            // a scene that was read is valid if its tissue can be built
            Self::Scene(scene) => scene
                .build()
                .map(drop)
                .map_err(|error| format!(": {error}")),
            _ => match self.findings().len() {
                0 => Ok(()),
                count => Err(format!(", {count} findings")),
            },
        };
        let words = match (&verdict, self) {
            (Ok(()), Self::Mesh(parts)) if parts.volume_cells() == 0 => {
                "fit to touch; a surface has no inside to simulate".to_owned()
            }
            (Ok(()), _) => format!("fit {purpose}"),
            (Err(why), _) => format!("unfit {purpose}{why}"),
        };
        CommandOutcome {
            checks_passed: verdict.is_ok(),
            ..CommandOutcome::unchecked(format!("{name}: {words}\n{}", self.remarks()))
        }
    }
}

fn to_strings(all: &[Defect]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Writes a model in another format.
fn convert(arguments: &ConvertArgs) -> Result<CommandOutcome, Failure> {
    let ConvertArgs {
        from,
        target,
        to_units,
        labels,
        shape,
    } = arguments;
    let (model, to) = (&from.model, &si_of(to_units.unwrap_or(from.units)));
    let unfit = |why: &str| Err(bad_input(model)(why));
    let is_volume = volume::is_volume(model);
    if !is_volume && (labels.spacing_mm.is_some() || !labels.bands.is_empty()) {
        return unfit("is no volume; expected a volume for --bands and --spacing-mm");
    }
    let of = Model::load(from)?;
    let voxel_nodes = match &of {
        Model::Scene(scene) => volume::voxel_nodes(scene)?,
        _ => None,
    };
    if let Some(nodes) = voxel_nodes {
        return volume::write(nodes, target, shape, to);
    }
    if !is_volume && (shape.surface || shape.clip.is_some()) {
        return unfit(
            "has no links; expected a volume or a voxel model scene for --surface and --clip",
        );
    }
    let cells = match &of {
        Model::Scene(scene) => scene::parts(scene)?,
        _ => None,
    };
    let lattice = match (cells, of) {
        (Some(parts), _) | (None, Model::Mesh(parts)) => return mesh::write(&parts, target, to),
        (None, Model::Lattice(lattice)) => lattice,
        (None, Model::Scene(scene)) => match scene.body {
            SceneBody::Lattice { lattice, .. } => lattice,
            _ => load(model, si_of(from.units))?,
        },
        (None, Model::Volume(values)) => return volume::convert(&values, arguments, to),
    };
    match mesh::format_of(target) {
        Some(_) => mesh::write(&surface_mesh(&lattice), target, to),
        None => write(&lattice, target, *to),
    }
}

fn si_of(name: UnitName) -> Units {
    match name {
        UnitName::Si => Units::SI,
        UnitName::Mm => Units::MILLIMETRE_NEWTON,
        UnitName::Cm => Units::CENTIMETRE_NEWTON,
        UnitName::Inch => Units::INCH_NEWTON,
    }
}

/// Surface of a lattice as a mesh.
fn surface_mesh(lattice: &Lattice) -> MixedMesh {
    let places_m: Vec<Vec3> = lattice.atoms.iter().map(|atom| atom.position_m).collect();
    MixedMesh::compact(&places_m, &lattice.faces)
}

/// Counts and sizes of a lattice.
fn lattice_text(lattice: &Lattice) -> String {
    let fixed = lattice.atoms.iter().filter(|atom| atom.fixed).count();
    let homes = lattice
        .links
        .iter()
        .filter(|link| lattice_check::is_home(lattice, link))
        .count();
    let mass_kg: f64 = lattice.atoms.iter().map(|atom| atom.mass_kg).sum();
    let [low, high] = bounds_m(lattice.atoms.iter().map(|atom| atom.position_m));
    let size = (high - low) * 1e3;
    let edge_mm = lattice_check::longest_edge_m(lattice) * 1e3;
    let surface = lattice.surface_count();
    format!(
        "name     {}\natoms    {} ({surface} surface, {fixed} fixed), {mass_kg:.4} kg\n\
         links    {} ({homes} home)\nfaces    {}\n\
         size     {:.1} x {:.1} x {:.1} mm, longest edge {edge_mm:.2} mm\n",
        lattice.name,
        lattice.atoms.len(),
        lattice.links.len(),
        lattice.faces.len(),
        size.x,
        size.y,
        size.z,
    )
}

/// Drapes a lattice over a sphere. Without units, its numbers are those of the data set, and the written ones too.
fn drape_over(
    model: &str,
    target: &Path,
    radius: f64,
    units: Option<UnitName>,
) -> Result<CommandOutcome, Failure> {
    let si = units.map_or(Units::SI, si_of);
    let radius = radius * si.length_m;
    let lattice = load(model, si)?;
    if lattice.faces.is_empty() {
        let faces = Path::new(model).with_extension("plg");
        let why = "no faces; expected those of the model in that file, as a tool touches faces";
        return Err(bad_input(faces.display())(why));
    }
    let [low, high] = bounds_m(lattice.atoms.iter().map(|atom| atom.position_m));
    let middle = (low + high) / 2.0;
    let center_m = Vec3::new(middle.x, middle.y, low.z - radius);
    let form = DrapeSphere::new(center_m, radius);
    let curved = match units {
        Some(_) => drape::drape_scaled(&lattice, &form),
        None => drape::drape(&lattice, &form),
    };
    write(&curved.map_err(bad_input(model))?, target, si)
}

/// Reads a built-in data set, or a `.fem` file with the `.plg` file beside it.
fn load(model: &str, units: Units) -> Result<Lattice, Failure> {
    match model {
        "printed" => return Ok(units.import(&fixture::printed())),
        "regular" => return Ok(units.import(&fixture::regular())),
        _ => {}
    }
    let path = Path::new(model);
    let given = path.extension().and_then(|ending| ending.to_str());
    if let Some(ending) = given.filter(|ending| !["fem", "plg"].contains(ending)) {
        return Err(bad_input(model)(format!(
            "its ending is `{ending}`; expected a lattice: a .fem file, or `printed`, or `regular`; meshes are {}",
            MeshFormat::extensions()
        )));
    }
    let path = path.with_extension("fem");
    let faces = path.with_extension("plg");
    let expected = "a readable .fem file, or `printed`, or `regular`";
    let fem_bytes = read(&path, expected)?;
    // the first error of a pair may be of either file, so the .fem file is read alone first
    let alone = fem_file::read(&fem_bytes, &units).map_err(bad_input(path.display()))?;
    if !faces.exists() {
        return Ok(alone);
    }
    let plg_bytes = read(&faces, expected)?;
    plg_file::read_pair(&fem_bytes, &plg_bytes, &units).map_err(bad_input(faces.display()))
}

/// Reads a file of a model; an error names what is expected.
fn read(path: &Path, expected: &str) -> Result<Vec<u8>, Failure> {
    files::read(path, files::MODEL_BYTES_MAX)
        .map_err(|error| bad_input(path.display())(format!("{error}; expected {expected}")))
}

fn write(lattice: &Lattice, target: &Path, units: Units) -> Result<CommandOutcome, Failure> {
    if target
        .extension()
        .is_none_or(|extension| extension != "fem")
    {
        let expected = "expected a file that ends in .fem, .vtu, .ply or .obj";
        return Err(bad_input(target.display())(expected));
    }
    let atoms = fem_file::write(lattice, &units).map_err(bad_input(target.display()))?;
    let faces = plg_file::write(lattice, &units).map_err(bad_input(target.display()))?;
    let beside = target.with_extension("plg");
    let both = files::write(target, atoms).and_then(|()| files::write(&beside, faces));
    both.map_err(bad_input(target.display()))?;
    let (target, beside) = (target.display(), beside.display());
    Ok(CommandOutcome::unchecked(format!("{target}\n{beside}\n")))
}

/// Writes a mesh to a file, and returns its name; for a file of another format the error names what is expected.
fn put_mesh(
    coloured: &ColouredMesh,
    target: &Path,
    units: &Units,
    expected: &str,
) -> Result<CommandOutcome, Failure> {
    let format = mesh::format_of(target);
    let bytes = format.map_or(Ok(None), |format| file::write(format, coloured, units));
    let bytes = bytes.map_err(bad_input(target.display()))?;
    let wrong = || bad_input(target.display())(format!("expected {expected}"));
    let bytes = bytes.ok_or_else(wrong)?;
    put(target, &bytes)
}

/// Writes a file, and returns its name.
fn put(target: &Path, bytes: &[u8]) -> Result<CommandOutcome, Failure> {
    files::write(target, bytes).map_err(bad_input(target.display()))?;
    Ok(CommandOutcome::unchecked(format!("{}\n", target.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Model {
        let arguments = ModelArgs {
            model: name.to_owned(),
            units: UnitName::Si,
        };
        Model::load(&arguments).expect("readable")
    }

    #[test]
    fn built_in_set_is_described_and_valid() {
        let text = of("regular").words().expect("counted");
        assert!(
            text.contains("58 (22 surface") && text.contains("links    141"),
            "{text}"
        );
        assert!(of("regular").validation("regular").checks_passed);
        let text = of("printed").remarks();
        assert!(text.contains("warning"), "{text}");
    }

    #[test]
    fn conversion_and_draping_write_readable_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let flat = folder.path().join("flat.fem");
        write(&fixture::regular(), &flat, Units::SI).expect("writable");
        let name = flat.to_str().expect("text");
        assert_eq!(load(name, Units::SI).expect("readable"), fixture::regular());
        let dome = folder.path().join("dome.fem");
        drape_over(name, &dome, 6.0, None).expect("drapes");
        let dome = of(dome.to_str().expect("text"));
        assert!(dome.validation("dome").checks_passed);
    }

    #[test]
    fn missing_or_broken_file_is_reported() {
        let error = load("no-such-model.fem", Units::SI)
            .expect_err("missing")
            .to_string();
        assert!(
            error.contains("no-such-model.fem") && error.contains("regular"),
            "{error}"
        );
        let folder = tempfile::tempdir().expect("a temporary folder");
        let broken = folder.path().join("broken.fem");
        std::fs::write(&broken, "hex 2 0\n0 0 0\n").expect("writable");
        let name = broken.to_str().expect("text");
        let error = load(name, Units::SI).expect_err("broken").to_string();
        assert!(
            error.contains("broken.fem") && error.contains("line"),
            "{error}"
        );
        let target = folder.path().join("out.obj");
        assert!(write(&fixture::regular(), &target, Units::SI).is_err());
    }
}
