//! Tests of matrices.

use super::super::Trial;
use super::*;

const TEXT: &str = r#"
seeds = 2
[base]
duration_s = 2.0
tissue = "free"
twin = "sheet"
[grid]
mode = ["wave", "mmt"]
[[factor]]
name = "fault"
[[factor.level]]
name = "none"
[[factor.level]]
name = "outage"
outage = "0.5,0.5"
[[factor.level]]
name = "stiff servo"
slave.stiffness_npm = [90000.0, 90000.0, 90000.0, 90000.0]
[[factor]]
name = "tissue"
[[factor.level]]
name = "free"
[[factor.level]]
name = "stiff"
tissue = "wall:3000"
[[except]]
fault = "outage"
mode = ["mmt"]
reason = "no link in use"
[table]
rows = "fault"
columns = "mode"
"#;

/// Texts in [`TEXT`], their replacements, and what the error names.
const MISTAKES: [(&str, &str, &[&str]); 15] = [
    (
        "fault = \"outage\"",
        "fualt = \"outage\"",
        &["except[0].fualt", "fault, tissue, mode"],
    ),
    (
        "fault = \"outage\"",
        "fault = \"outge\"",
        &["except[0].fault", "outge", "none, outage"],
    ),
    (
        "mode = [\"mmt\"]",
        "mode = [\"tank\"]",
        &["except[0].mode", "tank", "wave, mmt"],
    ),
    (
        "reason = \"no link in use\"",
        "",
        &["except[0].reason is missing", "a text"],
    ),
    (
        "outage = \"0.5,0.5\"",
        "outge = 1",
        &["factor fault, level outage", "outge"],
    ),
    (
        "outage = \"0.5,0.5\"",
        "loss = \"a\"",
        &["factor fault, level outage, loss"],
    ),
    (
        "outage = \"0.5,0.5\"",
        "seed = 1",
        &["level outage, seed", "top of the file"],
    ),
    (
        "name = \"outage\"",
        "",
        &["factor fault, level[1].name is missing"],
    ),
    (
        "name = \"outage\"",
        "name = \"none\"",
        &["level[1].name is none", "no other level"],
    ),
    (
        "name = \"tissue\"",
        "name = \"mode\"",
        &["factor.name is mode", "no other factor"],
    ),
    (
        "rows = \"fault\"",
        "rows = \"falt\"",
        &["table.rows", "falt", "fault, tissue, mode"],
    ),
    (
        "columns = \"mode\"",
        "columns = \"fault\"",
        &["table.columns", "another factor"],
    ),
    (
        "outage = \"0.5,0.5\"",
        "tissue = \"free\"",
        &["fault outage, tissue stiff", "both set tissue"],
    ),
    ("seeds = 2", "draw = 2", &["draw", "no [[factor]]"]),
    (
        "[base]",
        "[[condition]]\n[base]",
        &["[[condition]]", "[[factor]]"],
    ),
];

fn read(text: &str) -> Result<Trial, String> {
    Trial::parse(text, "m.toml").map_err(|error| error.to_string())
}

#[test]
fn every_combination_has_a_cell_and_only_possible_ones_have_sessions() {
    let trial = read(TEXT).expect("good");
    let matrix = trial.matrix.as_ref().expect("a matrix");
    assert_eq!(trial.fields, ["fault", "tissue", "mode"]);
    assert_eq!(matrix.cells().len(), 3 * 2 * 2);
    // both tissues: no fault and an outage with wave, no fault with mmt
    assert_eq!((trial.conditions.len(), trial.row_count()), (6, 12));
    for (cell, content) in matrix.cells().iter().enumerate() {
        let title = matrix.title(cell);
        match content {
            MatrixCell::Sessions(number) => {
                assert_eq!(trial.conditions[*number].title(), title);
            }
            MatrixCell::Excluded(reason) => {
                assert_eq!(reason, "no link in use");
                assert!(title.contains("outage") && title.contains("mmt"), "{title}");
            }
            MatrixCell::Refused(reason) => {
                assert!(title.contains("stiff servo"), "{title}");
                assert!(reason.contains("slave.stiffness_npm"), "{reason}");
            }
        }
    }
    let condition = &trial.conditions[5];
    assert_eq!(condition.title(), "fault outage, tissue stiff, mode wave");
    assert_eq!(condition.config.tissue, "wall:3000");
    assert_eq!(
        condition.config.link.back.outage.map(|cut| cut.on_s),
        Some(0.5)
    );
    let tables = matrix.tables();
    let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["tissue free", "tissue stiff"]);
    let mut seen: Vec<usize> = tables.iter().flat_map(|of| of.cells.concat()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..12).collect::<Vec<_>>());
    assert!(
        matrix
            .title(tables[1].cells[2][1])
            .contains("stiff servo, tissue stiff, mode mmt")
    );
}

#[test]
fn levels_and_reasons_are_part_of_the_hash() {
    let hash = |text: &str| read(text).expect("good").hash().expect("scenes");
    let renamed = TEXT.replace("\"stiff servo\"", "\"hard servo\"");
    assert_ne!(hash(&renamed), hash(TEXT));
    assert_eq!(hash(&format!("# a comment\n{TEXT}")), hash(TEXT));
}

#[test]
fn errors_name_table_field_value_and_expected_value() {
    for (from, to, parts) in MISTAKES {
        assert!(TEXT.contains(from), "{from}");
        let error = read(&TEXT.replacen(from, to, 1)).expect_err(to);
        for part in parts.iter().chain(&["m.toml"]) {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    }
    let one = "[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n";
    let error = read(one).expect_err("one factor");
    assert!(
        error.contains("1 of them") && error.contains("two factors"),
        "{error}"
    );
}
