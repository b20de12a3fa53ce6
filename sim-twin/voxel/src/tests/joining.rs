//! Glue and tears.

use super::{Draw, block};
use crate::cells::Cells;
use crate::elements::Elements;
use crate::exact::{Control, Exact};
use crate::join::{Glue, may_join};
use crate::knife::{Blade, Sweep};
use crate::limits::Limits;
use crate::surgery::Surgery;
use crate::tear::{TearRule, Tearing};
use palpate_twin::Vec3;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;

const N: i32 = 8;

/// A block cut in two at x = 3.5, the right half moved as a whole.
fn halves(limits: Limits, by_m: [f64; 3]) -> (Elements<f64>, Surgery) {
    let mut elements: Elements<f64> = block([N, N, N], limits);
    let mut surgery = Surgery::new(&mut elements, 100_000);
    let edge = |z| Blade {
        from_m: Vec3::new(3.5, -9.0, z),
        to_m: Vec3::new(3.5, 20.0, z),
    };
    let sweep = Sweep {
        before: edge(20.0),
        after: edge(-9.0),
    };
    let done = surgery.cut(&mut elements, &sweep, f64::INFINITY);
    assert_eq!((done.links, done.pieces), (64, 1));
    for element in 0..elements.slots() {
        if elements.site(element)[0] > 3 {
            elements.place(element, by_m);
        }
    }
    surgery.follow_all(&elements);
    (elements, surgery)
}

/// About where all of it is \[m\]; it is within 40 m of there.
const MIDDLE_M: Vec3 = Vec3::new(4.0, 4.0, 4.0);

/// Row TP-06: facing cut faces within limits are joined, every pair of them, twice the same; then dragging one
/// moves the other. Beyond the limits nothing is joined.
#[test]
fn tp_06_faces_that_meet_are_joined() {
    for (by_m, can) in [
        ([0.15, -0.1, 0.19], true),
        ([-0.19, 0.0, 0.0], true),
        ([0.21, 0.0, 0.0], false),
        ([0.0, 0.21, 0.0], false),
        ([-0.21, 0.0, 0.0], false),
    ] {
        let (mut elements, mut surgery) = halves(Limits::MEDIUM, by_m);
        let (mut again, mut surgery_again) = (elements.clone(), surgery.clone());
        let done = surgery.join(&mut elements, MIDDLE_M, 40.0);
        surgery_again.join(&mut again, MIDDLE_M, 40.0);
        assert!(elements == again);
        assert_eq!(
            (done.links, done.refused),
            (if can { 64 } else { 0 }, 0),
            "{by_m:?}"
        );
        assert_eq!(surgery.watch.pieces.live.len(), if can { 1 } else { 2 });
        assert!(elements.worst_m() <= 1e-9);
        assert_eq!(elements.one_sided(), None);
        let corner = elements.at_site([0, 0, 0]).expect("there");
        let far = elements.at_site([7, 7, 7]).expect("there");
        let was = elements.moved_m(far)[0];
        let control = Control {
            element: corner,
            to_m: [-9.0, 0.0, 0.0],
        };
        let mut exact = Exact::new(elements.slots());
        exact
            .propagate(&mut elements, &[control])
            .expect("nothing is held");
        assert_eq!(elements.moved_m(far)[0] < was - 1.0, can);
    }
}

/// Row TP-06: only what the tool comes over is joined.
#[test]
fn tp_06_glue_works_where_the_tool_is() {
    let (mut elements, mut surgery) = halves(Limits::MEDIUM, [0.1, 0.0, 0.0]);
    let done = surgery.join(&mut elements, Vec3::new(3.0, 2.0, 2.0), 1.1);
    // the ball holds (3, 2, 2) and its four neighbours across
    assert_eq!((done.links, done.pieces), (5, 0));
    assert_eq!(surgery.watch.pieces.live.len(), 1);
    // one whose partner is beyond the ball
    let (mut elements, mut surgery) = halves(Limits::MEDIUM, [0.1, 0.0, 0.0]);
    let done = surgery.join(&mut elements, Vec3::new(3.0, 2.0, 2.0), 0.4);
    assert_eq!(done.links, 1);
}

