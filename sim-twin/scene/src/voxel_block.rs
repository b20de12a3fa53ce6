//! Scenes of a voxel model: a block in layers over a pinned ground, with inclusions, that can be cut.
//!
//! Source: ours; materials by [`VoxelMaterial`]. The block is centred under the origin: its top is at z = 0 and its
//! ground at minus its height. The text is that of a finite-element block, with `[linked]` for `[block]`.

use serde::Deserialize;

use super::layered::{self, InclusionText, LayerMaterial, LayerText, MaterialEntry};
use super::text::{YOUNG_PA, field_error, require_positive, require_within};
use super::{Inclusion, Layer, SceneError};
use palpate_geometry::mesh::MixedMesh;
use palpate_geometry::mesh::hex::CORNERS;
use palpate_twin::Vec3;
use palpate_twin::shape::RegionShape;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes, VoxelNodesError};
use palpate_voxel::{VoxelModel, VoxelParams};

/// Poisson's ratio of tissue where none is given.
const POISSON: f64 = 0.49;

/// Distance below a layer within which a node belongs to it \[m\].
const BORDER_M: f64 = 1e-9;

/// Block of a voxel model.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelBlock {
    /// Its edges \[m\].
    pub size_m: [f64; 3],
    /// Distance of neighbours \[m\].
    pub spacing_m: f64,
    /// Layers from the top down.
    pub layers: Vec<Layer<VoxelMaterial>>,
    /// Balls; a later one replaces an earlier one.
    pub inclusions: Vec<Inclusion<VoxelMaterial>>,
    /// Parameters of the model.
    pub params: VoxelParams,
}

impl VoxelBlock {
    /// Nodes along each edge.
    fn counts(&self) -> [i32; 3] {
        self.size_m.map(|edge_m| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most COUNT_MAX, see parse"
            )]
            let count = (edge_m / self.spacing_m).round() as i32;
            count + 1
        })
    }

    /// Material at a position, an index of layers and then balls.
    fn material_index(&self, at_m: &Vec3) -> u8 {
        let ball = |ball: &Inclusion<VoxelMaterial>| ball.shape().contains(at_m);
        if let Some(index) = self.inclusions.iter().rposition(ball) {
            return u8::try_from(self.layers.len() + index).unwrap_or(u8::MAX);
        }
        let mut left_m = -at_m.z;
        let layer = self.layers.iter().position(|layer| {
            left_m -= layer.thickness_m;
            left_m < BORDER_M
        });
        let last = self.layers.len() - 1;
        u8::try_from(layer.unwrap_or(last)).unwrap_or(u8::MAX)
    }

    /// Creates the nodes at rest, with the lowest ones pinned.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn volume(&self) -> Result<VoxelNodes<f32>, VoxelNodesError> {
        let counts = self.counts();
        let half = |axis: usize| -0.5 * f64::from(counts[axis] - 1) * self.spacing_m;
        let frame = LatticeFrame {
            origin_m: Vec3::new(half(0), half(1), 2.0 * half(2)),
            spacing_m: [self.spacing_m; 3],
        };
        let sites = (0..counts[2])
            .flat_map(|z| (0..counts[1]).flat_map(move |y| (0..counts[0]).map(move |x| [x, y, z])));
        let seeds: Vec<NodeSeed> = sites
            .map(|site| NodeSeed {
                site,
                material: self.material_index(&frame.rest_m(site)),
                object: 0,
            })
            .collect();
        let layers = self.layers.iter().map(|layer| layer.material.clone());
        let balls = self.inclusions.iter().map(|ball| ball.material.clone());
        let mut volume = VoxelNodes::new(frame, layers.chain(balls).collect(), &seeds)?;
        for node in 0..volume.slots() {
            volume.set_pinned(node, volume.site(node)[2] == 0);
        }
        Ok(volume)
    }

    /// Creates a tissue, at rest.
    ///
    /// # Errors
    /// If the nodes or a parameter are unfit.
    pub fn solver(&self) -> Result<VoxelModel, SceneError> {
        Ok(VoxelModel::new(self.volume()?, self.params)?)
    }

    /// Material of the layer at a position, regardless of balls.
    ///
    /// # Panics
    /// Without layers; a block from a scene has some.
    #[must_use]
    pub fn host_material(&self, at_m: &Vec3) -> &VoxelMaterial {
        &self.layers[layered::host_layer(&self.layers, at_m).unwrap_or(0)].material
    }

    /// Shapes of the layers and balls; a node on a border belongs to the layer above.
    pub(super) fn shapes(&self) -> Vec<RegionShape> {
        layered::shapes(&self.layers, &self.inclusions, BORDER_M)
    }
}

