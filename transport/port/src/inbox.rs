//! Received state of the other side: its newest frame, time of arrival, clock and age.
//!
//! A side that restarts counts its sums from 0. The other side must neither credit the former sums again nor
//! wait until the new numbers overtake the old ones. So each run of a side has an id, and each frame names the
//! run of its receiver for which its sums are meant ([`palpate_transport::frame`]). A frame that is meant for
//! another run only identifies its sender; after one round trip both sides name the current runs.
//! Source: ours.

use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::{CouplingInputs, CouplingParams};
use palpate_transport::frame::{FrameOrder, HapticFrame, SequenceTracker};
use palpate_transport::sync::ClockSync;
use palpate_transport::{Span, Time};

use crate::frame_bounds::{can_follow, has_device_values};
use crate::tick_inputs::TickInputs;

/// Runs of the two sides, as known on one side; 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunIds {
    /// This side's run.
    pub own: u64,
    /// The other side's run; taken from its first frame if it is unknown.
    pub peer: u64,
}

/// Run of the other side after a frame, against the one that was known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRun {
    /// The run that was known before.
    Same,
    /// Another run: the other side started or restarted.
    New,
}

/// Largest decrease of the network's delay since the first frame: the longest delay of a session.
const DELAY_CHANGE_MAX: Span = Span(2_000_000_000);

/// Newest frame of the other side, and the estimate of its clock.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    /// This side's run.
    own: u64,
    tracker: SequenceTracker,
    newest: HapticFrame,
    received: Time,
    count: u64,
    /// Times of sending and of arrival of the first used frame of the sender's run, each on its own clock.
    first: (Time, Time),
    /// Latest time of sending of a used frame of that run.
    latest_sent: Time,
    /// True if the frame of the last tick was refused.
    refused: bool,
    sync: ClockSync,
}

impl Inbox {
    /// Creates an inbox that has received nothing.
    #[must_use]
    pub fn new(run_ids: RunIds) -> Self {
        Self {
            own: run_ids.own,
            tracker: SequenceTracker::from_run(run_ids.peer),
            ..Self::default()
        }
    }

    /// Takes a frame and its time of arrival, if it is newer than the newest one and no device of the agreed `coupling`
    /// contradicts it. The sums of a missed frame are included in the next one. After [`PeerRun::New`], sums shared with
    /// the other side must count from 0 again.
    pub fn accept(
        &mut self,
        inbound: Option<(HapticFrame, Time)>,
        coupling: &CouplingParams,
    ) -> PeerRun {
        self.refused = false;
        let Some((frame, received)) = inbound else {
            return PeerRun::Same;
        };
        if !self.is_credible(&frame, received, coupling) {
            self.refused = true;
            return PeerRun::Same;
        }
        let run = match self.tracker.classify(&frame, received) {
            FrameOrder::First | FrameOrder::Restarted => PeerRun::New,
            FrameOrder::Next => PeerRun::Same,
            FrameOrder::Repeated => {
                self.update_extrapolated(&frame);
                return PeerRun::Same;
            }
            FrameOrder::Late
            | FrameOrder::Ahead
            | FrameOrder::UnprovenRun
            | FrameOrder::Invalid => {
                return PeerRun::Same;
            }
        };
        self.tracker.accept(&frame, received);
        if run == PeerRun::New {
            self.newest = HapticFrame::default();
            // our next frames must not echo a frame of the new run: if they named a time of reception, the new run
            // would take them for replies
            self.received = Time(0);
            self.sync = ClockSync::default();
        }
        if frame.peer_run == self.own {
            if self.newest.sequence == 0 {
                self.first = (Time(frame.sent_ns), received);
                self.latest_sent = Time(frame.sent_ns);
            }
            self.latest_sent = self.latest_sent.max(Time(frame.sent_ns));
            self.sync.on_frame(&frame, received);
            self.newest = frame;
            self.received = received;
            self.count += 1;
        }
        run
    }

    /// True if a device of the agreed `coupling` can have sent a frame.
    fn is_credible(&self, frame: &HapticFrame, received: Time, coupling: &CouplingParams) -> bool {
        let last = &self.newest;
        let follows = frame.run == last.run
            && frame.peer_run == last.peer_run
            && frame.sequence > last.sequence
            && last.sequence > 0;
        let steps = || can_follow(frame, last, coupling, self.passed_s(frame, received));
        frame.is_plausible() && has_device_values(frame, coupling) && (!follows || steps())
    }

    /// Time in which the sender's device could move between the newest frame and this one \[s\]. Frames may arrive closer
    /// together than they were sent, and a codec leaves frames out, so the times of sending count. Since the first
    /// frame, they may run ahead of the times of arrival by at most [`DELAY_CHANGE_MAX`].
    fn passed_s(&self, frame: &HapticFrame, received: Time) -> f64 {
        let (first_sent, first_received) = self.first;
        let credited = self.latest_sent - first_sent;
        let most_s = 1.01 * (received - first_received).s() + DELAY_CHANGE_MAX.s() - credited.s();
        let sent_s = (Time(frame.sent_ns) - self.latest_sent).s().min(most_s);
        let counted_s = (frame.sequence - self.newest.sequence) as f64 * PERIOD.s();
        sent_s.max(counted_s).max((received - self.received).s())
    }

