//! CD-12, in work instead of time.

use crate::voxel::collide::occupancy::Work;
use crate::voxel::collide::table::{Course, STEPS, Stage};
use palpate_twin::edits::Direction;

/// Mean work of the steps of a stage: cells looked at and written, a step.
fn mean(course: &mut Course, prevent: bool, stage: Stage) -> Option<f64> {
    let (mut sum, mut count) = (0, 0);
    // of a cube all ways are alike, but for who comes first
    for way in [Direction::Left, Direction::Front] {
        course.start(way);
        for _ in 0..STEPS {
            let met = if prevent {
                course.prevent()
            } else {
                course.detect()
            };
            let Work {
                tested,
                cleared,
                written,
            } = course.take_work();
            if met == stage {
                sum += tested + cleared + written;
                count += 1;
            }
        }
    }
    (count > 0).then(|| sum as f64 / f64::from(count))
}

#[test]
fn cd_12_table_1_in_cells_looked_at_and_written() {
    let mut free = Vec::new();
    println!("cube, elements, detect free / inside, prevent free / impact / touching");
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
            let mut course = Course::new(edge, surface, hashed).expect("fixed");
            assert_eq!(course.elements(), [113_081, count]);
            let row = [
                (false, Stage::Free),
                (false, Stage::Inside),
                (true, Stage::Free),
                (true, Stage::Impact),
                (true, Stage::Touching),
            ]
            .map(|(prevent, stage)| mean(&mut course, prevent, stage).expect("each is met"));
            println!("{edge} {surface} {hashed}, {count}: {row:.0?}");
            let elements = count as f64;
            // a step without a hit looks at every element once, clears it once and writes it once, no matter what is there
            assert_eq!(row[0], 3.0 * elements);
            assert_eq!(row[1], 3.0 * elements);
            // steps by less than a cell; what stops at the first hit does less than a whole look
            assert!(row[2] > row[0] && row[3] < row[2] * 1.5 && row[4] <= elements * 2.0);
            free.push((elements, row[0], row[2]));
        }
    }
    assert!(free[0].1 / free[3].1 >= 3.0, "surface against all of 31^3");
    for pick in [|row: &(f64, f64, f64)| row.1, |row: &(f64, f64, f64)| row.2] {
        let points: Vec<(f64, f64)> = free.iter().map(|row| (row.0, pick(row))).collect();
        assert!(fit(&points) > 0.95);
    }
}

/// `R^2` of a straight line.
fn fit(points: &[(f64, f64)]) -> f64 {
    let mean =
        |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |pick: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>();
    let xy = sum(&|p| (p.0 - x) * (p.1 - y));
    xy * xy / (sum(&|p| (p.0 - x).powi(2)) * sum(&|p| (p.1 - y).powi(2)))
}
