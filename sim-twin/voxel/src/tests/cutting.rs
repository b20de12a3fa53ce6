//! Knife, curette and what comes apart.

use super::{Draw, block};
use crate::carve::Scoop;
use crate::cells::{Cells, Extent};
use crate::elements::{Elements, Frame, Seed};
use crate::exact::{Control, Exact};
use crate::knife::{Blade, Knife, Sweep};
use crate::limits::Limits;
use crate::matter::Matter;
use crate::surgery::Surgery;
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;

/// All links, from their lower ends.
fn links(elements: &Elements<f64>) -> Vec<(u32, Direction, u32)> {
    let ends = |e| Direction::UP.into_iter().map(move |to| (e, to));
    (0..elements.slots())
        .flat_map(ends)
        .filter_map(|(e, to)| elements.neighbour(e, to).map(|other| (e, to, other)))
        .collect()
}

/// A block that was pulled about, all limits kept.
fn bent(size: [i32; 3], seed: u64) -> Elements<f64> {
    let mut elements = block(size, Limits::MEDIUM);
    let mut exact = Exact::new(elements.slots());
    let mut draw = Draw::new(seed);
    for _ in 0..30 {
        let element = draw.below(elements.slots());
        let at = elements.moved_m(element);
        let to_m = at.map(|x| x + draw.around(1.0));
        exact
            .propagate(&mut elements, &[Control { element, to_m }])
            .expect("nothing is held");
    }
    elements
}

/// A blade along y at a place of the plane of x and z.
fn blade(x: f64, z: f64) -> Blade {
    Blade {
        from_m: Vec3::new(x, -50.0, z),
        to_m: Vec3::new(x + 0.3, 50.0, z),
    }
}

/// Row TP-02: a curved cut through a bent block. No link that is left crosses what the blade swept, all that
/// do not are left, no element is lost, and the block comes apart in two when the cut is through.
#[test]
fn tp_02_a_cut_takes_what_it_crosses_and_nothing_else() {
    for seed in 1..4 {
        let mut elements = bent([12, 11, 10], seed);
        let mut surgery = Surgery::new(&mut elements, 10_000);
        let before = links(&elements);
        let place = |k: i32| {
            let z = 40.0 - 2.0 * f64::from(k);
            blade(5.37 + 1.5 * (z * 0.31).sin(), z)
        };
        let sweeps: Vec<Sweep> = (0..40)
            .map(|k| Sweep {
                before: place(k),
                after: place(k + 1),
            })
            .collect();
        let (mut cut, mut pieces) = (0, 0);
        for sweep in &sweeps {
            let done = surgery.cut(&mut elements, sweep, f64::INFINITY);
            (cut, pieces) = (cut + done.links, pieces + done.pieces);
            assert_eq!(done.elements, 0);
        }
        let crossed = |elements: &Elements<f64>, (a, _, b): (u32, Direction, u32)| {
            let ends_m = [elements.at_m(a), elements.at_m(b)];
            sweeps.iter().any(|sweep| sweep.crosses(ends_m).is_some())
        };
        let left = links(&elements);
        assert!(left.iter().all(|&link| !crossed(&elements, link)));
        let should: Vec<_> = before
            .iter()
            .copied()
            .filter(|&link| !crossed(&elements, link))
            .collect();
        assert_eq!(left, should, "seed {seed}");
        assert_eq!(
            (cut, elements.count()),
            (before.len() - left.len(), 12 * 11 * 10)
        );
        // the ways of those that are left do not cross the sheet an even number of times
        assert_eq!(
            (pieces, surgery.watch.pieces.live.len()),
            (1, 2),
            "seed {seed}"
        );
        assert_eq!(elements.one_sided(), None);
        for _ in &sweeps {
            surgery.undo(&mut elements);
        }
        assert_eq!(links(&elements), before);
        assert_eq!(surgery.watch.pieces.live.len(), 1);
    }
}

