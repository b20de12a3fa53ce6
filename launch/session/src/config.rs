//! One typed, checked configuration for every command.
//!
//! A file gives any field, flags win over the file, and `--set path.to.field=value` reaches
//! everything else. What runs is written out whole, so that a run can be repeated from its folder.

pub mod after;

use palpate_master::MasterParams;
use palpate_master::device::OperatorParams;
use palpate_master::device::script::ScriptParams;
use palpate_slave::SlaveParams;
use palpate_slave::robot::RobotParams;
use palpate_transport::codec::CodecParams;
use palpate_transport::coupling::switch::Switch;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::link::LinkParams;
use serde::{Deserialize, Serialize};

use crate::netlab::BackendChoice;
use after::After;

/// The whole configuration of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the session; part of the default output folder.
    pub name: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Length of the session \[s\].
    pub duration_s: f64,
    /// What the remote side really touches: a built-in scene, a scene file, `wall:K` with a
    /// stiffness in N/m, or `free`.
    pub tissue: String,
    /// What the master believes: a built-in scene or a scene file.
    pub twin: String,
    /// The scene that the twin goes over to while the session runs, such as one of `palpate identify`.
    pub towards: Option<String>,
    /// Coupling method and its parameters.
    pub coupling: CouplingParams,
    /// Which frames are sent.
    pub codec: CodecParams,
    /// The network between the sides.
    pub link: LinkConfig,
    /// Handle, hand and script.
    pub operator: OperatorParams,
    /// The robot.
    pub robot: RobotParams,
    /// The operator's side.
    pub master: MasterParams,
    /// The remote side.
    pub slave: SlaveParams,
    /// The slave's clock against the master's, in virtual time.
    pub clock: ClockConfig,
    /// Real-time behaviour of the live processes.
    pub realtime: RealtimeConfig,
    /// How the live processes reach each other.
    pub network: NetworkConfig,
    /// What must hold after the operator's script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<After>,
}

/// The network between the sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// From master to slave.
    pub forward: LinkParams,
    /// From slave to master.
    pub back: LinkParams,
    /// Changes while the session runs, in order of time.
    pub change: Vec<LinkChange>,
}

/// A change of the network at a moment of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// When \[s\] after the start.
    pub at_s: f64,
    /// New link from master to slave, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<LinkParams>,
    /// New link from slave to master, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<LinkParams>,
}

/// The slave's clock against the master's, in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClockConfig {
    /// Offset \[ms\].
    pub offset_ms: f64,
    /// Rate error \[ppm\].
    pub skew_ppm: f64,
}

/// Real-time behaviour of the live processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RealtimeConfig {
    /// SCHED_FIFO priority of the servo thread, 1 to 99; 0 asks for none.
    pub servo_priority: u8,
    /// Length of the spin before a deadline \[us\].
    pub spin_us: f64,
    /// Whether to lock memory.
    pub lock_memory: bool,
    /// How late a tick of the master may wake, over the period, and still step the twin; a later one
    /// asks it what is felt now. 0 steps always.
    pub mask_late: f64,
    /// Share of the master's ticks that virtual time calls that late, by the seed; 0 to 0.5.
    pub masked_share: f64,
}

impl RealtimeConfig {
    /// SCHED_FIFO priority of the threads that carry frames: just below the servo's; 0 asks for none.
    #[must_use]
    pub fn bus_priority(&self) -> u8 {
        self.servo_priority.saturating_sub(1)
    }
}

impl Default for RealtimeConfig {
    fn default() -> Self {
        Self {
            servo_priority: 80,
            spin_us: 50.0,
            lock_memory: true,
            mask_late: 0.4,
            masked_share: 0.0,
        }
    }
}

/// How the live processes reach each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// Which network lab to build.
    pub backend: BackendChoice,
    /// Port of the haptic stream (UDP); the reliable link takes the next one (TCP).
    pub port: u16,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            backend: BackendChoice::Auto,
            port: 7447,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let mut config = Self {
            name: "palpation".into(),
            seed: 1,
            duration_s: 20.0,
            tissue: "layered-lump".into(),
            twin: "layered".into(),
            towards: None,
            coupling: CouplingParams::default(),
            codec: CodecParams::default(),
            link: LinkConfig::default(),
            operator: OperatorParams::default(),
            robot: RobotParams::default(),
            master: MasterParams::default(),
            slave: SlaveParams::default(),
            clock: ClockConfig::default(),
            realtime: RealtimeConfig::default(),
            network: NetworkConfig::default(),
            after: Vec::new(),
        };
        for link in [&mut config.link.forward, &mut config.link.back] {
            link.oneway_ms = 50.0;
            link.jitter_ms = 10.0;
            link.loss = 0.02;
        }
        config
    }
}

