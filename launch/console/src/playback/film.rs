//! The surface of a twin over all of a recording, as pictures that can be looked up at once.
//!
//! Source: ours. A tissue has no way back and can be stepped forward only, so its surface is made once, from the
//! begin to the end, and kept: any moment is then as near as any other. A picture holds how far each node is from
//! rest, in steps of a 32767th of the farthest, six bytes a node; `Film` keeps as many, with their meshes, as its
//! room allows and, if that is full, every second one, so a long recording has coarser time and never a hole.

use palpate_twin::{Vec3, View};

/// Bytes that the pictures of one recording and their meshes may take.
pub(crate) const ROOM: usize = 256 << 20;

/// Time between two pictures at first \[ns\].
pub(crate) const SPACING_NS: i64 = 33_000_000;

/// Which nodes and faces pictures are of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mesh {
    /// Rest positions \[m\].
    pub rest_m: Vec<[f32; 3]>,
    /// Triangles.
    pub faces: Vec<[u32; 3]>,
}

impl Mesh {
    fn bytes(&self) -> usize {
        size_of_val(self.rest_m.as_slice()) + size_of_val(self.faces.as_slice())
    }
}

/// The surface at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Picture {
    at_ns: i64,
    /// Number of its mesh.
    mesh: usize,
    /// Length of one step \[m\].
    step_m: f32,
    moved: Vec<[i16; 3]>,
    proxy_m: Option<[f64; 3]>,
}

/// All pictures so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Film {
    meshes: Vec<Mesh>,
    pictures: Vec<Picture>,
    spacing_ns: i64,
    room: usize,
    bytes: usize,
    front_ns: Option<i64>,
}

/// A picture that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// When it was \[ns\].
    pub at_ns: i64,
    /// Number of its mesh.
    pub mesh: usize,
    /// Where its nodes are \[m\].
    pub positions_m: Vec<[f32; 3]>,
    /// Where the tool's proxy is, if it touches \[m\].
    pub proxy_m: Option<[f64; 3]>,
}

impl Film {
    /// Without a picture; `room` is the most that pictures may take \[bytes\].
    #[must_use]
    pub(crate) fn new(room: usize) -> Self {
        Self {
            meshes: Vec::new(),
            pictures: Vec::new(),
            spacing_ns: SPACING_NS,
            room,
            bytes: 0,
            front_ns: None,
        }
    }

    /// Whether a picture of this moment is wanted.
    #[must_use]
    pub(crate) fn wants(&self, at_ns: i64) -> bool {
        let last_ns = self.pictures.last().map(|last| last.at_ns);
        last_ns.is_none_or(|last_ns| at_ns - last_ns >= self.spacing_ns)
    }

    /// Until when there are pictures \[ns\]; none before the first.
    #[must_use]
    pub(crate) fn front_ns(&self) -> Option<i64> {
        self.front_ns
    }

    /// Say that all is known until a moment, also without a picture of it \[ns\].
    pub(crate) fn reach(&mut self, at_ns: i64) {
        self.front_ns = Some(at_ns);
    }

    /// Take a picture, with where the tool's proxy is \[m\]; moments come in their order.
    pub(crate) fn take(&mut self, at_ns: i64, view: &View<'_>, proxy_m: Option<[f64; 3]>) {
        let mesh = self.mesh(view);
        let far_m = |m: &Vec3| m.iter().fold(0.0, |far: f64, axis| far.max(axis.abs()));
        let moved = || {
            let nodes = view.positions_m.iter().zip(view.rest_m);
            nodes.map(|(now_m, rest_m)| now_m - rest_m)
        };
        let farthest_m = moved().map(|m| far_m(&m)).fold(0.0, f64::max);
        let step_m = (farthest_m / f64::from(i16::MAX)).max(1e-12);
        let steps = |m: Vec3| [m.x, m.y, m.z].map(|axis| (axis / step_m).round() as i16);
        self.pictures.push(Picture {
            at_ns,
            mesh,
            step_m: step_m as f32,
            moved: moved().map(steps).collect(),
            proxy_m,
        });
        self.bytes += 6 * view.positions_m.len();
        self.reach(at_ns);
        // each time half of them, so this ends
        while self.bytes > self.room && self.pictures.len() > 2 {
            self.thin();
        }
    }

