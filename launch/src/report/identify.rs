//! The page of `palpate identify`: what a record told of its tissue, and what it could not.
//!
//! Source: ours.

use palpate_calib::touch::{Bin, Direction, Estimate, Identified, Part};

use super::plot::{COLUMNS, Chart, Ink, Series, Shape, thin};
use super::{escape, head, section, words};
use crate::summary::Check;

/// All that the page is made of.
#[derive(Debug, Clone, Copy)]
pub struct IdentifyInput<'a> {
    /// The scene that the fit began with.
    pub twin: &'a str,
    /// What was found.
    pub found: &'a Identified,
    /// What the command states about itself.
    pub checks: &'a [Check],
    /// The scene that was found, as TOML.
    pub tissue: &'a str,
}

/// The page, as HTML.
#[must_use]
pub fn render(input: &IdentifyInput<'_>) -> String {
    let found = input.found;
    let held = input.checks.iter().all(|check| check.held);
    let class = if held { "good" } else { "bad" };
    let title = format!("{} from touch", input.twin);
    let mut html = head(
        (&title, "identify", "parameters from touch"),
        class,
        &opening(found),
    );
    html += "</header>\n";
    html += &section("parameters", "Stiffness", &parameters(found));
    html += &section(
        "force",
        "Force, before and after",
        &(over_time(found) + &over_depth(found)),
    );
    html += &section("directions", "What the record tells", &directions(found));
    html += &section(
        "correlation",
        "Correlation of the errors",
        &correlation(found),
    );
    html += &section("checks", "Checks", &words::checks(input.checks));
    html += &format!(
        "<section id=\"tissue\"><details><summary>tissue.toml</summary><pre>{}</pre></details>\
         </section>\n",
        escape(input.tissue)
    );
    html + "</main></body></html>\n"
}

fn opening(found: &Identified) -> String {
    let [before_n, after_n] = found.misfit_n;
    let blind = found.directions.iter().filter(|direction| !direction.told);
    let blind: Vec<String> = blind.map(|direction| escape(&direction.words)).collect();
    let tells = if blind.is_empty() {
        "The record says more than the prior about every direction.".to_owned()
    } else {
        format!("The record cannot tell: {}.", blind.join("; "))
    };
    format!(
        "The misfit of the force fell from {before_n:.3} N to {after_n:.3} N, {:.1} times what \
         noise explains. {tells}",
        found.excess
    )
}

fn row(name: &str, cells: &[String]) -> String {
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td class=\"n\">{cell}</td>"))
        .collect();
    format!("<tr><td>{}</td>{cells}</tr>\n", escape(name))
}

fn table(first: &str, columns: &[&str], rows: &str) -> String {
    let head: String = columns
        .iter()
        .map(|name| format!("<th class=\"n\">{}</th>", escape(name)))
        .collect();
    format!(
        "<div class=\"wide\"><table><thead><tr><th>{first}</th>{head}</tr></thead>\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

fn parameters(found: &Identified) -> String {
    let value = |part: Part, value: f64| match part {
        Part::Layer(_) => format!("{:.2} kPa", value * 1e-3),
        Part::Contrast(_) => format!("{value:.2}"),
    };
    let one = |estimate: &Estimate| {
        let (low, high) = ((-estimate.log_sd).exp(), estimate.log_sd.exp());
        let mesh = estimate
            .mesh_log
            .map(|log| format!("{:+.0} %", 100.0 * (log.exp() - 1.0)));
        let cells = [
            value(estimate.part, estimate.before),
            value(estimate.part, estimate.after),
            value(estimate.part, estimate.after * low),
            value(estimate.part, estimate.after * high),
            format!("{:.0} %", 100.0 * estimate.told),
            mesh.unwrap_or("\u{2014}".to_owned()),
        ];
        row(&estimate.name, &cells)
    };
    let rows: String = found.estimates.iter().map(one).collect();
    let names = [
        "before",
        "found",
        "one deviation less",
        "one more",
        "told",
        "on a finer mesh",
    ];
    let mut html = table("layer or lump", &names, &rows);
    html += &format!(
        "<p class=\"caption\">A contrast is the lump's Young's modulus over that of the layer around \
         it. The prior is normal in the logarithm around the scene's value, with a standard deviation \
         of {:.2}, a factor of {:.2}; told is the share of its variance that the record took away. \
         Stiffnesses are those of this mesh: the last column is by how much they would change on one \
         of cells three quarters as long, to first order. Fitted beside: a factor on the force of \
         {:.3} \u{b1} {:.3}, and a height of {:.0} \u{b1} {:.0} \u{b5}m.</p>\n",
        found.prior_log,
        found.prior_log.exp(),
        found.gain[0],
        found.gain[1],
        found.height_m[0] * 1e6,
        found.height_m[1] * 1e6,
    );
    html
}

fn series(found: &Identified, along: fn(&Bin) -> f64) -> Vec<Series> {
    let points = |value: fn(&Bin) -> f64| {
        let all: Vec<_> = found
            .bins
            .iter()
            .map(|bin| (along(bin), value(bin)))
            .collect();
        thin(&all, COLUMNS)
    };
    vec![
        Series::line("measured", Ink::Truth, points(|bin| bin.measured_n)),
        Series::line(
            "the scene as it was",
            Ink::Slave,
            points(|bin| bin.before_n),
        )
        .shaped(Shape::Thin),
        Series::line("as it was found", Ink::Master, points(|bin| bin.after_n)),
    ]
}

fn over_time(found: &Identified) -> String {
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: "upward force [N]".to_owned(),
        height: 620,
        series: series(found, |bin| bin.time_s),
        ..Chart::default()
    };
    chart.figure("Means over 20 ms. The tissue was touched as the recording says, once as the scene was given and once as it was found.")
}

fn over_depth(found: &Identified) -> String {
    let chart = Chart {
        x: "depth of the tool's lowest point under the surface at rest [mm]".to_owned(),
        y: "upward force [N]".to_owned(),
        height: 620,
        series: series(found, |bin| -bin.height_m * 1e3),
        ..Chart::default()
    };
    chart.figure("The same over depth.")
}

fn directions(found: &Identified) -> String {
    let one = |direction: &Direction| {
        let cells = [
            format!("{:.1}", direction.singular),
            format!("{:.1} %", 100.0 * (direction.log_sd.exp() - 1.0)),
            if direction.told {
                "the record"
            } else {
                "the prior"
            }
            .to_owned(),
        ];
        row(&direction.words, &cells)
    };
    let rows: String = found.directions.iter().map(one).collect();
    let html = table(
        "direction",
        &["singular value", "sure within", "said by"],
        &rows,
    );
    html + "<p class=\"caption\">Directions in the logarithms of the parameters, best told first, \
            once gain and height are integrated out. The singular value is one over the standard \
            deviation that the record alone gives; a direction that the prior says stayed where it \
            was.</p>\n"
}

fn correlation(found: &Identified) -> String {
    let names: Vec<&str> = found
        .estimates
        .iter()
        .map(|estimate| estimate.name.as_str())
        .collect();
    let rows: String = names
        .iter()
        .zip(&found.correlation)
        .map(|(name, values)| {
            let cells: Vec<String> = values.iter().map(|value| format!("{value:+.2}")).collect();
            row(name, &cells)
        })
        .collect();
    table("", &names, &rows)
}
