//! `palpate model`: look at tissue models, check, convert and drape them, and study lumps in scenes.
//!
//! Source: seed-004 3.9, 3.10 (rows S4-54 to S4-57). Here are only files and words; reading,
//! checking and draping are those of `palpate_geometry::mesh`. A model is a lattice, or a mesh of another
//! program, or a volume, as the name of its file says.

mod build;
mod condense;
mod detect;
mod mesh;
mod scene;
mod volume;

use std::fmt::Write as _;
use std::path::Path;

use palpate_analysis::Failure;
use palpate_geometry::mesh::drape;
use palpate_geometry::mesh::drape::{DrapeParams, Form};
use palpate_geometry::mesh::{Parts, Surface, Units, check, fem, plg};
use palpate_scene::Body;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Lattice, fixture};

use super::Done;
use crate::cli::{ModelAction, SurfaceArgs, UnitArgs, UnitName};

/// Do one action on a model.
///
/// # Errors
/// [`Failure::Usage`] naming the file, its line or field, the value and what would be right.
pub fn model(action: &ModelAction) -> Result<Done, Failure> {
    match action {
        ModelAction::Inspect { model, .. } if volume::is_volume(model) => {
            Ok(volume::inspect(&volume::load(model)?))
        }
        ModelAction::Validate { model, .. } if volume::is_volume(model) => {
            Ok(volume::validate(model, &volume::load(model)?))
        }
        ModelAction::Inspect { model, units } => match load_mesh(model, *units)? {
            Some(parts) => Ok(mesh::inspect(&parts)),
            None => match scene::load(model)? {
                Some(scene) => scene::inspect(&scene),
                None => inspect(model, *units),
            },
        },
        ModelAction::Validate { model, units } => match load_mesh(model, *units)? {
            Some(parts) => Ok(mesh::validate(model, &parts)),
            None => match scene::load(model)? {
                Some(scene) => scene::validate(model, &scene),
                None => validate(model, *units),
            },
        },
        ModelAction::Convert {
            model,
            target,
            units,
            to_units,
            labels,
            shape,
        } => {
            let to = si_of(to_units.unwrap_or(units.units));
            if volume::is_volume(model) {
                return volume::convert(model, target, labels, shape, &to);
            }
            if labels.spacing_mm.is_some() || !labels.bands.is_empty() {
                let expected = "expected a volume for --bands and --spacing-mm";
                return Err(Failure::Usage(format!("{model}: is no volume; {expected}")));
            }
            convert(model, target, si_of(units.units), &to, shape)
        }
        ModelAction::Build(arguments) => build::build(arguments),
        ModelAction::Condense { scene, anew } => condense::condense(scene, *anew),
        ModelAction::Detect(arguments) => detect::detect(arguments),
        ModelAction::Drape {
            model,
            target,
            radius,
        } => drape_over(model, target, *radius),
    }
}

/// Write a mesh, a scene or a lattice anew.
fn convert(
    model: &str,
    target: &Path,
    from: Units,
    to: &Units,
    shape: &SurfaceArgs,
) -> Result<Done, Failure> {
    let scene = match mesh::format_of(Path::new(model)) {
        Some(_) => None,
        None => scene::load(model)?,
    };
    let linked = scene.as_ref().map(volume::elements).transpose()?.flatten();
    if let Some(elements) = linked {
        return volume::write(elements, target, shape, to);
    }
    if shape.surface || shape.clip.is_some() {
        let expected = "expected a volume or a scene of linked elements for --surface and --clip";
        return Err(Failure::Usage(format!("{model}: has no links; {expected}")));
    }
    if let Some(format) = mesh::format_of(Path::new(model)) {
        return mesh::write(&mesh::load(Path::new(model), format, &from)?, target, to);
    }
    if let Some(parts) = scene.as_ref().map(scene::parts).transpose()?.flatten() {
        return mesh::write(&parts, target, to);
    }
    let lattice = match scene.map(|scene| scene.body) {
        Some(Body::Lattice { lattice, .. }) => lattice,
        _ => load(model, from)?,
    };
    match mesh::format_of(target) {
        Some(_) => mesh::write(&skin(&lattice), target, to),
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

/// A mesh of another program, if the name of the file says that it is one.
fn load_mesh(model: &str, units: UnitArgs) -> Result<Option<Parts>, Failure> {
    let path = Path::new(model);
    let format = mesh::format_of(path);
    format
        .map(|format| mesh::load(path, format, &si_of(units.units)))
        .transpose()
}

/// The surface of a lattice as a mesh.
fn skin(lattice: &Lattice) -> Parts {
    let places_m: Vec<Vec3> = lattice.atoms.iter().map(|atom| atom.position_m).collect();
    Surface::compact(&places_m, &lattice.faces).to_parts()
}

fn inspect(model: &str, units: UnitArgs) -> Result<Done, Failure> {
    let lattice = load(model, si_of(units.units))?;
    let fixed = lattice.atoms.iter().filter(|atom| atom.fixed).count();
    let homes = lattice
        .links
        .iter()
        .filter(|link| check::is_home(&lattice, link))
        .count();
    let mass_kg: f64 = lattice.atoms.iter().map(|atom| atom.mass_kg).sum();
    let (low, high) = bounds(&lattice);
    let size = (high - low) * 1e3;
    let edge_mm = check::longest_edge_m(&lattice) * 1e3;
    let surface = lattice.surface_count();
    let mut text = format!(
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
    );
    text.push_str(&remarks(&lattice));
    Ok(Done {
        stdout: text,
        held: true,
        ..Done::default()
    })
}

fn validate(model: &str, units: UnitArgs) -> Result<Done, Failure> {
    let lattice = load(model, si_of(units.units))?;
    let findings = check::findings(&lattice).len();
    let verdict = match findings {
        0 => format!("{model}: fit to simulate\n"),
        count => format!("{model}: unfit to simulate, {count} findings\n"),
    };
    Ok(Done {
        stdout: verdict + &remarks(&lattice),
        held: findings == 0,
        ..Done::default()
    })
}

/// Findings and warnings, one a line.
fn remarks(lattice: &Lattice) -> String {
    let mut text = String::new();
    for finding in check::findings(lattice) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "finding  {finding}");
    }
    for warning in check::warnings(lattice) {
        let _ = writeln!(text, "warning  {warning}");
    }
    text
}

