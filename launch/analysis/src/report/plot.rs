//! Charts: crate plotters into SVG text that follows the page's colours.
//!
//! plotters writes fixed colours; each [`Ink`] is drawn in a marker colour that is replaced by a class, so that the
//! style sheet sets it, in light and in dark. Everything is drawn at twice the size, because plotters rounds to whole
//! units. Source: ours.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width of every chart in units of the SVG.
const WIDTH: u32 = 2080;

/// Columns that a trace is thinned to: one for each point of the screen.
pub const COLUMNS: usize = 900;

/// A colour of the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Text and axes.
    Text,
    /// Grid lines.
    Grid,
    /// Background of a press.
    Shade,
    /// The operator's side.
    Master,
    /// The remote side.
    Slave,
    /// The truth.
    Truth,
    /// Third series.
    Third,
    /// Fourth series.
    Fourth,
}

impl Ink {
    /// Every colour with its name in the style sheet.
    const NAMED: [(Self, &str); 8] = [
        (Self::Text, "text"),
        (Self::Grid, "grid"),
        (Self::Shade, "shade"),
        (Self::Master, "master"),
        (Self::Slave, "slave"),
        (Self::Truth, "truth"),
        (Self::Third, "third"),
        (Self::Fourth, "fourth"),
    ];

    /// Name in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        Self::NAMED[self as usize].1
    }

    /// Returns a colour that nothing else uses.
    fn marker(self) -> RGBColor {
        RGBColor(1, 2, 10 + self as u8)
    }
}

/// Shape of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesShape {
    /// A line through them.
    Line,
    /// A line with a mark at each, for few points, even a single one.
    Marked,
    /// A thin line, for a reference.
    Thin,
    /// A translucent area: there along the upper edge, back along the lower.
    Area,
}

/// One trace of a chart.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Colour.
    pub ink: Ink,
    /// Shape of the series.
    pub shape: SeriesShape,
    /// Space between dashes, in units of the SVG; 0 for a line without.
    pub gap: u32,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Returns a line.
    pub fn line(name: &str, ink: Ink, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            ink,
            shape: SeriesShape::Line,
            gap: 0,
            points,
        }
    }

    /// Returns the line of number `index` of many, from 0: inks are used in turn, with a longer gap in every round
    /// after the first, so that all look different.
    pub fn numbered(name: &str, inks: &[Ink], index: usize, points: Vec<(f64, f64)>) -> Self {
        let round = index / inks.len();
        let name = match round {
            0 => name.to_owned(),
            1 => format!("{name} (dashed)"),
            _ => format!("{name} (dashes {round} wide apart)"),
        };
        Self {
            gap: 8 * round as u32,
            ..Self::line(&name, inks[index % inks.len()], points)
        }
    }

    /// Returns the series in another shape.
    pub fn shaped(self, shape: SeriesShape) -> Self {
        Self { shape, ..self }
    }
}

/// A chart.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Quantity and unit along x.
    pub x: String,
    /// Quantity and unit along y.
    pub y: String,
    /// Height in units of the SVG, of `WIDTH`.
    pub height: u32,
    /// Stretches of x that are shaded, with a label each.
    pub shades: Vec<(f64, f64, String)>,
    /// The traces.
    pub series: Vec<Series>,
    /// Values along both axes are powers of ten.
    pub decades: bool,
    /// The axis of y begins at zero.
    pub from_zero: bool,
    /// Values along x alone are powers of ten, of any exponent.
    pub x_decades: bool,
    /// The same along y.
    pub y_decades: bool,
}

impl Chart {
    /// Returns a chart of some traces over `x`, both axes from their least to their largest value.
    pub fn new(x: &str, y: &str, height: u32, series: Vec<Series>) -> Self {
        Self {
            x: x.to_owned(),
            y: y.to_owned(),
            height,
            series,
            ..Self::default()
        }
    }

    /// Returns an HTML figure with a legend; a sentence if there is nothing to draw.
    pub fn figure(&self, describes: &str) -> String {
        let Some(svg) = self.svg() else {
            return "<p class=\"none\">There are no records of this.</p>\n".to_owned();
        };
        let mut legend = String::new();
        let shown = |s: &&Series| !s.name.is_empty() && !s.points.is_empty();
        for series in self.series.iter().filter(shown) {
            legend += &format!(
                "<span><i class=\"k-{}\"></i>{}</span>",
                series.ink.class(),
                super::escape(&series.name)
            );
        }
        format!(
            "<figure><div class=\"legend\">{legend}</div>{}<figcaption>{describes}</figcaption>\
             </figure>\n",
            themed(&svg, &format!("{} over {}", self.y, self.x))
        )
    }

