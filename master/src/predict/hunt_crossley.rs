//! How a contact presses back, `F = k d^n + c d^n v`, estimated while it is pressed (teleop E15).
//!
//! Source: Hunt and Crossley 1975; single-stage log-linear estimation by Haddadi and Hashtrudi-Zaad
//! (teleop E15): `ln F = ln k + (c/k) v + n ln d`, linear in `theta = (ln k, c/k, n)`. Recursive least
//! squares with forgetting; it is frozen while nothing can be told, its covariance has a bound, and an
//! error that noise does not explain wakes it (SPRLS). The formulas are checked by recovery of made data.
//! Ours: samples are weighted by the variance of their logarithm, because a sensor's noise is absolute, and the logarithm's own
//! curvature in `(c/k) v` is taken off with the estimate so far.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | d, v | depth below the surface and its rate, positive into the tissue | m, m/s |
//! | F | normal force of the tissue | N |
//! | phi | `(1, v / V, ln(d / D))` with V 10 mm/s and D 1 mm, so that all are of size one | - |
//! | P | covariance of theta over the variance of a sample of 1 N | N^2 |

/// Depth that is of size one \[m\].
const DEPTH_M: f64 = 1e-3;

/// Rate that is of size one \[m/s\].
const RATE_MPS: f64 = 0.01;

/// What is believed of an unknown contact: 0.2 N at 1 mm, no damping, a spring.
const BELIEVED: [f64; 3] = [-1.6, 0.0, 1.0];

/// Bounds of theta: 1 uN to 20 kN at 1 mm; a force that is not below zero at 10 mm/s; Hertz and more.
const BOUNDS: [(f64, f64); 3] = [(-14.0, 10.0), (-0.5, 0.5), (0.5, 3.0)];

/// Trace of P of a contact of which nothing is known.
const UNKNOWN: f64 = 30.0;

/// Least `phi' P phi F^2` of a sample that says anything new, as a multiple of what is forgotten by one: a
/// contact that rests comes to 1, one that is pressed to 3 on average.
const NEW: f64 = 1.5;

/// Largest correction of the logarithm's curvature is at this `(c/k) v`.
const BENT: f64 = 0.5;

/// Largest rate that is heard \[m/s\]: beyond, it is no palpation.
const RATE_MPS_MAX: f64 = 0.2;

/// Largest depth that is heard \[m\].
const DEPTH_M_MAX: f64 = 0.1;

/// Largest force that is heard \[N\].
const FORCE_N_MAX: f64 = 100.0;

/// Samples from which on an error can be the contact's and not the estimate's: half a second.
const SETTLED: u64 = 500;

/// Smoothing of the variance of a sample, and of the error that wakes, by sample.
const SMOOTH: f64 = 0.02;

/// What the estimation may assume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimation {
    /// Share of what was heard that is left after one more sample, mu.
    pub kept: f64,
    /// Depth below which nothing is heard \[m\].
    pub depth_m_min: f64,
    /// Force below which nothing is heard \[N\].
    pub force_n_min: f64,
    /// Standard deviation of a force's noise, where nothing else is known \[N\].
    pub noise_n: f64,
    /// Error of the law itself, as a share of the force.
    pub misfit: f64,
    /// Error, in standard deviations and smoothed, from which the contact counts as changed.
    pub changed: f64,
}

impl Default for Estimation {
    /// For a sensor of 10 mN at 1 kHz; 1 000 samples are remembered.
    fn default() -> Self {
        Self {
            kept: 0.999,
            depth_m_min: 3e-4,
            force_n_min: 0.1,
            noise_n: 0.01,
            misfit: 0.01,
            changed: 3.0,
        }
    }
}

/// A contact as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Stiffness k \[N/m^n\].
    pub stiffness: f64,
    /// Damping c \[N s/m^(n+1)\].
    pub damping: f64,
    /// Exponent n.
    pub exponent: f64,
    /// Standard errors: of k relative to k, of c relative to k \[s/m\], of n.
    pub errors: [f64; 3],
    /// How well the force at 1 to 3 mm is known, 0 (to a factor of e and worse) to 1.
    pub confidence: f64,
}

