//! Flags of `palpate keys`, and of sessions with keys. Source: ours.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use palpate_analysis::Failure;
use palpate_session::keys::SessionKeys;

/// Keys of a side.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Security")]
pub struct SecurityArgs {
    /// Folder of `palpate keys`: the reliable link is TLS, frames are sealed, and only trusted hosts are accepted
    #[arg(long, value_name = "DIR", conflicts_with = "insecure")]
    pub secure: Option<PathBuf>,
    /// Permit endpoints beyond this host without keys: whoever reaches them can read and command
    #[arg(long)]
    pub insecure: bool,
}

impl SecurityArgs {
    /// Reads the keys, if a folder is given.
    ///
    /// # Errors
    /// [`Failure::Usage`] names the file, and what would be right.
    pub(crate) fn keys(&self) -> Result<Option<SessionKeys>, Failure> {
        let keys = self.secure.as_deref().map(SessionKeys::read).transpose();
        keys.map_err(|error| Failure::Usage(format!("--secure: {error}")))
    }
}

/// Sides that a trusted host may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PermittedSide {
    /// The operator's side only.
    Master,
    /// The robot's side only.
    Slave,
    /// Either side.
    Any,
}

/// Actions of `palpate keys`.
#[derive(Debug, Clone, Subcommand)]
pub enum KeysAction {
    /// Make the key of this host, in a new folder
    #[command(after_help = "Example:\n  palpate keys new keys --name robot\n\
        \nGive keys/host.pem to the other host. Never give away keys/host.key.")]
    New {
        /// Folder for the keys
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name of this host for others: letters, digits, - and _ [default: the host's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the fingerprint of this host, and those of trusted hosts and guests
    #[command(after_help = "Example:\n  palpate keys show keys")]
    Show {
        /// Folder of the keys
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Trust another host, or make keys for a guest, who may only look
    #[command(after_help = "Examples:\n  palpate keys trust keys other-host.pem\n  \
        palpate keys trust keys robot.pem --as slave\n  \
        palpate keys trust keys --guest viewer")]
    Trust {
        /// Folder of the keys
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Certificate of the other host, its host.pem; it may command
        #[arg(value_name = "PEER.pem", required_unless_present = "guest")]
        certificate: Option<PathBuf>,
        /// Sides that the other host may be
        #[arg(
            long = "as",
            value_name = "SIDE",
            default_value = "any",
            conflicts_with = "guest"
        )]
        permitted: PermittedSide,
        /// Make keys for a guest of this name, such as a ROS 2 node: it may subscribe, and command nothing
        #[arg(long, value_name = "NAME", conflicts_with = "certificate")]
        guest: Option<String>,
    },
    /// End the trust in a host or a guest; a running session with it closes
    #[command(after_help = "Example:\n  palpate keys revoke keys robot")]
    Revoke {
        /// Folder of the keys
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name of the host or the guest
        name: String,
    },
}
