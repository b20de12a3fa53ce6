//! Random numbers from a seed: uniform ones, and normal ones after Box and Muller 1958.
//!
//! The same seed gives the same bits on every machine. Source: textbook; the upper 53 bits of a word make a
//! uniform number, as in Blackman and Vigna 2021.

use core::f64::consts::TAU;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

/// Draws a uniform number in \[0, 1).
pub fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws a normal number with mean 0 and deviation 1; takes two uniform draws.
pub fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    radius(random) * libm::cos(TAU * uniform(random))
}

/// Draws two independent normal numbers from two uniform draws.
pub fn normal_pair(random: &mut Xoshiro256PlusPlus) -> [f64; 2] {
    let radius = radius(random);
    let (sin, cos) = libm::sincos(TAU * uniform(random));
    [radius * cos, radius * sin]
}

fn radius(random: &mut Xoshiro256PlusPlus) -> f64 {
    // in (0, 1], so that the logarithm is finite
    (-2.0 * libm::log(1.0 - uniform(random))).sqrt()
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    /// Checks mean, variance and the share within one deviation, which is 0.6827 for a normal number.
    fn check(numbers: &[f64]) {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / count;
        let near = numbers.iter().filter(|x| x.abs() < 1.0).count() as f64 / count;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((square - 1.0).abs() < 0.03, "{square}");
        assert!((near - 0.6827).abs() < 0.01, "{near}");
    }

    #[test]
    fn normal_numbers_are_normal_and_pairs_are_independent() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        check(&(0..40_000).map(|_| normal(&mut random)).collect::<Vec<_>>());
        let pairs: Vec<[f64; 2]> = (0..40_000).map(|_| normal_pair(&mut random)).collect();
        for index in [0, 1] {
            check(&pairs.iter().map(|pair| pair[index]).collect::<Vec<_>>());
        }
        let both = pairs.iter().map(|pair| pair[0] * pair[1]).sum::<f64>();
        assert!((both / pairs.len() as f64).abs() < 0.02, "{both}");
    }
}
