//! A sweep: every free element goes towards the place where its links pull no more.
//!
//! Source: seed-001 Eq. 2 in its weighted form (section 3.4.2), red and black (3.4.3), limit-aware
//! (3.4.6) (rows DF-07, DF-09, FU-07). One pass moves the elements of one colour, which are linked to the
//! other colour only: each by `omega` times the way to the least energy of its own links, `omega` between
//! 0 and 2, cut short at the limits of its links. So no pass adds energy, however large the strain,
//! and none breaks a limit that was kept.
//!
//! Symbols: `u` from rest \[m\], `k` stiffness \[N/m\], `pull` the sum of `k (u_n - u)` \[N\].

#![expect(clippy::needless_range_loop, reason = "several lanes go together")]

use multiversion::multiversion;

use crate::elements::Elements;
use crate::lanes::{
    Course, Lanes, NO_RANGES, Ranges, Row, Spots, Strung, WIDE, Ways, lanes, larger, largest,
    smaller, smallest, ways,
};
use crate::plain::NO_PLAIN;
use crate::weave::{Run, Weave};
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// What moving one element did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Went {
    /// Farthest way of an element along an axis \[m\].
    pub(super) farthest_m: f32,
    /// Energy of links that it took out \[J\].
    pub(super) lost_j: f64,
}

/// Runs that are swept at once, at most: those of a word of [`Marks`](super::marks::Marks).
pub(super) const BATCH: usize = 64;

/// What a pass over runs did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swept {
    /// Energy of links that it took out \[J\].
    pub(super) lost_j: f64,
    /// Farthest way, by the place in the list \[m\].
    pub(super) farthest_m: [f32; BATCH],
}

/// Moves the elements of runs of one colour.
///
/// `spare_m`, by run, is how far its elements may go before a link of theirs can be at a limit \[m\]; it is found
/// anew when it does not suffice.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn pass_runs(
    elements: &mut Elements<f32>,
    weave: &Weave,
    runs: &[u32],
    omega: f32,
    spare_m: &mut [f32],
) -> Swept {
    let mut books = Books::new();
    for (place, &index) in runs.iter().enumerate().take(BATCH) {
        let run = weave.runs.get(index as usize);
        let (Some(run), Some(spare_m)) = (run, spare_m.get_mut(index as usize)) else {
            continue;
        };
        let on = Course { run, omega, place };
        let links = |plain| Strung { weave, plain };
        let books = &mut books;
        match (run.len, weave.plain(index)) {
            (16.., Some(plain)) => {
                pass_chunks::<16, true>(elements, links(plain), on, spare_m, books);
            }
            (16.., None) => {
                pass_chunks::<16, false>(elements, links(&NO_PLAIN), on, spare_m, books)
            }
            (4.., Some(plain)) => {
                pass_chunks::<4, true>(elements, links(plain), on, spare_m, books);
            }
            (4.., None) => pass_chunks::<4, false>(elements, links(&NO_PLAIN), on, spare_m, books),
            _ => pass_chunks::<1, false>(elements, links(&NO_PLAIN), on, spare_m, books),
        }
    }
    let mut swept = Swept {
        lost_j: books.lost_j(omega),
        farthest_m: [0.0; BATCH],
    };
    for place in 0..runs.len().min(BATCH) {
        swept.farthest_m[place] = largest(&books.farthest_m[place]);
    }
    swept
}

