//! The thread that reads a device, says its aim, and shakes it with the force.
//!
//! It says an aim every `STEP`, moved or not, so a device that is unplugged is a silent pointer at once, and the
//! handle is let go. Force goes back 20 times a second, as [`shaken`] has it: a rumble knows no direction, a constant
//! force has one. Source: ours.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use evdev::{
    Device, EventSummary, FFEffect, FFEffectCode, FFEffectData, FFEffectKind, FFReplay, FFTrigger,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use palpate_master::device::pointer::{Aim, Pointer};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::mailbox::{LatestReader, LatestWriter, latest};
use palpate_transport::{Axes, Span, Time};
use serde::{Deserialize, Serialize};

use super::map::{Lead, Said};
use super::{InputError, found};
use crate::monitor::window::Heard;

/// Time between two aims \[ns\].
const STEP: Span = Span(8_000_000);

/// Time between two forces \[ns\].
const SHAKE: Span = Span(50_000_000);

/// Force at which a device shakes with all it has \[N\].
const FULL_N: f64 = 4.0;

/// What the session lets a device feel and know.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Felt {
    /// Force on the hand \[N\].
    pub force_n: Axes,
    /// Where the tool is \[m\].
    pub tool_m: Axes,
    /// Height of the tool at first contact \[m\], where that is another than when the device was opened.
    pub contact_m: Option<f64>,
}

/// Something that is read as a device is.
pub trait Source: Send {
    /// What it said since it was asked last, waiting for at most so long for a word.
    ///
    /// # Errors
    /// It is gone.
    fn listen(&mut self, at_most: Span) -> io::Result<Vec<Said>>;

    /// Push or shake the hand with this force \[N\].
    fn push(&mut self, force_n: &Axes);
}

/// The newest word of a device, as the servo thread finds it.
pub struct Aims(LatestReader<Aim>);

impl Pointer for Aims {
    fn newest(&mut self) -> Aim {
        *self.0.read()
    }
}

/// What a session says of its device afterwards.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputReport {
    /// What it calls itself.
    pub name: String,
    /// Words that it said.
    pub words: u64,
    /// Words a second, while it spoke at least ten times a second.
    pub rate_hz: Option<f64>,
    /// Whether it was unplugged meanwhile.
    pub lost: bool,
}

impl InputReport {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let rate = self.rate_hz.map_or(String::new(), |hz| {
            format!(", {hz:.0} a second while it moved")
        });
        let lost = if self.lost {
            "; it was unplugged, and the handle let go"
        } else {
            ""
        };
        format!(
            "The handle was led by {}: {} words{rate}{lost}.",
            self.name, self.words
        )
    }
}

/// A device that is being read.
pub struct Pilot {
    thread: JoinHandle<InputReport>,
    end: Arc<AtomicBool>,
    felt: LatestWriter<Felt>,
}

impl Pilot {
    /// Let the device know what is felt.
    pub fn feel(&mut self, felt: Felt) {
        self.felt.write(felt);
    }

    /// Read it no more; what it was.
    #[must_use]
    pub fn land(self) -> InputReport {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// What a device's thread tells besides its aim.
pub struct Tells {
    /// Rate and age for whoever shows them.
    pub heard: Option<Arc<Heard>>,
    /// Stops all motion.
    pub stop: Box<dyn FnMut() + Send>,
}

/// A device that is open, and not read yet.
pub struct Waiting {
    source: Box<dyn Source>,
    lead: Lead,
    name: String,
    say: Say,
}

/// Where the aims of a device go.
pub type Say = Box<dyn FnMut(Aim) + Send>;

/// Open the device of this name ([`found::open`]), for a handle that begins at a place and a tissue that is touched at
/// a height \[m\].
///
/// # Errors
/// [`InputError`] if it cannot be read.
pub fn prepare(wanted: &str, places: (f64, Axes)) -> Result<(Aims, Waiting), InputError> {
    let (aims, say) = cell();
    Ok((aims, prepare_saying(wanted, places, say)?))
}

/// The same, whose aims go where `say` has them.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_saying(
    wanted: &str,
    (contact_m, start_m): (f64, Axes),
    say: Say,
) -> Result<Waiting, InputError> {
    let (device, shape, path) = found::open(wanted)?;
    let refused = |source| InputError::File {
        path: path.clone(),
        source,
    };
    device.set_nonblocking(true).map_err(refused)?;
    let name = found::name(&device);
    let lead = Lead::new(shape, contact_m, start_m);
    let source = Box::new(Evdev::new(device));
    Ok(Waiting::saying(source, (lead, name), say))
}

/// A cell for aims, and how one is told there.
fn cell() -> (Aims, Say) {
    let (mut aims, newest) = latest(Aim::default());
    (Aims(newest), Box::new(move |aim| aims.write(aim)))
}

impl Waiting {
    /// Any source, what it means and what it is called, and where its aims are found.
    #[must_use]
    pub fn new(source: Box<dyn Source>, (lead, name): (Lead, String)) -> (Aims, Self) {
        let (aims, say) = cell();
        (aims, Self::saying(source, (lead, name), say))
    }

