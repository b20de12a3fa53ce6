//! ChainMail as printed: ordered lists of candidates, every element looked at once.
//!
//! Source: seed-001 section 3.3.2 (its Figs. 9 and 10; rows DF-01 to DF-04, DF-11, DF-19) and 3.3.5 (Fig. 17; row
//! DF-12). An element that breaks a limit with its sponsor moves the least way that keeps it, and
//! its neighbours become candidates. Which neighbours depends on the list it stood in, and lists are
//! worked off in one order, so a box of one material is done in one pass. In two dimensions, a volume of one
//! layer, the front and back lists stay empty and this is Fig. 9.
//!
//! It keeps all limits on boxes of one material with one control, and promises nothing elsewhere: on
//! other shapes it leaves links overstretched, with Fig. 17 too (a sphere, a hole). [`palpate_voxel::exact`] is what
//! sessions use.

use crate::voxel::propagation::{Held, Log, slack, usable};
use crate::voxel::to_f64;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::{Control, Infeasible, Moved};

/// Lists in the order in which they are worked off.
pub const ORDER: [Direction; 6] = [
    Direction::Front,
    Direction::Back,
    Direction::Right,
    Direction::Left,
    Direction::Top,
    Direction::Bottom,
];

/// Which neighbours become candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lists {
    /// As Figs. 9 and 10 print it: for boxes.
    #[default]
    Box,
    /// As Fig. 17 prints it for its right list, and generalised to all: also neighbours whose own sponsor is
    /// not there. For slots and corners; holes and round shapes still defeat it.
    Corners,
}

impl Lists {
    /// Neighbours that an element of a list queues.
    #[must_use]
    pub const fn of(list: Direction) -> &'static [Direction] {
        use Direction::{Back, Bottom, Front, Left, Right, Top};
        match list {
            Front => &[Top, Bottom, Left, Right, Front],
            Back => &[Top, Bottom, Left, Right, Back],
            Right => &[Top, Bottom, Right],
            Left => &[Top, Bottom, Left],
            Top => &[Top],
            Bottom => &[Bottom],
        }
    }
}

/// An element that might have to follow its sponsor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The element.
    pub element: u32,
    /// Who moved.
    pub sponsor: u32,
}

/// A list: whoever was queued stays, and the next one is counted.
#[derive(Debug, Clone, Default)]
struct List {
    queued: Vec<Candidate>,
    next: usize,
}

/// What one candidate came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// The candidate.
    pub candidate: Candidate,
    /// The list where it stood.
    pub list: Direction,
    /// Whether it had moved already, and was passed over.
    pub passed: bool,
    /// Whether it moved now.
    pub moved: bool,
}

/// Room for the work, made once.
#[derive(Debug, Clone)]
pub struct Chain<R> {
    lists: [List; 6],
    /// Which of [`ORDER`] is at hand.
    at: usize,
    which: Lists,
    /// Generation in which an element last moved: nothing is cleared.
    stamp: Vec<u32>,
    generation: u32,
    /// Who moved, the control first.
    order: Vec<u32>,
    considered: usize,
    held: Held,
    was: Log<R>,
}

