//! What cells are made of, without units, and what they ask of the step.
//!
//! Source: ours; the bound of an element's frequency is that of its moduli and edges.

use super::{ExplicitError, Params, Stuff};
use palpate_geometry::mesh::nested::{Level, Nested};
use palpate_twin::law::Viscosity;

/// Units inside, and the fastest wave.
pub(super) struct Scale {
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) density_kgpm3: f64,
}

impl Scale {
    pub(super) fn time_s(&self) -> f64 {
        self.length_m * (self.density_kgpm3 / self.stress_pa).sqrt()
    }

    /// Bound of the squared frequency that the allowed sub-steps bear.
    pub(super) fn borne(&self, params: &Params) -> f64 {
        let step = 1e-3 / f64::from(params.substeps_max) / self.time_s();
        (2.0 * params.safety / step).powi(2)
    }
}

pub(super) fn scale(nested: &Nested, stuff: &[Stuff]) -> Result<Scale, ExplicitError> {
    if stuff.len() != nested.levels.len() {
        return Err(ExplicitError::Levels {
            levels: nested.levels.len(),
            found: stuff.len(),
        });
    }
    let mut scale = Scale {
        length_m: f64::MAX,
        stress_pa: 0.0,
        density_kgpm3: 0.0,
    };
    for (level, (grid, stuff)) in nested.levels.iter().zip(stuff).enumerate() {
        let found = stuff.moduli.len().min(stuff.densities_kgpm3.len());
        if found != grid.count() {
            return Err(ExplicitError::Cells {
                level,
                cells: grid.count(),
                found,
            });
        }
        let all = stuff.moduli.iter().zip(&stuff.densities_kgpm3).enumerate();
        for (cell, (moduli, &density_kgpm3)) in all {
            let sound = moduli.mu_pa > 0.0
                && moduli.lambda_pa >= 0.0
                && (moduli.mu_pa + moduli.lambda_pa).is_finite()
                && density_kgpm3 > 0.0
                && density_kgpm3.is_finite();
            if !sound {
                return Err(ExplicitError::Material { level, cell });
            }
            scale.stress_pa = scale.stress_pa.max(moduli.mu_pa);
            scale.density_kgpm3 = scale.density_kgpm3.max(density_kgpm3);
        }
        scale.length_m = grid.edge_m.iter().fold(scale.length_m, |a, &b| a.min(b));
    }
    Ok(scale)
}

/// What cells are made of, and the units inside.
#[derive(Clone, Copy)]
pub(super) struct Matter<'a> {
    pub(super) nested: &'a Nested,
    pub(super) stuff: &'a [Stuff],
    pub(super) viscosities: &'a [Vec<Viscosity>],
    pub(super) scale: &'a Scale,
    pub(super) params: &'a Params,
}

/// What a cell asks of the step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// Largest squared frequency of the free element with lumped mass.
    pub(super) frequency2: f64,
    /// Its largest rate of damping by viscosity, over the safety of the step.
    pub(super) drag: f64,
}

impl Ask {
    /// As a squared frequency on steps that bear `bound`.
    pub(super) fn on(&self, bound: f64) -> f64 {
        self.frequency2 + self.drag * bound.sqrt()
    }

    /// As a squared frequency on its own steps.
    pub(super) fn alone(&self) -> f64 {
        if self.drag == 0.0 {
            return self.frequency2;
        }
        let root = (self.drag * self.drag + 4.0 * self.frequency2).sqrt();
        (0.5 * (self.drag + root)).powi(2)
    }
}

impl Matter<'_> {
    pub(super) fn viscosity(&self, level: usize, cell: usize) -> Viscosity {
        let own = self.viscosities.get(level).and_then(|all| all.get(cell));
        own.copied().unwrap_or(Viscosity::NONE)
    }

    pub(super) fn ask(&self, index: usize, cell: usize) -> Ask {
        let (level, stuff, scale) = (&self.nested.levels[index], &self.stuff[index], self.scale);
        let (moduli, density) = (&stuff.moduli[cell], stuff.densities_kgpm3[cell]);
        let inverse = edge(level, scale).map(|h| 1.0 / (h * h));
        let sum = inverse.iter().sum::<f64>();
        let max = inverse.into_iter().fold(0.0, f64::max);
        let bound = |volume: f64, shape: f64| {
            4.0 * (volume * sum + 2.0 * shape * max) * scale.density_kgpm3 / density
        };
        let (lambda, mu) = (
            moduli.lambda_pa / scale.stress_pa,
            moduli.mu_pa / scale.stress_pa,
        );
        let viscosity = self.viscosity(index, cell);
        let unit_pas = scale.stress_pa * scale.time_s();
        let (bulk, shear) = (
            viscosity.bulk_pas / unit_pas,
            viscosity.shear_pas / unit_pas,
        );
        Ask {
            frequency2: bound(lambda, mu),
            drag: bound((bulk - shear * (2.0 / 3.0)).max(0.0), shear) / self.params.safety,
        }
    }
}

/// Whether viscosities fit the grids.
pub(super) fn check(nested: &Nested, viscosities: &[Vec<Viscosity>]) -> Result<(), ExplicitError> {
    if viscosities.is_empty() {
        return Ok(());
    }
    if viscosities.len() != nested.levels.len() {
        return Err(ExplicitError::Levels {
            levels: nested.levels.len(),
            found: viscosities.len(),
        });
    }
    for (level, (grid, all)) in nested.levels.iter().zip(viscosities).enumerate() {
        if all.len() != grid.count() {
            return Err(ExplicitError::Cells {
                level,
                cells: grid.count(),
                found: all.len(),
            });
        }
        for (cell, viscosity) in all.iter().enumerate() {
            let wrong = |source| ExplicitError::Viscosity {
                level,
                cell,
                source,
            };
            viscosity.check().map_err(wrong)?;
        }
    }
    Ok(())
}

pub(super) fn edge(level: &Level, scale: &Scale) -> [f64; 3] {
    level.edge_m.map(|edge_m| edge_m / scale.length_m)
}

/// Cells of a level with their number in the mesh, those that are replaced left out.
pub(super) fn own(level: &Level) -> impl Iterator<Item = ([usize; 3], usize)> + '_ {
    let [nx, ny, _] = level.cells;
    (0..level.count()).filter_map(move |cell| {
        let place = [cell % nx, cell / nx % ny, cell / (nx * ny)];
        (!level.is_replaced(place)).then_some((place, cell))
    })
}

pub(super) fn greatest_bound(matter: &Matter) -> f64 {
    let levels = matter.nested.levels.iter().enumerate();
    let all = levels.flat_map(|(index, level)| {
        own(level).map(move |(_, cell)| matter.ask(index, cell).alone())
    });
    all.fold(0.0, f64::max)
}

/// Speed of the fastest pressure wave.
pub(super) fn wave(nested: &Nested, stuff: &[Stuff], scale: &Scale) -> f64 {
    let levels = nested.levels.iter().zip(stuff);
    let all = levels.flat_map(|(level, stuff)| {
        own(level).map(|(_, cell)| {
            let m = &stuff.moduli[cell];
            (m.lambda_pa + 2.0 * m.mu_pa) / stuff.densities_kgpm3[cell]
        })
    });
    (all.fold(0.0, f64::max) * scale.density_kgpm3 / scale.stress_pa).sqrt()
}
