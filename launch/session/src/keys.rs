//! Folder with the keys of a host: `palpate keys` makes it, `--secure` uses it.
//!
//! `host.pem` is the host's certificate, for its peers; `host.key` its private key. `trusted/NAME.pem` is the
//! certificate of a host that may command; `trusted/NAME.only` names the side that it may be, if only one. `guests/NAME/`
//! has the files of a guest, who may only look. `revoked/NAME` reserves the name of a former guest: its certificate stays
//! valid, and access control compares only names. Private keys have mode 0600, folders 0700; a private key that others
//! can read is refused, as SSH does. Source: ours.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use palpate_bus::keys::{HostCertificate, HostKey, Keyring, KeyringError, check_name};
use palpate_transport::clock::wall_now;
use palpate_transport::trace::Side;

use crate::files;

/// Certificate of the host.
const HOST_PEM: &str = "host.pem";
/// Private key of the host.
const HOST_KEY: &str = "host.key";
/// Folder of the trusted hosts.
const TRUSTED: &str = "trusted";
/// Folder of the guests.
const GUESTS: &str = "guests";
/// Folder of the names of former guests.
const REVOKED: &str = "revoked";
/// Ending of the file beside the certificate of a trusted host that may be one side only: it has the name of the side.
const ONLY: &str = "only";
/// Certificate of a guest, in its folder.
const GUEST_PEM: &str = "guest.pem";
/// Private key of a guest, in its folder.
const GUEST_KEY: &str = "guest.key";

/// Failure with a folder of keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyFolderError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// There are no keys yet.
    #[error("{}: it has no keys; `palpate keys new {}` makes them", folder.display(), folder.display())]
    NoKeys {
        /// The folder.
        folder: PathBuf,
    },
    /// There are keys already.
    #[error("{}: it exists; expected a folder without keys", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Other users can read a private key.
    #[error("{}: its mode is {mode:03o}, so others can read it; expected 600: `chmod 600 {}`", path.display(), path.display())]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The content of a file cannot be used.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file, or the folder.
        path: PathBuf,
        /// Reason.
        source: KeyringError,
    },
    /// The side of a trusted host cannot be read.
    #[error("{}: it is {found:?}; expected master or slave", path.display())]
    Side {
        /// The file.
        path: PathBuf,
        /// Content found.
        found: String,
    },
    /// A host is trusted with other rights.
    #[error("{name:?} is trusted as {known} in {}; expected the same, or `palpate keys revoke` first", folder.display())]
    Rights {
        /// Name of the host.
        name: String,
        /// Sides that it may be.
        known: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// Another key has the name.
    #[error("{name:?} is already the name of {owner} in {}; expected {expected}", folder.display())]
    Taken {
        /// The name.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// Owner of the key with this name.
        owner: &'static str,
        /// Names that would be right: a revocation frees only the name of a host.
        expected: &'static str,
    },
    /// A former guest had the name.
    #[error(
        "{name:?} was the name of a guest who was revoked, and its certificate still has it; expected a new name"
    )]
    Spent {
        /// The name.
        name: String,
    },
    /// Nobody has the name.
    #[error("{name:?} is not trusted in {}; expected one of: {}", folder.display(), known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// Names of the trusted hosts and the guests.
        known: Vec<String>,
    },
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> KeyFolderError + '_ {
    move |source| KeyFolderError::File {
        path: path.to_owned(),
        source,
    }
}

fn content_error(path: &Path) -> impl FnOnce(KeyringError) -> KeyFolderError + '_ {
    move |source| KeyFolderError::Content {
        path: path.to_owned(),
        source,
    }
}

fn create_folder(path: &Path) -> Result<(), KeyFolderError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(file_error(path))
}

/// Writes a new file that only its owner can read; an existing one is refused.
fn write_new(path: &Path, text: &str) -> Result<(), KeyFolderError> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => KeyFolderError::Exists {
            path: path.to_owned(),
        },
        _ => file_error(path)(source),
    })
}

fn read_text(path: &Path) -> Result<String, KeyFolderError> {
    files::read_text(path).map_err(file_error(path))
}

fn read_certificate(path: &Path) -> Result<HostCertificate, KeyFolderError> {
    HostCertificate::parse(&read_text(path)?).map_err(content_error(path))
}

/// Host name of this machine in the operating system; empty if it has none.
#[must_use]
pub fn system_host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Makes the keys of a host of this name in a new folder.
///
/// # Errors
/// [`KeyFolderError`], also if the folder has keys.
pub fn make(folder: &Path, name: &str) -> Result<HostKey, KeyFolderError> {
    let host = HostKey::generate(name, wall_now()).map_err(content_error(folder))?;
    for part in [folder, &folder.join(TRUSTED), &folder.join(GUESTS)] {
        create_folder(part)?;
    }
    write_new(&folder.join(HOST_KEY), host.key_pem())?;
    write_new(&folder.join(HOST_PEM), host.certificate().pem())?;
    Ok(host)
}

