//! Scenes as models: what a session would touch, what it costs a tick, and its cells for other programs.
//!
//! Source: ours. Costs are counted, not measured: `palpate bench` measures.

use std::fmt::Write as _;

use palpate_geometry::mesh::Parts;
use palpate_scene as scene;
use palpate_scene::{
    Block, BlockError, BlockSolver, Body, LinkedBlock, LinkedVoxels, Scene, Volume,
};
use palpate_session::lab;
use palpate_transport::clock::PERIOD;
use palpate_twin::Tissue as _;
use palpate_twin::law::{Material, tissue};
use palpate_voxel::matter::Matter;

use super::{Done, Failure};

/// The scene that a model's name means, if it means one.
pub(super) fn load(model: &str) -> Result<Option<Scene>, Failure> {
    let is_scene = scene::names().contains(&model) || model.ends_with(".toml");
    let scene = is_scene.then(|| lab::load_scene(model, "MODEL"));
    Ok(scene.transpose()?)
}

/// Describe it.
pub(super) fn inspect(scene: &Scene) -> Result<Done, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", scene.name));
    let mut text = format!("scene    {}, {}\n", scene.name, scene.method());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "tool     ball of {} mm, {} N/m",
        scene.tool_radius_m * 1e3,
        scene.tool_stiffness_npm
    );
    match &scene.body {
        Body::Block(block) => {
            materials(&mut text, block);
            match block.solver {
                BlockSolver::Explicit => cost(&mut text, block).map_err(|error| named(&error))?,
                BlockSolver::Implicit => {
                    let caps = scene.build().map_err(|error| named(&error))?.caps();
                    text.push_str(&solved(caps.nodes, caps.elements));
                }
            }
        }
        Body::Mesh(volume) => {
            regions(&mut text, volume);
            let caps = scene.build().map_err(|error| named(&error))?.caps();
            text.push_str(&solved(caps.nodes, caps.elements));
        }
        Body::Linked(block) => {
            linked(&mut text, block);
            let caps = scene.build().map_err(|error| named(&error))?.caps();
            let apart = format!("{}", block.spacing_m * 1e3);
            text.push_str(&elements(caps.elements, caps.nodes, &apart));
        }
        Body::Voxels(body) => {
            voxels(&mut text, body);
            let caps = scene.build().map_err(|error| named(&error))?.caps();
            let [x, y, z] = body.frame.spacing_m.map(|m| m * 1e3);
            let apart = format!("{x:.3} x {y:.3} x {z:.3}");
            text.push_str(&elements(caps.elements, caps.nodes, &apart));
        }
        Body::Flat(sheet) => {
            let [left_npm, right_npm] = sheet.stiffness_npm;
            let _ = writeln!(
                text,
                "sheet    flat, {left_npm} N/m on the left to {right_npm} N/m on the right"
            );
        }
        Body::Lattice { .. } => {
            let caps = scene.build().map_err(|error| named(&error))?.caps();
            let _ = writeln!(
                text,
                "springs  {} nodes, {} links",
                caps.nodes, caps.elements
            );
        }
    }
    Ok(done(text))
}

/// A scene that was read is fit if its tissue can be built.
pub(super) fn validate(model: &str, scene: &Scene) -> Result<Done, Failure> {
    let (verdict, held) = match scene.build() {
        Ok(_) => (format!("{model}: fit to simulate\n"), true),
        Err(error) => (format!("{model}: unfit to simulate: {error}\n"), false),
    };
    Ok(Done {
        held,
        ..done(verdict)
    })
}

/// What the implicit solver solves.
fn solved(nodes: usize, cells: usize) -> String {
    format!(
        "cells    {cells}, with {nodes} nodes that move\nstep     solved as a whole: for virtual time \
         (`palpate lab`); `palpate run` measures first\n"
    )
}

