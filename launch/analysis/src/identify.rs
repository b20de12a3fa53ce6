//! Identification: what recordings tell of the stiffness of layers and lumps.
//!
//! Source: ours; the fit is [`palpate_calib::touch`]. What counts is what the remote side measured:
//! where its probe was and which force its sensor read.

use std::path::{Path, PathBuf};

use palpate_calib::touch::{self, Estimate, Identified, Part, Sample, Settings};
use palpate_master::predict::ToolShape;
use palpate_scene as scene;
use palpate_scene::{Body, Inclusion, Scene};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_session::record::{self, Recording};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use palpate_twin::Vec3;
use serde_json::{Value, json};

use crate::report::identify::{IdentifyInput, render, words};
use crate::summary::Check;
use crate::{Failure, output};

/// Longest hole in a recording that is bridged \[s\].
const HOLE_S: f64 = 0.2;
/// What is used before the first contact \[s\].
const LEAD_S: f64 = 0.1;
/// Misfit over noise above which the reader is warned that the scene has another shape.
const EXCESS: f64 = 3.0;

/// Share of a record left out beyond which a warning is due.
const LEFT_OUT: f64 = 0.3;
/// Steps of a pascal in the text: less than anybody can tell.
const PASCAL: f64 = 10.0;
/// Steps of a metre in the text: likewise.
const METRE: f64 = 1e6;

/// A configuration with what a command line sets of it, from a known one if it names none.
pub type Over<'a> = &'a dyn Fn(Option<Config>) -> Result<Option<Config>, ConfigError>;

/// Recordings of a tissue that was touched, and the scene to begin with.
pub struct Touched {
    paths: Vec<PathBuf>,
    recordings: Vec<Recording>,
    twin: String,
    text: String,
    scene: Scene,
    samples: Vec<Sample>,
}

/// What recordings tell of a scene.
pub struct Fit {
    /// What was found.
    pub found: Identified,
    /// What must hold of it.
    pub checks: Vec<Check>,
    /// All of it as JSON.
    pub json: String,
    /// What must be said beside it.
    pub warning: Option<String>,
    tissue: String,
    page: String,
}

impl Touched {
    /// So many seconds of each recording, from just before its first contact; `twin` is the scene to begin with, if not
    /// that of the first.
    ///
    /// # Errors
    /// [`Failure::Usage`] naming the file if a recording or the scene cannot be used.
    pub fn read(
        recordings: &[PathBuf],
        twin: Option<&str>,
        seconds: f64,
        over: Over<'_>,
    ) -> Result<Self, Failure> {
        let paths: Vec<PathBuf> = recordings.iter().map(|path| inside(path)).collect();
        let recordings = paths
            .iter()
            .map(|path| record::read(path).map_err(|error| Failure::Usage(error.to_string())));
        let recordings = recordings.collect::<Result<Vec<Recording>, Failure>>()?;
        let (twin, text, scene) = begin(twin, over, &paths[0], &recordings[0])?;
        let mut samples = Vec::new();
        for (path, recording) in paths.iter().zip(&recordings) {
            let more = used(path, &recording.slave, scene.tool_radius_m, seconds)?;
            append(&mut samples, &more);
        }
        Ok(Self {
            paths,
            recordings,
            twin,
            text,
            scene,
            samples,
        })
    }

    /// Number of samples that are used.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Fit the scene's stiffnesses to them.
    ///
    /// # Errors
    /// [`Failure::Usage`] if they tell nothing of the scene.
    pub fn fit(&self) -> Result<Fit, Failure> {
        let (paths, twin) = (&self.paths, &self.twin);
        let found = touch::identify(&self.scene, &self.samples, &Settings::default());
        let found = found.map_err(|error| {
            let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            let names = names.join(", ");
            Failure::Usage(format!("{names} with the scene {twin}: {error}"))
        })?;
        let tissue = tissue_toml(&self.text, &found).map_err(Failure::Usage)?;
        let checks = checks(&found, &tissue);
        let json = json(&found, paths, twin, self.samples.len(), &checks);
        let page = render(&IdentifyInput {
            twin,
            found: &found,
            checks: &checks,
            tissue: &tissue,
        });
        Ok(Fit {
            json: serde_json::to_string_pretty(&json).unwrap_or_default() + "\n",
            warning: warning(&found, &self.recordings),
            found,
            checks,
            tissue,
            page,
        })
    }
}

impl Fit {
    /// Write `tissue.toml`, `report.html` and `identify.json`.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        output::write(&folder.join("tissue.toml"), &self.tissue)?;
        output::write(&folder.join("identify.json"), &self.json)?;
        output::write(&folder.join("report.html"), &self.page)
    }
}

