//! Some elements of a run at once, in straight vector code: what they read, where they go, what that pays.
//!
//! Source: ours (row FU-07), after seed-001 sections 3.4.2 and 3.4.6 as [`super::sweep`] says, whose passes these
//! functions are the inside of: all are inlined into it, and so are compiled for its vectors. Every lane does the same
//! on every machine, in the same order, to the last bit.

#![expect(clippy::needless_range_loop, reason = "several lanes go together")]

use std::cell::Cell;

use crate::elements::Elements;
use crate::plain::Plain;
use crate::weave::{Run, Weave};

/// Shorter ways are not gone \[m\]: nobody feels them, and numbers so small that their squares are
/// denormal cost a processor a hundred times the time of others.
const LEAST_M: f32 = 1e-13;

/// Most lanes.
pub(super) const WIDE: usize = 16;

/// A part of an array of displacements by axis, which others write to.
type Line<'a> = &'a [Cell<f32>];

/// Displacements of a volume by axis, arrays of one length, and where a run and its neighbours are in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    all: [Line<'a>; 3],
    gain: &'a [f32],
    run: &'a Run,
}

impl<'a> Row<'a> {
    #[inline(always)]
    pub(super) fn of(elements: &'a mut Elements<f32>, weave: &'a Weave, run: &'a Run) -> Self {
        let [x, y, z] = &mut elements.moved_m;
        let x = Cell::from_mut(x.as_mut_slice()).as_slice_of_cells();
        let y = Cell::from_mut(y.as_mut_slice()).as_slice_of_cells();
        let z = Cell::from_mut(z.as_mut_slice()).as_slice_of_cells();
        // they are as long as each other: that is known here, and not asked for every read
        let count = x.len().min(y.len()).min(z.len());
        Self {
            all: [&x[..count], &y[..count], &z[..count]],
            gain: &weave.gain,
            run,
        }
    }

    /// Some elements of the run and of its neighbours, from one on; none beyond the arrays, where no run reaches.
    #[inline(always)]
    pub(super) fn spots<const N: usize>(&self, begin: usize) -> Option<Spots<'a, N>> {
        let own = self.run.start + begin;
        let mut spots = Spots {
            own: self.at(own)?,
            beside: [self.at(own)?; 6],
            gain: part(self.gain, own)?,
        };
        for d in 0..6 {
            spots.beside[d] = self.at(self.run.beside[d] + begin)?;
        }
        Some(spots)
    }

    #[inline(always)]
    fn at<const N: usize>(&self, slot: usize) -> Option<[&'a [Cell<f32>; N]; 3]> {
        let [x, y, z] = self.all;
        Some([part(x, slot)?, part(y, slot)?, part(z, slot)?])
    }
}

/// Displacements of some elements, by axis, and of their neighbours, by direction and axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spots<'a, const N: usize> {
    own: [&'a [Cell<f32>; N]; 3],
    beside: [[&'a [Cell<f32>; N]; 3]; 6],
    gain: &'a [f32; N],
}

impl<const N: usize> Spots<'_, N> {
    /// Puts them where they go.
    #[inline(always)]
    pub(super) fn put(&self, to_m: &[[f32; N]; 3]) {
        for axis in 0..3 {
            for i in 0..N {
                self.own[axis][i].set(to_m[axis][i]);
            }
        }
    }
}

/// `N` places of a line from one on.
#[inline(always)]
const fn part<T, const N: usize>(line: &[T], begin: usize) -> Option<&[T; N]> {
    match line.split_at_checked(begin) {
        Some((_, rest)) => rest.first_chunk(),
        None => None,
    }
}

/// What is there now.
#[inline(always)]
fn read<const N: usize>(there: &[Cell<f32>; N]) -> [f32; N] {
    let mut found = [0.0; N];
    for i in 0..N {
        found[i] = there[i].get();
    }
    found
}

/// The links of a volume, and those of a run if it is plain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strung<'a> {
    pub(super) weave: &'a Weave,
    pub(super) plain: &'a Plain,
}

/// A run, the share of the way that its elements go, and its place in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course<'a> {
    pub(super) run: &'a Run,
    pub(super) omega: f32,
    pub(super) place: usize,
}

/// The larger of two numbers, the second if they are none: one instruction, other than `f32::max`.
#[inline(always)]
pub(super) const fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, the second if they are none.
#[inline(always)]
pub(super) const fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The largest of all lanes.
#[inline(always)]
pub(super) fn largest(lanes: &[f32; WIDE]) -> f32 {
    let mut four = [0.0; 4];
    for i in 0..4 {
        let halves = [
            larger(lanes[i], lanes[i + 4]),
            larger(lanes[i + 8], lanes[i + 12]),
        ];
        four[i] = larger(halves[0], halves[1]);
    }
    larger(larger(four[0], four[1]), larger(four[2], four[3]))
}

