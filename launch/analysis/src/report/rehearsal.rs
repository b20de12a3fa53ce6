//! The sections of a report on a rehearsed script: steps, force over them, what was taken out, what it looks like.
//!
//! Source: ours. Sections and surface are drawn in the colours of the tissue, which are the scene's.

use std::fmt::Write as _;

use palpate_transport::trace::TickRecord;

use super::plot::{COLUMNS, Chart, Ink, Series, thin};
use super::words::{number, with_unit};
use super::{ReportInput, escape, section};
use crate::metrics::press::push_n;
use crate::rehearsed::picture::{Pictures, Section, Seen};
use crate::rehearsed::{Outcome, Rehearsed};

/// Width of a picture in units of the SVG.
const WIDTH: f64 = 1000.0;

/// All sections; nothing without a script of steps.
pub(super) fn sections(input: &ReportInput<'_>) -> String {
    let Some(done) = &input.facts.rehearsal else {
        return String::new();
    };
    section(
        "steps",
        "Step by step",
        &(force(input, done) + &steps(&done.outcome)),
    ) + &section("tissue", "The tissue in the end", &tissue(done))
}

/// The first paragraph: what was rehearsed, and how it ended.
pub(super) fn opening(input: &ReportInput<'_>, done: &Rehearsed) -> String {
    let outcome = &done.outcome;
    let length_s = input.summary.duration_s.map(|s| (s * 10.0).round() / 10.0);
    let mut text = format!(
        "The script <b>{}</b> of {} steps on the scene <b>{}</b>, in {}. ",
        escape(&outcome.script),
        outcome.steps.len(),
        escape(&outcome.scene),
        with_unit(length_s, "s")
    );
    if let Some(m3) = outcome.removed_m3 {
        let _ = write!(
            text,
            "{} mm\u{b3} of tissue were taken out",
            number(m3 * 1e9)
        );
        if let Some(pieces) = outcome.pieces_count {
            let s = if pieces == 1 { "" } else { "s" };
            let _ = write!(text, ", and what is left is {pieces} piece{s}");
        }
        text += ". ";
    }
    text
}

fn force(input: &ReportInput<'_>, done: &Rehearsed) -> String {
    let master = input.traces.master;
    let start_ns = master.first().map_or(0, |record| record.now_ns);
    let trace = |value: &dyn Fn(&TickRecord) -> f64| -> Vec<(f64, f64)> {
        let at_s = |record: &TickRecord| (record.now_ns - start_ns) as f64 * 1e-9;
        let points: Vec<_> = master.iter().map(|r| (at_s(r), value(r))).collect();
        thin(&points, COLUMNS)
    };
    let sideways = |record: &TickRecord| record.port_force_n[0].hypot(record.port_force_n[1]);
    let shades = (1..)
        .zip(&done.outcome.steps)
        .filter(|(number, _)| number % 2 == 1);
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "force on the hand [N]".to_owned(),
        height: 560,
        shades: shades
            .map(|(number, step)| (step.start_s, step.end_s, number.to_string()))
            .collect(),
        series: vec![
            Series::line("sideways", Ink::Third, trace(&sideways)),
            Series::line("upward", Ink::Master, trace(&push_n)),
        ],
        ..Chart::default()
    };
    let height = Chart {
        x: "time [s]".to_owned(),
        y: "height of the tool [mm]".to_owned(),
        height: 420,
        shades: chart.shades.clone(),
        series: vec![
            Series::line("meant", Ink::Truth, trace(&|r| r.intended_m[2] * 1e3)),
            Series::line("handle", Ink::Master, trace(&|r| r.position_m[2] * 1e3)),
        ],
        ..Chart::default()
    };
    chart.figure("Every other step is shaded, with its number.")
        + &height.figure(
            "Zero is the surface of the tissue at rest. The handle is where the hand means it to be but for the \
             force over the stiffness of the hand.",
        )
}

fn steps(outcome: &Outcome) -> String {
    let mut rows = String::new();
    for (index, step) in (1..).zip(&outcome.steps) {
        let count = |n: i64| {
            if n == 0 {
                String::new()
            } else {
                number(n as f64)
            }
        };
        let _ = writeln!(
            rows,
            "<tr><td class=\"n\">{index}</td><td>{}</td><td>{}</td><td class=\"n\">{:.1} to {:.1}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>",
            escape(&step.name),
            escape(&step.kind),
            step.start_s,
            step.end_s,
            number((step.peak_force_n * 1e3).round() * 1e-3),
            count(step.links_cut as i64),
            count(step.links_joined as i64),
            count(step.elements_removed),
            step.pieces.map_or("\u{2014}".to_owned(), |n| n.to_string()),
        );
    }
    let head = [
        ("n", ""),
        ("", "step"),
        ("", "what"),
        ("n", "time [s]"),
        ("n", "most force [N]"),
        ("n", "links cut"),
        ("n", "links made"),
        ("n", "elements out"),
        ("n", "pieces"),
    ];
    let head = head.map(|(class, name)| format!("<th class=\"{class}\">{name}</th>"));
    format!(
        "<div class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>\n{rows}</tbody></table></div>\n",
        head.concat()
    )
}

