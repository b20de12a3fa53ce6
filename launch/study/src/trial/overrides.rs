//! Overrides of a trial by the command line.
//!
//! Source: ours. The file with its overrides is a file of a trial again, which the folder of results keeps, so that
//! shards are continued and merged without repeating the flags.

use std::fmt;

use palpate_analysis::Failure;
use palpate_session::config::keys;

use super::condition::flat;
use super::field;
use super::file::CONFIG_TABLES;

/// Overrides beside a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrialOverrides {
    /// Configuration below `[base]`; its seed is ignored.
    pub config: Option<toml::Table>,
    /// Number of conditions that are drawn, instead of the file's.
    pub sessions: Option<u32>,
    /// The only seed, instead of the file's.
    pub seed: Option<u64>,
    /// Fields of every condition.
    pub assignments: Vec<FieldAssignment>,
}

/// Field that a command line sets.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldAssignment {
    /// Name, as of [`field`].
    pub field: String,
    /// Value.
    pub value: toml::Value,
    /// True if set by `--set`, false for a flag of its own.
    pub by_set: bool,
}

impl fmt::Display for FieldAssignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, value) = (&self.field, field::formatted(&self.value));
        if self.by_set {
            write!(f, "--set {field}={value}")
        } else {
            write!(f, "--{} {value}", field.replace('_', "-"))
        }
    }
}

impl TrialOverrides {
    /// Applies the overrides to the text of a trial named `name`. Returns the same text without overrides, or if it
    /// is no TOML, so that its parser reports that. Overrides replace values of `[base]`; fields of a grid, a
    /// condition or another flag are refused.
    ///
    /// # Errors
    /// [`Failure::Usage`] naming both that set the same field.
    pub(crate) fn into_text(self, text: String, name: &str) -> Result<String, Failure> {
        if self == Self::default() {
            return Ok(text);
        }
        let Ok(mut trial) = toml::from_str::<toml::Table>(&text) else {
            return Ok(text);
        };
        keys::rename(&mut trial, &CONFIG_TABLES);
        if let Some(mut base) = self.config {
            base.remove("seed");
            if let Some(toml::Value::Table(own)) = trial.remove("base") {
                merge(&mut base, own);
            }
            trial.insert("base".into(), base.into());
        }
        if let Some(sessions) = self.sessions {
            if !trial.contains_key("draw") {
                let text = format!(
                    "--sessions {sessions}: {name} has no draw; expected draw = N in the file"
                );
                return Err(Failure::Usage(text));
            }
            trial.insert("draw".into(), i64::from(sessions).into());
        }
        if let Some(seed) = self.seed {
            let seed = i64::try_from(seed).unwrap_or(i64::MAX);
            trial.insert("seeds".into(), vec![toml::Value::Integer(seed)].into());
        }
        require_distinct(&self.assignments)?;
        require_unset(&self.assignments, &trial, name)?;
        for assigned in self.assignments {
            add(&mut trial, assigned);
        }
        toml::to_string(&trial).map_err(|error| Failure::Usage(format!("{name}: {error}")))
    }
}

/// Refuses two assignments that set the same path.
fn require_distinct(all: &[FieldAssignment]) -> Result<(), Failure> {
    for (place, other) in all.iter().enumerate() {
        for one in &all[..place] {
            if let Some(path) = field::overlap(&one.field, &other.field) {
                return Err(Failure::Usage(format!(
                    "{one} and {other}: both set {path}; expected one of them"
                )));
            }
        }
    }
    Ok(())
}

/// Refuses fields that the trial sets in its grid or in a condition.
fn require_unset(all: &[FieldAssignment], trial: &toml::Table, name: &str) -> Result<(), Failure> {
    let list = |table: &'static str| trial.get(table).and_then(toml::Value::as_array);
    let grid = trial.get("grid").into_iter().map(|grid| ("[grid]", grid));
    let listed = list("condition").into_iter().flatten();
    let factors = list("factor").into_iter().flatten();
    let levels = factors.filter_map(|factor| factor.get("level")?.as_array());
    let places = grid
        .chain(listed.map(|one| ("[[condition]]", one)))
        .chain(levels.flatten().map(|one| ("[[factor.level]]", one)));
    for (place, table) in places.filter_map(|(place, table)| Some((place, table.as_table()?))) {
        for (existing, _) in flat(table).into_iter().filter(|(field, _)| field != "name") {
            let path = |assignment: &FieldAssignment| {
                Some((
                    field::overlap(&assignment.field, &existing)?,
                    assignment.to_string(),
                ))
            };
            if let Some((path, assignment)) = all.iter().find_map(path) {
                return Err(Failure::Usage(format!(
                    "{assignment}: {name} has {existing} in {place}, which sets {path} as well; expected a field that the trial \
                     does not give there, or the file to be changed"
                )));
            }
        }
    }
    Ok(())
}

