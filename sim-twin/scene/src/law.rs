//! Law of a block or a body, from the keys of its scene.
//!
//! Source: ours; the laws are those of [`palpate_twin::law`]. A scene has one law; its materials differ in
//! their moduli.

use super::SceneError;
use super::text::field_error;
use palpate_twin::law::LawFamily;

/// Keys of the law in `[block]` or `[mesh]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct LawText<'a> {
    /// Name of the table.
    pub(super) table: &'static str,
    pub(super) law: Option<&'a str>,
    pub(super) mooney_second: Option<f64>,
    pub(super) fung_growth: Option<f64>,
    /// Second and third coefficient over the first.
    pub(super) yeoh: Option<[f64; 2]>,
}

impl LawText<'_> {
    /// Family of the law; neo-Hookean if none is named.
    pub(super) fn family(&self) -> Result<LawFamily, SceneError> {
        let table = self.table;
        let number = |field: &str, value: Option<f64>| {
            let field = format!("{table}.{field}");
            value.ok_or_else(|| field_error(field, "missing", "a number, for this law"))
        };
        let name = self.law.unwrap_or(LawFamily::default().name());
        let Some(family) = LawFamily::ALL
            .into_iter()
            .find(|family| family.name() == name)
        else {
            let expected = format!("one of: {}", LawFamily::ALL.map(LawFamily::name).join(", "));
            return Err(field_error(format!("{table}.law"), name, expected));
        };
        let family = match family {
            LawFamily::MooneyRivlin { .. } => LawFamily::MooneyRivlin {
                second: number("mooney_second", self.mooney_second)?,
            },
            LawFamily::Fung { .. } => LawFamily::Fung {
                growth: number("fung_growth", self.fung_growth)?,
            },
            LawFamily::Yeoh { .. } => {
                let [second, third] = self.yeoh.ok_or_else(|| {
                    let expected = "two numbers, the second and third coefficient over the first";
                    field_error(format!("{table}.yeoh"), "missing", expected)
                })?;
                LawFamily::Yeoh { second, third }
            }
            plain => plain,
        };
        let mooney = matches!(family, LawFamily::MooneyRivlin { .. });
        let fung = matches!(family, LawFamily::Fung { .. });
        let yeoh = matches!(family, LawFamily::Yeoh { .. });
        for (field, value, used) in [
            ("mooney_second", self.mooney_second, mooney),
            ("fung_growth", self.fung_growth, fung),
            ("yeoh", self.yeoh.map(|[second, _]| second), yeoh),
        ] {
            if let Some(value) = value.filter(|_| !used) {
                let expected = format!("nothing: `{name}` has no such number");
                return Err(field_error(format!("{table}.{field}"), value, expected));
            }
        }
        family.check().map_err(|error| {
            let field = match error.field {
                "growth" => "fung_growth",
                "third" => "yeoh[1]",
                _ if yeoh => "yeoh[0]",
                _ => "mooney_second",
            };
            field_error(format!("{table}.{field}"), error.value, error.expected)
        })?;
        Ok(family)
    }
}

#[cfg(test)]
mod tests {
    use crate::{SceneBody, load, scene_text};
    use palpate_twin::law::LawFamily;

    fn with(lines: &str) -> Result<LawFamily, String> {
        let plain = scene_text("block").expect("built in");
        let block = plain.replacen("[block]", &format!("[block]\n{lines}"), 1);
        match load(&block).map_err(|error| error.to_string())?.body {
            SceneBody::Block(block) => Ok(block.params.law),
            SceneBody::Lattice { .. }
            | SceneBody::Flat(_)
            | SceneBody::VoxelBlock(_)
            | SceneBody::VoxelBody(_)
            | SceneBody::Mesh(_) => Err("no block".to_owned()),
        }
    }

    #[test]
    fn every_law_is_available_and_invalid_parameters_are_named() {
        assert_eq!(with(""), Ok(LawFamily::NeoHookean));
        assert_eq!(with("law = \"linear\""), Ok(LawFamily::Linear));
        let fung = with("law = \"fung\"\nfung_growth = 3.0");
        assert_eq!(fung, Ok(LawFamily::Fung { growth: 3.0 }));
        let mooney = with("law = \"mooney-rivlin\"\nmooney_second = 0.25");
        assert_eq!(mooney, Ok(LawFamily::MooneyRivlin { second: 0.25 }));
        let yeoh = with("law = \"yeoh\"\nyeoh = [0.5, 0.1]");
        let expected = LawFamily::Yeoh {
            second: 0.5,
            third: 0.1,
        };
        assert_eq!(yeoh, Ok(expected));
        for (lines, parts) in [
            ("law = \"ogden\"", ["block.law", "mooney-rivlin"]),
            ("law = \"yeoh\"", ["block.yeoh", "missing"]),
            (
                "law = \"yeoh\"\nyeoh = [0.0, -1.0]",
                ["block.yeoh[1]", "from 0"],
            ),
            ("yeoh = [1.0, 1.0]", ["block.yeoh", "neo-hookean"]),
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
