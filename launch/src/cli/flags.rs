//! The flags that describe a session, and how they change a configuration.
//!
//! Order of precedence: defaults, the file, the script, the other flags, `--set`. Source: ours.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use palpate_master::device::HandleKind;
use palpate_transport::codec::CodecKind;
use palpate_transport::coupling::Mode;
use palpate_transport::link::profile::{self, PROFILES, Profile};
use palpate_transport::link::{LinkParams, Outage, trace};

use palpate_console::rehearsal::script;
use palpate_session::config::{Config, ConfigError, LinkChange};
use palpate_session::input;
use palpate_study::trial::field;
use palpate_study::trial::given::Assigned;

const LINK: &str = "Network, both ways unless said otherwise";
const METHOD: &str = "Coupling, tissue and operator";

/// Everything that says what a session is.
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

/// The network between the sides.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = LINK)]
pub struct LinkArgs {
    /// A network by name; the other flags of the network win over it
    #[arg(long, value_name = "NAME", value_parser = profile_parser())]
    pub profile: Option<&'static Profile>,
    /// A recorded network: a file of lines `at_s,oneway_ms,loss` under such a first line, see the
    /// columns that an error names; what it does not say is as the flags have it
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Round trip in milliseconds, half each way [default: 100]
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = round_trip_ms,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = burst)]
    pub burst: Option<f64>,
    /// Fraction of packets duplicated, 0 to 1 [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = fraction)]
    pub dup: Option<f64>,
    /// Fraction of packets that overtake the one before, 0 to 1 [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = fraction)]
    pub reorder: Option<f64>,
    /// Rate limit in kbit/s [default: none]
    #[arg(long, value_name = "KBPS", allow_negative_numbers = true, value_parser = rate_kbps)]
    pub rate_kbps: Option<f64>,
    /// The link works for the first and is cut for the second number of seconds, again and again
    /// [default: never cut]
    #[arg(long, value_name = "ON_S,OFF_S", allow_hyphen_values = true, value_parser = outage)]
    pub outage: Option<Outage>,
}

/// How the sides are coupled, and what they touch.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = METHOD)]
pub struct MethodArgs {
    /// How the sides are coupled; all but direct and iss are passive [default: auto, which relays
    /// the remote force while the round trip is a few ms and the twin was not taught, and else is mmt]
    #[arg(long, value_name = "MODE", value_parser = mode_parser())]
    pub mode: Option<Mode>,
    /// Wave impedance b in N s/m [default: 10]
    #[arg(long, value_name = "B", allow_negative_numbers = true, value_parser = impedance)]
    pub impedance: Option<f64>,
    /// Which frames are sent: all, or those that make a difference to be felt [default: off]
    #[arg(long, value_name = "CODEC", value_parser = codec_parser())]
    pub codec: Option<CodecKind>,
    /// What the remote side touches: a built-in scene, a scene file, `wall:K` with a stiffness in
    /// N/m, or `free` [default: layered-lump]
    #[arg(long, value_name = "SCENE")]
    pub tissue: Option<String>,
    /// What the master believes: a built-in scene or a scene file [default: layered]
    #[arg(long, value_name = "SCENE")]
    pub twin: Option<String>,
    /// The scene that the twin goes over to while the session runs, by steps that a hand does not feel,
    /// such as what `palpate identify` found; modes without a twin leave it out [default: none]
    #[arg(long, value_name = "SCENE")]
    pub towards: Option<String>,
    /// Tissue model of the twin: `fem` for a scene with layers, `idms` for one of springs, `implicit` for
    /// one of a mesh file or with `method = "implicit"`, in virtual time; refused if the twin's scene is
    /// of another, and without `--twin` it chooses one [default: fem]
    #[arg(long, value_name = "METHOD", value_parser = ["fem", "idms", "implicit"])]
    pub method: Option<String>,
    /// Script that the simulated operator follows, with its scene, tool and post-conditions: a built-in one
    /// (biopsy), or a .toml or .json file [default: a palpation of nine sites]
    #[arg(long, value_name = "SCRIPT")]
    pub script: Option<String>,
    /// How the simulated hand holds the handle [default: firm]
    #[arg(long, value_name = "GRIP", value_parser = ["firm", "light", "none"])]
    pub grip: Option<String>,
    /// Who operates: a simulated hand by its script, a person with a mouse or a finger on the console's
    /// page, or one with a gamepad or a 3-D mouse of this machine [default: script]
    #[arg(long, value_name = "WHO", value_parser = ["script", "pointer", "evdev"])]
    pub operator: Option<String>,
    /// The device of `--operator evdev`, such as /dev/input/event5; `palpate doctor` lists them
    /// [default: the first that can lead a handle]
    #[arg(long, value_name = "FILE", value_parser = device)]
    pub device: Option<String>,
}