    fn svg(&self) -> Option<String> {
        let (x, y) = self.range()?;
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, self.height)).into_drawing_area();
            // writing into a string cannot fail; a chart that failed would be left out
            self.draw(&area, x, y).ok()?;
            area.present().ok()?;
        }
        Some(svg)
    }

    /// Ranges of x and y, with air above and below.
    fn range(&self) -> Option<(std::ops::Range<f64>, std::ops::Range<f64>)> {
        let points = || {
            self.series
                .iter()
                .flat_map(|s| &s.points)
                .filter(|(x, y)| (x + y).is_finite())
        };
        let bounds = |of: fn(&(f64, f64)) -> f64| {
            let low = points().map(of).reduce(f64::min)?;
            Some((low, points().map(of).reduce(f64::max)?))
        };
        let (left, right) = bounds(|p| p.0)?;
        let (low, high) = bounds(|p| p.1)?;
        let air = (0.06 * (high - low))
            .max(high.abs().max(low.abs()) * 1e-3)
            .max(1e-12);
        let right = if right > left { right } else { left + 1.0 };
        if self.decades {
            return Some((left.floor()..right.ceil(), -0.2..high.ceil() + 0.05));
        }
        let bottom = if self.from_zero { 0.0 } else { low - air };
        Some((left..right, bottom..high + air))
    }

    /// Text at a tick of an axis, whose values may be powers of ten.
    fn label(&self, value: f64, span: f64, decades: bool) -> String {
        match (self.decades, decades) {
            (true, _) => power_of_ten(value),
            (false, true) => super::words::number(10_f64.powf(value)),
            (false, false) => tick_text(value, span),
        }
    }

    /// Space beyond the end of the x axis for half of its last number.
    fn overhang(&self, x: &std::ops::Range<f64>) -> i32 {
        let last = self.label(x.end, x.end - x.start, self.x_decades);
        i32::try_from(last.chars().count()).map_or(24, |count| (9 * count).max(24))
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        x: std::ops::Range<f64>,
        y: std::ops::Range<f64>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (low, high) = (y.start, y.end);
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(self.overhang(&x))
            .margin_top(30)
            .x_label_area_size(78)
            .y_label_area_size(124)
            .build_cartesian_2d(x.clone(), y.clone())?;
        for (start, end, word) in &self.shades {
            let (start, end) = (start.max(x.start), end.min(x.end));
            chart.draw_series([Rectangle::new(
                [(start, low), (end, high)],
                Ink::Shade.marker().filled(),
            )])?;
            let style = text(24, Ink::Text).pos(Pos::new(HPos::Center, VPos::Bottom));
            chart.draw_series([Text::new(word.clone(), ((start + end) / 2.0, high), style)])?;
        }
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(Ink::Grid.marker())
            .axis_style(Ink::Grid.marker().stroke_width(2))
            .label_style(text(28, Ink::Text))
            .axis_desc_style(text(28, Ink::Text))
            .x_labels(if self.decades { 6 } else { 11 })
            .y_labels(if self.decades { 5 } else { 6 })
            .x_label_formatter(&|v| self.label(*v, x.end - x.start, self.x_decades))
            .y_label_formatter(&|v| self.label(*v, y.end - y.start, self.y_decades))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .draw()?;
        for series in &self.series {
            let points = series.points.iter().copied();
            let points: Vec<_> = points.filter(|(x, y)| (x + y).is_finite()).collect();
            let colour = series.ink.marker();
            if series.shape == SeriesShape::Area {
                chart.draw_series([Polygon::new(points, colour.mix(0.28).filled())])?;
                continue;
            }
            let marks = points
                .iter()
                .filter(|_| series.shape == SeriesShape::Marked);
            chart.draw_series(marks.map(|&at| Circle::new(at, 6, colour.filled())))?;
            let style = colour.stroke_width(if series.shape == SeriesShape::Thin {
                2
            } else {
                3
            });
            if series.gap > 0 {
                let dashes = DashedLineSeries::new(points, 16, series.gap, style);
                chart.draw_series(dashes)?;
            } else {
                chart.draw_series(LineSeries::new(points, style))?;
            }
        }
        Ok(())
    }
}

