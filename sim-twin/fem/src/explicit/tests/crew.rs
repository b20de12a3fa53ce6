//! Whoever shares a step, and in whatever order: the same bits.

use super::super::grid::Chunk;
use super::*;
use crate::crew::Crew;
use palpate_twin::twin::Snapshot;

/// Does the items from the last to the first.
struct Backwards;

impl Crew for Backwards {
    fn pays(&self, _pass_ns: f64) -> bool {
        true
    }

    fn each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        items.iter_mut().rev().for_each(work);
    }
}

/// A thread for every part of the items; counts what was shared at all.
struct Threads {
    count: usize,
    shared: usize,
}

impl Crew for Threads {
    fn pays(&self, _pass_ns: f64) -> bool {
        true
    }

    fn each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        if items.is_empty() {
            return;
        }
        self.shared += usize::from(items.len() > 1);
        let (part, work) = (items.len().div_ceil(self.count), &work);
        std::thread::scope(|scope| {
            for items in items.chunks_mut(part) {
                scope.spawn(move || items.iter_mut().for_each(work));
            }
        });
    }
}

/// Bits of every force and of the state after a press and a stroke.
fn stroked(mut tissue: Explicit, crew: &mut impl Crew) -> Vec<u64> {
    let (mut reaction, mut bits) = ([Reaction::default(); 2], Vec::new());
    for step in 0..240 {
        let depth_m = (8e-5 * f64::from(step)).min(8e-3);
        let x_m = 1e-4 * (f64::from(step) - 140.0).max(0.0);
        let tool = ball([x_m, 0.0, 0.01 - depth_m], 0.01);
        let point = ball([-0.02, 0.3 * x_m, -0.2 * depth_m], 0.0);
        tissue.step_with(crew, (&[tool, point], 1e-3), &mut reaction);
        let forces = reaction.iter().flat_map(|felt| felt.force_n.iter());
        bits.extend(forces.map(|x| x.to_bits()));
    }
    assert!(reaction[0].force_n.z > 0.01, "{:?}", reaction[0]);
    let felt = reaction[1].force_n.z > 1e-3;
    assert_eq!(felt, tissue.caps().points, "{:?}", reaction[1]);
    let mut snapshot = Snapshot::default();
    tissue.freeze(&mut snapshot);
    bits.extend(snapshot.numbers.iter().map(|x| x.to_bits()));
    bits.extend(&snapshot.integers);
    bits
}

/// What all crews must agree on.
fn same_for_all(tissue: &Explicit) {
    let alone = stroked(tissue.clone(), &mut Alone);
    assert!(alone == stroked(tissue.clone(), &mut Backwards));
    for count in [1, 2, 3] {
        let mut threads = Threads { count, shared: 0 };
        assert!(alone == stroked(tissue.clone(), &mut threads), "{count}");
        assert!(threads.shared > 240, "{} were shared", threads.shared);
    }
}

#[test]
fn one_or_more_threads_give_the_same_bits_on_even_cells() {
    // 2 197 nodes
    same_for_all(&tissue((12, 1), &Params::default()));
}

#[test]
fn one_or_more_threads_give_the_same_bits_on_seams_and_classes() {
    let nested = nested(0.1, (12, 3), [0.0; 2]);
    let mut stuff = even(&nested, 5e3);
    // stiff on top, so that planes go at different paces
    let stiff = Material::new(80e3, 0.45, 1e3).unwrap().moduli();
    for (stuff, level) in stuff.iter_mut().zip(&nested.levels) {
        let top = level.count() - level.cells[0] * level.cells[1];
        stuff.moduli[top..].fill(stiff);
    }
    let viscosity = Viscosity {
        shear_pas: 0.5,
        bulk_pas: 0.0,
        share: 0.3,
        time_s: 0.1,
    };
    let viscosities: Vec<Vec<Viscosity>> = nested
        .levels
        .iter()
        .map(|level| vec![viscosity; level.count()])
        .collect();
    let params = Params {
        classes: 4,
        friction: 0.3,
        ..Params::default()
    };
    let tissue = Explicit::with_viscosity(&nested, &stuff, &viscosities, &params).unwrap();
    let cells = tissue.class_cells();
    let used = cells.iter().filter(|&&cells| cells > 0).count();
    assert!(used > 1 && tissue.model.seams.len() == 2, "{cells:?}");
    same_for_all(&tissue);
}

#[test]
fn one_or_more_threads_give_the_same_bits_on_coupled_nodes() {
    for grids in [(12, 1), (12, 2)] {
        let nested = nested(0.1, grids, [0.0; 2]);
        let mut stuff = even(&nested, 5e3);
        let stiff = Material::new(500e3, 0.45, 1e3).unwrap().moduli();
        for (stuff, level) in stuff.iter_mut().zip(&nested.levels) {
            let top = level.count() - level.cells[0] * level.cells[1];
            stuff.moduli[top..].fill(stiff);
        }
        let params = Params {
            substeps_max: 6,
            ..Params::default()
        };
        let tissue = Explicit::new(&nested, &stuff, &params).unwrap();
        assert!(tissue.coupled().0 > 100);
        same_for_all(&tissue);
    }
}

#[test]
fn chunks_divide_what_there_is() {
    let tissue = tissue((30, 1), &Params::default());
    let grid = &tissue.model.grids[0];
    assert_eq!(grid.chunks.len(), 8);
    let mut next = (0, 0, 0);
    for chunk in &grid.chunks {
        let begun = (chunk.places.start, chunk.slabs.start, chunk.sheets.start);
        assert_eq!(begun, next);
        next = (chunk.places.end, chunk.slabs.end, chunk.sheets.end);
    }
    assert_eq!(next, (grid.mass.len(), grid.slabs.len(), grid.sheets.len()));
}

/// The same tissue with every grid in one chunk.
fn undivided(grids: (u32, usize), params: &Params) -> Explicit {
    let nested = nested(0.1, grids, [0.0; 2]);
    let mut model = Model::new(&nested, &even(&nested, 5e3), &[], params).unwrap();
    for grid in &mut model.grids {
        grid.chunks = vec![Chunk {
            slabs: 0..grid.slabs.len(),
            sheets: 0..grid.sheets.len(),
            places: 0..grid.mass.len(),
        }];
    }
    Explicit::of(Arc::new(model))
}

#[test]
fn chunks_add_up_to_the_whole() {
    for grids in [(12, 1), (12, 3)] {
        let (mut cut, mut whole) = (
            tissue(grids, &Params::default()),
            undivided(grids, &Params::default()),
        );
        for step in 0..120 {
            let depth_m = 8e-5 * f64::from(step);
            let tool = ball([2e-3, 1e-3, 0.01 - depth_m], 0.01);
            tick(&mut cut, tool);
            tick(&mut whole, tool);
        }
        // sums of other orders are other roundings, and no more
        for (cut, whole) in cut.state.motions.iter().zip(&whole.state.motions) {
            let most = whole.u[2].iter().fold(0.0_f32, |a, b| a.max(b.abs()));
            let pairs = cut.u.iter().flatten().zip(whole.u.iter().flatten());
            let off = pairs.fold(0.0_f32, |off, (a, b)| off.max((a - b).abs()));
            assert!(most > 0.0 && off < 1e-4 * most, "{off} of {most}");
        }
    }
}
