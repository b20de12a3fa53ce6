//! Changes of stiffness of a volume while it is touched.
//!
//! Source: ours, for teleop E16, as continuum tissue has it. An element has a factor on the modulus of its material; a
//! link is as stiff as its halves in series. Elements stay where they are, so a stiffer link holds more energy
//! at once. A passive stiffening takes that from what hands have lost in the tissue and was not given away so; what
//! cannot be paid is left out, and the report says which share was done. Links that a blade cuts or glue makes have
//! the stiffness of their elements as it is then; an undo of a stroke leaves it.

use crate::Linked;
use crate::elements::single;
use palpate_twin::edits::Direction;
use palpate_twin::stiffen::{Stiffening, checked};
use palpate_twin::twin::{Edit, EditError, EditReport};

/// Range of an element's factor.
const FACTORS: (f32, f32) = (0.02, 50.0);
/// Most tries to find the share that can be paid.
const TRIES: usize = 8;

impl Linked {
    /// Multiplies the stiffness of elements by a factor.
    pub(super) fn stiffen(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        let (change, factor, passive) = checked(edit)?;
        self.unstiffened.clone_from(&self.elements.stiffened);
        let before_j = self.links_j();
        let mut share = 1.0;
        let (elements, within) = self.scale(&change, factor, share);
        let mut energy_j = self.links_j() - before_j;
        let free_j = self.free_j();
        if passive {
            // energy grows less than in proportion where stiff meets soft
            for _ in 0..TRIES {
                if energy_j <= free_j {
                    break;
                }
                share *= 0.999 * free_j / energy_j;
                self.scale(&change, factor, share);
                energy_j = self.links_j() - before_j;
            }
            if energy_j > free_j {
                share = 0.0;
                self.scale(&change, factor, share);
                energy_j = 0.0;
            }
            self.account.granted_j += energy_j.max(0.0);
        }
        self.account.ledger.elastic_j += energy_j;
        self.account.ledger.edit_j += energy_j;
        self.reweave();
        Ok(EditReport {
            elements,
            energy_j,
            share: share * within,
        })
    }

    /// What hands have lost in the tissue, and was not given away to edits \[J\].
    pub(super) fn free_j(&self) -> f64 {
        (self.account.ledger.dissipated_j - self.account.granted_j).max(0.0)
    }

    /// Makes a share of a change to what elements were before; how many it is about, and how much of the whole change
    /// the range of the least limited of them allows: whoever goes on after a part must not overshoot with that one.
    fn scale(&mut self, change: &Stiffening, factor: f64, share: f64) -> (usize, f64) {
        let (mut count, mut within) = (0, 0.0_f64);
        for element in 0..self.elements.slots() {
            let part = self.part(change, element);
            if part <= 0.0 || !self.elements.alive(element) {
                continue;
            }
            let before = self.unstiffened[element as usize];
            let times = 1.0 + (factor - 1.0) * part;
            let free = before * single(times);
            let whole = free.clamp(FACTORS.0, FACTORS.1);
            let asked = f64::from((free - before).abs());
            let made = f64::from((whole - before).abs());
            within = within.max(if asked > 0.0 { made / asked } else { 1.0 });
            let own = before + single(share) * (whole - before);
            self.elements.stiffened[element as usize] = own;
            count += 1;
        }
        (count, if count == 0 { 1.0 } else { within })
    }

    /// Part of an element in a change, 0 to 1.
    fn part(&self, change: &Stiffening, element: u32) -> f64 {
        let rest_m = self.elements.rest_m(element);
        match change {
            Stiffening::Fading(centre_m, radius_m) => 1.0 - (rest_m - centre_m).norm() / radius_m,
            Stiffening::Region(shape) => f64::from(u8::from(shape.contains(&rest_m))),
        }
    }

    /// Energy of all links \[J\].
    fn links_j(&self) -> f64 {
        let mut sum_j = 0.0;
        for element in 0..self.elements.slots() {
            for to in Direction::UP {
                if let Some(other) = self.elements.neighbour(element, to) {
                    sum_j += crate::knife::stored_j(&self.elements, element, to, other);
                }
            }
        }
        sum_j
    }

    /// Lets sweeps know of all links anew, and look at all that changed.
    fn reweave(&mut self) {
        for element in 0..self.elements.slots() {
            let slot = element as usize;
            let changed = self.elements.stiffened[slot] != self.unstiffened[slot];
            let neighbours = Direction::ALL.map(|to| self.elements.neighbour(element, to));
            let all = neighbours.into_iter().flatten().chain([element]);
            if changed {
                all.clone()
                    .for_each(|end| self.weave.renew(&self.elements, end));
                all.for_each(|end| self.stirred(end, self.wake_m()));
            }
        }
        for &element in self.contact.touched.iter().flatten() {
            self.weave.gain[element as usize] = 0.0;
        }
    }
}
