//! What the operator felt: stiffness of each press, contrast of the lump, force fidelity.
//!
//! Source: teleop section 7 ("regress F on (x, v, a) in contact", contrast transmission). Depth x is
//! how far the handle is below its own height z = 0 \[m\], force F what it pushes down \[N\]; the
//! displayed stiffness is the coefficient of x, beside those of v (damping) and a (inertia). Way down
//! and way up are regressed together, so that what depends on the rate has both signs and does not
//! pass for stiffness. A press that this does not explain has no stiffness, and says why.

use palpate_calib::fit;
use palpate_session::stat::{mean, percentile, root_mean};
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

use super::{LocalStiffness, SessionFacts, Site, Traces, etvo, impedance, lump, paired, track};
use crate::summary::ContactSummary;

/// Phases of presses, one a site.
const PRESSES: std::ops::RangeInclusive<u16> = 1..=9;

/// Least peak force of a press that is measured \[N\]: below, noise is larger than the slope.
const FORCE_N_MIN: f64 = 0.05;

/// Share of a site's peak force above which the hand presses: the first moments of a touch are
/// left out, because it is not yet whole.
const PRESSED: f64 = 0.2;

/// Shortest press that is measured, in records of a millisecond.
const RECORDS_MIN: usize = 100;

/// Records over which an acceleration is taken, either way: the velocity itself is filtered.
const ACCELERATION_RECORDS: usize = 10;

/// Share of the variance of a press's force that the regression must explain to be believed. Ours:
/// presses of the built-in sheet show 0.85 and more, quick ones the least, and a ringing line 0.65
/// and less; a bar between leaves out no press for being soft or quick.
const EXPLAINED: f64 = 0.75;

/// Length below which a press is quick \[s\]. Ours, from ten sessions on the built-in sheet at two
/// delays: presses of 0.43 s felt tens of percent too stiff, those of 0.65 s less than 5 %.
pub(crate) const QUICK_S: f64 = 0.6;

/// Share of the sites of a kind that must have a stiffness for their mean to speak for all.
const TOLD: f64 = 0.5;

/// One press and what was felt in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Press {
    /// Phase, which is the number of the site.
    pub phase: u16,
    /// First record of the press in the master's trace.
    pub start: usize,
    /// One past its last record.
    pub end: usize,
    /// Record with the largest force.
    pub peak: usize,
    /// Largest force \[N\].
    pub peak_force_n: f64,
    /// Displayed stiffness \[N/m\], or why none can be told.
    pub displayed_npm: Result<f64, Untold>,
    /// Standard error of the displayed stiffness \[N/m\], if there is one.
    pub error_npm: Option<f64>,
    /// Displayed damping \[N s/m\] and inertia \[kg\] of a press that has a stiffness.
    pub rest: Option<[f64; 2]>,
}

/// Why a press has no stiffness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Untold {
    /// Depth, speed and acceleration explain only this share of the force's variance, 0 to 1.
    Unexplained(f64),
    /// The press holds too little motion to tell depth, speed and acceleration apart.
    Still,
    /// The force falls with depth \[N/m\].
    Falling(f64),
}

impl std::fmt::Display for Untold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unexplained(share) => write!(
                f,
                "depth, speed and acceleration explain only {:.0} % of the force, as when the \
                 line rings",
                100.0 * share
            ),
            Self::Still => write!(f, "there was too little motion to tell depth from speed"),
            Self::Falling(npm) => write!(f, "the force fell with depth, by {:.0} N/m", -npm),
        }
    }
}

/// Displayed beside true stiffness of a site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteStiffness {
    /// The site.
    pub site: Site,
    /// As felt in the last press there \[N/m\].
    pub displayed_npm: Option<f64>,
    /// Standard error of that \[N/m\].
    pub displayed_error_npm: Option<f64>,
    /// Why it is not known, if there was a press.
    pub untold: Option<Untold>,
}

