//! Tools chosen at a page, in the hand of a pointer: which they are, when they work, and where the second one lies.
//!
//! A pointer has one switch. With tweezers it closes the jaws; with an instrument it lets that work, and the jaws
//! stay open. A hand has two tools, of which it leads one: the other one lies where it was put down, with its jaws as
//! they were (seed-004 rows S4-25 and S4-26). Source: ours; instruments after seed-001 rows TP-01 to TP-09, shapes after
//! seed-004 row S4-P30.

use palpate_master::device::pointer::{Pointer, PointerHandle};
use palpate_master::device::{Handle, HandleCaps, Reading, Revisions};
use palpate_master::predict::ToolShape;
use palpate_port::Counts;
use palpate_transport::mailbox::LatestReader;
use palpate_transport::{Axes, Time};
use palpate_twin::{Caps, Instrument, Vec3};

/// A tool, as a page chooses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolKind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Its radius over that of the scene's tool.
    pub radius: f64,
    /// What it is swept over, in radii of the scene's tool; a ball takes the session's own shape.
    form: ToolShape,
    /// What it needs of a tissue.
    needs: Needs,
    /// Which instrument it is.
    work: Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Jaws,
    Instruments,
    Shafts,
    Plates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
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

const fn tool(name: &'static str, about: &'static str, needs: Needs, work: Work) -> ToolKind {
    ToolKind {
        name,
        about,
        radius: 1.0,
        form: ToolShape::Ball,
        needs,
        work,
    }
}

impl ToolKind {
    /// Its shape, beside a scene's tool of this radius \[m\]; none if the session's own will do.
    #[must_use]
    pub fn shape(&self, radius_m: f64) -> Option<ToolShape> {
        match self.form {
            ToolShape::Ball => None,
            ToolShape::Capsule { along_m } => Some(ToolShape::Capsule {
                along_m: along_m.map(|radii| radii * radius_m),
            }),
            ToolShape::Box { edges_m } => Some(ToolShape::Box {
                edges_m: edges_m.map(|radii| radii * radius_m),
            }),
        }
    }

    /// Whether one can be exchanged for the other while a scene goes on: a scene's tools are of one size and shape.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.radius, self.form) == (other.radius, other.form)
    }
}

/// All tools.
const TOOLS: [ToolKind; 10] = [
    tool("fingertip", "presses and rubs", Needs::Nothing, Work::Press),
    ToolKind {
        radius: 0.5,
        ..tool(
            "stylus",
            "half as wide: feels finer",
            Needs::Nothing,
            Work::Press,
        )
    },
    ToolKind {
        radius: 0.5,
        form: ToolShape::Capsule {
            along_m: [3.0, 0.0, 0.0],
        },
        ..tool(
            "rod",
            "lies flat from left to right: presses with its length",
            Needs::Shafts,
            Work::Press,
        )
    },
    ToolKind {
        radius: 0.4,
        form: ToolShape::Box {
            edges_m: [2.5, 1.2],
        },
        ..tool(
            "spatula",
            "a flat box with round edges: presses with its area",
            Needs::Plates,
            Work::Press,
        )
    },
    tool(
        "tweezers",
        "close on what they touch",
        Needs::Jaws,
        Work::Pinch,
    ),
    tool(
        "scalpel",
        "cuts while it works: press its tip in, then draw it sideways",
        Needs::Instruments,
        Work::Scalpel,
    ),
    tool(
        "curette",
        "takes out while it works",
        Needs::Instruments,
        Work::Curette,
    ),
    tool(
        "glue",
        "joins while it works",
        Needs::Instruments,
        Work::Glue,
    ),
    tool(
        "tack",
        "holds in place while it works",
        Needs::Instruments,
        Work::Tack,
    ),
    tool(
        "untack",
        "lets go what a tack holds",
        Needs::Instruments,
        Work::Untack,
    ),
];

