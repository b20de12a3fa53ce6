//! The charts of a report: which signals, in which units, with which words under them. Source:
//! ours.

use palpate_session::audit::EnergySample;
use palpate_session::stat::{latest, percentile};
use palpate_transport::trace::TickRecord;

use super::ReportInput;
use super::plot::{COLUMNS, Chart, Ink, Series, Shape, thin};
use crate::metrics::CorrectionCell;
use crate::metrics::press::{Press, alignment, depth_m, presses, push_n};

/// Ledgers and energies are plotted in \[mJ\].
const MJ: f64 = 1e3;

/// Window of a rate \[records\]: 100 ms.
const RATE_WINDOW: usize = 100;

/// Bins per decade of the histograms.
const BINS: usize = 12;

/// A record's time since the master's first record, all on one clock \[s\].
fn at_s(input: &ReportInput<'_>, record: &TickRecord) -> f64 {
    record.now_ns.saturating_sub(start_ns(input)) as f64 * 1e-9
}

fn start_ns(input: &ReportInput<'_>) -> i64 {
    let first = input.traces.master.first().or(input.traces.slave.first());
    first.map_or(0, |record| record.now_ns)
}

fn trace(
    input: &ReportInput<'_>,
    records: &[TickRecord],
    value: impl Fn(&TickRecord) -> f64,
) -> Vec<(f64, f64)> {
    let points: Vec<_> = records.iter().map(|r| (at_s(input, r), value(r))).collect();
    thin(&points, COLUMNS)
}

/// Stretches of time in which a site was pressed.
fn shades(input: &ReportInput<'_>) -> Vec<(f64, f64, String)> {
    let master = input.traces.master;
    presses(master)
        .iter()
        .map(|p| {
            let (start, end) = (
                at_s(input, &master[p.start]),
                at_s(input, &master[p.end - 1]),
            );
            (start, end, p.phase.to_string())
        })
        .collect()
}

/// Force on the hand and force on the probe over time.
pub(super) fn force(input: &ReportInput<'_>) -> String {
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "upward force [N]".to_owned(),
        height: 620,
        shades: shades(input),
        series: vec![
            Series::line(
                "tissue on the probe",
                Ink::Slave,
                trace(input, input.traces.slave, |r| r.tissue_force_n[2]),
            ),
            Series::line(
                "motors on the hand",
                Ink::Master,
                trace(input, input.traces.master, push_n),
            ),
        ],
        ..Chart::default()
    };
    let bands = if chart.shades.is_empty() {
        ""
    } else {
        "Each grey band is a press, numbered by its site. "
    };
    let lines = if input.traces.slave.is_empty() {
        ""
    } else {
        "The two lines differ by the delay and by what the coupling lost."
    };
    chart.figure(&format!("{bands}{lines}"))
}

/// Height of handle and probe over time.
pub(super) fn position(input: &ReportInput<'_>) -> String {
    let height_mm = |r: &TickRecord| r.position_m[2] * 1e3;
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "height [mm]".to_owned(),
        height: 520,
        shades: shades(input),
        series: vec![
            Series::line(
                "probe",
                Ink::Slave,
                trace(input, input.traces.slave, height_mm),
            ),
            Series::line(
                "handle",
                Ink::Master,
                trace(input, input.traces.master, height_mm),
            ),
        ],
        ..Chart::default()
    };
    let follows = if input.traces.slave.is_empty() {
        ""
    } else {
        " The probe follows one delay later."
    };
    chart.figure(&format!(
        "Height of the middle of the tool. Zero is the surface of the tissue at rest.{follows}"
    ))
}

