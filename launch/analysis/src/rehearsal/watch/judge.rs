//! Judgement of post-conditions at the present tick.
//!
//! Source: ours. The tissue is measured on the specimen. Without one the value is unknown, and an unknown value fails.

use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::postcondition::{Postcondition, PostconditionKind, START_OF_SCRIPT};

use super::super::specimen::{LabelAmount, Specimen};
use super::RehearsalWatch;
use crate::summary::Check;

/// Returns true if two numbers are equal; None unless both are known.
fn same(one: Option<u64>, other: Option<u64>) -> Option<bool> {
    Some(one? == other?)
}

impl RehearsalWatch {
    /// Judges one post-condition at the present tick; `remote` as in [`RehearsalWatch::finish`].
    pub(super) fn judge(&mut self, after: &Postcondition, remote: Option<Option<u64>>) -> Check {
        let name = &after.name();
        let specimen = self.specimen.as_ref();
        let own = || specimen.map(Specimen::topology);
        match &after.kind {
            PostconditionKind::Pieces {
                count,
                elements_min,
            } => {
                let sizes = self.specimen.as_mut().map(Specimen::pieces);
                let large = |size: &usize| *size >= *elements_min as usize;
                let value = sizes.map(|sizes| sizes.into_iter().filter(large).count() as f64);
                Check::within(name, value, f64::from(*count), 0.0, "pieces")
            }
            PostconditionKind::Removed {
                label,
                elements,
                volume_m3,
                tolerance,
            } => {
                let amount = specimen.map(|specimen| specimen.amount(label.as_deref()));
                if let Some(elements) = *elements {
                    let gone = |a: LabelAmount| a.elements_before.saturating_sub(a.elements) as f64;
                    let (limit, share) = (f64::from(elements), *tolerance);
                    return Check::within(name, amount.map(gone), limit, share, "nodes");
                }
                let removed_mm3 = amount.map(|amount| amount.removed_m3 * 1e9);
                let limit_mm3 = volume_m3.unwrap_or(0.0) * 1e9;
                Check::within(name, removed_mm3, limit_mm3, *tolerance, "mm^3")
            }
            PostconditionKind::Left {
                label,
                elements_max,
            } => {
                let left = |specimen: &Specimen| specimen.amount(Some(label)).elements as f64;
                Check::at_most(name, specimen.map(left), f64::from(*elements_max), "nodes")
            }
            PostconditionKind::Margin { label, least_m } => {
                let margin_m = specimen.and_then(|specimen| specimen.margin_m(label));
                let margin_mm = margin_m.map(|margin_m| margin_m * 1e3);
                Check::at_least(name, margin_mm, least_m * 1e3, "mm")
            }
            PostconditionKind::Untouched { label } => {
                let damaged = specimen.map(|specimen| specimen.damaged_nodes(label));
                Check::is_zero(name, damaged, "nodes")
            }
            PostconditionKind::Crossing {
                cut,
                links_max,
                links_min,
                margin_m,
            } => {
                let value = self.crossing(cut, *margin_m);
                if let Some(least) = *links_min {
                    return Check::at_least(name, value, f64::from(least), "links");
                }
                Check::at_most(name, value, f64::from(links_max.unwrap_or(0)), "links")
            }
            PostconditionKind::Force { most_n } => {
                Check::at_most(name, Some(self.peak_force_n(after)), *most_n, "N")
            }
            PostconditionKind::EnergyBalance { share_max } => {
                Check::at_most(name, Some(self.unexplained_share()), *share_max, "of 1")
            }
            PostconditionKind::Undone { to } => {
                Check::is_true(name, same(self.topology_after(to), own()))
            }
            _ => Check::is_true(name, same(self.twin_topology, remote.unwrap_or_else(own))),
        }
    }

    /// Largest force on the hand in the step of a post-condition, or in the whole session \[N\].
    fn peak_force_n(&self, after: &Postcondition) -> f64 {
        let step = after.step.as_ref();
        let step = step.and_then(|step| self.params.index_of(step));
        step.map_or(self.hand.peak_n, |at| self.outcome.steps[at].peak_force_n)
    }

    fn topology_after(&self, step: &str) -> Option<u64> {
        let index = match self.params.index_of(step) {
            Some(index) => index + 1,
            None if step == START_OF_SCRIPT => 0,
            None => return None,
        };
        self.topologies.get(index).copied().flatten()
    }

    /// Counts the links that cross the blade path of a step, at a margin \[m\] from its edge.
    fn crossing(&self, cut: &str, margin_m: Option<f64>) -> Option<f64> {
        let specimen = self.specimen.as_ref()?;
        let swept = self.blade_paths.get(self.params.index_of(cut)?)?;
        let widest_m = specimen.spacing_m.into_iter().fold(0.0, f64::max);
        let margin_m = margin_m.unwrap_or(widest_m);
        let crossing = specimen
            .links_m()
            .filter(|&(a_m, b_m)| swept.crosses(a_m, b_m, margin_m));
        Some(crossing.count() as f64)
    }

    /// Share of the tissue's energy exchange that its balance does not explain.
    fn unexplained_share(&self) -> f64 {
        let ledger = &self.ledger;
        let supplied_j = ledger.tool_work_j + ledger.edit_j + ledger.mass_j - ledger.dissipated_j;
        let stored_j = ledger.stored_j() - self.stored_first_j.unwrap_or(0.0);
        let exchanged_j =
            ledger.tool_work_j.abs() + ledger.edit_j.abs() + ledger.dissipated_j.abs();
        (stored_j - supplied_j).abs() / exchanged_j.max(TOLERANCE_J)
    }
}
