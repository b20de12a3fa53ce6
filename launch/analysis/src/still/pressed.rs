//! What a session has to show: the tissue as it was when it was pressed hardest.
//!
//! Source: ours. A record keeps where the probe was and not where every element was, so that the press is
//! run again on a tissue at rest, from where the probe was last free. Tissue at rest is whole, so that it must have
//! been so: of a session whose instruments opened it, only what came before is shown.

use palpate_master::predict::ToolShape;
use palpate_scene::Scene;
use palpate_session::config::Config;
use palpate_session::lab::load_scene;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use palpate_twin::{Reaction, Tool, Vec3};

use super::{Still, Subject};

/// Pixels of a picture.
const SIZE: (usize, usize) = (720, 440);
/// Force below which a probe counts as free \[N\].
const FREE_N: f64 = 0.02;
/// Force below which nothing is worth a picture \[N\].
const SHOWN_N: f64 = 0.1;
/// Most steps that a press is run again in: a longer one is run faster.
const STEPS_MAX: usize = 600;
/// Steps that the probe then stays, so that the tissue comes to rest.
const REST: usize = 60;

/// The remote tissue under the probe at the largest force of a session, while the tissue was whole; none if nothing
/// was pressed, or what was pressed is no scene.
#[must_use]
pub(crate) fn hardest(config: &Config, slave: &[TickRecord]) -> Option<Still> {
    // the tool of a scene is a ball
    if config.master.predict.tool_shape != ToolShape::Ball {
        return None;
    }
    let peak = peak(slave)?;
    let opened = slave.last().is_some_and(|record| record.strokes > 0);
    let still_whole = if opened { " before it was opened" } else { "" };
    let scene = load_scene(&config.tissue, "tissue").ok()?;
    let way = way(slave, peak);
    let predict = &config.master.predict;
    let mut tool = scene.tool_at(Vec3::zeros());
    (tool.radius_m, tool.stiffness_npm) = (predict.tool_radius_m, predict.tool_stiffness_npm);
    let (png, force_n) = picture(&scene, tool, &way)?;
    let seconds = slave[peak].tick as f64 * PERIOD.s();
    let caption = format!(
        "The remote tissue ({}) under the probe at {seconds:.2} s, when it was pressed hardest{still_whole}: \
         {:.2} N there, {force_n:.2} N in this picture, for which the press was run again on tissue at rest. \
         The darker, the farther the surface has moved; the arrow is the force on the probe.",
        scene.name,
        contact_n(&slave[peak]),
    );
    Some(Still { caption, png })
}

/// Force of the tissue on the probe \[N\].
fn contact_n(record: &TickRecord) -> f64 {
    let [x, y, z, _] = record.tissue_force_n;
    let force_n = Vec3::new(x, y, z).norm();
    if force_n.is_finite() { force_n } else { 0.0 }
}

/// The record of the largest force on whole tissue.
pub(super) fn peak(slave: &[TickRecord]) -> Option<usize> {
    let whole = slave.iter().take_while(|record| record.strokes == 0);
    let forces = whole.map(contact_n).enumerate();
    let (index, force_n) = forces.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (force_n > SHOWN_N).then_some(index)
}

/// Places of the probe from where it was free to a record \[m\].
fn way(slave: &[TickRecord], peak: usize) -> Vec<Vec3> {
    let free = slave[..peak].iter().rposition(|r| contact_n(r) < FREE_N);
    let records = &slave[free.unwrap_or(0)..=peak];
    let stride = records.len().div_ceil(STEPS_MAX).max(1);
    let place = |record: &TickRecord| {
        let [x, y, z, _] = record.position_m;
        Vec3::new(x, y, z)
    };
    let mut way: Vec<Vec3> = records.iter().step_by(stride).map(place).collect();
    way.extend(std::iter::repeat_n(place(&slave[peak]), REST));
    way
}

/// Presses a tissue at rest along a way, and draws it; with the force on the tool at the end \[N\].
fn picture(scene: &Scene, mut tool: Tool, way: &[Vec3]) -> Option<(Vec<u8>, f64)> {
    let mut tissue = scene.build().ok()?;
    let mut reactions = [Reaction::default()];
    let mut last_m = *way.first()?;
    for &at_m in way {
        tool.position_m = at_m;
        tool.velocity_mps = (at_m - last_m) / PERIOD.s();
        last_m = at_m;
        tissue.step(&[tool], PERIOD.s(), &mut reactions);
    }
    let force_n = reactions[0].force_n;
    let subject = Subject {
        view: tissue.view(),
        colours: None,
        tools: &[(tool, force_n)],
    };
    Some((subject.draw(SIZE.0, SIZE.1)?, force_n.norm()))
}
