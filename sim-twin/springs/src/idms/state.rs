//! What steps change: one flat, copyable state, and scratch that is sized once.
//!
//! Source: seed-004 3.1, with x1 = p - p_eq derived. A snapshot is every number of [`State`] in
//! the order of the fields; scratch is a function of it.

use crate::idms::build::Model;
use crate::idms::params::Scheme;
use palpate_twin::Vec3;
use palpate_twin::contact::Near;
use palpate_twin::contact::face::Workspace;
use palpate_twin::frozen;
use palpate_twin::lattice::Face;
use palpate_twin::twin::Ledger;

/// Most tools that may touch at once (rows S4-25, S4-26).
pub(super) const TOOLS: usize = 2;

/// What is remembered of one tool between steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    /// Whether the tool was there and usable in the last step.
    pub(super) seen: bool,
    pub(super) position_m: Vec3,
    /// Where the tool was one sub-step ago; equal to `position_m` between steps \[m\].
    pub(super) came_from_m: Vec3,
    pub(super) opening_m: f64,
    /// Force on the tool that is held until the next step \[N\].
    pub(super) force_n: Vec3,
    pub(super) grip_n: f64,
    pub(super) normal: Vec3,
    /// Side of the surface, see [`palpate_twin::contact::face::Side`].
    pub(super) side: i8,
    /// Whether the tool was so deep that it may have gone through.
    pub(super) deep: bool,
    /// Position of the closure switch in the last step; a new tool counts as closed, so that it
    /// grasps nothing before it has been open.
    pub(super) closed: bool,
    pub(super) grasped: Option<u32>,
    pub(super) grasp_offset_m: Vec3,
    pub(super) grasp_age_s: f64,
    /// Width at which the jaws feel tissue, zero while they hold none \[m\].
    pub(super) pinch_m: f64,
    /// Energies of contact, grasp and pinch springs \[J\].
    pub(super) energy_j: [f64; 3],
}

impl ToolState {
    pub(super) const NEW: Self = Self {
        seen: false,
        position_m: Vec3::new(0.0, 0.0, 0.0),
        came_from_m: Vec3::new(0.0, 0.0, 0.0),
        opening_m: 0.0,
        force_n: Vec3::new(0.0, 0.0, 0.0),
        grip_n: 0.0,
        normal: Vec3::new(0.0, 0.0, 1.0),
        side: 0,
        deep: false,
        closed: true,
        grasped: None,
        grasp_offset_m: Vec3::new(0.0, 0.0, 0.0),
        grasp_age_s: 0.0,
        pinch_m: 0.0,
        energy_j: [0.0; 3],
    };
}

/// Lengths in the last step, and their filtered rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lengths {
    pub(super) last_m: Vec<f64>,
    pub(super) rate_mps: Vec<f64>,
}

/// Every number that a step changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) x_m: Vec<Vec3>,
    pub(super) v_mps: Vec<Vec3>,
    /// Internal forces at `x_m`, `v_mps` \[N\].
    pub(super) f_n: Vec<Vec3>,
    /// Stiffness factor of each node, 1 as built.
    pub(super) scale: Vec<f64>,
    pub(super) home_k: Vec<f64>,
    pub(super) home_shift_m: Vec<Vec3>,
    pub(super) spring_k: Vec<f64>,
    pub(super) spring_shift_m: Vec<f64>,
    /// Printed scheme only: springs, then homes.
    pub(super) lengths: Lengths,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: Ledger,
    pub(super) power_w: f64,
    /// Elastic energy of springs that are not stepped \[J\].
    pub(super) asleep_j: f64,
    /// Distance that any node can have moved since the start \[m\].
    pub(super) travel_m: f64,
    pub(super) spring_alive: Vec<bool>,
    pub(super) face_alive: Vec<bool>,
    pub(super) awake: Vec<bool>,
    pub(super) steps: u64,
    pub(super) escapes: u64,
    pub(super) shifted: bool,
}

/// One spring that is being stepped, packed for the inner loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hot {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) k: f64,
    pub(super) d: f64,
    pub(super) length_m: f64,
    pub(super) index: u32,
}

