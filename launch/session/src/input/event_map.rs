//! Mapping of the events of a gamepad, a joystick or a 3-D mouse to a target position of the tool.
//!
//! | | gamepad, joystick | 3-D mouse |
//! |---|---|---|
//! | plane | left stick, a speed | push, a speed |
//! | depth | right trigger, a place; without one the second stick, a speed | push down or lift, a speed |
//! | hold the handle | lowest button or trigger of a stick, while it is pressed | first button, on and off |
//! | jaws | right bumper | second button |
//! | clutch (the aim stays) | left bumper | fourth button |
//! | stop | right button | third button, or the first while the second is pressed |
//!
//! Ranges and dead zones are those reported by the device; an axis without a reported dead zone gets 8 % of its
//! range. Beyond its dead zone an axis starts at 0, so nothing jumps. A relative axis of a 3-D mouse (`EV_REL`)
//! reports its deflection while it is pushed, and nothing when released: after `REL_FADE` of silence it counts as
//! released. Source: ours.

use std::collections::BTreeMap;

use evdev::{AbsoluteAxisCode as Abs, KeyCode as Key, RelativeAxisCode as Rel};
use palpate_master::device::pointer::PointerTarget;
use palpate_transport::{Axes, Span, Time};

/// Dead zone of a device that reports none, as a share of the range on one side.
const DEAD: f64 = 0.08;

/// Full deflection of a relative axis: the most that 3Dconnexion's devices report.
const REL_FULL: f64 = 350.0;

/// Silence after which a relative axis counts as released; such devices report some 60 times a second.
const REL_FADE: Span = Span(60_000_000);

/// Fastest motion in the plane \[m/s\].
const PLANE_MPS: f64 = 0.04;

/// Fastest motion in depth \[m/s\].
const DEPTH_MPS: f64 = 0.02;

/// Height above first contact at which a grasp puts the target, and at which a trigger starts \[m\].
const HOVER_M: f64 = 0.004;

/// Depth of a fully pressed trigger \[m\].
const TRIGGER_M: f64 = 0.012;

/// Largest distance in the plane, by axis \[m\].
const REACH_M: f64 = 0.045;

/// Deepest and highest target, from first contact \[m\].
const DEPTH_M: (f64, f64) = (0.02, 0.03);

/// Opening of the jaws, open and closed \[m\].
const JAWS_M: (f64, f64) = (0.02, 0.003);

/// An event of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceEvent {
    /// Position of an axis.
    AbsoluteAxis(u16, i32),
    /// Displacement of an axis.
    RelativeAxis(u16, i32),
    /// State of a button, true if pressed.
    Button(u16, bool),
}

/// Kind of an input device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputDeviceKind {
    /// A gamepad with two sticks, or a joystick.
    Gamepad,
    /// A 3-D mouse, whose cap is pushed in three directions.
    SpaceMouse,
}

impl InputDeviceKind {
    /// Name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gamepad => "gamepad",
            Self::SpaceMouse => "3-D mouse",
        }
    }
}

/// Range of an axis, as reported by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputAxisRange {
    /// Least value.
    pub low: i32,
    /// Largest value.
    pub high: i32,
    /// Half width of the dead zone; 0 if not reported.
    pub flat: i32,
}

impl InputAxisRange {
    /// Deflection from -1 to 1 about the middle; 0 within the dead zone, and for an empty range.
    fn centred(&self, value: i32) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let half = 0.5 * (high - low);
        beyond(
            (f64::from(value) - 0.5 * (high + low)) / half,
            self.dead(half),
        )
    }

    /// Deflection from 0 to 1 from the low end; 0 within the dead zone.
    fn share(&self, value: i32) -> f64 {
        let whole = f64::from(self.high) - f64::from(self.low);
        let at = (f64::from(value) - f64::from(self.low)) / whole;
        beyond(at, self.dead(whole)).max(0.0)
    }

    fn dead(&self, of: f64) -> f64 {
        match self.flat {
            1.. => (f64::from(self.flat) / of).min(0.9),
            _ => DEAD,
        }
    }
}

/// Part of a deflection beyond a dead zone, from 0 at its edge to 1 at the end.
fn beyond(share: f64, dead: f64) -> f64 {
    if !share.is_finite() || !(0.0..1.0).contains(&dead) {
        return 0.0;
    }
    let size = ((share.abs() - dead) / (1.0 - dead)).clamp(0.0, 1.0);
    size.copysign(share)
}

