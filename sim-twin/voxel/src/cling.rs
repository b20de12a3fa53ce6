//! What clings to tools: by friction as far as Coulomb's cone goes, and what jaws have grasped.
//!
//! Source: ours; Coulomb's law by a spring that slips (Dahl 1968 without its bend), jaws after row S4-24 of
//! seed-004, which ties a node. An element that a rough tool presses is tied to the place of the tool where it was met, by
//! a spring across the normal as stiff as that of the contact. What the spring pulls beyond the coefficient times the
//! element's own pressing force is let go. An element that closing jaws find between them is tied in every direction and
//! at its share of the opening, so that closing further squeezes it; what pulls one farther than a spacing slips in
//! them, so that no leap of jaws is felt as more. Smooth jaws hold it across them by no more than their coefficient
//! times what squeezes it: the pull of its spring along the jaws times its share of half the opening. Half the sum of that
//! over all that jaws have is their grip, so no pull beyond twice the coefficient times it is held (row S4-P12); where all
//! are pulled alike, as in a fold that is lifted, every smaller one is. What smooth jaws hold is judged once elements have
//! followed them: within a tick fast ones pull more than that by what those have not followed yet, and lose it, as by a
//! damper. All of it is energy of places, or is lost: no motion gives energy.
//!
//! Symbols: `r` from where an element is held to where it is \[m\], `k` the spring \[N/m\].

use crate::Linked;
use crate::cells::Extent;
use crate::elements::NONE;
use crate::touch::{Grip, Rod, TOOLS};
use palpate_twin::Vec3;
use palpate_twin::contact::jaw_axis;
use palpate_twin::twin::{Reaction, Tool};

/// A tool that is this far from what it has, over the spacing, has leapt and lost it.
const LEAP: f64 = 8.0;

/// An element that is tied to a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cling {
    pub(super) element: u32,
    /// Index of the tool.
    pub(super) tool: usize,
    /// From the tool's place to where the element is held \[m\], but for its share of the opening.
    pub(super) arm_m: Vec3,
    /// Its share of half the opening of jaws, -1 to 1; 0 of one that is only rubbed.
    pub(super) share: f64,
    /// The direction in which it is not tied, a unit vector; zero of one that jaws have.
    pub(super) free: Vec3,
}

impl Cling {
    /// Whether jaws have it.
    pub(super) fn grasped(&self) -> bool {
        self.free == Vec3::zeros()
    }

    /// Where it is held \[m\].
    pub(super) fn place_m(&self, rod: &Rod) -> Vec3 {
        rod.from_m + self.arm_m + rod.jaw_m * self.share
    }

    pub(super) fn grip(&self, rod: &Rod) -> Grip {
        Grip {
            place_m: self.place_m(rod),
            free: self.free,
            stiffness_npm: rod.stiffness_npm,
        }
    }
}

/// What tools touch and hold. Room is made once.
#[derive(Debug, Clone)]
pub(super) struct Contact {
    pub(super) rods: [Option<Rod>; TOOLS],
    /// Force on every tool at the end of the last step \[N\].
    pub(super) felt_n: [Vec3; TOOLS],
    /// Whether the jaws of a tool were closed.
    pub(super) closed: [bool; TOOLS],
    /// Elements that tools touch or might, by colour.
    pub(super) touched: [Vec<u32>; 2],
    /// Those of them that are pinned.
    pub(super) fixed: Vec<u32>,
    /// What is tied to tools, and where in that list an element is.
    pub(super) clings: Vec<Cling>,
    pub(super) cling_of: Vec<u32>,
    /// Slots that may be near a tool; see [`Linked::find_near`].
    pub(super) near: Vec<u32>,
}

impl Contact {
    /// Of a volume that nothing touches.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            rods: [None; TOOLS],
            felt_n: [Vec3::zeros(); TOOLS],
            closed: [false; TOOLS],
            touched: std::array::from_fn(|_| Vec::with_capacity(slots)),
            // twice: two tools may touch the same before that is seen
            fixed: Vec::with_capacity(TOOLS * slots),
            clings: Vec::with_capacity(slots),
            cling_of: vec![NONE; slots],
            near: Vec::with_capacity(slots),
        }
    }

    /// Elements that tools touch or might, by colour, then those of them that are pinned.
    pub(super) fn met(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.touched.iter().chain([&self.fixed]);
        all.flatten().copied()
    }
}

/// What letting go of what pulls too much took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slipped {
    /// Energy that rubbing took \[J\].
    pub(super) lost_j: f64,
    /// Energy that was never there: the spring was not stretched beyond what it bears \[J\].
    pub(super) excess_j: f64,
}

impl Linked {
    /// What ties an element, if anything does.
    pub(super) fn grip(&self, element: u32) -> Option<Grip> {
        let cling = self
            .contact
            .clings
            .get(self.contact.cling_of[element as usize] as usize)?;
        let rod = self.contact.rods[cling.tool].as_ref()?;
        Some(cling.grip(rod))
    }

