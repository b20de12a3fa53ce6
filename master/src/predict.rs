//! The twin at the handle: what is felt now, and how it learns from what was felt remotely.
//!
//! Two instances of one tissue model run side by side. The *twin* is touched by the handle and
//! gives the force at once. The *shadow* is touched where the robot reports to have been, so its
//! force and the measured one belong to the same motion, whatever the delay was; their ratio is the
//! twin's error, free of any assumption about the network (ours; compare Sette 2011, teleop
//! section 2). `lessons` keep that error by place and force, `learning` brings it to the hand
//! by a passive `correction` (teleop E16), `towards` goes over to another scene, `met` is what the
//! robot has met as one law by itself (E15), which [`local`] lets the hand feel in the twin's place,
//! [`strokes`] what instruments did, `hands` a second tool, `shape` what tools look like, `params` are the numbers that may be set.

use std::collections::VecDeque;

use palpate_scene::Steps;
use palpate_transport::frame::FrameFlags;
use palpate_transport::{Axes, HapticFrame};
use palpate_twin::edits::{Change, Part};
use palpate_twin::{Edit, Instrument, Reaction, Tissue, Vec3};

use crate::device::{Reading, Revisions};

mod correction;
mod hands;
pub mod hunt_crossley;
mod learning;
mod lessons;
pub mod local;
mod met;
mod params;
mod shape;
pub mod strokes;
mod towards;

use correction::{Correction, Timing};
use hands::{Hands, Parked, touch};
use hunt_crossley::Contact;
use learning::Learning;
use local::{Known, Local, LocalModel};
use met::Met;
pub use params::PredictParams;
pub use shape::ToolShape;
use strokes::{RemoteStrokes, Strokes};
use towards::Towards;

/// A tool's motion at one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Position x, y, z and opening \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Whether the jaws are closed.
    pub closed: bool,
    /// What the tool does beside pressing.
    pub instrument: Instrument,
}

/// What the remote side reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remote {
    /// Where the probe was.
    pub touch: Touch,
    /// Force of the tissue on the probe, if it is known \[N\].
    pub contact_force_n: Option<Axes>,
    /// Whether this was not said before: a frame stays the newest until the next comes.
    pub fresh: bool,
    /// How far its tissue has come with the strokes of instruments.
    pub strokes: RemoteStrokes,
}

impl Touch {
    /// The operator's tool, as it presses if it is to be `blunt`.
    #[must_use]
    pub fn of(reading: &Reading, blunt: bool) -> Self {
        Self {
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            closed: reading.closed,
            instrument: if blunt {
                Instrument::Blunt
            } else {
                reading.instrument
            },
        }
    }
}

impl Remote {
    /// What a frame reports, which is `fresh` if it was not heard before.
    #[must_use]
    pub fn of(frame: &HapticFrame, fresh: bool) -> Self {
        let flag = |flag| frame.flags & flag != 0;
        Self {
            touch: Touch {
                position_m: frame.position_m,
                velocity_mps: frame.velocity_mps,
                closed: flag(FrameFlags::CLOSED),
                instrument: Instrument::Blunt,
            },
            contact_force_n: flag(FrameFlags::FORCE_VALID).then_some(frame.contact_force_n),
            fresh,
            strokes: RemoteStrokes {
                done: frame.strokes,
                topology: frame.topology,
            },
        }
    }
}

/// What the twin says in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prediction {
    /// Force of the twin's tissue on the tool \[N\].
    pub twin_force_n: Axes,
    /// The same with the delayed correction \[N\].
    pub force_n: Axes,
    /// Of the twin's force, what holds the edge of a blade \[N\].
    pub edge_n: Axes,
    /// Energy stored in the twin \[J\].
    pub energy_j: f64,
    /// Of that, at least what holds the edge of a blade \[J\].
    pub edge_j: f64,
    /// What the twin's force, but for that on an edge, was multiplied by to be felt.
    pub factor: f64,
    /// Energy that learning has put into the felt model, cumulative \[J\]; negative is taken out.
    pub update_energy_j: f64,
    /// Relative changes that learning made to the force of a touch, their sizes summed since the start; a
    /// stiffening keeps the force and adds nothing.
    pub corrected: f64,
    /// How well what is felt is known, 0 (the twin as it was given) to 1 (as it was pressed); of a law in the
    /// twin's place, that law's.
    pub confidence: f64,
    /// From the tool's place to its proxy's on the twin \[m\], see [`Reaction::to_proxy_m`].
    pub to_proxy_m: [f64; 3],
    /// Whether what was learnt was taken over in this tick.
    pub updated: bool,
    /// Whether the twin was asked and not stepped.
    pub masked: bool,
    /// Whether an instrument only pressed, since the remote tissue is not known to be open as the twin.
    pub blunted: bool,
    /// Whether the instrument is of another kind than in the last step: what held the former is gone at once.
    pub relaid: bool,
    /// The tool that the hand has put down; all 0 if it has not.
    pub parked: Parked,
    /// Links that instruments have cut of the twin, less those that they made.
    pub links_cut: i64,
}

