//! `report.html`: one session on one page that a person likes to read.
//!
//! Self-contained: style, plots and numbers are inside, nothing is asked of any network, no script
//! runs. Source: ours. [`plot`] draws, `charts` chooses the signals, [`map`] shows the patch, `felt` what a hand felt that
//! went as it liked, `lump` whether
//! the lump could be told, `rehearsal` what the steps of a script did, `attempts` how attempts at tasks went on, [`words`] explains, `numbers` lists. [`mod@volume`] is a page of its own, of what was built of a volume; so is [`identify`], of what a
//! record told of its tissue.

mod attempts;
mod charts;
mod felt;
pub mod identify;
mod lump;
pub mod map;
mod numbers;
pub mod plot;
mod rehearsal;
pub mod volume;
pub mod words;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use palpate_session::audit::Audit;

use crate::metrics::press::{by_site, presses};
use crate::metrics::{SessionFacts, SiteStiffness, Traces};
use crate::still::Still;
use crate::summary::{ContactSummary, Summary};

pub use felt::Ground;
pub use volume::render as volume;
pub(crate) use words::quick;

/// The same session in another mode, to be shown beside.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Its name, such as `wave at 500 ms`.
    pub name: String,
    /// What was felt at each site.
    pub sites: Vec<SiteStiffness>,
    /// What was felt altogether.
    pub contact: ContactSummary,
    /// Stiffness that a slow press would show by theory \[N/m\], if there is one.
    pub slow_npm: Option<f64>,
}

/// All that a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// Title, such as the name of the run.
    pub title: &'a str,
    /// Who held the handle: `simulated operator`, unless a person did.
    pub operator: &'a str,
    /// What coupled it, as it was asked for.
    pub mode: &'a str,
    /// The numbers.
    pub summary: &'a Summary,
    /// Records of both sides.
    pub traces: Traces<'a>,
    /// The auditor's verdict with its trace.
    pub audit: &'a Audit,
    /// What the records do not show.
    pub facts: &'a SessionFacts,
    /// The same session in another mode.
    pub comparison: Option<&'a Comparison>,
    /// The effective configuration, as TOML.
    pub config: &'a str,
    /// Where a hand went as it liked; none of a scripted one, which presses sites.
    pub ground: Option<&'a Ground>,
    /// Pictures of the tissue.
    pub stills: &'a [Still],
    /// Further sentences that a reader must know, such as how the network was impaired.
    pub notes: &'a [String],
}

/// The page, as HTML.
#[must_use]
pub fn render(input: &ReportInput<'_>) -> String {
    let summary = input.summary;
    let class = if summary.all_held() { "good" } else { "bad" };
    let lead = words::opening(input);
    let mut html = head(input.title, &summary.command, input.operator, class, &lead);
    for note in input.notes {
        html += &format!("<p class=\"note\">{}</p>", escape(note));
    }
    html += "</header>\n";
    html += &words::cards(input);
    html += &rehearsal::sections(input);
    html += &attempts::sections(input);
    if !input.traces.master.is_empty() || !input.traces.slave.is_empty() {
        html += &stills(input.stills);
        html += &patch(input);
        let felt = input.ground.and_then(|ground| felt::body(input, ground));
        html += &felt.map_or(String::new(), |body| {
            section("felt", "Where it was stiff", &body)
        });
        let told = lump::body(&summary.contact);
        html += &told.map_or(String::new(), |body| {
            section("lump", "Can the lump be told?", &body)
        });
        html += &sections(input);
    }
    html += &section("checks", "Checks", &words::checks(&summary.checks));
    html += &section(
        "numbers",
        "All numbers",
        &numbers::table(summary, input.facts.networked),
    );
    html += &closing(input);
    html + "</main></body></html>\n"
}

/// Begin of a page, up to its lead, which is HTML; title, command and tag are plain text.
#[must_use]
pub fn head(title: &str, command: &str, tag: &str, class: &str, lead: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title} \u{b7} Palpate</title>\n\
         <style>{}</style></head>\n<body><main>\n<header><div class=\"kicker\">Palpate \u{b7} {}\
         <span class=\"tag\">{}</span></div><h1>{title}</h1><p class=\"lead {class}\">{lead}</p>",
        include_str!("style.css"),
        escape(command),
        escape(tag),
    )
}

/// Pictures with what they show; nothing without one.
fn stills(stills: &[Still]) -> String {
    let figure = |still: &Still| {
        format!(
            "<figure class=\"still\"><img alt=\"{caption}\" src=\"data:image/png;base64,{}\">\
             <figcaption>{caption}</figcaption></figure>\n",
            BASE64.encode(&still.png),
            caption = escape(&still.caption),
        )
    };
    if stills.is_empty() {
        return String::new();
    }
    let figures: String = stills.iter().map(figure).collect();
    section("stills", "Pictures", &figures)
}

