//! The presses of a study: every lump of the sweep, and the scene's own lump on other meshes.
//!
//! Source: ours.

use std::sync::atomic::AtomicBool;

use palpate_twin::law::{Material, Mixing};
use palpate_twin::scene::{Block, Body, Scene};

use super::{Case, DetectError, Found, MeshCase, Options, Spread, Study, Unknown, range, work};

/// Alignments of lump and tool to the finest cells, as shares of a cell along x and y: on a node,
/// between, and on the middle of a face.
const SHIFTS: [f64; 3] = [0.0, 0.25, 0.5];
/// Sub-steps a millisecond that cells may ask for, if the scene allows fewer: nobody waits for a study,
/// and mass given to stiff cells instead is not always stable (a lump of 7.5 mm, 10 times as stiff,
/// 10 mm deep lost the tissue under the tool at 16).
const SUBSTEPS_MAX: u32 = 100;
/// The rules that moduli can be mixed by.
const MIXINGS: [(Mixing, &str); 4] = [
    (Mixing::Voigt, "voigt"),
    (Mixing::Hill, "hill"),
    (Mixing::Geometric, "geometric"),
    (Mixing::Reuss, "reuss"),
];

/// One press to be made: a scene, and where.
pub(super) struct Job {
    pub(super) scene: Scene,
    pub(super) place_m: [f64; 2],
}

/// A study that is ready to run.
pub struct Plan {
    scene: Scene,
    block: Block,
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
        let Body::Block(block) = scene.body.clone() else {
            return Err(lacks("is a lattice"));
        };
        if block.inclusions.is_empty() {
            return Err(lacks("has no inclusion"));
        }
        let options = range::with_defaults(options, &block);
        range::check(&options, &block)?;
        let mut plan = Self {
            scene,
            block,
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

    fn add(&mut self, mut block: Block, place_m: [f64; 2]) -> usize {
        let most = &mut block.params.substeps_max;
        *most = (*most).max(SUBSTEPS_MAX);
        let scene = Scene {
            body: Body::Block(block),
            ..self.scene.clone()
        };
        self.jobs.push(Job { scene, place_m });
        self.jobs.len() - 1
    }

    fn list_sweep(&mut self) -> Result<(), DetectError> {
        // over the middle of the scene's own lump
        let centre_m = self.block.inclusions[0].centre_m;
        let place_m = [centre_m.x, centre_m.y];
        let mut plain = self.block.clone();
        plain.inclusions.remove(0);
        self.add(plain, place_m);
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
                        let over = self.with(lump)?;
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
        let centre_m = self.block.inclusions[0].centre_m;
        let [width_m, length_m, height_m] = self.block.size_m;
        let sides = [(centre_m.x, width_m), (centre_m.y, length_m)];
        let within = |&(at_m, edge_m): &(f64, f64)| at_m.abs() + radius_m <= 0.5 * edge_m;
        radius_m < depth_m && depth_m + radius_m < height_m && sides.iter().all(within)
    }

    /// The block with such a lump under the place.
    fn with(&self, [depth_m, radius_m, contrast]: [f64; 3]) -> Result<Block, DetectError> {
        let mut block = self.block.clone();
        let lump = &mut block.inclusions[0];
        (lump.radius_m, lump.centre_m.z) = (radius_m, -depth_m);
        let host = self.block.host(lump).map(|layer| &self.block.layers[layer]);
        let own = &lump.material;
        // a block that was loaded has layers
        let around_pa = host.map_or(own.young_pa(), |layer| layer.material.young_pa());
        let material = Material::new(contrast * around_pa, own.poisson(), own.density_kgpm3());
        lump.material = material.map_err(|_| DetectError::Field {
            field: "--contrasts",
            value: contrast,
            expected: "a factor that gives a finite modulus".to_owned(),
        })?;
        Ok(block)
    }

    fn list_meshes(&mut self) {
        let centre_m = self.block.inclusions[0].centre_m;
        let cell_m = self.block.zone.cell_m;
        for shift in SHIFTS {
            let mut block = self.block.clone();
            let moved = &mut block.inclusions[0].centre_m;
            (moved.x, moved.y) = (centre_m.x + shift * cell_m, centre_m.y + shift * cell_m);
            let place_m = [moved.x, moved.y];
            let mut plain = block.clone();
            plain.inclusions.remove(0);
            let without = self.add(plain, place_m);
            for (mixing, name) in MIXINGS {
                let with = self.add(
                    Block {
                        mixing,
                        ..block.clone()
                    },
                    place_m,
                );
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
