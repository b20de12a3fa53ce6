//! Places of the elements of the surface, kept up with what moved.
//!
//! Source: ours (row RN-01). Elements of the surface are listed by run, so that a step looks at those of the runs
//! that moved only, however large the surface is.

use crate::elements::{Elements, NONE};
use crate::marks::Marks;
use crate::weave::Weave;
use palpate_twin::Vec3;

/// Where the elements of the surface are and rest \[m\]. Room is made once.
#[derive(Debug, Clone, Default)]
pub(super) struct Skin {
    at_m: Vec<Vec3>,
    rest_m: Vec<Vec3>,
    /// Numbers of vertices and their elements, those of a run together; last those whose elements are of none.
    listed: Vec<[u32; 2]>,
    /// Where those of a run begin, and where the last one's end.
    from: Vec<u32>,
}

impl Skin {
    /// An empty one, with room for every slot.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            at_m: Vec::with_capacity(slots),
            rest_m: Vec::with_capacity(slots),
            listed: Vec::with_capacity(slots),
            from: Vec::with_capacity(slots + 2),
        }
    }

    /// Where the elements of the surface are \[m\].
    pub(super) fn at_m(&self) -> &[Vec3] {
        &self.at_m
    }

    /// Where they rest \[m\].
    pub(super) fn rest_m(&self) -> &[Vec3] {
        &self.rest_m
    }

    /// Takes the vertices anew: after the surface or the runs changed.
    pub(super) fn lay(&mut self, vertices: &[u32], elements: &Elements<f32>, weave: &Weave) {
        self.rest_m.clear();
        self.rest_m
            .extend(vertices.iter().map(|&element| elements.rest_m(element)));
        self.at_m.clear();
        self.at_m
            .extend(vertices.iter().map(|&element| elements.at_m(element)));
        let loose = weave.runs.len();
        let run_of = |element: u32| match weave.run_of[element as usize] {
            NONE => loose,
            run => run as usize,
        };
        self.from.clear();
        self.from.resize(loose + 2, 0);
        for &element in vertices {
            self.from[run_of(element) + 1] += 1;
        }
        for run in 0..=loose {
            self.from[run + 1] += self.from[run];
        }
        self.listed.clear();
        self.listed.resize(vertices.len(), [NONE; 2]);
        for (number, &element) in (0..).zip(vertices) {
            let run = run_of(element);
            self.listed[self.from[run] as usize] = [number, element];
            self.from[run] += 1;
        }
        // every run's begin is where it ended now
        self.from.copy_within(..=loose, 1);
        self.from[0] = 0;
    }

    /// Looks where the elements of these runs are, and those of none.
    pub(super) fn follow(&mut self, moved: &Marks, elements: &Elements<f32>, weave: &Weave) {
        let mut run = 0;
        while let Some(one) = moved.next(run) {
            self.see(one, elements);
            run = one + 1;
        }
        self.see(weave.runs.len(), elements);
    }

    /// Looks at the vertices of a run.
    fn see(&mut self, run: usize, elements: &Elements<f32>) {
        let Some(&[from, to]) = self.from.get(run..run + 2) else {
            return;
        };
        let listed = self.listed.get(from as usize..to as usize);
        let [x, y, z] = &elements.moved_m;
        for &[number, element] in listed.unwrap_or_default() {
            let (number, slot) = (number as usize, element as usize);
            let there = (self.at_m.get_mut(number), self.rest_m.get(number));
            let moved_m = (x.get(slot), y.get(slot), z.get(slot));
            if let ((Some(at_m), Some(rest_m)), (Some(&x), Some(&y), Some(&z))) = (there, moved_m) {
                *at_m = rest_m + Vec3::from([x, y, z].map(f64::from));
            }
        }
    }
}
