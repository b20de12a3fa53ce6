//! Charts of a report: their signals, units and captions. Source: ours.

use palpate_session::audit::EnergySample;
use palpate_session::stat::{latest_index, percentile};
use palpate_transport::trace::TickRecord;

use super::plot::{COLUMNS, Chart, Ink, Series, SeriesShape, thin};
use crate::conclusion::Evidence;
use crate::metrics::press::{PressMeasurement, alignment, depth_m, presses, push_n};
use crate::metrics::{CorrectionCell, Traces};

/// Factor of energies, which are plotted in \[mJ\].
const MJ: f64 = 1e3;

/// Window of a rate \[records\]: 100 ms.
const RATE_WINDOW: usize = 100;

/// Bins per decade of the histograms.
const BINS: usize = 12;

/// Time of a record since the master's first record, on one clock \[s\].
fn at_s(evidence: &Evidence<'_>, record: &TickRecord) -> f64 {
    let traces = &evidence.traces;
    let first = traces.master.first().or(traces.slave.first());
    let start_ns = first.map_or(0, |record| record.now_ns);
    record.now_ns.saturating_sub(start_ns) as f64 * 1e-9
}

/// Returns a value of every record over time, thinned to the resolution of a screen.
pub(super) fn trace(
    evidence: &Evidence<'_>,
    records: &[TickRecord],
    value: impl Fn(&TickRecord) -> f64,
) -> Vec<(f64, f64)> {
    let point = |r: &TickRecord| (at_s(evidence, r), value(r));
    let points: Vec<_> = records.iter().map(point).collect();
    thin(&points, COLUMNS)
}

/// Stretches of time in which a site was pressed.
fn shades(evidence: &Evidence<'_>) -> Vec<(f64, f64, String)> {
    let master = evidence.traces.master;
    let shade = |p: &PressMeasurement| {
        let [start_s, end_s] = [p.start, p.end - 1].map(|at| at_s(evidence, &master[at]));
        (start_s, end_s, p.phase.to_string())
    };
    presses(master).iter().map(shade).collect()
}

/// Force on the hand and force on the probe over time.
pub(super) fn force(evidence: &Evidence<'_>) -> String {
    let Traces { master, slave } = evidence.traces;
    let remote = trace(evidence, slave, |r| r.tissue_force_n[2]);
    let displayed = trace(evidence, master, push_n);
    let series = vec![
        Series::line("tissue on the probe", Ink::Slave, remote),
        Series::line("motors on the hand", Ink::Master, displayed),
    ];
    let chart = Chart {
        shades: shades(evidence),
        ..Chart::new("time [s]", "upward force [N]", 620, series)
    };
    let bands = match chart.shades.is_empty() {
        true => "",
        false => "Each grey band is a press, numbered by its site. ",
    };
    let lines = match slave.is_empty() {
        true => "",
        false => "The two lines differ by the delay and by the losses of the coupling.",
    };
    chart.figure(&format!("{bands}{lines}"))
}

/// Height of handle and probe over time.
pub(super) fn position(evidence: &Evidence<'_>) -> String {
    let Traces { master, slave } = evidence.traces;
    let height_mm = |r: &TickRecord| r.position_m[2] * 1e3;
    let series = vec![
        Series::line("probe", Ink::Slave, trace(evidence, slave, height_mm)),
        Series::line("handle", Ink::Master, trace(evidence, master, height_mm)),
    ];
    let chart = Chart {
        shades: shades(evidence),
        ..Chart::new("time [s]", "height [mm]", 520, series)
    };
    let follows = match slave.is_empty() {
        true => "",
        false => " The probe follows one delay later.",
    };
    chart.figure(&format!(
        "Height of the middle of the tool. Zero is the surface of the tissue at rest.{follows}"
    ))
}

