//! Topics of a tick, in a recording and for live tools that read recordings: name, message
//! and encoder. Source: as [`super`].

use palpate_transport::Time;
use palpate_transport::cdr::{self, EncodeError};
use palpate_transport::msg::{
    Header, Message as _, MessageDescription, Point, Pose, PoseStamped, Quaternion, Vector3,
    Wrench, WrenchStamped, crtk,
};
use palpate_transport::trace::{Side, TickRecord};

/// Namespace of the topics, also on the bus.
const NAMESPACE: &str = "palpate";

/// Frame of all poses and forces.
pub const FRAME: &str = "world";

/// Encoding of message descriptions, as MCAP names it.
pub const SCHEMA: &str = "ros2msg";

/// Encoding of messages, as MCAP names it.
pub const ENCODING: &str = "cdr";

/// Encodes the message of a tick into the buffer, replacing its content; the number is the ROS time at which the clock
/// of the ticks reads 0 \[ns\].
pub type TopicEncoder = fn(&TickRecord, i64, &mut Vec<u8>) -> Result<(), EncodeError>;

/// A topic of one side.
pub struct RecordedTopic {
    /// Name of the topic.
    pub name: String,
    /// Message type.
    pub message: &'static MessageDescription,
    /// Encoder of a tick.
    pub encode: TopicEncoder,
}

/// All topics of a side.
#[must_use]
pub fn of(side: Side) -> [RecordedTopic; 3] {
    let name = |name| format!("/{NAMESPACE}/{}", crtk::topic(side.name(), name));
    [
        RecordedTopic {
            name: tick(side),
            message: TickRecord::DESCRIPTION,
            encode: |record, _, bytes| cdr::encode_into(record, bytes),
        },
        RecordedTopic {
            name: name(crtk::MEASURED_CP),
            message: PoseStamped::DESCRIPTION,
            encode: |record, epoch_ns, bytes| cdr::encode_into(&pose(record, epoch_ns), bytes),
        },
        RecordedTopic {
            name: name(crtk::MEASURED_CF),
            message: WrenchStamped::DESCRIPTION,
            encode: |record, epoch_ns, bytes| cdr::encode_into(&wrench(record, epoch_ns), bytes),
        },
    ]
}

/// Topic of whole ticks of a side.
#[must_use]
pub fn tick(side: Side) -> String {
    format!("/{NAMESPACE}/{}/tick", side.name())
}

fn header(record: &TickRecord, epoch_ns: i64) -> Header {
    Header {
        stamp: Time(epoch_ns.saturating_add(record.now_ns)).into(),
        frame_id: FRAME.to_owned(),
    }
}

fn pose(record: &TickRecord, epoch_ns: i64) -> PoseStamped {
    let [x, y, z, _] = record.position_m;
    let pose = Pose {
        position: Point { x, y, z },
        orientation: Quaternion::default(),
    };
    PoseStamped {
        header: header(record, epoch_ns),
        pose,
    }
}

/// Force on the hand (opposite to the handle's force into the channel), or on the probe \[N\].
#[must_use]
pub fn force_n(record: &TickRecord) -> palpate_transport::Axes {
    match record.side {
        Side::Master => record.port_force_n.map(|f| -f),
        Side::Slave => record.tissue_force_n,
    }
}

fn wrench(record: &TickRecord, epoch_ns: i64) -> WrenchStamped {
    let wrench = Wrench {
        force: Vector3::from_axes(force_n(record)),
        ..Wrench::default()
    };
    WrenchStamped {
        header: header(record, epoch_ns),
        wrench,
    }
}
