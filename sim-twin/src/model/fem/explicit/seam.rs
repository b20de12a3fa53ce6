//! Where a finer grid hangs on the one above.
//!
//! Source: hanging nodes follow the corners of the coarser faces that they lie on, by halves; their
//! forces and masses go to those corners by the same shares, so that a seam makes no work, passes an
//! even strain, and keeps action equal to reaction. The corners, the rim, go as often as the faster
//! of both grids needs.

use super::cells::Field;
use super::grid::{Grid, Motion};
use super::motion::{self, Pace};
use multiversion::multiversion;

/// A row of hanging nodes along x, two cells for each of the coarser ones.
#[derive(Debug, Clone, Copy)]
struct Row {
    fine: usize,
    /// Coarser rows, as many as count, of which it is the mean.
    coarse: [usize; 4],
    count: usize,
    /// Coarser cells along it.
    cells: usize,
}

/// Single hanging nodes, each the mean of `N` nodes of the grid above.
#[derive(Debug, Clone)]
struct Singles<const N: usize> {
    fine: Vec<u32>,
    coarse: Vec<[u32; N]>,
}

impl<const N: usize> Singles<N> {
    const NEW: Self = Self {
        fine: Vec::new(),
        coarse: Vec::new(),
    };

    fn follow(&self, above: &[f32], fine: &mut [f32]) {
        let share = SHARES[N];
        for (&at, from) in self.fine.iter().zip(&self.coarse) {
            let mut sum = 0.0;
            for &node in from {
                sum += above[node as usize];
            }
            fine[at as usize] = share * sum;
        }
    }

    fn gather(&self, above: &mut [f32], fine: &mut [f32]) {
        let share = SHARES[N];
        for (&at, to) in self.fine.iter().zip(&self.coarse) {
            let part = share * std::mem::take(&mut fine[at as usize]);
            for &node in to {
                above[node as usize] += part;
            }
        }
    }

    fn push(&mut self, fine: usize, coarse: &[usize; 4]) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "grids are below 2^32 nodes"
        )]
        self.coarse.push(std::array::from_fn(|i| coarse[i] as u32));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "grids are below 2^32 nodes"
        )]
        self.fine.push(fine as u32);
    }
}

/// What ties a grid to the one above.
#[derive(Debug, Clone)]
pub(super) struct Seam {
    rows: Vec<Row>,
    ones: Singles<1>,
    twos: Singles<2>,
    fours: Singles<4>,
    /// The nodes of the grid above that carry hanging ones.
    pub(super) rim: Vec<u32>,
    /// They go every `2^class` sub-steps.
    pub(super) class: usize,
}

/// Most coarser cells along a row that are worked on at once.
const PART: usize = 64;

/// Sets a field of the hanging nodes from the grid above.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn follow(rows: &[Row], above: &[f32], fine: &mut [f32]) {
    let mut means = [0.0_f32; PART + 1];
    for row in rows {
        let share = SHARES[row.count];
        let mut first = 0;
        loop {
            let cells = (row.cells - first).min(PART);
            let means = &mut means[..=cells];
            means.fill(0.0);
            for start in &row.coarse[..row.count] {
                let from = &above[start + first..][..=cells];
                for (mean, x) in means.iter_mut().zip(from) {
                    *mean += x;
                }
            }
            means.iter_mut().for_each(|mean| *mean *= share);
            let out = &mut fine[row.fine + 2 * first..][..=2 * cells];
            out[0] = means[0];
            let pairs = out[1..].chunks_exact_mut(2).zip(means.windows(2));
            for (pair, ends) in pairs {
                pair[0] = 0.5 * (ends[0] + ends[1]);
                pair[1] = ends[1];
            }
            first += cells;
            if first >= row.cells {
                break;
            }
        }
    }
}

/// Adds what hanging nodes have to the grid above, and leaves them with nothing.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn gather(rows: &[Row], above: &mut [f32], fine: &mut [f32]) {
    let mut parts = [0.0_f32; PART];
    for row in rows {
        let share = SHARES[row.count];
        let own = &mut fine[row.fine..][..=2 * row.cells];
        // the last node of a row has no pair after it
        let ends = [0.0, own[2 * row.cells]];
        let mut before = ends[0];
        let mut first = 0;
        while first < row.cells {
            let cells = (row.cells - first).min(PART);
            let pairs = own[2 * first..][..2 * cells].chunks_exact(2);
            for (part, pair) in parts.iter_mut().zip(pairs) {
                *part = share * (pair[0] + 0.5 * (before + pair[1]));
                before = pair[1];
            }
            for start in &row.coarse[..row.count] {
                let to = &mut above[start + first..][..cells];
                for (sum, part) in to.iter_mut().zip(&parts) {
                    *sum += part;
                }
            }
            first += cells;
        }
        let last = share * (ends[1] + 0.5 * before);
        for start in &row.coarse[..row.count] {
            above[start + row.cells] += last;
        }
        own.fill(0.0);
    }
}

