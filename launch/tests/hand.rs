//! Tests of the hand's energy balance: computed here from the bytes of a recording, and compared with the summary's.

#[path = "hand/recording_bytes.rs"]
mod recording_bytes;

use std::path::Path;
use std::process::Command;

use recording_bytes::messages;
use serde_json::Value;

/// Runs a session of three seconds in virtual time and returns its summary.
fn session(mode: &str, out: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["lab", "-q", "--json", "--duration", "3", "--mode", mode])
        .args([
            "--tissue", "wall:800", "--twin", "sheet", "--rtt-ms", "60", "--out",
        ])
        .arg(out)
        .output()
        .expect("the binary starts");
    serde_json::from_slice(&output.stdout).expect("a summary")
}

/// Least and last energy that the hand put in, `Σ F(k-1) (x_held(k) - x(k-1))` over all axes \[J\] (teleop E18).
fn hand_j(recording: &[u8]) -> [f64; 2] {
    let wanted = ["port_force_n", "port_position_m", "held_to_m"];
    let ticks = messages(recording, "/palpate/master/tick", &wanted);
    assert!(ticks.len() > 2900, "{} ticks", ticks.len());
    let (mut energy_j, mut least_j) = (0.0, 0.0_f64);
    for pair in ticks.windows(2) {
        let [from_m, force_n, held_m] = [
            &pair[0]["port_position_m"],
            &pair[0]["port_force_n"],
            &pair[1]["held_to_m"],
        ];
        for ((from_m, force_n), held_m) in from_m.iter().zip(force_n).zip(held_m) {
            energy_j += force_n * (held_m - from_m);
        }
        least_j = least_j.min(energy_j);
    }
    [least_j, energy_j]
}

#[test]
fn bytes_of_a_recording_give_the_energy_of_the_summary() {
    // `direct` gives the hand energy over a delay, so the least energy is not always 0
    for (mode, passive) in [
        ("wave", true),
        ("mmt", true),
        ("tank", true),
        ("direct", false),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let summary = session(mode, &out);
        let recording = std::fs::read(out.join("recording.mcap")).expect("a recording");
        let found_j = hand_j(&recording);
        let keys = ["hand_energy_min_j", "hand_energy_end_j"];
        for (key, found_j) in keys.into_iter().zip(found_j) {
            let stated_j = summary["passivity"][key].as_f64().expect("a number");
            assert!(
                (stated_j - found_j).abs() <= 1e-12,
                "{mode}: {key} {stated_j}, {found_j}"
            );
        }
        assert!(
            found_j[1] != 0.0 && (found_j[0] >= -1e-9) == passive,
            "{mode}: {found_j:?}"
        );
    }
}
