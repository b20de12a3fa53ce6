//! Specimen: a second tissue that receives the edits of the first, and the measurements on it.
//!
//! Source: ours. It receives only the changes, as the tissue at the other end of a network does. No tool touches it,
//! so its nodes are at rest. Labels are the names of the scene's materials, as at the start.

use palpate_scene::{Scene, SceneBody, SceneError};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::edits::{EditPhase, TopologyChange};
use palpate_twin::{Edit, Tissue, Vec3};
use palpate_voxel::VoxelModel;
use palpate_voxel::edits;
use palpate_voxel::piece_search::PieceSearch;
use serde::{Deserialize, Serialize};

/// Amount of a label, before and now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LabelAmount {
    /// Name of the material.
    pub label: String,
    /// Nodes at the start.
    pub elements_before: u64,
    /// Nodes now.
    pub elements: u64,
    /// Volume of the removed nodes \[m^3\].
    pub removed_m3: f64,
}

/// A node as at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct InitialNode {
    present: bool,
    at_m: Vec3,
    label: u8,
    /// Neighbours to the right, top and front.
    up: [Option<u32>; 3],
}

/// A node of a layer.
pub(super) struct LayerNode {
    /// Position at rest \[m\].
    pub at_m: Vec3,
    /// True for each link to the right, top and front that was cut though both nodes are present.
    pub cuts: [bool; 3],
    /// Red to alpha.
    pub colour: [u8; 4],
    /// True if the node is still present.
    pub is_present: bool,
}

/// A tissue, and its state at the start.
pub struct Specimen {
    tissue: VoxelModel,
    initial: Vec<InitialNode>,
    labels: Vec<(String, [u8; 4])>,
    /// Distance of neighbours along the three axes \[m\].
    pub(super) spacing_m: [f64; 3],
    search: PieceSearch,
}

impl Specimen {
    /// Builds the specimen of a scene; None if its tissue cannot be edited.
    ///
    /// # Errors
    /// If the scene cannot be built.
    pub fn of(scene: &Scene) -> Result<Option<Self>, SceneError> {
        match &scene.body {
            SceneBody::VoxelBlock(block) => Ok(Some(Self::new(block.solver()?))),
            SceneBody::VoxelBody(voxels) => Ok(Some(Self::new(voxels.solver()?))),
            _ => Ok(None),
        }
    }

    fn new(tissue: VoxelModel) -> Self {
        let nodes = tissue.nodes();
        let initial_node = |node| InitialNode {
            present: nodes.alive(node),
            at_m: nodes.rest_m(node),
            label: nodes.material(node),
            up: NeighbourDirection::POSITIVE.map(|to| nodes.neighbour(node, to)),
        };
        let materials = nodes.bonds().materials().iter();
        Self {
            initial: (0..nodes.slots()).map(initial_node).collect(),
            labels: materials
                .map(|material| (material.name.clone(), material.colour))
                .collect(),
            spacing_m: nodes.frame().spacing_m,
            search: PieceSearch::new(nodes.slots()),
            tissue,
        }
    }

