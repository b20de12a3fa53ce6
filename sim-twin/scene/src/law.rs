//! Law of a block or a body, from the keys of its scene.
//!
//! Source: ours; the laws are those of [`palpate_twin::law`]. A layer, an inclusion or a
//! region with the same keys has a law of its own.

use super::SceneError;
use super::text::field_error;
use palpate_twin::law::{LawFamily, OGDEN_TERMS_MAX, OgdenTerm};

/// Keys of the law in `[block]`, `[mesh]` or an entry with a material.
#[derive(Debug, Clone, Copy)]
pub(super) struct LawText<'a> {
    /// Path of the table, for messages.
    pub(super) table: &'a str,
    pub(super) law: Option<&'a str>,
    pub(super) mooney_second: Option<f64>,
    pub(super) fung_growth: Option<f64>,
    /// Second and third coefficient over the first.
    pub(super) yeoh: Option<[f64; 2]>,
    /// Share and exponent of each term.
    pub(super) ogden: Option<&'a [[f64; 2]]>,
}

impl LawText<'_> {
    /// Family of an entry with a material; None if it names none, which is then that of its scene.
    pub(super) fn own_family(&self) -> Result<Option<LawFamily>, SceneError> {
        if self.law.is_some() {
            return self.family().map(Some);
        }
        match self
            .numbers()
            .find_map(|(field, given)| given.map(|value| (field, value)))
        {
            Some((field, value)) => {
                let expected = "nothing: this entry has no `law`";
                Err(field_error(
                    format!("{}.{field}", self.table),
                    value,
                    expected,
                ))
            }
            None => Ok(None),
        }
    }

    /// Keys of numbers, with a value where there is one.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let all = [
            ("mooney_second", self.mooney_second),
            ("fung_growth", self.fung_growth),
            ("yeoh", self.yeoh.map(|[second, _]| second)),
            ("ogden", self.ogden.map(|terms| terms.len() as f64)),
        ];
        all.into_iter()
    }

    /// Terms of Ogden's law.
    fn ogden_terms(&self) -> Result<[OgdenTerm; OGDEN_TERMS_MAX], SceneError> {
        let given = self.ogden.unwrap_or_default();
        if given.is_empty() || given.len() > OGDEN_TERMS_MAX {
            let field = format!("{}.ogden", self.table);
            let found = match self.ogden {
                Some(_) => format!("{} terms", given.len()),
                None => "missing".to_owned(),
            };
            let expected = "1 to 3 terms, each a share of the shear modulus and an exponent";
            return Err(field_error(field, found, expected));
        }
        let mut terms = [OgdenTerm::NONE; OGDEN_TERMS_MAX];
        for (term, &[share, exponent]) in terms.iter_mut().zip(given) {
            if share == 0.0 {
                let field = format!("{}.ogden", self.table);
                return Err(field_error(
                    field,
                    "a share of 0",
                    "shares above 0 that sum to 1",
                ));
            }
            *term = OgdenTerm { share, exponent };
        }
        Ok(terms)
    }

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
            LawFamily::Ogden { .. } => LawFamily::Ogden {
                terms: self.ogden_terms()?,
            },
            plain => plain,
        };
        let own = match family {
            LawFamily::MooneyRivlin { .. } => "mooney_second",
            LawFamily::Fung { .. } => "fung_growth",
            LawFamily::Yeoh { .. } => "yeoh",
            LawFamily::Ogden { .. } => "ogden",
            _ => "",
        };
        for (field, value) in self.numbers() {
            if let Some(value) = value.filter(|_| field != own) {
                let expected = format!("nothing: `{name}` has no such number");
                return Err(field_error(format!("{table}.{field}"), value, expected));
            }
        }
        family.check().map_err(|error| {
            let field = match error.field {
                "third" => "yeoh[1]",
                "second" if own == "yeoh" => "yeoh[0]",
                _ => own,
            };
            field_error(format!("{table}.{field}"), error.value, error.expected)
        })?;
        Ok(family)
    }
}

#[cfg(test)]
mod tests {
    use crate::{SceneBody, load, scene_text};
    use palpate_twin::law::{LawFamily, OgdenTerm};

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
        // a layer, and a law of its own
        let layer = |lines: &str| {
            let plain = scene_text("block").expect("built in");
            let text = plain.replacen("[[layer]]", &format!("[[layer]]\n{lines}"), 1);
            match load(&text).map_err(|error| error.to_string())?.body {
                SceneBody::Block(block) => Ok(block.layers[0].material.law()),
                _ => Err("no block".to_owned()),
            }
        };
        assert_eq!(layer(""), Ok(None));
        assert_eq!(layer("law = \"linear\""), Ok(Some(LawFamily::Linear)));
        let error = layer("fung_growth = 2.0").expect_err("no law");
        assert!(error.contains("layer[0].fung_growth` is 2"), "{error}");
        let error = layer("law = \"yeoh\"").expect_err("no numbers");
        assert!(error.contains("layer[0].yeoh` is missing"), "{error}");
        let ogden = with("law = \"ogden\"\nogden = [[0.7, 2.0], [0.3, -2.0]]");
        let term = |share, exponent| OgdenTerm { share, exponent };
        let expected = LawFamily::Ogden {
            terms: [term(0.7, 2.0), term(0.3, -2.0), OgdenTerm::NONE],
        };
        assert_eq!(ogden, Ok(expected));
        for (lines, parts) in [
            ("law = \"hencky\"", ["block.law", "mooney-rivlin"]),
            ("law = \"yeoh\"", ["block.yeoh", "missing"]),
            (
                "law = \"yeoh\"\nyeoh = [0.0, -1.0]",
                ["block.yeoh[1]", "from 0"],
            ),
            ("yeoh = [1.0, 1.0]", ["block.yeoh", "neo-hookean"]),
            ("law = \"ogden\"", ["block.ogden", "missing"]),
            ("law = \"ogden\"\nogden = []", ["block.ogden", "0 terms"]),
            (
                "law = \"ogden\"\nogden = [[0.5, 2.0], [0.4, -2.0]]",
                ["block.ogden", "sum to 1"],
            ),
            (
                "law = \"ogden\"\nogden = [[0.0, 2.0], [1.0, 14.0]]",
                ["block.ogden", "a share of 0"],
            ),
            (
                "law = \"ogden\"\nogden = [[1.0, 0.1]]",
                ["block.ogden", "exponent from 0.5"],
            ),
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
