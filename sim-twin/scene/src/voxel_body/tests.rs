//! Scenes of voxels: labels become objects, each node has its tissue, and refusals name the cause.

use std::collections::BTreeMap;

use super::*;
use crate::{Scene, SceneBody, SceneError, load, load_with, scene_text};
use palpate_geometry::volume::file::nrrd_write;
use palpate_geometry::volume::phantom::LimbPhantom;
use palpate_geometry::volume::{VoxelGrid, VoxelVolume, label};
use proptest::prelude::*;

/// Labels of the phantom.
const FAT: u16 = 2;
const BONE: u16 = 4;

/// Scene of a file with these labels.
fn scene_of(labels: &VoxelVolume<u16>, lines: &str) -> Result<Scene, SceneError> {
    let kinds: Vec<u16> = label::counts(labels)
        .into_keys()
        .filter(|&k| k > 0)
        .collect();
    let mut text = format!(
        "name = \"own\"\n[tool]\nradius_m = 0.005\nstiffness_npm = 1000.0\n[linked]\n[volume]\n\
         file = \"own.nrrd\"\n{lines}\n"
    );
    for kind in kinds {
        text += &format!("[[material]]\nlabel = {kind}\nyoung_pa = {kind}000.0\n");
    }
    let bytes = nrrd_write::write(labels, "labels of a test");
    load_with(&text, &|name| {
        if name == "own.nrrd" {
            Ok(bytes.clone())
        } else {
            Err("not there".to_owned())
        }
    })
}

fn voxels(scene: &Scene) -> &VoxelBody {
    match &scene.body {
        SceneBody::VoxelBody(body) => body,
        _ => panic!("not of voxels"),
    }
}

fn volume(labels: Vec<u16>, counts: [usize; 3]) -> VoxelVolume<u16> {
    let grid = VoxelGrid::axis_aligned(counts, Vec3::new(0.1, 0.0, -0.3), [1e-3, 2e-3, 1.5e-3]);
    VoxelVolume::new(grid, labels).expect("fits")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Row LV-04: as many objects as labels, as many nodes as voxels of each, and no link between two labels.
    /// In one bonded volume the same nodes are linked wherever voxels are neighbours.
    #[test]
    fn lv_04_labels_of_a_file_become_objects(
        labels in prop::collection::vec(0_u16..5, 4 * 3 * 5),
        up in prop::sample::select(vec!["x", "-x", "y", "-y", "z", "-z"]),
    ) {
        let labels = volume(labels, [4, 3, 5]);
        prop_assume!(labels.values.iter().any(|&label| label > 0));
        let mut counts = label::counts(&labels);
        counts.remove(&0);
        let scene = scene_of(&labels, &format!("up = \"{up}\"\nseparate = true")).expect("fits");
        let nodes = voxels(&scene).volume().expect("fits");
        let mut found: BTreeMap<u16, usize> = BTreeMap::new();
        for node in 0..nodes.slots() {
            let tissue = &voxels(&scene).tissues[usize::from(nodes.material(node))];
            prop_assert_eq!(nodes.object(node), u32::from(tissue.label));
            *found.entry(tissue.label).or_insert(0) += 1;
            for to in NeighbourDirection::ALL {
                if let Some(other) = nodes.neighbour(node, to) {
                    prop_assert_eq!(nodes.object(other), nodes.object(node));
                }
            }
        }
        prop_assert_eq!(found, counts);
        let bonded = scene_of(&labels, &format!("up = \"{up}\"")).expect("fits");
        let bonded = voxels(&bonded).volume().expect("fits");
        let beside = |a: [i64; 3], b: [i64; 3]| {
            let full = |at| labels.get(at).is_some_and(|label| label > 0);
            usize::from(full(a) && full(b))
        };
        let links: usize = labels.grid.indices().map(|index| {
            let [x, y, z] = index.map(|along| along as i64);
            [[x + 1, y, z], [x, y + 1, z], [x, y, z + 1]].map(|next| beside([x, y, z], next)).iter().sum::<usize>()
        }).sum();
        let mut ends = 0;
        for node in 0..bonded.slots() {
            for to in NeighbourDirection::ALL {
                if let Some(other) = bonded.neighbour(node, to) {
                    prop_assert_eq!(bonded.neighbour(other, to.opposite()), Some(node));
                    ends += 1;
                }
            }
        }
        prop_assert_eq!(ends, 2 * links);
    }
}

