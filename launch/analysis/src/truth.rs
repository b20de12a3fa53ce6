//! What a run in simulation knows beyond its records: true stiffness, lumps and delays.
//!
//! Source: ours. The stiffness under the probe is that of a slow press on a copy of the remote
//! tissue, with the tool that touched it, to the depth that the operator's hand would reach on the
//! tissue itself. Tissue is not linear, so a stiffness belongs to a depth; one that hung on the channel
//! would be another truth in every mode. The delay of a frame is counted in ticks, on no clock at all.

use palpate_master::device::HandleKind;
use palpate_master::device::palpation::PalpationParams;
use palpate_master::device::script::ScriptParams;
use palpate_master::predict::ToolShape;
use palpate_scene::{Block, Body, LinkedBlock, Press, Scene, SceneError};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_session::stat::upper_median;
use palpate_transport::Span;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::trace::{Side, TickRecord};
use palpate_twin::{Reaction, Vec3};

use crate::metrics::{MeshError, OnewayTruth, SessionFacts, Site, TwinFacts};
use crate::report::Ground;

/// Least depth at which the true stiffness is taken \[m\], if the hand would reach less.
const DEPTH_MIN_M: f64 = 1e-3;

/// Presses by which the depth of hand and tissue in balance is found. Each begins with the secant of
/// the one before, and the secant changes slowly with depth: on the built-in scenes the third depth
/// is within 1 % of the tenth.
const BALANCES: usize = 3;

/// Site in the middle of the patch, whose balance gives the depth for all.
const MIDDLE: u16 = 5;

/// The sites that `master` has pressed, with what is really there; none without a palpation.
///
/// # Errors
/// [`ConfigError`] if the remote tissue is a scene that cannot be used.
pub fn sites(config: &Config, master: &[TickRecord]) -> Result<Vec<Site>, ConfigError> {
    let ScriptParams::Palpation(palpation) = &config.operator.script else {
        return Ok(Vec::new());
    };
    let pressed = |phase: &u16| master.iter().any(|record| record.phase == *phase);
    let phases: Vec<u16> = (1..=9).filter(pressed).collect();
    let mut sites: Vec<Site> = phases
        .iter()
        .map(|&phase| Site {
            phase,
            place_m: palpation.site_m(phase),
            ..Site::default()
        })
        .collect();
    if let Some(stiffness) = config.tissue.strip_prefix("wall:") {
        for site in &mut sites {
            site.true_stiffness_npm = stiffness.parse().ok();
        }
    } else if config.tissue != "free" && !sites.is_empty() {
        press(config, palpation, &mut sites)?;
    }
    Ok(sites)
}

/// Where a person's hand went as it liked: on the remote tissue, or on the twin of a session without one. None of a
/// scripted hand, which presses sites, and of what is no tissue.
///
/// # Errors
/// [`ConfigError`] if that is a scene that cannot be used.
pub fn ground(config: &Config, facts: &SessionFacts) -> Result<Option<Ground>, ConfigError> {
    let (name, field) = if facts.networked {
        (&config.tissue, "tissue")
    } else {
        (&config.twin, "twin")
    };
    let scripted = config.operator.handle != HandleKind::Pointer;
    if scripted || name == "free" || name.starts_with("wall:") {
        return Ok(None);
    }
    // the operator's side alone does not know what the robot touches
    let known = !facts.networked || facts.sides.contains(&Side::Slave);
    let lumps = match known {
        true => Some(lab::load_scene(name, field)?.lumps),
        false => None,
    };
    Ok(Some(Ground {
        tool_radius_m: config.master.predict.tool_radius_m,
        lumps,
    }))
}

/// A scene with the tool that touches it in this session: a scene's own is meant for presses alone.
fn touched(config: &Config, name: &str, field: &str) -> Result<Scene, ConfigError> {
    let mut scene = lab::load_scene(name, field)?;
    let predict = &config.master.predict;
    (scene.tool_radius_m, scene.tool_stiffness_npm) =
        (predict.tool_radius_m, predict.tool_stiffness_npm);
    Ok(scene)
}

