//! A volume's links as the sweeps want them: stiffness by direction, gains by colour, runs of rows.
//!
//! Source: ours after seed-001 sections 3.4.2 (weighted rule) and 3.4.3 (red and black). A run is a
//! stretch of every second element along x whose neighbours in each direction are all at one distance in
//! the arrays, so that a sweep goes through memory in order. Elements whose neighbours are elsewhere, such as those
//! of a join, are loose: they are swept one by one.

use crate::elements::{Elements, NONE, colour_of};
use crate::marks::Marks;
use crate::plain::{Alike, Plain};
use palpate_twin::edits::Direction;

/// A stretch of every second element along x, all of one colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    /// Its colour, 0 or 1.
    pub(super) colour: usize,
    /// First slot.
    pub(super) start: usize,
    /// How many.
    pub(super) len: usize,
    /// First slot of the stretch of neighbours, by direction; its own where there are none.
    pub(super) beside: [usize; 6],
}

/// The links of a volume, ready for sweeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Weave {
    pub(super) runs: Vec<Run>,
    /// Runs of colour 0.
    even: Marks,
    /// What is known of the links of every run.
    pub(super) alike: Vec<Alike>,
    /// The run of every slot; [`NONE`] of loose ones.
    pub(super) run_of: Vec<u32>,
    /// Slots that belong to no run, in order.
    pub(super) loose: Vec<u32>,
    /// Runs that links of a run may lead to, each once, one run's after another's.
    next_to: Vec<u32>,
    /// Where those of a run begin, and where the last one's end.
    next_from: Vec<u32>,
    /// Stiffness of the link \[N/m\] by direction and slot; 0 without one.
    pub(super) stiffness: [Vec<f32>; 6],
    /// Sum of the six \[N/m\].
    pub(super) sum: Vec<f32>,
    /// One over the sum for elements that may move \[m/N\], 0 for all others.
    pub(super) gain: Vec<f32>,
    /// Least room of any bond \[m\], by its axis and the axis of the world.
    pub(super) room: [[f32; 3]; 3],
}

impl Weave {
    /// The links of a volume as they are.
    pub(super) fn new(elements: &Elements<f32>) -> Self {
        let count = elements.slots() as usize;
        let mut weave = Self {
            runs: Vec::with_capacity(count),
            even: Marks::new(count),
            alike: Vec::with_capacity(count),
            run_of: vec![NONE; count],
            loose: Vec::with_capacity(count),
            next_to: Vec::with_capacity(6 * count),
            next_from: Vec::with_capacity(count + 1),
            stiffness: std::array::from_fn(|_| vec![0.0; count]),
            sum: vec![0.0; count],
            gain: vec![0.0; count],
            room: least_room(elements),
        };
        weave.lay(elements);
        for element in 0..elements.slots() {
            weave.renew(elements, element);
        }
        weave
    }

    /// Takes the links of one element anew, after an edit of it.
    pub(super) fn renew(&mut self, elements: &Elements<f32>, element: u32) {
        let slot = element as usize;
        let mut sum = 0.0;
        for to in Direction::ALL {
            let other = elements.neighbour(element, to);
            let k = other.map_or(0.0, |other| {
                elements.stiffness_npm(element, other, to.axis())
            });
            self.stiffness[to.index()][slot] = k;
            sum += k;
        }
        self.sum[slot] = sum;
        if let Some(alike) = self.alike.get_mut(self.run_of[slot] as usize) {
            *alike = Alike::Unknown;
        }
        self.renew_gain(elements, element);
    }

    /// Lets sweeps of rows move an element again, if anything may.
    pub(super) fn renew_gain(&mut self, elements: &Elements<f32>, element: u32) {
        let slot = element as usize;
        let sum = self.sum[slot];
        let free = elements.alive(element) && !elements.pinned(element) && sum > 0.0;
        self.gain[slot] = if free { 1.0 / sum } else { 0.0 };
    }

    /// Finds the runs; after a join, since no other edit puts neighbours elsewhere.
    pub(super) fn lay(&mut self, elements: &Elements<f32>) {
        self.runs.clear();
        self.loose.clear();
        self.run_of.fill(NONE);
        let count = elements.slots();
        let mut element = 0;
        while element < count {
            let run = stretch(elements, element);
            match run {
                Some(run) => {
                    // no more runs than slots
                    let index = u32::try_from(self.runs.len()).unwrap_or(NONE);
                    self.run_of[run.start..run.start + run.len].fill(index);
                    self.runs.push(run);
                    element += u32::try_from(run.len).unwrap_or(1);
                }
                None => {
                    self.loose.push(element);
                    element += 1;
                }
            }
        }
        self.lay_beside();
    }

