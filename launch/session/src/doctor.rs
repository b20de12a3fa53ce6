//! `palpate doctor`: privileges and devices of this machine, with a remedy for each that is missing.
//!
//! Source: ours (transport.md 3, 4 and 8). Privileges are tried in short-lived processes, so that
//! the check changes nothing; the timer is measured on this machine.

use std::fmt::{self, Display, Formatter};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use palpate_transport::Span;
use palpate_transport::clock::{Clock, MonotonicClock, PERIOD, Ticker};
use serde::{Deserialize, Serialize};

use crate::input::{self, InputDevice};
use crate::netlab::privilege::{self, Capability};
use crate::netlab::{self, has_netem, open_node};
use crate::pool;
use crate::stat::spans::DurationStats;

/// Version of the report's layout.
pub const SCHEMA: u32 = 1;
/// Priority requested in the SCHED_FIFO check, that of the servo thread.
const FIFO_PRIORITY: i32 = 80;

/// A capability of the machine that a session can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineCapability {
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

/// Result of the check of one capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Capability that was checked.
    pub subject: MachineCapability,
    /// True if it is available.
    pub allowed: bool,
    /// Observed state.
    pub detail: String,
    /// Effect of its absence and the command that enables it; none if available.
    pub mend: Option<Remedy>,
}

/// Fallback and remedy of a missing capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// Behaviour of a session without it.
    pub without: String,
    /// Command that enables it, or the place to enable it.
    pub command: String,
}

/// Wake-up lateness of a thread of this process behind an absolute deadline every millisecond.
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
    /// True if the measuring thread ran under SCHED_FIFO.
    pub real_time: bool,
}

/// Result of `palpate doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// One per capability.
    pub findings: Vec<Finding>,
    /// Input devices that may drive a handle.
    #[serde(default)]
    pub inputs: Vec<InputDevice>,
    /// The timer; none if it was not measured.
    pub timer: Option<TimerJitter>,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Mean number of runnable tasks in the last minute; none if the kernel does not report it.
    pub load_1min: Option<f64>,
}

impl DoctorReport {
    /// Checks the machine; measures the timer for `timer_span`, at most 10 s, or not at all if zero.
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
            cpus: pool::cores(),
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
        let load = self.load_1min;
        let load = load.map_or("unknown".into(), |mean| format!("{mean:.2}"));
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
            "late wake {:.1} us (p50), {:.1} us (p99), {:.0} us (max of {}), {class}",
            self.late_us_p50, self.late_us_p99, self.late_us_max, self.wakes
        )
    }
}

impl MachineCapability {
    /// Name in the table.
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

    /// Builds the finding: `Ok` with the state if available, `Err` with the state if not; a missing one
    /// gets a remedy.
    fn finding(self, state: Result<String, String>, without: &str, command: &str) -> Finding {
        let allowed = state.is_ok();
        let mend = || Remedy {
            without: without.into(),
            command: command.into(),
        };
        Finding {
            subject: self,
            allowed,
            detail: state.unwrap_or_else(|missing| missing),
            mend: (!allowed).then(mend),
        }
    }
}

fn real_time_scheduling() -> Finding {
    let request = format!("SCHED_FIFO {FIFO_PRIORITY}");
    let tried = privilege::try_fifo(FIFO_PRIORITY).map(|()| format!("{request} granted"));
    let state = tried.map_err(|error| format!("{request}: {error}"));
    MachineCapability::RealTimeScheduling.finding(
        state,
        "the servo runs as an ordinary thread, later under load",
        "echo \"$USER - rtprio 90\" | sudo tee -a /etc/security/limits.d/palpate.conf, \
         log in anew",
    )
}

