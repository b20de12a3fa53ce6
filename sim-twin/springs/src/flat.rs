//! A flat sheet that is soft at its left and stiff at its right, to be pressed, gripped and stretched, or skated over.
//!
//! Source: seed-004 section 3.7 (rows S4-28 to S4-32), the demonstration of tweezers on the gimbal of a Phantom haptic
//! interface. The sheet is massless. With the tool's lowest point at p, its depth d = -p_z and k(x) between k_left and
//! k_right:
//!
//! | state | condition | force |
//! |---|---|---|
//! | free | d <= 0 | none |
//! | touch | jaws open | k(x) d, up |
//! | grasp | closed while touching, at p_g | k(x_g) (p_g - p), at most 2 mu N |
//! | skate | closed before touching | k(x) d, up; no grasp |
//!
//! Three departures (ours), since the source's force field creates energy. Where k changes along x, the force has
//! also the slope of its energy, -k'(x) d^2 / 2 along x. A grasp that opens deep in the sheet leaves a dent, from
//! which the depth counts until the tool has risen out of it. The force limit is not here but in the master's guard,
//! which reports it. Energy that a change of state releases counts as dissipated.
//!
//! Jaws press with N = k_pinch times their closure since the grasp began, on both sides of the sheet, so they hold
//! 2 mu N (row S4-P12). A larger pull drags p_g along, and a grasp that is dragged out of the sheet ends.

use serde::Deserialize;

use palpate_twin::Vec3;
use palpate_twin::checksum::model_hash;
use palpate_twin::contact::is_usable;
use palpate_twin::extrapolation::ReactionExtrapolator;
use palpate_twin::snapshot::{SnapshotPart, SnapshotReader};
use palpate_twin::snapshot_parts;
use palpate_twin::twin::{
    Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueEnergy, TissueView, Tool,
};

/// Most tools at once.
const TOOLS: usize = 2;

/// Flat sheet: the table `[flat]` of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlatSheet {
    /// Edges along x and y \[m\]; contact continues beyond them.
    pub size_m: [f64; 2],
    /// Edge of a displayed cell \[m\].
    pub cell_m: f64,
    /// Range along x in which the stiffness changes \[m\].
    pub between_m: [f64; 2],
    /// Stiffness to the left and to the right of that range \[N/m\].
    pub stiffness_npm: [f64; 2],
    /// Stiffness of the sheet between closed jaws \[N/m\].
    pub pinch_npm: f64,
    /// Coulomb's coefficient of the jaws.
    pub jaw_friction: f64,
    /// Radius of the displayed displacement around a tool \[m\]; without effect on forces.
    pub tent_m: f64,
}

impl FlatSheet {
    /// Stiffness at a place \[N/m\], and its slope along x \[N/m^2\].
    fn stiffness(&self, x_m: f64) -> (f64, f64) {
        let [left_m, right_m] = self.between_m;
        let [soft_npm, stiff_npm] = self.stiffness_npm;
        let slope = (stiff_npm - soft_npm) / (right_m - left_m);
        let share = (x_m - left_m) / (right_m - left_m);
        let inside = share > 0.0 && share < 1.0;
        (
            soft_npm + (stiff_npm - soft_npm) * share.clamp(0.0, 1.0),
            if inside { slope } else { 0.0 },
        )
    }

    /// Hash of all parameters.
    fn model_hash(&self) -> u64 {
        let Self {
            size_m,
            cell_m,
            between_m,
            stiffness_npm,
            pinch_npm,
            jaw_friction,
            tent_m,
        } = *self;
        let pairs = [size_m, between_m, stiffness_npm].into_iter().flatten();
        model_hash(pairs.chain([cell_m, pinch_npm, jaw_friction, tent_m]))
    }
}

/// Contact state of a tool and the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum ContactState {
    #[default]
    Free,
    Touch,
    Grasp,
    Skate,
}

const STATES: [ContactState; 4] = [
    ContactState::Free,
    ContactState::Touch,
    ContactState::Grasp,
    ContactState::Skate,
];

impl SnapshotPart for ContactState {
    fn size(&self) -> [usize; 2] {
        [0, 1]
    }

