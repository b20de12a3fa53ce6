//! Volumes of voxels: what they hold, whether they are fit, and the linked volume made of them.
//!
//! Source: ours; reading, labelling and linking are those of `palpate_twin`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use palpate_geometry::mesh::file::{Format as MeshFormat, obj_write, ply_write, vtu_write};
use palpate_geometry::mesh::{Painted, Units};
use palpate_geometry::volume::file;
use palpate_geometry::volume::file::{nrrd_write, series};
use palpate_geometry::volume::label;
use palpate_geometry::volume::label::Band;
use palpate_geometry::volume::{Format, Voxels, sample};
use palpate_scene as scene;
use palpate_scene::{Body, Scene};
use palpate_session::lab::list_folder;
use palpate_voxel::elements::Elements;
use palpate_voxel::surface::Surface;

use super::{Done, Failure, mesh};
use crate::cli::{LabelArgs, SurfaceArgs};

/// Cosine between axes above which a volume is skewed; scenes refuse it too.
const SKEW_MAX: f64 = 0.02;
/// Times that voxels may be longer one way than another before that is said.
const STRETCHED: f64 = 4.0;
/// Labels that are listed one by one.
const SHOWN: usize = 40;
/// Colours of labels, in turn.
const COLOURS: [[u8; 3]; 8] = [
    [224, 172, 148],
    [240, 214, 130],
    [170, 60, 56],
    [236, 232, 218],
    [60, 80, 180],
    [120, 70, 130],
    [90, 150, 90],
    [110, 180, 190],
];

/// Names of models that are built in and no scenes.
const BUILT_IN: [&str; 2] = ["printed", "regular"];

/// Whether a model's name means a volume: by its ending, or since it is a folder and nothing built in.
pub(super) fn is_volume(model: &str) -> bool {
    let built_in = scene::names().contains(&model) || BUILT_IN.contains(&model);
    Format::of_name(model).is_some() || (!built_in && Path::new(model).is_dir())
}

/// Read a file, or the DICOM series in a folder.
pub(super) fn load(model: &str) -> Result<Voxels<f32>, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{model}: {error}"));
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| {
            let expected = format!(
                "expected a readable volume ({}, or a folder with a DICOM series)",
                Format::endings()
            );
            Failure::Usage(format!("{}: {error}; {expected}", path.display()))
        })
    };
    let path = Path::new(model);
    if !path.is_dir() {
        let format = Format::of_name(model).ok_or_else(|| {
            let expected = format!(
                "one of {}, or a folder with a DICOM series",
                Format::endings()
            );
            named(&format!("unknown ending; expected {expected}"))
        })?;
        return file::read(format, &read(path)?).map_err(|error| named(&error));
    }
    let names = list_folder(path).map_err(|error| named(&error))?;
    let files: Result<Vec<_>, Failure> = names
        .into_iter()
        .map(|name| {
            let bytes = read(&path.join(&name))?;
            Ok((name, bytes))
        })
        .collect();
    series::read(&files?).map_err(|error| named(&error))
}

/// The labels of a volume, by bands if any are given.
pub(super) fn labels(
    model: &str,
    values: &Voxels<f32>,
    bands: &[(f32, f32)],
) -> Result<Voxels<u16>, Failure> {
    if bands.is_empty() {
        return label::from_values(values)
            .map_err(|error| Failure::Usage(format!("{model}: {error} (--bands)")));
    }
    let bands: Vec<Band> = bands
        .iter()
        .zip(1..)
        .map(|(&(low, high), label)| Band { low, high, label })
        .collect();
    Ok(label::from_bands(values, &bands))
}

/// How elements are made of a file of labels.
pub(super) struct Placing<'a> {
    /// Name of the file.
    pub(super) file: &'a str,
    /// Distance of elements \[mm\], if not that of the voxels.
    pub(super) spacing_mm: Option<f64>,
    /// Axis of the volume that points to the hand.
    pub(super) up: &'a str,
    /// Whether each label is an object of its own.
    pub(super) separate: bool,
}

