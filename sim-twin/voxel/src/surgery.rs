//! All that follows an edit, in one place: the log, the pieces, the surface and the cells.
//!
//! Source: seed-001 section 3.5; ours in that every tool's edits are one stroke of small changes, each of which is
//! told to all who must know. Nothing here allocates after [`Surgery::new`].

use crate::carve::{Met, Scoop};
use crate::cells::Cells;
use crate::edits::EditLog;
use crate::elements::Elements;
use crate::exact::{Control, Exact};
use crate::join::{Glue, carried, to_store_j};
use crate::knife::{Crossing, Knife, Sweep, stored_j};
use crate::pieces::Pieces;
use crate::surface::Surface;
use crate::tear::{Pulled, Tearing};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::edits::{Change, Part};
use palpate_twin::law::Real;

/// What a stroke did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Stroke {
    /// Links cut, or made.
    pub(super) links: usize,
    /// Elements taken out, put back, held or let go; one that is let go to be taken out counts twice.
    pub(super) elements: usize,
    /// Pieces that were not pieces before.
    pub(super) pieces: usize,
    /// Joins that were not made since the piece could not be carried to rest beside its new neighbours.
    pub(super) refused: usize,
    /// What cutting cost \[J\].
    pub(super) tough_j: f64,
    /// Energy that it put into links \[J\]; negative if it took energy out.
    pub(super) stored_j: f64,
    /// Share of a blade's way that was gone before cutting cost too much, 0 to 1.
    pub(super) way: f64,
}

/// What has to know of changes.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) pieces: Pieces,
    surface: Surface,
    pub(super) cells: Cells,
    /// Ends of all that changed in this stroke, each once.
    ends: Vec<u32>,
    is_end: Vec<bool>,
    /// All that changed since this was last forgotten.
    changes: Vec<Change>,
    /// Most of them.
    most: usize,
    stroke: Stroke,
}

impl Watch {
    /// Whether there is room to tell of so many more changes.
    fn has_room(&self, more: usize) -> bool {
        self.changes.len() + more <= self.most
    }

    fn tell<R: Real>(&mut self, elements: &mut Elements<R>, change: Change) {
        self.changes.push(change);
        self.pieces.note(elements, change);
        match change {
            Change::Cut { element, to, other } => {
                self.stroke.links += 1;
                self.stroke.stored_j -= stored_j(elements, element, to, other);
            }
            Change::Join { element, to, other } => {
                self.stroke.links += 1;
                self.stroke.stored_j += stored_j(elements, element, to, other);
            }
            Change::Carry { .. } => {}
            _ => self.stroke.elements += 1,
        }
        for end in change.ends() {
            self.surface.touch(elements, end);
            self.cells.follow(elements, end);
            if !std::mem::replace(&mut self.is_end[end as usize], true) {
                self.ends.push(end);
            }
        }
    }
}

/// Edits of a volume, and what follows them.
#[derive(Debug, Clone)]
pub(super) struct Surgery {
    log: EditLog,
    pub(super) watch: Watch,
    knife: Knife,
    glue: Glue,
    found: Vec<u32>,
    met: Vec<Met>,
    /// What is done next belongs to the stroke before.
    goes_on: bool,
}

/// Changes that taking out one element makes at most.
const TAKE: usize = 8;
/// Changes by slot that can be told of at once: those of all links, of all marks, and of all elements.
const CHANGES: usize = 5;

impl Surgery {
    /// Surgery on a volume; at most so many changes can be undone, and no more than there is to change.
    /// Unlinked parts of an object become objects of their own.
    pub(super) fn new<R: Real>(elements: &mut Elements<R>, changes: usize) -> Self {
        let slots = elements.slots() as usize;
        let most = CHANGES * slots + TAKE;
        Self {
            log: EditLog::new(elements, changes.min(most)),
            watch: Watch {
                pieces: Pieces::new(elements),
                surface: Surface::new(elements),
                cells: Cells::new(elements),
                ends: Vec::with_capacity(slots),
                is_end: vec![false; slots],
                changes: Vec::with_capacity(most),
                most,
                stroke: Stroke::default(),
            },
            knife: Knife::new(elements),
            glue: Glue::new(elements),
            found: Vec::with_capacity(slots),
            met: Vec::with_capacity(slots),
            goes_on: false,
        }
    }

