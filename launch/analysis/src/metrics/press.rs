//! Displayed stiffness of each press, contrast of the lump, and force fidelity.
//!
//! Source: teleop section 7 ("regress F on (x, v, a) in contact", contrast transmission). Depth x is the distance of
//! the handle below its own height z = 0 \[m\], force F its downward push \[N\]. The displayed stiffness is the
//! coefficient of x, beside those of v (damping) and a (inertia). Way down and way up are regressed together, so that
//! terms that depend on the rate have both signs and do not appear as stiffness. A press whose force the regression
//! does not explain has no stiffness, but a reason.

use palpate_calib::fit;
use palpate_session::stat::{mean, percentile, root_mean_square};
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

use super::{
    SessionFacts, Site, Traces, detectability, impedance, norm_xyz, paired, signal_offset, tracking,
};
use crate::summary::ContactSummary;

/// Phases of presses, one per site.
pub(crate) const PRESSES: std::ops::RangeInclusive<u16> = 1..=9;

/// Least peak force of a press that is measured \[N\]: below, noise is larger than the slope.
const FORCE_N_MIN: f64 = 0.05;

/// Share of a site's peak force above which the hand presses; the first moments of a touch are left out, because
/// contact is incomplete.
const CONTACT_SHARE_MIN: f64 = 0.2;

/// Shortest press that is measured, in records of a millisecond.
const RECORDS_MIN: usize = 100;

/// Records to either side from which an acceleration is taken; the velocity itself is filtered.
const ACCELERATION_RECORDS: usize = 10;

/// Share of the variance of a press's force that the regression must explain. Ours: presses of the built-in sheet show
/// 0.85 and more, quick ones the least, and a ringing line 0.65 and less. A limit between these excludes no press for
/// being soft or quick.
const EXPLAINED_SHARE_MIN: f64 = 0.75;

/// Length below which a press is quick \[s\]. Ours, from ten sessions on the built-in sheet at two delays: presses of
/// 0.43 s displayed tens of percent too much stiffness, those of 0.65 s less than 5 %.
pub(crate) const QUICK_S: f64 = 0.6;

/// Share of the sites of a kind that must have a stiffness for their mean to be stated.
const KNOWN_SITES_SHARE_MIN: f64 = 0.5;

/// One press with its fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressMeasurement {
    /// Phase, which is the number of the site.
    pub phase: u16,
    /// First record of the press in the master's trace.
    pub start: usize,
    /// One past its last record.
    pub end: usize,
    /// Largest force \[N\].
    pub peak_force_n: f64,
    /// Fit of the press, or the reason for which there is no stiffness.
    pub fit: Result<PressFit, PressFitError>,
}

/// Reason for which a press has no stiffness.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PressFitError {
    /// Depth, speed and acceleration explain only this share of the force's variance, 0 to 1.
    #[error(
        "depth, speed and acceleration explain only {:.0} % of the force, as when the line rings",
        100.0 * .0
    )]
    Unexplained(f64),
    /// The press holds too little motion to separate depth, speed and acceleration.
    #[error("there was too little motion to separate depth from speed")]
    TooLittleMotion,
    /// The force falls with depth \[N/m\].
    #[error("the force fell with depth, by {:.0} N/m", -.0)]
    NegativeStiffness(f64),
}

/// Finds and measures every press of the script.
#[must_use]
pub fn presses(master: &[TickRecord]) -> Vec<PressMeasurement> {
    let mut presses = Vec::new();
    let mut start = 0;
    for stretch in master.chunk_by(|a, b| a.phase == b.phase) {
        if PRESSES.contains(&stretch[0].phase) {
            visit(stretch, start, &mut presses);
        }
        start += stretch.len();
    }
    presses
}

