//! Plan of a trial: its rows in order, the rows of a shard, and the hash that identifies a trial.
//!
//! Source: ours. A row is a pure function of the trial and of its number, so any division of rows
//! among cores, shards and interrupted runs yields the same table.

use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use xxhash_rust::xxh3::Xxh3;

use super::condition::Condition;
use super::file::Trial;
use super::{field, person};
use crate::messages::name;

/// Row of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedRow {
    /// Number of the row in the whole trial, from 0.
    pub index: usize,
    /// Number of its condition.
    pub condition: usize,
    /// Seed in the file.
    pub seed: u64,
    /// Number of the repeat, from 0.
    pub repeat: usize,
}

impl PlannedRow {
    /// Seed of the session: the one of the file, and another for every further repeat. It does not
    /// depend on the condition, so that conditions see the same random events.
    pub(crate) fn session_seed(&self) -> u64 {
        if self.repeat == 0 {
            return self.seed;
        }
        // seeds are written to TOML, whose integers are signed
        person::draw_number(self.seed, b"repeat", self.repeat as u64) >> 1
    }

    /// Configuration of the row's session.
    pub(crate) fn config(&self, trial: &Trial) -> Config {
        let condition = &trial.conditions[self.condition];
        let mut config = condition.config.clone();
        config.seed = self.session_seed();
        if let Some(profile) = &condition.profile {
            // the profile was checked when the file was read; every seed draws its own cuts
            let _ = field::draw_cuts(&mut config, profile);
        }
        config
    }
}