/// Row TP-07: the partner is the nearest of all that may be, by search through every element; none is
/// joined beyond its limits.
#[test]
fn tp_07_the_partner_is_the_nearest_there_is() {
    let wide = Limits::even(0.3, 2.6, 1.4);
    let mut draw = Draw::new(3);
    let (mut pairs, mut none) = (0, 0);
    for _ in 0..30 {
        let by_m = [draw.around(0.8), draw.around(1.2), draw.around(1.2)];
        let (mut elements, _) = halves(wide, by_m);
        let mut exact = Exact::new(elements.slots());
        for _ in 0..10 {
            let element = draw.below(elements.slots());
            let to_m = elements.moved_m(element).map(|x| x + draw.around(1.5));
            exact
                .propagate(&mut elements, &[Control { element, to_m }])
                .expect("nothing is held");
        }
        let mut cells = Cells::new(&elements);
        let mut glue = Glue::new(&elements);
        glue.survey(&elements, &mut cells, &MIDDLE_M, 40.0);
        for element in 0..elements.slots() {
            for to in Direction::ALL {
                let from = (element, to);
                let both = [false, true].map(|by_cells| {
                    glue.by_cells = by_cells;
                    glue.partner(&elements, &mut cells, from.0, from.1)
                });
                let found = both[0];
                assert_eq!(found, both[1], "{from:?}");
                let mut expected_m = elements.at_m(element);
                expected_m[to.axis()] += if to.is_up() { 1.0 } else { -1.0 };
                let far2 = |other: u32| (elements.at_m(other) - expected_m).norm_squared();
                let eligible =
                    (0..elements.slots()).filter(|&o| may_join(&elements, element, to, o));
                let nearest = if elements.neighbour(element, to).is_some() {
                    None
                } else {
                    eligible.min_by(|&a, &b| far2(a).total_cmp(&far2(b)).then(a.cmp(&b)))
                };
                assert_eq!(found, nearest, "{from:?}");
                pairs += usize::from(found.is_some());
                none += usize::from(found.is_none());
            }
        }
    }
    assert!(pairs > 1000 && none > 1000, "{pairs} {none}");
}

/// Row TP-07: the search reaches as far as the limits do, to their corners, and no farther.
#[test]
fn tp_07_the_search_ends_where_the_limits_do() {
    let wide = Limits::even(0.3, 8.6, 2.4);
    for (by_m, can) in [
        ([7.59, 2.39, -2.39], true),
        ([-0.69, -2.39, 2.39], true),
        ([7.61, 0.0, 0.0], false),
        ([0.0, 0.0, 2.41], false),
    ] {
        let mut pair: Elements<f64> = block([2, 1, 1], wide);
        pair.cut(0, Direction::Right);
        let right = pair.at_site([1, 0, 0]).expect("there");
        pair.place(right, by_m);
        let mut cells = Cells::new(&pair);
        let mut glue = Glue::new(&pair);
        glue.survey(&pair, &mut cells, &MIDDLE_M, 40.0);
        for from in [(1 - right, Direction::Right), (right, Direction::Left)] {
            let found = glue.partner(&pair, &mut cells, from.0, from.1);
            assert_eq!(found, can.then_some(1 - from.0), "{by_m:?}");
        }
    }
}