    /// The log of edits.
    pub(super) const fn edits(&self) -> &EditLog {
        &self.log
    }

    /// The surface.
    pub(super) const fn surface(&self) -> &Surface {
        &self.watch.surface
    }

    /// Elements whose links or marks the last stroke changed, each once.
    pub(super) fn ends(&self) -> &[u32] {
        &self.watch.ends
    }

    /// All that changed in the last stroke, or since [`Surgery::forget_changes`], in the order in which it
    /// was done.
    pub(super) fn changes(&self) -> &[Change] {
        &self.watch.changes
    }

    /// Forgets [`Surgery::changes`], as every new stroke does. There is room for as many as there are links,
    /// marks and elements; what would be more is not done.
    pub(super) fn forget_changes(&mut self) {
        self.watch.changes.clear();
    }

    /// Whether what is done from now on belongs to the stroke before and is undone with it, as long as it
    /// is said again.
    pub(super) const fn go_on(&mut self, goes_on: bool) {
        self.goes_on = goes_on;
    }

    /// How far from a blade the ends of links may be that it crosses \[m\].
    pub(super) const fn knife_reach_m(&self) -> f64 {
        self.knife.reach_m()
    }

    /// How far from an element another may be that glue joins to it \[m\].
    pub(super) fn glue_reach_m(&self) -> f64 {
        self.glue.give_m() + self.watch.cells.pitch_m()
    }

    /// Notes that an element moved.
    pub(super) fn follow<R: Real>(&mut self, elements: &Elements<R>, element: u32) {
        self.watch.cells.follow(elements, element);
    }

    /// Notes that elements moved, which is not told.
    pub(super) fn follow_all<R: Real>(&mut self, elements: &Elements<R>) {
        self.watch.cells.follow_all(elements);
    }

    fn begin(&mut self) {
        if !self.goes_on {
            self.log.begin();
            self.forget_changes();
        }
        self.open();
    }

    fn open(&mut self) {
        self.watch.stroke = Stroke {
            way: 1.0,
            ..Stroke::default()
        };
        for &end in &self.watch.ends {
            self.watch.is_end[end as usize] = false;
        }
        self.watch.ends.clear();
    }

    fn end<R: Real>(&mut self, elements: &mut Elements<R>) -> Stroke {
        self.watch.stroke.pieces = self.watch.pieces.settle(elements);
        self.watch.surface.update(elements);
        self.watch.stroke
    }

    fn make<R: Real>(&mut self, elements: &mut Elements<R>, change: Change) -> bool {
        let made = self.watch.has_room(1) && self.log.make(elements, change);
        if made {
            self.watch.tell(elements, change);
        }
        made
    }