impl<R: Real> Chain<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(slots: u32, which: Lists) -> Self {
        let slots = slots as usize;
        Self {
            lists: std::array::from_fn(|_| List {
                queued: Vec::with_capacity(slots),
                next: 0,
            }),
            at: 0,
            which,
            stamp: vec![0; slots],
            generation: 0,
            order: Vec::with_capacity(slots),
            considered: 0,
            held: Held::new(slots),
            was: Log::new(slots),
        }
    }

    /// Puts controls where they must be, one after the other, and moves whoever follows.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is held would have to give: pinned, or another control. Nothing has
    /// moved then. That is ours; the source says nothing of what is held (W-19).
    pub fn propagate(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
    ) -> Result<Moved, Infeasible> {
        self.was.clear();
        self.held.mark(elements, controls);
        let mut moved = Moved::default();
        for control in controls {
            self.start(elements, control);
            loop {
                match self.look(elements) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(why) => {
                        self.was.restore(elements);
                        return Err(why);
                    }
                }
            }
            moved.moved += self.order.len();
            moved.considered += self.considered;
        }
        Ok(moved)
    }

    /// Puts a control where it must be and queues its neighbours; one that cannot be put leaves all lists
    /// empty. With [`Chain::look`] this is [`Chain::propagate`], candidate by candidate.
    pub fn begin(&mut self, elements: &mut Elements<R>, control: &Control<R>) {
        self.was.clear();
        self.held.mark(elements, std::slice::from_ref(control));
        self.start(elements, control);
    }

    fn start(&mut self, elements: &mut Elements<R>, control: &Control<R>) {
        self.stamp.resize(elements.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for list in &mut self.lists {
            list.queued.clear();
            list.next = 0;
        }
        (self.at, self.considered) = (0, 0);
        self.order.clear();
        if !usable(elements, control) {
            return;
        }
        for (axis, &to_m) in control.to_m.iter().enumerate() {
            self.was.put(elements, control.element, axis, to_m);
        }
        self.stamp[control.element as usize] = self.generation;
        self.order.push(control.element);
        for to in Direction::ALL {
            self.queue(elements, control.element, to);
        }
    }

    /// Looks at the next candidate; none if all lists are worked off.
    ///
    /// # Errors
    /// [`Infeasible`] if it would have to move and is held.
    pub fn look(&mut self, elements: &mut Elements<R>) -> Result<Option<Looked>, Infeasible> {
        let Some(list) = self.list_at_hand() else {
            return Ok(None);
        };
        let own = &mut self.lists[list.index()];
        let candidate = own.queued[own.next];
        own.next += 1;
        let mut looked = Looked {
            candidate,
            list,
            passed: self.stamp[candidate.element as usize] == self.generation,
            moved: false,
        };
        if !looked.passed {
            self.considered += 1;
            looked.moved = self.follow(elements, candidate, list)?;
        }
        if looked.moved {
            self.stamp[candidate.element as usize] = self.generation;
            self.order.push(candidate.element);
            for &to in Lists::of(list) {
                self.queue(elements, candidate.element, to);
            }
            if self.which == Lists::Corners {
                self.queue_round_corners(elements, candidate.element, list);
            }
        }
        Ok(Some(looked))
    }

    /// The list that is worked off, which is the next one that is not empty.
    fn list_at_hand(&mut self) -> Option<Direction> {
        for _ in 0..ORDER.len() {
            let list = ORDER[self.at];
            let own = &self.lists[list.index()];
            if own.next < own.queued.len() {
                return Some(list);
            }
            self.at = (self.at + 1) % ORDER.len();
        }
        None
    }

    /// Moves a candidate the least way that keeps its limits with its sponsor; whether it had to.
    fn follow(
        &mut self,
        elements: &mut Elements<R>,
        Candidate { element, sponsor }: Candidate,
        to: Direction,
    ) -> Result<bool, Infeasible> {
        let pair = [elements.matter(sponsor), elements.matter(element)];
        let mut moved = false;
        for axis in 0..3 {
            let (least, most) = elements.bonds().range_m(pair, to, axis);
            let from_m = elements.moved_m[axis][sponsor as usize];
            let at_m = elements.moved_m[axis][element as usize];
            let to_m = at_m.clamp(from_m + least, from_m + most);
            if to_m == at_m {
                continue;
            }
            if self.held.has(elements, element) {
                let by_m = to_f64((to_m - at_m).abs());
                if by_m <= slack(elements, axis) {
                    continue;
                }
                return Err(Infeasible {
                    element,
                    for_element: sponsor,
                    axis,
                    by_m,
                });
            }
            self.was.put(elements, element, axis, to_m);
            moved = true;
        }
        Ok(moved)
    }

    /// Queues a neighbour that has not moved.
    fn queue(&mut self, elements: &Elements<R>, sponsor: u32, to: Direction) {
        let Some(element) = elements.neighbour(sponsor, to) else {
            return;
        };
        if self.stamp[element as usize] != self.generation {
            let list = &mut self.lists[to.index()];
            list.queued.push(Candidate { element, sponsor });
        }
    }

    /// Fig. 17: queues neighbours that this list leaves to others, if those others are not there.
    fn queue_round_corners(&mut self, elements: &Elements<R>, sponsor: u32, list: Direction) {
        for to in Direction::ALL {
            if to == list.opposite() || Lists::of(list).contains(&to) {
                continue;
            }
            let alone = elements
                .neighbour(sponsor, to)
                .is_some_and(|n| elements.neighbour(n, list.opposite()).is_none());
            if alone {
                self.queue(elements, sponsor, to);
            }
        }
    }

    /// Who moved for the last control, in order; the control is the first.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Candidates of the last control that were looked at, passed ones apart.
    #[must_use]
    pub const fn considered(&self) -> usize {
        self.considered
    }

    /// Everybody who was queued in a list for the last control, and how many of them have been taken out.
    #[must_use]
    pub fn list(&self, list: Direction) -> (&[Candidate], usize) {
        let own = &self.lists[list.index()];
        (&own.queued, own.next)
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        self.was.restore(elements);
    }
}
