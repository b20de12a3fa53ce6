//! Runs whose links are all alike, as those inside of one layer of a tissue: a sweep reads no stiffness of
//! each, and keeps their limits in straight vector code.
//!
//! Source: ours (row FU-07). All elements of a plain run are of one material, so are their neighbours in each
//! direction, and a direction is linked for all of them or none; but for the two ends, which may have no
//! neighbour in line.

use crate::elements::Elements;
use crate::weave::{Run, Weave};
use palpate_twin::edits::Direction;

/// What is known of the links of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Alike {
    /// Nothing yet, or not any more.
    #[default]
    Unknown,
    /// They are not alike.
    Mixed,
    /// They are.
    Plain(Plain),
}

/// The links of every element of a plain run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plain {
    /// Stiffness by direction \[N/m\]; 0 where there are none.
    pub(super) stiffness_npm: [f32; 6],
    /// Whether the last element has no right neighbour, and the first no left one.
    pub(super) bare: [bool; 2],
    /// Material of the elements.
    own: u8,
    /// Material of their neighbours by direction.
    kinds: [u8; 6],
}

/// Of runs that are not plain; nobody reads it.
pub(super) const NO_PLAIN: Plain = Plain {
    stiffness_npm: [0.0; 6],
    bare: [false; 2],
    own: 0,
    kinds: [0; 6],
};

impl Alike {
    /// Looks at a run.
    pub(super) fn of(elements: &Elements<f32>, weave: &Weave, run: &Run) -> Self {
        let slots = run.start..run.start + run.len;
        let own = elements.matter[run.start];
        if run.len < 2 || elements.matter[slots.clone()].iter().any(|&m| m != own) {
            return Self::Mixed;
        }
        let mut plain = Plain { own, ..NO_PLAIN };
        for (d, stiffness_npm) in weave.stiffness.iter().enumerate() {
            // the end that may have none, and one that tells of all others
            let (end, model) = match Direction::ALL[d] {
                Direction::Right => (slots.end - 1, slots.start),
                Direction::Left => (slots.start, slots.end - 1),
                _ => (usize::MAX, slots.start),
            };
            let of = |slot: usize| (stiffness_npm[slot], kind(elements, d, slot));
            if slots
                .clone()
                .any(|slot| slot != end && of(slot) != of(model))
            {
                return Self::Mixed;
            }
            (plain.stiffness_npm[d], plain.kinds[d]) = of(model);
            if d < 2 && of(end) != of(model) {
                if stiffness_npm[end] > 0.0 {
                    return Self::Mixed;
                }
                plain.bare[d] = true;
            }
        }
        Self::Plain(plain)
    }
}

/// Material of a neighbour; 0 without one.
fn kind(elements: &Elements<f32>, d: usize, slot: usize) -> u8 {
    let other = elements.neighbour[d][slot];
    elements.matter.get(other as usize).copied().unwrap_or(0)
}

impl Plain {
    /// Least and most of a neighbour's displacement beyond an element's own along an axis \[m\].
    #[inline(always)]
    pub(super) fn range_m(&self, elements: &Elements<f32>, d: usize, along: usize) -> (f32, f32) {
        let pair = [self.own, self.kinds[d]];
        elements.bonds().range_m(pair, Direction::ALL[d], along)
    }
}
