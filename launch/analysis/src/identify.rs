//! Identification of the stiffness of layers and lumps from recordings.
//!
//! Source: ours; the fit is [`palpate_calib::touch`]. It uses the measurements of the remote side: the position of its
//! probe and the force of its sensor.

use std::path::{Path, PathBuf};

use palpate_calib::touch::{self, Identification, ParameterEstimate, TouchSample, TouchSettings};
use palpate_scene as scene;
use palpate_scene::{Inclusion, Scene, SceneBody};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_session::record::{self, Recording};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use palpate_twin::{ToolShape, Vec3};
use serde_json::{Value, json};

use crate::report::identify::{render, words};
use crate::summary::Check;
use crate::{Failure, output};

/// Longest gap in a recording that is interpolated \[s\].
const HOLE_S: f64 = 0.2;
/// Time that is used before the first contact \[s\].
const LEAD_S: f64 = 0.1;
/// Misfit over noise above which a warning states that the scene has another shape.
const MISFIT_OVER_NOISE_MAX: f64 = 3.0;

/// Share of a record left out above which a warning is given.
const EXCLUDED_SHARE_MAX: f64 = 0.3;
/// Steps per pascal in the text, finer than any measurement.
const PASCAL: f64 = 10.0;
/// Steps per metre in the text, finer than any measurement.
const METRE: f64 = 1e6;

/// Merges the settings of a command line into a configuration, or into the one that it names.
pub type ConfigOverlay<'a> = &'a dyn Fn(Option<Config>) -> Result<Option<Config>, ConfigError>;

/// Recordings of touches of a tissue, and the initial scene.
pub struct TouchRecordings {
    paths: Vec<PathBuf>,
    recordings: Vec<Recording>,
    twin: String,
    text: String,
    scene: Scene,
    samples: Vec<TouchSample>,
}

/// Result of an identification.
pub struct IdentifyResult {
    /// Identified parameters.
    pub identified: Identification,
    /// Checks of the identification.
    pub checks: Vec<Check>,
    /// Result as JSON.
    pub json: String,
    /// Warning about the result, if any.
    pub warning: Option<String>,
    tissue: String,
    page: String,
}

impl TouchRecordings {
    /// Reads `seconds` of each recording, from just before its first contact; `twin` is the initial scene, if not that
    /// of the first recording.
    ///
    /// # Errors
    /// [`Failure::Usage`] naming the file if a recording or the scene cannot be used.
    pub fn read(
        recordings: &[PathBuf],
        twin: Option<&str>,
        seconds: f64,
        over: ConfigOverlay<'_>,
    ) -> Result<Self, Failure> {
        let paths = recordings.iter().map(|path| output::recording(path));
        let paths: Vec<PathBuf> = paths.collect();
        let recordings = paths
            .iter()
            .map(|path| record::read(path).map_err(|error| Failure::Usage(error.to_string())));
        let recordings = recordings.collect::<Result<Vec<Recording>, Failure>>()?;
        let (twin, text, scene) = starting_scene(twin, over, &paths[0], &recordings[0])?;
        let mut samples = Vec::new();
        for (path, recording) in paths.iter().zip(&recordings) {
            let more = contact_samples(path, recording, scene.tool_radius_m, seconds)?;
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

    /// Returns the number of samples that are used.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Fits the scene's stiffnesses to the samples.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the samples contain no information on the scene.
    pub fn fit(&self) -> Result<IdentifyResult, Failure> {
        let (paths, twin) = (&self.paths, &self.twin);
        let found = touch::identify(&self.scene, &self.samples, &TouchSettings::default());
        let found = found.map_err(|error| {
            let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            let names = names.join(", ");
            Failure::Usage(format!("{names} with the scene {twin}: {error}"))
        })?;
        let tissue = tissue_toml(&self.text, &found).map_err(Failure::Usage)?;
        let checks = checks(&found, &tissue);
        let json = json(&found, paths, twin, self.samples.len(), &checks);
        let page = render(twin, &found, &checks, &tissue);
        Ok(IdentifyResult {
            json: serde_json::to_string_pretty(&json).unwrap_or_default() + "\n",
            warning: warning(&found, &self.recordings),
            identified: found,
            checks,
            tissue,
            page,
        })
    }
}

impl IdentifyResult {
    /// Writes `tissue.toml`, `report.html` and `identify.json`.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        output::write(&folder.join("tissue.toml"), &self.tissue)?;
        output::write(&folder.join("identify.json"), &self.json)?;
        output::write(&folder.join("report.html"), &self.page)
    }
}

/// Returns every check, a line each.
#[must_use]
pub fn check_lines(checks: &[Check]) -> String {
    let line = |check: &Check| {
        let word = if check.held { "PASS" } else { "FAIL" };
        let value = check.value.map(|value| format!("{value:.4}"));
        let value = value.unwrap_or("unknown".into());
        let (name, limit, unit) = (&check.name, check.limit, &check.unit);
        format!("{word:<8}{name}: {value} of {limit} {unit}\n")
    };
    checks.iter().map(line).collect()
}

/// Returns name, text and scene of the initial scene, with the tool of the recording.
fn starting_scene(
    twin: Option<&str>,
    over: ConfigOverlay<'_>,
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
    let text = lab::scene_text(&twin, "--twin")?.into_owned();
    let scene = if let Some(config) = &config {
        let shape = config.master.predict.tool_shape;
        if shape != ToolShape::Ball {
            return Err(Failure::Usage(format!(
                "{}: master.predict.tool_shape is a {}; expected recordings of a ball, as presses are repeated with one",
                path.display(),
                shape.name()
            )));
        }
        // the tool of the recording
        lab::scene_with_tool(config, &twin, "--twin")?
    } else {
        lab::load_scene(&twin, "--twin")?
    };
    Ok((twin, text, scene))
}

/// Returns the samples of a recording from just before the first contact, at an even rate.
fn contact_samples(
    path: &Path,
    recording: &Recording,
    radius_m: f64,
    seconds: f64,
) -> Result<Vec<TouchSample>, Failure> {
    let refused = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let records = &recording.slave;
    // where the session found the tissue
    let last = recording.master.last();
    let height_m = last.map_or(0.0, |record| record.twin_height_m);
    let place_m = |record: &TickRecord| {
        let [x, y, z, _] = record.position_m;
        Vec3::new(x, y, z - height_m)
    };
    let touches = |record: &TickRecord| place_m(record).z < radius_m;
    let Some(first) = records.iter().position(touches) else {
        let lowest = "the probe never reaches the surface of the scene, z = 0";
        let ticks = records.len();
        return Err(refused(format!("{ticks} ticks of the slave; {lowest}")));
    };
    let start_ns = records[first].now_ns - (LEAD_S * 1e9) as i64;
    let sample = |record: &TickRecord| TouchSample {
        time_s: record.now_ns.saturating_sub(start_ns) as f64 * 1e-9,
        position_m: place_m(record),
        force_n: Vec3::from_column_slice(&record.tissue_force_n[..3]),
    };
    let mut raw: Vec<TouchSample> = records.iter().map(sample).collect();
    raw.retain(|sample| (0.0..=seconds).contains(&sample.time_s));
    raw.dedup_by(|later, earlier| later.time_s <= earlier.time_s);
    let mut steps_s = raw.windows(2).map(|pair| pair[1].time_s - pair[0].time_s);
    match steps_s.find(|step_s| *step_s > HOLE_S) {
        Some(long_s) => Err(refused(format!(
            "{long_s:.3} s without a tick of the slave; expected at most {HOLE_S} s"
        ))),
        None => Ok(even(&raw)),
    }
}

/// Interpolates the samples linearly to every period.
fn even(raw: &[TouchSample]) -> Vec<TouchSample> {
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
        TouchSample {
            time_s,
            position_m: a.position_m.lerp(&b.position_m, share),
            force_n: a.force_n.lerp(&b.force_n, share),
        }
    };
    (0..=count).map(one).collect()
}