/// The tools that a tissue feels.
pub fn tools(caps: &Caps) -> impl Iterator<Item = &'static ToolKind> {
    let caps = *caps;
    TOOLS.iter().filter(move |tool| match tool.needs {
        Needs::Nothing => true,
        Needs::Jaws => caps.jaws,
        Needs::Instruments => caps.instruments,
        Needs::Shafts => caps.shafts,
        Needs::Plates => caps.plates,
    })
}

/// What the handle is told, through a wait-free cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wielded {
    work: Work,
    radius_m: f64,
    /// What is to be taken back, and done again.
    pub revisions: Revisions,
    /// How often the hand has taken the other tool.
    pub swaps: u32,
}

impl Wielded {
    /// This tool, of this radius \[m\].
    #[must_use]
    pub(crate) fn new(tool: &ToolKind, radius_m: f64) -> Self {
        Self {
            work: tool.work,
            radius_m,
            revisions: Revisions::default(),
            swaps: 0,
        }
    }

    /// Another tool of that size in the hand, for all else that was wished.
    #[must_use]
    pub(crate) fn with(self, tool: &ToolKind) -> Self {
        Self {
            work: tool.work,
            ..self
        }
    }

    fn instrument(&self) -> Instrument {
        let reach_m = REACH * self.radius_m;
        match self.work {
            Work::Press | Work::Pinch => Instrument::Blunt,
            Work::Scalpel => Instrument::Scalpel {
                edge_m: Vec3::new(0.0, 0.0, -reach_m),
            },
            Work::Curette => Instrument::Curette,
            Work::Glue => Instrument::Glue { reach_m },
            Work::Tack => Instrument::Tack,
            Work::Untack => Instrument::Untack,
        }
    }
}

/// A handle that holds the tool which was chosen last.
pub(crate) struct Wielding<P> {
    handle: PointerHandle<P>,
    wielded: LatestReader<Wielded>,
    /// Where the tool is that the hand does not lead \[m\], and whether its jaws are closed.
    other: (Axes, bool),
    /// Whether the jaws of the led one were closed when it was found last.
    closed: bool,
    /// Whether it lies where it was found still: nobody has taken it.
    lies: bool,
    /// How often the hand took the other one.
    swaps: u32,
}

impl<P: Pointer> Wielding<P> {
    /// `handle` with the tool that `wielded` says; the other one waits at a place \[m\].
    #[must_use]
    pub(crate) fn new(
        handle: PointerHandle<P>,
        wielded: LatestReader<Wielded>,
        other_m: Axes,
    ) -> Self {
        Self {
            handle,
            wielded,
            other: (other_m, false),
            closed: false,
            lies: false,
            swaps: 0,
        }
    }

    /// Puts the tool down as it is read, and finds the other one where it lies.
    fn swap(&mut self, put_down: &Reading) -> Reading {
        let left = (put_down.position_m, self.closed);
        let (found_m, closed) = core::mem::replace(&mut self.other, left);
        self.handle.carry(found_m);
        (self.closed, self.lies) = (closed, true);
        Reading {
            position_m: found_m,
            intended_m: found_m,
            closed,
            revisions: put_down.revisions,
            swapped: true,
            let_go_m: Some(put_down.let_go_m.unwrap_or(put_down.position_m)),
            ..Reading::default()
        }
    }
}

impl<P: Pointer> Handle for Wielding<P> {
    fn caps(&self) -> HandleCaps {
        self.handle.caps()
    }

    fn read(&mut self, now: Time) -> Reading {
        let mut reading = self.handle.read(now);
        let wielded = *self.wielded.read();
        reading.revisions = wielded.revisions;
        if wielded.swaps != self.swaps {
            self.swaps = wielded.swaps;
            return self.swap(&reading);
        }
        self.lies &= !reading.present;
        if self.lies {
            // jaws do not open because nobody holds them, and what has none holds nothing
            self.closed &= wielded.work == Work::Pinch;
            reading.closed = self.closed;
            return reading;
        }
        if wielded.work != Work::Pinch {
            if reading.closed && reading.present {
                reading.instrument = wielded.instrument();
            }
            reading.closed = false;
        }
        self.closed = reading.closed;
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.handle.write(force_on_hand_n);
    }

