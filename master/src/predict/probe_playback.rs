//! Playback of the robot's motion, tick by tick, from frames that arrive irregularly.
//!
//! A jittery link delivers some of the frames, in bursts. A shadow that leaps from frame to frame and rests between them
//! feels another motion than the remote tissue, and viscous tissue then returns another force. The playback follows
//! the frames on the sender's clock, as far behind the newest as the longest gap so far requires. Between two
//! frames it interpolates: the position by a cubic that has their velocities, the rest linearly. Ours.

use std::collections::VecDeque;

use palpate_transport::{Axes, Span, Time};

use super::{RemoteReport, ToolState};

/// Most frames that wait; the playback leaps over older ones.
const FRAMES_MAX: usize = 64;

/// Longest time between two frames over which motion is interpolated: 3 mm at 50 mm/s.
const GAP_MAX: Span = Span(60_000_000);

/// Frames that were received and not yet played, and the time that is played.
pub(super) struct ProbePlayback {
    /// The first is the last frame before the played time; sending times increase.
    frames: VecDeque<RemoteReport>,
    played: Time,
}

impl Default for ProbePlayback {
    fn default() -> Self {
        Self {
            frames: VecDeque::with_capacity(FRAMES_MAX),
            played: Time(0),
        }
    }
}

impl ProbePlayback {
    /// Takes the newest frame and plays the next `dt_s` \[s\] of the motion; allocates nothing. Returns the motion at the
    /// end of it, and false if no time has passed because newer frames are missing. After a gap that is too long the
    /// motion begins anew.
    pub(super) fn play(&mut self, newest: &RemoteReport, dt_s: f64) -> (RemoteReport, bool) {
        let begins = self.take(newest);
        let step = Span::from_s(dt_s);
        let end = self.played + step;
        if begins || end <= newest.sent {
            self.played = if begins { newest.sent } else { end };
            while self
                .frames
                .get(1)
                .is_some_and(|next| next.sent <= self.played)
            {
                self.frames.pop_front();
            }
            return (self.at_played(newest), true);
        }
        (self.at_played(newest), false)
    }

    /// Adds a frame that is new; true if the motion begins with it.
    fn take(&mut self, newest: &RemoteReport) -> bool {
        let gap = self.frames.back().map(|last| newest.sent - last.sent);
        match gap {
            Some(Span(0)) => return false,
            Some(gap) if gap > Span(0) && gap <= GAP_MAX => {
                if self.frames.len() == FRAMES_MAX {
                    self.frames.pop_front();
                    self.played = self.played.max(self.frames[0].sent);
                }
                let last_n = self.frames.back().and_then(|last| last.contact_force_n);
                self.frames.push_back(RemoteReport {
                    sensor_lives: newest.contact_force_n != last_n,
                    ..*newest
                });
                return false;
            }
            _ => {}
        }
        self.frames.clear();
        self.frames.push_back(*newest);
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
            engaged: newest.engaged,
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

    /// Plays frames that are the newest at each tick; returns the played reports of ticks in which time passed.
    fn play(newest: impl Iterator<Item = i64>) -> Vec<RemoteReport> {
        let mut playback = ProbePlayback::default();
        newest
            .filter_map(|tick| {
                let (report, passed) = playback.play(&frame(tick), 1e-3);
                passed.then_some(report)
            })
            .collect()
    }

    #[test]
    fn regular_frames_are_played_at_once() {
        let played = play(1..100);
        assert_eq!(played, (1..100).map(frame).collect::<Vec<_>>());
    }

    #[test]
    fn irregular_frames_are_played_as_one_smooth_motion() {
        // the age of the newest frame varies between 50 and 70 ms
        let mut newest = 0;
        let played = play((100..2000).map(|now| {
            newest = newest.max(now - 50 - (now * 7919) % 21);
            newest
        }));
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

    #[test]
    fn playback_begins_anew_after_a_gap_and_a_restart() {
        let played = play([1, 2, 3, 203, 204, 5, 6].into_iter());
        let sent: Vec<i64> = played.iter().map(|of| of.sent.0 / 1_000_000).collect();
        assert_eq!(sent, [1, 2, 3, 203, 204, 5, 6]);
    }

    #[test]
    fn backlog_is_limited() {
        let mut playback = ProbePlayback::default();
        // three frames' time passes in each tick of one
        for tick in 1..500 {
            let newest = frame(3 * tick);
            let (report, _) = playback.play(&newest, 1e-3);
            assert!(playback.frames.len() <= FRAMES_MAX);
            assert!(newest.sent - report.sent <= Span(3_000_000 * FRAMES_MAX as i64));
        }
    }
}
