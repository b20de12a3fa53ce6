//! Sheets one tetrahedron thick on a triangular grid: the data set of the seed and its relatives.
//!
//! Source: seed-004 3.9 (rows S4-05, S4-06, S4-56). A surface layer of rows that are shifted by
//! half an edge against each other, one lower atom under every upright surface triangle, and one
//! fixed home atom at the rest point of every surface atom. Atoms come in that order of the file:
//! surface, homes, lower layer.

use crate::Vec3;
use crate::lattice::{Atom, Face, Lattice, Link};

/// Stiffness of every link of the data set \[file force unit / file length unit\] (N09).
pub const FILE_STIFFNESS: f64 = 15.0;
/// Damping of every link of the data set \[file force unit s / file length unit\] (N09).
pub const FILE_DAMPING: f64 = 0.2;
/// Mass of every atom of the data set \[file mass unit\] (N09).
pub const FILE_MASS: f64 = 0.002;

const HEX_COLUMNS: u32 = 4;
const HEX_ROWS: u32 = 5;

/// What [`sheet`] builds, in SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SheetParams {
    /// Atoms in the shorter surface rows; the rows between them have one more. At least 2.
    pub columns: u32,
    /// Surface rows, at least 2.
    pub rows: u32,
    /// Edge of the surface triangles \[m\].
    pub edge_m: f64,
    /// Thickness of the sheet over its edge; sqrt(2/3) makes regular tetrahedra.
    pub depth_ratio: f64,
    /// Mass of every atom \[kg\].
    pub mass_kg: f64,
    /// Stiffness of every link but the home links \[N/m\].
    pub stiffness_npm: f64,
    /// Damping of every link but the home links \[N s/m\].
    pub damping_nspm: f64,
    /// Stiffness of every home link \[N/m\].
    pub home_stiffness_npm: f64,
    /// Damping of every home link \[N s/m\].
    pub home_damping_nspm: f64,
}

/// The data set `hex_4x5_home` as printed, in the units of its file, with one digit corrected.
///
/// 58 atoms, 141 links, 28 faces. The lower atoms stand half an edge aside of their triangles, as
/// in the original (W20). The y of atom 56 reads 2.827 in print and is 2.887 here, like that of
/// its row. The numbers are those of the file, not SI, in spite of the names of the fields: see
/// `Units` of `palpate-geometry` for the conversion.
#[must_use]
pub fn printed() -> Lattice {
    hex_4x5(0)
}

/// The data set `hex_4x5_home` with the lower atoms under the centres of their triangles, in the
/// units of the file: every edge is 1.000 +- 0.001 (seed-004 3.9).
#[must_use]
pub fn regular() -> Lattice {
    hex_4x5(500)
}

/// A sheet of the same make, of any size, in SI units.
///
/// Centred on the z axis, with its surface at z = 0 and its lower layer below. The footprint is
/// `columns * edge_m` by `(rows - 1) * sqrt(3)/2 * edge_m`. Counts below 2 are taken as 2.
#[must_use]
pub fn sheet(params: &SheetParams) -> Lattice {
    let grid = Grid {
        columns: params.columns.max(2),
        rows: params.rows.max(2),
    };
    let edge_m = params.edge_m;
    let row_m = edge_m * 3.0_f64.sqrt() / 2.0;
    let half_x_m = 0.5 * edge_m * f64::from(grid.columns);
    let half_y_m = 0.5 * row_m * f64::from(grid.rows - 1);
    let top = |row: u32, column: u32| {
        let x_m = edge_m * (f64::from(column) + if row.is_multiple_of(2) { 0.5 } else { 0.0 });
        Vec3::new(x_m - half_x_m, row_m * f64::from(row) - half_y_m, 0.0)
    };
    let bottom = |row: u32, column: u32| {
        let first = top(row, column);
        first + edge_m * Vec3::new(0.5, 0.5 / 3.0_f64.sqrt(), -params.depth_ratio)
    };
    let link = |atoms, home| Link {
        atoms,
        stiffness_npm: if home {
            params.home_stiffness_npm
        } else {
            params.stiffness_npm
        },
        damping_nspm: if home {
            params.home_damping_nspm
        } else {
            params.damping_nspm
        },
    };
    let name = format!("hex_{}x{}_home", grid.columns, grid.rows);
    grid.lattice(name, params.mass_kg, &top, &bottom, &link)
}

