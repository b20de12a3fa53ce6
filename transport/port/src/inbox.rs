//! What one side knows from the other's frames: the newest one, when it came, and how old it is.
//!
//! A side that starts anew counts its sums from 0, and the other must neither credit the former
//! sums again nor wait until the new numbers overtake the old ones. So each run of a side has an id,
//! and each frame says for which run of its receiver its sums are meant ([`palpate_transport::frame`]). A frame
//! that is meant for another run only says who sent it; after one round trip both count for each
//! other. Source: ours.

use palpate_transport::frame::{HapticFrame, Order, Succession};
use palpate_transport::sync::ClockSync;
use palpate_transport::{Span, Time};

/// Runs of the two sides, as one of them knows them; 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parties {
    /// This side's run.
    pub own: u64,
    /// The other side's; it is learnt from its first frame if it is unknown.
    pub peer: u64,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// None, or no news.
    Nothing,
    /// A newer frame is there.
    Fresh,
    /// The other side began anew: what is counted with it must count from 0 again.
    Restarted,
}

/// The newest frame of the other side, and the clock it was stamped by.
#[derive(Debug, Clone)]
pub struct Inbox {
    own: u64,
    order: Succession,
    newest: HapticFrame,
    received: Time,
    count: u64,
    sync: ClockSync,
}

impl Inbox {
    /// Nothing received yet.
    #[must_use]
    pub fn new(parties: Parties) -> Self {
        Self {
            own: parties.own,
            order: Succession::of(parties.peer),
            newest: HapticFrame::default(),
            received: Time(0),
            count: 0,
            sync: ClockSync::default(),
        }
    }

    /// Take a frame and when it was received, if it is newer than what is known. What a frame that
    /// was missed had to say, the sums of the next one say as well.
    pub fn take(&mut self, inbound: Option<(HapticFrame, Time)>) -> Arrival {
        let Some((frame, received)) = inbound else {
            return Arrival::Nothing;
        };
        if !frame.is_plausible() {
            return Arrival::Nothing;
        }
        let began = match self.order.judge(&frame) {
            Order::First | Order::Restarted => true,
            Order::Next => false,
            Order::Repeated => {
                self.carry_on(&frame);
                return Arrival::Nothing;
            }
            Order::Late | Order::Void => return Arrival::Nothing,
        };
        self.order.advance(&frame);
        if began {
            self.newest = HapticFrame::default();
            // else the new run would take the echo of nothing for an answer to its own first frame
            self.received = Time(0);
            self.sync = ClockSync::default();
        }
        let for_us = frame.peer_session == self.own;
        if for_us {
            self.sync.on_frame(&frame, received);
            self.newest = frame;
            self.received = received;
            self.count += 1;
        }
        match (began, for_us) {
            (true, _) => Arrival::Restarted,
            (false, true) => Arrival::Fresh,
            (false, false) => Arrival::Nothing,
        }
    }

    /// Take what a decoder made of the newest frame meanwhile ([`palpate_transport::codec`]): where things are
    /// by now. What is counted, and when it was sent and came, stays as it was received.
    fn carry_on(&mut self, frame: &HapticFrame) {
        if frame.sequence != self.newest.sequence || frame.session != self.newest.session {
            return;
        }
        self.newest.position_m = frame.position_m;
        self.newest.velocity_mps = frame.velocity_mps;
        self.newest.port_force_n = frame.port_force_n;
        self.newest.contact_force_n = frame.contact_force_n;
    }

    /// The newest frame; number 0 if there is none.
    #[must_use]
    pub fn newest(&self) -> &HapticFrame {
        &self.newest
    }

    /// When it was received, on our clock; meaningless if there is none.
    #[must_use]
    pub fn received(&self) -> Time {
        self.received
    }

    /// Frames taken so far: duplicates, stragglers and those missed excluded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The other side's clock.
    #[must_use]
    pub fn sync(&self) -> &ClockSync {
        &self.sync
    }

    /// Runs of both sides.
    #[must_use]
    pub fn parties(&self) -> Parties {
        Parties {
            own: self.own,
            peer: self.order.session(),
        }
    }

    /// Time since the newest frame was received.
    #[must_use]
    pub fn silence(&self, now: Time) -> Span {
        now - self.received
    }

