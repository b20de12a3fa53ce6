//! Propagation in closed form: where every element of a block must be, by one clamp each.
//!
//! Source: seed-001 section 3.3.4, derived there: with one control, the links of a box of one material ask of
//! every element to stay within bounds around the control that depend only on the offset between them on the
//! lattice. It is the judge of every other propagation, and the quickest for a grip that is held.

use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::Control;

/// Least and most of an element's displacement beyond the control's \[m\], by axis of the world, for an
/// element `offset` sites away in a box of `matter`.
#[must_use]
pub fn around<R: Real>(elements: &Elements<R>, matter: u8, offset: [i32; 3]) -> [(R, R); 3] {
    std::array::from_fn(|along| {
        let mut sum = (R::zero(), R::zero());
        for (axis, &steps) in offset.iter().enumerate() {
            let bond = elements.bonds().of(matter, matter, axis);
            let count = R::of(f64::from(steps.abs()));
            // downwards, the neighbour sees the bond from its other end
            let (least, most) = if steps >= 0 {
                (bond.least_m[along], bond.most_m[along])
            } else {
                (-bond.most_m[along], -bond.least_m[along])
            };
            sum = (sum.0 + count * least, sum.1 + count * most);
        }
        sum
    })
}

/// Moves a box of one material so that the control is where it must be: exact only of such a box, from
/// a state that keeps all limits.
pub fn clamp<R: Real>(elements: &mut Elements<R>, control: &Control<R>) {
    let (matter, centre) = (
        elements.matter(control.element),
        elements.site(control.element),
    );
    for element in 0..elements.slots() {
        let site = elements.site(element);
        let offset = std::array::from_fn(|axis| site[axis] - centre[axis]);
        let bounds = around(elements, matter, offset);
        for (along, (least, most)) in bounds.into_iter().enumerate() {
            let moved_m = &mut elements.moved_m[along][element as usize];
            let to_m = control.to_m[along];
            *moved_m = (*moved_m).clamp(to_m + least, to_m + most);
        }
    }
}
