//! Gradual change of a tissue from one scene to another during contact, by a series of small edits.
//!
//! Source: teleop E16 (passive model update); the steps are ours. Force is homogeneous of degree one in all
//! moduli together, and no region contributes more than all of it. So a relative change of a region's modulus
//! changes the force by at most that fraction, and by twice that during transients. Edits are passive:
//! dissipated energy pays for the stored energy of a stiffening, and the unpaid part is
//! requested again. Soft tissue at rest dissipates little, so most of a stiffening waits until
//! the tool has left; a softening does not wait.

use super::layered::{self, LayerMaterial as _};
use super::{Inclusion, Layer, Scene, SceneBody};
use palpate_twin::law::{LawFamily, Material, Viscosity};
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, EditReport};
use palpate_voxel::VoxelParams;
use palpate_voxel::material::VoxelMaterial;

/// Largest change of a modulus in one edit of a tissue in contact, as a logarithm: less than 1 % of the force,
/// transients included.
pub const MORPH_STEP_LOG: f64 = 0.004;
/// Remaining change, as a logarithm, below which a region is done: not perceptible.
const DONE_LOG: f64 = 1e-3;

/// Reason that a tissue cannot change from one scene to another.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MorphError {
    /// A scene has no layers.
    #[error(
        "scene `{scene}` has no layers; expected one with the table [block], or [linked] and no [volume]"
    )]
    NoLayers {
        /// Name of the scene.
        scene: String,
    },
    /// The scenes differ in more than stiffness and further inclusions.
    #[error("{what} differ; expected scenes that differ in stiffness and further inclusions only")]
    Shape {
        /// Part that differs.
        what: &'static str,
    },
}

/// Remaining change of one region.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RegionChange {
    shape: RegionShape,
    log: f64,
}

/// Series of edits from one scene to another.
///
/// A caller requests [`MorphSteps::next_edit`] about every 20 ms, applies the edit to the tissue, and reports the result
/// to [`MorphSteps::record`]. Nothing allocates but [`MorphSteps::between`].
#[derive(Debug, Clone, PartialEq)]
pub struct MorphSteps {
    remaining: Vec<RegionChange>,
    /// Region of the last edit.
    last: usize,
    /// Region of the pending edit, and its size.
    pending: Option<(usize, f64)>,
}

impl MorphSteps {
    /// Creates the edits from the scene of a tissue to another, such as one that was identified from touch.
    ///
    /// An inclusion is changed relative to its layer. Where it reaches into another layer, it also has the
    /// change of that layer, so that there the result differs slightly from the scene.
    ///
    /// # Errors
    /// [`MorphError`] if the scenes differ in more than stiffness and further inclusions.
    pub fn between(now: &Scene, wanted: &Scene) -> Result<Self, MorphError> {
        let (from, to) = (LayerStack::of(now)?, LayerStack::of(wanted)?);
        from.fits(&to)?;
        let layer_log =
            |index: usize| libm::log(to.layers[index].modulus_pa / from.layers[index].modulus_pa);
        let layers = (0..from.layers.len()).map(layer_log);
        let balls = to.balls.iter().enumerate().map(|(index, &(_, host, own))| {
            libm::log(own.modulus_pa / from.before(index, host).modulus_pa) - layer_log(host)
        });
        let balls_of = to.balls.iter().map(|(shape, _, _)| *shape);
        let shapes = to.shapes.iter().copied().chain(balls_of);
        let left = shapes
            .zip(layers.chain(balls))
            .map(|(shape, log)| RegionChange { shape, log });
        Ok(Self {
            remaining: left.collect(),
            last: 0,
            pending: None,
        })
    }

