//! The page of a study of which lumps can be felt.
//!
//! Source: ours. Maps over depth and contrast, one for each radius; lines over depth; what the mesh
//! has to do with it; all numbers.

use std::fmt::Write as _;

use palpate_analysis::report::plot::{Chart, Ink, Series};
use palpate_analysis::report::words::{number, with_unit};
use palpate_analysis::report::{escape, head, section};

use super::heat::{Heat, Scale, draw};
use crate::detect::{Case, Found, Study, TOLD, change_told};

/// Colours of radii, in their order.
const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];

/// The page, as HTML.
#[must_use]
pub fn render(study: &Study) -> String {
    let title = format!("Lumps in {}", study.scene);
    let (pressed_mm, tool_mm) = (1e3 * study.press_m, 1e3 * study.tool_radius_m);
    let lead = format!(
        "A ball of {} mm pressed {} mm into the tissue, with a lump and without it. A reading of the \
         force has an error of {}\u{a0}%. A d\u{2032} of 3.3 tells a lump from none in 95 of 100 single \
         readings; 0 is chance.",
        number(tool_mm),
        number(pressed_mm),
        number(100.0 * study.noise)
    );
    let doubtful = study.spread.as_ref().is_some_and(|spread| spread.doubtful);
    let class = if doubtful { "bad" } else { "good" };
    let mut body = head(&title, "model detect", "offline study", class, &lead);
    if let Some(spread) = &study.spread {
        let words = escape(&spread.to_string()).replace('-', "\u{2212}");
        body += &format!("<p class=\"note\">The cells: {words}.</p>");
    }
    body += "</header>\n";
    let change = Scale {
        unit: "%",
        told: change_told(study.noise).map(|change| 100.0 * change),
    };
    let percent = |found: &Found| 100.0 * found.force_change;
    body += &map_section(study, "change", "Change of the force", &change, percent);
    let index = Scale {
        unit: "",
        told: Some(TOLD),
    };
    let name = "Detectability d\u{2032}";
    body += &map_section(study, "index", name, &index, |found| found.d_prime);
    body += &section("depth", "Over depth", &over_depth(study));
    body += &section("mesh", "What the mesh has to do with it", &meshes(study));
    body += &section("numbers", "All numbers", &numbers(study));
    body + "</main></body></html>\n"
}

