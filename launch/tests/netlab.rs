//! The link lab between real sockets and real processes.
//!
//! Source: ours (transport.md 3 and 10). Delays are judged by their lower bound and, on a machine that lets ordinary
//! threads run, by a generous median, never by a maximum. A backend that this machine refuses is skipped, and says so.

#![allow(
    clippy::unwrap_used,
    reason = "all of this file is a test, its small functions too"
)]

mod witness;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::sleep;

use core::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::time::ClockId;
use nix::unistd::Pid;
use palpate_session::netlab::{
    Backend, BackendChoice, Direction, NetLab, NetLabError, NetLabOptions, Side,
};
use palpate_transport::link::{LinkParams, Outage};
use witness::{Needs, PATIENCE, Witness};

fn link(oneway_ms: f64, loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms,
        loss,
        ..LinkParams::default()
    }
}

fn options(backend: BackendChoice, params: LinkParams) -> NetLabOptions {
    NetLabOptions {
        forward: params,
        back: params,
        seed: 7,
        backend,
        ..NetLabOptions::default()
    }
}

/// A lab, or none with a printed reason if this machine refuses that backend.
fn lab(backend: BackendChoice, params: LinkParams) -> Option<NetLab> {
    match NetLab::build(&options(backend, params)) {
        Ok(lab) => Some(lab),
        Err(NetLabError::System { what, source }) => {
            println!("skipped: {what} was refused: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Sockets of the two sides, the master's connected to what it is to dial.
fn sockets(lab: &NetLab) -> (UdpSocket, UdpSocket) {
    let addresses = lab.addresses();
    let slave = lab
        .inside(Side::Slave, || UdpSocket::bind(addresses.slave_udp))
        .unwrap()
        .unwrap();
    let connect = || {
        let own = if addresses.dial_udp.ip().is_loopback() {
            "127.0.0.1:0"
        } else {
            "0.0.0.0:0"
        };
        let socket = UdpSocket::bind(own)?;
        socket.connect(addresses.dial_udp).map(|()| socket)
    };
    let master = lab.inside(Side::Master, connect).unwrap().unwrap();
    slave.set_read_timeout(Some(PATIENCE)).unwrap();
    master.set_read_timeout(Some(PATIENCE)).unwrap();
    (master, slave)
}

fn now_ms() -> f64 {
    let time = ClockId::CLOCK_MONOTONIC.now().unwrap();
    time.tv_sec() as f64 * 1e3 + time.tv_nsec() as f64 * 1e-6
}

/// Delays \[ms\] of `count` packets there and of their echoes back.
fn delays_ms(master: &UdpSocket, slave: &UdpSocket, count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut buffer = [0; 64];
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for n in 0..count {
        let sent_ms = now_ms();
        master.send(&n.to_ne_bytes()).unwrap();
        let (length, from) = slave.recv_from(&mut buffer).unwrap();
        let received_ms = now_ms();
        there.push(received_ms - sent_ms);
        assert_eq!(buffer[..length], n.to_ne_bytes());
        slave.send_to(&buffer[..length], from).unwrap();
        assert_eq!(master.recv(&mut buffer).unwrap(), length);
        back.push(now_ms() - received_ms);
    }
    (there, back)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Judges that these packets [ms] came without delay beyond the link's, if threads like those that sent and took
/// them were let run.
fn judge_prompt(delays: &[&[f64]], witness: Witness) {
    let machine = witness.testify().whole();
    for delays in delays {
        let found = format!("a median delay of {:.1} ms", median(delays));
        machine.judge(&found, median(delays) < 30.0, Needs::Ticks(0.01));
    }
}

/// Numbers of the packets that arrive of `count`, sent so few at a time that no socket's buffer
/// overflows, however long its reader was kept from running.
fn arrivals(lab: &NetLab, master: &UdpSocket, slave: &UdpSocket, count: u32) -> BTreeSet<u32> {
    let before = lab.stats().unwrap().forward;
    let mut arrived = BTreeSet::new();
    slave.set_nonblocking(true).unwrap();
    for first in (0..count).step_by(50) {
        let end = count.min(first + 50);
        for n in first..end {
            master.send(&n.to_ne_bytes()).unwrap();
        }
        soon("the passage of all packets", || {
            let mut buffer = [0; 4];
            while slave.recv(&mut buffer).is_ok() {
                arrived.insert(u32::from_ne_bytes(buffer));
            }
            let now = lab.stats().unwrap().forward;
            let delivered = now.delivered - before.delivered;
            now.offered - before.offered == u64::from(end)
                && delivered + now.lost - before.lost == u64::from(end)
                && arrived.len() as u64 == delivered
        });
    }
    slave.set_nonblocking(false).unwrap();
    arrived
}

fn delays_both_ways(backend: BackendChoice) {
    let Some(lab) = lab(backend, link(20.0, 0.0)) else {
        return;
    };
    let (master, slave) = sockets(&lab);
    let witness = Witness::start(0);
    let (there, back) = delays_ms(&master, &slave, 40);
    for delays in [&there, &back] {
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least >= 20.0, "a packet was {least} ms on a link of 20 ms");
        println!("least {least:.3} ms, median {:.3} ms", median(delays));
    }
    judge_prompt(&[&there, &back], witness);
}

#[test]
fn tun_delays_both_ways() {
    delays_both_ways(BackendChoice::Tun);
}

#[test]
fn loopback_delays_both_ways() {
    delays_both_ways(BackendChoice::Loopback);
}

fn loses_by_its_seed(backend: BackendChoice) {
    let count = 4000;
    let run = |seed: u64| -> Option<BTreeSet<u32>> {
        drop(lab(backend, LinkParams::default())?);
        let options = NetLabOptions {
            seed,
            ..options(backend, link(2.0, 0.1))
        };
        let lab = NetLab::build(&options).unwrap();
        let (master, slave) = sockets(&lab);
        let arrived = arrivals(&lab, &master, &slave, count);
        Some(arrived)
    };
    let Some(first) = run(7) else { return };
    let lost = f64::from(count) - first.len() as f64;
    let (mean, sigma) = (
        0.1 * f64::from(count),
        (0.1 * 0.9 * f64::from(count)).sqrt(),
    );
    assert!(
        (lost - mean).abs() <= 4.0 * sigma,
        "{lost} lost, {mean} +- {sigma} expected"
    );
    assert_eq!(
        run(7).unwrap(),
        first,
        "the same seed loses the same packets"
    );
    assert_ne!(run(8).unwrap(), first, "another seed loses others");
}

#[test]
fn tun_loses_by_its_seed() {
    loses_by_its_seed(BackendChoice::Tun);
}

#[test]
fn loopback_loses_by_its_seed() {
    loses_by_its_seed(BackendChoice::Loopback);
}

fn changes_while_it_runs(backend: BackendChoice) {
    let Some(lab) = lab(backend, link(1.0, 0.0)) else {
        return;
    };
    let (master, slave) = sockets(&lab);
    let witness = Witness::start(0);
    let (before, _) = delays_ms(&master, &slave, 5);
    lab.set_link(Direction::Forward, link(40.0, 0.0)).unwrap();
    soon("the new delay", || {
        delays_ms(&master, &slave, 1).0[0] >= 40.0
    });
    let (there, back) = delays_ms(&master, &slave, 9);
    assert!(there.iter().all(|delay| *delay >= 40.0), "{there:?}");
    // the other direction is as it was
    judge_prompt(&[&before, &back], witness);
    lab.set_link(Direction::Forward, link(0.0, 1.0)).unwrap();
    soon("the new loss", || {
        arrivals(&lab, &master, &slave, 1).is_empty()
    });
    assert_eq!(arrivals(&lab, &master, &slave, 20).len(), 0);
    let wrong = lab.set_link(Direction::Back, link(-1.0, 0.0)).unwrap_err();
    assert!(wrong.to_string().contains("link.oneway_ms = -1"), "{wrong}");
    lab.set_link(Direction::Forward, link(0.0, 0.0)).unwrap();
    soon("the perfect link", || {
        !arrivals(&lab, &master, &slave, 1).is_empty()
    });
    assert_eq!(arrivals(&lab, &master, &slave, 20).len(), 20);
}

#[test]
fn tun_changes_while_it_runs() {
    changes_while_it_runs(BackendChoice::Tun);
}

#[test]
fn loopback_changes_while_it_runs() {
    changes_while_it_runs(BackendChoice::Loopback);
}

#[test]
fn an_outage_cuts_and_comes_back() {
    let outage = Some(Outage {
        on_s: 0.3,
        off_s: 0.3,
    });
    let params = LinkParams {
        outage,
        ..LinkParams::default()
    };
    let Some(lab) = lab(BackendChoice::Loopback, params) else {
        return;
    };
    let (master, slave) = sockets(&lab);
    slave.set_nonblocking(true).unwrap();
    let (mut sent, mut arrived) = (0_u32, Vec::new());
    let take = |arrived: &mut Vec<u32>| {
        let mut buffer = [0; 4];
        while slave.recv(&mut buffer).is_ok() {
            arrived.push(u32::from_ne_bytes(buffer));
        }
    };
    // packets that come after more than ten that did not
    soon("the end of an outage", || {
        master.send(&sent.to_ne_bytes()).unwrap();
        sent += 1;
        take(&mut arrived);
        arrived.windows(2).any(|pair| pair[1] - pair[0] > 11)
    });
    soon("the passage of all packets", || {
        take(&mut arrived);
        let stats = lab.stats().unwrap().forward;
        stats.cut > 10 && stats.cut + arrived.len() as u64 == u64::from(sent)
    });
}

fn carries_streams(backend: BackendChoice) {
    let Some(lab) = lab(backend, link(10.0, 0.0)) else {
        return;
    };
    let addresses = lab.addresses();
    let listen = || TcpListener::bind(addresses.slave_tcp);
    let listener = lab.inside(Side::Slave, listen).unwrap().unwrap();
    let slave = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    let connect = || TcpStream::connect(addresses.dial_tcp);
    let mut master = lab.inside(Side::Master, connect).unwrap().unwrap();
    master.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_ne_bytes).collect();
    let sent_ms = now_ms();
    let mut writer = master.try_clone().unwrap();
    let to_send = sent.clone();
    let write = std::thread::spawn(move || {
        writer.write_all(&to_send).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut echoed = Vec::new();
    master.read_to_end(&mut echoed).unwrap();
    write.join().unwrap();
    slave.join().unwrap();
    assert!(now_ms() - sent_ms >= 20.0);
    assert!(
        echoed == sent,
        "{} bytes of {} came back right",
        echoed.len(),
        sent.len()
    );
}

#[test]
fn tun_carries_streams() {
    carries_streams(BackendChoice::Tun);
}

#[test]
fn loopback_carries_streams() {
    carries_streams(BackendChoice::Loopback);
}

#[test]
fn auto_takes_a_backend_and_says_which() {
    let lab = NetLab::build(&options(BackendChoice::Auto, LinkParams::default())).unwrap();
    let word = match lab.backend() {
        Backend::Netem => "netem",
        Backend::Tun => "TUN",
        Backend::Loopback => "loopback",
    };
    assert!(lab.explanation().contains(word), "{}", lab.explanation());
    println!("{}", lab.explanation());
}

#[test]
fn parameters_without_sense_build_nothing() {
    for backend in [BackendChoice::Auto, BackendChoice::Loopback] {
        let error = NetLab::build(&options(backend, link(f64::NAN, 0.0))).unwrap_err();
        assert!(error.to_string().contains("oneway_ms"), "{error}");
    }
    for packets in [0, u32::MAX] {
        let options = NetLabOptions {
            packets,
            ..NetLabOptions::default()
        };
        let error = NetLab::build(&options).unwrap_err();
        assert!(
            error.to_string().contains(&format!("packets = {packets}")),
            "{error}"
        );
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = NetLabOptions {
        udp_port: port,
        ..options(BackendChoice::Loopback, LinkParams::default())
    };
    let error = NetLab::build(&options).unwrap_err().to_string();
    assert!(error.contains("port"), "{error}");
}

/// Namespaces in which any process of this machine is, or which any of them holds open.
fn namespaces() -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let path = process.path();
        found.extend(fs::metadata(path.join("ns/net")).map(|data| data.ino()));
        let held = fs::read_dir(path.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        for fd in held {
            let is_net = fs::read_link(fd.path())
                .is_ok_and(|to| to.to_str().is_some_and(|to| to.starts_with("net:[")));
            if is_net {
                found.extend(fs::metadata(fd.path()).map(|data| data.ino()));
            }
        }
    }
    found
}

fn is_alive(pid: u32) -> bool {
    // A dead process whose parent has not asked for it yet has no command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let until_ms = now_ms() + 1e3 * PATIENCE.as_secs_f64();
    while !holds() {
        assert!(now_ms() < until_ms, "{what} did not come about");
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn children_are_inside_and_nothing_is_left_after_drop() {
    let Some(lab) = lab(BackendChoice::Tun, LinkParams::default()) else {
        return;
    };
    let inodes = [Side::Master, Side::Slave].map(|side| lab.namespace_inode(side).unwrap());
    for (side, inode) in [Side::Master, Side::Slave].into_iter().zip(inodes) {
        let mut command = Command::new("readlink");
        command.arg("/proc/self/ns/net");
        lab.command_in(side, &mut command).unwrap();
        let output = command.output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim(),
            format!("net:[{inode}]")
        );
    }
    let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
    assert!(!inodes.contains(&own) && inodes[0] != inodes[1]);
    assert!(inodes.iter().all(|inode| namespaces().contains(inode)));
    drop(lab);
    assert!(inodes.iter().all(|inode| !namespaces().contains(inode)));
}

/// Starts [`supervisor_that_waits_to_be_killed`] with `backend`, and gives it with what it prints.
fn start_supervisor(backend: &str) -> (std::process::Child, Vec<u64>) {
    let mut supervisor = Command::new(std::env::current_exe().unwrap())
        .args([
            "supervisor_that_waits_to_be_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("NETLAB_TEST_BACKEND", backend)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // the pipe stays open: the harness of the supervisor may still write its own lines
    let lines = BufReader::new(supervisor.stdout.as_mut().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.contains("ready:"))
        .unwrap();
    let numbers = line.split("ready:").nth(1).unwrap().split_whitespace();
    (
        supervisor,
        numbers.map(|number| number.parse().unwrap()).collect(),
    )
}

fn leaves_nothing_when_killed(backend: &str) {
    let (mut supervisor, numbers) = start_supervisor(backend);
    let (child, grandchild) = (numbers[0] as u32, numbers[1] as u32);
    let inodes = &numbers[2..];
    // while a process becomes another program it has no command line either
    soon("two processes", || is_alive(child) && is_alive(grandchild));
    assert!(inodes.iter().all(|inode| namespaces().contains(inode)));
    kill(Pid::from_raw(supervisor.id() as i32), Signal::SIGKILL).unwrap();
    assert_eq!(
        supervisor.wait().unwrap().signal(),
        Some(Signal::SIGKILL as i32)
    );
    soon("the end of the child", || !is_alive(child));
    // The death signal does not pass to grandchildren: the next start sweeps them. That may be
    // another test's of this run.
    let next = NetLab::build(&options(BackendChoice::Loopback, LinkParams::default())).unwrap();
    println!("swept {:?}", next.swept());
    soon("the end of the grandchild", || !is_alive(grandchild));
    soon("the end of the namespaces", || {
        inodes.iter().all(|inode| !namespaces().contains(inode))
    });
}

#[test]
fn tun_leaves_nothing_when_killed() {
    if lab(BackendChoice::Tun, LinkParams::default()).is_some() {
        leaves_nothing_when_killed("tun");
    }
}

#[test]
fn loopback_leaves_nothing_when_killed() {
    leaves_nothing_when_killed("loopback");
}

#[test]
#[ignore = "the body of a process that other tests start and kill"]
fn supervisor_that_waits_to_be_killed() {
    let backend = match std::env::var("NETLAB_TEST_BACKEND").as_deref() {
        Ok("tun") => BackendChoice::Tun,
        _ => BackendChoice::Loopback,
    };
    let lab = lab(backend, LinkParams::default()).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "sleep 600 & echo $!; wait"])
        .stdout(Stdio::piped());
    lab.command_in(Side::Slave, &mut command).unwrap();
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let inodes = [Side::Master, Side::Slave].map(|side| lab.namespace_inode(side));
    let inodes: Vec<String> = inodes.iter().flatten().map(u64::to_string).collect();
    println!("ready: {} {} {}", child.id(), line.trim(), inodes.join(" "));
    child.wait().unwrap();
}

#[test]
fn a_masters_address_is_what_it_dials() {
    let Some(lab) = lab(BackendChoice::Loopback, LinkParams::default()) else {
        return;
    };
    let addresses = lab.addresses();
    assert_ne!(addresses.dial_udp, addresses.slave_udp);
    let parse = |text: &str| {
        text.split_once('/')
            .unwrap()
            .1
            .parse::<SocketAddr>()
            .unwrap()
    };
    let [udp, stream] = lab.endpoints(Side::Master, "tls");
    assert!(udp.starts_with("udp/") && stream.starts_with("tls/"));
    assert_eq!(
        (parse(&udp), parse(&stream)),
        (addresses.dial_udp, addresses.dial_tcp)
    );
    let [udp, stream] = lab.endpoints(Side::Slave, "tcp");
    assert_eq!(
        (parse(&udp), parse(&stream)),
        (addresses.slave_udp, addresses.slave_tcp)
    );
}
