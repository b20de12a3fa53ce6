//! What a snapshot of a linked volume holds, and how it is put back.
//!
//! Source: ours. Everything that a step reads is in it, so that a thawed volume goes on bit for bit: places,
//! links, marks, what sweeps know of runs, what tools are at, and what can be undone. Snapshots are longer the
//! more there is of the latter; room for the most is asked for at once.

use crate::Vec3;
use crate::model::hold::Hold;
use crate::model::linked::Linked;
use crate::model::linked::elements::{Elements, to_f64};
use crate::model::linked::knife::Blade;
use crate::model::linked::links::{Links, NONE};
use crate::model::linked::operate::Act;
use crate::model::linked::touch::{Rod, TOOLS};
use crate::model::linked::weave::Run;
use crate::twin::{Instrument, Ledger, Snapshot, ThawError};

/// Numbers beside those of elements and tools: the ledger and the time owed.
const NUMBERS: usize = 9;
/// Numbers of a tool: its force, its rod and its instrument.
const TOOL: usize = 3 + 8 + 8;
/// Integers beside those of elements, runs and surgery.
const INTEGERS: usize = 5 + TOOLS;
/// Integers of a run.
const RUN: usize = 4;

/// The next integers of a snapshot.
fn next<'a>(integers: &mut &'a [u64], count: usize) -> &'a [u64] {
    let (some, rest) = integers.split_at(count.min(integers.len()));
    *integers = rest;
    some
}

const fn pair(high: usize, low: usize) -> u64 {
    (high as u64) << 32 | low as u64
}

const fn halves(pair: u64) -> [usize; 2] {
    [(pair >> 32) as usize, pair as u32 as usize]
}

impl Linked {
    /// Numbers of a snapshot of this volume, those of [`Hold`] included.
    fn numbers(&self) -> usize {
        6 * self.elements.slots() as usize + NUMBERS + TOOL * TOOLS + Hold::NUMBERS
    }

    /// Integers of the longest snapshot.
    fn integers_max(&self) -> usize {
        let slots = self.elements.slots() as usize;
        let elements = Elements::<f32>::integers(slots);
        // as many runs and touched elements as there are slots
        elements + INTEGERS + (RUN + 1) * slots + self.surgery.integers_max()
    }

    /// Appends the state.
    pub(super) fn write(&self, snapshot: &mut Snapshot) {
        let numbers = &mut snapshot.numbers;
        numbers.reserve(self.numbers());
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
        for index in 0..TOOLS {
            self.write_tool(index, numbers);
        }
        let integers = &mut snapshot.integers;
        integers.reserve(self.integers_max());
        self.elements.write(integers);
        integers.extend([self.steps, self.refused, self.stroking.into()]);
        integers.extend(
            self.acts
                .map(|act| act.map_or(0, |act| code(act.instrument))),
        );
        let touched = &self.touched;
        integers.extend([
            pair(touched[0].len(), touched[1].len()),
            self.weave.runs.len() as u64,
        ]);
        integers.extend(touched.iter().flatten().map(|&element| u64::from(element)));
        for run in &self.weave.runs {
            // slots are numbers of 32 bits, and the colour is 0 or 1
            let own = pair(run.start, run.len << 1 | run.colour);
            integers.push(own);
            let [a, b, c, d, e, f] = run.beside;
            integers.extend([pair(a, b), pair(c, d), pair(e, f)]);
        }
        self.surgery.write(integers);
        self.hold.freeze(snapshot);
    }

    /// Appends what is known of a tool.
    fn write_tool(&self, index: usize, numbers: &mut Vec<f64>) {
        numbers.extend(self.felt_n[index].iter());
        // a rod without a radius is none
        let none = Rod {
            from_m: Vec3::zeros(),
            shaft_m: Vec3::zeros(),
            radius_m: 0.0,
            stiffness_npm: 0.0,
        };
        let rod = self.rods[index].unwrap_or(none);
        numbers.extend(rod.from_m.iter().chain(rod.shaft_m.iter()));
        numbers.extend([rod.radius_m, rod.stiffness_npm]);
        let (blade, radius_m, reach_m) = match &self.acts[index] {
            Some(act) => (act.blade, act.radius_m, reach_m(act.instrument)),
            None => (Blade::default(), 0.0, 0.0),
        };
        numbers.extend(blade.from_m.iter().chain(blade.to_m.iter()));
        numbers.extend([radius_m, reach_m]);
    }

