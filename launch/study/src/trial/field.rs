//! Names of fields that a condition changes: any path of the configuration, and the flags of a session.
//!
//! Source: ours. `rtt_ms`, `jitter_ms`, `loss` and similar names set both directions, as on the command
//! line; `-` and `_` are equal. Any other name is a path as of `--set`.

use palpate_transport::link::LinkParams;
use palpate_transport::link::profile::{self, NetworkProfile, PROFILES};

use palpate_console::rehearsal::script;
use palpate_session::config::{Config, ConfigError, LinkChange, keys};
use palpate_session::lab;

/// Network profile by name, which other network fields override.
pub(super) const PROFILE: &str = "profile";

/// Tissue model of the twin, which must match the twin's scene.
const METHOD: &str = "method";

/// Field with the name of a script.
const SCRIPT: &str = "script";

/// Short names, with their path, in which `*` is either direction of the network, and a factor on a
/// number. A method has no path.
const SHORT: [(&str, &str, f64); 17] = [
    (PROFILE, "link.change", 1.0),
    (METHOD, "", 1.0),
    ("codec", "codec.kind", 1.0),
    ("rtt_ms", "link.*.oneway_ms", 0.5),
    ("oneway_ms_fwd", "link.forward.oneway_ms", 1.0),
    ("oneway_ms_back", "link.back.oneway_ms", 1.0),
    ("jitter_ms", "link.*.jitter_ms", 1.0),
    ("loss", "link.*.loss", 1.0),
    ("burst", "link.*.burst", 1.0),
    ("dup", "link.*.duplicate", 1.0),
    ("reorder", "link.*.reorder", 1.0),
    ("rate_kbps", "link.*.rate_kbps", 1.0),
    ("outage", "link.*.outage", 1.0),
    ("mode", "coupling.mode", 1.0),
    ("impedance", "coupling.impedance_nspm", 1.0),
    ("grip", "operator.grip", 1.0),
    ("duration", "duration_s", 1.0),
];

/// Name as in the table of short names.
fn plain(name: &str) -> String {
    name.trim().replace('-', "_")
}

/// Paths of a field, from its short name or the field itself, and a factor on a number.
fn expand(field: &str) -> (Vec<String>, f64) {
    let short = plain(field);
    match SHORT.into_iter().find(|(name, ..)| *name == short) {
        None => (vec![keys::current_path(field.trim())], 1.0),
        Some((_, "", factor)) => (Vec::new(), factor),
        Some((_, path, factor)) => {
            let mut paths = ["forward", "back"]
                .map(|direction| path.replace('*', direction))
                .to_vec();
            paths.dedup();
            (paths, factor)
        }
    }
}

/// Sets fields of `config` by their short names or paths, in any order: profile, script and kinds are applied before
/// other fields, and a method selects a twin if no field names one. The cuts of a profile are drawn
/// with the seed of `config`, see [`draw_cuts`].
///
/// # Errors
/// The field, and a [`ConfigError`] naming it, the value, and the alternatives.
pub fn set_all<'a>(
    config: &mut Config,
    values: impl Iterator<Item = (&'a str, &'a toml::Value)>,
) -> Result<(), (&'a str, ConfigError)> {
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(|(name, _)| match plain(name).as_str() {
        PROFILE | SCRIPT => 0,
        METHOD => 3,
        // with another kind, the fields beside it are set to their defaults
        name => {
            if name.ends_with(".kind") {
                1
            } else {
                2
            }
        }
    });
    let special = [PROFILE, SCRIPT, METHOD];
    if !values
        .iter()
        .any(|(name, _)| special.contains(&plain(name).as_str()))
    {
        let all = values
            .iter()
            .flat_map(|(name, value)| assignments(name, value));
        if config.set_together(&all.collect::<Vec<_>>()) {
            return Ok(());
        }
    }
    let has_twin = values.iter().any(|(name, _)| plain(name) == "twin");
    let mut profile = None;
    for (name, value) in values {
        let done = match plain(name).as_str() {
            SCRIPT => script::load(&formatted(value)).map(|script| script.apply(config)),
            PROFILE => {
                profile = Some((name, value));
                named_profile(value).map(|profile| use_profile(config, profile))
            }
            METHOD => use_method(config, &formatted(value), has_twin),
            _ => set(config, name, value),
        };
        done.map_err(|error| (name, error))?;
    }
    profile.map_or(Ok(()), |(name, value)| {
        draw_cuts(config, value).map_err(|error| (name, error))
    })
}

