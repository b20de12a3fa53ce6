use super::cells::{Quad, pull};
use super::*;
use crate::law::{Elastic, Family, Material, NeoHookean};
use crate::mesh::grade::even;
use crate::mesh::hex::Side;
use crate::model::fem::{Press, Settings, Solid, Volumetric};
use nalgebra::{Matrix3, Rotation3};

const FLOOR: [Support; 1] = [Support::Fixed(Side::ZMin)];

fn block(size_m: f64, cells: u32) -> HexMesh {
    let axis_m = even(size_m, cells);
    HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap()
}

fn tissue(mesh: &HexMesh, young_pa: f64, params: &Params) -> Explicit {
    let moduli = vec![Material::new(young_pa, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
    Explicit::new(
        mesh,
        (&moduli, &vec![1e3; mesh.cells.len()]),
        &FLOOR,
        params,
    )
    .unwrap()
}

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
        shaft_m: Vec3::zeros(),
        jaws: None,
    }
}

/// Displacements `x -> F x - x` and the forces that they need, from the cells.
fn forces(tissue: &Explicit, f: &Matrix3<f64>) -> (Vec<Quad>, Vec<Quad>) {
    let rest = &tissue.model.skin.rest;
    let moved = |x: &Quad| {
        let x = Vec3::new(f64::from(x[0]), f64::from(x[1]), f64::from(x[2]));
        let u = f * x - x;
        [u.x as f32, u.y as f32, u.z as f32, 0.0]
    };
    let u: Vec<Quad> = rest.iter().map(moved).collect();
    let mut impulse = vec![[0.0; 4]; u.len()];
    pull::<true>(&tissue.model.blocks, 1.0, &u, &mut impulse);
    (u, impulse)
}

#[test]
fn an_even_strain_gives_the_law_s_stress_and_a_turn_none() {
    let mesh = block(0.1, 4);
    let tissue = tissue(&mesh, 5e3, &Params::default());
    #[rustfmt::skip]
    let f = Matrix3::new(
        1.10, 0.05, 0.02,
        -0.03, 0.92, 0.04,
        0.01, 0.03, 1.06,
    );
    let (_, pulls) = forces(&tissue, &f);
    let moduli = Material::new(5e3, 0.45, 1e3).unwrap().moduli();
    let law = NeoHookean {
        mu: 1.0,
        lambda: moduli.lambda_pa / moduli.mu_pa,
    };
    let stress = law.stress(&f);
    let (mut inner, mut top) = (0.0_f32, Vec3::zeros());
    for (x, force) in tissue.model.skin.rest.iter().zip(&pulls) {
        if x[..3].iter().all(|&x| x > 0.5 && x < 3.5) {
            inner = force.iter().fold(inner, |a, b| a.max(b.abs()));
        }
        if x[2] > 3.5 {
            top -= Vec3::new(
                f64::from(force[0]),
                f64::from(force[1]),
                f64::from(force[2]),
            );
        }
    }
    assert!(inner < 1e-5, "{inner}");
    // opposite sides cancel, so what is left is the traction of the top, 16 unit faces
    let expected = stress.column(2) * 16.0;
    assert!(
        (top - expected).norm() < 1e-4 * expected.norm(),
        "{top} {expected}"
    );
    let turn = Rotation3::new(Vec3::new(0.7, -1.1, 0.4)).into_inner();
    let (_, pulls) = forces(&tissue, &turn);
    let largest = pulls.iter().flatten().fold(0.0_f32, |a, b| a.max(b.abs()));
    assert!(largest < 2e-5, "{largest}");
}