    /// The same, whose aims go where `say` has them.
    #[must_use]
    pub fn saying(source: Box<dyn Source>, (lead, name): (Lead, String), say: Say) -> Self {
        Self {
            source,
            lead,
            name,
            say,
        }
    }

    /// Read it from now on.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn fly(self, tells: Tells) -> io::Result<Pilot> {
        if let Some(heard) = &tells.heard {
            heard.by_device.store(true, Ordering::Relaxed);
        }
        let (felt, feels) = latest(Felt::default());
        let end = Arc::new(AtomicBool::new(false));
        let flight = Flight {
            source: self.source,
            lead: self.lead,
            say: self.say,
            feels,
            tells,
            report: InputReport {
                name: self.name,
                ..InputReport::default()
            },
            spoke: None,
            spoken: (0, Span(0)),
        };
        let ended = Arc::clone(&end);
        let thread = std::thread::Builder::new()
            .name("input".into())
            .spawn(move || flight.run(&ended))?;
        Ok(Pilot { thread, end, felt })
    }
}

/// A device on its thread.
struct Flight {
    source: Box<dyn Source>,
    lead: Lead,
    say: Say,
    feels: LatestReader<Felt>,
    tells: Tells,
    report: InputReport,
    /// When it spoke last.
    spoke: Option<Time>,
    /// Words that came soon after another, and the time between.
    spoken: (u64, Span),
}

impl Flight {
    fn run(mut self, end: &AtomicBool) -> InputReport {
        let clock = MonotonicClock;
        let (mut before, mut shaken) = (clock.now(), Time(0));
        while !end.load(Ordering::Relaxed) {
            let Ok(said) = self.source.listen(STEP) else {
                self.lose();
                break;
            };
            let now = clock.now();
            self.take(&said, now);
            let felt = *self.feels.read();
            let tool_m = (felt != Felt::default()).then_some(felt.tool_m);
            if let Some(contact_m) = felt.contact_m {
                self.lead.touches_at(contact_m);
            }
            let aim = self.lead.aim(now, (now - before).s(), tool_m);
            (self.say)(aim);
            before = now;
            if now - shaken > SHAKE {
                shaken = now;
                self.source.push(&felt.force_n);
            }
        }
        let (words, over) = self.spoken;
        self.report.rate_hz = (over.0 > 0).then(|| words as f64 / over.s());
        self.report
    }

    fn take(&mut self, said: &[Said], now: Time) {
        for &one in said {
            self.lead.hear(one, now);
        }
        if self.lead.stops() {
            (self.tells.stop)();
        }
        if said.is_empty() {
            return;
        }
        self.report.words += 1;
        if let Some(since) = self
            .spoke
            .map(|before| now - before)
            .filter(|since| since.s() < 0.1)
        {
            self.spoken = (self.spoken.0 + 1, Span(self.spoken.1.0 + since.0));
        }
        self.spoke = Some(now);
        if let Some(heard) = &self.tells.heard {
            // a device has no clock of a page
            heard.note(now, f64::NAN);
        }
    }

