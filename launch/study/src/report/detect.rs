//! Page of a detectability study of lumps.
//!
//! Source: ours. Maps over depth and contrast, one for each radius; lines over depth; the effect of the mesh;
//! all numbers.

use palpate_analysis::report::plot::{Chart, Series};
use palpate_analysis::report::words::{number, with_unit};
use palpate_analysis::report::{escape, head, section};

use super::heat_map::{HeatMap, Scale, draw};
use super::{INKS, table};
use crate::detect::{D_PRIME_DETECTED, DetectStudy, LumpCase, LumpDetection, detectable_change};

/// Renders the page as HTML.
#[must_use]
pub fn render(study: &DetectStudy) -> String {
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
        threshold: detectable_change(study.noise).map(|change| 100.0 * change),
    };
    let percent = |found: &LumpDetection| 100.0 * found.force_change;
    body += &map_section(study, "change", "Change of the force", &change, percent);
    let index = Scale {
        unit: "",
        threshold: Some(D_PRIME_DETECTED),
    };
    let name = "Detectability d\u{2032}";
    body += &map_section(study, "index", name, &index, |found| found.d_prime);
    body += &section("depth", "Over depth", &over_depth(study));
    body += &section("mesh", "Effect of the mesh", &meshes(study));
    body += &section("numbers", "All numbers", &numbers(study));
    body + "</main></body></html>\n"
}

/// Distinct values of a quantity of the cases, in order of first appearance.
fn distinct(study: &DetectStudy, of: impl Fn(&LumpCase) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for value in study.cases.iter().map(of) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

fn map_section(
    study: &DetectStudy,
    id: &str,
    name: &str,
    scale: &Scale<'_>,
    of: impl Fn(&LumpDetection) -> f64,
) -> String {
    let depths = distinct(study, |case| case.depth_m);
    let contrasts = distinct(study, |case| case.contrast);
    let map = |radius_m: f64| {
        let there = study.cases.iter().filter(|case| case.radius_m == radius_m);
        HeatMap {
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
    let maps: Vec<HeatMap> = radii.into_iter().map(map).collect();
    let unknown = "<p class=\"none\">No press was made.</p>".to_owned();
    let threshold_text = scale.threshold.map_or(String::new(), |threshold| {
        format!(
            " Frame and mark: from {}, a d\u{2032} of 3.3, a lump is told in 95 of 100 readings; \
             colours are even up to there and logarithmic beyond.",
            with_unit(Some(threshold), scale.unit)
        )
    });
    let marks = if study.cases.iter().any(|case| case.found.is_none()) {
        " The table below says why a question mark is one."
    } else {
        ""
    };
    let caption = format!(
        "<p class=\"caption\">Rows: depth of the lump\u{2019}s centre below the surface. All maps share \
         one scale.{threshold_text}{marks}</p>"
    );
    section(
        id,
        name,
        &(draw(&maps, scale).unwrap_or(unknown) + &caption),
    )
}

/// Draws lines over depth, one for each radius, at the middle contrast.
fn over_depth(study: &DetectStudy) -> String {
    let contrasts = distinct(study, |case| case.contrast);
    let Some(&contrast) = contrasts.get(contrasts.len() / 2) else {
        return String::new();
    };
    let line = |(index, radius_m): (usize, f64)| {
        let there = |case: &&LumpCase| case.radius_m == radius_m && case.contrast == contrast;
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

fn meshes(study: &DetectStudy) -> String {
    let mut shifts: Vec<f64> = study.meshes.iter().map(|m| m.shift_cells).collect();
    shifts.dedup();
    let mut rules: Vec<&str> = study.meshes.iter().map(|m| m.mixing.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let head = shifts.iter();
    let head = head.map(|shift| format!("{} cells", number(*shift)));
    let head: Vec<String> = std::iter::once("moduli mixed by".to_owned())
        .chain(head)
        .collect();
    let rows = rules.into_iter().map(|rule| {
        let own = study.meshes.iter().filter(|mesh| mesh.mixing == rule);
        let changes = own.map(|mesh| signed(mesh.force_change));
        std::iter::once(escape(rule)).chain(changes).collect()
    });
    table(&head, 1.., rows)
        + "<p class=\"caption\">Change of the force over the scene\u{2019}s own lump, by the rule for cells that the lump \
           shares with what is around it, with lump and tool shifted against the finest cells. Columns that differ show \
           what the alignment of the mesh does; rows, what the rule does.</p>"
}

/// Formats a share in percent with its sign.
fn signed(share: Option<f64>) -> String {
    share.map_or("not known".to_owned(), |share| {
        format!("{:+.1} %", 100.0 * share).replace('-', "\u{2212}")
    })
}

fn numbers(study: &DetectStudy) -> String {
    let rows = study.cases.iter().map(|case| {
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
                // no observer is always right
                match 100.0 * found.right {
                    high if high > 99.9 => "&gt; 99.9 %".to_owned(),
                    share => format!("{share:.1} %"),
                },
            ]),
        }
        cells
    });
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
    format!(
        "{}<p class=\"caption\">Without the lump: {}, {}.</p>",
        table(&names, .., rows),
        with_unit(study.plain_n, "N"),
        with_unit(study.plain_npm, "N/m")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::{MeshCase, MixingSpread, UnknownReason};

    fn study() -> DetectStudy {
        let found = |change: f64| LumpDetection {
            over_n: 0.2 * (1.0 + change),
            force_change: change,
            over_npm: 60.0,
            stiffness_contrast: 0.2,
            d_prime: change / 0.02,
            right: 0.9,
        };
        let case = |depth_m: f64, contrast, found| LumpCase {
            depth_m,
            radius_m: 0.005,
            contrast,
            found,
            unknown: found.is_none().then_some(UnknownReason::FellIn),
        };
        DetectStudy {
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
            spread: Some(MixingSpread {
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
    fn page_is_complete_and_self_contained() {
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
    fn page_without_presses_is_readable() {
        let mut nothing = study();
        nothing.cases.iter_mut().for_each(|case| case.found = None);
        nothing.plain_n = None;
        assert!(render(&nothing).contains("No press was made"));
    }
}
