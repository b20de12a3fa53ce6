//! Model of the record: the scene with trial moduli, touched with the recorded motion.
//!
//! Source: ours. Parameters are logarithms of factors: on a layer's modulus, which its inclusions share; on
//! an inclusion's contrast to its layer; and on depth and radius of an inclusion that was searched for.
//! The position of such an inclusion is a parameter too, over the tool's radius.

use std::ops::Range;

use palpate_scene::{Block, Inclusion, NearbyMaps, Scene, SceneBody, SceneError};
use palpate_twin::law::Material;
use palpate_twin::{Reaction, Snapshot, Tissue, Vec3};

use super::record::{SingleTouch, TouchRecord};
use super::solve::Solution;
use super::{PRIOR_LOG_SD, SceneParameter, TouchError};

/// Cell length of the finer mesh over the scene's.
const FINER: f64 = 0.75;
/// Distance up to which an inclusion affects a touch, over the tool's radius.
const REACH: f64 = 2.2;
/// Least depth of a searched inclusion's centre, over its radius.
const DEPTH_RATIO_MIN: f64 = 1.05;
/// Standard deviation of the prior of a searched lump's contrast, in its logarithm: nodules are ten
/// times as stiff as their tissue, or three, or thirty.
const CONTRAST_LOG: f64 = 1.1;
/// The same of its depth and of its radius.
const SHAPE_LOG: f64 = 0.4;
/// The same of its place along x and y, over the tool's radius.
const PLACE_RADII: f64 = 0.75;
/// Initial values of a search: stiffness over that of the surrounding layer, centre's depth and radius over the
/// tool's radius. Smaller or deeper lumps are hardly measurable.
const SEED_RATIOS: [f64; 3] = [10.0, 1.0, 0.5];

/// Modelled force in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ModelForce {
    /// Mean force along z \[N\].
    pub(super) force_n: f64,
    /// Mean rate of the force \[N/s\].
    pub(super) rate_nps: f64,
}

/// A block whose moduli may vary.
#[derive(Debug, Clone)]
pub(super) struct BlockModel<'a> {
    pub(super) scene: &'a Scene,
    block: &'a Block,
    /// Inclusions whose depth, radius and position vary as well.
    searched: Range<usize>,
    pub(super) maps: NearbyMaps,
}

impl<'a> BlockModel<'a> {
    /// Creates the model of a scene, with maps of the same mesh.
    pub(super) fn of_scene(scene: &'a Scene, maps: NearbyMaps) -> Result<Self, TouchError> {
        match &scene.body {
            SceneBody::Block(block) => Ok(Self {
                scene,
                block,
                maps,
                searched: block.inclusions.len()..block.inclusions.len(),
            }),
            SceneBody::Lattice { .. }
            | SceneBody::Flat(_)
            | SceneBody::VoxelBlock(_)
            | SceneBody::VoxelBody(_)
            | SceneBody::Mesh(_) => Err(TouchError::NotABlock {
                scene: scene.name.clone(),
            }),
        }
    }

    /// Returns the model in which the inclusions from `first` on were searched for.
    pub(super) fn with_searched(self, first: usize) -> Self {
        let searched = first..self.block.inclusions.len();
        Self { searched, ..self }
    }

    /// Number of inclusions.
    pub(super) fn inclusions(&self) -> usize {
        self.block.inclusions.len()
    }

    /// Scene with one more lump at the start of a search: the host's material, but stiffer.
    pub(super) fn with_lump(&self, place_m: [f64; 2]) -> Scene {
        let radius_m = self.scene.tool_radius_m;
        let [contrast, depth, size] = SEED_RATIOS;
        let mut block = self.block.clone();
        let depth_m = (depth * radius_m).min(0.5 * block.size_m[2]);
        let name = match block.inclusions.len() {
            0 => "lump".to_owned(),
            before => format!("lump {}", before + 1),
        };
        let mut ball = Inclusion {
            name,
            centre_m: Vec3::new(place_m[0], place_m[1], -depth_m),
            radius_m: size * radius_m,
            solid: None,
            material: block.layers[0].material,
        };
        ball.material = block.layers[block.host_layer(&ball).unwrap_or(0)].material;
        // ten times a valid modulus is valid as well
        ball.material =
            scaled_material(&ball.material, libm::log(contrast), "lump").unwrap_or(ball.material);
        block.inclusions.push(ball);
        let mut scene = self.scene.clone();
        scene.lumps = block.lumps();
        scene.body = SceneBody::Block(block);
        scene
    }

    /// True if the last inclusion was fitted stiffer than its layer.
    pub(super) fn stiffens(&self, fitted: &Solution) -> bool {
        let last = SceneParameter::Contrast(self.inclusions().saturating_sub(1));
        let scene = self.scene_with(&fitted.parameter_changes());
        scene.is_ok_and(|scene| Self::value(&scene, last) > 1.0)
    }