/// Axes of a device and their use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLayout {
    /// Kind of device.
    pub kind: InputDeviceKind,
    /// Absolute axes.
    pub axes: BTreeMap<u16, InputAxisRange>,
    /// Axis that sets the depth, if any.
    trigger: Option<u16>,
    /// Axis that sets the speed in depth, if any.
    depth: Option<u16>,
}

impl DeviceLayout {
    /// Detects the layout from absolute axes, relative axes and buttons; none if they cannot drive a handle.
    #[must_use]
    pub fn detect(
        axes: BTreeMap<u16, InputAxisRange>,
        relative: &[u16],
        buttons: &[u16],
    ) -> Option<Self> {
        let has = |codes: &[Abs]| codes.iter().all(|code| axes.contains_key(&code.0));
        let button = |key: Key| buttons.contains(&key.0);
        let moved = |codes: &[Rel]| codes.iter().all(|code| relative.contains(&code.0));
        let thumbs = has(&[Abs::ABS_X, Abs::ABS_Y]);
        let (trigger, depth, kind) = if thumbs
            && (button(Key::BTN_SOUTH) || button(Key::BTN_TRIGGER))
        {
            let first = |codes: &[Abs]| codes.iter().find(|code| has(&[**code])).map(|code| code.0);
            let trigger = match has(&[Abs::ABS_RX, Abs::ABS_RY]) {
                true => first(&[Abs::ABS_GAS, Abs::ABS_RZ]),
                false => first(&[Abs::ABS_GAS]),
            };
            let depth = first(&[Abs::ABS_RY, Abs::ABS_RZ, Abs::ABS_THROTTLE]);
            (trigger, depth, InputDeviceKind::Gamepad)
        } else if has(&[Abs::ABS_X, Abs::ABS_Y, Abs::ABS_Z, Abs::ABS_RX])
            || moved(&[Rel::REL_X, Rel::REL_Y, Rel::REL_Z, Rel::REL_RX])
        {
            (
                None,
                has(&[Abs::ABS_Z]).then_some(Abs::ABS_Z.0),
                InputDeviceKind::SpaceMouse,
            )
        } else {
            return None;
        };
        Some(Self {
            kind,
            axes,
            trigger,
            depth,
        })
    }
}

/// Converter of device events to the target of the operator's hand.
#[derive(Debug, Clone)]
pub struct AimMapper {
    layout: DeviceLayout,
    /// Height of the tool at first contact \[m\].
    contact_m: f64,
    /// Deflection of both directions of the plane and of depth, down positive, -1 to 1.
    deflection: [f64; 3],
    /// Time of the last event of each, for relative axes.
    moved_at: [Option<Time>; 3],
    /// Deflection of the trigger, 0 to 1.
    trigger_fraction: Option<f64>,
    holding: bool,
    jaws: bool,
    clutch: bool,
    stop: bool,
    aim: PointerTarget,
}

impl AimMapper {
    /// Returns a mapper with nobody holding the handle, which starts at `start_m`; first contact is at height
    /// `contact_m`.
    #[must_use]
    pub fn new(layout: DeviceLayout, contact_m: f64, start_m: Axes) -> Self {
        let aim = PointerTarget {
            position_m: start_m,
            ..PointerTarget::default()
        };
        Self {
            layout,
            contact_m,
            deflection: [0.0; 3],
            moved_at: [None; 3],
            trigger_fraction: None,
            holding: false,
            jaws: false,
            clutch: false,
            stop: false,
            aim,
        }
    }

    /// Applies an event that the device reported at `now`.
    pub(crate) fn apply_event(&mut self, event: DeviceEvent, now: Time) {
        match event {
            DeviceEvent::AbsoluteAxis(code, value) => self.axis(code, value),
            DeviceEvent::RelativeAxis(code, value) => {
                let axes = [(Rel::REL_X, 1.0), (Rel::REL_Y, -1.0), (Rel::REL_Z, 1.0)];
                let axis = axes.iter().position(|(rel, _)| rel.0 == code);
                if let Some(axis) = axis.filter(|_| self.layout.kind == InputDeviceKind::SpaceMouse)
                {
                    self.deflection[axis] =
                        axes[axis].1 * beyond(f64::from(value) / REL_FULL, DEAD);
                    self.moved_at[axis] = Some(now);
                }
            }
            DeviceEvent::Button(code, down) => self.button(Key(code), down),
        }
    }

