//! Kernel backend: a veth pair between two namespaces with netem on the egress of each end; and the interfaces of
//! all backends with namespaces, created through rtnetlink.
//!
//! Source: ours (transport.md 3). The ends of the pair are created in their namespaces, never in the
//! host's, so a kill at any time leaves nothing. A netlink socket belongs to the namespace of the thread
//! that created it, so each operation runs on a separate runtime inside that thread.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use futures_util::StreamExt as _;
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoVeth};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use nix::net::if_::if_nametoindex;
use palpate_transport::link::LinkParams;
use palpate_transport::trace::Side;
use rtnetlink::{Handle, LinkMessageBuilder, LinkUnspec, LinkVeth};

use super::namespace::NetNamespace;
use super::{LinkDirection, NetLabError, PACKETS, direction_seeds, netem};
use crate::config::LinkConfig;

/// Addresses of the sides, in namespaces without other routes.
pub(super) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 66, 0, 1), Ipv4Addr::new(10, 66, 0, 2)];
/// Length of the network prefix \[bit\].
const PREFIX_BIT: u8 = 30;
/// Names of the interfaces.
pub(super) const NAMES: [&str; 2] = ["palpate-m", "palpate-s"];
/// Locally administered hardware addresses of the veth ends.
const HARDWARE: [[u8; 6]; 2] = [[2, 0, 0x70, 0x61, 0, 1], [2, 0, 0x70, 0x61, 0, 2]];
/// Largest IP packet \[byte\], as in Ethernet.
const MTU_BYTE: u32 = 1500;
/// `TCA_OPTIONS` of linux/rtnetlink.h.
const TCA_OPTIONS: u16 = 2;
/// Loopback interface, which always comes first.
const LOOPBACK: &str = "lo";

/// Builds two namespaces joined by a veth pair, with netem on both ends.
///
/// # Errors
/// No privilege, no netem, or parameters that netem cannot express.
pub(super) fn impaired(link: &LinkConfig, seed: u64) -> Result<[NetNamespace; 2], NetLabError> {
    for params in [&link.forward, &link.back] {
        netem::options(params, PACKETS as u32, seed)?;
    }
    if !has_netem()? {
        return Err(NetLabError::NoNetem);
    }
    let places = clean()?;
    set_params(&places, LinkDirection::Forward, &link.forward, seed)?;
    set_params(&places, LinkDirection::Back, &link.back, seed)?;
    Ok(places)
}

/// Builds the pair without impairment.
fn clean() -> Result<[NetNamespace; 2], NetLabError> {
    let (slave, ()) = NetNamespace::create(|| Ok(()))?;
    let (master, ()) = NetNamespace::create(|| {
        create_veth(slave.fd())?;
        bring_up(Side::Master)?;
        fix_neighbour(Side::Master)
    })?;
    slave.inside(|| {
        bring_up(Side::Slave)?;
        fix_neighbour(Side::Slave)
    })??;
    Ok([master, slave])
}

/// Sets or changes netem on the end from which `direction` leaves.
pub(super) fn set_params(
    places: &[NetNamespace; 2],
    direction: LinkDirection,
    params: &LinkParams,
    seed: u64,
) -> Result<(), NetLabError> {
    let index = direction as usize;
    let options = netem::options(params, PACKETS as u32, direction_seeds(seed)[index])?;
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    let is_known =
        places[index].inside(|| set_queue(NAMES[index], netem::KIND, &options, flags))?;
    is_known?.then_some(()).ok_or(NetLabError::NoNetem)
}

/// True if the kernel has netem, probed in a scratch namespace.
///
/// # Errors
/// No privilege for the namespace, or another refusal than an unknown netem.
pub(crate) fn has_netem() -> Result<bool, NetLabError> {
    probe(
        netem::KIND,
        &netem::options(&LinkParams::default(), 1000, 1)?,
    )
}

/// True if this kernel has a queueing discipline, probed on the loopback of a scratch namespace.
fn probe(kind: &str, options: &[u8]) -> Result<bool, NetLabError> {
    let request_queue = || set_queue(LOOPBACK, kind, options, NLM_F_CREATE | NLM_F_EXCL);
    NetNamespace::create(request_queue).map(|(_, is_known)| is_known)
}

/// Runs `work` with a netlink handle of this thread's namespace; a refusal names `what`.
fn with_handle<T>(
    what: &'static str,
    work: impl AsyncFnOnce(Handle) -> Result<T, rtnetlink::Error>,
) -> Result<T, NetLabError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(|source| NetLabError::system("a runtime for netlink", source))?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection()
            .map_err(|source| NetLabError::system("a netlink socket", source))?;
        tokio::spawn(connection);
        work(handle).await.map_err(|error| refused(what, error))
    })
}

