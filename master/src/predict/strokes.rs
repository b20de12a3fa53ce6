//! What the operator's instruments did to the twin, kept until the remote tissue has done it and after.
//!
//! Source: ours. The instrument works on the twin alone, so the hand feels at once what it does; what it
//! changed is numbered in strokes ([`palpate_transport::stroke`]) that the remote tissue does one by one. The
//! shadow, which is touched where the robot was, does a stroke when the robot's tissue had done it: so
//! lessons compare like with like. The whole log is kept, since a tissue that begins anew must be told all of
//! it; it is of fixed size, and when it is full instruments only press. They also do so while the remote
//! tissue is not known to be open as the shadow is: then what they would change could not be done there.

use palpate_transport::stroke::STROKE_CHANGES;
use palpate_twin::model::linked::edits::Change;
use palpate_twin::{Edit, Instrument, Snapshot, Tissue};

/// Changes that the log has place for, by element: all links of all elements are cut by three.
const CHANGES_AN_ELEMENT: usize = 8;

/// Strokes that the shadow does in one tick at most, so that a backlog is no late tick.
const STROKES_A_TICK: u64 = 8;

/// How far the remote tissue has come, as a frame tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteStrokes {
    /// Strokes that it has done.
    pub done: u64,
    /// Its topology then; 0 if no stroke can open it.
    pub topology: u64,
}

/// Strokes of this run, and how far the shadow has come with them.
#[derive(Debug, Clone)]
pub struct Strokes {
    changes: Vec<Change>,
    /// Where each stroke ends in the changes.
    ends: Vec<u32>,
    /// Changes that one tick may need.
    spare: usize,
    /// A change found no place: nothing is like the twin any more.
    lost: bool,
    /// Strokes that the shadow has done.
    shadowed: u64,
    /// The shadow before the first stroke.
    whole: Snapshot,
    /// Whether the remote tissue was last heard to be open as the shadow.
    agrees: bool,
    /// Whether there is no remote tissue to agree with.
    alone: bool,
    /// Links cut, less those made.
    links_cut: i64,
}

impl Strokes {
    /// None yet, of a tissue like `shadow`; nothing if instruments do nothing to it. Allocates.
    #[must_use]
    pub fn of(shadow: &dyn Tissue) -> Option<Self> {
        let caps = shadow.caps();
        if !caps.instruments {
            return None;
        }
        let room = CHANGES_AN_ELEMENT * caps.elements.max(STROKE_CHANGES);
        Some(Self {
            changes: Vec::with_capacity(room),
            ends: Vec::with_capacity(room),
            spare: caps.elements.max(STROKE_CHANGES),
            lost: false,
            shadowed: 0,
            whole: Snapshot::of(shadow),
            agrees: false,
            alone: false,
            links_cut: 0,
        })
    }

    /// Lets instruments work though no remote tissue is heard of, as in a rehearsal.
    pub(super) const fn alone(&mut self) {
        self.alone = true;
    }

    /// Strokes made.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Changes of a stroke, by its number from 1.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<&[Change]> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = *self.ends.get(index)? as usize;
        let begin = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        self.changes.get(begin..end)
    }

    /// Links that were cut, less those that were made.
    #[must_use]
    pub const fn links_cut(&self) -> i64 {
        self.links_cut
    }

    /// What an instrument may do now: itself, or only press.
    #[must_use]
    pub fn allowed(&self, wanted: Instrument) -> Instrument {
        if self.may_open() {
            wanted
        } else {
            Instrument::Blunt
        }
    }

    /// Whether the twin may be changed now.
    pub(super) fn may_open(&self) -> bool {
        let room = self.changes.capacity() - self.changes.len();
        (self.alone || self.agrees) && !self.lost && room >= self.spare
    }

    /// Notes what the twin's last step changed; allocates nothing.
    pub(super) fn note(&mut self, changes: &[Change]) {
        let room = self.changes.capacity() - self.changes.len();
        if changes.len() > room {
            self.lost |= !changes.is_empty();
            return;
        }
        for part in changes.chunks(STROKE_CHANGES) {
            self.changes.extend_from_slice(part);
            // as many strokes fit as changes, and those fit into 32 bits by their element numbers
            self.ends
                .push(u32::try_from(self.changes.len()).unwrap_or(u32::MAX));
        }
        for change in changes {
            self.links_cut += match change {
                Change::Cut { .. } => 1,
                Change::Join { .. } => -1,
                _ => 0,
            };
        }
    }

    /// Takes the shadow to where the remote tissue was, some strokes a tick; whether it is there and alike.
    pub(super) fn follow(&mut self, shadow: &mut dyn Tissue, remote: RemoteStrokes) -> bool {
        if remote.done < self.shadowed {
            // that tissue began anew
            if shadow.thaw(&self.whole).is_err() {
                self.agrees = false;
                return false;
            }
            self.shadowed = 0;
        }
        for _ in 0..STROKES_A_TICK {
            let next = self.shadowed + 1;
            let Some(changes) = self.stroke(next).filter(|_| next <= remote.done) else {
                break;
            };
            if shadow.edit(&Edit::Replay(changes)).is_err() {
                break;
            }
            self.shadowed = next;
        }
        if self.shadowed == remote.done {
            self.agrees = shadow.view().topology == Some(remote.topology);
            return self.agrees;
        }
        // behind for a while is no difference; ahead of all that was made is one
        self.agrees &= remote.done <= self.made();
        false
    }
}

