//! ROS 2 schema of a message type: its `.msg` text, DDS name and RIHS01 hash.
//!
//! Source: transport section 5. RIHS01 is SHA-256 over a JSON text of the type and of every type it
//! refers to, sorted by name. A sample with another hash reaches no subscriber, without an error.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{FieldKind, MessageDescription, Primitive};

/// Line between the parts of a concatenated `ros2msg` schema.
const SEPARATOR: &str =
    "================================================================================";

/// `package/msg/Name` as DDS spells it: `package::msg::dds_::Name_`.
#[must_use]
pub(crate) fn dds_name(description: &MessageDescription) -> String {
    let (path, name) = split_name(description);
    format!("{}::dds_::{name}_", path.replace('/', "::"))
}

/// Returns the type hash, `RIHS01_` and 64 hexadecimal digits.
#[must_use]
pub fn rihs01(description: &MessageDescription) -> String {
    let mut text = String::from("RIHS01_");
    for byte in Sha256::digest(hashed_text(description)) {
        push(&mut text, format_args!("{byte:02x}"));
    }
    text
}

/// Returns the type's `.msg` text followed by those it refers to: the MCAP schema encoding `ros2msg`.
#[must_use]
pub fn ros2msg(description: &MessageDescription) -> String {
    let mut text = msg_text(description);
    for nested in references(description).values() {
        push(
            &mut text,
            format_args!("{SEPARATOR}\nMSG: {}\n", short_name(nested)),
        );
        text.push_str(&msg_text(nested));
    }
    text
}

/// Types referred to, directly or not, by name.
fn references(
    description: &MessageDescription,
) -> BTreeMap<&'static str, &'static MessageDescription> {
    let mut found = BTreeMap::new();
    for (_, kind) in description.fields {
        collect(kind, &mut found);
    }
    found
}

fn collect(kind: &FieldKind, found: &mut BTreeMap<&'static str, &'static MessageDescription>) {
    match kind {
        FieldKind::Primitive(_) | FieldKind::String => {}
        FieldKind::Array(_, element) | FieldKind::Sequence(element) => collect(element, found),
        FieldKind::Nested(description) => {
            if found.insert(description.name, description).is_none() {
                for (_, kind) in description.fields {
                    collect(kind, found);
                }
            }
        }
    }
}

fn split_name(description: &MessageDescription) -> (&'static str, &'static str) {
    description
        .name
        .rsplit_once('/')
        .unwrap_or(("", description.name))
}

/// `package/Name`, as `.msg` texts write it.
fn short_name(description: &MessageDescription) -> String {
    description.name.replacen("/msg/", "/", 1)
}

fn msg_text(description: &MessageDescription) -> String {
    let mut text = String::new();
    for (name, kind) in description.fields {
        push(&mut text, format_args!("{} {name}\n", msg_type(kind)));
    }
    text
}

fn msg_type(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Primitive(primitive) => primitive_row(*primitive).1.to_owned(),
        FieldKind::String => "string".to_owned(),
        FieldKind::Nested(description) => short_name(description),
        FieldKind::Array(count, element) => format!("{}[{count}]", msg_type(element)),
        FieldKind::Sequence(element) => format!("{}[]", msg_type(element)),
    }
}

/// Number of a primitive in `type_description_interfaces/msg/FieldType`, and its `.msg` name.
fn primitive_row(primitive: Primitive) -> (u8, &'static str) {
    match primitive {
        Primitive::Uint8 => (3, "uint8"),
        Primitive::Int16 => (4, "int16"),
        Primitive::Uint16 => (5, "uint16"),
        Primitive::Int32 => (6, "int32"),
        Primitive::Uint32 => (7, "uint32"),
        Primitive::Int64 => (8, "int64"),
        Primitive::Uint64 => (9, "uint64"),
        Primitive::Float64 => (11, "float64"),
        Primitive::Bool => (15, "bool"),
        Primitive::Byte => (16, "byte"),
    }
}

