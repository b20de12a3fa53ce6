//! Invariants under random instruments and damaged snapshots.

use proptest::prelude::*;

use super::instruments::balance_error_j;
use super::material;
use super::press::slab;
use super::random_edits::assert_pieces;
use super::surface::odd_edge;
use crate::edits::topology_hash;
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::piece_search::PieceSearch;
use crate::{VoxelModel, VoxelParams};
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, SnapshotError, Tissue, Tool, Vec3};

/// Stiffest and widest tool.
const STIFF_NPM: f64 = 3000.0;
const WIDE_M: f64 = 3e-3;
const H_M: f64 = 1e-3;
const SIZE: [i32; 3] = [9, 8, 6];

/// Inputs of one tick.
#[derive(Debug, Clone)]
struct TickInput {
    tools: [Tool; 2],
    dt_s: f64,
    edit: Option<Edit<'static>>,
}

/// A length, in range most of the time \[m\].
fn length_m(most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![
        40 => -most..most,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1e300, 1e-310, 0.0, 50.0, -3.0]),
    ]
}

fn vector(most: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(length_m(most)).prop_map(Vec3::from)
}

fn instrument() -> impl Strategy<Value = Instrument> {
    prop_oneof![
        3 => Just(Instrument::Blunt),
        2 => vector(8e-3).prop_map(|edge_m| Instrument::Scalpel { edge_m }),
        2 => Just(Instrument::Curette),
        1 => length_m(4e-3).prop_map(|reach_m| Instrument::Glue { reach_m }),
        1 => Just(Instrument::Tack),
        1 => Just(Instrument::Untack),
    ]
}

fn jaws() -> impl Strategy<Value = Option<Jaws>> {
    prop::option::of((length_m(4e-3), any::<bool>())).prop_map(|jaws| {
        jaws.map(|(opening_m, closed)| Jaws {
            opening_m,
            opening_velocity_mps: 0.0,
            closed,
        })
    })
}

/// Returns the edges of a ball, rod or plate.
fn span_m(edge_m: Vec3, shape: u8) -> [Vec3; 2] {
    let across_m = 0.6 * Vec3::new(-edge_m.y, edge_m.x, 0.0);
    match shape {
        0 => [Vec3::zeros(); 2],
        1 => [edge_m, Vec3::zeros()],
        _ => [edge_m, across_m],
    }
}

fn tool() -> impl Strategy<Value = Tool> {
    (
        vector(5e-3),
        (length_m(WIDE_M), 1.0..STIFF_NPM),
        (vector(4e-3), 0..3_u8),
        jaws(),
        instrument(),
    )
        .prop_map(
            |(position_m, (radius_m, stiffness_npm), (edge_m, shape), jaws, instrument)| {
                let [shaft_m, side_m] = span_m(edge_m, shape);
                Tool {
                    position_m,
                    velocity_mps: Vec3::zeros(),
                    radius_m: radius_m.abs(),
                    stiffness_npm,
                    shaft_m,
                    side_m,
                    jaws,
                    instrument,
                }
            },
        )
}

fn edit() -> impl Strategy<Value = Option<Edit<'static>>> {
    let cut =
        (vector(4e-3), vector(1.0)).prop_map(|(point_m, normal)| Edit::Cut { point_m, normal });
    let stiffen = (vector(4e-3), length_m(5e-3), -1.0..4.0, any::<bool>());
    let stiffen = stiffen.prop_map(|(centre_m, radius_m, factor, passive)| Edit::Scale {
        shape: RegionShape::Ball { centre_m, radius_m },
        factor,
        passive,
    });
    prop_oneof![
        24 => Just(None),
        1 => cut.prop_map(Some),
        1 => stiffen.prop_map(Some),
        2 => Just(Some(Edit::Undo)),
        2 => Just(Some(Edit::Redo)),
    ]
}

/// Tools that keep their kind for some ticks and move, or change at once.
fn tick_inputs() -> impl Strategy<Value = Vec<TickInput>> {
    let dt_s = prop_oneof![
        12 => Just(1e-3),
        1 => prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 0.3, 1.0, 2.0]),
    ];
    let turn = ([tool(), tool()], vector(2e-4), 1..12_usize, dt_s, edit());
    prop::collection::vec(turn, 2..14).prop_map(|turns| {
        let of = |(tools, step_m, ticks, dt_s, edit): ([Tool; 2], Vec3, usize, f64, _)| {
            (0..ticks).map(move |tick| TickInput {
                tools: tools.map(|tool| Tool {
                    position_m: tool.position_m + step_m * tick as f64,
                    ..tool
                }),
                dt_s,
                edit: if tick == 0 { edit } else { None },
            })
        };
        turns.into_iter().flat_map(of).collect()
    })
}

