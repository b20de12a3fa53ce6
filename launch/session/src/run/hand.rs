//! Who leads the handle of a live operator's side, or of sessions by the clock: a script, a page, or a device of this
//! machine.
//!
//! Source: ours.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use palpate_bus::Bus;
use palpate_bus::command::CommandClient;
use palpate_master::device::{Handle, HandleKind, params};
use palpate_transport::Span;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::{Side, TickRecord};

use super::duty::Duty;
use super::face::Shown;
use super::{RunError, file_error};
use crate::config::Config;
use crate::input::pilot::{self, Felt, Pilot, Tells, Waiting};
use crate::lab;
use crate::monitor::Desk as _;
use crate::monitor::desk::SessionDesk;
use crate::monitor::window::{Aims, Heard};

/// How long the remote side may take to answer on the bus.
const REMOTE: Span = Span(900_000_000);

/// A handle, and the device that leads it once the session has begun, if one does.
pub(super) type Led = (Box<dyn Handle>, Option<Waiting>);

/// The handle of a session, led by a device, by `aims` of a page, or by its script.
///
/// # Errors
/// [`RunError::Input`] if there is no such device.
pub(super) fn handle(config: &Config, aims: Option<Aims>) -> Result<Led, RunError> {
    let operator = &config.operator;
    let is_pointer = operator.handle == HandleKind::Pointer;
    if let Some(device) = operator.device.as_deref().filter(|_| is_pointer) {
        let places = (lab::contact_m(config), operator.script.start_m());
        let (aims, waiting) = pilot::prepare(device, places)?;
        return Ok((Box::new(params::pointer(operator, aims)), Some(waiting)));
    }
    let handle: Box<dyn Handle> = match aims {
        Some(aims) if is_pointer => Box::new(params::pointer(operator, aims)),
        _ => palpate_master::device::build(operator, config.duration_s, config.seed),
    };
    Ok((handle, None))
}

/// Let a device lead from now on; its stop goes to both sides.
///
/// # Errors
/// [`RunError`] if the bus or the system refuses.
pub(super) fn fly(
    waiting: Option<Waiting>,
    heard: Option<Arc<Heard>>,
    (bus, duty): (&Bus, &Arc<Duty>),
) -> Result<Option<Pilot>, RunError> {
    let Some(waiting) = waiting else {
        return Ok(None);
    };
    let remote = bus.session().command_client(Side::Slave.name())?;
    let (remote, duty) = (Arc::new(Mutex::new(remote)), Arc::clone(duty));
    let stop = Box::new(move || {
        duty.halt();
        halt(Arc::clone(&remote));
    });
    let started = waiting.fly(Tells { heard, stop });
    started
        .map(Some)
        .map_err(file_error(Path::new("the thread of the input device")))
}

/// Stop the remote side, on a thread of its own: it may take as long as the network does.
fn halt(remote: Arc<Mutex<CommandClient>>) {
    let tell = move || {
        let mut remote = remote.lock().unwrap_or_else(PoisonError::into_inner);
        // the operator's side has halted, whatever the answer is
        let _ = remote.command("disable", MonotonicClock.now(), REMOTE);
    };
    let _ = std::thread::Builder::new()
        .name("input-stop".into())
        .spawn(tell);
}

/// What a device is given to feel of what the servo showed.
pub(super) fn felt(shown: &Shown) -> Felt {
    Felt {
        contact_m: None,
        ..felt_of(&shown.record, 0.0)
    }
}

/// What a device is given to feel of a tick of a session whose tissue is touched at a height \[m\].
#[must_use]
pub fn felt_of(record: &TickRecord, contact_m: f64) -> Felt {
    Felt {
        // the port pushes into the channel what the hand pushes
        force_n: record.port_force_n.map(|force| -force),
        tool_m: record.position_m,
        contact_m: Some(contact_m),
    }
}

/// The device that leads the handle of sessions by the clock, one after another, before `side`'s desk; none if a page
/// does. Its stop is the desk's.
///
/// # Errors
/// [`RunError`] if there is no such device, or the system has no more threads.
pub fn pilot(config: &Config, side: &Arc<SessionDesk>) -> Result<Option<Pilot>, RunError> {
    let Some(device) = &config.operator.device else {
        return Ok(None);
    };
    let places = (lab::contact_m(config), config.operator.script.start_m());
    let told = Arc::clone(side);
    let say = Box::new(move |aim| told.lead(aim));
    fly_to(pilot::prepare_saying(device, places, say)?, side).map(Some)
}

/// Read a device whose aims go to `side`'s desk.
pub fn fly_to(waiting: Waiting, side: &Arc<SessionDesk>) -> Result<Pilot, RunError> {
    let stopped = Arc::clone(side);
    let tells = Tells {
        heard: None,
        stop: Box::new(move || stopped.stop()),
    };
    let place = Path::new("the thread of the input device");
    waiting.fly(tells).map_err(file_error(place))
}