    /// Energy of all ties \[J\].
    pub(super) fn clung_j(&self) -> f64 {
        let grips = self
            .contact
            .clings
            .iter()
            .filter(|c| self.elements.alive(c.element));
        grips
            .filter_map(|c| {
                Some(
                    c.grip(self.contact.rods[c.tool].as_ref()?)
                        .energy_j(&self.elements.at_m(c.element)),
                )
            })
            .sum()
    }

    /// Lets go of tools that are gone, and of what tools are no more there for, leapt away from or have opened their jaws on.
    pub(super) fn let_go(&mut self, tools: &[Tool], rods: &[Option<Rod>; TOOLS]) {
        for (own, now) in self.contact.rods.iter_mut().zip(rods) {
            // what a tool pressed that is gone is lost, not given to the hand
            *own = own.filter(|_| now.is_some());
        }
        for index in (0..self.contact.clings.len()).rev() {
            let cling = self.contact.clings[index];
            let closed = |tool: &Tool| tool.jaws.is_some_and(|jaws| jaws.closed);
            let at_m = self.elements.at_m(cling.element);
            let near = |rod: &Rod| (cling.place_m(rod) - at_m).norm() <= LEAP * self.spacing_m;
            let kept = rods[cling.tool].as_ref().is_some_and(near)
                && self.elements.alive(cling.element)
                && !self.elements.pinned(cling.element)
                && (!cling.grasped() || tools.get(cling.tool).is_some_and(closed));
            if !kept {
                self.untie(index);
            }
        }
    }

    fn tie(&mut self, cling: Cling) {
        let at = &mut self.contact.cling_of[cling.element as usize];
        if *at == NONE {
            // no more than slots
            *at = u32::try_from(self.contact.clings.len()).unwrap_or(NONE);
            self.contact.clings.push(cling);
        } else {
            self.contact.clings[*at as usize] = cling;
        }
    }

    fn untie(&mut self, index: usize) {
        let gone = self.contact.clings.swap_remove(index);
        self.contact.cling_of[gone.element as usize] = NONE;
        if let Some(moved) = self.contact.clings.get(index) {
            self.contact.cling_of[moved.element as usize] = u32::try_from(index).unwrap_or(NONE);
        }
    }

    /// Jaws that close now take what is between them; gives the energy of ties by friction that this
    /// replaces \[J\].
    pub(super) fn grasp(&mut self, tools: &[Tool]) -> f64 {
        let before_j = self.clung_j();
        let mut taken = false;
        for index in 0..TOOLS {
            let jaws = tools.get(index).and_then(|tool| tool.jaws);
            let closed = jaws.is_none_or(|jaws| jaws.closed);
            let was = std::mem::replace(&mut self.contact.closed[index], closed);
            let (Some(jaws), Some(rod)) = (jaws, self.contact.rods[index]) else {
                continue;
            };
            if !closed || was {
                continue;
            }
            taken = true;
            let half_m = 0.5 * jaws.opening_m.max(0.0);
            self.find_near(&Extent::around(&rod.from_m, half_m + rod.radius_m));
            for nth in 0..self.contact.near.len() {
                self.grasp_one(index, &rod, half_m, self.contact.near[nth]);
            }
        }
        if taken {
            before_j - self.clung_j()
        } else {
            0.0
        }
    }

    /// Ties an element to jaws that are open by twice `half_m`, if it is between them.
    fn grasp_one(&mut self, tool: usize, rod: &Rod, half_m: f64, element: u32) {
        if !self.elements.alive(element) || self.elements.pinned(element) {
            return;
        }
        let from_tool = self.elements.at_m(element) - rod.from_m;
        let axis = jaw_axis(&rod.shaft_m);
        let along_m = from_tool.dot(&axis);
        let between = along_m.clamp(-half_m, half_m);
        if (from_tool - axis * between).norm() > rod.radius_m {
            return;
        }
        let other = self
            .contact
            .clings
            .get(self.contact.cling_of[element as usize] as usize);
        if other.is_some_and(|other| other.grasped()) {
            return;
        }
        let share = if half_m > 1e-9 { between / half_m } else { 0.0 };
        self.list(element);
        self.tie(Cling {
            element,
            tool,
            arm_m: from_tool - rod.jaw_m * share,
            share,
            free: Vec3::zeros(),
        });
    }

    /// Turns ties by friction across the normal of where their elements are now: along it they are free. Gives
    /// the energy of what they lose by it \[J\].
    pub(super) fn turn_ties(&mut self) -> f64 {
        let mut lost_j = 0.0;
        for index in 0..self.contact.clings.len() {
            let cling = self.contact.clings[index];
            let Some(rod) = self.contact.rods[cling.tool].filter(|_| !cling.grasped()) else {
                continue;
            };
            let at_m = self.elements.at_m(cling.element);
            let (_, out) = rod.depth_m(&at_m);
            let was = cling.grip(&rod).stretch_m(&at_m);
            let across = was - out * out.dot(&was);
            self.contact.clings[index].arm_m = at_m - rod.from_m - across;
            self.contact.clings[index].free = out;
            lost_j += 0.5 * rod.stiffness_npm * (was.norm_squared() - across.norm_squared());
        }
        lost_j
    }