    /// True if all changes are done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.remaining.iter().all(|left| left.log.abs() < DONE_LOG)
    }

    /// Returns the next edit, of one region after another: a small step in a tissue that is `touched`, the whole
    /// change in one without contact. None once all is done.
    pub fn next_edit(&mut self, touched: bool) -> Option<Edit<'static>> {
        let count = self.remaining.len();
        let mut turns = (1..=count).map(|turn| (self.last + turn) % count);
        let region = turns.find(|&region| self.remaining[region].log.abs() >= DONE_LOG)?;
        let left = self.remaining[region];
        self.last = region;
        let most = if touched { MORPH_STEP_LOG } else { f64::MAX };
        let log = left.log.clamp(-most, most);
        self.pending = Some((region, log));
        Some(Edit::Scale {
            shape: left.shape,
            factor: libm::exp(log),
            passive: true,
        })
    }

    /// Records the result of the last edit; a refused edit is not reported.
    pub fn record(&mut self, report: &EditReport) {
        let Some((region, log)) = self.pending.take() else {
            return;
        };
        let share = report.applied_fraction.clamp(0.0, 1.0);
        self.remaining[region].log -= libm::log1p(share * libm::expm1(log));
    }
}

/// Material of a region.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RegionMaterial<'a> {
    /// Modulus \[Pa\].
    modulus_pa: f64,
    /// Law, for a region of finite elements.
    law: Option<LawFamily>,
    /// Viscosity, which a change of stiffness keeps.
    viscosity: Viscosity,
    /// Other properties, for a region of a voxel model.
    link_material: Option<&'a VoxelMaterial>,
}

impl RegionMaterial<'_> {
    /// True if another material differs at most in stiffness.
    fn same_but_stiffness(&self, other: &Self) -> bool {
        let fixed_properties = |region: &Self| {
            let material = region.link_material?;
            Some((material.limits, material.toughness_jpm2))
        };
        fixed_properties(self) == fixed_properties(other)
    }
}

/// Range of the total factor of edits on a stiffness.
const FACTOR_RANGE: core::ops::RangeInclusive<f64> = 0.02..=50.0;

/// Layers and inclusions of a scene.
#[derive(Debug, Clone, PartialEq)]
struct LayerStack<'a> {
    /// Edges, and for a voxel model the distance of nodes \[m\].
    edges_m: Vec<f64>,
    /// Thickness of the layers \[m\].
    thickness_m: Vec<f64>,
    /// Parameters of a voxel model.
    params: Option<VoxelParams>,
    shapes: Vec<RegionShape>,
    layers: Vec<RegionMaterial<'a>>,
    /// Shape, layer and material of each ball.
    balls: Vec<(RegionShape, usize, RegionMaterial<'a>)>,
}

