//! Peer that forges frames, in virtual time: arbitrary numbers, and lies that keep the bounds of a device.
//!
//! Source: ours (teleop E19). A forged frame names the runs of both sides, as one that listened on the network can. Each
//! lie lasts for a while, as a force or an energy that grows does more harm than a single wrong frame.

use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::random::uniform;
use palpate_transport::trace::Side;
use palpate_transport::{AXES, Axes, HapticFrame};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use xxhash_rust::xxh3::Xxh3;

/// Ticks for which a lie lasts.
const LIE_TICKS: u64 = 120;

/// Kind of a lie.
#[derive(Debug, Clone, Copy)]
enum Lie {
    /// Any bits in every number, not-a-number among them.
    Noise,
    /// Energy out of nothing, of any size.
    Credit,
    /// Forces, velocities and waves of any size.
    Forces,
    /// A place elsewhere.
    Places,
    /// A new run of the sender.
    NewRun,
    /// A number far ahead of the sender's.
    Ahead,
    /// The first frame once more.
    Replay,
    /// Force, motion, wave and energy that a declared device can have, or a part of them.
    Credible,
}

const LIES: [Lie; 8] = [
    Lie::Noise,
    Lie::Credit,
    Lie::Forces,
    Lie::Places,
    Lie::NewRun,
    Lie::Ahead,
    Lie::Replay,
    Lie::Credible,
];

/// Forger of the frames of one side.
pub(super) struct Liar {
    share: f64,
    random: Xoshiro256PlusPlus,
    /// Present lie, with the ticks for which it lasts.
    lie: (Lie, u64),
    /// Values from -1 to 1 that a lie keeps.
    values: Axes,
    /// First and newest true frame.
    seen: Option<[HapticFrame; 2]>,
    /// Newest credible lie.
    pretended: HapticFrame,
}

impl Liar {
    /// Creates a forger of the frames of `side` in a fraction `share` of the ticks.
    pub(super) fn new(share: f64, seed: u64, side: Side) -> Self {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(b"liar");
        hash.update(side.name().as_bytes());
        Self {
            share,
            random: Xoshiro256PlusPlus::seed_from_u64(hash.digest()),
            lie: (Lie::Noise, 0),
            values: Axes::default(),
            seen: None,
            pretended: HapticFrame::default(),
        }
    }

    /// Takes a true frame of the side, as its receiver gets it.
    pub(super) fn observe(&mut self, frame: &HapticFrame) {
        let [_, newest] = self.seen.get_or_insert([*frame; 2]);
        if frame.sequence > newest.sequence || frame.run != newest.run {
            *newest = *frame;
        }
    }

    /// Frame that is forged in a tick; none in most ticks.
    pub(super) fn forge(&mut self, coupling: &CouplingParams) -> Option<HapticFrame> {
        let [first, newest] = self.seen.filter(|_| self.share > 0.0)?;
        if self.lie.1 == 0 {
            let index = (self.random.next_u64() % LIES.len() as u64) as usize;
            self.lie = (LIES[index], LIE_TICKS);
            self.values = core::array::from_fn(|_| self.either_way());
        }
        self.lie.1 -= 1;
        if uniform(&mut self.random) >= self.share {
            return None;
        }
        // the true frame of this number then comes too late
        let frame = HapticFrame {
            sequence: newest.sequence + 1,
            ..newest
        };
        Some(self.lie(frame, &first, coupling))
    }

    fn lie(
        &mut self,
        mut frame: HapticFrame,
        first: &HapticFrame,
        coupling: &CouplingParams,
    ) -> HapticFrame {
        match self.lie.0 {
            Lie::Noise => {
                frame.position_m = self.bits();
                frame.wave = self.bits();
                frame.energy_sent_j = self.bits();
                frame.contact_force_n = self.bits();
                frame.impedance_nspm = f64::from_bits(self.random.next_u64());
            }
            Lie::Credit => {
                let size_j = self.size();
                frame.energy_sent_j = frame.energy_sent_j.map(|j| j + size_j);
                frame.tank_j = self.values.map(|value| value * size_j);
            }
            Lie::Forces => {
                let size = self.size();
                frame.port_force_n = self.values.map(|value| value * size);
                frame.contact_force_n = frame.port_force_n;
                frame.velocity_mps = frame.port_force_n;
                frame.wave = frame.port_force_n;
            }
            Lie::Places => {
                frame.position_m = self.values.map(|value| 0.2 * value);
                frame.wave_integral = self.values.map(|value| 10.0 * value);
                frame.flags = self.random.next_u64() as u32;
            }
            Lie::NewRun => (frame.run, frame.sequence) = (self.random.next_u64() | 1, 1),
            Lie::Ahead => {
                let frames = libm::pow(10.0, 3.0 + 6.0 * uniform(&mut self.random)) as u64;
                frame.sequence = frame.sequence.saturating_add(frames);
            }
            Lie::Replay => {
                frame = HapticFrame {
                    sequence: frame.sequence,
                    ..*first
                };
            }
            Lie::Credible => self.pretend(&mut frame, coupling),
        }
        frame
    }

    /// Makes a frame as much as a device of the coupling can have sent a period after the last lie, or a share of it.
    fn pretend(&mut self, frame: &mut HapticFrame, coupling: &CouplingParams) {
        let dt_s = PERIOD.s();
        // place, sum and energy go on from the last lie
        if self.pretended.run == frame.run && self.lie.1 + 1 < LIE_TICKS {
            frame.position_m = self.pretended.position_m;
            frame.wave_integral = self.pretended.wave_integral;
            frame.energy_sent_j = self.pretended.energy_sent_j;
        }
        for axis in 0..AXES {
            let (sign, share) = (self.values[axis].signum(), self.values[axis].abs());
            let mps = share * coupling.device_mps_max;
            let n = share * coupling.device_n_max;
            let b = frame.impedance_nspm * coupling.impedance_ratio[axis];
            let wave = sign * (b * mps + n) / (2.0 * b).sqrt();
            frame.velocity_mps[axis] = sign * mps;
            frame.position_m[axis] += sign * mps * dt_s;
            frame.port_force_n[axis] = sign * n;
            frame.contact_force_n[axis] = sign * n;
            frame.wave[axis] = wave;
            frame.wave_integral[axis] += wave * dt_s;
            frame.energy_sent_j[axis] += n * mps * dt_s;
        }
        self.pretended = *frame;
    }

    /// Number of any size from 1e-6 to 1e6, with either sign.
    fn size(&mut self) -> f64 {
        libm::pow(10.0, 6.0 * self.either_way()) * self.either_way().signum()
    }

    fn either_way(&mut self) -> f64 {
        2.0 * uniform(&mut self.random) - 1.0
    }

    fn bits(&mut self) -> Axes {
        core::array::from_fn(|_| f64::from_bits(self.random.next_u64()))
    }
}
