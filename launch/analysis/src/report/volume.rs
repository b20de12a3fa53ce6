//! The page of a linked volume that was built: slices through it, and how much there is of each tissue.
//!
//! Source: ours. Slices are drawn as rows of like voxels, in the colours of the tissues.

use std::fmt::Write as _;

use palpate_geometry::volume::{Grid, Voxels};
use palpate_scene::LinkedVoxels;
use serde::Serialize;

use super::{escape, head, section};

/// What was built.
#[derive(Debug, Clone, Serialize)]
pub struct Built {
    /// Layout of this table.
    pub schema: &'static str,
    /// Where the voxels come from.
    pub source: String,
    /// Whether it is a phantom, and not of a person.
    pub synthetic: bool,
    /// Voxels along each axis.
    pub voxels: [usize; 3],
    /// Distance of voxels \[mm\].
    pub voxel_mm: [f64; 3],
    /// Distance of elements \[mm\].
    pub spacing_mm: [f64; 3],
    /// Elements.
    pub elements: usize,
    /// Links between them.
    pub links: usize,
    /// Elements that are held.
    pub held: usize,
    /// Tissues, by label.
    pub tissues: Vec<Amount>,
}

/// How much there is of a tissue.
#[derive(Debug, Clone, Serialize)]
pub struct Amount {
    /// Its label.
    pub label: u16,
    /// Its name.
    pub name: String,
    /// Voxels of the volume.
    pub voxels: usize,
    /// Elements.
    pub elements: usize,
    /// Volume of its elements \[ml\].
    pub volume_ml: f64,
    /// Whether it is held.
    pub held: bool,
    /// Its colour.
    pub colour: [u8; 3],
}

/// Most squares along an edge of a slice.
const SQUARES: usize = 160;
/// Grey levels of intensities.
const GREYS: f32 = 15.0;
/// Width of a slice on the page.
const WIDTH: f64 = 260.0;

/// The page, as HTML.
#[must_use]
pub fn render(built: &Built, body: &LinkedVoxels, intensities: Option<&Voxels<f32>>) -> String {
    let [x, y, z] = built.spacing_mm;
    let lead = format!(
        "{} elements, {x:.2} \u{d7} {y:.2} \u{d7} {z:.2} mm apart, with {} links; {} are held. From {}{}.",
        built.elements,
        built.links,
        built.held,
        escape(&built.source),
        if built.synthetic {
            ": made of formulas and noise, no scan and no person"
        } else {
            ""
        }
    );
    let mut page = head("Linked volume", "model build", "model", "good", &lead);
    page += "</header>\n";
    let colours: Vec<[u8; 3]> = built.tissues.iter().map(|tissue| tissue.colour).collect();
    let grid = Grid::straight(body.counts, body.frame.origin_m, body.frame.spacing_m);
    let tissue = |index: [usize; 3]| {
        let number = usize::from(body.sites[grid.slot(index)]);
        number
            .checked_sub(1)
            .and_then(|nth| colours.get(nth).copied())
    };
    page += &section(
        "slices",
        "Slices through the middle",
        &slices(&grid, &tissue),
    );
    if let Some(volume) = intensities {
        let most = volume
            .values
            .iter()
            .fold(0.0_f32, |most, &value| most.max(value));
        let least = volume
            .values
            .iter()
            .fold(most, |least, &value| least.min(value));
        let grey = |index: [usize; 3]| {
            let value = volume.values[volume.grid.slot(index)];
            let share = (value - least) / (most - least).max(f32::MIN_POSITIVE);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share saturates"
            )]
            let level = (255.0 * (share * GREYS).round() / GREYS) as u8;
            Some([level; 3])
        };
        page += &section(
            "intensities",
            "Intensities, as the file has them",
            &slices(&volume.grid, &grey),
        );
    }
    page += &section("tissues", "Tissues", &table(built));
    page + "</main></body></html>\n"
}