/// Does a run, `N` elements at once. The last ones begin where they still fill the lanes, so that some of
/// them may be done already.
#[inline(always)]
fn pass_chunks<const N: usize, const PLAIN: bool>(
    elements: &mut Elements<f32>,
    links: Strung<'_>,
    on: Course<'_>,
    spare_m: &mut f32,
    books: &mut Books,
) {
    let mut at = 0;
    if *spare_m > 0.0 {
        at = pass_quick::<N, PLAIN>(elements, links, on, *spare_m, books);
    }
    // what is not known to suffice is looked at for all, so that it is known after
    let all = at == 0;
    let mut tally = Tally::<N>::new();
    while at < on.run.len {
        let lane = Lanes::at::<N>(at, on.run.len);
        // no closures here: a closure is not compiled for the vectors of its caller
        let ranges = Ranges::of::<PLAIN>(elements, links);
        let Some(spots) = Row::of(elements, links.weave, on.run).spots::<N>(lane.begin) else {
            return;
        };
        let ways = ways::<N, true, PLAIN>(&spots, links, &ranges, on, lane);
        if PLAIN || !ways.beyond(0.0) {
            spots.put(&ways.to_m);
            tally.add(&ways);
        } else {
            // some are near their limits
            tally.spare_m = [-1.0; N];
            for slot in on.run.start + at..on.run.start + lane.begin + N {
                let went = pass_one(elements, links.weave, slot, on.omega);
                tally.farthest_m[0] = larger(tally.farthest_m[0], went.farthest_m);
                books.lost_j += went.lost_j;
            }
        }
        at = lane.begin + N;
        *spare_m = -1.0;
    }
    if *spare_m <= 0.0 {
        books.add(&tally, on.place);
        if all {
            *spare_m = smallest(&tally.spare_m);
        }
    }
}

/// Moves elements of a run from its first on, until its end or until a link of some might be at its limits after;
/// gives where that is.
#[inline(always)]
fn pass_quick<const N: usize, const PLAIN: bool>(
    elements: &mut Elements<f32>,
    links: Strung<'_>,
    on: Course<'_>,
    spare_m: f32,
    books: &mut Books,
) -> usize {
    let mut quick = Quick {
        farthest_m: [0.0; N],
        paid_j: [0.0; N],
    };
    let mut at = 0;
    let row = Row::of(elements, links.weave, on.run);
    // put where they go once the next ones have been read, which may be some of them again: to read what is on its
    // way to memory takes longer than all the rest
    let Some(mut there) = row.spots::<N>(0) else {
        return 0;
    };
    let mut to_m = [[0.0; N]; 3];
    let mut rest = on.run.len;
    // few that are left go in narrower lanes, which are read quicker
    while rest > 0 && (N < WIDE || rest > WIDE / 2) {
        let lane = Lanes::at::<N>(at, on.run.len);
        let Some(spots) = row.spots::<N>(lane.begin) else {
            break;
        };
        let ways = ways::<N, false, PLAIN>(&spots, links, &NO_RANGES, on, lane);
        if at > 0 {
            there.put(&to_m);
        }
        if ways.beyond(spare_m) {
            quick.tell(on.place, books);
            return at;
        }
        (to_m, there) = (ways.to_m, spots);
        quick.add(&ways);
        at = lane.begin + N;
        rest = on.run.len - at;
    }
    let held = Held {
        row: &row,
        there: &there,
        to_m: &to_m,
    };
    at = match rest {
        0 => {
            there.put(&to_m);
            at
        }
        // all of them went in lanes of this width
        _ if N < WIDE => at,
        1..=4 => quick.end::<4, PLAIN>(held, links, on, at, spare_m),
        _ => quick.end::<8, PLAIN>(held, links, on, at, spare_m),
    };
    quick.tell(on.place, books);
    at
}

/// Elements of a row that were found and not put yet, and where they go \[m\].
#[derive(Debug, Clone, Copy)]
struct Held<'a, const N: usize> {
    row: &'a Row<'a>,
    there: &'a Spots<'a, N>,
    to_m: &'a [[f32; N]; 3],
}

/// What a run did whose limits needed no look, by lane.
#[derive(Debug, Clone, Copy)]
struct Quick<const N: usize> {
    /// Farthest way \[m\].
    farthest_m: [f32; N],
    /// Sum of the ways times the pulls \[J\].
    paid_j: [f32; N],
}

impl<const N: usize> Quick<N> {
    /// Adds what some did, to the last lanes.
    #[inline(always)]
    fn add<const M: usize>(&mut self, ways: &Ways<M>) {
        for i in 0..M {
            let lane = N - M + i;
            self.farthest_m[lane] = larger(self.farthest_m[lane], ways.far_m[i]);
            self.paid_j[lane] += ways.paid_j[i];
        }
    }

