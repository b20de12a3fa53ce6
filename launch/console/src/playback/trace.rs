//! What is drawn of a recording along time: few enough numbers for a page, with no peak lost.
//!
//! Source: ours. Time is cut into equal stretches, of each of which the least and the largest value are kept, in the
//! order in which they came; so a line through them has the outline of all ticks. Energies are of the stretch's end.

use palpate_transport::Axes;
use palpate_transport::trace::{Given, TickRecord};

use palpate_session::record::Recording;

/// Names of the columns of [`table`], with their units.
pub const COLUMNS: [&str; 12] = [
    "time_s",
    "hand_n",
    "robot_n",
    "hand_mm",
    "robot_mm",
    "to_hand_ms",
    "to_robot_ms",
    "late_ms",
    "early_ms",
    "hand_mj",
    "robot_mj",
    "flight_mj",
];

/// Shortest stretch \[ns\].
const STRETCH_NS: i64 = 10_000_000;

/// Most stretches of one recording.
const STRETCHES_MAX: i64 = 30_000;

/// When a recording begins and ends on its clocks \[ns\]; none of an empty one.
#[must_use]
pub(crate) fn span_ns(recording: &Recording) -> Option<(i64, i64)> {
    let sides = || [&recording.master, &recording.slave].into_iter();
    let first = sides().filter_map(|side| side.first()).map(|r| r.now_ns);
    let last = sides().filter_map(|side| side.last()).map(|r| r.now_ns);
    first.min().zip(last.max())
}

/// The columns, one after another, as f32, little-endian; not-a-number is unknown.
#[must_use]
pub fn table(recording: &Recording) -> Vec<u8> {
    let Some((begin_ns, end_ns)) = span_ns(recording) else {
        return Vec::new();
    };
    let length_ns = end_ns.saturating_sub(begin_ns).max(1);
    let stretch_ns = (length_ns / STRETCHES_MAX).max(STRETCH_NS);
    let stretches = (length_ns / stretch_ns + 1) as usize;
    let time = Stretches {
        begin_ns,
        stretch_ns,
        stretches,
    };
    let (master, slave) = (&*recording.master, &*recording.slave);
    let bound = |by: f64| {
        move |r: &TickRecord| {
            ms(r.oneway_ns) + if by < 0.0 { -1.0 } else { 1.0 } * ms(r.oneway_bound_ns)
        }
    };
    let sums = |records, of: fn(&TickRecord) -> &Axes| time.last(records, move |r| sum_mj(of(r)));
    let sent = sums(master, |r| &r.energy_sent_j).into_iter();
    let came = sums(slave, |r| &r.energy_received_j).into_iter();
    let back = sums(slave, |r| &r.energy_sent_j).into_iter();
    let home = sums(master, |r| &r.energy_received_j).into_iter();
    let forth = sent.zip(came).map(|(sent, came)| sent - came);
    let flight = forth.zip(back.zip(home).map(|(back, home)| back - home));
    let columns = [
        time.times(),
        time.outline(master, |r| size(&r.port_force_n)),
        time.outline(slave, contact_n),
        time.outline(master, |r| 1e3 * r.position_m[2]),
        time.outline(slave, |r| 1e3 * r.position_m[2]),
        time.outline(master, |r| ms(r.oneway_ns)),
        time.outline(slave, |r| ms(r.oneway_ns)),
        time.outline(master, bound(1.0)),
        time.outline(master, bound(-1.0)),
        sums(master, |r| &r.reservoir_j),
        sums(slave, |r| &r.reservoir_j),
        flight.map(|(forth, back)| forth + back).collect(),
    ];
    let numbers = columns.into_iter().flatten();
    numbers.flat_map(f32::to_le_bytes).collect()
}

fn ms(ns: i64) -> f64 {
    if ns < 0 { f64::NAN } else { ns as f64 * 1e-6 }
}

fn size([x, y, z, _]: &Axes) -> f64 {
    libm::sqrt(x * x + y * y + z * z)
}

fn sum_mj(axes: &Axes) -> f64 {
    1e3 * axes.iter().sum::<f64>()
}