impl SessionArgs {
    /// The configuration that file and flags describe, checked.
    ///
    /// # Errors
    /// [`ConfigError`] naming the file or flag, the field, its value, and what would be right.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.config {
            Some(path) => read(path)?,
            None => Config::default(),
        };
        if let Some(name) = &self.method.script {
            script::load(name)?.apply(&mut config);
        }
        config.seed = self.seed.unwrap_or(config.seed);
        config.duration_s = self.duration.unwrap_or(config.duration_s);
        self.link.apply(&mut config);
        self.method.apply(&mut config)?;
        for assignment in &self.set {
            config.set(assignment)?;
        }
        self.link.schedule(&mut config)?;
        config.validate()?;
        Ok(config)
    }
}

impl SessionArgs {
    /// What the flags set, by the names of [`field`], the seed and the file aside.
    ///
    /// # Errors
    /// [`ConfigError`] for an assignment without `=`.
    pub(crate) fn assignments(&self) -> Result<Vec<Assigned>, ConfigError> {
        let mut all = Vec::new();
        let mut add = |name: &str, value: Option<toml::Value>| {
            all.extend(value.map(|value| Assigned {
                field: name.to_owned(),
                value,
                by_set: false,
            }));
        };
        let number = |value: Option<f64>| value.map(toml::Value::Float);
        let word = |value: Option<&str>| value.map(|word| toml::Value::String(word.into()));
        let (link, method) = (&self.link, &self.method);
        add("profile", word(link.profile.map(|profile| profile.name)));
        add("duration", number(self.duration));
        for (name, value) in [
            ("rtt_ms", link.rtt_ms),
            ("oneway_ms_fwd", link.oneway_ms_fwd),
            ("oneway_ms_back", link.oneway_ms_back),
            ("jitter_ms", link.jitter_ms),
            ("loss", link.loss),
            ("burst", link.burst),
            ("dup", link.dup),
            ("reorder", link.reorder),
            ("rate_kbps", link.rate_kbps),
            ("impedance", method.impedance),
        ] {
            add(name, number(value));
        }
        let outage = link.outage.map(|cut| format!("{},{}", cut.on_s, cut.off_s));
        add("outage", word(outage.as_deref()));
        add("mode", word(method.mode.map(Mode::name)));
        add("codec", word(method.codec.map(CodecKind::name)));
        add("tissue", word(method.tissue.as_deref()));
        add("twin", word(method.twin.as_deref()));
        add("towards", word(method.towards.as_deref()));
        add("method", word(method.method.as_deref()));
        add("grip", word(method.grip.as_deref()));
        add("script", word(method.script.as_deref()));
        let device = method.led_by()?;
        let handle = method.operator.as_deref().map(|who| match who {
            "pointer" | "evdev" => "pointer",
            _ => "phantom",
        });
        add(
            "operator.handle",
            word(handle.or(device.as_ref().map(|_| "pointer"))),
        );
        add("operator.device", word(device.as_deref()));
        for text in &self.set {
            let Some((path, value)) = text.split_once('=') else {
                return Err(ConfigError::Assignment { text: text.clone() });
            };
            all.push(Assigned {
                field: path.trim().to_owned(),
                value: field::value(value.trim()),
                by_set: true,
            });
        }
        Ok(all)
    }
}

