//! The fate of one packet: dropped and why, or delivered when.
//!
//! Source: ours. Stages in order: outage, loss, queue of the rate limit, delay with jitter,
//! order, duplication. Every offer draws the same number of random numbers whatever becomes of the
//! packet, so that two runs of one seed which differ in one parameter differ in nothing else.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::params::{LinkError, LinkParams, Outage, QUEUE_PACKETS_MAX};
use crate::chance::even;
use crate::clock::{Span, Time};

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Delivered {
        /// When.
        due: Time,
        /// When a copy of it arrives, if it is duplicated.
        copy_due: Option<Time>,
    },
    /// It never arrives.
    Dropped(DropCause),
}

/// Why a packet never arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// By chance, [`LinkParams::loss`].
    Loss,
    /// The link was cut, [`LinkParams::outage`].
    Outage,
    /// The queue of the rate limit, or the place for packets on their way, was full.
    Queue,
}

/// What a link has done so far \[packets\].
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
    pub cut: u64,
    /// Dropped because a queue was full; a copy that found no place counts too.
    pub overflowed: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets that overtook the one before them, see [`LinkParams::reorder`].
    pub overtook: u64,
}

/// One direction of a network. Allocates at construction only.
#[derive(Debug, Clone)]
pub struct LinkModel {
    params: LinkParams,
    rng: Xoshiro256PlusPlus,
    stats: LinkStats,
    /// Whether the last packet was lost by chance: the state of the loss chain.
    losing: bool,
    /// When each packet that still waits for the rate limit will have passed it.
    departures: VecDeque<Time>,
    /// When the outage cycle began.
    cycle_began: Option<Time>,
    /// Due time of the packet accepted last.
    previous_due: Option<Time>,
    /// Latest due time of all.
    latest_due: Option<Time>,
}

/// The random numbers of one offer, each uniform in [0, 1).
struct Chance {
    loss: f64,
    jitter: f64,
    duplicate: f64,
    copy_jitter: f64,
    reorder: f64,
}

impl LinkModel {
    /// A link in its stationary state.
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`].
    pub fn new(params: LinkParams, seed: u64) -> Result<Self, LinkError> {
        params.validate()?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let losing = even(&mut rng) < params.loss;
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

    /// Change the network while it runs. Random state, loss burst, queue and packets on their way
    /// stay as they are; an outage cycle that changes begins anew with the next packet.
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`]; then nothing is changed.
    pub fn set_params(&mut self, params: LinkParams) -> Result<(), LinkError> {
        params.validate()?;
        if params.outage != self.params.outage {
            self.cycle_began = None;
        }
        self.params = params;
        Ok(())
    }

    /// The parameters in use.
    #[must_use]
    pub fn params(&self) -> &LinkParams {
        &self.params
    }

    /// What it has done so far.
    #[must_use]
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Offer a packet of `bytes` bytes at `now`; calls are expected in order of time, but any time
    /// gives a result. A due time is never before `now`.
    pub fn offer(&mut self, now: Time, bytes: usize) -> Fate {
        self.stats.offered += 1;
        self.stats.offered_bytes = self.stats.offered_bytes.saturating_add(bytes as u64);
        let chance = self.draw();
        let lost = self.lose(chance.loss);
        if self.is_cut(now) {
            self.stats.cut += 1;
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

    /// Take back a delivery for which the keeper of packets had no place.
    pub(super) fn refuse(&mut self) {
        self.stats.delivered -= 1;
        self.stats.overflowed += 1;
    }

    /// Take back a copy for which the keeper of packets had no place.
    pub(super) fn refuse_copy(&mut self) {
        self.stats.duplicated -= 1;
        self.stats.overflowed += 1;
    }

    fn draw(&mut self) -> Chance {
        Chance {
            loss: even(&mut self.rng),
            jitter: even(&mut self.rng),
            duplicate: even(&mut self.rng),
            copy_jitter: even(&mut self.rng),
            reorder: even(&mut self.rng),
        }
    }

    /// One step of the loss chain.
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

    /// When the packet has passed the rate limit; none if the queue is full.
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
                self.stats.overtook += 1;
            }
            None => due = self.in_order(due),
        }
        self.previous_due = Some(due);
        due
    }

    /// Keep a packet behind all others, unless jitter may reorder.
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
