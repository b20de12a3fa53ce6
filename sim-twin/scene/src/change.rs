//! From one scene to another in a tissue that a hand feels: one small edit after another.
//!
//! Source: teleop E16 (passive model update); the steps are ours. Force is of the first degree in all
//! moduli together, and no part of it is more than all, so that a region whose modulus changes by a
//! share changes the force by at most that share, twice that while it swings there. Edits are passive:
//! what a stiffening stores is paid from what the tissue has dissipated, and what could not be paid is
//! asked for again. Soft tissue that is held dissipates little, so that most of a stiffening waits until
//! the tool has left; a softening need not wait.

use super::linked::LinkedBlock;
use super::{Block, Body, Scene};
use palpate_twin::shape::Shape;
use palpate_twin::{Edit, EditReport};
use palpate_voxel::LinkedParams;
use palpate_voxel::matter::Matter;

/// Largest change of a modulus in one edit of a tissue that is touched, in its logarithm: with the
/// swing less than 1 % of the force.
pub const STEP_LOG: f64 = 0.004;
/// What is left of a change below which it is done: less than anybody can tell.
const DONE_LOG: f64 = 1e-3;

/// Why there is no way from one scene to another.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// A scene has no layers.
    #[error(
        "scene `{scene}` has no layers; expected one with the table [block], or [linked] and no [volume]"
    )]
    NoLayers {
        /// Its name.
        scene: String,
    },
    /// The scenes differ in more than stiffness and further inclusions.
    #[error("{what} differ; expected scenes that differ in stiffness and further inclusions only")]
    Shape {
        /// What differs.
        what: &'static str,
    },
}

/// What is left to change in one region.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Left {
    shape: Shape,
    log: f64,
}

/// The way from a scene to another, edit by edit.
///
/// Ask [`Steps::edit`] every 20 ms or so, give the edit to the tissue, and tell [`Steps::took`] what
/// came of it. Nothing here allocates but [`Steps::between`].
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    left: Vec<Left>,
    /// Region whose turn it was last.
    last: usize,
    /// Region of the edit that was asked for, and its size.
    asked: Option<(usize, f64)>,
}

impl Steps {
    /// From the scene that a tissue was built from to another, such as one that was identified from touch.
    ///
    /// An inclusion is changed beyond what its layer is; where it reaches into another layer it takes
    /// that one's change, so that there the result is not quite the scene's.
    ///
    /// # Errors
    /// [`ChangeError`] if the scenes differ in more than stiffness and further inclusions.
    pub fn between(now: &Scene, wanted: &Scene) -> Result<Self, ChangeError> {
        let (from, to) = (Stack::of(now)?, Stack::of(wanted)?);
        from.fits(&to)?;
        let layer_log = |index: usize| libm::log(to.layers[index].pa / from.layers[index].pa);
        let layers = (0..from.layers.len()).map(layer_log);
        let balls = to.balls.iter().enumerate().map(|(index, &(_, host, own))| {
            let before = from
                .balls
                .get(index)
                .map_or(&from.layers[host], |ball| &ball.2);
            libm::log(own.pa / before.pa) - layer_log(host)
        });
        let balls_of = to.balls.iter().map(|(shape, _, _)| *shape);
        let shapes = to.shapes.iter().copied().chain(balls_of);
        let left = shapes
            .zip(layers.chain(balls))
            .map(|(shape, log)| Left { shape, log });
        Ok(Self {
            left: left.collect(),
            last: 0,
            asked: None,
        })
    }

    /// Whether everything was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.left.iter().all(|left| left.log.abs() < DONE_LOG)
    }

    /// The next edit, of one region after another: a small step in a tissue that is `touched`, the whole
    /// way in one that nobody feels. None once all is done.
    pub fn edit(&mut self, touched: bool) -> Option<Edit<'static>> {
        let count = self.left.len();
        let mut turns = (1..=count).map(|turn| (self.last + turn) % count);
        let region = turns.find(|&region| self.left[region].log.abs() >= DONE_LOG)?;
        let left = self.left[region];
        self.last = region;
        let most = if touched { STEP_LOG } else { f64::MAX };
        let log = left.log.clamp(-most, most);
        self.asked = Some((region, log));
        Some(Edit::Scale {
            shape: left.shape,
            factor: libm::exp(log),
            passive: true,
        })
    }

    /// What came of the edit that was asked for last; one that was refused is not told.
    pub fn took(&mut self, report: &EditReport) {
        let Some((region, log)) = self.asked.take() else {
            return;
        };
        let share = report.share.clamp(0.0, 1.0);
        self.left[region].log -= libm::log1p(share * libm::expm1(log));
    }
}

