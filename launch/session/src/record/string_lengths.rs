//! Lengths of the strings of an MCAP record, checked before the library reserves memory for them.
//!
//! Source: the MCAP specification, "Serialization". A string is a length of 32 bits and its bytes; a map is the length of
//! all its strings, and the strings.

use mcap::records::op;

/// Fields of a record up to its last string: bytes before the first one, number of strings, and whether a map follows.
struct Layout {
    skipped_bytes: usize,
    strings: usize,
    has_map: bool,
}

/// Layout of a record that a recording is read from; none for other records, which have no string.
fn layout(opcode: u8) -> Option<Layout> {
    let (skipped_bytes, strings, has_map) = match opcode {
        op::HEADER => (0, 2, false),
        op::SCHEMA => (2, 2, false),
        op::CHANNEL => (4, 2, true),
        op::CHUNK => (28, 1, false),
        op::ATTACHMENT => (16, 2, false),
        op::METADATA => (0, 1, true),
        _ => return None,
    };
    Some(Layout {
        skipped_bytes,
        strings,
        has_map,
    })
}

/// True if the record holds all bytes that its strings claim.
pub(super) fn fit(opcode: u8, body: &[u8]) -> bool {
    let Some(layout) = layout(opcode) else {
        return true;
    };
    let walk = || {
        let mut rest = body.get(layout.skipped_bytes..)?;
        for _ in 0..layout.strings {
            rest = after_string(rest)?;
        }
        if layout.has_map {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let mut map = rest.get(..u32::from_le_bytes(*length) as usize)?;
            while !map.is_empty() {
                map = after_string(map)?;
            }
        }
        Some(())
    };
    walk().is_some()
}

fn after_string(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.get(u32::from_le_bytes(*length) as usize..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    }

    #[test]
    fn issue_claimed_length_of_a_string_reserved_gigabytes() {
        let map = [string("key"), string("value")].concat();
        let length = (map.len() as u32).to_le_bytes();
        let good = [string("name"), length.to_vec(), map].concat();
        assert!(fit(op::METADATA, &good));
        // every length in it, made too large
        for at in [0, 8, 12, 19] {
            let mut bad = good.clone();
            bad[at + 3] = 0xC0;
            assert!(!fit(op::METADATA, &bad), "at {at}");
        }
        assert!(!fit(op::CHUNK, &[0; 20]));
        assert!(fit(op::MESSAGE, &[]));
    }
}
