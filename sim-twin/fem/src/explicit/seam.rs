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

/// Hanging nodes, each the mean of `N` nodes of the grid above.
#[derive(Debug, Clone)]
struct Hung<const N: usize> {
    fine: Vec<u32>,
    coarse: Vec<[u32; N]>,
}

impl<const N: usize> Hung<N> {
    const NEW: Self = Self {
        fine: Vec::new(),
        coarse: Vec::new(),
    };
    #[expect(clippy::cast_precision_loss, reason = "at most four")]
    const SHARE: f32 = 1.0 / N as f32;

    #[inline(always)]
    fn follow<const K: usize>(&self, above: &[&[f32]; K], fine: &mut [&mut [f32]; K]) {
        for (&at, from) in self.fine.iter().zip(&self.coarse) {
            for (above, fine) in above.iter().zip(&mut *fine) {
                let mut sum = 0.0;
                for &node in from {
                    sum += above[node as usize];
                }
                fine[at as usize] = Self::SHARE * sum;
            }
        }
    }

    fn push(&mut self, fine: usize, coarse: &[usize; 4]) {
        self.coarse.push(std::array::from_fn(|i| number(coarse[i])));
        self.fine.push(number(fine));
    }

    /// Hanging nodes with a node of the rim that carries them, and their shares.
    fn pairs(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        let all = self.fine.iter().zip(&self.coarse);
        all.flat_map(|(&fine, on)| on.iter().map(move |&rim| (rim, fine, Self::SHARE)))
    }
}

/// What nodes of the rim carry, as rows of a sparse matrix.
#[derive(Debug, Clone, Default)]
struct Carried {
    rim: Vec<u32>,
    /// Where the parts of every node of the rim begin, and where the last ends.
    starts: Vec<u32>,
    parts: Vec<(u32, f32)>,
}

impl Carried {
    fn new(mut pairs: Vec<(u32, u32, f32)>) -> Self {
        pairs.sort_unstable_by_key(|&(rim, fine, _)| (rim, fine));
        let mut all = Self::default();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            all.rim.push(group[0].0);
            all.starts.push(number(all.parts.len()));
            all.parts
                .extend(group.iter().map(|&(_, fine, share)| (fine, share)));
        }
        all.starts.push(number(all.parts.len()));
        all
    }

    #[inline(always)]
    fn gather<const K: usize>(&self, above: &mut [&mut [f32]; K], fine: &[&[f32]; K]) {
        for (&rim, ends) in self.rim.iter().zip(self.starts.windows(2)) {
            let mut sums = [0.0_f32; K];
            for &(at, share) in &self.parts[ends[0] as usize..ends[1] as usize] {
                for (sum, fine) in sums.iter_mut().zip(fine) {
                    *sum = share.mul_add(fine[at as usize], *sum);
                }
            }
            for (above, sum) in above.iter_mut().zip(sums) {
                above[rim as usize] += sum;
            }
        }
    }
}

/// What ties a grid to the one above.
#[derive(Debug, Clone)]
pub(super) struct Seam {
    ones: Hung<1>,
    twos: Hung<2>,
    fours: Hung<4>,
    carried: Carried,
    /// They go every `2^class` sub-steps.
    pub(super) class: usize,
    /// Whether the rim goes apart from the sheets that it is in.
    pub(super) apart: bool,
}

/// Sets fields of the hanging nodes from the grid above.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn follow<const K: usize>(seam: &Seam, above: &[&[f32]; K], fine: &mut [&mut [f32]; K]) {
    seam.ones.follow(above, fine);
    seam.twos.follow(above, fine);
    seam.fours.follow(above, fine);
}

/// Adds what hanging nodes have to the grid above.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn gather<const K: usize>(seam: &Seam, above: &mut [&mut [f32]; K], fine: &[&[f32]; K]) {
    seam.carried.gather(above, fine);
}

/// A node's number as it is kept.
pub(super) fn number(index: usize) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "grids are below 2^32 nodes"
    )]
    let number = index as u32;
    number
}