/// Stiffness map and comparison; nothing without known stiffness.
fn patch(input: &ReportInput<'_>) -> String {
    let sites = by_site(&presses(input.traces.master), &input.facts.sites);
    let other = input
        .comparison
        .map(|c| (c.name.as_str(), c.sites.as_slice()));
    let Some(maps) = map::draw(&map::panels(&sites, other)) else {
        return String::new();
    };
    let mut body = maps;
    body += "<p class=\"caption\">Stiffness in N/m at each site of the patch, seen from above; the \
             dashed ring marks the hidden lump. All maps share one scale.</p>";
    if let Some(comparison) = input.comparison {
        body += &compared(input.summary, comparison, &input.facts.mode);
    }
    section("patch", "The patch, as felt and as it is", &body)
}

fn compared(summary: &Summary, other: &Comparison, mode: &str) -> String {
    let row = |name: &str, contact: &ContactSummary, slow_npm: Option<f64>| {
        let cells = [
            words::with_unit(contact.displayed_stiffness_npm, "N/m"),
            words::percent(contact.stiffness_error),
            words::percent(contact.contrast_transmission),
            slow_npm.map_or("\u{2014}".to_owned(), |npm| {
                words::with_unit(Some(npm), "N/m")
            }),
        ];
        let cells = cells.map(|cell| format!("<td class=\"n\">{}</td>", escape(&cell)));
        format!("<tr><td>{}</td>{}</tr>", escape(name), cells.concat())
    };
    let why = |name: &str, contact: &ContactSummary| {
        let reason = contact.stiffness_unknown.as_ref()?;
        let (name, reason) = (escape(name), escape(reason));
        Some(format!(
            "<p class=\"caption\">{name}: no stiffness can be told; {reason}.</p>"
        ))
    };
    let names = [
        "stiffness felt",
        "error of it",
        "contrast transmitted",
        "slow press, by theory",
    ];
    let head = names.map(|name| format!("<th class=\"n\">{name}</th>"));
    let reasons = [
        why(mode, &summary.contact),
        why(&other.name, &other.contact),
    ];
    format!(
        "<div class=\"wide\"><table><thead><tr><th>coupling</th>{}</tr></thead>\
         <tbody>{}{}</tbody></table></div>{}",
        head.concat(),
        row(mode, &summary.contact, None),
        row(&other.name, &other.contact, other.slow_npm),
        reasons.into_iter().flatten().collect::<String>()
    )
}

fn sections(input: &ReportInput<'_>) -> String {
    let mut html = String::new();
    // without another side, the steps of a script have shown it
    if input.facts.networked || input.facts.rehearsal.is_none() {
        let body = charts::force(input) + &charts::position(input);
        html += &section("force", "Force and position", &body);
    }
    if !presses(input.traces.master).is_empty() {
        html += &section("press", "One press, close", &charts::press(input));
    }
    if input.audit.instants > 0 {
        html += &section(
            "energy",
            "Energy in the channel",
            &(charts::energy(input) + &charts::ledgers(input)),
        );
    }
    if let Some(cells) = input.summary.twin.correction.as_ref()
        && !cells.is_empty()
    {
        html += &section(
            "correction",
            "What corrections cost",
            &charts::correction(cells),
        );
    }
    if !input.traces.slave.is_empty() {
        html += &section(
            "network",
            "The network",
            &(charts::delay(input) + &charts::rates(input)),
        );
    }
    if input.facts.live.is_some() {
        html += &section("servo", "The servo loops", &charts::loops(input));
    }
    html
}

/// A section of a page; `body` is HTML.
#[must_use]
pub fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n")
}

fn closing(input: &ReportInput<'_>) -> String {
    let summary = input.summary;
    let mut facts = vec![format!("Palpate {}", escape(&summary.version))];
    facts.extend(summary.seed.map(|seed| format!("seed {seed}")));
    facts.extend(summary.ticks.map(|ticks| format!("{ticks} ticks a side")));
    facts.extend(
        summary
            .trace_hash
            .as_ref()
            .map(|hash| format!("trace {}", escape(hash))),
    );
    facts.push(escape(input.operator));
    format!(
        "<section id=\"config\"><details><summary>Configuration of this run</summary>\
         <pre>{}</pre></details></section>\n<footer>{}</footer>\n",
        escape(input.config),
        facts.join(" \u{b7} ")
    )
}

/// Text as HTML shows it literally.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
