//! Section of a report on the detectability of the lump, site by site.
//!
//! Source: ours; the index d' is that of [`crate::metrics::detectability`].

use super::table;
use super::words::{number, with_unit};
use crate::metrics::{Site, detectability};
use crate::summary::ContactSummary;

/// Table and words; None without sites.
pub(super) fn body(contact: &ContactSummary) -> Option<String> {
    let row = |site: &Site| {
        let [x_mm, y_mm] = site.place_m.map(|m| number(m * 1e3));
        let over = if site.over_lump { "over the lump" } else { "" };
        vec![
            site.phase.to_string(),
            format!("{x_mm}, {y_mm} mm"),
            over.to_owned(),
            displayed_cell(site),
            with_unit(site.true_npm, "N/m"),
        ]
    };
    let head = [
        "site",
        "#place",
        "",
        "#displayed stiffness",
        "#true stiffness",
    ];
    let body = || {
        format!(
            "<p>{}</p>{}<p class=\"caption\">\u{b1} is the standard error of the slope of one press. d\u{2032} is the \
             difference between sites over the lump and beside it, over the spread of a single site; for the true \
             stiffness, the spread is that of the sites alone.</p>",
            words(contact),
            table(&head, contact.sites.iter().map(row))
        )
    };
    (!contact.sites.is_empty()).then(body)
}

fn displayed_cell(site: &Site) -> String {
    match (site.displayed_npm, site.displayed_error_npm) {
        (Some(npm), Some(error)) => format!("{} \u{b1} {} N/m", number(npm), number(error)),
        (displayed, _) => with_unit(displayed, "N/m"),
    }
}

fn words(contact: &ContactSummary) -> String {
    let one = |d: f64| {
        let right = 100.0 * detectability::correct_probability(d);
        let softer = if d < 0.0 {
            ", as the lump is displayed softer than what is beside it"
        } else {
            ""
        };
        format!(
            "d\u{2032} = {}, correct for about {right:.0} of 100 single sites{softer}",
            number(d)
        )
    };
    let truth = contact
        .detectability_true
        .map(|d| format!(" True: {}.", one(d)));
    let displayed = match contact.detectability_displayed {
        Some(d) => format!("Displayed: {}.", one(d)),
        None if truth.is_some() => {
            "The displayed stiffness does not separate the lump from the rest.".to_owned()
        }
        None => "The detectability of a lump is not known: it needs sites of both kinds, at \
                 least three together."
            .to_owned(),
    };
    displayed + &truth.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_detectability_is_stated() {
        assert_eq!(body(&ContactSummary::default()), None);
        let site = Site {
            phase: 4,
            displayed_npm: Some(300.0),
            displayed_error_npm: Some(2.0),
            ..Site::default()
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
        assert!(html.contains("3.29, correct for about 95 of 100"), "{html}");
        contact.detectability_displayed = Some(-0.47);
        let html = body(&contact).expect("a site");
        assert!(html.contains("correct for about 41 of 100"), "{html}");
        assert!(html.contains("softer than what is beside it"), "{html}");
    }
}
