//! Thread that reads an input device, publishes its target, and returns the force as vibration.
//!
//! It publishes a target every `STEP`, moved or not. An unplugged device therefore becomes a silent pointer at
//! once, and the handle is released. Force feedback is updated 20 times a second, see `force_effect`: a rumble has
//! no direction, a constant force has one. Source: ours.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use evdev::{
    Device, EventSummary, FFEffect, FFEffectCode, FFEffectData, FFEffectKind, FFReplay, FFTrigger,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use palpate_master::device::pointer::PointerTarget;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::mailbox::{LatestReader, LatestWriter, latest};
use palpate_transport::{Axes, Span, Time};
use serde::{Deserialize, Serialize};

use super::event_map::{AimMapper, DeviceEvent};
use super::{InputError, discovery};
use crate::config::Config;
use crate::lab;
use crate::monitor::side_monitor::PointerStatistics;

/// Time between two targets \[ns\].
const STEP: Span = Span(8_000_000);

/// Time between two updates of the force feedback \[ns\].
const SHAKE: Span = Span(50_000_000);

/// Force of full vibration \[N\].
const FULL_N: f64 = 4.0;

/// Feedback of the session to a device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceFeedback {
    /// Force on the hand \[N\].
    pub force_n: Axes,
    /// Position of the tool \[m\].
    pub tool_m: Axes,
    /// Height of the tool at first contact \[m\], if it has changed since the device was opened.
    pub contact_m: Option<f64>,
}

/// Source of device events.
pub trait InputSource: Send {
    /// Reads the events since the last call; waits at most `at_most` for one.
    ///
    /// # Errors
    /// The device is gone.
    fn read_events(&mut self, at_most: Span) -> io::Result<Vec<DeviceEvent>>;

    /// Applies this force to the hand \[N\].
    fn set_force(&mut self, force_n: &Axes);
}

/// Report of a session on its device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputReport {
    /// Name reported by the device.
    pub name: String,
    /// Number of reads with events.
    pub words: u64,
    /// Reads with events per second, while they came at least ten times a second.
    pub rate_hz: Option<f64>,
    /// True if it was unplugged meanwhile.
    pub lost: bool,
}

impl InputReport {
    /// Description in one sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let rate = self.rate_hz.map_or(String::new(), |hz| {
            format!(", {hz:.0} a second while it moved")
        });
        let lost = if self.lost {
            "; it was unplugged, and the handle released"
        } else {
            ""
        };
        format!(
            "The handle was driven by {}: {} events{rate}{lost}.",
            self.name, self.words
        )
    }
}

/// A device that is being read by its thread.
pub struct InputThread {
    thread: JoinHandle<InputReport>,
    end: Arc<AtomicBool>,
    feedback: LatestWriter<DeviceFeedback>,
}

impl InputThread {
    /// Sets the feedback to the device.
    pub fn set_feedback(&mut self, feedback: DeviceFeedback) {
        self.feedback.write(feedback);
    }