impl Contact {
    /// Force at a depth \[m\] that grows at a rate \[m/s\], 0 or more \[N\].
    #[must_use]
    pub fn force_n(&self, depth_m: f64, rate_mps: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        let power = libm::pow(depth_m, self.exponent);
        (power * (self.stiffness + self.damping * rate_mps)).max(0.0)
    }

    /// Slope of the resting force against depth \[N/m\].
    #[must_use]
    pub fn stiffness_npm(&self, depth_m: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        self.exponent * self.stiffness * libm::pow(depth_m, self.exponent - 1.0)
    }
}

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It changed the estimate.
    Taken,
    /// Nothing could be told by it: no contact, no number, or nothing new.
    Frozen,
    /// It did not fit at all: the contact has changed and is learnt anew.
    Woken,
}

/// The estimate, fed sample by sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HuntCrossley {
    theta: [f64; 3],
    p: [[f64; 3]; 3],
    /// Variance of a sample of 1 N, smoothed \[N^2\].
    variance_n2: f64,
    /// Error in standard deviations, with its sign, smoothed.
    error: f64,
    taken: u64,
    /// Samples that were taken since the estimate began anew.
    since: u64,
}

impl Default for HuntCrossley {
    fn default() -> Self {
        Self {
            theta: BELIEVED,
            p: diagonal(UNKNOWN / 3.0),
            variance_n2: 0.0,
            error: 0.0,
            taken: 0,
            since: 0,
        }
    }
}

impl HuntCrossley {
    /// Hear a sample of a contact: depth \[m\], rate \[m/s\] and force \[N\] of one moment.
    pub fn hear(
        &mut self,
        params: &Estimation,
        depth_m: f64,
        rate_mps: f64,
        force_n: f64,
    ) -> Heard {
        let usable = depth_m > params.depth_m_min && force_n > params.force_n_min;
        let sane = depth_m < DEPTH_M_MAX && force_n < FORCE_N_MAX && rate_mps.abs() < RATE_MPS_MAX;
        if !(usable && sane) {
            return Heard::Frozen;
        }
        let phi = [1.0, rate_mps / RATE_MPS, libm::log(depth_m / DEPTH_M)];
        let bent = (self.theta[1] * phi[1]).clamp(-BENT, BENT);
        let y = libm::log(force_n) - libm::log1p(bent) + bent;
        let share = params.misfit * force_n / params.noise_n.max(f64::MIN_POSITIVE);
        let weight = force_n * force_n / (1.0 + share * share);
        let p_phi = times(&self.p, &phi);
        let told = dot(&phi, &p_phi);
        let miss = y - dot(&phi, &self.theta);
        let woken = self.judge(params, miss * weight.sqrt(), weight * told);
        if woken {
            self.p = diagonal(UNKNOWN / 3.0);
            (self.error, self.variance_n2, self.since) = (0.0, 0.0, 0);
        } else if weight * told < NEW * (1.0 - params.kept) {
            return Heard::Frozen;
        }
        let p_phi = times(&self.p, &phi);
        let scale = params.kept / weight + dot(&phi, &p_phi);
        for i in 0..3 {
            self.theta[i] =
                (self.theta[i] + p_phi[i] / scale * miss).clamp(BOUNDS[i].0, BOUNDS[i].1);
            for j in 0..3 {
                self.p[i][j] = (self.p[i][j] - p_phi[i] * p_phi[j] / scale) / params.kept;
            }
        }
        self.bound();
        self.taken += 1;
        self.since += 1;
        if woken { Heard::Woken } else { Heard::Taken }
    }

