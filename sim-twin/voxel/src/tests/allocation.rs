//! Tests that topology edits allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::block;
use crate::carve::RoundToolMotion;
use crate::chainmail::{Chainmail, NodeTarget};
use crate::knife::{BladeEdge, BladeMotion};
use crate::limits::BondLimits;
use crate::nodes::VoxelNodes;
use crate::tear::TearSearch;
use crate::topology_editor::TopologyEditor;
use palpate_twin::Vec3;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// System allocator that counts by thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counter is a plain cell of this
// thread without a destructor, so touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller guarantees the layout.
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
fn topology_edits_allocate_nothing() {
    let mut nodes: VoxelNodes<f32> = block([12; 3], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 500);
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut tearing = TearSearch::new(nodes.slots());
    let before = ALLOCATIONS.get();
    let (mut links, mut torn, mut undone) = (0, 0, 0);
    for round in 0..60_u32 {
        let target = |node, x| NodeTarget {
            node,
            displacement_m: [x, 0.0, 0.0],
        };
        let targets = [target(0, 0.0), target(nodes.slots() - 1, 20.0)];
        let outcome = editor.pull_and_tear(&mut nodes, &mut tearing, &mut chainmail, &targets);
        torn += outcome.links;
        let shift = f64::from(round % 12);
        let edge = |z| {
            BladeEdge([
                Vec3::new(shift + 0.3, -10.0, z),
                Vec3::new(shift + 0.4, 30.0, z),
            ])
        };
        let sweep = BladeMotion {
            before: edge(20.0),
            after: edge(-10.0),
        };
        links += editor.cut(&mut nodes, &sweep, f64::INFINITY).links;
        let at = Vec3::new(shift, 5.0, 10.0);
        editor.carve(&mut nodes, &RoundToolMotion::ball(at, at, 1.5));
        if round % 4 == 0 {
            undone += editor.undo_or_redo(&mut nodes, true).links;
            undone += editor.undo_or_redo(&mut nodes, false).links;
        }
        links += editor.join(&mut nodes, at, 10.0).links;
        let all = 0..nodes.slots();
        editor.pin_within(
            &mut nodes,
            all,
            &RoundToolMotion::ball(at, at, 3.0),
            round % 2 == 0,
        );
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(
        links > 100 && torn > 0 && undone > 0,
        "{links} {torn} {undone}"
    );
}
