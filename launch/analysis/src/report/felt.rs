//! What a hand felt that went as it liked: maps of stiffness by the cell, with the lumps that were there.
//!
//! Source of the layout: ours; of the reason: teleop section 4 (a single point of force feedback does not make lumps
//! detectable, show a map too).

use std::fmt::Write as _;

use palpate_scene::Lump;
use palpate_transport::trace::TickRecord;

use super::map::{colour_at, scale};
use super::words::number;
use super::{ReportInput, escape};
use crate::metrics::felt::{self, CELL_M, FeltMap};

/// Units of the SVG in a millimetre.
const UNITS: f64 = 10.0;

/// Free margin around what was felt \[mm\].
const MARGIN_MM: f64 = 8.0;

/// Where a session took place, as a hand meets it that goes as it likes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ground {
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Lumps of the tissue; none where that is another side's, of which nothing is known here.
    pub lumps: Option<Vec<Lump>>,
}

/// Maps of both sides and their words; nothing where no place was pressed slowly.
pub(super) fn body(input: &ReportInput<'_>, ground: &Ground) -> Option<String> {
    let upward = |record: &TickRecord| record.tissue_force_n[2];
    let rendered = |record: &TickRecord| -record.port_force_n[2];
    let of = |records, force: &dyn Fn(&TickRecord) -> f64| {
        felt::map(records, force, ground.tool_radius_m)
    };
    let maps: Vec<(&str, FeltMap)> = [
        ("met by the robot", of(input.traces.slave, &upward)),
        ("felt by the hand", of(input.traces.master, &rendered)),
    ]
    .into_iter()
    .filter_map(|(name, map)| Some((name, map?)))
    .collect();
    let (name, first) = maps.first()?;
    let frame = Frame::around(&maps, ground.lumps.as_deref().unwrap_or_default())?;
    let mut html = String::from("<div class=\"maps\">");
    for (name, map) in &maps {
        let svg = frame.svg(name, map);
        let deep = number(map.depth_m * 1e3);
        let _ = write!(
            html,
            "<figure><div class=\"mapname\">{name}, {deep} mm deep</div>{svg}</figure>"
        );
    }
    html += &scale(frame.least_npm, frame.most_npm, "N/m");
    html += "</div>\n";
    let _ = write!(
        html,
        "<p>{}</p><p class=\"caption\">Force over depth of slow presses, the median of each cell of {} mm, seen from \
         above, at the depth at which most cells were pressed; what is blank was not. A dashed ring marks a hidden \
         lump.</p>",
        escape(&words(name, first, ground.lumps.as_deref())),
        number(CELL_M * 1e3)
    );
    Some(html)
}

/// Where the map is stiffest, and where the lumps are.
fn words(name: &str, map: &FeltMap, lumps: Option<&[Lump]>) -> String {
    let place = |[x, y]: [f64; 2]| format!("x {}, y {} mm", number(x * 1e3), number(y * 1e3));
    let mut text = match map.stiffest() {
        Some((at, more)) => format!(
            "The stiffest place {name} is at {}, {} times the middling one. ",
            place(at),
            number(more)
        ),
        None => String::from("Too few places were pressed to compare them. "),
    };
    let Some(lumps) = lumps else {
        return text + "What lies below is not known on this side.";
    };
    for lump in lumps {
        let _ = write!(
            text,
            "A lump of {} mm across, {} times as stiff as what is around it, lies below {}",
            number(2e3 * lump.radius_m),
            number(lump.factor),
            place(lump.center_m)
        );
        if let Some((at, _)) = map.stiffest() {
            let off_m = (at[0] - lump.center_m[0]).hypot(at[1] - lump.center_m[1]);
            let _ = write!(text, ", {} mm from there", number(off_m * 1e3));
        }
        text += ". ";
    }
    if lumps.is_empty() {
        text += "No lump is hidden in this tissue.";
    }
    text
}

/// What all maps share: the part of the plane \[mm\], its lumps, and the scale of colours \[N/m\].
struct Frame<'a> {
    low: [f64; 2],
    high: [f64; 2],
    lumps: &'a [Lump],
    least_npm: f64,
    most_npm: f64,
}

impl<'a> Frame<'a> {
    /// Around maps with their lumps; none if no map has a cell.
    fn around(maps: &[(&str, FeltMap)], lumps: &'a [Lump]) -> Option<Self> {
        let values = || maps.iter().flat_map(|(_, map)| map.cells.values().copied());
        let cells = maps.iter().flat_map(|(_, map)| map.cells.keys());
        let places = cells.map(|&cell| (felt::middle_m(cell), 0.5 * CELL_M));
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

    /// x and y on the picture, whose y grows downward.
    fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.low[0]) * UNITS, (self.high[1] - y) * UNITS]
    }

    fn svg(&self, name: &str, map: &FeltMap) -> String {
        let [width, height] = [0, 1].map(|axis| (self.high[axis] - self.low[axis]) * UNITS);
        let mut svg = format!(
            "<svg role=\"img\" aria-label=\"stiffness {name}\" viewBox=\"0 0 {width:.0} {height:.0}\">\
             <rect class=\"unknown\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>"
        );
        let edge = 1e3 * CELL_M * UNITS;
        for (&cell, &npm) in &map.cells {
            let [x_mm, y_mm] = felt::middle_m(cell).map(|m| m * 1e3);
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
        let mut text = String::new();
        for mm in every(0) {
            let [x, _] = self.at([f64::from(mm), 0.0]);
            let y = height - 10.0;
            let _ = write!(
                text,
                "<text class=\"f-text\" x=\"{x:.0}\" y=\"{y:.0}\">{mm}</text>"
            );
        }
        for mm in every(1) {
            let [_, y] = self.at([0.0, f64::from(mm)]);
            let _ = write!(
                text,
                "<text class=\"f-text\" x=\"28\" y=\"{:.0}\">{mm}</text>",
                y + 8.0
            );
        }
        let x = width - 34.0;
        let _ = write!(
            text,
            "<text class=\"f-text\" x=\"{x:.0}\" y=\"30\">mm</text>"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn words_say_where_it_was_stiffest_and_where_the_lump_is() {
        let cells = BTreeMap::from([([0, 0], 70.0), ([1, 0], 72.0), ([6, 0], 140.0)]);
        let map = FeltMap {
            depth_m: 0.003,
            cells,
        };
        let lump = Lump {
            center_m: [0.0195, 0.0055],
            radius_m: 0.004,
            factor: 10.0,
        };
        let text = words("met by the robot", &map, Some(&[lump]));
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
