//! Where a tick goes in a recording, and to whoever looks at a session with the tools for recordings: topic, message
//! and bytes. Source: as [`super`].

use palpate_transport::Time;
use palpate_transport::cdr::{self, EncodeError};
use palpate_transport::msg::{
    Description, Header, Message as _, Point, Pose, PoseStamped, Quaternion, Vector3, Wrench,
    WrenchStamped, crtk,
};
use palpate_transport::trace::{Side, TickRecord};

/// Frame of all poses and forces.
pub const FRAME: &str = "world";

/// How messages are described, as MCAP names it.
pub const SCHEMA: &str = "ros2msg";

/// How they are written, likewise.
pub const ENCODING: &str = "cdr";

/// Writes what a topic tells of a tick, in the place of what was there.
pub type Encode = fn(&TickRecord, &mut Vec<u8>) -> Result<(), EncodeError>;

/// A topic of one side.
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its message.
    pub message: &'static Description,
    /// How a tick is told there.
    pub encode: Encode,
}

/// All topics of a side.
#[must_use]
pub fn of(side: Side) -> [Topic; 3] {
    let force = match side {
        Side::Master => crtk::SERVO_CF,
        Side::Slave => crtk::MEASURED_CF,
    };
    let name = |name| format!("/{}", crtk::topic(side.name(), name));
    [
        Topic {
            name: tick(side),
            message: TickRecord::DESCRIPTION,
            encode: |record, bytes| cdr::encode_into(record, bytes),
        },
        Topic {
            name: name(crtk::MEASURED_CP),
            message: PoseStamped::DESCRIPTION,
            encode: |record, bytes| cdr::encode_into(&pose(record), bytes),
        },
        Topic {
            name: name(force),
            message: WrenchStamped::DESCRIPTION,
            encode: |record, bytes| cdr::encode_into(&wrench(record), bytes),
        },
    ]
}

/// The topic of whole ticks of a side.
#[must_use]
pub fn tick(side: Side) -> String {
    format!("/palpate/{}/tick", side.name())
}

fn header(record: &TickRecord) -> Header {
    Header {
        stamp: Time(record.now_ns).into(),
        frame_id: FRAME.to_owned(),
    }
}

fn pose(record: &TickRecord) -> PoseStamped {
    let [x, y, z, _] = record.position_m;
    let pose = Pose {
        position: Point { x, y, z },
        orientation: Quaternion::default(),
    };
    PoseStamped {
        header: header(record),
        pose,
    }
}

/// Force on the hand (the opposite of what the handle pushes into the channel), or on the probe \[N\].
#[must_use]
pub fn force_n(record: &TickRecord) -> palpate_transport::Axes {
    match record.side {
        Side::Master => record.port_force_n.map(|f| -f),
        Side::Slave => record.tissue_force_n,
    }
}

fn wrench(record: &TickRecord) -> WrenchStamped {
    let wrench = Wrench {
        force: Vector3::from_axes(force_n(record)),
        ..Wrench::default()
    };
    WrenchStamped {
        header: header(record),
        wrench,
    }
}