#[cfg(test)]
mod tests {
    use palpate_twin::{Reaction, Tool, Vec3, scene};

    use super::*;

    fn tissue() -> Box<dyn Tissue> {
        let scene = scene::load("linked-nodule").expect("built in");
        scene.build().expect("a volume")
    }

    fn topology(tissue: &dyn Tissue) -> u64 {
        tissue.view().topology.expect("a volume")
    }

    /// Draws a blade through the twin for so many ticks, and notes what it did.
    fn cut(twin: &mut dyn Tissue, strokes: &mut Strokes, ticks: u32) {
        for tick in 0..ticks {
            let tool = Tool {
                position_m: Vec3::new(-0.02 + 1e-3 * f64::from(tick), 0.0, 0.01),
                velocity_mps: Vec3::zeros(),
                radius_m: 0.004,
                stiffness_npm: 3000.0,
                shaft_m: Vec3::zeros(),
                jaws: None,
                instrument: strokes.allowed(Instrument::Scalpel {
                    edge_m: Vec3::new(0.0, 0.0, -0.016),
                }),
            };
            twin.step(&[tool], 1e-3, &mut [Reaction::default()]);
            strokes.note(twin.view().changes);
        }
    }

    #[test]
    fn the_shadow_goes_as_far_as_the_remote_tissue_and_back_with_it() {
        let (mut twin, mut shadow, mut remote) = (tissue(), tissue(), tissue());
        let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
        let told = |remote: &dyn Tissue, done| RemoteStrokes {
            done,
            topology: topology(remote),
        };
        assert_eq!(strokes.allowed(Instrument::Curette), Instrument::Blunt);
        assert!(strokes.follow(shadow.as_mut(), told(remote.as_ref(), 0)));
        cut(twin.as_mut(), &mut strokes, 30);
        let made = strokes.made();
        assert!(made > 5 && strokes.links_cut() > 0, "{made}");
        let mut done = 0;
        while done < made {
            done += 1;
            let changes = strokes.stroke(done).expect("it was made");
            remote
                .edit(&Edit::Replay(changes))
                .expect("the same volume");
            assert!(strokes.follow(shadow.as_mut(), told(remote.as_ref(), done)));
            assert_eq!(topology(shadow.as_ref()), topology(remote.as_ref()));
        }
        assert_eq!(topology(remote.as_ref()), topology(twin.as_ref()));
        assert_eq!(strokes.stroke(made + 1), None);
        // tissue that is whole again
        assert!(strokes.follow(shadow.as_mut(), told(tissue().as_ref(), 0)));
        assert_eq!(topology(shadow.as_ref()), topology(tissue().as_ref()));
        // a long way is gone in some ticks, and what is behind is no difference
        let end = told(remote.as_ref(), made);
        while !strokes.follow(shadow.as_mut(), end) {
            assert_eq!(strokes.allowed(Instrument::Curette), Instrument::Curette);
        }
        assert_eq!(topology(shadow.as_ref()), topology(remote.as_ref()));
    }

    #[test]
    fn tissue_that_is_open_otherwise_is_not_cut() {
        let (mut twin, mut shadow) = (tissue(), tissue());
        let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
        for topology in [0, topology(shadow.as_ref()) ^ 1] {
            let told = RemoteStrokes { done: 0, topology };
            assert!(!strokes.follow(shadow.as_mut(), told));
            cut(twin.as_mut(), &mut strokes, 30);
            assert_eq!(strokes.made(), 0);
        }
        // one that says to have done what nobody made
        let topology = topology(shadow.as_ref());
        assert!(strokes.follow(shadow.as_mut(), RemoteStrokes { done: 0, topology }));
        assert!(!strokes.follow(shadow.as_mut(), RemoteStrokes { done: 9, topology }));
        assert_eq!(strokes.allowed(Instrument::Tack), Instrument::Blunt);
        strokes.alone();
        assert_eq!(strokes.allowed(Instrument::Tack), Instrument::Tack);
    }

    #[test]
    fn a_full_log_blunts_instruments_before_it_overflows() {
        let shadow = tissue();
        let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
        strokes.alone();
        let some = [Change::Take { element: 0 }; 1000];
        let (changes, ends) = (strokes.changes.capacity(), strokes.ends.capacity());
        while strokes.may_open() {
            strokes.note(&some);
        }
        assert!(!strokes.lost && strokes.changes.len() + strokes.spare > changes);
        let kept = (strokes.changes.capacity(), strokes.ends.capacity());
        assert_eq!(kept, (changes, ends), "it does not grow");
        assert_eq!(strokes.stroke(1).map(<[Change]>::len), Some(STROKE_CHANGES));
    }
}