    /// Finds which runs lie where neighbours of a run do: after the runs changed.
    pub(super) fn lay_beside(&mut self) {
        self.alike.clear();
        self.alike.resize(self.runs.len(), Alike::Unknown);
        self.even.clear();
        for (index, _) in self
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| run.colour == 0)
        {
            self.even.add(index);
        }
        self.next_to.clear();
        self.next_from.clear();
        for run in &self.runs {
            let from = self.next_to.len();
            // at most six a slot
            self.next_from.push(u32::try_from(from).unwrap_or(NONE));
            for start in run.beside.into_iter().filter(|&start| start != run.start) {
                let there = self.run_of.get(start..start + run.len);
                for &other in there.unwrap_or_default() {
                    if other != NONE && !self.next_to[from..].contains(&other) {
                        self.next_to.push(other);
                    }
                }
            }
        }
        let end = u32::try_from(self.next_to.len()).unwrap_or(NONE);
        self.next_from.push(end);
    }

    /// Those of 64 runs that are of a colour, a bit each.
    #[inline]
    pub(super) fn of_colour(&self, nth: usize, colour: usize) -> u64 {
        let even = self.even.word(nth);
        if colour == 0 { even } else { !even }
    }

    /// Looks whether the links of a run are alike, if that is not known.
    #[inline]
    pub(super) fn learn(&mut self, elements: &Elements<f32>, run: usize) {
        if self.alike.get(run) == Some(&Alike::Unknown) {
            self.alike[run] = Alike::of(elements, self, &self.runs[run]);
        }
    }

    /// What all links of a run are like, if they are alike and that is known.
    #[inline(always)]
    pub(super) fn plain(&self, run: u32) -> Option<&Plain> {
        match self.alike.get(run as usize) {
            Some(Alike::Plain(plain)) => Some(plain),
            _ => None,
        }
    }

    /// The runs that links of a run may lead to; none of an edit leads elsewhere before runs are found anew.
    #[inline]
    pub(super) fn beside(&self, run: usize) -> &[u32] {
        let ends = (self.next_from.get(run), self.next_from.get(run + 1));
        let (Some(&from), Some(&to)) = ends else {
            return &[];
        };
        &self.next_to[from as usize..to as usize]
    }
}

/// The longest run from a slot; none if its neighbours are beyond the arrays.
fn stretch(elements: &Elements<f32>, first: u32) -> Option<Run> {
    let count = elements.slots();
    let site = elements.site(first);
    let mut away: [Option<i64>; 6] = [None; 6];
    let mut last = first;
    for element in first..count {
        let along = i32::try_from(2 * (element - first)).unwrap_or(i32::MAX);
        if elements.site(element) != [site[0].saturating_add(along), site[1], site[2]] {
            break;
        }
        let mut wider = away;
        let fits = Direction::ALL.iter().all(|&to| {
            let Some(other) = elements.neighbour(element, to) else {
                return true;
            };
            let far = i64::from(other) - i64::from(element);
            *wider[to.index()].get_or_insert(far) == far
        });
        let inside = |far: &Option<i64>| {
            let far = far.unwrap_or(0);
            let within = 0..i64::from(count);
            within.contains(&(i64::from(first) + far))
                && within.contains(&(i64::from(element) + far))
        };
        if !fits || !wider.iter().all(inside) {
            break;
        }
        (away, last) = (wider, element + 1);
    }
    (last > first).then(|| Run {
        colour: colour_of(site),
        start: first as usize,
        len: (last - first) as usize,
        beside: away.map(|far| {
            let start = i64::from(first) + far.unwrap_or(0);
            // checked above
            usize::try_from(start).unwrap_or(first as usize)
        }),
    })
}

/// The least that any bond of the materials gives, so that what stays below it needs no second look.
fn least_room(elements: &Elements<f32>) -> [[f32; 3]; 3] {
    let mut room = [[f32::INFINITY; 3]; 3];
    for (axis, bond) in elements.bonds().all() {
        for (along, least) in room[axis].iter_mut().enumerate() {
            *least = least.min(-bond.least_m[along]).min(bond.most_m[along]);
        }
    }
    room
}
