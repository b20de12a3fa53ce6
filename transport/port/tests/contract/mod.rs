//! Contract of every simulated device, handle or robot, and the allocator that counts for it.
//!
//! The tests of both sides include this file: each defines how its devices are built, read and written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;

use palpate_transport::{AXES, Axes, Time};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Allocator of the system that counts by thread.
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

/// Nanoseconds of a millisecond.
const MS: i64 = 1_000_000;

/// All numbers of a reading.
pub(crate) type Numbers = [f64; 3 * AXES + 1];

/// Device under the contract.
pub(crate) trait Device {
    /// Reads the device at a time.
    fn read(&mut self, now: Time) -> Numbers;

    /// Writes a force \[N\].
    fn write(&mut self, force_n: &Axes);

    /// A force that is different at every tick, within reason \[N\].
    fn force_n(&self, tick: i64) -> Axes;
}

/// Builds a device from a seed.
pub(crate) type Builder<'a> = &'a dyn Fn(u64) -> Box<dyn Device>;

/// Reads and writes a device once a tick.
pub(crate) fn run(device: &mut dyn Device, ticks: Range<i64>) -> Vec<u64> {
    let mut bits = Vec::new();
    for tick in ticks {
        bits.extend(device.read(Time(tick * MS)).map(f64::to_bits));
        device.write(&device.force_n(tick));
    }
    bits
}

fn bits(numbers: &Numbers) -> [u64; 3 * AXES + 1] {
    numbers.map(f64::to_bits)
}

fn finite(numbers: &Numbers) -> bool {
    numbers.iter().all(|number| number.is_finite())
}

pub(crate) fn a_force_that_is_not_finite_counts_as_none(name: &str, build: Builder) {
    let (mut odd, mut calm) = (build(1), build(1));
    for tick in 0..500 {
        let (a, b) = (odd.read(Time(tick * MS)), calm.read(Time(tick * MS)));
        assert_eq!(bits(&a), bits(&b), "{name}");
        odd.write(&[f64::NAN, 0.5, f64::INFINITY, f64::NEG_INFINITY]);
        calm.write(&[0.0, 0.5, 0.0, 0.0]);
    }
}

pub(crate) fn reading_again_or_back_in_time_changes_nothing(name: &str, build: Builder) {
    let (mut repeated, mut calm) = (build(1), build(1));
    run(&mut *calm, 0..300);
    run(&mut *repeated, 0..300);
    let reading = repeated.read(Time(300 * MS));
    for at in [Time(300 * MS), Time(0), Time(i64::MIN)] {
        assert_eq!(bits(&repeated.read(at)), bits(&reading), "{name}");
    }
    let (a, b) = (run(&mut *repeated, 300..400), run(&mut *calm, 300..400));
    assert_eq!(a, b, "{name}");
}

pub(crate) fn the_same_seed_gives_the_same_bits(name: &str, build: Builder) {
    let [first, second] = [4, 4].map(|seed| run(&mut *build(seed), 0..3000));
    assert!(first == second, "{name}");
}

pub(crate) fn a_stall_costs_bounded_time(name: &str, build: Builder) {
    let mut device = build(1);
    run(&mut *device, 0..10);
    assert!(finite(&device.read(Time(5_000 * MS))), "{name}");
    assert!(finite(&device.read(Time(i64::MAX))), "{name}");
}

pub(crate) fn any_force_leaves_every_number_finite(name: &str, build: Builder) {
    let mut device = build(1);
    for tick in 0..2000 {
        assert!(finite(&device.read(Time(tick * MS))), "{name} {tick}");
        let huge = if tick / 200 % 2 == 0 {
            f64::MAX
        } else {
            -f64::MAX
        };
        device.write(&[huge, -huge, huge, huge]);
    }
}

pub(crate) fn reading_and_writing_allocate_nothing(name: &str, build: Builder) {
    let mut device = build(1);
    let before = ALLOCATIONS.with(Cell::get);
    for tick in 0..2000 {
        let _ = device.read(Time(tick * MS));
        device.write(&device.force_n(tick));
    }
    assert_eq!(ALLOCATIONS.with(Cell::get), before, "{name}");
    // the counter does count
    drop(std::hint::black_box(Box::new(1)));
    assert!(ALLOCATIONS.with(Cell::get) > before);
}