    /// Returns the names of its materials, in their order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|(name, _)| name.as_str())
    }

    /// Applies the changes of another tissue of the same scene.
    pub fn replay(&mut self, changes: &[TopologyChange]) {
        if !changes.is_empty() {
            // a voxel model accepts every replay: see `TissueCaps::instruments`
            let _ = self.tissue.edit(&Edit::Replay(changes, EditPhase::Begin));
        }
    }

    /// Returns the hash of the present nodes, links and fixed nodes, computed from scratch.
    #[must_use]
    pub(crate) fn topology(&self) -> u64 {
        edits::topology_hash(self.tissue.nodes())
    }

    /// Counts the nodes of every piece, the largest first.
    #[must_use]
    pub(crate) fn pieces(&mut self) -> Vec<usize> {
        let nodes = self.tissue.nodes();
        let mut seen = vec![false; self.initial.len()];
        let mut sizes = Vec::new();
        for node in 0..nodes.slots() {
            if seen[node as usize] || !nodes.alive(node) {
                continue;
            }
            let piece = self.search.piece(nodes, node);
            piece.iter().for_each(|&one| seen[one as usize] = true);
            sizes.push(piece.len());
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// Returns the amount of every label, before and now.
    #[must_use]
    pub fn amounts(&self) -> Vec<LabelAmount> {
        let none = |label: &str| LabelAmount {
            label: label.to_owned(),
            ..LabelAmount::default()
        };
        let mut amounts: Vec<LabelAmount> = self.labels().map(none).collect();
        let node_m3: f64 = self.spacing_m.iter().product();
        for (node, initial) in self.all() {
            let Some(amount) = amounts.get_mut(usize::from(initial.label)) else {
                continue;
            };
            let is_present = self.tissue.nodes().alive(node);
            amount.elements_before += u64::from(initial.present);
            amount.elements += u64::from(is_present);
            if initial.present && !is_present {
                amount.removed_m3 += node_m3;
            }
        }
        amounts
    }

    /// Returns the amount of a label, or of all labels.
    #[must_use]
    pub(crate) fn amount(&self, label: Option<&str>) -> LabelAmount {
        let mut sum = LabelAmount::default();
        for one in self.amounts() {
            if label.is_none_or(|label| label == one.label) {
                sum.elements_before += one.elements_before;
                sum.elements += one.elements;
                sum.removed_m3 += one.removed_m3;
            }
        }
        sum
    }

    /// Thickness of the removed tissue around all of a label \[m\]: distance to the nearest present node, less a
    /// spacing. None if nothing is left, or if the label was never present.
    #[must_use]
    pub(crate) fn margin_m(&self, label: &str) -> Option<f64> {
        let nodes = self.tissue.nodes();
        let of_label = self.all().filter(|(_, initial)| self.is_of(initial, label));
        let places_m: Vec<Vec3> = of_label.map(|(_, initial)| initial.at_m).collect();
        let present = self.all().filter(|&(node, _)| nodes.alive(node));
        let nearest_m2 = present
            .flat_map(|(_, initial)| {
                let far_m2 = |at_m: &Vec3| (at_m - initial.at_m).norm_squared();
                places_m.iter().map(far_m2).reduce(f64::min)
            })
            .reduce(f64::min)?;
        let spacing_m = self.spacing_m.iter().copied().fold(f64::MAX, f64::min);
        Some((nearest_m2.sqrt() - spacing_m).max(0.0))
    }

    /// Counts the nodes of a label that were removed, or of which a link was cut.
    #[must_use]
    pub(crate) fn damaged_nodes(&self, label: &str) -> u64 {
        let nodes = self.tissue.nodes();
        let mut damaged = vec![false; self.initial.len()];
        for (node, initial) in self.all() {
            damaged[node as usize] |= !nodes.alive(node);
            for (to, other) in NeighbourDirection::POSITIVE.into_iter().zip(initial.up) {
                if let Some(other) = other
                    && nodes.neighbour(node, to) != Some(other)
                {
                    damaged[node as usize] = true;
                    damaged[other as usize] = true;
                }
            }
        }
        let counted = self
            .all()
            .filter(|(node, initial)| damaged[*node as usize] && self.is_of(initial, label));
        counted.count() as u64
    }

    /// Returns both ends of every link, at rest \[m\].
    pub(crate) fn links_m(&self) -> impl Iterator<Item = (Vec3, Vec3)> {
        let nodes = self.tissue.nodes();
        (0..nodes.slots()).flat_map(move |node| {
            NeighbourDirection::POSITIVE
                .into_iter()
                .filter_map(move |to| {
                    let other = nodes.neighbour(node, to)?;
                    Some((nodes.rest_m(node), nodes.rest_m(other)))
                })
        })
    }

    /// Middle of the removed tissue; else of the cut links; else of all tissue \[m\].
    #[must_use]
    pub(crate) fn middle_m(&self) -> Vec3 {
        let nodes = self.tissue.nodes();
        let mean = |places_m: Vec<Vec3>| {
            let count = places_m.len() as f64;
            (count > 0.0).then(|| places_m.iter().sum::<Vec3>() / count)
        };
        let of = |which: &dyn Fn(u32, &InitialNode) -> bool| {
            let those = self
                .present()
                .filter(|&(node, initial)| which(node, initial));
            mean(those.map(|(_, initial)| initial.at_m).collect())
        };
        of(&|node, _| !nodes.alive(node))
            .or_else(|| of(&|node, initial| self.cuts(node, initial).contains(&true)))
            .or_else(|| of(&|_, _| true))
            .unwrap_or_default()
    }

    /// Returns the layer of nodes nearest to a place along an axis.
    pub(super) fn layer(&self, axis: usize, at_m: f64) -> impl Iterator<Item = LayerNode> {
        let half_m = 0.5 * self.spacing_m[axis] * (1.0 + 1e-9);
        let far_m = move |initial: &InitialNode| (initial.at_m[axis] - at_m).abs();
        let fars_m = self.present().map(|(_, initial)| far_m(initial));
        let nearest_m = fars_m.fold(half_m, f64::min);
        let near = move |initial: &InitialNode| (far_m(initial) - nearest_m).abs() < 1e-3 * half_m;
        let layer = self.present().filter(move |(_, initial)| near(initial));
        layer.map(|(node, initial)| LayerNode {
            at_m: initial.at_m,
            cuts: self.cuts(node, initial),
            colour: self.colour(initial.label),
            is_present: self.tissue.nodes().alive(node),
        })
    }

    /// Returns the surface at rest: places, triangles, and the colour of every place.
    #[must_use]
    pub fn surface(&self) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<[u8; 4]>) {
        let (nodes, surface) = (self.tissue.nodes(), self.tissue.surface());
        let vertices = || surface.vertices().iter();
        let colour = |&node: &u32| self.colour(nodes.material(node));
        (
            vertices().map(|&at| nodes.rest_m(at)).collect(),
            surface.faces().to_vec(),
            vertices().map(colour).collect(),
        )
    }

    /// Returns the position of every node at rest \[m\], with its colour.
    pub fn colours(&self) -> impl Iterator<Item = (Vec3, [u8; 4])> {
        let present = self.present();
        present.map(|(_, initial)| (initial.at_m, self.colour(initial.label)))
    }

    /// Returns true for each link of a node to the right, top and front that was cut though both ends are present.
    fn cuts(&self, node: u32, initial: &InitialNode) -> [bool; 3] {
        let nodes = self.tissue.nodes();
        let cut = |to: NeighbourDirection, other: u32| {
            let both = nodes.alive(node) && nodes.alive(other);
            both && nodes.neighbour(node, to).is_none()
        };
        let links = [0, 1, 2].map(|axis| (NeighbourDirection::POSITIVE[axis], initial.up[axis]));
        links.map(|(to, other)| other.is_some_and(|other| cut(to, other)))
    }

    fn colour(&self, label: u8) -> [u8; 4] {
        let of = self.labels.get(usize::from(label));
        of.map_or([128, 128, 128, 255], |(_, colour)| *colour)
    }

    fn all(&self) -> impl Iterator<Item = (u32, &InitialNode)> {
        (0..).zip(&self.initial)
    }

    /// Returns the nodes that were present at the start.
    fn present(&self) -> impl Iterator<Item = (u32, &InitialNode)> {
        self.all().filter(|(_, initial)| initial.present)
    }

    fn is_of(&self, initial: &InitialNode, label: &str) -> bool {
        let name = self.labels.get(usize::from(initial.label));
        initial.present && name.is_some_and(|(name, _)| name == label)
    }
}
