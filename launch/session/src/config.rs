//! One typed, checked configuration for every command.
//!
//! A file sets any field, flags override the file, and `--set path.to.field=value` reaches
//! everything else. The effective configuration is written out whole, so a run can be repeated from its
//! folder.

pub mod keys;
pub mod postcondition;
mod virtual_time;

use std::fmt::Display;

use palpate_master::MasterParams;
use palpate_master::device::OperatorParams;
use palpate_master::device::script::ScriptParams;
use palpate_slave::SlaveParams;
use palpate_slave::robot::RobotParams;
use palpate_transport::codec::CodecParams;
use palpate_transport::coupling::mode_switch::ModeSwitch;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::link::LinkParams;
use palpate_transport::params::RangeChecked as _;
use palpate_transport::{Axes, FieldError, params};
use serde::{Deserialize, Serialize};

use crate::netlab::Backend;
use postcondition::Postcondition;
pub use virtual_time::{ClockConfig, LiarConfig};

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
    /// Tissue that the remote side touches: a built-in scene, a scene file, `wall:K` with a
    /// stiffness in N/m, or `free`.
    pub tissue: String,
    /// Height of that tissue over its scene's place \[m\]; the twin does not know it.
    pub tissue_height_m: f64,
    /// Scene of the master's twin: a built-in scene or a scene file.
    pub twin: String,
    /// Scene into which the twin is morphed while the session runs, such as one of `palpate identify`.
    pub morph_to: Option<String>,
    /// Coupling method and its parameters.
    pub coupling: CouplingParams,
    /// Selection of the frames that are sent.
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
    /// Peers that forge frames, in virtual time.
    pub liar: LiarConfig,
    /// Real-time behaviour of the live processes.
    pub realtime: RealtimeConfig,
    /// Network of the live processes.
    pub network: NetworkConfig,
    /// Conditions that are checked after the operator's script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Postcondition>,
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

/// A change of the network during the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Time after the start \[s\].
    pub at_s: f64,
    /// New link from master to slave, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<LinkParams>,
    /// New link from slave to master, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<LinkParams>,
}

params! {
    /// Real-time behaviour of the live processes.
    #[derive(Copy)]
    pub struct RealtimeConfig: "realtime." {
        /// SCHED_FIFO priority of the servo thread, 1 to 99; 0 keeps the ordinary class.
        pub servo_priority: u8 = 80 => (0.0..=99.0),
        /// Length of the spin before a deadline \[us\].
        pub spin_us: f64 = 50.0 => (0.0..=500.0, "0 to 500 us"),
        /// True to lock memory.
        pub lock_memory: bool = true,
        /// Latest wake-up of a master tick, as a fraction of the period, that still steps the twin. A later
        /// tick uses the deadline fallback: the force of the unchanged twin. 0 always steps.
        pub fallback_late: f64 = 0.4 => (0.0..=1.0),
        /// Fraction of the master's ticks, drawn by the seed, that virtual time treats as too late; 0 to 0.5.
        pub fallback_share: f64 = 0.0 => (0.0..=0.5),
    }
}

impl RealtimeConfig {
    /// SCHED_FIFO priority of the threads that carry frames, just below the servo's; 0 for none.
    #[must_use]
    pub fn bus_priority(&self) -> u8 {
        self.servo_priority.saturating_sub(1)
    }
}

params! {
    /// Network of the live processes.
    #[derive(Eq)]
    pub struct NetworkConfig: "network." {
        /// Network lab to build.
        pub backend: Backend = Backend::Auto,
        /// Port of the haptic stream (UDP); the reliable link takes the next one (TCP).
        pub port: u16 = 7447 => (1024.0..=65534.0),
    }
}