    fn encode_into(&self, into: &mut Snapshot) {
        (*self as u64).encode_into(into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        let mut state = 0_u64;
        state.decode_from(from);
        *self = *STATES.get(state as usize).unwrap_or(&Self::Free);
    }
}

snapshot_parts!(ToolState: tip_m, force_n, grip_m, energy_j, dent_m, grasp_opening_m, squeeze_m, present, contact);

/// State of a tool at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ToolState {
    /// True if the tool was present.
    present: bool,
    contact: ContactState,
    /// Its lowest point \[m\].
    tip_m: Vec3,
    force_n: Vec3,
    energy_j: f64,
    /// Place of its grasp \[m\].
    grip_m: Vec3,
    /// Depth of the dent from which its depth counts \[m\].
    dent_m: f64,
    /// Opening of the jaws at the start of the grasp, and their closure since \[m\].
    grasp_opening_m: f64,
    squeeze_m: f64,
}

impl ToolState {
    /// Force \[N\] and energy \[J\] at a place in this state.
    fn force_and_energy(&self, sheet: &FlatSheet, tip_m: &Vec3) -> (Vec3, f64) {
        match self.contact {
            ContactState::Grasp => {
                let (npm, _) = sheet.stiffness(self.grip_m.x);
                let pull_m = self.grip_m - tip_m;
                (npm * pull_m, 0.5 * npm * pull_m.norm_squared())
            }
            // a free tool may have entered in this step
            ContactState::Free | ContactState::Touch | ContactState::Skate => {
                let (npm, slope) = sheet.stiffness(tip_m.x);
                let deep_m = (-tip_m.z - self.dent_m).max(0.0);
                let energy_m2 = 0.5 * deep_m * deep_m;
                let force_n = Vec3::new(-slope * energy_m2, 0.0, npm * deep_m);
                (force_n, npm * energy_m2)
            }
        }
    }

    /// Force between the jaws \[N\], and its energy \[J\].
    fn pinch(&self, sheet: &FlatSheet) -> (f64, f64) {
        let grip_n = sheet.pinch_npm * self.squeeze_m;
        (grip_n, 0.5 * grip_n * self.squeeze_m)
    }

    /// Drags the grasp along until its friction holds the pull; a grasp that leaves the sheet ends.
    fn slide(&mut self, sheet: &FlatSheet) {
        let pull_m = self.grip_m - self.tip_m;
        let (npm, _) = sheet.stiffness(self.grip_m.x);
        let (pull_n, hold_n) = (
            npm * pull_m.norm(),
            2.0 * sheet.jaw_friction * self.pinch(sheet).0,
        );
        if pull_n <= hold_n {
            return;
        }
        self.grip_m = self.tip_m + pull_m * (hold_n / pull_n);
        if self.grip_m.z > 0.0 {
            (self.contact, self.squeeze_m) = (ContactState::Free, 0.0);
        }
    }

    /// Contact state after this one, for jaws and depth.
    fn next(&self, closed: bool) -> ContactState {
        let inside = self.tip_m.z < 0.0;
        match (self.contact, closed, inside) {
            (ContactState::Grasp, true, _) => ContactState::Grasp,
            (_, _, false) => ContactState::Free,
            (ContactState::Free | ContactState::Skate, true, _) => ContactState::Skate,
            (ContactState::Touch, true, _) => ContactState::Grasp,
            (_, false, true) => ContactState::Touch,
        }
    }
}

/// Flat sheet with its tools.
pub struct FlatTissue {
    sheet: FlatSheet,
    rest_m: Vec<Vec3>,
    positions_m: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
    /// Columns and rows of nodes.
    size: [usize; 2],
    tools: [ToolState; TOOLS],
    /// Ranges of displaced nodes: first and last column, first and last row.
    tents: [Option<[usize; 4]>; TOOLS],
    ledger: TissueEnergy,
    extrapolator: ReactionExtrapolator,
}

snapshot_parts!(FlatTissue: tools, ledger, extrapolator);

