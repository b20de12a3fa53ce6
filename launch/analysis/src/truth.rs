//! Ground truth of a simulation: true stiffness, lumps and delays.
//!
//! Source: ours. The stiffness under the probe is that of the operator's own presses on the remote tissue itself, without
//! a channel (`direct_touch`). Tissue is not linear, so a stiffness belongs to a depth; a depth
//! that depended on the channel would give another truth in every mode. The delay of a frame is counted in ticks,
//! without any clock.

use palpate_geometry::mesh::bounds_m;
use palpate_master::device::HandleKind;
use palpate_master::device::script::ScriptParams;
use palpate_scene::{Block, Scene, SceneBody, VoxelBlock};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_session::stat::{percentile, upper_median};
use palpate_transport::Span;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::trace::{Side, TickRecord};
use palpate_twin::{Reaction, Vec3};

use crate::direct_touch;
use crate::metrics::{OnewayTruth, SessionFacts, Site, press};
use crate::report::ExplorationScene;
use crate::summary::TwinSummary;

/// Returns the sites that `master` has pressed, with their true stiffness; none without a palpation.
///
/// # Errors
/// [`ConfigError`] if the remote tissue is a scene that cannot be used.
pub fn sites(config: &Config, master: &[TickRecord]) -> Result<Vec<Site>, ConfigError> {
    let ScriptParams::Palpation(palpation) = &config.operator.script else {
        return Ok(Vec::new());
    };
    let pressed = |phase: &u16| master.iter().any(|record| record.phase == *phase);
    let site = |phase: u16| Site {
        phase,
        place_m: palpation.site_m(phase),
        ..Site::default()
    };
    let mut sites: Vec<Site> = (1..=9).filter(pressed).map(site).collect();
    if let Some(stiffness) = config.tissue.strip_prefix("wall:") {
        for site in &mut sites {
            site.true_npm = stiffness.parse().ok();
        }
    } else if config.tissue != "free" && !sites.is_empty() {
        press_sites(config, &mut sites)?;
    }
    Ok(sites)
}

/// Returns the scene of a free exploration: the remote tissue, or the twin of a session without one. None for a
/// scripted hand, which presses sites, and for a wall or free space.
///
/// # Errors
/// [`ConfigError`] if the scene cannot be used.
pub(crate) fn exploration_scene(
    config: &Config,
    facts: &SessionFacts,
) -> Result<Option<ExplorationScene>, ConfigError> {
    let (name, field) = match facts.without_peer {
        true => (&config.twin, "twin"),
        false => (&config.tissue, "tissue"),
    };
    let scripted = config.operator.handle != HandleKind::Pointer;
    if scripted || !is_scene(name) {
        return Ok(None);
    }
    // the operator's side alone has no information on the remote tissue
    let lumps = match facts.without_peer || facts.only_side != Some(Side::Master) {
        true => Some(lab::load_scene(name, field)?.lumps),
        false => None,
    };
    Ok(Some(ExplorationScene {
        tool_radius_m: config.master.predict.tool_radius_m,
        lumps,
    }))
}

/// Returns true if a tissue of a configuration is a scene, and neither a wall nor free space.
pub(crate) fn is_scene(name: &str) -> bool {
    name != "free" && !name.starts_with("wall:")
}

/// Presses a copy of the remote tissue at every site as the operator does without a channel.
fn press_sites(config: &Config, sites: &mut [Site]) -> Result<(), ConfigError> {
    let scene = lab::load_scene(&config.tissue, "tissue")?;
    for site in sites.iter_mut() {
        let [x_m, y_m] = site.place_m;
        site.over_lump = scene.lumps.iter().any(|lump| {
            let (dx, dy) = (x_m - lump.center_m[0], y_m - lump.center_m[1]);
            dx * dx + dy * dy < lump.radius_m * lump.radius_m
        });
    }
    let last_phase = sites.iter().map(|site| site.phase).max().unwrap_or(0);
    let records = direct_touch::touch(config, last_phase)?;
    let presses = press::presses(&records);
    for site in sites.iter_mut() {
        // a press beside the block touches nothing, which is no stiffness
        let last = press::last_at(&presses, site);
        site.true_npm = last.and_then(|press| Some(press.fit.ok()?.stiffness_npm));
    }
    Ok(())
}

