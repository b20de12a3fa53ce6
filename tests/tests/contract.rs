//! Contract of all tissues: one suite for every method.
//!
//! Every built-in scene takes part, and small ones with features that no built-in scene has. The implicit
//! solver, of hexahedra and of tetrahedra, runs at longer steps, since it is stable at any step and slow at
//! all.

use std::hash::{DefaultHasher, Hasher};

use palpate_scene as scene;
use palpate_scene::Scene;
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, EditError, Reaction, Snapshot, Tissue, Tool, Vec3};

#[path = "contract/leaps.rs"]
mod leaps;

/// Longest step of a tissue in this suite, the tick of the servo loops \[s\].
const DT_S: f64 = 1e-3;

/// Number of ticks of a step of the implicit solver.
const STRIDE: u64 = 10;

/// Depth of the presses \[m\].
const DEPTH_M: f64 = 5e-3;

/// Tissue with a tool that just touches it from above.
struct Subject {
    name: &'static str,
    tissue: Box<dyn Tissue>,
    tool: Tool,
    /// Step \[s\]: the servo tick, or the longest step of the tissue.
    dt_s: f64,
    /// Number of ticks of a step.
    stride: u64,
}

/// Constructor of a tissue.
type Construct = Box<dyn Fn() -> Subject + Sync>;

/// Returns the constructors of all tissues.
fn constructors() -> Vec<Construct> {
    let of_scene = |name| -> Construct { Box::new(move || of_scene(name)) };
    let scenes = scene::built_in_names().into_iter().map(of_scene);
    let small: [fn() -> Subject; 3] = [of_table, of_viscous, of_implicit];
    let small = small.map(|construct| -> Construct { Box::new(construct) });
    scenes.chain(small).collect()
}

/// Returns every tissue, one after the other.
fn subjects() -> impl Iterator<Item = Subject> {
    constructors().into_iter().map(|construct| construct())
}

/// Returns a small block with additional keys of its layer and of `[block]`.
fn small(name: &str, of_block: &str, of_layer: &str) -> Scene {
    let text = format!(
        "name = \"{name}\"\n[block]\nsize_m = [0.06, 0.06, 0.03]\ncell_m = 0.003\n\
        levels = 2\nfine_half_m = [0.012, 0.012]\nfine_depth_m = 0.008\n{of_block}\n\
        [[layer]]\nyoung_pa = 5000.0\n{of_layer}\n\
        [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n"
    );
    scene::load(&text).expect("a scene")
}

/// Returns a tissue with its condensed table.
fn of_table() -> Subject {
    let scene = small("table", "", "");
    let table = std::sync::Arc::new(scene.condense().expect("a block"));
    let tissue = scene.build_with_table(&table).expect("a block");
    subject("table", &scene, tissue)
}

/// Returns a tissue that relaxes slowly compared with a press and resists its strain rate.
fn of_viscous() -> Subject {
    let keys = "shear_viscosity_pas = 2.0\nrelaxing = [[0.3, 5.0], [0.1, 0.1]]";
    let scene = small("viscous", "", keys);
    subject("viscous", &scene, scene.build().expect("a block"))
}

/// Returns an implicit tissue of hexahedra; the scene `mound` has tetrahedra.
fn of_implicit() -> Subject {
    let text = "name = \"implicit\"\n[block]\nsize_m = [0.04, 0.04, 0.02]\ncell_m = 0.005\n\
                levels = 1\nfine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n\
                method = \"implicit\"\n[[layer]]\nyoung_pa = 5000.0\n\
                [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n";
    let scene = scene::load(text).expect("a scene");
    subject("implicit", &scene, scene.build().expect("a block"))
}

fn of_scene(name: &'static str) -> Subject {
    let scene = scene::load(name).expect("built in");
    subject(name, &scene, scene.build().expect("built in"))
}

fn subject(name: &'static str, scene: &Scene, tissue: Box<dyn Tissue>) -> Subject {
    let caps = tissue.caps();
    assert_eq!(caps.method, scene.method(), "{name}");
    let stride = if caps.method == "implicit" { STRIDE } else { 1 };
    Subject {
        name,
        dt_s: stride as f64 * DT_S.min(caps.dt_s_max),
        stride,
        tissue,
        tool: scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m)),
    }
}