impl Seam {
    /// The seam of a grid whose first node is node `corner` of the one above; `hangs` says which
    /// sides, as [`palpate_geometry::mesh::nested::Nested::hangs`].
    pub(super) fn new(fine: &Grid, above: &Grid, corner: [usize; 3], hangs: [bool; 6]) -> Self {
        let [nx, ny, nz] = fine.nodes.map(|n| n - 1);
        let mut seam = Self {
            ones: Hung::NEW,
            twos: Hung::NEW,
            fours: Hung::NEW,
            carried: Carried::default(),
            class: 0,
            apart: false,
        };
        let beside = |i: usize| i / 2..=i.div_ceil(2);
        for k in 0..=nz {
            for j in 0..=ny {
                let whole = (hangs[2] && j == 0)
                    || (hangs[3] && j == ny)
                    || (hangs[4] && k == 0)
                    || (hangs[5] && k == nz);
                for i in 0..=nx {
                    if !(whole || (hangs[0] && i == 0) || (hangs[1] && i == nx)) {
                        continue;
                    }
                    let places = beside(k).flat_map(|z| {
                        beside(j).flat_map(move |y| beside(i).map(move |x| [x, y, z]))
                    });
                    // in the middle of a side of the grid, so that at most four are beside
                    let (mut coarse, mut count) = ([0; 4], 0);
                    for place in places {
                        coarse[count] = above.at([0, 1, 2].map(|a| corner[a] + place[a]));
                        count += 1;
                    }
                    let at = fine.at([i, j, k]);
                    match count {
                        1 => seam.ones.push(at, &coarse),
                        2 => seam.twos.push(at, &coarse),
                        _ => seam.fours.push(at, &coarse),
                    }
                }
            }
        }
        seam.carried = Carried::new(seam.shares().collect());
        seam
    }

    /// Nodes of the rim, what hangs on them, and by which share.
    pub(super) fn shares(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        let pairs = self.ones.pairs().chain(self.twos.pairs());
        pairs.chain(self.fours.pairs())
    }

    /// The nodes of the grid above that carry hanging ones.
    pub(super) fn rim(&self) -> &[u32] {
        &self.carried.rim
    }

    /// The nodes that hang.
    fn hung(&self) -> impl Iterator<Item = usize> + '_ {
        let lists = [&self.ones.fine, &self.twos.fine, &self.fours.fine];
        lists.into_iter().flatten().map(|&node| node as usize)
    }

    /// Sets fields of the hanging nodes from the grid above.
    pub(super) fn follow<const K: usize>(&self, above: [&[f32]; K], mut fine: [&mut [f32]; K]) {
        follow(self, &above, &mut fine);
    }

    /// Adds what hanging nodes have to the grid above.
    pub(super) fn gather<const K: usize>(&self, mut above: [&mut [f32]; K], fine: [&[f32]; K]) {
        gather(self, &mut above, &fine);
    }

    /// Leaves hanging nodes with nothing.
    pub(super) fn clear(&self, fine: &mut [f32]) {
        self.hung().for_each(|node| fine[node] = 0.0);
    }

    /// Raises a field of every node of the rim to the greatest of what hangs on it.
    pub(super) fn raise(&self, above: &mut Field, fine: &Field) {
        let all = &self.carried;
        for (&rim, ends) in all.rim.iter().zip(all.starts.windows(2)) {
            let own = &mut above[rim as usize];
            for &(at, _) in &all.parts[ends[0] as usize..ends[1] as usize] {
                *own = own.max(fine[at as usize]);
            }
        }
    }

    /// Spends the impulses of a rim that goes apart and moves it; gives the energy that damping took.
    pub(super) fn go<const LAST: bool>(&self, above: &mut Motion, pace: &Pace) -> f64 {
        if self.apart {
            motion::go_each::<LAST>(self.rim(), above, pace)
        } else {
            0.0
        }
    }

    /// Places of the hanging nodes from the rim's.
    pub(super) fn follow_rim(&self, above: &Motion, fine: &mut Motion) {
        self.follow(
            above.u.each_ref().map(Vec::as_slice),
            fine.u.each_mut().map(Vec::as_mut_slice),
        );
    }

    /// Speeds of the hanging nodes from the rim's, which only friction asks for.
    pub(super) fn follow_speeds(&self, above: &Motion, fine: &mut Motion) {
        self.follow(
            above.v.each_ref().map(Vec::as_slice),
            fine.v.each_mut().map(Vec::as_mut_slice),
        );
    }

    /// Impulses of the hanging nodes to the rim. Those stay with them too until all nodes go, which
    /// clears them, unless some grids go less often.
    pub(super) fn gather_forces(&self, above: &mut Motion, fine: &mut Motion) {
        self.gather(
            above.f.each_mut().map(Vec::as_mut_slice),
            fine.f.each_ref().map(Vec::as_slice),
        );
        if self.apart {
            fine.f.iter_mut().for_each(|f| self.clear(f));
        }
    }
}
