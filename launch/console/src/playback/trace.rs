//! Plot data of a recording along time: few enough numbers for a page, without a lost peak.
//!
//! Source: ours. Time is cut into equal stretches, each with its least and its largest value in their order of time,
//! so a line through them has the outline of all ticks. Energies are those at the end of a stretch.

use palpate_transport::Axes;
use palpate_transport::trace::{InputFlags, TickRecord};

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

/// First and last time of a recording on its clocks \[ns\]; None for an empty one.
pub(crate) fn span_ns(recording: &Recording) -> Option<(i64, i64)> {
    let sides = || [&recording.master, &recording.slave].into_iter();
    let first = sides().filter_map(|side| side.first()).map(|r| r.now_ns);
    let last = sides().filter_map(|side| side.last()).map(|r| r.now_ns);
    first.min().zip(last.max())
}

/// Returns the columns, one after another, as f32, little-endian; NaN is unknown.
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
    let bound = |by: f64| move |r: &TickRecord| ms(r.oneway_ns) + by * ms(r.oneway_bound_ns);
    let sums =
        |records, axes: fn(&TickRecord) -> &Axes| time.last(records, move |r| sum_mj(axes(r)));
    let sent = sums(master, |r| &r.energy_sent_j).into_iter();
    let received = sums(slave, |r| &r.energy_received_j).into_iter();
    let sent_back = sums(slave, |r| &r.energy_sent_j).into_iter();
    let received_back = sums(master, |r| &r.energy_received_j).into_iter();
    let forward = sent.zip(received).map(|(sent, received)| sent - received);
    let back = sent_back
        .zip(received_back)
        .map(|(sent, received)| sent - received);
    let in_transit = forward.zip(back).map(|(forward, back)| forward + back);
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
        sums(master, |r| &r.tank_j),
        sums(slave, |r| &r.tank_j),
        in_transit.collect(),
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
    if record.given & InputFlags::FORCE_VALID == 0 {
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

    /// Two times of each stretch since the beginning \[s\].
    fn times(&self) -> Vec<f32> {
        let half_s = 0.5e-9 * self.stretch_ns as f64;
        (0..2 * self.stretches)
            .map(|n| (n as f64 * half_s) as f32)
            .collect()
    }

    /// Returns the least and the largest value of each stretch, in their order of time.
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

    /// Returns the last value of each stretch, twice; the one before where there is none.
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
    fn no_peak_is_lost_and_an_unknown_value_is_nan() {
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
        recording.slave[501].given = InputFlags::FORCE_VALID;
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