/// Measures the presses of one visit to a site: stretches in which the hand pushes.
fn visit(records: &[TickRecord], start: usize, presses: &mut Vec<PressMeasurement>) {
    let strongest = records.iter().map(push_n).fold(0.0, f64::max);
    let pushing = |record: &TickRecord| push_n(record) > CONTACT_SHARE_MIN * strongest;
    let mut at = start;
    for stretch in records.chunk_by(|a, b| pushing(a) == pushing(b)) {
        if pushing(&stretch[0]) && stretch.len() >= RECORDS_MIN && strongest >= FORCE_N_MIN {
            presses.push(PressMeasurement {
                phase: stretch[0].phase,
                start: at,
                end: at + stretch.len(),
                peak_force_n: stretch.iter().map(push_n).fold(0.0, f64::max),
                fit: fit_press(stretch, push_n),
            });
        }
        at += stretch.len();
    }
}

/// Force with which the handle pushes down at a record \[N\].
#[must_use]
pub fn push_n(record: &TickRecord) -> f64 {
    -record.port_force_n[2]
}

/// Depth of the handle at a record \[m\].
#[must_use]
pub fn depth_m(record: &TickRecord) -> f64 {
    -record.position_m[2]
}

/// Stiffness, damping and inertia displayed in a stretch of contact, way in and way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressFit {
    /// Stiffness K \[N/m\].
    pub stiffness_npm: f64,
    /// Its standard error \[N/m\].
    pub error_npm: f64,
    /// Damping B \[N s/m\].
    pub damping_nspm: f64,
    /// Inertia M \[kg\].
    pub inertia_kg: f64,
}

/// Fits `F = c + K x + B v + M a` to the force that `force_n` takes from a record, with the standard error of K.
///
/// # Errors
/// [`PressFitError`] if there is no stiffness.
pub fn fit_press(
    records: &[TickRecord],
    force_n: impl Fn(&TickRecord) -> f64,
) -> Result<PressFit, PressFitError> {
    const REACH: usize = ACCELERATION_RECORDS;
    let end = records.len().checked_sub(REACH);
    let inner = end.and_then(|end| records.get(REACH..end));
    let inner = inner.ok_or(PressFitError::TooLittleMotion)?;
    let span_s = |k: usize| (records[k + 2 * REACH].now_ns - records[k].now_ns) as f64 * 1e-9;
    let gain = |k: usize| records[k].velocity_mps[2] - records[k + 2 * REACH].velocity_mps[2];
    let ones = vec![1.0; inner.len()];
    let depth: Vec<f64> = inner.iter().map(depth_m).collect();
    let rate: Vec<f64> = inner.iter().map(|r| -r.velocity_mps[2]).collect();
    let acceleration: Vec<f64> = (0..inner.len()).map(|k| gain(k) / span_s(k)).collect();
    let force: Vec<f64> = inner.iter().map(force_n).collect();
    let columns: [&[f64]; 4] = [&ones, &depth, &rate, &acceleration];
    let fit = fit::least_squares(&columns, &force).map_err(|_| PressFitError::TooLittleMotion)?;
    let stiffness_npm = fit.coefficients[1];
    if !fit.unidentifiable.is_empty() {
        Err(PressFitError::TooLittleMotion)
    } else if fit.r_squared <= EXPLAINED_SHARE_MIN {
        Err(PressFitError::Unexplained(fit.r_squared))
    } else if stiffness_npm <= 0.0 {
        Err(PressFitError::NegativeStiffness(stiffness_npm))
    } else {
        let terms = || columns.iter().zip(&fit.coefficients);
        let predicted = |k: usize| terms().map(|(c, b)| b * c[k]).sum::<f64>();
        let residuals: Vec<f64> = (0..force.len()).map(|k| force[k] - predicted(k)).collect();
        Ok(PressFit {
            stiffness_npm,
            error_npm: fit.errors[1] * persistence(&residuals),
            damping_nspm: fit.coefficients[2],
            inertia_kg: fit.coefficients[3],
        })
    }
}

