//! The six directions from a node to its neighbours.
//!
//! Source: seed-001 section 3.1. Right, top and front are towards growing x, y and z (its Eq. 2).

/// Direction to a neighbour on the lattice at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NeighbourDirection {
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

impl NeighbourDirection {
    /// All six, in the order of their bits and columns.
    pub const ALL: [Self; 6] = [
        Self::Right,
        Self::Left,
        Self::Top,
        Self::Bottom,
        Self::Front,
        Self::Back,
    ];

    /// Directions of growing coordinates: each link once, from its lower end.
    pub const POSITIVE: [Self; 3] = [Self::Right, Self::Top, Self::Front];

    /// Column of arrays by direction, 0 to 5.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Opposite direction.
    #[must_use]
    #[inline]
    pub const fn opposite(self) -> Self {
        Self::ALL[self as usize ^ 1]
    }

    /// Axis: 0, 1 or 2 for x, y or z.
    #[must_use]
    #[inline]
    pub const fn axis(self) -> usize {
        self as usize / 2
    }

    /// True if it points to growing coordinates.
    #[must_use]
    #[inline]
    pub const fn is_positive(self) -> bool {
        self as usize & 1 == 0
    }

    /// Returns the next site of the lattice in this direction.
    #[must_use]
    #[inline]
    pub fn neighbour_site(self, site: [i32; 3]) -> [i32; 3] {
        let mut next = site;
        next[self.axis()] += if self.is_positive() { 1 } else { -1 };
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_direction_returns_to_the_site() {
        for direction in NeighbourDirection::ALL {
            let back = direction.opposite();
            assert_eq!(back.opposite(), direction);
            assert_eq!(back.axis(), direction.axis());
            assert_ne!(back.is_positive(), direction.is_positive());
            assert_eq!(
                back.neighbour_site(direction.neighbour_site([3, -1, 7])),
                [3, -1, 7]
            );
            assert_eq!(NeighbourDirection::ALL[direction.index()], direction);
        }
    }
}
