//! The record of one tick of one side: what a recorder keeps and an auditor reads.

use serde::{Deserialize, Serialize};

use crate::Axes;

/// Which side of the link wrote a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Master => Self::Slave,
            Self::Slave => Self::Master,
        }
    }
}

/// Bits of [`TickRecord::events`]: what the energy account and the guards did in a tick.
pub struct Events;

impl Events {
    /// The account could not pay the demand and lowered it.
    pub const UNPAID: u32 = 1;
    /// Damping was added to repay a debt.
    pub const REPAID: u32 = 1 << 1;
    /// A speed limit acted.
    pub const SPEED: u32 = 1 << 2;
    /// A force limit acted.
    pub const FORCE: u32 = 1 << 3;
    /// The workspace limit acted.
    pub const WORKSPACE: u32 = 1 << 4;
    /// The data watchdog is tripped: nothing fresh for too long.
    pub const STALE: u32 = 1 << 5;
    /// The slew limit acted.
    pub const SLEW: u32 = 1 << 6;
    /// A reading was not a number or out of its range; the fault latched.
    pub const INVALID: u32 = 1 << 7;
    /// The twin's stiffness was updated.
    pub const UPDATED: u32 = 1 << 8;
    /// The contact force limit stopped motion into the tissue.
    pub const CONTACT: u32 = 1 << 9;
    /// The tick was too late for a step of the twin, which was asked instead what is felt now.
    pub const MASKED: u32 = 1 << 10;
    /// A method's own passivity controller changed its demand, before the account had its word.
    pub const CONTROLLED: u32 = 1 << 11;
    /// The waves that arrive were made in an earlier epoch of the wave impedance than those that are sent
    /// (master only): a retune is under way in the line.
    pub const RETUNING: u32 = 1 << 12;
    /// An instrument only pressed: the remote tissue is not known to be open as the twin is, or strokes have no
    /// place left (master only).
    pub const BLUNTED: u32 = 1 << 13;
}

/// Bits of [`TickRecord::given`]: what a tick was given beside its device's reading and a frame.
pub struct Given;

impl Given {
    /// The shell has noted what the tick was given; without it nothing of it is known.
    pub const NOTED: u32 = 1;
    /// The operator was present.
    pub const PRESENT: u32 = 1 << 1;
    /// The tweezers' switch was on.
    pub const CLOSED: u32 = 1 << 2;
    /// So many ticks had been missed that motion began anew.
    pub const PAUSED: u32 = 1 << 3;
    /// It was too late for a step of the twin.
    pub const MASKED: u32 = 1 << 4;
    /// A latched fault was to be cleared.
    pub const REARM: u32 = 1 << 5;
    /// The robot was to stand still.
    pub const HALT: u32 = 1 << 6;
    /// The contact force was known.
    pub const FORCE_VALID: u32 = 1 << 7;
    /// The device's reading was plausible; else the record has the last one that was.
    pub const USABLE: u32 = 1 << 8;
    /// The device let go of the last force before this tick, see [`TickRecord::held_to_m`].
    pub const LET_GO: u32 = 1 << 9;
    /// The stroke [`TickRecord::strokes`] had come in order and was refused by the tissue (slave).
    pub const REFUSED: u32 = 1 << 10;
    /// The hand put its tool down and took the other one.
    pub const SWAPPED: u32 = 1 << 11;
}

/// One tick of one side, of fixed size; what a field means on each side is said there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TickRecord {
    /// Who wrote it.
    pub side: Side,
    /// Number of the tick.
    pub tick: u64,
    /// When the tick ran, on this side's clock \[ns\].
    pub now_ns: i64,
    /// How late the tick woke after its deadline \[ns\].
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
    /// Force that the twin gave (master) or that the sensor measured (slave) \[N\].
    pub tissue_force_n: Axes,
    /// Outgoing wave \[sqrt(W)\].
    pub wave_out: Axes,
    /// Incoming wave as used \[sqrt(W)\].
    pub wave_in: Axes,
    /// Energy reservoir of this side \[J\].
    pub reservoir_j: Axes,
    /// Energy sent since the peer began \[J\].
    pub energy_sent_j: Axes,
    /// Energy received since the peer began \[J\].
    pub energy_received_j: Axes,
    /// Energy stored inside the tissue of this side \[J\].
    pub tissue_energy_j: f64,
    /// Energy that model updates have put into the twin, cumulative \[J\].
    pub update_energy_j: f64,
    /// Relative changes that corrections and updates made to the rendered force, their sizes summed
    /// since the start (master).
    pub corrected: f64,
    /// How well the twin is known where it is touched, 0 (as it was given) to 1 (as it was pressed) (master).
    pub confidence: f64,
    /// Share of the twin's force in what is felt, 0 to 1; the rest is relayed (master).
    pub twin_share: f64,
    /// Where the operator meant to be (master; simulated operators only) \[m\].
    pub intended_m: Axes,
    /// Age of the newest frame, receive side, own clock and offset applied \[ns\].
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
    /// Bits of what the energy account and the guards did, see the tick's `events`.
    pub events: u32,
    /// Operating state, as CRTK numbers it here: 0 disabled, 1 enabled, 2 paused, 3 fault.
    pub state: u8,
    /// Phase of the operator's script (master; 0 if none).
    pub phase: u16,
    /// What the tick was given, see [`Given`]; the shell notes this and the fields below, so that the
    /// tick can be run again.
    pub given: u32,
    /// Periods that it accounted for.
    pub periods: u32,
    /// When it ran on its own side's clock, whatever clock `now_ns` was moved to \[ns\].
    pub given_ns: i64,
    /// Number of the frame in the mailbox; 0 if there was none.
    pub frame_sequence: u64,
    /// When that had been received, on the same clock \[ns\].
    pub frame_received_ns: i64,
    /// How far the force of the tick before was held (master) \[m\]: where the device let go of it,
    /// because nobody renewed it in time, else the port's position; 0 on the slave, whose port does
    /// not move between its ticks.
    pub held_to_m: Axes,
    /// What the operator's tool was to do beside pressing (master): 0 nothing, else a number that the shell
    /// gives and reads.
    pub instrument: u8,
    /// The length that goes with it \[m\].
    pub instrument_m: [f64; 3],
    /// Strokes that the operator has asked to be taken back, and done again, since the start (master).
    pub revisions: [u16; 2],
    /// Strokes since the tissue was whole: of the twin (master), or over at the tissue (slave).
    pub strokes: u64,
    /// Which elements are there, linked and held after those, see [`crate::HapticFrame::topology`].
    pub topology: u64,
    /// Links that instruments have cut, less those that they made.
    pub links_cut: i64,
    /// Where the tool is that the hand has put down, and the opening of its jaws \[m\]; all 0 of none.
    pub parked_m: Axes,
    /// Force of the tissue on that tool, and on its jaws \[N\].
    pub parked_n: Axes,
}
