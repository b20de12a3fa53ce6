//! Lag of a calibrated contact: the force that its penalty and its depth map lack beside viscous tissue.
//!
//! Source: ours. The penalty is a spring in series with the tissue, so a viscous tissue would lead its depth by less than
//! its material does. Let `phi` be the dynamic shear modulus of the top over the relaxed one, and `s` the part of the
//! relaxed compliance that is the penalty's. By the correspondence principle of linear viscoelasticity the tissue gives
//! the force `phi K`, and the tissue in series with the spring gives `phi K / (1 - s + s phi)`. The force is
//! therefore multiplied by `1 + s (phi - 1)`: the changes of the elastic penalty's force act on a dashpot and on the
//! branches of the top. A constant force is not changed. The depth map has `s` ([`super::DepthKnot::contact_share`]).
//!
//! The map gives the force `g' F` with its slope `g'`. Of the tissue's `phi * (g' F)` it has `g' (phi * F)`, so a change of
//! the slope acts as a change of the force does.
//!
//! The force is passive by its account: it gives back only energy that it took, and loses what it keeps within the longest
//! time of the material.

use super::skin::ToolContact;
use palpate_twin::Vec3;
use palpate_twin::law::{BRANCHES_MAX, CellMaterial, RelaxingShare};

/// Dynamic modulus of the top over the relaxed one: `1 + i w lag + sum of ratio i w t / (1 + i w t)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ContactViscosity {
    /// Viscosity over the relaxed shear modulus \[s\].
    lag_s: f64,
    /// Branches; the share is that of the relaxed modulus.
    branches: [RelaxingShare; BRANCHES_MAX],
    /// Longest time of all \[s\]; 0 for elastic tissue.
    longest_s: f64,
}

impl ContactViscosity {
    /// Mean of the cells below the top.
    pub(super) fn mean<'a>(cells: impl Iterator<Item = &'a CellMaterial>) -> Self {
        let mut mean = Self {
            lag_s: 0.0,
            branches: [RelaxingShare {
                share: 0.0,
                time_s: 0.0,
            }; BRANCHES_MAX],
            longest_s: 0.0,
        };
        let mut count = 0.0;
        for cell in cells {
            count += 1.0;
            let left = 1.0 - cell.viscosity.share();
            mean.lag_s += cell.viscosity.shear_pas / (cell.moduli.mu_pa * left);
            for (sum, own) in mean.branches.iter_mut().zip(cell.viscosity.used()) {
                sum.share += own.share / left;
                sum.time_s += own.share / left * own.time_s;
            }
        }
        mean.lag_s /= f64::max(count, 1.0);
        mean.longest_s = mean.lag_s;
        for sum in mean.branches.iter_mut().filter(|sum| sum.share > 0.0) {
            sum.time_s /= sum.share;
            sum.share /= count;
            mean.longest_s = mean.longest_s.max(sum.time_s);
        }
        mean
    }

    pub(super) fn is_elastic(&self) -> bool {
        self.longest_s == 0.0
    }
}

/// State of one tool body; without units but for times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ContactLag {
    /// Force of the penalty at the end of the last tick.
    pub(super) force: f64,
    /// Forces of the branches.
    pub(super) branches: [f64; BRANCHES_MAX],
    /// Slope of the depth map there; 0 before the first contact.
    pub(super) slope: f64,
    /// Energy that it took and has not lost.
    pub(super) energy: f64,
}

/// Force that a [`ContactLag`] adds to that on the tool, and energies of a tick, without units.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LagForce {
    pub(super) force: Vec3,
    /// Work that the tool did on it.
    pub(super) work: f64,
    pub(super) dissipated: f64,
}

impl ContactLag {
    /// Advances by a tick of `dt_s` in which the body moved by `displacement` and met the mean force `mean`.
    pub(super) fn advance(
        &mut self,
        viscosity: &ContactViscosity,
        mapped: MappedContact,
        contact: &ToolContact,
        tick: &BodyTick,
    ) -> LagForce {
        let now = Vec3::from(contact.force);
        let size = now.norm();
        if size == 0.0 || mapped.slope == 0.0 {
            let dissipated = std::mem::take(self).energy;
            return LagForce {
                dissipated,
                ..LagForce::default()
            };
        }
        let normal = now / size;
        // a first contact has no force
        let bent = match self.slope > 0.0 {
            true => 2.0 * (mapped.slope - self.slope) / (mapped.slope + self.slope),
            false => 0.0,
        };
        let rise = mapped.share * (size - self.force) + bent * 0.5 * (size + self.force);
        (self.force, self.slope) = (size, mapped.slope);
        let mut added = viscosity.lag_s * rise / tick.dt_s;
        for (own, force) in viscosity.branches.iter().zip(&mut self.branches) {
            if own.share > 0.0 {
                let half = 0.5 * tick.dt_s / own.time_s;
                let next = ((1.0 - half) * *force + own.share * rise) / (1.0 + half);
                added += 0.5 * (*force + next);
                *force = next;
            }
        }
        // the contact does not pull
        added = added.max(-tick.mean.dot(&normal).max(0.0));
        let inwards = -tick.displacement.dot(&normal);
        if self.energy + added * inwards < 0.0 {
            added = -self.energy / inwards;
        }
        let work = added * inwards;
        let kept = (self.energy + work).max(0.0);
        let dissipated = kept * tick.dt_s / (tick.dt_s + viscosity.longest_s);
        self.energy = kept - dissipated;
        LagForce {
            force: normal * added,
            work,
            dissipated,
        }
    }
}

