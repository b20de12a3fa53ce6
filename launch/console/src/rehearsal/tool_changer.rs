//! Tool changer: tools selected at a page for a pointer, their switch, and the second tool.
//!
//! A pointer has one switch. With tweezers it closes the jaws; with an instrument it activates the instrument, and the
//! jaws stay open. The operator has two tools and leads one; the other stays where it was put down, with its jaws
//! unchanged (seed-004 rows S4-25 and S4-26). Source: ours; instruments after seed-001 rows TP-01 to TP-09, shapes
//! after seed-004 row S4-P30.

use palpate_master::device::pointer::{PointerHandle, PointerSource};
use palpate_master::device::{Handle, HandleCaps, HandleReading, Revisions};
use palpate_transport::mailbox::LatestReader;
use palpate_transport::{Axes, Time};
use palpate_twin::{Instrument, TissueCaps, ToolShape, Vec3};

/// A tool that a page can select.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolKind {
    /// Its name.
    pub name: &'static str,
    /// Function of the tool, in a few words.
    pub about: &'static str,
    /// Its radius over that of the scene's tool.
    pub radius: f64,
    /// Swept edges, in radii of the scene's tool; a ball takes the session's own shape.
    relative_shape: ToolShape,
    /// Returns true if a tissue supports the tool.
    is_supported: fn(&TissueCaps) -> bool,
    /// Action of the tool.
    pub(super) action: ToolAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolAction {
    Press,
    Pinch,
    Scalpel,
    Curette,
    Glue,
    Tack,
    Untack,
}

/// Length of a scalpel's edge and reach of glue, over the tool's radius.
const REACH: f64 = 1.5;

const fn tool(name: &'static str, about: &'static str, action: ToolAction) -> ToolKind {
    ToolKind {
        name,
        about,
        radius: 1.0,
        relative_shape: ToolShape::Ball,
        is_supported: match action {
            ToolAction::Press => |_| true,
            ToolAction::Pinch => |caps| caps.jaws,
            _ => |caps| caps.instruments,
        },
        action,
    }
}

impl ToolKind {
    /// Returns its shape for a scene's tool of this radius \[m\]; None for the session's own.
    #[must_use]
    pub(crate) fn shape(&self, radius_m: f64) -> Option<ToolShape> {
        match self.relative_shape {
            ToolShape::Ball => None,
            ToolShape::Capsule { along_m } => Some(ToolShape::Capsule {
                along_m: along_m.map(|radii| radii * radius_m),
            }),
            ToolShape::Box { edges_m } => Some(ToolShape::Box {
                edges_m: edges_m.map(|radii| radii * radius_m),
            }),
        }
    }

    /// Returns true if two tools are interchangeable in a running scene, whose tools have one size and shape.
    #[must_use]
    pub(crate) fn is_interchangeable(&self, other: &Self) -> bool {
        (self.radius, self.relative_shape) == (other.radius, other.relative_shape)
    }
}

/// All tools.
const TOOLS: [ToolKind; 10] = [
    tool("fingertip", "presses and rubs", ToolAction::Press),
    ToolKind {
        radius: 0.5,
        ..tool("stylus", "half as wide: feels finer", ToolAction::Press)
    },
    ToolKind {
        radius: 0.5,
        relative_shape: ToolShape::Capsule {
            along_m: [3.0, 0.0, 0.0],
        },
        is_supported: |caps| caps.shafts,
        ..tool(
            "rod",
            "lies horizontally from left to right: presses with its length",
            ToolAction::Press,
        )
    },
    ToolKind {
        radius: 0.4,
        relative_shape: ToolShape::Box {
            edges_m: [2.5, 1.2],
        },
        is_supported: |caps| caps.plates,
        ..tool(
            "spatula",
            "a flat box with round edges: presses with its area",
            ToolAction::Press,
        )
    },
    tool("tweezers", "close on tissue", ToolAction::Pinch),
    tool(
        "scalpel",
        "cuts while active: press its tip in, then draw it sideways",
        ToolAction::Scalpel,
    ),
    tool(
        "curette",
        "removes tissue while active",
        ToolAction::Curette,
    ),
    tool("glue", "joins tissue while active", ToolAction::Glue),
    tool("tack", "fixes tissue while active", ToolAction::Tack),
    tool("untack", "releases tissue from a tack", ToolAction::Untack),
];

/// Returns the tools that a tissue supports.
pub(crate) fn tools(caps: &TissueCaps) -> impl Iterator<Item = &'static ToolKind> {
    TOOLS.iter().filter(|tool| (tool.is_supported)(caps))
}

