//! Haptic frame: all that one side sends to the other in every tick.
//!
//! Every quantity that must survive loss, duplication and reordering is cumulative (teleop E6b): a
//! receiver that gets only the newest frame has lost nothing. The size is fixed, so a frame contains no
//! length that could be wrong.

use crate::clock::PERIOD;
use crate::msg::message;
use crate::{Axes, Time};

message! {
    "palpate_msgs/msg/HapticFrame"
    /// One frame of the stream, master to slave or slave to master.
    #[derive(Copy, Default)]
    pub struct HapticFrame {
        /// Run of the sender, drawn at its start; 0 is unknown.
        pub run: u64,
        /// Run of the receiver for which the sums are meant; 0 if the sender has received none. Sums count from the
        /// later start of both runs. A receiver that restarted must not use sums for its former run.
        pub peer_run: u64,
        /// Number of the frame, from 1; 0 is no frame.
        pub sequence: u64,
        /// Time of sending, on the sender's clock \[ns\].
        pub sent_ns: i64,
        /// `sent_ns` of the newest frame that the sender had received (teleop E17, t1) \[ns\].
        pub echo_sent_ns: i64,
        /// Time at which the sender received that frame, on its own clock (teleop E17, t2) \[ns\].
        pub echo_received_ns: i64,
        /// Number of changes of the wave impedance so far. The slave echoes the master's number with the first
        /// wave of the new b, so the master can tell until when waves of an earlier epoch arrive. They are
        /// decoded with `impedance_nspm`, which is in every frame.
        pub impedance_epoch: u32,
        /// Sender's state, see [`FrameFlags`].
        pub flags: u32,
        /// Wave impedance b of this frame's wave and integral \[N s/m\].
        pub impedance_nspm: f64,
        /// Position: the handle's (from the master) or the robot's (from the slave) \[m\].
        pub position_m: Axes,
        /// Velocity of the handle or the robot \[m/s\].
        pub velocity_mps: Axes,
        /// Port force \[N\]: written to the handle (master), or coupling force on the robot (slave).
        pub port_force_n: Axes,
        /// Measured contact force on the probe \[N\] (slave); zero from the master.
        pub contact_force_n: Axes,
        /// Newest wave sample u (master) or w (slave) \[sqrt(W)\].
        pub wave: Axes,
        /// Integral of the wave, sum of `wave * T` \[sqrt(W) s\]. A change of b rescales
        /// the whole sum, so that `sqrt(2/b)` times it remains the same length.
        pub wave_integral: Axes,
        /// Energy sent in this direction \[J\], never decreasing.
        pub energy_sent_j: Axes,
        /// Level of the sender's energy tank \[J\]; used to distribute energy, never added to a balance.
        pub tank_j: Axes,
        /// Edit batches since the tissue was whole ([`crate::edit_batch`]): those of the
        /// twin (from the master), or those that the remote tissue has finished, applied or refused (from the slave).
        pub edit_batches: u64,
        /// Hash of the nodes, links and pins of the sender's tissue after those batches; 0 for tissue
        /// that cannot be edited.
        pub topology: u64,
    }
}

impl HapticFrame {
    /// Wave impedance of its wave, if that is within 0.1 to 1000 N s/m.
    #[must_use]
    pub fn wave_impedance_nspm(&self) -> Option<f64> {
        (0.1..=1000.0)
            .contains(&self.impedance_nspm)
            .then_some(self.impedance_nspm)
    }

    /// True if every number is physically possible: a frame for which this is false must not be used.
    ///
    /// Energies and integrals grow during a session; it takes years of palpation to reach 1 MJ or 1e6 sqrt(W) s.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let [_, _, others @ ..] = self.axes();
        let mut others = others.iter().flat_map(|(_, values)| values.iter());
        is_plausible(&self.position_m, &self.velocity_mps)
            && others.all(|value| value.abs() <= 1e6)
            && self.impedance_nspm.is_finite()
    }

    /// Numbers of the frame by axis, with the names of their fields.
    pub(crate) fn axes(&self) -> [(&'static str, &Axes); 8] {
        [
            ("position_m", &self.position_m),
            ("velocity_mps", &self.velocity_mps),
            ("port_force_n", &self.port_force_n),
            ("contact_force_n", &self.contact_force_n),
            ("wave", &self.wave),
            ("wave_integral", &self.wave_integral),
            ("energy_sent_j", &self.energy_sent_j),
            ("tank_j", &self.tank_j),
        ]
    }
}

/// True if a position \[m\] and a velocity \[m/s\] are physically possible: within 10 m and
/// 1000 m/s, and not not-a-number.
#[must_use]
pub fn is_plausible(position_m: &Axes, velocity_mps: &Axes) -> bool {
    position_m.iter().all(|value| value.abs() <= 10.0)
        && velocity_mps.iter().all(|value| value.abs() <= 1e3)
}

