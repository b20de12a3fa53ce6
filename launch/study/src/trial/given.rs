//! What a command line adds to the file of a trial.
//!
//! Source: ours. The file with its additions is a file of a trial again, which the folder of results keeps, so that
//! shards are continued and merged without anybody saying the flags a second time.

use std::fmt;

use super::field;

/// What was given beside a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Given {
    /// A configuration that `[base]` begins with; its seed says nothing.
    pub config: Option<toml::Table>,
    /// The one seed, instead of the file's.
    pub seed: Option<u64>,
    /// Fields of every condition.
    pub assigned: Vec<Assigned>,
}

/// A field that a command line sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned {
    /// Its name, as of [`field`].
    pub field: String,
    /// Its value.
    pub value: toml::Value,
    /// Whether by `--set`, and not by a flag of its own.
    pub by_set: bool,
}

impl fmt::Display for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, value) = (&self.field, field::shown(&self.value));
        if self.by_set {
            write!(f, "--set {field}={value}")
        } else {
            write!(f, "--{} {value}", field.replace('_', "-"))
        }
    }
}

/// What was given that cannot be added to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenError {
    /// Two of the command line set the same field.
    #[error("{one} and {other}: both set {path}; expected one of them")]
    Twice {
        /// One of them, as it was given.
        one: String,
        /// The other.
        other: String,
        /// What both set.
        path: String,
    },
    /// The trial varies the field, or gives it to a condition.
    #[error(
        "{given}: {file} has {field} in {place}, which sets {path} as well; expected a field that the trial does not \
         give there, or the file to be changed"
    )]
    Varied {
        /// What was given.
        given: String,
        /// The file.
        file: String,
        /// The field of the file.
        field: String,
        /// `[grid]` or `[[condition]]`.
        place: &'static str,
        /// What both set.
        path: String,
    },
    /// The trial with its additions cannot be written as TOML.
    #[error("{file}: {message}")]
    Text {
        /// The file.
        file: String,
        /// What the writer says.
        message: String,
    },
}

impl Given {
    /// The text of a trial named `name` with what was given; the same text if nothing was, or if it is no
    /// TOML, as its parser says that best. What is given wins over `[base]`; nothing wins over a grid, a condition
    /// or another flag: those are refused.
    ///
    /// # Errors
    /// [`GivenError`] names both that set the same field.
    pub(crate) fn into_text(self, text: String, name: &str) -> Result<String, GivenError> {
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
        once(&self.assigned)?;
        free(&self.assigned, &trial, name)?;
        for assigned in self.assigned {
            add(&mut trial, assigned);
        }
        toml::to_string(&trial).map_err(|error| GivenError::Text {
            file: name.to_owned(),
            message: error.to_string(),
        })
    }
}

/// Refuses two that set the same.
fn once(all: &[Assigned]) -> Result<(), GivenError> {
    for (place, other) in all.iter().enumerate() {
        for one in &all[..place] {
            if let Some(path) = field::overlap(&one.field, &other.field) {
                return Err(GivenError::Twice {
                    one: one.to_string(),
                    other: other.to_string(),
                    path,
                });
            }
        }
    }
    Ok(())
}

/// Refuses what the trial has in its grid or in a condition.
fn free(all: &[Assigned], trial: &toml::Table, name: &str) -> Result<(), GivenError> {
    let mut places: Vec<(&'static str, &toml::Table)> = Vec::new();
    let grid = trial.get("grid").and_then(toml::Value::as_table);
    places.extend(grid.map(|grid| ("[grid]", grid)));
    let listed = trial.get("condition").and_then(toml::Value::as_array);
    let listed = listed
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table);
    places.extend(listed.map(|condition| ("[[condition]]", condition)));
    for (place, table) in places {
        for known in fields(table) {
            let met = |given: &&Assigned| field::overlap(&given.field, &known).is_some();
            let Some(given) = all.iter().find(met) else {
                continue;
            };
            return Err(GivenError::Varied {
                given: given.to_string(),
                file: name.to_owned(),
                path: field::overlap(&given.field, &known).unwrap_or_default(),
                field: known,
                place,
            });
        }
    }
    Ok(())
}

/// Fields that a grid or a condition gives, its name aside.
fn fields(table: &toml::Table) -> Vec<String> {
    let mut flat = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
        super::file::flatten(key.clone(), value, &mut flat);
    }
    flat.into_iter().map(|(field, _)| field).collect()
}

/// Lets every condition have a value of a field.
fn add(trial: &mut toml::Table, Assigned { field, value, .. }: Assigned) {
    if let Some(toml::Value::Array(conditions)) = trial.get_mut("condition") {
        for table in conditions.iter_mut().filter_map(toml::Value::as_table_mut) {
            table.insert(field.clone(), value.clone());
        }
        return;
    }
    let grid = trial
        .entry("grid")
        .or_insert_with(|| toml::Table::new().into());
    if let toml::Value::Table(grid) = grid {
        grid.insert(field, vec![value].into());
    }
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

    fn assigned(by_set: bool, field: &str, text: &str) -> Assigned {
        Assigned {
            field: field.to_owned(),
            value: field::value(text),
            by_set,
        }
    }

    fn given(values: &[(&str, &str)]) -> Given {
        let value = |(name, text): &(&str, &str)| assigned(false, name, text);
        Given {
            assigned: values.iter().map(value).collect(),
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
        let listed = "[[condition]]\nname = \"a\"\nrtt-ms = 3\n";
        let nested = "[grid]\nlink = { back = { oneway_ms = [1, 2] } }\n";
        for (text, place, field) in [
            (grid, "[grid]", "rtt_ms"),
            (listed, "[[condition]]", "rtt-ms"),
            (nested, "[grid]", "link.back.oneway_ms"),
        ] {
            for (by_set, name, words) in [
                (false, "rtt_ms", "--rtt-ms 5"),
                (true, "link.back.oneway_ms", "--set link.back.oneway_ms=5"),
            ] {
                let given = Given {
                    assigned: vec![assigned(by_set, name, "5")],
                    ..Given::default()
                };
                let error = given.into_text(text.to_owned(), "t.toml").expect_err(text);
                let told = error.to_string();
                for part in [words, "t.toml", place, field] {
                    assert!(told.contains(part), "{part} is not in: {told}");
                }
                assert!(matches!(error, GivenError::Varied { .. }), "{error:?}");
            }
        }
    }

    #[test]
    fn issue_a_flag_and_set_of_one_field_were_told_apart_by_nobody() {
        for (one, other, path) in [
            (
                assigned(false, "mode", "wave"),
                assigned(true, "coupling.mode", "mmt"),
                "coupling.mode",
            ),
            (
                assigned(false, "rtt_ms", "40.0"),
                assigned(true, "link.forward.oneway_ms", "3"),
                "link.forward.oneway_ms",
            ),
            (
                assigned(true, "coupling.hold_s", "0.1"),
                assigned(true, "coupling.hold_s", "0.2"),
                "coupling.hold_s",
            ),
        ] {
            let told = GivenError::Twice {
                one: one.to_string(),
                other: other.to_string(),
                path: path.to_owned(),
            };
            let given = Given {
                assigned: vec![one, other],
                ..Given::default()
            };
            assert_eq!(given.into_text(String::new(), "t.toml"), Err(told));
        }
        let words = assigned(false, "mode", "wave").to_string();
        assert_eq!(words, "--mode wave");
    }
}