/// Brings the loopback and the interface of `side` up, with its address, in this thread's namespace.
pub(super) fn bring_up(side: Side) -> Result<(), NetLabError> {
    let (index, loopback) = (index_of(NAMES[side as usize])?, index_of(LOOPBACK)?);
    with_handle("an address", async |handle| {
        let address = ADDRESSES[side as usize].into();
        let request = handle.address().add(index, address, PREFIX_BIT);
        request.execute().await
    })?;
    with_handle("an interface that is up", async |handle| {
        let interface = LinkUnspec::new_with_index(index)
            .mtu(MTU_BYTE)
            .txqueuelen(PACKETS as u32)
            .up()
            .build();
        let loopback = LinkUnspec::new_with_index(loopback).up().build();
        for message in [interface, loopback] {
            handle.link().set(message).execute().await?;
        }
        Ok(())
    })
}

/// Creates a veth pair: the master's end in this namespace, the slave's directly in its own, so
/// that neither end ever exists in the host's.
fn create_veth(slave: BorrowedFd<'_>) -> Result<(), NetLabError> {
    let peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(NAMES[1])
        .address(HARDWARE[1].to_vec())
        .setns_by_fd(slave.as_raw_fd())
        .build();
    let message = LinkMessageBuilder::<LinkVeth>::new(NAMES[0], NAMES[1])
        .address(HARDWARE[0].to_vec())
        .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
        .build();
    with_handle("a veth pair", async |handle| {
        handle.link().add(message).execute().await
    })
}

/// Sets the hardware address of the other end, so that no ARP packet takes part in the losses.
fn fix_neighbour(side: Side) -> Result<(), NetLabError> {
    let index = index_of(NAMES[side as usize])?;
    let other = side.other() as usize;
    with_handle("a neighbour entry", async |handle| {
        let neighbours = handle.neighbours();
        let request = neighbours.add(index, ADDRESSES[other].into());
        let request = request.link_layer_address(&HARDWARE[other]);
        request.execute().await
    })
}

/// Sets `kind` with raw `options` as the root queue of an interface; false if the kernel lacks the kind (ENOENT).
fn set_queue(interface: &str, kind: &str, options: &[u8], flags: u16) -> Result<bool, NetLabError> {
    let index = i32::try_from(index_of(interface)?).unwrap_or(i32::MAX);
    let mut message = TcMessage::with_index(index);
    message.header.parent = TcHandle::ROOT;
    let options = DefaultNla::new(TCA_OPTIONS, options.to_vec());
    let attributes = [
        TcAttribute::Kind(kind.to_owned()),
        TcAttribute::Other(options),
    ];
    message.attributes.extend(attributes);
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    with_handle("a queueing discipline", async |mut handle| {
        let mut answers = handle.request(request)?;
        while let Some(answer) = answers.next().await {
            match answer.payload {
                NetlinkPayload::Error(error) if error.raw_code() == -libc::ENOENT => {
                    return Ok(false);
                }
                NetlinkPayload::Error(error) if error.code.is_some() => {
                    return Err(rtnetlink::Error::NetlinkError(error));
                }
                _ => {}
            }
        }
        Ok(true)
    })
}

/// Index of an interface in this thread's namespace.
fn index_of(name: &str) -> Result<u32, NetLabError> {
    if_nametoindex(name).map_err(|errno| NetLabError::system("finding an interface", errno.into()))
}

/// A refusal of the kernel, with its error number if it has one.
fn refused(what: &'static str, error: rtnetlink::Error) -> NetLabError {
    match error {
        rtnetlink::Error::NetlinkError(message) => NetLabError::system(what, message.to_io()),
        other => NetLabError::system(what, std::io::Error::other(other)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// `tc_fifo_qopt` of linux/pkt_sched.h: a queue that every kernel has.
    const FIFO: (&str, [u8; 4]) = ("pfifo", 100_u32.to_ne_bytes());

    /// Returns false and prints the reason if namespaces are refused.
    fn may_make_namespaces() -> bool {
        match NetNamespace::create(|| Ok(())) {
            Ok(_) => true,
            Err(error) => {
                println!("skipped: {error}");
                false
            }
        }
    }

    #[test]
    fn veth_pair_carries_datagrams_and_replaces_its_queue() {
        if !may_make_namespaces() {
            return;
        }
        let [master, slave] = clean().unwrap();
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
            let flags = NLM_F_CREATE | NLM_F_REPLACE;
            let set = || set_queue(NAMES[0], FIFO.0, &FIFO.1, flags);
            assert!(master.inside(set).unwrap().unwrap());
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
    fn probe_detects_queueing_disciplines() {
        if !may_make_namespaces() {
            return;
        }
        assert!(probe(FIFO.0, &FIFO.1).unwrap());
        assert!(!probe("no-such-queue", &FIFO.1).unwrap());
        // present or not, netem's options are well formed
        has_netem().unwrap();
    }

    #[test]
    fn netem_is_built_or_reported_absent() {
        if !may_make_namespaces() {
            return;
        }
        match (impaired(&LinkConfig::default(), 1), has_netem().unwrap()) {
            (Ok(places), true) => {
                let params = LinkParams {
                    oneway_ms: 5.0,
                    loss: 0.1,
                    ..LinkParams::default()
                };
                set_params(&places, LinkDirection::Back, &params, 1).unwrap();
            }
            (Err(NetLabError::NoNetem), false) => println!("netem is absent here"),
            (built, presence) => panic!("{built:?} with {presence:?}"),
        }
    }
}
