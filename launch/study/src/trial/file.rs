//! The file of a trial: what stays the same, what is varied, and how often.
//!
//! Source: ours. A condition is a list of fields with values; `[grid]` multiplies lists out,
//! fields in the order of the alphabet, `[[condition]]` lists each one. Every error names file, field, value, and what
//! would be right.

use palpate_session::config::{Config, ConfigError};
use serde::{Deserialize, Serialize};

use super::person::{PersonParams, Who};
use super::psycho::{PsychoParams, WrongField};
use super::{field, transparency};

/// Most conditions of a grid: more is a slip of the pen.
const CONDITIONS_MAX: usize = 100_000;

/// Most rows of a trial: weeks on any machine.
const ROWS_MAX: usize = 1_000_000;

/// Most seeds, and most repeats, of a trial.
const REPEATS_MAX: usize = 100_000;

/// What a row of a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One session in virtual time, measured as `palpate lab` measures it.
    #[default]
    Session,
    /// Impedance felt at the handle against frequency: free, locked, and in contact.
    Transparency,
    /// A simulated observer tells which of two tissues is stiffer.
    #[serde(rename = "stiffness-2afc")]
    Stiffness,
    /// A simulated observer tells which of two links is slower.
    #[serde(rename = "delay-2afc")]
    Delay,
    /// A simulated observer tells in which of two presses there was a lump.
    #[serde(rename = "lump-2afc")]
    Lump,
    /// A person looks for a hidden lump.
    #[serde(rename = "lump-search")]
    Search,
}

impl Kind {
    /// Name as in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transparency => "transparency",
            Self::Stiffness => "stiffness-2afc",
            Self::Delay => "delay-2afc",
            Self::Lump => "lump-2afc",
            Self::Search => "lump-search",
        }
    }

    /// Unit of what is shown to an observer, as it ends the name of a column: stiffness, time offset, or the second
    /// stiffness over the first.
    #[must_use]
    pub(crate) fn shown_unit(self) -> &'static str {
        match self {
            Self::Delay => "ms",
            Self::Lump => "ratio",
            _ => "npm",
        }
    }

    /// Whether an observer tells which of two was more.
    #[must_use]
    pub(crate) fn is_psycho(self) -> bool {
        matches!(self, Self::Stiffness | Self::Delay | Self::Lump)
    }

    /// Whether somebody, or a formula in their place, answers.
    #[must_use]
    pub(crate) fn is_asked(self) -> bool {
        self.is_psycho() || self == Self::Search
    }

    /// Whether a person can be asked it in a page.
    #[must_use]
    pub(crate) fn is_for_persons(self) -> bool {
        matches!(self, Self::Stiffness | Self::Delay | Self::Search)
    }
}

/// Which clock the rows of a trial run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Virtual time: rows depend on the trial alone.
    #[default]
    Virtual,
    /// The clock of this machine: each row as `palpate run` runs it, as processes over an emulated network.
    Live,
}

impl Clock {
    /// Name as in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Live => "live",
        }
    }
}

/// The file as it stands.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    name: Option<String>,
    kind: Kind,
    clock: Clock,
    seeds: Option<Seeds>,
    repeats: Option<i64>,
    base: Config,
    grid: toml::Table,
    condition: Vec<toml::Table>,
    psycho: Option<PsychoParams>,
    person: Option<PersonParams>,
    transparency: Option<transparency::Sweep>,
}

/// Which seeds: a list, or how many from 1 on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Seeds {
    Count(i64),
    List(Vec<i64>),
}

/// A trial that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Name, part of the default output folder.
    pub name: String,
    /// What a row is.
    pub kind: Kind,
    /// Which clock the rows run on.
    pub clock: Clock,
    /// What every condition begins with.
    pub base: Config,
    /// Fields that any condition sets, in order of appearance.
    pub fields: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Seeds of every condition, the same for all, so that conditions are compared like with like.
    pub seeds: Vec<u64>,
    /// Repeats of every seed; the first keeps it, each further one draws another from it.
    pub repeats: usize,
    /// Protocol and observer, of a trial with one.
    pub psycho: PsychoParams,
    /// Breaks, practice and times, of a trial with a person.
    pub person: PersonParams,
    /// Whose answers they are; a file does not say.
    pub who: Who,
    /// Tones, of a transparency trial.
    pub transparency: transparency::Sweep,
}

