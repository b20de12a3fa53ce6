//! What a snapshot of a linked volume holds, and how it is put back.
//!
//! Source: ours. Everything that a step reads is in it, so that a thawed volume goes on bit for bit: places,
//! links, marks, what sweeps know of runs, what tools are at, in which order the surface is told, and what can be
//! undone. Snapshots are longer the more there is of the latter; room for the most is asked for at once.
//!
//! The last integer is a sum of all before and of what the volume was made of. One bit that is wrong changes it, so
//! nothing else of a snapshot is doubted: what has the right sum was written by [`Linked::write`] for this volume.

use crate::Linked;
use crate::blade::Held;
use crate::cling::Cling;
use crate::elements::{Elements, NONE, single, to_f64};
use crate::knife::Blade;
use crate::operate::Act;
use crate::params::LinkedParams;
use crate::touch::{Rod, TOOLS};
use crate::weave::Run;
use palpate_twin::Vec3;
use palpate_twin::hold::Hold;
use palpate_twin::seal;
use palpate_twin::seal::{checked, seal, stirred_in};
use palpate_twin::twin::{Instrument, Snapshot, ThawError};

/// Numbers beside those of elements and tools: the ledger, what edits were granted and the time owed.
const NUMBERS: usize = 10;
/// Numbers of an element.
const ELEMENT: usize = 7;
/// Numbers of a tool: its force, its rod and its instrument.
const TOOL: usize = 3 + 11 + 15 + 3;
/// Integers beside those of elements, runs and surgery.
const INTEGERS: usize = 6 + 2 * TOOLS;
/// Integers of a run.
const RUN: usize = 4;
/// Numbers of an element that is tied to a tool, which also has an integer.
const CLING: usize = 7;

/// What is known of a tool.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    felt_n: Vec3,
    rod: Rod,
    blade: Blade,
    held: Held,
    radius_m: f64,
    reach_m: f64,
}

impl Known {
    /// Visits its numbers in the order of a snapshot.
    fn each(&mut self, mut visit: impl FnMut(&mut f64)) {
        let (rod, blade, held) = (&mut self.rod, &mut self.blade, &mut self.held);
        let of_rod = [&mut rod.from_m, &mut rod.shaft_m, &mut rod.jaw_m];
        for vector in [&mut self.felt_n].into_iter().chain(of_rod) {
            vector.iter_mut().for_each(&mut visit);
        }
        visit(&mut rod.radius_m);
        visit(&mut rod.stiffness_npm);
        for edge in [blade, &mut held.proxy] {
            let both = edge.from_m.iter_mut().chain(&mut edge.to_m);
            both.for_each(&mut visit);
        }
        visit(&mut held.stiffness_npm);
        visit(&mut self.radius_m);
        visit(&mut self.reach_m);
        rod.side_m.iter_mut().for_each(visit);
    }
}

