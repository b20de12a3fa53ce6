//! The token of a run: 128 bits that nobody can guess, as hexadecimal digits.

use std::fs::File;
use std::io::{self, Read as _};

/// Where the system's random numbers are.
const SOURCE: &str = "/dev/urandom";

/// A new token.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open(SOURCE)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
pub(super) fn same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes());
    one.len() == other.len() && differs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_compared_whole() {
        let (one, other) = (token().expect("random"), token().expect("random"));
        assert!(one.len() == 32 && one != other && same(&one, &one.clone()));
        assert!(!same(&one, &other) && !same(&one, &one[..31]) && !same("", "x"));
    }
}