/// Remarks on sites without a meaningful true stiffness: places outside the block of remote tissue or of its fine
/// zone, and presses without contact. Empty if there are none.
///
/// # Errors
/// [`ConfigError`] if the remote tissue is a scene that cannot be used.
pub fn remarks(config: &Config, sites: &[Site]) -> Result<Vec<String>, ConfigError> {
    let name = config.tissue.as_str();
    if sites.is_empty() || !is_scene(name) {
        return Ok(Vec::new());
    }
    let scene = lab::load_scene(name, "tissue")?;
    let (middle_m, half_m) = surface(&scene);
    let beyond = |site: &&Site, middle_m: [f64; 2], half_m: [f64; 2]| {
        (0..2).any(|axis| (site.place_m[axis] - middle_m[axis]).abs() > half_m[axis])
    };
    let outside = |site: &&Site| beyond(site, middle_m, half_m);
    let coarse = |site: &&Site| match &scene.body {
        SceneBody::Block(block) => {
            !outside(site) && beyond(site, block.zone.centre_m, block.zone.half_m)
        }
        _ => false,
    };
    let unmeasured = |site: &&Site| !outside(site) && site.true_npm.is_none();
    let list = |which: &dyn Fn(&&Site) -> bool, words: String| {
        let those = sites.iter().filter(which);
        let numbers: Vec<String> = those.map(|site| site.phase.to_string()).collect();
        (!numbers.is_empty()).then(|| format!("Sites {}: {words}", numbers.join(", ")))
    };
    let nowhere = format!("outside the tissue of {name}, where there is nothing to press.");
    let rough = format!(
        "outside the fine zone of {name}; cells are coarser there, so the stiffness depends on the \
         mesh."
    );
    let unknown = "the hand itself met no force that a stiffness explains, so their true stiffness is not known.";
    let remarks = [
        list(&outside, nowhere),
        list(&coarse, rough),
        list(&unmeasured, unknown.to_owned()),
    ];
    Ok(remarks.into_iter().flatten().collect())
}

/// Middle and half edges of the surface of a scene \[m\].
fn surface(scene: &Scene) -> ([f64; 2], [f64; 2]) {
    let [low_m, high_m] = match &scene.body {
        SceneBody::Block(Block { size_m, .. })
        | SceneBody::VoxelBlock(VoxelBlock { size_m, .. }) => centred(size_m),
        SceneBody::VoxelBody(body) => centred(&body.size_m()),
        SceneBody::Flat(sheet) => centred(&sheet.size_m),
        SceneBody::Mesh(volume) => volume.corners_m(),
        SceneBody::Lattice { lattice, .. } => {
            bounds_m(lattice.atoms.iter().map(|atom| atom.position_m))
        }
    };
    (
        [0, 1].map(|axis| 0.5 * (low_m[axis] + high_m[axis])),
        [0, 1].map(|axis| 0.5 * (high_m[axis] - low_m[axis])),
    )
}

/// Corners of a box around the origin with these edges along x and y \[m\].
fn centred(size_m: &[f64]) -> [Vec3; 2] {
    let half_m = Vec3::new(0.5 * size_m[0], 0.5 * size_m[1], 0.0);
    [-half_m, half_m]
}

