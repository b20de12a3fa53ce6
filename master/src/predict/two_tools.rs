//! Two tools for one hand: one is active, the other is parked where the hand released it.
//!
//! Source: seed-004 rows S4-25 and S4-26 (a second tool pushes on, or holds, the same tissue), for an operator with one
//! handle. A tool keeps its index in the tissue, so its closed jaws keep their grasp when the hand changes tools.

use palpate_transport::Axes;
use palpate_twin::{Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

use super::{PredictParams, ToolState, port_axes};

/// The active tool's index and the parked tool.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TwoTools {
    /// Index of the active tool.
    active_index: usize,
    /// Last state of the active tool.
    active_state: Option<ToolState>,
    /// State of the parked tool, if there is one.
    parked: Option<ToolState>,
}

/// A tool that the hand has released.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ParkedTool {
    /// Its position and the opening of its jaws \[m\].
    pub position_m: Axes,
    /// Force of the tissue on it, and on its jaws \[N\].
    pub force_n: Axes,
}

impl TwoTools {
    /// Parks the active tool where it is, and activates the other one.
    pub(super) fn swap(&mut self) {
        let Some(last) = self.active_state else {
            return;
        };
        self.parked = Some(ToolState {
            velocity_mps: Axes::default(),
            // a parked tool does not cut
            instrument: Instrument::Blunt,
            ..last
        });
        self.active_index = 1 - self.active_index;
    }

    /// True if a tool is parked.
    pub(super) const fn is_one_parked(&self) -> bool {
        self.parked.is_some()
    }

    /// Steps the tissue, which is `placed`, with the active tool and with the parked one.
    pub(super) fn touch(
        &mut self,
        placed: PlacedTissue<'_>,
        params: &PredictParams,
        handle: &ToolState,
        dt_s: f64,
    ) -> (Reaction, ParkedTool) {
        self.active_state = Some(*handle);
        let Some(parked) = self.parked else {
            return (placed.touch(params, handle, dt_s), ParkedTool::default());
        };
        let mut tools = [placed.tool(params, handle); 2];
        tools[1 - self.active_index] = placed.tool(params, &parked);
        let mut reactions = [Reaction::default(); 2];
        placed.tissue.step(&tools, dt_s, &mut reactions);
        let parked_tool = ParkedTool {
            position_m: parked.position_m,
            force_n: port_axes(&reactions[1 - self.active_index]),
        };
        (reactions[self.active_index], parked_tool)
    }
}

/// A tissue, and the height of its surface over that of its scene.
pub(super) struct PlacedTissue<'a> {
    /// The tissue.
    pub(super) tissue: &'a mut dyn Tissue,
    /// The height \[m\].
    pub(super) height_m: f64,
}

impl PlacedTissue<'_> {
    /// Steps the tissue with one tool for one tick.
    pub(super) fn touch(self, params: &PredictParams, touch: &ToolState, dt_s: f64) -> Reaction {
        let mut reactions = [Reaction::default()];
        let tool = self.tool(params, touch);
        self.tissue.step(&[tool], dt_s, &mut reactions);
        reactions[0]
    }

    fn tool(&self, params: &PredictParams, touch: &ToolState) -> Tool {
        tissue_tool(params, touch, self.height_m)
    }
}

/// Tool of the interface of a tissue that lies `height_m` \[m\] higher than its scene: the shape is centred on the tool's
/// position.
#[must_use]
pub fn tissue_tool(params: &PredictParams, touch: &ToolState, height_m: f64) -> Tool {
    let [x, y, z, opening_m] = touch.position_m;
    let [vx, vy, vz, opening_velocity_mps] = touch.velocity_mps;
    let [shaft_m, side_m] = params.tool_shape.edges_m();
    Tool {
        position_m: Vec3::new(x, y, z - height_m) - 0.5 * (shaft_m + side_m),
        velocity_mps: Vec3::new(vx, vy, vz),
        radius_m: params.tool_radius_m,
        stiffness_npm: params.tool_stiffness_npm,
        shaft_m,
        side_m,
        instrument: touch.instrument,
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps,
            closed: touch.closed,
        }),
    }
}

#[cfg(test)]
mod tests {
    use palpate_scene as scene;

