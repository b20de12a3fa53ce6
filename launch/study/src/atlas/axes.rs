//! What of the atlas a command line or a file replaces: which charts, and the values along their axes.
//!
//! Source: ours. The plant stays RP-1, as every way but the last has it by formula. A list replaces the values
//! of that axis in every chart that has it; the chart of sampled walls, whose delay is whole periods of its own
//! loop, keeps its axes. `direct` points of the line's chart keep their delay: longer ones swing.

use palpate_transport::coupling::Mode;
use serde::Deserialize;

use super::{Chart, Extent, Point, plan};

/// Most values of one axis.
const VALUES_MAX: usize = 50;

/// Most points of an atlas: hours on two cores.
const POINTS_MAX: usize = 5000;

/// Grips of which the charts of hands know.
const GRIPS: [&str; 2] = ["light", "firm"];

/// The fields of `--config` and `--set`; what is not given is as [`mod@super::plan`] has it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Axes {
    /// Seed of what sessions draw: the delays of packets under jitter.
    pub seed: Option<u64>,
    /// Charts that are drawn: wall, line, jitter, direct, ends.
    pub charts: Option<Vec<Chart>>,
    /// One-way delays of waves \[ms\].
    pub oneway_ms: Option<Vec<f64>>,
    /// By how much later a packet may be \[ms\], of the charts jitter and direct.
    pub jitter_ms: Option<Vec<f64>>,
    /// Wave impedances of the charts line and jitter \[N s/m\].
    pub b_nspm: Option<Vec<f64>>,
    /// Stiffnesses of the remote wall \[N/m\]; 0, for none, in the charts direct and ends.
    pub wall_npm: Option<Vec<f64>>,
    /// Stiffnesses of the slave's controller \[N/m\].
    pub slave_npm: Option<Vec<f64>>,
    /// Grips of the charts direct and ends: light, firm.
    pub grip: Option<Vec<String>>,
}

/// An axis that cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxesError {
    /// Not TOML, or a field that the atlas does not have.
    #[error("{place}: {message}")]
    Parse {
        /// The file, or the flag as it was given.
        place: String,
        /// What the parser says.
        message: String,
    },
    /// `--set` without `=`.
    #[error("--set {text}: expected FIELD=VALUE, as in oneway_ms=[10, 100]")]
    Assignment {
        /// What was given.
        text: String,
    },
    /// A value out of its range, or a list too long or empty.
    #[error("{field} is {found}; expected {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it is.
        found: String,
        /// What would be right.
        expected: String,
    },
}

impl Axes {
    /// From a file named `place`, with assignments over it, and a seed over both.
    ///
    /// # Errors
    /// [`AxesError`] names file or flag, field, value, and what would be right.
    pub fn read(
        file: Option<(&str, &str)>,
        set: &[String],
        seed: Option<u64>,
    ) -> Result<Self, AxesError> {
        let wrong = |place: &str, error: toml::de::Error| AxesError::Parse {
            place: place.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        };
        let mut axes = match file {
            Some((place, text)) => toml::from_str(text).map_err(|error| wrong(place, error))?,
            None => Self::default(),
        };
        for text in set {
            let Some((field, value)) = text.split_once('=') else {
                return Err(AxesError::Assignment { text: text.clone() });
            };
            // one value is a list of one
            let value = value.trim();
            let listed = value.starts_with('[') || field.trim() == "seed";
            let words = value.chars().all(|c| c.is_ascii_alphabetic());
            let value = match (listed, words) {
                (true, _) => value.to_owned(),
                (false, true) => format!("[\"{value}\"]"),
                (false, false) => format!("[{value}]"),
            };
            let place = format!("--set {text}");
            let one: Self = toml::from_str(&format!("{} = {value}", field.trim()))
                .map_err(|error| wrong(&place, error))?;
            axes = one.over(axes);
        }
        axes.seed = seed.or(axes.seed);
        axes.validate()?;
        Ok(axes)
    }

    /// These over others.
    fn over(self, below: Self) -> Self {
        Self {
            seed: self.seed.or(below.seed),
            charts: self.charts.or(below.charts),
            oneway_ms: self.oneway_ms.or(below.oneway_ms),
            jitter_ms: self.jitter_ms.or(below.jitter_ms),
            b_nspm: self.b_nspm.or(below.b_nspm),
            wall_npm: self.wall_npm.or(below.wall_npm),
            slave_npm: self.slave_npm.or(below.slave_npm),
            grip: self.grip.or(below.grip),
        }
    }