/// Returns a slab of two materials, with or without friction and tearing.
fn tissue(friction: f64, jaw_friction: Option<f64>, tears: bool) -> VoxelModel {
    let of = |toughness_jpm2, times| VoxelMaterial {
        toughness_jpm2,
        modulus_pa: times * material(BondLimits::LOOSE).modulus_pa,
        ..material(BondLimits::LOOSE)
    };
    let stiff = |[x, _, z]: [i32; 3]| u8::from(x > 5 || z == 5);
    let nodes = slab(SIZE, vec![of(50.0, 1.0), of(300.0, 6.0)], stiff)
        .nodes()
        .clone();
    let params = VoxelParams {
        friction,
        jaw_friction,
        tears,
        undo_changes: 300,
        ..VoxelParams::default()
    };
    VoxelModel::new(nodes, params).expect("fit")
}

fn is_finite(reactions: &Reaction) -> bool {
    let pressed = [
        reactions.force_n,
        reactions.torque_nm,
        reactions.normal,
        reactions.proxy_offset_m,
    ];
    let vectors = pressed.iter().chain([&reactions.blade_force_n]);
    let lengths = [
        reactions.grip_force_n,
        reactions.penetration_m,
        reactions.stiffness_npm,
    ];
    let scalars = lengths
        .iter()
        .chain([&reactions.damping_nspm])
        .chain(&reactions.mesh_error_n);
    let mut all = vectors.flat_map(|v| v.iter()).chain(scalars);
    all.all(|x| x.is_finite())
}

/// Asserts the invariants after every tick. Links exceed their limits by at most `beyond_m` \[m\]. Energies are as
/// accurate as the greatest recorded one, `most_j` \[J\], which changing stiff tools leave far above the present
/// ones.
fn check(tissue: &VoxelModel, piece_search: &mut PieceSearch, (beyond_m, most_j): (f32, &mut f64)) {
    let (balance, nodes) = (tissue.ledger(), tissue.nodes());
    let recorded = [balance.tool_work_j, balance.dissipated_j, balance.edit_j];
    let stored = [balance.elastic_j, balance.contact_j];
    let size_j: f64 = recorded.into_iter().chain(stored).map(f64::abs).sum();
    *most_j = most_j.max(size_j);
    let size_j = *most_j;
    assert!(
        balance_error_j(tissue).abs() <= 1e-12 + 1e-9 * size_j,
        "{balance:?}"
    );
    assert!(
        balance.residual_j.abs() <= 1e-10 + 1e-4 * size_j,
        "{balance:?}"
    );
    for stored_j in [balance.elastic_j, balance.contact_j, balance.dissipated_j] {
        assert!(stored_j >= -1e-10 - 1e-7 * size_j, "{balance:?}");
    }
    assert_eq!(nodes.asymmetric_link(), None);
    assert_pieces(nodes, &tissue.editor, piece_search);
    assert_eq!(odd_edge(tissue.surface()), None);
    assert_eq!(tissue.view().topology_hash, Some(topology_hash(nodes)));
    let worst_m = nodes.limit_excess_m();
    assert!(worst_m < beyond_m + 1e-8, "{worst_m}, {beyond_m} before");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Rows TP-11 and LV-01: any tools and instruments in any motion give finite bounded forces, a closed energy
    /// balance, symmetric links, pieces with unique ids and a closed surface. A snapshot in between restores bit for
    /// bit.
    #[test]
    fn tp_11_random_instruments_keep_invariants(
        doings in tick_inputs(),
        (friction, jaws, tears) in (
            prop::sample::select(vec![0.0, 0.4]),
            prop::sample::select(vec![None, Some(0.0), Some(0.5)]),
            any::<bool>(),
        ),
        freeze_at in 0..60_usize,
    ) {
        let mut tissue = tissue(friction, jaws, tears);
        let (mut other, mut beyond_m, mut most_j) = (None, 0.0_f32, 0.0);
        let mut piece_search = PieceSearch::new(SIZE.iter().product::<i32>().unsigned_abs());
        let all = f64::from(SIZE.iter().product::<i32>());
        let mut widest_m = WIDE_M;
        for (tick, doing) in doings.iter().enumerate() {
            if tick == freeze_at {
                let mut copy = tissue.clone();
                copy.edit(&Edit::Undo).expect("can");
                copy.restore(&Snapshot::of(&tissue)).expect("its own");
                other = Some(copy);
            }
            let mut reactions = [Reaction::default(); 2];
            tissue.step(&doing.tools, doing.dt_s, &mut reactions);
            let wide_m = doing.tools.iter().map(|tool| tool.radius_m);
            widest_m = wide_m.filter(|wide_m| wide_m.is_finite()).fold(widest_m, f64::max);
            // every node at its greatest depth, and tied at the limit of its tie
            let most_n = STIFF_NPM * (widest_m + H_M) * all;
            for reactions in &reactions {
                prop_assert!(is_finite(reactions), "{tick}: {reactions:?}");
                prop_assert!(reactions.force_n.norm() < most_n, "{tick}: {reactions:?}");
            }
            if let Some(edit) = &doing.edit {
                // an edit out of range is refused
                let _ = tissue.edit(edit);
            }
            // an undo links separated nodes at any distance; from then on the excess only shrinks
            let worst_m = tissue.nodes().limit_excess_m().max(0.0);
            if matches!(doing.edit, Some(Edit::Undo | Edit::Redo)) {
                beyond_m = beyond_m.max(worst_m);
            }
            check(&tissue, &mut piece_search, (beyond_m, &mut most_j));
            beyond_m = beyond_m.min(worst_m);
            if let Some(other) = &mut other {
                let mut again = [Reaction::default(); 2];
                other.step(&doing.tools, doing.dt_s, &mut again);
                prop_assert_eq!(reactions, again);
                if let Some(edit) = &doing.edit {
                    let _ = other.edit(edit);
                }
                prop_assert_eq!(tissue.view().faces, other.view().faces);
                prop_assert_eq!(tissue.surface().vertices(), other.surface().vertices());
            }
        }
        if let Some(other) = &other {
            prop_assert!(Snapshot::of(&tissue) == Snapshot::of(other));
        }
    }

    /// A snapshot with flipped, missing or additional bits is refused by name and changes nothing.
    #[test]
    fn damaged_snapshot_is_refused_and_changes_nothing(
        doings in tick_inputs(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..64_u32), 1..4),
        (longer, numbers) in (-3_i32..4, any::<bool>()),
    ) {
        let mut tissue = tissue(0.4, Some(0.5), true);
        let mut reactions = [Reaction::default(); 2];
        for doing in &doings {
            tissue.step(&doing.tools, doing.dt_s, &mut reactions);
        }
        let good = Snapshot::of(&tissue);
        let mut bad = good.clone();
        let count = bad.numbers.len() + bad.integers.len();
        for (at, bit) in &flips {
            let at = at.index(count);
            match at.checked_sub(bad.numbers.len()) {
                None => bad.numbers[at] = f64::from_bits(bad.numbers[at].to_bits() ^ 1 << bit),
                Some(at) => bad.integers[at] ^= 1 << bit,
            }
        }
        let size = |len: usize| len.saturating_add_signed(longer as isize);
        if numbers {
            bad.numbers.resize(size(bad.numbers.len()), 0.0);
        } else {
            bad.integers.resize(size(bad.integers.len()), 0);
        }
        let same = |a: &Snapshot, b: &Snapshot| {
            let bits = |s: &Snapshot| s.numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            bits(a) == bits(b) && a.integers == b.integers
        };
        prop_assume!(!same(&bad, &good));
        let room = (bad.numbers.capacity(), bad.integers.capacity());
        let refused = tissue.restore(&bad);
        prop_assert!(matches!(refused, Err(SnapshotError::Size { .. } | SnapshotError::Damaged { .. })), "{refused:?}");
        prop_assert_eq!(room, (bad.numbers.capacity(), bad.integers.capacity()));
        prop_assert!(same(&Snapshot::of(&tissue), &good));
        tissue.restore(&good).expect("its own");
        prop_assert!(same(&Snapshot::of(&tissue), &good));
    }
}

