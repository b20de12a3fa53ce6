//! Counting allocator: counts heap allocations and held bytes by thread, so that "the servo path allocates nothing"
//! and "so much memory" are measurements.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// System allocator that also counts each thread's allocations.
pub struct CountingAllocator;

/// Allocations and reallocations that the calling thread has made so far.
#[must_use]
pub fn count() -> u64 {
    COUNT.with(Cell::get)
}

/// Bytes that the calling thread has allocated so far less those that it has freed, by requested
/// size; negative for a thread that frees the memory of others.
#[must_use]
pub fn held_bytes() -> i64 {
    HELD.with(Cell::get)
}

fn note(bytes: usize) {
    // a thread in its teardown has no cell any more; it is not counted
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    adjust_held_bytes(bytes as i64);
}

fn adjust_held_bytes(bytes: i64) {
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
        adjust_held_bytes(-(layout.size() as i64));
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
        adjust_held_bytes(-(layout.size() as i64));
        // SAFETY: as above
        unsafe { System.realloc(pointer, layout, size) }
    }
}