/// Section 3.3.6(e): a piece that was moved by three sites is carried there to rest when it is glued, with all
/// limits kept and the rest of the face fitting too; the log takes that back as well.
#[test]
fn a_piece_that_was_moved_rests_where_it_is_glued() {
    let (mut elements, mut surgery) = halves(Limits::MEDIUM, [0.1, 3.05, -1.95]);
    let before = elements.clone();
    let done = surgery.join(&mut elements, MIDDLE_M, 40.0);
    assert_eq!((done.links, done.refused), (5 * 6, 0));
    assert_eq!(surgery.watch.pieces.live.len(), 1);
    assert!(elements.worst_m() <= 1e-9, "{}", elements.worst_m());
    for element in 0..elements.slots() {
        assert!((elements.at_m(element) - before.at_m(element)).norm() < 1e-9);
        for to in Direction::ALL {
            if let Some(other) = elements.neighbour(element, to) {
                assert_eq!(elements.site(other), to.from(elements.site(element)));
            }
        }
    }
    // what exact propagation promises holds on: rest is one lattice
    let mut exact = Exact::new(elements.slots());
    let mut draw = Draw::new(2);
    for _ in 0..100 {
        let element = draw.below(elements.slots());
        let to_m = elements.moved_m(element).map(|x| x + draw.around(2.0));
        exact
            .propagate(&mut elements, &[Control { element, to_m }])
            .expect("nothing is held");
        assert!(elements.worst_m() <= 1e-9);
    }
    surgery.undo(&mut elements);
    for element in 0..elements.slots() {
        assert_eq!(elements.site(element), before.site(element));
    }
    assert_eq!(elements.link_count(), before.link_count());
    assert_eq!(surgery.watch.pieces.live.len(), 2);
    surgery.redo(&mut elements);
    assert_eq!(elements.link_count(), before.link_count() + 30);
}

/// Section 3.3.6(e): a strip bent round so that its ends meet is not joined to a ring, since no lattice at
/// rest has one.
#[test]
fn a_ring_that_no_rest_can_have_is_not_made() {
    let mut elements: Elements<f64> = block([9, 1, 1], Limits::LOOSE);
    // the last element where the right neighbour of the first but one would be
    let last = elements.at_site([8, 0, 0]).expect("there");
    let first = elements.at_site([0, 0, 0]).expect("there");
    elements.place(last, [-9.0, 0.0, 0.0]);
    let mut surgery = Surgery::new(&mut elements, 100);
    let before = elements.clone();
    // only that they are one piece forbids it
    assert!(!may_join(&elements, first, Direction::Left, last));
    let mut apart = elements.clone();
    apart.set_object(last, elements.object(last) + 1);
    assert!(may_join(&apart, first, Direction::Left, last));
    let done = surgery.join(&mut elements, MIDDLE_M, 40.0);
    assert_eq!((done.links, done.refused), (0, 0));
    assert!(elements == before);
}

/// The grips of the golden case: opposite corners of 16 x 12 x 8, so far apart along x.
fn grips(elements: &Elements<f64>, apart: f64) -> [Control<f64>; 2] {
    let corner = |site| elements.at_site(site).expect("there");
    [
        Control {
            element: corner([0, 0, 0]),
            to_m: [0.0; 3],
        },
        Control {
            element: corner([15, 11, 7]),
            to_m: [apart - 15.0, 0.0, 0.0],
        },
    ]
}

