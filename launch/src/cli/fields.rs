//! Flags of a configuration where no session is described. Source: ours.

use std::path::PathBuf;

use clap::Args;
use palpate_session::config::{Config, ConfigError};

use super::flags;

/// A configuration in a file, and fields of it.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct FieldArgs {
    /// Configuration file (TOML) to go by
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any field of that configuration, after everything else; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of that configuration; what is not random does not heed it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = flags::seed)]
    pub seed: Option<u64>,
}

impl FieldArgs {
    /// The configuration that the flags describe, from `known` if they name no file; none if nothing names any.
    ///
    /// # Errors
    /// [`ConfigError`] naming the file or flag, the field, its value, and what would be right.
    pub fn over(&self, known: Option<Config>) -> Result<Option<Config>, ConfigError> {
        let named = self.config.as_deref().map(flags::read).transpose()?;
        if self.set.is_empty() && self.seed.is_none() {
            return Ok(named.or(known));
        }
        let mut config = named.or(known).unwrap_or_default();
        config.seed = self.seed.unwrap_or(config.seed);
        for assignment in &self.set {
            config.set(assignment)?;
        }
        config.validate()?;
        Ok(Some(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_what_is_known_and_nothing_is_made_up() {
        let mut flags = FieldArgs::default();
        assert_eq!(flags.over(None), Ok(None));
        flags.set = vec!["master.predict.tool_radius_m=0.005".into()];
        let known = Config {
            seed: 7,
            ..Config::default()
        };
        let config = flags.over(Some(known)).expect("right").expect("some");
        assert_eq!(
            (config.seed, config.master.predict.tool_radius_m),
            (7, 0.005)
        );
        flags.set = vec!["master.predict.tool_radius_m=-1".into()];
        assert!(flags.over(None).is_err());
    }
}
