//! State of a tissue: one flat, copyable set of numbers, and scratch storage that is sized once.
//!
//! Source: seed-004 3.1, with x1 = p - p_eq derived. A snapshot is every number of [`State`] in
//! the order of the fields; scratch is a function of it.

use crate::idms::build::Model;
use crate::idms::params::TimeIntegration;
use palpate_twin::Vec3;
use palpate_twin::contact::NeighbourList;
use palpate_twin::contact::face::ContactWorkspace;
use palpate_twin::snapshot_parts;
use palpate_twin::twin::TissueEnergy;

/// Most tools in contact at once (rows S4-25, S4-26).
pub(super) const TOOLS: usize = 2;

/// State of one tool between steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    /// True if the tool was present and usable in the last step.
    pub(super) present: bool,
    pub(super) position_m: Vec3,
    /// Position of the tool one sub-step ago; equal to `position_m` between steps \[m\].
    pub(super) previous_m: Vec3,
    pub(super) opening_m: f64,
    /// Force on the tool that is held until the next step \[N\].
    pub(super) force_n: Vec3,
    pub(super) grip_n: f64,
    pub(super) normal: Vec3,
    /// Side of the surface, see [`palpate_twin::contact::face::SurfaceSide`].
    pub(super) side: i8,
    /// True if the tool was so deep that it may have crossed the surface.
    pub(super) maybe_crossed: bool,
    /// Position of the closure switch in the last step; a new tool counts as closed, so that it
    /// grasps nothing before it has been open.
    pub(super) closed: bool,
    pub(super) grasped: Option<u32>,
    pub(super) grasp_offset_m: Vec3,
    pub(super) grasp_age_s: f64,
    /// Opening at which the jaws touched tissue, zero while they hold none \[m\].
    pub(super) pinch_width_m: f64,
    /// Energies of contact, grasp and pinch springs \[J\].
    pub(super) energy_j: [f64; 3],
}

impl Default for ToolState {
    /// State of a tool that is absent.
    fn default() -> Self {
        Self {
            present: false,
            position_m: Vec3::zeros(),
            previous_m: Vec3::zeros(),
            opening_m: 0.0,
            force_n: Vec3::zeros(),
            grip_n: 0.0,
            normal: Vec3::z(),
            side: 0,
            maybe_crossed: false,
            closed: true,
            grasped: None,
            grasp_offset_m: Vec3::zeros(),
            grasp_age_s: 0.0,
            pinch_width_m: 0.0,
            energy_j: [0.0; 3],
        }
    }
}

/// Lengths in the last step, and their filtered rates.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Lengths {
    pub(super) last_m: Vec<f64>,
    pub(super) rate_mps: Vec<f64>,
}

/// All numbers that a step changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct State {
    pub(super) x_m: Vec<Vec3>,
    pub(super) v_mps: Vec<Vec3>,
    /// Internal forces at `x_m`, `v_mps` \[N\].
    pub(super) f_n: Vec<Vec3>,
    /// Filtered Euler scheme only: springs, then homes.
    pub(super) lengths: Lengths,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: TissueEnergy,
    pub(super) power_w: f64,
    /// Elastic energy of springs outside the active set \[J\].
    pub(super) sleeping_energy_j: f64,
    /// Bound of the distance that any node has moved since the start \[m\].
    pub(super) travel_m: f64,
    pub(super) awake: Vec<bool>,
    pub(super) steps: u64,
    pub(super) escapes: u64,
}

/// Spring of the active set, packed for the inner loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveSpring {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) k: f64,
    pub(super) d: f64,
    pub(super) length_m: f64,
    pub(super) index: u32,
}