/// One press, force over depth: as felt, as met by the probe, and the true slope.
pub(super) fn press(input: &ReportInput<'_>) -> String {
    let master = input.traces.master;
    let all = presses(master);
    let lump = |p: &&Press| {
        input
            .facts
            .sites
            .iter()
            .any(|s| s.over_lump && s.phase == p.phase)
    };
    let strongest = || {
        all.iter()
            .max_by(|a, b| a.peak_force_n.total_cmp(&b.peak_force_n))
    };
    let Some(press) = all.iter().rev().find(lump).or_else(strongest) else {
        return Chart::default().figure("");
    };
    let felt: Vec<_> = master[press.start..press.end]
        .iter()
        .map(|r| (depth_m(r) * 1e3, push_n(r)))
        .collect();
    let met = remote_press(input, press);
    let truth = true_line(input, press, if met.is_empty() { &felt } else { &met });
    // depth counts from where the tissue begins by its true stiffness, else from the first point
    let all_points = truth.iter().flatten().chain(&felt).chain(&met);
    let surface_mm = all_points.map(|(depth, _)| *depth).fold(f64::MAX, f64::min);
    let from_surface = |path: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let moved = path.into_iter();
        moved
            .map(|(depth, force)| (depth - surface_mm, force))
            .collect()
    };
    let line = |name: &str, ink, path| Series::line(name, ink, from_surface(path));
    let mut series = vec![
        line("the probe in the tissue", Ink::Slave, decimated(&met)),
        line("felt by the hand", Ink::Master, decimated(&felt)),
    ];
    if let (Some(points), Some(npm)) = (truth, true_npm(input, press)) {
        let name = format!("true stiffness, {npm:.0} N/m");
        series.push(line(&name, Ink::Truth, points).shaped(Shape::Thin));
    }
    let chart = Chart {
        x: "depth [mm]".to_owned(),
        y: "force [N]".to_owned(),
        height: 760,
        series,
        ..Chart::default()
    };
    let slope = match press.displayed_npm {
        Ok(npm) => format!(" The hand felt {npm:.0} N/m."),
        Err(reason) => format!(" No stiffness can be told of it: {reason}."),
    };
    chart.figure(&format!(
        "Site {}: down and up again. Where the lines run steeper, it feels harder; the area \
         inside a \
         loop is energy that was lost.{slope}",
        press.phase
    ))
}

/// Thins a path that is not in order of x, by leaving points out evenly.
fn decimated(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points
        .iter()
        .step_by((points.len() / COLUMNS).max(1))
        .copied()
        .collect()
}

fn remote_press(input: &ReportInput<'_>, press: &Press) -> Vec<(f64, f64)> {
    let slave = input.traces.slave;
    let Some(shift) = alignment(&input.traces, input.facts) else {
        return Vec::new();
    };
    let times: Vec<i64> = slave.iter().map(|r| r.now_ns).collect();
    let find = |record: &TickRecord| latest(&times, 0, record.now_ns.saturating_add(shift.0));
    let master = input.traces.master;
    let (Some(start), Some(end)) = (find(&master[press.start]), find(&master[press.end - 1]))
    else {
        return Vec::new();
    };
    slave[start..=end]
        .iter()
        .map(|r| (depth_m(r) * 1e3, r.tissue_force_n[2]))
        .collect()
}

/// True stiffness of the site that is pressed \[N/m\], if known.
fn true_npm(input: &ReportInput<'_>, press: &Press) -> Option<f64> {
    let site = input.facts.sites.iter().find(|s| s.phase == press.phase)?;
    site.true_stiffness_npm.filter(|k| *k > 0.0)
}

/// The true stiffness as a line from the touch on, over the depths of `path`.
fn true_line(
    input: &ReportInput<'_>,
    press: &Press,
    path: &[(f64, f64)],
) -> Option<Vec<(f64, f64)>> {
    let npm = true_npm(input, press)?;
    let deepest = path.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (touch, force) = path.iter().find(|(_, f)| *f > 0.1 * press.peak_force_n)?;
    let surface_mm = touch - force / npm * 1e3;
    Some(vec![
        (surface_mm, 0.0),
        (deepest.0, (deepest.0 - surface_mm) * 1e-3 * npm),
    ])
}