impl Prediction {
    /// Energy that the felt model may give back along one axis \[J\]: the twin's store times the factor, but for
    /// what holds an edge, divided as the squares of the force divide. The store is that of the whole twin: what a
    /// parked tool presses is in it, as it can come back through the tissue to the hand that presses beside it.
    #[must_use]
    pub fn stored_j(&self, axis: usize) -> f64 {
        let squares = self.force_n.map(|force| force * force);
        let sum: f64 = squares.iter().sum();
        if sum > 0.0 {
            let felt_j = self.factor * (self.energy_j - self.edge_j).max(0.0) + self.edge_j;
            felt_j * squares[axis] / sum
        } else {
            0.0
        }
    }
}

/// Something that was done, to be taken back or done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Undo,
    Redo,
}

/// Wishes of the operator that are kept in their order; more of them are heard later.
const WISHES: usize = 64;

/// The twin, its shadow, and what was learnt.
pub struct Predictor {
    twin: Box<dyn Tissue>,
    shadow: Box<dyn Tissue>,
    /// Made at the first step, which knows how far a lesson reaches.
    learning: Option<Learning>,
    /// What the robot has met.
    met: Met,
    /// That law, if it is felt in the twin's place.
    local: Local,
    /// Whether the last tick asked the twin and did not step it.
    asked: bool,
    /// What is left of the way to another scene.
    towards: Option<Towards>,
    /// What going there has put into the twin \[J\], and bounds of its felt changes, summed.
    went: [f64; 2],
    /// Whether the twin is another one than lessons are about.
    outdated: bool,
    /// What of the operator's wishes was heard: none of those of before this run. And those that wait, in the order
    /// in which they came.
    heard: Option<Revisions>,
    wishes: VecDeque<Wish>,
    /// Whether the hand touches the twin.
    touched: bool,
    /// Which of two tools is led, and where the other one lies.
    hands: Hands,
    /// What the tool did in the last step.
    wielded: Instrument,
    /// What instruments did, if they do anything to the twin.
    strokes: Option<Strokes>,
}

impl Predictor {
    /// From two instances of the same tissue model, both at rest.
    #[must_use]
    pub fn new(twin: Box<dyn Tissue>, shadow: Box<dyn Tissue>) -> Self {
        Self {
            strokes: Strokes::of(shadow.as_ref()),
            twin,
            shadow,
            learning: None,
            met: Met::default(),
            local: Local::default(),
            asked: false,
            towards: None,
            went: [0.0; 2],
            outdated: false,
            heard: None,
            wishes: VecDeque::with_capacity(WISHES),
            touched: false,
            hands: Hands::default(),
            wielded: Instrument::Blunt,
        }
    }

    /// The same, going over to another scene as soon as hand and robot let it; `steps` begin at the scene
    /// that both instances were made from.
    #[must_use]
    pub fn towards(self, steps: Steps) -> Self {
        Self {
            towards: Some(Towards::new(steps)),
            ..self
        }
    }

    /// The same without a remote tissue: instruments work at once, and nothing is to be told to anyone.
    #[must_use]
    pub fn alone(mut self) -> Self {
        if let Some(strokes) = &mut self.strokes {
            strokes.alone();
        }
        self
    }

    /// What instruments did; none of a twin to which they do nothing.
    #[must_use]
    pub fn strokes(&self) -> Option<&Strokes> {
        self.strokes.as_ref()
    }

