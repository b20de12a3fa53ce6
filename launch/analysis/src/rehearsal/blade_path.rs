//! Swept path of a blade, and the links that it should have cut.
//!
//! Source: ours; the row TP-02 of seed-001 requires that no link crosses the swept surface. This is independent of the
//! code that cuts: the path is a strip of triangles between blade poses, and a link is a line at rest. Tissue moves
//! under a blade mostly along its surface, so a crossing at rest was a crossing under the blade, except near the edge
//! of the strip, where a margin is left out.

use palpate_twin::Vec3;

/// A blade at one moment, from its tip to its other end \[m\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Blade {
    /// Tip of the blade.
    pub tip_m: Vec3,
    /// Other end of the blade.
    pub top_m: Vec3,
}

/// Path of a blade.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BladePath {
    /// Poses, each with the path length of the tip up to it \[m\].
    poses: Vec<(Blade, f64)>,
}

/// Path length after which a pose is kept \[m\].
const POSE_SPACING_M: f64 = 2e-4;

impl BladePath {
    /// Adds a pose of the blade.
    pub(crate) fn add(&mut self, blade: Blade) {
        let mut way_m = 0.0;
        if let Some((last, last_m)) = self.poses.last() {
            let tip_m = (blade.tip_m - last.tip_m).norm();
            if tip_m.max((blade.top_m - last.top_m).norm()) < POSE_SPACING_M {
                return;
            }
            way_m = last_m + tip_m;
        }
        self.poses.push((blade, way_m));
    }

    /// Returns true if a line crosses the path at least a margin \[m\] from its edge: from the path of the tip, its
    /// start and its end.
    pub(crate) fn crosses(&self, a_m: Vec3, b_m: Vec3, margin_m: f64) -> bool {
        let whole_m = self.poses.last().map_or(0.0, |(_, way_m)| *way_m);
        let mut inner = self.poses.windows(2).filter(|pair| {
            let near_end = pair[0].1 < margin_m || pair[1].1 > whole_m - margin_m;
            !near_end
        });
        let crossed = |pair: &[(Blade, f64)]| {
            let (p, q) = (pair[0].0, pair[1].0);
            let halves = [[p.tip_m, q.tip_m, q.top_m], [p.tip_m, q.top_m, p.top_m]];
            let mut crossings_m = halves
                .iter()
                .filter_map(|corners| intersection(corners, &a_m, &b_m));
            crossings_m.any(|at_m| distance_m(&at_m, &p.tip_m, &q.tip_m) >= margin_m)
        };
        inner.any(crossed)
    }
}

/// Intersection of a line with a triangle (Moeller and Trumbore 1997), if any.
fn intersection([o, p, q]: &[Vec3; 3], a: &Vec3, b: &Vec3) -> Option<Vec3> {
    let (e1, e2, along) = (p - o, q - o, b - a);
    let normal = along.cross(&e2);
    let det = e1.dot(&normal);
    if det == 0.0 {
        return None;
    }
    let from = a - o;
    let u = from.dot(&normal) / det;
    let cross = from.cross(&e1);
    let v = along.dot(&cross) / det;
    let t = e2.dot(&cross) / det;
    let inside = u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&t);
    inside.then(|| a + along * t)
}

/// Distance of a point from a segment \[m\].
fn distance_m(at: &Vec3, from: &Vec3, to: &Vec3) -> f64 {
    let along = to - from;
    let share = (at - from).dot(&along) / along.norm_squared().max(f64::MIN_POSITIVE);
    (at - (from + along * share.clamp(0.0, 1.0))).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight() -> BladePath {
        let mut swept = BladePath::default();
        for step in 0..=40 {
            let x = -0.01 + 0.0005 * f64::from(step);
            swept.add(Blade {
                tip_m: Vec3::new(x, 0.0, -0.006),
                top_m: Vec3::new(x, 0.0, 0.004),
            });
        }
        swept
    }

    fn across(x: f64, z: f64) -> (Vec3, Vec3) {
        (Vec3::new(x, -0.001, z), Vec3::new(x, 0.001, z))
    }

    fn is_crossed(swept: &BladePath, link: (Vec3, Vec3), margin_m: f64) -> bool {
        swept.crosses(link.0, link.1, margin_m)
    }

    #[test]
    fn tp_02_links_through_the_swept_surface_are_separated_from_those_beside_it() {
        let swept = straight();
        for (x, z, crosses) in [
            (0.0, -0.002, true),
            (0.0, -0.0051, true),
            (0.0, -0.0065, false),
            (0.012, -0.002, false),
        ] {
            assert_eq!(is_crossed(&swept, across(x, z), 0.0), crosses, "{x} {z}");
        }
        let beside = (Vec3::new(0.0, 0.001, -0.002), Vec3::new(0.0, 0.003, -0.002));
        assert!(!is_crossed(&swept, beside, 0.0));
        // a margin leaves out the edge and nothing else
        assert!(is_crossed(&swept, across(0.0, -0.002), 0.002));
        assert!(!is_crossed(&swept, across(0.0, -0.0051), 0.002));
        assert!(!is_crossed(&swept, across(0.0095, -0.002), 0.002));
        assert!(!is_crossed(&BladePath::default(), across(0.0, -0.002), 0.0));
    }
}
