//! Source of the handle of a live operator's side, or of clocked sessions: a script, a page, or an input device of
//! this machine.
//!
//! Source: ours.

use std::path::Path;
use std::sync::{Arc, Mutex};

use palpate_bus::Bus;
use palpate_master::device::pointer::PointerTarget;
use palpate_master::device::{Handle, HandleKind, params};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::mailbox::{LatestReader, LatestWriter, latest};
use palpate_transport::trace::{Side, TickRecord};

use super::command_state::CommandState;
use super::{RunError, file_error};
use crate::config::Config;
use crate::input::input_thread::{DeviceFeedback, InputCallbacks, InputThread, OpenInput};
use crate::monitor::MonitorController as _;
use crate::monitor::controller::{SessionController, lock};
use crate::monitor::side_monitor::{PointerStatistics, REMOTE_REPLY_WAIT};

/// An open input device, and the cell for its targets.
pub(super) type InputWithAims = (OpenInput, LatestWriter<PointerTarget>);

/// A handle, and the input device that drives it once the session has started, if any.
type HandleWithInput = (Box<dyn Handle>, Option<InputWithAims>);

/// Handle of a session, driven by an input device, by `aims` of a page, or by its script.
///
/// # Errors
/// [`RunError::Input`] if there is no such device.
pub(super) fn handle(
    config: &Config,
    aims: LatestReader<PointerTarget>,
) -> Result<HandleWithInput, RunError> {
    let operator = &config.operator;
    if operator.handle != HandleKind::Pointer {
        let handle = palpate_master::device::build(operator, config.duration_s, config.seed);
        return Ok((handle, None));
    }
    let (aims, device) = match open_device(config)? {
        Some(open_input) => {
            let (aim_writer, aims) = latest(PointerTarget::default());
            (aims, Some((open_input, aim_writer)))
        }
        None => (aims, None),
    };
    Ok((Box::new(params::build_pointer(operator, aims)), device))
}

/// Starts the input device; its stop button stops both sides.
///
/// # Errors
/// [`RunError`] if the bus or the system refuses.
pub(super) fn start_input(
    device: Option<InputWithAims>,
    statistics: Arc<PointerStatistics>,
    bus: &Bus,
    command_state: &Arc<CommandState>,
) -> Result<Option<InputThread>, RunError> {
    let Some((open_input, mut aims)) = device else {
        return Ok(None);
    };
    let remote = bus.session().command_client(Side::Slave.name())?;
    let (remote, command_state) = (Arc::new(Mutex::new(remote)), Arc::clone(command_state));
    let callbacks = InputCallbacks {
        on_aim: Box::new(move |aim| aims.write(aim)),
        pointer_statistics: Some(statistics),
        on_stop: Box::new(move || {
            command_state.halt();
            let remote = Arc::clone(&remote);
            // this side has halted, whatever the other replies; the reply may take as long as the network does
            let disable = move || {
                _ = lock(&remote).command("disable", MonotonicClock.now(), REMOTE_REPLY_WAIT)
            };
            let thread = std::thread::Builder::new().name("input-stop".into());
            let _ = thread.spawn(disable);
        }),
    };
    let started = open_input.start(callbacks);
    started.map(Some).map_err(file_error(Path::new(THREAD)))
}

/// Name of the thread of a device in errors.
const THREAD: &str = "the thread of the input device";

/// Feedback of a tick to a device; `contact_m` is the height of first contact with the tissue of a session
/// \[m\], if it may have changed since the device was opened.
#[must_use]
pub fn device_feedback(record: &TickRecord, contact_m: Option<f64>) -> DeviceFeedback {
    DeviceFeedback {
        // the channel receives the force of the hand; the hand receives its opposite
        force_n: record.port_force_n.map(|force| -force),
        tool_m: record.position_m,
        contact_m,
    }
}

/// Opens the device of a configuration; none if it names none.
///
/// # Errors
/// [`RunError::Input`] if there is no such device.
pub fn open_device(config: &Config) -> Result<Option<OpenInput>, RunError> {
    let wanted = config.operator.device.as_deref();
    let opened = wanted.map(|wanted| OpenInput::open(wanted, config));
    Ok(opened.transpose()?)
}

/// Starts an input device that drives the handle of clocked sessions, one after another, through `controller`. Its
/// stop button stops the controller's session.
///
/// # Errors
/// [`RunError::File`] if the system cannot start a thread.
pub fn start_input_for(
    open_input: OpenInput,
    controller: &Arc<SessionController>,
) -> Result<InputThread, RunError> {
    let (aims, stops) = (Arc::clone(controller), Arc::clone(controller));
    let callbacks = InputCallbacks {
        on_aim: Box::new(move |aim| aims.send_device_aim(aim)),
        pointer_statistics: None,
        on_stop: Box::new(move || stops.stop()),
    };
    open_input
        .start(callbacks)
        .map_err(file_error(Path::new(THREAD)))
}