/// A configuration that cannot be used: which source, what is wrong, what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not TOML, or a field is unknown or of the wrong type.
    #[error("{source_name}: {message}")]
    Parse {
        /// File or flag.
        source_name: String,
        /// What the parser says, with line and column.
        message: String,
    },
    /// A `--set` path leads nowhere.
    #[error("--set {path}: no field `{missing}`; there are: {known}")]
    Path {
        /// The path given.
        path: String,
        /// Its first part that does not exist.
        missing: String,
        /// Fields at that place.
        known: String,
    },
    /// A `--set` leads into a table that is not set and cannot be set in part.
    #[error(
        "--set {path}: `{table}` is not set, and one field does not make it whole ({message}); write \
         all of it at once, as in --set '{table}={{on_s=5,off_s=0.5}}' for an outage"
    )]
    Unset {
        /// The path given.
        path: String,
        /// The table on it that is not set.
        table: String,
        /// What is missing.
        message: String,
    },
    /// A `--set` is not `path=value`.
    #[error("--set {text}: expected path.to.field=value, for example coupling.mode=wave")]
    Assignment {
        /// What was given.
        text: String,
    },
    /// A field is out of its range.
    #[error("{message}")]
    Field {
        /// Field, value, and what would be right.
        message: String,
    },
}