impl Subject {
    /// Returns the tool at tick `k` of a press that moves down and up in 400 ticks, repeatedly.
    fn pressing(&self, k: u64) -> Tool {
        let turn = |k: u64| (k as f64 * std::f64::consts::TAU / 400.0).cos();
        let depth = |k: u64| DEPTH_M * 0.5 * (1.0 - turn(k));
        let way_m = depth(k) - depth(k.saturating_sub(self.stride));
        let mut tool = self.tool;
        tool.position_m.z -= depth(k);
        tool.velocity_mps = Vec3::new(0.0, 0.0, -way_m / self.dt_s);
        tool
    }

    fn press(&mut self, ticks: std::ops::Range<u64>) -> Vec<Reaction> {
        let mut reaction = [Reaction::default()];
        self.steps(ticks)
            .map(|k| {
                let tool = self.pressing(k);
                self.tissue.step(&[tool], self.dt_s, &mut reaction);
                reaction[0]
            })
            .collect()
    }

    /// Returns the ticks at which a step ends.
    fn steps(&self, ticks: std::ops::Range<u64>) -> impl Iterator<Item = u64> + use<> {
        ticks.step_by(self.stride as usize)
    }
}

fn is_finite(reaction: &Reaction) -> bool {
    let vectors = [reaction.force_n, reaction.torque_nm, reaction.normal];
    let vectors = vectors.into_iter().chain([reaction.proxy_offset_m]);
    let error_n = reaction.mesh_error_n.unwrap_or(0.0);
    let scalars = [reaction.grip_force_n, reaction.penetration_m, error_n];
    let slopes = [reaction.stiffness_npm, reaction.damping_nspm];
    let all = vectors.flat_map(|v| [v.x, v.y, v.z]);
    all.chain(scalars).chain(slopes).all(f64::is_finite)
}

#[test]
fn caps_match_the_behaviour_of_the_tissue() {
    for mut subject in subjects() {
        let (name, caps) = (subject.name, subject.tissue.caps());
        assert!(
            !caps.method.is_empty() && caps.nodes > 0 && caps.elements > 0,
            "{name}"
        );
        assert!(
            caps.tools_max >= 1 && caps.dt_s_max > 1e-5,
            "{name}: {caps:?}"
        );
        // at the longest allowed step a press stays finite and bounded
        let mut reactions = vec![Reaction::default(); caps.tools_max + 1];
        for k in subject.steps(0..800) {
            let tools = vec![subject.pressing(k); caps.tools_max + 1];
            subject.tissue.step(&tools, subject.dt_s, &mut reactions);
            let beyond = reactions.last().expect("one too many");
            assert_eq!(
                beyond.force_n,
                Vec3::zeros(),
                "{name}: a tool beyond tools_max"
            );
            assert!(
                reactions
                    .iter()
                    .all(|r| is_finite(r) && r.force_n.norm() < 1e3),
                "{name}"
            );
        }
        let view = subject.tissue.view();
        let places = view.positions_m.iter().zip(view.rest_m);
        let moved = places.filter(|(at, rest)| at != rest).count();
        assert!(0 < moved && moved <= caps.nodes, "{name}: {moved} {caps:?}");
        assert_eq!(view.positions_m.len(), view.rest_m.len(), "{name}");
        let mut corners = view.faces.iter().flatten();
        assert!(corners.all(|&node| (node as usize) < view.rest_m.len()));
        let cut = Edit::Cut {
            point_m: Vec3::new(0.01, 0.0, 0.0),
            normal: Vec3::new(1.0, 0.0, 0.0),
        };
        let scale = Edit::Scale {
            shape: RegionShape::Layer {
                from_m: -0.01,
                to_m: 0.01,
            },
            factor: 1.1,
            passive: true,
        };
        for (edit, can) in [(scale, caps.region_edits), (cut, caps.cuts)] {
            let refused = matches!(subject.tissue.edit(&edit), Err(EditError::Kind(_)));
            assert_eq!(refused, !can, "{name}: {edit:?}");
        }
    }
}

#[test]
fn a_restored_tissue_repeats_bit_for_bit() {
    for mut subject in subjects() {
        subject.press(0..300);
        let mut before = Snapshot::default();
        subject.tissue.save(&mut before);
        let first = subject.press(300..500);
        let (mut after, mut again) = (Snapshot::default(), Snapshot::default());
        subject.tissue.save(&mut after);
        subject.tissue.restore(&before).expect("its own");
        assert_eq!(subject.press(300..500), first, "{}", subject.name);
        subject.tissue.save(&mut again);
        assert_eq!(again, after, "{}", subject.name);
        let foreign = Snapshot {
            numbers: vec![0.0],
            ..Snapshot::default()
        };
        assert!(
            subject.tissue.restore(&foreign).is_err(),
            "{}",
            subject.name
        );
        subject.tissue.save(&mut again);
        assert_eq!(
            again, after,
            "{}: a refused restore changes nothing",
            subject.name
        );
    }
}