/// Factor on a standard error for correlated residuals: `sqrt((1 + r) / (1 - r))`, at least 1, with `r` the
/// correlation from one record to the next (Bayley and Hammersley 1946). In a press of 500 records, a residual that
/// changes sign five times gives about five independent samples.
fn persistence(residuals: &[f64]) -> f64 {
    let own: f64 = residuals.iter().map(|r| r * r).sum();
    let next: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // so that a residual without a sign change still gives one sample
    let most = 1.0 - 2.0 / residuals.len().max(2) as f64;
    let share = if own > 0.0 { next / own } else { 0.0 };
    let share = share.clamp(0.0, most);
    ((1.0 + share) / (1.0 - share)).sqrt()
}

/// Returns every site with the displayed stiffness of the last press there, and the confidence after it.
fn by_site(master: &[TickRecord], presses: &[PressMeasurement], facts: &SessionFacts) -> Vec<Site> {
    let feels_twin = facts.feels_twin() == Some(true);
    let of_site = |&site: &Site| {
        let press = last_at(presses, &site);
        let fit = press.map(|press| press.fit);
        let fitted = fit.and_then(Result::ok);
        Site {
            displayed_npm: fitted.map(|fit| fit.stiffness_npm),
            displayed_error_npm: fitted.map(|fit| fit.error_npm),
            press_error: fit.and_then(Result::err),
            confidence: press
                .filter(|_| feels_twin)
                .map(|press| master[press.end - 1].confidence),
            ..site
        }
    };
    facts.sites.iter().map(of_site).collect()
}

/// Mean of the displayed stiffness over the lump or beside it; None if too few sites have one.
fn mean_displayed_npm(sites: &[Site], over_lump: bool) -> Option<f64> {
    let of_kind = || sites.iter().filter(|s| s.over_lump == over_lump);
    let fitted: Vec<f64> = of_kind().filter_map(|s| s.displayed_npm).collect();
    let pressed = of_kind().filter(|s| s.displayed_npm.is_some() || s.press_error.is_some());
    let enough = fitted.len() as f64 >= KNOWN_SITES_SHARE_MIN * pressed.count() as f64;
    mean(&fitted).filter(|_| enough)
}

/// Reason for an unknown stiffness beside the lump: number of presses without one, and the middle reason.
fn unknown_reason(sites: &[Site]) -> Option<String> {
    let beside = || sites.iter().filter(|s| !s.over_lump);
    let reasons: Vec<PressFitError> = beside().filter_map(|s| s.press_error).collect();
    let fitted = beside().filter(|s| s.displayed_npm.is_some()).count();
    let reason = reasons.get(reasons.len() / 2)?;
    let (without, pressed) = (reasons.len(), reasons.len() + fitted);
    Some(format!("in {without} of {pressed} presses {reason}"))
}

/// Relative excess of a value over a reference; None if either is unknown or the reference is 0.
fn excess(value: Option<f64>, from: Option<f64>) -> Option<f64> {
    ratio(value, from).map(|share| share - 1.0)
}

/// Ratio of a value to a reference; None if either is unknown or the reference is 0.
fn ratio(value: Option<f64>, from: Option<f64>) -> Option<f64> {
    let (value, from) = value.zip(from)?;
    Some(value / from).filter(|share| share.is_finite())
}

/// Measured force from which the robot touches the tissue \[N\]: ten standard deviations of its sensor's noise.
const TOUCH_N_MIN: f64 = 0.1;

/// Reason for unknown stiffnesses without a contact.
const NOT_TOUCHED: &str = "the tissue was not touched";

/// Returns true if the robot touched the tissue, or if its records are not here to tell.
fn touched(traces: &Traces<'_>) -> bool {
    let touches = |record: &TickRecord| norm_xyz(&record.tissue_force_n) >= TOUCH_N_MIN;
    traces.slave.is_empty() || traces.slave.iter().any(touches)
}

