//! Attachments: nodes of different volumes that keep their offset, as muscle does to bone.
//!
//! Source: seed-001 row LV-07 and section 3.3.6(e); the source names such constraints and gives no algorithm. Ours:
//! moved nodes of one volume become targets in the next, in rounds, until all offsets are kept. If a held node would
//! have to move, nothing moves. Links are independent of attachments, so a loop through several volumes leaves their
//! lattices consistent.

use crate::voxel::to_f64;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_voxel::chainmail::{Chainmail, InfeasibleMove, NodeTarget};
use palpate_voxel::nodes::VoxelNodes;

/// Greatest number of rounds through all volumes.
const ROUNDS: usize = 32;

/// A node of one of several volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentEnd {
    /// Index of the volume.
    pub volume: usize,
    /// Slot of the node.
    pub node: u32,
}

/// Two ends and the offset from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Attachment {
    ends: [AttachmentEnd; 2],
    offset_m: Vec3,
}

/// Error of an attachment or a motion; nothing has moved.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AttachmentError {
    /// An end is removed.
    #[error("there is no node {} in volume {}", .0.node, .0.volume)]
    Gone(AttachmentEnd),
    /// Both ends are of one volume, where links apply.
    #[error("both ends are of volume {0}; links join nodes of one")]
    Same(usize),
    /// A link would exceed its limits.
    #[error("volume {volume}: {why}")]
    Infeasible {
        /// Index of the volume.
        volume: usize,
        /// The infeasible motion.
        why: InfeasibleMove,
    },
    /// An end is held at another place than its attachment requires.
    #[error("node {} of volume {} is held and cannot follow", .0.node, .0.volume)]
    Held(AttachmentEnd),
    /// The offsets did not settle within the rounds.
    #[error("attachments of {0} rounds do not settle")]
    Loop(usize),
}

/// Volumes and their attachments.
#[derive(Debug, Clone)]
pub struct AttachedVolumes<R> {
    volumes: Vec<VoxelNodes<R>>,
    chainmail: Vec<Chainmail<R>>,
    attachments: Vec<Option<Attachment>>,
    targets: Vec<Vec<NodeTarget<R>>>,
    /// Number of targets from the caller, before those of attachments.
    requested: usize,
    /// Volumes that moved since their attachments were followed.
    due: Vec<bool>,
    before_m: Vec<[Vec<R>; 3]>,
}

impl<R: Real> AttachedVolumes<R> {
    /// Returns volumes without attachments.
    #[must_use]
    pub fn new(volumes: Vec<VoxelNodes<R>>) -> Self {
        Self {
            chainmail: volumes.iter().map(|v| Chainmail::new(v.slots())).collect(),
            targets: volumes.iter().map(|_| Vec::new()).collect(),
            before_m: volumes.iter().map(|v| v.displacement_m.clone()).collect(),
            attachments: Vec::new(),
            requested: 0,
            due: vec![false; volumes.len()],
            volumes,
        }
    }

    /// Returns the volumes.
    #[must_use]
    pub fn volumes(&self) -> &[VoxelNodes<R>] {
        &self.volumes
    }

    /// Returns one volume for edits.
    pub fn volume_mut(&mut self, volume: usize) -> Option<&mut VoxelNodes<R>> {
        self.volumes.get_mut(volume)
    }

    fn at_m(&self, end: AttachmentEnd) -> Vec3 {
        self.volumes[end.volume].position_m(end.node)
    }

    fn there(&self, end: AttachmentEnd) -> bool {
        let volume = self.volumes.get(end.volume);
        volume.is_some_and(|volume| volume.alive(end.node))
    }

    /// Attaches two nodes at their present offset; returns the number to detach them by.
    ///
    /// # Errors
    /// [`AttachmentError`] if one is removed or both are of one volume.
    pub fn attach(&mut self, ends: [AttachmentEnd; 2]) -> Result<usize, AttachmentError> {
        if let Some(&end) = ends.iter().find(|&&end| !self.there(end)) {
            return Err(AttachmentError::Gone(end));
        }
        if ends[0].volume == ends[1].volume {
            return Err(AttachmentError::Same(ends[0].volume));
        }
        let offset_m = self.at_m(ends[1]) - self.at_m(ends[0]);
        self.attachments.push(Some(Attachment { ends, offset_m }));
        Ok(self.attachments.len() - 1)
    }

    /// Removes an attachment; returns true if it existed.
    pub fn detach(&mut self, number: usize) -> bool {
        let place = self.attachments.get_mut(number);
        place.and_then(Option::take).is_some()
    }

    /// Returns the greatest error of an offset \[m\], over attachments with both ends alive.
    #[must_use]
    pub fn offset_error_max_m(&self) -> f64 {
        let tied = self.attachments.iter().flatten();
        let miss_m = tied.filter(|tie| tie.ends.iter().all(|&end| self.there(end)));
        let miss_m = miss_m
            .map(|tie| (self.at_m(tie.ends[1]) - self.at_m(tie.ends[0]) - tie.offset_m).amax());
        miss_m.fold(0.0, f64::max)
    }