/// Force over depth of one press: displayed, remote, and the true slope.
pub(super) fn press(evidence: &Evidence<'_>) -> String {
    let master = evidence.traces.master;
    let all = presses(master);
    let sites = &evidence.facts.sites;
    let lump = |p: &&PressMeasurement| sites.iter().any(|s| s.over_lump && s.phase == p.phase);
    let by_force =
        |a: &&PressMeasurement, b: &&PressMeasurement| a.peak_force_n.total_cmp(&b.peak_force_n);
    let strongest = || all.iter().max_by(by_force);
    let Some(press) = all.iter().rev().find(lump).or_else(strongest) else {
        return Chart::default().figure("");
    };
    let displayed = path(&master[press.start..press.end], push_n);
    let remote = remote_press(evidence, press);
    let touched = match remote.is_empty() {
        true => &displayed,
        false => &remote,
    };
    let truth = true_line(evidence, press, touched);
    // depth counts from the surface by the true stiffness, else from the first point
    let known = truth.as_ref().map(|(points, _)| points);
    let all_points = known.into_iter().flatten().chain(&displayed).chain(&remote);
    let surface_mm = all_points.map(|(depth, _)| *depth).fold(f64::MAX, f64::min);
    let line = |name: &str, ink, path: &[(f64, f64)]| {
        let shifted = path
            .iter()
            .map(|(depth, force)| (depth - surface_mm, *force));
        Series::line(name, ink, shifted.collect())
    };
    let mut series = vec![
        line("the probe in the tissue", Ink::Slave, &decimated(&remote)),
        line("displayed to the hand", Ink::Master, &decimated(&displayed)),
    ];
    if let Some((points, npm)) = &truth {
        let name = format!("true stiffness, {npm:.0} N/m");
        series.push(line(&name, Ink::Truth, points).shaped(SeriesShape::Thin));
    }
    let slope = match press.fit {
        Ok(fit) => format!(" The displayed stiffness is {:.0} N/m.", fit.stiffness_npm),
        Err(reason) => format!(" Its stiffness is unknown: {reason}."),
    };
    Chart::new("depth [mm]", "force [N]", 760, series).figure(&format!(
        "Site {}: way in and way out. A steeper line is stiffer; the area inside a loop is dissipated \
         energy.{slope}",
        press.phase
    ))
}

/// Force over depth \[mm\].
fn path(records: &[TickRecord], force_n: impl Fn(&TickRecord) -> f64) -> Vec<(f64, f64)> {
    let point = |r: &TickRecord| (depth_m(r) * 1e3, force_n(r));
    records.iter().map(point).collect()
}

/// Thins a path that is not in order of x, by leaving points out evenly.
fn decimated(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = (points.len() / COLUMNS).max(1);
    points.iter().step_by(every).copied().collect()
}

fn remote_press(evidence: &Evidence<'_>, press: &PressMeasurement) -> Vec<(f64, f64)> {
    let Traces { master, slave } = evidence.traces;
    let Some(shift) = alignment(&evidence.traces, evidence.facts) else {
        return Vec::new();
    };
    let times: Vec<i64> = slave.iter().map(|r| r.now_ns).collect();
    let find = |at: usize| latest_index(&times, 0, master[at].now_ns.saturating_add(shift.0));
    match (find(press.start), find(press.end - 1)) {
        (Some(start), Some(end)) => path(&slave[start..=end], |r| r.tissue_force_n[2]),
        _ => Vec::new(),
    }
}

/// Line of the true stiffness of the pressed site \[N/m\], if known, from the first contact over the depths of `path`.
fn true_line(
    evidence: &Evidence<'_>,
    press: &PressMeasurement,
    path: &[(f64, f64)],
) -> Option<([(f64, f64); 2], f64)> {
    let mut sites = evidence.facts.sites.iter();
    let site = sites.find(|s| s.phase == press.phase)?;
    let npm = site.true_npm.filter(|k| *k > 0.0)?;
    let deepest = path.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (contact, force) = path.iter().find(|(_, f)| *f > 0.1 * press.peak_force_n)?;
    let surface_mm = contact - force / npm * 1e3;
    let end = (deepest.0, (deepest.0 - surface_mm) * 1e-3 * npm);
    Some(([(surface_mm, 0.0), end], npm))
}

