//! What can be rehearsed live: scenes with a line each, and tasks on them, placed anew for every attempt.
//!
//! Source: ours; seed-004 rows S4-22, S4-26 and S4-31 for what is practised. A task that hides something makes a
//! scene of its own from the built-in one and the attempt's number, so the folder of a session has all of it.

use palpate_scene as scene;
use palpate_scene::Lump;
use palpate_transport::chance::even;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use toml::{Table, Value};

use palpate_analysis::rehearsed::task::Task;
use palpate_session::config::ConfigError;
use palpate_session::lab;
use palpate_session::monitor::request::{GRASP_N, GRASP_S, Said, TRACE_N, TaskKind};

/// Half the length of the line of a trace \[m\].
const TRACE_M: f64 = 0.015;

/// Places whose stiffness is ranked \[m\], about as far from the border and as stiff before anything is dealt to them,
/// and the factors that are.
const SITES_M: [[f64; 2]; 3] = [[-0.016, -0.01], [0.016, -0.01], [0.0, 0.014]];
const FACTORS: [f64; 3] = [0.4, 1.0, 3.0];
const SITE_RADIUS_M: f64 = 0.011;

/// The lump that is hidden in a block which has none of its own: its radius, how deep its middle lies \[m\], and Young's
/// modulus \[Pa\]. It lies in the fat of `layered`, and feels more than twice as stiff as what is beside it at 4 mm.
const LUMP_RADIUS_M: f64 = 0.005;
const LUMP_DEPTH_M: f64 = 0.007;
const LUMP_PA: f64 = 90_000.0;

/// Depth at which the stiffness of a place is what counts \[m\].
const DEPTH_M: f64 = 0.004;

/// A scene that can be rehearsed live.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Name of the scene.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What can be practised on it.
    pub tasks: &'static [TaskKind],
    /// Half widths of where a lump is hidden \[m\].
    hides_m: [f64; 2],
}

const fn offer(name: &'static str, about: &'static str, tasks: &'static [TaskKind]) -> Offer {
    Offer {
        name,
        about,
        tasks,
        hides_m: [0.018, 0.018],
    }
}

use TaskKind::{FindLump, Grasp, RankStiffness, Trace};

/// All of them, the lightest first.
pub(crate) const OFFERS: [Offer; 15] = [
    offer(
        "flat-sheet",
        "A flat sheet, soft on the left and stiff on the right: press it, grip and stretch it, or skate over it closed",
        &[Trace, Grasp],
    ),
    offer("sheet", "A patch of springs (IDMS), 80 by 69 mm", &[Trace]),
    offer(
        "sheet-fine",
        "The patch of springs with finer meshes: three places of unknown stiffness",
        &[RankStiffness, Trace],
    ),
    offer(
        "sheet-lump",
        "The patch of springs with a hidden stiff lump",
        &[FindLump],
    ),
    offer(
        "layered",
        "Skin, fat and muscle over bone, a continuum of finite elements",
        &[FindLump, Trace],
    ),
    offer(
        "layered-lump",
        "Skin, fat and muscle with a hidden lump of 8 mm",
        &[FindLump],
    ),
    Offer {
        hides_m: [0.012, 0.005],
        ..offer(
            "block-nodule",
            "A soft block with a stiff lump of 10 mm in its middle, 10 mm deep",
            &[FindLump],
        )
    },
    offer(
        "block",
        "A soft block, the test body of the specification",
        &[],
    ),
    offer(
        "rough",
        "Soft tissue that rubs, over a bone that rises to half its height",
        &[],
    ),
    offer(
        "tweezers",
        "A pad of soft tissue for tweezers: their jaws hold by friction, and slip",
        &[Grasp],
    ),
    offer(
        "linked-nodule",
        "A volume of linked elements that can be cut, with a stiff nodule near its surface",
        &[FindLump],
    ),
    offer(
        "limb",
        "A piece of a synthetic limb in layers, with bone, vessel and tumour; it can be cut",
        &[],
    ),
    offer(
        "layers-nodule",
        "Skin fifty times as stiff as the fat under it, and a nodule",
        &[],
    ),
    offer(
        "seed-regular",
        "The sheet of 58 atoms of the 1995 simulator, at its own size: its tool is a ball of 76 mm",
        &[],
    ),
    offer(
        "seed-printed",
        "The same sheet as it was printed, skewed",
        &[],
    ),
];

