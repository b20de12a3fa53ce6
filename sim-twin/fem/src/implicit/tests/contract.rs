//! Contract tests of the implicit tissue, for cases that the suite of all tissues (`tests/tests/contract.rs`)
//! does not cover.

use super::*;

fn is_finite(reaction: &Reaction) -> bool {
    let vectors = [reaction.force_n, reaction.torque_nm, reaction.normal];
    let scalars = [reaction.penetration_m, reaction.stiffness_npm];
    let all = vectors.iter().flat_map(|v| v.iter().copied());
    all.chain(scalars).all(f64::is_finite)
}

fn bits(snapshot: &Snapshot) -> Vec<u64> {
    snapshot.numbers.iter().map(|x| x.to_bits()).collect()
}

/// Branches, which no tissue of that suite has.
#[test]
fn a_restored_viscous_tissue_and_two_runs_repeat_bit_for_bit() {
    let new = || viscous::soft(&block(0.1, 4), viscous::branch(0.3, 0.02), 2.0);
    let (mut one, mut two) = (new(), new());
    let mut saved = Snapshot::default();
    press(&mut one, 0.1, 0.01, 20);
    one.save(&mut saved);
    let first = press(&mut one, 0.1, 0.02, 20);
    let (mut after, mut again) = (Snapshot::default(), Snapshot::default());
    one.save(&mut after);
    one.restore(&saved).unwrap();
    assert_eq!(press(&mut one, 0.1, 0.02, 20), first);
    one.save(&mut again);
    assert_eq!(bits(&again), bits(&after));
    press(&mut two, 0.1, 0.01, 20);
    assert_eq!(press(&mut two, 0.1, 0.02, 20), first);
    two.save(&mut again);
    assert_eq!(bits(&again), bits(&after));
}

#[test]
fn force_is_the_energy_gradient() {
    let mut tissue = tissue(
        &block(0.1, 6),
        LawFamily::NeoHookean,
        &ImplicitParams {
            tolerance: 1e-10,
            ..ImplicitParams::default()
        },
    );
    let mut held = |z_m: f64| {
        let mut reaction = [Reaction::default()];
        for _ in 0..60 {
            // long steps: the tissue comes to rest
            tissue.step(&[ball([0.047, 0.052, z_m], 0.02)], 0.3, &mut reaction);
        }
        (reaction[0].force_n.z, tissue.view().energy.stored_j())
    };
    let (height_m, h_m) = (0.11, 1e-5);
    let ((force_n, _), (_, up_j)) = (held(height_m), held(height_m + h_m));
    let (_, down_j) = held(height_m - h_m);
    let slope_n = (down_j - up_j) / (2.0 * h_m);
    assert!(
        force_n > 0.1 && (slope_n / force_n - 1.0).abs() < 1e-5,
        "{slope_n} {force_n}"
    );
}

/// The contact force on the surface equals that on the tool, internal forces sum to zero, and the nodal
/// forces equal the change of momentum.
#[test]
fn action_equals_reaction_to_rounding() {
    for mut tissue in [
        tissue(
            &block(0.1, 5),
            LawFamily::NeoHookean,
            &ImplicitParams::default(),
        ),
        tets::tissue(&block(0.1, 2), Viscosity::NONE),
    ] {
        balances_to_rounding(&mut tissue);
    }
}

