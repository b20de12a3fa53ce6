//! The codec on palpation with the noise of real sensors, through a link that loses frames.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::rate_control::RateControl;
use super::receiver_model::Echo;
use super::*;
use crate::clock::PERIOD;
use crate::frame::FrameFlags;
use crate::link::{LinkParams, LinkQueue, Outage};
use crate::{Axes, HapticFrame, Span, Time};

const BYTES: usize = 384;

/// Motion of a hand.
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
                let part = if s < 0.5 {
                    s / 0.5
                } else {
                    (1.0 - (s - 0.5) / 0.5).max(0.0)
                };
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
            run: 1,
            peer_run: 2,
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

/// Statistics of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Outcome {
    sent_per_s: f64,
    /// Fraction of the ticks at which the decoded value is within max(k |x|, floor) of the true value.
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
fn stream(
    params: &CodecParams,
    judged: PerceivedSignal,
    motion: Motion,
    link: LinkParams,
) -> Outcome {
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
        let threshold = WeberThreshold::new(params, judged);
        judged_ticks += 1;
        // compared with the true value, not the sent one: the threshold belongs to it
        inside += u32::from(!threshold.is_exceeded(then, &judged.read(&frame), 0.0));
    }
    outcome.sent_per_s = sent as f64 / (ticks as f64 * PERIOD.s());
    outcome.inside = f64::from(inside) / f64::from(judged_ticks);
    outcome
}

fn deadband() -> CodecParams {
    CodecParams {
        kind: CodecKind::Deadband,
        // the noise of the corpus is that of teleop section 3, unsmoothed
        smooth_s: 0.0,
        floor_mps: 0.003,
        ..CodecParams::default()
    }
}

/// Three motions through a link: means of the sent fraction and of the fraction within the threshold.
fn corpus(params: &CodecParams, judged: PerceivedSignal, link: LinkParams) -> Outcome {
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

const BOTH: [PerceivedSignal; 2] = [PerceivedSignal::Velocity, PerceivedSignal::ContactForce];

/// Teleop goal 6, with free space in all motions and a silence that its keep-alive allows.
#[test]
fn codec_omits_95_percent_and_keeps_99_5_percent_within_threshold() {
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
            println!(
                "  mean: {:.2} % fewer, inside {:.2} %",
                100.0 * reduced,
                100.0 * mean.inside
            );
            assert!(reduced >= 0.95, "{name} {judged:?}: {reduced}");
            assert!(mean.inside >= 0.995, "{name} {judged:?}: {}", mean.inside);
        }
    }
}

fn frame(tick: i64, velocity_mps: f64) -> HapticFrame {
    HapticFrame {
        run: 1,
        peer_run: 2,
        sequence: tick as u64 + 1,
        sent_ns: (tick + 1) * PERIOD.0,
        velocity_mps: [velocity_mps, 0.0, 0.0, 0.0],
        ..HapticFrame::default()
    }
}

/// Ticks at which a frame was sent, for a stream of these velocities.
fn sent(params: &CodecParams, velocities: impl IntoIterator<Item = f64>) -> Vec<usize> {
    let mut encoder = Encoder::new(params, PerceivedSignal::Velocity, PERIOD);
    let nothing = HapticFrame::default();
    let frames = velocities.into_iter().enumerate();
    let sent_ticks =
        frames.filter(|(tick, v)| encoder.encode(&frame(*tick as i64, *v), &nothing).is_some());
    sent_ticks.map(|(tick, _)| tick).collect()
}

fn plain() -> CodecParams {
    CodecParams {
        predictor: PredictorKind::Zoh,
        loss_expected: 0.0,
        keep_alive_s: 0.05,
        ..deadband()
    }
}

