//! The six directions in which an element may be linked.
//!
//! Source: seed-001 section 3.1. Right, top and front are towards growing x, y and z (its Eq. 2).

/// Where a neighbour is, on the lattice at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// Towards +x.
    Right,
    /// Towards -x.
    Left,
    /// Towards +y.
    Top,
    /// Towards -y.
    Bottom,
    /// Towards +z.
    Front,
    /// Towards -z.
    Back,
}

impl Direction {
    /// All six, in the order of their bits and columns.
    pub const ALL: [Self; 6] = [
        Self::Right,
        Self::Left,
        Self::Top,
        Self::Bottom,
        Self::Front,
        Self::Back,
    ];

    /// Those of growing coordinates: every link once, from its lower end.
    pub const UP: [Self; 3] = [Self::Right, Self::Top, Self::Front];

    /// The column of arrays by direction, 0 to 5.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The way back.
    #[must_use]
    #[inline]
    pub const fn opposite(self) -> Self {
        Self::ALL[self as usize ^ 1]
    }

    /// 0, 1 or 2: x, y or z.
    #[must_use]
    #[inline]
    pub const fn axis(self) -> usize {
        self as usize / 2
    }

    /// Whether it points to growing coordinates.
    #[must_use]
    #[inline]
    pub const fn is_up(self) -> bool {
        self as usize & 1 == 0
    }

    /// From a site of the lattice to the next one.
    #[must_use]
    #[inline]
    pub fn from(self, site: [i32; 3]) -> [i32; 3] {
        let mut next = site;
        next[self.axis()] += if self.is_up() { 1 } else { -1 };
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_where_it_was() {
        for direction in Direction::ALL {
            let back = direction.opposite();
            assert_eq!(back.opposite(), direction);
            assert_eq!(back.axis(), direction.axis());
            assert_ne!(back.is_up(), direction.is_up());
            assert_eq!(back.from(direction.from([3, -1, 7])), [3, -1, 7]);
            assert_eq!(Direction::ALL[direction.index()], direction);
        }
    }
}
