//! The way of strokes in virtual time: both ends, and the same network between them as for frames.
//!
//! Source: ours. Strokes have links of their own with the parameters of those of frames: they are lost, delayed
//! and repeated by chances of their own, and share no rate limit with the frames.

use palpate_port::inbox::Inbox;
use palpate_slave::robot::Robot;
use palpate_transport::link::{LinkError, LinkParams, LinkQueue};
use palpate_transport::trace::Side;
use palpate_transport::{Stroke, Time};
use xxhash_rust::xxh3::Xxh3;

use crate::pipeline::At;
use crate::strokes::{AtRobot, Inlet, Outlet};

/// Bytes of a stroke on the wire: payload, CDR header, zenoh and UDP/IP headers \[bytes\].
const WIRE_BYTES: usize = palpate_transport::cdr::STROKE_BYTES + 60;

/// Strokes that may be on the wire at once.
const WIRE_STROKES: usize = 2048;

/// What is between the master's twin and the tissue of the slave's robot.
#[derive(Default)]
pub(super) struct Way {
    /// From the master, and from the slave; none where instruments can do nothing to the twin.
    links: Option<[LinkQueue<Stroke>; 2]>,
    /// Of the master, and of the slave.
    outlets: [Outlet; 2],
    inlets: [Inlet; 2],
}

impl Way {
    /// Over the links of the master's and the slave's frames; without links if no strokes can be made.
    pub(super) fn new(
        opens: bool,
        [forward, back]: [LinkParams; 2],
        seed: u64,
    ) -> Result<Self, LinkError> {
        let link = |params, name: &[u8]| {
            let mut hash = Xxh3::with_seed(seed);
            hash.update(name);
            LinkQueue::new(params, hash.digest(), WIRE_STROKES)
        };
        let links = || Ok([link(forward, b"strokes")?, link(back, b"history")?]);
        Ok(Self {
            links: opens.then(links).transpose()?,
            ..Self::default()
        })
    }

    /// What is due comes.
    pub(super) fn arrive(&mut self, now: Time) {
        for (index, link) in self.links.iter_mut().flatten().enumerate() {
            while let Some(stroke) = link.pop_due(now) {
                self.inlets[1 - index].take(&stroke);
            }
        }
    }

    /// Before a tick of the master: what it is told of the tissue.
    pub(super) fn tell(&mut self, master: &mut palpate_master::State) {
        self.inlets[0].pass(master);
    }

    /// After a tick of the master.
    pub(super) fn send(&mut self, master: &palpate_master::State, now: Time) {
        if let Some([link, _]) = &mut self.links {
            self.outlets[0].pass(master, now, |stroke| {
                link.push(now, WIRE_BYTES, stroke);
            });
        }
    }

    /// Before a tick of the slave: its tissue does what came, and it sends what the master lacks; whether a stroke
    /// was refused.
    pub(super) fn pass(&mut self, inbox: &Inbox, robot: &mut dyn Robot, at: &At) -> bool {
        let mut side = AtRobot { inbox, robot };
        let refused = self.inlets[1].pass(&mut side);
        if let Some([_, link]) = &mut self.links {
            self.outlets[1].pass(&side, at.now, |stroke| {
                link.push(at.device, WIRE_BYTES, stroke);
            });
        }
        refused
    }

    /// Another network; the parameters are those of a configuration that was checked.
    pub(super) fn change(&mut self, params: [Option<LinkParams>; 2]) {
        for (link, params) in self.links.iter_mut().flatten().zip(params) {
            let _ = params.map(|params| link.set_params(params));
        }
    }

    /// A side that begins anew knows nothing of strokes; what is on the way stays.
    pub(super) fn restart(&mut self, side: Side) {
        let index = usize::from(side == Side::Slave);
        self.outlets[index] = Outlet::default();
        self.inlets[index] = Inlet::default();
    }
}