    /// Lets go of what ties by friction pull beyond Coulomb's cone, and those of jaws beyond a spacing or, if elements have
    /// followed the tools, beyond that cone: what merely was not there yet has not slipped.
    pub(super) fn slip(&mut self, followed: bool) -> Slipped {
        let mut slipped = Slipped::default();
        for index in 0..self.contact.clings.len() {
            let cling = self.contact.clings[index];
            let Some(rod) = self.contact.rods[cling.tool] else {
                continue;
            };
            let at_m = self.elements.at_m(cling.element);
            let mut r = cling.grip(&rod).stretch_m(&at_m);
            let k = rod.stiffness_npm;
            if !cling.grasped() {
                let bears_m = self.params.friction * rod.depth_m(&at_m).0.max(0.0);
                self.slip_one(index, k, r, bears_m, &mut slipped);
                continue;
            }
            if let Some(friction) = self.params.jaw_friction.filter(|_| followed) {
                let axis = jaw_axis(&rod.shaft_m);
                let squeezed = axis * r.dot(&axis);
                // what squeezes it, as the grip counts it; jaws that pull it apart hold nothing by rubbing
                let grips_m = (cling.share * r.dot(&axis)).max(0.0);
                let (across, bears_m) = (r - squeezed, friction * grips_m);
                r = squeezed + self.slip_one(index, k, across, bears_m, &mut slipped);
            }
            self.slip_one(index, k, r, self.spacing_m, &mut slipped);
        }
        slipped
    }

    /// Lets go of what a spring of `k` \[N/m\] is stretched along `r` beyond what is borne; gives what is left of it
    /// \[m\].
    fn slip_one(
        &mut self,
        index: usize,
        k: f64,
        r: Vec3,
        bears_m: f64,
        slipped: &mut Slipped,
    ) -> Vec3 {
        let far_m = r.norm();
        if far_m <= bears_m {
            return r;
        }
        let kept = r * (bears_m / far_m);
        self.contact.clings[index].arm_m += r - kept;
        let way_m = far_m - bears_m;
        slipped.lost_j += k * way_m * bears_m;
        slipped.excess_j += 0.5 * k * way_m * way_m;
        kept
    }

    /// Ties what rough tools press and lets go of what they have left; gives the energy of the latter \[J\].
    pub(super) fn rub(&mut self) -> f64 {
        if self.params.friction <= 0.0 {
            return 0.0;
        }
        let mut lost_j = 0.0;
        for index in (0..self.contact.clings.len()).rev() {
            let cling = self.contact.clings[index];
            let at_m = self.elements.at_m(cling.element);
            let Some(rod) = self.contact.rods[cling.tool].filter(|_| !cling.grasped()) else {
                continue;
            };
            if rod.depth_m(&at_m).0 <= 0.0 {
                lost_j += cling.grip(&rod).energy_j(&at_m);
                self.untie(index);
            }
        }
        for colour in 0..2 {
            for nth in 0..self.contact.touched[colour].len() {
                let element = self.contact.touched[colour][nth];
                if self.contact.cling_of[element as usize] != NONE {
                    continue;
                }
                let at_m = self.elements.at_m(element);
                let met = (0..TOOLS).find_map(|tool| {
                    let rod = self.contact.rods[tool]?;
                    let (depth_m, out) = rod.depth_m(&at_m);
                    (depth_m > 0.0).then_some((tool, rod, out))
                });
                if let Some((tool, rod, free)) = met {
                    self.tie(Cling {
                        element,
                        tool,
                        arm_m: at_m - rod.from_m,
                        share: 0.0,
                        free,
                    });
                }
            }
        }
        lost_j
    }

    /// Adds what ties do to what a tool feels.
    pub(super) fn add_ties(&self, index: usize, felt: &mut Reaction) {
        let Some(rod) = &self.contact.rods[index] else {
            return;
        };
        let axis = jaw_axis(&rod.shaft_m);
        for cling in self
            .contact
            .clings
            .iter()
            .filter(|cling| cling.tool == index)
        {
            let at_m = self.elements.at_m(cling.element);
            let grip = cling.grip(rod);
            let force_n = grip.stretch_m(&at_m) * rod.stiffness_npm;
            felt.force_n += force_n;
            felt.torque_nm += (grip.place_m - rod.from_m).cross(&force_n);
            if cling.grasped() {
                felt.grip_n += 0.5 * cling.share * force_n.dot(&axis);
                felt.contacts += 1;
            }
        }
    }
}