/// Sets one field by its short name or its path.
fn set(config: &mut Config, field: &str, value: &toml::Value) -> Result<(), ConfigError> {
    assignments(field, value)
        .iter()
        .try_for_each(|assignment| config.set(assignment))
}

/// Assignments `path=value` of a field by its short name or its path.
fn assignments(field: &str, value: &toml::Value) -> Vec<String> {
    let (paths, factor) = expand(field);
    let value = match value {
        toml::Value::Float(number) => toml::Value::Float(number * factor),
        toml::Value::Integer(whole) if factor != 1.0 => toml::Value::Float(*whole as f64 * factor),
        toml::Value::String(pair) if plain(field) == "outage" => outage(pair),
        other => other.clone(),
    };
    let each = paths.into_iter().map(|path| format!("{path}={value}"));
    each.collect()
}

/// Outage in the form of the command line, `on_s,off_s`; any other text is returned unchanged and fails as a field.
fn outage(pair: &str) -> toml::Value {
    let number = |text: &str| text.trim().parse().ok().map(toml::Value::Float);
    let both = pair
        .split_once(',')
        .and_then(|(on, off)| number(on).zip(number(off)));
    both.map_or(toml::Value::String(pair.into()), |(on_s, off_s)| {
        let fields = [("on_s".to_owned(), on_s), ("off_s".to_owned(), off_s)];
        toml::Value::Table(fields.into_iter().collect())
    })
}

fn named_profile(value: &toml::Value) -> Result<&'static NetworkProfile, ConfigError> {
    let name = formatted(value);
    profile::profile(&name).ok_or_else(|| {
        let names = PROFILES.each_ref().map(|one| one.name).join(", ");
        let message = format!("profile is {name}; expected one of {names}");
        ConfigError::Field(message)
    })
}

/// Sets the network to that of a profile, without its cuts.
fn use_profile(config: &mut Config, profile: &NetworkProfile) {
    (config.link.forward, config.link.back) = (profile.forward, profile.back);
    config.link.change = Vec::new();
}

/// Draws the cuts of a profile for the duration and the seed of `config`, if it has cuts.
///
/// # Errors
/// [`ConfigError`] naming an unknown profile.
pub fn draw_cuts(config: &mut Config, profile: &toml::Value) -> Result<(), ConfigError> {
    let Some(cuts) = named_profile(profile)?.cuts else {
        return Ok(());
    };
    let base = (config.link.forward, config.link.back);
    let times_s = cuts.times_s(config.seed, config.duration_s);
    let changes = times_s.into_iter().enumerate().map(|(index, at_s)| {
        let cut = |link: LinkParams| LinkParams { loss: 1.0, ..link };
        let link_up = index % 2 == 1;
        LinkChange {
            at_s,
            forward: Some(if link_up { base.0 } else { cut(base.0) }),
            back: Some(if link_up { base.1 } else { cut(base.1) }),
        }
    });
    config.link.change = changes.collect();
    Ok(())
}

/// Selects a twin of a method: its default twin, unless one was named, which must be of the method.
///
/// # Errors
/// [`ConfigError`] naming method and twin if they do not match.
fn use_method(config: &mut Config, method: &str, has_twin: bool) -> Result<(), ConfigError> {
    let default = match method {
        "fem" => "layered",
        "idms" => "sheet",
        "implicit" => "mound",
        _ => {
            let message = format!("method is {method}; expected fem, idms or implicit");
            return Err(ConfigError::Field(message));
        }
    };
    if !has_twin && lab::load_scene(&config.twin, "twin")?.method() != method {
        config.twin = default.into();
    }
    let found = lab::load_scene(&config.twin, "twin")?.method();
    if found == method {
        return Ok(());
    }
    let message = format!(
        "--method is {method}, and the twin {} is of method {found}; expected --method {found} or another --twin",
        config.twin
    );
    Err(ConfigError::Field(message))
}

/// Paths of a field: those of a short name, or the field itself.
pub(crate) fn paths(field: &str) -> Vec<String> {
    expand(field).0
}

/// Path that two fields both set, if there is one; the inner one if one contains the other.
pub(crate) fn overlap(one: &str, other: &str) -> Option<String> {
    if plain(one) == plain(other) {
        return Some(plain(one));
    }
    let inside = |a: &str, b: &str| a == b || a.starts_with(&format!("{b}."));
    let others = paths(other);
    paths(one).into_iter().find_map(|path| {
        let inner = others.iter().find(|other| inside(other, &path));
        inner.cloned().or_else(|| {
            let outer = others.iter().any(|other| inside(&path, other));
            outer.then_some(path)
        })
    })
}

