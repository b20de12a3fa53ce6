//! Stiffness maps of a free exploration by the cell, with the lumps of the scene.
//!
//! Source of the layout: ours; of the reason: teleop section 4 (a single point of force feedback does not make lumps
//! detectable, show a map too).

use std::fmt::Write as _;

use palpate_scene::Lump;
use palpate_transport::trace::TickRecord;

use super::map::{colour_at, scale};
use super::words::number;
use super::{escape, named};
use crate::conclusion::Evidence;
use crate::metrics::stiffness_map::{self, CELL_M, StiffnessMap};

/// Units of the SVG in a millimetre.
const UNITS: f64 = 10.0;

/// Free margin around the map \[mm\].
const MARGIN_MM: f64 = 8.0;

/// Scene of a free exploration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExplorationScene {
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Lumps of the tissue; none if the tissue is on the other side and unknown here.
    pub lumps: Option<Vec<Lump>>,
}

/// Maps of both sides with their text; None if no place was pressed slowly.
pub(super) fn body(evidence: &Evidence<'_>, scene: &ExplorationScene) -> Option<String> {
    let upward = |record: &TickRecord| record.tissue_force_n[2];
    let rendered = |record: &TickRecord| -record.port_force_n[2];
    let of = |records, force: &dyn Fn(&TickRecord) -> f64| {
        stiffness_map::stiffness_map(records, force, scene.tool_radius_m)
    };
    let maps = [
        ("at the robot", of(evidence.traces.slave, &upward)),
        ("at the hand", of(evidence.traces.master, &rendered)),
    ];
    let maps = maps
        .into_iter()
        .filter_map(|(name, map)| Some((name, map?)));
    let maps: Vec<(&str, StiffnessMap)> = maps.collect();
    let (name, first) = maps.first()?;
    let frame = Frame::around(&maps, scene.lumps.as_deref().unwrap_or_default())?;
    let mut html = String::from("<div class=\"maps\">");
    for (name, map) in &maps {
        let deep = number(map.depth_m * 1e3);
        html += &named(&format!("{name}, {deep} mm deep"), &frame.svg(name, map));
    }
    html += &scale(frame.least_npm, frame.most_npm, "N/m");
    html += "</div>\n";
    let _ = write!(
        html,
        "<p>{}</p><p class=\"caption\">Force over depth of slow presses, the median of each cell of {} mm, seen from \
         above, at the depth at which most cells were pressed; blank cells were not pressed. A dashed ring marks a hidden \
         lump.</p>",
        escape(&words(name, first, scene.lumps.as_deref())),
        number(CELL_M * 1e3)
    );
    Some(html)
}

/// Describes the stiffest place of the map, and the places of the lumps.
fn words(name: &str, map: &StiffnessMap, lumps: Option<&[Lump]>) -> String {
    let place = |[x, y]: [f64; 2]| format!("x {}, y {} mm", number(x * 1e3), number(y * 1e3));
    let mut text = match map.stiffest() {
        Some((at, more)) => format!(
            "The stiffest place {name} is at {}, {} times the median one. ",
            place(at),
            number(more)
        ),
        None => String::from("Too few places were pressed to compare them. "),
    };
    let Some(lumps) = lumps else {
        return text + "The lumps of the remote tissue are unknown on this side.";
    };
    for lump in lumps {
        text += &format!(
            "A lump of {} mm across, {} times as stiff as its surroundings, lies below {}",
            number(2e3 * lump.radius_m),
            number(lump.factor),
            place(lump.center_m)
        );
        if let Some((at, _)) = map.stiffest() {
            let off_m = (at[0] - lump.center_m[0]).hypot(at[1] - lump.center_m[1]);
            text += &format!(", {} mm from there", number(off_m * 1e3));
        }
        text += ". ";
    }
    if lumps.is_empty() {
        text += "No lump is hidden in this tissue.";
    }
    text
}

/// Common frame of all maps: the part of the plane \[mm\], its lumps, and the scale of colours \[N/m\].
struct Frame<'a> {
    low: [f64; 2],
    high: [f64; 2],
    lumps: &'a [Lump],
    least_npm: f64,
    most_npm: f64,
}