/// However fast: one sweep through all cuts what a hundred small ones do, and what lies on either side of
/// the plane decides.
#[test]
fn a_fast_blade_misses_nothing() {
    let whole = bent([10, 9, 8], 7);
    let from = blade(4.41, 30.0);
    let to = blade(4.97, -30.0);
    let at = |share: f64| Blade {
        from_m: from.from_m.lerp(&to.from_m, share),
        to_m: from.to_m.lerp(&to.to_m, share),
    };
    let mut results = Vec::new();
    for steps in [1, 7, 400] {
        let mut elements = whole.clone();
        let mut surgery = Surgery::new(&mut elements, 0);
        for k in 0..steps {
            let share = |k: i32| f64::from(k) / f64::from(steps);
            let sweep = Sweep {
                before: at(share(k)),
                after: at(share(k + 1)),
            };
            surgery.cut(&mut elements, &sweep, f64::INFINITY);
        }
        results.push(links(&elements));
    }
    let normal = (from.to_m - from.from_m).cross(&(to.from_m - from.from_m));
    let side = |e: u32| normal.dot(&(whole.at_m(e) - from.from_m)) >= 0.0;
    let should: Vec<_> = links(&whole)
        .into_iter()
        .filter(|&(a, _, b)| side(a) == side(b))
        .collect();
    for result in results {
        assert_eq!(result, should);
    }
}

/// A blade that is not finite, or does not move, cuts nothing.
#[test]
fn a_blade_that_is_nowhere_cuts_nothing() {
    let mut elements = block([5, 5, 5], Limits::MEDIUM);
    let before: Elements<f64> = elements.clone();
    let mut surgery = Surgery::new(&mut elements, 10);
    let here = blade(2.5, 2.0);
    for after in [blade(f64::NAN, 2.0), blade(f64::INFINITY, 2.0), here] {
        let sweep = Sweep {
            before: here,
            after,
        };
        assert_eq!(surgery.cut(&mut elements, &sweep, f64::INFINITY).links, 0);
    }
    let nowhere = Scoop::ball(Vec3::repeat(f64::NAN), Vec3::zeros(), 1.0);
    assert_eq!(surgery.carve(&mut elements, &nowhere).elements, 0);
    assert!(elements == before);
}

/// Row CL-02: cutting through a tough inclusion costs as much more as it is tougher, and a blade that
/// cannot pay stops on its way.
#[test]
fn cl_02_tough_insides_cost_more_to_cut() {
    let named = |toughness_jpm2| Matter {
        toughness_jpm2,
        ..Matter::of_young("test", 2e3, 0.0)
    };
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let sites = (0..8).flat_map(|z| (0..8).flat_map(move |y| (0..20).map(move |x| [x, y, z])));
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: u8::from(site[0] >= 10),
            object: 0,
        })
        .collect();
    let mut elements =
        Elements::<f64>::new(frame, vec![named(2.0), named(14.0)], &seeds).expect("fit");
    let sweep = |x| Sweep {
        before: blade(x, 20.0),
        after: blade(x, -20.0),
    };
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let soft = surgery.cut(&mut elements, &sweep(4.2), f64::INFINITY);
    let tough = surgery.cut(&mut elements, &sweep(14.2), 300.0);
    assert!(
        tough.way > 0.2 && tough.way < 0.6 && tough.tough_j <= 300.0,
        "{tough:?}"
    );
    assert_eq!((tough.links, tough.pieces), (21, 0));
    surgery.undo(&mut elements);
    let tough = surgery.cut(&mut elements, &sweep(14.2), f64::INFINITY);
    assert_eq!((soft.links, tough.links, soft.way), (64, 64, 1.0));
    assert!((tough.tough_j / soft.tough_j - 7.0).abs() < 1e-12);
    assert!((soft.tough_j - 2.0 * 64.0).abs() < 1e-9);
    // between the two, the mean
    let mixed = surgery.cut(&mut elements, &sweep(9.2), f64::INFINITY);
    assert!((mixed.tough_j - 8.0 * 64.0).abs() < 1e-9);
}

