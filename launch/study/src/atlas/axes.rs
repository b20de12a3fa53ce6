//! Axes of the atlas that a command line or a file replaces: the charts, and the values along their axes.
//!
//! Source: ours. The plant stays RP-1, as the formulas of all methods but the last assume it. A list replaces the values
//! of that axis in every chart that has it. The chart of sampled walls, whose delay is whole periods of its own
//! loop, keeps its axes. `direct` points of the chart `displayed` keep their delay: longer ones oscillate.

use palpate_analysis::Failure;
use palpate_transport::coupling::Mode;
use serde::Deserialize;

use super::{AtlasChart, AtlasPoint, plan};
use crate::messages::{within, wrong};

/// Most values of one axis.
const VALUES_MAX: usize = 50;

/// Most points of an atlas: hours of work on two cores.
const POINTS_MAX: usize = 5000;

/// Grips of the charts with a hand.
const GRIPS: [&str; 2] = ["light", "firm"];

/// Fields of `--config` and `--set`; defaults are those of [`mod@super::plan`].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AtlasAxes {
    /// Seed of the sessions: the delays of packets under jitter.
    pub seed: Option<u64>,
    /// Notes on former names of charts, each with the present name.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Selected charts: wall, displayed, jitter, direct, impedance.
    pub charts: Option<Vec<AtlasChart>>,
    /// One-way delays of waves \[ms\].
    pub oneway_ms: Option<Vec<f64>>,
    /// Largest additional delays of a packet \[ms\], of the charts `jitter` and `direct`.
    pub jitter_ms: Option<Vec<f64>>,
    /// Wave impedances of the charts `displayed` and `jitter` \[N s/m\].
    pub b_nspm: Option<Vec<f64>>,
    /// Stiffnesses of the remote wall \[N/m\]; 0, for none, in the charts `direct` and `impedance`.
    pub wall_npm: Option<Vec<f64>>,
    /// Stiffnesses of the slave's controller \[N/m\].
    pub slave_npm: Option<Vec<f64>>,
    /// Grips of the charts `direct` and `impedance`: light, firm.
    pub grip: Option<Vec<String>>,
}

impl AtlasAxes {
    /// Reads the axes from a file named `place`, with assignments over it, and a seed over both.
    ///
    /// # Errors
    /// [`Failure::Usage`] names file or flag, field, value, and the expected value.
    pub fn read(
        file: Option<(&str, &str)>,
        set: &[String],
        seed: Option<u64>,
    ) -> Result<Self, Failure> {
        let refused =
            |place: &str, why: &str| Failure::Usage(format!("{place}: {}", why.trim_end()));
        let mut all = toml::Table::new();
        let mut add = |text: &str| -> Result<(), toml::de::Error> {
            // each text is parsed by itself first, so that the error refers to it
            let _: Self = toml::from_str(text)?;
            all.extend(toml::from_str::<toml::Table>(text)?);
            Ok(())
        };
        if let Some((place, text)) = file {
            add(text).map_err(|error| refused(place, &error.to_string()))?;
        }
        for text in set {
            let place = format!("--set {text}");
            let Some((field, value)) = text.split_once('=') else {
                let expected = "expected FIELD=VALUE, as in oneway_ms=[10, 100]";
                return Err(refused(&place, expected));
            };
            // a single value is a list of one
            let value = value.trim();
            let listed = value.starts_with('[') || field.trim() == "seed";
            let words = value.chars().all(|c| c.is_ascii_alphabetic());
            let value = match (listed, words) {
                (true, _) => value.to_owned(),
                (false, true) => format!("[\"{value}\"]"),
                (false, false) => format!("[{value}]"),
            };
            let text = format!("{} = {value}", field.trim());
            add(&text).map_err(|error| refused(&place, &error.to_string()))?;
        }
        let notes = chart_notes(&all);
        let axes: Result<Self, _> = all.try_into();
        let mut axes = axes.map_err(|error| Failure::Usage(error.to_string()))?;
        axes.seed = seed.or(axes.seed);
        axes.notes = notes;
        axes.validate().map_err(Failure::Usage)?;
        Ok(axes)
    }

