//! ROS 2 and CRTK messages: their fields, names and topics.
//!
//! `message!` makes a message of a struct: serde writes it, and a static [`MessageDescription`] lists its fields. The rest
//! is computed from the description: the walk that bounds a decoder ([`crate::cdr`]), the `ros2msg` text and the
//! RIHS01 type hash ([`schema`]), and the bus key ([`key`]). [`types`] lists the messages, [`crtk`] the topic names and
//! the operating state, [`attachment`] the 33 bytes that rmw_zenoh sends beside every sample. Source: transport section
//! 5.

pub mod attachment;
pub mod crtk;
#[cfg(test)]
pub(crate) mod diagnostic;
pub mod key;
pub mod schema;
pub mod types;

use serde::{Serialize, de::DeserializeOwned};

use crate::trace::Side;

pub use types::*;

/// Defines a message by its ROS 2 name and a structure, whose fields serde writes and the description lists.
macro_rules! message {
    (
        $name:literal
        $(#[$meta:meta])*
        $vis:vis struct $type:ident {
            $($(#[$about:meta])* $shown:vis $field:ident: $kind:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        $vis struct $type {
            $($(#[$about])* $shown $field: $kind,)+
        }

        impl $crate::msg::Message for $type {
            const DESCRIPTION: &'static $crate::msg::MessageDescription = &$crate::msg::MessageDescription {
                name: $name,
                fields: &[$((stringify!($field), <$kind as $crate::msg::MessageField>::KIND)),+],
            };
        }

        impl $crate::msg::MessageField for $type {
            const KIND: $crate::msg::FieldKind =
                $crate::msg::FieldKind::Nested(<$type as $crate::msg::Message>::DESCRIPTION);
        }
    };
}
pub(crate) use message;

/// Numbers that have a fixed width on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primitive {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// `byte`, an opaque octet.
    Byte,
    /// `uint8`.
    Uint8,
    /// `int16`.
    Int16,
    /// `uint16`.
    Uint16,
    /// `int32`.
    Int32,
    /// `uint32`.
    Uint32,
    /// `int64`.
    Int64,
    /// `uint64`.
    Uint64,
    /// `float64`.
    Float64,
}

impl Primitive {
    /// Width on the wire \[bytes\]; CDR aligns to it as well.
    #[must_use]
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// Type of a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldKind {
    /// One number.
    Primitive(Primitive),
    /// UTF-8 text of any length.
    String,
    /// Another message, inline.
    Nested(&'static MessageDescription),
    /// A fixed number of elements, no length on the wire.
    Array(usize, &'static FieldKind),
    /// A length, then that number of elements.
    Sequence(&'static FieldKind),
}

/// Name and fields of a message type, in wire order.
#[derive(Debug)]
pub struct MessageDescription {
    /// ROS 2 name, `package/msg/Name`.
    pub name: &'static str,
    /// Name and kind of each field.
    pub fields: &'static [(&'static str, FieldKind)],
}

/// Type that can be a field of a message.
pub(crate) trait MessageField {
    /// Type on the wire.
    const KIND: FieldKind;
}

/// Type that can be sent as a message.
pub trait Message: Serialize + DeserializeOwned {
    /// Name and fields, in the order in which serde writes them.
    const DESCRIPTION: &'static MessageDescription;
}

macro_rules! numbers {
    ($($type:ty: $primitive:ident,)+) => {
        $(impl MessageField for $type {
            const KIND: FieldKind = FieldKind::Primitive(Primitive::$primitive);
        })+
    };
}

numbers! {
    bool: Bool,
    u8: Uint8,
    u16: Uint16,
    i16: Int16,
    i32: Int32,
    u32: Uint32,
    i64: Int64,
    u64: Uint64,
    f64: Float64,
    // serde writes the variant's index, which CDR makes a `uint32`
    Side: Uint32,
}

impl MessageField for String {
    const KIND: FieldKind = FieldKind::String;
}
impl<T: MessageField, const N: usize> MessageField for [T; N] {
    const KIND: FieldKind = FieldKind::Array(N, &T::KIND);
}
impl<T: MessageField> MessageField for Vec<T> {
    const KIND: FieldKind = FieldKind::Sequence(&T::KIND);
}
