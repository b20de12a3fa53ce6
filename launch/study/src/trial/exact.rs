//! Numbers as texts in a file of rows: the parser of JSON may miss the last bit of a number, that of a text does
//! not, and rows that were read must equal rows that were just made. Source: ours.

use serde::de::Error;

fn number<E: Error>(text: &String) -> Result<f64, E> {
    let parsed = text.parse();
    parsed.map_err(|_| E::custom(format!("`{text}` is no number")))
}

/// One number.
pub(in crate::trial) mod one {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(in crate::trial) fn serialize<S: Serializer>(
        value: &f64,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.to_string().serialize(to)
    }

    pub(in crate::trial) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<f64, D::Error> {
        super::number(&String::deserialize(from)?)
    }
}

/// A number that may be unknown.
pub(in crate::trial) mod maybe {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(in crate::trial) fn serialize<S: Serializer>(
        value: &Option<f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|value| value.to_string()).serialize(to)
    }

    pub(in crate::trial) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<f64>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.as_ref().map(super::number).transpose()
    }
}

/// Numbers that may be unknown.
pub(in crate::trial) mod many {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(in crate::trial) fn serialize<S: Serializer>(
        values: &[Option<f64>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let text = |value: &Option<f64>| value.map(|value| value.to_string());
        values.iter().map(text).collect::<Vec<_>>().serialize(to)
    }

    pub(in crate::trial) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Option<f64>>, D::Error> {
        let texts = Vec::<Option<String>>::deserialize(from)?;
        let known = |text: &Option<String>| text.as_ref().map(super::number).transpose();
        texts.iter().map(known).collect()
    }
}