/// One condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Its name, if the file gives one.
    pub name: Option<String>,
    /// What it sets.
    pub values: Vec<(String, toml::Value)>,
    /// The configuration that follows, seed aside.
    pub config: Config,
}

impl Condition {
    /// Value of a field, if this condition sets it.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<&toml::Value> {
        let mut values = self.values.iter();
        values.find(|(name, _)| name == field).map(|(_, v)| v)
    }

    /// Its name, or what it sets.
    #[must_use]
    pub fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if self.values.is_empty() {
            return "base".to_owned();
        }
        let parts = self.values.iter();
        let parts = parts.map(|(name, value)| format!("{name} {}", field::shown(value)));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// A file that is no trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// Not TOML, or a field is unknown or of the wrong type.
    #[error("{file}: {message}")]
    Parse {
        /// The file.
        file: String,
        /// What the parser says, with line and column.
        message: String,
    },
    /// A field cannot be used.
    #[error("{file}: {field} is {found}; expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// The field.
        field: String,
        /// What it is.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A condition leads to a configuration that cannot be used.
    #[error("{file}: {place}: {error}")]
    Condition {
        /// The file.
        file: String,
        /// Which condition, and which field of it.
        place: String,
        /// What is wrong.
        error: Box<ConfigError>,
    },
}