#[test]
fn cells_and_contact_give_no_net_force_and_are_slopes_of_their_energy() {
    let mesh = block(0.1, 4);
    let tissue = tissue(&mesh, 5e3, &Params::default());
    let mut u = vec![[0.0_f32; 4]; tissue.model.mass.len()];
    for (node, u) in u.iter_mut().enumerate() {
        for (axis, u) in u[..3].iter_mut().enumerate() {
            *u = 0.2 * (12.9898 * (3 * node + axis) as f32).sin();
        }
    }
    let sphere = skin::Sphere {
        centre: [2.1, 1.9, 4.6],
        radius: 1.5,
        give: 0.0,
    };
    let near: Vec<u32> = (0..16).collect();
    let skin = &tissue.model.skin;
    let of = |u: &[Quad]| {
        let mut impulse = vec![[0.0; 4]; u.len()];
        let cells = pull::<true>(&tissue.model.blocks, 1.0, u, &mut impulse);
        let met = skin.press((&near, &sphere), 1.0, u, &mut impulse);
        (cells.energy + met.energy, met, impulse)
    };
    let (_, met, impulse) = of(&u);
    assert!(met.contacts > 20 && met.force[2] > 0.1, "{met:?}");
    for axis in 0..3 {
        let sum: f64 = impulse.iter().map(|f| f64::from(f[axis])).sum();
        assert!((sum + met.force[axis]).abs() < 1e-4, "{sum} {met:?}");
    }
    for node in 0..u.len() {
        for axis in 0..3 {
            let (mut up, mut down) = (u.clone(), u.clone());
            up[node][axis] += 2e-3;
            down[node][axis] -= 2e-3;
            let slope = (of(&up).0 - of(&down).0) / 4e-3;
            let force = f64::from(impulse[node][axis]);
            assert!(
                (slope + force).abs() < 0.03 * (1.0 + force.abs()),
                "{slope} {force}"
            );
        }
    }
}

/// Presses a cube by a tenth of its size with a ball of a fifth, in steps of a scaled time.
fn pressed(cells: u32, (size_m, young_pa): (f64, f64), ticks: u32) -> (Explicit, f64) {
    let mesh = block(size_m, cells);
    let time_s = size_m / 0.1 * (5e3 / young_pa).sqrt();
    let params = Params {
        damping_hz: 60.0 / time_s,
        // the static solution has multipliers; a stiff contact comes near them
        contact_stiffness: 120.0,
        ..Params::default()
    };
    let mut tissue = tissue(&mesh, young_pa, &params);
    let mut reaction = [Reaction::default()];
    for tick in 0..ticks {
        let depth = 0.05 * (f64::from(tick) / 200.0).min(1.0);
        let at_m = [0.5, 0.5, 1.2 - depth].map(|x| x * size_m);
        let mut tool = ball(at_m, 0.2 * size_m);
        tool.stiffness_npm *= young_pa * size_m;
        tissue.step(&[tool], 1e-3 * time_s, &mut reaction);
    }
    (tissue, reaction[0].force_n.z / (young_pa * size_m * size_m))
}

#[test]
fn size_and_stiffness_do_not_matter() {
    // time goes with the size, so that the largest and smallest ticks are within bounds
    let (_, middle) = pressed(8, (0.1, 5e3), 200);
    assert!(middle > 1e-3, "{middle}");
    for (size_m, young_pa) in [(1e-4, 5e3), (1e2, 5e9), (0.1, 5e6)] {
        let (_, force) = pressed(8, (size_m, young_pa), 200);
        assert!(
            (force / middle - 1.0).abs() < 1e-4,
            "{size_m} m: {force} {middle}"
        );
    }
}

#[test]
fn the_held_force_is_that_of_the_static_solution_on_the_same_mesh() {
    let mesh = block(0.1, 12);
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
    let law = (Family::NeoHookean, &moduli[..]);
    let solid = Solid::new(&mesh, law, &FLOOR, Volumetric::Mean).unwrap();
    let mut press = Press::new((solid, &mesh), [0.05; 2], 0.02, Settings::default());
    let exact_n = press.to(5e-3).unwrap().force_n.z;
    let (tissue, force) = pressed(12, (0.1, 5e3), 900);
    let found_n = force * 5e3 * 0.01;
    assert!(
        (found_n / exact_n - 1.0).abs() < 0.05,
        "{found_n} {exact_n}"
    );
    assert_eq!(tissue.escapes(), 0);
}

