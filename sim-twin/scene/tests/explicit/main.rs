//! Explicit solver on the built-in scenes: its forces and estimates.

mod coupled;
mod estimate;
mod layers;
mod stiff;

use palpate_fem::explicit::ExplicitTissue;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Steps one tick of a millisecond with one tool.
fn tick(tissue: &mut ExplicitTissue, tool: Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut reaction);
    reaction[0]
}
