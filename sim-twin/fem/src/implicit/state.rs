//! What a snapshot holds.

use super::build::Model;
use palpate_twin::Vec3;
use palpate_twin::hold::Hold;
use palpate_twin::law::viscous::{MEMORY_NUMBERS, Memory};
use palpate_twin::twin::{Ledger, Snapshot, ThawError};

/// Most tools at once.
pub(super) const TOOLS: usize = 4;
/// Numbers of a tool, of a ledger with the two energies beside it, and of a node.
const TOOL: usize = 9;
const BOOKS: usize = 10;
const NODE: usize = 9;

/// A tool as it was at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    pub(super) seen: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    /// Force on it and energy of its contact, without unit.
    pub(super) force: Vec3,
    pub(super) energy: f64,
}

impl ToolState {
    pub(super) const NEW: Self = Self {
        seen: false,
        position_m: Vec3::new(0.0, 0.0, 0.0),
        radius_m: 0.0,
        stiffness_npm: 0.0,
        force: Vec3::new(0.0, 0.0, 0.0),
        energy: 0.0,
    };

    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let scalars = [&mut self.radius_m, &mut self.stiffness_npm];
        let vectors = self.position_m.iter_mut().chain(self.force.iter_mut());
        vectors.chain(scalars).chain([&mut self.energy])
    }
}

/// Everything that changes from tick to tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) u: Vec<Vec3>,
    pub(super) v: Vec<Vec3>,
    pub(super) memories: Vec<Memory<f64>>,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: Ledger,
    /// Energy of the elastic laws and of the branches, without unit.
    pub(super) elastic: f64,
    pub(super) held: f64,
    /// Displacements and step at which the tangent in use was taken; 0 before the first.
    pub(super) tangent_u: Vec<Vec3>,
    pub(super) tangent_dt: f64,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        let zeros = vec![Vec3::zeros(); model.rest.len()];
        Self {
            u: zeros.clone(),
            v: zeros.clone(),
            tangent_u: zeros,
            tangent_dt: 0.0,
            memories: vec![Memory::default(); model.memories],
            tools: [ToolState::NEW; TOOLS],
            ledger: Ledger::default(),
            elastic: 0.0,
            held: 0.0,
        }
    }

    /// Kinetic energy, without unit.
    pub(super) fn kinetic(&self, masses: &[f64]) -> f64 {
        let parts = self.v.iter().zip(masses);
        0.5 * parts.map(|(v, m)| m * v.norm_squared()).sum::<f64>()
    }

    fn size(&self) -> usize {
        let memories = self.memories.len() * MEMORY_NUMBERS;
        NODE * self.u.len() + memories + TOOL * TOOLS + BOOKS + Hold::NUMBERS
    }

    fn books(&mut self) -> [&mut f64; BOOKS] {
        let ledger = &mut self.ledger;
        [
            &mut ledger.kinetic_j,
            &mut ledger.elastic_j,
            &mut ledger.contact_j,
            &mut ledger.tool_work_j,
            &mut ledger.dissipated_j,
            &mut ledger.edit_j,
            &mut ledger.residual_j,
            &mut self.elastic,
            &mut self.held,
            &mut self.tangent_dt,
        ]
    }

    pub(super) fn freeze(&self, snapshot: &mut Snapshot) {
        let numbers = &mut snapshot.numbers;
        numbers.clear();
        snapshot.integers.clear();
        numbers.reserve(self.size());
        for node in self.u.iter().chain(&self.v).chain(&self.tangent_u) {
            numbers.extend(node.iter());
        }
        numbers.extend(self.memories.iter().flat_map(Memory::numbers));
        let mut tools = self.tools;
        numbers.extend(tools.iter_mut().flat_map(ToolState::numbers).map(|x| *x));
        let ledger = self.ledger;
        numbers.extend([
            ledger.kinetic_j,
            ledger.elastic_j,
            ledger.contact_j,
            ledger.tool_work_j,
            ledger.dissipated_j,
            ledger.edit_j,
            ledger.residual_j,
            self.elastic,
            self.held,
            self.tangent_dt,
        ]);
        let seen = self.tools.iter().map(|tool| u64::from(tool.seen));
        snapshot.integers.extend(seen);
    }

    pub(super) fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let (found, expected) = (snapshot.numbers.len(), self.size());
        if found != expected || snapshot.integers.len() != TOOLS {
            return Err(ThawError::Size { expected, found });
        }
        let mut numbers = snapshot.numbers.iter().copied();
        // the count was checked, so every value has its number
        let mut fill = |value: &mut f64| *value = numbers.next().unwrap_or_default();
        let nodes = self.u.iter_mut().chain(&mut self.v);
        let nodes = nodes.chain(&mut self.tangent_u);
        nodes.flat_map(|node| node.iter_mut()).for_each(&mut fill);
        let memories = self.memories.iter_mut();
        memories.for_each(|memory| memory.numbers_mut().for_each(&mut fill));
        let tools = self.tools.iter_mut();
        tools.flat_map(ToolState::numbers).for_each(&mut fill);
        self.books().into_iter().for_each(fill);
        for (tool, &seen) in self.tools.iter_mut().zip(&snapshot.integers) {
            tool.seen = seen != 0;
        }
        Ok(())
    }
}
