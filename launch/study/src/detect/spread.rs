//! Agreement of the mixing rules on one lump: the error bound of a study on coarse cells.
//!
//! Source: ours. In a cell that contains lump and tissue, Reuss bounds the modulus from below and Voigt
//! from above (Hill 1963); on fine cells the rules converge. Where they differ, the result
//! depends on the rule as much as on the tissue.

use serde::{Deserialize, Serialize};

use super::{MeshCase, d_prime};

/// Least and largest force change of the scene's own lump over the mixing rules, each the mean over the
/// alignments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixingSpread {
    /// Rule of the least change.
    pub least_by: String,
    /// Least change of the force, as a share.
    pub least: f64,
    /// Its d'.
    pub least_d_prime: f64,
    /// Rule of the largest change.
    pub most_by: String,
    /// Largest change of the force, as a share.
    pub most: f64,
    /// Its d'.
    pub most_d_prime: f64,
    /// True if they differ by more than the noise of a reading.
    pub doubtful: bool,
}

impl MixingSpread {
    /// Spread over the pressed meshes; none unless every mesh has a result.
    pub(super) fn of(meshes: &[MeshCase], noise: f64) -> Option<Self> {
        let mut rules: Vec<&str> = meshes.iter().map(|mesh| mesh.mixing.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        let mean = |rule: &str| {
            let of = meshes.iter().filter(|mesh| mesh.mixing == rule);
            let changes: Option<Vec<f64>> = of.map(|mesh| mesh.force_change).collect();
            changes.map(|changes| changes.iter().sum::<f64>() / changes.len() as f64)
        };
        let means: Option<Vec<(f64, &str)>> = rules
            .into_iter()
            .map(|rule| Some((mean(rule)?, rule)))
            .collect();
        let means = means?;
        let &(least, least_by) = means.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let &(most, most_by) = means.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Self {
            least_by: least_by.to_owned(),
            least,
            least_d_prime: d_prime(least, noise),
            most_by: most_by.to_owned(),
            most,
            most_d_prime: d_prime(most, noise),
            doubtful: most - least > noise,
        })
    }
}

impl std::fmt::Display for MixingSpread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "by mixing rule, the scene's own lump changes the force by {:+.1} % ({}, d' {:.1}) to \
             {:+.1} % ({}, d' {:.1})",
            100.0 * self.least,
            self.least_by,
            self.least_d_prime,
            100.0 * self.most,
            self.most_by,
            self.most_d_prime
        )?;
        if self.doubtful {
            f.write_str(
                "; they disagree by more than the noise of a reading, so that on cells this coarse \
                 the rule decides as much as the lump: make the cells under it finer",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(mixing: &str, force_change: Option<f64>) -> MeshCase {
        MeshCase {
            mixing: mixing.to_owned(),
            shift_cells: 0.0,
            force_change,
        }
    }

    #[test]
    fn disagreement_beyond_noise_is_doubtful() {
        let of = |reuss: f64, noise: f64| {
            let meshes = [
                mesh("voigt", Some(0.9)),
                mesh("voigt", Some(1.1)),
                mesh("reuss", Some(reuss)),
                mesh("reuss", Some(reuss)),
            ];
            MixingSpread::of(&meshes, noise).expect("all known")
        };
        let spread = of(0.02, 0.02);
        assert_eq!((&*spread.least_by, &*spread.most_by), ("reuss", "voigt"));
        assert!(spread.doubtful && (spread.most - 1.0).abs() < 1e-12);
        let words = spread.to_string();
        for part in ["+2.0 % (reuss, d' 1.0)", "+100.0 % (voigt", "disagree"] {
            assert!(words.contains(part), "{words}");
        }
        let agreed = of(0.99, 0.02);
        assert!(!agreed.doubtful && !agreed.to_string().contains("disagree"));
        assert_eq!(MixingSpread::of(&[mesh("voigt", None)], 0.02), None);
        assert_eq!(MixingSpread::of(&[], 0.02), None);
    }
}
