//! A flat sheet that is soft at its left and stiff at its right, to be pressed, gripped and stretched, or skated over.
//!
//! Source: seed-004 section 3.7 (rows S4-28 to S4-32), the demonstration of the first tweezers. It has no mass. With
//! the tool's lowest point at p, its depth d = -p_z and k(x) between k_left and k_right:
//!
//! | state | when | force |
//! |---|---|---|
//! | free | d <= 0 | none |
//! | touch | jaws open | k(x) d, up |
//! | grasp | closed while touching, at p_g | k(x_g) (p_g - p), at most 2 mu N |
//! | skate | closed before touching | k(x) d, up; nothing holds |
//!
//! Three departures (ours), since the source's field gives energy away: where k changes along x, the force has also
//! the slope of its energy, -k'(x) d^2 / 2 along x; a grasp that opens deep in the sheet leaves a dent, from which the
//! depth counts until the tool has risen out of it; and a limit of the force is not here but in the master's guard,
//! which says when it acts. What a closing edge lets go is booked as lost.
//!
//! Jaws press with N = k_pinch times how far they have closed since they met the sheet, on both its sides, so they hold
//! 2 mu N (row S4-P12); what pulls more drags p_g along, and a grip that is dragged out of the sheet is lost.

use palpate_twin::Vec3;
use palpate_twin::contact::usable;
use palpate_twin::frozen;
use palpate_twin::hold::Hold;
use palpate_twin::seal::kin;
use palpate_twin::snapshot::{Frozen, Left};
use palpate_twin::twin::{Caps, Ledger, Reaction, Snapshot, ThawError, Tissue, Tool, View};

/// Most tools at once.
const TOOLS: usize = 2;

/// What a flat sheet is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlatSheet {
    /// Edges along x and y \[m\]; what is felt goes on beyond them.
    pub size_m: [f64; 2],
    /// Edge of a cell of what is shown \[m\].
    pub cell_m: f64,
    /// Between which places along x the stiffness changes \[m\].
    pub between_m: [f64; 2],
    /// Stiffness to the left and to the right of that \[N/m\].
    pub stiffness_npm: [f64; 2],
    /// Stiffness of the sheet between closed jaws \[N/m\].
    pub pinch_npm: f64,
    /// Coulomb's coefficient of the jaws.
    pub jaw_friction: f64,
    /// Radius of the tent that a tool makes of the sheet \[m\], for the eye alone.
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

    /// A number for all that it is made of.
    fn kin(&self) -> u64 {
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
        kin(pairs.chain([cell_m, pinch_npm, jaw_friction, tent_m]))
    }
}

/// How a tool is with the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum With {
    #[default]
    Free,
    Touch,
    Grasp,
    Skate,
}

const STATES: [With; 4] = [With::Free, With::Touch, With::Grasp, With::Skate];

impl Frozen for With {
    fn size(&self) -> [usize; 2] {
        [0, 1]
    }

    fn put(&self, into: &mut Snapshot) {
        (*self as u64).put(into);
    }

    fn take(&mut self, from: &mut Left<'_>) {
        let mut state = 0_u64;
        state.take(from);
        *self = *STATES.get(state as usize).unwrap_or(&Self::Free);
    }
}

frozen!(Felt: tip_m, force_n, grip_m, energy_j, dent_m, met_m, squeeze_m, known, with);

/// A tool at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Felt {
    /// Whether there was one.
    known: bool,
    with: With,
    /// Its lowest point \[m\].
    tip_m: Vec3,
    force_n: Vec3,
    energy_j: f64,
    /// Where it grips \[m\].
    grip_m: Vec3,
    /// Depth of the dent from which its depth counts \[m\].
    dent_m: f64,
    /// Opening with which the jaws met the sheet, and how far they have closed since \[m\].
    met_m: f64,
    squeeze_m: f64,
}

