//! Replay of a recorded session: tick by tick with the same inputs, or the recorded hand under other
//! conditions.
//!
//! Source: ours (teleop goal 10). [`bitwise`] runs both sides' ticks with their recorded inputs and compares the
//! port traces bit by bit; [`what_if`] lets the recorded hand repeat its motion under a changed configuration, in
//! virtual time. [`twin`] replays the tissue at the handle alone.

pub mod bitwise;
pub mod twin;
pub mod what_if;

use palpate_transport::trace::{InputFlags, Side, TickRecord};

use crate::config::ConfigError;
use crate::pipeline::hash::TraceHash;

/// Reason why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Only one side was recorded.
    #[error(
        "the recording has no ticks of the {missing}, and frames are made anew by its ticks; expected one \
         with both sides, as `palpate lab` and `palpate run` write, or of `palpate rehearse`"
    )]
    OneSide {
        /// The side that is missing.
        missing: &'static str,
    },
    /// The inputs of a tick are not recorded.
    #[error(
        "the recording does not say what tick {tick} of the {side} was given; expected one of this version \
         of Palpate"
    )]
    Inputs {
        /// The side.
        side: &'static str,
        /// Number of the tick.
        tick: u64,
    },
    /// The hand had two tools.
    #[error(
        "in tick {tick} the hand put down its tool and took another; expected a recording of one tool: only a replay \
         of the same inputs has two"
    )]
    TwoTools {
        /// Number of the tick.
        tick: u64,
    },
    /// A record was lost.
    #[error(
        "the {side} has no record between ticks {before} and {after}, which it ran; expected a recording \
         without lost records"
    )]
    Gap {
        /// The side.
        side: &'static str,
        /// Last tick before it.
        before: u64,
        /// First tick after it.
        after: u64,
    },
    /// A tick used a frame that the other side's recorded ticks never made.
    #[error(
        "tick {tick} of the {side} was given frame {sequence}, which the other side's recorded ticks do not \
         make; expected both sides from their first ticks on"
    )]
    Frame {
        /// The side.
        side: &'static str,
        /// Number of the tick.
        tick: u64,
        /// Number of the frame.
        sequence: u64,
    },
    /// Frames were forged.
    #[error(
        "the session has forged frames (liar.master_share, liar.slave_share), which are not recorded; `palpate lab` with \
         its configuration and seed repeats it"
    )]
    Forged,
    /// The configuration is missing or cannot be used.
    #[error("the configuration of the recording: {0}")]
    Config(#[from] ConfigError),
    /// The cache lacks the compliance table that the twin used for late ticks.
    #[error(
        "the session's twin had a condensed table, which the cache lacks; `palpate model condense {scene}` \
         makes it anew"
    )]
    Table {
        /// The twin's scene.
        scene: String,
    },
}

/// Checks that the inputs of all ticks are recorded.
fn check_inputs_recorded(side: &'static str, records: &[TickRecord]) -> Result<(), ReplayError> {
    if records.is_empty() {
        return Err(ReplayError::OneSide { missing: side });
    }
    let bare = records.iter().find(|r| r.given & InputFlags::RECORDED == 0);
    bare.map_or(Ok(()), |bare| {
        let tick = bare.tick;
        Err(ReplayError::Inputs { side, tick })
    })
}

/// Hash of the port traces of two sides, tick by tick, as [`crate::lab::VirtualSession::trace_hash`] returns it.
#[must_use]
pub fn trace_hash(master: &[TickRecord], slave: &[TickRecord]) -> String {
    let mut hash = TraceHash::default();
    for index in 0..master.len().max(slave.len()) {
        for (side, records) in [(Side::Master, master), (Side::Slave, slave)] {
            if let Some(record) = records.get(index) {
                hash.absorb(side, record);
            }
        }
    }
    hash.text()
}
