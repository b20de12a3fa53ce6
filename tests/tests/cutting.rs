//! Closed-loop sessions in which the operator opens the tissue: what must hold whatever the network does.
//!
//! The instrument works on the twin; the remote tissue does the same strokes when they come. Promises: no
//! passivity violation by the independent auditor; no force on the hand grows by more than the guard's slew
//! allows, 1 N a tick, nor falls by more than its mode says ([`fall_n_max`]); both tissues end with the same elements,
//! links and holds; and it all repeats bit for bit.

use palpate_analysis::metrics::{SessionFacts, Tally, Traces, topology};
use palpate_analysis::summary::TopologySummary;
use palpate_session::audit::{Ports, TOLERANCE_J, audit};
use palpate_session::config::{Config, LinkChange};
use palpate_session::lab::{self, Session};
use palpate_session::record::Recording;
use palpate_session::replay::same;
use palpate_slave::robot::{Opened, Reading, Robot, RobotCaps, StrokeRefusal};
use palpate_transport::coupling::Mode;
use palpate_transport::link::{LinkParams, Outage};
use palpate_transport::trace::{Events, Side, TickRecord};
use palpate_transport::{AXES, Axes, Span, Stroke, Time};

#[path = "cutting/felt.rs"]
mod felt;

/// Modes in which the tissue is opened: the twin is felt, the relayed force, and both.
const MODES: [Mode; 4] = [Mode::Mmt, Mode::Auto, Mode::Wave, Mode::Tdpa];

/// Largest growth of the force on one axis of the hand in a tick \[N\]: 1000 N/s by the guard.
const GROWTH_N_MAX: f64 = 1.0;

/// Largest fall in a tick that neither an account nor a controller demanded \[N\]: that of a wave that comes late.
const FALL_N_MAX: f64 = 1.25;

/// Largest fall in a tick, with what they demand at once, as nothing may be held that is not paid for \[N\].
fn fall_n_max(mode: Mode) -> f64 {
    match mode {
        Mode::Mmt | Mode::Auto | Mode::Pspm => 1.0,
        Mode::Wave | Mode::WaveTdpa => FALL_N_MAX,
        Mode::Tank => 2.0,
        // its controller lets go of all that it cannot dissipate
        _ => 2.2,
    }
}

/// What lets a force fall faster: the account that cannot pay it, or a controller that keeps it from owing.
const EXCUSED: u32 = Events::UNPAID | Events::CONTROLLED;

