//! The presses of a study: every lump of the sweep, and the scene's own lump on other meshes.
//!
//! Source: ours.

use std::sync::atomic::AtomicBool;

use palpate_scene::Scene;

use super::phantom::Phantom;
use super::{Case, DetectError, Found, MeshCase, Options, Spread, Study, Unknown, range, work};

/// Alignments of lump and tool to the finest cells, as shares of a cell along x and y: on a node,
/// between, and on the middle of a face.
const SHIFTS: [f64; 3] = [0.0, 0.25, 0.5];
/// One press to be made: a scene, and where.
pub(super) struct Job {
    pub(super) scene: Scene,
    pub(super) place_m: [f64; 2],
}

/// A study that is ready to run.
pub struct Plan {
    scene: Scene,
    phantom: Phantom,
    pub(super) options: Options,
    jobs: Vec<Job>,
    /// Depth, radius and contrast, and its job if it fits.
    cases: Vec<([f64; 3], Option<usize>)>,
    /// Rule and shift, and its jobs with and without the lump.
    meshes: Vec<(&'static str, f64, [usize; 2])>,
}

impl Plan {
    /// Checks scene and options, and lists the presses.
    ///
    /// # Errors
    /// Names the flag that is out of its range, or says what the scene lacks.
    pub fn new(scene: Scene, options: Options) -> Result<Self, DetectError> {
        let lacks = |found| DetectError::Scene {
            scene: scene.name.clone(),
            found,
        };
        let phantom = Phantom::of(&scene.body).map_err(lacks)?;
        let (centre_m, radius_m) = phantom.lump_m();
        let options = range::with_defaults(options, centre_m, radius_m);
        range::check(&options, phantom.size_m()[2])?;
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

    /// Presses that will be made.
    #[must_use]
    pub fn presses(&self) -> usize {
        self.jobs.len()
    }

    fn add(&mut self, phantom: Phantom, place_m: [f64; 2]) -> usize {
        let scene = Scene {
            body: phantom.body(),
            ..self.scene.clone()
        };
        self.jobs.push(Job { scene, place_m });
        self.jobs.len() - 1
    }

    fn list_sweep(&mut self) -> Result<(), DetectError> {
        // over the middle of the scene's own lump
        let (centre_m, _) = self.phantom.lump_m();
        let place_m = [centre_m.x, centre_m.y];
        self.add(self.phantom.clone().plain(), place_m);
        let Options {
            depths_m,
            radii_m,
            contrasts,
            ..
        } = self.options.clone();
        for &depth_m in &depths_m {
            for &radius_m in &radii_m {
                let fits = self.fits(depth_m, radius_m);
                for &contrast in &contrasts {
                    let lump = [depth_m, radius_m, contrast];
                    let job = if fits {
                        let over = self.phantom.with(lump)?;
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

    /// Whether a ball at that depth under the place lies within the block.
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

    /// Makes the presses on all cores until `stop` is set; `done` hears how many are made.
    ///
    /// # Errors
    /// If a tissue cannot be made.
    pub fn run(
        &self,
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Study, DetectError> {
        let presses = work::press_all(&self.jobs, self.options.press_m, stop, done)?;
        let noise = self.options.noise;
        let plain = presses[0];
        let case = |&([depth_m, radius_m, contrast], job): &([f64; 3], Option<usize>)| {
            let found = match job.map(|at| presses[at].zip(plain)) {
                None => Err(Unknown::NoRoom),
                Some(None) => Err(Unknown::NotPressed),
                Some(Some((over, plain))) => Found::of(over, plain, noise),
            };
            Case {
                depth_m,
                radius_m,
                contrast,
                found: found.ok(),
                unknown: found.err(),
            }
        };
        let mesh = |&(mixing, shift_cells, [with, without]): &(&str, f64, [usize; 2])| {
            let pair = presses[with].zip(presses[without]);
            let found = pair.and_then(|(over, plain)| Found::of(over, plain, noise).ok());
            MeshCase {
                mixing: mixing.to_owned(),
                shift_cells,
                force_change: found.map(|found| found.force_change),
            }
        };
        let meshes: Vec<MeshCase> = self.meshes.iter().map(mesh).collect();
        Ok(Study {
            scene: self.scene.name.clone(),
            press_m: self.options.press_m,
            tool_radius_m: self.scene.tool_radius_m,
            noise,
            plain_n: plain.map(|press| press.force_n),
            plain_npm: plain.map(|press| press.chord_npm),
            cases: self.cases.iter().map(case).collect(),
            spread: Spread::of(&meshes, noise),
            meshes,
        })
    }
}