    /// Which elements of the twin are there, linked and held; 0 if no instrument can change that.
    #[must_use]
    pub fn topology(&self) -> u64 {
        self.twin.view().topology.unwrap_or(0)
    }

    /// The touch with what its instrument may do, and whether that is less than was wanted.
    fn allowed(&self, handle: &Touch) -> (Touch, bool) {
        let wanted = handle.instrument;
        // what was asked for before is done before
        let first = self.strokes.as_ref().filter(|_| self.wishes.is_empty());
        let allowed = first.map_or(Instrument::Blunt, |strokes| strokes.allowed(wanted));
        let touch = Touch {
            instrument: allowed,
            ..*handle
        };
        (touch, allowed != wanted)
    }

    /// The tissue at the handle, for drawing and reports.
    #[must_use]
    pub fn twin(&self) -> &dyn Tissue {
        self.twin.as_ref()
    }

    /// What the robot has met as one contact law (teleop E15), if [`PredictParams::estimate`] is on; none
    /// before its first contact.
    #[must_use]
    pub fn contact(&self) -> Option<Contact> {
        self.met.contact()
    }

    /// Advance by one tick: touch the twin with the handle, the shadow with the probe.
    pub fn step(
        &mut self,
        params: &PredictParams,
        handle: &Touch,
        remote: Option<&Remote>,
        dt_s: f64,
    ) -> Prediction {
        // a tissue is moved by positions: after missed ticks it needs no longer step, which might
        // be more than its stability allows
        let step_s = dt_s.min(TISSUE_STEP_S_MAX);
        let (handle, blunted) = &self.allowed(handle);
        let (felt, parked) = self.hands.touch(self.twin.as_mut(), params, handle, step_s);
        if let Some(strokes) = &mut self.strokes
            && step_s > 0.0
        {
            strokes.note(&self.twin.view(), None);
        }
        (self.asked, self.touched) = (false, felt.contacts > 0);
        let learning = self
            .learning
            .get_or_insert_with(|| Learning::new(params.update_radius_m));
        let mut met = false;
        if let Some(remote) = remote {
            let (shadow, twin) = (self.shadow.as_mut(), self.twin.as_ref());
            let alike = self
                .strokes
                .as_mut()
                .is_none_or(|strokes| strokes.follow(shadow, twin, remote.strokes));
            let expected = touch(self.shadow.as_mut(), params, &remote.touch, step_s);
            met = expected.contacts > 0;
            if params.update && alike {
                hear(params, learning, &expected, remote);
            }
            if (params.estimate || params.local != LocalModel::Twin)
                && remote.fresh
                && let Some([_, _, force_n, _]) = remote.contact_force_n
            {
                let ([_, _, z, _], [_, _, vz, _]) =
                    (remote.touch.position_m, remote.touch.velocity_mps);
                self.met.hear(z, vz, force_n);
            }
        }
        let place_m = place_m(handle);
        let pressed = pressed(&felt);
        let timing = Timing::new(inward_mps(handle, &pressed), dt_s);
        // what nobody feels of the twin changes at once and costs nothing
        let unfelt = self.local.is_held();
        let of_twin = if unfelt { Reaction::default() } else { pressed };
        let learnt = learning.take_over(params, place_m, &of_twin, timing);
        let twin = Known {
            touched: felt.contacts > 0,
            confidence: learning.confidence(place_m),
        };
        let law_timing = Timing::new(-handle.velocity_mps[2], dt_s);
        self.local
            .step(params, handle, self.met.surface(), twin, law_timing);
        let changed = self.go_over([felt.contacts > 0, met]);
        let wielded = core::mem::replace(&mut self.wielded, handle.instrument);
        let kinds = [wielded, handle.instrument].map(|one| core::mem::discriminant(&one));
        Prediction {
            relaid: kinds[0] != kinds[1],
            updated: learnt || changed,
            blunted: *blunted,
            parked,
            ..self.prediction(params, handle, &felt)
        }
    }

    /// Before a step: what the hand holds by a reading. Where that says so it has put its tool down and has the other
    /// one; only the twin is touched by two.
    pub fn held(&mut self, reading: &Reading, blunt: bool) -> Touch {
        if reading.swapped {
            self.hands.swap();
        }
        Touch::of(reading, blunt)
    }

