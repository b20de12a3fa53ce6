//! What the explicit tissue must do; one idea a file.

mod block;
mod chunk;
mod coupled;
mod edit;
mod energy;
mod estimate;
mod force;
mod friction;
mod jaws;
mod laws;
mod layers;
mod mesh;
mod newton;
mod proxy;
mod seam;
mod stiff;
mod stroke;
mod tools;
mod viscous;

use super::*;
use palpate_geometry::mesh::nested::Zone;
use palpate_twin::law::Material;

/// A cube of `size_m` whose top is at zero, with `cells` of the coarsest grid along each edge and
/// the finest zone, two of these wide and one deep, around `centre`, over the size.
fn nested(size_m: f64, (cells, levels): (u32, usize), centre: [f64; 2]) -> Nested {
    let coarse_m = size_m / f64::from(cells);
    let half = Vec3::new(0.5, 0.5, 0.0) * size_m;
    let zone = Zone {
        cell_m: coarse_m / f64::from(1_u32 << (levels - 1)),
        levels,
        centre_m: centre.map(|x| x * size_m),
        half_m: [coarse_m; 2],
        depth_m: coarse_m,
    };
    Nested::new(-half - Vec3::new(0.0, 0.0, size_m), half, &zone).unwrap()
}

fn even(nested: &Nested, young_pa: f64) -> Vec<Stuff> {
    let moduli = Material::new(young_pa, 0.45, 1e3).unwrap().moduli();
    let stuff = |level: &palpate_geometry::mesh::nested::Level| Stuff {
        moduli: vec![moduli; level.count()],
        densities_kgpm3: vec![1e3; level.count()],
    };
    nested.levels.iter().map(stuff).collect()
}

/// As [`nested`], 0.1 m of 5 kPa.
fn tissue(grids: (u32, usize), params: &Params) -> Explicit {
    let nested = nested(0.1, grids, [0.0; 2]);
    Explicit::new(&nested, &even(&nested, 5e3), params).unwrap()
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

/// One tick of a millisecond with one tool.
fn tick(tissue: &mut Explicit, tool: Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut reaction);
    reaction[0]
}

/// Numbers in [0, 1) without pattern.
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1 << 24)
    }
}

#[test]
fn what_is_unfit_is_named() {
    let nested = nested(0.1, (4, 2), [0.0; 2]);
    let build = |stuff: &[Stuff], params: &Params| Explicit::new(&nested, stuff, params).err();
    let sound = even(&nested, 5e3);
    let plain = Params::default();
    for (field, params) in [
        (
            "safety",
            Params {
                safety: 1.5,
                ..plain
            },
        ),
        (
            "damping_hz",
            Params {
                damping_hz: f64::NAN,
                ..plain
            },
        ),
        (
            "hourglass",
            Params {
                hourglass: 0.0,
                ..plain
            },
        ),
        ("order", Params { order: 5, ..plain }),
        (
            "classes",
            Params {
                classes: 0,
                ..plain
            },
        ),
        (
            "friction",
            Params {
                friction: -0.1,
                ..plain
            },
        ),
    ] {
        let wrong = build(&sound, &params);
        assert!(matches!(wrong, Some(ExplicitError::Param { field: f, .. }) if f == field));
    }
    // issue: the range was not said
    let cold = Params {
        damping_hz: -20.0,
        ..plain
    };
    let words = build(&sound, &cold).map(|error| error.to_string());
    assert_eq!(
        words.as_deref(),
        Some("`damping_hz` is -20; expected 0 to 1e6")
    );
    let steep = Params {
        law: Family::Fung { growth: 0.0 },
        ..plain
    };
    let words = build(&sound, &steep).map(|error| error.to_string());
    assert_eq!(
        words.as_deref(),
        Some(
            "the explicit solver cannot take the law `fung`: `growth` is 0; expected a finite number above 0"
        )
    );
    let wrong = build(&sound[..1], &plain);
    assert_eq!(
        wrong,
        Some(ExplicitError::Levels {
            levels: 2,
            found: 1
        })
    );
    let mut short = sound.clone();
    let cells = short[1].moduli.len();
    short[1].densities_kgpm3.pop();
    let expected = ExplicitError::Cells {
        level: 1,
        cells,
        found: cells - 1,
    };
    assert_eq!(build(&short, &plain), Some(expected));
    let mut soft = sound;
    soft[0].moduli[3].mu_pa = 0.0;
    let expected = ExplicitError::Material { level: 0, cell: 3 };
    assert_eq!(build(&soft, &plain), Some(expected));
}
