//! Messages of `diagnostic_msgs`, which nobody sends: sequences of structures of texts, to judge the codec by.

use serde::{Deserialize, Serialize};

use super::{Description, Field, Header, Kind, Message, Primitive};

/// A named value, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct KeyValue {
    /// Name.
    pub key: String,
    /// Value.
    pub value: String,
}
describe!(KeyValue, "diagnostic_msgs/msg/KeyValue", { key: String, value: String });

/// An octet that ROS 2 calls `byte` and not `uint8`: another type hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Octet(pub u8);
impl Field for Octet {
    const KIND: Kind = Kind::Primitive(Primitive::Byte);
}

/// State of one component.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DiagnosticStatus {
    /// 0 well, 1 warning, 2 error, 3 stale.
    pub level: Octet,
    /// Component.
    pub name: String,
    /// What is the matter.
    pub message: String,
    /// Which piece of hardware.
    pub hardware_id: String,
    /// Numbers that go with it.
    pub values: Vec<KeyValue>,
}
describe!(DiagnosticStatus, "diagnostic_msgs/msg/DiagnosticStatus", {
    level: Octet, name: String, message: String, hardware_id: String, values: Vec<KeyValue>,
});

/// State of all components.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DiagnosticArray {
    /// When.
    pub header: Header,
    /// Components.
    pub status: Vec<DiagnosticStatus>,
}
describe!(DiagnosticArray, "diagnostic_msgs/msg/DiagnosticArray", {
    header: Header, status: Vec<DiagnosticStatus>,
});
