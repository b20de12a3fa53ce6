//! Library of live rehearsals: scenes, and tasks on them, placed at random for every attempt.
//!
//! Source: ours; seed-004 rows S4-22, S4-26 and S4-31 for the tasks. A task that hides a lump makes a scene of its own
//! from the built-in one and the attempt's seed, so the folder of a session is complete.

use palpate_scene as scene;
use palpate_scene::Lump;
use palpate_transport::random::uniform;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use toml::{Table, Value};

use palpate_analysis::rehearsal::task::{self, Score};
use palpate_session::config::ConfigError;
use palpate_session::lab;
use palpate_session::monitor::request::{GRASP_N, GRASP_S, TRACE_N, TaskAnswer, TaskKind};
use palpate_transport::trace::TickRecord;

/// Half the length of the line of a trace \[m\].
const TRACE_M: f64 = 0.015;

/// Sites of the ranking task \[m\], at similar distances from the border and of similar initial stiffness, and the
/// stiffness factors that are assigned to them at random.
const SITES_M: [[f64; 2]; 3] = [[-0.016, -0.01], [0.016, -0.01], [0.0, 0.014]];
const FACTORS: [f64; 3] = [0.4, 1.0, 3.0];
const SITE_RADIUS_M: f64 = 0.011;

/// Lump that is hidden in a block without one: its radius, depth of its centre \[m\], and Young's modulus \[Pa\]. It
/// lies in the fat of `layered`, and makes a press of 4 mm more than twice as stiff as beside it.
const LUMP_RADIUS_M: f64 = 0.005;
const LUMP_DEPTH_M: f64 = 0.007;
const LUMP_PA: f64 = 90_000.0;

/// Depth at which the stiffness of a site is compared \[m\].
const DEPTH_M: f64 = 0.004;

/// A scene that can be rehearsed live.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RehearsalScene {
    /// Name of the scene.
    pub name: &'static str,
    /// Description, in a line.
    pub about: &'static str,
    /// Tasks of the scene.
    pub tasks: &'static [TaskKind],
    /// Half widths of the area of a hidden lump \[m\].
    hiding_half_m: [f64; 2],
}

const fn scene_entry(
    name: &'static str,
    about: &'static str,
    tasks: &'static [TaskKind],
) -> RehearsalScene {
    RehearsalScene {
        name,
        about,
        tasks,
        hiding_half_m: [0.018, 0.018],
    }
}

use TaskKind::{FindLump, Grasp, RankStiffness, Trace};

/// All scenes, the fastest to compute first.
pub(crate) const SCENES: [RehearsalScene; 15] = [
    scene_entry(
        "flat-sheet",
        "A flat sheet, soft on the left and stiff on the right: press it, grip and stretch it, or skate over it closed",
        &[Trace, Grasp],
    ),
    scene_entry("sheet", "A patch of springs (IDMS), 80 by 69 mm", &[Trace]),
    scene_entry(
        "sheet-fine",
        "The patch of springs with finer meshes: three places of unknown stiffness",
        &[RankStiffness, Trace],
    ),
    scene_entry(
        "sheet-lump",
        "The patch of springs with a hidden stiff lump",
        &[FindLump],
    ),
    scene_entry(
        "layered",
        "Skin, fat and muscle over bone, a continuum of finite elements",
        &[FindLump, Trace],
    ),
    scene_entry(
        "layered-lump",
        "Skin, fat and muscle with a hidden lump of 8 mm",
        &[FindLump],
    ),
    RehearsalScene {
        hiding_half_m: [0.012, 0.005],
        ..scene_entry(
            "block-nodule",
            "A soft block with a stiff lump of 10 mm in its middle, 10 mm deep",
            &[FindLump],
        )
    },
    scene_entry(
        "block",
        "A soft block, the test body of the specification",
        &[],
    ),
    scene_entry(
        "rough",
        "Soft tissue that rubs, over a bone that rises to half its height",
        &[],
    ),
    scene_entry(
        "tweezers",
        "A pad of soft tissue for tweezers: their jaws hold by friction, and slip",
        &[Grasp],
    ),
    scene_entry(
        "linked-nodule",
        "A voxel model that can be cut, with a stiff nodule near its surface",
        &[FindLump],
    ),
    scene_entry(
        "limb",
        "A piece of a synthetic limb in layers, with bone, vessel and tumour; it can be cut",
        &[],
    ),
    scene_entry(
        "layers-nodule",
        "Skin fifty times as stiff as the fat under it, and a nodule",
        &[],
    ),
    scene_entry(
        "seed-regular",
        "The sheet of 58 atoms of the 1995 simulator, at its own size: its tool is a ball of 76 mm",
        &[],
    ),
    scene_entry(
        "seed-printed",
        "The same sheet as it was printed, skewed",
        &[],
    ),
];

