//! A session as a `foxglove.SceneUpdate`: surface, tool, probe and force.
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

/// Force below which there is no arrow \[N\].
const SHOWN_N: f64 = 0.03;

/// Bytes of a node and of a face in a message.
const NODE_BYTES: usize = 29;
const FACE_BYTES: usize = 12;

/// The surface that is to be seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Surface {
    points_m: Vec<[f32; 3]>,
    indices: Vec<u32>,
    revision: u32,
}

impl Surface {
    /// Take a mesh as [`wire`] writes it; what is none is no mesh.
    pub(super) fn mesh(&mut self, frame: &[u8]) {
        let (nodes, revision) = (word(frame, 12), word(frame, 20));
        let rest = frame.get(wire::HEADER..).unwrap_or_default();
        let (places, faces) = rest.split_at(rest.len().min(12 * nodes as usize));
        self.points_m = threes(places);
        self.indices = faces.chunks_exact(4).map(|bytes| word(bytes, 0)).collect();
        self.revision = revision;
    }

    /// Take where its nodes are now; of another mesh, nothing.
    pub(super) fn moved(&mut self, frame: &[u8]) {
        let places = frame.get(wire::HEADER..).unwrap_or_default();
        if word(frame, 20) == self.revision && places.len() == 12 * self.points_m.len() {
            self.points_m = threes(places);
        }
    }

    /// About how long it is in a message \[bytes\].
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

/// All that is to be seen at a moment \[ns\].
pub(super) fn of(newest: &[Option<TickRecord>; 2], surface: &Surface, at_ns: i64) -> SceneUpdate {
    let [master, slave] = newest.map(|record| record.filter(finite));
    let tool = |record: TickRecord| ball(place(&record), [0.23, 0.48, 0.84, 0.6]);
    let probe = |record: TickRecord| ball(place(&record), [1.0, 0.54, 0.16, 0.6]);
    let tools = [
        ("tool", master.map(tool).into_iter().collect()),
        ("probe", slave.map(probe).into_iter().collect()),
    ];
    let mut entities: Vec<SceneEntity> = tools
        .into_iter()
        .map(|(id, spheres)| SceneEntity {
            spheres,
            ..entity(id, at_ns)
        })
        .collect();
    // an entity without a part takes the place of the one before, so an arrow goes away with its force
    entities.push(SceneEntity {
        arrows: master.as_ref().and_then(arrow).into_iter().collect(),
        ..entity("force", at_ns)
    });
    entities.push(SceneEntity {
        triangles: vec![triangles(surface)],
        ..entity("tissue", at_ns)
    });
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

fn ball(at: Vector3, rgba: [f64; 4]) -> SpherePrimitive {
    let across_m = 2.0 * RADIUS_M;
    SpherePrimitive {
        pose: Some(Pose {
            position: Some(at),
            orientation: Some(Quaternion {
                x: 0.0,
                y: 0.0,
                z: 0.0,
                w: 1.0,
            }),
        }),
        size: Some(Vector3 {
            x: across_m,
            y: across_m,
            z: across_m,
        }),
        color: Some(colour(rgba)),
    }
}

/// The force on the hand; an arrow of that message points along x of its pose.
fn arrow(record: &TickRecord) -> Option<ArrowPrimitive> {
    debug_assert_eq!(record.side, Side::Master);
    let [x, y, z, _] = topic::force_n(record);
    let size_n = libm::sqrt(x * x + y * y + z * z);
    if size_n < SHOWN_N {
        return None;
    }
    // the turn from x to the force, half way between both; to the opposite, about z
    let [x, y, z] = [x, y, z].map(|axis| axis / size_n);
    let half = libm::sqrt(2.0 * (1.0 + x));
    let turn = if half < 1e-6 {
        Quaternion {
            x: 0.0,
            y: 0.0,
            z: 1.0,
            w: 0.0,
        }
    } else {
        Quaternion {
            x: 0.0,
            y: -z / half,
            z: y / half,
            w: 0.5 * half,
        }
    };
    Some(ArrowPrimitive {
        pose: Some(Pose {
            position: Some(place(record)),
            orientation: Some(turn),
        }),
        shaft_length: ARROW_M_PER_N * size_n,
        shaft_diameter: 0.001,
        head_length: 0.004,
        head_diameter: 0.003,
        color: Some(colour([0.85, 0.11, 0.23, 1.0])),
    })
}

fn triangles(surface: &Surface) -> TriangleListPrimitive {
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
        // x turned by q
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
    fn a_surface_is_taken_as_the_page_is_sent_it() {
        let board = palpate_session::monitor::Board::new(serde_json::Value::Null);
        let rest_m = [[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0]];
        board.show_mesh(&rest_m, &[[0, 1, 2]]);
        let mut surface = Surface::default();
        surface.mesh(&board.place(0).mesh_sent().borrow());
        assert_eq!(
            (surface.points_m.as_slice(), surface.indices.len()),
            (&rest_m[..], 3)
        );
        let now_m = [[0.0, 0.0, -0.001]; 3];
        board.show_surface(&now_m);
        surface.moved(&board.place(0).surface_sent().borrow());
        assert_eq!(surface.points_m, now_m);
        surface.moved(&[]);
        assert_eq!(surface.points_m, now_m);
        let update = of(
            &[Some(TickRecord::default()), None],
            &surface,
            1_500_000_000,
        );
        let ids: Vec<_> = update.entities.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["tool", "probe", "force", "tissue"]);
        surface.mesh(&[]);
        assert_eq!(surface.bytes(), 0);
    }
}