    /// Takes the state from a snapshot.
    ///
    /// # Errors
    /// [`ThawError`] if it is of another size; nothing has changed then.
    pub(super) fn read(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let slots = self.elements.slots() as usize;
        let expected = self.numbers();
        let mut integers = snapshot.integers.as_slice();
        let of_elements = next(&mut integers, Elements::<f32>::integers(slots));
        let more = next(&mut integers, INTEGERS);
        let mut fits = snapshot.numbers.len() == expected;
        let [mut of_touched, mut of_runs]: [&[u64]; 2] = [&[]; 2];
        let mut colour = 0;
        if let Some(&[touched, runs]) = more.last_chunk::<2>() {
            let [first, second] = halves(touched);
            colour = first;
            let runs = usize::try_from(runs).unwrap_or(usize::MAX);
            fits &= first <= slots && second <= slots && runs <= slots;
            if fits {
                of_touched = next(&mut integers, first + second);
                of_runs = next(&mut integers, RUN * runs);
            }
        }
        if !(fits && more.len() == INTEGERS && self.surgery.fits(integers)) {
            return Err(ThawError {
                expected,
                found: snapshot.numbers.len(),
            });
        }
        self.read_numbers(&snapshot.numbers);
        let changed = self.elements.read(of_elements);
        if let Some((&[steps, refused, stroking], rest)) = more.split_first_chunk::<3>() {
            (self.steps, self.refused, self.stroking) = (steps, refused, stroking != 0);
            self.read_acts(&snapshot.numbers, rest);
        }
        let (first, second) = of_touched.split_at(colour.min(of_touched.len()));
        for (own, from) in self.touched.iter_mut().zip([first, second]) {
            own.clear();
            // slots before
            own.extend(from.iter().map(|&element| element as u32));
            own.retain(|&element| (element as usize) < slots);
        }
        self.read_runs(of_runs);
        self.surgery.read(&self.elements, integers, changed);
        self.hold.thaw(snapshot);
        self.reload(changed);
        Ok(())
    }

    fn read_numbers(&mut self, numbers: &[f64]) {
        let slots = self.elements.slots() as usize;
        let columns = self.elements.moved_m.iter_mut();
        let columns = columns.chain([&mut self.stir_m, &mut self.spare_m, &mut self.drift_m]);
        for (column, from) in columns.zip(numbers.chunks_exact(slots)) {
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
        ) = numbers[6 * slots..].first_chunk::<NUMBERS>()
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
    }

    /// Takes what is known of tools, whose instruments have these codes.
    fn read_acts(&mut self, numbers: &[f64], codes: &[u64]) {
        let tools = &numbers[6 * self.elements.slots() as usize + NUMBERS..];
        for (index, (tool, &code)) in tools.chunks_exact(TOOL).zip(codes).take(TOOLS).enumerate() {
            let vector = |at: usize| Vec3::from_column_slice(&tool[at..at + 3]);
            self.felt_n[index] = vector(0);
            let rod = Rod {
                from_m: vector(3),
                shaft_m: vector(6),
                radius_m: tool[9],
                stiffness_npm: tool[10],
            };
            self.rods[index] = Some(rod).filter(|rod| rod.radius_m > 0.0);
            let blade = Blade {
                from_m: vector(11),
                to_m: vector(14),
            };
            let instrument = instrument(code, blade.to_m - blade.from_m, tool[18]);
            self.acts[index] = instrument.map(|instrument| Act {
                instrument,
                blade,
                radius_m: tool[17],
            });
        }
    }

    /// Takes the runs.
    fn read_runs(&mut self, runs: &[u64]) {
        let weave = &mut self.weave;
        weave.runs.clear();
        weave.run_of.fill(NONE);
        for (number, &[own, ab, cd, ef]) in (0_u32..).zip(runs.as_chunks::<RUN>().0) {
            let [start, len] = halves(own);
            let ([a, b], [c, d], [e, f]) = (halves(ab), halves(cd), halves(ef));
            let run = Run {
                colour: len & 1,
                start,
                len: len >> 1,
                beside: [a, b, c, d, e, f],
            };
            if let Some(own) = weave.run_of.get_mut(start..start + run.len) {
                own.fill(number);
                weave.runs.push(run);
            }
        }
        weave.loose.clear();
        let all = (0_u32..).zip(&weave.run_of);
        let loose = all.filter(|&(_, &run)| run == NONE);
        weave.loose.extend(loose.map(|(element, _)| element));
    }
}

/// A number for an instrument; 0 is none.
const fn code(instrument: Instrument) -> u64 {
    match instrument {
        Instrument::Blunt => 0,
        Instrument::Scalpel { .. } => 1,
        Instrument::Curette => 2,
        Instrument::Glue { .. } => 3,
        Instrument::Tack => 4,
        Instrument::Untack => 5,
    }
}

const fn reach_m(instrument: Instrument) -> f64 {
    match instrument {
        Instrument::Glue { reach_m } => reach_m,
        _ => 0.0,
    }
}

/// The instrument of a number.
const fn instrument(code: u64, edge_m: Vec3, reach_m: f64) -> Option<Instrument> {
    Some(match code {
        1 => Instrument::Scalpel { edge_m },
        2 => Instrument::Curette,
        3 => Instrument::Glue { reach_m },
        4 => Instrument::Tack,
        5 => Instrument::Untack,
        _ => return None,
    })
}
