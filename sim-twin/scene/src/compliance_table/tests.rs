use super::*;
use crate::load;
use palpate_twin::Vec3;
use palpate_twin::twin::{Reaction, Snapshot, Tool};
use std::sync::OnceLock;

const TICK_S: f64 = 1e-3;

/// Block of the block test, touched within 12 mm of its middle.
fn scene() -> Scene {
    let mut scene = load("block").unwrap();
    let SceneBody::Block(block) = &mut scene.body else {
        panic!("the scene `block` is a continuum");
    };
    block.zone.centre_m = [0.0; 2];
    block.zone.half_m = [0.012, 0.008];
    scene
}

fn table() -> &'static Arc<ComplianceTable> {
    static TABLE: OnceLock<Arc<ComplianceTable>> = OnceLock::new();
    TABLE.get_or_init(|| Arc::new(scene().condense().unwrap()))
}

/// Tissue with and without its table.
fn pair() -> [Box<dyn Tissue>; 2] {
    let scene = scene();
    [
        scene.build_with_table(table()).unwrap(),
        scene.build().unwrap(),
    ]
}

fn tool(x_m: f64, depth_m: f64) -> Tool {
    scene_tool(Vec3::new(x_m, 0.0, 5e-3 - depth_m))
}

fn scene_tool(at_m: Vec3) -> Tool {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(scene).tool_at(at_m)
}

/// Reaction of a tissue to one tool.
fn reaction(tissue: &mut dyn Tissue, tool: Tool, dt_s: f64) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[tool], dt_s, &mut reaction);
    reaction[0]
}

#[test]
fn a_table_follows_from_its_scene() {
    let [one, other] = [scene(), load("block").unwrap()];
    assert_eq!(one.table_key_text(), scene().table_key_text());
    assert_ne!(one.table_key_text(), other.table_key_text());
    let sheet = load("sheet").unwrap();
    assert_eq!(sheet.table_key_text(), None);
    assert!(sheet.condense().unwrap_err().to_string().contains("sheet"));
    assert!(table().faces() > 300 && table().memory_bytes() < 64_000_000);
}

#[test]
fn table_leaves_steps_with_time_unchanged() {
    let [mut with, mut without] = pair();
    for tick in 0..200_u32 {
        let tool = tool(0.0, 2e-5 * f64::from(tick));
        let both = [&mut with, &mut without].map(|tissue| reaction(tissue.as_mut(), tool, TICK_S));
        assert_eq!(both[0], both[1]);
        // a step without time changes nothing
        reaction(with.as_mut(), tool, 0.0);
    }
    assert_eq!(Snapshot::of(with.as_ref()), Snapshot::of(without.as_ref()));
}

/// A viscous scene still relaxes with a table, which has no time dependence.
#[test]
fn a_table_leaves_the_tissue_viscous() {
    let text = "name = \"viscous\"\n[block]\nsize_m = [0.06, 0.06, 0.03]\ncell_m = 0.003\n\
        levels = 2\nfine_half_m = [0.012, 0.012]\nfine_depth_m = 0.008\n\
        [[layer]]\nyoung_pa = 5000.0\nshear_viscosity_pas = 5.0\n\
        relaxing_share = 0.5\nrelaxing_time_s = 0.1\n\
        [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n";
    let scene = load(text).unwrap();
    let table = Arc::new(scene.condense().unwrap());
    let mut pair = [
        scene.build_with_table(&table).unwrap(),
        scene.build().unwrap(),
    ];
    let mut most_n = 0.0_f64;
    for tick in 0..400_u32 {
        let depth_m = (2e-5 * f64::from(tick)).min(2e-3);
        let tool = scene.tool_at(Vec3::new(0.0, 0.0, 0.008 - depth_m));
        let [with, without] = pair
            .each_mut()
            .map(|tissue| reaction(tissue.as_mut(), tool, TICK_S));
        assert_eq!(with, without);
        most_n = most_n.max(with.force_n.norm());
        if tick == 399 {
            let held_n = with.force_n.norm();
            assert!(held_n < 0.8 * most_n, "relaxes: {held_n} N of {most_n} N");
        }
    }
}

/// Presses 10 mm at 20 mm/s, then edit_batches at 20 mm/s; compares in every tick the force of a fallback
/// with that of the full step.
fn worst_jumps(tissue: &mut dyn Tissue) -> [f64; 2] {
    let mut worst = [0.0_f64; 2];
    for tick in 0..900_u32 {
        let depth_m = (2e-5 * f64::from(tick)).min(0.01);
        let x_m = (2e-5 * (f64::from(tick) - 600.0)).max(0.0);
        let tool = tool(x_m, depth_m);
        let late_n = reaction(tissue, tool, 0.0).force_n;
        let full_n = reaction(tissue, tool, TICK_S).force_n;
        let way = usize::from(tick >= 600);
        // forces below the perception threshold do not count: that of a fingertip is five times as large
        if full_n.norm() > 5e-3 {
            worst[way] = worst[way].max((late_n - full_n).norm() / full_n.norm());
        }
    }
    worst
}

#[test]
fn fallback_is_within_two_percent_of_the_full_step() {
    let [mut with, mut without] = pair();
    let (with, without) = (worst_jumps(with.as_mut()), worst_jumps(without.as_mut()));
    assert!(with.iter().all(|&jump| jump < 0.02), "{with:?} {without:?}");
}

/// Presses and releases: returns the work of the tissue on the hand, with one tick in `every` a
/// fallback, or none.
fn energy_returned_j(tissue: &mut dyn Tissue, every: u32) -> (f64, f64, f64) {
    let (mut given_j, mut put_j, mut last_n, mut last_m) =
        (0.0, 0.0, Vec3::zeros(), tool(0.0, 0.0));
    let mut most_n = 0.0_f64;
    for tick in 1..=800_u32 {
        let turn = std::f64::consts::TAU * f64::from(tick) / 400.0;
        let now = tool(0.0, 2.5e-3 * (1.0 - turn.cos()));
        let late = every > 0 && tick % every == 0;
        let force_n = reaction(tissue, now, if late { 0.0 } else { TICK_S }).force_n;
        // every force acts on the hand for the tick after it
        let work_j = last_n.dot(&(now.position_m - last_m.position_m));
        given_j += work_j;
        put_j += (-work_j).max(0.0);
        most_n = most_n.max(force_n.norm());
        (last_n, last_m) = (force_n, now);
    }
    (given_j, put_j, most_n)
}

#[test]
fn fallback_ticks_create_no_energy_beyond_their_bound() {
    let [mut late, mut whole] = pair();
    let (with_j, put_j, most_n) = energy_returned_j(late.as_mut(), 10);
    let (without_j, _, _) = energy_returned_j(whole.as_mut(), 0);
    // 80 fallback ticks of at most 40 um, each off by at most 2 % of the largest force
    let bound_j = 80.0 * 4e-5 * 0.02 * most_n;
    assert!(
        (with_j - without_j).abs() < bound_j,
        "{with_j} {without_j} {bound_j}"
    );
    assert!(with_j < 0.02 * put_j, "{with_j} of {put_j}");
}
