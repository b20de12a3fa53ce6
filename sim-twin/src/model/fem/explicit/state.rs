//! What a snapshot holds.

use super::build::Model;
use super::nodes::Nodes;
use crate::Vec3;
use crate::twin::{Ledger, Snapshot, ThawError};

/// Most tools at once.
pub(super) const TOOLS: usize = 4;

/// A tool as it was at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    pub(super) seen: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    /// Force on it, without unit.
    pub(super) force: [f64; 3],
    pub(super) energy_j: f64,
}

impl ToolState {
    pub(super) const NEW: Self = Self {
        seen: false,
        position_m: Vec3::new(0.0, 0.0, 0.0),
        radius_m: 0.0,
        stiffness_npm: 0.0,
        force: [0.0; 3],
        energy_j: 0.0,
    };

    fn numbers(&mut self) -> [&mut f64; 9] {
        let [x, y, z] = self.position_m.data.0[0].each_mut();
        let [fx, fy, fz] = self.force.each_mut();
        let (radius_m, stiffness_npm) = (&mut self.radius_m, &mut self.stiffness_npm);
        [
            x,
            y,
            z,
            radius_m,
            stiffness_npm,
            fx,
            fy,
            fz,
            &mut self.energy_j,
        ]
    }
}

/// Everything that changes from tick to tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) nodes: Nodes,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: Ledger,
    /// Demand of the deformed cells on the step, 1 at rest, as a squared frequency.
    pub(super) demand: f32,
    /// Highest level for which the impulses are meant.
    pub(super) cap: usize,
    /// Whether forces have to be taken anew.
    pub(super) stale: bool,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            nodes: Nodes::new(model.mass.len()),
            tools: [ToolState::NEW; TOOLS],
            ledger: Ledger::default(),
            demand: 1.0,
            cap: 0,
            stale: true,
        }
    }

    fn sizes(&self) -> (usize, usize) {
        (9 * self.nodes.u.len() + 9 * TOOLS + 8, TOOLS + 3)
    }

    pub(super) fn freeze(&self, snapshot: &mut Snapshot) {
        let (numbers, integers) = self.sizes();
        snapshot.numbers.clear();
        snapshot.integers.clear();
        snapshot.numbers.reserve(numbers);
        snapshot.integers.reserve(integers);
        let nodes = &self.nodes;
        for list in [&nodes.u, &nodes.v, &nodes.impulse] {
            let numbers = list.iter().flat_map(|quad| &quad[..3]);
            snapshot.numbers.extend(numbers.map(|&x| f64::from(x)));
        }
        for mut tool in self.tools {
            snapshot.numbers.extend(tool.numbers().map(|x| *x));
            snapshot.integers.push(u64::from(tool.seen));
        }
        let mut ledger = self.ledger;
        snapshot.numbers.extend(books(&mut ledger).map(|x| *x));
        snapshot.numbers.push(f64::from(self.demand));
        let whole = [nodes.escapes, self.cap as u64, u64::from(self.stale)];
        snapshot.integers.extend(whole);
    }

    pub(super) fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let (numbers, integers) = self.sizes();
        for (expected, found) in [
            (numbers, snapshot.numbers.len()),
            (integers, snapshot.integers.len()),
        ] {
            if expected != found {
                return Err(ThawError { expected, found });
            }
        }
        // the lengths were checked, so no default is ever used
        let mut numbers = snapshot.numbers.iter().copied();
        let mut next = || numbers.next().unwrap_or_default();
        let nodes = &mut self.nodes;
        for list in [&mut nodes.u, &mut nodes.v, &mut nodes.impulse] {
            let slots = list.iter_mut().flat_map(|quad| &mut quad[..3]);
            #[expect(clippy::cast_possible_truncation, reason = "it was single before")]
            slots.for_each(|slot| *slot = next() as f32);
        }
        let mut integers = snapshot.integers.iter().copied();
        let mut whole = || integers.next().unwrap_or_default();
        for tool in &mut self.tools {
            tool.numbers().into_iter().for_each(|slot| *slot = next());
            tool.seen = whole() != 0;
        }
        books(&mut self.ledger)
            .into_iter()
            .for_each(|slot| *slot = next());
        #[expect(clippy::cast_possible_truncation, reason = "it was single before")]
        let demand = next() as f32;
        self.demand = demand;
        nodes.escapes = whole();
        self.cap = usize::try_from(whole()).unwrap_or(0);
        self.stale = whole() != 0;
        Ok(())
    }
}

fn books(ledger: &mut Ledger) -> [&mut f64; 7] {
    [
        &mut ledger.kinetic_j,
        &mut ledger.elastic_j,
        &mut ledger.contact_j,
        &mut ledger.tool_work_j,
        &mut ledger.dissipated_j,
        &mut ledger.edit_j,
        &mut ledger.residual_j,
    ]
}