/// Finds and measures every press of the script.
#[must_use]
pub fn presses(master: &[TickRecord]) -> Vec<Press> {
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

/// The presses of one visit to a site: stretches in which the hand pushes.
fn visit(records: &[TickRecord], start: usize, presses: &mut Vec<Press>) {
    let strongest = records.iter().map(push_n).fold(0.0, f64::max);
    let pushing = |record: &TickRecord| push_n(record) > PRESSED * strongest;
    let mut at = start;
    for stretch in records.chunk_by(|a, b| pushing(a) == pushing(b)) {
        if pushing(&stretch[0]) && stretch.len() >= RECORDS_MIN && strongest >= FORCE_N_MIN {
            presses.push(press(stretch, at));
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

fn press(records: &[TickRecord], start: usize) -> Press {
    let (mut peak, mut peak_force_n) = (0, 0.0);
    for (index, record) in records.iter().enumerate() {
        if push_n(record) > peak_force_n {
            (peak, peak_force_n) = (index, push_n(record));
        }
    }
    let displayed = stiffness(records, push_n);
    Press {
        phase: records[0].phase,
        start,
        end: start + records.len(),
        peak: start + peak,
        peak_force_n,
        displayed_npm: displayed.map(|felt| felt.stiffness_npm),
        error_npm: displayed.ok().map(|felt| felt.error_npm),
        rest: displayed
            .ok()
            .map(|felt| [felt.damping_nspm, felt.inertia_kg]),
    }
}

/// What was felt in a stretch of contact, way in and way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Felt {
    /// Stiffness K \[N/m\].
    pub stiffness_npm: f64,
    /// Its standard error \[N/m\].
    pub error_npm: f64,
    /// Damping B \[N s/m\].
    pub damping_nspm: f64,
    /// Inertia M \[kg\].
    pub inertia_kg: f64,
}

/// Coefficients of `F = c + K x + B v + M a` with the standard error of K, if that explains the force
/// that `force_n` takes from a record.
///
/// # Errors
/// [`Untold`] says why there is no stiffness.
pub fn stiffness(
    records: &[TickRecord],
    force_n: impl Fn(&TickRecord) -> f64,
) -> Result<Felt, Untold> {
    const REACH: usize = ACCELERATION_RECORDS;
    let inner = records
        .len()
        .checked_sub(REACH)
        .and_then(|end| records.get(REACH..end))
        .ok_or(Untold::Still)?;
    let span_s = |k: usize| (records[k + 2 * REACH].now_ns - records[k].now_ns) as f64 * 1e-9;
    let gain = |k: usize| records[k].velocity_mps[2] - records[k + 2 * REACH].velocity_mps[2];
    let ones = vec![1.0; inner.len()];
    let depth: Vec<f64> = inner.iter().map(depth_m).collect();
    let rate: Vec<f64> = inner.iter().map(|r| -r.velocity_mps[2]).collect();
    let acceleration: Vec<f64> = (0..inner.len()).map(|k| gain(k) / span_s(k)).collect();
    let force: Vec<f64> = inner.iter().map(force_n).collect();
    let columns: [&[f64]; 4] = [&ones, &depth, &rate, &acceleration];
    let fit = fit::least_squares(&columns, &force).map_err(|_| Untold::Still)?;
    let stiffness_npm = fit.coefficients[1];
    if !fit.unidentifiable.is_empty() {
        Err(Untold::Still)
    } else if fit.r_squared <= EXPLAINED {
        Err(Untold::Unexplained(fit.r_squared))
    } else if stiffness_npm <= 0.0 {
        Err(Untold::Falling(stiffness_npm))
    } else {
        let known = |k: usize| {
            columns
                .iter()
                .zip(&fit.coefficients)
                .map(|(c, b)| b * c[k])
                .sum::<f64>()
        };
        let residuals: Vec<f64> = (0..force.len()).map(|k| force[k] - known(k)).collect();
        Ok(Felt {
            stiffness_npm,
            error_npm: fit.errors[1] * persistence(&residuals),
            damping_nspm: fit.coefficients[2],
            inertia_kg: fit.coefficients[3],
        })
    }
}

/// Factor on a standard error when residuals hang together from record to record, `r` from one to the
/// next: `sqrt((1 + r) / (1 - r))`, at least 1 (Bayley and Hammersley 1946). A press of 500 records in
/// which the residual turns five times has told the stiffness five times, not five hundred.
fn persistence(residuals: &[f64]) -> f64 {
    let own: f64 = residuals.iter().map(|r| r * r).sum();
    let next: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // so that a residual which never turns has still told something once
    let most = 1.0 - 2.0 / residuals.len().max(2) as f64;
    let share = if own > 0.0 { next / own } else { 0.0 };
    let share = share.clamp(0.0, most);
    ((1.0 + share) / (1.0 - share)).sqrt()
}

/// Displayed stiffness of every site, from the last press there.
#[must_use]
pub(crate) fn by_site(presses: &[Press], sites: &[Site]) -> Vec<SiteStiffness> {
    let of_site = |&site: &Site| {
        let last = last_at(presses, &site);
        let felt = last.map(|press| press.displayed_npm);
        SiteStiffness {
            site,
            displayed_npm: felt.and_then(Result::ok),
            displayed_error_npm: last.and_then(|press| press.error_npm),
            untold: felt.and_then(Result::err),
        }
    };
    sites.iter().map(of_site).collect()
}

/// Mean of the displayed stiffness over the lump or beside it; nothing if too few sites have one.
fn felt_npm(sites: &[SiteStiffness], over_lump: bool) -> Option<f64> {
    let of_kind = || sites.iter().filter(|s| s.site.over_lump == over_lump);
    let told: Vec<f64> = of_kind().filter_map(|s| s.displayed_npm).collect();
    let pressed = of_kind().filter(|s| s.displayed_npm.is_some() || s.untold.is_some());
    let enough = told.len() as f64 >= TOLD * pressed.count() as f64;
    mean(&told).filter(|_| enough)
}

/// Why the stiffness beside the lump is not known: how many presses had none, and the middle reason.
fn why_unknown(sites: &[SiteStiffness]) -> Option<String> {
    let beside = || sites.iter().filter(|s| !s.site.over_lump);
    let reasons: Vec<Untold> = beside().filter_map(|s| s.untold).collect();
    let told = beside().filter(|s| s.displayed_npm.is_some()).count();
    let reason = reasons.get(reasons.len() / 2)?;
    let (without, pressed) = (reasons.len(), reasons.len() + told);
    Some(format!("in {without} of {pressed} presses {reason}"))
}

/// Measures what was felt.
#[must_use]
pub fn measure(traces: &Traces<'_>, facts: &SessionFacts) -> ContactSummary {
    let presses = presses(traces.master);
    let sites = by_site(&presses, &facts.sites);
    let truth = |over_lump: bool| {
        let values: Vec<f64> = sites
            .iter()
            .filter(|s| s.site.over_lump == over_lump)
            .filter_map(|s| s.site.true_stiffness_npm)
            .collect();
        mean(&values)
    };
    let (displayed, known) = (felt_npm(&sites, false), truth(false));
    let contrast = |lump: Option<f64>, rest: Option<f64>| {
        lump.zip(rest)
            .map(|(lump, rest)| lump / rest - 1.0)
            .filter(|c| c.is_finite())
    };
    let (contrast_displayed, contrast_true) = (
        contrast(felt_npm(&sites, true), displayed),
        contrast(truth(true), known),
    );
    let press_s = press_s(traces.master, &presses, &facts.sites);
    let local: Vec<LocalStiffness> = sites.iter().map(LocalStiffness::from).collect();
    let judged = facts.sites.iter().filter(|site| !site.over_lump);
    let rest: Vec<[f64; 2]> = judged
        .filter_map(|site| last_at(&presses, site)?.rest)
        .collect();
    let of_rest = |which: usize| mean(&rest.iter().map(|both| both[which]).collect::<Vec<_>>());
    let free = impedance::free(traces);
    let offset = etvo::of_session(traces);
    let timed = Mode::named(&facts.mode).is_some_and(etvo::has_time);
    ContactSummary {
        stiffness_unknown: match displayed {
            Some(_) => None,
            None => why_unknown(&sites),
        },
        press_quick: press_s.map(|press_s| press_s < QUICK_S),
        press_s,
        displayed_stiffness_npm: displayed,
        true_stiffness_npm: known,
        stiffness_error: displayed
            .zip(known)
            .map(|(d, k)| d / k - 1.0)
            .filter(|e| e.is_finite()),
        displayed_damping_nspm: of_rest(0),
        displayed_inertia_kg: of_rest(1),
        free_damping_nspm: free.map(|free| free.damping_nspm),
        free_inertia_kg: free.map(|free| free.inertia_kg),
        offset_time_ms: offset.filter(|_| timed).map(|offset| offset.time_s * 1e3),
        offset_value_n: offset.map(|offset| offset.value),
        force_rmse_n: force_rmse_n(traces, facts),
        contrast_displayed,
        contrast_true,
        contrast_transmission: contrast_displayed
            .zip(contrast_true)
            .map(|(d, t)| d / t)
            .filter(|c| c.is_finite()),
        detectability_displayed: lump::displayed(&local),
        detectability_true: lump::truth(&local),
        sites: local,
        ..ContactSummary::default()
    }
}

/// What the twin alone makes of the same presses, without what the channel adds: error of its stiffness
/// beside the lump, and how much of the contrast it has. Unknown without a twin, or if too few presses
/// have a stiffness.
#[must_use]
pub fn twin(traces: &Traces<'_>, facts: &SessionFacts) -> [Option<f64>; 2] {
    if facts.feels_twin() != Some(true) {
        return [None; 2];
    }
    let presses = presses(traces.master);
    let ratio = |site: &Site| {
        let press = last_at(&presses, site)?;
        let records = &traces.master[press.start..press.end];
        let felt = stiffness(records, |record| record.tissue_force_n[2]).ok()?;
        Some((felt.stiffness_npm, site.true_stiffness_npm?))
    };
    let means = |over_lump: bool| {
        let of_kind = facts.sites.iter().filter(|s| s.over_lump == over_lump);
        let (twin, truth): (Vec<f64>, Vec<f64>) = of_kind.filter_map(ratio).unzip();
        mean(&twin).zip(mean(&truth))
    };
    let (beside, over) = (means(false), means(true));
    let known = |value: f64| Some(value).filter(|v| v.is_finite());
    let error = beside.and_then(|(twin, truth)| known(twin / truth - 1.0));
    let contrast = beside
        .zip(over)
        .and_then(|((twin, truth), (twin_over, truth_over))| {
            known((twin_over / twin - 1.0) / (truth_over / truth - 1.0))
        });
    [error, contrast]
}

/// The press that a site is judged by: the last one there.
fn last_at<'a>(presses: &'a [Press], site: &Site) -> Option<&'a Press> {
    presses.iter().rev().find(|press| press.phase == site.phase)
}

/// Median length of the presses that sites are judged by \[s\].
fn press_s(master: &[TickRecord], presses: &[Press], sites: &[Site]) -> Option<f64> {
    let length = |p: &Press| Span(master[p.end - 1].now_ns - master[p.start].now_ns).s();
    let judged = sites.iter().filter_map(|site| last_at(presses, site));
    percentile(&mut judged.map(length).collect::<Vec<_>>(), 0.5)
}

/// Which moment of the slave belongs to a moment of the master: with a twin the force on the hand
/// is of the motion of now, which the robot makes one forward delay later; without, the force is
/// what the robot met one backward delay ago. Nothing of a session that switched its method.
#[must_use]
pub(crate) fn alignment(traces: &Traces<'_>, facts: &SessionFacts) -> Option<Span> {
    Some(match facts.feels_twin()? {
        true => track::forward_delay(traces, facts),
        false => Span(-track::backward_delay(traces, facts).0),
    })
}

/// Root mean square of force on the hand minus remote contact force, over the moments in which
/// either is in contact \[N\].
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
    root_mean(&squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_that_hang_together_tell_less() {
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
