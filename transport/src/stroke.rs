//! What instruments did to one tissue, on its way to be done to another: numbered, sent until it is done,
//! released in order.
//!
//! A stroke is some changes of the tissue's links, as the master's twin was changed by the operator's
//! instrument; the remote tissue does the same, element by element, so both end alike whatever the network
//! does. Strokes are numbered from 1 since the tissue was whole, over all runs of the master. Each frame says how many
//! its sender's tissue has done ([`crate::HapticFrame::strokes`]): that is the acknowledgement, repeated every tick
//! and never lost for long. [`StrokeSender`] says which to send, again and again until then, and from the first on
//! again to a tissue that began anew; [`StrokeReceiver`] keeps what came out of order. It is the same both ways:
//! the master sends what it makes, and the slave what its tissue has done for a run of the master that knows nothing
//! of it. The end is not believed but seen: frames carry the topology of either tissue. Both are of fixed size, read
//! no clock and know nothing of what a change means. Source: ours; a selective repeat of Tanenbaum's kind.

use serde::{Deserialize, Serialize};

use crate::{Span, Time};

/// Most changes of one stroke; a tick that changes more makes several strokes.
pub const STROKE_CHANGES: usize = 32;

/// Strokes that may be on their way at once.
pub const WINDOW: usize = 256;

/// Kinds of change that there are.
pub const KINDS: u8 = 7;

/// Ways from an element to a neighbour that there are.
pub const WAYS: u8 = 6;

/// What a stroke may be to those before.
pub const PARTS: u8 = 4;

/// One change of a tissue of elements and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StrokeChange {
    /// Which element.
    pub element: u32,
    /// The other end of a link that was cut or made.
    pub other: u32,
    /// How far a piece was carried, in sites of the lattice.
    pub by: [i16; 3],
    /// 0 link cut, 1 link made, 2 element taken out, 3 put back, 4 held where it is, 5 let go, 6 its piece
    /// carried.
    pub kind: u8,
    /// Where the other end is: 0 to 5 for +x, -x, +y, -y, +z, -z.
    pub toward: u8,
}

/// Changes that are done as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stroke {
    /// Run of the side that sends it.
    pub run: u64,
    /// Its number since the tissue was whole, from 1; 0 is no stroke.
    pub number: u64,
    /// How many of the changes there are.
    pub count: u32,
    /// What they are to those before: 0 an edit begins, 1 it goes on, 2 what was made last is taken back, 3 what was
    /// taken back last is made again.
    pub part: u8,
    /// The changes, in the order in which they were made.
    pub changes: [StrokeChange; STROKE_CHANGES],
}

impl Stroke {
    /// A stroke of the first [`STROKE_CHANGES`] of these changes.
    #[must_use]
    pub fn of(run: u64, number: u64, changes: impl IntoIterator<Item = StrokeChange>) -> Self {
        let mut stroke = Self {
            run,
            number,
            ..Self::default()
        };
        for (slot, change) in stroke.changes.iter_mut().zip(changes) {
            *slot = change;
            stroke.count += 1;
        }
        stroke
    }

    /// A field that no stroke has: its name, what was found, and what would be right.
    #[must_use]
    pub fn wrong(&self) -> Option<(&'static str, u64, &'static str)> {
        if self.number == 0 {
            return Some(("number", 0, "1 or more"));
        }
        if self.count as usize > STROKE_CHANGES {
            return Some(("count", u64::from(self.count), "0 to 32"));
        }
        if self.part >= PARTS {
            return Some(("part", u64::from(self.part), "0 to 3"));
        }
        let wrong = |change: &StrokeChange| {
            let rows = [
                ("kind", change.kind, KINDS, "0 to 6"),
                ("toward", change.toward, WAYS, "0 to 5"),
            ];
            let row = rows.into_iter().find(|(_, found, end, _)| found >= end);
            row.map(|(field, found, _, expected)| (field, u64::from(found), expected))
        };
        self.changes().iter().find_map(wrong)
    }

    /// The changes that there are.
    #[must_use]
    pub fn changes(&self) -> &[StrokeChange] {
        let count = (self.count as usize).min(STROKE_CHANGES);
        &self.changes[..count]
    }
}

/// Place of a stroke in a window.
fn slot(number: u64) -> usize {
    // less than WINDOW
    (number % WINDOW as u64) as usize
}

/// Says which stroke is to be sent next, until all are done.
#[derive(Debug, Clone)]
pub struct StrokeSender {
    done: u64,
    sent: [Option<Time>; WINDOW],
}

impl Default for StrokeSender {
    fn default() -> Self {
        Self {
            done: 0,
            sent: [None; WINDOW],
        }
    }
}

impl StrokeSender {
    /// What the other side says to have done; fewer than before say that its tissue began anew, and is to be
    /// told all again.
    pub fn acknowledge(&mut self, done: u64) {
        if done < self.done || done - self.done > WINDOW as u64 {
            self.sent = [None; WINDOW];
        } else {
            for number in self.done..done {
                self.sent[slot(number + 1)] = None;
            }
        }
        self.done = done;
    }

    /// Number of a stroke that is to be sent now, out of `made` that there are: one that was not sent yet, or
    /// not done `again_after` it was.
    pub fn due(&mut self, made: u64, now: Time, again_after: Span) -> Option<u64> {
        let last = made.min(self.done.saturating_add(WINDOW as u64));
        let number = (self.done..last).map(|before| before + 1).find(|&number| {
            self.sent[slot(number)].is_none_or(|at| (now - at).0 >= again_after.0)
        })?;
        self.sent[slot(number)] = Some(now);
        Some(number)
    }

    /// Strokes that the other side has done.
    #[must_use]
    pub const fn done(&self) -> u64 {
        self.done
    }
}

/// What became of a stroke that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// Kept until it is its turn.
    Kept,
    /// Known or done already.
    Repeated,
    /// Of another run than the one that counts, or none: nothing to be done with it.
    Foreign,
    /// So far ahead that it has no place; it will come again.
    Ahead,
}

/// Releases strokes in their order, each once.
#[derive(Debug, Clone)]
pub struct StrokeReceiver {
    run: u64,
    done: u64,
    waiting: Box<[Stroke; WINDOW]>,
}

impl Default for StrokeReceiver {
    fn default() -> Self {
        Self {
            run: 0,
            done: 0,
            waiting: Box::new([Stroke::default(); WINDOW]),
        }
    }
}

impl StrokeReceiver {
    /// Which run of the other side counts, and how many strokes this side's tissue has done. What waits of another
    /// run, and what is done, is forgotten.
    pub const fn expect(&mut self, run: u64, done: u64) {
        (self.run, self.done) = (run, done);
    }

    /// Take a stroke that came.
    pub fn take(&mut self, stroke: &Stroke) -> Came {
        if stroke.run != self.run || stroke.number == 0 {
            return Came::Foreign;
        }
        let Some(ahead) = stroke.number.checked_sub(self.done).filter(|&n| n > 0) else {
            return Came::Repeated;
        };
        if ahead > WINDOW as u64 {
            return Came::Ahead;
        }
        let place = &mut self.waiting[slot(stroke.number)];
        if (place.run, place.number) == (stroke.run, stroke.number) {
            return Came::Repeated;
        }
        *place = *stroke;
        Came::Kept
    }

    /// The stroke whose turn it is, if it has come.
    #[must_use]
    pub fn next(&self) -> Option<&Stroke> {
        let wanted = self.done.checked_add(1)?;
        let stroke = &self.waiting[slot(wanted)];
        ((stroke.run, stroke.number) == (self.run, wanted)).then_some(stroke)
    }
}

#[cfg(test)]
mod tests;