/// Bits of [`HapticFrame::flags`].
pub struct FrameFlags;

impl FrameFlags {
    /// The operator is present and motion is enabled.
    pub const ENGAGED: u32 = 1;
    /// The contact force is known (unset: unknown, which differs from zero).
    pub const FORCE_VALID: u32 = 1 << 1;
    /// The operator's tweezers are closed (or the gripper is).
    pub const GRIPPER_CLOSED: u32 = 1 << 2;
    /// The sender has latched a fault.
    pub const FAULT: u32 = 1 << 3;

    /// Lowest of the four bits that number the coupling method.
    const MODE_SHIFT: u32 = 8;

    /// Returns these flags with the number of the coupling method of the frame, 0 to 15; 0 is the agreed
    /// method, in a session that never switches.
    #[must_use]
    pub fn with_mode(flags: u32, code: u32) -> u32 {
        (flags & !(0xF << Self::MODE_SHIFT)) | (code & 0xF) << Self::MODE_SHIFT
    }

    /// Number of the coupling method in these flags.
    #[must_use]
    pub fn mode_code(flags: u32) -> u32 {
        (flags >> Self::MODE_SHIFT) & 0xF
    }
}

/// Frames by which a number may exceed those that its sender had time for: the delay of the first frame, 2 s at most,
/// may have been longer than that of this one.
const AHEAD_FRAMES_MAX: u64 = 2000;

/// Numbers that a sender can have reached: it sends at most one frame a period. A forged number beyond them would make
/// every later frame of the true sender a late one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SendingRate {
    /// Number of the first frame.
    first_sequence: u64,
    /// Time at which it arrived, on the receiver's clock.
    first_received: Time,
    /// Time at which the newest frame arrived.
    newest_received: Time,
}

impl SendingRate {
    fn reaches(&self, sequence: u64, received: Time) -> bool {
        let passed_ns = (received - self.first_received).0.max(0) as u64;
        // 1 % for clocks that differ
        let most = passed_ns / PERIOD.0 as u64 * 101 / 100 + AHEAD_FRAMES_MAX;
        sequence <= self.first_sequence.saturating_add(most)
    }
}

/// Former runs of a sender that are kept to recognise their late frames.
const FORMER_RUNS_MAX: usize = 16;

/// Tracker of a sender's current run and the newest number of its frames.
///
/// The newest run counts. A frame of a former run is late, however new it is; a former run that still
/// sends keeps its place among those remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SequenceTracker {
    run: u64,
    sequence: u64,
    /// Numbers that the current run can have reached; none before its first frame.
    rate: Option<SendingRate>,
    /// Most recent first; 0 is an empty place.
    former_runs: [u64; FORMER_RUNS_MAX],
}

/// Order of a frame among those of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameOrder {
    /// The first frame of all.
    First,
    /// Newer than all before.
    Next,
    /// The first frame of a sender that restarted.
    Restarted,
    /// A repetition of the newest.
    Repeated,
    /// Overtaken by a newer one, or of a former run.
    Late,
    /// A number that the sender cannot have reached yet.
    Ahead,
    /// Of a new run, while the former one may go on; the receiver decides that.
    UnprovenRun,
    /// Number 0, which is no frame.
    Invalid,
}

impl FrameOrder {
    /// True if the frame may be used and is to be passed to [`SequenceTracker::accept`].
    #[must_use]
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::First | Self::Next | Self::Restarted)
    }
}

impl SequenceTracker {
    /// Creates a tracker of a sender whose run is known before its first frame; 0 is unknown.
    #[must_use]
    pub fn from_run(run: u64) -> Self {
        Self {
            run,
            ..Self::default()
        }
    }

    /// Run that counts; 0 if none is known.
    #[must_use]
    pub fn run_id(&self) -> u64 {
        self.run
    }

    /// Classifies a frame by its time of arrival; the frame counts only after [`Self::accept`].
    pub fn classify(&mut self, frame: &HapticFrame, received: Time) -> FrameOrder {
        if frame.sequence == 0 {
            return FrameOrder::Invalid;
        }
        if frame.run == self.run {
            return match frame.sequence.cmp(&self.sequence) {
                core::cmp::Ordering::Greater => {
                    let rate = self.rate.filter(|rate| received >= rate.newest_received);
                    if rate.is_none_or(|rate| rate.reaches(frame.sequence, received)) {
                        FrameOrder::Next
                    } else {
                        FrameOrder::Ahead
                    }
                }
                core::cmp::Ordering::Equal => FrameOrder::Repeated,
                core::cmp::Ordering::Less => FrameOrder::Late,
            };
        }
        if *self == Self::default() {
            return FrameOrder::First;
        }
        let known = self.former_runs.iter().position(|&run| run == frame.run);
        match known.filter(|_| frame.run != 0) {
            Some(place) => {
                self.former_runs[..=place].rotate_right(1);
                FrameOrder::Late
            }
            None => FrameOrder::Restarted,
        }
    }

