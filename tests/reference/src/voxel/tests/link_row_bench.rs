//! Tests of the row of links against the golden table of section 3.4.5.

use crate::voxel::link_row_bench::{LinkRowBench, LinkRowSample, csv, hysteresis_work};
use crate::voxel::response::{ResponseLaw, ResponseTable};

/// Load and unload total force, load and unload end force, all at 1.125; the table has three decimals.
const LOOPS: [[f64; 4]; 5] = [
    [6.250, 6.250, 1.120, -0.203],
    [6.250, 6.250, 1.500, -0.494],
    [7.910, 5.414, 2.250, -0.243],
    [8.266, 6.422, 2.250, -0.250],
    [4.456, 2.460, 1.186, -0.016],
];

/// Total force at a fixed length after 0, 10, 100, 1 000, 10 000 and 100 000 passes.
const HOLDS: [[f64; 6]; 5] = [
    [12.5; 6],
    [12.5; 6],
    [17.269, 16.870, 15.450, 11.892, 7.213, 4.101],
    [17.639, 17.307, 16.150, 13.275, 8.500, 4.861],
    [12.578, 12.544, 12.269, 10.647, 7.079, 4.093],
];

/// End force of the proportional settings at the same times.
const ENDS: [[f64; 6]; 2] = [
    [1.5, 1.399, 0.975, 0.421, 0.250, 0.250],
    [1.5, 1.5, 1.476, 0.884, 0.316, 0.250],
];

/// Work of the loops of the quadratic settings: total and end.
const WORKS: [[f64; 2]; 3] = [[0.44, 0.48], [0.34, 0.51], [0.42, 0.27]];

const HALF: f64 = 0.0006;

fn loops() -> Vec<Vec<LinkRowSample>> {
    let all = LinkRowBench::figure_14();
    all.iter()
        .map(|(_, bench)| bench.load_unload().expect("fit"))
        .collect()
}

fn near(got: f64, golden: f64, what: &str) {
    assert!((got - golden).abs() < HALF, "{what}: {got}, not {golden}");
}

/// Row DF-15: the bench writes a table for plots, and refuses invalid settings.
#[test]
fn df_15_bench_writes_a_table() {
    let bench = LinkRowBench::reference(ResponseLaw::Quadratic, 0.5, 1);
    let samples = bench.load_unload().expect("fit");
    let text = csv(&samples);
    assert_eq!(text.lines().count(), 502);
    let peak = text.lines().nth(251).expect("there");
    assert!(peak.starts_with("250,1.250000,17.26"), "{peak}");
    for (bad, field) in [
        (
            LinkRowBench {
                links: 1,
                ..bench.clone()
            },
            "links",
        ),
        (
            LinkRowBench {
                gain: 1.0,
                ..bench.clone()
            },
            "gain",
        ),
        (
            LinkRowBench {
                step: 0.5,
                ..bench.clone()
            },
            "step",
        ),
        (
            LinkRowBench {
                step: f64::NAN,
                ..bench.clone()
            },
            "step",
        ),
        (
            LinkRowBench {
                limits: (0.5, 0.9),
                ..bench.clone()
            },
            "longest",
        ),
        (
            LinkRowBench {
                steps: 0,
                ..bench.clone()
            },
            "steps",
        ),
    ] {
        assert_eq!(bad.load_unload().expect_err("bad").field, field);
        assert!(bad.stretch_and_hold(&[1]).is_err());
    }
}

/// Rows DF-10 and DF-16 (Fig. 14): loading is monotone. It is straight with a proportional response; a quadratic one
/// bends upwards until the driven link is near its limit. From there links reach it one by one, and the curve rises
/// in small waves along a line.
#[test]
fn df_10_df_16_loading_is_straight_or_bends_upwards() {
    let bends = |samples: &[LinkRowSample]| -> Vec<(f64, f64)> {
        let bend = |w: &[LinkRowSample]| (w[2].end, w[2].total - 2.0 * w[1].total + w[0].total);
        samples[..=250].windows(3).map(bend).collect()
    };
    for (index, samples) in loops().iter().enumerate() {
        let rises = samples[..=250].windows(2).all(|w| w[1].total > w[0].total);
        assert!(rises, "{index}");
        let bends = bends(samples);
        if index < 2 {
            assert!(bends.iter().all(|(_, bend)| bend.abs() < 1e-9), "{index}");
            let line = |(i, s): (usize, &LinkRowSample)| (s.total - 0.05 * i as f64).abs();
            let worst = samples[..=250]
                .iter()
                .enumerate()
                .map(line)
                .fold(0.0, f64::max);
            assert!(worst < 1e-9, "{index}: {worst}");
        } else {
            let (mut free, mut least) = (0, f64::MAX);
            for (end, bend) in bends {
                if end < 2.0 {
                    (free, least) = (free + 1, least.min(bend));
                }
            }
            assert!(free > 20 && least > 0.0, "{index}: {least} of {free}");
        }
    }
    for (_, mut bench) in LinkRowBench::figure_14().into_iter().skip(2) {
        bench.limits.1 = 20.0;
        let bends = bends(&bench.load_unload().expect("fit"));
        assert!(bends.iter().all(|(_, bend)| *bend > 0.0), "{bench:?}");
    }
}

