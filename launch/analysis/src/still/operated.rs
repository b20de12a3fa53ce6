//! Tissue that an instrument opened, with the instrument where it worked, from near and in the colours of its elements.
//!
//! Source: ours; seed-001 rows RN-03, TP-01 and TP-02 for what is opened. The surface is the twin's own as it lay, so that
//! nothing is run again; colours are told by where an element rests.

use std::collections::BTreeMap;

use palpate_geometry::mesh::surface::Surface;
use palpate_session::strokes::instrument_of;
use palpate_transport::trace::TickRecord;
use palpate_twin::{Instrument, Ledger, Vec3, View};

use super::camera::Camera;
use super::canvas::Canvas;
use super::{FINER, STEEL, Still, Subject};

/// Pixels of a picture.
const SIZE: (usize, usize) = (720, 440);
/// How far around an instrument the tissue is looked at \[m\].
const NEAR_M: f64 = 0.026;
/// Colour of what cuts: an edge, a rim, a nozzle.
const EDGE: [f64; 3] = [1.0, 0.69, 0.0];
/// How fast it must go across the tissue for its way to be known \[m/s\].
const GOES_MPS: f64 = 1e-3;
/// Length of a handle \[m\], and half its width.
const HANDLE_M: (f64, f64) = (0.05, 0.0017);

/// An instrument where it works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    instrument: Instrument,
    at_m: Vec3,
    /// Where it goes, across the tissue.
    heading: Vec3,
    radius_m: f64,
}

impl Held {
    /// As a record of the operator's side tells, of a tool of this radius \[m\].
    #[must_use]
    pub fn of(record: &TickRecord, radius_m: f64) -> Self {
        let ([x_m, y_m, z_m, _], [vx, vy, ..]) = (record.position_m, record.velocity_mps);
        let goes = Vec3::new(vx, vy, 0.0);
        Self {
            instrument: instrument_of((record.instrument, record.instrument_m)),
            at_m: Vec3::new(x_m, y_m, z_m),
            heading: goes.try_normalize(GOES_MPS).unwrap_or_else(Vec3::x),
            radius_m,
        }
    }

    /// What it is called.
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

