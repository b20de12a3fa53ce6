//! Elements held by whoever drags them: the chain follows, one sweep relaxes the rest, the surface is shown.
//!
//! Source: seed-001 Fig. 11 and section 3.4.6 (row DF-13: interactive manipulation of a volume). The motion is work
//! as that of a tool is, but nothing is felt: the force for a hand is that of a tool's contact.

use crate::Linked;
use crate::elements::colour_of;
use crate::exact::{Control, Infeasible, Moved};
use crate::links::Links;

impl Linked {
    /// Puts elements where they are held, moves whoever must follow, and relaxes once while they are held; with no
    /// elements it only relaxes. No limit of a link is broken after, if none was before and
    /// propagation is exact.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is pinned would have to give; nothing has moved then.
    pub fn drag(&mut self, controls: &[Control<f32>]) -> Result<Moved, Infeasible> {
        let stored_j = self.ledger.stored_j();
        let moved = self.propagator.propagate(&mut self.elements, controls)?;
        self.gather();
        let after_j = self.chain_j() + self.contact_j();
        self.propagator.restore(&mut self.elements);
        let work_j = after_j - self.chain_j() - self.contact_j();
        self.follow(true);
        for control in controls {
            self.hold(control.element, true);
        }
        let lost_j = self.sweep();
        for control in controls {
            self.hold(control.element, false);
        }
        self.ledger.tool_work_j += work_j;
        self.ledger.dissipated_j += lost_j;
        self.ledger.contact_j = self.tools_j();
        self.ledger.elastic_j = stored_j + work_j - lost_j - self.ledger.contact_j;
        self.survey_far();
        self.show();
        Ok(moved)
    }

    /// Keeps sweeps from moving an element, or lets them again.
    fn hold(&mut self, element: u32, held: bool) {
        if !self.elements.alive(element) {
            return;
        }
        self.weave.renew_gain(&self.elements, element);
        if held {
            self.weave.gain[element as usize] = 0.0;
        }
        let touched = &self.touched[colour_of(self.elements.site(element))];
        if !held && touched.contains(&element) {
            // tools move it, not sweeps of runs
            self.weave.gain[element as usize] = 0.0;
        }
        let run = self.weave.run_of[element as usize];
        if let Some(spare_m) = self.spare_m.get_mut(run as usize) {
            // it was not asked of elements that sweeps did not move
            *spare_m = -1.0;
        }
    }
}
