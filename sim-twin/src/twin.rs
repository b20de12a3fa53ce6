//! The interface between a tissue and its callers: [`Tissue`], its tools and its reactions.
//!
//! Source: ours; energy balance after seed-004 3.14 (row S4-20). A tissue has one port for each tool: positions in,
//! equal and opposite forces out. World frame, SI units.

use crate::Vec3;
use crate::edits::{EditPhase, TopologyChange};
use crate::shape::RegionShape;

/// Tool that touches the tissue during one step: a sphere, a rod or a plate, optionally with jaws and an
/// instrument that can cut, remove, join or pin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tool {
    /// Centre of the sphere \[m\].
    pub position_m: Vec3,
    /// Velocity of the centre \[m/s\].
    pub velocity_mps: Vec3,
    /// Radius of the sphere \[m\], greater than zero; a tool without one touches nothing.
    pub radius_m: f64,
    /// Stiffness of the tool's boundary \[N/m\]; much stiffer than tissue (seed-004 3.5).
    pub stiffness_npm: f64,
    /// Vector from the centre to the other end of the tool's axis \[m\]: a rounded rod, such as the shaft
    /// of a stylus; zero for a sphere. Models without [`TissueCaps::shafts`] use the sphere only.
    pub shaft_m: Vec3,
    /// Vector from its axis to that of its other edge \[m\], perpendicular to [`Self::shaft_m`]: a plate with round edges,
    /// as thick as a rod of its radius, such as a spatula. Zero for a rod or a sphere. Models without
    /// [`TissueCaps::plates`] use the axis only.
    pub side_m: Vec3,
    /// Jaws of a gripper or tweezers, if the tool has them.
    pub jaws: Option<Jaws>,
    /// Instrument of the tool; models without [`TissueCaps::instruments`] treat it as blunt.
    pub instrument: Instrument,
}

/// Action of a tool on tissue that can be cut, over its motion from one step to the next. Nothing in the swept
/// volume is missed at any speed (seed-001 rows TP-01 to TP-09). The result is in [`TissueView::changes`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Instrument {
    /// Presses and rubs only: a probe or a fingertip.
    #[default]
    Blunt,
    /// Cuts the tissue that its edge passes, against the tissue's toughness (row TP-02).
    Scalpel {
        /// Vector from the tool's centre to the other end of the edge \[m\].
        edge_m: Vec3,
    },
    /// Removes the tissue that its ball passes, against the toughness of the remaining wall; it presses nothing (row
    /// TP-01).
    Curette,
    /// Joins nodes near the tool's centre that lack a neighbour (row TP-06).
    Glue {
        /// Radius within which it acts \[m\].
        reach_m: f64,
    },
    /// Pins the tissue that the tool's ball passes, without resistance to the tool (row TP-09).
    Tack,
    /// Unpins tissue that a tack pinned.
    Untack,
}

/// The jaws of a pinching tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jaws {
    /// Distance between the jaw tips \[m\].
    pub opening_m: f64,
    /// Rate of the opening \[m/s\].
    pub opening_velocity_mps: f64,
    /// True if the closure switch is on (seed-004 S4-35): tissue in contact is then grasped.
    pub closed: bool,
}

/// Reaction of a tissue to one tool in one step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reaction {
    /// Force on the tool \[N\]: the mean over the sub-steps of the model, so that force times step is the opposite of
    /// the impulse on the tissue.
    pub force_n: Vec3,
    /// Part of the force that resists the edge of a blade \[N\]; zero for other tools.
    pub blade_force_n: Vec3,
    /// Torque on the tool about its centre \[N m\]; zero for a frictionless sphere.
    pub torque_nm: Vec3,
    /// Force that opens the jaws \[N\], negative if the grasped tissue pulls them together; zero
    /// without jaws.
    pub grip_force_n: f64,
    /// Direction of the force on the tool, without friction the outward normal of the contact; zero
    /// without contact.
    pub normal: Vec3,
    /// Depth of the tool in the surface \[m\]; zero without contact.
    pub penetration_m: f64,
    /// Vector from the tool to its proxy \[m\], the position of the tool if its contact were rigid:
    /// on the deformed surface and not in it. Zero without contact.
    ///
    /// The god-object of Zilles and Salisbury 1995 and the proxy of Ruspini, Kolarov and Khatib 1997, on
    /// a surface that deforms (seed-004, section on the god-object). Here the tissue deforms by its own
    /// law and the contact by a penalty, so the offset is the deformation of the penalty: along the normal the
    /// depth; with friction also the tangential force over its stiffness, against the motion. A rod's proxy
    /// is the rod moved as a whole, that of jaws the mean of both jaws.
    pub proxy_offset_m: Vec3,
    /// Slope of the normal force against depth at this instant \[N/m\], a local model for the
    /// time until the next step; zero without contact.
    pub stiffness_npm: f64,
    /// Slope of the normal force against speed by viscosity \[N s/m\]; zero for an elastic tissue, whose
    /// force depends on acceleration and not on speed.
    pub damping_nspm: f64,
    /// Estimated error of the force by the mesh \[N\], at least 0, from this step alone; none without contact
    /// and for models without an estimate.
    pub mesh_error_n: Option<f64>,
    /// Number of separate contacts (nodes or faces).
    pub contacts: u32,
    /// True if the tissue collapsed in this step and was rebuilt: its numbers had left what its model can represent.
    /// The reactions to all tools say so, and have no force.
    pub collapsed: bool,
}