impl FlatTissue {
    /// Tissue at rest.
    #[must_use]
    pub fn new(sheet: &FlatSheet) -> Self {
        let size = sheet
            .size_m
            .map(|edge_m| (edge_m / sheet.cell_m).round() as usize + 1);
        let place = |node: usize| {
            let at = [node % size[0], node / size[0]];
            let along = |axis: usize| {
                sheet.size_m[axis] * (at[axis] as f64 / (size[axis] - 1) as f64 - 0.5)
            };
            Vec3::new(along(0), along(1), 0.0)
        };
        let rest_m: Vec<Vec3> = (0..size[0] * size[1]).map(place).collect();
        let cell = |cell: usize| {
            let (x, y) = (cell % (size[0] - 1), cell / (size[0] - 1));
            let corner = (y * size[0] + x) as u32;
            let up = corner + size[0] as u32;
            [[corner, corner + 1, up + 1], [corner, up + 1, up]]
        };
        Self {
            sheet: *sheet,
            positions_m: rest_m.clone(),
            rest_m,
            faces: (0..(size[0] - 1) * (size[1] - 1)).flat_map(cell).collect(),
            size,
            tools: [ToolState::default(); TOOLS],
            tents: [None; TOOLS],
            ledger: TissueEnergy::default(),
            extrapolator: ReactionExtrapolator::default(),
        }
    }

    /// Steps one tool: motion under the law of its state, then the next state.
    fn step_tool(&mut self, index: usize, tool: &Tool) -> Reaction {
        let state = &mut self.tools[index];
        let tip_m = tool.position_m - Vec3::z() * tool.radius_m;
        let closed = tool.jaws.is_some_and(|jaws| jaws.closed);
        let opening_m = tool.jaws.map_or(0.0, |jaws| jaws.opening_m);
        let (before_n, before_m) = (state.pinch(&self.sheet).0, state.squeeze_m);
        if state.contact == ContactState::Grasp {
            state.squeeze_m = (state.grasp_opening_m - opening_m).max(0.0);
        }
        let (grip_n, grip_j) = state.pinch(&self.sheet);
        let (force_n, energy_j) = state.force_and_energy(&self.sheet, &tip_m);
        let gained_j = energy_j + grip_j - state.energy_j;
        let squeezed_j = 0.5 * (grip_n + before_n) * (state.squeeze_m - before_m);
        let pressed_j = -0.5 * (force_n + state.force_n).dot(&(tip_m - state.tip_m));
        let work_j = pressed_j + squeezed_j;
        // a tool that was absent came from above, and all of its work is stored
        let work_j = if state.present { work_j } else { gained_j };
        self.ledger.tool_work_j += work_j;
        self.ledger.residual_j += gained_j - work_j;
        (state.present, state.tip_m, state.energy_j) = (true, tip_m, energy_j + grip_j);
        state.dent_m = state.dent_m.min((-tip_m.z).max(0.0));
        let next = state.next(closed);
        if next != state.contact {
            let opened = state.contact == ContactState::Grasp;
            (state.contact, state.squeeze_m) = (next, 0.0);
            match next {
                ContactState::Grasp => (state.grip_m, state.grasp_opening_m) = (tip_m, opening_m),
                ContactState::Touch if opened => {
                    // as deep as the energy of the grasp allows, and no deeper
                    let (npm, _) = self.sheet.stiffness(tip_m.x);
                    let deep_m = (2.0 * energy_j / npm).sqrt();
                    state.dent_m = (-tip_m.z - deep_m).max(0.0);
                }
                _ => {}
            }
        }
        if state.contact == ContactState::Grasp {
            state.slide(&self.sheet);
        }
        let (force_n, energy_j) = state.force_and_energy(&self.sheet, &tip_m);
        let energy_j = energy_j + state.pinch(&self.sheet).1;
        self.ledger.dissipated_j += (state.energy_j - energy_j).max(0.0);
        self.ledger.residual_j += (energy_j - state.energy_j).max(0.0);
        (state.force_n, state.energy_j) = (force_n, energy_j);
        self.reaction(index)
    }

