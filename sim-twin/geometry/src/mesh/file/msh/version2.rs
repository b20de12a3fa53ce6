//! Version 2.2: a record for every node and element.

use super::{Mesh, Shape, region};
use crate::Defect;
use crate::mesh::file::scan::ByteScanner;

pub(super) fn nodes(scan: &mut ByteScanner<'_>, mesh: &mut Mesh) -> Result<(), Defect> {
    for _ in 0..scan.whole("number of nodes")? {
        let number = scan.whole("number of a node")?;
        let index = scan.line().next_node(&mesh.parts.nodes_m)?;
        mesh.tags.push((number, index));
        mesh.parts.nodes_m.push(scan.point()?);
    }
    mesh.close(scan.line())
}

pub(super) fn elements(scan: &mut ByteScanner<'_>, mesh: &mut Mesh) -> Result<(), Defect> {
    for _ in 0..scan.whole("number of elements")? {
        scan.whole("number of an element")?;
        let shape = Shape::read(scan)?;
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