    /// Whether what is known must not be acted on: nothing came for longer than `silence_s`, or the
    /// newest frame was certainly sent more than `age_s` ago (once the other clock is known).
    #[must_use]
    pub fn stale(&self, now: Time, silence_s: f64, age_s: f64) -> bool {
        self.newest.sequence == 0
            || self.silence(now).s() > silence_s
            || self
                .sync
                .age(self.newest.sent_ns, now)
                .is_some_and(|(age, bound)| (age - bound).s() > age_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn frame(session: u64, peer_session: u64, sequence: u64) -> HapticFrame {
        HapticFrame {
            session,
            peer_session,
            sequence,
            ..HapticFrame::default()
        }
    }

    fn inbox() -> Inbox {
        Inbox::new(Parties { own: 1, peer: 0 })
    }

    #[test]
    fn a_frame_for_another_run_only_says_who_sent_it() {
        let mut inbox = inbox();
        let at = Time(5 * MS);
        assert_eq!(inbox.take(Some((frame(7, 0, 40), at))), Arrival::Restarted);
        assert_eq!((inbox.parties().peer, inbox.newest().sequence), (7, 0));
        assert_eq!(inbox.take(Some((frame(7, 0, 41), at))), Arrival::Nothing);
        assert_eq!(inbox.take(Some((frame(7, 1, 42), at))), Arrival::Fresh);
        assert_eq!(inbox.take(Some((frame(7, 1, 42), at))), Arrival::Nothing);
        assert_eq!((inbox.newest().sequence, inbox.count()), (42, 1));
    }

    #[test]
    fn issue_a_restarted_peer_was_ignored_until_its_numbers_overtook_the_old_ones() {
        let mut inbox = inbox();
        let _ = inbox.take(Some((frame(7, 1, 9000), Time(0))));
        assert_eq!(
            inbox.take(Some((frame(8, 0, 1), Time(MS)))),
            Arrival::Restarted
        );
        // else it would take the echo of nothing for an answer, and its uptime for a round trip
        assert_eq!((inbox.newest().sent_ns, inbox.received()), (0, Time(0)));
        // what the former run said counts no more, and nothing is known of the new one yet
        assert!(inbox.stale(Time(MS), 1.0, 1.0));
        assert_eq!(
            inbox.take(Some((frame(7, 1, 9001), Time(MS)))),
            Arrival::Nothing
        );
        assert_eq!(
            inbox.take(Some((frame(8, 1, 2), Time(2 * MS)))),
            Arrival::Fresh
        );
        assert!(!inbox.stale(Time(2 * MS), 1.0, 1.0));
    }

    #[test]
    fn a_frame_that_is_carried_on_moves_and_counts_nothing() {
        let mut inbox = inbox();
        let mut sent = frame(7, 1, 1);
        (sent.energy_sent_j, sent.sent_ns) = ([2.0; 4], MS);
        let _ = inbox.take(Some((sent, Time(MS))));
        let mut later = sent;
        (later.position_m[0], later.velocity_mps[0]) = (0.1, 0.2);
        (later.energy_sent_j, later.sent_ns) = ([9.0; 4], 5 * MS);
        assert_eq!(inbox.take(Some((later, Time(4 * MS)))), Arrival::Nothing);
        let newest = *inbox.newest();
        assert_eq!((newest.position_m[0], newest.velocity_mps[0]), (0.1, 0.2));
        assert_eq!((newest.energy_sent_j, newest.sent_ns), ([2.0; 4], MS));
        assert_eq!((inbox.count(), inbox.received()), (1, Time(MS)));
    }

    #[test]
    fn an_old_frame_that_just_came_is_stale() {
        let mut inbox = Inbox::new(Parties::default());
        let mut echo = HapticFrame {
            sequence: 1,
            sent_ns: 1010 * MS,
            echo_sent_ns: 1000 * MS,
            echo_received_ns: 1010 * MS,
            ..HapticFrame::default()
        };
        // round trip 20 ms: the offset is 0 within 10 ms
        let _ = inbox.take(Some((echo, Time(1020 * MS))));
        assert!(!inbox.stale(Time(1020 * MS), 0.05, 0.5));
        (echo.sequence, echo.sent_ns) = (2, 1100 * MS);
        (echo.echo_sent_ns, echo.echo_received_ns) = (0, 0);
        let _ = inbox.take(Some((echo, Time(1700 * MS))));
        assert!(inbox.stale(Time(1700 * MS), 0.05, 0.5), "sent 0.6 s ago");
        assert!(!inbox.stale(Time(1700 * MS), 0.05, 0.7));
    }

    #[test]
    fn garbage_is_no_news() {
        let mut inbox = inbox();
        let mut bad = frame(7, 1, 1);
        bad.wave[0] = f64::NAN;
        assert_eq!(inbox.take(Some((bad, Time(0)))), Arrival::Nothing);
        assert_eq!(inbox.take(None), Arrival::Nothing);
        assert_eq!(inbox.parties().peer, 0);
    }
}