fn scene(name: &str) -> String {
    format!("{}/scenes/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// The operator of `opening.toml` over a link, both tissues of the scene `opened`.
fn opening(mode: Mode, link: LinkParams) -> Config {
    let text = include_str!("../scenes/opening.toml");
    let mut config = Config::parse(text, "opening.toml").expect("a configuration");
    (config.twin, config.tissue) = (scene("opened"), scene("opened"));
    config.coupling.mode = mode;
    (config.link.forward, config.link.back) = (link, link);
    // what is cut last has a second and a half, and some round trips, to get there
    config.duration_s += 8e-3 * link.oneway_ms;
    config
}

fn link(rtt_ms: f64, loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms: 0.5 * rtt_ms,
        loss,
        ..LinkParams::default()
    }
}

/// A session as its judge sees it.
struct Seen {
    master: Vec<TickRecord>,
    slave: Vec<TickRecord>,
    hash: String,
}

/// Runs a session to its end; `at` may do something to it before each tick.
fn seen(mut session: Session, mut at: impl FnMut(u64, &mut Session)) -> Seen {
    let (mut master, mut slave) = (Vec::new(), Vec::new());
    for tick in 0..session.ticks() {
        at(tick, &mut session);
        let mut both = session.step();
        both.slave.now_ns = both.master.now_ns;
        master.push(both.master);
        slave.push(both.slave);
    }
    Seen {
        hash: session.trace_hash(),
        master,
        slave,
    }
}

fn run(config: &Config) -> Seen {
    seen(Session::new(config).expect("valid"), |_, _| ())
}

impl Seen {
    fn topology(&self) -> TopologySummary {
        let traces = Traces {
            master: &self.master,
            slave: &self.slave,
        };
        topology::measure(&Tally::of(&traces), &SessionFacts::default())
    }

    /// Panics if a promise was broken; gives the largest growth and fall of a force in a tick \[N\].
    fn judged(&self, what: &str) -> (f64, f64) {
        let verdict = audit(
            &Ports {
                master: &self.master,
                slave: &self.slave,
                slave_clock_ahead: Span(0),
            },
            1,
        );
        assert_eq!(verdict.violations, 0, "{what}");
        let least_j = verdict.min_channel_energy_j;
        assert!(least_j >= -TOLERANCE_J, "{what}: {least_j} J");
        let (mut growth_n, mut fall_n, mut free_n) = (0.0_f64, 0.0_f64, 0.0_f64);
        for pair in self.master.windows(2) {
            // what cannot be paid must go at once, and a run that begins anew holds nothing
            let anew = pair[1].received_count < pair[0].received_count;
            let free = pair[1].events & EXCUSED == 0 && !anew;
            for axis in 0..AXES {
                let [was, is] = [0, 1].map(|k: usize| pair[k].port_force_n[axis]);
                let turned = was * is < 0.0;
                let more_n = if turned {
                    is.abs()
                } else {
                    is.abs() - was.abs()
                };
                growth_n = growth_n.max(more_n);
                let less_n = if turned { was.abs() } else { -more_n };
                fall_n = fall_n.max(less_n);
                free_n = free_n.max(if free { less_n } else { 0.0 });
            }
        }
        assert!(
            growth_n <= GROWTH_N_MAX * (1.0 + 1e-9),
            "{what}: grew by {growth_n} N"
        );
        assert!(free_n <= FALL_N_MAX, "{what}: fell by {free_n} N unbidden");
        (growth_n, fall_n)
    }

    /// Panics unless both tissues were opened and ended alike.
    fn alike(&self, what: &str) -> TopologySummary {
        let topology = self.topology();
        assert!(topology.strokes > Some(20), "{what}: {topology:?}");
        assert_eq!(topology.strokes_done, topology.strokes, "{what}");
        assert_eq!(topology.equal, Some(true), "{what}: {topology:?}");
        assert_eq!(topology.strokes_refused, Some(0), "{what}");
        topology
    }
}

/// One session, judged; its largest growth and fall of force in a tick \[N\].
fn stepped(mode: Mode, (rtt_ms, loss): (f64, f64)) -> (f64, f64) {
    let what = format!("{mode:?}, {rtt_ms} ms, loss {loss}");
    let seen = run(&opening(mode, link(rtt_ms, loss)));
    let (grew_n, fell_n) = seen.judged(&what);
    let topology = seen.alike(&what);
    println!(
        "{what}: {:?} strokes, growth {grew_n:.3} N, fall {fell_n:.3} N a tick",
        topology.strokes
    );
    let limit_n = fall_n_max(mode);
    assert!(
        fell_n <= limit_n,
        "{what}: fell by {fell_n} N, more than {limit_n} N"
    );
    (grew_n, fell_n)
}

#[test]
fn both_tissues_end_alike_at_any_delay_and_loss() {
    for mode in MODES {
        for rtt_ms in [0.0, 200.0, 1000.0] {
            for loss in [0.0, 0.05, 0.2] {
                stepped(mode, (rtt_ms, loss));
            }
        }
    }
}

#[test]
fn both_tissues_end_alike_in_every_other_passive_mode() {
    for mode in [Mode::WaveTdpa, Mode::Tank, Mode::Pspm] {
        stepped(mode, (200.0, 0.05));
    }
}

/// A network that does all that it can, and is away for half a second in every two.
fn worst() -> LinkParams {
    LinkParams {
        oneway_ms: 100.0,
        jitter_ms: 40.0,
        jitter_reorders: true,
        loss: 0.1,
        duplicate: 0.2,
        reorder: 0.2,
        outage: Some(Outage {
            on_s: 1.5,
            off_s: 0.5,
        }),
        ..LinkParams::default()
    }
}

#[test]
fn jitter_copies_overtaking_and_outages_change_nothing_of_it() {
    for mode in MODES {
        let mut config = opening(mode, worst());
        config.duration_s += 3.0;
        let once = run(&config);
        let what = format!("{mode:?}");
        once.judged(&what);
        once.alike(&what);
        assert_eq!(
            run(&config).hash,
            once.hash,
            "{what}: it repeats bit for bit"
        );
        config.seed += 1;
        assert_ne!(run(&config).hash, once.hash, "{what}: another network");
    }
}

#[test]
fn what_was_cut_in_a_long_outage_is_cut_when_the_link_is_back() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.0));
    let away = LinkParams {
        loss: 1.0,
        ..link(200.0, 0.0)
    };
    let change = |at_s, link| LinkChange {
        at_s,
        forward: Some(link),
        back: Some(link),
    };
    config.link.change = vec![change(1.0, away), change(6.0, link(200.0, 0.0))];
    let seen = run(&config);
    seen.judged("outage");
    seen.alike("outage");
    let at_6_s = (&seen.master[5999], &seen.slave[5999]);
    assert!(at_6_s.0.strokes > 20 && at_6_s.1.strokes == 0, "{at_6_s:?}");
}

