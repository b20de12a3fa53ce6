//! `palpate doctor`: what this machine allows, and the command that mends each thing it does not.
//!
//! Source: ours (transport.md 3, 4 and 8). Privileges are tried in throwaway processes, so that
//! asking changes nothing; the timer is measured, because a figure from elsewhere says nothing.

use std::fmt::{self, Display, Formatter, Write};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use palpate_transport::Span;
use palpate_transport::clock::{Clock, MonotonicClock, PERIOD, Ticker};
use serde::{Deserialize, Serialize};

use crate::input::{self, Found};
use crate::netlab::privilege::{self, Capability};
use crate::netlab::{self, netem_presence, tun_access};
use crate::stat::percentile;

/// Version of the report's layout.
pub const SCHEMA: u32 = 1;
/// Priority that is asked for when SCHED_FIFO is tried, that of the servo thread.
const FIFO_PRIORITY: i32 = 80;

/// Something that a session may want of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// SCHED_FIFO for the servo thread.
    RealTimeScheduling,
    /// mlockall, so that no page fault stops the servo.
    MemoryLock,
    /// CAP_NET_ADMIN and CAP_SYS_ADMIN: namespaces with interfaces in them.
    NetworkNamespaces,
    /// The same for an ordinary user.
    UserNamespaces,
    /// The node /dev/net/tun.
    TunDevice,
    /// The kernel's netem.
    Netem,
}

/// What was found of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Of what.
    pub subject: Subject,
    /// Whether it can be had.
    pub allowed: bool,
    /// What was seen.
    pub detail: String,
    /// What a session does without it, and the command that mends it; none if it is there.
    pub mend: Option<Mend>,
}

/// How to get what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mend {
    /// What a session does meanwhile.
    pub without: String,
    /// The command, or the place where to ask.
    pub command: String,
}

/// How late a thread of this process wakes up, behind an absolute deadline every millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimerJitter {
    /// Wake-ups measured.
    pub wakes: usize,
    /// Median lateness \[us\].
    pub late_us_p50: f64,
    /// 99th percentile \[us\].
    pub late_us_p99: f64,
    /// The worst \[us\].
    pub late_us_max: f64,
    /// Whether the measuring thread ran under SCHED_FIFO.
    pub real_time: bool,
}

/// All that `palpate doctor` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// One a subject.
    pub findings: Vec<Finding>,
    /// Input devices, which may lead a handle.
    #[serde(default)]
    pub inputs: Vec<Found>,
    /// The timer; none if it was not measured.
    pub timer: Option<TimerJitter>,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Mean number of runnable tasks in the last minute; none if the kernel does not say.
    pub load_1min: Option<f64>,
}

impl DoctorReport {
    /// Looks at the machine; measures the timer for `timer_span`, at most 10 s, or not if zero.
    #[must_use]
    pub fn examine(timer_span: Span) -> Self {
        let findings = vec![
            real_time_scheduling(),
            memory_lock(),
            network_namespaces(),
            user_namespaces(),
            tun_device(),
            netem(),
        ];
        let wakes = (timer_span.0.clamp(0, 10_000_000_000) / PERIOD.0) as usize;
        Self {
            schema: SCHEMA,
            findings,
            inputs: input::list(),
            timer: measure_timer(wakes),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            load_1min: load_1min(),
        }
    }
}

impl Display for DoctorReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<22} {:<4} found", "what", "have")?;
        for finding in &self.findings {
            let have = if finding.allowed { "yes" } else { "no" };
            writeln!(
                f,
                "{:<22} {have:<4} {}",
                finding.subject.name(),
                finding.detail
            )?;
            if let Some(mend) = &finding.mend {
                writeln!(f, "{:<27} without: {}", "", mend.without)?;
                writeln!(f, "{:<27} mend:    {}", "", mend.command)?;
            }
        }
        let names = ["input devices"].into_iter().chain(core::iter::repeat(""));
        for (name, found) in names.zip(&self.inputs) {
            writeln!(f, "{name:<27} {}", found.words())?;
        }
        if self.inputs.is_empty() {
            writeln!(f, "{:<27} none in /dev/input", "input devices")?;
        }
        if let Some(timer) = &self.timer {
            writeln!(f, "{:<27} {timer}", "timer, 1 kHz")?;
        }
        let mut load = String::from("unknown");
        if let Some(mean) = self.load_1min {
            load.clear();
            write!(load, "{mean:.2}")?;
        }
        write!(f, "{:<27} {}, load {load}", "processors", self.cpus)
    }
}