    /// Returns the model of the same parameters on the mesh of another scene, with the map of the changed moduli alone.
    pub(super) fn for_scene<'b>(
        &self,
        scene: &'b Scene,
        changes: &[f64],
    ) -> Result<BlockModel<'b>, TouchError> {
        let mut body =
            BlockModel::of_scene(scene, self.maps.clone())?.with_searched(self.searched.start);
        body.maps = body.scene_with(changes)?.single_map()?;
        Ok(body)
    }

    /// Moves the maps to the changed moduli if those are too far from them; returns true if they moved.
    pub(super) fn move_maps(&mut self, changes: &[f64]) -> Result<bool, TouchError> {
        let scene = self.scene_with(changes)?;
        let is_far = !self.maps.are_near(&scene);
        if is_far {
            self.maps = self.maps.clone().moved_to(&scene)?;
        }
        Ok(is_far)
    }

    /// Scene on a finer mesh.
    pub(super) fn finer(&self) -> Scene {
        let mut block = self.block.clone();
        block.zone.cell_m *= FINER;
        let body = SceneBody::Block(block);
        Scene {
            body,
            ..self.scene.clone()
        }
    }

    /// Parameters: layers, contrasts, then depth, radius and position of searched inclusions.
    pub(super) fn parameters(&self) -> Vec<SceneParameter> {
        let layers = (0..self.block.layers.len()).map(SceneParameter::Layer);
        let contrasts = (0..self.block.inclusions.len()).map(SceneParameter::Contrast);
        let shapes = self.searched.clone().flat_map(|ball| {
            let places = [0, 1].map(|axis| SceneParameter::Place(ball, axis));
            [
                SceneParameter::Depth(ball),
                SceneParameter::Radius(ball),
                places[0],
                places[1],
            ]
        });
        layers.chain(contrasts).chain(shapes).collect()
    }

    /// Name of a parameter.
    pub(super) fn name(&self, part: SceneParameter) -> String {
        let ball = |index: usize| &self.block.inclusions[index].name;
        match part {
            SceneParameter::Layer(index) => self.block.layers[index].name.clone(),
            SceneParameter::Contrast(index) => format!("{} contrast", ball(index)),
            SceneParameter::Depth(index) => format!("{} depth", ball(index)),
            SceneParameter::Radius(index) => format!("{} radius", ball(index)),
            SceneParameter::Place(index, axis) => format!("{} {}", ball(index), ["x", "y"][axis]),
        }
    }

    /// Standard deviation of a parameter's prior.
    pub(super) fn prior(&self, part: SceneParameter) -> f64 {
        match part {
            SceneParameter::Contrast(index) if self.searched.contains(&index) => CONTRAST_LOG,
            SceneParameter::Layer(_) | SceneParameter::Contrast(_) => PRIOR_LOG_SD,
            SceneParameter::Depth(_) | SceneParameter::Radius(_) => SHAPE_LOG,
            SceneParameter::Place(..) => PLACE_RADII,
        }
    }

    /// Size of one unit of a parameter in the unit of [`super::ParameterEstimate::sd`].
    pub(super) fn unit(&self, part: SceneParameter) -> f64 {
        match part {
            SceneParameter::Place(..) => self.scene.tool_radius_m,
            _ => 1.0,
        }
    }

    /// Position of the inclusion of a parameter, which affects only touches near it; none for a layer.
    fn inclusion_place_m(&self, part: SceneParameter) -> Option<[f64; 2]> {
        let centre_m = self.block.inclusions[part.inclusion()?].centre_m;
        Some([centre_m.x, centre_m.y])
    }

    /// True if a parameter can affect a touch.
    pub(super) fn affects(&self, part: SceneParameter, visit: &SingleTouch) -> bool {
        let reach_m = REACH * self.scene.tool_radius_m;
        self.inclusion_place_m(part)
            .is_none_or(|place_m| visit.distance_m(place_m) < reach_m)
    }

    /// True if an inclusion of the scene can affect a touch.
    pub(super) fn reaches_inclusion(&self, visit: &SingleTouch) -> bool {
        let mut balls = (0..self.block.inclusions.len()).map(SceneParameter::Contrast);
        balls.any(|part| self.affects(part, visit))
    }

    /// Value of a parameter in a scene.
    pub(super) fn value(scene: &Scene, part: SceneParameter) -> f64 {
        let SceneBody::Block(block) = &scene.body else {
            return f64::NAN;
        };
        let layer = |index: usize| block.layers[index].material.young_pa();
        match part {
            SceneParameter::Layer(index) => layer(index),
            SceneParameter::Contrast(index) => {
                let ball = &block.inclusions[index];
                // a scene has a layer
                ball.material.young_pa() / block.host_layer(ball).map_or(1.0, layer)
            }
            SceneParameter::Depth(index) => -block.inclusions[index].centre_m.z,
            SceneParameter::Radius(index) => block.inclusions[index].radius_m,
            SceneParameter::Place(index, axis) => block.inclusions[index].centre_m[axis],
        }
    }

    /// Scene with every parameter changed by its entry.
    pub(super) fn scene_with(&self, changes: &[f64]) -> Result<Scene, SceneError> {
        let mut block = self.block.clone();
        let of = |wanted: SceneParameter| {
            let mut pairs = self.parameters().into_iter().zip(changes);
            pairs
                .find(|(part, _)| *part == wanted)
                .map_or(0.0, |(_, change)| *change)
        };
        for (index, layer) in block.layers.iter_mut().enumerate() {
            layer.material = scaled_material(
                &layer.material,
                of(SceneParameter::Layer(index)),
                &layer.name,
            )?;
        }
        for (index, ball) in block.inclusions.iter_mut().enumerate() {
            let host = self.block.host_layer(ball);
            let log = of(SceneParameter::Contrast(index))
                + host.map_or(0.0, |host| of(SceneParameter::Layer(host)));
            ball.material = scaled_material(&ball.material, log, &ball.name)?;
            if self.searched.contains(&index) {
                self.reshape(index, ball, of);
            }
        }
        let mut scene = self.scene.clone();
        scene.lumps = block.lumps();
        scene.body = SceneBody::Block(block);
        Ok(scene)
    }

    fn reshape(&self, index: usize, ball: &mut Inclusion, of: impl Fn(SceneParameter) -> f64) {
        let [x, y, z] = self.block.size_m;
        let factor = |part: SceneParameter| libm::exp(of(part));
        ball.radius_m = (ball.radius_m * factor(SceneParameter::Radius(index))).min(0.25 * z);
        let depth_m = -ball.centre_m.z * factor(SceneParameter::Depth(index));
        let shift = |axis: usize| self.scene.tool_radius_m * of(SceneParameter::Place(index, axis));
        ball.centre_m.x = (ball.centre_m.x + shift(0)).clamp(-0.5 * x, 0.5 * x);
        ball.centre_m.y = (ball.centre_m.y + shift(1)).clamp(-0.5 * y, 0.5 * y);
        // keeps the inclusion inside the block
        let [least_m, most_m] = [
            DEPTH_RATIO_MIN * ball.radius_m,
            z - DEPTH_RATIO_MIN * ball.radius_m,
        ];
        ball.centre_m.z = -depth_m.clamp(least_m, most_m);
    }

    /// Modelled forces of all bins, with the record moved up by `height_m`. If `only` one parameter changes, touches that it
    /// does not affect keep their forces.
    pub(super) fn forces(
        &self,
        changes: &[f64],
        height_m: f64,
        touch: &TouchRecord,
        only: Option<SingleChange<'_>>,
    ) -> Result<Vec<ModelForce>, TouchError> {
        let scene = self.scene_with(changes)?;
        let mut tissue = scene.build_with_maps(&self.maps)?;
        let rest = Snapshot::of(tissue.as_ref());
        let mut all = Vec::with_capacity(touch.bins().count());
        for visit in &touch.touches {
            match only.filter(|only| !self.affects(only.parameter, visit)) {
                None => {
                    // the snapshot is of this tissue, so it fits
                    let _ = tissue.restore(&rest);
                    let forces =
                        simulate_touch(tissue.as_mut(), &scene, height_m, visit, touch.bin_samples);
                    all.extend(forces);
                }
                Some(only) => {
                    let unchanged = all.len()..all.len() + visit.bins.len();
                    all.extend_from_slice(&only.base_forces[unchanged]);
                }
            }
        }
        Ok(all)
    }
}

