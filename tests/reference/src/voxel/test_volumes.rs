//! Volumes, tools and random numbers for tests.

#![expect(
    clippy::missing_panics_doc,
    reason = "the bodies are fixed, or a test's own"
)]

use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_twin::{Instrument, Tool, Vec3};
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::{VoxelModel, VoxelParams};

/// A name, and a test for the sites inside.
pub type NamedShape = (&'static str, fn([i32; 3]) -> bool);

/// Shapes of the table in seed-001 section 3.3.5, in a bounding box of 16 x 12 x 8.
pub const SHAPES: [NamedShape; 7] = [
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

/// Returns a material with these limits.
#[must_use]
pub fn material(limits: BondLimits) -> VoxelMaterial {
    VoxelMaterial {
        limits,
        ..VoxelMaterial::of_young("test", 2e3, 0.0)
    }
}

/// Returns nodes of unit spacing wherever `is_in` is true, of material `of`.
pub fn volume<R: Real>(
    size: [i32; 3],
    materials: &[BondLimits],
    is_in: impl Fn([i32; 3]) -> bool,
    of: impl Fn([i32; 3]) -> u8,
) -> VoxelNodes<R> {
    let seeds: Vec<NodeSeed> = sites(size)
        .filter(|&site| is_in(site))
        .map(|site| seed(site, of(site)))
        .collect();
    let materials = materials.iter().map(|&limits| material(limits)).collect();
    VoxelNodes::new(UNIT, materials, &seeds).expect("bodies are fit")
}

/// A lattice of spacing 1 m at the origin.
pub const UNIT: LatticeFrame = LatticeFrame {
    origin_m: Vec3::new(0.0, 0.0, 0.0),
    spacing_m: [1.0; 3],
};

/// Returns a box on a lattice.
pub fn filled<R: Real>(
    frame: LatticeFrame,
    size: [i32; 3],
    materials: Vec<VoxelMaterial>,
    of: impl Fn([i32; 3]) -> u8,
) -> VoxelNodes<R> {
    let seeds: Vec<NodeSeed> = sites(size).map(|site| seed(site, of(site))).collect();
    VoxelNodes::new(frame, materials, &seeds).expect("bodies are fit")
}

fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

const fn seed(site: [i32; 3], material: u8) -> NodeSeed {
    NodeSeed {
        site,
        material,
        object: 0,
    }
}

/// Returns a box of one material.
#[must_use]
pub fn block<R: Real>(size: [i32; 3], limits: BondLimits) -> VoxelNodes<R> {
    filled(UNIT, size, vec![material(limits)], |_| 0)
}

/// Returns a block with its surface at z = 0 and its ground pinned: `size` nodes, spacing 1 mm.
pub fn slab(
    size: [i32; 3],
    materials: Vec<VoxelMaterial>,
    of: impl Fn([i32; 3]) -> u8,
) -> VoxelModel {
    let h = 1e-3;
    let middle = |n: i32| -0.5 * f64::from(n - 1) * h;
    let frame = LatticeFrame {
        origin_m: Vec3::new(
            middle(size[0]),
            middle(size[1]),
            -f64::from(size[2] - 1) * h,
        ),
        spacing_m: [h; 3],
    };
    let mut nodes = filled(frame, size, materials, of);
    pin_ground(&mut nodes);
    VoxelModel::new(nodes, VoxelParams::default()).expect("bodies are fit")
}

/// Pins the lowest layer of a volume.
pub fn pin_ground<R: Real>(nodes: &mut VoxelNodes<R>) {
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == 0);
    }
}

/// Returns a blunt ball at a place \[m\].
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

/// Limits that the source uses.
pub trait SourceLimits {
    /// Rigid links (seed-001 L345).
    const RIGID: BondLimits = BondLimits::even(1.0, 1.0, 0.0);
    /// Medium limits of the source: 0.8 to 1.2 of the length; shear ours.
    const MEDIUM: BondLimits = BondLimits::even(0.8, 1.2, 0.2);
}

impl SourceLimits for BondLimits {}

/// Check of a volume against the limits of its links.
pub trait LimitCheck<R> {
    /// Returns the greatest violation of a limit by any link \[m\]; 0 or less if all are kept.
    fn limit_excess_m(&self) -> R;
}

impl<R: Real> LimitCheck<R> for VoxelNodes<R> {
    fn limit_excess_m(&self) -> R {
        let mut worst = -R::of(f64::MAX);
        for node in 0..self.slots() {
            for to in NeighbourDirection::POSITIVE {
                let Some(other) = self.neighbour(node, to) else {
                    continue;
                };
                let pair = [self.material(node), self.material(other)];
                for along in 0..3 {
                    let (least, most) = self.bonds().range_m(pair, to, along);
                    let moved_m = &self.displacement_m[along];
                    let apart = moved_m[other as usize] - moved_m[node as usize];
                    worst = worst.max(apart - most).max(least - apart);
                }
            }
        }
        worst
    }
}

/// Deterministic random numbers of a seed.
#[derive(Debug, Clone)]
pub struct TestRng(u64);

impl TestRng {
    /// Returns the generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from `-most` to `most`.
    pub fn symmetric(&mut self, most: f64) -> f64 {
        (2.0 * self.unit() - 1.0) * most
    }

    /// Returns an integer from 0 to one less than `count`.
    pub fn below(&mut self, count: u32) -> u32 {
        ((self.unit() * f64::from(count)) as u32).min(count - 1)
    }
}

/// Returns a target for a random node, displaced by up to `most` from its position.
pub fn random_target(rng: &mut TestRng, nodes: &VoxelNodes<f64>, most: f64) -> NodeTarget<f64> {
    let node = loop {
        let node = rng.below(nodes.slots());
        if nodes.alive(node) {
            break node;
        }
    };
    let at = nodes.displacement_m(node);
    NodeTarget {
        node,
        displacement_m: at.map(|x| x + rng.symmetric(most)),
    }
}
