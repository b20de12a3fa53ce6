use super::*;
use crate::tests::{elastic, even, with};
use palpate_geometry::mesh::hex::Side;
use palpate_twin::law::Material;
use palpate_twin::twin::Ledger;

impl Implicit {
    /// What steps have cost since construction.
    fn effort(&self) -> Effort {
        self.effort
    }

    /// Displacements of all nodes \[m\], in the order of the mesh.
    pub(crate) fn displacements_m(&self) -> impl Iterator<Item = Vec3> {
        self.state.u.iter().map(|u| u * self.model.length_m)
    }

    /// Sets the tissue in motion: velocities \[m/s\] of all nodes, in the order of the mesh. Energy that this brings is
    /// booked as an edit.
    pub(crate) fn set_velocities_mps(&mut self, velocities_mps: &[Vec3]) {
        assert_eq!(velocities_mps.len(), self.state.v.len());
        let unit_j = self.model.energy_j();
        let unit_mps = self.model.length_m / self.model.time_s;
        for (v, velocity_mps) in self.state.v.iter_mut().zip(velocities_mps) {
            *v = velocity_mps / unit_mps;
        }
        crate::solid::mask(&self.model.fixed, &mut self.state.v);
        let kinetic_j = self.state.kinetic(&self.model.masses) * unit_j;
        let books = &mut self.state.ledger;
        books.edit_j += kinetic_j - books.kinetic_j;
        books.kinetic_j = kinetic_j;
    }
}

mod contract;
mod tets;
mod viscous;

const FLOOR: [Support; 1] = [Support::Fixed(Side::ZMin)];
const DT_S: f64 = 1e-3;

fn block(size_m: f64, cells: u32) -> HexMesh {
    let axis_m = even(size_m, cells);
    HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap()
}

/// Moduli and densities of a mesh of one material, 1000 kg/m^3.
fn matter(mesh: &HexMesh, young_pa: f64, poisson: f64) -> (Vec<Moduli>, Vec<f64>) {
    let material = Material::new(young_pa, poisson, 1e3).unwrap();
    let cells = mesh.cells.len();
    (vec![material.moduli(); cells], vec![1e3; cells])
}

fn tissue(mesh: &HexMesh, family: Family, params: &Params) -> Implicit {
    let (moduli, densities) = matter(mesh, 5e3, 0.45);
    Implicit::new(mesh, &elastic(family, &moduli, &densities), &FLOOR, params).unwrap()
}

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: palpate_twin::Instrument::Blunt,
        jaws: None,
    }
}

/// Depth at tick `k` of a press of `ticks` down, as long held, and as long up; smooth.
fn depth(k: u32, ticks: u32) -> f64 {
    let along = |k: u32| {
        let x = f64::from(k.min(ticks)) / f64::from(ticks);
        x * x * (3.0 - 2.0 * x)
    };
    if k < 2 * ticks {
        along(k)
    } else {
        1.0 - along(k - 2 * ticks)
    }
}

/// Presses the middle of the top of a block of `size_m` by `depth_m`; gives the reactions.
fn press(tissue: &mut Implicit, size_m: f64, depth_m: f64, ticks: u32) -> Vec<Reaction> {
    let radius_m = 0.1 * size_m;
    let mut reaction = [Reaction::default()];
    let one = |k: u32| {
        let z_m = size_m + radius_m - depth_m * depth(k, ticks);
        let tool = ball([0.5 * size_m, 0.5 * size_m, z_m], radius_m);
        tissue.step(&[tool], DT_S, &mut reaction);
        reaction[0]
    };
    (1..=3 * ticks).map(one).collect()
}

fn balance_j(ledger: &Ledger) -> f64 {
    ledger.stored_j() - ledger.tool_work_j - ledger.edit_j + ledger.dissipated_j
}

