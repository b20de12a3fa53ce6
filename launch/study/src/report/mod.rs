//! Pages of studies: the atlas of stability and transparency, detectability of lumps, presses, the voxel bench, trials,
//! and what-if comparisons. `heat_map` draws maps, `matrix` the tables of a trial's factors.
//!
//! Source: ours. They have the form of the session's page in [`palpate_analysis::report`].

mod atlas;
mod detect;
mod heat_map;
mod matrix;
mod press;
mod trial;
mod voxel;
pub(crate) mod what_if;

use std::ops::RangeBounds;

use palpate_analysis::report::plot::Ink;

pub use atlas::render as atlas;
pub use detect::render as detect;
pub use press::render as press;
pub(crate) use trial::render as trial;
pub use voxel::render as voxel;

/// Colours of lines, in order.
const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];

/// Formats a table from the HTML of its head and of the cells of its rows; `numbers` are the numeric columns.
fn table(
    head: &[impl AsRef<str>],
    numbers: impl RangeBounds<usize>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let cell = |tag: &str, column: usize, text: &str| {
        let class = if numbers.contains(&column) {
            " class=\"n\""
        } else {
            ""
        };
        format!("<{tag}{class}>{text}</{tag}>")
    };
    let names = head.iter().enumerate();
    let names: String = names
        .map(|(column, name)| cell("th", column, name.as_ref()))
        .collect();
    let row = |cells: Vec<String>| -> String {
        let cells = cells.iter().enumerate();
        let cells = cells.map(|(column, text)| cell("td", column, text));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows: String = rows.into_iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}
