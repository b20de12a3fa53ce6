//! Tests of forces at equilibrium against the golden numbers of section 3.4.2, in double precision.

use crate::voxel::equilibrium::{link_force_n, solve_equilibrium};
use crate::voxel::relaxation::{NeighbourTarget, Relaxation, RelaxationParams};
use crate::voxel::test_volumes::SourceLimits as _;
use crate::voxel::test_volumes::{block, material};
use palpate_twin::Vec3;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};

/// Stiffness of the links of [`material`] \[N/m\].
const K: f64 = 1e3;

/// Returns a block on pinned ground; nodes within `radius` of `centre` are `times` stiffer.
fn grounded(size: [i32; 3], (centre, radius): ([i32; 3], i32), times: f64) -> VoxelNodes<f64> {
    let stiff = VoxelMaterial {
        modulus_pa: times * material(BondLimits::MEDIUM).modulus_pa,
        ..material(BondLimits::MEDIUM)
    };
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let mut seeds = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                let [a, b, c] = [x - centre[0], y - centre[1], z - centre[2]];
                let inside = a * a + b * b + c * c <= radius * radius;
                seeds.push(NodeSeed {
                    site: [x, y, z],
                    material: u8::from(inside),
                    object: 0,
                });
            }
        }
    }
    let materials = vec![material(BondLimits::MEDIUM), stiff];
    let mut nodes = VoxelNodes::new(frame, materials, &seeds).expect("fit");
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == 0);
    }
    nodes
}

/// No inclusion.
const EVEN: ([i32; 3], i32) = ([-9, -9, -9], 0);

/// Returns force over depth of a flat punch of this radius at a place of the top \[k\], and its number of nodes.
fn punch(nodes: &mut VoxelNodes<f64>, (x, y): (i32, i32), radius: i32, top: i32) -> (f64, usize) {
    let mut targets = Vec::new();
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            if dx * dx + dy * dy <= radius * radius {
                let node = nodes.at_site([x + dx, y + dy, top]).expect("there");
                targets.push(NodeTarget {
                    node,
                    displacement_m: [0.0, 0.0, -0.1],
                });
            }
        }
    }
    let solved = solve_equilibrium(nodes, &targets, 1e-7, 2000);
    assert!(solved.residual <= 1e-7 && !solved.indefinite, "{solved:?}");
    let force_n = targets.iter().map(|c| link_force_n(nodes, c.node).z);
    (force_n.sum::<f64>() / (0.1 * K), targets.len())
}

/// Section 3.4.2: a single target has the force 3.0177 k, at any depth.
#[test]
fn df_07_force_of_one_target_is_proportional() {
    let mut nodes = grounded([20, 20, 10], EVEN, 1.0);
    let node = nodes.at_site([10, 10, 9]).expect("there");
    for depth in [0.01, 0.3, 1.5] {
        let to_m = [0.0, 0.0, -depth];
        solve_equilibrium(
            &mut nodes,
            &[NodeTarget {
                node,
                displacement_m: to_m,
            }],
            1e-10,
            2000,
        );
        let force_n = link_force_n(&nodes, node);
        let over = force_n.z / (depth * K);
        assert!((over - 3.0177).abs() < 5e-5, "{over}");
        assert!(force_n.x.abs() + force_n.y.abs() < 1e-9);
    }
}

/// Section 3.4.2: passes of the weighted rule converge to the solve.
#[test]
fn df_07_weighted_passes_converge_to_the_solve() {
    let mut solved = grounded([7, 6, 5], ([3, 3, 3], 1), 10.0);
    let mut relaxed = solved.clone();
    let node = solved.at_site([3, 2, 4]).expect("there");
    let target = NodeTarget {
        node,
        displacement_m: [0.05, 0.0, -0.1],
    };
    solve_equilibrium(&mut solved, &[target], 1e-12, 1000);
    solve_equilibrium(&mut relaxed, &[target], 1e-12, 0);
    let params = RelaxationParams {
        target: NeighbourTarget::Weighted,
        gain: 1.5,
        limits: false,
        ..RelaxationParams::default()
    };
    let mut relaxation = Relaxation::new(params, &relaxed).expect("fit");
    for _ in 0..600 {
        relaxation.pass(&mut relaxed, &[node]);
    }
    let [a, b] = [&solved, &relaxed].map(|e| link_force_n(e, node));
    assert!((a - b).norm() < 1e-9 * a.norm(), "{a} {b}");
    // only the weighted rule gives a force from a stiff inclusion
    let mut even = grounded([7, 6, 5], EVEN, 1.0);
    solve_equilibrium(&mut even, &[target], 1e-12, 1000);
    assert!(a.norm() > 1.05 * link_force_n(&even, node).norm());
    let block = block::<f64>([2; 3], BondLimits::MEDIUM);
    assert_eq!(link_force_n(&block, 0), Vec3::zeros());
}