#[test]
fn deadband_is_webers_law_with_floor_and_keep_alive() {
    let step = |from: f64, to: f64| (0..40).map(move |tick| if tick < 20 { from } else { to });
    // E14: 10 % of 0.1 m/s, of the smaller of both
    assert_eq!(sent(&plain(), step(0.1, 0.109)), [0]);
    assert_eq!(sent(&plain(), step(0.1, 0.111)), [0, 20]);
    // from rest, the floor
    assert_eq!(sent(&plain(), step(0.0, 0.0029)), [0]);
    assert_eq!(sent(&plain(), step(0.0, 0.0031)), [0, 20]);
    assert_eq!(sent(&plain(), (0..120).map(|_| 0.0)), [0, 50, 100]);
    // wider in fast motion: k is 0.1 + 1 * 0.15
    let adaptive = CodecParams {
        weber_per_mps: 1.0,
        ..plain()
    };
    assert_eq!(sent(&adaptive, step(0.15, 0.18)), [0]);
    assert_eq!(sent(&plain(), step(0.15, 0.18)), [0, 20]);
    // not a number is always sent
    assert_eq!(sent(&plain(), [0.0, f64::NAN, 0.0]), [0, 1, 2]);
}

#[test]
fn change_is_repeated_until_it_likely_arrived() {
    let step = (0..24).map(|tick| if tick < 20 { 0.0 } else { 0.05 });
    for (loss_expected, doubt_max, expected) in [
        (0.0, 0.01, vec![0, 20]),
        (0.1, 0.05, vec![0, 1, 20, 21]),
        (0.1, 0.005, vec![0, 1, 2, 20, 21, 22]),
    ] {
        let params = CodecParams {
            loss_expected,
            doubt_max,
            ..plain()
        };
        // a receiver without a frame has zero, but not the urgent fields
        assert_eq!(
            sent(&params, step.clone()),
            expected,
            "{loss_expected} {doubt_max}"
        );
    }
}

#[test]
fn echo_confirms_and_its_absence_repeats() {
    let params = CodecParams {
        loss_expected: 0.1,
        doubt_max: 0.05,
        ..plain()
    };
    let mut encoder = Encoder::new(&params, PerceivedSignal::Velocity, PERIOD);
    let mut peer = HapticFrame::default();
    let mut sent_ticks = Vec::new();
    for tick in 0..60_i64 {
        let velocity = if tick < 10 { 0.0 } else { 0.05 };
        // the peer, 1 s ahead, had the first frames after 5 ms and then no more
        if tick == 8 || tick == 45 {
            peer.sequence += 1;
            (peer.echo_sent_ns, peer.echo_received_ns) = (2 * PERIOD.0, 1_007 * PERIOD.0);
            peer.sent_ns = (1_000 + tick - 5) * PERIOD.0;
        }
        if encoder.encode(&frame(tick, velocity), &peer).is_some() {
            sent_ticks.push(tick);
        }
    }
    // 10 and 11 are sent and sent again; the echo of tick 40 shows that neither had arrived by then
    assert_eq!(sent_ticks[..4], [0, 1, 10, 11]);
    assert!(sent_ticks.contains(&45), "{sent_ticks:?}");
}

#[test]
fn flags_are_sent_at_once() {
    let mut encoder = Encoder::new(&plain(), PerceivedSignal::Velocity, PERIOD);
    let nothing = HapticFrame::default();
    let mut sent_ticks = Vec::new();
    for tick in 0..20 {
        let mut frame = frame(tick, 0.0);
        frame.flags = if tick < 7 { 0 } else { FrameFlags::ENGAGED };
        frame.peer_run = if tick < 12 { 0 } else { 9 };
        frame.impedance_nspm = if tick < 15 { 10.0 } else { 20.0 };
        if let Some(sent) = encoder.encode(&frame, &nothing) {
            sent_ticks.push((tick, sent.sequence));
        }
    }
    assert_eq!(sent_ticks, [(0, 1), (7, 2), (12, 3), (15, 4)]);
}

#[test]
fn disabled_codec_changes_no_bit() {
    let params = CodecParams::default();
    let mut ends = CodecPair::new(
        &params,
        crate::trace::Side::Master,
        &crate::coupling::CouplingParams {
            mode: crate::coupling::Mode::Wave,
            ..Default::default()
        },
        PERIOD,
    );
    for tick in 0..20 {
        let frame = frame(3 * tick, f64::NAN);
        let out = ends
            .encoder
            .encode(&frame, &HapticFrame::default())
            .expect("all");
        assert_eq!(format!("{out:?}"), format!("{frame:?}"));
        let decoded = ends
            .decoder
            .decode(Some((frame, Time(5))), Time(90))
            .expect("all")
            .0;
        assert_eq!(format!("{decoded:?}"), format!("{frame:?}"));
    }
}