/// Energy stored in the channel by axis.
pub(super) fn energy(input: &ReportInput<'_>) -> String {
    let names = [
        ("x", Ink::Third),
        ("y", Ink::Fourth),
        ("z", Ink::Master),
        ("gripper", Ink::Slave),
    ];
    let mut series = Vec::new();
    for (axis, (name, ink)) in names.into_iter().enumerate() {
        let edge = |of: fn(&EnergySample) -> &palpate_transport::Axes| {
            move |s: &EnergySample| (s.at_s, of(s)[axis] * MJ)
        };
        let samples = &input.audit.trace;
        let mut upper: Vec<_> = samples.iter().map(edge(|s| &s.max_j)).collect();
        let lower: Vec<_> = samples.iter().map(edge(|s| &s.min_j)).collect();
        upper.extend(lower.iter().rev());
        series.push(
            Series {
                name: String::new(),
                ..Series::line("", ink, upper)
            }
            .shaped(Shape::Area),
        );
        series.push(Series::line(name, ink, lower));
    }
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "stored energy [mJ]".to_owned(),
        height: 520,
        shades: shades(input),
        series,
        ..Chart::default()
    };
    chart.figure(
        "What the handle put into the channel and the robot has not yet taken out, by direction. A \
         passive channel never falls below zero: it cannot give back what it was not given.",
    )
}

/// Ledgers at both ports.
pub(super) fn ledgers(input: &ReportInput<'_>) -> String {
    let sum = |of: fn(&EnergySample) -> &palpate_transport::Axes| -> Vec<(f64, f64)> {
        input
            .audit
            .trace
            .iter()
            .map(|s| (s.at_s, of(s).iter().sum::<f64>() * MJ))
            .collect()
    };
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "energy [mJ]".to_owned(),
        height: 440,
        series: vec![
            Series::line("in at the handle", Ink::Master, sum(|s| &s.in_j)),
            Series::line("out at the robot", Ink::Slave, sum(|s| &s.out_j)),
        ],
        ..Chart::default()
    };
    chart.figure(
        "The two accounts behind it, all directions together. The gap is what is stored or lost.",
    )
}

/// One-way delays with their bounds, a chart for each direction.
pub(super) fn delay(input: &ReportInput<'_>) -> String {
    let there = one_delay(input, input.traces.slave, "to the robot", Ink::Slave);
    let back = one_delay(input, input.traces.master, "back to the hand", Ink::Master);
    there.figure("") + &back.figure(
        "Delay of the newest frame as each side estimates it: the line is the middle, the band its \
         spread, and the pale band the bound within which the truth must lie, since two clocks can \
         never be compared exactly.",
    )
}

fn one_delay(input: &ReportInput<'_>, records: &[TickRecord], name: &str, ink: Ink) -> Chart {
    let known: Vec<TickRecord> = records
        .iter()
        .filter(|r| r.oneway_ns >= 0 && r.oneway_bound_ns >= 0)
        .copied()
        .collect();
    // Fewer columns than points of the screen, so that each shows a spread.
    let stretches: Vec<&[TickRecord]> = known
        .chunks(known.len().div_ceil(COLUMNS / 4).max(1))
        .collect();
    let over_time = |of: &dyn Fn(&TickRecord) -> i64, p: f64| -> Vec<(f64, f64)> {
        let value = |stretch: &[TickRecord]| {
            percentile(
                &mut stretch
                    .iter()
                    .map(|r| of(r) as f64 * 1e-6)
                    .collect::<Vec<_>>(),
                p,
            )
        };
        stretches
            .iter()
            .filter_map(|s| Some((at_s(input, &s[0]), value(s)?)))
            .collect()
    };
    let band = |width: &dyn Fn(&TickRecord) -> i64| {
        let mut edge = over_time(&|r| r.oneway_ns + width(r), 1.0);
        edge.extend(over_time(&|r| r.oneway_ns - width(r), 0.0).iter().rev());
        Series::line("", ink, edge).shaped(Shape::Area)
    };
    Chart {
        x: "time [s]".to_owned(),
        y: "one-way delay [ms]".to_owned(),
        height: 440,
        series: vec![
            band(&|r| r.oneway_bound_ns),
            band(&|_| 0),
            Series::line(name, ink, over_time(&|r| r.oneway_ns, 0.5)),
        ],
        ..Chart::default()
    }
}

