//! Detectability of a lump by its stiffness: the index d' of the sites over a lump against those beside it.
//!
//! Source: Macmillan and Creelman 2005, chapter 1: `d' = (m1 - m0) / s`, with the means over the lump and beside it
//! and the common spread `s`. The spread has two parts, that of the sites (pooled within the kinds) and the standard
//! error of one measurement; they are added as variances. An unbiased observer who is shown one site and must name its
//! kind is right with probability `Phi(d' / 2)`.

use palpate_session::stat::mean;

use super::Site;

/// d' of the displayed stiffness; unknown without sites of both kinds, or without a spread.
pub(crate) fn displayed_d_prime(sites: &[Site]) -> Option<f64> {
    let value = |site: &Site| Some((site.displayed_npm?, site.displayed_error_npm?));
    site_d_prime(sites, value)
}

/// d' of the true stiffness, which has no error of measurement: the value of a perfect channel.
#[must_use]
pub(crate) fn true_d_prime(sites: &[Site]) -> Option<f64> {
    site_d_prime(sites, |site| Some((site.true_npm?, 0.0)))
}

/// d' of values with their standard errors.
fn site_d_prime(sites: &[Site], value: impl Fn(&Site) -> Option<(f64, f64)>) -> Option<f64> {
    let kind = |over: bool| -> Vec<(f64, f64)> {
        let of = sites.iter().filter(|site| site.over_lump == over);
        of.filter_map(&value).collect()
    };
    let (over, beside) = (kind(true), kind(false));
    let middle = |of: &[(f64, f64)]| mean(&of.iter().map(|v| v.0).collect::<Vec<_>>());
    let (m1, m0) = (middle(&over)?, middle(&beside)?);
    let squares = |of: &[(f64, f64)], m: f64| of.iter().map(|v| (v.0 - m) * (v.0 - m)).sum::<f64>();
    let freedom = (over.len() + beside.len())
        .checked_sub(2)
        .filter(|&n| n > 0)? as f64;
    let spread2 = (squares(&over, m1) + squares(&beside, m0)) / freedom;
    let errors2: Vec<f64> = over.iter().chain(&beside).map(|v| v.1 * v.1).collect();
    // a spread below rounding would make any difference certain
    let spread = (spread2 + mean(&errors2)?).sqrt();
    let significant = spread > 1e-9 * m0.abs().max(m1.abs());
    Some((m1 - m0) / spread).filter(|d| significant && d.is_finite())
}

/// Probability that an unbiased observer who takes the stiffer site for the lump is right about one site, from d'. It
/// is below one half if the lump is displayed softer than its surroundings.
#[must_use]
pub fn correct_probability(d_prime: f64) -> f64 {
    0.5 * libm::erfc(-0.5 * d_prime * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(over_lump: bool, npm: f64, error_npm: f64) -> Site {
        Site {
            over_lump,
            displayed_npm: Some(npm),
            displayed_error_npm: Some(error_npm),
            true_npm: Some(npm),
            ..Site::default()
        }
    }

    #[test]
    fn spread_of_sites_and_error_of_measuring_add_as_variances() {
        let sites = |error| [290.0, 310.0].map(|npm| site(false, npm, error));
        let with = |error| [sites(error).to_vec(), vec![site(true, 400.0, error)]].concat();
        // squares 100 + 100 over one degree of freedom
        let d = displayed_d_prime(&with(0.0)).expect("known");
        assert!((d - 100.0 / 200.0_f64.sqrt()).abs() < 1e-12, "{d}");
        let d = displayed_d_prime(&with(10.0)).expect("known");
        assert!((d - 100.0 / 300.0_f64.sqrt()).abs() < 1e-12, "{d}");
        // the truth has no error of measuring
        let d = true_d_prime(&with(10.0)).expect("known");
        assert!((d - 100.0 / 200.0_f64.sqrt()).abs() < 1e-12, "{d}");
    }

    #[test]
    fn d_prime_is_unknown_without_two_kinds_or_a_spread() {
        let beside = [site(false, 300.0, 1.0); 3];
        assert_eq!(displayed_d_prime(&beside), None);
        let alike = [beside.to_vec(), vec![site(true, 400.0, 1.0)]].concat();
        assert_eq!(true_d_prime(&alike), None);
        assert_eq!(displayed_d_prime(&alike).map(f64::round), Some(100.0));
        let mut incomplete = alike;
        incomplete[3].displayed_npm = None;
        assert_eq!(displayed_d_prime(&incomplete), None);
        assert_eq!(
            displayed_d_prime(&[site(false, 1.0, 0.1), site(true, 2.0, 0.1)]),
            None
        );
    }

    #[test]
    fn chance_level_is_one_half() {
        assert!((correct_probability(0.0) - 0.5).abs() < 1e-15);
        // two-sided 5 % of the normal distribution
        assert!((correct_probability(2.0 * 1.644_853_6) - 0.95).abs() < 1e-6);
        // a lump that is displayed softer is taken for its surroundings
        assert!((correct_probability(-2.0 * 1.644_853_6) - 0.05).abs() < 1e-6);
    }
}
