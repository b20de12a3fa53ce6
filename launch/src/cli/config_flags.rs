//! Flags of a configuration, for commands that describe no session. Source: ours.

use std::path::PathBuf;

use clap::Args;
use palpate_session::config::{Config, ConfigError};

use super::session_flags;

/// A configuration in a file, and fields of it.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ConfigArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any field of that configuration, after everything else; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of that configuration; parts without randomness ignore it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = session_flags::seed)]
    pub seed: Option<u64>,
}

impl ConfigArgs {
    /// Configuration of the flags, based on `known` if they name no file; none if neither gives one.
    ///
    /// # Errors
    /// [`ConfigError`] names the file or flag, the field, its value, and the valid values.
    pub(crate) fn resolve(&self, known: Option<Config>) -> Result<Option<Config>, ConfigError> {
        let named = self
            .config
            .as_deref()
            .map(session_flags::read)
            .transpose()?;
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
    fn flags_override_the_known_configuration() {
        let mut flags = ConfigArgs::default();
        assert_eq!(flags.resolve(None), Ok(None));
        flags.set = vec!["master.predict.tool_radius_m=0.005".into()];
        let known = Config {
            seed: 7,
            ..Config::default()
        };
        let config = flags.resolve(Some(known)).expect("right").expect("some");
        assert_eq!(
            (config.seed, config.master.predict.tool_radius_m),
            (7, 0.005)
        );
        flags.set = vec!["master.predict.tool_radius_m=-1".into()];
        assert!(flags.resolve(None).is_err());
    }
}
