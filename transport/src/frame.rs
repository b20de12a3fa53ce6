//! The haptic frame: all that one side tells the other, every tick.
//!
//! Every quantity that must survive loss, duplication and reordering is cumulative (teleop E6b):
//! a receiver that sees only the newest frame has lost nothing. Fixed size, so that no length in
//! it can lie.

use serde::{Deserialize, Serialize};

use crate::Axes;

/// One frame of the stream, master to slave or slave to master.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct HapticFrame {
    /// Run of the sender, drawn when it started; 0 is unknown. All its sums count from that start.
    pub session: u64,
    /// Run of the receiver for which the sums are meant; 0 if the sender has heard of none. A
    /// receiver that started anew must not take what was meant for its former run.
    pub peer_session: u64,
    /// Counts the frames that the sender made, from 1; 0 is no frame.
    pub sequence: u64,
    /// When it was sent, on the sender's clock \[ns\].
    pub sent_ns: i64,
    /// `sent_ns` of the newest frame that the sender had received (teleop E17, t1) \[ns\].
    pub echo_sent_ns: i64,
    /// When the sender received that frame, on its own clock (teleop E17, t2) \[ns\].
    pub echo_received_ns: i64,
    /// Counts changes of the wave impedance while the session runs; the slave sends the master's count
    /// back with the first wave made with that b. So the master knows until when waves of an earlier
    /// epoch arrive. They are decoded with `impedance_nspm`, which every frame says itself.
    pub impedance_epoch: u32,
    /// Sender's state, see [`FrameFlags`].
    pub flags: u32,
    /// Wave impedance b that this frame's wave and integral are made with \[N s/m\].
    pub impedance_nspm: f64,
    /// Position: the handle's (from the master) or the robot's (from the slave) \[m\].
    pub position_m: Axes,
    /// Its velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Port force \[N\]: written to the handle (master), or coupling force on the robot (slave).
    pub port_force_n: Axes,
    /// Measured contact force on the probe \[N\] (slave); zero from the master.
    pub contact_force_n: Axes,
    /// Newest wave sample u (master) or w (slave) \[sqrt(W)\].
    pub wave: Axes,
    /// Integral of the wave since `peer_session` began, sum of `wave * T` \[sqrt(W) s\]; at a change of
    /// b all of it is told anew in the new b, so that `sqrt(2/b)` of it is the same length.
    pub wave_integral: Axes,
    /// Energy sent in this direction since `peer_session` began \[J\], never decreasing.
    pub energy_sent_j: Axes,
    /// Energy left in the sender's account \[J\]; a hint for sharing, never booked.
    pub reservoir_j: Axes,
    /// Strokes since the tissue was whole ([`crate::stroke`]): of the twin (from the master), or of the tissue that
    /// this frame tells of (from the slave); so each side hears what the other has, and what it lacks.
    pub strokes: u64,
    /// One number for which elements of the sender's tissue are there, linked and held, after those
    /// strokes; 0 of tissue that no stroke can open.
    pub topology: u64,
}

impl HapticFrame {
    /// Length of an encoded frame, with its CDR encapsulation header \[bytes\].
    pub const ENCODED_BYTES: usize = 340;

    /// Wave impedance that its wave was made with, if it is one \[N s/m\].
    #[must_use]
    pub fn made_with_nspm(&self) -> Option<f64> {
        (0.1..=1000.0)
            .contains(&self.impedance_nspm)
            .then_some(self.impedance_nspm)
    }

    /// Whether every number in it could come from a machine: a frame that is not must not be used.
    ///
    /// Energies and integrals grow with a session; 1 MJ and 1e6 sqrt(W) s are years of palpation.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let within = |values: &Axes, most: f64| values.iter().all(|value| value.abs() <= most);
        is_plausible(&self.position_m, &self.velocity_mps)
            && within(&self.port_force_n, 1e6)
            && within(&self.contact_force_n, 1e6)
            && within(&self.wave, 1e6)
            && within(&self.wave_integral, 1e6)
            && within(&self.energy_sent_j, 1e6)
            && within(&self.reservoir_j, 1e6)
            && self.impedance_nspm.is_finite()
    }
}

/// Whether a position \[m\] and a velocity \[m/s\] could come from a device: within 10 m and
/// 1000 m/s, and numbers at all.
#[must_use]
pub fn is_plausible(position_m: &Axes, velocity_mps: &Axes) -> bool {
    position_m.iter().all(|value| value.abs() <= 10.0)
        && velocity_mps.iter().all(|value| value.abs() <= 1e3)
}

/// Bits of [`HapticFrame::flags`].
pub struct FrameFlags;

impl FrameFlags {
    /// The operator is present and motion may pass.
    pub const ENGAGED: u32 = 1;
    /// The contact force is known (unset: unknown, which is not zero).
    pub const FORCE_VALID: u32 = 1 << 1;
    /// The operator's tweezers are closed (or the gripper is).
    pub const CLOSED: u32 = 1 << 2;
    /// The sender has latched a fault.
    pub const FAULT: u32 = 1 << 3;

