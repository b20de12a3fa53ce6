//! Instruments that do anything, and snapshots that something has happened to: what must hold whatever comes.

use proptest::prelude::*;

use super::looks::odd_edge;
use super::matter;
use super::operate::out_j;
use super::press::slab;
use super::soak::assert_pieces;
use crate::edits::topology;
use crate::limits::Limits;
use crate::matter::Matter;
use crate::walk::Walk;
use crate::{Linked, LinkedParams};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, ThawError, Tissue, Tool, Vec3};

/// Stiffest and widest tool.
const STIFF_NPM: f64 = 3000.0;
const WIDE_M: f64 = 3e-3;
const H_M: f64 = 1e-3;
const SIZE: [i32; 3] = [9, 8, 6];

/// One tick's doing.
#[derive(Debug, Clone)]
struct Doing {
    tools: [Tool; 2],
    dt_s: f64,
    edit: Option<Edit<'static>>,
}

/// A length that is sane most of the time \[m\].
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

/// The edges of a ball, a rod or a plate.
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
    let stiffen = stiffen.prop_map(|(center_m, radius_m, factor, passive)| Edit::Stiffen {
        center_m,
        radius_m,
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

/// Tools that stay what they are for some ticks and move on, or are other ones at once.
fn doings() -> impl Strategy<Value = Vec<Doing>> {
    let dt_s = prop_oneof![
        12 => Just(1e-3),
        1 => prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 0.3, 1.0, 2.0]),
    ];
    let turn = ([tool(), tool()], vector(2e-4), 1..12_usize, dt_s, edit());
    prop::collection::vec(turn, 2..14).prop_map(|turns| {
        let of = |(tools, way_m, ticks, dt_s, edit): ([Tool; 2], Vec3, usize, f64, _)| {
            (0..ticks).map(move |tick| Doing {
                tools: tools.map(|tool| Tool {
                    position_m: tool.position_m + way_m * tick as f64,
                    ..tool
                }),
                dt_s,
                edit: if tick == 0 { edit } else { None },
            })
        };
        turns.into_iter().flat_map(of).collect()
    })
}

/// Two materials, that rub and tear or not.
fn tissue(friction: f64, jaw_friction: Option<f64>, tears: bool) -> Linked {
    let of = |toughness_jpm2, times| Matter {
        toughness_jpm2,
        modulus_pa: times * matter(Limits::LOOSE).modulus_pa,
        ..matter(Limits::LOOSE)
    };
    let stiff = |[x, _, z]: [i32; 3]| u8::from(x > 5 || z == 5);
    let elements = slab(SIZE, vec![of(50.0, 1.0), of(300.0, 6.0)], stiff)
        .elements()
        .clone();
    let params = LinkedParams {
        friction,
        jaw_friction,
        tears,
        undo: 300,
        ..LinkedParams::default()
    };
    Linked::new(elements, params).expect("fit")
}

fn is_finite(felt: &Reaction) -> bool {
    let pressed = [felt.force_n, felt.torque_nm, felt.normal, felt.to_proxy_m];
    let vectors = pressed.iter().chain([&felt.edge_n]);
    let lengths = [felt.grip_n, felt.penetration_m, felt.stiffness_npm];
    let scalars = lengths
        .iter()
        .chain([&felt.damping_nspm])
        .chain(&felt.error_n);
    let mut all = vectors.flat_map(|v| v.iter()).chain(scalars);
    all.all(|x| x.is_finite())
}

