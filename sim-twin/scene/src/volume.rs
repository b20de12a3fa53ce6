//! Scenes of a mesh file: a body of any shape, with a material for every group of its cells.
//!
//! Source: ours. The file's cells become tetrahedra with ten nodes (hexahedra are cut) for the implicit
//! solver. `[mesh]` says which file, in which unit, what of it is held and, if it is not to be centred,
//! where it is; every `[[region]]` what a group of cells is made of.

use serde::Deserialize;

use super::block::{BlockError, MaterialText, wrong};
use super::law::LawText;
use super::{Lump, Read};
use palpate_fem::implicit::{Implicit, ImplicitError, Matter, Params, Viscosity};
use palpate_geometry::mesh::defect::Finding;
use palpate_geometry::mesh::file;
use palpate_geometry::mesh::file::{FORMATS, Format, MeshError};
use palpate_geometry::mesh::quadratic::Quadratic;
use palpate_geometry::mesh::{Parts, TetMesh, Units};
use palpate_twin::Vec3;
use palpate_twin::law::viscous::ViscousError;
use palpate_twin::law::{Family, Material, Moduli};

/// Most tetrahedra: a bound on what a wrong file can allocate.
const CELLS_MAX: usize = 100_000;
/// Height over the lowest node, as a share of the body's extent, up to which a node is at the bottom.
const BOTTOM: f64 = 1e-6;

/// A material of some cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Number of the group of cells in the file, 0 for cells without one.
    pub group: u32,
    /// What it is made of.
    pub material: Material,
    /// Whether it is what a palpation should find.
    pub is_lump: bool,
}

/// A body from a mesh file.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// Its cells, in the frame of the scene; the region of a cell is an index of `parts`.
    pub mesh: Quadratic,
    /// Whether a node of the mesh is held.
    pub held: Vec<bool>,
    /// Its materials.
    pub parts: Vec<Part>,
    /// Law of all of them.
    pub law: Family,
    /// Choices of the solver.
    pub params: Params,
}

