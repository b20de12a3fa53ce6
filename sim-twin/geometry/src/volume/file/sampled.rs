//! Numbers as files store them, as single precision.
//!
//! Source: ours; the types that NRRD, NIfTI-1 and DICOM have in common.

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sampled {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Sampled {
    /// Bytes of a value.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// All whole values in some bytes; what is left over is not read.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "single precision is kept"
    )]
    pub(super) fn values(self, bytes: &[u8], big_endian: bool) -> Vec<f32> {
        macro_rules! each {
            ($number:ty) => {{
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                let one = |chunk: &[u8; size_of::<$number>()]| {
                    if big_endian {
                        <$number>::from_be_bytes(*chunk) as f32
                    } else {
                        <$number>::from_le_bytes(*chunk) as f32
                    }
                };
                chunks.iter().map(one).collect()
            }};
        }
        match self {
            Self::U8 => each!(u8),
            Self::I8 => each!(i8),
            Self::U16 => each!(u16),
            Self::I16 => each!(i16),
            Self::U32 => each!(u32),
            Self::I32 => each!(i32),
            Self::U64 => each!(u64),
            Self::I64 => each!(i64),
            Self::F32 => each!(f32),
            Self::F64 => each!(f64),
        }
    }
}
