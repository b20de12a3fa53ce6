use super::element::{Deformed, Points, Split};
use super::*;
use crate::implicit::{Matter, Viscosity};
use nalgebra::{Matrix3, Rotation3};
use palpate_geometry::mesh::Parts;
use palpate_geometry::mesh::grade::Grading;
use palpate_geometry::mesh::hex::{HexMesh, Side};
use palpate_geometry::mesh::quadratic::EDGES;
use palpate_twin::Vec3;
use palpate_twin::law::{Elastic, Family, Material, Moduli};
use proptest::prelude::*;

mod balance;
mod block;
mod continuum;
mod linked;
mod tetrahedra;
mod touch;
pub(crate) mod truth;

/// Even coordinates from 0 to a length \[m\].
pub(crate) fn even(length_m: f64, cells: u32) -> Vec<f64> {
    let count = f64::from(cells);
    let place = |i: u32| length_m * (f64::from(i) / count);
    (0..=cells).map(place).collect()
}

/// An elastic tissue.
pub(crate) fn elastic<'a>(
    family: Family,
    moduli: &'a [Moduli],
    densities_kgpm3: &'a [f64],
) -> Matter<'a> {
    Matter {
        family,
        moduli,
        densities_kgpm3,
        viscosities: &[],
    }
}

/// The same with viscosities.
pub(crate) fn with<'a>(matter: Matter<'a>, viscosities: &'a [Viscosity]) -> Matter<'a> {
    Matter {
        viscosities,
        ..matter
    }
}

/// A block of hexahedra as a file holds it, to be cut.
pub(crate) fn uncut(mesh: &HexMesh) -> Parts {
    let mut parts = Parts {
        nodes_m: mesh.nodes_m.clone(),
        ..Parts::default()
    };
    for cell in &mesh.cells {
        parts.hexes.push(*cell, 0);
    }
    parts
}

/// Speed of pressure waves \[m/s\].
fn pressure_wave_mps(material: &Material) -> f64 {
    let moduli = material.moduli();
    ((moduli.lambda_pa + 2.0 * moduli.mu_pa) / material.density_kgpm3()).sqrt()
}

const FAMILIES: [Family; 4] = [
    Family::StVenantKirchhoff,
    Family::NeoHookean,
    Family::StableNeoHookean,
    Family::MooneyRivlin { second: 0.3 },
];

/// With the one that a rotation strains.
fn with_linear() -> Vec<Family> {
    let mut families = FAMILIES.to_vec();
    families.push(Family::Linear);
    families
}

fn law(family: Family, poisson: f64, volumetric: Volumetric) -> Split {
    let moduli = Material::new(2.5, poisson, 1.0).unwrap().moduli();
    Split::new(family, moduli, volumetric)
}

/// A unit cube's corners with noise.
fn corners() -> impl Strategy<Value = [Vec3; 8]> {
    prop::array::uniform8(prop::array::uniform3(-0.12..0.12_f64)).prop_map(|noise| {
        let mut at = palpate_geometry::mesh::hex::CORNERS.map(|c| Vec3::from(c) * 0.5);
        for (x, noise) in at.iter_mut().zip(noise) {
            *x += Vec3::from(noise);
        }
        at
    })
}

/// A tetrahedron of edges near 1 with its nodes between corners, and places that they may move to.
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

/// Forces are the energy's slope and stiffness that of the forces, as one node moves along one axis.
fn slopes<const N: usize, const P: usize>(
    (points, law): (&Points<N, P>, &Split),
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
            let exact = stiffness[a][node][(i, axis)];
            prop_assert!(
                (slope - exact).abs() < 1e-6 * (1.0 + size),
                "{slope} {exact}"
            );
        }
        for (b, block) in stiffness[a].iter().enumerate() {
            let twice = block - stiffness[b][a].transpose();
            prop_assert!(twice.amax() < 1e-11 * (1.0 + size));
        }
    }
    Ok(())
}