impl Reaction {
    /// Reaction of a tissue that collapsed in this step.
    #[must_use]
    pub fn of_collapse() -> Self {
        Self {
            collapsed: true,
            ..Self::default()
        }
    }

    /// Reaction after the tool has moved by `travel_m` \[m\] while no time passed: the force changes
    /// along the normal with the local stiffness, never pulls, and is zero without contact.
    #[must_use]
    #[inline]
    pub fn extrapolated(&self, travel_m: &Vec3) -> Self {
        let deeper_m = -self.normal.dot(travel_m);
        let pressed_n = self.force_n.dot(&self.normal);
        // a contact never pulls
        let more_n = (self.stiffness_npm * deeper_m).max(-pressed_n);
        let force_n = self.force_n + self.normal * more_n;
        let finite = force_n.iter().all(|x| x.is_finite());
        let penetration_m = (self.penetration_m + deeper_m).max(0.0);
        let sunk_m = self.normal * (penetration_m - self.penetration_m);
        let touches = penetration_m > 0.0 && sunk_m.iter().all(|x| x.is_finite());
        Self {
            force_n: if finite { force_n } else { Vec3::zeros() },
            penetration_m,
            proxy_offset_m: if touches {
                self.proxy_offset_m + sunk_m
            } else {
                Vec3::zeros()
            },
            collapsed: false,
            ..*self
        }
    }
}

/// Energy balance of a tissue \[J\], cumulative since construction or the last [`Tissue::restore`].
///
/// Balance: `kinetic + elastic + contact - initial = tool_work + edit + mass - dissipated + residual`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TissueEnergy {
    /// Kinetic energy now, of all inertia that the solver steps with.
    pub kinetic_j: f64,
    /// Elastic energy now.
    pub elastic_j: f64,
    /// Energy stored in contact and grasp springs now.
    pub contact_j: f64,
    /// Energy that tools have put in.
    pub tool_work_j: f64,
    /// Energy dissipated so far.
    pub dissipated_j: f64,
    /// Energy that edits and parameter updates have put in (negative: taken out).
    pub edit_j: f64,
    /// Kinetic energy of the mass that a solver added to nodes, less that of the mass that it removed.
    pub mass_j: f64,
    /// Remainder of the balance: the integration error, reported and bounded by tests.
    pub residual_j: f64,
}

impl TissueEnergy {
    /// Energy inside the tissue now \[J\].
    #[must_use]
    #[inline]
    pub fn stored_j(&self) -> f64 {
        self.kinetic_j + self.elastic_j + self.contact_j
    }

    /// Sum of all terms \[J\], which is finite only if each is.
    #[must_use]
    #[inline]
    pub fn sum_j(&self) -> f64 {
        let flows_j = self.tool_work_j + self.dissipated_j + self.edit_j + self.mass_j;
        self.stored_j() + flows_j + self.residual_j
    }

    /// Balance after the tissue was set to rest: what was stored counts as dissipated. One that is not finite begins
    /// again.
    #[must_use]
    pub fn at_rest(&self) -> Self {
        if !self.sum_j().is_finite() {
            return Self::default();
        }
        Self {
            kinetic_j: 0.0,
            elastic_j: 0.0,
            contact_j: 0.0,
            dissipated_j: self.dissipated_j + self.stored_j(),
            ..*self
        }
    }
}

