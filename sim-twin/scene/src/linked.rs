//! Scenes of a linked volume: a block in layers over a pinned ground, with inclusions, that can be cut.
//!
//! Source: ours; materials by [`Matter`]. The block is centred under the origin: its top is at z = 0 and its
//! ground at minus its height. Written as a block of finite elements is, with `[linked]` for `[block]`.

use serde::Deserialize;

use super::block::{InclusionText, LayerText, positive, wrong};
use super::{BlockError, Lump};
use palpate_geometry::mesh::Parts;
use palpate_geometry::mesh::hex::CORNERS;
use palpate_twin::Vec3;
use palpate_twin::shape::Shape;
use palpate_voxel::elements::{Elements, ElementsError, Frame, Seed};
use palpate_voxel::limits::Limits;
use palpate_voxel::matter::Matter;
use palpate_voxel::{Linked, LinkedError, LinkedParams};

/// Poisson's ratio of tissue where none is given.
const POISSON: f64 = 0.49;

/// Nearer than this below a layer, an element is of it \[m\].
const BORDER_M: f64 = 1e-9;

/// A block of elements and links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedBlock {
    /// Its edges \[m\].
    pub size_m: [f64; 3],
    /// Distance of neighbours \[m\].
    pub spacing_m: f64,
    /// Thickness \[m\] and material of layers from the top down.
    pub layers: Vec<(f64, Matter)>,
    /// Centre, radius \[m\] and material of balls; a later one replaces an earlier one.
    pub balls: Vec<(Vec3, f64, Matter)>,
    /// Choices of the model.
    pub params: LinkedParams,
}

