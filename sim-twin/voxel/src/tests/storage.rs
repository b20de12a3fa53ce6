//! The three ways of storing a volume: counts, memory, and the same links after the same edits.

use proptest::prelude::*;

use super::{Draw, block, matter, volume};
use crate::compact::{Compact, Voxel};
use crate::edits::{EditLog, topology};
use crate::elements::{Elements, Frame, Seed};
use crate::exact::{Control, Exact};
use crate::limits::Limits;
use crate::links::{JoinError, Links, PlaceError};
use crate::listed::{Listed, Node, PaintError};
use palpate_twin::Vec3;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;

const SIZE: [i32; 3] = [4, 3, 3];

/// The sites of a box.
fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

fn compact(size: [i32; 3]) -> Compact {
    let size = size.map(|n| u32::try_from(n).expect("small"));
    let count = size.iter().product::<u32>() as usize;
    Compact::new(size, &vec![9; count]).expect("fit")
}

fn listed(size: [i32; 3]) -> Listed {
    let mut list = Listed::new([1.0; 3]);
    for site in sites(size) {
        list.paint(site, 0, [1, 2, 3, 4]).expect("free");
    }
    list
}

/// Whether an element is there and held, and who its neighbours are.
type Of = (bool, bool, [Option<[i32; 3]>; 6]);