    /// Lowest of the four bits that number the coupling method.
    const MODE_SHIFT: u32 = 8;

    /// These flags with the number of the coupling method that the frame was made in, 0 to 15; 0 is the
    /// one agreed on, in a session that never switches.
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

/// Former runs of a sender that are told apart from a new one.
const RETIRED: usize = 16;

/// Which run of a sender counts, and how far its frames have come.
///
/// The newest run that was heard of counts. A frame of a former one is late, however new it is;
/// one that still arrives keeps its place among those remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Succession {
    session: u64,
    sequence: u64,
    /// Most recently seen first; 0 is an empty place.
    retired: [u64; RETIRED],
}

/// Where a frame stands in its sender's succession.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The first that was ever heard.
    First,
    /// Newer than all before.
    Next,
    /// The first of a sender that started again.
    Restarted,
    /// The newest once more.
    Repeated,
    /// Overtaken by a newer one, or of a former run.
    Late,
    /// Number 0, which is no frame.
    Void,
}

impl Succession {
    /// Of a sender whose run is known before its first frame; 0 is unknown.
    #[must_use]
    pub fn of(session: u64) -> Self {
        Self {
            session,
            ..Self::default()
        }
    }

    /// The run that counts; 0 if none is known.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Where a frame stands; it counts only after [`Self::advance`].
    pub fn judge(&mut self, frame: &HapticFrame) -> Order {
        if frame.sequence == 0 {
            return Order::Void;
        }
        if frame.session == self.session {
            return match frame.sequence.cmp(&self.sequence) {
                core::cmp::Ordering::Greater => Order::Next,
                core::cmp::Ordering::Equal => Order::Repeated,
                core::cmp::Ordering::Less => Order::Late,
            };
        }
        if *self == Self::default() {
            return Order::First;
        }
        let known = self.retired.iter().position(|&run| run == frame.session);
        match known.filter(|_| frame.session != 0) {
            Some(place) => {
                self.retired[..=place].rotate_right(1);
                Order::Late
            }
            None => Order::Restarted,
        }
    }

    /// Let a frame count that was judged first, next or restarted.
    pub fn advance(&mut self, frame: &HapticFrame) {
        if frame.session != self.session && self.session != 0 {
            self.retired.rotate_right(1);
            self.retired[0] = self.session;
        }
        self.session = frame.session;
        self.sequence = frame.sequence;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(session: u64, sequence: u64) -> HapticFrame {
        HapticFrame {
            session,
            sequence,
            ..HapticFrame::default()
        }
    }

    fn take(succession: &mut Succession, session: u64, sequence: u64) -> Order {
        let frame = frame(session, sequence);
        let order = succession.judge(&frame);
        if matches!(order, Order::First | Order::Next | Order::Restarted) {
            succession.advance(&frame);
        }
        order
    }

    #[test]
    fn a_new_run_counts_at_once_and_a_former_one_never_again() {
        let mut known = Succession::default();
        assert_eq!(take(&mut known, 7, 500), Order::First);
        assert_eq!(take(&mut known, 7, 500), Order::Repeated);
        assert_eq!(take(&mut known, 7, 499), Order::Late);
        assert_eq!(take(&mut known, 9, 1), Order::Restarted);
        assert_eq!(take(&mut known, 7, 501), Order::Late);
        assert_eq!(take(&mut known, 9, 2), Order::Next);
        assert_eq!(take(&mut known, 9, 0), Order::Void);
        // a former run that is still heard stays known, however many come and go
        for run in 100..100 + 4 * RETIRED as u64 {
            assert_eq!(take(&mut known, run, 1), Order::Restarted);
            assert_eq!(take(&mut known, 7, 600), Order::Late);
        }
    }

    #[test]
    fn a_run_told_beforehand_is_no_restart() {
        let mut told = Succession::of(7);
        assert_eq!(take(&mut told, 7, 3), Order::Next);
        let mut other = Succession::of(7);
        assert_eq!(take(&mut other, 8, 3), Order::Restarted);
    }

    proptest! {
        /// Whatever order frames come in, each run's admitted numbers go up and no run comes twice.
        #[test]
        fn runs_and_numbers_never_go_back(
            frames in prop::collection::vec((0_u64..6, 0_u64..40), 1..200),
        ) {
            let mut known = Succession::default();
            let mut admitted: Vec<(u64, u64)> = Vec::new();
            for (session, sequence) in frames {
                let order = take(&mut known, session, sequence);
                if matches!(order, Order::First | Order::Next | Order::Restarted) {
                    if let Some(&(run, number)) = admitted.last() {
                        let again = session != 0 && admitted.iter().any(|one| one.0 == session);
                        prop_assert!((run == session && number < sequence) || !again);
                    }
                    admitted.push((session, sequence));
                }
            }
        }
    }
}