/// Nodule table of section 3.4.2: depth of the centre, stiffness ratio, force ratio to homogeneous at offsets of 0,
/// 3, 6 and 10.
const NODULES: [(i32, f64, [f64; 4]); 6] = [
    (5, 10.0, [1.260, 1.152, 1.047, 1.012]),
    (6, 10.0, [1.118, 1.080, 1.033, 1.010]),
    (8, 10.0, [1.038, 1.030, 1.017, 1.007]),
    (6, 3.0, [1.062, 1.042, 1.017, 1.005]),
    (6, 100.0, [1.168, 1.111, 1.047, 1.015]),
    (5, 100.0, [1.383, 1.212, 1.066, 1.018]),
];

fn nodules(rows: &[(i32, f64, [f64; 4])], offsets: usize) {
    let size = [41, 41, 21];
    let mut even = grounded(size, EVEN, 1.0);
    let places = [0, 3, 6, 10];
    let base: Vec<f64> = places[..offsets]
        .iter()
        .map(|away| punch(&mut even, (20 + away, 20), 2, 20).0)
        .collect();
    assert!((base[0] - 10.318).abs() < 1e-3, "{}", base[0]);
    for &(depth, times, golden) in rows {
        let mut nodes = grounded(size, ([20, 20, 20 - depth], 4), times);
        for (nth, away) in places[..offsets].iter().enumerate() {
            let (force_n, count) = punch(&mut nodes, (20 + away, 20), 2, 20);
            assert_eq!(count, 13);
            let ratio = force_n / base[nth];
            let expected = golden[nth];
            assert!(
                (ratio / expected - 1.0).abs() < 0.01,
                "{depth} x{times} at {away}: {ratio}, not {expected}"
            );
        }
    }
}

/// Section 3.4.2: a nodule raises the force above it, and less beside it, by the golden ratios.
#[test]
fn fu_01_stiff_nodule_raises_the_force_above_it() {
    nodules(&NODULES[..1], 4);
}

/// The whole table: `cargo test --release -p palpate-reference --lib fu_01_all -- --ignored`.
#[test]
#[ignore = "half a minute"]
fn fu_01_all_nodules_match_the_table() {
    nodules(&NODULES, 4);
}

/// Section 3.4.2: a flat punch against `4 a k`, on a small block for a quick run.
#[test]
fn df_07_small_punch_is_near_the_half_space() {
    let mut nodes = grounded([37, 37, 25], EVEN, 1.0);
    let (force_n, count) = punch(&mut nodes, (18, 18), 3, 24);
    let alone = 4.0 * (count as f64 / std::f64::consts::PI).sqrt();
    assert_eq!(count, 29);
    assert!(
        (1.10..1.35).contains(&(force_n / alone)),
        "{force_n} {alone}"
    );
}

/// Section 3.4.2, punch calibration: `cargo test --release -p palpate-reference --lib df_07_flat -- --ignored`.
#[test]
#[ignore = "a minute: 400 000 nodes"]
fn df_07_flat_punches_match_calibration() {
    for (radius, expected_count, golden) in [(3, 29, 13.99), (5, 81, 22.00), (8, 197, 32.70)] {
        let mut nodes = grounded([81, 81, 61], EVEN, 1.0);
        let (force_n, count) = punch(&mut nodes, (40, 40), radius, 60);
        assert_eq!(count, expected_count);
        assert!(
            (force_n / golden - 1.0).abs() < 0.01,
            "{force_n}, not {golden}"
        );
    }
}