    /// Moves targets of one volume; links and attachments move all nodes that must follow, in all volumes.
    ///
    /// # Errors
    /// [`AttachmentError`] if a held node would have to move; nothing has moved then.
    pub fn propagate(
        &mut self,
        volume: usize,
        targets: &[NodeTarget<R>],
    ) -> Result<(), AttachmentError> {
        if volume >= self.volumes.len() {
            return Err(AttachmentError::Gone(AttachmentEnd { volume, node: 0 }));
        }
        for (before_m, volume) in self.before_m.iter_mut().zip(&self.volumes) {
            for (before_m, moved_m) in before_m.iter_mut().zip(&volume.displacement_m) {
                before_m.clone_from(moved_m);
            }
        }
        self.targets.iter_mut().for_each(Vec::clear);
        self.targets[volume].extend_from_slice(targets);
        self.requested = targets.len();
        let done = self.propagate_all(volume);
        if done.is_err() {
            for (before_m, volume) in self.before_m.iter().zip(&mut self.volumes) {
                volume.displacement_m.clone_from(before_m);
            }
        }
        done
    }

    fn propagate_all(&mut self, first: usize) -> Result<(), AttachmentError> {
        self.due.fill(false);
        self.propagate_volume(first)?;
        for _ in 0..ROUNDS {
            if !self.due.contains(&true) {
                return Ok(());
            }
            for from in 0..self.volumes.len() {
                if std::mem::take(&mut self.due[from]) {
                    self.propagate_ties(from, first)?;
                }
            }
        }
        Err(AttachmentError::Loop(ROUNDS))
    }

    fn propagate_volume(&mut self, volume: usize) -> Result<(), AttachmentError> {
        let targets = &self.targets[volume];
        self.due[volume] = true;
        let moved = self.chainmail[volume].propagate(&mut self.volumes[volume], targets);
        moved
            .map(|_| ())
            .map_err(|why| AttachmentError::Infeasible { volume, why })
    }

    /// Moves the volumes that are attached to one that moved.
    fn propagate_ties(&mut self, from: usize, first: usize) -> Result<(), AttachmentError> {
        for to in 0..self.volumes.len() {
            let mut due = false;
            for nth in 0..self.attachments.len() {
                let Some(tie) = self.attachments[nth] else {
                    continue;
                };
                let ends = tie.ends.map(|end| end.volume);
                let (own, other, offset_m) = if ends == [from, to] {
                    (tie.ends[0], tie.ends[1], tie.offset_m)
                } else if ends == [to, from] {
                    (tie.ends[1], tie.ends[0], -tie.offset_m)
                } else {
                    continue;
                };
                if self.there(own) && self.there(other) {
                    due |= self.set_end_target(own, other, &offset_m, first)?;
                }
            }
            if due {
                self.propagate_volume(to)?;
            }
        }
        Ok(())
    }

