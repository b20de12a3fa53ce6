//! Edits as data: what was done to a linked volume, in the least steps that can be taken back.
//!
//! Source: seed-001 section 3.5 "undo log" and 5.3; the rest ours. Whatever a tool does to links is made of seven
//! [`Change`]s, each with an inverse; [`Part`] is what a few of them are to those before, [`History`] all of them in
//! their order. They name elements by number and neighbours by [`Direction`], and know no model.

mod direction;
mod history;

pub use direction::Direction;
pub use history::History;

/// The least that can be done to links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A link was cut.
    Cut {
        /// One end.
        element: u32,
        /// Where the other is.
        to: Direction,
        /// The other end.
        other: u32,
    },
    /// A link was made.
    Join {
        /// One end.
        element: u32,
        /// Where the other is.
        to: Direction,
        /// The other end.
        other: u32,
    },
    /// An element without links, that nobody holds, was taken out.
    Take {
        /// Which.
        element: u32,
    },
    /// An element was put back, without links.
    Put {
        /// Which.
        element: u32,
    },
    /// An element is held where it is.
    Hold {
        /// Which.
        element: u32,
    },
    /// It is not held any more.
    Free {
        /// Which.
        element: u32,
    },
    /// All that is linked to an element rests `by` sites further on.
    Carry {
        /// One of the piece.
        element: u32,
        /// Sites by axis.
        by: [i16; 3],
    },
}

/// What changes that are told of are to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// They begin an edit, which is taken back as one.
    #[default]
    Begins,
    /// They belong to the edit before.
    GoesOn,
    /// They take back what was made last, or some of it.
    Undone,
    /// They make again what was taken back last, or some of it.
    Redone,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Begins, Self::GoesOn, Self::Undone, Self::Redone];
}

impl Change {
    /// What takes it back.
    #[must_use]
    #[inline]
    pub fn inverse(self) -> Self {
        match self {
            Self::Cut { element, to, other } => Self::Join { element, to, other },
            Self::Join { element, to, other } => Self::Cut { element, to, other },
            Self::Take { element } => Self::Put { element },
            Self::Put { element } => Self::Take { element },
            Self::Hold { element } => Self::Free { element },
            Self::Free { element } => Self::Hold { element },
            Self::Carry { element, by } => Self::Carry {
                element,
                // no volume carries as far as the least number
                by: by.map(i16::saturating_neg),
            },
        }
    }

    /// The two elements that it is about; twice the same if it is about one.
    #[must_use]
    #[inline]
    pub const fn ends(self) -> [u32; 2] {
        match self {
            Self::Cut { element, other, .. } | Self::Join { element, other, .. } => {
                [element, other]
            }
            Self::Take { element }
            | Self::Put { element }
            | Self::Hold { element }
            | Self::Free { element }
            | Self::Carry { element, .. } => [element, element],
        }
    }

    /// Part that it adds to the number of a volume's links, wrapping; its inverse takes the same away.
    #[must_use]
    #[inline]
    pub fn weight(self) -> u64 {
        match self {
            Self::Join { element, to, other } => link_weight(element, to, other),
            Self::Put { element } => mixed(1, element, 0),
            Self::Hold { element } => mixed(2, element, 0),
            Self::Carry { .. } => 0,
            Self::Cut { .. } | Self::Take { .. } | Self::Free { .. } => {
                self.inverse().weight().wrapping_neg()
            }
        }
    }
    /// Two integers of a snapshot that hold it and the number of its stroke.
    #[must_use]
    pub fn packed(self, stroke: u32) -> [u64; 2] {
        let (kind, to, other, along) = match self {
            Self::Cut { to, other, .. } => (0, to.index(), other, 0),
            Self::Join { to, other, .. } => (1, to.index(), other, 0),
            Self::Take { .. } => (2, 0, 0, 0),
            Self::Put { .. } => (3, 0, 0, 0),
            Self::Hold { .. } => (4, 0, 0, 0),
            Self::Free { .. } => (5, 0, 0, 0),
            Self::Carry { by: [x, y, z], .. } => {
                let [x, y, z] = [x, y, z].map(|steps| u32::from(steps as u16));
                (6, 0, y << 16 | z, x)
            }
        };
        let [element, _] = self.ends();
        let low = u64::from(along) << 16 | kind << 8 | to as u64;
        let pair = |high: u32, low: u64| u64::from(high) << 32 | low;
        [pair(stroke, low), pair(element, other.into())]
    }

    /// Number of the stroke and change that [`Change::packed`] made two integers of.
    #[must_use]
    pub fn unpacked([first, second]: [u64; 2]) -> (u32, Self) {
        // every number is where it was put
        let (stroke, element, other) = ((first >> 32) as u32, (second >> 32) as u32, second as u32);
        let [to, kind, x0, x1, ..] = first.to_le_bytes();
        let to = Direction::ALL[usize::from(to) % 6];
        let by = [
            i16::from_le_bytes([x0, x1]),
            (other >> 16) as i16,
            other as i16,
        ];
        let change = match kind {
            0 => Self::Cut { element, to, other },
            1 => Self::Join { element, to, other },
            2 => Self::Take { element },
            3 => Self::Put { element },
            4 => Self::Hold { element },
            5 => Self::Free { element },
            _ => Self::Carry { element, by },
        };
        (stroke, change)
    }
}

/// Part of a link in the number of a volume's links, the same from both ends.
#[must_use]
#[inline]
pub fn link_weight(element: u32, to: Direction, other: u32) -> u64 {
    let (low, high) = if to.is_up() {
        (element, other)
    } else {
        (other, element)
    };
    // up to 2: fits
    mixed(3 + to.axis() as u64, low, high)
}

/// A number that looks random and is not: splitmix64 (Steele, Lea and Flood 2014) of what goes in.
#[inline]
fn mixed(kind: u64, a: u32, b: u32) -> u64 {
    let mut z = (u64::from(a) << 32 | u64::from(b)) ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}
