//! Where a volume comes to rest, all at once: the least energy of its links, and what holds cost there.
//!
//! Source: seed-001 section 3.4.2, the weighted rule's fixed point, which sweeps reach after as many of them
//! as the square of the size; ours is the solve by conjugate gradients. Limits are not looked at: this is the
//! linear reference of forces, such as those of a punch or over a nodule.

use crate::voxel::propagation::usable;
use crate::voxel::to_f64;
use palpate_twin::Vec3;
use palpate_twin::conjugate::{Operator, Room, Solved};
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::Control;

/// The links as a matrix: what they push back with.
struct Pulls<'a, R> {
    elements: &'a Elements<R>,
    /// Stiffness by direction and slot \[N/m\].
    stiffness: [Vec<f64>; 6],
    /// One over the sum of it \[m/N\]; 0 of who does not move.
    gain: Vec<f64>,
}

impl<R: Real> Pulls<'_, R> {
    /// What the links of an element pull at it with if all are displaced so \[N\].
    fn pull(&self, x: &[Vec3], slot: usize) -> Vec3 {
        let mut sum = Vec3::zeros();
        for (to, k) in Direction::ALL.into_iter().zip(&self.stiffness) {
            // no more than slots
            if let Some(other) = self.elements.neighbour(slot as u32, to) {
                sum += (x[other as usize] - x[slot]) * k[slot];
            }
        }
        sum
    }
}

impl<R: Real> Operator for Pulls<'_, R> {
    fn multiply(&self, x: &[Vec3], out: &mut [Vec3]) {
        for (slot, out) in out.iter_mut().enumerate() {
            // who is held has x = 0, and stays
            *out = if self.gain[slot] > 0.0 {
                -self.pull(x, slot)
            } else {
                x[slot]
            };
        }
    }

    fn precondition(&self, x: &[Vec3], out: &mut [Vec3]) {
        for ((out, x), &gain) in out.iter_mut().zip(x).zip(&self.gain) {
            *out = if gain > 0.0 { x * gain } else { *x };
        }
    }
}

/// Puts controls where they must be and all others where their links pull no more; pinned elements and
/// those without links stay. `tolerance` is the residual over that before.
///
/// Solves in double precision, from where the elements are.
pub fn settle<R: Real>(
    elements: &mut Elements<R>,
    controls: &[Control<R>],
    tolerance: f64,
    limit: usize,
) -> Solved {
    let slots = elements.slots() as usize;
    let mut held = vec![false; slots];
    for control in controls {
        if !usable(elements, control) {
            continue;
        }
        held[control.element as usize] = true;
        for (moved_m, to_m) in elements.moved_m.iter_mut().zip(control.to_m) {
            moved_m[control.element as usize] = to_m;
        }
    }
    let stiffness = Direction::ALL.map(|to| {
        let all = 0..elements.slots();
        all.map(|element| stiffness_npm(elements, element, to))
            .collect::<Vec<f64>>()
    });
    let gain = (0..elements.slots()).map(|element| {
        let slot = element as usize;
        let sum: f64 = stiffness.iter().map(|k| k[slot]).sum();
        let free = sum > 0.0 && !held[slot] && !elements.pinned(element);
        if free { 1.0 / sum } else { 0.0 }
    });
    let pulls = Pulls {
        elements,
        gain: gain.collect(),
        stiffness,
    };
    let now: Vec<Vec3> = (0..elements.slots())
        .map(|element| Vec3::from(elements.moved_m(element).map(to_f64)))
        .collect();
    let wanted: Vec<Vec3> = (0..slots)
        .map(|slot| {
            if pulls.gain[slot] > 0.0 {
                pulls.pull(&now, slot)
            } else {
                Vec3::zeros()
            }
        })
        .collect();
    let mut way = vec![Vec3::zeros(); slots];
    let solved = Room::new(slots).solve(&pulls, &wanted, &mut way, tolerance, limit);
    for (along, moved_m) in elements.moved_m.iter_mut().enumerate() {
        for (slot, moved_m) in moved_m.iter_mut().enumerate() {
            *moved_m = R::of(now[slot][along] + way[slot][along]);
        }
    }
    solved
}

/// What the links of an element pull at it with \[N\] (section 3.4.2): whoever holds it there pushes back
/// with as much.
#[must_use]
pub fn pull_n<R: Real>(elements: &Elements<R>, element: u32) -> Vec3 {
    let mut sum_n = Vec3::zeros();
    for to in Direction::ALL {
        if let Some(other) = elements.neighbour(element, to) {
            let [own, other] = [element, other].map(|e| elements.moved_m(e).map(to_f64));
            let apart_m = Vec3::from(other) - Vec3::from(own);
            sum_n += apart_m * stiffness_npm(elements, element, to);
        }
    }
    sum_n
}

/// Stiffness of a link \[N/m\]; 0 where there is none.
fn stiffness_npm<R: Real>(elements: &Elements<R>, element: u32, to: Direction) -> f64 {
    elements.neighbour(element, to).map_or(0.0, |other| {
        to_f64(elements.stiffness_npm(element, other, to.axis()))
    })
}