    fn validate(&self) -> Result<(), AxesError> {
        let wrong = |field, found: String, expected: String| AxesError::Field {
            field,
            found,
            expected,
        };
        let count = |field, count: usize| {
            let expected = format!("a list of 1 to {VALUES_MAX} values");
            match (1..=VALUES_MAX).contains(&count) {
                true => Ok(()),
                false => Err(wrong(field, format!("a list of {count}"), expected)),
            }
        };
        for (field, values, low, high, unit) in [
            ("oneway_ms", &self.oneway_ms, 0.0, 2000.0, "ms"),
            ("jitter_ms", &self.jitter_ms, 0.0, 1000.0, "ms"),
            ("b_nspm", &self.b_nspm, 0.1, 1000.0, "N s/m"),
            ("wall_npm", &self.wall_npm, 0.0, 1e5, "N/m"),
            ("slave_npm", &self.slave_npm, 10.0, 1e5, "N/m"),
        ] {
            let Some(values) = values else { continue };
            count(field, values.len())?;
            let strange = values.iter().find(|value| !(low..=high).contains(*value));
            if let Some(value) = strange {
                let expected = format!("{low} to {high} {unit}");
                return Err(wrong(field, value.to_string(), expected));
            }
        }
        if let Some(charts) = &self.charts {
            count("charts", charts.len())?;
        }
        let Some(grips) = &self.grip else {
            return Ok(());
        };
        count("grip", grips.len())?;
        let strange = grips.iter().find(|grip| !GRIPS.contains(&grip.as_str()));
        strange.map_or(Ok(()), |grip| {
            Err(wrong("grip", grip.clone(), GRIPS.join(" or ")))
        })
    }

    /// Points of the atlas with these axes, not yet found.
    ///
    /// # Errors
    /// [`AxesError::Field`] if they are too many, or none.
    pub fn plan(&self, extent: Extent) -> Result<Vec<Point>, AxesError> {
        if *self
            == (Self {
                seed: self.seed,
                ..Self::default()
            })
        {
            return Ok(plan(extent));
        }
        let mut points = plan(Extent::Whole);
        if let Some(charts) = &self.charts {
            points.retain(|point| charts.contains(&point.chart));
        }
        let waves = |point: &Point| point.chart != Chart::Wall && point.mode == Mode::Wave.name();
        let hands = |point: &Point| matches!(point.chart, Chart::Direct | Chart::Ends);
        let jitters = |point: &Point| matches!(point.chart, Chart::Jitter | Chart::Direct);
        points = varied(points, self.oneway_ms.as_deref(), waves, |point, ms| {
            point.oneway_ms = Some(*ms);
        });
        points = varied(points, self.jitter_ms.as_deref(), jitters, |point, ms| {
            point.jitter_ms = *ms;
        });
        let of_b = |point: &Point| waves(point) && point.b_nspm.is_some();
        points = varied(points, self.b_nspm.as_deref(), of_b, |point, b| {
            point.b_nspm = Some(*b);
        });
        let of_wall = |point: &Point| point.wall_npm.is_some();
        points = varied(points, self.wall_npm.as_deref(), of_wall, |point, npm| {
            point.wall_npm = Some(*npm);
        });
        // nothing is shown of no wall
        points.retain(|point| hands(point) || point.wall_npm != Some(0.0));
        let of_slave = |point: &Point| point.slave_npm.is_some();
        points = varied(points, self.slave_npm.as_deref(), of_slave, |point, npm| {
            point.slave_npm = Some(*npm);
        });
        points = varied(points, self.grip.as_deref(), hands, |point, grip| {
            let known = GRIPS.into_iter().find(|known| known == grip);
            point.grip = known.unwrap_or(point.grip);
        });
        if points.is_empty() || points.len() > POINTS_MAX {
            return Err(AxesError::Field {
                field: "the atlas",
                found: format!("{} points", points.len()),
                expected: format!("1 to {POINTS_MAX}"),
            });
        }
        // chart by chart, as a plan is: over all of them a small chart would vanish
        let charts = points.chunk_by(|a, b| a.chart == b.chart);
        let drawn = charts.flat_map(|chart| chart.iter().step_by(extent.step()).cloned());
        Ok(drawn.collect())
    }
}

