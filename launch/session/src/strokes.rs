//! What instruments did, between the twin's words and the bus's, and both ends of its way to the remote tissue.
//!
//! Source: ours. `palpate_transport::stroke` numbers, repeats and orders; here changes of a twin become strokes
//! and strokes become changes of the remote tissue, and the other way for a master that begins anew: each side sends
//! what its tissue has had and the other lacks. The same ends run in virtual time and live; only what is
//! between them differs. Nothing here allocates after construction.

use palpate_master::predict::Predictor;
use palpate_master::predict::strokes::Strokes;
use palpate_port::inbox::Inbox;
use palpate_slave::robot::Robot;
use palpate_transport::stroke::{Came, STROKE_CHANGES, StrokeReceiver, StrokeSender};
use palpate_transport::{Span, Stroke, StrokeChange, Time};
use palpate_twin::edits::Direction;
use palpate_twin::edits::{Change, Part};
use palpate_twin::{Instrument, Vec3};

/// Strokes that are sent, or done, in one tick at most.
pub const STROKES_A_TICK: usize = 4;

/// Least time after which a stroke is sent again.
const AGAIN_AFTER_MIN: Span = Span(20_000_000);

/// A change of a tissue as it travels.
#[must_use]
pub fn sent_as(change: &Change) -> StrokeChange {
    let about = |kind, element| StrokeChange {
        kind,
        element,
        ..StrokeChange::default()
    };
    let link = |kind, element, to: Direction, other| StrokeChange {
        other,
        // below six
        toward: to.index() as u8,
        ..about(kind, element)
    };
    match *change {
        Change::Cut { element, to, other } => link(0, element, to, other),
        Change::Join { element, to, other } => link(1, element, to, other),
        Change::Take { element } => about(2, element),
        Change::Put { element } => about(3, element),
        Change::Hold { element } => about(4, element),
        Change::Free { element } => about(5, element),
        Change::Carry { element, by } => StrokeChange {
            by,
            ..about(6, element)
        },
    }
}

/// The change that travelled so; none if there is no such kind or way.
#[must_use]
pub fn change_of(sent: &StrokeChange) -> Option<Change> {
    let (element, other, by) = (sent.element, sent.other, sent.by);
    let to = *Direction::ALL.get(usize::from(sent.toward))?;
    Some(match sent.kind {
        0 => Change::Cut { element, to, other },
        1 => Change::Join { element, to, other },
        2 => Change::Take { element },
        3 => Change::Put { element },
        4 => Change::Hold { element },
        5 => Change::Free { element },
        6 => Change::Carry { element, by },
        _ => return None,
    })
}

/// What a stroke that travelled is to those before; it was checked when it came.
#[must_use]
pub fn part_of(sent: u8) -> Part {
    let part = Part::ALL.get(usize::from(sent));
    part.copied().unwrap_or_default()
}

/// What a side has of strokes, and takes of the other's.
pub trait Keeper {
    /// What this side knows from the other's frames.
    fn inbox(&self) -> &Inbox;

    /// Strokes of its tissue.
    fn known(&self) -> u64;

    /// Of those, the number of the last that the other side may have to be told.
    fn to_tell(&self) -> u64;

    /// A stroke of its tissue, as this side sends it.
    fn stroke(&self, number: u64) -> Option<Stroke>;

    /// Does the next stroke to its tissue; whether it was done.
    fn replay(&mut self, stroke: &Stroke) -> bool;

    /// Strokes that it does in one tick at most.
    fn most(&self) -> usize {
        STROKES_A_TICK
    }
}

impl Keeper for palpate_master::State {
    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn known(&self) -> u64 {
        let strokes = self.predictor().and_then(Predictor::strokes);
        strokes.map_or(0, Strokes::made)
    }

    fn to_tell(&self) -> u64 {
        self.known()
    }

    fn stroke(&self, number: u64) -> Option<Stroke> {
        let (part, changes) = self.predictor()?.strokes()?.stroke(number)?;
        let run = self.inbox().parties().own;
        Some(Stroke {
            // in the order of its numbers
            part: part as u8,
            ..Stroke::of(run, number, changes.iter().map(sent_as))
        })
    }

    fn replay(&mut self, stroke: &Stroke) -> bool {
        let mut changes = [Change::Take { element: 0 }; STROKE_CHANGES];
        for (slot, sent) in changes.iter_mut().zip(stroke.changes()) {
            let Some(change) = change_of(sent) else {
                return false;
            };
            *slot = change;
        }
        self.adopt((part_of(stroke.part), &changes[..stroke.changes().len()]))
    }

    /// A hand that touches the twin feels them one by one; more than two take the tick of a large volume.
    fn most(&self) -> usize {
        match self.predictor().is_some_and(Predictor::is_touched) {
            true => 1,
            false => 2,
        }
    }
}

/// The slave: what it hears, and the robot whose tissue it is.
pub struct AtRobot<'a> {
    /// What it knows from the master's frames.
    pub inbox: &'a Inbox,
    /// The robot.
    pub robot: &'a mut dyn Robot,
}

impl Keeper for AtRobot<'_> {
    fn inbox(&self) -> &Inbox {
        self.inbox
    }

    fn known(&self) -> u64 {
        self.robot.opened().strokes
    }

    fn to_tell(&self) -> u64 {
        self.robot.foreign(self.inbox.parties().peer)
    }

    fn stroke(&self, number: u64) -> Option<Stroke> {
        let run = self.inbox.parties().own;
        let stroke = self.robot.done(number)?;
        Some(Stroke { run, ..stroke })
    }

    fn replay(&mut self, stroke: &Stroke) -> bool {
        self.robot.replay(stroke).is_ok()
    }
}

