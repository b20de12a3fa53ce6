//! Master's end of the coupling.
//!
//! A tick calls [`MasterEnd::record_work`] for each axis with the work of the last force, then
//! [`MasterEnd::begin_tick`] once. Then for each axis it calls [`MasterEnd::demand`] for the method's force and,
//! after the limits of guard and tank, [`MasterEnd::send`] for the wave and energy to the other side.

use super::blade::BladeForce;
use super::channel_end::ChannelEnd;
use super::method::{EnergyTransfer, FeedbackKind, MasterPort};
use super::mode_switch::Crossfade;
use super::{
    CouplingInputs, EnergyTank, ForceDemand, HandleAxis, ImpedanceMatching, TwinInputs, wave,
};
use crate::{AXES, Axes};

/// Remainder of a crossfade that is imperceptible \[N\].
const CROSSFADE_N_MIN: f64 = 1e-6;

/// A force commanded at the master's port.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CommandedForce {
    /// Port force \[N\].
    pub force_n: f64,
    /// Energy that stays in the tank for it \[J\].
    pub reserve_j: f64,
}

/// State of the coupling at the master.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MasterEnd {
    channel: ChannelEnd,
    blade: BladeForce,
    /// Crossfades from the force of another method or instrument.
    crossfades: [Crossfade; AXES],
}

impl MasterEnd {
    /// Resets the sums for a peer that restarted; the blade and the crossfades do not depend on the peer.
    pub fn restart(&mut self) {
        self.channel.restart();
    }

    /// Records the work of the last tick's force \[J\] over `moved_m`.
    pub fn record_work(&mut self, axis: usize, work_j: f64, moved_m: f64) {
        let channel_j = work_j - self.blade.record_work(axis, moved_m);
        self.channel
            .active
            .get_mut()
            .record_work(axis, channel_j, moved_m);
    }

    /// Begins a tick, in the mode of its parameters.
    pub fn begin_tick(&mut self, inputs: &CouplingInputs<'_>, twin: &TwinInputs<'_>) {
        if self.channel.begin_tick(inputs) || twin.force_jumps {
            self.crossfades.iter_mut().for_each(Crossfade::begin);
        }
        self.channel.active.get_mut().observe_twin(inputs, twin);
    }

    /// Force demand on one axis: the method's force and the force on the operator's blade, which every mode renders.
    pub fn demand(
        &mut self,
        inputs: &CouplingInputs<'_>,
        handle: &HandleAxis,
        tank: &EnergyTank,
    ) -> ForceDemand {
        let axis = handle.axis;
        let demand = self.channel.active.get_mut().force(&MasterPort {
            inputs,
            handle,
            spacing: self.channel.spacing,
            level_j: tank.level_j()[axis],
            blade_energy_j: self.blade.recoverable_j[axis],
        });
        let demanded_n = demand.force_n - self.unrelayed_blade_force_n(handle);
        self.blade.demanded_n[axis] = demanded_n;
        let crossfade = &mut self.crossfades[axis];
        ForceDemand {
            force_n: crossfade.blended(
                demanded_n,
                handle.last_force_n,
                CROSSFADE_N_MIN,
                inputs.dt_s,
            ),
            ..demand
        }
    }

    /// Sends the wave of this tick and its energy; returns the wave \[sqrt(W)\].
    pub fn send(
        &mut self,
        inputs: &CouplingInputs<'_>,
        handle: &HandleAxis,
        written: &CommandedForce,
        tank: &mut EnergyTank,
    ) -> f64 {
        let (axis, mode, v) = (handle.axis, inputs.params.mode, handle.velocity_mps);
        let b = inputs.sent_impedance_nspm(axis);
        let edge_n = self.unrelayed_blade_force_n(handle);
        let blade_n = self.blade.write(axis, written.force_n, edge_n);
        let matched = mode.sends_waves() && inputs.params.matching == ImpedanceMatching::Both;
        let wave = if matched {
            wave::matched_forward(b, v)
        } else {
            // the channel carries no force of the blade
            wave::forward(b, v, written.force_n - blade_n)
        };
        let sent = self.channel.send(inputs, axis, wave);
        let recoverable_j = &mut self.blade.recoverable_j[axis];
        if !mode.is_passive() || mode.feedback() == FeedbackKind::Twin {
            // energy that such a method sent may include the blade's; the level bounds what remains of it
            *recoverable_j = recoverable_j.min(tank.level_j()[axis].max(0.0));
        }
        self.channel.active.get_mut().transfer(&mut EnergyTransfer {
            inputs,
            axis,
            wave_j: 0.5 * sent * sent * inputs.dt_s,
            reserve_j: written.reserve_j,
            blade_energy_j: *recoverable_j,
            twin_energy_j: handle.twin_energy_j,
            tank,
        });
        sent
    }

    /// Integral of the waves sent since the peer's run began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.channel.wave_integral
    }

    /// Fraction of the twin's force in the rendered force, 0 to 1; the rest is relayed.
    #[must_use]
    pub fn twin_share(&self) -> f64 {
        self.channel.active.get().twin_fraction()
    }

    /// Part of the blade's force that the method's rendered force lacks \[N\].
    fn unrelayed_blade_force_n(&self, handle: &HandleAxis) -> f64 {
        (1.0 - self.twin_share()) * handle.blade_force_n
    }
}