/// Why there is no such block.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkedBlockError {
    /// A field of the scene is out of range.
    #[error(transparent)]
    Field(#[from] BlockError),
    /// No volume can be made of it.
    #[error("table [linked]: {0}")]
    Elements(#[from] ElementsError),
    /// The model refuses a parameter.
    #[error("table [linked]: {0}")]
    Params(#[from] LinkedError),
}

impl LinkedBlock {
    /// Elements along each edge.
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

    /// The material of a place, an index of layers and then balls.
    fn matter_at(&self, at_m: &Vec3) -> u8 {
        let ball =
            |(centre_m, radius_m, _): &(Vec3, f64, Matter)| (at_m - centre_m).norm() <= *radius_m;
        if let Some(index) = self.balls.iter().rposition(ball) {
            return u8::try_from(self.layers.len() + index).unwrap_or(u8::MAX);
        }
        let mut left_m = -at_m.z;
        let layer = self.layers.iter().position(|(thickness_m, _)| {
            left_m -= thickness_m;
            left_m < BORDER_M
        });
        let last = self.layers.len() - 1;
        u8::try_from(layer.unwrap_or(last)).unwrap_or(u8::MAX)
    }

    /// The volume at rest, its lowest elements pinned.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn volume(&self) -> Result<Elements<f32>, ElementsError> {
        let counts = self.counts();
        let half = |axis: usize| -0.5 * f64::from(counts[axis] - 1) * self.spacing_m;
        let frame = Frame {
            origin_m: Vec3::new(half(0), half(1), 2.0 * half(2)),
            spacing_m: [self.spacing_m; 3],
        };
        let sites = (0..counts[2])
            .flat_map(|z| (0..counts[1]).flat_map(move |y| (0..counts[0]).map(move |x| [x, y, z])));
        let seeds: Vec<Seed> = sites
            .map(|site| Seed {
                site,
                matter: self.matter_at(&frame.rest_m(site)),
                object: 0,
            })
            .collect();
        let layers = self.layers.iter().map(|(_, matter)| matter.clone());
        let balls = self.balls.iter().map(|(_, _, matter)| matter.clone());
        let mut volume = Elements::new(frame, layers.chain(balls).collect(), &seeds)?;
        for element in 0..volume.slots() {
            volume.pin(element, volume.site(element)[2] == 0);
        }
        Ok(volume)
    }

    /// A new tissue, at rest.
    ///
    /// # Errors
    /// If the volume or a parameter is unfit.
    pub fn solver(&self) -> Result<Linked, LinkedBlockError> {
        Ok(Linked::new(self.volume()?, self.params)?)
    }

    /// The layer around a place, whatever balls are there.
    #[must_use]
    pub(crate) fn layer_at(&self, at_m: &Vec3) -> usize {
        let mut left_m = -at_m.z;
        let around = self.layers.iter().position(|(thickness_m, _)| {
            left_m -= thickness_m;
            left_m <= 0.0
        });
        // a block that was read has layers
        around.unwrap_or(self.layers.len() - 1)
    }

    /// The material of that layer.
    #[must_use]
    pub fn host(&self, at_m: &Vec3) -> &Matter {
        &self.layers[self.layer_at(at_m)].1
    }

    /// Where the elements of each layer are.
    pub(super) fn slices(&self) -> Vec<Shape> {
        let last = self.layers.len() - 1;
        let (mut top_m, mut next_m) = (f64::MAX, 0.0);
        let slice = |(index, (thickness_m, _)): (usize, &(f64, Matter))| {
            next_m -= thickness_m;
            // one on a border is of the layer above
            let from_m = if index == last {
                f64::MIN
            } else {
                next_m - BORDER_M
            };
            Shape::Layer {
                from_m,
                to_m: std::mem::replace(&mut top_m, from_m),
            }
        };
        self.layers.iter().enumerate().map(slice).collect()
    }

    /// Balls as seen from above, with their stiffness over that of the layer around them.
    #[must_use]
    pub fn lumps(&self) -> Vec<Lump> {
        let lump = |(centre_m, radius_m, matter): &(Vec3, f64, Matter)| Lump {
            center_m: [centre_m.x, centre_m.y],
            radius_m: *radius_m,
            factor: matter.modulus_pa / self.host(centre_m).modulus_pa,
        };
        self.balls.iter().map(lump).collect()
    }
}

/// Cells of a volume at rest: hexahedra between eight elements that are there, of the material of their lowest
/// corner, which is numbered from 1.
#[must_use]
pub fn cells(volume: &Elements<f32>) -> Parts {
    let all = 0..volume.slots();
    let mut parts = Parts {
        nodes_m: all.clone().map(|element| volume.rest_m(element)).collect(),
        ..Parts::default()
    };
    for element in all {
        let site = volume.site(element);
        let corner = |signs: [f64; 3]| {
            let next = |axis: usize| site[axis] + i32::from(signs[axis] > 0.0);
            let found = volume.at_site([next(0), next(1), next(2)]);
            found.filter(|&found| volume.alive(found))
        };
        let nodes: Option<Vec<u32>> = CORNERS.into_iter().map(corner).collect();
        if let Some(&nodes) = nodes.as_deref().and_then(<[u32]>::first_chunk::<8>) {
            let number = u32::from(volume.matter(element)) + 1;
            parts.hexes.push(nodes, number);
        }
    }
    let matters = volume.bonds().matters().iter();
    parts.names = (1..)
        .map(|number| (3, number))
        .zip(matters.map(|matter| matter.name.clone()))
        .collect();
    parts
}

/// Most elements of a scene.
pub(super) const COUNT_MAX: f64 = 4e6;

/// The table `[linked]`: `size_m` and `spacing_m` of a block of layers (of voxels `spacing_m` only, if it is not
/// theirs), `sweep_s` and `over_relaxation` of [`LinkedParams`], `friction`, Coulomb's coefficient of what tools
/// press, `jaw_friction`, that of jaws if they are smooth, `tears`, whether links break that what jaws pull has stretched as far as they go, and `curette_share` of
/// [`LinkedParams`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkedText {
    size_m: Option<[f64; 3]>,
    spacing_m: Option<f64>,
    sweep_s: Option<f64>,
    over_relaxation: Option<f32>,
    friction: Option<f64>,
    jaw_friction: Option<f64>,
    tears: Option<bool>,
    curette_share: Option<f64>,
}

/// The keys of a material.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatterText {
    young_pa: f64,
    poisson: Option<f64>,
    toughness_jpm2: Option<f64>,
    shortest: Option<f64>,
    longest: Option<f64>,
    shear: Option<f64>,
    colour: Option<[u8; 3]>,
}

