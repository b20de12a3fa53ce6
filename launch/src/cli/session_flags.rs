//! Flags that describe a session, and their effect on a configuration.
//!
//! Order of precedence: defaults, the file, the script, the other flags, `--set`. Source: ours.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use palpate_master::device::HandleKind;
use palpate_transport::coupling::Mode;
use palpate_transport::link::profile::PROFILES;
use palpate_transport::link::trace;
use serde::Serialize;

use palpate_analysis::scene_tool::{self, SceneTools};
use palpate_console::rehearsal::script;
use palpate_session::config::{Config, ConfigError, LinkChange, keys};
use palpate_session::{files, input};
use palpate_study::trial::field;
use palpate_study::trial::overrides::FieldAssignment;

use super::UnitName;

const LINK: &str = "Simulated network, both ways unless said otherwise";
const METHOD: &str = "Coupling, tissue and operator";

/// All flags of a session.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionArgs {
    /// Configuration file (TOML); flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any field of the configuration, after everything else; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Length of the session in seconds [default: 20]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = duration_s)]
    pub duration: Option<f64>,
    /// The network.
    #[command(flatten)]
    pub link: LinkArgs,
    /// Coupling, tissue and operator.
    #[command(flatten)]
    pub method: MethodArgs,
}

/// Network between the sides. Serialised, it holds the given flags by the names of [`field`].
#[derive(Debug, Clone, Default, Args, Serialize)]
#[command(next_help_heading = LINK)]
pub struct LinkArgs {
    /// A network by name; the other flags of the network override it
    #[arg(long, value_name = "NAME", value_parser = profile_parser())]
    pub profile: Option<String>,
    /// A recorded network: a CSV file whose first line names its columns, such as `at_s,oneway_ms,loss`; an error
    /// names the permitted ones. The flags set missing columns
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub trace: Option<PathBuf>,
    /// Round trip in milliseconds, half in each direction [default: 100]
    #[arg(long, value_name = "MS", allow_negative_numbers = true,
        value_parser = within(0.0, 120_000.0, "0 to 120000 milliseconds"),
        conflicts_with_all = ["oneway_ms_fwd", "oneway_ms_back"])]
    pub rtt_ms: Option<f64>,
    /// Delay from master to slave in milliseconds [default: 50]
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = delay_ms)]
    pub oneway_ms_fwd: Option<f64>,
    /// Delay from slave to master in milliseconds [default: 50]
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = delay_ms)]
    pub oneway_ms_back: Option<f64>,
    /// Half width of the jitter in milliseconds [default: 10]
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = delay_ms)]
    pub jitter_ms: Option<f64>,
    /// Fraction of packets lost, 0 to 1 [default: 0.02]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = fraction)]
    pub loss: Option<f64>,
    /// Mean length of a loss burst in packets; above 1, Gilbert-Elliott [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(1.0, 1e6, "1 to 1000000 packets"))]
    pub burst: Option<f64>,
    /// Fraction of packets duplicated, 0 to 1 [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = fraction)]
    pub dup: Option<f64>,
    /// Fraction of packets that overtake the one before, 0 to 1 [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = fraction)]
    pub reorder: Option<f64>,
    /// Rate limit in kbit/s [default: none]
    #[arg(long, value_name = "KBPS", allow_negative_numbers = true, value_parser = within(1.0, 1e8, "1 to 100000000 kbit/s"))]
    pub rate_kbps: Option<f64>,
    /// Outages: the link works for ON_S seconds and is cut for OFF_S seconds, in turn [default: never cut]
    #[arg(long, value_name = "ON_S,OFF_S", allow_hyphen_values = true, value_parser = outage)]
    pub outage: Option<String>,
}

