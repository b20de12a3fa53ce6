//! Drawings of operated tissue for a report: two sections at rest, and the surface from above, as SVG.
//!
//! Source: ours. Lengths in mm as drawn; everything is of the specimen, which no tool touches. Sections and surface
//! have the colours of the scene's tissue.

use std::fmt::Write as _;

use palpate_twin::Vec3;

use super::specimen::Specimen;
use crate::report::escape;

/// Drawings of a tissue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TissueDrawings {
    /// Sections through the middle of the edits that meet the tissue, each with its name.
    pub sections: Vec<(String, String)>,
    /// Surface seen from above; empty if it has too many triangles.
    pub surface: String,
}

/// Width of a picture in units of the SVG.
const WIDTH: f64 = 1000.0;

/// Most triangles that are drawn: a page of a few megabytes.
const SEEN_MAX: usize = 20_000;

/// Direction to the eye: above the horizon, from the operator's right.
const LOOK: Vec3 = Vec3::new(0.35, -0.6, 0.72);

/// Share of ambient light.
const AMBIENT: f64 = 0.45;

impl TissueDrawings {
    /// Draws a specimen.
    #[must_use]
    pub fn of(specimen: &Specimen) -> Self {
        let middle_m = specimen.middle_m();
        let sections = [
            section(specimen, &middle_m, 1, "x and z at y"),
            section(specimen, &middle_m, 0, "y and z at x"),
        ];
        Self {
            sections: sections.into_iter().flatten().collect(),
            surface: surface(specimen),
        }
    }
}

/// Least and largest value along both directions of a drawing.
fn bounds(points: impl Iterator<Item = [f64; 2]> + Clone) -> [[f64; 2]; 2] {
    let along = |axis: usize| points.clone().map(move |at| at[axis]);
    [
        [0, 1].map(|axis| along(axis).fold(f64::MAX, f64::min)),
        [0, 1].map(|axis| along(axis).fold(f64::MIN, f64::max)),
    ]
}

/// Draws a section across the x or the y axis, 0 or 1, through a place, as squares: its name and its drawing.
fn section(
    specimen: &Specimen,
    through_m: &Vec3,
    axis: usize,
    name: &str,
) -> Option<(String, String)> {
    let across = 1 - axis;
    let layer: Vec<_> = specimen.layer(axis, through_m[axis]).collect();
    let name = format!("{name} = {:.1} mm", layer.last()?.at_m[axis] * 1e3);
    let at_mm = |at_m: &Vec3| [at_m[across] * 1e3, at_m.z * 1e3];
    let [low, high] = bounds(layer.iter().map(|one| at_mm(&one.at_m)));
    let spacing_m = specimen.spacing_m;
    let (width_mm, height_mm) = (spacing_m[across] * 1e3, spacing_m[2] * 1e3);
    let scale = WIDTH / (high[0] - low[0] + width_mm);
    let tall = scale * (high[1] - low[1] + height_mm);
    let (wide, high) = (scale * width_mm, scale * height_mm);
    let (mut cells, mut cuts) = (String::new(), String::new());
    for one in &layer {
        let [x_mm, y_mm] = at_mm(&one.at_m);
        let (x, y) = (
            scale * (x_mm - low[0]),
            tall - scale * (y_mm - low[1] + height_mm),
        );
        let [r, g, b, _] = one.colour;
        let look = if one.is_present {
            ""
        } else {
            " class=\"gone\""
        };
        let _ = write!(
            cells,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" \
             fill=\"#{r:02x}{g:02x}{b:02x}\"{look}/>"
        );
        if one.cuts[across] {
            let _ = write!(cuts, "M{:.1} {y:.1}v{high:.1}", x + wide);
        }
        if one.cuts[2] {
            let _ = write!(cuts, "M{x:.1} {y:.1}h{wide:.1}");
        }
    }
    let drawing = format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH:.0} {tall:.0}\">{cells}\
         <path class=\"cut\" d=\"{cuts}\"/></svg>",
        escape(&name)
    );
    Some((name, drawing))
}

/// Draws the triangles that face the eye, farthest first, lit from it.
fn surface(specimen: &Specimen) -> String {
    let (places_m, faces, colours) = specimen.surface();
    let look = LOOK.normalize();
    let right = Vec3::z().cross(&look).normalize();
    let up = look.cross(&right);
    let mut seen: Vec<(f64, [[f64; 2]; 3], [u8; 3])> = Vec::new();
    for face in faces {
        let corners = face.map(|corner| places_m[corner as usize]);
        let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        let facing = normal.dot(&look) / normal.norm().max(f64::MIN_POSITIVE);
        if facing <= 0.0 {
            continue;
        }
        let light = AMBIENT + (1.0 - AMBIENT) * facing;
        let mean = |channel: usize| {
            let corners = face.iter();
            let sum: f64 = corners
                .map(|&c| f64::from(colours[c as usize][channel]))
                .sum();
            (light * sum / 3.0).round().clamp(0.0, 255.0) as u8
        };
        let near_m: f64 = corners.iter().map(|at| at.dot(&look)).sum();
        let corners_mm = corners.map(|at| [at.dot(&right) * 1e3, at.dot(&up) * 1e3]);
        seen.push((near_m, corners_mm, [0, 1, 2].map(mean)));
    }
    if seen.is_empty() || seen.len() > SEEN_MAX {
        return String::new();
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [low, high] = bounds(seen.iter().flat_map(|(_, corners_mm, _)| *corners_mm));
    let scale = WIDTH / (high[0] - low[0]).max(1e-9);
    let tall = scale * (high[1] - low[1]);
    let mut svg = String::new();
    for (_, corners_mm, [r, g, b]) in seen {
        let _ = write!(
            svg,
            "<path fill=\"#{r:02x}{g:02x}{b:02x}\" stroke=\"#{r:02x}{g:02x}{b:02x}\" d=\""
        );
        for (corner, letter) in corners_mm.iter().zip(['M', 'L', 'L']) {
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