/// Elements and links of either kind of linked volume.
fn elements(count: usize, free: usize, apart_mm: &str) -> String {
    format!(
        "elements {count}, {free} of them free, {apart_mm} mm apart, linked to 6 neighbours; can be cut\n"
    )
}

/// Where the voxels of a linked volume come from, and its tissues.
fn voxels(text: &mut String, body: &LinkedVoxels) {
    let [x, y, z] = body.size_m().map(|size_m| size_m * 1e3);
    let bonded = if body.separate {
        "an object for each label"
    } else {
        "one bonded body"
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "voxels   {}\nbody     {x:.1} x {y:.1} x {z:.1} mm, {bonded}, its lowest elements held",
        body.source
    );
    for (tissue, amount) in body.tissues.iter().zip(body.amounts()) {
        let matter = &tissue.matter;
        let _ = writeln!(
            text,
            "label    {}: {}, {amount} elements, links of {:.0} Pa, cut for {} J/m2{}{}",
            tissue.label,
            matter.name,
            matter.modulus_pa,
            matter.toughness_jpm2,
            if tissue.held { ", held" } else { "" },
            if tissue.is_lump { ", a lump" } else { "" }
        );
    }
}

/// Layers and balls of a linked volume.
fn linked(text: &mut String, block: &LinkedBlock) {
    let [x, y, z] = block.size_m.map(|size_m| size_m * 1e3);
    let say = |what: String, matter: &Matter| {
        format!(
            "{what}: {}, links of {:.0} Pa, cut for {} J/m2\n",
            matter.name, matter.modulus_pa, matter.toughness_jpm2
        )
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "block    {x:.1} x {y:.1} x {z:.1} mm on a rigid ground"
    );
    for (thickness_m, matter) in &block.layers {
        text.push_str(&say(
            format!("layer    {:.1} mm", thickness_m * 1e3),
            matter,
        ));
    }
    for (centre_m, radius_m, matter) in &block.balls {
        let at = centre_m * 1e3;
        let place = format!("{:.1}, {:.1}, {:.1} mm", at.x, at.y, at.z);
        let ball = format!("ball     {:.1} mm at {place}", radius_m * 1e3);
        text.push_str(&say(ball, matter));
    }
}

/// Groups of cells of a mesh file, with the source of those of the library.
fn regions(text: &mut String, volume: &Volume) {
    let [low_m, high_m] = volume.corners_m();
    let size_mm = (high_m - low_m) * 1e3;
    let held = volume.held.iter().filter(|held| **held).count();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "body     {:.1} x {:.1} x {:.1} mm, {held} of {} nodes held",
        size_mm.x,
        size_mm.y,
        size_mm.z,
        volume.held.len()
    );
    for (index, part) in volume.parts.iter().enumerate() {
        let (cells, volume_m3) = volume.amount(index);
        let lump = if part.is_lump { ", a lump" } else { "" };
        let what = format!(
            "group {}, {cells} cells, {:.3} ml{lump}",
            part.group,
            volume_m3 * 1e6
        );
        material(text, "region   ", &part.name, &part.material, &what);
    }
}

/// Layers and inclusions, with the source of those of the library.
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
        let radius_mm = inclusion.radius_m * 1e3;
        let what = format!(
            "ball of {radius_mm:.1} mm at {:.1}, {:.1}, {:.1} mm",
            at.x, at.y, at.z
        );
        ("inclusion", &inclusion.name, inclusion.material, what)
    });
    for (kind, name, stuff, what) in layers.chain(inclusions) {
        material(text, kind, name, &stuff, &what);
    }
}

/// One material, with its source if it is one of the library.
fn material(text: &mut String, kind: &str, name: &str, material: &Material, what: &str) {
    let (young_kpa, poisson) = (material.young_pa() * 1e-3, material.poisson());
    let density = material.density_kgpm3();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{kind} {name}: {what}, {young_kpa:.2} kPa, nu {poisson}, {density:.0} kg/m3"
    );
    let published = tissue::find(name).filter(|known| known.young_pa == material.young_pa());
    if let Some(known) = published {
        let _ = writeln!(text, "          {}: {}", known.source, known.note);
    }
}

