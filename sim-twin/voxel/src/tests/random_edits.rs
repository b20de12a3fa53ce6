//! Invariants under long sequences of random edits.

use super::surface::{assert_fresh, odd_edge};
use super::{TestRng, block};
use crate::carve::RoundToolMotion;
use crate::chainmail::{Chainmail, NodeTarget};
use crate::edits::topology_hash;
use crate::knife::{BladeEdge, BladeMotion};
use crate::limits::BondLimits;
use crate::nodes::VoxelNodes;
use crate::piece_search::PieceSearch;
use crate::tear::TearSearch;
use crate::topology_editor::TopologyEditor;
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::edits::{EditPhase, TopologyChange};

const N: i32 = 5;

/// Asserts that every object is one piece, every piece one object, and all are counted.
pub(super) fn assert_pieces(
    nodes: &VoxelNodes<f32>,
    editor: &TopologyEditor,
    piece_search: &mut PieceSearch,
) {
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut visited = vec![false; nodes.slots() as usize];
    for node in 0..nodes.slots() {
        if !nodes.alive(node) || visited[node as usize] {
            continue;
        }
        let piece = piece_search.piece(nodes, node);
        let object = nodes.object(node);
        for &member in piece {
            visited[member as usize] = true;
            assert_eq!(nodes.object(member), object, "one piece, one object");
        }
        found.push((object, u32::try_from(piece.len()).expect("small")));
    }
    found.sort_unstable();
    assert!(
        found.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "one object, one piece"
    );
    assert_eq!(found, editor.derived.pieces.sizes);
}

fn check(
    nodes: &VoxelNodes<f32>,
    editor: &TopologyEditor,
    piece_search: &mut PieceSearch,
    thorough: bool,
) {
    assert_eq!(nodes.asymmetric_link(), None);
    for node in 0..nodes.slots() {
        for to in NeighbourDirection::POSITIVE {
            if let Some(other) = nodes.neighbour(node, to) {
                assert_eq!(nodes.site(other), to.neighbour_site(nodes.site(node)));
            }
        }
    }
    assert_pieces(nodes, editor, piece_search);
    assert_eq!(odd_edge(&editor.derived.surface), None);
    if thorough {
        assert_fresh(&editor.derived.surface, nodes);
        assert_eq!(editor.log.hash, topology_hash(nodes));
    }
}

/// Translates a piece by whole sites and a little more, so that it can be glued there.
fn wander(nodes: &mut VoxelNodes<f32>, rng: &mut TestRng, piece_search: &mut PieceSearch) {
    let node = rng.below(nodes.slots());
    let by: [f64; 3] = std::array::from_fn(|_| rng.symmetric(2.4).round() + rng.symmetric(0.15));
    for &member in piece_search.piece(nodes, node) {
        let at = nodes.displacement_m(member);
        let to = std::array::from_fn(|axis| (f64::from(at[axis]) + by[axis]).clamp(-8.0, 8.0));
        nodes.set_displacement_m(member, to);
    }
}

/// Number of edits by kind.
#[derive(Debug, Default)]
struct EditCounts {
    cut: usize,
    carved: usize,
    joined: usize,
    put: usize,
    marked: usize,
    torn: usize,
    undone: usize,
    redone: usize,
}

/// A tear search with its own propagation.
type TearSolver = (TearSearch, Chainmail<f32>);

/// Pulls two nodes beyond the limits of their links.
fn tear(
    nodes: &mut VoxelNodes<f32>,
    editor: &mut TopologyEditor,
    rng: &mut TestRng,
    (tearing, chainmail): &mut TearSolver,
) -> usize {
    let ends = [rng.below(nodes.slots()), rng.below(nodes.slots())];
    let targets = ends.map(|node| NodeTarget {
        node,
        displacement_m: nodes
            .displacement_m(node)
            .map(|at| (f64::from(at) + rng.symmetric(3.0)).clamp(-8.0, 8.0) as f32),
    });
    editor
        .pull_and_tear(nodes, tearing, chainmail, &targets)
        .links
}

/// Removes the nodes that a ball sweeps over, or the first half of them.
fn take(
    nodes: &mut VoxelNodes<f32>,
    editor: &mut TopologyEditor,
    ball: &RoundToolMotion,
    half: bool,
) -> usize {
    if half {
        let first = editor.carve_first(nodes, ball, |hits| hits.len() / 2);
        return first.nodes;
    }
    editor.carve(nodes, ball).nodes
}

