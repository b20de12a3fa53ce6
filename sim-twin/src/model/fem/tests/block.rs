//! The block test: a cube of 0.1 m under a sphere of 5 mm.
use super::*;
use crate::law::Mixing;
use crate::mesh::region::{Region, Shape, Shares};

/// Converged neo-Hookean forces of the block test \[N\] at depths \[m\] (tissue-engines 3.1).
const REFERENCE: [(f64, f64); 4] = [
    (1e-3, 0.0185),
    (2e-3, 0.0504),
    (5e-3, 0.1805),
    (1e-2, 0.4115),
];

/// A quarter of the block, its corner under the probe, with `cell_m` at the contact.
fn quarter(size_m: f64, cell_m: f64, growth: f64) -> HexMesh {
    let zone_m = 0.07 * size_m;
    let side = Grading {
        from_m: 0.0,
        to_m: zone_m,
        cell_m,
        growth,
    };
    let up = Grading {
        from_m: size_m - zone_m,
        to_m: size_m,
        cell_m,
        growth,
    };
    let across_m = side.axis(0.5 * size_m).unwrap();
    HexMesh::block([&across_m, &across_m, &up.axis(size_m).unwrap()]).unwrap()
}

fn press(mesh: &HexMesh, family: Family, moduli: &[Moduli], settings: Settings) -> Press {
    let supports = [
        Support::Fixed(Side::ZMin),
        Support::Sliding(Side::XMin),
        Support::Sliding(Side::YMin),
    ];
    let solid = Solid::new(mesh, (family, moduli), &supports, Volumetric::Mean).unwrap();
    let size_m = mesh.extent_m();
    Press::new((solid, mesh), [0.0, 0.0], 0.05 * size_m, settings)
}

#[test]
#[ignore = "experiment"]
fn experiment() {
    let number =
        |name: &str, default: f64| std::env::var(name).map_or(default, |v| v.parse().unwrap());
    let cell_m = number("CELL", 1.5e-3);
    let settings = Settings {
        augmentations: number("AUG", 1.0) as usize,
        order: number("ORDER", 3.0) as usize,
        contact_stiffness: number("EPS", 30.0),
        increment: number("INC", 0.1),
        ..Settings::default()
    };
    let mesh = quarter(0.1, cell_m, number("GROW", 1.25));
    println!("{} nodes {} cells", mesh.nodes_m.len(), mesh.cells.len());
    let mut press = press(
        &mesh,
        Family::NeoHookean,
        &moduli(&mesh, 5e3, 0.45),
        settings,
    );
    let start = std::time::Instant::now();
    for (depth_m, force_n) in REFERENCE {
        let touch = press.to(depth_m).unwrap();
        let found_n = 4.0 * touch.force_n.z;
        println!(
            "{:.1} mm {found_n:.5} N ({:+.2} %), newton {} krylov {} {:.1} s; support {:.3e}",
            depth_m * 1e3,
            (found_n / force_n - 1.0) * 100.0,
            touch.iterations,
            touch.krylov,
            start.elapsed().as_secs_f64(),
            touch.force_n.z + touch.support_n.z,
        );
    }
}

#[test]
#[ignore = "experiment"]
fn experiment_nodule() {
    let number =
        |name: &str, default: f64| std::env::var(name).map_or(default, |v| v.parse().unwrap());
    let (cell_m, growth) = (number("CELL", 1.5e-3), number("GROW", 1.3));
    let (deep_m, shift_m) = (number("DEEP", 0.016), number("SHIFT", 0.0));
    let side = Grading {
        from_m: 0.0,
        to_m: 0.007,
        cell_m,
        growth,
    };
    let up = Grading {
        from_m: 0.1 - deep_m,
        to_m: 0.1,
        cell_m,
        growth,
    };
    let across_m = side.axis(0.05).unwrap();
    let mesh = HexMesh::block([&across_m, &across_m, &up.axis(0.1).unwrap()]).unwrap();
    println!(
        "cell {cell_m} {} nodes {} cells",
        mesh.nodes_m.len(),
        mesh.cells.len()
    );
    let soft = Material::new(5e3, 0.45, 1000.0).unwrap();
    let hard = Material::new(50e3, 0.45, 1000.0).unwrap();
    let ball = Shape::Ball {
        centre_m: Vec3::new(0.0, 0.0, 0.09 + shift_m),
        radius_m: number("BALL", 0.005),
    };
    let regions = [
        Region {
            shape: Shape::All,
            material: soft,
        },
        Region {
            shape: ball,
            material: hard,
        },
    ];
    let settings = Settings {
        increment: 0.25,
        tolerance: 1e-5,
        ..Settings::default()
    };
    let start = std::time::Instant::now();
    let force_n = |moduli: &[Moduli]| {
        let mut press = press(&mesh, Family::NeoHookean, moduli, settings);
        let touch = press.to(5e-3).unwrap();
        4.0 * touch.force_n.z
    };
    let plain_n = force_n(&moduli(&mesh, 5e3, 0.45));
    println!("plain {plain_n:.5} {:.0} s", start.elapsed().as_secs_f64());
    let shares = Shares::take(&mesh, &regions, 10).unwrap();
    for mixing in [Mixing::Voigt, Mixing::Hill, Mixing::Reuss] {
        let found_n = force_n(&shares.moduli(&regions, mixing));
        println!(
            "{mixing:?} {found_n:.5} {:+.2} % {:.0} s",
            100.0 * (found_n / plain_n - 1.0),
            start.elapsed().as_secs_f64()
        );
    }
    let centre = Shares::take(&mesh, &regions, 1).unwrap();
    let found_n = force_n(&centre.moduli(&regions, Mixing::Voigt));
    println!(
        "centre {found_n:.5} {:+.2} %",
        100.0 * (found_n / plain_n - 1.0)
    );
}
