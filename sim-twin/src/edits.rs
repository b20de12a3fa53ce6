//! Topology changes of a voxel model as data: the smallest steps, each with an inverse.
//!
//! Source: seed-001 section 3.5 "undo log" and 5.3; the rest ours. All that a tool does to links consists of seven
//! [`TopologyChange`]s, each with an inverse. [`EditPhase`] relates a batch of them to earlier batches, [`EditBatchLog`]
//! stores all batches in order. Changes name nodes by number and neighbours by [`NeighbourDirection`].

mod batch_log;
mod direction;

use crate::checksum::split_mix;

pub use batch_log::{BATCH_CHANGES_MAX, EditBatchLog};
pub use direction::NeighbourDirection;

/// Number of links that changes have cut, and joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounts {
    /// Links cut by an instrument or torn, joined again or not.
    pub cut: u64,
    /// Links joined, by glue or by undoing a cut.
    pub joined: u64,
}

impl LinkCounts {
    /// Number of links that are cut now, less those that were joined besides.
    #[must_use]
    pub const fn open(self) -> i64 {
        self.cut as i64 - self.joined as i64
    }
}

impl std::iter::Sum for LinkCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            cut: sum.cut + one.cut,
            joined: sum.joined + one.joined,
        })
    }
}

/// Smallest change of the topology of a voxel model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopologyChange {
    /// A link was cut.
    Cut {
        /// One end.
        node: u32,
        /// Direction from the first end to the other.
        direction: NeighbourDirection,
        /// The other end.
        neighbour: u32,
    },
    /// A link was joined.
    Join {
        /// One end.
        node: u32,
        /// Direction from the first end to the other.
        direction: NeighbourDirection,
        /// The other end.
        neighbour: u32,
    },
    /// A node without links, that is not pinned, was removed.
    Remove {
        /// Number of the node.
        node: u32,
    },
    /// A removed node was restored, without links.
    Restore {
        /// Number of the node.
        node: u32,
    },
    /// A node was pinned at its position.
    Pin {
        /// Number of the node.
        node: u32,
    },
    /// A node was unpinned.
    Unpin {
        /// Number of the node.
        node: u32,
    },
    /// The connected piece of a node has its rest sites moved by `offset`.
    Translate {
        /// A node of the piece.
        node: u32,
        /// Sites moved along each axis.
        offset: [i16; 3],
    },
}

/// Topology change as plain numbers, for snapshots and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRecord {
    /// Number of the node, or of one end of a link.
    pub node: u32,
    /// Number of the other end of a link; else 0.
    pub neighbour: u32,
    /// Sites by which a piece is moved along each axis; else 0.
    pub offset: [i16; 3],
    /// Index of the kind among those of [`TopologyChange`], 0 to 6.
    pub kind: u8,
    /// Index in [`NeighbourDirection::ALL`] of the direction to the other end; else 0.
    pub direction: u8,
}

/// Relation of a batch of changes to earlier batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditPhase {
    /// Begins an edit; all batches of an edit are undone together.
    #[default]
    Begin,
    /// Continues the previous edit.
    Continue,
    /// Undoes the last edit, or a part of it.
    Undo,
    /// Redoes the edit that was undone last, or a part of it.
    Redo,
}

impl EditPhase {
    /// All phases.
    pub const ALL: [Self; 4] = [Self::Begin, Self::Continue, Self::Undo, Self::Redo];
}

impl TopologyChange {
    /// Inverse change.
    #[must_use]
    #[inline]
    pub fn inverse(self) -> Self {
        let [node, neighbour] = self.nodes();
        match self {
            Self::Cut { direction, .. } => Self::Join {
                node,
                direction,
                neighbour,
            },
            Self::Join { direction, .. } => Self::Cut {
                node,
                direction,
                neighbour,
            },
            Self::Remove { .. } => Self::Restore { node },
            Self::Restore { .. } => Self::Remove { node },
            Self::Pin { .. } => Self::Unpin { node },
            Self::Unpin { .. } => Self::Pin { node },
            Self::Translate { offset, .. } => Self::Translate {
                node,
                // no piece is moved as far as the least number
                offset: offset.map(i16::saturating_neg),
            },
        }
    }

    /// The two nodes of a link; for a change of one node, that node twice.
    #[must_use]
    #[inline]
    pub const fn nodes(self) -> [u32; 2] {
        match self {
            Self::Cut {
                node, neighbour, ..
            }
            | Self::Join {
                node, neighbour, ..
            } => [node, neighbour],
            Self::Remove { node }
            | Self::Restore { node }
            | Self::Pin { node }
            | Self::Unpin { node }
            | Self::Translate { node, .. } => [node, node],
        }
    }