    /// Makes changes that another site has made, as a part of what it did; those that cannot be made are left out.
    pub(super) fn apply<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        part: Part,
        changes: &[Change],
    ) -> Stroke {
        if part == Part::Begins {
            self.log.begin();
        }
        self.forget_changes();
        self.open();
        for &change in changes {
            let inside = change.ends().into_iter().all(|end| end < elements.slots());
            if !inside {
                continue;
            }
            match part {
                Part::Begins | Part::GoesOn => {
                    self.make(elements, change);
                }
                Part::Undone | Part::Redone => {
                    let back = part == Part::Undone;
                    let room = self.watch.has_room(1);
                    if room && self.log.retrace(elements, change, back) {
                        self.watch.tell(elements, change);
                    }
                }
            }
        }
        self.end(elements)
    }

    /// Cuts all links that cross a plane; no element is lost.
    pub(super) fn part<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        point_m: &Vec3,
        normal: &Vec3,
    ) -> Stroke {
        self.begin();
        let above =
            |elements: &Elements<R>, element| (elements.at_m(element) - point_m).dot(normal) > 0.0;
        for element in 0..elements.slots() {
            let side = above(elements, element);
            for to in Direction::UP {
                let other = elements.neighbour(element, to);
                if let Some(other) = other.filter(|&other| above(elements, other) != side) {
                    self.make(elements, Change::Cut { element, to, other });
                }
            }
        }
        self.end(elements)
    }

    /// Takes a blade through as many links as `way` says, which is told all that it may cross, and which share
    /// of its sweep that is.
    pub(super) fn draw<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        sweep: &Sweep,
        way: impl FnOnce(&[Crossing]) -> (usize, f64),
    ) -> Stroke {
        self.begin();
        self.knife.find(elements, &mut self.watch.cells, sweep);
        let (count, way) = way(self.knife.crossings());
        let mut paid_j = 0.0;
        for nth in 0..count.min(self.knife.crossings().len()) {
            let crossing = self.knife.crossings()[nth];
            paid_j += crossing.tough_j;
            self.make(elements, crossing.cut());
        }
        (self.watch.stroke.tough_j, self.watch.stroke.way) = (paid_j, way);
        self.end(elements)
    }

    /// Takes out as many elements as `way` says, which is told all that a ball may come over in the order in which
    /// it does, and which share of its motion that is.
    pub(super) fn scoop<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        ball: &Scoop,
        way: impl FnOnce(&[Met]) -> (usize, f64),
    ) -> Stroke {
        self.begin();
        ball.find(elements, &mut self.watch.cells, &mut self.found);
        ball.meet(elements, &self.found, &mut self.met);
        let (count, way) = way(&self.met);
        let mut paid_j = 0.0;
        for nth in 0..count.min(self.met.len()) {
            let met = self.met[nth];
            paid_j += met.tough_j;
            self.take(elements, met.element);
        }
        (self.watch.stroke.tough_j, self.watch.stroke.way) = (paid_j, way);
        self.end(elements)
    }

    fn take<R: Real>(&mut self, elements: &mut Elements<R>, element: u32) {
        let watch = &mut self.watch;
        if !watch.has_room(TAKE) {
            return;
        }
        self.log.carve(elements, element, |elements, change| {
            watch.tell(elements, change);
        });
    }

    /// Holds the elements that a round tool comes over where they are, or lets them go (row TP-09).
    pub(super) fn pin<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        scoop: &Scoop,
        held: bool,
    ) -> Stroke {
        self.begin();
        scoop.find(elements, &mut self.watch.cells, &mut self.found);
        for nth in 0..self.found.len() {
            let element = self.found[nth];
            let change = if held {
                Change::Hold { element }
            } else {
                Change::Free { element }
            };
            self.make(elements, change);
        }
        self.end(elements)
    }

    /// Joins elements within a ball that lack a neighbour with the nearest that may be (row TP-06), but no link that
    /// stores more than is left of `budget_j` \[J\].
    pub(super) fn join_within<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        centre_m: Vec3,
        radius_m: f64,
        budget_j: f64,
    ) -> Stroke {
        self.begin();
        let region = Scoop::ball(centre_m, centre_m, radius_m);
        region.find(elements, &mut self.watch.cells, &mut self.found);
        let cells = &mut self.watch.cells;
        self.glue.survey(elements, cells, &centre_m, radius_m);
        for nth in 0..self.found.len() {
            for to in Direction::ALL {
                let element = self.found[nth];
                let cells = &mut self.watch.cells;
                let partner = self.glue.partner(elements, cells, element, to);
                let left_j = budget_j - self.watch.stroke.stored_j;
                let affords = |other: &u32| to_store_j(elements, element, to, *other) <= left_j;
                if let Some(other) = partner.filter(affords) {
                    self.join_one(elements, element, to, other);
                }
            }
        }
        self.end(elements)
    }

    /// Joins two elements that may be, carrying the smaller object if they do not rest beside each other.
    fn join_one<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        element: u32,
        to: Direction,
        other: u32,
    ) {
        let by = carried(elements, element, to, other);
        if by != [0; 3] {
            let objects = [element, other].map(|end| elements.object(end));
            let counts = objects.map(|object| self.watch.pieces.size(object));
            let (end, by) = if counts[1] <= counts[0] {
                (other, by)
            } else {
                (element, by.map(i32::saturating_neg))
            };
            let by = by.map(|steps| i16::try_from(steps).unwrap_or(i16::MAX));
            let change = Change::Carry { element: end, by };
            if !self.make(elements, change) {
                self.watch.stroke.refused += 1;
                return;
            }
        }
        let two = elements.object(element) != elements.object(other);
        self.make(elements, Change::Join { element, to, other });
        if two {
            self.glue.regroup(elements);
        }
    }

    /// Moves controls, and tears where that cannot be (row TP-05).
    pub(super) fn pull<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        tearing: &mut Tearing,
        exact: &mut Exact<R>,
        controls: &[Control<R>],
        dt_s: f64,
    ) -> (Pulled, Stroke) {
        self.begin();
        let (log, watch) = (&mut self.log, &mut self.watch);
        let pulled = tearing.pull(elements, exact, controls, dt_s, |elements, change| {
            if watch.has_room(1) && log.make(elements, change) {
                watch.tell(elements, change);
            }
        });
        for (element, _, _) in exact.changes() {
            self.watch.cells.follow(elements, element);
        }
        (pulled, self.end(elements))
    }

    /// Takes the last stroke back; [`Surgery::changes`] then has what that changed and nothing else.
    pub(super) fn undo<R: Real>(&mut self, elements: &mut Elements<R>) -> Stroke {
        self.open();
        // a stroke is no longer than the log, which is no longer than this
        self.forget_changes();
        let watch = &mut self.watch;
        self.log.undo(elements, |elements, change| {
            watch.tell(elements, change);
        });
        self.end(elements)
    }

    /// Makes the last stroke that was taken back again; [`Surgery::changes`] then has what that changed.
    pub(super) fn redo<R: Real>(&mut self, elements: &mut Elements<R>) -> Stroke {
        self.open();
        // a stroke is no longer than the log, which is no longer than this
        self.forget_changes();
        let watch = &mut self.watch;
        self.log.redo(elements, |elements, change| {
            watch.tell(elements, change);
        });
        self.end(elements)
    }

    /// Integers that [`Surgery::write`] appends at most.
    pub(super) fn integers_max(&self) -> usize {
        let slots = self.watch.is_end.len();
        1 + Surface::integers_max(slots) + self.log.integers_max()
    }

    /// Appends all that is to go on with and that elements do not say themselves.
    pub(super) fn write(&self, integers: &mut Vec<u64>) {
        integers.push(self.watch.pieces.next().into());
        self.watch.surface.write(integers);
        self.log.write(integers);
    }

    /// Whether these are integers of surgery on this volume.
    pub(super) fn fits(&self, integers: &[u64]) -> bool {
        let slots = self.watch.is_end.len();
        let Some(surface) = integers.get(1..).and_then(Surface::integers) else {
            return false;
        };
        let log = integers.get(1 + surface..).and_then(EditLog::integers);
        log.is_some_and(|log| {
            let all = log.checked_add(1 + surface) == Some(integers.len());
            all && log <= self.log.integers_max() && surface <= Surface::integers_max(slots)
        })
    }

    /// Takes it back, after elements have taken theirs: what is not said is found anew.
    pub(super) fn read<R: Real>(
        &mut self,
        elements: &Elements<R>,
        integers: &[u64],
        changed: bool,
    ) {
        let Some((&next, rest)) = integers.split_first() else {
            return;
        };
        let surface = Surface::integers(rest).unwrap_or_default().min(rest.len());
        let (surface, log) = rest.split_at(surface);
        self.log.read(log);
        self.forget_changes();
        self.open();
        self.follow_all(elements);
        // it was a number of 32 bits before
        let next = u32::try_from(next).unwrap_or(u32::MAX);
        self.watch.pieces.recount(elements, next, changed);
        if changed {
            self.watch.surface.rebuild(elements);
        }
        self.watch.surface.read(surface);
    }
}