    /// Take back, or do again, what the operator asked for: one stroke a tick, after the tick's step, in the order
    /// of asking, so that [`palpate_twin::View::changes`] tells of it. What cannot be done to the remote tissue as
    /// well waits, and instruments only press until nothing waits. Tissue that cannot be revised stays.
    pub fn revise(&mut self, asked: Revisions) {
        let heard = self.heard.get_or_insert(asked);
        for (asked, heard, wish) in [
            (asked.undo, &mut heard.undo, Wish::Undo),
            (asked.redo, &mut heard.redo, Wish::Redo),
        ] {
            while *heard < asked && self.wishes.len() < WISHES {
                *heard += 1;
                self.wishes.push_back(wish);
            }
        }
        if !self.strokes.as_ref().is_none_or(Strokes::may_open) {
            return;
        }
        let (edit, part) = match self.wishes.pop_front() {
            Some(Wish::Undo) => (Edit::Undo, Part::Undone),
            Some(Wish::Redo) => (Edit::Redo, Part::Redone),
            None => return,
        };
        if self.twin.edit(&edit).is_ok()
            && let Some(strokes) = &mut self.strokes
        {
            strokes.note(&self.twin.view(), Some(part));
        }
    }

    /// Do the next stroke of what was done to the remote tissue before this run began; whether it was done. See
    /// [`strokes`].
    pub fn adopt(&mut self, stroke: (Part, &[Change])) -> bool {
        let (strokes, twin) = (&mut self.strokes, self.twin.as_mut());
        strokes
            .as_mut()
            .is_some_and(|strokes| strokes.adopt(twin, stroke))
    }

    /// Whether the hand touched the twin in the last step.
    #[must_use]
    pub const fn is_touched(&self) -> bool {
        self.touched
    }

    /// The next step towards another scene, if there is one to be taken; whether the twin changed. What was
    /// learnt about the former one is forgotten as soon as nobody touches it.
    fn go_over(&mut self, touched: [bool; 2]) -> bool {
        let mut changed = false;
        if let Some(towards) = &mut self.towards {
            let (twin, shadow) = (self.twin.as_mut(), self.shadow.as_mut());
            let change = towards.step(twin, shadow, touched);
            changed = change.changed;
            self.went[0] += change.energy_j;
            self.went[1] += change.felt;
            if towards.is_done() {
                self.towards = None;
            }
        }
        self.outdated |= changed;
        if self.outdated && !touched[0] {
            self.outdated = false;
            if let Some(learning) = &mut self.learning {
                learning.forget();
            }
        }
        changed
    }

    /// What the twin would say now, for a tick that is too late to step it: no time passes for twin,
    /// shadow and learning. The next tick steps as usual.
    pub fn ask(&mut self, params: &PredictParams, handle: &Touch) -> Prediction {
        let (handle, blunted) = &self.allowed(handle);
        let (felt, parked) = self.hands.touch(self.twin.as_mut(), params, handle, 0.0);
        self.asked = true;
        Prediction {
            masked: true,
            blunted: *blunted,
            parked,
            ..self.prediction(params, handle, &felt)
        }
    }

