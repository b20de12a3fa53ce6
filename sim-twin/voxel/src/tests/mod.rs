//! Test models and fixtures for the rows of seed-001.

mod allocation;
mod cutting;
mod friction;
mod gauss_seidel;
mod instrument_forces;
mod instruments;
mod joining;
mod press;
mod propagation;
mod random_edits;
mod random_inputs;
mod scripted_session;
mod stiffness;
mod storage;
mod surface;
mod tool_palette;

use super::carve::RoundToolMotion;
use super::chainmail::NodeTarget;
use super::edits::UndoLog;
use super::knife::{BladeMotion, CutEvent, find_crossed_links};
use super::limits::BondLimits;
use super::material::VoxelMaterial;
use super::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use super::topology_editor::{EditOutcome, TopologyEditor};
use palpate_twin::Vec3;
use palpate_twin::edits::{EditPhase, NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;

/// A name, and a test for the sites inside.
type NamedShape = (&'static str, fn([i32; 3]) -> bool);

/// Shapes of the table in seed-001 section 3.3.5, in a bounding box of 16 x 12 x 8.
pub(super) const SHAPES: [NamedShape; 7] = [
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

impl BondLimits {
    /// Rigid links (seed-001 L345).
    pub(super) const RIGID: Self = Self::even(1.0, 1.0, 0.0);
}

/// Returns a material with these limits.
pub(super) fn material(limits: BondLimits) -> VoxelMaterial {
    VoxelMaterial {
        limits,
        ..VoxelMaterial::of_young("test", 2e3, 0.0)
    }
}

/// Returns nodes of unit spacing wherever `is_in` is true, of material `of`.
pub(super) fn volume<R: Real>(
    size: [i32; 3],
    materials: &[BondLimits],
    is_in: impl Fn([i32; 3]) -> bool,
    of: impl Fn([i32; 3]) -> u8,
) -> VoxelNodes<R> {
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let sites = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])));
    let seeds: Vec<NodeSeed> = sites
        .filter(|&site| is_in(site))
        .map(|site| NodeSeed {
            site,
            material: of(site),
            object: 0,
        })
        .collect();
    let materials = materials.iter().map(|&limits| material(limits)).collect();
    VoxelNodes::new(frame, materials, &seeds).expect("fit")
}

/// Returns a box of one material.
pub(super) fn block<R: Real>(size: [i32; 3], limits: BondLimits) -> VoxelNodes<R> {
    volume(size, &[limits], |_| true, |_| 0)
}

/// Deterministic random numbers of a seed.
pub(super) struct TestRng(u64);

impl TestRng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number from 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from `-most` to `most`.
    pub(super) fn symmetric(&mut self, most: f64) -> f64 {
        (2.0 * self.unit() - 1.0) * most
    }

    /// Returns an integer from 0 to one less than `count`.
    pub(super) fn below(&mut self, count: u32) -> u32 {
        ((self.unit() * f64::from(count)) as u32).min(count - 1)
    }
}

/// Returns a target for a random node, displaced by up to `most` from its position.
pub(super) fn random_target(
    rng: &mut TestRng,
    nodes: &VoxelNodes<f64>,
    most: f64,
) -> NodeTarget<f64> {
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

impl<R: Real> VoxelNodes<R> {
    /// Returns the greatest violation of a limit by any link \[m\]; 0 or less if all are kept.
    pub(super) fn limit_excess_m(&self) -> R {
        let mut worst = -R::of(f64::MAX);
        for (node, to, other) in self.links() {
            let pair = [self.material(node), self.material(other)];
            for along in 0..3 {
                let (least, most) = self.bonds().range_m(pair, to, along);
                let moved_m = &self.displacement_m[along];
                let apart = moved_m[other as usize] - moved_m[node as usize];
                worst = worst.max(apart - most).max(least - apart);
            }
        }
        worst
    }

    /// Sets a node's displacement from rest \[m\] without regard to links.
    pub(super) fn set_displacement_m(&mut self, node: u32, moved_m: [f64; 3]) {
        for (own, to) in self.displacement_m.iter_mut().zip(moved_m) {
            own[node as usize] = R::of(to);
        }
    }

    /// Iterates over links by their lower ends.
    fn links(&self) -> impl Iterator<Item = (u32, NeighbourDirection, u32)> + '_ {
        let ends = (0..self.slots()).flat_map(|e| NeighbourDirection::POSITIVE.map(|to| (e, to)));
        ends.filter_map(|(e, to)| Some((e, to, self.neighbour(e, to)?)))
    }

    /// Returns a node and direction whose link is not symmetric, if any: a bug (row LV-01).
    pub(super) fn asymmetric_link(&self) -> Option<(u32, NeighbourDirection)> {
        let all = (0..self.slots()).flat_map(|e| NeighbourDirection::ALL.map(|to| (e, to)));
        all.into_iter().find(|&(e, to)| {
            self.neighbour(e, to)
                .is_some_and(|n| !self.alive(n) || self.neighbour(n, to.opposite()) != Some(e))
        })
    }
}

