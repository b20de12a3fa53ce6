//! Closest point of a triangle to a given point.
//!
//! Source: Ericson, "Real-Time Collision Detection", 2005, 5.1.5 (Voronoi regions of a triangle).

use crate::Vec3;

/// Point of a triangle, with its barycentric weights (they add up to 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Foot {
    /// The point \[m\].
    pub(super) point_m: Vec3,
    /// Barycentric weights, each in \[0, 1\]; zero on the edge opposite to the corner.
    pub(super) weights: [f64; 3],
}

/// Point of triangle `a b c` closest to `p`. Total: a flat triangle is treated as its edges.
#[must_use]
#[inline]
pub(super) fn closest(p: &Vec3, a: &Vec3, b: &Vec3, c: &Vec3) -> Foot {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(&ap), ac.dot(&ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return foot(a, b, c, [1.0, 0.0, 0.0]);
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(&bp), ac.dot(&bp));
    if d3 >= 0.0 && d4 <= d3 {
        return foot(a, b, c, [0.0, 1.0, 0.0]);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = ratio(d1, d1 - d3);
        return foot(a, b, c, [1.0 - t, t, 0.0]);
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(&cp), ac.dot(&cp));
    if d6 >= 0.0 && d5 <= d6 {
        return foot(a, b, c, [0.0, 0.0, 1.0]);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = ratio(d2, d2 - d6);
        return foot(a, b, c, [1.0 - t, 0.0, t]);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let t = ratio(d4 - d3, (d4 - d3) + (d5 - d6));
        return foot(a, b, c, [0.0, 1.0 - t, t]);
    }
    let (v, w) = (ratio(vb, va + vb + vc), ratio(vc, va + vb + vc));
    foot(a, b, c, [1.0 - v - w, v, w])
}

#[inline]
fn foot(a: &Vec3, b: &Vec3, c: &Vec3, weights: [f64; 3]) -> Foot {
    Foot {
        point_m: weights[0] * a + weights[1] * b + weights[2] * c,
        weights,
    }
}

/// Quotient that lies in \[0, 1\]; zero where it is undefined.
#[inline]
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole).min(1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vec3() -> impl Strategy<Value = Vec3> {
        (-2.0..2.0_f64, -2.0..2.0_f64, -2.0..2.0_f64).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_sampled_point_is_closer(p in vec3(), a in vec3(), b in vec3(), c in vec3()) {
            let best = closest(&p, &a, &b, &c);
            prop_assert!((best.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(best.weights.iter().all(|&weight| (-1e-12..=1.0).contains(&weight)));
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (v, w) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                    let sample = (1.0 - v - w) * a + v * b + w * c;
                    prop_assert!((p - best.point_m).norm() <= (p - sample).norm() + 1e-9);
                }
            }
        }
    }

    #[test]
    fn flat_triangles_do_not_divide_by_zero() {
        let a = Vec3::new(1.0, 2.0, 3.0);
        let b = Vec3::new(2.0, 2.0, 3.0);
        for (first, second) in [(a, a), (b, a), (a, b), (b, 2.0 * b - a)] {
            let best = closest(&Vec3::new(1.4, 5.0, 0.0), &a, &first, &second);
            assert!(best.point_m.iter().all(|value| value.is_finite()));
        }
    }
}
