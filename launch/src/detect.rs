//! Which lumps can be felt: a sweep of depth, radius and contrast over presses of a block scene.
//!
//! Source: ours; force change as in section 3.4 of the specification of tissue engines. A lump is
//! pressed over its middle, with the lump moved aside, and without it, each time at the same place of
//! the same mesh, so that the mesh under the tool is no part of the difference. How far the answer
//! hangs on the mesh is asked separately: every mixing rule, on three alignments of lump and tool to
//! the cells. Presses are independent of each other and run on all cores; the numbers do not depend
//! on how many there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use palpate_twin::law::{Material, Mixing};
use palpate_twin::scene::{Block, Body, Press, Scene, SceneError};
use serde::{Deserialize, Serialize};

use crate::metrics::lump;

/// How far a lump is moved aside, in radii of the tool beyond its own radius.
const ASIDE: f64 = 3.0;
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

/// What is swept, and how it is pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Depths of the lump's centre \[m\]; empty for 0.8, 1, 1.5 and 2 times that of the scene.
    pub depths_m: Vec<f64>,
    /// Radii \[m\]; empty for 0.6, 1 and 1.5 times that of the scene.
    pub radii_m: Vec<f64>,
    /// Young's modulus over that of the layer around the lump.
    pub contrasts: Vec<f64>,
    /// Depth of a press \[m\].
    pub press_m: f64,
    /// Standard deviation of a force reading as a share of the force.
    pub noise: f64,
}

/// What was found; `--json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Name of the scene.
    pub scene: String,
    /// Depth of a press \[m\].
    pub press_m: f64,
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Standard deviation of a force reading as a share of the force.
    pub noise: f64,
    /// Force of a press without the lump \[N\].
    pub plain_n: Option<f64>,
    /// The sweep: depths outermost, then radii, then contrasts.
    pub cases: Vec<Case>,
    /// The scene's own lump on other alignments and by other mixing rules.
    pub meshes: Vec<MeshCase>,
}

/// One lump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Depth of its centre \[m\].
    pub depth_m: f64,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// Its Young's modulus over that of the layer around it.
    pub contrast: f64,
    /// What pressing it told, if it did.
    pub found: Option<Found>,
    /// Why it is not known, if it is not.
    pub unknown: Option<Unknown>,
}

/// Why nothing is known of a lump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// It does not fit between the surface and the ground.
    NoRoom,
    /// The study was stopped before.
    NotPressed,
    /// The solver lost the tissue under the tool: cells between a hard lump and the tool fell in, and
    /// a press met no force. That says nothing of the lump.
    FellIn,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "does not fit below the surface",
            Self::NotPressed => "was not pressed",
            Self::FellIn => "the tissue fell in under the tool",
        })
    }
}

/// What presses over and beside a lump told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Force over it \[N\].
    pub over_n: f64,
    /// Force with it moved aside \[N\].
    pub beside_n: f64,
    /// Force over it against that without it, minus one.
    pub force_change: f64,
    /// Slope of the force over it \[N/m\].
    pub over_npm: f64,
    /// Slope of the force with it moved aside \[N/m\].
    pub beside_npm: f64,
    /// Slope over it against that aside, minus one.
    pub stiffness_contrast: f64,
    /// d' of one reading of the force at the depth of the press.
    pub d_prime: f64,
    /// Probability that an unbiased observer of one reading is right.
    pub right: f64,
}

/// The scene's own lump on one mesh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeshCase {
    /// Mixing rule.
    pub mixing: String,
    /// Shift of lump and tool against the cells, as a share of a finest cell along x and y.
    pub shift_cells: f64,
    /// Force over the lump against that without it, minus one.
    pub force_change: Option<f64>,
}

/// Why there is no study.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DetectError {
    /// The scene has nothing to sweep.
    #[error(
        "scene `{scene}` {found}; expected a block with an [[inclusion]], such as `block-nodule`"
    )]
    Scene {
        /// Its name.
        scene: String,
        /// What it is.
        found: &'static str,
    },
    /// A number is out of its range.
    #[error("{field} is {value}; expected {expected}")]
    Field {
        /// Its flag.
        field: &'static str,
        /// Its value, in the unit of the flag.
        value: f64,
        /// What would be right.
        expected: String,
    },
    /// A tissue cannot be made.
    #[error(transparent)]
    Tissue(#[from] SceneError),
}

