//! What the operator's instruments did to the twin, kept until the remote tissue has done it and after.
//!
//! Source: ours. The instrument works on the twin alone, so the hand feels at once what it does; what it
//! changed is numbered in strokes ([`palpate_transport::stroke`]) that the remote tissue does one by one. The
//! shadow, which is touched where the robot was, does a stroke when the robot's tissue had done it: so
//! lessons compare like with like. The whole history is kept, since a tissue that begins anew must be told all of
//! it; it is of fixed size, and when it might be full after one more tick instruments only press. They also do so
//! while the remote tissue is not known to be open as the shadow is: then what they would change could not be done
//! there. Numbers go on over the master's runs: a run that begins anew is told what the remote tissue has done,
//! does it to its twin, and goes on from there.

use palpate_transport::stroke::STROKE_CHANGES;
use palpate_twin::edits::History;
use palpate_twin::edits::{Change, Part};
use palpate_twin::{Edit, Instrument, Snapshot, Tissue, View};

/// Changes that one step or one revision makes at most, by element: of its three links, its hold, and itself.
const CHANGES_A_TICK: usize = 5;

/// More of them, whatever the size: those of one element that is taken out.
const CHANGES_MORE: usize = 8;

/// Strokes that the shadow does in one tick at most, so that a backlog is no late tick: each takes up to 0.15 ms of a
/// volume of 64 000 elements (measured), and the twin may be told as many.
const STROKES_A_TICK: u64 = 2;

/// How far the remote tissue has come, as a frame tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteStrokes {
    /// Strokes that it has done.
    pub done: u64,
    /// Its topology then; 0 if no stroke can open it.
    pub topology: u64,
}

/// What was done to the twin, and how far the shadow has come with it.
#[derive(Debug, Clone)]
pub struct Strokes {
    history: History,
    /// Changes that one step, or one revision, may make.
    spare: usize,
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
    /// The edit that was noted last, see [`View::edit`]; none if that was taken back, or of another run.
    edit: Option<u32>,
}

impl Strokes {
    /// None yet, of a tissue like `shadow`; nothing if instruments do nothing to it. Allocates.
    #[must_use]
    pub fn of(shadow: &dyn Tissue) -> Option<Self> {
        let caps = shadow.caps();
        if !caps.instruments {
            return None;
        }
        Some(Self {
            history: History::of(caps.elements),
            spare: CHANGES_A_TICK * caps.elements + CHANGES_MORE,
            shadowed: 0,
            whole: Snapshot::of(shadow),
            agrees: false,
            alone: false,
            links_cut: 0,
            edit: None,
        })
    }

    /// Lets instruments work though no remote tissue is heard of, as in a rehearsal.
    pub(super) const fn alone(&mut self) {
        self.alone = true;
    }

    /// Strokes made, in this run of the master and in those before.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.history.strokes()
    }

    /// Changes of a stroke, by its number from 1, and what they are to those before.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<(Part, &[Change])> {
        self.history.stroke(number)
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
        (self.alone || self.agrees) && self.history.room() >= self.spare
    }

    /// Notes what the twin's last step changed, or a revision, which took back or made again; allocates nothing. There
    /// is room for all that [`Self::may_open`] allowed; what yet found none would make the tissues differ, so nothing is
    /// opened then.
    pub(super) fn note(&mut self, seen: &View<'_>, revised: Option<Part>) {
        for changes in seen.changes.chunks(STROKE_CHANGES) {
            let goes_on = self.edit == Some(seen.edit);
            let part = revised.unwrap_or(if goes_on { Part::GoesOn } else { Part::Begins });
            self.edit = revised.is_none().then_some(seen.edit);
            if !self.keep(part, changes) {
                self.spare = usize::MAX;
            }
        }
    }

    fn keep(&mut self, part: Part, changes: &[Change]) -> bool {
        let kept = self.history.push(part, changes);
        for change in changes.iter().filter(|_| kept) {
            self.links_cut += match change {
                Change::Cut { .. } => 1,
                Change::Join { .. } => -1,
                _ => 0,
            };
        }
        kept
    }

    /// The next stroke of the remote tissue's history, which this run does not know, is done to the twin; whether
    /// it was. A run that knows the tissue, or a twin that is the only tissue, has nothing to be told.
    pub(super) fn adopt(&mut self, twin: &mut dyn Tissue, stroke: (Part, &[Change])) -> bool {
        let (part, changes) = stroke;
        !self.alone
            && !self.agrees
            && self.history.room() > changes.len()
            && twin.edit(&Edit::Replay(changes, part)).is_ok()
            && self.keep(part, changes)
    }

    /// Takes the shadow to where the remote tissue was, some strokes a tick; whether it is there and alike. Once
    /// all is done everywhere, the twin must be alike as well.
    pub(super) fn follow(
        &mut self,
        shadow: &mut dyn Tissue,
        twin: &dyn Tissue,
        remote: RemoteStrokes,
    ) -> bool {
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
            let Some((part, changes)) = self.stroke(next).filter(|_| next <= remote.done) else {
                break;
            };
            if shadow.edit(&Edit::Replay(changes, part)).is_err() {
                break;
            }
            self.shadowed = next;
        }
        if self.shadowed == remote.done {
            let like = |tissue: &dyn Tissue| tissue.view().topology == Some(remote.topology);
            self.agrees = like(shadow) && (self.made() > remote.done || like(twin));
            return self.agrees;
        }
        // behind for a while is no difference; ahead of all that this run knows is one, until it is told
        self.agrees &= remote.done <= self.made();
        false
    }
}

