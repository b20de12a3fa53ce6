//! The law of a block or a body, as its scene names it.
//!
//! Source: ours; the laws are those of [`palpate_twin::law`]. One law a scene: its materials differ in
//! their moduli.

use super::block::{BlockError, wrong};
use palpate_twin::law::Family;

/// Keys of `[block]` or `[mesh]` that choose its law.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LawText<'a> {
    /// Name of the table.
    pub(super) table: &'static str,
    pub(super) law: Option<&'a str>,
    pub(super) mooney_second: Option<f64>,
    pub(super) fung_growth: Option<f64>,
}

impl LawText<'_> {
    /// The law; neo-Hookean if none is named.
    pub(super) fn family(&self) -> Result<Family, BlockError> {
        let table = self.table;
        let number = |field: &str, value: Option<f64>| {
            let missing = || {
                wrong(
                    format!("{table}.{field}"),
                    "missing",
                    "a number, for this law",
                )
            };
            value.ok_or_else(missing)
        };
        let name = self.law.unwrap_or(Family::default().name());
        let Some(family) = Family::ALL.into_iter().find(|family| family.name() == name) else {
            let expected = format!("one of: {}", Family::ALL.map(Family::name).join(", "));
            return Err(wrong(format!("{table}.law"), name, &expected));
        };
        let family = match family {
            Family::MooneyRivlin { .. } => Family::MooneyRivlin {
                second: number("mooney_second", self.mooney_second)?,
            },
            Family::Fung { .. } => Family::Fung {
                growth: number("fung_growth", self.fung_growth)?,
            },
            plain => plain,
        };
        let strays = [
            (
                "mooney_second",
                self.mooney_second,
                matches!(family, Family::MooneyRivlin { .. }),
            ),
            (
                "fung_growth",
                self.fung_growth,
                matches!(family, Family::Fung { .. }),
            ),
        ];
        for (field, value, used) in strays {
            if let Some(value) = value.filter(|_| !used) {
                let expected = format!("nothing: `{name}` has no such number");
                return Err(wrong(format!("{table}.{field}"), value, &expected));
            }
        }
        family.check().map_err(|error| {
            let field = match error.field {
                "growth" => "fung_growth",
                _ => "mooney_second",
            };
            wrong(format!("{table}.{field}"), error.value, error.expected)
        })?;
        Ok(family)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Body, load, text};
    use palpate_twin::law::Family;

    fn with(lines: &str) -> Result<Family, String> {
        let plain = text("block").expect("built in");
        let block = plain.replacen("[block]", &format!("[block]\n{lines}"), 1);
        match load(&block).map_err(|error| error.to_string())?.body {
            Body::Block(block) => Ok(block.params.law),
            Body::Lattice { .. }
            | Body::Flat(_)
            | Body::Linked(_)
            | Body::Voxels(_)
            | Body::Mesh(_) => Err("no block".to_owned()),
        }
    }

    #[test]
    fn a_block_takes_every_law_with_its_numbers_and_names_what_is_wrong() {
        assert_eq!(with(""), Ok(Family::NeoHookean));
        assert_eq!(with("law = \"linear\""), Ok(Family::Linear));
        let fung = with("law = \"fung\"\nfung_growth = 3.0");
        assert_eq!(fung, Ok(Family::Fung { growth: 3.0 }));
        let mooney = with("law = \"mooney-rivlin\"\nmooney_second = 0.25");
        assert_eq!(mooney, Ok(Family::MooneyRivlin { second: 0.25 }));
        for (lines, parts) in [
            ("law = \"ogden\"", ["block.law", "mooney-rivlin"]),
            ("law = \"fung\"", ["block.fung_growth", "missing"]),
            (
                "law = \"fung\"\nfung_growth = -1.0",
                ["block.fung_growth", "above 0"],
            ),
            ("fung_growth = 1.0", ["block.fung_growth", "neo-hookean"]),
        ] {
            let error = with(lines).expect_err(lines);
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
