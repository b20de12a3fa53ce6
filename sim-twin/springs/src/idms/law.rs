//! Force laws of one spring: force, slope and energy of an extension.
//!
//! Source: row S4-08; the exponential law after Fung 1967. All laws are odd in the extension, and
//! scale with the stiffness `k` at rest.
//!
//! Symbols: `e` extension \[m\], `l` reference length \[m\], `eps = e / l`.

/// Force law of a spring against its extension.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum SpringLaw {
    /// `f = k e`.
    #[default]
    Linear,
    /// `f = k l (exp(alpha |eps|) - 1) / alpha`, continued linearly beyond a steepest slope.
    Fung {
        /// Growth `alpha` of the exponential, greater than zero.
        growth: f64,
        /// Slope over `k` at which the linear continuation begins, greater than 1. It bounds
        /// the stiffness for the stability gate.
        steepest: f64,
    },
}

/// Response of a law to one extension, for unit stiffness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpringResponse {
    /// Force over extension, the secant stiffness over `k`.
    pub(super) secant: f64,
    /// Energy over `k` \[m^2\].
    pub(super) energy: f64,
}

impl SpringLaw {
    /// Largest slope over `k` that the law can reach.
    pub(super) fn steepest(&self) -> f64 {
        match *self {
            Self::Linear => 1.0,
            Self::Fung { steepest, .. } => steepest,
        }
    }

    /// Secant and energy at `extension_m` of a spring of reference length `length_m`.
    pub(super) fn response(&self, extension_m: f64, length_m: f64) -> SpringResponse {
        let Self::Fung { growth, steepest } = *self else {
            return SpringResponse {
                secant: 1.0,
                energy: 0.5 * extension_m * extension_m,
            };
        };
        let size = extension_m.abs();
        let argument = growth * size / length_m;
        if argument < 1e-5 {
            // series: the closed form would lose every digit to cancellation here
            return SpringResponse {
                secant: 1.0 + 0.5 * argument,
                energy: size * size * (0.5 + argument / 6.0),
            };
        }
        let scale_m = length_m / growth;
        let knee = libm::log(steepest);
        let (force, energy) = if argument <= knee {
            let exp_minus_one = libm::expm1(argument);
            (
                scale_m * exp_minus_one,
                scale_m * scale_m * (exp_minus_one - argument),
            )
        } else {
            let (base, over) = (scale_m * (steepest - 1.0), scale_m * (argument - knee));
            let stored = scale_m * scale_m * (steepest - 1.0 - knee);
            (
                base + steepest * over,
                stored + over * (base + 0.5 * steepest * over),
            )
        };
        SpringResponse {
            secant: force / size,
            energy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FUNG: SpringLaw = SpringLaw::Fung {
        growth: 8.0,
        steepest: 6.0,
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn force_is_the_slope_of_the_energy(e in -0.8..0.8_f64, length in 0.5..2.0_f64) {
            for law in [SpringLaw::Linear, FUNG] {
                let h = 1e-6;
                let rise = law.response(e + h, length).energy - law.response(e - h, length).energy;
                let force = law.response(e, length).secant * e;
                prop_assert!((rise / (2.0 * h) - force).abs() < 1e-6 * (1.0 + force.abs()));
            }
        }

        #[test]
        fn slope_stays_between_one_and_steepest(e in 0.0..0.8_f64) {
            let h = 1e-5;
            let force = |e: f64| FUNG.response(e, 1.0).secant * e;
            let slope = (force(e + h) - force(e)) / h;
            prop_assert!((1.0 - 1e-6..=6.0 + 1e-6).contains(&slope), "{slope}");
        }
    }
}
