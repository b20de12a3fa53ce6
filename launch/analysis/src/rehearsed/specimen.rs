//! A second tissue to which is done what instruments did to the first, and what can be measured on it.
//!
//! Source: ours. It is only told the changes, as the tissue at the other end of a network is; nobody touches it, so
//! its places are those at rest. Labels are the names of the scene's materials, as they were at the start.

use palpate_scene::{Body, Scene, SceneError};
use palpate_twin::edits::Direction;
use palpate_twin::edits::{Change, Part};
use palpate_twin::{Edit, Tissue, Vec3};
use palpate_voxel::Linked;
use palpate_voxel::edits;
use palpate_voxel::walk::Walk;
use serde::{Deserialize, Serialize};

/// How much of a label there was and is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Amount {
    /// Name of the material.
    pub label: String,
    /// Elements at the start.
    pub elements_before: u64,
    /// Elements now.
    pub elements: u64,
    /// Volume of those that were taken out \[m^3\].
    pub removed_m3: f64,
}

/// An element as it was at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Origin {
    there: bool,
    at_m: Vec3,
    label: u8,
    /// Neighbours to the right, top and front.
    up: [Option<u32>; 3],
}

/// The tissue, and what it was at the start.
pub struct Specimen {
    tissue: Linked,
    origins: Vec<Origin>,
    labels: Vec<(String, [u8; 4])>,
    spacing_m: [f64; 3],
    walk: Walk,
}

impl Specimen {
    /// Of a scene; none if its tissue cannot be opened.
    ///
    /// # Errors
    /// If the scene cannot be built.
    pub fn of(scene: &Scene) -> Result<Option<Self>, SceneError> {
        match &scene.body {
            Body::Linked(block) => Ok(Some(Self::new(block.solver()?))),
            Body::Voxels(voxels) => Ok(Some(Self::new(voxels.solver()?))),
            _ => Ok(None),
        }
    }

    fn new(tissue: Linked) -> Self {
        let elements = tissue.elements();
        let origin = |element| Origin {
            there: elements.alive(element),
            at_m: elements.rest_m(element),
            label: elements.matter(element),
            up: Direction::UP.map(|to| elements.neighbour(element, to)),
        };
        let matters = elements.bonds().matters().iter();
        Self {
            origins: (0..elements.slots()).map(origin).collect(),
            labels: matters
                .map(|matter| (matter.name.clone(), matter.colour))
                .collect(),
            spacing_m: elements.frame().spacing_m,
            walk: Walk::new(elements.slots()),
            tissue,
        }
    }

