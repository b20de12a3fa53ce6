//! Materials of the cells, without units, and their demand on the step.
//!
//! Source: ours; the frequency of an element is bounded by its moduli and edges.

use super::grid::Grid;
use super::{ExplicitError, ExplicitParams, SAFETY};
use palpate_geometry::mesh::nested_grid::{GridLevel, NestedGrid};
use palpate_twin::law::{CellMaterial, LawFamily};

/// Internal units.
pub(super) struct Scale {
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) density_kgpm3: f64,
}

impl Scale {
    pub(super) fn time_s(&self) -> f64 {
        self.length_m * (self.density_kgpm3 / self.stress_pa).sqrt()
    }

    /// Returns the largest squared frequency that is stable with the allowed sub-steps.
    pub(super) fn frequency2_max(&self, params: &ExplicitParams) -> f64 {
        let step = 1e-3 / f64::from(params.substeps_max) / self.time_s();
        (2.0 * SAFETY / step).powi(2)
    }
}

pub(super) fn scale(
    nested: &NestedGrid,
    cell_materials: &[Vec<CellMaterial>],
) -> Result<Scale, ExplicitError> {
    assert_eq!(
        cell_materials.len(),
        nested.levels.len(),
        "one list per grid"
    );
    let mut scale = Scale {
        length_m: f64::MAX,
        stress_pa: 0.0,
        density_kgpm3: 0.0,
    };
    for (level, (grid, cell_materials)) in nested.levels.iter().zip(cell_materials).enumerate() {
        assert_eq!(cell_materials.len(), grid.count(), "one entry per cell");
        for (cell, cell_materials) in cell_materials.iter().enumerate() {
            let (moduli, density_kgpm3) = (&cell_materials.moduli, cell_materials.density_kgpm3);
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

/// Materials of the cells with the internal units.
#[derive(Clone, Copy)]
pub(super) struct CellMaterials<'a> {
    pub(super) nested: &'a NestedGrid,
    pub(super) cell_materials: &'a [Vec<CellMaterial>],
    pub(super) scale: &'a Scale,
    pub(super) params: &'a ExplicitParams,
    /// Distinct laws of all cells.
    pub(super) families: &'a [LawFamily],
}

/// Demand of a cell on the step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepDemand {
    /// Bound of the squared frequency of the free element with lumped mass.
    pub(super) frequency2: f64,
    /// Largest rate of viscous damping, over the safety factor of the step.
    pub(super) damping_rate: f64,
}

impl StepDemand {
    /// Returns the demand as a squared frequency for steps that are stable up to `bound`.
    pub(super) fn on_steps_of(&self, bound: f64) -> f64 {
        self.frequency2 + self.damping_rate * bound.sqrt()
    }

    /// Returns the demand as a squared frequency for its own steps.
    pub(super) fn on_own_steps(&self) -> f64 {
        if self.damping_rate == 0.0 {
            return self.frequency2;
        }
        let root = (self.damping_rate * self.damping_rate + 4.0 * self.frequency2).sqrt();
        (0.5 * (self.damping_rate + root)).powi(2)
    }
}

impl CellMaterials<'_> {
    pub(super) fn step_demand(&self, index: usize, cell: usize) -> StepDemand {
        let scale = self.scale;
        let CellMaterial {
            moduli,
            density_kgpm3: density,
            viscosity,
            law: _,
        } = self.cell_materials[index][cell];
        let inverse = edge(&self.nested.levels[index], scale).map(|h| 1.0 / (h * h));
        let sum = inverse.iter().sum::<f64>();
        let max = inverse.into_iter().fold(0.0, f64::max);
        let bound = |volume: f64, shape: f64| {
            4.0 * (volume * sum + 2.0 * shape * max) * scale.density_kgpm3 / density
        };
        let [lambda, mu] = [moduli.lambda_pa, moduli.mu_pa].map(|pa| pa / scale.stress_pa);
        let unit_pas = scale.stress_pa * scale.time_s();
        let [bulk, shear] = [viscosity.bulk_pas, viscosity.shear_pas].map(|pas| pas / unit_pas);
        StepDemand {
            frequency2: bound(lambda, mu),
            damping_rate: bound((bulk - shear * (2.0 / 3.0)).max(0.0), shear) / SAFETY,
        }
    }

    /// Returns the number of the law of the cells of a grid if they have one, else the number for every cell.
    pub(super) fn laws(&self, index: usize, grid: &Grid) -> (u32, Vec<u32>) {
        let number = |cell: usize| {
            let own = self.cell_materials[index][cell].law;
            let own = own.unwrap_or(self.params.law);
            // every law is in the list of all
            let found = self.families.iter().position(|&family| family == own);
            found.unwrap_or_default() as u32
        };
        let mut laws = vec![0; grid.mass.len()];
        let (mut first, mut several) = (None, false);
        for (place, cell) in unreplaced_cells(&self.nested.levels[index]) {
            let own = number(cell);
            laws[grid.index(place)] = own;
            several |= *first.get_or_insert(own) != own;
        }
        (first.unwrap_or(0), if several { laws } else { Vec::new() })
    }

    /// Returns the speeds of the slowest shear wave and of the fastest pressure wave.
    pub(super) fn waves(&self) -> [f64; 2] {
        let levels = self.nested.levels.iter().zip(self.cell_materials);
        let all = levels.flat_map(|(level, cell_materials)| {
            unreplaced_cells(level).map(|(_, cell)| {
                let m = &cell_materials[cell].moduli;
                [m.mu_pa, m.lambda_pa + 2.0 * m.mu_pa]
                    .map(|pa| pa / cell_materials[cell].density_kgpm3)
            })
        });
        let range = all.fold([f64::INFINITY, 0.0], |[low, high], [shear, pressure]| {
            [low.min(shear), high.max(pressure)]
        });
        range.map(|speed2| (speed2 * self.scale.density_kgpm3 / self.scale.stress_pa).sqrt())
    }
}

/// Returns the distinct laws of cells, whose law is `common` if their material has none.
pub(super) fn families(cell_materials: &[Vec<CellMaterial>], common: LawFamily) -> Vec<LawFamily> {
    let mut found: Vec<LawFamily> = Vec::new();
    for own in cell_materials.iter().flatten() {
        let law = own.law.unwrap_or(common);
        if !found.contains(&law) {
            found.push(law);
        }
    }
    found
}

pub(super) fn edge(level: &GridLevel, scale: &Scale) -> [f64; 3] {
    level.edge_m.map(|edge_m| edge_m / scale.length_m)
}

/// Returns the cells of a level that no finer grid replaces, with their number in the mesh.
pub(super) fn unreplaced_cells(
    level: &GridLevel,
) -> impl Iterator<Item = ([usize; 3], usize)> + '_ {
    let [nx, ny, _] = level.cells;
    (0..level.count()).filter_map(move |cell| {
        let place = [cell % nx, cell / nx % ny, cell / (nx * ny)];
        (!level.is_replaced(place)).then_some((place, cell))
    })
}

pub(super) fn greatest_bound(materials: &CellMaterials) -> f64 {
    let levels = materials.nested.levels.iter().enumerate();
    let all = levels.flat_map(|(index, level)| {
        unreplaced_cells(level)
            .map(move |(_, cell)| materials.step_demand(index, cell).on_own_steps())
    });
    all.fold(0.0, f64::max)
}
