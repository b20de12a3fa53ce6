//! Page of `palpate identify`: identified parameters of a tissue, and those that stay unknown.
//!
//! Source: ours.

use palpate_calib::touch::{ForceBin, Identification, ParameterDirection, ParameterEstimate};

use super::plot::{COLUMNS, Chart, Ink, Series, SeriesShape, thin};
use super::{escape, head, section, table};
use crate::summary::Check;

/// Renders the page of an identification as HTML. `twin` names the initial scene; `found` is the result; `checks` are
/// those of the command; `tissue` is the identified scene as TOML.
#[must_use]
pub fn render(twin: &str, found: &Identification, checks: &[Check], tissue: &str) -> String {
    let passed = checks.iter().all(|check| check.held);
    let class = if passed { "good" } else { "bad" };
    let title = format!("{twin} from touch");
    let lead = opening(found);
    let mut html = head(&title, "identify", "parameters from touch", class, &lead);
    html += "</header>\n";
    html += &section("parameters", "Stiffness", &parameters(found));
    let forces = over_time_and_depth(found);
    html += &section("force", "Force, before and after", &forces);
    html += &section("directions", "Identifiable directions", &directions(found));
    let errors = correlation(found);
    html += &section("correlation", "Correlation of the errors", &errors);
    html += &section("checks", "Checks", &super::words::checks(checks));
    html += &format!(
        "<section id=\"tissue\"><details><summary>tissue.toml</summary><pre>{}</pre></details>\
         </section>\n",
        escape(tissue)
    );
    html + "</main></body></html>\n"
}

fn opening(found: &Identification) -> String {
    let [before_n, after_n] = found.misfit_n;
    let uninformed = words::uninformed(found);
    let uninformed = uninformed.map(|direction| escape(&direction.description));
    let uninformed: Vec<String> = uninformed.collect();
    let informed = match uninformed.is_empty() {
        true => "The record is more informative than the prior in every direction.".to_owned(),
        false => format!(
            "Not identifiable from the record: {}.",
            uninformed.join("; ")
        ),
    };
    let searches = found.searches.iter().map(words::search);
    let lumps = searches.map(|text| format!("{}. ", escape(&text)));
    let lumps: String = lumps.collect();
    format!(
        "{lumps}The misfit of the force fell from {before_n:.3} N to {after_n:.3} N, {:.1} times \
         what noise explains. {informed}",
        found.excess
    )
}

fn parameters(found: &Identification) -> String {
    let one = |estimate: &ParameterEstimate| {
        let part = estimate.parameter;
        let dash = || "\u{2014}".to_owned();
        let [low, high] = words::around(estimate);
        let mesh = |shift: f64| match part.is_place() {
            true => format!("{:+.1} mm", 1e3 * shift),
            false => format!("{:+.0} %", 100.0 * (shift.exp() - 1.0)),
        };
        let before = estimate.before.map(|value| words::value(part, value));
        vec![
            escape(&estimate.name),
            before.unwrap_or_else(dash),
            words::value(part, estimate.after),
            words::value(part, low),
            words::value(part, high),
            format!("{:.0} %", 100.0 * estimate.information),
            estimate.mesh_shift.map_or_else(dash, mesh),
        ]
    };
    let head = [
        "layer or lump",
        "#before",
        "#found",
        "#one deviation less",
        "#one more",
        "#identified",
        "#on a finer mesh",
    ];
    let html = table(&head, found.estimates.iter().map(one));
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
         scene's value, with a standard deviation of {:.2}, a factor of {:.2}. The prior of a lump that the \
         scene lacks is a contrast of 10, within a factor of 3, a centre one tool radius deep and half \
         a tool radius of size, both within a factor of 1.5, near the excess of force. Identified is \
         the removed share of a prior's variance. Stiffnesses are those of this mesh: the last \
         column is their change, to first order, on a mesh of cells three quarters as long; the \
         deviation includes it. Fitted beside: {}.</p>\n",
        found.prior_log,
        found.prior_log.exp(),
        beside.join("; ")
    )
}

/// Chart of forces over time or depth.
fn forces(found: &Identification, x: &str, along: fn(&ForceBin) -> f64) -> Chart {
    let points = |value: fn(&ForceBin) -> f64| {
        let all = found.bins.iter().map(|bin| (along(bin), value(bin)));
        thin(&all.collect::<Vec<_>>(), COLUMNS)
    };
    let [measured, before, after] = [
        points(|bin| bin.measured_n),
        points(|bin| bin.before_n),
        points(|bin| bin.after_n),
    ];
    let series = vec![
        Series::line("measured", Ink::Truth, measured),
        Series::line("initial scene", Ink::Slave, before).shaped(SeriesShape::Thin),
        Series::line("identified scene", Ink::Master, after),
    ];
    Chart::new(x, "upward force [N]", 620, series)
}