/// Measures the contact as displayed to the operator.
#[must_use]
pub fn measure(traces: &Traces<'_>, facts: &SessionFacts) -> ContactSummary {
    let untouched = !touched(traces);
    let mut presses = presses(traces.master);
    if untouched {
        presses.clear();
    }
    let mut sites = by_site(traces.master, &presses, facts);
    for site in sites.iter_mut().filter(|_| untouched) {
        site.true_npm = None;
    }
    let truth = |over_lump: bool| {
        let of_kind = sites.iter().filter(|s| s.over_lump == over_lump);
        mean(&of_kind.filter_map(|s| s.true_npm).collect::<Vec<_>>())
    };
    let (displayed, known) = (mean_displayed_npm(&sites, false), truth(false));
    let contrast_displayed = excess(mean_displayed_npm(&sites, true), displayed);
    let contrast_true = excess(truth(true), known);
    let press_s = press_s(traces.master, &presses, &facts.sites);
    let judged = facts.sites.iter().filter(|site| !site.over_lump);
    let fitted: Vec<PressFit> = judged
        .filter_map(|site| last_at(&presses, site)?.fit.ok())
        .collect();
    let mean_of = |of: fn(&PressFit) -> f64| mean(&fitted.iter().map(of).collect::<Vec<_>>());
    let free = impedance::free_impedance(traces);
    let offset = signal_offset::of_session(traces);
    let timed = Mode::from_name(&facts.mode).is_some_and(signal_offset::has_time_offset);
    ContactSummary {
        stiffness_unknown: match displayed {
            Some(_) => None,
            None if untouched => Some(NOT_TOUCHED.to_owned()),
            None => unknown_reason(&sites),
        },
        press_quick: press_s.map(|press_s| press_s < QUICK_S),
        press_s,
        displayed_stiffness_npm: displayed,
        true_stiffness_npm: known,
        stiffness_error: excess(displayed, known),
        displayed_damping_nspm: mean_of(|fit| fit.damping_nspm),
        displayed_inertia_kg: mean_of(|fit| fit.inertia_kg),
        free_damping_nspm: free.map(|free| free.damping_nspm),
        free_inertia_kg: free.map(|free| free.inertia_kg),
        offset_time_ms: offset.filter(|_| timed).map(|offset| offset.time_s * 1e3),
        offset_value_n: offset.map(|offset| offset.value),
        force_rmse_n: force_rmse_n(traces, facts),
        contrast_displayed,
        contrast_true,
        contrast_transmission: ratio(contrast_displayed, contrast_true),
        detectability_displayed: detectability::displayed_d_prime(&sites),
        detectability_true: detectability::true_d_prime(&sites),
        sites,
        ..ContactSummary::default()
    }
}

/// Fidelity of the twin alone in the same presses, without the effect of the channel: error of its stiffness beside
/// the lump, and transmission of the contrast. Unknown without a twin, or if too few presses have a stiffness.
#[must_use]
pub(crate) fn twin_fidelity(traces: &Traces<'_>, facts: &SessionFacts) -> [Option<f64>; 2] {
    if facts.feels_twin() != Some(true) || !touched(traces) {
        return [None; 2];
    }
    let presses = presses(traces.master);
    let both_npm = |site: &Site| {
        let press = last_at(&presses, site)?;
        let records = &traces.master[press.start..press.end];
        let fit = fit_press(records, |record| record.tissue_force_n[2]).ok()?;
        Some((fit.stiffness_npm, site.true_npm?))
    };
    let means = |over_lump: bool| {
        let of_kind = facts.sites.iter().filter(|s| s.over_lump == over_lump);
        let (twin, truth): (Vec<f64>, Vec<f64>) = of_kind.filter_map(both_npm).unzip();
        mean(&twin).zip(mean(&truth))
    };
    let (beside, over) = (means(false), means(true));
    let (twin, truth) = beside.unzip();
    let (twin_over, truth_over) = over.unzip();
    let contrasts = [excess(twin_over, twin), excess(truth_over, truth)];
    [excess(twin, truth), ratio(contrasts[0], contrasts[1])]
}

/// Returns the press by which a site is judged: the last one there.
pub(crate) fn last_at<'a>(
    presses: &'a [PressMeasurement],
    site: &Site,
) -> Option<&'a PressMeasurement> {
    presses.iter().rev().find(|press| press.phase == site.phase)
}