/// Sets a field in every condition.
fn add(trial: &mut toml::Table, FieldAssignment { field, value, .. }: FieldAssignment) {
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

/// Merges `own` over `base`, table by table.
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

    fn assigned(by_set: bool, field: &str, text: &str) -> FieldAssignment {
        FieldAssignment {
            field: field.to_owned(),
            value: field::value(text),
            by_set,
        }
    }

    fn overrides(values: &[(&str, &str)]) -> TrialOverrides {
        let value = |(name, text): &(&str, &str)| assigned(false, name, text);
        TrialOverrides {
            assignments: values.iter().map(value).collect(),
            ..TrialOverrides::default()
        }
    }

    fn trial(overrides: TrialOverrides, text: &str) -> Trial {
        let text = overrides
            .into_text(text.to_owned(), "t.toml")
            .expect("good");
        Trial::parse(&text, "t.toml").expect("a trial again")
    }

    #[test]
    fn no_overrides_keep_the_text() {
        let text = "# a comment\nseeds = 2\n".to_owned();
        assert_eq!(
            TrialOverrides::default().into_text(text.clone(), "t.toml"),
            Ok(text)
        );
    }

    #[test]
    fn overrides_apply_to_every_condition_and_replace_seeds() {
        let flags = [
            ("rtt_ms", "80"),
            ("coupling.impedance_nspm", "5"),
            ("outage", "4,0.5"),
        ];
        let listed = "seeds = 3\n[[condition]]\nmode = \"wave\"\n[[condition]]\nmode = \"mmt\"\n";
        for text in [listed, "seeds = 3\n[grid]\nmode = [\"wave\", \"mmt\"]\n"] {
            let seeded = TrialOverrides {
                seed: Some(9),
                ..overrides(&flags)
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
        let bare = trial(overrides(&[("loss", "0.1")]), "");
        assert_eq!(bare.conditions[0].config.link.forward.loss, 0.1);
    }

    #[test]
    fn base_of_the_file_overrides_the_configuration() {
        let config =
            "seed = 7\nduration_s = 9.0\n[coupling]\nimpedance_nspm = 4.0\nhold_s = 0.03\n";
        let flags = TrialOverrides {
            config: toml::from_str(config).ok(),
            ..TrialOverrides::default()
        };
        let text = "[base]\nduration_s = 2.0\n[base.coupling]\nimpedance_nspm = 6.0\n";
        let base = trial(flags, text).base;
        assert_eq!((base.duration_s, base.coupling.impedance_nspm), (2.0, 6.0));
        assert_eq!(base.coupling.hold_s, 0.03);
    }

    #[test]
    fn varied_fields_cannot_be_overridden() {
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
                let overrides = TrialOverrides {
                    assignments: vec![assigned(by_set, name, "5")],
                    ..TrialOverrides::default()
                };
                let error = overrides
                    .into_text(text.to_owned(), "t.toml")
                    .expect_err(text);
                let text = error.to_string();
                for part in [words, "t.toml", place, field] {
                    assert!(text.contains(part), "{part} is not in: {text}");
                }
            }
        }
    }

    #[test]
    fn issue_flag_and_set_of_one_field_were_not_compared() {
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
            let text = format!("{one} and {other}: both set {path}; expected one of them");
            let overrides = TrialOverrides {
                assignments: vec![one, other],
                ..TrialOverrides::default()
            };
            let refused = overrides.into_text(String::new(), "t.toml");
            assert_eq!(refused, Err(Failure::Usage(text)));
        }
        let words = assigned(false, "mode", "wave").to_string();
        assert_eq!(words, "--mode wave");
    }
}
