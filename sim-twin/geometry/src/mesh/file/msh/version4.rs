//! Version 4.1: blocks of nodes and elements by geometrical entity, which have the physical groups.

use super::{Mesh, Shape, region};
use crate::Defect;
use crate::mesh::file::scan::ByteScanner;
use std::collections::BTreeMap;

/// The first physical group of entities, by dimension and number.
pub(super) type Groups = BTreeMap<(u64, i64), u32>;

pub(super) fn entities(scan: &mut ByteScanner<'_>) -> Result<Groups, Defect> {
    let mut groups = Groups::new();
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = scan.whole("number of entities")?;
    }
    for (dimension, count) in (0..).zip(counts) {
        for _ in 0..count {
            let number = scan.signed("number of an entity")?;
            // a point has a position, other entities the corners of their box
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

pub(super) fn nodes(scan: &mut ByteScanner<'_>, mesh: &mut Mesh) -> Result<(), Defect> {
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
            let too_many = |_| {
                scan.line()
                    .field_error("number of nodes", next, "fewer than 2^32")
            };
            let index = u32::try_from(next).map_err(too_many)?;
            mesh.tags.push((number, index));
        }
        let extra = if parametric == 0 { 0 } else { dimension };
        for _ in 0..count {
            scan.line().next_node(&mesh.parts.nodes_m)?;
            mesh.parts.nodes_m.push(scan.point()?);
            for _ in 0..extra {
                scan.number("parameter")?;
            }
        }
    }
    let found = mesh.tags.len() as u64;
    if found != stated {
        let expected = format!("{found}, the sum of the blocks");
        return Err(place.field_error("number of nodes", stated, expected));
    }
    mesh.close(scan.line())
}

pub(super) fn elements(
    scan: &mut ByteScanner<'_>,
    mesh: &mut Mesh,
    groups: &Groups,
) -> Result<(), Defect> {
    let blocks = scan.whole("number of element blocks")?;
    let stated = scan.whole("number of elements")?;
    let place = scan.line();
    scan.whole("least number of an element")?;
    scan.whole("largest number of an element")?;
    let mut found = 0;
    for _ in 0..blocks {
        let dimension = dimension(scan)?;
        let entity = scan.signed("number of an entity")?;
        let shape = Shape::read(scan)?;
        let region = groups.get(&(dimension, entity)).copied().unwrap_or(0);
        for _ in 0..scan.whole("number of elements in the block")? {
            scan.whole("number of an element")?;
            mesh.element(scan, shape, region)?;
            found += 1;
        }
    }
    if found != stated {
        let expected = format!("{found}, the sum of the blocks");
        return Err(place.field_error("number of elements", stated, expected));
    }
    Ok(())
}

fn dimension(scan: &mut ByteScanner<'_>) -> Result<u64, Defect> {
    let dimension = scan.whole("dimension")?;
    if dimension <= 3 {
        return Ok(dimension);
    }
    Err(scan.line().field_error("dimension", dimension, "0 to 3"))
}