/// A scene as it is touched: of a task with what is true of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Posed {
    /// The scene: a name, or the text of one.
    pub scene: String,
    /// What is hidden in it.
    pub lumps: Vec<Lump>,
    /// Places that are asked about \[m\].
    pub sites_m: Vec<[f64; 2]>,
    /// Stiffness of each \[N/m\].
    pub true_npm: Vec<f64>,
    /// A line that is to be followed \[m\].
    pub line_m: Option<[[f64; 2]; 2]>,
}

/// The offer of a scene, if it is one of the library.
#[must_use]
pub fn offer_of(name: &str) -> Option<&'static Offer> {
    OFFERS.iter().find(|offer| offer.name == name)
}

/// Place a task on a scene anew, by a seed.
///
/// # Errors
/// [`ConfigError`] if there is no such task on that scene, or the scene cannot be used.
pub fn pose(offer: &Offer, kind: TaskKind, seed: u64) -> Result<Posed, ConfigError> {
    if !offer.tasks.contains(&kind) {
        let message = format!("task is {}: not on the scene {}", kind.name(), offer.name);
        return Err(ConfigError::Field { message });
    }
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut posed = Posed {
        scene: offer.name.into(),
        lumps: Vec::new(),
        sites_m: Vec::new(),
        true_npm: Vec::new(),
        line_m: None,
    };
    match kind {
        FindLump => {
            let place_m = offer
                .hides_m
                .map(|half_m| half_m * (2.0 * even(&mut chance) - 1.0));
            posed.scene = hiding(offer.name, place_m)?;
            posed.lumps = lab::load_scene(&posed.scene, "twin")?.lumps;
        }
        RankStiffness => {
            let mut factors = FACTORS;
            for last in (1..factors.len()).rev() {
                let with = ((last + 1) as f64 * even(&mut chance)) as usize;
                factors.swap(last, with.min(last));
            }
            posed.scene = dealt(offer.name, factors)?;
            posed.sites_m = SITES_M.to_vec();
            let scene = lab::load_scene(&posed.scene, "twin")?;
            let presses = scene.presses(&SITES_M, DEPTH_M);
            let presses = presses.map_err(|error| wrong(offer.name, &error))?;
            posed.true_npm = presses.iter().map(|press| press.secant_npm).collect();
        }
        Trace => {
            let turn = (even(&mut chance) - 0.5) * std::f64::consts::PI;
            let end_m = [TRACE_M * libm::cos(turn), TRACE_M * libm::sin(turn)];
            posed.line_m = Some([end_m.map(|x| -x), end_m]);
        }
        Grasp => {}
    }
    Ok(posed)
}

impl Posed {
    /// The task with what was answered, to be scored.
    ///
    /// # Errors
    /// What the answer lacks, in words.
    pub fn answered(&self, kind: TaskKind, said: &Said) -> Result<Task, String> {
        Ok(match kind {
            FindLump => Task::FindLump {
                place_m: said
                    .place_m
                    .filter(|place| place.iter().all(|x| x.is_finite()))
                    .ok_or("no place is marked; hold the tool over it and mark it")?,
            },
            RankStiffness => {
                let mut sorted = said.order.clone();
                sorted.sort_unstable();
                if !sorted.iter().copied().eq(0..self.sites_m.len()) {
                    return Err("the order does not name each place once".into());
                }
                Task::RankStiffness {
                    true_npm: self.true_npm.clone(),
                    order: said.order.clone(),
                }
            }
            Trace => {
                let [from_m, to_m] = self.line_m.ok_or("this scene has no line")?;
                Task::Trace {
                    from_m,
                    to_m,
                    force_n: TRACE_N,
                }
            }
            Grasp => Task::Grasp {
                force_n: GRASP_N,
                hold_s: GRASP_S,
            },
        })
    }
}

fn wrong(name: &str, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Field {
        message: format!("scene {name}: {error}"),
    }
}

fn table(name: &str) -> Result<Table, ConfigError> {
    let text = scene::text(name).map_err(|error| wrong(name, &error))?;
    text.parse().map_err(|error| wrong(name, &error))
}

fn place([x_m, y_m]: [f64; 2]) -> Vec<Value> {
    vec![Value::Float(x_m), Value::Float(y_m)]
}

