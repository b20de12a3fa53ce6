//! The one interface between a tissue and whoever touches it.
//!
//! Source: DESIGN "Tissue has five methods"; ledger after seed-004 3.14 (row S4-20). A tissue is a
//! causal one-port per tool: positions in, equal and opposite forces out. World frame, SI units.

use crate::Vec3;
use crate::edits::{Change, Part};
use crate::shape::Shape;

/// What touches the tissue during one step: a sphere, a rod or a plate, with jaws when it can pinch and an
/// instrument when it can do more than press.
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
    /// From the centre to the other end of the tool's axis \[m\]: a rounded rod, such as the shaft
    /// of a stylus; zero for a sphere. Models without [`Caps::shafts`] feel the sphere only.
    pub shaft_m: Vec3,
    /// From its axis to that of its other edge \[m\], perpendicular to [`Self::shaft_m`]: a plate with round edges, as
    /// thick as a rod of its radius, such as a spatula; zero for a rod or a sphere. Models without [`Caps::plates`]
    /// feel no more than the axis.
    pub side_m: Vec3,
    /// Jaws of a gripper or tweezers, if the tool has them.
    pub jaws: Option<Jaws>,
    /// What it does to the tissue beside pressing; models without [`Caps::instruments`] feel it as blunt.
    pub instrument: Instrument,
}

/// What a tool does to tissue that can be opened, as it moves from one step to the next: nothing in its
/// sweep is missed, however fast it is (seed-001 rows TP-01 to TP-09). What it did is in [`View::changes`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Instrument {
    /// Only presses and rubs: a probe or a fingertip.
    #[default]
    Blunt,
    /// Parts what its edge is drawn through, against the tissue's toughness (row TP-02).
    Scalpel {
        /// From the tool's centre to the other end of the edge \[m\].
        edge_m: Vec3,
    },
    /// Takes out what its ball comes over, against the toughness of the wall that it leaves, and presses nothing (row
    /// TP-01).
    Curette,
    /// Joins what is near the tool's centre and lacks a neighbour (row TP-06).
    Glue {
        /// Radius within which it acts \[m\].
        reach_m: f64,
    },
    /// Holds where it is what the tool's ball comes over, which it is not held back by (row TP-09).
    Tack,
    /// Lets go again what a tack holds.
    Untack,
}

/// The jaws of a pinching tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jaws {
    /// Distance between the jaw tips \[m\].
    pub opening_m: f64,
    /// Rate of the opening \[m/s\].
    pub opening_velocity_mps: f64,
    /// Whether the closure switch is on (seed-004 S4-35): tissue in contact is then grasped.
    pub closed: bool,
}

/// What a tissue did to one tool during one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reaction {
    /// Force on the tool \[N\]: of a model that goes in sub-steps their mean, so that the force times the
    /// step is the opposite of the impulse that the tissue got in it.
    pub force_n: Vec3,
    /// Of that force, what holds the edge of a blade that parts the tissue \[N\]; zero of other tools.
    pub edge_n: Vec3,
    /// Torque on the tool about its centre \[N m\]; zero for a frictionless sphere.
    pub torque_nm: Vec3,
    /// Force that opens the jaws \[N\], negative where what they hold draws them together; zero
    /// without jaws.
    pub grip_n: f64,
    /// Direction of the force on the tool, the outward normal of the contact where nothing rubs; zero
    /// without contact.
    pub normal: Vec3,
    /// Depth of the tool in the surface \[m\], zero without contact.
    pub penetration_m: f64,
    /// From the tool's place to its proxy's \[m\]: see [`Reaction::proxy_m`]; zero without contact.
    pub to_proxy_m: Vec3,
    /// Slope of the normal force against depth at this instant \[N/m\], a local model for the
    /// time until the next step; zero without contact.
    pub stiffness_npm: f64,
    /// Slope of the normal force against speed \[N s/m\], by viscosity; zero of an elastic tissue, whose
    /// force follows acceleration and not speed.
    pub damping_nspm: f64,
    /// About how much of the force's size is the mesh's and not the tissue's \[N\], at least 0; an
    /// estimate, from this step alone. None without contact, and of models that have no estimate.
    pub error_n: Option<f64>,
    /// Number of separate contacts (nodes or faces).
    pub contacts: u32,
}