/// A cut takes the energy of the links that it cuts, and undoing it brings it back.
#[test]
fn a_cut_takes_the_energy_that_its_links_held() {
    let mut elements = bent([8, 8, 8], 5);
    let energy_j = |elements: &Elements<f64>| -> f64 {
        let stored =
            |&(a, to, b): &(u32, Direction, u32)| crate::knife::stored_j(elements, a, to, b);
        links(elements).iter().map(stored).sum()
    };
    let before_j = energy_j(&elements);
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let sweep = Sweep {
        before: blade(3.7, 20.0),
        after: blade(3.7, -20.0),
    };
    let done = surgery.cut(&mut elements, &sweep, f64::INFINITY);
    assert!(done.stored_j < 0.0);
    assert!((energy_j(&elements) - before_j - done.stored_j).abs() < 1e-9 * before_j);
}

/// Whether a tool that is this much wider comes over a place, by points of its motion close together.
fn comes_over(scoop: &Scoop, at_m: &Vec3, wider_m: f64) -> bool {
    let share = |k: i32, n: i32| f64::from(k) / f64::from(n);
    (0..=400).any(|k| {
        (0..=40).any(|j| {
            let (before, after) = (scoop.axis.before, scoop.axis.after);
            let from = before.from_m.lerp(&after.from_m, share(k, 400));
            let to = before.to_m.lerp(&after.to_m, share(k, 400));
            (from.lerp(&to, share(j, 40)) - at_m).norm() <= scoop.radius_m + wider_m
        })
    })
}

/// Rows TP-01 and TP-10: the elements in the volume that the tool sweeps are gone and none else, in three
/// dimensions and in two; their neighbours know.
#[test]
fn tp_01_tp_10_carving_takes_what_the_tool_sweeps() {
    for size in [[14, 13, 12], [20, 20, 1]] {
        let mut elements = bent(size, 3);
        let mut surgery = Surgery::new(&mut elements, 100_000);
        let mut draw = Draw::new(8);
        for _ in 0..12 {
            let far = f64::from(size[0]);
            let mut at = || {
                Vec3::new(
                    draw.share() * far,
                    draw.share() * far,
                    draw.share() * f64::from(size[2]),
                )
            };
            let (p, q, s) = (at(), at(), at() * 0.2);
            let ball = Scoop::ball(p, q, 1.3);
            let rod = Scoop {
                axis: Sweep {
                    before: Blade {
                        from_m: p,
                        to_m: p + s,
                    },
                    after: Blade {
                        from_m: q,
                        to_m: q + s,
                    },
                },
                radius_m: 0.9,
            };
            for scoop in [ball, rod] {
                let before: Vec<u32> = (0..elements.slots())
                    .filter(|&e| elements.alive(e))
                    .collect();
                let taken = surgery.carve(&mut elements, &scoop).elements;
                let gone: Vec<u32> = before
                    .iter()
                    .copied()
                    .filter(|&e| !elements.alive(e))
                    .collect();
                assert_eq!(gone.len(), taken);
                for &e in &before {
                    let at_m = elements.at_m(e);
                    if gone.contains(&e) {
                        assert!(comes_over(&scoop, &at_m, 0.03));
                        assert!(
                            Direction::ALL
                                .iter()
                                .all(|&to| elements.neighbour(e, to).is_none())
                        );
                    } else {
                        assert!(!comes_over(&scoop, &at_m, -0.03));
                    }
                }
                assert_eq!(elements.one_sided(), None);
            }
        }
        assert!(elements.count() < elements.slots() as usize * 9 / 10);
    }
}

