//! Counts heap allocations by thread, so that "the servo path allocates nothing" is a measurement.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system allocator with a count of each thread's allocations beside it.
pub struct CountingAllocator;

/// Allocations and reallocations that the calling thread has made so far.
#[must_use]
pub fn count() -> u64 {
    COUNT.with(Cell::get)
}

fn note() {
    // a thread that is being torn down has no cell any more; nobody counts it then
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed to the system allocator unchanged, with the caller's own layout and
// pointer; the count beside it is a plain thread-local cell that never allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as above
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as above
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as above
        unsafe { System.realloc(pointer, layout, size) }
    }
}
