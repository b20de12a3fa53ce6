//! File of a trial: base configuration, varied fields, seeds and repeats.
//!
//! Source: ours. A condition is a list of fields with values; `[grid]` multiplies lists out,
//! fields in alphabetical order, `[[condition]]` lists each one. Every error names file, field, value, and the
//! expected value.

use palpate_analysis::Failure;
use palpate_session::config::{Config, keys};
use serde::{Deserialize, Serialize};

use super::field;
use super::person::{PersonParams, Respondent, draw_number};
use super::psycho::PsychoParams;
use super::transparency::ToneSweep;
use crate::messages::{name, wrong};

/// Most conditions of a grid: more is probably a mistake.
const CONDITIONS_MAX: usize = 100_000;

/// Most rows of a trial: weeks on any machine.
const ROWS_MAX: usize = 1_000_000;

/// Most seeds, and most repeats, of a trial.
const REPEATS_MAX: usize = 100_000;

/// Kind of a trial's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialKind {
    /// One session in virtual time, measured as `palpate lab` measures it.
    #[default]
    Session,
    /// Impedance displayed at the handle against frequency: free, locked, and in contact.
    Transparency,
    /// An observer judges which of two tissues is stiffer.
    #[serde(rename = "stiffness-2afc")]
    Stiffness,
    /// An observer judges which of two links is slower.
    #[serde(rename = "delay-2afc")]
    Delay,
    /// A simulated observer judges in which of two presses there was a lump.
    #[serde(rename = "lump-2afc")]
    Lump,
    /// A person searches for a hidden lump.
    #[serde(rename = "lump-search")]
    Search,
}

impl TrialKind {
    /// Unit of the stimulus, as the suffix of a column: stiffness, time offset, or the second
    /// stiffness over the first.
    pub(crate) fn stimulus_unit(self) -> &'static str {
        match self {
            Self::Delay => "ms",
            Self::Lump => "ratio",
            _ => "npm",
        }
    }

    /// True if an observer judges which of two stimuli is larger.
    pub(crate) fn is_psycho(self) -> bool {
        matches!(self, Self::Stiffness | Self::Delay | Self::Lump)
    }

    /// True if an observer, simulated or not, answers.
    pub(crate) fn has_answers(self) -> bool {
        self.is_psycho() || self == Self::Search
    }

    /// True if a person can answer it on a page.
    pub(crate) fn is_for_persons(self) -> bool {
        matches!(self, Self::Stiffness | Self::Delay | Self::Search)
    }
}

/// Clock of a trial's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialClock {
    /// Virtual time: rows depend on the trial alone.
    #[default]
    Virtual,
    /// The clock of this machine: each row as `palpate run` runs it, as processes over an emulated network.
    Live,
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    name: Option<String>,
    kind: TrialKind,
    clock: TrialClock,
    seeds: Option<Seeds>,
    repeats: Option<i64>,
    draw: Option<i64>,
    base: Config,
    grid: toml::Table,
    condition: Vec<toml::Table>,
    psycho: Option<PsychoParams>,
    person: Option<PersonParams>,
    transparency: Option<ToneSweep>,
}

/// Seeds: a list, or their number from 1 on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Seeds {
    Count(i64),
    List(Vec<i64>),
}

/// Trial that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Name, part of the default output folder.
    pub name: String,
    /// Kind of its rows.
    pub kind: TrialKind,
    /// Clock of its rows.
    pub clock: TrialClock,
    /// Base configuration of every condition.
    pub base: Config,
    /// Fields that any condition sets, in order of appearance.
    pub fields: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Number of drawn conditions that a session would refuse, which are not run; none if nothing was drawn.
    pub refused: Option<usize>,
    /// Seeds of every condition, the same for all, so that conditions are comparable.
    pub seeds: Vec<u64>,
    /// Repeats of every seed; the first uses it, each further one draws another from it.
    pub repeats: usize,
    /// Protocol and observer, for kinds with answers.
    pub psycho: PsychoParams,
    /// Breaks, practice and times, for a trial with a person.
    pub person: PersonParams,
    /// Source of the answers; not part of the file.
    pub respondent: Respondent,
    /// Tones, for a transparency trial.
    pub transparency: ToneSweep,
}