    /// Moves the last elements of a run, from `at` on, after those before them, which were found and not put yet;
    /// gives where a link might be at its limits.
    #[inline(always)]
    fn end<const M: usize, const PLAIN: bool>(
        &mut self,
        Held { row, there, to_m }: Held<'_, N>,
        links: Strung<'_>,
        on: Course<'_>,
        at: usize,
        spare_m: f32,
    ) -> usize {
        let lane = Lanes::at::<M>(at, on.run.len);
        let Some(spots) = row.spots::<M>(lane.begin) else {
            there.put(to_m);
            return at;
        };
        let ways = ways::<M, false, PLAIN>(&spots, links, &NO_RANGES, on, lane);
        there.put(to_m);
        if ways.beyond(spare_m) {
            return at;
        }
        spots.put(&ways.to_m);
        self.add(&ways);
        lane.begin + M
    }

    #[inline(always)]
    fn tell(&self, place: usize, books: &mut Books) {
        if let Some(lanes) = books.farthest_m.get_mut(place) {
            lanes[..N].copy_from_slice(&self.farthest_m);
        }
        for i in 0..N {
            books.paid_j[i] += f64::from(self.paid_j[i]);
        }
    }
}

/// What a pass did, by lane: lanes are put together at its end.
#[derive(Debug, Clone, Copy)]
struct Books {
    /// Farthest way, by place in the list and lane \[m\].
    farthest_m: [[f32; WIDE]; BATCH],
    /// Sum of the ways times the pulls, of elements that went all their way \[J\].
    paid_j: [f64; WIDE],
    /// What others took out \[J\].
    short_j: [f64; WIDE],
    /// The same of those that went one by one \[J\].
    lost_j: f64,
}

impl Books {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            farthest_m: [[0.0; WIDE]; BATCH],
            paid_j: [0.0; WIDE],
            short_j: [0.0; WIDE],
            lost_j: 0.0,
        }
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, tally: &Tally<N>, place: usize) {
        if let Some(lanes) = self.farthest_m.get_mut(place) {
            for i in 0..N {
                lanes[i] = larger(lanes[i], tally.farthest_m[i]);
            }
        }
        for i in 0..N {
            self.paid_j[i] += f64::from(tally.paid_j[i]);
        }
        for i in 0..N {
            self.short_j[i] += f64::from(tally.short_j[i]);
        }
    }

    #[inline(always)]
    fn lost_j(&self, omega: f32) -> f64 {
        let (mut paid_j, mut short_j) = (0.0, 0.0);
        for lane in self.paid_j {
            paid_j += lane;
        }
        for lane in self.short_j {
            short_j += lane;
        }
        // E(u + way) = E(u) - way pull + sum/2 way^2, and sum times the way is omega times the pull
        paid_j * f64::from(1.0 - 0.5 * omega) + short_j + self.lost_j
    }
}

/// What was looked at of a run, by lane.
#[derive(Debug, Clone, Copy)]
struct Tally<const N: usize> {
    farthest_m: [f32; N],
    paid_j: [f32; N],
    short_j: [f32; N],
    spare_m: [f32; N],
}

impl<const N: usize> Tally<N> {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            farthest_m: [0.0; N],
            paid_j: [0.0; N],
            short_j: [0.0; N],
            spare_m: [f32::INFINITY; N],
        }
    }

    #[inline(always)]
    fn add(&mut self, ways: &Ways<N>) {
        for i in 0..N {
            self.farthest_m[i] = larger(self.farthest_m[i], ways.far_m[i]);
            self.paid_j[i] += ways.paid_j[i];
            self.short_j[i] += ways.short_j[i];
            // the way is taken from it by whoever is told of it
            self.spare_m[i] = smaller(self.spare_m[i], ways.spare_m[i]);
        }
    }
}

/// Moves one element, wherever its neighbours are, within the limits of its links.
pub(super) fn pass_one(
    elements: &mut Elements<f32>,
    weave: &Weave,
    slot: usize,
    omega: f32,
) -> Went {
    let gain = weave.gain[slot];
    let Some(element) = u32::try_from(slot).ok().filter(|_| gain > 0.0) else {
        return Went::default();
    };
    let mut went = Went::default();
    // of an axis, what others do changes nothing
    let (room, pull) = (room(elements, element), pull(elements, weave, slot));
    for along in 0..3 {
        let own = elements.moved_m[along][slot];
        let ((least, most), pull) = (room[along], pull[along]);
        let to = (own + omega * gain * pull).clamp(least, most);
        elements.moved_m[along][slot] = to;
        let way = f64::from(to - own);
        went.farthest_m = went.farthest_m.max((to - own).abs());
        went.lost_j += way * (f64::from(pull) - 0.5 * f64::from(weave.sum[slot]) * way);
    }
    went
}