/// A scene of a task, with its truth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskScene {
    /// The scene: a name, or the text of one.
    pub scene: String,
    /// Hidden lumps.
    pub lumps: Vec<Lump>,
    /// Sites of the question \[m\].
    pub sites_m: Vec<[f64; 2]>,
    /// Stiffness of each \[N/m\].
    pub true_npm: Vec<f64>,
    /// Line to trace \[m\].
    pub line_m: Option<[[f64; 2]; 2]>,
}

/// Returns the library entry of a scene, if there is one.
#[must_use]
pub fn scene_named(name: &str) -> Option<&'static RehearsalScene> {
    SCENES.iter().find(|offer| offer.name == name)
}

/// Places a task on a scene by a seed.
///
/// # Errors
/// [`ConfigError`] if there is no such task on that scene, or the scene cannot be used.
pub fn place_task(
    offer: &RehearsalScene,
    kind: TaskKind,
    seed: u64,
) -> Result<TaskScene, ConfigError> {
    if !offer.tasks.contains(&kind) {
        let message = format!("task is {}: not on the scene {}", kind.name(), offer.name);
        return Err(ConfigError::Field(message));
    }
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut placed = TaskScene {
        scene: offer.name.into(),
        ..TaskScene::default()
    };
    match kind {
        FindLump => {
            let place_m = offer
                .hiding_half_m
                .map(|half_m| half_m * (2.0 * uniform(&mut chance) - 1.0));
            placed.scene = scene_with_lump(offer.name, place_m)?;
            placed.lumps = lab::load_scene(&placed.scene, "twin")?.lumps;
        }
        RankStiffness => {
            let mut factors = FACTORS;
            for last in (1..factors.len()).rev() {
                let with = ((last + 1) as f64 * uniform(&mut chance)) as usize;
                factors.swap(last, with.min(last));
            }
            placed.scene = scene_with_sites(offer.name, factors)?;
            placed.sites_m = SITES_M.to_vec();
            let scene = lab::load_scene(&placed.scene, "twin")?;
            let presses = scene.press_stiffness(&SITES_M, DEPTH_M);
            let presses = presses.map_err(|error| wrong(offer.name, &error))?;
            placed.true_npm = presses.iter().map(|press| press.secant_npm).collect();
        }
        Trace => {
            let angle = (uniform(&mut chance) - 0.5) * std::f64::consts::PI;
            let end_m = [TRACE_M * libm::cos(angle), TRACE_M * libm::sin(angle)];
            placed.line_m = Some([end_m.map(|x| -x), end_m]);
        }
        Grasp => {}
    }
    Ok(placed)
}

impl TaskScene {
    /// Scores the recorded ticks of a task by its answer.
    ///
    /// # Errors
    /// Missing part of the answer, in words.
    pub(super) fn score(
        &self,
        kind: TaskKind,
        answer: &TaskAnswer,
        ticks: &[TickRecord],
    ) -> Result<Score, String> {
        Ok(match kind {
            FindLump => {
                let place_m = answer.place_m;
                let place_m = place_m.filter(|place| place.iter().all(|x| x.is_finite()));
                let place_m =
                    place_m.ok_or("no place is marked; hold the tool over it and mark it")?;
                task::score_lump_search(ticks, place_m, &self.lumps)
            }
            RankStiffness => {
                let mut sorted = answer.order.clone();
                sorted.sort_unstable();
                if !sorted.iter().copied().eq(0..self.sites_m.len()) {
                    return Err("the order does not name each place once".into());
                }
                task::score_ranking(ticks, &self.true_npm, &answer.order)
            }
            Trace => {
                let line_m = self.line_m.ok_or("this scene has no line")?;
                task::score_trace(ticks, line_m, TRACE_N)
            }
            Grasp => task::score_grasp(ticks, GRASP_N, GRASP_S),
        })
    }
}

pub(super) fn wrong(name: &str, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Field(format!("scene {name}: {error}"))
}

fn table(name: &str) -> Result<Table, ConfigError> {
    let text = scene::scene_text(name).map_err(|error| wrong(name, &error))?;
    text.parse().map_err(|error| wrong(name, &error))
}