    /// True if the frame of the last tick was refused, as no declared device can have sent it.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.refused
    }

    /// Takes the decoder's extrapolation of the newest frame ([`palpate_transport::codec`]): positions, velocities
    /// and forces. Cumulative fields and times stay as received.
    fn update_extrapolated(&mut self, frame: &HapticFrame) {
        if frame.sequence != self.newest.sequence || frame.run != self.newest.run {
            return;
        }
        self.newest.position_m = frame.position_m;
        self.newest.velocity_mps = frame.velocity_mps;
        self.newest.port_force_n = frame.port_force_n;
        self.newest.contact_force_n = frame.contact_force_n;
    }

    /// Newest frame; number 0 if there is none.
    #[must_use]
    pub fn newest(&self) -> &HapticFrame {
        &self.newest
    }

    /// Time at which the newest frame arrived, on our clock; 0 if there is none.
    #[must_use]
    pub(crate) fn received(&self) -> Time {
        self.received
    }

    /// Number of frames used so far; duplicates, late frames and those meant for another run do not count.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Estimate of the other side's clock.
    #[must_use]
    pub fn sync(&self) -> &ClockSync {
        &self.sync
    }

    /// Runs of both sides.
    #[must_use]
    pub fn run_ids(&self) -> RunIds {
        RunIds {
            own: self.own,
            peer: self.tracker.run_id(),
        }
    }

    /// Inputs of a coupling method in a tick with the wave impedance b \[N s/m\].
    #[must_use]
    pub fn coupling_inputs<'a>(
        &'a self,
        params: &'a CouplingParams,
        impedance_nspm: f64,
        inputs: &TickInputs,
    ) -> CouplingInputs<'a> {
        CouplingInputs {
            params,
            impedance_nspm,
            newest: &self.newest,
            fresh: self.silence(inputs.now).s() <= params.hold_s,
            round_trip_s: self.sync.rtt_latest().map_or(0.0, Span::s),
            dt_s: inputs.dt_s,
        }
    }

    /// Time since the newest frame was received.
    #[must_use]
    fn silence(&self, now: Time) -> Span {
        now - self.received
    }

    /// True if the newest frame must not be acted on: no frame arrived for longer than `silence_s`, or the
    /// newest one was certainly sent more than `age_s` ago (once the other clock is known).
    #[must_use]
    pub fn is_stale(&self, now: Time, silence_s: f64, age_s: f64) -> bool {
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

    fn frame(run: u64, peer_run: u64, sequence: u64) -> HapticFrame {
        HapticFrame {
            run,
            peer_run,
            sequence,
            ..HapticFrame::default()
        }
    }

    fn accept(inbox: &mut Inbox, inbound: Option<(HapticFrame, Time)>) -> PeerRun {
        inbox.accept(inbound, &CouplingParams::default())
    }

    fn inbox() -> Inbox {
        Inbox::new(RunIds { own: 1, peer: 0 })
    }

    #[test]
    fn frame_for_another_run_only_identifies_its_sender() {
        let mut inbox = inbox();
        let at = Time(5 * MS);
        assert_eq!(
            accept(&mut inbox, Some((frame(7, 0, 40), at))),
            PeerRun::New
        );
        assert_eq!((inbox.run_ids().peer, inbox.newest().sequence), (7, 0));
        assert_eq!(
            accept(&mut inbox, Some((frame(7, 0, 41), at))),
            PeerRun::Same
        );
        assert_eq!(
            accept(&mut inbox, Some((frame(7, 1, 42), at))),
            PeerRun::Same
        );
        assert_eq!(
            accept(&mut inbox, Some((frame(7, 1, 42), at))),
            PeerRun::Same
        );
        assert_eq!((inbox.newest().sequence, inbox.count()), (42, 1));
    }

    #[test]
    fn issue_restarted_peer_was_ignored_until_its_numbers_caught_up() {
        let mut inbox = inbox();
        let _ = accept(&mut inbox, Some((frame(7, 1, 9000), Time(0))));
        assert_eq!(
            accept(&mut inbox, Some((frame(8, 0, 1), Time(MS)))),
            PeerRun::New
        );
        // otherwise the new run would take our next frame for a reply, and its own uptime for the round trip
        assert_eq!((inbox.newest().sent_ns, inbox.received()), (0, Time(0)));
        // sums of the former run no longer count, and no frame of the new run is used yet
        assert!(inbox.is_stale(Time(MS), 1.0, 1.0));
        assert_eq!(
            accept(&mut inbox, Some((frame(7, 1, 9001), Time(MS)))),
            PeerRun::Same
        );
        assert_eq!(
            accept(&mut inbox, Some((frame(8, 1, 2), Time(2 * MS)))),
            PeerRun::Same
        );
        assert!(!inbox.is_stale(Time(2 * MS), 1.0, 1.0));
    }

    #[test]
    fn extrapolated_frame_moves_without_being_counted() {
        let mut inbox = inbox();
        let mut sent = frame(7, 1, 1);
        (sent.energy_sent_j, sent.sent_ns) = ([2.0; 4], MS);
        let _ = accept(&mut inbox, Some((sent, Time(MS))));
        let mut later = sent;
        (later.position_m[0], later.velocity_mps[0]) = (0.1, 0.2);
        (later.energy_sent_j, later.sent_ns) = ([9.0; 4], 5 * MS);
        assert_eq!(
            accept(&mut inbox, Some((later, Time(4 * MS)))),
            PeerRun::Same
        );
        let newest = *inbox.newest();
        assert_eq!((newest.position_m[0], newest.velocity_mps[0]), (0.1, 0.2));
        assert_eq!((newest.energy_sent_j, newest.sent_ns), ([2.0; 4], MS));
        assert_eq!((inbox.count(), inbox.received()), (1, Time(MS)));
    }

    #[test]
    fn old_frame_that_just_arrived_is_stale() {
        let mut inbox = Inbox::new(RunIds::default());
        let mut echo = HapticFrame {
            sequence: 1,
            sent_ns: 1010 * MS,
            echo_sent_ns: 1000 * MS,
            echo_received_ns: 1010 * MS,
            ..HapticFrame::default()
        };
        // round trip 20 ms: the offset is 0 within 10 ms
        let _ = accept(&mut inbox, Some((echo, Time(1020 * MS))));
        assert!(!inbox.is_stale(Time(1020 * MS), 0.05, 0.5));
        (echo.sequence, echo.sent_ns) = (2, 1100 * MS);
        (echo.echo_sent_ns, echo.echo_received_ns) = (0, 0);
        let _ = accept(&mut inbox, Some((echo, Time(1700 * MS))));
        assert!(inbox.is_stale(Time(1700 * MS), 0.05, 0.5), "sent 0.6 s ago");
        assert!(!inbox.is_stale(Time(1700 * MS), 0.05, 0.7));
    }

    /// A frame at a place on x \[m\], sent at a time.
    fn at_place(sequence: u64, sent_ms: i64, x_m: f64) -> HapticFrame {
        let mut frame = frame(7, 1, sequence);
        (frame.sent_ns, frame.position_m[0]) = (sent_ms * MS, x_m);
        frame
    }

    #[test]
    fn step_that_no_device_makes_is_refused_until_it_had_time_for_it() {
        let mut inbox = inbox();
        let _ = accept(&mut inbox, Some((at_place(1, 0, 0.0), Time(0))));
        let _ = accept(&mut inbox, Some((at_place(2, 1, 0.1), Time(MS))));
        assert!(inbox.refused() && inbox.newest().sequence == 1);
        // 0.1 m at 5 m/s
        let _ = accept(&mut inbox, Some((at_place(25, 24, 0.1), Time(24 * MS))));
        assert!(!inbox.refused() && inbox.newest().sequence == 25);
    }

    #[test]
    fn frames_of_a_codec_that_arrive_together_are_not_refused() {
        let mut inbox = inbox();
        let _ = accept(&mut inbox, Some((at_place(1, 0, 0.0), Time(80 * MS))));
        // 50 ms without a frame that is worth it, and 30 ms less delay
        let _ = accept(&mut inbox, Some((at_place(2, 50, 0.2), Time(100 * MS))));
        assert!(!inbox.refused());
        // times of sending that run ahead of those of arrival give no more than 2 s in all
        let _ = accept(&mut inbox, Some((at_place(3, 1900, 8.0), Time(101 * MS))));
        assert!(!inbox.refused());
        let _ = accept(&mut inbox, Some((at_place(4, 3800, 0.0), Time(102 * MS))));
        assert!(inbox.refused());
        // nor do times that go back and forth
        let _ = accept(&mut inbox, Some((at_place(5, 0, 8.0), Time(103 * MS))));
        assert!(!inbox.refused());
        let _ = accept(&mut inbox, Some((at_place(6, 1900, 0.0), Time(104 * MS))));
        assert!(inbox.refused());
    }

    #[test]
    fn invalid_frames_are_not_accepted() {
        let mut inbox = inbox();
        let mut bad = frame(7, 1, 1);
        bad.wave[0] = f64::NAN;
        assert_eq!(accept(&mut inbox, Some((bad, Time(0)))), PeerRun::Same);
        assert_eq!(accept(&mut inbox, None), PeerRun::Same);
        assert_eq!((inbox.count(), inbox.run_ids().peer), (0, 0));
    }
}
