//! Felt stiffness of a hidden lump at 500 ms round trip, with the twin and without.

use std::process::Command;

#[test]
fn twin_renders_sheet_and_lump_at_500_ms_and_waves_do_not() {
    let contact = |mode: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let output = Command::new(env!("CARGO_BIN_EXE_palpate"))
            .args(["lab", "--json", "--no-recording", "--rtt-ms", "500"])
            .args(["--tissue", "sheet-lump", "--twin", "sheet"])
            .args(["--duration", "60", "--mode", mode, "--out"])
            .arg(folder.path())
            .output()
            .expect("the binary runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let summary: serde_json::Value = serde_json::from_str(&text).expect("a summary");
        assert_eq!(summary["passivity"]["violations"], 0, "{text}");
        ["stiffness_error", "contrast_transmission"].map(|key| summary["contact"][key].as_f64())
    };
    let [error, contrast] = contact("mmt").map(|value| value.expect("known"));
    println!("mmt: stiffness error {error:.3}, contrast transmitted {contrast:.3}");
    assert!(error.abs() < 0.08, "{error}");
    assert!(contrast > 0.8 && contrast < 1.25, "{contrast}");
    let [error, contrast] = contact("wave");
    println!("wave: stiffness error {error:?}, contrast transmitted {contrast:?}");
    assert!(error.is_none_or(|error| error < -0.25), "{error:?}");
    assert!(
        contrast.is_none_or(|contrast| contrast < 0.4),
        "{contrast:?}"
    );
}
