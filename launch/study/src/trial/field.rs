//! Names of what a condition changes: any path of the configuration, and the flags of a session.
//!
//! Source: ours. `rtt_ms`, `jitter_ms`, `loss` and their like mean both directions, as on the command
//! line; `-` and `_` are one. Everything else is a path as of `--set`.

use palpate_transport::link::LinkParams;
use palpate_transport::link::profile::{self, PROFILES, Profile};

use palpate_console::rehearsal::script;
use palpate_session::config::{Config, ConfigError, LinkChange};
use palpate_session::lab;

/// A network by name, which other fields of the network win over.
const PROFILE: &str = "profile";

/// A tissue model of the twin, which must be that of the twin's scene.
const METHOD: &str = "method";

/// The field that names a script.
const SCRIPT: &str = "script";

/// Short names, with the paths that they stand for and a factor on a number.
const SHORT: [(&str, &[&str], f64); 17] = [
    (PROFILE, &["link.change"], 1.0),
    (METHOD, &[], 1.0),
    ("codec", &["codec.kind"], 1.0),
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

/// Sets fields of `config` by their short names or paths, whatever their order: a profile and a script are what
/// other fields change, and a method chooses a twin if no field names one. The cuts of a profile are drawn
/// with the seed that `config` has, see [`draw_cuts`].
///
/// # Errors
/// The field, and a [`ConfigError`] naming it, the value, and what there is.
pub(crate) fn set_all<'a>(
    config: &mut Config,
    values: impl Iterator<Item = (&'a str, &'a toml::Value)> + Clone,
) -> Result<(), (&'a str, ConfigError)> {
    let plain = |name: &str| name.trim().replace('-', "_");
    let named = values.clone();
    let has_twin = named.clone().any(|(name, _)| plain(name) == "twin");
    for turn in 0..3 {
        let turn_of = |name: &str| match plain(name).as_str() {
            PROFILE | SCRIPT => 0,
            METHOD => 2,
            _ => 1,
        };
        for (name, value) in values.clone().filter(|(name, _)| turn_of(name) == turn) {
            let done = match turn {
                0 if plain(name) == SCRIPT => {
                    script::load(&shown(value)).map(|script| script.apply(config))
                }
                0 => named_profile(value).map(|profile| use_profile(config, profile)),
                1 => set(config, name, value),
                _ => use_method(config, &shown(value), has_twin),
            };
            done.map_err(|error| (name, error))?;
        }
    }
    let profile = values.filter(|(name, _)| plain(name) == PROFILE).last();
    profile.map_or(Ok(()), |(name, value)| {
        draw_cuts(config, value).map_err(|error| (name, error))
    })
}

/// Sets one field by its short name or its path.
fn set(config: &mut Config, field: &str, value: &toml::Value) -> Result<(), ConfigError> {
    let plain = field.trim().replace('-', "_");
    let Some((_, paths, factor)) = SHORT.iter().find(|(name, ..)| *name == plain) else {
        return config.set(&format!("{}={value}", field.trim()));
    };
    let value = match value {
        toml::Value::Float(number) => toml::Value::Float(number * factor),
        toml::Value::Integer(whole) if *factor != 1.0 => toml::Value::Float(*whole as f64 * factor),
        toml::Value::String(pair) if plain == "outage" => outage(pair),
        other => other.clone(),
    };
    paths
        .iter()
        .try_for_each(|path| config.set(&format!("{path}={value}")))
}

/// An outage as the command line has it, `on_s,off_s`; anything else stays, and is refused by its field.
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

fn named_profile(value: &toml::Value) -> Result<&'static Profile, ConfigError> {
    let name = shown(value);
    profile::profile(&name).ok_or_else(|| {
        let names = PROFILES.each_ref().map(|one| one.name).join(", ");
        let message = format!("profile is {name}; expected one of {names}");
        ConfigError::Field { message }
    })
}

/// Lets the network be that of a profile, without its cuts.
pub fn use_profile(config: &mut Config, profile: &Profile) {
    (config.link.forward, config.link.back) = (profile.forward, profile.back);
    config.link.change = Vec::new();
}

/// Draws the cuts of a profile for the length and the seed of `config`, if it has cuts.
///
/// # Errors
/// [`ConfigError`] naming a profile that there is not.
pub fn draw_cuts(config: &mut Config, profile: &toml::Value) -> Result<(), ConfigError> {
    let Some(cuts) = named_profile(profile)?.cuts else {
        return Ok(());
    };
    let base = (config.link.forward, config.link.back);
    let times_s = cuts.times_s(config.seed, config.duration_s);
    let changes = times_s.into_iter().enumerate().map(|(index, at_s)| {
        let cut = |link: LinkParams| LinkParams { loss: 1.0, ..link };
        let works = index % 2 == 1;
        LinkChange {
            at_s,
            forward: Some(if works { base.0 } else { cut(base.0) }),
            back: Some(if works { base.1 } else { cut(base.1) }),
        }
    });
    config.link.change = changes.collect();
    Ok(())
}

/// Lets the twin be of a method: the default twin of it, unless one was named; that must be of the method.
///
/// # Errors
/// [`ConfigError`] naming method and twin if they do not go together.
pub fn use_method(config: &mut Config, method: &str, has_twin: bool) -> Result<(), ConfigError> {
    let default = match method {
        "fem" => "layered",
        "idms" => "sheet",
        "implicit" => "mound",
        _ => {
            let message = format!("method is {method}; expected fem, idms or implicit");
            return Err(ConfigError::Field { message });
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
    Err(ConfigError::Field { message })
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

/// What two fields of one session both set, if anything: a path, the inner one if one is inside the other.
#[must_use]
pub fn overlap(one: &str, other: &str) -> Option<String> {
    let plain = |name: &str| name.trim().replace('-', "_");
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
    fn short_names_reach_both_directions_and_paths_reach_anything() {
        let config = all(&[
            "rtt-ms=300",
            "loss=0.25",
            "mode=wave",
            "codec=deadband",
            "slave.guard.watchdog_s=0.03",
            "outage={on_s=5,off_s=0.5}",
        ])
        .expect("flags, a word, a path and a table");
        for link in [config.link.forward, config.link.back] {
            assert_eq!((link.oneway_ms, link.loss), (150.0, 0.25));
            assert_eq!(link.outage.map(|outage| outage.off_s), Some(0.5));
        }
        assert_eq!(config.coupling.mode.name(), "wave");
        assert!(config.codec.is_on());
        assert_eq!(config.slave.guard.watchdog_s, 0.03);
        let pair = all(&["outage=4,0.25"]).expect("as on a command line");
        assert_eq!(pair.link.back.outage.map(|outage| outage.on_s), Some(4.0));
    }

    #[test]
    fn fields_that_set_the_same_are_known_by_what_they_set() {
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
    fn a_profile_comes_before_what_changes_it_and_a_method_after_its_twin() {
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
    fn what_does_not_exist_is_named() {
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
