//! Tests of the network lab between real sockets and real processes.
//!
//! Source: ours (transport.md 3 and 10). Delays are judged by their lower bound and, on a machine that runs
//! ordinary threads in time, by a generous median, never by a maximum. A backend that this machine refuses is
//! skipped with a printed reason.

#![allow(
    clippy::unwrap_used,
    reason = "all of this file is a test, its small functions too"
)]

#[path = "../../../tests/load_monitor/mod.rs"]
mod load_monitor;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;

use core::time::Duration;

use load_monitor::{LoadMonitor, Needs, PATIENCE};
use nix::sys::signal::{Signal, kill};
use nix::time::ClockId;
use nix::unistd::Pid;
use palpate_transport::link::{LinkStats, Outage};

use super::*;

fn link(oneway_ms: f64, loss: f64) -> LinkParams {
    LinkParams {
        oneway_ms,
        loss,
        ..LinkParams::default()
    }
}

/// A session with this network; each has its own ports, since tests run in parallel.
fn config(backend: Backend, params: LinkParams) -> Config {
    static PORT: AtomicU16 = AtomicU16::new(0);
    let mut config = Config {
        seed: 7,
        ..Config::default()
    };
    (config.link.forward, config.link.back) = (params, params);
    config.network.backend = backend;
    let process = (std::process::id() % 120) as u16;
    config.network.port = 20_000 + 100 * process + PORT.fetch_add(2, Ordering::Relaxed);
    config
}