/// Appends a record as if it followed at once.
fn append(samples: &mut Vec<TouchSample>, more: &[TouchSample]) {
    let end_s = samples.last().map_or(0.0, |last| last.time_s + PERIOD.s());
    let begin_s = more.first().map_or(0.0, |first| first.time_s);
    samples.extend(more.iter().map(|sample| TouchSample {
        time_s: sample.time_s - begin_s + end_s,
        ..*sample
    }));
}

/// Returns the scene's text with the identified stiffnesses and lumps.
fn tissue_toml(text: &str, found: &Identification) -> Result<String, String> {
    let mut tree: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let SceneBody::Block(block) = &found.scene.body else {
        return Err("the scene that was found has no layers".into());
    };
    let layers = block.layers.iter().map(|layer| layer.material.young_pa());
    put(&mut tree, "layer", layers);
    let inclusions = block.inclusions.iter().map(|ball| ball.material.young_pa());
    put(&mut tree, "inclusion", inclusions);
    let listed = tree.get("inclusion").and_then(toml::Value::as_array);
    for ball in &block.inclusions[listed.map_or(0, Vec::len)..] {
        add(&mut tree, ball);
    }
    let name = format!("{}-identified", found.scene.name);
    tree.insert("name".into(), name.into());
    let body = toml::to_string(&tree).map_err(|error| error.to_string())?;
    Ok(format!(
        "# Stiffnesses and lumps by `palpate identify`; see report.html for their uncertainty.\n{body}"
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

/// Appends an inclusion that the text lacks.
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
        .or_insert(toml::Value::Array(vec![]));
    if let Some(list) = list.as_array_mut() {
        list.push(entry.into());
    }
}

fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

fn checks(found: &Identification, tissue: &str) -> Vec<Check> {
    let [before_n, after_n] = found.misfit_n;
    let yes = |name: &str, held: bool| {
        let value = f64::from(u8::from(held));
        Check::at_least(name, Some(value), 1.0, "yes")
    };
    let (name, share) = ("misfit after over before", after_n / before_n);
    vec![
        yes("the fit converged", found.converged),
        Check::at_most(name, Some(share), 1.0, "1"),
        yes("tissue.toml loads", scene::load(tissue).is_ok()),
    ]
}

fn json(
    found: &Identification,
    paths: &[PathBuf],
    twin: &str,
    samples: usize,
    checks: &[Check],
) -> Value {
    let parameter = |estimate: &ParameterEstimate| {
        let (unit, sd_unit) = words::units(estimate.parameter);
        json!({
            "name": estimate.name, "unit": unit,
            "before": estimate.before, "after": estimate.after,
            "sd_unit": sd_unit, "sd": estimate.sd, "prior_sd": estimate.prior_sd,
            "told": estimate.information, "mesh": estimate.mesh_shift,
        })
    };
    let direction = |direction: &touch::ParameterDirection| {
        json!({
            "words": direction.description, "told": direction.is_informed, "weights": direction.weights,
            "singular_value": direction.singular, "prior_sd_left": direction.prior_share,
        })
    };
    let search = |search: &touch::LumpSearch| {
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
        "left_out": found.excluded_share,
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

/// Returns the result in a few lines for a terminal.
#[must_use]
pub fn table(found: &Identification) -> String {
    let mut text = String::new();
    for search in &found.searches {
        text += &format!("{}\n", words::search(search));
    }
    for estimate in &found.estimates {
        let part = estimate.parameter;
        let before = estimate.before.map(|value| words::value(part, value));
        text += &format!(
            "{:<18} {:>10} -> {:>10}  {}, identified {:.0} %\n",
            estimate.name,
            before.unwrap_or("-".to_owned()),
            words::value(part, estimate.after),
            words::within(estimate),
            100.0 * estimate.information
        );
    }
    let [before_n, after_n] = found.misfit_n;
    text += &format!(
        "misfit     {before_n:.4} N -> {after_n:.4} N, {:.1} times the noise; {:.0} % of the record left out\n",
        found.excess,
        100.0 * found.excluded_share
    );
    for direction in words::uninformed(found) {
        text += &format!("not identified   {}\n", direction.description);
    }
    text
}

fn warning(found: &Identification, recordings: &[Recording]) -> Option<String> {
    let damages = recordings.iter().filter_map(|of| of.damage.as_ref());
    let mut warnings: Vec<String> = damages.map(ToString::to_string).collect();
    if found.excess > MISFIT_OVER_NOISE_MAX {
        warnings.push(format!(
            "the misfit is {:.1} times the noise: the tissue has another shape than the scene, \
             such as layers of another thickness or an object that the scene lacks",
            found.excess
        ));
    }
    if found.excluded_share > EXCLUDED_SHARE_MAX {
        warnings.push(format!(
            "{:.0} % of the record was left out, where force does not follow from stiffness: the tissue \
             yields, or is viscous",
            100.0 * found.excluded_share
        ));
    }
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_interpolated_linearly_to_an_even_rate() {
        let sample = |time_s: f64| TouchSample {
            time_s,
            position_m: Vec3::new(time_s, 0.0, -time_s),
            force_n: Vec3::new(0.0, 0.0, 2.0 * time_s),
        };
        let raw: Vec<TouchSample> = [0.0, 0.0011, 0.0019, 0.0052, 0.006].map(sample).into();
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

    /// Touches of tissue that a session found higher belong to the scene at its own height.
    #[test]
    fn samples_are_taken_below_the_registered_surface() {
        let samples = |height_m: f64| {
            let slave = (0..300).map(|tick| TickRecord {
                now_ns: 1_000_000 * tick,
                position_m: [0.0, 0.0, 0.01001 + height_m - 2e-5 * tick as f64, 0.0],
                ..TickRecord::default()
            });
            let master = TickRecord {
                twin_height_m: height_m,
                ..TickRecord::default()
            };
            let recording = Recording {
                master: vec![master],
                slave: slave.collect(),
                ..Recording::default()
            };
            contact_samples(Path::new("made"), &recording, 0.008, 1.0).expect("a contact")
        };
        let (home, raised) = (samples(0.0), samples(0.02));
        assert_eq!(home.len(), raised.len());
        for (home, raised) in home.iter().zip(&raised) {
            assert!((home.position_m - raised.position_m).norm() < 1e-12);
        }
    }

    #[test]
    fn a_found_lump_is_appended_to_the_scene() {
        let text = scene::scene_text("layered").expect("built in");
        let mut tree: toml::Table = text.parse().expect("TOML");
        let SceneBody::Block(block) = scene::load("layered-lump").expect("built in").body else {
            panic!("not a block");
        };
        add(&mut tree, &block.inclusions[0]);
        let again = scene::load(&tree.to_string()).expect("a scene");
        let SceneBody::Block(found) = again.body else {
            panic!("not a block");
        };
        assert_eq!(found.inclusions, block.inclusions);
    }

    #[test]
    fn a_published_tissue_keeps_its_name_and_takes_the_identified_stiffness() {
        let mut tree: toml::Table = "[[layer]]\ntissue = \"skin\"\n".parse().expect("TOML");
        put(&mut tree, "layer", [1234.56_f64].into_iter());
        let text = tree.to_string();
        assert!(
            text.contains("tissue = \"skin\"") && text.contains("young_pa = 1234.6"),
            "{text}"
        );
    }
}
