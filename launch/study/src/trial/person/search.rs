//! A search for a lump by a person: where it was, where it was said to be, and how long that took.
//!
//! Source: ours. The place is drawn from the row's seed, and found is what lies within the lump's own radius.

use crate::trial::metric::Metric;

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Where the lump was \[m\].
    pub hidden_m: [f64; 2],
    /// Its radius in the plane \[m\].
    pub radius_m: f64,
    /// Where it was said to be; nothing if the time was over \[m\].
    pub marked_m: Option<[f64; 2]>,
    /// Time that it took \[s\].
    pub took_s: f64,
    /// Largest force on the hand \[N\].
    pub peak_force_n: f64,
}

/// Metrics of a search: name, words, unit.
const METRICS: [(&str, &str, &str); 8] = [
    ("found", "lump found", ""),
    ("error_mm", "distance of the mark from the lump", "mm"),
    ("search_s", "time of the search", "s"),
    ("marked_x_mm", "mark, x", "mm"),
    ("marked_y_mm", "mark, y", "mm"),
    ("hidden_x_mm", "lump, x", "mm"),
    ("hidden_y_mm", "lump, y", "mm"),
    ("peak_force_n", "largest force on the hand", "N"),
];

/// The columns of a trial of searches.
pub fn metrics() -> impl Iterator<Item = Metric> {
    METRICS.into_iter().map(|(name, words, unit)| Metric {
        name: name.to_owned(),
        words: words.to_owned(),
        unit,
    })
}

impl Search {
    /// Distance of the mark from the lump \[m\].
    #[must_use]
    pub fn error_m(&self) -> Option<f64> {
        let [x_m, y_m] = self.marked_m?;
        let (dx_m, dy_m) = (x_m - self.hidden_m[0], y_m - self.hidden_m[1]);
        Some(libm::sqrt(dx_m * dx_m + dy_m * dy_m))
    }

    /// Whether it was found; a search without a mark found nothing.
    #[must_use]
    pub fn found(&self) -> bool {
        self.error_m()
            .is_some_and(|error_m| error_m <= self.radius_m)
    }

    /// In the order of [`metrics`].
    #[must_use]
    pub fn values(&self) -> Vec<Option<f64>> {
        let mm = |m: f64| 1e3 * m;
        let marked = |axis: usize| self.marked_m.map(|place| mm(place[axis]));
        vec![
            Some(f64::from(u8::from(self.found()))),
            self.error_m().map(mm),
            Some(self.took_s),
            marked(0),
            marked(1),
            Some(mm(self.hidden_m[0])),
            Some(mm(self.hidden_m[1])),
            Some(self.peak_force_n),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_within_the_lump_finds_it() {
        let mut search = Search {
            hidden_m: [0.01, 0.0],
            radius_m: 0.006,
            marked_m: Some([0.013, 0.004]),
            took_s: 12.0,
            peak_force_n: 1.5,
        };
        assert!(search.found() && (search.error_m().expect("a mark") - 0.005).abs() < 1e-12);
        assert_eq!(search.values().len(), metrics().count());
        search.radius_m = 0.004;
        assert!(!search.found());
        search.marked_m = None;
        assert_eq!(
            (search.found(), search.values()[1], search.values()[2]),
            (false, None, Some(12.0))
        );
    }
}