impl Default for Reaction {
    fn default() -> Self {
        Self {
            force_n: Vec3::zeros(),
            edge_n: Vec3::zeros(),
            torque_nm: Vec3::zeros(),
            grip_n: 0.0,
            normal: Vec3::zeros(),
            penetration_m: 0.0,
            to_proxy_m: Vec3::zeros(),
            stiffness_npm: 0.0,
            damping_nspm: 0.0,
            error_n: None,
            contacts: 0,
        }
    }
}

impl Reaction {
    /// What is felt after the tool has moved by `way_m` \[m\] while no time passed: the force goes on
    /// along the normal with the local stiffness, never pulls, and is nothing without contact.
    #[must_use]
    #[inline]
    pub fn moved_by(&self, way_m: &Vec3) -> Self {
        let deeper_m = -self.normal.dot(way_m);
        let pressed_n = self.force_n.dot(&self.normal);
        // a contact pulls at nothing
        let more_n = (self.stiffness_npm * deeper_m).max(-pressed_n);
        let force_n = self.force_n + self.normal * more_n;
        let finite = force_n.iter().all(|x| x.is_finite());
        let penetration_m = (self.penetration_m + deeper_m).max(0.0);
        let sunk_m = self.normal * (penetration_m - self.penetration_m);
        let touches = penetration_m > 0.0 && sunk_m.iter().all(|x| x.is_finite());
        Self {
            force_n: if finite { force_n } else { Vec3::zeros() },
            penetration_m,
            to_proxy_m: if touches {
                self.to_proxy_m + sunk_m
            } else {
                Vec3::zeros()
            },
            ..*self
        }
    }

    /// Where the proxy of `tool` is, which felt this \[m\]: the place that the tool would have if its
    /// contact did not give, on the surface as it is now and not in it. It is the tool's own place
    /// without contact, and nowhere, zero, if that is not finite.
    ///
    /// The god-object of Zilles and Salisbury 1995 and the proxy of Ruspini, Kolarov and Khatib 1997, on
    /// a surface that deforms (seed-004, section on the god-object). Here the tissue gives way by its own
    /// law and the contact by a penalty, so the two are apart by what the penalty gives: along the normal
    /// by the depth and, where friction holds, against the way by the tangential force over its
    /// stiffness. A rod's proxy is the rod moved as a whole, that of jaws the mean of both jaws'.
    #[must_use]
    #[inline]
    pub fn proxy_m(&self, tool: &Tool) -> Vec3 {
        let proxy_m = tool.position_m + self.to_proxy_m;
        if proxy_m.iter().all(|x| x.is_finite()) {
            proxy_m
        } else {
            Vec3::zeros()
        }
    }
}

/// Where the energy of a tissue is and went \[J\], cumulative since construction or thaw.
///
/// Balance: `kinetic + elastic + contact - initial = tool_work + edit + mass - dissipated + residual`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ledger {
    /// Kinetic energy now, of all inertia that the solver steps with.
    pub kinetic_j: f64,
    /// Energy stored in the springs now.
    pub elastic_j: f64,
    /// Energy stored in contact and grasp springs now.
    pub contact_j: f64,
    /// Energy that tools have put in.
    pub tool_work_j: f64,
    /// Energy that dashpots have taken out.
    pub dissipated_j: f64,
    /// Energy that edits and parameter updates have put in (negative: taken out).
    pub edit_j: f64,
    /// Kinetic energy that came with mass which a solver gave to nodes or took from them.
    pub mass_j: f64,
    /// What the books do not explain: integration error, reported and bounded by tests.
    pub residual_j: f64,
}

impl Ledger {
    /// Energy inside the tissue now \[J\].
    #[must_use]
    #[inline]
    pub fn stored_j(&self) -> f64 {
        self.kinetic_j + self.elastic_j + self.contact_j
    }
}

