//! Scenes of a mesh file: a body of any shape, with a material for every group of its cells.
//!
//! Source: ours. The file's cells become tetrahedra with ten nodes (hexahedra are cut) for the implicit
//! solver. `[mesh]` has the file, its unit, the fixed nodes and, if it is not to be centred,
//! its position; every `[[region]]` has the material of a group of cells.

use serde::Deserialize;

use super::law::LawText;
use super::layered::{LayerMaterial as _, MaterialEntry};
use super::text::field_error;
use super::{Lump, SceneError, SceneFileReader};
use palpate_fem::implicit::{ImplicitParams, ImplicitTissue};
use palpate_geometry::mesh::file;
use palpate_geometry::mesh::file::MeshFormat;
use palpate_geometry::mesh::mesh_check;
use palpate_geometry::mesh::quadratic::QuadraticTetMesh;
use palpate_geometry::mesh::{MixedMesh, Units, bounds_m};
use palpate_twin::Vec3;
use palpate_twin::law::{CellMaterial, LawFamily, Material};

/// Most tetrahedra: a bound on the memory of a wrong file.
const CELLS_MAX: usize = 100_000;
/// Height above the lowest node, over the body's extent, below which a node is at the bottom.
const BOTTOM: f64 = 1e-6;

/// Material of a group of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshMaterial {
    /// Its name.
    pub name: String,
    /// Number of the group of cells in the file, 0 for cells without one.
    pub group: u32,
    /// Material.
    pub material: Material,
    /// True for a lump that a palpation should find.
    pub is_lump: bool,
}

/// Body from a mesh file.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshBody {
    /// Its cells, in the frame of the scene; the region of a cell is an index of `materials`.
    pub mesh: QuadraticTetMesh,
    /// True for each node of the mesh that is fixed.
    pub fixed: Vec<bool>,
    /// Its materials.
    pub materials: Vec<MeshMaterial>,
    /// Law of materials that have none of their own.
    pub law: LawFamily,
    /// Parameters of the solver.
    pub params: ImplicitParams,
}

impl MeshBody {
    /// Creates its solver, at rest.
    ///
    /// # Errors
    /// If the solver refuses it.
    pub fn solver(&self) -> Result<ImplicitTissue, SceneError> {
        let regions = self.mesh.regions.iter();
        let cell_materials: Vec<CellMaterial> = regions
            .map(|&part| self.materials[part as usize].material.cell_material())
            .collect();
        let tissue = ImplicitTissue::of_tets(
            &self.mesh,
            &self.fixed,
            self.law,
            &cell_materials,
            &self.params,
        )?;
        Ok(tissue)
    }

    /// Number of cells of a material, and their volume \[m^3\].
    #[must_use]
    pub fn material_amount(&self, part: usize) -> (usize, f64) {
        let corners = self.mesh.corners();
        let own = corners.tets.regions.iter().enumerate();
        let own = own.filter(|(_, region)| **region as usize == part);
        own.fold((0, 0.0), |(cells, volume_m3), (cell, _)| {
            (cells + 1, volume_m3 + corners.tet_m3(cell))
        })
    }