impl Config {
    /// From the text of a file named `source_name`.
    ///
    /// # Errors
    /// [`ConfigError::Parse`] names line, column and field.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Parse {
            source_name: source_name.into(),
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// The whole effective configuration as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // every field is a TOML type, so this cannot fail; if a field were added that is not, the
        // round-trip test below would say so
        toml::to_string(self).unwrap_or_default()
    }

    /// Apply one `path.to.field=value`.
    ///
    /// # Errors
    /// [`ConfigError`] if the path does not exist or the value has the wrong type.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let Some((path, value)) = assignment.split_once('=') else {
            return Err(ConfigError::Assignment {
                text: assignment.into(),
            });
        };
        let (path, value) = (path.trim(), value.trim());
        let parse = |message: String| ConfigError::Parse {
            source_name: format!("--set {assignment}"),
            message,
        };
        let mut tree = toml::Table::try_from(&*self).map_err(|e| parse(e.to_string()))?;
        let grown = place(&mut tree, path, value)?;
        let text = toml::to_string(&tree).map_err(|e| parse(e.to_string()))?;
        let read: Result<Self, toml::de::Error> = toml::from_str(&text);
        *self = read.map_err(|error| match grown {
            // what is optional is not in the tree until it is set; a field that does not exist is
            // told from it only by what the parser says
            Some(grown) if error.message().starts_with("missing field") => ConfigError::Unset {
                path: path.into(),
                table: grown.path,
                message: error.message().into(),
            },
            Some(grown)
                if error
                    .message()
                    .contains(&format!("unknown field `{}`", grown.name)) =>
            {
                ConfigError::Path {
                    path: path.into(),
                    missing: grown.name,
                    known: grown.known,
                }
            }
            _ => parse(error.message().into()),
        })?;
        Ok(())
    }

    /// Check every field.
    ///
    /// # Errors
    /// [`ConfigError::Field`] names field, value, and what would be right.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let field = |message: String| ConfigError::Field { message };
        let named = |name: &str, error: &dyn std::fmt::Display| field(format!("{name}{error}"));
        if !(0.01..=86_400.0).contains(&self.duration_s) {
            let message = format!(
                "duration_s is {}; expected 0.01 to 86400 s",
                self.duration_s
            );
            return Err(field(message));
        }
        self.coupling
            .validate()
            .map_err(|error| named("", &error))?;
        let mut links = vec![
            ("link.forward: ".to_owned(), &self.link.forward),
            ("link.back: ".to_owned(), &self.link.back),
        ];
        let mut before_s = 0.0;
        for (index, change) in self.link.change.iter().enumerate() {
            if change.at_s < before_s {
                let message = format!(
                    "link.change[{index}].at_s is {}; expected {before_s} or later, as the changes \
                     are made in their order",
                    change.at_s
                );
                return Err(field(message));
            }
            before_s = change.at_s;
            if !(0.0..=self.duration_s).contains(&change.at_s) {
                let expected = format!("0 to duration_s ({})", self.duration_s);
                let message = format!(
                    "link.change[{index}].at_s is {}; expected {expected}",
                    change.at_s
                );
                return Err(field(message));
            }
            for (name, link) in [("forward", &change.forward), ("back", &change.back)] {
                links.extend(
                    link.iter()
                        .map(|l| (format!("link.change[{index}].{name}: "), l)),
                );
            }
        }
        for (name, link) in links {
            link.validate().map_err(|error| named(&name, &error))?;
        }
        self.operator
            .validate()
            .map_err(|error| named("operator: ", &error))?;
        self.robot
            .validate()
            .map_err(|error| named("robot: ", &error))?;
        self.master
            .guard
            .validate()
            .map_err(|error| named("", &error))?;
        self.master
            .predict
            .validate()
            .map_err(|error| named("", &error))?;
        self.slave
            .guard
            .validate()
            .map_err(|error| named("", &error))?;
        self.codec.validate().map_err(|error| named("", &error))?;
        self.validate_after().map_err(field)?;
        self.validate_silence().map_err(field)?;
        self.validate_judged().map_err(field)?;
        self.validate_rest().map_err(field)
    }

    /// Post-conditions are of a script that comes to its end.
    fn validate_after(&self) -> Result<(), String> {
        let ScriptParams::Procedure(procedure) = &self.operator.script else {
            return match self.after.first() {
                None => Ok(()),
                Some(one) => Err(format!(
                    "after 1, {}: there are no steps; expected operator.script.kind = \"procedure\", as \
                     --script brings it",
                    one.name()
                )),
            };
        };
        after::validate(&self.after, procedure)?;
        let length_s = procedure.length_s();
        if !self.after.is_empty() && self.duration_s < length_s {
            return Err(format!(
                "duration_s is {}; expected {length_s:.2} s or more, the length of the script, as there are \
                 post-conditions",
                self.duration_s
            ));
        }
        Ok(())
    }

    /// A codec keeps silent on purpose: never for so long that a side takes it for an outage.
    fn validate_silence(&self) -> Result<(), String> {
        let keep_alive_s = self.codec.keep_alive_s;
        for (name, limit_s) in self.silence_limits_s() {
            if self.codec.is_on() && keep_alive_s >= limit_s {
                return Err(format!(
                    "codec.keep_alive_s is {keep_alive_s}; expected less than {name} ({limit_s} s), which \
                     would take the codec's silence for an outage, and less than half of it to outlive \
                     the loss of a frame"
                ));
            }
        }
        Ok(())
    }

    /// What a codec judges of the frames that come back is the force that the first mode gives the hand or the twin:
    /// another mode's may be another.
    fn validate_judged(&self) -> Result<(), String> {
        if self.codec.is_on() && !self.coupling.switch.is_empty() {
            return Err(format!(
                "codec.kind is {} and coupling.switch has switches ({}); expected codec.kind = \"off\" or no \
                 coupling.switch, as a codec judges what the first mode lets feel",
                self.codec.kind.name(),
                self.modes()
            ));
        }
        Ok(())
    }

    /// How long a frame may fail to come before a side takes it for an outage \[s\], by the field that says so.
    #[must_use]
    pub fn silence_limits_s(&self) -> [(&'static str, f64); 2] {
        [
            ("master.guard.stale_s", self.master.guard.stale_s),
            ("slave.guard.watchdog_s", self.slave.guard.watchdog_s),
        ]
    }

    /// The coupling as the ticks run it: while a codec is on, a sample is held for as long as its
    /// silence means that nothing changed.
    #[must_use]
    pub fn coupling_in_use(&self) -> CouplingParams {
        let mut coupling = self.coupling;
        if self.codec.is_on() {
            coupling.hold_s = coupling.hold_s.max(self.codec.horizon().s());
        }
        coupling
    }

    /// What couples the sides, in words: the mode that runs, or the modes of a session that switches, in their order.
    #[must_use]
    pub fn modes(&self) -> String {
        self.modes_by(|mode| mode.resolved().name().to_owned())
    }

    fn modes_by(&self, name: impl Fn(Mode) -> String) -> String {
        let switches: Vec<Switch> = self.coupling.switch.into();
        let later = switches.into_iter().map(|switch| switch.mode);
        let all = core::iter::once(self.coupling.mode).chain(later);
        all.map(name).collect::<Vec<_>>().join(", then ")
    }

    /// The same as they were asked for: with what decides by itself, what it decided.
    #[must_use]
    pub fn modes_said(&self) -> String {
        self.modes_by(|mode| match mode {
            Mode::Auto => format!("auto ({})", mode.resolved().name()),
            _ => mode.name().to_owned(),
        })
    }

    fn validate_rest(&self) -> Result<(), String> {
        let positive = |values: &[f64]| values.iter().all(|value| *value > 0.0 && *value <= 1e5);
        if !positive(&self.slave.stiffness_npm) {
            let value = self.slave.stiffness_npm;
            return Err(format!(
                "slave.stiffness_npm is {value:?}; expected four numbers above 0, at most 1e5"
            ));
        }
        if !positive(&self.slave.damping_nspm) {
            let value = self.slave.damping_nspm;
            return Err(format!(
                "slave.damping_nspm is {value:?}; expected four numbers above 0, at most 1e5"
            ));
        }
        if !(-1000.0..=1000.0).contains(&self.clock.skew_ppm) {
            let value = self.clock.skew_ppm;
            return Err(format!("clock.skew_ppm is {value}; expected -1000 to 1000"));
        }
        if !self.clock.offset_ms.is_finite() || self.clock.offset_ms.abs() > 1e9 {
            let value = self.clock.offset_ms;
            return Err(format!(
                "clock.offset_ms is {value}; expected at most 1e9 either way"
            ));
        }
        if self.realtime.servo_priority > 99 {
            let value = self.realtime.servo_priority;
            return Err(format!(
                "realtime.servo_priority is {value}; expected 0 to 99"
            ));
        }
        if !(0.0..=1.0).contains(&self.realtime.mask_late) {
            let value = self.realtime.mask_late;
            return Err(format!("realtime.mask_late is {value}; expected 0 to 1"));
        }
        if !(0.0..=0.5).contains(&self.realtime.masked_share) {
            let value = self.realtime.masked_share;
            return Err(format!(
                "realtime.masked_share is {value}; expected 0 to 0.5"
            ));
        }
        if !(0.0..=500.0).contains(&self.realtime.spin_us) {
            let value = self.realtime.spin_us;
            return Err(format!("realtime.spin_us is {value}; expected 0 to 500 us"));
        }
        if !(1024..=65534).contains(&self.network.port) {
            return Err(format!(
                "network.port is {}; expected 1024 to 65534",
                self.network.port
            ));
        }
        Ok(())
    }
}