/// Command to the handle, through a wait-free cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ToolCommand {
    /// Action of the tool in the hand.
    pub action: ToolAction,
    radius_m: f64,
    /// Requested undo and redo steps.
    pub revisions: Revisions,
    /// Number of changes to the other tool.
    pub swaps: u32,
}

impl ToolCommand {
    /// Returns a command for this tool, of this radius \[m\].
    pub(crate) fn new(tool: &ToolKind, radius_m: f64) -> Self {
        Self {
            action: tool.action,
            radius_m,
            revisions: Revisions::default(),
            swaps: 0,
        }
    }

    fn instrument(&self) -> Instrument {
        let reach_m = REACH * self.radius_m;
        match self.action {
            ToolAction::Press | ToolAction::Pinch => Instrument::Blunt,
            ToolAction::Scalpel => Instrument::Scalpel {
                edge_m: Vec3::new(0.0, 0.0, -reach_m),
            },
            ToolAction::Curette => Instrument::Curette,
            ToolAction::Glue => Instrument::Glue { reach_m },
            ToolAction::Tack => Instrument::Tack,
            ToolAction::Untack => Instrument::Untack,
        }
    }
}

/// Handle with the tool that was selected last.
pub(crate) struct ToolChanger<P> {
    handle: PointerHandle<P>,
    command: LatestReader<ToolCommand>,
    /// Position of the tool that the hand does not lead \[m\], and true if its jaws are closed.
    parked: (Axes, bool),
    /// True if the jaws of the led tool were closed at the last reading.
    closed: bool,
    /// True until the hand takes the tool at its place.
    untaken: bool,
    /// Number of tool changes so far.
    swaps: u32,
}

impl<P: PointerSource> ToolChanger<P> {
    /// Returns `handle` with the tool of `command`; the other tool starts at a place \[m\].
    pub(crate) fn new(
        handle: PointerHandle<P>,
        command: LatestReader<ToolCommand>,
        other_m: Axes,
    ) -> Self {
        Self {
            handle,
            command,
            parked: (other_m, false),
            closed: false,
            untaken: false,
            swaps: 0,
        }
    }

    /// Parks the tool at its present reading, and takes the other one at its place.
    fn swap(&mut self, put_down: &HandleReading) -> HandleReading {
        let parked = (put_down.position_m, self.closed);
        let (found_m, closed) = core::mem::replace(&mut self.parked, parked);
        self.handle.move_to(found_m);
        (self.closed, self.untaken) = (closed, true);
        HandleReading {
            position_m: found_m,
            intended_m: found_m,
            closed,
            revisions: put_down.revisions,
            tools_swapped: true,
            force_released_m: Some(put_down.force_released_m.unwrap_or(put_down.position_m)),
            ..HandleReading::default()
        }
    }
}

impl<P: PointerSource> Handle for ToolChanger<P> {
    fn caps(&self) -> HandleCaps {
        self.handle.caps()
    }

    fn observe_halt(&mut self, halted: bool, robot_m: Option<&Axes>) {
        self.handle.observe_halt(halted, robot_m);
    }

    fn read(&mut self, now: Time) -> HandleReading {
        let mut reading = self.handle.read(now);
        let command = *self.command.read();
        reading.revisions = command.revisions;
        if command.swaps != self.swaps {
            self.swaps = command.swaps;
            return self.swap(&reading);
        }
        self.untaken &= !reading.present;
        if self.untaken {
            // a parked tool keeps its jaws closed; an instrument has no closed jaws
            self.closed &= command.action == ToolAction::Pinch;
            reading.closed = self.closed;
            return reading;
        }
        if command.action != ToolAction::Pinch {
            if reading.closed && reading.present {
                reading.instrument = command.instrument();
            }
            reading.closed = false;
        }
        self.closed = reading.closed;
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.handle.write(force_on_hand_n);
    }
}

#[cfg(test)]
mod tests {
    use palpate_master::device::pointer::PointerTarget;
    use palpate_master::device::{OperatorParams, params};
    use palpate_transport::clock::PERIOD;
    use palpate_transport::mailbox::{LatestWriter, latest};

    use super::*;

    /// A pointer that a test writes.
    struct TestPointer(LatestReader<PointerTarget>);

    impl PointerSource for TestPointer {
        fn newest(&mut self) -> PointerTarget {
            *self.0.read()
        }
    }

