//! The presses of a study: every lump of the sweep, and the scene's own lump on other meshes.
//!
//! Source: ours.

use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_scene::{PressStiffness, Scene};
use palpate_session::pool;

use super::phantom::{Ball, LumpBlock};
use super::{
    DetectOptions, DetectStudy, LumpCase, LumpDetection, MeshCase, MixingSpread, UnknownReason,
    range,
};

/// Alignments of lump and tool to the finest cells, as shares of a cell along x and y: on a node,
/// between, and on the centre of a face.
const SHIFTS: [f64; 3] = [0.0, 0.25, 0.5];

/// One press: a scene and a place.
struct Job {
    scene: Scene,
    place_m: [f64; 2],
}

/// Study that is ready to run.
pub struct DetectPlan {
    scene: Scene,
    phantom: LumpBlock,
    pub(super) options: DetectOptions,
    jobs: Vec<Job>,
    /// Every lump of the sweep, and its job if it fits.
    cases: Vec<(Ball, Option<usize>)>,
    /// Rule, shift, and the jobs with and without the lump.
    meshes: Vec<(&'static str, f64, [usize; 2])>,
}

impl DetectPlan {
    /// Checks scene and options, and lists the presses.
    ///
    /// # Errors
    /// Names the flag that is out of its range, or the missing part of the scene.
    pub fn new(scene: Scene, options: DetectOptions) -> Result<Self, Failure> {
        let lacks = |found| {
            Failure::Usage(format!(
                "scene `{}` {found}; expected a block or linked volume with an [[inclusion]], such as `block-nodule` or \
                 `linked-nodule`",
                scene.name
            ))
        };
        let phantom = LumpBlock::of(&scene.body).map_err(lacks)?;
        let (centre_m, radius_m) = phantom.lump_m();
        let options = range::with_defaults(options, centre_m, radius_m);
        range::check(&options, phantom.size_m()[2]).map_err(Failure::Usage)?;
        let mut plan = Self {
            scene,
            phantom,
            options,
            jobs: Vec::new(),
            cases: Vec::new(),
            meshes: Vec::new(),
        };
        plan.list_sweep()?;
        plan.list_meshes();
        Ok(plan)
    }

    /// Number of presses.
    #[must_use]
    pub fn presses(&self) -> usize {
        self.jobs.len()
    }

    fn add(&mut self, phantom: LumpBlock, place_m: [f64; 2]) -> usize {
        let scene = Scene {
            body: phantom.body(),
            ..self.scene.clone()
        };
        self.jobs.push(Job { scene, place_m });
        self.jobs.len() - 1
    }

    fn list_sweep(&mut self) -> Result<(), Failure> {
        // over the centre of the scene's own lump
        let (centre_m, _) = self.phantom.lump_m();
        let place_m = [centre_m.x, centre_m.y];
        self.add(self.phantom.clone().plain(), place_m);
        let options = self.options.clone();
        for &depth_m in &options.depths_m {
            for &radius_m in &options.radii_m {
                let fits = self.fits(depth_m, radius_m);
                for &contrast in &options.contrasts {
                    let lump = Ball {
                        depth_m,
                        radius_m,
                        contrast,
                    };
                    let job = if fits {
                        let over = self.phantom.with(&lump)?;
                        Some(self.add(over, place_m))
                    } else {
                        None
                    };
                    self.cases.push((lump, job));
                }
            }
        }
        Ok(())
    }

    /// True if a ball at that depth under the place lies within the block.
    fn fits(&self, depth_m: f64, radius_m: f64) -> bool {
        let (centre_m, _) = self.phantom.lump_m();
        let [width_m, length_m, height_m] = self.phantom.size_m();
        let sides = [(centre_m.x, width_m), (centre_m.y, length_m)];
        let within = |&(at_m, edge_m): &(f64, f64)| at_m.abs() + radius_m <= 0.5 * edge_m;
        radius_m < depth_m && depth_m + radius_m < height_m && sides.iter().all(within)
    }

    fn list_meshes(&mut self) {
        for shift in SHIFTS {
            let phantom = self.phantom.clone().shifted(shift * self.phantom.cell_m());
            let (centre_m, _) = phantom.lump_m();
            let place_m = [centre_m.x, centre_m.y];
            let without = self.add(phantom.clone().plain(), place_m);
            for (name, mixed) in phantom.mixed() {
                let with = self.add(mixed, place_m);
                self.meshes.push((name, shift, [with, without]));
            }
        }
    }

    /// Makes a press for every job, none for those after a `stop`; `done` is called with the number made. Presses are
    /// independent of each other, so the results do not depend on the number of cores.
    fn press_all(
        &self,
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Option<PressStiffness>>, Failure> {
        let count = self.jobs.len();
        let (mut presses, mut made) = (vec![None; count], 0);
        let press = |index: usize| {
            let Job { scene, place_m } = &self.jobs[index];
            let pressed = scene.press_stiffness(&[*place_m], self.options.press_m);
            pressed.map_err(|error| Failure::Usage(error.to_string()))
        };
        pool::run_jobs(count, pool::cores(), stop, &press, |index, pressed| {
            presses[index] = pressed.first().copied();
            made += 1;
            done(made);
            Ok(())
        })?;
        Ok(presses)
    }

    /// Makes the presses on all cores until `stop` is set; `done` is called with the number made.
    ///
    /// # Errors
    /// If a tissue cannot be built.
    pub fn run(
        &self,
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<DetectStudy, Failure> {
        let presses = self.press_all(stop, done)?;
        let noise = self.options.noise;
        let plain = presses[0];
        let case = |&(lump, job): &(Ball, Option<usize>)| {
            let found = match job.map(|at| presses[at].zip(plain)) {
                None => Err(UnknownReason::NoRoom),
                Some(None) => Err(UnknownReason::NotPressed),
                Some(Some((over, plain))) => LumpDetection::of(over, plain, noise),
            };
            LumpCase {
                depth_m: lump.depth_m,
                radius_m: lump.radius_m,
                contrast: lump.contrast,
                found: found.ok(),
                unknown: found.err(),
            }
        };
        let mesh = |&(mixing, shift_cells, [with, without]): &(&str, f64, [usize; 2])| {
            let pair = presses[with].zip(presses[without]);
            let found = pair.and_then(|(over, plain)| LumpDetection::of(over, plain, noise).ok());
            MeshCase {
                mixing: mixing.to_owned(),
                shift_cells,
                force_change: found.map(|found| found.force_change),
            }
        };
        let meshes: Vec<MeshCase> = self.meshes.iter().map(mesh).collect();
        Ok(DetectStudy {
            scene: self.scene.name.clone(),
            press_m: self.options.press_m,
            tool_radius_m: self.scene.tool_radius_m,
            noise,
            plain_n: plain.map(|press| press.force_n),
            plain_npm: plain.map(|press| press.chord_npm),
            cases: self.cases.iter().map(case).collect(),
            spread: MixingSpread::of(&meshes, noise),
            meshes,
        })
    }
}
