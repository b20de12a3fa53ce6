//! What was done to a volume since it was whole: strokes of changes in their order, numbered from 1.
//!
//! Source: ours. Two volumes that were whole alike and have the same history are linked alike, so this is what
//! either end of a network must know to tell the other. It is of fixed size: pushing never allocates, and what
//! finds no room is not kept in part.

use crate::edits::{Change, Part};

/// Strokes of changes.
#[derive(Debug, Clone)]
pub struct History {
    changes: Vec<Change>,
    /// Where each stroke ends in the changes.
    ends: Vec<u32>,
    /// What each stroke is to those before.
    parts: Vec<Part>,
    /// Most changes, and most strokes.
    most: usize,
}

/// Changes by element that the history of a tissue has room for: every link is cut and joined
/// again, with room for half as much.
const CHANGES_AN_ELEMENT: usize = 16;

/// Least number of changes that it has room for.
const CHANGES_MIN: usize = 512;

impl History {
    /// An empty one for a tissue of so many elements. Allocates.
    #[must_use]
    pub fn of(elements: usize) -> Self {
        Self::new(CHANGES_MIN.max(CHANGES_AN_ELEMENT * elements))
    }

    /// An empty one with room for so many changes, and as many strokes. Allocates.
    #[must_use]
    pub fn new(changes: usize) -> Self {
        let most = changes.min(u32::MAX as usize);
        Self {
            changes: Vec::with_capacity(most),
            ends: Vec::with_capacity(most),
            parts: Vec::with_capacity(most),
            most,
        }
    }

    /// Strokes that there are.
    #[must_use]
    pub fn strokes(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Changes that there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most - self.changes.len().max(self.ends.len())
    }

    /// Changes of a stroke, by its number from 1, and what they are to those before; a stroke may have none.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<(Part, &[Change])> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = *self.ends.get(index)? as usize;
        let begin = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        let part = *self.parts.get(index)?;
        self.changes.get(begin..end).map(|changes| (part, changes))
    }

    /// Adds a stroke; whether there was room for all of it.
    pub fn push(&mut self, part: Part, changes: &[Change]) -> bool {
        let fits = self.ends.len() < self.most && changes.len() <= self.most - self.changes.len();
        if fits {
            self.changes.extend_from_slice(changes);
            // there are no more than fit into 32 bits
            self.ends.push(self.changes.len() as u32);
            self.parts.push(part);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_come_back_by_number_and_what_does_not_fit_is_not_kept() {
        let take = |element| Change::Take { element };
        let mut history = History::new(4);
        let (begins, goes_on) = (Part::Begins, Part::GoesOn);
        assert!(history.push(begins, &[take(1), take(2)]) && history.push(goes_on, &[]));
        assert!(!history.push(begins, &[take(3); 3]), "two are left");
        assert!(history.push(Part::Undone, &[take(4)]));
        assert_eq!((history.strokes(), history.room()), (3, 1));
        let strokes = [0, 1, 2, 3, 4].map(|number| {
            let stroke = history.stroke(number);
            stroke.map(|(part, changes)| (part, changes.to_vec()))
        });
        let kept = [
            (begins, vec![take(1), take(2)]),
            (goes_on, vec![]),
            (Part::Undone, vec![take(4)]),
        ];
        assert_eq!(strokes[1..4], kept.map(Some));
        assert_eq!((&strokes[0], &strokes[4]), (&None, &None));
        // an empty stroke takes a place as well
        assert!(history.push(begins, &[]) && !history.push(begins, &[]));
        assert_eq!(history.room(), 0);
    }
}