/// What a tissue can do, as data: callers ask, and no method answers "unsupported".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caps {
    /// Name of the method, as in `--method`.
    pub method: &'static str,
    /// Number of nodes that can move.
    pub nodes: usize,
    /// Number of elements.
    pub elements: usize,
    /// Most tools that may touch at once.
    pub tools_max: usize,
    /// Whether [`Tool::shaft_m`] is felt.
    pub shafts: bool,
    /// Whether [`Tool::side_m`] is felt.
    pub plates: bool,
    /// Whether [`Tool::jaws`] are felt.
    pub jaws: bool,
    /// Largest `dt` for which the advisor promises stability \[s\].
    pub dt_s_max: f64,
    /// Step below which shorter ones cost time and gain nothing \[s\]; between two steps a caller
    /// goes on with the force and stiffness of the last [`Reaction`].
    pub dt_s_best: f64,
    /// Whether local stiffness may be updated in contact ([`Edit::Stiffen`]).
    pub stiffness_edits: bool,
    /// Whether the stiffness of regions may be updated in contact ([`Edit::Scale`]).
    pub region_edits: bool,
    /// Whether a passive stiffening keeps the force, so that only softening is felt at once.
    pub edits_keep_force: bool,
    /// Whether the tissue may be cut along a plane ([`Edit::Cut`]).
    pub cuts: bool,
    /// Whether [`Tool::instrument`] does its work, and what it did can be taken back and done elsewhere
    /// ([`Edit::Replay`], [`Edit::Undo`], [`Edit::Redo`]).
    pub instruments: bool,
}

impl Caps {
    /// A method that feels no more than balls and takes no edit, at any step up to a second.
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
            dt_s_best: 1e-3,
            stiffness_edits: false,
            region_edits: false,
            edits_keep_force: false,
            cuts: false,
            instruments: false,
        }
    }
}

/// A change to the tissue between two steps. Applying one never allocates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edit<'a> {
    /// Multiply the stiffness around a point by a factor that fades linearly to 1 at the radius.
    ///
    Stiffen {
        /// Centre of the change \[m\], in the rest configuration.
        center_m: Vec3,
        /// Radius within which it acts \[m\].
        radius_m: f64,
        /// Factor at the centre, greater than zero.
        factor: f64,
        /// Whether it is applied as teleop E16 demands of a tissue that a hand feels: a stiffening
        /// keeps every spring's force and moves its rest, a softening keeps the rest and drops the
        /// force; both take energy out. If not, rests stay and the energy changes either way.
        passive: bool,
    },
    /// Multiply the stiffness of a whole layer or inclusion by a factor; a cell that its border crosses
    /// takes the factor to the power of its share, as moduli mix by [`crate::law::Mixing::Geometric`].
    Scale {
        /// Where, in the rest configuration.
        shape: Shape,
        /// Factor, greater than zero.
        factor: f64,
        /// As in [`Edit::Stiffen`].
        passive: bool,
    },
    /// Part the tissue along a plane: remove every element that crosses it (row S4-10), or cut every link
    /// that does where elements have links.
    Cut {
        /// A point of the plane \[m\].
        point_m: Vec3,
        /// Normal of the plane.
        normal: Vec3,
    },
    /// Do what an instrument did to another instance of this tissue, as its [`View::changes`] told, wherever the
    /// elements are now; and what that is to what was told before, so that [`Edit::Undo`] takes back what it would
    /// there. Changes that cannot be made are left out.
    Replay(&'a [Change], Part),
    /// Take the last stroke of an instrument, or the last that was told of, back.
    Undo,
    /// Do again what was taken back last.
    Redo,
}

impl Edit<'_> {
    /// Its name, in one or two words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Stiffen { .. } => "stiffen",
            Self::Scale { .. } => "scale",
            Self::Cut { .. } => "cut",
            Self::Replay(..) => "replay",
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

/// What an edit did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditReport {
    /// Number of elements that changed.
    pub elements: usize,
    /// Energy that the edit put into the tissue \[J\]; negative if it took energy out.
    pub energy_j: f64,
    /// Share of the change that was made, 0 to 1: less than 1 if a passive edit could not pay for all, or, on linked
    /// tissue, where the range of stiffness did not allow all to any element.
    pub share: f64,
}

impl Default for EditReport {
    /// Nothing changed, and that is all that was asked.
    fn default() -> Self {
        Self {
            elements: 0,
            energy_j: 0.0,
            share: 1.0,
        }
    }
}

