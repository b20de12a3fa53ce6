//! How a spring or a step answers a displacement: in proportion, by its square, or by a table.
//!
//! Source: seed-001 sections 3.4.3 and 3.4.5 (rows DF-10, CL-03). Arguments are in rest lengths and values in
//! whatever the caller scales them by, so that one response serves step sizes and forces.

/// A function of a displacement, odd in spirit: nothing at rest, and never against the displacement.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Response {
    /// `d`.
    #[default]
    Linear,
    /// `d |d|`.
    Quadratic,
    /// As measured.
    Table(Table),
}

impl Response {
    /// Its value.
    #[must_use]
    pub fn of(&self, d: f64) -> f64 {
        match self {
            Self::Linear => d,
            Self::Quadratic => d * d.abs(),
            Self::Table(table) => table.of(d),
        }
    }

    /// Work to get there from rest: its integral.
    #[must_use]
    pub fn work(&self, d: f64) -> f64 {
        match self {
            Self::Linear => 0.5 * d * d,
            Self::Quadratic => d * d * d.abs() / 3.0,
            Self::Table(table) => table.work(d),
        }
    }
}

/// Points with straight lines between them; beyond the ends the last line goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    points: Vec<(f64, f64)>,
}

/// Why a text is no table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// A line that is not two numbers.
    #[error("line {line} of the table is `{text}`; expected two finite numbers `elongation,force`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Too short.
    #[error("the table has {0} points; expected at least 2")]
    Count(usize),
    /// A point that goes back.
    #[error("`{field}` goes from {from} to {to} at point {point}; expected {expected}")]
    Order {
        /// Which column.
        field: &'static str,
        /// Counted from 1.
        point: usize,
        /// The point before.
        from: f64,
        /// This one.
        to: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// It pulls at rest, so that a loop through rest could give energy, or says nothing of rest.
    #[error("the force at elongation 0 is {0}; expected 0, within the table")]
    Rest(f64),
}

/// Force at rest that is taken as none, over the largest of the table.
const REST: f64 = 1e-9;

impl Table {
    /// A table of points.
    ///
    /// # Errors
    /// [`TableError`] if elongations do not grow, forces fall, or the force at rest is not 0. A table without
    /// these never pushes against its displacement, and its energy is at least 0.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, TableError> {
        if points.len() < 2 {
            return Err(TableError::Count(points.len()));
        }
        for (index, pair) in points.windows(2).enumerate() {
            let refuse = |field, from, to, expected| TableError::Order {
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
        let at_rest = table.of(0.0);
        if !(first <= 0.0 && last >= 0.0 && at_rest.abs() <= REST * most) {
            return Err(TableError::Rest(at_rest));
        }
        Ok(table)
    }

    /// Reads lines of `elongation,force`; the first may be a heading, and what follows a `#` is not read.
    ///
    /// # Errors
    /// [`TableError`] of the first line or point that is wrong.
    pub fn from_csv(text: &str) -> Result<Self, TableError> {
        let mut points = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let said = line.split('#').next().unwrap_or("").trim();
            if said.is_empty() {
                continue;
            }
            let mut numbers = said.split(',').map(|word| word.trim().parse::<f64>());
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(e)), Some(Ok(f)), None) if e.is_finite() && f.is_finite() => {
                    points.push((e, f));
                }
                (Some(Err(_)), Some(Err(_)), None) if index == 0 => {}
                _ => {
                    return Err(TableError::Line {
                        line: index + 1,
                        text: line.to_owned(),
                    });
                }
            }
        }
        Self::new(points)
    }

    /// The two points of the line that an argument is on.
    fn line(&self, d: f64) -> [(f64, f64); 2] {
        let after = self.points.partition_point(|p| p.0 <= d);
        let after = after.clamp(1, self.points.len() - 1);
        [self.points[after - 1], self.points[after]]
    }

    fn of(&self, d: f64) -> f64 {
        let [(e0, f0), (e1, f1)] = self.line(d);
        f0 + (f1 - f0) * (d - e0) / (e1 - e0)
    }

    fn work(&self, d: f64) -> f64 {
        // from rest to there, line by line
        let (from, to) = (d.min(0.0), d.max(0.0));
        let inside = self.points.iter().map(|p| p.0);
        let mut sum = 0.0;
        let mut last = from;
        for stop in inside.filter(|&e| e > from && e < to).chain([to]) {
            sum += 0.5 * (self.of(last) + self.of(stop)) * (stop - last);
            last = stop;
        }
        if d < 0.0 { -sum } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(law: &Response) -> String {
        let rows = (-1000..=1000).map(|i| f64::from(i) * 1e-3);
        let lines = rows.map(|e| format!("{e},{}\n", law.of(e)));
        format!("elongation,force\n{}", lines.collect::<String>())
    }

    /// Row CL-03: tables of both laws are those laws to 1e-6, and their energies too.
    #[test]
    fn cl_03_a_table_is_the_law_that_it_was_made_from() {
        for law in [Response::Linear, Response::Quadratic] {
            let table = Response::Table(Table::from_csv(&csv(&law)).expect("fit"));
            for i in -777..=777 {
                let d = f64::from(i) * 1.287e-3;
                assert!((table.of(d) - law.of(d)).abs() < 1e-6, "{law:?} {d}");
                assert!((table.work(d) - law.work(d)).abs() < 1e-6, "{law:?} {d}");
                assert!(table.of(d) * d >= 0.0 && table.work(d) >= 0.0);
            }
        }
        let table = Table::from_csv("-1,-1\n0,0 # rest\n\n1,2\n").expect("fit");
        assert_eq!([table.of(-3.0), table.of(3.0)], [-3.0, 6.0]);
        assert_eq!([table.work(-3.0), table.work(3.0)], [4.5, 9.0]);
    }

    /// Row CL-03: what is not monotone or could give energy is refused by name.
    #[test]
    fn cl_03_a_table_that_could_give_energy_is_refused() {
        for (text, told) in [
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
            let why = Table::from_csv(text).expect_err(text).to_string();
            assert!(why.contains(told), "{text:?}: {why}");
        }
        assert!(Table::new(vec![(f64::NAN, 0.0), (1.0, 1.0)]).is_err());
        assert!(Table::new(vec![(0.0, 0.0), (1.0, f64::INFINITY)]).is_err());
    }
}