/// A change of one parameter, and the forces of all bins before it.
#[derive(Clone, Copy)]
pub(super) struct SingleChange<'a> {
    pub(super) parameter: SceneParameter,
    pub(super) base_forces: &'a [ModelForce],
}

/// Simulates a touch of a tissue at rest.
fn simulate_touch(
    tissue: &mut dyn Tissue,
    scene: &Scene,
    height_m: f64,
    visit: &SingleTouch,
    size: usize,
) -> Vec<ModelForce> {
    let mut all = Vec::with_capacity(visit.bins.len());
    let mut reaction = [Reaction::default()];
    let mut last_n = 0.0;
    for moves in visit.motions.chunks(size) {
        let (mut sum_n, mut long_s, first_n) = (0.0, 0.0, last_n);
        for step in moves {
            let mut tool = scene.tool_at(step.position_m + Vec3::new(0.0, 0.0, height_m));
            tool.velocity_mps = step.velocity_mps;
            tissue.step(&[tool], step.dt_s, &mut reaction);
            last_n = reaction[0].force_n.z;
            sum_n += last_n;
            long_s += step.dt_s;
        }
        all.push(ModelForce {
            force_n: sum_n / moves.len() as f64,
            rate_nps: (last_n - first_n) / long_s,
        });
    }
    all
}

fn scaled_material(material: &Material, log: f64, name: &str) -> Result<Material, SceneError> {
    let scaled = material.scaled(libm::exp(log));
    scaled.map_err(|source| SceneError::in_field(name, source))
}
