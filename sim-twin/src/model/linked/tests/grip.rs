//! What rubs, what jaws hold, what tears of it, and what is held by a tack.

use super::matter;
use super::operate::out_j;
use super::press::{ball, slab};
use crate::model::linked::limits::Limits;
use crate::model::linked::links::Links;
use crate::model::linked::{Linked, LinkedParams};
use crate::{Edit, Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

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

/// Coulomb: what rubs is the coefficient times what presses, against the way, and none of it without.
#[test]
fn fu_10_a_finger_that_slides_is_rubbed_by_coulombs_law() {
    for friction in [0.0, FRICTION] {
        let mut tissue = with(LinkedParams {
            friction,
            ..LinkedParams::default()
        });
        let mut finger = ball(Vec3::new(-5e-3, 0.0, 5e-3), 5e-3);
        lead(&mut tissue, &mut finger, Vec3::new(-5e-3, 0.0, 4e-3));
        rest(&mut tissue, &finger, 200);
        let (paid_j, felt) = lead(&mut tissue, &mut finger, Vec3::new(5e-3, 0.0, 4e-3));
        let books = tissue.ledger();
        println!("{friction} {paid_j} {felt:?} {books:?}");
    }
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

#[test]
fn tp_05_forceps_pull_what_they_close_on() {
    for tears in [false, true] {
        let mut tissue = with(LinkedParams {
            tears,
            ..LinkedParams::default()
        });
        let mut tool = forceps(Vec3::new(0.0, 0.0, 1e-3), false);
        rest(&mut tissue, &tool, 50);
        tool.jaws = forceps(Vec3::zeros(), true).jaws;
        let felt = rest(&mut tissue, &tool, 50);
        println!("closed {felt:?}");
        for k in 1..=12 {
            let (paid_j, felt) = lead(
                &mut tissue,
                &mut tool,
                Vec3::new(0.0, 0.0, 1e-3 + 2e-3 * f64::from(k)),
            );
            println!(
                "{tears} {k} {paid_j} {:?} {} {} links {} {:?}",
                felt.force_n,
                felt.grip_n,
                felt.contacts,
                tissue.elements().link_count(),
                tissue.ledger()
            );
        }
    }
}