    /// Stops reading and returns the report.
    #[must_use]
    pub fn stop(self) -> InputReport {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Callbacks of a device's thread.
pub(crate) struct InputCallbacks {
    /// Called with each target.
    pub(crate) on_aim: Box<dyn FnMut(PointerTarget) + Send>,
    /// Statistics of rate and age, for display.
    pub(crate) pointer_statistics: Option<Arc<PointerStatistics>>,
    /// Called to stop all motion.
    pub(crate) on_stop: Box<dyn FnMut() + Send>,
}

/// An open device that is not read yet.
pub struct OpenInput {
    source: Box<dyn InputSource>,
    mapper: AimMapper,
    name: String,
}

impl OpenInput {
    /// Returns a source with its mapping and its name.
    #[must_use]
    pub fn new(source: Box<dyn InputSource>, mapper: AimMapper, name: String) -> Self {
        Self {
            source,
            mapper,
            name,
        }
    }

    /// Opens the device of this name ([`discovery::open`]) for the handle and the tissue of a session.
    ///
    /// # Errors
    /// [`InputError`] if it cannot be read.
    pub(crate) fn open(wanted: &str, config: &Config) -> Result<Self, InputError> {
        let (device, layout, path) = discovery::open(wanted)?;
        let refused = |source| InputError::File { path, source };
        device.set_nonblocking(true).map_err(refused)?;
        let name = discovery::name(&device);
        let start_m = config.operator.script.start_m();
        let mapper = AimMapper::new(layout, lab::contact_m(config), start_m);
        Ok(Self::new(Box::new(Evdev::new(device)), mapper, name))
    }

    /// Starts the thread that reads it.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn start(self, callbacks: InputCallbacks) -> io::Result<InputThread> {
        if let Some(statistics) = &callbacks.pointer_statistics {
            statistics.by_device.store(true, Ordering::Relaxed);
        }
        let (feedback_writer, feedback) = latest(DeviceFeedback::default());
        let end = Arc::new(AtomicBool::new(false));
        let input_loop = InputLoop {
            report: InputReport {
                name: self.name.clone(),
                ..InputReport::default()
            },
            device: self,
            feedback,
            callbacks,
            last_event_at: None,
            burst_events: (0, Span(0)),
        };
        let ended = Arc::clone(&end);
        let thread = std::thread::Builder::new()
            .name("input".into())
            .spawn(move || input_loop.run(&ended))?;
        Ok(InputThread {
            thread,
            end,
            feedback: feedback_writer,
        })
    }
}

/// State of the device's thread.
struct InputLoop {
    device: OpenInput,
    feedback: LatestReader<DeviceFeedback>,
    callbacks: InputCallbacks,
    report: InputReport,
    /// Time of the last events.
    last_event_at: Option<Time>,
    /// Number of events within 0.1 s of the last, and the sum of the times between.
    burst_events: (u64, Span),
}

impl InputLoop {
    fn run(mut self, end: &AtomicBool) -> InputReport {
        let clock = MonotonicClock;
        let (mut before, mut force_sent) = (clock.now(), Time(0));
        while !end.load(Ordering::Relaxed) {
            let Ok(events) = self.device.source.read_events(STEP) else {
                self.disconnect();
                break;
            };
            let now = clock.now();
            self.apply_events(&events, now);
            let feedback = *self.feedback.read();
            let tool_m = (feedback != DeviceFeedback::default()).then_some(feedback.tool_m);
            if let Some(contact_m) = feedback.contact_m {
                self.device.mapper.set_contact_height(contact_m);
            }
            let aim = self.device.mapper.advance(now, (now - before).s(), tool_m);
            (self.callbacks.on_aim)(aim);
            before = now;
            if now - force_sent > SHAKE {
                force_sent = now;
                self.device.source.set_force(&feedback.force_n);
            }
        }
        let (words, span) = self.burst_events;
        self.report.rate_hz = (span.0 > 0).then(|| words as f64 / span.s());
        self.report
    }

    fn apply_events(&mut self, events: &[DeviceEvent], now: Time) {
        for &one in events {
            self.device.mapper.apply_event(one, now);
        }
        if self.device.mapper.take_stop_request() {
            (self.callbacks.on_stop)();
        }
        if events.is_empty() {
            return;
        }
        self.report.words += 1;
        if let Some(since) = self
            .last_event_at
            .map(|before| now - before)
            .filter(|since| since.s() < 0.1)
        {
            self.burst_events = (
                self.burst_events.0 + 1,
                Span(self.burst_events.1.0 + since.0),
            );
        }
        self.last_event_at = Some(now);
        if let Some(statistics) = &self.callbacks.pointer_statistics {
            // a device has no page clock
            statistics.note(now, f64::NAN);
        }
    }

