//! Fields of the ticks of a recording, read from its bytes by the message definition that it contains.
//!
//! Source: OMG CDR (little-endian; a number is aligned to its size, counted from behind the four-byte header) and the
//! `.msg` text of ROS 2. It shares no code with the program.

use std::collections::BTreeMap;

/// Numbers of one field, by the name of the field.
pub(crate) type Fields = BTreeMap<String, Vec<f64>>;

/// Returns the messages of a topic of an MCAP file, in the order of the file, with the fields `wanted`.
pub(crate) fn messages(file: &[u8], topic: &str, wanted: &[&str]) -> Vec<Fields> {
    let all = mcap::MessageStream::new(file).expect("MCAP");
    let all = all.map(|message| message.expect("a whole message"));
    let of_topic = all.filter(|message| message.channel.topic == topic);
    of_topic
        .map(|message| {
            let schema = message.channel.schema.as_ref().expect("a definition");
            let text = std::str::from_utf8(&schema.data).expect("a text");
            decode(text, &message.data, wanted)
        })
        .collect()
}

/// Decodes a message of numbers and arrays of fixed length.
fn decode(definition: &str, data: &[u8], wanted: &[&str]) -> Fields {
    assert_eq!(data[..2], [0, 1], "CDR, little-endian");
    let body = &data[4..];
    let (mut at, mut fields) = (0, Fields::new());
    for line in definition.lines().filter(|line| !line.is_empty()) {
        let (kind, name) = line.split_once(' ').expect("a type and a name");
        let (kind, count) = match kind.split_once('[') {
            Some((kind, count)) => (kind, count.trim_end_matches(']').parse().expect("a length")),
            None => (kind, 1),
        };
        let values = (0..count).map(|_| number(kind, body, &mut at)).collect();
        if wanted.contains(&name) {
            fields.insert(name.to_owned(), values);
        }
    }
    assert_eq!(at, body.len(), "every byte belongs to a field");
    fields
}

/// Reads a number at an offset, and moves the offset behind it. Integers of ticks are below 2^53.
fn number(kind: &str, body: &[u8], at: &mut usize) -> f64 {
    let size = match kind {
        "uint8" | "bool" | "byte" => 1,
        "uint16" | "int16" => 2,
        "uint32" | "int32" => 4,
        "uint64" | "int64" | "float64" => 8,
        other => panic!("a tick has no field of type {other}"),
    };
    *at = at.next_multiple_of(size);
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&body[*at..*at + size]);
    *at += size;
    let bits = u64::from_le_bytes(bytes);
    match kind {
        "float64" => f64::from_bits(bits),
        "int64" => bits.cast_signed() as f64,
        _ => bits as f64,
    }
}
