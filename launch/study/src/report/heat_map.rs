//! Heat maps of a quantity over two others, in the colours of the stiffness map.
//!
//! Source of the layout: ours.

use palpate_analysis::report::map::{CELL, bright, colour_at, gradient};

/// Room for the labels beside rows and under columns, in units of the SVG.
const MARGIN: [f64; 2] = [96.0, 70.0];

/// One map: rows from the top down, columns from the left.
pub(super) struct HeatMap {
    /// Title above it.
    pub(super) name: String,
    /// Label of the column axis, below it.
    pub(super) across: String,
    /// Labels under the columns.
    pub(super) columns: Vec<String>,
    /// Labels beside the rows.
    pub(super) rows: Vec<String>,
    /// Values row by row; an unknown one is marked.
    pub(super) values: Vec<Option<f64>>,
}

/// Colour scale of all maps.
pub(super) struct Scale<'a> {
    /// Unit behind the numbers of the scale.
    pub(super) unit: &'a str,
    /// Detection threshold: it is marked on the scale, and cells that reach it are framed.
    /// Colours are linear up to it and logarithmic beyond. Without it they are linear throughout.
    pub(super) threshold: Option<f64>,
}

impl Scale<'_> {
    /// Position of a value on the colour axis. A negative value is below any threshold and counts as 0.
    fn warp(&self, value: f64) -> f64 {
        match self.threshold {
            // log(1 + x) is linear for small x, and a scale of a few hundred thresholds keeps distinct colours
            Some(threshold) => (value.max(0.0) / threshold).ln_1p(),
            None => value,
        }
    }

    fn reaches_threshold(&self, value: f64) -> bool {
        self.threshold.is_some_and(|threshold| value >= threshold)
    }

    /// Formats the scale below the maps, with the mark.
    fn strip(&self, low: f64, high: f64) -> String {
        let from = if self.threshold.is_some() { 0.0 } else { low };
        let mark = self
            .threshold
            .filter(|&threshold| threshold < high)
            .map(|threshold| {
                let share = 100.0 * self.warp(threshold) / self.warp(high);
                format!("<b style=\"left:{share:.1}%\"></b>")
            });
        format!(
            "<div class=\"scale\"><span>{from:.0}</span><i style=\"background:{}\">{}</i>\
             <span>{high:.0} {}</span></div>",
            gradient(),
            mark.unwrap_or_default(),
            palpate_analysis::report::escape(self.unit)
        )
    }
}

/// Draws all maps with one scale; none if no value is known.
pub(super) fn draw(maps: &[HeatMap], scale: &Scale<'_>) -> Option<String> {
    let values = || maps.iter().flat_map(|m| &m.values).filter_map(|v| *v);
    let low = values().reduce(f64::min)?;
    let high = values().reduce(f64::max)?;
    let mut html = String::from("<div class=\"maps\">");
    for map in maps {
        let name = palpate_analysis::report::escape(&map.name);
        html += &format!(
            "<figure><div class=\"mapname\">{name}</div>{}</figure>",
            map.svg(scale, low, high)
        );
    }
    Some(html + &scale.strip(low, high) + "</div>\n")
}

impl HeatMap {
    fn svg(&self, scale: &Scale<'_>, low: f64, high: f64) -> String {
        let [left, under] = MARGIN;
        let width = left + self.columns.len() as f64 * CELL;
        let height = self.rows.len() as f64 * CELL;
        let mut svg = format!(
            "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {}\">",
            palpate_analysis::report::escape(&self.name),
            height + under
        );
        for (row, word) in self.rows.iter().enumerate() {
            let y = (row as f64 + 0.5) * CELL + 7.0;
            svg += &words(0.5 * left, y, word);
        }
        for (column, word) in self.columns.iter().enumerate() {
            svg += &words(left + (column as f64 + 0.5) * CELL, height + 26.0, word);
        }
        svg += &words(0.5 * (left + width), height + 58.0, &self.across);
        let from = if scale.threshold.is_some() { 0.0 } else { low };
        let colour = |value: f64| {
            let [at, from, to] = [value, from, high].map(|value| scale.warp(value));
            colour_at(Some(at), from, to)
        };
        for (index, value) in self.values.iter().enumerate() {
            let count = self.columns.len().max(1);
            let x = left + (index % count) as f64 * CELL;
            let y = (index / count) as f64 * CELL;
            let detected = value.is_some_and(|value| scale.reaches_threshold(value));
            svg += &cell(*value, x, y, value.and_then(colour), detected);
        }
        svg + "</svg>"
    }
}

fn words(x: f64, y: f64, text: &str) -> String {
    let text = palpate_analysis::report::escape(text);
    format!("<text class=\"f-text\" x=\"{x}\" y=\"{y}\">{text}</text>")
}

fn cell(value: Option<f64>, x: f64, y: f64, fill: Option<[u8; 3]>, detected: bool) -> String {
    let (mx, my) = (x + CELL / 2.0, y + CELL / 2.0 + 7.0);
    let (x, y, size) = (x + 2.0, y + 2.0, CELL - 4.0);
    let shape = format!("x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\" rx=\"6\"");
    let Some((fill, value)) = fill.zip(value) else {
        let mark = words(mx, my, "?");
        return format!("<rect class=\"unknown\" {shape}/>{mark}");
    };
    let ink = if bright(fill) { "#111" } else { "#fff" };
    let digits = usize::from(value.abs() < 10.0);
    let [r, g, b] = fill;
    format!(
        "<rect {shape}{} fill=\"rgb({r},{g},{b})\"/><text x=\"{mx}\" y=\"{my}\" fill=\"{ink}\">\
         {value:.digits$}</text>",
        if detected { " class=\"told\"" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_rows_and_unknown_ones_are_marked() {
        let map = |values: Vec<Option<f64>>| HeatMap {
            name: "a<b".to_owned(),
            across: "contrast".to_owned(),
            columns: vec!["3".to_owned(), "10".to_owned()],
            rows: vec!["8 mm".to_owned(), "10 mm".to_owned()],
            values,
        };
        let scale = |threshold| Scale {
            unit: "%",
            threshold,
        };
        assert!(draw(&[map(vec![None; 4])], &scale(None)).is_none());
        let values = vec![Some(1.25), None, Some(40.0), Some(5.0)];
        let html = draw(&[map(values.clone())], &scale(None)).expect("three values");
        for word in ["a&lt;b", ">1.2<", ">40<", ">5.0<", ">?<", ">8 mm<", "40 %"] {
            assert!(html.contains(word), "{word} is not in {html}");
        }
        assert_eq!(html.matches("<rect").count(), 4);
        assert!(!html.contains("told") && !html.contains("<b style"));
        let html = draw(&[map(values)], &scale(Some(5.0))).expect("three values");
        assert_eq!(html.matches("class=\"told\"").count(), 2);
        // ln 2 of ln 9
        assert!(html.contains("<b style=\"left:31.5%\">"), "{html}");
    }

    #[test]
    fn colours_distinguish_values_below_and_far_above_the_threshold() {
        let scale = Scale {
            unit: "%",
            threshold: Some(6.8),
        };
        let share = |value: f64| scale.warp(value) / scale.warp(205.0);
        assert!(share(-3.0) == 0.0 && share(205.0) == 1.0);
        assert!(share(6.8) > 0.15 && share(30.0) > 0.45, "{}", share(30.0));
    }
}
