//! A sweep: every free element goes towards the place where its links pull no more.
//!
//! Source: seed-001 Eq. 2 in its weighted form (section 3.4.2), red and black (3.4.3), limit-aware
//! (3.4.6) (rows DF-07, DF-09, FU-07). One pass moves the elements of one colour, which are linked to the
//! other colour only: each by `omega` times the way to the least energy of its own links, `omega` between
//! 0 and 2, cut short at the limits of its links. So no pass adds energy, however large the strain,
//! and none breaks a limit that was kept.
//!
//! Symbols: `u` from rest \[m\], `k` stiffness \[N/m\], `pull` the sum of `k (u_n - u)` \[N\].

use multiversion::multiversion;

use crate::law::Real;
use crate::model::linked::direction::Direction;
use crate::model::linked::elements::Elements;
use crate::model::linked::links::Links;
use crate::model::linked::weave::{Run, Weave};

/// Shorter ways are not gone \[m\]: nobody feels them, and numbers so small that their squares are
/// denormal cost a processor a hundred times the time of others.
const LEAST_M: f32 = 1e-13;

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Went {
    /// Farthest way of an element along an axis \[m\].
    pub(super) farthest_m: f32,
    /// Energy of links that it took out \[J\].
    pub(super) lost_j: f64,
}

impl Went {
    #[inline(always)]
    fn and(&mut self, other: Self) {
        self.farthest_m = self.farthest_m.max(other.farthest_m);
        self.lost_j += other.lost_j;
    }
}

/// Moves the elements of a run. `spare_m` is how far its elements may go before a link of theirs can be at a
/// limit \[m\]; it is found anew when it does not suffice.
pub(super) fn pass_run(
    elements: &mut Elements<f32>,
    weave: &Weave,
    (run, omega): (&Run, f32),
    spare_m: &mut f32,
) -> Went {
    let mut went = Went::default();
    let mut done = 0;
    while done < run.len {
        let ended = pass_rows(elements, weave, (run, omega), (done, spare_m));
        went.and(ended.went);
        done = ended.at;
        for slot in run.start + done..run.start + done + ended.tight {
            went.and(pass_one(elements, weave, slot, omega));
        }
        done += ended.tight;
    }
    *spare_m -= went.farthest_m;
    went
}

/// Where a pass over a run stopped.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// Elements of the run that are done.
    at: usize,
    /// As many after them are near their limits, and must go one by one.
    tight: usize,
    went: Went,
}

/// Moves elements of a run from its element `from` on, until its end or until some are near their
/// limits.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn pass_rows(
    elements: &mut Elements<f32>,
    weave: &Weave,
    (run, omega): (&Run, f32),
    (from, spare_m): (usize, &mut f32),
) -> Ended {
    match run.len {
        16.. => pass_chunks::<16>(elements, weave, (run, omega), (from, spare_m)),
        8.. => pass_chunks::<8>(elements, weave, (run, omega), (from, spare_m)),
        4.. => pass_chunks::<4>(elements, weave, (run, omega), (from, spare_m)),
        _ => pass_chunks::<1>(elements, weave, (run, omega), (from, spare_m)),
    }
}

/// Does as [`pass_rows`] says, `N` elements at once. The last ones begin where they still fill the lanes, and
/// those of them that are done stay.
#[inline(always)]
fn pass_chunks<const N: usize>(
    elements: &mut Elements<f32>,
    weave: &Weave,
    (run, omega): (&Run, f32),
    (from, spare_m): (usize, &mut f32),
) -> Ended {
    let mut tally = Tally::<N>::new();
    let mut at = from;
    // whether all were looked at
    let mut all = from == 0;
    while at < run.len {
        let begin = at.min(run.len - N);
        let lane = Lanes {
            begin,
            done: at - begin,
        };
        // no closures here: a closure is not compiled for the vectors of its caller
        let on = (run, omega);
        let quick = pass_lanes::<N, false>(elements, weave, on, (lane, *spare_m), &mut tally);
        let went = quick || pass_lanes::<N, true>(elements, weave, on, (lane, 0.0), &mut tally);
        let tight = begin + N - at;
        if !went {
            *spare_m = -1.0;
            let went = tally.went(omega);
            return Ended { at, tight, went };
        }
        all &= !quick;
        at += tight;
    }
    let went = tally.went(omega);
    if all {
        // the way was counted when this was found
        *spare_m = tally.spare_m() + went.farthest_m;
    }
    Ended { at, tight: 0, went }
}