    /// Number of the mesh of a view, which is new if it is not that of the last picture.
    fn mesh(&mut self, view: &View<'_>) -> usize {
        let rest_m = || {
            let nodes = view.rest_m.iter();
            nodes.map(|m| [m.x as f32, m.y as f32, m.z as f32])
        };
        let same = self.meshes.last().is_some_and(|last| {
            let nodes = last.rest_m.len() == view.rest_m.len();
            nodes && last.faces == view.faces && rest_m().eq(last.rest_m.iter().copied())
        });
        if !same {
            let mesh = Mesh {
                rest_m: rest_m().collect(),
                faces: view.faces.to_vec(),
            };
            self.bytes += mesh.bytes();
            self.meshes.push(mesh);
        }
        self.meshes.len() - 1
    }

    /// Leave out every second picture, and take half as many from now on.
    fn thin(&mut self) {
        let mut keep = false;
        self.pictures.retain(|_| {
            keep = !keep;
            keep
        });
        let last = self.meshes.len().saturating_sub(1);
        for (number, mesh) in self.meshes.iter_mut().enumerate() {
            // pictures are in the order of their meshes; a mesh without one leaves its number behind
            let at = self.pictures.partition_point(|one| one.mesh < number);
            let seen = self.pictures.get(at).is_some_and(|one| one.mesh == number);
            if !seen && number != last {
                *mesh = Mesh::default();
            }
        }
        let pictures = self.pictures.iter().map(|one| 6 * one.moved.len());
        self.bytes = pictures.chain(self.meshes.iter().map(Mesh::bytes)).sum();
        self.spacing_ns *= 2;
    }

    /// A mesh by its number.
    #[must_use]
    pub(crate) fn mesh_of(&self, number: usize) -> Option<&Mesh> {
        self.meshes.get(number)
    }

    /// Time \[ns\] and mesh of the last picture until a moment, or of the first; none beyond what is known.
    #[must_use]
    pub(crate) fn moment(&self, at_ns: i64) -> Option<(i64, usize)> {
        self.picture(at_ns)
            .map(|picture| (picture.at_ns, picture.mesh))
    }

    fn picture(&self, at_ns: i64) -> Option<&Picture> {
        if self.front_ns.is_none_or(|front_ns| at_ns > front_ns) {
            return None;
        }
        let after = self.pictures.partition_point(|one| one.at_ns <= at_ns);
        self.pictures.get(after.saturating_sub(1))
    }

    /// The picture of [`Self::moment`].
    #[must_use]
    pub(crate) fn at(&self, at_ns: i64) -> Option<Shown> {
        let picture = self.picture(at_ns)?;
        let mesh = self.meshes.get(picture.mesh)?;
        let place = |(rest_m, moved): (&[f32; 3], &[i16; 3])| {
            core::array::from_fn(|axis| rest_m[axis] + picture.step_m * f32::from(moved[axis]))
        };
        Some(Shown {
            at_ns: picture.at_ns,
            mesh: picture.mesh,
            proxy_m: picture.proxy_m,
            positions_m: mesh.rest_m.iter().zip(&picture.moved).map(place).collect(),
        })
    }