impl LinkArgs {
    fn apply(&self, config: &mut Config) {
        if let Some(profile) = self.profile {
            field::use_profile(config, profile);
        }
        let half = self.rtt_ms.map(|rtt_ms| rtt_ms / 2.0);
        let (forward, back) = (&mut config.link.forward, &mut config.link.back);
        forward.oneway_ms = self.oneway_ms_fwd.or(half).unwrap_or(forward.oneway_ms);
        back.oneway_ms = self.oneway_ms_back.or(half).unwrap_or(back.oneway_ms);
        for link in [forward, back] {
            self.apply_one(link);
        }
    }

    /// The changes that a profile or a recorded network brings, for the length of the session.
    fn schedule(&self, config: &mut Config) -> Result<(), ConfigError> {
        let base = (config.link.forward, config.link.back);
        if let Some(profile) = self.profile {
            field::draw_cuts(config, &profile.name.into())?;
        }
        let Some(path) = &self.trace else {
            return Ok(());
        };
        let name = path.display();
        let wrong = |message: String| ConfigError::Field { message };
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("--trace {name}: {error}; expected a readable text")))?;
        let points = trace::parse(&text, base.0, base.1)
            .map_err(|error| wrong(format!("--trace {name}: {error}")))?;
        // what is after the end is not played
        let played = points
            .iter()
            .filter(|point| point.at_s <= config.duration_s)
            .map(|point| LinkChange {
                at_s: point.at_s,
                forward: Some(point.forward),
                back: Some(point.back),
            });
        config.link.change = played.collect();
        Ok(())
    }

    fn apply_one(&self, link: &mut LinkParams) {
        link.jitter_ms = self.jitter_ms.unwrap_or(link.jitter_ms);
        link.loss = self.loss.unwrap_or(link.loss);
        link.burst = self.burst.unwrap_or(link.burst);
        link.duplicate = self.dup.unwrap_or(link.duplicate);
        link.reorder = self.reorder.unwrap_or(link.reorder);
        link.rate_kbps = self.rate_kbps.or(link.rate_kbps);
        link.outage = self.outage.or(link.outage);
    }
}

impl MethodArgs {
    fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        let coupling = &mut config.coupling;
        coupling.mode = self.mode.unwrap_or(coupling.mode);
        coupling.impedance_nspm = self.impedance.unwrap_or(coupling.impedance_nspm);
        config.codec.kind = self.codec.unwrap_or(config.codec.kind);
        config.tissue = self.tissue.clone().unwrap_or_else(|| config.tissue.clone());
        config.twin = self.twin.clone().unwrap_or_else(|| config.twin.clone());
        config.towards = self.towards.clone().or(config.towards.take());
        if let Some(method) = &self.method {
            field::use_method(config, method, self.twin.is_some())?;
        }
        if let Some(grip) = &self.grip {
            config.set(&format!("operator.grip={grip}"))?;
        }
        let pointed = config.operator.handle == HandleKind::Pointer;
        let device = self.led_by()?;
        if device.is_some() || self.operator.is_some() {
            config.operator.device = device;
        }
        match self.operator.as_deref() {
            _ if config.operator.device.is_some() => config.operator.handle = HandleKind::Pointer,
            Some("pointer") => config.operator.handle = HandleKind::Pointer,
            Some(_) if pointed => config.operator.handle = HandleKind::default(),
            _ => {}
        }
        Ok(())
    }
}

impl MethodArgs {
    /// The device of this machine that leads the handle, if one does.
    fn led_by(&self) -> Result<Option<String>, ConfigError> {
        match (self.operator.as_deref(), &self.device) {
            (None | Some("evdev"), Some(device)) => Ok(Some(device.clone())),
            (Some("evdev"), None) => Ok(Some(input::AUTO.into())),
            (Some(who), Some(device)) => Err(ConfigError::Field {
                message: format!(
                    "--device {device}: the operator is {who}; expected --operator evdev, or no --device"
                ),
            }),
            (_, None) => Ok(None),
        }
    }
}

