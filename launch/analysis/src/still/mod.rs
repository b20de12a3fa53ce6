//! Still pictures of tissue under its tool, drawn without a screen and without a graphics card.
//!
//! Source: ours; rows RN-01 and RN-03 of seed-001. [`camera`] looks at a surface along parallel rays from
//! above and aside, [`canvas`] keeps what is nearest at every pixel, [`pressed`] finds what a session
//! has to show, [`operated`] shows an instrument at work. Colour says what an element is made of, or how far the surface has gone in.

pub mod camera;
pub mod canvas;
pub mod operated;
pub mod pressed;

use palpate_twin::{Tool, Vec3, View};

use camera::Camera;
use canvas::Canvas;

/// Samples per pixel along each axis: edges are smoothed by their mean.
const FINER: usize = 2;
/// Colour of soft tissue where none is told.
const TISSUE: [f64; 3] = [0.87, 0.66, 0.58];
/// Colour of what has gone in as far as anything has.
const SUNK: [f64; 3] = [0.55, 0.10, 0.18];
/// Colour of a tool.
const STEEL: [f64; 3] = [0.62, 0.66, 0.72];
/// Colour of a force.
const FORCE: [f64; 3] = [0.13, 0.35, 0.85];
/// Length of the arrow of the largest force, over the size of what is seen.
const ARROW: f64 = 0.35;

/// A picture and what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Still {
    /// What it shows, in a sentence.
    pub caption: String,
    /// The picture, as PNG.
    pub png: Vec<u8>,
}

/// What stands in a picture.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The surface.
    pub view: View<'a>,
    /// Colour of every vertex of the surface, if elements have one; else depth is shown.
    pub colours: Option<&'a [[u8; 4]]>,
    /// Tools, and the force on each \[N\].
    pub tools: &'a [(Tool, Vec3)],
}

impl Subject<'_> {
    /// The picture, `width` x `height` pixels, as PNG; nothing if there is no surface or no pixel.
    #[must_use]
    pub fn draw(&self, width: usize, height: usize) -> Option<Vec<u8>> {
        let canvas = self.canvas(width * FINER, height * FINER)?;
        canvas.png(FINER)
    }

    /// What is drawn, before it is smoothed.
    fn canvas(&self, width: usize, height: usize) -> Option<Canvas> {
        let camera = Camera::around(self.view.positions_m, width, height)?;
        let mut canvas = Canvas::new(width, height);
        self.onto(&mut canvas, &camera);
        let most_n = self.tools.iter().map(|(_, force_n)| force_n.norm());
        let most_n = most_n.fold(0.0, f64::max);
        for (tool, force_n) in self.tools {
            for at in 0..=24 {
                let on_axis_m = tool.position_m + tool.shaft_m * (f64::from(at) / 24.0);
                let seen = camera.see(&on_axis_m);
                canvas.ball(&camera, seen, tool.radius_m, STEEL);
                if tool.shaft_m.norm() == 0.0 {
                    break;
                }
            }
            if most_n > 0.0 {
                let way_m = force_n / most_n * (ARROW * camera.extent_m());
                arrow(&mut canvas, &camera, &tool.position_m, &way_m);
            }
        }
        Some(canvas)
    }

    /// Draws the surface.
    fn onto(&self, canvas: &mut Canvas, camera: &Camera) {
        let normals = normals(&self.view);
        let sunk = sunk(&self.view);
        let colour = |vertex: usize| match self.colours.and_then(|all| all.get(vertex)) {
            Some(&[r, g, b, _]) => [r, g, b].map(|c| f64::from(c) / 255.0),
            None => between(TISSUE, SUNK, sunk[vertex]),
        };
        for face in self.view.faces {
            let corners = face.map(|vertex| {
                let vertex = vertex as usize;
                let shade = camera.light(&normals[vertex]);
                let lit = colour(vertex).map(|c| c * shade);
                (camera.see(&self.view.positions_m[vertex]), lit)
            });
            canvas.triangle(&corners);
        }
    }

    /// Draws the vertices of the surface as points and gives their pixels' number: those that a face
    /// hides do not show (row RN-01).
    #[must_use]
    pub fn points(&self, width: usize, height: usize) -> Option<(Canvas, usize)> {
        let camera = Camera::around(self.view.positions_m, width, height)?;
        let mut hiding = Canvas::new(width, height);
        for face in self.view.faces {
            let corner = |vertex: u32| camera.see(&self.view.positions_m[vertex as usize]);
            hiding.triangle(&face.map(|vertex| (corner(vertex), [0.0; 3])));
        }
        let mut canvas = Canvas::new(width, height);
        // as near as a pixel is wide counts as on the face
        let margin_m = 2.0 * camera.m_per_pixel();
        for at_m in self.view.positions_m {
            let seen = camera.see(at_m);
            if !hiding.hides(seen, margin_m) {
                canvas.dot(seen, TISSUE);
            }
        }
        let drawn = canvas.drawn();
        Some((canvas, drawn))
    }
}

/// Outward directions of the surface at its vertices, by the faces' areas.
fn normals(view: &View<'_>) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); view.positions_m.len()];
    for face in view.faces {
        let [a, b, c] = face.map(|vertex| view.positions_m[vertex as usize]);
        let area = (b - a).cross(&(c - a));
        for &vertex in face {
            normals[vertex as usize] += area;
        }
    }
    normals
        .into_iter()
        .map(|normal| normal.try_normalize(0.0).unwrap_or_else(Vec3::z))
        .collect()
}

/// How far every vertex has gone from rest, over the farthest; 0 where nothing has gone a hundredth of a
/// millimetre.
fn sunk(view: &View<'_>) -> Vec<f64> {
    let pairs = view.positions_m.iter().zip(view.rest_m);
    let gone_m: Vec<f64> = pairs.map(|(at_m, rest_m)| (at_m - rest_m).norm()).collect();
    let most_m = gone_m.iter().copied().fold(1e-5, f64::max);
    let share = |gone_m: &f64| (gone_m / most_m).clamp(0.0, 1.0);
    gone_m.iter().map(share).collect()
}

fn between(a: [f64; 3], b: [f64; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|c| a[c] + share * (b[c] - a[c]))
}

/// An arrow from a place, by a way: balls along it, and ever smaller ones for its head.
fn arrow(canvas: &mut Canvas, camera: &Camera, from_m: &Vec3, way_m: &Vec3) {
    const BALLS: u32 = 160;
    let (thick_m, head) = (0.008 * camera.extent_m(), 0.75);
    for at in 0..=BALLS {
        let share = f64::from(at) / f64::from(BALLS);
        let left = (1.0 - share) / (1.0 - head);
        let radius_m = if share < head {
            thick_m
        } else {
            3.0 * thick_m * left
        };
        // nearer to the eye than the tool that it starts in
        let seen = camera.see(&(from_m + way_m * share));
        canvas.ball(
            camera,
            seen.nearer(0.5 * camera.extent_m()),
            radius_m,
            FORCE,
        );
    }
}

#[cfg(test)]
mod tests;