/// Frames used per second in both directions.
pub(super) fn rates(input: &ReportInput<'_>) -> String {
    let rate = |records: &[TickRecord]| -> Vec<(f64, f64)> {
        records
            .iter()
            .step_by(RATE_WINDOW)
            .zip(records.iter().skip(RATE_WINDOW).step_by(RATE_WINDOW))
            .filter_map(|(a, b)| {
                let passed_s = (b.now_ns - a.now_ns) as f64 * 1e-9;
                let frames = b.received_count.checked_sub(a.received_count)? as f64;
                (passed_s > 0.0).then(|| (at_s(input, b), frames / passed_s))
            })
            .collect()
    };
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "frames used [1/s]".to_owned(),
        height: 440,
        from_zero: true,
        series: vec![
            Series::line("to the robot", Ink::Slave, rate(input.traces.slave)),
            Series::line("back to the hand", Ink::Master, rate(input.traces.master)),
        ],
        ..Chart::default()
    };
    chart.figure(
        "Frames that arrived and were newer than the last, in steps of 0.1 s. A frame that was \
         overtaken is not used, and nothing is lost by it: every frame carries the whole account.",
    )
}

/// What corrections cost over how wrong the felt force was, a line for each age of the news.
pub(super) fn correction(cells: &[CorrectionCell]) -> String {
    const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];
    let of_horizon = cells.chunk_by(|a, b| a.horizon_s_min == b.horizon_s_min);
    let series = of_horizon.enumerate().map(|(index, cells)| {
        let (from_ms, to_s) = (cells[0].horizon_s_min * 1e3, cells[0].horizon_s_max);
        let name = match to_s {
            Some(to_s) => format!("news {from_ms:.0} to {:.0} ms old", to_s * 1e3),
            None => format!("news {from_ms:.0} ms old and more"),
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
    let chart = Chart {
        x: "error of the felt force [N]".to_owned(),
        y: "change by corrections in 100 ms [N]".to_owned(),
        height: 420,
        series: series.collect(),
        x_decades: true,
        from_zero: true,
        ..Chart::default()
    };
    let energy_mj: f64 = cells.iter().map(|cell| cell.energy_j * MJ).sum();
    let windows: u64 = cells.iter().map(|cell| cell.windows).sum();
    chart.figure(&format!(
        "How much corrections changed the felt force in {windows} windows of 100 ms in contact, over how far it \
         was from what the robot met in the same motion. They put {energy_mj:.2} mJ into the felt model."
    ))
}

/// Lateness and computing time of the servo loops.
pub(super) fn loops(input: &ReportInput<'_>) -> String {
    let both = || input.traces.master.iter().chain(input.traces.slave);
    let chart = Chart {
        x: "microseconds".to_owned(),
        y: "ticks".to_owned(),
        height: 480,
        series: vec![
            Series::line(
                "woke late by",
                Ink::Third,
                histogram(both().map(|r| r.late_ns)),
            ),
            Series::line(
                "computed for",
                Ink::Truth,
                histogram(both().map(|r| r.compute_ns)),
            ),
        ],
        decades: true,
        ..Chart::default()
    };
    chart.figure(
        "How many ticks woke how late, and how long they computed; both axes in powers of ten, so \
         that a single late tick can be seen. The period is 1000 microseconds.",
    )
}

/// Outline of a histogram of times in \[us\], both coordinates as powers of ten; 1 ns to 10 s.
fn histogram(times_ns: impl Iterator<Item = i64>) -> Vec<(f64, f64)> {
    let mut counts = vec![0_u64; 8 * BINS];
    let mut any = false;
    for time_ns in times_ns.filter(|&t| t > 0) {
        let decade = (time_ns as f64 * 1e-3).log10() + 1.0;
        let bin = (decade * BINS as f64).clamp(0.0, counts.len() as f64 - 1.0) as usize;
        counts[bin] += 1;
        any = true;
    }
    if !any {
        return Vec::new();
    }
    let first = counts.iter().position(|&c| c > 0).unwrap_or(0);
    let last = counts.iter().rposition(|&c| c > 0).unwrap_or(0);
    let mut outline = Vec::new();
    for (bin, &count) in counts.iter().enumerate().take(last + 1).skip(first) {
        let left = bin as f64 / BINS as f64 - 1.0;
        // A bin without a tick lies on the axis, as one with a single tick lies just above it.
        let height = if count == 0 {
            -0.2
        } else {
            (count as f64).log10()
        };
        outline.push((left, height));
        outline.push((left + 1.0 / BINS as f64, height));
    }
    outline
}