impl Default for Config {
    fn default() -> Self {
        let mut config = Self {
            name: "palpation".into(),
            seed: 1,
            duration_s: 20.0,
            tissue: "layered-lump".into(),
            tissue_height_m: 0.0,
            twin: "layered".into(),
            morph_to: None,
            coupling: CouplingParams::default(),
            codec: CodecParams::default(),
            link: LinkConfig::default(),
            operator: OperatorParams::default(),
            robot: RobotParams::default(),
            master: MasterParams::default(),
            slave: SlaveParams::default(),
            clock: ClockConfig::default(),
            liar: LiarConfig::default(),
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

/// A configuration that cannot be used: its source, the fault, and the valid values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not TOML, or a field is unknown or of the wrong type.
    #[error("{source_name}: {message}")]
    Parse {
        /// File or flag.
        source_name: String,
        /// Message of the parser, with line and column.
        message: String,
    },
    /// A `--set` path does not exist.
    #[error("--set {path}: no field `{missing}`; there are: {known}")]
    Path {
        /// The path given.
        path: String,
        /// Its first part that does not exist.
        missing: String,
        /// Fields that exist there.
        known: String,
    },
    /// A `--set` sets one field of an optional table that needs more than one.
    #[error(
        "--set {path}: `{table}` is not set, and one field does not make it whole ({message}); write \
         all of it at once, as in --set '{table}={{on_s=5,off_s=0.5}}' for an outage"
    )]
    Unset {
        /// The path given.
        path: String,
        /// The table on it that is not set.
        table: String,
        /// The fields that are missing.
        message: String,
    },
    /// A `--set` is not `path=value`.
    #[error("--set {text}: expected path.to.field=value, for example coupling.mode=wave")]
    Assignment {
        /// The assignment as given.
        text: String,
    },
    /// A field is out of its range: field, value, and the valid values.
    #[error("{0}")]
    Field(String),
}

