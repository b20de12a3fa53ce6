//! What rubs, what jaws hold, what tears of it, and what is held by a tack.

use super::operate::out_j;
use super::press::{ball, slab};
use super::{Draw, matter};
use crate::cling::Cling;
use crate::limits::Limits;
use crate::{Linked, LinkedParams};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

fn with(params: LinkedParams) -> Linked {
    let elements = slab([25, 21, 10], vec![matter(Limits::LOOSE)], |_| 0)
        .elements()
        .clone();
    Linked::new(elements, params).expect("fit")
}

/// Leads a tool straight; what the hand paid \[J\] and the last reaction.
fn lead(tissue: &mut Linked, tool: &mut Tool, to_m: Vec3) -> (f64, Reaction) {
    let way_m = to_m - tool.position_m;
    let count = (way_m.norm() / 2e-5).ceil().max(1.0);
    let mut felt = [Reaction::default()];
    let mut paid_j = 0.0;
    for _ in 0..count as usize {
        tool.position_m += way_m / count;
        tissue.step(&[*tool], 1e-3, &mut felt);
        paid_j -= felt[0].force_n.dot(&way_m) / count;
        assert!(out_j(tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
    (paid_j, felt[0])
}

fn rest(tissue: &mut Linked, tool: &Tool, ticks: usize) -> Reaction {
    let mut felt = [Reaction::default()];
    for _ in 0..ticks {
        tissue.step(&[*tool], 1e-3, &mut felt);
    }
    felt[0]
}

const FRICTION: f64 = 0.3;

/// Coulomb, element by element: no more than the coefficient times what presses it, against the way; and nothing
/// without.
#[test]
fn fu_10_a_finger_that_slides_is_rubbed_by_coulombs_law() {
    let mut rubbed_n = Vec::new();
    for friction in [0.0, FRICTION] {
        let mut tissue = with(LinkedParams {
            friction,
            ..LinkedParams::default()
        });
        let start_m = Vec3::new(-5e-3, 0.0, 4e-3);
        let mut finger = ball(start_m + Vec3::z() * 1e-3, 5e-3);
        let (down_j, _) = lead(&mut tissue, &mut finger, start_m);
        rest(&mut tissue, &finger, 200);
        let (paid_j, felt) = lead(&mut tissue, &mut finger, start_m + Vec3::x() * 1e-2);
        rubbed_n.push((-felt.force_n.x, felt.force_n.z));
        let (back_j, _) = lead(&mut tissue, &mut finger, start_m);
        let (up_j, _) = lead(&mut tissue, &mut finger, start_m + Vec3::z() * 1e-3);
        assert!(down_j + paid_j + back_j + up_j > 0.0);
        // some are pressed to their cone, none beyond
        lead(&mut tissue, &mut finger, start_m);
        lead(&mut tissue, &mut finger, start_m + Vec3::x() * 1e-2);
        let pull = |cling: &Cling| {
            let rod = tissue.contact.rods[cling.tool].expect("there");
            let at_m = tissue.elements().at_m(cling.element);
            let bears_m = friction * rod.depth_m(&at_m).0;
            cling.grip(&rod).stretch_m(&at_m).norm() / bears_m
        };
        let pulls: Vec<f64> = tissue.contact.clings.iter().map(pull).collect();
        assert_eq!(pulls.is_empty(), friction == 0.0);
        assert!(pulls.iter().all(|&pull| pull <= 1.0 + 1e-9), "{pulls:?}");
        let slides = pulls.iter().filter(|&&pull| pull > 0.99).count();
        assert!(2 * slides >= pulls.len(), "{pulls:?}");
    }
    let [(plain_n, _), (rough_n, pressed_n)] = rubbed_n[..] else {
        panic!("two")
    };
    assert!(plain_n.abs() < 0.01 * pressed_n, "{rubbed_n:?}");
    // what is pushed up ahead of the finger is in its way too
    assert!(
        (1.0..2.5).contains(&(rough_n / (FRICTION * pressed_n))),
        "{rubbed_n:?}"
    );
}

fn forceps(at_m: Vec3, closed: bool) -> Tool {
    Tool {
        jaws: Some(Jaws {
            opening_m: 3e-3,
            opening_velocity_mps: 0.0,
            closed,
        }),
        ..ball(at_m, 1.6e-3)
    }
}

/// Rows TP-05 and TP-09: what jaws hold comes along, and slips in them where all links are at their limits, or is torn
/// out; what is pinned stays where it is under any of it.
#[test]
fn tp_05_tp_09_forceps_pull_what_they_close_on() {
    for tears in [false, true] {
        let mut tissue = with(LinkedParams {
            tears,
            ..LinkedParams::default()
        });
        let links = tissue.elements().link_count();
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 50);
        tool.jaws = forceps(start_m, true).jaws;
        assert!(rest(&mut tissue, &tool, 50).contacts > 10);
        let held: Vec<u32> = tissue
            .contact
            .clings
            .iter()
            .map(|cling| cling.element)
            .collect();
        let (paid_j, felt) = lead(&mut tissue, &mut tool, start_m + Vec3::z() * 6e-3);
        assert!(felt.force_n.z < -0.05 && paid_j > 0.0, "{felt:?}");
        for &element in &held {
            assert!(tissue.elements().at_m(element).z > 4e-3, "{element} stayed");
        }
        assert_eq!(tissue.elements().link_count(), links);
        lead(&mut tissue, &mut tool, start_m + Vec3::z() * 20e-3);
        let (_, felt) = lead(&mut tissue, &mut tool, start_m + Vec3::z() * 24e-3);
        let torn = links - tissue.elements().link_count();
        if tears {
            assert!(torn > 10 && felt.force_n.norm() < 1e-3, "{torn} {felt:?}");
            assert!(tissue.surgery.watch.pieces.live.len() > 1);
        } else {
            // each slips in the jaws beyond a spacing
            let most_n = 300.0 * 1e-3 * f64::from(felt.contacts);
            let pulled = (0.9 * most_n..1.001 * most_n).contains(&-felt.force_n.z);
            assert!(torn == 0 && pulled, "{torn} {felt:?}");
        }
        assert!(tissue.elements().worst_m() < 1e-8);
        let pinned = |e: &u32| tissue.elements().pinned(*e);
        let pinned: Vec<u32> = (0..tissue.elements().slots()).filter(pinned).collect();
        assert_eq!(pinned.len(), 25 * 21);
        for element in pinned {
            assert_eq!(tissue.elements().moved_m(element), [0.0; 3]);
        }
        tool.jaws = forceps(start_m, false).jaws;
        let felt = rest(&mut tissue, &tool, 2);
        assert!(
            felt.force_n.norm() < 1e-3 && tissue.contact.clings.is_empty(),
            "{felt:?}"
        );
        assert!(out_j(&tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
}

/// Coupling of smooth jaws to what they hold.
const JAWS: f64 = 0.4;

fn smooth() -> LinkedParams {
    LinkedParams {
        jaw_friction: Some(JAWS),
        ..LinkedParams::default()
    }
}

/// Opens or closes jaws to a width in steps, and lets the tissue come to rest.
fn squeeze(tissue: &mut Linked, tool: &mut Tool, opening_m: f64) -> Reaction {
    let from_m = tool.jaws.expect("jaws").opening_m;
    for step in 1..=100 {
        let jaws = tool.jaws.as_mut().expect("jaws");
        jaws.opening_m = from_m + (opening_m - from_m) * f64::from(step) / 100.0;
        rest(tissue, tool, 1);
    }
    rest(tissue, tool, 300)
}

/// What ties pull across the jaws, beside what the ball between them presses \[N\].
fn pull_n(tissue: &Linked) -> f64 {
    let ties = tissue.contact.clings.iter().filter(|cling| cling.grasped());
    let across = ties.map(|cling| {
        let rod = tissue.contact.rods[cling.tool].expect("there");
        let at_m = tissue.elements().at_m(cling.element);
        let r = cling.grip(&rod).stretch_m(&at_m);
        Vec3::new(0.0, r.y, r.z) * rod.stiffness_npm
    });
    across.sum::<Vec3>().norm()
}

/// Row S4-P12 on a thick slab, whose elements pull in several directions, so that some slip before others: what is left when
/// jaws are dragged off is what twice their coefficient times their grip holds, never more, and less the wider they open.
#[test]
fn s4_p12_smooth_forceps_hold_no_pull_beyond_their_friction_on_both_sides() {
    for squeezed_m in [1.2e-3, 2.0e-3] {
        let mut tissue = with(smooth());
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 50);
        tool.jaws = forceps(start_m, true).jaws;
        rest(&mut tissue, &tool, 50);
        let before = squeeze(&mut tissue, &mut tool, 3e-3 - squeezed_m);
        assert!(before.grip_n > 1e-3, "{before:?}");
        let mut shares = Vec::new();
        for step in 1..=160 {
            lead(
                &mut tissue,
                &mut tool,
                start_m + Vec3::y() * (5e-5 * f64::from(step)),
            );
            let felt = rest(&mut tissue, &tool, 30);
            shares.push(pull_n(&tissue) / (2.0 * JAWS * felt.grip_n));
        }
        // never more than it, within the 5 % of the row
        assert!(shares.iter().all(|&share| share < 1.05), "{shares:?}");
        let most = shares.iter().copied().fold(0.0, f64::max);
        assert!(most > 0.95, "{shares:?}");
        // opened again, their grip goes to nothing, and so does what they hold
        let (mut last_n, full_n) = (f64::MAX, pull_n(&tissue));
        for opening_m in [2.4e-3, 2.7e-3, 3.0e-3, 3.4e-3, 4.0e-3] {
            squeeze(&mut tissue, &mut tool, opening_m);
            let now_n = pull_n(&tissue);
            assert!(
                now_n <= last_n * (1.0 + 1e-9),
                "{opening_m}: {now_n} {last_n}"
            );
            last_n = now_n;
        }
        assert!(last_n < 0.02 * full_n, "{last_n} {full_n}");
        assert!(out_j(&tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
}

/// Row S4-P12 where the tissue is a fold that both jaws pull alike: it slips in them if and only if it pulls more than
/// twice the coefficient times the grip, however hard that is.
#[test]
fn s4_p12_a_fold_slips_if_and_only_if_it_pulls_more_than_friction_holds() {
    for squeezed_m in [1.0e-4, 2.0e-4, 3.5e-4] {
        let elements = slab([2, 1, 10], vec![matter(Limits::LOOSE)], |_| 0)
            .elements()
            .clone();
        let mut tissue = Linked::new(elements, smooth()).expect("fit");
        let mut tool = Tool {
            radius_m: 0.3e-3,
            ..forceps(Vec3::zeros(), true)
        };
        tool.jaws.as_mut().expect("jaws").opening_m = 1.2e-3;
        rest(&mut tissue, &tool, 10);
        assert_eq!(tissue.contact.clings.len(), 2, "the two at its top");
        squeeze(&mut tissue, &mut tool, 1.2e-3 - squeezed_m);
        let places = |tissue: &Linked| -> Vec<Vec3> {
            tissue
                .contact
                .clings
                .iter()
                .map(|cling| cling.arm_m)
                .collect()
        };
        let (mut held, mut slipped) = (0, 0);
        for step in 1..=200 {
            let was = places(&tissue);
            let from_m = tool.position_m.z;
            for part in 1..=10 {
                tool.position_m.z = from_m + 1e-6 * f64::from(part);
                rest(&mut tissue, &tool, 1);
            }
            let felt = rest(&mut tissue, &tool, 60);
            let share = pull_n(&tissue) / (2.0 * JAWS * felt.grip_n);
            let moved_m = was.iter().zip(places(&tissue)).map(|(a, b)| (a - b).norm());
            let slips = moved_m.fold(0.0, f64::max) > 1e-9;
            // within the 5 % of the row
            assert!(share < 1.05, "{step}: {share}, and it holds");
            assert!(!slips || share > 0.95, "{step}: {share}, and it slips");
            (held, slipped) = (held + i32::from(!slips), slipped + i32::from(slips));
        }
        assert!(held > 5 && slipped > 5, "{held} {slipped}");
    }
}

/// A grip that goes anywhere and comes back has not been paid by the tissue.
#[test]
fn tp_05_no_closed_motion_of_jaws_gives_energy() {
    let mut draw = Draw::new(21);
    for round in 0..6 {
        let mut tissue = with(LinkedParams {
            friction: 0.5 * draw.share(),
            tears: round % 2 == 0,
            ..LinkedParams::default()
        });
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 20);
        tool.jaws = forceps(start_m, true).jaws;
        let mut paid_j = 0.0;
        for _ in 0..6 {
            let way = Vec3::new(draw.around(4e-3), draw.around(4e-3), 8e-3 * draw.share());
            paid_j += lead(&mut tissue, &mut tool, start_m + way).0;
        }
        paid_j += lead(&mut tissue, &mut tool, start_m).0;
        assert!(paid_j > 0.0, "round {round}: {paid_j}");
    }
}

/// Row TP-09: what a tack holds does not move under any drag, is felt as it was, and goes on when let go.
#[test]
fn tp_09_what_is_tacked_stays_and_is_felt() {
    let mut tissue = with(LinkedParams::default());
    let mut tool = ball(Vec3::new(0.0, 0.0, 3e-3), 5e-3);
    let before = rest(&mut tissue, &tool, 200);
    tool.instrument = Instrument::Tack;
    let after = rest(&mut tissue, &tool, 1);
    let jump_n = (after.force_n - before.force_n).norm();
    assert!(
        jump_n < 0.01 * before.force_n.norm(),
        "{before:?} {after:?}"
    );
    tool.instrument = Instrument::Blunt;
    let places: Vec<_> = (0..tissue.elements().slots())
        .filter(|&e| tissue.elements().pinned(e))
        .map(|e| (e, tissue.elements().moved_m(e)))
        .collect();
    assert!(places.len() > 25 * 21 + 10);
    let harder = lead(&mut tissue, &mut tool, Vec3::new(1e-3, 0.0, 2e-3)).1;
    assert!(harder.force_n.z > before.force_n.z);
    for &(element, moved_m) in &places {
        assert_eq!(tissue.elements().moved_m(element), moved_m);
    }
    tissue.edit(&Edit::Undo).expect("can");
    let freed = rest(&mut tissue, &tool, 300);
    assert!(
        freed.force_n.z < 0.5 * harder.force_n.z,
        "{freed:?} {harder:?}"
    );
}
