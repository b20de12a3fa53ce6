//! The kernel backend: a veth pair between two namespaces, netem on the way out of each end.
//!
//! Source: ours (transport.md 3). The pair is made with its ends where they belong, never in the
//! host's namespace, so a kill at any moment leaves nothing.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use palpate_transport::link::LinkParams;

use super::namespace::Place;
use super::rtnl::{self, Discipline, End};
use super::{Direction, NetLabError, NetLabOptions, Side, direction_seeds, netem};

/// Addresses of the sides, in namespaces that have no route anywhere else.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 66, 0, 1), Ipv4Addr::new(10, 66, 0, 2)];
/// Names of the interfaces.
const NAMES: [&str; 2] = ["palpate-m", "palpate-s"];
/// Locally administered hardware addresses of the veth ends.
const HARDWARE: [[u8; 6]; 2] = [[2, 0, 0x70, 0x61, 0, 1], [2, 0, 0x70, 0x61, 0, 2]];
/// Largest IP packet \[byte\], that of Ethernet.
const MTU_BYTE: u32 = 1500;

/// The end of the link at `side`.
pub(super) fn end(side: Side, packets: u32) -> End<'static> {
    End {
        name: NAMES[side as usize],
        address: ADDRESSES[side as usize],
        prefix_bit: 30,
        mtu_byte: MTU_BYTE,
        queue_packets: packets,
    }
}

/// Two namespaces joined by a veth pair.
#[derive(Debug)]
pub(super) struct VethPair {
    places: [Place; 2],
    packets: u32,
    seeds: [u64; 2],
}

impl VethPair {
    /// A pair with netem on both ends.
    ///
    /// # Errors
    /// No privilege, no netem, or parameters that netem cannot express.
    pub(super) fn impaired(options: &NetLabOptions) -> Result<Self, NetLabError> {
        let params = [options.forward, options.back];
        for params in &params {
            netem::options(params, options.packets, options.seed)?;
        }
        if probe_netem()? == Discipline::Absent {
            return Err(NetLabError::NoNetem);
        }
        let pair = Self::clean(options)?;
        for (direction, params) in Direction::BOTH.iter().zip(&params) {
            pair.set_params(*direction, params)?;
        }
        Ok(pair)
    }

    /// A pair without impairment.
    fn clean(options: &NetLabOptions) -> Result<Self, NetLabError> {
        let (slave, ()) = Place::create(|| Ok(()))?;
        let (here, there) = ((NAMES[0], HARDWARE[0]), (NAMES[1], HARDWARE[1]));
        let there_fd = slave.fd().as_raw_fd();
        let (master, ()) = Place::create(|| {
            rtnl::with_handle(async |handle| {
                rtnl::create_veth(&handle, here, there, there_fd).await?;
                set_up(&handle, Side::Master, options.packets).await
            })
        })?;
        slave.inside(|| {
            rtnl::with_handle(async |handle| set_up(&handle, Side::Slave, options.packets).await)
        })??;
        let seeds = direction_seeds(options.seed);
        Ok(Self {
            places: [master, slave],
            packets: options.packets,
            seeds,
        })
    }

    /// The namespaces of master and slave.
    pub(super) fn places(&self) -> &[Place; 2] {
        &self.places
    }

    /// Sets or changes netem on the end from which `direction` leaves.
    pub(super) fn set_params(
        &self,
        direction: Direction,
        params: &LinkParams,
    ) -> Result<(), NetLabError> {
        let index = direction as usize;
        let options = netem::options(params, self.packets, self.seeds[index])?;
        self.places[index].inside(|| {
            rtnl::with_handle(async |mut handle| {
                rtnl::set_root_queue(&mut handle, NAMES[index], netem::KIND, &options).await
            })
        })?
    }
}

/// Asks the kernel for netem in a scratch namespace.
///
/// # Errors
/// No privilege for the namespace, or a refusal other than that netem is unknown.
pub(super) fn probe_netem() -> Result<Discipline, NetLabError> {
    let options = netem::options(&LinkParams::default(), 1000, 1)?;
    let ask = || {
        rtnl::with_handle(async |mut handle| {
            rtnl::probe_queue(&mut handle, netem::KIND, &options).await
        })
    };
    Place::create(ask).map(|(_, discipline)| discipline)
}

async fn set_up(handle: &rtnetlink::Handle, side: Side, packets: u32) -> Result<(), NetLabError> {
    rtnl::bring_up(handle, &end(side, packets)).await?;
    let other = 1 - side as usize;
    rtnl::fix_neighbour(
        handle,
        NAMES[side as usize],
        ADDRESSES[other],
        HARDWARE[other],
    )
    .await
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// `tc_fifo_qopt` of linux/pkt_sched.h: a queue that every kernel has, with room for packets.
    const FIFO: (&str, [u8; 4]) = ("pfifo", 100_u32.to_ne_bytes());

    /// False, with the reason, where namespaces are refused.
    fn may_make_namespaces() -> bool {
        match Place::create(|| Ok(())) {
            Ok(_) => true,
            Err(error) => {
                println!("skipped: {error}");
                false
            }
        }
    }

    #[test]
    fn a_clean_pair_carries_datagrams_and_keeps_its_queue() {
        if !may_make_namespaces() {
            return;
        }
        let pair = VethPair::clean(&NetLabOptions::default()).unwrap();
        let [master, slave] = pair.places();
        let receiver = slave
            .inside(|| UdpSocket::bind((ADDRESSES[1], 7447)))
            .unwrap()
            .unwrap();
        let sender = master
            .inside(|| UdpSocket::bind((ADDRESSES[0], 0)))
            .unwrap()
            .unwrap();
        // The first makes the queue, the second changes it.
        for _ in 0..2 {
            let queue = async |mut handle| {
                rtnl::set_root_queue(&mut handle, NAMES[0], FIFO.0, &FIFO.1).await
            };
            master.inside(|| rtnl::with_handle(queue)).unwrap().unwrap();
        }
        sender.send_to(b"through", (ADDRESSES[1], 7447)).unwrap();
        let mut buffer = [0; 16];
        let (length, from) = receiver.recv_from(&mut buffer).unwrap();
        assert_eq!(
            (&buffer[..length], from.ip()),
            (&b"through"[..], ADDRESSES[0].into())
        );
    }

    #[test]
    fn a_probe_tells_what_the_kernel_has() {
        if !may_make_namespaces() {
            return;
        }
        let probe = |kind: &'static str| {
            let ask = || {
                rtnl::with_handle(async |mut handle| {
                    rtnl::probe_queue(&mut handle, kind, &FIFO.1).await
                })
            };
            Place::create(ask).unwrap().1
        };
        assert_eq!(probe(FIFO.0), Discipline::Present);
        assert_eq!(probe("no-such-queue"), Discipline::Absent);
        // Present or not, the options of netem are well formed enough to get that far.
        probe_netem().unwrap();
    }

    #[test]
    fn netem_is_built_or_named_as_absent() {
        if !may_make_namespaces() {
            return;
        }
        match (
            VethPair::impaired(&NetLabOptions::default()),
            probe_netem().unwrap(),
        ) {
            (Ok(pair), Discipline::Present) => {
                let params = LinkParams {
                    oneway_ms: 5.0,
                    loss: 0.1,
                    ..LinkParams::default()
                };
                pair.set_params(Direction::Back, &params).unwrap();
            }
            (Err(NetLabError::NoNetem), Discipline::Absent) => println!("netem is absent here"),
            (built, presence) => panic!("{built:?} with {presence:?}"),
        }
    }
}
