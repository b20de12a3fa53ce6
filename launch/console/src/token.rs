//! Token of a run: 128 random bits as hexadecimal digits.

use std::fs::File;
use std::io::{self, Read as _};

/// Source of the system's random numbers.
const SOURCE: &str = "/dev/urandom";

/// Returns a new token.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn generate() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open(SOURCE)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns true if two texts are equal, in a time that does not depend on the place of a difference.
pub(super) fn constant_time_eq(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes());
    one.len() == other.len() && differs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_compared_whole() {
        let (one, other) = (generate().expect("random"), generate().expect("random"));
        assert!(one.len() == 32 && one != other && constant_time_eq(&one, &one.clone()));
        assert!(
            !constant_time_eq(&one, &other)
                && !constant_time_eq(&one, &one[..31])
                && !constant_time_eq("", "x")
        );
    }
}
