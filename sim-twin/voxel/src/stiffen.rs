//! Edits of stiffness while tools are in contact.
//!
//! Source: ours, for teleop E16, as in the continuum tissue. A node has a factor on the modulus of its material; a
//! link is as stiff as its halves in series. Nodes keep their places, so a stiffer link stores more energy at once. A
//! passive edit takes that energy from what was dissipated and not granted before. If this does not suffice, the edit
//! is applied in part, and its report gives the fraction. Links that are cut or joined later have the stiffness of
//! their nodes at that time; an undo does not change it.

use crate::VoxelModel;
use crate::knife::upward_link_energies_j;
use crate::nodes::to_f32;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::shape::RegionShape;
use palpate_twin::stiffness_edit::validate_scale;
use palpate_twin::twin::{Edit, EditError, EditReport};

/// Range of a node's factor.
const FACTORS: (f32, f32) = (0.02, 50.0);
/// Greatest number of trials to find the fraction that can be paid.
const TRIES: usize = 8;

impl VoxelModel {
    /// Multiplies the stiffness of nodes by a factor.
    pub(super) fn stiffen(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        let (shape, factor, passive) = validate_scale(edit)?;
        self.stiffness_before
            .clone_from(&self.nodes.stiffness_factor);
        let before_j = self.total_link_energy_j();
        let mut share = 1.0;
        let (nodes, within) = self.scale_stiffness(&shape, factor, share);
        let mut energy_j = self.total_link_energy_j() - before_j;
        let free_j = self.spendable_j();
        if passive {
            // the energy grows less than in proportion at stiff-soft boundaries
            for _ in 0..TRIES {
                if energy_j <= free_j {
                    break;
                }
                share *= 0.999 * free_j / energy_j;
                self.scale_stiffness(&shape, factor, share);
                energy_j = self.total_link_energy_j() - before_j;
            }
            if energy_j > free_j {
                share = 0.0;
                self.scale_stiffness(&shape, factor, share);
                energy_j = 0.0;
            }
            self.balance.granted_j += energy_j.max(0.0);
        }
        self.balance.ledger.elastic_j += energy_j;
        self.balance.ledger.edit_j += energy_j;
        self.update_stencil();
        Ok(EditReport {
            elements: nodes,
            energy_j,
            applied_fraction: share * within,
        })
    }

    /// Returns the dissipated energy that no edit was granted yet \[J\].
    pub(super) fn spendable_j(&self) -> f64 {
        (self.balance.ledger.dissipated_j - self.balance.granted_j).max(0.0)
    }

    /// Applies a share of the change to the stiffness before; returns the number of nodes and the fraction that the
    /// factor's range allows. The fraction is that of the least limited node, so that a repeated edit does not
    /// overshoot there.
    fn scale_stiffness(&mut self, shape: &RegionShape, factor: f64, share: f64) -> (usize, f64) {
        let (mut count, mut within) = (0, 0.0_f64);
        let times = to_f32(1.0 + (factor - 1.0));
        for node in 0..self.nodes.slots() {
            let inside = shape.contains(&self.nodes.rest_m(node));
            if !inside || !self.nodes.alive(node) {
                continue;
            }
            let before = self.stiffness_before[node as usize];
            let free = before * times;
            let clamped = free.clamp(FACTORS.0, FACTORS.1);
            let requested = f64::from((free - before).abs());
            let applied = f64::from((clamped - before).abs());
            within = within.max(if requested > 0.0 {
                applied / requested
            } else {
                1.0
            });
            let own = before + to_f32(share) * (clamped - before);
            self.nodes.stiffness_factor[node as usize] = own;
            count += 1;
        }
        (count, if count == 0 { 1.0 } else { within })
    }

    /// Returns the energy of all links \[J\].
    fn total_link_energy_j(&self) -> f64 {
        let all = 0..self.nodes.slots();
        all.flat_map(|node| upward_link_energies_j(&self.nodes, node))
            .sum()
    }

    /// Updates the stencil of all changed links, and unsettles their nodes.
    fn update_stencil(&mut self) {
        for node in 0..self.nodes.slots() {
            let slot = node as usize;
            let changed = self.nodes.stiffness_factor[slot] != self.stiffness_before[slot];
            let neighbours = NeighbourDirection::ALL.map(|to| self.nodes.neighbour(node, to));
            let all = neighbours.into_iter().flatten().chain([node]);
            if changed {
                all.clone()
                    .for_each(|end| self.stencil.update_node(&self.nodes, end));
                all.for_each(|end| self.record_node_step(end, self.activation_step_m()));
            }
        }
        self.exclude_touched();
    }
}
