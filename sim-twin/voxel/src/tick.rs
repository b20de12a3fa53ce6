//! One step: tools move and what they touch rides along, the chain helps out, sweeps relax the rest.
//!
//! Source: seed-001 section 3.4.6 and 3.7 (rows TP-11, FU-10), made an account of energy: only the
//! tools' motion and what rides along with it is work; whatever follows takes energy out and is counted as
//! dissipated. The chain proposes and the energy disposes: what it moves is kept only if that costs no
//! energy, so it cannot give any to the hand.

use crate::Linked;
use crate::blade::Drawn;
use crate::elements::{NONE, colour_of, single};
use crate::exact::{Control, Exact};
use crate::operate::Act;
use crate::touch::{Gave, Pressing, Rod, TOOLS, give_way};
use palpate_twin::Vec3;
use palpate_twin::contact::usable;
use palpate_twin::edits::Direction;
use palpate_twin::twin::{Instrument, Reaction, Tool};

/// Longest step that is taken at all \[s\].
const DT_MAX_S: f64 = 1.0;
/// Most sweeps of one step: a long one relaxes no further.
const SWEEPS_MAX: u32 = 64;
/// Rounds in which touched elements follow a tool that has moved.
const RIDES: usize = 2;
/// Steps after which the energy is counted anew: what the books missed by rounding is then the residual.
const AUDIT: u64 = 256;
/// Elements this near a tool, over the spacing, might enter it within a sweep.
const MARGIN: f64 = 0.5;

/// What moves elements that cannot leave alone, with all that must follow. Room is made once.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    exact: Exact<f32>,
    pub(super) controls: Vec<Control<f32>>,
    /// What it moved, and where to \[m\].
    moved: Vec<(u32, [f32; 3])>,
    is_moved: Vec<bool>,
    /// Presses that it could not follow.
    pub(super) refused: u64,
}

impl Chain {
    /// Of so many slots.
    pub(super) fn new(slots: u32) -> Self {
        let count = slots as usize;
        Self {
            exact: Exact::new(slots),
            controls: Vec::with_capacity(count),
            moved: Vec::with_capacity(count),
            is_moved: vec![false; count],
            refused: 0,
        }
    }
}

/// Energy that touched elements lost when they gave way \[J\].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rode {
    /// Of those that a tool holds still or that go along with these.
    pub(super) held_j: f64,
    /// Of those that tools have left, and what limits had stopped.
    pub(super) left_j: f64,
}

impl Rode {
    fn and(&mut self, other: Self) {
        self.held_j += other.held_j;
        self.left_j += other.left_j;
    }
}