/// Result of a cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutResult {
    pub(super) links: usize,
    pub(super) nodes: usize,
    pub(super) stored_j: f64,
    /// Number of new pieces.
    pub(super) pieces: usize,
    /// Energy of the cut \[J\].
    pub(super) tough_j: f64,
    /// Fraction of the blade's path until its budget was spent, 0 to 1.
    pub(super) path_fraction: f64,
}

impl TopologyEditor {
    /// Moves a blade through the model: cuts all links that it crosses, within `budget_j` \[J\].
    pub(super) fn cut<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        sweep: &BladeMotion,
        budget_j: f64,
    ) -> CutResult {
        let (before, mut tough_j, mut path_fraction) = (self.derived.pieces.sizes.len(), 0.0, 1.0);
        let all = 0..nodes.slots();
        let reach_m = self.link_length_max_m;
        let find = |nodes: &VoxelNodes<R>, events: &mut Vec<CutEvent>| {
            find_crossed_links(nodes, all, sweep, reach_m, events)
        };
        let batch = self.apply_cut_events(nodes, find, |events| {
            for (count, event) in events.iter().enumerate() {
                if tough_j + event.energy_j > budget_j {
                    path_fraction = event.path_fraction;
                    return count;
                }
                tough_j += event.energy_j;
            }
            events.len()
        });
        CutResult {
            links: batch.links,
            nodes: batch.nodes,
            stored_j: batch.stored_j,
            pieces: self.derived.pieces.sizes.len() - before,
            tough_j,
            path_fraction,
        }
    }

    /// Removes the nodes that a round tool sweeps over.
    pub(super) fn carve<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        motion: &RoundToolMotion,
    ) -> EditOutcome {
        self.carve_first(nodes, motion, <[CutEvent]>::len)
    }

    /// Removes the first `count` of them.
    pub(super) fn carve_first<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        motion: &RoundToolMotion,
        count: impl FnOnce(&[CutEvent]) -> usize,
    ) -> EditOutcome {
        let all = 0..nodes.slots();
        let find = |nodes: &VoxelNodes<R>, events: &mut Vec<CutEvent>| {
            motion.find_removals(nodes, all, events)
        };
        self.apply_cut_events(nodes, find, count)
    }

    /// Joins nodes within a ball that lack a neighbour to the nearest partners (row TP-06).
    pub(super) fn join<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        centre_m: Vec3,
        radius_m: f64,
    ) -> EditOutcome {
        let ball = RoundToolMotion::ball(centre_m, centre_m, radius_m);
        self.join_within(nodes, 0..nodes.slots(), &ball, f64::INFINITY)
    }

    /// Removes one node as an edit batch.
    pub(super) fn carve_one<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        node: u32,
    ) -> EditOutcome {
        let cuts = NeighbourDirection::ALL.into_iter().filter_map(|to| {
            let other = nodes.neighbour(node, to)?;
            Some(TopologyChange::Cut {
                node,
                direction: to,
                neighbour: other,
            })
        });
        let changes: Vec<TopologyChange> = cuts
            .chain([
                TopologyChange::Unpin { node },
                TopologyChange::Remove { node },
            ])
            .collect();
        self.replay(nodes, EditPhase::Begin, &changes)
    }
}

impl UndoLog {
    /// Returns whether an undo and a redo are possible.
    pub(super) const fn can_undo_redo(&self) -> (bool, bool) {
        (self.done > 0, self.undone > 0)
    }

    /// Iterates over changes that can be undone, oldest first.
    pub(super) fn changes(&self) -> impl Iterator<Item = TopologyChange> + '_ {
        (0..self.done).map(|nth| self.nth(nth).1)
    }

    /// Unpins a node, cuts its links and removes it, if it is alive.
    pub(super) fn carve<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, node: u32) {
        for to in NeighbourDirection::ALL {
            if let Some(other) = nodes.neighbour(node, to) {
                self.apply_and_record(
                    nodes,
                    TopologyChange::Cut {
                        node,
                        direction: to,
                        neighbour: other,
                    },
                );
            }
        }
        self.apply_and_record(nodes, TopologyChange::Unpin { node });
        self.apply_and_record(nodes, TopologyChange::Remove { node });
    }
}
