//! Stiffness map of the patch: displayed beside true stiffness.
//!
//! Colours are seventeen anchors of the map "viridis" (van der Walt and Smith 2015, perceptually uniform),
//! interpolated linearly. Source of the layout: ours; of the reason: teleop section 4 (a single point of force
//! feedback does not make lumps detectable, show a map too).

use super::ModeComparison;
use crate::metrics::Site;

const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 21, 104],
    [72, 38, 119],
    [69, 55, 129],
    [63, 71, 136],
    [57, 85, 140],
    [50, 100, 142],
    [45, 113, 142],
    [40, 125, 142],
    [35, 138, 141],
    [31, 150, 139],
    [32, 163, 134],
    [41, 175, 127],
    [60, 188, 117],
    [86, 198, 103],
    [149, 216, 64],
    [253, 231, 37],
];

/// Size of one cell in units of the SVG.
pub const CELL: f64 = 92.0;

/// One panel: its name and a value for each site.
pub(super) struct Panel<'a> {
    name: &'a str,
    values: Vec<(Site, Option<f64>)>,
}

/// Returns the panels of the sites of one session, and of another beside it.
pub(super) fn panels<'a>(sites: &[Site], other: Option<&'a ModeComparison>) -> Vec<Panel<'a>> {
    let panel = |name, sites: &[Site], npm: fn(&Site) -> Option<f64>| Panel {
        name,
        values: sites.iter().map(|site| (*site, npm(site))).collect(),
    };
    let mut panels = vec![panel("displayed to the hand", sites, |site| {
        site.displayed_npm
    })];
    if sites.iter().any(|site| site.true_npm.is_some()) {
        panels.push(panel("true", sites, |site| site.true_npm));
    }
    let other =
        other.map(|other| panel(&other.name, &other.contact.sites, |site| site.displayed_npm));
    panels.extend(other);
    panels
}

/// Returns the panel of the twin's confidence at the sites \[%\].
pub(super) fn confidence_panel(sites: &[Site]) -> Panel<'static> {
    let percent = |site: &Site| site.confidence.map(|share| 100.0 * share);
    Panel {
        name: "measured by the robot",
        values: sites.iter().map(|site| (*site, percent(site))).collect(),
    }
}

/// Draws one panel on the scale from 0 to 100 %; None if no value is known.
pub(super) fn draw_percent(panel: &Panel<'_>) -> Option<String> {
    panel.values.iter().find_map(|(_, value)| *value)?;
    let map = super::named(panel.name, &grid(panel, 0.0, 100.0));
    Some(format!(
        "<div class=\"maps\">{map}{}</div>\n",
        scale(0.0, 100.0, "%")
    ))
}

/// Draws all panels on one scale of stiffness \[N/m\], with that scale, and a sentence for a panel without values; None if
/// no value is known at all.
pub(super) fn draw(panels: &[Panel<'_>]) -> Option<String> {
    let values = || {
        let all = panels.iter().flat_map(|panel| &panel.values);
        all.filter_map(|(_, value)| *value)
    };
    let low = values().reduce(f64::min)?;
    let high = values().reduce(f64::max)?;
    let mut html = String::from("<div class=\"maps\">");
    let blank = |panel: &&Panel<'_>| panel.values.iter().all(|(_, value)| value.is_none());
    for panel in panels.iter().filter(|panel| !blank(panel)) {
        html += &super::named(panel.name, &grid(panel, low, high));
    }
    html += &scale(low, high, "N/m");
    html += "</div>\n";
    for panel in panels.iter().filter(blank) {
        html += &format!(
            "<p class=\"none\">No map \u{201c}{}\u{201d}: the stiffness is unknown at all of its {} \
             sites.</p>\n",
            super::escape(panel.name),
            panel.values.len()
        );
    }
    Some(html)
}

fn grid(panel: &Panel<'_>, low: f64, high: f64) -> String {
    let places = |axis: usize| {
        let mut all: Vec<f64> = panel.values.iter().map(|(s, _)| s.place_m[axis]).collect();
        all.sort_unstable_by(f64::total_cmp);
        // Sites within a tenth of a millimetre stand in one row.
        all.dedup_by(|a, b| (*a - *b).abs() < 1e-4);
        all
    };
    let (columns, rows) = (places(0), places(1));
    let index =
        |all: &[f64], at: f64| all.iter().position(|p| (p - at).abs() < 1e-4).unwrap_or(0) as f64;
    let (width, height) = (columns.len() as f64 * CELL, rows.len() as f64 * CELL);
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"map: {}\" viewBox=\"0 0 {width} {height}\">",
        super::escape(panel.name)
    );
    for (site, value) in &panel.values {
        let x = index(&columns, site.place_m[0]) * CELL;
        // y of the patch grows upward.
        let y = height - CELL - index(&rows, site.place_m[1]) * CELL;
        svg += &cell(site, *value, [x, y], colour_at(*value, low, high));
    }
    svg + "</svg>"
}