impl Display for TimerJitter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let class = if self.real_time {
            "SCHED_FIFO"
        } else {
            "ordinary thread"
        };
        write!(
            f,
            "late by {:.1} us (p50), {:.1} us (p99), {:.0} us (max of {}), {class}",
            self.late_us_p50, self.late_us_p99, self.late_us_max, self.wakes
        )
    }
}

impl Subject {
    /// As the table has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTimeScheduling => "real-time scheduling",
            Self::MemoryLock => "memory lock",
            Self::NetworkNamespaces => "network namespaces",
            Self::UserNamespaces => "user namespaces",
            Self::TunDevice => "TUN device",
            Self::Netem => "kernel netem",
        }
    }

    fn found(self, detail: impl Into<String>) -> Finding {
        Finding {
            subject: self,
            allowed: true,
            detail: detail.into(),
            mend: None,
        }
    }

    fn missing(self, detail: impl Display, without: &str, command: &str) -> Finding {
        let mend = Mend {
            without: without.into(),
            command: command.into(),
        };
        Finding {
            subject: self,
            allowed: false,
            detail: detail.to_string(),
            mend: Some(mend),
        }
    }
}

fn real_time_scheduling() -> Finding {
    let subject = Subject::RealTimeScheduling;
    match privilege::try_fifo(FIFO_PRIORITY) {
        Ok(()) => subject.found(format!("SCHED_FIFO {FIFO_PRIORITY} granted")),
        Err(error) => subject.missing(
            format!("SCHED_FIFO {FIFO_PRIORITY}: {error}"),
            "the servo runs as an ordinary thread, later under load",
            "echo \"$USER - rtprio 90\" | sudo tee -a /etc/security/limits.d/palpate.conf, \
             log in anew",
        ),
    }
}

fn memory_lock() -> Finding {
    let subject = Subject::MemoryLock;
    let limit = getrlimit(Resource::RLIMIT_MEMLOCK).map_or_else(
        |errno| errno.to_string(),
        |(soft, _)| match soft {
            RLIM_INFINITY => "unlimited".into(),
            bytes => format!("{} KiB", bytes / 1024),
        },
    );
    let unbounded = privilege::has_capability(Capability::IpcLock);
    let right = if unbounded {
        "CAP_IPC_LOCK"
    } else {
        "no CAP_IPC_LOCK"
    };
    match privilege::try_memory_lock() {
        Ok(()) => subject.found(format!("mlockall granted (limit {limit}, {right})")),
        Err(error) => subject.missing(
            format!("mlockall: {error} (limit {limit}, {right})"),
            "a page fault may delay a tick",
            "echo \"$USER - memlock unlimited\" | sudo tee -a /etc/security/limits.d/palpate.conf, \
             log in anew",
        ),
    }
}

fn network_namespaces() -> Finding {
    let subject = Subject::NetworkNamespaces;
    let admin = privilege::has_capability(Capability::NetAdmin);
    match privilege::try_network_namespace() {
        Ok(()) if admin => subject.found("CAP_SYS_ADMIN and CAP_NET_ADMIN"),
        Ok(()) => subject.missing(
            "CAP_SYS_ADMIN without CAP_NET_ADMIN",
            "the link lab tries a user namespace, then loopback",
            "run as root, or add CAP_NET_ADMIN to the container (--cap-add NET_ADMIN)",
        ),
        Err(error) => subject.missing(
            format!("unshare(CLONE_NEWNET): {error}"),
            "the link lab tries a user namespace, then loopback",
            "sudo -E palpate run, or nothing if user namespaces are allowed",
        ),
    }
}

