//! Changes between steps: local stiffness, cuts, and springs that find back afterwards.
//!
//! Source: teleop E16 (passive model update) spring by spring, row S4-10. Stiffening keeps the
//! force of a spring and moves its rest, softening keeps the rest; both take energy out. Rests
//! move back only while that takes no energy in, or, out of contact, within what edits have
//! taken out before: of passive edits, [`palpate_twin::Ledger::edit_j`] never rises above zero.

use crate::idms::Idms;
use crate::idms::build::{SCALE_MAX, SCALE_MIN};
use palpate_twin::Vec3;
use palpate_twin::twin::{Edit, EditError, EditReport};

/// Steps between two moves of shifted rests.
const RELAX_STEPS: u64 = 8;
/// Shift over reference length that counts as gone.
const GONE: f64 = 1e-9;

impl Idms {
    /// The body of [`palpate_twin::Tissue::edit`].
    pub(super) fn change(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        let report = match *edit {
            Edit::Stiffen {
                center_m,
                radius_m,
                factor,
                passive,
            } => {
                check(
                    "center_m",
                    center_m.norm(),
                    f64::is_finite,
                    "finite numbers",
                )?;
                let positive = |value: f64| value > 0.0 && value.is_finite();
                let expected = "a finite number greater than 0";
                check("radius_m", radius_m, positive, expected)?;
                check("factor", factor, positive, expected)?;
                self.stiffen(center_m, radius_m, factor, passive)
            }
            Edit::Cut { point_m, normal } => {
                check("point_m", point_m.norm(), f64::is_finite, "finite numbers")?;
                let proper = |value: f64| value > 0.0 && value.is_finite();
                check("normal", normal.norm(), proper, "a vector longer than 0")?;
                self.cut(point_m, normal)
            }
            _ => return Err(EditError::Kind(edit.kind())),
        };
        self.book(report.energy_j);
        Ok(report)
    }

    /// Enter an edit's energy; forces and lists are made anew before the next sub-step.
    fn book(&mut self, energy_j: f64) {
        self.state.ledger.edit_j += energy_j;
        self.state.ledger.elastic_j += energy_j;
        self.scratch.stale = true;
    }

    fn stiffen(&mut self, center_m: Vec3, radius_m: f64, factor: f64, passive: bool) -> EditReport {
        let surface = self.surface_nodes();
        let most = SCALE_MAX.min(self.model.scale_max);
        for node in 0..surface {
            let far = (self.model.rest_m[node] - center_m).norm() / radius_m;
            let scale = &mut self.state.scale[node];
            if far < 1.0 {
                let wanted = *scale * (1.0 + (factor - 1.0) * (1.0 - far));
                *scale = wanted.clamp(SCALE_MIN, most);
            }
        }
        self.inherit(surface);
        let mut report = EditReport::default();
        for node in 0..self.model.rest_m.len() {
            let to_k = self.model.home_k[node] * self.state.scale[node];
            if to_k != self.state.home_k[node] {
                report.elements += 1;
                report.energy_j += self.set_home(node, to_k, passive);
            }
        }
        for spring in 0..self.model.springs.len() {
            let [a, b] = self.model.springs[spring].ends.map(|end| end as usize);
            let mean = 0.5 * (self.state.scale[a] + self.state.scale[b]);
            let to_k = self.model.springs[spring].stiffness_npm * mean;
            if to_k != self.state.spring_k[spring] && self.state.spring_alive[spring] {
                report.elements += 1;
                report.energy_j += self.set_spring(spring, to_k, passive);
            }
        }
        report
    }

    /// Nodes below the surface take the mean of the surface nodes they are linked to.
    fn inherit(&mut self, surface: usize) {
        for node in surface..self.model.rest_m.len() {
            let (mut sum, mut count) = (0.0, 0_u32);
            for &spring in self.model.star.of(node) {
                let other = self.model.springs[spring as usize].other(node);
                if other < surface {
                    sum += self.state.scale[other];
                    count += 1;
                }
            }
            if count > 0 {
                self.state.scale[node] = sum / f64::from(count);
            }
        }
    }

    /// Give a home spring another stiffness; returns the energy that this put in \[J\].
    fn set_home(&mut self, node: usize, to_k: f64, passive: bool) -> f64 {
        let law = self.model.params.law;
        let length_m = self.model.home_length_m[node];
        let from_k = self.state.home_k[node];
        let u = self.state.x_m[node] - self.model.rest_m[node];
        let shift = &mut self.state.home_shift_m[node];
        let stretch = (u - *shift).norm();
        let old = law.pull(stretch, length_m);
        let mut kept = stretch;
        if passive && to_k > from_k && stretch > 0.0 {
            kept = law.extension(from_k / to_k * old.secant * stretch, length_m);
            *shift = u - kept / stretch * (u - *shift);
            self.state.shifted = true;
        }
        self.state.home_k[node] = to_k;
        to_k * law.pull(kept, length_m).energy - from_k * old.energy
    }