/// Row DF-17 (Fig. 15): unloading is below loading, by the golden numbers.
#[test]
fn df_17_unloading_is_below_loading() {
    for (index, samples) in loops().iter().enumerate() {
        let (out, back) = (samples[125], samples[375]);
        assert!((out.mean_length - 1.125).abs() < 1e-9);
        assert!((back.mean_length - 1.125).abs() < 1e-9);
        let [load, unload, load_end, unload_end] = LOOPS[index];
        near(out.total, load, "loading");
        near(back.total, unload, "unloading");
        near(out.end, load_end, "end while loading");
        near(back.end, unload_end, "end while unloading");
        let (total, end) = hysteresis_work(samples);
        assert!(end > 0.0, "{index}: {end}");
        if index < 2 {
            assert!(total.abs() < 1e-9, "{index}: {total}");
        } else {
            // the table multiplies every step by the force after it: too much by the peak's step
            let (peak, by) = (samples[250], 1e-3);
            let golden = WORKS[index - 2];
            for (work, peak, golden) in [(total, peak.total, golden[0]), (end, peak.end, golden[1])]
            {
                let counted = work + by * peak;
                assert!((counted - golden).abs() < 0.006, "{index}: {counted}");
            }
        }
    }
}

/// Row DF-18 (Fig. 16): a row at a fixed length relaxes from above to links of equal length.
#[test]
fn df_18_held_row_relaxes_from_above() {
    let times = [10, 100, 1000, 10_000, 100_000];
    for (index, (name, bench)) in LinkRowBench::figure_14().iter().enumerate() {
        let samples = bench.stretch_and_hold(&times).expect("fit");
        for (nth, sample) in samples.iter().enumerate() {
            near(sample.total, HOLDS[index][nth], name);
            if let Some(ends) = ENDS.get(index) {
                near(sample.end, ends[nth], name);
            }
        }
        let settled = if index < 2 { 12.5 } else { 3.125 };
        assert!((bench.equilibrium_force_sum() - settled).abs() < 1e-9);
        let falls = samples.windows(2).all(|w| w[1].total <= w[0].total + 1e-9);
        assert!(falls && samples[5].total >= settled - 1e-9, "{name}");
    }
}

/// Rows CL-03 and DF-15: the table of the quadratic law gives the results of the law.
#[test]
fn cl_03_table_matches_its_law_on_the_bench() {
    let rows = (-1500..=1500).map(|i| f64::from(i) * 1e-3);
    let text: String = rows.map(|e| format!("{e},{}\n", e * e.abs())).collect();
    let table = ResponseLaw::Table(ResponseTable::from_csv(&text).expect("fit"));
    let [by_law, by_table] = [ResponseLaw::Quadratic, table].map(|response| {
        LinkRowBench::reference(response, 0.5, 1)
            .load_unload()
            .expect("fit")
    });
    for (a, b) in by_law.iter().zip(&by_table) {
        assert!((a.total - b.total).abs() < 1e-3, "{a:?} {b:?}");
    }
}

/// Row DF-15: every setting of Fig. 14 gives its loop and its relaxation.
#[test]
fn df_15_every_setting_has_loop_and_relaxation_curves() {
    let held = [1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 50_000];
    for (name, bench) in LinkRowBench::figure_14() {
        let out = bench.load_unload().expect("fixed");
        let hold = bench.stretch_and_hold(&held).expect("fixed");
        assert_eq!((out.len(), hold.len()), (501, 11), "{name}");
        let last = hold.last().expect("11");
        assert!(last.total >= bench.equilibrium_force_sum() - 1e-9, "{name}");
    }
}
