//! What every simulated handle must do, whichever it is: one contract over all of them (S4-33).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use palpate_master::device::grip::Grip;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_master::device::{Handle, HandleKind, OperatorParams, Reading, build};
use palpate_transport::{Axes, Time};

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

/// Run `check` on every handle, grip and script.
fn check(check: impl Fn(&str, &dyn Fn(u64) -> Box<dyn Handle>)) {
    for handle in [HandleKind::Phantom, HandleKind::Mass] {
        for grip in [Grip::Firm, Grip::Light, Grip::None] {
            for script in [
                ScriptParams::default(),
                ScriptParams::Sine(SineParams::default()),
            ] {
                let name = format!("{handle:?} {grip:?} {script:?}");
                let params = OperatorParams {
                    handle,
                    grip,
                    script,
                    ..OperatorParams::default()
                };
                assert_eq!(params.validate(), Ok(()));
                check(&name, &|seed| build(&params, 20.0, seed));
            }
        }
    }
}

/// A force that is different at every tick, within reason.
fn force_n(tick: i64) -> Axes {
    let saw = |period: i64| (tick % period) as f64 / period as f64 - 0.5;
    [saw(70), saw(110), 2.0 * saw(330), 0.5 * saw(90)]
}

fn run(handle: &mut dyn Handle, ticks: std::ops::Range<i64>) -> Vec<Reading> {
    ticks
        .map(|tick| {
            let reading = handle.read(Time(tick * MS));
            handle.write(&force_n(tick));
            reading
        })
        .collect()
}

fn bits(readings: &[Reading]) -> Vec<u64> {
    let axes = |reading: &Reading| [reading.position_m, reading.velocity_mps, reading.intended_m];
    let numbers = readings.iter().flat_map(axes).flatten();
    numbers.map(f64::to_bits).collect()
}

fn finite(reading: &Reading) -> bool {
    let axes = [reading.position_m, reading.velocity_mps, reading.intended_m];
    axes.iter().flatten().all(|number| number.is_finite())
}

#[test]
fn a_force_that_is_not_finite_counts_as_none() {
    check(|name, build| {
        let (mut odd, mut calm) = (build(1), build(1));
        for tick in 0..500 {
            let (a, b) = (odd.read(Time(tick * MS)), calm.read(Time(tick * MS)));
            assert_eq!(bits(&[a]), bits(&[b]), "{name}");
            odd.write(&[f64::NAN, 0.5, f64::INFINITY, f64::NEG_INFINITY]);
            calm.write(&[0.0, 0.5, 0.0, 0.0]);
        }
        assert_eq!(odd.counts().refused_forces, 500, "{name}");
        assert_eq!(calm.counts().refused_forces, 0, "{name}");
    });
}

#[test]
fn reading_again_or_back_in_time_changes_nothing() {
    check(|name, build| {
        let (mut nagged, mut calm) = (build(1), build(1));
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
        let [first, second] = [4, 4].map(|seed| bits(&run(&mut *build(seed), 0..3000)));
        assert!(first == second, "{name}");
    });
}

#[test]
fn other_seeds_give_other_palpations() {
    let params = OperatorParams::default();
    let [first, second] = [1, 2].map(|seed| bits(&run(&mut *build(&params, 20.0, seed), 0..1000)));
    assert!(first != second);
}

#[test]
fn a_stall_costs_bounded_time_and_is_counted() {
    check(|name, build| {
        let mut handle = build(1);
        run(&mut *handle, 0..10);
        assert!(finite(&handle.read(Time(5_000 * MS))), "{name}");
        assert!(finite(&handle.read(Time(i64::MAX))), "{name}");
        assert_eq!(handle.counts().time_jumps, 2, "{name}");
    });
}

#[test]
fn any_force_leaves_every_number_finite() {
    check(|name, build| {
        let mut handle = build(1);
        for tick in 0..2000 {
            assert!(finite(&handle.read(Time(tick * MS))), "{name} {tick}");
            let huge = if tick / 200 % 2 == 0 {
                f64::MAX
            } else {
                -f64::MAX
            };
            handle.write(&[huge, -huge, huge, huge]);
        }
        assert!(handle.counts().saturations > 0, "{name}");
    });
}

#[test]
fn reading_and_writing_allocate_nothing() {
    check(|name, build| {
        let mut handle = build(1);
        let before = ALLOCATIONS.with(Cell::get);
        for tick in 0..2000 {
            let _ = handle.read(Time(tick * MS));
            handle.write(&force_n(tick));
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
        let caps = build(1).caps();
        assert!(!caps.real && caps.name.starts_with("simulated"), "{name}");
        assert!(
            caps.force_n_max[..3].iter().all(|force| *force > 0.0),
            "{name}"
        );
    });
}

#[test]
fn is_present_when_somebody_holds_it() {
    check(|name, build| {
        let reading = build(1).read(Time(0));
        assert_eq!(reading.present, !name.contains("None"), "{name}");
    });
}