/// Cells of a voxel model at rest: hexahedra between eight existing nodes, with the material of their lowest
/// corner, numbered from 1.
#[must_use]
pub fn hexahedra(volume: &VoxelNodes<f32>) -> MixedMesh {
    let all = 0..volume.slots();
    let mut parts = MixedMesh {
        nodes_m: all.clone().map(|node| volume.rest_m(node)).collect(),
        ..MixedMesh::default()
    };
    for node in all {
        let site = volume.site(node);
        let corner = |signs: [f64; 3]| {
            let next = |axis: usize| site[axis] + i32::from(signs[axis] > 0.0);
            let found = volume.at_site([next(0), next(1), next(2)]);
            found.filter(|&found| volume.alive(found))
        };
        let nodes: Option<Vec<u32>> = CORNERS.into_iter().map(corner).collect();
        if let Some(&nodes) = nodes.as_deref().and_then(<[u32]>::first_chunk::<8>) {
            let number = u32::from(volume.material(node)) + 1;
            parts.hexes.push(nodes, number);
        }
    }
    let materials = volume.bonds().materials().iter();
    parts.name_cells(materials.map(|material| material.name.clone()));
    parts
}

/// Most nodes of a scene.
pub(super) const NODES_MAX: f64 = 4e6;

/// Table `[linked]`: `size_m` and `spacing_m` of a block of layers (for voxels only `spacing_m`, if it differs from
/// that of the voxels), `sweep_s`, `over_relaxation` and `curette_share` of [`VoxelParams`]. `friction` is Coulomb's
/// coefficient of pressing tools, `jaw_friction` that of smooth jaws. `tears` is true if links break at their longest
/// stretch under a pull of jaws.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VoxelModelText {
    size_m: Option<[f64; 3]>,
    spacing_m: Option<f64>,
    sweep_s: Option<f64>,
    over_relaxation: Option<f32>,
    friction: Option<f64>,
    jaw_friction: Option<f64>,
    tears: Option<bool>,
    curette_share: Option<f64>,
}

/// Keys of a material.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoxelMaterialText {
    young_pa: f64,
    poisson: Option<f64>,
    toughness_jpm2: Option<f64>,
    shortest: Option<f64>,
    longest: Option<f64>,
    shear: Option<f64>,
    colour: Option<[u8; 3]>,
}

impl LayerMaterial for VoxelMaterial {
    fn stiffness_pa(&self) -> f64 {
        self.modulus_pa
    }

    /// Its name is its path in the scene.
    fn read(
        entry: &MaterialEntry<'_>,
        name: Option<&String>,
    ) -> Result<(String, Self), SceneError> {
        let field = &entry.field;
        let name = name.unwrap_or(field);
        let text: VoxelMaterialText = entry.parse_keys()?;
        require_positive(format!("{field}.young_pa"), text.young_pa)?;
        require_within(format!("{field}.young_pa"), text.young_pa, YOUNG_PA)?;
        let poisson = text.poisson.unwrap_or(POISSON);
        if !(0.0..=0.5).contains(&poisson) {
            return Err(field_error(format!("{field}.poisson"), poisson, "0 to 0.5"));
        }
        let base = Self::of_young(name, text.young_pa, poisson);
        let default_limits = BondLimits::LOOSE;
        let material = Self {
            limits: BondLimits::even(
                text.shortest.unwrap_or(default_limits.shortest[0]),
                text.longest.unwrap_or(default_limits.longest[0]),
                // steep walls of a dent need a larger limit than the source's tissue
                text.shear.unwrap_or(1.5),
            ),
            toughness_jpm2: text.toughness_jpm2.unwrap_or(base.toughness_jpm2),
            colour: text.colour.map_or(base.colour, |[r, g, b]| [r, g, b, 255]),
            ..base
        };
        material.check().map_err(VoxelNodesError::from)?;
        Ok((name.clone(), material))
    }
}

impl VoxelModelText {
    pub(super) fn block(
        &self,
        layers: &[LayerText],
        inclusions: &[InclusionText],
    ) -> Result<VoxelBlock, SceneError> {
        let missing = |field, expected| field_error(field, "missing", expected);
        let edges = "the edges of a block, or a table [volume]";
        let size_m = self.size_m.ok_or_else(|| missing("linked.size_m", edges))?;
        let expected = "the distance of nodes";
        let spacing_m = self
            .spacing_m
            .ok_or_else(|| missing("linked.spacing_m", expected))?;
        for (axis, &edge_m) in size_m.iter().enumerate() {
            require_positive(format!("linked.size_m[{axis}]"), edge_m)?;
        }
        require_positive("linked.spacing_m", spacing_m)?;
        let counts = size_m.map(|edge_m| (edge_m / spacing_m).round() + 1.0);
        if counts.iter().product::<f64>() > NODES_MAX || counts.iter().any(|&count| count < 2.0) {
            let expected = "2 nodes an edge or more, and 4 million at most";
            return Err(field_error("linked.spacing_m", spacing_m, expected));
        }
        let block = VoxelBlock {
            size_m,
            spacing_m,
            layers: layered::layers(layers, size_m, false)?,
            inclusions: layered::inclusions(inclusions, size_m)?,
            params: self.params(),
        };
        // built once here, so that a scene that loads can also be built
        block.solver()?;
        Ok(block)
    }