    fn axis(&mut self, code: u16, value: i32) {
        let Some(range) = self.layout.axes.get(&code) else {
            return;
        };
        match Abs(code) {
            _ if self.layout.trigger == Some(code) => {
                self.trigger_fraction = Some(range.share(value))
            }
            Abs::ABS_X => self.deflection[0] = range.centred(value),
            // a stick pushed away from the operator is negative
            Abs::ABS_Y => self.deflection[1] = -range.centred(value),
            // pulled towards the operator, or pushed down, presses
            _ if self.layout.depth == Some(code) => self.deflection[2] = range.centred(value),
            _ => {}
        }
    }

    fn button(&mut self, key: Key, down: bool) {
        match (self.layout.kind, key) {
            (InputDeviceKind::Gamepad, Key::BTN_SOUTH | Key::BTN_TRIGGER) => self.holding = down,
            (InputDeviceKind::Gamepad, Key::BTN_TR | Key::BTN_THUMB) => self.jaws = down,
            (InputDeviceKind::Gamepad, Key::BTN_TL | Key::BTN_THUMB2) => self.clutch = down,
            (InputDeviceKind::Gamepad, Key::BTN_EAST | Key::BTN_TOP)
            | (InputDeviceKind::SpaceMouse, Key::BTN_2) => {
                self.stop |= down;
            }
            (InputDeviceKind::SpaceMouse, Key::BTN_0) if down => {
                self.holding = !self.holding;
                self.stop |= self.jaws;
            }
            (InputDeviceKind::SpaceMouse, Key::BTN_1) => self.jaws = down,
            (InputDeviceKind::SpaceMouse, Key::BTN_3) => self.clutch = down,
            _ => {}
        }
        // a stop also releases: only a new grasp takes the handle again
        self.holding &= !self.stop;
    }

    /// Returns true if a stop was requested since the last call.
    pub(crate) fn take_stop_request(&mut self) -> bool {
        core::mem::take(&mut self.stop)
    }

    /// Sets the height of first contact with a new tissue \[m\].
    pub(crate) fn set_contact_height(&mut self, contact_m: f64) {
        self.contact_m = contact_m;
    }

    /// Advances the target by `dt_s` \[s\] to `now`; `tool_m` is the position of the tool, if known.
    pub fn advance(&mut self, now: Time, dt_s: f64, tool_m: Option<Axes>) -> PointerTarget {
        for (push, moved) in self.deflection.iter_mut().zip(&mut self.moved_at) {
            if moved.is_some_and(|at| now - at > REL_FADE) {
                (*push, *moved) = (0.0, None);
            }
        }
        if self.holding && !self.aim.present {
            self.grasp_at_tool(tool_m);
        }
        self.aim.present = self.holding;
        self.aim.closed = self.jaws;
        self.aim.position_m[3] = if self.jaws { JAWS_M.1 } else { JAWS_M.0 };
        if self.holding && !self.clutch {
            self.move_aim(dt_s);
        }
        self.aim.sequence += 1;
        self.aim
    }

    /// Releases the handle, for a device that is gone.
    pub(crate) fn release(&mut self) -> PointerTarget {
        self.holding = false;
        self.aim.present = false;
        self.aim.sequence += 1;
        self.aim
    }

    /// Puts the target at the tool, but not higher than just above the tissue.
    fn grasp_at_tool(&mut self, tool_m: Option<Axes>) {
        if let Some(tool_m) = tool_m.filter(|place| place.iter().all(|m| m.is_finite())) {
            self.aim.position_m = tool_m;
        }
        let z_m = &mut self.aim.position_m[2];
        *z_m = z_m.min(self.contact_m + HOVER_M);
    }