/// Presses a copy of the remote tissue at every site, all to one depth.
fn press(
    config: &Config,
    palpation: &PalpationParams,
    sites: &mut [Site],
) -> Result<(), ConfigError> {
    let scene = touched(config, &config.tissue, "tissue")?;
    for site in sites.iter_mut() {
        let [x_m, y_m] = site.place_m;
        site.over_lump = scene.lumps.iter().any(|lump| {
            let (dx, dy) = (x_m - lump.center_m[0], y_m - lump.center_m[1]);
            dx * dx + dy * dy < lump.radius_m * lump.radius_m
        });
    }
    // presses are those of a ball
    if config.master.predict.tool_shape != ToolShape::Ball {
        return Ok(());
    }
    let hand_npm = config.operator.grip.hand().stiffness_npm;
    let places: Vec<[f64; 2]> = sites.iter().map(|site| site.place_m).collect();
    // a scene that was built for the session can be built again; if not, nothing is known
    let presses = reach_m(&scene, palpation, hand_npm)
        .and_then(|depth_m| scene.presses(&places, depth_m))
        .unwrap_or_default();
    for (site, press) in sites.iter_mut().zip(presses) {
        site.true_stiffness_npm = met(&press);
    }
    Ok(())
}

/// Stiffness of a press that met tissue. A press beside the block meets nothing, and tissue that fell
/// in under the tool does not push back: neither is a stiffness.
fn met(press: &Press) -> Option<f64> {
    let told = |value: f64| value.is_finite() && value > 0.0;
    (told(press.force_n) && told(press.chord_npm)).then_some(press.chord_npm)
}

/// How deep the hand presses the tissue itself, with no network between \[m\]: where the spring of the
/// hand, pulled to the depth that is meant, and the tissue in the middle of the patch balance.
fn reach_m(scene: &Scene, palpation: &PalpationParams, hand_npm: f64) -> Result<f64, SceneError> {
    let middle_m = palpation.site_m(MIDDLE);
    // the script counts from its own tool's first contact
    let meant_m = palpation.press_depth_m + scene.tool_radius_m - palpation.tool_radius_m;
    let mut depth_m = 0.5 * meant_m;
    for _ in 0..BALANCES {
        depth_m = depth_m.max(DEPTH_MIN_M);
        let press = scene.presses(&[middle_m], depth_m)?;
        let secant_npm = press.first().map_or(0.0, |press| press.secant_npm);
        let share = hand_npm / (hand_npm + secant_npm.max(0.0));
        depth_m = meant_m * if share.is_finite() { share } else { 0.0 };
    }
    Ok(depth_m.max(DEPTH_MIN_M))
}

/// What a reader must know of sites whose true stiffness says little: places outside the block of
/// remote tissue or of its fine zone, and presses that met nothing. Nothing if all is well.
///
/// # Errors
/// [`ConfigError`] if the remote tissue is a scene that cannot be used.
pub fn remarks(config: &Config, sites: &[Site]) -> Result<Vec<String>, ConfigError> {
    let name = config.tissue.as_str();
    if sites.is_empty() || name == "free" || name.starts_with("wall:") {
        return Ok(Vec::new());
    }
    let scene = lab::load_scene(name, "tissue")?;
    let (middle_m, half_m) = surface(&scene);
    let beyond = |site: &&Site, middle_m: [f64; 2], half_m: [f64; 2]| {
        (0..2).any(|axis| (site.place_m[axis] - middle_m[axis]).abs() > half_m[axis])
    };
    let outside = |site: &&Site| beyond(site, middle_m, half_m);
    let coarse = |site: &&Site| match &scene.body {
        Body::Block(block) => {
            !outside(site) && beyond(site, block.zone.centre_m, block.zone.half_m)
        }
        Body::Lattice { .. }
        | Body::Flat(_)
        | Body::Linked(_)
        | Body::Voxels(_)
        | Body::Mesh(_) => false,
    };
    let unmet = |site: &&Site| !outside(site) && site.true_stiffness_npm.is_none();
    let list = |which: &dyn Fn(&&Site) -> bool, words: &str| {
        let numbers: Vec<String> = sites
            .iter()
            .filter(which)
            .map(|site| site.phase.to_string())
            .collect();
        (!numbers.is_empty()).then(|| format!("Sites {}: {words}", numbers.join(", ")))
    };
    let remarks = [
        list(
            &outside,
            &format!("outside the tissue of {name}, where there is nothing to press."),
        ),
        list(
            &coarse,
            &format!(
                "outside the fine zone of {name}; cells are coarser there, so the stiffness is also that \
             of the mesh."
            ),
        ),
        list(
            &unmet,
            match config.master.predict.tool_shape {
                ToolShape::Ball => {
                    "a slow press met no force, so their true stiffness is not known."
                }
                _ => "their true stiffness is known of a ball only.",
            },
        ),
    ];
    Ok(remarks.into_iter().flatten().collect())
}

