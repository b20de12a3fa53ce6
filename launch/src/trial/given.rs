//! What a command line adds to the file of a trial.
//!
//! Source: ours. The file with its additions is a file of a trial again, which the folder of results keeps, so that
//! shards are continued and merged without anybody saying the flags a second time.

use super::field;
use crate::config::ConfigError;

/// What was given beside a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Given {
    /// A configuration that `[base]` begins with; its seed says nothing.
    pub config: Option<toml::Table>,
    /// The one seed, instead of the file's.
    pub seed: Option<u64>,
    /// Fields of every condition, by the names of [`field`].
    pub values: Vec<(String, toml::Value)>,
}

impl Given {
    /// The text of a trial named `name` with what was given; the same text if nothing was, or if it is no
    /// TOML, as its parser says that best.
    ///
    /// # Errors
    /// [`ConfigError`] for a field that the trial varies, or that it gives already.
    pub fn into_text(self, text: String, name: &str) -> Result<String, ConfigError> {
        if self == Self::default() {
            return Ok(text);
        }
        let Ok(mut trial) = toml::from_str::<toml::Table>(&text) else {
            return Ok(text);
        };
        if let Some(mut base) = self.config {
            base.remove("seed");
            if let Some(toml::Value::Table(own)) = trial.remove("base") {
                merge(&mut base, own);
            }
            trial.insert("base".into(), base.into());
        }
        if let Some(seed) = self.seed {
            let seed = i64::try_from(seed).unwrap_or(i64::MAX);
            trial.insert("seeds".into(), vec![toml::Value::Integer(seed)].into());
        }
        for (field, value) in self.values {
            add(&mut trial, (&field, value), name)?;
        }
        toml::to_string(&trial).map_err(|error| ConfigError::Field {
            message: format!("{name}: {error}"),
        })
    }
}

/// Lets every condition have a value of a field.
fn add(
    trial: &mut toml::Table,
    (field, value): (&str, toml::Value),
    name: &str,
) -> Result<(), ConfigError> {
    let varied = |table: &toml::Table| {
        let plain = |name: &str| name.trim().replace('-', "_");
        let (own, known) = (plain(field), table.keys().map(|key| plain(key)));
        let same = |key: &String| *key == own || field::paths(key) == field::paths(&own);
        known.filter(same).count() > 0
    };
    let given = |place: &str| ConfigError::Field {
        message: format!(
            "{field} = {value}: {name} has it in {place}; expected a field that the trial does not give there, \
             or the file to be changed"
        ),
    };
    if let Some(toml::Value::Array(conditions)) = trial.get_mut("condition") {
        for table in conditions.iter_mut().filter_map(toml::Value::as_table_mut) {
            if varied(table) {
                return Err(given("[[condition]]"));
            }
            table.insert(field.into(), value.clone());
        }
        return Ok(());
    }
    let grid = trial
        .entry("grid")
        .or_insert_with(|| toml::Table::new().into());
    if let toml::Value::Table(grid) = grid {
        if varied(grid) {
            return Err(given("[grid]"));
        }
        grid.insert(field.into(), vec![value].into());
    }
    Ok(())
}

/// Puts what `own` says over `base`, table by table.
fn merge(base: &mut toml::Table, own: toml::Table) {
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Trial;
    use super::*;

    fn given(values: &[(&str, &str)]) -> Given {
        let value = |(name, text): &(&str, &str)| ((*name).to_owned(), field::value(text));
        Given {
            values: values.iter().map(value).collect(),
            ..Given::default()
        }
    }

    fn trial(given: Given, text: &str) -> Trial {
        let text = given.into_text(text.to_owned(), "t.toml").expect("good");
        Trial::parse(&text, "t.toml").expect("a trial again")
    }

    #[test]
    fn nothing_given_is_the_same_text() {
        let text = "# a comment\nseeds = 2\n".to_owned();
        assert_eq!(Given::default().into_text(text.clone(), "t.toml"), Ok(text));
    }

    #[test]
    fn values_are_of_every_condition_and_a_seed_is_the_only_one() {
        let flags = [
            ("rtt_ms", "80"),
            ("coupling.impedance_nspm", "5"),
            ("outage", "4,0.5"),
        ];
        let listed = "seeds = 3\n[[condition]]\nmode = \"wave\"\n[[condition]]\nmode = \"mmt\"\n";
        for text in [listed, "seeds = 3\n[grid]\nmode = [\"wave\", \"mmt\"]\n"] {
            let seeded = Given {
                seed: Some(9),
                ..given(&flags)
            };
            let trial = trial(seeded, text);
            assert_eq!(
                (trial.seeds.as_slice(), trial.conditions.len()),
                (&[9][..], 2)
            );
            for condition in &trial.conditions {
                let config = &condition.config;
                assert_eq!(config.link.back.oneway_ms, 40.0);
                assert_eq!(config.coupling.impedance_nspm, 5.0);
                assert_eq!(config.link.forward.outage.map(|cut| cut.off_s), Some(0.5));
            }
        }
        let bare = trial(given(&[("loss", "0.1")]), "");
        assert_eq!(bare.conditions[0].config.link.forward.loss, 0.1);
    }

    #[test]
    fn a_configuration_is_below_the_base_of_the_file() {
        let config =
            "seed = 7\nduration_s = 9.0\n[coupling]\nimpedance_nspm = 4.0\nhold_s = 0.03\n";
        let flags = Given {
            config: toml::from_str(config).ok(),
            ..Given::default()
        };
        let text = "[base]\nduration_s = 2.0\n[base.coupling]\nimpedance_nspm = 6.0\n";
        let base = trial(flags, text).base;
        assert_eq!((base.duration_s, base.coupling.impedance_nspm), (2.0, 6.0));
        assert_eq!(base.coupling.hold_s, 0.03);
    }

    #[test]
    fn what_the_trial_varies_is_not_given_twice() {
        let grid = "[grid]\nrtt_ms = [0, 100]\n";
        let listed = "[[condition]]\nrtt-ms = 3\n";
        for (text, place) in [(grid, "[grid]"), (listed, "[[condition]]")] {
            let error = given(&[("rtt_ms", "5")]).into_text(text.to_owned(), "t.toml");
            let error = error.expect_err(text).to_string();
            assert!(error.contains("rtt_ms") && error.contains(place), "{error}");
        }
    }
}
