//! Hash of the port traces of a session: positions and forces, bit by bit, and how the tissues are linked.

use palpate_transport::trace::{Side, TickRecord};
use xxhash_rust::xxh3::Xxh3;

/// Hash of all ticks so far, in the order in which they were given.
#[derive(Clone)]
pub struct TraceHash {
    hash: Xxh3,
    /// Strokes and links of the tissue of each side in its last tick.
    tissues: [(u64, u64); 2],
}

impl Default for TraceHash {
    fn default() -> Self {
        Self {
            hash: Xxh3::new(),
            tissues: [(0, 0); 2],
        }
    }
}

impl TraceHash {
    /// Add a tick of a side.
    pub fn absorb(&mut self, side: Side, record: &TickRecord) {
        for number in record.port_position_m.iter().chain(&record.port_force_n) {
            self.hash.update(&number.to_bits().to_le_bytes());
        }
        self.tissues[side as usize] = (record.strokes, record.topology);
    }

    /// The hash in 16 digits; what instruments have made of both tissues counts as it is now, if they made anything.
    #[must_use]
    pub fn text(&self) -> String {
        let mut hash = self.hash.clone();
        for (strokes, topology) in self.tissues {
            if topology != 0 {
                hash.update(&strokes.to_le_bytes());
                hash.update(&topology.to_le_bytes());
            }
        }
        format!("{:016x}", hash.digest())
    }
}