/// Reads the key of the host.
///
/// # Errors
/// [`KeyFolderError`], also if others can read it.
pub fn read_host(folder: &Path) -> Result<HostKey, KeyFolderError> {
    let path = folder.join(HOST_KEY);
    let found = fs::metadata(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => KeyFolderError::NoKeys {
            folder: folder.to_owned(),
        },
        _ => file_error(&path)(source),
    })?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFolderError::Readable { path, mode });
    }
    let (certificate, key) = (read_text(&folder.join(HOST_PEM))?, read_text(&path)?);
    HostKey::parse(&certificate, &key).map_err(content_error(&path))
}

/// Paths in a part of the folder, in the order of their names; none if the part does not exist.
fn entries(path: &Path) -> Result<Vec<PathBuf>, KeyFolderError> {
    let listed = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.and_then(|all| all.map(|one| Ok(one?.path())).collect()),
    };
    let mut paths: Vec<PathBuf> = listed.map_err(file_error(path))?;
    paths.sort();
    Ok(paths)
}

fn only_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(TRUSTED).join(format!("{name}.{ONLY}"))
}

/// The one side that a trusted host may be; none without such a file.
fn read_only_side(path: &Path) -> Result<Option<Side>, KeyFolderError> {
    let text = match files::read_text(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(file_error(path))?,
    };
    let named = |side: &Side| side.name() == text.trim();
    let side = [Side::Master, Side::Slave].into_iter().find(named);
    side.map(Some).ok_or_else(|| KeyFolderError::Side {
        path: path.to_owned(),
        found: text.chars().take(32).collect(),
    })
}

/// Reads all keys of a folder.
///
/// # Errors
/// [`KeyFolderError`] names the file.
pub fn read(folder: &Path) -> Result<Keyring, KeyFolderError> {
    let of = |part: &str, file: &str| -> Result<Vec<HostCertificate>, KeyFolderError> {
        let mut paths = entries(&folder.join(part))?;
        paths.retain(|path| path.extension().is_none_or(|ending| ending != ONLY));
        let paths = paths.iter().map(|path| match file {
            "" => path.clone(),
            inside => path.join(inside),
        });
        paths.map(|path| read_certificate(&path)).collect()
    };
    let peers = of(TRUSTED, "")?;
    let only = peers.iter().filter_map(|peer| {
        let side = read_only_side(&only_path(folder, peer.name())).transpose()?;
        Some(side.map(|side| (peer.name().to_owned(), side)))
    });
    Ok(Keyring {
        own: read_host(folder)?,
        only: only.collect::<Result<_, _>>()?,
        peers,
        guests: of(GUESTS, GUEST_PEM)?,
    })
}

/// Refuses a name that another key in the folder has, or a former guest had.
fn check_free(folder: &Path, keyring: &Keyring, name: &str) -> Result<(), KeyFolderError> {
    if folder.join(REVOKED).join(name).exists() {
        return Err(KeyFolderError::Spent {
            name: name.to_owned(),
        });
    }
    let is = |one: &HostCertificate| one.name() == name;
    let (owner, expected) = if is(keyring.own.certificate()) {
        ("this host", "another name")
    } else if keyring.guests.iter().any(is) {
        ("a guest", "another name")
    } else if keyring.peers.iter().any(is) {
        (
            "another trusted host",
            "another name, or `palpate keys revoke` first",
        )
    } else {
        return Ok(());
    };
    Err(KeyFolderError::Taken {
        name: name.to_owned(),
        folder: folder.to_owned(),
        owner,
        expected,
    })
}

/// Trusts the host of a certificate: it may command, as either side, or as the `only` one. A host that is trusted already
/// is accepted.
///
/// # Errors
/// [`KeyFolderError`], also if another key has its name, or it is trusted as other sides.
pub fn trust(
    folder: &Path,
    certificate: &Path,
    only: Option<Side>,
) -> Result<HostCertificate, KeyFolderError> {
    let keyring = read(folder)?;
    let peer = read_certificate(certificate)?;
    peer.check_dates(wall_now())
        .map_err(content_error(certificate))?;
    let known = keyring
        .peers
        .iter()
        .any(|known| known.name() == peer.name() && known.fingerprint() == peer.fingerprint());
    if !known {
        check_free(folder, &keyring, peer.name())?;
        // the side first: if this is interrupted, the host must not have more rights
        if let Some(side) = only {
            write_new(&only_path(folder, peer.name()), side.name())?;
        }
        let path = folder.join(TRUSTED).join(format!("{}.pem", peer.name()));
        write_new(&path, peer.pem())?;
    } else if keyring.only.get(peer.name()).copied() != only {
        let known = keyring.only.get(peer.name());
        return Err(KeyFolderError::Rights {
            name: peer.name().to_owned(),
            known: known.map_or("any side", |side| side.name()),
            folder: folder.to_owned(),
        });
    }
    Ok(peer)
}