    /// Lumps as seen from above, with their stiffness over that of the largest other material.
    #[must_use]
    pub fn lumps(&self) -> Vec<Lump> {
        let others = (0..self.materials.len()).filter(|&part| !self.materials[part].is_lump);
        let volumes = others.map(|part| (part, self.material_amount(part).1));
        let host = volumes.reduce(|a, b| if b.1 > a.1 { b } else { a });
        let Some((host, _)) = host else {
            return Vec::new();
        };
        let host_pa = self.materials[host].material.young_pa();
        let lumps = self
            .materials
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

    /// Centre of a material's cells and the largest distance of its nodes from there, as seen from above \[m\].
    fn outline(&self, part: usize) -> ([f64; 2], f64) {
        let cells = self.mesh.cells.iter().zip(&self.mesh.regions);
        let own = || {
            let own = cells
                .clone()
                .filter(|(_, region)| **region as usize == part);
            own.flat_map(|(cell, _)| cell.map(|node| self.mesh.nodes_m[node as usize]))
        };
        let [low_m, high_m] = bounds_m(own());
        let middle_m = ((low_m + high_m) * 0.5).xy();
        let radius_m = own()
            .map(|at_m| (at_m.xy() - middle_m).norm())
            .fold(0.0, f64::max);
        (middle_m.into(), radius_m)
    }

    /// Lowest and highest corner of the box around it \[m\].
    #[must_use]
    pub fn corners_m(&self) -> [Vec3; 2] {
        bounds_m(self.mesh.nodes_m.iter().copied())
    }

    /// Its cells in the form of a file, with the names of its materials as regions from 1.
    #[must_use]
    pub fn to_mixed_mesh(&self) -> MixedMesh {
        let mut parts = self.mesh.corners();
        parts
            .tets
            .regions
            .iter_mut()
            .for_each(|region| *region += 1);
        parts.name_cells(self.materials.iter().map(|part| part.name.clone()));
        parts
    }
}

/// Table `[mesh]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeshText {
    /// Path from the scene's folder.
    file: String,
    unit: Unit,
    /// `bottom`, the name or number of a group, `{ below_m = z }`, or a list of them.
    fixed: toml::Value,
    /// Position of the file's origin; without it, the body is centred under the origin of the scene.
    shift_m: Option<[f64; 3]>,
    law: Option<String>,
    mooney_second: Option<f64>,
    fung_growth: Option<f64>,
    yeoh: Option<[f64; 2]>,
    ogden: Option<Vec<[f64; 2]>>,
    damping_per_s: Option<f64>,
    contact_stiffness: Option<f64>,
}

/// Unit of length of the file, which must be stated as files do not contain it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    M,
    Cm,
    Mm,
    Inch,
}

impl Unit {
    pub(super) fn units(self) -> Units {
        match self {
            Self::M => Units::SI,
            Self::Cm => Units::CENTIMETRE_NEWTON,
            Self::Mm => Units::MILLIMETRE_NEWTON,
            Self::Inch => Units::INCH_NEWTON,
        }
    }
}

