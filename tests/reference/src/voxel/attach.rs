//! Attachments: elements of different volumes that keep their offset, as muscle does to bone.
//!
//! Source: seed-001 row LV-07 and section 3.3.6(e); the source names such constraints and gives no algorithm. Ours:
//! what moves in one volume is a control in the next, round by round, until all offsets are kept or somebody
//! who is held would have to give; then nothing has moved. Links do not know of attachments, so a loop through several
//! volumes costs no consistency of their lattices.

use crate::voxel::to_f64;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::{Control, Exact, Infeasible};

/// Rounds through all volumes in which offsets must be found.
const ROUNDS: usize = 32;

/// An element of one of several volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Which volume.
    pub volume: usize,
    /// Which of its elements.
    pub element: u32,
}

/// Two ends and the way from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Attachment {
    ends: [End; 2],
    offset_m: Vec3,
}

/// Why there is no such attachment, or nothing moved.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AttachError {
    /// An end is not there.
    #[error("there is no element {} in volume {}", .0.element, .0.volume)]
    Gone(End),
    /// Both ends are of one volume, where links are what holds.
    #[error("both ends are of volume {0}; links join elements of one")]
    Same(usize),
    /// A link would be overstretched.
    #[error("volume {volume}: {why}")]
    Infeasible {
        /// In which volume.
        volume: usize,
        /// By what.
        why: Infeasible,
    },
    /// An end is held elsewhere than its attachment would have it.
    #[error("element {} of volume {} is held and cannot follow", .0.element, .0.volume)]
    Held(End),
    /// Offsets were not found in so many rounds.
    #[error("attachments of {0} rounds do not settle")]
    Loop(usize),
}

/// Volumes and what ties them.
#[derive(Debug, Clone)]
pub struct Attached<R> {
    volumes: Vec<Elements<R>>,
    exact: Vec<Exact<R>>,
    attachments: Vec<Option<Attachment>>,
    controls: Vec<Vec<Control<R>>>,
    /// Controls that others asked for, not attachments.
    asked: usize,
    /// Volumes that moved since others were asked to follow them.
    due: Vec<bool>,
    before_m: Vec<[Vec<R>; 3]>,
}

impl<R: Real> Attached<R> {
    /// Volumes with nothing between them.
    #[must_use]
    pub fn new(volumes: Vec<Elements<R>>) -> Self {
        Self {
            exact: volumes.iter().map(|v| Exact::new(v.slots())).collect(),
            controls: volumes.iter().map(|_| Vec::new()).collect(),
            before_m: volumes.iter().map(|v| v.moved_m.clone()).collect(),
            attachments: Vec::new(),
            asked: 0,
            due: vec![false; volumes.len()],
            volumes,
        }
    }

    /// The volumes.
    #[must_use]
    pub fn volumes(&self) -> &[Elements<R>] {
        &self.volumes
    }

    /// One of them, to be edited.
    pub fn volume_mut(&mut self, volume: usize) -> Option<&mut Elements<R>> {
        self.volumes.get_mut(volume)
    }

    fn at_m(&self, end: End) -> Vec3 {
        self.volumes[end.volume].at_m(end.element)
    }

    fn there(&self, end: End) -> bool {
        let volume = self.volumes.get(end.volume);
        volume.is_some_and(|volume| volume.alive(end.element))
    }

    /// Ties two elements at the offset that they have; gives its number, to be detached by.
    ///
    /// # Errors
    /// [`AttachError`] if one is not there or both are of one volume.
    pub fn attach(&mut self, ends: [End; 2]) -> Result<usize, AttachError> {
        if let Some(&end) = ends.iter().find(|&&end| !self.there(end)) {
            return Err(AttachError::Gone(end));
        }
        if ends[0].volume == ends[1].volume {
            return Err(AttachError::Same(ends[0].volume));
        }
        let offset_m = self.at_m(ends[1]) - self.at_m(ends[0]);
        self.attachments.push(Some(Attachment { ends, offset_m }));
        Ok(self.attachments.len() - 1)
    }

    /// Unties; whether there was anything.
    pub fn detach(&mut self, number: usize) -> bool {
        let place = self.attachments.get_mut(number);
        place.and_then(Option::take).is_some()
    }

    /// The largest miss of an offset \[m\]; of ends that are both there.
    #[must_use]
    pub fn worst_m(&self) -> f64 {
        let tied = self.attachments.iter().flatten();
        let miss_m = tied.filter(|tie| tie.ends.iter().all(|&end| self.there(end)));
        let miss_m = miss_m
            .map(|tie| (self.at_m(tie.ends[1]) - self.at_m(tie.ends[0]) - tie.offset_m).amax());
        miss_m.fold(0.0, f64::max)
    }