/// Why there is no such body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VolumeError {
    /// A field of the scene is out of its range.
    #[error(transparent)]
    Field(#[from] BlockError),
    /// The file cannot be read.
    #[error("scene field `mesh.file` is {file}: {message}; expected a mesh file beside the scene")]
    File {
        /// As the scene names it.
        file: String,
        /// Why not.
        message: String,
    },
    /// The file is no mesh.
    #[error("{file}: {source}")]
    Mesh {
        /// As the scene names it.
        file: String,
        /// What is wrong.
        source: MeshError,
    },
    /// The mesh is unfit.
    #[error("{file}: {source}; `palpate model validate` lists all that is wrong")]
    Unfit {
        /// As the scene names it.
        file: String,
        /// What is wrong.
        source: Finding,
    },
    /// What is viscous of a material is unfit.
    #[error(transparent)]
    Viscosity(#[from] ViscousError),
    /// The solver refuses it.
    #[error(transparent)]
    Solver(#[from] ImplicitError),
}

impl Volume {
    /// Its solver, at rest.
    ///
    /// # Errors
    /// If the solver refuses it.
    pub fn solver(&self) -> Result<Implicit, VolumeError> {
        let regions = self.mesh.regions.iter();
        let materials: Vec<Material> = regions
            .map(|&part| self.parts[part as usize].material)
            .collect();
        let moduli: Vec<Moduli> = materials.iter().map(Material::moduli).collect();
        let densities: Vec<f64> = materials.iter().map(Material::density_kgpm3).collect();
        let viscous: Vec<_> = materials.iter().map(Material::viscosity).collect();
        let viscosities = Viscosity::of_cells(&viscous)?;
        let matter = Matter {
            family: self.law,
            moduli: &moduli,
            densities_kgpm3: &densities,
            viscosities: &viscosities,
        };
        let tissue = Implicit::of_tets(&self.mesh, &matter, &self.held, &self.params)?;
        Ok(tissue)
    }

    /// Number of cells of a part, and their volume \[m^3\].
    #[must_use]
    pub fn amount(&self, part: usize) -> (usize, f64) {
        let corners = self.mesh.corners();
        let own = corners.cells.regions.iter().enumerate();
        let own = own.filter(|(_, region)| **region as usize == part);
        own.fold((0, 0.0), |(cells, volume_m3), (cell, _)| {
            (cells + 1, volume_m3 + corners.volume_m3(cell))
        })
    }

    /// Lumps as seen from above, with their stiffness over that of the largest other part.
    #[must_use]
    pub fn lumps(&self) -> Vec<Lump> {
        let others = (0..self.parts.len()).filter(|&part| !self.parts[part].is_lump);
        let volumes = others.map(|part| (part, self.amount(part).1));
        let host = volumes.reduce(|a, b| if b.1 > a.1 { b } else { a });
        let Some((host, _)) = host else {
            return Vec::new();
        };
        let host_pa = self.parts[host].material.young_pa();
        let lumps = self
            .parts
            .iter()
            .enumerate()
            .filter(|(_, part)| part.is_lump);
        lumps
            .map(|(part, lump)| {
                let (center_m, radius_m) = self.outline(part);
                Lump {
                    center_m,
                    radius_m,
                    factor: lump.material.young_pa() / host_pa,
                }
            })
            .collect()
    }

    /// Middle of a part and its farthest node from there, as seen from above \[m\].
    fn outline(&self, part: usize) -> ([f64; 2], f64) {
        let cells = self.mesh.cells.iter().zip(&self.mesh.regions);
        let own = || {
            let own = cells
                .clone()
                .filter(|(_, region)| **region as usize == part);
            own.flat_map(|(cell, _)| cell.map(|node| self.mesh.nodes_m[node as usize].xy()))
        };
        let first = own().next().unwrap_or_default();
        let spread = |(low, high): (nalgebra::Vector2<f64>, _), at_m| {
            (low.inf(&at_m), nalgebra::Vector2::sup(&high, &at_m))
        };
        let (low_m, high_m) = own().fold((first, first), spread);
        let middle_m = (low_m + high_m) * 0.5;
        let radius_m = own()
            .map(|at_m| (at_m - middle_m).norm())
            .fold(0.0, f64::max);
        (middle_m.into(), radius_m)
    }

    /// Lowest and highest corner of the box around it \[m\].
    #[must_use]
    pub fn corners_m(&self) -> [Vec3; 2] {
        bounds_m(&self.mesh.nodes_m)
    }

    /// Its cells as a file holds them, with the names of its parts as regions from 1.
    #[must_use]
    pub fn to_parts(&self) -> Parts {
        let mut parts = self.mesh.corners().to_parts();
        parts
            .tets
            .regions
            .iter_mut()
            .for_each(|region| *region += 1);
        let names = self.parts.iter().map(|part| part.name.clone());
        parts.names = (1..).map(|number| (3, number)).zip(names).collect();
        parts
    }
}

fn bounds_m(nodes_m: &[Vec3]) -> [Vec3; 2] {
    let first = nodes_m.first().copied().unwrap_or_default();
    let spread = |[low, high]: [Vec3; 2], at_m: &Vec3| [low.inf(at_m), high.sup(at_m)];
    nodes_m.iter().fold([first; 2], spread)
}

/// The table `[mesh]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeshText {
    /// Path from the scene's folder.
    file: String,
    unit: Unit,
    /// `bottom`, the name or number of a group, `{ below_m = z }`, or a list of them.
    fixed: toml::Value,
    /// Where the origin of the file goes; centred under the origin of the scene if it is left out.
    shift_m: Option<[f64; 3]>,
    law: Option<String>,
    mooney_second: Option<f64>,
    fung_growth: Option<f64>,
    damping_hz: Option<f64>,
    contact_stiffness: Option<f64>,
}

/// What one unit of length of the file is; files do not say, so it is never guessed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    M,
    Cm,
    Mm,
    Inch,
}

impl Unit {
    fn units(self) -> Units {
        match self {
            Self::M => Units::SI,
            Self::Cm => Units::CENTIMETRE_NEWTON,
            Self::Mm => Units::MILLIMETRE_NEWTON,
            Self::Inch => Units::INCH_NEWTON,
        }
    }
}

