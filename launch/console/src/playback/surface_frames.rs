//! Surface of a twin over all of a recording, as frames with random access.
//!
//! Source: ours. A tissue can be stepped forward only, so its surface is computed once, from the beginning to the end,
//! and stored: any time is then available at once. A frame holds the displacement of each node from rest, in steps of
//! a 32767th of the largest, six bytes a node. `SurfaceFrames` stores frames and their meshes within a limit of
//! bytes; at the limit it drops every second frame, so a long recording has a coarser time step but no gap.

use palpate_twin::{TissueView, Vec3};

/// Most bytes of the frames of one recording and their meshes.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// Initial time between two frames \[ns\].
pub(crate) const SPACING_NS: i64 = 33_000_000;

/// Mesh of a frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameMesh {
    /// Rest positions \[m\].
    pub rest_m: Vec<[f32; 3]>,
    /// Triangles.
    pub faces: Vec<[u32; 3]>,
}

impl FrameMesh {
    fn bytes(&self) -> usize {
        size_of_val(self.rest_m.as_slice()) + size_of_val(self.faces.as_slice())
    }
}

/// Stored surface at one time.
#[derive(Debug, Clone, PartialEq)]
struct StoredFrame {
    at_ns: i64,
    /// Number of its mesh.
    mesh: usize,
    /// Length of one step \[m\].
    step_m: f32,
    displacement_steps: Vec<[i16; 3]>,
    proxy_m: Option<[f64; 3]>,
}

/// All frames so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SurfaceFrames {
    /// Meshes by their numbers; one without a frame is empty.
    pub(super) meshes: Vec<FrameMesh>,
    frames: Vec<StoredFrame>,
    spacing_ns: i64,
    bytes_max: usize,
    bytes: usize,
    /// End of the computed range, also without a frame of it \[ns\]; none before the first.
    pub(super) end_ns: Option<i64>,
}

/// A frame with decoded positions.
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceFrame {
    /// Time of the frame \[ns\].
    pub at_ns: i64,
    /// Number of its mesh.
    pub mesh: usize,
    /// Positions of its nodes \[m\].
    pub positions_m: Vec<[f32; 3]>,
    /// Position of the tool's proxy, if it touches \[m\].
    pub proxy_m: Option<[f64; 3]>,
}

