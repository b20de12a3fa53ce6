//! The scene with other moduli, touched as the record was.
//!
//! Source: ours. Parameters are logarithms of factors: on a layer's modulus, which inclusions in it
//! share, on an inclusion's contrast to its layer, and on depth and radius of an inclusion that was
//! searched for; and the places of such ones, over the tool's radius.

use std::ops::Range;

use palpate_scene::{Block, BlockError, Body as SceneBody, Inclusion, Scene};
use palpate_twin::law::Material;
use palpate_twin::{Reaction, Snapshot, Tissue, Vec3};

use super::record::{Touch, Visit};
use super::solve::Fitted;
use super::{Part, Settings, TouchError};

/// Edges of a finer mesh over those of the scene's.
const FINER: f64 = 0.75;
/// How far an inclusion acts on a touch, over the tool's radius.
const REACH: f64 = 2.2;
/// Least depth of a searched inclusion's centre, over its radius.
const SUNK: f64 = 1.05;
/// Standard deviation of the prior of a searched lump's contrast, in its logarithm: nodules are ten
/// times as stiff as their tissue, or three, or thirty.
const CONTRAST_LOG: f64 = 1.1;
/// The same of its depth and of its radius.
const SHAPE_LOG: f64 = 0.4;
/// The same of its place along x and y, over the tool's radius.
const PLACE_RADII: f64 = 0.75;
/// Where a search begins: stiffness over that of the layer around, centre's depth and radius over the
/// tool's radius. Smaller or deeper ones can hardly be felt.
const START: [f64; 3] = [10.0, 1.0, 0.5];

/// What the model says of one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Pushed {
    /// Mean force along z \[N\].
    pub(super) force_n: f64,
    /// Mean rate of that \[N/s\].
    pub(super) rate_nps: f64,
}

/// A block whose moduli may vary.
#[derive(Debug, Clone)]
pub(super) struct Body<'a> {
    pub(super) scene: &'a Scene,
    block: &'a Block,
    /// Inclusions whose depth, radius and place vary as well.
    searched: Range<usize>,
}

impl<'a> Body<'a> {
    pub(super) fn of(scene: &'a Scene) -> Result<Self, TouchError> {
        match &scene.body {
            SceneBody::Block(block) => Ok(Self {
                scene,
                block,
                searched: block.inclusions.len()..block.inclusions.len(),
            }),
            SceneBody::Lattice { .. }
            | SceneBody::Flat(_)
            | SceneBody::Linked(_)
            | SceneBody::Voxels(_)
            | SceneBody::Mesh(_) => Err(TouchError::NotABlock {
                scene: scene.name.clone(),
            }),
        }
    }

    /// The same scene, of which the inclusions from this one on were searched for.
    pub(super) fn searching(self, first: usize) -> Self {
        let searched = first..self.block.inclusions.len();
        Self { searched, ..self }
    }

    /// Number of inclusions.
    pub(super) fn inclusions(&self) -> usize {
        self.block.inclusions.len()
    }

