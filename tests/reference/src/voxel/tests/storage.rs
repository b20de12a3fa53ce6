//! The three ways of storing a volume: counts, memory, and the same links after the same edits.

use proptest::prelude::*;

use crate::voxel::bodies::{Draw, Printed as _, block};
use crate::voxel::compact::{Compact, Voxel};
use crate::voxel::links::{JoinError, Links, PlaceError};
use crate::voxel::listed::{Listed, Node, PaintError};
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;
use palpate_voxel::limits::Limits;

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
        prop_assert_eq!(small.link_count(), Links::link_count(&fast));
        prop_assert_eq!(list.count(), fast.count());
    }
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