/// What a region is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stuff<'a> {
    /// Its modulus \[Pa\].
    pa: f64,
    /// Of a region of links, the rest of it.
    matter: Option<&'a Matter>,
}

impl Stuff<'_> {
    /// Whether another differs in stiffness at most.
    fn like(&self, other: &Self) -> bool {
        let kept = |stuff: &Self| {
            let matter = stuff.matter?;
            Some((matter.limits, matter.toughness_jpm2))
        };
        kept(self) == kept(other)
    }
}

/// Factors on a stiffness that edits reach.
const REACH: core::ops::RangeInclusive<f64> = 0.02..=50.0;

/// The layers and inclusions of a scene.
#[derive(Debug, Clone, PartialEq)]
struct Stack<'a> {
    /// What must not differ: edges, of a volume of links the distance of elements, and thicknesses \[m\].
    lengths_m: (Vec<f64>, Vec<f64>),
    /// Of a volume of links, how it is stepped.
    params: Option<LinkedParams>,
    shapes: Vec<Shape>,
    layers: Vec<Stuff<'a>>,
    /// Where a ball is, in which layer, and of what.
    balls: Vec<(Shape, usize, Stuff<'a>)>,
}

impl<'a> Stack<'a> {
    fn of(scene: &'a Scene) -> Result<Self, ChangeError> {
        match &scene.body {
            Body::Block(block) => Ok(Self::of_block(block)),
            Body::Linked(block) => Ok(Self::of_linked(block)),
            Body::Lattice { .. } | Body::Flat(_) | Body::Voxels(_) | Body::Mesh(_) => {
                Err(ChangeError::NoLayers {
                    scene: scene.name.clone(),
                })
            }
        }
    }

    fn of_block(block: &'a Block) -> Self {
        let of = |pa: f64| Stuff { pa, matter: None };
        let thickness_m = block.layers.iter().map(|layer| layer.thickness_m);
        let layers = block
            .layers
            .iter()
            .map(|layer| of(layer.material.young_pa()));
        // the regions of a block: its layers, then its inclusions
        let shapes: Vec<Shape> = block.regions().iter().map(|region| region.shape).collect();
        let (of_layers, of_balls) = shapes.split_at(block.layers.len());
        let balls = of_balls
            .iter()
            .zip(&block.inclusions)
            .map(|(&shape, ball)| {
                let host = block.host(ball).unwrap_or(0);
                (shape, host, of(ball.material.young_pa()))
            });
        Self {
            lengths_m: (block.size_m.to_vec(), thickness_m.collect()),
            params: None,
            layers: layers.collect(),
            balls: balls.collect(),
            shapes: of_layers.to_vec(),
        }
    }

