//! Metrics of a row: their order, names and units.
//!
//! Source: ours; definitions in [`palpate_analysis::metrics`] and beside [`super::psycho`] and
//! [`super::transparency`]. An unknown value is none, never 0.

use palpate_analysis::summary::Summary;

use super::bootstrap::Interval;
use super::file::{Trial, TrialClock, TrialKind};
use super::person::Respondent;
use super::person::search::{SEARCH, SearchResult};
use super::psycho::PsychoResult;
use super::psycho::forced_choice::answers;
use super::transparency::{Tone, db_over, degrees_over, size};

/// Column of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metric {
    /// Name, with the unit last.
    pub name: String,
    /// Description for a page.
    pub words: String,
    /// Unit for a page; empty for a share or a count.
    pub unit: &'static str,
}

/// Direction in which a value is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worst {
    /// The least.
    Least,
    /// The largest.
    Largest,
}

/// Metrics that are summarised by the worst row: a median would hide one
/// failed row in a hundred.
const WORST: [(&str, Worst); 4] = [
    ("min_channel_energy_j", Worst::Least),
    ("violations", Worst::Largest),
    ("watchdog_trips", Worst::Largest),
    ("uncommanded_motion_mm_max", Worst::Largest),
];

impl Metric {
    /// Direction of the worst row, if the metric is not summarised by the median.
    pub(crate) fn worst(&self) -> Option<Worst> {
        let mut known = WORST.iter();
        known.find(|(name, _)| *name == self.name).map(|one| one.1)
    }

    /// Interval over the values of many rows; none without a value.
    pub(crate) fn interval(&self, values: &[f64]) -> Option<Interval> {
        match self.worst() {
            Some(Worst::Least) => Interval::range(values, |low, _| low),
            Some(Worst::Largest) => Interval::range(values, |_, high| high),
            None => Interval::of(values),
        }
    }

    /// Heading of the column of intervals.
    pub(crate) fn heading(&self) -> String {
        match self.worst() {
            Some(_) => format!("{}, worst", self.name),
            None => self.name.clone(),
        }
    }
}

/// Name, description, unit and value of a metric of a measured quantity.
pub(super) type Quantity<T> = (
    &'static str,
    &'static str,
    &'static str,
    fn(&T) -> Option<f64>,
);

/// Metrics of a session: name, place in the summary, description, unit.
macro_rules! of_session {
    ($($name:ident, $part:ident.$field:ident, $words:literal, $unit:literal;)*) => {
        [$((stringify!($name), $words, $unit, |s| s.$part.$field.known())),*]
    };
}

/// Metrics of a session.
const SESSION: [Quantity<Summary>; 37] = of_session! {
    min_channel_energy_j, passivity.min_channel_energy_j, "least energy in the channel", "J";
    violations, passivity.violations, "violations of passivity", "";
    interventions, passivity.interventions, "ticks at which the energy tank acted", "";
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
    correction_horizon_s, twin.correction_horizon_s, "age of the samples of corrections", "s";
    correction_change_n, twin.correction_change_n, "change of the force by corrections in 100 ms", "N";
    update_energy_j, twin.update_energy_j, "energy put into the twin", "J";
    updates, twin.updates, "updates of the twin", "";
    confidence, twin.confidence, "confidence at touched places", "";
    twin_share, twin.twin_share, "share of the twin in the rendered force", "";
    switches, twin.switches, "switches of auto", "";
    watchdog_trips, safety.watchdog_trips, "trips of the data watchdog", "";
    uncommanded_motion_mm_max, safety.uncommanded_motion_mm_max, "largest uncommanded motion", "mm";
};

/// Additional metrics of a live session.
const LIVE: [Quantity<Summary>; 2] = [
    ("late_ticks", "ticks a period late or more", "", |summary| {
        summary.servo.late_ticks.known()
    }),
    ("missed_share", "share of the ticks missed", "", |summary| {
        let ticks = summary.ticks_by_side.master + summary.ticks_by_side.slave;
        let share = |missed: u64| missed as f64 / (ticks + missed).max(1) as f64;
        summary.servo.missed_ticks.map(share)
    }),
];

/// Quantity of a summary as a number, if it is known.
trait AsNumber {
    fn known(self) -> Option<f64>;
}

impl AsNumber for Option<f64> {
    fn known(self) -> Option<f64> {
        self
    }
}

impl AsNumber for Option<u64> {
    fn known(self) -> Option<f64> {
        self.map(|n| n as f64)
    }
}

/// Metrics of a psychophysical run.
const PSYCHO: [Quantity<PsychoResult>; 7] = [
    ("threshold", "threshold of the observer", "", |f| {
        f.threshold
    }),
    (
        "programmed_weber",
        "its programmed Weber fraction",
        "",
        |f| Some(f.weber),
    ),
    (
        "threshold_over_programmed",
        "threshold over the programmed fraction",
        "",
        |f| f.threshold.map(|threshold| threshold / f.weber),
    ),
    ("right_share", "share of right answers", "", |f| {
        let right = answers(&f.choices).filter(|(_, right)| *right).count();
        Some(right as f64 / answers(&f.choices).count() as f64)
    }),
    ("last_difference", "last difference that was set", "", |f| {
        answers(&f.choices).last().map(|(difference, _)| difference)
    }),
    ("answers", "answers", "", |f| {
        Some(answers(&f.choices).count() as f64)
    }),
    (
        "unmeasured_share",
        "share of comparisons that could not be measured",
        "",
        |f| Some(f.unmeasured_share),
    ),
];