    /// Puts controls of one volume where they must be; links and attachments move whoever has to follow, in all
    /// volumes.
    ///
    /// # Errors
    /// [`AttachError`] if somebody who is held would have to give; nothing has moved then.
    pub fn propagate(&mut self, volume: usize, controls: &[Control<R>]) -> Result<(), AttachError> {
        if volume >= self.volumes.len() {
            return Err(AttachError::Gone(End { volume, element: 0 }));
        }
        for (before_m, volume) in self.before_m.iter_mut().zip(&self.volumes) {
            for (before_m, moved_m) in before_m.iter_mut().zip(&volume.moved_m) {
                before_m.clone_from(moved_m);
            }
        }
        self.controls.iter_mut().for_each(Vec::clear);
        self.controls[volume].extend_from_slice(controls);
        self.asked = controls.len();
        let done = self.settle(volume);
        if done.is_err() {
            for (before_m, volume) in self.before_m.iter().zip(&mut self.volumes) {
                volume.moved_m.clone_from(before_m);
            }
        }
        done
    }

    fn settle(&mut self, first: usize) -> Result<(), AttachError> {
        self.due.fill(false);
        self.go(first)?;
        for _ in 0..ROUNDS {
            if !self.due.contains(&true) {
                return Ok(());
            }
            for from in 0..self.volumes.len() {
                if std::mem::take(&mut self.due[from]) {
                    self.order(from, first)?;
                }
            }
        }
        Err(AttachError::Loop(ROUNDS))
    }

    fn go(&mut self, volume: usize) -> Result<(), AttachError> {
        let controls = &self.controls[volume];
        self.due[volume] = true;
        let went = self.exact[volume].propagate(&mut self.volumes[volume], controls);
        went.map(|_| ())
            .map_err(|why| AttachError::Infeasible { volume, why })
    }

    /// Moves the volumes that are tied to one that moved.
    fn order(&mut self, from: usize, first: usize) -> Result<(), AttachError> {
        for to in 0..self.volumes.len() {
            let mut due = false;
            for nth in 0..self.attachments.len() {
                let Some(tie) = self.attachments[nth] else {
                    continue;
                };
                let ends = tie.ends.map(|end| end.volume);
                let (own, other, offset_m) = if ends == [from, to] {
                    (tie.ends[0], tie.ends[1], tie.offset_m)
                } else if ends == [to, from] {
                    (tie.ends[1], tie.ends[0], -tie.offset_m)
                } else {
                    continue;
                };
                if self.there(own) && self.there(other) {
                    due |= self.tug(own, other, &offset_m, first)?;
                }
            }
            if due {
                self.go(to)?;
            }
        }
        Ok(())
    }