    /// The scene with one more lump, as a search begins with it: of the host's material, but stiffer.
    pub(super) fn seeded(&self, place_m: [f64; 2]) -> Scene {
        let radius_m = self.scene.tool_radius_m;
        let [contrast, depth, size] = START;
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
            material: block.layers[0].material,
        };
        ball.material = block.layers[block.host(&ball).unwrap_or(0)].material;
        // ten times a modulus that is fit is fit as well
        ball.material =
            scaled(&ball.material, libm::log(contrast), "lump").unwrap_or(ball.material);
        block.inclusions.push(ball);
        let mut scene = self.scene.clone();
        scene.lumps = block.lumps();
        scene.body = SceneBody::Block(block);
        scene
    }

    /// Whether the last inclusion came out stiffer than its layer.
    pub(super) fn stiffens(&self, fitted: &Fitted) -> bool {
        let last = Part::Contrast(self.inclusions().saturating_sub(1));
        let scene = self.scaled(&fitted.changes());
        scene.is_ok_and(|scene| Self::value(&scene, last) > 1.0)
    }

    /// The same choice of parameters in another scene of the same layers and inclusions.
    pub(super) fn like<'b>(&self, scene: &'b Scene) -> Result<Body<'b>, TouchError> {
        Ok(Body::of(scene)?.searching(self.searched.start))
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

    /// The parameters: layers, contrasts, then depth, radius and place of what was searched for.
    pub(super) fn parts(&self) -> Vec<Part> {
        let layers = (0..self.block.layers.len()).map(Part::Layer);
        let contrasts = (0..self.block.inclusions.len()).map(Part::Contrast);
        let shapes = self.searched.clone().flat_map(|ball| {
            let places = [0, 1].map(|axis| Part::Place(ball, axis));
            [Part::Depth(ball), Part::Radius(ball), places[0], places[1]]
        });
        layers.chain(contrasts).chain(shapes).collect()
    }

    /// Name of a parameter.
    pub(super) fn name(&self, part: Part) -> String {
        let ball = |index: usize| &self.block.inclusions[index].name;
        match part {
            Part::Layer(index) => self.block.layers[index].name.clone(),
            Part::Contrast(index) => format!("{} contrast", ball(index)),
            Part::Depth(index) => format!("{} depth", ball(index)),
            Part::Radius(index) => format!("{} radius", ball(index)),
            Part::Place(index, axis) => format!("{} {}", ball(index), ["x", "y"][axis]),
        }
    }

    /// Standard deviation of a parameter's prior.
    pub(super) fn prior(&self, part: Part, settings: &Settings) -> f64 {
        match part {
            Part::Contrast(index) if self.searched.contains(&index) => CONTRAST_LOG,
            Part::Layer(_) | Part::Contrast(_) => settings.prior_log,
            Part::Depth(_) | Part::Radius(_) => SHAPE_LOG,
            Part::Place(..) => PLACE_RADII,
        }
    }

    /// What one unit of a parameter is in the measure of [`super::Estimate::sd`].
    pub(super) fn measure(&self, part: Part) -> f64 {
        match part {
            Part::Place(..) => self.scene.tool_radius_m,
            _ => 1.0,
        }
    }

    /// Where an inclusion is that only touches near it can feel; none for what all touches feel.
    fn near_m(&self, part: Part) -> Option<[f64; 2]> {
        let centre_m = self.block.inclusions[part.inclusion()?].centre_m;
        Some([centre_m.x, centre_m.y])
    }

    /// Whether a parameter can matter to a visit.
    pub(super) fn is_felt(&self, part: Part, visit: &Visit) -> bool {
        let reach_m = REACH * self.scene.tool_radius_m;
        self.near_m(part)
            .is_none_or(|place_m| visit.distance_m(place_m) < reach_m)
    }

    /// Whether an inclusion of the scene can matter to a visit.
    pub(super) fn knows(&self, visit: &Visit) -> bool {
        let mut balls = (0..self.block.inclusions.len()).map(Part::Contrast);
        balls.any(|part| self.is_felt(part, visit))
    }

    /// Value of a parameter in a scene.
    pub(super) fn value(scene: &Scene, part: Part) -> f64 {
        let SceneBody::Block(block) = &scene.body else {
            return f64::NAN;
        };
        let layer = |index: usize| block.layers[index].material.young_pa();
        match part {
            Part::Layer(index) => layer(index),
            Part::Contrast(index) => {
                let ball = &block.inclusions[index];
                // a scene has a layer
                ball.material.young_pa() / block.host(ball).map_or(1.0, layer)
            }
            Part::Depth(index) => -block.inclusions[index].centre_m.z,
            Part::Radius(index) => block.inclusions[index].radius_m,
            Part::Place(index, axis) => block.inclusions[index].centre_m[axis],
        }
    }

    /// The scene with every parameter changed by its entry.
    pub(super) fn scaled(&self, changes: &[f64]) -> Result<Scene, BlockError> {
        let mut block = self.block.clone();
        let of = |wanted: Part| {
            let mut pairs = self.parts().into_iter().zip(changes);
            pairs
                .find(|(part, _)| *part == wanted)
                .map_or(0.0, |(_, change)| *change)
        };
        for (index, layer) in block.layers.iter_mut().enumerate() {
            layer.material = scaled(&layer.material, of(Part::Layer(index)), &layer.name)?;
        }
        for (index, ball) in block.inclusions.iter_mut().enumerate() {
            let host = self.block.host(ball);
            let log = of(Part::Contrast(index)) + host.map_or(0.0, |host| of(Part::Layer(host)));
            ball.material = scaled(&ball.material, log, &ball.name)?;
            if self.searched.contains(&index) {
                self.reshape(index, ball, of);
            }
        }
        let mut scene = self.scene.clone();
        scene.lumps = block.lumps();
        scene.body = SceneBody::Block(block);
        Ok(scene)
    }

    fn reshape(&self, index: usize, ball: &mut Inclusion, of: impl Fn(Part) -> f64) {
        let [x, y, z] = self.block.size_m;
        let factor = |part: Part| libm::exp(of(part));
        ball.radius_m = (ball.radius_m * factor(Part::Radius(index))).min(0.25 * z);
        let depth_m = -ball.centre_m.z * factor(Part::Depth(index));
        let shift = |axis: usize| self.scene.tool_radius_m * of(Part::Place(index, axis));
        ball.centre_m.x = (ball.centre_m.x + shift(0)).clamp(-0.5 * x, 0.5 * x);
        ball.centre_m.y = (ball.centre_m.y + shift(1)).clamp(-0.5 * y, 0.5 * y);
        // all of it inside
        let [least_m, most_m] = [SUNK * ball.radius_m, z - SUNK * ball.radius_m];
        ball.centre_m.z = -depth_m.clamp(least_m, most_m);
    }

    /// What every bin says, with the record moved up by `height_m`; if `only` one part is another, visits that do not
    /// feel it say what they said.
    pub(super) fn pushed(
        &self,
        changes: &[f64],
        height_m: f64,
        touch: &Touch,
        only: Option<Only<'_>>,
    ) -> Result<Vec<Pushed>, TouchError> {
        let scene = self.scaled(changes)?;
        let SceneBody::Block(block) = &scene.body else {
            return Ok(Vec::new());
        };
        let mut tissue = block.build()?;
        let rest = Snapshot::of(tissue.as_ref());
        let mut all = Vec::with_capacity(touch.bins().count());
        for visit in &touch.visits {
            match only.filter(|only| !self.is_felt(only.part, visit)) {
                None => {
                    // a snapshot of this very tissue fits it
                    let _ = tissue.thaw(&rest);
                    let said = run(tissue.as_mut(), &scene, height_m, visit, touch.size);
                    all.extend(said);
                }
                Some(only) => {
                    let kept = all.len()..all.len() + visit.bins.len();
                    all.extend_from_slice(&only.known[kept]);
                }
            }
        }
        Ok(all)
    }
}

