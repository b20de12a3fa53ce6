//! Test of the work of collision detection (row CD-12).

use crate::voxel::collide::collision_course::{CollisionCourse, CourseStage, STEPS};
use crate::voxel::collide::occupancy::MapWork;
use palpate_twin::edits::NeighbourDirection;

/// Returns the mean work of the steps of a stage: cells tested and written per step.
fn mean(course: &mut CollisionCourse, prevent: bool, stage: CourseStage) -> Option<f64> {
    let (mut sum, mut count) = (0, 0);
    // all directions of a cube are equal, but for the order of nodes
    for direction in [NeighbourDirection::Left, NeighbourDirection::Front] {
        course.start(direction);
        for _ in 0..STEPS {
            let reached = if prevent {
                course.prevent()
            } else {
                course.detect()
            };
            let MapWork {
                tested,
                cleared,
                written,
            } = course.take_work();
            if reached == stage {
                sum += tested + cleared + written;
                count += 1;
            }
        }
    }
    (count > 0).then(|| sum as f64 / f64::from(count))
}

#[test]
fn cd_12_table_1_in_cells_tested_and_written() {
    let mut free = Vec::new();
    println!("cube, nodes, detect free / inside, prevent free / impact / touching");
    for (edge, surface, count) in [
        (31, false, 29_791),
        (15, false, 3375),
        (31, true, 5402),
        (15, true, 1178),
    ] {
        for hashed in [false, true]
            .into_iter()
            .take(if edge == 31 { 1 } else { 2 })
        {
            let mut course = CollisionCourse::new(edge, surface, hashed).expect("fixed");
            assert_eq!(course.node_counts(), [113_081, count]);
            let row = [
                (false, CourseStage::Free),
                (false, CourseStage::Inside),
                (true, CourseStage::Free),
                (true, CourseStage::Impact),
                (true, CourseStage::Touching),
            ]
            .map(|(prevent, stage)| mean(&mut course, prevent, stage).expect("each is met"));
            println!("{edge} {surface} {hashed}, {count}: {row:.0?}");
            let nodes = count as f64;
            // a step without a hit tests, clears and writes every node once, whatever is there
            assert_eq!(row[0], 3.0 * nodes);
            assert_eq!(row[1], 3.0 * nodes);
            // steps by less than a cell; stopping at the first hit tests less than all
            assert!(row[2] > row[0] && row[3] < row[2] * 1.5 && row[4] <= nodes * 2.0);
            free.push((nodes, row[0], row[2]));
        }
    }
    assert!(free[0].1 / free[3].1 >= 3.0, "surface against all of 31^3");
    for pick in [|row: &(f64, f64, f64)| row.1, |row: &(f64, f64, f64)| row.2] {
        let points: Vec<(f64, f64)> = free.iter().map(|row| (row.0, pick(row))).collect();
        assert!(fit(&points) > 0.95);
    }
}

/// Returns `R^2` of a linear fit.
fn fit(points: &[(f64, f64)]) -> f64 {
    let mean =
        |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |pick: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>();
    let xy = sum(&|p| (p.0 - x) * (p.1 - y));
    xy * xy / (sum(&|p| (p.0 - x).powi(2)) * sum(&|p| (p.1 - y).powi(2)))
}