fn text(size: u32, ink: Ink) -> TextStyle<'static> {
    // plotters writes 1/1.24 of the size it is given.
    ("sans-serif", f64::from(size) * 1.24)
        .into_font()
        .color(&ink.marker())
}

fn tick_text(value: f64, span: f64) -> String {
    let digits = (1.0 - span.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}").replace('-', "\u{2212}");
    match (digits, super::words::trimmed(&text)) {
        (1.., "\u{2212}0") => "0".to_owned(),
        (_, short) => short.to_owned(),
    }
}

fn power_of_ten(exponent: f64) -> String {
    if (exponent - exponent.round()).abs() > 1e-6 {
        return String::new();
    }
    match exponent.round() as i32 {
        e @ 0..=3 => format!("{}", 10_i64.pow(e as u32)),
        e => format!("1e{e}"),
    }
}

/// Replaces marker colours by classes, and the fixed size by the page's.
fn themed(svg: &str, label: &str) -> String {
    let mut text = svg.to_owned();
    for (ink, class) in Ink::NAMED {
        let RGBColor(r, g, b) = ink.marker();
        for what in ["fill", "stroke"] {
            let colour = format!("{what}=\"#{r:02X}{g:02X}{b:02X}\"");
            text = text.replace(&colour, &format!("class=\"{}-{class}\"", &what[..1]));
        }
    }
    let Some((head, body)) = text.split_once("viewBox") else {
        return text;
    };
    debug_assert!(head.starts_with("<svg"));
    format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox{body}",
        super::escape(label)
    )
    .replace(" xmlns=\"http://www.w3.org/2000/svg\"", "")
    .replace("font-family=\"sans-serif\" ", "")
    .replace(" opacity=\"1\"", "")
    .replace('\n', "")
}

/// Thins a trace to at most `columns` stretches of x, each by its least and its largest value, in their order, so that
/// no peak is lost. Points must be in order of x.
pub fn thin(points: &[(f64, f64)], columns: usize) -> Vec<(f64, f64)> {
    if points.len() <= 2 * columns.max(1) {
        return points.to_vec();
    }
    let size = points.len().div_ceil(columns.max(1));
    let mut thinned = Vec::with_capacity(2 * columns);
    for stretch in points.chunks(size) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (Some(&low), Some(&high)) = (stretch.iter().min_by(by), stretch.iter().max_by(by))
        else {
            continue;
        };
        let (first, second) = if low.0 <= high.0 {
            (low, high)
        } else {
            (high, low)
        };
        thinned.push(first);
        if second != first {
            thinned.push(second);
        }
    }
    thinned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_peak() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|k| (f64::from(k), 0.0)).collect();
        points[77_777].1 = 5.0;
        points[1_234].1 = -3.0;
        let thinned = thin(&points, 500);
        assert!(thinned.len() <= 1000);
        assert!(thinned.contains(&(77_777.0, 5.0)) && thinned.contains(&(1_234.0, -3.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn figures_have_no_fixed_colours() {
        let chart = Chart {
            x: "time [s]".to_owned(),
            y: "force [N]".to_owned(),
            height: 500,
            shades: vec![(0.2, 0.4, "1".to_owned())],
            series: vec![
                Series::line(
                    "a",
                    Ink::Master,
                    vec![(0.0, 0.0), (1.0, f64::NAN), (2.0, 1.0)],
                ),
                Series::line("b", Ink::Slave, vec![(0.0, 0.0), (1.0, 1.0), (0.5, 0.2)])
                    .shaped(SeriesShape::Area),
            ],
            ..Chart::default()
        };
        let figure = chart.figure("words");
        assert!(!figure.contains("=\"#"), "{figure}");
        assert!(figure.contains("class=\"s-master\"") && figure.contains("class=\"f-slave\""));
        assert!(Chart::default().figure("").contains("no records of this"));
    }

    #[test]
    fn tick_labels_are_short() {
        assert_eq!(tick_text(0.5, 2.0), "0.5");
        assert_eq!(tick_text(-0.0, 2.0), "0");
        assert_eq!(tick_text(12.0, 20.0), "12");
        assert_eq!(power_of_ten(2.0), "100");
        assert_eq!(power_of_ten(0.5), "");
    }
}
