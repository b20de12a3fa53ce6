//! Live sessions: a supervisor, and the operator's and the remote side as processes of their own.
//!
//! [`side`] is one side alone, [`servo`] its 1 kHz loop, [`agreement`] what both must agree on
//! first, [`duty`] and [`face`] its CRTK commands and topics, [`mod@supervise`] the whole lab on one
//! machine: it builds the network, starts both sides in it, changes the link on time, shows the
//! status, and collects what the sides recorded. [`paced`] is a session of one process by the clock.

pub mod agreement;
pub mod allocation;
pub mod bare_timer;
pub mod duty;
pub mod face;
pub mod hand;
pub mod paced;
pub mod realtime;
pub mod servo;
pub mod side;
pub mod strokes;
pub mod supervise;

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::netlab::NetLabError;
use crate::record::RecordError;
use palpate_bus::SessionError;

pub use side::{SideOptions, SideReport, StatusLine, run_side};
pub use supervise::{RunOptions, RunOutcome, supervise};

/// Why a live session could not run or end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The bus could not be opened.
    #[error("bus: {0}")]
    Session(#[from] SessionError),
    /// The network lab could not be built.
    #[error("network lab: {0}")]
    NetLab(#[from] NetLabError),
    /// A recording could not be written or read.
    #[error("recording: {0}")]
    Record(#[from] RecordError),
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The sides were started with terms that do not fit together.
    #[error(transparent)]
    Disagreement(#[from] agreement::Disagreement),
    /// The terms of this side cannot be written down.
    #[error("the terms of this side: {0}")]
    Terms(#[from] toml::ser::Error),
    /// A codec was demanded that the sides cannot both have.
    #[error(transparent)]
    Codec(#[from] palpate_transport::codec::handshake::Refusal),
    /// The device of the operator cannot be used.
    #[error(transparent)]
    Input(#[from] crate::input::InputError),
    /// The other side never came.
    #[error("no other side within {waited_s} s; is it running, and do the endpoints match?")]
    NoPeer {
        /// How long it was waited for \[s\].
        waited_s: f64,
    },
    /// A side ended by itself before the session began.
    #[error("the {side} ended before the session began: {ending}")]
    Side {
        /// Which side.
        side: &'static str,
        /// Its exit status and its last words.
        ending: String,
    },
    /// A thread could not be started or did not end well.
    #[error("thread {name}: {detail}")]
    Thread {
        /// Which thread.
        name: &'static str,
        /// What went wrong.
        detail: String,
    },
}

/// An I/O error with the file it belongs to.
pub fn file_error(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> RunError + '_ {
    move |source| RunError::File {
        path: path.to_owned(),
        source,
    }
}