    /// Follow the error of a sample \[N\] whose own leverage is `told`; whether the contact has changed.
    fn judge(&mut self, params: &Estimation, error_n: f64, told: f64) -> bool {
        // before the estimate has settled an error is its own
        let settled = told < 0.1 && self.since > SETTLED;
        if !settled {
            return false;
        }
        let floor_n2 = params.noise_n * params.noise_n;
        let deviations = error_n / self.variance_n2.max(floor_n2).sqrt();
        self.error += SMOOTH * (deviations.clamp(-10.0, 10.0) - self.error);
        let capped = (error_n * error_n).min(9.0 * self.variance_n2.max(floor_n2));
        self.variance_n2 += 0.1 * SMOOTH * (capped - self.variance_n2);
        self.error.abs() > params.changed
    }

    /// Keep P symmetric and its trace bounded: forgetting must not wind it up.
    fn bound(&mut self) {
        let trace = self.p[0][0] + self.p[1][1] + self.p[2][2];
        let share = if trace > UNKNOWN {
            UNKNOWN / trace
        } else {
            1.0
        };
        for i in 0..3 {
            for j in 0..=i {
                let mean = 0.5 * share * (self.p[i][j] + self.p[j][i]);
                (self.p[i][j], self.p[j][i]) = (mean, mean);
            }
        }
        // rounding may take a direction below nothing, which nothing would bring back
        if !(0..3).all(|i| self.p[i][i] >= 0.0) {
            self.p = diagonal(UNKNOWN / 3.0);
        }
    }

