//! Online estimation of a Hunt-Crossley contact, `F = k d^n + c d^n v` (teleop E15).
//!
//! Source: Hunt and Crossley 1975; single-stage log-linear estimation by Haddadi and Hashtrudi-Zaad
//! (teleop E15): `ln F = ln k + (c/k) v + n ln d`, linear in `theta = (ln k, c/k, n)`. Recursive least
//! squares with forgetting (SPRLS): updates stop while a sample carries no information, the covariance is bounded,
//! and an error beyond the noise restarts the estimate. The tests recover known contacts.
//! Ours: samples are weighted by the variance of their logarithm, because a sensor's noise is absolute, and the
//! logarithm's own curvature in `(c/k) v` is removed with the present estimate.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | d, v | depth below the surface and its rate, positive into the tissue | m, m/s |
//! | F | normal force of the tissue | N |
//! | phi | `(1, v / V, ln(d / D))` with V 10 mm/s and D 1 mm, so that all are of size one | - |
//! | P | covariance of theta over the variance of a sample of 1 N | N^2 |

/// Scale of the depth \[m\].
const DEPTH_SCALE_M: f64 = 1e-3;

/// Scale of the rate \[m/s\].
const RATE_SCALE_MPS: f64 = 0.01;

/// Prior of an unknown contact: 0.2 N at 1 mm, no damping, a linear spring.
const PRIOR_THETA: [f64; 3] = [-1.6, 0.0, 1.0];

/// Bounds of theta: 1 uN to 20 kN at 1 mm; a force that is not below zero at 10 mm/s; Hertz and more.
const THETA_BOUNDS: [(f64, f64); 3] = [(-14.0, 10.0), (-0.5, 0.5), (0.5, 3.0)];

/// Trace of P of an unknown contact.
const PRIOR_TRACE: f64 = 30.0;

/// Least `phi' P phi F^2` of a sample that carries information, as a multiple of the loss by forgetting per sample:
/// a contact at rest has 1, a pressed one 3 on average.
const INFORMATION_MIN: f64 = 1.5;

/// Largest `(c/k) v` for which the logarithm's curvature is corrected.
const CURVATURE_ARGUMENT_MAX: f64 = 0.5;

/// Largest rate that is used \[m/s\]: beyond, it is no palpation.
const RATE_MPS_MAX: f64 = 0.2;

/// Largest depth that is used \[m\].
const DEPTH_M_MAX: f64 = 0.1;

/// Largest force that is used \[N\].
const FORCE_N_MAX: f64 = 100.0;

/// Samples after which an error is attributed to the contact and not to the estimate: half a second.
const SETTLING_SAMPLES: u64 = 500;

/// Smoothing factor per sample of the variance, and of the error that restarts the estimate.
const SMOOTHING: f64 = 0.02;

/// Forgetting factor mu per sample: a memory of 1 000 samples.
const FORGETTING: f64 = 0.999;

/// Depth below which no sample is used \[m\].
const DEPTH_M_MIN: f64 = 3e-4;

/// Force below which no sample is used \[N\].
const FORCE_N_MIN: f64 = 0.1;

/// Standard deviation of the force's noise, before it is estimated \[N\].
const NOISE_N: f64 = 0.01;

/// Model error of the law, as a share of the force.
const LAW_ERROR_SHARE: f64 = 0.01;

/// Error, in standard deviations and smoothed, above which the contact counts as changed.
const CHANGE_DEVIATIONS: f64 = 3.0;

/// Estimated contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactEstimate {
    /// Stiffness k \[N/m^n\].
    pub stiffness: f64,
    /// Damping c \[N s/m^(n+1)\].
    pub damping: f64,
    /// Exponent n.
    pub exponent: f64,
    /// Standard errors: of k relative to k, of c relative to k \[s/m\], of n.
    pub errors: [f64; 3],
    /// Confidence in the force at 1 to 3 mm: 0 (error of a factor e or worse) to 1.
    pub confidence: f64,
}

impl ContactEstimate {
    /// Force at a depth \[m\] that grows at a rate \[m/s\], 0 or more \[N\].
    #[must_use]
    pub fn force_n(&self, depth_m: f64, rate_mps: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        let power = libm::pow(depth_m, self.exponent);
        (power * (self.stiffness + self.damping * rate_mps)).max(0.0)
    }

