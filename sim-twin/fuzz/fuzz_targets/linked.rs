//! Any motion of any instruments over a voxel block, with edits between: finite forces, a closed energy balance and a
//! snapshot that restores; and any bytes as a snapshot, which is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_scene::{Scene, SceneBody, load};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue as _, Tool, Vec3};
use palpate_voxel::edits::topology_hash;
use std::sync::OnceLock;

const TEXT: &str = "name = \"fuzz\"\n[linked]\nsize_m = [0.016, 0.014, 0.01]\nspacing_m = 0.002\nfriction = 0.3\n\
                    tears = true\n[[layer]]\nthickness_m = 0.004\nyoung_pa = 20000.0\ntoughness_jpm2 = 50.0\n\
                    [[layer]]\nyoung_pa = 5000.0\n[tool]\nradius_m = 0.003\nstiffness_npm = 1000.0\n";

/// Bytes as numbers, zeros at their end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// A length, rarely of arbitrary bits \[m\].
    fn length_m(&mut self) -> f64 {
        match self.byte() {
            255 => f64::from_bits(u64::from_le_bytes(std::array::from_fn(|_| self.byte()))),
            byte => (f64::from(byte) - 127.0) * 1e-4,
        }
    }

    fn vector_m(&mut self) -> Vec3 {
        Vec3::new(self.length_m(), self.length_m(), self.length_m())
    }

    fn tool(&mut self, was: &Tool) -> Tool {
        let mut tool = *was;
        let kind = self.byte();
        if kind & 0x80 == 0 {
            // continues the motion
            tool.position_m += self.vector_m() * 0.05;
            return tool;
        }
        tool.position_m = self.vector_m();
        tool.radius_m = self.length_m().abs();
        tool.jaws = (kind & 8 != 0).then(|| Jaws {
            opening_m: self.length_m(),
            opening_velocity_mps: 0.0,
            closed: kind & 16 != 0,
        });
        tool.instrument = match kind & 7 {
            0 | 6 => Instrument::Blunt,
            1 | 7 => Instrument::Scalpel { edge_m: self.vector_m() },
            2 => Instrument::Curette,
            3 => Instrument::Glue { reach_m: self.length_m() },
            4 => Instrument::Tack,
            _ => Instrument::Untack,
        };
        tool
    }
}

fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| load(TEXT).expect("a scene"))
}

fuzz_target!(|bytes: &[u8]| {
    let SceneBody::VoxelBlock(block) = &scene().body else {
        panic!("a voxel block");
    };
    let mut tissue = block.solver().expect("a tissue");
    let mut tools = [scene().tool_at(Vec3::z() * 0.004); 2];
    let mut reactions = [Reaction::default(); 2];
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        tools = tools.map(|tool| bytes.tool(&tool));
        let dt_s = if bytes.byte() == 255 { bytes.length_m() } else { 1e-3 };
        tissue.step(&tools, dt_s, &mut reactions);
        assert!(reactions.iter().all(|reaction| reaction.force_n.norm() < 1e6), "{reactions:?}");
        let edit = match bytes.byte() {
            1 => Edit::Undo,
            2 => Edit::Redo,
            3 => Edit::Cut { point_m: bytes.vector_m(), normal: bytes.vector_m() },
            4 => Edit::Scale {
                shape: RegionShape::Ball { centre_m: bytes.vector_m(), radius_m: bytes.length_m() },
                factor: 100.0 * bytes.length_m(),
                passive: true,
            },
            5 => {
                let good = Snapshot::of(&tissue);
                let mut bad = good.clone();
                let at = usize::from(bytes.byte()) << 8 | usize::from(bytes.byte());
                let count = bad.integers.len();
                bad.integers[at % count] ^= 1 + u64::from(bytes.byte());
                assert!(tissue.restore(&bad).is_err());
                tissue.restore(&good).expect("its own");
                assert!(Snapshot::of(&tissue) == good);
                continue;
            }
            _ => continue,
        };
        // an edit out of range is refused
        let _ = tissue.edit(&edit);
    }
    let balance = tissue.view().energy;
    let spent_j = balance.tool_work_j + balance.edit_j - balance.dissipated_j + balance.residual_j;
    let size_j = balance.tool_work_j.abs() + balance.edit_j.abs() + balance.dissipated_j.abs();
    assert!((balance.stored_j() - spent_j).abs() <= 1e-9 * (1.0 + size_j), "{balance:?}");
    let nodes = tissue.nodes();
    let is_symmetric = |node: u32, to: NeighbourDirection| {
        let back = |other: u32| nodes.alive(other) && nodes.neighbour(other, to.opposite()) == Some(node);
        nodes.neighbour(node, to).is_none_or(back)
    };
    assert!((0..nodes.slots()).all(|node| NeighbourDirection::ALL.iter().all(|&to| is_symmetric(node, to))));
    assert_eq!(tissue.view().topology_hash, Some(topology_hash(nodes)));
});
