//! CRTK topics of a device at a low rate: pose, velocity, force, gripper and state.

use super::topic::TopicPublisher;
use super::{BusError, BusSession};
use palpate_transport::msg::crtk;
use palpate_transport::msg::crtk::{OperatingState, topic};
use palpate_transport::msg::{
    Header, JointState, OperatingStateReport, Point, Pose, PoseStamped, Twist, TwistStamped,
    Vector3, Wrench, WrenchStamped,
};
use palpate_transport::{Axes, Span, Time};

/// Period of the CRTK topics: 50 Hz.
const DEVICE_PERIOD: Span = Span(20_000_000);

/// Measured state of a device at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceView {
    /// ROS time of the measurement, since 1970.
    pub stamp: Time,
    /// Measured position \[m\].
    pub position_m: Axes,
    /// Measured velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Measured contact force \[N\]; with `None` no force is published.
    pub force_n: Option<Axes>,
    /// Position that the controller aims at \[m\].
    pub setpoint_m: Axes,
    /// Operating state.
    pub state: OperatingState,
    /// The device moves by itself.
    pub busy: bool,
}

/// Publisher of a device's CRTK topics.
pub struct DevicePublisher {
    measured_cp: TopicPublisher<PoseStamped>,
    measured_cv: TopicPublisher<TwistStamped>,
    measured_cf: TopicPublisher<WrenchStamped>,
    setpoint_cp: TopicPublisher<PoseStamped>,
    gripper: TopicPublisher<JointState>,
    operating_state: TopicPublisher<OperatingStateReport>,
    due: Option<Time>,
}

impl DevicePublisher {
    /// Publishes the state if a period has passed since the last time; returns true if it did.
    /// Missed periods are not made up for.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when the session is closed.
    pub fn publish(&mut self, view: &DeviceView, now: Time) -> Result<bool, BusError> {
        if self.due.is_some_and(|due| now < due) {
            return Ok(false);
        }
        self.due = Some(now + DEVICE_PERIOD);
        let header = Header {
            stamp: view.stamp.into(),
            frame_id: "world".to_owned(),
        };
        self.measured_cp
            .publish(&pose(&header, view.position_m), view.stamp)?;
        self.setpoint_cp
            .publish(&pose(&header, view.setpoint_m), view.stamp)?;
        let twist = Twist {
            linear: Vector3::from_axes(view.velocity_mps),
            angular: Vector3::default(),
        };
        self.measured_cv.publish(
            &TwistStamped {
                header: header.clone(),
                twist,
            },
            view.stamp,
        )?;
        if let Some(force_n) = view.force_n {
            let wrench = Wrench {
                force: Vector3::from_axes(force_n),
                torque: Vector3::default(),
            };
            self.measured_cf.publish(
                &WrenchStamped {
                    header: header.clone(),
                    wrench,
                },
                view.stamp,
            )?;
        }
        self.gripper.publish(&gripper(&header, view), view.stamp)?;
        let report = OperatingStateReport {
            header,
            state: view.state.name().to_owned(),
            is_homed: true,
            is_busy: view.busy,
        };
        self.operating_state.publish(&report, view.stamp)?;
        Ok(true)
    }
}

fn pose(header: &Header, [x, y, z, _]: Axes) -> PoseStamped {
    let pose = Pose {
        position: Point { x, y, z },
        ..Pose::default()
    };
    PoseStamped {
        header: header.clone(),
        pose,
    }
}

fn gripper(header: &Header, view: &DeviceView) -> JointState {
    let [.., opening_m] = view.position_m;
    let [.., opening_mps] = view.velocity_mps;
    JointState {
        header: header.clone(),
        name: vec!["gripper".to_owned()],
        position: vec![opening_m],
        velocity: vec![opening_mps],
        effort: view
            .force_n
            .map(|[.., effort_n]| effort_n)
            .into_iter()
            .collect(),
    }
}

impl BusSession {
    /// Returns the publishers of a device's CRTK topics below `<namespace>/<device>`.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid name, [`BusError::Zenoh`] when zenoh refuses.
    pub fn device_publisher(&self, device: &str) -> Result<DevicePublisher, BusError> {
        let namespace = topic(self.namespace(), device);
        let at = |name| topic(&namespace, name);
        Ok(DevicePublisher {
            measured_cp: self.publisher(&at(crtk::MEASURED_CP))?,
            measured_cv: self.publisher(&at(crtk::MEASURED_CV))?,
            measured_cf: self.publisher(&at(crtk::MEASURED_CF))?,
            setpoint_cp: self.publisher(&at(crtk::SETPOINT_CP))?,
            gripper: self.publisher(&at(crtk::GRIPPER_MEASURED_JS))?,
            operating_state: self.publisher(&at(crtk::OPERATING_STATE))?,
            due: None,
        })
    }
}