/// Row TP-05: theory says 15 x 1.2 + (11 + 7) x 0.2 = 21.6: all below can be had, the first step beyond tears,
/// and the links that break are stretched or sheared ones next to the control that moves.
#[test]
fn tp_05_it_tears_at_the_first_step_beyond_all_slack() {
    let mut elements: Elements<f64> = block([16, 12, 8], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let mut exact = Exact::new(elements.slots());
    let mut tearing = Tearing::new(elements.slots(), TearRule::default());
    let mut torn_at = None;
    for step in 0..=68 {
        let apart = 15.0 + 0.1 * f64::from(step);
        let controls = grips(&elements, apart);
        let (pulled, done) = surgery.pull(&mut elements, &mut tearing, &mut exact, &controls, 1e-3);
        assert!(pulled.moved.is_ok(), "{apart} {pulled:?}");
        assert_eq!(pulled.torn, done.links);
        assert!(elements.worst_m() <= 1e-9);
        if pulled.torn > 0 && torn_at.is_none() {
            torn_at = Some(apart);
            assert_eq!(tearing.chain.first(), Some(&controls[0].element));
            assert_eq!(tearing.chain.last(), Some(&controls[1].element));
            assert!(tearing.chain.len() >= 15);
        }
    }
    let torn_at = torn_at.expect("it tears");
    assert!((torn_at - 21.7).abs() < 1e-6, "{torn_at}");
    let whole: Elements<f64> = block([16, 12, 8], Limits::MEDIUM);
    for (apart, can) in [(21.5, true), (21.7, false)] {
        let mut fresh = whole.clone();
        let controls = grips(&fresh, apart);
        assert_eq!(exact.propagate(&mut fresh, &controls).is_ok(), can);
    }
    // torn links are near the moving corner, and undoing mends them
    assert!(elements.link_count() < whole.link_count());
    while surgery.edits().can().0 {
        surgery.undo(&mut elements);
    }
    assert_eq!(elements.link_count(), whole.link_count());
}

/// Noise does not tear: an excess below the margin, or one that does not last, is refused and nothing breaks;
/// neither does anything that is only pressed.
#[test]
fn small_short_and_pressing_excesses_break_nothing() {
    let whole: Elements<f64> = block([16, 12, 8], Limits::MEDIUM);
    let mut cuts = 0;
    let mut cut = |elements: &mut Elements<f64>, change| {
        if let Change::Cut { element, to, .. } = change {
            cuts += usize::from(elements.cut(element, to));
        }
    };
    let mut elements = whole.clone();
    let mut exact = Exact::new(elements.slots());
    let mut tearing = Tearing::new(elements.slots(), TearRule::default());
    let controls = grips(&elements, 21.61);
    let pulled = tearing.pull(&mut elements, &mut exact, &controls, 1e-3, &mut cut);
    assert!(pulled.torn == 0 && pulled.moved.is_err());
    let rule = TearRule {
        patience_s: 0.01,
        ..TearRule::default()
    };
    let mut tearing = Tearing::new(elements.slots(), rule);
    let controls = grips(&elements, 22.0);
    let torn: Vec<usize> = (0..10)
        .map(|_| {
            tearing
                .pull(&mut elements, &mut exact, &controls, 1.01e-3, &mut cut)
                .torn
        })
        .collect();
    assert!(torn[..9].iter().all(|&n| n == 0) && torn[9] > 0, "{torn:?}");
    // a column on a pinned ground cannot be pressed further, and does not break
    let mut column: Elements<f64> = block([1, 1, 10], Limits::MEDIUM);
    let ground = column.at_site([0, 0, 0]).expect("there");
    column.pin(ground, true);
    let mut tearing = Tearing::new(column.slots(), TearRule::default());
    let press = Control {
        element: column.at_site([0, 0, 9]).expect("there"),
        to_m: [0.0, 0.0, -3.0],
    };
    let pulled = tearing.pull(&mut column, &mut exact, &[press], 1e-3, &mut cut);
    assert!(pulled.torn == 0 && pulled.moved.is_err());
    assert!(cuts > 0);
}

/// The weakest link of the chain breaks, not the nearest, and most eight in a call.
#[test]
fn the_weakest_link_breaks() {
    use crate::elements::{Frame, Seed};
    use crate::matter::Matter;
    let named = |toughness_jpm2| Matter {
        toughness_jpm2,
        ..Matter::of_young("test", 2e3, 0.0)
    };
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let seeds: Vec<Seed> = (0..20)
        .map(|x| Seed {
            site: [x, 0, 0],
            matter: u8::from((7..9).contains(&x)),
            object: 0,
        })
        .collect();
    let mut elements =
        Elements::<f64>::new(frame, vec![named(5.0), named(1.0)], &seeds).expect("fit");
    let held = elements.at_site([0, 0, 0]).expect("there");
    elements.pin(held, true);
    let mut surgery = Surgery::new(&mut elements, 100);
    let mut exact = Exact::new(elements.slots());
    let mut tearing = Tearing::new(elements.slots(), TearRule::default());
    let control = Control {
        element: elements.at_site([19, 0, 0]).expect("there"),
        to_m: [8.0, 0.0, 0.0],
    };
    let (pulled, done) = surgery.pull(&mut elements, &mut tearing, &mut exact, &[control], 1e-3);
    assert!(pulled.moved.is_ok());
    assert_eq!((pulled.torn, done.pieces), (1, 1));
    let seven = elements.at_site([7, 0, 0]).expect("there");
    assert_eq!(elements.neighbour(seven, Direction::Right), None);
}
