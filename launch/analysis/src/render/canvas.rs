//! Canvas with a depth buffer: every pixel keeps the nearest surface.
//!
//! Source: the depth buffer of Catmull 1974; the rest ours.

use super::camera::{Camera, ScreenPoint};

/// Colour of the background.
const BACKGROUND: [f64; 3] = [0.965, 0.97, 0.98];

/// A picture with its depth buffer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    colour: Vec<[f64; 3]>,
    near_m: Vec<f64>,
}

impl Canvas {
    /// Returns an empty canvas of this size.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            colour: vec![BACKGROUND; width * height],
            near_m: vec![f64::NEG_INFINITY; width * height],
        }
    }

    /// Returns the colours from the left of the top row on, each 0 to 1.
    #[cfg(test)]
    pub(crate) fn colours(&self) -> &[[f64; 3]] {
        &self.colour
    }

    /// Clips the pixels from `low` up to `high` to the canvas.
    fn range(low: f64, high: f64, most: usize) -> std::ops::Range<usize> {
        if !(low.is_finite() && high.is_finite()) {
            return 0..0;
        }
        let most_f = most as f64;
        let from = low.floor().clamp(0.0, most_f) as usize;
        let to = (high.ceil() + 1.0).clamp(0.0, most_f) as usize;
        from..to
    }

    fn set(&mut self, x: usize, y: usize, near_m: f64, colour: [f64; 3]) {
        let at = y * self.width + x;
        if near_m > self.near_m[at] {
            (self.near_m[at], self.colour[at]) = (near_m, colour);
        }
    }

    /// Draws a triangle with coloured corners; nearer pixels stay.
    pub(crate) fn triangle(&mut self, corners: &[(ScreenPoint, [f64; 3]); 3]) {
        let [a, b, c] = corners.map(|(seen, _)| seen.pixel);
        let cross = |o: [f64; 2], p: [f64; 2], q: [f64; 2]| {
            (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0])
        };
        let area = cross(a, b, c);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        let least = |axis: usize| a[axis].min(b[axis]).min(c[axis]);
        let most = |axis: usize| a[axis].max(b[axis]).max(c[axis]);
        for y in Self::range(least(1), most(1), self.height) {
            for x in Self::range(least(0), most(0), self.width) {
                let p = [x as f64 + 0.5, y as f64 + 0.5];
                let weights = [cross(b, c, p), cross(c, a, p), cross(a, b, p)].map(|w| w / area);
                if weights.iter().any(|weight| *weight < 0.0) {
                    continue;
                }
                let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                    (0..3).map(|corner| weights[corner] * of(corner)).sum()
                };
                let near_m = sum(&|corner| corners[corner].0.near_m);
                let colour = std::array::from_fn(|c| sum(&|corner| corners[corner].1[c]));
                self.set(x, y, near_m, colour);
            }
        }
    }

    /// Draws a ball of a radius \[m\], lit by the camera's lamp.
    pub(crate) fn ball(
        &mut self,
        camera: &Camera,
        centre: ScreenPoint,
        radius_m: f64,
        colour: [f64; 3],
    ) {
        let radius = radius_m / camera.m_per_pixel;
        let [cx, cy] = centre.pixel;
        for y in Self::range(cy - radius, cy + radius, self.height) {
            for x in Self::range(cx - radius, cx + radius, self.width) {
                let (right, down) = (x as f64 + 0.5 - cx, y as f64 + 0.5 - cy);
                let rest = radius * radius - right * right - down * down;
                if rest < 0.0 {
                    continue;
                }
                let near = rest.sqrt();
                let shade = camera.light_seen([right / radius, -down / radius, near / radius]);
                let near_m = centre.near_m + near * camera.m_per_pixel;
                self.set(x, y, near_m, colour.map(|c| c * shade));
            }
        }
    }

    /// Encodes the picture as PNG, averaging `finer` x `finer` pixels; None if that leaves no pixel.
    pub(crate) fn png(&self, finer: usize) -> Option<Vec<u8>> {
        let (width, height) = (
            self.width.checked_div(finer)?,
            self.height.checked_div(finer)?,
        );
        let mut bytes = Vec::with_capacity(3 * width * height);
        for y in 0..height {
            for x in 0..width {
                for c in 0..3 {
                    let rows = (0..finer).map(|row| (y * finer + row) * self.width + x * finer);
                    let sum: f64 = rows
                        .flat_map(|from| &self.colour[from..from + finer])
                        .map(|colour| colour[c])
                        .sum();
                    let mean = sum / (finer * finer) as f64;
                    bytes.push((mean.clamp(0.0, 1.0) * 255.0).round() as u8);
                }
            }
        }
        let (columns, rows) = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, columns, rows);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&bytes).ok()?;
        writer.finish().ok()?;
        Some(png)
    }
}
