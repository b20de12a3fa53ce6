//! What a row of a trial holds, in which order and in which unit.
//!
//! Source: ours; definitions in [`palpate_analysis::metrics`] and beside [`super::psycho`] and
//! [`super::transparency`]. A value that a row could not know is nothing, never 0.

use palpate_analysis::summary::Summary;

use super::boot::{Interval, Worst};
use super::file::{Clock, Kind, Trial};
use super::person::{Who, search};
use super::psycho::Found;
use super::transparency::Tone;

/// A column of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Name, with the unit last.
    pub name: String,
    /// In words, for a page.
    pub words: String,
    /// Unit for a page; empty for a share or a count.
    pub unit: &'static str,
}

/// Metrics of which many rows are shown by the worst: one broken row in a hundred is what matters there,
/// and a median would hide it.
const WORST: [(&str, Worst); 4] = [
    ("min_channel_energy_j", Worst::Least),
    ("violations", Worst::Largest),
    ("watchdog_trips", Worst::Largest),
    ("uncommanded_motion_mm_max", Worst::Largest),
];

impl Metric {
    /// Which row is shown for many, if not the median.
    #[must_use]
    pub fn worst(&self) -> Option<Worst> {
        let mut known = WORST.iter();
        known.find(|(name, _)| *name == self.name).map(|one| one.1)
    }

    /// What the values of many rows are shown by; nothing if none is known.
    #[must_use]
    pub fn interval(&self, values: &[f64]) -> Option<Interval> {
        match self.worst() {
            Some(worst) => Interval::worst(values, worst),
            None => Interval::of(values),
        }
    }

    /// Heading of a column of what many rows are shown by.
    #[must_use]
    pub fn heading(&self) -> String {
        match self.worst() {
            Some(_) => format!("{}, worst", self.name),
            None => self.name.clone(),
        }
    }
}

/// Name, words, unit and value of a metric of a session.
type OfSession = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Summary) -> Option<f64>,
);

/// Metrics of a session: name, where the summary has it, words, unit.
macro_rules! of_session {
    ($($name:ident, $part:ident.$field:ident, $words:literal, $unit:literal;)*) => {
        [$((stringify!($name), $words, $unit, |s| s.$part.$field.known())),*]
    };
}

/// Metrics of a session.
const SESSION: [OfSession; 37] = of_session! {
    min_channel_energy_j, passivity.min_channel_energy_j, "least energy in the channel", "J";
    violations, passivity.violations, "violations of passivity", "";
    interventions, passivity.interventions, "ticks at which the energy account acted", "";
    displayed_stiffness_npm, contact.displayed_stiffness_npm, "stiffness felt", "N/m";
    true_stiffness_npm, contact.true_stiffness_npm, "true stiffness", "N/m";
    stiffness_error, contact.stiffness_error, "error of the stiffness felt", "";
    displayed_damping_nspm, contact.displayed_damping_nspm, "damping felt in a press", "N s/m";
    displayed_inertia_kg, contact.displayed_inertia_kg, "inertia felt in a press", "kg";
    free_damping_nspm, contact.free_damping_nspm, "damping felt in free motion", "N s/m";
    free_inertia_kg, contact.free_inertia_kg, "inertia felt in free motion", "kg";
    contrast_displayed, contact.contrast_displayed, "contrast of the lump felt", "";
    contrast_transmission, contact.contrast_transmission, "share of the contrast that arrives", "";
    force_rmse_n, contact.force_rmse_n, "force difference", "N";
    peak_force_n, contact.peak_force_n, "largest force on the hand", "N";
    offset_time_ms, contact.offset_time_ms, "time offset of the force", "ms";
    offset_value_n, contact.offset_value_n, "value offset of the force", "N";
    position_rmse_mm, tracking.position_rmse_mm, "position difference", "mm";
    drift_mm_max, tracking.drift_mm_max, "largest drift", "mm";
    drift_mm_end, tracking.drift_mm_end, "drift at the end", "mm";
    resync_ms_max, tracking.resync_ms_max, "longest resynchronisation", "ms";
    packets_per_s_fwd, link.packets_per_s_fwd, "frames to the robot", "1/s";
    packets_per_s_back, link.packets_per_s_back, "frames to the hand", "1/s";
    age_ms_p50, link.age_ms_p50, "age of the newest frame, median", "ms";
    age_ms_p999, link.age_ms_p999, "age of the newest frame, 99.9 %", "ms";
    reconstruction_error, link.reconstruction_error, "error of the force as received", "";
    prediction_error, twin.prediction_error, "error of the twin's force", "";
    correction_per_100ms, twin.force_step_max_fraction_per_100ms, "largest correction of the force in 100 ms", "";
    correction_error_n, twin.correction_error_n, "error of the felt force where it is corrected", "N";
    correction_horizon_s, twin.correction_horizon_s, "age of what corrections rest on", "s";
    correction_change_n, twin.correction_change_n, "change of the force by corrections in 100 ms", "N";
    update_energy_j, twin.update_energy_j, "energy put into the twin", "J";
    updates, twin.updates, "updates of the twin", "";
    confidence, twin.confidence, "how well touched places were known", "";
    twin_share, twin.twin_share, "share of the twin in what was felt", "";
    switches, twin.switches, "switches of auto", "";
    watchdog_trips, safety.watchdog_trips, "trips of the data watchdog", "";
    uncommanded_motion_mm_max, safety.uncommanded_motion_mm_max, "largest motion that nobody commanded", "mm";
};

