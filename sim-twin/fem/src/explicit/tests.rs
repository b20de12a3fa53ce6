//! Tests of the explicit tissue, one topic per file.

mod action_reaction;
mod block;
mod chunk;
mod collapse;
mod coupled_inertia;
mod deep_press;
mod depth_map;
mod edit;
mod energy;
mod estimate;
mod force;
mod friction;
mod hanging_nodes;
mod jaws;
mod laws;
mod layers;
mod mesh;
mod proxy;
mod sliding_press;
mod tools;
mod viscous;

use super::*;
use palpate_geometry::mesh::nested_grid::RefinementZone;
use palpate_twin::law::Material;

/// Returns a cube of `size_m` whose top is at zero, with `cells` of the coarsest grid along each edge. The
/// finest zone, two of these wide and one deep, is at `centre` times the size.
fn nested(size_m: f64, (cells, levels): (u32, usize), centre: [f64; 2]) -> NestedGrid {
    let coarse_m = size_m / f64::from(cells);
    let half = Vec3::new(0.5, 0.5, 0.0) * size_m;
    let zone = RefinementZone {
        cell_m: coarse_m / f64::from(1_u32 << (levels - 1)),
        levels,
        centre_m: centre.map(|x| x * size_m),
        half_m: [coarse_m; 2],
        depth_m: coarse_m,
    };
    NestedGrid::new(-half - Vec3::new(0.0, 0.0, size_m), half, &zone).unwrap()
}

fn uniform_materials(nested: &NestedGrid, young_pa: f64) -> Vec<Vec<CellMaterial>> {
    let cell_materials = Material::new(young_pa, 0.45, 1e3).unwrap().cell_material();
    let levels = nested.levels.iter();
    levels
        .map(|level| vec![cell_materials; level.count()])
        .collect()
}

/// Returns [`nested`] of 0.1 m with 5 kPa.
fn tissue(grids: (u32, usize), params: &ExplicitParams) -> ExplicitTissue {
    let nested = nested(0.1, grids, [0.0; 2]);
    ExplicitTissue::new(&nested, &uniform_materials(&nested, 5e3), params).unwrap()
}

fn rod(position_m: [f64; 3], radius_m: f64, shaft_m: [f64; 3]) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
        shaft_m: Vec3::from(shaft_m),
        side_m: Vec3::zeros(),
        instrument: palpate_twin::Instrument::Blunt,
        jaws: None,
    }
}

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    rod(position_m, radius_m, [0.0; 3])
}

/// Advances one tick of a millisecond with one tool.
fn tick(tissue: &mut ExplicitTissue, tool: Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut reaction);
    reaction[0]
}

/// Pseudo-random numbers in [0, 1).
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1 << 24)
    }
}

#[test]
fn invalid_parameters_and_materials_are_reported() {
    let nested = nested(0.1, (4, 2), [0.0; 2]);
    let build = |cell_materials: &[Vec<CellMaterial>], params: &ExplicitParams| {
        ExplicitTissue::new(&nested, cell_materials, params).err()
    };
    let sound = uniform_materials(&nested, 5e3);
    let plain = ExplicitParams::default();
    for (field, params) in [
        (
            "damping_per_s",
            ExplicitParams {
                damping_per_s: f64::NAN,
                ..plain
            },
        ),
        (
            "hourglass",
            ExplicitParams {
                hourglass: 0.0,
                ..plain
            },
        ),
        (
            "classes",
            ExplicitParams {
                classes: 0,
                ..plain
            },
        ),
        (
            "friction",
            ExplicitParams {
                friction: -0.1,
                ..plain
            },
        ),
    ] {
        let wrong = build(&sound, &params);
        assert!(matches!(wrong, Some(ExplicitError::Param { field: f, .. }) if f == field));
    }
    // issue: the message did not contain the range
    let negative = ExplicitParams {
        damping_per_s: -20.0,
        ..plain
    };
    let message = build(&sound, &negative).map(|error| error.to_string());
    assert_eq!(
        message.as_deref(),
        Some("`damping_per_s` is -20; expected 0 to 1e6")
    );
    let mut soft = sound;
    soft[0][3].moduli.mu_pa = 0.0;
    let expected = ExplicitError::Material { level: 0, cell: 3 };
    assert_eq!(build(&soft, &plain), Some(expected));
}