/// Lists of a snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Lists<'a> {
    /// Touched elements by colour, and those that are pinned.
    touched: [&'a [u64]; 3],
    clings: &'a [u64],
    runs: &'a [u64],
}

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
    fn numbers(&self, clings: usize) -> usize {
        let slots = self.elements.slots() as usize;
        ELEMENT * slots + NUMBERS + TOOL * TOOLS + CLING * clings + Hold::NUMBERS
    }

    /// Integers of the longest snapshot.
    fn integers_max(&self) -> usize {
        let slots = self.elements.slots() as usize;
        let elements = Elements::<f32>::integers(slots);
        // as many runs, touched and tied elements as there are slots
        elements + INTEGERS + (RUN + 2) * slots + self.surgery.integers_max() + 1
    }

    /// Appends the state.
    pub(super) fn write(&self, snapshot: &mut Snapshot) {
        let numbers = &mut snapshot.numbers;
        numbers.reserve(self.numbers(self.elements.slots() as usize));
        for moved_m in &self.elements.moved_m {
            numbers.extend(moved_m.iter().map(|&x| to_f64(x)));
        }
        let stiffened = &self.elements.stiffened;
        for column in [
            &self.pace.stir_m,
            &self.pace.spare_m,
            &self.pace.drift_m,
            stiffened,
        ] {
            numbers.extend(column.iter().map(|&x| to_f64(x)));
        }
        numbers.extend(self.account.clone().numbers().map(|number| *number));
        for index in 0..TOOLS {
            self.write_tool(index, numbers);
        }
        let integers = &mut snapshot.integers;
        integers.reserve(self.integers_max());
        self.elements.write(integers);
        integers.extend([
            self.account.steps,
            self.chain.refused,
            u64::from(self.wield.stroking) | u64::from(self.wield.tore) << 1,
        ]);
        integers.extend(
            self.wield
                .acts
                .map(|act| act.map_or(0, |act| code(act.instrument))),
        );
        integers.extend(self.contact.closed.map(u64::from));
        let touched = &self.contact.touched;
        integers.extend([
            pair(touched[0].len(), touched[1].len()),
            pair(self.contact.fixed.len(), self.contact.clings.len()),
            self.weave.runs.len() as u64,
        ]);
        let touched = touched.iter().chain([&self.contact.fixed]).flatten();
        integers.extend(touched.map(|&element| u64::from(element)));
        let clings = self.contact.clings.iter();
        integers.extend(clings.map(|cling| pair(cling.tool, cling.element as usize)));
        for cling in &self.contact.clings {
            numbers.extend(cling.arm_m.iter().chain(cling.free.iter()));
            numbers.push(cling.share);
        }
        for run in &self.weave.runs {
            // slots are numbers of 32 bits, and the colour is 0 or 1
            let own = pair(run.start, run.len << 1 | run.colour);
            integers.push(own);
            let [a, b, c, d, e, f] = run.beside;
            integers.extend([pair(a, b), pair(c, d), pair(e, f)]);
        }
        self.surgery.write(integers);
        self.hold.freeze(snapshot);
        seal(self.kin, snapshot);
    }

    /// Appends what is known of a tool; a rod without a radius is none.
    fn write_tool(&self, index: usize, numbers: &mut Vec<f64>) {
        let mut known = Known {
            felt_n: self.contact.felt_n[index],
            rod: self.contact.rods[index].unwrap_or_default(),
            ..Known::default()
        };
        if let Some(act) = &self.wield.acts[index] {
            (known.blade, known.held) = (act.blade, act.held);
            (known.radius_m, known.reach_m) = (act.radius_m, reach_m(act.instrument));
        }
        known.each(|number| numbers.push(*number));
    }

    /// Takes the state from a snapshot.
    ///
    /// # Errors
    /// [`ThawError`] if it is of another size or damaged; nothing has changed then.
    pub(super) fn read(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        let slots = self.elements.slots() as usize;
        let mut expected = self.numbers(0);
        let (_, mut integers) = snapshot.integers.split_last().unwrap_or((&0, &[]));
        let of_elements = next(&mut integers, Elements::<f32>::integers(slots));
        let more = next(&mut integers, INTEGERS);
        let mut lists = Lists::default();
        if let Some(&[touched, others, runs]) = more.last_chunk::<3>() {
            let ([first, second], [fixed, clings]) = (halves(touched), halves(others));
            let runs = usize::try_from(runs).unwrap_or(usize::MAX);
            if [first, second, fixed, clings, runs]
                .into_iter()
                .all(|count| count <= slots)
            {
                expected = self.numbers(clings);
                lists = Lists {
                    touched: [first, second, fixed].map(|count| next(&mut integers, count)),
                    clings: next(&mut integers, clings),
                    runs: next(&mut integers, RUN * runs),
                };
            }
        }
        if snapshot.numbers.len() != expected {
            return Err(ThawError::Size {
                expected,
                found: snapshot.numbers.len(),
            });
        }
        checked(self.kin, snapshot)?;
        // what has the right sum was written by this volume, and fits
        if more.len() != INTEGERS || !self.surgery.fits(integers) {
            return Err(ThawError::Size {
                expected: self.integers_max(),
                found: snapshot.integers.len(),
            });
        }
        self.unstiffened.clone_from(&self.elements.stiffened);
        self.read_numbers(&snapshot.numbers);
        let changed =
            self.elements.read(of_elements) || self.unstiffened != self.elements.stiffened;
        if let Some((&[steps, refused, stroking], rest)) = more.split_first_chunk::<3>() {
            (self.account.steps, self.chain.refused) = (steps, refused);
            (self.wield.stroking, self.wield.tore) = (stroking & 1 != 0, stroking & 2 != 0);
            let (codes, closed) = rest.split_at(TOOLS);
            self.read_acts(&snapshot.numbers, codes);
            for (own, &closed) in self.contact.closed.iter_mut().zip(closed) {
                *own = closed != 0;
            }
        }
        let own = self
            .contact
            .touched
            .iter_mut()
            .chain([&mut self.contact.fixed]);
        for (own, from) in own.zip(lists.touched) {
            own.clear();
            // slots before
            own.extend(from.iter().map(|&element| element as u32));
            own.retain(|&element| (element as usize) < slots);
        }
        self.read_clings(&snapshot.numbers, lists.clings);
        let relaid = self.read_runs(lists.runs);
        self.surgery.read(&self.elements, integers, changed);
        self.hold.thaw(snapshot);
        self.reload(changed, relaid);
        Ok(())
    }

    fn read_numbers(&mut self, numbers: &[f64]) {
        let slots = self.elements.slots() as usize;
        let columns = self.elements.moved_m.iter_mut();
        let columns = columns.chain([
            &mut self.pace.stir_m,
            &mut self.pace.spare_m,
            &mut self.pace.drift_m,
        ]);
        let columns = columns.chain([&mut self.elements.stiffened]);
        for (column, from) in columns.zip(numbers.chunks_exact(slots)) {
            for (own, &from) in column.iter_mut().zip(from) {
                *own = single(from);
            }
        }
        let own = self.account.numbers().into_iter();
        own.zip(&numbers[ELEMENT * slots..])
            .for_each(|(own, &from)| *own = from);
    }

    /// Takes what is tied to tools.
    fn read_clings(&mut self, numbers: &[f64], clings: &[u64]) {
        self.contact.clings.clear();
        self.contact.cling_of.fill(NONE);
        let from = self.numbers(0) - Hold::NUMBERS;
        let all = numbers[from..].as_chunks::<CLING>().0;
        for (&[a, b, c, d, e, f, share], &own) in all.iter().zip(clings) {
            let [tool, element] = halves(own);
            // at most as many as slots
            let index = u32::try_from(self.contact.clings.len()).unwrap_or(NONE);
            let Some(at) = self
                .contact
                .cling_of
                .get_mut(element)
                .filter(|_| tool < TOOLS)
            else {
                continue;
            };
            *at = index;
            self.contact.clings.push(Cling {
                // a slot before
                element: element as u32,
                tool,
                arm_m: Vec3::new(a, b, c),
                share,
                free: Vec3::new(d, e, f),
            });
        }
    }

    /// Takes what is known of tools, whose instruments have these codes.
    fn read_acts(&mut self, numbers: &[f64], codes: &[u64]) {
        let tools = &numbers[ELEMENT * self.elements.slots() as usize + NUMBERS..];
        for (index, (tool, &code)) in tools.chunks_exact(TOOL).zip(codes).take(TOOLS).enumerate() {
            let (mut known, mut from) = (Known::default(), tool.iter());
            known.each(|number| *number = from.next().copied().unwrap_or_default());
            self.contact.felt_n[index] = known.felt_n;
            self.contact.rods[index] = Some(known.rod).filter(|rod| rod.radius_m > 0.0);
            let (blade, held, radius_m) = (known.blade, known.held, known.radius_m);
            let instrument = instrument(code, blade.to_m - blade.from_m, known.reach_m);
            self.wield.acts[index] = instrument.map(|instrument| Act {
                instrument,
                blade,
                held,
                radius_m,
            });
        }
    }

    /// Takes the runs.
    fn read_runs(&mut self, runs: &[u64]) -> bool {
        let weave = &mut self.weave;
        let mut relaid = weave.runs.len() != runs.len() / RUN;
        let mut count = 0;
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
                match weave.runs.get_mut(count) {
                    Some(had) => relaid |= std::mem::replace(had, run) != run,
                    None => weave.runs.push(run),
                }
                count += 1;
            }
        }
        weave.runs.truncate(count);
        weave.loose.clear();
        let all = (0_u32..).zip(&weave.run_of);
        let loose = all.filter(|&(_, &run)| run == NONE);
        weave.loose.extend(loose.map(|(element, _)| element));
        relaid
    }
}

