//! The neo-Hookean law in single precision, one number a lane, and what other laws share with it.
//!
//! Source: `law/neo_hookean.rs`, `W = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2`. Below `J` of
//! [`THIN`] the logarithm goes on as its second-order series, so that an inverted cell has finite
//! forces, which are still the energy's gradient, and finds back. Logarithm after Moshier (Cephes
//! `logf`, `expf`), without branches, so that the compiler does all lanes at once. Products and sums are
//! fused by name, which rounds alike on every machine; one without the instruction is slow.

/// Cells that are worked on at once.
pub(super) const LANES: usize = 16;

/// Change of volume below which the logarithm is continued.
const THIN: f32 = 0.1;

/// Natural logarithm of a normal number above zero.
#[inline(always)]
pub(super) fn logarithm(x: f32) -> f32 {
    let bits = x.to_bits();
    // mantissa from sqrt(1/2) to sqrt(2)
    #[expect(clippy::cast_possible_wrap, reason = "the sign is wanted")]
    let exponent = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    #[expect(clippy::cast_sign_loss, reason = "wraps back")]
    let f = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23)) - 1.0;
    #[expect(clippy::cast_precision_loss, reason = "at most 128")]
    let e = exponent as f32;
    let mut p = 7.037_683_6e-2_f32.mul_add(f, -1.151_461e-1);
    p = p.mul_add(f, 1.167_699_9e-1);
    p = p.mul_add(f, -1.242_014_1e-1);
    p = p.mul_add(f, 1.424_932_3e-1);
    p = p.mul_add(f, -1.666_805_8e-1);
    p = p.mul_add(f, 2.000_071_5e-1);
    p = p.mul_add(f, -2.499_999_4e-1);
    p = p.mul_add(f, 3.333_333e-1);
    let square = f * f;
    let tail = (f * square).mul_add(p, e.mul_add(-2.121_944_4e-4, -0.5 * square));
    e.mul_add(0.693_359_4, f + tail)
}

/// Exponents beyond which the exponential stays: no sound cell has them, and products of some such
/// exponentials are finite still.
const STEEPEST: f32 = 30.0;
/// Adding this leaves a whole number in the last bits.
const ROUNDING: f32 = 12_582_912.0;

/// Exponential, of an exponent kept to [`STEEPEST`]; exact at zero.
#[inline(always)]
pub(super) fn exponential(x: f32) -> f32 {
    let x = x.clamp(-STEEPEST, STEEPEST);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUNDING);
    let whole = rounded - ROUNDING;
    let r = whole.mul_add(2.121_944_4e-4, whole.mul_add(-0.693_359_4, x));
    let mut p = 1.987_569_1e-4_f32.mul_add(r, 1.398_199_9e-3);
    p = p.mul_add(r, 8.333_452e-3);
    p = p.mul_add(r, 4.166_579_6e-2);
    p = p.mul_add(r, 1.666_666_5e-1);
    p = p.mul_add(r, 0.5);
    let power = rounded.to_bits().wrapping_sub(ROUNDING.to_bits());
    let scale = f32::from_bits(power.wrapping_add(127) << 23);
    (r * r).mul_add(p, r + 1.0) * scale
}

/// `ln J` and its slope, continued below [`THIN`].
#[inline(always)]
pub(super) fn log_volume(j: f32) -> (f32, f32) {
    let high = j.max(THIN);
    let low = (j - high) * (1.0 / THIN);
    let log = logarithm(high) + (-0.5 * low).mul_add(low, low);
    (log, low.mul_add(-1.0 / THIN, 1.0 / high))
}

/// One cell at its centre.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strained {
    /// First Piola stress, column after column.
    pub(super) stress: [f32; 9],
    /// Energy density.
    pub(super) energy: f32,
    /// Squared lengths of the columns of `F^-T`: how much shorter the cell has become along each
    /// edge, for waves.
    pub(super) shrunk: [f32; 3],
}

/// `a b - c d`
#[inline(always)]
pub(super) fn minor(a: f32, b: f32, c: f32, d: f32) -> f32 {
    a.mul_add(b, -(c * d))
}

