//! What a hand feels of a blade and of a tool that is changed, and what sides that begin anew know of that work. Ours.

use palpate_master::device::{Handle, HandleCaps, Reading as HandReading};
use palpate_transport::trace::Given;

use super::*;

/// Runs of both sides that end at any time, with tissue that stays, over a network that does all that it can.
#[test]
fn sides_that_begin_anew_at_any_time_end_alike() {
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
        let session = Session::new(&config).expect("valid");
        let seen = seen(session, |tick, session| {
            for (_, side) in ends.iter().filter(|(at, _)| *at == tick) {
                session.restart(*side).expect("a side");
            }
        });
        let what = format!("seed {seed}: {ends:?}");
        seen.judged(&what);
        // the operator goes on meanwhile: of some edits little is left
        let topology = seen.topology();
        assert_eq!(topology.equal, Some(true), "{what}: {topology:?}");
        assert_eq!(topology.strokes, topology.strokes_done, "{what}");
        assert!(topology.strokes > Some(0), "{what}: {topology:?}");
    }
}

/// A master that began anew took back the last tick of an edit that it had been told of, and not the edit.
#[test]
fn issue_an_undo_after_a_restart_took_back_a_fragment() {
    let text = include_str!("../../scenes/opening.toml");
    let rest = "kind = \"press\"\nsite_m = [-0.006, -0.006]\ndepth_m = 0.001\nhold_s = 2.0\n\n[[operator.script.step]]\n";
    let text = text.replace("kind = \"undo\"", &format!("{rest}kind = \"undo\""));
    let mut config = Config::parse(&text, "opening.toml").expect("a configuration");
    (config.twin, config.tissue) = (scene("opened"), scene("opened"));
    config.coupling.mode = Mode::Mmt;
    (config.link.forward, config.link.back) = (link(100.0, 0.05), link(100.0, 0.05));
    config.duration_s += 4.0;
    let whole = run(&config);
    // the longest time in which nothing is done, after the curette and before its work is taken back
    let mut still = (0, 0);
    let mut since = 0;
    for (tick, pair) in whole.master.windows(2).enumerate() {
        if pair[1].strokes != pair[0].strokes {
            if pair[0].strokes > 20 && tick - since > still.1 - still.0 {
                still = (since, tick);
            }
            since = tick + 1;
        }
    }
    let (from, to) = still;
    assert!(to - from > 1500, "{still:?}");
    let carved = whole.master[from].topology;
    let opened = whole.master[to + 1].topology;
    assert_ne!(opened, carved);
    let before = whole.master[..from]
        .iter()
        .any(|record| record.topology == opened);
    assert!(before, "the undo goes back to what the blade had left");
    let session = Session::new(&config).expect("valid");
    let seen = seen(session, |tick, session| {
        if tick as usize == from + 200 {
            session.restart(Side::Master).expect("a master");
        }
    });
    seen.judged("undo");
    seen.alike("undo");
    let after = &seen.master[from + 200..];
    let told = after.iter().position(|record| record.topology == carved);
    let after = &after[told.expect("it is told all")..];
    let next = after.iter().find(|record| record.topology != carved);
    assert_eq!(next.map(|record| record.topology), Some(opened));
    let redone = after.iter().skip_while(|record| record.topology != opened);
    let redone = redone.skip_while(|record| record.topology == opened);
    assert_eq!(redone.map(|record| record.topology).next(), Some(carved));
}