#[test]
fn the_books_close_over_a_press_a_hold_and_a_release() {
    let families = [
        Family::NeoHookean,
        Family::StableNeoHookean,
        Family::MooneyRivlin { second: 0.3 },
        Family::Fung { growth: 2.0 },
    ];
    for family in families {
        let mut tissue = tissue(&block(0.1, 5), family, &Params::default());
        let felt_n = press(&mut tissue, 0.1, 0.008, 60)[60].force_n.z;
        let put_in_j = 0.004 * felt_n;
        let ledger = tissue.view().ledger;
        assert!(put_in_j > 1e-4, "{put_in_j}");
        let residual = ledger.residual_j / put_in_j;
        assert!(residual.abs() < 1e-6, "{family:?} {residual:e}");
        assert!((balance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * put_in_j);
        // the hand gets no energy from a closed way
        assert!(ledger.tool_work_j > 0.0 && ledger.dissipated_j > 0.0);
        assert_eq!(tissue.effort().unsettled, 0);
    }
}

/// Without damping nothing but the scheme takes energy: of an oscillation of squared frequency `w2`
/// it leaves `1 / (1 + w2 dt^2)` a step, which no balance tells.
#[test]
fn what_the_scheme_takes_is_what_its_theory_says() {
    let mesh = block(0.1, 4);
    let params = Params {
        damping_hz: 0.0,
        tolerance: 1e-10,
        ..Params::default()
    };
    let mut tissue = tissue(&mesh, Family::NeoHookean, &params);
    // many steps of inverse iteration leave the slowest motion, tiny enough to be linear
    let sideways = |z_m: f64| Vec3::new(1e-6 * (15.7 * z_m).sin(), 0.0, 0.0);
    let mut shape: Vec<Vec3> = mesh.nodes_m.iter().map(|x| sideways(x.z)).collect();
    let mut frequency2 = 0.0;
    let rest = tissue.clone();
    for _ in 0..30 {
        tissue = rest.clone();
        tissue.set_velocities_mps(&shape);
        // u1 = dt (1 + dt^2 M^-1 K)^-1 v0
        tissue.step(&[], 0.2, &mut []);
        let moved: Vec<Vec3> = tissue.displacements_m().collect();
        let size = |list: &[Vec3]| list.iter().map(|v| v.norm_squared()).sum::<f64>().sqrt();
        let ratio = size(&moved) / size(&shape);
        frequency2 = (0.2 / ratio - 1.0) / 0.04;
        let scale = size(&shape) / size(&moved);
        shape = moved.iter().map(|u| u * scale).collect();
    }
    let (dt_s, steps) = (2e-3, 100);
    tissue = rest;
    tissue.set_velocities_mps(&shape);
    let start_j = tissue.view().ledger.stored_j();
    for _ in 0..steps {
        tissue.step(&[], dt_s, &mut []);
    }
    let ledger = tissue.view().ledger;
    let left = (1.0 + frequency2 * dt_s * dt_s).powi(-steps);
    let taken = ledger.dissipated_j / start_j;
    assert!((0.3..0.98).contains(&left), "{left}");
    assert!((taken - (1.0 - left)).abs() < 1e-4, "{taken} {left}");
    assert!((ledger.edit_j - start_j).abs() < 1e-12 * start_j);
}

/// What a hand reckons from the forces that it samples, at the speeds of palpation and beyond.
#[test]
fn a_closed_way_gives_the_hand_no_energy() {
    for speed_mps in [0.02, 0.1, 0.5] {
        let mut tissue = tissue(&block(0.1, 5), Family::NeoHookean, &Params::default());
        let mut reaction = [Reaction::default()];
        let (mut by_hand_j, mut most_j) = (0.0, 0.0_f64);
        let (mut last_n, mut last_m) = (0.0, 0.12);
        let ticks = (0.01 / (speed_mps * DT_S)).ceil() as u32;
        for k in 0..=4 * ticks {
            // twice down and up
            let turn = f64::from(k % (2 * ticks)) / f64::from(ticks) - 1.0;
            let z_m = 0.12 - 0.01 * (1.0 - turn.abs());
            let way_m = z_m - last_m;
            last_m = z_m;
            tissue.step(&[ball([0.05, 0.05, z_m], 0.02)], DT_S, &mut reaction);
            let force_n = reaction[0].force_n.z;
            by_hand_j -= 0.5 * (force_n + last_n) * way_m;
            most_j = most_j.max(by_hand_j);
            last_n = force_n;
        }
        let ledger = tissue.view().ledger;
        assert!(by_hand_j > 0.0 && most_j > 1e-4, "{speed_mps}: {by_hand_j}");
        let booked_j = ledger.tool_work_j;
        assert!(
            (booked_j - by_hand_j).abs() < 1e-9 * most_j,
            "{booked_j} {by_hand_j}"
        );
        println!("{speed_mps} m/s: {by_hand_j:e} J of {most_j:e} J stay");
    }
}

/// An even strain of a distorted mesh, also one that grows, pulls no inner node (Irons 1966): with
/// all that is viscous, since a step adds only what is a function of its gradients.
#[test]
fn the_patch_test_is_exact_with_viscous_materials() {
    let mut mesh = block(0.1, 3);
    for (node, x_m) in mesh.nodes_m.iter_mut().enumerate() {
        if x_m.iter().all(|&x| x > 0.001 && x < 0.099) {
            x_m.x += 0.005 * (12.9 * node as f64).sin();
            x_m.z -= 0.005 * (7.3 * node as f64).cos();
        }
    }
    let tissue = viscous::soft(&mesh, &[(0.3, 0.02), (0.2, 0.1)], 5.0);
    let model = &tissue.model;
    #[rustfmt::skip]
    let strain = nalgebra::Matrix3::new(
        0.10, 0.05, 0.02,
        -0.03, -0.08, 0.04,
        0.01, 0.03, 0.06,
    );
    let [before, after] = [0.5, 1.0].map(|share| {
        let even = |x: &Vec3| strain * x * share;
        model.rest.iter().map(even).collect::<Vec<Vec3>>()
    });
    let begin = cells::Begin {
        dt: 1e-3,
        u: &before,
        materials: &model.materials,
        memories: &tissue.state.memories,
    };
    let mut forces = vec![Vec3::zeros(); after.len()];
    let mut sums = cells::Pulled::default();
    for cell in &model.hexes {
        assert!(cell.pull(&begin, &after, &mut forces, &mut sums));
    }
    assert!(sums.viscous > 1e-3);
    let size = forces.iter().map(|f| f.norm()).fold(0.0, f64::max);
    for (x, force) in model.rest.iter().zip(&forces) {
        if x.iter().all(|&x| x > 1e-3 && x < 1.0 - 1e-3) {
            assert!(force.norm() < 1e-13 * size, "{force}");
        }
    }
}

#[test]
fn wrong_tissues_are_refused() {
    let mesh = block(0.1, 2);
    let (moduli, densities) = matter(&mesh, 5e3, 0.45);
    let build = |densities: &[f64], params: &Params| {
        let matter = elastic(Family::NeoHookean, &moduli, densities);
        Implicit::new(&mesh, &matter, &FLOOR, params).map(|_| ())
    };
    let good = Params::default();
    assert_eq!(build(&densities, &good), Ok(()));
    assert!(matches!(
        build(&densities[1..], &good),
        Err(ImplicitError::Count { found: 7, .. })
    ));
    let mut bad = densities.clone();
    bad[2] = f64::NAN;
    assert!(matches!(
        build(&bad, &good),
        Err(ImplicitError::Density { cell: 2, .. })
    ));
    let params = Params {
        tolerance: f64::NAN,
        ..good
    };
    assert!(matches!(
        build(&densities, &params),
        Err(ImplicitError::Param {
            field: "tolerance",
            ..
        })
    ));
}