    /// Draws what it looks like; what cuts is seen through the tissue.
    fn draw(&self, canvas: &mut Canvas, camera: &Camera) {
        let mut rod = |(from_m, to_m): (Vec3, Vec3), radius_m: f64, colour, before: bool| {
            let balls = ((to_m - from_m).norm() / (0.4 * radius_m))
                .ceil()
                .clamp(1.0, 400.0);
            for nth in 0..=balls as usize {
                let seen = camera.see(&(from_m + (to_m - from_m) * (nth as f64 / balls)));
                let near_m = if before { 0.5 * camera.extent_m() } else { 0.0 };
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
                rod(
                    (at_m, at_m + 2.0 * radius_m * Vec3::z()),
                    edge_m,
                    EDGE,
                    true,
                );
                rod(
                    (at_m + 2.0 * radius_m * Vec3::z(), back_m),
                    HANDLE_M.1,
                    STEEL,
                    false,
                );
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
pub struct Operated {
    /// When, since the session began \[s\].
    pub at_s: f64,
    /// The instrument.
    pub held: Held,
    surface: Surface,
    rest_m: Vec<Vec3>,
}

/// Colours by where an element rests, in whole micrometres.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Palette(BTreeMap<[i64; 3], [u8; 4]>);

impl Palette {
    /// Of places at rest \[m\] with their colours.
    #[must_use]
    pub fn of(colours: impl Iterator<Item = (Vec3, [u8; 4])>) -> Self {
        Self(
            colours
                .map(|(rest_m, colour)| (Self::key(&rest_m), colour))
                .collect(),
        )
    }

    fn key(rest_m: &Vec3) -> [i64; 3] {
        [0, 1, 2].map(|axis| (rest_m[axis] * 1e6).round() as i64)
    }

    /// Colours of all of these places; none if one has none.
    fn all(&self, rest_m: &[Vec3]) -> Option<Vec<[u8; 4]>> {
        let colour = |rest_m: &Vec3| self.0.get(&Self::key(rest_m)).copied();
        rest_m.iter().map(colour).collect()
    }
}

impl Operated {
    /// As the tissue lies now, with an instrument.
    #[must_use]
    pub fn of(view: &View<'_>, held: Held, at_s: f64) -> Self {
        Self {
            at_s,
            held,
            // of the same faces, so in the same order
            surface: Surface::compact(view.positions_m, view.faces),
            rest_m: Surface::compact(view.rest_m, view.faces).nodes_m,
        }
    }

    /// The picture; without a palette the darker, the farther the surface has moved. None if nothing is near.
    #[must_use]
    pub fn still(&self, palette: &Palette, caption: String) -> Option<Still> {
        let nodes_m = &self.surface.nodes_m;
        let near = |at_m: &&Vec3| (*at_m - self.held.at_m).norm() < NEAR_M;
        let near_m: Vec<Vec3> = nodes_m.iter().filter(near).copied().collect();
        let size = (SIZE.0 * FINER, SIZE.1 * FINER);
        let camera = Camera::around(&near_m, size.0, size.1)?;
        let colours = palette.all(&self.rest_m);
        let subject = Subject {
            view: View {
                positions_m: nodes_m,
                rest_m: &self.rest_m,
                faces: &self.surface.faces,
                ledger: Ledger::default(),
                topology: None,
                changes: &[],
                edit: 0,
            },
            colours: colours.as_deref(),
            tools: &[],
        };
        let mut canvas = Canvas::new(size.0, size.1);
        subject.onto(&mut canvas, &camera);
        self.held.draw(&mut canvas, &camera);
        let png = canvas.png(FINER)?;
        Some(Still { caption, png })
    }
}

#[cfg(test)]
mod tests {
    use palpate_session::strokes::instrument_noted;

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

    fn at_rest<'a>(places_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> View<'a> {
        View {
            positions_m: places_m,
            rest_m: places_m,
            faces,
            ledger: Ledger::default(),
            topology: None,
            changes: &[],
            edit: 0,
        }
    }

    fn held(instrument: Instrument) -> Held {
        let (number, length_m) = instrument_noted(&instrument);
        let record = TickRecord {
            position_m: [0.0, 0.0, 0.006, 0.0],
            velocity_mps: [0.0, 0.01, -0.5, 0.0],
            instrument: number,
            instrument_m: length_m,
            ..TickRecord::default()
        };
        Held::of(&record, 0.004)
    }

    #[test]
    fn tp_02_what_cuts_is_seen_and_tissue_has_its_own_colours() {
        let (places_m, faces) = sheet();
        let view = at_rest(&places_m, &faces);
        let edge_m = Vec3::new(0.0, 0.0, -0.012);
        let mut drawn = Vec::new();
        for instrument in [
            Instrument::Scalpel { edge_m },
            Instrument::Curette,
            Instrument::Glue { reach_m: 0.01 },
            Instrument::Tack,
            Instrument::Blunt,
        ] {
            let held = held(instrument);
            assert_eq!(held.heading, Vec3::y(), "where it goes on the tissue");
            let green = Palette::of(places_m.iter().map(|&at_m| (at_m, [0, 255, 0, 255])));
            let operated = Operated::of(&view, held, 1.0);
            let still = operated.still(&green, held.name().into()).expect("seen");
            let none = operated.still(&Palette::default(), String::new());
            assert_ne!(Some(&still.png), none.map(|still| still.png).as_ref());
            drawn.push(still.png);
        }
        drawn.dedup();
        assert_eq!(drawn.len(), 4, "tack and nozzle are alike, and no others");
    }

    #[test]
    fn nothing_near_an_instrument_is_no_picture() {
        let (places_m, faces) = sheet();
        let view = at_rest(&places_m, &faces);
        let mut away = held(Instrument::Curette);
        away.at_m.x = 1.0;
        let operated = Operated::of(&view, away, 1.0);
        assert_eq!(operated.still(&Palette::default(), String::new()), None);
    }
}