/// Type number, capacity and nested name of a field; arrays add 48, sequences 144.
fn hashed_type(kind: &FieldKind) -> (u8, usize, &'static str) {
    match kind {
        FieldKind::Nested(description) => (1, 0, description.name),
        FieldKind::Primitive(primitive) => (primitive_row(*primitive).0, 0, ""),
        FieldKind::String => (17, 0, ""),
        FieldKind::Array(count, element) => {
            let (id, _, name) = hashed_type(element);
            (id + 48, *count, name)
        }
        FieldKind::Sequence(element) => {
            let (id, _, name) = hashed_type(element);
            (id + 144, 0, name)
        }
    }
}

fn hashed_text(description: &MessageDescription) -> String {
    let mut text = String::from("{\"type_description\": ");
    push_hashed(&mut text, description);
    text.push_str(", \"referenced_type_descriptions\": [");
    for (index, nested) in references(description).values().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        push_hashed(&mut text, nested);
    }
    text.push_str("]}");
    text
}

fn push_hashed(text: &mut String, description: &MessageDescription) {
    push(
        text,
        format_args!("{{\"type_name\": \"{}\", \"fields\": [", description.name),
    );
    for (index, (name, kind)) in description.fields.iter().enumerate() {
        let (id, capacity, nested) = hashed_type(kind);
        text.push_str(if index == 0 { "" } else { ", " });
        push(
            text,
            format_args!(
                "{{\"name\": \"{name}\", \"type\": {{\"type_id\": {id}, \"capacity\": {capacity}, \
                 \"string_capacity\": 0, \"nested_type_name\": \"{nested}\"}}}}"
            ),
        );
    }
    text.push_str("]}");
}

/// Appends to a `String`, which cannot fail.
fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(piece);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HapticFrame;
    use crate::msg::*;

    /// transport section 5, table of type hashes: exact.
    #[test]
    fn hashes_match_ros_2() {
        let table = [
            (
                WrenchStamped::DESCRIPTION,
                "8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77",
            ),
            (
                PoseStamped::DESCRIPTION,
                "10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
            ),
            (
                TwistStamped::DESCRIPTION,
                "5f0fcd4f81d5d06ad9b4c4c63e3ea51b82d6ae4d0558f1d475229b1121db6f64",
            ),
            (
                JointState::DESCRIPTION,
                "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
            ),
            (
                Header::DESCRIPTION,
                "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01",
            ),
            (
                diagnostic::Float64::DESCRIPTION,
                "705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a",
            ),
            (
                diagnostic::DiagnosticArray::DESCRIPTION,
                "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
            ),
            (
                OperatingStateReport::DESCRIPTION,
                "5cc57eea589b217fe5194bf2735b91d4a7f2dd5ac1245ae657f7ea7590c2c80e",
            ),
        ];
        for (description, hash) in table {
            assert_eq!(
                rihs01(description),
                format!("RIHS01_{hash}"),
                "{}",
                description.name
            );
        }
    }

    #[test]
    fn names_match_dds() {
        assert_eq!(
            dds_name(WrenchStamped::DESCRIPTION),
            "geometry_msgs::msg::dds_::WrenchStamped_"
        );
    }

    #[test]
    fn msg_text_lists_the_type_and_its_references() {
        let text = ros2msg(WrenchStamped::DESCRIPTION);
        assert!(text.starts_with("std_msgs/Header header\ngeometry_msgs/Wrench wrench\n===="));
        let parts: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("MSG: "))
            .collect();
        assert_eq!(
            parts,
            [
                "builtin_interfaces/Time",
                "geometry_msgs/Vector3",
                "geometry_msgs/Wrench",
                "std_msgs/Header"
            ]
        );
        let frame = ros2msg(HapticFrame::DESCRIPTION);
        assert!(frame.contains("\nfloat64[4] position_m\n"), "{frame}");
        assert!(ros2msg(JointState::DESCRIPTION).contains("\nstring[] name\nfloat64[] position\n"));
    }
}
