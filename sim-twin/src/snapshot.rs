//! Encoding of a model's state as a snapshot: its fields in one order, for writing and reading.
//!
//! Source: ours. A type lists its fields once, by [`snapshot_parts`](crate::snapshot_parts). Real numbers go to the
//! numbers of a [`Snapshot`], flags and counts to its integers. A model writes and reads whole snapshots by
//! [`Snapshot::encode`] and [`Snapshot::decode`].

use crate::Vec3;
use crate::checksum::{snapshot_checksum, verify_checksum};
use crate::law::viscous::ViscousState;
use crate::twin::{Snapshot, SnapshotError, TissueEnergy};

/// Encoding of `None` for an optional number that is at least 0.
const NONE: f64 = -1.0;

/// Part of a state in a snapshot. Writing to a reused snapshot allocates nothing.
pub trait SnapshotPart {
    /// Number of real numbers and of integers.
    fn size(&self) -> [usize; 2];

    /// Appends the part to a snapshot.
    fn encode_into(&self, into: &mut Snapshot);

    /// Reads the part from the rest of a snapshot.
    fn decode_from(&mut self, from: &mut SnapshotReader<'_>);

    /// Number of real numbers and of integers of a list of parts.
    fn size_of_slice(all: &[Self]) -> [usize; 2]
    where
        Self: Sized,
    {
        total_size(all.iter().map(Self::size), None)
    }

    /// Appends a list of parts.
    fn encode_slice(all: &[Self], into: &mut Snapshot)
    where
        Self: Sized,
    {
        all.iter().for_each(|one| one.encode_into(into));
    }

    /// Reads a list of parts.
    fn decode_slice(all: &mut [Self], from: &mut SnapshotReader<'_>)
    where
        Self: Sized,
    {
        all.iter_mut().for_each(|one| one.decode_from(from));
    }
}

/// Unread rest of a snapshot. The size of the snapshot was checked before, so no read passes its end.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotReader<'a> {
    numbers: &'a [f64],
    integers: &'a [u64],
}

impl<'a> SnapshotReader<'a> {
    /// Creates a reader at the start of a snapshot.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            numbers: &snapshot.numbers,
            integers: &snapshot.integers,
        }
    }

    fn numbers(&mut self, count: usize) -> &'a [f64] {
        let (first, rest) = self.numbers.split_at(count.min(self.numbers.len()));
        self.numbers = rest;
        first
    }

    fn integer(&mut self) -> u64 {
        let (first, rest) = self.integers.split_first().unwrap_or((&0, &[]));
        self.integers = rest;
        *first
    }
}

impl Snapshot {
    /// Replaces the content by these parts; with the model hash `model_hash`, a checksum follows (see [`crate::checksum`]).
    pub fn encode(&mut self, parts: &[&dyn SnapshotPart], model_hash: Option<u64>) {
        let [numbers, integers] = total_size(parts.iter().map(|part| part.size()), model_hash);
        self.numbers.clear();
        self.integers.clear();
        self.numbers.reserve(numbers);
        self.integers.reserve(integers);
        parts.iter().for_each(|part| part.encode_into(self));
        if let Some(model_hash) = model_hash {
            let sum = snapshot_checksum(model_hash, self, 0);
            self.integers.push(sum);
        }
    }

    /// Reads the parts that [`Snapshot::encode`] wrote.
    ///
    /// # Errors
    /// [`SnapshotError`] if the size or the checksum differs; no part has changed then.
    pub fn decode(
        &self,
        parts: &mut [&mut dyn SnapshotPart],
        model_hash: Option<u64>,
    ) -> Result<(), SnapshotError> {
        let expected = total_size(parts.iter().map(|part| part.size()), model_hash);
        for (expected, found) in expected
            .into_iter()
            .zip([self.numbers.len(), self.integers.len()])
        {
            if expected != found {
                return Err(SnapshotError::Size { expected, found });
            }
        }
        if let Some(model_hash) = model_hash {
            verify_checksum(model_hash, self)?;
        }
        let mut reader = SnapshotReader::new(self);
        parts
            .iter_mut()
            .for_each(|part| part.decode_from(&mut reader));
        Ok(())
    }
}

fn total_size(sizes: impl Iterator<Item = [usize; 2]>, model_hash: Option<u64>) -> [usize; 2] {
    sizes.fold([0, usize::from(model_hash.is_some())], |sum, own| {
        [sum[0] + own[0], sum[1] + own[1]]
    })
}

/// Implements [`snapshot::SnapshotPart`](crate::snapshot::SnapshotPart) for a type by a list of its fields, in order.
#[macro_export]
macro_rules! snapshot_parts {
    ($state:ty: $($($field:tt).+),+ $(,)?) => {
        impl $crate::snapshot::SnapshotPart for $state {
            fn size(&self) -> [usize; 2] {
                let sizes = [$($crate::snapshot::SnapshotPart::size(&self$(.$field)+)),+];
                sizes.iter().fold([0, 0], |sum, own| [sum[0] + own[0], sum[1] + own[1]])
            }

            fn encode_into(&self, into: &mut $crate::twin::Snapshot) {
                $($crate::snapshot::SnapshotPart::encode_into(&self$(.$field)+, into);)+
            }

            fn decode_from(&mut self, from: &mut $crate::snapshot::SnapshotReader<'_>) {
                $($crate::snapshot::SnapshotPart::decode_from(&mut self$(.$field)+, from);)+
            }
        }
    };
}