impl<'a> Frame<'a> {
    /// Returns the frame around maps with their lumps; None if no map has a cell.
    fn around(maps: &[(&str, StiffnessMap)], lumps: &'a [Lump]) -> Option<Self> {
        let values = || maps.iter().flat_map(|(_, map)| map.cells.values().copied());
        let cells = maps.iter().flat_map(|(_, map)| map.cells.keys());
        let places = cells.map(|&cell| (stiffness_map::cell_centre_m(cell), 0.5 * CELL_M));
        let around = lumps.iter().map(|lump| (lump.center_m, lump.radius_m));
        let mut frame = Self {
            low: [f64::MAX; 2],
            high: [f64::MIN; 2],
            lumps,
            least_npm: values().reduce(f64::min)?,
            most_npm: values().reduce(f64::max)?,
        };
        for (place_m, around_m) in places.chain(around) {
            for (axis, at_m) in place_m.into_iter().enumerate() {
                let (low, high) = (1e3 * (at_m - around_m), 1e3 * (at_m + around_m));
                frame.low[axis] = frame.low[axis].min(low - MARGIN_MM);
                frame.high[axis] = frame.high[axis].max(high + MARGIN_MM);
            }
        }
        Some(frame)
    }

    /// Maps x and y to the picture, whose y grows downward.
    fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.low[0]) * UNITS, (self.high[1] - y) * UNITS]
    }

    fn svg(&self, name: &str, map: &StiffnessMap) -> String {
        let [width, height] = [0, 1].map(|axis| (self.high[axis] - self.low[axis]) * UNITS);
        let mut svg = format!(
            "<svg role=\"img\" aria-label=\"stiffness {name}\" viewBox=\"0 0 {width:.0} {height:.0}\">\
             <rect class=\"unknown\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>"
        );
        let edge = 1e3 * CELL_M * UNITS;
        for (&cell, &npm) in &map.cells {
            let [x_mm, y_mm] = stiffness_map::cell_centre_m(cell).map(|m| m * 1e3);
            let [x, y] = self.at([x_mm, y_mm]);
            let [r, g, b] = colour_at(Some(npm), self.least_npm, self.most_npm).unwrap_or_default();
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{edge:.1}\" height=\"{edge:.1}\" fill=\"rgb({r},{g},{b})\">\
                 <title>x {x_mm:.1} mm, y {y_mm:.1} mm: {npm:.0} N/m</title></rect>",
                x - 0.5 * edge,
                y - 0.5 * edge
            );
        }
        for lump in self.lumps {
            let [x, y] = self.at(lump.center_m.map(|m| m * 1e3));
            let _ = write!(
                svg,
                "<circle class=\"s-truth\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"none\" stroke-width=\"4\" \
                 stroke-dasharray=\"14 9\"/>",
                1e3 * lump.radius_m * UNITS
            );
        }
        svg + &self.ticks(width, height) + "</svg>"
    }

    /// Millimetres along the lower and the left edge.
    fn ticks(&self, width: f64, height: f64) -> String {
        let every = |axis: usize| {
            let (low, high) = (self.low[axis] + 2.0, self.high[axis] - 2.0);
            let first = (low / 10.0).ceil() as i32;
            let last = (high / 10.0).floor() as i32;
            (first..=last).map(|ten| 10 * ten)
        };
        let text = |x: f64, y: f64, words: &dyn std::fmt::Display| {
            format!("<text class=\"f-text\" x=\"{x:.0}\" y=\"{y:.0}\">{words}</text>")
        };
        let below = every(0).map(|mm| text(self.at([f64::from(mm), 0.0])[0], height - 10.0, &mm));
        let beside = every(1).map(|mm| text(28.0, self.at([0.0, f64::from(mm)])[1] + 8.0, &mm));
        let unit = text(width - 34.0, 30.0, &"mm");
        below.chain(beside).chain([unit]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_text_names_the_stiffest_place_and_the_lump() {
        let cells = BTreeMap::from([([0, 0], 70.0), ([1, 0], 72.0), ([6, 0], 140.0)]);
        let map = StiffnessMap {
            depth_m: 0.003,
            cells,
        };
        let lump = Lump {
            center_m: [0.0195, 0.0055],
            radius_m: 0.004,
            factor: 10.0,
        };
        let text = words("at the robot", &map, Some(&[lump]));
        assert!(text.contains("at x 19.5, y 1.5 mm, 1.94 times"), "{text}");
        assert!(
            text.contains("8 mm across") && text.contains("4 mm from there"),
            "{text}"
        );
        assert!(words("felt", &map, Some(&[])).contains("No lump"));
        let (maps, lumps) = ([("felt", map)], [lump]);
        let frame = Frame::around(&maps, &lumps).expect("cells");
        assert_eq!((frame.least_npm, frame.most_npm), (70.0, 140.0));
        let svg = frame.svg("felt", &maps[0].1);
        assert_eq!(svg.matches("<title>").count(), 3);
        assert_eq!(svg.matches("<circle").count(), 1);
        for mm in [">0<", ">10<", ">20<"] {
            assert!(svg.contains(mm), "{mm} is not in {svg}");
        }
    }
}
