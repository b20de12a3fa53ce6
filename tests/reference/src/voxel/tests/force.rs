//! Forces at rest against the golden numbers of section 3.4.2, in double precision.

use crate::voxel::bodies::Printed as _;
use crate::voxel::bodies::{block, matter};
use crate::voxel::relax::{Relax, RelaxParams, Wish};
use crate::voxel::settle::{pull_n, settle};
use palpate_twin::Vec3;
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;
use palpate_voxel::matter::Matter;

/// Stiffness of the links of [`matter`] \[N/m\].
const K: f64 = 1e3;

/// A block on a pinned ground; elements within `radius` of `centre` are `times` stiffer.
fn grounded(size: [i32; 3], (centre, radius): ([i32; 3], i32), times: f64) -> Elements<f64> {
    let stiff = Matter {
        modulus_pa: times * matter(Limits::MEDIUM).modulus_pa,
        ..matter(Limits::MEDIUM)
    };
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let mut seeds = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                let [a, b, c] = [x - centre[0], y - centre[1], z - centre[2]];
                let inside = a * a + b * b + c * c <= radius * radius;
                seeds.push(Seed {
                    site: [x, y, z],
                    matter: u8::from(inside),
                    object: 0,
                });
            }
        }
    }
    let matters = vec![matter(Limits::MEDIUM), stiff];
    let mut elements = Elements::new(frame, matters, &seeds).expect("fit");
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == 0);
    }
    elements
}

/// Nowhere stiffer.
const EVEN: ([i32; 3], i32) = ([-9, -9, -9], 0);

/// Force over depth of a flat punch of this radius around a place of the top \[k\], and its elements.
fn punch(elements: &mut Elements<f64>, (x, y): (i32, i32), radius: i32, top: i32) -> (f64, usize) {
    let mut controls = Vec::new();
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            if dx * dx + dy * dy <= radius * radius {
                let element = elements.at_site([x + dx, y + dy, top]).expect("there");
                controls.push(Control {
                    element,
                    to_m: [0.0, 0.0, -0.1],
                });
            }
        }
    }
    let solved = settle(elements, &controls, 1e-7, 2000);
    assert!(solved.residual <= 1e-7 && !solved.indefinite, "{solved:?}");
    let felt = controls.iter().map(|c| pull_n(elements, c.element).z);
    (felt.sum::<f64>() / (0.1 * K), controls.len())
}

/// Section 3.4.2: a single control feels 3.0177 k, the same at any depth.
#[test]
fn df_07_one_control_feels_in_proportion() {
    let mut elements = grounded([20, 20, 10], EVEN, 1.0);
    let element = elements.at_site([10, 10, 9]).expect("there");
    for depth in [0.01, 0.3, 1.5] {
        let to_m = [0.0, 0.0, -depth];
        settle(&mut elements, &[Control { element, to_m }], 1e-10, 2000);
        let felt = pull_n(&elements, element);
        let over = felt.z / (depth * K);
        assert!((over - 3.0177).abs() < 5e-5, "{over}");
        assert!(felt.x.abs() + felt.y.abs() < 1e-9);
    }
}

/// Section 3.4.2: sweeps of the weighted rule end where the solve says.
#[test]
fn df_07_weighted_sweeps_end_where_the_solve_says() {
    let mut solved = grounded([7, 6, 5], ([3, 3, 3], 1), 10.0);
    let mut swept = solved.clone();
    let element = solved.at_site([3, 2, 4]).expect("there");
    let control = Control {
        element,
        to_m: [0.05, 0.0, -0.1],
    };
    settle(&mut solved, &[control], 1e-12, 1000);
    settle(&mut swept, &[control], 1e-12, 0);
    let params = RelaxParams {
        wish: Wish::Weighted,
        gain: 1.5,
        limits: false,
        ..RelaxParams::default()
    };
    let mut relax = Relax::new(params, &swept).expect("fit");
    for _ in 0..600 {
        relax.sweep(&mut swept, &[element]);
    }
    let [a, b] = [&solved, &swept].map(|e| pull_n(e, element));
    assert!((a - b).norm() < 1e-9 * a.norm(), "{a} {b}");
    // a stiff inclusion is felt by the weighted rule only
    let mut even = grounded([7, 6, 5], EVEN, 1.0);
    settle(&mut even, &[control], 1e-12, 1000);
    assert!(a.norm() > 1.05 * pull_n(&even, element).norm());
    let block = block::<f64>([2; 3], Limits::MEDIUM);
    assert_eq!(pull_n(&block, 0), Vec3::zeros());
}

