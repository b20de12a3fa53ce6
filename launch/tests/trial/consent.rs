//! Test of a trial that would take hours.

use super::{palpate, text};

#[test]
fn trial_of_hours_needs_consent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, out) = (folder.path().join("long.toml"), folder.path().join("out"));
    let trial = |clock: &str| {
        format!(
            "clock = \"{clock}\"\nseeds = [1, 2, 3, 4, 5, 6, 7, 8]\nrepeats = 1000\n[base]\nduration_s = 600.0\n\
             tissue = \"sheet\"\ntwin = \"sheet\"\n"
        )
    };
    for clock in ["virtual", "live"] {
        std::fs::write(&file, trial(clock)).expect("writable");
        let output = palpate(&[
            "trial",
            text(&file),
            "-q",
            "--out",
            text(&out),
            "--overwrite",
        ]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        for part in ["8000 rows", " h on this machine", "--yes"] {
            assert!(stderr.contains(part), "{clock}: {stderr}");
        }
    }
}
