//! Tearing: a link breaks when what is asked of it can be had from nobody.
//!
//! Source: seed-001 section 3.5 "Tear" (row TP-05). Where the exact propagation refuses since an element is held,
//! the chain of links that hands the motion on is followed from there back to the control that moves. All
//! its links are stretched, sheared or pressed as far as they give; the weakest that is not pressed breaks,
//! of equal ones that nearest to the moving control, and the motion is tried again. Small or short
//! excesses break nothing, so that noise does not.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::elements::{Elements, NONE, to_f64};
use crate::exact::{Control, Exact, Infeasible, Moved, usable};
use crate::knife::tough_j;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// When links break.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TearRule {
    /// Excess below which nothing breaks, over the spacing.
    pub(super) margin: f64,
    /// Time for which it must last \[s\].
    pub(super) patience_s: f64,
    /// Most links that break in one call.
    pub(super) most: usize,
}

impl Default for TearRule {
    fn default() -> Self {
        Self {
            margin: 0.02,
            patience_s: 0.0,
            most: 8,
        }
    }
}

/// What a pull did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pulled {
    /// Links that broke.
    pub(super) torn: usize,
    /// Whether the controls are where they must be.
    pub(super) moved: Result<Moved, Infeasible>,
}

/// Who would have to go where.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due {
    to_m: f64,
    element: u32,
    from: u32,
}

impl Eq for Due {}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_way = self.to_m.total_cmp(&other.to_m);
        by_way
            .then_with(|| other.element.cmp(&self.element))
            .then_with(|| other.from.cmp(&self.from))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The excess that a held element would have to give.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Excess {
    by_m: f64,
    axis: usize,
    up: bool,
}

/// Tears, and remembers for how long it had reason to.
#[derive(Debug, Clone)]
pub(super) struct Tearing {
    rule: TearRule,
    strained_s: f64,
    due: BinaryHeap<Due>,
    /// Pass in which an element was last told to go somewhere, and by whom.
    told: Vec<(u32, u32)>,
    pass: u32,
    is_control: Vec<bool>,
    /// From the held element back to the control.
    pub(super) chain: Vec<u32>,
}

impl Tearing {
    /// Room for a volume of so many slots.
    pub(super) fn new(slots: u32, rule: TearRule) -> Self {
        let slots = slots as usize;
        Self {
            rule,
            strained_s: 0.0,
            due: BinaryHeap::with_capacity(6 * slots),
            told: vec![(0, NONE); slots],
            pass: 0,
            is_control: vec![false; slots],
            chain: Vec::with_capacity(slots),
        }
    }