/// What a pass did so far, by lane: lanes are added up at its end.
#[derive(Debug, Clone, Copy)]
struct Tally<const N: usize> {
    farthest_m: [f32; N],
    /// Sum of the ways times the pulls \[J\].
    paid_j: [f64; N],
    /// Of what was looked at; infinite if nothing was.
    spare_m: [f32; N],
}

impl<const N: usize> Tally<N> {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            farthest_m: [0.0; N],
            paid_j: [0.0; N],
            spare_m: [f32::INFINITY; N],
        }
    }

    #[inline(always)]
    fn add(&mut self, farthest_m: &[f32; N], paid_j: &[f32; N], spare_m: &[f32; N]) {
        for i in 0..N {
            self.farthest_m[i] = self.farthest_m[i].max(farthest_m[i]);
            self.paid_j[i] += f64::from(paid_j[i]);
            self.spare_m[i] = self.spare_m[i].min(spare_m[i]);
        }
    }

    #[inline(always)]
    fn went(&self, omega: f32) -> Went {
        let (mut farthest_m, mut paid_j) = (self.farthest_m, self.paid_j);
        let mut half = N / 2;
        while half > 0 {
            for i in 0..half {
                farthest_m[i] = farthest_m[i].max(farthest_m[i + half]);
                paid_j[i] += paid_j[i + half];
            }
            half /= 2;
        }
        Went {
            farthest_m: farthest_m[0],
            // E(u + way) = E(u) - way pull + sum/2 way^2, and sum times the way is omega times the pull
            lost_j: paid_j[0] * f64::from(1.0 - 0.5 * omega),
        }
    }

    #[inline(always)]
    fn spare_m(&self) -> f32 {
        let mut least_m = f32::INFINITY;
        for spare_m in self.spare_m {
            least_m = least_m.min(spare_m);
        }
        least_m
    }
}

/// Some elements of a run that are worked on together.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    /// The first of them in the run.
    begin: usize,
    /// As many of them are done already.
    done: usize,
}

/// Most lanes.
const WIDE: usize = 16;
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
fn lanes<const N: usize>(array: &[f32], slot: usize) -> [f32; N] {
    let mut found = [0.0; N];
    if let Some(some) = array.get(slot..slot + N) {
        found.copy_from_slice(some);
    }
    found
}

