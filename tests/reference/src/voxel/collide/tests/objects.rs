//! LV-06: pieces as bodies of a map.

use crate::voxel::bodies::Draw;
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::occupancy::{Hit, Occupancy, Rule};
use crate::voxel::collide::shell;
use palpate_twin::{Edit, Tissue as _, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::matter::Matter;
use palpate_voxel::walk::Walk;
use palpate_voxel::{Linked, LinkedParams};

/// Which objects meet which if each goes a cell to the right, by the ids of their elements; every object is a body.
fn hits(elements: &Elements<f32>) -> std::collections::BTreeSet<(u32, u32)> {
    let grid = Grid::new(Vec3::repeat(-9.5), 1.0, [32; 3]).expect("small");
    let mut map = Occupancy::hashed(grid);
    let mut bodies = std::collections::BTreeMap::new();
    for element in shell::all(elements) {
        let of: &mut Vec<u32> = bodies.entry(elements.object(element)).or_default();
        of.push(element);
    }
    let mut ids = Vec::new();
    for (&object, members) in &bodies {
        map.add(&shell::placed(elements, members)).expect("inside");
        ids.push(object);
    }
    let (mut found, mut own) = (std::collections::BTreeSet::new(), 0);
    for body in 0..u32::try_from(ids.len()).expect("few") {
        let mut copy = map.clone();
        let told = |hit: Hit| {
            let [mover, other] = [hit.mover, hit.other].map(|who| elements.object(who.element));
            assert_eq!(mover, ids[hit.mover.body as usize]);
            assert_eq!(other, ids[hit.other.body as usize]);
            own += usize::from(mover == other);
            found.insert((mover, other));
        };
        let right = Vec3::x();
        copy.try_move(body, Rule::Detect, |_, at_m| at_m + right, told)
            .expect("inside");
    }
    assert_eq!(own, 0, "a body does not hit itself");
    found
}

/// Row LV-06: two objects that touch report hits of each other only, by the ids of their elements; after splits and
/// joins every piece has an id that no other has, and hits go by these.
#[test]
fn lv_06_objects_that_touch_hit_each_other_and_ids_stay_unique() {
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let seeds: Vec<Seed> = (0..6 * 4 * 4)
        .map(|nth| [nth % 6, nth / 6 % 4, nth / 24])
        .map(|site| Seed {
            site,
            matter: 0,
            object: 4 + u32::from(site[0] >= 3) * 3,
        })
        .collect();
    let matters = vec![Matter::of_young("test", 2e3, 0.0)];
    let elements = Elements::<f32>::new(frame, matters, &seeds).expect("fit");
    let mut tissue = Linked::new(elements, LinkedParams::default()).expect("fit");
    assert_eq!(hits(tissue.elements()), [(4, 7)].into());
    // the left one is parted, and its parts get ids that nobody has
    let mut draw = Draw::new(5);
    let mut most = 0;
    for round in 0..60 {
        let edit = match draw.below(4) {
            0 | 1 => Edit::Cut {
                point_m: Vec3::x() * [0.3, 1.3, 3.3, 4.3][draw.below(4) as usize],
                normal: Vec3::x(),
            },
            2 => Edit::Undo,
            _ => Edit::Redo,
        };
        tissue.edit(&edit).expect("can");
        let elements = tissue.elements();
        let mut walk = Walk::new(elements.slots());
        let mut of_object = std::collections::BTreeMap::new();
        for element in 0..elements.slots() {
            let first = walk.piece(elements, element).iter().min().copied();
            let known = *of_object.entry(elements.object(element)).or_insert(first);
            assert_eq!(known, first, "round {round}: one id, one piece");
        }
        let pieces: std::collections::BTreeSet<_> = of_object.values().collect();
        assert_eq!(
            pieces.len(),
            of_object.len(),
            "round {round}: one piece, one id"
        );
        most = most.max(pieces.len());
        let found = hits(elements);
        // slices lie in a row: each but the last hits the next
        assert_eq!(found.len(), pieces.len() - 1, "round {round}: {found:?}");
    }
    assert!(most > 3, "{most}");
}