/// Hashes all bits of the reactions and of the state after them.
fn hash(reactions: &[Reaction], tissue: &dyn Tissue) -> u64 {
    let mut hasher = DefaultHasher::new();
    for reaction in reactions {
        let vectors = [reaction.force_n, reaction.torque_nm, reaction.normal];
        let places = reaction.proxy_offset_m.iter();
        let numbers = vectors.iter().flat_map(|v| v.iter()).chain(places).copied();
        let slopes = [reaction.stiffness_npm, reaction.damping_nspm];
        let error_n = reaction.mesh_error_n.unwrap_or(-1.0);
        let others = [reaction.grip_force_n, reaction.penetration_m, error_n];
        for number in numbers.chain(slopes).chain(others) {
            hasher.write_u64(number.to_bits());
        }
        hasher.write_u32(reaction.contacts);
    }
    let mut state = Snapshot::default();
    tissue.save(&mut state);
    for number in state.numbers {
        hasher.write_u64(number.to_bits());
    }
    for integer in state.integers {
        hasher.write_u64(integer);
    }
    hasher.finish()
}

#[test]
fn two_runs_are_equal_by_hash() {
    let scenes = scene::built_in_names().into_iter().map(Some).chain([None]);
    for name in scenes {
        let run = |short: u64| {
            let mut subject = name.map_or_else(of_implicit, of_scene);
            let ticks = 0..300 - short * subject.stride;
            let reactions = subject.press(ticks);
            hash(&reactions, subject.tissue.as_ref())
        };
        let first = run(0);
        assert_eq!(first, run(0), "{name:?}");
        assert_ne!(first, run(1), "{name:?}: the hash must change");
    }
}

/// Returns a stiffness edit of the whole tissue.
fn everywhere(factor: f64) -> Edit<'static> {
    Edit::Scale {
        shape: RegionShape::All,
        factor,
        passive: false,
    }
}

#[test]
fn edits_change_the_force_and_are_undone() {
    for mut subject in subjects() {
        let (name, caps) = (subject.name, subject.tissue.caps());
        let mut fresh = Snapshot::default();
        subject.tissue.save(&mut fresh);
        let plain = subject.press(0..200);
        let cut = Edit::Cut {
            point_m: Vec3::zeros(),
            normal: Vec3::new(1.0, 0.3, 0.0),
        };
        let edits = [(everywhere(1.1), caps.region_edits), (cut, caps.cuts)];
        for (edit, _) in edits.into_iter().filter(|(_, can)| *can) {
            subject.tissue.restore(&fresh).expect("its own");
            let report = subject.tissue.edit(&edit).expect("in the caps");
            assert!(report.elements > 0, "{name}: {edit:?}");
            assert_ne!(subject.press(0..200), plain, "{name}: {edit:?}");
            // exactly, by an older snapshot
            subject.tissue.restore(&fresh).expect("its own");
            assert_eq!(subject.press(0..200), plain, "{name}: {edit:?}");
        }
        if caps.region_edits {
            // and approximately, by the opposite edit
            subject.tissue.restore(&fresh).expect("its own");
            for factor in [1.1, 1.0 / 1.1] {
                let report = subject
                    .tissue
                    .edit(&everywhere(factor))
                    .expect("in the caps");
                assert!(report.applied_fraction > 0.999, "{name}: {report:?}");
            }
            for (now, before) in subject.press(0..200).iter().zip(&plain) {
                let off_n = (now.force_n - before.force_n).norm();
                assert!(off_n < 1e-3 * (0.05 + before.force_n.norm()), "{name}");
            }
        }
    }
}

/// Returns the force along z \[N\] and the strain energy \[J\] with the tool held at a depth \[m\] until the
/// tissue is at rest.
fn held(subject: &mut Subject, (from_m, to_m): (f64, f64)) -> (f64, f64) {
    let ticks = |time_s: f64| (time_s / subject.dt_s).ceil() as u64;
    let (down, all) = (ticks(0.2), ticks(0.8));
    let mut reaction = [Reaction::default()];
    for k in 1..=all {
        let share = (k as f64 / down as f64).min(1.0);
        let mut tool = subject.tool;
        tool.position_m.z -= from_m + (to_m - from_m) * share;
        if k <= down {
            tool.velocity_mps.z = (from_m - to_m) / 0.2;
        }
        subject.tissue.step(&[tool], subject.dt_s, &mut reaction);
    }
    let ledger = subject.tissue.view().energy;
    (reaction[0].force_n.z, ledger.elastic_j + ledger.contact_j)
}

