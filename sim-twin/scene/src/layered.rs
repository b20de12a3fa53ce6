//! Layers over a rigid ground with inclusions in them: common parts of finite-element blocks and voxel blocks.
//!
//! Source: ours. A block is centred under the origin: its top is at z = 0 and its ground at minus its height.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::text::{field_error, require_positive};
use super::{Lump, SceneError};
use palpate_twin::Vec3;
use palpate_twin::law::Material;
use palpate_twin::shape::{RegionShape, SolidForm, TurnedSolid};

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

/// Ball, box or ellipsoid of another material.
#[derive(Debug, Clone, PartialEq)]
pub struct Inclusion<M = Material> {
    /// Its name.
    pub name: String,
    /// Its centre \[m\], below z = 0.
    pub centre_m: Vec3,
    /// Radius of the ball, or of the upright cylinder around another form \[m\].
    pub radius_m: f64,
    /// Its form, if it is no ball.
    pub solid: Option<TurnedSolid>,
    /// Material.
    pub material: M,
}

impl<M> Inclusion<M> {
    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> RegionShape {
        let (centre_m, radius_m) = (self.centre_m, self.radius_m);
        match self.solid {
            Some(solid) => RegionShape::Solid { centre_m, solid },
            None => RegionShape::Ball { centre_m, radius_m },
        }
    }

    /// True if the plane through x = 0 (axis 0) or y = 0 (axis 1) is one of its symmetry.
    #[must_use]
    pub(super) fn is_symmetric(&self, axis: usize) -> bool {
        // an upright solid has an axis with a zero
        let upright = self.solid.is_none_or(|solid| solid.axis.contains(&0.0));
        self.centre_m[axis] == 0.0 && upright
    }
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
    #[serde(flatten)]
    form: FormText,
    /// All other keys, as those of a layer.
    #[serde(flatten)]
    material: toml::Table,
}

/// Keys of the form of an inclusion: `radius_m`, or `shape` and `half_m`.
#[derive(Debug, Clone, Deserialize)]
struct FormText {
    radius_m: Option<f64>,
    shape: Option<String>,
    half_m: Option<[f64; 3]>,
    turn_deg: Option<f64>,
}

impl FormText {
    /// Radius as that of an inclusion, and its form; `field` is the path of the entry.
    fn form(&self, field: &str) -> Result<(f64, Option<TurnedSolid>), SceneError> {
        let of = |key: &str| format!("{field}.{key}");
        let form = match self.shape.as_deref() {
            None | Some("ball") => {
                let other = self.half_m.map(|half_m| ("half_m", half_m[0]));
                let other = other.or(self.turn_deg.map(|turn_deg| ("turn_deg", turn_deg)));
                if let Some((key, value)) = other {
                    let expected = "nothing: only a box or an ellipsoid has it, by `shape`";
                    return Err(field_error(of(key), value, expected));
                }
                let Some(radius_m) = self.radius_m else {
                    let expected = "a radius, or `shape` and `half_m`";
                    return Err(field_error(of("radius_m"), "missing", expected));
                };
                require_positive(of("radius_m"), radius_m)?;
                return Ok((radius_m, None));
            }
            Some("box") => SolidForm::Box,
            Some("ellipsoid") => SolidForm::Ellipsoid,
            Some(other) => {
                let expected = "one of: ball, box, ellipsoid";
                return Err(field_error(of("shape"), other, expected));
            }
        };
        if let Some(radius_m) = self.radius_m {
            let expected = "nothing: a box or an ellipsoid has `half_m`";
            return Err(field_error(of("radius_m"), radius_m, expected));
        }
        let Some(half_m) = self.half_m else {
            let expected = "half of its lengths along its own axes";
            return Err(field_error(of("half_m"), "missing", expected));
        };
        for (axis, &half_m) in half_m.iter().enumerate() {
            require_positive(of(&format!("half_m[{axis}]")), half_m)?;
        }
        let turn_deg = self.turn_deg.unwrap_or(0.0);
        if !turn_deg.is_finite() {
            return Err(field_error(of("turn_deg"), turn_deg, "a finite number"));
        }
        let solid = TurnedSolid {
            form,
            half_m: half_m.into(),
            axis: axis(turn_deg),
        };
        let radius_m = match form {
            SolidForm::Box => libm::hypot(half_m[0], half_m[1]),
            SolidForm::Ellipsoid => half_m[0].max(half_m[1]),
        };
        Ok((radius_m, Some(solid)))
    }
}

/// Cosine and sine of an angle; exact for quarter turns, which keep planes of symmetry.
fn axis(turn_deg: f64) -> [f64; 2] {
    let turn_deg = turn_deg.rem_euclid(360.0);
    for (quarter, axis) in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
        .into_iter()
        .enumerate()
    {
        if turn_deg == 90.0 * quarter as f64 {
            return axis;
        }
    }
    let turn = turn_deg.to_radians();
    [libm::cos(turn), libm::sin(turn)]
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

/// Reads inclusions of a block of this size \[m\].
pub(super) fn inclusions<M: LayerMaterial>(
    texts: &[InclusionText],
    size_m: [f64; 3],
) -> Result<Vec<Inclusion<M>>, SceneError> {
    let mut inclusions = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let entry = MaterialEntry {
            field: format!("inclusion[{index}]"),
            keys: &text.material,
            own_keys: "`name`, `center_m`, `radius_m`, `shape`, `half_m` and `turn_deg`",
        };
        let (radius_m, solid) = text.form.form(&entry.field)?;
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
            radius_m,
            solid,
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
    slices
        .chain(inclusions.iter().map(Inclusion::shape))
        .collect()
}

/// Inclusions as circles seen from above, with their stiffness over that of the layer around them.
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
