//! The collision experiment of the source, so that a test and a bench do the same.
//!
//! Source: seed-001 section 4.1 (row CD-12, Table 1): a cube of 31^3 or 15^3 elements, or its surface, goes through a
//! ball of radius 30 in a space of 200^3 cells by steps of 5 cells, from each of six sides.

use crate::voxel::collide::backtrack::approach;
use crate::voxel::collide::grid::{Grid, GridError};
use crate::voxel::collide::occupancy::{Occupancy, Rule, Work};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;

/// Cells of the space along an axis.
const SIDE: u32 = 200;
/// Radius of the ball in cells.
const BALL: i32 = 30;
/// Where the cube's middle begins, in cells before the ball's.
const START: f64 = 75.0;
/// Cells of a step.
const STEP: f64 = 5.0;
/// Steps from one side to the other.
pub const STEPS: usize = 30;

/// What a step of the cube met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing.
    Free,
    /// The ball, with some elements (detect only).
    Partly,
    /// The ball, with all elements (detect only).
    Inside,
    /// It was stopped on its way (prevent only).
    Impact,
    /// It was stopped where it was (prevent only).
    Touching,
}

/// The ball, and a cube that moves.
#[derive(Debug, Clone)]
pub struct Course {
    map: Occupancy,
    ball: usize,
    home_m: Vec<Vec3>,
    cube: u32,
    way: Vec3,
}

impl Course {
    /// With a cube of so many elements along each edge, 1 to 31, or its surface, in a map of one kind or the other.
    ///
    /// # Errors
    /// [`GridError`] never: the numbers are fixed.
    pub fn new(edge: i32, surface: bool, hashed: bool) -> Result<Self, GridError> {
        let edge = edge.clamp(1, 31);
        let grid = Grid::around(Vec3::repeat(-0.5 * f64::from(SIDE)), 1.0, [SIDE; 3])?;
        let map = if hashed { None } else { Occupancy::dense(grid) };
        let mut map = map.unwrap_or_else(|| Occupancy::hashed(grid));
        let ball = numbered(BALL, |[x, y, z]| x * x + y * y + z * z <= BALL * BALL);
        let half = edge / 2;
        let skin = |along: &i32| *along == -half || *along == edge - 1 - half;
        let cube = numbered(half, |site| {
            let within = site.iter().all(|&along| along < edge - half);
            within && (!surface || site.iter().any(skin))
        });
        // all of it is well within the space
        let _ = map.add(&ball);
        let cube_number = map.add(&cube).unwrap_or(0);
        Ok(Self {
            map,
            ball: ball.len(),
            home_m: cube.into_iter().map(|(_, at_m)| at_m).collect(),
            cube: cube_number,
            way: Vec3::zeros(),
        })
    }

    /// Elements of the ball and of the cube.
    #[must_use]
    pub const fn elements(&self) -> [usize; 2] {
        [self.ball, self.home_m.len()]
    }

    /// Puts the cube before the ball, to go this way.
    pub fn start(&mut self, to: Direction) {
        self.way = Vec3::zeros();
        self.way[to.axis()] = if to.is_up() { 1.0 } else { -1.0 };
        let from_m = self.way * -START;
        let home_m = &self.home_m;
        let to_m = |nth: usize, _: &Vec3| home_m[nth] + from_m;
        let _ = self.map.try_move(self.cube, Rule::Detect, to_m, |_| ());
        self.map.take_work();
    }

    /// One step, through whatever is there.
    pub fn detect(&mut self) -> Stage {
        let by_m = self.way * STEP;
        let mut hits = 0;
        let to_m = |_: usize, at_m: &Vec3| at_m + by_m;
        let _ = self
            .map
            .try_move(self.cube, Rule::Detect, to_m, |_| hits += 1);
        match hits {
            0 => Stage::Free,
            all if all == self.home_m.len() => Stage::Inside,
            _ => Stage::Partly,
        }
    }

    /// One step, as far as it goes without a hit, to within a cell.
    pub fn prevent(&mut self) -> Stage {
        let step_m = self.way * STEP;
        match approach(&mut self.map, self.cube, &step_m, 1.0) {
            Ok(travel) if travel.stopped.is_none() => Stage::Free,
            Ok(travel) if travel.share > 0.0 => Stage::Impact,
            _ => Stage::Touching,
        }
    }

    /// Work since the last call.
    pub fn take_work(&mut self) -> Work {
        self.map.take_work()
    }
}

/// Whole places of a cube about the origin wherever `is_in` says, with numbers.
fn numbered(half: i32, is_in: impl Fn([i32; 3]) -> bool) -> Vec<(u32, Vec3)> {
    let sites = (-half..=half)
        .flat_map(|z| (-half..=half).flat_map(move |y| (-half..=half).map(move |x| [x, y, z])));
    let places = sites.filter(|&site| is_in(site));
    (0..)
        .zip(places.map(|site| Vec3::from(site.map(f64::from))))
        .collect()
}