/// Sends what was done to this side's tissue until it was done to the other's.
#[derive(Debug, Clone, Default)]
pub struct Outlet {
    sender: StrokeSender,
}

impl Outlet {
    /// After a tick: gives `send` what is to be sent now; nothing to a tissue that cannot be opened, or that
    /// nothing is known of.
    pub fn pass(&mut self, side: &impl Keeper, now: Time, mut send: impl FnMut(Stroke)) {
        let (inbox, newest) = (side.inbox(), side.inbox().newest());
        if newest.topology == 0 {
            return;
        }
        self.sender.acknowledge(newest.strokes);
        let rtt = inbox.sync().rtt_latest().unwrap_or(Span(0));
        // a quarter more than a round trip, or jitter would send all of it twice
        let again_after = Span((rtt.0 + rtt.0 / 4).max(AGAIN_AFTER_MIN.0));
        for _ in 0..STROKES_A_TICK {
            let due = self.sender.due(side.to_tell(), now, again_after);
            let Some(stroke) = due.and_then(|number| side.stroke(number)) else {
                break;
            };
            send(stroke);
        }
    }
}

/// Has this side's tissue do what came, in order.
#[derive(Debug, Clone, Default)]
pub struct Inlet {
    receiver: StrokeReceiver,
    /// The last stroke that was refused, by its sender's run and its number.
    refused: Option<(u64, u64)>,
}

impl Inlet {
    /// Take a stroke as it comes.
    pub fn take(&mut self, stroke: &Stroke) -> Came {
        self.receiver.take(stroke)
    }

    /// Before a tick: does strokes whose turn it is, up to the first that is refused; whether one was. It is told
    /// once, and where the tissue counts it as over those after it are done in the next ticks.
    pub fn pass(&mut self, side: &mut impl Keeper) -> bool {
        for _ in 0..side.most() {
            let peer = side.inbox().parties().peer;
            self.receiver.expect(peer, side.known());
            let Some(stroke) = self.receiver.next() else {
                return false;
            };
            if !side.replay(stroke) {
                let one = Some((stroke.run, stroke.number));
                return std::mem::replace(&mut self.refused, one) != one;
            }
        }
        false
    }
}

/// An instrument as a record has it: its number, and the length that goes with it \[m\].
#[must_use]
pub fn instrument_noted(instrument: &Instrument) -> (u8, [f64; 3]) {
    match instrument {
        Instrument::Blunt => (0, [0.0; 3]),
        Instrument::Scalpel { edge_m } => (1, [edge_m.x, edge_m.y, edge_m.z]),
        Instrument::Curette => (2, [0.0; 3]),
        Instrument::Glue { reach_m } => (3, [*reach_m, 0.0, 0.0]),
        Instrument::Tack => (4, [0.0; 3]),
        Instrument::Untack => (5, [0.0; 3]),
    }
}

/// The instrument that was noted so; a number that no instrument has is blunt.
#[must_use]
pub fn instrument_of((number, length_m): (u8, [f64; 3])) -> Instrument {
    let [x, y, z] = length_m;
    match number {
        1 => Instrument::Scalpel {
            edge_m: Vec3::new(x, y, z),
        },
        2 => Instrument::Curette,
        3 => Instrument::Glue { reach_m: x },
        4 => Instrument::Tack,
        5 => Instrument::Untack,
        _ => Instrument::Blunt,
    }
}

/// Links cut by strokes, less those made.
pub fn links_cut<'a>(strokes: impl IntoIterator<Item = &'a Stroke>) -> i64 {
    let changes = strokes.into_iter().flat_map(Stroke::changes);
    changes
        .map(|change| match change.kind {
            0 => 1,
            1 => -1,
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use palpate_transport::stroke::{KINDS, WAYS};

    use super::*;

    #[test]
    fn changes_come_back_as_they_were() {
        let (element, other, by) = (7, 9, [-3, 0, i16::MAX]);
        let mut kinds = Vec::new();
        for to in Direction::ALL {
            let changes = [
                Change::Cut { element, to, other },
                Change::Join { element, to, other },
                Change::Take { element },
                Change::Put { element },
                Change::Hold { element },
                Change::Free { element },
                Change::Carry { element, by },
            ];
            for change in changes {
                let sent = sent_as(&change);
                assert_eq!(change_of(&sent), Some(change));
                assert!(sent.kind < KINDS && sent.toward < WAYS);
                kinds.push(sent.kind);
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), usize::from(KINDS));
        let none = |kind, toward| StrokeChange {
            kind,
            toward,
            ..StrokeChange::default()
        };
        assert_eq!(change_of(&none(KINDS, 0)), None);
        assert_eq!(change_of(&none(0, WAYS)), None);
    }

    #[test]
    fn parts_come_back_as_they_were() {
        assert_eq!(Part::ALL.map(|part| part as u8), [0, 1, 2, 3]);
        assert_eq!(Part::ALL.map(|part| part_of(part as u8)), Part::ALL);
        assert_eq!(
            Part::ALL.len(),
            usize::from(palpate_transport::stroke::PARTS)
        );
        assert_eq!(part_of(9), Part::Begins);
    }

    #[test]
    fn instruments_come_back_as_they_were() {
        let all = [
            Instrument::Blunt,
            Instrument::Scalpel {
                edge_m: Vec3::new(0.0, 1e-3, -2e-2),
            },
            Instrument::Curette,
            Instrument::Glue { reach_m: 3e-3 },
            Instrument::Tack,
            Instrument::Untack,
        ];
        for instrument in all {
            assert_eq!(instrument_of(instrument_noted(&instrument)), instrument);
        }
    }
}