/// Part of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    pub part: usize,
    /// Number of parts.
    pub of: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self { part: 1, of: 1 }
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let parsed = numbers.and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let shard = parsed.map(|(part, of)| Self { part, of });
        shard
            .filter(|shard| (1..=shard.of).contains(&shard.part) && shard.of <= 1_000_000)
            .ok_or_else(|| "expected i/n with i from 1 to n, as in 2/8".to_owned())
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl Trial {
    /// Kind of the handle's device: the column `handle`.
    pub(crate) fn handle(&self) -> &'static str {
        match self.base.operator.device {
            Some(_) => "device",
            None => "page",
        }
    }

    /// Number of rows of the whole trial.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.conditions.len() * self.seeds.len() * self.repeats
    }

    /// Row of a number below [`Self::row_count`]: repeats change fastest, conditions slowest.
    pub(crate) fn planned_row(&self, index: usize) -> PlannedRow {
        let per_condition = self.seeds.len() * self.repeats;
        let (condition, within) = (index / per_condition, index % per_condition);
        let seed = self.seeds[within / self.repeats];
        // a drawn session also draws its random events; only a trial with `draw` has `refused`
        // seeds are written to TOML, whose integers are signed
        let drawn = || person::draw_number(seed, b"session", condition as u64) >> 1;
        PlannedRow {
            index,
            condition,
            seed: self.refused.map_or(seed, |_| drawn()),
            repeat: within % self.repeats,
        }
    }

    /// Rows of a shard: every `of`-th, so that costly conditions are distributed over all shards.
    #[must_use]
    pub fn planned_rows(&self, shard: Shard) -> Vec<PlannedRow> {
        let numbers = (shard.part - 1..self.row_count()).step_by(shard.of);
        numbers.map(|index| self.planned_row(index)).collect()
    }

    /// Identity of the trial: a hash of all inputs of its rows, including the scenes with their
    /// meshes, and version and sources of Palpate. Comments and layout of the file do not count.
    ///
    /// # Errors
    /// [`ConfigError`] if a scene cannot be read.
    pub(crate) fn hash(&self) -> Result<String, ConfigError> {
        let mut hash = Xxh3::new();
        let mut add_bytes = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        let mut add = |text: &str| add_bytes(text.as_bytes());
        add(env!("CARGO_PKG_VERSION"));
        add(env!("PALPATE_SOURCES"));
        add(&name(&self.kind));
        add(&name(&self.clock));
        add(&format!("{:?} {}", self.seeds, self.repeats));
        add(&format!("{:?} {:?}", self.psycho, self.transparency));
        add(&format!("{:?} {:?}", self.respondent, self.person));
        add(&format!("{:?}", self.matrix));
        let mut scenes: Vec<(&str, &'static str)> = Vec::new();
        for Condition {
            name: own,
            process,
            config,
            ..
        } in &self.conditions
        {
            add(&format!("{own:?} {process:?}"));
            add(&config.to_toml());
            let target = config
                .morph_to
                .iter()
                .map(|name| (name.as_str(), "morph_to"));
            let both = [(config.tissue.as_str(), "tissue"), (&config.twin, "twin")];
            for scene in both.into_iter().chain(target) {
                let is_scene = scene.0 != "free" && !scene.0.starts_with("wall:");
                if is_scene && !scenes.iter().any(|known| known.0 == scene.0) {
                    scenes.push(scene);
                }
            }
        }
        for (name, field) in scenes {
            lab::read_scene(name, field, &mut add_bytes)?;
        }
        Ok(format!("{:016x}", hash.digest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(text: &str) -> Trial {
        Trial::parse(text, "t.toml").expect("good")
    }

    #[test]
    fn shards_partition_all_rows() {
        let trial = trial("seeds = 3\nrepeats = 2\n[grid]\nrtt_ms = [0, 10, 20, 30]\n");
        assert_eq!(trial.row_count(), 24);
        let mut seen: Vec<usize> = (1..=5)
            .flat_map(|part| trial.planned_rows(Shard { part, of: 5 }))
            .map(|planned| planned.index)
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..24).collect::<Vec<_>>());
        let planned = trial.planned_row(9);
        assert_eq!((planned.condition, planned.seed, planned.repeat), (1, 2, 1));
        assert_ne!(planned.session_seed(), 2);
        assert_eq!(trial.planned_row(8).session_seed(), 2);
        for wrong in ["0/2", "3/2", "2", "1/x", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!("2/8".parse(), Ok(Shard { part: 2, of: 8 }));
    }

    #[test]
    fn hash_depends_on_inputs_of_rows() {
        let hash = |text: &str| trial(text).hash().expect("built-in scenes");
        let one = hash("seeds = 3\n[grid]\nloss = [0.1]\n");
        assert_eq!(
            one,
            hash("# a comment\nseeds = [1, 2, 3]\n\n[grid]\nloss = [ 0.1 ]")
        );
        assert_eq!(env!("PALPATE_SOURCES").len(), 16);
        assert_ne!(one, hash("seeds = 4\n[grid]\nloss = [0.1]\n"));
        assert_ne!(one, hash("seeds = 3\n[grid]\nloss = [0.2]\n"));
        assert_ne!(
            one,
            hash("seeds = 3\n[grid]\nloss = [0.1]\n[base]\ntwin = \"sheet\"\n")
        );
    }

    #[test]
    fn issue_hash_ignored_changed_meshes() {
        let folder = tempfile::tempdir().expect("a folder");
        let built_in =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sim-twin/scene/scenes");
        let own = |name: &str| folder.path().join(name);
        for name in ["mound.toml", "mound.msh"] {
            std::fs::copy(built_in.join(name), own(name)).expect("copied");
        }
        let scene = own("mound.toml");
        for field in ["tissue", "twin", "morph_to"] {
            let text = format!("[base]\n{field} = {scene:?}\n");
            let hash = || trial(&text).hash().expect("a scene");
            let before = hash();
            assert_eq!(hash(), before, "the same files are the same trial");
            for name in ["mound.msh", "mound.toml"] {
                let old = std::fs::read_to_string(own(name)).expect("text");
                std::fs::write(own(name), format!("{old}\n")).expect("writable");
                assert_ne!(hash(), before, "{field}: {name} was changed");
                std::fs::write(own(name), old).expect("writable");
            }
            assert_eq!(hash(), before);
        }
    }
}
