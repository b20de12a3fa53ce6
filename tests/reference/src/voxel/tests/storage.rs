//! Tests of the three storages: counts, memory, and equal links after equal edits.

use proptest::prelude::*;

use crate::voxel::compact_grid::{CompactGrid, CompactVoxel};
use crate::voxel::node_list::{ListedNode, NodeList, PaintError};
use crate::voxel::storage::{JoinError, PlaceError, VoxelStorage};
use crate::voxel::test_volumes::{SourceLimits as _, TestRng, block};
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

const SIZE: [i32; 3] = [4, 3, 3];

/// Iterates over the sites of a box.
fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

fn compact(size: [i32; 3]) -> CompactGrid {
    let size = size.map(|n| u32::try_from(n).expect("small"));
    let count = size.iter().product::<u32>() as usize;
    CompactGrid::new(size, &vec![9; count]).expect("fit")
}

fn listed(size: [i32; 3]) -> NodeList {
    let mut list = NodeList::new([1.0; 3]);
    for site in sites(size) {
        list.paint(site, 0, [1, 2, 3, 4]).expect("free");
    }
    list
}

/// Flags of a node (alive, pinned), and the sites of its neighbours.
type Of = (bool, bool, [Option<[i32; 3]>; 6]);

/// Returns the links by site, to compare storages with different slots.
fn by_site(
    storage: &impl VoxelStorage,
    slot: impl Fn([i32; 3]) -> u32,
    site: impl Fn(u32) -> [i32; 3],
) -> Vec<Of> {
    let of = |at| {
        let node = slot(at);
        let beside = NeighbourDirection::ALL.map(|to| storage.neighbour(node, to).map(&site));
        (storage.alive(node), storage.pinned(node), beside)
    };
    sites(SIZE).map(of).collect()
}

/// An edit by site.
#[derive(Debug, Clone, Copy)]
enum Op {
    Cut([i32; 3], NeighbourDirection),
    Join([i32; 3], NeighbourDirection),
    Carve([i32; 3]),
    Revive([i32; 3]),
    Pin([i32; 3], bool),
}

fn op() -> impl Strategy<Value = Op> {
    let site = (0..SIZE[0], 0..SIZE[1], 0..SIZE[2]).prop_map(|(x, y, z)| [x, y, z]);
    let to = (0..6_usize).prop_map(|d| NeighbourDirection::ALL[d]);
    (0..7_u8, site, to, any::<bool>()).prop_map(|(kind, site, to, held)| match kind {
        0 | 1 => Op::Cut(site, to),
        2 | 3 => Op::Join(site, to),
        4 => Op::Carve(site),
        5 => Op::Revive(site),
        _ => Op::Pin(site, held),
    })
}

/// Applies an edit; returns true if it changed anything. A join is of grid neighbours only.
fn act(storage: &mut impl VoxelStorage, slot: impl Fn([i32; 3]) -> u32, op: Op) -> bool {
    match op {
        Op::Cut(site, to) => storage.cut(slot(site), to),
        Op::Join(site, to) => {
            let other = to.neighbour_site(site);
            let inside = (0..3).all(|a| (0..SIZE[a]).contains(&other[a]));
            inside && storage.join(slot(site), to, slot(other)).is_ok()
        }
        Op::Carve(site) => storage.carve(slot(site)),
        Op::Revive(site) => storage.revive(slot(site)),
        Op::Pin(site, held) => storage.set_pinned(slot(site), held),
    }
}

fn unsigned(site: [i32; 3]) -> [u32; 3] {
    site.map(|x| u32::try_from(x).expect("inside"))
}

proptest! {
    /// Row LV-01: any sequence of edits leaves equal symmetric links in all three storages.
    #[test]
    fn lv_01_all_storages_agree_after_random_edits(ops in prop::collection::vec(op(), 1..120)) {
        let mut fast: VoxelNodes<f32> = block(SIZE, BondLimits::MEDIUM);
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
        let storage = by_site(&fast, in_fast, |e| first.site(e));
        let of_small = |e| dense.site(e).map(|x| i32::try_from(x).expect("small"));
        prop_assert_eq!(&by_site(&small, in_small, of_small), &storage);
        prop_assert_eq!(&by_site(&list, in_list, |e| sparse.site(e)), &storage);
        for one_sided in [fast.asymmetric_link(), small.asymmetric_link(), list.asymmetric_link()] {
            prop_assert_eq!(one_sided, None);
        }
        prop_assert_eq!(small.link_count(), VoxelStorage::link_count(&fast));
        prop_assert_eq!(list.count(), fast.count());
    }
}