    /// Time between two pictures now \[s\], and what they take \[bytes\].
    #[must_use]
    pub(crate) fn size(&self) -> (f64, usize) {
        (self.spacing_ns as f64 * 1e-9, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use palpate_twin::Ledger;

    use super::*;

    fn view<'a>(now_m: &'a [Vec3], rest_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> View<'a> {
        View {
            positions_m: now_m,
            rest_m,
            faces,
            ledger: Ledger::default(),
            topology: None,
            changes: &[],
            edit: 0,
        }
    }

    fn pressed(nodes: usize, depth_m: f64) -> Vec<Vec3> {
        (0..nodes)
            .map(|n| Vec3::new(n as f64 * 0.01, 0.0, -depth_m * n as f64))
            .collect()
    }

    #[test]
    fn a_picture_is_found_again_at_its_moment_and_none_beyond_the_front() {
        let rest_m = pressed(5, 0.0);
        let faces = [[0, 1, 2]];
        let mut film = Film::new(ROOM);
        assert_eq!(film.at(0), None);
        for n in 0..10_i64 {
            let now_m = pressed(5, 1e-3 * n as f64);
            assert!(film.wants(n * SPACING_NS));
            film.take(n * SPACING_NS, &view(&now_m, &rest_m, &faces), None);
        }
        assert!(!film.wants(9 * SPACING_NS + 1));
        film.reach(9 * SPACING_NS + 5);
        let shown = film.at(4 * SPACING_NS + 3).expect("known");
        assert_eq!((shown.at_ns, shown.mesh), (4 * SPACING_NS, 0));
        // a step is a 32767th of 16 mm
        assert!((shown.positions_m[3][2] + 0.012).abs() < 1e-6);
        assert_eq!(film.at(-7).map(|first| first.at_ns), Some(0));
        assert_eq!(film.at(9 * SPACING_NS + 6), None);
    }

    #[test]
    fn what_has_no_room_is_coarser_and_has_no_hole() {
        let (rest_m, faces) = (pressed(10, 0.0), [[0, 1, 2]]);
        let room = 60 * 8 + 10 * 12 + 12;
        let mut film = Film::new(room);
        let mut taken = 0;
        for n in 0..200_i64 {
            if film.wants(n * SPACING_NS) {
                film.take(n * SPACING_NS, &view(&rest_m, &rest_m, &faces), None);
                taken += 1;
            }
            film.reach(n * SPACING_NS);
        }
        let (spacing_s, bytes) = film.size();
        assert!(taken < 60 && bytes <= room, "{taken} {bytes}");
        for n in 0..200_i64 {
            let shown = film.at(n * SPACING_NS).expect("no hole");
            let since_s = (n * SPACING_NS - shown.at_ns) as f64 * 1e-9;
            assert!((0.0..=spacing_s).contains(&since_s), "{since_s}");
        }
    }

    #[test]
    fn meshes_take_room_too_and_go_with_their_pictures() {
        let rest_m = pressed(10, 0.0);
        let room = 4096;
        let mut film = Film::new(room);
        for n in 0..400_u32 {
            // a cut a picture
            let faces = [[n, n + 1, n + 2]; 20];
            let at_ns = i64::from(n) * SPACING_NS;
            if film.wants(at_ns) {
                film.take(at_ns, &view(&rest_m, &rest_m, &faces), None);
            }
            film.reach(at_ns);
            assert!(film.size().1 <= room, "{n}: {}", film.size().1);
        }
        for n in 0..400_i64 {
            let shown = film.at(n * SPACING_NS).expect("no hole");
            assert_eq!(shown.positions_m.len(), 10, "its mesh is there");
        }
    }

    #[test]
    fn a_cut_is_another_mesh() {
        let mut film = Film::new(ROOM);
        let (small_m, large_m) = (pressed(3, 0.0), pressed(4, 0.0));
        film.take(0, &view(&small_m, &small_m, &[[0, 1, 2]]), None);
        film.take(1, &view(&large_m, &large_m, &[[0, 1, 2], [1, 2, 3]]), None);
        film.take(2, &view(&large_m, &large_m, &[[0, 1, 3], [1, 2, 3]]), None);
        let meshes = [0, 1, 2].map(|at_ns| film.at(at_ns).map(|shown| shown.mesh));
        assert_eq!(meshes, [Some(0), Some(1), Some(2)]);
        assert_eq!(film.mesh_of(1).map(|mesh| mesh.rest_m.len()), Some(4));
    }
}
