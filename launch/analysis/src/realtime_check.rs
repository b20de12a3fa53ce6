//! Check that a session in real time can compute its tissues: those of the implicit solver are timed first.
//!
//! Source: ours. The other methods fit a tick by design; `palpate bench` reports their cost.

use palpate_scene::{Scene, SceneError};
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::stat::upper_median;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::trace::Side;
use palpate_twin::{Reaction, Vec3};

use super::{Failure, truth};

/// Ticks that are timed, all within one press.
const TICKS: u32 = 40;
/// Depth of the tool at the end of the press \[m\].
const DEPTH_M: f64 = 2e-3;
/// Share of a tick that a tissue may take; the rest is for everything else.
const SHARE: f64 = 0.75;

/// Measures the tissues of the sides that use the implicit solver.
///
/// # Errors
/// [`Failure::Usage`] for a tissue that would be late in most ticks; errors of a scene that cannot be loaded.
pub fn check(config: &Config, sides: &[Side]) -> Result<(), Failure> {
    let has = config.coupling.needs_twin() || config.operator.uses_instruments();
    let twin = has && sides.contains(&Side::Master);
    let tissue = truth::is_scene(&config.tissue) && sides.contains(&Side::Slave);
    for (field, name, used) in [
        ("twin", &config.twin, twin),
        ("tissue", &config.tissue, tissue),
    ] {
        if !used {
            continue;
        }
        let scene = lab::scene_with_tool(config, name, field)?;
        if scene.method() != "implicit" {
            continue;
        }
        // a loaded scene has been built before
        let tick_ms = tick_ms(&scene).map_err(|error| Failure::Usage(error.to_string()))?;
        judge(field, name, tick_ms)?;
    }
    Ok(())
}

fn judge(field: &str, name: &str, tick_ms: f64) -> Result<(), Failure> {
    let limit_ms = SHARE * PERIOD.ms();
    if tick_ms <= limit_ms {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{field} is {name}: a tick of its implicit solver takes {tick_ms:.1} ms of CPU time here, and in real \
         time it has {limit_ms} ms; expected a scene of method fem or idms, a mesh of fewer cells, or \
         `palpate lab`, which runs in virtual time"
    )))
}

/// Returns the median CPU time of a tick in a slow press at the middle \[ms\].
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
    fn only_a_used_implicit_tissue_is_timed_and_the_error_states_its_time() {
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