    /// The contact as it is known; none before anything was told of it.
    #[must_use]
    pub fn contact(&self, params: &Estimation) -> Option<Contact> {
        if self.taken == 0 {
            return None;
        }
        let [at_depth, drag, exponent] = self.theta;
        let stiffness = libm::exp(at_depth - exponent * libm::log(DEPTH_M));
        let variance = self.variance_n2.max(params.noise_n * params.noise_n);
        // k is the force at 1 m, so its error has the exponent's in it
        let to_metre = -libm::log(DEPTH_M);
        let of = |phi: [f64; 3]| (variance * dot(&phi, &times(&self.p, &phi)).max(0.0)).sqrt();
        let errors = [
            of([1.0, 0.0, to_metre]),
            of([0.0, 1.0, 0.0]) / RATE_MPS,
            of([0.0, 0.0, 1.0]),
        ];
        let near = of([1.0, 0.0, 0.0]).max(of([1.0, 0.0, libm::log(3.0)]));
        Some(Contact {
            stiffness,
            damping: stiffness * drag / RATE_MPS,
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

    /// Noise of standard deviation one, the sum of twelve uniform numbers (xorshift).
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

    /// Press a contact `F = k1 (d / 1 mm)^n (1 + drag v / 10 mm/s)` for some seconds, to 6 mm and back every
    /// 2 s; the force has 10 mN of noise.
    fn press(
        estimate: &mut HuntCrossley,
        [k1, drag, n]: [f64; 3],
        seconds: u32,
        noise: &mut Noise,
    ) -> u32 {
        let mut woken = 0;
        for tick in 0..1000 * seconds {
            let turn = 2.0 * PI * f64::from(tick) * 1e-3 / 2.0;
            let (depth_m, rate_mps) = (3e-3 * (1.0 - libm::cos(turn)), 3e-3 * PI * libm::sin(turn));
            let power = libm::pow(depth_m / DEPTH_M, n);
            let force_n = k1 * power * (1.0 + drag * rate_mps / RATE_MPS) + 0.01 * noise.next();
            let heard = estimate.hear(&Estimation::default(), depth_m, rate_mps, force_n);
            woken += u32::from(heard == Heard::Woken);
        }
        woken
    }

    fn close(contact: &Contact, [k1, drag, n]: [f64; 3], share: f64) -> Result<(), TestCaseError> {
        let stiffness = k1 * libm::pow(DEPTH_M, -n);
        let (depth_m, rate_mps) = (3e-3, 0.01);
        let force_n = k1 * libm::pow(3.0, n) * (1.0 + drag);
        prop_assert!(
            (contact.exponent / n - 1.0).abs() < share,
            "n {n}: {contact:?}"
        );
        let told = contact.force_n(depth_m, rate_mps) / force_n - 1.0;
        prop_assert!(told.abs() < share, "force {force_n}: {contact:?}");
        // k is the force at a whole metre, in N/m^n: an error of n counts a hundredfold in it
        let at_depth = contact.stiffness / stiffness * libm::pow(DEPTH_M, contact.exponent - n);
        prop_assert!((at_depth - 1.0).abs() < share, "k {k1}: {contact:?}");
        prop_assert!((contact.damping / contact.stiffness * RATE_MPS - drag).abs() < share);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Force at 1 mm, exponent and damping come out within 5 % after two presses, with noise.
        #[test]
        fn a_made_contact_is_recovered(
            k1 in 0.1_f64..2.0, drag in 0.0_f64..0.2, n in 1.0_f64..2.0, seed in 1_u64..u64::MAX)
        {
            let mut estimate = HuntCrossley::default();
            let woken = press(&mut estimate, [k1, drag, n], 4, &mut Noise(seed));
            prop_assert_eq!(woken, 0, "{:?}", estimate);
            let contact = estimate.contact(&Estimation::default()).expect("heard");
            close(&contact, [k1, drag, n], 0.05)?;
            prop_assert!(contact.confidence > 0.95, "{:?}", contact);
        }

        /// A contact that has become harder or softer is known again after one press of 2 s.
        #[test]
        fn a_changed_contact_is_learnt_anew(
            k1 in 0.3_f64..0.8, factor in prop_oneof![0.5_f64..0.7, 1.5_f64..3.0],
            seed in 1_u64..u64::MAX)
        {
            let (mut estimate, mut noise) = (HuntCrossley::default(), Noise(seed));
            press(&mut estimate, [k1, 0.05, 1.3], 6, &mut noise);
            let woken = press(&mut estimate, [factor * k1, 0.05, 1.3], 2, &mut noise);
            prop_assert!(woken > 0);
            let contact = estimate.contact(&Estimation::default()).expect("heard");
            close(&contact, [factor * k1, 0.05, 1.3], 0.05)?;
        }

        /// Whatever is heard, the estimate is finite and its covariance bounded and not negative.
        #[test]
        fn garbage_leaves_an_estimate(samples in proptest::collection::vec(
            (prop::num::f64::ANY, prop::num::f64::ANY, prop::num::f64::ANY), 1..200))
        {
            let mut estimate = HuntCrossley::default();
            for (depth_m, rate_mps, force_n) in samples {
                estimate.hear(&Estimation::default(), depth_m, rate_mps, force_n);
                estimate.hear(&Estimation::default(), depth_m.abs().min(0.1), rate_mps.clamp(-1.0, 1.0), force_n.abs().min(20.0));
                prop_assert!(estimate.theta.iter().all(|x| x.is_finite()));
                let diagonal = [0, 1, 2].map(|i| estimate.p[i][i]);
                prop_assert!(diagonal.iter().all(|&x| x >= 0.0), "{:?}", diagonal);
                prop_assert!(diagonal.iter().sum::<f64>() < UNKNOWN * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn in_free_space_and_at_rest_nothing_moves() {
        let (mut estimate, mut noise) = (HuntCrossley::default(), Noise(7));
        press(&mut estimate, [0.3, 0.05, 1.3], 4, &mut noise);
        let known = estimate;
        for _ in 0..100_000 {
            let heard = estimate.hear(&Estimation::default(), -1e-3, 0.1, 0.03 * noise.next());
            assert_eq!(heard, Heard::Frozen);
        }
        assert_eq!(estimate, known);
        // a hand that rests in the tissue for a minute tells one force, and forgets nothing by it
        for _ in 0..60_000 {
            let force_n = 0.3 * libm::pow(5.0, 1.3) + 0.01 * noise.next();
            estimate.hear(&Estimation::default(), 5e-3, 0.0, force_n);
        }
        let contact = estimate.contact(&Estimation::default()).expect("heard");
        let there_n = contact.force_n(5e-3, 0.0) / (0.3 * libm::pow(5.0, 1.3));
        assert!((there_n - 1.0).abs() < 0.01, "{there_n}");
        assert!((contact.exponent / 1.3 - 1.0).abs() < 0.1, "{contact:?}");
    }
}