impl Felt {
    /// Force \[N\] and energy \[J\] at a place in this state.
    fn law(&self, sheet: &FlatSheet, tip_m: &Vec3) -> (Vec3, f64) {
        match self.with {
            With::Grasp => {
                let (npm, _) = sheet.stiffness(self.grip_m.x);
                let pull_m = self.grip_m - tip_m;
                (npm * pull_m, 0.5 * npm * pull_m.norm_squared())
            }
            // one that was free may have come in with this step
            With::Free | With::Touch | With::Skate => {
                let (npm, slope) = sheet.stiffness(tip_m.x);
                let deep_m = (-tip_m.z - self.dent_m).max(0.0);
                let energy_m2 = 0.5 * deep_m * deep_m;
                let force_n = Vec3::new(-slope * energy_m2, 0.0, npm * deep_m);
                (force_n, npm * energy_m2)
            }
        }
    }

    /// Force between the jaws \[N\], and the energy of it \[J\].
    fn pinch(&self, sheet: &FlatSheet) -> (f64, f64) {
        let grip_n = sheet.pinch_npm * self.squeeze_m;
        (grip_n, 0.5 * grip_n * self.squeeze_m)
    }

    /// Let the grip slide as far as its friction does not hold it; out of the sheet it is lost.
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
            (self.with, self.squeeze_m) = (With::Free, 0.0);
        }
    }

    /// The state that jaws and depth lead to from this one.
    fn next(&self, closed: bool) -> With {
        let inside = self.tip_m.z < 0.0;
        match (self.with, closed, inside) {
            (With::Grasp, true, _) => With::Grasp,
            (_, _, false) => With::Free,
            (With::Free | With::Skate, true, _) => With::Skate,
            (With::Touch, true, _) => With::Grasp,
            (_, false, true) => With::Touch,
        }
    }
}

/// The sheet and the tools on it.
pub struct Flat {
    sheet: FlatSheet,
    rest_m: Vec<Vec3>,
    positions_m: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
    /// Columns and rows of nodes.
    size: [usize; 2],
    tools: [Felt; TOOLS],
    /// Where nodes may be off their rest: first and last column, first and last row.
    tents: [Option<[usize; 4]>; TOOLS],
    ledger: Ledger,
    hold: Hold,
}

