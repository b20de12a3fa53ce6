//! Validation of tissue parameters by a source other than the one that tuned them.
//!
//! Source: seed-001 row AN-01, after its section IV.C.2. Parameters are chosen by a rigorous model, by measurements
//! or by an expert, and validated by another source. Agreement with the tuning source is no evidence.

/// Source of reference forces of a tissue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterSource {
    /// A rigorous model, by name and case.
    Model(String),
    /// A measured record, by name.
    Measurement(String),
    /// An expert who tuned by hand, by name.
    Expert(String),
}

impl std::fmt::Display for ParameterSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(name) => write!(f, "model ({name})"),
            Self::Measurement(name) => write!(f, "measurement ({name})"),
            Self::Expert(name) => write!(f, "expert ({name})"),
        }
    }
}

/// Difference between a tuned model and an independent source.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelValidation {
    /// Source that tuned the parameters.
    pub tuned_by: ParameterSource,
    /// Source that validated them.
    pub validated_by: ParameterSource,
    /// Root mean square of the difference, in the unit of the values.
    pub rms: f64,
    /// The same over the root mean square of the reference.
    pub rms_share: f64,
    /// Tolerated share.
    pub band: f64,
}

/// Error of a validation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelValidationError {
    /// The validating source is the tuning source.
    #[error("{0} tuned the parameters; expected another source to validate them")]
    Same(ParameterSource),
    /// No pairs, or a reference that is zero or not finite.
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

impl ModelValidation {
    /// Compares pairs of model and reference values against a tolerated share.
    ///
    /// # Errors
    /// [`ModelValidationError`] if both sources are the same, or the values are invalid.
    pub fn new(
        [tuned_by, validated_by]: [ParameterSource; 2],
        pairs: &[(f64, f64)],
        band: f64,
    ) -> Result<Self, ModelValidationError> {
        if tuned_by == validated_by {
            return Err(ModelValidationError::Same(tuned_by));
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            let squares = pairs.iter().map(|pair| of(pair) * of(pair));
            (squares.sum::<f64>() / pairs.len() as f64).sqrt()
        };
        let (rms, reference) = (mean(|(own, judge)| own - judge), mean(|(_, judge)| *judge));
        if !(rms.is_finite() && reference.is_finite() && reference > 0.0) {
            return Err(ModelValidationError::Values {
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

    /// True if the difference is within the tolerated share.
    #[must_use]
    pub fn is_within_tolerance(&self) -> bool {
        self.rms_share <= self.band
    }
}

impl std::fmt::Display for ModelValidation {
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
    fn an_01_tuning_source_may_not_validate_and_report_names_both() {
        let hand = ParameterSource::Expert("a surgeon".to_owned());
        assert_eq!(hand.to_string(), "expert (a surgeon)");
        let punch = ParameterSource::Model("punch".to_owned());
        let probe = ParameterSource::Measurement("probe of 8 mm".to_owned());
        let pairs = [(1.1, 1.0), (1.8, 2.0)];
        let same = ModelValidation::new([punch.clone(), punch.clone()], &pairs, 0.1);
        let error = same.expect_err("the same");
        assert!(error.to_string().contains("model (punch) tuned"), "{error}");
        let found = ModelValidation::new([punch.clone(), probe.clone()], &pairs, 0.1).expect("fit");
        let rms = ((0.01_f64 + 0.04) / 2.0).sqrt();
        assert!((found.rms - rms).abs() < 1e-12);
        assert!(
            (found.rms_share - rms / 2.5_f64.sqrt()).abs() < 1e-12 && found.is_within_tolerance()
        );
        let words = found.to_string();
        for part in [
            "tuned by model (punch)",
            "validated by measurement (probe",
            "10.0 % off",
        ] {
            assert!(words.contains(part), "{words}");
        }
        let tight =
            ModelValidation::new([punch.clone(), probe.clone()], &pairs, 0.05).expect("fit");
        assert!(!tight.is_within_tolerance());
        for bad in [&[][..], &[(1.0, 0.0)], &[(f64::NAN, 1.0)]] {
            let found = ModelValidation::new([punch.clone(), probe.clone()], bad, 0.1);
            assert!(
                matches!(found, Err(ModelValidationError::Values { .. })),
                "{bad:?}"
            );
        }
    }
}
