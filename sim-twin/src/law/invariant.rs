//! Invariants of a deformation gradient with their first and second derivatives.
//!
//! Source: Bonet and Wood 2008, section 6.4 (isochoric invariants) and appendix on cofactors.
//!
//! Symbols: `g = F^-T`, `h = g : dF` (so `dJ = J h`), `I1 = tr C`, `I2 = (I1^2 - C : C) / 2`;
//! isochoric `i1 = J^(-2/3) I1`, `i2 = J^(-4/3) I2`; `G1`, `G2` their gradients in `F`.

use super::real::Real;
use nalgebra::{Matrix3, Vector3};

/// Cofactor matrix `J F^-T`, also where `F` has no inverse.
#[must_use]
pub fn cofactor<T: Real>(f: &Matrix3<T>) -> Matrix3<T> {
    let (a, b, c) = columns(f);
    Matrix3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

/// Change of the cofactor for a change `df`.
pub(super) fn cofactor_change<T: Real>(f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
    let (a, b, c) = columns(f);
    let (da, db, dc) = columns(df);
    Matrix3::from_columns(&[
        db.cross(&c) + b.cross(&dc),
        dc.cross(&a) + c.cross(&da),
        da.cross(&b) + a.cross(&db),
    ])
}

/// `J` from the cofactor.
pub(super) fn volume<T: Real>(f: &Matrix3<T>, cofactor: &Matrix3<T>) -> T {
    f.column(0).dot(&cofactor.column(0))
}

fn columns<T: Real>(f: &Matrix3<T>) -> (Vector3<T>, Vector3<T>, Vector3<T>) {
    (
        f.column(0).into_owned(),
        f.column(1).into_owned(),
        f.column(2).into_owned(),
    )
}

/// Change of `F^-T` for a change `df`.
pub(super) fn inverse_change<T: Real>(g: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
    -(g * df.transpose() * g)
}

/// What the isochoric laws need of one gradient.
pub(super) struct Isochoric<T: Real> {
    f: Matrix3<T>,
    pub(super) g: Matrix3<T>,
    pub(super) j: T,
    shrink: T,
    i1_full: T,
    pub(super) i1: T,
}

impl<T: Real> Isochoric<T> {
    pub(super) fn new(f: &Matrix3<T>) -> Self {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        let root = j.cube_root();
        let shrink = T::one() / (root * root);
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
    pub(super) fn first(&self) -> Matrix3<T> {
        let two = T::of(2.0);
        self.f * (two * self.shrink) - self.g * (two / T::of(3.0) * self.i1)
    }

    /// Change of `G1`.
    pub(super) fn first_change(&self, df: &Matrix3<T>) -> Matrix3<T> {
        let (two, third) = (T::of(2.0), T::of(1.0 / 3.0));
        let h = self.g.dot(df);
        let grown = (df - self.f * (two * third * h)) * (two * self.shrink);
        let pressed = self.g * self.first().dot(df) + inverse_change(&self.g, df) * self.i1;
        grown - pressed * (two * third)
    }

    /// `i2`.
    pub(super) fn i2(&self) -> T {
        let c = self.f.transpose() * self.f;
        let i2_full = (self.i1_full * self.i1_full - c.norm_squared()) * T::of(0.5);
        i2_full * self.shrink * self.shrink
    }

    /// `dI2/dF`, before the volume is taken out.
    fn second_full(&self) -> Matrix3<T> {
        (self.f * self.i1_full - self.f * (self.f.transpose() * self.f)) * T::of(2.0)
    }

    /// `G2`.
    pub(super) fn second(&self) -> Matrix3<T> {
        let squeeze = self.shrink * self.shrink;
        self.second_full() * squeeze - self.g * (T::of(4.0 / 3.0) * self.i2())
    }

    /// Change of `G2`.
    pub(super) fn second_change(&self, df: &Matrix3<T>) -> Matrix3<T> {
        let (two, rate) = (T::of(2.0), T::of(4.0 / 3.0));
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
    pub(super) fn volume_energy(&self) -> T {
        if self.j <= T::zero() {
            return T::of(f64::INFINITY);
        }
        (self.j * self.j - T::one() - T::of(2.0) * self.j.logarithm()) * T::of(0.25)
    }

    /// Stress of the volumetric energy over `kappa`.
    pub(super) fn volume_stress(&self) -> Matrix3<T> {
        self.g * ((self.j * self.j - T::one()) * T::of(0.5))
    }

    /// Change of that stress.
    pub(super) fn volume_change(&self, df: &Matrix3<T>) -> Matrix3<T> {
        let square = self.j * self.j;
        self.g * (square * self.g.dot(df))
            + inverse_change(&self.g, df) * ((square - T::one()) * T::of(0.5))
    }
}