fn memory_lock() -> Finding {
    let limit = getrlimit(Resource::RLIMIT_MEMLOCK).map_or_else(
        |errno| errno.to_string(),
        |(soft, _)| match soft {
            RLIM_INFINITY => "unlimited".into(),
            bytes => format!("{} KiB", bytes / 1024),
        },
    );
    let right = match privilege::has_capability(Capability::IpcLock) {
        true => "CAP_IPC_LOCK",
        false => "no CAP_IPC_LOCK",
    };
    let granted = |()| format!("mlockall granted (limit {limit}, {right})");
    let tried = privilege::try_memory_lock().map(granted);
    let state = tried.map_err(|error| format!("mlockall: {error} (limit {limit}, {right})"));
    MachineCapability::MemoryLock.finding(
        state,
        "a page fault may delay a tick",
        "echo \"$USER - memlock unlimited\" | sudo tee -a /etc/security/limits.d/palpate.conf, \
         log in anew",
    )
}

fn network_namespaces() -> Finding {
    let admin = privilege::has_capability(Capability::NetAdmin);
    let (state, command) = match privilege::try_network_namespace() {
        Ok(()) if admin => (Ok("CAP_SYS_ADMIN and CAP_NET_ADMIN".into()), ""),
        Ok(()) => (
            Err("CAP_SYS_ADMIN without CAP_NET_ADMIN".into()),
            "run as root, or add CAP_NET_ADMIN to the container (--cap-add NET_ADMIN)",
        ),
        Err(error) => (
            Err(format!("unshare(CLONE_NEWNET): {error}")),
            "sudo -E palpate run, or nothing if user namespaces are allowed",
        ),
    };
    let without = "the link lab tries a user namespace, then loopback";
    MachineCapability::NetworkNamespaces.finding(state, without, command)
}

fn user_namespaces() -> Finding {
    let granted = "a network namespace inside a user namespace was granted";
    let state = privilege::try_user_namespace().map(|()| granted.into());
    MachineCapability::UserNamespaces.finding(
        state.map_err(|error| error.to_string()),
        "without privilege the link is impaired on loopback",
        "sudo sysctl user.max_user_namespaces=10000 \
         kernel.apparmor_restrict_unprivileged_userns=0",
    )
}

fn tun_device() -> Finding {
    let (state, command) = match open_node() {
        Ok(_) => (Ok(format!("{} opens", netlab::TUN_NODE)), ""),
        Err(error) => {
            let command = match error.kind() {
                std::io::ErrorKind::NotFound => "sudo modprobe tun",
                _ => "sudo chmod 0666 /dev/net/tun",
            };
            (Err(format!("{}: {error}", netlab::TUN_NODE)), command)
        }
    };
    let without = "no emulator between namespaces; netem or loopback";
    MachineCapability::TunDevice.finding(state, without, command)
}

fn netem() -> Finding {
    let (state, without, command) = match has_netem() {
        Ok(true) => (Ok("the kernel attaches it".into()), "", ""),
        Ok(false) => (
            Err("unknown to this kernel (ENOENT)".into()),
            "our emulator between TUN interfaces, with the model of virtual time",
            "sudo modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM",
        ),
        Err(error) => (
            Err(format!("cannot be queried: {error}")),
            "our emulator, or loopback",
            "run as root to find out",
        ),
    };
    MachineCapability::Netem.finding(state, without, command)
}

/// Sleeps to `wakes` absolute deadlines in a separate thread, under SCHED_FIFO if permitted.
fn measure_timer(wakes: usize) -> Option<TimerJitter> {
    if wakes == 0 {
        return None;
    }
    let measure = move || {
        let real_time = privilege::make_punctual(FIFO_PRIORITY);
        let first = MonotonicClock.now() + PERIOD;
        let mut ticker = Ticker::new(first, PERIOD, Span(0));
        let late: Vec<Span> = (0..wakes).map(|_| ticker.wait().late).collect();
        let late = DurationStats::of(&late)?;
        Some(TimerJitter {
            wakes,
            late_us_p50: late.us_p50,
            late_us_p99: late.us_p99,
            late_us_max: late.us_max,
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
    fn only_missing_capabilities_have_a_remedy() {
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
    fn report_round_trips_and_table_is_complete() {
        let report = DoctorReport {
            schema: SCHEMA,
            findings: vec![
                MachineCapability::TunDevice.finding(Ok("opens".into()), "", ""),
                MachineCapability::Netem.finding(Err("unknown".into()), "our emulator", "modprobe"),
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
