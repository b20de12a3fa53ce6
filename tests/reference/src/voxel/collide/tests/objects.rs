//! LV-06: pieces as bodies of a map.

use crate::voxel::bodies::Draw;
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::occupancy::{Hit, Occupancy, Rule};
use crate::voxel::collide::shell;
use palpate_twin::Vec3;
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::knife::{Blade, Sweep};
use palpate_voxel::matter::Matter;
use palpate_voxel::surgery::Surgery;
use palpate_voxel::walk::Walk;

/// A blade along y at a place of the plane of x and z.
fn blade(x: f64, z: f64) -> Blade {
    Blade {
        from_m: Vec3::new(x, -50.0, z),
        to_m: Vec3::new(x + 0.3, 50.0, z),
    }
}

/// Which objects meet which if each goes a cell to the right, by the ids of their elements; every object is a body.
fn hits(elements: &Elements<f64>) -> std::collections::BTreeSet<(u32, u32)> {
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
    let mut elements = Elements::<f64>::new(frame, matters, &seeds).expect("fit");
    let mut surgery = Surgery::new(&mut elements, 10_000);
    assert_eq!(hits(&elements), [(4, 7)].into());
    // the left one is parted, and its parts get ids that nobody has
    let sweep = |x| Sweep {
        before: blade(x, 20.0),
        after: blade(x, -20.0),
    };
    let mut draw = Draw::new(5);
    for round in 0..40 {
        let x = [0.3, 1.3, 3.3, 4.3][draw.below(4) as usize];
        match draw.below(3) {
            0 => surgery.cut(&mut elements, &sweep(x), f64::INFINITY),
            1 => surgery.undo(&mut elements),
            _ => surgery.join(&mut elements, (Vec3::new(x, 1.5, 1.5), 4.0)),
        };
        let mut walk = Walk::new(elements.slots());
        let mut of_object = std::collections::BTreeMap::new();
        for element in 0..elements.slots() {
            let first = walk.piece(&elements, element).iter().min().copied();
            let known = *of_object.entry(elements.object(element)).or_insert(first);
            assert_eq!(known, first, "round {round}: one id, one piece");
        }
        let pieces = surgery.pieces().live();
        assert_eq!(pieces.len(), of_object.len(), "round {round}");
        let found = hits(&elements);
        // slices lie in a row: each but the last hits the next
        assert_eq!(found.len(), pieces.len() - 1, "round {round}: {found:?}");
    }
}
