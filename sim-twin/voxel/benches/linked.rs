//! Steps of a cube in an occupancy map, for one who makes them faster.
//!
//! `cargo bench -p palpate-voxel --bench linked`. Bodies of Table 1 of seed-001 (row CD-12) in free space; all of the
//! table, beside the source's own way, is in `palpate bench --only linked`.

use criterion::{Criterion, criterion_group, criterion_main};
use palpate_twin::edits::Direction;
use palpate_voxel::collide::table::Course;

/// Bodies of Table 1: edge of the cube, whether its surface only.
const CUBES: [(i32, bool); 4] = [(31, false), (15, false), (31, true), (15, true)];
/// The step that a session would do: a surface in free space.
fn free(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linked/occupancy");
    for (edge, surface) in CUBES {
        let mut course = Course::new(edge, surface, false).expect("fixed");
        let mut steps = 0;
        group.bench_function(format!("{edge}^3 surface {surface}"), |bench| {
            bench.iter(|| {
                if steps == 0 {
                    course.start(Direction::Right);
                }
                steps = (steps + 1) % 4;
                course.detect()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, free);
criterion_main!(benches);