/// One condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Name in the file, if there is one.
    pub name: Option<String>,
    /// Fields that it sets.
    pub values: Vec<(String, toml::Value)>,
    /// Resulting configuration, except for the seed.
    pub config: Config,
}

impl Condition {
    /// Value of a field, if this condition sets it.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<&toml::Value> {
        let mut values = self.values.iter();
        values.find(|(name, _)| name == field).map(|(_, v)| v)
    }

    /// Name, or the fields that it sets.
    pub(crate) fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if self.values.is_empty() {
            return "base".to_owned();
        }
        let parts = self.values.iter();
        let parts = parts.map(|(name, value)| format!("{name} {}", field::formatted(value)));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Tables of a file that hold fields of a configuration.
pub(crate) const CONFIG_TABLES: [&str; 3] = ["base", "grid", "condition"];

/// Notes on renamed configuration keys in the text of a trial.
#[must_use]
pub fn key_notes(text: &str) -> Vec<String> {
    keys::notes(text, &CONFIG_TABLES)
}

impl Trial {
    /// Parses the text of a file, which messages call `file`.
    ///
    /// # Errors
    /// [`Failure::Usage`] naming file, field, value, and the expected value; nothing is run.
    pub fn parse(text: &str, file: &str) -> Result<Self, Failure> {
        Self::read(text).map_err(|wrong| Failure::Usage(format!("{file}: {wrong}")))
    }

    fn read(text: &str) -> Result<Self, String> {
        let read = keys::read(text, &CONFIG_TABLES);
        let read: Text = read.map_err(|error| error.to_string().trim_end().to_owned())?;
        if !read.grid.is_empty() && !read.condition.is_empty() {
            let found = format!("there beside {} [[condition]]", read.condition.len());
            return Err(wrong("[grid]", found, "either [grid] or [[condition]]"));
        }
        let seeds = seeds(read.seeds.as_ref())
            .map_err(|found| wrong("seeds", found, "a count from 1, or a list of seeds from 0"))?;
        let repeats = read.repeats.unwrap_or(1);
        let repeats =
            valid_count(repeats).ok_or_else(|| wrong("repeats", repeats, "1 to 100000"))?;
        read.psycho.iter().try_for_each(PsychoParams::validate)?;
        read.person.iter().try_for_each(PersonParams::validate)?;
        read.transparency.iter().try_for_each(ToneSweep::validate)?;
        refuse_unused_fields(&read, text)?;
        let listed = match read.draw {
            Some(count) => drawn_conditions(&read.grid, count, seeds[0])?,
            None if read.grid.is_empty() => listed_conditions(&read.condition)?,
            None => grid_conditions(&read.grid)?,
        };
        let is_drawn = read.draw.is_some();
        let rows = listed.len().saturating_mul(seeds.len());
        if rows.saturating_mul(repeats) > ROWS_MAX {
            let found = format!("{} x {} x {repeats}", listed.len(), seeds.len());
            let expected = "at most 1000000 rows altogether";
            return Err(wrong("conditions x seeds x repeats", found, expected));
        }
        let mut fields: Vec<String> = Vec::new();
        for (name, _) in listed.iter().flat_map(|(_, values)| values) {
            if !fields.contains(name) {
                fields.push(name.clone());
            }
        }
        let drawn = listed.len();
        let mut conditions = Vec::with_capacity(drawn);
        for (index, (name, values)) in listed.into_iter().enumerate() {
            match condition(&read.base, index, name, values) {
                // names and types were checked before: a combination that a session refuses
                Err(_) if is_drawn => {}
                read => conditions.push(read?),
            }
        }
        if conditions.is_empty() {
            let expected = "at least one condition that a session accepts";
            return Err(wrong("draw", drawn, expected));
        }
        Ok(Self {
            name: read.name.unwrap_or_else(|| "trial".into()),
            kind: read.kind,
            clock: read.clock,
            fields,
            refused: is_drawn.then_some(drawn - conditions.len()),
            conditions,
            base: read.base,
            seeds,
            repeats,
            psycho: read.psycho.unwrap_or_default(),
            person: read.person.unwrap_or_default(),
            respondent: Respondent::default(),
            transparency: read.transparency.unwrap_or_default(),
        })
    }
}