/// What one of so many rows counts.
const SHARES: [f32; 5] = [0.0, 1.0, 0.5, 1.0 / 3.0, 0.25];

impl Seam {
    /// The seam of a grid whose first node is node `corner` of the one above; `hangs` says which
    /// sides, as [`crate::mesh::nested::Nested::hangs`].
    pub(super) fn new(fine: &Grid, above: &Grid, corner: [usize; 3], hangs: [bool; 6]) -> Self {
        let [nx, ny, nz] = fine.nodes.map(|n| n - 1);
        let mut seam = Self {
            rows: Vec::new(),
            ones: Singles::NEW,
            twos: Singles::NEW,
            fours: Singles::NEW,
            rim: Vec::new(),
            class: 0,
        };
        for k in 0..=nz {
            for j in 0..=ny {
                let whole = (hangs[2] && j == 0)
                    || (hangs[3] && j == ny)
                    || (hangs[4] && k == 0)
                    || (hangs[5] && k == nz);
                let (mut coarse, mut count) = ([0; 4], 0);
                for z in k / 2..=k.div_ceil(2) {
                    for y in j / 2..=j.div_ceil(2) {
                        coarse[count] = above.at([corner[0], corner[1] + y, corner[2] + z]);
                        count += 1;
                    }
                }
                let row = Row {
                    fine: fine.at([0, j, k]),
                    coarse,
                    count,
                    cells: nx / 2,
                };
                if whole {
                    seam.rim_of(&row, nx / 2);
                    seam.rows.push(row);
                } else {
                    seam.ends(&row, [hangs[0], hangs[1]]);
                }
            }
        }
        seam.rim.sort_unstable();
        seam.rim.dedup();
        seam
    }

    /// The ends of a row that does not hang as a whole.
    fn ends(&mut self, row: &Row, hangs: [bool; 2]) {
        for (hangs, cells) in hangs.into_iter().zip([0, row.cells]) {
            if !hangs {
                continue;
            }
            let end = Row {
                fine: row.fine + 2 * cells,
                coarse: row.coarse.map(|start| start + cells),
                ..*row
            };
            match end.count {
                1 => self.ones.push(end.fine, &end.coarse),
                2 => self.twos.push(end.fine, &end.coarse),
                _ => self.fours.push(end.fine, &end.coarse),
            }
            self.rim_of(&end, 0);
        }
    }

    fn rim_of(&mut self, row: &Row, cells: usize) {
        for &start in &row.coarse[..row.count] {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "grids are below 2^32 nodes"
            )]
            self.rim
                .extend((start..=start + cells).map(|node| node as u32));
        }
    }

    /// Sets a field of the hanging nodes from the grid above.
    pub(super) fn follow(&self, above: &Field, fine: &mut Field) {
        follow(&self.rows, above, fine);
        self.ones.follow(above, fine);
        self.twos.follow(above, fine);
        self.fours.follow(above, fine);
    }

    /// Adds what hanging nodes have to the grid above, and leaves them with nothing.
    pub(super) fn gather(&self, above: &mut Field, fine: &mut Field) {
        gather(&self.rows, above, fine);
        self.ones.gather(above, fine);
        self.twos.gather(above, fine);
        self.fours.gather(above, fine);
    }

    /// Raises a field of the rim to the greatest of what hangs on the grid.
    pub(super) fn raise(&self, above: &mut Field, fine: &Field) {
        let rows = self
            .rows
            .iter()
            .map(|row| &fine[row.fine..=row.fine + 2 * row.cells]);
        let single = |at: &u32| fine[*at as usize];
        let lists = [&self.ones.fine, &self.twos.fine, &self.fours.fine];
        let singles = lists.into_iter().flatten().map(single);
        let greatest = rows
            .flatten()
            .copied()
            .chain(singles)
            .fold(0.0_f32, f32::max);
        for &node in &self.rim {
            let own = &mut above[node as usize];
            *own = own.max(greatest);
        }
    }

    /// Spends the impulses of the rim and moves it; gives the energy that damping took.
    pub(super) fn go(&self, above: &mut Motion, pace: &Pace) -> f64 {
        motion::go_each(&self.rim, above, pace)
    }

    /// Places of the hanging nodes from the rim's.
    pub(super) fn follow_rim(&self, above: &Motion, fine: &mut Motion) {
        for axis in 0..3 {
            self.follow(&above.u[axis], &mut fine.u[axis]);
        }
    }

    /// Impulses of the hanging nodes to the rim.
    pub(super) fn gather_forces(&self, above: &mut Motion, fine: &mut Motion) {
        for axis in 0..3 {
            self.gather(&mut above.f[axis], &mut fine.f[axis]);
        }
    }
}
