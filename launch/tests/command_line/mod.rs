//! Calls of the built binary.

use std::path::Path;
use std::process::{Command, Output};

/// Output of a call of the built binary.
pub(crate) fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Stdout of a call that must succeed.
pub(crate) fn stdout_of(arguments: &[&str]) -> String {
    let output = palpate(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

/// Checks that a call ends with status 2 and names all `parts`.
pub(crate) fn check_refused(arguments: &[&str], parts: &[&str]) {
    let output = palpate(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(
            stderr.contains(part),
            "{arguments:?}: no `{part}` in: {stderr}"
        );
    }
}

/// Path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
