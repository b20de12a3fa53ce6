//! Hash of the port traces of a session: positions and forces, bit by bit, and the topologies of the tissues.

use palpate_transport::trace::{Side, TickRecord};
use xxhash_rust::xxh3::Xxh3;

/// Hash of all ticks so far, in the order of their absorption.
#[derive(Clone, Default)]
pub struct TraceHash {
    hash: Xxh3,
    /// Edit batches and topology of each side's tissue in its last tick.
    tissues: [(u64, u64); 2],
}

impl TraceHash {
    /// Adds a tick of a side.
    pub fn absorb(&mut self, side: Side, record: &TickRecord) {
        for number in record.port_position_m.iter().chain(&record.port_force_n) {
            self.hash.update(&number.to_bits().to_le_bytes());
        }
        self.tissues[side as usize] = (record.edit_batches, record.topology);
    }

    /// The hash as 16 hexadecimal digits; includes the present topologies of the tissues, if they can be edited.
    #[must_use]
    pub fn text(&self) -> String {
        let mut hash = self.hash.clone();
        for (batches, topology) in self.tissues {
            if topology != 0 {
                hash.update(&batches.to_le_bytes());
                hash.update(&topology.to_le_bytes());
            }
        }
        format!("{:016x}", hash.digest())
    }
}
