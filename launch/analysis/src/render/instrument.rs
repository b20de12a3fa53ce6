//! Close-up of an instrument at work on tissue, in the colours of the nodes.
//!
//! Source: ours; seed-001 rows RN-03, TP-01 and TP-02 for the edits. The surface is that of the twin at that time, so
//! no press is run again; the position of a node at rest gives its colour.

use std::collections::BTreeMap;

use palpate_geometry::mesh::MixedMesh;
use palpate_session::edits::recorded_instrument;
use palpate_transport::trace::TickRecord;
use palpate_twin::{Instrument, TissueEnergy, TissueView, Vec3};

use super::camera::Camera;
use super::canvas::Canvas;
use super::{Render, SIZE, STEEL, picture};

/// Radius around an instrument in which the tissue is shown \[m\].
const NEAR_M: f64 = 0.026;
/// Colour of the working part: an edge, a rim, a nozzle.
const EDGE: [f64; 3] = [1.0, 0.69, 0.0];
/// Least speed across the tissue that defines a heading \[m/s\].
const HEADING_MPS_MIN: f64 = 1e-3;
/// Length of a handle \[m\], and half its width.
const HANDLE_M: (f64, f64) = (0.05, 0.0017);

/// Pose of an instrument at work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstrumentPose {
    instrument: Instrument,
    at_m: Vec3,
    /// Direction of motion, across the tissue.
    heading: Vec3,
    radius_m: f64,
}

impl InstrumentPose {
    /// Pose of a record of the operator's side, for a tool of this radius \[m\].
    #[must_use]
    pub fn of(record: &TickRecord, radius_m: f64) -> Self {
        let ([x_m, y_m, z_m, _], [vx, vy, ..]) = (record.position_m, record.velocity_mps);
        let velocity_mps = Vec3::new(vx, vy, 0.0);
        Self {
            instrument: recorded_instrument(record),
            at_m: Vec3::new(x_m, y_m, z_m),
            heading: velocity_mps
                .try_normalize(HEADING_MPS_MIN)
                .unwrap_or_else(Vec3::x),
            radius_m,
        }
    }

    /// Returns the name of the instrument.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.instrument {
            Instrument::Blunt => "probe",
            Instrument::Scalpel { .. } => "scalpel",
            Instrument::Curette => "curette",
            Instrument::Glue { .. } => "glue",
            Instrument::Tack => "tack",
            Instrument::Untack => "tack remover",
        }
    }

    /// Draws the instrument; its working part is visible through the tissue.
    fn draw(&self, canvas: &mut Canvas, camera: &Camera) {
        let mut rod = |(from_m, to_m): (Vec3, Vec3), radius_m: f64, colour, before: bool| {
            let balls = (to_m - from_m).norm() / (0.4 * radius_m);
            let balls = balls.ceil().clamp(1.0, 400.0);
            for nth in 0..=balls as usize {
                let seen = camera.project(&(from_m + (to_m - from_m) * (nth as f64 / balls)));
                let near_m = if before { 0.5 * camera.extent_m } else { 0.0 };
                canvas.ball(camera, seen.nearer(near_m), radius_m, colour);
            }
        };
        let (at_m, radius_m, edge_m) = (self.at_m, self.radius_m, 0.0006);
        let back_m = at_m + (Vec3::z() - 0.5 * self.heading).normalize() * HANDLE_M.0;
        match self.instrument {
            Instrument::Scalpel { edge_m: along_m } => {
                let tip_m = at_m + along_m;
                rod((tip_m, at_m), edge_m, EDGE, true);
                // the flat of the blade lies behind its edge
                let flat_m = 0.5 * along_m.norm() * self.heading;
                for share in 0..=12 {
                    let share = f64::from(share) / 12.0;
                    let low_m = tip_m + 0.6 * share * (at_m - tip_m) - share * flat_m;
                    rod((low_m, at_m - share * flat_m), edge_m, STEEL, false);
                }
                rod((at_m - 0.5 * flat_m, back_m), HANDLE_M.1, STEEL, false);
            }
            Instrument::Curette => {
                let rim_m = |nth: u32| {
                    let (sin, cos) = libm::sincos(std::f64::consts::TAU * f64::from(nth) / 48.0);
                    at_m + radius_m * Vec3::new(cos, sin, 0.0)
                };
                (0..48).for_each(|nth| rod((rim_m(nth), rim_m(nth + 1)), edge_m, EDGE, true));
                let neck_m = at_m - radius_m * self.heading;
                rod((neck_m, back_m), HANDLE_M.1, STEEL, false);
            }
            Instrument::Glue { .. } | Instrument::Tack | Instrument::Untack => {
                let neck_m = at_m + 2.0 * radius_m * Vec3::z();
                rod((at_m, neck_m), edge_m, EDGE, true);
                rod((neck_m, back_m), HANDLE_M.1, STEEL, false);
            }
            Instrument::Blunt => {
                rod((at_m, at_m), radius_m, STEEL, false);
                rod((at_m, back_m), HANDLE_M.1, STEEL, false);
            }
        }
    }
}

/// Tissue and instrument at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatedTissue {
    /// Time since the start of the session \[s\].
    pub at_s: f64,
    /// The instrument.
    pub instrument: InstrumentPose,
    surface: MixedMesh,
    rest_m: Vec<Vec3>,
}