/// Moves `N` elements of a run and adds what that did; does nothing, and gives false, if a link of them might
/// be at its limits after. What is spare after is found if it was asked to look.
#[inline(always)]
fn pass_lanes<const N: usize, const LOOK: bool>(
    elements: &mut Elements<f32>,
    weave: &Weave,
    (run, omega): (&Run, f32),
    (lane, spare_m): (Lanes, f32),
    tally: &mut Tally<N>,
) -> bool {
    let slot = run.start + lane.begin;
    let mut gain: [f32; N] = lanes(&weave.gain, slot);
    let share: [f32; N] = lanes(&SHARES, WIDE - lane.done);
    for i in 0..N {
        gain[i] *= omega * share[i];
    }
    let mut stiffness = [[0.0; N]; 6];
    for (k, all) in stiffness.iter_mut().zip(&weave.stiffness) {
        *k = lanes(all, slot);
    }
    let mut to_m = [[0.0; N]; 3];
    let (mut farthest, mut paid) = ([0.0_f32; N], [0.0_f32; N]);
    let mut spare = [f32::INFINITY; N];
    for along in 0..3 {
        let moved_m = &elements.moved_m[along];
        let own: [f32; N] = lanes(moved_m, slot);
        let (mut pull, mut stretch) = ([0.0_f32; N], [[0.0_f32; N]; 3]);
        for d in 0..6 {
            let beside: [f32; N] = lanes(moved_m, run.beside[d] + lane.begin);
            for i in 0..N {
                let apart = beside[i] - own[i];
                pull[i] = stiffness[d][i].mul_add(apart, pull[i]);
                if LOOK {
                    let linked = f32::from(stiffness[d][i] > 0.0) * apart.abs();
                    stretch[d / 2][i] = stretch[d / 2][i].max(linked);
                }
            }
        }
        for i in 0..N {
            let way = gain[i] * pull[i];
            let way = if way.abs() >= LEAST_M { way } else { 0.0 };
            to_m[along][i] = own[i] + way;
            farthest[i] = farthest[i].max(way.abs());
            paid[i] = way.mul_add(pull[i], paid[i]);
            if LOOK {
                for (stretch, room) in stretch.iter().zip(&weave.room) {
                    let left = room[along] - stretch[i] - way.abs();
                    // elements that do not move bring no link nearer to its limits
                    let left = if gain[i] > 0.0 { left } else { f32::INFINITY };
                    spare[i] = spare[i].min(left);
                }
            }
        }
    }
    let mut beyond = false;
    for i in 0..N {
        beyond |= if LOOK {
            spare[i] < 0.0
        } else {
            farthest[i] > spare_m
        };
    }
    if beyond {
        return false;
    }
    for (moved_m, to_m) in elements.moved_m.iter_mut().zip(&to_m) {
        if let Some(own) = moved_m.get_mut(slot..slot + N) {
            own.copy_from_slice(to_m);
        }
    }
    tally.add(&farthest, &paid, &spare);
    true
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
    for along in 0..3 {
        let own = elements.moved_m[along][slot];
        let (least, most) = room(elements, element, along, own);
        let pull = pull(elements, weave, slot, along);
        let to = (own + omega * gain * pull).clamp(least, most);
        elements.moved_m[along][slot] = to;
        let way = f64::from(to - own);
        went.and(Went {
            farthest_m: (to - own).abs(),
            lost_j: way * (f64::from(pull) - 0.5 * f64::from(weave.sum[slot]) * way),
        });
    }
    went
}

/// What the links of an element pull at it with along an axis of the world \[N\].
pub(super) fn pull(elements: &Elements<f32>, weave: &Weave, slot: usize, along: usize) -> f32 {
    let moved_m = &elements.moved_m[along];
    let own = moved_m[slot];
    let ends = elements.neighbour.iter().zip(&weave.stiffness);
    ends.map(|(neighbour, stiffness)| {
        let k = stiffness[slot];
        if k > 0.0 {
            k * (moved_m[neighbour[slot] as usize] - own)
        } else {
            0.0
        }
    })
    .sum()
}

/// Where an element may be along an axis while its neighbours stay \[m\]; never without the place where it
/// is, `own`.
pub(super) fn room<R: Real>(elements: &Elements<R>, element: u32, along: usize, own: R) -> (R, R) {
    let (mut least, mut most) = (-R::of(f64::MAX), R::of(f64::MAX));
    for to in Direction::ALL {
        let Some(other) = elements.neighbour(element, to) else {
            continue;
        };
        let pair = [elements.matter(element), elements.matter(other)];
        let (nearest, farthest) = elements.bonds().range_m(pair, to, along);
        let at = elements.moved_m[along][other as usize];
        least = least.max(at - farthest);
        most = most.min(at - nearest);
    }
    // by rounding a link may be past its limit by a last bit
    (least.min(own), most.max(own))
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
