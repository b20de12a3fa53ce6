//! What instruments do to a volume while it is stepped, and what edits do between steps.
//!
//! Source: seed-001 sections 3.5 and 3.7 (rows TP-01 to TP-11), by [`Surgery`]. An instrument works along the
//! way from where its tool was to where it is, so nothing is tunnelled through. What a tool does as long as it meets
//! tissue is one stroke, which can be taken back as one. Energy of links that are cut is lost in a step, and an
//! edit's own between steps.

use crate::Vec3;
use crate::contact::{TOOL_RANGE, usable};
use crate::model::linked::Linked;
use crate::model::linked::carve::Scoop;
use crate::model::linked::direction::Direction;
use crate::model::linked::edits::Change;
use crate::model::linked::knife::{Blade, Sweep};
use crate::model::linked::links::{Links, NONE};
use crate::model::linked::surgery::Stroke;
use crate::model::linked::touch::TOOLS;
use crate::twin::{Edit, EditError, EditReport, Instrument, Tool};

/// An instrument at work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Act {
    /// What it is.
    pub(super) instrument: Instrument,
    /// Its edge, or twice its place \[m\].
    pub(super) blade: Blade,
    /// Radius of its tool \[m\].
    pub(super) radius_m: f64,
}

impl Act {
    /// What a tool is about to do; none if it only presses, or if a number is out of range.
    fn of(tool: &Tool) -> Option<Self> {
        let (edge_m, reach_m) = match tool.instrument {
            Instrument::Blunt => return None,
            Instrument::Scalpel { edge_m } => (edge_m, 0.0),
            Instrument::Glue { reach_m } => (Vec3::zeros(), reach_m),
            _ => (Vec3::zeros(), 0.0),
        };
        let within = |x: &f64| (-TOOL_RANGE..=TOOL_RANGE).contains(x);
        let fits =
            usable(tool) && edge_m.iter().all(within) && (0.0..TOOL_RANGE).contains(&reach_m);
        fits.then(|| Self {
            instrument: tool.instrument,
            blade: Blade {
                from_m: tool.position_m,
                to_m: tool.position_m + edge_m,
            },
            radius_m: tool.radius_m,
        })
    }

    /// Whether another is the same kind of instrument.
    fn is_like(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|act| std::mem::discriminant(&act.instrument));
        one == other
    }
}

impl Linked {
    /// Lets instruments do their work on the way of their tools; gives the energy that this took out \[J\],
    /// that of contacts included, which it takes from the books.
    pub(super) fn operate(&mut self, tools: &[Tool]) -> f64 {
        self.surgery.forget_changes();
        let (mut met, mut lost_j) = (false, 0.0);
        for index in 0..TOOLS {
            let now = tools.get(index).and_then(Act::of);
            let was = std::mem::replace(&mut self.acts[index], now);
            let Some(now) = now else {
                continue;
            };
            let was = was.filter(|was| was.is_like(&now));
            // what is taken up anew begins a stroke
            self.stroking &= was.is_some();
            self.surgery.go_on(self.stroking || met);
            if let Some(stroke) = self.work(&was.unwrap_or(now), &now) {
                met = true;
                lost_j += self.book(&stroke);
            }
        }
        self.stroking = met;
        lost_j
    }

    /// One instrument's work from where it was to where it is; none if no tissue was near.
    fn work(&mut self, was: &Act, now: &Act) -> Option<Stroke> {
        let sweep = Sweep {
            before: was.blade,
            after: now.blade,
        };
        let (from_m, to_m) = (was.blade.from_m, now.blade.from_m);
        let ball = Scoop::ball(from_m, to_m, now.radius_m);
        let surgery = &self.surgery;
        let reach_m = match now.instrument {
            Instrument::Glue { reach_m } => reach_m + surgery.glue_reach_m(),
            Instrument::Scalpel { .. } => surgery.knife_reach_m(),
            _ => now.radius_m,
        };
        let (low_m, high_m) = sweep.corners_m(reach_m);
        if !self.follow_near((&low_m, &high_m)) {
            return None;
        }
        let (elements, surgery) = (&mut self.elements, &mut self.surgery);
        Some(match now.instrument {
            Instrument::Blunt => return None,
            Instrument::Scalpel { .. } => surgery.cut(elements, &sweep, f64::INFINITY),
            Instrument::Curette => surgery.carve(elements, &ball),
            Instrument::Glue { reach_m } => surgery.join(elements, (to_m, reach_m)),
            Instrument::Tack => surgery.pin(elements, &ball, true),
            Instrument::Untack => surgery.pin(elements, &ball, false),
        })
    }

