//! Record of one tick of one side, for recorders and auditors.

use serde::{Deserialize, Serialize};

use crate::Axes;
use crate::msg::message;

/// Side of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Side {
    /// The operator's side.
    #[default]
    Master = 0,
    /// The remote side.
    Slave = 1,
}

impl Side {
    /// Name, as of commands, nodes and topics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Slave => "slave",
        }
    }

    /// Returns the other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Master => Self::Slave,
            Self::Slave => Self::Master,
        }
    }
}

/// Bits of [`TickRecord::events`]: actions of the energy tank and the guards in a tick.
pub struct EventFlags;

impl EventFlags {
    /// The energy tank could not pay the demand and lowered it.
    pub const TANK_LIMITED: u32 = 1;
    /// Damping was added to repay a negative tank level.
    pub const DEBT_DAMPING: u32 = 1 << 1;
    /// A speed limit acted.
    pub const SPEED_LIMIT: u32 = 1 << 2;
    /// A force limit acted.
    pub const FORCE_LIMIT: u32 = 1 << 3;
    /// The workspace limit acted.
    pub const WORKSPACE_LIMIT: u32 = 1 << 4;
    /// The data watchdog has tripped: nothing fresh for too long.
    pub const STALE: u32 = 1 << 5;
    /// The slew limit of the force acted.
    pub const SLEW_LIMIT: u32 = 1 << 6;
    /// A reading was not a number or out of its range; the fault latched.
    pub const INVALID_READING: u32 = 1 << 7;
    /// The twin's stiffness was updated.
    pub const TWIN_UPDATED: u32 = 1 << 8;
    /// The contact force limit stopped motion into the tissue.
    pub const CONTACT_LIMIT: u32 = 1 << 9;
    /// The tick was too late for a step of the twin, which returned its force without one.
    pub const DEADLINE_FALLBACK: u32 = 1 << 10;
    /// A method's own passivity controller changed its demand, before the energy tank limited it.
    pub const PASSIVITY_CONTROL: u32 = 1 << 11;
    /// Incoming waves were made in an earlier epoch of the wave impedance than outgoing ones (master only):
    /// a change of the impedance is in progress.
    pub const RETUNING: u32 = 1 << 12;
    /// Cutting is blocked and the instrument only presses: the remote tissue is not confirmed to match the twin, or
    /// there is no room for further edit batches (master only).
    pub const CUTTING_BLOCKED: u32 = 1 << 13;
    /// The tissue of this side, the twin or the simulated remote tissue, collapsed and was rebuilt; the fault latched.
    pub const TISSUE_COLLAPSED: u32 = 1 << 14;
    /// The other side returned more energy than it was sent and its declared budget; the rest was refused (master
    /// only).
    pub const CREDIT_REFUSED: u32 = 1 << 16;
    /// The force on the hand fell faster than its slew limit, as the energy tank could not pay for a slower fall.
    pub const UNPAID_FALL: u32 = 1 << 17;
    /// A limit cycle was detected in the force on the hand, which fades until half a second after it.
    pub const LIMIT_CYCLE: u32 = 1 << 18;
    /// A received frame was refused: no declared device can have sent it.
    pub const FRAME_REFUSED: u32 = 1 << 19;
}

/// Bits of [`TickRecord::given`]: inputs of a tick besides its device's reading and a frame.
pub struct InputFlags;

impl InputFlags {
    /// The inputs of the tick are recorded; without this bit the others mean nothing.
    pub const RECORDED: u32 = 1;
    /// The operator was present.
    pub const OPERATOR_PRESENT: u32 = 1 << 1;
    /// The tweezers' switch was on.
    pub const GRIPPER_CLOSED: u32 = 1 << 2;
    /// Motion restarted, as more ticks were missed than one tick accounts for.
    pub const LONG_GAP: u32 = 1 << 3;
    /// The tick was too late for a step of the twin.
    pub const DEADLINE_FALLBACK: u32 = 1 << 4;
    /// A latched fault was to be cleared.
    pub const REARM: u32 = 1 << 5;
    /// The robot was to stand still.
    pub const HALT: u32 = 1 << 6;
    /// The contact force was known.
    pub const FORCE_VALID: u32 = 1 << 7;
    /// The device's reading was plausible; otherwise the record has the last plausible one.
    pub const READING_PLAUSIBLE: u32 = 1 << 8;
    /// The device released the last force before this tick, see [`TickRecord::held_to_m`].
    pub const FORCE_RELEASED: u32 = 1 << 9;
    /// The edit batch [`TickRecord::edit_batches`] arrived in order and the tissue refused it (slave).
    pub const EDIT_REFUSED: u32 = 1 << 10;
    /// The operator put down the tool and took the other one.
    pub const TOOL_SWAPPED: u32 = 1 << 11;
    /// The simulated tissue collapsed since the last tick and was rebuilt (slave).
    pub const TISSUE_COLLAPSED: u32 = 1 << 12;
}

