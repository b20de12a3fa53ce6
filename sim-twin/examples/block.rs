//! The block test on a mesh of your choice: forces, sizes and times.
//!
//! `cargo run --release -p palpate-twin --example block -- press 1` presses a cube of 0.1 m
//! (E = 5 kPa, nu = 0.45, neo-Hookean) with a sphere of 5 mm on cells of 1 mm; `nodule 1.5` adds a
//! ball 10 times stiffer 10 mm deep under every mixing rule; `aligned 1.25` fits the mesh to that
//! ball, for cells of 2.5 mm over a whole number; `predict 1 10` condenses a patch of
//! 10 mm half edge and times its answers; `explicit 2 2 0.7 100` runs the press in time on a whole
//! block (hourglass coefficient, safety of the step, contact stiffness) and times its ticks.

use palpate_twin::law::{Family, Material, Mixing, Moduli};
use palpate_twin::mesh::grade::Grading;
use palpate_twin::mesh::hex::{HexMesh, Side};
use palpate_twin::mesh::region::{Region, Shape, Shares};
use palpate_twin::model::fem::explicit::{Explicit, Params};
use palpate_twin::model::fem::{
    Compliance, Contacts, Patch, Press, Settings, Solid, Support, Volumetric,
};
use palpate_twin::{Reaction, Tissue, Tool, Vec3};
use std::error::Error;
use std::time::Instant;

const DEPTHS_M: [f64; 4] = [1e-3, 2e-3, 5e-3, 1e-2];
const REFERENCE_N: [f64; 4] = [0.0185, 0.0504, 0.1805, 0.4115];

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| -> Result<f64, Box<dyn Error>> {
        let given = arguments.get(index).map(|text| text.parse());
        Ok(given.transpose()?.unwrap_or(default))
    };
    let cell_m = number(1, 1.5)? * 1e-3;
    match arguments.first().map(String::as_str) {
        Some("press") => press(cell_m),
        Some("nodule") => nodule(cell_m),
        Some("aligned") => aligned(cell_m),
        Some("predict") => predict(cell_m, number(2, 10.0)? * 1e-3),
        Some("explicit") => explicit(
            cell_m,
            (number(2, 2.0)?, number(3, 0.7)?, number(4, 100.0)?),
        ),
        _ => {
            Err("expected press, nodule, aligned, predict or explicit, then the cell in mm".into())
        }
    }
}

fn quarter(cell_m: f64, deep_m: f64) -> Result<HexMesh, Box<dyn Error>> {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m,
        growth: 1.3,
    };
    let across_m = grade(0.0, 0.007).axis(0.05)?;
    let mesh = HexMesh::block([&across_m, &across_m, &grade(0.1 - deep_m, 0.1).axis(0.1)?])?;
    println!(
        "quarter block: {} nodes, {} cells",
        mesh.nodes_m.len(),
        mesh.cells.len()
    );
    Ok(mesh)
}

fn sphere_on(mesh: &HexMesh, moduli: &[Moduli]) -> Result<Press, Box<dyn Error>> {
    let supports = [
        Support::Fixed(Side::ZMin),
        Support::Sliding(Side::XMin),
        Support::Sliding(Side::YMin),
    ];
    let law = (Family::NeoHookean, moduli);
    let solid = Solid::new(mesh, law, &supports, Volumetric::Mean)?;
    Ok(Press::new(
        (solid, mesh),
        [0.0; 2],
        5e-3,
        Settings::default(),
    ))
}

fn soft(mesh: &HexMesh) -> Result<Vec<Moduli>, Box<dyn Error>> {
    Ok(vec![
        Material::new(5e3, 0.45, 1e3)?.moduli();
        mesh.cells.len()
    ])
}