    /// Tells the surgery where elements are that may be in a box; whether there are any.
    fn follow_near(&mut self, (low_m, high_m): (&Vec3, &Vec3)) -> bool {
        let mut any = false;
        for index in 0..self.weave.runs.len() {
            for slot in self.near(index, (low_m, high_m)) {
                any = true;
                // no more than slots
                let element = u32::try_from(slot).unwrap_or(NONE);
                self.surgery.follow(&self.elements, element);
            }
        }
        for &element in &self.weave.loose {
            any |= self.elements.alive(element);
            self.surgery.follow(&self.elements, element);
        }
        any
    }

    /// Tells sweeps and books what the last stroke did; gives the energy that it took out \[J\].
    fn book(&mut self, stroke: &Stroke) -> f64 {
        if self.surgery.ends().is_empty() {
            return 0.0;
        }
        let contact_j = self.contact_j();
        let freed_j = self.ledger.contact_j - contact_j;
        self.ledger.contact_j = contact_j;
        self.mend();
        freed_j - stroke.stored_j
    }

    /// Weaves in what the last stroke changed.
    fn mend(&mut self) {
        let mut fits = true;
        for nth in 0..self.surgery.ends().len() {
            let end = self.surgery.ends()[nth];
            fits &= self.fits(end);
            self.weave.renew(&self.elements, end);
            let run = self.weave.run_of[end as usize];
            if let Some(spare_m) = self.spare_m.get_mut(run as usize) {
                // it was not asked of links that were not there and of elements that were held
                *spare_m = -1.0;
            }
            self.stirred(end, 2.0 * self.still_m);
        }
        let carried = |change: &Change| matches!(change, Change::Carry { .. });
        if !fits || self.surgery.changes().iter().any(carried) {
            self.weave.lay(&self.elements);
            self.survey();
            self.spare_m.fill(-1.0);
            self.drift_m.fill(0.0);
            self.stir_m.fill(2.0 * self.still_m);
        }
        self.show_rest();
    }

    /// Whether the neighbours of an element are where its run has them.
    fn fits(&self, element: u32) -> bool {
        let run = self.weave.run_of[element as usize];
        let Some(run) = self.weave.runs.get(run as usize) else {
            return true;
        };
        let nth = element as usize - run.start;
        Direction::ALL.into_iter().all(|to| {
            let other = self.elements.neighbour(element, to);
            other.is_none_or(|other| other as usize == run.beside[to.index()] + nth)
        })
    }

    /// The body of [`crate::Tissue::edit`].
    pub(super) fn revise(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.surgery.go_on(false);
        let (elements, surgery) = (&mut self.elements, &mut self.surgery);
        let stroke = match *edit {
            Edit::Cut { point_m, normal } => {
                let normal = checked(&point_m, &normal)?;
                surgery.part(elements, (&point_m, &normal))
            }
            Edit::Replay(changes) => surgery.apply(elements, changes),
            Edit::Undo => surgery.undo(elements),
            Edit::Redo => surgery.redo(elements),
            Edit::Stiffen { .. } | Edit::Scale { .. } => return Err(EditError::Kind(edit.kind())),
        };
        self.stroking = false;
        let contact_j = self.ledger.contact_j;
        let energy_j = -self.book(&stroke);
        self.ledger.edit_j += energy_j;
        // the books of contacts have theirs already
        self.ledger.elastic_j += energy_j + contact_j - self.ledger.contact_j;
        Ok(EditReport {
            elements: stroke.links + stroke.elements,
            energy_j,
            share: 1.0,
        })
    }
}

/// The unit normal of a plane.
fn checked(point_m: &Vec3, normal: &Vec3) -> Result<Vec3, EditError> {
    let length = normal.norm();
    if !(length > 0.0 && length.is_finite()) {
        return Err(EditError::Field {
            field: "normal",
            value: length,
            expected: "a vector longer than 0",
        });
    }
    if !point_m.iter().all(|x| x.is_finite()) {
        return Err(EditError::Field {
            field: "point_m",
            value: point_m.norm(),
            expected: "finite numbers",
        });
    }
    Ok(normal / length)
}
