//! A tick of continuum tissue or of a linked volume allocates nothing, nor does an edit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use palpate_fem::explicit::{Explicit, Params, Stuff};
use palpate_geometry::mesh::nested::{Nested, Zone};
use palpate_twin::law::{Material, Viscosity};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue, Tool, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::matter::Matter;
use palpate_voxel::{Linked, LinkedParams};

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

fn block() -> Explicit {
    let zone = Zone {
        cell_m: 4e-3,
        levels: 3,
        centre_m: [0.0; 2],
        half_m: [0.012; 2],
        depth_m: 0.01,
    };
    let (low_m, high_m) = (Vec3::new(-0.05, -0.05, -0.1), Vec3::new(0.05, 0.05, 0.0));
    let nested = Nested::new(low_m, high_m, &zone).expect("a block");
    let moduli = Material::new(5e3, 0.45, 1e3).expect("a material").moduli();
    let stuff = nested.levels.iter().map(|level| Stuff {
        moduli: vec![moduli; level.count()],
        densities_kgpm3: vec![1e3; level.count()],
    });
    let params = Params {
        friction: 0.3,
        jaw_friction: Some(0.4),
        ..Params::default()
    };
    let viscosity = Viscosity {
        shear_pas: 1.0,
        bulk_pas: 1.0,
        share: 0.3,
        time_s: 0.1,
    };
    let viscosities: Vec<Vec<Viscosity>> = nested
        .levels
        .iter()
        .map(|level| vec![viscosity; level.count()])
        .collect();
    let stuff: Vec<Stuff> = stuff.collect();
    Explicit::with_viscosity(&nested, &stuff, &viscosities, &params).expect("a tissue")
}

#[test]
fn ticks_and_edits_allocate_nothing_whatever_the_tools_do() {
    let ball = Tool {
        position_m: Vec3::new(0.0, 0.0, 0.005),
        velocity_mps: Vec3::zeros(),
        radius_m: 0.005,
        stiffness_npm: 1e6,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    };
    let mut tissue = block();
    let mut copy = tissue.clone();
    let mut reactions = [Reaction::default(); 4];
    let mut snapshot = Snapshot::of(&tissue);
    let before = ALLOCATIONS.get();
    assert!(before > 0, "the counter counts");
    let (mut most_kg, mut changed) = (0.0_f64, 0);
    for step in 0..400_u32 {
        let mut tools = [ball; 4];
        // deep enough for added mass, back and forth
        let phase = f64::from(step % 200) * 1e-2;
        tools[0].position_m.z -= 0.012 * phase.min(2.0 - phase);
        tools[1].position_m = Vec3::new(0.03, 0.0, 0.004);
        tools[1].shaft_m = Vec3::new(0.0, 0.02, 0.0);
        tools[2].radius_m = if step % 7 == 0 { f64::NAN } else { 0.5 };
        if step % 100 < 60 {
            // a point that comes, slides and goes
            let way_m = 1e-4 * f64::from(step % 60);
            tools[2].radius_m = 0.0;
            tools[2].position_m = Vec3::new(-0.02 + way_m, 0.01, 2e-3 - way_m.min(6e-3 - way_m));
        }
        tools[3].jaws = Some(Jaws {
            opening_m: 1e-4 * f64::from(step % 50),
            opening_velocity_mps: 0.0,
            closed: false,
        });
        tools[3].position_m.x = 0.04 * f64::from(step % 3);
        let count = if step % 50 < 40 { 4 } else { 1 };
        for tissue in [&mut tissue, &mut copy] {
            tissue.step(&tools[..count], 1e-3, &mut reactions);
        }
        most_kg = most_kg.max(tissue.added_mass_kg());
        if step % 20 == 10 {
            let edit = |factor, passive| Edit::Stiffen {
                center_m: Vec3::new(0.0, 0.0, -0.005),
                radius_m: 0.02,
                factor,
                passive,
            };
            let cut = Edit::Cut {
                point_m: Vec3::zeros(),
                normal: Vec3::x(),
            };
            for edit in [edit(1.2, true), edit(0.9, true), edit(0.95, false)] {
                changed += tissue.edit(&edit).map_or(0, |report| report.elements);
            }
            // refused ones too
            for edit in [edit(f64::NAN, true), cut] {
                assert!(tissue.edit(&edit).is_err());
            }
        }
        if step % 100 == 99 {
            tissue.freeze(&mut snapshot);
            tissue.thaw(&snapshot).unwrap();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(most_kg > 0.0 && changed > 0);
}

/// A linked block of twelve a side, spacing 1 mm.
fn linked() -> Elements<f32> {
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1e-3; 3],
    };
    let sites = (0..12).flat_map(|z| (0..12).flat_map(move |y| (0..12).map(move |x| [x, y, z])));
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    Elements::new(frame, vec![Matter::of_young("fat", 2e3, 0.45)], &seeds).expect("fit")
}

