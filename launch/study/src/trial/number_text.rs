//! Numbers as texts in a file of rows: a JSON parser may lose the last bit of a number, a text parser does
//! not, and rows that were read must equal rows that were computed. Source: ours.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Serialize, Serializer};

/// A number, an optional one, or a list of them.
pub(in crate::trial) trait NumberText: Sized {
    /// Representation as texts.
    type Texts: Serialize + DeserializeOwned;

    fn texts(&self) -> Self::Texts;

    fn read(texts: Self::Texts) -> Result<Self, String>;
}

impl NumberText for f64 {
    type Texts = String;

    fn texts(&self) -> String {
        self.to_string()
    }

    fn read(text: String) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{text}` is no number"))
    }
}

impl<T: NumberText> NumberText for Option<T> {
    type Texts = Option<T::Texts>;

    fn texts(&self) -> Self::Texts {
        self.as_ref().map(T::texts)
    }

    fn read(texts: Self::Texts) -> Result<Self, String> {
        texts.map(T::read).transpose()
    }
}

impl<T: NumberText> NumberText for Vec<T> {
    type Texts = Vec<T::Texts>;

    fn texts(&self) -> Self::Texts {
        self.iter().map(T::texts).collect()
    }

    fn read(texts: Self::Texts) -> Result<Self, String> {
        texts.into_iter().map(T::read).collect()
    }
}

pub(in crate::trial) fn serialize<T: NumberText, S: Serializer>(
    numbers: &T,
    to: S,
) -> Result<S::Ok, S::Error> {
    numbers.texts().serialize(to)
}

pub(in crate::trial) fn deserialize<'de, T: NumberText, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let texts = serde::Deserialize::deserialize(from)?;
    T::read(texts).map_err(D::Error::custom)
}
