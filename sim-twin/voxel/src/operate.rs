//! What instruments do to a volume while it is stepped, and what edits do between steps.
//!
//! Source: seed-001 sections 3.5 and 3.7 (rows TP-01 to TP-11), by [`Surgery`]. An instrument works along the
//! way from where its tool was to where it is, so nothing is tunnelled through. What a tool does as long as it meets
//! tissue is one stroke, which can be taken back as one. Energy of links that are cut is lost in a step, and an
//! edit's own between steps: an undo or a replay that links what has come apart puts energy in, and says so.
//!
//! What a curette is in it takes and does not press; a tack presses what it has come over, as blunt tools do, and
//! what it holds does not give, which is all that is felt of it.
//!
//! A join whose link stores energy is paid from what hands have lost in the tissue so far, which
//! is lost no more; one that costs more is not made, and asked for again with every step. So glue gives no energy.
//!
//! A finger that presses where links are cut feels its force fall by a tenth in a tick at most, under a blade of up
//! to half a metre a second, and by a quarter where all links of a plane go at once (measured: `tests/feel.rs`).

use crate::Linked;
use crate::blade::{Drawn, Held, cost_j};
use crate::carve::{Met, Scoop};
use crate::cells::Extent;
use crate::cling::Cling;
use crate::exact::Exact;
use crate::knife::{Blade, Crossing, Sweep};
use crate::surgery::Stroke;
use crate::tear::{TearRule, Tearing};
use crate::touch::TOOLS;
use palpate_twin::Vec3;
use palpate_twin::contact::{TOOL_RANGE, usable};
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;
use palpate_twin::twin::{Edit, EditError, EditReport, Instrument, Reaction, Tool};

/// An instrument at work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Act {
    /// What it is.
    pub(super) instrument: Instrument,
    /// The edge of its tool, or twice its place \[m\].
    pub(super) blade: Blade,
    /// Where its edge is held, if it is a blade.
    pub(super) held: Held,
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
        let blade = Blade {
            from_m: tool.position_m,
            to_m: tool.position_m + edge_m,
        };
        fits.then_some(Self {
            instrument: tool.instrument,
            blade,
            held: Held {
                proxy: blade,
                stiffness_npm: tool.stiffness_npm,
            },
            radius_m: tool.radius_m,
        })
    }

    /// Energy of what holds it \[J\].
    pub(super) fn stored_j(&self) -> f64 {
        self.held.stored_j(&self.blade)
    }

    /// Adds what the blade feels to what its tool does.
    pub(super) fn add_to(&self, drawn: &Drawn, felt: &mut Reaction) {
        let ends_n = self.held.forces_n(&self.blade);
        felt.force_n += ends_n[0] + ends_n[1];
        let size_n = felt.force_n.norm();
        if size_n == 0.0 {
            return;
        }
        felt.normal = felt.force_n / size_n;
        felt.torque_nm += (self.blade.to_m - self.blade.from_m).cross(&ends_n[1]);
        let [from, to] = self.held.from(&self.blade);
        felt.to_proxy_m += 0.5 * (from + to);
        if drawn.lost_j <= 0.0 {
            // it is held; one that is being drawn feels the same however far
            felt.stiffness_npm += self.held.stiffness_npm;
        }
        felt.contacts += 1;
    }

    /// Whether another is the same kind of instrument.
    fn is_like(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|act| std::mem::discriminant(&act.instrument));
        one == other
    }
}

/// What instruments are at, from step to step.
#[derive(Debug, Clone)]
pub(super) struct Wield {
    /// By tool.
    pub(super) acts: [Option<Act>; TOOLS],
    /// An instrument met tissue in the last step: what it does next is part of the same stroke.
    pub(super) stroking: bool,
    /// Links broke in the last step that could not follow a pull.
    pub(super) tore: bool,
    /// What breaks them, and its own propagation, if the tissue tears.
    tearing: Option<Box<(Tearing, Exact<f32>)>>,
}

impl Wield {
    /// Of no instruments, on a tissue that tears or does not.
    pub(super) fn new(slots: u32, tears: bool) -> Self {
        Self {
            acts: [None; TOOLS],
            stroking: false,
            tore: false,
            tearing: tears
                .then(|| Box::new((Tearing::new(slots, TearRule::default()), Exact::new(slots)))),
        }
    }
}

/// What instruments did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Worked {
    /// Energy that their tools put in, but for what they press \[J\].
    pub(super) work_j: f64,
    /// Energy that this took out of links and of what held blades \[J\].
    pub(super) lost_j: f64,
    /// How blades were drawn.
    pub(super) drawn: [Option<Drawn>; TOOLS],
}

