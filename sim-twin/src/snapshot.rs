//! What snapshots hold of a state: its fields one after the other, the same way out and in.
//!
//! Source: ours. A type lists its fields once, by [`frozen`](crate::frozen); numbers go to the numbers of a
//! [`Snapshot`], flags and counts to its integers. A model fills and pours whole snapshots by
//! [`Snapshot::fill`] and [`Snapshot::pour`].

use crate::Vec3;
use crate::law::viscous::Memory;
use crate::seal::{checked, seal};
use crate::twin::{Ledger, Snapshot, ThawError};

/// Stands for no number, where a number is at least 0.
const NONE: f64 = -1.0;

/// Something that a snapshot holds. A reused snapshot takes it without allocating.
pub trait Frozen {
    /// Numbers and integers that it is.
    fn size(&self) -> [usize; 2];

    /// Appends itself.
    fn put(&self, into: &mut Snapshot);

    /// Takes itself from what is left of a snapshot.
    fn take(&mut self, from: &mut Left<'_>);

    /// Appends a list.
    fn put_all(all: &[Self], into: &mut Snapshot)
    where
        Self: Sized,
    {
        all.iter().for_each(|one| one.put(into));
    }

    /// Takes a list.
    fn take_all(all: &mut [Self], from: &mut Left<'_>)
    where
        Self: Sized,
    {
        all.iter_mut().for_each(|one| one.take(from));
    }
}

/// What is left of a snapshot whose size was checked, so that no default is ever used.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    numbers: &'a [f64],
    integers: &'a [u64],
}

impl<'a> Left<'a> {
    /// The end of a snapshot, from so many numbers and integers on.
    pub(crate) fn after(snapshot: &'a Snapshot, numbers: usize, integers: usize) -> Self {
        Self {
            numbers: snapshot.numbers.get(numbers..).unwrap_or_default(),
            integers: snapshot.integers.get(integers..).unwrap_or_default(),
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
    /// Makes it hold these parts and nothing else; `kin` ends it with the sum that [`crate::seal`] makes.
    pub fn fill(&mut self, parts: &[&dyn Frozen], kin: Option<u64>) {
        let [numbers, integers] = room(parts.iter().map(|part| part.size()), kin);
        self.numbers.clear();
        self.integers.clear();
        self.numbers.reserve(numbers);
        self.integers.reserve(integers);
        parts.iter().for_each(|part| part.put(self));
        if let Some(kin) = kin {
            seal(kin, self);
        }
    }

    /// Puts back what [`Snapshot::fill`] took.
    ///
    /// # Errors
    /// [`ThawError`] if it is of another size or its sum is another one; nothing has changed then.
    pub fn pour(&self, parts: &mut [&mut dyn Frozen], kin: Option<u64>) -> Result<(), ThawError> {
        let expected = room(parts.iter().map(|part| part.size()), kin);
        for (expected, found) in expected
            .into_iter()
            .zip([self.numbers.len(), self.integers.len()])
        {
            if expected != found {
                return Err(ThawError::Size { expected, found });
            }
        }
        if let Some(kin) = kin {
            checked(kin, self)?;
        }
        let mut left = Left::after(self, 0, 0);
        parts.iter_mut().for_each(|part| part.take(&mut left));
        Ok(())
    }
}

fn room(sizes: impl Iterator<Item = [usize; 2]>, kin: Option<u64>) -> [usize; 2] {
    sizes.fold([0, usize::from(kin.is_some())], |sum, own| {
        [sum[0] + own[0], sum[1] + own[1]]
    })
}

/// Says which fields of a type a snapshot holds, in which order.
#[macro_export]
macro_rules! frozen {
    ($state:ty: $($($field:ident).+),+ $(,)?) => {
        impl $crate::snapshot::Frozen for $state {
            fn size(&self) -> [usize; 2] {
                let sizes = [$($crate::snapshot::Frozen::size(&self$(.$field)+)),+];
                sizes.iter().fold([0, 0], |sum, own| [sum[0] + own[0], sum[1] + own[1]])
            }

            fn put(&self, into: &mut $crate::twin::Snapshot) {
                $($crate::snapshot::Frozen::put(&self$(.$field)+, into);)+
            }

            fn take(&mut self, from: &mut $crate::snapshot::Left<'_>) {
                $($crate::snapshot::Frozen::take(&mut self$(.$field)+, from);)+
            }
        }
    };
}

frozen!(Ledger: kinetic_j, elastic_j, contact_j, tool_work_j, dissipated_j, edit_j, mass_j, residual_j);
frozen!(Memory<f64>: branch, elastic);

/// A type that is so many numbers.
macro_rules! numbers {
    ($type:ty, $count:literal, $one:ident => $out:expr, $numbers:ident => $in:expr) => {
        impl Frozen for $type {
            fn size(&self) -> [usize; 2] {
                [$count, 0]
            }

            fn put(&self, into: &mut Snapshot) {
                Self::put_all(std::slice::from_ref(self), into);
            }

            fn take(&mut self, from: &mut Left<'_>) {
                Self::take_all(std::slice::from_mut(self), from);
            }

            fn put_all(all: &[Self], into: &mut Snapshot) {
                into.numbers.extend(all.iter().flat_map(|$one| $out));
            }

            fn take_all(all: &mut [Self], from: &mut Left<'_>) {
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

/// A type that is one integer.
macro_rules! integer {
    ($type:ty, $one:ident => $out:expr, $integer:ident => $in:expr) => {
        impl Frozen for $type {
            fn size(&self) -> [usize; 2] {
                [0, 1]
            }

            fn put(&self, into: &mut Snapshot) {
                let $one = *self;
                into.integers.push($out);
            }

            fn take(&mut self, from: &mut Left<'_>) {
                let $integer = from.integer();
                *self = $in;
            }
        }
    };
}

integer!(u64, one => one, integer => integer);
integer!(bool, one => u64::from(one), integer => integer != 0);
// a sign: -1, 0 or 1
integer!(i8, one => (one + 1) as u64, integer => integer.min(2) as Self - 1);
// an index, or none
integer!(
    Option<u32>,
    one => one.map_or(0, |index| u64::from(index) + 1),
    integer => integer.checked_sub(1).map(|index| index as u32)
);

impl<T: Frozen, const N: usize> Frozen for [T; N] {
    fn size(&self) -> [usize; 2] {
        room(self.iter().map(Frozen::size), None)
    }

    fn put(&self, into: &mut Snapshot) {
        T::put_all(self, into);
    }

    fn take(&mut self, from: &mut Left<'_>) {
        T::take_all(self, from);
    }
}

impl<T: Frozen> Frozen for Vec<T> {
    fn size(&self) -> [usize; 2] {
        room(self.iter().map(Frozen::size), None)
    }

    fn put(&self, into: &mut Snapshot) {
        T::put_all(self, into);
    }

    fn take(&mut self, from: &mut Left<'_>) {
        T::take_all(self, from);
    }
}