/// A bottleneck that 1000 frames a second overflow and 250 do not: 384 B at 1000 kbit/s are 325 a second.
#[test]
fn growing_delay_slows_the_sender_until_the_queue_drains() {
    let link = LinkParams {
        oneway_ms: 20.0,
        rate_kbps: Some(1000.0),
        queue_packets: 1000,
        ..LinkParams::default()
    };
    let run = |pace_max| {
        // no value is within a deadband of zero width, so every tick is sent
        let params = CodecParams {
            weber: 0.0,
            floor_mps: 0.0,
            pace_max,
            ..plain()
        };
        let mut encoder = Encoder::new(&params, PerceivedSignal::Velocity, PERIOD);
        let mut way = LinkQueue::new(link, 1, 4096).expect("valid");
        let mut back = LinkQueue::new(lossy(0.0), 2, 4096).expect("valid");
        let (mut peer, mut delay_ms, mut sent) = (HapticFrame::default(), 0.0, 0);
        for tick in 0..20_000 {
            let now = Time((tick + 1) * PERIOD.0);
            while let Some(echo) = back.pop_due(now) {
                peer = echo;
            }
            let frame_now = frame(tick, 1e-3 * (tick % 7) as f64);
            if let Some(frame) = encoder.encode(&frame_now, &peer) {
                way.push(now, BYTES, frame);
                sent += 1;
            }
            while let Some(frame) = way.pop_due(now) {
                delay_ms = (now - Time(frame.sent_ns)).ms();
                let echo = HapticFrame {
                    sent_ns: now.0,
                    echo_sent_ns: frame.sent_ns,
                    echo_received_ns: now.0,
                    ..HapticFrame::default()
                };
                back.push(now, BYTES, echo);
            }
        }
        println!(
            "pace_max {pace_max}: {sent} frames in 20 s, {delay_ms:.0} ms on their way at the end"
        );
        delay_ms
    };
    let (fixed, paced) = (run(1), run(4));
    assert!(fixed > 1000.0 && paced < 400.0, "{fixed} {paced}");
}

#[test]
fn jitter_alone_keeps_the_rate() {
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(9));
    let mut rate_control = RateControl::default();
    for tick in 1..20_000 {
        let jitter_ns = (20e6 * noise.unit()) as i64;
        let echo = Echo {
            sent_ns: tick * PERIOD.0,
            received_ns: (tick + 40) * PERIOD.0 + jitter_ns,
            answered_ns: 0,
        };
        rate_control.on_echo(&echo, 4);
        assert_eq!(rate_control.periods_min(), 1);
    }
}

/// Implausible frames pass unchanged, and extrapolation gives no implausible frame.
#[test]
fn decoders_are_total() {
    let params = CodecParams {
        smooth_s: 0.05,
        ..deadband()
    };
    let mut ends = CodecPair::new(
        &params,
        crate::trace::Side::Slave,
        &crate::coupling::CouplingParams {
            mode: crate::coupling::Mode::Mmt,
            ..Default::default()
        },
        PERIOD,
    );
    let numbers = [0.0, 1e300, f64::NAN, -f64::INFINITY, 999.0, 1e-300];
    for (tick, number) in numbers.iter().cycle().take(600).enumerate() {
        let mut frame = frame((tick as i64 - 300) * 7, *number);
        frame.contact_force_n = [*number; 4];
        frame.sent_ns = frame.sent_ns.wrapping_mul(i64::MAX / 1000);
        let peer = HapticFrame {
            echo_sent_ns: frame.sent_ns,
            echo_received_ns: i64::MIN,
            ..frame
        };
        let _ = ends.encoder.encode(&frame, &peer);
        let decoded = ends
            .decoder
            .decode(Some((frame, Time(i64::MIN))), Time(frame.sent_ns));
        if frame.is_plausible() {
            assert!(decoded.expect("a frame").0.is_plausible());
        }
    }
}
