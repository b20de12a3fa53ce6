//! Version 4.1: blocks of nodes and elements by geometrical entity, which know their groups.

use super::{Mesh, Shape, region};
use crate::mesh::file::scan::Scan;
use crate::mesh::file::{MeshError, next_node, wrong};
use std::collections::BTreeMap;

/// The first physical group of entities, by dimension and number.
pub(super) type Groups = BTreeMap<(u64, i64), u32>;

pub(super) fn entities(scan: &mut Scan<'_>) -> Result<Groups, MeshError> {
    let mut groups = Groups::new();
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = scan.whole("number of entities")?;
    }
    for (dimension, count) in (0..).zip(counts) {
        for _ in 0..count {
            let number = scan.signed("number of an entity")?;
            // a point has its place, the others the corners of their box
            for _ in 0..if dimension == 0 { 3 } else { 6 } {
                scan.number("box of an entity")?;
            }
            for group in 0..scan.whole("number of physical groups")? {
                let value = region(scan.line(), scan.signed("physical group")?)?;
                if group == 0 {
                    groups.insert((dimension, number), value);
                }
            }
            if dimension > 0 {
                for _ in 0..scan.whole("number of bounding entities")? {
                    scan.signed("bounding entity")?;
                }
            }
        }
    }
    Ok(groups)
}

pub(super) fn nodes(scan: &mut Scan<'_>, mesh: &mut Mesh) -> Result<(), MeshError> {
    let blocks = scan.whole("number of node blocks")?;
    let stated = scan.whole("number of nodes")?;
    let place = scan.line();
    scan.whole("least number of a node")?;
    scan.whole("largest number of a node")?;
    for _ in 0..blocks {
        let dimension = dimension(scan)?;
        scan.signed("number of an entity")?;
        let parametric = scan.whole("parametric")?;
        let count = scan.whole("number of nodes in the block")?;
        for _ in 0..count {
            let number = scan.whole("number of a node")?;
            let next = mesh.tags.len();
            let index = u32::try_from(next).map_err(|_| {
                wrong(
                    scan.line(),
                    "number of nodes",
                    next.to_string().as_bytes(),
                    "fewer than 2^32",
                )
            })?;
            mesh.tags.push((number, index));
        }
        let extra = if parametric == 0 { 0 } else { dimension };
        for _ in 0..count {
            next_node(&mesh.parts.nodes_m, scan.line())?;
            mesh.parts.nodes_m.push(scan.place_of()?);
            for _ in 0..extra {
                scan.number("parameter")?;
            }
        }
    }
    total(place, "number of nodes", stated, mesh.tags.len())?;
    mesh.close(scan.line())
}

pub(super) fn elements(
    scan: &mut Scan<'_>,
    mesh: &mut Mesh,
    groups: &Groups,
) -> Result<(), MeshError> {
    let blocks = scan.whole("number of element blocks")?;
    let stated = scan.whole("number of elements")?;
    let place = scan.line();
    scan.whole("least number of an element")?;
    scan.whole("largest number of an element")?;
    let mut found = 0;
    for _ in 0..blocks {
        let dimension = dimension(scan)?;
        let entity = scan.signed("number of an entity")?;
        let number = scan.whole("element type")?;
        let shape = Shape::of(scan.line(), number)?;
        let region = groups.get(&(dimension, entity)).copied().unwrap_or(0);
        for _ in 0..scan.whole("number of elements in the block")? {
            scan.whole("number of an element")?;
            mesh.element(scan, shape, region)?;
            found += 1;
        }
    }
    total(place, "number of elements", stated, found)
}

fn dimension(scan: &mut Scan<'_>) -> Result<u64, MeshError> {
    let dimension = scan.whole("dimension")?;
    if dimension <= 3 {
        return Ok(dimension);
    }
    Err(wrong(
        scan.line(),
        "dimension",
        dimension.to_string().as_bytes(),
        "0 to 3",
    ))
}

fn total(
    place: crate::mesh::file::Place,
    field: &'static str,
    stated: u64,
    found: usize,
) -> Result<(), MeshError> {
    if u64::try_from(found) == Ok(stated) {
        return Ok(());
    }
    let expected = format!("{found}, the sum of the blocks");
    Err(wrong(
        place,
        field,
        stated.to_string().as_bytes(),
        &expected,
    ))
}
