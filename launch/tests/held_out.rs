//! What is felt of tissue that the twin was not made for: layers and a lump drawn at random, or springs, of
//! 100 to 2 000 N/m, through 0 to 1 000 ms of round trip. Takes minutes, so it is run by hand:
//! `cargo test --release --workspace --test held_out -- --ignored --nocapture`.
//!
//! Two truths: the stiffness of a slow press, as in a summary, and what the tissue itself would have shown in
//! the very motion of the hand, by the same regression. Tissue is not linear and a hand is not slow, so a perfect
//! model is 5 % off the first; it is not off the second.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::metrics::{Site, Traces, loops, press};
use palpate_analysis::play::{self, Entry};
use palpate_analysis::progress::Unseen;
use palpate_analysis::truth;
use palpate_session::config::Config;
use palpate_session::environment::TissueEnvironment;
use palpate_session::lab::{Session, load_scene};
use palpate_slave::robot::{Environment as _, Probe};
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Layers of the default twin's kind, but of other thickness and stiffness, on another mesh, with a lump
/// under one of the outer sites; `stiffness` multiplies all moduli.
fn tissue(seed: u64, stiffness: f64) -> String {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut between = |low: f64, high: f64| {
        low + (high - low) * ((random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
    };
    // of the first five sites, so that a session may end after them
    let sites = [[-0.02, 0.0], [0.0, -0.02]];
    let site = sites[(between(0.0, 2.0) as usize).min(1)];
    let mut text = String::from(
        "name = \"drawn\"\n[block]\nsize_m = [0.09, 0.09, 0.0288]\ncell_m = 0.0029\nlevels = 3\n\
         substeps_max = 6\nfine_half_m = [0.025, 0.025]\nfine_depth_m = 0.009\ndamping_hz = 30.0\n",
    );
    for (name, young_pa, thickness_m) in [
        ("skin", 42e3, Some((0.0015, 0.0025))),
        ("fat", 2.6e3, Some((0.006, 0.009))),
        ("muscle", 65e3, None),
    ] {
        let young_pa = stiffness * young_pa * between(0.7, 1.4);
        write!(
            text,
            "[[layer]]\nname = \"{name}\"\nyoung_pa = {young_pa}\n"
        )
        .expect("a string");
        if let Some((low, high)) = thickness_m {
            let thickness_m = between(low, high);
            writeln!(text, "thickness_m = {thickness_m}").expect("a string");
        }
    }
    let (x, y) = (
        site[0] + between(-0.002, 0.002),
        site[1] + between(-0.002, 0.002),
    );
    let (z, young_pa) = (between(-0.008, -0.006), stiffness * between(4e4, 2e5));
    write!(
        text,
        "[[inclusion]]\nname = \"lump\"\ncenter_m = [{x}, {y}, {z}]\nradius_m = 0.004\n\
         young_pa = {young_pa}\n[tool]\nradius_m = 0.008\nstiffness_npm = 50000.0\n"
    )
    .expect("a string");
    text
}

/// The springs of `sheet-lump`, `times` as stiff; its lump is at the sixth site.
fn springs(times: f64) -> String {
    let text = palpate_scene::text("sheet-lump").expect("built in");
    let scaled = |name: &str, value: f64| {
        (
            format!("{name} = {value:.1}"),
            format!("{name} = {}", value * times),
        )
    };
    let mut text = text.replace("dt_s = 0.0001", "dt_s = 0.00005");
    for (from, to) in [
        scaled("\nstiffness_npm", 94.0),
        scaled("home_stiffness_npm", 26.0),
    ] {
        assert!(text.contains(&from), "{from}");
        text = text.replace(&from, &to);
    }
    text
}

/// What a session through model mediation showed.
struct Shown {
    /// Mean stiffness beside the lump \[N/m\], and its error, by the slow press and by the same motion.
    truth_npm: f64,
    errors: [f64; 2],
    /// Share of the contrast that was felt, by both.
    contrasts: [f64; 2],
    /// Largest change of the force by learning within 100 ms, as a share of it.
    step: f64,
    /// Largest energy that learning had put in \[J\].
    given_j: f64,
}

/// A session of a minute through model mediation, until the last of `sites` is left.
fn session(scene: &str, twin: &str, (rtt_ms, sites): (f64, u16), seed: u64) -> Shown {
    let mut config = Config {
        tissue: scene.into(),
        twin: twin.into(),
        duration_s: 60.0,
        seed,
        ..Config::default()
    };
    config.coupling.mode = Mode::Mmt;
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = 0.5 * rtt_ms;
        link.jitter_ms = link.jitter_ms.min(0.2 * rtt_ms);
    }
    let stop = AtomicBool::new(false);
    let session = Session::new(&config).expect("valid");
    let run = play::play(session, &Unseen, &stop, |entry| {
        if let Entry::Tick(record) = entry
            && (sites + 1..=9).contains(&record.phase)
        {
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    });
    let Ok(run) = run else {
        panic!("nothing is refused")
    };
    assert_eq!(run.audit.violations, 0);
    let known = truth::sites(&config, &run.master).expect("a scene");
    let known: Vec<Site> = known
        .into_iter()
        .filter(|site| site.phase <= sites)
        .collect();
    let facts = play::facts(&config, &run, known.clone(), false).expect("a scene");
    let traces = Traces {
        master: &run.master,
        slave: &run.slave,
    };
    let given = run.master.iter().map(|record| record.update_energy_j);
    let shown = felt_and_met(&config, &run.master, &known);
    let mean = |over: bool, which: usize| {
        let sites = shown.iter().filter(|(site, _)| site.over_lump == over);
        let kind: Vec<f64> = sites.map(|(_, npm)| npm[which]).collect();
        kind.iter().sum::<f64>() / kind.len() as f64
    };
    let [(felt, felt_over), slow, same] =
        [0, 1, 2].map(|which| (mean(false, which), mean(true, which)));
    let contrast = |(beside, over): (f64, f64)| over / beside - 1.0;
    Shown {
        truth_npm: slow.0,
        errors: [slow, same].map(|truth| felt / truth.0 - 1.0),
        contrasts: [slow, same].map(|truth| contrast((felt, felt_over)) / contrast(truth)),
        step: loops::twin(&traces, &facts)
            .force_step_max_fraction_per_100ms
            .expect("a twin that was corrected in contact"),
        given_j: given.fold(0.0, f64::max),
    }
}

/// Stiffness of the last press at each site \[N/m\]: as felt, of a slow press, and of the tissue in this very
/// motion; not a number if a press has none.
fn felt_and_met(config: &Config, master: &[TickRecord], sites: &[Site]) -> Vec<(Site, [f64; 3])> {
    let scene = load_scene(&config.tissue, "tissue").expect("a scene");
    let predict = &config.master.predict;
    let (radius_m, stiffness_npm) = (predict.tool_radius_m, predict.tool_stiffness_npm);
    let tissue = scene.build().expect("valid");
    let mut tissue = TissueEnvironment::new(tissue, radius_m, stiffness_npm);
    let mut touched = master.to_vec();
    for (tick, record) in touched.iter_mut().enumerate() {
        let (from_m, to_m) = (master[tick.max(1) - 1].position_m, record.position_m);
        for part in 1..=10 {
            let share = f64::from(part) / 10.0;
            let probe = Probe {
                position_m: core::array::from_fn(|k| from_m[k] + share * (to_m[k] - from_m[k])),
                velocity_mps: core::array::from_fn(|k| (to_m[k] - from_m[k]) / 1e-3),
                ..Probe::default()
            };
            record.tissue_force_n = tissue.step(&probe, 1e-4);
        }
    }
    let presses = press::presses(master);
    let of_site = |&site: &Site| {
        let last = presses.iter().rev().find(|press| press.phase == site.phase);
        let values = last.map_or([f64::NAN; 3], |last| {
            let records = &touched[last.start..last.end];
            let met = press::stiffness(records, |record| record.tissue_force_n[2]);
            [
                last.displayed_npm.unwrap_or(f64::NAN),
                site.true_stiffness_npm.unwrap_or(f64::NAN),
                met.map_or(f64::NAN, |met| met.stiffness_npm),
            ]
        });
        (site, values)
    };
    sites.iter().map(of_site).collect()
}

/// What the issue asks of a place whatever its tissue: largest error, and least share of the contrast.
const ISSUE_ERROR: f64 = 0.08;

/// See [`ISSUE_ERROR`].
const ISSUE_CONTRAST: f64 = 0.95;

/// A line of the table, with whether the issue's bar is met, which is tighter than what is asserted; the
/// correction's cost is held to its bounds in every session.
fn tell(name: &str, rtt_ms: f64, shown: &Shown) {
    let [slow_met, same_met] = [0, 1].map(|which| {
        let near = shown.errors[which].abs() <= ISSUE_ERROR;
        let met = near && shown.contrasts[which] >= ISSUE_CONTRAST;
        if met { "met" } else { "MISSED" }
    });
    let [slow, same] = shown.errors.map(|error| 100.0 * error);
    let [contrast_slow, contrast_same] = shown.contrasts;
    println!(
        "{name:>12} {:5.0} N/m {rtt_ms:5.0} ms: slow press {slow:+6.1} % C {contrast_slow:.2}, same motion \
         {same:+6.1} % C {contrast_same:.2}, step {:.3}, given {:.0e} J; issue's bar (8 %, C 0.95) by slow press \
         {slow_met}, by same motion {same_met}",
        shown.truth_npm, shown.step, shown.given_j
    );
    // 7 % of the force in 100 ms, compounded tick by tick
    assert!(shown.step < 0.0725, "{}", shown.step);
    assert!(shown.given_j <= 0.0, "{}", shown.given_j);
}

#[test]
#[ignore = "3 minutes"]
fn springs_are_felt_at_every_delay() {
    let folder = tempfile::tempdir().expect("a folder");
    for (times, worst, contrast) in [
        (0.3, 0.12, 0.9),
        (0.6, 0.12, 0.9),
        (1.0, 0.12, 0.9),
        (2.0, 0.12, 0.9),
        (5.0, 0.15, 0.9),
        // 2 100 N/m are 40 steps of the handle's encoder, whose tip is as soft as the lump is hard: the contrast of
        // 1.27 is told, not asserted
        (16.0, 0.2, f64::NEG_INFINITY),
    ] {
        let scene = folder.path().join(format!("springs-{times}.toml"));
        std::fs::write(&scene, springs(times)).expect("writable");
        for rtt_ms in [0.0, 200.0, 1000.0] {
            let shown = session(&scene.to_string_lossy(), "sheet", (rtt_ms, 6), 1);
            tell(&format!("springs {times}"), rtt_ms, &shown);
            assert!(shown.errors[1].abs() < worst, "{:?}", shown.errors);
            assert!(shown.contrasts[1] > contrast, "{:?}", shown.contrasts);
        }
    }
}

#[test]
#[ignore = "some 20 minutes"]
fn stiffness_and_lump_of_drawn_tissue_are_felt_at_every_delay() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut errors = Vec::new();
    for (seed, stiffness) in [(1, 0.6), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0)] {
        let scene = folder.path().join(format!("drawn-{seed}.toml"));
        std::fs::write(&scene, tissue(seed, stiffness)).expect("writable");
        for rtt_ms in [0.0, 200.0, 1000.0] {
            let twin = Config::default().twin;
            let shown = session(&scene.to_string_lossy(), &twin, (rtt_ms, 5), seed);
            tell(&format!("drawn {seed}"), rtt_ms, &shown);
            assert!(shown.contrasts[1] > 0.5, "{:?}", shown.contrasts);
            errors.push(shown.errors[1].abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "median error {:.3}, worst {:.3}",
        errors[errors.len() / 2],
        errors[errors.len() - 1]
    );
    assert!(errors[errors.len() / 2] < 0.08);
}