    /// Slope of the static force against depth \[N/m\].
    #[must_use]
    pub fn stiffness_npm(&self, depth_m: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        self.exponent * self.stiffness * libm::pow(depth_m, self.exponent - 1.0)
    }
}

/// Estimator, updated sample by sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HuntCrossleyEstimator {
    theta: [f64; 3],
    p: [[f64; 3]; 3],
    /// Variance of a sample of 1 N, smoothed \[N^2\].
    variance_n2: f64,
    /// Error in standard deviations, with its sign, smoothed.
    error: f64,
    samples: u64,
    /// Samples used since the last restart.
    samples_since_reset: u64,
}

impl Default for HuntCrossleyEstimator {
    fn default() -> Self {
        Self {
            theta: PRIOR_THETA,
            p: diagonal(PRIOR_TRACE / 3.0),
            variance_n2: 0.0,
            error: 0.0,
            samples: 0,
            samples_since_reset: 0,
        }
    }
}

impl HuntCrossleyEstimator {
    /// Adds a sample of a contact: depth \[m\], rate \[m/s\] and force \[N\] at one time. Returns true if it did not
    /// fit, the contact has therefore changed, and the estimate restarts.
    pub(super) fn add_sample(&mut self, depth_m: f64, rate_mps: f64, force_n: f64) -> bool {
        let usable = depth_m > DEPTH_M_MIN && force_n > FORCE_N_MIN;
        let sane = depth_m < DEPTH_M_MAX && force_n < FORCE_N_MAX && rate_mps.abs() < RATE_MPS_MAX;
        if !(usable && sane) {
            return false;
        }
        let phi = [
            1.0,
            rate_mps / RATE_SCALE_MPS,
            libm::log(depth_m / DEPTH_SCALE_M),
        ];
        let curvature_argument =
            (self.theta[1] * phi[1]).clamp(-CURVATURE_ARGUMENT_MAX, CURVATURE_ARGUMENT_MAX);
        let y = libm::log(force_n) - libm::log1p(curvature_argument) + curvature_argument;
        let share = LAW_ERROR_SHARE * force_n / NOISE_N;
        let weight = force_n * force_n / (1.0 + share * share);
        let p_phi = times(&self.p, &phi);
        let leverage = dot(&phi, &p_phi);
        let residual = y - dot(&phi, &self.theta);
        let restarted = self.detect_change(residual * weight.sqrt(), weight * leverage);
        if restarted {
            self.p = diagonal(PRIOR_TRACE / 3.0);
            (self.error, self.variance_n2, self.samples_since_reset) = (0.0, 0.0, 0);
        } else if weight * leverage < INFORMATION_MIN * (1.0 - FORGETTING) {
            return false;
        }
        let p_phi = times(&self.p, &phi);
        let scale = FORGETTING / weight + dot(&phi, &p_phi);
        for i in 0..3 {
            self.theta[i] = (self.theta[i] + p_phi[i] / scale * residual)
                .clamp(THETA_BOUNDS[i].0, THETA_BOUNDS[i].1);
            for j in 0..3 {
                self.p[i][j] = (self.p[i][j] - p_phi[i] * p_phi[j] / scale) / FORGETTING;
            }
        }
        self.bound_covariance();
        self.samples += 1;
        self.samples_since_reset += 1;
        restarted
    }

    /// Updates the smoothed error with that of a sample \[N\] of leverage `leverage`; true if the contact has
    /// changed.
    fn detect_change(&mut self, error_n: f64, leverage: f64) -> bool {
        // before the estimate has settled, the error may be its own
        let settled = leverage < 0.1 && self.samples_since_reset > SETTLING_SAMPLES;
        if !settled {
            return false;
        }
        let floor_n2 = NOISE_N * NOISE_N;
        let deviations = error_n / self.variance_n2.max(floor_n2).sqrt();
        self.error += SMOOTHING * (deviations.clamp(-10.0, 10.0) - self.error);
        let capped = (error_n * error_n).min(9.0 * self.variance_n2.max(floor_n2));
        self.variance_n2 += 0.1 * SMOOTHING * (capped - self.variance_n2);
        self.error.abs() > CHANGE_DEVIATIONS
    }