    fn reaction(&self, index: usize) -> Reaction {
        let state = &self.tools[index];
        if state.contact == ContactState::Free {
            return Reaction::default();
        }
        let (at_m, proxy_offset_m) = match state.contact {
            ContactState::Grasp => (state.grip_m.x, state.grip_m - state.tip_m),
            _ => (
                state.tip_m.x,
                Vec3::z() * (-state.tip_m.z - state.dent_m).max(0.0),
            ),
        };
        Reaction {
            force_n: state.force_n,
            grip_force_n: state.pinch(&self.sheet).0,
            normal: state
                .force_n
                .try_normalize(1e-12)
                .unwrap_or_else(Vec3::zeros),
            penetration_m: proxy_offset_m.norm(),
            proxy_offset_m,
            stiffness_npm: self.sheet.stiffness(at_m).0,
            contacts: 1,
            ..Reaction::default()
        }
    }

    /// Removes a tool that is absent or invalid; the energy stored under it counts as dissipated.
    fn remove_tool(&mut self, index: usize) {
        self.ledger.dissipated_j += self.tools[index].energy_j;
        self.tools[index] = ToolState::default();
    }

    /// Updates the displayed displacements around the tools (row S4-32); former ones are reset.
    fn update_tents(&mut self) {
        for tent in &mut self.tents {
            let Some([left, right, low, high]) = tent.take() else {
                continue;
            };
            for row in low..=high {
                let nodes = row * self.size[0] + left..=row * self.size[0] + right;
                self.positions_m[nodes.clone()].copy_from_slice(&self.rest_m[nodes]);
            }
        }
        for index in 0..TOOLS {
            let state = self.tools[index];
            let root_m = match state.contact {
                ContactState::Free => continue,
                ContactState::Grasp => Vec3::new(state.grip_m.x, state.grip_m.y, 0.0),
                _ => Vec3::new(state.tip_m.x, state.tip_m.y, 0.0),
            };
            let pulled_m = state.tip_m - root_m;
            let span = |axis: usize| {
                let (edge_m, last) = (self.sheet.size_m[axis], self.size[axis] - 1);
                let at = |place_m: f64| {
                    let share = (place_m / edge_m + 0.5).clamp(0.0, 1.0);
                    share * last as f64
                };
                let (from, to) = (
                    at(root_m[axis] - self.sheet.tent_m),
                    at(root_m[axis] + self.sheet.tent_m),
                );
                (from.floor() as usize, to.ceil() as usize)
            };
            let ((left, right), (low, high)) = (span(0), span(1));
            for row in low..=high {
                for node in row * self.size[0] + left..=row * self.size[0] + right {
                    let off_m = (self.rest_m[node] - root_m).norm();
                    let share = (1.0 - off_m / self.sheet.tent_m).max(0.0);
                    self.positions_m[node] += share * pulled_m;
                }
            }
            self.tents[index] = Some([left, right, low, high]);
        }
    }
}

impl Tissue for FlatTissue {
    fn caps(&self) -> TissueCaps {
        TissueCaps {
            jaws: true,
            ..TissueCaps::new("flat", self.rest_m.len(), self.faces.len(), TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if !(dt_s > 0.0 && dt_s.is_finite()) {
            return self.extrapolator.extrapolate(tools, reactions);
        }
        reactions.fill(Reaction::default());
        for index in 0..TOOLS {
            match tools.get(index).filter(|tool| is_usable(tool)) {
                Some(tool) => {
                    let new_reaction = self.step_tool(index, tool);
                    if let Some(reaction) = reactions.get_mut(index) {
                        *reaction = new_reaction;
                    }
                }
                None => self.remove_tool(index),
            }
        }
        self.ledger.contact_j = self.tools.iter().map(|state| state.energy_j).sum();
        self.update_tents();
        self.extrapolator.record(tools, dt_s, reactions);
    }

    fn view(&self) -> TissueView<'_> {
        TissueView::new(&self.positions_m, &self.rest_m, &self.faces, self.ledger)
    }

    fn save(&self, snapshot: &mut Snapshot) {
        snapshot.encode(&[self], Some(self.sheet.model_hash()));
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let model_hash = self.sheet.model_hash();
        snapshot.decode(&mut [self], Some(model_hash))?;
        self.positions_m.copy_from_slice(&self.rest_m);
        self.tents = [None; TOOLS];
        self.update_tents();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
