//! Which points the atlas has. Source: the axes that issue and teleop section 7 name; values ours.

use palpate_transport::coupling::Mode;

use super::session::SLAVE_NPM;
use super::{Chart, Point};

/// How much of the atlas is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All points.
    Whole,
    /// A few, for a first look.
    Sketch,
}

/// Which of many a sketch draws.
const SKETCHED: usize = 7;

impl Extent {
    /// Every how manieth point is drawn.
    #[must_use]
    pub fn step(self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Sketch => SKETCHED,
        }
    }
}

/// Points of the atlas, not yet found.
#[must_use]
pub fn plan(extent: Extent) -> Vec<Point> {
    let charts = [walls(), lines(), jitters(), directs(), ends()];
    let drawn = charts
        .into_iter()
        .flat_map(|chart| chart.into_iter().step_by(extent.step()));
    drawn.collect()
}

/// A point of which nothing is said.
#[must_use]
pub fn empty(chart: Chart, period_ms: f64) -> Point {
    Point {
        chart,
        mode: "",
        oneway_ms: None,
        jitter_ms: 0.0,
        b_nspm: None,
        wall_npm: None,
        slave_npm: None,
        period_ms,
        grip: "",
        closed: None,
        frequency: None,
        root: None,
        time: None,
        absolute: None,
    }
}

fn walls() -> Vec<Point> {
    let mut points = Vec::new();
    for late_ms in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
        for (b_nspm, period_ms) in [(0.5, 1.0), (2.0, 1.0), (10.0, 1.0), (2.0, 0.5), (2.0, 2.0)] {
            if late_ms % period_ms == 0.0 {
                points.push(Point {
                    b_nspm: Some(b_nspm),
                    oneway_ms: Some(0.5 * late_ms),
                    grip: "heavy",
                    ..empty(Chart::Wall, period_ms)
                });
            }
        }
    }
    points
}

/// A point of the line's chart.
#[must_use]
pub fn line(mode: Mode, oneway_ms: f64, b_nspm: f64, wall_npm: f64, slave_npm: f64) -> Point {
    Point {
        mode: mode.name(),
        oneway_ms: Some(oneway_ms),
        b_nspm: (mode == Mode::Wave).then_some(b_nspm),
        wall_npm: Some(wall_npm),
        slave_npm: Some(slave_npm),
        grip: "firm",
        ..empty(Chart::Line, 1.0)
    }
}

fn lines() -> Vec<Point> {
    let mut points = Vec::new();
    for oneway_ms in [1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0] {
        for wall_npm in [100.0, 300.0, 1000.0, 2000.0] {
            for b_nspm in [3.0, 10.0, 30.0] {
                points.push(line(Mode::Wave, oneway_ms, b_nspm, wall_npm, SLAVE_NPM));
            }
        }
    }
    for (oneway_ms, slave_npm) in [(5.0, 500.0), (50.0, 500.0), (5.0, 1000.0), (50.0, 1000.0)] {
        for wall_npm in [300.0, 1000.0] {
            points.push(line(Mode::Wave, oneway_ms, 10.0, wall_npm, slave_npm));
        }
    }
    for wall_npm in [100.0, 300.0, 1000.0] {
        for oneway_ms in [1.0, 2.0] {
            points.push(line(Mode::Direct, oneway_ms, 0.0, wall_npm, SLAVE_NPM));
        }
    }
    points
}

fn jitters() -> Vec<Point> {
    let mut points = Vec::new();
    for oneway_ms in [10.0, 50.0] {
        for jitter_ms in [2.0, 5.0, 20.0, 40.0] {
            for wall_npm in [300.0, 1000.0] {
                points.push(Point {
                    chart: Chart::Jitter,
                    jitter_ms,
                    ..line(Mode::Wave, oneway_ms, 10.0, wall_npm, SLAVE_NPM)
                });
            }
        }
    }
    points
}

fn directs() -> Vec<Point> {
    let mut points = Vec::new();
    let mut add = |slave_npm, wall_npm, jitter_ms, grip| {
        points.push(Point {
            mode: Mode::Direct.name(),
            jitter_ms,
            wall_npm: Some(wall_npm),
            slave_npm: Some(slave_npm),
            grip,
            ..empty(Chart::Direct, 1.0)
        });
    };
    for grip in ["light", "firm"] {
        for slave_npm in [200.0, 500.0, 1000.0, 2000.0] {
            add(slave_npm, 0.0, 0.0, grip);
        }
        for (slave_npm, wall_npm) in [
            (500.0, 300.0),
            (500.0, 1000.0),
            (500.0, 5000.0),
            (1000.0, 300.0),
            (2000.0, 300.0),
        ] {
            add(slave_npm, wall_npm, 0.0, grip);
        }
        for (slave_npm, jitter_ms) in [(200.0, 3.0), (200.0, 6.0), (500.0, 3.0)] {
            add(slave_npm, 0.0, jitter_ms, grip);
        }
    }
    points
}

/// A point of the ends' chart.
#[must_use]
pub fn end(oneway_ms: f64, wall_npm: f64, slave_npm: f64, grip: &'static str) -> Point {
    Point {
        mode: Mode::Wave.name(),
        oneway_ms: Some(oneway_ms),
        wall_npm: Some(wall_npm),
        slave_npm: Some(slave_npm),
        grip,
        ..empty(Chart::Ends, 1.0)
    }
}

fn ends() -> Vec<Point> {
    let mut points = Vec::new();
    for grip in ["light", "firm"] {
        for slave_npm in [500.0, 1000.0, 2000.0] {
            for oneway_ms in [2.0, 10.0, 50.0] {
                points.push(end(oneway_ms, 0.0, slave_npm, grip));
            }
            points.push(end(10.0, 1000.0, slave_npm, grip));
        }
    }
    points
}