fn balances_to_rounding(tissue: &mut ImplicitTissue) {
    let mut reaction = [Reaction::default()];
    let tools = |k: u32| [ball([0.05, 0.05, 0.12 - 2e-4 * f64::from(k)], 0.02)];
    for k in 0..40 {
        tissue.step(&tools(k), DT_S, &mut reaction);
        let (u, before) = (tissue.state.u.clone(), tissue.state.v.clone());
        tissue.step(&tools(k + 1), DT_S, &mut reaction);
        let (model, state) = (&tissue.model, &tissue.state);
        let begin = cells::StepStart {
            dt: DT_S / model.time_s,
            u: &u,
            materials: &[],
            memories: &[],
        };
        let mut forces = vec![Vec3::zeros(); u.len()];
        let mut energies = cells::CellEnergies::default();
        for cell in &model.hexes {
            cell.add_forces(&begin, &state.u, &mut forces, &mut energies);
        }
        for cell in &model.tets {
            cell.add_forces(&begin, &state.u, &mut forces, &mut energies);
        }
        let sum = |forces: &[Vec3]| forces.iter().sum::<Vec3>();
        let size: f64 = forces.iter().map(|f| f.norm()).sum();
        assert!(sum(&forces).norm() <= 1e-13 * (size + 1.0));
        let at: Vec<Vec3> = state
            .u
            .iter()
            .zip(&model.rest)
            .map(|(u, x)| u + x)
            .collect();
        let mut surface_forces = vec![Vec3::zeros(); u.len()];
        let sphere = probe_of(model, &tools(k + 1)[0]);
        let (force, _) = model.surface.add_forces(&at, &sphere, &mut surface_forces);
        let tool_force = reaction[0].force_n / model.force_n();
        assert!((force - tool_force).norm() <= 1e-14 * (force.norm() + 1e-3));
        // the potential's gradient on the surface is the opposite of the force on the tool
        assert!((sum(&surface_forces) - force).norm() <= 1e-14 * (force.norm() + 1e-3));
        let mut unbalanced = Vec3::zeros();
        for node in 0..u.len() {
            let (v, mass) = (state.v[node], model.masses[node]);
            let moved = ((v - before[node]) / begin.dt + v * model.damping) * mass;
            for axis in 0..3 {
                if !model.fixed[node][axis] {
                    unbalanced[axis] += (forces[node] + surface_forces[node] + moved)[axis];
                }
            }
        }
        assert!(
            unbalanced.norm() <= 1e-4 * (force.norm() + size * 1e-3),
            "{unbalanced}"
        );
    }
    assert!(reaction[0].force_n.z > 0.5);
}

fn probe_of(model: &Model, tool: &Tool) -> crate::sphere_contact::Sphere {
    model.sphere(tool)
}

#[test]
fn forces_scale_with_size() {
    let mut runs = Vec::new();
    for scale in [1e-3, 1.0, 1e3] {
        let mesh = block(0.1 * scale, 5);
        let cells = mesh.cells.len();
        let moduli = moduli_and_densities(&mesh, 5e3, 0.45).0;
        // densities such that a step of 1 ms is the same fraction of a wave's period
        let densities = vec![1e3 / (scale * scale); cells];
        let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
        let law = LawFamily::NeoHookean;
        let mut tissue =
            ImplicitTissue::new(&mesh, law, &cell_materials, &ImplicitParams::default()).unwrap();
        let mut reaction = [Reaction::default()];
        let mut forces = Vec::new();
        for k in 0..60 {
            let z_m = 0.11 - 1e-4 * f64::from(k);
            let mut tool = ball([0.05, 0.05, z_m], 0.01);
            tool.position_m *= scale;
            tool.radius_m *= scale;
            tool.stiffness_npm *= scale;
            tissue.step(&[tool], DT_S, &mut reaction);
            forces.push(reaction[0].force_n.z / (scale * scale));
        }
        runs.push(forces);
    }
    for (k, expected) in runs[1].iter().enumerate() {
        for run in [&runs[0], &runs[2]] {
            assert!(
                (run[k] - expected).abs() <= 1e-6 * expected.abs() + 1e-12,
                "{} {expected}",
                run[k]
            );
        }
    }
    assert!(runs[1][59] > 0.1);
}