/// Coupling and tissues. Serialised, it holds the given flags by the names of [`field`].
#[derive(Debug, Clone, Default, Args, Serialize)]
#[command(next_help_heading = METHOD)]
pub struct MethodArgs {
    /// Coupling method; all but direct and iss are passive [default: auto, which relays the remote force while
    /// the round trip is a few ms and the twin has little correction at the touched place, and otherwise is mmt]
    #[arg(long, value_name = "MODE", value_parser = Mode::ALL.map(Mode::name))]
    pub mode: Option<String>,
    /// Wave impedance b in N s/m [default: 10]
    #[arg(long, value_name = "B", allow_negative_numbers = true, value_parser = within(0.1, 1000.0, "0.1 to 1000 N s/m"))]
    pub impedance: Option<f64>,
    /// Codec of the frames: all are sent, or those with a perceptible difference [default: off]
    #[arg(long, value_name = "CODEC", value_parser = ["off", "deadband"])]
    pub codec: Option<String>,
    /// Tissue of the remote side: a built-in scene, a scene file, a .fem file, `wall:K` with a stiffness in
    /// N/m, or `free` [default: layered-lump]
    #[arg(long, value_name = "SCENE")]
    pub tissue: Option<String>,
    /// Scene of the master's twin: a built-in scene, a .fem file, or a scene file [default: layered]
    #[arg(long, value_name = "SCENE")]
    pub twin: Option<String>,
    /// Units of the `.fem` file of --twin or --tissue, which states none itself; as the name FILE.fem:UNITS
    #[arg(long, value_enum, value_name = "UNITS")]
    #[serde(skip)]
    pub units: Option<UnitName>,
    /// Scene into which the twin is morphed while the session runs, in imperceptible steps, such as the
    /// result of `palpate identify`; ignored by modes without a twin [default: none]
    // the former name is read for one version
    #[arg(long, value_name = "SCENE", alias = "towards")]
    pub morph_to: Option<String>,
    /// Tissue model of the twin: `fem` for layers, `idms` for springs, `implicit` for a mesh file or a block with
    /// `method = "implicit"`, in virtual time only. It selects a built-in scene of this model; with `--twin`
    /// it must be the model of that scene [default: fem]
    #[arg(long, value_name = "METHOD", value_parser = ["fem", "idms", "implicit"])]
    pub method: Option<String>,
    /// Script that the simulated operator follows, with its scene, tool and post-conditions: a built-in one
    /// (biopsy), or a .toml or .json file [default: a palpation of nine sites]
    #[arg(long, value_name = "SCRIPT")]
    pub script: Option<String>,
    /// Grip of the simulated hand on the handle [default: firm]
    #[arg(long, value_name = "GRIP", value_parser = ["firm", "light", "none"])]
    pub grip: Option<String>,
    /// Operator: a simulated hand with its script, a person with a mouse or a finger on the console's
    /// page, or one with a gamepad or a 3-D mouse of this machine [default: script]
    #[arg(long, value_name = "WHO", value_parser = ["script", "pointer", "evdev"])]
    #[serde(skip)]
    pub operator: Option<String>,
    /// Input device of `--operator evdev`, such as /dev/input/event5; `palpate doctor` lists them
    /// [default: the first that can drive a handle]
    #[arg(long, value_name = "FILE", value_parser = device)]
    #[serde(skip)]
    pub device: Option<String>,
}

impl SessionArgs {
    /// Configuration of file and flags, validated.
    ///
    /// # Errors
    /// [`ConfigError`] names the file or flag, the field, its value, and the valid values.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let (mut config, stated) = match &self.config {
            Some(path) => read_with_fields(path)?,
            None => (Config::default(), Vec::new()),
        };
        let given = self.flag_table()?;
        let values = given.iter().map(|(name, value)| (name.as_str(), value));
        field::set_all(&mut config, values).map_err(|(_, error)| error)?;
        config.seed = self.seed.unwrap_or(config.seed);
        self.method.set_operator(&mut config)?;
        for assignment in &self.set {
            config.set(assignment)?;
        }
        let given = self.given_fields(stated)?;
        SceneTools::default().adopt(&mut config, &|path| {
            given.iter().any(|given| scene_tool::states(given, path))
        });
        self.link.schedule(&mut config)?;
        config.validate()?;
        Ok(config)
    }

    /// Paths of the fields that the file, which states these, script, flags and `--set` state, as far as the scene's tool
    /// depends on them.
    fn given_fields(&self, mut given: Vec<String>) -> Result<Vec<String>, ConfigError> {
        given.extend(self.method.twin.as_ref().map(|_| "twin".to_owned()));
        let paths = self.set.iter().filter_map(|text| text.split_once('='));
        given.extend(paths.map(|(path, _)| keys::current_path(path.trim())));
        if let Some(name) = &self.method.script
            && script::load(name)?.states_tool
        {
            given.push(scene_tool::RADIUS.to_owned());
        }
        Ok(given)
    }

    /// Values set by the flags of network, coupling, tissue and operator, by the names of [`field`], and the
    /// length.
    fn flag_table(&self) -> Result<toml::Table, ConfigError> {
        let unfit = |error: toml::ser::Error| ConfigError::Field(error.to_string());
        let mut given = toml::Table::try_from(&self.link).map_err(unfit)?;
        given.extend(toml::Table::try_from(self.method.with_units()?).map_err(unfit)?);
        given.extend(self.duration.map(|s| ("duration".to_owned(), s.into())));
        Ok(given)
    }

    /// Assignments of the flags, except seed and file.
    ///
    /// # Errors
    /// [`ConfigError`] for an assignment without `=`.
    pub(crate) fn assignments(&self) -> Result<Vec<FieldAssignment>, ConfigError> {
        let mut given = self.flag_table()?;
        let device = self.method.operator_device()?;
        let handle = match self.method.operator.as_deref() {
            Some("pointer" | "evdev") => Some("pointer"),
            Some(_) => Some("phantom"),
            None => device.as_ref().map(|_| "pointer"),
        };
        given.extend(handle.map(|handle| ("operator.handle".to_owned(), handle.into())));
        given.extend(device.map(|device| ("operator.device".to_owned(), device.into())));
        let by_flags = given.into_iter().map(|(field, value)| FieldAssignment {
            field,
            value,
            by_set: false,
        });
        let mut all: Vec<FieldAssignment> = by_flags.collect();
        for text in &self.set {
            let Some((path, value)) = text.split_once('=') else {
                return Err(ConfigError::Assignment { text: text.clone() });
            };
            all.push(FieldAssignment {
                field: keys::current_path(path.trim()),
                value: field::value(value.trim()),
                by_set: true,
            });
        }
        Ok(all)
    }
}

