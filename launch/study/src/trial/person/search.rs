//! Search for a lump by a person: the lump's place, the marked place, and the duration.
//!
//! Source: ours. The place is drawn from the row's seed; a mark within the lump's own radius counts as found.

use crate::trial::metric::Quantity;

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchResult {
    /// Place of the lump \[m\].
    pub hidden_m: [f64; 2],
    /// Radius of the lump in the plane \[m\].
    pub radius_m: f64,
    /// Marked place; none if the time ran out \[m\].
    pub marked_m: Option<[f64; 2]>,
    /// Duration of the search \[s\].
    pub took_s: f64,
    /// Largest force on the hand \[N\].
    pub peak_force_n: f64,
}

/// Metrics of a search.
pub(crate) const SEARCH: [Quantity<SearchResult>; 8] = [
    ("found", "lump found", "", |s| {
        Some(f64::from(u8::from(s.is_found())))
    }),
    (
        "error_mm",
        "distance of the mark from the lump",
        "mm",
        |s| s.error_m().map(mm),
    ),
    ("search_s", "time of the search", "s", |s| Some(s.took_s)),
    ("marked_x_mm", "mark, x", "mm", |s| Some(mm(s.marked_m?[0]))),
    ("marked_y_mm", "mark, y", "mm", |s| Some(mm(s.marked_m?[1]))),
    ("hidden_x_mm", "lump, x", "mm", |s| Some(mm(s.hidden_m[0]))),
    ("hidden_y_mm", "lump, y", "mm", |s| Some(mm(s.hidden_m[1]))),
    ("peak_force_n", "largest force on the hand", "N", |s| {
        Some(s.peak_force_n)
    }),
];

fn mm(m: f64) -> f64 {
    1e3 * m
}

impl SearchResult {
    /// Distance of the mark from the lump \[m\].
    pub(crate) fn error_m(&self) -> Option<f64> {
        let [x_m, y_m] = self.marked_m?;
        let (dx_m, dy_m) = (x_m - self.hidden_m[0], y_m - self.hidden_m[1]);
        Some(libm::sqrt(dx_m * dx_m + dy_m * dy_m))
    }

    /// True if it was found; false without a mark.
    pub(crate) fn is_found(&self) -> bool {
        self.error_m()
            .is_some_and(|error_m| error_m <= self.radius_m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_within_the_lump_counts_as_found() {
        let mut search = SearchResult {
            hidden_m: [0.01, 0.0],
            radius_m: 0.006,
            marked_m: Some([0.013, 0.004]),
            took_s: 12.0,
            peak_force_n: 1.5,
        };
        assert!(search.is_found() && (search.error_m().expect("a mark") - 0.005).abs() < 1e-12);
        search.radius_m = 0.004;
        assert!(!search.is_found());
        search.marked_m = None;
        let values = crate::trial::metric::of_search(&search);
        assert_eq!(values[..3], [Some(0.0), None, Some(12.0)]);
    }
}
