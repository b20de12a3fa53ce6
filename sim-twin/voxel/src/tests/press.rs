//! What a hand feels: the force of a press, its energy, and that no link is ever overstretched.

use super::{Draw, matter};
use crate::elements::{Elements, Frame, Seed};
use crate::limits::Limits;
use crate::matter::Matter;
use crate::{Linked, LinkedParams};
use palpate_twin::{Edit, Instrument, Reaction, Snapshot, Tissue, Tool, Vec3};

/// A block with its surface at z = 0 and its ground pinned, `size` elements, spacing 1 mm.
pub(super) fn slab(size: [i32; 3], matters: Vec<Matter>, of: impl Fn([i32; 3]) -> u8) -> Linked {
    let h = 1e-3;
    let middle = |n: i32| -0.5 * f64::from(n - 1) * h;
    let frame = Frame {
        origin_m: Vec3::new(
            middle(size[0]),
            middle(size[1]),
            -f64::from(size[2] - 1) * h,
        ),
        spacing_m: [h; 3],
    };
    let seeds: Vec<Seed> = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
        .map(|site| Seed {
            site,
            matter: of(site),
            object: 0,
        })
        .collect();
    let mut elements = Elements::new(frame, matters, &seeds).expect("fit");
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == 0);
    }
    Linked::new(elements, LinkedParams::default()).expect("fit")
}