/// Middle and half edges of the surface of a scene \[m\].
fn surface(scene: &Scene) -> ([f64; 2], [f64; 2]) {
    match &scene.body {
        Body::Block(Block { size_m, .. }) | Body::Linked(LinkedBlock { size_m, .. }) => {
            ([0.0; 2], [0.5 * size_m[0], 0.5 * size_m[1]])
        }
        Body::Voxels(body) => {
            let [x_m, y_m, _] = body.size_m();
            ([0.0; 2], [0.5 * x_m, 0.5 * y_m])
        }
        Body::Mesh(volume) => {
            let [low_m, high_m] = volume.corners_m();
            let middle = |axis: usize| 0.5 * (low_m[axis] + high_m[axis]);
            let half = |axis: usize| 0.5 * (high_m[axis] - low_m[axis]);
            ([middle(0), middle(1)], [half(0), half(1)])
        }
        Body::Flat(sheet) => ([0.0; 2], sheet.size_m.map(|edge_m| 0.5 * edge_m)),
        Body::Lattice { lattice, .. } => {
            let side = |axis: usize| {
                let places = lattice.atoms.iter().map(|atom| atom.position_m[axis]);
                let (low_m, high_m) = places.fold((f64::MAX, f64::MIN), |(low, high), at| {
                    (low.min(at), high.max(at))
                });
                (0.5 * (low_m + high_m), 0.5 * (high_m - low_m))
            };
            let (x, y) = (side(0), side(1));
            ([x.0, y.0], [x.1, y.1])
        }
    }
}

/// What the twin is, what its steps cost on this machine, and what its mesh does to their forces: a copy is touched
/// once more where `master` touched it, on this thread's own CPU clock. None if no mode of the session has a twin.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn twin(config: &Config, master: &[TickRecord]) -> Result<Option<TwinFacts>, ConfigError> {
    if !config.coupling.needs_twin() && !config.operator.wields() {
        return Ok(None);
    }
    let scene = touched(config, &config.twin, "twin")?;
    let Ok(mut tissue) = scene.build() else {
        return Ok(None);
    };
    let mut reaction = [Reaction::default()];
    let most = match scene.method() {
        "implicit" => IMPLICIT_STEPS_TIMED,
        _ => STEPS_TIMED,
    };
    let mut step_us = Vec::with_capacity(master.len().min(most));
    let (mut errors, mut forces, mut touched) = (0.0, 0.0, 0_u64);
    for record in master.iter().take(most) {
        let [x, y, z, _] = record.position_m;
        let [vx, vy, vz, _] = record.velocity_mps;
        let mut tool = scene.tool_at(Vec3::new(x, y, z));
        tool.velocity_mps = Vec3::new(vx, vy, vz);
        let begun = thread_cpu_now();
        tissue.step(&[tool], PERIOD.s(), &mut reaction);
        step_us.push((thread_cpu_now() - begun).ms() * 1e3);
        if let Some(error_n) = reaction[0].error_n {
            errors += error_n * error_n;
            forces += reaction[0].force_n.norm_squared();
            touched += 1;
        }
    }
    let caps = tissue.caps();
    Ok(Some(TwinFacts {
        method: caps.method.to_owned(),
        nodes: caps.nodes as u64,
        elements: caps.elements as u64,
        step_us,
        mesh_error: (touched > 0 && forces > 0.0).then(|| MeshError {
            rms_n: (errors / touched as f64).sqrt(),
            share: (errors / forces).sqrt(),
        }),
        contact: None,
    }))
}

/// Most steps of the twin that are timed: a minute of them.
const STEPS_TIMED: usize = 60_000;

/// As many of the implicit solver, whose steps cost as much as a session's.
const IMPLICIT_STEPS_TIMED: usize = 2000;