/// The files of the seed count in their own units; draping has parameters for those.
fn drape_over(model: &str, target: &Path, radius: f64) -> Result<Done, Failure> {
    let lattice = load(model, Units::SI)?;
    let (low, high) = bounds(&lattice);
    let middle = (low + high) / 2.0;
    let center_m = Vec3::new(middle.x, middle.y, low.z - radius);
    let form = Form {
        center_m,
        radius_m: radius,
    };
    let curved = drape::drape(&lattice, &form, &DrapeParams::FILE)
        .map_err(|error| Failure::Usage(format!("{model}: {error}")))?;
    write(&curved, target, Units::SI)
}

fn bounds(lattice: &Lattice) -> (Vec3, Vec3) {
    let mut places = lattice.atoms.iter().map(|atom| atom.position_m);
    let first = places.next().unwrap_or_default();
    places.fold((first, first), |(low, high), place| {
        (low.inf(&place), high.sup(&place))
    })
}

/// A built-in data set, or a `.fem` file with the `.plg` file beside it.
fn load(model: &str, units: Units) -> Result<Lattice, Failure> {
    match model {
        "printed" => return Ok(units.import(&fixture::printed())),
        "regular" => return Ok(units.import(&fixture::regular())),
        _ => {}
    }
    let given = Path::new(model)
        .extension()
        .and_then(|ending| ending.to_str());
    if let Some(ending) = given.filter(|ending| !["fem", "plg"].contains(ending)) {
        let expected = format!(
            "a lattice: a .fem file, or `printed`, or `regular`; meshes are {}",
            mesh::endings()
        );
        return Err(Failure::Usage(format!(
            "{model}: its ending is `{ending}`; expected {expected}"
        )));
    }
    let path = Path::new(model).with_extension("fem");
    let faces = path.with_extension("plg");
    let fem_bytes = read(&path)?;
    let named = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::Usage(format!("{}: {error}", path.display()))
    };
    if !faces.exists() {
        return fem::read(&fem_bytes, &units).map_err(|error| named(&path, &error));
    }
    // the first error of a pair may be of either file, so each is read alone first
    fem::read(&fem_bytes, &units).map_err(|error| named(&path, &error))?;
    let plg_bytes = read(&faces)?;
    plg::read_pair(&fem_bytes, &plg_bytes, &units)
        .map(|loaded| loaded.lattice)
        .map_err(|error| named(&faces, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        let expected = "expected a readable .fem file, or `printed`, or `regular`";
        Failure::Usage(format!("{}: {error}; {expected}", path.display()))
    })
}

fn write(lattice: &Lattice, target: &Path, units: Units) -> Result<Done, Failure> {
    if target
        .extension()
        .is_none_or(|extension| extension != "fem")
    {
        let message = format!(
            "{}: expected a file that ends in .fem, .vtu, .ply or .obj",
            target.display()
        );
        return Err(Failure::Usage(message));
    }
    let refused =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", target.display()));
    let atoms = fem::write(lattice, &units).map_err(|error| refused(&error))?;
    let faces = plg::write(lattice, &units).map_err(|error| refused(&error))?;
    let beside = target.with_extension("plg");
    std::fs::write(target, atoms).map_err(|error| refused(&error))?;
    std::fs::write(&beside, faces).map_err(|error| refused(&error))?;
    let stdout = format!("{}\n{}\n", target.display(), beside.display());
    Ok(Done {
        stdout,
        held: true,
        ..Done::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SI: UnitArgs = UnitArgs {
        units: UnitName::Si,
    };

    #[test]
    fn a_built_in_set_is_described_and_fit() {
        let text = inspect("regular", SI).expect("built in").stdout;
        assert!(
            text.contains("58 (22 surface") && text.contains("links    141"),
            "{text}"
        );
        assert!(validate("regular", SI).expect("built in").held);
        let text = inspect("printed", SI).expect("built in").stdout;
        assert!(text.contains("warning"), "{text}");
    }

    #[test]
    fn conversion_and_draping_write_what_can_be_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let flat = folder.path().join("flat.fem");
        write(&fixture::regular(), &flat, Units::SI).expect("writable");
        let name = flat.to_str().expect("text");
        assert_eq!(load(name, Units::SI).expect("readable"), fixture::regular());
        let dome = folder.path().join("dome.fem");
        drape_over(name, &dome, 6.0).expect("drapes");
        assert!(
            validate(dome.to_str().expect("text"), SI)
                .expect("readable")
                .held
        );
    }

    #[test]
    fn a_missing_or_broken_file_is_named() {
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
