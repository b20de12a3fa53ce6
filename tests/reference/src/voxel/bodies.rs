//! Volumes, tools and numbers to try things on.

#![expect(
    clippy::missing_panics_doc,
    reason = "the bodies are fixed, or a test's own"
)]

use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_twin::{Instrument, Tool, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;
use palpate_voxel::matter::Matter;
use palpate_voxel::{Linked, LinkedParams};

/// A name, and which sites are inside.
pub type Shape = (&'static str, fn([i32; 3]) -> bool);

/// Shapes of the table in seed-001 section 3.3.5, in a bounding box of 16 x 12 x 8.
pub const SHAPES: [Shape; 7] = [
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

/// Matter with these limits.
#[must_use]
pub fn matter(limits: Limits) -> Matter {
    Matter {
        limits,
        ..Matter::of_young("test", 2e3, 0.0)
    }
}

/// Elements of unit spacing wherever `is_in` says, of material `of`.
pub fn volume<R: Real>(
    size: [i32; 3],
    matters: &[Limits],
    is_in: impl Fn([i32; 3]) -> bool,
    of: impl Fn([i32; 3]) -> u8,
) -> Elements<R> {
    let seeds: Vec<Seed> = sites(size)
        .filter(|&site| is_in(site))
        .map(|site| seed(site, of(site)))
        .collect();
    let matters = matters.iter().map(|&limits| matter(limits)).collect();
    Elements::new(UNIT, matters, &seeds).expect("bodies are fit")
}

/// A lattice of spacing 1 m at the origin.
pub const UNIT: Frame = Frame {
    origin_m: Vec3::new(0.0, 0.0, 0.0),
    spacing_m: [1.0; 3],
};

/// A box on a lattice.
pub fn filled<R: Real>(
    frame: Frame,
    size: [i32; 3],
    matters: Vec<Matter>,
    of: impl Fn([i32; 3]) -> u8,
) -> Elements<R> {
    let seeds: Vec<Seed> = sites(size).map(|site| seed(site, of(site))).collect();
    Elements::new(frame, matters, &seeds).expect("bodies are fit")
}

fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

const fn seed(site: [i32; 3], matter: u8) -> Seed {
    Seed {
        site,
        matter,
        object: 0,
    }
}

/// A box of one material.
#[must_use]
pub fn block<R: Real>(size: [i32; 3], limits: Limits) -> Elements<R> {
    filled(UNIT, size, vec![matter(limits)], |_| 0)
}

/// A block with its surface at z = 0 and its ground pinned, `size` elements, spacing 1 mm.
pub fn slab(size: [i32; 3], matters: Vec<Matter>, of: impl Fn([i32; 3]) -> u8) -> Linked {
    let h = 1e-3;
    let middle = |n: i32| -0.5 * f64::from(n - 1) * h;
    let frame = Frame {
        origin_m: Vec3::new(
            middle(size[0]),
            middle(size[1]),
            -f64::from(size[2] - 1) * h,
        ),
        spacing_m: [h; 3],
    };
    let mut elements = filled(frame, size, matters, of);
    ground(&mut elements);
    Linked::new(elements, LinkedParams::default()).expect("bodies are fit")
}

/// Pins the lowest layer of a volume.
pub fn ground<R: Real>(elements: &mut Elements<R>) {
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == 0);
    }
}

/// A blunt ball at a place \[m\].
#[must_use]
pub fn ball(at_m: Vec3, radius_m: f64) -> Tool {
    Tool {
        position_m: at_m,
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Limits that the source names.
pub trait Printed {
    /// Nothing gives (seed-001 L345).
    const RIGID: Limits = Limits::even(1.0, 1.0, 0.0);
    /// The source's medium: 0.8 to 1.2 of the length; shear ours.
    const MEDIUM: Limits = Limits::even(0.8, 1.2, 0.2);
}

impl Printed for Limits {}

/// How well a volume keeps the limits of its links.
pub trait Judged<R> {
    /// The largest overstep of a limit by any link \[m\]; 0 or less if all are kept.
    fn worst_m(&self) -> R;
}

impl<R: Real> Judged<R> for Elements<R> {
    fn worst_m(&self) -> R {
        let mut worst = -R::of(f64::MAX);
        for element in 0..self.slots() {
            for to in Direction::UP {
                let Some(other) = self.neighbour(element, to) else {
                    continue;
                };
                let pair = [self.matter(element), self.matter(other)];
                for along in 0..3 {
                    let (least, most) = self.bonds().range_m(pair, to, along);
                    let moved_m = &self.moved_m[along];
                    let apart = moved_m[other as usize] - moved_m[element as usize];
                    worst = worst.max(apart - most).max(least - apart);
                }
            }
        }
        worst
    }
}

/// Numbers without end, the same for a seed.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// Numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// 0 to 1.
    pub fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `-most` to `most`.
    pub fn around(&mut self, most: f64) -> f64 {
        (2.0 * self.share() - 1.0) * most
    }

    /// 0 to one less than `count`.
    pub fn below(&mut self, count: u32) -> u32 {
        ((self.share() * f64::from(count)) as u32).min(count - 1)
    }
}

/// A control at a random element, moved by up to `most` from where it is.
pub fn some_control(draw: &mut Draw, elements: &Elements<f64>, most: f64) -> Control<f64> {
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