/// Makes keys for a guest, who may only look; returns the folder that the guest needs.
///
/// # Errors
/// [`KeyFolderError`], also if another key has the name.
pub fn invite(folder: &Path, name: &str) -> Result<PathBuf, KeyFolderError> {
    let keyring = read(folder)?;
    check_name(name).map_err(content_error(folder))?;
    check_free(folder, &keyring, name)?;
    let guest = keyring.own.issue(name, wall_now());
    let guest = guest.map_err(content_error(folder))?;
    let path = folder.join(GUESTS).join(name);
    create_folder(&path)?;
    write_new(&path.join(GUEST_KEY), guest.key_pem())?;
    write_new(&path.join(HOST_PEM), keyring.own.certificate().pem())?;
    write_new(&path.join(GUEST_PEM), guest.certificate().pem())?;
    Ok(path)
}

fn remove_if_there(path: &Path) -> Result<(), KeyFolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error(path)(error)),
        _ => Ok(()),
    }
}

/// Removes the private keys that [`make_pair`] made, once both sides of the session have read them. Certificates stay: a
/// side closes without them.
///
/// # Errors
/// [`KeyFolderError::File`] if the system refuses.
pub(crate) fn remove_private(folder: &Path, names: [&str; 2]) -> Result<(), KeyFolderError> {
    let mut paths = names.iter().map(|name| folder.join(name).join(HOST_KEY));
    paths.try_for_each(|path| remove_if_there(&path))
}

/// Ends the trust in a host or a guest. A running session with it closes.
///
/// # Errors
/// [`KeyFolderError::Unknown`] names those that are trusted.
pub fn revoke(folder: &Path, name: &str) -> Result<(), KeyFolderError> {
    let keyring = read(folder)?;
    let is = |one: &HostCertificate| one.name() == name;
    if keyring.peers.iter().any(is) {
        let path = folder.join(TRUSTED).join(format!("{name}.pem"));
        fs::remove_file(&path).map_err(file_error(&path))?;
        return remove_if_there(&only_path(folder, name));
    }
    if keyring.guests.iter().any(is) {
        // the name first: if the revocation is interrupted, no new guest may get the name
        create_folder(&folder.join(REVOKED).join(name))?;
        let path = folder.join(GUESTS).join(name);
        return fs::remove_dir_all(&path).map_err(file_error(&path));
    }
    let all = keyring.peers.iter().chain(&keyring.guests);
    Err(KeyFolderError::Unknown {
        name: name.to_owned(),
        folder: folder.to_owned(),
        known: all.map(|one| one.name().to_owned()).collect(),
    })
}

/// Keys of a running session, and the folder that they were read from.
#[derive(Debug, Clone)]
pub struct SessionKeys {
    folder: PathBuf,
    keyring: std::sync::Arc<Keyring>,
}

impl SessionKeys {
    /// Reads the keys for a session.
    ///
    /// # Errors
    /// [`KeyFolderError`]; a session needs a trusted peer, and a clock within the dates of all certificates.
    pub fn read(folder: &Path) -> Result<Self, KeyFolderError> {
        let keyring = read(folder)?;
        keyring.check(wall_now()).map_err(content_error(folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            keyring: std::sync::Arc::new(keyring),
        })
    }

    /// The keys.
    #[must_use]
    pub fn keyring(&self) -> &std::sync::Arc<Keyring> {
        &self.keyring
    }

    /// Name of a host or a guest that the session trusts, and the folder no longer.
    #[must_use]
    pub(crate) fn revoked(&self) -> Option<&str> {
        let gone = |path: PathBuf, known: &HostCertificate| {
            fs::read_to_string(path).map_or(true, |text| text != known.pem())
        };
        let peers = self.keyring.peers.iter().map(|one| {
            let path = self
                .folder
                .join(TRUSTED)
                .join(format!("{}.pem", one.name()));
            (path, one)
        });
        let guests = self.keyring.guests.iter().map(|one| {
            let path = self.folder.join(GUESTS).join(one.name()).join(GUEST_PEM);
            (path, one)
        });
        let mut all = peers.chain(guests);
        all.find_map(|(path, one)| gone(path, one).then_some(one.name()))
    }
}

