//! Layers over a rigid ground with balls in them: common parts of finite-element blocks and voxel blocks.
//!
//! Source: ours. A block is centred under the origin: its top is at z = 0 and its ground at minus its height.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::text::{field_error, require_positive};
use super::{Lump, SceneError};
use palpate_twin::Vec3;
use palpate_twin::law::Material;
use palpate_twin::shape::RegionShape;

/// Layer of a material.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer<M = Material> {
    /// Its name.
    pub name: String,
    /// Its thickness \[m\].
    pub thickness_m: f64,
    /// Material.
    pub material: M,
}

/// Ball of another material.
#[derive(Debug, Clone, PartialEq)]
pub struct Inclusion<M = Material> {
    /// Its name.
    pub name: String,
    /// Its centre \[m\], below z = 0.
    pub centre_m: Vec3,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// Material.
    pub material: M,
}

/// Material of layers and balls.
pub(super) trait LayerMaterial: Sized {
    /// Stiffness \[Pa\].
    fn stiffness_pa(&self) -> f64;

    /// Reads a material from the keys of an entry, with its name in case the text gives no `name`.
    ///
    /// # Errors
    /// Names the key, its value and the valid form.
    fn read(entry: &MaterialEntry<'_>, name: Option<&String>)
    -> Result<(String, Self), SceneError>;
}

/// Entry of a scene with keys of a material.
pub(super) struct MaterialEntry<'a> {
    /// Its path in the scene, for messages.
    pub(super) field: String,
    /// Keys of the material.
    pub(super) keys: &'a toml::Table,
    /// Other keys of the entry, for messages.
    pub(super) own_keys: &'static str,
}

impl MaterialEntry<'_> {
    /// Parses the keys of the material as `T`, which refuses unknown ones.
    pub(super) fn parse_keys<T: DeserializeOwned>(&self) -> Result<T, SceneError> {
        let read: Result<T, toml::de::Error> = self.keys.clone().try_into();
        read.map_err(|error| {
            let message = format!("{}; beside {}", error.message(), self.own_keys);
            SceneError::in_field(&self.field, message)
        })
    }
}

/// Entry of `[[layer]]`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LayerText {
    name: Option<String>,
    /// Optional for the last layer, which extends to the ground.
    thickness_m: Option<f64>,
    /// All other keys, for a material: a flattened material would accept unknown keys.
    #[serde(flatten)]
    material: toml::Table,
}

/// Entry of `[[inclusion]]`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InclusionText {
    name: Option<String>,
    center_m: [f64; 3],
    radius_m: f64,
    /// All other keys, as those of a layer.
    #[serde(flatten)]
    material: toml::Table,
}

/// Reads layers of a block of this size \[m\] from the top down. Their total thickness is the height of the block if they
/// must be `whole`, else at most that.
pub(super) fn layers<M: LayerMaterial>(
    texts: &[LayerText],
    size_m: [f64; 3],
    whole: bool,
) -> Result<Vec<Layer<M>>, SceneError> {
    if texts.is_empty() {
        return Err(field_error("layer", "missing", "at least one [[layer]]"));
    }
    let mut left_m = size_m[2];
    let mut layers = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let entry = MaterialEntry {
            field: format!("layer[{index}]"),
            keys: &text.material,
            own_keys: "`name` and `thickness_m`",
        };
        let field = format!("{}.thickness_m", entry.field);
        let last = index + 1 == texts.len();
        let thickness_m = text.thickness_m.or(last.then_some(left_m));
        let Some(thickness_m) = thickness_m else {
            let expected = "a number; only the last layer goes down to the ground";
            return Err(field_error(field, "missing", expected));
        };
        require_positive(&field, thickness_m)?;
        left_m -= thickness_m;
        let beyond = left_m < -1e-9 * size_m[2];
        let short = whole && last && left_m > 1e-9 * size_m[2];
        if beyond || short {
            let expected = format!("layers of {} m together", size_m[2]);
            return Err(field_error(field, thickness_m, expected));
        }
        let (name, material) = M::read(&entry, text.name.as_ref())?;
        layers.push(Layer {
            name,
            thickness_m,
            material,
        });
    }
    Ok(layers)
}

/// Reads balls in a block of this size \[m\].
pub(super) fn inclusions<M: LayerMaterial>(
    texts: &[InclusionText],
    size_m: [f64; 3],
) -> Result<Vec<Inclusion<M>>, SceneError> {
    let mut inclusions = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let entry = MaterialEntry {
            field: format!("inclusion[{index}]"),
            keys: &text.material,
            own_keys: "`name`, `center_m` and `radius_m`",
        };
        require_positive(format!("{}.radius_m", entry.field), text.radius_m)?;
        let centre_m = Vec3::from(text.center_m);
        let inside = centre_m.x.abs() <= 0.5 * size_m[0]
            && centre_m.y.abs() <= 0.5 * size_m[1]
            && (-size_m[2]..=0.0).contains(&centre_m.z);
        if !inside {
            let field = format!("{}.center_m", entry.field);
            let expected = "a place inside the block, whose top is at z = 0";
            return Err(field_error(field, format!("{:?}", text.center_m), expected));
        }
        let (name, material) = M::read(&entry, text.name.as_ref())?;
        inclusions.push(Inclusion {
            name,
            centre_m,
            radius_m: text.radius_m,
            material,
        });
    }
    Ok(inclusions)
}

/// Index of the layer at a position, regardless of balls; none without layers.
pub(super) fn host_layer<M>(layers: &[Layer<M>], at_m: &Vec3) -> Option<usize> {
    let mut left_m = -at_m.z;
    let around = layers.iter().position(|layer| {
        left_m -= layer.thickness_m;
        left_m <= 0.0
    });
    around.or(layers.len().checked_sub(1))
}

/// Shapes of the layers, then of the balls; positions less than `border_m` \[m\] below a layer belong to it.
pub(super) fn shapes<M>(
    layers: &[Layer<M>],
    inclusions: &[Inclusion<M>],
    border_m: f64,
) -> Vec<RegionShape> {
    let (mut top_m, mut next_m) = (f64::MAX, 0.0);
    let slice = |(index, layer): (usize, &Layer<M>)| {
        next_m -= layer.thickness_m;
        let last = index + 1 == layers.len();
        let from_m = if last { f64::MIN } else { next_m - border_m };
        RegionShape::Layer {
            from_m,
            to_m: std::mem::replace(&mut top_m, from_m),
        }
    };
    let slices = layers.iter().enumerate().map(slice);
    let balls = inclusions.iter().map(|ball| RegionShape::Ball {
        centre_m: ball.centre_m,
        radius_m: ball.radius_m,
    });
    slices.chain(balls).collect()
}

/// Balls as seen from above, with their stiffness over that of the layer around them.
pub(super) fn lumps<M: LayerMaterial>(
    layers: &[Layer<M>],
    inclusions: &[Inclusion<M>],
) -> Vec<Lump> {
    let lump = |ball: &Inclusion<M>| {
        let host = &layers[host_layer(layers, &ball.centre_m)?];
        Some(Lump {
            center_m: [ball.centre_m.x, ball.centre_m.y],
            radius_m: ball.radius_m,
            factor: ball.material.stiffness_pa() / host.material.stiffness_pa(),
        })
    };
    inclusions.iter().filter_map(lump).collect()
}
