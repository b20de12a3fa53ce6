//! Collision experiment of the source, shared by a test and a benchmark.
//!
//! Source: seed-001 section 4.1 (row CD-12, Table 1). A cube of 31^3 or 15^3 nodes, or its surface, moves through a
//! ball of radius 30 in a space of 200^3 cells. It takes steps of 5 cells, from each of six sides.

use crate::voxel::collide::backtrack::approach;
use crate::voxel::collide::collision_grid::{CollisionGrid, CollisionGridError};
use crate::voxel::collide::occupancy::{MapMoveRule, MapWork, OccupancyMap};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;

/// Cells of the space along an axis.
const SIDE: u32 = 200;
/// Radius of the ball, in cells.
const BALL: i32 = 30;
/// Initial distance of the cube's centre from the ball's, in cells.
const START: f64 = 75.0;
/// Length of a step, in cells.
const STEP: f64 = 5.0;
/// Number of steps from one side to the other.
pub const STEPS: usize = 30;

/// Stage of the cube after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CourseStage {
    /// No contact.
    Free,
    /// Some nodes in the ball (detection only).
    Partly,
    /// All nodes in the ball (detection only).
    Inside,
    /// Stopped during the step (prevention only).
    Impact,
    /// Stopped at its start (prevention only).
    Touching,
}

/// The ball, and a cube that moves.
#[derive(Debug, Clone)]
pub struct CollisionCourse {
    map: OccupancyMap,
    ball: usize,
    home_m: Vec<Vec3>,
    cube: u32,
    heading: Vec3,
}

impl CollisionCourse {
    /// Returns the experiment with a cube of `edge` nodes along each edge, 1 to 31, or its surface, in a dense or
    /// hashed map.
    ///
    /// # Errors
    /// [`CollisionGridError`] never: the numbers are fixed.
    pub fn new(edge: i32, surface: bool, hashed: bool) -> Result<Self, CollisionGridError> {
        let edge = edge.clamp(1, 31);
        let grid = CollisionGrid::around(Vec3::repeat(-0.5 * f64::from(SIDE)), 1.0, [SIDE; 3])?;
        let map = if hashed {
            None
        } else {
            OccupancyMap::dense(grid)
        };
        let mut map = map.unwrap_or_else(|| OccupancyMap::hashed(grid));
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
            heading: Vec3::zeros(),
        })
    }

    /// Returns the numbers of nodes of the ball and of the cube.
    #[must_use]
    pub const fn node_counts(&self) -> [usize; 2] {
        [self.ball, self.home_m.len()]
    }

    /// Places the cube in front of the ball, to move in a direction.
    pub fn start(&mut self, to: NeighbourDirection) {
        self.heading = Vec3::zeros();
        self.heading[to.axis()] = if to.is_positive() { 1.0 } else { -1.0 };
        let from_m = self.heading * -START;
        let home_m = &self.home_m;
        let to_m = |nth: usize, _: &Vec3| home_m[nth] + from_m;
        let _ = self
            .map
            .try_move(self.cube, MapMoveRule::Detect, to_m, |_| ());
        self.map.take_work();
    }

    /// Takes one step through all obstacles.
    pub fn detect(&mut self) -> CourseStage {
        let by_m = self.heading * STEP;
        let mut hits = 0;
        let to_m = |_: usize, at_m: &Vec3| at_m + by_m;
        let _ = self
            .map
            .try_move(self.cube, MapMoveRule::Detect, to_m, |_| hits += 1);
        match hits {
            0 => CourseStage::Free,
            all if all == self.home_m.len() => CourseStage::Inside,
            _ => CourseStage::Partly,
        }
    }

    /// Takes one step as far as it is free of hits, to within a cell.
    pub fn prevent(&mut self) -> CourseStage {
        let step_m = self.heading * STEP;
        match approach(&mut self.map, self.cube, &step_m, 1.0) {
            Ok(travel) if travel.stopped.is_none() => CourseStage::Free,
            Ok(travel) if travel.share > 0.0 => CourseStage::Impact,
            _ => CourseStage::Touching,
        }
    }

    /// Returns the work since the last call.
    pub fn take_work(&mut self) -> MapWork {
        self.map.take_work()
    }
}

/// Returns numbered integer places of a cube about the origin wherever `is_in` is true.
fn numbered(half: i32, is_in: impl Fn([i32; 3]) -> bool) -> Vec<(u32, Vec3)> {
    let sites = (-half..=half)
        .flat_map(|z| (-half..=half).flat_map(move |y| (-half..=half).map(move |x| [x, y, z])));
    let places = sites.filter(|&site| is_in(site));
    (0..)
        .zip(places.map(|site| Vec3::from(site.map(f64::from))))
        .collect()
}
