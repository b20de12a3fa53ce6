//! What a run in simulation knows beyond its records: true stiffness, lumps and delays.
//!
//! Source: ours. The stiffness under the probe is that of a slow press on a copy of the remote
//! tissue; the delay of a frame is counted in ticks, on no clock at all.

use palpate_master::device::script::ScriptParams;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_transport::trace::TickRecord;

use palpate_twin::{Reaction, Vec3};

use crate::config::{Config, ConfigError};
use crate::lab::{self, PERIOD};
use crate::metrics::{OnewayTruth, Site, TwinFacts};

/// Least depth at which the true stiffness is taken \[m\], if a press went less deep.
const DEPTH_MIN_M: f64 = 1e-3;

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
        press(config, master, &mut sites)?;
    }
    Ok(sites)
}

/// Presses a copy of the remote tissue as deep as the hand went: tissue is not linear, so that a
/// stiffness belongs to a depth.
fn press(config: &Config, master: &[TickRecord], sites: &mut [Site]) -> Result<(), ConfigError> {
    let scene = lab::load_scene(&config.tissue, "tissue")?;
    let radius_m = config.master.predict.tool_radius_m;
    let deepest_m = |phase: u16| {
        let of = master.iter().filter(|record| record.phase == phase);
        let depth_m = of.map(|record| radius_m - record.position_m[2]);
        depth_m.fold(DEPTH_MIN_M, f64::max)
    };
    let places: Vec<_> = sites
        .iter()
        .map(|site| (site.place_m, deepest_m(site.phase)))
        .collect();
    // a scene that was built for the session can be built again; if not, nothing is known
    let presses = scene.presses_to(&places).unwrap_or_default();
    for (site, press) in sites.iter_mut().zip(presses) {
        site.true_stiffness_npm = Some(press.chord_npm).filter(|npm| npm.is_finite());
    }
    for site in sites {
        let [x_m, y_m] = site.place_m;
        site.over_lump = scene.lumps.iter().any(|lump| {
            let (dx, dy) = (x_m - lump.center_m[0], y_m - lump.center_m[1]);
            dx * dx + dy * dy < lump.radius_m * lump.radius_m
        });
    }
    Ok(())
}

/// What the twin is, and what its steps cost on this machine: a copy is touched once more where
/// `master` touched it, on this thread's own CPU clock. None in a mode without a twin.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn twin(config: &Config, master: &[TickRecord]) -> Result<Option<TwinFacts>, ConfigError> {
    if config.coupling.mode.resolved() != palpate_transport::coupling::Mode::Mmt {
        return Ok(None);
    }
    let scene = lab::load_scene(&config.twin, "twin")?;
    let Ok(mut tissue) = scene.build() else {
        return Ok(None);
    };
    let mut reaction = [Reaction::default()];
    let mut step_us = Vec::with_capacity(master.len().min(STEPS_TIMED));
    for record in master.iter().take(STEPS_TIMED) {
        let [x, y, z, _] = record.position_m;
        let [vx, vy, vz, _] = record.velocity_mps;
        let mut tool = scene.tool_at(Vec3::new(x, y, z));
        tool.velocity_mps = Vec3::new(vx, vy, vz);
        let begun = thread_cpu_now();
        tissue.step(&[tool], PERIOD.s(), &mut reaction);
        step_us.push((thread_cpu_now() - begun).ms() * 1e3);
    }
    let caps = tissue.caps();
    Ok(Some(TwinFacts {
        method: caps.method.to_owned(),
        nodes: caps.nodes as u64,
        elements: caps.elements as u64,
        step_us,
    }))
}

/// Most steps of the twin that are timed: a minute of them.
const STEPS_TIMED: usize = 60_000;

/// True delays of a session in lock step, where frame `n` is made in tick `n - 1`.
#[must_use]
pub fn delays(master: &[TickRecord], slave: &[TickRecord]) -> OnewayTruth {
    OnewayTruth {
        master_ns: one_way_ns(master),
        slave_ns: one_way_ns(slave),
    }
}

fn one_way_ns(records: &[TickRecord]) -> Vec<i64> {
    let (mut newest, mut delay_ns) = (0, -1);
    let mut delays = Vec::with_capacity(records.len());
    for record in records {
        if record.received_sequence != newest {
            newest = record.received_sequence;
            delay_ns = (record.tick as i64 + 1 - newest as i64) * PERIOD.0;
        }
        delays.push(delay_ns);
    }
    delays
}

/// Median of known delays; none if there is none.
#[must_use]
pub fn median(delays_ns: &[i64]) -> Option<Span> {
    let mut known: Vec<i64> = delays_ns.iter().copied().filter(|&ns| ns >= 0).collect();
    known.sort_unstable();
    known.get(known.len() / 2).map(|&ns| Span(ns))
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
        let delays = one_way_ns(&records);
        assert_eq!(delays, [-1, 2_000_000, 2_000_000, 1_000_000]);
        assert_eq!(median(&delays), Some(Span(2_000_000)));
        assert_eq!(median(&[-1]), None);
    }

    #[test]
    fn only_what_was_pressed_is_a_site() {
        let config = Config {
            tissue: "wall:300".into(),
            ..Config::default()
        };
        let pressed = |phase| TickRecord {
            phase,
            ..TickRecord::default()
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

    #[test]
    fn the_lump_is_where_tissue_is_stiffer() {
        let config = Config::default();
        let pressed = |phase| TickRecord {
            phase,
            ..TickRecord::default()
        };
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
