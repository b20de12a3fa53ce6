//! Where parameters of a tissue come from, and who says that they are right: never the same.
//!
//! Source: seed-001 row AN-01, after its section IV.C.2: parameters are chosen by a rigorous model, by measurements or
//! by an expert's hand, and judged by another one. Agreement with what was fitted says nothing.

/// Somebody who knows forces of a tissue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A model that is held to be rigorous, by name and case.
    Model(String),
    /// A record of measurements, by name.
    Measurement(String),
    /// A person who tuned by hand, by name.
    Expert(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(name) => write!(f, "model ({name})"),
            Self::Measurement(name) => write!(f, "measurement ({name})"),
            Self::Expert(name) => write!(f, "expert ({name})"),
        }
    }
}

/// How far a tuned model is from an independent source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Validation {
    /// Who chose the parameters.
    pub tuned_by: Source,
    /// Who judged them.
    pub validated_by: Source,
    /// Root mean square of the difference, in the unit of the values.
    pub rms: f64,
    /// The same over the root mean square of what the judge says.
    pub rms_share: f64,
    /// Share that is tolerated.
    pub band: f64,
}

/// Why there is no validation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ValidationError {
    /// Who tuned cannot judge.
    #[error("{0} tuned the parameters; expected another source to validate them")]
    Same(Source),
    /// Nothing to compare, or a judge who says 0 or nothing finite.
    #[error(
        "{found} pairs of values, reference {rms} root mean square; expected finite ones, not all 0"
    )]
    Values {
        /// Pairs found.
        found: usize,
        /// Root mean square of the reference.
        rms: f64,
    },
}

impl Validation {
    /// Compares pairs of values, the model's and the judge's, against a tolerated share.
    ///
    /// # Errors
    /// [`ValidationError`] if the judge is who tuned, or the values are unfit.
    pub(crate) fn new(
        [tuned_by, validated_by]: [Source; 2],
        pairs: &[(f64, f64)],
        band: f64,
    ) -> Result<Self, ValidationError> {
        if tuned_by == validated_by {
            return Err(ValidationError::Same(tuned_by));
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            let squares = pairs.iter().map(|pair| of(pair) * of(pair));
            (squares.sum::<f64>() / pairs.len() as f64).sqrt()
        };
        let (rms, reference) = (mean(|(own, judge)| own - judge), mean(|(_, judge)| *judge));
        if !(rms.is_finite() && reference.is_finite() && reference > 0.0) {
            return Err(ValidationError::Values {
                found: pairs.len(),
                rms: reference,
            });
        }
        Ok(Self {
            tuned_by,
            validated_by,
            rms,
            rms_share: rms / reference,
            band,
        })
    }

    /// Whether the difference is tolerated.
    #[must_use]
    pub(crate) fn held(&self) -> bool {
        self.rms_share <= self.band
    }
}

impl std::fmt::Display for Validation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "tuned by {}, validated by {}: {:.1} % off, root mean square, of {:.1} % tolerated",
            self.tuned_by,
            self.validated_by,
            100.0 * self.rms_share,
            100.0 * self.band
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_01_who_tuned_does_not_validate_and_both_are_told() {
        let hand = Source::Expert("a surgeon".to_owned());
        assert_eq!(hand.to_string(), "expert (a surgeon)");
        let punch = Source::Model("punch".to_owned());
        let probe = Source::Measurement("probe of 8 mm".to_owned());
        let pairs = [(1.1, 1.0), (1.8, 2.0)];
        let same = Validation::new([punch.clone(), punch.clone()], &pairs, 0.1);
        let error = same.expect_err("the same");
        assert!(error.to_string().contains("model (punch) tuned"), "{error}");
        let found = Validation::new([punch.clone(), probe.clone()], &pairs, 0.1).expect("fit");
        let rms = ((0.01_f64 + 0.04) / 2.0).sqrt();
        assert!((found.rms - rms).abs() < 1e-12);
        assert!((found.rms_share - rms / 2.5_f64.sqrt()).abs() < 1e-12 && found.held());
        let words = found.to_string();
        for part in [
            "tuned by model (punch)",
            "validated by measurement (probe",
            "10.0 % off",
        ] {
            assert!(words.contains(part), "{words}");
        }
        let tight = Validation::new([punch.clone(), probe.clone()], &pairs, 0.05).expect("fit");
        assert!(!tight.held());
        for bad in [&[][..], &[(1.0, 0.0)], &[(f64::NAN, 1.0)]] {
            let found = Validation::new([punch.clone(), probe.clone()], bad, 0.1);
            assert!(
                matches!(found, Err(ValidationError::Values { .. })),
                "{bad:?}"
            );
        }
    }
}