/// Colours by the position of a node at rest, in whole micrometres.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TissuePalette(BTreeMap<[i64; 3], [u8; 4]>);

impl TissuePalette {
    /// Builds a palette from places at rest \[m\] with their colours.
    #[must_use]
    pub fn of(colours: impl Iterator<Item = (Vec3, [u8; 4])>) -> Self {
        let keyed = colours.map(|(rest_m, colour)| (Self::key(&rest_m), colour));
        Self(keyed.collect())
    }

    fn key(rest_m: &Vec3) -> [i64; 3] {
        [0, 1, 2].map(|axis| (rest_m[axis] * 1e6).round() as i64)
    }

    /// Returns the colours of all these places; None if one has none.
    fn all(&self, rest_m: &[Vec3]) -> Option<Vec<[u8; 4]>> {
        let colour = |rest_m: &Vec3| self.0.get(&Self::key(rest_m)).copied();
        rest_m.iter().map(colour).collect()
    }
}

impl OperatedTissue {
    /// Copies the tissue at this time, with an instrument.
    #[must_use]
    pub fn of(view: &TissueView<'_>, instrument: InstrumentPose, at_s: f64) -> Self {
        Self {
            at_s,
            instrument,
            // the same faces give the same order
            surface: MixedMesh::compact(view.positions_m, view.faces),
            rest_m: MixedMesh::compact(view.rest_m, view.faces).nodes_m,
        }
    }

    /// Renders the picture; without a palette, darker means farther displaced. None if no tissue is near.
    #[must_use]
    pub fn render(&self, palette: &TissuePalette, caption: String) -> Option<Render> {
        let nodes_m = &self.surface.nodes_m;
        let near = |at_m: &&Vec3| (*at_m - self.instrument.at_m).norm() < NEAR_M;
        let near_m: Vec<Vec3> = nodes_m.iter().filter(near).copied().collect();
        let colours = palette.all(&self.rest_m);
        let (faces, energy) = (&self.surface.triangles.nodes, TissueEnergy::default());
        let view = TissueView::new(nodes_m, &self.rest_m, faces, energy);
        let tool = |canvas: &mut Canvas, camera: &Camera| self.instrument.draw(canvas, camera);
        let png = picture(&view, colours.as_deref(), &near_m, SIZE, tool)?;
        Some(Render { caption, png })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |n: u32| {
            Vec3::new(
                f64::from(n % 5) * 0.01 - 0.02,
                f64::from(n / 5) * 0.01 - 0.02,
                0.0,
            )
        };
        let square = |n: u32| [[n, n + 1, n + 6], [n, n + 6, n + 5]];
        let faces = (0..20).filter(|n| n % 5 < 4).flat_map(square).collect();
        ((0..25).map(at).collect(), faces)
    }

    fn at_rest<'a>(places_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> TissueView<'a> {
        TissueView::new(places_m, places_m, faces, TissueEnergy::default())
    }

    /// Pose of an instrument by its number and length in a record.
    fn pose(instrument: u8, instrument_m: [f64; 3]) -> InstrumentPose {
        let record = TickRecord {
            position_m: [0.0, 0.0, 0.006, 0.0],
            velocity_mps: [0.0, 0.01, -0.5, 0.0],
            instrument,
            instrument_m,
            ..TickRecord::default()
        };
        InstrumentPose::of(&record, 0.004)
    }

    #[test]
    fn tp_02_the_cutting_edge_is_visible_and_tissue_has_its_own_colours() {
        let (places_m, faces) = sheet();
        let view = at_rest(&places_m, &faces);
        let mut drawn = Vec::new();
        let [scalpel, curette, glue, tack, blunt] = [1, 2, 3, 4, 0];
        for (instrument, length_m) in [
            (scalpel, [0.0, 0.0, -0.012]),
            (curette, [0.0; 3]),
            (glue, [0.01, 0.0, 0.0]),
            (tack, [0.0; 3]),
            (blunt, [0.0; 3]),
        ] {
            let pose = pose(instrument, length_m);
            assert_eq!(pose.heading, Vec3::y(), "direction of motion on the tissue");
            let green = TissuePalette::of(places_m.iter().map(|&at_m| (at_m, [0, 255, 0, 255])));
            let operated = OperatedTissue::of(&view, pose, 1.0);
            let render = operated.render(&green, pose.name().into()).expect("seen");
            let uncoloured = operated.render(&TissuePalette::default(), String::new());
            assert_ne!(
                Some(&render.png),
                uncoloured.map(|render| render.png).as_ref()
            );
            drawn.push(render.png);
        }
        drawn.dedup();
        assert_eq!(drawn.len(), 4, "tack and nozzle are alike, and no others");
    }

    #[test]
    fn no_tissue_near_an_instrument_gives_no_picture() {
        let (places_m, faces) = sheet();
        let view = at_rest(&places_m, &faces);
        let mut away = pose(2, [0.0; 3]);
        away.at_m.x = 1.0;
        let operated = OperatedTissue::of(&view, away, 1.0);
        assert_eq!(
            operated.render(&TissuePalette::default(), String::new()),
            None
        );
    }
}