/// Points with every value of an axis instead of those that they have, where they have the axis; each once.
fn varied<T>(
    points: Vec<Point>,
    values: Option<&[T]>,
    has: impl Fn(&Point) -> bool,
    put: impl Fn(&mut Point, &T),
) -> Vec<Point> {
    let Some(values) = values else {
        return points;
    };
    let mut all: Vec<Point> = Vec::new();
    for point in points {
        if !has(&point) {
            all.push(point);
            continue;
        }
        for value in values {
            let mut one = point.clone();
            put(&mut one, value);
            // beyond what is refused it does not matter which
            if all.len() <= POINTS_MAX && !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(set: &[&str]) -> Result<Axes, AxesError> {
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        Axes::read(None, &set, None)
    }

    #[test]
    fn nothing_given_is_the_atlas_as_it_is() {
        let plain = axes(&["seed=4"]).expect("a seed");
        assert_eq!(plain.plan(Extent::Sketch), Ok(plan(Extent::Sketch)));
        assert_eq!(plain.seed, Some(4));
    }

    #[test]
    fn a_list_replaces_the_values_of_its_axis() {
        let given = axes(&[
            "charts=[\"line\", \"ends\"]",
            "oneway_ms=[7, 70]",
            "wall_npm=300",
        ]);
        let points = given.and_then(|axes| axes.plan(Extent::Whole));
        let points = points.expect("points");
        let waves = || points.iter().filter(|p| p.mode == "wave");
        assert!(waves().all(|p| [Some(7.0), Some(70.0)].contains(&p.oneway_ms)));
        assert!(points.iter().all(|p| p.wall_npm == Some(300.0)));
        let lines = waves().filter(|p| p.chart == Chart::Line);
        // three impedances, and b = 10 with two more controllers, over two delays
        assert_eq!(lines.count(), 2 * (3 + 2));
        let ends = waves().filter(|p| p.chart == Chart::Ends);
        assert_eq!(ends.count(), 2 * 3 * 2, "delays, controllers, grips");
        for (place, point) in points.iter().enumerate() {
            assert!(!points[..place].contains(point), "{point:?}");
        }
    }

    #[test]
    fn issue_a_sketch_with_axes_lost_small_charts() {
        let given = axes(&["charts=[\"line\", \"jitter\", \"direct\"]", "slave_npm=900"]);
        let points = given.and_then(|axes| axes.plan(Extent::Sketch));
        let points = points.expect("points");
        for chart in [Chart::Line, Chart::Jitter, Chart::Direct] {
            assert!(points.iter().any(|p| p.chart == chart), "{chart:?}");
        }
        let one = axes(&["b_nspm=7"]).and_then(|axes| axes.plan(Extent::Sketch));
        let of = |points: &[Point]| Chart::ALL.map(|c| points.iter().any(|p| p.chart == c));
        assert_eq!(of(&one.expect("points")), of(&plan(Extent::Sketch)));
    }

    #[test]
    fn flags_win_over_the_file_and_what_is_wrong_is_named() {
        let file = Some(("a.toml", "grip = [\"light\"]\nseed = 2\nb_nspm = [5]\n"));
        let read = Axes::read(file, &["b_nspm=[6, 7]".to_owned()], Some(9)).expect("good");
        assert_eq!((read.seed, read.b_nspm), (Some(9), Some(vec![6.0, 7.0])));
        assert_eq!(read.grip, Some(vec!["light".to_owned()]));
        let error = Axes::read(Some(("a.toml", "rtt = 3\n")), &[], None).expect_err("no field");
        assert!(error.to_string().contains("a.toml") && error.to_string().contains("oneway_ms"));
        for (set, parts) in [
            ("oneway_ms", ["--set oneway_ms", "FIELD=VALUE"]),
            ("oneway=[3]", ["--set oneway=[3]", "oneway_ms"]),
            ("oneway_ms=-3", ["oneway_ms is -3", "0 to 2000 ms"]),
            ("b_nspm=[]", ["b_nspm is a list of 0", "1 to 50"]),
            ("grip=tight", ["grip is tight", "light or firm"]),
            ("charts=map", ["--set charts=map", "wall"]),
        ] {
            let error = axes(&[set]).expect_err(set).to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let none = axes(&["charts=line", "wall_npm=0"]).and_then(|axes| axes.plan(Extent::Whole));
        assert!(none.is_err_and(|error| error.to_string().contains("0 points")));
    }
}
