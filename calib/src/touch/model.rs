//! The scene with other moduli, touched as the record was.
//!
//! Source: ours. Parameters are logarithms of factors: on a layer's modulus, which inclusions in it
//! share, and on an inclusion's contrast to its layer.

use palpate_twin::law::Material;
use palpate_twin::scene::{Block, BlockError, Body as SceneBody, Scene};
use palpate_twin::{Reaction, Vec3};

use super::record::Touch;
use super::{Part, TouchError};

/// Edges of a finer mesh over those of the scene's.
const FINER: f64 = 0.75;

/// A block whose moduli may vary.
#[derive(Debug, Clone)]
pub(super) struct Body<'a> {
    pub(super) scene: &'a Scene,
    block: &'a Block,
}

impl<'a> Body<'a> {
    pub(super) fn of(scene: &'a Scene) -> Result<Self, TouchError> {
        match &scene.body {
            SceneBody::Block(block) => Ok(Self { scene, block }),
            SceneBody::Lattice { .. } => Err(TouchError::NotABlock {
                scene: scene.name.clone(),
            }),
        }
    }

    /// The scene on a finer mesh.
    pub(super) fn finer(&self) -> Scene {
        let mut block = self.block.clone();
        block.zone.cell_m *= FINER;
        let body = SceneBody::Block(block);
        Scene {
            body,
            ..self.scene.clone()
        }
    }

    /// The parameters, with names.
    pub(super) fn parts(&self) -> Vec<(Part, String)> {
        let layers = self.block.layers.iter().enumerate();
        let layers = layers.map(|(index, layer)| (Part::Layer(index), layer.name.clone()));
        let inclusions = self.block.inclusions.iter().enumerate();
        let contrasts = inclusions
            .map(|(index, ball)| (Part::Contrast(index), format!("{} contrast", ball.name)));
        layers.chain(contrasts).collect()
    }

    /// Value of a parameter in the scene.
    pub(super) fn value(&self, part: Part) -> f64 {
        let layer = |index: usize| self.block.layers[index].material.young_pa();
        match part {
            Part::Layer(index) => layer(index),
            Part::Contrast(index) => {
                let ball = &self.block.inclusions[index];
                // a scene has a layer
                ball.material.young_pa() / self.block.host(ball).map_or(1.0, layer)
            }
        }
    }

    /// The scene with every parameter times the exponential of its entry.
    pub(super) fn scaled(&self, logs: &[f64]) -> Result<Scene, BlockError> {
        let mut block = self.block.clone();
        let (layer_logs, contrast_logs) = logs.split_at(block.layers.len().min(logs.len()));
        for (layer, &log) in block.layers.iter_mut().zip(layer_logs) {
            layer.material = scaled(&layer.material, log, &layer.name)?;
        }
        for (ball, &log) in block.inclusions.iter_mut().zip(contrast_logs) {
            let host = self.block.host(ball).map_or(0.0, |host| layer_logs[host]);
            ball.material = scaled(&ball.material, log + host, &ball.name)?;
        }
        let mut scene = self.scene.clone();
        for (index, lump) in scene.lumps.iter_mut().enumerate() {
            lump.factor *= contrast_logs.get(index).map_or(1.0, |&log| libm::exp(log));
        }
        scene.body = SceneBody::Block(block);
        Ok(scene)
    }

    /// Mean force along z of every bin \[N\], with the record moved up by `height_m`.
    pub(super) fn forces_n(
        &self,
        logs: &[f64],
        height_m: f64,
        touch: &Touch,
    ) -> Result<Vec<f64>, TouchError> {
        let scene = self.scaled(logs)?;
        let SceneBody::Block(block) = &scene.body else {
            return Ok(Vec::new());
        };
        let mut tissue = block.build()?;
        let mut reaction = [Reaction::default()];
        let bins = touch.moves.chunks(touch.size).map(|moves| {
            let mut sum_n = 0.0;
            for step in moves.iter().filter(|step| step.lively) {
                let mut tool = scene.tool_at(step.position_m + Vec3::new(0.0, 0.0, height_m));
                tool.velocity_mps = step.velocity_mps;
                tissue.step(&[tool], step.dt_s, &mut reaction);
                sum_n += reaction[0].force_n.z;
            }
            sum_n / moves.len() as f64
        });
        Ok(bins.collect())
    }
}

fn scaled(material: &Material, log: f64, name: &str) -> Result<Material, BlockError> {
    let young_pa = material.young_pa() * libm::exp(log);
    Material::new(young_pa, material.poisson(), material.density_kgpm3()).map_err(|source| {
        BlockError::Material {
            field: name.to_owned(),
            source,
        }
    })
}