/// A snapshot of another tissue of the same size is refused.
#[test]
fn snapshot_of_another_tissue_is_refused() {
    let mut tissue = tissue(0.0, None, false);
    let soft = slab(SIZE, vec![material(BondLimits::LOOSE)], |_| 0);
    let foreign = Snapshot::of(&soft);
    assert_eq!(foreign.numbers.len(), Snapshot::of(&tissue).numbers.len());
    let message = tissue.restore(&foreign).expect_err("another").to_string();
    assert!(message.contains("another tissue"), "{message}");
    // the same nodes with another pass time, and links with other limits
    let slab_with = |limits| slab(SIZE, vec![material(limits)], |_| 0);
    let (mut irregular, medium) = (slab_with(BondLimits::LOOSE), slab_with(BondLimits::MEDIUM));
    let others = [Snapshot::of(&medium)];
    let usual = VoxelParams {
        friction: 0.0,
        tears: false,
        undo_changes: 1 << 16,
        ..VoxelParams::default()
    };
    let stepped = [
        VoxelParams {
            friction: 0.4,
            ..usual
        },
        VoxelParams {
            tears: true,
            ..usual
        },
        VoxelParams {
            undo_changes: 300,
            ..usual
        },
        VoxelParams {
            jaw_friction: Some(0.3),
            ..usual
        },
    ];
    let stepped = stepped.map(|params| {
        let nodes = irregular.nodes().clone();
        Snapshot::of(&VoxelModel::new(nodes, params).expect("fit"))
    });
    for other in others.iter().chain(&stepped) {
        let message = irregular.restore(other).expect_err("another").to_string();
        assert!(message.contains("another tissue"), "{message}");
    }
    let message = tissue
        .restore(&Snapshot::default())
        .expect_err("empty")
        .to_string();
    assert!(message.contains("another tissue"), "{message}");
}
