//! The block test beside rapier3d in one run: CPU time of a simulated millisecond, and the force.
//!
//! `cargo bench --manifest-path sim-twin/peers/Cargo.toml -- [EDGES...]`; edges are cells along an
//! edge of the block, 8 and 12 (729 and 2 197 nodes) if none are given. It is a package of its own, so
//! that the workspace does not build other engines.
//!
//! Source: specification of tissue engines, section 3: a cube of 0.1 m (E = 5 kPa, nu = 0.45, 1000
//! kg/m3) pressed 10 mm at 20 mm/s by a frictionless sphere of 5 mm; its settings for rapier3d 0.36:
//! five tetrahedra a cell, FEM solver, 1 sub-step, 20 iterations of its conjugate gradients. Lengths
//! are millimetres there, since below 1.2e-7 units of volume its cells have no stiffness (same,
//! finding 1), so forces are millinewtons.
//!
//! Times are CPU times of the stepping thread, so that other load of the machine affects both alike.
//! Rapier's force is given twice: as reported by its contacts, and as carried by its cells, the sum of
//! elastic forces on the top face by its own law at its own positions. A step counts as stable if all
//! positions stay finite, no speed exceeds 1 m/s, and the carried force at 10 mm is that of some press.

use nalgebra::{Matrix3, Vector3};
use palpate_fem::explicit::ExplicitTissue;
use palpate_scene::{SceneBody, load};
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use rapier3d::prelude::*;

const DEPTHS_MM: [f64; 3] = [2.0, 5.0, 10.0];
/// Converged forces there \[N\], table 3.1 of the specification.
const REFERENCE_N: [f64; 3] = [0.0504, 0.1805, 0.4115];
const SIZE_MM: f32 = 100.0;
const RADIUS_MM: f32 = 5.0;
const SPEED_MMPS: f64 = 20.0;
/// \[kg/(mm s^2)\], which is kPa.
const YOUNG: f32 = 5.0;
const POISSON: f32 = 0.45;
/// Steps of rapier \[ms\], the first that of the servo.
const STEPS_MS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
/// Largest speed of a particle in a stable step \[mm/s\].
const FAST_MMPS: f32 = 1e3;
/// Part of a press whose steps are not timed.
const WARM: f64 = 0.1;

/// Cost and forces of a press.
struct Row {
    /// CPU time of a simulated millisecond, mean and slowest but one percent \[ms\].
    ms_per_ms: f64,
    ms_p99: f64,
    /// At [`DEPTHS_MM`], as reported and as carried \[N\].
    reported_n: [f64; 3],
    carried_n: Option<[f64; 3]>,
    stable: bool,
}

fn main() {
    let arguments = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let mut edges: Vec<usize> = arguments.collect();
    if edges.is_empty() {
        edges = vec![8, 12];
    }
    println!(
        "converged force at 2/5/10 mm: {} N\n{:>6} {:<28}{:>8}{:>10}{:>9}{:>9}  force [N]",
        three(&REFERENCE_N),
        "nodes",
        "engine",
        "step ms",
        "ms per ms",
        "p99",
        "times"
    );
    for edges in edges {
        let nodes = (edges + 1).pow(3);
        let ours = ours(edges);
        line(nodes, ("palpate, 1 thread", 1.0), &ours, &ours);
        let laws = [
            ("rapier3d corotational", SoftBodyCellModel::Corotational),
            ("rapier3d neo-Hookean", SoftBodyCellModel::NeoHookean),
        ];
        let mut best = f64::MAX;
        for (name, law) in laws {
            for step_ms in STEPS_MS {
                let row = Peer::new(edges, law, step_ms).press();
                line(nodes, (name, step_ms), &row, &ours);
                if row.stable {
                    best = best.min(row.ms_per_ms);
                }
            }
        }
        println!(
            "{nodes:>6} best stable step of rapier3d over ours: {:.1}",
            best / ours.ms_per_ms
        );
    }
}

fn three(values: &[f64; 3]) -> String {
    values.map(|x| format!("{x:.4}")).join(" ")
}

fn line(nodes: usize, (name, step_ms): (&str, f64), row: &Row, ours: &Row) {
    let carried = row.carried_n.map_or(String::new(), |carried| {
        format!(", carried {}", three(&carried))
    });
    println!(
        "{nodes:>6} {name:<28}{step_ms:>8}{:>10.4}{:>9.3}{:>9.1}  reported {}{carried}{}",
        row.ms_per_ms,
        row.ms_p99,
        row.ms_per_ms / ours.ms_per_ms,
        three(&row.reported_n),
        if row.stable { "" } else { "  NOT STABLE" }
    );
}

/// Mean and slowest but one percent of CPU times, over the simulated milliseconds of each.
fn summed(mut spent_ms: Vec<f64>, step_ms: f64) -> (f64, f64) {
    spent_ms.drain(..(WARM * spent_ms.len() as f64) as usize);
    spent_ms.iter_mut().for_each(|ms| *ms /= step_ms);
    let mean = spent_ms.iter().sum::<f64>() / spent_ms.len() as f64;
    spent_ms.sort_by(f64::total_cmp);
    (mean, spent_ms[spent_ms.len() * 99 / 100])
}

