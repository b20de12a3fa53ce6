//! What the events of a gamepad, a joystick or a 3-D mouse mean: events in, aim out.
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
//! Ranges and dead zones are those that the device states of its axes; where it states no dead zone it has
//! [`DEAD`] of its range. Beyond its dead zone an axis begins at 0, so nothing jumps. An axis of a 3-D mouse that
//! reports motion (`EV_REL`) says how far it is pushed as long as it is, and nothing when it is let go: after
//! `REL_FADE` of silence it counts as let go. Source: ours.

use std::collections::BTreeMap;

use evdev::{AbsoluteAxisCode as Abs, KeyCode as Key, RelativeAxisCode as Rel};
use palpate_master::device::pointer::Aim;
use palpate_transport::{Axes, Span, Time};

/// Dead zone where a device states none, as a share of the range on one side.
pub const DEAD: f64 = 0.08;

/// Push of a 3-D mouse at which an axis that reports motion is full: what 3Dconnexion's give at most.
const REL_FULL: f64 = 350.0;

/// Silence after which such an axis is let go; they speak some 60 times a second.
const REL_FADE: Span = Span(60_000_000);

/// Fastest motion in the plane \[m/s\].
const PLANE_MPS: f64 = 0.04;

/// Fastest motion in depth \[m/s\].
const DEPTH_MPS: f64 = 0.02;

/// Height above first contact to which a grasp brings the aim, and at which a trigger begins \[m\].
const HOVER_M: f64 = 0.004;

/// Depth of a trigger that is pressed home \[m\].
const TRIGGER_M: f64 = 0.012;

/// Farthest place in the plane, by axis \[m\].
const REACH_M: f64 = 0.045;

/// Deepest and highest aim, from first contact \[m\].
const DEPTH_M: (f64, f64) = (0.02, 0.03);

/// Opening of the jaws, and what is left of it when they are closed \[m\].
const JAWS_M: (f64, f64) = (0.02, 0.003);

/// Something that a device said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Where an axis is.
    Axis(u16, i32),
    /// How far an axis was moved.
    Moved(u16, i32),
    /// Whether a button is down.
    Button(u16, bool),
}

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Two thumbs, or a stick.
    Gamepad,
    /// A cap that is pushed in three ways.
    Puck,
}

impl Kind {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gamepad => "gamepad",
            Self::Puck => "3-D mouse",
        }
    }
}

/// What an axis says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Least value.
    pub low: i32,
    /// Largest value.
    pub high: i32,
    /// Half width of the dead zone; 0 is not stated.
    pub flat: i32,
}

impl Range {
    /// -1 to 1 about the middle; 0 within the dead zone, and of a range that is none.
    #[must_use]
    pub fn centred(&self, value: i32) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let half = 0.5 * (high - low);
        beyond(
            (f64::from(value) - 0.5 * (high + low)) / half,
            self.dead(half),
        )
    }

    /// 0 to 1 from the low end; 0 within the dead zone.
    #[must_use]
    pub fn share(&self, value: i32) -> f64 {
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

/// What is left of a share beyond a dead zone, from 0 at its edge to 1 at the end.
fn beyond(share: f64, dead: f64) -> f64 {
    if !share.is_finite() || !(0.0..1.0).contains(&dead) {
        return 0.0;
    }
    let size = ((share.abs() - dead) / (1.0 - dead)).clamp(0.0, 1.0);
    size.copysign(share)
}

/// What a device has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What it is.
    pub kind: Kind,
    /// Its absolute axes.
    pub axes: BTreeMap<u16, Range>,
    /// The axis that presses, if one does.
    trigger: Option<u16>,
    /// The axis of the speed in depth, if one has it.
    depth: Option<u16>,
}