/// Storage whose content need not persist between steps.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Contact and grasp forces on nodes \[N\].
    pub(super) outer_n: Vec<Vec3>,
    /// Nodes of the active set, ascending.
    pub(super) active: Vec<u32>,
    /// Springs of the active set, grouped by the active node at end a, and the end of each group.
    pub(super) active_springs: Vec<ActiveSpring>,
    pub(super) ends: Vec<u32>,
    /// Nodes at the far ends of active springs that are not active.
    pub(super) ghosts: Vec<u32>,
    /// True if an active node has an inactive neighbour that may become active.
    pub(super) border: Vec<bool>,
    /// Nodes that became active since the lists were built, and nodes that activate neighbours.
    pub(super) woken: Vec<u32>,
    pub(super) disturbed: Vec<u32>,
    pub(super) at_rest: Vec<bool>,
    pub(super) stale: bool,
    pub(super) near: [NeighbourList; TOOLS],
    pub(super) face_workspace: ContactWorkspace,
    pub(super) loads: Vec<(u32, Vec3)>,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.rest_m.len();
        let springs = model.springs.len();
        let filtered = if matches!(model.params.scheme, TimeIntegration::FilteredEuler { .. }) {
            springs + nodes
        } else {
            0
        };
        let mut state = Self {
            x_m: vec![Vec3::zeros(); nodes],
            v_mps: vec![Vec3::zeros(); nodes],
            f_n: vec![Vec3::zeros(); nodes],
            lengths: Lengths {
                last_m: vec![0.0; filtered],
                rate_mps: vec![0.0; filtered],
            },
            awake: vec![false; nodes],
            ..Self::default()
        };
        state.rest(model);
        state
    }

    /// Sets nodes and links to rest, without tools.
    fn rest(&mut self, model: &Model) {
        self.x_m.copy_from_slice(&model.rest_m);
        self.v_mps.fill(Vec3::zeros());
        self.f_n.fill(Vec3::zeros());
        self.lengths.last_m.fill(0.0);
        self.lengths.rate_mps.fill(0.0);
        for (last_m, spring) in self.lengths.last_m.iter_mut().zip(&model.springs) {
            *last_m = spring.length_m;
        }
        self.tools = [ToolState::default(); TOOLS];
        for (awake, &inverse) in self.awake.iter_mut().zip(&model.inverse_mass) {
            *awake = inverse > 0.0 && !model.may_sleep();
        }
        (self.power_w, self.sleeping_energy_j, self.travel_m) = (0.0, 0.0, 0.0);
    }

    /// Sets a collapsed tissue to rest, without tools. Its energy before the step counts as dissipated.
    pub(super) fn rebuild(&mut self, model: &Model, before: &TissueEnergy) {
        self.rest(model);
        self.ledger = before.at_rest();
    }
}

// flags are integers, so that they stand before the tools and numbers after them
snapshot_parts!(State: x_m, v_mps, f_n, lengths.last_m, lengths.rate_mps, awake, tools, ledger, power_w, sleeping_energy_j, travel_m,
    steps, escapes);
snapshot_parts!(ToolState: position_m, force_n, normal, grasp_offset_m, opening_m, grip_n, grasp_age_s, pinch_width_m, energy_j, present,
    closed, maybe_crossed, grasped, side);

impl Scratch {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.rest_m.len();
        let springs = model.springs.len();
        let surface = model.skin.nodes();
        let shares: usize = (0..surface).map(|node| model.skin.patch(node).len()).sum();
        let near = || NeighbourList::new(surface.max(model.faces.len()));
        Self {
            outer_n: vec![Vec3::zeros(); nodes],
            // a node that rests and wakes between two rebuilds is listed twice until the second
            active: Vec::with_capacity(2 * nodes),
            active_springs: Vec::with_capacity(springs),
            ends: Vec::with_capacity(nodes),
            ghosts: Vec::with_capacity(springs),
            border: vec![false; nodes],
            woken: Vec::with_capacity(nodes),
            disturbed: Vec::with_capacity(nodes),
            at_rest: vec![false; nodes],
            stale: true,
            near: [near(), near()],
            face_workspace: ContactWorkspace::new(&model.skin),
            loads: Vec::with_capacity(shares),
        }
    }
}