    /// Makes an end a control if it is not where its other end has it; whether that is so.
    fn tug(
        &mut self,
        own: End,
        other: End,
        offset_m: &Vec3,
        first: usize,
    ) -> Result<bool, AttachError> {
        let elements = &self.volumes[other.volume];
        let to_m = self.at_m(own) + offset_m - elements.rest_m(other.element);
        let to_m: [R; 3] = std::array::from_fn(|axis| R::of(to_m[axis]));
        let at_m = elements.moved_m(other.element);
        let near_m = 1e-12
            * elements
                .frame()
                .spacing_m
                .into_iter()
                .fold(f64::MAX, f64::min);
        let miss_m = |axis: usize| to_f64((to_m[axis] - at_m[axis]).abs());
        let slack_m =
            |axis: usize| near_m.max(to_f64(at_m[axis].abs() * R::default_epsilon()) * 4.0);
        if (0..3).all(|axis| miss_m(axis) <= slack_m(axis)) {
            return Ok(false);
        }
        if elements.pinned(other.element) {
            return Err(AttachError::Held(other));
        }
        let fixed = if other.volume == first { self.asked } else { 0 };
        let controls = &mut self.controls[other.volume];
        match controls.iter().position(|c| c.element == other.element) {
            Some(nth) if nth < fixed => return Err(AttachError::Held(other)),
            Some(nth) => controls[nth].to_m = to_m,
            None => controls.push(Control {
                element: other.element,
                to_m,
            }),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::bodies::{Judged as _, Printed as _};
    use palpate_voxel::elements::{Frame, Seed};
    use palpate_voxel::limits::Limits;
    use palpate_voxel::matter::Matter;

    /// A row of so many elements along x, from a place on.
    fn row(count: i32, from_m: [f64; 3]) -> Elements<f64> {
        let frame = Frame {
            origin_m: from_m.into(),
            spacing_m: [1.0, 0.7, 1.3],
        };
        let sites =
            (0..count).flat_map(|x| (0..3).flat_map(move |y| (0..3).map(move |z| [x, y, z])));
        let seed = |site| Seed {
            site,
            matter: 0,
            object: 0,
        };
        let matter = Matter {
            limits: Limits::MEDIUM,
            ..Matter::of_young("m", 1e3, 0.0)
        };
        Elements::new(frame, vec![matter], &sites.map(seed).collect::<Vec<_>>()).expect("fit")
    }

    fn end(attached: &Attached<f64>, volume: usize, site: [i32; 3]) -> End {
        let element = attached.volumes[volume].at_site(site).expect("there");
        End { volume, element }
    }

    fn drag(attached: &mut Attached<f64>, at: End, by_m: [f64; 3]) -> Result<(), AttachError> {
        let moved_m = attached.volumes[at.volume].moved_m(at.element);
        let to_m = std::array::from_fn(|axis| moved_m[axis] + by_m[axis]);
        attached.propagate(
            at.volume,
            &[Control {
                element: at.element,
                to_m,
            }],
        )
    }

    fn number(draw: &mut u64) -> f64 {
        *draw = draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*draw >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Three volumes, tied in a ring and two of them twice: whoever is moved, offsets stay.
    #[test]
    fn lv_07_attached_elements_keep_their_offset_while_either_moves() {
        let rows = [
            row(8, [0.0; 3]),
            row(7, [0.3, 5.0, 0.1]),
            row(9, [3.1, 9.0, -2.0]),
        ];
        let mut attached = Attached::new(rows.to_vec());
        for (a, b) in [
            ((0, [1, 2, 1]), (1, [0, 0, 1])),
            ((0, [6, 2, 1]), (1, [6, 0, 1])),
            ((1, [3, 2, 0]), (2, [0, 0, 2])),
            ((2, [8, 1, 1]), (0, [7, 0, 0])),
        ] {
            let ends = [end(&attached, a.0, a.1), end(&attached, b.0, b.1)];
            attached.attach(ends).expect("can");
        }
        let (mut draw, mut done) = (7, 0);
        for nth in 0..600 {
            let volume = nth % 3;
            let element = (nth * 37) as u32 % attached.volumes[volume].slots();
            let by_m = std::array::from_fn(|_| number(&mut draw));
            let before = attached.clone();
            match drag(&mut attached, End { volume, element }, by_m) {
                Ok(()) => done += 1,
                Err(_) => assert!(attached.volumes == before.volumes, "moved though refused"),
            }
            assert!(attached.worst_m() <= 1e-9, "{nth}: {}", attached.worst_m());
            for volume in &attached.volumes {
                assert!(volume.worst_m() <= 1e-9, "{nth}");
            }
        }
        assert!(done > 500, "{done}");
        for (volume, row) in attached.volumes.iter().zip(&rows) {
            assert!(volume.moved_m != row.moved_m);
        }
    }

    #[test]
    fn lv_07_detaching_restores_freedom_and_a_held_end_refuses() {
        let mut attached = Attached::new(vec![row(6, [0.0; 3]), row(6, [0.0, 4.0, 0.0])]);
        let ends = [end(&attached, 0, [2, 2, 1]), end(&attached, 1, [2, 0, 1])];
        let tie = attached.attach(ends).expect("can");
        drag(&mut attached, ends[0], [3.0, -1.0, 0.5]).expect("free");
        assert!((attached.at_m(ends[1]) - Vec3::new(5.0, 3.0, 1.8)).norm() < 1e-9);
        // the other way
        drag(&mut attached, ends[1], [-3.0, 1.0, -0.5]).expect("free");
        assert!((attached.at_m(ends[0]) - Vec3::new(2.0, 1.4, 1.3)).norm() < 1e-9);
        attached
            .volume_mut(1)
            .expect("there")
            .pin(ends[1].element, true);
        let before = attached.volumes.clone();
        assert_eq!(
            drag(&mut attached, ends[0], [0.1, 0.0, 0.0]),
            Err(AttachError::Held(ends[1]))
        );
        assert!(attached.volumes == before);
        assert!(attached.detach(tie) && !attached.detach(tie));
        drag(&mut attached, ends[0], [0.1, 0.0, 0.0]).expect("free");
        assert!(attached.volumes[1] == before[1] && attached.volumes[0] != before[0]);
        let same = End {
            volume: 0,
            element: 0,
        };
        assert_eq!(attached.attach([ends[0], same]), Err(AttachError::Same(0)));
        let gone = End {
            volume: 0,
            element: 999,
        };
        assert_eq!(
            attached.attach([gone, ends[1]]),
            Err(AttachError::Gone(gone))
        );
    }
}