/// True delays of a session in lock step, where `sent` has the tick of every frame from the master
/// and from the slave, or none if frame `n` is made in tick `n - 1`.
#[must_use]
pub fn delays(
    master: &[TickRecord],
    slave: &[TickRecord],
    [from_master, from_slave]: [&[u64]; 2],
) -> OnewayTruth {
    OnewayTruth {
        master_ns: one_way_ns(master, from_slave),
        slave_ns: one_way_ns(slave, from_master),
    }
}

/// True delays of a live session whose sides share a clock and send a frame in every tick: from the tick
/// that made a frame to when it was received.
#[must_use]
pub(crate) fn delays_of_one_clock(master: &[TickRecord], slave: &[TickRecord]) -> OnewayTruth {
    OnewayTruth {
        master_ns: clocked_ns(master, slave),
        slave_ns: clocked_ns(slave, master),
    }
}

fn clocked_ns(records: &[TickRecord], sender: &[TickRecord]) -> Vec<i64> {
    let (mut newest, mut delay_ns) = (0, -1);
    let mut delays = Vec::with_capacity(records.len());
    for record in records {
        if record.received_sequence != newest {
            newest = record.received_sequence;
            // the frame in the mailbox is the one that was taken, or nothing is known of that
            let taken = (record.frame_sequence == newest).then_some(newest.wrapping_sub(1));
            let made = taken.and_then(|index| sender.get(usize::try_from(index).ok()?));
            delay_ns = made.map_or(-1, |made| record.frame_received_ns - made.given_ns);
        }
        delays.push(delay_ns);
    }
    delays
}

fn one_way_ns(records: &[TickRecord], sent: &[u64]) -> Vec<i64> {
    let (mut newest, mut delay_ns) = (0, -1);
    let mut delays = Vec::with_capacity(records.len());
    for record in records {
        if record.received_sequence != newest {
            newest = record.received_sequence;
            let index = newest.wrapping_sub(1);
            let made = match sent {
                [] => Some(index),
                known => known.get(index as usize).copied(),
            };
            delay_ns = made.map_or(-1, |made| (record.tick as i64 - made as i64) * PERIOD.0);
        }
        delays.push(delay_ns);
    }
    delays
}

