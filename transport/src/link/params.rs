//! Parameters of one direction of a network, and their ranges.
//!
//! Source: ours. Loss with a mean burst length is the Gilbert-Elliott chain whose bad state loses
//! every packet and whose good state loses none. Its transitions follow from the mean loss p and
//! the mean burst L (packets): leave bad with 1/L, enter bad with p / ((1 - p) L).

use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest queue in front of a rate limit \[packets\]; room for it is taken at construction.
pub(crate) const QUEUE_PACKETS_MAX: u32 = 4096;

const DELAY_MS_MAX: f64 = 60_000.0;
const BURST_MAX: f64 = 1e6;
const RATE_KBPS: RangeInclusive<f64> = 1.0..=1e8;
const OUTAGE_S: RangeInclusive<f64> = 0.001..=3600.0;

/// One direction of a network. The default is a perfect link: no delay, no loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParams {
    /// Mean one-way delay \[ms\], 0 to 60 000.
    pub oneway_ms: f64,
    /// Half width of the jitter \[ms\], 0 to 60 000: every packet's own delay is drawn uniformly
    /// from `oneway_ms` - `jitter_ms` to `oneway_ms` + `jitter_ms` and is never below zero. While
    /// order is kept a packet may then wait for the one before it. Packets that follow each other
    /// within the jitter thus have a mean delay above `oneway_ms` and a smaller spread: at 1 kHz,
    /// 2 ms of jitter add 0.3 ms to the mean, 10 ms add 5.2 ms.
    pub jitter_ms: f64,
    /// True if jitter may change the order of packets. A transport that drops late packets loses
    /// every one of them (zenoh over UDP does).
    pub jitter_reorders: bool,
    /// Mean probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Mean length of a loss burst \[packets\], 1 to 1 000 000. Exactly 1: packets are lost
    /// independently. Above 1: Gilbert-Elliott chain with the same mean loss, which must then be
    /// at most burst / (1 + burst), or exactly 1.
    pub burst: f64,
    /// Probability that a packet arrives twice, 0 to 1. The copy is made behind the rate limit and
    /// has its own jitter.
    pub duplicate: f64,
    /// Probability that a packet overtakes the one offered before it, 0 to 1; it arrives 1 ns
    /// before that one, if that one is still in flight.
    pub reorder: f64,
    /// Rate limit \[kbit/s\], 1 to 100 000 000; none: no limit. Packets wait for each other.
    pub rate_kbps: Option<f64>,
    /// Packets that may wait for the rate limit or pass it, 1 to 4096; further ones are dropped.
    pub queue_packets: u32,
    /// Periodic cut of the link; none: never cut.
    pub outage: Option<Outage>,
}

/// A link that alternately works and is cut, beginning with the first packet offered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Time that it works \[s\], 0.001 to 3600.
    pub on_s: f64,
    /// Time that it is cut \[s\], 0.001 to 3600: all packets offered meanwhile are dropped, those in
    /// flight still arrive.
    pub off_s: f64,
}

/// Error of the parameters.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LinkError {
    /// A field is not a number or outside its range.
    #[error("link.{field} = {value}: must be {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Range that is valid.
        expected: &'static str,
    },
    /// The loss is impossible with that burst length.
    #[error("link.loss = {loss}: must be at most {loss_max} (or 1) with link.burst = {burst}")]
    LossForBurst {
        /// Mean loss requested.
        loss: f64,
        /// Mean burst length requested \[packets\].
        burst: f64,
        /// Largest loss of that burst length.
        loss_max: f64,
    },
}

impl Default for LinkParams {
    fn default() -> Self {
        Self {
            oneway_ms: 0.0,
            jitter_ms: 0.0,
            jitter_reorders: false,
            loss: 0.0,
            burst: 1.0,
            duplicate: 0.0,
            reorder: 0.0,
            rate_kbps: None,
            queue_packets: 1000,
            outage: None,
        }
    }
}