/// Row TP-01: what carving a pit costs does not depend on how large the volume around it is.
#[test]
fn tp_01_the_cost_of_carving_does_not_know_the_size_of_the_volume() {
    let cost = |x: i32, n: i32| {
        let mut elements: Elements<f32> = block([x, n, n], Limits::MEDIUM);
        let mut surgery = Surgery::new(&mut elements, 10_000);
        let top = f64::from(n - 1);
        let before = (
            surgery.watch.cells.looked,
            surgery.watch.pieces.strands.looked,
            surgery.surface().looked,
        );
        let down = Vec3::new(8.0, 8.0, top);
        let scoop = Scoop::ball(down + Vec3::z() * 4.0, down, 3.0);
        let taken = surgery.carve(&mut elements, &scoop).elements;
        assert!(taken > 40);
        let after = (
            surgery.watch.cells.looked,
            surgery.watch.pieces.strands.looked,
            surgery.surface().looked,
        );
        (
            taken,
            after.0 - before.0,
            after.1 - before.1,
            after.2 - before.2,
        )
    };
    // the strands around the pit are alike
    let (small, large) = (cost(96, 20), cost(128, 48));
    assert_eq!((small.0, small.2, small.3), (large.0, large.2, large.3));
    // strangers in the same bucket are looked at, too
    assert!(large.1 < small.1 * 3, "{small:?} {large:?}");
}