    /// Makes an end a target if its offset is not kept; returns true if so.
    fn set_end_target(
        &mut self,
        own: AttachmentEnd,
        other: AttachmentEnd,
        offset_m: &Vec3,
        first: usize,
    ) -> Result<bool, AttachmentError> {
        let nodes = &self.volumes[other.volume];
        let to_m = self.at_m(own) + offset_m - nodes.rest_m(other.node);
        let to_m: [R; 3] = std::array::from_fn(|axis| R::of(to_m[axis]));
        let at_m = nodes.displacement_m(other.node);
        let near_m = 1e-12 * nodes.frame().spacing_m.into_iter().fold(f64::MAX, f64::min);
        let miss_m = |axis: usize| to_f64((to_m[axis] - at_m[axis]).abs());
        let slack_m =
            |axis: usize| near_m.max(to_f64(at_m[axis].abs() * R::default_epsilon()) * 4.0);
        if (0..3).all(|axis| miss_m(axis) <= slack_m(axis)) {
            return Ok(false);
        }
        if nodes.pinned(other.node) {
            return Err(AttachmentError::Held(other));
        }
        let fixed = if other.volume == first {
            self.requested
        } else {
            0
        };
        let targets = &mut self.targets[other.volume];
        match targets.iter().position(|c| c.node == other.node) {
            Some(nth) if nth < fixed => return Err(AttachmentError::Held(other)),
            Some(nth) => targets[nth].displacement_m = to_m,
            None => targets.push(NodeTarget {
                node: other.node,
                displacement_m: to_m,
            }),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::test_volumes::{LimitCheck as _, SourceLimits as _};
    use palpate_voxel::limits::BondLimits;
    use palpate_voxel::material::VoxelMaterial;
    use palpate_voxel::nodes::{LatticeFrame, NodeSeed};

    /// Returns a row of `count` nodes along x from a place.
    fn row(count: i32, from_m: [f64; 3]) -> VoxelNodes<f64> {
        let frame = LatticeFrame {
            origin_m: from_m.into(),
            spacing_m: [1.0, 0.7, 1.3],
        };
        let sites =
            (0..count).flat_map(|x| (0..3).flat_map(move |y| (0..3).map(move |z| [x, y, z])));
        let seed = |site| NodeSeed {
            site,
            material: 0,
            object: 0,
        };
        let material = VoxelMaterial {
            limits: BondLimits::MEDIUM,
            ..VoxelMaterial::of_young("m", 1e3, 0.0)
        };
        VoxelNodes::new(frame, vec![material], &sites.map(seed).collect::<Vec<_>>()).expect("fit")
    }

    fn end(attached: &AttachedVolumes<f64>, volume: usize, site: [i32; 3]) -> AttachmentEnd {
        let node = attached.volumes[volume].at_site(site).expect("there");
        AttachmentEnd { volume, node }
    }

    fn drag(
        attached: &mut AttachedVolumes<f64>,
        at: AttachmentEnd,
        by_m: [f64; 3],
    ) -> Result<(), AttachmentError> {
        let moved_m = attached.volumes[at.volume].displacement_m(at.node);
        let to_m = std::array::from_fn(|axis| moved_m[axis] + by_m[axis]);
        attached.propagate(
            at.volume,
            &[NodeTarget {
                node: at.node,
                displacement_m: to_m,
            }],
        )
    }

    fn number(rng: &mut u64) -> f64 {
        *rng = rng
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*rng >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Three volumes attached in a ring, two of them twice: offsets stay when any of them is moved.
    #[test]
    fn lv_07_attached_nodes_keep_their_offset() {
        let rows = [
            row(8, [0.0; 3]),
            row(7, [0.3, 5.0, 0.1]),
            row(9, [3.1, 9.0, -2.0]),
        ];
        let mut attached = AttachedVolumes::new(rows.to_vec());
        for (a, b) in [
            ((0, [1, 2, 1]), (1, [0, 0, 1])),
            ((0, [6, 2, 1]), (1, [6, 0, 1])),
            ((1, [3, 2, 0]), (2, [0, 0, 2])),
            ((2, [8, 1, 1]), (0, [7, 0, 0])),
        ] {
            let ends = [end(&attached, a.0, a.1), end(&attached, b.0, b.1)];
            attached.attach(ends).expect("can");
        }
        let (mut rng, mut done) = (7, 0);
        for nth in 0..600 {
            let volume = nth % 3;
            let node = (nth * 37) as u32 % attached.volumes[volume].slots();
            let by_m = std::array::from_fn(|_| number(&mut rng));
            let before = attached.clone();
            match drag(&mut attached, AttachmentEnd { volume, node }, by_m) {
                Ok(()) => done += 1,
                Err(_) => assert!(attached.volumes == before.volumes, "moved though refused"),
            }
            assert!(
                attached.offset_error_max_m() <= 1e-9,
                "{nth}: {}",
                attached.offset_error_max_m()
            );
            for volume in &attached.volumes {
                assert!(volume.limit_excess_m() <= 1e-9, "{nth}");
            }
        }
        assert!(done > 500, "{done}");
        for (volume, row) in attached.volumes.iter().zip(&rows) {
            assert!(volume.displacement_m != row.displacement_m);
        }
    }

    #[test]
    fn lv_07_detached_nodes_are_free_and_held_ends_refuse() {
        let mut attached = AttachedVolumes::new(vec![row(6, [0.0; 3]), row(6, [0.0, 4.0, 0.0])]);
        let ends = [end(&attached, 0, [2, 2, 1]), end(&attached, 1, [2, 0, 1])];
        let tie = attached.attach(ends).expect("can");
        drag(&mut attached, ends[0], [3.0, -1.0, 0.5]).expect("free");
        assert!((attached.at_m(ends[1]) - Vec3::new(5.0, 3.0, 1.8)).norm() < 1e-9);
        // in reverse
        drag(&mut attached, ends[1], [-3.0, 1.0, -0.5]).expect("free");
        assert!((attached.at_m(ends[0]) - Vec3::new(2.0, 1.4, 1.3)).norm() < 1e-9);
        attached
            .volume_mut(1)
            .expect("there")
            .set_pinned(ends[1].node, true);
        let before = attached.volumes.clone();
        assert_eq!(
            drag(&mut attached, ends[0], [0.1, 0.0, 0.0]),
            Err(AttachmentError::Held(ends[1]))
        );
        assert!(attached.volumes == before);
        assert!(attached.detach(tie) && !attached.detach(tie));
        drag(&mut attached, ends[0], [0.1, 0.0, 0.0]).expect("free");
        assert!(attached.volumes[1] == before[1] && attached.volumes[0] != before[0]);
        let same = AttachmentEnd { volume: 0, node: 0 };
        assert_eq!(
            attached.attach([ends[0], same]),
            Err(AttachmentError::Same(0))
        );
        let gone = AttachmentEnd {
            volume: 0,
            node: 999,
        };
        assert_eq!(
            attached.attach([gone, ends[1]]),
            Err(AttachmentError::Gone(gone))
        );
    }
}