    fn validate(&self) -> Result<(), String> {
        let count = |field, count: usize| match (1..=VALUES_MAX).contains(&count) {
            true => Ok(()),
            false => {
                let expected = format!("a list of 1 to {VALUES_MAX} values");
                Err(wrong(field, format!("a list of {count}"), &expected))
            }
        };
        for (field, values, range, unit) in [
            ("oneway_ms", &self.oneway_ms, 0.0..=2000.0, "ms"),
            ("jitter_ms", &self.jitter_ms, 0.0..=1000.0, "ms"),
            ("b_nspm", &self.b_nspm, 0.1..=1000.0, "N s/m"),
            ("wall_npm", &self.wall_npm, 0.0..=1e5, "N/m"),
            ("slave_npm", &self.slave_npm, 10.0..=1e5, "N/m"),
        ] {
            let Some(values) = values else { continue };
            count(field, values.len())?;
            for &value in values {
                within(field, value, range.clone(), unit)?;
            }
        }
        if let Some(charts) = &self.charts {
            count("charts", charts.len())?;
        }
        let Some(grips) = &self.grip else {
            return Ok(());
        };
        count("grip", grips.len())?;
        let unknown = grips.iter().find(|grip| !GRIPS.contains(&grip.as_str()));
        unknown.map_or(Ok(()), |grip| Err(wrong("grip", grip, &GRIPS.join(" or "))))
    }

    /// Points of the atlas with these axes, without estimates; every `step`-th of each chart.
    ///
    /// # Errors
    /// [`Failure::Usage`] if they are too many, or none.
    pub fn plan(&self, step: usize) -> Result<Vec<AtlasPoint>, Failure> {
        let mut points = plan();
        if let Some(charts) = &self.charts {
            points.retain(|point| charts.contains(&point.chart));
        }
        let waves =
            |point: &AtlasPoint| point.chart != AtlasChart::Wall && point.mode == Mode::Wave.name();
        let hands =
            |point: &AtlasPoint| matches!(point.chart, AtlasChart::Direct | AtlasChart::Impedance);
        let jitters =
            |point: &AtlasPoint| matches!(point.chart, AtlasChart::Jitter | AtlasChart::Direct);
        points = varied(points, &self.oneway_ms, waves, |point, ms| {
            point.oneway_ms = Some(*ms);
        });
        points = varied(points, &self.jitter_ms, jitters, |point, ms| {
            point.jitter_ms = *ms;
        });
        let of_b = |point: &AtlasPoint| waves(point) && point.b_nspm.is_some();
        points = varied(points, &self.b_nspm, of_b, |point, b| {
            point.b_nspm = Some(*b);
        });
        let of_wall = |point: &AtlasPoint| point.wall_npm.is_some();
        points = varied(points, &self.wall_npm, of_wall, |point, npm| {
            point.wall_npm = Some(*npm);
        });
        // without a wall there is no stiffness to display
        points.retain(|point| hands(point) || point.wall_npm != Some(0.0));
        let of_slave = |point: &AtlasPoint| point.slave_npm.is_some();
        points = varied(points, &self.slave_npm, of_slave, |point, npm| {
            point.slave_npm = Some(*npm);
        });
        points = varied(points, &self.grip, hands, |point, grip| {
            let known = GRIPS.into_iter().find(|known| known == grip);
            point.grip = known.unwrap_or(point.grip);
        });
        if points.is_empty() || points.len() > POINTS_MAX {
            let (found, expected) = (points.len(), format!("1 to {POINTS_MAX}"));
            let found = format!("{found} points");
            return Err(Failure::Usage(wrong("the atlas", found, &expected)));
        }
        // chart by chart, as in the plan: over all of them a small chart would vanish
        let charts = points.chunk_by(|a, b| a.chart == b.chart);
        let drawn = charts.flat_map(|chart| chart.iter().step_by(step).cloned());
        Ok(drawn.collect())
    }
}

/// Notes on former names in the list `charts` of a table.
fn chart_notes(table: &toml::Table) -> Vec<String> {
    let charts = table.get("charts").and_then(toml::Value::as_array);
    let names = charts
        .into_iter()
        .flatten()
        .filter_map(|chart| chart.as_str());
    let renamed = names.filter_map(|name| {
        let mut all = AtlasChart::RENAMED.into_iter();
        all.find(|(former, _)| *former == name)
    });
    renamed
        .map(|(former, now)| format!("the chart `{former}` is now `{now}`"))
        .collect()
}

