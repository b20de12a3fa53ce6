//! The master's end of the coupling.
//!
//! A tick calls [`MasterEnd::book`] for each axis, for what the force of the last tick did, [`MasterEnd::begin`]
//! once, then for each axis [`MasterEnd::demand`] for the force that the method wants, and, when account and guard
//! have spoken, [`MasterEnd::send`] for what goes to the other side.

use super::blade::Blade;
use super::end::End;
use super::method::{Felt, MasterPort, Shipment};
use super::switch::Ease;
use super::{AtHandle, AtTwin, Matching, Moment, Reservoir, WantedForce, wave};
use crate::{AXES, Axes};

/// Force of the method before that nobody feels any more \[N\].
const EASED_N: f64 = 1e-6;

/// A force that is held at the master's port.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Written {
    /// Port force \[N\].
    pub force_n: f64,
    /// Energy that stays in the account for it \[J\].
    pub reserve_j: f64,
}

/// What the coupling remembers at the master.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MasterEnd {
    end: End,
    blade: Blade,
    /// What is left of the force before, of another method or instrument.
    eases: [Ease; AXES],
}

impl MasterEnd {
    /// With a peer that began anew, sums count from 0 again; what the hand feels is not the peer's.
    pub fn restart(&mut self) {
        self.end.restart();
    }

    /// Note the work that the force of the last tick did \[J\] over `moved_m`.
    pub fn book(&mut self, axis: usize, work_j: f64, moved_m: f64) {
        let line_j = work_j - self.blade.book(axis, moved_m);
        self.end.running.get_mut().book(axis, line_j, moved_m);
    }

    /// Begin a tick, in the mode of its parameters.
    pub fn begin(&mut self, moment: &Moment<'_>, twin: &AtTwin<'_>) {
        if self.end.begin(moment) || twin.leaps {
            self.eases.iter_mut().for_each(Ease::begin);
        }
        self.end.running.get_mut().choose(moment, twin);
    }

    /// What the method wants on one axis, and what holds the operator's blade, which every method lets the hand feel.
    pub fn demand(
        &mut self,
        moment: &Moment<'_>,
        handle: &AtHandle,
        account: &Reservoir,
    ) -> WantedForce {
        let axis = handle.axis;
        let wanted = self.end.running.get_mut().force(&MasterPort {
            moment,
            handle,
            spacing: self.end.spacing,
            level_j: account.level_j()[axis],
            kept_j: self.blade.kept_j[axis],
        });
        let demanded_n = wanted.force_n - self.edge_n(handle);
        self.blade.demanded_n[axis] = demanded_n;
        let ease = &mut self.eases[axis];
        WantedForce {
            force_n: ease.eased(demanded_n, handle.last_n, EASED_N, moment.dt_s),
            ..wanted
        }
    }

    /// Send the wave of this tick and the energy that goes with it; returns the wave \[sqrt(W)\].
    pub fn send(
        &mut self,
        moment: &Moment<'_>,
        handle: &AtHandle,
        written: &Written,
        account: &mut Reservoir,
    ) -> f64 {
        let (axis, mode, v) = (handle.axis, moment.params.mode, handle.velocity_mps);
        let b = moment.own_nspm(axis);
        let edge_n = self.edge_n(handle);
        let blade_n = self.blade.write(axis, written.force_n, edge_n);
        let matched = mode.sends_waves() && moment.params.matching == Matching::Both;
        let made = if matched {
            wave::matched_forward(b, v)
        } else {
            // the line carries what it brought
            wave::forward(b, v, written.force_n - blade_n)
        };
        let sent = self.end.send(moment, axis, made);
        let kept_j = &mut self.blade.kept_j[axis];
        if !mode.is_passive() || mode.felt() == Felt::Twin {
            // what such a method sent on is nobody's to keep; what a line that keeps it borrows, it gives back first
            *kept_j = kept_j.min(account.level_j()[axis].max(0.0));
        }
        self.end.running.get_mut().ship(&mut Shipment {
            moment,
            axis,
            wave_j: 0.5 * sent * sent * moment.dt_s,
            reserve_j: written.reserve_j,
            kept_j: *kept_j,
            twin_j: handle.twin_j,
            account,
        });
        sent
    }

    /// Integral of the waves sent since the peer began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.end.wave_integral
    }

    /// Share of the twin's force in what is felt, 0 to 1; the rest is relayed.
    #[must_use]
    pub fn twin_share(&self) -> f64 {
        self.end.running.get().twin_share()
    }

    /// What of the force on a blade the method does not have in the twin's force \[N\].
    fn edge_n(&self, handle: &AtHandle) -> f64 {
        (1.0 - self.twin_share()) * handle.edge_n
    }
}
