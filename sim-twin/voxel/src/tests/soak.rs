//! Edits without end, at random: what must always hold.

use super::looks::{assert_fresh, odd_edge};
use super::{Draw, block};
use crate::carve::Scoop;
use crate::edits::topology;
use crate::elements::Elements;
use crate::exact::{Control, Exact};
use crate::knife::{Blade, Sweep};
use crate::limits::Limits;
use crate::surgery::Surgery;
use crate::tear::{TearRule, Tearing};
use crate::walk::Walk;
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::edits::{Change, Part};

const N: i32 = 5;

/// Whether every object is one piece, every piece one object, and all are counted.
pub(super) fn assert_pieces(elements: &Elements<f32>, surgery: &Surgery, walk: &mut Walk) {
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut seen = vec![false; elements.slots() as usize];
    for element in 0..elements.slots() {
        if !elements.alive(element) || seen[element as usize] {
            continue;
        }
        let piece = walk.piece(elements, element);
        let object = elements.object(element);
        for &member in piece {
            seen[member as usize] = true;
            assert_eq!(elements.object(member), object, "one piece, one object");
        }
        found.push((object, u32::try_from(piece.len()).expect("small")));
    }
    found.sort_unstable();
    assert!(
        found.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "one object, one piece"
    );
    assert_eq!(found, surgery.watch.pieces.live);
}

fn check(elements: &Elements<f32>, surgery: &Surgery, walk: &mut Walk, thorough: bool) {
    assert_eq!(elements.one_sided(), None);
    for element in 0..elements.slots() {
        for to in Direction::UP {
            if let Some(other) = elements.neighbour(element, to) {
                assert_eq!(elements.site(other), to.from(elements.site(element)));
            }
        }
    }
    assert_pieces(elements, surgery, walk);
    assert_eq!(odd_edge(surgery.surface()), None);
    if thorough {
        assert_fresh(surgery.surface(), elements);
        assert_eq!(surgery.edits().hash(), topology(elements));
    }
}

/// A piece goes elsewhere, by whole sites and a little more, so that it can be glued there.
fn wander(elements: &mut Elements<f32>, surgery: &mut Surgery, draw: &mut Draw, walk: &mut Walk) {
    let element = draw.below(elements.slots());
    let by: [f64; 3] = std::array::from_fn(|_| draw.around(2.4).round() + draw.around(0.15));
    for &member in walk.piece(elements, element) {
        let at = elements.moved_m(member);
        let to = std::array::from_fn(|axis| (f64::from(at[axis]) + by[axis]).clamp(-8.0, 8.0));
        elements.place(member, to);
        surgery.follow(elements, member);
    }
}

/// How much was done of what.
#[derive(Debug, Default)]
struct Done {
    cut: usize,
    carved: usize,
    joined: usize,
    put: usize,
    marked: usize,
    torn: usize,
    undone: usize,
    redone: usize,
}

/// What tears, and its own propagation.
type Puller = (Tearing, Exact<f32>);

/// Two elements are pulled apart or about, farther than links go.
fn tear(
    elements: &mut Elements<f32>,
    surgery: &mut Surgery,
    draw: &mut Draw,
    (tearing, exact): &mut Puller,
) -> usize {
    let ends = [draw.below(elements.slots()), draw.below(elements.slots())];
    let controls = ends.map(|element| Control {
        element,
        to_m: elements
            .moved_m(element)
            .map(|at| (f64::from(at) + draw.around(3.0)).clamp(-8.0, 8.0) as f32),
    });
    let (pulled, _) = surgery.pull(elements, tearing, exact, &controls, 1e-3);
    pulled.torn
}

/// What a ball comes over is taken out, or the first half of it.
fn take(elements: &mut Elements<f32>, surgery: &mut Surgery, ball: &Scoop, half: bool) -> usize {
    if half {
        let first = surgery.scoop(elements, ball, |met| (met.len() / 2, 0.5));
        return first.elements;
    }
    surgery.carve(elements, ball).elements
}