/// Rows CL-01 and LV-06: what is cut off is an object with a number of its own, which nothing else has; it can be
/// moved alone. Its cost does not grow with what was cut before.
#[test]
fn cl_01_what_is_cut_off_becomes_an_object() {
    let mut elements: Elements<f64> = block([20, 8, 8], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let slice = |x| Sweep {
        before: blade(x, 20.0),
        after: blade(x, -20.0),
    };
    let mut costs = Vec::new();
    for x in [2.2, 9.2, 15.2] {
        let before = surgery.watch.pieces.strands.looked;
        assert_eq!(
            surgery.cut(&mut elements, &slice(x), f64::INFINITY).pieces,
            1
        );
        costs.push(surgery.watch.pieces.strands.looked - before);
    }
    // every row is cut: each has its own strand of 20 elements and those beside it asked again, six links each
    assert!(costs[0] < 64 * 2 * 6 * 20 + 1200, "{costs:?}");
    assert!(costs[1..].iter().all(|&cost| cost <= costs[0]), "{costs:?}");
    let live = surgery.watch.pieces.live.to_vec();
    assert_eq!(
        live.iter()
            .map(|&(_, count)| count)
            .collect::<Vec<_>>()
            .iter()
            .sum::<u32>(),
        1280
    );
    let mut counts: Vec<u32> = live.iter().map(|&(_, count)| count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [192, 256, 384, 448]);
    let ids: std::collections::BTreeSet<u32> =
        (0..elements.slots()).map(|e| elements.object(e)).collect();
    assert_eq!(
        ids.into_iter().collect::<Vec<_>>(),
        live.iter().map(|l| l.0).collect::<Vec<_>>()
    );
    // a piece that is dragged takes none of the others along
    let corner = elements.at_site([0, 0, 0]).expect("there");
    let control = Control {
        element: corner,
        to_m: [-30.0, 0.0, 0.0],
    };
    let mut exact = Exact::new(elements.slots());
    exact
        .propagate(&mut elements, &[control])
        .expect("nothing is held");
    for element in 0..elements.slots() {
        let moved = elements.moved_m(element)[0] < -20.0;
        assert_eq!(moved, elements.object(element) == elements.object(corner));
    }
    // undone, it is one again
    for _ in 0..3 {
        surgery.undo(&mut elements);
    }
    assert_eq!(surgery.watch.pieces.live.len(), 1);
    assert_eq!(surgery.watch.pieces.live[0].1, 1280);
}

/// A piece that comes apart is found by strands: fewer links are followed than there are elements, let alone six of each.
#[test]
fn cl_01_what_comes_apart_is_found_without_asking_every_element() {
    let mut elements: Elements<f32> = block([40, 20, 20], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let before = surgery.watch.pieces.strands.looked;
    let middle = (Vec3::new(0.0, 9.5, 0.0), Vec3::y());
    let done = surgery.part(&mut elements, &middle.0, &middle.1);
    let looked = surgery.watch.pieces.strands.looked - before;
    assert_eq!((done.links, done.pieces), (800, 1));
    assert_eq!(surgery.watch.pieces.live, [(0, 8000), (1, 8000)]);
    assert!(looked < u64::from(elements.slots()), "{looked}");
}

/// A cut that parts nothing costs no walk through the volume.
#[test]
fn a_cut_that_parts_nothing_is_cheap() {
    let cost = |x: i32, n: i32| {
        let mut elements: Elements<f64> = block([x, n, n], Limits::MEDIUM);
        let mut surgery = Surgery::new(&mut elements, 10_000);
        let top = f64::from(n - 1);
        let sweep = Sweep {
            before: Blade {
                from_m: Vec3::new(7.4, 4.0, top + 2.0),
                to_m: Vec3::new(7.4, 10.0, top + 2.0),
            },
            after: Blade {
                from_m: Vec3::new(7.4, 4.0, top - 3.0),
                to_m: Vec3::new(7.4, 10.0, top - 3.0),
            },
        };
        let done = surgery.cut(&mut elements, &sweep, f64::INFINITY);
        assert_eq!((done.links, done.pieces), (28, 0));
        surgery.watch.pieces.strands.looked
    };
    let small = cost(96, 16);
    assert_eq!(small, cost(128, 40));
    assert!(small < 20_000, "{small}");
}

/// What is found near a tool is what lies in a box, for any motion of the elements.
#[test]
fn cells_know_where_elements_are() {
    let mut elements = bent([9, 8, 7], 2);
    let mut cells = Cells::new(&elements);
    let mut exact = Exact::new(elements.slots());
    let mut draw = Draw::new(6);
    let mut found = Vec::new();
    let mut knife = Knife::new(&elements);
    for round in 0..200 {
        let element = draw.below(elements.slots());
        let to_m = elements.moved_m(element).map(|x| x + draw.around(1.5));
        exact
            .propagate(&mut elements, &[Control { element, to_m }])
            .expect("nothing is held");
        if round % 9 == 0 {
            elements.carve(draw.below(elements.slots()));
        }
        cells.follow_all(&elements);
        let mut at = || Vec3::new(draw.around(12.0), draw.around(12.0), draw.around(12.0));
        let (a, b) = (at(), at());
        let (low, high) = (a.inf(&b), a.sup(&b));
        let extent = Extent {
            low_m: low,
            high_m: high,
        };
        cells.near(&extent, &mut found);
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
        for element in 0..elements.slots() {
            let at_m = elements.at_m(element);
            let inside = (0..3).all(|k| low[k] <= at_m[k] && at_m[k] <= high[k]);
            let has = found.binary_search(&element).is_ok();
            assert!(has || !(inside && elements.alive(element)));
            assert!(!has || elements.alive(element));
        }
        let sweep = Sweep {
            before: Blade { from_m: a, to_m: b },
            after: Blade {
                from_m: at(),
                to_m: at(),
            },
        };
        let should: Vec<_> = links(&elements)
            .into_iter()
            .filter(|&(e, _, o)| {
                sweep
                    .crosses([elements.at_m(e), elements.at_m(o)])
                    .is_some()
            })
            .collect();
        let crossings = knife.find(&elements, &mut cells, &sweep);
        let mut cut: Vec<_> = crossings
            .iter()
            .map(|c| (c.element, c.to, c.other))
            .collect();
        assert!(crossings.windows(2).all(|pair| pair[0].way <= pair[1].way));
        cut.sort_unstable_by_key(|c| (c.0, c.1.index()));
        assert_eq!(cut, should);
    }
}
