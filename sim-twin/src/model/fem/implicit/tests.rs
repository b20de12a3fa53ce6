use super::*;
use crate::law::Material;
use crate::mesh::grade::even;
use crate::mesh::hex::Side;

mod contract;
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
    Implicit::new(mesh, (family, &moduli, &densities), &FLOOR, params).unwrap()
}

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
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

use crate::twin::Ledger;

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
        let mut put_in_j = 0.0_f64;
        let mut reactions = Vec::new();
        for _ in 0..2 {
            reactions = press(&mut tissue, 0.1, 0.008, 60);
            put_in_j = put_in_j.max(reactions[60].force_n.z * 0.004);
        }
        let ledger = tissue.view().ledger;
        assert!(put_in_j > 1e-4, "{put_in_j}");
        assert!(
            ledger.residual_j.abs() < 1e-6 * put_in_j,
            "{family:?} {:e} {:?}", ledger.residual_j / put_in_j, tissue.effort()
        );
        assert!((balance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * put_in_j);
        // the hand gets no energy from a closed way
        assert!(ledger.tool_work_j > 0.0 && ledger.dissipated_j > 0.0);
        assert_eq!(tissue.effort().unsettled, 0);
    }
}