/// One press to be made: a scene, and where.
struct Job {
    scene: Scene,
    place_m: [f64; 2],
}

/// A study that is ready to run.
pub struct Plan {
    scene: Scene,
    block: Block,
    options: Options,
    jobs: Vec<Job>,
    /// Depth, radius and contrast, and the first of its two jobs if it fits.
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
        let options = with_defaults(options, &block);
        check(&options, &block)?;
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

    /// The place that is pressed: over the middle of the scene's own lump.
    fn place_m(&self) -> [f64; 2] {
        let centre_m = self.block.inclusions[0].centre_m;
        [centre_m.x, centre_m.y]
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
        let place_m = self.place_m();
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
                let fits = radius_m < depth_m && depth_m + radius_m < self.block.size_m[2];
                for &contrast in &contrasts {
                    let lump = [depth_m, radius_m, contrast];
                    let first = if fits {
                        let [over, aside] = self.blocks(lump)?;
                        let first = self.add(over, place_m);
                        self.add(aside, place_m);
                        Some(first)
                    } else {
                        None
                    };
                    self.cases.push((lump, first));
                }
            }
        }
        Ok(())
    }

    /// The block with such a lump under the place, and with it moved aside.
    fn blocks(&self, [depth_m, radius_m, contrast]: [f64; 3]) -> Result<[Block; 2], DetectError> {
        let mut over = self.block.clone();
        let host = host(&over, depth_m);
        let lump = &mut over.inclusions[0];
        (lump.radius_m, lump.centre_m.z) = (radius_m, -depth_m);
        let (poisson, density) = (lump.material.poisson(), lump.material.density_kgpm3());
        let material = Material::new(contrast * host.young_pa(), poisson, density);
        lump.material = material.map_err(|_| DetectError::Field {
            field: "--contrasts",
            value: contrast,
            expected: "a factor that gives a finite modulus".to_owned(),
        })?;
        let mut aside = over.clone();
        let centre_m = &mut aside.inclusions[0].centre_m;
        let reach_m = radius_m + ASIDE * self.scene.tool_radius_m;
        // towards the middle, so that it stays inside
        centre_m.x += if centre_m.x > 0.0 { -reach_m } else { reach_m };
        if centre_m.x.abs() > 0.5 * self.block.size_m[0] {
            return Err(DetectError::Field {
                field: "--radii-mm",
                value: 1e3 * radius_m,
                expected: format!(
                    "a lump that can be moved {:.1} mm aside in a block {:.1} mm wide",
                    1e3 * reach_m,
                    1e3 * self.block.size_m[0]
                ),
            });
        }
        Ok([over, aside])
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
        let presses = self.press_all(stop, done)?;
        let force_n = |job: usize| presses[job].map(|press| press.force_n);
        let plain_n = force_n(0);
        let case = |&([depth_m, radius_m, contrast], first): &([f64; 3], Option<usize>)| {
            let pair = first.map(|at| presses[at].zip(presses[at + 1]).zip(plain_n));
            let found = match pair {
                None => Err(Unknown::NoRoom),
                Some(None) => Err(Unknown::NotPressed),
                Some(Some(((over, aside), plain_n))) => {
                    Found::of([over, aside], plain_n, self.options.noise)
                }
            };
            Case {
                depth_m,
                radius_m,
                contrast,
                found: found.ok(),
                unknown: found.err(),
            }
        };
        let mesh = |&(mixing, shift_cells, [with, without]): &(&str, f64, [usize; 2])| MeshCase {
            mixing: mixing.to_owned(),
            shift_cells,
            force_change: force_n(with)
                .zip(force_n(without))
                .filter(|&(with_n, without_n)| with_n > 0.0 && without_n > 0.0)
                .map(|(with_n, without_n)| with_n / without_n - 1.0),
        };
        Ok(Study {
            scene: self.scene.name.clone(),
            press_m: self.options.press_m,
            tool_radius_m: self.scene.tool_radius_m,
            noise: self.options.noise,
            plain_n,
            cases: self.cases.iter().map(case).collect(),
            meshes: self.meshes.iter().map(mesh).collect(),
        })
    }

    fn press_all(
        &self,
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Option<Press>>, SceneError> {
        let (next, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut own = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = self.jobs.get(index) else {
                    break;
                };
                let pressed = job.scene.presses(&[job.place_m], self.options.press_m);
                own.push((index, pressed));
                done(made.fetch_add(1, Ordering::Relaxed) as u64 + 1);
            }
            own
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut presses = vec![None; self.jobs.len()];
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            for (index, pressed) in workers.into_iter().flat_map(|worker| {
                // a panic in a worker is a bug of this program, and is passed on as one
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }) {
                presses[index] = pressed?.first().copied();
            }
            Ok(presses)
        })
    }
}