/// Median of known delays; none if there is none.
#[must_use]
pub fn median(delays_ns: &[i64]) -> Option<Span> {
    let known = delays_ns.iter().filter(|&&ns| ns >= 0);
    // whole numbers of nanoseconds are exact up to a hundred days
    let mut known: Vec<f64> = known.map(|&ns| ns as f64).collect();
    upper_median(&mut known).map(|ns| Span(ns as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_when_a_frame_first_serves() {
        let record = |tick, received_sequence| TickRecord {
            tick,
            received_sequence,
            ..TickRecord::default()
        };
        // frame 1 (of tick 0) comes in tick 2 and serves twice; frame 4 (of tick 3) comes at once
        let records = [record(0, 0), record(2, 1), record(3, 1), record(4, 4)];
        let delays = one_way_ns(&records, &[]);
        assert_eq!(delays, [-1, 2_000_000, 2_000_000, 1_000_000]);
        assert_eq!(median(&delays), Some(Span(2_000_000)));
        assert_eq!(median(&[-1]), None);
    }

    #[test]
    fn delays_on_one_clock_are_from_making_to_receiving() {
        let made = |given_ns| TickRecord {
            given_ns,
            ..TickRecord::default()
        };
        let took = |received_sequence, frame_sequence, frame_received_ns| TickRecord {
            received_sequence,
            frame_sequence,
            frame_received_ns,
            ..TickRecord::default()
        };
        let sender = [made(100), made(200), made(310)];
        // frame 1 serves twice; of frame 2 another lay in the mailbox; frame 9 was never made
        let receiver = [
            took(0, 0, 0),
            took(1, 1, 150),
            took(1, 1, 150),
            took(2, 3, 350),
            took(3, 3, 350),
            took(9, 9, 900),
        ];
        let delays = clocked_ns(&receiver, &sender);
        assert_eq!(delays, [-1, 50, 50, -1, 40, -1]);
    }

    #[test]
    fn only_what_was_pressed_is_a_site() {
        let config = Config {
            tissue: "wall:300".into(),
            ..Config::default()
        };
        let sites = sites(&config, &[pressed(0), pressed(2), pressed(9), pressed(11)]);
        let sites = sites.expect("a wall needs no scene");
        assert_eq!(
            sites.iter().map(|site| site.phase).collect::<Vec<_>>(),
            [2, 9]
        );
        assert!(
            sites
                .iter()
                .all(|site| site.true_stiffness_npm == Some(300.0))
        );
    }

    fn pressed(phase: u16) -> TickRecord {
        TickRecord {
            phase,
            ..TickRecord::default()
        }
    }

    #[test]
    fn issue_the_truth_was_pressed_with_another_tool_and_to_the_depth_of_the_channel() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("small-tool.toml");
        let text = lab::scene_text("layered-lump", "tissue").expect("built in");
        let small = text.replace("radius_m = 0.008", "radius_m = 0.003");
        assert_ne!(text, small);
        std::fs::write(&path, small).expect("writable");
        let truth_npm = |tissue: &str, z_m: f64| {
            let config = Config {
                tissue: tissue.into(),
                ..Config::default()
            };
            let mut record = pressed(2);
            record.position_m[2] = z_m;
            sites(&config, &[record]).expect("a scene")[0].true_stiffness_npm
        };
        let own = truth_npm("layered-lump", 0.003);
        assert!(own.is_some_and(|npm| npm > 100.0), "{own:?}");
        assert_eq!(own, truth_npm(path.to_str().expect("text"), 0.003));
        assert_eq!(own, truth_npm("layered-lump", 0.001));
    }

    #[test]
    fn issue_a_press_that_met_nothing_counted_as_truth() {
        let mut config = Config {
            tissue: "sheet".into(),
            ..Config::default()
        };
        let ScriptParams::Palpation(palpation) = &mut config.operator.script else {
            panic!("no palpation");
        };
        palpation.spacing_m = 0.05;
        let wide = sites(&config, &[pressed(5), pressed(9)]).expect("a scene");
        assert!(wide[0].true_stiffness_npm.is_some_and(|npm| npm > 0.0));
        assert_eq!(wide[1].true_stiffness_npm, None);
        let said = remarks(&config, &wide).expect("a scene");
        assert!(
            said.len() == 1 && said[0].starts_with("Sites 9: outside the tissue of sheet"),
            "{said:?}"
        );
        let config = Config::default();
        let [mut middle, mut aside] = [wide[0], wide[1]];
        aside.place_m = [0.03, 0.0];
        middle.true_stiffness_npm = None;
        let said = remarks(&config, &[middle, aside]).expect("a scene");
        let parts = ["Sites 9: outside the fine zone", "Sites 5, 9: a slow press"];
        assert!(
            said.len() == 2
                && said
                    .iter()
                    .zip(parts)
                    .all(|(text, part)| text.starts_with(part)),
            "{said:?}"
        );
        for (force_n, chord_npm) in [
            (0.0, 5.0),
            (1.0, -0.1),
            (f64::NAN, 5.0),
            (1.0, f64::INFINITY),
        ] {
            let press = Press {
                force_n,
                secant_npm: 1.0,
                chord_npm,
            };
            assert_eq!(met(&press), None);
        }
    }

    #[test]
    fn hand_and_tissue_balance_at_the_depth_of_the_truth() {
        let scene = lab::load_scene("sheet", "tissue").expect("built in");
        let palpation = PalpationParams::default();
        let depth_m = reach_m(&scene, &palpation, 300.0).expect("can be built");
        let press = scene.presses(&[[0.0; 2]], depth_m).expect("can be built")[0];
        let hand_n = 300.0 * (palpation.press_depth_m - depth_m);
        assert!(
            (press.force_n / hand_n - 1.0).abs() < 0.03,
            "{depth_m} m: {press:?}, {hand_n} N"
        );
        // nobody holds the handle
        assert_eq!(reach_m(&scene, &palpation, 0.0), Ok(DEPTH_MIN_M));
    }

    #[test]
    fn the_lump_is_where_tissue_is_stiffer() {
        let config = Config::default();
        let records: Vec<TickRecord> = (1..=9).map(pressed).collect();
        let sites = sites(&config, &records).expect("built in");
        let mean = |over: bool| {
            let of: Vec<f64> = sites
                .iter()
                .filter(|site| site.over_lump == over)
                .filter_map(|site| site.true_stiffness_npm)
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        assert!(mean(true) > 1.2 * mean(false), "{sites:?}");
    }
}
