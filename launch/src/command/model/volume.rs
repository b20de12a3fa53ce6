//! Volumes of voxels: description, validation, and conversion to voxel models.
//!
//! Source: ours; reading and labelling are those of `palpate_geometry`, voxel models those of `palpate_voxel`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use palpate_geometry::mesh::Units;
use palpate_geometry::mesh::file::MeshFormat;
use palpate_geometry::volume::file;
use palpate_geometry::volume::file::{nrrd_write, series};
use palpate_geometry::volume::label;
use palpate_geometry::volume::label::IntensityBand;
use palpate_geometry::volume::{VolumeFormat, VoxelVolume, sample};
use palpate_scene as scene;
use palpate_scene::{Scene, SceneBody};
use palpate_session::lab::list_folder;
use palpate_voxel::nodes::VoxelNodes;
use palpate_voxel::surface::VoxelSurface;

use super::{CommandOutcome, Failure, bad_input, mesh, put, put_mesh, read};
use crate::cli::{ConvertArgs, LabelArgs, SurfaceArgs};

/// Cosine between axes above which a volume counts as skewed; scenes refuse it too.
const SKEW_MAX: f64 = 0.02;
/// Ratio of the longest to the shortest voxel edge above which a warning is given.
const STRETCHED: f64 = 4.0;
/// Most labels listed one by one.
const LISTED_LABELS_MAX: usize = 40;
/// Colours of labels, cyclically.
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

/// Names of built-in models that are not scenes.
const BUILT_IN: [&str; 2] = ["printed", "regular"];

/// True if a model's name denotes a volume: by its extension, or as a folder that is not the name of a built-in.
pub(super) fn is_volume(model: &str) -> bool {
    let built_in = scene::built_in_names().contains(&model) || BUILT_IN.contains(&model);
    VolumeFormat::from_name(model).is_some() || (!built_in && Path::new(model).is_dir())
}

/// Reads a file, or the DICOM series in a folder.
pub(super) fn load(model: &str) -> Result<VoxelVolume<f32>, Failure> {
    let endings = VolumeFormat::extensions();
    let expected = format!("a readable volume ({endings}, or a folder with a DICOM series)");
    let path = Path::new(model);
    if !path.is_dir() {
        let format = VolumeFormat::from_name(model).ok_or_else(|| {
            bad_input(model)(format!(
                "unknown ending; expected one of {endings}, or a folder with a DICOM series"
            ))
        })?;
        return file::read(format, &read(path, &expected)?).map_err(bad_input(model));
    }
    let names = list_folder(path).map_err(bad_input(model))?;
    let files: Result<Vec<_>, Failure> = names
        .into_iter()
        .map(|name| {
            let bytes = read(&path.join(&name), &expected)?;
            Ok((name, bytes))
        })
        .collect();
    series::read(&files?).map_err(bad_input(model))
}

/// Labels of a volume, by intensity bands if any are given.
pub(super) fn labels(
    model: &str,
    values: &VoxelVolume<f32>,
    bands: &[(f32, f32)],
) -> Result<VoxelVolume<u16>, Failure> {
    if bands.is_empty() {
        return label::from_values(values)
            .map_err(|error| bad_input(model)(format!("{error} (--bands)")));
    }
    let bands: Vec<IntensityBand> = bands
        .iter()
        .zip(1..)
        .map(|(&(low, high), label)| IntensityBand { low, high, label })
        .collect();
    Ok(label::from_bands(values, &bands))
}

