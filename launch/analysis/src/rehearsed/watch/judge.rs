//! Whether a post-condition holds, now.
//!
//! Source: ours. What there is to see of the tissue is seen on the specimen; without one nothing is known, and what is
//! not known does not hold.

use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::after::{After, START, What};

use super::super::specimen::Specimen;
use super::Watch;
use crate::summary::Check;

/// Whether two numbers are the same, as the value of a check.
fn same(one: Option<u64>, other: Option<u64>) -> Option<f64> {
    Some(f64::from(u8::from(one? == other?)))
}

impl Watch {
    /// One post-condition, now; `remote` as in [`Watch::finish`].
    pub(super) fn judge(&mut self, after: &After, remote: Option<Option<u64>>) -> Check {
        let name = after.name();
        if let Some(check) = self.of_specimen(&after.what, &name) {
            return check;
        }
        let step = after.step.as_ref();
        let step = step.and_then(|step| self.params.index_of(step));
        let own = self.specimen.as_ref().map(Specimen::topology);
        match &after.what {
            What::Crossing(what) => {
                let value = self.crossing(&what.cut, what.margin_m);
                if let Some(least) = what.links_min {
                    return Check::at_least(&name, value, f64::from(least), "links");
                }
                let most = f64::from(what.links_max.unwrap_or(0));
                Check::at_most(&name, value, most, "links")
            }
            What::Force(what) => {
                let in_step = step.map(|step| self.steps[step].peak_force_n);
                let value = in_step.unwrap_or(self.hand.peak_n);
                Check::at_most(&name, Some(value), what.most_n, "N")
            }
            What::Ledger(what) => {
                Check::at_most(&name, Some(self.unexplained()), what.share_max, "of 1")
            }
            What::Undone(what) => {
                let value = same(self.topology_after(&what.to), own);
                Check::at_least(&name, value, 1.0, "of 1")
            }
            _ => {
                let value = same(self.twin, remote.unwrap_or(own));
                Check::at_least(&name, value, 1.0, "of 1")
            }
        }
    }

    /// One of those that ask for nothing but what is left of the tissue.
    fn of_specimen(&mut self, what: &What, name: &str) -> Option<Check> {
        let count = |value: Option<u64>| value.map(|value| value as f64);
        if let What::Pieces(what) = what {
            let sizes = self.specimen.as_mut().map(Specimen::pieces);
            let least = what.elements_min as usize;
            let large = |sizes: Vec<usize>| sizes.into_iter().filter(|&size| size >= least).count();
            let value = sizes.map(|sizes| large(sizes) as f64);
            let limit = f64::from(what.count);
            return Some(Check::within(name, value, limit, 0.0, "pieces"));
        }
        let specimen = self.specimen.as_ref();
        Some(match what {
            What::Removed(what) => {
                let amount = specimen.map(|specimen| specimen.amount(what.label.as_deref()));
                if let Some(elements) = what.elements {
                    let gone = amount.map(|a| a.elements_before.saturating_sub(a.elements));
                    let (limit, share) = (f64::from(elements), what.tolerance);
                    return Some(Check::within(name, count(gone), limit, share, "elements"));
                }
                let gone_mm3 = amount.map(|amount| amount.removed_m3 * 1e9);
                let limit_mm3 = what.volume_m3.unwrap_or(0.0) * 1e9;
                Check::within(name, gone_mm3, limit_mm3, what.tolerance, "mm^3")
            }
            What::Left(what) => {
                let left = specimen.map(|specimen| specimen.amount(Some(&what.label)).elements);
                let most = f64::from(what.elements_max);
                Check::at_most(name, count(left), most, "elements")
            }
            What::Margin(what) => {
                let margin_m = specimen.and_then(|specimen| specimen.margin_m(&what.label));
                let margin_mm = margin_m.map(|margin_m| margin_m * 1e3);
                Check::at_least(name, margin_mm, what.least_m * 1e3, "mm")
            }
            What::Untouched(what) => {
                let touched = specimen.map(|specimen| specimen.touched(&what.label));
                Check::at_most(name, count(touched), 0.0, "elements")
            }
            _ => return None,
        })
    }

    fn topology_after(&self, step: &str) -> Option<u64> {
        let index = match self.params.index_of(step) {
            Some(index) => index + 1,
            None if step == START => 0,
            None => return None,
        };
        self.topologies.get(index).copied().flatten()
    }

    /// Links that cross where the blade of a step went, at a margin \[m\] from the edge.
    fn crossing(&self, cut: &str, margin_m: Option<f64>) -> Option<f64> {
        let specimen = self.specimen.as_ref()?;
        let swept = self.swept.get(self.params.index_of(cut)?)?;
        let margin_m = margin_m.unwrap_or(specimen.spacing_m());
        let crossing = specimen
            .links_m()
            .filter(|&(a_m, b_m)| swept.crosses(a_m, b_m, margin_m));
        Some(crossing.count() as f64)
    }

    /// Share of what went through the tissue's account that it does not explain.
    fn unexplained(&self) -> f64 {
        let ledger = &self.ledger;
        let came_j = ledger.tool_work_j + ledger.edit_j + ledger.mass_j - ledger.dissipated_j;
        let stored_j = ledger.stored_j() - self.stored_first_j.unwrap_or(0.0);
        let passed_j = ledger.tool_work_j.abs() + ledger.edit_j.abs() + ledger.dissipated_j.abs();
        (stored_j - came_j).abs() / passed_j.max(TOLERANCE_J)
    }
}