/// Every check, a line each.
#[must_use]
pub fn stated(checks: &[Check]) -> String {
    let word = |check: &Check| if check.held { "holds" } else { "broken" };
    let value = |check: &Check| {
        check
            .value
            .map_or("unknown".into(), |value| format!("{value:.4}"))
    };
    let line = |check: &Check| {
        let (name, unit) = (&check.name, &check.unit);
        format!(
            "{:<8}{name}: {} of {} {unit}\n",
            word(check),
            value(check),
            check.limit
        )
    };
    checks.iter().map(line).collect()
}

/// Name, text and scene to begin with; its tool becomes that of the recording.
fn begin(
    twin: Option<&str>,
    over: Over<'_>,
    path: &Path,
    recording: &Recording,
) -> Result<(String, String, Scene), Failure> {
    let config = recording.config.as_deref();
    let source = format!("{}: config.toml", path.display());
    let config = config
        .map(|text| Config::parse(text, &source))
        .transpose()?;
    let config = over(config)?;
    let twin = twin.map(str::to_owned);
    let twin = twin.or(config.as_ref().map(|config| config.twin.clone()));
    let twin = twin.unwrap_or(Config::default().twin);
    let text = lab::scene_text(&twin, "--twin")?;
    let mut scene = lab::load_scene(&twin, "--twin")?;
    if let Some(config) = &config {
        let shape = config.master.predict.tool_shape;
        if shape != ToolShape::Ball {
            return Err(Failure::Usage(format!(
                "{}: master.predict.tool_shape is a {}; expected recordings of a ball, as presses are made again with one",
                path.display(),
                shape.name()
            )));
        }
        // what really touched
        scene.tool_radius_m = config.master.predict.tool_radius_m;
        scene.tool_stiffness_npm = config.master.predict.tool_stiffness_npm;
    }
    Ok((twin, text, scene))
}

/// The recording that a folder holds, or the file itself.
fn inside(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join("recording.mcap")
    } else {
        path.to_owned()
    }
}

/// Samples of a recording from just before the first contact, at an even rate.
fn used(
    path: &Path,
    records: &[TickRecord],
    radius_m: f64,
    seconds: f64,
) -> Result<Vec<Sample>, Failure> {
    let refused = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let Some(first) = records
        .iter()
        .position(|record| record.position_m[2] < radius_m)
    else {
        let lowest = "the probe never comes to the surface of the scene, z = 0";
        return Err(refused(format!(
            "{} ticks of the slave; {lowest}",
            records.len()
        )));
    };
    let start_ns = records[first].now_ns - (LEAD_S * 1e9) as i64;
    let sample = |record: &TickRecord| {
        let three = |axes: [f64; 4]| Vec3::new(axes[0], axes[1], axes[2]);
        Sample {
            time_s: record.now_ns.saturating_sub(start_ns) as f64 * 1e-9,
            position_m: three(record.position_m),
            force_n: three(record.tissue_force_n),
        }
    };
    let mut raw: Vec<Sample> = records.iter().map(sample).collect();
    raw.retain(|sample| (0.0..=seconds).contains(&sample.time_s));
    raw.dedup_by(|later, earlier| later.time_s <= earlier.time_s);
    let hole = raw
        .windows(2)
        .find(|pair| pair[1].time_s - pair[0].time_s > HOLE_S);
    if let Some(hole) = hole {
        let long_s = hole[1].time_s - hole[0].time_s;
        let what =
            format!("{long_s:.3} s without a tick of the slave; expected at most {HOLE_S} s");
        return Err(refused(what));
    }
    Ok(even(&raw))
}

/// Samples at every period, on straight lines between those given.
fn even(raw: &[Sample]) -> Vec<Sample> {
    let (Some(first), Some(last)) = (raw.first(), raw.last()) else {
        return Vec::new();
    };
    let count = ((last.time_s - first.time_s) / PERIOD.s()).floor() as usize;
    let mut at = 0;
    let one = |tick: usize| {
        let time_s = first.time_s + tick as f64 * PERIOD.s();
        while at + 2 < raw.len() && raw[at + 1].time_s < time_s {
            at += 1;
        }
        let (a, b) = (&raw[at], &raw[(at + 1).min(raw.len() - 1)]);
        let long_s = (b.time_s - a.time_s).max(f64::MIN_POSITIVE);
        let share = ((time_s - a.time_s) / long_s).clamp(0.0, 1.0);
        Sample {
            time_s,
            position_m: a.position_m.lerp(&b.position_m, share),
            force_n: a.force_n.lerp(&b.force_n, share),
        }
    };
    (0..=count).map(one).collect()
}