/// Text of a scene over a file of labels, with a material for each that is to be edited.
pub(super) fn scene_text(
    name: &str,
    labels: &Voxels<u16>,
    how: &Placing<'_>,
) -> Result<String, Failure> {
    let kinds: Vec<u16> = label::counts(labels)
        .into_keys()
        .filter(|&label| label > 0)
        .collect();
    if kinds.is_empty() {
        let expected = "expected voxels of labels above 0, or --bands that hold some";
        return Err(Failure::Usage(format!(
            "{name}: all voxels are air; {expected}"
        )));
    }
    let Placing {
        file,
        spacing_mm,
        up,
        separate,
    } = *how;
    let spacing = spacing_mm.map_or(String::new(), |mm| format!("spacing_m = {:?}\n", mm * 1e-3));
    let mut text = format!(
        "# Elements from labelled voxels. Stiffness and names are stand-ins: put in what the tissues are.\n\
         name = {name:?}\n\n[linked]\n{spacing}\n[volume]\nfile = {file:?}\nup = {up:?}\nseparate = {separate}\n"
    );
    for (nth, label) in kinds.into_iter().enumerate() {
        // writing to a string cannot fail
        let _ = write!(
            text,
            "\n[[material]]\nlabel = {label}\nname = \"label {label}\"\nyoung_pa = 10000.0\n\
             toughness_jpm2 = 200.0\ncolour = {:?}\n",
            COLOURS[nth % COLOURS.len()]
        );
    }
    text += "\n[tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n";
    Ok(text)
}

/// Count, measure and describe.
pub(super) fn inspect(volume: &Voxels<f32>) -> Done {
    let grid = &volume.grid;
    let [nx, ny, nz] = grid.counts;
    let spacing_mm = grid.spacing_m().map(|m| m * 1e3);
    let [sx, sy, sz] = spacing_mm;
    let size_mm: [f64; 3] = std::array::from_fn(|k| spacing_mm[k] * grid.counts[k] as f64);
    let origin_mm = grid.origin_m * 1e3;
    let mut text = format!(
        "volume   {nx} x {ny} x {nz} voxels of {sx:.3} x {sy:.3} x {sz:.3} mm\n\
         size     {:.1} x {:.1} x {:.1} mm\n\
         origin   {:.2} mm to the left, {:.2} to the back, {:.2} to the head\n",
        size_mm[0], size_mm[1], size_mm[2], origin_mm.x, origin_mm.y, origin_mm.z,
    );
    for (axis, step_m) in ["x", "y", "z"].iter().zip(grid.steps_m) {
        let along = step_m.normalize();
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "axis {axis}   {:.4}, {:.4}, {:.4}",
            along.x, along.y, along.z
        );
    }
    text += &values(volume);
    for line in findings(volume)
        .iter()
        .map(|line| format!("finding  {line}\n"))
    {
        text += &line;
    }
    for line in warnings(volume)
        .iter()
        .map(|line| format!("warning  {line}\n"))
    {
        text += &line;
    }
    Done {
        stdout: text,
        held: true,
        ..Done::default()
    }
}

/// Range and mean of what is finite, and labels if values are some.
fn values(volume: &Voxels<f32>) -> String {
    let finite = || {
        volume
            .values
            .iter()
            .map(|&value| f64::from(value))
            .filter(|v| v.is_finite())
    };
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
    let mut text = format!("values   {low} to {high}, mean {mean:.4}\n");
    if let Ok(labels) = label::from_values(volume) {
        let counts = label::counts(&labels);
        let kinds = counts.len();
        for (label, count) in counts.into_iter().take(SHOWN) {
            let ml = count as f64 * volume.grid.voxel_m3() * 1e6;
            let _ = writeln!(text, "label    {label}: {count} voxels, {ml:.3} ml");
        }
        if kinds > SHOWN {
            let _ = writeln!(text, "label    and {} more", kinds - SHOWN);
        }
    }
    text
}

/// What makes a volume unfit to be linked.
fn findings(volume: &Voxels<f32>) -> Vec<String> {
    let mut findings = Vec::new();
    let bad = volume
        .values
        .iter()
        .filter(|value| !value.is_finite())
        .count();
    if bad > 0 {
        findings.push(format!("{bad} values are not finite; expected numbers"));
    }
    if volume.values.windows(2).all(|pair| pair[0] == pair[1]) {
        let value = volume.values[0];
        findings.push(format!("all values are {value}; expected tissue and air"));
    }
    let skew = volume.grid.skew();
    if skew > SKEW_MAX {
        findings.push(format!(
            "axes lean on each other by a cosine of {skew:.3}; expected right angles"
        ));
    }
    findings
}

/// What one should know of a volume that can be linked.
fn warnings(volume: &Voxels<f32>) -> Vec<String> {
    let mut warnings = Vec::new();
    let spacing_m = volume.grid.spacing_m();
    let longest = spacing_m.iter().fold(0.0, |most: f64, &m| most.max(m));
    let shortest = spacing_m
        .iter()
        .fold(f64::MAX, |least: f64, &m| least.min(m));
    if longest > STRETCHED * shortest {
        warnings.push(format!(
            "voxels are {:.1} times as long as wide; --spacing-mm gives elements alike all ways",
            longest / shortest
        ));
    }
    if label::from_values(volume).is_err() {
        warnings.push("values are no labels; --bands tells tissues apart by intensity".to_owned());
    }
    warnings
}