pub(super) fn read(path: &std::path::Path) -> Result<Config, ConfigError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Parse {
        source_name: format!("--config {name}"),
        message: format!("{error}; expected a readable TOML file"),
    })?;
    Config::parse(&text, &name)
}

fn mode_parser() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::name))
        .map(|name| Mode::named(&name).unwrap_or_default())
}

fn profile_parser() -> impl TypedValueParser<Value = &'static Profile> {
    PossibleValuesParser::new(
        PROFILES
            .each_ref()
            .map(|one| PossibleValue::new(one.name).help(one.says)),
    )
    .map(|name| profile::profile(&name).unwrap_or(&PROFILES[0]))
}

fn codec_parser() -> impl TypedValueParser<Value = CodecKind> {
    const KINDS: [CodecKind; 2] = [CodecKind::Off, CodecKind::Deadband];
    PossibleValuesParser::new(KINDS.map(CodecKind::name)).map(|name| {
        KINDS
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or_default()
    })
}

/// A number within a range, or what would be right.
pub(super) fn number(text: &str, low: f64, high: f64, expected: &str) -> Result<f64, String> {
    let value = text
        .trim()
        .parse()
        .ok()
        .filter(|value| (low..=high).contains(value));
    value.ok_or_else(|| format!("expected {expected}"))
}

/// A seed is written to a TOML file, whose integers are signed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    let value = text.trim().parse::<u64>().ok();
    let value = value.filter(|&value| i64::try_from(value).is_ok());
    value.ok_or_else(|| format!("expected a whole number, 0 to {}", i64::MAX))
}

pub(super) fn duration_s(text: &str) -> Result<f64, String> {
    number(text, 0.01, 86_400.0, "0.01 to 86400 seconds")
}

fn round_trip_ms(text: &str) -> Result<f64, String> {
    number(text, 0.0, 120_000.0, "0 to 120000 milliseconds")
}

fn delay_ms(text: &str) -> Result<f64, String> {
    number(text, 0.0, 60_000.0, "0 to 60000 milliseconds")
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0, "a fraction, 0 to 1")
}

fn burst(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1e6, "1 to 1000000 packets")
}

fn rate_kbps(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1e8, "1 to 100000000 kbit/s")
}

fn impedance(text: &str) -> Result<f64, String> {
    number(text, 0.1, 1000.0, "0.1 to 1000 N s/m")
}

/// A file of a device; the folder of the script or of the configuration does not matter.
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

fn outage(text: &str) -> Result<Outage, String> {
    let expected = "two times in seconds, 0.001 to 3600 each, as in 5,0.5";
    let (on, off) = text.split_once(',').ok_or(format!("expected {expected}"))?;
    Ok(Outage {
        on_s: number(on, 0.001, 3600.0, expected)?,
        off_s: number(off, 0.001, 3600.0, expected)?,
    })
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
    fn flags_win_over_the_file_and_set_over_flags() {
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
                one.outage,
                Some(Outage {
                    on_s: 2.0,
                    off_s: 0.25
                })
            );
        }
    }

    #[test]
    fn a_profile_gives_the_network_and_flags_win_over_it() {
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
        // cut, works, cut, works, cut
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
    fn a_recorded_network_is_played_over_what_the_flags_say() {
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
    fn wrong_values_are_named_with_what_would_be_right() {
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
    fn the_defaults_in_the_help_are_those_of_the_configuration() {
        let help = Only::command()
            .render_long_help()
            .to_string()
            .replace(['\n', ' '], "");
        let config = Config::default();
        let link = &config.link.forward;
        assert_eq!(config.link.forward, config.link.back);
        for (text, value) in [
            ("Roundtripinmilliseconds,halfeachway", 2.0 * link.oneway_ms),
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