fn press(cell_m: f64) -> Outcome {
    let mesh = quarter(cell_m, 0.007)?;
    let mut sphere = sphere_on(&mesh, &soft(&mesh)?)?;
    for (depth_m, reference_n) in DEPTHS_M.into_iter().zip(REFERENCE_N) {
        let start = Instant::now();
        let touch = sphere.to(depth_m)?;
        let force_n = 4.0 * touch.force_n.z;
        println!(
            "{:4.1} mm  {force_n:.5} N  {:+.2} % of the reference  {} Newton, {} CG, {:.1} s",
            depth_m * 1e3,
            100.0 * (force_n / reference_n - 1.0),
            touch.iterations,
            touch.krylov,
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

fn nodule(cell_m: f64) -> Outcome {
    let mesh = quarter(cell_m, 0.016)?;
    let ball = Shape::Ball {
        centre_m: Vec3::new(0.0, 0.0, 0.09),
        radius_m: 5e-3,
    };
    let regions = [
        Region {
            shape: Shape::All,
            material: Material::new(5e3, 0.45, 1e3)?,
        },
        Region {
            shape: ball,
            material: Material::new(50e3, 0.45, 1e3)?,
        },
    ];
    let plain_n = sphere_on(&mesh, &soft(&mesh)?)?.to(5e-3)?.force_n.z;
    println!("without: {:.5} N", 4.0 * plain_n);
    let (fine, centre) = (
        Shares::take(&mesh, &regions, 10)?,
        Shares::take(&mesh, &regions, 1)?,
    );
    let cases = [
        ("Voigt", &fine, Mixing::Voigt),
        ("Hill", &fine, Mixing::Hill),
        ("geometric", &fine, Mixing::Geometric),
        ("Reuss", &fine, Mixing::Reuss),
        ("sampled at the centre", &centre, Mixing::Voigt),
    ];
    for (name, shares, mixing) in cases {
        let start = Instant::now();
        let touch = sphere_on(&mesh, &shares.moduli(&regions, mixing))?.to(5e-3)?;
        println!(
            "{name}: {:+.2} %, {} Newton, {} CG, {:.1} s",
            100.0 * (touch.force_n.z / plain_n - 1.0),
            touch.iterations,
            touch.krylov,
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

fn aligned(cell_m: f64) -> Outcome {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m,
        growth: 1.3,
    };
    let across_m = grade(0.0, 0.0075).axis(0.05)?;
    let mut mesh = HexMesh::block([&across_m, &across_m, &grade(0.085, 0.1).axis(0.1)?])?;
    let (centre_m, radius_m) = (Vec3::new(0.0, 0.0, 0.09), 5e-3);
    mesh.fit_ball(centre_m, radius_m)?;
    println!("fitted quarter block: {} nodes", mesh.nodes_m.len());
    let soft = soft(&mesh)?;
    let hard = (0..mesh.cells.len()).map(|cell| {
        let middle_m = mesh.corners_m(cell).iter().sum::<Vec3>() / 8.0;
        let inside = (middle_m - centre_m).norm() < radius_m;
        soft[cell].scaled(if inside { 10.0 } else { 1.0 })
    });
    let hard: Vec<Moduli> = hard.collect();
    let plain_n = sphere_on(&mesh, &soft)?.to(5e-3)?.force_n.z;
    let found_n = sphere_on(&mesh, &hard)?.to(5e-3)?.force_n.z;
    let change = 100.0 * (found_n / plain_n - 1.0);
    println!("without: {:.5} N; with: {change:+.2} %", 4.0 * plain_n);
    Ok(())
}

fn predict(cell_m: f64, half_m: f64) -> Outcome {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m,
        growth: 1.4,
    };
    let across_m = grade(0.05 - half_m, 0.05 + half_m).axis(0.1)?;
    let mesh = HexMesh::block([&across_m, &across_m, &grade(0.096, 0.1).axis(0.1)?])?;
    let moduli = soft(&mesh)?;
    let law = (Family::NeoHookean, &moduli[..]);
    let solid = Solid::new(&mesh, law, &[Support::Fixed(Side::ZMin)], Volumetric::Mean)?;
    let patch = Patch {
        centre_m: [0.05; 2],
        half_m,
    };
    let start = Instant::now();
    let table = Compliance::new(&solid, &mesh, patch)?;
    println!(
        "{} nodes, {} faces, {:.1} MB, condensed in {:.1} s",
        mesh.nodes_m.len(),
        table.faces(),
        table.to_bytes().len() as f64 * 1e-6,
        start.elapsed().as_secs_f64(),
    );
    for depth_m in [0.25e-3, 0.5e-3, 1e-3, 1.5e-3, 2e-3] {
        stroke(&table, depth_m);
    }
    time(&table);
    Ok(())
}

/// Force of a slow stroke over four millimetres: its mean and ripple.
fn stroke(table: &Compliance, depth_m: f64) {
    let mut contacts = Contacts::new(table);
    let (mut low_n, mut high_n) = (f64::MAX, 0.0_f64);
    for step in 0..400 {
        let x_m = 0.05 + 1e-5 * f64::from(step);
        let at_m = Vec3::new(x_m, 0.05, 0.105 - depth_m);
        let force_n = contacts.press(table, at_m, 5e-3).force_n.z;
        if step > 10 {
            (low_n, high_n) = (low_n.min(force_n), high_n.max(force_n));
        }
    }
    println!(
        "{:.2} mm  {:.5} N  ripple +-{:.2} %",
        depth_m * 1e3,
        0.5 * (low_n + high_n),
        100.0 * (high_n - low_n) / (high_n + low_n),
    );
}

/// Times of answers to a tool that wanders at palpation speed, 1 kHz. Of five equal runs the least
/// time of every answer counts, so that other work on the machine does not.
fn time(table: &Compliance) {
    let mut times_ns = vec![u128::MAX; 20_000];
    let mut sweeps = 0;
    for _ in 0..5 {
        let mut contacts = Contacts::new(table);
        sweeps = 0;
        for (step, least_ns) in (0_u32..).zip(&mut times_ns) {
            let t_s = f64::from(step) * 1e-3;
            let depth_m = 1e-3 + 1e-3 * (5.0 * t_s).sin();
            let (x_m, y_m) = (3e-3 * (3.0 * t_s).sin(), 3e-3 * (2.0 * t_s).cos());
            let at_m = Vec3::new(0.05 + x_m, 0.05 + y_m, 0.105 - depth_m);
            let start = Instant::now();
            sweeps += contacts.press(table, at_m, 5e-3).sweeps;
            *least_ns = start.elapsed().as_nanos().min(*least_ns);
        }
    }
    times_ns.sort_unstable();
    println!(
        "answer p50 {} ns, p99 {} ns, p99.9 {} ns, max {} ns; {:.1} sweeps",
        times_ns[10_000],
        times_ns[19_800],
        times_ns[19_980],
        times_ns[19_999],
        sweeps as f64 / 20_000.0,
    );
}

/// The press in 0.5 s and its release, on a whole block.
fn explicit(cell_m: f64, (hourglass, safety, stiffness): (f64, f64, f64)) -> Outcome {
    let grade = |from_m, to_m, growth| Grading {
        from_m,
        to_m,
        cell_m,
        growth,
    };
    let across_m = grade(0.043, 0.057, 1.4).axis(0.1)?;
    let mesh = HexMesh::block([&across_m, &across_m, &grade(0.093, 0.1, 1.4).axis(0.1)?])?;
    let params = Params {
        hourglass,
        safety,
        contact_stiffness: stiffness,
        ..Params::default()
    };
    let moduli = soft(&mesh)?;
    let densities_kgpm3 = vec![1e3; mesh.cells.len()];
    let start = Instant::now();
    let supports = [Support::Fixed(Side::ZMin)];
    let mut tissue = Explicit::new(&mesh, (&moduli, &densities_kgpm3), &supports, &params)?;
    println!(
        "{} nodes, {} cells, levels {:?}, sub-step {:.0} us, built in {:.2} s",
        mesh.nodes_m.len(),
        mesh.cells.len(),
        tissue.level_cells(),
        tissue.substep_s() * 1e6,
        start.elapsed().as_secs_f64(),
    );
    let mut times_ns = Vec::new();
    let mut reaction = [Reaction::default()];
    let (mut low_n, mut high_n) = (f64::MAX, 0.0_f64);
    for tick in 0..1500_u32 {
        let t_s = f64::from(tick) * 1e-3;
        let depth_m = (0.02 * t_s).min(0.01).min(0.02 * (1.5 - t_s));
        let tool = Tool {
            position_m: Vec3::new(0.05, 0.05, 0.105 - depth_m),
            velocity_mps: Vec3::zeros(),
            radius_m: 5e-3,
            stiffness_npm: 1e6,
            jaws: None,
        };
        let start = Instant::now();
        tissue.step(&[tool], 1e-3, &mut reaction);
        times_ns.push(start.elapsed().as_nanos());
        let force_n = reaction[0].force_n.z;
        let at = DEPTHS_M.iter().position(|d| (d - depth_m).abs() < 1e-9);
        if let Some(at) = at.filter(|_| tick <= 500) {
            let error = 100.0 * (force_n / REFERENCE_N[at] - 1.0);
            println!("{:4.1} mm  {force_n:.5} N  {error:+.2} %", depth_m * 1e3);
        }
        if (800..1000).contains(&tick) {
            (low_n, high_n) = (low_n.min(force_n), high_n.max(force_n));
        }
    }
    let held_n = 0.5 * (low_n + high_n);
    let error = 100.0 * (held_n / REFERENCE_N[3] - 1.0);
    let ripple = 100.0 * (high_n - low_n) / (high_n + low_n);
    println!("held     {held_n:.5} N  {error:+.2} %, ripple +-{ripple:.2} %");
    println!("{:?}, {} escapes", tissue.view().ledger, tissue.escapes());
    let whole_ns: u128 = times_ns.iter().sum();
    println!(
        "{:.1} ns a cell a sub-step, contact and nodes included",
        whole_ns as f64 / tissue.passes() as f64
    );
    show_ticks(&mut times_ns);
    Ok(())
}

/// Time of a tick in the parts of the press, from the times of all \[ns\].
fn show_ticks(times_ns: &mut [u128]) {
    for (name, ticks) in [
        ("to 5 mm", 0..250),
        ("to 10 mm", 250..500),
        ("held", 600..1000),
    ] {
        let times_ns = &mut times_ns[ticks];
        times_ns.sort_unstable();
        let at = |share: usize| times_ns[times_ns.len() * share / 100] / 1000;
        println!("{name}: tick p50 {} us, p99 {} us", at(50), at(99));
    }
}
