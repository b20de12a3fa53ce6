//! `palpate model build`: builds a voxel model scene from a volume, or from the phantom.
//!
//! Source: seed-001 row LV-04 and its section 5.4.

use std::fmt::Write as _;
use std::path::Path;

use palpate_analysis::report::voxel_model::{TissueAmount, VoxelModelReport};
use palpate_analysis::{Failure, output, report};
use palpate_geometry::volume::VoxelVolume;
use palpate_geometry::volume::file::nrrd_write;
use palpate_geometry::volume::phantom;
use palpate_geometry::volume::phantom::LimbPhantom;
use palpate_scene as scene;
use palpate_scene::{SceneBody, VoxelBody};
use palpate_session::lab;
use palpate_study::messages;

use super::{lattice_scene, volume};
use crate::cli::BuildArgs;
use crate::command::{CommandOutcome, bad_input, json_or_text};

/// Default voxel spacing of the phantom \[mm\].
const PHANTOM_MM: f64 = 2.0;

/// Labelled voxels of a voxel model, with the text of its scene.
struct LabelSource {
    text: String,
    labels: VoxelVolume<u16>,
    intensities: Option<VoxelVolume<f32>>,
    synthetic: bool,
    words: String,
}

/// Builds the scene, and writes `labels.nrrd`, `scene.toml` and `report.html`.
///
/// # Errors
/// [`Failure::Usage`] names the file, field or flag, its value, and the valid values.
pub(super) fn build(arguments: &BuildArgs) -> Result<CommandOutcome, Failure> {
    let source = match &arguments.volume {
        Some(file) if lattice_scene::is_lattice_file(file) => {
            return lattice_scene::build(file, arguments);
        }
        Some(file) => from_volume(file, arguments)?,
        None => from_phantom(arguments)?,
    };
    let results: &[&str] = match source.synthetic {
        true => &["intensity.nrrd", "labels.nrrd", "scene.toml", "report.html"],
        false => &["labels.nrrd", "scene.toml", "report.html"],
    };
    let chosen = arguments.earlier.chosen(arguments.out.as_deref());
    let folder = output::folder(chosen, "model", results)?;
    let labels = nrrd_write::write(&source.labels, &source.words);
    output::write(&folder.join("labels.nrrd"), &labels)?;
    if let Some(intensities) = source.intensities.as_ref().filter(|_| source.synthetic) {
        let bytes = nrrd_write::write(intensities, &source.words);
        output::write(&folder.join("intensity.nrrd"), &bytes)?;
    }
    let file = folder.join("scene.toml");
    output::write(&file, &source.text)?;
    let name = file.display().to_string();
    let scene = lab::load_scene(&name, "MODEL")?;
    let SceneBody::VoxelBody(body) = &scene.body else {
        // the text has a table [volume]
        return Err(bad_input(name)("no [volume]"));
    };
    let model = describe(&source, body).map_err(bad_input(name))?;
    let page = report::voxel_model(&model, body, source.intensities.as_ref());
    output::write(&folder.join("report.html"), &page)?;
    let json = || messages::json(&model, "build");
    let table = || table(&model, &folder);
    let stdout = json_or_text(arguments.json, arguments.quiet, json, table)?;
    Ok(CommandOutcome::unchecked(stdout))
}

fn from_phantom(arguments: &BuildArgs) -> Result<LabelSource, Failure> {
    let refuse = |flag: &str, expected: &str| {
        let why = format!("the phantom has labels of its own; expected {expected}");
        Err(bad_input(flag)(why))
    };
    if !arguments.labels.bands.is_empty() {
        return refuse("--bands", "a VOLUME to tell apart by intensity");
    }
    if arguments.up != "z" {
        return refuse("--up", "z, where its ridge is");
    }
    let spacing_mm = arguments.labels.spacing_mm.unwrap_or(PHANTOM_MM);
    let phantom = LimbPhantom {
        seed: arguments.seed,
        spacing_m: spacing_mm * 1e-3,
        ..LimbPhantom::default()
    };
    let limb = scene::scene_text("limb").map_err(|error| Failure::Usage(error.to_string()))?;
    let separate = arguments.separate;
    let lines = limb.lines().map(|line| {
        if line.starts_with("phantom =") {
            format!("file = \"labels.nrrd\"\nseparate = {separate}\n")
        } else {
            format!("{line}\n")
        }
    });
    Ok(LabelSource {
        text: lines.collect(),
        labels: phantom.labels().map_err(bad_input("--spacing-mm"))?,
        intensities: Some(phantom.intensities().map_err(bad_input("--spacing-mm"))?),
        synthetic: true,
        words: format!("{}, seed {}", phantom::NAME, arguments.seed),
    })
}

fn from_volume(file: &str, arguments: &BuildArgs) -> Result<LabelSource, Failure> {
    let values = volume::load(file)?;
    let given = &arguments.labels;
    let labels = volume::labels(file, &values, &given.bands)?;
    let stem = Path::new(file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let BuildArgs { up, separate, .. } = arguments;
    Ok(LabelSource {
        text: volume::scene_text(&stem, &labels, given.spacing_mm, up, *separate)?,
        labels,
        intensities: (!given.bands.is_empty()).then_some(values),
        synthetic: false,
        words: file.to_owned(),
    })
}

fn describe(
    source: &LabelSource,
    body: &VoxelBody,
) -> Result<VoxelModelReport, palpate_voxel::nodes::VoxelNodesError> {
    let volume = body.volume()?;
    let voxels = volume::amounts(&source.labels);
    let one_ml = body.frame.spacing_m.iter().product::<f64>() * 1e6;
    let amounts = body.node_counts().into_iter();
    let tissues = body.tissues.iter().zip(amounts).map(|(tissue, nodes)| {
        let [red, green, blue, _] = tissue.material.colour;
        TissueAmount {
            label: tissue.label,
            name: tissue.material.name.clone(),
            voxels: voxels.get(&tissue.label).copied().unwrap_or(0),
            elements: nodes,
            volume_ml: nodes as f64 * one_ml,
            held: tissue.fixed,
            colour: [red, green, blue],
        }
    });
    let mm = |lengths_m: [f64; 3]| lengths_m.map(|m| m * 1e3);
    Ok(VoxelModelReport {
        schema: "palpate-model-build/1.0",
        source: source.words.clone(),
        synthetic: source.synthetic,
        voxels: source.labels.grid.counts,
        voxel_mm: mm(source.labels.grid.spacing_m()),
        spacing_mm: mm(body.frame.spacing_m),
        elements: volume.count(),
        links: volume.link_count(),
        held: (0..volume.slots())
            .filter(|&node| volume.pinned(node))
            .count(),
        tissues: tissues.collect(),
    })
}

fn table(model: &VoxelModelReport, folder: &Path) -> String {
    let [x, y, z] = model.spacing_mm;
    let mut text = format!(
        "source   {}\nnodes    {}, {} of them fixed, {} links, {x:.3} x {y:.3} x {z:.3} mm apart\n",
        model.source, model.elements, model.held, model.links
    );
    for tissue in &model.tissues {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "label    {}: {}, {} voxels, {} nodes, {:.3} ml{}",
            tissue.label,
            tissue.name,
            tissue.voxels,
            tissue.elements,
            tissue.volume_ml,
            if tissue.held { ", fixed" } else { "" }
        );
    }
    let scene = folder.join("scene.toml");
    let _ = writeln!(
        text,
        "results  {}\ntry      palpate lab --tissue {} --twin {}",
        folder.display(),
        scene.display(),
        scene.display()
    );
    text
}
