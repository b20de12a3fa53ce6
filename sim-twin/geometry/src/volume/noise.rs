//! Numbers by chance that depend on a seed and a place only, so that no order of asking changes them.
//!
//! Source: SplitMix64 (Steele, Lea and Flood 2014) as a hash of a counter; normal numbers after Box and Muller
//! (1958) by `libm`, so that the bits are the same on every machine.

/// A stream of numbers, one for each counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noise {
    seed: u64,
}

impl Noise {
    /// The stream of a seed that serves one purpose, so that purposes do not share numbers.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self {
            seed: mixed(seed ^ mixed(purpose)),
        }
    }

    /// A number from 0 to below 1.
    #[must_use]
    pub fn share(&self, counter: u64) -> f64 {
        let bits = mixed(self.seed ^ mixed(counter));
        (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number of mean 0 and variance 1, normally distributed.
    #[must_use]
    pub fn normal(&self, counter: u64) -> f64 {
        let [radius, turn] = [0, 1].map(|half| self.share(counter.wrapping_mul(2) + half));
        // 1 - share is above 0
        let length = (-2.0 * libm::log(1.0 - radius)).sqrt();
        length * libm::cos(std::f64::consts::TAU * turn)
    }
}

/// The finalizer of SplitMix64, after its increment.
const fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the generator with seed 0, as its authors' reference prints them.
    #[test]
    fn it_is_the_published_generator() {
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(golden), 0x6e78_9e6a_a1b9_65f4);
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