    fn counts(&self) -> Counts {
        self.handle.counts()
    }
}

#[cfg(test)]
mod tests {
    use palpate_master::device::pointer::Aim;
    use palpate_master::device::{OperatorParams, params};
    use palpate_transport::clock::PERIOD;
    use palpate_transport::mailbox::{LatestWriter, latest};

    use super::*;

    /// A pointer that says what a test wrote.
    struct Said(LatestReader<Aim>);

    impl Pointer for Said {
        fn newest(&mut self) -> Aim {
            *self.0.read()
        }
    }

    struct Page {
        aims: LatestWriter<Aim>,
        wield: LatestWriter<Wielded>,
        wielded: Wielded,
        handle: Wielding<Said>,
        aim: Aim,
        tick: i64,
    }

    impl Page {
        fn new(tool: &str, other_m: Axes) -> Self {
            let tool = TOOLS.iter().find(|one| one.name == tool).expect("a tool");
            let (aims, newest) = latest(Aim::default());
            let wielded = Wielded::new(tool, 0.008);
            let (wield, reader) = latest(wielded);
            let handle = params::pointer(&OperatorParams::default(), Said(newest));
            Self {
                aims,
                wield,
                wielded,
                handle: Wielding::new(handle, reader, other_m),
                aim: Aim::default(),
                tick: 0,
            }
        }

        fn run(
            &mut self,
            position_m: Axes,
            (present, closed): (bool, bool),
            ticks: u32,
        ) -> Vec<Reading> {
            let mut all = Vec::new();
            for _ in 0..ticks {
                self.aim = Aim {
                    number: self.aim.number + 1,
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
            self.wielded.swaps += 1;
            self.wield.write(self.wielded);
        }
    }

    #[test]
    fn s4_26_a_hand_leaves_a_tool_closed_and_finds_it_as_it_was() {
        let other_m = [0.03, 0.0, 0.04, 0.02];
        let mut page = Page::new("tweezers", other_m);
        let here_m = [-0.01, 0.01, 0.005, 0.004];
        let held = page.run(here_m, (true, true), 1500);
        let left = held.last().expect("read").position_m;
        assert!(held.last().expect("read").closed && (left[2] - here_m[2]).abs() < 1e-3);
        page.swap();
        // the page says the former aim until it knows
        let swapped = page.run(here_m, (true, true), 300);
        let [first, second] = swapped[..2] else {
            panic!("two")
        };
        assert!(first.swapped && !first.present && !first.closed && !second.swapped);
        assert_eq!(first.position_m, other_m);
        let far_m = (first.let_go_m.expect("known")[2] - left[2]).abs();
        assert!(
            far_m < 1e-4,
            "the force was held to where the tool was put down"
        );
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
            back[0].swapped && back.iter().all(|one| one.closed),
            "still closed"
        );
        assert!((back[199].position_m[0] - left[0]).abs() < 1e-4);
        let opened = page.run(here_m, (true, false), 50);
        assert!(!opened[49].closed, "who takes it opens it");
    }

    #[test]
    fn s4_p30_tools_are_offered_to_tissue_that_feels_them() {
        let caps = |shafts, plates| Caps {
            shafts,
            plates,
            jaws: false,
            instruments: false,
            ..palpate_scene::load("sheet")
                .and_then(|scene| scene.build())
                .expect("built in")
                .caps()
        };
        let names = |caps: &Caps| tools(caps).map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(&caps(false, false)), ["fingertip", "stylus"]);
        assert_eq!(names(&caps(true, false)), ["fingertip", "stylus", "rod"]);
        assert!(names(&caps(true, true)).contains(&"spatula"));
        let spatula = TOOLS
            .iter()
            .find(|tool| tool.name == "spatula")
            .expect("it is there");
        let shape = spatula.shape(0.01).expect("its own");
        assert!((shape.longest_m() - 0.025).abs() < 1e-12 && !spatula.is_like(&TOOLS[0]));
    }
}
