//! Response of a spring or step to a displacement: proportional, quadratic, or tabulated.
//!
//! Source: seed-001 sections 3.4.3 and 3.4.5 (rows DF-10, CL-03). Arguments are in rest lengths, and the caller
//! scales the values, so one response serves steps and forces.

/// A restoring response: zero at rest, and never against the displacement.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ResponseLaw {
    /// `d`.
    #[default]
    Linear,
    /// `d |d|`.
    Quadratic,
    /// Measured table.
    Table(ResponseTable),
}

impl ResponseLaw {
    /// Returns the value at a displacement.
    #[must_use]
    pub fn value(&self, d: f64) -> f64 {
        match self {
            Self::Linear => d,
            Self::Quadratic => d * d.abs(),
            Self::Table(table) => table.value(d),
        }
    }

    /// Returns the work from rest: the integral of the response.
    #[must_use]
    pub fn work(&self, d: f64) -> f64 {
        match self {
            Self::Linear => 0.5 * d * d,
            Self::Quadratic => d * d * d.abs() / 3.0,
            Self::Table(table) => table.work(d),
        }
    }
}

/// Piecewise linear points; the last segments continue beyond the ends.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseTable {
    points: Vec<(f64, f64)>,
}

/// Error of an invalid table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ResponseTableError {
    /// A line without two numbers.
    #[error("line {line} of the table is `{text}`; expected two finite numbers `elongation,force`")]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// Fewer than two points.
    #[error("the table has {0} points; expected at least 2")]
    Count(usize),
    /// A point whose value decreases.
    #[error("`{field}` goes from {from} to {to} at point {point}; expected {expected}")]
    Order {
        /// Name of the column.
        field: &'static str,
        /// Point, counted from 1.
        point: usize,
        /// Value at the point before.
        from: f64,
        /// Value at this point.
        to: f64,
        /// Expected relation.
        expected: &'static str,
    },
    /// The force at rest is not zero or not defined, so a loop through rest could yield energy.
    #[error("the force at elongation 0 is {0}; expected 0, within the table")]
    Rest(f64),
}

/// Force at rest, over the greatest of the table, that counts as zero.
const REST: f64 = 1e-9;

