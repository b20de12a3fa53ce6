//! Scenes as models: the tissue of a session, its cost per tick, and its cells for other programs.
//!
//! Source: ours. Costs are counted, not measured: `palpate bench` measures.

use std::fmt::Write as _;

use palpate_fem::explicit::LEFT_AT_EDGE;
use palpate_geometry::mesh::MixedMesh;
use palpate_scene as scene;
use palpate_scene::{
    Block, BlockSolver, Inclusion, MeshBody, Scene, SceneBody, SceneError, VoxelBlock, VoxelBody,
};
use palpate_session::lab;
use palpate_transport::clock::PERIOD;
use palpate_twin::law::{Material, tissue_library};
use palpate_twin::shape::SolidForm;
use palpate_twin::{Tissue as _, TissueCaps};
use palpate_voxel::material::VoxelMaterial;

use super::{Failure, bad_input};

/// Loads the scene that a model's name denotes; none if it denotes no scene.
pub(super) fn load(model: &str) -> Result<Option<Scene>, Failure> {
    let is_scene = scene::built_in_names().contains(&model) || model.ends_with(".toml");
    let scene = is_scene.then(|| lab::load_scene(model, "MODEL"));
    Ok(scene.transpose()?)
}

/// Describes the scene.
pub(super) fn words(scene: &Scene) -> Result<String, Failure> {
    let caps = || -> Result<TissueCaps, Failure> {
        let built = scene.build().map_err(bad_input(&scene.name))?;
        Ok(built.caps())
    };
    let mut text = format!("scene    {}, {}\n", scene.name, scene.method());
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "tool     ball of {} mm, {} N/m",
        scene.tool_radius_m * 1e3,
        scene.tool_stiffness_npm
    );
    match &scene.body {
        SceneBody::Block(block) => {
            materials(&mut text, block);
            match block.solver {
                BlockSolver::Explicit => {
                    cost(&mut text, block).map_err(bad_input(&scene.name))?;
                    calibration(&mut text, scene, block).map_err(bad_input(&scene.name))?;
                }
                BlockSolver::Implicit => text += &solver_text(&caps()?),
            }
        }
        SceneBody::Mesh(volume) => {
            regions(&mut text, volume);
            text += &solver_text(&caps()?);
        }
        SceneBody::VoxelBlock(block) => {
            describe_voxel_model(&mut text, block);
            text += &voxel_size_text(&caps()?, &format!("{}", block.spacing_m * 1e3));
        }
        SceneBody::VoxelBody(body) => {
            voxels(&mut text, body);
            let [x, y, z] = body.frame.spacing_m.map(|m| m * 1e3);
            text += &voxel_size_text(&caps()?, &format!("{x:.3} x {y:.3} x {z:.3}"));
        }
        SceneBody::Flat(sheet) => {
            let [left_npm, right_npm] = sheet.stiffness_npm;
            let _ = writeln!(
                text,
                "sheet    flat, {left_npm} N/m on the left to {right_npm} N/m on the right"
            );
        }
        SceneBody::Lattice { .. } => {
            let caps = caps()?;
            let (nodes, links) = (caps.nodes, caps.elements);
            let _ = writeln!(text, "springs  {nodes} nodes, {links} links");
        }
    }
    Ok(text)
}

/// Size and cost of an implicit solver.
fn solver_text(caps: &TissueCaps) -> String {
    let (nodes, elements) = (caps.nodes, caps.elements);
    format!(
        "cells    {elements}, with {nodes} nodes that move\nstep     implicit: for virtual time \
         (`palpate lab`); `palpate run` measures its time first\n"
    )
}

/// Size of a voxel model: nodes and links.
fn voxel_size_text(caps: &TissueCaps, apart_mm: &str) -> String {
    let (nodes, elements) = (caps.nodes, caps.elements);
    format!(
        "nodes    {elements}, {nodes} of them free, {apart_mm} mm apart, linked to 6 neighbours; can be cut\n"
    )
}