/// Nodule table of section 3.4.2: centre's depth, how many times stiffer, ratio to homogeneous at offsets of
/// 0, 3, 6 and 10.
const NODULES: [(i32, f64, [f64; 4]); 6] = [
    (5, 10.0, [1.260, 1.152, 1.047, 1.012]),
    (6, 10.0, [1.118, 1.080, 1.033, 1.010]),
    (8, 10.0, [1.038, 1.030, 1.017, 1.007]),
    (6, 3.0, [1.062, 1.042, 1.017, 1.005]),
    (6, 100.0, [1.168, 1.111, 1.047, 1.015]),
    (5, 100.0, [1.383, 1.212, 1.066, 1.018]),
];

fn nodules(rows: &[(i32, f64, [f64; 4])], offsets: usize) {
    let size = [41, 41, 21];
    let mut even = grounded(size, EVEN, 1.0);
    let places = [0, 3, 6, 10];
    let base: Vec<f64> = places[..offsets]
        .iter()
        .map(|away| punch(&mut even, (20 + away, 20), 2, 20).0)
        .collect();
    assert!((base[0] - 10.318).abs() < 1e-3, "{}", base[0]);
    for &(depth, times, golden) in rows {
        let mut elements = grounded(size, ([20, 20, 20 - depth], 4), times);
        for (nth, away) in places[..offsets].iter().enumerate() {
            let (felt, count) = punch(&mut elements, (20 + away, 20), 2, 20);
            assert_eq!(count, 13);
            let ratio = felt / base[nth];
            let expected = golden[nth];
            assert!(
                (ratio / expected - 1.0).abs() < 0.01,
                "{depth} x{times} at {away}: {ratio}, not {expected}"
            );
        }
    }
}

/// Section 3.4.2: a nodule is felt above it, and less beside it, by the golden ratios.
#[test]
fn fu_01_a_stiff_nodule_is_felt_above_it() {
    nodules(&NODULES[..1], 4);
}

/// The same, all of the table: `cargo test --release -p palpate-voxel --lib fu_01_all -- --ignored`.
#[test]
#[ignore = "half a minute"]
fn fu_01_all_nodules_are_felt_as_the_table_says() {
    nodules(&NODULES, 4);
}

/// Section 3.4.2: a flat punch against `4 a k`, on a block that is small enough for a quick run.
#[test]
fn df_07_a_small_punch_is_near_that_of_a_half_space() {
    let mut elements = grounded([37, 37, 25], EVEN, 1.0);
    let (felt, count) = punch(&mut elements, (18, 18), 3, 24);
    let alone = 4.0 * (count as f64 / std::f64::consts::PI).sqrt();
    assert_eq!(count, 29);
    assert!((1.10..1.35).contains(&(felt / alone)), "{felt} {alone}");
}

/// Section 3.4.2, punch calibration: `cargo test --release -p palpate-voxel --lib df_07_flat -- --ignored`.
#[test]
#[ignore = "a minute: 400 000 elements"]
fn df_07_flat_punches_are_calibrated() {
    for (radius, nodes, golden) in [(3, 29, 13.99), (5, 81, 22.00), (8, 197, 32.70)] {
        let mut elements = grounded([81, 81, 61], EVEN, 1.0);
        let (felt, count) = punch(&mut elements, (40, 40), radius, 60);
        assert_eq!(count, nodes);
        assert!((felt / golden - 1.0).abs() < 0.01, "{felt}, not {golden}");
    }
}