#[test]
fn a_press_and_release_creates_no_energy() {
    for speed_mps in [0.02, 0.1, 0.5] {
        let params = Params {
            damping_hz: 0.0,
            ..Params::default()
        };
        let mut tissue = tissue(&block(0.1, 8), 5e3, &params);
        let mut reaction = [Reaction::default()];
        let (mut most_j, mut t_s) = (0.0_f64, 0.0_f64);
        while t_s < 0.02 / speed_mps + 0.05 {
            let depth_m = (speed_mps * t_s).min(0.02 - speed_mps * t_s).max(-0.005);
            tissue.step(
                &[ball([0.05, 0.05, 0.12 - depth_m], 0.02)],
                1e-3,
                &mut reaction,
            );
            most_j = most_j.max(tissue.view().ledger.stored_j());
            t_s += 1e-3;
        }
        let books = tissue.view().ledger;
        assert!(
            most_j > 1e-5 && books.tool_work_j > -1e-3 * most_j,
            "{books:?}"
        );
        assert!(
            books.residual_j.abs() < 2e-2 * most_j,
            "{speed_mps}: {most_j} {books:?}"
        );
    }
}

#[test]
fn a_thawed_tissue_goes_on_bit_by_bit() {
    let (mut tissue, _) = pressed(8, (0.1, 5e3), 60);
    let mut at = Snapshot::default();
    tissue.freeze(&mut at);
    let run = |tissue: &mut Explicit| {
        let mut reaction = [Reaction::default()];
        for tick in 0..20_u32 {
            let z_m = 0.117 - 1e-4 * f64::from(tick);
            tissue.step(&[ball([0.05, 0.05, z_m], 0.02)], 1e-3, &mut reaction);
        }
        let mut end = Snapshot::default();
        tissue.freeze(&mut end);
        end
    };
    let first = run(&mut tissue);
    tissue.thaw(&at).unwrap();
    assert_eq!(run(&mut tissue), first);
    at.numbers.pop();
    assert!(tissue.thaw(&at).is_err());
}

#[test]
fn wild_tools_do_no_harm() {
    let mut tissue = tissue(&block(0.1, 5), 5e3, &Params::default());
    let mut reactions = [Reaction::default(); 3];
    let mut word = 7_u32;
    let mut noise = || {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(word >> 8) / f64::from(1 << 24)
    };
    for _ in 0..3000 {
        let mut tools = [ball([0.0; 3], 0.01); 3];
        for tool in &mut tools {
            tool.position_m = Vec3::new(0.1 * noise(), 0.1 * noise(), 0.05 + 0.08 * noise());
            tool.radius_m = [0.01, 0.3, 1e5, f64::NAN][(noise() * 4.0) as usize];
        }
        tools[1] = tools[0];
        tissue.step(&tools, 1e-3 * noise(), &mut reactions);
        for reaction in &reactions {
            assert!(reaction.force_n.norm() < 1e3, "{reaction:?}");
        }
    }
    for _ in 0..3000 {
        tissue.step(&[], 1e-3, &mut reactions);
    }
    let view = tissue.view();
    let off = view.positions_m.iter().zip(view.rest_m);
    let most_m = off.map(|(x, rest)| (x - rest).norm()).fold(0.0, f64::max);
    assert!(most_m < 1e-4, "{most_m} {:?}", view.ledger);
}

#[test]
fn what_is_unfit_is_named() {
    let mut mesh = block(0.1, 2);
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); 8];
    let build = |mesh: &HexMesh, densities: &[f64], params: &Params| {
        Explicit::new(mesh, (&moduli, densities), &FLOOR, params).map(|_| ())
    };
    let params = Params {
        safety: 1.5,
        ..Params::default()
    };
    let wrong = build(&mesh, &[1e3; 8], &params);
    assert!(matches!(
        wrong,
        Err(ExplicitError::Param {
            field: "safety",
            ..
        })
    ));
    let wrong = build(&mesh, &[1e3; 7], &Params::default());
    assert!(matches!(
        wrong,
        Err(ExplicitError::Densities { found: 7, .. })
    ));
    mesh.nodes_m[13].x += 0.01;
    let wrong = build(&mesh, &[1e3; 8], &Params::default());
    assert!(matches!(wrong, Err(ExplicitError::Skew { .. })));
}
