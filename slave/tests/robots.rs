//! What every simulated robot must do, whichever it is: one contract over all of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use palpate_slave::robot::{
    Environment, Free, Probe, Reading, Robot, RobotKind, RobotParams, Wall, build,
};
use palpate_transport::{AXES, Axes, Time};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting by thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counter is a plain cell of this
// thread without a destructor, so touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const MS: i64 = 1_000_000;

/// A world gone wrong: its forces are not numbers.
struct Broken;

impl Environment for Broken {
    fn step(&mut self, _probe: &Probe, _dt_s: f64) -> Axes {
        [f64::NAN, f64::INFINITY, -1e300, 0.0]
    }

    fn energy_j(&self) -> f64 {
        0.0
    }
}

type Builder<'a> = &'a dyn Fn(Box<dyn Environment>, u64) -> Box<dyn Robot>;

/// Run `check` on every robot.
fn check(check: impl Fn(&str, Builder)) {
    for kind in [RobotKind::Palpator, RobotKind::Mass] {
        let params = RobotParams {
            kind,
            start_m: [0.0, 0.0, 0.0, 0.020],
            ..RobotParams::default()
        };
        assert_eq!(params.validate(), Ok(()));
        check(&format!("{kind:?}"), &|world, seed| {
            build(&params, world, seed)
        });
    }
}

fn wall() -> Box<dyn Environment> {
    Box::new(Wall::rp1(300.0))
}

/// A force that is different at every tick and presses on the wall.
fn force_n(tick: i64) -> Axes {
    let saw = |period: i64| (tick % period) as f64 / period as f64 - 0.5;
    [saw(70), saw(110), saw(330) - 1.0, 0.5 * saw(90)]
}

fn run(robot: &mut dyn Robot, ticks: std::ops::Range<i64>) -> Vec<Reading> {
    ticks
        .map(|tick| {
            let reading = robot.read(Time(tick * MS));
            robot.write(&force_n(tick), tick % 500 > 250);
            reading
        })
        .collect()
}

fn numbers(reading: &Reading) -> [f64; 3 * AXES + 1] {
    let axes = [
        reading.position_m,
        reading.velocity_mps,
        reading.contact_force_n,
    ];
    let mut numbers = [reading.tissue_energy_j; 3 * AXES + 1];
    numbers[..3 * AXES].copy_from_slice(axes.as_flattened());
    numbers
}

fn bits(readings: &[Reading]) -> Vec<u64> {
    readings
        .iter()
        .flat_map(numbers)
        .map(f64::to_bits)
        .collect()
}

fn finite(reading: &Reading) -> bool {
    numbers(reading).iter().all(|number| number.is_finite())
}

#[test]
fn a_force_that_is_not_finite_counts_as_none() {
    check(|name, build| {
        let (mut odd, mut calm) = (build(wall(), 1), build(wall(), 1));
        for tick in 0..500 {
            let (a, b) = (odd.read(Time(tick * MS)), calm.read(Time(tick * MS)));
            assert_eq!(bits(&[a]), bits(&[b]), "{name}");
            odd.write(&[f64::NAN, 0.5, f64::INFINITY, f64::NEG_INFINITY], false);
            calm.write(&[0.0, 0.5, 0.0, 0.0], false);
        }
        assert_eq!(odd.counts().refused_forces, 500, "{name}");
        assert_eq!(calm.counts().refused_forces, 0, "{name}");
    });
}

#[test]
fn reading_again_or_back_in_time_changes_nothing() {
    check(|name, build| {
        let (mut nagged, mut calm) = (build(wall(), 1), build(wall(), 1));
        run(&mut *calm, 0..300);
        run(&mut *nagged, 0..300);
        let reading = nagged.read(Time(300 * MS));
        for at in [Time(300 * MS), Time(0), Time(i64::MIN)] {
            assert_eq!(bits(&[nagged.read(at)]), bits(&[reading]), "{name}");
        }
        let (a, b) = (run(&mut *nagged, 300..400), run(&mut *calm, 300..400));
        assert_eq!(bits(&a), bits(&b), "{name}");
    });
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    check(|name, build| {
        let [first, second] = [4, 4].map(|seed| bits(&run(&mut *build(wall(), seed), 0..3000)));
        assert!(first == second, "{name}");
    });
}

#[test]
fn other_seeds_give_other_noise() {
    let params = RobotParams::default();
    let [first, second] = [1, 2].map(|seed| bits(&run(&mut *build(&params, wall(), seed), 0..100)));
    assert!(first != second);
}

#[test]
fn a_stall_costs_bounded_time_and_is_counted() {
    check(|name, build| {
        let mut robot = build(Box::new(Free), 1);
        run(&mut *robot, 0..10);
        assert!(finite(&robot.read(Time(5_000 * MS))), "{name}");
        assert!(finite(&robot.read(Time(i64::MAX))), "{name}");
        assert_eq!(robot.counts().time_jumps, 2, "{name}");
    });
}

#[test]
fn any_force_leaves_every_number_finite() {
    check(|name, build| {
        let mut robot = build(wall(), 1);
        for tick in 0..2000 {
            assert!(finite(&robot.read(Time(tick * MS))), "{name} {tick}");
            let huge = if tick / 200 % 2 == 0 {
                f64::MAX
            } else {
                -f64::MAX
            };
            robot.write(&[huge, -huge, huge, huge], true);
        }
        assert_eq!(robot.counts().saturations, 2000, "{name}");
    });
}

#[test]
fn a_broken_world_is_counted_and_stays_outside() {
    check(|name, build| {
        let mut robot = build(Box::new(Broken), 1);
        for reading in run(&mut *robot, 0..200) {
            assert!(finite(&reading), "{name}");
        }
        assert!(robot.counts().environment_faults > 0, "{name}");
    });
}

#[test]
fn reading_and_writing_allocate_nothing() {
    check(|name, build| {
        let mut robot = build(wall(), 1);
        let before = ALLOCATIONS.with(Cell::get);
        for tick in 0..2000 {
            let _ = robot.read(Time(tick * MS));
            robot.write(&force_n(tick), false);
        }
        assert_eq!(ALLOCATIONS.with(Cell::get), before, "{name}");
    });
    // the counter does count
    let before = ALLOCATIONS.with(Cell::get);
    drop(std::hint::black_box(Box::new(1)));
    assert!(ALLOCATIONS.with(Cell::get) > before);
}

#[test]
fn says_what_it_can_do() {
    check(|name, build| {
        let caps = build(wall(), 1).caps();
        assert!(!caps.real && caps.name.starts_with("simulated"), "{name}");
        assert!(caps.force_n_max.iter().all(|force| *force > 0.0), "{name}");
        assert!(caps.force_sensor, "{name}");
    });
}
