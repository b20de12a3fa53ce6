//! Roofline of this machine: its limits, and the demand of a cell of tissue.
//!
//! Source: Williams, Waterman and Patterson 2009 (roofline); triad after McCalpin 1995. Bandwidths
//! and the peak are measured on one thread by its own CPU time, the best of several rounds. The demand of a
//! cell is counted by hand from `palpate_fem::explicit` (see the constants), so it
//! is an estimate: it assumes that every field streams once per pass and nothing stays in a cache.

use std::hint::black_box;

use multiversion::multiversion;
use palpate_transport::clock::thread_cpu_now;
use serde::Serialize;

/// Bytes that a sub-step moves for a cell and its node. Pulling reads three displacements and two
/// moduli, reads and writes three impulses: 44. Moving reads and writes displacement, speed and impulse
/// and reads mass and its inverse, for each of three components: 96.
pub(crate) const BYTES_PER_CELL: f64 = 140.0;

/// Operations of a sub-step for a cell and its node, a fused product and sum as two: modes 69, gradient
/// 9, law 102, forces of modes 35, corners 69, sums 24, moving 54.
pub(crate) const FLOPS_PER_CELL: f64 = 362.0;

/// Bytes of a cell and its node that a sub-step touches: thirteen fields in single precision.
pub(crate) const WORKING_BYTES_PER_CELL: f64 = 52.0;

/// Size of the triad's arrays together that fit in a second-level cache, and of the largest tissue
/// that counts as fitting there.
const L2_BYTES: usize = 768 * 1024;
/// Size of the triad's arrays together that fit in a third-level cache.
const L3_BYTES: usize = 8 * 1024 * 1024;
/// Number of rounds, of which the best counts.
const ROUNDS: u32 = 12;
/// Bytes that a round of the triad moves: about a millisecond.
const ROUND_BYTES: usize = 128 * 1024 * 1024;
/// Iterations of a round of fused products and sums.
const ITERATIONS: u32 = 100_000;
/// Independent sums, so that none waits for the one before.
const SUMS: usize = 8;
/// SIMD width of each.
const SIMD_WIDTH: usize = 16;

/// Measured limits of one core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Roofline {
    /// Triad over arrays of 0.75 MiB \[GB/s\].
    pub l2_gbps: f64,
    /// Triad over arrays of 8 MiB \[GB/s\].
    pub l3_gbps: f64,
    /// Fused products and sums in single precision, two operations each \[GFLOP/s\].
    pub peak_gflops: f64,
}

/// Least time of a cell for a sub-step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellTimeBound {
    /// The time \[ns\].
    pub ns_per_cell: f64,
    /// Limiting resource: `L2`, `L3` or `arithmetic`.
    pub by: String,
}

impl Roofline {
    /// Measures the limits on this thread; takes about 50 ms.
    pub(crate) fn measure() -> Self {
        Self {
            l2_gbps: bandwidth_gbps(L2_BYTES),
            l3_gbps: bandwidth_gbps(L3_BYTES),
            peak_gflops: peak_gflops(),
        }
    }

    /// Lower bound for a tissue of a number of cells.
    pub(crate) fn bound(&self, cells: usize) -> CellTimeBound {
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
        CellTimeBound {
            ns_per_cell: moved_ns.max(counted_ns),
            by: by.to_owned(),
        }
    }
}

/// Least own CPU time of `body` in several rounds \[ns\].
fn least_ns(mut body: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let started = thread_cpu_now();
        body();
        least = least.min((thread_cpu_now() - started).0 as f64);
    }
    // a clock without progress must not yield an infinite rate
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
    let mut sums = [[1.0_f32; SIMD_WIDTH]; SUMS];
    let ns = least_ns(|| {
        fused(&mut sums, black_box(0.999), black_box(1e-3), ITERATIONS);
        black_box(&mut sums);
    });
    f64::from(ITERATIONS) * (2 * SUMS * SIMD_WIDTH) as f64 / ns
}

/// `a = b + factor c`
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn triad(a: &mut [f32], b: &[f32], c: &[f32], factor: f32) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + factor * c;
    }
}

/// Advances several sums that stay in registers: each has its own name, since a loop over them goes through
/// memory.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn fused(sums: &mut [[f32; SIMD_WIDTH]; SUMS], factor: f32, summand: f32, iterations: u32) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sums;
    for _ in 0..iterations {
        fuse(&mut a, factor, summand);
        fuse(&mut b, factor, summand);
        fuse(&mut c, factor, summand);
        fuse(&mut d, factor, summand);
        fuse(&mut e, factor, summand);
        fuse(&mut f, factor, summand);
        fuse(&mut g, factor, summand);
        fuse(&mut h, factor, summand);
    }
    *sums = [a, b, c, d, e, f, g, h];
}

#[inline(always)]
fn fuse(row: &mut [f32; SIMD_WIDTH], factor: f32, summand: f32) {
    for value in row {
        *value = value.mul_add(factor, summand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tighter_limit_of_memory_and_arithmetic_binds() {
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
            CellTimeBound {
                ns_per_cell: 10.0,
                by: "L2".to_owned()
            }
        );
    }

    #[test]
    fn triad_and_sums_compute_expected_values() {
        let mut a = [0.0; 3];
        triad(&mut a, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], 0.5);
        assert_eq!(a, [6.0, 12.0, 18.0]);
        let mut sums = [[1.0; SIMD_WIDTH]; SUMS];
        fused(&mut sums, 2.0, 1.0, 3);
        assert_eq!(sums, [[15.0; SIMD_WIDTH]; SUMS]);
    }
}