impl LinkParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`LinkError`] of the first invalid field, with its value and its range.
    pub fn validate(&self) -> Result<(), LinkError> {
        let delay = 0.0..=DELAY_MS_MAX;
        within("oneway_ms", self.oneway_ms, delay.clone(), "0 to 60000 ms")?;
        within("jitter_ms", self.jitter_ms, delay, "0 to 60000 ms")?;
        let chances = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ];
        for (field, value) in chances {
            within(field, value, 0.0..=1.0, "a probability, 0 to 1")?;
        }
        within("burst", self.burst, 1.0..=BURST_MAX, "1 to 1000000")?;
        let loss_max = self.burst / (1.0 + self.burst);
        if self.burst > 1.0 && self.loss > loss_max && self.loss < 1.0 {
            let (loss, burst) = (self.loss, self.burst);
            return Err(LinkError::LossForBurst {
                loss,
                burst,
                loss_max,
            });
        }
        if let Some(rate) = self.rate_kbps {
            within("rate_kbps", rate, RATE_KBPS, "1 to 100000000 kbit/s")?;
        }
        let room = 1.0..=f64::from(QUEUE_PACKETS_MAX);
        let packets = f64::from(self.queue_packets);
        within("queue_packets", packets, room, "1 to 4096 packets")?;
        if let Some(outage) = self.outage {
            within("outage.on_s", outage.on_s, OUTAGE_S, "0.001 to 3600 s")?;
            within("outage.off_s", outage.off_s, OUTAGE_S, "0.001 to 3600 s")?;
        }
        Ok(())
    }

    /// Probabilities of the loss chain: (loss after a packet that passed, loss after a lost packet).
    pub(super) fn loss_after(&self) -> (f64, f64) {
        let independent = self.burst <= 1.0 || self.loss <= 0.0 || self.loss >= 1.0;
        if independent {
            return (self.loss, self.loss);
        }
        let leave = 1.0 / self.burst;
        (self.loss / (1.0 - self.loss) * leave, 1.0 - leave)
    }
}

/// Checks that a value is a number in its range.
fn within(
    field: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), LinkError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(LinkError::Field {
        field,
        value,
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_valid() {
        assert_eq!(LinkParams::default().validate(), Ok(()));
    }

    #[test]
    fn every_wrong_field_is_named() {
        type Spoil = fn(&mut LinkParams, f64);
        let cases: [(&str, Spoil, &[f64]); 9] = [
            ("oneway_ms", |p, x| p.oneway_ms = x, &[-1.0, 60_001.0]),
            ("jitter_ms", |p, x| p.jitter_ms = x, &[-0.1, 1e9]),
            ("loss", |p, x| p.loss = x, &[-0.1, 1.1]),
            ("duplicate", |p, x| p.duplicate = x, &[-0.1, 1.1]),
            ("reorder", |p, x| p.reorder = x, &[-0.1, 1.1]),
            ("burst", |p, x| p.burst = x, &[0.5, -3.0, 1e7]),
            ("rate_kbps", |p, x| p.rate_kbps = Some(x), &[0.0, -5.0, 1e9]),
            (
                "outage.on_s",
                |p, x| {
                    p.outage = Some(Outage {
                        on_s: x,
                        off_s: 1.0,
                    });
                },
                &[0.0, -1.0, 4e3],
            ),
            (
                "outage.off_s",
                |p, x| {
                    p.outage = Some(Outage {
                        on_s: 1.0,
                        off_s: x,
                    });
                },
                &[0.0, -1.0, 4e3],
            ),
        ];
        for (name, spoil, values) in cases {
            for value in values.iter().copied().chain([f64::NAN, f64::INFINITY]) {
                let mut params = LinkParams::default();
                spoil(&mut params, value);
                let error = params.validate().expect_err(name);
                let text = error.to_string();
                assert!(text.contains(name) && text.contains("must be"), "{text}");
            }
        }
    }

    #[test]
    fn queue_length_is_checked() {
        for queue_packets in [0, QUEUE_PACKETS_MAX + 1] {
            let params = LinkParams {
                queue_packets,
                ..LinkParams::default()
            };
            let text = params.validate().expect_err("no such queue").to_string();
            assert!(text.contains("queue_packets"), "{text}");
        }
    }

    #[test]
    fn loss_too_large_for_the_burst_is_refused() {
        let mut params = LinkParams {
            loss: 0.8,
            burst: 3.0,
            ..LinkParams::default()
        };
        let error = params.validate().expect_err("too much for the burst");
        assert_eq!(
            error,
            LinkError::LossForBurst {
                loss: 0.8,
                burst: 3.0,
                loss_max: 0.75
            }
        );
        params.loss = 0.75;
        assert_eq!(params.validate(), Ok(()));
        params.loss = 1.0;
        assert_eq!(params.validate(), Ok(()));
    }

    #[test]
    fn chain_has_the_requested_mean_loss() {
        for (loss, burst) in [(0.02, 1.0), (0.02, 8.0), (0.3, 20.0), (0.75, 3.0)] {
            let params = LinkParams {
                loss,
                burst,
                ..LinkParams::default()
            };
            // The stationary share of lost packets solves p = (1 - p) enter + p stay.
            let (enter, stay) = params.loss_after();
            let stationary = enter / (enter + 1.0 - stay);
            assert!((stationary - loss).abs() < 1e-12);
        }
    }
}