#[inline(always)]
pub(super) fn smallest<const N: usize>(lanes: &[f32; N]) -> f32 {
    let mut least = f32::INFINITY;
    for &lane in lanes {
        least = smaller(lane, least);
    }
    least
}

/// Some elements of a run that are worked on together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    /// The first of them in the run.
    pub(super) begin: usize,
    /// As many of them are done already.
    done: usize,
}

impl Lanes {
    /// From the first that is not done on, in a run of so many; before, if they would not fill the lanes.
    #[inline(always)]
    pub(super) const fn at<const N: usize>(at: usize, len: usize) -> Self {
        let last = len - N;
        let begin = if at < last { at } else { last };
        Self {
            begin,
            done: at - begin,
        }
    }
}

/// Shares of lanes that are done, read from `WIDE` less their number on.
const SHARES: [f32; 2 * WIDE] = {
    let mut shares = [0.0; 2 * WIDE];
    let mut i = WIDE;
    while i < 2 * WIDE {
        shares[i] = 1.0;
        i += 1;
    }
    shares
};

/// `N` numbers of an array from a slot on; zeros beyond its end, where no run reaches.
#[inline(always)]
pub(super) fn lanes<const N: usize>(array: &[f32], slot: usize) -> [f32; N] {
    let mut found = [0.0; N];
    if let Some(some) = array.get(slot..slot + N) {
        found.copy_from_slice(some);
    }
    found
}

/// Stiffness of the links of some elements by direction \[N/m\].
#[inline(always)]
fn stiff<const N: usize, const PLAIN: bool>(
    Strung { weave, plain }: Strung<'_>,
    run: &Run,
    begin: usize,
) -> [[f32; N]; 6] {
    let mut stiffness = [[0.0; N]; 6];
    for d in 0..6 {
        stiffness[d] = if PLAIN {
            [plain.stiffness_npm[d]; N]
        } else {
            lanes(&weave.stiffness[d], run.start + begin)
        };
    }
    if PLAIN {
        let [right, left] = plain.bare;
        if right && begin + N == run.len {
            stiffness[0][N - 1] = 0.0;
        }
        if left && begin == 0 {
            stiffness[1][0] = 0.0;
        }
    }
    stiffness
}

/// Least and most of a neighbour's displacement beyond an element's own, by axis of the world and direction \[m\].
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranges([[(f32, f32); 6]; 3]);

/// Of who does not look.
pub(super) const NO_RANGES: Ranges = Ranges([[(0.0, 0.0); 6]; 3]);

impl Ranges {
    /// Those of a plain run; of others what any bond leaves.
    #[inline(always)]
    pub(super) fn of<const PLAIN: bool>(
        elements: &Elements<f32>,
        Strung { weave, plain }: Strung<'_>,
    ) -> Self {
        let mut ranges = NO_RANGES;
        for along in 0..3 {
            for d in 0..6 {
                ranges.0[along][d] = if PLAIN {
                    plain.range_m(elements, d, along)
                } else {
                    (-weave.room[d / 2][along], weave.room[d / 2][along])
                };
            }
        }
        ranges
    }
}

/// Where lanes go along one axis of the world.
#[derive(Debug, Clone, Copy)]
struct Way<const N: usize> {
    to_m: [f32; N],
    far_m: [f32; N],
    /// Way times pull \[J\].
    paid_j: [f32; N],
    /// What was taken out, if it was cut short \[J\].
    short_j: [f32; N],
    /// How far it might go before a link is at its limit \[m\].
    spare_m: [f32; N],
}

/// What pulls at lanes: the share that they go of it, and the stiffness of their links by direction.
#[derive(Debug, Clone, Copy)]
struct Pulls<'a, const N: usize> {
    gain: &'a [f32; N],
    stiffness: &'a [[f32; N]; 6],
}

/// Where lanes are in a volume: those of a run from one of its elements on.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    weave: &'a Weave,
    run: &'a Run,
    begin: usize,
}

