//! Version 2.2: a record for every node and element.

use super::{Mesh, Shape, region};
use crate::mesh::file::scan::Scan;
use crate::mesh::file::{MeshError, next_node};

pub(super) fn nodes(scan: &mut Scan<'_>, mesh: &mut Mesh) -> Result<(), MeshError> {
    for _ in 0..scan.whole("number of nodes")? {
        let number = scan.whole("number of a node")?;
        let index = next_node(&mesh.parts.nodes_m, scan.line())?;
        mesh.tags.push((number, index));
        mesh.parts.nodes_m.push(scan.place_of()?);
    }
    mesh.close(scan.line())
}

pub(super) fn elements(scan: &mut Scan<'_>, mesh: &mut Mesh) -> Result<(), MeshError> {
    for _ in 0..scan.whole("number of elements")? {
        scan.whole("number of an element")?;
        let number = scan.whole("element type")?;
        let shape = Shape::of(scan.line(), number)?;
        let mut group = 0;
        for tag in 0..scan.whole("number of tags")? {
            let value = scan.signed("tag")?;
            if tag == 0 {
                group = value;
            }
        }
        let region = region(scan.line(), group)?;
        mesh.element(scan, shape, region)?;
    }
    Ok(())
}
