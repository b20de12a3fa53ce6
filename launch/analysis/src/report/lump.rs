//! The section of a report that says whether the lump could be told, site by site.
//!
//! Source: ours; the index d' is that of [`crate::metrics::lump`].

use std::fmt::Write as _;

use super::words::{number, with_unit};
use crate::metrics::{LocalStiffness, lump};
use crate::summary::ContactSummary;

/// Table and words; nothing without sites.
pub(super) fn body(contact: &ContactSummary) -> Option<String> {
    if contact.sites.is_empty() {
        return None;
    }
    let mut rows = String::new();
    for site in &contact.sites {
        let [x_mm, y_mm] = site.place_m.map(|m| number(m * 1e3));
        let over = if site.over_lump { "over the lump" } else { "" };
        let _ = write!(
            rows,
            "<tr><td>{}</td><td class=\"n\">{x_mm}, {y_mm} mm</td><td>{over}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            site.phase,
            felt(site),
            with_unit(site.true_npm, "N/m")
        );
    }
    Some(format!(
        "<p>{}</p><div class=\"wide\"><table><thead><tr><th>site</th><th class=\"n\">place</th><th></th>\
         <th class=\"n\">stiffness felt</th><th class=\"n\">in the tissue</th></tr></thead><tbody>{rows}\
         </tbody></table></div><p class=\"caption\">Behind \u{b1} stands the standard error of the slope \
         of one press. d\u{2032} is the difference between sites over the lump and beside it, over the \
         spread of a single site; in the tissue the spread is that of the sites alone.</p>",
        words(contact)
    ))
}

fn felt(site: &LocalStiffness) -> String {
    match (site.displayed_npm, site.displayed_error_npm) {
        (Some(npm), Some(error)) => format!("{} \u{b1} {} N/m", number(npm), number(error)),
        (felt, _) => with_unit(felt, "N/m"),
    }
}

fn words(contact: &ContactSummary) -> String {
    let one = |d: f64| {
        let right = 100.0 * lump::right(d);
        let softer = if d < 0.0 {
            ", as the lump is felt softer than what is beside it"
        } else {
            ""
        };
        format!(
            "d\u{2032} = {}, right about {right:.0} of 100 single sites{softer}",
            number(d)
        )
    };
    match (contact.detectability_displayed, contact.detectability_true) {
        (Some(felt), Some(truth)) => {
            format!("As felt: {}. In the tissue: {}.", one(felt), one(truth))
        }
        (Some(felt), None) => format!("As felt: {}.", one(felt)),
        (None, Some(truth)) => format!(
            "By what was felt, the lump cannot be told from the rest. In the tissue: {}.",
            one(truth)
        ),
        (None, None) => {
            "Whether a lump could be told is not known: that takes sites of both kinds, at \
                         least three together."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_said() {
        assert_eq!(body(&ContactSummary::default()), None);
        let site = LocalStiffness {
            phase: 4,
            displayed_npm: Some(300.0),
            displayed_error_npm: Some(2.0),
            ..LocalStiffness::default()
        };
        let mut contact = ContactSummary {
            sites: vec![site],
            ..ContactSummary::default()
        };
        let html = body(&contact).expect("a site");
        assert!(
            html.contains("300 \u{b1} 2 N/m") && html.contains("not known"),
            "{html}"
        );
        contact.detectability_displayed = Some(3.29);
        let html = body(&contact).expect("a site");
        assert!(html.contains("3.29, right about 95 of 100"), "{html}");
        contact.detectability_displayed = Some(-0.47);
        let html = body(&contact).expect("a site");
        assert!(html.contains("right about 41 of 100"), "{html}");
        assert!(html.contains("softer than what is beside it"), "{html}");
    }
}
