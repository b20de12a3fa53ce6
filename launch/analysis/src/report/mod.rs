//! `report.html`: the report of one session on one page.
//!
//! Self-contained: style, plots and numbers are inside, nothing is loaded from a network, no script runs. Source:
//! ours. [`plot`] draws charts, `charts` selects their signals, [`map`] shows the patch, `exploration` the stiffness
//! map of a free exploration, `detectability` the detectability of the lump. `rehearsal` shows the steps of a script,
//! `attempts` the scores of tasks, [`words`] writes the text, `numbers` the table. [`mod@voxel_model`] is the page of
//! a voxel model that was built, [`identify`] that of an identification.

mod attempts;
mod charts;
mod detectability;
mod exploration;
pub mod identify;
pub mod map;
mod numbers;
pub mod plot;
mod rehearsal;
pub mod voxel_model;
pub mod words;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use palpate_session::audit::Audit;
use palpate_session::config::Config;

use crate::conclusion::{Evidence, operator_name};
use crate::metrics::press::presses;
use crate::render::Render;
use crate::summary::{ContactSummary, Summary};

pub(crate) use exploration::ExplorationScene;
pub use voxel_model::render as voxel_model;
pub(crate) use words::quick_press_note;

/// The same session in another mode, for comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModeComparison {
    /// Its name, such as `wave at 500 ms`.
    pub name: String,
    /// Contact as displayed in that mode.
    pub contact: ContactSummary,
    /// Stiffness that a slow press would display by theory \[N/m\], if there is a closed form.
    pub slow_npm: Option<f64>,
}

/// Input of a report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportInput<'a> {
    /// Records and facts of the session.
    pub evidence: &'a Evidence<'a>,
    /// Summary of the session.
    pub summary: &'a Summary,
    /// The auditor's verdict with its trace.
    pub audit: &'a Audit,
    /// Scene of a free exploration; none for a scripted hand, which presses sites.
    pub exploration: Option<&'a ExplorationScene>,
    /// Pictures of the tissue.
    pub renders: &'a [Render],
    /// Further notes for the reader, such as the emulated impairments of the network.
    pub notes: &'a [String],
}

/// Renders the page as HTML.
pub(crate) fn render(input: &ReportInput<'_>) -> String {
    let (evidence, summary) = (input.evidence, input.summary);
    let (config, facts) = (evidence.config, evidence.facts);
    let class = if summary.all_passed() { "good" } else { "bad" };
    let lead = words::opening(evidence, summary);
    let mut html = head(
        &config.name,
        &summary.command,
        operator_name(config),
        class,
        &lead,
    );
    for note in input.notes {
        html += &format!("<p class=\"note\">{}</p>", escape(note));
    }
    html += "</header>\n";
    html += &words::cards(summary);
    html += &rehearsal::sections(evidence);
    html += &attempts::sections(&facts.attempts);
    if !evidence.traces.master.is_empty() || !evidence.traces.slave.is_empty() {
        html += &render_figures(input.renders);
        html += &patch(evidence, &summary.contact);
        let stiffness = input
            .exploration
            .and_then(|scene| exploration::body(evidence, scene));
        html += &optional("felt", "Stiffness map", stiffness);
        let lump = detectability::body(&summary.contact);
        html += &optional("lump", "Lump detectability", lump);
        html += &sections(input);
    }
    html += &section("checks", "Checks", &words::checks(&summary.checks));
    let numbers = numbers::table(summary, !facts.without_peer);
    html += &section("numbers", "All numbers", &numbers);
    html += &closing(config, summary);
    html + "</main></body></html>\n"
}

/// Start of a page, up to its lead, which is HTML; title, command and tag are plain text.
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

/// Pictures with their captions; empty without one.
fn render_figures(renders: &[Render]) -> String {
    let figure = |render: &Render| {
        format!(
            "<figure class=\"still\"><img alt=\"{caption}\" src=\"data:image/png;base64,{}\">\
             <figcaption>{caption}</figcaption></figure>\n",
            BASE64.encode(&render.png),
            caption = escape(&render.caption),
        )
    };
    let figures = (!renders.is_empty()).then(|| renders.iter().map(figure).collect());
    optional("stills", "Pictures", figures)
}

/// Stiffness map and comparison; empty without known stiffness.
fn patch(evidence: &Evidence<'_>, contact: &ContactSummary) -> String {
    let other = evidence.comparison;
    let Some(maps) = map::draw(&map::panels(&contact.sites, other)) else {
        return String::new();
    };
    let mut body = maps;
    body += "<p class=\"caption\">Stiffness in N/m at each site of the patch, seen from above; the \
             dashed ring marks the hidden lump. All maps share one scale.</p>";
    if let Some(confirmed) = map::draw_percent(&map::confidence_panel(&contact.sites)) {
        body += &confirmed;
        body += "<p class=\"caption\">How far the robot had measured the tissue by the end of the last press of each \
                 site: at 0 % the force is only believed.</p>";
    }
    if let Some(comparison) = other {
        body += &comparison_table(contact, comparison, &evidence.facts.mode);
    }
    section("patch", "The patch: displayed and true stiffness", &body)
}