fn cell(site: &Site, value: Option<f64>, [x, y]: [f64; 2], fill: Option<[u8; 3]>) -> String {
    let (mx, my, text_y) = (x + CELL / 2.0, y + CELL / 2.0, y + CELL / 2.0 + 7.0);
    let [x_mm, y_mm] = site.place_m.map(|m| m * 1e3);
    let phase = site.phase;
    let title = format!("<title>site {phase}: x {x_mm:.1} mm, y {y_mm:.1} mm</title>");
    let size = CELL - 4.0;
    let place = format!(
        "x=\"{}\" y=\"{}\" width=\"{size}\" height=\"{size}\" rx=\"6\"",
        x + 2.0,
        y + 2.0
    );
    let Some((fill, value)) = fill.zip(value) else {
        return format!(
            "<g>{title}<rect class=\"unknown\" {place}/>\
             <text class=\"f-text\" x=\"{mx}\" y=\"{text_y}\">?</text></g>"
        );
    };
    let ink = if bright(fill) { "#111" } else { "#fff" };
    let lump = match site.over_lump {
        true => format!(
            "<circle cx=\"{mx}\" cy=\"{my}\" r=\"{}\" fill=\"none\" stroke=\"{ink}\" \
             stroke-width=\"2\" stroke-dasharray=\"5 4\"/>",
            CELL / 2.0 - 9.0
        ),
        false => String::new(),
    };
    let [r, g, b] = fill;
    format!(
        "<g>{title}<rect {place} fill=\"rgb({r},{g},{b})\"/>{lump}\
         <text x=\"{mx}\" y=\"{text_y}\" fill=\"{ink}\">{value:.0}</text></g>"
    )
}

/// Draws the colours between two values as a strip.
pub fn scale(low: f64, high: f64, unit: &str) -> String {
    format!(
        "<div class=\"scale\"><span>{low:.0}</span><i style=\"background:{}\"></i>\
         <span>{high:.0} {unit}</span></div>",
        gradient()
    )
}

/// CSS gradient of all colours from the lowest to the highest.
pub fn gradient() -> String {
    let stops: Vec<String> = VIRIDIS
        .iter()
        .enumerate()
        .map(|(k, [r, g, b])| format!("rgb({r},{g},{b}) {:.0}%", k as f64 / 16.0 * 100.0))
        .collect();
    format!("linear-gradient(90deg,{})", stops.join(","))
}

/// Returns the colour of a value between two others; None for an unknown value.
pub fn colour_at(value: Option<f64>, low: f64, high: f64) -> Option<[u8; 3]> {
    let value = value.filter(|v| v.is_finite())?;
    let share = if high > low {
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    } else {
        0.5
    };
    let at = share * (VIRIDIS.len() - 1) as f64;
    let (below, rest) = (at.floor() as usize, at - at.floor());
    let (a, b) = (VIRIDIS[below], VIRIDIS[(below + 1).min(VIRIDIS.len() - 1)]);
    Some(std::array::from_fn(|c| {
        (f64::from(a[c]) + rest * (f64::from(b[c]) - f64::from(a[c]))).round() as u8
    }))
}

/// Returns true if dark text is more legible on the colour (luma of Rec. 709).
pub fn bright([r, g, b]: [u8; 3]) -> bool {
    0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b) > 128.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_rise_in_brightness() {
        let luma = |k: usize| {
            let [r, g, b] = colour_at(Some(k as f64), 0.0, 100.0).unwrap();
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        };
        assert!((1..=100).all(|k| luma(k) >= luma(k - 1)));
        assert_eq!(colour_at(Some(0.0), 0.0, 1.0), Some([68, 1, 84]));
        assert_eq!(colour_at(Some(9.0), 0.0, 1.0), Some([253, 231, 37]));
        assert_eq!(colour_at(Some(f64::NAN), 0.0, 1.0), None);
    }

    #[test]
    fn confidence_is_drawn_in_percent_if_it_is_known() {
        let known = Site {
            confidence: Some(0.42),
            ..Site::default()
        };
        assert!(draw_percent(&confidence_panel(&[Site::default()])).is_none());
        let html = draw_percent(&confidence_panel(&[known, Site::default()])).unwrap();
        assert!(html.contains(">42<") && html.contains("100 %") && html.contains(">?<"));
    }

    #[test]
    fn unknown_sites_are_marked() {
        let site = Site {
            phase: 4,
            ..Site::default()
        };
        let panel = |value| Panel {
            name: "a<b",
            values: vec![(site, value)],
        };
        assert!(draw(&[panel(None)]).is_none());
        let mut partly = panel(Some(300.0));
        partly.values.push((site, None));
        let html = draw(&[partly]).unwrap();
        assert!(html.contains(">?<") && html.contains(">300") && html.contains("a&lt;b"));
        assert!(!html.contains("No map"));
        let html = draw(&[panel(None), panel(Some(300.0))]).unwrap();
        assert!(!html.contains(">?<") && html.contains("a&lt;b\u{201d}: the stiffness is unknown"));
        assert_eq!(html.matches("<figure>").count(), 1);
    }
}
