//! Plan of the atlas: its points. Source: the axes of the issue and of teleop section 7; values ours.

use palpate_transport::coupling::Mode;

use super::plant_session::SLAVE_NPM;
use super::{AtlasChart, AtlasPoint};

/// Step between the points of a chart in a sketch.
pub const SKETCH_STEP: usize = 7;

/// Points of the atlas, chart by chart, without estimates; [`AtlasAxes::plan`](super::AtlasAxes::plan) relies on the
/// order.
pub(crate) fn plan() -> Vec<AtlasPoint> {
    [walls(), lines(), jitters(), directs(), ends()].concat()
}

/// Point without parameters and estimates.
#[must_use]
pub(crate) fn empty(chart: AtlasChart, period_ms: f64) -> AtlasPoint {
    AtlasPoint {
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

fn walls() -> Vec<AtlasPoint> {
    let mut points = Vec::new();
    for late_ms in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
        for (b_nspm, period_ms) in [(0.5, 1.0), (2.0, 1.0), (10.0, 1.0), (2.0, 0.5), (2.0, 2.0)] {
            if late_ms % period_ms == 0.0 {
                points.push(AtlasPoint {
                    b_nspm: Some(b_nspm),
                    oneway_ms: Some(0.5 * late_ms),
                    grip: "heavy",
                    ..empty(AtlasChart::Wall, period_ms)
                });
            }
        }
    }
    points
}

/// Point of the displayed stiffness.
#[must_use]
pub(crate) fn displayed(
    mode: Mode,
    oneway_ms: f64,
    b_nspm: f64,
    wall_npm: f64,
    slave_npm: f64,
) -> AtlasPoint {
    AtlasPoint {
        mode: mode.name(),
        oneway_ms: Some(oneway_ms),
        b_nspm: (mode == Mode::Wave).then_some(b_nspm),
        wall_npm: Some(wall_npm),
        slave_npm: Some(slave_npm),
        grip: "firm",
        ..empty(AtlasChart::Displayed, 1.0)
    }
}

fn lines() -> Vec<AtlasPoint> {
    let mut points = Vec::new();
    for oneway_ms in [1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0] {
        for wall_npm in [100.0, 300.0, 1000.0, 2000.0] {
            for b_nspm in [3.0, 10.0, 30.0] {
                points.push(displayed(
                    Mode::Wave,
                    oneway_ms,
                    b_nspm,
                    wall_npm,
                    SLAVE_NPM,
                ));
            }
        }
    }
    for (oneway_ms, slave_npm) in [(5.0, 500.0), (50.0, 500.0), (5.0, 1000.0), (50.0, 1000.0)] {
        for wall_npm in [300.0, 1000.0] {
            points.push(displayed(Mode::Wave, oneway_ms, 10.0, wall_npm, slave_npm));
        }
    }
    for wall_npm in [100.0, 300.0, 1000.0] {
        for oneway_ms in [1.0, 2.0] {
            points.push(displayed(Mode::Direct, oneway_ms, 0.0, wall_npm, SLAVE_NPM));
        }
    }
    points
}

fn jitters() -> Vec<AtlasPoint> {
    let mut points = Vec::new();
    for oneway_ms in [10.0, 50.0] {
        for jitter_ms in [2.0, 5.0, 20.0, 40.0] {
            for wall_npm in [300.0, 1000.0] {
                points.push(AtlasPoint {
                    chart: AtlasChart::Jitter,
                    jitter_ms,
                    ..displayed(Mode::Wave, oneway_ms, 10.0, wall_npm, SLAVE_NPM)
                });
            }
        }
    }
    points
}

fn directs() -> Vec<AtlasPoint> {
    let mut points = Vec::new();
    let mut add = |slave_npm, wall_npm, jitter_ms, grip| {
        points.push(AtlasPoint {
            mode: Mode::Direct.name(),
            jitter_ms,
            wall_npm: Some(wall_npm),
            slave_npm: Some(slave_npm),
            grip,
            ..empty(AtlasChart::Direct, 1.0)
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

/// Point of the ends chart.
#[must_use]
pub(crate) fn end(oneway_ms: f64, wall_npm: f64, slave_npm: f64, grip: &'static str) -> AtlasPoint {
    AtlasPoint {
        mode: Mode::Wave.name(),
        oneway_ms: Some(oneway_ms),
        wall_npm: Some(wall_npm),
        slave_npm: Some(slave_npm),
        grip,
        ..empty(AtlasChart::Impedance, 1.0)
    }
}

fn ends() -> Vec<AtlasPoint> {
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