    /// Accepts a frame that was classified as first, next or restarted.
    pub fn accept(&mut self, frame: &HapticFrame, received: Time) {
        if frame.run != self.run {
            self.rate = None;
            if self.run != 0 {
                self.former_runs.rotate_right(1);
                self.former_runs[0] = self.run;
            }
        }
        // a receiver's clock that was set back begins anew
        let rate = self.rate.filter(|rate| received >= rate.newest_received);
        let first = rate.unwrap_or(SendingRate {
            first_sequence: frame.sequence,
            first_received: received,
            newest_received: received,
        });
        self.rate = Some(SendingRate {
            newest_received: received,
            ..first
        });
        self.run = frame.run;
        self.sequence = frame.sequence;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(run: u64, sequence: u64) -> HapticFrame {
        HapticFrame {
            run,
            sequence,
            ..HapticFrame::default()
        }
    }

    fn take(tracker: &mut SequenceTracker, run: u64, sequence: u64) -> FrameOrder {
        take_at(tracker, run, sequence, Time(0))
    }

    fn take_at(
        tracker: &mut SequenceTracker,
        run: u64,
        sequence: u64,
        received: Time,
    ) -> FrameOrder {
        let frame = frame(run, sequence);
        let order = tracker.classify(&frame, received);
        if order.is_accepted() {
            tracker.accept(&frame, received);
        }
        order
    }

    #[test]
    fn issue_forged_number_retired_the_true_sender() {
        let (mut tracker, at) = (SequenceTracker::default(), |ms| Time(PERIOD.0 * ms));
        assert_eq!(take_at(&mut tracker, 7, 500, at(100)), FrameOrder::First);
        let forged = take_at(&mut tracker, 7, u64::MAX, at(101));
        assert_eq!(forged, FrameOrder::Ahead);
        assert_eq!(take_at(&mut tracker, 7, 501, at(102)), FrameOrder::Next);
        // an hour without a frame, and clocks that differ by 200 ppm
        let hour = 3_600_000;
        let late = take_at(&mut tracker, 7, 500 + hour + 720, at(100 + hour as i64));
        assert_eq!(late, FrameOrder::Next);
        let beyond = 500 + hour + hour / 100 + AHEAD_FRAMES_MAX + 1;
        assert_eq!(
            take_at(&mut tracker, 7, beyond, at(100 + hour as i64)),
            FrameOrder::Ahead
        );
        // the receiver's clock is set back
        assert_eq!(
            take_at(&mut tracker, 7, 502 + hour + 720, at(5)),
            FrameOrder::Next
        );
    }

    #[test]
    fn new_run_replaces_the_former_one_for_good() {
        let mut tracker = SequenceTracker::default();
        assert_eq!(take(&mut tracker, 7, 500), FrameOrder::First);
        assert_eq!(take(&mut tracker, 7, 500), FrameOrder::Repeated);
        assert_eq!(take(&mut tracker, 7, 499), FrameOrder::Late);
        assert_eq!(take(&mut tracker, 9, 1), FrameOrder::Restarted);
        assert_eq!(take(&mut tracker, 7, 501), FrameOrder::Late);
        assert_eq!(take(&mut tracker, 9, 2), FrameOrder::Next);
        assert_eq!(take(&mut tracker, 9, 0), FrameOrder::Invalid);
        // a former run that still sends frames stays known, however many other runs there are
        for run in 100..100 + 4 * FORMER_RUNS_MAX as u64 {
            assert_eq!(take(&mut tracker, run, 1), FrameOrder::Restarted);
            assert_eq!(take(&mut tracker, 7, 600), FrameOrder::Late);
        }
    }

    #[test]
    fn run_known_beforehand_is_no_restart() {
        let mut tracker = SequenceTracker::from_run(7);
        assert_eq!(take(&mut tracker, 7, 3), FrameOrder::Next);
        let mut other = SequenceTracker::from_run(7);
        assert_eq!(take(&mut other, 8, 3), FrameOrder::Restarted);
    }

    proptest! {
        /// Numbers of accepted frames of each run increase and no run returns, in any order of frames.
        #[test]
        fn runs_and_sequence_numbers_never_decrease(
            frames in prop::collection::vec((0_u64..6, 0_u64..40), 1..200),
        ) {
            let mut tracker = SequenceTracker::default();
            let mut accepted: Vec<(u64, u64)> = Vec::new();
            for (run, sequence) in frames {
                let order = take(&mut tracker, run, sequence);
                if order.is_accepted() {
                    if let Some(&(last_run, number)) = accepted.last() {
                        let again = run != 0 && accepted.iter().any(|one| one.0 == run);
                        prop_assert!((run == last_run && number < sequence) || !again);
                    }
                    accepted.push((run, sequence));
                }
            }
        }
    }
}
