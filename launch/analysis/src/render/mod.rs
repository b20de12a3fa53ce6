//! Rendered pictures of tissue under its tool, drawn without a screen and without a graphics card.
//!
//! Source: ours; rows RN-01 and RN-03 of seed-001. [`camera`] projects a surface along parallel rays from above and
//! aside, [`canvas`] is the depth buffer, [`peak_press`] renders the hardest press of a session, [`instrument`] an
//! instrument at work. Colour shows the material of a node, or the displacement of the surface.

pub mod camera;
pub mod canvas;
pub mod instrument;
pub mod peak_press;

use palpate_twin::{TissueView, Tool, Vec3};

use camera::Camera;
use canvas::Canvas;

/// Pixels of a picture.
const SIZE: PictureSize = PictureSize {
    width: 720,
    height: 440,
};
/// Samples per pixel along each axis, averaged for smooth edges.
const SUPERSAMPLING: usize = 2;
/// Default colour of soft tissue.
const TISSUE: [f64; 3] = [0.87, 0.66, 0.58];
/// Colour of the largest displacement.
const DISPLACED: [f64; 3] = [0.55, 0.10, 0.18];
/// Colour of a tool.
const STEEL: [f64; 3] = [0.62, 0.66, 0.72];
/// Colour of a force.
const FORCE: [f64; 3] = [0.13, 0.35, 0.85];
/// Length of the arrow of a force, over the extent of the picture.
const ARROW: f64 = 0.35;

/// Size of a picture \[pixels\].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PictureSize {
    width: usize,
    height: usize,
}

/// A picture with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Render {
    /// Caption, in a sentence.
    pub caption: String,
    /// The picture, as PNG.
    pub png: Vec<u8>,
}

/// Draws a surface and what `add` draws with it, as PNG of this size around these places. `colours` are those of the
/// vertices, if nodes have one; else displacement is shown. None if there is no surface or no pixel.
fn picture(
    view: &TissueView<'_>,
    colours: Option<&[[u8; 4]]>,
    around_m: &[Vec3],
    size: PictureSize,
    add: impl FnOnce(&mut Canvas, &Camera),
) -> Option<Vec<u8>> {
    let (width, height) = (size.width * SUPERSAMPLING, size.height * SUPERSAMPLING);
    let camera = Camera::around(around_m, width, height)?;
    let mut canvas = Canvas::new(width, height);
    draw_surface(&mut canvas, &camera, view, colours);
    add(&mut canvas, &camera);
    canvas.png(SUPERSAMPLING)
}

/// Draws a tool, and the force on it \[N\].
fn draw_tool(canvas: &mut Canvas, camera: &Camera, tool: &Tool, force_n: &Vec3) {
    for at in 0..=24 {
        let on_axis_m = tool.position_m + tool.shaft_m * (f64::from(at) / 24.0);
        let seen = camera.project(&on_axis_m);
        canvas.ball(camera, seen, tool.radius_m, STEEL);
        if tool.shaft_m.norm() == 0.0 {
            break;
        }
    }
    let size_n = force_n.norm();
    if size_n > 0.0 {
        let offset_m = force_n / size_n * (ARROW * camera.extent_m);
        arrow(canvas, camera, &tool.position_m, &offset_m);
    }
}

/// Draws a surface.
fn draw_surface(
    canvas: &mut Canvas,
    camera: &Camera,
    view: &TissueView<'_>,
    colours: Option<&[[u8; 4]]>,
) {
    let normals = normals(view);
    let displacement = displacement(view);
    let colour = |vertex: usize| match colours.and_then(|all| all.get(vertex)) {
        Some(&[r, g, b, _]) => [r, g, b].map(|c| f64::from(c) / 255.0),
        None => between(TISSUE, DISPLACED, displacement[vertex]),
    };
    for face in view.faces {
        let corners = face.map(|vertex| {
            let vertex = vertex as usize;
            let shade = camera.light(&normals[vertex]);
            let lit = colour(vertex).map(|c| c * shade);
            (camera.project(&view.positions_m[vertex]), lit)
        });
        canvas.triangle(&corners);
    }
}

/// Outward directions of the surface at its vertices, weighted by the faces' areas.
fn normals(view: &TissueView<'_>) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); view.positions_m.len()];
    for face in view.faces {
        let [a, b, c] = face.map(|vertex| view.positions_m[vertex as usize]);
        let area = (b - a).cross(&(c - a));
        for &vertex in face {
            normals[vertex as usize] += area;
        }
    }
    let unit = |normal: Vec3| normal.try_normalize(0.0).unwrap_or_else(Vec3::z);
    normals.into_iter().map(unit).collect()
}

/// Displacement of every vertex from rest, over the largest; 0 if none exceeds a hundredth of a millimetre.
fn displacement(view: &TissueView<'_>) -> Vec<f64> {
    let pairs = view.positions_m.iter().zip(view.rest_m);
    let moved_m: Vec<f64> = pairs.map(|(at_m, rest_m)| (at_m - rest_m).norm()).collect();
    let most_m = moved_m.iter().copied().fold(1e-5, f64::max);
    let share = |moved_m: &f64| (moved_m / most_m).clamp(0.0, 1.0);
    moved_m.iter().map(share).collect()
}

fn between(a: [f64; 3], b: [f64; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|c| a[c] + share * (b[c] - a[c]))
}

/// Draws an arrow from a place along an offset: balls along it, and smaller ones for its head.
fn arrow(canvas: &mut Canvas, camera: &Camera, from_m: &Vec3, offset_m: &Vec3) {
    const BALLS: u32 = 160;
    let (thick_m, head) = (0.008 * camera.extent_m, 0.75);
    for at in 0..=BALLS {
        let share = f64::from(at) / f64::from(BALLS);
        let left = (1.0 - share) / (1.0 - head);
        let radius_m = if share < head {
            thick_m
        } else {
            3.0 * thick_m * left
        };
        // nearer to the eye than the tool in which it starts
        let seen = camera.project(&(from_m + offset_m * share));
        let seen = seen.nearer(0.5 * camera.extent_m);
        canvas.ball(camera, seen, radius_m, FORCE);
    }
}

#[cfg(test)]
mod tests;