pub(super) fn ball(at_m: Vec3, radius_m: f64) -> Tool {
    Tool {
        position_m: at_m,
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Steps with a tool whose lowest point is at a depth \[m\].
fn hold(tissue: &mut Linked, depth_m: f64, ticks: usize) -> Reaction {
    let mut felt = [Reaction::default()];
    let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
    for _ in 0..ticks {
        tissue.step(&[tool], 1e-3, &mut felt);
    }
    felt[0]
}

/// The account of a press and a release: no energy from nowhere, none lost.
#[test]
fn a_press_gives_back_no_more_than_it_took() {
    let soft = matter(Limits::LOOSE);
    let mut tissue = slab([21, 21, 12], vec![soft], |_| 0);
    let mut felt = [Reaction::default()];
    let mut paid_j = 0.0;
    let mut deepest_n: f64 = 0.0;
    for k in 0..=400 {
        let share = 1.0 - (f64::from(k) / 400.0 * 2.0 - 1.0).abs();
        let depth_m = 3e-3 * share;
        let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
        tissue.step(&[tool], 1e-3, &mut felt);
        let way_m = if k <= 200 {
            -3e-3 / 200.0
        } else {
            3e-3 / 200.0
        };
        // the force is the mean over the way
        paid_j -= felt[0].force_n.z * way_m;
        deepest_n = deepest_n.max(felt[0].force_n.z);
        assert!(tissue.elements().worst_m() <= 1e-9, "tick {k}");
        let books = tissue.ledger();
        if depth_m < 1.2e-3 && k <= 200 {
            // before links lock, the hand pays what the tissue books, but for the held force
            assert!((books.tool_work_j - paid_j).abs() <= 0.02 * paid_j + 1e-8);
        }
        let out = books.stored_j() - books.tool_work_j + books.dissipated_j - books.residual_j;
        assert!(out.abs() < 1e-12, "{books:?}");
        assert!(books.residual_j < 1e-9, "{books:?}");
    }
    let books = tissue.ledger();
    assert!(deepest_n > 0.01 && paid_j > books.tool_work_j && books.tool_work_j > 0.0);
}

/// Any motion whatever: finite, within limits, and no energy from nowhere.
#[test]
fn wild_tools_break_no_limit_and_make_no_energy() {
    let mut draw = Draw::new(5);
    let mut tissue = slab([15, 13, 9], vec![matter(Limits::MEDIUM)], |_| 0);
    let mut felt = [Reaction::default(); 2];
    for k in 0..3000 {
        let at =
            |draw: &mut Draw| Vec3::new(draw.around(8e-3), draw.around(8e-3), draw.around(6e-3));
        let tools = [ball(at(&mut draw), 3e-3), ball(at(&mut draw), 2e-3)];
        tissue.step(&tools, 1e-3, &mut felt);
        assert!(tissue.elements().worst_m() <= 1e-8, "tick {k}");
        assert!(felt.iter().all(|f| f.force_n.norm() < 100.0));
    }
    let books = tissue.ledger();
    assert!(
        books.residual_j < 1e-6 * books.tool_work_j.abs().max(1e-3),
        "{books:?}"
    );
}

/// Section 3.4.2: at rest a flat punch feels `4 a kappa d`; a ball feels more, the deeper.
#[test]
fn a_held_press_settles() {
    let mut tissue = slab([31, 31, 20], vec![matter(Limits::LOOSE)], |_| 0);
    let mut last = 0.0;
    for depth_m in [0.5e-3, 1e-3, 2e-3] {
        let felt = hold(&mut tissue, depth_m, 600);
        let again = hold(&mut tissue, depth_m, 100);
        assert!((again.force_n - felt.force_n).norm() < 1e-3 * felt.force_n.norm());
        assert!(felt.force_n.z > last);
        last = felt.force_n.z;
    }
}

/// A snapshot holds all that a step reads: the same bits after, also when the tissue was cut between.
#[test]
fn a_thawed_volume_goes_on_bit_for_bit() {
    let mut tissue = slab([13, 12, 8], vec![matter(Limits::MEDIUM)], |_| 0);
    hold(&mut tissue, 1e-3, 20);
    let before = Snapshot::of(&tissue);
    let first = hold(&mut tissue, 2e-3, 30);
    let after = Snapshot::of(&tissue);
    let cut = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::new(1.0, 0.2, 0.0),
    };
    let report = tissue.edit(&cut).expect("can");
    assert!(report.elements > 50 && report.energy_j < 0.0, "{report:?}");
    assert_eq!(tissue.elements().one_sided(), None);
    let softer = hold(&mut tissue, 2e-3, 300).force_n.norm();
    tissue.thaw(&before).expect("its own");
    assert_eq!(hold(&mut tissue, 2e-3, 30), first);
    assert_eq!(Snapshot::of(&tissue), after);
    assert!(softer < hold(&mut tissue, 2e-3, 300).force_n.norm());
}

/// Row S4-P30: a lying capsule and a flat box press every element that they reach along its own way out, with forces
/// that add up to what the tool feels; more tool, more force.
#[test]
fn s4_p30_capsules_and_boxes_press_by_the_depth_of_each_element() {
    let shapes = [
        (Vec3::zeros(), Vec3::zeros()),
        (Vec3::new(6e-3, 0.0, 0.0), Vec3::zeros()),
        (Vec3::new(6e-3, 0.0, 0.0), Vec3::new(0.0, 6e-3, 0.0)),
    ];
    let mut pressed_n = Vec::new();
    for (shaft_m, side_m) in shapes {
        let mut tissue = slab([25, 25, 10], vec![matter(Limits::LOOSE)], |_| 0);
        assert!(tissue.caps().shafts && tissue.caps().plates);
        let middle_m = -0.5 * (shaft_m + side_m);
        let tool = Tool {
            shaft_m,
            side_m,
            ..ball(middle_m + Vec3::z() * 4e-3, 5e-3)
        };
        let mut felt = [Reaction::default()];
        for _ in 0..500 {
            tissue.step(&[tool], 1e-3, &mut felt);
        }
        let elements = tissue.elements();
        let mut sum_n = Vec3::zeros();
        let mut count = 0;
        for element in (0..elements.slots()).filter(|&e| elements.alive(e)) {
            // by hand: clear of the rectangle in its own axes
            let off_m = elements.at_m(element) - tool.position_m;
            let clear = |way_m: f64, long_m: f64| way_m - way_m.clamp(0.0, long_m);
            let away_m = Vec3::new(clear(off_m.x, shaft_m.x), clear(off_m.y, side_m.y), off_m.z);
            let depth_m = tool.radius_m - away_m.norm();
            if depth_m > 0.0 {
                sum_n -= away_m.normalize() * (tool.stiffness_npm * depth_m);
                count += 1;
            }
        }
        assert_eq!(count, felt[0].contacts);
        // what is felt is the mean over the step, and the tissue rests
        assert!(
            (sum_n - felt[0].force_n).norm() < 1e-3 * felt[0].force_n.norm(),
            "{sum_n}"
        );
        assert!(
            felt[0].force_n.xy().norm() < 0.02 * felt[0].force_n.z,
            "{felt:?}"
        );
        let middle = felt[0].force_n.cross(&middle_m);
        assert!(
            (felt[0].torque_nm - middle).norm() < 0.02 * felt[0].force_n.z * 6e-3,
            "{felt:?}"
        );
        let mut snapshot = Snapshot::default();
        tissue.freeze(&mut snapshot);
        let mut again = slab([25, 25, 10], vec![matter(Limits::LOOSE)], |_| 0);
        again.thaw(&snapshot).expect("the same volume");
        let mut other = felt;
        tissue.step(&[tool], 1e-3, &mut felt);
        again.step(&[tool], 1e-3, &mut other);
        assert_eq!(felt, other, "a plate is part of the state");
        pressed_n.push(felt[0].force_n.z);
    }
    assert!(
        pressed_n[0] * 1.3 < pressed_n[1] && pressed_n[1] * 1.3 < pressed_n[2],
        "{pressed_n:?}"
    );
}