    fn params(&self) -> VoxelParams {
        let ours = VoxelParams::default();
        VoxelParams {
            pass_s: self.sweep_s.unwrap_or(ours.pass_s),
            omega: self.over_relaxation.unwrap_or(ours.omega),
            friction: self.friction.unwrap_or(ours.friction),
            jaw_friction: self.jaw_friction,
            tears: self.tears.unwrap_or(ours.tears),
            curette_share: self.curette_share.unwrap_or(ours.curette_share),
            ..ours
        }
    }

    /// Parameters for a body of voxels: the distance of nodes \[m\], if it differs from that of the voxels, and the model's
    /// parameters.
    pub(super) fn voxel_choices(&self) -> Result<(Option<f64>, VoxelParams), SceneError> {
        if let Some(size_m) = self.size_m {
            let expected = "no size: that of the volume is taken";
            return Err(field_error(
                "linked.size_m",
                format!("{size_m:?}"),
                expected,
            ));
        }
        if let Some(spacing_m) = self.spacing_m {
            require_positive("linked.spacing_m", spacing_m)?;
        }
        Ok((self.spacing_m, self.params()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scene, SceneBody, load};
    use palpate_twin::{Jaws, Reaction, Vec3};

    const LAYERS: &str = "size_m = [0.03, 0.02, 0.01]\nspacing_m = 0.002\n\
                          [[layer]]\nyoung_pa = 5000.0\n";
    const VOXELS: &str = "spacing_m = 0.006\n[volume]\nphantom = { seed = 1 }\nempty = [2, 3, 4, 5, 6]\n\
                          [[material]]\nlabel = 1\nyoung_pa = 5000.0\n";

    fn text(keys: &str, body: &str) -> String {
        format!(
            "name = \"own\"\n[tool]\nradius_m = 0.005\nstiffness_npm = 1000.0\n[linked]\n{keys}\n{body}"
        )
    }

    /// Friction and tearing are keys of layers and of voxels, and refused by name.
    #[test]
    fn tp_05_friction_and_tears_are_scene_keys() {
        for body in [LAYERS, VOXELS] {
            let params = |keys: &str| {
                let scene = load(&text(keys, body)).expect("a scene");
                match scene.body {
                    SceneBody::VoxelBlock(block) => block.params,
                    SceneBody::VoxelBody(body) => body.params,
                    _ => panic!("no voxel model"),
                }
            };
            let plain = params("");
            assert_eq!((plain.friction, plain.tears), (0.0, false));
            let own = params("friction = 0.35\ntears = true");
            assert_eq!((own.friction, own.tears), (0.35, true));
            for (keys, part) in [
                ("friction = -0.1", "`friction` is -0.1; expected 0 to 10"),
                ("friction = nan", "`friction` is NaN; expected 0 to 10"),
                (
                    "jaw_friction = -1",
                    "`jaw_friction` is -1; expected 0 to 10",
                ),
                ("friction = inf", "`friction` is inf; expected 0 to 10"),
                ("tears = 1", "tears"),
                ("curette_share = 2", "`curette_share` is 2; expected 0 to 1"),
            ] {
                let refused = load(&text(keys, body)).expect_err(keys).to_string();
                assert!(refused.contains(part), "{keys}: {refused}");
            }
        }
    }

    /// Presses 2 mm deep, then moves 4 mm along x; returns the last reaction.
    fn dragged(scene: &Scene) -> Reaction {
        let mut tissue = scene.build().expect("a tissue");
        let mut reactions = [Reaction::default()];
        for tick in 0..400 {
            let (down, along) = (f64::from(tick.min(200)), f64::from((tick - 200).max(0)));
            let high_m = scene.tool_radius_m - 2e-3 * down / 200.0;
            let tool = scene.tool_at(Vec3::new(4e-3 * along / 200.0, 0.0, high_m));
            tissue.step(&[tool], 1e-3, &mut reactions);
        }
        reactions[0]
    }

    /// The friction and tearing of a scene act in its tissue.
    #[test]
    fn tp_05_friction_and_tears_act_in_the_tissue() {
        let of = |keys: &str| load(&text(keys, LAYERS)).expect("a scene");
        let [smooth, rough] = ["", "friction = 0.3"].map(|keys| dragged(&of(keys)).force_n);
        assert!(
            rough.x < -0.1 * rough.z && smooth.x.abs() < 0.3 * rough.x.abs(),
            "{smooth} {rough}"
        );
        let [held, torn] = ["", "tears = true"].map(|keys| {
            let scene = of(keys);
            let mut tissue = scene.build().expect("a tissue");
            let mut reactions = [Reaction::default()];
            let mut changes = 0;
            for tick in 0..300 {
                let mut tool = scene.tool_at(Vec3::z() * 2e-4 * f64::from(tick));
                tool.radius_m = 2e-3;
                tool.jaws = Some(Jaws {
                    opening_m: 2e-3,
                    opening_velocity_mps: 0.0,
                    closed: tick > 0,
                });
                tissue.step(&[tool], 1e-3, &mut reactions);
                changes += tissue.view().changes.len();
            }
            changes
        });
        assert!(held == 0 && torn > 0, "{held} {torn}");
    }
}
