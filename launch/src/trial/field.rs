//! Names of what a condition changes: any path of the configuration, and the flags of a session.
//!
//! Source: ours. `rtt_ms`, `jitter_ms`, `loss` and their like mean both directions, as on the command
//! line; `-` and `_` are one. Everything else is a path as of `--set`.

use crate::config::{Config, ConfigError};

/// Short names, with the paths that they stand for and a factor on a number.
const SHORT: [(&str, &[&str], f64); 14] = [
    (
        "rtt_ms",
        &["link.forward.oneway_ms", "link.back.oneway_ms"],
        0.5,
    ),
    ("oneway_ms_fwd", &["link.forward.oneway_ms"], 1.0),
    ("oneway_ms_back", &["link.back.oneway_ms"], 1.0),
    (
        "jitter_ms",
        &["link.forward.jitter_ms", "link.back.jitter_ms"],
        1.0,
    ),
    ("loss", &["link.forward.loss", "link.back.loss"], 1.0),
    ("burst", &["link.forward.burst", "link.back.burst"], 1.0),
    (
        "dup",
        &["link.forward.duplicate", "link.back.duplicate"],
        1.0,
    ),
    (
        "reorder",
        &["link.forward.reorder", "link.back.reorder"],
        1.0,
    ),
    (
        "rate_kbps",
        &["link.forward.rate_kbps", "link.back.rate_kbps"],
        1.0,
    ),
    ("outage", &["link.forward.outage", "link.back.outage"], 1.0),
    ("mode", &["coupling.mode"], 1.0),
    ("impedance", &["coupling.impedance_nspm"], 1.0),
    ("grip", &["operator.grip"], 1.0),
    ("duration", &["duration_s"], 1.0),
];

/// Sets a field of `config` by its short name or its path.
///
/// # Errors
/// [`ConfigError`] naming the field, the value, and what there is.
pub fn set(config: &mut Config, field: &str, value: &toml::Value) -> Result<(), ConfigError> {
    let plain = field.trim().replace('-', "_");
    let Some((_, paths, factor)) = SHORT.iter().find(|(name, ..)| *name == plain) else {
        return config.set(&format!("{}={value}", field.trim()));
    };
    let value = match value {
        toml::Value::Float(number) => toml::Value::Float(number * factor),
        toml::Value::Integer(whole) if *factor != 1.0 => toml::Value::Float(*whole as f64 * factor),
        other => other.clone(),
    };
    paths
        .iter()
        .try_for_each(|path| config.set(&format!("{path}={value}")))
}

/// Paths that a field stands for: those of a short name, or the field itself.
#[must_use]
pub fn paths(field: &str) -> Vec<String> {
    let field = field.trim();
    let plain = field.replace('-', "_");
    match SHORT.iter().find(|(name, ..)| *name == plain) {
        Some((_, paths, _)) => paths.iter().map(|&path| path.to_owned()).collect(),
        None => vec![field.to_owned()],
    }
}

/// A value as it is written on a command line: a number, a truth value or a table if it is one of
/// TOML, else a word.
#[must_use]
pub fn value(text: &str) -> toml::Value {
    toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut read| read.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.into()))
}

/// A value as a table or a page shows it: words without quotes.
#[must_use]
pub fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_reach_both_directions_and_paths_reach_anything() {
        let mut config = Config::default();
        set(&mut config, "rtt-ms", &value("300")).expect("a flag");
        set(&mut config, "loss", &value("0.25")).expect("a flag");
        set(&mut config, "mode", &value("wave")).expect("a word");
        set(&mut config, "slave.guard.watchdog_s", &value("0.03")).expect("a path");
        set(&mut config, "outage", &value("{on_s=5,off_s=0.5}")).expect("a table");
        for link in [config.link.forward, config.link.back] {
            assert_eq!((link.oneway_ms, link.loss), (150.0, 0.25));
            assert_eq!(link.outage.map(|outage| outage.off_s), Some(0.5));
        }
        assert_eq!(config.coupling.mode.name(), "wave");
        assert_eq!(config.slave.guard.watchdog_s, 0.03);
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let mut config = Config::default();
        let text = set(&mut config, "coupling.mod", &value("wave"));
        let text = text.expect_err("none").to_string();
        assert!(text.contains("mod"), "{text}");
        let text = set(&mut config, "mode", &value("sideways"));
        let text = text.expect_err("none").to_string();
        assert!(text.contains("sideways"), "{text}");
    }
}