/// A rigid motion pulls nothing, and an even strain has its own energy and pulls nothing in sum.
fn patch<const N: usize, const P: usize>(
    (points, law): (&Points<N, P>, &Split),
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
    let exact = points.volume() * law.law().energy(&f);
    prop_assert!((deformed.energy() - exact).abs() < 1e-11 * (1.0 + exact));
    let sum: Vec3 = deformed.forces().iter().sum();
    prop_assert!(sum.amax() < 1e-12);
    Ok(())
}

fn volumetric() -> impl Strategy<Value = Volumetric> {
    prop::sample::select(vec![Volumetric::Full, Volumetric::Mean, Volumetric::Shared])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn element_forces_and_stiffness_are_slopes(
        at in corners(), to in corners(),
        family in prop::sample::select(with_linear()), poisson in 0.2..0.49_f64,
        volumetric in volumetric(), node in 0..8_usize, axis in 0..3_usize,
    ) {
        let law = law(family, poisson, volumetric);
        let mut u = at;
        for (u, to) in u.iter_mut().zip(&to) {
            *u = (to - *u) * 0.8;
        }
        slopes((&Points::of_hex(&at), &law), u, (node, axis))?;
    }

    #[test]
    fn forces_and_stiffness_of_a_tetrahedron_are_slopes(
        (at, to) in tet(),
        family in prop::sample::select(with_linear()), poisson in 0.2..0.49_f64,
        volumetric in volumetric(), node in 0..10_usize, axis in 0..3_usize,
    ) {
        let law = law(family, poisson, volumetric);
        let u = std::array::from_fn(|node| to[node] - at[node]);
        slopes((&Points::of_tet(&at), &law), u, (node, axis))?;
    }

    #[test]
    fn an_even_strain_is_exact_on_any_mesh_and_a_rigid_motion_is_free(
        at in corners(), (tet, _) in tet(), turn in prop::array::uniform3(-2.0..2.0_f64),
        strain in prop::array::uniform9(-0.2..0.2_f64),
        family in prop::sample::select(FAMILIES.to_vec()), volumetric in volumetric(),
    ) {
        let law = law(family, 0.45, volumetric);
        patch((&Points::of_hex(&at), &law), at, (turn, strain))?;
        patch((&Points::of_tet(&tet), &law), tet, (turn, strain))?;
    }
}

fn moduli(mesh: &HexMesh, young_pa: f64, poisson: f64) -> Vec<Moduli> {
    let material = Material::new(young_pa, poisson, 1000.0).unwrap();
    vec![material.moduli(); mesh.cells.len()]
}

#[test]
fn wrong_solids_are_refused() {
    let axis_m = even(0.1, 2);
    let mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    let good = moduli(&mesh, 5e3, 0.45);
    let fixed = [Support::Fixed(Side::ZMin)];
    let build = |moduli: &[Moduli], supports: &[Support]| {
        Solid::new(
            &mesh,
            (Family::NeoHookean, moduli),
            supports,
            Volumetric::Mean,
        )
        .map(|_| ())
    };
    assert_eq!(
        build(&good[1..], &fixed),
        Err(SolidError::Count { cells: 8, found: 7 })
    );
    assert_eq!(build(&good, &[]), Err(SolidError::Unsupported));
    let mut bad = good.clone();
    bad[3].mu_pa = 0.0;
    assert!(matches!(
        build(&bad, &fixed),
        Err(SolidError::Modulus { cell: 3, .. })
    ));
    assert_eq!(build(&good, &fixed), Ok(()));
    for family in [
        Family::Fung { growth: 0.0 },
        Family::Fung { growth: f64::NAN },
        Family::MooneyRivlin { second: -0.1 },
        Family::MooneyRivlin { second: 1.1 },
    ] {
        let law = (family, &good[..]);
        let refused = Solid::new(&mesh, law, &fixed, Volumetric::Mean);
        assert!(refused.is_err(), "{family:?}");
    }
}
