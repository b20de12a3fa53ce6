//! What instruments feel like, and what that costs.

use super::operate::out_j;
use super::press::{ball, slab};
use super::{Draw, matter};
use crate::Linked;
use crate::limits::Limits;
use crate::matter::Matter;
use palpate_twin::{Edit, Instrument, Reaction, Tissue, Tool, Vec3};

/// Matter that costs so much to part \[J/m^2\].
fn tough(toughness_jpm2: f64) -> Matter {
    Matter {
        toughness_jpm2,
        ..matter(Limits::LOOSE)
    }
}

/// A scalpel without a body to speak of.
fn scalpel(at_m: Vec3, edge_m: Vec3) -> Tool {
    Tool {
        radius_m: 1e-5,
        stiffness_npm: 3000.0,
        instrument: Instrument::Scalpel { edge_m },
        ..ball(at_m, 1e-5)
    }
}

/// What a hand paid and felt on a way.
#[derive(Debug, Default)]
struct Paid {
    work_j: f64,
    most_n: f64,
    /// Largest step of force between two ticks \[N\].
    jump_n: f64,
    links: usize,
}

/// Leads a tool straight from one place to another in steps of 20 um; the ledger must balance all the way.
fn lead(tissue: &mut Linked, tool: &mut Tool, to_m: Vec3) -> Paid {
    let way_m = to_m - tool.position_m;
    let count = (way_m.norm() / 2e-5).ceil().max(1.0);
    let mut felt = [Reaction::default()];
    let (mut paid, mut last_n) = (Paid::default(), None);
    for _ in 0..count as usize {
        tool.position_m += way_m / count;
        tissue.step(&[*tool], 1e-3, &mut felt);
        let force_n = felt[0].force_n;
        paid.work_j -= force_n.dot(&way_m) / count;
        paid.most_n = paid.most_n.max(force_n.norm());
        if let Some(last_n) = last_n.replace(force_n) {
            paid.jump_n = paid.jump_n.max((force_n - last_n).norm());
        }
        paid.links += tissue.view().changes.len();
        assert!(out_j(tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
    paid
}

const TOUGH_JPM2: f64 = 100.0;
const H_M: f64 = 1e-3;

/// What it costs to part matter is its toughness times the area, at any angle; the hand pays it, the books say so.
#[test]
fn cl_02_a_cut_costs_its_area_times_the_toughness() {
    for angle in [0.0, 0.3, 0.79, 1.2] {
        let mut tissue = slab([31, 31, 10], vec![tough(TOUGH_JPM2)], |_| 0);
        let along = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0);
        let edge_m = Vec3::new(0.0, 0.0, -6.5e-3);
        let off = Vec3::new(-along.y, along.x, 0.0) * 0.43e-3 + Vec3::z() * H_M;
        let mut tool = scalpel(off - along * 30e-3, edge_m);
        let mut felt = [Reaction::default()];
        tissue.step(&[tool], 1e-3, &mut felt);
        let paid = lead(&mut tissue, &mut tool, off + along * 30e-3);
        // elements stand for half a spacing around them; the corners that an oblique way lacks are not counted
        let wide_m = 31.0 * H_M / along.x.max(along.y);
        let area_m2 = 6.0 * H_M * wide_m;
        let due_j = TOUGH_JPM2 * area_m2;
        let books = tissue.ledger();
        assert!(
            (paid.work_j / due_j - 1.0).abs() < 0.04,
            "{angle}: {paid:?} {due_j}"
        );
        assert!(
            (books.tool_work_j / paid.work_j - 1.0).abs() < 1e-3,
            "{books:?}"
        );
        assert!((books.dissipated_j / due_j - 1.0).abs() < 0.04, "{books:?}");
        // a force of toughness times length, with ripples of the lattice
        let plain_n = TOUGH_JPM2 * 6.0 * H_M;
        assert!(
            (0.9..1.4).contains(&(paid.most_n / plain_n)),
            "{angle}: {paid:?}"
        );
        assert!(paid.jump_n < 0.11 * plain_n, "{angle}: {paid:?}");
        // the same way back, in the cut, is free
        let back = lead(&mut tissue, &mut tool, off - along * 30e-3);
        assert!(back.most_n < 1e-6 && back.links == 0, "{angle}: {back:?}");
    }
}

/// Row CL-02: a tough inclusion costs as much more as it is tougher.
#[test]
fn cl_02_a_tough_inclusion_is_felt() {
    let of = |[x, _, _]: [i32; 3]| u8::from((10..21).contains(&x));
    let matters = vec![tough(TOUGH_JPM2), tough(5.0 * TOUGH_JPM2)];
    let mut tissue = slab([31, 9, 8], matters, of);
    let edge_m = Vec3::new(0.0, 0.0, -9e-3);
    let mut tool = scalpel(Vec3::new(-30e-3, 0.4e-3, H_M), edge_m);
    let mut felt = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut felt);
    let mut at = |x_m| lead(&mut tissue, &mut tool, Vec3::new(x_m, 0.4e-3, H_M));
    at(-10e-3);
    let soft = at(-7.5e-3);
    at(-4e-3);
    let hard = at(-1.5e-3);
    assert!(
        (hard.work_j / soft.work_j - 5.0).abs() < 0.15,
        "{soft:?} {hard:?}"
    );
}

/// No way that ends where it began gives energy, wherever it goes and whatever it cuts.
#[test]
fn cl_02_no_closed_motion_of_a_blade_gives_energy() {
    let mut draw = Draw::new(4);
    for round in 0..8 {
        let mut tissue = slab([13, 13, 8], vec![tough(TOUGH_JPM2 * draw.share())], |_| 0);
        let edge_m = Vec3::new(draw.around(2e-3), draw.around(2e-3), -6e-3);
        let start_m = Vec3::new(-2e-3, 0.3e-3, 2e-3);
        let mut tool = scalpel(start_m, edge_m);
        let mut paid_j = 0.0;
        for _ in 0..12 {
            let near = Vec3::new(draw.around(4e-3), draw.around(4e-3), draw.around(2e-3));
            paid_j += lead(&mut tissue, &mut tool, start_m + near).work_j;
        }
        paid_j += lead(&mut tissue, &mut tool, start_m).work_j;
        let books = tissue.ledger();
        assert!(paid_j > 0.0, "round {round}: {paid_j}");
        assert!(
            books.dissipated_j >= 0.0 && books.contact_j >= 0.0,
            "{books:?}"
        );
    }
}

/// A blade cuts right under a finger that presses: how much its force falls in a tick.
#[test]
fn fu_10_a_pressed_finger_feels_no_step_of_force_where_links_are_cut() {
    let mut worst: f64 = 0.0;
    for (speed_m, deep_m) in [(2e-5, 4e-3), (1e-4, 4e-3), (1e-4, 9e-3), (5e-4, 9e-3)] {
        let mut tissue = slab([31, 31, 12], vec![tough(TOUGH_JPM2)], |_| 0);
        let finger = ball(Vec3::new(0.0, 0.0, 5e-3 - 2e-3), 5e-3);
        let edge_m = Vec3::new(0.0, 0.0, -deep_m);
        let mut tool = scalpel(Vec3::new(-17e-3, 0.4e-3, 0.0), edge_m);
        let mut felt = [Reaction::default(); 2];
        for _ in 0..400 {
            tissue.step(&[finger, tool], 1e-3, &mut felt);
        }
        let before = felt[0].force_n;
        let (mut last_n, mut jump_n) = (before, 0.0_f64);
        while tool.position_m.x < 17e-3 {
            tool.position_m.x += speed_m;
            tissue.step(&[finger, tool], 1e-3, &mut felt);
            jump_n = jump_n.max((felt[0].force_n - last_n).norm());
            last_n = felt[0].force_n;
            assert!(out_j(&tissue).abs() < 1e-12, "{:?}", tissue.ledger());
        }
        worst = worst.max(jump_n / before.norm());
    }
    // measured: 0.096, of the fastest blade
    assert!(worst < 0.12, "{worst}");
    // all at once, and back
    let mut tissue = slab([31, 31, 12], vec![tough(TOUGH_JPM2)], |_| 0);
    let finger = ball(Vec3::new(0.0, 0.0, 5e-3 - 2e-3), 5e-3);
    let mut felt = [Reaction::default()];
    let cut = Edit::Cut {
        point_m: Vec3::new(0.0, 0.4e-3, 0.0),
        normal: Vec3::y(),
    };
    for _ in 0..400 {
        tissue.step(&[finger], 1e-3, &mut felt);
    }
    for edit in [cut, Edit::Undo] {
        let (mut last_n, mut jump_n) = (felt[0].force_n, 0.0_f64);
        let pressed_n = last_n.norm();
        tissue.edit(&edit).expect("can");
        for _ in 0..400 {
            tissue.step(&[finger], 1e-3, &mut felt);
            jump_n = jump_n.max((felt[0].force_n - last_n).norm());
            last_n = felt[0].force_n;
        }
        // measured: 0.24 of the cut, 0.19 of its undoing
        assert!(jump_n < 0.3 * pressed_n, "{edit:?}: {jump_n} {pressed_n}");
        assert!(out_j(&tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
}

/// Glue on faces that fit costs nothing and is done at once; on faces that do not, only with what pressing lost.
#[test]
fn tp_06_a_join_that_stores_energy_is_paid_for() {
    let soft = vec![tough(0.0)];
    let mut tissue = slab([13, 13, 6], soft, |_| 0);
    let links = tissue.elements().link_count();
    let cut = Edit::Cut {
        point_m: Vec3::new(0.5e-3, 0.0, 0.0),
        normal: Vec3::x(),
    };
    let glue = |at_m| Tool {
        instrument: Instrument::Glue { reach_m: 2e-2 },
        ..ball(at_m, 1e-3)
    };
    let away = glue(Vec3::new(0.0, 0.0, 5e-3));
    let mut felt = [Reaction::default(); 2];
    tissue.edit(&cut).expect("can");
    assert!(tissue.elements().link_count() < links);
    tissue.step(&[away], 1e-3, &mut felt);
    assert_eq!(tissue.elements().link_count(), links, "they fit");
    // strained under a finger, cut, and relaxed: they do not
    let finger = ball(Vec3::new(3e-3, 0.0, 3e-3), 5e-3);
    tissue.edit(&cut).expect("can");
    for _ in 0..200 {
        tissue.step(&[finger], 1e-3, &mut felt);
    }
    let mut poor = tissue.clone();
    let (elements, surgery) = (&mut poor.elements, &mut poor.surgery);
    surgery.join_within(elements, away.position_m, 2e-2, 0.0);
    let open = links - poor.elements().link_count();
    assert!(open > 0, "what costs is not made where nothing was lost");
    // a hand that works at it has it joined in the end, and pays
    for k in 0..2000 {
        let mut tool = finger;
        tool.position_m.z += 2e-3 * f64::from(k % 40 - 20).abs() / 20.0 - 2e-3;
        tissue.step(&[tool, away], 1e-3, &mut felt);
        let books = tissue.ledger();
        assert!(books.dissipated_j >= -1e-15, "{books:?}");
        assert!(out_j(&tissue).abs() < 1e-12);
    }
    assert!(links - tissue.elements().link_count() < open);
}

/// A curette whose ball is this wide.
fn curette(at_m: Vec3, radius_m: f64) -> Tool {
    Tool {
        stiffness_npm: 3000.0,
        instrument: Instrument::Curette,
        ..ball(at_m, radius_m)
    }
}

/// Row CL-02: a curette pays for the wall of the channel that it leaves, at any angle; where nothing is left, nothing.
#[test]
fn cl_02_a_curette_pays_for_the_wall_that_it_leaves() {
    for (angle, radius_m) in [(0.0, 3.2e-3), (0.4, 3.2e-3), (0.79, 3.2e-3), (0.3, 4.4e-3)] {
        let mut tissue = slab([33, 33, 14], vec![tough(TOUGH_JPM2)], |_| 0);
        let along = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0);
        let middle = Vec3::new(0.0, 0.0, -6.6e-3);
        let mut tool = curette(middle - along * 30e-3, radius_m);
        let mut felt = [Reaction::default()];
        tissue.step(&[tool], 1e-3, &mut felt);
        let paid = lead(&mut tissue, &mut tool, middle + along * 30e-3);
        let long_m = 33.0 * H_M / along.x.max(along.y);
        let due_j = TOUGH_JPM2 * std::f64::consts::TAU * radius_m * long_m;
        let books = tissue.ledger();
        println!("{angle} {radius_m}: {paid:?} due {due_j} {books:?}");
        assert!(
            (paid.work_j / due_j - 1.0).abs() < 0.12,
            "{angle}: {paid:?} {due_j}"
        );
        assert!(
            (books.tool_work_j / paid.work_j - 1.0).abs() < 1e-3,
            "{books:?}"
        );
        assert!(
            (books.dissipated_j / paid.work_j - 1.0).abs() < 0.02,
            "{books:?}"
        );
        let plain_n = TOUGH_JPM2 * std::f64::consts::TAU * radius_m;
        assert!(
            (0.9..1.4).contains(&(paid.most_n / plain_n)),
            "{angle}: {paid:?} {plain_n}"
        );
        assert!(paid.jump_n < 0.15 * plain_n, "{angle}: {paid:?}");
        let back = lead(&mut tissue, &mut tool, middle - along * 30e-3);
        assert!(back.most_n < 0.02 * plain_n, "{angle}: {back:?}");
    }
}

/// Row CL-02: and more of a tough inclusion, as much as it is tougher; what costs nothing is not felt.
#[test]
fn cl_02_a_curette_feels_a_tough_inclusion() {
    let of = |[x, _, _]: [i32; 3]| u8::from((12..22).contains(&x));
    let matters = vec![tough(TOUGH_JPM2), tough(5.0 * TOUGH_JPM2)];
    let mut tissue = slab([33, 15, 14], matters, of);
    let mut tool = curette(Vec3::new(-24e-3, 0.2e-3, -6.6e-3), 3e-3);
    let mut felt = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut felt);
    let mut at = |x_m| lead(&mut tissue, &mut tool, Vec3::new(x_m, 0.2e-3, -6.6e-3));
    at(-13e-3);
    let soft = at(-11e-3);
    at(-1e-3);
    let hard = at(1e-3);
    assert!(
        (hard.work_j / soft.work_j - 5.0).abs() < 0.2,
        "{soft:?} {hard:?}"
    );
    let mut free = slab([13, 13, 8], vec![tough(0.0)], |_| 0);
    let mut tool = curette(Vec3::new(-12e-3, 0.0, -2e-3), 2e-3);
    let paid = lead(&mut free, &mut tool, Vec3::new(12e-3, 0.0, -2e-3));
    assert!(paid.most_n < 1e-9 && paid.links > 100, "{paid:?}");
}

/// The stiffness of a tool that is held in tissue may change at any time: nothing is gained by it.
#[test]
fn cl_02_a_held_blade_whose_stiffness_changes_gives_no_energy() {
    let mut draw = Draw::new(9);
    for of in [0.0, 2e-3] {
        let mut tissue = slab([15, 15, 8], vec![tough(TOUGH_JPM2)], |_| 0);
        let mut tool = if of > 0.0 {
            curette(Vec3::new(-12e-3, 0.3e-3, -3e-3), of)
        } else {
            scalpel(Vec3::new(-12e-3, 0.3e-3, 1e-3), Vec3::new(0.0, 0.0, -6e-3))
        };
        let (mut felt, mut lost_j, mut most_n) = ([Reaction::default()], 0.0, 0.0_f64);
        for tick in 0..600 {
            tool.position_m.x += if tick % 7 < 5 { 4e-5 } else { -3e-5 };
            tool.stiffness_npm = 3000.0 * (0.1 + draw.share());
            tissue.step(&[tool], 1e-3, &mut felt);
            let books = tissue.ledger();
            assert!(out_j(&tissue).abs() < 1e-12, "{books:?}");
            assert!(
                books.dissipated_j >= lost_j - 1e-12,
                "tick {tick}: {books:?}"
            );
            lost_j = books.dissipated_j;
            most_n = most_n.max(felt[0].force_n.norm());
        }
        assert!(most_n > 0.1 && most_n < 10.0, "{of}: {most_n}");
    }
}

/// What was left by rounding of a leap of metres was held as if the tool were that far, and booked as work that it gave.
#[test]
fn issue_a_curette_that_leapt_was_given_energy_by_rounding() {
    for radius_m in [0.4e-3, 2e-3] {
        let mut tissue = slab([9, 8, 6], vec![tough(0.0)], |_| 0);
        let mut felt = [Reaction::default()];
        let mut draw = Draw::new(5);
        for _ in 0..200 {
            let far = Vec3::new(draw.around(3e-3), 50.0, draw.around(5e-3));
            let near = Vec3::new(draw.around(5e-3), draw.around(5e-3), draw.around(5e-3));
            for at_m in [far, near] {
                tissue.step(&[curette(at_m, radius_m)], 1e-3, &mut felt);
            }
        }
        let books = tissue.ledger();
        assert!(books.tool_work_j >= 0.0, "{books:?}");
        assert!(books.dissipated_j >= 0.0, "{books:?}");
    }
}