    /// Moves controls as [`Exact::propagate`] does; where that is refused and the rule says so, breaks links
    /// until it is not. `cut` makes the cuts.
    pub(super) fn pull<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        exact: &mut Exact<R>,
        controls: &[Control<R>],
        dt_s: f64,
        mut cut: impl FnMut(&mut Elements<R>, Change),
    ) -> Pulled {
        let mut torn = 0;
        loop {
            let moved = exact.propagate(elements, controls);
            if moved.is_ok() {
                self.strained_s = 0.0;
                return Pulled { torn, moved };
            }
            let excess = self.trace(elements, controls);
            let enough =
                |e: &Excess| e.by_m > self.rule.margin * elements.frame().spacing_m[e.axis];
            let Some(excess) = excess.filter(enough) else {
                self.strained_s = 0.0;
                return Pulled { torn, moved };
            };
            if torn == 0 {
                self.strained_s += dt_s.max(0.0);
            }
            let wait = self.strained_s < self.rule.patience_s || torn >= self.rule.most;
            let weakest = self.weakest(elements, excess);
            let Some(change) = weakest.filter(|_| !wait) else {
                return Pulled { torn, moved };
            };
            cut(elements, change);
            torn += 1;
        }
    }

    /// Finds the held element that would have to give most, and the chain from there to the control
    /// that asks it to. Moves nothing.
    fn trace<R: Real>(
        &mut self,
        elements: &Elements<R>,
        controls: &[Control<R>],
    ) -> Option<Excess> {
        let usable = |control: &&Control<R>| usable(elements, control);
        self.chain.clear();
        for control in controls.iter().filter(usable) {
            self.is_control[control.element as usize] = true;
        }
        let mut worst: Option<Excess> = None;
        for axis in 0..3 {
            for up in [true, false] {
                let least_m = worst.map_or(0.0, |worst| worst.by_m);
                self.due.clear();
                for control in controls.iter().filter(usable) {
                    let sense = if up { 1.0 } else { -1.0 };
                    let to_m = sense * to_f64(control.to_m[axis]);
                    let element = control.element;
                    if to_m > sense * to_f64(elements.moved_m(element)[axis]) {
                        self.due.push(Due {
                            to_m,
                            element,
                            from: NONE,
                        });
                    }
                }
                if let Some(by_m) = self.follow(elements, axis, up, least_m) {
                    worst = Some(Excess { by_m, axis, up });
                }
            }
        }
        for control in controls.iter().filter(usable) {
            self.is_control[control.element as usize] = false;
        }
        worst
    }

    /// One axis, one sense: who would have to go where; if a held element would have to give more than
    /// `least_m`, notes the chain to it.
    fn follow<R: Real>(
        &mut self,
        elements: &Elements<R>,
        axis: usize,
        up: bool,
        mut least_m: f64,
    ) -> Option<f64> {
        let sense = if up { 1.0 } else { -1.0 };
        self.pass = self.pass.wrapping_add(1);
        let mut found = None;
        while let Some(Due {
            to_m,
            element,
            from,
        }) = self.due.pop()
        {
            let slot = element as usize;
            let at_m = sense * to_f64(elements.moved_m(element)[axis]);
            if at_m >= to_m || self.told[slot].0 == self.pass {
                continue;
            }
            if from != NONE && (self.is_control[slot] || elements.pinned(element)) {
                if to_m - at_m > least_m {
                    least_m = to_m - at_m;
                    found = Some(least_m);
                    self.note(element, from);
                }
                continue;
            }
            self.told[slot] = (self.pass, from);
            for to in Direction::ALL {
                let Some(other) = elements.neighbour(element, to) else {
                    continue;
                };
                let pair = [elements.matter(element), elements.matter(other)];
                let (least, most) = elements.bonds().range_m(pair, to, axis);
                let give_m = to_f64(if up { least } else { -most });
                let due = Due {
                    to_m: to_m + give_m,
                    element: other,
                    from: element,
                };
                if sense * to_f64(elements.moved_m(other)[axis]) < due.to_m {
                    self.due.push(due);
                }
            }
        }
        found
    }

    /// Writes down the chain that ends at a held element.
    fn note(&mut self, held: u32, mut from: u32) {
        self.chain.clear();
        self.chain.push(held);
        while from != NONE && self.chain.len() <= self.told.len() {
            self.chain.push(from);
            from = self.told[from as usize].1;
        }
    }

    /// The link of the chain that costs least to break, of equal ones the nearest to the control; none
    /// if all are pressed.
    fn weakest<R: Real>(&self, elements: &Elements<R>, excess: Excess) -> Option<Change> {
        let mut weakest: Option<(f64, Change)> = None;
        for pair in self.chain.windows(2).rev() {
            let (element, other) = (pair[1], pair[0]);
            let links = Direction::ALL
                .into_iter()
                .filter(|to| elements.neighbour(element, *to) == Some(other));
            for to in links {
                // what is ahead on the way is pressed, what is behind pulled, what is beside sheared
                if to.axis() == excess.axis && to.is_up() == excess.up {
                    continue;
                }
                let strength_j = tough_j(elements, element, to, other);
                if weakest.is_none_or(|(least_j, _)| strength_j < least_j) {
                    weakest = Some((strength_j, Change::Cut { element, to, other }));
                }
            }
        }
        weakest.map(|(_, change)| change)
    }
}
