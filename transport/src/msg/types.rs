//! Message types that Palpate sends, receives or records.
//!
//! Fields and names follow the ROS 2 packages `builtin_interfaces`, `std_msgs`, `geometry_msgs`,
//! `sensor_msgs` and `crtk_msgs` (transport section 5); `palpate_msgs` is ours. Vectors are in the frame
//! that the header names, SI units.

use super::message;

message! {
    "builtin_interfaces/msg/Time"
    /// A time, split as ROS 2 does.
    #[derive(Copy, Eq, Default)]
    pub struct Stamp {
        /// Whole seconds.
        pub sec: i32,
        /// Nanoseconds past them, below 1e9.
        pub nanosec: u32,
    }
}

impl From<crate::Time> for Stamp {
    /// Converts a time; saturates where `int32` seconds end (year 2038).
    fn from(time: crate::Time) -> Self {
        const SECOND_NS: i64 = 1_000_000_000;
        let sec = time.0.div_euclid(SECOND_NS);
        Self {
            sec: sec.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
            nanosec: time.0.rem_euclid(SECOND_NS) as u32,
        }
    }
}

message! {
    "std_msgs/msg/Header"
    /// Time and frame of a message; a zero stamp means that the data are not valid (CRTK).
    #[derive(Eq, Default)]
    pub struct Header {
        /// Time of the measurement.
        pub stamp: Stamp,
        /// Name of the coordinate frame.
        pub frame_id: String,
    }
}

message! {
    "geometry_msgs/msg/Vector3"
    /// A free vector.
    #[derive(Copy, Default)]
    pub struct Vector3 {
        /// Along x.
        pub x: f64,
        /// Along y.
        pub y: f64,
        /// Along z.
        pub z: f64,
    }
}

impl Vector3 {
    /// First three axes of the port; the fourth is the gripper's and is sent as a joint.
    #[must_use]
    pub fn from_axes([x, y, z, _]: crate::Axes) -> Self {
        Self { x, y, z }
    }
}

message! {
    "geometry_msgs/msg/Point"
    /// A position \[m\].
    #[derive(Copy, Default)]
    pub struct Point {
        /// Along x \[m\].
        pub x: f64,
        /// Along y \[m\].
        pub y: f64,
        /// Along z \[m\].
        pub z: f64,
    }
}

message! {
    "geometry_msgs/msg/Quaternion"
    /// A rotation as a unit quaternion, scalar last; the default is no rotation.
    #[derive(Copy)]
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
}

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

message! {
    "geometry_msgs/msg/Pose"
    /// Position and rotation.
    #[derive(Copy, Default)]
    pub struct Pose {
        /// Position \[m\].
        pub position: Point,
        /// Rotation.
        pub orientation: Quaternion,
    }
}

message! {
    "geometry_msgs/msg/PoseStamped"
    /// CRTK `*_cp`.
    #[derive(Default)]
    pub struct PoseStamped {
        /// Time and frame.
        pub header: Header,
        /// The pose.
        pub pose: Pose,
    }
}

message! {
    "geometry_msgs/msg/Twist"
    /// Velocity.
    #[derive(Copy, Default)]
    pub struct Twist {
        /// Velocity of the origin \[m/s\].
        pub linear: Vector3,
        /// Angular velocity \[rad/s\].
        pub angular: Vector3,
    }
}

message! {
    "geometry_msgs/msg/TwistStamped"
    /// CRTK `*_cv`.
    #[derive(Default)]
    pub struct TwistStamped {
        /// Time and frame.
        pub header: Header,
        /// The velocity.
        pub twist: Twist,
    }
}

message! {
    "geometry_msgs/msg/Wrench"
    /// Force and torque.
    #[derive(Copy, Default)]
    pub struct Wrench {
        /// Force \[N\].
        pub force: Vector3,
        /// Torque \[N m\].
        pub torque: Vector3,
    }
}

message! {
    "geometry_msgs/msg/WrenchStamped"
    /// CRTK `*_cf`.
    #[derive(Default)]
    pub struct WrenchStamped {
        /// Time and frame.
        pub header: Header,
        /// Force and torque.
        pub wrench: Wrench,
    }
}

message! {
    "sensor_msgs/msg/JointState"
    /// CRTK `*_js`; each list is empty or as long as `name`.
    #[derive(Default)]
    pub struct JointState {
        /// Time of the measurement.
        pub header: Header,
        /// Names of the joints.
        pub name: Vec<String>,
        /// Positions \[rad\] or \[m\].
        pub position: Vec<f64>,
        /// Velocities \[rad/s\] or \[m/s\].
        pub velocity: Vec<f64>,
        /// Efforts \[N m\] or \[N\].
        pub effort: Vec<f64>,
    }
}

message! {
    "crtk_msgs/msg/OperatingState"
    /// State in CRTK's topic `operating_state` (`crtk_msgs/msg/OperatingState`).
    #[derive(Eq, Default)]
    pub struct OperatingStateReport {
        /// Time of the report.
        pub header: Header,
        /// `DISABLED`, `ENABLED`, `PAUSED` or `FAULT`.
        pub state: String,
        /// True if the reference position is known.
        pub is_homed: bool,
        /// True if the device moves by itself (homing, moving to a goal).
        pub is_busy: bool,
    }
}

message! {
    "crtk_msgs/msg/StringStamped"
    /// A word with a time, for CRTK's `state_command`.
    #[derive(Eq, Default)]
    pub struct StringStamped {
        /// Time of sending.
        pub header: Header,
        /// The word.
        pub string: String,
    }
}

#[cfg(test)]
mod tests {
    use serde::de::{self, Deserializer, Visitor};
    use serde::forward_to_deserialize_any;

    use super::*;
    use crate::HapticFrame;
    use crate::edit_batch::{BatchChange, EditBatch};
    use crate::msg::Message;
    use crate::trace::TickRecord;

    /// Deserializer that collects a struct's field names and returns no value.
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
    fn descriptions_match_serde_fields() {
        check::<Stamp>();
        check::<Header>();
        check::<crate::msg::diagnostic::Float64>();
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
        check::<BatchChange>();
        check::<EditBatch>();
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
