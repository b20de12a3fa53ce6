//! Tests of layers: stiff skin over soft fat over nearly incompressible muscle, with a hard nodule.

use super::*;
use palpate_geometry::mesh::region::{Region, RegionFractions};
use palpate_twin::law::MixingRule;
use palpate_twin::shape::RegionShape;

/// Returns skin and fat of a Poisson's ratio over muscle, with a nodule.
pub(super) fn layered(poisson: f64, params: &ExplicitParams) -> ExplicitTissue {
    let zone = RefinementZone {
        cell_m: 2e-3,
        levels: 3,
        centre_m: [0.0; 2],
        half_m: [0.01; 2],
        depth_m: 0.01,
    };
    let (low_m, high_m) = (Vec3::new(-0.04, -0.04, -0.06), Vec3::new(0.04, 0.04, 0.0));
    let nested = NestedGrid::new(low_m, high_m, &zone).unwrap();
    let slab = |low_m: f64, young_pa: f64, poisson: f64| Region {
        shape: RegionShape::Layer {
            from_m: low_m,
            to_m: 1.0,
        },
        material: Material::new(young_pa, poisson, 1e3).unwrap(),
    };
    let nodule = Region {
        shape: RegionShape::Ball {
            centre_m: Vec3::new(0.0, 0.0, -0.012),
            radius_m: 5e-3,
        },
        material: Material::new(100e3, poisson, 1e3).unwrap(),
    };
    let regions = [
        slab(-1.0, 20e3, 0.49),
        slab(-0.02, 2e3, poisson),
        nodule,
        slab(-0.002, 100e3, poisson),
    ];
    let cell_materials = |level: &palpate_geometry::mesh::nested_grid::GridLevel| {
        let shares = RegionFractions::sample(&level.mesh().unwrap(), &regions, 4).unwrap();
        shares.cell_materials(&regions, MixingRule::Hill)
    };
    let cell_materials: Vec<Vec<CellMaterial>> = nested.levels.iter().map(cell_materials).collect();
    ExplicitTissue::new(&nested, &cell_materials, params).unwrap()
}

#[test]
fn layers_and_a_nodule_stay_stable_under_a_deep_press() {
    let mut tissue = layered(0.45, &ExplicitParams::default());
    let mut held_n = Vec::new();
    for step in 0..2000 {
        let depth_m = (2e-5 * f64::from(step)).min(8e-3);
        let force_n = tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)).force_n;
        assert!(force_n.z >= 0.0 && force_n.z < 10.0, "{step}: {force_n}");
        if step >= 1500 {
            held_n.push(force_n.z);
        }
    }
    let (low_n, high_n) = held_n
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    let balance = tissue.view().energy;
    assert!(low_n > 0.1 && high_n < 1.01 * low_n, "{low_n} {high_n}");
    assert!(
        balance.residual_j.abs() < 0.01 * balance.tool_work_j,
        "{balance:?}"
    );
}

#[test]
fn a_layer_of_thousandfold_stiffness_keeps_the_substep_bound_and_stays_stable() {
    // 2 MPa on 2 kPa: 32 times the sub-steps for all cells without classes and a bound on them
    let nested = NestedGrid::new(
        Vec3::new(-0.04, -0.04, -0.04),
        Vec3::new(0.04, 0.04, 0.0),
        &RefinementZone {
            cell_m: 4e-3,
            levels: 1,
            centre_m: [0.0; 2],
            half_m: [0.01; 2],
            depth_m: 0.01,
        },
    )
    .unwrap();
    let level = &nested.levels[0];
    let cell_materials =
        |young_pa: f64| Material::new(young_pa, 0.45, 1e3).unwrap().cell_material();
    let top = level.count() - level.cells[0] * level.cells[1];
    let mut cells = vec![cell_materials(2e3); level.count()];
    cells[top..].fill(cell_materials(2e6));
    let params = ExplicitParams {
        classes: 5,
        stiff_cells: StiffCellMethod::MassScaling,
        ..ExplicitParams::default()
    };
    let mut tissue = ExplicitTissue::new(&nested, &[cells], &params).unwrap();
    // never more sub-steps than allowed; the added mass can be queried
    assert!(tissue.substep_s() >= 1e-3 / f64::from(params.substeps_max));
    let weight_kg = 1e3 * 0.08 * 0.08 * 0.04;
    assert!(
        tissue.stiff_added_mass_kg() < 0.2 * weight_kg,
        "{}",
        tissue.stiff_added_mass_kg()
    );
    // most of the cells are soft and step least often
    let cells = tissue.class_cells();
    assert!(cells[4] > cells[..4].iter().sum(), "{cells:?}");
    let mut held_n = Vec::new();
    for step in 0..1500 {
        let depth_m = (2e-5 * f64::from(step)).min(4e-3);
        let force_n = tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)).force_n;
        assert!(force_n.z >= 0.0 && force_n.z < 10.0, "{step}: {force_n}");
        if step >= 1200 {
            held_n.push(force_n.z);
        }
    }
    let (low_n, high_n) = held_n
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(low_n > 0.01 && high_n < 1.05 * low_n, "{low_n} {high_n}");
    assert_eq!(tissue.collapses(), 0);
    let balance = tissue.view().energy;
    assert!(
        balance.residual_j.abs() < 0.02 * balance.tool_work_j,
        "{balance:?}"
    );
}