    /// Term that the change adds to the topology hash, wrapping; its inverse subtracts the same term.
    #[must_use]
    #[inline]
    pub fn hash_term(self) -> u64 {
        let [first, other] = self.nodes();
        match self {
            Self::Join { direction, .. } => link_hash_term(first, direction, other),
            Self::Restore { node } => mix_bits(1, node, 0),
            Self::Pin { node } => mix_bits(2, node, 0),
            Self::Translate { .. } => 0,
            Self::Cut { .. } | Self::Remove { .. } | Self::Unpin { .. } => {
                self.inverse().hash_term().wrapping_neg()
            }
        }
    }

    /// Number of links that it cuts, and that it joins.
    #[must_use]
    pub const fn links(self) -> LinkCounts {
        LinkCounts {
            cut: matches!(self, Self::Cut { .. }) as u64,
            joined: matches!(self, Self::Join { .. }) as u64,
        }
    }

    /// Converts the change to plain numbers.
    #[must_use]
    pub fn record(self) -> ChangeRecord {
        let [node, other] = self.nodes();
        let (kind, direction, neighbour, offset) = match self {
            Self::Cut { direction, .. } => (0, direction.index(), other, [0; 3]),
            Self::Join { direction, .. } => (1, direction.index(), other, [0; 3]),
            Self::Remove { .. } => (2, 0, 0, [0; 3]),
            Self::Restore { .. } => (3, 0, 0, [0; 3]),
            Self::Pin { .. } => (4, 0, 0, [0; 3]),
            Self::Unpin { .. } => (5, 0, 0, [0; 3]),
            Self::Translate { offset, .. } => (6, 0, 0, offset),
        };
        ChangeRecord {
            node,
            neighbour,
            offset,
            kind,
            // below six
            direction: direction as u8,
        }
    }

    /// Change from plain numbers; none if the kind or the direction does not exist.
    #[must_use]
    pub fn from_record(record: ChangeRecord) -> Option<Self> {
        let (node, neighbour) = (record.node, record.neighbour);
        let direction = *NeighbourDirection::ALL.get(usize::from(record.direction))?;
        Some(match record.kind {
            0 => Self::Cut {
                node,
                direction,
                neighbour,
            },
            1 => Self::Join {
                node,
                direction,
                neighbour,
            },
            2 => Self::Remove { node },
            3 => Self::Restore { node },
            4 => Self::Pin { node },
            5 => Self::Unpin { node },
            6 => Self::Translate {
                node,
                offset: record.offset,
            },
            _ => return None,
        })
    }

    /// Packs the change and the number of its batch into two integers of a snapshot.
    #[must_use]
    pub fn pack(self, batch: u32) -> [u64; 2] {
        let record = self.record();
        let [x, y, z] = record.offset.map(|steps| u64::from(steps as u16));
        let low = x << 16 | u64::from(record.kind) << 8 | u64::from(record.direction);
        // a link and a translation have no field in common here
        let ends = u64::from(record.neighbour) | y << 16 | z;
        [
            u64::from(batch) << 32 | low,
            u64::from(record.node) << 32 | ends,
        ]
    }

    /// Batch number and change from two integers of [`TopologyChange::pack`].
    #[must_use]
    pub fn unpack(packed: [u64; 2]) -> (u32, Self) {
        let [first, second] = packed;
        // as packed above
        let (batch, node, neighbour) = ((first >> 32) as u32, (second >> 32) as u32, second as u32);
        let [direction, kind, x0, x1, ..] = first.to_le_bytes();
        let change = Self::from_record(ChangeRecord {
            node,
            neighbour,
            offset: [
                i16::from_le_bytes([x0, x1]),
                (neighbour >> 16) as i16,
                neighbour as i16,
            ],
            kind,
            direction,
        });
        // a snapshot that was not packed so has an unknown kind
        (batch, change.unwrap_or(Self::Remove { node }))
    }
}

/// Term of a link in the topology hash, the same from both ends.
#[must_use]
#[inline]
pub fn link_hash_term(node: u32, direction: NeighbourDirection, neighbour: u32) -> u64 {
    let (low, high) = if direction.is_positive() {
        (node, neighbour)
    } else {
        (neighbour, node)
    };
    // up to 2: fits
    mix_bits(3 + direction.axis() as u64, low, high)
}

/// Pseudo-random hash of the arguments.
#[inline]
fn mix_bits(kind: u64, a: u32, b: u32) -> u64 {
    let number = u64::from(a) << 32 | u64::from(b);
    split_mix(split_mix(number ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_each_kind_of_change() {
        for kind in 0..=6 {
            let record = ChangeRecord {
                node: 3,
                neighbour: 8,
                offset: [1, -2, 0],
                kind,
                direction: 4,
            };
            let change = TopologyChange::from_record(record).expect("a kind");
            let inverse = change.inverse();
            assert_ne!(inverse, change);
            assert_eq!(inverse.inverse(), change);
            assert_eq!(inverse.nodes(), change.nodes());
            let sum = change.hash_term().wrapping_add(inverse.hash_term());
            assert_eq!(sum, 0, "{change:?}");
            assert_eq!(change.hash_term() == 0, kind == 6, "{change:?}");
        }
    }
}
