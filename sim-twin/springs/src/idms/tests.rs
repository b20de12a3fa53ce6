use super::*;
use palpate_twin::lattice::{Atom, LatticeLink, fixture};
use palpate_twin::twin::TissueEnergy;
use palpate_twin::{Jaws, Vec3};
use proptest::prelude::*;

mod arbitrary_tools;
mod contact;

fn sphere(x: f64, y: f64, z: f64) -> Tool {
    Tool {
        position_m: Vec3::new(x, y, z),
        velocity_mps: Vec3::zeros(),
        radius_m: 1.5,
        stiffness_npm: 400.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: palpate_twin::Instrument::Blunt,
        jaws: None,
    }
}

fn tweezers(x: f64, y: f64, z: f64, opening_m: f64, closed: bool) -> Tool {
    Tool {
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: palpate_twin::Instrument::Blunt,
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps: 0.0,
            closed,
        }),
        ..sphere(x, y, z)
    }
}

/// The conditions of the source's chapter 6, in the unitless numbers of its files: node contact of stiffness 400,
/// printed grasp, no sleeping, T = 1 ms, gate off.
fn seed() -> IdmsParams {
    IdmsParams {
        contact: LatticeContact::Node,
        tool_stiffness_npm: 400.0,
        grasp: GraspLaw::Shell,
        pinch: PinchLaw {
            stiffness_npm: 15.0,
            width_m: 0.5,
        },
        sleeps: false,
        displacement_max_m: 100.0,
        unchecked: true,
        ..IdmsParams::default()
    }
}

impl Idms {
    /// Local normal stiffness of the surface at a node; zero for an invalid index.
    fn node_stiffness_npm(&self, node: usize) -> f64 {
        let there = node < self.model.skin.nodes();
        let compliance = if there {
            self.model.compliance.own[node]
        } else {
            0.0
        };
        if compliance > 0.0 {
            1.0 / compliance
        } else {
            0.0
        }
    }

    /// Number of nodes that the next step will move.
    fn active_nodes(&self) -> usize {
        self.state.awake.iter().filter(|&&awake| awake).count()
    }

    /// Number of resets of nodes whose state left the allowed range.
    fn escapes(&self) -> u64 {
        self.state.escapes
    }

    /// Surface node that a tool has grasped, if any.
    fn grasped(&self, tool: usize) -> Option<u32> {
        self.state.tools.get(tool).and_then(|tool| tool.grasped)
    }

    /// Energy ledger.
    fn ledger(&self) -> TissueEnergy {
        self.state.ledger
    }
}

fn face(patch_m: f64) -> IdmsParams {
    IdmsParams {
        contact: LatticeContact::Face { patch_m },
        ..seed()
    }
}

fn regular(params: &IdmsParams) -> Idms {
    Idms::new(&fixture::regular(), params).unwrap()
}

fn touch(tissue: &mut Idms, tool: Tool) -> Reaction {
    let mut reactions = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut reactions);
    reactions[0]
}

/// Two free atoms and a home, far apart from everything else, with one link between them.
fn pair(stiffness_npm: f64, damping_nspm: f64) -> Lattice {
    let atom = |x: f64, fixed, surface| Atom {
        position_m: Vec3::new(x, 0.0, 0.0),
        mass_kg: 0.002,
        fixed,
        surface,
    };
    Lattice {
        name: "pair".to_owned(),
        atoms: vec![atom(0.0, false, true), atom(1.0, true, false)],
        links: vec![LatticeLink {
            atoms: [0, 1],
            stiffness_npm,
            damping_nspm,
        }],
        faces: Vec::new(),
    }
}

fn snapshot_of(tissue: &Idms) -> Snapshot {
    let mut snapshot = Snapshot::default();
    tissue.save(&mut snapshot);
    snapshot
}

#[test]
fn s4_01_rest_is_equilibrium_with_empty_active_set() {
    let mut tissue = regular(&IdmsParams {
        unchecked: true,
        sleeps: true,
        ..seed()
    });
    for _ in 0..100 {
        touch(&mut tissue, sphere(2.0, 1.7, 3.0));
    }
    assert_eq!(tissue.active_nodes(), 0);
    assert_eq!(tissue.ledger(), TissueEnergy::default());
}

