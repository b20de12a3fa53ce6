//! Time and result of a step of the implicit solver on the block test.
//!
//! `cargo run --release -p palpate-fem --example implicit -- even 12` presses a uniform block of 12^3 cells
//! by 10 mm in 0.5 s and keeps it there; `graded 2` has cells of 2 mm under the probe. Prints the time per
//! tick, the force at 1, 2, 5 and 10 mm and the energy balance.

use palpate_fem::implicit::{ImplicitParams, ImplicitTissue};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_twin::law::{LawFamily, Material};
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use std::error::Error;
use std::time::Instant;

const SIZE_M: f64 = 0.1;
const RADIUS_M: f64 = 5e-3;
const DEPTH_M: f64 = 0.01;
/// Number of ticks of 1 ms of the press, and as many at its depth.
const TICKS: u32 = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |default: f64| arguments.get(1).map_or(Ok(default), |text| text.parse());
    let mesh = match arguments.first().map(String::as_str) {
        Some("even") => {
            let cells = number(12.0)?.max(1.0) as usize;
            let place = |i: usize| SIZE_M * (i as f64 / cells as f64);
            let axis_m: Vec<f64> = (0..=cells).map(place).collect();
            HexMesh::block([&axis_m, &axis_m, &axis_m])?
        }
        Some("graded") => graded(number(2.0)? * 1e-3)?,
        _ => return Err("expected `even CELLS` or `graded CELL_MM`".into()),
    };
    press(&mesh)
}

fn graded(cell_m: f64) -> Result<HexMesh, Box<dyn Error>> {
    let zone = |from_m: f64, to_m: f64| Grading {
        from_m,
        to_m,
        cell_m,
        growth: 1.4,
    };
    let across_m = zone(0.044, 0.056).axis(SIZE_M)?;
    let up_m = zone(SIZE_M - 5e-3, SIZE_M).axis(SIZE_M)?;
    Ok(HexMesh::block([&across_m, &across_m, &up_m])?)
}

fn press(mesh: &HexMesh) -> Result<(), Box<dyn Error>> {
    let material = Material::new(5e3, 0.45, 1e3)?;
    let cells = mesh.cells.len();
    let cell_materials = vec![material.cell_material(); cells];
    let mut tissue = ImplicitTissue::new(
        mesh,
        LawFamily::NeoHookean,
        &cell_materials,
        &ImplicitParams::default(),
    )?;
    println!("{} nodes, {cells} cells", mesh.nodes_m.len());
    let mut times_ms = Vec::new();
    let mut reaction = [Reaction::default()];
    for tick in 1..=2 * TICKS {
        let depth_m = DEPTH_M * f64::from(tick.min(TICKS)) / f64::from(TICKS);
        let tool = Tool {
            position_m: Vec3::new(0.05, 0.05, SIZE_M + RADIUS_M - depth_m),
            velocity_mps: Vec3::zeros(),
            radius_m: RADIUS_M,
            stiffness_npm: 1e6,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: Instrument::Blunt,
            jaws: None,
        };
        let start = Instant::now();
        tissue.step(&[tool], 1e-3, &mut reaction);
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        if [50, 100, 250, 500, 1000].contains(&tick) {
            let force_n = reaction[0].force_n.z;
            println!("{:.0} mm at tick {tick}: {force_n:.4} N", depth_m * 1e3);
        }
    }
    times_ms.sort_by(f64::total_cmp);
    let at = |share: f64| times_ms[(share * (times_ms.len() - 1) as f64) as usize];
    println!("ms per tick: p50 {:.2}, p99 {:.2}", at(0.5), at(0.99));
    println!("{:?}", tissue.view().energy);
    Ok(())
}
