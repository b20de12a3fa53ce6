//! Invariants of a deformation gradient with their first and second derivatives.
//!
//! Source: Bonet and Wood 2008, section 6.4 (isochoric invariants) and appendix on cofactors.
//!
//! Symbols: `g = F^-T`, `h = g : dF` (so `dJ = J h`), `I1 = tr C`, `I2 = (I1^2 - C : C) / 2`;
//! isochoric `i1 = J^(-2/3) I1`, `i2 = J^(-4/3) I2`; `G1`, `G2` their gradients in `F`.

use nalgebra::{Matrix3, Vector3};

/// Cofactor matrix `J F^-T`, also where `F` has no inverse.
#[must_use]
pub fn cofactor(f: &Matrix3<f64>) -> Matrix3<f64> {
    let [a, b, c] = columns(f);
    Matrix3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

/// Change of the cofactor for a change `df`.
pub(super) fn cofactor_change(f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
    let [a, b, c] = columns(f);
    let [da, db, dc] = columns(df);
    Matrix3::from_columns(&[
        db.cross(&c) + b.cross(&dc),
        dc.cross(&a) + c.cross(&da),
        da.cross(&b) + a.cross(&db),
    ])
}

/// `J` from the cofactor.
pub(super) fn volume(f: &Matrix3<f64>, cofactor: &Matrix3<f64>) -> f64 {
    f.column(0).dot(&cofactor.column(0))
}

fn columns(f: &Matrix3<f64>) -> [Vector3<f64>; 3] {
    [0, 1, 2].map(|column| f.column(column).into_owned())
}

/// Change of `F^-T` for a change `df`.
pub(super) fn inverse_change(g: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
    -(g * df.transpose() * g)
}

/// Isochoric invariants of one gradient and the terms of their derivatives.
pub(super) struct Isochoric {
    f: Matrix3<f64>,
    pub(super) g: Matrix3<f64>,
    pub(super) j: f64,
    shrink: f64,
    i1_full: f64,
    pub(super) i1: f64,
}

impl Isochoric {
    pub(super) fn new(f: &Matrix3<f64>) -> Self {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        let root = libm::cbrt(j);
        let shrink = 1.0 / (root * root);
        let i1_full = f.norm_squared();
        Self {
            f: *f,
            g: cofactor / j,
            j,
            shrink,
            i1_full,
            i1: shrink * i1_full,
        }
    }

    /// `G1`.
    pub(super) fn first(&self) -> Matrix3<f64> {
        let two = 2.0;
        self.f * (two * self.shrink) - self.g * (two / 3.0 * self.i1)
    }

    /// Change of `G1`.
    pub(super) fn first_change(&self, df: &Matrix3<f64>) -> Matrix3<f64> {
        let (two, third) = (2.0, 1.0 / 3.0);
        let h = self.g.dot(df);
        let grown = (df - self.f * (two * third * h)) * (two * self.shrink);
        let pressed = self.g * self.first().dot(df) + inverse_change(&self.g, df) * self.i1;
        grown - pressed * (two * third)
    }

    /// `i2`.
    pub(super) fn i2(&self) -> f64 {
        let c = self.f.transpose() * self.f;
        let i2_full = (self.i1_full * self.i1_full - c.norm_squared()) * 0.5;
        i2_full * self.shrink * self.shrink
    }

    /// `dI2/dF`, before the volume is factored out.
    fn second_full(&self) -> Matrix3<f64> {
        (self.f * self.i1_full - self.f * (self.f.transpose() * self.f)) * 2.0
    }

    /// `G2`.
    pub(super) fn second(&self) -> Matrix3<f64> {
        let squeeze = self.shrink * self.shrink;
        self.second_full() * squeeze - self.g * (4.0 / 3.0 * self.i2())
    }

    /// Change of `G2`.
    pub(super) fn second_change(&self, df: &Matrix3<f64>) -> Matrix3<f64> {
        let (two, rate) = (2.0, 4.0 / 3.0);
        let f = &self.f;
        let c = f.transpose() * f;
        let dc = df.transpose() * f + f.transpose() * df;
        let full = (f * (two * f.dot(df)) + df * self.i1_full - df * c - f * dc) * two;
        let grown = full - self.second_full() * (rate * self.g.dot(df));
        let pressed = self.g * self.second().dot(df) + inverse_change(&self.g, df) * self.i2();
        grown * (self.shrink * self.shrink) - pressed * rate
    }

    /// Volumetric energy over `kappa`: `(J^2 - 1 - 2 ln J) / 4` (Simo and Taylor 1982); infinite
    /// for an inverted gradient.
    pub(super) fn volume_energy(&self) -> f64 {
        if self.j <= 0.0 {
            return f64::INFINITY;
        }
        (self.j * self.j - 1.0 - 2.0 * libm::log(self.j)) * 0.25
    }

    /// Stress of the volumetric energy over `kappa`.
    pub(super) fn volume_stress(&self) -> Matrix3<f64> {
        self.g * ((self.j * self.j - 1.0) * 0.5)
    }

    /// Change of that stress.
    pub(super) fn volume_change(&self, df: &Matrix3<f64>) -> Matrix3<f64> {
        let square = self.j * self.j;
        self.g * (square * self.g.dot(df)) + inverse_change(&self.g, df) * ((square - 1.0) * 0.5)
    }
}