impl MatterText {
    /// The material of a layer or inclusion, from the keys of its entry that are not its `own`.
    pub(super) fn matter(
        keys: &toml::Table,
        field: &str,
        name: &str,
        own: &'static str,
    ) -> Result<Matter, LinkedBlockError> {
        let read: Result<Self, toml::de::Error> = keys.clone().try_into();
        let text = read.map_err(|error| BlockError::Keys {
            field: field.to_owned(),
            message: error.message().to_owned(),
            own,
        })?;
        positive(format!("{field}.young_pa"), text.young_pa)?;
        let poisson = text.poisson.unwrap_or(POISSON);
        if !(0.0..=0.5).contains(&poisson) {
            let field = format!("{field}.poisson");
            return Err(wrong(field, poisson, "0 to 0.5").into());
        }
        let base = Matter::of_young(name, text.young_pa, poisson);
        let give = Limits::LOOSE;
        let matter = Matter {
            limits: Limits::even(
                text.shortest.unwrap_or(give.shortest[0]),
                text.longest.unwrap_or(give.longest[0]),
                // steep walls of a dent need more than the source's tissue gives
                text.shear.unwrap_or(1.5),
            ),
            toughness_jpm2: text.toughness_jpm2.unwrap_or(base.toughness_jpm2),
            colour: text.colour.map_or(base.colour, |[r, g, b]| [r, g, b, 255]),
            ..base
        };
        matter.check().map_err(ElementsError::from)?;
        Ok(matter)
    }
}

impl LinkedText {
    pub(super) fn block(
        &self,
        layers: &[LayerText],
        inclusions: &[InclusionText],
    ) -> Result<LinkedBlock, LinkedBlockError> {
        let missing = |field: &str, expected| wrong(field.to_owned(), "missing", expected);
        let edges = "the edges of a block, or a table [volume]";
        let size_m = self.size_m.ok_or_else(|| missing("linked.size_m", edges))?;
        let apart = "the distance of elements";
        let spacing_m = self
            .spacing_m
            .ok_or_else(|| missing("linked.spacing_m", apart))?;
        for (axis, &edge_m) in size_m.iter().enumerate() {
            positive(format!("linked.size_m[{axis}]"), edge_m)?;
        }
        positive("linked.spacing_m", spacing_m)?;
        let counts = size_m.map(|edge_m| (edge_m / spacing_m).round() + 1.0);
        if counts.iter().product::<f64>() > COUNT_MAX || counts.iter().any(|&count| count < 2.0) {
            let expected = "2 elements an edge or more, and 4 million at most";
            return Err(wrong("linked.spacing_m".into(), spacing_m, expected).into());
        }
        let block = LinkedBlock {
            size_m,
            spacing_m,
            layers: stack(size_m, layers)?,
            balls: balls(size_m, inclusions)?,
            params: self.params(),
        };
        // built once here, so that a scene that loads can also be built
        block.solver()?;
        Ok(block)
    }

    fn params(&self) -> LinkedParams {
        let ours = LinkedParams::default();
        LinkedParams {
            sweep_s: self.sweep_s.unwrap_or(ours.sweep_s),
            omega: self.over_relaxation.unwrap_or(ours.omega),
            friction: self.friction.unwrap_or(ours.friction),
            jaw_friction: self.jaw_friction,
            tears: self.tears.unwrap_or(ours.tears),
            curette_share: self.curette_share.unwrap_or(ours.curette_share),
            ..ours
        }
    }

    /// What of it a body of voxels takes: the distance of elements \[m\], if it is not theirs, and the model's
    /// choices.
    pub(super) fn of_voxels(&self) -> Result<(Option<f64>, LinkedParams), LinkedBlockError> {
        if let Some(size_m) = self.size_m {
            let expected = "no size: that of the volume is taken";
            return Err(wrong("linked.size_m".into(), format!("{size_m:?}"), expected).into());
        }
        if let Some(spacing_m) = self.spacing_m {
            positive("linked.spacing_m", spacing_m)?;
        }
        Ok((self.spacing_m, self.params()))
    }
}

