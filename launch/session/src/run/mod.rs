//! Live sessions: a supervisor with the operator's and the remote side as separate processes.
//!
//! [`side`] is one side alone, [`servo`] its 1 kHz loop, [`agreement`] the agreement on terms before the first
//! frame, `owner_watch` follows hand-overs of the robot, [`command_state`] and [`crtk_publisher`] its CRTK commands and topics. [`mod@supervise`] runs the whole
//! lab on one machine: it builds the network, starts both sides in it, changes the link on time, shows the status,
//! and collects the recordings. [`clocked`] is a session of one process by the clock.

pub mod agreement;
pub mod allocation;
pub mod bare_timer;
pub mod clocked;
pub mod command_state;
mod connect;
pub mod crtk_publisher;
pub mod handle_source;
mod owner_watch;
pub mod realtime;
pub mod servo;
pub mod side;
pub mod supervise;

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::netlab::NetLabError;
use crate::record::RecordError;
use palpate_bus::BusError;

pub use side::{SideOptions, SideReport, StatusLine, run_side};
pub use supervise::{RunOptions, RunOutcome, supervise};

/// Error of a live session.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The bus could not be opened.
    #[error("bus: {0}")]
    Session(#[from] BusError),
    /// The network lab could not be built.
    #[error("network lab: {0}")]
    NetLab(#[from] NetLabError),
    /// A recording could not be written or read.
    #[error("recording: {0}")]
    Record(#[from] RecordError),
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The terms of the sides do not fit together.
    #[error(transparent)]
    Disagreement(#[from] agreement::Disagreement),
    /// The terms of this side cannot be encoded.
    #[error("the terms of this side: {0}")]
    Terms(#[from] toml::ser::Error),
    /// A required codec is not possible on both sides.
    #[error(transparent)]
    Codec(#[from] palpate_transport::codec::handshake::CodecRefusal),
    /// The device of the operator cannot be used.
    #[error(transparent)]
    Input(#[from] crate::input::InputError),
    /// The other side did not come.
    #[error("no other side within {waited_s} s; is it running, and do the endpoints match?")]
    NoPeer {
        /// Time waited \[s\].
        waited_s: f64,
    },
    /// The other side belongs to somebody else.
    #[error("the other side refuses: {reason}")]
    Owned {
        /// Reason that the other side gives.
        reason: String,
    },
    /// The keys of a session cannot be used.
    #[error(transparent)]
    Keys(#[from] crate::keys::KeyFolderError),
    /// A key was revoked before the session began.
    #[error("the key of {name} was revoked")]
    Revoked {
        /// Name of the host or the guest.
        name: String,
    },
    /// A side ended before the session began.
    #[error("the {side} ended before the session began: {ending}")]
    Side {
        /// The side.
        side: &'static str,
        /// Exit status and the end of its stderr.
        ending: String,
    },
    /// A thread could not be started or panicked.
    #[error("thread {name}: {detail}")]
    Thread {
        /// Name of the thread.
        name: &'static str,
        /// Cause.
        detail: String,
    },
}

/// Wraps an I/O error with its file.
pub fn file_error(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> RunError + '_ {
    move |source| RunError::File {
        path: path.to_owned(),
        source,
    }
}
