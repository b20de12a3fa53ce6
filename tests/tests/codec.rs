//! The codec in whole sessions: passive, no loss in anybody's books, and what it saves.

use palpate_master::device::params::HandleKind;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::audit::{Ports, TOLERANCE_J, audit};
use palpate_session::config::Config;
use palpate_session::lab::{Lockstep, Reconstruction, Session};
use palpate_transport::Span;
use palpate_transport::codec::{CodecKind, Prediction};
use palpate_transport::coupling::Mode;
use palpate_transport::link::{LinkParams, LinkStats, Outage};
use palpate_transport::trace::Events;

struct Run {
    steps: Vec<Lockstep>,
    stats: [LinkStats; 2],
    reconstruction: [Option<Reconstruction>; 2],
    sent_ticks: [Vec<u64>; 2],
    lowest_j: f64,
}

fn config(mode: Mode, link: LinkParams) -> Config {
    let mut config = Config {
        duration_s: 8.0,
        tissue: "wall:500".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    config.coupling.mode = mode;
    config.codec.kind = CodecKind::Deadband;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: 0.02,
        hz: 0.5,
    });
    (config.link.forward, config.link.back) = (link, link);
    config
}

fn lossy(loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms: 30.0,
        loss,
        ..LinkParams::default()
    }
}

fn run(config: &Config) -> Run {
    let mut session = Session::new(config).expect("valid");
    let mut steps: Vec<Lockstep> = (0..session.ticks()).map(|_| session.step()).collect();
    for step in &mut steps {
        // the judge knows the true time of both sides, whatever their clocks showed
        step.slave.now_ns = step.master.now_ns;
    }
    let master: Vec<_> = steps.iter().map(|step| step.master).collect();
    let slave: Vec<_> = steps.iter().map(|step| step.slave).collect();
    let ports = Ports {
        master: &master,
        slave: &slave,
        slave_clock_ahead: Span(0),
    };
    let verdict = audit(&ports, 1);
    let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
    Run {
        lowest_j: axes.fold(verdict.min_channel_energy_j, f64::min),
        stats: session.link_stats(),
        reconstruction: session.reconstruction(),
        sent_ticks: session.sent_ticks().map(<[u64]>::to_vec),
        steps,
    }
}