/// Row LV-02: two bytes per node, 32 MiB for 256 per side, cuts on both sides, and no deformation.
#[test]
fn lv_02_compact_grid_supports_cuts_but_no_deformation() {
    assert_eq!(size_of::<CompactVoxel>(), 2);
    let full = compact([256; 3]);
    assert_eq!(full.bytes(), 32 << 20);
    let middle = full.at_site([128; 3]).expect("inside");
    assert!(
        NeighbourDirection::ALL
            .iter()
            .all(|&to| full.neighbour(middle, to).is_some())
    );
    let mut small = compact([7, 5, 6]);
    assert_eq!(small.link_count(), 6 * 5 * 6 + 7 * 4 * 6 + 7 * 5 * 5);
    let at = small.at_site([3, 2, 2]).expect("inside");
    assert!(small.cut(at, NeighbourDirection::Top) && !small.cut(at, NeighbourDirection::Top));
    let above = small.at_site([3, 3, 2]).expect("inside");
    assert_eq!(small.neighbour(above, NeighbourDirection::Bottom), None);
    assert_eq!(
        small.set_displacement_m(at, [0.1; 3]),
        Err(PlaceError::Fixed(at))
    );
    assert_eq!(
        small.set_displacement_m(9999, [0.1; 3]),
        Err(PlaceError::Gone(9999))
    );
    // the end of a row is no neighbour of the beginning of the next
    let (end, begin) = (
        small.at_site([6, 0, 0]).expect("in"),
        small.at_site([0, 1, 0]).expect("in"),
    );
    assert_eq!(small.neighbour(end, NeighbourDirection::Right), None);
    let message = small.join(end, NeighbourDirection::Right, begin);
    assert!(
        matches!(
            message,
            Err(JoinError::Taken { .. }) | Err(JoinError::Apart(..))
        ),
        "{message:?}"
    );
    assert!(CompactGrid::new([3; 3], &[1; 26]).is_err());
}

/// Row LV-03: memory grows with the nodes, not with the space; a cut link can be joined again on both sides.
#[test]
fn lv_03_list_memory_grows_with_nodes() {
    assert_eq!(size_of::<ListedNode>(), 44);
    let mut list = NodeList::new([2.0, 1.0, 1.0]);
    let mut dense = 0;
    for site in sites([60; 3]) {
        let [x, y, z] = site.map(|v| v - 30);
        if (27 * 27..30 * 30).contains(&(x * x + y * y + z * z)) && (x + y) % 9 == 0 {
            list.paint(site, 7, [1, 2, 3, 4]).expect("free");
            dense += 1;
        }
    }
    assert!(dense > 100 && list.count() == dense && list.bytes() == 44 * dense);
    assert_eq!(list.asymmetric_link(), None);
    let one = list.node(5).expect("there");
    assert_eq!((one.object(), one.rgba), (7, [1, 2, 3, 4]));
    assert_eq!(one.place_m[0], 2.0 * list.site(5)[0] as f32);
    list.set_displacement_m(5, [0.5, 0.0, 0.0]).expect("there");
    assert_eq!(
        list.node(5).expect("there").place_m[0],
        2.0 * list.site(5)[0] as f32 + 0.5
    );
    let mut cut = 0;
    for node in 0..list.slots() {
        for to in NeighbourDirection::ALL {
            let Some(other) = list.neighbour(node, to) else {
                continue;
            };
            let both = |list: &NodeList| {
                let back = to.opposite();
                [list.neighbour(node, to), list.neighbour(other, back)]
            };
            assert!(list.cut(node, to) && both(&list) == [None; 2]);
            list.join(node, to, other).expect("both are free");
            assert_eq!(both(&list), [Some(other), Some(node)]);
            cut += 1;
        }
    }
    assert!(cut > 100, "{cut}");
    // one more, far beyond the others
    let far = list
        .paint([90_000, -7, 4], 7, [0; 4])
        .expect("nobody is there");
    assert_eq!((far as usize, list.bytes()), (dense, 44 * (dense + 1)));
}

/// Row CL-05: nodes added in random order and number are linked to their existing neighbours and to nothing else.
#[test]
fn cl_05_painted_nodes_link_to_their_neighbours_only() {
    let mut list = NodeList::new([1.0; 3]);
    let mut rng = TestRng::new(4);
    for _ in 0..3000 {
        let site = [rng.below(14), rng.below(14), rng.below(14)]
            .map(|v| i32::try_from(v).expect("small") - 7);
        let before = list.at_site(site);
        match list.paint(site, rng.below(2), [9; 4]) {
            Ok(node) => {
                assert!(before.is_none());
                for to in NeighbourDirection::ALL {
                    let beside = list.at_site(to.neighbour_site(site));
                    let same = beside.filter(|&e| {
                        list.node(e).map(ListedNode::object)
                            == list.node(node).map(ListedNode::object)
                    });
                    assert_eq!(list.neighbour(node, to), same);
                }
            }
            Err(why) => {
                assert!(matches!(why, PaintError::Taken { node, .. } if Some(node) == before))
            }
        }
    }
    assert_eq!(list.asymmetric_link(), None);
    assert!(list.count() > 1000 && list.link_count() > 1000);
}
