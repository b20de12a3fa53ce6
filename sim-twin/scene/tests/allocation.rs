//! Ticks and edits of continuum tissue and of voxel models allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use palpate_fem::explicit::{ExplicitParams, ExplicitTissue};
use palpate_geometry::mesh::nested_grid::{NestedGrid, RefinementZone};
use palpate_twin::law::{CellMaterial, Material, RelaxingShare, Viscosity};
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue, Tool, Vec3};
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::{VoxelModel, VoxelParams};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// System allocator that counts allocations by thread.
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

fn block() -> ExplicitTissue {
    let zone = RefinementZone {
        cell_m: 4e-3,
        levels: 3,
        centre_m: [0.0; 2],
        half_m: [0.012; 2],
        depth_m: 0.01,
    };
    let (low_m, high_m) = (Vec3::new(-0.05, -0.05, -0.1), Vec3::new(0.05, 0.05, 0.0));
    let nested = NestedGrid::new(low_m, high_m, &zone).expect("a block");
    let material = Material::new(5e3, 0.45, 1e3).expect("a material");
    let params = ExplicitParams {
        friction: 0.3,
        jaw_friction: Some(0.4),
        ..ExplicitParams::default()
    };
    let branch = RelaxingShare {
        share: 0.3,
        time_s: 0.1,
    };
    let viscosity = Viscosity {
        shear_pas: 1.0,
        bulk_pas: 1.0,
        ..Viscosity::of_branches(&[branch, branch]).expect("two branches")
    };
    let stuff = CellMaterial {
        viscosity,
        ..material.cell_material()
    };
    let levels = nested.levels.iter();
    let stuff: Vec<Vec<CellMaterial>> = levels.map(|level| vec![stuff; level.count()]).collect();
    ExplicitTissue::new(&nested, &stuff, &params).expect("a tissue")
}

/// Tool that touches the top.
const BALL: Tool = Tool {
    position_m: Vec3::new(0.0, 0.0, 0.005),
    velocity_mps: Vec3::new(0.0, 0.0, 0.0),
    radius_m: 0.005,
    stiffness_npm: 1e6,
    shaft_m: Vec3::new(0.0, 0.0, 0.0),
    side_m: Vec3::new(0.0, 0.0, 0.0),
    instrument: Instrument::Blunt,
    jaws: None,
};

fn ball_at(centre_m: Vec3, radius_m: f64) -> RegionShape {
    RegionShape::Ball { centre_m, radius_m }
}

fn stiffened(shape: RegionShape, factor: f64, passive: bool) -> Edit<'static> {
    Edit::Scale {
        shape,
        factor,
        passive,
    }
}

#[test]
fn ticks_and_edits_never_allocate() {
    let mut tissue = block();
    let mut copy = tissue.clone();
    let mut reactions = [Reaction::default(); 4];
    let mut snapshot = Snapshot::of(&tissue);
    let before = ALLOCATIONS.get();
    assert!(before > 0, "the counter counts");
    let (mut most_kg, mut changed) = (0.0_f64, 0);
    for step in 0..400_u32 {
        let mut tools = [BALL; 4];
        // deep enough for added mass, to and fro
        let phase = f64::from(step % 200) * 1e-2;
        tools[0].position_m.z -= 0.012 * phase.min(2.0 - phase);
        tools[1].position_m = Vec3::new(0.03, 0.0, 0.004);
        tools[1].shaft_m = Vec3::new(0.0, 0.02, 0.0);
        tools[2].radius_m = if step % 7 == 0 { f64::NAN } else { 0.5 };
        if step % 100 < 60 {
            // a point that touches, slides and leaves
            let travel_m = 1e-4 * f64::from(step % 60);
            tools[2].radius_m = 0.0;
            tools[2].position_m =
                Vec3::new(-0.02 + travel_m, 0.01, 2e-3 - travel_m.min(6e-3 - travel_m));
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
        most_kg = most_kg.max(tissue.squeezed_added_mass_kg());
        if step % 20 == 10 {
            let place_m = Vec3::new(0.0, 0.0, -0.005);
            let edit = |factor, passive| stiffened(ball_at(place_m, 0.02), factor, passive);
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
            tissue.save(&mut snapshot);
            tissue.restore(&snapshot).unwrap();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(most_kg > 0.0 && changed > 0);
}

/// Voxel block of twelve nodes per edge, spacing 1 mm.
fn voxel_model() -> VoxelNodes<f32> {
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1e-3; 3],
    };
    let sites = (0..12).flat_map(|z| (0..12).flat_map(move |y| (0..12).map(move |x| [x, y, z])));
    let seeds: Vec<NodeSeed> = sites
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 0,
        })
        .collect();
    VoxelNodes::new(
        frame,
        vec![VoxelMaterial::of_young("fat", 2e3, 0.45)],
        &seeds,
    )
    .expect("fit")
}

#[test]
fn voxel_model_steps_and_is_cut_without_allocating() {
    let mut tissue = VoxelModel::new(voxel_model(), VoxelParams::default()).expect("fit");
    let mut snapshot = Snapshot::default();
    tissue.save(&mut snapshot);
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
    let mut reactions = [Reaction::default()];
    let before = ALLOCATIONS.get();
    for step in 0..60_u32 {
        tissue.step(&[ball], 1e-3, &mut reactions);
        if step % 10 == 5 {
            let cut = Edit::Cut {
                point_m: Vec3::new(1e-3 * f64::from(step) / 5.0, 0.0, 0.0),
                normal: Vec3::new(1.0, 0.2, 0.1),
            };
            assert!(tissue.edit(&cut).expect("can").elements > 0);
            assert!(!tissue.view().faces.is_empty());
        }
        if step == 40 {
            tissue.restore(&snapshot).expect("its own");
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

/// Tool of a step: each action for 60 steps, in and out, twice.
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
    // there is nothing to grasp where the curette was
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

/// Every instrument moves through a voxel model, alone and with a blunt finger, with undo, redo, stiffness edits
/// and snapshots between: nothing allocates after construction, nor does a damaged snapshot.
#[test]
fn no_instrument_on_a_voxel_model_allocates() {
    let params = VoxelParams {
        friction: 0.4,
        tears: true,
        ..VoxelParams::default()
    };
    let mut nodes = voxel_model();
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == 0);
    }
    let mut tissue = VoxelModel::new(nodes, params).expect("fit");
    let mut snapshot = Snapshot::default();
    tissue.save(&mut snapshot);
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
    let mut reactions = [Reaction::default(); 2];
    let mut changes = [0; 8];
    let before = ALLOCATIONS.get();
    for step in 0..960_u32 {
        let (turn, tool) = at_work(step, &finger);
        tissue.step(&[tool, finger], 1e-3, &mut reactions);
        changes[turn as usize] += tissue.view().changes.len();
        if step % 37 == 36 {
            let factor = if step % 2 == 0 { 1.3 } else { 0.7 };
            let stiffen = stiffened(ball_at(tool.position_m, 5e-3), factor, step % 3 == 0);
            for edit in [stiffen, Edit::Undo, Edit::Redo] {
                tissue.edit(&edit).expect("can");
            }
        }
        if step % 50 == 49 {
            tissue.save(&mut snapshot);
            tissue.restore(&snapshot).expect("its own");
            assert!(tissue.restore(&damaged).is_err());
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let [blunt, cut, joined, held, freed, carved, torn, _] = changes;
    assert!(
        blunt == 0 && cut > 30 && joined > 0 && held > 10 && freed > 10 && carved > 100 && torn > 0,
        "{changes:?}"
    );
}
