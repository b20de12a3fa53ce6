//! Elements held and dragged through a volume (row DF-13), and what that looks at (DF-14).

use crate::voxel::bodies::{Draw, Judged as _, Printed as _, block, ground, volume};
use crate::voxel::chain::{Chain, Lists};
use crate::voxel::drag::Drag;
use crate::voxel::propagation::Propagation;
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;

/// Energy of all links \[J\].
fn stored_j(elements: &Elements<f32>) -> f64 {
    let all = (0..elements.slots()).flat_map(|e| Direction::UP.map(|to| (e, to)));
    let of = |(element, to): (u32, Direction)| {
        let other = elements.neighbour(element, to)?;
        let (own, beside) = (elements.moved_m(element), elements.moved_m(other));
        let apart2: f32 = own.iter().zip(beside).map(|(a, b)| (b - a) * (b - a)).sum();
        let stiffness_npm = elements.stiffness_npm(element, other, to.axis());
        Some(0.5 * f64::from(stiffness_npm) * f64::from(apart2))
    };
    all.filter_map(of).sum()
}

/// Row DF-13: an element is dragged about; all limits are kept, and let go it comes to rest. How many updates a second
/// that makes is in `cargo bench -p palpate-reference`.
#[test]
fn df_13_what_is_grabbed_drags_the_rest_along() {
    let mut elements: Elements<f32> = block([20; 3], Limits::MEDIUM);
    ground(&mut elements);
    let element = elements.at_site([10, 10, 19]).expect("there");
    let beside = elements.at_site([10, 10, 18]).expect("there");
    let mut drag = Drag::new(elements, Propagation::Exact).expect("fixed");
    let mut draw = Draw::new(4);
    let (mut at_m, mut farthest_m) = ([0.0_f32; 3], 0.0_f32);
    for _ in 0..200 {
        at_m = at_m.map(|x| (x + draw.around(1.0) as f32).clamp(-3.0, 3.0));
        let moved = drag.to(&[Control {
            element,
            to_m: at_m,
        }]);
        assert!(moved.expect("gives way").considered > 0);
        assert_eq!(drag.elements().moved_m(element), at_m);
        assert!(drag.elements().worst_m() <= 1e-5);
        farthest_m = farthest_m.max(drag.elements().moved_m(beside)[2].abs());
    }
    let before_j = stored_j(drag.elements());
    assert!(farthest_m > 1.0 && before_j > 0.0);
    for _ in 0..600 {
        drag.to(&[]).expect("nobody holds");
    }
    let after_j = stored_j(drag.elements());
    assert!(after_j < 0.01 * before_j, "{before_j} {after_j}");
    // what is pinned does not give, and nothing moved
    let at_m = drag.elements().moved_m(element);
    let far = Control {
        element,
        to_m: [0.0, 0.0, 30.0],
    };
    assert!(drag.to(&[far]).is_err());
    assert_eq!(drag.elements().moved_m(element), at_m);
}

/// Row DF-14 in counts, which no machine changes: a rigid sheet is looked at whole in every move, a loose one
/// by less the larger it is. Times are in `cargo bench -p palpate-reference`.
#[test]
fn df_14_a_rigid_sheet_is_looked_at_whole_and_a_loose_one_is_not() {
    let considered = |limits: Limits, edge: i32| {
        let mut sheet: Elements<f32> = volume([edge, edge, 1], &[limits], |_| true, |_| 0);
        let element = sheet.at_site([edge / 2, edge / 2, 0]).expect("there");
        let mut chain = Chain::new(sheet.slots(), Lists::Box);
        let mut seen = Vec::new();
        for nth in 1..=40 {
            // out along x and back along y, in steps of half a link
            let way = 0.5 * nth as f32;
            let to_m = [way.min(10.0), (way - 10.0).max(0.0), 0.0];
            let moved = chain.propagate(&mut sheet, &[Control { element, to_m }]);
            seen.push(moved.expect("nothing is held").considered);
        }
        seen
    };
    for edge in [10, 50, 100] {
        let all = (edge * edge - 1) as usize;
        assert!(
            considered(Limits::RIGID, edge)
                .iter()
                .all(|&seen| seen == all)
        );
    }
    let [small, large] =
        [50, 100].map(|edge| considered(Limits::LOOSE, edge).iter().sum::<usize>());
    assert!(
        small > 0 && large < 2 * small,
        "{small} {large}: four times the elements"
    );
}