/// Capabilities of a tissue, which callers query before they use a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TissueCaps {
    /// Name of the method, as in `--method`.
    pub method: &'static str,
    /// Number of nodes that can move.
    pub nodes: usize,
    /// Number of elements.
    pub elements: usize,
    /// Most tools that may touch at once.
    pub tools_max: usize,
    /// True if the model uses [`Tool::shaft_m`].
    pub shafts: bool,
    /// True if the model uses [`Tool::side_m`].
    pub plates: bool,
    /// True if the model uses [`Tool::jaws`].
    pub jaws: bool,
    /// Largest stable `dt` \[s\].
    pub dt_s_max: f64,
    /// Shortest step that is worth its cost \[s\]; between two steps a caller
    /// extrapolates with the force and stiffness of the last [`Reaction`].
    pub preferred_dt_s: f64,
    /// True if the stiffness of regions may be changed in contact ([`Edit::Scale`]).
    pub region_edits: bool,
    /// True if the tissue may be cut along a plane ([`Edit::Cut`]).
    pub cuts: bool,
    /// True if [`Tool::instrument`] acts, and its changes can be undone and replayed elsewhere
    /// ([`Edit::Replay`], [`Edit::Undo`], [`Edit::Redo`]).
    pub instruments: bool,
}

impl TissueCaps {
    /// Capabilities of a method that uses only spheres and accepts no edit, at any step up to a second.
    #[must_use]
    pub const fn new(
        method: &'static str,
        nodes: usize,
        elements: usize,
        tools_max: usize,
    ) -> Self {
        Self {
            method,
            nodes,
            elements,
            tools_max,
            shafts: false,
            plates: false,
            jaws: false,
            dt_s_max: 1.0,
            preferred_dt_s: 1e-3,
            region_edits: false,
            cuts: false,
            instruments: false,
        }
    }
}

/// A change to the tissue between two steps. Applying one never allocates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edit<'a> {
    /// Multiplies the stiffness of a layer or inclusion by a factor. A cell that its border crosses takes the
    /// factor to the power of its volume fraction, as moduli mix by [`crate::law::MixingRule::Geometric`].
    Scale {
        /// Region in the rest configuration.
        shape: RegionShape,
        /// Factor, greater than zero.
        factor: f64,
        /// True for a passive edit (teleop E16) of a tissue in contact: it adds at most the energy that the tissue has
        /// dissipated, and omits the rest of the change. Otherwise all of the change is made.
        passive: bool,
    },
    /// Cuts the tissue along a plane: removes every element that crosses it (row S4-10), or cuts every link
    /// that crosses it in a voxel model.
    Cut {
        /// A point of the plane \[m\].
        point_m: Vec3,
        /// Normal of the plane.
        normal: Vec3,
    },
    /// Replays the [`TissueView::changes`] of another instance of this tissue, wherever the nodes are now, with the
    /// phase of the batch, so that [`Edit::Undo`] undoes the same edit in both. Changes that cannot be made
    /// are left out.
    Replay(&'a [TopologyChange], EditPhase),
    /// Undoes the last edit of an instrument, or the last replayed edit.
    Undo,
    /// Redoes the edit that was undone last.
    Redo,
}

impl Edit<'_> {
    /// Name of the edit, in one or two words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Scale { .. } => "scale",
            Self::Cut { .. } => "cut",
            Self::Replay(..) => "replay",
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

/// Result of an edit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditReport {
    /// Number of elements that changed.
    pub elements: usize,
    /// Energy that the edit put into the tissue \[J\]; negative if it took energy out.
    pub energy_j: f64,
    /// Fraction of the change that was made, 0 to 1. It is below 1 if the energy for a passive edit did not suffice,
    /// or if the range of stiffness of a voxel model limited the change of every node.
    pub applied_fraction: f64,
}

impl Default for EditReport {
    /// A complete edit that changed nothing.
    fn default() -> Self {
        Self {
            elements: 0,
            energy_j: 0.0,
            applied_fraction: 1.0,
        }
    }
}

/// Reason for which an edit was refused; the tissue is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum EditError {
    /// A number was not finite or out of its range.
    #[error("edit field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// Valid range or form.
        expected: &'static str,
    },
    /// [`TissueCaps`] does not list this edit.
    #[error("this tissue does not support the edit `{0}` (see `TissueCaps`)")]
    Kind(&'static str),
}

