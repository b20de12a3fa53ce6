//! Links that break of an impact.
//!
//! Source: seed-001 row CL-04 and section 3.5 (strength of links); the rule is ours: the contact of an element has
//! an energy, and whatever this can pay for is torn from the element, its weakest link first. So an impact that stores less
//! than the weakest link's toughness breaks nothing, and what breaks is paid.

use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// What an impact broke.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Broken {
    /// Links.
    pub links: usize,
    /// Their toughness, to be taken out of the contact's energy \[J\].
    pub paid_j: f64,
}

/// Breaks what the energies of contacts \[J\], one an element, can pay for, in their order. Links without toughness do
/// not break: nothing says what they would cost.
pub fn shatter<R: Real>(
    elements: &mut Elements<R>,
    contacts: impl IntoIterator<Item = (u32, f64)>,
) -> Broken {
    let mut broken = Broken::default();
    for (element, mut left_j) in contacts {
        while let Some((to, tough_j)) = weakest(elements, element) {
            if left_j.is_nan() || tough_j > left_j {
                break;
            }
            elements.cut(element, to);
            left_j -= tough_j;
            broken.links += 1;
            broken.paid_j += tough_j;
        }
    }
    broken
}

/// An element's link that is the cheapest to break, and for how much \[J\].
fn weakest<R: Real>(elements: &Elements<R>, element: u32) -> Option<(Direction, f64)> {
    if !elements.alive(element) {
        return None;
    }
    let mut weakest: Option<(Direction, f64)> = None;
    for to in Direction::ALL {
        let Some(other) = elements.neighbour(element, to) else {
            continue;
        };
        let pair = [elements.matter(element), elements.matter(other)];
        let tough_j = elements.bonds().of(pair[0], pair[1], to.axis()).tough_j;
        if tough_j > 0.0 && weakest.is_none_or(|(_, least_j)| tough_j < least_j) {
            weakest = Some((to, tough_j));
        }
    }
    weakest
}