impl Flat {
    /// At rest.
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
            tools: [Felt::default(); TOOLS],
            tents: [None; TOOLS],
            ledger: Ledger::default(),
            hold: Hold::default(),
        }
    }

    /// One tool's step: motion under the law of its state, then the state that it leads to.
    fn feel(&mut self, index: usize, tool: &Tool) -> Reaction {
        let felt = &mut self.tools[index];
        let tip_m = tool.position_m - Vec3::z() * tool.radius_m;
        let closed = tool.jaws.is_some_and(|jaws| jaws.closed);
        let opening_m = tool.jaws.map_or(0.0, |jaws| jaws.opening_m);
        let (before_n, before_m) = (felt.pinch(&self.sheet).0, felt.squeeze_m);
        if felt.with == With::Grasp {
            felt.squeeze_m = (felt.met_m - opening_m).max(0.0);
        }
        let (grip_n, grip_j) = felt.pinch(&self.sheet);
        let (force_n, energy_j) = felt.law(&self.sheet, &tip_m);
        let gained_j = energy_j + grip_j - felt.energy_j;
        let squeezed_j = 0.5 * (grip_n + before_n) * (felt.squeeze_m - before_m);
        let pressed_j = -0.5 * (force_n + felt.force_n).dot(&(tip_m - felt.tip_m));
        let work_j = pressed_j + squeezed_j;
        // a tool that was not here came from above, by work that is all kept
        let work_j = if felt.known { work_j } else { gained_j };
        self.ledger.tool_work_j += work_j;
        self.ledger.residual_j += gained_j - work_j;
        (felt.known, felt.tip_m, felt.energy_j) = (true, tip_m, energy_j + grip_j);
        felt.dent_m = felt.dent_m.min((-tip_m.z).max(0.0));
        let next = felt.next(closed);
        if next != felt.with {
            let opened = felt.with == With::Grasp;
            (felt.with, felt.squeeze_m) = (next, 0.0);
            match next {
                With::Grasp => (felt.grip_m, felt.met_m) = (tip_m, opening_m),
                With::Touch if opened => {
                    // as deep as the energy of the grasp goes, and no deeper
                    let (npm, _) = self.sheet.stiffness(tip_m.x);
                    let deep_m = (2.0 * energy_j / npm).sqrt();
                    felt.dent_m = (-tip_m.z - deep_m).max(0.0);
                }
                _ => {}
            }
        }
        if felt.with == With::Grasp {
            felt.slide(&self.sheet);
        }
        let (force_n, energy_j) = felt.law(&self.sheet, &tip_m);
        let energy_j = energy_j + felt.pinch(&self.sheet).1;
        self.ledger.dissipated_j += (felt.energy_j - energy_j).max(0.0);
        self.ledger.residual_j += (energy_j - felt.energy_j).max(0.0);
        (felt.force_n, felt.energy_j) = (force_n, energy_j);
        self.reaction(index)
    }

    fn reaction(&self, index: usize) -> Reaction {
        let felt = &self.tools[index];
        if felt.with == With::Free {
            return Reaction::default();
        }
        let (at_m, sunk_m) = match felt.with {
            With::Grasp => (felt.grip_m.x, felt.grip_m - felt.tip_m),
            _ => (
                felt.tip_m.x,
                Vec3::z() * (-felt.tip_m.z - felt.dent_m).max(0.0),
            ),
        };
        Reaction {
            force_n: felt.force_n,
            grip_n: felt.pinch(&self.sheet).0,
            normal: felt
                .force_n
                .try_normalize(1e-12)
                .unwrap_or_else(Vec3::zeros),
            penetration_m: sunk_m.norm(),
            to_proxy_m: sunk_m,
            stiffness_npm: self.sheet.stiffness(at_m).0,
            contacts: 1,
            ..Reaction::default()
        }
    }

    /// A tool that is gone, or says nothing usable: what was stored under it is lost.
    fn leave(&mut self, index: usize) {
        self.ledger.dissipated_j += self.tools[index].energy_j;
        self.tools[index] = Felt::default();
    }

    /// The tents of the tools as they are (row S4-32); what was shown before lies flat again.
    fn show(&mut self) {
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
            let felt = self.tools[index];
            let root_m = match felt.with {
                With::Free => continue,
                With::Grasp => Vec3::new(felt.grip_m.x, felt.grip_m.y, 0.0),
                _ => Vec3::new(felt.tip_m.x, felt.tip_m.y, 0.0),
            };
            let pulled_m = felt.tip_m - root_m;
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

impl Tissue for Flat {
    fn caps(&self) -> Caps {
        Caps {
            jaws: true,
            ..Caps::new("flat", self.rest_m.len(), self.faces.len(), TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if !(dt_s > 0.0 && dt_s.is_finite()) {
            return self.hold.answer(tools, reactions);
        }
        reactions.fill(Reaction::default());
        for index in 0..TOOLS {
            match tools.get(index).filter(|tool| usable(tool)) {
                Some(tool) => {
                    let felt = self.feel(index, tool);
                    if let Some(reaction) = reactions.get_mut(index) {
                        *reaction = felt;
                    }
                }
                None => self.leave(index),
            }
        }
        self.ledger.contact_j = self.tools.iter().map(|felt| felt.energy_j).sum();
        self.show();
        self.hold.keep(tools, dt_s, reactions);
    }

    fn view(&self) -> View<'_> {
        View::new(&self.positions_m, &self.rest_m, &self.faces, self.ledger)
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        let parts: [&dyn Frozen; 3] = [&self.tools, &self.ledger, &self.hold];
        snapshot.fill(&parts, Some(self.sheet.kin()));
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let parts: &mut [&mut dyn Frozen] =
            &mut [&mut self.tools, &mut self.ledger, &mut self.hold];
        snapshot.pour(parts, Some(self.sheet.kin()))?;
        self.positions_m.copy_from_slice(&self.rest_m);
        self.tents = [None; TOOLS];
        self.show();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use palpate_twin::{Instrument, Jaws};

    const R_M: f64 = 0.002;
    const DT_S: f64 = 1e-3;

    /// That of the scene `flat-sheet`.
    fn sheet() -> FlatSheet {
        FlatSheet {
            size_m: [0.12, 0.08],
            cell_m: 0.002,
            between_m: [-0.04, 0.04],
            stiffness_npm: [150.0, 600.0],
            pinch_npm: 400.0,
            jaw_friction: 0.5,
            tent_m: 0.025,
        }
    }

    /// A tool whose lowest point is here \[mm\], with jaws far open or firmly closed.
    fn at(tip_mm: [f64; 3], closed: bool) -> Tool {
        with_jaws(tip_mm, closed, if closed { -1.0 } else { 0.01 })
    }

    fn with_jaws(tip_mm: [f64; 3], closed: bool, opening_m: f64) -> Tool {
        let [x, y, z] = tip_mm.map(|mm| 1e-3 * mm);
        Tool {
            position_m: Vec3::new(x, y, z + R_M),
            velocity_mps: Vec3::zeros(),
            radius_m: R_M,
            stiffness_npm: 3000.0,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: Instrument::Blunt,
            jaws: Some(Jaws {
                opening_m,
                opening_velocity_mps: 0.0,
                closed,
            }),
        }
    }

    fn feel(flat: &mut Flat, tool: Tool) -> Reaction {
        let mut reaction = [Reaction::default()];
        flat.step(&[tool], DT_S, &mut reaction);
        reaction[0]
    }

    #[test]
    fn s4_28_the_plane_pushes_up_by_its_stiffness_and_not_above_it() {
        let (mut flat, sheet) = (Flat::new(&sheet()), sheet());
        for x_mm in [-58.0, 58.0] {
            for depth_mm in [0.5, 2.0, 8.0] {
                let force_n = feel(&mut flat, at([x_mm, 3.0, -depth_mm], false)).force_n;
                let (npm, _) = sheet.stiffness(1e-3 * x_mm);
                assert!((force_n.z - npm * 1e-3 * depth_mm).abs() < 1e-12);
                assert_eq!((force_n.x, force_n.y), (0.0, 0.0), "no lateral force");
            }
            assert_eq!(
                feel(&mut flat, at([x_mm, 3.0, 0.1], false)),
                Reaction::default()
            );
        }
        // where the stiffness changes, the slope of the energy is felt, and it is small
        let force_n = feel(&mut flat, at([0.0, 0.0, -5.0], false)).force_n;
        assert!(
            force_n.x < 0.0 && force_n.x.abs() < 0.05 * force_n.z,
            "{force_n}"
        );
    }

    #[test]
    fn s4_29_a_grasp_is_where_the_jaws_closed_and_pulls_back_to_it() {
        let (mut flat, sheet) = (Flat::new(&sheet()), sheet());
        feel(&mut flat, at([10.0, 0.0, -3.0], false));
        let closing = feel(&mut flat, with_jaws([10.0, 0.0, -3.0], true, 0.01));
        assert_eq!(closing.force_n, Vec3::zeros(), "gripped where it is");
        let (npm, _) = sheet.stiffness(0.01);
        for tip_mm in [[22.0, 5.0, -3.0], [10.0, 0.0, 15.0], [-8.0, -9.0, 4.0]] {
            let felt = feel(&mut flat, at(tip_mm, true));
            let way_m = Vec3::from(tip_mm) * 1e-3 - Vec3::new(0.01, 0.0, -0.003);
            assert!((felt.force_n + npm * way_m).norm() < 1e-12, "{felt:?}");
        }
        let opened = feel(&mut flat, at([-8.0, -9.0, 4.0], false));
        assert_eq!(opened, Reaction::default());
        let ledger = flat.view().ledger;
        assert!(ledger.dissipated_j > 0.0 && ledger.stored_j() == 0.0);
    }

    #[test]
    fn s4_30_jaws_closed_before_contact_skate_and_hold_nothing() {
        let mut flat = Flat::new(&sheet());
        feel(&mut flat, at([50.0, 0.0, 1.0], true));
        for x_mm in [50.0, 55.0, 58.0] {
            let felt = feel(&mut flat, at([x_mm, 0.0, -2.0], true));
            assert!(felt.force_n.z > 0.5 && felt.force_n.x == 0.0, "{felt:?}");
        }
        // opened in the sheet it touches, and only then the next closing grips
        feel(&mut flat, at([58.0, 0.0, -2.0], false));
        feel(&mut flat, with_jaws([58.0, 0.0, -2.0], true, 0.01));
        let felt = feel(&mut flat, at([52.0, 0.0, -2.0], true));
        assert!(felt.force_n.x > 0.5, "{felt:?}");
    }

    #[test]
    fn s4_31_stiffness_grows_from_left_to_right_as_configured() {
        let (mut flat, sheet) = (Flat::new(&sheet()), sheet());
        let [left_npm, right_npm] = sheet.stiffness_npm;
        let slopes = [-45.0, 0.0, 45.0].map(|x_mm| {
            let [low, high] =
                [2.0, 4.0].map(|mm| feel(&mut flat, at([x_mm, 0.0, -mm], false)).force_n.z);
            (high - low) / 0.002
        });
        let wanted = [left_npm, 0.5 * (left_npm + right_npm), right_npm];
        for (slope, npm) in slopes.iter().zip(wanted) {
            assert!(
                (slope / npm - 1.0).abs() < 0.02,
                "{slopes:?}, wanted {wanted:?}"
            );
        }
        assert!(slopes[0] < slopes[1] && slopes[1] < slopes[2]);
    }

    #[test]
    fn s4_p12_a_grip_slips_when_the_pull_is_more_than_its_friction_on_both_sides() {
        let sheet = sheet();
        let (npm, _) = sheet.stiffness(0.055);
        for squeeze_m in [1e-3, 3e-3, 6e-3] {
            let hold_n = 2.0 * sheet.jaw_friction * sheet.pinch_npm * squeeze_m;
            for (over, slips) in [(0.95, false), (1.05, true)] {
                let mut flat = Flat::new(&sheet);
                let (open_m, shut_m) = (0.01, 0.01 - squeeze_m);
                feel(&mut flat, with_jaws([50.0, 0.0, -2.0], false, open_m));
                feel(&mut flat, with_jaws([50.0, 0.0, -2.0], true, open_m));
                feel(&mut flat, with_jaws([50.0, 0.0, -2.0], true, shut_m));
                let out_mm = 50.0 + 1e3 * over * hold_n / npm;
                let mut pulled_n = 0.0_f64;
                for step in 1..=100 {
                    let x_mm = 50.0 + (out_mm - 50.0) * f64::from(step) / 100.0;
                    let felt = feel(&mut flat, with_jaws([x_mm, 0.0, -2.0], true, shut_m));
                    assert!((felt.grip_n - sheet.pinch_npm * squeeze_m).abs() < 1e-9);
                    pulled_n = pulled_n.max(felt.force_n.norm());
                }
                let wanted_n = if slips { hold_n } else { over * hold_n };
                assert!(
                    (pulled_n / wanted_n - 1.0).abs() < 1e-6,
                    "{pulled_n} {wanted_n}"
                );
                let slid_m = flat.tools[0].grip_m.x - 0.05;
                assert_eq!(slid_m > 1e-9, slips, "{squeeze_m} {over}: {slid_m}");
                assert_eq!(
                    flat.view().ledger.dissipated_j > 0.5 * npm * 4e-6 + 1e-12,
                    slips
                );
            }
        }
    }

    #[test]
    fn a_grip_that_is_dragged_out_of_the_sheet_is_lost() {
        let mut flat = Flat::new(&sheet());
        feel(&mut flat, with_jaws([0.0, 0.0, -2.0], false, 0.01));
        feel(&mut flat, with_jaws([0.0, 0.0, -2.0], true, 0.01));
        feel(&mut flat, with_jaws([0.0, 0.0, -2.0], true, 0.0095));
        let up = (0..200).map(|mm| {
            feel(
                &mut flat,
                with_jaws([0.0, 0.0, f64::from(mm)], true, 0.0095),
            )
        });
        assert_eq!(up.last(), Some(Reaction::default()));
        assert!(flat.view().ledger.stored_j() == 0.0);
    }

    #[test]
    fn s4_32_the_vertex_under_the_tool_follows_in_the_same_step() {
        let mut flat = Flat::new(&sheet());
        let under = |flat: &Flat| {
            let view = flat.view();
            let node = view.rest_m.iter().position(|at| at.norm() < 1e-9);
            view.positions_m[node.expect("a node in the middle")]
        };
        feel(&mut flat, at([0.0, 0.0, -3.0], false));
        assert!((under(&flat) - Vec3::new(0.0, 0.0, -0.003)).norm() < 1e-12);
        feel(&mut flat, with_jaws([0.0, 0.0, -3.0], true, 0.01));
        feel(&mut flat, at([12.0, 6.0, 9.0], true));
        assert!((under(&flat) - Vec3::new(0.012, 0.006, 0.009)).norm() < 1e-12);
        feel(&mut flat, at([12.0, 6.0, 9.0], false));
        assert_eq!(flat.view().positions_m, flat.view().rest_m, "flat again");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Whatever a hand does, it gets no energy out that it did not put in.
        #[test]
        fn s4_20_no_way_through_the_states_makes_energy(
            ways in prop::collection::vec(([-40.0..40.0_f64, -20.0..20.0, -8.0..4.0], any::<bool>(), 0.0..0.01), 2..40),
        ) {
            let mut flat = Flat::new(&sheet());
            let mut from_mm = [0.0, 0.0, 3.0];
            let ways = ways.into_iter().chain([([0.0, 0.0, 3.0], false, 0.01)]);
            for (to_mm, closed, opening_m) in ways {
                for step in 1..=400 {
                    let share = f64::from(step) / 400.0;
                    let tip_mm = core::array::from_fn(|n| from_mm[n] + share * (to_mm[n] - from_mm[n]));
                    feel(&mut flat, with_jaws(tip_mm, closed, opening_m));
                }
                from_mm = to_mm;
            }
            let ledger = flat.view().ledger;
            prop_assert!(ledger.stored_j().abs() < 1e-15);
            prop_assert!(ledger.residual_j.abs() < 1e-4, "{ledger:?}");
            prop_assert!(ledger.tool_work_j > -1e-4, "{ledger:?}");
        }
    }

    proptest! {
        /// Any bit of a snapshot could change, and was believed.
        #[test]
        fn issue_a_damaged_snapshot_was_believed(at: prop::sample::Index, bit in 0..64_u32) {
            let mut flat = Flat::new(&sheet());
            let mut felt = [Reaction::default()];
            flat.step(&[at_depth()], DT_S, &mut felt);
            let good = Snapshot::of(&flat);
            let mut bad = good.clone();
            let at = at.index(bad.numbers.len() + bad.integers.len());
            match at.checked_sub(bad.numbers.len()) {
                None => bad.numbers[at] = f64::from_bits(bad.numbers[at].to_bits() ^ 1 << bit),
                Some(at) => bad.integers[at] ^= 1 << bit,
            }
            let refused = flat.thaw(&bad);
            prop_assert!(matches!(refused, Err(ThawError::Damaged { .. })), "{refused:?}");
            prop_assert_eq!(Snapshot::of(&flat), good.clone());
            flat.thaw(&good).expect("its own");
            let mut other = Flat::new(&FlatSheet { pinch_npm: 1.0, ..sheet() });
            let refused = other.thaw(&good);
            prop_assert!(matches!(refused, Err(ThawError::Damaged { .. })), "{refused:?}");
        }
    }

    fn at_depth() -> Tool {
        at([1.0, 0.0, -1.0], false)
    }
}