/// Refuses a field that has no effect or is impossible.
fn refuse_unused_fields(read: &Text, text: &str) -> Result<(), String> {
    let whole: toml::Table = toml::from_str(text).unwrap_or_default();
    if let Some(seed) = whole.get("base").and_then(|base| base.get("seed")) {
        let expected = "seeds at the top of the file: every condition has the same";
        return Err(wrong("base.seed", seed, expected));
    }
    if read.draw.is_some() && (read.grid.is_empty() || !read.condition.is_empty()) {
        let found = "there without lists to draw from";
        return Err(wrong(
            "draw",
            found,
            "a [grid] of lists, and no [[condition]]",
        ));
    }
    let kind = name(&read.kind);
    if read.clock == TrialClock::Live && read.kind != TrialKind::Session {
        let found = format!("live in a trial of kind {kind}");
        return Err(wrong("clock", found, "virtual, or kind session"));
    }
    let misplaced = |table: &str, expected: &str| {
        let found = format!("there in a trial of kind {kind}");
        Err(wrong(table, found, expected))
    };
    if read.psycho.is_some() && !read.kind.is_psycho() {
        let expected = "kind stiffness-2afc, delay-2afc or lump-2afc, which an observer answers";
        return misplaced("[psycho]", expected);
    }
    if read.person.is_some() && !read.kind.is_for_persons() {
        let expected = "kind stiffness-2afc, delay-2afc or lump-search, which a person can answer";
        return misplaced("[person]", expected);
    }
    if read.transparency.is_some() && read.kind != TrialKind::Transparency {
        return misplaced("[transparency]", "kind transparency");
    }
    Ok(())
}

/// Number of seeds or repeats, if it is valid.
fn valid_count(number: i64) -> Option<usize> {
    let count = usize::try_from(number).ok();
    count.filter(|n| (1..=REPEATS_MAX).contains(n))
}