fn table(built: &Built) -> String {
    let mut html = String::from(
        "<table><thead><tr><th></th><th>Label</th><th>Tissue</th><th>Voxels</th><th>Elements</th>\
         <th>Volume</th><th>Held</th></tr></thead><tbody>",
    );
    for tissue in &built.tissues {
        let [red, green, blue] = tissue.colour;
        // writing to a string cannot fail
        let _ = write!(
            html,
            "<tr><td style=\"background:rgb({red},{green},{blue});min-width:1.5em\"></td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{:.3} ml</td><td>{}</td></tr>",
            tissue.label,
            escape(&tissue.name),
            tissue.voxels,
            tissue.elements,
            tissue.volume_ml,
            if tissue.held { "yes" } else { "no" }
        );
    }
    html + "</tbody></table>\n"
}

/// A slice across each axis, through the middle.
fn slices(grid: &Grid, colour: &dyn Fn([usize; 3]) -> Option<[u8; 3]>) -> String {
    let mut html = String::from("<div style=\"display:flex;flex-wrap:wrap;gap:1em\">");
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        let (u, v) = match axis {
            0 => (1, 2),
            1 => (0, 2),
            _ => (0, 1),
        };
        let across = |[a, b]: [usize; 2]| {
            let mut index = [0; 3];
            index[axis] = grid.counts[axis] / 2;
            (index[u], index[v]) = (a, b);
            colour(index)
        };
        let spacing_m = grid.spacing_m();
        let plane = Plane {
            counts: [grid.counts[u], grid.counts[v]],
            stretch: spacing_m[v] / spacing_m[u],
        };
        let _ = write!(
            html,
            "<figure style=\"margin:0\">{}<figcaption>Across {name}</figcaption></figure>",
            plane.svg(&across)
        );
    }
    html + "</div>\n"
}

/// A slice: squares along its edges, and how much taller than wide they are.
struct Plane {
    counts: [usize; 2],
    stretch: f64,
}

impl Plane {
    fn svg(&self, colour: &dyn Fn([usize; 2]) -> Option<[u8; 3]>) -> String {
        let thin = self.counts.map(|count| count.div_ceil(SQUARES));
        let [wide, tall] = [0, 1].map(|k| self.counts[k].div_ceil(thin[k]));
        let square = thin[1] as f64 * self.stretch / thin[0] as f64;
        let height = tall as f64 * square;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {wide} {height:.3}\" width=\"{WIDTH}\" height=\"{:.1}\" \
             shape-rendering=\"crispEdges\" role=\"img\">",
            WIDTH * height / wide as f64
        );
        for row in 0..tall {
            let of: Vec<_> = (0..wide)
                .map(|at| colour([at * thin[0], row * thin[1]]))
                .collect();
            // the last row is on top
            let top = (tall - 1 - row) as f64 * square;
            let mut from = 0;
            for same in of.chunk_by(|a, b| a == b) {
                if let Some([red, green, blue]) = same[0] {
                    let _ = write!(
                        svg,
                        "<rect x=\"{from}\" y=\"{top:.3}\" width=\"{}\" height=\"{square:.3}\" \
                         fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
                        same.len()
                    );
                }
                from += same.len();
            }
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_slice_are_drawn_from_below_and_thinned() {
        let plane = Plane {
            counts: [3, 2],
            stretch: 2.0,
        };
        let red = |[a, b]: [usize; 2]| (b == 0 && a < 2).then_some([255, 0, 0]);
        let svg = plane.svg(&red);
        assert!(svg.contains("viewBox=\"0 0 3 4.000\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 1);
        assert!(svg.contains("x=\"0\" y=\"2.000\" width=\"2\" height=\"2.000\" fill=\"#ff0000\""));
        let large = Plane {
            counts: [1000, 1000],
            stretch: 1.0,
        };
        let svg = large.svg(&|[a, _]| Some([u8::from(a >= 500); 3]));
        assert!(svg.matches("<rect").count() <= 2 * SQUARES, "too many");
    }
}
