//! Link model against the distributions that its parameters state.

use super::super::params::QUEUE_PACKETS_MAX;
use super::*;
use proptest::prelude::*;

const PERIOD_NS: i64 = 1_000_000;

fn model(params: LinkParams, seed: u64) -> LinkModel {
    LinkModel::new(params, seed).expect("valid parameters")
}

/// Fates of `count` packets of 200 bytes, 1 ms apart.
fn fates(model: &mut LinkModel, count: i64) -> Vec<Fate> {
    (0..count)
        .map(|k| model.offer(Time(k * PERIOD_NS), 200))
        .collect()
}

fn due(fate: &Fate) -> Option<Time> {
    match fate {
        Fate::Delivered { due, .. } => Some(*due),
        Fate::Dropped(_) => None,
    }
}

fn dues(fates: &[Fate]) -> Vec<Time> {
    fates.iter().filter_map(due).collect()
}

/// True if a share agrees with a probability within three standard deviations; `variance_factor` is
/// the factor by which a chain widens the variance of independent draws.
fn within_three_sigma(hits: u64, count: u64, probability: f64, variance_factor: f64) -> bool {
    let n = count as f64;
    let sigma = (probability * (1.0 - probability) * n * variance_factor).sqrt();
    (hits as f64 - n * probability).abs() <= 3.0 * sigma
}

#[test]
fn rates_match_the_parameters() {
    let params = LinkParams {
        oneway_ms: 20.0,
        loss: 0.02,
        duplicate: 0.01,
        reorder: 0.03,
        ..LinkParams::default()
    };
    let count = 200_000;
    let mut link = model(params, 7);
    let fates = fates(&mut link, count);
    let stats = *link.stats();
    assert_eq!(stats.offered, count as u64);
    assert_eq!(stats.delivered + stats.lost, stats.offered);
    assert!(within_three_sigma(stats.lost, stats.offered, 0.02, 1.0));
    let accepted = stats.delivered;
    assert!(within_three_sigma(stats.duplicated, accepted, 0.01, 1.0));
    // A second route to the overtaking rate: due times that fall below the one before.
    let dues = dues(&fates);
    let falls = dues.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
    assert_eq!(falls, stats.reordered);
    assert!(within_three_sigma(falls, accepted, 0.03, 1.0));
}

#[test]
fn bursts_have_the_requested_mean_length_and_loss() {
    for (loss, burst) in [(0.02, 5.0), (0.1, 20.0), (0.3, 2.0)] {
        let params = LinkParams {
            loss,
            burst,
            ..LinkParams::default()
        };
        let mut link = model(params, 11);
        let lost: Vec<bool> = fates(&mut link, 400_000)
            .iter()
            .map(|fate| *fate == Fate::Dropped(DropCause::Loss))
            .collect();
        let stats = *link.stats();
        let began = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
        // Burst lengths are geometric: variance L (L - 1), so the mean of n has this spread.
        let sigma = (burst * (burst - 1.0) / began).sqrt();
        assert!((stats.lost as f64 / began - burst).abs() <= 3.0 * sigma);
        // Successive losses of a chain are correlated with r = stay - enter, which widens the
        // variance of their mean by (1 + r) / (1 - r).
        let (enter, stay) = params.loss_after();
        let variance_factor = (1.0 + stay - enter) / (1.0 - stay + enter);
        assert!(within_three_sigma(
            stats.lost,
            stats.offered,
            loss,
            variance_factor
        ));
    }
}

#[test]
fn independent_losses_have_geometric_bursts() {
    let params = LinkParams {
        loss: 0.3,
        ..LinkParams::default()
    };
    let mut link = model(params, 5);
    let fates = fates(&mut link, 100_000);
    let lost = |fate: &Fate| due(fate).is_none();
    let began = fates
        .windows(2)
        .filter(|w| lost(&w[1]) && !lost(&w[0]))
        .count();
    let mean = link.stats().lost as f64 / began as f64;
    assert!((mean - 1.0 / 0.7).abs() < 0.03, "{mean}");
}

