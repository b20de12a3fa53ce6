//! Matrix of a trial: factors with named levels, whose combinations are its conditions, and the table of its report.
//!
//! Source: ours. `[[factor]]` has levels, each with a name and fields of a configuration. A list in `[grid]` is a
//! factor too, and its values are the levels. `[[except]]` leaves combinations out, with a reason. `[table]` names the
//! factors of rows and columns; every combination of the other factors has a table of its own.

use palpate_session::config::Config;
use serde::Deserialize;

use super::condition::{Condition, FieldValues, flat, named};
use super::field;
use crate::messages::wrong;

/// Most conditions of a grid: more is probably a mistake.
const CONDITIONS_MAX: usize = 100_000;

/// Key of an exception that is no factor.
const REASON: &str = "reason";

/// A factor as in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactorText {
    name: String,
    #[serde(default)]
    level: Vec<toml::Table>,
}

/// Rows and columns of the tables, as in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableText {
    rows: String,
    columns: String,
}

/// Tables of a file that define a matrix.
pub(super) struct MatrixText<'a> {
    /// Factors with named levels.
    pub(super) factors: &'a [FactorText],
    /// Lists of values.
    pub(super) grid: &'a toml::Table,
    /// Combinations that are left out.
    pub(super) exceptions: &'a [toml::Table],
    /// Rows and columns.
    pub(super) table: Option<&'a TableText>,
}

/// Level of a factor.
#[derive(Debug, Clone, PartialEq)]
struct FactorLevel {
    /// Name, or the value in a list.
    shown: toml::Value,
    /// Fields that it sets.
    values: FieldValues,
}

/// Factor: a name, and levels of which every condition has one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factor {
    /// Name.
    pub(crate) name: String,
    levels: Vec<FactorLevel>,
}

impl Factor {
    /// Names of its levels.
    pub(crate) fn level_names(&self) -> impl Iterator<Item = String> + '_ {
        self.levels
            .iter()
            .map(|level| field::formatted(&level.shown))
    }
}

/// Content of a cell: one combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MatrixCell {
    /// The condition with this number.
    Sessions(usize),
    /// Left out by the file, with its reason.
    Excluded(String),
    /// Refused by the validation of a session, with its message.
    Refused(String),
}

/// Table of one combination of the factors that are neither its rows nor its columns.
pub(crate) struct MatrixTable {
    /// That combination; empty if there are no other factors.
    pub(crate) title: String,
    /// Numbers of the cells, row by row.
    pub(crate) cells: Vec<Vec<usize>>,
}

/// Matrix of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    factors: Vec<Factor>,
    rows: usize,
    columns: usize,
    /// One cell for every combination of levels; the level of the last factor changes fastest.
    cells: Vec<MatrixCell>,
}

impl Matrix {
    /// Builds the matrix of a file, and the conditions of its cells.
    ///
    /// # Errors
    /// A message naming table, field, value, and the expected value.
    pub(super) fn read(
        base: &Config,
        text: &MatrixText<'_>,
    ) -> Result<(Self, Vec<Condition>), String> {
        let mut factors = Vec::new();
        for (index, factor) in text.factors.iter().enumerate() {
            factors.push(named_factor(base, factor, index)?);
        }
        factors.extend(grid_factors(text.grid)?);
        let same = |k: usize| factors[..k].iter().any(|one| one.name == factors[k].name);
        if let Some(k) = (0..factors.len()).find(|&k| same(k)) {
            let expected = "a name that no other factor and no list of the grid has";
            return Err(wrong("factor.name", &factors[k].name, expected));
        }
        let (rows, columns) = rows_and_columns(&factors, text.table)?;
        let exceptions = text.exceptions.iter().enumerate();
        let exceptions = exceptions.map(|(index, table)| Exception::read(&factors, table, index));
        let exceptions = exceptions.collect::<Result<Vec<_>, _>>()?;
        let (mut cells, mut conditions) = (Vec::new(), Vec::new());
        for levels in combinations(&factors)? {
            if let Some(exception) = exceptions.iter().find(|one| one.covers(&levels)) {
                cells.push(MatrixCell::Excluded(exception.reason.clone()));
                continue;
            }
            let condition = condition(base, &factors, &levels)?;
            match condition.config.validate() {
                Ok(()) => {
                    cells.push(MatrixCell::Sessions(conditions.len()));
                    conditions.push(condition);
                }
                Err(error) => cells.push(MatrixCell::Refused(error.to_string())),
            }
        }
        let matrix = Self {
            factors,
            rows,
            columns,
            cells,
        };
        Ok((matrix, conditions))
    }

