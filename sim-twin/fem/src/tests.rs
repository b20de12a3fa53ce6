use super::element::{AveragedLaw, BULK_OVER_SHEAR_LOCAL, Deformed, GaussPoints};
use super::*;
use nalgebra::{Matrix3, Rotation3};
use palpate_geometry::mesh::MixedMesh;
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::quadratic::EDGES;
use palpate_twin::Vec3;
use palpate_twin::law::{
    CellMaterial, ElasticLaw, LawFamily, Material, Moduli, OgdenTerm, Viscosity,
};
use proptest::prelude::*;

mod balance;
mod block;
mod continuum;
pub(crate) mod static_reference;
mod tetrahedra;
mod touch;
mod voxel_model;

/// Evenly spaced coordinates from 0 to a length \[m\].
pub(crate) fn evenly_spaced(length_m: f64, cells: u32) -> Vec<f64> {
    let count = f64::from(cells);
    let place = |i: u32| length_m * (f64::from(i) / count);
    (0..=cells).map(place).collect()
}

/// Materials of cells, all with the same viscosity.
pub(crate) fn cell_materials(
    moduli: &[Moduli],
    densities_kgpm3: &[f64],
    viscosity: Viscosity,
) -> Vec<CellMaterial> {
    let of = |(&moduli, &density_kgpm3): (&Moduli, &f64)| CellMaterial {
        moduli,
        density_kgpm3,
        viscosity,
        law: None,
    };
    moduli.iter().zip(densities_kgpm3).map(of).collect()
}

/// Block of hexahedra in the format of a mesh file, before it is cut into tetrahedra.
pub(crate) fn uncut(mesh: &HexMesh) -> MixedMesh {
    let mut parts = MixedMesh {
        nodes_m: mesh.nodes_m.clone(),
        ..MixedMesh::default()
    };
    for cell in &mesh.cells {
        parts.hexes.push(*cell, 0);
    }
    parts
}

/// Returns the speed of pressure waves \[m/s\].
fn pressure_wave_mps(material: &Material) -> f64 {
    let moduli = material.moduli();
    ((moduli.lambda_pa + 2.0 * moduli.mu_pa) / material.density_kgpm3()).sqrt()
}

/// Laws of large strain.
pub(crate) const NONLINEAR: [LawFamily; 7] = [
    LawFamily::StVenantKirchhoff,
    LawFamily::NeoHookean,
    LawFamily::StableNeoHookean,
    LawFamily::MooneyRivlin { second: 0.3 },
    LawFamily::Fung { growth: 2.0 },
    YEOH,
    OGDEN,
];

/// Yeoh's law with both of its coefficients.
pub(crate) const YEOH: LawFamily = LawFamily::Yeoh {
    second: 0.8,
    third: 0.5,
};

/// Ogden's law with a positive and a negative exponent.
pub(crate) const OGDEN: LawFamily = LawFamily::Ogden {
    terms: [
        OgdenTerm {
            share: 0.6,
            exponent: 5.0,
        },
        OgdenTerm {
            share: 0.4,
            exponent: -3.0,
        },
        OgdenTerm::NONE,
    ],
};

const FAMILIES: [LawFamily; 4] = [
    LawFamily::StVenantKirchhoff,
    LawFamily::NeoHookean,
    LawFamily::StableNeoHookean,
    LawFamily::MooneyRivlin { second: 0.3 },
];

/// Families including the linear law, which a rotation strains.
fn with_linear() -> Vec<LawFamily> {
    let mut families = FAMILIES.to_vec();
    families.push(LawFamily::Linear);
    families
}

fn law(family: LawFamily, poisson: f64, shared: f64) -> AveragedLaw {
    let moduli = Material::new(2.5, poisson, 1.0).unwrap().moduli();
    AveragedLaw::new(family, moduli, shared)
}

/// Corners of a unit cube with noise.
fn corners() -> impl Strategy<Value = [Vec3; 8]> {
    prop::array::uniform8(prop::array::uniform3(-0.12..0.12_f64)).prop_map(|noise| {
        let mut at = palpate_geometry::mesh::hex::CORNERS.map(|c| Vec3::from(c) * 0.5);
        for (x, noise) in at.iter_mut().zip(noise) {
            *x += Vec3::from(noise);
        }
        at
    })
}

/// Tetrahedron of edges near 1 with its edge nodes, and moved positions of all nodes.
fn tet() -> impl Strategy<Value = ([Vec3; 10], [Vec3; 10])> {
    let noise = || prop::array::uniform10(prop::array::uniform3(-0.1..0.1_f64));
    (noise(), noise()).prop_map(|(rest, moved)| {
        let unit = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        let mut at = [Vec3::zeros(); 10];
        for corner in 0..4 {
            at[corner] = unit[corner] + Vec3::from(rest[corner]);
        }
        for (node, [i, j]) in EDGES.iter().enumerate() {
            at[4 + node] = (at[*i] + at[*j]) * 0.5;
        }
        let to = std::array::from_fn(|node| at[node] + Vec3::from(moved[node]) * 0.6);
        (at, to)
    })
}