#[test]
fn s4_04_counts_of_the_fixture() {
    let tissue = regular(&seed());
    let caps = tissue.caps();
    assert_eq!((caps.nodes, caps.elements, caps.tools_max), (36, 141, 2));
    let view = tissue.view();
    assert_eq!((view.positions_m.len(), view.faces.len()), (22, 28));
}

#[test]
fn s4_03_internal_forces_sum_to_home_forces() {
    let mut tissue = regular(&seed());
    for n in 0..800 {
        touch(&mut tissue, sphere(1.9, 1.6, 1.6 - 1e-3 * f64::from(n)));
    }
    let (state, model) = (&tissue.state, &tissue.model);
    let all: Vec3 = state.f_n.iter().sum();
    let mut homes = Vec3::zeros();
    let mut scale = 0.0;
    for i in 0..model.rest_m.len() {
        let u = state.x_m[i] - model.rest_m[i];
        homes -= model.home_stiffness_npm[i] * u + model.home_damping_nspm[i] * state.v_mps[i];
        scale += state.f_n[i].norm();
    }
    assert!((all - homes).norm() < 1e-12 * scale, "{all} {homes}");
}

#[test]
fn s4_06_home_springs_carry_the_whole_load_at_rest() {
    let mut tissue = regular(&seed());
    let mut reaction = Reaction::default();
    for n in 0..4000 {
        let z = (1.6 - 1e-3 * f64::from(n)).max(1.0);
        reaction = touch(&mut tissue, sphere(2.0, 1.732, z));
    }
    let homes: Vec3 = (0..22)
        .map(|i| 15.0 * (tissue.state.x_m[i] - tissue.model.rest_m[i]))
        .sum();
    assert!((reaction.force_n + homes).norm() < 1e-9 * reaction.force_n.norm());
}

#[test]
fn s4_07_stiff_disc_raises_local_stiffness() {
    let mut lattice = fixture::regular();
    for link in &mut lattice.links {
        if link.atoms == [10, 32] {
            link.stiffness_npm *= 5.0;
        }
    }
    let tissue = Idms::new(&lattice, &seed()).unwrap();
    let plain = regular(&seed());
    let ratio = |node: usize| tissue.node_stiffness_npm(node) / plain.node_stiffness_npm(node);
    assert!(ratio(10) > 2.0, "{}", ratio(10));
    assert!((ratio(0) - 1.0).abs() < 0.01 && (ratio(21) - 1.0).abs() < 0.01);
}

#[test]
fn node_stiffness_matches_static_table() {
    let tissue = regular(&seed());
    assert!((tissue.node_stiffness_npm(10) - 29.5).abs() < 0.2);
    assert!(
        (tissue.node_stiffness_npm(13) - 17.3).abs() < 0.1,
        "a corner"
    );
    assert_eq!(tissue.node_stiffness_npm(22), 0.0);
}

#[test]
fn s4_08_exponential_law_stays_bounded_under_presses() {
    let mut tissue = regular(&IdmsParams {
        law: SpringLaw::Fung {
            growth: 4.0,
            steepest: 4.0,
        },
        ..face(0.0)
    });
    let mut most = 0.0_f64;
    for n in 0..60_000 {
        let t = f64::from(n) * 1e-3;
        let z = 1.5 + 0.4 * libm::sin(3.7 * t) * libm::sin(1.3 * t);
        touch(
            &mut tissue,
            sphere(2.0 + libm::sin(0.7 * t), 1.7 + libm::cos(1.1 * t), z),
        );
        most = most.max(tissue.ledger().stored_j());
    }
    assert!(most > 0.1 && most < 20.0, "{most}");
    assert_eq!(tissue.escapes(), 0);
}

