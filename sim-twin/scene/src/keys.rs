//! Removed and renamed keys of a TOML text: the text is still read, with a note on each such key.
//!
//! Source: ours. Each kind of text has a list of [`MovedKey`]; a text without such keys is parsed as it is.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Key of an earlier version that was removed or renamed.
#[derive(Debug, Clone, Copy)]
pub struct MovedKey {
    /// Dotted path of the key; a list of tables on the path stands for each of its tables.
    pub path: &'static str,
    /// Present name of the key, in the same table; none if the key has no effect any more.
    pub now: Option<&'static str>,
}

/// Reads a text after [`rename`] below each path of `inside`; returns the value and the notes. A parse error of a text
/// with moved keys has no line number.
///
/// # Errors
/// As of the TOML parser.
pub fn read<T: DeserializeOwned>(
    text: &str,
    moved: &[MovedKey],
    inside: &[&str],
) -> Result<(T, Vec<String>), toml::de::Error> {
    let mut table: Table = toml::from_str(text)?;
    let notes = rename(&mut table, moved, inside);
    let value = match notes.is_empty() {
        true => toml::from_str(text)?,
        false => table.try_into()?,
    };
    Ok((value, notes))
}

/// Removes or renames the keys of `moved` below each dotted path of `inside`, where the empty path is the whole table.
/// Returns a note on each: its path, as in `model.relax_s`, and its new name, or that it has no effect.
pub fn rename(table: &mut Table, moved: &[MovedKey], inside: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    for outer in inside {
        for key in moved {
            let path = match outer.is_empty() {
                true => key.path.to_owned(),
                false => format!("{outer}.{}", key.path),
            };
            if key.apply(table, &path) {
                notes.push(key.note(&path));
            }
        }
    }
    notes
}

impl MovedKey {
    /// Key at `path` whose last part is now called `now`.
    #[must_use]
    pub const fn renamed(path: &'static str, now: &'static str) -> Self {
        let now = Some(now);
        Self { path, now }
    }

    fn note(&self, path: &str) -> String {
        match self.now {
            Some(now) => format!("`{path}` is now `{now}`"),
            None => format!("`{path}` has no effect"),
        }
    }

    /// Removes or renames the key at `path` of a table; true if it was there. The path may also be one quoted key. A key
    /// beside its new name stays, so that the parser refuses it as unknown.
    fn apply(&self, table: &mut Table, path: &str) -> bool {
        if table.contains_key(path) {
            let now = self.now.map(|now| sibling(path, now));
            if now.as_ref().is_some_and(|now| table.contains_key(now)) {
                return false;
            }
            if let (Some(value), Some(now)) = (table.remove(path), now) {
                table.insert(now, value);
            }
            return true;
        }
        let Some((first, rest)) = path.split_once('.') else {
            return false;
        };
        match table.get_mut(first) {
            Some(Value::Table(inner)) => self.apply(inner, rest),
            Some(Value::Array(list)) => {
                let tables = list.iter_mut().filter_map(Value::as_table_mut);
                tables
                    .filter_map(|inner| self.apply(inner, rest).then_some(()))
                    .count()
                    > 0
            }
            _ => false,
        }
    }
}

/// Dotted path of another key in the same table.
#[must_use]
pub fn sibling(path: &str, name: &str) -> String {
    match path.rsplit_once('.') {
        Some((outer, _)) => format!("{outer}.{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVED: [MovedKey; 3] = [
        MovedKey {
            path: "model.gone_s",
            now: None,
        },
        MovedKey::renamed("lump.old_m", "new_m"),
        MovedKey::renamed("other", "name"),
    ];

    fn settled(text: &str) -> (Table, Vec<String>) {
        read(text, &MOVED, &[""]).expect("TOML")
    }

    #[test]
    fn renamed_key_keeps_its_value_and_removed_key_is_dropped() {
        let (table, notes) = settled(
            "other = 1\n[model]\ngone_s = 2\ndt_s = 3\n[[lump]]\nold_m = 4\n[[lump]]\nold_m = 5\n",
        );
        let wanted = "name = 1\n[model]\ndt_s = 3\n[[lump]]\nnew_m = 4\n[[lump]]\nnew_m = 5\n";
        assert_eq!(table, settled(wanted).0);
        assert_eq!(
            notes,
            [
                "`model.gone_s` has no effect",
                "`lump.old_m` is now `new_m`",
                "`other` is now `name`"
            ]
        );
        assert_eq!(settled(wanted).1, [""; 0]);
    }

    #[test]
    fn key_beside_its_new_name_is_not_renamed() {
        let (table, notes) = settled("other = 1\nname = 2\n");
        assert!(table.contains_key("other") && notes.is_empty());
    }

    #[test]
    fn keys_inside_other_tables_and_in_quotes_are_renamed() {
        let mut table: Table =
            toml::from_str("[[part]]\n\"lump.old_m\" = 1\n[[part]]\nlump.old_m = 2\n")
                .expect("TOML");
        let notes = rename(&mut table, &MOVED, &["part"]);
        let wanted: Table =
            toml::from_str("[[part]]\n\"lump.new_m\" = 1\n[[part]]\nlump.new_m = 2\n")
                .expect("TOML");
        assert_eq!(table, wanted);
        assert_eq!(notes, ["`part.lump.old_m` is now `new_m`"]);
    }
}