/// Entry of `[[region]]`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RegionText {
    /// Name of the group in the file, or of the region if `id` selects the group.
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
    pub(super) fn body(
        &self,
        regions: &[RegionText],
        read: SceneFileReader<'_>,
    ) -> Result<MeshBody, SceneError> {
        let law = LawText {
            table: "mesh",
            law: self.law.as_deref(),
            mooney_second: self.mooney_second,
            fung_growth: self.fung_growth,
            yeoh: self.yeoh,
            ogden: self.ogden.as_deref(),
        };
        let law = law.family()?;
        let ours = ImplicitParams::default();
        let parts_of_file = self.read_mesh(read)?;
        let tets = parts_of_file.tetrahedra();
        let mut mesh = QuadraticTetMesh::new(&tets);
        mesh_check::check(&mesh.corners()).map_err(|source| {
            let all = "`palpate model validate` lists all that is wrong";
            SceneError::in_part(&self.file, format!("{source}; {all}"))
        })?;
        let shift_m = self.shift_m(&mesh)?;
        mesh.nodes_m.iter_mut().for_each(|at_m| *at_m += shift_m);
        // far from the origin, rounding flattens cells
        mesh_check::check(&mesh.corners()).map_err(|source| {
            SceneError::in_part(
                &self.file,
                format!("{source}, once shifted by `mesh.shift_m`"),
            )
        })?;
        let parts = self.materials(regions, &parts_of_file, &mut mesh)?;
        let mut held = vec![false; mesh.nodes_m.len()];
        let place = FileFrame {
            file: &parts_of_file,
            tets: &tets,
            shift_m,
        };
        mark_fixed(&self.fixed, "mesh.fixed", place, &mesh, &mut held)?;
        let volume = MeshBody {
            fixed: held,
            mesh,
            materials: parts,
            law,
            params: ImplicitParams {
                damping_per_s: self.damping_per_s.unwrap_or(ours.damping_per_s),
                contact_stiffness: self.contact_stiffness.unwrap_or(ours.contact_stiffness),
                ..ours
            },
        };
        // built once here, so that a scene that loads can also be built
        volume.solver()?;
        Ok(volume)
    }

    /// Reads the mesh of the file, in metres, if it has cells.
    fn read_mesh(&self, read: SceneFileReader<'_>) -> Result<MixedMesh, SceneError> {
        let refuse = |found: String, expected: &str| field_error("mesh.file", found, expected);
        let ending = self.file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let Some(format) = MeshFormat::from_extension(ending) else {
            let expected = format!("a name that ends in {}", MeshFormat::extensions());
            return Err(refuse(self.file.clone(), &expected));
        };
        let bytes = read(&self.file).map_err(|message| {
            let found = format!("{}: {message}", self.file);
            refuse(found, "a mesh file beside the scene")
        })?;
        let parts = file::read(format, &bytes, &self.unit.units());
        let parts = parts.map_err(|source| SceneError::in_part(&self.file, source))?;
        let cells = parts.tets.len() + 6 * parts.hexes.len();
        if cells == 0 {
            let triangles = parts.triangles.len();
            let found = format!("{}, with {triangles} triangles and no cells", self.file);
            let expected = "a file with tetrahedra or hexahedra: a surface has no inside; fill it with \
                            a mesher such as Gmsh or TetGen and export .msh or .vtu";
            return Err(refuse(found, expected));
        }
        if cells > CELLS_MAX {
            let found = format!("{}, with {cells} tetrahedra", self.file);
            return Err(refuse(found, &format!("at most {CELLS_MAX}")));
        }
        Ok(parts)
    }

    /// Position of the file's origin: the centre of the box over the origin of the scene, with the top of
    /// the body there at z = 0.
    fn shift_m(&self, mesh: &QuadraticTetMesh) -> Result<Vec3, SceneError> {
        if let Some(shift_m) = self.shift_m {
            if shift_m.iter().all(|x| x.is_finite()) {
                return Ok(shift_m.into());
            }
            let found = format!("{shift_m:?}");
            return Err(field_error("mesh.shift_m", found, "finite numbers"));
        }
        let [low_m, high_m] = bounds_m(mesh.nodes_m.iter().copied());
        let middle_m = (low_m + high_m) * 0.5;
        let heights_m = mesh.faces.iter().filter_map(|face| {
            let corners_m = [0, 1, 2].map(|corner| mesh.nodes_m[face[corner] as usize] - middle_m);
            height_m(corners_m)
        });
        let Some(top_m) = heights_m.reduce(f64::max) else {
            let expected =
                "a place for the origin of the file: nothing is under the middle of its box";
            return Err(field_error("mesh.shift_m", "missing", expected));
        };
        Ok(-middle_m - Vec3::z() * top_m)
    }

    /// Reads one material for every group; the regions of `mesh` become their indices.
    fn materials(
        &self,
        texts: &[RegionText],
        file: &MixedMesh,
        mesh: &mut QuadraticTetMesh,
    ) -> Result<Vec<MeshMaterial>, SceneError> {
        let mut found = mesh.regions.clone();
        found.sort_unstable();
        found.dedup();
        let mut parts: Vec<MeshMaterial> = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let field = format!("region[{index}]");
            let part = text.mesh_material(&field, file, &found)?;
            if parts.iter().any(|other| other.group == part.group) {
                let expected = "one [[region]] for a group";
                let again = format!("group {} again", part.group);
                return Err(field_error(field, again, expected));
            }
            parts.push(part);
        }
        for group in &found {
            if !parts.iter().any(|part| part.group == *group) {
                let own = mesh.regions.iter().filter(|region| *region == group);
                let cells = own.count();
                let value = format!("missing for {} of {cells} cells", named(file, *group));
                let expected = format!("a [[region]] with `id = {group}` or its name");
                return Err(field_error("region", value, expected));
            }
        }
        for region in &mut mesh.regions {
            let index = parts.iter().position(|part| part.group == *region);
            *region = index.unwrap_or_default() as u32;
        }
        Ok(parts)
    }
}

/// Marks the fixed nodes of one selector; a node between corners if both ends of its edge are of the
/// selector.
fn mark_fixed(
    selector: &toml::Value,
    field: &str,
    place: FileFrame<'_>,
    mesh: &QuadraticTetMesh,
    held: &mut [bool],
) -> Result<(), SceneError> {
    if let toml::Value::Array(list) = selector
        && !list.is_empty()
    {
        for (index, one) in list.iter().enumerate() {
            mark_fixed(one, &format!("{field}[{index}]"), place, mesh, held)?;
        }
        return Ok(());
    }
    let own = mesh.spread_flags(&corners(selector, field, place)?);
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
    Err(field_error(field, selector, expected))
}