    /// The same for a link.
    fn set_spring(&mut self, spring: usize, to_k: f64, passive: bool) -> f64 {
        let law = self.model.params.law;
        let length_m = self.model.springs[spring].length_m;
        let from_k = self.state.spring_k[spring];
        let extension = self.extension(spring);
        let old = law.pull(extension, length_m);
        let mut kept = extension;
        if passive && to_k > from_k && extension != 0.0 {
            kept = law.extension(from_k / to_k * old.secant * extension, length_m);
            self.state.spring_shift_m[spring] += extension - kept;
            self.state.shifted = true;
        }
        self.state.spring_k[spring] = to_k;
        to_k * law.pull(kept, length_m).energy - from_k * old.energy
    }

    /// Length of a link beyond its shifted rest \[m\].
    fn extension(&self, spring: usize) -> f64 {
        let [a, b] = self.model.springs[spring]
            .ends
            .map(|end| self.state.x_m[end as usize]);
        (b - a).norm() - self.model.springs[spring].length_m - self.state.spring_shift_m[spring]
    }

    /// Remove links and faces that cross a plane in the rest configuration; mass stays.
    fn cut(&mut self, point_m: Vec3, normal: Vec3) -> EditReport {
        let mut report = EditReport::default();
        let model = std::sync::Arc::clone(&self.model);
        let front = |node: u32| (model.rest_m[node as usize] - point_m).dot(&normal) >= 0.0;
        for (spring, parts) in model.springs.iter().enumerate() {
            let [a, b] = parts.ends;
            if self.state.spring_alive[spring] && front(a) != front(b) {
                let pull = model
                    .params
                    .law
                    .pull(self.extension(spring), parts.length_m);
                report.energy_j -= self.state.spring_k[spring] * pull.energy;
                report.elements += 1;
                self.state.spring_alive[spring] = false;
                self.wake(a as usize);
                self.wake(b as usize);
            }
        }
        for (index, &[a, b, c]) in model.faces.iter().enumerate() {
            if front(a) != front(b) || front(b) != front(c) {
                self.state.face_alive[index] = false;
            }
        }
        self.reload_faces();
        report
    }

    /// Let shifted rests find back, every few steps.
    pub(super) fn relax(&mut self, dt_s: f64) {
        if !self.state.shifted || !self.state.steps.is_multiple_of(RELAX_STEPS) {
            return;
        }
        let keep = libm::exp(-dt_s * RELAX_STEPS as f64 / self.model.params.relax_s);
        let loaded = self
            .state
            .tools
            .iter()
            .any(|tool| tool.energy_j[0] + tool.energy_j[1] > 0.0);
        let mut gained_j = 0.0;
        let mut left = false;
        for node in 0..self.model.rest_m.len() {
            left |= self.relax_home(node, keep, loaded, &mut gained_j);
        }
        for spring in 0..self.model.springs.len() {
            left |= self.relax_spring(spring, keep, loaded, &mut gained_j);
        }
        self.state.shifted = left;
        self.book(gained_j);
    }

    /// Whether a move of a rest that puts in `gain_j` is allowed.
    fn affordable(&self, gain_j: f64, loaded: bool, gained_j: f64) -> bool {
        gain_j <= 0.0 || (!loaded && self.state.ledger.edit_j + gained_j + gain_j <= 0.0)
    }

    fn relax_home(&mut self, node: usize, keep: f64, loaded: bool, gained_j: &mut f64) -> bool {
        let shift = self.state.home_shift_m[node];
        let length_m = self.model.home_length_m[node];
        if shift == Vec3::zeros() {
            return false;
        }
        let next = if shift.norm() < GONE * length_m {
            Vec3::zeros()
        } else {
            keep * shift
        };
        let u = self.state.x_m[node] - self.model.rest_m[node];
        let energy = |shift: Vec3| {
            self.state.home_k[node]
                * self
                    .model
                    .params
                    .law
                    .pull((u - shift).norm(), length_m)
                    .energy
        };
        let gain_j = energy(next) - energy(shift);
        if self.affordable(gain_j, loaded, *gained_j) {
            self.state.home_shift_m[node] = next;
            *gained_j += gain_j;
            self.wake(node);
        }
        self.state.home_shift_m[node] != Vec3::zeros()
    }

    fn relax_spring(&mut self, spring: usize, keep: f64, loaded: bool, gained_j: &mut f64) -> bool {
        let shift = self.state.spring_shift_m[spring];
        if shift == 0.0 || !self.state.spring_alive[spring] {
            return false;
        }
        let length_m = self.model.springs[spring].length_m;
        let next = if shift.abs() < GONE * length_m {
            0.0
        } else {
            keep * shift
        };
        let extension = self.extension(spring);
        let energy = |extension: f64| {
            self.state.spring_k[spring] * self.model.params.law.pull(extension, length_m).energy
        };
        let gain_j = energy(extension + shift - next) - energy(extension);
        if self.affordable(gain_j, loaded, *gained_j) {
            self.state.spring_shift_m[spring] = next;
            *gained_j += gain_j;
            let [a, b] = self.model.springs[spring].ends;
            self.wake(a as usize);
            self.wake(b as usize);
        }
        self.state.spring_shift_m[spring] != 0.0
    }
}

fn check(
    field: &'static str,
    value: f64,
    right: impl Fn(f64) -> bool,
    expected: &'static str,
) -> Result<(), EditError> {
    if right(value) {
        Ok(())
    } else {
        Err(EditError::Field {
            field,
            value,
            expected,
        })
    }
}
