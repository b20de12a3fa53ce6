//! The log of edits, the hash of links, and what elements keep.

use proptest::prelude::*;

use super::{Draw, block, matter, volume};
use crate::edits::{EditLog, topology};
use crate::elements::{Elements, Frame, Seed};
use crate::exact::{Control, Exact};
use crate::limits::Limits;
use palpate_twin::Vec3;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;

const SIZE: [i32; 3] = [4, 3, 3];

/// The sites of a box.
fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

/// An edit, by site.
#[derive(Debug, Clone, Copy)]
enum Op {
    Cut([i32; 3], Direction),
    Join([i32; 3], Direction),
    Carve([i32; 3]),
    Revive([i32; 3]),
    Pin([i32; 3], bool),
}

fn op() -> impl Strategy<Value = Op> {
    let site = (0..SIZE[0], 0..SIZE[1], 0..SIZE[2]).prop_map(|(x, y, z)| [x, y, z]);
    let to = (0..6_usize).prop_map(|d| Direction::ALL[d]);
    (0..7_u8, site, to, any::<bool>()).prop_map(|(kind, site, to, held)| match kind {
        0 | 1 => Op::Cut(site, to),
        2 | 3 => Op::Join(site, to),
        4 => Op::Carve(site),
        5 => Op::Revive(site),
        _ => Op::Pin(site, held),
    })
}

proptest! {
    /// The log: undo all the way back is the beginning, redo all the way the end, a replay
    /// of what it holds the same end on a fresh volume, and the hash is that of the links at every step.
    #[test]
    fn undo_redo_and_replay_meet_again(ops in prop::collection::vec(op(), 1..60)) {
        let first: Elements<f32> = block(SIZE, Limits::MEDIUM);
        let slot = |site| first.at_site(site).expect("inside");
        let mut links = first.clone();
        let mut log = EditLog::new(&links, 4096);
        for op in ops {
            log.begin();
            match op {
                Op::Cut(site, to) => if let Some(other) = links.neighbour(slot(site), to) {
                    log.make(&mut links, Change::Cut { element: slot(site), to, other });
                },
                Op::Join(site, to) => if let Some(other) = first.neighbour(slot(site), to) {
                    log.make(&mut links, Change::Join { element: slot(site), to, other });
                },
                Op::Carve(site) => { log.carve(&mut links, slot(site), |_, _| {}); }
                Op::Revive(site) => { log.make(&mut links, Change::Put { element: slot(site) }); }
                Op::Pin(site, true) => { log.make(&mut links, Change::Hold { element: slot(site) }); }
                Op::Pin(site, false) => { log.make(&mut links, Change::Free { element: slot(site) }); }
            }
            prop_assert_eq!(log.hash(), topology(&links));
        }
        let last = links.clone();
        let mut replayed = first.clone();
        let mut other_side = EditLog::new(&replayed, 0);
        for change in log.changes() {
            prop_assert!(other_side.make(&mut replayed, change));
        }
        prop_assert_eq!(&replayed, &last);
        prop_assert_eq!(other_side.hash(), log.hash());
        while log.can().0 {
            log.undo(&mut links, |_, _| {});
        }
        prop_assert_eq!(&links, &first);
        prop_assert_eq!(log.hash(), topology(&first));
        while log.can().1 {
            log.redo(&mut links, |_, _| {});
        }
        prop_assert_eq!(&links, &last);
    }
}

/// A full log forgets whole strokes, oldest first; one longer than the log cannot be undone in part.
#[test]
fn a_full_log_forgets_its_oldest_strokes() {
    let first: Elements<f64> = block([6, 6, 6], Limits::MEDIUM);
    let mut links = first.clone();
    let mut log = EditLog::new(&links, 10);
    let mut after = vec![links.clone()];
    for x in 0..4 {
        log.begin();
        // six links and itself
        let element = links.at_site([1 + x, 2, 2 + x % 2]).expect("there");
        log.carve(&mut links, element, |_, _| {});
        after.push(links.clone());
    }
    assert!(log.undo(&mut links, |_, _| {}) > 1);
    assert!(
        links == after[3] && log.can() == (false, true),
        "{:?}",
        log.can()
    );
    log.redo(&mut links, |_, _| {});
    assert!(links == after[4]);
    log.begin();
    for element in 0..20 {
        log.carve(&mut links, element, |_, _| {});
    }
    assert_eq!(log.can(), (false, false));
    assert_eq!(log.undo(&mut links, |_, _| {}), 0);
    assert_eq!(log.hash(), topology(&links));
}