/// An entry of `[[region]]`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RegionText {
    /// Name of the group in the file, or of the region if `id` says which group it is.
    name: Option<String>,
    /// Number of the group.
    id: Option<u32>,
    #[serde(default)]
    lump: bool,
    /// All other keys, as those of a layer.
    #[serde(flatten)]
    material: toml::Table,
}

impl MeshText {
    pub(super) fn volume(
        &self,
        regions: &[RegionText],
        read: Read<'_>,
    ) -> Result<Volume, VolumeError> {
        let law = LawText {
            table: "mesh",
            law: self.law.as_deref(),
            mooney_second: self.mooney_second,
            fung_growth: self.fung_growth,
        };
        let (law, ours) = (law.family()?, Params::default());
        let parts_of_file = self.parts(read)?;
        let tets = TetMesh::from_parts(&parts_of_file);
        let mut mesh = Quadratic::new(&tets);
        if let Err(source) = mesh.corners().check() {
            let file = self.file.clone();
            return Err(VolumeError::Unfit { file, source });
        }
        let shift_m = self.shift_m(&mesh)?;
        mesh.nodes_m.iter_mut().for_each(|at_m| *at_m += shift_m);
        let parts = self.materials(regions, &parts_of_file, &mut mesh)?;
        let mut held = vec![false; mesh.nodes_m.len()];
        let place = Place {
            file: &parts_of_file,
            tets: &tets,
            shift_m,
        };
        hold(&self.fixed, "mesh.fixed", place, &mesh, &mut held)?;
        let volume = Volume {
            held,
            mesh,
            parts,
            law,
            params: Params {
                damping_hz: self.damping_hz.unwrap_or(ours.damping_hz),
                contact_stiffness: self.contact_stiffness.unwrap_or(ours.contact_stiffness),
                ..ours
            },
        };
        // built once here, so that a scene that loads can also be built
        volume.solver()?;
        Ok(volume)
    }

    /// What the file holds, in metres, if it has cells.
    fn parts(&self, read: Read<'_>) -> Result<Parts, VolumeError> {
        let field = || "mesh.file".to_owned();
        let ending = self.file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let Some(format) = Format::of_extension(ending) else {
            let endings = FORMATS.map(|format| format!(".{}", format.extension()));
            let expected = format!("a name that ends in {}", endings.join(", "));
            return Err(wrong(field(), &self.file, &expected).into());
        };
        let bytes = read(&self.file).map_err(|message| VolumeError::File {
            file: self.file.clone(),
            message,
        })?;
        let parts = file::read(format, &bytes, &self.unit.units());
        let parts = parts.map_err(|source| VolumeError::Mesh {
            file: self.file.clone(),
            source,
        })?;
        let cells = parts.tets.len() + 6 * parts.hexes.len();
        if cells == 0 {
            let found = format!(
                "{}, with {} triangles and no cells",
                self.file,
                parts.triangles.len()
            );
            let expected = "a file with tetrahedra or hexahedra: a surface has no inside; fill it with \
                            a mesher such as Gmsh or TetGen and export .msh or .vtu";
            return Err(wrong(field(), found, expected).into());
        }
        if cells > CELLS_MAX {
            let found = format!("{}, with {cells} tetrahedra", self.file);
            let expected = format!("at most {CELLS_MAX}");
            return Err(wrong(field(), found, &expected).into());
        }
        Ok(parts)
    }

    /// Where the file's origin goes: the middle of the box over the origin of the scene, with the top of
    /// the body there at z = 0.
    fn shift_m(&self, mesh: &Quadratic) -> Result<Vec3, BlockError> {
        if let Some(shift_m) = self.shift_m {
            if shift_m.iter().all(|x| x.is_finite()) {
                return Ok(shift_m.into());
            }
            return Err(wrong(
                "mesh.shift_m".into(),
                format!("{shift_m:?}"),
                "finite numbers",
            ));
        }
        let [low_m, high_m] = bounds_m(&mesh.nodes_m);
        let middle_m = (low_m + high_m) * 0.5;
        let heights_m = mesh.faces.iter().filter_map(|face| {
            let corners_m = [0, 1, 2].map(|corner| mesh.nodes_m[face[corner] as usize] - middle_m);
            height_m(corners_m)
        });
        let Some(top_m) = heights_m.reduce(f64::max) else {
            let expected =
                "a place for the origin of the file: nothing is under the middle of its box";
            return Err(wrong("mesh.shift_m".into(), "missing", expected));
        };
        Ok(-middle_m - Vec3::z() * top_m)
    }