    use super::*;

    fn at(x_m: f64, z_m: f64, closed: bool) -> ToolState {
        ToolState {
            position_m: [x_m, 0.0, z_m, if closed { 0.004 } else { 0.01 }],
            velocity_mps: Axes::default(),
            closed,
            instrument: Instrument::Blunt,
        }
    }

    /// Two tools on the tissue of a scene.
    struct Bench {
        tissue: Box<dyn Tissue>,
        params: PredictParams,
        tools: TwoTools,
    }

    impl Bench {
        fn new(scene: &str) -> Self {
            let scene = scene::load(scene).expect("built in");
            Self {
                tissue: scene.build().expect("a tissue"),
                params: PredictParams {
                    tool_radius_m: scene.tool_radius_m,
                    ..PredictParams::default()
                },
                tools: TwoTools::default(),
            }
        }

        fn hold(&mut self, touch: &ToolState, ticks: u32) -> (Reaction, ParkedTool) {
            let Self {
                tissue,
                params,
                tools,
            } = self;
            let reactions = (0..ticks).map(|_| {
                let placed = PlacedTissue {
                    tissue: tissue.as_mut(),
                    height_m: 0.0,
                };
                tools.touch(placed, params, touch, 1e-3)
            });
            reactions.last().expect("a tick")
        }
    }

    /// A parked tool presses on as when the hand released it, and has the same force when the hand returns.
    #[test]
    fn s4_25_parked_tool_keeps_its_force() {
        for name in ["sheet", "linked-nodule", "flat-sheet"] {
            let mut bench = Bench::new(name);
            let deep_m = bench.params.tool_radius_m - 0.003;
            let (first, no_tool) = bench.hold(&at(-0.02, deep_m, false), 400);
            assert!(
                first.force_n.z > 0.1 && no_tool == ParkedTool::default(),
                "{name}"
            );
            bench.tools.swap();
            let (lifted, parked) = bench.hold(&at(0.02, 0.05, false), 400);
            assert_eq!(lifted.force_n, Vec3::zeros(), "{name}");
            assert_eq!(parked.position_m, at(-0.02, deep_m, false).position_m);
            assert!(
                (parked.force_n[2] / first.force_n.z - 1.0).abs() < 0.01,
                "{name}: {parked:?}"
            );
            let (second, parked) = bench.hold(&at(0.02, deep_m, false), 400);
            assert!(second.force_n.z > 0.1 && parked.force_n[2] > 0.1, "{name}");
            // active again, with the force that it had
            bench.tools.swap();
            let (returned, other) = bench.hold(&at(-0.02, deep_m, false), 400);
            assert!(
                (returned.force_n.z / parked.force_n[2] - 1.0).abs() < 0.01,
                "{name}"
            );
            assert!(
                (other.force_n[2] / second.force_n.z - 1.0).abs() < 0.01,
                "{name}"
            );
        }
    }

    /// Jaws that are parked closed keep their grasp, whatever the other tool does.
    #[test]
    fn s4_26_parked_closed_jaws_keep_their_grasp() {
        for name in ["sheet", "linked-nodule", "flat-sheet"] {
            let mut bench = Bench::new(name);
            let deep_m = bench.params.tool_radius_m - 0.002;
            bench.hold(&at(0.0, deep_m, false), 100);
            // they close in place, and then squeeze
            let mut closing = at(0.0, deep_m, true);
            closing.position_m[3] = 0.01;
            bench.hold(&closing, 2);
            bench.hold(&at(0.0, deep_m, true), 200);
            let steps = (1..=200).map(|step| deep_m + 0.005 * f64::from(step) / 200.0);
            let grasp = steps
                .map(|z_m| bench.hold(&at(0.0, z_m, true), 1))
                .last()
                .expect("lifted")
                .0;
            assert!(grasp.force_n.z < -0.01, "{name}: it pulls back {grasp:?}");
            bench.tools.swap();
            let (_, parked) = bench.hold(&at(0.03, 0.05, false), 1000);
            assert!(
                parked.force_n[2] < 0.5 * grasp.force_n.z,
                "{name}: {parked:?} {grasp:?}"
            );
        }
    }
}