/// File, its tetrahedra, and their displacement to the frame of the scene.
#[derive(Clone, Copy)]
struct FileFrame<'a> {
    file: &'a MixedMesh,
    tets: &'a MixedMesh,
    shift_m: Vec3,
}

/// Nodes of the file that one selector of fixed nodes means.
fn corners(
    selector: &toml::Value,
    field: &str,
    place: FileFrame<'_>,
) -> Result<Vec<bool>, SceneError> {
    let FileFrame {
        file,
        tets,
        shift_m,
    } = place;
    let used = || tets.tets.nodes.iter().flatten().copied();
    let z_m = |node: u32| tets.nodes_m[node as usize].z + shift_m.z;
    let below = |limit_m: f64| {
        let mut held = vec![false; tets.nodes_m.len()];
        let low = used().filter(|&node| z_m(node) <= limit_m);
        low.for_each(|node| held[node as usize] = true);
        held
    };
    match selector {
        toml::Value::String(name) if name == "bottom" && group(file, name, 2).is_none() => {
            let lowest_m = used().map(z_m).fold(f64::MAX, f64::min);
            Ok(below(lowest_m + BOTTOM * file.size_m().max()))
        }
        toml::Value::String(name) => {
            let (dimension, number) = group(file, name, 2).ok_or_else(|| {
                let expected = format!("`bottom`, or the name of a group: {}", names(file));
                field_error(field, name, expected)
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
                field_error(format!("{field}.below_m"), value, "a finite number")
            })?;
            Ok(below(limit_m))
        }
        other => {
            let expected =
                "`bottom`, the name or number of a group, { below_m = z }, or a list of them";
            Err(field_error(field, other, expected))
        }
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    let whole = value.as_integer().map(|whole| whole as f64);
    let number = value.as_float().or(whole);
    number.filter(|number| number.is_finite())
}

/// Dimension and number of the group of a name, of at least this dimension.
fn group(file: &MixedMesh, name: &str, least: u8) -> Option<(u8, u32)> {
    let mut known = file.names.iter().filter(|(key, _)| key.0 >= least);
    known.find(|(_, known)| *known == name).map(|(key, _)| *key)
}

/// Nodes of a group of triangles or of cells.
fn of_group(file: &MixedMesh, dimension: u8, number: u32) -> Vec<bool> {
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

/// Description of a group of cells by number and name.
fn named(file: &MixedMesh, group: u32) -> String {
    match file.names.get(&(3, group)) {
        Some(name) => format!("group {group} \"{name}\""),
        None => format!("group {group}"),
    }
}

/// All named groups, for messages.
fn names(file: &MixedMesh) -> String {
    let known = file.names.iter().filter(|(key, _)| key.0 >= 2);
    let names: Vec<&str> = known.map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        return "the file names none".to_owned();
    }
    names.join(", ")
}

impl RegionText {
    fn mesh_material(
        &self,
        field: &str,
        file: &MixedMesh,
        found: &[u32],
    ) -> Result<MeshMaterial, SceneError> {
        let list = || {
            let groups = found.iter().map(|group| named(file, *group));
            groups.collect::<Vec<_>>().join(", ")
        };
        let by_name = self.name.as_deref().and_then(|name| group(file, name, 3));
        let by_name = by_name.map(|(_, number)| number);
        // a file without groups needs no name or number
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
            return Err(field_error(format!("{field}.name"), value, expected));
        };
        if !found.contains(&group) {
            let expected = format!("a group of cells: {}", list());
            return Err(field_error(format!("{field}.id"), group, expected));
        }
        let entry = MaterialEntry {
            field: field.to_owned(),
            keys: &self.material,
            own_keys: "`name`, `id` and `lump`",
        };
        let (_, material) = Material::read(&entry, None)?;
        let name = self.name.as_ref().or(file.names.get(&(3, group)));
        Ok(MeshMaterial {
            name: name.unwrap_or(&entry.field).clone(),
            group,
            material,
            is_lump: self.lump,
        })
    }
}

/// Height at which the z axis meets a triangle \[m\]; none if it does not, or the triangle is vertical.
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
