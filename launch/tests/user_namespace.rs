//! The link lab of a user without privilege, in a process with one thread.
//!
//! Source: ours (transport.md 3). Without the test harness, because that has threads, and a process
//! with threads cannot enter a user namespace. Root becomes another user first; where that user may
//! not run this file, or user namespaces are refused, that is printed and the lab is built all the
//! same, on loopback.

#![allow(clippy::unwrap_used, reason = "all of this file is a test")]

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::geteuid;
use palpate_session::netlab::privilege::{
    Capability, UserNamespace, enter_user_namespace, has_capability, try_user_namespace,
};
use palpate_session::netlab::{Backend, NetLab, NetLabOptions, Side, tun_access};

/// The user and group "nobody" of most distributions.
const NOBODY: u32 = 65_534;

fn main() {
    if !geteuid().is_root() {
        return build_without_privilege();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    match command.uid(NOBODY).gid(NOBODY).current_dir("/").status() {
        Ok(status) => assert!(status.success()),
        Err(error) => println!("skipped: another user may not run this test: {error}"),
    }
}

fn build_without_privilege() {
    let (user, possible) = (geteuid(), try_user_namespace());
    let outcome = enter_user_namespace();
    println!("user namespace: {outcome:?}");
    assert_eq!(geteuid(), user, "the user stays who it was");
    match possible {
        Ok(()) => assert_eq!(outcome, UserNamespace::Entered),
        Err(error) => assert_eq!(outcome, UserNamespace::Refused(error.to_string())),
    }
    let entered = outcome == UserNamespace::Entered;
    assert_eq!(has_capability(Capability::NetAdmin), entered);
    assert_eq!(has_capability(Capability::SysAdmin), entered);

    let lab = NetLab::build(&NetLabOptions::default()).unwrap();
    println!("{}", lab.explanation());
    if entered && tun_access().is_ok() {
        assert_ne!(lab.backend(), Backend::Loopback);
    }
    let mut command = Command::new("cat");
    lab.command_in(Side::Slave, command.arg("/proc/self/status"))
        .unwrap();
    let output = command.output().unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .unwrap();
    assert_eq!(
        u64::from_str_radix(effective.trim(), 16),
        Ok(0),
        "a child needs no privilege"
    );
}
