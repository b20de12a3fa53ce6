//! A whole report of a synthetic session.

use super::*;
use crate::metrics::press::Untold;
use crate::metrics::tests::{Example, example, expected, summary_of};

/// The example with losses on the way up, so that its channel is passive.
fn lossy() -> Example {
    let felt_npm = |phase| 281.0 + f64::from(phase) + if phase == 5 { 99.0 } else { 0.0 };
    let mut example = example(felt_npm);
    for k in 0..example.master.len() - 1 {
        let rising = example.master[k + 1].position_m[2] > example.master[k].position_m[2];
        example.master[k].port_force_n[2] *= if rising { 0.4 } else { 1.0 };
    }
    for record in &mut example.slave {
        record.port_force_n[2] *= 0.5;
    }
    example
}

fn page(config: &str) -> String {
    let example = lossy();
    let (audit, mut summary) = summary_of(&example);
    summary.state_checks(&expected());
    let sites = example.facts.sites.iter();
    let comparison = Comparison {
        name: "wave".to_owned(),
        sites: sites
            .map(|&site| SiteStiffness {
                site,
                displayed_npm: None,
                displayed_error_npm: None,
                untold: Some(Untold::Unexplained(0.4)),
            })
            .collect(),
        contact: ContactSummary {
            stiffness_unknown: Some("in 8 of 8 presses the line rings".to_owned()),
            ..ContactSummary::default()
        },
        slow_npm: Some(35.0),
    };
    render(&ReportInput {
        title: "Sheet with a hidden lump",
        operator: "simulated operator",
        mode: "auto (mmt)",
        summary: &summary,
        traces: Traces {
            master: &example.master,
            slave: &example.slave,
        },
        audit: &audit,
        facts: &example.facts,
        comparison: Some(&comparison),
        config,
        ground: None,
        stills: &[Still {
            caption: "pressed by < 2 N".to_owned(),
            png: vec![1, 2, 3],
        }],
        notes: &["The network was impaired in user space.".to_owned()],
    })
}

#[test]
fn a_page_is_whole_small_and_asks_nobody() {
    let html = page("name = \"<b>\"\n");
    if let Ok(path) = std::env::var("PALPATE_REPORT_SAMPLE") {
        std::fs::write(path, &html).unwrap();
    }
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    assert!(html.contains("src=\"data:image/png;base64,AQID\"") && html.contains("&lt; 2 N"));
    let asks = html.replace("src=\"data:", "");
    for word in ["http", "src=", "url(", "<script", "@import", "href="] {
        assert!(!asks.contains(word), "{word}");
    }
    for id in [
        "stills", "patch", "lump", "force", "press", "energy", "network", "servo", "checks",
        "numbers",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    assert!(html.contains("simulated operator") && html.contains("checks held"));
    assert!(html.contains(">35 N/m<") && html.contains("slow press, by theory"));
    assert!(html.contains("wave: no stiffness can be told; in 8 of 8 presses the line rings."));
    assert!(html.contains("&lt;b&gt;") && !html.contains("NaN"));
    let count = |tag: &str| html.matches(tag).count();
    for tag in ["figure", "svg", "section", "table", "div", "g"] {
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn a_report_of_nothing_still_reads() {
    let (summary, audit, facts) = Default::default();
    let html = render(&ReportInput {
        title: "empty",
        operator: "simulated operator",
        mode: "",
        summary: &summary,
        traces: Traces::default(),
        audit: &audit,
        facts: &facts,
        comparison: None,
        config: "",
        ground: None,
        stills: &[],
        notes: &[],
    });
    assert!(html.contains("Nothing was checked") && html.contains("not known"));
}