#[test]
fn the_force_is_the_negative_energy_gradient() {
    const DEPTHS_M: [f64; 3] = [2.75e-3, 3e-3, 3.25e-3];
    // a relaxing tissue has another force and energy at every time
    for mut subject in subjects().filter(|subject| subject.name != "viscous") {
        let depth_pairs = [(0.0, 0), (DEPTHS_M[0], 1), (DEPTHS_M[1], 2)];
        let states = depth_pairs.map(|(from_m, to)| held(&mut subject, (from_m, DEPTHS_M[to])));
        let [(_, low_j), (force_n, _), (_, high_j)] = states;
        let slope_n = (high_j - low_j) / (DEPTHS_M[2] - DEPTHS_M[0]);
        println!("{}: {force_n} N, slope {slope_n} N", subject.name);
        assert!(
            (slope_n / force_n - 1.0).abs() < 0.02,
            "{}: {slope_n} {force_n}",
            subject.name
        );
    }
}

/// Newton's third law in its energy form: the work computed from the tool's force equals the tool work of the
/// energy balance.
#[test]
fn action_equals_reaction_and_the_energy_balance_closes() {
    for mut subject in subjects() {
        let start = subject.tissue.view().energy;
        let (mut sampled_work_j, mut pushed_n, mut last_n) = (0.0, 0.0_f64, 0.0);
        for (k, reaction) in subject.press(0..1000).into_iter().enumerate() {
            let tool = subject.pressing(k as u64 * subject.stride);
            // the force changes over the step, so the work uses its mean
            let force_n = reaction.force_n.z;
            sampled_work_j -= 0.5 * (force_n + last_n) * tool.velocity_mps.z * subject.dt_s;
            pushed_n = pushed_n.max(force_n);
            last_n = force_n;
        }
        let name = subject.name;
        let ledger = subject.tissue.view().energy;
        assert!(pushed_n > 0.05, "{name}: {pushed_n} N");
        let work_j = ledger.tool_work_j - start.tool_work_j;
        let scale_j = (pushed_n * DEPTH_M).max(sampled_work_j.abs());
        assert!(
            (work_j - sampled_work_j).abs() < 0.02 * scale_j,
            "{name}: {work_j} {sampled_work_j}"
        );
        let gained_j = ledger.stored_j() - start.stored_j();
        let spent_j =
            work_j + ledger.edit_j + ledger.mass_j - ledger.dissipated_j + ledger.residual_j;
        assert!(
            (gained_j - spent_j).abs() < 1e-9,
            "{name}: {gained_j} {spent_j}"
        );
        assert!(
            ledger.dissipated_j >= 0.0 && ledger.residual_j.abs() < 0.05 * scale_j,
            "{name}"
        );
    }
}

#[test]
fn invalid_tools_have_finite_reactions() {
    let invalid = [f64::NAN, f64::INFINITY, -1e300, 0.0];
    for mut subject in subjects() {
        subject.press(0..100);
        let mut reaction = [Reaction::default()];
        for bad in invalid {
            let changes: [fn(&mut Tool, f64); 4] = [
                |tool, bad| tool.position_m.z = bad,
                |tool, bad| tool.velocity_mps.x = bad,
                |tool, bad| tool.radius_m = bad,
                |tool, bad| tool.stiffness_npm = bad,
            ];
            for change in changes {
                let mut tool = subject.tool;
                change(&mut tool, bad);
                subject.tissue.step(&[tool], subject.dt_s, &mut reaction);
                assert!(is_finite(&reaction[0]), "{}: {tool:?}", subject.name);
            }
            subject.tissue.step(&[subject.tool], bad, &mut reaction);
            assert!(is_finite(&reaction[0]), "{}: dt {bad}", subject.name);
        }
        let view = subject.tissue.view();
        let finite = view
            .positions_m
            .iter()
            .all(|p| p.iter().all(|x| x.is_finite()));
        assert!(
            finite && view.energy.stored_j().is_finite(),
            "{}",
            subject.name
        );
        assert!(
            subject.press(100..300).iter().all(is_finite),
            "{}",
            subject.name
        );
    }
}