fn tissue(done: &Rehearsed) -> String {
    let outcome = &done.outcome;
    if outcome.amounts.is_empty() {
        return "<p class=\"none\">This tissue cannot be opened: nothing was cut.</p>\n".to_owned();
    }
    let mut rows = String::new();
    for amount in &outcome.amounts {
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(&amount.label),
            amount.elements_before,
            amount.elements,
            with_unit(Some(amount.removed_m3 * 1e9), "mm\u{b3}")
        );
    }
    let pieces: Vec<String> = outcome.pieces.iter().map(u64::to_string).collect();
    format!(
        "{}<div class=\"wide\"><table><thead><tr><th>label</th><th class=\"n\">elements before</th>\
         <th class=\"n\">after</th><th class=\"n\">taken out</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n\
         <p class=\"caption\">Elements of the largest pieces: {}.</p>\n",
        pictures(&done.pictures),
        pieces.join(", ")
    )
}

fn pictures(pictures: &Pictures) -> String {
    let mut html = String::from("<div class=\"stills\">");
    for section in pictures
        .sections
        .iter()
        .filter(|section| !section.cells.is_empty())
    {
        let _ = write!(
            html,
            "<figure><div class=\"mapname\">{}</div>{}</figure>",
            escape(&section.name),
            drawn(section)
        );
    }
    html += "</div>\n<p class=\"caption\">Sections of the tissue at rest, through the middle of what was done: \
             hollow is what was taken out, and a dark line is a cut between what is still there.</p>\n";
    if pictures.surface.is_empty() {
        html += "<p class=\"none\">The surface has too many triangles to be drawn here.</p>\n";
    } else {
        let _ = writeln!(
            html,
            "<figure class=\"still\">{}<figcaption>The surface at rest, seen from above and in front; faces that tools have \
             opened show what is inside.</figcaption></figure>",
            surface(&pictures.surface)
        );
    }
    html
}

/// A section as squares.
fn drawn(section: &Section) -> String {
    let [width_mm, height_mm] = section.cell_mm;
    let along = |axis: usize| section.cells.iter().map(move |cell| cell.at_mm[axis]);
    let low = [0, 1].map(|axis| along(axis).fold(f64::MAX, f64::min));
    let high = [0, 1].map(|axis| along(axis).fold(f64::MIN, f64::max));
    let scale = WIDTH / (high[0] - low[0] + width_mm);
    let tall = scale * (high[1] - low[1] + height_mm);
    let (mut cells, mut cuts) = (String::new(), String::new());
    for cell in &section.cells {
        let (x, y) = (
            scale * (cell.at_mm[0] - low[0]),
            tall - scale * (cell.at_mm[1] - low[1] + height_mm),
        );
        let (wide, high) = (scale * width_mm, scale * height_mm);
        let [r, g, b, _] = cell.colour;
        let look = if cell.there { "" } else { " class=\"gone\"" };
        let _ = write!(
            cells,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" \
             fill=\"#{r:02x}{g:02x}{b:02x}\"{look}/>"
        );
        if cell.cuts[0] {
            let _ = write!(cuts, "M{:.1} {y:.1}v{high:.1}", x + wide);
        }
        if cell.cuts[1] {
            let _ = write!(cuts, "M{x:.1} {y:.1}h{wide:.1}");
        }
    }
    format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH:.0} {tall:.0}\">{cells}\
         <path class=\"cut\" d=\"{cuts}\"/></svg>",
        escape(&section.name)
    )
}

/// Triangles, those farthest away first.
fn surface(seen: &[Seen]) -> String {
    let along = |axis: usize| {
        let corners = seen.iter().flat_map(|one| one.corners_mm);
        corners.map(move |corner| corner[axis])
    };
    let low = [0, 1].map(|axis| along(axis).fold(f64::MAX, f64::min));
    let high = [0, 1].map(|axis| along(axis).fold(f64::MIN, f64::max));
    let scale = WIDTH / (high[0] - low[0]).max(1e-9);
    let tall = scale * (high[1] - low[1]);
    let mut svg = String::new();
    for one in seen {
        let [r, g, b] = one.colour;
        let _ = write!(
            svg,
            "<path fill=\"#{r:02x}{g:02x}{b:02x}\" stroke=\"#{r:02x}{g:02x}{b:02x}\" d=\""
        );
        for (corner, letter) in one.corners_mm.iter().zip(['M', 'L', 'L']) {
            let (x, y) = (
                scale * (corner[0] - low[0]),
                tall - scale * (corner[1] - low[1]),
            );
            let _ = write!(svg, "{letter}{x:.1} {y:.1}");
        }
        svg += "Z\"/>";
    }
    format!(
        "<svg role=\"img\" aria-label=\"the surface of the tissue\" viewBox=\"0 0 {WIDTH:.0} {tall:.0}\">{svg}</svg>"
    )
}
