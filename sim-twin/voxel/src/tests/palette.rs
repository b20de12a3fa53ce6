//! The six tools of a palette on a sheet (row TP-08), each by what must be so after it.

use super::matter;
use super::operate::out_j;
use super::press::{ball, slab};
use crate::Linked;
use crate::limits::Limits;
use palpate_twin::{Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

/// A sheet in x and z that stands on its held lowest row, 1 mm a side of an element, its top at z = 0.
const SIZE: [i32; 3] = [21, 1, 12];
/// Between these two rows it is cut, and how high that is \[m\].
const CUT: [i32; 2] = [7, 8];
const CUT_Z_M: f64 = -3.5e-3;

/// Leads a tool straight in so many ticks, and stays for so many.
fn lead(tissue: &mut Linked, tool: &mut Tool, to_m: Vec3, ticks: [u32; 2]) {
    let (from_m, mut felt) = (tool.position_m, [Reaction::default()]);
    for tick in 1..=ticks[0] + ticks[1] {
        let share = (f64::from(tick) / f64::from(ticks[0])).min(1.0);
        tool.position_m = from_m + (to_m - from_m) * share;
        tissue.step(&[*tool], 1e-3, &mut felt);
        assert!(out_j(tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
}

/// The palette: another tool for the same hand, at a place.
fn take(tissue: &mut Linked, instrument: Instrument, radius_m: f64, at_m: Vec3) -> Tool {
    let tool = Tool {
        instrument,
        ..ball(at_m, radius_m)
    };
    tissue.step(&[tool], 1e-3, &mut [Reaction::default()]);
    tool
}

/// Forceps that close on what is around a place.
fn grasp(tissue: &mut Linked, at_m: Vec3) -> Tool {
    let jaws = |closed| {
        Some(Jaws {
            opening_m: 3e-3,
            opening_velocity_mps: 0.0,
            closed,
        })
    };
    let mut tool = Tool {
        jaws: jaws(false),
        ..ball(at_m, 0.6e-3)
    };
    let mut felt = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut felt);
    tool.jaws = jaws(true);
    tissue.step(&[tool], 1e-3, &mut felt);
    assert!(felt[0].contacts > 1, "{felt:?}");
    tool
}

fn moved_m(tissue: &Linked, site: [i32; 3]) -> Vec3 {
    let element = tissue.elements().at_site(site).expect("there");
    Vec3::from(tissue.elements().moved_m(element).map(f64::from))
}

/// Sites of rows from one to another.
fn sites(rows: [i32; 2]) -> impl Iterator<Item = [i32; 3]> {
    (rows[0]..=rows[1]).flat_map(|z| (0..SIZE[0]).map(move |x| [x, 0, z]))
}

fn cut(tissue: &mut Linked) {
    let before = tissue.elements().link_count();
    let edge_m = Vec3::new(0.0, 6e-3, 0.0);
    let from_m = Vec3::new(-14e-3, -3e-3, CUT_Z_M);
    let mut blade = take(tissue, Instrument::Scalpel { edge_m }, 1e-5, from_m);
    lead(tissue, &mut blade, from_m + Vec3::x() * 28e-3, [400, 0]);
    // all links across and no other
    assert_eq!(before - tissue.elements().link_count(), 21);
    assert_eq!(tissue.surgery.watch.pieces.live.len(), 2);
}

fn translate(tissue: &mut Linked) {
    let (from_m, by_m) = (Vec3::zeros(), Vec3::new(2e-3, 0.0, 3e-3));
    let mut tool = grasp(tissue, from_m);
    let piece = || sites([CUT[1], SIZE[2] - 1]);
    // the ball between the jaws holds what they have a little lower
    lead(tissue, &mut tool, from_m, [1, 2500]);
    let were_m: Vec<Vec3> = piece().map(|site| moved_m(tissue, site)).collect();
    lead(tissue, &mut tool, from_m + by_m, [300, 2500]);
    for (site, was_m) in piece().zip(were_m) {
        let off_m = (moved_m(tissue, site) - was_m - by_m).norm();
        assert!(off_m < 1e-6, "{site:?}: {off_m}");
    }
    for site in sites([0, CUT[0]]) {
        assert!(moved_m(tissue, site).norm() < 1e-6, "{site:?} went along");
    }
    // and back to where it was
    lead(tissue, &mut tool, from_m, [300, 2500]);
}

fn glue(tissue: &mut Linked) {
    let before = tissue.elements().link_count();
    let at_m = Vec3::new(0.0, 0.0, CUT_Z_M);
    take(tissue, Instrument::Glue { reach_m: 3e-2 }, 1e-4, at_m);
    assert_eq!(tissue.elements().link_count() - before, 21);
    assert_eq!(tissue.surgery.watch.pieces.live.len(), 1);
}

fn deform(tissue: &mut Linked) {
    let mut tool = grasp(tissue, Vec3::zeros());
    lead(tissue, &mut tool, Vec3::z() * 3e-3, [300, 1500]);
    let rows: Vec<f64> = (0..SIZE[2])
        .map(|z| moved_m(tissue, [10, 0, z]).z)
        .collect();
    assert!(rows[11] > 2.2e-3 && rows[0] == 0.0, "{rows:?}");
    // across what was glued too
    assert!(rows.windows(2).all(|pair| pair[1] > pair[0]), "{rows:?}");
    assert!(moved_m(tissue, [0, 0, 11]).z < 0.9 * rows[11]);
    assert!(tissue.elements().worst_m() < 1e-8);
    tool.jaws.as_mut().expect("jaws").closed = false;
    let here_m = tool.position_m;
    lead(tissue, &mut tool, here_m, [1, 3000]);
    let left_m = moved_m(tissue, [10, 0, 10]).norm();
    assert!(left_m < 0.05 * 3e-3, "it comes back: {left_m}");
}

fn tack(tissue: &mut Linked) {
    let held_m = Vec3::new(5e-3, 0.0, -1e-3);
    take(tissue, Instrument::Tack, 0.4e-3, held_m);
    let element = tissue.elements().at_site([15, 0, 10]).expect("there");
    assert!(tissue.elements().pinned(element));
    let before_m = tissue.elements().moved_m(element);
    let pull = |tissue: &mut Linked| {
        let mut tool = grasp(tissue, Vec3::new(2e-3, 0.0, 0.0));
        lead(tissue, &mut tool, Vec3::new(2e-3, 0.0, 3e-3), [300, 500]);
        let there_m = tissue.elements().moved_m(element);
        lead(tissue, &mut tool, Vec3::new(2e-3, 0.0, 0.0), [300, 1500]);
        there_m
    };
    assert_eq!(pull(tissue), before_m, "it is held under any drag");
    take(tissue, Instrument::Untack, 0.4e-3, held_m);
    assert!(!tissue.elements().pinned(element));
    assert!(pull(tissue)[2] > before_m[2] + 2e-4, "it goes along");
}

fn erase(tissue: &mut Linked) {
    let from_m = Vec3::new(-8e-3, 0.0, 4e-3);
    let radius_m = 1.7e-3;
    let before: Vec<(u32, Vec3)> = (0..tissue.elements().slots())
        .filter(|&e| tissue.elements().alive(e))
        .map(|e| (e, tissue.elements().at_m(e)))
        .collect();
    let mut spoon = take(tissue, Instrument::Curette, radius_m, from_m);
    lead(tissue, &mut spoon, from_m - Vec3::z() * 6e-3, [300, 0]);
    let mut gone = 0;
    for (element, at_m) in before {
        // below the lowest place it is a ball
        let off_m = Vec3::new(at_m.x - from_m.x, at_m.y, (at_m.z + 2e-3).min(0.0));
        let taken = !tissue.elements().alive(element);
        assert_eq!(taken, off_m.norm() <= radius_m, "{at_m}");
        gone += i32::from(taken);
    }
    assert!(gone > 5, "{gone}");
    assert_eq!(tissue.elements().one_sided(), None);
}

/// Row TP-08: cut, move, glue, grasp and move, tack and erase in one session by one hand that takes one after another.
#[test]
fn tp_08_six_tools_of_a_palette_do_what_they_are_for() {
    let soft = crate::matter::Matter {
        toughness_jpm2: 0.0,
        ..matter(Limits::LOOSE)
    };
    let mut tissue = slab(SIZE, vec![soft], |_| 0);
    for work in [cut, translate, glue, deform, tack, erase] {
        work(&mut tissue);
    }
}