/// Metrics of simulated observers only: a person has no programmed threshold.
const PROGRAMMED: [&str; 2] = ["programmed_weber", "threshold_over_programmed"];

/// Metrics of one tone, with the start of their names.
const TONE: [Quantity<Tone>; 4] = [
    ("free_nspm", "impedance in free motion", "N s/m", |t| {
        Some(size(t.free))
    }),
    (
        "locked_nspm",
        "impedance with the probe held",
        "N s/m",
        |t| Some(size(t.locked)),
    ),
    (
        "contact_error_db",
        "impedance in contact over that of the tissue",
        "dB",
        |t| Some(db_over(t.contact, t.truth)),
    ),
    (
        "contact_error_deg",
        "phase in contact beyond that of the tissue",
        "degrees",
        |t| Some(degrees_over(t.contact, t.truth)),
    ),
];

impl Trial {
    /// Columns of the results.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        match self.kind {
            TrialKind::Session => self.session_quantities().map(plain).collect(),
            TrialKind::Transparency => TONE
                .iter()
                .flat_map(|&(name, words, unit, _)| {
                    self.transparency.hz.iter().map(move |hz| Metric {
                        name: format!("{name}_{hz}hz"),
                        words: format!("{words}, {hz} Hz"),
                        unit,
                    })
                })
                .collect(),
            TrialKind::Search => SEARCH.iter().map(plain).collect(),
            _ => self.observer_quantities().map(plain).collect(),
        }
    }

    fn session_quantities(&self) -> impl Iterator<Item = &'static Quantity<Summary>> {
        let live = LIVE.iter().filter(|_| self.clock == TrialClock::Live);
        SESSION.iter().chain(live)
    }

    fn observer_quantities(&self) -> impl Iterator<Item = &'static Quantity<PsychoResult>> {
        let simulated = self.respondent == Respondent::Simulated;
        let all = PSYCHO.iter();
        all.filter(move |(name, ..)| simulated || !PROGRAMMED.contains(name))
    }

    /// Values of a session, in the order of [`Self::metrics`].
    pub(crate) fn session_values(&self, summary: &Summary) -> Vec<Option<f64>> {
        values(self.session_quantities(), summary)
    }

    /// Values of a run of answers, in the order of [`Self::metrics`].
    pub(crate) fn observer_values(&self, found: &PsychoResult) -> Vec<Option<f64>> {
        values(self.observer_quantities(), found)
    }
}

fn plain<T>(of: &Quantity<T>) -> Metric {
    let (name, words, unit, _) = *of;
    Metric {
        name: name.to_owned(),
        words: words.to_owned(),
        unit,
    }
}

/// Values of the quantities; none if unknown or not finite.
fn values<T: 'static>(
    all: impl IntoIterator<Item = &'static Quantity<T>>,
    of: &T,
) -> Vec<Option<f64>> {
    let each = all.into_iter();
    each.map(|(.., value)| value(of).filter(|v| v.is_finite()))
        .collect()
}

/// Values of two sessions for every metric.
pub(crate) fn metrics_of_both(
    base: &Summary,
    now: &Summary,
) -> impl Iterator<Item = (Metric, Option<f64>, Option<f64>)> {
    let [base, now] = [base, now].map(|summary| values(&SESSION, summary));
    let both = base.into_iter().zip(now);
    both.zip(&SESSION)
        .map(|((base, now), metric)| (plain(metric), base, now))
}

/// Values of the tones of a sweep.
pub(crate) fn of_tones(tones: &[Tone]) -> Vec<Option<f64>> {
    let each = TONE.iter().flat_map(|one| {
        let of = move |tone| values([one], tone);
        tones.iter().flat_map(of)
    });
    each.collect()
}

/// Values of a search.
pub(crate) fn of_search(search: &SearchResult) -> Vec<Option<f64>> {
    values(&SEARCH, search)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::transparency::Impedance;

    #[test]
    fn metric_names_and_values_have_equal_length() {
        let trial = |text: &str| Trial::parse(text, "t.toml").expect("good");
        let session = trial("").metrics();
        let values = trial("").session_values(&Summary::default());
        assert_eq!(session.len(), values.len());
        let mut names: Vec<&str> = session.iter().map(|m| m.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let of = |metric: &&Metric| metric.worst().is_some();
        assert_eq!(session.iter().filter(of).count(), WORST.len());
        assert_eq!(names.len(), session.len());
        let live = trial("clock = \"live\"");
        let values = live.session_values(&Summary::default());
        let count = session.len() + LIVE.len();
        assert_eq!((live.metrics().len(), values.len()), (count, count));
        let tones = trial("kind = \"transparency\"\n[transparency]\nhz = [0.5, 2]\n").metrics();
        let one = Impedance { re: 0.0, im: -1.0 };
        let half = Impedance { re: 0.5, im: 0.0 };
        let tone = Tone {
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