#[test]
fn same_seed_same_fates_other_seed_other_fates() {
    let params = LinkParams {
        oneway_ms: 50.0,
        jitter_ms: 10.0,
        loss: 0.1,
        burst: 3.0,
        duplicate: 0.05,
        reorder: 0.05,
        ..LinkParams::default()
    };
    let run = |seed| fates(&mut model(params, seed), 5_000);
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn changing_one_parameter_keeps_the_drops() {
    let losses = |params| {
        let fates = fates(&mut model(params, 9), 5_000);
        fates
            .iter()
            .map(|fate| due(fate).is_none())
            .collect::<Vec<_>>()
    };
    let plain = LinkParams {
        loss: 0.05,
        ..LinkParams::default()
    };
    let impaired = LinkParams {
        oneway_ms: 40.0,
        jitter_ms: 5.0,
        jitter_reorders: true,
        duplicate: 0.5,
        reorder: 0.5,
        ..plain
    };
    assert_eq!(losses(plain), losses(impaired));
}

#[test]
fn order_is_kept_unless_jitter_may_change_it() {
    let mut params = LinkParams {
        oneway_ms: 50.0,
        jitter_ms: 20.0,
        duplicate: 0.1,
        ..LinkParams::default()
    };
    let ordered = dues(&fates(&mut model(params, 1), 20_000));
    assert!(ordered.is_sorted());
    params.jitter_reorders = true;
    let mixed = dues(&fates(&mut model(params, 1), 20_000));
    let falls = mixed.windows(2).filter(|pair| pair[1] < pair[0]).count();
    // Spacing 1 ms, width 40 ms: P(difference of two uniforms < -1 ms) = (39 / 40)^2 / 2.
    assert!(
        within_three_sigma(falls as u64, 19_999, 0.475, 1.0),
        "{falls}"
    );
}

#[test]
fn keeping_order_increases_the_mean_delay() {
    // Expected: mean of max(U_0, U_1 - 1 ms, U_2 - 2 ms, ...), U uniform in +-jitter,
    // integrated here from the product of their distribution functions.
    for jitter_ms in [2.0, 10.0] {
        let below = |x: f64| {
            let share = |k: i32| ((x + f64::from(k)) / jitter_ms / 2.0 + 0.5).clamp(0.0, 1.0);
            (0..50).map(share).product::<f64>()
        };
        let step_ms = jitter_ms / 1000.0;
        let steps = (0..2000).map(|i| (f64::from(i) + 0.5) * step_ms - jitter_ms);
        let added_ms = jitter_ms - steps.map(below).sum::<f64>() * step_ms;
        let params = LinkParams {
            oneway_ms: 50.0,
            jitter_ms,
            ..LinkParams::default()
        };
        let dues = dues(&fates(&mut model(params, 1), 100_000));
        let delay_ms = |(k, due): (usize, &Time)| (*due - Time(k as i64 * PERIOD_NS)).ms();
        let sum: f64 = dues.iter().enumerate().map(delay_ms).sum();
        let mean = sum / dues.len() as f64;
        assert!((mean - 50.0 - added_ms).abs() < 0.05, "{mean}");
    }
}

#[test]
fn jitter_is_uniform_around_the_delay_and_never_negative() {
    let params = LinkParams {
        oneway_ms: 50.0,
        jitter_ms: 10.0,
        jitter_reorders: true,
        ..LinkParams::default()
    };
    let mut link = model(params, 3);
    let delays: Vec<f64> = (0..100_000)
        .filter_map(|_| due(&link.offer(Time(0), 1)))
        .map(|due| (due - Time(0)).ms())
        .collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let square = |delay: &f64| (delay - mean) * (delay - mean);
    let variance = delays.iter().map(square).sum::<f64>() / delays.len() as f64;
    assert!(
        (mean - 50.0).abs() < 3.0 * (100.0 / 3.0 / 1e5_f64).sqrt(),
        "{mean}"
    );
    assert!((variance - 100.0 / 3.0).abs() < 0.4, "{variance}");
    assert!(delays.iter().all(|delay| (40.0..=60.0).contains(delay)));
    let near = LinkParams {
        oneway_ms: 1.0,
        ..params
    };
    link.set_params(near).expect("valid");
    assert!((0..1000).all(|_| due(&link.offer(Time(5), 1)) >= Some(Time(5))));
}

#[test]
fn rate_limit_queues_then_drops() {
    // 1000 bytes at 8000 kbit/s take 1 ms.
    let params = LinkParams {
        oneway_ms: 5.0,
        rate_kbps: Some(8000.0),
        queue_packets: 4,
        ..LinkParams::default()
    };
    let mut link = model(params, 1);
    let burst: Vec<_> = (0..6).map(|_| link.offer(Time(0), 1000)).collect();
    for (k, fate) in burst.iter().take(4).enumerate() {
        assert_eq!(due(fate), Some(Time((k as i64 + 6) * PERIOD_NS)));
    }
    assert_eq!(burst[4], Fate::Dropped(DropCause::Queue));
    assert_eq!(link.stats().overflowed, 2);
    // After 2 ms two places are free, and the queue still has 2 ms to go.
    let later = link.offer(Time(2 * PERIOD_NS), 1000);
    assert_eq!(due(&later), Some(Time(10 * PERIOD_NS)));
}

#[test]
fn changing_the_network_keeps_the_queue_clock_and_the_random_state() {
    let slow = LinkParams {
        rate_kbps: Some(8.0),
        loss: 0.2,
        ..LinkParams::default()
    };
    let (mut changed, mut steady) = (model(slow, 4), model(slow, 4));
    fates(&mut changed, 10);
    fates(&mut steady, 10);
    changed
        .set_params(LinkParams {
            rate_kbps: None,
            ..slow
        })
        .expect("valid");
    for k in 10..2000 {
        let now = Time(k * PERIOD_NS);
        let (fast, slow) = (changed.offer(now, 1), steady.offer(now, 1));
        let lost = Fate::Dropped(DropCause::Loss);
        assert_eq!(fast == lost, slow == lost);
        if let Some(due) = due(&fast) {
            // Packets accepted under the slow rate leave first: 200 ms each.
            assert!(due >= Time(200 * PERIOD_NS));
        }
    }
    let bad = LinkParams {
        oneway_ms: -1.0,
        ..slow
    };
    assert!(changed.set_params(bad).is_err());
    assert_eq!(changed.params().rate_kbps, None);
}

#[test]
fn outage_cycle_begins_with_the_first_packet() {
    let params = LinkParams {
        outage: Some(Outage {
            on_s: 0.3,
            off_s: 0.1,
        }),
        ..LinkParams::default()
    };
    let mut link = model(params, 1);
    let start = 123_456_789;
    for k in 0..4000 {
        let fate = link.offer(Time(start + k * PERIOD_NS), 1);
        let cut = fate == Fate::Dropped(DropCause::Outage);
        assert_eq!(cut, k % 400 >= 300, "packet {k}");
    }
    assert_eq!(link.stats().dropped_in_outage, 1000);
}

#[test]
fn total_loss_and_no_loss_are_exact() {
    for burst in [1.0, 7.0] {
        let mut params = LinkParams {
            loss: 1.0,
            burst,
            ..LinkParams::default()
        };
        let mut link = model(params, 8);
        assert!(dues(&fates(&mut link, 1000)).is_empty());
        params.loss = 0.0;
        link.set_params(params).expect("valid");
        assert_eq!(dues(&fates(&mut link, 1000)).len(), 1000);
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), 0.0..1.0, 0.0..1e5, Just(f64::NAN)]
}