impl Linked {
    /// Lets instruments do their work on the way of their tools.
    pub(super) fn operate(&mut self, tools: &[Tool]) -> Worked {
        self.surgery.forget_changes();
        let (mut met, mut worked) = (false, Worked::default());
        for index in 0..TOOLS {
            let now = tools.get(index).and_then(Act::of);
            let was = std::mem::replace(&mut self.wield.acts[index], now);
            let like = was.filter(|was| now.is_some_and(|now| was.is_like(&now)));
            if like.is_none() {
                // laid down: what held it is gone
                worked.lost_j += was.map_or(0.0, |was| was.stored_j());
            }
            let Some(mut now) = now else {
                continue;
            };
            // what is taken up anew begins a stroke
            self.wield.stroking &= like.is_some();
            self.surgery.go_on(self.wield.stroking || met);
            self.wield.acts[index] = Some(now);
            let was = like.unwrap_or(now);
            let stroke = match now.instrument {
                Instrument::Scalpel { .. } | Instrument::Curette => {
                    let (stroke, drawn) = self.draw(&was, &mut now);
                    worked.work_j += drawn.work_j;
                    worked.lost_j += drawn.lost_j;
                    worked.drawn[index] = Some(drawn);
                    self.wield.acts[index] = Some(now);
                    stroke
                }
                _ => self.work(&was, &now, worked.lost_j),
            };
            if let Some(stroke) = stroke {
                met = true;
                worked.lost_j -= stroke.stored_j;
                self.mend();
            }
        }
        self.wield.stroking = met;
        worked
    }

    /// Draws a blade or a curette through the tissue, as far as its tool pulls; the stroke is none if no tissue was
    /// near.
    fn draw(&mut self, was: &Act, now: &mut Act) -> (Option<Stroke>, Drawn) {
        let spacing_m = self.spacing_m;
        let mut held = was.held;
        let eased_j = held.retune(&was.blade, now.held.stiffness_npm);
        let ball = matches!(now.instrument, Instrument::Curette).then_some(now.radius_m);
        let paid_share = self.params.curette_share;
        let ahead = held.ahead(&now.blade, spacing_m);
        let (sweep, share) = ahead.unwrap_or_else(|| {
            let (before, after) = (held.proxy, held.proxy);
            (Sweep { before, after }, 1.0)
        });
        let mut way = 1.0 / share;
        let reach_m = ball.unwrap_or_else(|| self.surgery.knife_reach_m());
        // a blade that stays cuts nothing, and a curette takes what comes into it
        let near = (ahead.is_some() || ball.is_some()) && self.follow_near(&sweep.extent(reach_m));
        let (elements, surgery) = (&mut self.elements, &mut self.surgery);
        let stroke = near.then(|| {
            let Some(radius_m) = ball else {
                let across = sweep.normal();
                return surgery.draw(elements, &sweep, |crossings| {
                    let cost = |c: &Crossing| (c.way, cost_j(c, &across));
                    way = held.way(&now.blade, share, crossings, spacing_m, cost);
                    (crossings.partition_point(|c| c.way <= way), way)
                });
            };
            let axis = sweep;
            surgery.scoop(elements, &Scoop { axis, radius_m }, |met| {
                if ahead.is_some() {
                    let cost = |m: &Met| (m.way, paid_share * m.tough_j);
                    way = held.way(&now.blade, share, met, spacing_m, cost);
                }
                (met.partition_point(|m| m.way <= way), way)
            })
        });
        let to = ahead.is_some().then_some((&sweep, way));
        let mut drawn = held.draw(&was.blade, &now.blade, to);
        drawn.lost_j += eased_j;
        now.held = held;
        (stroke, drawn)
    }