/// Returns the table of a lump: its centre \[m\], and numbers by their names.
fn lump(center_m: &[f64], numbers: &[(&str, f64)]) -> Table {
    let center = center_m.iter().map(|&m| Value::Float(m)).collect();
    let numbers = numbers
        .iter()
        .map(|&(name, value)| (name, Value::Float(value)));
    let fields = numbers.chain([("center_m", Value::Array(center))]);
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns a built-in scene with its last lump or inclusion moved; a block without one gets a new one.
fn scene_with_lump(name: &str, place_m: [f64; 2]) -> Result<String, ConfigError> {
    let mut scene = table(name)?;
    let keys = ["lump", "inclusion"];
    let hidden = keys
        .iter()
        .find_map(|key| scene.get(*key)?.as_array().map(|_| *key))
        .and_then(|key| scene.get_mut(key)?.as_array_mut()?.last_mut());
    let Some(hidden) = hidden else {
        let [x_m, y_m] = place_m;
        let numbers = [("radius_m", LUMP_RADIUS_M), ("young_pa", LUMP_PA)];
        let mut lump = lump(&[x_m, y_m, -LUMP_DEPTH_M], &numbers);
        lump.insert("name".into(), "lump".into());
        scene.insert("inclusion".into(), vec![lump].into());
        return Ok(scene.to_string());
    };
    let center = hidden
        .get_mut("center_m")
        .and_then(Value::as_array_mut)
        .ok_or_else(|| wrong(name, &"its lump has no centre"))?;
    for (coordinate, new) in center.iter_mut().zip(place_m) {
        *coordinate = new.into();
    }
    Ok(scene.to_string())
}

/// Returns a built-in sheet with a place of another stiffness at each of the sites.
fn scene_with_sites(name: &str, factors: [f64; 3]) -> Result<String, ConfigError> {
    let mut scene = table(name)?;
    let sites = SITES_M.iter().zip(factors);
    let lumps = sites
        .map(|(site_m, factor)| lump(site_m, &[("radius_m", SITE_RADIUS_M), ("factor", factor)]));
    scene.insert("lump".into(), lumps.collect::<Vec<_>>().into());
    Ok(scene.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_loads_and_every_task_is_placed_by_its_seed() {
        for offer in &SCENES {
            assert!(
                lab::load_scene(offer.name, "twin").is_ok(),
                "{}",
                offer.name
            );
            for &kind in offer.tasks {
                let [one, again, other] =
                    [1, 1, 2].map(|seed| place_task(offer, kind, seed).expect(offer.name));
                assert_eq!(one, again, "{}", offer.name);
                assert!(
                    kind == Grasp || one != other || kind == RankStiffness,
                    "{}",
                    offer.name
                );
                let scene = lab::load_scene(&one.scene, "twin").expect(offer.name);
                if kind == FindLump {
                    assert_eq!(scene.lumps.len(), 1, "{}", offer.name);
                    let [x_m, y_m] = scene.lumps[0].center_m;
                    assert!(
                        x_m.abs() <= offer.hiding_half_m[0] && y_m.abs() <= offer.hiding_half_m[1]
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_scene_hides_a_lump_twice_as_stiff_as_its_surroundings() {
        let offer =
            scene_named(&palpate_session::config::Config::default().twin).expect("built in");
        let placed = place_task(offer, FindLump, 7).expect("placed");
        let scene = lab::load_scene(&placed.scene, "twin").expect("a scene");
        let center_m = placed.lumps[0].center_m;
        let beside_m = [center_m[0] - center_m[0].signum() * 0.018, center_m[1]];
        let presses = scene
            .press_stiffness(&[center_m, beside_m], DEPTH_M)
            .expect("pressed");
        let [over, beside] = [presses[0].secant_npm, presses[1].secant_npm];
        assert!(over > 2.0 * beside, "{over} N/m over it, {beside} beside");
    }

    #[test]
    fn s4_07_sites_to_rank_differ_by_more_than_the_discrimination_threshold() {
        let offer = scene_named("sheet-fine").expect("built in");
        let mut orders = Vec::new();
        for seed in 0..6 {
            let placed = place_task(offer, RankStiffness, seed).expect("placed");
            let mut sorted = placed.true_npm.clone();
            sorted.sort_by(f64::total_cmp);
            for pair in sorted.windows(2) {
                assert!(pair[1] / pair[0] > 1.2, "{:?}", placed.true_npm);
            }
            orders.push(placed.true_npm.iter().position(|npm| *npm == sorted[0]));
        }
        orders.sort_unstable();
        orders.dedup();
        assert!(orders.len() > 1, "the softest is not always at one place");
    }

    #[test]
    fn an_incomplete_answer_is_refused_with_its_missing_part() {
        let offer = scene_named("sheet-fine").expect("built in");
        let placed = place_task(offer, RankStiffness, 3).expect("placed");
        let none = placed.score(RankStiffness, &TaskAnswer::default(), &[]);
        assert!(none.expect_err("no order").contains("each place once"));
        let lump = placed.score(FindLump, &TaskAnswer::default(), &[]);
        assert!(lump.expect_err("no place").contains("mark"));
        assert!(place_task(offer, Grasp, 1).is_err());
    }
}