fn user_namespaces() -> Finding {
    let subject = Subject::UserNamespaces;
    match privilege::try_user_namespace() {
        Ok(()) => subject.found("a network namespace inside a user namespace was made"),
        Err(error) => subject.missing(
            error,
            "without privilege the link is impaired on loopback",
            "sudo sysctl user.max_user_namespaces=10000 \
             kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    }
}

fn tun_device() -> Finding {
    let subject = Subject::TunDevice;
    match tun_access() {
        Ok(()) => subject.found(format!("{} opens", netlab::TUN_NODE)),
        Err(error) => {
            let command = if error.kind() == std::io::ErrorKind::NotFound {
                "sudo modprobe tun"
            } else {
                "sudo chmod 0666 /dev/net/tun"
            };
            let detail = format!("{}: {error}", netlab::TUN_NODE);
            subject.missing(
                detail,
                "no emulator between namespaces; netem or loopback",
                command,
            )
        }
    }
}

fn netem() -> Finding {
    let subject = Subject::Netem;
    match netem_presence() {
        Ok(true) => subject.found("the kernel attaches it"),
        Ok(false) => subject.missing(
            "unknown to this kernel (ENOENT)",
            "our emulator between TUN interfaces, with the model of virtual time",
            "sudo modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM",
        ),
        Err(error) => subject.missing(
            format!("not to be asked: {error}"),
            "our emulator, or loopback",
            "run as root to find out",
        ),
    }
}

/// Sleeps to `wakes` absolute deadlines in a thread of its own, as real-time as is allowed.
fn measure_timer(wakes: usize) -> Option<TimerJitter> {
    if wakes == 0 {
        return None;
    }
    let measure = move || {
        let real_time = privilege::make_punctual(FIFO_PRIORITY);
        let first = MonotonicClock.now() + PERIOD;
        let mut ticker = Ticker::new(first, PERIOD, Span(0));
        let mut late_us: Vec<f64> = (0..wakes)
            .map(|_| ticker.wait().late.0 as f64 * 1e-3)
            .collect();
        let mut rank = |share: f64| percentile(&mut late_us, share);
        Some(TimerJitter {
            wakes,
            late_us_p50: rank(0.5)?,
            late_us_p99: rank(0.99)?,
            late_us_max: rank(1.0)?,
            real_time,
        })
    };
    std::thread::Builder::new()
        .spawn(measure)
        .ok()?
        .join()
        .ok()?
}

fn load_1min() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_thing_has_a_mend_and_no_other() {
        let report = DoctorReport::examine(Span::from_ms(20.0));
        assert_eq!(report.findings.len(), 6);
        for finding in &report.findings {
            assert_eq!(finding.allowed, finding.mend.is_none(), "{finding:?}");
        }
        let timer = report.timer.unwrap();
        assert_eq!(timer.wakes, 20);
        assert!(timer.late_us_p50 <= timer.late_us_p99 && timer.late_us_p99 <= timer.late_us_max);
    }

    #[test]
    fn the_report_reads_back_and_the_table_names_everything() {
        let report = DoctorReport {
            schema: SCHEMA,
            findings: vec![
                Subject::TunDevice.found("opens"),
                Subject::Netem.missing("unknown", "our emulator", "modprobe"),
            ],
            inputs: Vec::new(),
            timer: None,
            cpus: 2,
            load_1min: Some(1.25),
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<DoctorReport>(&text).unwrap(), report);
        let table = report.to_string();
        for part in [
            "TUN device",
            "yes",
            "kernel netem",
            "no",
            "modprobe",
            "load 1.25",
            "none in /dev/input",
        ] {
            assert!(table.contains(part), "{part} in\n{table}");
        }
    }
}
