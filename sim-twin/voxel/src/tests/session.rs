//! A scripted session through the interface of a tissue (row TP-11).

use super::matter;
use super::operate::out_j;
use super::press::{ball, slab};
use crate::Linked;
use crate::limits::Limits;
use crate::matter::Matter;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};

/// Leads a tool straight in so many steps; the last reaction, and the changes of all.
fn lead(tissue: &mut Linked, tool: &mut Tool, to_m: Vec3, steps: u32) -> (Reaction, usize) {
    let way_m = (to_m - tool.position_m) / f64::from(steps);
    let (mut felt, mut changes) = ([Reaction::default()], 0);
    for _ in 0..steps {
        tool.position_m += way_m;
        tissue.step(&[*tool], 1e-3, &mut felt);
        changes += tissue.view().changes.len();
        assert!(tissue.elements().worst_m() < 1e-8);
        assert!(out_j(tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
    (felt[0], changes)
}

/// Row TP-11: press, deform, carve a pit, press again in the pit, on a block of 20 elements a side.
#[test]
fn tp_11_a_block_is_pressed_carved_and_pressed_in_its_pit() {
    let wide = Matter {
        limits: Limits::even(0.05, 6.0, 6.0),
        ..matter(Limits::LOOSE)
    };
    let mut tissue = slab([20; 3], vec![wide], |_| 0);
    let count = tissue.elements().count();
    let mut finger = ball(Vec3::new(0.0, 0.0, 3.2e-3), 3e-3);
    let (first, _) = lead(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, 1.5e-3), 200);
    assert!(first.force_n.z > 1e-3, "{first:?}");
    lead(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, 8e-3), 200);
    let mut curette = ball(Vec3::new(0.0, 0.0, 8e-3), 3e-3);
    curette.instrument = Instrument::Curette;
    let (_, carved) = lead(&mut tissue, &mut curette, Vec3::new(0.0, 0.0, -2e-3), 200);
    lead(&mut tissue, &mut curette, Vec3::new(0.0, 0.0, 8e-3), 100);
    let gone = count - tissue.elements().count();
    // a hole as wide as the tool and five deep, of elements of a cubic millimetre
    assert!(
        (80..150).contains(&gone) && carved > 3 * gone,
        "{gone} {carved}"
    );
    let mut finger = ball(Vec3::new(0.0, 0.0, 8e-3), 2.4e-3);
    let (free, _) = lead(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, -1.5e-3), 300);
    assert!(
        free.force_n.norm() < 1e-6,
        "in the pit there is nothing: {free:?}"
    );
    let (again, _) = lead(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, -4e-3), 200);
    assert!(again.force_n.z > 1e-3, "its ground is felt: {again:?}");
    assert_eq!(tissue.elements().one_sided(), None);
}