impl Shape {
    /// Of a device with these absolute and relative axes and buttons; nothing if no handle can be led with them.
    #[must_use]
    pub fn of(axes: BTreeMap<u16, Range>, relative: &[u16], buttons: &[u16]) -> Option<Self> {
        let has = |codes: &[Abs]| codes.iter().all(|code| axes.contains_key(&code.0));
        let button = |key: Key| buttons.contains(&key.0);
        let moved = |codes: &[Rel]| codes.iter().all(|code| relative.contains(&code.0));
        let thumbs = has(&[Abs::ABS_X, Abs::ABS_Y]);
        let (trigger, depth, kind) =
            if thumbs && (button(Key::BTN_SOUTH) || button(Key::BTN_TRIGGER)) {
                let second = has(&[Abs::ABS_RX, Abs::ABS_RY]);
                let trigger = [(Abs::ABS_GAS, true), (Abs::ABS_RZ, second)].into_iter();
                let trigger = trigger
                    .filter(|(code, own)| *own && has(&[*code]))
                    .map(|(code, _)| code.0)
                    .next();
                let sticks = [Abs::ABS_RY, Abs::ABS_RZ, Abs::ABS_THROTTLE].into_iter();
                let depth = sticks
                    .filter(|code| has(&[*code]))
                    .map(|code| code.0)
                    .next();
                (trigger, depth, Kind::Gamepad)
            } else if has(&[Abs::ABS_X, Abs::ABS_Y, Abs::ABS_Z, Abs::ABS_RX])
                || moved(&[Rel::REL_X, Rel::REL_Y, Rel::REL_Z, Rel::REL_RX])
            {
                (None, has(&[Abs::ABS_Z]).then_some(Abs::ABS_Z.0), Kind::Puck)
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

/// What the operator's hand does by a device.
#[derive(Debug, Clone)]
pub struct Lead {
    shape: Shape,
    /// Height of the tool at first contact \[m\].
    contact_m: f64,
    /// Push of each way of the plane and of depth, down being positive, -1 to 1.
    push: [f64; 3],
    /// When each was moved last, of axes that fade.
    moved: [Option<Time>; 3],
    /// How far the trigger is pressed, 0 to 1.
    pressed: Option<f64>,
    hold: bool,
    jaws: bool,
    clutch: bool,
    stop: bool,
    aim: Aim,
}

impl Lead {
    /// Nobody holds the handle yet, which begins at `start_m`; the tool touches at a height of `contact_m`.
    #[must_use]
    pub fn new(shape: Shape, contact_m: f64, start_m: Axes) -> Self {
        let aim = Aim {
            position_m: start_m,
            ..Aim::default()
        };
        Self {
            shape,
            contact_m,
            push: [0.0; 3],
            moved: [None; 3],
            pressed: None,
            hold: false,
            jaws: false,
            clutch: false,
            stop: false,
            aim,
        }
    }

    /// Take something that the device said at `now`.
    pub fn hear(&mut self, said: Said, now: Time) {
        match said {
            Said::Axis(code, value) => self.axis(code, value),
            Said::Moved(code, value) => {
                let ways = [(Rel::REL_X, 1.0), (Rel::REL_Y, -1.0), (Rel::REL_Z, 1.0)];
                let way = ways.iter().position(|(rel, _)| rel.0 == code);
                if let Some(way) = way.filter(|_| self.shape.kind == Kind::Puck) {
                    self.push[way] = ways[way].1 * beyond(f64::from(value) / REL_FULL, DEAD);
                    self.moved[way] = Some(now);
                }
            }
            Said::Button(code, down) => self.button(Key(code), down),
        }
    }

    fn axis(&mut self, code: u16, value: i32) {
        let Some(range) = self.shape.axes.get(&code) else {
            return;
        };
        if self.shape.trigger == Some(code) {
            self.pressed = Some(range.share(value));
        } else if code == Abs::ABS_X.0 {
            self.push[0] = range.centred(value);
        } else if code == Abs::ABS_Y.0 {
            // away from the hand is up on every stick
            self.push[1] = -range.centred(value);
        } else if self.shape.depth == Some(code) {
            // pulled towards the hand, or pushed down, presses
            self.push[2] = range.centred(value);
        }
    }

    fn button(&mut self, key: Key, down: bool) {
        match (self.shape.kind, key) {
            (Kind::Gamepad, Key::BTN_SOUTH | Key::BTN_TRIGGER) => self.hold = down,
            (Kind::Gamepad, Key::BTN_TR | Key::BTN_THUMB) => self.jaws = down,
            (Kind::Gamepad, Key::BTN_TL | Key::BTN_THUMB2) => self.clutch = down,
            (Kind::Gamepad, Key::BTN_EAST | Key::BTN_TOP) | (Kind::Puck, Key::BTN_2) => {
                self.stop |= down;
            }
            (Kind::Puck, Key::BTN_0) if down => {
                self.hold = !self.hold;
                self.stop |= self.jaws;
            }
            (Kind::Puck, Key::BTN_1) => self.jaws = down,
            (Kind::Puck, Key::BTN_3) => self.clutch = down,
            _ => {}
        }
        // what stops lets go as well: only a new grasp takes the handle again
        self.hold &= !self.stop;
    }

    /// Whether a stop was asked for since this was asked last.
    pub fn stops(&mut self) -> bool {
        core::mem::take(&mut self.stop)
    }

    /// The tissue is another from now on, touched at this height \[m\].
    pub fn touches_at(&mut self, contact_m: f64) {
        self.contact_m = contact_m;
    }

    /// The aim `dt_s` later \[s\], at `now`; `tool_m` is where the tool is, if that is known.
    pub fn aim(&mut self, now: Time, dt_s: f64, tool_m: Option<Axes>) -> Aim {
        for (push, moved) in self.push.iter_mut().zip(&mut self.moved) {
            if moved.is_some_and(|at| now - at > REL_FADE) {
                (*push, *moved) = (0.0, None);
            }
        }
        if self.hold && !self.aim.present {
            self.take(tool_m);
        }
        self.aim.present = self.hold;
        self.aim.closed = self.jaws;
        self.aim.position_m[3] = if self.jaws { JAWS_M.1 } else { JAWS_M.0 };
        if self.hold && !self.clutch {
            self.go(dt_s);
        }
        self.aim.number += 1;
        self.aim
    }

    /// A device that is gone holds nothing.
    pub fn gone(&mut self) -> Aim {
        self.hold = false;
        self.aim.present = false;
        self.aim.number += 1;
        self.aim
    }

    /// Take the handle where the tool is, down to just above the tissue.
    fn take(&mut self, tool_m: Option<Axes>) {
        if let Some(tool_m) = tool_m.filter(|place| place.iter().all(|m| m.is_finite())) {
            self.aim.position_m = tool_m;
        }
        let z_m = &mut self.aim.position_m[2];
        *z_m = z_m.min(self.contact_m + HOVER_M);
    }

    fn go(&mut self, dt_s: f64) {
        let dt_s = dt_s.clamp(0.0, 0.1);
        let [x_m, y_m, z_m, _] = &mut self.aim.position_m;
        *x_m = (*x_m + dt_s * PLANE_MPS * self.push[0]).clamp(-REACH_M, REACH_M);
        *y_m = (*y_m + dt_s * PLANE_MPS * self.push[1]).clamp(-REACH_M, REACH_M);
        *z_m = match self.pressed {
            Some(pressed) => self.contact_m + HOVER_M - pressed * (HOVER_M + TRIGGER_M),
            None => *z_m - dt_s * DEPTH_MPS * self.push[2],
        };
        *z_m = z_m.clamp(self.contact_m - DEPTH_M.0, self.contact_m + DEPTH_M.1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STICK: Range = Range {
        low: -32768,
        high: 32767,
        flat: 4000,
    };
    const TRIGGER: Range = Range {
        low: 0,
        high: 255,
        flat: 0,
    };
    const START_M: Axes = [0.01, 0.0, 0.03, 0.02];
    const CONTACT_M: f64 = 0.008;
    const STEP_S: f64 = 0.008;

    /// As the kernel's driver of most pads has it.
    fn pad() -> Shape {
        let sticks = [Abs::ABS_X, Abs::ABS_Y, Abs::ABS_RX, Abs::ABS_RY];
        let sticks = sticks.map(|code| (code.0, STICK));
        let triggers = [Abs::ABS_Z, Abs::ABS_RZ].map(|code| (code.0, TRIGGER));
        let axes = sticks.into_iter().chain(triggers).collect();
        Shape::of(axes, &[], &[Key::BTN_SOUTH.0]).expect("a pad")
    }

    /// A 3-D mouse that reports motion.
    fn puck() -> Shape {
        let relative: Vec<u16> = (0..6).collect();
        Shape::of(BTreeMap::new(), &relative, &[Key::BTN_0.0]).expect("a puck")
    }

    fn at(ms: i64) -> Time {
        Time(ms * 1_000_000)
    }

    fn led(lead: &mut Lead, ms: core::ops::Range<i64>) -> Aim {
        ms.step_by(8)
            .fold(lead.aim, |_, ms| lead.aim(at(ms), STEP_S, Some(START_M)))
    }

    #[test]
    fn devices_are_told_apart_and_others_left_alone() {
        assert_eq!((pad().kind, puck().kind), (Kind::Gamepad, Kind::Puck));
        assert_eq!(pad().trigger, Some(Abs::ABS_RZ.0));
        // a mouse, and a touch screen
        let mouse = [Rel::REL_X.0, Rel::REL_Y.0, Rel::REL_WHEEL.0];
        assert_eq!(Shape::of(BTreeMap::new(), &mouse, &[Key::BTN_LEFT.0]), None);
        let touch = [Abs::ABS_X, Abs::ABS_Y].map(|code| (code.0, STICK));
        assert_eq!(Shape::of(touch.into(), &[], &[Key::BTN_TOUCH.0]), None);
    }

    #[test]
    fn a_pad_presses_while_its_button_is_held() {
        let mut lead = Lead::new(pad(), CONTACT_M, START_M);
        lead.hear(Said::Axis(Abs::ABS_X.0, 32767), at(0));
        assert!(!led(&mut lead, 0..100).present, "nobody holds it");
        lead.hear(Said::Button(Key::BTN_SOUTH.0, true), at(100));
        let held = led(&mut lead, 100..1100);
        assert!(held.present);
        assert!((held.position_m[0] - REACH_M).abs() < 0.01, "{held:?}");
        lead.hear(Said::Axis(Abs::ABS_RZ.0, 255), at(1100));
        let pressed = led(&mut lead, 1100..1110);
        assert!((pressed.position_m[2] - (CONTACT_M - TRIGGER_M)).abs() < 1e-12);
        lead.hear(Said::Button(Key::BTN_TR.0, true), at(1110));
        assert!(led(&mut lead, 1110..1120).closed);
        lead.hear(Said::Button(Key::BTN_TL.0, true), at(1120));
        lead.hear(Said::Axis(Abs::ABS_RZ.0, 0), at(1120));
        let stays = led(&mut lead, 1120..1400);
        assert_eq!(
            stays.position_m,
            [pressed.position_m[0], 0.0, pressed.position_m[2], JAWS_M.1]
        );
        lead.hear(Said::Button(Key::BTN_SOUTH.0, false), at(1400));
        assert!(!led(&mut lead, 1400..1410).present);
    }

    #[test]
    fn a_stop_is_said_once_and_lets_go() {
        let mut lead = Lead::new(pad(), CONTACT_M, START_M);
        lead.hear(Said::Button(Key::BTN_SOUTH.0, true), at(0));
        assert!(led(&mut lead, 0..10).present && !lead.stops());
        lead.hear(Said::Button(Key::BTN_EAST.0, true), at(10));
        assert!(lead.stops() && !lead.stops());
        assert!(!led(&mut lead, 10..20).present);
        let mut lead = Lead::new(puck(), CONTACT_M, START_M);
        lead.hear(Said::Button(Key::BTN_1.0, true), at(0));
        lead.hear(Said::Button(Key::BTN_0.0, true), at(0));
        assert!(lead.stops() && !led(&mut lead, 0..10).present);
    }

    #[test]
    fn a_puck_that_is_let_go_stands_still() {
        let mut lead = Lead::new(puck(), CONTACT_M, START_M);
        lead.hear(Said::Button(Key::BTN_0.0, true), at(0));
        let mut pushed = led(&mut lead, 0..10);
        for ms in (16..416).step_by(16) {
            lead.hear(Said::Moved(Rel::REL_Z.0, 350), at(ms));
            lead.hear(Said::Moved(Rel::REL_Y.0, 350), at(ms));
            pushed = led(&mut lead, ms..ms + 16);
        }
        assert!(pushed.position_m[2] < CONTACT_M - 0.003, "down: {pushed:?}");
        assert!(pushed.position_m[1] < -0.01, "towards the hand: {pushed:?}");
        // its last word is felt for 60 ms more
        let faded = led(&mut lead, 416..500);
        let later = led(&mut lead, 500..900);
        assert_eq!(faded.position_m, later.position_m);
        assert!(later.present && !lead.gone().present);
    }

    #[test]
    fn dead_zones_are_those_of_the_device() {
        assert_eq!(STICK.centred(3900), 0.0);
        assert!((0.0..1e-3).contains(&STICK.centred(4010)) && STICK.centred(4010) > 0.0);
        assert_eq!((STICK.centred(32767), STICK.centred(-32768)), (1.0, -1.0));
        assert_eq!((TRIGGER.share(15), TRIGGER.share(255)), (0.0, 1.0));
        for none in [(5, 5, 0), (9, -9, 3), (0, 0, -1)] {
            let range = Range {
                low: none.0,
                high: none.1,
                flat: none.2,
            };
            assert!(range.centred(7).is_finite() && range.share(7).is_finite());
        }
    }

    fn any_said() -> impl Strategy<Value = Said> {
        prop_oneof![
            (0..64_u16, any::<i32>()).prop_map(|(code, value)| Said::Axis(code, value)),
            (0..16_u16, any::<i32>()).prop_map(|(code, value)| Said::Moved(code, value)),
            (0x100..0x140_u16, any::<bool>()).prop_map(|(code, down)| Said::Button(code, down)),
        ]
    }

    proptest! {
        #[test]
        fn whatever_a_device_says_the_aim_is_within_reach(
            said in proptest::collection::vec(any_said(), 0..60),
            range in (any::<i32>(), any::<i32>(), any::<i32>()),
            dt_s in any::<f64>(),
            tool_m in any::<[f64; 4]>(),
            is_pad in any::<bool>(),
        ) {
            let mut shape = if is_pad { pad() } else { puck() };
            let range = Range { low: range.0, high: range.1, flat: range.2 };
            shape.axes.insert(Abs::ABS_X.0, range);
            let mut lead = Lead::new(shape, CONTACT_M, START_M);
            let mut before = 0;
            for (ms, said) in said.into_iter().enumerate() {
                lead.hear(said, at(ms as i64));
                let dt_s = if dt_s.is_finite() { dt_s } else { 0.0 };
                let aim = lead.aim(at(ms as i64), dt_s, Some(tool_m));
                prop_assert!(aim.number > before);
                before = aim.number;
                if aim.present && !lead.clutch {
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