    fn of_linked(block: &'a LinkedBlock) -> Self {
        let of = |matter: &'a Matter| Stuff {
            pa: matter.modulus_pa,
            matter: Some(matter),
        };
        let balls = block.balls.iter().map(|(centre_m, radius_m, matter)| {
            let shape = Shape::Ball {
                centre_m: *centre_m,
                radius_m: *radius_m,
            };
            (shape, block.layer_at(centre_m), of(matter))
        });
        let edges_m = block.size_m.iter().copied().chain([block.spacing_m]);
        let thickness_m = block.layers.iter().map(|(thickness_m, _)| *thickness_m);
        Self {
            lengths_m: (edges_m.collect(), thickness_m.collect()),
            params: Some(block.params),
            shapes: block.slices(),
            layers: block.layers.iter().map(|(_, matter)| of(matter)).collect(),
            balls: balls.collect(),
        }
    }

    /// Whether there is a way to another.
    fn fits(&self, to: &Self) -> Result<(), ChangeError> {
        let refuse = |what| Err(ChangeError::Shape { what });
        if self.lengths_m.0 != to.lengths_m.0 {
            return refuse("sizes");
        }
        if self.lengths_m.1 != to.lengths_m.1 {
            return refuse("layers");
        }
        if self.params != to.params {
            return refuse("parameters of links");
        }
        let mut pairs = self.balls.iter().zip(&to.balls);
        if self.balls.len() > to.balls.len() || !pairs.all(|(a, b)| a.0 == b.0) {
            return refuse("inclusions");
        }
        let mut layers = self.layers.iter().zip(&to.layers);
        let mut balls = to.balls.iter().enumerate().map(|(index, (_, host, own))| {
            let before = self
                .balls
                .get(index)
                .map_or(&self.layers[*host], |ball| &ball.2);
            before.like(own)
        });
        if !layers.all(|(a, b)| a.like(b)) || !balls.all(|like| like) {
            return refuse("limits of links, or toughness,");
        }
        let hosts = to.balls.iter().enumerate().map(|(index, (_, host, own))| {
            let before = self.balls.get(index);
            (before.map_or(&self.layers[*host], |ball| &ball.2), own)
        });
        let mut ways = self.layers.iter().zip(&to.layers).chain(hosts);
        if !ways.all(|(a, b)| REACH.contains(&(b.pa / a.pa))) {
            return refuse("stiffnesses, by more than 50 times,");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inclusion;
    use palpate_twin::law::Material;
    use palpate_twin::{Reaction, Tissue, Vec3};

    const DEPTH_M: f64 = 0.006;

    /// The default twin with other moduli and a lump.
    fn wanted(now: &Scene) -> Scene {
        let mut wanted = now.clone();
        let Body::Block(block) = &mut wanted.body else {
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
            material: Material::new(1.6 * fat.young_pa(), fat.poisson(), fat.density_kgpm3())
                .unwrap(),
        });
        wanted
    }

    /// Touches a tissue at a depth \[m\], moving at a speed down \[m/s\]; gives the upward force \[N\].
    fn touch(tissue: &mut dyn Tissue, scene: &Scene, depth_m: f64, speed_mps: f64) -> f64 {
        let mut tool = scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m - depth_m));
        tool.velocity_mps.z = -speed_mps;
        let mut reaction = [Reaction::default()];
        tissue.step(&[tool], 1e-3, &mut reaction);
        reaction[0].force_n.z
    }

    /// Down to a depth in some ticks, and hold there.
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

    /// Edits under a tool that is held and moves a little, beside a tissue without edits: the largest
    /// step of force that the motion does not explain, and the energy that the edits gave \[J\].
    fn edit_while_held(
        [tissue, plain]: &mut [Box<dyn Tissue>; 2],
        scene: &Scene,
        steps: &mut Steps,
    ) -> (f64, f64) {
        let depth_m = |tick: u32| DEPTH_M * (1.0 + 0.02 * libm::sin(0.02 * f64::from(tick)));
        let mut last = [&mut *tissue, plain].map(|tissue| press(tissue.as_mut(), scene, DEPTH_M));
        let (mut largest, mut given_j) = (0.0_f64, 0.0);
        for tick in 0..1500 {
            let edit = if tick % 20 == 0 {
                steps.edit(true)
            } else {
                None
            };
            if let Some(edit) = edit {
                let report = tissue.edit(&edit).unwrap();
                steps.took(&report);
                given_j += report.energy_j;
            }
            let speed_mps = (depth_m(tick + 1) - depth_m(tick)) * 1e3;
            let now = [&mut *tissue, plain]
                .map(|tissue| touch(tissue.as_mut(), scene, depth_m(tick), speed_mps));
            let step = (now[0] / last[0]) / (now[1] / last[1]) - 1.0;
            largest = largest.max(step.abs());
            last = now;
            let books = tissue.view().ledger;
            // sums of cells are in single precision
            let paid_j = books.dissipated_j + 1e-6 * books.elastic_j;
            assert!(given_j <= paid_j, "{given_j} {books:?}");
        }
        (largest, given_j)
    }

    #[test]
    fn a_pressing_hand_feels_no_step_and_gets_no_energy() {
        let now = crate::load("layered").unwrap();
        let goal = wanted(&now);
        let mut both = [now.build().unwrap(), now.build().unwrap()];
        let mut steps = Steps::between(&now, &goal).unwrap();
        let (largest, given_j) = edit_while_held(&mut both, &now, &mut steps);
        let [mut tissue, _] = both;
        assert!(largest > 1e-4 && largest < 0.01, "{largest}");
        assert!(given_j.is_finite() && !steps.is_done(), "{given_j}");
        // all the way up: over the whole loop the hand has paid, and less than nothing came back
        for tick in 0..600 {
            let up = 1.0 - f64::from(tick) / 300.0;
            touch(tissue.as_mut(), &now, DEPTH_M * up, -DEPTH_M / 0.3);
        }
        let books = tissue.view().ledger;
        assert!(books.tool_work_j > 0.0, "{books:?}");
        // off the tissue the rest goes at once
        for _ in 0..4 * steps.left.len() {
            if let Some(edit) = steps.edit(false) {
                steps.took(&tissue.edit(&edit).unwrap());
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
    fn a_tissue_that_nobody_feels_changes_at_once() {
        let now = crate::load("layered").unwrap();
        let goal = wanted(&now);
        let mut tissue = now.build().unwrap();
        let mut steps = Steps::between(&now, &goal).unwrap();
        let mut edits = 0;
        while let Some(edit) = steps.edit(false) {
            steps.took(&tissue.edit(&edit).unwrap());
            edits += 1;
        }
        assert_eq!(edits, 4);
        let force_n = press(tissue.as_mut(), &now, 0.005);
        let whole_n = press(goal.build().unwrap().as_mut(), &goal, 0.005);
        assert!(
            (force_n / whole_n - 1.0).abs() < 0.03,
            "{force_n} {whole_n}"
        );
    }

    #[test]
    fn what_cannot_be_reached_is_named() {
        let now = crate::load("layered").unwrap();
        let other = crate::load("layered-lump").unwrap();
        let error = Steps::between(&now, &other).unwrap_err().to_string();
        assert!(error.contains("sizes differ"), "{error}");
        let sheet = crate::load("sheet").unwrap();
        let error = Steps::between(&sheet, &now).unwrap_err().to_string();
        assert!(error.contains("sheet"), "{error}");
    }

    #[test]
    fn issue_a_volume_of_links_that_can_be_stiffened_had_no_way() {
        let now = crate::load("linked-nodule").unwrap();
        let with = |change: fn(&mut super::LinkedBlock)| {
            let mut other = now.clone();
            let Body::Linked(block) = &mut other.body else {
                panic!("no volume of links");
            };
            change(block);
            other
        };
        let goal = with(|block| {
            for ((_, matter), factor) in block.layers.iter_mut().zip([1.3, 0.8, 1.2]) {
                matter.modulus_pa *= factor;
            }
            let last = block.layers.len() - 1;
            let mut lump = block.layers[last].1.clone();
            lump.modulus_pa *= 3.0;
            let depth_m: f64 = block.layers[..last].iter().map(|layer| layer.0).sum();
            block
                .balls
                .push((Vec3::new(0.0, 0.0, -depth_m - 0.004), 0.0035, lump));
        });
        let mut tissue = now.build().unwrap();
        assert!(tissue.caps().region_edits);
        let mut steps = Steps::between(&now, &goal).unwrap();
        while let Some(edit) = steps.edit(false) {
            steps.took(&tissue.edit(&edit).unwrap());
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
        // what no edit of stiffness changes
        for (other, named) in [
            (
                with(|block| block.layers[0].1.toughness_jpm2 *= 2.0),
                "toughness",
            ),
            (with(|block| block.spacing_m *= 2.0), "sizes"),
            (with(|block| block.layers[0].0 *= 0.5), "layers"),
            (with(|block| block.balls[0].1 *= 0.5), "inclusions"),
            (with(|block| block.params.friction += 0.1), "parameters"),
            (
                with(|block| block.layers[0].1.modulus_pa *= 60.0),
                "50 times",
            ),
        ] {
            let error = Steps::between(&now, &other).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