impl LinkArgs {
    /// Adds the changes of a profile or a recorded network, for the length of the session.
    fn schedule(&self, config: &mut Config) -> Result<(), ConfigError> {
        let base = (config.link.forward, config.link.back);
        if let Some(profile) = &self.profile {
            field::draw_cuts(config, &profile.as_str().into())?;
        }
        let Some(path) = &self.trace else {
            return Ok(());
        };
        let wrong =
            |message: String| ConfigError::Field(format!("--trace {}: {message}", path.display()));
        let text = files::read_text(path)
            .map_err(|error| wrong(format!("{error}; expected a readable text")))?;
        let points =
            trace::parse(&text, base.0, base.1).map_err(|error| wrong(error.to_string()))?;
        // points after the end are dropped
        let changes = points
            .iter()
            .filter(|point| point.at_s <= config.duration_s)
            .map(|point| LinkChange {
                at_s: point.at_s,
                forward: Some(point.forward),
                back: Some(point.back),
            });
        config.link.change = changes.collect();
        Ok(())
    }
}

impl MethodArgs {
    /// Returns these flags with the units in the names of lattice files, as `own.fem:inch`.
    ///
    /// # Errors
    /// [`ConfigError`] for units without such a file.
    fn with_units(&self) -> Result<Self, ConfigError> {
        let Some(units) = self.units else {
            return Ok(self.clone());
        };
        let mut named = self.clone();
        let scenes = [&mut named.tissue, &mut named.twin, &mut named.morph_to];
        for scene in scenes.into_iter().flatten() {
            *scene = units.of_file(scene);
        }
        if (&named.tissue, &named.twin, &named.morph_to)
            == (&self.tissue, &self.twin, &self.morph_to)
        {
            let message = format!(
                "--units {}: expected a --twin or --tissue that is a .fem file without units in its name",
                units.name()
            );
            return Err(ConfigError::Field(message));
        }
        Ok(named)
    }

    /// Sets the operator: a script, a pointer or an input device.
    fn set_operator(&self, config: &mut Config) -> Result<(), ConfigError> {
        let operator = &mut config.operator;
        let was_pointer = operator.handle == HandleKind::Pointer;
        let device = self.operator_device()?;
        if device.is_some() || self.operator.is_some() {
            operator.device = device;
        }
        match self.operator.as_deref() {
            _ if operator.device.is_some() => operator.handle = HandleKind::Pointer,
            Some("pointer") => operator.handle = HandleKind::Pointer,
            Some(_) if was_pointer => operator.handle = HandleKind::default(),
            _ => {}
        }
        Ok(())
    }

    /// Input device of this machine that drives the handle, if any.
    fn operator_device(&self) -> Result<Option<String>, ConfigError> {
        match (self.operator.as_deref(), &self.device) {
            (None | Some("evdev"), Some(device)) => Ok(Some(device.clone())),
            (Some("evdev"), None) => Ok(Some(input::AUTO.into())),
            (Some(who), Some(device)) => Err(ConfigError::Field(format!(
                "--device {device}: the operator is {who}; expected --operator evdev, or no --device"
            ))),
            (_, None) => Ok(None),
        }
    }
}