/// Text of a scene over a file `labels.nrrd`, with an editable material for each label. The spacing of the nodes is
/// `spacing_mm`, or that of the voxels; `up` is the axis of the volume that points to the hand, and `separate`
/// makes an object of each label.
pub(super) fn scene_text(
    name: &str,
    labels: &VoxelVolume<u16>,
    spacing_mm: Option<f64>,
    up: &str,
    separate: bool,
) -> Result<String, Failure> {
    let kinds = amounts(labels).into_keys();
    if kinds.len() == 0 {
        let expected = "expected voxels of labels above 0, or --bands that hold some";
        return Err(bad_input(name)(format!("all voxels are air; {expected}")));
    }
    let spacing = spacing_mm.map_or(String::new(), |mm| format!("spacing_m = {:?}\n", mm * 1e-3));
    let mut text = format!(
        "# Voxel model of labelled voxels. Stiffness and names are placeholders: set those of the tissues.\n\
         name = {name:?}\n\n[linked]\n{spacing}\n[volume]\nfile = \"labels.nrrd\"\nup = {up:?}\nseparate = {separate}\n"
    );
    for (nth, label) in kinds.enumerate() {
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

/// Describes counts and sizes.
pub(super) fn words(volume: &VoxelVolume<f32>) -> String {
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
    text + &values(volume)
}

/// Range and mean of the finite values, and labels if the values are labels.
fn values(volume: &VoxelVolume<f32>) -> String {
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
        for (label, count) in counts.into_iter().take(LISTED_LABELS_MAX) {
            let ml = count as f64 * volume.grid.voxel_volume_m3() * 1e6;
            let _ = writeln!(text, "label    {label}: {count} voxels, {ml:.3} ml");
        }
        if kinds > LISTED_LABELS_MAX {
            let _ = writeln!(text, "label    and {} more", kinds - LISTED_LABELS_MAX);
        }
    }
    text
}

/// Faults that prevent a volume from becoming a voxel model.
pub(super) fn findings(volume: &VoxelVolume<f32>) -> Vec<String> {
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
            "axes are skewed by a cosine of {skew:.3}; expected right angles"
        ));
    }
    findings
}

/// Warnings about a volume that can become a voxel model.
pub(super) fn warnings(volume: &VoxelVolume<f32>) -> Vec<String> {
    let mut warnings = Vec::new();
    let spacing_m = volume.grid.spacing_m();
    let longest = spacing_m.iter().fold(0.0, |most: f64, &m| most.max(m));
    let shortest = spacing_m
        .iter()
        .fold(f64::MAX, |least: f64, &m| least.min(m));
    if longest > STRETCHED * shortest {
        warnings.push(format!(
            "voxels are {:.1} times as long as wide; --spacing-mm sets an equal spacing in all directions",
            longest / shortest
        ));
    }
    if label::from_values(volume).is_err() {
        warnings.push("values are no labels; --bands separates tissues by intensity".to_owned());
    }
    warnings
}

/// Nodes of a voxel model scene; none of other scenes.
pub(super) fn voxel_nodes(scene: &Scene) -> Result<Option<VoxelNodes<f32>>, Failure> {
    let built = match &scene.body {
        SceneBody::VoxelBlock(block) => block.volume(),
        SceneBody::VoxelBody(body) => body.volume(),
        _ => return Ok(None),
    };
    built.map(Some).map_err(bad_input(&scene.name))
}

/// Writes a volume as another volume file, or as the voxel model made of it.
pub(super) fn convert(
    values: &VoxelVolume<f32>,
    arguments: &ConvertArgs,
    units: &Units,
) -> Result<CommandOutcome, Failure> {
    let (model, given) = (&arguments.from.model, &arguments.labels);
    let target = &arguments.target;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    if VolumeFormat::from_name(&name) == Some(VolumeFormat::Nrrd) {
        return copy_as_nrrd(model, values, target, given);
    }
    let labels = labels(model, values, &given.bands)?;
    let text = scene_text(model, &labels, given.spacing_mm, "z", false)?;
    let bytes = nrrd_write::write(&labels, model);
    let scene = scene::load_with(&text, &|_| Ok(bytes.clone())).map_err(bad_input(model))?;
    match voxel_nodes(&scene)? {
        Some(nodes) => write(nodes, target, &arguments.shape, units),
        // a text with a table [volume] is a voxel model
        None => Err(bad_input(model)("no labels")),
    }
}

/// Writes the volume as NRRD, resampled if a spacing is given.
fn copy_as_nrrd(
    model: &str,
    values: &VoxelVolume<f32>,
    target: &Path,
    given: &LabelArgs,
) -> Result<CommandOutcome, Failure> {
    let spacing_m = given.spacing_mm.map(|mm| mm * 1e-3);
    let are_labels = !given.bands.is_empty() || label::from_values(values).is_ok();
    let bytes = if are_labels {
        let labels = labels(model, values, &given.bands)?;
        let labels = sample::resample(&labels, spacing_m, sample::nearest);
        nrrd_write::write(&labels.map_err(bad_input(model))?, model)
    } else {
        let values = sample::resample(values, spacing_m, sample::linear);
        nrrd_write::write(&values.map_err(bad_input(model))?, model)
    };
    put(target, &bytes)
}

