//! Checksum of a snapshot, by which a damaged snapshot or one of another tissue is refused.
//!
//! Source: ours. The sum starts from a hash of the tissue's model and includes every word of the snapshot,
//! so that one wrong bit gives another sum. It does not protect against forgery.

use crate::twin::{Snapshot, SnapshotError};

/// Adds a word to a sum. The result differs for every word and for every previous sum.
#[inline]
pub const fn hash_word(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

/// Pseudo-random number after `number`: SplitMix64 (Steele, Lea and Flood 2014).
#[inline]
pub const fn split_mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Hash of the numbers that describe a model.
pub fn model_hash(numbers: impl IntoIterator<Item = f64>) -> u64 {
    let bits = numbers.into_iter().map(f64::to_bits);
    bits.fold(0, hash_word)
}

/// Sum of a snapshot, without its last `less` integers, for the model with hash `model_hash`.
pub(crate) fn snapshot_checksum(model_hash: u64, snapshot: &Snapshot, less: usize) -> u64 {
    let numbers = snapshot.numbers.iter().map(|number| number.to_bits());
    let held = snapshot.integers.len().saturating_sub(less);
    let integers = snapshot.integers[..held].iter().copied();
    numbers.chain(integers).fold(model_hash, hash_word)
}

/// Checks that the last integer of a snapshot is the sum of all values before it.
///
/// # Errors
/// [`SnapshotError::Damaged`] if not.
pub fn verify_checksum(model_hash: u64, snapshot: &Snapshot) -> Result<(), SnapshotError> {
    let found = snapshot.integers.last().copied().unwrap_or_default();
    let expected = snapshot_checksum(model_hash, snapshot, 1);
    if found != expected {
        return Err(SnapshotError::Damaged { expected, found });
    }
    Ok(())
}
