//! Renamed keys of the configuration: an old name is read for one version, with a note that names the new one.
//!
//! Source: ours. One table serves files, `--set`, recordings and trials; [`palpate_scene::keys`] applies it.

use palpate_scene::keys::{self, MovedKey};
use serde::de::DeserializeOwned;
use toml::Table;

/// Old dotted path and new name of each renamed key.
const RENAMED: [MovedKey; 15] = [
    MovedKey::renamed("coupling.drift_rate_hz", "drift_per_s"),
    MovedKey::renamed("coupling.recover_hz", "recovery_per_s"),
    MovedKey::renamed("coupling.catch_up_hz", "catch_up_per_s"),
    MovedKey::renamed("coupling.share_hz", "surplus_per_s"),
    MovedKey::renamed("coupling.charge_n_max", "charging_friction_n_max"),
    MovedKey::renamed("coupling.tdpa_charge_n_max", "tdpa_charging_friction_n_max"),
    MovedKey::renamed("coupling.follow_hz", "follow_per_s"),
    MovedKey::renamed("coupling.reflect_hz", "reflect_per_s"),
    MovedKey::renamed("master.predict.update_hz", "update_per_s"),
    MovedKey::renamed("master.predict.soften_hz_max", "soften_per_s_max"),
    MovedKey::renamed("master.predict.stiffen_hz_max", "stiffen_per_s_max"),
    MovedKey::renamed("operator.let_go_s", "release_s"),
    MovedKey::renamed("realtime.mask_late", "fallback_late"),
    MovedKey::renamed("realtime.masked_share", "fallback_share"),
    MovedKey::renamed("towards", "morph_to"),
];

/// Places of a configuration in its own text.
pub const WHOLE: [&str; 1] = [""];

/// Reads a text with old or new keys; `inside` are the dotted paths at which it holds fields of a configuration.
///
/// # Errors
/// As of the TOML parser.
pub fn read<T: DeserializeOwned>(text: &str, inside: &[&str]) -> Result<T, toml::de::Error> {
    keys::read(text, &RENAMED, inside).map(|(value, _)| value)
}

/// Renames the old keys of a table.
pub fn rename(table: &mut Table, inside: &[&str]) {
    let _notes = keys::rename(table, &RENAMED, inside);
}

/// Notes on the old keys of a text or of a `path=value`; none if it is not TOML.
#[must_use]
pub fn notes(text: &str, inside: &[&str]) -> Vec<String> {
    let mut table = toml::from_str::<Table>(text).unwrap_or_default();
    keys::rename(&mut table, &RENAMED, inside)
}

/// Present path of a field.
#[must_use]
pub fn current_path(path: &str) -> String {
    let moved = RENAMED.iter().find(|key| key.path == path);
    let now = moved.and_then(|key| key.now);
    now.map_or_else(|| path.to_owned(), |now| keys::sibling(path, now))
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    /// A number in the range of every renamed number that is no field's default.
    const VALUE: f64 = 0.01;

    /// A value of a renamed field that is not its default.
    fn value_of(key: &MovedKey) -> String {
        match key.path {
            "towards" => "\"sheet\"".into(),
            _ => VALUE.to_string(),
        }
    }

    #[test]
    fn every_renamed_key_reads_as_its_new_one() {
        for key in &RENAMED {
            let (now, value) = (current_path(key.path), value_of(key));
            let mut by_old = Config::default();
            by_old
                .set(&format!("{}={value}", key.path))
                .expect("an old key");
            let mut by_new = Config::default();
            by_new.set(&format!("{now}={value}")).expect("a new key");
            assert_eq!(by_old, by_new, "{now}");
            assert_ne!(by_old, Config::default(), "{now}");
            assert_eq!(by_new.validate(), Ok(()), "{now}");
            let text = format!("{} = {value}", key.path);
            assert_eq!(Config::parse(&text, "old.toml"), Ok(by_new), "{now}");
            let found = notes(&text, &WHOLE);
            assert!(
                found.len() == 1 && found[0].contains(key.now.expect("a name")),
                "{found:?}"
            );
            assert_eq!(notes(&format!("{now} = {value}"), &WHOLE), [""; 0]);
        }
    }

    #[test]
    fn an_old_key_in_a_table_of_set_is_renamed_and_one_beside_its_new_name_is_refused() {
        let mut config = Config::default();
        config.set("coupling={recover_hz=0.01}").expect("a table");
        assert_eq!(config.coupling.recovery_per_s, VALUE);
        let both = "[coupling]\nrecover_hz = 1.0\nrecovery_per_s = 2.0\n";
        let error = Config::parse(both, "both.toml").expect_err("given twice");
        assert!(error.to_string().contains("recover_hz"), "{error}");
    }
}