/// Our explicit solver on even cells.
fn ours(edges: usize) -> Row {
    let SceneBody::Block(mut block) = load("block").expect("built in").body else {
        panic!("the scene is a block");
    };
    block.zone.cell_m = block.size_m[0] / edges as f64;
    block.zone.levels = 1;
    let (nested, materials) = block.grids_and_materials().expect("grids");
    let mut tissue = ExplicitTissue::new(&nested, &materials, &block.params).expect("a tissue");
    let (mut reaction, mut spent_ms) = ([Reaction::default()], Vec::new());
    let mut reported_n = [0.0; 3];
    for tick in 0..=500_u32 {
        let depth_mm = f64::from(tick) * 1e-3 * SPEED_MMPS;
        let tool = Tool {
            position_m: Vec3::new(0.0, 0.0, 5e-3 - 1e-3 * depth_mm),
            velocity_mps: Vec3::zeros(),
            radius_m: 5e-3,
            stiffness_npm: 1e9,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: Instrument::Blunt,
            jaws: None,
        };
        let begun = thread_cpu_now();
        tissue.step(&[tool], 1e-3, &mut reaction);
        spent_ms.push((thread_cpu_now() - begun).s() * 1e3);
        for (force_n, at_mm) in reported_n.iter_mut().zip(DEPTHS_MM) {
            if (depth_mm - at_mm).abs() < 1e-6 {
                *force_n = reaction[0].force_n.z;
            }
        }
    }
    let (ms_per_ms, ms_p99) = summed(spent_ms, 1.0);
    Row {
        ms_per_ms,
        ms_p99,
        reported_n,
        carried_n: None,
        stable: reaction[0].force_n.z.is_finite(),
    }
}

/// The block in rapier, with the sphere above it.
struct Peer {
    world: PhysicsWorld,
    block: SoftBodyHandle,
    probe: RigidBodyHandle,
    touch: ColliderHandle,
    law: SoftBodyCellModel,
    step_ms: f64,
    cells: Vec<Cell>,
    top: Vec<bool>,
}

/// A tetrahedron at rest.
struct Cell {
    nodes: [usize; 4],
    /// Inverse of its edges, column after column.
    inverse: Matrix3<f64>,
    volume: f64,
}

