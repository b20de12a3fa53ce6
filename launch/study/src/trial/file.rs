//! File of a trial: base configuration, varied fields, seeds and repeats.
//!
//! Source: ours. A condition is a list of fields with values; `[grid]` multiplies lists out,
//! fields in alphabetical order, `[[condition]]` lists each one, and `[[factor]]` names levels of several fields
//! ([`super::matrix`]). Every error names file, field, value, and the expected value.

use palpate_analysis::Failure;
use palpate_analysis::scene_tool::adopt_in_trial;
use palpate_session::config::{Config, keys};
use serde::{Deserialize, Serialize};

use super::condition::{self, Condition};
use super::matrix::{self, FactorText, Matrix, MatrixText, TableText};
use super::person::{PersonParams, Respondent};
use super::psycho::PsychoParams;
use super::transparency::ToneSweep;
use crate::messages::{name, wrong};

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
    factor: Vec<FactorText>,
    except: Vec<toml::Table>,
    table: Option<TableText>,
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
    /// Factors with named levels, if it has them.
    pub matrix: Option<Matrix>,
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
        let seeds = seeds(read.seeds.as_ref())
            .map_err(|found| wrong("seeds", found, "a count from 1, or a list of seeds from 0"))?;
        let repeats = read.repeats.unwrap_or(1);
        let repeats =
            valid_count(repeats).ok_or_else(|| wrong("repeats", repeats, "1 to 100000"))?;
        read.psycho.iter().try_for_each(PsychoParams::validate)?;
        read.person.iter().try_for_each(PersonParams::validate)?;
        read.transparency.iter().try_for_each(ToneSweep::validate)?;
        refuse_unused_fields(&read, text)?;
        let mut all = AllConditions::read(&read, seeds[0], seeds.len().saturating_mul(repeats))?;
        let configs = all.conditions.iter_mut().map(|one| &mut one.config);
        adopt_in_trial(configs, &toml::from_str(text).unwrap_or_default());
        let mut conditions = all.conditions.iter();
        if read.clock == TrialClock::Virtual
            && let Some(fault) = conditions.find_map(|one| one.process)
        {
            let found = format!("{:?}", fault.kind);
            let expected = "clock = \"live\", as virtual time has no processes";
            return Err(wrong("process.fault", found, expected));
        }
        let mut fields = all.fields;
        for (name, _) in all.conditions.iter().flat_map(|one| &one.values) {
            if !fields.contains(name) {
                fields.push(name.clone());
            }
        }
        Ok(Self {
            name: read.name.unwrap_or_else(|| "trial".into()),
            kind: read.kind,
            clock: read.clock,
            fields,
            refused: all.refused,
            matrix: all.matrix,
            conditions: all.conditions,
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

/// Conditions of a file.
struct AllConditions {
    conditions: Vec<Condition>,
    /// Number of drawn ones that a session refuses; none if nothing was drawn.
    refused: Option<usize>,
    matrix: Option<Matrix>,
    /// Fields in their order, if they have one of their own.
    fields: Vec<String>,
}

impl AllConditions {
    /// Conditions of a file whose rows are `rows_each` for each condition.
    fn read(text: &Text, seed: u64, rows_each: usize) -> Result<Self, String> {
        let base = &text.base;
        let mut all = Self {
            conditions: Vec::new(),
            refused: text.draw.map(|_| 0),
            matrix: None,
            fields: Vec::new(),
        };
        if text.has_matrix() {
            let (matrix, conditions) = Matrix::read(base, &text.matrix())?;
            all.fields = matrix.factor_names();
            (all.matrix, all.conditions) = (Some(matrix), conditions);
            limit_rows(all.conditions.len(), rows_each)?;
        } else {
            let listed = match text.draw {
                Some(count) => condition::drawn(&text.grid, count, seed)?,
                None if text.grid.is_empty() => condition::listed(&text.condition)?,
                None => {
                    let factors = matrix::grid_factors(&text.grid)?;
                    let each = matrix::combinations(&factors)?;
                    let each = each.iter();
                    each.map(|levels| (None, matrix::fields_of(&factors, levels)))
                        .collect()
                }
            };
            limit_rows(listed.len(), rows_each)?;
            for (index, one) in listed.into_iter().enumerate() {
                match (Condition::read(base, index, one), &mut all.refused) {
                    // names and types were checked before: a combination that a session refuses
                    (Err(_), Some(refused)) => *refused += 1,
                    (read, _) => all.conditions.push(read?),
                }
            }
        }
        if all.conditions.is_empty() {
            let field = ["draw", "[[factor]]"][usize::from(all.matrix.is_some())];
            let found = "without a condition that can run";
            return Err(wrong(field, found, "at least one that a session accepts"));
        }
        Ok(all)
    }
}

impl Text {
    /// True if a table defines a matrix.
    fn has_matrix(&self) -> bool {
        !self.factor.is_empty() || !self.except.is_empty() || self.table.is_some()
    }

    /// Tables that define a matrix.
    fn matrix(&self) -> MatrixText<'_> {
        MatrixText {
            factors: &self.factor,
            grid: &self.grid,
            exceptions: &self.except,
            table: self.table.as_ref(),
        }
    }
}

/// Refuses too many rows.
fn limit_rows(conditions: usize, rows_each: usize) -> Result<(), String> {
    if conditions.saturating_mul(rows_each) <= ROWS_MAX {
        return Ok(());
    }
    let found = format!("{conditions} x {rows_each}");
    let expected = "at most 1000000 rows altogether";
    Err(wrong("conditions x (seeds x repeats)", found, expected))
}

/// Refuses a field that has no effect or is impossible.
fn refuse_unused_fields(read: &Text, text: &str) -> Result<(), String> {
    if read.has_matrix() && !read.condition.is_empty() {
        let expected = "either [[condition]] or [[factor]] with [[except]] and [table]";
        return Err(wrong("[[condition]]", "beside [[factor]]", expected));
    }
    if !read.grid.is_empty() && !read.condition.is_empty() {
        let found = format!("beside {} [[condition]]", read.condition.len());
        return Err(wrong("[grid]", found, "either [grid] or [[condition]]"));
    }
    let whole: toml::Table = toml::from_str(text).unwrap_or_default();
    if let Some(seed) = whole.get("base").and_then(|base| base.get("seed")) {
        let expected = "seeds at the top of the file only, as all conditions have the same seeds";
        return Err(wrong("base.seed", seed, expected));
    }
    if read.draw.is_some() && (read.grid.is_empty() || read.has_matrix()) {
        let found = "there without lists to draw from";
        let expected = "a [grid] of lists, and no [[factor]], [[except]] or [table]";
        return Err(wrong("draw", found, expected));
    }
    let kind = name(&read.kind);
    if read.clock == TrialClock::Live && read.kind != TrialKind::Session {
        let found = format!("live in a trial of kind {kind}");
        return Err(wrong("clock", found, "virtual, or kind session"));
    }
    if read.has_matrix() && read.kind != TrialKind::Session {
        let found = format!("there in a trial of kind {kind}");
        return Err(wrong(
            "[[factor]]",
            found,
            "kind session, whose rows have checks",
        ));
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
                vec!["1 x 10000000000", "1000000 rows"],
            ),
        ] {
            let error = Trial::parse(text, "t.toml").expect_err(text).to_string();
            for part in parts.into_iter().chain(["t.toml"]) {
                assert!(error.contains(part), "`{part}` is not in: {error}");
            }
        }
    }
}