/// Proxy position: displaced along the force, at the tool without contact, and within a bound of the tool.
#[test]
fn a_proxy_is_ahead_of_its_tool_and_joins_a_withdrawn_one() {
    for mut subject in subjects() {
        let name = subject.name;
        let (mut sunk, ticks) = (0, 0..400);
        let steps = subject.steps(ticks.clone());
        for (k, reaction) in steps.zip(subject.press(ticks.clone())) {
            let along_m = reaction.proxy_offset_m.dot(&reaction.normal);
            sunk += usize::from(along_m > 0.0);
            assert!(along_m >= 0.0, "{name}, tick {k}: {reaction:?}");
            assert!(
                reaction.proxy_offset_m.norm() <= 2.0 * reaction.penetration_m,
                "{name}: {reaction:?}"
            );
        }
        assert!(2 * sunk > subject.steps(ticks).count(), "{name}: {sunk}");
        let mut away = subject.tool;
        away.position_m.z += 1.0;
        let mut reaction = [Reaction::default()];
        subject.tissue.step(&[away], subject.dt_s, &mut reaction);
        assert_eq!(reaction[0].proxy_offset_m, Vec3::zeros(), "{name}");
    }
}

fn extrapolate(tissue: &mut dyn Tissue, tool: &Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[*tool], 0.0, &mut reaction);
    reaction[0]
}

/// A step without time extrapolates the reaction and changes nothing.
#[test]
fn a_step_without_time_extrapolates_and_changes_nothing() {
    for mut subject in subjects() {
        let name = subject.name;
        let last = subject.press(0..150).pop().expect("steps");
        let at = subject.pressing(150 - subject.stride);
        let before = Snapshot::of(subject.tissue.as_ref());
        let ledger = subject.tissue.view().energy;
        let pushed_n = last.force_n.dot(&last.normal);
        assert!(pushed_n > 0.01, "{name}: {last:?}");
        let same_n = extrapolate(subject.tissue.as_mut(), &at).force_n;
        assert!((same_n - last.force_n).amax() < 1e-12 * pushed_n, "{name}");
        let moved = |way_m: f64| Tool {
            position_m: at.position_m + last.normal * way_m,
            ..at
        };
        let along = |tissue: &mut dyn Tissue, way_m: f64| {
            let reaction = extrapolate(tissue, &moved(way_m));
            assert!(is_finite(&reaction), "{name}: {way_m}");
            reaction.force_n.dot(&last.normal)
        };
        let tissue = subject.tissue.as_mut();
        assert!(along(tissue, -2e-5) > pushed_n, "{name}: deeper is more");
        assert!(along(tissue, 2e-5) < pushed_n, "{name}: less deep is less");
        for way_m in [1e-3, 4e-3, 0.9 * at.radius_m, 1.0, -1.0] {
            let force_n = along(tissue, way_m);
            assert!(
                (-1e-12..1e3).contains(&force_n),
                "{name}: {way_m} {force_n}"
            );
        }
        for bad in [f64::NAN, f64::INFINITY, -1e300] {
            for change in [
                |tool: &mut Tool, bad| tool.position_m.x = bad,
                |tool: &mut Tool, bad| tool.radius_m = bad,
                |tool: &mut Tool, bad| tool.stiffness_npm = bad,
            ] {
                let mut tool = at;
                change(&mut tool, bad);
                assert_eq!(
                    extrapolate(tissue, &tool).force_n,
                    Vec3::zeros(),
                    "{name}: {tool:?}"
                );
            }
        }
        // no tool, and more tools than there were
        tissue.step(&[], 0.0, &mut []);
        let mut many = vec![Reaction::default(); 7];
        tissue.step(&[at; 7], 0.0, &mut many);
        assert_eq!(many[6], Reaction::default(), "{name}");
        assert_eq!(Snapshot::of(tissue), before, "{name}: nothing has changed");
        assert_eq!(
            tissue.view().energy,
            ledger,
            "{name}: the energy balance is unchanged"
        );
        // the memory of the extrapolation is restored too
        let expected_reaction = extrapolate(tissue, &moved(-1e-4));
        subject.press(150..250);
        subject.tissue.restore(&before).expect("its own");
        assert_eq!(
            extrapolate(subject.tissue.as_mut(), &moved(-1e-4)),
            expected_reaction,
            "{name}"
        );
    }
}

#[test]
fn steps_without_time_between_steps_change_no_step() {
    for mut subject in subjects() {
        let start = Snapshot::of(subject.tissue.as_ref());
        let plain = subject.press(0..200);
        subject.tissue.restore(&start).expect("its own");
        for (k, expected) in subject.steps(0..200).zip(plain) {
            let next = subject.pressing(k + subject.stride);
            extrapolate(subject.tissue.as_mut(), &next);
            let reaction = subject.press(k..k + 1)[0];
            assert_eq!(reaction, expected, "{} {k}", subject.name);
        }
    }
}