/// The 4 x 5 sheet in file units; `shift` moves the lower layer along x \[1/1000 edge\].
fn hex_4x5(shift: u32) -> Lattice {
    let grid = Grid {
        columns: HEX_COLUMNS,
        rows: HEX_ROWS,
    };
    // Whole thousandths divided once give the very doubles that the decimal text gives.
    let milli = |count: u32| f64::from(count) / 1000.0;
    let indent = |row: u32| if row.is_multiple_of(2) { 500 } else { 0 };
    let top = |row: u32, column: u32| {
        Vec3::new(milli(1000 * column + indent(row)), milli(866 * row), 0.0)
    };
    let bottom = |row: u32, column: u32| {
        let x = milli(1000 * column + indent(row) + shift);
        Vec3::new(x, milli(866 * row + 289), -0.817)
    };
    let link = |atoms, _home| Link {
        atoms,
        stiffness_npm: FILE_STIFFNESS,
        damping_nspm: FILE_DAMPING,
    };
    grid.lattice("hex".to_owned(), FILE_MASS, &top, &bottom, &link)
}

/// The topology of a sheet: which atom is where in the list, and who is linked to whom.
struct Grid {
    columns: u32,
    rows: u32,
}

impl Grid {
    fn lattice(
        &self,
        name: String,
        mass_kg: f64,
        top: &dyn Fn(u32, u32) -> Vec3,
        bottom: &dyn Fn(u32, u32) -> Vec3,
        link: &dyn Fn([u32; 2], bool) -> Link,
    ) -> Lattice {
        let places = |rows: u32, count: &dyn Fn(u32) -> u32, place: &dyn Fn(u32, u32) -> Vec3| {
            let cells = (0..rows).flat_map(|row| (0..count(row)).map(move |i| (row, i)));
            cells.map(|(row, i)| place(row, i)).collect::<Vec<_>>()
        };
        let tops = places(self.rows, &|row| self.top_count(row), top);
        let bottoms = places(self.rows - 1, &|row| self.bottom_count(row), bottom);
        let atom = |fixed, surface| {
            move |&position_m: &Vec3| Atom {
                position_m,
                mass_kg,
                fixed,
                surface,
            }
        };
        let mut atoms = Vec::with_capacity(2 * tops.len() + bottoms.len());
        atoms.extend(tops.iter().map(atom(false, true)));
        atoms.extend(tops.iter().map(atom(true, false)));
        atoms.extend(bottoms.iter().map(atom(false, false)));
        let mut links = Vec::new();
        self.for_links(&mut |atoms, home| links.push(link(atoms, home)));
        Lattice {
            name,
            atoms,
            links,
            faces: self.faces(),
        }
    }

    fn top_count(&self, row: u32) -> u32 {
        self.columns + row % 2
    }

    fn bottom_count(&self, row: u32) -> u32 {
        self.columns - 1 + row % 2
    }

    /// Atoms in the rows before `row`, of layers with `even` atoms in row 0 and one more in row 1.
    fn before(even: u32, row: u32) -> u32 {
        even * row + row / 2
    }

    fn top(&self, row: u32, column: u32) -> u32 {
        Self::before(self.columns, row) + column
    }

    fn bottom(&self, row: u32, column: u32) -> u32 {
        2 * self.surface() + Self::before(self.columns - 1, row) + column
    }

    fn surface(&self) -> u32 {
        Self::before(self.columns, self.rows)
    }

    fn for_links(&self, add: &mut dyn FnMut([u32; 2], bool)) {
        Self::layer(
            self.rows,
            &|row| self.top_count(row),
            &|row, i| self.top(row, i),
            add,
        );
        for atom in 0..self.surface() {
            add([atom, self.surface() + atom], true);
        }
        for row in 0..self.rows - 1 {
            for i in 0..self.bottom_count(row) {
                let apex = self.bottom(row, i);
                let foot = self.top(row + 1, i + 1 - row % 2);
                for atom in [self.top(row, i), self.top(row, i + 1), foot] {
                    add([apex, atom], false);
                }
            }
        }
        let lower = self.rows - 1;
        Self::layer(
            lower,
            &|row| self.bottom_count(row),
            &|row, i| self.bottom(row, i),
            add,
        );
    }

    /// The links inside one layer: along each row, then to the two neighbours in the next row.
    fn layer(
        rows: u32,
        count: &dyn Fn(u32) -> u32,
        at: &dyn Fn(u32, u32) -> u32,
        add: &mut dyn FnMut([u32; 2], bool),
    ) {
        for row in 0..rows {
            for i in 1..count(row) {
                add([at(row, i - 1), at(row, i)], false);
            }
        }
        for row in 1..rows {
            for i in 0..count(row - 1) {
                // The next row starts half an edge before an even row, behind an odd one.
                let first = i64::from(i) - i64::from((row - 1) % 2);
                for column in [first, first + 1] {
                    let column = u32::try_from(column)
                        .ok()
                        .filter(|&column| column < count(row));
                    if let Some(column) = column {
                        add([at(row - 1, i), at(row, column)], false);
                    }
                }
            }
        }
    }

