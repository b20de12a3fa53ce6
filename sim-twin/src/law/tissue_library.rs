//! Published stiffness of soft tissues, each with its source and its measurement.
//!
//! Young's moduli are means of the source, measured as its note states. The spread between people,
//! methods and pre-load is a factor of 2 and more, so these are initial values. A modulus holds for the strain and the
//! frequency of its entry. No source here gives a viscosity or a relaxation that we could verify, so no entry has one: a
//! scene that needs it states `shear_viscosity_pas` or `relaxing`.
//! Densities: ICRU Report 44 (1989) where it lists the tissue, else 1050 kg/m^3. Poisson's ratio is
//! ours throughout: 0.49, since soft tissue keeps its volume and the solvers are tested to 0.49.

/// Poisson's ratio of every entry.
pub const POISSON: f64 = 0.49;

/// One tissue of the library.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedTissue {
    /// Name, as a scene file gives it.
    pub name: &'static str,
    /// Young's modulus \[Pa\].
    pub young_pa: f64,
    /// Standard deviation that the source gives \[Pa\], if it does.
    pub spread_pa: Option<f64>,
    /// Density \[kg/m^3\].
    pub density_kgpm3: f64,
    /// Author, year and place of the source.
    pub source: &'static str,
    /// Method of the measurement, and its object.
    pub note: &'static str,
    /// Strain and frequency for which the modulus holds.
    pub regime: &'static str,
}

/// Source of a number, a note on its measurement, and its regime.
struct Origin {
    source: &'static str,
    note: &'static str,
    regime: &'static str,
}

const FOREARM: Origin = Origin {
    source: "Pailler-Mattei, Bec, Zahouani 2008, Med. Eng. Phys. 30:599",
    note: "indentation of the forearm in vivo; parameter of a fit of two elastic layers, not measured alone",
    regime: "slow indentation, elastic fit",
};
const LIVER: Origin = Origin {
    source: "Roulot et al. 2008, J. Hepatol. 48:606",
    note: "transient elastography, people without liver disease",
    regime: "shear waves of small strain at 50 Hz; stiffer than a slow press if the tissue is viscous",
};
const CIRRHOSIS: Origin = Origin {
    source: "Castera et al. 2005, Gastroenterology 128:343",
    note: "cut-off of transient elastography for cirrhosis: a lower end, not a mean",
    regime: "shear waves of small strain at 50 Hz; stiffer than a slow press if the tissue is viscous",
};
const BREAST: Origin = Origin {
    source: "Samani, Zubovits, Plewes 2007, Phys. Med. Biol. 52:1565",
    note: "indentation of 169 samples ex vivo",
    regime: "slow indentation of small strain",
};
const PROSTATE: Origin = Origin {
    source: "Zhang et al. 2008, Ultrasound Med. Biol. 34:1033",
    note: "samples ex vivo, magnitude of the complex modulus",
    regime: "150 Hz: stiffer than at rest; the contrast of carcinoma is 2.5 there and 2.1 at 0.1 Hz (Hoyt et al. 2008)",
};

/// The library, by name.
pub const TISSUES: [PublishedTissue; 12] = [
    entry("skin", 35e3, None, 1090.0, FOREARM),
    entry("fat", 2e3, None, 950.0, FOREARM),
    entry("muscle", 80e3, None, 1050.0, FOREARM),
    entry("liver", 5.5e3, Some(1.6e3), 1060.0, LIVER),
    entry("liver-cirrhotic", 12.5e3, None, 1060.0, CIRRHOSIS),
    entry("breast-fat", 3.25e3, Some(0.91e3), 950.0, BREAST),
    entry("breast-gland", 3.24e3, Some(0.61e3), 1020.0, BREAST),
    entry("breast-fibroadenoma", 6.41e3, Some(2.86e3), 1020.0, BREAST),
    entry(
        "breast-carcinoma-low",
        10.40e3,
        Some(2.60e3),
        1020.0,
        BREAST,
    ),
    entry(
        "breast-carcinoma-high",
        42.52e3,
        Some(12.47e3),
        1020.0,
        BREAST,
    ),
    entry("prostate", 15.9e3, Some(5.9e3), 1050.0, PROSTATE),
    entry("prostate-carcinoma", 40.4e3, Some(15.7e3), 1050.0, PROSTATE),
];

const fn entry(
    name: &'static str,
    young_pa: f64,
    spread_pa: Option<f64>,
    density_kgpm3: f64,
    origin: Origin,
) -> PublishedTissue {
    PublishedTissue {
        name,
        young_pa,
        spread_pa,
        density_kgpm3,
        source: origin.source,
        note: origin.note,
        regime: origin.regime,
    }
}

/// Returns the entry of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static PublishedTissue> {
    TISSUES.iter().find(|tissue| tissue.name == name)
}