/// Describes the twin, times its steps on this machine, and estimates the effect of its mesh on the force. A copy is
/// touched again at the positions of `master`, on this thread's own CPU clock. Empty if no mode has a twin.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn twin_summary(config: &Config, master: &[TickRecord]) -> Result<TwinSummary, ConfigError> {
    if !config.coupling.needs_twin() && !config.operator.uses_instruments() {
        return Ok(TwinSummary::default());
    }
    let scene = lab::scene_with_tool(config, &config.twin, "twin")?;
    let Ok(mut tissue) = scene.build() else {
        return Ok(TwinSummary::default());
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
        let mut tool = scene.tool_at(Vec3::new(x, y, z - record.twin_height_m));
        tool.velocity_mps = Vec3::from_column_slice(&record.velocity_mps[..3]);
        let begun = thread_cpu_now();
        tissue.step(&[tool], PERIOD.s(), &mut reaction);
        step_us.push((thread_cpu_now() - begun).ms() * 1e3);
        if let Some(error_n) = reaction[0].mesh_error_n {
            errors += error_n * error_n;
            forces += reaction[0].force_n.norm_squared();
            touched += 1;
        }
    }
    let caps = tissue.caps();
    let pressed = touched > 0 && forces > 0.0;
    Ok(TwinSummary {
        method: Some(caps.method.to_owned()),
        nodes: Some(caps.nodes as u64),
        elements: Some(caps.elements as u64),
        step_us_p50: percentile(&mut step_us, 0.5),
        step_us_p99: percentile(&mut step_us, 0.99),
        step_us_max: percentile(&mut step_us, 1.0),
        mesh_error_rms_n: pressed.then(|| (errors / touched as f64).sqrt()),
        mesh_error: pressed.then(|| (errors / forces).sqrt()),
        ..TwinSummary::default()
    })
}

/// Most steps of the twin that are timed: ten seconds.
const STEPS_TIMED: usize = 10_000;

/// Most timed steps of the implicit solver, whose steps cost as much as a session's.
const IMPLICIT_STEPS_TIMED: usize = 2000;

/// True delays of a session in lock step, where `sent` has the tick of every frame from the master and from the slave;
/// an empty list means that frame `n` is made in tick `n - 1`.
#[must_use]
pub(crate) fn delays(
    master: &[TickRecord],
    slave: &[TickRecord],
    sent: &[Vec<u64>; 2],
) -> OnewayTruth {
    let [from_master, from_slave] = sent;
    OnewayTruth {
        master_ns: tick_delays_ns(master, from_slave),
        slave_ns: tick_delays_ns(slave, from_master),
    }
}

/// True delays of a live session whose sides share a clock and send a frame in every tick: from the tick that made a
/// frame to its reception.
pub(crate) fn delays_of_one_clock(master: &[TickRecord], slave: &[TickRecord]) -> OnewayTruth {
    OnewayTruth {
        master_ns: clock_delays_ns(master, slave),
        slave_ns: clock_delays_ns(slave, master),
    }
}

fn clock_delays_ns(records: &[TickRecord], sender: &[TickRecord]) -> Vec<i64> {
    newest_frame_delays_ns(records, |record, index| {
        // the frame in the mailbox must be the one that was used
        let taken = record.frame_sequence == record.received_sequence;
        let made = sender.get(usize::try_from(index).ok()?).filter(|_| taken)?;
        Some(record.frame_received_ns - made.given_ns)
    })
}

fn tick_delays_ns(records: &[TickRecord], sent: &[u64]) -> Vec<i64> {
    newest_frame_delays_ns(records, |record, index| {
        let made = match sent {
            [] => index,
            known => *known.get(index as usize)?,
        };
        Some((record.tick as i64 - made as i64) * PERIOD.0)
    })
}

/// Returns the delay of the newest frame at each record. `delay_ns` gives it for a record that used a new frame and
/// for that frame's index; -1 without a value.
fn newest_frame_delays_ns(
    records: &[TickRecord],
    delay_ns: impl Fn(&TickRecord, u64) -> Option<i64>,
) -> Vec<i64> {
    let newest = records.iter().scan((0, -1), |(newest, newest_ns), record| {
        if record.received_sequence != *newest {
            *newest = record.received_sequence;
            *newest_ns = delay_ns(record, newest.wrapping_sub(1)).unwrap_or(-1);
        }
        Some(*newest_ns)
    });
    newest.collect()
}