    /// Releases the handle of a device that is gone.
    fn disconnect(&mut self) {
        (self.callbacks.on_aim)(self.device.mapper.release());
        self.report.lost = true;
        let text = format!(
            "palpate: {} is gone; the handle is released",
            self.report.name
        );
        let _ = io::Write::write_all(&mut io::stderr(), (text + "\n").as_bytes());
    }
}

/// A device of the kernel.
struct Evdev {
    device: Device,
    effect: Option<(FFEffect, FFEffectCode)>,
}

impl Evdev {
    fn new(mut device: Device) -> Self {
        // prefer constant force, which has a direction
        let code = [FFEffectCode::FF_CONSTANT, FFEffectCode::FF_RUMBLE];
        let code = code.into_iter().find(|code| discovery::can(&device, *code));
        let effect = code.and_then(|code| {
            let effect = device
                .upload_ff_effect(force_effect(code, &[0.0; 4]))
                .ok()?;
            Some((effect, code))
        });
        Self { device, effect }
    }
}

impl InputSource for Evdev {
    fn read_events(&mut self, at_most: Span) -> io::Result<Vec<DeviceEvent>> {
        let wait = PollTimeout::try_from(at_most.ms().ceil() as i32).unwrap_or(PollTimeout::ZERO);
        let mut polled = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, wait) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let decode = |event: evdev::InputEvent| match event.destructure() {
            EventSummary::AbsoluteAxis(_, code, value) => {
                Some(DeviceEvent::AbsoluteAxis(code.0, value))
            }
            EventSummary::RelativeAxis(_, code, value) => {
                Some(DeviceEvent::RelativeAxis(code.0, value))
            }
            // 2 is a key that repeats
            EventSummary::Key(_, code, value) => Some(DeviceEvent::Button(code.0, value != 0)),
            _ => None,
        };
        match self.device.fetch_events() {
            Ok(events) => Ok(events.filter_map(decode).collect()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn set_force(&mut self, force_n: &Axes) {
        let Some((effect, code)) = &mut self.effect else {
            return;
        };
        // a device without vibration still drives the handle
        let _ = effect
            .update(force_effect(*code, force_n))
            .and_then(|()| effect.play(1));
    }
}

/// Vibration effect of a force on the hand \[N\].
fn force_effect(code: FFEffectCode, force_n: &Axes) -> FFEffectData {
    let finite_n = force_n.map(|n| if n.is_finite() { n } else { 0.0 });
    let [x_n, y_n, z_n, _] = finite_n;
    let share = (libm::sqrt(x_n * x_n + y_n * y_n + z_n * z_n) / FULL_N).min(1.0);
    let (kind, direction) = if code == FFEffectCode::FF_CONSTANT {
        let level = (share * f64::from(i16::MAX)) as i16;
        let envelope = evdev::FFEnvelope {
            attack_length: 0,
            attack_level: 0,
            fade_length: 0,
            fade_level: 0,
        };
        (
            FFEffectKind::Constant { level, envelope },
            direction(x_n, y_n, z_n),
        )
    } else {
        let strong_magnitude = (share * f64::from(u16::MAX)) as u16;
        let kind = FFEffectKind::Rumble {
            strong_magnitude,
            // the weak motor starts sooner
            weak_magnitude: strong_magnitude,
        };
        (kind, 0)
    };
    FFEffectData {
        direction,
        trigger: FFTrigger::default(),
        // limits vibration after a session that ended abruptly
        replay: FFReplay {
            length: 200,
            delay: 0,
        },
        kind,
    }
}

/// Direction of a force in the plane of a stick, in Linux's units: 0 towards the operator, a quarter turn more to
/// the left, and so on. An upward force maps to towards the operator.
fn direction(x_n: f64, y_n: f64, z_n: f64) -> u16 {
    let turn = libm::atan2(-x_n, z_n - y_n) / core::f64::consts::TAU;
    (turn.rem_euclid(1.0) * 65536.0) as u32 as u16
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU32;

    use evdev::KeyCode as Key;
    use palpate_master::device::Handle as _;
    use palpate_master::device::grip::Grip;
    use palpate_master::device::pointer::PointerHandle;

    use super::super::event_map::{DeviceLayout, InputAxisRange};
    use super::*;

    /// A scripted pad: one list of events per read; unplugged after the last.
    struct ScriptedPad(Vec<Vec<DeviceEvent>>, Arc<Mutex<Vec<f64>>>);

    impl InputSource for ScriptedPad {
        fn read_events(&mut self, at_most: Span) -> io::Result<Vec<DeviceEvent>> {
            palpate_transport::clock::sleep_for(at_most);
            if self.0.is_empty() {
                return Err(io::ErrorKind::NotConnected.into());
            }
            Ok(self.0.remove(0))
        }

        fn set_force(&mut self, force_n: &Axes) {
            self.1.lock().expect("whole").push(force_n[2]);
        }
    }

    fn pad() -> DeviceLayout {
        let range = |low| InputAxisRange {
            low,
            high: 255,
            flat: 0,
        };
        let axes = [
            (0, range(-255)),
            (1, range(-255)),
            (3, range(-255)),
            (4, range(-255)),
            (5, range(0)),
        ];
        DeviceLayout::detect(BTreeMap::from(axes), &[], &[Key::BTN_SOUTH.0]).expect("a pad")
    }

    #[test]
    fn unplugged_device_releases_the_handle() {
        let mut events = vec![
            vec![DeviceEvent::Button(Key::BTN_SOUTH.0, true)],
            vec![DeviceEvent::AbsoluteAxis(5, 255)],
        ];
        events.resize(60, Vec::new());
        events.push(vec![DeviceEvent::Button(Key::BTN_EAST.0, true)]);
        events.push(vec![DeviceEvent::Button(Key::BTN_SOUTH.0, true)]);
        events.resize(90, Vec::new());
        let forces = Arc::new(Mutex::new(Vec::new()));
        let stops = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&stops);
        let start_m = [0.0, 0.0, 0.03, 0.02];
        let mapper = AimMapper::new(pad(), 0.008, start_m);
        let (mut aim_writer, aims) = latest(PointerTarget::default());
        let callbacks = InputCallbacks {
            on_aim: Box::new(move |aim| aim_writer.write(aim)),
            pointer_statistics: None,
            on_stop: Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
        };
        let source = Box::new(ScriptedPad(events, Arc::clone(&forces)));
        let open_input = OpenInput::new(source, mapper, "a played pad".into());
        let mut input = open_input.start(callbacks).expect("a thread");
        input.set_feedback(DeviceFeedback {
            force_n: [0.0, 0.0, 2.0, 0.0],
            tool_m: start_m,
            contact_m: None,
        });
        let mut handle = PointerHandle::new(aims, start_m, Grip::Firm.hand());
        let clock = MonotonicClock;
        let begun = clock.now();
        let mut lowest_m = f64::INFINITY;
        while !input.thread.is_finished() {
            let read = handle.read(Time(0) + (clock.now() - begun));
            lowest_m = lowest_m.min(read.position_m[2]);
            palpate_transport::clock::sleep_for(Span(1_000_000));
        }
        assert!(lowest_m < 0.0, "the tool goes down: {lowest_m}");
        let read = handle.read(Time(0) + (clock.now() - begun));
        assert!(
            !read.present,
            "released at once, not after half a second of silence"
        );
        assert_eq!(stops.load(Ordering::Relaxed), 1);
        let report = input.stop();
        assert!(report.lost && report.words == 4, "{report:?}");
        assert!(report.words().contains("unplugged"));
        assert!(
            forces.lock().expect("whole").contains(&2.0),
            "the force comes back"
        );
    }

    #[test]
    fn force_sets_rumble_strength_and_direction() {
        let rumble = |n: f64| match force_effect(FFEffectCode::FF_RUMBLE, &[0.0, 0.0, n, 0.0]).kind
        {
            FFEffectKind::Rumble {
                strong_magnitude, ..
            } => strong_magnitude,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (rumble(0.0), rumble(FULL_N), rumble(99.0), rumble(f64::NAN)),
            (0, 65535, 65535, 0)
        );
        assert_eq!(rumble(0.5 * FULL_N), 32767);
        assert_eq!(direction(0.0, 0.0, 1.0), 0, "up is towards the hand");
        assert_eq!(direction(-1.0, 0.0, 0.0), 0x4000, "left");
        assert_eq!(direction(0.0, 1.0, 0.0), 0x8000, "away");
        assert_eq!(direction(1.0, 0.0, 0.0), 0xC000, "right");
    }
}
