//! Heat maps of a quantity over two others, on the colours of the stiffness map.
//!
//! Source of the layout: ours.

use super::map::{CELL, bright, colour_at, scale};

/// Room for the words beside rows and under columns, in units of the SVG.
const MARGIN: [f64; 2] = [96.0, 70.0];

/// One map: rows from the top down, columns from the left.
pub(super) struct Heat {
    /// Name above it.
    pub(super) name: String,
    /// What the columns are, under them.
    pub(super) across: String,
    /// Words under the columns.
    pub(super) columns: Vec<String>,
    /// Words beside the rows.
    pub(super) rows: Vec<String>,
    /// Row by row; what is unknown is shown as such.
    pub(super) values: Vec<Option<f64>>,
}

/// All maps on one scale, with that scale; nothing if no value is known.
pub(super) fn draw(maps: &[Heat], unit: &str) -> Option<String> {
    let values = || maps.iter().flat_map(|m| &m.values).filter_map(|v| *v);
    let low = values().reduce(f64::min)?;
    let high = values().reduce(f64::max)?;
    let mut html = String::from("<div class=\"maps\">");
    for map in maps {
        let name = super::escape(&map.name);
        html += &format!(
            "<figure><div class=\"mapname\">{name}</div>{}</figure>",
            map.svg(low, high)
        );
    }
    Some(html + &scale(low, high, &super::escape(unit)) + "</div>\n")
}

impl Heat {
    fn svg(&self, low: f64, high: f64) -> String {
        let [left, under] = MARGIN;
        let width = left + self.columns.len() as f64 * CELL;
        let height = self.rows.len() as f64 * CELL;
        let mut svg = format!(
            "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {}\">",
            super::escape(&self.name),
            height + under
        );
        for (row, word) in self.rows.iter().enumerate() {
            let y = (row as f64 + 0.5) * CELL + 7.0;
            svg += &words((0.5 * left, y), word);
        }
        for (column, word) in self.columns.iter().enumerate() {
            svg += &words((left + (column as f64 + 0.5) * CELL, height + 26.0), word);
        }
        svg += &words((0.5 * (left + width), height + 58.0), &self.across);
        for (index, value) in self.values.iter().enumerate() {
            let count = self.columns.len().max(1);
            let x = left + (index % count) as f64 * CELL;
            let y = (index / count) as f64 * CELL;
            svg += &cell(*value, (x, y), colour_at(*value, low, high));
        }
        svg + "</svg>"
    }
}

fn words((x, y): (f64, f64), text: &str) -> String {
    let text = super::escape(text);
    format!("<text class=\"f-text\" x=\"{x}\" y=\"{y}\">{text}</text>")
}

fn cell(value: Option<f64>, (x, y): (f64, f64), fill: Option<[u8; 3]>) -> String {
    let (mx, my) = (x + CELL / 2.0, y + CELL / 2.0 + 7.0);
    let (x, y, size) = (x + 2.0, y + 2.0, CELL - 4.0);
    let shape = format!("x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\" rx=\"6\"");
    let Some((fill, value)) = fill.zip(value) else {
        let mark = words((mx, my), "?");
        return format!("<rect class=\"unknown\" {shape}/>{mark}");
    };
    let ink = if bright(fill) { "#111" } else { "#fff" };
    let digits = usize::from(value.abs() < 10.0);
    let [r, g, b] = fill;
    format!(
        "<rect {shape} fill=\"rgb({r},{g},{b})\"/><text x=\"{mx}\" y=\"{my}\" fill=\"{ink}\">\
         {value:.digits$}</text>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_stands_in_its_row_and_what_is_unknown_is_shown() {
        let map = |values: Vec<Option<f64>>| Heat {
            name: "a<b".to_owned(),
            across: "contrast".to_owned(),
            columns: vec!["3".to_owned(), "10".to_owned()],
            rows: vec!["8 mm".to_owned(), "10 mm".to_owned()],
            values,
        };
        assert!(draw(&[map(vec![None; 4])], "%").is_none());
        let html = draw(&[map(vec![Some(1.25), None, Some(40.0), Some(5.0)])], "%");
        let html = html.expect("three values");
        for word in ["a&lt;b", ">1.2<", ">40<", ">5.0<", ">?<", ">8 mm<", "40 %"] {
            assert!(html.contains(word), "{word} is not in {html}");
        }
        assert_eq!(html.matches("<rect").count(), 4);
    }
}