    fn move_aim(&mut self, dt_s: f64) {
        let dt_s = dt_s.clamp(0.0, 0.1);
        let [x_m, y_m, z_m, _] = &mut self.aim.position_m;
        *x_m = (*x_m + dt_s * PLANE_MPS * self.deflection[0]).clamp(-REACH_M, REACH_M);
        *y_m = (*y_m + dt_s * PLANE_MPS * self.deflection[1]).clamp(-REACH_M, REACH_M);
        *z_m = match self.trigger_fraction {
            Some(pressed) => self.contact_m + HOVER_M - pressed * (HOVER_M + TRIGGER_M),
            None => *z_m - dt_s * DEPTH_MPS * self.deflection[2],
        };
        *z_m = z_m.clamp(self.contact_m - DEPTH_M.0, self.contact_m + DEPTH_M.1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STICK: InputAxisRange = InputAxisRange {
        low: -32768,
        high: 32767,
        flat: 4000,
    };
    const TRIGGER: InputAxisRange = InputAxisRange {
        low: 0,
        high: 255,
        flat: 0,
    };
    const START_M: Axes = [0.01, 0.0, 0.03, 0.02];
    const CONTACT_M: f64 = 0.008;
    const STEP_S: f64 = 0.008;

    /// A gamepad as the kernel's drivers of most pads report it.
    fn pad() -> DeviceLayout {
        let sticks = [Abs::ABS_X, Abs::ABS_Y, Abs::ABS_RX, Abs::ABS_RY];
        let sticks = sticks.map(|code| (code.0, STICK));
        let triggers = [Abs::ABS_Z, Abs::ABS_RZ].map(|code| (code.0, TRIGGER));
        let axes = sticks.into_iter().chain(triggers).collect();
        DeviceLayout::detect(axes, &[], &[Key::BTN_SOUTH.0]).expect("a pad")
    }

    /// A 3-D mouse that reports motion.
    fn puck() -> DeviceLayout {
        let relative: Vec<u16> = (0..6).collect();
        DeviceLayout::detect(BTreeMap::new(), &relative, &[Key::BTN_0.0]).expect("a puck")
    }

    fn at(ms: i64) -> Time {
        Time(ms * 1_000_000)
    }

    fn advance(mapper: &mut AimMapper, ms: core::ops::Range<i64>) -> PointerTarget {
        ms.step_by(8).fold(mapper.aim, |_, ms| {
            mapper.advance(at(ms), STEP_S, Some(START_M))
        })
    }

    #[test]
    fn gamepads_and_3d_mice_are_detected_and_others_ignored() {
        assert_eq!(
            (pad().kind, puck().kind),
            (InputDeviceKind::Gamepad, InputDeviceKind::SpaceMouse)
        );
        assert_eq!(pad().trigger, Some(Abs::ABS_RZ.0));
        // a mouse, and a touch screen
        let mouse = [Rel::REL_X.0, Rel::REL_Y.0, Rel::REL_WHEEL.0];
        assert_eq!(
            DeviceLayout::detect(BTreeMap::new(), &mouse, &[Key::BTN_LEFT.0]),
            None
        );
        let touch = [Abs::ABS_X, Abs::ABS_Y].map(|code| (code.0, STICK));
        assert_eq!(
            DeviceLayout::detect(touch.into(), &[], &[Key::BTN_TOUCH.0]),
            None
        );
    }

    #[test]
    fn gamepad_drives_while_its_button_is_held() {
        let mut mapper = AimMapper::new(pad(), CONTACT_M, START_M);
        mapper.apply_event(DeviceEvent::AbsoluteAxis(Abs::ABS_X.0, 32767), at(0));
        assert!(!advance(&mut mapper, 0..100).present, "nobody holds it");
        mapper.apply_event(DeviceEvent::Button(Key::BTN_SOUTH.0, true), at(100));
        let held = advance(&mut mapper, 100..1100);
        assert!(held.present);
        assert!((held.position_m[0] - REACH_M).abs() < 0.01, "{held:?}");
        mapper.apply_event(DeviceEvent::AbsoluteAxis(Abs::ABS_RZ.0, 255), at(1100));
        let pressed = advance(&mut mapper, 1100..1110);
        assert!((pressed.position_m[2] - (CONTACT_M - TRIGGER_M)).abs() < 1e-12);
        mapper.apply_event(DeviceEvent::Button(Key::BTN_TR.0, true), at(1110));
        assert!(advance(&mut mapper, 1110..1120).closed);
        mapper.apply_event(DeviceEvent::Button(Key::BTN_TL.0, true), at(1120));
        mapper.apply_event(DeviceEvent::AbsoluteAxis(Abs::ABS_RZ.0, 0), at(1120));
        let stays = advance(&mut mapper, 1120..1400);
        assert_eq!(
            stays.position_m,
            [pressed.position_m[0], 0.0, pressed.position_m[2], JAWS_M.1]
        );
        mapper.apply_event(DeviceEvent::Button(Key::BTN_SOUTH.0, false), at(1400));
        assert!(!advance(&mut mapper, 1400..1410).present);
    }

    #[test]
    fn stop_is_reported_once_and_releases() {
        let mut mapper = AimMapper::new(pad(), CONTACT_M, START_M);
        mapper.apply_event(DeviceEvent::Button(Key::BTN_SOUTH.0, true), at(0));
        assert!(advance(&mut mapper, 0..10).present && !mapper.take_stop_request());
        mapper.apply_event(DeviceEvent::Button(Key::BTN_EAST.0, true), at(10));
        assert!(mapper.take_stop_request() && !mapper.take_stop_request());
        assert!(!advance(&mut mapper, 10..20).present);
        let mut mapper = AimMapper::new(puck(), CONTACT_M, START_M);
        mapper.apply_event(DeviceEvent::Button(Key::BTN_1.0, true), at(0));
        mapper.apply_event(DeviceEvent::Button(Key::BTN_0.0, true), at(0));
        assert!(mapper.take_stop_request() && !advance(&mut mapper, 0..10).present);
    }

    #[test]
    fn released_3d_mouse_stops() {
        let mut mapper = AimMapper::new(puck(), CONTACT_M, START_M);
        mapper.apply_event(DeviceEvent::Button(Key::BTN_0.0, true), at(0));
        let mut pushed = advance(&mut mapper, 0..10);
        for ms in (16..416).step_by(16) {
            mapper.apply_event(DeviceEvent::RelativeAxis(Rel::REL_Z.0, 350), at(ms));
            mapper.apply_event(DeviceEvent::RelativeAxis(Rel::REL_Y.0, 350), at(ms));
            pushed = advance(&mut mapper, ms..ms + 16);
        }
        assert!(pushed.position_m[2] < CONTACT_M - 0.003, "down: {pushed:?}");
        assert!(pushed.position_m[1] < -0.01, "towards the hand: {pushed:?}");
        // the last event has effect for 60 ms more
        let faded = advance(&mut mapper, 416..500);
        let later = advance(&mut mapper, 500..900);
        assert_eq!(faded.position_m, later.position_m);
        assert!(later.present && !mapper.release().present);
    }

    #[test]
    fn dead_zones_are_those_of_the_device() {
        assert_eq!(STICK.centred(3900), 0.0);
        assert!((0.0..1e-3).contains(&STICK.centred(4010)) && STICK.centred(4010) > 0.0);
        assert_eq!((STICK.centred(32767), STICK.centred(-32768)), (1.0, -1.0));
        assert_eq!((TRIGGER.share(15), TRIGGER.share(255)), (0.0, 1.0));
        for none in [(5, 5, 0), (9, -9, 3), (0, 0, -1)] {
            let range = InputAxisRange {
                low: none.0,
                high: none.1,
                flat: none.2,
            };
            assert!(range.centred(7).is_finite() && range.share(7).is_finite());
        }
    }

    fn any_event() -> impl Strategy<Value = DeviceEvent> {
        prop_oneof![
            (0..64_u16, any::<i32>())
                .prop_map(|(code, value)| DeviceEvent::AbsoluteAxis(code, value)),
            (0..16_u16, any::<i32>())
                .prop_map(|(code, value)| DeviceEvent::RelativeAxis(code, value)),
            (0x100..0x140_u16, any::<bool>())
                .prop_map(|(code, down)| DeviceEvent::Button(code, down)),
        ]
    }

    proptest! {
        #[test]
        fn any_events_keep_target_within_reach(
            events in proptest::collection::vec(any_event(), 0..60),
            range in (any::<i32>(), any::<i32>(), any::<i32>()),
            dt_s in any::<f64>(),
            tool_m in any::<[f64; 4]>(),
            is_pad in any::<bool>(),
        ) {
            let mut layout = if is_pad { pad() } else { puck() };
            let range = InputAxisRange { low: range.0, high: range.1, flat: range.2 };
            layout.axes.insert(Abs::ABS_X.0, range);
            let mut mapper = AimMapper::new(layout, CONTACT_M, START_M);
            let mut before = 0;
            for (ms, event) in events.into_iter().enumerate() {
                mapper.apply_event(event, at(ms as i64));
                let dt_s = if dt_s.is_finite() { dt_s } else { 0.0 };
                let aim = mapper.advance(at(ms as i64), dt_s, Some(tool_m));
                prop_assert!(aim.sequence > before);
                before = aim.sequence;
                if aim.present && !mapper.clutch {
                    let [x_m, y_m, z_m, open_m] = aim.position_m;
                    prop_assert!(x_m.abs() <= REACH_M && y_m.abs() <= REACH_M, "{aim:?}");
                    let depth_m = CONTACT_M - z_m;
                    prop_assert!((-DEPTH_M.1 - 1e-9..=DEPTH_M.0 + 1e-9).contains(&depth_m), "{aim:?}");
                    prop_assert!((JAWS_M.1..=JAWS_M.0).contains(&open_m));
                }
            }
        }
    }
}
