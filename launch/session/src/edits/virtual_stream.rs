//! Transfer of edit batches in virtual time: both endpoints, with the same network between them as for frames.
//!
//! Source: ours. Edit batches have separate links with the parameters of the frames' links. They are lost, delayed
//! and repeated independently, and share no rate limit with the frames.

use palpate_port::inbox::Inbox;
use palpate_slave::robot::Robot;
use palpate_transport::link::{LinkError, LinkParams, LinkQueue};
use palpate_transport::trace::Side;
use palpate_transport::{EditBatch, Time};
use xxhash_rust::xxh3::Xxh3;

use super::EditEndpoint;
use crate::pipeline::TickInputs;

/// Size of an edit batch on the wire: payload, CDR header, zenoh and UDP/IP headers \[bytes\].
const EDIT_WIRE_BYTES: usize = palpate_transport::cdr::EDIT_BATCH_BYTES + 60;

/// Most edit batches on the wire at once.
const WIRE_BATCHES: usize = 2048;

/// Edit transfer between the master's twin and the tissue of the slave's robot.
#[derive(Default)]
pub(crate) struct VirtualEditStream {
    /// From the master, and from the slave; none if instruments cannot edit the twin.
    links: Option<[LinkQueue<EditBatch>; 2]>,
    /// Endpoint of the master, and of the slave.
    endpoints: [EditEndpoint; 2],
}

impl VirtualEditStream {
    /// Builds a stream with the link parameters of the master's and the slave's frames; without links unless the
    /// tissue can be edited.
    pub(crate) fn new(
        editable: bool,
        links: [LinkParams; 2],
        seed: u64,
    ) -> Result<Self, LinkError> {
        let [forward, back] = links;
        let link = |params, name: &[u8]| {
            let mut hash = Xxh3::with_seed(seed);
            hash.update(name);
            LinkQueue::new(params, hash.digest(), WIRE_BATCHES)
        };
        let links = || Ok([link(forward, b"strokes")?, link(back, b"history")?]);
        Ok(Self {
            links: editable.then(links).transpose()?,
            ..Self::default()
        })
    }

    /// Delivers the batches that are due.
    pub(crate) fn deliver_due(&mut self, now: Time) {
        for (index, link) in self.links.iter_mut().flatten().enumerate() {
            while let Some(batch) = link.pop_due(now) {
                self.endpoints[1 - index].receiver.accept(&batch);
            }
        }
    }

    /// Before a tick of the master: applies received batches to its twin.
    pub(crate) fn update_master(&mut self, master: &mut palpate_master::MasterState) {
        self.endpoints[0].apply_received(master);
    }

    /// After a tick of the master.
    pub(crate) fn send_from_master(&mut self, master: &palpate_master::MasterState, now: Time) {
        if let Some([link, _]) = &mut self.links {
            self.endpoints[0].send_due(master, now, |batch| {
                link.push(now, EDIT_WIRE_BYTES, batch);
            });
        }
    }

    /// Before a tick of the slave: applies received batches and sends those that the master lacks. Returns true if
    /// a batch was refused.
    pub(crate) fn update_slave(
        &mut self,
        inbox: &Inbox,
        robot: &mut dyn Robot,
        inputs: &TickInputs,
    ) -> bool {
        let mut link = self.links.as_mut().map(|[_, link]| link);
        self.endpoints[1].update_slave(inbox, robot, inputs.now, |batch| {
            if let Some(link) = &mut link {
                link.push(inputs.device_now, EDIT_WIRE_BYTES, batch);
            }
        })
    }

    /// Changes the network; the parameters come from a validated configuration.
    pub(crate) fn set_link_params(&mut self, params: [Option<LinkParams>; 2]) {
        for (link, params) in self.links.iter_mut().flatten().zip(params) {
            let _ = params.map(|params| link.set_params(params));
        }
    }

    /// Resets the endpoint of a side that restarts; batches on the wire remain.
    pub(crate) fn restart(&mut self, side: Side) {
        self.endpoints[side as usize] = EditEndpoint::default();
    }
}