/// What must hold after every tick; links are at most as far beyond their limits as this \[m\].
/// Energies are as exact as the largest that was ever booked, `most_j` \[J\], which stiff tools that come and go leave far
/// above those of now.
fn check(tissue: &Linked, walk: &mut Walk, (beyond_m, most_j): (f32, &mut f64)) {
    let (books, elements) = (tissue.ledger(), tissue.elements());
    let booked = [books.tool_work_j, books.dissipated_j, books.edit_j];
    let held = [books.elastic_j, books.contact_j];
    let size_j: f64 = booked.into_iter().chain(held).map(f64::abs).sum();
    *most_j = most_j.max(size_j);
    let size_j = *most_j;
    assert!(out_j(tissue).abs() <= 1e-12 + 1e-9 * size_j, "{books:?}");
    assert!(books.residual_j.abs() <= 1e-10 + 1e-4 * size_j, "{books:?}");
    for held_j in [books.elastic_j, books.contact_j, books.dissipated_j] {
        assert!(held_j >= -1e-10 - 1e-7 * size_j, "{books:?}");
    }
    assert_eq!(elements.one_sided(), None);
    assert_pieces(elements, &tissue.surgery, walk);
    assert_eq!(odd_edge(tissue.surface()), None);
    assert_eq!(tissue.view().topology, Some(topology(elements)));
    let worst_m = elements.worst_m();
    assert!(worst_m < beyond_m + 1e-8, "{worst_m}, {beyond_m} before");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Rows TP-11 and LV-01: any tools with any instruments, moved in any way for any time, give finite forces within
    /// a bound, closed books, links that are answered, pieces with ids of their own and a closed surface; and a
    /// snapshot in the middle of it goes on bit for bit.
    #[test]
    fn tp_11_whatever_instruments_do_all_promises_hold(
        doings in doings(),
        (friction, jaws, tears) in (
            prop::sample::select(vec![0.0, 0.4]),
            prop::sample::select(vec![None, Some(0.0), Some(0.5)]),
            any::<bool>(),
        ),
        freeze_at in 0..60_usize,
    ) {
        let mut tissue = tissue(friction, jaws, tears);
        let (mut other, mut beyond_m, mut most_j) = (None, 0.0_f32, 0.0);
        let mut walk = Walk::new(SIZE.iter().product::<i32>().unsigned_abs());
        let all = f64::from(SIZE.iter().product::<i32>());
        let mut widest_m = WIDE_M;
        for (tick, doing) in doings.iter().enumerate() {
            if tick == freeze_at {
                let mut copy = tissue.clone();
                copy.edit(&Edit::Undo).expect("can");
                copy.thaw(&Snapshot::of(&tissue)).expect("its own");
                other = Some(copy);
            }
            let mut felt = [Reaction::default(); 2];
            tissue.step(&doing.tools, doing.dt_s, &mut felt);
            let wide_m = doing.tools.iter().map(|tool| tool.radius_m);
            widest_m = wide_m.filter(|wide_m| wide_m.is_finite()).fold(widest_m, f64::max);
            // every element as deep as it can be, and tied as far as ties hold
            let most_n = STIFF_NPM * (widest_m + H_M) * all;
            for felt in &felt {
                prop_assert!(is_finite(felt), "{tick}: {felt:?}");
                prop_assert!(felt.force_n.norm() < most_n, "{tick}: {felt:?}");
            }
            if let Some(edit) = &doing.edit {
                // what is out of range is refused
                let _ = tissue.edit(edit);
            }
            // an undo links what has come apart, however far that is; from then on it only comes nearer
            let worst_m = tissue.elements().worst_m().max(0.0);
            if matches!(doing.edit, Some(Edit::Undo | Edit::Redo)) {
                beyond_m = beyond_m.max(worst_m);
            }
            check(&tissue, &mut walk, (beyond_m, &mut most_j));
            beyond_m = beyond_m.min(worst_m);
            if let Some(other) = &mut other {
                let mut again = [Reaction::default(); 2];
                other.step(&doing.tools, doing.dt_s, &mut again);
                prop_assert_eq!(felt, again);
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

    /// A snapshot in which bits have flipped, or that lost or gained some, is refused by name and changes nothing.
    #[test]
    fn a_damaged_snapshot_is_refused_and_changes_nothing(
        doings in doings(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..64_u32), 1..4),
        (longer, numbers) in (-3_i32..4, any::<bool>()),
    ) {
        let mut tissue = tissue(0.4, Some(0.5), true);
        let mut felt = [Reaction::default(); 2];
        for doing in &doings {
            tissue.step(&doing.tools, doing.dt_s, &mut felt);
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
        let refused = tissue.thaw(&bad);
        prop_assert!(matches!(refused, Err(ThawError::Size { .. } | ThawError::Damaged { .. })), "{refused:?}");
        prop_assert_eq!(room, (bad.numbers.capacity(), bad.integers.capacity()));
        prop_assert!(same(&Snapshot::of(&tissue), &good));
        tissue.thaw(&good).expect("its own");
        prop_assert!(same(&Snapshot::of(&tissue), &good));
    }
}

/// A snapshot of another tissue of the same size is none of this one.
#[test]
fn a_snapshot_of_another_tissue_is_refused() {
    let mut tissue = tissue(0.0, None, false);
    let soft = slab(SIZE, vec![matter(Limits::LOOSE)], |_| 0);
    let foreign = Snapshot::of(&soft);
    assert_eq!(foreign.numbers.len(), Snapshot::of(&tissue).numbers.len());
    let told = tissue.thaw(&foreign).expect_err("another").to_string();
    assert!(told.contains("check sum"), "{told}");
    // the same elements, stepped otherwise, and of links that give otherwise
    let give = |limits| slab(SIZE, vec![matter(limits)], |_| 0);
    let (mut loose, medium) = (give(Limits::LOOSE), give(Limits::MEDIUM));
    let others = [Snapshot::of(&medium)];
    let usual = LinkedParams {
        friction: 0.0,
        tears: false,
        undo: 1 << 16,
        ..LinkedParams::default()
    };
    let stepped = [
        LinkedParams {
            friction: 0.4,
            ..usual
        },
        LinkedParams {
            tears: true,
            ..usual
        },
        LinkedParams { undo: 300, ..usual },
        LinkedParams {
            jaw_friction: Some(0.3),
            ..usual
        },
    ];
    let stepped = stepped.map(|params| {
        let elements = loose.elements().clone();
        Snapshot::of(&Linked::new(elements, params).expect("fit"))
    });
    for other in others.iter().chain(&stepped) {
        let told = loose.thaw(other).expect_err("another").to_string();
        assert!(told.contains("check sum"), "{told}");
    }
    let told = tissue
        .thaw(&Snapshot::default())
        .expect_err("empty")
        .to_string();
    assert!(told.contains("holds 0 numbers"), "{told}");
}
