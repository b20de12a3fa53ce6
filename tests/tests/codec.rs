//! Tests of the codec in whole sessions: passivity, frame counts, and saved frames.

use palpate_master::device::params::HandleKind;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::Config;
use palpate_session::lab::{Reconstruction, TickRecords, VirtualSession};
use palpate_tests::{audited, least_energy_j};
use palpate_transport::codec::{CodecKind, PredictorKind};
use palpate_transport::coupling::Mode;
use palpate_transport::link::{LinkParams, LinkStats, Outage};
use palpate_transport::trace::EventFlags;

struct Run {
    steps: Vec<TickRecords>,
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
    let mut session = VirtualSession::new(config).expect("valid");
    let mut steps: Vec<TickRecords> = (0..session.ticks()).map(|_| session.step()).collect();
    for step in &mut steps {
        // the auditor uses the true time of both sides, whatever their clocks show
        step.slave.now_ns = step.master.now_ns;
    }
    let master: Vec<_> = steps.iter().map(|step| step.master).collect();
    let slave: Vec<_> = steps.iter().map(|step| step.slave).collect();
    Run {
        lowest_j: least_energy_j(&audited(&master, &slave)),
        stats: session.link_stats(),
        reconstruction: session.reconstruction(),
        sent_ticks: session.sent_ticks().map(<[u64]>::to_vec),
        steps,
    }
}

/// The energy balance is exact for any omitted frames, because energies in frames are cumulative.
#[test]
fn the_channel_is_passive_with_any_omitted_frames() {
    let mut burst = lossy(0.05);
    (burst.jitter_ms, burst.jitter_reorders, burst.duplicate) = (15.0, true, 0.05);
    burst.outage = Some(Outage {
        on_s: 1.3,
        off_s: 0.2,
    });
    for mode in [Mode::Wave, Mode::Mmt] {
        for predictor in [PredictorKind::Zoh, PredictorKind::Linear] {
            for (name, link) in [("10 % loss", lossy(0.1)), ("bursts", burst)] {
                let mut config = config(mode, link);
                config.codec.predictor = predictor;
                // coarse on purpose: values reconstructed between frames are far from the true ones
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
fn omitted_frames_are_not_counted_as_lost() {
    for mode in [Mode::Wave, Mode::Mmt] {
        let run = run(&config(mode, lossy(0.0)));
        let last = run.steps.last().expect("8 s");
        for (record, stats) in [(&last.slave, run.stats[0]), (&last.master, run.stats[1])] {
            assert_eq!(stats.lost, 0);
            // all arrived frames were counted, and sequence numbers have no gaps
            assert_eq!(record.received_count, record.received_sequence, "{mode:?}");
            // the last frames may still be in transit
            assert!(stats.offered - record.received_count <= 40, "{mode:?}");
            assert!(stats.offered < 7000, "{mode:?}: {} of 8000", stats.offered);
        }
        let stale =
            |step: &TickRecords| (step.master.events | step.slave.events) & EventFlags::STALE != 0;
        assert!(
            !run.steps[100..].iter().any(stale),
            "{mode:?}: an omission was detected as an outage"
        );
        // the delay estimate is as good as with every frame
        for step in &run.steps[200..] {
            let sent = run.sent_ticks[0][step.slave.received_sequence as usize - 1] as i64;
            assert!((step.slave.oneway_ns - 30_000_000).abs() <= step.slave.oneway_bound_ns);
            assert!(sent + 30 <= step.slave.tick as i64);
        }
    }
}

/// Frames saved in a session with the noise of handle and robot.
#[test]
fn a_session_of_presses_sends_a_fraction_of_the_frames() {
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

/// Bar of teleop goal 6 for whole sessions: a palpation of 20 s with the encoder of the handle and the noise
/// of the robot's sensor, 10 % loss. It is not met, see the table in the docs of `palpate_transport::codec`;
/// this test prints it and checks the achieved values.
///
/// `cargo test --release --workspace --test codec -- --ignored --nocapture`
#[test]
#[ignore = "six sessions of 20 s: a minute"]
fn sessions_send_40_percent_less_with_95_percent_of_ticks_inside() {
    for mode in [Mode::Wave, Mode::Mmt, Mode::Tank] {
        for tissue in ["wall:500", "sheet-lump"] {
            let mut link = lossy(0.1);
            link.oneway_ms = 50.0;
            let mut config = config(mode, link);
            config.tissue = tissue.into();
            config.duration_s = 20.0;
            config.operator.script = ScriptParams::default();
            let run = run(&config);
            let directions = [0, 1].map(|index| {
                let sent_per_s = run.stats[index].offered as f64 / config.duration_s;
                let found = run.reconstruction[index].expect("a codec is on");
                (sent_per_s, found.inside_fraction().expect("20 s"))
            });
            let [fwd, back] = directions.map(|(sent_per_s, inside)| {
                let fewer = 100.0 - 0.1 * sent_per_s;
                format!("{fewer:.1} % fewer, inside {:.2} %", 100.0 * inside)
            });
            println!("{mode:?} {tissue}: forward {fwd}; back {back}");
            assert!(run.lowest_j >= -TOLERANCE_J, "{mode:?} {tissue}");
            for (sent_per_s, inside) in directions {
                assert!(sent_per_s < 600.0, "{mode:?} {tissue}: {sent_per_s}");
                assert!(inside > 0.95, "{mode:?} {tissue}: {inside}");
            }
        }
    }
}
