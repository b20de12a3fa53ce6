//! Tests of tetrahedra under a tool.

use super::*;

/// Returns a tissue of cut hexahedra, fixed at its bottom.
pub(super) fn tissue(mesh: &HexMesh, viscosity: Viscosity) -> ImplicitTissue {
    let mesh = QuadraticTetMesh::new(&crate::tests::uncut(mesh).tetrahedra());
    let cells = mesh.cells.len();
    let held: Vec<bool> = mesh.nodes_m.iter().map(|x| x.z < 1e-9).collect();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); cells];
    let densities = vec![1e3; cells];
    let cell_materials = cell_materials(&moduli, &densities, viscosity);
    let law = LawFamily::NeoHookean;
    ImplicitTissue::of_tets(
        &mesh,
        &held,
        law,
        &cell_materials,
        &ImplicitParams::default(),
    )
    .unwrap()
}

#[test]
fn energy_balance_of_tetrahedra_closes_over_press_hold_and_release() {
    let viscous = Viscosity {
        shear_pas: 1.0,
        ..viscous::branch(0.4, 0.05)
    };
    for viscosity in [Viscosity::NONE, viscous] {
        let mut tissue = tissue(&block(0.1, 3), viscosity);
        let peak_n = press(&mut tissue, 0.1, 0.008, 40)[40].force_n.z;
        let work_j = 0.004 * peak_n;
        let ledger = tissue.view().energy;
        assert!(work_j > 1e-4, "{work_j}");
        assert!(ledger.residual_j.abs() < 1e-6 * work_j, "{ledger:?}");
        assert!((imbalance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * work_j);
        assert!(ledger.tool_work_j > 0.0 && ledger.dissipated_j > 0.0);
    }
}

/// Tetrahedra and hexahedra with equally many nodes have similar forces, also from the side; fixed faces have
/// none.
#[test]
fn tetrahedra_have_the_forces_of_hexahedra() {
    let mut tets = tissue(&block(0.1, 5), Viscosity::NONE);
    let mut hexes = super::tissue(
        &block(0.1, 10),
        LawFamily::NeoHookean,
        &ImplicitParams::default(),
    );
    let held = |tissue: &mut ImplicitTissue, from_m: [f64; 3], to_m: [f64; 3]| {
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
    tets.restore(&start).unwrap();
    let side_n = held(&mut tets, [-0.02, 0.05, 0.06], [-0.014, 0.05, 0.06]);
    assert!(
        side_n.x < -0.3 * tet_n && side_n.x.abs() > 5.0 * side_n.z.abs(),
        "{side_n}"
    );
    tets.restore(&start).unwrap();
    let floor_n = held(&mut tets, [0.05, 0.05, -0.02], [0.05, 0.05, -0.014]);
    assert_eq!(floor_n, Vec3::zeros());
}

#[test]
fn a_body_supported_on_all_faces_is_refused() {
    let mesh = QuadraticTetMesh::new(&crate::tests::uncut(&block(0.1, 1)).tetrahedra());
    let cells = mesh.cells.len();
    let moduli = vec![moduli_and_densities(&block(0.1, 1), 5e3, 0.45).0[0]; cells];
    let densities = vec![1e3; cells];
    let held = vec![true; mesh.nodes_m.len()];
    let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
    let law = LawFamily::NeoHookean;
    let built = ImplicitTissue::of_tets(
        &mesh,
        &held,
        law,
        &cell_materials,
        &ImplicitParams::default(),
    );
    assert_eq!(built.map(|_| ()), Err(ImplicitError::Untouchable));
}
