//! Counts heap allocations by thread, so that "the servo path allocates nothing" is a measurement, and
//! the bytes that it holds, so that "so much memory" is one too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system allocator with a count of each thread's allocations beside it.
pub struct CountingAllocator;

/// Allocations and reallocations that the calling thread has made so far.
#[must_use]
pub fn count() -> u64 {
    COUNT.with(Cell::get)
}

/// Bytes that the calling thread has allocated so far less those that it has freed, as they were asked
/// for; negative for a thread that frees what others made.
#[must_use]
pub fn held_bytes() -> i64 {
    HELD.with(Cell::get)
}

fn note(bytes: usize) {
    // a thread that is being torn down has no cell any more; nobody counts it then
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    hold(bytes as i64);
}

fn hold(bytes: i64) {
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(bytes)));
}

// SAFETY: every call is passed to the system allocator unchanged, with the caller's own layout and
// pointer; the counts beside it are plain thread-local cells that never allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: as above
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        hold(-(layout.size() as i64));
        // SAFETY: as above
        unsafe { System.realloc(pointer, layout, size) }
    }
}