impl Peer {
    fn new(edges: usize, law: SoftBodyCellModel, step_ms: f64) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, 0.0, 0.0);
        let settings = &mut world.integration_parameters;
        settings.dt = (step_ms * 1e-3) as f32;
        settings.num_solver_iterations = 1;
        settings.length_unit = SIZE_MM;
        let (half, n) = (0.5 * SIZE_MM, edges + 1);
        let middle = Vector::new(0.0, 0.0, -half);
        let builder = SoftBodyBuilder::cuboid(middle, Vector::new(half, half, half), n, n, n);
        let rest: Vec<Vector> = builder.particle_positions().to_vec();
        let cells = cells(edges, &rest);
        let mut masses = vec![0.0_f32; rest.len()];
        for cell in &cells {
            for node in cell.nodes {
                // 1000 kg/m3
                masses[node] += (0.25 * cell.volume * 1e-6) as f32;
            }
        }
        let fixed = (0..rest.len() as u32).filter(|&i| rest[i as usize].z < -SIZE_MM + 1e-3);
        let block = builder
            .pinned_particles(fixed)
            .cell_model(law)
            .solver(SoftBodySolver::Fem)
            .material(SoftBodyMaterial {
                young_modulus: YOUNG,
                poisson_ratio: POISSON,
                ..SoftBodyMaterial::default()
            })
            .masses(masses)
            // margin of its skin around the sphere
            .particle_radius(0.1)
            .surface_collider(ColliderBuilder::ball(1.0).density(0.0).friction(0.0))
            .can_sleep(false);
        let block = world.insert_soft_body(block);
        let start = Vector::new(0.0, 0.0, RADIUS_MM);
        let (probe, touch) = world.insert(
            RigidBodyBuilder::kinematic_position_based().translation(start),
            ColliderBuilder::ball(RADIUS_MM).friction(0.0),
        );
        let top = rest.iter().map(|place| place.z > -1e-3).collect();
        Self {
            world,
            block,
            probe,
            touch,
            law,
            step_ms,
            cells,
            top,
        }
    }

    fn press(mut self) -> Row {
        let steps = (500.0 / self.step_ms).round() as usize;
        let mut spent_ms = Vec::with_capacity(steps);
        let (mut reported_n, mut carried_n, mut fastest) = ([0.0; 3], [0.0; 3], 0.0_f32);
        for step in 1..=steps {
            let depth_mm = step as f64 * self.step_ms * 1e-3 * SPEED_MMPS;
            let place = Vector::new(0.0, 0.0, RADIUS_MM - depth_mm as f32);
            self.world.bodies[self.probe].set_next_kinematic_translation(place);
            let begun = thread_cpu_now();
            self.world.step();
            spent_ms.push((thread_cpu_now() - begun).s() * 1e3);
            let velocities = self.world.soft_bodies[self.block].particle_velocities();
            // not-a-number counts as too fast
            fastest = velocities.fold(
                fastest,
                |most, v| {
                    if v.length() <= most { most } else { v.length() }
                },
            );
            for (k, at_mm) in DEPTHS_MM.into_iter().enumerate() {
                if (depth_mm - at_mm).abs() < 1e-6 {
                    (reported_n[k], carried_n[k]) = (self.reported_n(), self.carried_n());
                }
            }
        }
        let (ms_per_ms, ms_p99) = summed(spent_ms, self.step_ms);
        let stable = fastest < FAST_MMPS && carried_n[2] > 0.05 && carried_n[2] < 5.0;
        Row {
            ms_per_ms,
            ms_p99,
            reported_n,
            carried_n: Some(carried_n),
            stable,
        }
    }

    /// Reported contact force on the sphere.
    fn reported_n(&self) -> f64 {
        let pairs = self.world.narrow_phase.contact_pairs_with(self.touch);
        let impulse: f64 = pairs
            .map(|pair| f64::from(pair.total_impulse().z).abs())
            .sum();
        impulse / (self.step_ms * 1e-3) * 1e-3
    }

    /// Elastic force of the cells on the top face, by the engine's own law.
    fn carried_n(&self) -> f64 {
        let body = &self.world.soft_bodies[self.block];
        let place = |node: usize| {
            let p = body.particle_position(node);
            Vector3::new(f64::from(p.x), f64::from(p.y), f64::from(p.z))
        };
        let mut sum = 0.0;
        for cell in &self.cells {
            let origin = place(cell.nodes[0]);
            let columns = [1, 2, 3].map(|k| place(cell.nodes[k]) - origin);
            let stress = self.stress(&(Matrix3::from_columns(&columns) * cell.inverse));
            // forces of corners 1 to 3 are columns, that of corner 0 closes the sum
            let forces = -cell.volume * stress * cell.inverse.transpose();
            for k in 0..3 {
                let force = forces[(2, k)];
                sum += if self.top[cell.nodes[k + 1]] {
                    force
                } else {
                    0.0
                };
                sum -= if self.top[cell.nodes[0]] { force } else { 0.0 };
            }
        }
        // the tissue pushes up, in millinewtons
        sum * 1e-3
    }

    /// First Piola stress.
    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let (young, poisson) = (f64::from(YOUNG), f64::from(POISSON));
        let mu = 0.5 * young / (1.0 + poisson);
        let lambda = 2.0 * mu * poisson / (1.0 - 2.0 * poisson);
        match self.law {
            SoftBodyCellModel::NeoHookean => {
                // Smith 2018 in the form of Kim and Eberle 2020, as in its `soft_neo_hookean.rs`
                let j = f.determinant();
                let cofactor = palpate_twin::law::cofactor(f);
                f * mu + cofactor * ((lambda + mu) * (j - 1.0) - mu)
            }
            _ => {
                let parts = f.svd(true, true);
                let (Some(u), Some(v)) = (parts.u, parts.v_t) else {
                    return Matrix3::zeros();
                };
                let turn = u * v;
                let strain = (turn.transpose() * f).trace() - 3.0;
                (f - turn) * (2.0 * mu) + turn * (lambda * strain)
            }
        }
    }
}

/// Rapier's own tetrahedra: five a cube, of alternating parity (its `SoftBodyBuilder::cuboid`).
fn cells(edges: usize, rest: &[Vector]) -> Vec<Cell> {
    const EVEN: [[usize; 4]; 5] = [
        [0, 3, 5, 6],
        [1, 0, 3, 5],
        [2, 0, 3, 6],
        [4, 0, 5, 6],
        [7, 3, 5, 6],
    ];
    const ODD: [[usize; 4]; 5] = [
        [1, 2, 4, 7],
        [0, 1, 2, 4],
        [3, 1, 2, 7],
        [5, 1, 4, 7],
        [6, 2, 4, 7],
    ];
    let n = edges + 1;
    let mut cells = Vec::with_capacity(5 * edges.pow(3));
    for cube in 0..edges.pow(3) {
        let at = [cube / (edges * edges), cube / edges % edges, cube % edges];
        let corner = |c: usize| {
            let [i, j, k] = [at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2 & 1)];
            (i * n + j) * n + k
        };
        let even = at.iter().sum::<usize>() % 2 == 0;
        for corners in if even { EVEN } else { ODD } {
            let mut nodes = corners.map(corner);
            let place = |node: usize| {
                let p = rest[node];
                Vector3::new(f64::from(p.x), f64::from(p.y), f64::from(p.z))
            };
            let span = |nodes: &[usize; 4]| {
                let [a, b, c, d] = nodes.map(place);
                Matrix3::from_columns(&[b - a, c - a, d - a])
            };
            if span(&nodes).determinant() < 0.0 {
                nodes.swap(1, 2);
            }
            let shape = span(&nodes);
            cells.push(Cell {
                nodes,
                inverse: shape.try_inverse().expect("a cell has a volume"),
                volume: shape.determinant() / 6.0,
            });
        }
    }
    cells
}
