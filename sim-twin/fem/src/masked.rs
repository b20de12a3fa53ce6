//! What a late tick feels of a continuum: the last full step, gone on by the condensed predictor.
//!
//! Source: ours. With `P` the force of the table ([`super::predictor`]), `F` and `x` force and pose of
//! the last full step, and `w` the predictor's weight, the answer at the pose `y` is
//! `w (F + s (P(y) - P(x))) + (1 - w) F'(y)`, where `F'` is the plain answer of every model
//! ([`palpate_twin::Reaction::moved_by`]). The scale `s`, the size of `F` along `P(x)` over that of `P(x)`,
//! takes in what the twin has learnt and how it swings; the part of `F` across, such as friction,
//! goes as the size of `P`. So the answer is `F` where the last step was, fades into the plain one where
//! the table ends, pulls at nothing, and is nothing where the tool has left.
//!
//! Books: a masked tick moves no tissue and books nothing. The hand moves through it by one tick's way
//! under a force that is off by the error of the answer, and the next full step takes the whole way
//! with a force that is right at its end: the energy that a tick can make is at most its error of
//! force times its way.

use super::compliance::Compliance;
use super::predictor::{Ball, Contacts};
use palpate_twin::Vec3;
use palpate_twin::hold::{Held, Hold};
use palpate_twin::twin::{Reaction, Tool};
use std::sync::Arc;

/// Largest scale of the predictor's force: beyond it, it is not of this tissue.
const SCALE_MAX: f64 = 4.0;

/// A table and room to ask it.
#[derive(Debug, Clone)]
pub struct Masked {
    table: Arc<Compliance>,
    contacts: Contacts,
}

impl Masked {
    /// With the table of a scene, in its frame.
    #[must_use]
    pub fn new(table: Arc<Compliance>) -> Self {
        Self {
            table,
            contacts: Contacts::default(),
        }
    }

    /// Makes the plain answers of `hold` better where the table knows. It knows spheres only.
    pub(crate) fn refine(&mut self, hold: &Hold, tools: &[Tool], reactions: &mut [Reaction]) {
        for (index, (slot, tool)) in reactions.iter_mut().zip(tools).enumerate() {
            if tool.shaft_m != Vec3::zeros() {
                continue;
            }
            if let Some(held) = hold.of(index, tool) {
                self.refine_one(held, tool, slot);
            }
        }
    }

    fn refine_one(&mut self, held: &Held, tool: &Tool, slot: &mut Reaction) {
        let ball = |centre_m: Vec3| Ball {
            centre_m,
            radius_m: tool.radius_m,
            stiffness_npm: tool.stiffness_npm,
        };
        let then = self.contacts.press(&self.table, &ball(held.at_m));
        let now = self.contacts.press(&self.table, &ball(tool.position_m));
        let weight = then.weight.min(now.weight);
        if weight == 0.0 {
            return;
        }
        let force_n = gone_on(held.felt.force_n, then.force_n, now.force_n);
        let force_n = force_n * weight + slot.force_n * (1.0 - weight);
        if force_n == Vec3::zeros() || !force_n.iter().all(|x| x.is_finite()) {
            return;
        }
        if held.felt.contacts > 0 {
            // grip, torque and slopes are those of the plain answer
            slot.force_n = force_n;
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        let contacts = now.touched as u32;
        *slot = Reaction {
            force_n,
            normal: force_n / force_n.norm(),
            contacts: contacts.max(1),
            ..Reaction::default()
        };
    }
}

/// The force of the last step as the predictor changes it from `then` to `now`.
fn gone_on(last_n: Vec3, then_n: Vec3, now_n: Vec3) -> Vec3 {
    let before2 = then_n.norm_squared();
    if before2 == 0.0 {
        return last_n + now_n;
    }
    let scale = (last_n.dot(&then_n) / before2).clamp(0.0, SCALE_MAX);
    let across_n = last_n - then_n * scale;
    now_n * scale + across_n * (now_n.norm_squared() / before2).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moved_changes_nothing_and_what_left_feels_nothing() {
        let last_n = Vec3::new(0.1, 0.0, 0.9);
        let then_n = Vec3::new(0.0, 0.02, 0.7);
        assert!((gone_on(last_n, then_n, then_n) - last_n).amax() < 1e-15);
        assert_eq!(gone_on(last_n, then_n, Vec3::zeros()), Vec3::zeros());
        let doubled = gone_on(last_n, then_n, 2.0 * then_n);
        assert!((doubled - 2.0 * last_n).amax() < 1e-15);
        // a touch that begins is felt as the table says
        assert_eq!(gone_on(Vec3::zeros(), Vec3::zeros(), then_n), then_n);
        // a tissue that was not there, though the table says so, is not made up
        assert_eq!(gone_on(Vec3::zeros(), then_n, then_n * 2.0), Vec3::zeros());
    }
}