impl Trial {
    /// From the text of a file named `file`.
    ///
    /// # Errors
    /// [`TrialError`] names file, field, value, and what would be right.
    pub fn parse(text: &str, file: &str) -> Result<Self, TrialError> {
        let read: Text = toml::from_str(text).map_err(|error| TrialError::Parse {
            file: file.into(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        let wrong = |field: &str, found: String, expected: &str| TrialError::Field {
            file: file.into(),
            field: field.into(),
            found,
            expected: expected.into(),
        };
        if !read.grid.is_empty() && !read.condition.is_empty() {
            let found = format!("there beside {} [[condition]]", read.condition.len());
            return Err(wrong("[grid]", found, "either [grid] or [[condition]]"));
        }
        let seeds = seeds(read.seeds.as_ref())
            .map_err(|found| wrong("seeds", found, "a count from 1, or a list of seeds from 0"))?;
        let repeats = read.repeats.unwrap_or(1);
        let counted = usize::try_from(repeats).ok();
        let counted = counted.filter(|n| (1..=REPEATS_MAX).contains(n));
        let repeats =
            counted.ok_or_else(|| wrong("repeats", repeats.to_string(), "1 to 100000"))?;
        parts(&read).map_err(|(field, found, expected)| wrong(field, found, expected))?;
        if let Some((field, found, expected)) = idle(&read, text) {
            return Err(wrong(field, found, expected));
        }
        let listed = if read.grid.is_empty() {
            listed(&read.condition, file)?
        } else {
            multiplied(&read.grid, file)?
        };
        let rows = listed.len().saturating_mul(seeds.len());
        if rows.saturating_mul(repeats) > ROWS_MAX {
            let (conditions, seeds) = (listed.len(), seeds.len());
            let found = format!("{conditions} x {seeds} x {repeats}");
            let expected = "at most 1000000 rows altogether";
            return Err(wrong("conditions x seeds x repeats", found, expected));
        }
        let mut fields: Vec<String> = Vec::new();
        for (name, _) in listed.iter().flat_map(|(_, values)| values) {
            if !fields.contains(name) {
                fields.push(name.clone());
            }
        }
        let conditions = listed.into_iter().enumerate();
        let conditions = conditions
            .map(|(index, (name, values))| condition(&read.base, index, name, values, file));
        Ok(Self {
            name: read.name.unwrap_or_else(|| "trial".into()),
            kind: read.kind,
            clock: read.clock,
            fields,
            conditions: conditions.collect::<Result<_, _>>()?,
            base: read.base,
            seeds,
            repeats,
            psycho: read.psycho.unwrap_or_default(),
            person: read.person.unwrap_or_default(),
            who: Who::default(),
            transparency: read.transparency.unwrap_or_default(),
        })
    }
}

/// Checks the tables that have rules of their own.
fn parts(read: &Text) -> Result<(), WrongField> {
    read.psycho.iter().try_for_each(PsychoParams::validate)?;
    read.person.iter().try_for_each(PersonParams::validate)?;
    let mut sweeps = read.transparency.iter();
    sweeps.try_for_each(transparency::Sweep::validate)
}

/// A field that would change nothing, or cannot be: what it is, and what would be right.
fn idle(read: &Text, text: &str) -> Option<(&'static str, String, &'static str)> {
    let whole: toml::Table = toml::from_str(text).ok()?;
    if let Some(seed) = whole.get("base").and_then(|base| base.get("seed")) {
        let expected = "seeds at the top of the file: every condition has the same";
        return Some(("base.seed", seed.to_string(), expected));
    }
    if read.clock == Clock::Live && read.kind != Kind::Session {
        let found = format!("live in a trial of kind {}", read.kind.name());
        return Some(("clock", found, "virtual, or kind session"));
    }
    let kind = || format!("there in a trial of kind {}", read.kind.name());
    if read.psycho.is_some() && !read.kind.is_psycho() {
        let expected = "kind stiffness-2afc, delay-2afc or lump-2afc, which ask an observer";
        return Some(("[psycho]", kind(), expected));
    }
    if read.person.is_some() && !read.kind.is_for_persons() {
        let expected =
            "kind stiffness-2afc, delay-2afc or lump-search, which a person can be asked";
        return Some(("[person]", kind(), expected));
    }
    if read.transparency.is_some() && read.kind != Kind::Transparency {
        return Some(("[transparency]", kind(), "kind transparency"));
    }
    None
}

/// Two fields of one condition that set the same thing, and what that is.
fn twice(values: &[(String, toml::Value)]) -> Option<(&str, &str, String)> {
    values.iter().enumerate().find_map(|(place, (name, _))| {
        let mut before = values[..place].iter();
        before.find_map(|(known, _)| {
            Some((known.as_str(), name.as_str(), field::overlap(known, name)?))
        })
    })
}

fn seeds(seeds: Option<&Seeds>) -> Result<Vec<u64>, String> {
    match seeds {
        None => Ok(vec![1]),
        Some(Seeds::Count(count)) => {
            let known = u64::try_from(*count).ok();
            let known = known.filter(|&n| (1..=REPEATS_MAX as u64).contains(&n));
            let count = known.ok_or_else(|| count.to_string())?;
            Ok((1..=count).collect())
        }
        Some(Seeds::List(list)) if list.is_empty() => Err("an empty list".into()),
        Some(Seeds::List(list)) => {
            let mut seeds = Vec::with_capacity(list.len());
            for &number in list {
                let seed = u64::try_from(number).map_err(|_| number.to_string())?;
                if seeds.contains(&seed) {
                    return Err(format!("a list with {seed} twice"));
                }
                seeds.push(seed);
            }
            Ok(seeds)
        }
    }
}

/// Name and values of a condition before it is applied.
type Listed = (Option<String>, Vec<(String, toml::Value)>);

fn listed(conditions: &[toml::Table], file: &str) -> Result<Vec<Listed>, TrialError> {
    if conditions.is_empty() {
        // the base alone is a trial too: over its seeds
        return Ok(vec![(None, Vec::new())]);
    }
    let each = conditions.iter().enumerate().map(|(index, table)| {
        let name = match table.get("name") {
            None => None,
            Some(toml::Value::String(name)) => Some(name.clone()),
            Some(other) => {
                return Err(TrialError::Field {
                    file: file.into(),
                    field: format!("condition[{index}].name"),
                    found: other.to_string(),
                    expected: "a text".into(),
                });
            }
        };
        let mut values = Vec::new();
        for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
            flatten(key.clone(), value, &mut values);
        }
        Ok((name, values))
    });
    each.collect()
}

/// Tables are paths: `coupling = { mode = "wave" }` is `coupling.mode`. An outage stays whole.
pub(super) fn flatten(path: String, value: &toml::Value, out: &mut Vec<(String, toml::Value)>) {
    match value {
        toml::Value::Table(table) if !path.ends_with("outage") => {
            for (key, inner) in table {
                flatten(format!("{path}.{key}"), inner, out);
            }
        }
        leaf => out.push((path, leaf.clone())),
    }
}

/// Every combination of the values of a grid; the last field changes fastest.
fn multiplied(grid: &toml::Table, file: &str) -> Result<Vec<Listed>, TrialError> {
    let mut flat = Vec::new();
    for (key, value) in grid {
        flatten(key.clone(), value, &mut flat);
    }
    let wrong = |field: &str, found: String, expected: &str| TrialError::Field {
        file: file.into(),
        field: format!("grid.{field}"),
        found,
        expected: expected.into(),
    };
    let mut all: Vec<Vec<(String, toml::Value)>> = vec![Vec::new()];
    for (name, value) in flat {
        let list = match &value {
            toml::Value::Array(list) if !list.is_empty() => list.clone(),
            other => {
                let expected = "a list with at least one value, as in [0, 100, 500]";
                return Err(wrong(&name, other.to_string(), expected));
            }
        };
        let number = |value: &toml::Value| match value {
            toml::Value::Integer(whole) => Some(*whole as f64),
            toml::Value::Float(number) => Some(*number),
            _ => None,
        };
        let same = |a: &toml::Value, b: &toml::Value| {
            a == b || number(a).is_some_and(|a| Some(a) == number(b))
        };
        for (place, one) in list.iter().enumerate() {
            if list[..place].iter().any(|before| same(before, one)) {
                let found = format!("a list with {one} twice");
                return Err(wrong(
                    &name,
                    found,
                    "every value once; repeats = 2 runs all again",
                ));
            }
        }
        if all.len().saturating_mul(list.len()) > CONDITIONS_MAX {
            let found = format!(
                "a list of {} on top of {} conditions",
                list.len(),
                all.len()
            );
            return Err(wrong(&name, found, "at most 100000 conditions altogether"));
        }
        let more = |before: &Vec<(String, toml::Value)>| {
            let with = |value: &toml::Value| {
                let mut longer = before.clone();
                longer.push((name.clone(), value.clone()));
                longer
            };
            list.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(more).collect();
    }
    Ok(all.into_iter().map(|values| (None, values)).collect())
}

fn condition(
    base: &Config,
    index: usize,
    name: Option<String>,
    values: Vec<(String, toml::Value)>,
    file: &str,
) -> Result<Condition, TrialError> {
    let mut config = base.clone();
    let wrong = |place: String, error: ConfigError| TrialError::Condition {
        file: file.into(),
        place,
        error: Box::new(error),
    };
    if let Some((one, other, path)) = twice(&values) {
        return Err(TrialError::Field {
            file: file.into(),
            field: format!("condition {index}, {other}"),
            found: format!("there beside {one}"),
            expected: format!("one of them, as both set {path}"),
        });
    }
    for (field, value) in &values {
        let of_trial = ["seed", "seeds", "name"].contains(&field.as_str());
        if of_trial {
            return Err(TrialError::Field {
                file: file.into(),
                field: format!("condition {index}, {field}"),
                found: value.to_string(),
                expected: "seeds to stand at the top of the file: every condition has the same"
                    .into(),
            });
        }
    }
    let each = values.iter().map(|(field, value)| (field.as_str(), value));
    field::set_all(&mut config, each)
        .map_err(|(field, error)| wrong(format!("condition {index}, {field}"), error))?;
    config
        .validate()
        .map_err(|error| wrong(format!("condition {index}"), error))?;
    Ok(Condition {
        name,
        values,
        config,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_multiplied_out_in_order() {
        let text = "name = \"g\"\nseeds = 2\n[base]\nduration_s = 2.0\n[grid]\n\
                    mode = [\"wave\", \"mmt\"]\nrtt_ms = [0, 100, 500]\n";
        let trial = Trial::parse(text, "g.toml").expect("good");
        assert_eq!(trial.fields, ["mode", "rtt_ms"]);
        assert_eq!(trial.conditions.len(), 6);
        assert_eq!(trial.conditions[1].title(), "mode wave, rtt_ms 100");
        assert_eq!(trial.conditions[5].config.link.back.oneway_ms, 250.0);
        assert_eq!(trial.conditions[5].config.duration_s, 2.0);
        assert_eq!(trial.seeds, [1, 2]);
    }

    #[test]
    fn conditions_have_names_and_any_fields() {
        let text = "seeds = [7]\n[[condition]]\nname = \"a\"\ncoupling.mode = \"wave\"\n\
                    [[condition]]\n\"link.forward.loss\" = 0.1\n";
        let trial = Trial::parse(text, "c.toml").expect("good");
        assert_eq!(trial.fields, ["coupling.mode", "link.forward.loss"]);
        assert_eq!(trial.conditions[0].title(), "a");
        assert_eq!(trial.conditions[1].config.link.forward.loss, 0.1);
        assert_eq!(trial.conditions[1].value("coupling.mode"), None);
        let bare = Trial::parse("", "c.toml").expect("the base alone");
        assert_eq!(bare.conditions.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_file_field_value_and_what_would_be_right() {
        for (text, parts) in [
            ("seeds = 0", vec!["seeds is 0", "from 1"]),
            ("seeds = [1, 1]", vec!["seeds", "1 twice"]),
            ("repeats = -1", vec!["repeats is -1", "1 to"]),
            ("kind = \"dance\"", vec!["line 1", "dance", "session"]),
            ("[base]\nmodus = 1", vec!["line 2", "modus", "coupling"]),
            ("[grid]\nmode = \"wave\"", vec!["grid.mode", "wave", "list"]),
            (
                "[grid]\nmode = [\"sideways\"]",
                vec!["condition 0", "sideways", "wave"],
            ),
            ("[grid]\nloss = [1.5]", vec!["condition 0", "1.5", "0 to 1"]),
            ("[grid]\nseed = [1]", vec!["seed", "top of the file"]),
            (
                "[grid]\nloss = [0]\n[[condition]]\nloss = 0",
                vec!["[grid]", "either"],
            ),
            (
                "clock = \"live\"\nkind = \"lump-2afc\"",
                vec!["clock is live", "lump-2afc", "kind session"],
            ),
            ("[psycho]\ntrials = 0", vec!["psycho.trials is 0", "4 to"]),
            ("[psycho]\ntrials = 9", vec!["[psycho]", "kind session"]),
            ("[transparency]", vec!["[transparency]", "kind session"]),
            (
                "[base]\nseed = 3",
                vec!["base.seed is 3", "top of the file"],
            ),
            (
                "[grid]\nmode = [\"mmt\"]\ncoupling.mode = [\"wave\"]",
                vec!["mode", "beside coupling.mode", "one of them"],
            ),
            (
                "[[condition]]\nrtt_ms = 3\nlink.back.oneway_ms = 1",
                vec!["rtt_ms", "link.back.oneway_ms"],
            ),
            ("[grid]\nloss = [0, 0.0]", vec!["grid.loss", "0.0 twice"]),
            (
                "seeds = 100000\nrepeats = 100000",
                vec!["1 x 100000 x 100000", "1000000 rows"],
            ),
        ] {
            let error = Trial::parse(text, "t.toml").expect_err(text).to_string();
            for part in parts.into_iter().chain(["t.toml"]) {
                assert!(error.contains(part), "`{part}` is not in: {error}");
            }
        }
    }
}
