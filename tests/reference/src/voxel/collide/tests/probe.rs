//! Tests of a probe that indents a ball of 40 nodes across (row CD-04).

use super::voxels;
use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::collide::map_nodes;
use crate::voxel::collide::occupancy::{MapMoveRule, OccupancyMap};
use crate::voxel::test_volumes::material;
use crate::voxel::test_volumes::{LimitCheck as _, SourceLimits as _};
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use palpate_voxel::chainmail::{Chainmail, NodeTarget};
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::{VoxelModel, VoxelParams};

/// Radii of the ball and of the probe, in spacings.
const BALL: f64 = 20.0;
const PROBE: f64 = 4.0;

/// Returns the ball about the origin, with its lowest part held.
fn ball<R: palpate_twin::law::Real>(h: f64, limits: BondLimits) -> VoxelNodes<R> {
    let frame = LatticeFrame {
        origin_m: Vec3::repeat(-19.5 * h),
        spacing_m: [h; 3],
    };
    let sites = (0..40).flat_map(|z| (0..40).flat_map(move |y| (0..40).map(move |x| [x, y, z])));
    let inside = |site: &[i32; 3]| {
        site.iter()
            .map(|&x| (f64::from(x) - 19.5).powi(2))
            .sum::<f64>()
            <= BALL * BALL
    };
    let seeds: Vec<NodeSeed> = sites
        .filter(inside)
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 0,
        })
        .collect();
    let mut nodes = VoxelNodes::new(frame, vec![material(limits)], &seeds).expect("fit");
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] < 4);
    }
    nodes
}

fn directions() -> Vec<Vec3> {
    [
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
        [0.0, -1.0, 0.4],
        [1.0, 1.0, 1.0],
        [-0.3, 0.5, 0.9],
    ]
    .map(|direction| Vec3::from(direction).normalize())
    .to_vec()
}

/// Hits of the map begin at the surface, and propagation of the hit nodes makes way for the probe.
#[test]
fn cd_04_probe_hits_a_ball_within_a_cell_and_indents_it() {
    let grid = CollisionGrid::around(Vec3::repeat(-99.5), 1.0, [200; 3]).expect("fits");
    let tip = voxels([[-4; 3], [4; 3]], |[x, y, z]| {
        (9..=16).contains(&(x * x + y * y + z * z))
    });
    for direction in directions() {
        let mut nodes = ball::<f64>(1.0, BondLimits::LOOSE);
        let mut chainmail = Chainmail::new(nodes.slots());
        let mut map = OccupancyMap::dense(grid).expect("small");
        let all = map_nodes::all(&nodes);
        let body = map.add(&map_nodes::placed(&nodes, &all)).expect("inside");
        let probe = map.add(&tip).expect("inside");
        let mut began = None;
        let mut followed = 0;
        let mut far = 40.0;
        while far > BALL + PROBE - 3.0 {
            far -= 0.25;
            let at_m = direction * far;
            let mut hit_nodes = Vec::new();
            let to_m = |nth: usize, _: &Vec3| tip[nth].1 + at_m;
            map.try_move(probe, MapMoveRule::Detect, to_m, |hit| {
                hit_nodes.push(hit.other.node)
            })
            .expect("inside");
            hit_nodes.sort_unstable();
            hit_nodes.dedup();
            if hit_nodes.is_empty() {
                continue;
            }
            began.get_or_insert(far);
            // out to the surface of the probe
            let targets: Vec<NodeTarget<f64>> = hit_nodes
                .into_iter()
                .filter(|&node| (nodes.position_m(node) - at_m).norm() < PROBE)
                .map(|node| {
                    let out = (nodes.position_m(node) - at_m).normalize();
                    let to_m = at_m + out * PROBE - nodes.rest_m(node);
                    NodeTarget {
                        node,
                        displacement_m: to_m.into(),
                    }
                })
                .collect();
            // one after the other: two at once may exceed the limits of the link between them
            for target in targets {
                followed += u32::from(chainmail.propagate(&mut nodes, &[target]).is_ok());
            }
            assert!(nodes.limit_excess_m() < 1e-9);
            map.try_move(
                body,
                MapMoveRule::Detect,
                |nth, _| nodes.position_m(all[nth]),
                |_| (),
            )
            .expect("inside");
        }
        let began = began.expect("met");
        println!("{direction:?}: began {began}, controls {followed}");
        assert!(
            (began - BALL - PROBE).abs() <= 1.0,
            "{direction:?}: {began}"
        );
        assert!(followed > 5, "{direction:?}: {followed}");
        // the tip of the ball has been pushed in
        let tops = all.iter().map(|&node| nodes.position_m(node));
        let under = tops.filter(|at| at.dot(&direction) > 0.0 && at.cross(&direction).norm() < 1.0);
        let top = under.map(|at| at.dot(&direction)).fold(0.0, f64::max);
        assert!(top < BALL - 1.0, "{direction:?}: {top}");
    }
}

/// The same with the session tissue, by the contact force.
#[test]
fn cd_04_contact_force_starts_within_a_cell_of_the_surface() {
    let h = 1e-3;
    for direction in directions() {
        let mut tissue =
            VoxelModel::new(ball(h, BondLimits::MEDIUM), VoxelParams::default()).expect("fit");
        let mut reactions = [Reaction::default()];
        let mut began = None;
        let mut last_n = 0.0;
        let mut far = BALL + PROBE + 3.0;
        while far > BALL + PROBE - 2.0 {
            far -= 0.25;
            let tool = Tool {
                position_m: direction * far * h,
                velocity_mps: Vec3::zeros(),
                radius_m: PROBE * h,
                stiffness_npm: 300.0,
                shaft_m: Vec3::zeros(),
                side_m: Vec3::zeros(),
                instrument: Instrument::Blunt,
                jaws: None,
            };
            for _ in 0..3 {
                tissue.step(&[tool], 1e-3, &mut reactions);
            }
            if reactions[0].contacts > 0 {
                began.get_or_insert(far);
            }
            last_n = reactions[0].force_n.dot(&direction);
            assert!(tissue.nodes().limit_excess_m() <= 1e-8);
        }
        let began = began.expect("met");
        assert!(
            (began - BALL - PROBE).abs() <= 1.0,
            "{direction:?}: {began}"
        );
        assert!(last_n > 0.0, "{direction:?}");
    }
}