/// Why an edit was refused; the tissue is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum EditError {
    /// A number was not finite or out of its range.
    #[error("edit field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// [`Caps`] does not list this edit.
    #[error("this tissue does not take the edit `{0}`; see its Caps")]
    Kind(&'static str),
}

/// A borrowed look at the deforming surface, for drawing and measuring.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Positions of the surface nodes now \[m\].
    pub positions_m: &'a [Vec3],
    /// Their rest positions \[m\].
    pub rest_m: &'a [Vec3],
    /// Surface triangles, counter-clockwise seen from outside.
    pub faces: &'a [[u32; 3]],
    /// The energy account.
    pub ledger: Ledger,
    /// One number for which elements are there, linked and held, the same for two instances of a tissue
    /// that are cut alike; none of tissue that has no [`Caps::instruments`].
    pub topology: Option<u64>,
    /// What instruments changed in the last step that took time, in the order in which it was done; what
    /// an edit changed, if that came after.
    pub changes: &'a [Change],
    /// Number of the edit that they are of: changes of one number are taken back as one. 0 of tissue without them.
    pub edit: u32,
}

impl<'a> View<'a> {
    /// The surface of a tissue without instruments, its places now and at rest \[m\].
    #[must_use]
    pub const fn new(
        positions_m: &'a [Vec3],
        rest_m: &'a [Vec3],
        faces: &'a [[u32; 3]],
        ledger: Ledger,
    ) -> Self {
        Self {
            positions_m,
            rest_m,
            faces,
            ledger,
            topology: None,
            changes: &[],
            edit: 0,
        }
    }
}

/// A complete copy of a tissue's state, reusable without allocating.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Every number of the state, in the model's own order.
    pub numbers: Vec<f64>,
    /// Every integer of the state, in the model's own order.
    pub integers: Vec<u64>,
}

impl Snapshot {
    /// What a tissue is now; allocates.
    #[must_use]
    pub fn of(tissue: &dyn Tissue) -> Self {
        let mut snapshot = Self::default();
        tissue.freeze(&mut snapshot);
        snapshot
    }
}

/// Why a snapshot does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ThawError {
    /// It is of another size.
    #[error("snapshot holds {found} numbers; this tissue needs {expected}")]
    Size {
        /// Numbers that this tissue needs.
        expected: usize,
        /// Numbers found.
        found: usize,
    },
    /// Its check sum is not that of what it holds: bits have changed, or it is of another tissue of this size.
    #[error(
        "snapshot has the check sum {found:#018x}; expected {expected:#018x}, that of what it holds"
    )]
    Damaged {
        /// Sum of what it holds.
        expected: u64,
        /// Sum found.
        found: u64,
    },
}

/// A tissue: the model that was built once, and its state.
pub trait Tissue: Send {
    /// What this tissue can do.
    fn caps(&self) -> Caps;

    /// Advance by `dt_s` \[s\] while `tools` touch it; writes one reaction a tool.
    ///
    /// Total: any tool, NaN included, gives finite reactions (an unusable tool touches nothing).
    /// Never allocates. Tools beyond [`Caps::tools_max`] touch nothing.
    ///
    /// A `dt_s` of zero asks what is felt now, at the poses of `tools`, while no time passes: the
    /// tissue stays bit for bit as it is and its ledger books nothing. The least that every model
    /// answers is [`Reaction::moved_by`] from the last step that took time; a tool that is new or
    /// leapt by more than its radius since then touches nothing. No work is booked for it, so a caller
    /// must not live on it: it is for a tick that is late, with the next one as long as usual.
    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]);

    /// Change the tissue between two steps; a tissue that takes no edit leaves this as it is.
    ///
    /// # Errors
    /// [`EditError`] if a field is out of range or the kind is not in [`Caps`].
    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        Err(EditError::Kind(edit.kind()))
    }

    /// The surface now, and the energy account.
    fn view(&self) -> View<'_>;

    /// Copy the state into `snapshot`; a reused snapshot does not allocate.
    fn freeze(&self, snapshot: &mut Snapshot);

    /// Put a state back, bit for bit.
    ///
    /// # Errors
    /// [`ThawError`] if the snapshot is of another size or, where a model can tell, damaged; the state is then
    /// unchanged.
    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError>;
}