#[test]
fn a_slave_that_begins_anew_before_tissue_that_stays_goes_on_with_it() {
    for mode in MODES {
        let config = opening(mode, link(200.0, 0.05));
        let session = Session::new(&config).expect("valid");
        let seen = seen(session, |tick, session| {
            if tick == 3000 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        assert!(
            seen.slave[2999].strokes > 0,
            "it begins anew in the midst of it"
        );
        seen.judged("slave");
        seen.alike("slave");
    }
}

/// A robot whose simulated tissue dies with its process and is whole again in the next.
struct Reborn {
    robot: Box<dyn Robot>,
    next: Option<Box<dyn Robot>>,
    at: Time,
}

impl Robot for Reborn {
    fn caps(&self) -> RobotCaps {
        self.robot.caps()
    }

    fn read(&mut self, now: Time) -> Reading {
        if now >= self.at
            && let Some(next) = self.next.take()
        {
            self.robot = next;
        }
        self.robot.read(now)
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.robot.write(force_n, closed);
    }

    fn replay(&mut self, stroke: &Stroke) -> Result<(), StrokeRefusal> {
        self.robot.replay(stroke)
    }

    fn opened(&self) -> Opened {
        self.robot.opened()
    }

    fn foreign(&self, run: u64) -> u64 {
        self.robot.foreign(run)
    }

    fn done(&self, number: u64) -> Option<Stroke> {
        self.robot.done(number)
    }
}

#[test]
fn tissue_that_is_whole_again_is_told_the_whole_history() {
    for mode in MODES {
        let config = opening(mode, link(200.0, 0.05));
        let robot = || lab::build_robot(&config).expect("a robot");
        let robot = Reborn {
            robot: robot(),
            next: Some(robot()),
            at: Time(3_000_000_000),
        };
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let session = Session::with_devices(&config, hand, Box::new(robot)).expect("valid");
        let seen = seen(session, |tick, session| {
            if tick == 3000 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        let before = seen.slave[2999].strokes;
        let after = seen.slave[3000..].iter().map(|record| record.strokes).min();
        assert!(before > 0 && after == Some(0), "{before} {after:?}");
        seen.judged("tissue");
        seen.alike("tissue");
    }
}

/// Runs a session whose master begins anew at a tick; what it is like in the end, and after how many ticks its twin has
/// had all that the tissue has.
fn master_anew(mode: Mode, link: LinkParams, at: u64) -> (Seen, usize) {
    let session = Session::new(&opening(mode, link)).expect("valid");
    let seen = seen(session, |tick, session| {
        if tick == at {
            session.restart(Side::Master).expect("a master");
        }
    });
    let had = seen.slave[at as usize - 1].strokes;
    assert!(had > 0, "{mode:?}: it begins anew in the midst of it");
    let mut both = seen.master.iter().zip(&seen.slave).skip(at as usize);
    // it may go on in the very tick in which it knows all, as with an undo that waited
    let told = both.position(|(master, slave)| master.strokes >= slave.strokes.max(had));
    let ticks = told.unwrap_or_else(|| panic!("{mode:?}: it is never told all of it"));
    (seen, ticks)
}

#[test]
fn a_master_that_begins_anew_is_told_the_history_and_goes_on_cutting() {
    let at = 4000;
    for mode in MODES {
        let plain = [(200.0, 0.0), (1000.0, 0.05)].into_iter();
        let more = [(0.0, 0.0), (200.0, 0.2)]
            .into_iter()
            .filter(|_| mode == Mode::Mmt);
        for (rtt_ms, loss) in plain.chain(more) {
            let what = format!("{mode:?} anew, {rtt_ms} ms, loss {loss}");
            let (seen, ticks) = master_anew(mode, link(rtt_ms, loss), at);
            let (growth_n, fall_n) = seen.judged(&what);
            let topology = seen.alike(&what);
            let had = seen.slave[at as usize - 1].strokes;
            println!(
                "{what}: {had} strokes told in {ticks} ms, {:?} in the end, growth {growth_n:.3} N, fall {fall_n:.3} N",
                topology.strokes
            );
            assert!(topology.strokes > Some(had), "{what}: {topology:?}");
            // the sides find each other in two round trips; a stroke that is lost comes a round trip later
            let told_ms = 500.0 + (3.0 + 20.0 * loss) * rtt_ms;
            assert!((ticks as f64) < told_ms, "{what}: {ticks} ms");
        }
    }
}

#[test]
fn a_master_that_begins_anew_again_and_again_over_the_worst_network_ends_alike() {
    let mut config = opening(Mode::Mmt, worst());
    config.duration_s += 3.0;
    let session = Session::new(&config).expect("valid");
    let seen = seen(session, |tick, session| {
        if [3000, 3100, 4500, 6000].contains(&tick) {
            session.restart(Side::Master).expect("a master");
        }
        if tick == 6050 {
            session.restart(Side::Slave).expect("a slave");
        }
    });
    seen.judged("again");
    seen.alike("again");
}

#[test]
fn both_sides_that_begin_anew_with_whole_tissues_go_on_from_there() {
    let config = opening(Mode::Mmt, link(200.0, 0.05));
    let robot = || lab::build_robot(&config).expect("a robot");
    // while the master is told of the former tissue, and before
    for at in [4000, 4330] {
        let robot = Reborn {
            robot: robot(),
            next: Some(robot()),
            at: Time(1_000_000 * at),
        };
        let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        let session = Session::with_devices(&config, hand, Box::new(robot)).expect("valid");
        let seen = seen(session, |tick, session| {
            if tick == 4000 {
                session.restart(Side::Master).expect("a master");
            }
            if tick == at as u64 {
                session.restart(Side::Slave).expect("a slave");
            }
        });
        seen.judged("both");
        assert!(seen.slave[3999].strokes > 0);
        let topology = seen.topology();
        assert_eq!(topology.equal, Some(true), "{topology:?}");
        assert!(topology.strokes > Some(0), "{topology:?}");
    }
}

/// A robot whose tissue cannot have one of the strokes.
struct Refusing {
    robot: Box<dyn Robot>,
    number: u64,
}

impl Robot for Refusing {
    fn caps(&self) -> RobotCaps {
        self.robot.caps()
    }

    fn read(&mut self, now: Time) -> Reading {
        self.robot.read(now)
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.robot.write(force_n, closed);
    }

    fn replay(&mut self, stroke: &Stroke) -> Result<(), StrokeRefusal> {
        let mut stroke = *stroke;
        if stroke.number == self.number {
            stroke.changes[0].kind = u8::MAX;
        }
        self.robot.replay(&stroke)
    }

    fn opened(&self) -> Opened {
        self.robot.opened()
    }
}

#[test]
fn issue_a_refused_stroke_was_tried_for_ever_and_held_up_those_after_it() {
    let config = opening(Mode::Mmt, link(1000.0, 0.05));
    let robot = Refusing {
        robot: lab::build_robot(&config).expect("a robot"),
        number: 2,
    };
    let hand = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let session = Session::with_devices(&config, hand, Box::new(robot)).expect("valid");
    let seen = seen(session, |_, _| ());
    seen.judged("refused");
    let topology = seen.topology();
    let refused = (topology.strokes_refused, topology.first_refused);
    assert_eq!(refused, (Some(1), Some(2)), "told once, by its number");
    assert!(topology.strokes_done > Some(2), "{topology:?}");
    assert_eq!(topology.strokes_done, topology.strokes);
    // the tissues are not alike, which is seen: instruments only press from then on
    assert_eq!(topology.equal, Some(false));
    assert!(topology.blunted_ticks > Some(500), "{topology:?}");
    let told = palpate_analysis::conclude::opened(&topology).expect("instruments worked");
    assert!(
        told.contains("REFUSED 1") && told.contains("stroke 2"),
        "{told}"
    );
}

#[test]
fn another_tissue_and_one_that_cannot_be_opened_are_only_pressed() {
    for (tissue, equal) in [
        (scene("opened-other"), Some(false)),
        ("wall:500".to_owned(), None),
    ] {
        let mut config = opening(Mode::Mmt, link(100.0, 0.0));
        config.tissue = tissue;
        let seen = run(&config);
        seen.judged(&config.tissue);
        let topology = seen.topology();
        assert_eq!((topology.strokes, topology.equal), (Some(0), equal));
        assert_eq!(topology.blunted_ticks, topology.instrument_ticks);
        assert!(topology.blunted_ticks > Some(500), "{topology:?}");
    }
}

#[test]
fn a_lump_that_the_twin_lacks_is_cut_all_the_same() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.05));
    config.tissue = scene("opened-lump");
    config.master.predict.update = true;
    let seen = run(&config);
    seen.judged("lump");
    seen.alike("lump");
}

#[test]
fn late_ticks_lose_no_stroke() {
    let mut config = opening(Mode::Mmt, link(200.0, 0.05));
    config.realtime.masked_share = 0.3;
    let seen = run(&config);
    seen.judged("late");
    let topology = seen.alike("late");
    assert!(topology.strokes > Some(20));
    let masked = seen
        .master
        .iter()
        .filter(|r| r.events & Events::MASKED != 0);
    assert!(masked.count() > 1000);
}

#[test]
fn a_recording_of_it_is_replayed_bit_by_bit() {
    for mode in MODES {
        let config = opening(mode, worst());
        let seen = run(&config);
        let recording = Recording {
            master: seen.master,
            slave: seen.slave,
            facts: [(same::COMMAND.to_owned(), "lab".to_owned())].into(),
            ..Recording::default()
        };
        let replayed = same::replay(&recording, &config).expect("whole");
        assert_eq!((replayed.different, replayed.unrun), (0, 0), "{mode:?}");
        let last = |records: &[TickRecord]| {
            records
                .last()
                .map(|record| (record.strokes, record.topology))
        };
        assert_eq!(last(&replayed.master), last(&recording.master));
        assert_eq!(last(&replayed.slave), last(&recording.slave));
    }
}
