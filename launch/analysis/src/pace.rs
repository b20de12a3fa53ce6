//! Whether a session in real time can afford its tissues: those of the implicit solver are measured first.
//!
//! Source: ours. The other methods are made for the tick, and their cost is in `palpate bench`.

use palpate_scene::{Scene, SceneError};
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::stat::upper_median;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::trace::Side;
use palpate_twin::{Reaction, Vec3};

use super::Failure;

/// Ticks that are measured, all of them of a press.
const TICKS: u32 = 40;
/// How deep the tool is in the end \[m\].
const DEPTH_M: f64 = 2e-3;
/// Share of a tick that a tissue may take: what is left is for all else.
const SHARE: f64 = 0.75;

/// A tissue that would be late in most ticks.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{field} is {name}: a tick of its implicit solver takes {tick_ms:.1} ms of CPU time here, and in real \
     time it has {limit_ms} ms; expected a scene of method fem or idms, a mesh of fewer cells, or \
     `palpate lab`, which runs in virtual time"
)]
pub(crate) struct TooSlow {
    /// The scene's place in the configuration.
    pub field: &'static str,
    /// The scene.
    pub name: String,
    /// What a tick takes \[ms\].
    pub tick_ms: f64,
    /// What it may take \[ms\].
    pub limit_ms: f64,
}

impl From<TooSlow> for Failure {
    fn from(error: TooSlow) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Measures the tissues of the sides that use the implicit solver.
///
/// # Errors
/// `TooSlow` for one that cannot keep the tick; as [`lab::load_scene`].
pub fn check(config: &Config, sides: &[Side]) -> Result<(), Failure> {
    let has = config.coupling.needs_twin() || config.operator.wields();
    let twin = has && sides.contains(&Side::Master);
    let world = config.tissue != "free" && !config.tissue.starts_with("wall:");
    let tissue = world && sides.contains(&Side::Slave);
    for (field, name, used) in [
        ("twin", &config.twin, twin),
        ("tissue", &config.tissue, tissue),
    ] {
        if !used {
            continue;
        }
        let scene = lab::load_scene(name, field)?;
        if scene.method() != "implicit" {
            continue;
        }
        // a scene that was loaded has been built before
        let tick_ms = tick_ms(&scene).map_err(|error| Failure::Usage(error.to_string()))?;
        judge(field, name, tick_ms)?;
    }
    Ok(())
}

fn judge(field: &'static str, name: &str, tick_ms: f64) -> Result<(), TooSlow> {
    let limit_ms = SHARE * PERIOD.ms();
    if tick_ms <= limit_ms {
        return Ok(());
    }
    Err(TooSlow {
        field,
        name: name.to_owned(),
        tick_ms,
        limit_ms,
    })
}

/// Median CPU time of a tick of a slow press in the middle \[ms\].
fn tick_ms(scene: &Scene) -> Result<f64, SceneError> {
    let mut tissue = scene.build()?;
    let mut reaction = [Reaction::default()];
    let mut times_ms: Vec<f64> = (1..=TICKS)
        .map(|tick| {
            let depth_m = DEPTH_M * f64::from(tick) / f64::from(TICKS);
            let tool = scene.tool_at(Vec3::z() * (scene.tool_radius_m - depth_m));
            let begun = thread_cpu_now();
            tissue.step(&[tool], PERIOD.s(), &mut reaction);
            (thread_cpu_now() - begun).ms()
        })
        .collect();
    Ok(upper_median(&mut times_ms).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_implicit_tissue_that_is_used_is_measured_and_told_its_time() {
        assert_eq!(judge("twin", "mound", 0.2), Ok(()));
        let error = judge("twin", "mound", 5.04).expect_err("slow").to_string();
        for part in ["twin is mound", "5.0 ms", "0.75 ms", "palpate lab"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let mut config = Config::default();
        let both = [Side::Master, Side::Slave];
        assert_eq!(check(&config, &both), Ok(()));
        config.tissue = "no-such".into();
        assert_eq!(check(&config, &[Side::Master]), Ok(()));
        assert!(check(&config, &both).is_err());
        config.tissue = "wall:100".into();
        assert_eq!(check(&config, &both), Ok(()));
    }
}
