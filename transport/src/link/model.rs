//! Fate of one packet: dropped with a cause, or delivered with a due time.
//!
//! Source: ours. Stages in order: outage, loss, queue of the rate limit, delay with jitter,
//! order, duplication. Every packet draws the same number of random numbers whatever its fate, so that
//! two runs of one seed which differ in one parameter differ in nothing else.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::params::{LinkError, LinkParams, Outage, QUEUE_PACKETS_MAX};
use crate::clock::{Span, Time};
use crate::random::uniform;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives.
    Delivered {
        /// Time of arrival.
        due: Time,
        /// Time of arrival of a copy, if it is duplicated.
        copy_due: Option<Time>,
    },
    /// The packet never arrives.
    Dropped(DropCause),
}

/// Cause of a packet's loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// Random loss, [`LinkParams::loss`].
    Loss,
    /// The link was cut, [`LinkParams::outage`].
    Outage,
    /// The queue of the rate limit, or the room for packets in flight, was full.
    Queue,
}

/// Counters of a link \[packets\].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Offered.
    pub offered: u64,
    /// Offered \[bytes\].
    pub offered_bytes: u64,
    /// Accepted for delivery, copies not counted.
    pub delivered: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Dropped while the link was cut.
    pub dropped_in_outage: u64,
    /// Dropped because a queue was full; a copy without room counts too.
    pub overflowed: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets that overtook the one before them, see [`LinkParams::reorder`].
    pub reordered: u64,
}

/// One direction of a network. Allocates at construction only.
#[derive(Debug, Clone)]
pub struct LinkModel {
    params: LinkParams,
    rng: Xoshiro256PlusPlus,
    stats: LinkStats,
    /// True if the last packet was lost at random: the state of the loss chain.
    losing: bool,
    /// Time at which each packet that waits for the rate limit will have passed it.
    departures: VecDeque<Time>,
    /// Start of the outage cycle.
    cycle_began: Option<Time>,
    /// Due time of the packet accepted last.
    previous_due: Option<Time>,
    /// Latest due time of all.
    latest_due: Option<Time>,
}

/// Random numbers of one packet, each uniform in [0, 1).
struct PacketDraws {
    loss: f64,
    jitter: f64,
    duplicate: f64,
    copy_jitter: f64,
    reorder: f64,
}

