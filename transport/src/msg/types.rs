//! The message types that Palpate sends, receives or records.
//!
//! Fields and names as in the ROS 2 packages `builtin_interfaces`, `std_msgs`, `geometry_msgs`,
//! `sensor_msgs` and in `crtk_msgs` (transport section 5); `palpate_msgs` is
//! ours. Vectors are in the frame that the header names, SI units.

use serde::{Deserialize, Serialize};

use super::{Description, Field, Kind, Message};
use crate::frame::HapticFrame;
use crate::stroke::{STROKE_CHANGES, Stroke, StrokeChange};
use crate::trace::{Side, TickRecord};

/// Give a struct its description: the same fields as serde sees, in the same order.
macro_rules! describe {
    ($type:ty, $name:literal, { $($field:ident: $kind:ty),+ $(,)? }) => {
        impl Message for $type {
            const DESCRIPTION: &'static Description = &Description {
                name: $name,
                fields: &[$((stringify!($field), <$kind as Field>::KIND)),+],
            };
        }
        impl Field for $type {
            const KIND: Kind = Kind::Nested(<$type as Message>::DESCRIPTION);
        }
    };
}

/// A moment, split as ROS 2 does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// Whole seconds.
    pub sec: i32,
    /// Nanoseconds past them, below 1e9.
    pub nanosec: u32,
}
describe!(Stamp, "builtin_interfaces/msg/Time", { sec: i32, nanosec: u32 });

impl From<crate::Time> for Stamp {
    /// Saturates where `int32` seconds end (year 2038).
    fn from(time: crate::Time) -> Self {
        const SECOND_NS: i64 = 1_000_000_000;
        let sec = time.0.div_euclid(SECOND_NS);
        Self {
            sec: sec.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
            nanosec: time.0.rem_euclid(SECOND_NS) as u32,
        }
    }
}

/// When and in which frame; a zero stamp says that the data are not valid (CRTK).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Header {
    /// When the data were measured.
    pub stamp: Stamp,
    /// Name of the coordinate frame.
    pub frame_id: String,
}
describe!(Header, "std_msgs/msg/Header", { stamp: Stamp, frame_id: String });

/// One number.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Float64 {
    /// The number.
    pub data: f64,
}
describe!(Float64, "std_msgs/msg/Float64", { data: f64 });

/// A free vector.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Vector3 {
    /// Along x.
    pub x: f64,
    /// Along y.
    pub y: f64,
    /// Along z.
    pub z: f64,
}
describe!(Vector3, "geometry_msgs/msg/Vector3", { x: f64, y: f64, z: f64 });

impl Vector3 {
    /// The first three of the port's axes; the fourth is the gripper's and travels as a joint.
    #[must_use]
    pub fn from_axes([x, y, z, _]: crate::Axes) -> Self {
        Self { x, y, z }
    }
}

/// A place \[m\].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Point {
    /// Along x \[m\].
    pub x: f64,
    /// Along y \[m\].
    pub y: f64,
    /// Along z \[m\].
    pub z: f64,
}
describe!(Point, "geometry_msgs/msg/Point", { x: f64, y: f64, z: f64 });

/// A rotation as a unit quaternion, scalar last; the default is no rotation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quaternion {
    /// i.
    pub x: f64,
    /// j.
    pub y: f64,
    /// k.
    pub z: f64,
    /// Scalar.
    pub w: f64,
}
describe!(Quaternion, "geometry_msgs/msg/Quaternion", { x: f64, y: f64, z: f64, w: f64 });

impl Default for Quaternion {
    fn default() -> Self {
        Self {
            x: 0.0,
            y: 0.0,
            z: 0.0,
            w: 1.0,
        }
    }
}

/// Place and rotation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Pose {
    /// Place \[m\].
    pub position: Point,
    /// Rotation.
    pub orientation: Quaternion,
}
describe!(Pose, "geometry_msgs/msg/Pose", { position: Point, orientation: Quaternion });

/// CRTK `*_cp`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PoseStamped {
    /// When and in which frame.
    pub header: Header,
    /// The pose.
    pub pose: Pose,
}
describe!(PoseStamped, "geometry_msgs/msg/PoseStamped", { header: Header, pose: Pose });

/// Velocity.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Twist {
    /// Of the origin \[m/s\].
    pub linear: Vector3,
    /// \[rad/s\].
    pub angular: Vector3,
}
describe!(Twist, "geometry_msgs/msg/Twist", { linear: Vector3, angular: Vector3 });

/// CRTK `*_cv`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TwistStamped {
    /// When and in which frame.
    pub header: Header,
    /// The velocity.
    pub twist: Twist,
}
describe!(TwistStamped, "geometry_msgs/msg/TwistStamped", { header: Header, twist: Twist });

/// Force and torque.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Wrench {
    /// \[N\].
    pub force: Vector3,
    /// \[N m\].
    pub torque: Vector3,
}
describe!(Wrench, "geometry_msgs/msg/Wrench", { force: Vector3, torque: Vector3 });

/// CRTK `*_cf`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WrenchStamped {
    /// When and in which frame.
    pub header: Header,
    /// Force and torque.
    pub wrench: Wrench,
}
describe!(WrenchStamped, "geometry_msgs/msg/WrenchStamped", { header: Header, wrench: Wrench });

