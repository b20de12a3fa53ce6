//! Conversion of a session to a `foxglove.SceneUpdate`: surface, tool, probe and force.
//!
//! Source: ours; messages as docs.foxglove.dev describes them. Lengths in m, frame `world`.

use foxglove::messages::{
    ArrowPrimitive, Color, Point3, Pose, Quaternion, SceneEntity, SceneUpdate, SpherePrimitive,
    Timestamp, TriangleListPrimitive, Vector3,
};
use palpate_transport::trace::{Side, TickRecord};

use palpate_session::monitor::wire;
use palpate_session::record::topic;

/// Radius at which tool and probe are drawn \[m\].
const RADIUS_M: f64 = 0.008;

/// Length of the arrow of a newton \[m\].
const ARROW_M_PER_N: f64 = 0.012;

/// Force below which no arrow is drawn \[N\].
const SHOWN_N: f64 = 0.03;

/// Bytes of a node and of a face in a message.
const NODE_BYTES: usize = 29;
const FACE_BYTES: usize = 12;

/// Surface of the scene.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SceneSurface {
    points_m: Vec<[f32; 3]>,
    indices: Vec<u32>,
    revision: u32,
}

impl SceneSurface {
    /// Takes a mesh as [`wire`] writes it; an invalid frame gives an empty mesh.
    pub(super) fn set_mesh(&mut self, frame: &[u8]) {
        let (nodes, revision) = (word(frame, 12), word(frame, 20));
        let rest = frame.get(wire::HEADER..).unwrap_or_default();
        let (places, faces) = rest.split_at(rest.len().min(12 * nodes as usize));
        self.points_m = threes(places);
        self.indices = faces.chunks_exact(4).map(|bytes| word(bytes, 0)).collect();
        self.revision = revision;
    }

    /// Takes the positions of its nodes; a frame of another mesh is ignored.
    pub(super) fn set_positions(&mut self, frame: &[u8]) {
        let places = frame.get(wire::HEADER..).unwrap_or_default();
        if word(frame, 20) == self.revision && places.len() == 12 * self.points_m.len() {
            self.points_m = threes(places);
        }
    }

    /// Approximate size of the surface in a message \[bytes\].
    pub(super) fn bytes(&self) -> usize {
        NODE_BYTES * self.points_m.len() + FACE_BYTES * self.indices.len() / 3
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_le_bytes)
}

fn threes(bytes: &[u8]) -> Vec<[f32; 3]> {
    let three = |chunk: &[u8]| [0, 4, 8].map(|at| f32::from_bits(word(chunk, at)));
    bytes.chunks_exact(12).map(three).collect()
}

/// Builds the scene at a time \[ns\].
pub(super) fn of(
    newest: &[Option<TickRecord>; 2],
    surface: &SceneSurface,
    at_ns: i64,
) -> SceneUpdate {
    let [master, slave] = newest.map(|record| record.filter(finite));
    let shown = |record: Option<TickRecord>, rgba| {
        let balls = record.map(|record| ball(place(&record), rgba));
        balls.into_iter().collect()
    };
    let entities = vec![
        SceneEntity {
            spheres: shown(master, [0.23, 0.48, 0.84, 0.6]),
            ..entity("tool", at_ns)
        },
        SceneEntity {
            spheres: shown(slave, [1.0, 0.54, 0.16, 0.6]),
            ..entity("probe", at_ns)
        },
        // an entity without primitives replaces the previous one, which removes an arrow without force
        SceneEntity {
            arrows: master.as_ref().and_then(arrow).into_iter().collect(),
            ..entity("force", at_ns)
        },
        SceneEntity {
            triangles: vec![triangles(surface)],
            ..entity("tissue", at_ns)
        },
    ];
    SceneUpdate {
        deletions: Vec::new(),
        entities,
    }
}

fn finite(record: &TickRecord) -> bool {
    record
        .position_m
        .iter()
        .chain(&record.port_force_n)
        .all(|x| x.is_finite())
}

fn entity(id: &str, at_ns: i64) -> SceneEntity {
    let (seconds, rest) = (at_ns.max(0) / 1_000_000_000, at_ns.max(0) % 1_000_000_000);
    SceneEntity {
        timestamp: Some(Timestamp::new(
            u32::try_from(seconds).unwrap_or(u32::MAX),
            rest as u32,
        )),
        frame_id: topic::FRAME.into(),
        id: id.into(),
        ..SceneEntity::default()
    }
}

fn place(record: &TickRecord) -> Vector3 {
    let [x, y, z, _] = record.position_m;
    Vector3 { x, y, z }
}

fn colour([r, g, b, a]: [f64; 4]) -> Color {
    Color { r, g, b, a }
}