/// One record after another, as if the second followed at once.
fn append(samples: &mut Vec<Sample>, more: &[Sample]) {
    let end_s = samples.last().map_or(0.0, |last| last.time_s + PERIOD.s());
    let begin_s = more.first().map_or(0.0, |first| first.time_s);
    samples.extend(more.iter().map(|sample| Sample {
        time_s: sample.time_s - begin_s + end_s,
        ..*sample
    }));
}

/// The scene's text with the stiffnesses and the lumps that were found.
fn tissue_toml(text: &str, found: &Identified) -> Result<String, String> {
    let mut tree: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let Body::Block(block) = &found.scene.body else {
        return Err("the scene that was found has no layers".into());
    };
    let layers = block.layers.iter().map(|layer| layer.material.young_pa());
    put(&mut tree, "layer", layers);
    let inclusions = block.inclusions.iter().map(|ball| ball.material.young_pa());
    put(&mut tree, "inclusion", inclusions);
    let known = tree.get("inclusion").and_then(toml::Value::as_array);
    for ball in &block.inclusions[known.map_or(0, Vec::len)..] {
        add(&mut tree, ball);
    }
    let name = format!("{}-identified", found.scene.name);
    tree.insert("name".into(), name.into());
    let body = toml::to_string(&tree).map_err(|error| error.to_string())?;
    Ok(format!(
        "# Stiffnesses and lumps by `palpate identify`; see report.html beside for what is sure.\n{body}"
    ))
}

fn put(tree: &mut toml::Table, list: &str, young_pa: impl Iterator<Item = f64>) {
    let entries = tree.get_mut(list).and_then(toml::Value::as_array_mut);
    for (entry, young_pa) in entries.into_iter().flatten().zip(young_pa) {
        if let Some(entry) = entry.as_table_mut() {
            entry.insert("young_pa".into(), rounded(young_pa, PASCAL).into());
        }
    }
}