/// Metrics that a live session has besides: name, words, unit.
const LIVE: [(&str, &str, &str); 2] = [
    ("late_ticks", "ticks a period late or more", ""),
    ("missed_share", "share of the ticks missed", ""),
];

/// A quantity of a summary as a number, if it is known.
trait Known {
    fn known(self) -> Option<f64>;
}

impl Known for Option<f64> {
    fn known(self) -> Option<f64> {
        self
    }
}

impl Known for Option<u64> {
    fn known(self) -> Option<f64> {
        self.map(|n| n as f64)
    }
}

/// Metrics of a psychophysical run: name, words, unit.
const PSYCHO: [(&str, &str, &str); 7] = [
    ("threshold", "threshold of the observer", ""),
    ("programmed_weber", "its programmed Weber fraction", ""),
    (
        "threshold_over_programmed",
        "threshold over the programmed fraction",
        "",
    ),
    ("right_share", "share of right answers", ""),
    ("last_difference", "last difference that was set", ""),
    ("answers", "answers", ""),
    (
        "unmeasured_share",
        "share of comparisons that could not be measured",
        "",
    ),
];

/// Those of them that only a simulated observer has.
const PROGRAMMED: [&str; 2] = ["programmed_weber", "threshold_over_programmed"];

/// Metrics of one tone: name before the frequency, words, unit.
const TONE: [(&str, &str, &str); 4] = [
    ("free_nspm", "impedance in free motion", "N s/m"),
    ("locked_nspm", "impedance with the probe held", "N s/m"),
    (
        "contact_error_db",
        "impedance in contact over that of the tissue",
        "dB",
    ),
    (
        "contact_error_deg",
        "phase in contact beyond that of the tissue",
        "degrees",
    ),
];

impl Trial {
    /// The columns of its results.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let plain = |(name, words, unit): (&str, &str, &'static str)| Metric {
            name: name.to_owned(),
            words: words.to_owned(),
            unit,
        };
        match self.kind {
            Kind::Session => {
                let live = LIVE.into_iter().filter(|_| self.clock == Clock::Live);
                let all = SESSION
                    .iter()
                    .map(|&(name, words, unit, _)| (name, words, unit));
                all.chain(live).map(plain).collect()
            }
            Kind::Transparency => TONE
                .iter()
                .flat_map(|&(name, words, unit)| {
                    self.transparency.hz.iter().map(move |hz| Metric {
                        name: format!("{name}_{hz}hz"),
                        words: format!("{words}, {hz} Hz"),
                        unit,
                    })
                })
                .collect(),
            Kind::Search => search::metrics().collect(),
            _ if self.who == Who::Simulated => PSYCHO.into_iter().map(plain).collect(),
            // nobody programmed a person
            _ => PSYCHO
                .into_iter()
                .filter(|(name, ..)| !PROGRAMMED.contains(name))
                .map(plain)
                .collect(),
        }
    }
}