/// Source of the voxels of a voxel model, and its tissues.
fn voxels(text: &mut String, body: &VoxelBody) {
    let [x, y, z] = body.size_m().map(|size_m| size_m * 1e3);
    let bonded = if body.separate {
        "an object for each label"
    } else {
        "one bonded body"
    };
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "voxels   {}\nbody     {x:.1} x {y:.1} x {z:.1} mm, {bonded}, its lowest nodes fixed",
        body.source
    );
    for (tissue, amount) in body.tissues.iter().zip(body.node_counts()) {
        let material = &tissue.material;
        let _ = writeln!(
            text,
            "label    {}: {}, {amount} nodes, links of {:.0} Pa, cut for {} J/m2{}{}",
            tissue.label,
            material.name,
            material.modulus_pa,
            material.toughness_jpm2,
            if tissue.fixed { ", fixed" } else { "" },
            if tissue.is_lump { ", a lump" } else { "" }
        );
    }
}

/// Layers and balls of a voxel model.
fn describe_voxel_model(text: &mut String, block: &VoxelBlock) {
    let [x, y, z] = block.size_m.map(|size_m| size_m * 1e3);
    let describe = |what: String, material: &VoxelMaterial| {
        format!(
            "{what}: {}, links of {:.0} Pa, cut for {} J/m2\n",
            material.name, material.modulus_pa, material.toughness_jpm2
        )
    };
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "block    {x:.1} x {y:.1} x {z:.1} mm on a rigid ground"
    );
    for layer in &block.layers {
        let what = format!("layer    {:.1} mm", layer.thickness_m * 1e3);
        text.push_str(&describe(what, &layer.material));
    }
    for ball in &block.inclusions {
        let at = ball.centre_m * 1e3;
        let place = format!("{:.1}, {:.1}, {:.1} mm", at.x, at.y, at.z);
        let what = format!("inclusion {} at {place}", form(ball));
        text.push_str(&describe(what, &ball.material));
    }
}

/// Groups of cells of a mesh file, with the sources of library materials.
fn regions(text: &mut String, volume: &MeshBody) {
    let [low_m, high_m] = volume.corners_m();
    let size_mm = (high_m - low_m) * 1e3;
    let fixed = volume.fixed.iter().filter(|fixed| **fixed).count();
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "body     {:.1} x {:.1} x {:.1} mm, {fixed} of {} nodes fixed",
        size_mm.x,
        size_mm.y,
        size_mm.z,
        volume.fixed.len()
    );
    for (index, part) in volume.materials.iter().enumerate() {
        let (cells, volume_m3) = volume.material_amount(index);
        let lump = if part.is_lump { ", a lump" } else { "" };
        let what = format!(
            "group {}, {cells} cells, {:.3} ml{lump}",
            part.group,
            volume_m3 * 1e6
        );
        material(text, "region   ", &part.name, &part.material, &what);
    }
}

/// Layers and inclusions, with the sources of library materials.
fn materials(text: &mut String, block: &Block) {
    let [x, y, z] = block.size_m.map(|size_m| size_m * 1e3);
    let _ = writeln!(
        text,
        "block    {x:.1} x {y:.1} x {z:.1} mm on a rigid ground"
    );
    let layers = block.layers.iter().map(|layer| {
        let what = format!("{:.1} mm", layer.thickness_m * 1e3);
        ("layer    ", &layer.name, layer.material, what)
    });
    let inclusions = block.inclusions.iter().map(|inclusion| {
        let at = inclusion.centre_m * 1e3;
        let what = format!(
            "{} at {:.1}, {:.1}, {:.1} mm",
            form(inclusion),
            at.x,
            at.y,
            at.z
        );
        ("inclusion", &inclusion.name, inclusion.material, what)
    });
    for (kind, name, layer_material, what) in layers.chain(inclusions) {
        material(text, kind, name, &layer_material, &what);
    }
}

/// Form and size of an inclusion.
fn form<M>(inclusion: &Inclusion<M>) -> String {
    let Some(solid) = inclusion.solid else {
        return format!("ball of {:.1} mm", inclusion.radius_m * 1e3);
    };
    let [x, y, z] = (solid.half_m * 2e3).into();
    let name = match solid.form {
        SolidForm::Box => "box",
        SolidForm::Ellipsoid => "ellipsoid",
    };
    let turn_deg = solid.turn_deg();
    let turned = match turn_deg == 0.0 {
        true => String::new(),
        false => format!(", turned by {turn_deg:.0} degrees"),
    };
    format!("{name} of {x:.1} x {y:.1} x {z:.1} mm{turned}")
}

