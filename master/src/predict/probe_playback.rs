//! Playback of the robot's motion, tick by tick, from frames that arrive irregularly.
//!
//! A jittery link delivers some of the frames, in bursts. A shadow that leaps from frame to frame and rests between them
//! feels another motion than the remote tissue, and viscous tissue then returns another force. The playback follows
//! the frames on the sender's clock, as far behind the newest as the longest gap since its last leap requires, within
//! bounds. Between two frames it interpolates: the position by a cubic that has their velocities, the rest linearly. Ours.

use std::collections::VecDeque;

use palpate_transport::clock::PERIOD;
use palpate_transport::{Axes, Span, Time};

use super::{RemoteReport, ToolState};

/// Most frames that wait.
const FRAMES_MAX: usize = 128;

/// Longest time between two frames over which motion is interpolated: 3 mm at 50 mm/s.
const GAP_MAX: Span = Span(60_000_000);

/// Longest time by which the played motion is behind the newest frame, in contact with the shadow and without.
const LAG_MAX: [Span; 2] = [Span(100_000_000), Span(20_000_000)];

/// Time after a leap into or within the tissue in which the shadow's force is not that of the motion.
const SETTLE: Span = Span(100_000_000);

/// Longest tick that a tissue follows in one step of a period \[s\].
const LONG_TICK_S: f64 = 1.5 * PERIOD.s();

/// Result of a tick of the playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Played {
    /// No time has passed, because newer frames are missing.
    Rests,
    /// The motion went on.
    Moves,
    /// The motion went on, and the shadow's force does not belong to it yet: it leapt, or the tick was long.
    Settles,
}

/// Frames that were received and not yet played, and the time that is played.
pub(super) struct ProbePlayback {
    /// The first is the last frame before the played time; sending times increase.
    frames: VecDeque<RemoteReport>,
    played: Time,
    /// Time until which the shadow's force is not used.
    settled: Time,
    /// True if the shadow leapt in the last tick.
    leapt: bool,
}

impl Default for ProbePlayback {
    fn default() -> Self {
        Self {
            frames: VecDeque::with_capacity(FRAMES_MAX),
            played: Time(0),
            settled: Time(0),
            leapt: false,
        }
    }
}

impl ProbePlayback {
    /// Takes the newest frame and plays the next `dt_s` \[s\] of the motion; allocates nothing. `in_contact` is true while
    /// the shadow is touched. The motion leaps to the newest frame after a gap that is too long, and if it is too far
    /// behind.
    pub(super) fn play(
        &mut self,
        newest: &RemoteReport,
        dt_s: f64,
        in_contact: bool,
    ) -> (RemoteReport, Played) {
        if core::mem::take(&mut self.leapt) && in_contact {
            self.settled = self.played + SETTLE;
        }
        let end = self.played + Span::from_s(dt_s);
        let behind = newest.sent - end > LAG_MAX[usize::from(!in_contact)];
        if !self.take(newest) || behind {
            self.frames.clear();
            self.frames.push_back(*newest);
            (self.played, self.leapt) = (newest.sent, true);
            self.settled = newest.sent;
            return (*newest, Played::Settles);
        }
        if end <= self.played || end > newest.sent {
            return (self.at_played(newest), Played::Rests);
        }
        self.played = end;
        let is_past = |next: &RemoteReport| next.sent <= end;
        while self.frames.get(1).is_some_and(is_past) {
            self.frames.pop_front();
        }
        let done = if end > self.settled && dt_s <= LONG_TICK_S {
            Played::Moves
        } else {
            Played::Settles
        };
        (self.at_played(newest), done)
    }

    /// Lets the shadow settle after its tool has leapt within the tissue.
    pub(super) fn settle(&mut self) {
        self.settled = self.played + SETTLE;
    }

    /// Adds a frame that is new; false if it does not continue the motion.
    fn take(&mut self, newest: &RemoteReport) -> bool {
        let Some(last) = self.frames.back() else {
            return false;
        };
        let gap = newest.sent - last.sent;
        if gap == Span(0) {
            return true;
        }
        if gap < Span(0) || gap > GAP_MAX || self.frames.len() == FRAMES_MAX {
            return false;
        }
        let last_n = last.contact_force_n;
        self.frames.push_back(RemoteReport {
            sensor_lives: newest.contact_force_n != last_n,
            ..*newest
        });
        true
    }

    /// Motion and force at the played time, with the state of the newest frame otherwise.
    fn at_played(&self, newest: &RemoteReport) -> RemoteReport {
        let Some(from) = self.frames.front() else {
            return *newest;
        };
        let Some(to) = self.frames.get(1) else {
            return RemoteReport {
                edits: newest.edits,
                ..*from
            };
        };
        let gap_s = (to.sent - from.sent).s();
        let share = (self.played - from.sent).s() / gap_s;
        let linear =
            |from: &Axes, to: &Axes| core::array::from_fn(|i| from[i] + share * (to[i] - from[i]));
        RemoteReport {
            probe: ToolState {
                position_m: core::array::from_fn(|axis| {
                    let end = |of: &RemoteReport| {
                        [
                            of.probe.position_m[axis],
                            gap_s * of.probe.velocity_mps[axis],
                        ]
                    };
                    cubic(share, end(from), end(to))
                }),
                velocity_mps: linear(&from.probe.velocity_mps, &to.probe.velocity_mps),
                ..from.probe
            },
            contact_force_n: from
                .contact_force_n
                .zip(to.contact_force_n)
                .map(|(from, to)| linear(&from, &to)),
            sensor_lives: to.sensor_lives,
            port_force_n: linear(&from.port_force_n, &to.port_force_n),
            engaged: from.engaged && to.engaged,
            sent: self.played,
            edits: newest.edits,
        }
    }
}

