//! Where a blade went, and which links it should have cut.
//!
//! Source: ours; the row TP-02 of seed-001 asks that no link crosses the swept surface. This is not the code that
//! cuts: a blade's way is a strip of triangles between its places, and a link is a line at rest. Tissue moves
//! under a blade mostly along its surface, so what crosses at rest crossed under the blade, but near the edge of the
//! strip, where a margin is left out.

use palpate_twin::Vec3;

/// A blade at one moment, from its tip to its other end \[m\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blade {
    /// Its tip.
    pub tip_m: Vec3,
    /// Its other end.
    pub top_m: Vec3,
}

/// The way of a blade.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Swept {
    blades: Vec<Blade>,
    /// Way of the tip until each blade \[m\].
    way_m: Vec<f64>,
}

/// Way after which a blade's place is kept \[m\].
const KEPT_M: f64 = 2e-4;

impl Swept {
    /// Takes note of a blade's place.
    pub(crate) fn add(&mut self, blade: Blade) {
        let last = self.blades.last();
        let gone_m = last.map_or(f64::INFINITY, |last| {
            (blade.tip_m - last.tip_m)
                .norm()
                .max((blade.top_m - last.top_m).norm())
        });
        if gone_m < KEPT_M {
            return;
        }
        let way_m = last.map_or(0.0, |last| (blade.tip_m - last.tip_m).norm());
        self.way_m.push(self.way_m.last().unwrap_or(&0.0) + way_m);
        self.blades.push(blade);
    }

    /// Whether a line crosses the way, at least a margin \[m\] from its edge: from where the tip was, where it set
    /// out, and where it came to.
    #[must_use]
    pub(crate) fn crosses(&self, a_m: Vec3, b_m: Vec3, margin_m: f64) -> bool {
        let whole_m = self.way_m.last().copied().unwrap_or(0.0);
        self.blades
            .windows(2)
            .zip(self.way_m.windows(2))
            .any(|(pair, way_m)| {
                let (p, q) = (pair[0], pair[1]);
                let near_end = way_m[0] < margin_m || way_m[1] > whole_m - margin_m;
                let halves = [[p.tip_m, q.tip_m, q.top_m], [p.tip_m, q.top_m, p.top_m]];
                !near_end
                    && halves.iter().any(|corners| {
                        meets(corners, &a_m, &b_m).is_some_and(|at_m| {
                            let deep_m = distance_m(&at_m, &p.tip_m, &q.tip_m);
                            deep_m >= margin_m
                        })
                    })
            })
    }
}

/// Where a line meets a triangle (Moeller and Trumbore 1997), if it does.
fn meets([o, p, q]: &[Vec3; 3], a: &Vec3, b: &Vec3) -> Option<Vec3> {
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

/// Distance of a place from a line between two others \[m\].
fn distance_m(at: &Vec3, from: &Vec3, to: &Vec3) -> f64 {
    let along = to - from;
    let share = (at - from).dot(&along) / along.norm_squared().max(f64::MIN_POSITIVE);
    (at - (from + along * share.clamp(0.0, 1.0))).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight() -> Swept {
        let mut swept = Swept::default();
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

    fn is_crossed(swept: &Swept, link: (Vec3, Vec3), margin_m: f64) -> bool {
        swept.crosses(link.0, link.1, margin_m)
    }

    #[test]
    fn tp_02_links_through_the_swept_surface_are_told_from_those_beside_it() {
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
        assert!(!is_crossed(&Swept::default(), across(0.0, -0.002), 0.0));
    }
}