impl ResponseTable {
    /// Returns a table of points.
    ///
    /// # Errors
    /// [`ResponseTableError`] if elongations do not grow, forces fall, or the force at rest is not 0. A table without
    /// these never pushes against its displacement, and its energy is at least 0.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, ResponseTableError> {
        if points.len() < 2 {
            return Err(ResponseTableError::Count(points.len()));
        }
        for (index, pair) in points.windows(2).enumerate() {
            let refuse = |field, from, to, expected| ResponseTableError::Order {
                field,
                point: index + 2,
                from,
                to,
                expected,
            };
            let [(e0, f0), (e1, f1)] = [pair[0], pair[1]];
            if !e0.is_finite() || !e1.is_finite() || e1 <= e0 {
                return Err(refuse("elongation", e0, e1, "a larger number"));
            }
            if !f0.is_finite() || !f1.is_finite() || f1 < f0 {
                return Err(refuse("force", f0, f1, "no smaller number"));
            }
        }
        let table = Self { points };
        let most = table.points.iter().map(|p| p.1.abs()).fold(0.0, f64::max);
        let (first, last) = (table.points[0].0, table.points[table.points.len() - 1].0);
        let at_rest = table.value(0.0);
        if !(first <= 0.0 && last >= 0.0 && at_rest.abs() <= REST * most) {
            return Err(ResponseTableError::Rest(at_rest));
        }
        Ok(table)
    }

    /// Reads lines of `elongation,force`; the first may be a heading, and text after a `#` is ignored.
    ///
    /// # Errors
    /// [`ResponseTableError`] of the first invalid line or point.
    pub fn from_csv(text: &str) -> Result<Self, ResponseTableError> {
        let mut points = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let mut numbers = content.split(',').map(|field| field.trim().parse::<f64>());
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(e)), Some(Ok(f)), None) if e.is_finite() && f.is_finite() => {
                    points.push((e, f));
                }
                (Some(Err(_)), Some(Err(_)), None) if index == 0 => {}
                _ => {
                    return Err(ResponseTableError::Line {
                        line: index + 1,
                        text: line.to_owned(),
                    });
                }
            }
        }
        Self::new(points)
    }

    /// Returns the two points of the segment that contains an argument.
    fn line(&self, d: f64) -> [(f64, f64); 2] {
        let after = self.points.partition_point(|p| p.0 <= d);
        let after = after.clamp(1, self.points.len() - 1);
        [self.points[after - 1], self.points[after]]
    }

    fn value(&self, d: f64) -> f64 {
        let [(e0, f0), (e1, f1)] = self.line(d);
        f0 + (f1 - f0) * (d - e0) / (e1 - e0)
    }

    fn work(&self, d: f64) -> f64 {
        // the integral from rest, by segments
        let (from, to) = (d.min(0.0), d.max(0.0));
        let inside = self.points.iter().map(|p| p.0);
        let mut sum = 0.0;
        let mut last = from;
        for stop in inside.filter(|&e| e > from && e < to).chain([to]) {
            sum += 0.5 * (self.value(last) + self.value(stop)) * (stop - last);
            last = stop;
        }
        if d < 0.0 { -sum } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(law: &ResponseLaw) -> String {
        let rows = (-1000..=1000).map(|i| f64::from(i) * 1e-3);
        let lines = rows.map(|e| format!("{e},{}\n", law.value(e)));
        format!("elongation,force\n{}", lines.collect::<String>())
    }

    /// Row CL-03: tables of both laws match those laws to 1e-6, and their energies too.
    #[test]
    fn cl_03_table_matches_its_law() {
        for law in [ResponseLaw::Linear, ResponseLaw::Quadratic] {
            let table = ResponseLaw::Table(ResponseTable::from_csv(&csv(&law)).expect("fit"));
            for i in -777..=777 {
                let d = f64::from(i) * 1.287e-3;
                assert!((table.value(d) - law.value(d)).abs() < 1e-6, "{law:?} {d}");
                assert!((table.work(d) - law.work(d)).abs() < 1e-6, "{law:?} {d}");
                assert!(table.value(d) * d >= 0.0 && table.work(d) >= 0.0);
            }
        }
        let table = ResponseTable::from_csv("-1,-1\n0,0 # rest\n\n1,2\n").expect("fit");
        assert_eq!([table.value(-3.0), table.value(3.0)], [-3.0, 6.0]);
        assert_eq!([table.work(-3.0), table.work(3.0)], [4.5, 9.0]);
    }

    /// Row CL-03: tables that are not monotone or could yield energy are refused by name.
    #[test]
    fn cl_03_table_that_could_yield_energy_is_refused() {
        for (text, message) in [
            ("", "0 points"),
            ("0,0", "1 points"),
            ("0,0\n1,2,3", "line 2"),
            ("a,b\nc,d", "line 2"),
            ("0,0\n1,inf", "line 2"),
            ("0,0\n1,NaN", "line 2"),
            ("0,0\n0,1", "`elongation` goes from 0 to 0 at point 2"),
            ("0,0\n1,2\n2,1.5", "`force` goes from 2 to 1.5 at point 3"),
            ("-1,-1\n1,2", "at elongation 0 is 0.5"),
            ("1,0\n2,1", "within the table"),
        ] {
            let why = ResponseTable::from_csv(text).expect_err(text).to_string();
            assert!(why.contains(message), "{text:?}: {why}");
        }
        assert!(ResponseTable::new(vec![(f64::NAN, 0.0), (1.0, 1.0)]).is_err());
        assert!(ResponseTable::new(vec![(0.0, 0.0), (1.0, f64::INFINITY)]).is_err());
    }
}
