//! Tests of proposals with an atlas by formula alone, against a reference table.

use super::*;

fn task() -> TuneTask {
    TuneTask {
        tissue_npm: 300.0,
        coupling_npm: 2000.0,
        twin: true,
    }
}

fn link(rtt_ms: f64, loss: f64) -> LinkEstimate {
    LinkEstimate {
        rtt_ms_p50: rtt_ms,
        rtt_ms_p99: 1.2 * rtt_ms,
        oneway_ms_fwd: None,
        oneway_ms_back: None,
        jitter_ms: Some(1.0),
        loss: Some(loss),
        offset_bound_ms: None,
    }
}

/// Atlas by formula alone, without sessions.
fn atlas(link: &LinkEstimate, task: &TuneTask) -> Atlas {
    let formula = |point: AtlasPoint| match point.chart {
        AtlasChart::Displayed => point.displayed_by_formula(),
        _ => point,
    };
    Atlas {
        name: "atlas.csv".into(),
        points: points_to_find(link, task)
            .into_iter()
            .map(formula)
            .collect(),
    }
}

fn proposed(link: &LinkEstimate, task: &TuneTask) -> Proposal {
    propose(link, task, &atlas(link, task)).expect("lines")
}

/// teleop section 8: K_disp by theory, and the round trip at which a lump is lost.
#[test]
fn rows_match_the_reference_table() {
    let tissue = |tissue_npm| TuneTask {
        tissue_npm,
        ..task()
    };
    let row = |b: f64, rtt_ms: f64, task: &TuneTask| {
        let link = link(rtt_ms, 0.0);
        let rows = atlas(&link, task).rows(&link, task);
        let found = rows.into_iter().find(|row| row.impedance_nspm == b);
        found.expect("considered")
    };
    // the table's round trip includes its own tick
    for (rtt_ms, tissue_npm, b, expected) in [
        (10.0, 300.0, 10.0, 228.1),
        (100.0, 300.0, 10.0, 112.6),
        (500.0, 1000.0, 10.0, 37.7),
        (100.0, 1000.0, 100.0, 500.0),
    ] {
        let found = row(b, rtt_ms, &tissue(tissue_npm)).displayed_npm;
        assert!(
            (found / expected - 1.0).abs() < 0.015,
            "{found} for {expected}"
        );
    }
    let contrast = |rtt_ms| row(10.0, rtt_ms, &task()).contrast;
    assert!(contrast(40.0) > WEBER && contrast(46.0) < WEBER);
}

#[test]
fn near_link_gets_waves_and_far_link_gets_twin() {
    let near = proposed(&link(0.3, 0.0), &task());
    assert_eq!((near.mode, near.codec.as_str()), (Mode::Wave, "off"));
    let far = proposed(&link(300.0, 0.05), &task());
    assert_eq!((far.mode, far.codec.as_str()), (Mode::Mmt, "deadband"));
    assert!(far.impedance_nspm < near.impedance_nspm);
    let mut config = palpate_session::config::Config::default();
    for set in &far.set {
        config.set(set).expect("--set takes it");
    }
    assert!(config.codec.is_on() && config.coupling.mode == Mode::Mmt);
    let endless = proposed(&link(1e5, 0.0), &task());
    let reason = &endless.reasons[0];
    assert!(
        reason.contains("smallest") && !reason.contains("at most"),
        "{reason}"
    );
    let blind = TuneTask {
        twin: false,
        ..task()
    };
    assert_eq!(proposed(&link(300.0, 0.0), &blind).mode, Mode::Wave);
    for proposal in [&near, &far] {
        let best = proposal.impedances.iter();
        let mut best = best.filter(|row| row.impedance_nspm == proposal.impedance_nspm);
        assert!(best.all(|row| row.inertia_kg <= INERTIA_KG), "{proposal:?}");
        assert!(proposal.reasons.iter().any(|reason| reason.contains("E12")));
    }
}

#[test]
fn uneven_link_is_tuned_by_its_sum_and_both_ways_are_reported() {
    let even = link(100.0, 0.0);
    let uneven = LinkEstimate {
        oneway_ms_fwd: Some(80.0),
        oneway_ms_back: Some(20.0),
        ..even
    };
    let [even, uneven] = [even, uneven].map(|link| proposed(&link, &task()));
    assert_eq!(even.impedances, uneven.impedances);
    assert_eq!(even.set, uneven.set);
    let reasons = uneven.reasons.join(" ");
    assert!(
        reasons.contains("80.0 ms") && reasons.contains("20.0 ms"),
        "{reasons}"
    );
    assert!(!even.reasons.join(" ").contains("way there"));
}

#[test]
fn issue_ways_within_the_clock_bound_were_reported() {
    let ways = |fwd_ms: f64, bound_ms: f64| LinkEstimate {
        oneway_ms_fwd: Some(fwd_ms),
        oneway_ms_back: Some(100.0 - fwd_ms),
        offset_bound_ms: Some(bound_ms),
        ..link(100.0, 0.0)
    };
    // frames alone bound an offset by half a round trip
    for fwd_ms in [50.0, 80.0, 100.0] {
        assert_eq!(direction_reason(&ways(fwd_ms, 50.0)), None);
    }
    assert!(direction_reason(&ways(80.0, 1.0)).is_some());
}

/// Runs take precedence over formulas, a low limit of the ends lowers b, and reasons name the lines.
#[test]
fn reasons_name_atlas_lines() {
    let (link, task) = (link(20.0, 0.0), task());
    let mut atlas = atlas(&link, &task);
    let plain = propose(&link, &task, &atlas).expect("lines");
    assert!(plain.impedance_nspm > 10.0);
    let at = |atlas: &Atlas, of: &dyn Fn(&AtlasPoint) -> bool| {
        atlas.points.iter().position(of).expect("planned")
    };
    let end = at(&atlas, &|point| {
        point.chart == AtlasChart::Impedance && point.grip == "light"
    });
    atlas.points[end].root = Some(9.0);
    let line = at(&atlas, &|point| point.b_nspm == Some(3.3));
    atlas.points[line].time = Some(50.0);
    let direct = at(&atlas, &|point| {
        point.chart == AtlasChart::Direct && point.grip == "firm"
    });
    (atlas.points[direct].time, atlas.points[direct].absolute) = (Some(4.5), Some(0.0));
    let bound = propose(&link, &task, &atlas).expect("lines");
    assert_eq!(bound.impedance_nspm, 3.3);
    let row = bound
        .impedances
        .iter()
        .find(|row| row.impedance_nspm == 3.3);
    let row = row.expect("considered");
    assert_eq!((row.method.as_str(), row.atlas_line), ("run", line + 2));
    assert!((45.0..55.0).contains(&row.displayed_npm), "{row:?}");
    let reasons = bound.reasons.join(" ");
    for part in [
        format!(
            "9 N s/m with the least stable grip (atlas.csv line {})",
            end + 2
        ),
        format!("(atlas.csv line {}, by run)", line + 2),
        format!("from 4.5 ms one way on (atlas.csv line {})", direct + 2),
    ] {
        assert!(reasons.contains(&part), "{part} is not in: {reasons}");
    }
    atlas
        .points
        .retain(|point| point.chart != AtlasChart::Displayed);
    let error = propose(&link, &task, &atlas)
        .expect_err("no lines")
        .to_string();
    assert!(error.contains("atlas.csv"), "{error}");
}