impl<'a> LayerStack<'a> {
    fn of(scene: &'a Scene) -> Result<Self, MorphError> {
        match &scene.body {
            SceneBody::Block(block) => {
                let of = |material: &'a Material| RegionMaterial {
                    modulus_pa: material.stiffness_pa(),
                    law: Some(material.law().unwrap_or(block.params.law)),
                    viscosity: material.viscosity(),
                    link_material: None,
                };
                let shapes = block.regions().iter().map(|region| region.shape).collect();
                let stack = Self::new(&block.layers, &block.inclusions, shapes, of);
                Ok(Self {
                    edges_m: block.size_m.to_vec(),
                    ..stack
                })
            }
            SceneBody::VoxelBlock(block) => {
                let of = |material: &'a VoxelMaterial| RegionMaterial {
                    modulus_pa: material.stiffness_pa(),
                    law: None,
                    viscosity: Viscosity::NONE,
                    link_material: Some(material),
                };
                let stack = Self::new(&block.layers, &block.inclusions, block.shapes(), of);
                let edges_m = block.size_m.iter().copied().chain([block.spacing_m]);
                Ok(Self {
                    edges_m: edges_m.collect(),
                    params: Some(block.params),
                    ..stack
                })
            }
            SceneBody::Lattice { .. }
            | SceneBody::Flat(_)
            | SceneBody::VoxelBody(_)
            | SceneBody::Mesh(_) => Err(MorphError::NoLayers {
                scene: scene.name.clone(),
            }),
        }
    }

    /// Creates a stack of layers and balls of these shapes, without edges.
    fn new<M>(
        layers: &'a [Layer<M>],
        inclusions: &'a [Inclusion<M>],
        mut shapes: Vec<RegionShape>,
        of: impl Fn(&'a M) -> RegionMaterial<'a>,
    ) -> Self {
        let of_balls = shapes.split_off(layers.len());
        let balls = of_balls.into_iter().zip(inclusions).map(|(shape, ball)| {
            let host = layered::host_layer(layers, &ball.centre_m).unwrap_or(0);
            (shape, host, of(&ball.material))
        });
        let balls = balls.collect();
        let thickness_m = layers.iter().map(|layer| layer.thickness_m);
        Self {
            edges_m: Vec::new(),
            thickness_m: thickness_m.collect(),
            params: None,
            shapes,
            layers: layers.iter().map(|layer| of(&layer.material)).collect(),
            balls,
        }
    }

    /// Material at the position of another stack's ball: the ball of the same number, or the layer around it.
    fn before(&self, index: usize, host: usize) -> &RegionMaterial<'a> {
        self.balls
            .get(index)
            .map_or(&self.layers[host], |ball| &ball.2)
    }

    /// Pairs of present and wanted material: layers, then balls.
    fn pairs<'b>(
        &'b self,
        to: &'b Self,
    ) -> impl Iterator<Item = (&'b RegionMaterial<'a>, &'b RegionMaterial<'a>)> {
        let balls = to.balls.iter().enumerate();
        let balls = balls.map(|(index, (_, host, own))| (self.before(index, *host), own));
        self.layers.iter().zip(&to.layers).chain(balls)
    }

    /// Checks that edits can reach another stack.
    fn fits(&self, to: &Self) -> Result<(), MorphError> {
        let refuse = |what| Err(MorphError::Shape { what });
        if self.edges_m != to.edges_m {
            return refuse("sizes");
        }
        if self.thickness_m != to.thickness_m {
            return refuse("layers");
        }
        if self.params != to.params {
            return refuse("parameters of links");
        }
        let mut pairs = self.balls.iter().zip(&to.balls);
        if self.balls.len() > to.balls.len() || !pairs.all(|(a, b)| a.0 == b.0) {
            return refuse("inclusions");
        }
        if self.pairs(to).any(|(a, b)| a.law != b.law) {
            return refuse("laws");
        }
        if self.pairs(to).any(|(a, b)| a.viscosity != b.viscosity) {
            return refuse("viscosities");
        }
        if !self.pairs(to).all(|(a, b)| a.same_but_stiffness(b)) {
            return refuse("limits of links, or toughness,");
        }
        if !self
            .pairs(to)
            .all(|(a, b)| FACTOR_RANGE.contains(&(b.modulus_pa / a.modulus_pa)))
        {
            return refuse("stiffnesses, by more than 50 times,");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::shape::{SolidForm, TurnedSolid};
    use palpate_twin::{Reaction, Tissue, Vec3};

    const DEPTH_M: f64 = 0.006;

    /// Default twin with other moduli and a lump.
    fn wanted(now: &Scene) -> Scene {
        let mut wanted = now.clone();
        let SceneBody::Block(block) = &mut wanted.body else {
            panic!("not a block");
        };
        for (layer, factor) in block.layers.iter_mut().zip([1.15, 1.25, 0.8]) {
            let of = layer.material;
            layer.material =
                Material::new(factor * of.young_pa(), of.poisson(), of.density_kgpm3()).unwrap();
        }
        let fat = block.layers[1].material;
        block.inclusions.push(Inclusion {
            name: "lump".into(),
            centre_m: Vec3::new(0.0, 0.0, -0.006),
            radius_m: 0.003,
            solid: None,
            material: Material::new(1.6 * fat.young_pa(), fat.poisson(), fat.density_kgpm3())
                .unwrap(),
        });
        wanted
    }

    /// Touches a tissue at a depth \[m\], moving at a speed down \[m/s\]; returns the upward force \[N\].
    fn touch(tissue: &mut dyn Tissue, scene: &Scene, depth_m: f64, speed_mps: f64) -> f64 {
        let mut tool = scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m - depth_m));
        tool.velocity_mps.z = -speed_mps;
        let mut reaction = [Reaction::default()];
        tissue.step(&[tool], 1e-3, &mut reaction);
        reaction[0].force_n.z
    }

    /// Presses to a depth in some ticks, and holds there.
    fn press(tissue: &mut dyn Tissue, scene: &Scene, depth_m: f64) -> f64 {
        for tick in 0..300 {
            touch(
                tissue,
                scene,
                depth_m * f64::from(tick) / 300.0,
                depth_m / 0.3,
            );
        }
        (0..300).fold(0.0, |_, _| touch(tissue, scene, depth_m, 0.0))
    }

    /// Edits under a tool that moves a little around one position, beside a tissue without edits. Returns the largest
    /// step of force that the motion does not explain, and the energy of the edits \[J\].
    fn edit_while_held(
        [tissue, plain]: &mut [Box<dyn Tissue>; 2],
        scene: &Scene,
        steps: &mut MorphSteps,
    ) -> (f64, f64) {
        let depth_m = |tick: u32| DEPTH_M * (1.0 + 0.02 * libm::sin(0.02 * f64::from(tick)));
        let mut last = [&mut *tissue, plain].map(|tissue| press(tissue.as_mut(), scene, DEPTH_M));
        let (mut largest, mut edit_j) = (0.0_f64, 0.0);
        for tick in 0..1500 {
            let edit = if tick % 20 == 0 {
                steps.next_edit(true)
            } else {
                None
            };
            if let Some(edit) = edit {
                let report = tissue.edit(&edit).unwrap();
                steps.record(&report);
                edit_j += report.energy_j;
            }
            let speed_mps = (depth_m(tick + 1) - depth_m(tick)) * 1e3;
            let now = [&mut *tissue, plain]
                .map(|tissue| touch(tissue.as_mut(), scene, depth_m(tick), speed_mps));
            let step = (now[0] / last[0]) / (now[1] / last[1]) - 1.0;
            largest = largest.max(step.abs());
            last = now;
            let balance = tissue.view().energy;
            // sums of cells are in single precision
            let available_j = balance.dissipated_j + 1e-6 * balance.elastic_j;
            assert!(edit_j <= available_j, "{edit_j} {balance:?}");
        }
        (largest, edit_j)
    }

    #[test]
    fn edits_during_a_press_cause_no_force_step_and_no_energy() {
        let now = crate::load("layered").unwrap();
        let goal = wanted(&now);
        let mut both = [now.build().unwrap(), now.build().unwrap()];
        let mut steps = MorphSteps::between(&now, &goal).unwrap();
        let (largest, edit_j) = edit_while_held(&mut both, &now, &mut steps);
        let [mut tissue, _] = both;
        assert!(largest > 1e-4 && largest < 0.01, "{largest}");
        assert!(edit_j.is_finite() && !steps.is_done(), "{edit_j}");
        // release: over the whole loop the tool has done work, and no net energy came back
        for tick in 0..600 {
            let up = 1.0 - f64::from(tick) / 300.0;
            touch(tissue.as_mut(), &now, DEPTH_M * up, -DEPTH_M / 0.3);
        }
        let balance = tissue.view().energy;
        assert!(balance.tool_work_j > 0.0, "{balance:?}");
        // without contact the rest is done at once
        for _ in 0..4 * steps.remaining.len() {
            if let Some(edit) = steps.next_edit(false) {
                steps.record(&tissue.edit(&edit).unwrap());
            }
        }
        assert!(steps.is_done(), "{steps:?}");
        let first_n = press(now.build().unwrap().as_mut(), &now, DEPTH_M);
        let whole_n = press(goal.build().unwrap().as_mut(), &goal, DEPTH_M);
        let after_n = press(tissue.as_mut(), &now, DEPTH_M);
        assert!(
            (after_n / whole_n - 1.0).abs() < 0.03,
            "{after_n} {whole_n}"
        );
        assert!(after_n / first_n - 1.0 > 0.1, "{after_n} {first_n}");
    }

    #[test]
    fn untouched_tissue_changes_at_once() {
        let now = crate::load("layered").unwrap();
        let goal = wanted(&now);
        let mut tissue = now.build().unwrap();
        let mut steps = MorphSteps::between(&now, &goal).unwrap();
        let mut edits = 0;
        while let Some(edit) = steps.next_edit(false) {
            steps.record(&tissue.edit(&edit).unwrap());
            edits += 1;
        }
        assert_eq!(edits, 4);
        let force_n = press(tissue.as_mut(), &now, 0.005);
        let whole_n = press(goal.build().unwrap().as_mut(), &goal, 0.005);
        // the depth map stays that of the first scene
        assert!(
            (force_n / whole_n - 1.0).abs() < 0.05,
            "{force_n} {whole_n}"
        );
    }

    #[test]
    fn unreachable_scenes_are_named() {
        let now = crate::load("layered").unwrap();
        let other = crate::load("layered-lump").unwrap();
        let error = MorphSteps::between(&now, &other).unwrap_err().to_string();
        assert!(error.contains("sizes differ"), "{error}");
        let sheet = crate::load("sheet").unwrap();
        let error = MorphSteps::between(&sheet, &now).unwrap_err().to_string();
        assert!(error.contains("sheet"), "{error}");
        let mut other = now.clone();
        let SceneBody::Block(block) = &mut other.body else {
            panic!("not a block");
        };
        let fung = Some(LawFamily::Fung { growth: 2.0 });
        block.layers[1].material = block.layers[1].material.with_law(fung).unwrap();
        let error = MorphSteps::between(&now, &other).unwrap_err().to_string();
        assert!(error.contains("laws differ"), "{error}");
        let mut other = now.clone();
        let SceneBody::Block(block) = &mut other.body else {
            panic!("not a block");
        };
        let viscosity = Viscosity {
            shear_pas: 10.0,
            ..Viscosity::NONE
        };
        let viscous = block.layers[1].material.with_viscosity(viscosity);
        block.layers[1].material = viscous.expect("in range");
        let error = MorphSteps::between(&now, &other).unwrap_err().to_string();
        assert!(error.contains("viscosities differ"), "{error}");
    }

    #[test]
    fn issue_voxel_models_could_not_be_morphed() {
        let now = crate::load("linked-nodule").unwrap();
        let with = |change: fn(&mut crate::VoxelBlock)| {
            let mut other = now.clone();
            let SceneBody::VoxelBlock(block) = &mut other.body else {
                panic!("no volume of links");
            };
            change(block);
            other
        };
        let goal = with(|block| {
            for (layer, factor) in block.layers.iter_mut().zip([1.3, 0.8, 1.2]) {
                layer.material.modulus_pa *= factor;
            }
            let last = block.layers.len() - 1;
            let mut lump = block.layers[last].material.clone();
            lump.modulus_pa *= 3.0;
            let depth_m: f64 = block.layers[..last]
                .iter()
                .map(|layer| layer.thickness_m)
                .sum();
            block.inclusions.push(Inclusion {
                name: "lump".to_owned(),
                centre_m: Vec3::new(0.0, 0.0, -depth_m - 0.004),
                radius_m: 0.0035,
                solid: Some(TurnedSolid {
                    form: SolidForm::Box,
                    half_m: Vec3::new(0.005, 0.003, 0.0035),
                    axis: [0.6, 0.8],
                }),
                material: lump,
            });
        });
        let mut tissue = now.build().unwrap();
        assert!(tissue.caps().region_edits);
        let mut steps = MorphSteps::between(&now, &goal).unwrap();
        while let Some(edit) = steps.next_edit(false) {
            steps.record(&tissue.edit(&edit).unwrap());
        }
        assert!(steps.is_done());
        let mut whole = goal.build().unwrap();
        let forces = [&mut tissue, &mut whole].map(|one| press(one.as_mut(), &now, 0.003));
        assert!((forces[0] / forces[1] - 1.0).abs() < 1e-3, "{forces:?}");
        let first_n = press(now.build().unwrap().as_mut(), &now, 0.003);
        assert!(
            (forces[1] / first_n - 1.0).abs() > 0.02,
            "{forces:?} {first_n}"
        );
        // differences that no edit of stiffness can change
        for (other, named) in [
            (
                with(|block| block.layers[0].material.toughness_jpm2 *= 2.0),
                "toughness",
            ),
            (with(|block| block.spacing_m *= 2.0), "sizes"),
            (with(|block| block.layers[0].thickness_m *= 0.5), "layers"),
            (
                with(|block| block.inclusions[0].radius_m *= 0.5),
                "inclusions",
            ),
            (with(|block| block.params.friction += 0.1), "parameters"),
            (
                with(|block| block.layers[0].material.modulus_pa *= 60.0),
                "50 times",
            ),
        ] {
            let error = MorphSteps::between(&now, &other).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