#[test]
fn held_press_matches_the_static_solution() {
    use crate::Solid;
    use crate::tests::static_reference::{Press, Settings};
    let mesh = block(0.1, 8);
    let params = ImplicitParams {
        contact_stiffness: 30.0,
        ..ImplicitParams::default()
    };
    let mut tissue = tissue(&mesh, LawFamily::NeoHookean, &params);
    let mut reaction = [Reaction::default()];
    for k in 1..=60 {
        let depth_m = 6e-3 * f64::from(k.min(20)) / 20.0;
        let tool = [ball([0.05, 0.05, 0.12 - depth_m], 0.02)];
        tissue.step(&tool, 0.1, &mut reaction);
    }
    let solid = Solid::new(
        &mesh,
        LawFamily::NeoHookean,
        &moduli_and_densities(&mesh, 5e3, 0.45).0,
    );
    let settings = Settings {
        augmentations: 0,
        ..Settings::default()
    };
    let mut press = Press::new(solid, &mesh, [0.05, 0.05], 0.02, settings);
    let reference_n = press.to(6e-3).unwrap().force_n.z;
    let found_n = reaction[0].force_n.z;
    // the boundary of the tool, 1 MN/m, has 1e-4 of the compliance of the contact
    assert!(
        (found_n / reference_n - 1.0).abs() < 1e-3,
        "{found_n} {reference_n}"
    );
}

/// Pseudo-random numbers in [0, 1), the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // xorshift, Marsaglia 2003
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn tool(&mut self) -> Tool {
        let invalid = [f64::NAN, f64::INFINITY, -1e300, 0.0, 1e-300, 1e12];
        let near = [0, 1, 2].map(|axis| {
            let low = if axis == 2 { 0.06 } else { 0.0 };
            low + 0.1 * (self.next() * 10.0).floor() / 10.0 * (1.0 - low) + 0.002 * self.next()
        });
        let mut tool = ball(near, [0.005, 0.02, 0.3, 50.0][(self.next() * 4.0) as usize]);
        if self.next() < 0.1 {
            let bad = invalid[(self.next() * 6.0) as usize];
            match (self.next() * 4.0) as usize {
                0 => tool.position_m.z = bad,
                1 => tool.velocity_mps.x = bad,
                2 => tool.radius_m = bad,
                _ => tool.stiffness_npm = bad,
            }
        }
        tool
    }
}

#[test]
fn random_and_invalid_tools_have_bounded_forces_and_the_tissue_recovers() {
    run_random_tools(3000);
}

#[test]
#[ignore = "a minute"]
fn random_and_invalid_tools_have_bounded_forces_for_long() {
    run_random_tools(20_000);
}

/// Jumps, extreme sizes, several tools at one position, and NaN.
fn run_random_tools(ticks: u32) {
    let mut tissue = tissue(
        &block(0.1, 3),
        LawFamily::NeoHookean,
        &ImplicitParams::default(),
    );
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    let mut reactions = [Reaction::default(); TOOLS];
    let mut tools = [ball([0.05, 0.05, 0.2], 0.01); TOOLS];
    for tick in 0..ticks {
        for tool in &mut tools {
            if noise.next() < 0.1 {
                *tool = noise.tool();
            }
            tool.position_m.z -= 1e-2 * (noise.next() - 0.5);
        }
        let count = (noise.next() * 5.0) as usize;
        let dt_s = [1e-3, 1e-3, 1e-3, 1e-5, 1e-2, f64::NAN][(noise.next() * 6.0) as usize];
        tissue.step(&tools[..count], dt_s, &mut reactions);
        assert!(
            reactions
                .iter()
                .all(|r| is_finite(r) && r.force_n.norm() < 2e4),
            "tick {tick}: {reactions:?}"
        );
    }
    let view = tissue.view();
    assert!(
        view.positions_m
            .iter()
            .all(|x| x.iter().all(|x| x.is_finite()))
    );
    assert!(view.energy.stored_j().is_finite());
    println!("{:?}", view.energy);
    for _ in 0..3000 {
        tissue.step(&[], DT_S, &mut reactions);
    }
    let view = tissue.view();
    // each by itself: a maximum would ignore NaN
    let mut pairs = view.positions_m.iter().zip(view.rest_m);
    assert!(pairs.all(|(x, rest)| (x - rest).norm() < 1e-6));
}