impl SurfaceFrames {
    /// Returns an empty store; `bytes_max` limits its size \[bytes\].
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            meshes: Vec::new(),
            frames: Vec::new(),
            spacing_ns: SPACING_NS,
            bytes_max,
            bytes: 0,
            end_ns: None,
        }
    }

    /// Returns true if a frame of this time is due.
    pub(crate) fn needs_frame(&self, at_ns: i64) -> bool {
        let last_ns = self.frames.last().map(|last| last.at_ns);
        last_ns.is_none_or(|last_ns| at_ns - last_ns >= self.spacing_ns)
    }

    /// Stores a frame, with the position of the tool's proxy \[m\]; times must be in order.
    pub(crate) fn push(&mut self, at_ns: i64, view: &TissueView<'_>, proxy_m: Option<[f64; 3]>) {
        let mesh = self.mesh(view);
        let size_m = |m: &Vec3| m.iter().fold(0.0, |most: f64, axis| most.max(axis.abs()));
        let displacements = || {
            let nodes = view.positions_m.iter().zip(view.rest_m);
            nodes.map(|(now_m, rest_m)| now_m - rest_m)
        };
        let largest_m = displacements().map(|m| size_m(&m)).fold(0.0, f64::max);
        let step_m = (largest_m / f64::from(i16::MAX)).max(1e-12);
        let steps = |m: Vec3| [m.x, m.y, m.z].map(|axis| (axis / step_m).round() as i16);
        self.frames.push(StoredFrame {
            at_ns,
            mesh,
            step_m: step_m as f32,
            displacement_steps: displacements().map(steps).collect(),
            proxy_m,
        });
        self.bytes += 6 * view.positions_m.len();
        self.end_ns = Some(at_ns);
        // each call halves the frames, so the loop ends
        while self.bytes > self.bytes_max && self.frames.len() > 2 {
            self.thin();
        }
    }

    /// Returns the number of the mesh of a view, a new one if it differs from that of the last frame.
    fn mesh(&mut self, view: &TissueView<'_>) -> usize {
        let rest_m = || {
            let nodes = view.rest_m.iter();
            nodes.map(|m| [m.x as f32, m.y as f32, m.z as f32])
        };
        let same = self.meshes.last().is_some_and(|last| {
            let nodes = last.rest_m.len() == view.rest_m.len();
            nodes && last.faces == view.faces && rest_m().eq(last.rest_m.iter().copied())
        });
        if !same {
            let mesh = FrameMesh {
                rest_m: rest_m().collect(),
                faces: view.faces.to_vec(),
            };
            self.bytes += mesh.bytes();
            self.meshes.push(mesh);
        }
        self.meshes.len() - 1
    }

    /// Drops every second frame, and doubles the time step.
    fn thin(&mut self) {
        let mut keep = false;
        self.frames.retain(|_| {
            keep = !keep;
            keep
        });
        let last = self.meshes.len().saturating_sub(1);
        for (number, mesh) in self.meshes.iter_mut().enumerate() {
            // frames are in the order of their meshes; a mesh without one keeps its number
            let at = self.frames.partition_point(|one| one.mesh < number);
            let used = self.frames.get(at).is_some_and(|one| one.mesh == number);
            if !used && number != last {
                *mesh = FrameMesh::default();
            }
        }
        let frames = self
            .frames
            .iter()
            .map(|one| 6 * one.displacement_steps.len());
        self.bytes = frames.chain(self.meshes.iter().map(FrameMesh::bytes)).sum();
        self.spacing_ns *= 2;
    }

    /// Returns time \[ns\] and mesh of the last frame up to a time, or of the first; None beyond the computed range.
    pub(crate) fn frame_key(&self, at_ns: i64) -> Option<(i64, usize)> {
        self.stored_frame(at_ns)
            .map(|frame| (frame.at_ns, frame.mesh))
    }

    fn stored_frame(&self, at_ns: i64) -> Option<&StoredFrame> {
        if self.end_ns.is_none_or(|end_ns| at_ns > end_ns) {
            return None;
        }
        let after = self.frames.partition_point(|one| one.at_ns <= at_ns);
        self.frames.get(after.saturating_sub(1))
    }

    /// Returns the frame of [`Self::frame_key`], decoded.
    pub(crate) fn at(&self, at_ns: i64) -> Option<SurfaceFrame> {
        let frame = self.stored_frame(at_ns)?;
        let mesh = self.meshes.get(frame.mesh)?;
        let place = |(rest_m, moved): (&[f32; 3], &[i16; 3])| {
            core::array::from_fn(|axis| rest_m[axis] + frame.step_m * f32::from(moved[axis]))
        };
        Some(SurfaceFrame {
            at_ns: frame.at_ns,
            mesh: frame.mesh,
            proxy_m: frame.proxy_m,
            positions_m: mesh
                .rest_m
                .iter()
                .zip(&frame.displacement_steps)
                .map(place)
                .collect(),
        })
    }

    /// Returns the present time between two frames \[s\], and their size \[bytes\].
    pub(crate) fn size(&self) -> (f64, usize) {
        (self.spacing_ns as f64 * 1e-9, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use palpate_twin::TissueEnergy;

    use super::*;

    fn view<'a>(now_m: &'a [Vec3], rest_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> TissueView<'a> {
        TissueView::new(now_m, rest_m, faces, TissueEnergy::default())
    }

    fn pressed(nodes: usize, depth_m: f64) -> Vec<Vec3> {
        (0..nodes)
            .map(|n| Vec3::new(n as f64 * 0.01, 0.0, -depth_m * n as f64))
            .collect()
    }

    #[test]
    fn a_frame_is_found_at_its_time_and_none_beyond_the_end() {
        let rest_m = pressed(5, 0.0);
        let faces = [[0, 1, 2]];
        let mut frames = SurfaceFrames::new(BYTES_MAX);
        assert_eq!(frames.at(0), None);
        for n in 0..10_i64 {
            let now_m = pressed(5, 1e-3 * n as f64);
            assert!(frames.needs_frame(n * SPACING_NS));
            frames.push(n * SPACING_NS, &view(&now_m, &rest_m, &faces), None);
        }
        assert!(!frames.needs_frame(9 * SPACING_NS + 1));
        frames.end_ns = Some(9 * SPACING_NS + 5);
        let shown = frames.at(4 * SPACING_NS + 3).expect("known");
        assert_eq!((shown.at_ns, shown.mesh), (4 * SPACING_NS, 0));
        // a step is a 32767th of 16 mm
        assert!((shown.positions_m[3][2] + 0.012).abs() < 1e-6);
        assert_eq!(frames.at(-7).map(|first| first.at_ns), Some(0));
        assert_eq!(frames.at(9 * SPACING_NS + 6), None);
    }

    #[test]
    fn a_full_store_has_a_coarser_step_and_no_gap() {
        let (rest_m, faces) = (pressed(10, 0.0), [[0, 1, 2]]);
        let bytes_max = 60 * 8 + 10 * 12 + 12;
        let mut frames = SurfaceFrames::new(bytes_max);
        let mut taken = 0;
        for n in 0..200_i64 {
            if frames.needs_frame(n * SPACING_NS) {
                frames.push(n * SPACING_NS, &view(&rest_m, &rest_m, &faces), None);
                taken += 1;
            }
            frames.end_ns = Some(n * SPACING_NS);
        }
        let (spacing_s, bytes) = frames.size();
        assert!(taken < 60 && bytes <= bytes_max, "{taken} {bytes}");
        for n in 0..200_i64 {
            let shown = frames.at(n * SPACING_NS).expect("no gap");
            let since_s = (n * SPACING_NS - shown.at_ns) as f64 * 1e-9;
            assert!((0.0..=spacing_s).contains(&since_s), "{since_s}");
        }
    }

    #[test]
    fn meshes_count_against_the_limit_and_are_dropped_with_their_frames() {
        let rest_m = pressed(10, 0.0);
        let bytes_max = 4096;
        let mut frames = SurfaceFrames::new(bytes_max);
        for n in 0..400_u32 {
            // one cut per frame
            let faces = [[n, n + 1, n + 2]; 20];
            let at_ns = i64::from(n) * SPACING_NS;
            if frames.needs_frame(at_ns) {
                frames.push(at_ns, &view(&rest_m, &rest_m, &faces), None);
            }
            frames.end_ns = Some(at_ns);
            assert!(frames.size().1 <= bytes_max, "{n}: {}", frames.size().1);
        }
        for n in 0..400_i64 {
            let shown = frames.at(n * SPACING_NS).expect("no gap");
            assert_eq!(shown.positions_m.len(), 10, "its mesh is there");
        }
    }

    #[test]
    fn a_cut_is_another_mesh() {
        let mut frames = SurfaceFrames::new(BYTES_MAX);
        let (small_m, large_m) = (pressed(3, 0.0), pressed(4, 0.0));
        frames.push(0, &view(&small_m, &small_m, &[[0, 1, 2]]), None);
        frames.push(1, &view(&large_m, &large_m, &[[0, 1, 2], [1, 2, 3]]), None);
        frames.push(2, &view(&large_m, &large_m, &[[0, 1, 3], [1, 2, 3]]), None);
        let meshes = [0, 1, 2].map(|at_ns| frames.at(at_ns).map(|shown| shown.mesh));
        assert_eq!(meshes, [Some(0), Some(1), Some(2)]);
        assert_eq!(frames.meshes[1].rest_m.len(), 4);
    }
}
