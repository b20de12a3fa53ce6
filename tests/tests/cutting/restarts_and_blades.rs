//! Tests of restarts during cutting, of the work of blades, and of tool changes. Source: ours.

use palpate_master::device::{Handle, HandleCaps, HandleReading as HandReading};
use palpate_tests::{PASSIVE, audited};
use palpate_transport::trace::InputFlags;

use super::*;

/// Restarts of both sides at random times, with persistent tissue, over the worst network.
#[test]
fn restarts_at_any_time_end_with_equal_tissues() {
    for seed in 0..8_u64 {
        let mut config = opening(Mode::Mmt, worst());
        config.duration_s += 4.0;
        config.seed = seed;
        let mut number = seed;
        let ends: Vec<(u64, Side)> = std::iter::repeat_with(|| {
            // Steele, Lea and Flood 2014
            number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let drawn = (mixed ^ mixed >> 27) >> 8;
            let side = if drawn & 1 == 0 {
                Side::Master
            } else {
                Side::Slave
            };
            (500 + (drawn >> 1) % 6500, side)
        })
        .take(5)
        .collect();
        let session = VirtualSession::new(&config).expect("valid");
        let traces = run_session(session, |tick, session| {
            for (_, side) in ends.iter().filter(|(at, _)| *at == tick) {
                session.restart(*side).expect("a side");
            }
        });
        let label = format!("seed {seed}: {ends:?}");
        traces.check_promises(&label);
        // the operator continues meanwhile, so few nodes of some edits remain
        let topology = traces.topology();
        assert_eq!(topology.equal, Some(true), "{label}: {topology:?}");
        assert_eq!(topology.edit_batches, topology.edit_batches_done, "{label}");
        assert!(topology.edit_batches > Some(0), "{label}: {topology:?}");
    }
}

/// A restarted master undid the last tick of an edit from its received history instead of the whole edit.
#[test]
fn issue_an_undo_after_a_restart_undid_a_fragment() {
    let text = include_str!("../../scenes/opening.toml");
    let rest = "kind = \"press\"\nsite_m = [-0.006, -0.006]\ndepth_m = 0.001\nhold_s = 2.0\n\n[[operator.script.step]]\n";
    let text = text.replace("kind = \"undo\"", &format!("{rest}kind = \"undo\""));
    let mut config = Config::parse(&text, "opening.toml").expect("a configuration");
    (config.twin, config.tissue) = (scene("opened"), scene("opened"));
    config.coupling.mode = Mode::Mmt;
    (config.link.forward, config.link.back) = (link(100.0, 0.05), link(100.0, 0.05));
    config.duration_s += 4.0;
    let whole = run(&config);
    // the longest time without edits, after the curette and before the undo
    let mut longest_pause = (0, 0);
    let mut since = 0;
    for (tick, pair) in whole.master.windows(2).enumerate() {
        if pair[1].edit_batches != pair[0].edit_batches {
            if pair[0].edit_batches > 20 && tick - since > longest_pause.1 - longest_pause.0 {
                longest_pause = (since, tick);
            }
            since = tick + 1;
        }
    }
    let (from, to) = longest_pause;
    assert!(to - from > 1500, "{longest_pause:?}");
    let carved = whole.master[from].topology;
    let opened = whole.master[to + 1].topology;
    assert_ne!(opened, carved);
    let before = whole.master[..from]
        .iter()
        .any(|record| record.topology == opened);
    assert!(before, "the undo restores the topology after the blade");
    let session = VirtualSession::new(&config).expect("valid");
    let traces = run_session(session, |tick, session| {
        if tick as usize == from + 200 {
            session.restart(Side::Master).expect("a master");
        }
    });
    traces.check_promises("undo");
    traces.check_equal_tissues("undo");
    let after = &traces.master[from + 200..];
    let received = after.iter().position(|record| record.topology == carved);
    let after = &after[received.expect("the whole history")..];
    let next = after.iter().find(|record| record.topology != carved);
    assert_eq!(next.map(|record| record.topology), Some(opened));
    let redone = after.iter().skip_while(|record| record.topology != opened);
    let redone = redone.skip_while(|record| record.topology == opened);
    assert_eq!(redone.map(|record| record.topology).next(), Some(carved));
}

/// Returns the work of the operator on all axes but the jaws \[J\].
fn operator_work_j(traces: &SessionTraces) -> f64 {
    let pairs = traces.master.windows(2);
    pairs
        .map(|pair| {
            let axis_j = |axis: usize| {
                let moved_m = pair[1].position_m[axis] - pair[0].position_m[axis];
                pair[0].port_force_n[axis] * moved_m
            };
            (0..3).map(axis_j).sum::<f64>()
        })
        .sum()
}

