//! Volumes to test with, and the rows of seed-001 by name.

mod allocation;
mod cutting;
mod feel;
mod grip;
mod joining;
mod looks;
mod operate;
mod palette;
mod press;
mod propagation;
mod session;
mod soak;
mod stiff;
mod storage;
mod sweeps;
mod wild;

use super::carve::Scoop;
use super::elements::{Elements, Frame, Seed};
use super::exact::Control;
use super::knife::Sweep;
use super::limits::Limits;
use super::matter::Matter;
use super::surgery::{Stroke, Surgery};
use palpate_twin::Vec3;
use palpate_twin::edits::{Change, Direction, Part};
use palpate_twin::law::Real;

/// A name, and which sites are inside.
type Shape = (&'static str, fn([i32; 3]) -> bool);

/// Shapes of the table in seed-001 section 3.3.5, in a bounding box of 16 x 12 x 8.
pub(super) const SHAPES: [Shape; 7] = [
    ("block", |_| true),
    ("sphere", |[x, y, z]| {
        let far = |v: i32, n: i32| f64::from(2 * v + 1 - n) / f64::from(n);
        let (a, b, c) = (far(x, 16), far(y, 12), far(z, 8));
        a * a + b * b + c * c <= 1.0
    }),
    ("L", |[x, y, _]| x < 6 || y < 5),
    ("U", |[x, y, _]| !(5..11).contains(&x) || y < 4),
    ("notch", |[x, y, z]| {
        !((6..10).contains(&x) && y >= 6 && z >= 2)
    }),
    ("S", |[x, y, _]| {
        !((4..6).contains(&x) && y >= 3 || (10..12).contains(&x) && y < 9)
    }),
    ("hole", |[x, y, z]| {
        !((5..11).contains(&x) && (4..8).contains(&y) && (2..6).contains(&z))
    }),
];

impl Limits {
    /// Nothing gives (seed-001 L345).
    pub(super) const RIGID: Self = Self::even(1.0, 1.0, 0.0);
}

/// Matter with these limits.
pub(super) fn matter(limits: Limits) -> Matter {
    Matter {
        limits,
        ..Matter::of_young("test", 2e3, 0.0)
    }
}

/// Elements of unit spacing wherever `is_in` says, of material `of`.
pub(super) fn volume<R: Real>(
    size: [i32; 3],
    matters: &[Limits],
    is_in: impl Fn([i32; 3]) -> bool,
    of: impl Fn([i32; 3]) -> u8,
) -> Elements<R> {
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let sites = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])));
    let seeds: Vec<Seed> = sites
        .filter(|&site| is_in(site))
        .map(|site| Seed {
            site,
            matter: of(site),
            object: 0,
        })
        .collect();
    let matters = matters.iter().map(|&limits| matter(limits)).collect();
    Elements::new(frame, matters, &seeds).expect("fit")
}

/// A box of one material.
pub(super) fn block<R: Real>(size: [i32; 3], limits: Limits) -> Elements<R> {
    volume(size, &[limits], |_| true, |_| 0)
}

/// Numbers without end, the same for a seed.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// 0 to 1.
    pub(super) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `-most` to `most`.
    pub(super) fn around(&mut self, most: f64) -> f64 {
        (2.0 * self.share() - 1.0) * most
    }

    /// 0 to one less than `count`.
    pub(super) fn below(&mut self, count: u32) -> u32 {
        ((self.share() * f64::from(count)) as u32).min(count - 1)
    }
}

/// A control at a random element, moved by up to `most` from where it is.
pub(super) fn some_control(draw: &mut Draw, elements: &Elements<f64>, most: f64) -> Control<f64> {
    let element = loop {
        let element = draw.below(elements.slots());
        if elements.alive(element) {
            break element;
        }
    };
    let at = elements.moved_m(element);
    Control {
        element,
        to_m: at.map(|x| x + draw.around(most)),
    }
}

impl<R: Real> Elements<R> {
    /// The largest overstep of a limit by any link \[m\]; 0 or less if all are kept.
    pub(super) fn worst_m(&self) -> R {
        let mut worst = -R::of(f64::MAX);
        for (element, to, other) in self.links() {
            let pair = [self.matter(element), self.matter(other)];
            for along in 0..3 {
                let (least, most) = self.bonds().range_m(pair, to, along);
                let moved_m = &self.moved_m[along];
                let apart = moved_m[other as usize] - moved_m[element as usize];
                worst = worst.max(apart - most).max(least - apart);
            }
        }
        worst
    }

    /// Puts an element at a displacement from its place at rest \[m\]; no link is asked.
    pub(super) fn place(&mut self, element: u32, moved_m: [f64; 3]) {
        for (own, to) in self.moved_m.iter_mut().zip(moved_m) {
            own[element as usize] = R::of(to);
        }
    }

    /// Links by their lower ends.
    fn links(&self) -> impl Iterator<Item = (u32, Direction, u32)> + '_ {
        let ends = (0..self.slots()).flat_map(|e| Direction::UP.map(|to| (e, to)));
        ends.filter_map(|(e, to)| Some((e, to, self.neighbour(e, to)?)))
    }

    /// An element and a direction whose link is not answered, if there is one: a bug (row LV-01).
    pub(super) fn one_sided(&self) -> Option<(u32, Direction)> {
        let all = (0..self.slots()).flat_map(|e| Direction::ALL.map(|to| (e, to)));
        all.into_iter().find(|&(e, to)| {
            self.neighbour(e, to)
                .is_some_and(|n| !self.alive(n) || self.neighbour(n, to.opposite()) != Some(e))
        })
    }
}

impl Surgery {
    /// Takes a blade through the volume: cuts all links that it crosses, until that would cost more than
    /// `budget_j` \[J\].
    pub(super) fn cut<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        sweep: &Sweep,
        budget_j: f64,
    ) -> Stroke {
        self.draw(elements, sweep, |crossings| {
            let mut paid_j = 0.0;
            let dear = crossings.iter().position(|crossing| {
                paid_j += crossing.tough_j;
                paid_j > budget_j
            });
            dear.map_or((crossings.len(), 1.0), |count| {
                (count, crossings[count].way)
            })
        })
    }

    /// Takes out the elements that a round tool comes over.
    pub(super) fn carve<R: Real>(&mut self, elements: &mut Elements<R>, scoop: &Scoop) -> Stroke {
        self.scoop(elements, scoop, |met| (met.len(), 1.0))
    }

    /// Joins elements within a ball that lack a neighbour with the nearest that may be (row TP-06).
    pub(super) fn join<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        centre_m: Vec3,
        radius_m: f64,
    ) -> Stroke {
        self.join_within(elements, centre_m, radius_m, f64::INFINITY)
    }

    /// Takes out one element, as a stroke.
    pub(super) fn carve_one<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        element: u32,
    ) -> Stroke {
        let links = Direction::ALL.into_iter().filter_map(|to| {
            let other = elements.neighbour(element, to)?;
            Some(Change::Cut { element, to, other })
        });
        let changes: Vec<Change> = links
            .chain([Change::Free { element }, Change::Take { element }])
            .collect();
        self.apply(elements, Part::Begins, &changes)
    }
}
