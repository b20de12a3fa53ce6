//! Page of a voxel model that was built: slices through it, and the amount of each tissue.
//!
//! Source: ours. Slices are drawn as rows of equal voxels, in the colours of the tissues.

use std::fmt::Write as _;

use palpate_geometry::volume::{VoxelGrid, VoxelVolume};
use palpate_scene::VoxelBody;
use serde::Serialize;

use super::{escape, head, section};

/// Report on a voxel model that was built.
#[derive(Debug, Clone, Serialize)]
pub struct VoxelModelReport {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Source of the voxels.
    pub source: String,
    /// True for a phantom, which shows no person.
    pub synthetic: bool,
    /// Voxels along each axis.
    pub voxels: [usize; 3],
    /// Distance of voxels \[mm\].
    pub voxel_mm: [f64; 3],
    /// Distance of nodes \[mm\].
    pub spacing_mm: [f64; 3],
    /// Nodes.
    pub elements: usize,
    /// Links between them.
    pub links: usize,
    /// Fixed nodes.
    pub held: usize,
    /// Tissues, by label.
    pub tissues: Vec<TissueAmount>,
}

/// Amount of a tissue.
#[derive(Debug, Clone, Serialize)]
pub struct TissueAmount {
    /// Its label.
    pub label: u16,
    /// Its name.
    pub name: String,
    /// Voxels of the volume.
    pub voxels: usize,
    /// Nodes.
    pub elements: usize,
    /// Volume of its nodes \[ml\].
    pub volume_ml: f64,
    /// True if its nodes are fixed.
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

/// Renders the page as HTML.
#[must_use]
pub fn render(
    built: &VoxelModelReport,
    body: &VoxelBody,
    intensities: Option<&VoxelVolume<f32>>,
) -> String {
    let [x, y, z] = built.spacing_mm;
    let lead = format!(
        "{} nodes, {x:.2} \u{d7} {y:.2} \u{d7} {z:.2} mm apart, with {} links; {} are fixed. From {}{}.",
        built.elements,
        built.links,
        built.held,
        escape(&built.source),
        if built.synthetic {
            ": synthetic, made of formulas and noise, no scan of a person"
        } else {
            ""
        }
    );
    let mut page = head("Voxel model", "model build", "model", "good", &lead);
    page += "</header>\n";
    let colours: Vec<[u8; 3]> = built.tissues.iter().map(|tissue| tissue.colour).collect();
    let grid = VoxelGrid::axis_aligned(body.counts, body.frame.origin_m, body.frame.spacing_m);
    let tissue = |index: [usize; 3]| {
        let number = usize::from(body.sites[grid.linear_index(index)]);
        number
            .checked_sub(1)
            .and_then(|nth| colours.get(nth).copied())
    };
    let body = slices(&grid, &tissue);
    page += &section("slices", "Slices through the middle", &body);
    if let Some(volume) = intensities {
        let values = || volume.values.iter().copied();
        let most = values().fold(0.0, f32::max);
        let least = values().fold(most, f32::min);
        let grey = |index: [usize; 3]| {
            let value = volume.values[volume.grid.linear_index(index)];
            let share = (value - least) / (most - least).max(f32::MIN_POSITIVE);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share saturates"
            )]
            let level = (255.0 * (share * GREYS).round() / GREYS) as u8;
            Some([level; 3])
        };
        let body = slices(&volume.grid, &grey);
        page += &section("intensities", "Intensities of the file", &body);
    }
    page += &section("tissues", "Tissues", &table(built));
    page + "</main></body></html>\n"
}

fn table(built: &VoxelModelReport) -> String {
    let mut html = String::from(
        "<table><thead><tr><th></th><th>Label</th><th>Tissue</th><th>Voxels</th><th>Nodes</th>\
         <th>Volume</th><th>Fixed</th></tr></thead><tbody>",
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
fn slices(grid: &VoxelGrid, colour: &dyn Fn([usize; 3]) -> Option<[u8; 3]>) -> String {
    let mut html = String::from("<div style=\"display:flex;flex-wrap:wrap;gap:1em\">");
    for (axis, name, [u, v]) in [(0, "x", [1, 2]), (1, "y", [0, 2]), (2, "z", [0, 1])] {
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

/// A slice: squares along its edges, and the ratio of their height to their width.
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