fn edit(
    nodes: &mut VoxelNodes<f32>,
    editor: &mut TopologyEditor,
    rng: &mut TestRng,
    (piece_search, tearing, done): (&mut PieceSearch, &mut TearSolver, &mut EditCounts),
) {
    let far = f64::from(N);
    let at = |rng: &mut TestRng| {
        Vec3::new(rng.unit() * far, rng.unit() * far, rng.unit() * far) - Vec3::repeat(0.5)
    };
    let node = rng.below(nodes.slots());
    let to = NeighbourDirection::ALL[rng.below(6) as usize];
    match rng.below(21) {
        0..=3 => {
            for node in [node, rng.below(nodes.slots())] {
                if let Some(other) = nodes.neighbour(node, to) {
                    let change = TopologyChange::Cut {
                        node,
                        direction: to,
                        neighbour: other,
                    };
                    done.cut += editor.replay(nodes, EditPhase::Begin, &[change]).links;
                }
            }
        }
        4 => {
            let mut edge = || BladeEdge([at(rng), at(rng)]);
            let sweep = BladeMotion {
                before: edge(),
                after: edge(),
            };
            done.cut += editor.cut(nodes, &sweep, f64::INFINITY).links;
        }
        5 => done.carved += editor.carve_one(nodes, node).nodes,
        6 => {
            let ball = RoundToolMotion::ball(at(rng), at(rng), 0.6);
            let half = rng.below(2) == 0;
            done.carved += take(nodes, editor, &ball, half);
        }
        7..=9 => {
            let centre_m = at(rng);
            done.joined += editor.join(nodes, centre_m, 2.0).links;
        }
        10 => {
            done.put += editor
                .replay(nodes, EditPhase::Begin, &[TopologyChange::Restore { node }])
                .nodes;
        }
        11 => {
            let ball = RoundToolMotion::ball(at(rng), at(rng), 0.8);
            let held = rng.below(2) == 0;
            done.marked += editor
                .pin_within(nodes, 0..nodes.slots(), &ball, held)
                .nodes;
        }
        12 => wander(nodes, rng, piece_search),
        13..=16 => {
            let back = editor.undo_or_redo(nodes, true);
            done.undone += back.links + back.nodes;
        }
        17 => done.torn += tear(nodes, editor, rng, tearing),
        _ => {
            let again = editor.undo_or_redo(nodes, false);
            done.redone += again.links + again.nodes;
        }
    }
}

fn run_random_edits(rounds: u32, seed: u64) {
    let mut done = EditCounts::default();
    let mut nodes: VoxelNodes<f32> = block([N; 3], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 2000);
    let mut piece_search = PieceSearch::new(nodes.slots());
    let slots = nodes.slots();
    let mut tearing = (TearSearch::new(slots), Chainmail::new(slots));
    let mut rng = TestRng::new(seed);
    let (mut fewest, mut most_pieces, mut carried) = (u32::MAX, 0, 0);
    for round in 0..rounds {
        let more = (&mut piece_search, &mut tearing, &mut done);
        edit(&mut nodes, &mut editor, &mut rng, more);
        if nodes.count() < 30 {
            // a new block, so that there is always something to cut
            nodes = block([N; 3], BondLimits::MEDIUM);
            editor = TopologyEditor::new(&mut nodes, 2000);
        }
        check(&nodes, &editor, &mut piece_search, round % 16 == 0);
        fewest = fewest.min(u32::try_from(nodes.count()).expect("small"));
        most_pieces = most_pieces.max(editor.derived.pieces.sizes.len());
        carried += usize::from((0..nodes.slots()).any(|e| nodes.at_site(nodes.site(e)) != Some(e)));
    }
    assert!(
        fewest < 100 && most_pieces > 10 && carried > 0,
        "{fewest} {most_pieces} {carried}"
    );
    println!("{rounds} edits, seed {seed}: {done:?}");
    let least = [
        done.cut,
        done.carved,
        done.joined,
        done.put,
        done.marked,
        done.torn,
        done.undone,
        done.redone,
    ];
    assert!(least.iter().all(|&count| count > 10), "{done:?}");
}

/// 20 000 random edits: links stay symmetric and on one lattice, objects are pieces, and the surface is closed.
#[test]
fn random_edits_keep_invariants() {
    run_random_edits(20_000, 1);
}

/// A million random edits: `cargo test --release -p palpate-voxel --lib a_million_random_edits -- --ignored`.
#[test]
#[ignore = "takes a minute or two"]
fn a_million_random_edits_keep_invariants() {
    for seed in 0..10 {
        run_random_edits(100_000, 2 + seed);
    }
}
