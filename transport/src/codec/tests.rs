//! The codec on palpation with the noise of real sensors, through a link that loses frames.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::link::{LinkParams, LinkQueue, Outage};
use crate::{Axes, HapticFrame, Span, Time};

const PERIOD: Span = Span(1_000_000);
const BYTES: usize = 384;

/// What a hand does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Motion {
    /// 25 mm at this frequency \[Hz\], the tissue at 10 mm: teleop RP-1.
    Sine(f64),
    /// A press of 1 s every 3 s, moved like a hand (minimum jerk), still in between.
    Presses,
}

impl Motion {
    /// Depth \[m\] at a time \[s\].
    fn depth_m(self, at_s: f64) -> f64 {
        match self {
            Self::Sine(hz) => 0.0125 * (1.0 - libm::cos(core::f64::consts::TAU * hz * at_s)),
            Self::Presses => {
                let s = at_s % 3.0;
                let part = if s < 0.5 { s / 0.5 } else { (1.0 - (s - 0.5) / 0.5).max(0.0) };
                0.025 * part * part * part * (10.0 - 15.0 * part + 6.0 * part * part)
            }
        }
    }

    fn frame(self, tick: i64, noise: &mut Noise) -> HapticFrame {
        let at_s = Span(tick * PERIOD.0).s();
        let depth_m = self.depth_m(at_s);
        let speed_mps = (depth_m - self.depth_m(at_s - PERIOD.s())) / PERIOD.s();
        let force_n = 300.0 * (depth_m - 0.010).max(0.0);
        HapticFrame {
            session: 1,
            peer_session: 2,
            sequence: tick as u64 + 1,
            // a clock never shows 0
            sent_ns: (tick + 1) * PERIOD.0,
            position_m: [0.0, 0.0, -depth_m, 0.0],
            velocity_mps: noise.on([0.0, 0.0, -speed_mps, 0.0], 0.0005),
            contact_force_n: noise.on([0.0, 0.0, force_n, 0.0], 0.010),
            ..HapticFrame::default()
        }
    }
}

struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn on(&mut self, mut values: Axes, sigma: f64) -> Axes {
        for value in &mut values[..3] {
            let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
            *value += sigma * radius * libm::cos(core::f64::consts::TAU * self.unit());
        }
        values
    }
}

/// What a stream came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Outcome {
    sent_per_s: f64,
    /// Part of the ticks at which what was shown is within max(k |x|, floor) of the truth.
    inside: f64,
    silence_ms_max: f64,
}

fn lossy(loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms: 50.0,
        loss,
        ..LinkParams::default()
    }
}

/// One stream of 60 s through a link, with the echo of a peer that sends as rarely.
fn stream(params: &CodecParams, judged: Judged, motion: Motion, link: LinkParams) -> Outcome {
    let mut encoder = Encoder::new(params, judged, PERIOD);
    let mut decoder = Decoder::new(params, judged);
    let mut way = LinkQueue::new(link, 1, 4096).expect("valid");
    let mut back = LinkQueue::new(link, 2, 4096).expect("valid");
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(3));
    let delay = (link.oneway_ms.round() as usize).max(1);
    let (mut truth, mut newest) = (Vec::new(), None);
    let mut peer = HapticFrame::default();
    let (ticks, mut inside, mut judged_ticks) = (60_000, 0, 0);
    let (mut outcome, mut sent) = (Outcome::default(), 0);
    for tick in 0..ticks {
        let now = Time((tick + 1) * PERIOD.0);
        while let Some(frame) = back.pop_due(now) {
            peer = frame;
        }
        let frame = motion.frame(tick, &mut noise);
        truth.push(judged.read(&frame));
        if let Some(frame) = encoder.encode(&frame, &peer) {
            sent += 1;
            assert_eq!(frame.sequence, sent, "numbers count what was sent");
            way.push(now, BYTES, frame);
        }
        while let Some(frame) = way.pop_due(now) {
            newest = Some((frame, now));
        }
        let Some((frame, received)) = decoder.decode(newest, now) else {
            continue;
        };
        if tick % 25 == 0 {
            let echo = HapticFrame {
                sequence: tick as u64 + 1,
                sent_ns: now.0,
                echo_sent_ns: frame.sent_ns,
                echo_received_ns: received.0,
                ..HapticFrame::default()
            };
            back.push(now, BYTES, echo);
        }
        outcome.silence_ms_max = outcome.silence_ms_max.max((now - received).ms());
        let then = &truth[truth.len() - 1 - delay];
        let threshold = Threshold::new(params, judged);
        judged_ticks += 1;
        // against the truth, not what was sent: the threshold belongs to it
        inside += u32::from(!threshold.is_crossed(then, &judged.read(&frame), 0.0));
    }
    outcome.sent_per_s = sent as f64 / (ticks as f64 * PERIOD.s());
    outcome.inside = f64::from(inside) / f64::from(judged_ticks);
    outcome
}

fn deadband() -> CodecParams {
    CodecParams {
        kind: CodecKind::Deadband,
        ..CodecParams::default()
    }
}

/// The three motions through a link: means of what was sent and of the part inside.
fn corpus(params: &CodecParams, judged: Judged, link: LinkParams) -> Outcome {
    let motions = [Motion::Sine(0.7), Motion::Sine(0.1), Motion::Presses];
    let mut mean = Outcome::default();
    for motion in motions {
        let one = stream(params, judged, motion, link);
        println!(
            "  {judged:?} {motion:?}: {:.1} packets/s, inside at {:.2} % of ticks, silent {:.0} ms at most",
            one.sent_per_s,
            100.0 * one.inside,
            one.silence_ms_max
        );
        mean.sent_per_s += one.sent_per_s / motions.len() as f64;
        mean.inside += one.inside / motions.len() as f64;
        mean.silence_ms_max = mean.silence_ms_max.max(one.silence_ms_max);
    }
    mean
}

const BOTH: [Judged; 2] = [Judged::Velocity, Judged::ContactForce];

/// Teleop goal 6, with free space in all motions and a silence that its keep-alive allows.
#[test]
fn noise_and_loss_leave_95_percent_out_and_99_5_percent_inside() {
    let params = CodecParams {
        keep_alive_s: 0.045,
        ..deadband()
    };
    let burst = LinkParams {
        outage: Some(Outage {
            on_s: 1.95,
            off_s: 0.05,
        }),
        ..lossy(0.0)
    };
    for (name, link) in [
        ("no loss", lossy(0.0)),
        ("10 % loss", lossy(0.1)),
        ("50 ms lost every 2 s", burst),
    ] {
        for judged in BOTH {
            println!("{name}");
            let mean = corpus(&params, judged, link);
            let reduced = 1.0 - mean.sent_per_s / 1000.0;
            println!("  mean: {:.2} % fewer, inside {:.2} %", 100.0 * reduced, 100.0 * mean.inside);
            assert!(reduced >= 0.95, "{name} {judged:?}: {reduced}");
            assert!(mean.inside >= 0.995, "{name} {judged:?}: {}", mean.inside);
        }
    }
}