/// Row LV-05: the tissue of every node of the limb is that of the phantom at its position, and held tissue is pinned.
#[test]
fn lv_05_nodes_of_the_limb_match_the_phantom() {
    let scene = load("limb").expect("built in");
    let body = voxels(&scene);
    let nodes = body.volume().expect("fits");
    let phantom = LimbPhantom {
        spacing_m: 0.002,
        ..LimbPhantom::default()
    };
    let truth = phantom.labels().expect("fits");
    let mut top_m = f64::MIN;
    for node in 0..nodes.slots() {
        let tissue = &body.tissues[usize::from(nodes.material(node))];
        assert_eq!(nodes.colour(node), tissue.material.colour);
        let held = tissue.label == BONE || nodes.site(node)[2] == 0;
        assert!(nodes.pinned(node) || !held);
        top_m = top_m.max(nodes.rest_m(node).z);
    }
    assert_eq!(top_m, 0.0);
    let counts = label::counts(&truth);
    for (tissue, amount) in body.tissues.iter().zip(body.node_counts()) {
        assert_eq!(amount, counts[&tissue.label], "{}", tissue.material.name);
    }
    let [lump] = scene.lumps[..] else {
        panic!("one tumour");
    };
    assert!((lump.center_m[0] - 0.02).abs() < 1e-3 && lump.center_m[1].abs() < 1e-3);
    assert!((lump.radius_m / 0.006 - 1.0).abs() < 0.1);
    assert!((lump.factor - 5.0).abs() < 1e-9, "{}", lump.factor);
}

/// Bands of the phantom's intensities find its bright fat, without its labels.
#[test]
fn intensity_bands_separate_tissues() {
    let text = "name = \"own\"\n[tool]\nradius_m = 0.005\nstiffness_npm = 1000.0\n\
                [linked]\nspacing_m = 0.002\n[volume]\nphantom = { seed = 1 }\n\
                [[material]]\nname = \"fat\"\nlow = 0.7\nyoung_pa = 5000.0\n\
                [[material]]\nname = \"rest\"\nlow = 0.1\nhigh = 0.7\nyoung_pa = 5000.0\n";
    let scene = load(text).expect("fits");
    let fat = label::counts(&LimbPhantom::default().labels().expect("fits"))[&FAT];
    let ratio = 8.0 * voxels(&scene).node_counts()[0] as f64 / fat as f64;
    assert!((0.85..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn slice_folder_is_read_by_name() {
    let text = "name = \"own\"\n[tool]\nradius_m = 0.005\nstiffness_npm = 1000.0\n[linked]\n[volume]\n\
                file = \"series\"\n[[material]]\nlabel = 1\nyoung_pa = 1e3\n";
    let requested = std::cell::RefCell::new(Vec::new());
    let read = |name: &str| {
        requested.borrow_mut().push(name.to_owned());
        Ok(if name == "series/" {
            b"b\na\n".to_vec()
        } else {
            vec![0; 200]
        })
    };
    let error = load_with(text, &read).expect_err("no slices").to_string();
    assert!(error.contains("series: slices is missing"), "{error}");
    assert_eq!(*requested.borrow(), ["series/", "series/b", "series/a"]);
}

#[test]
fn refusals_name_the_file_the_label_or_the_field() {
    let labels = volume(vec![1, 2, 1, 2, 0, 2, 1, 1], [2, 2, 2]);
    let message = |labels: &VoxelVolume<u16>, lines: &str| {
        scene_of(labels, lines).expect_err(lines).to_string()
    };
    assert!(message(&labels, "up = \"w\"").contains("`volume.up` is w"));
    assert!(message(&labels, "phantom = { seed = 1 }").contains("given twice"));
    assert!(message(&labels, "colour = 1").contains("unknown field `colour`"));
    let air = volume(vec![0; 8], [2, 2, 2]);
    assert!(message(&air, "").contains("`material` is 0"));
    let limb = scene_text("limb").expect("built in");
    let swap = |from: &str, to: &str| load(&limb.replacen(from, to, 1)).expect_err(to).to_string();
    assert!(
        swap("label = 6", "label = 7").contains("is 6; expected a [[material]] for each label")
    );
    assert!(swap("label = 6", "label = 5").contains("each once"));
    assert!(swap("label = 6", "label = 0").contains("0 is air"));
    assert!(swap("label = 6", "low = 0.5").contains("material[0].label"));
    assert!(swap("[linked]", "[linked]\nsize_m = [1, 1, 1]").contains("no size"));
    let message = swap("[linked]", "[linked]\nspacing_m = -1.0");
    assert!(message.contains("linked.spacing_m` is -1"), "{message}");
    assert!(swap("seed = 1", "seed = 1, radius_m = 9.0").contains("radius_m` of the phantom is 9"));
    assert!(swap("seed = 1", "sead = 1").contains("unknown field `sead`"));
    assert!(
        swap(
            "phantom = { seed = 1, spacing_m = 0.002 }",
            "file = \"a.nrrd\""
        )
        .contains("volume.file` is a.nrrd")
    );
    assert!(
        swap("[volume]\nphantom = { seed = 1, spacing_m = 0.002 }", "")
            .contains("`volume` is missing")
    );
    assert!(swap("young_pa = 30000.0", "young_pa = 0.0").contains("material[0].young_pa"));
    assert!(swap("lump = true", "lumpy = true").contains("unknown field `lumpy`"));
    let block = scene_text("block").expect("built in");
    let error = load(&format!("{block}\n[volume]\nphantom = {{ seed = 1 }}\n"));
    assert!(
        error
            .expect_err("no")
            .to_string()
            .contains("a table [linked] beside it")
    );
    let own = swap("[volume]", "[volume]\nempty = [4]");
    assert!(own.contains("`volume.empty` is 4"), "{own}");
}