/// Borrowed view of the deforming surface, for drawing and measuring.
#[derive(Debug, Clone, Copy)]
pub struct TissueView<'a> {
    /// Positions of the surface nodes now \[m\].
    pub positions_m: &'a [Vec3],
    /// Their rest positions \[m\].
    pub rest_m: &'a [Vec3],
    /// Surface triangles, counter-clockwise seen from outside.
    pub faces: &'a [[u32; 3]],
    /// Energy balance.
    pub energy: TissueEnergy,
    /// Hash of the topology: equal for two instances of a tissue with the same nodes, links and pins. None for tissue
    /// without [`TissueCaps::instruments`].
    pub topology_hash: Option<u64>,
    /// Changes of the topology, in order: those by an edit, if one came after the last step of more than zero seconds,
    /// otherwise those by instruments in that step.
    pub changes: &'a [TopologyChange],
    /// Number of the edit to which these changes belong; changes of one edit are undone together. 0 for tissue without
    /// instruments.
    pub edit_number: u32,
}

impl<'a> TissueView<'a> {
    /// Creates a view of a tissue without instruments from its positions now and at rest \[m\].
    #[must_use]
    pub const fn new(
        positions_m: &'a [Vec3],
        rest_m: &'a [Vec3],
        faces: &'a [[u32; 3]],
        energy: TissueEnergy,
    ) -> Self {
        Self {
            positions_m,
            rest_m,
            faces,
            energy,
            topology_hash: None,
            changes: &[],
            edit_number: 0,
        }
    }
}

/// Complete copy of a tissue's state; a reused snapshot does not allocate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Every number of the state, in the model's own order.
    pub numbers: Vec<f64>,
    /// Every integer of the state, in the model's own order.
    pub integers: Vec<u64>,
}

impl Snapshot {
    /// Copies the state of a tissue; allocates.
    #[must_use]
    pub fn of(tissue: &dyn Tissue) -> Self {
        let mut snapshot = Self::default();
        tissue.save(&mut snapshot);
        snapshot
    }
}

/// Error of a snapshot that does not fit a tissue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The size differs.
    #[error("snapshot holds {found} numbers; this tissue needs {expected}")]
    Size {
        /// Numbers that this tissue needs.
        expected: usize,
        /// Numbers found.
        found: usize,
    },
    /// The checksum does not match: bits have changed, or the snapshot is of another tissue of this size.
    #[error(
        "the checksum of the snapshot is {found:#018x}; expected {expected:#018x}: it is damaged, \
         or of another tissue"
    )]
    Damaged {
        /// Computed checksum.
        expected: u64,
        /// Stored checksum.
        found: u64,
    },
}

/// Tissue: a model that was built once, and its state.
pub trait Tissue: Send {
    /// Returns the capabilities of this tissue.
    fn caps(&self) -> TissueCaps;

    /// Advances by `dt_s` \[s\] while `tools` touch the tissue; writes one reaction per tool.
    ///
    /// Total: any tool, NaN included, yields finite reactions (an unusable tool touches nothing).
    /// Never allocates. Tools beyond [`TissueCaps::tools_max`] touch nothing.
    ///
    /// A `dt_s` of zero returns the reactions now, at the poses of `tools`, while no time passes: the
    /// tissue and its energy balance stay bit for bit as they are. Every model returns [`Reaction::extrapolated`] from
    /// the last step that took time, or a better estimate; a tool that is new, or that moved by
    /// more than its radius since then, touches nothing. No work is recorded for such a step, so it is
    /// meant for single late ticks between steps of the usual length.
    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]);

    /// Changes the tissue between two steps; the default accepts no edit.
    ///
    /// # Errors
    /// [`EditError`] if a field is out of range or the kind is not in [`TissueCaps`].
    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        Err(EditError::Kind(edit.kind()))
    }

    /// Returns the surface now, and the energy balance.
    fn view(&self) -> TissueView<'_>;

    /// Copies the state into `snapshot`; a reused snapshot does not allocate.
    fn save(&self, snapshot: &mut Snapshot);

    /// Restores a state, bit for bit.
    ///
    /// # Errors
    /// [`SnapshotError`] if the size differs or, for a model with a checksum, the snapshot is damaged; the state is
    /// then unchanged.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError>;
}