    /// Whether a late tick may ask: never two in a row, or a machine that is always late would never
    /// step its twin.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        !self.asked
    }

    fn prediction(&self, params: &PredictParams, handle: &Touch, felt: &Reaction) -> Prediction {
        let place_m = place_m(handle);
        let learning = self.learning.as_ref();
        let corrections = learning.map(Learning::correction);
        let sum =
            |of: fn(&Correction) -> f64| corrections.map_or(0.0, of) + of(self.local.correction());
        let confidence = learning.map_or(0.0, |learning| learning.confidence(place_m));
        // what holds a blade is the twin's alone: no lesson and no law of a place knows of it
        let edge = felt.edge_n;
        let edge_n = [edge.x, edge.y, edge.z, 0.0];
        let with_edge = |force_n: Axes| core::array::from_fn(|axis| force_n[axis] + edge_n[axis]);
        let edge_j = 0.5 * edge.norm_squared() / params.tool_stiffness_npm;
        let costs = Prediction {
            edge_n,
            edge_j,
            links_cut: self.strokes.as_ref().map_or(0, Strokes::links_cut),
            update_energy_j: self.went[0] + sum(Correction::energy_j),
            corrected: self.went[1] + sum(Correction::corrected),
            confidence,
            to_proxy_m: felt.to_proxy_m.into(),
            ..Prediction::default()
        };
        if let Some(law) = self.local.felt(handle) {
            return Prediction {
                twin_force_n: with_edge([0.0, 0.0, law.rest_n, felt.grip_n]),
                force_n: with_edge([0.0, 0.0, law.force_n, felt.grip_n]),
                energy_j: law.energy_j + edge_j,
                factor: law.factor,
                confidence: law.confidence,
                ..costs
            };
        }
        let pressed = &pressed(felt);
        let factor = learning.map_or(1.0, |learning| learning.factor(place_m, pressed));
        let [x, y, z, grip] = axes(pressed);
        let share = damped(params, handle, pressed, factor);
        Prediction {
            twin_force_n: axes(felt),
            force_n: with_edge([x * share, y * share, z * share, grip]),
            energy_j: self.twin.view().ledger.stored_j(),
            factor,
            ..costs
        }
    }
}

/// What a tissue did to a tool, but for what holds its edge.
fn pressed(felt: &Reaction) -> Reaction {
    let force_n = felt.force_n - felt.edge_n;
    let size_n = force_n.norm();
    let blade = felt.edge_n != Vec3::zeros();
    Reaction {
        force_n,
        edge_n: Vec3::zeros(),
        normal: if blade && size_n > 0.0 {
            force_n / size_n
        } else {
            felt.normal
        },
        ..*felt
    }
}

/// Largest damping of what was learnt \[N s/m\]: what a light handle bears at 1 kHz behind the filter of its
/// velocity.
const DAMPED_NSPM_MAX: f64 = 6.0;

/// The factor with the damping that the learnt stiffness needs: a spring that is felt a tick late makes
/// energy as a damping of `-K T / 2` would (teleop E12), and what a factor adds to the twin's stiffness is
/// not damped by the twin. It never pulls. Ours.
fn damped(params: &PredictParams, handle: &Touch, felt: &Reaction, factor: f64) -> f64 {
    let force_n = felt.force_n.norm();
    let more_npm = (factor - 1.0).max(0.0) * felt.stiffness_npm;
    let nspm = (params.damped_s * more_npm).clamp(0.0, DAMPED_NSPM_MAX);
    let more = nspm * inward_mps(handle, felt) / force_n;
    // never more than the force itself, so that a first touch is no blow
    if force_n > 0.0 && more.is_finite() {
        factor + more.clamp(-factor, factor)
    } else {
        factor
    }
}

/// Speed of a tool into the tissue that answered it \[m/s\].
fn inward_mps(touch: &Touch, felt: &Reaction) -> f64 {
    let [vx, vy, vz, _] = touch.velocity_mps;
    -Vec3::new(vx, vy, vz).dot(&felt.normal)
}

/// Longest step of a tissue \[s\]: just above the tick period that its scene was checked for.
const TISSUE_STEP_S_MAX: f64 = 1.001e-3;

/// Where a tool is in the plane of the surface \[m\].
fn place_m(touch: &Touch) -> [f64; 2] {
    let [x, y, _, _] = touch.position_m;
    [x, y]
}

/// Compare the shadow with what was measured.
fn hear(params: &PredictParams, learning: &mut Learning, expected: &Reaction, remote: &Remote) {
    if let Some((expected_n, measured_n)) = normal_forces(params, expected, remote) {
        let place_m = place_m(&remote.touch);
        learning.hear(place_m, expected_n, measured_n, params.force_n_min);
    } else if expected.contacts == 0 {
        learning.close();
    }
}

/// A reaction as four port axes \[N\].
fn axes(reaction: &Reaction) -> Axes {
    let force = reaction.force_n;
    [force.x, force.y, force.z, reaction.grip_n]
}

/// Share of the least measured force that the twin must expect.
const EXPECTED: f64 = 0.1;

/// Share of it that must be measured: a lesson judges by its own guess, so that a sample is not chosen by
/// its error.
const MEASURED: f64 = 0.5;