/// Layers from the top down.
fn stack(size_m: [f64; 3], texts: &[LayerText]) -> Result<Vec<(f64, Matter)>, LinkedBlockError> {
    if texts.is_empty() {
        return Err(wrong("layer".into(), "missing", "at least one [[layer]]").into());
    }
    let mut left_m = size_m[2];
    let mut layers = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let field = format!("layer[{index}]");
        let last = index + 1 == texts.len();
        let thickness_m = text.thickness_m.or(last.then_some(left_m));
        let Some(thickness_m) = thickness_m else {
            let expected = "a number; only the last layer goes down to the ground";
            return Err(wrong(format!("{field}.thickness_m"), "missing", expected).into());
        };
        positive(format!("{field}.thickness_m"), thickness_m)?;
        left_m -= thickness_m;
        if left_m < -1e-9 * size_m[2] {
            let expected = format!("layers of {} m together", size_m[2]);
            let field = format!("{field}.thickness_m");
            return Err(wrong(field, thickness_m, &expected).into());
        }
        let name = text.name.clone().unwrap_or_else(|| field.clone());
        let own = "`name` and `thickness_m`";
        layers.push((
            thickness_m,
            MatterText::matter(&text.material, &field, &name, own)?,
        ));
    }
    Ok(layers)
}

/// Balls in a block.
fn balls(
    size_m: [f64; 3],
    texts: &[InclusionText],
) -> Result<Vec<(Vec3, f64, Matter)>, LinkedBlockError> {
    let mut balls = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let field = format!("inclusion[{index}]");
        let centre_m = text.centre_m(&field, size_m)?;
        let name = text.name.clone().unwrap_or_else(|| field.clone());
        let own = "`name`, `center_m` and `radius_m`";
        let matter = MatterText::matter(&text.material, &field, &name, own)?;
        balls.push((centre_m, text.radius_m, matter));
    }
    Ok(balls)
}

#[cfg(test)]
mod tests {
    use crate::{Body, Scene, load};
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

    /// Friction and tearing are fields of layers and of voxels alike, and refused by name.
    #[test]
    fn tp_05_friction_and_tears_are_fields_of_scenes() {
        for body in [LAYERS, VOXELS] {
            let params = |keys: &str| {
                let scene = load(&text(keys, body)).expect("a scene");
                match scene.body {
                    Body::Linked(block) => block.params,
                    Body::Voxels(body) => body.params,
                    _ => panic!("not linked"),
                }
            };
            let plain = params("");
            assert_eq!((plain.friction, plain.tears), (0.0, false));
            let own = params("friction = 0.35\ntears = true");
            assert_eq!((own.friction, own.tears), (0.35, true));
            for (keys, told) in [
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
                assert!(refused.contains(told), "{keys}: {refused}");
            }
        }
    }

    /// Presses 2 mm deep, then goes 4 mm along x; the last reaction.
    fn dragged(scene: &Scene) -> Reaction {
        let mut tissue = scene.build().expect("a tissue");
        let mut felt = [Reaction::default()];
        for tick in 0..400 {
            let (down, along) = (f64::from(tick.min(200)), f64::from((tick - 200).max(0)));
            let high_m = scene.tool_radius_m - 2e-3 * down / 200.0;
            let tool = scene.tool_at(Vec3::new(4e-3 * along / 200.0, 0.0, high_m));
            tissue.step(&[tool], 1e-3, &mut felt);
        }
        felt[0]
    }

    /// What a scene says is what its tissue does: it rubs, and it tears.
    #[test]
    fn tp_05_a_scene_rubs_and_tears_as_it_says() {
        let of = |keys: &str| load(&text(keys, LAYERS)).expect("a scene");
        let [smooth, rough] = ["", "friction = 0.3"].map(|keys| dragged(&of(keys)).force_n);
        assert!(
            rough.x < -0.1 * rough.z && smooth.x.abs() < 0.3 * rough.x.abs(),
            "{smooth} {rough}"
        );
        let [held, torn] = ["", "tears = true"].map(|keys| {
            let scene = of(keys);
            let mut tissue = scene.build().expect("a tissue");
            let mut felt = [Reaction::default()];
            let mut changes = 0;
            for tick in 0..300 {
                let mut tool = scene.tool_at(Vec3::z() * 2e-4 * f64::from(tick));
                tool.radius_m = 2e-3;
                tool.jaws = Some(Jaws {
                    opening_m: 2e-3,
                    opening_velocity_mps: 0.0,
                    closed: tick > 0,
                });
                tissue.step(&[tool], 1e-3, &mut felt);
                changes += tissue.view().changes.len();
            }
            changes
        });
        assert!(held == 0 && torn > 0, "{held} {torn}");
    }
}
