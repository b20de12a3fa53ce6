//! Part of the coupling common to both ends: the active method and the channel's waves. Waves are sent in every
//! mode, so that another method can take over and all records contain them.

use super::CouplingInputs;
use super::delay_gain::FrameSpacing;
use super::mode::{ActiveMethod, Mode};
use super::wave_filter::{LowPass, WaveUnits};
use crate::{AXES, Axes};

/// Active method and channel state at one end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ChannelEnd {
    /// Active mode; none before the first tick.
    mode: Option<Mode>,
    pub(super) active: ActiveMethod,
    units: WaveUnits,
    filter: [LowPass; AXES],
    /// Integral of the waves sent since the peer's run began, by axis \[sqrt(W) s\].
    pub(super) wave_integral: Axes,
    /// Spacing of the newest frames.
    pub(super) spacing: FrameSpacing,
}

impl ChannelEnd {
    /// Resets the sums for a peer that restarted.
    pub(super) fn restart(&mut self) {
        self.active.restart();
        *self = Self {
            mode: self.mode,
            active: self.active,
            ..Self::default()
        };
    }

    /// Begins a tick; returns true if another method becomes active in it. It shares the tank, and nothing else that
    /// the former method stored about the other side.
    pub(super) fn begin_tick(&mut self, inputs: &CouplingInputs<'_>) -> bool {
        let (mode, newest) = (inputs.params.mode, inputs.newest);
        let before = self.mode.replace(mode);
        if before != Some(mode) {
            self.active = ActiveMethod::new(mode);
        }
        self.spacing
            .update(newest.sequence, newest.sent_ns, inputs.dt_s);
        let (sent, received_factor) = self
            .units
            .follow(inputs.impedance_nspm, inputs.received_base_nspm());
        for (integral, filter) in self.wave_integral.iter_mut().zip(&mut self.filter) {
            *integral *= sent;
            filter.rescale(sent);
        }
        let becomes_active = before.is_some_and(|before| before != mode);
        self.active
            .get_mut()
            .begin_tick(newest, becomes_active, received_factor);
        becomes_active
    }

    /// Filters and sends the wave of a port; returns the wave that was sent \[sqrt(W)\].
    pub(super) fn send(&mut self, inputs: &CouplingInputs<'_>, axis: usize, wave: f64) -> f64 {
        let sent = self.filter[axis].next(wave, inputs.params.wave_filter_hz, inputs.dt_s);
        self.wave_integral[axis] += sent * inputs.dt_s;
        sent
    }
}