    /// Names of its materials, in their order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|(name, _)| name.as_str())
    }

    /// Does what was done to another tissue of the same scene.
    pub fn replay(&mut self, changes: &[Change]) {
        if !changes.is_empty() {
            // a linked volume takes every replay: see `Caps::instruments`
            let _ = self.tissue.edit(&Edit::Replay(changes, Part::Begins));
        }
    }

    /// One number for which elements are there, linked and held, counted anew.
    #[must_use]
    pub fn topology(&self) -> u64 {
        edits::topology(self.tissue.elements())
    }

    /// Elements of every piece, the largest first.
    #[must_use]
    pub fn pieces(&mut self) -> Vec<usize> {
        let elements = self.tissue.elements();
        let mut seen = vec![false; self.origins.len()];
        let mut sizes = Vec::new();
        for element in 0..elements.slots() {
            if seen[element as usize] || !elements.alive(element) {
                continue;
            }
            let piece = self.walk.piece(elements, element);
            piece.iter().for_each(|&one| seen[one as usize] = true);
            sizes.push(piece.len());
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// How much of every label there was and is.
    #[must_use]
    pub fn amounts(&self) -> Vec<Amount> {
        let mut amounts: Vec<Amount> = self
            .labels()
            .map(|label| Amount {
                label: label.to_owned(),
                ..Amount::default()
            })
            .collect();
        let element_m3: f64 = self.spacing_m.iter().product();
        for (element, origin) in self.all() {
            let Some(amount) = amounts.get_mut(usize::from(origin.label)) else {
                continue;
            };
            let is_there = self.tissue.elements().alive(element);
            amount.elements_before += u64::from(origin.there);
            amount.elements += u64::from(is_there);
            amount.removed_m3 += if origin.there && !is_there {
                element_m3
            } else {
                0.0
            };
        }
        amounts
    }

    /// How much of a label, or of everything, there was and is.
    #[must_use]
    pub fn amount(&self, label: Option<&str>) -> Amount {
        let mut sum = Amount::default();
        for one in self.amounts() {
            if label.is_none_or(|label| label == one.label) {
                sum.elements_before += one.elements_before;
                sum.elements += one.elements;
                sum.removed_m3 += one.removed_m3;
            }
        }
        sum
    }

    /// Thickness of what was taken out around all of a label \[m\]: from it to the nearest element that is still
    /// there, less a spacing; none if nothing is left, or if the label was never there.
    #[must_use]
    pub fn margin_m(&self, label: &str) -> Option<f64> {
        let elements = self.tissue.elements();
        let of_label = self.all().filter(|(_, origin)| self.is_of(origin, label));
        let places_m: Vec<Vec3> = of_label.map(|(_, origin)| origin.at_m).collect();
        let left = self.all().filter(|&(element, _)| elements.alive(element));
        let nearest_m2 = left
            .flat_map(|(_, origin)| {
                let far_m2 = |at_m: &Vec3| (at_m - origin.at_m).norm_squared();
                places_m.iter().map(far_m2).reduce(f64::min)
            })
            .reduce(f64::min)?;
        let spacing_m = self.spacing_m.iter().copied().fold(f64::MAX, f64::min);
        Some((nearest_m2.sqrt() - spacing_m).max(0.0))
    }

    /// Elements of a label that were taken out, or of which a link was cut.
    #[must_use]
    pub fn touched(&self, label: &str) -> u64 {
        let elements = self.tissue.elements();
        let mut touched = vec![false; self.origins.len()];
        for (element, origin) in self.all() {
            touched[element as usize] |= !elements.alive(element);
            for (to, other) in Direction::UP.into_iter().zip(origin.up) {
                if let Some(other) = other
                    && elements.neighbour(element, to) != Some(other)
                {
                    touched[element as usize] = true;
                    touched[other as usize] = true;
                }
            }
        }
        let counted = self
            .all()
            .filter(|(element, origin)| touched[*element as usize] && self.is_of(origin, label));
        counted.count() as u64
    }

    /// Both ends of every link, at rest \[m\].
    pub(crate) fn links_m(&self) -> impl Iterator<Item = (Vec3, Vec3)> {
        let elements = self.tissue.elements();
        (0..elements.slots()).flat_map(move |element| {
            Direction::UP.into_iter().filter_map(move |to| {
                let other = elements.neighbour(element, to)?;
                Some((elements.rest_m(element), elements.rest_m(other)))
            })
        })
    }

    /// Distance of neighbours along the three axes \[m\].
    #[must_use]
    pub(crate) const fn spacings_m(&self) -> [f64; 3] {
        self.spacing_m
    }

    /// Distance of neighbours, the largest of the three axes \[m\].
    #[must_use]
    pub fn spacing_m(&self) -> f64 {
        self.spacing_m.iter().copied().fold(0.0, f64::max)
    }

    /// Where tissue was taken out, its middle; where links were cut, if none was; of all of it, if neither \[m\].
    #[must_use]
    pub fn middle_m(&self) -> Vec3 {
        let elements = self.tissue.elements();
        let mean = |places_m: Vec<Vec3>| {
            let count = places_m.len() as f64;
            (count > 0.0).then(|| places_m.iter().sum::<Vec3>() / count)
        };
        let there = || self.all().filter(|(_, origin)| origin.there);
        let gone = there().filter(|&(element, _)| !elements.alive(element));
        let cut = there().filter(|&(element, origin)| self.is_cut(element, origin).any(|cut| cut));
        mean(gone.map(|(_, origin)| origin.at_m).collect())
            .or_else(|| mean(cut.map(|(_, origin)| origin.at_m).collect()))
            .or_else(|| mean(there().map(|(_, origin)| origin.at_m).collect()))
            .unwrap_or_default()
    }

    /// The layer of elements nearest to a place along an axis: places, neighbours to the right, top and front from
    /// which an element was cut off though both are there, colour, and whether it is there.
    pub fn layer(
        &self,
        axis: usize,
        at_m: f64,
    ) -> impl Iterator<Item = (Vec3, [bool; 3], [u8; 4], bool)> {
        let half_m = 0.5 * self.spacing_m[axis] * (1.0 + 1e-9);
        let far_m = move |origin: &Origin| (origin.at_m[axis] - at_m).abs();
        let there = self.all().filter(|(_, origin)| origin.there);
        let nearest_m = there
            .map(|(_, origin)| far_m(origin))
            .fold(half_m, f64::min);
        let layer = self.all().filter(move |(_, origin)| {
            origin.there && (far_m(origin) - nearest_m).abs() < 1e-3 * half_m
        });
        layer.map(|(element, origin)| {
            let mut cuts = [false; 3];
            cuts.iter_mut()
                .zip(self.is_cut(element, origin))
                .for_each(|(to, cut)| *to = cut);
            let is_there = self.tissue.elements().alive(element);
            (origin.at_m, cuts, self.colour(origin.label), is_there)
        })
    }

    /// The surface at rest: places, triangles, and the colour of every place.
    #[must_use]
    pub fn surface(&self) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<[u8; 4]>) {
        let (elements, surface) = (self.tissue.elements(), self.tissue.surface());
        let vertices = || surface.vertices().iter();
        (
            vertices()
                .map(|&element| elements.rest_m(element))
                .collect(),
            surface.faces().to_vec(),
            vertices()
                .map(|&element| self.colour(elements.matter(element)))
                .collect(),
        )
    }

    /// Where every element rests \[m\], with its colour.
    pub fn colours(&self) -> impl Iterator<Item = (Vec3, [u8; 4])> {
        let there = self.all().filter(|(_, origin)| origin.there);
        there.map(|(_, origin)| (origin.at_m, self.colour(origin.label)))
    }

    /// Whether the links of an element to the right, top and front were cut though both ends are there.
    fn is_cut(&self, element: u32, origin: &Origin) -> impl Iterator<Item = bool> {
        let elements = self.tissue.elements();
        Direction::UP
            .into_iter()
            .zip(origin.up)
            .map(move |(to, other)| {
                other.is_some_and(|other| {
                    elements.alive(element)
                        && elements.alive(other)
                        && elements.neighbour(element, to).is_none()
                })
            })
    }

    fn colour(&self, label: u8) -> [u8; 4] {
        let of = self.labels.get(usize::from(label));
        of.map_or([128, 128, 128, 255], |(_, colour)| *colour)
    }

    fn all(&self) -> impl Iterator<Item = (u32, &Origin)> {
        (0..).zip(&self.origins)
    }

    fn is_of(&self, origin: &Origin, label: &str) -> bool {
        let name = self.labels.get(usize::from(origin.label));
        origin.there && name.is_some_and(|(name, _)| name == label)
    }
}
