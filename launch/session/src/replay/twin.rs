//! The tissue at the handle of a recording once more, without the rest of the session.
//!
//! Source: ours. A twin is moved by the handle alone: what the robot reports changes what is felt of it and not
//! the tissue, but for a master that was told of tissue that others had opened: its film differs. So the recorded readings, given to the same [`Predictor`], give the same tissue at half the cost
//! of all ticks (`palpate_session::replay::same`). That it is the same is not believed but compared: each tick's force of the
//! twin is in the record.

use palpate_master::device::Reading;
use palpate_master::predict::Predictor;
use palpate_transport::trace::{Events, TickRecord};
use palpate_twin::View;

use super::{ReplayError, same};
use crate::config::Config;
use crate::pipeline::given;
use crate::record::Recording;

/// A twin that does again what it did.
pub struct Twin {
    predictor: Predictor,
    params: palpate_master::predict::PredictParams,
    compared: Compared,
    proxy_m: Option<[f64; 3]>,
}

/// How the force of the twin is to that in the records.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Compared {
    /// Ticks that were compared.
    pub ticks: u64,
    /// Ticks whose force or whose links are not bit-identical.
    pub different: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// Largest difference of a force along an axis \[N\].
    pub worst_n: f64,
}

impl Twin {
    /// At rest, as at the begin of a recording; none of a session that had no twin.
    ///
    /// # Errors
    /// [`ReplayError`] if the twin cannot be built again.
    pub fn of(recording: &Recording, config: &Config) -> Result<Option<Self>, ReplayError> {
        let predictor = same::twin(recording, config)?;
        Ok(predictor.map(|predictor| Self {
            // what an instrument was not allowed stands in the records, so that nobody else is asked
            predictor: predictor.alone(),
            params: config.master.predict,
            compared: Compared::default(),
            proxy_m: None,
        }))
    }

    /// Do what a tick did.
    pub fn step(&mut self, record: &TickRecord) {
        let (at, given) = (given::at(record, None), given::of_master(record));
        let reading = match given.is_plausible() {
            true => given,
            false => Reading {
                position_m: record.position_m,
                ..Reading::default()
            },
        };
        let blunted = record.events & Events::BLUNTED != 0;
        let handle = self.predictor.held(&reading, blunted);
        let prediction = if at.masked && self.predictor.may_ask() {
            self.predictor.ask(&self.params, &handle)
        } else {
            let prediction = self.predictor.step(&self.params, &handle, None, at.dt_s);
            self.predictor.revise(reading.revisions);
            prediction
        };
        let [x, y, z, _] = handle.position_m;
        let [dx, dy, dz] = prediction.to_proxy_m;
        let apart = prediction.to_proxy_m != [0.0; 3];
        self.proxy_m = apart.then_some([x + dx, y + dy, z + dz]);
        self.compare(record, &prediction.twin_force_n);
    }

    /// Where the tool would be if its contact did not give \[m\]; none without contact.
    #[must_use]
    pub fn proxy_m(&self) -> Option<[f64; 3]> {
        self.proxy_m
    }

    fn compare(&mut self, record: &TickRecord, force_n: &palpate_transport::Axes) {
        let compared = &mut self.compared;
        compared.ticks += 1;
        let pairs = || record.tissue_force_n.iter().zip(force_n);
        let same = pairs().all(|(before, now)| before.to_bits() == now.to_bits());
        if same && record.topology == self.predictor.topology() {
            return;
        }
        compared.different += 1;
        compared.first.get_or_insert(record.tick);
        let apart_n = pairs().map(|(before, now)| (before - now).abs());
        compared.worst_n = apart_n.fold(compared.worst_n, f64::max);
    }

    /// How it was to the records so far.
    #[must_use]
    pub fn compared(&self) -> Compared {
        self.compared
    }

    /// Its surface now.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.predictor.twin().view()
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use super::*;
    use crate::replay::same::tests::{config, recorded};

    fn again(recording: &Recording, config: &Config) -> Compared {
        let twin = Twin::of(recording, config).expect("built in");
        let mut twin = twin.expect("a session with a twin");
        for record in &recording.master {
            twin.step(record);
        }
        twin.compared()
    }

    #[test]
    fn the_tissue_alone_is_the_same_bit_by_bit_late_ticks_and_all() {
        let config = config(Mode::Mmt);
        let (mut recording, _) = recorded(&config);
        let compared = again(&recording, &config);
        assert_eq!((compared.different, compared.first), (0, None));
        assert_eq!(compared.ticks, recording.master.len() as u64);
        // and another motion is another tissue
        let touched = recording.master.iter();
        let touched = touched.clone().position(|r| r.tissue_force_n[2] > 0.5);
        let tick = touched.expect("a touch");
        recording.master[tick].position_m[2] -= 1e-5;
        let compared = again(&recording, &config);
        assert_eq!(compared.first, Some(tick as u64));
        assert!(compared.worst_n > 0.0);
    }

    #[test]
    fn a_session_without_a_twin_has_none() {
        let config = config(Mode::Wave);
        let recording = Recording::default();
        assert!(Twin::of(&recording, &config).expect("fine").is_none());
    }
}
