//! Block test on a mesh of a chosen size: forces, sizes and times.
//!
//! `cargo run --release -p palpate-scene --example block -- predict 1 10` condenses a patch of
//! 10 mm half edge and times its predictions. `explicit 2 2 100` presses a whole block of 0.1 m
//! (E = 5 kPa, nu = 0.45, neo-Hookean) with a sphere of 5 mm in time
//! (hourglass coefficient, contact stiffness) and times its ticks. `scene
//! layered` presses a scene. `extrapolated` prints the error of a step without time against the full step,
//! with the compliance table and without.

use palpate_fem::explicit::{ExplicitParams, ExplicitTissue};
use palpate_fem::{ComplianceTable, ContactSolver, ContactSphere, Patch, Solid};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_geometry::mesh::nested_grid::{NestedGrid, RefinementZone};
use palpate_twin::law::{LawFamily, Material, Moduli};
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use std::error::Error;
use std::time::Instant;

const REFERENCE_N: [f64; 4] = [0.0185, 0.0504, 0.1805, 0.4115];

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| -> Result<f64, Box<dyn Error>> {
        let given = arguments.get(index).map(|text| text.parse());
        Ok(given.transpose()?.unwrap_or(default))
    };
    let cell_m = number(1, 1.5).unwrap_or(1.5) * 1e-3;
    match arguments.first().map(String::as_str) {
        Some("predict") => predict(cell_m, number(2, 10.0)? * 1e-3),
        Some("explicit") => {
            let rest: Result<Vec<f64>, _> = arguments.iter().skip(2).map(|t| t.parse()).collect();
            explicit(cell_m, &rest?)
        }
        Some("extrapolated") => extrapolation_errors(),
        Some("scene") => scene(arguments.get(1).map_or("layered", String::as_str)),
        _ => Err("expected predict, explicit, scene or extrapolated".into()),
    }
}

fn soft(mesh: &HexMesh) -> Result<Vec<Moduli>, Box<dyn Error>> {
    Ok(vec![
        Material::new(5e3, 0.45, 1e3)?.moduli();
        mesh.cells.len()
    ])
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
    let solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
    let patch = Patch {
        centre_m: [0.05; 2],
        half_m: [half_m; 2],
    };
    let start = Instant::now();
    let table = ComplianceTable::new(&solid, &mesh, patch)?;
    let condensed_s = start.elapsed().as_secs_f64();
    let stored = table.to_bytes();
    let start = Instant::now();
    let again = ComplianceTable::from_bytes(&stored)?;
    println!("read again in {:.3} s", start.elapsed().as_secs_f64());
    assert!(again == table);
    println!(
        "{} nodes, {} faces, {:.1} MB, {:.1} MB stored, condensed in {:.1} s",
        mesh.nodes_m.len(),
        table.faces(),
        table.memory_bytes() as f64 * 1e-6,
        stored.len() as f64 * 1e-6,
        condensed_s,
    );
    for depth_m in [0.25e-3, 0.5e-3, 1e-3, 1.5e-3, 2e-3] {
        stroke(&table, depth_m);
    }
    time(&table, half_m);
    Ok(())
}

fn ball(centre_m: Vec3) -> ContactSphere {
    ContactSphere {
        centre_m,
        radius_m: 5e-3,
        stiffness_npm: f64::INFINITY,
    }
}