    fn faces(&self) -> Vec<Face> {
        let mut faces = Vec::new();
        for row in 0..self.rows - 1 {
            let odd = row % 2;
            for i in 0..self.bottom_count(row) {
                faces.push([
                    self.top(row, i),
                    self.top(row, i + 1),
                    self.top(row + 1, i + 1 - odd),
                ]);
            }
            for i in 1..self.top_count(row + 1) {
                // Points down: two atoms of the next row and the one of this row between them.
                let column = if odd == 0 { i - 1 } else { i };
                faces.push([
                    self.top(row + 1, i),
                    self.top(row + 1, i - 1),
                    self.top(row, column),
                ]);
            }
        }
        faces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(lattice: &Lattice) -> Vec<f64> {
        let at = |atom: u32| lattice.atoms[atom as usize].position_m;
        lattice
            .links
            .iter()
            .map(|link| (at(link.atoms[0]) - at(link.atoms[1])).norm())
            .collect()
    }

    #[test]
    fn s4_56_counts_of_the_data_set() {
        for lattice in [printed(), regular()] {
            assert_eq!(lattice.atoms.len(), 58);
            assert_eq!(lattice.links.len(), 141);
            assert_eq!(lattice.faces.len(), 28);
            assert_eq!(lattice.surface_count(), 22);
            assert_eq!(lattice.atoms.iter().filter(|atom| atom.fixed).count(), 22);
            assert_eq!(
                lengths(&lattice)
                    .iter()
                    .filter(|&&length| length == 0.0)
                    .count(),
                22
            );
        }
    }

    #[test]
    fn regular_edges_are_one_and_printed_ones_are_skewed() {
        let homeless = |lattice: &Lattice| {
            lengths(lattice)
                .into_iter()
                .filter(|&length| length > 0.0)
                .collect::<Vec<_>>()
        };
        assert!(
            homeless(&regular())
                .iter()
                .all(|length| (length - 1.0).abs() < 1e-3)
        );
        let skewed = homeless(&printed());
        let near = |target: f64| {
            skewed
                .iter()
                .filter(|&&l| (l - target).abs() < 2e-3)
                .count()
        };
        assert_eq!(
            [near(0.867), near(1.118), near(1.323), near(1.0)],
            [14, 14, 14, 77]
        );
    }

    #[test]
    fn faces_look_up_and_cover_the_footprint() {
        let lattice = regular();
        let mut area = 0.0;
        for face in &lattice.faces {
            let [a, b, c] = face.map(|atom| lattice.atoms[atom as usize].position_m);
            let twice = (b - a).cross(&(c - a));
            assert!(twice.z > 0.0, "{face:?} looks down");
            area += 0.5 * twice.z;
        }
        assert!((area - 28.0 * 0.433).abs() < 1e-9);
    }

    #[test]
    fn a_sheet_is_centred_and_has_the_counts_of_the_window_benchmark() {
        let lattice = sheet(&SheetParams {
            columns: 20,
            rows: 24,
            edge_m: 0.01,
            depth_ratio: (2.0_f64 / 3.0).sqrt(),
            mass_kg: 0.01,
            stiffness_npm: 100.0,
            damping_nspm: 1.0,
            home_stiffness_npm: 50.0,
            home_damping_nspm: 0.5,
        });
        assert_eq!((lattice.atoms.len(), lattice.links.len()), (1432, 4485));
        let surface = &lattice.atoms[..lattice.surface_count()];
        let (low, high) = surface
            .iter()
            .fold((Vec3::zeros(), Vec3::zeros()), |(low, high), a| {
                (low.inf(&a.position_m), high.sup(&a.position_m))
            });
        assert!((low + high).norm() < 1e-12);
        assert!((high.x - 0.1).abs() < 1e-12);
        for (link, length) in lattice.links.iter().zip(lengths(&lattice)) {
            let (home, right) = (length == 0.0, if length == 0.0 { 50.0 } else { 100.0 });
            assert!(
                home || (length - 0.01).abs() < 1e-12,
                "{link:?} is {length} m long"
            );
            assert_eq!(link.stiffness_npm, right);
        }
    }
}