fn contact_n(record: &TickRecord) -> f64 {
    if record.given & Given::FORCE_VALID == 0 {
        return f64::NAN;
    }
    size(&record.tissue_force_n)
}

/// Time, cut into equal parts.
struct Stretches {
    begin_ns: i64,
    stretch_ns: i64,
    stretches: usize,
}

impl Stretches {
    fn of(&self, record: &TickRecord) -> usize {
        let since_ns = record.now_ns.saturating_sub(self.begin_ns).max(0);
        ((since_ns / self.stretch_ns) as usize).min(self.stretches - 1)
    }

    /// Two moments of each stretch since the begin \[s\].
    fn times(&self) -> Vec<f32> {
        let half_s = 0.5e-9 * self.stretch_ns as f64;
        (0..2 * self.stretches)
            .map(|n| (n as f64 * half_s) as f32)
            .collect()
    }

    /// Least and largest value of each stretch, in the order in which they came.
    fn outline(&self, records: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Vec<f32> {
        let mut ends = vec![[(f32::NAN, 0); 2]; self.stretches];
        for (index, record) in records.iter().enumerate() {
            let value = of(record) as f32;
            let [least, largest] = &mut ends[self.of(record)];
            if value.is_nan() {
                continue;
            }
            if least.0.is_nan() || value < least.0 {
                *least = (value, index);
            }
            if largest.0.is_nan() || value > largest.0 {
                *largest = (value, index);
            }
        }
        ends.into_iter()
            .flat_map(|[least, largest]| match least.1 <= largest.1 {
                true => [least.0, largest.0],
                false => [largest.0, least.0],
            })
            .collect()
    }

    /// The last value of each stretch, twice; the one before where there is none.
    fn last(&self, records: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Vec<f32> {
        let mut values = vec![f32::NAN; self.stretches];
        for record in records {
            values[self.of(record)] = of(record) as f32;
        }
        let mut before = f32::NAN;
        for value in &mut values {
            if value.is_nan() {
                *value = before;
            }
            before = *value;
        }
        values.into_iter().flat_map(|value| [value; 2]).collect()
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::trace::Side;

    use super::*;

    fn column(table: &[u8], name: &str) -> Vec<f32> {
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four"));
        let all: Vec<f32> = table.chunks_exact(4).map(number).collect();
        let rows = all.len() / COLUMNS.len();
        let at = COLUMNS.iter().position(|one| *one == name).expect("a name");
        all[at * rows..(at + 1) * rows].to_vec()
    }

    #[test]
    fn no_peak_is_lost_and_what_is_unknown_is_no_number() {
        let tick = |side, n: i64| TickRecord {
            side,
            tick: n as u64,
            now_ns: 5_000_000_000 + n * 1_000_000,
            oneway_ns: -1,
            ..TickRecord::default()
        };
        let mut recording = Recording {
            master: (0..2000).map(|n| tick(Side::Master, n)).collect(),
            slave: (0..1000).map(|n| tick(Side::Slave, n)).collect(),
            ..Recording::default()
        };
        recording.master[777].port_force_n = [0.0, 3.0, 4.0, 9.0];
        recording.slave[500].tissue_force_n = [0.0, 0.0, 2.0, 0.0];
        recording.slave[501].tissue_force_n = [0.0, 0.0, 1.0, 0.0];
        recording.slave[501].given = Given::FORCE_VALID;
        let table = table(&recording);
        let hand = column(&table, "hand_n");
        let times = column(&table, "time_s");
        let peak = hand.iter().position(|force| *force == 5.0).expect("kept");
        assert!((times[peak] - 0.777).abs() < 0.01, "{}", times[peak]);
        let robot = column(&table, "robot_n");
        let known: Vec<f32> = robot.iter().copied().filter(|n| !n.is_nan()).collect();
        assert_eq!(known, [1.0, 1.0]);
        assert!(column(&table, "to_hand_ms").iter().all(|ms| ms.is_nan()));
        assert!(super::table(&Recording::default()).is_empty());
    }
}