/// Cells, sub-steps and what makes stiff cells steppable.
fn cost(text: &mut String, block: &Block) -> Result<(), BlockError> {
    let solver = block.solver()?;
    let (caps, classes) = (solver.caps(), solver.class_cells());
    let slowest = classes.iter().rposition(|&cells| cells > 0).unwrap_or(0);
    // cells of class c go every 2^c sub-steps, and all of them at the end of a tick
    let least = (PERIOD.s() / solver.substep_s()).ceil().max(1.0) as usize;
    let substeps = least.next_multiple_of(1 << slowest);
    let rows = classes.iter().enumerate();
    let steps: usize = rows.map(|(class, cells)| cells * (substeps >> class)).sum();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "cells    {}, with {} nodes\nstep     {:.0} us at rest: {substeps} sub-steps a tick of 1 ms, \
         {steps} cell steps",
        caps.elements,
        caps.nodes,
        solver.substep_s() * 1e6,
    );
    let (nodes, numbers) = solver.coupled();
    let added = 100.0 * solver.stiff_mass_kg() / mass_kg(block)?;
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

/// Mass of its cells \[kg\].
fn mass_kg(block: &Block) -> Result<f64, BlockError> {
    let (nested, stuff) = block.grids()?;
    let levels = nested.levels.iter().zip(&stuff);
    let masses = levels.map(|(level, stuff)| {
        let [wide, long, _] = level.cells;
        let kept = stuff
            .densities_kgpm3
            .iter()
            .enumerate()
            .filter(|(cell, _)| {
                !level.is_replaced([cell % wide, cell / wide % long, cell / (wide * long)])
            });
        let volume_m3: f64 = level.edge_m.iter().product();
        kept.map(|(_, density)| density * volume_m3).sum::<f64>()
    });
    Ok(masses.sum())
}

/// Its cells as a mesh, if it is a continuum.
pub(super) fn parts(scene: &Scene) -> Result<Option<Parts>, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", scene.name));
    Ok(match &scene.body {
        Body::Lattice { .. } | Body::Flat(_) | Body::Linked(_) | Body::Voxels(_) => None,
        Body::Mesh(volume) => Some(volume.to_parts()),
        Body::Block(block) => Some(block.parts().map_err(|error| named(&error))?),
    })
}

fn done(stdout: String) -> Done {
    Done {
        stdout,
        held: true,
        ..Done::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_is_described_with_its_sources_and_its_cost() {
        let scene = load("layered").expect("built in").expect("a scene");
        let text = inspect(&scene).expect("a block").stdout;
        for part in ["muscle", "Pailler-Mattei", "sub-steps", "% more at rest"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let block = load("block").expect("built in").expect("a scene");
        let text = inspect(&block).expect("a block").stdout;
        assert!(text.contains("no cell is too stiff"), "{text}");
        let mut scene = load("layers-nodule").expect("built in").expect("a scene");
        let coupled = inspect(&scene).expect("a block").stdout;
        assert!(coupled.contains("are coupled"), "{coupled}");
        if let Body::Block(block) = &mut scene.body {
            block.params.stiff = palpate_fem::explicit::Stiff::Mass;
        }
        let heavy = inspect(&scene).expect("a block").stdout;
        assert!(heavy.contains("% more at rest"), "{heavy}");
        let sheet = load("sheet").expect("built in").expect("a scene");
        assert!(inspect(&sheet).expect("springs").stdout.contains("springs"));
        assert!(parts(&sheet).expect("known").is_none());
        let mound = load("mound").expect("built in").expect("a scene");
        let text = inspect(&mound).expect("a body").stdout;
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
    fn a_scene_file_finds_its_mesh_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let text = palpate_scene::text("mound").expect("built in");
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
        assert!(validate(&name, &scene).expect("known").held);
    }
}