message! {
    "palpate_msgs/msg/TickRecord"
    /// One tick of one side, of fixed size; fields that differ by side say so.
    #[derive(Copy, Default)]
    pub struct TickRecord {
        /// Side that wrote the record.
        pub side: Side,
        /// Number of the tick.
        pub tick: u64,
        /// Time of the tick, on this side's clock \[ns\].
        pub now_ns: i64,
        /// Lateness of the wake-up after its deadline \[ns\].
        pub late_ns: i64,
        /// Own CPU time of the tick \[ns\]; 0 in virtual time.
        pub compute_ns: i64,
        /// Measured position: handle or robot \[m\].
        pub position_m: Axes,
        /// Measured velocity \[m/s\].
        pub velocity_mps: Axes,
        /// Position of the channel's port \[m\]: the handle's position (master) or x_sd (slave).
        pub port_position_m: Axes,
        /// Force at the channel's port during the *next* interval (master, held by the motors) or
        /// during the interval that ends now (slave, computed together with x_sd) \[N\].
        pub port_force_n: Axes,
        /// Force computed by the twin (master) or measured by the sensor (slave) \[N\].
        pub tissue_force_n: Axes,
        /// Outgoing wave \[sqrt(W)\].
        pub wave_out: Axes,
        /// Incoming wave as used \[sqrt(W)\].
        pub wave_in: Axes,
        /// Level of this side's energy tank \[J\].
        pub tank_j: Axes,
        /// Energy sent since the peer began \[J\].
        pub energy_sent_j: Axes,
        /// Energy received since the peer began \[J\].
        pub energy_received_j: Axes,
        /// Energy stored inside the tissue of this side \[J\].
        pub tissue_energy_j: f64,
        /// Energy that model updates have put into the twin, cumulative \[J\].
        pub update_energy_j: f64,
        /// Sum of the relative sizes of all corrections and updates of the rendered force since the start
        /// (master).
        pub corrected: f64,
        /// Confidence in the twin at the contact, 0 (initial model) to 1 (measured by pressing there) (master).
        pub confidence: f64,
        /// Fraction of the twin's force in the rendered force, 0 to 1; the rest is relayed (master).
        pub twin_share: f64,
        /// Position that the operator intended (master; simulated operators only) \[m\].
        pub intended_m: Axes,
        /// Age of the newest frame at the receiver, on its own clock with the offset applied \[ns\].
        pub age_ns: i64,
        /// Estimated one-way delay of the incoming direction \[ns\]; -1 if unknown.
        pub oneway_ns: i64,
        /// Bound of that estimate's error \[ns\]; -1 if unknown.
        pub oneway_bound_ns: i64,
        /// Newest round trip \[ns\]; -1 if unknown.
        pub rtt_ns: i64,
        /// Sequence number of the newest frame received.
        pub received_sequence: u64,
        /// Frames received so far (duplicates and stragglers excluded).
        pub received_count: u64,
        /// Actions of the energy tank and the guards, bits of [`EventFlags`].
        pub events: u32,
        /// Operating state with CRTK's numbers here: 0 disabled, 1 enabled, 2 paused, 3 fault.
        pub state: u8,
        /// Phase of the operator's script (master; 0 if none).
        pub phase: u16,
        /// Inputs of the tick, bits of [`InputFlags`]; the shell records these and the fields below, so that
        /// the tick can be run again.
        pub given: u32,
        /// Periods that the tick accounts for.
        pub periods: u32,
        /// Time of the tick on its own side's clock, whatever clock `now_ns` was converted to \[ns\].
        pub given_ns: i64,
        /// Number of the frame in the mailbox; 0 if there was none.
        pub frame_sequence: u64,
        /// Time at which that frame was received, on the same clock \[ns\].
        pub frame_received_ns: i64,
        /// Position up to which the force of the previous tick was held (master) \[m\]: the position at which the
        /// device released it, as it was not renewed in time, otherwise the port's position. Zero on the slave,
        /// whose port does not move between its ticks.
        pub held_to_m: Axes,
        /// Number of the instrument's action besides pressing (master), defined by the shell; 0 is none.
        pub instrument: u8,
        /// Length that belongs to the action \[m\].
        pub instrument_m: [f64; 3],
        /// Counts of undo and redo requests of the operator since the start (master).
        pub revisions: [u16; 2],
        /// Edit batches since the tissue was whole: of the twin (master), or those that
        /// the tissue has finished, applied or refused (slave).
        pub edit_batches: u64,
        /// Hash of the tissue's nodes, links and held nodes after those, see [`crate::HapticFrame::topology`].
        pub topology: u64,
        /// Links cut by instruments, less those that they made.
        pub links_cut: i64,
        /// Position of the tool that was put down, and the opening of its jaws \[m\]; all 0 without one.
        pub parked_m: Axes,
        /// Force of the tissue on that tool, and on its jaws \[N\].
        pub parked_n: Axes,
        /// Height of the twin's surface over that of its scene (master) \[m\].
        pub twin_height_m: f64,
        /// Largest force of the tissue on the probe since the last tick, by axis (slave) \[N\]: the true force of a
        /// simulated tissue, otherwise the measured one.
        pub peak_contact_n: Axes,
    }
}
