//! The cut as the source prints it, with links drawn into cells.

use crate::voxel::bodies::Printed as _;
use crate::voxel::bodies::{block, volume};
use crate::voxel::links::Links as _;
use crate::voxel::raster::{Cell, Drawn, Met, Raster, line};
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;
use palpate_voxel::limits::Limits;
use palpate_voxel::walk::Walk;

/// Elements along x at a distance of three cells, in rows of `size`.
fn stretched(size: [i32; 3]) -> Elements<f64> {
    let mut elements = volume(size, &[Limits::LOOSE], |_| true, |_| 0);
    for element in 0..elements.slots() {
        let site = elements.site(element).map(f64::from);
        elements
            .place(element, site.map(|x| 2.0 * x))
            .expect("there");
    }
    elements
}

/// Row TP-03: every cell of the line between two elements that are three cells apart names their link, and
/// a knife that goes between them cuts it.
#[test]
fn tp_03_cells_between_neighbours_name_their_link() {
    let mut elements = stretched([2, 2, 1]);
    let raster = Raster::new(&elements, 1.0, Drawn::All);
    assert_eq!(raster.written(), 8);
    for (a, to) in [(0, Direction::Right), (0, Direction::Top)] {
        let b = elements.neighbour(a, to).expect("linked");
        let cells = line(raster.of(&elements.at_m(a)), raster.of(&elements.at_m(b)));
        assert_eq!(cells.len(), 4);
        for &cell in &cells[1..3] {
            assert_eq!(raster.cell(cell), Some(&Cell::Links(vec![(a, to)])));
        }
        assert_eq!(raster.cell(cells[0]), Some(&Cell::Element(a)));
    }
    let slanted = line([0, 0, 0], [7, -3, 2]);
    assert_eq!((slanted.len(), slanted[7]), (8, [7, -3, 2]));
    assert!(
        slanted
            .windows(2)
            .all(|pair| (0..3).all(|a| (pair[0][a] - pair[1][a]).abs() <= 1))
    );
    let mut raster = raster;
    let mut met = Vec::new();
    raster.knife(
        &mut elements,
        &line([1, -3, 0], [1, 6, 0]),
        |elements, what| {
            met.push(what);
            if let Met::Link(element, to) = what {
                elements.cut(element, to);
            }
        },
    );
    assert_eq!(met.len(), 2);
    assert_eq!((elements.link_count(), elements.count()), (2, 4));
    // at rest there is no room between neighbours: the printed knife takes a layer of elements away
    let mut packed: Elements<f64> = block([5, 5, 1], Limits::MEDIUM);
    let mut raster = Raster::new(&packed, 1.0, Drawn::All);
    assert_eq!(raster.written(), 0);
    raster.knife(
        &mut packed,
        &line([2, -1, 0], [2, 6, 0]),
        |elements, what| {
            if let Met::Element(element) = what {
                elements.carve(element);
            }
        },
    );
    assert_eq!(packed.count(), 20);
}

/// Row TP-04: with the links of the surface alone, and what every cut lays open, a knife that enters from
/// outside cuts the same, and the cells that are written go with the surface.
#[test]
fn tp_04_links_of_the_surface_are_enough_for_a_knife_from_outside() {
    let mut written = Vec::new();
    for n in [5_i32, 10] {
        let mut path = Vec::new();
        let far = 3 * n;
        for z in (-2..=far).rev() {
            path.extend(line([4, -2, z], [5, far, z]));
        }
        let mut results = Vec::new();
        for drawn in [Drawn::All, Drawn::Surface] {
            let mut elements = stretched([n, n, n]);
            let mut raster = Raster::new(&elements, 1.0, drawn);
            written.push(raster.written());
            raster.knife(&mut elements, &path, |elements, what| match what {
                Met::Element(element) => drop(elements.carve(element)),
                Met::Link(element, to) => drop(elements.cut(element, to)),
            });
            let mut walk = Walk::new(elements.slots());
            assert!(walk.piece(&elements, 0).len() < elements.count());
            results.push(elements);
        }
        assert!(results[0] == results[1]);
    }
    let [all_5, skin_5, all_10, skin_10] = written[..] else {
        panic!("four")
    };
    assert_eq!((all_5, all_10), (2 * 3 * 25 * 4, 2 * 3 * 100 * 9));
    assert!(skin_10 < all_10 && skin_10 < 6 * skin_5, "{written:?}");
    let ratio = skin_10 as f64 / skin_5 as f64;
    assert!((3.5..5.5).contains(&ratio), "{written:?}");
}