    /// One material for every group; the regions of `mesh` become their indices.
    fn materials(
        &self,
        texts: &[RegionText],
        file: &Parts,
        mesh: &mut Quadratic,
    ) -> Result<Vec<Part>, VolumeError> {
        let mut found = mesh.regions.clone();
        found.sort_unstable();
        found.dedup();
        let mut parts: Vec<Part> = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let field = format!("region[{index}]");
            let part = text.part(&field, file, &found)?;
            if parts.iter().any(|other| other.group == part.group) {
                let expected = "one [[region]] for a group";
                let again = format!("group {} again", part.group);
                return Err(wrong(field, again, expected).into());
            }
            parts.push(part);
        }
        for group in &found {
            if !parts.iter().any(|part| part.group == *group) {
                let own = mesh.regions.iter().filter(|region| *region == group);
                let cells = own.count();
                let value = format!("missing for {} of {cells} cells", named(file, *group));
                let expected = format!("a [[region]] with `id = {group}` or its name");
                return Err(wrong("region".into(), value, &expected).into());
            }
        }
        for region in &mut mesh.regions {
            let index = parts.iter().position(|part| part.group == *region);
            *region = index.unwrap_or_default() as u32;
        }
        Ok(parts)
    }
}

/// Marks the nodes that `what` names; those between corners if both ends of their edge are of one
/// and the same name.
fn hold(
    what: &toml::Value,
    field: &str,
    place: Place<'_>,
    mesh: &Quadratic,
    held: &mut [bool],
) -> Result<(), BlockError> {
    if let toml::Value::Array(list) = what
        && !list.is_empty()
    {
        for (index, one) in list.iter().enumerate() {
            hold(one, &format!("{field}[{index}]"), place, mesh, held)?;
        }
        return Ok(());
    }
    let own = mesh.spread(&corners(what, field, place)?);
    let mut more = false;
    for (held, own) in held.iter_mut().zip(own) {
        more |= own && !*held;
        *held |= own;
    }
    if more {
        return Ok(());
    }
    let expected = format!(
        "something of the body that is not held yet; groups: {}",
        names(place.file)
    );
    Err(wrong(field.to_owned(), what, &expected))
}

/// A file, its tetrahedra, and how far these are moved to where the body is.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Parts,
    tets: &'a TetMesh,
    shift_m: Vec3,
}

