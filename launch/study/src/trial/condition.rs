//! Conditions of a trial: lists of fields with values, listed in its file or drawn from a grid.
//!
//! Source: ours. Every error names field, value, and the expected value.

use palpate_session::config::Config;

use super::field;
use super::live::process_fault::{self, ProcessFault};
use super::person::draw_number;
use crate::messages::wrong;

/// Most conditions that are drawn.
const DRAWN_MAX: i64 = 100_000;

/// One condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Name in the file, if there is one.
    pub name: Option<String>,
    /// Fields that it sets, or the levels of its factors.
    pub values: FieldValues,
    /// Network profile that it sets. The random outages of the profile are drawn again for each seed.
    pub profile: Option<toml::Value>,
    /// Fault of a process of its live sessions, if any.
    pub(crate) process: Option<ProcessFault>,
    /// Resulting configuration, except for the seed.
    pub config: Config,
}

/// Fields with their values.
pub type FieldValues = Vec<(String, toml::Value)>;

/// Name and values of a condition before it is applied.
pub(super) type NamedValues = (Option<String>, FieldValues);

impl Condition {
    /// Applies values to a base; errors name `place`. The result is not validated as a whole.
    ///
    /// # Errors
    /// A message naming the field that cannot be set, or that is set twice.
    pub(super) fn assemble(
        base: &Config,
        place: &str,
        name: Option<String>,
        values: FieldValues,
    ) -> Result<Self, String> {
        for (number, (other, value)) in values.iter().enumerate() {
            let field = format!("{place}, {other}");
            for (one, _) in &values[..number] {
                if let Some(path) = field::overlap(one, other) {
                    let found = format!("beside {one}");
                    let expected = format!("one of them, as both set {path}");
                    return Err(wrong(&field, found, &expected));
                }
            }
            if ["seed", "seeds", "name"].contains(&other.as_str()) {
                let expected =
                    "seeds at the top of the file only, as all conditions have the same seeds";
                return Err(wrong(&field, value, expected));
            }
        }
        let mut config = base.clone();
        let process = ProcessFault::read(&values).map_err(|error| format!("{place}, {error}"))?;
        let each = values.iter().map(|(field, value)| (field.as_str(), value));
        let each = each.filter(|(field, _)| !process_fault::is_field(field));
        field::set_all(&mut config, each)
            .map_err(|(field, error)| format!("{place}, {field}: {error}"))?;
        let profile = values.iter().find(|(field, _)| field == field::PROFILE);
        Ok(Self {
            name,
            profile: profile.map(|(_, value)| value.clone()),
            process,
            values,
            config,
        })
    }

    /// Applies and validates the values of the condition with number `index`.
    ///
    /// # Errors
    /// As [`Self::assemble`], and the message of a session that refuses the configuration.
    pub(super) fn read(base: &Config, index: usize, listed: NamedValues) -> Result<Self, String> {
        let place = format!("condition {index}");
        let (name, values) = listed;
        let condition = Self::assemble(base, &place, name, values)?;
        let valid = condition.config.validate();
        valid.map_err(|error| format!("{place}: {error}"))?;
        Ok(condition)
    }

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
        let part = |(name, value): &(String, _)| format!("{name} {}", field::formatted(value));
        self.values.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

/// Conditions of a list of tables.
pub(super) fn listed(conditions: &[toml::Table]) -> Result<Vec<NamedValues>, String> {
    if conditions.is_empty() {
        // without conditions the trial runs the base itself, once for each seed
        return Ok(vec![(None, Vec::new())]);
    }
    let each = conditions.iter().enumerate();
    let each = each.map(|(index, table)| named(table, &format!("condition[{index}]")));
    each.collect()
}

/// Name of a table, if it has one, and its other fields; `place` is in messages.
pub(super) fn named(table: &toml::Table, place: &str) -> Result<NamedValues, String> {
    let name = match table.get("name") {
        None => None,
        Some(toml::Value::String(name)) => Some(name.clone()),
        Some(other) => return Err(wrong(&format!("{place}.name"), other, "a string")),
    };
    let values = flat(table).into_iter();
    Ok((name, values.filter(|(field, _)| field != "name").collect()))
}

/// Fields of a grid or a condition. Tables are paths: `coupling = { mode = "wave" }` is `coupling.mode`. The table of
/// an outage is one value.
pub(super) fn flat(table: &toml::Table) -> FieldValues {
    fn flatten(path: String, value: &toml::Value, out: &mut FieldValues) {
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
pub(super) fn drawn(grid: &toml::Table, count: i64, seed: u64) -> Result<Vec<NamedValues>, String> {
    if !(1..=DRAWN_MAX).contains(&count) {
        return Err(wrong("draw", count, "1 to 100000"));
    }
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