/// Energy stored in the channel by axis, and the energies at both ports.
pub(super) fn energy(evidence: &Evidence<'_>, samples: &[EnergySample]) -> String {
    let names = [
        ("x", Ink::Third),
        ("y", Ink::Fourth),
        ("z", Ink::Master),
        ("gripper", Ink::Slave),
    ];
    let over_time = |value: &dyn Fn(&EnergySample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().map(|s| (s.at_s, value(s) * MJ)).collect()
    };
    let mut series = Vec::new();
    for (axis, (name, ink)) in names.into_iter().enumerate() {
        let mut upper = over_time(&|s| s.max_j[axis]);
        let lower = over_time(&|s| s.min_j[axis]);
        upper.extend(lower.iter().rev());
        series.push(Series::line("", ink, upper).shaped(SeriesShape::Area));
        series.push(Series::line(name, ink, lower));
    }
    let stored = Chart {
        shades: shades(evidence),
        ..Chart::new("time [s]", "stored energy [mJ]", 520, series)
    };
    let ports = vec![
        Series::line(
            "in at the handle",
            Ink::Master,
            over_time(&|s| s.in_j.iter().sum()),
        ),
        Series::line(
            "out at the robot",
            Ink::Slave,
            over_time(&|s| s.out_j.iter().sum()),
        ),
    ];
    stored.figure(
        "Energy that the handle put into the channel and the robot has not taken out, by direction. A \
         passive channel never falls below zero: it cannot emit more than it received.",
    ) + &Chart::new("time [s]", "energy [mJ]", 440, ports).figure(
        "Energies at both ports, all directions together. The gap is stored or dissipated.",
    )
}

/// One-way delays with their bounds, a chart for each direction.
pub(super) fn delay(evidence: &Evidence<'_>) -> String {
    let Traces { master, slave } = evidence.traces;
    let forward = one_delay(evidence, slave, "to the robot", Ink::Slave);
    let back = one_delay(evidence, master, "back to the hand", Ink::Master);
    forward.figure("") + &back.figure(
        "Delay of the newest frame as each side estimates it: the line is the median, the band its \
         spread, and the pale band the bound of the true delay, because two clocks cannot be \
         compared exactly.",
    )
}

fn one_delay(evidence: &Evidence<'_>, records: &[TickRecord], name: &str, ink: Ink) -> Chart {
    let known = |r: &&TickRecord| r.oneway_ns >= 0 && r.oneway_bound_ns >= 0;
    let known: Vec<&TickRecord> = records.iter().filter(known).collect();
    // fewer columns than points of the screen, so that each shows a spread
    let size = known.len().div_ceil(COLUMNS / 4).max(1);
    let over_time = |of: &dyn Fn(&TickRecord) -> i64, p: f64| -> Vec<(f64, f64)> {
        let point = |stretch: &[&TickRecord]| {
            let mut values: Vec<f64> = stretch.iter().map(|r| of(r) as f64 * 1e-6).collect();
            Some((at_s(evidence, stretch[0]), percentile(&mut values, p)?))
        };
        known.chunks(size).filter_map(point).collect()
    };
    let band = |width: &dyn Fn(&TickRecord) -> i64| {
        let mut edge = over_time(&|r| r.oneway_ns + width(r), 1.0);
        edge.extend(over_time(&|r| r.oneway_ns - width(r), 0.0).iter().rev());
        Series::line("", ink, edge).shaped(SeriesShape::Area)
    };
    let series = vec![
        band(&|r| r.oneway_bound_ns),
        band(&|_| 0),
        Series::line(name, ink, over_time(&|r| r.oneway_ns, 0.5)),
    ];
    Chart::new("time [s]", "one-way delay [ms]", 440, series)
}

/// Frames used per second in both directions.
pub(super) fn rates(evidence: &Evidence<'_>) -> String {
    let rate = |records: &[TickRecord]| -> Vec<(f64, f64)> {
        let ends: Vec<&TickRecord> = records.iter().step_by(RATE_WINDOW).collect();
        let point = |pair: &[&TickRecord]| {
            let (a, b) = (pair[0], pair[1]);
            let passed_s = (b.now_ns - a.now_ns) as f64 * 1e-9;
            let frames = b.received_count.checked_sub(a.received_count)? as f64;
            (passed_s > 0.0).then(|| (at_s(evidence, b), frames / passed_s))
        };
        ends.windows(2).filter_map(point).collect()
    };
    let Traces { master, slave } = evidence.traces;
    let series = vec![
        Series::line("to the robot", Ink::Slave, rate(slave)),
        Series::line("back to the hand", Ink::Master, rate(master)),
    ];
    let chart = Chart {
        from_zero: true,
        ..Chart::new("time [s]", "frames used [1/s]", 440, series)
    };
    chart.figure(
        "Frames that arrived and were newer than the last, in steps of 0.1 s. An overtaken frame is not \
         used and causes no loss, because every frame carries cumulative sums.",
    )
}

