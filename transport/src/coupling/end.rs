//! What both ends of the coupling have: the method that runs there, and the line that it runs over. A method that
//! feels no waves sends them as well, so that another can take over, and so that all records say what was sent.

use super::Moment;
use super::delay_gain::Spacing;
use super::line::{LowPass, Units};
use super::mode::{Mode, Running};
use crate::{AXES, Axes};

/// The method at one end and its line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct End {
    /// Mode that runs; none before the first tick.
    mode: Option<Mode>,
    pub(super) running: Running,
    units: Units,
    filter: [LowPass; AXES],
    /// Integral of the waves sent since the peer began, by axis \[sqrt(W) s\].
    pub(super) wave_integral: Axes,
    /// How the newest frames follow each other.
    pub(super) spacing: Spacing,
}

impl End {
    /// With a peer that began anew, sums count from 0 again.
    pub(super) fn restart(&mut self) {
        self.running.restart();
        *self = Self {
            mode: self.mode,
            running: self.running,
            ..Self::default()
        };
    }

    /// Begin a tick; whether another method begins in it. That one shares the account, and none of what the one
    /// before remembered of the other side.
    pub(super) fn begin(&mut self, moment: &Moment<'_>) -> bool {
        let (mode, newest) = (moment.params.mode, moment.newest);
        let before = self.mode.replace(mode);
        if before != Some(mode) {
            self.running = Running::new(mode);
        }
        self.spacing
            .note(newest.sequence, newest.sent_ns, moment.dt_s);
        let (sent, came) = self.units.follow(moment.impedance_nspm, moment.came_nspm());
        for (integral, filter) in self.wave_integral.iter_mut().zip(&mut self.filter) {
            *integral *= sent;
            filter.retell(sent);
        }
        let joins = before.is_some_and(|before| before != mode);
        self.running.get_mut().begin(newest, joins, came);
        joins
    }

    /// Send the wave that a port made; returns the wave that was sent \[sqrt(W)\].
    pub(super) fn send(&mut self, moment: &Moment<'_>, axis: usize, made: f64) -> f64 {
        let sent = self.filter[axis].next(made, moment.params.wave_filter_hz, moment.dt_s);
        self.wave_integral[axis] += sent * moment.dt_s;
        sent
    }
}
