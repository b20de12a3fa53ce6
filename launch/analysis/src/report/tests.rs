//! Tests of the report of a synthetic session.

use super::*;
use crate::metrics::tests::{Example, LIMITS, example, summary_of};
use crate::metrics::{PressFitError, SessionFacts, Site};

/// Returns the example with losses on the way up, so that its channel is passive.
fn lossy() -> Example {
    let displayed_npm = |phase| 281.0 + f64::from(phase) + if phase == 5 { 99.0 } else { 0.0 };
    let mut example = example(displayed_npm);
    for k in 0..example.master.len() - 1 {
        let rising = example.master[k + 1].position_m[2] > example.master[k].position_m[2];
        example.master[k].port_force_n[2] *= if rising { 0.4 } else { 1.0 };
    }
    for record in &mut example.slave {
        record.port_force_n[2] *= 0.5;
    }
    example
}

fn page(name: &str) -> String {
    let example = lossy();
    let (audit, mut summary) = summary_of(&example);
    let safety = &mut summary.safety;
    safety.motion_beyond_stop_mm_max = Some(0.0);
    safety.tissue_force_n_max = Some(3.0);
    safety.robot_speed_mps_max = Some(0.1);
    safety.outside_workspace_mm_max = Some(0.0);
    summary.state_checks(&SessionFacts::default(), &LIMITS);
    let sites = example.facts.sites.iter();
    let comparison = ModeComparison {
        name: "wave".to_owned(),
        contact: ContactSummary {
            stiffness_unknown: Some("in 8 of 8 presses the line rings".to_owned()),
            sites: sites
                .map(|&site| Site {
                    press_error: Some(PressFitError::Unexplained(0.4)),
                    ..site
                })
                .collect(),
            ..ContactSummary::default()
        },
        slow_npm: Some(35.0),
    };
    let config = Config {
        name: name.to_owned(),
        ..Config::default()
    };
    render(&ReportInput {
        evidence: &Evidence {
            comparison: Some(&comparison),
            ..Evidence::new(&config, &example.facts, &example.master, &example.slave)
        },
        summary: &summary,
        audit: &audit,
        exploration: None,
        renders: &[Render {
            caption: "pressed by < 2 N".to_owned(),
            png: vec![1, 2, 3],
        }],
        notes: &["The network was impaired in user space.".to_owned()],
    })
}

#[test]
fn a_page_is_complete_small_and_self_contained() {
    let html = page("<b>");
    if let Ok(path) = std::env::var("PALPATE_REPORT_SAMPLE") {
        std::fs::write(path, &html).unwrap();
    }
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    assert!(html.contains("src=\"data:image/png;base64,AQID\"") && html.contains("&lt; 2 N"));
    let external = html.replace("src=\"data:", "");
    for word in ["http", "src=", "url(", "<script", "@import", "href="] {
        assert!(!external.contains(word), "{word}");
    }
    for id in [
        "stills", "patch", "lump", "force", "press", "energy", "network", "servo", "checks",
        "numbers",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    assert!(html.contains("simulated operator") && html.contains("checks passed"));
    assert!(html.contains(">35 N/m<") && html.contains("slow press, by theory"));
    assert!(html.contains("wave: stiffness unknown; in 8 of 8 presses the line rings."));
    assert!(html.contains("&lt;b&gt;") && !html.contains("NaN"));
    let count = |tag: &str| html.matches(tag).count();
    for tag in ["figure", "svg", "section", "table", "div", "g"] {
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn a_report_of_an_empty_session_renders() {
    let (summary, audit, facts) = Default::default();
    let html = render(&ReportInput {
        evidence: &Evidence::new(&Config::default(), &facts, &[], &[]),
        summary: &summary,
        audit: &audit,
        exploration: None,
        renders: &[],
        notes: &[],
    });
    assert!(html.contains("There were no checks") && html.contains("not known"));
}