/// Builds a lab; prints the reason and returns none if this machine refuses the backend.
fn lab(backend: Backend, params: LinkParams) -> Option<NetLab> {
    match NetLab::build(&config(backend, params)) {
        Ok(lab) => Some(lab),
        Err(NetLabError::System { what, source }) => {
            println!("skipped: {what} was refused: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` in a thread on a side.
fn inside<T: Send>(lab: &NetLab, side: Side, work: impl FnOnce() -> io::Result<T> + Send) -> T {
    let done = match &lab.namespaces {
        Some(places) => places[side as usize].inside(work).unwrap(),
        None => work(),
    };
    done.unwrap()
}

/// Statistics of the link from the master to the slave.
fn forward(lab: &NetLab) -> LinkStats {
    *lab.worker.as_ref().unwrap().links.lock()[0].stats()
}

/// Inode of the namespace of a side, as `/proc/PID/ns/net` shows it.
fn inode(place: &NetNamespace) -> u64 {
    let path = format!("/proc/self/fd/{}", place.fd().as_raw_fd());
    fs::metadata(path).unwrap().ino()
}

/// Sockets of the two sides, the master's connected to its destination.
fn sockets(lab: &NetLab) -> (UdpSocket, UdpSocket) {
    let [[dial, _], [listen, _]] = lab.ends;
    let slave = inside(lab, Side::Slave, || UdpSocket::bind(listen));
    let connect = || {
        let own = if dial.ip().is_loopback() {
            "127.0.0.1:0"
        } else {
            "0.0.0.0:0"
        };
        let socket = UdpSocket::bind(own)?;
        socket.connect(dial).map(|()| socket)
    };
    let master = inside(lab, Side::Master, connect);
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

/// Checks that these packets \[ms\] had no delay beyond the link's, if the machine ran similar threads
/// in time.
fn check_undelayed(delays: &[&[f64]], monitor: LoadMonitor) {
    let machine = monitor.finish().whole();
    for delays in delays {
        let found = format!("a median delay of {:.1} ms", median(delays));
        machine.judge(&found, median(delays) < 30.0, Needs::Ticks(0.01));
    }
}

/// Numbers of the packets that arrive out of `count`. They are sent in small groups, so that no socket's buffer
/// overflows, however long its reader was not scheduled.
fn arrivals(lab: &NetLab, master: &UdpSocket, slave: &UdpSocket, count: u32) -> BTreeSet<u32> {
    let before = forward(lab);
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
            let now = forward(lab);
            let delivered = now.delivered - before.delivered;
            now.offered - before.offered == u64::from(end)
                && delivered + now.lost - before.lost == u64::from(end)
                && arrived.len() as u64 == delivered
        });
    }
    slave.set_nonblocking(false).unwrap();
    arrived
}

fn delays_both_ways(backend: Backend) {
    let Some(lab) = lab(backend, link(20.0, 0.0)) else {
        return;
    };
    let (master, slave) = sockets(&lab);
    let monitor = LoadMonitor::start(0);
    let (there, back) = delays_ms(&master, &slave, 40);
    for delays in [&there, &back] {
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least >= 20.0, "a packet was {least} ms on a link of 20 ms");
        println!("least {least:.3} ms, median {:.3} ms", median(delays));
    }
    check_undelayed(&[&there, &back], monitor);
}

#[test]
fn tun_delays_both_ways() {
    delays_both_ways(Backend::Tun);
}

#[test]
fn loopback_delays_both_ways() {
    delays_both_ways(Backend::Loopback);
}

fn losses_follow_the_seed(backend: Backend) {
    let count = 4000;
    let run = |seed: u64| -> Option<BTreeSet<u32>> {
        drop(lab(backend, LinkParams::default())?);
        let config = Config {
            seed,
            ..config(backend, link(2.0, 0.1))
        };
        let lab = NetLab::build(&config).unwrap();
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
fn tun_losses_follow_the_seed() {
    losses_follow_the_seed(Backend::Tun);
}

#[test]
fn loopback_losses_follow_the_seed() {
    losses_follow_the_seed(Backend::Loopback);
}

fn link_changes_while_running(backend: Backend) {
    let Some(lab) = lab(backend, link(1.0, 0.0)) else {
        return;
    };
    let (master, slave) = sockets(&lab);
    let monitor = LoadMonitor::start(0);
    let (before, _) = delays_ms(&master, &slave, 5);
    lab.set_link(LinkDirection::Forward, link(40.0, 0.0))
        .unwrap();
    soon("the new delay", || {
        delays_ms(&master, &slave, 1).0[0] >= 40.0
    });
    let (there, back) = delays_ms(&master, &slave, 9);
    assert!(there.iter().all(|delay| *delay >= 40.0), "{there:?}");
    // the other direction is unchanged
    check_undelayed(&[&before, &back], monitor);
    lab.set_link(LinkDirection::Forward, link(0.0, 1.0))
        .unwrap();
    soon("the new loss", || {
        arrivals(&lab, &master, &slave, 1).is_empty()
    });
    assert_eq!(arrivals(&lab, &master, &slave, 20).len(), 0);
    let wrong = lab
        .set_link(LinkDirection::Back, link(-1.0, 0.0))
        .unwrap_err();
    assert!(wrong.to_string().contains("link.oneway_ms = -1"), "{wrong}");
    lab.set_link(LinkDirection::Forward, link(0.0, 0.0))
        .unwrap();
    soon("the perfect link", || {
        !arrivals(&lab, &master, &slave, 1).is_empty()
    });
    assert_eq!(arrivals(&lab, &master, &slave, 20).len(), 20);
}

#[test]
fn tun_link_changes_while_running() {
    link_changes_while_running(Backend::Tun);
}

#[test]
fn loopback_link_changes_while_running() {
    link_changes_while_running(Backend::Loopback);
}

#[test]
fn outage_drops_packets_and_ends() {
    let outage = Some(Outage {
        on_s: 0.3,
        off_s: 0.3,
    });
    let params = LinkParams {
        outage,
        ..LinkParams::default()
    };
    let Some(lab) = lab(Backend::Loopback, params) else {
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
    // wait for packets after a gap of more than ten
    soon("the end of an outage", || {
        master.send(&sent.to_ne_bytes()).unwrap();
        sent += 1;
        take(&mut arrived);
        arrived.windows(2).any(|pair| pair[1] - pair[0] > 11)
    });
    soon("the passage of all packets", || {
        take(&mut arrived);
        let stats = forward(&lab);
        stats.dropped_in_outage > 10
            && stats.dropped_in_outage + arrived.len() as u64 == u64::from(sent)
    });
}

fn carries_streams(backend: Backend) {
    let Some(lab) = lab(backend, link(10.0, 0.0)) else {
        return;
    };
    let [[_, dial], [_, listen]] = lab.ends;
    let listener = inside(&lab, Side::Slave, || TcpListener::bind(listen));
    let slave = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    let mut master = inside(&lab, Side::Master, || TcpStream::connect(dial));
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
    carries_streams(Backend::Tun);
}

#[test]
fn loopback_carries_streams() {
    carries_streams(Backend::Loopback);
}

#[test]
fn auto_backend_is_explained() {
    let lab = NetLab::build(&config(Backend::Auto, LinkParams::default())).unwrap();
    let word = match (&lab.worker, &lab.namespaces) {
        (None, _) => "netem",
        (Some(_), Some(_)) => "TUN",
        (Some(_), None) => "loopback",
    };
    assert!(lab.explanation.contains(word), "{}", lab.explanation);
    println!("{}", lab.explanation);
}

#[test]
fn invalid_parameters_are_refused() {
    for backend in [Backend::Auto, Backend::Loopback] {
        let error = NetLab::build(&config(backend, link(f64::NAN, 0.0))).unwrap_err();
        assert!(error.to_string().contains("oneway_ms"), "{error}");
    }
}

#[test]
fn port_in_use_is_reported() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut config = config(Backend::Loopback, LinkParams::default());
    config.network.port = taken.local_addr().unwrap().port();
    let error = NetLab::build(&config).unwrap_err().to_string();
    assert!(error.contains("port"), "{error}");
}

/// Namespaces of all processes of this machine, and those that any of them holds open.
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
    // a zombie has no command line
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
fn children_run_in_namespaces_that_end_with_the_lab() {
    let Some(lab) = lab(Backend::Tun, LinkParams::default()) else {
        return;
    };
    let inodes = lab.namespaces.as_ref().unwrap().each_ref().map(inode);
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

/// Starts [`supervisor_that_waits_to_be_killed`] with `backend`; returns it with the numbers that it prints.
fn start_supervisor(backend: &str) -> (std::process::Child, Vec<u64>) {
    let mut supervisor = Command::new(std::env::current_exe().unwrap())
        .args([
            "netlab::tests::supervisor_that_waits_to_be_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("NETLAB_TEST_BACKEND", backend)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // the pipe stays open: the test harness of the supervisor may still write its own lines
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
    // during exec a process has no command line either
    soon("two processes", || is_alive(child) && is_alive(grandchild));
    assert!(inodes.iter().all(|inode| namespaces().contains(inode)));
    kill(Pid::from_raw(supervisor.id() as i32), Signal::SIGKILL).unwrap();
    assert_eq!(
        supervisor.wait().unwrap().signal(),
        Some(Signal::SIGKILL as i32)
    );
    soon("the end of the child", || !is_alive(child));
    // the death signal does not pass to grandchildren: the next start ends them, possibly that of
    // another test of this run
    let _next = NetLab::build(&config(Backend::Loopback, LinkParams::default())).unwrap();
    soon("the end of the grandchild", || !is_alive(grandchild));
    soon("the end of the namespaces", || {
        inodes.iter().all(|inode| !namespaces().contains(inode))
    });
}

#[test]
fn tun_leaves_nothing_when_killed() {
    if lab(Backend::Tun, LinkParams::default()).is_some() {
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
        Ok("tun") => Backend::Tun,
        _ => Backend::Loopback,
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
    let places = lab.namespaces.iter().flatten();
    let inodes: Vec<String> = places.map(|place| inode(place).to_string()).collect();
    println!("ready: {} {} {}", child.id(), line.trim(), inodes.join(" "));
    child.wait().unwrap();
}

#[test]
fn endpoints_name_the_addresses_of_both_sides() {
    let Some(lab) = lab(Backend::Loopback, LinkParams::default()) else {
        return;
    };
    let [dial, listen] = lab.ends;
    assert!(dial.iter().all(|end| !listen.contains(end)));
    let [udp, tcp] = lab.endpoints(Side::Master);
    assert_eq!(
        (udp, tcp),
        (format!("udp/{}", dial[0]), format!("tcp/{}", dial[1]))
    );
    let [udp, tcp] = lab.endpoints(Side::Slave);
    assert_eq!(
        (udp, tcp),
        (format!("udp/{}", listen[0]), format!("tcp/{}", listen[1]))
    );
}
