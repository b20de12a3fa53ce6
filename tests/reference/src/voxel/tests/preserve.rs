//! Volume that is kept, and what that costs.

use crate::voxel::bodies::{Judged as _, Printed as _};
use crate::voxel::bodies::{block, volume};
use crate::voxel::preserve::Preserve;
use crate::voxel::relax::{Relax, RelaxParams};
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::{Control, Exact};
use palpate_voxel::limits::Limits;

/// Volume over that at rest after a press of a block on a pinned ground by a plate, relaxed with and without
/// keeping volume.
fn pressed(depth: f64, keeps: bool) -> (f64, Elements<f64>) {
    let mut elements: Elements<f64> = block([12, 12, 8], Limits::LOOSE);
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == 0);
    }
    let preserve = Preserve::new(&elements, 1.0).expect("fit");
    assert_eq!(preserve.count(), 11 * 11 * 7);
    let rest_m3 = preserve.volume_m3(&elements);
    assert!((rest_m3 - 11.0 * 11.0 * 7.0).abs() < 1e-9);
    let plate: Vec<u32> = (0..elements.slots())
        .filter(|&e| {
            let [x, y, z] = elements.site(e);
            z == 7 && (3..9).contains(&x) && (3..9).contains(&y)
        })
        .collect();
    let mut exact = Exact::new(elements.slots());
    let mut relax = Relax::new(RelaxParams::default(), &elements).expect("fit");
    for step in 1..=20 {
        let controls: Vec<_> = plate
            .iter()
            .map(|&element| Control {
                element,
                to_m: [0.0, 0.0, -depth * f64::from(step) / 20.0],
            })
            .collect();
        exact.propagate(&mut elements, &controls).expect("within");
        for _ in 0..10 {
            relax.sweep(&mut elements, &plate);
            for _ in 0..if keeps { 8 } else { 0 } {
                preserve.sweep(&mut elements, &plate);
            }
            assert!(elements.worst_m() <= 1e-9, "a limit is broken");
        }
    }
    (preserve.volume_m3(&elements) / rest_m3, elements)
}

/// Row FU-02: a pressed block keeps its volume to 2 %, better than without, and all its limits; it bulges.
#[test]
fn fu_02_a_pressed_block_keeps_its_volume() {
    let (without, flat) = pressed(1.5, false);
    let (with, bulged) = pressed(1.5, true);
    assert!((with - 1.0).abs() < 0.02, "{with}");
    assert!(
        (with - 1.0).abs() < 0.5 * (without - 1.0).abs(),
        "{without}"
    );
    let side = |elements: &Elements<f64>| {
        let element = elements.at_site([0, 6, 4]).expect("there");
        elements.moved_m(element)[0]
    };
    assert!(side(&bulged) < side(&flat) - 0.01, "{}", side(&bulged));
}

/// Row FU-02: rest stays as it is, held elements stay, and cells are only whole ones.
#[test]
fn fu_02_nothing_moves_at_rest_nor_where_held() {
    let mut elements: Elements<f64> = volume([4; 3], &[Limits::MEDIUM], |_| true, |_| 0);
    let before = elements.clone();
    let preserve = Preserve::new(&elements, 0.5).expect("fit");
    preserve.sweep(&mut elements, &[]);
    let still = (0..elements.slots()).all(|e| {
        let way = elements.moved_m(e);
        way.iter().all(|x| x.abs() < 1e-14)
    });
    assert!(still && preserve.count() == 27);
    let mut elements = before;
    let middle = elements.at_site([1, 1, 1]).expect("there");
    elements.moved_m[0][middle as usize] = 0.15;
    let all: Vec<u32> = (0..elements.slots()).collect();
    let moved = elements.clone();
    preserve.sweep(&mut elements, &all);
    assert!(elements == moved);
    elements.carve(middle);
    assert_eq!(Preserve::new(&elements, 0.5).expect("fit").count(), 27 - 8);
    for bad in [0.0, 1.5, f64::NAN] {
        assert!(Preserve::new(&elements, bad).is_err());
    }
}
