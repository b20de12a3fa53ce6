//! The condensed predictor against the nonlinear truth.
use super::*;
use crate::model::fem::{Compliance, Contacts, Patch};

#[test]
#[ignore = "experiment"]
fn experiment_predictor() {
    let number =
        |name: &str, default: f64| std::env::var(name).map_or(default, |v| v.parse().unwrap());
    let (cell_m, half_m) = (number("CELL", 1e-3), number("HALF", 0.01));
    let side = Grading {
        from_m: 0.05 - half_m,
        to_m: 0.05 + half_m,
        cell_m,
        growth: number("GROW", 1.4),
    };
    let up = Grading {
        from_m: 0.1 - number("DEEP", 0.004),
        to_m: 0.1,
        cell_m,
        growth: number("GROW", 1.4),
    };
    let across_m = side.axis(0.1).unwrap();
    let mesh = HexMesh::block([&across_m, &across_m, &up.axis(0.1).unwrap()]).unwrap();
    let law = (Family::NeoHookean, &moduli(&mesh, 5e3, 0.45)[..]);
    let solid = Solid::new(&mesh, law, &[Support::Fixed(Side::ZMin)], Volumetric::Mean).unwrap();
    let start = std::time::Instant::now();
    let patch = Patch {
        centre_m: [0.05; 2],
        half_m,
    };
    let compliance = Compliance::new(&solid, &mesh, patch).unwrap();
    println!(
        "{} nodes, {} faces, table {:.1} MB, {:.1} s",
        mesh.nodes_m.len(),
        compliance.faces(),
        compliance.to_bytes().len() as f64 * 1e-6,
        start.elapsed().as_secs_f64()
    );
    for depth_m in [0.25e-3, 0.5e-3, 1e-3, 1.5e-3, 2e-3, 2.5e-3] {
        let mut forces = Vec::new();
        let mut contacts = Contacts::new(&compliance);
        for i in 0..400 {
            let x_m = 0.05 + 1e-5 * f64::from(i);
            let answer = contacts.press(&compliance, Vec3::new(x_m, 0.05, 0.105 - depth_m), 0.005);
            if i == 0 {
                println!("{depth_m} {answer:?}");
            }
            if i > 5 {
                forces.push(answer.force_n.z);
            }
        }
        let (low, high) = forces
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), &f| (a.min(f), b.max(f)));
        println!(
            "   mean {:.5} ripple {:.2} %",
            0.5 * (low + high),
            100.0 * (high - low) / (high + low)
        );
    }
    let mut times = Vec::new();
    let mut sweeps = 0;
    let mut contacts = Contacts::new(&compliance);
    for i in 0..20000 {
        let t = f64::from(i) * 1e-3;
        let at = Vec3::new(
            0.05 + 0.003 * (3.0 * t).sin(),
            0.05 + 0.003 * (2.0 * t).cos(),
            0.105 - 1e-3 - 1e-3 * (5.0 * t).sin(),
        );
        let start = std::time::Instant::now();
        let answer = contacts.press(&compliance, at, 0.005);
        times.push(start.elapsed().as_nanos());
        sweeps += answer.sweeps;
    }
    times.sort();
    println!(
        "p50 {} ns p99 {} ns p99.9 {} mean sweeps {}",
        times[10000],
        times[19800],
        times[19980],
        sweeps / 20000
    );
}