/// Hermite's cubic at `share` of an interval, from value and slope per interval at its ends.
fn cubic(share: f64, from: [f64; 2], to: [f64; 2]) -> f64 {
    let (s, left) = (share, 1.0 - share);
    left * left * ((1.0 + 2.0 * s) * from[0] + s * from[1])
        + s * s * ((1.0 + 2.0 * left) * to[0] - left * to[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::RemoteEdits;
    use palpate_twin::Instrument;
    use std::f64::consts::TAU;

    /// Frame of a probe that moves by 5 mm at 2 Hz, with a force of 200 N/m.
    fn frame(tick: i64) -> RemoteReport {
        let angle = TAU * 2.0 * 1e-3 * tick as f64;
        let z = 0.005 * libm::sin(angle);
        RemoteReport {
            probe: ToolState {
                position_m: [0.0, 0.0, z, 0.0],
                velocity_mps: [0.0, 0.0, 0.005 * TAU * 2.0 * libm::cos(angle), 0.0],
                closed: false,
                instrument: Instrument::Blunt,
            },
            contact_force_n: Some([0.0, 0.0, 200.0 * z, 0.0]),
            sensor_lives: tick > 1,
            port_force_n: [0.0; 4],
            engaged: true,
            sent: Time(1_000_000 * tick),
            edits: RemoteEdits::default(),
        }
    }

    /// Plays frames that are the newest at each tick; returns the played reports of ticks in which the motion went on.
    fn play(playback: &mut ProbePlayback, newest: impl Iterator<Item = i64>) -> Vec<RemoteReport> {
        newest
            .filter_map(|tick| {
                let (report, played) = playback.play(&frame(tick), 1e-3, true);
                (played == Played::Moves).then_some(report)
            })
            .collect()
    }

    /// A playback whose shadow is in contact, after its first frame.
    fn begun(tick: i64) -> ProbePlayback {
        let mut playback = ProbePlayback::default();
        let (_, played) = playback.play(&frame(tick), 1e-3, false);
        assert_eq!(played, Played::Settles);
        let (_, played) = playback.play(&frame(tick), 1e-3, false);
        assert_eq!(played, Played::Rests);
        playback
    }

    #[test]
    fn regular_frames_are_played_at_once() {
        let played = play(&mut begun(1), 2..100);
        assert_eq!(played, (2..100).map(frame).collect::<Vec<_>>());
    }

    #[test]
    fn irregular_frames_are_played_as_one_smooth_motion() {
        // the age of the newest frame varies between 50 and 70 ms
        let mut newest = 0;
        let played = play(
            &mut begun(30),
            (100..2000).map(|now| {
                newest = newest.max(now - 50 - (now * 7919) % 21);
                newest
            }),
        );
        assert!(played.len() > 1850, "{}", played.len());
        for pair in played.windows(2) {
            assert_eq!(pair[1].sent - pair[0].sent, Span(1_000_000));
        }
        for report in &played {
            let truth = frame(report.sent.0 / 1_000_000);
            let error_m = report.probe.position_m[2] - truth.probe.position_m[2];
            assert!(error_m.abs() < 2e-6, "{error_m}");
            let [force, truth] =
                [report, &truth].map(|of| of.contact_force_n.expect("measured")[2]);
            assert!((force - truth).abs() < 0.02, "{force} {truth}");
        }
    }

    /// After a gap and a restart the shadow leaps; its force is not used before it has settled.
    #[test]
    fn playback_begins_anew_after_a_gap_and_a_restart() {
        let mut playback = begun(1);
        let ticks = [2, 3].into_iter().chain(203..400).chain(5..200);
        let sent: Vec<i64> = play(&mut playback, ticks)
            .iter()
            .map(|of| of.sent.0 / 1_000_000)
            .collect();
        let expected = [2, 3].into_iter().chain(304..400).chain(106..200);
        assert_eq!(sent, expected.collect::<Vec<_>>());
    }

    #[test]
    fn lag_is_limited_and_ends_without_contact() {
        let mut playback = begun(1);
        let lag = |playback: &mut ProbePlayback, tick, in_contact| {
            let (report, _) = playback.play(&frame(tick), 1e-3, in_contact);
            frame(tick).sent - report.sent
        };
        // a gap of 59 ms, and regular frames after it
        for tick in [1; 59].into_iter().chain(60..200) {
            lag(&mut playback, tick, true);
        }
        assert_eq!(lag(&mut playback, 200, true), Span(58_000_000));
        assert_eq!(lag(&mut playback, 201, false), Span(0));
        // a robot whose clock is three times as fast
        for tick in 202..600 {
            let now = lag(&mut playback, 3 * tick, true);
            assert!(now <= LAG_MAX[0], "{now:?}");
        }
    }

    #[test]
    fn robot_counts_as_free_only_between_two_frames_that_say_so() {
        let mut playback = begun(1);
        let held = |tick| RemoteReport {
            engaged: tick % 20 != 10,
            ..frame(tick)
        };
        // every second frame arrives, and the instants on both sides of one that is held are not free
        for tick in 2..100 {
            let (report, _) = playback.play(&held(tick / 2 * 2), 1e-3, true);
            let beside = (report.sent.0 / 1_000_000 - 10).rem_euclid(20);
            assert_eq!(report.engaged, ![0, 1, 19].contains(&beside), "{report:?}");
        }
        // the last instant is no end of time
        let last = RemoteReport {
            sent: Time(i64::MAX),
            ..frame(1)
        };
        playback.play(&last, 1e-3, true);
        assert_eq!(playback.play(&last, 1e-3, true).1, Played::Rests);
        assert_eq!(playback.play(&last, 0.0, true).1, Played::Rests);
    }
}
