//! What every way to store a linked volume can do: follow links, cut, join and carve.
//!
//! Source: seed-001 section 3.1 (rows LV-01 to LV-03). [`Elements`] is the layout that sessions use, [`super::compact`]
//! and [`super::listed`] are the two that the source prints.

use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// Stands for no element in tables of neighbours.
pub const NONE: u32 = u32::MAX;

/// Why two elements were not joined; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// One of them is not there.
    #[error("element {0} is not there")]
    Gone(u32),
    /// An element has a neighbour there already.
    #[error("element {element} is linked to {neighbour} there already")]
    Taken {
        /// The element.
        element: u32,
        /// Its neighbour.
        neighbour: u32,
    },
    /// An element and itself.
    #[error("element {0} cannot be linked to itself")]
    Itself(u32),
    /// The way of storing knows only neighbours on its grid.
    #[error("elements {0} and {1} are not neighbours on the grid")]
    Apart(u32, u32),
}

/// Why an element was not put elsewhere; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It is not there.
    #[error("element {0} is not there")]
    Gone(u32),
    /// The way of storing keeps no places, only what is on the grid (row LV-02).
    #[error("element {0} has no place of its own: this volume can be cut and carved, not deformed")]
    Fixed(u32),
}

/// A volume of elements, each with up to six links.
///
/// A slot is an element's number for life, and none of an element that is gone. Links are symmetric
/// always: who is linked to the right has a neighbour that is linked to the left.
pub trait Links {
    /// One more than the highest slot that was ever used.
    fn slots(&self) -> u32;

    /// Whether an element is there.
    fn alive(&self, element: u32) -> bool;

    /// Its neighbour in a direction; none of an element that is not there.
    fn neighbour(&self, element: u32, to: Direction) -> Option<u32>;

    /// Cuts a link on both sides; whether there was one.
    fn cut(&mut self, element: u32, to: Direction) -> bool;

    /// Links two elements; the caller knows that they are near enough.
    ///
    /// # Errors
    /// [`JoinError`] if one is gone, has a neighbour there, or if the storage cannot hold this link.
    fn join(&mut self, element: u32, to: Direction, other: u32) -> Result<(), JoinError>;

    /// Takes an element out, with its links; whether it was there.
    fn carve(&mut self, element: u32) -> bool;

    /// Puts an element back where it was, without links; whether it was gone.
    fn revive(&mut self, element: u32) -> bool;

    /// Whether it is there and held where it is (row TP-09).
    fn pinned(&self, element: u32) -> bool;

    /// Holds it where it is, or lets it go; whether that changed anything.
    fn pin(&mut self, element: u32, held: bool) -> bool;

    /// Puts an element at a displacement from its place at rest \[m\]; no link is asked.
    ///
    /// # Errors
    /// [`PlaceError`] if it is gone, or if the storage keeps no places.
    fn place(&mut self, element: u32, moved_m: [f64; 3]) -> Result<(), PlaceError>;

    /// Number of elements that are there.
    fn count(&self) -> usize {
        (0..self.slots()).filter(|&e| self.alive(e)).count()
    }

    /// Number of links.
    fn link_count(&self) -> usize {
        let linked = |e| move |&to: &Direction| self.neighbour(e, to).is_some();
        (0..self.slots())
            .map(|e| Direction::UP.iter().filter(|to| linked(e)(to)).count())
            .sum()
    }

    /// An element and a direction whose link is not answered, if there is one: a bug (row LV-01).
    fn one_sided(&self) -> Option<(u32, Direction)> {
        let all = (0..self.slots()).flat_map(|e| Direction::ALL.map(|to| (e, to)));
        all.into_iter().find(|&(e, to)| {
            self.neighbour(e, to)
                .is_some_and(|n| !self.alive(n) || self.neighbour(n, to.opposite()) != Some(e))
        })
    }
}

/// Whether two elements may be joined, as every storage asks first.
pub(crate) fn joinable(
    links: &(impl Links + ?Sized),
    element: u32,
    to: Direction,
    other: u32,
) -> Result<(), JoinError> {
    if element == other {
        return Err(JoinError::Itself(element));
    }
    for (end, to) in [(element, to), (other, to.opposite())] {
        if !links.alive(end) {
            return Err(JoinError::Gone(end));
        }
        if let Some(neighbour) = links.neighbour(end, to) {
            return Err(JoinError::Taken {
                element: end,
                neighbour,
            });
        }
    }
    Ok(())
}

impl<R: Real> Links for Elements<R> {
    fn slots(&self) -> u32 {
        Self::slots(self)
    }

    fn alive(&self, element: u32) -> bool {
        Self::alive(self, element)
    }

    fn neighbour(&self, element: u32, to: Direction) -> Option<u32> {
        Self::neighbour(self, element, to)
    }

    fn cut(&mut self, element: u32, to: Direction) -> bool {
        Self::cut(self, element, to)
    }

    fn join(&mut self, element: u32, to: Direction, other: u32) -> Result<(), JoinError> {
        joinable(self, element, to, other)?;
        let joined = Self::join(self, element, to, other);
        joined.then_some(()).ok_or(JoinError::Apart(element, other))
    }

    fn carve(&mut self, element: u32) -> bool {
        Self::carve(self, element)
    }

    fn revive(&mut self, element: u32) -> bool {
        Self::revive(self, element)
    }

    fn pinned(&self, element: u32) -> bool {
        Self::alive(self, element) && Self::pinned(self, element)
    }

    fn pin(&mut self, element: u32, held: bool) -> bool {
        Self::hold(self, element, held)
    }

    fn place(&mut self, element: u32, moved_m: [f64; 3]) -> Result<(), PlaceError> {
        if !Self::alive(self, element) {
            return Err(PlaceError::Gone(element));
        }
        for (own, to) in self.moved_m.iter_mut().zip(moved_m) {
            own[element as usize] = R::of(to);
        }
        Ok(())
    }
}
