//! Named networks: typical values of a kind of path, with the source of each number.
//!
//! `computed` is physics, `read` is a public source (mostly its abstract), `ours` an assumption to be replaced by
//! a measurement of the actual path. Light in fibre takes 4.9 us/km (index 1.468), through vacuum 3.336.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::Serialize;

use super::params::LinkParams;
use crate::random;

/// A path of a certain kind. The operator is at a wired end, the robot at the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NetworkProfile {
    /// Name on the command line.
    pub name: &'static str,
    /// Description of the path.
    pub says: &'static str,
    /// From master to slave.
    pub forward: LinkParams,
    /// From slave to master.
    pub back: LinkParams,
    /// Random outages, if any.
    pub cuts: Option<RandomOutages>,
    /// Sources of the numbers.
    pub source: &'static str,
}

/// A path that alternately works and is cut, both ways at once, for normally distributed times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RandomOutages {
    /// Mean and standard deviation of an interval that works \[s\].
    pub on_s: (f64, f64),
    /// Mean and standard deviation of an interval that is cut \[s\].
    pub off_s: (f64, f64),
}

/// Shortest interval \[s\]; normal numbers may be below zero.
const STRETCH_S_MIN: f64 = 0.001;

impl RandomOutages {
    /// Times at which the link is cut and works again, alternately, up to `duration_s` \[s\].
    #[must_use]
    pub fn times_s(&self, seed: u64, duration_s: f64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut at_s, mut times_s) = (0.0, Vec::new());
        loop {
            let (mean, deviation) = if times_s.len() % 2 == 0 {
                self.on_s
            } else {
                self.off_s
            };
            at_s += (mean + deviation * random::normal(&mut rng)).max(STRETCH_S_MIN);
            // a time that is not a number ends it too
            let within = at_s < duration_s;
            if !within {
                return times_s;
            }
            times_s.push(at_s);
        }
    }
}

const fn link(oneway_ms: f64, jitter_ms: f64, loss: f64, burst: f64) -> LinkParams {
    LinkParams {
        oneway_ms,
        jitter_ms,
        jitter_reorders: false,
        loss,
        burst,
        duplicate: 0.0,
        reorder: 0.0,
        rate_kbps: None,
        queue_packets: 1000,
        outage: None,
    }
}

/// All profiles, from near to far.
pub const PROFILES: [NetworkProfile; 6] = [
    NetworkProfile {
        name: "lan",
        says: "one building, wired",
        forward: link(0.25, 0.1, 0.0, 1.0),
        back: link(0.25, 0.1, 0.0, 1.0),
        cuts: None,
        source: "one way: read, about 250 us between zenoh peers (eclipse-zenoh/zenoh issue 2263); \
                 jitter: ours; loss: ours, none on a switched network that is not overloaded",
    },
    NetworkProfile {
        name: "metro",
        says: "100 km of fibre between hospitals of a region",
        forward: link(1.0, 0.2, 0.000_1, 1.0),
        back: link(1.0, 0.2, 0.000_1, 1.0),
        cuts: None,
        source: "one way: computed 0.49 ms of fibre and ours 0.5 ms of routers; jitter and loss: ours",
    },
    NetworkProfile {
        name: "5g",
        says: "the robot on public 5G; its uplink is the slower direction",
        forward: link(7.0, 3.0, 0.001, 3.0),
        back: link(12.0, 6.0, 0.001, 3.0),
        cuts: None,
        source: "down: read, 95 % of stand-alone delays within 4 to 10 ms (Rischke et al. 2021, IEEE Access \
                 9:121786); up: read, 18 ms at worst, and under 7 ms down at best (Kottkamp 2022, public \
                 non-stand-alone network), taken as 6 to 18 ms; loss and its bursts: ours",
    },
    NetworkProfile {
        name: "cross-continent",
        says: "6000 km of fibre, a coast to another or across the Atlantic",
        forward: link(45.0, 3.0, 0.001, 2.0),
        back: link(45.0, 3.0, 0.001, 2.0),
        cuts: None,
        source: "one way: computed 29.4 ms of fibre, times ours 1.5 for a path that is not straight (real \
                 paths are well above the optical least: Martinez et al. 2023, arXiv:2301.07788); jitter \
                 and loss: ours",
    },
    NetworkProfile {
        name: "geo",
        says: "a geostationary satellite",
        forward: link(300.0, 10.0, 0.005, 5.0),
        back: link(300.0, 10.0, 0.005, 5.0),
        cuts: None,
        source: "one way: computed 238.7 ms up and down 35 786 km; read, round trips are typically 600 ms \
                 (University of Erlangen, Computer Science 7, 2024), half each way; jitter and loss: ours",
    },
    NetworkProfile {
        name: "jhu-outage",
        says: "an intermittent link: 3.2 s good, 0.8 s lost, in turn",
        forward: link(1.0, 0.2, 0.0, 1.0),
        back: link(1.0, 0.2, 0.0, 1.0),
        cuts: Some(RandomOutages {
            on_s: (3.2, 0.15),
            off_s: (0.8, 0.1),
        }),
        source: "cuts: read, normal with 3.2 and 0.15 s good, 0.8 and 0.1 s lost (Wang et al. 2024, \
                 arXiv:2411.13449, com_loss_generator.py); delay: as metro, for none is stated there",
    },
];

/// Returns the profile of a name.
#[must_use]
pub fn profile(name: &str) -> Option<&'static NetworkProfile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid_and_names_its_source() {
        for profile in &PROFILES {
            assert_eq!(profile.forward.validate(), Ok(()), "{}", profile.name);
            assert_eq!(profile.back.validate(), Ok(()), "{}", profile.name);
            assert!(profile.source.contains("ours") || profile.source.contains("read"));
        }
        assert_eq!(profile("geo").map(|p| p.forward.oneway_ms), Some(300.0));
        assert_eq!(profile("moon"), None);
    }

    #[test]
    fn outages_match_the_generator() {
        let cuts = profile("jhu-outage").and_then(|p| p.cuts).expect("it has");
        let times = cuts.times_s(5, 40_000.0);
        assert_eq!(times, cuts.times_s(5, 40_000.0));
        assert_ne!(times, cuts.times_s(6, 40_000.0));
        assert!(times.is_sorted() && times.last() < Some(&40_000.0));
        let ends = std::iter::once(0.0).chain(times.iter().copied());
        let lengths: Vec<f64> = ends.zip(&times).map(|(from, to)| to - from).collect();
        for (first, (mean, deviation)) in [(0, cuts.on_s), (1, cuts.off_s)] {
            let some: Vec<f64> = lengths.iter().skip(first).step_by(2).copied().collect();
            let count = some.len() as f64;
            let found = some.iter().sum::<f64>() / count;
            let spread = some.iter().map(|s| (s - found) * (s - found)).sum::<f64>() / count;
            // three standard errors of 10 000 draws
            assert!(
                (found - mean).abs() < 3.0 * deviation / count.sqrt(),
                "{found}"
            );
            assert!((spread.sqrt() / deviation - 1.0).abs() < 0.03, "{spread}");
        }
    }
}