/// Contact of a body with a depth map.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct MappedContact {
    /// Part of the relaxed compliance that is the contact's.
    pub(super) share: f64,
    /// Derivative of the depth in the model by that in the tissue; 0 without a map.
    pub(super) slope: f64,
}

/// Tick of one body: its duration \[s\], displacement and mean force, without units.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyTick {
    pub(super) dt_s: f64,
    pub(super) displacement: Vec3,
    pub(super) mean: Vec3,
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::law::{Material, Viscosity};

    /// Material with a relaxed lag of 20 ms, and half of the relaxed modulus in a branch of 100 ms.
    fn viscosity() -> ContactViscosity {
        let mut own = Viscosity {
            shear_pas: 40.0,
            ..Viscosity::NONE
        };
        own.branches[0] = RelaxingShare {
            share: 1.0 / 3.0,
            time_s: 0.1,
        };
        let material = Material::new(6e3, 0.0, 1e3).unwrap();
        let cell = material.with_viscosity(own).unwrap().cell_material();
        ContactViscosity::mean([cell, cell].iter())
    }

    fn contact(force: f64) -> ToolContact {
        ToolContact {
            force: [0.0, 0.0, force],
            ..ToolContact::default()
        }
    }

    #[test]
    fn a_sine_leads_by_the_share_of_the_dynamic_modulus() {
        let (viscosity, dt_s, share) = (viscosity(), 1e-4, 0.1);
        for hz in [1.0, 5.0, 20.0_f64] {
            let turn = std::f64::consts::TAU * hz * dt_s;
            // what the start excites has decayed after a second
            let (period, periods) = ((1.0 / (hz * dt_s)).round(), hz + 1.0);
            let (mut lag, mut with, mut before) = (ContactLag::default(), 0.0, 0.0);
            for step in 1..=(period * periods) as u32 {
                // the middle of the tick
                let (sine, cosine) = libm::sincos(turn * (f64::from(step) - 0.5));
                let mapped = MappedContact { share, slope: 1.0 };
                let tick = BodyTick {
                    dt_s,
                    displacement: Vec3::z() * -1.0,
                    mean: Vec3::z() * 10.0,
                };
                lag.energy = 1e3;
                let now = contact(10.0 + libm::sin(turn * f64::from(step)));
                let added = lag.advance(&viscosity, mapped, &now, &tick).force.z;
                if f64::from(step) > period * (periods - 1.0) {
                    with += added * sine * 2.0 / period;
                    before += added * cosine * 2.0 / period;
                }
            }
            let w = std::f64::consts::TAU * hz;
            let x = 0.1 * w;
            let branch = [0.5 * x * x / (1.0 + x * x), 0.5 * x / (1.0 + x * x)];
            let expected = [share * branch[0], share * (0.02 * w + branch[1])];
            assert!(
                (with - expected[0]).abs() < 2e-3,
                "{hz}: {with} {expected:?}"
            );
            assert!(
                (before - expected[1]).abs() < 2e-3,
                "{hz}: {before} {expected:?}"
            );
        }
    }

    #[test]
    fn any_motion_and_force_gets_back_at_most_what_it_gave() {
        let (viscosity, mut lag, mut word) = (viscosity(), ContactLag::default(), 1_u32);
        let mut next = || {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(word >> 8) / f64::from(1 << 24)
        };
        let (mut work, mut lost) = (0.0, 0.0);
        for _ in 0..10_000 {
            let force = (4.0 * next() - 0.5).max(0.0);
            let tick = BodyTick {
                dt_s: 1e-3,
                displacement: Vec3::z() * (next() - 0.5),
                mean: Vec3::z() * force,
            };
            let mapped = MappedContact {
                share: 0.5 * next(),
                slope: 0.5 + next(),
            };
            let added = lag.advance(&viscosity, mapped, &contact(force), &tick);
            assert!(force + added.force.z >= -1e-12);
            assert!((added.work + added.force.z * tick.displacement.z).abs() < 1e-12);
            assert!(added.dissipated >= 0.0);
            work += added.work;
            lost += added.dissipated;
            assert!(
                (work - lost - lag.energy).abs() < 1e-9,
                "{work} {lost} {lag:?}"
            );
            assert!(lag.energy >= 0.0);
        }
        assert!(work > 1.0, "{work}");
    }
}