/// Writes the cells or the surface of a voxel model.
pub(super) fn write(
    mut nodes: VoxelNodes<f32>,
    target: &Path,
    shape: &SurfaceArgs,
    units: &Units,
) -> Result<CommandOutcome, Failure> {
    if let Some((axis, most_m)) = shape.clip {
        scene::clip(&mut nodes, axis, most_m);
    }
    if mesh::format_of(target) == Some(MeshFormat::Vtu) && !shape.surface {
        return mesh::write(&scene::hexahedra(&nodes), target, units);
    }
    let painted = &scene::coloured_surface(&nodes, &VoxelSurface::new(&nodes));
    if painted.mesh.triangles.is_empty() {
        let expected = "nothing is left to show; expected a plane within the body";
        return Err(bad_input(target.display())(expected));
    }
    let expected = "a file that ends in .vtu, .ply, .obj or, of a volume, .nrrd";
    put_mesh(painted, target, units, expected)
}

/// Number of voxels of each label, without air.
pub(super) fn amounts(labels: &VoxelVolume<u16>) -> BTreeMap<u16, usize> {
    let mut counts = label::counts(labels);
    counts.remove(&0);
    counts
}

#[cfg(test)]
mod tests {
    use palpate_geometry::volume::phantom::LimbPhantom;

    use super::*;

    fn coarse() -> LimbPhantom {
        LimbPhantom {
            spacing_m: 0.004,
            ..LimbPhantom::default()
        }
    }

    const ALL: SurfaceArgs = SurfaceArgs {
        surface: false,
        clip: None,
    };

    fn to(target: &Path, shape: SurfaceArgs) -> ConvertArgs {
        ConvertArgs {
            from: crate::cli::ModelArgs {
                model: "limb".to_owned(),
                units: crate::cli::UnitName::Si,
            },
            target: target.to_owned(),
            to_units: None,
            labels: LabelArgs {
                bands: Vec::new(),
                spacing_mm: None,
            },
            shape,
        }
    }

    #[test]
    fn volume_is_described_validated_and_converted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let labels = coarse().labels().expect("fits");
        std::fs::write(at("limb.nrrd"), nrrd_write::write(&labels, "limb")).expect("writable");
        let name = at("limb.nrrd").display().to_string();
        assert!(is_volume(&name) && is_volume(&folder.path().display().to_string()));
        let volume = load(&name).expect("readable");
        let text = words(&volume);
        for part in [
            "18 x 20 x 20 voxels of 4.000",
            "label    6: ",
            "values   0 to 6",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(findings(&volume), Vec::<String>::new());
        let text = findings(&volume.map(|_| f32::NAN));
        assert!(text[0].contains("not finite"), "{text:?}");
        let mut sizes = Vec::new();
        for target in ["a.vtu", "a.ply", "a.obj", "again.nrrd"] {
            convert(&volume, &to(&at(target), ALL), &Units::SI).expect("written");
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
        convert(&volume, &to(&at("half.vtu"), half.clone()), &Units::SI).expect("written");
        let text = std::fs::read_to_string(at("half.vtu")).expect("text");
        assert!(text.contains("Name=\"colour\""));
        let nothing = SurfaceArgs {
            clip: Some((1, -1.0)),
            ..half
        };
        let error = convert(&volume, &to(&at("no.ply"), nothing), &Units::SI);
        assert!(
            error
                .expect_err("empty")
                .to_string()
                .contains("nothing is left")
        );
        let error = convert(&volume, &to(&at("no.stl"), ALL), &Units::SI);
        assert!(error.expect_err("ending").to_string().contains(".obj"));
    }

    #[test]
    fn intensities_need_bands_and_missing_files_are_reported() {
        let values = coarse().intensities().expect("fits");
        let text = labels("mr", &values, &[])
            .expect_err("no labels")
            .to_string();
        assert!(
            text.contains("mr: voxel [0, 0, 0]") && text.contains("--bands"),
            "{text}"
        );
        let found = labels("mr", &values, &[(0.2, 0.6), (0.6, f32::INFINITY)]).expect("bands");
        assert_eq!(amounts(&found).len(), 2);
        let text = load("none.nrrd").expect_err("missing").to_string();
        assert!(
            text.contains("none.nrrd") && text.contains("DICOM"),
            "{text}"
        );
        let empty = tempfile::tempdir().expect("a temporary folder");
        let text = load(&empty.path().display().to_string())
            .expect_err("empty")
            .to_string();
        assert!(text.contains("slices is missing"), "{text}");
    }
}