/// The hash is of links and not of the way there: other orders and detours end at the same, and one link, one
/// element or one pin makes another.
#[test]
fn the_hash_is_of_the_links_alone() {
    let first: Elements<f32> = block([5, 5, 5], Limits::MEDIUM);
    let mut draw = Draw::new(11);
    let cuts: Vec<(u32, Direction)> = (0..40)
        .map(|_| (draw.below(125), Direction::ALL[draw.below(6) as usize]))
        .collect();
    let (mut forth, mut back) = (first.clone(), first.clone());
    for &(element, to) in &cuts {
        forth.cut(element, to);
    }
    back.carve(77);
    back.revive(77);
    for to in Direction::ALL {
        if let Some(other) = first.neighbour(77, to) {
            assert!(back.join(77, to, other));
        }
    }
    for &(element, to) in cuts.iter().rev() {
        back.cut(element, to);
    }
    assert_eq!(topology(&forth), topology(&back));
    let mut all = vec![topology(&first)];
    for element in 0..125 {
        let mut changed = first.clone();
        changed.carve(element);
        all.push(topology(&changed));
        let mut changed = first.clone();
        changed.pin(element, true);
        all.push(topology(&changed));
        for to in Direction::UP {
            let mut changed = first.clone();
            if changed.cut(element, to) {
                all.push(topology(&changed));
            }
        }
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// Row LV-04: a volume of labels becomes as many objects, of as many elements as there are samples, and no
/// link goes from one to another.
#[test]
fn lv_04_labels_become_volumes_of_their_own() {
    let label =
        |[x, y, z]: [i32; 3]| u32::try_from((x * x / 9 + y / 3 + z / 2) % 4).expect("small");
    let seeds: Vec<Seed> = sites([12, 9, 8])
        .map(|site| Seed {
            site,
            matter: 0,
            object: label(site),
        })
        .collect();
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let elements = Elements::<f32>::new(frame, vec![matter(Limits::MEDIUM)], &seeds).expect("fit");
    for k in 0..4 {
        let samples = sites([12, 9, 8]).filter(|&site| label(site) == k).count();
        let members = (0..elements.slots())
            .filter(|&e| elements.object(e) == k)
            .count();
        assert!(samples > 0 && members == samples);
    }
    let mut inside = 0;
    for element in 0..elements.slots() {
        for to in Direction::ALL {
            let beside = elements.at_site(to.from(elements.site(element)));
            let same = beside.filter(|&e| elements.object(e) == elements.object(element));
            assert_eq!(elements.neighbour(element, to), same);
            inside += usize::from(same.is_some());
        }
    }
    assert_eq!(elements.link_count(), inside / 2);
}

/// Row LV-05: what an element is stays with it through motion, cut and join.
#[test]
fn lv_05_what_an_element_is_stays_with_it() {
    let of = |[x, _, _]: [i32; 3]| u8::from(x >= 4);
    let mut elements: Elements<f64> =
        volume([8, 4, 4], &[Limits::MEDIUM, Limits::LOOSE], |_| true, of);
    for element in 0..elements.slots() {
        elements.colour[element as usize] = element.to_le_bytes();
        elements.set_object(element, 3);
    }
    let control = Control {
        element: 0,
        to_m: [-2.0, 1.0, 0.5],
    };
    let mut exact = Exact::new(elements.slots());
    exact
        .propagate(&mut elements, &[control])
        .expect("nothing is held");
    let beside = elements.neighbour(5, Direction::Right).expect("linked");
    assert!(elements.cut(5, Direction::Right));
    assert!(elements.join(5, Direction::Right, beside), "as they were");
    elements.carve(9);
    elements.revive(9);
    // the chain reads it: of two pulled alike, the one of links that give more brings the next one along less
    let mut pulled = elements.clone();
    let ends: Vec<Control<f64>> = [[0, 0, 0], [7, 0, 0]]
        .map(|site| elements.at_site(site).expect("there"))
        .map(|element| Control {
            element,
            to_m: elements.moved_m(element).map(|x| x + 1.0),
        })
        .to_vec();
    exact.propagate(&mut pulled, &ends).expect("nobody is held");
    let apart = |from: [i32; 3], to: [i32; 3]| {
        let [a, b] = [from, to].map(|site| pulled.at_site(site).expect("there"));
        (pulled.moved_m(a)[1] - pulled.moved_m(b)[1]).abs()
    };
    let [medium, loose] = [apart([0, 0, 0], [1, 0, 0]), apart([7, 0, 0], [6, 0, 0])];
    assert!(
        medium < 0.2 + 1e-9 && loose > 0.3 && loose < 0.5 + 1e-9,
        "{medium} {loose}"
    );
    for element in 0..elements.slots() {
        assert_eq!(elements.colour(element), element.to_le_bytes());
        assert_eq!(elements.matter(element), of(elements.site(element)));
        assert_eq!(elements.object(element), 3);
    }
}