/// Names of the metrics of a session.
pub(crate) fn session_names() -> impl Iterator<Item = &'static str> {
    SESSION.iter().map(|(name, ..)| *name)
}

/// The same metrics in words, with their units.
pub(crate) fn session_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    SESSION.iter().map(|(_, words, unit, _)| (*words, *unit))
}

/// Values of a session, in the order of its metrics.
#[must_use]
pub fn of_session(summary: &Summary) -> Vec<Option<f64>> {
    let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
    SESSION.iter().map(|(.., of)| finite(of(summary))).collect()
}

/// Values that a live session has besides, in the order of their metrics.
#[must_use]
pub(crate) fn of_live(summary: &Summary) -> Vec<Option<f64>> {
    let ticks = summary.ticks_by_side.master + summary.ticks_by_side.slave;
    let share = |missed: u64| missed as f64 / (ticks + missed).max(1) as f64;
    vec![
        summary.servo.late_ticks.known(),
        summary.servo.missed_ticks.map(share),
    ]
}

/// Values of a run of answers of an observer with a programmed Weber fraction, or of a person without one.
#[must_use]
pub(crate) fn of_answers(found: &Found, weber: Option<f64>) -> Vec<Option<f64>> {
    let count = found.answers().count() as f64;
    let right = found.answers().filter(|answer| answer.right).count() as f64;
    let values = [
        found.threshold,
        weber,
        found
            .threshold
            .zip(weber)
            .map(|(threshold, weber)| threshold / weber),
        Some(right / count),
        found.answers().last().map(|answer| answer.difference),
        Some(count),
        Some(found.unmeasured_share),
    ];
    let all = PSYCHO.iter().zip(values);
    let own = all.filter(|((name, ..), _)| weber.is_some() || !PROGRAMMED.contains(name));
    own.map(|(_, value)| value.filter(|v| v.is_finite()))
        .collect()
}

/// Values of the tones of a sweep.
#[must_use]
pub(crate) fn of_tones(tones: &[Tone]) -> Vec<Option<f64>> {
    let of: [fn(&Tone) -> f64; 4] = [
        |t| t.free.size(),
        |t| t.locked.size(),
        |t| t.contact.db_over(t.truth),
        |t| t.contact.degrees_over(t.truth),
    ];
    let each = of.into_iter().flat_map(|of| tones.iter().map(of));
    each.map(|value| Some(value).filter(|v| v.is_finite()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::transparency::Impedance;

    #[test]
    fn names_and_values_go_together() {
        let trial = |text: &str| Trial::parse(text, "t.toml").expect("good");
        let session = trial("").metrics();
        assert_eq!(session.len(), of_session(&Summary::default()).len());
        let mut names: Vec<&str> = session.iter().map(|m| m.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let of = |metric: &&Metric| metric.worst().is_some();
        assert_eq!(session.iter().filter(of).count(), WORST.len());
        assert_eq!(names.len(), session.len());
        let live = trial("clock = \"live\"").metrics();
        let more = of_live(&Summary::default()).len();
        assert_eq!((live.len(), more), (session.len() + LIVE.len(), LIVE.len()));
        let tones = trial("kind = \"transparency\"\n[transparency]\nhz = [0.5, 2]\n").metrics();
        let one = Impedance { re: 0.0, im: -1.0 };
        let half = Impedance { re: 0.5, im: 0.0 };
        let tone = Tone {
            hz: 0.5,
            free: one,
            locked: half,
            contact: half,
            truth: one,
        };
        let values = of_tones(&[tone, tone]);
        assert_eq!((tones.len(), values.len()), (8, 8));
        assert_eq!(tones[2].name, "locked_nspm_0.5hz");
        assert_eq!(values[2], Some(0.5));
        assert!(values[4].is_some_and(|db| (db + 6.02).abs() < 0.01));
        assert!(values[6].is_some_and(|degrees| (degrees - 90.0).abs() < 1e-9));
    }
}
