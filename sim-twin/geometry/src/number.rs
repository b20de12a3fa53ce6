//! Numbers of files, binary or in words: what mesh and volume formats have in common.
//!
//! Source: ours.

/// Kind of a binary number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Signed,
    Unsigned,
    Float,
}

/// Storage format of a binary number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    pub(crate) kind: NumberKind,
    /// Width in bytes: 1, 2, 4 or 8; 4 or 8 for a float.
    pub(crate) width: usize,
    /// Number of significant low bits; higher bits may be overlays. All bits of a float.
    bits: u32,
}

/// Exact value of a stored number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
}

impl NumberFormat {
    pub(crate) const I8: Self = Self::new(NumberKind::Signed, 1);
    pub(crate) const U8: Self = Self::new(NumberKind::Unsigned, 1);
    pub(crate) const I16: Self = Self::new(NumberKind::Signed, 2);
    pub(crate) const U16: Self = Self::new(NumberKind::Unsigned, 2);
    pub(crate) const I32: Self = Self::new(NumberKind::Signed, 4);
    pub(crate) const U32: Self = Self::new(NumberKind::Unsigned, 4);
    pub(crate) const I64: Self = Self::new(NumberKind::Signed, 8);
    pub(crate) const U64: Self = Self::new(NumberKind::Unsigned, 8);
    pub(crate) const F32: Self = Self::new(NumberKind::Float, 4);
    pub(crate) const F64: Self = Self::new(NumberKind::Float, 8);

    const fn new(kind: NumberKind, width: usize) -> Self {
        let bits = 8 * width as u32;
        Self { kind, width, bits }
    }

    /// Returns the format with `bits` significant low bits, at least 1.
    pub(crate) const fn with_bits(self, bits: u32) -> Self {
        Self { bits, ..self }
    }

    /// Looks up a format by its name in a table.
    pub(crate) fn named(names: &[(&str, Self)], name: &str) -> Option<Self> {
        let found = names.iter().find(|(known, _)| *known == name);
        found.map(|&(_, stored)| stored)
    }

    /// Decodes one number.
    pub(crate) fn number(self, bytes: &[u8], big_endian: bool) -> Number {
        let shifted = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
        let word = match big_endian {
            true => bytes.iter().fold(0, shifted),
            false => bytes.iter().rev().fold(0, shifted),
        };
        let unused = 64 - self.bits;
        match self.kind {
            // the sign is at the top after the shift
            NumberKind::Signed => Number::Signed((word << unused).cast_signed() >> unused),
            NumberKind::Unsigned => Number::Unsigned(word << unused >> unused),
            #[expect(clippy::cast_possible_truncation, reason = "four bytes were taken")]
            NumberKind::Float if self.width == 4 => {
                Number::Real(f32::from_bits(word as u32).into())
            }
            NumberKind::Float => Number::Real(f64::from_bits(word)),
        }
    }

    /// Decodes all complete numbers in `bytes`; a rest is ignored.
    pub(crate) fn numbers(self, bytes: &[u8], big_endian: bool) -> impl Iterator<Item = Number> {
        let chunks = bytes.chunks_exact(self.width);
        chunks.map(move |chunk| self.number(chunk, big_endian))
    }

    /// As [`NumberFormat::numbers`], in single precision.
    pub(crate) fn singles(self, bytes: &[u8], big_endian: bool) -> Vec<f32> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "single precision is kept"
        )]
        let single = |number| match number {
            Number::Signed(value) => value as f32,
            Number::Unsigned(value) => value as f32,
            Number::Real(value) => value as f32,
        };
        self.numbers(bytes, big_endian).map(single).collect()
    }
}

impl Number {
    /// Value as a real number, rounded beyond 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "a place needs no 64 bits")]
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Signed(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// Value as a whole number that is not negative, if it is one; of a float up to 2^32 - 1.
    pub(crate) fn whole(self) -> Option<u64> {
        match self {
            Self::Signed(value) => value.try_into().ok(),
            Self::Unsigned(value) => Some(value),
            Self::Real(value) => {
                let whole = value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked"
                )]
                whole.then_some(value as u64)
            }
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

/// Parses a word, if it is valid.
pub(crate) fn parse<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Words of a line or a longer text.
pub(crate) fn words(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    row.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}
