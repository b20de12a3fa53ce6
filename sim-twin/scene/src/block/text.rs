//! Text of a block: its tables and their validation.
//!
//! Source: ours.

use serde::Deserialize;

use super::super::SceneError;
use super::super::law::LawText;
use super::super::layered::{self, InclusionText, LayerMaterial, LayerText, MaterialEntry};
use super::super::text::{DENSITY_KGPM3, YOUNG_PA, field_error, require_positive, require_within};
use super::{Block, BlockSolver};
use palpate_fem::explicit::{ExplicitParams, StiffCellMethod};
use palpate_geometry::mesh::nested_grid::RefinementZone;
use palpate_twin::law::{Material, MixingRule, RelaxingShare, Viscosity, tissue_library};

/// Table `[block]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockText {
    size_m: [f64; 3],
    cell_m: f64,
    levels: usize,
    fine_half_m: [f64; 2],
    fine_depth_m: f64,
    #[serde(default)]
    fine_centre_m: [f64; 2],
    #[serde(default)]
    mixing: MixingRule,
    law: Option<String>,
    mooney_second: Option<f64>,
    fung_growth: Option<f64>,
    yeoh: Option<[f64; 2]>,
    ogden: Option<Vec<[f64; 2]>>,
    damping_per_s: Option<f64>,
    hourglass: Option<f64>,
    contact_stiffness: Option<f64>,
    friction: Option<f64>,
    jaw_friction: Option<f64>,
    substeps_max: Option<u32>,
    stiff: Option<StiffText>,
    classes: Option<usize>,
    #[serde(default)]
    method: BlockSolver,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StiffText {
    Coupled,
    Mass,
}

/// Material: a published one by name, or its parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MaterialText {
    tissue: Option<String>,
    young_pa: Option<f64>,
    poisson: Option<f64>,
    density_kgpm3: Option<f64>,
    shear_viscosity_pas: Option<f64>,
    bulk_viscosity_pas: Option<f64>,
    relaxing_share: Option<f64>,
    relaxing_time_s: Option<f64>,
    relaxing: Option<Vec<[f64; 2]>>,
    law: Option<String>,
    mooney_second: Option<f64>,
    fung_growth: Option<f64>,
    yeoh: Option<[f64; 2]>,
    ogden: Option<Vec<[f64; 2]>>,
}

impl LayerMaterial for Material {
    fn stiffness_pa(&self) -> f64 {
        self.young_pa()
    }

    /// Its name is that of its tissue, or its path in the scene.
    fn read(
        entry: &MaterialEntry<'_>,
        name: Option<&String>,
    ) -> Result<(String, Self), SceneError> {
        let text: MaterialText = entry.parse_keys()?;
        let material = text.material(&entry.field)?;
        let name = name.or(text.tissue.as_ref()).unwrap_or(&entry.field);
        Ok((name.clone(), material))
    }
}

impl MaterialText {
    fn material(&self, field: &str) -> Result<Material, SceneError> {
        let published = |name: &String| {
            tissue_library::find(name).ok_or_else(|| {
                let known: Vec<&str> = tissue_library::TISSUES.iter().map(|t| t.name).collect();
                let expected = format!("one of: {}", known.join(", "));
                field_error(format!("{field}.tissue"), name, expected)
            })
        };
        let base = self.tissue.as_ref().map(published).transpose()?;
        let Some(young_pa) = self.young_pa.or(base.map(|tissue| tissue.young_pa)) else {
            let expected = "a stiffness, or `tissue` with the name of a published one";
            return Err(field_error(
                format!("{field}.young_pa"),
                "missing",
                expected,
            ));
        };
        let poisson = self.poisson.unwrap_or(tissue_library::POISSON);
        let density = self
            .density_kgpm3
            .or(base.map(|tissue| tissue.density_kgpm3));
        let density_kgpm3 = density.unwrap_or(1000.0);
        let material = Material::new(young_pa, poisson, density_kgpm3);
        let material = material.map_err(|source| SceneError::in_field(field, source))?;
        require_within(format!("{field}.young_pa"), young_pa, YOUNG_PA)?;
        let density = format!("{field}.density_kgpm3");
        require_within(density, density_kgpm3, DENSITY_KGPM3)?;
        let law = LawText {
            table: field,
            law: self.law.as_deref(),
            mooney_second: self.mooney_second,
            fung_growth: self.fung_growth,
            yeoh: self.yeoh,
            ogden: self.ogden.as_deref(),
        };
        material
            .with_viscosity(self.viscosity(field)?)
            .map_err(|source| SceneError::in_field(field, source))?
            .with_law(law.own_family()?)
            .map_err(|source| SceneError::in_field(field, source))
    }