/// The operator supplies the work of cutting in every mode, compared with the same session in tissue without
/// cutting resistance.
#[test]
fn operator_supplies_the_work_of_cutting_in_every_mode() {
    for mode in [Mode::Direct].into_iter().chain(PASSIVE) {
        let [tough, free] = ["opened", "opened-free"].map(|name| {
            // a longer delay makes the direct mode unstable, and its hand gains energy
            let oneway_ms = if mode == Mode::Direct { 1.0 } else { 4.0 };
            let mut config = opening(mode, link(oneway_ms, 0.0));
            (config.twin, config.tissue) = (scene(name), scene(name));
            config.duration_s = CUT_S;
            run(&config)
        });
        let paid_j = [&tough, &free].map(operator_work_j);
        let edit_batches = [&tough, &free].map(|traces| traces.topology().edit_batches);
        println!("{mode:?}: the operator supplies {paid_j:?} J, {edit_batches:?} edit batches");
        assert!(paid_j[0] - paid_j[1] > CUT_J_MIN, "{mode:?}: {paid_j:?}");
    }
}

/// Time after the cut of `opening.toml` and before its curette \[s\].
const CUT_S: f64 = 3.0;

/// Half of the work of the cut of `opening.toml` \[J\]: 18 mm of 2 mm of skin and 4 mm of fat.
const CUT_J_MIN: f64 = 0.5 * 0.018 * (0.002 * 500.0 + 0.004 * 100.0);

/// A force that fades without frames must not let a blade cut without resistance: it only presses. With the
/// force of the twin it continues to cut.
#[test]
fn issue_a_blade_cut_tissue_without_force_on_the_operator() {
    for (mode, expected) in [
        (Mode::Direct, false),
        (Mode::Tdpa, false),
        (Mode::Tank, false),
        (Mode::Wave, true),
        (Mode::Mmt, true),
    ] {
        let mut config = opening(mode, link(20.0, 0.0));
        let away = LinkParams {
            loss: 1.0,
            ..link(20.0, 0.0)
        };
        let reference = run(&config);
        let first = reference
            .master
            .iter()
            .position(|record| record.edit_batches > 2);
        let at_s = 1e-3 * first.expect("it is cut") as f64;
        let change = |at_s, link| LinkChange {
            at_s,
            forward: Some(link),
            back: Some(link),
        };
        config.link.change = vec![change(at_s, away), change(at_s + 1.0, link(20.0, 0.0))];
        let traces = run(&config);
        let stale = |record: &TickRecord| record.events & EventFlags::STALE != 0;
        let blunt = |record: &TickRecord| record.events & EventFlags::CUTTING_BLOCKED != 0;
        let cut = traces.master.windows(2).filter(|pair| {
            stale(&pair[0]) && stale(&pair[1]) && pair[1].edit_batches > pair[0].edit_batches
        });
        let held = traces.master.iter().filter(|one| stale(one) && blunt(one));
        let (cut, held) = (cut.count(), held.count());
        println!("{mode:?}: {cut} ticks cut without frames, {held} blunt");
        assert_eq!(cut > 0, expected, "{mode:?}");
        assert_eq!(held > 100, !expected, "{mode:?}");
        if mode != Mode::Direct {
            traces.check_promises(&format!("{mode:?}, away"));
            traces.check_equal_tissues(&format!("{mode:?}, away"));
        }
    }
}

/// Operator that changes tools repeatedly, and releases the handle now and then.
struct TwoTools {
    hand: Box<dyn Handle>,
    tick: u64,
}

impl Handle for TwoTools {
    fn caps(&self) -> HandleCaps {
        self.hand.caps()
    }

    fn read(&mut self, now: Time) -> HandReading {
        let reading = self.hand.read(now);
        self.tick += 1;
        HandReading {
            tools_swapped: self.tick.is_multiple_of(31),
            present: reading.present && self.tick % 700 > 80,
            ..reading
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.hand.write(force_on_hand_n);
    }
}

/// Tool changes in late ticks and in ticks without force are replayed identically.
#[test]
fn tool_changes_in_late_and_faded_ticks_replay_bit_for_bit() {
    for mode in [Mode::Mmt, Mode::Tdpa] {
        let mut config = opening(mode, link(200.0, 0.05));
        config.realtime.fallback_share = 0.3;
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let robot = lab::build_robot(&config).expect("a robot");
        let hand = Box::new(TwoTools { hand, tick: 0 });
        let session = VirtualSession::with_devices(&config, hand, robot).expect("valid");
        let traces = run_session(session, |_, _| ());
        // a tool change releases the force at once, so falls of force are not checked
        assert_eq!(
            audited(&traces.master, &traces.slave).violations,
            0,
            "{mode:?}"
        );
        let swaps = || {
            let all = traces.master.iter();
            all.filter(|one| one.given & InputFlags::TOOL_SWAPPED != 0)
        };
        let late = swaps()
            .filter(|one| one.events & EventFlags::DEADLINE_FALLBACK != 0)
            .count();
        let faded = swaps()
            .filter(|one| one.given & InputFlags::OPERATOR_PRESENT == 0)
            .count();
        assert!(late > 20 && faded > 10, "{mode:?}: {late} {faded}");
        let parked = traces
            .master
            .iter()
            .filter(|one| one.parked_m != [0.0; AXES]);
        assert!(parked.count() > 1000, "{mode:?}");
        let (recording, replayed) = traces.check_replay(&config, mode);
        let parked = |records: &[TickRecord]| -> Vec<Axes> {
            records.iter().map(|one| one.parked_n).collect()
        };
        assert!(parked(&replayed.master) == parked(&recording.master));
    }
}
