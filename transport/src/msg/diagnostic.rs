//! Messages for tests of the codec only: sequences of structures of texts, and a number.

use serde::{Deserialize, Serialize};

use super::{FieldKind, Header, MessageField, Primitive, message};

message! {
    "diagnostic_msgs/msg/KeyValue"
    /// A named value, as text.
    #[derive(Eq, Default)]
    pub(crate) struct KeyValue {
        /// Name.
        pub key: String,
        /// Value.
        pub value: String,
    }
}

/// An octet of ROS 2 type `byte` instead of `uint8`, which has another type hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Octet(pub u8);
impl MessageField for Octet {
    const KIND: FieldKind = FieldKind::Primitive(Primitive::Byte);
}

message! {
    "diagnostic_msgs/msg/DiagnosticStatus"
    /// State of one component.
    #[derive(Eq, Default)]
    pub(crate) struct DiagnosticStatus {
        /// 0 well, 1 warning, 2 error, 3 stale.
        pub level: Octet,
        /// Component.
        pub name: String,
        /// Description of the state.
        pub message: String,
        /// Name of the hardware.
        pub hardware_id: String,
        /// Numbers that belong to the state.
        pub values: Vec<KeyValue>,
    }
}

message! {
    "diagnostic_msgs/msg/DiagnosticArray"
    /// State of all components.
    #[derive(Eq, Default)]
    pub(crate) struct DiagnosticArray {
        /// Time of the report.
        pub header: Header,
        /// Components.
        pub status: Vec<DiagnosticStatus>,
    }
}

message! {
    "std_msgs/msg/Float64"
    /// One number.
    #[derive(Copy, Default)]
    pub(crate) struct Float64 {
        /// The number.
        pub data: f64,
    }
}
