//! Tetrahedra under a tool.

use super::*;
use palpate_geometry::mesh::TetMesh;

/// Cut hexahedra, held below, with branches `(share, time_s)`.
pub(super) fn tissue(mesh: &HexMesh, branches: &[(f64, f64)]) -> Implicit {
    tissue_with(mesh, branches, &Params::default())
}

fn tissue_with(mesh: &HexMesh, branches: &[(f64, f64)], params: &Params) -> Implicit {
    let mesh = Quadratic::new(&TetMesh::from_parts(&crate::tests::uncut(mesh)));
    let cells = mesh.cells.len();
    let held: Vec<bool> = mesh.nodes_m.iter().map(|x| x.z < 1e-9).collect();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); cells];
    let viscosity = Viscosity {
        kelvin_voigt: KelvinVoigt::new(1.0, 0.0).unwrap(),
        prony: Prony::new(branches).unwrap(),
    };
    let viscosities = vec![viscosity; if branches.is_empty() { 0 } else { cells }];
    let densities = vec![1e3; cells];
    let matter = elastic(Family::NeoHookean, &moduli, &densities);
    Implicit::of_tets(&mesh, &with(matter, &viscosities), &held, params).unwrap()
}

#[test]
fn the_books_close_over_a_press_a_hold_and_a_release() {
    for branches in [&[][..], &[(0.4, 0.05)][..]] {
        let mut tissue = tissue(&block(0.1, 3), branches);
        let felt_n = press(&mut tissue, 0.1, 0.008, 40)[40].force_n.z;
        let put_in_j = 0.004 * felt_n;
        let ledger = tissue.view().ledger;
        assert!(put_in_j > 1e-4, "{put_in_j}");
        assert!(ledger.residual_j.abs() < 1e-6 * put_in_j, "{ledger:?}");
        assert!((balance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * put_in_j);
        assert!(ledger.tool_work_j > 0.0 && ledger.dissipated_j > 0.0);
        assert_eq!(tissue.effort().unsettled, 0);
    }
}

/// Where they have as many nodes, tetrahedra and hexahedra push back alike, from the side too, and
/// nothing pushes back where the body is held.
#[test]
fn a_ball_meets_the_force_that_it_meets_of_hexahedra() {
    let mut tets = tissue(&block(0.1, 5), &[]);
    let mut hexes = super::tissue(&block(0.1, 10), Family::NeoHookean, &Params::default());
    let held = |tissue: &mut Implicit, from_m: [f64; 3], to_m: [f64; 3]| {
        let mut reaction = [Reaction::default()];
        for k in 1..=25 {
            let share = f64::from(k.min(10)) / 10.0;
            let at_m = [0, 1, 2].map(|axis| from_m[axis] + (to_m[axis] - from_m[axis]) * share);
            tissue.step(&[ball(at_m, 0.02)], 0.1, &mut reaction);
        }
        reaction[0].force_n
    };
    let start = Snapshot::of(&tets);
    let (above, below) = ([0.05, 0.05, 0.12], [0.05, 0.05, 0.114]);
    let [tet_n, hex_n] = [&mut tets, &mut hexes].map(|tissue| held(tissue, above, below).z);
    println!("{tet_n} N of tetrahedra, {hex_n} N of hexahedra");
    assert!((tet_n / hex_n - 1.0).abs() < 0.2, "{tet_n} {hex_n}");
    tets.thaw(&start).unwrap();
    let side_n = held(&mut tets, [-0.02, 0.05, 0.06], [-0.014, 0.05, 0.06]);
    assert!(
        side_n.x < -0.3 * tet_n && side_n.x.abs() > 5.0 * side_n.z.abs(),
        "{side_n}"
    );
    tets.thaw(&start).unwrap();
    let floor_n = held(&mut tets, [0.05, 0.05, -0.02], [0.05, 0.05, -0.014]);
    assert_eq!(floor_n, Vec3::zeros());
}

#[test]
fn a_body_that_is_held_all_over_or_nowhere_is_refused() {
    let mesh = Quadratic::new(&TetMesh::from_parts(&crate::tests::uncut(&block(0.1, 1))));
    let cells = mesh.cells.len();
    let (moduli, densities) = (
        vec![matter(&block(0.1, 1), 5e3, 0.45).0[0]; cells],
        vec![1e3; cells],
    );
    let build = |held: bool| {
        let held = vec![held; mesh.nodes_m.len()];
        let matter = elastic(Family::NeoHookean, &moduli, &densities);
        Implicit::of_tets(&mesh, &with(matter, &[]), &held, &Params::default()).map(|_| ())
    };
    assert_eq!(build(true), Err(ImplicitError::Untouchable));
    assert!(matches!(
        build(false),
        Err(ImplicitError::Solid(SolidError::Unsupported))
    ));
}