/// Nodes of the file that one name of what is held means.
fn corners(what: &toml::Value, field: &str, place: Place<'_>) -> Result<Vec<bool>, BlockError> {
    let Place {
        file,
        tets,
        shift_m,
    } = place;
    let used = || tets.cells.nodes.iter().flatten().copied();
    let z_m = |node: u32| tets.nodes_m[node as usize].z + shift_m.z;
    let below = |limit_m: f64| {
        let mut held = vec![false; tets.nodes_m.len()];
        let low = used().filter(|&node| z_m(node) <= limit_m);
        low.for_each(|node| held[node as usize] = true);
        held
    };
    match what {
        toml::Value::String(name) if name == "bottom" && group(file, name).is_none() => {
            let lowest_m = used().map(z_m).fold(f64::MAX, f64::min);
            Ok(below(lowest_m + BOTTOM * file.size_m().max()))
        }
        toml::Value::String(name) => {
            let (dimension, number) = group(file, name).ok_or_else(|| {
                let expected = format!("`bottom`, or the name of a group: {}", names(file));
                wrong(field.to_owned(), name, &expected)
            })?;
            Ok(of_group(file, dimension, number))
        }
        toml::Value::Integer(number) => {
            let number = u32::try_from(*number).unwrap_or(u32::MAX);
            let surface = file.triangles.regions.contains(&number);
            Ok(of_group(file, if surface { 2 } else { 3 }, number))
        }
        toml::Value::Table(table) if table.len() == 1 && table.contains_key("below_m") => {
            let limit_m = table.get("below_m").and_then(number).ok_or_else(|| {
                let value = table.get("below_m").map(ToString::to_string);
                let value = value.unwrap_or_default();
                wrong(format!("{field}.below_m"), value, "a finite number")
            })?;
            Ok(below(limit_m))
        }
        other => {
            let expected =
                "`bottom`, the name or number of a group, { below_m = z }, or a list of them";
            Err(wrong(field.to_owned(), other, expected))
        }
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    let whole = value.as_integer().map(|whole| whole as f64);
    let number = value.as_float().or(whole);
    number.filter(|number| number.is_finite())
}

/// Dimension and number of the group of that name.
fn group(file: &Parts, name: &str) -> Option<(u8, u32)> {
    let mut known = file.names.iter().filter(|(key, _)| key.0 >= 2);
    known.find(|(_, known)| *known == name).map(|(key, _)| *key)
}

/// Nodes of a group of triangles or of cells.
fn of_group(file: &Parts, dimension: u8, number: u32) -> Vec<bool> {
    let mut held = vec![false; file.nodes_m.len()];
    let mut mark = |nodes: &[u32], region: u32| {
        for &node in nodes.iter().filter(|_| region == number) {
            held[node as usize] = true;
        }
    };
    if dimension == 2 {
        let all = file.triangles.iter();
        all.for_each(|(nodes, region)| mark(nodes, region));
    } else {
        let all = file.tets.iter();
        all.for_each(|(nodes, region)| mark(nodes, region));
        let all = file.hexes.iter();
        all.for_each(|(nodes, region)| mark(nodes, region));
    }
    held
}

/// A group of cells by number and name.
fn named(file: &Parts, group: u32) -> String {
    match file.names.get(&(3, group)) {
        Some(name) => format!("group {group} \"{name}\""),
        None => format!("group {group}"),
    }
}

/// All named groups, for messages.
fn names(file: &Parts) -> String {
    let known = file.names.iter().filter(|(key, _)| key.0 >= 2);
    let names: Vec<&str> = known.map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        return "the file names none".to_owned();
    }
    names.join(", ")
}

impl RegionText {
    fn part(&self, field: &str, file: &Parts, found: &[u32]) -> Result<Part, BlockError> {
        let list = || {
            let groups = found.iter().map(|group| named(file, *group));
            groups.collect::<Vec<_>>().join(", ")
        };
        let by_name = self.name.as_deref().and_then(|name| {
            let mut known = file.names.iter().filter(|(key, _)| key.0 == 3);
            known
                .find(|(_, known)| *known == name)
                .map(|(key, _)| key.1)
        });
        // a file without groups needs no telling which
        let only = match found {
            [0] => Some(0),
            _ => None,
        };
        let Some(group) = self.id.or(by_name).or(only) else {
            let value = self.name.as_deref().unwrap_or("missing");
            let expected = format!(
                "the name of a group of cells, or its number as `id`: {}",
                list()
            );
            return Err(wrong(format!("{field}.name"), value, &expected));
        };
        if !found.contains(&group) {
            let expected = format!("a group of cells: {}", list());
            return Err(wrong(format!("{field}.id"), group, &expected));
        }
        let stuff = MaterialText::read(&self.material, field, "`name`, `id` and `lump`")?;
        let name = self.name.clone().or(file.names.get(&(3, group)).cloned());
        Ok(Part {
            name: name.unwrap_or_else(|| field.to_owned()),
            group,
            material: stuff.material(field)?,
            is_lump: self.lump,
        })
    }
}

/// Height at which a triangle is met by the z axis \[m\]; none if it is not, or stands upright.
fn height_m(corners_m: [Vec3; 3]) -> Option<f64> {
    let [a, b, c] = corners_m;
    let side = |p: &Vec3, q: &Vec3| p.x * q.y - p.y * q.x;
    let shares = [side(&b, &c), side(&c, &a), side(&a, &b)];
    let whole: f64 = shares.iter().sum();
    let inside = whole != 0.0 && shares.iter().all(|share| share / whole >= -1e-12);
    let sum = shares
        .iter()
        .zip(corners_m)
        .map(|(share, at_m)| share * at_m.z)
        .sum::<f64>();
    inside.then(|| sum / whole)
}

#[cfg(test)]
mod tests;
