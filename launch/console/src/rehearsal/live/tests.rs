//! Test of a live rehearsal that an input device drives.

use std::collections::BTreeMap;
use std::io;

use evdev::KeyCode as Key;
use palpate_master::device::HandleKind;
use palpate_master::device::pointer::PointerTarget;
use palpate_session::input::event_map::{
    AimMapper, DeviceEvent as Word, DeviceLayout, InputAxisRange,
};
use palpate_session::input::input_thread::{InputSource, OpenInput};
use palpate_session::monitor::MonitorController as _;
use palpate_session::monitor::controller::SessionSides;
use palpate_transport::clock::sleep_for;
use palpate_transport::{Axes, Span};

use super::*;
use crate::rehearsal::controller::RehearsalController;

/// A gamepad that is held and pressed fully, again and again.
struct PressedPad(u32, Arc<RehearsalController>);

impl InputSource for PressedPad {
    fn read_events(&mut self, at_most: Span) -> io::Result<Vec<Word>> {
        sleep_for(at_most);
        self.0 += 1;
        // the page sends the opposite all the time
        self.1.aim(PointerTarget::default(), 0.0);
        Ok(match self.0 % 100 {
            1 => vec![Word::Button(Key::BTN_SOUTH.0, true)],
            2 => vec![Word::AbsoluteAxis(5, 255)],
            0 => vec![
                Word::AbsoluteAxis(5, 0),
                Word::Button(Key::BTN_SOUTH.0, false),
            ],
            _ => Vec::new(),
        })
    }

    fn set_force(&mut self, _: &Axes) {}
}

fn pad() -> DeviceLayout {
    let range = |low| InputAxisRange {
        low,
        high: 255,
        flat: 0,
    };
    let axes = [(0, -255), (1, -255), (3, -255), (4, -255), (5, 0)];
    let axes = axes.map(|(axis, low)| (axis, range(low)));
    DeviceLayout::detect(BTreeMap::from(axes), &[], &[Key::BTN_SOUTH.0]).expect("a pad")
}

#[test]
fn a_device_leads_the_handle_of_a_rehearsal_and_no_page_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config {
        duration_s: 4.0,
        twin: "sheet".into(),
        ..Config::default()
    };
    config.operator.handle = HandleKind::Pointer;
    config.operator.device = Some("played".into());
    solo::make_solo(&mut config);
    let stop = Arc::new(AtomicBool::new(false));
    let side = SessionController::new(&config, SessionSides::OperatorOnly, &stop);
    let (controller, requests) = RehearsalController::new(Arc::clone(&side));
    let start_m = config.operator.script.start_m();
    let mapper = AimMapper::new(pad(), 0.008, start_m);
    let source = Box::new(PressedPad(0, controller));
    let input = OpenInput::new(source, mapper, "a simulated pad".into());
    let mut pilot = handle_source::start_input_for(input, &side).expect("a thread");
    let options = LiveRehearsalOptions {
        folder: folder.path().into(),
        attempts: None,
        stop,
    };
    let result = rehearse(&config, &options, &side, &requests, Some(&mut pilot));
    assert_eq!(result.expect("it runs").scenes.len(), 1);
    assert!(pilot.stop().words > 2);
    let recording = record::read(&folder.path().join(RECORDING)).expect("recorded");
    let forces_n = recording.master.iter().map(|r| r.tissue_force_n[2]);
    let most_n = forces_n.fold(0.0, f64::max);
    assert!(most_n > 0.3, "{most_n} N at most");
}