/// What the links of an element pull at it with, by axis of the world \[N\].
pub(super) fn pull(elements: &Elements<f32>, weave: &Weave, slot: usize) -> [f32; 3] {
    let own = std::array::from_fn::<_, 3, _>(|along| elements.moved_m[along][slot]);
    // as a sum begins
    let mut pull = [-0.0; 3];
    for (neighbour, stiffness) in elements.neighbour.iter().zip(&weave.stiffness) {
        let k = stiffness[slot];
        for along in 0..3 {
            pull[along] += if k > 0.0 {
                k * (elements.moved_m[along][neighbour[slot] as usize] - own[along])
            } else {
                0.0
            };
        }
    }
    pull
}

/// Where an element may be, by axis, while its neighbours stay \[m\]; never without the place where it is.
pub(super) fn room<R: Real>(elements: &Elements<R>, element: u32) -> [(R, R); 3] {
    let mut room = [(-R::of(f64::MAX), R::of(f64::MAX)); 3];
    for to in Direction::ALL {
        let Some(other) = elements.neighbour(element, to) else {
            continue;
        };
        let pair = [elements.matter(element), elements.matter(other)];
        for (along, (least, most)) in room.iter_mut().enumerate() {
            let (nearest, farthest) = elements.bonds().range_m(pair, to, along);
            let at = elements.moved_m[along][other as usize];
            *least = least.max(at - farthest);
            *most = most.min(at - nearest);
        }
    }
    for ((least, most), moved_m) in room.iter_mut().zip(&elements.moved_m) {
        // by rounding a link may be past its limit by a last bit
        let own = moved_m[element as usize];
        (*least, *most) = (least.min(own), most.max(own));
    }
    room
}

/// What a run is like now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Survey {
    /// Energy of the links of its elements to their right, top and front \[J\].
    pub(super) up_j: f64,
    /// Least and most displacement by axis \[m\].
    pub(super) bounds_m: [(f32, f32); 3],
}

/// Looks at a run.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn survey(elements: &Elements<f32>, weave: &Weave, run: &Run) -> Survey {
    match run.len {
        16.. => survey_chunks::<16>(elements, weave, run),
        8.. => survey_chunks::<8>(elements, weave, run),
        _ => survey_chunks::<1>(elements, weave, run),
    }
}

#[inline(always)]
fn survey_chunks<const N: usize>(elements: &Elements<f32>, weave: &Weave, run: &Run) -> Survey {
    let mut energy = [0.0_f32; N];
    let mut bounds = [([f32::INFINITY; N], [f32::NEG_INFINITY; N]); 3];
    let mut at = 0;
    while at < run.len {
        let begin = at.min(run.len - N);
        let slot = run.start + begin;
        let mut k = [[0.0; N]; 3];
        for (axis, k) in k.iter_mut().enumerate() {
            *k = lanes(&weave.stiffness[2 * axis], slot);
            // counted before
            k[..at - begin].fill(0.0);
        }
        for (moved_m, (least, most)) in elements.moved_m.iter().zip(&mut bounds) {
            let own: [f32; N] = lanes(moved_m, slot);
            for (axis, k) in k.iter().enumerate() {
                let other: [f32; N] = lanes(moved_m, run.beside[2 * axis] + begin);
                for i in 0..N {
                    let apart = other[i] - own[i];
                    energy[i] = (k[i] * apart).mul_add(apart, energy[i]);
                }
            }
            for i in 0..N {
                least[i] = least[i].min(own[i]);
                most[i] = most[i].max(own[i]);
            }
        }
        at = begin + N;
    }
    let mut survey = Survey {
        up_j: 0.0,
        bounds_m: [(f32::INFINITY, f32::NEG_INFINITY); 3],
    };
    for i in 0..N {
        survey.up_j += 0.5 * f64::from(energy[i]);
        for (found, (least, most)) in survey.bounds_m.iter_mut().zip(&bounds) {
            *found = (found.0.min(least[i]), found.1.max(most[i]));
        }
    }
    survey
}
