//! Sheets one tetrahedron thick on a triangular grid: the data set of seed-004 and sheets of the same kind.
//!
//! Source: seed-004 3.9 (rows S4-05, S4-06, S4-56). A surface layer of rows that are shifted by
//! half an edge against each other, one lower atom under every upright surface triangle, and one
//! fixed home atom at the rest point of every surface atom. Atoms come in that order of the file:
//! surface, homes, lower layer.

use serde::Deserialize;

use crate::Vec3;
use crate::lattice::{Atom, Face, Lattice, LatticeLink};

/// Stiffness of every link of the data set \[file force unit / file length unit\] (N09).
pub(crate) const FILE_STIFFNESS: f64 = 15.0;
/// Damping of every link of the data set \[file force unit s / file length unit\] (N09).
const FILE_DAMPING: f64 = 0.2;
/// Mass of every atom of the data set \[file mass unit\] (N09).
pub(crate) const FILE_MASS: f64 = 0.002;

/// A sheet that [`sheet`] builds, in SI units, as the table `[sheet]` of a scene gives it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// Builds a sheet of the same kind, of any size, in SI units.
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
    let of_tissue = [params.stiffness_npm, params.damping_nspm];
    let of_homes = [params.home_stiffness_npm, params.home_damping_nspm];
    let link = |atoms, home| {
        let [stiffness_npm, damping_nspm] = if home { of_homes } else { of_tissue };
        LatticeLink {
            atoms,
            stiffness_npm,
            damping_nspm,
        }
    };
    let name = format!("hex_{}x{}_home", grid.columns, grid.rows);
    grid.lattice(name, params.mass_kg, &top, &bottom, &link)
}

/// The 4 x 5 sheet in file units; `shift` moves the lower layer along x \[1/1000 edge\].
fn hex_4x5(shift: u32) -> Lattice {
    let grid = Grid {
        columns: 4,
        rows: 5,
    };
    // Integer thousandths divided once equal the doubles of the decimal text.
    let milli = |count: u32| f64::from(count) / 1000.0;
    let indent = |row: u32| if row.is_multiple_of(2) { 500 } else { 0 };
    let top = |row: u32, column: u32| {
        Vec3::new(milli(1000 * column + indent(row)), milli(866 * row), 0.0)
    };
    let bottom = |row: u32, column: u32| {
        let x = milli(1000 * column + indent(row) + shift);
        Vec3::new(x, milli(866 * row + 289), -0.817)
    };
    let link = |atoms, _home| LatticeLink {
        atoms,
        stiffness_npm: FILE_STIFFNESS,
        damping_nspm: FILE_DAMPING,
    };
    grid.lattice("hex".to_owned(), FILE_MASS, &top, &bottom, &link)
}

/// Layer of rows; odd rows have one atom more than even rows.
struct Layer {
    rows: u32,
    /// Atoms of an even row.
    even: u32,
    /// Index of its first atom in the lattice.
    first: u32,
}

impl Layer {
    /// Atoms of a row.
    fn count(&self, row: u32) -> u32 {
        self.even + row % 2
    }

    /// Index of an atom in the lattice.
    fn at(&self, row: u32, column: u32) -> u32 {
        self.first + self.even * row + row / 2 + column
    }

    fn places(&self, place: &dyn Fn(u32, u32) -> Vec3) -> Vec<Vec3> {
        let row = |row| (0..self.count(row)).map(move |column| place(row, column));
        (0..self.rows).flat_map(row).collect()
    }

    /// Visits its links: along each row, then to the two neighbours in the next row.
    fn for_links(&self, add: &mut dyn FnMut([u32; 2], bool)) {
        for row in 0..self.rows {
            for i in 1..self.count(row) {
                add([self.at(row, i - 1), self.at(row, i)], false);
            }
        }
        for row in 1..self.rows {
            for i in 0..self.count(row - 1) {
                // The next row starts half an edge before an even row, behind an odd one.
                let first = i64::from(i) - i64::from((row - 1) % 2);
                let columns = [first, first + 1].map(u32::try_from).into_iter().flatten();
                for column in columns.filter(|&column| column < self.count(row)) {
                    add([self.at(row - 1, i), self.at(row, column)], false);
                }
            }
        }
    }
}

/// Topology of a sheet: order of the atoms, and links between them.
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
        link: &dyn Fn([u32; 2], bool) -> LatticeLink,
    ) -> Lattice {
        let layers = self.layers();
        let (tops, bottoms) = (layers[0].places(top), layers[1].places(bottom));
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
        Self::for_links(&layers, &mut |atoms, home| links.push(link(atoms, home)));
        Lattice {
            name,
            atoms,
            links,
            faces: Self::faces(&layers),
        }
    }

    /// The surface and the layer below it; the homes of the surface stand between them in the list.
    fn layers(&self) -> [Layer; 2] {
        let top = Layer {
            rows: self.rows,
            even: self.columns,
            first: 0,
        };
        let bottom = Layer {
            rows: self.rows - 1,
            even: self.columns - 1,
            first: 2 * top.at(self.rows, 0),
        };
        [top, bottom]
    }

    fn for_links(layers: &[Layer; 2], add: &mut dyn FnMut([u32; 2], bool)) {
        let [top, bottom] = layers;
        top.for_links(add);
        let surface = bottom.first / 2;
        for atom in 0..surface {
            add([atom, surface + atom], true);
        }
        for row in 0..bottom.rows {
            for i in 0..bottom.count(row) {
                let foot = top.at(row + 1, i + 1 - row % 2);
                for atom in [top.at(row, i), top.at(row, i + 1), foot] {
                    add([bottom.at(row, i), atom], false);
                }
            }
        }
        bottom.for_links(add);
    }

    fn faces(layers: &[Layer; 2]) -> Vec<Face> {
        let [top, bottom] = layers;
        let mut faces = Vec::new();
        for row in 0..bottom.rows {
            let odd = row % 2;
            for i in 0..bottom.count(row) {
                let foot = top.at(row + 1, i + 1 - odd);
                faces.push([top.at(row, i), top.at(row, i + 1), foot]);
            }
            for i in 1..top.count(row + 1) {
                // Points down: two atoms of the next row and the one of this row between them.
                let between = top.at(row, i - 1 + odd);
                faces.push([top.at(row + 1, i), top.at(row + 1, i - 1), between]);
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
    fn faces_point_up_and_cover_the_footprint() {
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