/// Describes one material, with its source if it is in the library.
fn material(text: &mut String, kind: &str, name: &str, material: &Material, what: &str) {
    let (young_kpa, poisson) = (material.young_pa() * 1e-3, material.poisson());
    let density = material.density_kgpm3();
    let law = material.law();
    let law = law.map_or_else(String::new, |law| format!(", {}", law.name()));
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "{kind} {name}: {what}, {young_kpa:.2} kPa, nu {poisson}, {density:.0} kg/m3{law}"
    );
    viscosity(text, material);
    let published =
        tissue_library::find(name).filter(|known| known.young_pa == material.young_pa());
    if let Some(known) = published {
        let _ = writeln!(text, "          {}: {}", known.source, known.note);
        let _ = writeln!(text, "          holds for: {}", known.regime);
    }
}

/// Describes the viscosity of a material, if it has any.
fn viscosity(text: &mut String, material: &Material) {
    let own = material.viscosity();
    if own.shear_pas > 0.0 || own.bulk_pas > 0.0 {
        let (shear_pas, bulk_pas) = (own.shear_pas, own.bulk_pas);
        let _ = writeln!(
            text,
            "          viscosity {shear_pas} Pa s in shear, {bulk_pas} Pa s in volume"
        );
    }
    for branch in own.used() {
        let (percent, time_s) = (100.0 * branch.share, branch.time_s);
        let _ = writeln!(
            text,
            "          {percent:.0} % of the shear modulus relaxes in {time_s} s"
        );
    }
}

/// Describes cells, sub-steps and the treatment of stiff cells.
fn cost(text: &mut String, block: &Block) -> Result<(), SceneError> {
    let solver = block.explicit_solver()?;
    let (caps, classes) = (solver.caps(), solver.class_cells());
    let slowest = classes.iter().rposition(|&cells| cells > 0).unwrap_or(0);
    // cells of class c step every 2^c sub-steps, and all of them at the end of a tick
    let least = (PERIOD.s() / solver.substep_s()).ceil().max(1.0) as usize;
    let substeps = least.next_multiple_of(1 << slowest);
    let class_counts = classes.iter().enumerate();
    let steps: usize = class_counts
        .map(|(class, cells)| cells * (substeps >> class))
        .sum();
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "cells    {}, with {} nodes\nstep     {:.0} us at rest: {substeps} sub-steps a tick of 1 ms, \
         {steps} cell steps",
        caps.elements,
        caps.nodes,
        solver.substep_s() * 1e6,
    );
    let (nodes, numbers) = solver.coupling_size();
    let added = 100.0 * solver.stiff_added_mass_kg() / mass_kg(block)?;
    let _ = if nodes > 0 {
        writeln!(
            text,
            "stiff    {nodes} nodes of cells too stiff for that step are coupled: {numbers} numbers a \
             sub-step; no mass is added at rest"
        )
    } else if added > 0.0 {
        writeln!(
            text,
            "mass     {added:.1} % more at rest, on cells too stiff for that step"
        )
    } else {
        writeln!(
            text,
            "stiff    no cell is too stiff for that step; no mass is added at rest"
        )
    };
    Ok(())
}

/// Describes where and how deep the force of its ball is calibrated, and the error that is left there.
fn calibration(text: &mut String, scene: &Scene, block: &Block) -> Result<(), SceneError> {
    let zone = &block.zone;
    let [x_mm, y_mm] = [0, 1].map(|axis| {
        let edge_m = 0.5 * block.size_m[axis];
        let ends_m = [-1.0, 1.0].map(|side| zone.centre_m[axis] + side * zone.half_m[axis]);
        ends_m.map(|end_m| 1e3 * end_m.clamp(-edge_m, edge_m))
    });
    let map = scene.depth_map()?;
    let deepest = map.as_ref().and_then(|map| map.knots.last().zip(Some(map)));
    // writing to a string cannot fail
    let _ = match deepest {
        Some((deepest, map)) => {
            let left = [0.2e-3, 1e-3]
                .into_iter()
                .filter_map(|depth_m| map.largest_error(depth_m));
            let left = left.map(|(depth_m, share)| {
                format!("{:.1} % at {:.1} mm", 100.0 * share, 1e3 * depth_m)
            });
            writeln!(
                text,
                "force    calibrated for slow presses with the ball of {:.1} mm to a depth of {:.1} mm, at x {:.0} to \
                 {:.0} and y {:.0} to {:.0} mm\nerror    up to {}, between nodes and faces of the mesh; {:.0} % more \
                 at an edge of the top",
                1e3 * scene.tool_radius_m,
                1e3 * deepest.depth_m,
                x_mm[0],
                x_mm[1],
                y_mm[0],
                y_mm[1],
                left.collect::<Vec<_>>().join(", "),
                100.0 * LEFT_AT_EDGE,
            )
        }
        None => writeln!(text, "force    not calibrated: it is that of the mesh"),
    };
    Ok(())
}

