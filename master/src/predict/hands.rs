//! Two tools for one hand: one is led, the other lies where the hand has put it down.
//!
//! Source: seed-004 rows S4-25 and S4-26 (a second tool pushes on, or holds, the same tissue), for an operator with one
//! handle. A tool keeps its number as the tissue counts them, so what its jaws hold stays held when the hand leaves it and when
//! it comes back.

use palpate_transport::Axes;
use palpate_twin::{Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

use super::{PredictParams, Touch, axes};

/// Which tool is led, and where the other one lies.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Hands {
    /// Number of the tool that is led.
    led: usize,
    /// Where the led one was last.
    last: Option<Touch>,
    /// The other one, if there is one.
    parked: Option<Touch>,
}

/// A tool that the hand has put down.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parked {
    /// Its place and the opening of its jaws \[m\].
    pub position_m: Axes,
    /// Force of the tissue on it, and on its jaws \[N\].
    pub force_n: Axes,
}

impl Hands {
    /// Put the led tool down where it is, and lead the other one.
    pub(super) fn swap(&mut self) {
        let Some(last) = self.last else {
            return;
        };
        self.parked = Some(Touch {
            velocity_mps: Axes::default(),
            // nobody draws it through anything
            instrument: Instrument::Blunt,
            ..last
        });
        self.led = 1 - self.led;
    }

    /// Touch the tissue with the led tool where it is, and with the parked one where it lies.
    pub(super) fn touch(
        &mut self,
        tissue: &mut dyn Tissue,
        params: &PredictParams,
        handle: &Touch,
        dt_s: f64,
    ) -> (Reaction, Parked) {
        self.last = Some(*handle);
        let Some(parked) = self.parked else {
            return (touch(tissue, params, handle, dt_s), Parked::default());
        };
        let mut tools = [tool(params, handle); 2];
        tools[1 - self.led] = tool(params, &parked);
        let mut felt = [Reaction::default(); 2];
        tissue.step(&tools, dt_s, &mut felt);
        let there = Parked {
            position_m: parked.position_m,
            force_n: axes(&felt[1 - self.led]),
        };
        (felt[self.led], there)
    }
}

/// Touch a tissue with one tool for one tick.
pub(super) fn touch(
    tissue: &mut dyn Tissue,
    params: &PredictParams,
    touch: &Touch,
    dt_s: f64,
) -> Reaction {
    let mut reactions = [Reaction::default()];
    tissue.step(&[tool(params, touch)], dt_s, &mut reactions);
    reactions[0]
}

/// The tool of a touch: its shape lies about its place.
fn tool(params: &PredictParams, touch: &Touch) -> Tool {
    let [x, y, z, opening_m] = touch.position_m;
    let [vx, vy, vz, opening_velocity_mps] = touch.velocity_mps;
    let [shaft_m, side_m] = params.tool_shape.edges_m();
    Tool {
        position_m: Vec3::new(x, y, z) - 0.5 * (shaft_m + side_m),
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

    fn at(x_m: f64, z_m: f64, closed: bool) -> Touch {
        Touch {
            position_m: [x_m, 0.0, z_m, if closed { 0.004 } else { 0.01 }],
            velocity_mps: Axes::default(),
            closed,
            instrument: Instrument::Blunt,
        }
    }

    /// What lies presses on as it did when the hand left it, and is found as it was.
    #[test]
    fn s4_25_a_tool_that_is_put_down_presses_on_while_the_other_one_works() {
        for name in ["sheet", "linked-nodule", "flat-sheet"] {
            let scene = scene::load(name).expect("built in");
            let mut tissue = scene.build().expect("a tissue");
            let params = PredictParams {
                tool_radius_m: scene.tool_radius_m,
                ..PredictParams::default()
            };
            let (mut hands, deep_m) = (Hands::default(), scene.tool_radius_m - 0.003);
            let mut hold = |touch: &Touch, swaps: bool, ticks: u32| {
                if swaps {
                    hands.swap();
                }
                let felt = (0..ticks).map(|_| hands.touch(tissue.as_mut(), &params, touch, 1e-3));
                felt.last().expect("a tick")
            };
            let (first, none) = hold(&at(-0.02, deep_m, false), false, 400);
            assert!(first.force_n.z > 0.1 && none == Parked::default(), "{name}");
            let (away, left) = hold(&at(0.02, 0.05, false), true, 400);
            assert_eq!(away.force_n, Vec3::zeros(), "{name}");
            assert_eq!(left.position_m, at(-0.02, deep_m, false).position_m);
            assert!(
                (left.force_n[2] / first.force_n.z - 1.0).abs() < 0.01,
                "{name}: {left:?}"
            );
            let (second, left) = hold(&at(0.02, deep_m, false), false, 400);
            assert!(second.force_n.z > 0.1 && left.force_n[2] > 0.1, "{name}");
            // back in the hand, with the force that it had
            let (again, other) = hold(&at(-0.02, deep_m, false), true, 400);
            assert!(
                (again.force_n.z / left.force_n[2] - 1.0).abs() < 0.01,
                "{name}"
            );
            assert!(
                (other.force_n[2] / second.force_n.z - 1.0).abs() < 0.01,
                "{name}"
            );
        }
    }

    /// Jaws that are put down closed go on holding, whatever the other tool does.
    #[test]
    fn s4_26_jaws_that_are_put_down_closed_hold_on() {
        for name in ["sheet", "linked-nodule", "flat-sheet"] {
            let scene = scene::load(name).expect("built in");
            let mut tissue = scene.build().expect("a tissue");
            let params = PredictParams {
                tool_radius_m: scene.tool_radius_m,
                ..PredictParams::default()
            };
            let mut hands = Hands::default();
            let deep_m = scene.tool_radius_m - 0.002;
            let mut hold = |touch: &Touch, ticks: u32| {
                let felt = (0..ticks).map(|_| hands.touch(tissue.as_mut(), &params, touch, 1e-3));
                felt.last().expect("a tick")
            };
            hold(&at(0.0, deep_m, false), 100);
            // they close where they are, and then squeeze
            let mut closing = at(0.0, deep_m, true);
            closing.position_m[3] = 0.01;
            hold(&closing, 2);
            hold(&at(0.0, deep_m, true), 200);
            let steps = (1..=200).map(|step| deep_m + 0.005 * f64::from(step) / 200.0);
            let held = steps
                .map(|z_m| hold(&at(0.0, z_m, true), 1))
                .last()
                .expect("lifted")
                .0;
            assert!(held.force_n.z < -0.01, "{name}: it pulls back {held:?}");
            hands.swap();
            let mut left = Parked::default();
            for _ in 0..1000 {
                left = hands
                    .touch(tissue.as_mut(), &params, &at(0.03, 0.05, false), 1e-3)
                    .1;
            }
            assert!(
                left.force_n[2] < 0.5 * held.force_n.z,
                "{name}: {left:?} {held:?}"
            );
        }
    }
}