/// Stress and energy at the displacement gradient `h`, column after column.
#[inline(always)]
pub(super) fn strain(h: [f32; 9], mu: f32, lambda: f32) -> Strained {
    let mut f = h;
    f[0] += 1.0;
    f[4] += 1.0;
    f[8] += 1.0;
    let c = [
        minor(f[4], f[8], f[5], f[7]),
        minor(f[5], f[6], f[3], f[8]),
        minor(f[3], f[7], f[4], f[6]),
        minor(f[7], f[2], f[8], f[1]),
        minor(f[8], f[0], f[6], f[2]),
        minor(f[6], f[1], f[7], f[0]),
        minor(f[1], f[5], f[2], f[4]),
        minor(f[2], f[3], f[0], f[5]),
        minor(f[0], f[4], f[1], f[3]),
    ];
    let j = f[0].mul_add(c[0], f[1].mul_add(c[1], f[2] * c[2]));
    let (log, slope) = log_volume(j);
    let pressure = lambda.mul_add(log, -mu) * slope;
    let mut stress = [0.0; 9];
    for i in 0..9 {
        stress[i] = mu.mul_add(f[i], pressure * c[i]);
    }
    let mut squares = 0.0;
    for h in h {
        squares = h.mul_add(h, squares);
    }
    // I1 - 3 without taking near numbers from each other
    let stretch = squares + 2.0 * (h[0] + h[4] + h[8]);
    let energy = mu * (0.5 * stretch - log) + 0.5 * lambda * log * log;
    let wave = slope * slope * (1.0 - log).max(1.0);
    let shrunk = [
        (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) * wave,
        (c[3] * c[3] + c[4] * c[4] + c[5] * c[5]) * wave,
        (c[6] * c[6] + c[7] * c[7] + c[8] * c[8]) * wave,
    ];
    Strained {
        stress,
        energy,
        shrunk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;
    use palpate_twin::law::{Elastic, NeoHookean};

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        for i in 1..4000 {
            let x = 0.1 + 0.002 * i as f32;
            assert!((logarithm(x) - libm::logf(x)).abs() <= 3e-7 * libm::logf(x).abs().max(0.1));
        }
        assert_eq!(logarithm(1.0), 0.0);
    }

    #[test]
    fn the_exponential_is_that_of_the_library() {
        for i in -2990..2990 {
            let x = 0.01 * i as f32;
            assert!((exponential(x) / libm::expf(x) - 1.0).abs() <= 5e-7, "{x}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(f32::MAX).is_finite() && exponential(f32::MIN) > 0.0);
    }

    #[test]
    fn stress_is_the_law_s_and_the_energy_s_slope_even_inside_out() {
        let law = NeoHookean {
            mu: 1.0,
            lambda: 9.0,
        };
        let h = [0.2, 0.1, -0.05, 0.0, -0.3, 0.1, 0.07, 0.02, 0.15_f32];
        let found = strain(h, 1.0, 9.0);
        let f = Matrix3::identity() + Matrix3::from_column_slice(&h.map(f64::from));
        for (found, exact) in found.stress.iter().zip(law.stress(&f).iter()) {
            assert!((f64::from(*found) - exact).abs() < 1e-5, "{found} {exact}");
        }
        assert!((f64::from(found.energy) - law.energy(&f)).abs() < 1e-5);
        for shift in [0.0, -0.6, -1.1] {
            let mut h = h;
            h[0] += shift;
            let slope = |i: usize| {
                let (mut up, mut down) = (h, h);
                up[i] += 1e-3;
                down[i] -= 1e-3;
                (strain(up, 1.0, 9.0).energy - strain(down, 1.0, 9.0).energy) / 2e-3
            };
            for (i, stress) in strain(h, 1.0, 9.0).stress.iter().enumerate() {
                let close = (slope(i) - stress).abs() < 1e-2 * (1.0 + stress.abs());
                assert!(close, "{i} {shift}: {} {stress}", slope(i));
            }
        }
    }
}