/// Force of a slow stroke over four millimetres: its mean and ripple.
fn stroke(table: &ComplianceTable, depth_m: f64) {
    let mut contacts = ContactSolver::default();
    let (mut low_n, mut high_n) = (f64::MAX, 0.0_f64);
    for step in 0..400 {
        let x_m = 0.05 + 1e-5 * f64::from(step);
        let at_m = Vec3::new(x_m, 0.05, 0.105 - depth_m);
        let force_n = contacts.press(table, &ball(at_m)).force_n.z;
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

/// Times of predictions for a tool that moves at palpation speed, for one that is anywhere on the patch
/// in each prediction, and for one anywhere at all, deep or off the patch.
fn time(table: &ComplianceTable, half_m: f64) {
    let mut dice = 1_u64;
    let mut random = |low: f64, high: f64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        low + (high - low) * ((dice >> 11) as f64 / (1_u64 << 53) as f64)
    };
    let wander = (0..ANSWERS).map(|step| {
        let t_s = step as f64 * 1e-3;
        let (x_m, y_m) = (3e-3 * (3.0 * t_s).sin(), 3e-3 * (2.0 * t_s).cos());
        Vec3::new(x_m, y_m, -1e-3 - 1e-3 * (5.0 * t_s).sin())
    });
    let wander: Vec<Vec3> = wander.collect();
    let mut scatter = |reach_m: f64, deep_m: f64| -> Vec<Vec3> {
        let mut place = |_| {
            let (x_m, y_m) = (random(-reach_m, reach_m), random(-reach_m, reach_m));
            Vec3::new(x_m, y_m, random(-deep_m, 0.1 * deep_m))
        };
        (0..ANSWERS).map(&mut place).collect()
    };
    let kinds = [
        ("wandering", wander),
        ("on the patch", scatter(half_m - 4e-3, 2e-3)),
        ("anywhere", scatter(2.0 * half_m, 20e-3)),
    ];
    for (name, poses) in kinds {
        let mut times_ns = vec![u128::MAX; ANSWERS];
        let (mut products, mut valid) = (0, 0);
        // the least time of equal runs counts, so that other load on the machine has no effect
        for _ in 0..RUNS {
            let mut contacts = ContactSolver::default();
            (products, valid) = (0, 0);
            for (pose, least_ns) in poses.iter().zip(&mut times_ns) {
                let at_m = Vec3::new(0.05, 0.05, 0.105) + pose;
                let start = Instant::now();
                let answer = contacts.press(table, &ball(at_m));
                *least_ns = start.elapsed().as_nanos().min(*least_ns);
                products += answer.products;
                valid += usize::from(answer.weight > 0.0);
            }
        }
        times_ns.sort_unstable();
        println!(
            "{name}: p50 {} ns, p99 {} ns, p99.9 {} ns, max {} ns; {:.1} products; {valid} of {ANSWERS} known",
            times_ns[ANSWERS / 2],
            times_ns[ANSWERS / 100 * 99],
            times_ns[ANSWERS / 1000 * 999],
            times_ns[ANSWERS - 1],
            products as f64 / ANSWERS as f64,
        );
    }
}

/// Predictions that are timed, and number of runs.
const ANSWERS: usize = 20_000;
const RUNS: usize = 7;

/// Press in 0.5 s and its release, on a whole block.
fn explicit(cell_m: f64, rest: &[f64]) -> Outcome {
    let pick = |index: usize, default: f64| rest.get(index).copied().unwrap_or(default);
    let levels = pick(2, 4.0) as usize;
    let nested = NestedGrid::new(
        Vec3::new(-0.05, -0.05, -0.1),
        Vec3::new(0.05, 0.05, 0.0),
        &RefinementZone {
            cell_m,
            levels,
            centre_m: [0.0; 2],
            half_m: [0.016, 0.008],
            depth_m: pick(4, 8.0) * 1e-3,
        },
    )?;
    let stuff = Material::new(5e3, 0.45, 1e3)?.cell_material();
    let levels = nested.levels.iter();
    let stuff: Vec<Vec<_>> = levels.map(|level| vec![stuff; level.count()]).collect();
    let params = ExplicitParams {
        hourglass: pick(0, 1.5),
        contact_stiffness: pick(1, 40.0),
        classes: pick(3, 1.0) as usize,
        ..ExplicitParams::default()
    };
    let begun = Instant::now();
    let mut tissue = ExplicitTissue::new(&nested, &stuff, &params)?;
    println!(
        "{} nodes, {} cells, finest {:.3} mm; lanes by class {:?}; sub-step {:.1} us; built in {:.2} s",
        tissue.caps().nodes,
        tissue.caps().elements,
        nested.levels.last().map_or(0.0, |l| l.edge_m[0] * 1e3),
        tissue.class_cells(),
        tissue.substep_s() * 1e6,
        begun.elapsed().as_secs_f64(),
    );
    go(&mut tissue);
    println!("{:?}", tissue.view().energy);
    Ok(())
}

/// Presses 10 mm in half a second, holds as long, and strokes 10 mm.
fn go(tissue: &mut ExplicitTissue) {
    let (mut reaction, mut times) = ([Reaction::default()], Vec::new());
    let tool = |x_m: f64, depth_m: f64| Tool {
        position_m: Vec3::new(x_m, 0.0, 5e-3 - depth_m),
        velocity_mps: Vec3::zeros(),
        radius_m: 5e-3,
        stiffness_npm: 1e9,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    };
    for tick in 0..2500_u32 {
        let depth_m = (2e-5 * f64::from(tick)).min(0.01);
        let x_m = (2e-5 * (f64::from(tick) - 1000.0)).clamp(0.0, 0.01);
        let start = Instant::now();
        tissue.step(&[tool(x_m, depth_m)], 1e-3, &mut reaction);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        let force_n = reaction[0].force_n;
        for (depth, reference_n) in [50, 100, 250, 500].into_iter().zip(REFERENCE_N) {
            if tick == depth {
                let error = 100.0 * (force_n.z / reference_n - 1.0);
                println!(
                    "{:4.1} mm  {:.5} N  {error:+.2} %",
                    depth_m * 1e3,
                    force_n.z
                );
            }
        }
        if tick > 500 && tick % 500 == 0 {
            println!(
                "tick {tick}: x {:.1} mm  force {:.5} {:.5} {:.5} N",
                x_m * 1e3,
                force_n.x,
                force_n.y,
                force_n.z
            );
        }
    }
    for (name, range) in [
        ("press", 0..500),
        ("hold", 500..1000),
        ("stroke", 1000..1500),
    ] {
        let mut part = times[range].to_vec();
        part.sort_by(f64::total_cmp);
        println!(
            "{name}: tick p50 {:.0} us, p99 {:.0} us",
            part[part.len() / 2],
            part[part.len() * 99 / 100]
        );
    }
}

/// Text of a scene's file, or the name of a built-in scene.
fn text(name: &str) -> Result<String, std::io::Error> {
    if name.ends_with(".toml") {
        std::fs::read_to_string(name)
    } else {
        Ok(name.to_owned())
    }
}

fn scene(name: &str) -> Outcome {
    let begun = Instant::now();
    let scene = palpate_scene::load(&text(name)?)?;
    println!("loaded in {:.2} s", begun.elapsed().as_secs_f64());
    if let palpate_scene::SceneBody::Block(block) = &scene.body {
        let (nested, stuff) = block.grids_and_materials()?;
        let tissue = ExplicitTissue::new(&nested, &stuff, &block.params)?;
        println!(
            "{} nodes, {} cells; lanes by class {:?}; sub-step {:.1} us; added {:.2e} kg",
            tissue.caps().nodes,
            tissue.caps().elements,
            tissue.class_cells(),
            tissue.substep_s() * 1e6,
            tissue.stiff_added_mass_kg(),
        );
    }
    if let palpate_scene::SceneBody::Block(block) = &scene.body {
        let (nested, stuff) = block.grids_and_materials()?;
        let mut tissue = ExplicitTissue::new(&nested, &stuff, &block.params)?;
        let mut reaction = [Reaction::default()];
        let mut ticks_us = Vec::new();
        for tick in 0..300_u32 {
            let depth_m = 8e-3 * (f64::from(tick) / 250.0).min(1.0);
            let tool = scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m - depth_m));
            let begun = Instant::now();
            tissue.step(&[tool], 1e-3, &mut reaction);
            ticks_us.push(begun.elapsed().as_secs_f64() * 1e6);
            if tick > 230 && tick % 20 == 0 {
                println!(
                    "{tick} {:.2} mm: {:.4} N kinetic {:.2e} added {:.1e} residual {:.1e} depth {:.2e}",
                    depth_m * 1e3,
                    reaction[0].force_n.z,
                    tissue.view().energy.kinetic_j,
                    tissue.squeezed_added_mass_kg(),
                    tissue.view().energy.residual_j,
                    reaction[0].penetration_m
                );
            }
        }
        ticks_us.sort_by(f64::total_cmp);
        println!("a tick {:.0} us (median)", ticks_us[ticks_us.len() / 2]);
    }
    let begun = Instant::now();
    for depth_m in [1e-3, 2e-3, 4e-3, 8e-3] {
        let places = [[0.0, 0.0], [0.02, 0.0], [-0.02, 0.02]];
        let presses = scene.press_stiffness(&places, depth_m)?;
        let text: Vec<String> = presses
            .iter()
            .map(|p| format!("{:.4} N (chord {:.0} N/m)", p.force_n, p.chord_npm))
            .collect();
        println!("{:.0} mm: {}", depth_m * 1e3, text.join(", "));
    }
    println!("{:.2} s for 12 presses", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Presses the scene `block` 10 mm at 20 mm/s and strokes it; compares every full step with the reaction
/// of a step without time before it.
fn extrapolation_errors() -> Outcome {
    let mut scene = palpate_scene::load("block")?;
    if let palpate_scene::SceneBody::Block(block) = &mut scene.body {
        (block.zone.centre_m, block.zone.half_m) = ([0.0; 2], [0.012, 0.008]);
    }
    let table = std::sync::Arc::new(scene.condense()?);
    let tissues = [
        ("with the table", scene.build_with_table(&table)?),
        ("without", scene.build()?),
    ];
    for (name, mut tissue) in tissues {
        let mut worst = [[0.0_f64; 2]; 4];
        for tick in 0..900_u32 {
            let depth_m = (2e-5 * f64::from(tick)).min(0.01);
            let x_m = (2e-5 * (f64::from(tick) - 600.0)).max(0.0);
            let tool = scene.tool_at(Vec3::new(x_m, 0.0, scene.tool_radius_m - depth_m));
            let [asked_n, full_n] = [0.0, 1e-3].map(|dt_s| {
                let mut reaction = [Reaction::default()];
                tissue.step(&[tool], dt_s, &mut reaction);
                reaction[0].force_n
            });
            let part = match tick {
                0..50 => 0,
                50..100 => 1,
                100..600 => 2,
                _ => 3,
            };
            let off_n = (asked_n - full_n).norm();
            worst[part][0] = worst[part][0].max(off_n);
            if full_n.norm() > 5e-3 {
                worst[part][1] = worst[part][1].max(off_n / full_n.norm());
            }
        }
        for (part, [off_n, share]) in ["to 1 mm", "to 2 mm", "to 10 mm, held", "stroke"]
            .iter()
            .zip(worst)
        {
            println!(
                "{name}, {part}: {:.2} mN, {:.2} % of the force",
                off_n * 1e3,
                share * 100.0
            );
        }
    }
    Ok(())
}
