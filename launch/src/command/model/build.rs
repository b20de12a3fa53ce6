//! `palpate model build`: a scene of linked elements from a volume, or from the phantom.
//!
//! Source: seed-001 row LV-04 and its section 5.4.

use std::fmt::Write as _;
use std::path::Path;

use palpate_analysis::report::volume::{Amount, Built};
use palpate_analysis::{Failure, output, report};
use palpate_geometry::volume::Voxels;
use palpate_geometry::volume::file::nrrd_write;
use palpate_geometry::volume::phantom;
use palpate_geometry::volume::phantom::Phantom;
use palpate_scene as scene;
use palpate_scene::{Body, LinkedVoxels};
use palpate_session::lab;

use super::volume;
use crate::cli::BuildArgs;
use crate::command::Done;

/// Distance of the phantom's voxels where none is given \[mm\].
const PHANTOM_MM: f64 = 2.0;

/// Voxels to be linked.
struct Source {
    text: String,
    labels: Voxels<u16>,
    intensities: Option<Voxels<f32>>,
    synthetic: bool,
    words: String,
}

/// Build, and write `labels.nrrd`, `scene.toml` and `report.html`.
///
/// # Errors
/// [`Failure::Usage`] naming the file, field or flag, the value and what would be right.
pub(super) fn build(arguments: &BuildArgs) -> Result<Done, Failure> {
    let source = match &arguments.volume {
        Some(file) => from_volume(file, arguments)?,
        None => from_phantom(arguments)?,
    };
    let folder = output::folder(arguments.out.as_deref(), "model")?;
    let labels = nrrd_write::write(&source.labels, &source.words);
    output::write_bytes(&folder.join("labels.nrrd"), &labels)?;
    if let Some(intensities) = source.intensities.as_ref().filter(|_| source.synthetic) {
        let bytes = nrrd_write::write(intensities, &source.words);
        output::write_bytes(&folder.join("intensity.nrrd"), &bytes)?;
    }
    let file = folder.join("scene.toml");
    output::write(&file, &source.text)?;
    let name = file.display().to_string();
    let scene = lab::load_scene(&name, "MODEL")?;
    let Body::Voxels(body) = &scene.body else {
        // its text has a table [volume]
        return Err(Failure::Usage(format!("{name}: no [volume]")));
    };
    let built =
        described(&source, body).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let page = report::volume(&built, body, source.intensities.as_ref());
    output::write(&folder.join("report.html"), &page)?;
    let stdout = match (arguments.json, arguments.quiet) {
        (true, _) => {
            let json = serde_json::to_string_pretty(&built);
            json.map_err(|error| Failure::Refused(format!("build: {error}")))? + "\n"
        }
        (false, true) => String::new(),
        (false, false) => table(&built, &folder),
    };
    Ok(Done {
        stdout,
        held: true,
        ..Done::default()
    })
}

fn from_phantom(arguments: &BuildArgs) -> Result<Source, Failure> {
    let refuse = |flag: &str, expected: &str| {
        Err(Failure::Usage(format!(
            "{flag}: the phantom has labels of its own; expected {expected}"
        )))
    };
    if !arguments.labels.bands.is_empty() {
        return refuse("--bands", "a VOLUME to tell apart by intensity");
    }
    if arguments.up != "z" {
        return refuse("--up", "z, where its ridge is");
    }
    let spacing_mm = arguments.labels.spacing_mm.unwrap_or(PHANTOM_MM);
    let phantom = Phantom {
        seed: arguments.seed,
        spacing_m: spacing_mm * 1e-3,
        ..Phantom::default()
    };
    let unfit = |error: phantom::PhantomError| Failure::Usage(format!("--spacing-mm: {error}"));
    let limb = scene::text("limb").map_err(|error| Failure::Usage(error.to_string()))?;
    let separate = arguments.separate;
    let lines = limb.lines().map(|line| {
        if line.starts_with("phantom =") {
            format!("file = \"labels.nrrd\"\nseparate = {separate}\n")
        } else {
            format!("{line}\n")
        }
    });
    Ok(Source {
        text: lines.collect(),
        labels: phantom.labels().map_err(unfit)?,
        intensities: Some(phantom.intensities().map_err(unfit)?),
        synthetic: true,
        words: format!("{}, seed {}", phantom::NAME, arguments.seed),
    })
}

fn from_volume(file: &str, arguments: &BuildArgs) -> Result<Source, Failure> {
    let values = volume::load(file)?;
    let given = &arguments.labels;
    let labels = volume::labels(file, &values, &given.bands)?;
    let stem = Path::new(file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let how = volume::Placing {
        file: "labels.nrrd",
        spacing_mm: given.spacing_mm,
        up: &arguments.up,
        separate: arguments.separate,
    };
    Ok(Source {
        text: volume::scene_text(&stem, &labels, &how)?,
        labels,
        intensities: (!given.bands.is_empty()).then_some(values),
        synthetic: false,
        words: file.to_owned(),
    })
}

fn described(
    source: &Source,
    body: &LinkedVoxels,
) -> Result<Built, palpate_voxel::elements::ElementsError> {
    let volume = body.volume()?;
    let voxels = volume::amounts(&source.labels);
    let one_ml = body.frame.spacing_m.iter().product::<f64>() * 1e6;
    let amounts = body.amounts().into_iter();
    let tissues = body.tissues.iter().zip(amounts).map(|(tissue, elements)| {
        let [red, green, blue, _] = tissue.matter.colour;
        Amount {
            label: tissue.label,
            name: tissue.matter.name.clone(),
            voxels: voxels.get(&tissue.label).copied().unwrap_or(0),
            elements,
            volume_ml: elements as f64 * one_ml,
            held: tissue.held,
            colour: [red, green, blue],
        }
    });
    let mm = |lengths_m: [f64; 3]| lengths_m.map(|m| m * 1e3);
    Ok(Built {
        schema: "palpate-model-build/1.0",
        source: source.words.clone(),
        synthetic: source.synthetic,
        voxels: source.labels.grid.counts,
        voxel_mm: mm(source.labels.grid.spacing_m()),
        spacing_mm: mm(body.frame.spacing_m),
        elements: volume.count(),
        links: volume.link_count(),
        held: (0..volume.slots())
            .filter(|&element| volume.pinned(element))
            .count(),
        tissues: tissues.collect(),
    })
}

fn table(built: &Built, folder: &Path) -> String {
    let [x, y, z] = built.spacing_mm;
    let mut text = format!(
        "source   {}\nelements {}, {} of them held, {} links, {x:.3} x {y:.3} x {z:.3} mm apart\n",
        built.source, built.elements, built.held, built.links
    );
    for tissue in &built.tissues {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "label    {}: {}, {} voxels, {} elements, {:.3} ml{}",
            tissue.label,
            tissue.name,
            tissue.voxels,
            tissue.elements,
            tissue.volume_ml,
            if tissue.held { ", held" } else { "" }
        );
    }
    let scene = folder.join("scene.toml");
    let _ = writeln!(
        text,
        "results in {}\ntry      palpate lab --tissue {} --twin {}",
        folder.display(),
        scene.display(),
        scene.display()
    );
    text
}