impl Found {
    /// From a press over a lump and one with it aside, the force without it \[N\], and the noise.
    fn of([over, beside]: [Press; 2], plain_n: f64, noise: f64) -> Result<Self, Unknown> {
        // a ball in elastic tissue is always pushed back
        let met = |force_n: f64| force_n.is_finite() && force_n > 0.0;
        if ![over.force_n, beside.force_n, plain_n].into_iter().all(met) {
            return Err(Unknown::FellIn);
        }
        let square = |force_n: f64| force_n * force_n;
        let spread_n = noise * (0.5 * (square(over.force_n) + square(beside.force_n))).sqrt();
        let d_prime = (over.force_n - beside.force_n) / spread_n;
        Ok(Self {
            over_n: over.force_n,
            beside_n: beside.force_n,
            force_change: over.force_n / plain_n - 1.0,
            over_npm: over.chord_npm,
            beside_npm: beside.chord_npm,
            stiffness_contrast: over.chord_npm / beside.chord_npm - 1.0,
            d_prime,
            // a study knows which way its lump differs, so a soft one does not mislead
            right: lump::right(d_prime.abs()),
        })
    }
}

/// Material of the layer at a depth \[m\].
fn host(block: &Block, depth_m: f64) -> Material {
    let mut bottom_m = 0.0;
    let at = block.layers.iter().find(|layer| {
        bottom_m += layer.thickness_m;
        depth_m <= bottom_m
    });
    // a block that was loaded has a layer down to its ground
    at.unwrap_or(&block.layers[block.layers.len() - 1]).material
}

fn with_defaults(mut options: Options, block: &Block) -> Options {
    let lump = &block.inclusions[0];
    if options.depths_m.is_empty() {
        options.depths_m = [0.8, 1.0, 1.5, 2.0].map(|f| f * -lump.centre_m.z).to_vec();
    }
    if options.radii_m.is_empty() {
        options.radii_m = [0.6, 1.0, 1.5].map(|f| f * lump.radius_m).to_vec();
    }
    options
}

fn check(options: &Options, block: &Block) -> Result<(), DetectError> {
    let height_m = block.size_m[2];
    let below = format!(
        "more than 0 and less than half of the block's {:.1} mm",
        1e3 * height_m
    );
    let number = |field, value: f64, right: bool, expected: &str| {
        if right {
            return Ok(());
        }
        Err(DetectError::Field {
            field,
            value,
            expected: expected.to_owned(),
        })
    };
    let Options { press_m, noise, .. } = *options;
    let pressed = press_m > 0.0 && press_m < 0.5 * height_m;
    number("--press-mm", 1e3 * press_m, pressed, &below)?;
    let noisy = noise > 0.0 && noise <= 1.0;
    number(
        "--noise",
        noise,
        noisy,
        "a share of the force, more than 0 and at most 1",
    )?;
    let size = "a length inside the block, more than 0";
    for (field, list) in [
        ("--depths-mm", &options.depths_m),
        ("--radii-mm", &options.radii_m),
    ] {
        for &value in list {
            number(field, 1e3 * value, value > 0.0 && value < height_m, size)?;
        }
    }
    for &value in &options.contrasts {
        let right = value > 0.0 && value <= 1e4;
        number(
            "--contrasts",
            value,
            right,
            "a factor above 0 and at most 10000",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
