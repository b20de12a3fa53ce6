//! What a snapshot of a linked volume holds, and how it is put back.
//!
//! Source: ours. Everything that a step reads is in it, so that a thawed volume goes on bit for bit: places,
//! links, marks, and what sweeps know of runs.

use crate::Vec3;
use crate::model::hold::Hold;
use crate::model::linked::Linked;
use crate::model::linked::elements::{Elements, to_f64};
use crate::model::linked::links::Links;
use crate::model::linked::touch::TOOLS;
use crate::twin::{Ledger, Snapshot, ThawError};

/// Numbers beside those of elements: the ledger and the time owed.
const NUMBERS: usize = 9;
/// Integers beside those of elements.
const INTEGERS: usize = 2;

impl Linked {
    /// Numbers of a snapshot of this volume, those of [`Hold`] included.
    fn numbers(&self) -> usize {
        6 * self.elements.slots() as usize + NUMBERS + 3 * TOOLS + Hold::NUMBERS
    }

    /// Appends the state.
    pub(super) fn write(&self, snapshot: &mut Snapshot) {
        let numbers = &mut snapshot.numbers;
        for moved_m in &self.elements.moved_m {
            numbers.extend(moved_m.iter().map(|&x| to_f64(x)));
        }
        for of_run in [&self.stir_m, &self.spare_m, &self.drift_m] {
            numbers.extend(of_run.iter().map(|&x| to_f64(x)));
        }
        let books = &self.ledger;
        numbers.extend([
            books.kinetic_j,
            books.elastic_j,
            books.contact_j,
            books.tool_work_j,
            books.dissipated_j,
            books.edit_j,
            books.mass_j,
            books.residual_j,
            self.owed_s,
        ]);
        for force_n in &self.felt_n {
            numbers.extend(force_n.iter());
        }
        self.elements.write(&mut snapshot.integers);
        snapshot.integers.extend([self.steps, self.refused]);
        self.hold.freeze(snapshot);
    }

    /// Takes the state from a snapshot.
    ///
    /// # Errors
    /// [`ThawError`] if it is of another size; nothing has changed then.
    pub(super) fn read(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let slots = self.elements.slots() as usize;
        let integers = Elements::<f32>::integers(slots) + INTEGERS;
        let expected = self.numbers();
        if snapshot.numbers.len() != expected || snapshot.integers.len() != integers {
            return Err(ThawError {
                expected,
                found: snapshot.numbers.len(),
            });
        }
        let columns = self.elements.moved_m.iter_mut();
        let columns = columns.chain([&mut self.stir_m, &mut self.spare_m, &mut self.drift_m]);
        for (column, from) in columns.zip(snapshot.numbers.chunks_exact(slots)) {
            for (own, &from) in column.iter_mut().zip(from) {
                #[expect(clippy::cast_possible_truncation, reason = "it was single before")]
                let from = from as f32;
                *own = from;
            }
        }
        if let Some(
            &[
                kinetic_j,
                elastic_j,
                contact_j,
                tool_work_j,
                dissipated_j,
                edit_j,
                mass_j,
                residual_j,
                owed_s,
            ],
        ) = snapshot.numbers[6 * slots..].first_chunk::<NUMBERS>()
        {
            self.owed_s = owed_s;
            self.ledger = Ledger {
                kinetic_j,
                elastic_j,
                contact_j,
                tool_work_j,
                dissipated_j,
                edit_j,
                mass_j,
                residual_j,
            };
        }
        let forces = snapshot.numbers[6 * slots + NUMBERS..].as_chunks::<3>().0;
        for (force_n, from) in self.felt_n.iter_mut().zip(forces) {
            *force_n = Vec3::from(*from);
        }
        let changed = self.elements.read(&snapshot.integers);
        if let Some(&[steps, refused]) = snapshot.integers.last_chunk::<INTEGERS>() {
            (self.steps, self.refused) = (steps, refused);
        }
        self.hold.thaw(snapshot);
        self.reload(changed);
        Ok(())
    }
}