/// A built-in scene with its last lump or inclusion elsewhere; a block that has none is given one.
fn hiding(name: &str, place_m: [f64; 2]) -> Result<String, ConfigError> {
    let mut scene = table(name)?;
    let of = ["lump", "inclusion"];
    let hidden = of
        .iter()
        .find_map(|key| scene.get(*key)?.as_array().map(|_| *key))
        .and_then(|key| scene.get_mut(key)?.as_array_mut()?.last_mut());
    let Some(hidden) = hidden else {
        scene.insert("inclusion".into(), Value::Array(vec![lump(place_m)]));
        return Ok(scene.to_string());
    };
    let center = hidden
        .get_mut("center_m")
        .and_then(Value::as_array_mut)
        .ok_or_else(|| wrong(name, &"what is hidden in it is at no place"))?;
    for (was, now) in center.iter_mut().zip(place(place_m)) {
        *was = now;
    }
    Ok(scene.to_string())
}

/// A lump for a block that has none.
fn lump(place_m: [f64; 2]) -> Value {
    let mut lump = Table::new();
    let [x_m, y_m] = place_m;
    let center = [x_m, y_m, -LUMP_DEPTH_M].map(Value::Float);
    lump.insert("name".into(), Value::String("lump".into()));
    lump.insert("center_m".into(), Value::Array(center.into()));
    lump.insert("radius_m".into(), Value::Float(LUMP_RADIUS_M));
    lump.insert("young_pa".into(), Value::Float(LUMP_PA));
    Value::Table(lump)
}

/// A built-in sheet with a stiffer place at each of the sites.
fn dealt(name: &str, factors: [f64; 3]) -> Result<String, ConfigError> {
    let mut scene = table(name)?;
    let lump = |(site_m, factor): ([f64; 2], f64)| {
        let mut lump = Table::new();
        lump.insert("center_m".into(), Value::Array(place(site_m)));
        lump.insert("radius_m".into(), Value::Float(SITE_RADIUS_M));
        lump.insert("factor".into(), Value::Float(factor));
        Value::Table(lump)
    };
    let lumps = SITES_M.into_iter().zip(factors).map(lump).collect();
    scene.insert("lump".into(), Value::Array(lumps));
    Ok(scene.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offer_can_be_loaded_and_every_task_be_posed_and_placed_by_its_seed() {
        for offer in &OFFERS {
            assert!(
                lab::load_scene(offer.name, "twin").is_ok(),
                "{}",
                offer.name
            );
            for &kind in offer.tasks {
                let [one, again, other] =
                    [1, 1, 2].map(|seed| pose(offer, kind, seed).expect(offer.name));
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
                    assert!(x_m.abs() <= offer.hides_m[0] && y_m.abs() <= offer.hides_m[1]);
                }
            }
        }
    }

    #[test]
    fn the_first_scene_hides_a_lump_that_feels_twice_as_stiff_as_what_is_beside_it() {
        let offer = offer_of(&palpate_session::config::Config::default().twin).expect("built in");
        let posed = pose(offer, FindLump, 7).expect("placed");
        let scene = lab::load_scene(&posed.scene, "twin").expect("a scene");
        let center_m = posed.lumps[0].center_m;
        let beside_m = [center_m[0] - center_m[0].signum() * 0.018, center_m[1]];
        let felt = scene
            .presses(&[center_m, beside_m], DEPTH_M)
            .expect("pressed");
        let [over, beside] = [felt[0].secant_npm, felt[1].secant_npm];
        assert!(over > 2.0 * beside, "{over} N/m over it, {beside} beside");
    }

    #[test]
    fn s4_07_places_to_rank_differ_by_more_than_a_hand_needs() {
        let offer = offer_of("sheet-fine").expect("built in");
        let mut orders = Vec::new();
        for seed in 0..6 {
            let posed = pose(offer, RankStiffness, seed).expect("placed");
            let mut sorted = posed.true_npm.clone();
            sorted.sort_by(f64::total_cmp);
            for pair in sorted.windows(2) {
                assert!(pair[1] / pair[0] > 1.2, "{:?}", posed.true_npm);
            }
            orders.push(posed.true_npm.iter().position(|npm| *npm == sorted[0]));
        }
        orders.sort_unstable();
        orders.dedup();
        assert!(orders.len() > 1, "the softest is not always at one place");
    }

    #[test]
    fn an_answer_that_lacks_something_is_refused_with_what_it_lacks() {
        let offer = offer_of("sheet-fine").expect("built in");
        let posed = pose(offer, RankStiffness, 3).expect("placed");
        let none = posed.answered(RankStiffness, &Said::default());
        assert!(none.expect_err("no order").contains("each place once"));
        let lump = posed.answered(FindLump, &Said::default());
        assert!(lump.expect_err("no place").contains("mark"));
        assert!(pose(offer, Grasp, 1).is_err());
    }
}