    /// Names of the factors.
    pub(super) fn factor_names(&self) -> Vec<String> {
        self.factors.iter().map(|one| one.name.clone()).collect()
    }

    /// Factor of the rows, and factor of the columns.
    pub(crate) fn axes(&self) -> [&Factor; 2] {
        [&self.factors[self.rows], &self.factors[self.columns]]
    }

    /// All cells.
    pub(crate) fn cells(&self) -> &[MatrixCell] {
        &self.cells
    }

    /// Levels of a cell in words; factors with one level are left out.
    pub(crate) fn title(&self, cell: usize) -> String {
        let levels = self.levels(cell);
        let words = self.factors.iter().zip(levels);
        let words = words.filter(|(factor, _)| factor.levels.len() > 1);
        let words = words.map(|(factor, level)| {
            let shown = field::formatted(&factor.levels[level].shown);
            format!("{} {shown}", factor.name)
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// Levels of a cell, by factor.
    fn levels(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut levels = vec![0; self.factors.len()];
        for (level, factor) in levels.iter_mut().zip(&self.factors).rev() {
            (*level, rest) = (rest % factor.levels.len(), rest / factor.levels.len());
        }
        levels
    }

    /// Tables of all cells.
    pub(crate) fn tables(&self) -> Vec<MatrixTable> {
        let axes = [self.rows, self.columns];
        let [rows, columns] = self.axes().map(|factor| factor.levels.len());
        let mut tables: Vec<MatrixTable> = Vec::new();
        for cell in 0..self.cells.len() {
            let levels = self.levels(cell);
            let others = self.factors.iter().enumerate();
            let others = others.filter(|(k, of)| !axes.contains(k) && of.levels.len() > 1);
            let words = others.map(|(k, factor)| {
                let shown = field::formatted(&factor.levels[levels[k]].shown);
                format!("{} {shown}", factor.name)
            });
            let title = words.collect::<Vec<_>>().join(", ");
            let place = tables.iter().position(|table| table.title == title);
            let place = place.unwrap_or_else(|| {
                tables.push(MatrixTable {
                    title,
                    cells: vec![vec![0; columns]; rows],
                });
                tables.len() - 1
            });
            tables[place].cells[levels[self.rows]][levels[self.columns]] = cell;
        }
        tables
    }
}

/// Reads a factor; every level alone must be possible.
fn named_factor(base: &Config, text: &FactorText, index: usize) -> Result<Factor, String> {
    let of = format!("factor[{index}]");
    if text.name.is_empty() || text.name == REASON {
        let expected = "a text other than \"reason\"";
        let found = format!("\"{}\"", text.name);
        return Err(wrong(&format!("{of}.name"), found, expected));
    }
    let of = format!("factor {}", text.name);
    if text.level.is_empty() {
        let expected = "at least one [[factor.level]] with a name and fields";
        return Err(wrong(&format!("{of}, level"), "missing", expected));
    }
    let mut levels: Vec<FactorLevel> = Vec::new();
    for (number, table) in text.level.iter().enumerate() {
        let place = format!("{of}, level[{number}]");
        let (name, values) = named(table, &place)?;
        let Some(name) = name else {
            return Err(wrong(&format!("{place}.name"), "missing", "a text"));
        };
        if levels.iter().any(|one| one.shown.as_str() == Some(&name)) {
            let expected = "a name that no other level of the factor has";
            return Err(wrong(&format!("{place}.name"), name, expected));
        }
        Condition::assemble(base, &format!("{of}, level {name}"), None, values.clone())?;
        levels.push(FactorLevel {
            shown: name.into(),
            values,
        });
    }
    Ok(Factor {
        name: text.name.clone(),
        levels,
    })
}

/// Factors of a grid: its lists, in alphabetical order.
pub(super) fn grid_factors(grid: &toml::Table) -> Result<Vec<Factor>, String> {
    let same = |a: &toml::Value, b: &toml::Value| {
        a == b || field::number(a).is_some_and(|a| Some(a) == field::number(b))
    };
    let mut factors = Vec::new();
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
        let level = |value: toml::Value| FactorLevel {
            values: vec![(name.clone(), value.clone())],
            shown: value,
        };
        factors.push(Factor {
            levels: list.into_iter().map(level).collect(),
            name,
        });
    }
    Ok(factors)
}

/// Levels of every combination; the last factor changes fastest.
pub(super) fn combinations(factors: &[Factor]) -> Result<Vec<Vec<usize>>, String> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for factor in factors {
        let (conditions, count) = (all.len(), factor.levels.len());
        if conditions.saturating_mul(count) > CONDITIONS_MAX {
            let found = format!("a list of {count} on top of {conditions} conditions");
            let expected = "at most 100000 conditions altogether";
            return Err(wrong(&factor.name, found, expected));
        }
        let more = |before: &Vec<usize>| {
            let with = |level: usize| before.iter().copied().chain([level]).collect();
            (0..count).map(with).collect::<Vec<Vec<usize>>>()
        };
        all = all.iter().flat_map(more).collect();
    }
    Ok(all)
}

/// Fields that a combination sets.
pub(super) fn fields_of(factors: &[Factor], levels: &[usize]) -> FieldValues {
    let of = factors.iter().zip(levels);
    of.flat_map(|(factor, &level)| factor.levels[level].values.iter().cloned())
        .collect()
}

/// Condition of a combination, which shows its levels instead of their fields.
fn condition(base: &Config, factors: &[Factor], levels: &[usize]) -> Result<Condition, String> {
    let shown = factors.iter().zip(levels);
    let shown =
        shown.map(|(factor, &level)| (factor.name.clone(), factor.levels[level].shown.clone()));
    let shown: FieldValues = shown.collect();
    let words = shown.iter();
    let words = words.map(|(name, value)| format!("{name} {}", field::formatted(value)));
    let place = words.collect::<Vec<_>>().join(", ");
    let condition = Condition::assemble(base, &place, None, fields_of(factors, levels))?;
    Ok(Condition {
        values: shown,
        ..condition
    })
}

/// Numbers of the factors of rows and columns; the first two, unless a table names others.
fn rows_and_columns(
    factors: &[Factor],
    table: Option<&TableText>,
) -> Result<(usize, usize), String> {
    if factors.len() < 2 {
        let expected = "two factors or more, as rows and columns; a list in [grid] is a factor";
        return Err(wrong(
            "[[factor]]",
            format!("{} of them", factors.len()),
            expected,
        ));
    }
    let Some(TableText { rows, columns }) = table else {
        return Ok((0, 1));
    };
    let find = |field: &str, name: &str| {
        let place = factors.iter().position(|factor| factor.name == name);
        place.ok_or_else(|| wrong(field, format!("\"{name}\""), &one_of(factor_list(factors))))
    };
    let (row, column) = (find("table.rows", rows)?, find("table.columns", columns)?);
    if row == column {
        let expected = "another factor than table.rows";
        return Err(wrong("table.columns", format!("\"{columns}\""), expected));
    }
    Ok((row, column))
}

fn factor_list(factors: &[Factor]) -> Vec<String> {
    factors.iter().map(|factor| factor.name.clone()).collect()
}

fn one_of(names: Vec<String>) -> String {
    format!("one of {}", names.join(", "))
}

/// Combinations that are left out: those whose levels are all among these.
struct Exception {
    /// Factors and their levels.
    levels: Vec<(usize, Vec<usize>)>,
    reason: String,
}

impl Exception {
    fn read(factors: &[Factor], table: &toml::Table, index: usize) -> Result<Self, String> {
        let of = format!("except[{index}]");
        let reason = table.get(REASON).and_then(toml::Value::as_str);
        let Some(reason) = reason.filter(|text| !text.trim().is_empty()) else {
            let found = table
                .get(REASON)
                .map_or("missing".into(), ToString::to_string);
            let expected = "a text that the cell shows";
            return Err(wrong(&format!("{of}.{REASON}"), found, expected));
        };
        let mut levels = Vec::new();
        for (name, value) in table.iter().filter(|(name, _)| *name != REASON) {
            let field = format!("{of}.{name}");
            let Some(factor) = factors.iter().position(|factor| factor.name == *name) else {
                let expected = format!("{}, or {REASON}", one_of(factor_list(factors)));
                return Err(wrong(&field, "no factor", &expected));
            };
            let list = match value {
                toml::Value::Array(list) => list.as_slice(),
                one => std::slice::from_ref(one),
            };
            let known: Vec<String> = factors[factor].level_names().collect();
            let place = |one: &toml::Value| {
                let place = known.iter().position(|name| *name == field::formatted(one));
                place.ok_or_else(|| wrong(&field, one, &one_of(known.clone())))
            };
            levels.push((factor, list.iter().map(place).collect::<Result<_, _>>()?));
        }
        if levels.is_empty() {
            let expected = format!("levels of {}", factor_list(factors).join(", "));
            return Err(wrong(&of, "without a factor", &expected));
        }
        Ok(Self {
            levels,
            reason: reason.trim().to_owned(),
        })
    }

    /// True if it leaves a combination out.
    fn covers(&self, levels: &[usize]) -> bool {
        let mut own = self.levels.iter();
        own.all(|(factor, excluded)| excluded.contains(&levels[*factor]))
    }
}

#[cfg(test)]
mod tests;
