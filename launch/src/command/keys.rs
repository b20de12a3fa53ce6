//! `palpate keys`: makes, shows, trusts and revokes the keys of secured sessions. Source: ours.

use std::io::ErrorKind;
use std::path::Path;

use palpate_analysis::Failure;
use palpate_session::keys::{self, KeyFolderError};
use palpate_transport::trace::Side;

use super::CommandOutcome;
use crate::cli::{KeysAction, PermittedSide};

/// Name of a host whose own name cannot be used.
const NAME: &str = "host";

/// Runs the action.
///
/// # Errors
/// [`Failure::Usage`] names the file, and what would be right; [`Failure::Refused`] if the system refuses.
pub(super) fn keys(action: &KeysAction) -> Result<CommandOutcome, Failure> {
    let done = match action {
        KeysAction::New { folder, name } => new(folder, name.as_deref()),
        KeysAction::Show { folder } => show(folder),
        KeysAction::Trust {
            folder,
            certificate,
            permitted,
            guest,
        } => match (certificate, guest) {
            (Some(certificate), _) => trust(folder, certificate, only(*permitted)),
            (None, guest) => invite(folder, guest.as_deref().unwrap_or_default()),
        },
        KeysAction::Revoke { folder, name } => revoke(folder, name),
    };
    let text = done.map_err(|error| match error {
        KeyFolderError::File { ref source, .. } if source.kind() != ErrorKind::NotFound => {
            Failure::Refused(error.to_string())
        }
        other => Failure::Usage(other.to_string()),
    })?;
    Ok(CommandOutcome::unchecked(text))
}

/// Name of a key: that of this host, without what a name cannot have.
fn name_of_key() -> String {
    let name = keys::system_host_name();
    let first = name.split('.').next().unwrap_or_default();
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let name: String = first.chars().filter(allowed).take(32).collect();
    if name.is_empty() { NAME.into() } else { name }
}

fn new(folder: &Path, name: Option<&str>) -> Result<String, KeyFolderError> {
    let host = keys::make(folder, &name.map_or_else(name_of_key, str::to_owned))?;
    let (name, print) = (host.name(), host.certificate().fingerprint());
    let certificate = keys::certificate_path(folder);
    Ok(format!(
        "key of {name}: {print}\n\nGive {} to the other host, which trusts it by:\n  \
         palpate keys trust DIR {name}.pem\n",
        certificate.display()
    ))
}

fn show(folder: &Path) -> Result<String, KeyFolderError> {
    let keyring = keys::read(folder)?;
    let own = keyring.own.certificate();
    let mut text = format!("this host  {:<16} {}\n", own.name(), own.fingerprint());
    for (role, all) in [("trusted", &keyring.peers), ("guest", &keyring.guests)] {
        for one in all {
            let only = keyring.only.get(one.name());
            let only = only.map_or(String::new(), |side| format!("  as {} only", side.name()));
            text += &format!(
                "{role:<10} {:<16} {}{only}\n",
                one.name(),
                one.fingerprint()
            );
        }
    }
    if keyring.peers.is_empty() {
        text += "No other host is trusted yet: see `palpate keys trust --help`.\n";
    }
    Ok(text)
}

fn only(permitted: PermittedSide) -> Option<Side> {
    match permitted {
        PermittedSide::Master => Some(Side::Master),
        PermittedSide::Slave => Some(Side::Slave),
        PermittedSide::Any => None,
    }
}

fn trust(folder: &Path, certificate: &Path, only: Option<Side>) -> Result<String, KeyFolderError> {
    let peer = keys::trust(folder, certificate, only)?;
    let own = keys::read_host(folder)?;
    Ok(format!(
        "trusted    {:<16} {}\nthis host  {:<16} {}\n\nCompare both lines with those that `palpate keys show` \
         prints on the other host. If one differs, revoke: palpate keys revoke {} {}\n",
        peer.name(),
        peer.fingerprint(),
        own.name(),
        own.certificate().fingerprint(),
        folder.display(),
        peer.name()
    ))
}

fn invite(folder: &Path, name: &str) -> Result<String, KeyFolderError> {
    let guest = keys::invite(folder, name)?;
    Ok(format!(
        "guest      {name}\n\nGive the files of {} to the guest in a private way: its key is among them.\n",
        guest.display()
    ))
}

fn revoke(folder: &Path, name: &str) -> Result<String, KeyFolderError> {
    keys::revoke(folder, name)?;
    Ok(format!(
        "{name} is no longer trusted; a running session with these keys closes.\n"
    ))
}