/// Returns a position with a rotation, by its quaternion from x to w.
fn pose(at: Vector3, [x, y, z, w]: [f64; 4]) -> Option<Pose> {
    Some(Pose {
        position: Some(at),
        orientation: Some(Quaternion { x, y, z, w }),
    })
}

fn ball(at: Vector3, rgba: [f64; 4]) -> SpherePrimitive {
    let [x, y, z] = [2.0 * RADIUS_M; 3];
    SpherePrimitive {
        pose: pose(at, [0.0, 0.0, 0.0, 1.0]),
        size: Some(Vector3 { x, y, z }),
        color: Some(colour(rgba)),
    }
}

/// Arrow of the force on the hand; an arrow of that message points along x of its pose.
fn arrow(record: &TickRecord) -> Option<ArrowPrimitive> {
    debug_assert_eq!(record.side, Side::Master);
    let [x, y, z, _] = topic::force_n(record);
    let size_n = libm::sqrt(x * x + y * y + z * z);
    if size_n < SHOWN_N {
        return None;
    }
    // the rotation from x to the force by their bisector; to the opposite direction, about z
    let [x, y, z] = [x, y, z].map(|axis| axis / size_n);
    let half = libm::sqrt(2.0 * (1.0 + x));
    let turn = match half < 1e-6 {
        true => [0.0, 0.0, 1.0, 0.0],
        false => [0.0, -z / half, y / half, 0.5 * half],
    };
    Some(ArrowPrimitive {
        pose: pose(place(record), turn),
        shaft_length: ARROW_M_PER_N * size_n,
        shaft_diameter: 0.001,
        head_length: 0.004,
        head_diameter: 0.003,
        color: Some(colour([0.85, 0.11, 0.23, 1.0])),
    })
}

fn triangles(surface: &SceneSurface) -> TriangleListPrimitive {
    let point = |m: &[f32; 3]| {
        let [x, y, z] = m.map(f64::from);
        Point3 { x, y, z }
    };
    TriangleListPrimitive {
        points: surface.points_m.iter().map(point).collect(),
        color: Some(colour([0.86, 0.69, 0.62, 1.0])),
        indices: surface.indices.clone(),
        ..TriangleListPrimitive::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(q: Quaternion) -> [f64; 3] {
        // x rotated by q
        [
            1.0 - 2.0 * (q.y * q.y + q.z * q.z),
            2.0 * (q.x * q.y + q.w * q.z),
            2.0 * (q.x * q.z - q.w * q.y),
        ]
    }

    #[test]
    fn the_arrow_points_along_the_force_on_the_hand() {
        for force in [
            [0.0, 0.0, 2.0],
            [0.0, -1.0, 0.5],
            [-3.0, 0.0, 0.0],
            [1.0, 2.0, -3.0],
        ] {
            let [x, y, z] = force;
            let record = TickRecord {
                port_force_n: [-x, -y, -z, 0.0],
                ..TickRecord::default()
            };
            let arrow = arrow(&record).expect("a force");
            let size = (x * x + y * y + z * z).sqrt();
            assert!((arrow.shaft_length - ARROW_M_PER_N * size).abs() < 1e-12);
            let turn = arrow
                .pose
                .and_then(|pose| pose.orientation)
                .expect("turned");
            for (found, wanted) in turned(turn).into_iter().zip(force) {
                assert!((found - wanted / size).abs() < 1e-9, "{force:?}");
            }
        }
        assert_eq!(arrow(&TickRecord::default()), None);
    }

    #[test]
    fn a_surface_is_read_from_the_frames_of_the_page() {
        let state = palpate_session::monitor::LatestState::new(serde_json::Value::Null);
        let rest_m = [[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0]];
        state.session(0).show_mesh(&rest_m, &[[0, 1, 2]]);
        let mut surface = SceneSurface::default();
        surface.set_mesh(&state.session(0).subscribe().mesh.borrow());
        assert_eq!(
            (surface.points_m.as_slice(), surface.indices.len()),
            (&rest_m[..], 3)
        );
        let now_m = [[0.0, 0.0, -0.001]; 3];
        state.session(0).show_surface(&now_m);
        surface.set_positions(&state.session(0).subscribe().surface.borrow());
        assert_eq!(surface.points_m, now_m);
        surface.set_positions(&[]);
        assert_eq!(surface.points_m, now_m);
        let update = of(
            &[Some(TickRecord::default()), None],
            &surface,
            1_500_000_000,
        );
        let ids: Vec<_> = update.entities.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["tool", "probe", "force", "tissue"]);
        surface.set_mesh(&[]);
        assert_eq!(surface.bytes(), 0);
    }
}
