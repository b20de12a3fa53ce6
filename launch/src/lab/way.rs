//! The way of strokes in virtual time: both ends, and the same network between them as for frames.
//!
//! Source: ours. Strokes have a link of their own with the parameters of the master's frames: they are lost, delayed
//! and repeated by chances of their own, and share no rate limit with the frames.

use palpate_slave::robot::Robot;
use palpate_transport::link::{LinkError, LinkParams, LinkQueue};
use palpate_transport::trace::Side;
use palpate_transport::{Stroke, Time};
use xxhash_rust::xxh3::Xxh3;

use crate::strokes::{Inlet, Outlet};

/// Bytes of a stroke on the wire: payload, CDR header, zenoh and UDP/IP headers \[bytes\].
const WIRE_BYTES: usize = palpate_transport::cdr::STROKE_BYTES + 60;

/// Strokes that may be on the wire at once.
const WIRE_STROKES: usize = 2048;

/// What is between the master's log of strokes and the slave's robot.
#[derive(Default)]
pub(super) struct Way {
    /// None where instruments can do nothing to the twin.
    link: Option<LinkQueue<Stroke>>,
    outlet: Outlet,
    inlet: Inlet,
}

impl Way {
    /// Over the link of the master's frames; without a link if no strokes can be made.
    pub(super) fn new(opens: bool, params: LinkParams, seed: u64) -> Result<Self, LinkError> {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(b"strokes");
        let link = opens.then(|| LinkQueue::new(params, hash.digest(), WIRE_STROKES));
        Ok(Self {
            link: link.transpose()?,
            ..Self::default()
        })
    }

    /// What is due comes.
    pub(super) fn arrive(&mut self, now: Time) {
        while let Some(stroke) = self.link.as_mut().and_then(|link| link.pop_due(now)) {
            self.inlet.take(&stroke);
        }
    }

    /// After a tick of the master.
    pub(super) fn send(&mut self, master: &palpate_master::State, now: Time) {
        if let Some(link) = &mut self.link {
            self.outlet.pass(master, now, |stroke| {
                link.push(now, WIRE_BYTES, stroke);
            });
        }
    }

    /// Before a tick of the slave; whether a stroke was refused.
    pub(super) fn pass(&mut self, peer: u64, robot: &mut dyn Robot) -> bool {
        self.inlet.pass(peer, robot)
    }

    /// Another network; the parameters are those of a configuration that was checked.
    pub(super) fn change(&mut self, params: LinkParams) {
        let _ = self.link.as_mut().map(|link| link.set_params(params));
    }

    /// A side that begins anew knows nothing of strokes; what is on the way stays.
    pub(super) fn restart(&mut self, side: Side) {
        match side {
            Side::Master => self.outlet = Outlet::default(),
            Side::Slave => self.inlet = Inlet::default(),
        }
    }
}
