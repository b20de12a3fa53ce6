//! A tool chosen at a page, in the hand of a pointer: which instrument it is, and when it works.
//!
//! A pointer has one switch. With tweezers it closes the jaws; with an instrument it lets that work, and the jaws
//! stay open. Source: ours; instruments after seed-001 rows TP-01 to TP-09.

use palpate_master::device::{Counts, Handle, HandleCaps, Reading, Revisions};
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
        needs,
        work,
    }
}

/// All tools.
const TOOLS: [ToolKind; 8] = [
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
    tool(
        "tweezers",
        "close on what they touch",
        Needs::Jaws,
        Work::Pinch,
    ),
    tool(
        "scalpel",
        "cuts while it works",
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
    let (jaws, instruments) = (caps.jaws, caps.instruments);
    TOOLS.iter().filter(move |tool| match tool.needs {
        Needs::Nothing => true,
        Needs::Jaws => jaws,
        Needs::Instruments => instruments,
    })
}

/// What the handle is told, through a wait-free cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wielded {
    work: Work,
    radius_m: f64,
    /// What is to be taken back, and done again.
    pub revisions: Revisions,
}

impl Wielded {
    /// This tool, of this radius \[m\].
    #[must_use]
    pub fn new(tool: &ToolKind, radius_m: f64) -> Self {
        Self {
            work: tool.work,
            radius_m,
            revisions: Revisions::default(),
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
pub struct Wielding<H> {
    handle: H,
    wielded: LatestReader<Wielded>,
}

impl<H: Handle> Wielding<H> {
    /// `handle` with the tool that `wielded` says.
    #[must_use]
    pub fn new(handle: H, wielded: LatestReader<Wielded>) -> Self {
        Self { handle, wielded }
    }
}

impl<H: Handle> Handle for Wielding<H> {
    fn caps(&self) -> HandleCaps {
        self.handle.caps()
    }

    fn read(&mut self, now: Time) -> Reading {
        let mut reading = self.handle.read(now);
        let wielded = *self.wielded.read();
        reading.revisions = wielded.revisions;
        if wielded.work != Work::Pinch {
            if reading.closed && reading.present {
                reading.instrument = wielded.instrument();
            }
            reading.closed = false;
        }
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.handle.write(force_on_hand_n);
    }

    fn counts(&self) -> Counts {
        self.handle.counts()
    }
}