    /// It is gone: nobody holds the handle.
    fn lose(&mut self) {
        (self.say)(self.lead.gone());
        self.report.lost = true;
        let text = format!(
            "palpate: {} is gone; the handle is let go",
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
        let can = |code| {
            device
                .supported_ff()
                .is_some_and(|known| known.contains(code))
        };
        // a force with a direction says more than a rumble
        let code = [FFEffectCode::FF_CONSTANT, FFEffectCode::FF_RUMBLE];
        let code = code.into_iter().find(|code| can(*code));
        let effect = code.and_then(|code| {
            let effect = device.upload_ff_effect(shaken(code, &[0.0; 4])).ok()?;
            Some((effect, code))
        });
        Self { device, effect }
    }
}

impl Source for Evdev {
    fn listen(&mut self, at_most: Span) -> io::Result<Vec<Said>> {
        let wait = PollTimeout::try_from(at_most.ms().ceil() as i32).unwrap_or(PollTimeout::ZERO);
        let mut polled = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, wait) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let said = |event: evdev::InputEvent| match event.destructure() {
            EventSummary::AbsoluteAxis(_, code, value) => Some(Said::Axis(code.0, value)),
            EventSummary::RelativeAxis(_, code, value) => Some(Said::Moved(code.0, value)),
            // 2 is a key that repeats
            EventSummary::Key(_, code, value) => Some(Said::Button(code.0, value != 0)),
            _ => None,
        };
        match self.device.fetch_events() {
            Ok(events) => Ok(events.filter_map(said).collect()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn push(&mut self, force_n: &Axes) {
        let Some((effect, code)) = &mut self.effect else {
            return;
        };
        // a device that does not shake still leads
        let _ = effect
            .update(shaken(*code, force_n))
            .and_then(|()| effect.play(1));
    }
}

/// The effect of a force on the hand \[N\].
#[must_use]
pub fn shaken(code: FFEffectCode, force_n: &Axes) -> FFEffectData {
    let known = force_n.map(|n| if n.is_finite() { n } else { 0.0 });
    let [x_n, y_n, z_n, _] = known;
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
            // the fine motor is felt sooner
            weak_magnitude: strong_magnitude,
        };
        (kind, 0)
    };
    FFEffectData {
        direction,
        trigger: FFTrigger {
            button: 0,
            interval: 0,
        },
        // a session that stops dead shakes nobody for long
        replay: FFReplay {
            length: 200,
            delay: 0,
        },
        kind,
    }
}

/// Direction of a force in the plane of a stick, as Linux counts it: 0 towards the hand, a quarter more to the
/// left, and so on round. What pushes up is felt towards the hand.
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

    use super::super::map::{Range, Shape};
    use super::*;

    /// A pad that says one thing after another, one a step, and is unplugged after the last.
    struct Played(Vec<Vec<Said>>, Arc<Mutex<Vec<f64>>>);

    impl Source for Played {
        fn listen(&mut self, at_most: Span) -> io::Result<Vec<Said>> {
            palpate_transport::clock::pause(at_most);
            if self.0.is_empty() {
                return Err(io::ErrorKind::NotConnected.into());
            }
            Ok(self.0.remove(0))
        }

        fn push(&mut self, force_n: &Axes) {
            self.1.lock().expect("whole").push(force_n[2]);
        }
    }

    fn pad() -> Shape {
        let range = |low| Range {
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
        Shape::of(BTreeMap::from(axes), &[], &[Key::BTN_SOUTH.0]).expect("a pad")
    }

    #[test]
    fn a_device_leads_a_handle_and_one_that_is_unplugged_lets_it_go() {
        let mut said = vec![
            vec![Said::Button(Key::BTN_SOUTH.0, true)],
            vec![Said::Axis(5, 255)],
        ];
        said.resize(60, Vec::new());
        said.push(vec![Said::Button(Key::BTN_EAST.0, true)]);
        said.push(vec![Said::Button(Key::BTN_SOUTH.0, true)]);
        said.resize(90, Vec::new());
        let forces = Arc::new(Mutex::new(Vec::new()));
        let stops = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&stops);
        let start_m = [0.0, 0.0, 0.03, 0.02];
        let lead = Lead::new(pad(), 0.008, start_m);
        let tells = Tells {
            heard: None,
            stop: Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
        };
        let source = Box::new(Played(said, Arc::clone(&forces)));
        let (aims, waiting) = Waiting::new(source, (lead, "a played pad".into()));
        let mut pilot = waiting.fly(tells).expect("a thread");
        pilot.feel(Felt {
            force_n: [0.0, 0.0, 2.0, 0.0],
            tool_m: start_m,
            contact_m: None,
        });
        let mut handle = PointerHandle::new(aims, start_m, Grip::Firm.hand());
        let clock = MonotonicClock;
        let begun = clock.now();
        let mut lowest_m = f64::INFINITY;
        while !pilot.thread.is_finished() {
            let read = handle.read(Time(0) + (clock.now() - begun));
            lowest_m = lowest_m.min(read.position_m[2]);
            palpate_transport::clock::pause(Span(1_000_000));
        }
        assert!(lowest_m < 0.0, "the tool goes down: {lowest_m}");
        let read = handle.read(Time(0) + (clock.now() - begun));
        assert!(
            !read.present,
            "let go at once, not after half a second of silence"
        );
        assert_eq!(stops.load(Ordering::Relaxed), 1);
        let report = pilot.land();
        assert!(report.lost && report.words == 4, "{report:?}");
        assert!(report.words().contains("unplugged"));
        assert!(
            forces.lock().expect("whole").contains(&2.0),
            "the force comes back"
        );
    }

    #[test]
    fn a_force_shakes_with_its_size_and_pushes_in_its_direction() {
        let rumble = |n: f64| match shaken(FFEffectCode::FF_RUMBLE, &[0.0, 0.0, n, 0.0]).kind {
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