fn comparison_table(own: &ContactSummary, other: &ModeComparison, mode: &str) -> String {
    let slow = other.slow_npm.map(|npm| words::with_unit(Some(npm), "N/m"));
    let both = [(mode, own, None), (&*other.name, &other.contact, slow)];
    let unknown = |(name, contact, _): &(&str, &ContactSummary, Option<String>)| {
        let reason = contact.stiffness_unknown.as_ref()?;
        let (name, reason) = (escape(name), escape(reason));
        Some(format!(
            "<p class=\"caption\">{name}: stiffness unknown; {reason}.</p>"
        ))
    };
    let reasons: String = both.iter().filter_map(unknown).collect();
    let rows = both.map(|(name, contact, slow)| {
        vec![
            escape(name),
            words::with_unit(contact.displayed_stiffness_npm, "N/m"),
            words::percent(contact.stiffness_error),
            words::percent(contact.contrast_transmission),
            slow.unwrap_or("\u{2014}".to_owned()),
        ]
    });
    let head = [
        "coupling",
        "#displayed stiffness",
        "#stiffness error",
        "#contrast transmitted",
        "#slow press, by theory",
    ];
    table(&head, rows) + &reasons
}

fn sections(input: &ReportInput<'_>) -> String {
    let evidence = input.evidence;
    let facts = evidence.facts;
    let mut html = String::new();
    // without another side, the steps of a script show it
    if !facts.without_peer || facts.rehearsal.is_none() {
        let body = charts::force(evidence) + &charts::position(evidence);
        html += &section("force", "Force and position", &body);
    }
    if !presses(evidence.traces.master).is_empty() {
        html += &section("press", "One press, close", &charts::press(evidence));
    }
    if input.audit.instants > 0 {
        let body = charts::energy(evidence, &input.audit.trace);
        html += &section("energy", "Energy in the channel", &body);
    }
    if let Some(cells) = input.summary.twin.correction.as_ref()
        && !cells.is_empty()
    {
        let body = charts::correction(cells);
        html += &section("correction", "Cost of corrections", &body);
    }
    if !evidence.traces.slave.is_empty() {
        let body = charts::delay(evidence) + &charts::rates(evidence);
        html += &section("network", "The network", &body);
    }
    if facts.live_parts.is_some() {
        html += &section("servo", "The servo loops", &charts::loops(evidence));
    }
    html
}

/// Table with its head; a name that begins with `#` is that of a column of numbers. Cells are HTML.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let class = |name: &str| match name.starts_with('#') {
        true => " class=\"n\"",
        false => "",
    };
    let names = head.iter().map(|name| {
        let text = escape(name.trim_start_matches('#'));
        format!("<th{}>{text}</th>", class(name))
    });
    let names: String = names.collect();
    let mut html = format!("<div class=\"wide\"><table><thead><tr>{names}</tr></thead><tbody>\n");
    for row in rows {
        let cells = head.iter().zip(row);
        let cells = cells.map(|(name, cell)| format!("<td{}>{cell}</td>", class(name)));
        html += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    html + "</tbody></table></div>\n"
}

/// Drawing below its name; the drawing is HTML.
fn named(name: &str, drawing: &str) -> String {
    let name = escape(name);
    format!("<figure><div class=\"mapname\">{name}</div>{drawing}</figure>")
}

/// Section of a page, if it has content.
fn optional(id: &str, title: &str, body: Option<String>) -> String {
    body.map_or(String::new(), |body| section(id, title, &body))
}

/// Section of a page; `body` is HTML.
#[must_use]
pub fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n")
}

fn closing(config: &Config, summary: &Summary) -> String {
    let mut facts = vec![format!("Palpate {}", escape(&summary.version))];
    facts.extend(summary.seed.map(|seed| format!("seed {seed}")));
    facts.extend(summary.ticks.map(|ticks| format!("{ticks} ticks a side")));
    let hash = summary.trace_hash.as_ref();
    facts.extend(hash.map(|hash| format!("trace {}", escape(hash))));
    facts.push(escape(operator_name(config)));
    format!(
        "<section id=\"config\"><details><summary>Configuration of this run</summary>\
         <pre>{}</pre></details></section>\n<footer>{}</footer>\n",
        escape(&config.to_toml()),
        facts.join(" \u{b7} ")
    )
}

/// Escapes text for HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
