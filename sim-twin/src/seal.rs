//! A sum over a snapshot, by which a damaged one and one of another tissue are known.
//!
//! Source: ours. It begins with a number for what the tissue is made of and takes in every word of the snapshot,
//! so that one bit that is wrong gives another sum. It is no proof against whoever forges one.

use crate::twin::{Snapshot, ThawError};

/// Takes a word into a sum: another word gives another sum, as another sum before does.
#[inline]
pub const fn stirred_in(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

/// A number for these numbers.
pub fn kin(numbers: impl IntoIterator<Item = f64>) -> u64 {
    let bits = numbers.into_iter().map(f64::to_bits);
    bits.fold(0, stirred_in)
}

/// The sum of a snapshot of tissue of a kin, but for its last `less` integers.
fn sum(kin: u64, snapshot: &Snapshot, less: usize) -> u64 {
    let numbers = snapshot.numbers.iter().map(|number| number.to_bits());
    let held = snapshot.integers.len().saturating_sub(less);
    let integers = snapshot.integers[..held].iter().copied();
    numbers.chain(integers).fold(kin, stirred_in)
}

/// Ends a snapshot with its sum.
pub fn seal(kin: u64, snapshot: &mut Snapshot) {
    let sum = sum(kin, snapshot, 0);
    snapshot.integers.push(sum);
}

/// Whether the last integer of a snapshot is the sum of all before.
///
/// # Errors
/// [`ThawError::Damaged`] if not.
pub fn checked(kin: u64, snapshot: &Snapshot) -> Result<(), ThawError> {
    let found = snapshot.integers.last().copied().unwrap_or_default();
    let expected = sum(kin, snapshot, 1);
    if found == expected {
        Ok(())
    } else {
        Err(ThawError::Damaged { expected, found })
    }
}