/// Cost of corrections over the error of the displayed force, a line for each age of frames.
pub(super) fn correction(cells: &[CorrectionCell]) -> String {
    const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];
    let of_horizon = cells.chunk_by(|a, b| a.horizon_s_min == b.horizon_s_min);
    let series = of_horizon.enumerate().map(|(index, cells)| {
        let (from_ms, to_s) = (cells[0].horizon_s_min * 1e3, cells[0].horizon_s_max);
        let name = match to_s {
            Some(to_s) => format!("frames {from_ms:.0} to {:.0} ms old", to_s * 1e3),
            None => format!("frames {from_ms:.0} ms old and more"),
        };
        // a cell stands at the middle of its decades, the first and last at their only border
        let middle_n = |cell: &CorrectionCell| match cell.error_n_max {
            Some(max_n) if cell.error_n_min > 0.0 => (cell.error_n_min * max_n).sqrt(),
            Some(max_n) => max_n,
            None => cell.error_n_min,
        };
        let point = |cell: &CorrectionCell| (middle_n(cell).log10(), cell.change_n_mean);
        let points = cells.iter().map(point).collect();
        Series::numbered(&name, &INKS, index, points)
    });
    let (x, y) = (
        "error of the displayed force [N]",
        "change by corrections in 100 ms [N]",
    );
    let chart = Chart {
        x_decades: true,
        from_zero: true,
        ..Chart::new(x, y, 420, series.collect())
    };
    let energy_mj: f64 = cells.iter().map(|cell| cell.energy_j * MJ).sum();
    let windows: u64 = cells.iter().map(|cell| cell.windows).sum();
    chart.figure(&format!(
        "Changes of the displayed force by corrections in {windows} windows of 100 ms in contact, over its difference \
         from the remote force in the same motion. They added {energy_mj:.2} mJ to the displayed model.",
    ))
}

/// Lateness and CPU time of the servo loops.
pub(super) fn loops(evidence: &Evidence<'_>) -> String {
    let Traces { master, slave } = evidence.traces;
    let times = |of: fn(&TickRecord) -> i64| histogram(master.iter().chain(slave).map(of));
    let series = vec![
        Series::line("late wake", Ink::Third, times(|r| r.late_ns)),
        Series::line("CPU time", Ink::Truth, times(|r| r.compute_ns)),
    ];
    let chart = Chart {
        decades: true,
        ..Chart::new("microseconds", "ticks", 480, series)
    };
    chart.figure(
        "Ticks by lateness of waking and by CPU time; both axes in powers of ten, so that a single late \
         tick is visible. The period is 1000 microseconds.",
    )
}

/// Outline of a histogram of times in \[us\], both coordinates as powers of ten; 1 ns to 10 s.
fn histogram(times_ns: impl Iterator<Item = i64>) -> Vec<(f64, f64)> {
    let mut counts = vec![0_u64; 8 * BINS];
    for time_ns in times_ns.filter(|&t| t > 0) {
        let decade = (time_ns as f64 * 1e-3).log10() + 1.0;
        let bin = (decade * BINS as f64).clamp(0.0, counts.len() as f64 - 1.0) as usize;
        counts[bin] += 1;
    }
    let used = |count: &u64| *count > 0;
    let Some((first, last)) = counts
        .iter()
        .position(used)
        .zip(counts.iter().rposition(used))
    else {
        return Vec::new();
    };
    let edges = (first..=last).flat_map(|bin| {
        let left = bin as f64 / BINS as f64 - 1.0;
        // a bin without a tick lies below the axis, as one with a single tick lies on it
        let height = match counts[bin] {
            0 => -0.2,
            count => (count as f64).log10(),
        };
        [(left, height), (left + 1.0 / BINS as f64, height)]
    });
    edges.collect()
}