/// A number for what a volume was made of and how it is stepped.
pub(super) fn kin(elements: &Elements<f32>, params: &LinkedParams) -> u64 {
    let frame = elements.frame();
    let lengths = frame.origin_m.iter().chain(&frame.spacing_m);
    let matters = elements.bonds().matters().iter();
    let of_matter = matters.flat_map(|matter| {
        let limits = &matter.limits;
        let along = limits.shortest.into_iter().chain(limits.longest);
        let all = along.chain(limits.shear.into_iter().flatten());
        all.chain([matter.modulus_pa, matter.toughness_jpm2])
    });
    // field by field, so that none is forgotten
    let LinkedParams {
        sweep_s,
        omega,
        still,
        deep,
        friction,
        jaw_friction,
        tears,
        curette_share,
        undo,
    } = *params;
    let of_params = [
        sweep_s,
        omega.into(),
        still.into(),
        deep.into(),
        friction,
        jaw_friction.unwrap_or(-1.0),
        curette_share,
    ];
    let choices = [
        // of exact propagation, when there was another
        0,
        u64::from(tears),
        undo as u64,
        u64::from(elements.slots()),
    ];
    let numbers = lengths.copied().chain(of_matter).chain(of_params);
    let sites = (0..elements.slots()).flat_map(|element| elements.site(element));
    let sites = sites.map(|along| u64::from(along as u32));
    choices
        .into_iter()
        .chain(sites)
        .fold(seal::kin(numbers), stirred_in)
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