    /// Keeps P symmetric and its trace bounded against growth by forgetting.
    fn bound_covariance(&mut self) {
        let trace = self.p[0][0] + self.p[1][1] + self.p[2][2];
        let share = if trace > PRIOR_TRACE {
            PRIOR_TRACE / trace
        } else {
            1.0
        };
        for i in 0..3 {
            for j in 0..=i {
                let mean = 0.5 * share * (self.p[i][j] + self.p[j][i]);
                (self.p[i][j], self.p[j][i]) = (mean, mean);
            }
        }
        // rounding may make a variance negative, and it would stay so
        if !(0..3).all(|i| self.p[i][i] >= 0.0) {
            self.p = diagonal(PRIOR_TRACE / 3.0);
        }
    }

    /// Present estimate; none before the first sample.
    #[must_use]
    pub(super) fn estimate(&self) -> Option<ContactEstimate> {
        if self.samples == 0 {
            return None;
        }
        let [at_depth, drag, exponent] = self.theta;
        let stiffness = libm::exp(at_depth - exponent * libm::log(DEPTH_SCALE_M));
        let variance = self.variance_n2.max(NOISE_N * NOISE_N);
        // k is the force at 1 m, so its error contains that of the exponent
        let to_metre = -libm::log(DEPTH_SCALE_M);
        let of = |phi: [f64; 3]| (variance * dot(&phi, &times(&self.p, &phi)).max(0.0)).sqrt();
        let errors = [
            of([1.0, 0.0, to_metre]),
            of([0.0, 1.0, 0.0]) / RATE_SCALE_MPS,
            of([0.0, 0.0, 1.0]),
        ];
        let near = of([1.0, 0.0, 0.0]).max(of([1.0, 0.0, libm::log(3.0)]));
        Some(ContactEstimate {
            stiffness,
            damping: stiffness * drag / RATE_SCALE_MPS,
            exponent,
            errors,
            confidence: (1.0 - near).clamp(0.0, 1.0),
        })
    }
}

