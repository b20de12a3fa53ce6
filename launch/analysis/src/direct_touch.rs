//! The operator's hand on the remote tissue itself, without robot and network: what a perfect channel displays.
//!
//! Source: ours. Hand, handle and script are those of the session, so the stiffness is fitted to the same motion as the
//! displayed one. Tissue is not linear: the regression over a press of `layered-lump` gives 9 % more than the chord of a
//! slow press to the same depth, and that is no error of a channel.

use palpate_master::device;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_slave::robot::Probe;
use palpate_transport::Time;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;

use crate::metrics::press;

/// Longest script that is played \[s\]: slower presses have nearly the same stiffness. Of `layered-lump`, those of 20 s
/// have 1.4 % more than those of 60 s.
const SCRIPT_S_MAX: f64 = 60.0;

/// Presses the remote tissue by the script of the session up to the end of `last_phase`; returns a record for each tick
/// of a press. Tissue that collapses has no records.
///
/// # Errors
/// [`ConfigError`] if the remote tissue cannot be used.
pub(crate) fn touch(config: &Config, last_phase: u16) -> Result<Vec<TickRecord>, ConfigError> {
    let mut tissue = lab::build_environment(config)?;
    let mut operator = config.operator.clone();
    // the steps of an encoder belong to the channel
    (operator.phantom.encoder_m, operator.phantom.encoder_noise_m) = (0.0, 0.0);
    // leaps and changes of the grip have times of their own
    let duration_s = match operator.leap.is_empty() && operator.regrip.is_empty() {
        true => config.duration_s.min(SCRIPT_S_MAX),
        false => config.duration_s,
    };
    let mut handle = device::build(&operator, duration_s, config.seed);
    let ticks = (duration_s / PERIOD.s()) as i64;
    let mut records = Vec::new();
    let mut reached = false;
    for tick in 0..ticks {
        let now = Time(tick * PERIOD.0);
        let reading = handle.read(now);
        if reached && reading.phase != last_phase {
            break;
        }
        reached = reading.phase == last_phase;
        let probe = Probe {
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            closed: reading.closed,
        };
        let force_n = tissue.step(&probe, PERIOD.s());
        handle.write(&force_n);
        if tissue.take_collapse() {
            return Ok(Vec::new());
        }
        if !press::PRESSES.contains(&reading.phase) {
            continue;
        }
        records.push(TickRecord {
            now_ns: now.0,
            phase: reading.phase,
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            port_force_n: force_n.map(|force_n| -force_n),
            ..TickRecord::default()
        });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use palpate_session::stat::mean;

    use super::*;

    fn stiffness_npm(config: &Config, last_phase: u16) -> Vec<f64> {
        let records = touch(config, last_phase).expect("built in");
        let fits = press::presses(&records).into_iter().map(|press| press.fit);
        fits.filter_map(|fit| Some(fit.ok()?.stiffness_npm))
            .collect()
    }

    fn sheet() -> Config {
        Config {
            tissue: "sheet".into(),
            ..Config::default()
        }
    }

    #[test]
    fn touch_ends_with_its_last_press_and_holds_no_other_phase() {
        let records = touch(&sheet(), 2).expect("built in");
        assert!(records.iter().all(|record| [1, 2].contains(&record.phase)));
        assert_eq!(records.last().map(|record| record.phase), Some(2));
        assert!(records.iter().any(|record| record.port_force_n[2] < -0.5));
    }

    #[test]
    fn truth_does_not_depend_on_channel_or_encoders() {
        let mut config = sheet();
        let own_npm = stiffness_npm(&config, 2);
        config.operator.phantom.encoder_m = 3e-4;
        config.link.forward.loss = 0.5;
        assert_eq!(stiffness_npm(&config, 2), own_npm);
        assert!(own_npm.len() > 2, "{own_npm:?}");
    }

    #[test]
    fn long_session_has_the_stiffness_of_a_minute() {
        let of = |duration_s: f64| {
            let config = Config {
                duration_s,
                ..sheet()
            };
            mean(&stiffness_npm(&config, 3)).expect("pressed")
        };
        assert_eq!(of(300.0), of(60.0));
        assert!((of(20.0) / of(60.0) - 1.0).abs() < 0.15);
    }
}
