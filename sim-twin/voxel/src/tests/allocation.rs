//! Surgery allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::block;
use crate::carve::Scoop;
use crate::elements::Elements;
use crate::exact::{Control, Exact};
use crate::knife::{Blade, Sweep};
use crate::limits::Limits;
use crate::surgery::Surgery;
use crate::tear::{TearRule, Tearing};
use palpate_twin::Vec3;

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

#[test]
fn surgery_allocates_nothing() {
    let mut elements: Elements<f32> = block([12; 3], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 500);
    let mut exact = Exact::new(elements.slots());
    let mut tearing = Tearing::new(elements.slots(), TearRule::default());
    let before = ALLOCATIONS.get();
    let (mut links, mut torn, mut undone) = (0, 0, 0);
    for round in 0..60_u32 {
        let control = |element, x| Control {
            element,
            to_m: [x, 0.0, 0.0],
        };
        let controls = [control(0, 0.0), control(elements.slots() - 1, 20.0)];
        let (pulled, _) = surgery.pull(&mut elements, &mut tearing, &mut exact, &controls, 1e-3);
        torn += pulled.torn;
        let shift = f64::from(round % 12);
        let edge = |z| Blade {
            from_m: Vec3::new(shift + 0.3, -10.0, z),
            to_m: Vec3::new(shift + 0.4, 30.0, z),
        };
        let sweep = Sweep {
            before: edge(20.0),
            after: edge(-10.0),
        };
        links += surgery.cut(&mut elements, &sweep, f64::INFINITY).links;
        let at = Vec3::new(shift, 5.0, 10.0);
        surgery.carve(&mut elements, &Scoop::ball(at, at, 1.5));
        if round % 4 == 0 {
            undone += surgery.undo(&mut elements).links;
            undone += surgery.redo(&mut elements).links;
        }
        links += surgery.join(&mut elements, at, 10.0).links;
        surgery.pin(&mut elements, &Scoop::ball(at, at, 3.0), round % 2 == 0);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(
        links > 100 && torn > 0 && undone > 0,
        "{links} {torn} {undone}"
    );
}