/// Checks forces against differences of the energy, and stiffness against differences of the forces, for one
/// node and axis.
fn check_derivatives<const N: usize, const P: usize>(
    (points, law): (&GaussPoints<N, P>, &AveragedLaw),
    u: [Vec3; N],
    (node, axis): (usize, usize),
) -> Result<(), TestCaseError> {
    let of = |u: &[Vec3; N]| Deformed::new(points, law, u);
    let energy = of(&u).energy();
    prop_assume!(energy.is_finite());
    let (forces, stiffness) = (of(&u).forces(), of(&u).stiffness());
    let h = 1e-6;
    let (mut up, mut down) = (u, u);
    up[node][axis] += h;
    down[node][axis] -= h;
    let slope = (of(&up).energy() - of(&down).energy()) / (2.0 * h);
    prop_assert!((slope - forces[node][axis]).abs() < 1e-6 * (1.0 + slope.abs()));
    let (above, below) = (of(&up).forces(), of(&down).forces());
    let blocks = || stiffness.iter().flatten();
    let size = blocks().map(|block| block.amax()).fold(0.0, f64::max);
    for a in 0..N {
        for i in 0..3 {
            let slope = (above[a][i] - below[a][i]) / (2.0 * h);
            let expected = stiffness[a][node][(i, axis)];
            prop_assert!(
                (slope - expected).abs() < 1e-6 * (1.0 + size),
                "{slope} {expected}"
            );
        }
        for (b, block) in stiffness[a].iter().enumerate() {
            let twice = block - stiffness[b][a].transpose();
            prop_assert!(twice.amax() < 1e-11 * (1.0 + size));
        }
    }
    Ok(())
}

/// Checks that a rigid motion has no forces, and that a uniform strain has its own energy and forces without
/// a sum.
fn check_patch<const N: usize, const P: usize>(
    (points, law): (&GaussPoints<N, P>, &AveragedLaw),
    at: [Vec3; N],
    (turn, strain): ([f64; 3], [f64; 9]),
) -> Result<(), TestCaseError> {
    let turn = Rotation3::new(Vec3::from(turn));
    let moved = at.map(|x| turn * x + Vec3::new(3.0, -2.0, 1.0) - x);
    let forces = Deformed::new(points, law, &moved).forces();
    prop_assert!(forces.iter().all(|force| force.amax() < 1e-12));
    let f = Matrix3::identity() + Matrix3::from_row_slice(&strain);
    let moved = at.map(|x| f * x - x);
    let deformed = Deformed::new(points, law, &moved);
    let expected = points.volume() * law.law.energy(&f);
    prop_assert!((deformed.energy() - expected).abs() < 1e-11 * (1.0 + expected));
    let sum: Vec3 = deformed.forces().iter().sum();
    prop_assert!(sum.amax() < 1e-12);
    Ok(())
}

/// No averaging, full averaging and the default part of the volume change.
fn shared() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![f64::INFINITY, 0.0, BULK_OVER_SHEAR_LOCAL])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn forces_and_stiffness_of_a_hexahedron_are_derivatives(
        at in corners(), to in corners(),
        family in prop::sample::select(with_linear()), poisson in 0.2..0.49_f64,
        shared in shared(), node in 0..8_usize, axis in 0..3_usize,
    ) {
        let law = law(family, poisson, shared);
        let mut u = at;
        for (u, to) in u.iter_mut().zip(&to) {
            *u = (to - *u) * 0.8;
        }
        check_derivatives((&GaussPoints::of_hex(&at), &law), u, (node, axis))?;
    }

    #[test]
    fn forces_and_stiffness_of_a_tetrahedron_are_derivatives(
        (at, to) in tet(),
        family in prop::sample::select(with_linear()), poisson in 0.2..0.49_f64,
        shared in shared(), node in 0..10_usize, axis in 0..3_usize,
    ) {
        let law = law(family, poisson, shared);
        let u = std::array::from_fn(|node| to[node] - at[node]);
        check_derivatives((&GaussPoints::of_tet(&at), &law), u, (node, axis))?;
    }

    #[test]
    fn an_even_strain_is_exact_on_any_mesh_and_a_rigid_motion_is_free(
        at in corners(), (tet, _) in tet(), turn in prop::array::uniform3(-2.0..2.0_f64),
        strain in prop::array::uniform9(-0.2..0.2_f64),
        family in prop::sample::select(FAMILIES.to_vec()), shared in shared(),
    ) {
        let law = law(family, 0.45, shared);
        check_patch((&GaussPoints::of_hex(&at), &law), at, (turn, strain))?;
        check_patch((&GaussPoints::of_tet(&tet), &law), tet, (turn, strain))?;
    }
}

fn moduli(mesh: &HexMesh, young_pa: f64, poisson: f64) -> Vec<Moduli> {
    let material = Material::new(young_pa, poisson, 1000.0).unwrap();
    vec![material.moduli(); mesh.cells.len()]
}

/// Lets sides slide: planes of symmetry.
pub(crate) fn let_slide(solid: &mut Solid, mesh: &HexMesh, sides: &[BlockSide]) {
    for &side in sides {
        solid.mirror(mesh, side);
    }
}