snapshot_parts!(TissueEnergy: kinetic_j, elastic_j, contact_j, tool_work_j, dissipated_j, edit_j, mass_j, residual_j);
snapshot_parts!(ViscousState: branches, elastic);

/// Implements [`SnapshotPart`] for a type of `$count` real numbers.
macro_rules! numbers {
    ($type:ty, $count:literal, $one:ident => $out:expr, $numbers:ident => $in:expr) => {
        impl SnapshotPart for $type {
            fn size(&self) -> [usize; 2] {
                [$count, 0]
            }

            fn size_of_slice(all: &[Self]) -> [usize; 2] {
                [$count * all.len(), 0]
            }

            fn encode_into(&self, into: &mut Snapshot) {
                Self::encode_slice(std::slice::from_ref(self), into);
            }

            fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
                Self::decode_slice(std::slice::from_mut(self), from);
            }

            fn encode_slice(all: &[Self], into: &mut Snapshot) {
                into.numbers.extend(all.iter().flat_map(|$one| $out));
            }

            fn decode_slice(all: &mut [Self], from: &mut SnapshotReader<'_>) {
                let numbers = from.numbers($count * all.len()).as_chunks::<$count>().0;
                for (slot, $numbers) in all.iter_mut().zip(numbers) {
                    *slot = $in;
                }
            }
        }
    };
}

numbers!(f64, 1, one => [*one], numbers => numbers[0]);
numbers!(f32, 1, one => [f64::from(*one)], numbers => single(numbers[0]));
numbers!(u8, 1, one => [f64::from(*one)], numbers => count(numbers[0]) as Self);
numbers!(i32, 1, one => [f64::from(*one)], numbers => numbers[0] as Self);
numbers!(u32, 1, one => [f64::from(*one)], numbers => count(numbers[0]));
numbers!(Option<f64>, 1, one => [one.unwrap_or(NONE)], numbers => Some(numbers[0]).filter(|&n| n != NONE));
numbers!(Vec3, 3, one => <[f64; 3]>::from(*one), numbers => Self::from(*numbers));
numbers!(nalgebra::Matrix3<f64>, 9, one => one.iter().copied(), numbers => Self::from_column_slice(numbers));

#[expect(clippy::cast_possible_truncation, reason = "it was single before")]
fn single(number: f64) -> f32 {
    number as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count before"
)]
fn count(number: f64) -> u32 {
    number as u32
}

/// Implements [`SnapshotPart`] for a type that is one integer.
macro_rules! integer {
    ($type:ty, $one:ident => $out:expr, $integer:ident => $in:expr) => {
        impl SnapshotPart for $type {
            fn size(&self) -> [usize; 2] {
                [0, 1]
            }

            fn size_of_slice(all: &[Self]) -> [usize; 2] {
                [0, all.len()]
            }

            fn encode_into(&self, into: &mut Snapshot) {
                let $one = *self;
                into.integers.push($out);
            }

            fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
                let $integer = from.integer();
                *self = $in;
            }
        }
    };
}

integer!(u64, one => one, integer => integer);
integer!(usize, one => one as u64, integer => integer as Self);
integer!(bool, one => u64::from(one), integer => integer != 0);
// a sign: -1, 0 or 1
integer!(i8, one => (one + 1) as u64, integer => integer.min(2) as Self - 1);
// an index, or none
integer!(
    Option<u32>,
    one => one.map_or(0, |index| u64::from(index) + 1),
    integer => integer.checked_sub(1).map(|index| index as u32)
);

// lists of arrays are lists of their elements: voxel models keep thousands of them
impl<T: SnapshotPart, const N: usize> SnapshotPart for [T; N] {
    fn size(&self) -> [usize; 2] {
        T::size_of_slice(self)
    }

    fn encode_into(&self, into: &mut Snapshot) {
        T::encode_slice(self, into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        T::decode_slice(self, from);
    }

    fn size_of_slice(all: &[Self]) -> [usize; 2] {
        T::size_of_slice(all.as_flattened())
    }

    fn encode_slice(all: &[Self], into: &mut Snapshot) {
        T::encode_slice(all.as_flattened(), into);
    }

    fn decode_slice(all: &mut [Self], from: &mut SnapshotReader<'_>) {
        T::decode_slice(all.as_flattened_mut(), from);
    }
}

impl<T: SnapshotPart> SnapshotPart for Vec<T> {
    fn size(&self) -> [usize; 2] {
        T::size_of_slice(self)
    }

    fn encode_into(&self, into: &mut Snapshot) {
        T::encode_slice(self, into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        T::decode_slice(self, from);
    }
}