fn diagonal(value: f64) -> [[f64; 3]; 3] {
    core::array::from_fn(|i| core::array::from_fn(|j| if i == j { value } else { 0.0 }))
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn times(p: &[[f64; 3]; 3], phi: &[f64; 3]) -> [f64; 3] {
    core::array::from_fn(|i| dot(&p[i], phi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f64::consts::PI;
    use proptest::prelude::*;

    /// Gaussian-like noise of standard deviation one, the sum of twelve uniform numbers (xorshift).
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f64 {
            let uniform = |state: &mut u64| {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform(&mut self.0)).sum::<f64>() - 6.0
        }
    }

    /// Presses a contact `F = k1 (d / 1 mm)^n (1 + drag v / 10 mm/s)` for some seconds, to 6 mm and back every
    /// 2 s; the force has 10 mN of noise.
    fn press(
        estimate: &mut HuntCrossleyEstimator,
        [k1, drag, n]: [f64; 3],
        seconds: u32,
        noise: &mut Noise,
    ) -> u32 {
        let mut restarted = 0;
        for tick in 0..1000 * seconds {
            let turn = 2.0 * PI * f64::from(tick) * 1e-3 / 2.0;
            let (depth_m, rate_mps) = (3e-3 * (1.0 - libm::cos(turn)), 3e-3 * PI * libm::sin(turn));
            let power = libm::pow(depth_m / DEPTH_SCALE_M, n);
            let force_n =
                k1 * power * (1.0 + drag * rate_mps / RATE_SCALE_MPS) + 0.01 * noise.next();
            let restarts = estimate.add_sample(depth_m, rate_mps, force_n);
            restarted += u32::from(restarts);
        }
        restarted
    }

    fn close(
        contact: &ContactEstimate,
        [k1, drag, n]: [f64; 3],
        share: f64,
    ) -> Result<(), TestCaseError> {
        let stiffness = k1 * libm::pow(DEPTH_SCALE_M, -n);
        let (depth_m, rate_mps) = (3e-3, 0.01);
        let force_n = k1 * libm::pow(3.0, n) * (1.0 + drag);
        prop_assert!(
            (contact.exponent / n - 1.0).abs() < share,
            "n {n}: {contact:?}"
        );
        let error = contact.force_n(depth_m, rate_mps) / force_n - 1.0;
        prop_assert!(error.abs() < share, "force {force_n}: {contact:?}");
        // k is the force at a whole metre, in N/m^n: an error of n is multiplied a hundredfold in it
        let at_depth =
            contact.stiffness / stiffness * libm::pow(DEPTH_SCALE_M, contact.exponent - n);
        prop_assert!((at_depth - 1.0).abs() < share, "k {k1}: {contact:?}");
        prop_assert!((contact.damping / contact.stiffness * RATE_SCALE_MPS - drag).abs() < share);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Force at 1 mm, exponent and damping are recovered within 5 % after two presses, with noise.
        #[test]
        fn known_contact_is_recovered(
            k1 in 0.1_f64..2.0, drag in 0.0_f64..0.2, n in 1.0_f64..2.0, seed in 1_u64..u64::MAX)
        {
            let mut estimate = HuntCrossleyEstimator::default();
            let restarted = press(&mut estimate, [k1, drag, n], 4, &mut Noise(seed));
            prop_assert_eq!(restarted, 0, "{:?}", estimate);
            let contact = estimate.estimate().expect("heard");
            close(&contact, [k1, drag, n], 0.05)?;
            prop_assert!(contact.confidence > 0.95, "{:?}", contact);
        }

        /// A contact that has become harder or softer is recovered after one press of 2 s.
        #[test]
        fn changed_contact_is_recovered(
            k1 in 0.3_f64..0.8, factor in prop_oneof![0.5_f64..0.7, 1.5_f64..3.0],
            seed in 1_u64..u64::MAX)
        {
            let (mut estimate, mut noise) = (HuntCrossleyEstimator::default(), Noise(seed));
            press(&mut estimate, [k1, 0.05, 1.3], 6, &mut noise);
            let restarted = press(&mut estimate, [factor * k1, 0.05, 1.3], 2, &mut noise);
            prop_assert!(restarted > 0);
            let contact = estimate.estimate().expect("heard");
            close(&contact, [factor * k1, 0.05, 1.3], 0.05)?;
        }

        /// For any samples the estimate is finite and its covariance bounded and not negative.
        #[test]
        fn invalid_samples_keep_estimate_finite(samples in proptest::collection::vec(
            (prop::num::f64::ANY, prop::num::f64::ANY, prop::num::f64::ANY), 1..200))
        {
            let mut estimate = HuntCrossleyEstimator::default();
            for (depth_m, rate_mps, force_n) in samples {
                estimate.add_sample(depth_m, rate_mps, force_n);
                estimate.add_sample(depth_m.abs().min(0.1), rate_mps.clamp(-1.0, 1.0), force_n.abs().min(20.0));
                prop_assert!(estimate.theta.iter().all(|x| x.is_finite()));
                let diagonal = [0, 1, 2].map(|i| estimate.p[i][i]);
                prop_assert!(diagonal.iter().all(|&x| x >= 0.0), "{:?}", diagonal);
                prop_assert!(diagonal.iter().sum::<f64>() < PRIOR_TRACE * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn free_space_and_rest_keep_the_estimate() {
        let (mut estimate, mut noise) = (HuntCrossleyEstimator::default(), Noise(7));
        press(&mut estimate, [0.3, 0.05, 1.3], 4, &mut noise);
        let before = estimate;
        for _ in 0..100_000 {
            let restarts = estimate.add_sample(-1e-3, 0.1, 0.03 * noise.next());
            assert!(!restarts);
        }
        assert_eq!(estimate, before);
        // a hand at rest in the tissue for a minute samples one force, and the estimate keeps its exponent
        for _ in 0..60_000 {
            let force_n = 0.3 * libm::pow(5.0, 1.3) + 0.01 * noise.next();
            estimate.add_sample(5e-3, 0.0, force_n);
        }
        let contact = estimate.estimate().expect("heard");
        let there_n = contact.force_n(5e-3, 0.0) / (0.3 * libm::pow(5.0, 1.3));
        assert!((there_n - 1.0).abs() < 0.01, "{there_n}");
        assert!((contact.exponent / 1.3 - 1.0).abs() < 0.1, "{contact:?}");
    }
}