/// Whether a volume is fit to be linked.
pub(super) fn validate(model: &str, volume: &Voxels<f32>) -> Done {
    let findings = findings(volume);
    let held = findings.is_empty();
    let mut text = match findings.len() {
        0 => format!("{model}: fit to be linked\n"),
        count => format!("{model}: unfit to be linked, {count} findings\n"),
    };
    for line in &findings {
        let _ = writeln!(text, "finding  {line}");
    }
    for line in warnings(volume) {
        let _ = writeln!(text, "warning  {line}");
    }
    Done {
        stdout: text,
        held,
        ..Done::default()
    }
}

/// The elements of a scene of linked volumes; none of other scenes.
pub(super) fn elements(scene: &Scene) -> Result<Option<Elements<f32>>, Failure> {
    let built = match &scene.body {
        Body::Linked(block) => block.volume(),
        Body::Voxels(body) => body.volume(),
        _ => return Ok(None),
    };
    let named = |error| Failure::Usage(format!("{}: {error}", scene.name));
    built.map(Some).map_err(named)
}

/// Write a volume as another file of one, or the linked volume that is made of it.
pub(super) fn convert(
    model: &str,
    target: &Path,
    given: &LabelArgs,
    shape: &SurfaceArgs,
    units: &Units,
) -> Result<Done, Failure> {
    let values = load(model)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    if Format::of_name(&name) == Some(Format::Nrrd) {
        return again(model, &values, target, given);
    }
    let labels = labels(model, &values, &given.bands)?;
    let how = Placing {
        file: "labels.nrrd",
        spacing_mm: given.spacing_mm,
        up: "z",
        separate: false,
    };
    let text = scene_text(model, &labels, &how)?;
    let bytes = nrrd_write::write(&labels, model);
    let scene = scene::load_with(&text, &|_| Ok(bytes.clone()));
    let scene = scene.map_err(|error| Failure::Usage(format!("{model}: {error}")))?;
    match elements(&scene)? {
        Some(elements) => write(elements, target, shape, units),
        // a text with a table [volume] is one of linked volumes
        None => Err(Failure::Usage(format!("{model}: no labels"))),
    }
}

/// The same volume as NRRD, at another distance if one is given.
fn again(
    model: &str,
    values: &Voxels<f32>,
    target: &Path,
    given: &LabelArgs,
) -> Result<Done, Failure> {
    let refused = |error| Failure::Usage(format!("{model}: {error}"));
    let spacing_m = |own: [f64; 3]| given.spacing_mm.map_or(own, |mm| [mm * 1e-3; 3]);
    let are_labels = !given.bands.is_empty() || label::from_values(values).is_ok();
    let bytes = if are_labels {
        let labels = labels(model, values, &given.bands)?;
        let labels = sample::labels_at(&labels, spacing_m(labels.grid.spacing_m()));
        nrrd_write::write(&labels.map_err(refused)?, model)
    } else {
        let values = sample::intensities_at(values, spacing_m(values.grid.spacing_m()));
        nrrd_write::write(&values.map_err(refused)?, model)
    };
    put(target, &bytes)
}

/// Write the cells or the surface of a linked volume.
pub(super) fn write(
    mut elements: Elements<f32>,
    target: &Path,
    shape: &SurfaceArgs,
    units: &Units,
) -> Result<Done, Failure> {
    let refused =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", target.display()));
    if let Some((axis, most_m)) = shape.clip {
        scene::clip(&mut elements, axis, most_m);
    }
    let format = mesh::format_of(target);
    if format == Some(MeshFormat::Vtu) && !shape.surface {
        return mesh::write(&scene::cells(&elements), target, units);
    }
    let painted = scene::painted(&elements, &Surface::new(&elements));
    if painted.surface.faces.is_empty() {
        return Err(refused(
            &"nothing is left to show; expected a plane within the body",
        ));
    }
    put(
        target,
        &surface_bytes(&painted, format, units).map_err(|error| refused(&error))?,
    )
}