fn edit(
    elements: &mut Elements<f32>,
    surgery: &mut Surgery,
    draw: &mut Draw,
    (walk, puller, done): (&mut Walk, &mut Puller, &mut Done),
) {
    let far = f64::from(N);
    let at = |draw: &mut Draw| {
        Vec3::new(draw.share() * far, draw.share() * far, draw.share() * far) - Vec3::repeat(0.5)
    };
    let element = draw.below(elements.slots());
    let to = Direction::ALL[draw.below(6) as usize];
    match draw.below(21) {
        0..=3 => {
            let changes = [element, draw.below(elements.slots())].map(|element| {
                let other = elements.neighbour(element, to);
                other.map(|other| Change::Cut { element, to, other })
            });
            for change in changes.into_iter().flatten() {
                done.cut += surgery.apply(elements, Part::Begins, &[change]).links;
            }
        }
        4 => {
            let sweep = Sweep {
                before: Blade {
                    from_m: at(draw),
                    to_m: at(draw),
                },
                after: Blade {
                    from_m: at(draw),
                    to_m: at(draw),
                },
            };
            done.cut += surgery.cut(elements, &sweep, f64::INFINITY).links;
        }
        5 => {
            done.carved += surgery.carve_one(elements, element).elements;
        }
        6 => {
            let ball = Scoop::ball(at(draw), at(draw), 0.6);
            let half = draw.below(2) == 0;
            done.carved += take(elements, surgery, &ball, half);
        }
        7..=9 => {
            let centre_m = at(draw);
            done.joined += surgery.join(elements, centre_m, 2.0).links;
        }
        10 => {
            done.put += surgery
                .apply(elements, Part::Begins, &[Change::Put { element }])
                .elements;
        }
        11 => {
            let scoop = Scoop::ball(at(draw), at(draw), 0.8);
            let held = draw.below(2) == 0;
            done.marked += surgery.pin(elements, &scoop, held).elements;
        }
        12 => wander(elements, surgery, draw, walk),
        13..=16 => {
            let back = surgery.undo(elements);
            done.undone += back.links + back.elements;
        }
        17 => done.torn += tear(elements, surgery, draw, puller),
        _ => {
            let again = surgery.redo(elements);
            done.redone += again.links + again.elements;
        }
    }
}

fn soak(rounds: u32, seed: u64) {
    let mut done = Done::default();
    let mut elements: Elements<f32> = block([N; 3], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 2000);
    let mut walk = Walk::new(elements.slots());
    let slots = elements.slots();
    let mut puller = (Tearing::new(slots, TearRule::default()), Exact::new(slots));
    let mut draw = Draw::new(seed);
    let (mut fewest, mut most_pieces, mut carried) = (u32::MAX, 0, 0);
    for round in 0..rounds {
        let more = (&mut walk, &mut puller, &mut done);
        edit(&mut elements, &mut surgery, &mut draw, more);
        if elements.count() < 30 {
            // a new block, so that there is always something to cut
            elements = block([N; 3], Limits::MEDIUM);
            surgery = Surgery::new(&mut elements, 2000);
        }
        check(&elements, &surgery, &mut walk, round % 16 == 0);
        fewest = fewest.min(u32::try_from(elements.count()).expect("small"));
        most_pieces = most_pieces.max(surgery.watch.pieces.live.len());
        carried += usize::from(
            (0..elements.slots()).any(|e| elements.at_site(elements.site(e)) != Some(e)),
        );
    }
    assert!(
        fewest < 100 && most_pieces > 10 && carried > 0,
        "{fewest} {most_pieces} {carried}"
    );
    println!("{rounds} edits, seed {seed}: {done:?}");
    let least = [
        done.cut,
        done.carved,
        done.joined,
        done.put,
        done.marked,
        done.torn,
        done.undone,
        done.redone,
    ];
    assert!(least.iter().all(|&count| count > 10), "{done:?}");
}

/// 20 000 random edits: links are answered, lie on one lattice, objects are pieces, and the surface is closed.
#[test]
fn random_edits_break_nothing() {
    soak(20_000, 1);
}

/// A million of them: `cargo test --release -p palpate-voxel --lib a_million_random_edits -- --ignored`.
#[test]
#[ignore = "takes a minute or two"]
fn a_million_random_edits_break_nothing() {
    for seed in 0..10 {
        soak(100_000, 2 + seed);
    }
}