/// Mass of its cells \[kg\].
fn mass_kg(block: &Block) -> Result<f64, SceneError> {
    let (nested, materials) = block.grids_and_materials()?;
    let levels = nested.levels.iter().zip(&materials);
    let masses = levels.map(|(level, materials)| {
        let [wide, long, _] = level.cells;
        let kept = materials.iter().enumerate().filter(|(cell, _)| {
            !level.is_replaced([cell % wide, cell / wide % long, cell / (wide * long)])
        });
        let volume_m3: f64 = level.edge_m.iter().product();
        kept.map(|(_, material)| material.density_kgpm3 * volume_m3)
            .sum::<f64>()
    });
    Ok(masses.sum())
}

/// Cells of a continuum as a mesh; none for other scenes.
pub(super) fn parts(scene: &Scene) -> Result<Option<MixedMesh>, Failure> {
    Ok(match &scene.body {
        SceneBody::Lattice { .. }
        | SceneBody::Flat(_)
        | SceneBody::VoxelBlock(_)
        | SceneBody::VoxelBody(_) => None,
        SceneBody::Mesh(volume) => Some(volume.to_mixed_mesh()),
        SceneBody::Block(block) => Some(block.to_mixed_mesh().map_err(bad_input(&scene.name))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scene_description_has_sources_and_cost() {
        let scene = load("layered").expect("built in").expect("a scene");
        let text = words(&scene).expect("a block");
        for part in ["muscle", "Pailler-Mattei", "sub-steps", "% more at rest"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let block = load("block").expect("built in").expect("a scene");
        let text = words(&block).expect("a block");
        assert!(text.contains("no cell is too stiff"), "{text}");
        let mut scene = load("layers-nodule").expect("built in").expect("a scene");
        let coupled = words(&scene).expect("a block");
        assert!(coupled.contains("are coupled"), "{coupled}");
        if let SceneBody::Block(block) = &mut scene.body {
            block.params.stiff_cells = palpate_fem::explicit::StiffCellMethod::MassScaling;
        }
        let heavy = words(&scene).expect("a block");
        assert!(heavy.contains("% more at rest"), "{heavy}");
        let sheet = load("sheet").expect("built in").expect("a scene");
        assert!(words(&sheet).expect("springs").contains("springs"));
        assert!(parts(&sheet).expect("known").is_none());
        let mound = load("mound").expect("built in").expect("a scene");
        let text = words(&mound).expect("a body");
        for part in [
            "implicit",
            "lump: group 2, 6 cells",
            "540, with",
            "60.00 kPa",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let cells = parts(&mound).expect("known").expect("a mesh").tets.len();
        assert_eq!(cells, 540);
        assert!(load("regular").expect("no scene").is_none());
        let error = load("none.toml").expect_err("missing").to_string();
        assert!(error.contains("none.toml"), "{error}");
    }

    #[test]
    fn scene_file_finds_its_mesh_in_its_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let text = palpate_scene::scene_text("mound").expect("built in");
        std::fs::write(at("own.toml"), text.replace("mound.msh", "own.msh")).expect("writable");
        let name = at("own.toml").display().to_string();
        let error = load(&name).expect_err("no mesh yet").to_string();
        for part in ["own.toml", "mesh.file", "own.msh", "expected a mesh file"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let mesh = include_str!("../../../../sim-twin/scene/scenes/mound.msh");
        std::fs::write(at("own.msh"), mesh).expect("writable");
        let scene = load(&name).expect("readable").expect("a scene");
        let mut built_in = load("mound").expect("built in").expect("a scene");
        built_in.name.clone_from(&scene.name);
        assert_eq!(scene, built_in);
        assert!(
            super::super::Model::Scene(Box::new(scene))
                .validation(&name)
                .checks_passed
        );
    }
}