impl Config {
    /// Reads a configuration from the text of a file named `source_name`.
    ///
    /// # Errors
    /// [`ConfigError::Parse`] names line, column and field.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, ConfigError> {
        keys::read(text, &keys::WHOLE).map_err(|error| ConfigError::Parse {
            source_name: source_name.into(),
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// The whole effective configuration as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // every field is a TOML type, so this cannot fail; the round-trip test below would find a
        // field that is not
        toml::to_string(self).unwrap_or_default()
    }

    /// Applies one `path.to.field=value`.
    ///
    /// # Errors
    /// [`ConfigError`] if the path does not exist or the value has the wrong type.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let Some((path, value)) = assignment.split_once('=') else {
            return Err(ConfigError::Assignment {
                text: assignment.into(),
            });
        };
        let (path, value) = (keys::current_path(path.trim()), value.trim());
        let path = path.as_str();
        let parse = |message: String| ConfigError::Parse {
            source_name: format!("--set {assignment}"),
            message,
        };
        let mut tree = toml::Table::try_from(&*self).map_err(|e| parse(e.to_string()))?;
        let added = insert_value(&mut tree, path, value)?;
        keys::rename(&mut tree, &keys::WHOLE);
        let text = toml::to_string(&tree).map_err(|e| parse(e.to_string()))?;
        let read: Result<Self, toml::de::Error> = toml::from_str(&text);
        *self = read.map_err(|error| match added {
            // optional fields are missing from the tree until they are set; only the parser's message
            // tells them from fields that do not exist
            Some(added) if error.message().starts_with("missing field") => ConfigError::Unset {
                path: path.into(),
                table: added.path,
                message: error.message().into(),
            },
            Some(added)
                if error
                    .message()
                    .contains(&format!("unknown field `{}`", added.name)) =>
            {
                ConfigError::Path {
                    path: path.into(),
                    missing: added.name,
                    known: added.siblings,
                }
            }
            _ => parse(error.message().into()),
        })?;
        Ok(())
    }

    /// Applies several `path.to.field=value` at once, much faster than one by one. Returns false, and changes nothing, if
    /// any of them fails; [`Self::set`] then gives the reason.
    pub fn set_together(&mut self, assignments: &[String]) -> bool {
        let set = || {
            let mut tree = toml::Table::try_from(&*self).ok()?;
            for assignment in assignments {
                let (path, value) = assignment.split_once('=')?;
                let path = keys::current_path(path.trim());
                insert_value(&mut tree, &path, value.trim()).ok()?;
            }
            keys::rename(&mut tree, &keys::WHOLE);
            let text = toml::to_string(&tree).ok()?;
            toml::from_str(&text).ok()
        };
        let read: Option<Self> = set();
        read.map(|read| *self = read).is_some()
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError::Field`] names the field, its value, and the valid values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check().map_err(ConfigError::Field)
    }

    fn check(&self) -> Result<(), String> {
        let expected = Some("0.01 to 86400 s");
        let (duration_s, height_m) = (&self.duration_s, &self.tissue_height_m);
        let duration = duration_s.check("duration_s", &(0.01..=86_400.0), expected);
        prefix_error("", duration)?;
        let height = height_m.check("tissue_height_m", &(-0.03..=0.03), None);
        prefix_error("", height)?;
        prefix_error("", self.coupling.validate())?;
        self.validate_link()?;
        prefix_error("operator: ", self.operator.validate())?;
        prefix_error("robot: ", self.robot.validate())?;
        prefix_error("", self.master.guard.validate())?;
        prefix_error("", self.master.predict.validate())?;
        prefix_error("", self.slave.guard.validate())?;
        prefix_error("", self.codec.validate())?;
        self.validate_after()?;
        self.validate_silence()?;
        self.validate_judged()?;
        self.validate_rest()
    }

    /// Checks that changes of the network are in order of time, and every network is valid.
    fn validate_link(&self) -> Result<(), String> {
        let link = &self.link;
        let mut before_s = 0.0;
        for (index, change) in link.change.iter().enumerate() {
            let field = format!("link.change[{index}].at_s");
            if change.at_s < before_s {
                return Err(format!(
                    "{field} is {}; expected {before_s} or later, as the changes are made in their order",
                    change.at_s
                ));
            }
            before_s = change.at_s;
            if !(0.0..=self.duration_s).contains(&change.at_s) {
                let expected = format!("0 to duration_s ({})", self.duration_s);
                return Err(FieldError::new(field, change.at_s, expected).to_string());
            }
        }
        prefix_error("link.forward: ", link.forward.validate())?;
        prefix_error("link.back: ", link.back.validate())?;
        for (index, change) in link.change.iter().enumerate() {
            for (name, link) in [("forward", &change.forward), ("back", &change.back)] {
                let checked = link.as_ref().map_or(Ok(()), LinkParams::validate);
                prefix_error(&format!("link.change[{index}].{name}: "), checked)?;
            }
        }
        Ok(())
    }

    /// Checks that post-conditions belong to a script that ends within the session.
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
        postcondition::validate(&self.after, procedure)?;
        let length_s = procedure.duration_s();
        if !self.after.is_empty() && self.duration_s < length_s {
            return Err(format!(
                "duration_s is {}; expected {length_s:.2} s or more, the length of the script, as there are \
                 post-conditions",
                self.duration_s
            ));
        }
        Ok(())
    }

    /// Checks that both devices keep the bounds that a received frame must keep.
    fn validate_devices(&self) -> Result<(), String> {
        let (coupling, slave) = (&self.coupling, &self.slave.guard);
        let largest = |values: &Axes| values.iter().copied().fold(0.0, f64::max);
        for (field, bound, of, value) in [
            (
                "coupling.device_mps_max",
                coupling.device_mps_max,
                "slave.guard.velocity_mps_max",
                largest(&slave.velocity_mps_max),
            ),
            (
                "coupling.device_n_max",
                coupling.device_n_max,
                "slave.guard.force_n_max",
                largest(&slave.force_n_max),
            ),
            (
                "coupling.device_n_max",
                coupling.device_n_max,
                "master.guard.force_n_max",
                largest(&self.master.guard.force_n_max),
            ),
        ] {
            if bound < value {
                return Err(format!(
                    "{field} is {bound}; expected at least {of} ({value}), as frames beyond it are refused"
                ));
            }
        }
        Ok(())
    }

    /// Checks that a codec's deliberate silence stays below every outage limit.
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

    /// Refuses a codec together with mode switches: its dead band judges the force of the first mode only, and
    /// another mode may give another force.
    fn validate_judged(&self) -> Result<(), String> {
        if self.codec.is_on() && !self.coupling.switch.is_empty() {
            return Err(format!(
                "codec.kind is {} and coupling.switch has switches ({}); expected codec.kind = \"off\" or no \
                 coupling.switch, as a codec judges the force of the first mode",
                self.codec.kind.name(),
                self.modes()
            ));
        }
        Ok(())
    }

    /// Longest gap between frames before a side detects an outage \[s\], with the name of its field.
    pub(crate) fn silence_limits_s(&self) -> [(&'static str, f64); 2] {
        [
            ("master.guard.stale_s", self.master.guard.stale_s),
            ("slave.guard.watchdog_s", self.slave.guard.watchdog_s),
        ]
    }

    /// The coupling as the ticks use it. While a codec is on, samples are held at least as long as the
    /// codec may stay silent.
    pub(crate) fn coupling_in_use(&self) -> CouplingParams {
        let mut coupling = self.coupling;
        if self.codec.is_on() {
            coupling.hold_s = coupling.hold_s.max(self.codec.horizon().s());
        }
        coupling
    }

    /// Names of the coupling modes in the order of their switches, with `auto` resolved.
    #[must_use]
    pub fn modes(&self) -> String {
        self.modes_by(|mode| mode.resolved().name().to_owned())
    }

    fn modes_by(&self, name: impl Fn(Mode) -> String) -> String {
        let switches: Vec<ModeSwitch> = self.coupling.switch.into();
        let later = switches.into_iter().map(|switch| switch.mode);
        let all = core::iter::once(self.coupling.mode).chain(later);
        all.map(name).collect::<Vec<_>>().join(", then ")
    }

    /// Names of the coupling modes as requested, with the resolved mode behind `auto`.
    #[must_use]
    pub fn requested_modes(&self) -> String {
        self.modes_by(|mode| match mode {
            Mode::Auto => format!("auto ({})", mode.resolved().name()),
            _ => mode.name().to_owned(),
        })
    }

    fn validate_rest(&self) -> Result<(), String> {
        for (name, values) in [
            ("slave.stiffness_npm", &self.slave.stiffness_npm),
            ("slave.damping_nspm", &self.slave.damping_nspm),
            ("slave.matched_nspm_min", &self.slave.matched_nspm_min),
        ] {
            if !values.iter().all(|value| *value > 0.0 && *value <= 1e5) {
                return Err(format!(
                    "{name} is {values:?}; expected four numbers above 0, at most 1e5"
                ));
            }
        }
        let wall_npm = self.slave.wall_npm_max;
        let in_range = wall_npm.check("slave.wall_npm_max", &(0.0..=1e6), Some("0 to 1e6 N/m"));
        prefix_error("", in_range)?;
        prefix_error("", self.slave.check_servo(&self.robot, &self.coupling))?;
        prefix_error("", self.clock.validate())?;
        prefix_error("", self.liar.validate())?;
        self.validate_devices()?;
        prefix_error("", self.realtime.validate())?;
        prefix_error("", self.network.validate())
    }
}

/// Prefixes the error of a part with its name.
fn prefix_error(name: &str, checked: Result<(), impl Display>) -> Result<(), String> {
    checked.map_err(|error| format!("{name}{error}"))
}

/// A table that was inserted because the path did not exist.
struct AddedTable {
    /// Path to it.
    path: String,
    /// Its name.
    name: String,
    /// Names of the fields beside it.
    siblings: String,
}

/// Puts `value` at `path` in a tree that has every field but unset optional ones. Those may become
/// new leaves or new tables; returns the first new one.
fn insert_value(
    tree: &mut toml::Table,
    path: &str,
    value: &str,
) -> Result<Option<AddedTable>, ConfigError> {
    let parts: Vec<&str> = path.split('.').collect();
    let known = |table: &toml::Table| table.keys().cloned().collect::<Vec<_>>().join(", ");
    let missing = |table: &toml::Table, part: &str| ConfigError::Path {
        path: path.into(),
        missing: part.into(),
        known: known(table),
    };
    let mut table = tree;
    let mut added = None;
    let (leaf, parents) = parts.split_last().unwrap_or((&"", &[]));
    for (depth, part) in parents.iter().enumerate() {
        // no optional table is at the root
        if depth > 0 && !part.is_empty() && !table.contains_key(*part) {
            added = added.or(Some(AddedTable {
                path: parts[..=depth].join("."),
                name: (*part).into(),
                siblings: known(table),
            }));
            table.insert((*part).into(), toml::Value::Table(toml::Table::new()));
        }
        let before = table.clone();
        table = match table.get_mut(*part) {
            Some(toml::Value::Table(inner)) => inner,
            _ => return Err(missing(&before, part)),
        };
    }
    if leaf.is_empty() {
        return Err(missing(table, leaf));
    }
    if parents.is_empty() && !table.contains_key(*leaf) {
        added = Some(AddedTable {
            path: path.into(),
            name: (*leaf).into(),
            siblings: known(table),
        });
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
    // another kind has other fields, which start at their defaults
    if *leaf == "kind" && table.get("kind").is_some_and(|kind| *kind != parsed) {
        table.clear();
    }
    table.insert((*leaf).into(), parsed);
    Ok(added)
}

#[cfg(test)]
mod tests;
