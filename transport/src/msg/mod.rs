//! ROS 2 and CRTK messages: what they hold, what they are called, where they travel.
//!
//! A message is a plain serde struct and one static [`Description`] beside it. Everything else is
//! computed from the description: the walk that bounds a decoder ([`crate::cdr`]), the `ros2msg`
//! text and the RIHS01 type hash ([`schema`]), and so the bus key ([`key`]). [`types`] lists the
//! messages, [`crtk`] the topic names and the operating state, [`attachment`] the 33 bytes that
//! rmw_zenoh sends beside every sample. Source: transport section 5.

pub mod attachment;
pub mod crtk;
pub mod key;
pub mod schema;
#[macro_use]
pub mod types;
#[cfg(test)]
pub(crate) mod diagnostic;

use serde::{Serialize, de::DeserializeOwned};

use crate::trace::Side;

pub use types::*;

/// Kinds of number that have a fixed width on the wire.
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
    pub const fn width(self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One number.
    Primitive(Primitive),
    /// UTF-8 text of any length.
    String,
    /// Another message, in place.
    Nested(&'static Description),
    /// So many elements, no length on the wire.
    Array(usize, &'static Kind),
    /// A length, then so many elements.
    Sequence(&'static Kind),
}

/// Name and fields of a message type, in wire order.
#[derive(Debug)]
pub struct Description {
    /// ROS 2 name, `package/msg/Name`.
    pub name: &'static str,
    /// Name and kind of each field.
    pub fields: &'static [(&'static str, Kind)],
}

/// A type that can be a field of a message.
pub trait Field {
    /// What it is on the wire.
    const KIND: Kind;
}

/// A type that can travel as a message of its own.
pub trait Message: Serialize + DeserializeOwned {
    /// Its name and fields; must list what serde lists, in the same order (a test compares them).
    const DESCRIPTION: &'static Description;
}

impl Field for bool {
    const KIND: Kind = Kind::Primitive(Primitive::Bool);
}
impl Field for u8 {
    const KIND: Kind = Kind::Primitive(Primitive::Uint8);
}
impl Field for u16 {
    const KIND: Kind = Kind::Primitive(Primitive::Uint16);
}
impl Field for i16 {
    const KIND: Kind = Kind::Primitive(Primitive::Int16);
}
impl Field for i32 {
    const KIND: Kind = Kind::Primitive(Primitive::Int32);
}
impl Field for u32 {
    const KIND: Kind = Kind::Primitive(Primitive::Uint32);
}
impl Field for i64 {
    const KIND: Kind = Kind::Primitive(Primitive::Int64);
}
impl Field for u64 {
    const KIND: Kind = Kind::Primitive(Primitive::Uint64);
}
impl Field for f64 {
    const KIND: Kind = Kind::Primitive(Primitive::Float64);
}
impl Field for String {
    const KIND: Kind = Kind::String;
}
/// serde writes the variant's index, which CDR makes a `uint32`.
impl Field for Side {
    const KIND: Kind = Kind::Primitive(Primitive::Uint32);
}
impl<T: Field, const N: usize> Field for [T; N] {
    const KIND: Kind = Kind::Array(N, &T::KIND);
}
impl<T: Field> Field for Vec<T> {
    const KIND: Kind = Kind::Sequence(&T::KIND);
}
