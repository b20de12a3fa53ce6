//! Single-precision functions for the laws, one number per SIMD lane.
//!
//! Source: Moshier (Cephes `logf`, `expf`), without branches, so that the compiler vectorises them. Below a
//! volume ratio `J` of [`THIN`] the logarithm continues as its tangent. An inverted cell then has finite forces, which
//! are still the gradient of the energy, a bounded stiffness, and recovers. A continuation of second order made the
//! stiffness grow with the square of the inversion (measured: to 1e8 of that at rest). Products and sums are fused
//! explicitly, which rounds alike on every machine; machines without the instruction are slow.

/// Number of cells that are processed at once.
pub(super) const SIMD_WIDTH: usize = 16;

/// Volume ratio below which the logarithm is continued.
pub(super) const THIN: f32 = 0.1;

/// Returns the natural logarithm of a normal number above zero.
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

/// Largest magnitude of an exponent: no valid cell exceeds it, and products of several such exponentials are
/// finite.
const STEEPEST: f32 = 30.0;
/// Addend that leaves a whole number in the last bits.
const ROUNDING: f32 = 12_582_912.0;

/// Returns the exponential of an exponent clamped to [`STEEPEST`]; exact at zero.
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

/// Returns `ln J` and its derivative, continued below [`THIN`].
#[inline(always)]
pub(super) fn log_volume(j: f32) -> (f32, f32) {
    let high = j.max(THIN);
    let low = (j - high) * (1.0 / THIN);
    (logarithm(high) + low, 1.0 / high)
}

/// Returns `a b - c d`.
#[inline(always)]
pub(super) fn minor(a: f32, b: f32, c: f32, d: f32) -> f32 {
    a.mul_add(b, -(c * d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_matches_libm() {
        for i in 1..4000 {
            let x = 0.1 + 0.002 * i as f32;
            assert!((logarithm(x) - libm::logf(x)).abs() <= 3e-7 * libm::logf(x).abs().max(0.1));
        }
        assert_eq!(logarithm(1.0), 0.0);
    }

    #[test]
    fn exponential_matches_libm() {
        for i in -2990..2990 {
            let x = 0.01 * i as f32;
            assert!((exponential(x) / libm::expf(x) - 1.0).abs() <= 5e-7, "{x}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(f32::MAX).is_finite() && exponential(f32::MIN) > 0.0);
    }
}
