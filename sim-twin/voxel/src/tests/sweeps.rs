//! What a poke looks at (FU-10), sweeps of rows against those of single elements (FU-07), and what is drawn (RN-01).

use super::press::{ball, slab};
use super::{Draw, matter};
use crate::elements::Elements;
use crate::limits::Limits;
use crate::matter::Matter;
use crate::sweep::{pass_one, pass_runs};
use crate::weave::Weave;
use palpate_twin::{Reaction, Tissue as _, Vec3};

/// Row FU-10: a small poke looks at the runs around it and no more, however large the volume.
#[test]
fn fu_10_a_small_poke_costs_by_what_moves() {
    let woken = |size: i32| {
        let mut tissue = slab([size; 3], vec![matter(Limits::LOOSE)], |_| 0);
        let mut felt = [Reaction::default()];
        for _ in 0..3 {
            tissue.step(&[ball(Vec3::z() * 1.7e-3, 2e-3)], 1e-3, &mut felt);
        }
        assert!(felt[0].contacts > 0);
        tissue.pace.awake.count()
    };
    let [small, large] = [24, 48].map(woken);
    assert!(small > 0 && large <= small + small / 4, "{small} {large}");
}

/// Row FU-07: the layout goes through rows at once, and does what going through elements does: where limits are far, and
/// where they cut ways short, in plain runs and in others.
#[test]
fn fu_07_rows_at_once_do_as_one_by_one() {
    for (limits, far_m) in [(Limits::LOOSE, 1e-4), (Limits::MEDIUM, 0.99e-4)] {
        let stiff = Matter {
            modulus_pa: 20.0 * matter(limits).modulus_pa,
            ..matter(limits)
        };
        let of = |[x, y, _]: [i32; 3]| u8::from(x > 20 && y < 5);
        let tissue = slab([45, 9, 7], vec![matter(limits), stiff], of);
        let mut rows = tissue.elements().clone();
        let mut draw = Draw::new(11);
        for slot in 0..rows.slots() {
            if !rows.pinned(slot) {
                for moved_m in &mut rows.moved_m {
                    moved_m[slot as usize] = draw.around(far_m) as f32;
                }
            }
        }
        // a cut, and an element that a tool has
        let cut = rows.at_site([12, 4, 3]).expect("there");
        for to in palpate_twin::edits::Direction::ALL {
            rows.cut(cut, to);
        }
        rows_and_one_by_one(rows);
    }
}

fn rows_and_one_by_one(mut rows: Elements<f32>) {
    let rest = rows.clone();
    let mut weave = Weave::new(&rows);
    let taken = rows.at_site([30, 4, 6]).expect("there");
    weave.gain[taken as usize] = 0.0;
    for run in 0..weave.runs.len() {
        weave.learn(&rows, run);
    }
    let plain = (0..)
        .zip(&weave.runs)
        .filter(|(run, _)| weave.plain(*run).is_some());
    let plain = plain.count();
    assert!(plain > 20 && plain < weave.runs.len() - 20, "{plain}");
    let mut single = rows.clone();
    let before_m = rows.moved_m(taken);
    let mut spare_m = vec![-1.0; weave.runs.len()];
    for sweep in 0..6 {
        for (index, run) in (0..)
            .zip(&weave.runs)
            .filter(|(_, run)| run.colour == sweep % 2)
        {
            let swept = pass_runs(&mut rows, &weave, &[index], 1.3, &mut spare_m);
            let (rows_j, farthest) = (swept.lost_j, swept.farthest_m);
            spare_m[index as usize] -= farthest[0];
            for &beside in weave.beside(index as usize) {
                spare_m[beside as usize] -= farthest[0];
            }
            let mut lost_j = 0.0;
            let mut farthest_m = 0.0_f32;
            for slot in run.start..run.start + run.len {
                let one = pass_one(&mut single, &weave, slot, 1.3);
                lost_j += one.lost_j;
                farthest_m = farthest_m.max(one.farthest_m);
            }
            assert!((farthest[0] - farthest_m).abs() < 1e-9);
            assert!((rows_j - lost_j).abs() <= 1e-5 * lost_j.abs() + 1e-15);
        }
    }
    for (all, one) in rows.moved_m.iter().zip(&single.moved_m) {
        assert!(all.iter().zip(one).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    assert!(rows.worst_m() <= rest.worst_m().max(1e-10));
    assert_eq!(rows.moved_m(taken), before_m);
    assert_ne!(rows, rest);
}

/// Row RN-01: what is drawn as points are the elements of the surface and no others, where they are, also though a
/// step looks at those alone whose rows moved.
#[test]
fn rn_01_points_are_those_of_the_surface_and_follow_it() {
    let mut tissue = slab([30; 3], vec![matter(Limits::LOOSE)], |_| 0);
    assert_eq!(tissue.view().positions_m.len(), 30 * 30 * 30 - 28 * 28 * 28);
    let shown = |tissue: &crate::Linked| {
        let vertices = tissue.surface().vertices();
        let bare = |element: u32| {
            let links = palpate_twin::edits::Direction::ALL.into_iter();
            let mut links = links.map(|to| tissue.elements().neighbour(element, to));
            links.any(|other| other.is_none())
        };
        assert!(vertices.iter().all(|&element| bare(element)));
        let at_m = vertices
            .iter()
            .map(|&element| tissue.elements().at_m(element));
        assert!(at_m.eq(tissue.view().positions_m.iter().copied()));
    };
    let mut felt = [Reaction::default()];
    for tick in 0..60 {
        let aside_m = 2e-4 * f64::from(tick);
        let at_m = Vec3::new(aside_m, 0.0, 4e-3 - aside_m.min(2e-3));
        tissue.step(&[ball(at_m, 4e-3)], 1e-3, &mut felt);
        shown(&tissue);
        if tick == 30 {
            let before = tissue.view().positions_m.len();
            let cut = palpate_twin::Edit::Cut {
                point_m: Vec3::new(0.2e-3, 0.0, 0.0),
                normal: Vec3::x(),
            };
            tissue.edit(&cut).expect("can");
            assert!(tissue.view().positions_m.len() >= before + 2 * 28 * 28);
        }
    }
    assert!(felt[0].contacts > 0);
}