    /// One instrument's work from where it was to where it is, after instruments took out `lost_j` \[J\] in this
    /// step that is not booked yet; none if no tissue was near.
    fn work(&mut self, was: &Act, now: &Act, lost_j: f64) -> Option<Stroke> {
        let sweep = Sweep {
            before: was.blade,
            after: now.blade,
        };
        let (from_m, to_m) = (was.blade.from_m, now.blade.from_m);
        let ball = Scoop::ball(from_m, to_m, now.radius_m);
        let surgery = &self.surgery;
        let reach_m = match now.instrument {
            Instrument::Glue { reach_m } => reach_m + surgery.glue_reach_m(),
            _ => now.radius_m,
        };
        if !self.follow_near(&sweep.extent(reach_m)) {
            return None;
        }
        // a link that stores energy is paid from what hands have lost in the tissue
        let paid_j = (self.free_j() + lost_j).max(0.0);
        let (elements, surgery) = (&mut self.elements, &mut self.surgery);
        Some(match now.instrument {
            Instrument::Blunt | Instrument::Scalpel { .. } | Instrument::Curette => return None,
            Instrument::Glue { reach_m } => surgery.join_within(elements, to_m, reach_m, paid_j),
            Instrument::Tack => surgery.pin(elements, &ball, true),
            Instrument::Untack => surgery.pin(elements, &ball, false),
        })
    }

    /// Tells the surgery where elements are that may be in a box; whether there are any: a tool in the hole that it made
    /// goes on with its stroke.
    fn follow_near(&mut self, extent: &Extent) -> bool {
        self.find_near(extent);
        let mut any = false;
        for &element in &self.contact.near {
            any |= extent.holds(&self.elements.at_m(element));
            self.surgery.follow(&self.elements, element);
        }
        any
    }

    /// Breaks links that jaws pull farther than they go (row TP-05), if the tissue tears; what moves then is seen
    /// to by later steps. A tear that goes on from the step before is one stroke with it. Gives the energy that
    /// was in them \[J\].
    pub(super) fn tear(&mut self, dt_s: f64, goes_on: bool) -> f64 {
        let Some(tearing) = &mut self.wield.tearing else {
            return 0.0;
        };
        let (clings, cling_of) = (&self.contact.clings, &self.contact.cling_of);
        self.chain.controls.retain(|control| {
            let cling = clings.get(cling_of[control.element as usize] as usize);
            cling.is_some_and(Cling::grasped)
        });
        self.surgery.go_on(self.wield.stroking || goes_on);
        let (tearing, exact) = (&mut tearing.0, &mut tearing.1);
        let elements = &mut self.elements;
        let (_, stroke) = self
            .surgery
            .pull(elements, tearing, exact, &self.chain.controls, dt_s);
        exact.restore(elements);
        self.wield.tore = stroke.links > 0;
        self.mend();
        for &element in self.contact.touched.iter().flatten() {
            self.weave.gain[element as usize] = 0.0;
        }
        -stroke.stored_j
    }

    /// Weaves in what the last stroke changed.
    fn mend(&mut self) {
        if self.surgery.ends().is_empty() {
            return;
        }
        let mut fits = true;
        for nth in 0..self.surgery.ends().len() {
            let end = self.surgery.ends()[nth];
            fits &= self.fits(end);
            self.weave.renew(&self.elements, end);
            // it was not asked of links that were not there and of elements that were held
            self.pace.ask_again(self.weave.run_of[end as usize]);
            self.stirred(end, self.wake_m());
        }
        let carried = |change: &Change| matches!(change, Change::Carry { .. });
        if !fits || self.surgery.changes().iter().any(carried) {
            self.weave.lay(&self.elements);
            self.pace.drift_m.fill(0.0);
            self.survey_all();
            self.pace.spare_m.fill(-1.0);
            let wake_m = self.wake_m();
            self.pace.stir_m.fill(wake_m);
            self.restir();
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

    /// The body of [`palpate_twin::Tissue::edit`].
    pub(super) fn revise(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        if let Edit::Stiffen { .. } | Edit::Scale { .. } = edit {
            return self.stiffen(edit);
        }
        self.surgery.go_on(false);
        let pressed_j = self.contact_j();
        let (elements, surgery) = (&mut self.elements, &mut self.surgery);
        let stroke = match *edit {
            Edit::Cut { point_m, normal } => {
                let normal = checked(&point_m, &normal)?;
                surgery.part(elements, &point_m, &normal)
            }
            Edit::Replay(changes, part) => surgery.apply(elements, part, changes),
            Edit::Undo => surgery.undo(elements),
            Edit::Redo => surgery.redo(elements),
            Edit::Stiffen { .. } | Edit::Scale { .. } => return Err(EditError::Kind(edit.kind())),
        };
        (self.wield.stroking, self.wield.tore) = (false, false);
        // what presses an element that was taken out is gone
        let freed_j = pressed_j - self.contact_j();
        let energy_j = stroke.stored_j - freed_j;
        self.mend();
        self.account.ledger.edit_j += energy_j;
        self.account.ledger.contact_j -= freed_j;
        self.account.ledger.elastic_j += stroke.stored_j;
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