/// Median of the known delays; None if there are none.
#[must_use]
pub(crate) fn median(delays_ns: &[i64]) -> Option<Span> {
    let known = delays_ns.iter().filter(|&&ns| ns >= 0);
    // whole numbers of nanoseconds are exact up to a hundred days
    let mut known: Vec<f64> = known.map(|&ns| ns as f64).collect();
    upper_median(&mut known).map(|ns| Span(ns as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_from_the_first_use_of_a_frame() {
        let record = |tick, received_sequence| TickRecord {
            tick,
            received_sequence,
            ..TickRecord::default()
        };
        // frame 1 (of tick 0) comes in tick 2 and serves twice; frame 4 (of tick 3) comes at once
        let records = [record(0, 0), record(2, 1), record(3, 1), record(4, 4)];
        let delays = tick_delays_ns(&records, &[]);
        assert_eq!(delays, [-1, 2_000_000, 2_000_000, 1_000_000]);
        assert_eq!(median(&delays), Some(Span(2_000_000)));
        assert_eq!(median(&[-1]), None);
    }

    #[test]
    fn delays_on_one_clock_are_from_sending_to_receiving() {
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
        let delays = clock_delays_ns(&receiver, &sender);
        assert_eq!(delays, [-1, 50, 50, -1, 40, -1]);
    }

    #[test]
    fn only_pressed_sites_are_returned() {
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
        assert!(sites.iter().all(|site| site.true_npm == Some(300.0)));
    }

    fn pressed(phase: u16) -> TickRecord {
        TickRecord {
            phase,
            ..TickRecord::default()
        }
    }

    #[test]
    fn issue_the_truth_was_pressed_with_another_tool() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("small-tool.toml");
        let text = lab::scene_text("layered-lump", "tissue").expect("built in");
        let small = text.replace("radius_m = 0.008", "radius_m = 0.003");
        assert_ne!(text, small);
        std::fs::write(&path, small).expect("writable");
        let truth_npm = |tissue: &str| {
            let config = Config {
                tissue: tissue.into(),
                ..Config::default()
            };
            sites(&config, &[pressed(2)]).expect("a scene")[0].true_npm
        };
        let own = truth_npm("layered-lump");
        assert!(own.is_some_and(|npm| npm > 100.0), "{own:?}");
        assert_eq!(own, truth_npm(path.to_str().expect("text")));
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
        assert!(wide[0].true_npm.is_some_and(|npm| npm > 0.0));
        assert_eq!(wide[1].true_npm, None);
        let found = remarks(&config, &wide).expect("a scene");
        assert!(
            found.len() == 1 && found[0].starts_with("Sites 9: outside the tissue of sheet"),
            "{found:?}"
        );
        let config = Config::default();
        let [mut middle, mut aside] = [wide[0], wide[1]];
        aside.place_m = [0.03, 0.0];
        middle.true_npm = None;
        let found = remarks(&config, &[middle, aside]).expect("a scene");
        let parts = [
            "Sites 9: outside the fine zone",
            "Sites 5, 9: the hand itself met no force",
        ];
        assert!(
            found.len() == 2
                && found
                    .iter()
                    .zip(parts)
                    .all(|(text, part)| text.starts_with(part)),
            "{found:?}"
        );
    }

    /// On tissue whose stiffness hardly depends on depth, the regression and a chord agree.
    #[test]
    fn truth_of_the_sheet_is_the_stiffness_of_a_slow_press() {
        let config = Config {
            tissue: "sheet".into(),
            ..Config::default()
        };
        let found = sites(&config, &[pressed(1)]).expect("a scene")[0];
        let scene = lab::scene_with_tool(&config, "sheet", "tissue").expect("built in");
        let press = scene.press_stiffness(&[found.place_m], 5e-3);
        let slow_npm = press.expect("can be built")[0].chord_npm;
        let share = found.true_npm.expect("pressed") / slow_npm;
        assert!((share - 1.0).abs() < 0.02, "{found:?}, {slow_npm} N/m");
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
                .filter_map(|site| site.true_npm)
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        assert!(mean(true) > 1.15 * mean(false), "{sites:?}");
    }
}