/// Reads the file of `--config`.
pub(crate) fn read(path: &std::path::Path) -> Result<Config, ConfigError> {
    read_with_fields(path).map(|(config, _)| config)
}

/// Reads a configuration file once, with the paths of the fields that it states.
fn read_with_fields(path: &std::path::Path) -> Result<(Config, Vec<String>), ConfigError> {
    let name = path.display().to_string();
    let text = files::read_text(path).map_err(|error| ConfigError::Parse {
        source_name: format!("--config {name}"),
        message: format!("{error}; expected a readable TOML file"),
    })?;
    let config = Config::parse(&text, &name)?;
    let mut table: toml::Table = toml::from_str(&text).unwrap_or_default();
    keys::rename(&mut table, &keys::WHOLE);
    Ok((config, scene_tool::field_paths(&table)))
}

fn profile_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(
        PROFILES
            .each_ref()
            .map(|one| PossibleValue::new(one.name).help(one.says)),
    )
}

/// Parses a number within a range; the error is the expected range.
pub(super) fn number(text: &str, low: f64, high: f64, expected: &str) -> Result<f64, String> {
    let value = text
        .trim()
        .parse()
        .ok()
        .filter(|value| (low..=high).contains(value));
    value.ok_or_else(|| format!("expected {expected}"))
}

/// Returns a parser as [`number`].
pub(super) fn within(
    low: f64,
    high: f64,
    expected: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| number(text, low, high, expected)
}

/// Parses a seed that fits into the signed integers of a TOML file.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    let value = text.trim().parse::<u64>().ok();
    let value = value.filter(|&value| i64::try_from(value).is_ok());
    value.ok_or_else(|| format!("expected a whole number, 0 to {}", i64::MAX))
}

pub(super) fn duration_s(text: &str) -> Result<f64, String> {
    number(text, 0.01, 86_400.0, "0.01 to 86400 seconds")
}

fn delay_ms(text: &str) -> Result<f64, String> {
    number(text, 0.0, 60_000.0, "0 to 60000 milliseconds")
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0, "a fraction, 0 to 1")
}

/// Parses the absolute path of a device; it does not depend on the folder of the script or configuration.
pub(super) fn device(text: &str) -> Result<String, String> {
    let absolute = text.starts_with('/') || text == input::AUTO;
    let expected = || {
        format!(
            "expected a file such as /dev/input/event5, or {}",
            input::AUTO
        )
    };
    absolute.then(|| text.to_owned()).ok_or_else(expected)
}