/// One part that alone is another, and what every bin said before.
#[derive(Clone, Copy)]
pub(super) struct Only<'a> {
    pub(super) part: Part,
    pub(super) known: &'a [Pushed],
}

/// Touches a tissue at rest as a visit did.
fn run(
    tissue: &mut dyn Tissue,
    scene: &Scene,
    height_m: f64,
    visit: &Visit,
    size: usize,
) -> Vec<Pushed> {
    let mut all = Vec::with_capacity(visit.bins.len());
    let mut reaction = [Reaction::default()];
    let mut last_n = 0.0;
    for moves in visit.moves.chunks(size) {
        let (mut sum_n, mut long_s, first_n) = (0.0, 0.0, last_n);
        for step in moves {
            let mut tool = scene.tool_at(step.position_m + Vec3::new(0.0, 0.0, height_m));
            tool.velocity_mps = step.velocity_mps;
            tissue.step(&[tool], step.dt_s, &mut reaction);
            last_n = reaction[0].force_n.z;
            sum_n += last_n;
            long_s += step.dt_s;
        }
        all.push(Pushed {
            force_n: sum_n / moves.len() as f64,
            rate_nps: (last_n - first_n) / long_s,
        });
    }
    all
}

fn scaled(material: &Material, log: f64, name: &str) -> Result<Material, BlockError> {
    let young_pa = material.young_pa() * libm::exp(log);
    let elastic = Material::new(young_pa, material.poisson(), material.density_kgpm3());
    let elastic = elastic.map_err(|source| BlockError::Material {
        field: name.to_owned(),
        source,
    })?;
    let whole = elastic.with_viscosity(material.viscosity());
    whole.map_err(|source| BlockError::Viscosity {
        field: name.to_owned(),
        source,
    })
}
