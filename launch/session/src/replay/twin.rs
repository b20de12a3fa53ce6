//! Replay of the tissue at the handle of a recording, without the rest of the session.
//!
//! Source: ours. The handle alone moves a twin: the robot's reports change its force and its height, which is recorded,
//! but not the tissue. An exception is a master that received edits made by others; its replay differs. So the recorded readings, passed
//! to a [`TwinPredictor`], give the same tissue at half the cost of all ticks ([`super::bitwise`]). This is
//! checked: each tick's force of the twin is compared with the record.

use palpate_master::device::HandleReading;
use palpate_master::predict::TwinPredictor;
use palpate_master::steady_motion::SteadyMotion;
use palpate_transport::trace::{EventFlags, TickRecord};
use palpate_twin::TissueView;

use super::{ReplayError, bitwise};
use crate::config::Config;
use crate::pipeline::tick_inputs;
use crate::record::Recording;

/// Replay of a twin.
pub struct TwinReplay {
    predictor: TwinPredictor,
    params: palpate_master::predict::PredictParams,
    steady: SteadyMotion,
    /// Steps of the handle's encoders \[m\].
    resolution_m: palpate_transport::Axes,
    /// Comparison with the records so far.
    pub comparison: TwinComparison,
    /// Position of the proxy, which contact does not deflect \[m\]; none without contact.
    pub proxy_m: Option<[f64; 3]>,
}

/// Comparison of the twin's force with the records.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TwinComparison {
    /// Ticks that were compared.
    pub ticks: u64,
    /// Ticks whose force or topology is not bit-identical.
    pub different_ticks: u64,
    /// The first of them.
    pub first_different_tick: Option<u64>,
    /// Largest difference of a force along an axis \[N\].
    pub worst_n: f64,
}

impl TwinReplay {
    /// Returns a twin at rest, as at the start of a recording; none for a session without a twin.
    ///
    /// # Errors
    /// [`ReplayError`] if the twin cannot be built again.
    pub fn of(recording: &Recording, config: &Config) -> Result<Option<Self>, ReplayError> {
        let predictor = bitwise::twin(recording, config)?;
        Ok(predictor.map(|predictor| Self {
            // blocked cuts are in the records, so the remote tissue is not consulted
            predictor: predictor.without_remote_tissue(),
            params: config.master.predict,
            steady: SteadyMotion::default(),
            resolution_m: bitwise::handle_caps(config).resolution_m,
            comparison: TwinComparison::default(),
            proxy_m: None,
        }))
    }

    /// Repeats a recorded tick.
    pub fn step(&mut self, record: &TickRecord) {
        let at = tick_inputs::inputs_of(record, None);
        let recorded = tick_inputs::master_reading(record);
        self.steady.read(&recorded, &self.resolution_m, at.now);
        let plausible = Some(recorded).filter(HandleReading::is_plausible);
        let reading = plausible.unwrap_or_default();
        let blunted = record.events & EventFlags::CUTTING_BLOCKED != 0;
        let steady = self.steady.of(&reading);
        let handle = self.predictor.take_reading(&steady, blunted);
        self.predictor.set_height_m(record.twin_height_m);
        let prediction = if at.deadline_fallback && self.predictor.may_extrapolate() {
            self.predictor.extrapolate(&self.params, &handle)
        } else {
            let prediction = self.predictor.step(&self.params, &handle, None, at.dt_s);
            self.predictor.revise(reading.revisions);
            prediction
        };
        let [x, y, z, _] = handle.position_m;
        let [dx, dy, dz] = prediction.to_proxy_m;
        let in_contact = prediction.to_proxy_m != [0.0; 3];
        self.proxy_m = in_contact.then_some([x + dx, y + dy, z + dz]);
        self.compare(record, &prediction.twin_force_n);
    }

    fn compare(&mut self, record: &TickRecord, force_n: &palpate_transport::Axes) {
        let comparison = &mut self.comparison;
        comparison.ticks += 1;
        let pairs = || record.tissue_force_n.iter().zip(force_n);
        let same = pairs().all(|(before, now)| before.to_bits() == now.to_bits());
        if same && record.topology == self.predictor.topology() {
            return;
        }
        comparison.different_ticks += 1;
        comparison.first_different_tick.get_or_insert(record.tick);
        let apart_n = pairs().map(|(before, now)| (before - now).abs());
        comparison.worst_n = apart_n.fold(comparison.worst_n, f64::max);
    }

    /// Present state of the tissue.
    #[must_use]
    pub fn view(&self) -> TissueView<'_> {
        self.predictor.twin().view()
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use super::*;
    use crate::replay::bitwise::tests::{config, recorded};

    fn again(recording: &Recording, config: &Config) -> TwinComparison {
        let twin = TwinReplay::of(recording, config).expect("built in");
        let mut twin = twin.expect("a session with a twin");
        for record in &recording.master {
            twin.step(record);
        }
        twin.comparison
    }

    #[test]
    fn twin_replays_bit_identically_with_late_ticks() {
        let config = config(Mode::Mmt);
        let (mut recording, _) = recorded(&config);
        let comparison = again(&recording, &config);
        assert_eq!(
            (comparison.different_ticks, comparison.first_different_tick),
            (0, None)
        );
        assert_eq!(comparison.ticks, recording.master.len() as u64);
        // another motion gives another tissue
        let touched = recording.master.iter();
        let touched = touched.clone().position(|r| r.tissue_force_n[2] > 0.5);
        let tick = touched.expect("a touch");
        recording.master[tick].position_m[2] -= 1e-5;
        let comparison = again(&recording, &config);
        assert_eq!(comparison.first_different_tick, Some(tick as u64));
        assert!(comparison.worst_n > 0.0);
    }

    /// The robot's touches moved the twin's surface; the handle alone does not know it.
    #[test]
    fn registered_twin_replays_bit_identically() {
        let mut config = config(Mode::Mmt);
        config.tissue_height_m = 0.006;
        let (mut recording, _) = recorded(&config);
        let height_m = recording.master.last().expect("a tick").twin_height_m;
        assert!(height_m > 0.001, "{height_m} m");
        assert_eq!(again(&recording, &config).different_ticks, 0);
        for record in &mut recording.master {
            record.twin_height_m = 0.0;
        }
        assert!(again(&recording, &config).different_ticks > 0);
    }

    #[test]
    fn session_without_twin_has_no_twin_replay() {
        let config = config(Mode::Wave);
        let recording = Recording::default();
        assert!(TwinReplay::of(&recording, &config).expect("fine").is_none());
    }
}