/// CRTK `*_js`; each list is empty or as long as `name`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JointState {
    /// When.
    pub header: Header,
    /// Names of the joints.
    pub name: Vec<String>,
    /// \[rad\] or \[m\].
    pub position: Vec<f64>,
    /// \[rad/s\] or \[m/s\].
    pub velocity: Vec<f64>,
    /// \[N m\] or \[N\].
    pub effort: Vec<f64>,
}
describe!(JointState, "sensor_msgs/msg/JointState", {
    header: Header, name: Vec<String>, position: Vec<f64>, velocity: Vec<f64>, effort: Vec<f64>,
});

/// What CRTK's `operating_state` publishes (`crtk_msgs/msg/OperatingState`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OperatingStateReport {
    /// When.
    pub header: Header,
    /// `DISABLED`, `ENABLED`, `PAUSED` or `FAULT`.
    pub state: String,
    /// The device knows where it is.
    pub is_homed: bool,
    /// It moves of its own accord (homing, moving to a goal).
    pub is_busy: bool,
}
describe!(OperatingStateReport, "crtk_msgs/msg/OperatingState", {
    header: Header, state: String, is_homed: bool, is_busy: bool,
});

/// A word with a time: CRTK's `state_command`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StringStamped {
    /// When.
    pub header: Header,
    /// The word.
    pub string: String,
}
describe!(StringStamped, "crtk_msgs/msg/StringStamped", { header: Header, string: String });

describe!(HapticFrame, "palpate_msgs/msg/HapticFrame", {
    session: u64,
    peer_session: u64,
    sequence: u64,
    sent_ns: i64,
    echo_sent_ns: i64,
    echo_received_ns: i64,
    impedance_epoch: u32,
    flags: u32,
    impedance_nspm: f64,
    position_m: crate::Axes,
    velocity_mps: crate::Axes,
    port_force_n: crate::Axes,
    contact_force_n: crate::Axes,
    wave: crate::Axes,
    wave_integral: crate::Axes,
    energy_sent_j: crate::Axes,
    reservoir_j: crate::Axes,
    strokes: u64,
    topology: u64,
});

describe!(StrokeChange, "palpate_msgs/msg/StrokeChange", {
    element: u32, other: u32, by: [i16; 3], kind: u8, toward: u8,
});

describe!(Stroke, "palpate_msgs/msg/Stroke", {
    run: u64, number: u64, count: u32, part: u8, changes: [StrokeChange; STROKE_CHANGES],
});

describe!(TickRecord, "palpate_msgs/msg/TickRecord", {
    side: Side,
    tick: u64,
    now_ns: i64,
    late_ns: i64,
    compute_ns: i64,
    position_m: crate::Axes,
    velocity_mps: crate::Axes,
    port_position_m: crate::Axes,
    port_force_n: crate::Axes,
    tissue_force_n: crate::Axes,
    wave_out: crate::Axes,
    wave_in: crate::Axes,
    reservoir_j: crate::Axes,
    energy_sent_j: crate::Axes,
    energy_received_j: crate::Axes,
    tissue_energy_j: f64,
    update_energy_j: f64,
    corrected: f64,
    confidence: f64,
    twin_share: f64,
    intended_m: crate::Axes,
    age_ns: i64,
    oneway_ns: i64,
    oneway_bound_ns: i64,
    rtt_ns: i64,
    received_sequence: u64,
    received_count: u64,
    events: u32,
    state: u8,
    phase: u16,
    given: u32,
    periods: u32,
    given_ns: i64,
    frame_sequence: u64,
    frame_received_ns: i64,
    held_to_m: crate::Axes,
    instrument: u8,
    instrument_m: [f64; 3],
    revisions: [u16; 2],
    strokes: u64,
    topology: u64,
    links_cut: i64,
    parked_m: crate::Axes,
    parked_n: crate::Axes,
});

#[cfg(test)]
mod tests {
    use serde::de::{self, Deserializer, Visitor};
    use serde::forward_to_deserialize_any;

    use super::*;

    /// Asks serde for a struct's field names and gives no value.
    struct FieldNames<'a>(&'a mut Vec<&'static str>);

    impl<'de> Deserializer<'de> for FieldNames<'_> {
        type Error = de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            self.0.extend_from_slice(fields);
            Err(de::Error::custom("names only"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
            ignored_any
        }
    }

    fn check<T: Message>() {
        let mut serde_names = Vec::new();
        assert!(T::deserialize(FieldNames(&mut serde_names)).is_err());
        let described: Vec<_> = T::DESCRIPTION
            .fields
            .iter()
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(described, serde_names, "{}", T::DESCRIPTION.name);
    }

    #[test]
    fn descriptions_list_what_serde_lists() {
        check::<Stamp>();
        check::<Header>();
        check::<Float64>();
        check::<Vector3>();
        check::<Point>();
        check::<Quaternion>();
        check::<Pose>();
        check::<PoseStamped>();
        check::<Twist>();
        check::<TwistStamped>();
        check::<Wrench>();
        check::<WrenchStamped>();
        check::<JointState>();
        check::<OperatingStateReport>();
        check::<StringStamped>();
        check::<crate::msg::diagnostic::DiagnosticArray>();
        check::<HapticFrame>();
        check::<StrokeChange>();
        check::<Stroke>();
        check::<TickRecord>();
    }

    #[test]
    fn stamps_split_at_the_second_and_saturate() {
        let split = |ns| Stamp::from(crate::Time(ns));
        assert_eq!(
            split(1_500_000_000),
            Stamp {
                sec: 1,
                nanosec: 500_000_000
            }
        );
        assert_eq!(
            split(-1),
            Stamp {
                sec: -1,
                nanosec: 999_999_999
            }
        );
        assert_eq!(split(i64::MAX).sec, i32::MAX);
    }
}