/// Links by site, so that storages of other slots can be compared.
fn by_site(
    links: &impl Links,
    slot: impl Fn([i32; 3]) -> u32,
    site: impl Fn(u32) -> [i32; 3],
) -> Vec<Of> {
    let of = |at| {
        let element = slot(at);
        let beside = Direction::ALL.map(|to| links.neighbour(element, to).map(&site));
        (links.alive(element), links.pinned(element), beside)
    };
    sites(SIZE).map(of).collect()
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

/// Does it; whether anything came of it. A join is of neighbours on the grid only.
fn act(links: &mut impl Links, slot: impl Fn([i32; 3]) -> u32, op: Op) -> bool {
    match op {
        Op::Cut(site, to) => links.cut(slot(site), to),
        Op::Join(site, to) => {
            let other = to.from(site);
            let inside = (0..3).all(|a| (0..SIZE[a]).contains(&other[a]));
            inside && links.join(slot(site), to, slot(other)).is_ok()
        }
        Op::Carve(site) => links.carve(slot(site)),
        Op::Revive(site) => links.revive(slot(site)),
        Op::Pin(site, held) => links.pin(slot(site), held),
    }
}

fn unsigned(site: [i32; 3]) -> [u32; 3] {
    site.map(|x| u32::try_from(x).expect("inside"))
}

proptest! {
    /// Row LV-01: any sequence of edits leaves the same links in all three storages, and all are answered.
    #[test]
    fn lv_01_all_storages_agree_after_any_edits(ops in prop::collection::vec(op(), 1..120)) {
        let mut fast: Elements<f32> = block(SIZE, Limits::MEDIUM);
        let (mut small, mut list) = (compact(SIZE), listed(SIZE));
        let (sparse, dense) = (list.clone(), small.clone());
        let first = fast.clone();
        let in_fast = |site| first.at_site(site).expect("inside");
        let in_small = |site| dense.at_site(unsigned(site)).expect("inside");
        let in_list = |site| sparse.at_site(site).expect("inside");
        for op in ops {
            let did = act(&mut fast, in_fast, op);
            prop_assert_eq!(act(&mut small, in_small, op), did);
            prop_assert_eq!(act(&mut list, in_list, op), did);
        }
        let links = by_site(&fast, in_fast, |e| first.site(e));
        let of_small = |e| dense.site(e).map(|x| i32::try_from(x).expect("small"));
        prop_assert_eq!(&by_site(&small, in_small, of_small), &links);
        prop_assert_eq!(&by_site(&list, in_list, |e| sparse.site(e)), &links);
        for one_sided in [fast.one_sided(), small.one_sided(), list.one_sided()] {
            prop_assert_eq!(one_sided, None);
        }
        prop_assert_eq!(small.link_count(), fast.link_count());
        prop_assert_eq!(list.count(), fast.count());
    }

    /// The log on any storage: undo all the way back is the beginning, redo all the way the end, a replay
    /// of what it holds the same end on a fresh volume, and the hash is that of the links at every step.
    #[test]
    fn undo_redo_and_replay_meet_again(ops in prop::collection::vec(op(), 1..60)) {
        let first = compact(SIZE);
        let slot = |site| first.at_site(unsigned(site)).expect("inside");
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
            back.join(77, to, other).expect("free");
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

/// Row LV-02: two bytes an element, 32 MiB for 256 a side, cuts on both sides, and no deformation.
#[test]
fn lv_02_two_bytes_are_enough_to_cut_and_not_to_deform() {
    assert_eq!(size_of::<Voxel>(), 2);
    let full = compact([256; 3]);
    assert_eq!(full.bytes(), 32 << 20);
    let middle = full.at_site([128; 3]).expect("inside");
    assert!(
        Direction::ALL
            .iter()
            .all(|&to| full.neighbour(middle, to).is_some())
    );
    let mut small = compact([7, 5, 6]);
    assert_eq!(small.link_count(), 6 * 5 * 6 + 7 * 4 * 6 + 7 * 5 * 5);
    let at = small.at_site([3, 2, 2]).expect("inside");
    assert!(small.cut(at, Direction::Top) && !small.cut(at, Direction::Top));
    let above = small.at_site([3, 3, 2]).expect("inside");
    assert_eq!(small.neighbour(above, Direction::Bottom), None);
    assert_eq!(small.place(at, [0.1; 3]), Err(PlaceError::Fixed(at)));
    assert_eq!(small.place(9999, [0.1; 3]), Err(PlaceError::Gone(9999)));
    // the end of a row is no neighbour of the beginning of the next
    let (end, begin) = (
        small.at_site([6, 0, 0]).expect("in"),
        small.at_site([0, 1, 0]).expect("in"),
    );
    assert_eq!(small.neighbour(end, Direction::Right), None);
    let told = small.join(end, Direction::Right, begin);
    assert!(
        matches!(
            told,
            Err(JoinError::Taken { .. }) | Err(JoinError::Apart(..))
        ),
        "{told:?}"
    );
    assert!(Compact::new([3; 3], &[1; 26]).is_err());
}

/// Row LV-03: memory grows with what is there, not with the space that it is in; what was cut is joined
/// again on both sides.
#[test]
fn lv_03_a_list_holds_what_is_there() {
    assert_eq!(size_of::<Node>(), 44);
    let mut list = Listed::new([2.0, 1.0, 1.0]);
    let mut dense = 0;
    for site in sites([60; 3]) {
        let [x, y, z] = site.map(|v| v - 30);
        if (27 * 27..30 * 30).contains(&(x * x + y * y + z * z)) && (x + y) % 9 == 0 {
            list.paint(site, 7, [1, 2, 3, 4]).expect("free");
            dense += 1;
        }
    }
    assert!(dense > 100 && list.count() == dense && list.bytes() == 44 * dense);
    assert_eq!(list.one_sided(), None);
    let one = list.node(5).expect("there");
    assert_eq!((one.object(), one.rgba), (7, [1, 2, 3, 4]));
    assert_eq!(one.place_m[0], 2.0 * list.site(5)[0] as f32);
    list.place(5, [0.5, 0.0, 0.0]).expect("there");
    assert_eq!(
        list.node(5).expect("there").place_m[0],
        2.0 * list.site(5)[0] as f32 + 0.5
    );
    let mut cut = 0;
    for element in 0..list.slots() {
        for to in Direction::ALL {
            let Some(other) = list.neighbour(element, to) else {
                continue;
            };
            let both = |list: &Listed| {
                let back = to.opposite();
                [list.neighbour(element, to), list.neighbour(other, back)]
            };
            assert!(list.cut(element, to) && both(&list) == [None; 2]);
            list.join(element, to, other).expect("both are free");
            assert_eq!(both(&list), [Some(other), Some(element)]);
            cut += 1;
        }
    }
    assert!(cut > 100, "{cut}");
    // one more, far from where anybody would have made room
    let far = list
        .paint([90_000, -7, 4], 7, [0; 4])
        .expect("nobody is there");
    assert_eq!((far as usize, list.bytes()), (dense, 44 * (dense + 1)));
}

/// Row CL-05: elements added at random, whose number nobody knew, are linked to the neighbours that are there
/// and to nothing else.
#[test]
fn cl_05_what_is_painted_is_linked_to_its_neighbours_only() {
    let mut list = Listed::new([1.0; 3]);
    let mut draw = Draw::new(4);
    for _ in 0..3000 {
        let site = [draw.below(14), draw.below(14), draw.below(14)]
            .map(|v| i32::try_from(v).expect("small") - 7);
        let before = list.at_site(site);
        match list.paint(site, draw.below(2), [9; 4]) {
            Ok(element) => {
                assert!(before.is_none());
                for to in Direction::ALL {
                    let beside = list.at_site(to.from(site));
                    let same = beside.filter(|&e| {
                        list.node(e).map(Node::object) == list.node(element).map(Node::object)
                    });
                    assert_eq!(list.neighbour(element, to), same);
                }
            }
            Err(why) => {
                assert!(matches!(why, PaintError::Taken { element, .. } if Some(element) == before))
            }
        }
    }
    assert_eq!(list.one_sided(), None);
    assert!(list.count() > 1000 && list.link_count() > 1000);
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
        elements.set_colour(element, element.to_le_bytes());
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
    elements
        .join(5, Direction::Right, beside)
        .expect("as they were");
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