/// Values of a part of the cases without repetition, in order of first appearance.
fn distinct(study: &Study, of: impl Fn(&Case) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for value in study.cases.iter().map(of) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

fn map_section(
    study: &Study,
    id: &str,
    name: &str,
    scale: &Scale<'_>,
    of: impl Fn(&Found) -> f64,
) -> String {
    let depths = distinct(study, |case| case.depth_m);
    let contrasts = distinct(study, |case| case.contrast);
    let map = |radius_m: f64| {
        let there = study.cases.iter().filter(|case| case.radius_m == radius_m);
        Heat {
            name: format!("radius {} mm", number(1e3 * radius_m)),
            across: "times as stiff".to_owned(),
            columns: contrasts.iter().map(|&c| number(c)).collect(),
            rows: depths
                .iter()
                .map(|&d| format!("{} mm", number(1e3 * d)))
                .collect(),
            values: there.map(|case| case.found.as_ref().map(&of)).collect(),
        }
    };
    let radii = distinct(study, |case| case.radius_m);
    let maps: Vec<Heat> = radii.into_iter().map(map).collect();
    let unknown = "<p class=\"none\">No press was made.</p>".to_owned();
    let told = scale.told.map_or(String::new(), |told| {
        format!(
            " Frame and mark: from {}, a d\u{2032} of 3.3, a lump is told in 95 of 100 readings; \
             colours are even up to there and logarithmic beyond.",
            with_unit(Some(told), scale.unit)
        )
    });
    let marks = if study.cases.iter().any(|case| case.found.is_none()) {
        " The table below says why a question mark is one."
    } else {
        ""
    };
    let caption = format!(
        "<p class=\"caption\">Rows: depth of the lump\u{2019}s centre below the surface. All maps share \
         one scale.{told}{marks}</p>"
    );
    section(
        id,
        name,
        &(draw(&maps, scale).unwrap_or(unknown) + &caption),
    )
}

/// Lines over depth, one for each radius, at the middle contrast.
fn over_depth(study: &Study) -> String {
    let contrasts = distinct(study, |case| case.contrast);
    let Some(&contrast) = contrasts.get(contrasts.len() / 2) else {
        return String::new();
    };
    let line = |(index, radius_m): (usize, f64)| {
        let there = |case: &&Case| case.radius_m == radius_m && case.contrast == contrast;
        let mut points: Vec<(f64, f64)> = study
            .cases
            .iter()
            .filter(there)
            .filter_map(|case| Some((1e3 * case.depth_m, 100.0 * case.found?.force_change)))
            .collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let name = format!("radius {} mm", number(1e3 * radius_m));
        Series::line(&name, INKS[index % INKS.len()], points)
    };
    let radii = distinct(study, |case| case.radius_m);
    let chart = Chart {
        x: "depth of the lump [mm]".to_owned(),
        y: "change of force [%]".to_owned(),
        height: 620,
        series: radii.into_iter().enumerate().map(line).collect(),
        from_zero: true,
        ..Chart::default()
    };
    let words = format!(
        "A lump {} times as stiff as what is around it.",
        number(contrast)
    );
    chart.figure(&words)
}

fn meshes(study: &Study) -> String {
    let mut shifts: Vec<f64> = study.meshes.iter().map(|m| m.shift_cells).collect();
    shifts.dedup();
    let mut rules: Vec<&str> = study.meshes.iter().map(|m| m.mixing.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let head: String = shifts
        .iter()
        .map(|shift| format!("<th class=\"n\">{} cells</th>", number(*shift)))
        .collect();
    let mut rows = String::new();
    for rule in rules {
        let _ = write!(rows, "<tr><td>{}</td>", escape(rule));
        for mesh in study.meshes.iter().filter(|mesh| mesh.mixing == rule) {
            let _ = write!(rows, "<td class=\"n\">{}</td>", signed(mesh.force_change));
        }
        rows += "</tr>";
    }
    format!(
        "<div class=\"wide\"><table><thead><tr><th>moduli mixed by</th>{head}</tr></thead><tbody>{rows}\
         </tbody></table></div><p class=\"caption\">Change of the force over the scene\u{2019}s own lump, \
         by the rule for cells that the lump shares with what is around it, with lump and tool shifted \
         against the finest cells. Columns that differ show what the alignment of the mesh does; rows, \
         what the rule does.</p>"
    )
}

/// A share in percent with its sign.
fn signed(share: Option<f64>) -> String {
    share.map_or("not known".to_owned(), |share| {
        format!("{:+.1} %", 100.0 * share).replace('-', "\u{2212}")
    })
}

fn numbers(study: &Study) -> String {
    let mut rows = String::new();
    for case in &study.cases {
        let mut cells = vec![
            number(1e3 * case.depth_m),
            number(1e3 * case.radius_m),
            number(case.contrast),
        ];
        match &case.found {
            None => {
                let why = case.unknown.map_or(String::new(), |why| why.to_string());
                cells.push(why);
                cells.extend(std::iter::repeat_n(String::new(), 4));
            }
            Some(found) => cells.extend([
                number(found.over_n),
                signed(Some(found.force_change)),
                signed(Some(found.stiffness_contrast)),
                number(found.d_prime),
                // nobody is always right
                match 100.0 * found.right {
                    sure if sure > 99.9 => "&gt; 99.9 %".to_owned(),
                    share => format!("{share:.1} %"),
                },
            ]),
        }
        let cells = cells
            .iter()
            .map(|cell| format!("<td class=\"n\">{cell}</td>"));
        let _ = write!(rows, "<tr>{}</tr>", cells.collect::<String>());
    }
    let names = [
        "depth [mm]",
        "radius [mm]",
        "contrast",
        "over [N]",
        "change of force",
        "stiffness contrast",
        "d\u{2032}",
        "right",
    ];
    let head = names
        .map(|name| format!("<th class=\"n\">{name}</th>"))
        .concat();
    format!(
        "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"caption\">Without the lump: {}, {}.</p>",
        with_unit(study.plain_n, "N"),
        with_unit(study.plain_npm, "N/m")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::{MeshCase, Spread, Unknown};

    fn study() -> Study {
        let found = |change: f64| Found {
            over_n: 0.2 * (1.0 + change),
            force_change: change,
            over_npm: 60.0,
            stiffness_contrast: 0.2,
            d_prime: change / 0.02,
            right: 0.9,
        };
        let case = |depth_m: f64, contrast, found| Case {
            depth_m,
            radius_m: 0.005,
            contrast,
            found,
            unknown: found.is_none().then_some(Unknown::FellIn),
        };
        Study {
            scene: "a<b".to_owned(),
            press_m: 0.005,
            tool_radius_m: 0.005,
            noise: 0.02,
            plain_n: Some(0.2),
            plain_npm: Some(50.0),
            cases: vec![
                case(0.004, 10.0, None),
                case(0.01, 10.0, Some(found(0.2))),
                case(0.02, 10.0, Some(found(-0.01))),
            ],
            meshes: vec![MeshCase {
                mixing: "voigt".to_owned(),
                shift_cells: 0.0,
                force_change: Some(0.26),
            }],
            spread: Some(Spread {
                least_by: "reuss".to_owned(),
                least: 0.02,
                least_d_prime: 1.0,
                most_by: "voigt".to_owned(),
                most: 0.26,
                most_d_prime: 11.0,
                doubtful: true,
            }),
        }
    }

    #[test]
    fn a_page_is_whole_and_asks_nobody() {
        let html = render(&study());
        for word in ["http", "src=", "url(", "<script", "@import", "href=", "NaN"] {
            assert!(!html.contains(word), "{word}");
        }
        for word in [
            "a&lt;b",
            "+26.0 %",
            "\u{2212}1.0 %",
            "radius 5 mm",
            ">?<",
            "fell in",
            "id=\"mesh\"",
            "the rule decides as much as the lump",
            "lead bad",
            "from 6.81 %",
        ] {
            assert!(html.contains(word), "{word}");
        }
        for tag in ["figure", "svg", "section", "table", "div", "tr"] {
            let opened = html.matches(&format!("<{tag}>")).count();
            let opened = opened + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn a_study_of_nothing_still_reads() {
        let mut nothing = study();
        nothing.cases.iter_mut().for_each(|case| case.found = None);
        nothing.plain_n = None;
        assert!(render(&nothing).contains("No press was made"));
    }
}
