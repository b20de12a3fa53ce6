//! Whether a lump can be told by its stiffness: the local stiffness of every site, how sure it is, and
//! the index d' of the sites over a lump against those beside it.
//!
//! Source: Macmillan and Creelman 2005, chapter 1: `d' = (m1 - m0) / s`, with the means over the lump
//! and beside it and the spread `s` that both kinds share. The spread has two parts, the sites' own
//! (pooled within the kinds) and the error of measuring one of them; they are added as variances. An
//! unbiased observer who is shown one site and must say which kind it is, is right with probability
//! `Phi(d' / 2)`.

use palpate_session::stat::mean;
use serde::{Deserialize, Serialize};

use super::SiteStiffness;

/// Local stiffness of one site, felt and true.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LocalStiffness {
    /// Number of the site, which is the phase of its presses.
    pub phase: u16,
    /// Place on the patch, x and y \[m\].
    pub place_m: [f64; 2],
    /// Whether it is over the hidden lump.
    pub over_lump: bool,
    /// As felt in the last press there \[N/m\].
    pub displayed_npm: Option<f64>,
    /// Standard error of that \[N/m\].
    pub displayed_error_npm: Option<f64>,
    /// In the tissue \[N/m\].
    pub true_npm: Option<f64>,
}

impl From<&SiteStiffness> for LocalStiffness {
    fn from(of: &SiteStiffness) -> Self {
        Self {
            phase: of.site.phase,
            place_m: of.site.place_m,
            over_lump: of.site.over_lump,
            displayed_npm: of.displayed_npm,
            displayed_error_npm: of.displayed_npm.and(of.displayed_error_npm),
            true_npm: of.site.true_stiffness_npm,
        }
    }
}

/// d' of the stiffness felt; unknown without sites of both kinds, or if nothing tells their spread.
#[must_use]
pub(crate) fn displayed(sites: &[LocalStiffness]) -> Option<f64> {
    let value = |site: &LocalStiffness| Some((site.displayed_npm?, site.displayed_error_npm?));
    index(sites, value)
}

/// d' of the true stiffness, which has no error of measurement: what a perfect channel would leave.
#[must_use]
pub fn truth(sites: &[LocalStiffness]) -> Option<f64> {
    index(sites, |site| Some((site.true_npm?, 0.0)))
}

/// d' of values with their standard errors.
fn index(
    sites: &[LocalStiffness],
    value: impl Fn(&LocalStiffness) -> Option<(f64, f64)>,
) -> Option<f64> {
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
    // what is below rounding is no spread, and would make any difference sure
    let spread = (spread2 + mean(&errors2)?).sqrt();
    let told = spread > 1e-9 * m0.abs().max(m1.abs());
    Some((m1 - m0) / spread).filter(|d| told && d.is_finite())
}

/// Probability that an unbiased observer who takes the stiffer site for the lump is right about one
/// site, from d': below one half if the lump is felt softer than what is beside it.
#[must_use]
pub fn right(d_prime: f64) -> f64 {
    0.5 * libm::erfc(-0.5 * d_prime * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(over_lump: bool, npm: f64, error_npm: f64) -> LocalStiffness {
        LocalStiffness {
            over_lump,
            displayed_npm: Some(npm),
            displayed_error_npm: Some(error_npm),
            true_npm: Some(npm),
            ..LocalStiffness::default()
        }
    }

    #[test]
    fn spread_of_sites_and_error_of_measuring_add_as_variances() {
        let sites = |error| [290.0, 310.0].map(|npm| site(false, npm, error));
        let with = |error| [sites(error).to_vec(), vec![site(true, 400.0, error)]].concat();
        // squares 100 + 100 over one degree of freedom
        let d = displayed(&with(0.0)).expect("known");
        assert!((d - 100.0 / 200.0_f64.sqrt()).abs() < 1e-12, "{d}");
        let d = displayed(&with(10.0)).expect("known");
        assert!((d - 100.0 / 300.0_f64.sqrt()).abs() < 1e-12, "{d}");
        // the truth has no error of measuring
        let d = truth(&with(10.0)).expect("known");
        assert!((d - 100.0 / 200.0_f64.sqrt()).abs() < 1e-12, "{d}");
    }

    #[test]
    fn without_two_kinds_or_a_spread_nothing_is_known() {
        let beside = [site(false, 300.0, 1.0); 3];
        assert_eq!(displayed(&beside), None);
        let alike = [beside.to_vec(), vec![site(true, 400.0, 1.0)]].concat();
        assert_eq!(truth(&alike), None);
        assert_eq!(displayed(&alike).map(f64::round), Some(100.0));
        let mut untold = alike;
        untold[3].displayed_npm = None;
        assert_eq!(displayed(&untold), None);
        assert_eq!(
            displayed(&[site(false, 1.0, 0.1), site(true, 2.0, 0.1)]),
            None
        );
    }

    #[test]
    fn half_of_all_answers_are_right_by_chance() {
        assert!((right(0.0) - 0.5).abs() < 1e-15);
        // two-sided 5 % of the normal distribution
        assert!((right(2.0 * 1.644_853_6) - 0.95).abs() < 1e-6);
        // a lump that feels softer misleads: it is taken for what is beside it
        assert!((right(-2.0 * 1.644_853_6) - 0.05).abs() < 1e-6);
    }
}