/// Storage that holds nothing worth keeping between steps.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Contact and grasp forces on nodes \[N\].
    pub(super) outer_n: Vec<Vec3>,
    /// Nodes that are stepped, ascending.
    pub(super) active: Vec<u32>,
    /// Links to step, grouped by the active node at end a, and where each group ends.
    pub(super) hot: Vec<Hot>,
    pub(super) ends: Vec<u32>,
    /// Nodes at the far ends of active springs that are not stepped.
    pub(super) ghosts: Vec<u32>,
    /// Whether an active node has a sleeping neighbour that may wake.
    pub(super) border: Vec<bool>,
    /// Nodes that woke since the lists were made, or wake others.
    pub(super) woken: Vec<u32>,
    pub(super) stirred: Vec<u32>,
    pub(super) quiet: Vec<bool>,
    pub(super) stale: bool,
    pub(super) near: [Near; TOOLS],
    pub(super) work: Workspace,
    pub(super) loads: Vec<(u32, Vec3)>,
    pub(super) faces: Vec<Face>,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.rest_m.len();
        let springs = model.springs.len();
        let lagging = if matches!(model.params.scheme, Scheme::Printed { .. }) {
            springs + nodes
        } else {
            0
        };
        let awake = |&inverse: &f64| inverse > 0.0 && !model.may_sleep();
        let mut last_m: Vec<f64> = model.springs.iter().map(|spring| spring.length_m).collect();
        last_m.resize(springs + nodes, 0.0);
        last_m.truncate(lagging);
        Self {
            x_m: model.rest_m.clone(),
            v_mps: vec![Vec3::zeros(); nodes],
            f_n: vec![Vec3::zeros(); nodes],
            scale: vec![1.0; nodes],
            home_k: model.home_k.clone(),
            home_shift_m: vec![Vec3::zeros(); nodes],
            spring_k: model
                .springs
                .iter()
                .map(|spring| spring.stiffness_npm)
                .collect(),
            spring_shift_m: vec![0.0; springs],
            lengths: Lengths {
                last_m,
                rate_mps: vec![0.0; lagging],
            },
            tools: [ToolState::NEW; TOOLS],
            ledger: Ledger::default(),
            power_w: 0.0,
            asleep_j: 0.0,
            travel_m: 0.0,
            spring_alive: vec![true; springs],
            face_alive: vec![true; model.faces.len()],
            awake: model.inverse_mass.iter().map(awake).collect(),
            steps: 0,
            escapes: 0,
            shifted: false,
        }
    }
}

// flags are integers, so that they stand before the tools and numbers after them
frozen!(State: x_m, v_mps, f_n, home_shift_m, scale, home_k, spring_k, spring_shift_m, lengths.last_m, lengths.rate_mps, spring_alive,
    face_alive, awake, tools, ledger, power_w, asleep_j, travel_m, steps, escapes, shifted);
frozen!(ToolState: position_m, force_n, normal, grasp_offset_m, opening_m, grip_n, grasp_age_s, pinch_m, energy_j, seen,
    closed, deep, grasped, side);

impl Scratch {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.rest_m.len();
        let springs = model.springs.len();
        let surface = model.skin.nodes();
        let shares: usize = (0..surface).map(|node| model.skin.patch(node).len()).sum();
        let near = || Near::new(surface.max(model.faces.len()));
        Self {
            outer_n: vec![Vec3::zeros(); nodes],
            active: Vec::with_capacity(nodes),
            hot: Vec::with_capacity(springs),
            ends: Vec::with_capacity(nodes),
            ghosts: Vec::with_capacity(springs),
            border: vec![false; nodes],
            woken: Vec::with_capacity(nodes),
            stirred: Vec::with_capacity(nodes),
            quiet: vec![false; nodes],
            stale: true,
            near: [near(), near()],
            work: Workspace::new(&model.skin),
            loads: Vec::with_capacity(shares),
            faces: model.faces.clone(),
        }
    }
}