/// Makes keys for both sides of a session on this host, each in a folder below `folder`, which trust each other.
///
/// # Errors
/// [`KeyFolderError`] if the system refuses.
pub fn make_pair(folder: &Path, names: [&str; 2]) -> Result<(), KeyFolderError> {
    create_folder(folder)?;
    let folders = names.map(|name| folder.join(name));
    for (folder, name) in folders.iter().zip(names) {
        make(folder, name)?;
    }
    let [first, second] = &folders;
    trust(first, &second.join(HOST_PEM), None)?;
    trust(second, &first.join(HOST_PEM), None)?;
    Ok(())
}

/// Certificate of the host, which its peers need.
#[must_use]
pub fn certificate_path(folder: &Path) -> PathBuf {
    folder.join(HOST_PEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        let found = fs::metadata(path).expect("a file");
        found.permissions().mode() & 0o777
    }

    #[test]
    fn keys_are_private_and_read_back() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("keys");
        let made = make(&folder, "operator").expect("made");
        assert_eq!(read_host(&folder).expect("read"), made);
        assert_eq!(
            (mode(&folder), mode(&folder.join(HOST_KEY))),
            (0o700, 0o600)
        );
        let again = make(&folder, "operator");
        assert!(matches!(again, Err(KeyFolderError::Exists { .. })));
        assert_eq!(read_host(&folder).expect("unchanged"), made);
        let open = fs::Permissions::from_mode(0o640);
        fs::set_permissions(folder.join(HOST_KEY), open).expect("permitted");
        let error = read(&folder).expect_err("readable").to_string();
        assert!(
            error.contains("640") && error.contains("chmod 600"),
            "{error}"
        );
        let nothing = read(&root.path().join("none")).expect_err("no keys");
        assert!(
            nothing.to_string().contains("palpate keys new"),
            "{nothing}"
        );
    }

    #[test]
    fn trust_and_revocation_change_the_keyring() {
        let root = tempfile::tempdir().expect("a folder");
        let [near, far] = ["near", "far"].map(|name| root.path().join(name));
        make(&near, "operator").expect("made");
        let robot = make(&far, "robot").expect("made");
        let lonely = SessionKeys::read(&near).expect_err("no peer").to_string();
        assert!(lonely.contains("no peer is trusted"), "{lonely}");
        let peer = trust(&near, &far.join(HOST_PEM), None).expect("trusted");
        assert_eq!(peer.fingerprint(), robot.certificate().fingerprint());
        trust(&near, &far.join(HOST_PEM), None).expect("trusted already");
        let guest = invite(&near, "viewer").expect("invited");
        assert_eq!(mode(&guest.join(GUEST_KEY)), 0o600);
        let session = SessionKeys::read(&near).expect("keys");
        assert_eq!(session.keyring().peers.len(), 1);
        assert_eq!(session.keyring().guests.len(), 1);
        assert_eq!(session.revoked(), None);
        revoke(&near, "viewer").expect("a guest");
        assert_eq!(session.revoked(), Some("viewer"));
        let again = invite(&near, "viewer");
        assert!(matches!(again, Err(KeyFolderError::Spent { .. })));
        revoke(&near, "robot").expect("a peer");
        assert_eq!(session.revoked(), Some("robot"));
        assert!(read(&near).expect("keys").peers.is_empty());
        let error = revoke(&near, "robot").expect_err("gone").to_string();
        assert!(error.contains("\"robot\" is not trusted"), "{error}");
    }

    #[test]
    fn another_key_of_a_trusted_name_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let [near, far, other] = ["near", "far", "other"].map(|name| root.path().join(name));
        make(&near, "operator").expect("made");
        make(&far, "robot").expect("made");
        make(&other, "robot").expect("made");
        trust(&near, &far.join(HOST_PEM), None).expect("trusted");
        invite(&near, "viewer").expect("invited");
        for (refused, revocable) in [
            (trust(&near, &other.join(HOST_PEM), None).map(drop), true),
            (invite(&near, "robot").map(drop), true),
            (invite(&near, "operator").map(drop), false),
            (invite(&near, "viewer").map(drop), false),
        ] {
            assert!(matches!(refused, Err(KeyFolderError::Taken { .. })));
            let text = refused.expect_err("taken").to_string();
            assert_eq!(text.contains("revoke"), revocable, "{text}");
        }
        let own = trust(&near, &near.join(HOST_PEM), None).map(drop);
        assert!(matches!(own, Err(KeyFolderError::Taken { .. })));
    }
}