#[test]
fn a_linked_tissue_steps_and_is_cut_without_allocating() {
    let mut tissue = Linked::new(linked(), LinkedParams::default()).expect("fit");
    let mut snapshot = Snapshot::default();
    tissue.freeze(&mut snapshot);
    let ball = Tool {
        position_m: Vec3::new(5e-3, 5e-3, 1.3e-2),
        velocity_mps: Vec3::zeros(),
        radius_m: 3e-3,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    };
    let mut felt = [Reaction::default()];
    let before = ALLOCATIONS.get();
    for step in 0..60_u32 {
        tissue.step(&[ball], 1e-3, &mut felt);
        if step % 10 == 5 {
            let cut = Edit::Cut {
                point_m: Vec3::new(1e-3 * f64::from(step) / 5.0, 0.0, 0.0),
                normal: Vec3::new(1.0, 0.2, 0.1),
            };
            assert!(tissue.edit(&cut).expect("can").elements > 0);
            assert!(!tissue.view().faces.is_empty());
        }
        if step == 40 {
            tissue.thaw(&snapshot).expect("its own");
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

/// What a tool does in a step: each thing for 60 steps, in and out, twice.
fn at_work(step: u32, finger: &Tool) -> (u32, Tool) {
    let jaws = |closed| Jaws {
        opening_m: 2e-3,
        opening_velocity_mps: 0.0,
        closed,
    };
    let edge_m = Vec3::new(0.0, 1e-3, -8e-3);
    let instruments = [
        Instrument::Blunt,
        Instrument::Scalpel { edge_m },
        Instrument::Glue { reach_m: 6e-3 },
        Instrument::Tack,
        Instrument::Untack,
        Instrument::Curette,
    ];
    let (turn, phase) = (step / 60 % 8, f64::from(step % 60) / 60.0);
    let mut tool = *finger;
    tool.radius_m = 2e-3;
    // where the curette was is nothing to grasp
    let aside_m = if turn < 6 { 5e-3 } else { 1.5e-3 };
    tool.position_m = Vec3::new(
        2e-3 + 9e-3 * phase,
        aside_m,
        1.3e-2 - 7e-3 * (0.5 - (phase - 0.5).abs()),
    );
    match turn {
        0..6 => tool.instrument = instruments[turn as usize],
        // jaws that close in the tissue and pull, and that only press
        _ => tool.jaws = Some(jaws(turn == 6 && phase > 0.5)),
    }
    if turn == 6 {
        tool.position_m.z += 4e-2 * (phase - 0.5).max(0.0);
    }
    (turn, tool)
}

/// Every instrument of a linked volume on a way through it, alone and with a blunt finger, with undo, redo, changes of
/// stiffness and snapshots between: nothing allocates after the tissue was made, a damaged snapshot neither.
#[test]
fn no_instrument_of_a_linked_tissue_allocates() {
    let params = LinkedParams {
        friction: 0.4,
        tears: true,
        ..LinkedParams::default()
    };
    let mut elements = linked();
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == 0);
    }
    let mut tissue = Linked::new(elements, params).expect("fit");
    let mut snapshot = Snapshot::default();
    tissue.freeze(&mut snapshot);
    let mut damaged = snapshot.clone();
    damaged.integers[7] ^= 1 << 40;
    let finger = Tool {
        position_m: Vec3::new(8e-3, 8e-3, 1.25e-2),
        velocity_mps: Vec3::zeros(),
        radius_m: 3e-3,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    };
    let mut felt = [Reaction::default(); 2];
    let mut made = [0; 8];
    let before = ALLOCATIONS.get();
    for step in 0..960_u32 {
        let (turn, tool) = at_work(step, &finger);
        tissue.step(&[tool, finger], 1e-3, &mut felt);
        made[turn as usize] += tissue.view().changes.len();
        if step % 37 == 36 {
            let factor = if step % 2 == 0 { 1.3 } else { 0.7 };
            let stiffen = Edit::Stiffen {
                center_m: tool.position_m,
                radius_m: 5e-3,
                factor,
                passive: step % 3 == 0,
            };
            for edit in [stiffen, Edit::Undo, Edit::Redo] {
                tissue.edit(&edit).expect("can");
            }
        }
        if step % 50 == 49 {
            tissue.freeze(&mut snapshot);
            tissue.thaw(&snapshot).expect("its own");
            assert!(tissue.thaw(&damaged).is_err());
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let [blunt, cut, joined, held, freed, carved, torn, _] = made;
    assert!(
        blunt == 0 && cut > 30 && joined > 0 && held > 10 && freed > 10 && carved > 100 && torn > 0,
        "{made:?}"
    );
}