#[test]
fn s4_09_fixed_atoms_stay_and_fixed_links_are_dropped() {
    let mut lattice = fixture::regular();
    lattice.atoms[10].fixed = true;
    let mut tissue = Idms::new(&lattice, &seed()).unwrap();
    assert_eq!(
        tissue.caps().elements,
        140,
        "its home link now has two fixed ends"
    );
    for n in 0..500 {
        touch(&mut tissue, sphere(1.5, 1.732, 1.6 - 1e-3 * f64::from(n)));
    }
    assert_eq!(tissue.view().positions_m[10], tissue.view().rest_m[10]);
}

#[test]
fn s4_11_a_thousand_steps_repeat_bit_for_bit() {
    let run = || {
        let mut tissue = regular(&face(1.5));
        for n in 0..1000 {
            let t = f64::from(n) * 1e-3;
            touch(
                &mut tissue,
                sphere(1.5 + t, 1.7, 1.3 + 0.2 * libm::cos(9.0 * t)),
            );
        }
        snapshot_of(&tissue)
    };
    assert_eq!(run(), run());
}

#[test]
fn s4_12_free_fall_and_terminal_speed() {
    let g = 9.81;
    let fall = |drag_per_s: f64, steps: u32| {
        let params = IdmsParams {
            gravity_mps2: Vec3::new(0.0, 0.0, -g),
            drag_per_s,
            ..seed()
        };
        let mut tissue = Idms::new(&pair(0.0, 0.0), &params).unwrap();
        for _ in 0..steps {
            tissue.step(&[], 1e-3, &mut []);
        }
        (tissue.state.x_m[0].z, tissue.state.v_mps[0].z)
    };
    let (drop, _) = fall(0.0, 1000);
    assert!(
        (drop + 0.5 * g).abs() < g * 1e-3,
        "first order in T: {drop}"
    );
    let (_, speed) = fall(5.0, 3000);
    assert!((speed + g / 5.0).abs() < 0.01 * g / 5.0, "{speed}");
}

#[test]
fn s4_13_single_atom_matches_step_response() {
    // Under a constant force along the link: m e'' + b e' + k e = f, underdamped, zeta = 0.58.
    let (k, b, m, f) = (15.0_f64, 0.2, 0.002, 0.3);
    let (w0, zeta) = ((k / m).sqrt(), b / (2.0 * (k * m).sqrt()));
    let wd = w0 * (1.0 - zeta * zeta).sqrt();
    for scheme in [
        TimeIntegration::SemiImplicit,
        TimeIntegration::FilteredEuler {
            lambda: 1.0,
            radial_homes: true,
        },
    ] {
        let params = IdmsParams {
            gravity_mps2: Vec3::new(-f / m, 0.0, 0.0),
            scheme,
            substeps: 10,
            ..seed()
        };
        let mut tissue = Idms::new(&pair(k, b), &params).unwrap();
        for n in 1..=200 {
            tissue.step(&[], 1e-3, &mut []);
            let t = f64::from(n) * 1e-3;
            let decay = libm::exp(-zeta * w0 * t);
            let swing = libm::cos(wd * t) + zeta * w0 / wd * libm::sin(wd * t);
            let right = -f / k * (1.0 - decay * swing);
            let found = tissue.state.x_m[0].x;
            assert!(
                (found - right).abs() < 0.01 * f / k,
                "{scheme:?} {t}: {found} {right}"
            );
        }
    }
}

#[test]
fn s4_15_unstable_parameters_are_refused_with_numbers() {
    let checked = |damping: f64, dt_s: f64| {
        let mut lattice = fixture::regular();
        lattice
            .links
            .iter_mut()
            .for_each(|link| link.damping_nspm = damping);
        let params = IdmsParams {
            dt_s,
            unchecked: false,
            ..seed()
        };
        Idms::new(&lattice, &params)
    };
    let fine = checked(0.2, 1e-3).unwrap();
    assert!(fine.caps().dt_s_max >= 1e-3);
    match checked(0.45, 1.0 / 700.0) {
        Err(IdmsError::Unstable {
            reached,
            limit,
            dt_s_max,
            ..
        }) => {
            assert!(reached > 4.0 && limit == 2.0 && dt_s_max < 1e-3);
            assert!(checked(0.45, 0.99 * dt_s_max).is_ok());
        }
        other => panic!("{other:?}"),
    }
}