prop_compose! {
    fn any_params()(
        [oneway_ms, jitter_ms, loss, burst] in prop::array::uniform4(any_number()),
        [duplicate, reorder, rate, on_s, off_s] in prop::array::uniform5(any_number()),
        jitter_reorders in any::<bool>(),
        queue_packets in any::<u32>(),
        (limited, cut) in any::<(bool, bool)>(),
    ) -> LinkParams {
        LinkParams {
            oneway_ms, jitter_ms, jitter_reorders, loss, burst, duplicate, reorder,
            rate_kbps: limited.then_some(rate),
            queue_packets,
            outage: cut.then_some(Outage { on_s, off_s }),
        }
    }
}

prop_compose! {
    fn valid_params()(
        (oneway_ms, jitter_ms) in (0.0..60_000.0, 0.0..60_000.0),
        (loss, burst) in (0.0..=0.5, 1.0..1e6),
        (duplicate, reorder) in (0.0..=1.0, 0.0..=1.0),
        jitter_reorders in any::<bool>(),
        rate_kbps in prop::option::of(1.0..1e8),
        queue_packets in 1..=QUEUE_PACKETS_MAX,
        outage in prop::option::of((0.001..3600.0, 0.001..3600.0)),
    ) -> LinkParams {
        let outage = outage.map(|(on_s, off_s)| Outage { on_s, off_s });
        LinkParams {
            oneway_ms, jitter_ms, jitter_reorders, loss, burst, duplicate, reorder,
            rate_kbps, queue_packets, outage,
        }
    }
}

proptest! {
    #[test]
    fn any_parameters_are_used_or_refused(params in any_params(), seed: u64) {
        prop_assert_eq!(LinkModel::new(params, seed).is_ok(), params.validate().is_ok());
    }

    #[test]
    fn nothing_arrives_before_it_was_sent(
        params in valid_params(),
        seed: u64,
        offers in prop::collection::vec((any::<i64>(), any::<usize>()), 0..50),
    ) {
        let mut link = model(params, seed);
        let room = link.departures.capacity();
        for (now, bytes) in offers {
            if let Fate::Delivered { due, copy_due } = link.offer(Time(now), bytes) {
                prop_assert!(due >= Time(now));
                prop_assert!(copy_due.is_none_or(|copy| copy >= Time(now)));
            }
        }
        prop_assert_eq!(link.departures.capacity(), room, "it allocated");
        let stats = link.stats();
        let ends = stats.delivered + stats.lost + stats.dropped_in_outage + stats.overflowed;
        prop_assert_eq!(ends, stats.offered);
    }
}