/// Append an inclusion that the text lacks.
fn add(tree: &mut toml::Table, ball: &Inclusion) {
    let mut entry = toml::Table::new();
    entry.insert("name".into(), ball.name.clone().into());
    let centre_m = [0, 1, 2].map(|axis| rounded(ball.centre_m[axis], METRE));
    entry.insert("center_m".into(), centre_m.to_vec().into());
    entry.insert("radius_m".into(), rounded(ball.radius_m, METRE).into());
    let material = &ball.material;
    for (field, value) in [
        ("young_pa", rounded(material.young_pa(), PASCAL)),
        ("poisson", material.poisson()),
        ("density_kgpm3", material.density_kgpm3()),
    ] {
        entry.insert(field.into(), value.into());
    }
    let list = tree
        .entry("inclusion")
        .or_insert_with(|| toml::Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut() {
        list.push(entry.into());
    }
}

fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

fn checks(found: &Identified, tissue: &str) -> Vec<Check> {
    let [before_n, after_n] = found.misfit_n;
    let yes = |held: bool| Some(f64::from(u8::from(held)));
    vec![
        Check::at_least("the fit settled", yes(found.settled), 1.0, "yes"),
        Check::at_most(
            "misfit after over before",
            Some(after_n / before_n),
            1.0,
            "1",
        ),
        Check::at_least(
            "tissue.toml loads",
            yes(scene::load(tissue).is_ok()),
            1.0,
            "yes",
        ),
    ]
}

/// Unit of a value, and of its standard deviation.
fn units(part: Part) -> [&'static str; 2] {
    match part {
        Part::Layer(_) => ["Pa", "ln"],
        Part::Contrast(_) => ["1", "ln"],
        Part::Depth(_) | Part::Radius(_) => ["m", "ln"],
        Part::Place(..) => ["m", "m"],
    }
}

fn json(
    found: &Identified,
    paths: &[PathBuf],
    twin: &str,
    samples: usize,
    checks: &[Check],
) -> Value {
    let parameter = |estimate: &Estimate| {
        let [unit, sd_unit] = units(estimate.part);
        json!({
            "name": estimate.name, "unit": unit,
            "before": estimate.before, "after": estimate.after,
            "sd_unit": sd_unit, "sd": estimate.sd, "prior_sd": estimate.prior_sd,
            "told": estimate.told, "mesh": estimate.mesh,
        })
    };
    let direction = |direction: &touch::Direction| {
        json!({
            "words": direction.words, "told": direction.told, "weights": direction.weights,
            "singular_value": direction.singular, "prior_sd_left": direction.left,
        })
    };
    let search = |search: &touch::Search| {
        json!({
            "touches": search.touches, "stiffer": search.stiffer, "ratio": search.ratio,
            "place_m": search.place_m, "evidence": search.evidence, "accepted": search.accepted,
        })
    };
    json!({
        "schema": "palpate-identify/1", "command": "identify", "version": env!("CARGO_PKG_VERSION"),
        "recordings": paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "twin": twin, "samples": samples, "runs": found.runs,
        "prior_log_sd": found.prior_log, "excess": found.excess,
        "left_out": found.left_out,
        "searches": found.searches.iter().map(search).collect::<Vec<_>>(),
        "misfit_before_n": found.misfit_n[0], "misfit_after_n": found.misfit_n[1],
        "gain": found.gain[0], "gain_sd": found.gain[1],
        "height_m": found.height_m[0], "height_sd_m": found.height_m[1],
        "lag_s": found.lag_s[0], "lag_sd_s": found.lag_s[1],
        "mass_kg": found.mass_kg[0], "mass_sd_kg": found.mass_kg[1],
        "drag_nspm": found.drag_nspm[0], "drag_sd_nspm": found.drag_nspm[1],
        "parameters": found.estimates.iter().map(parameter).collect::<Vec<_>>(),
        "correlation": found.correlation,
        "directions": found.directions.iter().map(direction).collect::<Vec<_>>(),
        "checks": checks,
    })
}

/// What was found, in a few lines for a terminal.
#[must_use]
pub fn table(found: &Identified) -> String {
    let mut text = String::new();
    for search in &found.searches {
        text += &format!("{}\n", words::search(search));
    }
    for estimate in &found.estimates {
        let before = estimate
            .before
            .map(|value| words::value(estimate.part, value));
        text += &format!(
            "{:<18} {:>10} -> {:>10}  {}, told {:.0} %\n",
            estimate.name,
            before.unwrap_or("-".to_owned()),
            words::value(estimate.part, estimate.after),
            words::within(estimate),
            100.0 * estimate.told
        );
    }
    let [before_n, after_n] = found.misfit_n;
    text += &format!(
        "misfit     {before_n:.4} N -> {after_n:.4} N, {:.1} times the noise; {:.0} % of the record left out\n",
        found.excess,
        100.0 * found.left_out
    );
    for direction in found.directions.iter().filter(|direction| !direction.told) {
        text += &format!("not told   {}\n", direction.words);
    }
    text
}

fn warning(found: &Identified, recordings: &[Recording]) -> Option<String> {
    let mut said: Vec<String> = recordings
        .iter()
        .filter_map(|recording| recording.damage.as_ref().map(ToString::to_string))
        .collect();
    if found.excess > EXCESS {
        said.push(format!(
            "the misfit is {:.1} times the noise: the tissue has another shape than the scene, \
             such as layers of another thickness or something that it lacks",
            found.excess
        ));
    }
    if found.left_out > LEFT_OUT {
        said.push(format!(
            "{:.0} % of the record was left out, where force does not follow from stiffness: the tissue \
             gives way, or is viscous",
            100.0 * found.left_out
        ));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_even_on_straight_lines() {
        let sample = |time_s: f64| Sample {
            time_s,
            position_m: Vec3::new(time_s, 0.0, -time_s),
            force_n: Vec3::new(0.0, 0.0, 2.0 * time_s),
        };
        let raw: Vec<Sample> = [0.0, 0.0011, 0.0019, 0.0052, 0.006].map(sample).into();
        let even = even(&raw);
        assert_eq!(even.len(), 7);
        for (tick, at) in even.iter().enumerate() {
            let time_s = tick as f64 * 1e-3;
            assert!(
                (at.time_s - time_s).abs() < 1e-12 && (at.force_n.z - 2.0 * time_s).abs() < 1e-9
            );
        }
        let mut both = even.clone();
        append(&mut both, &even);
        assert!((both[7].time_s - 0.007).abs() < 1e-12 && both.len() == 14);
    }

    #[test]
    fn a_lump_that_was_found_is_appended_to_the_scene() {
        let text = scene::text("layered").expect("built in");
        let mut tree: toml::Table = text.parse().expect("TOML");
        let Body::Block(block) = scene::load("layered-lump").expect("built in").body else {
            panic!("not a block");
        };
        add(&mut tree, &block.inclusions[0]);
        let again = scene::load(&tree.to_string()).expect("a scene");
        let Body::Block(found) = again.body else {
            panic!("not a block");
        };
        assert_eq!(found.inclusions, block.inclusions);
    }

    #[test]
    fn a_published_tissue_keeps_its_name_and_takes_the_stiffness() {
        let mut tree: toml::Table = "[[layer]]\ntissue = \"skin\"\n".parse().expect("TOML");
        put(&mut tree, "layer", [1234.56_f64].into_iter());
        let text = tree.to_string();
        assert!(
            text.contains("tissue = \"skin\"") && text.contains("young_pa = 1234.6"),
            "{text}"
        );
    }
}
