//! Model mediation: the handle feels the twin, the robot follows the hand.
//!
//! Source: teleop E9 and E16. The handle feels a local model at once. What the hand puts into it by pressing, it gets
//! back by releasing, so the master's account needs no stock of its own but a little to begin a touch with. The
//! robot presses a delay later and needs that energy too, from its tank ([`super::robot_tank`]), which is filled by
//! what the hand spends beyond the model's stored energy. The model itself is outside the guarantee: a
//! wrong twin can be felt, it cannot make the channel active.

use super::auto::Blend;
use super::line::LowPass;
use super::method::{MasterPort, Method, Shipment, SlavePort};
use super::robot_tank::{charge, charge_n, offer, surplus};
use super::{AtTwin, Moment, WantedForce, WantedVelocity};
use crate::AXES;

/// Energy that the master keeps for the beginning of a touch \[J\] (ours). Holding a force F for the 2 ms
/// until a device lets go may cost `c1 F + c2 F^2` (a longer time, more than this stock has), c1 some 0.2 mm and c2 some 0.16 mm/N on the
/// lightest handle, and a spring K that is pressed with F has brought only `F^2 / (2 K)`: at 2 000 N/m up to
/// 0.2 mJ less. From nothing, a force would grow over the first 2 mm whatever the model is, so that hard tissue
/// had no surface and then felt harder than it is. Twice that, for a hand that moves.
const STOCK_J: f64 = 4e-4;

/// Cut-off of the handle's velocity that the robot of a mediated session follows \[Hz\]: above that of a hand, tremor
/// included, and 5 ms behind it. What a coarse encoder adds beyond (4 mm/s for steps of 0.03 mm) moves nothing, but
/// its work on the damping of the robot's controller was 1 mW, all that a hand pays on hard tissue, and the robot
/// stopped; a pole here leaves a twentieth of it.
const AHEAD_HZ: f64 = 30.0;

/// Model mediation, alone or with what `auto` feels of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Mmt {
    /// The handle's velocity without the noise of its encoder, at the slave.
    ahead: [LowPass; AXES],
    /// What the hand feels of the twin, at the master; none if it feels nothing else.
    blend: Option<Blend>,
}

impl Method for Mmt {
    /// What the hand feels is not the peer's.
    fn restart(&mut self) {
        self.ahead = [LowPass::default(); AXES];
    }

    fn choose(&mut self, moment: &Moment<'_>, twin: &AtTwin<'_>) {
        if let Some(blend) = &mut self.blend {
            // a force that nobody measures cannot be relayed
            let rtt_s = twin.rtt_s.filter(|_| moment.contact_n(0).is_some());
            let relayed_n = core::array::from_fn(|axis| relayed_n(moment, axis));
            let twin = AtTwin { rtt_s, ..*twin };
            blend.step(&twin, &relayed_n, moment.dt_s);
        }
    }

    fn twin_share(&self) -> f64 {
        self.blend.map_or(1.0, |blend| blend.twin)
    }

    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce {
        let (handle, most_n) = (port.handle, port.moment.params.charge_n_max);
        let tissue_n = self.blend.map_or(handle.twin_n, |blend| {
            blend.force_n(handle.twin_n, relayed_n(port.moment, handle.axis))
        });
        let own_n = charge_n(port.level_j, STOCK_J, most_n, handle.smooth_mps);
        WantedForce::of(wider(charge(port, most_n), own_n) - tissue_n)
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity {
        let (moment, ahead) = (port.moment, &mut self.ahead[port.robot.axis]);
        if !moment.held {
            // when nothing comes any more, the robot stops at once
            *ahead = LowPass::default();
        }
        let calm_mps = ahead.next(port.ahead_mps(), AHEAD_HZ, moment.dt_s);
        WantedVelocity::of(calm_mps + moment.params.follow_hz * port.behind_m)
    }

    fn ship(&mut self, shipment: &mut Shipment<'_>) {
        // a clamp keeps what is not a number, which stops the offer
        let stored_j = STOCK_J + shipment.twin_j.clamp(0.0, f64::INFINITY);
        offer(shipment, stored_j);
    }

    fn ship_back(&mut self, shipment: &mut Shipment<'_>) {
        surplus(shipment);
    }
}

impl Mmt {
    /// With the relayed force in place of the twin's where that is better (`auto`).
    pub(super) fn blended() -> Self {
        Self {
            blend: Some(Blend::default()),
            ..Self::default()
        }
    }
}

/// Force of the tissue on the probe \[N\]; what is not known is not relayed.
fn relayed_n(moment: &Moment<'_>, axis: usize) -> f64 {
    moment.contact_n(axis).unwrap_or(0.0)
}

/// The one of two forces of one sign that is larger.
fn wider(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}