/// Finds the way of `N` elements along an axis. If asked to look, what is spare is found, and the way of a
/// plain run is cut short at the limits.
#[inline(always)]
fn way<const N: usize, const LOOK: bool, const PLAIN: bool>(
    spots: &Spots<'_, N>,
    axis: usize,
    ranges: &[(f32, f32); 6],
    Place { weave, run, begin }: Place<'_>,
    Pulls { gain, stiffness }: Pulls<'_, N>,
) -> Way<N> {
    let own = read(spots.own[axis]);
    let mut pull = [0.0_f32; N];
    let (mut least, mut most) = ([f32::NEG_INFINITY; N], [f32::INFINITY; N]);
    for d in 0..6 {
        let beside = read(spots.beside[d][axis]);
        let (nearest, farthest) = ranges[d];
        for i in 0..N {
            pull[i] = stiffness[d][i].mul_add(beside[i] - own[i], pull[i]);
            if LOOK {
                let linked = stiffness[d][i] > 0.0;
                let (low, high) = (beside[i] - farthest, beside[i] - nearest);
                least[i] = larger(if linked { low } else { f32::NEG_INFINITY }, least[i]);
                most[i] = smaller(if linked { high } else { f32::INFINITY }, most[i]);
            }
        }
    }
    let mut way = Way {
        to_m: own,
        far_m: [0.0; N],
        paid_j: [0.0; N],
        short_j: [0.0; N],
        spare_m: [f32::INFINITY; N],
    };
    let mut sum = [0.0; N];
    if LOOK && PLAIN {
        sum = lanes(&weave.sum, run.start + begin);
    }
    for i in 0..N {
        let gone = gain[i] * pull[i];
        let mut gone = if gone.abs() >= LEAST_M { gone } else { 0.0 };
        way.to_m[i] = own[i] + gone;
        if LOOK && PLAIN {
            // by rounding a link may be past its limit by a last bit
            let (low, high) = (smaller(least[i], own[i]), larger(most[i], own[i]));
            way.to_m[i] = smaller(larger(way.to_m[i], low), high);
            gone = way.to_m[i] - own[i];
            way.short_j[i] = gone * (pull[i] - 0.5 * sum[i] * gone);
        } else {
            way.paid_j[i] = gone * pull[i];
        }
        way.far_m[i] = gone.abs();
        if LOOK {
            let left = smaller(own[i] - least[i], most[i] - own[i]);
            // elements that do not move bring no link nearer to its limits
            way.spare_m[i] = if gain[i] > 0.0 { left } else { f32::INFINITY };
        }
    }
    way
}

/// Where lanes go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways<const N: usize> {
    pub(super) to_m: [[f32; N]; 3],
    /// The farthest of the three \[m\].
    pub(super) far_m: [f32; N],
    pub(super) paid_j: [f32; N],
    pub(super) short_j: [f32; N],
    /// How far they might go, the least of the three \[m\]; 0 if nobody looked.
    pub(super) spare_m: [f32; N],
}

impl<const N: usize> Ways<N> {
    /// Whether some go farther than this and what was found to be spare \[m\].
    #[inline(always)]
    pub(super) fn beyond(&self, spare_m: f32) -> bool {
        let mut beyond = false;
        for i in 0..N {
            beyond |= self.far_m[i] > spare_m + self.spare_m[i];
        }
        beyond
    }
}

/// Finds where `N` elements of a run go; see [`way`].
#[inline(always)]
pub(super) fn ways<const N: usize, const LOOK: bool, const PLAIN: bool>(
    spots: &Spots<'_, N>,
    links: Strung<'_>,
    ranges: &Ranges,
    Course { run, omega, .. }: Course<'_>,
    lane: Lanes,
) -> Ways<N> {
    let mut gain = *spots.gain;
    let share: [f32; N] = lanes(&SHARES, WIDE - lane.done);
    for i in 0..N {
        // who looks finds those that are done where they went; others find them where they were, and go there again
        gain[i] *= if LOOK { omega * share[i] } else { omega };
    }
    let stiffness = stiff::<N, PLAIN>(links, run, lane.begin);
    let with = Pulls {
        gain: &gain,
        stiffness: &stiffness,
    };
    let at = Place {
        weave: links.weave,
        run,
        begin: lane.begin,
    };
    let x = way::<N, LOOK, PLAIN>(spots, 0, &ranges.0[0], at, with);
    let y = way::<N, LOOK, PLAIN>(spots, 1, &ranges.0[1], at, with);
    let z = way::<N, LOOK, PLAIN>(spots, 2, &ranges.0[2], at, with);
    let mut ways = Ways {
        to_m: [x.to_m, y.to_m, z.to_m],
        far_m: [0.0; N],
        paid_j: [0.0; N],
        short_j: [0.0; N],
        spare_m: [0.0; N],
    };
    for i in 0..N {
        ways.far_m[i] = larger(larger(x.far_m[i], y.far_m[i]), z.far_m[i]);
        ways.paid_j[i] = (x.paid_j[i] + y.paid_j[i] + z.paid_j[i]) * share[i];
    }
    if LOOK {
        for i in 0..N {
            ways.short_j[i] = x.short_j[i] + y.short_j[i] + z.short_j[i];
            ways.spare_m[i] = smaller(smaller(x.spare_m[i], y.spare_m[i]), z.spare_m[i]);
        }
    }
    ways
}