fn outage(text: &str) -> Result<String, String> {
    let expected = "two times in seconds, 0.001 to 3600 each, as in 5,0.5";
    let (on, off) = text.split_once(',').ok_or(format!("expected {expected}"))?;
    let seconds = |text| number(text, 0.001, 3600.0, expected);
    Ok(format!("{},{}", seconds(on)?, seconds(off)?))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        session: SessionArgs,
    }

    fn config(arguments: &[&str]) -> Result<Config, ConfigError> {
        let all = ["test"].iter().chain(arguments);
        Only::try_parse_from(all)
            .expect("good flags")
            .session
            .config()
    }

    #[test]
    fn flags_override_the_file_and_set_overrides_flags() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(
            &file,
            "seed = 5\nduration_s = 2.0\n[link.forward]\nloss = 0.5\n",
        )
        .expect("writable");
        let path = file.path().to_str().expect("text");
        let all = [
            "--config",
            path,
            "--seed",
            "6",
            "--rtt-ms",
            "80",
            "--set",
            "duration_s=3",
        ];
        let read = config(&all).expect("good");
        assert_eq!((read.seed, read.duration_s), (6, 3.0));
        assert_eq!(
            (read.link.forward.oneway_ms, read.link.back.oneway_ms),
            (40.0, 40.0)
        );
        assert_eq!(read.link.forward.loss, 0.5);
    }

    #[test]
    fn both_directions_change_and_one_way_delays_differ() {
        let flags = [
            "--oneway-ms-fwd",
            "5",
            "--oneway-ms-back",
            "9",
            "--outage",
            "2,0.25",
        ];
        let link = config(&flags).expect("good").link;
        assert_eq!((link.forward.oneway_ms, link.back.oneway_ms), (5.0, 9.0));
        for one in [link.forward, link.back] {
            assert_eq!(
                one.outage.map(|cut| (cut.on_s, cut.off_s)),
                Some((2.0, 0.25))
            );
        }
    }

    #[test]
    fn flags_override_the_network_profile() {
        let link = config(&["--profile", "5g", "--loss", "0.2"])
            .expect("good")
            .link;
        assert_eq!((link.forward.oneway_ms, link.back.oneway_ms), (7.0, 12.0));
        assert_eq!((link.forward.loss, link.back.loss), (0.2, 0.2));
        let flags = [
            "--profile",
            "jhu-outage",
            "--rtt-ms",
            "100",
            "--set",
            "duration_s=9",
        ];
        let read = config(&flags).expect("good");
        let change = &read.link.change;
        // cut, open, cut, open, cut
        assert!((4..=5).contains(&change.len()), "{change:?}");
        for (index, change) in change.iter().enumerate() {
            let loss = if index % 2 == 0 { 1.0 } else { 0.0 };
            for link in [change.forward, change.back].map(|link| link.expect("both")) {
                assert_eq!((link.loss, link.oneway_ms), (loss, 50.0));
            }
        }
        assert_eq!(config(&flags).map(|again| again.link), Ok(read.link));
    }

    #[test]
    fn recorded_network_overrides_flags() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(&file, "at_s,oneway_ms\n0,5\n1,80\n30,5\n").expect("writable");
        let path = file.path().to_str().expect("text");
        let change = config(&["--trace", path, "--loss", "0.1"])
            .expect("good")
            .link
            .change;
        let delays: Vec<_> = change
            .iter()
            .map(|c| c.forward.map(|l| (l.oneway_ms, l.loss)))
            .collect();
        assert_eq!(
            delays,
            [Some((5.0, 0.1)), Some((80.0, 0.1))],
            "30 s is after the end"
        );
        std::fs::write(&file, "at_s,oneway_ms\n0,fast\n").expect("writable");
        let error = config(&["--trace", path])
            .expect_err("no number")
            .to_string();
        assert!(
            error.contains(path) && error.contains("line 2: oneway_ms is fast"),
            "{error}"
        );
        let error = config(&["--trace", "/nowhere"])
            .expect_err("no file")
            .to_string();
        assert!(error.contains("--trace /nowhere"), "{error}");
    }

    #[test]
    fn wrong_values_are_named_with_valid_ones() {
        for (flag, value, expected) in [
            ("--rtt-ms", "-5", "0 to 120000"),
            ("--loss", "1.5", "0 to 1"),
            ("--loss", "NaN", "0 to 1"),
            ("--outage", "3", "5,0.5"),
            (
                "--mode",
                "sideways",
                "direct, wave, tdpa, wave-tdpa, tank, pspm, iss, mmt, auto",
            ),
            ("--profile", "moon", "jhu-outage"),
            ("--codec", "gzip", "deadband"),
            ("--method", "voxels", "idms"),
            ("--duration", "0", "0.01"),
            ("--seed", "9223372036854775808", "0 to 9223372036854775807"),
            ("--seed", "-1", "0 to"),
        ] {
            let error = Only::try_parse_from(["test", flag, value])
                .err()
                .expect(flag)
                .to_string();
            for part in [flag, value, expected] {
                assert!(error.contains(part), "{part} is not in: {error}");
            }
        }
    }

    #[test]
    fn help_defaults_match_the_configuration() {
        let help = Only::command()
            .render_long_help()
            .to_string()
            .replace(['\n', ' '], "");
        let config = Config::default();
        let link = &config.link.forward;
        assert_eq!(config.link.forward, config.link.back);
        for (text, value) in [
            (
                "Roundtripinmilliseconds,halfineachdirection",
                2.0 * link.oneway_ms,
            ),
            ("Delayfrommastertoslaveinmilliseconds", link.oneway_ms),
            ("Halfwidthofthejitterinmilliseconds", link.jitter_ms),
            ("Fractionofpacketslost,0to1", link.loss),
            ("above1,Gilbert-Elliott", link.burst),
            ("Lengthofthesessioninseconds", config.duration_s),
            ("WaveimpedancebinNs/m", config.coupling.impedance_nspm),
            ("Seedofeverythingrandom", config.seed as f64),
        ] {
            assert!(
                help.contains(&format!("{text}[default:{value}]")),
                "{text} {value}"
            );
        }
        for (name, value) in [("free", &config.tissue), ("scenefile", &config.twin)] {
            assert!(
                help.contains(&format!("{name}[default:{value}]"))
                    || help.contains(&format!("`{name}`[default:{value}]")),
                "{value}"
            );
        }
    }
}