/// Expected and measured normal force \[N\], if both say enough to compare.
fn normal_forces(
    params: &PredictParams,
    expected: &Reaction,
    remote: &Remote,
) -> Option<(f64, f64)> {
    let measured = remote.contact_force_n?;
    if remote.touch.closed || expected.contacts == 0 {
        return None;
    }
    let [mx, my, mz, _] = measured;
    let [vx, vy, vz, _] = remote.touch.velocity_mps;
    let felt = Vec3::new(mx, my, mz).dot(&expected.normal);
    let predicted = expected.force_n.dot(&expected.normal);
    let speed = Vec3::new(vx, vy, vz).norm();
    // a twin much softer than the tissue says little, and that little is worth hearing
    let enough = felt > MEASURED * params.force_n_min && predicted > EXPECTED * params.force_n_min;
    (enough && speed < params.speed_mps_max).then_some((predicted, felt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_transport::AXES;

    #[test]
    fn unknown_force_teaches_nothing() {
        let expected = Reaction {
            contacts: 1,
            normal: Vec3::z(),
            ..Reaction::default()
        };
        let touch = Touch {
            position_m: [0.0; AXES],
            velocity_mps: [0.0; AXES],
            closed: false,
            instrument: Instrument::Blunt,
        };
        let remote = Remote {
            touch,
            contact_force_n: None,
            fresh: true,
            strokes: RemoteStrokes::default(),
        };
        assert_eq!(
            normal_forces(&PredictParams::default(), &expected, &remote),
            None
        );
        let twice = Reaction {
            force_n: Vec3::new(0.0, 0.0, 1.0),
            ..expected
        };
        let felt = Remote {
            contact_force_n: Some([0.0, 0.0, 2.0, 0.0]),
            ..remote
        };
        let forces_n = normal_forces(&PredictParams::default(), &twice, &felt);
        assert_eq!(forces_n, Some((1.0, 2.0)));
    }

    /// A blade at a place, or a blunt tool.
    fn handle(x_m: f64, cuts: bool) -> Touch {
        let edge_m = Vec3::new(0.0, 0.0, -0.016);
        Touch {
            position_m: [x_m, 0.0, 0.01, 0.02],
            velocity_mps: [0.0; AXES],
            closed: false,
            instrument: if cuts {
                Instrument::Scalpel { edge_m }
            } else {
                Instrument::Blunt
            },
        }
    }

    #[test]
    fn issue_undo_and_redo_that_waited_lost_their_order() {
        let scene = palpate_scene::load("linked-nodule").expect("built in");
        let tissue = || scene.build().expect("a volume");
        let mut predictor = Predictor::new(tissue(), tissue());
        let whole = predictor.topology();
        let mut asked = Revisions::default();
        let tick = |predictor: &mut Predictor, touch: Touch, topology, asked| {
            let remote = Remote {
                touch: handle(0.0, false),
                contact_force_n: None,
                fresh: true,
                strokes: RemoteStrokes { done: 0, topology },
            };
            let params = PredictParams::default();
            let said = predictor.step(&params, &touch, Some(&remote), 1e-3);
            predictor.revise(asked);
            said
        };
        for step in 0..30 {
            let blade = handle(-0.02 + 1e-3 * f64::from(step), true);
            tick(&mut predictor, blade, whole, asked);
        }
        let open = predictor.topology();
        assert_ne!(open, whole);
        asked.undo += 1;
        tick(&mut predictor, handle(0.0, false), whole, asked);
        assert_eq!(predictor.topology(), whole);
        // while nothing may be opened the operator asks for the cut again, and then for none after all
        for (undo, redo) in [(0, 1), (1, 0)] {
            asked.undo += undo;
            asked.redo += redo;
            tick(&mut predictor, handle(0.0, false), whole ^ 1, asked);
            assert_eq!(predictor.topology(), whole);
        }
        // heard in that order, and before a blade that comes later
        let mut seen = Vec::new();
        for _ in 0..4 {
            let said = tick(&mut predictor, handle(0.01, true), whole, asked);
            seen.push((predictor.topology(), said.blunted));
        }
        // the first tick learns that it may
        assert_eq!(seen[..3], [(open, true), (whole, true), (whole, false)]);
        assert_eq!(predictor.wishes.len(), 0);
    }
}
