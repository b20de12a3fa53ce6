//! The page of `palpate identify`: what a record told of its tissue, and what it could not.
//!
//! Source: ours.

use palpate_calib::touch::{Bin, Direction, Estimate, Identified};

use super::plot::{COLUMNS, Chart, Ink, Series, Shape, thin};
use super::words::checks;
use super::{escape, head, section};
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
        &title,
        "identify",
        "parameters from touch",
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
    html += &section("checks", "Checks", &checks(input.checks));
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
    let searches = found.searches.iter().map(words::search);
    let lumps: String = searches
        .map(|said| format!("{}. ", escape(&said)))
        .collect();
    format!(
        "{lumps}The misfit of the force fell from {before_n:.3} N to {after_n:.3} N, {:.1} times \
         what noise explains. {tells}",
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
    let one = |estimate: &Estimate| {
        let part = estimate.part;
        let dash = || "\u{2014}".to_owned();
        let [low, high] = words::around(estimate);
        let mesh = |shift: f64| {
            if part.is_place() {
                format!("{:+.1} mm", 1e3 * shift)
            } else {
                format!("{:+.0} %", 100.0 * (shift.exp() - 1.0))
            }
        };
        let before = estimate.before.map(|value| words::value(part, value));
        let cells = [
            before.unwrap_or_else(dash),
            words::value(part, estimate.after),
            words::value(part, low),
            words::value(part, high),
            format!("{:.0} %", 100.0 * estimate.told),
            estimate.mesh.map_or_else(dash, mesh),
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
    let html = table("layer or lump", &names, &rows);
    let parts = [
        ("a factor on the force of", found.gain, 1.0, "", 3),
        ("a height of", found.height_m, 1e6, " \u{b5}m", 0),
        ("a lag of the force of", found.lag_s, 1e3, " ms", 2),
        ("a mass of", found.mass_kg, 1e3, " g", 1),
        ("a drag of", found.drag_nspm, 1.0, " N s/m", 2),
    ];
    let beside = parts.map(|(name, [value, sd], scale, unit, digits)| {
        let (value, sd) = (value * scale, sd * scale);
        format!("{name} {value:.digits$} \u{b1} {sd:.digits$}{unit}")
    });
    html + &format!(
        "<p class=\"caption\">A contrast is the lump's Young's modulus over that of the layer around \
         it; depth is that of its centre. The prior of a modulus is normal in the logarithm around the \
         scene's value, with a standard deviation of {:.2}, a factor of {:.2}; that of a lump which the \
         scene lacks is a contrast of 10, within a factor of 3, a centre one tool radius deep and half \
         a tool radius of size, both within a factor of 1.5, near where the excess of force is. Told is \
         the share of a prior's variance that is gone. Stiffnesses are those of this mesh: the last \
         column is by how much they would change on one of cells three quarters as long, to first \
         order, and the deviation has that in it. Fitted beside: {}.</p>\n",
        found.prior_log,
        found.prior_log.exp(),
        beside.join("; ")
    )
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
    chart.figure("Means over 20 ms of the touches that the fit used. The tissue was touched as the recording says, once as the scene was given and once as it was found.")
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
            format!("{:.0} %", 100.0 * direction.left),
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
        &["singular value", "doubt left", "said by"],
        &rows,
    );
    html + "<p class=\"caption\">Directions in the parameters, each over the standard deviation of its \
            prior, best told first, once what the instrument does is integrated out. The singular \
            value is the prior's standard deviation over that which the record alone gives; doubt left \
            is the share of the prior's that remains with both. A direction that the prior says stayed \
            where it was.</p>\n"
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

/// Words and numbers that the page and the terminal share.
pub mod words {
    use palpate_calib::touch::{Estimate, Part, Search};

    /// A value with its unit.
    #[must_use]
    pub fn value(part: Part, value: f64) -> String {
        match part {
            Part::Layer(_) => format!("{:.2} kPa", value * 1e-3),
            Part::Contrast(_) => format!("{value:.1}"),
            Part::Depth(_) | Part::Radius(_) | Part::Place(..) => {
                format!("{:.1} mm", value * 1e3)
            }
        }
    }

    /// One standard deviation less and one more.
    #[must_use]
    pub fn around(estimate: &Estimate) -> [f64; 2] {
        [-estimate.sd, estimate.sd].map(|sd| {
            if estimate.part.is_place() {
                estimate.after + sd
            } else {
                estimate.after * sd.exp()
            }
        })
    }

    /// How sure it is.
    #[must_use]
    pub fn within(estimate: &Estimate) -> String {
        if estimate.part.is_place() {
            format!("within {:.1} mm", 1e3 * estimate.sd)
        } else {
            format!("within a factor of {:.2}", estimate.sd.exp())
        }
    }

    /// What came of looking for a lump.
    #[must_use]
    pub fn search(search: &Search) -> String {
        let [x_mm, y_mm] = search.place_m.map(|m| 1e3 * m);
        let found = if search.accepted {
            "a lump explains that"
        } else {
            "a lump does not explain that, and none was added"
        };
        format!(
            "{} of {} touches are stiffer than the rest, by up to {:.0} % around {x_mm:.0}, {y_mm:.0} mm; \
             {found} (evidence {:.0}, which is above 0 for a lump)",
            search.stiffer,
            search.touches,
            100.0 * (search.ratio - 1.0),
            search.evidence
        )
    }
}