impl LinkModel {
    /// Creates a link in its stationary state.
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`].
    pub fn new(params: LinkParams, seed: u64) -> Result<Self, LinkError> {
        params.validate()?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let losing = uniform(&mut rng) < params.loss;
        Ok(Self {
            params,
            rng,
            stats: LinkStats::default(),
            losing,
            departures: VecDeque::with_capacity(QUEUE_PACKETS_MAX as usize),
            cycle_began: None,
            previous_due: None,
            latest_due: None,
        })
    }

    /// Changes the network while it runs. Random state, loss burst, queue and packets in flight stay
    /// unchanged; an outage cycle that changes restarts with the next packet.
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`]; then nothing changes.
    pub fn set_params(&mut self, params: LinkParams) -> Result<(), LinkError> {
        params.validate()?;
        if params.outage != self.params.outage {
            self.cycle_began = None;
        }
        self.params = params;
        Ok(())
    }

    /// Parameters in use.
    #[must_use]
    pub fn params(&self) -> &LinkParams {
        &self.params
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Offers a packet of `bytes` bytes at `now`; calls should be in order of time, but any time gives a
    /// result. A due time is never before `now`.
    pub fn offer(&mut self, now: Time, bytes: usize) -> Fate {
        self.stats.offered += 1;
        self.stats.offered_bytes = self.stats.offered_bytes.saturating_add(bytes as u64);
        let chance = self.draw();
        let lost = self.lose(chance.loss);
        if self.is_cut(now) {
            self.stats.dropped_in_outage += 1;
            return Fate::Dropped(DropCause::Outage);
        }
        if lost {
            self.stats.lost += 1;
            return Fate::Dropped(DropCause::Loss);
        }
        let Some(departure) = self.depart(now, bytes) else {
            self.stats.overflowed += 1;
            return Fate::Dropped(DropCause::Queue);
        };
        self.stats.delivered += 1;
        let due = self.due(
            departure,
            chance.jitter,
            chance.reorder < self.params.reorder,
        );
        let copied = chance.duplicate < self.params.duplicate;
        let copy_due = copied.then(|| {
            self.stats.duplicated += 1;
            self.in_order(departure + self.delay(chance.copy_jitter))
        });
        Fate::Delivered { due, copy_due }
    }

    /// Revokes a delivery for which the queue of packets had no room.
    pub(super) fn refuse(&mut self) {
        self.stats.delivered -= 1;
        self.stats.overflowed += 1;
    }

    /// Revokes a copy for which the queue of packets had no room.
    pub(super) fn refuse_copy(&mut self) {
        self.stats.duplicated -= 1;
        self.stats.overflowed += 1;
    }

    fn draw(&mut self) -> PacketDraws {
        PacketDraws {
            loss: uniform(&mut self.rng),
            jitter: uniform(&mut self.rng),
            duplicate: uniform(&mut self.rng),
            copy_jitter: uniform(&mut self.rng),
            reorder: uniform(&mut self.rng),
        }
    }

    /// Advances the loss chain by one step.
    fn lose(&mut self, chance: f64) -> bool {
        let (after_passed, after_lost) = self.params.loss_after();
        self.losing = chance
            < if self.losing {
                after_lost
            } else {
                after_passed
            };
        self.losing
    }

    fn is_cut(&mut self, now: Time) -> bool {
        let Some(Outage { on_s, off_s }) = self.params.outage else {
            return false;
        };
        let began = *self.cycle_began.get_or_insert(now);
        let (on, off) = (Span::from_s(on_s), Span::from_s(off_s));
        (now - began).0.rem_euclid((on + off).0.max(1)) >= on.0
    }

    /// Time at which the packet has passed the rate limit; none if the queue is full.
    fn depart(&mut self, now: Time, bytes: usize) -> Option<Time> {
        while self.departures.front().is_some_and(|&time| time <= now) {
            self.departures.pop_front();
        }
        let Some(rate_kbps) = self.params.rate_kbps else {
            return Some(now);
        };
        if self.departures.len() >= self.params.queue_packets as usize {
            return None;
        }
        // 8 bits a byte at rate * 1000 bits a second, in nanoseconds.
        let transmit = Span((bytes as f64 * 8e6 / rate_kbps).round() as i64);
        let begin = self.departures.back().map_or(now, |&last| last.max(now));
        let departure = begin + transmit;
        self.departures.push_back(departure);
        Some(departure)
    }

    fn delay(&self, chance: f64) -> Span {
        let delay_ms = self.params.oneway_ms + (2.0 * chance - 1.0) * self.params.jitter_ms;
        Span::from_ms(delay_ms.max(0.0))
    }

    fn due(&mut self, departure: Time, jitter: f64, overtakes: bool) -> Time {
        let mut due = departure + self.delay(jitter);
        let ahead = self.previous_due.filter(|&previous| previous > departure);
        match ahead.filter(|_| overtakes) {
            Some(previous) => {
                due = Time(previous.0 - 1);
                self.stats.reordered += 1;
            }
            None => due = self.in_order(due),
        }
        self.previous_due = Some(due);
        due
    }

    /// Keeps a packet behind all others, unless jitter may reorder.
    fn in_order(&mut self, due: Time) -> Time {
        let latest = self.latest_due.map_or(due, |latest| latest.max(due));
        self.latest_due = Some(latest);
        if self.params.jitter_reorders {
            due
        } else {
            latest
        }
    }
}

#[cfg(test)]
mod tests;