/// A table that a path made, because nothing stood there.
struct Grown {
    /// Path up to it.
    path: String,
    /// Its name.
    name: String,
    /// What stands beside it.
    known: String,
}

/// Put `value` at `path` in a tree that has every field but the optional ones that are not set: those
/// may be new leaves, or new tables, of which the first is given back.
fn place(tree: &mut toml::Table, path: &str, value: &str) -> Result<Option<Grown>, ConfigError> {
    let parts: Vec<&str> = path.split('.').collect();
    let known = |table: &toml::Table| table.keys().cloned().collect::<Vec<_>>().join(", ");
    let missing = |table: &toml::Table, part: &str| ConfigError::Path {
        path: path.into(),
        missing: part.into(),
        known: known(table),
    };
    let mut table = tree;
    let mut grown = None;
    let (leaf, parents) = parts.split_last().unwrap_or((&"", &[]));
    for (depth, part) in parents.iter().enumerate() {
        // nothing optional stands at the root
        if depth > 0 && !part.is_empty() && !table.contains_key(*part) {
            grown = grown.or(Some(Grown {
                path: parts[..=depth].join("."),
                name: (*part).into(),
                known: known(table),
            }));
            table.insert((*part).into(), toml::Value::Table(toml::Table::new()));
        }
        let before = table.clone();
        table = match table.get_mut(*part) {
            Some(toml::Value::Table(inner)) => inner,
            _ => return Err(missing(&before, part)),
        };
    }
    if leaf.is_empty() || (parents.is_empty() && !table.contains_key(*leaf)) {
        return Err(missing(table, leaf));
    }
    // a value that is not TOML by itself is taken as a bare word: coupling.mode=wave
    let mut parsed = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut read| read.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.into()));
    if let (Some(toml::Value::Float(_)), toml::Value::Integer(whole)) = (table.get(*leaf), &parsed)
    {
        parsed = toml::Value::Float(*whole as f64);
    }
    // another kind has other fields, which begin at their defaults
    if *leaf == "kind" && table.get("kind").is_some_and(|kind| *kind != parsed) {
        table.clear();
    }
    table.insert((*leaf).into(), parsed);
    Ok(grown)
}

#[cfg(test)]
mod tests;