fn over_time_and_depth(found: &Identification) -> String {
    let time = forces(found, "time [s]", |bin| bin.time_s);
    let depth = "depth of the tool's lowest point under the surface at rest [mm]";
    let depth = forces(found, depth, |bin| -bin.height_m * 1e3);
    time.figure("Means over 20 ms of the touches that the fit used. The motion of the recording touched the tissue twice, once of the initial scene and once of the identified one.")
        + &depth.figure("The same over depth.")
}

fn directions(found: &Identification) -> String {
    let one = |direction: &ParameterDirection| {
        let by = match direction.is_informed {
            true => "the record",
            false => "the prior",
        };
        vec![
            escape(&direction.description),
            format!("{:.1}", direction.singular),
            format!("{:.0} %", 100.0 * direction.prior_share),
            by.to_owned(),
        ]
    };
    let head = [
        "direction",
        "#singular value",
        "#prior left",
        "#determined by",
    ];
    let html = table(&head, found.directions.iter().map(one));
    html + "<p class=\"caption\">Directions in the parameters, each over the standard deviation of its \
        prior, best identified first, with the effects of the instrument integrated out. The singular \
        value is the prior's standard deviation over that of the record alone; prior left \
        is the share of the prior's deviation that remains with both. A direction that the prior determines \
        kept its initial value.</p>\n"
}

fn correlation(found: &Identification) -> String {
    let names = found.estimates.iter().map(|estimate| &estimate.name);
    let head: Vec<String> = names.clone().map(|name| format!("#{name}")).collect();
    let head: Vec<&str> = [""]
        .into_iter()
        .chain(head.iter().map(|name| &**name))
        .collect();
    let row = |(name, values): (&String, &Vec<f64>)| {
        let values = values.iter().map(|value| format!("{value:+.2}"));
        [escape(name)].into_iter().chain(values).collect()
    };
    table(&head, names.zip(&found.correlation).map(row))
}

/// Words and numbers that the page and the terminal share.
pub(crate) mod words {
    use palpate_calib::touch::{
        Identification, LumpSearch, ParameterDirection, ParameterEstimate, SceneParameter,
    };

    /// Directions that the record does not determine.
    pub(crate) fn uninformed(found: &Identification) -> impl Iterator<Item = &ParameterDirection> {
        let all = found.directions.iter();
        all.filter(|direction| !direction.is_informed)
    }

    /// Unit of a value, and of its standard deviation.
    pub(crate) fn units(part: SceneParameter) -> (&'static str, &'static str) {
        match part {
            SceneParameter::Layer(_) => ("Pa", "ln"),
            SceneParameter::Contrast(_) => ("1", "ln"),
            SceneParameter::Depth(_) | SceneParameter::Radius(_) => ("m", "ln"),
            SceneParameter::Place(..) => ("m", "m"),
        }
    }

    /// Formats a value with a readable unit.
    pub(crate) fn value(part: SceneParameter, value: f64) -> String {
        match units(part).0 {
            "Pa" => format!("{:.2} kPa", value * 1e-3),
            "m" => format!("{:.1} mm", value * 1e3),
            _ => format!("{value:.1}"),
        }
    }

    /// Returns the value less and plus one standard deviation.
    pub(crate) fn around(estimate: &ParameterEstimate) -> [f64; 2] {
        [-estimate.sd, estimate.sd].map(|sd| match estimate.parameter.is_place() {
            true => estimate.after + sd,
            false => estimate.after * sd.exp(),
        })
    }

    /// Uncertainty of the value.
    pub(crate) fn within(estimate: &ParameterEstimate) -> String {
        match estimate.parameter.is_place() {
            true => format!("within {:.1} mm", 1e3 * estimate.sd),
            false => format!("within a factor of {:.2}", estimate.sd.exp()),
        }
    }

    /// Result of a search for a lump.
    pub(crate) fn search(search: &LumpSearch) -> String {
        let [x_mm, y_mm] = search.place_m.map(|m| 1e3 * m);
        let found = match search.accepted {
            true => "a lump explains that",
            false => "a lump does not explain that, and none was added",
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