/// Points with every value of an axis in place of their own, if they have the axis; duplicates removed.
fn varied<T>(
    points: Vec<AtlasPoint>,
    values: &Option<Vec<T>>,
    has: impl Fn(&AtlasPoint) -> bool,
    set_value: impl Fn(&mut AtlasPoint, &T),
) -> Vec<AtlasPoint> {
    let Some(values) = values else {
        return points;
    };
    let mut all: Vec<AtlasPoint> = Vec::new();
    for point in points {
        if !has(&point) {
            all.push(point);
            continue;
        }
        for value in values {
            let mut one = point.clone();
            set_value(&mut one, value);
            // beyond the limit the selection does not matter
            if all.len() <= POINTS_MAX && !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::SKETCH_STEP;
    use super::*;

    fn axes(set: &[&str]) -> Result<AtlasAxes, Failure> {
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        AtlasAxes::read(None, &set, None)
    }

    #[test]
    fn default_axes_keep_the_plan() {
        let plain = axes(&["seed=4"]).expect("a seed");
        assert_eq!(plain.plan(1), Ok(plan()));
        let whole = plan();
        let sketch = AtlasChart::ALL.into_iter().flat_map(|chart| {
            let points = whole.iter().filter(move |point| point.chart == chart);
            points.step_by(SKETCH_STEP).cloned()
        });
        assert_eq!(plain.plan(SKETCH_STEP), Ok(sketch.collect()));
        assert_eq!(plain.seed, Some(4));
    }

    #[test]
    fn former_names_of_charts_are_read_and_noted() {
        let former = axes(&["charts=[\"line\", \"ends\", \"wall\"]"]).expect("charts");
        let now = axes(&["charts=[\"displayed\", \"impedance\", \"wall\"]"]).expect("charts");
        assert_eq!(former.charts, now.charts);
        let notes = [
            "the chart `line` is now `displayed`",
            "the chart `ends` is now `impedance`",
        ];
        assert_eq!(former.notes, notes);
        assert_eq!(now.notes, [""; 0]);
    }

    #[test]
    fn list_replaces_values_of_its_axis() {
        let selected = axes(&[
            "charts=[\"displayed\", \"impedance\"]",
            "oneway_ms=[7, 70]",
            "wall_npm=300",
        ]);
        let points = selected.and_then(|axes| axes.plan(1));
        let points = points.expect("points");
        let waves = || points.iter().filter(|p| p.mode == "wave");
        assert!(waves().all(|p| [Some(7.0), Some(70.0)].contains(&p.oneway_ms)));
        assert!(points.iter().all(|p| p.wall_npm == Some(300.0)));
        let lines = waves().filter(|p| p.chart == AtlasChart::Displayed);
        // three impedances, and b = 10 with two more controllers, over two delays
        assert_eq!(lines.count(), 2 * (3 + 2));
        let ends = waves().filter(|p| p.chart == AtlasChart::Impedance);
        assert_eq!(ends.count(), 2 * 3 * 2, "delays, controllers, grips");
        for (place, point) in points.iter().enumerate() {
            assert!(!points[..place].contains(point), "{point:?}");
        }
    }

    #[test]
    fn issue_sketch_with_axes_lost_small_charts() {
        let selected = axes(&[
            "charts=[\"displayed\", \"jitter\", \"direct\"]",
            "slave_npm=900",
        ]);
        let points = selected.and_then(|axes| axes.plan(SKETCH_STEP));
        let points = points.expect("points");
        for chart in [
            AtlasChart::Displayed,
            AtlasChart::Jitter,
            AtlasChart::Direct,
        ] {
            assert!(points.iter().any(|p| p.chart == chart), "{chart:?}");
        }
        let one = axes(&["b_nspm=7"]).and_then(|axes| axes.plan(SKETCH_STEP));
        let of =
            |points: &[AtlasPoint]| AtlasChart::ALL.map(|c| points.iter().any(|p| p.chart == c));
        assert_eq!(of(&one.expect("points")), of(&plan()));
    }

    #[test]
    fn flags_override_the_file_and_errors_name_the_field() {
        let file = Some(("a.toml", "grip = [\"light\"]\nseed = 2\nb_nspm = [5]\n"));
        let read = AtlasAxes::read(file, &["b_nspm=[6, 7]".to_owned()], Some(9)).expect("good");
        assert_eq!((read.seed, read.b_nspm), (Some(9), Some(vec![6.0, 7.0])));
        assert_eq!(read.grip, Some(vec!["light".to_owned()]));
        let error =
            AtlasAxes::read(Some(("a.toml", "rtt = 3\n")), &[], None).expect_err("no field");
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
        let none = axes(&["charts=displayed", "wall_npm=0"]).and_then(|axes| axes.plan(1));
        assert!(none.is_err_and(|error| error.to_string().contains("0 points")));
    }
}