/// Value in the form of the command line: a number, a truth value or a table in TOML
/// syntax, else a word.
#[must_use]
pub fn value(text: &str) -> toml::Value {
    toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut read| read.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.into()))
}

/// Value as a number, if it is one.
pub(crate) fn number(value: &toml::Value) -> Option<f64> {
    let whole = value.as_integer().map(|whole| whole as f64);
    whole.or(value.as_float())
}

/// Value for a table or a page: words without quotes.
#[must_use]
pub(crate) fn formatted(value: &toml::Value) -> String {
    match value {
        toml::Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use palpate_master::device::script::ScriptParams;

    use super::*;

    fn all(texts: &[&str]) -> Result<Config, String> {
        let mut config = Config {
            duration_s: 20.0,
            ..Config::default()
        };
        let pairs = texts.iter().filter_map(|text| text.split_once('='));
        let values: Vec<_> = pairs.map(|(name, text)| (name, value(text))).collect();
        let each = values.iter().map(|(name, value)| (*name, value));
        set_all(&mut config, each).map_err(|(field, error)| format!("{field}: {error}"))?;
        Ok(config)
    }

    #[test]
    fn short_names_set_both_directions_and_paths_any_field() {
        let config = all(&[
            "rtt-ms=300",
            "loss=0.25",
            "mode=wave",
            "codec=deadband",
            "slave.guard.watchdog_s=0.03",
            "outage={on_s=5,off_s=0.5}",
            "operator.script.hz=0.3",
            "operator.script.kind=sine",
        ])
        .expect("flags, a word, a path and a table");
        for link in [config.link.forward, config.link.back] {
            assert_eq!((link.oneway_ms, link.loss), (150.0, 0.25));
            assert_eq!(link.outage.map(|outage| outage.off_s), Some(0.5));
        }
        assert_eq!(config.coupling.mode.name(), "wave");
        assert!(config.codec.is_on());
        assert!(matches!(config.operator.script, ScriptParams::Sine(sine) if sine.hz == 0.3));
        assert_eq!(config.slave.guard.watchdog_s, 0.03);
        let pair = all(&["outage=4,0.25"]).expect("as on a command line");
        assert_eq!(pair.link.back.outage.map(|outage| outage.on_s), Some(4.0));
    }

    #[test]
    fn overlapping_fields_are_detected_by_path() {
        for (one, other, path) in [
            ("rtt-ms", "rtt_ms", Some("rtt_ms")),
            ("mode", "coupling.mode", Some("coupling.mode")),
            ("rtt_ms", "link.back.oneway_ms", Some("link.back.oneway_ms")),
            ("link.forward", "loss", Some("link.forward.loss")),
            (
                "link.forward.outage.on_s",
                "outage",
                Some("link.forward.outage.on_s"),
            ),
            ("method", "method", Some("method")),
            ("oneway_ms_fwd", "oneway_ms_back", None),
            ("codec", "codec.weber", None),
            ("profile", "rtt_ms", None),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(overlap(one, other).as_deref(), path, "{one} and {other}");
            }
        }
    }

    #[test]
    fn profile_is_applied_first_and_method_last() {
        let config = all(&["rtt-ms=100", "profile=jhu-outage"]).expect("a profile");
        assert_eq!(config.link.forward.oneway_ms, 50.0);
        let cut = config.link.change.first().and_then(|change| change.forward);
        assert_eq!(
            cut.map(|link| (link.oneway_ms, link.loss)),
            Some((50.0, 1.0))
        );
        assert_eq!(all(&["method=idms"]).map(|c| c.twin), Ok("sheet".into()));
        let implicit = all(&["method=implicit"]).map(|c| c.twin);
        assert_eq!(implicit, Ok("mound".into()));
        let error = all(&["method=idms", "twin=layered"]).expect_err("not of the method");
        assert!(
            error.contains("layered") && error.contains("fem"),
            "{error}"
        );
    }

    #[test]
    fn errors_name_unknown_fields_and_values() {
        for (text, part) in [
            ("coupling.mod=wave", "mod"),
            ("mode=sideways", "sideways"),
            ("profile=moon", "jhu-outage"),
            ("method=voxels", "idms"),
            ("codec=gzip", "gzip"),
            ("outage=3", "outage"),
        ] {
            let error = all(&[text]).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