    fn viscosity(&self, field: &str) -> Result<Viscosity, SceneError> {
        let alone = match (self.relaxing_share, self.relaxing_time_s) {
            // the former way to say that nothing relaxes
            (Some(0.0), Some(_)) => Vec::new(),
            (Some(share), Some(time_s)) => vec![[share, time_s]],
            (None, None) => Vec::new(),
            _ => {
                let expected = "both `relaxing_share` and `relaxing_time_s`, or neither";
                let name = format!("{field}.relaxing_share");
                return Err(field_error(name, "alone", expected));
            }
        };
        let mut pairs = match &self.relaxing {
            Some(_) if !alone.is_empty() => {
                let expected = "either `relaxing` or `relaxing_share` with `relaxing_time_s`";
                return Err(field_error(format!("{field}.relaxing"), "twice", expected));
            }
            Some(pairs) => pairs.clone(),
            None => alone,
        };
        // cells that two materials share pair their branches, the slowest first
        pairs.sort_by(|a, b| b[1].total_cmp(&a[1]));
        let branches = pairs.iter();
        let branches = branches.map(|&[share, time_s]| RelaxingShare { share, time_s });
        let series = Viscosity::of_branches(&branches.collect::<Vec<_>>())
            .map_err(|source| SceneError::in_field(&format!("{field}.relaxing"), source))?;
        Ok(Viscosity {
            shear_pas: self.shear_viscosity_pas.unwrap_or(0.0),
            bulk_pas: self.bulk_viscosity_pas.unwrap_or(0.0),
            ..series
        })
    }
}

impl BlockText {
    pub(crate) fn block(
        &self,
        layers: &[LayerText],
        inclusions: &[InclusionText],
    ) -> Result<Block, SceneError> {
        for (axis, &edge_m) in self.size_m.iter().enumerate() {
            require_positive(format!("block.size_m[{axis}]"), edge_m)?;
        }
        self.choices()?;
        let law = LawText {
            table: "block",
            law: self.law.as_deref(),
            mooney_second: self.mooney_second,
            fung_growth: self.fung_growth,
            yeoh: self.yeoh,
            ogden: self.ogden.as_deref(),
        };
        let law = law.family()?;
        let ours = ExplicitParams::default();
        let block = Block {
            size_m: self.size_m,
            layers: layered::layers(layers, self.size_m, true)?,
            inclusions: layered::inclusions(inclusions, self.size_m)?,
            zone: RefinementZone {
                cell_m: self.cell_m,
                levels: self.levels,
                centre_m: self.fine_centre_m,
                half_m: self.fine_half_m,
                depth_m: self.fine_depth_m,
            },
            mixing: self.mixing,
            params: ExplicitParams {
                law,
                damping_per_s: self.damping_per_s.unwrap_or(ours.damping_per_s),
                hourglass: self.hourglass.unwrap_or(ours.hourglass),
                contact_stiffness: self.contact_stiffness.unwrap_or(ours.contact_stiffness),
                friction: self.friction.unwrap_or(ours.friction),
                jaw_friction: self.jaw_friction,
                substeps_max: self.substeps_max.unwrap_or(ours.substeps_max),
                stiff_cells: match self.stiff {
                    Some(StiffText::Coupled) => StiffCellMethod::Coupled,
                    Some(StiffText::Mass) => StiffCellMethod::MassScaling,
                    None => ours.stiff_cells,
                },
                classes: self.classes.unwrap_or(ours.classes),
            },
            solver: self.method,
        };
        // built once here, so that a scene that loads can also be built
        block.build()?;
        Ok(block)
    }

    /// Checks that an implicit block has no parameters of the explicit solver.
    fn choices(&self) -> Result<(), SceneError> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let known = [
            ("hourglass", number(self.hourglass)),
            ("contact_stiffness", number(self.contact_stiffness)),
            ("friction", number(self.friction)),
            ("jaw_friction", number(self.jaw_friction)),
            ("substeps_max", number(self.substeps_max.map(f64::from))),
            ("classes", self.classes.map(|classes| classes.to_string())),
            (
                "stiff",
                self.stiff.map(|stiff| format!("{stiff:?}").to_lowercase()),
            ),
        ];
        let given = known
            .into_iter()
            .find_map(|(field, value)| Some((field, value?)));
        match given.filter(|_| self.method == BlockSolver::Implicit) {
            Some((field, value)) => {
                let expected = "nothing: only `method = \"fem\"` has this choice";
                Err(field_error(format!("block.{field}"), value, expected))
            }
            None => Ok(()),
        }
    }
}