#[cfg(test)]
mod tests {
    use palpate_scene as scene;
    use palpate_twin::{Reaction, Tool, Vec3};

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
                side_m: Vec3::zeros(),
                jaws: None,
                instrument: strokes.allowed(Instrument::Scalpel {
                    edge_m: Vec3::new(0.0, 0.0, -0.016),
                }),
            };
            twin.step(&[tool], 1e-3, &mut [Reaction::default()]);
            strokes.note(&twin.view(), None);
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
        assert!(strokes.follow(shadow.as_mut(), twin.as_ref(), told(remote.as_ref(), 0)));
        cut(twin.as_mut(), &mut strokes, 30);
        let made = strokes.made();
        assert!(made > 5 && strokes.links_cut() > 0, "{made}");
        let mut done = 0;
        while done < made {
            done += 1;
            let (part, changes) = strokes.stroke(done).expect("it was made");
            remote
                .edit(&Edit::Replay(changes, part))
                .expect("the same volume");
            assert!(strokes.follow(shadow.as_mut(), twin.as_ref(), told(remote.as_ref(), done)));
            assert_eq!(topology(shadow.as_ref()), topology(remote.as_ref()));
        }
        assert_eq!(topology(remote.as_ref()), topology(twin.as_ref()));
        assert_eq!(strokes.stroke(made + 1), None);
        // tissue that is whole again
        assert!(strokes.follow(shadow.as_mut(), twin.as_ref(), told(tissue().as_ref(), 0)));
        assert_eq!(topology(shadow.as_ref()), topology(tissue().as_ref()));
        // a long way is gone in some ticks, and what is behind is no difference
        let end = told(remote.as_ref(), made);
        while !strokes.follow(shadow.as_mut(), twin.as_ref(), end) {
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
            assert!(!strokes.follow(shadow.as_mut(), twin.as_ref(), told));
            cut(twin.as_mut(), &mut strokes, 30);
            assert_eq!(strokes.made(), 0);
        }
        // one that says to have done what nobody made
        let topology = topology(shadow.as_ref());
        assert!(strokes.follow(
            shadow.as_mut(),
            twin.as_ref(),
            RemoteStrokes { done: 0, topology }
        ));
        assert!(!strokes.follow(
            shadow.as_mut(),
            twin.as_ref(),
            RemoteStrokes { done: 9, topology }
        ));
        assert_eq!(strokes.allowed(Instrument::Tack), Instrument::Blunt);
        strokes.alone();
        assert_eq!(strokes.allowed(Instrument::Tack), Instrument::Tack);
    }

    #[test]
    fn issue_a_tick_with_more_changes_than_were_spared_lost_them() {
        let shadow = tissue();
        let elements = shadow.caps().elements;
        // all links, holds and elements in one step, and as many in a revision
        let most = vec![Change::Take { element: 0 }; 5 * elements + 8];
        for size in [1000, most.len()] {
            let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
            strokes.alone();
            let (mut noted, mut ticks) = (0, 0_u32);
            while strokes.may_open() {
                let seen = View {
                    changes: &most[..size],
                    edit: ticks,
                    ..shadow.view()
                };
                strokes.note(&seen, None);
                (noted, ticks) = (noted + size, ticks + 1);
            }
            assert!(ticks > 1, "{ticks} ticks of {size}");
            let kept = (1..=strokes.made()).filter_map(|number| strokes.stroke(number));
            assert_eq!(kept.map(|(_, kept)| kept.len()).sum::<usize>(), noted);
            let [first, second] = [1, 2].map(|number| strokes.stroke(number).expect("made"));
            assert_eq!((first.0, first.1.len()), (Part::Begins, STROKE_CHANGES));
            assert_eq!(second.0, Part::GoesOn);
            assert_eq!(strokes.allowed(Instrument::Tack), Instrument::Blunt);
        }
    }

    #[test]
    fn a_run_that_begins_anew_is_told_and_goes_on() {
        let (mut twin, mut shadow, mut remote) = (tissue(), tissue(), tissue());
        let mut former = Strokes::of(shadow.as_ref()).expect("it can be opened");
        former.alone();
        cut(remote.as_mut(), &mut former, 30);
        let made = former.made();
        let told = RemoteStrokes {
            done: made,
            topology: topology(remote.as_ref()),
        };
        let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
        for number in 1..=made {
            assert!(!strokes.follow(shadow.as_mut(), twin.as_ref(), told));
            assert_eq!(strokes.allowed(Instrument::Curette), Instrument::Blunt);
            let stroke = former.stroke(number).expect("it was made");
            assert!(strokes.adopt(twin.as_mut(), stroke));
        }
        while !strokes.follow(shadow.as_mut(), twin.as_ref(), told) {}
        assert_eq!(topology(twin.as_ref()), told.topology);
        assert_eq!(strokes.links_cut(), former.links_cut());
        assert_eq!(strokes.allowed(Instrument::Curette), Instrument::Curette);
        // it knows all: nothing more is taken in
        assert!(!strokes.adopt(twin.as_mut(), former.stroke(1).expect("made")));
        assert_eq!(strokes.made(), made);
    }

    #[test]
    fn a_history_that_does_not_lead_to_what_the_remote_tissue_is_opens_nothing() {
        let (mut twin, mut shadow) = (tissue(), tissue());
        let mut strokes = Strokes::of(shadow.as_ref()).expect("it can be opened");
        let told = RemoteStrokes {
            done: 1,
            topology: topology(shadow.as_ref()) ^ 1,
        };
        assert!(!strokes.follow(shadow.as_mut(), twin.as_ref(), told));
        let stroke = (Part::Begins, &[Change::Take { element: 0 }][..]);
        assert!(strokes.adopt(twin.as_mut(), stroke));
        assert!(!strokes.follow(shadow.as_mut(), twin.as_ref(), told));
        assert_eq!(strokes.allowed(Instrument::Curette), Instrument::Blunt);
    }
}