/// Work of the hand on all axes but the jaws \[J\].
fn hand_j(seen: &Seen) -> f64 {
    let pairs = seen.master.windows(2);
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

/// What parts the tissue is paid by the hand, and so felt, whatever relays the rest: beside the same session in tissue
/// that costs a blade nothing.
#[test]
fn what_holds_a_blade_is_felt_in_every_mode() {
    for mode in [
        Mode::Direct,
        Mode::Wave,
        Mode::Tdpa,
        Mode::WaveTdpa,
        Mode::Tank,
        Mode::Pspm,
        Mode::Mmt,
        Mode::Auto,
    ] {
        let [tough, free] = ["opened", "opened-free"].map(|name| {
            let mut config = opening(mode, link(4.0, 0.0));
            (config.twin, config.tissue) = (scene(name), scene(name));
            config.duration_s = CUT_S;
            run(&config)
        });
        let paid_j = [&tough, &free].map(hand_j);
        let strokes = [&tough, &free].map(|seen| seen.topology().strokes);
        println!("{mode:?}: the hand pays {paid_j:?} J, {strokes:?} strokes");
        assert!(paid_j[0] - paid_j[1] > CUT_J_MIN, "{mode:?}: {paid_j:?}");
    }
}

/// When the cut of `opening.toml` is over and its curette not yet there \[s\].
const CUT_S: f64 = 3.0;

/// Half of what the cut of `opening.toml` costs \[J\]: 18 mm of 2 mm of skin and 4 mm of fat.
const CUT_J_MIN: f64 = 0.5 * 0.018 * (0.002 * 500.0 + 0.004 * 100.0);

/// A force that fades since nothing comes would let a blade part what nobody feels: it only presses then. Where the
/// force is the twin's it goes on.
#[test]
fn issue_a_blade_parted_tissue_that_nobody_felt() {
    for (mode, goes_on) in [
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
            .position(|record| record.strokes > 2);
        let at_s = 1e-3 * first.expect("it is cut") as f64;
        let change = |at_s, link| LinkChange {
            at_s,
            forward: Some(link),
            back: Some(link),
        };
        config.link.change = vec![change(at_s, away), change(at_s + 1.0, link(20.0, 0.0))];
        let seen = run(&config);
        let stale = |record: &TickRecord| record.events & Events::STALE != 0;
        let blunt = |record: &TickRecord| record.events & Events::BLUNTED != 0;
        let cut = seen
            .master
            .windows(2)
            .filter(|pair| stale(&pair[0]) && stale(&pair[1]) && pair[1].strokes > pair[0].strokes);
        let held = seen.master.iter().filter(|one| stale(one) && blunt(one));
        let (cut, held) = (cut.count(), held.count());
        println!("{mode:?}: {cut} ticks cut unfed, {held} blunt");
        assert_eq!(cut > 0, goes_on, "{mode:?}");
        assert_eq!(held > 100, !goes_on, "{mode:?}");
        if mode != Mode::Direct {
            seen.judged(&format!("{mode:?}, away"));
            seen.alike(&format!("{mode:?}, away"));
        }
    }
}

/// A hand that puts its tool down for the other one again and again, and lets go of the handle now and then.
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
            swapped: self.tick.is_multiple_of(31),
            present: reading.present && self.tick % 700 > 80,
            ..reading
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.hand.write(force_on_hand_n);
    }
}

/// A tool that is changed in a tick that was late, or in one in which nothing is felt, is changed there in a replay too.
#[test]
fn tools_changed_in_late_and_faded_ticks_are_replayed_bit_by_bit() {
    for mode in [Mode::Mmt, Mode::Tdpa] {
        let mut config = opening(mode, link(200.0, 0.05));
        config.realtime.masked_share = 0.3;
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let robot = lab::build_robot(&config).expect("a robot");
        let hand = Box::new(TwoTools { hand, tick: 0 });
        let session = Session::with_devices(&config, hand, robot).expect("valid");
        let seen = seen(session, |_, _| ());
        // a tool that is put down is let go of at once, so falls of force are not judged
        let ports = Ports {
            master: &seen.master,
            slave: &seen.slave,
            slave_clock_ahead: Span(0),
        };
        assert_eq!(audit(&ports, 1).violations, 0, "{mode:?}");
        let swaps = || {
            let all = seen.master.iter();
            all.filter(|one| one.given & Given::SWAPPED != 0)
        };
        let late = swaps()
            .filter(|one| one.events & Events::MASKED != 0)
            .count();
        let faded = swaps()
            .filter(|one| one.given & Given::PRESENT == 0)
            .count();
        assert!(late > 20 && faded > 10, "{mode:?}: {late} {faded}");
        let parked = seen.master.iter().filter(|one| one.parked_m != [0.0; AXES]);
        assert!(parked.count() > 1000, "{mode:?}");
        let recording = Recording {
            master: seen.master,
            slave: seen.slave,
            facts: [(same::COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        let replayed = same::replay(&recording, &config).expect("whole");
        let found = (replayed.different, replayed.unrun, replayed.first);
        assert_eq!(found, (0, 0, None), "{mode:?}");
        let parked = |records: &[TickRecord]| -> Vec<Axes> {
            records.iter().map(|one| one.parked_n).collect()
        };
        assert!(parked(&replayed.master) == parked(&recording.master));
    }
}
