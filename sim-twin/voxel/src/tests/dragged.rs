//! Elements held and dragged through a volume (row DF-13), what that looks at (DF-14, FU-10), and sweeps of rows
//! against those of single elements (FU-07), and what is drawn (RN-01).

use super::{Draw, matter, volume};
use crate::chain::{Chain, Lists};
use crate::elements::Elements;
use crate::exact::Control;
use crate::limits::Limits;
use crate::links::Links as _;
use crate::matter::Matter;
use crate::sweep::{BATCH, pass_one, pass_runs};
use crate::tests::press::{ball, slab};
use crate::weave::Weave;
use palpate_twin::Tissue as _;

/// Row DF-13: an element is dragged about; all limits are kept, the surface shows where it is, and the account of
/// energy closes. How many updates a second that makes is in `palpate bench --only linked`.
#[test]
fn df_13_what_is_grabbed_drags_the_rest_along() {
    let mut tissue = slab([30, 30, 30], vec![matter(Limits::MEDIUM)], |_| 0);
    let element = tissue.elements().at_site([15, 15, 29]).expect("there");
    let vertex = |tissue: &crate::Linked| {
        let vertices = tissue.surface().vertices();
        vertices.iter().position(|&v| v == element).expect("on top")
    };
    let mut draw = Draw::new(4);
    let (mut at_m, mut farthest_m) = ([0.0_f32; 3], 0.0_f32);
    for _ in 0..200 {
        at_m = at_m.map(|x| (x + draw.around(1e-3) as f32).clamp(-4e-3, 4e-3));
        let moved = tissue
            .drag(&[Control {
                element,
                to_m: at_m,
            }])
            .expect("gives way");
        farthest_m = farthest_m.max(at_m[2].abs());
        assert!(moved.considered > 0);
        assert_eq!(tissue.elements().moved_m(element), at_m);
        assert!(tissue.elements().worst_m() <= 1e-8);
        let shown_m = tissue.view().positions_m[vertex(&tissue)];
        assert_eq!(shown_m, tissue.elements().at_m(element));
        let books = tissue.ledger();
        let out = books.stored_j() - books.tool_work_j + books.dissipated_j - books.residual_j;
        assert!(out.abs() < 1e-12, "{books:?}");
    }
    let before = tissue.ledger();
    assert!(farthest_m > 1e-3 && before.dissipated_j > 0.0);
    // let go, it comes to rest and gives nothing back to nobody
    for _ in 0..600 {
        tissue.drag(&[]).expect("nobody holds");
    }
    let after = tissue.ledger();
    assert_eq!(after.tool_work_j, before.tool_work_j);
    assert!(
        after.stored_j() < 0.01 * before.stored_j() + 1e-12,
        "{after:?}"
    );
    // what is pinned does not give, and nothing moved
    let at_m = tissue.elements().moved_m(element);
    let far = Control {
        element,
        to_m: [0.0, 0.0, 30e-3],
    };
    assert!(tissue.drag(&[far]).is_err());
    assert_eq!(tissue.elements().moved_m(element), at_m);
}

/// Row FU-10: a small poke looks at the runs around it and no more, however large the volume.
#[test]
fn fu_10_a_small_poke_costs_by_what_moves() {
    let woken = |size: i32| {
        let mut tissue = slab([size; 3], vec![matter(Limits::LOOSE)], |_| 0);
        let middle = size / 2;
        let element = tissue
            .elements()
            .at_site([middle, middle, size - 1])
            .expect("there");
        let control = Control {
            element,
            to_m: [0.0, 0.0, -1e-4],
        };
        for _ in 0..3 {
            tissue.drag(&[control]).expect("gives way");
        }
        tissue.runs_awake()
    };
    let [small, large] = [24, 48].map(woken);
    assert!(small > 0 && large <= small + small / 4, "{small} {large}");
}

/// Row DF-14 in counts, which no machine changes: a rigid sheet is looked at whole in every move, a loose one
/// by less the larger it is. Times are in `palpate bench --only linked`.
#[test]
fn df_14_a_rigid_sheet_is_looked_at_whole_and_a_loose_one_is_not() {
    let considered = |limits: Limits, edge: i32| {
        let mut sheet: Elements<f32> = volume([edge, edge, 1], &[limits], |_| true, |_| 0);
        let element = sheet.at_site([edge / 2, edge / 2, 0]).expect("there");
        let mut chain = Chain::new(sheet.slots(), Lists::Box);
        let mut seen = Vec::new();
        for nth in 1..=40 {
            // out along x and back along y, in steps of half a link
            let way = 0.5 * nth as f32;
            let to_m = [way.min(10.0), (way - 10.0).max(0.0), 0.0];
            let moved = chain.propagate(&mut sheet, &[Control { element, to_m }]);
            seen.push(moved.expect("nothing is held").considered);
        }
        seen
    };
    for edge in [10, 50, 100] {
        let all = (edge * edge - 1) as usize;
        assert!(
            considered(Limits::RIGID, edge)
                .iter()
                .all(|&seen| seen == all)
        );
    }
    let [small, large] =
        [50, 100].map(|edge| considered(Limits::LOOSE, edge).iter().sum::<usize>());
    assert!(
        small > 0 && large < 2 * small,
        "{small} {large}: four times the elements"
    );
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
            let mut farthest = [0.0; BATCH];
            let ways = (&mut spare_m[..], &mut farthest);
            let rows_j = pass_runs(&mut rows, &weave, (&[index], 1.3), ways);
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
    let mut felt = [palpate_twin::Reaction::default()];
    for tick in 0..60 {
        let aside_m = 2e-4 * f64::from(tick);
        let at_m = palpate_twin::Vec3::new(aside_m, 0.0, 4e-3 - aside_m.min(2e-3));
        tissue.step(&[ball(at_m, 4e-3)], 1e-3, &mut felt);
        shown(&tissue);
        if tick == 30 {
            let before = tissue.view().positions_m.len();
            let cut = palpate_twin::Edit::Cut {
                point_m: palpate_twin::Vec3::new(0.2e-3, 0.0, 0.0),
                normal: palpate_twin::Vec3::x(),
            };
            tissue.edit(&cut).expect("can");
            assert!(tissue.view().positions_m.len() >= before + 2 * 28 * 28);
        }
    }
    assert!(felt[0].contacts > 0);
}
