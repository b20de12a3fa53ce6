//! Picture of a session's hardest press: the tissue under the largest force.
//!
//! Source: ours. A record has the position of the probe and not of every node, so the press is run again on a tissue
//! at rest, from the last position without contact. The new tissue is intact; if instruments edited the tissue of the
//! session, only presses before the first edit are used.

use palpate_scene::Scene;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use palpate_twin::{Reaction, Tool, ToolShape, Vec3};

use super::{Render, SIZE, draw_tool, picture};

/// Force below which a probe counts as free \[N\].
const FREE_N: f64 = 0.02;
/// Least force that is rendered \[N\].
const RENDERED_N_MIN: f64 = 0.1;
/// Most steps of the repeated press; a longer one is run faster.
const STEPS_MAX: usize = 600;
/// Steps of the probe at the end, until the tissue is at rest.
const REST: usize = 60;

/// Renders the remote tissue under the probe at the largest force of a session, before any edit. None without a press,
/// or if the tissue is no scene.
pub(crate) fn peak_render(config: &Config, slave: &[TickRecord]) -> Option<Render> {
    // the tool of a scene is a ball
    if config.master.predict.tool_shape != ToolShape::Ball {
        return None;
    }
    let peak = peak(slave)?;
    let opened = slave.last().is_some_and(|record| record.edit_batches > 0);
    let before_edits = if opened { " before the first edit" } else { "" };
    let scene = lab::scene_with_tool(config, &config.tissue, "tissue").ok()?;
    let path = probe_path(slave, peak, config.tissue_height_m);
    let (png, force_n) = press(&scene, scene.tool_at(Vec3::zeros()), &path)?;
    let seconds = slave[peak].tick as f64 * PERIOD.s();
    let caption = format!(
        "The remote tissue ({}) under the probe at {seconds:.2} s, when it was pressed hardest{before_edits}: \
         {:.2} N there, {force_n:.2} N in this picture, for which the press was run again on tissue at rest. \
         Darker means farther displaced; the arrow is the force on the probe.",
        scene.name,
        contact_n(&slave[peak]),
    );
    Some(Render { caption, png })
}

/// Force of the tissue on the probe \[N\].
fn contact_n(record: &TickRecord) -> f64 {
    let force_n = Vec3::from_column_slice(&record.tissue_force_n[..3]).norm();
    if force_n.is_finite() { force_n } else { 0.0 }
}

/// Returns the record of the largest force before any edit.
pub(super) fn peak(slave: &[TickRecord]) -> Option<usize> {
    let intact = slave.iter().take_while(|record| record.edit_batches == 0);
    let forces = intact.map(contact_n).enumerate();
    let (index, force_n) = forces.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (force_n > RENDERED_N_MIN).then_some(index)
}

/// Returns the positions of the probe from the last one without contact to a record \[m\].
fn probe_path(slave: &[TickRecord], peak: usize, height_m: f64) -> Vec<Vec3> {
    let free = slave[..peak].iter().rposition(|r| contact_n(r) < FREE_N);
    let records = &slave[free.unwrap_or(0)..=peak];
    let stride = records.len().div_ceil(STEPS_MAX).max(1);
    let place = |record: &TickRecord| {
        let [x, y, z, _] = record.position_m;
        Vec3::new(x, y, z - height_m)
    };
    let mut path: Vec<Vec3> = records.iter().step_by(stride).map(place).collect();
    path.extend(std::iter::repeat_n(place(&slave[peak]), REST));
    path
}

/// Presses a tissue at rest along a path, and draws it; returns also the force on the tool at the end \[N\].
fn press(scene: &Scene, mut tool: Tool, path: &[Vec3]) -> Option<(Vec<u8>, f64)> {
    let mut tissue = scene.build().ok()?;
    let mut reactions = [Reaction::default()];
    let mut last_m = *path.first()?;
    for &at_m in path {
        tool.position_m = at_m;
        tool.velocity_mps = (at_m - last_m) / PERIOD.s();
        last_m = at_m;
        tissue.step(&[tool], PERIOD.s(), &mut reactions);
    }
    let force_n = reactions[0].force_n;
    let view = tissue.view();
    let png = picture(&view, None, view.positions_m, SIZE, |canvas, camera| {
        draw_tool(canvas, camera, &tool, &force_n);
    })?;
    Some((png, force_n.norm()))
}