fn surface_bytes(
    painted: &Painted,
    format: Option<MeshFormat>,
    units: &Units,
) -> Result<Vec<u8>, String> {
    let bytes = match format {
        Some(MeshFormat::Vtu) => vtu_write::write_painted(painted, units).map(String::into_bytes),
        Some(MeshFormat::Ply) => ply_write::write_painted(painted, units),
        Some(MeshFormat::Obj) => obj_write::write(painted, units).map(String::into_bytes),
        _ => {
            return Err(
                "expected a file that ends in .vtu, .ply, .obj or, of a volume, .nrrd".into(),
            );
        }
    };
    bytes.map_err(|error| error.to_string())
}

fn put(target: &Path, bytes: &[u8]) -> Result<Done, Failure> {
    let refused = |error| Failure::Usage(format!("{}: {error}", target.display()));
    std::fs::write(target, bytes).map_err(refused)?;
    Ok(Done {
        stdout: format!("{}\n", target.display()),
        held: true,
        ..Done::default()
    })
}

/// Voxels of each label, without air.
pub(super) fn amounts(labels: &Voxels<u16>) -> BTreeMap<u16, usize> {
    let mut counts = label::counts(labels);
    counts.remove(&0);
    counts
}

#[cfg(test)]
mod tests {
    use palpate_geometry::volume::phantom::Phantom;

    use super::*;

    fn coarse() -> Phantom {
        Phantom {
            spacing_m: 0.004,
            ..Phantom::default()
        }
    }

    const ALL: SurfaceArgs = SurfaceArgs {
        surface: false,
        clip: None,
    };
    const PLAIN: LabelArgs = LabelArgs {
        bands: Vec::new(),
        spacing_mm: None,
    };

    #[test]
    fn a_volume_is_described_judged_and_converted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let labels = coarse().labels().expect("fits");
        std::fs::write(at("limb.nrrd"), nrrd_write::write(&labels, "limb")).expect("writable");
        let name = at("limb.nrrd").display().to_string();
        assert!(is_volume(&name) && is_volume(&folder.path().display().to_string()));
        let volume = load(&name).expect("readable");
        let told = inspect(&volume).stdout;
        for part in [
            "18 x 20 x 20 voxels of 4.000",
            "label    6: ",
            "values   0 to 6",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(validate(&name, &volume).held);
        let flat = volume.map(|_| f32::NAN);
        let told = validate(&name, &flat);
        assert!(
            !told.held && told.stdout.contains("not finite"),
            "{}",
            told.stdout
        );
        let mut sizes = Vec::new();
        for target in ["a.vtu", "a.ply", "a.obj", "again.nrrd"] {
            let args = (&PLAIN, &ALL);
            convert(&name, &at(target), args.0, args.1, &Units::SI).expect("written");
            sizes.push(std::fs::metadata(at(target)).expect("there").len());
        }
        assert!(sizes.iter().all(|&size| size > 500), "{sizes:?}");
        assert_eq!(
            load(&at("again.nrrd").display().to_string())
                .expect("readable")
                .values,
            volume.values
        );
        let half = SurfaceArgs {
            surface: true,
            clip: Some((1, 0.0)),
        };
        convert(&name, &at("half.vtu"), &PLAIN, &half, &Units::SI).expect("written");
        let text = std::fs::read_to_string(at("half.vtu")).expect("text");
        assert!(text.contains("Name=\"colour\""));
        let nothing = SurfaceArgs {
            clip: Some((1, -1.0)),
            ..half
        };
        let error = convert(&name, &at("no.ply"), &PLAIN, &nothing, &Units::SI);
        assert!(
            error
                .expect_err("empty")
                .to_string()
                .contains("nothing is left")
        );
        let error = convert(&name, &at("no.stl"), &PLAIN, &ALL, &Units::SI);
        assert!(error.expect_err("ending").to_string().contains(".obj"));
    }

    #[test]
    fn intensities_need_bands_and_missing_files_are_named() {
        let values = coarse().intensities().expect("fits");
        let told = labels("mr", &values, &[])
            .expect_err("no labels")
            .to_string();
        assert!(
            told.contains("mr: voxel [0, 0, 0]") && told.contains("--bands"),
            "{told}"
        );
        let found = labels("mr", &values, &[(0.2, 0.6), (0.6, f32::INFINITY)]).expect("bands");
        assert_eq!(amounts(&found).len(), 2);
        let told = load("none.nrrd").expect_err("missing").to_string();
        assert!(
            told.contains("none.nrrd") && told.contains("DICOM"),
            "{told}"
        );
        let empty = tempfile::tempdir().expect("a temporary folder");
        let told = load(&empty.path().display().to_string())
            .expect_err("empty")
            .to_string();
        assert!(told.contains("slices is missing"), "{told}");
    }
}
