//! Interfaces, addresses and queues through rtnetlink, in the namespace of the calling thread.
//!
//! Source: ours (transport.md 3). A netlink socket belongs to the namespace of the thread that made
//! it, so each piece of work runs on a runtime of its own inside that thread.

use std::net::Ipv4Addr;

use futures_util::StreamExt;
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoVeth};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use nix::net::if_::if_nametoindex;
use rtnetlink::{Handle, LinkMessageBuilder, LinkUnspec, LinkVeth};

use super::NetLabError;

/// `TCA_OPTIONS` of linux/rtnetlink.h.
const TCA_OPTIONS: u16 = 2;
/// The loopback interface, which is always the first.
const LOOPBACK: &str = "lo";

/// Whether this kernel has a queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discipline {
    /// It can be attached.
    Present,
    /// The kernel does not know the name (ENOENT).
    Absent,
}

/// One end of a link as the namespace at hand is to see it.
#[derive(Debug, Clone)]
pub(super) struct End<'a> {
    /// Interface name.
    pub name: &'a str,
    /// Own address.
    pub address: Ipv4Addr,
    /// Length of the network prefix \[bit\].
    pub prefix_bit: u8,
    /// Largest packet \[byte\].
    pub mtu_byte: u32,
    /// Packets that the interface may queue.
    pub queue_packets: u32,
}

/// Runs `work` with a netlink handle of this thread's namespace.
pub(super) fn with_handle<T>(
    work: impl AsyncFnOnce(Handle) -> Result<T, NetLabError>,
) -> Result<T, NetLabError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(|source| NetLabError::system("a runtime for netlink", source))?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection()
            .map_err(|source| NetLabError::system("a netlink socket", source))?;
        tokio::spawn(connection);
        work(handle).await
    })
}

/// Brings the loopback and the interface `end` up, with its address.
pub(super) async fn bring_up(handle: &Handle, end: &End<'_>) -> Result<(), NetLabError> {
    let index = index_of(end.name)?;
    handle
        .address()
        .add(index, end.address.into(), end.prefix_bit)
        .execute()
        .await
        .map_err(|error| refused("an address", error))?;
    let interface = LinkUnspec::new_with_index(index)
        .mtu(end.mtu_byte)
        .txqueuelen(end.queue_packets)
        .up()
        .build();
    let loopback = LinkUnspec::new_with_index(index_of(LOOPBACK)?).up().build();
    for message in [interface, loopback] {
        handle
            .link()
            .set(message)
            .execute()
            .await
            .map_err(|error| refused("an interface that is up", error))?;
    }
    Ok(())
}

/// Makes a veth pair: `here` in this namespace, `there` at once in the namespace `target_fd`, so
/// that neither end is ever seen in the host's.
pub(super) async fn create_veth(
    handle: &Handle,
    here: (&str, [u8; 6]),
    there: (&str, [u8; 6]),
    target_fd: i32,
) -> Result<(), NetLabError> {
    let peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(there.0)
        .address(there.1.to_vec())
        .setns_by_fd(target_fd)
        .build();
    let message = LinkMessageBuilder::<LinkVeth>::new(here.0, there.0)
        .address(here.1.to_vec())
        .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
        .build();
    let request = handle.link().add(message);
    request
        .execute()
        .await
        .map_err(|error| refused("a veth pair", error))
}

/// Fixes the hardware address of the other end, so that no ARP packet takes part in the losses.
pub(super) async fn fix_neighbour(
    handle: &Handle,
    name: &str,
    address: Ipv4Addr,
    hardware: [u8; 6],
) -> Result<(), NetLabError> {
    handle
        .neighbours()
        .add(index_of(name)?, address.into())
        .link_layer_address(&hardware)
        .execute()
        .await
        .map_err(|error| refused("a neighbour entry", error))
}

/// Makes `kind` with raw `options` the root queue of `name`, or changes it if it already is.
pub(super) async fn set_root_queue(
    handle: &mut Handle,
    name: &str,
    kind: &str,
    options: &[u8],
) -> Result<(), NetLabError> {
    let message = queue_message(index_of(name)?, kind, options);
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    send(handle, message, flags)
        .await
        .map_err(|error| refused("a queueing discipline", error))
}

/// Asks the kernel for `kind` on the loopback of this namespace, which must be a scratch one.
pub(super) async fn probe_queue(
    handle: &mut Handle,
    kind: &str,
    options: &[u8],
) -> Result<Discipline, NetLabError> {
    let message = queue_message(index_of(LOOPBACK)?, kind, options);
    match send(handle, message, NLM_F_CREATE | NLM_F_EXCL).await {
        Ok(()) => Ok(Discipline::Present),
        Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == -libc::ENOENT => {
            Ok(Discipline::Absent)
        }
        Err(error) => Err(refused("a queueing discipline", error)),
    }
}

/// A root queue for interface `index`, its options as the kernel wants them.
fn queue_message(index: u32, kind: &str, options: &[u8]) -> TcMessage {
    let mut message = TcMessage::with_index(i32::try_from(index).unwrap_or(i32::MAX));
    message.header.parent = TcHandle::ROOT;
    message.attributes.push(TcAttribute::Kind(kind.to_owned()));
    message.attributes.push(TcAttribute::Other(DefaultNla::new(
        TCA_OPTIONS,
        options.to_vec(),
    )));
    message
}

/// Sends a queue message and waits for the kernel's verdict.
async fn send(handle: &mut Handle, message: TcMessage, flags: u16) -> Result<(), rtnetlink::Error> {
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut answers = handle.request(request)?;
    while let Some(answer) = answers.next().await {
        if let NetlinkPayload::Error(error) = answer.payload
            && error.code.is_some()
        {
            return Err(rtnetlink::Error::NetlinkError(error));
        }
    }
    Ok(())
}

/// The number of an interface in this thread's namespace.
fn index_of(name: &str) -> Result<u32, NetLabError> {
    if_nametoindex(name).map_err(|errno| NetLabError::system("finding an interface", errno.into()))
}

/// A refusal of the kernel, with its error number where there is one.
fn refused(what: &'static str, error: rtnetlink::Error) -> NetLabError {
    match error {
        rtnetlink::Error::NetlinkError(message) => NetLabError::system(what, message.to_io()),
        other => NetLabError::system(what, std::io::Error::other(other)),
    }
}
