//! Pseudo-random numbers that depend on a seed and a counter only, so that their order has no effect.
//!
//! Source: SplitMix64 (Steele, Lea and Flood 2014) as a hash of a counter. Normal numbers after Box and Muller
//! (1958) by `libm`, so that the bits are the same on every machine.

use palpate_twin::checksum::split_mix;

/// Stream of pseudo-random numbers, one for each counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noise {
    seed: u64,
}

impl Noise {
    /// Creates the stream of a seed for one purpose; streams of different purposes are independent.
    #[must_use]
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        Self {
            seed: split_mix(seed ^ split_mix(purpose)),
        }
    }

    /// Uniform number, from 0 to below 1.
    #[must_use]
    pub(super) fn uniform(&self, counter: u64) -> f64 {
        let bits = split_mix(self.seed ^ split_mix(counter));
        (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Normally distributed number with mean 0 and variance 1.
    #[must_use]
    pub(super) fn normal(&self, counter: u64) -> f64 {
        let [radius, turn] = [0, 1].map(|half| self.uniform(counter.wrapping_mul(2) + half));
        // 1 - share is above 0
        let length = (-2.0 * libm::log(1.0 - radius)).sqrt();
        length * libm::cos(std::f64::consts::TAU * turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the generator with seed 0, as its authors' reference prints them.
    #[test]
    fn generator_matches_published_numbers() {
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        assert_eq!(split_mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split_mix(golden), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let noise = Noise::new(3, 1);
        let count = 100_000_u32;
        let all: Vec<f64> = (0..count).map(|n| noise.normal(n.into())).collect();
        let n = f64::from(count);
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        // five standard errors
        assert!(mean.abs() < 5.0 / n.sqrt(), "{mean}");
        assert!(
            (variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(),
            "{variance}"
        );
        let next: f64 = all.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
        assert!(next.abs() < 5.0 / n.sqrt(), "{next}");
        assert_ne!(Noise::new(3, 2), noise);
    }
}