impl Linked {
    /// The body of [`palpate_twin::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        // a curette is open in front
        let presses = |tool: &&Tool| usable(tool) && tool.instrument != Instrument::Curette;
        let rods: [Option<Rod>; TOOLS] =
            std::array::from_fn(|index| tools.get(index).filter(presses).map(Rod::of));
        let before_j = self.account.ledger.stored_j();
        let were = self.contact.rods;
        // instruments part what is in their way before it is pressed
        let pressed_j = self.contact_j();
        let worked = self.operate(tools);
        self.let_go(tools, &rods);
        let still_j = self.contact_j();
        self.touch(&rods);
        let laid_j = self.laid_j(&were);
        let came_j = self.contact_j() - still_j - laid_j;
        let turned_j = self.turn_ties();
        let slipped = self.slip(false);
        let grasped_j = self.grasp(tools);
        let rode = self.ride(&were);
        let work_j = worked.work_j + came_j - slipped.excess_j - rode.held_j;
        let mut lost_j = worked.lost_j + pressed_j - still_j + slipped.lost_j;
        // what the motion met; the chain and relaxation come after it
        let met_n = self.forces_n();
        lost_j += turned_j + grasped_j + rode.left_j + self.unfold(dt_s);
        for _ in 0..self.sweeps_due(dt_s) {
            lost_j += self.sweep();
        }
        // the next motion starts from rest under the tools: what they do then is work and nothing else
        let rode = self.ride(&rods);
        let slipped = self.slip(true);
        lost_j += rode.held_j + rode.left_j + slipped.lost_j + slipped.excess_j + self.rub();
        self.account.ledger.tool_work_j += work_j;
        self.account.ledger.dissipated_j += lost_j;
        self.account.ledger.edit_j += laid_j;
        // what nobody did is nothing to pay with
        self.account.granted_j += laid_j;
        self.account.ledger.contact_j = self.tools_j();
        self.account.ledger.elastic_j =
            before_j + work_j + laid_j - lost_j - self.account.ledger.contact_j;
        self.account.steps += 1;
        if self.account.steps.is_multiple_of(AUDIT) {
            self.audit();
        }
        self.survey_far();
        for (index, (met_n, drawn)) in met_n.iter().zip(&worked.drawn).enumerate() {
            let felt = self.answer(index, met_n, drawn.as_ref());
            if let Some(slot) = reactions.get_mut(index) {
                *slot = felt;
            }
        }
    }

    /// What a tool feels of a step, in which the motion met a force \[N\] and its blade was drawn so.
    fn answer(&mut self, index: usize, met_n: &Vec3, drawn: Option<&Drawn>) -> Reaction {
        let rod = self.contact.rods[index].as_ref();
        let mut felt = rod.map_or_else(Reaction::default, |rod| self.felt(index, rod));
        let was_n = std::mem::replace(&mut self.contact.felt_n[index], felt.force_n);
        // the mean over the motion, whose product with the way is the work that was booked
        let mut mean_n = if rod.is_some() {
            0.5 * (was_n + met_n)
        } else {
            Vec3::zeros()
        };
        if let (Some(act), Some(drawn)) = (&self.wield.acts[index], drawn) {
            felt.edge_n = drawn.mean_n[0] + drawn.mean_n[1];
            mean_n += felt.edge_n;
            act.add_to(drawn, &mut felt);
        }
        felt.force_n = mean_n;
        felt
    }

    /// Force on every tool now \[N\].
    fn forces_n(&self) -> [Vec3; TOOLS] {
        let of = |index: usize| {
            let rod = self.contact.rods[index].as_ref()?;
            Some(self.felt(index, rod).force_n)
        };
        std::array::from_fn(|index| of(index).unwrap_or_default())
    }

    /// Sweeps that are due after this much more time.
    fn sweeps_due(&mut self, dt_s: f64) -> u32 {
        self.account.owed_s += dt_s;
        // half a sweep's rounding, so that a thousand ticks make a thousand sweeps
        let due = ((self.account.owed_s / self.params.sweep_s) + 1e-6).floor();
        self.account.owed_s = (self.account.owed_s - due * self.params.sweep_s).max(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 0, and cut to the most"
        )]
        let due = due.min(f64::from(SWEEPS_MAX)) as u32;
        due
    }

    /// Finds the elements that tools touch or might touch, and takes them out of the sweeps of rows.
    fn touch(&mut self, rods: &[Option<Rod>; TOOLS]) {
        for &element in self.contact.touched.iter().flatten() {
            self.weave.renew_gain(&self.elements, element);
            // it was not asked of elements that sweeps did not move
            self.pace.ask_again(self.weave.run_of[element as usize]);
        }
        self.contact.touched.iter_mut().for_each(Vec::clear);
        self.contact.fixed.clear();
        self.contact.rods = *rods;
        let margin_m = MARGIN * self.spacing_m;
        for rod in rods.iter().flatten() {
            self.find_near(&rod.extent(margin_m));
            for nth in 0..self.contact.near.len() {
                self.touch_one(self.contact.near[nth], rod, margin_m);
            }
        }
        self.contact.fixed.sort_unstable();
        self.contact.fixed.dedup();
        for index in 0..self.contact.clings.len() {
            self.list(self.contact.clings[index].element);
        }
    }

    /// Takes an element out of the sweeps of rows.
    pub(super) fn list(&mut self, element: u32) {
        let gain = &mut self.weave.gain[element as usize];
        // without a gain it is in the list already, or has no links to hold it
        if *gain > 0.0 {
            *gain = 0.0;
            self.contact.touched[colour_of(self.elements.site(element))].push(element);
        }
    }

    fn touch_one(&mut self, element: u32, rod: &Rod, margin_m: f64) {
        let alive = self.elements.alive(element);
        if !alive || rod.is_far(&self.elements.at_m(element), margin_m) {
            return;
        }
        if self.elements.pinned(element) {
            self.contact.fixed.push(element);
        } else {
            self.list(element);
        }
    }

    /// Energy of all springs of contacts and ties \[J\].
    pub(super) fn contact_j(&self) -> f64 {
        let touched = self.contact.met();
        let pressed_j: f64 = touched
            .filter(|&element| self.elements.alive(element))
            .map(|element| {
                let at_m = self.elements.at_m(element);
                let rods = self.contact.rods.iter().flatten();
                rods.map(|rod| rod.energy_j(&at_m)).sum::<f64>()
            })
            .sum();
        pressed_j + self.clung_j()
    }

    /// Whether a tool presses that pressed nothing in the step before: no motion of it did what it does.
    fn laid(&self, were: &[Option<Rod>; TOOLS], index: usize) -> Option<&Rod> {
        let is = self.contact.rods[index].as_ref();
        is.filter(|_| were[index].is_none())
    }

    /// Energy of springs of contacts of such tools \[J\].
    fn laid_j(&self, were: &[Option<Rod>; TOOLS]) -> f64 {
        let laid = (0..TOOLS).filter_map(|index| self.laid(were, index));
        let of = |rod: &Rod| -> f64 {
            let touched = self.contact.met();
            let alive = touched.filter(|&element| self.elements.alive(element));
            alive
                .map(|element| rod.energy_j(&self.elements.at_m(element)))
                .sum()
        };
        laid.map(of).sum()
    }

    /// Energy of those and of what holds blades \[J\].
    pub(super) fn tools_j(&self) -> f64 {
        let blades = self.wield.acts.iter().flatten();
        self.contact_j() + blades.map(Act::stored_j).sum::<f64>()
    }

    /// Lets touched elements follow the tools, which were elsewhere before.
    fn ride(&mut self, were: &[Option<Rod>; TOOLS]) -> Rode {
        let mut rode = Rode::default();
        for _ in 0..RIDES {
            for colour in 0..2 {
                rode.and(self.give_to(colour, were));
            }
        }
        rode
    }

    /// Touched elements of a colour give way to tools that stay.
    pub(super) fn give(&mut self, colour: usize) -> Rode {
        let were = self.contact.rods;
        self.give_to(colour, &were)
    }

    /// Touched elements of a colour give way to tools that were elsewhere before.
    fn give_to(&mut self, colour: usize, were: &[Option<Rod>; TOOLS]) -> Rode {
        let mut rode = Rode::default();
        for index in 0..self.contact.touched[colour].len() {
            let element = self.contact.touched[colour][index];
            let slot = element as usize;
            let (rods, grip) = (&self.contact.rods, self.grip(element));
            let pressing = Pressing { rods, were, grip };
            let at_m = self.elements.at_m(element);
            let gave: Gave = give_way(&mut self.elements, &self.weave, slot, pressing);
            self.stirred(element, gave.farthest_m);
            // one beside the tool goes along with those that it has
            let was_in = |rod: &Rod| rod.depth_m(&at_m).0 > 0.0;
            let margin_m = MARGIN * self.spacing_m;
            let near = |rod: &Rod| rod.depth_m(&at_m).0 > -margin_m;
            let laid = (0..TOOLS)
                .filter_map(|index| self.laid(were, index))
                .any(near);
            let left = laid || !gave.held && were.iter().flatten().any(was_in);
            let left_j = if left { gave.lost_j } else { gave.freed_j };
            rode.and(Rode {
                held_j: gave.lost_j - left_j,
                left_j,
            });
        }
        rode
    }

    /// A way after which no run is still \[m\].
    pub(super) const fn wake_m(&self) -> f32 {
        // of a volume in which nothing is still, any way is more than none
        (2.0 * self.still_m).max(f32::MIN_POSITIVE)
    }

    /// Notes that an element has gone this far \[m\], on its own.
    pub(super) fn stirred(&mut self, element: u32, way_m: f32) {
        if way_m == 0.0 {
            return;
        }
        let run = self.weave.run_of[element as usize];
        if run != NONE {
            self.went(run as usize, way_m);
        }
        self.narrow(element, way_m);
        for to in Direction::ALL {
            if let Some(other) = self.elements.neighbour(element, to) {
                self.narrow(other, way_m);
                let beside = self.weave.run_of[other as usize];
                if run == NONE && beside != NONE {
                    self.stir(beside as usize, way_m);
                }
            }
        }
    }

    /// Takes a way of an element or of a neighbour from what its run has to spare \[m\].
    fn narrow(&mut self, element: u32, way_m: f32) {
        let run = self.weave.run_of[element as usize];
        if let Some(spare) = self.pace.spare_m.get_mut(run as usize) {
            *spare -= way_m;
        }
    }

    /// Where tools are deep in elements, since these cannot leave alone, asks the chain to move them out,
    /// and keeps what it did if that cost no energy; gives what it took out \[J\].
    fn unfold(&mut self, dt_s: f64) -> f64 {
        // only a tear of the step before goes on in this one
        let tore = std::mem::take(&mut self.wield.tore);
        self.chain.controls.clear();
        let deep_m = f64::from(self.params.deep) * self.spacing_m;
        for &element in self.contact.touched.iter().flatten() {
            let at_m = self.elements.at_m(element);
            let depths = self
                .contact
                .rods
                .iter()
                .flatten()
                .map(|rod| rod.depth_m(&at_m));
            let deepest = depths.max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((depth_m, out)) = deepest.filter(|(depth_m, _)| *depth_m > deep_m) {
                let control = self.control(element, at_m + out * depth_m);
                self.chain.controls.push(control);
            }
        }
        for cling in self.contact.clings.iter().filter(|cling| cling.grasped()) {
            let Some(rod) = &self.contact.rods[cling.tool] else {
                continue;
            };
            let (at_m, place_m) = (self.elements.at_m(cling.element), cling.place_m(rod));
            if (place_m - at_m).norm() > deep_m {
                let control = self.control(cling.element, place_m);
                // it may be deep in its tool too
                let others = |other: &Control<f32>| other.element != control.element;
                self.chain.controls.retain(others);
                self.chain.controls.push(control);
            }
        }
        if self.chain.controls.is_empty() {
            return 0.0;
        }
        if self
            .chain
            .exact
            .propagate(&mut self.elements, &self.chain.controls)
            .is_err()
        {
            self.chain.refused += 1;
            return self.tear(dt_s, tore);
        }
        self.dispose()
    }

    /// An element that is to be at a place \[m\].
    fn control(&self, element: u32, place_m: Vec3) -> Control<f32> {
        let to_m = place_m - self.elements.rest_m(element);
        Control {
            element,
            to_m: to_m.map(single).into(),
        }
    }

    /// Keeps what the chain did if that took energy out, and takes it back if not; gives what it took out
    /// \[J\].
    fn dispose(&mut self) -> f64 {
        self.gather();
        let after_j = self.chain_j() + self.contact_j();
        self.chain.exact.restore(&mut self.elements);
        let before_j = self.chain_j() + self.contact_j();
        self.follow(after_j <= before_j);
        (before_j - after_j).max(0.0)
    }

    /// Lists what the chain moved, and where to.
    pub(super) fn gather(&mut self) {
        self.chain.moved.clear();
        let (chain, in_chain, elements) = (
            &mut self.chain.moved,
            &mut self.chain.is_moved,
            &self.elements,
        );
        self.chain.exact.changes().for_each(|(element, _, _)| {
            if !in_chain[element as usize] {
                in_chain[element as usize] = true;
                chain.push((element, elements.moved_m(element)));
            }
        });
    }

    /// Puts what the chain moved where it put it, if that is to be.
    pub(super) fn follow(&mut self, kept: bool) {
        for index in 0..self.chain.moved.len() {
            let (element, to_m) = self.chain.moved[index];
            if kept {
                let mut way_m = 0.0_f32;
                for (moved_m, to) in self.elements.moved_m.iter_mut().zip(to_m) {
                    way_m = way_m.max((to - moved_m[element as usize]).abs());
                    moved_m[element as usize] = to;
                }
                self.stirred(element, way_m);
            }
            self.chain.is_moved[element as usize] = false;
        }
    }

    /// Energy of all links of the elements that the chain moved, each once \[J\].
    pub(super) fn chain_j(&self) -> f64 {
        let mut sum_j = 0.0;
        for &(element, _) in &self.chain.moved {
            for to in Direction::ALL {
                let Some(other) = self.elements.neighbour(element, to) else {
                    continue;
                };
                let share = if self.chain.is_moved[other as usize] {
                    0.25
                } else {
                    0.5
                };
                let k = self.weave.stiffness[to.index()][element as usize];
                let (own, other) = (self.elements.moved_m(element), self.elements.moved_m(other));
                let apart2: f32 = own.iter().zip(other).map(|(a, b)| (b - a) * (b - a)).sum();
                sum_j += share * f64::from(k) * f64::from(apart2);
            }
        }
        sum_j
    }

    /// Counts the energy of all links anew; what the books had besides is the residual.
    pub(super) fn audit(&mut self) {
        self.pace.drift_m.fill(0.0);
        let mut elastic_j = self.survey_all();
        let loose = self.weave.loose.iter();
        elastic_j += loose.map(|&element| self.links_up_j(element)).sum::<f64>();
        self.account.ledger.residual_j += elastic_j - self.account.ledger.elastic_j;
        self.account.ledger.elastic_j = elastic_j;
    }

    /// Energy of an element's links to its right, top and front \[J\].
    fn links_up_j(&self, element: u32) -> f64 {
        let ups = Direction::UP.into_iter();
        ups.filter_map(|to| {
            self.elements
                .neighbour(element, to)
                .map(|other| (to, other))
        })
        .map(|(to, other)| self.link_j(element, to, other))
        .sum()
    }

    /// Energy of one link \[J\].
    pub(super) fn link_j(&self, element: u32, to: Direction, other: u32) -> f64 {
        let k = f64::from(self.weave.stiffness[to.index()][element as usize]);
        let (own, other) = (self.elements.moved_m(element), self.elements.moved_m(other));
        let apart = own.iter().zip(other).map(|(a, b)| f64::from(b - a));
        0.5 * k * apart.map(|x| x * x).sum::<f64>()
    }

    /// What a tool feels: the slope of the contact energy.
    fn felt(&self, index: usize, rod: &Rod) -> Reaction {
        let mut felt = Reaction::default();
        let mut pairs = 0.0;
        for element in self.contact.met() {
            let at_m = self.elements.at_m(element);
            let (depth_m, out) = rod.depth_m(&at_m);
            if depth_m <= 0.0 {
                continue;
            }
            let force_n = -out * (rod.stiffness_npm * depth_m);
            felt.force_n += force_n;
            let arm_m = rod.nearest_m(&at_m) - rod.from_m;
            felt.torque_nm += arm_m.cross(&force_n);
            felt.penetration_m = felt.penetration_m.max(depth_m);
            felt.contacts += 1;
            let sum = f64::from(self.weave.sum[element as usize]);
            // what is pinned gives nothing
            let sum = if self.elements.pinned(element) {
                f64::INFINITY
            } else {
                sum
            };
            pairs += rod.stiffness_npm / (1.0 + rod.stiffness_npm / sum);
        }
        self.add_ties(index, &mut felt);
        let pressed_n = felt.force_n.norm();
        if pressed_n > 0.0 {
            felt.normal = felt.force_n / pressed_n;
            felt.to_proxy_m = felt.normal * felt.penetration_m;
            felt.stiffness_npm = pairs;
        }
        felt
    }
}