fn seeds(seeds: Option<&Seeds>) -> Result<Vec<u64>, String> {
    match seeds {
        None => Ok(vec![1]),
        Some(Seeds::Count(count)) => {
            let count = valid_count(*count).ok_or_else(|| count.to_string())?;
            Ok((1..=count as u64).collect())
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

/// Fields with their values.
type Values = Vec<(String, toml::Value)>;

/// Name and values of a condition before it is applied.
type NamedValues = (Option<String>, Values);

fn listed_conditions(conditions: &[toml::Table]) -> Result<Vec<NamedValues>, String> {
    if conditions.is_empty() {
        // the base alone is a trial too: over its seeds
        return Ok(vec![(None, Vec::new())]);
    }
    let each = conditions.iter().enumerate().map(|(index, table)| {
        let name = match table.get("name") {
            None => None,
            Some(toml::Value::String(name)) => Some(name.clone()),
            Some(other) => {
                return Err(wrong(&format!("condition[{index}].name"), other, "a text"));
            }
        };
        let values = flat(table).into_iter();
        Ok((name, values.filter(|(field, _)| field != "name").collect()))
    });
    each.collect()
}

/// Fields of a grid or a condition. Tables are paths: `coupling = { mode = "wave" }` is `coupling.mode`. An outage
/// stays whole.
pub(super) fn flat(table: &toml::Table) -> Values {
    fn flatten(path: String, value: &toml::Value, out: &mut Values) {
        match value {
            toml::Value::Table(table) if !path.ends_with("outage") => {
                for (key, inner) in table {
                    flatten(format!("{path}.{key}"), inner, out);
                }
            }
            leaf => out.push((path, leaf.clone())),
        }
    }
    let mut flat = Vec::new();
    for (key, value) in table {
        flatten(key.clone(), value, &mut flat);
    }
    flat
}

/// Conditions drawn at random: one value of every list of a grid, each independent of the others.
///
/// A wrong name or type in a list is an error; combinations that a session refuses are left out later.
fn drawn_conditions(grid: &toml::Table, count: i64, seed: u64) -> Result<Vec<NamedValues>, String> {
    let count = valid_count(count).ok_or_else(|| wrong("draw", count, "1 to 100000"))?;
    let lists = flat(grid);
    for (field, list) in &lists {
        let values = list.as_array().filter(|values| !values.is_empty());
        let values = values.ok_or_else(|| {
            let expected = "a list with at least one value, as in [0, 100, 500]";
            wrong(&format!("grid.{field}"), list, expected)
        })?;
        for value in values {
            let alone = [(field.as_str(), value)].into_iter();
            field::set_all(&mut Config::default(), alone)
                .map_err(|(field, error)| format!("grid.{field}: {error}"))?;
        }
    }
    let draw = |number: u64| {
        let values = lists.iter().filter_map(|(field, list)| {
            let list = list.as_array()?;
            let place = draw_number(seed, field.as_bytes(), number) % list.len() as u64;
            Some((field.clone(), list[place as usize].clone()))
        });
        (None, values.collect())
    };
    Ok((0..count as u64).map(draw).collect())
}

/// Every combination of the values of a grid; the last field changes fastest.
fn grid_conditions(grid: &toml::Table) -> Result<Vec<NamedValues>, String> {
    let same = |a: &toml::Value, b: &toml::Value| {
        a == b || field::number(a).is_some_and(|a| Some(a) == field::number(b))
    };
    let mut all: Vec<Values> = vec![Vec::new()];
    for (name, value) in flat(grid) {
        let refused =
            |found: String, expected: &str| Err(wrong(&format!("grid.{name}"), found, expected));
        let list = match value {
            toml::Value::Array(list) if !list.is_empty() => list,
            other => {
                let expected = "a list with at least one value, as in [0, 100, 500]";
                return refused(other.to_string(), expected);
            }
        };
        let mut places = list.iter().enumerate();
        let before = |(place, one): &(usize, &toml::Value)| {
            list[..*place].iter().any(|before| same(before, one))
        };
        if let Some((_, one)) = places.find(before) {
            let found = format!("a list with {one} twice");
            return refused(found, "every value once; repeats = 2 runs all again");
        }
        let conditions = all.len();
        if conditions.saturating_mul(list.len()) > CONDITIONS_MAX {
            let found = format!("a list of {} on top of {conditions} conditions", list.len());
            return refused(found, "at most 100000 conditions altogether");
        }
        let more = |before: &Values| {
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
    values: Values,
) -> Result<Condition, String> {
    for (place, (other, value)) in values.iter().enumerate() {
        let field = format!("condition {index}, {other}");
        for (one, _) in &values[..place] {
            if let Some(path) = field::overlap(one, other) {
                let found = format!("there beside {one}");
                let expected = format!("one of them, as both set {path}");
                return Err(wrong(&field, found, &expected));
            }
        }
        if ["seed", "seeds", "name"].contains(&other.as_str()) {
            let expected = "seeds to stand at the top of the file: every condition has the same";
            return Err(wrong(&field, value, expected));
        }
    }
    let mut config = base.clone();
    let each = values.iter().map(|(field, value)| (field.as_str(), value));
    field::set_all(&mut config, each)
        .map_err(|(field, error)| format!("condition {index}, {field}: {error}"))?;
    let valid = config.validate();
    valid.map_err(|error| format!("condition {index}: {error}"))?;
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
    fn grid_is_multiplied_out_in_order() {
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
    fn drawn_conditions_repeat_with_their_seed_and_refused_ones_are_counted() {
        let text = "draw = 40\nseeds = [7]\n[grid]\ncoupling.mode = [\"wave\", \"tank\"]\n\
                    link.back.loss = [0.0, 0.1, 1.5]\n";
        let trial = Trial::parse(text, "d.toml").expect("good");
        assert_eq!(Trial::parse(text, "d.toml"), Ok(trial.clone()));
        let refused = trial.refused.expect("drawn");
        assert_eq!(trial.conditions.len() + refused, 40);
        assert!(refused > 0 && trial.conditions.len() > refused);
        let other = Trial::parse(&text.replace('7', "8"), "d.toml").expect("good");
        assert_ne!(other.conditions, trial.conditions);
        for (from, to, part) in [
            ("40", "0", "draw is 0"),
            ("[grid]", "[[condition]]", "[grid] of lists"),
            ("tank", "tnak", "tnak"),
            ("[0.0, 0.1, 1.5]", "[1.5]", "accepts"),
        ] {
            let error = Trial::parse(&text.replace(from, to), "d.toml").expect_err(to);
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn conditions_take_names_and_any_fields() {
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
    fn errors_name_file_field_value_and_expected_value() {
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