/// The account stays right whatever is left out: energies in frames are cumulative.
#[test]
fn the_channel_is_passive_whatever_is_left_out() {
    let mut burst = lossy(0.05);
    (burst.jitter_ms, burst.jitter_reorders, burst.duplicate) = (15.0, true, 0.05);
    burst.outage = Some(Outage {
        on_s: 1.3,
        off_s: 0.2,
    });
    for mode in [Mode::Wave, Mode::Mmt] {
        for predictor in [Prediction::Zoh, Prediction::Linear] {
            for (name, link) in [("10 % loss", lossy(0.1)), ("bursts", burst)] {
                let mut config = config(mode, link);
                config.codec.predictor = predictor;
                // coarse on purpose: what is made up between frames is far from the truth
                (config.codec.weber, config.codec.floor_mps) = (0.5, 0.05);
                config.codec.keep_alive_s = 0.04;
                let run = run(&config);
                println!(
                    "{mode:?} {predictor:?} {name}: least {:.1e} J, {:?} frames",
                    run.lowest_j,
                    run.stats.map(|stats| stats.offered)
                );
                assert!(
                    run.lowest_j >= -TOLERANCE_J,
                    "{mode:?} {predictor:?} {name}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_sent_is_not_lost() {
    for mode in [Mode::Wave, Mode::Mmt] {
        let run = run(&config(mode, lossy(0.0)));
        let last = run.steps.last().expect("8 s");
        for (record, stats) in [(&last.slave, run.stats[0]), (&last.master, run.stats[1])] {
            assert_eq!(stats.lost, 0);
            // all that came was counted, and numbers have no gaps
            assert_eq!(record.received_count, record.received_sequence, "{mode:?}");
            // the last ones may still be on their way
            assert!(stats.offered - record.received_count <= 40, "{mode:?}");
            assert!(stats.offered < 7000, "{mode:?}: {} of 8000", stats.offered);
        }
        let stale = |step: &Lockstep| (step.master.events | step.slave.events) & Events::STALE != 0;
        assert!(
            !run.steps[100..].iter().any(stale),
            "{mode:?}: silence was taken for an outage"
        );
        // the delay is known as well as with every frame
        for step in &run.steps[200..] {
            let sent = run.sent_ticks[0][step.slave.received_sequence as usize - 1] as i64;
            assert!((step.slave.oneway_ns - 30_000_000).abs() <= step.slave.oneway_bound_ns);
            assert!(sent + 30 <= step.slave.tick as i64);
        }
    }
}

/// What it saves in a session, with the handle's and the robot's own noise.
#[test]
fn a_session_of_presses_needs_a_fraction_of_the_frames() {
    for (handle, name) in [(HandleKind::Mass, "mass"), (HandleKind::Phantom, "phantom")] {
        for loss in [0.0, 0.1] {
            let mut config = config(Mode::Mmt, lossy(loss));
            config.operator.handle = handle;
            let run = run(&config);
            for (way, index) in [("forward", 0), ("back", 1)] {
                let sent_per_s = run.stats[index].offered as f64 / config.duration_s;
                let found = run.reconstruction[index].expect("a codec is on");
                let inside = found.inside_fraction().expect("8 s");
                println!(
                    "{name}, {:.0} % loss, {way}: {:.1} % fewer, inside {:.2} %, rmse {:.4}",
                    100.0 * loss,
                    100.0 - 0.1 * sent_per_s,
                    100.0 * inside,
                    found.rmse().expect("8 s"),
                );
                assert!(sent_per_s < 250.0, "{name} {way}: {sent_per_s}");
                assert!(inside > 0.95, "{name} {way}: {inside}");
            }
            assert!(run.lowest_j >= -TOLERANCE_J);
        }
    }
}

/// The bar of teleop goal 6 on what sessions really send: a palpation of 20 s with the encoder of the handle and
/// the noise of the robot's sensor, 10 % loss. It is not met, see the table in the docs of
/// `palpate_transport::codec`; this prints it anew, and holds what is held.
///
/// `cargo test --release --workspace --test codec -- --ignored --nocapture`
#[test]
#[ignore = "six sessions of 20 s: a minute"]
fn whole_sessions_send_two_fifths_less_and_keep_95_percent_of_ticks_inside() {
    for mode in [Mode::Wave, Mode::Mmt, Mode::Tank] {
        for tissue in ["wall:500", "sheet-lump"] {
            let mut link = lossy(0.1);
            link.oneway_ms = 50.0;
            let mut config = config(mode, link);
            config.tissue = tissue.into();
            config.duration_s = 20.0;
            config.operator.script = ScriptParams::default();
            let run = run(&config);
            let ways = [0, 1].map(|index| {
                let sent_per_s = run.stats[index].offered as f64 / config.duration_s;
                let found = run.reconstruction[index].expect("a codec is on");
                (sent_per_s, found.inside_fraction().expect("20 s"))
            });
            let [fwd, back] = ways.map(|(sent_per_s, inside)| {
                let fewer = 100.0 - 0.1 * sent_per_s;
                format!("{fewer:.1} % fewer, inside {:.2} %", 100.0 * inside)
            });
            println!("{mode:?} {tissue}: forward {fwd}; back {back}");
            assert!(run.lowest_j >= -TOLERANCE_J, "{mode:?} {tissue}");
            for (sent_per_s, inside) in ways {
                assert!(sent_per_s < 600.0, "{mode:?} {tissue}: {sent_per_s}");
                assert!(inside > 0.95, "{mode:?} {tissue}: {inside}");
            }
        }
    }
}
