//! What this machine can do at best, and what a cell of tissue asks of it.
//!
//! Source: Williams, Waterman and Patterson 2009 (roofline); triad after McCalpin 1995. Bandwidths
//! and the peak are measured on one thread by its own CPU time, the best of several rounds. What a
//! cell asks is counted by hand from `palpate_fem::explicit` (see the constants), so it
//! is an estimate: every field is thought to stream once a pass, and nothing to be kept.

use std::hint::black_box;

use multiversion::multiversion;
use palpate_transport::clock::thread_cpu_now;
use serde::{Deserialize, Serialize};

/// Bytes that a sub-step moves for a cell and its node. Pulling reads three displacements and two
/// moduli, reads and writes three impulses: 44. Moving reads and writes displacement, speed and impulse
/// and reads mass and its inverse, for each of three components: 96.
pub(crate) const BYTES_PER_CELL: f64 = 140.0;

/// Operations of a sub-step for a cell and its node, a fused product and sum as two: modes 69, gradient
/// 9, law 102, forces of modes 35, corners 69, sums 24, moving 54.
pub(crate) const FLOPS_PER_CELL: f64 = 362.0;

/// Bytes of a cell and its node that a sub-step touches: thirteen fields in single precision.
pub(crate) const WORKING_BYTES_PER_CELL: f64 = 52.0;

/// Bytes of the triad's arrays together that lie in a second-level cache, and the most of a tissue
/// that counts as lying there.
const L2_BYTES: usize = 768 * 1024;
/// Bytes of the triad's arrays together that lie in a third-level cache.
const L3_BYTES: usize = 8 * 1024 * 1024;
/// Rounds of which the best counts.
const ROUNDS: u32 = 12;
/// Bytes that a round of the triad moves: about a millisecond.
const ROUND_BYTES: usize = 128 * 1024 * 1024;
/// Turns of a round of fused products and sums.
const TURNS: u32 = 100_000;
/// Sums that go on side by side, so that none waits for the one before.
const SUMS: usize = 8;
/// Lanes of each.
const LANES: usize = 16;

/// Limits of one core, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Triad over arrays of 0.75 MiB \[GB/s\].
    pub l2_gbps: f64,
    /// Triad over arrays of 8 MiB \[GB/s\].
    pub l3_gbps: f64,
    /// Fused products and sums in single precision, two operations each \[GFLOP/s\].
    pub peak_gflops: f64,
}

/// The least time that a cell takes for a sub-step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The time \[ns\].
    pub ns_per_cell: f64,
    /// What sets it: `L2`, `L3` or `arithmetic`.
    pub by: String,
}

impl Roofline {
    /// Measured now, on this thread; takes about 50 ms.
    #[must_use]
    pub fn measure() -> Self {
        Self {
            l2_gbps: bandwidth_gbps(L2_BYTES),
            l3_gbps: bandwidth_gbps(L3_BYTES),
            peak_gflops: peak_gflops(),
        }
    }

    /// The bound of a tissue of so many cells.
    #[must_use]
    pub fn bound(&self, cells: usize) -> Bound {
        let in_l2 = cells as f64 * WORKING_BYTES_PER_CELL <= L2_BYTES as f64;
        let (gbps, level) = if in_l2 {
            (self.l2_gbps, "L2")
        } else {
            (self.l3_gbps, "L3")
        };
        let (moved_ns, counted_ns) = (BYTES_PER_CELL / gbps, FLOPS_PER_CELL / self.peak_gflops);
        let by = if moved_ns >= counted_ns {
            level
        } else {
            "arithmetic"
        };
        Bound {
            ns_per_cell: moved_ns.max(counted_ns),
            by: by.to_owned(),
        }
    }
}

/// Least own CPU time of `body` in several rounds \[ns\].
fn least_ns(mut body: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = thread_cpu_now();
        body();
        least = least.min((thread_cpu_now() - begun).0 as f64);
    }
    // a clock that stood still gives no infinite rate
    least.max(1.0)
}

fn bandwidth_gbps(bytes: usize) -> f64 {
    let count = bytes / (3 * size_of::<f32>());
    let (mut a, b, c) = (vec![0.0_f32; count], vec![1.0; count], vec![2.0; count]);
    let passes = (ROUND_BYTES / bytes).max(1);
    let ns = least_ns(|| {
        for _ in 0..passes {
            triad(&mut a, &b, &c, black_box(0.5));
            black_box(&mut a);
        }
    });
    (passes * count * 3 * size_of::<f32>()) as f64 / ns
}

fn peak_gflops() -> f64 {
    let mut sums = [[1.0_f32; LANES]; SUMS];
    let ns = least_ns(|| {
        fused(&mut sums, black_box(0.999), black_box(1e-3), TURNS);
        black_box(&mut sums);
    });
    f64::from(TURNS) * (2 * SUMS * LANES) as f64 / ns
}

/// `a = b + factor c`
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn triad(a: &mut [f32], b: &[f32], c: &[f32], factor: f32) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + factor * c;
    }
}

/// Many sums at once that stay in registers: named one by one, since a loop over them goes through
/// memory.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn fused(sums: &mut [[f32; LANES]; SUMS], factor: f32, summand: f32, turns: u32) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sums;
    for _ in 0..turns {
        go_on(&mut a, factor, summand);
        go_on(&mut b, factor, summand);
        go_on(&mut c, factor, summand);
        go_on(&mut d, factor, summand);
        go_on(&mut e, factor, summand);
        go_on(&mut f, factor, summand);
        go_on(&mut g, factor, summand);
        go_on(&mut h, factor, summand);
    }
    *sums = [a, b, c, d, e, f, g, h];
}

#[inline(always)]
fn go_on(row: &mut [f32; LANES], factor: f32, summand: f32) {
    for lane in row {
        *lane = lane.mul_add(factor, summand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_of_memory_and_arithmetic_binds() {
        let machine = Roofline {
            l2_gbps: 280.0,
            l3_gbps: 70.0,
            peak_gflops: 362.0,
        };
        let of = |cells| {
            let bound = machine.bound(cells);
            (bound.ns_per_cell, bound.by)
        };
        assert_eq!(of(512), (1.0, "arithmetic".to_owned()));
        assert_eq!(of(27_000), (2.0, "L3".to_owned()));
        let slow = Roofline {
            l2_gbps: 14.0,
            ..machine
        };
        assert_eq!(
            slow.bound(512),
            Bound {
                ns_per_cell: 10.0,
                by: "L2".to_owned()
            }
        );
    }

    #[test]
    fn the_triad_and_the_sums_do_what_they_say() {
        let mut a = [0.0; 3];
        triad(&mut a, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], 0.5);
        assert_eq!(a, [6.0, 12.0, 18.0]);
        let mut sums = [[1.0; LANES]; SUMS];
        fused(&mut sums, 2.0, 1.0, 3);
        assert_eq!(sums, [[15.0; LANES]; SUMS]);
    }
}
