//! Tests of volumes by the command line: a phantom is built, inspected, clipped and converted; bad input.
//!
//! Source: ours; seed-001 rows LV-04, RN-02 and RN-03 through the binary.

mod command_line;

use command_line::{check_refused, palpate, stdout_of, text};

#[test]
fn lv_04_phantom_is_built_and_its_files_are_models() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let out = at("limb");
    let build = [
        "model",
        "build",
        "--seed",
        "7",
        "--spacing-mm",
        "4",
        "--json",
        "--out",
    ];
    let json = stdout_of(&[&build[..], &[text(&out)]].concat());
    let built: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(built["synthetic"], true);
    let tissues = built["tissues"].as_array().expect("a list");
    assert_eq!(tissues.len(), 6);
    for tissue in tissues {
        assert_eq!(tissue["voxels"], tissue["elements"], "{tissue}");
    }
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("no scan of a person") && page.contains("<rect"));
    assert!(!page.contains("http"), "the page loads a remote resource");
    let labels = out.join("labels.nrrd");
    let inspected = stdout_of(&["model", "inspect", text(&labels)]);
    for tissue in tissues {
        let line = format!("label    {}: {} voxels", tissue["label"], tissue["voxels"]);
        assert!(inspected.contains(&line), "{line}: {inspected}");
    }
    stdout_of(&["model", "validate", text(&labels)]);
    stdout_of(&["model", "validate", text(&out.join("scene.toml"))]);
    let scene = stdout_of(&["model", "inspect", text(&out.join("scene.toml"))]);
    assert!(
        scene.contains("tumour") && scene.contains("a lump"),
        "{scene}"
    );
    // the same seed gives the same bytes
    let twice = at("twice");
    stdout_of(&[&build[..], &[text(&twice)]].concat());
    for name in ["labels.nrrd", "intensity.nrrd", "scene.toml"] {
        let [a, b] = [&out, &twice].map(|f| std::fs::read(f.join(name)).expect("there"));
        assert_eq!(a, b, "{name}");
    }
    // bands separate intensities into tissues, as objects
    let own = at("own");
    let intensity = out.join("intensity.nrrd");
    let bands = [
        "--bands",
        "0.15..0.7,0.7..",
        "--separate",
        "--up=-z",
        "--out",
    ];
    stdout_of(
        &[
            &["model", "build", text(&intensity)],
            &bands[..],
            &[text(&own)],
        ]
        .concat(),
    );
    let scene = std::fs::read_to_string(own.join("scene.toml")).expect("a scene");
    assert!(
        scene.contains("label = 2") && scene.contains("separate = true"),
        "{scene}"
    );
}

#[test]
fn rn_03_voxel_model_is_clipped_and_written_in_colours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    for (name, mark) in [
        ("half.ply", "property uchar red"),
        ("half.obj", "\nf "),
        ("half.vtu", "Name=\"colour\""),
    ] {
        let target = at(name);
        let convert = [
            "model",
            "convert",
            "linked-nodule",
            text(&target),
            "--surface",
        ];
        stdout_of(&[&convert[..], &["--clip", "y=0"]].concat());
        let bytes = std::fs::read(&target).expect("there");
        assert!(String::from_utf8_lossy(&bytes).contains(mark), "{name}");
        stdout_of(&["model", "inspect", text(&target)]);
    }
    let cells = at("cells.vtu");
    stdout_of(&["model", "convert", "linked-nodule", text(&cells)]);
    assert!(stdout_of(&["model", "inspect", text(&cells)]).contains("hexahedra"));
}

#[test]
fn bad_volumes_and_flags_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let broken = at("broken.nrrd");
    std::fs::write(&broken, "NRRD0004\ntype: moon\n\n").expect("writable");
    let broken = text(&broken);
    check_refused(
        &["model", "inspect", broken],
        &["broken.nrrd", "dimension is missing"],
    );
    check_refused(
        &["model", "build", "none.nii.gz"],
        &["none.nii.gz", "readable volume"],
    );
    let empty = folder.path();
    check_refused(&["model", "inspect", text(empty)], &["slices is missing"]);
    check_refused(
        &["model", "build", "--bands", "3..1"],
        &["--bands", "LOW..HIGH"],
    );
    check_refused(
        &["model", "build", "--bands", "0..1"],
        &["--bands", "VOLUME"],
    );
    check_refused(
        &["model", "build", "--spacing-mm", "-2"],
        &["--spacing-mm", "0.05 to 50"],
    );
    let target = at("x.ply");
    let target = text(&target);
    check_refused(
        &["model", "convert", "limb", target, "--clip", "w=1"],
        &["such as y=3.5"],
    );
    check_refused(
        &["model", "convert", "sheet", target, "--surface"],
        &["sheet", "no links"],
    );
    check_refused(
        &["model", "convert", "limb", target, "--bands", "0..1"],
        &["limb", "no volume"],
    );
    check_refused(
        &["model", "convert", "limb", target, "--clip", "z=-500"],
        &["nothing is left"],
    );
    let flat = at("flat.nrrd");
    let header =
        "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 1\nspacings: 1 1 1\nencoding: raw\n\n";
    std::fs::write(&flat, format!("{header}aaaa")).expect("writable");
    let output = palpate(&["model", "validate", text(&flat)]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("all values are 97"), "{stdout}");
}
