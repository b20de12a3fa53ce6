//! Failures of commands: bad input, or a refusal by the machine. Source: ours.

use palpate_session::config::ConfigError;
use palpate_session::run::RunError;

/// Reason for which a command has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Bad usage or bad input: file, line or field, value found, value expected.
    #[error("{0}")]
    Usage(String),
    /// A resource that the machine refused.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    /// Exit status of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Config(error) => error.into(),
            RunError::Disagreement(error) => Self::Usage(error.to_string()),
            RunError::Codec(error) => Self::Usage(error.to_string()),
            other => Self::Refused(other.to_string()),
        }
    }
}