    struct Page {
        aims: LatestWriter<PointerTarget>,
        command_writer: LatestWriter<ToolCommand>,
        command: ToolCommand,
        handle: ToolChanger<TestPointer>,
        aim: PointerTarget,
        tick: i64,
    }

    impl Page {
        fn new(tool: &str, other_m: Axes) -> Self {
            let tool = TOOLS.iter().find(|one| one.name == tool).expect("a tool");
            let (aims, newest) = latest(PointerTarget::default());
            let command = ToolCommand::new(tool, 0.008);
            let (command_writer, reader) = latest(command);
            let handle = params::build_pointer(&OperatorParams::default(), TestPointer(newest));
            Self {
                aims,
                command_writer,
                command,
                handle: ToolChanger::new(handle, reader, other_m),
                aim: PointerTarget::default(),
                tick: 0,
            }
        }

        fn run(
            &mut self,
            position_m: Axes,
            (present, closed): (bool, bool),
            ticks: u32,
        ) -> Vec<HandleReading> {
            let mut all = Vec::new();
            for _ in 0..ticks {
                self.aim = PointerTarget {
                    sequence: self.aim.sequence + 1,
                    position_m,
                    present,
                    closed,
                };
                self.aims.write(self.aim);
                self.tick += 1;
                all.push(self.handle.read(Time(PERIOD.0 * self.tick)));
                self.handle.write(&[0.0; 4]);
            }
            all
        }

        fn swap(&mut self) {
            self.command.swaps += 1;
            self.command_writer.write(self.command);
        }
    }

    #[test]
    fn s4_26_a_parked_tool_stays_closed_and_is_taken_unchanged() {
        let other_m = [0.03, 0.0, 0.04, 0.02];
        let mut page = Page::new("tweezers", other_m);
        let here_m = [-0.01, 0.01, 0.005, 0.004];
        let readings = page.run(here_m, (true, true), 1500);
        let parked = readings.last().expect("read").position_m;
        assert!(readings.last().expect("read").closed && (parked[2] - here_m[2]).abs() < 1e-3);
        page.swap();
        // the page sends the former aim until it receives the change
        let swapped = page.run(here_m, (true, true), 300);
        let [first, second] = swapped[..2] else {
            panic!("two")
        };
        assert!(first.tools_swapped && !first.present && !first.closed && !second.tools_swapped);
        assert_eq!(first.position_m, other_m);
        let far_m = (first.force_released_m.expect("known")[2] - parked[2]).abs();
        assert!(far_m < 1e-4, "the force ended where the tool was put down");
        assert!(
            swapped
                .iter()
                .all(|one| one.position_m == other_m && !one.present)
        );
        // a new grasp leads the other tool
        page.run(other_m, (false, false), 20);
        let there_m = [0.02, 0.0, 0.01, 0.02];
        let led = page.run(there_m, (true, false), 1500);
        let led = led.last().expect("read");
        assert!(
            led.present && (led.position_m[0] - 0.02).abs() < 1e-3,
            "{led:?}"
        );
        page.swap();
        let back = page.run(there_m, (false, false), 200);
        assert!(
            back[0].tools_swapped && back.iter().all(|one| one.closed),
            "still closed"
        );
        assert!((back[199].position_m[0] - parked[0]).abs() < 1e-4);
        let opened = page.run(here_m, (true, false), 50);
        assert!(!opened[49].closed, "the hand that takes it opens it");
    }

    #[test]
    fn s4_p30_tools_are_offered_to_tissue_that_supports_them() {
        let caps = |shafts, plates| TissueCaps {
            shafts,
            plates,
            jaws: false,
            instruments: false,
            ..palpate_scene::load("sheet")
                .and_then(|scene| scene.build())
                .expect("built in")
                .caps()
        };
        let names = |caps: &TissueCaps| tools(caps).map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(&caps(false, false)), ["fingertip", "stylus"]);
        assert_eq!(names(&caps(true, false)), ["fingertip", "stylus", "rod"]);
        assert!(names(&caps(true, true)).contains(&"spatula"));
        let spatula = TOOLS
            .iter()
            .find(|tool| tool.name == "spatula")
            .expect("it is there");
        let shape = spatula.shape(0.01).expect("its own");
        let ToolShape::Box {
            edges_m: [x_m, y_m],
        } = shape
        else {
            panic!("{shape:?}")
        };
        assert!((x_m.max(y_m) - 0.025).abs() < 1e-12 && !spatula.is_interchangeable(&TOOLS[0]));
    }
}