/// Median length of the presses that sites are judged by \[s\].
fn press_s(master: &[TickRecord], presses: &[PressMeasurement], sites: &[Site]) -> Option<f64> {
    let length = |p: &PressMeasurement| Span(master[p.end - 1].now_ns - master[p.start].now_ns).s();
    let judged = sites.iter().filter_map(|site| last_at(presses, site));
    percentile(&mut judged.map(length).collect::<Vec<_>>(), 0.5)
}

/// Shift from a moment of the master to the corresponding moment of the slave. With a twin, the force on the hand is
/// of the present motion, which the robot makes one forward delay later. Without, the force is the remote one of one
/// backward delay ago. None for a session that switched its method.
pub(crate) fn alignment(traces: &Traces<'_>, facts: &SessionFacts) -> Option<Span> {
    Some(match facts.feels_twin()? {
        true => tracking::forward_delay(traces, facts),
        false => Span(-tracking::backward_delay(traces, facts).0),
    })
}

/// Root mean square of force on the hand minus remote contact force, over the moments in which either is in contact
/// \[N\].
fn force_rmse_n(traces: &Traces<'_>, facts: &SessionFacts) -> Option<f64> {
    let shift = alignment(traces, facts)?;
    let mut squares = Vec::new();
    for (master, slave) in paired(traces.master, shift, traces.slave) {
        let remote = &slave.tissue_force_n;
        let hand = master.port_force_n.map(|f| -f);
        let contact = (0..3).any(|a| remote[a].abs() > FORCE_N_MIN || hand[a].abs() > FORCE_N_MIN);
        if contact {
            let off2_n2 = |a: usize| (hand[a] - remote[a]) * (hand[a] - remote[a]);
            squares.push((0..3).map(off2_n2).sum());
        }
    }
    root_mean_square(&squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_transport::coupling::Mode;

    /// Presses of half a second at two sites: the first is confirmed to 0.8, the second never.
    #[test]
    fn sites_have_the_confidence_after_their_last_press() {
        let record = |phase: u16, tick: u32| {
            let depth_m = 0.004 * (f64::from(tick % 500) * 0.02).sin().abs();
            let mut record = TickRecord {
                phase,
                confidence: if phase == 1 {
                    0.0016 * f64::from(tick)
                } else {
                    0.0
                },
                ..TickRecord::default()
            };
            record.port_force_n[2] = -250.0 * depth_m;
            record.position_m[2] = -depth_m;
            record
        };
        let master: Vec<TickRecord> = (1..=2)
            .flat_map(|phase| (0..500).map(move |tick| record(phase, tick)))
            .collect();
        let site = |phase| Site {
            phase,
            ..Site::default()
        };
        let confidences = |mode: Mode| {
            let facts = SessionFacts {
                sites: [1, 2].map(site).to_vec(),
                mode: mode.name().into(),
                ..SessionFacts::default()
            };
            let sites = by_site(&master, &presses(&master), &facts);
            sites.iter().map(|site| site.confidence).collect::<Vec<_>>()
        };
        let found = confidences(Mode::Mmt);
        assert!(
            found[0].is_some_and(|share| (0.7..0.8).contains(&share)),
            "{found:?}"
        );
        assert_eq!(found[1], Some(0.0));
        // a twin that is not rendered is not believed
        assert_eq!(confidences(Mode::Wave), [None, None]);
    }

    #[test]
    fn correlated_residuals_enlarge_the_standard_error() {
        let alternating: Vec<f64> = (0..500).map(|k| f64::from(1 - 2 * (k % 2))).collect();
        assert_eq!(persistence(&alternating), 1.0);
        assert_eq!(persistence(&[]), 1.0);
        assert_eq!(persistence(&[0.0; 9]), 1.0);
        // blocks of 50: one to the next 1 - 2/50, so that the factor is near sqrt(50)
        let blocks: Vec<f64> = (0..500).map(|k| f64::from(1 - 2 * (k / 50 % 2))).collect();
        let factor = persistence(&blocks);
        assert!((6.5..7.5).contains(&factor), "{factor}");
        assert!(persistence(&[1.0; 500]).is_finite());
    }
}
